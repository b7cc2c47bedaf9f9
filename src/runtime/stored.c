// Headers of safetensors files: JSON of one form, {"name": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 12]}, …}, maybe
// with a map of texts "__metadata__". Whatever is not of this form is refused. Memory is in proportion to the header's length.
// And indices of sharded files: {"weight_map": {"name": "file", …}}, with other members that nobody reads.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"
#include "runtime/shard_name.h"

// clang-format off
static const struct { const char *name; int bits; } types[] = {
    {"F64", 64}, {"F32", 32}, {"F16", 16}, {"BF16", 16}, {"I64", 64}, {"I32", 32}, {"I16", 16}, {"I8", 8}, {"U64", 64},
    {"U32", 32}, {"U16", 16}, {"U8", 8}, {"BOOL", 8}, {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"C64", 64}, {"F8_E8M0", 8},
    {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4},
};
// clang-format on

int hdsrt_stored_bits(const char *dtype)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, dtype) == 0)
            return types[i].bits;
    return 0;
}

// The shortest entry has more letters, the shortest number two, and the shortest place of a shard, "": "", five.
enum { LEAST_ENTRY = 40, LEAST_NUMBER = 2, LEAST_PLACE = 5, MOST_DEPTH = 32 };

typedef struct reader {
    const char *at, *end;
    int64_t data_bytes;
    hdsrt_stored_tensor *tensors;
    const hdsrt_stored_tensor **by_name;
    size_t count, most;
    int64_t *number; // the next free one
    char *text;      // where the next text goes
    const char *name; // of the tensor that is being read
    hdsrt_status status;
} reader;

typedef struct stored {
    hdsrt_stored_tensors shown; // first: the caller has its address
    void *memory[4];
} stored;

static bool fail(reader *r, const char *why)
{
    if (!r->status)
        r->status = r->name ? hdsrt_fail(HDSRT_INVALID_ARGUMENT, "tensor '%s': %s", r->name, why)
                            : hdsrt_fail(HDSRT_INVALID_ARGUMENT, "%s", why);
    return false;
}

static bool is_no_json(reader *r)
{
    r->name = NULL;
    return fail(r, "its header is no JSON");
}

// ---- JSON --------------------------------------------------------------------------------------------------------

static void skip_space(reader *r)
{
    while (r->at < r->end && memchr(" \t\n\r", *r->at, 4))
        r->at++;
}

static bool take(reader *r, char c)
{
    skip_space(r);
    bool is_there = r->at < r->end && *r->at == c;
    r->at += is_there;
    return is_there;
}

static bool read_hex(reader *r, unsigned *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        char c = r->at < r->end ? *r->at : 'x';
        bool is_digit = c >= '0' && c <= '9', is_letter = (c | 32) >= 'a' && (c | 32) <= 'f';
        if (!is_digit && !is_letter)
            return false;
        *out = *out * 16 + (unsigned)(is_digit ? c - '0' : (c | 32) - 'a' + 10);
    }
    return true;
}

static void put_code_point(reader *r, unsigned c)
{
    if (c >= 0x10000)
        *r->text++ = (char)(0xf0 | c >> 18), *r->text++ = (char)(0x80 | (c >> 12 & 63));
    else if (c >= 0x800)
        *r->text++ = (char)(0xe0 | c >> 12);
    if (c >= 0x800)
        *r->text++ = (char)(0x80 | (c >> 6 & 63));
    else if (c >= 0x80)
        *r->text++ = (char)(0xc0 | c >> 6);
    *r->text++ = (char)(c >= 0x80 ? 0x80 | (c & 63) : c);
}

