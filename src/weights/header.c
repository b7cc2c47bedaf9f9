// Headers of safetensors files.
#include "weights/weights.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

// clang-format off
static const struct { const char *stored, *dtype; int bits; } types[] = {
    {"F64", "f64", 64}, {"F32", "f32", 32}, {"F16", "f16", 16}, {"BF16", "bf16", 16}, {"I64", "i64", 64}, {"I32", "i32", 32},
    {"I16", "i16", 16}, {"I8", "i8", 8}, {"U64", "u64", 64}, {"U32", "u32", 32}, {"U16", "u16", 16}, {"U8", "u8", 8},
    {"BOOL", "bool", 8}, {"F8_E4M3", "f8e4m3", 8}, {"F8_E5M2", "f8e5m2", 8}, {"C64", "complex64", 64}, {"F8_E8M0", NULL, 8},
    {"F6_E2M3", NULL, 6}, {"F6_E3M2", NULL, 6}, {"F4", NULL, 4},
};
// clang-format on

enum { TYPE_COUNT = sizeof types / sizeof *types };

const char *wt_dtype_of(const char *stored)
{
    for (int i = 0; i < TYPE_COUNT; i++)
        if (strcmp(types[i].stored, stored) == 0)
            return types[i].dtype;
    return NULL;
}

const char *wt_stored_dtype_of(const char *dtype)
{
    for (int i = 0; i < TYPE_COUNT; i++)
        if (types[i].dtype && strcmp(types[i].dtype, dtype) == 0)
            return types[i].stored;
    return NULL;
}

int wt_dtype_bits(const char *stored)
{
    for (int i = 0; i < TYPE_COUNT; i++)
        if (strcmp(types[i].stored, stored) == 0)
            return types[i].bits;
    return 0;
}

typedef struct reader {
    wt_file *f;
    int64_t data_bytes;
    const char *error;
} reader;

static bool failed(reader *r, const char *why)
{
    if (!r->error)
        r->error = why;
    return false;
}

static bool entry_failed(reader *r, const wt_entry *e, const char *why)
{
    return failed(r, arena_printf(r->f->memory, "tensor '%s': %s", e->name, why));
}

// An integer from 0 on.
static bool read_size(const json_t *from, int64_t *out)
{
    *out = json_is_integer(from) ? (int64_t)json_integer_value(from) : -1;
    return *out >= 0;
}

static bool read_shape(reader *r, const json_t *from, wt_entry *e)
{
    if (!json_is_array(from))
        return entry_failed(r, e, "'shape' is no list");
    size_t rank = json_array_size(from);
    int64_t *shape = ARENA_ARRAY(r->f->memory, int64_t, rank + 1);
    for (size_t i = 0; i < rank; i++)
        if (!read_size(json_array_get(from, i), &shape[i]))
            return entry_failed(r, e, "an extent is no integer from 0 on");
    e->rank = (int)rank;
    e->shape = shape;
    return true;
}

// How many bytes type and shape need.
static bool count_bytes(reader *r, wt_entry *e)
{
    int64_t bits = wt_dtype_bits(e->stored_dtype);
    bool is_empty = false;
    for (int d = 0; d < e->rank; d++)
        is_empty = is_empty || e->shape[d] == 0;
    for (int d = 0; d < e->rank && !is_empty; d++)
        if (!mul_checked(bits, e->shape[d], &bits))
            return entry_failed(r, e, "it has more than 2^63 bits");
    if (is_empty)
        bits = 0;
    if (bits % 8)
        return entry_failed(r, e, "its elements do not fill whole bytes");
    e->bytes = bits / 8;
    return true;
}

static bool read_place(reader *r, const json_t *from, wt_entry *e)
{
    int64_t end;
    if (!json_is_array(from) || json_array_size(from) != 2 || !read_size(json_array_get(from, 0), &e->offset) ||
        !read_size(json_array_get(from, 1), &end))
        return entry_failed(r, e, "'data_offsets' is no pair of integers from 0 on");
    if (e->offset > end || end > r->data_bytes)
        return entry_failed(r, e, arena_printf(r->f->memory, "its bytes %" PRId64 " to %" PRId64 " are not in the file, which has %" PRId64,
                                               e->offset, end, r->data_bytes));
    if (end - e->offset != e->bytes)
        return entry_failed(r, e, arena_printf(r->f->memory, "it has %" PRId64 " bytes, and its type and shape need %" PRId64,
                                               end - e->offset, e->bytes));
    return true;
}