// Behind the backslash.
static bool read_escape(reader *r)
{
    static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = r->at < r->end ? *r->at++ : '\0';
    const char *known = c ? strchr(letters, c) : NULL;
    unsigned unit, low;
    if (known) {
        *r->text++ = values[known - letters];
        return true;
    }
    if (c != 'u' || !read_hex(r, &unit) || !unit || (unit >= 0xdc00 && unit < 0xe000))
        return false;
    if (unit < 0xd800 || unit >= 0xe000) {
        put_code_point(r, unit);
        return true;
    }
    if (r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u')
        return false;
    r->at += 2;
    if (!read_hex(r, &low) || low < 0xdc00 || low >= 0xe000)
        return false;
    put_code_point(r, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
    return true;
}

// A character that is no escape, as UTF-8 has it.
static bool copy_character(reader *r)
{
    static const unsigned least[] = {0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)*r->at;
    int more = first < 0x80 ? 0 : first >= 0xc0 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 ? 3 : -1;
    if (first < ' ' || more < 0 || first > 0xf4 || r->end - r->at <= more)
        return false;
    unsigned c = more ? first & (0x3fu >> more) : first;
    for (int i = 1; i <= more; i++) {
        unsigned char next = (unsigned char)r->at[i];
        if (next >> 6 != 2)
            return false;
        c = c << 6 | (next & 63);
    }
    if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return false;
    memcpy(r->text, r->at, (size_t)more + 1);
    r->text += more + 1;
    r->at += more + 1;
    return true;
}

// A text, zero-terminated: it takes no more room than it has in the header.
static const char *read_text(reader *r)
{
    const char *text = r->text;
    if (!take(r, '"'))
        return NULL;
    while (r->at < r->end && *r->at != '"') {
        bool is_escape = *r->at == '\\';
        r->at += is_escape;
        if (!(is_escape ? read_escape(r) : copy_character(r))) {
            is_no_json(r);
            return NULL;
        }
    }
    if (r->at == r->end) {
        is_no_json(r);
        return NULL;
    }
    r->at++;
    *r->text++ = '\0';
    return text;
}

// A key and its colon.
static const char *read_key(reader *r)
{
    const char *key = read_text(r);
    if (key && take(r, ':'))
        return key;
    is_no_json(r);
    return NULL;
}

// An integer from 0 on.
static bool read_number(reader *r, int64_t *out)
{
    skip_space(r);
    const char *first = r->at;
    *out = 0;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, *r->at - '0', out))
            return false;
    bool is_padded = r->at - first > 1 && *first == '0', goes_on = r->at < r->end && memchr(".eE", *r->at, 3);
    return r->at > first && !is_padded && !goes_on;
}

// Whether another item follows; at the end, *is_end is set. False and not at the end: it is no JSON.
static bool next_item(reader *r, char close, bool *is_end)
{
    *is_end = take(r, close);
    return !*is_end && take(r, ',');
}

// ---- entries -----------------------------------------------------------------------------------------------------

static bool read_shape(reader *r, hdsrt_stored_tensor *t)
{
    bool is_end, is_empty;
    t->shape = r->number;
    if (!take(r, '['))
        return fail(r, "'shape' is no list");
    is_empty = take(r, ']');
    for (; !is_empty; t->ndim++) {
        if (!read_number(r, r->number++))
            return fail(r, "an extent is no integer from 0 on");
        is_empty = !next_item(r, ']', &is_end);
        if (is_empty && !is_end)
            return r->at < r->end ? fail(r, "an extent is no integer from 0 on") : is_no_json(r);
    }
    return true;
}

static bool read_place(reader *r, int64_t place[2])
{
    if (take(r, '[') && read_number(r, &place[0]) && take(r, ',') && read_number(r, &place[1]) && take(r, ']'))
        return true;
    return fail(r, "'data_offsets' is no pair of integers from 0 on");
}

static bool expect_members(reader *r)
{
    return fail(r, "expected 'dtype', 'shape' and 'data_offsets'");
}

static bool read_members(reader *r, hdsrt_stored_tensor *t, int64_t place[2])
{
    unsigned seen = 0;
    bool is_end = false, more = take(r, '{');
    if (more && take(r, '}'))
        return expect_members(r);
    for (; more; more = next_item(r, '}', &is_end)) {
        const char *key = read_key(r);
        if (!key)
            return false;
        unsigned member = !strcmp(key, "dtype") ? 1 : !strcmp(key, "shape") ? 2 : !strcmp(key, "data_offsets") ? 4 : 0;
        if (!member || seen & member)
            return expect_members(r);
        seen |= member;
        if (member == 1 && !(t->dtype = read_text(r)))
            return expect_members(r);
        if ((member == 2 && !read_shape(r, t)) || (member == 4 && !read_place(r, place)))
            return false;
    }
    return (is_end && seen == 7) || expect_members(r);
}

// False: more than 63 bits count.
static bool count_bits(const hdsrt_stored_tensor *t, int64_t *bits)
{
    for (int d = 0; d < t->ndim; d++)
        if (t->shape[d] == 0) {
            *bits = 0;
            return true;
        }
    for (int d = 0; d < t->ndim; d++)
        if (__builtin_mul_overflow(*bits, t->shape[d], bits))
            return false;
    return true;
}

static bool check_bytes(reader *r, hdsrt_stored_tensor *t, const int64_t place[2])
{
    int64_t bits = hdsrt_stored_bits(t->dtype);
    char why[160];
    if (!bits) {
        snprintf(why, sizeof why, "there is no type '%s'", t->dtype);
        return fail(r, why);
    }
    if (!count_bits(t, &bits))
        return fail(r, "it has more than 2^63 bits");
    if (bits % 8)
        return fail(r, "its elements do not fill whole bytes");
    *t = (hdsrt_stored_tensor){r->name, t->dtype, t->shape, t->ndim, place[0], bits / 8};
    if (place[0] > place[1] || place[1] > r->data_bytes) {
        snprintf(why, sizeof why, "its bytes %lld to %lld are not in the file, which has %lld", (long long)place[0],
                 (long long)place[1], (long long)r->data_bytes);
        return fail(r, why);
    }
    if (place[1] - place[0] != t->bytes) {
        snprintf(why, sizeof why, "it has %lld bytes, and its type and shape need %lld", (long long)(place[1] - place[0]),
                 (long long)t->bytes);
        return fail(r, why);
    }
    return true;
}

static bool read_metadata(reader *r)
{
    bool is_end = false, more = take(r, '{');
    if (more && take(r, '}'))
        return true;
    for (; more; more = next_item(r, '}', &is_end))
        if (!read_key(r) || !read_text(r))
            return fail(r, "'__metadata__' is no map of texts");
    return is_end || fail(r, "'__metadata__' is no map of texts");
}

static bool read_entry(reader *r, bool *has_metadata)
{
    int64_t place[2] = {0, 0};
    const char *name = read_key(r);
    if (!name)
        return false;
    if (strcmp(name, "__metadata__") == 0) {
        bool is_second = *has_metadata;
        *has_metadata = true;
        return is_second ? fail(r, "'__metadata__' is there twice") : read_metadata(r);
    }
    hdsrt_stored_tensor *t = &r->tensors[r->count++];
    r->name = name;
    bool ok = read_members(r, t, place) && check_bytes(r, t, place);
    r->name = NULL;
    return ok;
}

static bool read_all(reader *r)
{
    bool has_metadata = false, is_end = false;
    if (r->at == r->end || *r->at != '{')
        return fail(r, "its header does not begin with '{'");
    r->at++;
    is_end = take(r, '}');
    for (bool more = !is_end; more; more = next_item(r, '}', &is_end))
        if (r->count == r->most || !read_entry(r, &has_metadata))
            return is_no_json(r);
    skip_space(r);
    return (is_end && r->at == r->end) || is_no_json(r);
}

// ---- all of them -------------------------------------------------------------------------------------------------