static bool read_entry(reader *r, const char *name, const json_t *from, wt_entry *e)
{
    e->name = arena_strdup(r->f->memory, name);
    const char *dtype = json_string_value(json_object_get(from, "dtype"));
    if (!json_is_object(from) || json_object_size(from) != 3 || !dtype)
        return entry_failed(r, e, "expected 'dtype', 'shape' and 'data_offsets'");
    e->stored_dtype = arena_strdup(r->f->memory, dtype);
    e->dtype = wt_dtype_of(dtype);
    if (!wt_dtype_bits(dtype))
        return entry_failed(r, e, arena_printf(r->f->memory, "there is no type '%s'", dtype));
    return read_shape(r, json_object_get(from, "shape"), e) && count_bytes(r, e) &&
           read_place(r, json_object_get(from, "data_offsets"), e);
}

static bool is_text_map(const json_t *from)
{
    const char *key;
    json_t *value;
    bool ok = json_is_object(from);
    json_object_foreach((json_t *)from, key, value) {
        ok = ok && json_is_string(value);
    }
    return ok;
}

static int compare_places(const void *a, const void *b)
{
    const wt_entry *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->bytes != y->bytes) // empty ones stand before that which begins where they are
        return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

// One behind the other, to the end of the file.
static bool fill_file(reader *r, const wt_entry *entries, size_t count)
{
    int64_t end = 0;
    for (size_t i = 0; i < count; i++) {
        const wt_entry *e = &entries[i];
        if (e->offset != end)
            return entry_failed(r, e, e->offset < end ? "its bytes are those of another tensor, too"
                                                      : "bytes before it belong to no tensor");
        end += e->bytes;
    }
    return end == r->data_bytes || failed(r, "bytes at the end of the file belong to no tensor");
}

void wt_add(wt_file *f, wt_entry entry)
{
    map_put(&f->by_name, entry.name, strlen(entry.name), (void *)(uintptr_t)(f->entries.len + 1));
    VEC_PUSH(f->memory, &f->entries, entry);
}

static bool add_entry(reader *r, wt_entry e)
{
    if (map_get(&r->f->by_name, e.name, strlen(e.name)))
        return entry_failed(r, &e, "two shards have it");
    wt_add(r->f, e);
    return true;
}

static bool read_entries(reader *r, const json_t *top, int part)
{
    size_t count = 0;
    const char *name;
    json_t *value;
    wt_entry *entries = ARENA_ARRAY(r->f->memory, wt_entry, json_object_size(top) + 1);
    json_object_foreach((json_t *)top, name, value) {
        if (strcmp(name, "__metadata__") == 0) {
            if (!is_text_map(value))
                return failed(r, "'__metadata__' is no map of texts");
            continue;
        }
        entries[count] = (wt_entry){.part = part};
        if (!read_entry(r, name, value, &entries[count++]))
            return false;
    }
    qsort(entries, count, sizeof *entries, compare_places);
    if (!fill_file(r, entries, count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!add_entry(r, entries[i]))
            return false;
    return true;
}

bool wt_read_header(wt_file *f, int part, str header, int64_t data_bytes, const char **error)
{
    reader r = {f, data_bytes, NULL};
    json_error_t where;
    json_t *top = header.len && header.at[0] == '{' ? json_loadb(header.at, header.len, JSON_REJECT_DUPLICATES, &where) : NULL;
    bool ok = top && read_entries(&r, top, part);
    if (!top)
        failed(&r, header.len && header.at[0] == '{' ? arena_printf(f->memory, "its header is no JSON: %s", where.text)
                                                      : "its header does not begin with '{'");
    json_decref(top);
    *error = r.error;
    return ok;
}

const wt_entry *wt_find(const wt_file *f, const char *name)
{
    uintptr_t number = (uintptr_t)map_get(&f->by_name, name, strlen(name));
    return number ? &f->entries.at[number - 1] : NULL;
}