static int compare_names(const void *a, const void *b)
{
    const hdsrt_stored_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static int compare_places(const void *a, const void *b)
{
    const hdsrt_stored_tensor *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->bytes != y->bytes) // empty ones stand before that which begins where they are
        return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

// One behind the other, to the end of the file.
static bool check_all(reader *r)
{
    int64_t end = 0;
    qsort(r->tensors, r->count, sizeof *r->tensors, compare_places);
    for (size_t i = 0; i < r->count; i++) {
        const hdsrt_stored_tensor *t = r->by_name[i] = &r->tensors[i];
        r->name = t->name;
        if (t->begin != end)
            return fail(r, t->begin < end ? "its bytes are those of another tensor, too" : "bytes before it belong to no tensor");
        end += t->bytes;
    }
    r->name = NULL;
    if (end != r->data_bytes)
        return fail(r, "bytes at the end of the file belong to no tensor");
    qsort(r->by_name, r->count, sizeof *r->by_name, compare_names);
    for (size_t i = 1; i < r->count; i++) {
        r->name = r->by_name[i]->name;
        if (strcmp(r->by_name[i - 1]->name, r->name) == 0)
            return fail(r, "its name is there twice");
    }
    return true;
}

hdsrt_status hdsrt_stored_read(const char *json, size_t len, int64_t data_bytes, hdsrt_stored_tensors **tensors)
{
    size_t most = len / LEAST_ENTRY + 1;
    stored *s = calloc(1, sizeof *s);
    reader r = {.at = json, .end = json + len, .data_bytes = data_bytes, .most = most};
    *tensors = NULL;
    if (!s)
        return hdsrt_fail(HDSRT_OUT_OF_MEMORY, "no memory for a header");
    r.tensors = s->memory[0] = calloc(most, sizeof *r.tensors);
    r.by_name = s->memory[1] = calloc(most, sizeof *r.by_name);
    r.number = s->memory[2] = calloc(len / LEAST_NUMBER + 1, sizeof *r.number);
    r.text = s->memory[3] = malloc(len + 1);
    if (!r.tensors || !r.by_name || !r.number || !r.text)
        r.status = hdsrt_fail(HDSRT_OUT_OF_MEMORY, "no memory for a header of %zu bytes", len);
    else if (read_all(&r) && check_all(&r))
        s->shown = (hdsrt_stored_tensors){r.tensors, r.count, r.by_name};
    if (r.status)
        hdsrt_stored_free(&s->shown);
    else
        *tensors = &s->shown;
    return r.status;
}

const hdsrt_stored_tensor *hdsrt_stored_find(const hdsrt_stored_tensors *tensors, const char *name)
{
    size_t low = 0, high = tensors->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, tensors->by_name[middle]->name);
        if (!order)
            return tensors->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

void hdsrt_stored_free(hdsrt_stored_tensors *tensors)
{
    stored *s = (stored *)tensors;
    for (int i = 0; s && i < 4; i++)
        free(s->memory[i]);
    free(s);
}

// ---- indices -----------------------------------------------------------------------------------------------------

typedef struct index_memory {
    hdsrt_stored_index shown; // first: the caller has its address
    void *memory[3];
} index_memory;

static bool is_word(const char *at, size_t len)
{
    return (len == 4 && (!memcmp(at, "true", 4) || !memcmp(at, "null", 4))) || (len == 5 && !memcmp(at, "false", 5)) ||
           (len && (*at == '-' || (*at >= '0' && *at <= '9')));
}

// A value of any form, which is not kept.
static bool skip_value(reader *r, int depth)
{
    static const char word[] = "+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char *text = r->text;
    bool is_map = take(r, '{'), is_end = false, ok = depth > 0;
    if (is_map || take(r, '[')) {
        char close = is_map ? '}' : ']';
        is_end = take(r, close);
        for (bool more = ok && !is_end; more && ok; more = ok && next_item(r, close, &is_end))
            ok = (!is_map || read_key(r)) && skip_value(r, depth - 1);
        return (ok && is_end) || is_no_json(r);
    }
    if (r->at < r->end && *r->at == '"') {
        ok = read_text(r) != NULL;
        r->text = text;
        return ok;
    }
    const char *first = r->at;
    while (r->at < r->end && memchr(word, *r->at, sizeof word - 1))
        r->at++;
    return is_word(first, (size_t)(r->at - first)) || is_no_json(r);
}

static bool read_weight_map(reader *r, hdsrt_stored_place *places)
{
    bool is_end = false;
    if (!take(r, '{'))
        return fail(r, "it has no map 'weight_map'");
    is_end = take(r, '}');
    for (bool more = !is_end; more; more = next_item(r, '}', &is_end)) {
        hdsrt_stored_place *p = &places[r->count];
        if (r->count == r->most || !(p->name = read_key(r)))
            return is_no_json(r);
        r->name = p->name;
        skip_space(r);
        if (r->at == r->end || *r->at != '"' || !(p->file = read_text(r)) || !shard_stays_inside(p->file))
            return fail(r, "its file's name does not stay in the folder of the index");
        r->name = NULL;
        r->count++;
    }
    return is_end || is_no_json(r);
}

static bool read_index(reader *r, hdsrt_stored_place *places)
{
    bool is_end = false, has_map = false;
    if (!take(r, '{'))
        return is_no_json(r);
    is_end = take(r, '}');
    for (bool more = !is_end; more; more = next_item(r, '}', &is_end)) {
        const char *key = read_key(r);
        bool is_map = key && strcmp(key, "weight_map") == 0;
        if (!key || (is_map && has_map))
            return is_no_json(r);
        has_map |= is_map;
        if (!(is_map ? read_weight_map(r, places) : skip_value(r, MOST_DEPTH)))
            return false;
    }
    skip_space(r);
    if (!is_end || r->at < r->end)
        return is_no_json(r);
    return has_map || fail(r, "it has no map 'weight_map'");
}

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const hdsrt_stored_place *)a)->file, ((const hdsrt_stored_place *)b)->file);
}

static int compare_place_names(const void *a, const void *b)
{
    return strcmp(((const hdsrt_stored_place *)a)->name, ((const hdsrt_stored_place *)b)->name);
}

// Numbers the shards, by the names of their files.
static bool order_places(reader *r, hdsrt_stored_index *x, hdsrt_stored_place *places, const char **shards)
{
    qsort(places, r->count, sizeof *places, compare_files);
    *x = (hdsrt_stored_index){places, r->count, shards, 0};
    for (size_t i = 0; i < r->count; i++) {
        if (!i || strcmp(places[i - 1].file, places[i].file) != 0)
            shards[x->shard_count++] = places[i].file;
        places[i].shard = x->shard_count - 1;
    }
    qsort(places, r->count, sizeof *places, compare_place_names);
    for (size_t i = 1; i < r->count; i++) {
        r->name = places[i].name;
        if (strcmp(places[i - 1].name, r->name) == 0)
            return fail(r, "its name is there twice");
    }
    return true;
}

hdsrt_status hdsrt_index_read(const char *json, size_t len, hdsrt_stored_index **out)
{
    size_t most = len / LEAST_PLACE + 1;
    index_memory *x = calloc(1, sizeof *x);
    reader r = {.at = json, .end = json + len, .most = most};
    *out = NULL;
    if (!x)
        return hdsrt_fail(HDSRT_OUT_OF_MEMORY, "no memory for an index");
    hdsrt_stored_place *places = x->memory[0] = calloc(most, sizeof *places);
    const char **shards = x->memory[1] = calloc(most, sizeof *shards);
    r.text = x->memory[2] = malloc(len + 1);
    if (!places || !shards || !r.text)
        r.status = hdsrt_fail(HDSRT_OUT_OF_MEMORY, "no memory for an index of %zu bytes", len);
    else if (read_index(&r, places) && order_places(&r, &x->shown, places, shards))
        *out = &x->shown;
    if (r.status)
        hdsrt_index_free(&x->shown);
    return r.status;
}

const hdsrt_stored_place *hdsrt_index_find(const hdsrt_stored_index *x, const char *name)
{
    const hdsrt_stored_place wanted = {.name = name};
    return x->count ? bsearch(&wanted, x->at, x->count, sizeof *x->at, compare_place_names) : NULL;
}

void hdsrt_index_free(hdsrt_stored_index *shown)
{
    index_memory *x = (index_memory *)shown;
    for (int i = 0; x && i < 3; i++)
        free(x->memory[i]);
    free(x);
}
