#include "tensor/npy.h"

#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/file.h"
#include "tensor/npy_header.h"

static const char magic[] = "\x93NUMPY";
enum { MAGIC_BYTES = 6, VERSION_BYTES = 8, ALIGNMENT = 64 };

// A file that was read. What is wrong with it is reported to those who take the array.
struct ten_npy {
    const char *path;
    const char *unreadable;       // NULL: it could be read
    const char *malformed, *help; // NULL: its header is right
    ten_npy_header header;
    int64_t bytes, found; // of the data: by the header; in the file
    bool has_more;        // there are more than [bytes]; [found] does not count them all
    str data;             // if it has the right size
};

// An array that is taken: who wants it, and what its file says.
typedef struct input {
    arena *arena;
    diag_context *dx;
    const char *path;
    const char *what;
    ten_npy_header header;
    str data;
} input;

static const src_span nowhere = {0, 0};

// ---- the frame --------------------------------------------------------------------------------------------------

// Bytes that come from a file, or are in memory.
typedef struct source {
    arena *arena;
    file_stream *file; // NULL: [left] is all there is
    str left;
    ten_npy *npy;
} source;

static bool malformed(source *s, const char *why, const char *help)
{
    s->npy->malformed = why;
    s->npy->help = help;
    return false;
}

// At most [most] bytes; fewer where it ends.
static bool take(source *s, size_t most, str *out)
{
    if (s->file)
        return file_stream_read(s->arena, s->file, most, out, &s->npy->unreadable);
    *out = (str){s->left.at, most < s->left.len ? most : s->left.len};
    s->left = (str){s->left.at + out->len, s->left.len - out->len};
    return true;
}

static const char *hint_of(str file)
{
    if (str_starts(file, STR("PK")))
        return "this is an .npz archive of several arrays: save the one that is meant with np.save";
    if (str_starts(file, STR("\x80")))
        return "this looks like a pickle: save the array with np.save";
    return "np.save(path, array) writes such files";
}

static uint32_t little_endian(const char *at, int bytes)
{
    uint32_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | (uint8_t)at[i];
    return value;
}

// Ours have about a hundred bytes; NumPy itself reads no more than 10,000 unless it is told to.
enum { MOST_HEADER_BYTES = 1 << 20 };

static bool read_header(source *s)
{
    str frame, length, header;
    if (!take(s, VERSION_BYTES, &frame))
        return false;
    if (frame.len < VERSION_BYTES || memcmp(frame.at, magic, MAGIC_BYTES) != 0)
        return malformed(s, frame.len ? "it does not begin with the bytes '\\x93NUMPY'" : "it is empty", hint_of(frame));
    int major = (uint8_t)frame.at[6], minor = (uint8_t)frame.at[7];
    if (major < 1 || major > 3 || minor != 0)
        return malformed(s, arena_printf(s->arena, "its version is %d.%d; 1.0, 2.0 and 3.0 are known", major, minor), NULL);
    size_t length_bytes = major == 1 ? 2 : 4;
    if (!take(s, length_bytes, &length))
        return false;
    size_t len = length.len < length_bytes ? 0 : little_endian(length.at, (int)length_bytes);
    if (len > MOST_HEADER_BYTES)
        return malformed(s, arena_printf(s->arena, "its header has %zu bytes", len), NULL);
    if (!take(s, len, &header))
        return false;
    if (length.len < length_bytes || header.len < len)
        return malformed(s, "it ends within the header", NULL);
    if (s->file && s->file->size >= 0)
        s->npy->found = s->file->size - (int64_t)(VERSION_BYTES + length_bytes + len);
    const char *why = ten_npy_header_parse(s->arena, header, &s->npy->header);
    return !why || malformed(s, why, NULL);
}

// What the header promises has to fit in this machine.
static bool measure(const ten_npy_header *h, int64_t *bytes)
{
    ten_tensor t = {.type = DT_U8, .rank = h->rank};
    memcpy(t.shape, h->shape, sizeof t.shape);
    int64_t most = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
    return ten_measure(&t) && mul_checked(t.count, h->item_bytes, bytes) && *bytes < most;
}

// The data is read if there is as much of it as there should be. Where that is unknown, a byte more says that there is too much.
static bool read_data(source *s)
{
    ten_npy *n = s->npy;
    if (!measure(&n->header, &n->bytes))
        return malformed(s, "its shape has more elements than fit in memory", NULL);
    if (!s->file)
        n->found = (int64_t)s->left.len;
    if (n->found >= 0 && n->found != n->bytes)
        return true;
    bool is_known = n->found >= 0;
    if (!take(s, (size_t)n->bytes + !is_known, &n->data))
        return false;
    n->has_more = (int64_t)n->data.len > n->bytes;
    n->found = (int64_t)n->data.len; // less than a file had when it was opened, if somebody cut it
    return true;
}

static const ten_npy *read_from(arena *a, const char *path, file_stream *file, str bytes)
{
    ten_npy *n = ARENA_NEW(a, ten_npy);
    source s = {a, file, bytes, n};
    *n = (ten_npy){.path = path, .found = -1};
    if (read_header(&s))
        read_data(&s);
    return n;
}

const ten_npy *ten_npy_open(arena *a, const char *path)
{
    const char *error = NULL;
    file_stream file;
    if (file_stream_open(a, path, &file, &error)) {
        const ten_npy *n = read_from(a, path, &file, (str){0});
        file_stream_close(&file);
        return n;
    }
    ten_npy *n = ARENA_NEW(a, ten_npy);
    *n = (ten_npy){.path = path, .unreadable = error};
    return n;
}

// ---- types ------------------------------------------------------------------------------------------------------

static const struct {
    char kind;
    int bytes;
    dtype type;
} types[] = {
    {'b', 1, DT_BOOL}, {'i', 1, DT_I8},  {'i', 2, DT_I16}, {'i', 4, DT_I32}, {'i', 8, DT_I64}, {'u', 1, DT_U8},
    {'u', 2, DT_U16},  {'u', 4, DT_U32}, {'u', 8, DT_U64}, {'f', 2, DT_F16}, {'f', 4, DT_F32}, {'f', 8, DT_F64},
    {'c', 8, DT_C64},  {'f', 1, DT_F8E5M2}, // as ml_dtypes names it
};

static dtype natural_type(const ten_npy_header *h)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].kind == h->kind && types[i].bytes == h->item_bytes)
            return types[i].type;
    }
    return DT_NONE;
}

// Types that NumPy itself knows only by their bits.
static bool is_foreign(dtype t)
{
    return t == DT_BF16 || t == DT_F8E4M3 || t == DT_F8E5M2;
}

// Whether elements of [wanted] may stand in the file as [h] describes them.
static bool serves(const ten_npy_header *h, dtype wanted)
{
    dtype natural = natural_type(h);
    bool is_raw = h->kind == 'V' || h->kind == 'u';
    if (natural == wanted)
        return true;
    if (is_foreign(wanted))
        return is_raw && h->item_bytes * 8 == dt_bits(wanted);
    if (wanted == DT_TF32)
        return natural == DT_F32;
    if (dt_bits(wanted) < 8)
        return natural == (dt_is_signed(wanted) ? DT_I8 : DT_U8);
    return false;
}

// What a user would call it.
static const char *name_of(input *in)
{
    dtype natural = natural_type(&in->header);
    if (natural == DT_NONE)
        return arena_printf(in->arena, "'%s'", in->header.descr);
    return arena_printf(in->arena, "%s ('%s')", dt_name(natural), in->header.descr);
}

static const char *numpy_name(dtype t)
{
    return is_foreign(t) ? (t == DT_BF16 ? "ml_dtypes.bfloat16" : t == DT_F8E4M3 ? "ml_dtypes.float8_e4m3fn"
                                                                                 : "ml_dtypes.float8_e5m2")
         : t == DT_TF32 ? "np.float32"
         : dt_bits(t) < 8 ? (dt_is_signed(t) ? "np.int8" : "np.uint8")
         : t == DT_C64    ? "np.complex64"
         : t == DT_BOOL   ? "np.bool_"
                          : NULL;
}

static bool wrong_type(input *in, dtype wanted)
{
    const char *name = numpy_name(wanted);
    diag *d = diag_report(in->dx, HDS0638, nowhere, in->path, name_of(in), in->what, dt_name(wanted));
    diag_help(d, "convert it with array.astype(%s%s)", name ? name : "np.", name ? "" : dt_long_name(wanted));
    return false;
}

static bool unsupported(input *in)
{
    char kind = in->header.kind;
    const char *words = kind == 'O' ? "Python objects" : kind == 'S' || kind == 'U' || kind == 'a' ? "strings"
                      : kind == 'M' || kind == 'm' ? "times" : kind == 'V' ? "bytes without a type"
                      : arena_printf(in->arena, "elements of type '%s'", in->header.descr);
    diag *d = diag_report(in->dx, HDS0637, nowhere, in->path, words);
    diag_help(d, "it can hold bool, integers, float16, float32, float64, complex64, and bfloat16 or float8 of ml_dtypes");
    return false;
}

static bool choose_type(input *in, dtype wanted, dtype raw, dtype *out)
{
    dtype natural = natural_type(&in->header);
    if (wanted != DT_NONE) {
        *out = wanted;
        return serves(&in->header, wanted) || (natural == DT_NONE && in->header.kind != 'V' ? unsupported(in)
                                                                                            : wrong_type(in, wanted));
    }
    bool is_raw = in->header.kind == 'V' && is_foreign(raw) && in->header.item_bytes * 8 == dt_bits(raw);
    *out = is_raw ? raw : natural;
    return *out != DT_NONE || unsupported(in);
}

// ---- data -------------------------------------------------------------------------------------------------------

static bool check_size(input *in, const ten_npy *n, const ten_tensor *t)
{
    if (n->found == n->bytes)
        return true;
    str_buf type;
    str_buf_init(&type, in->arena);
    ten_type_print(t->type, t->rank, t->shape, &type);
    diag_report(in->dx, HDS0636, nowhere, in->path,
                arena_printf(in->arena, "%s%lld", n->has_more ? "more than " : "",
                             (long long)(n->has_more ? n->bytes : n->found)),
                str_text(&type), (long long)n->bytes);
    return false;
}

static void swap_bytes(char *data, int64_t count, int64_t width)
{
    for (int64_t i = 0; i < count; i++) {
        for (int64_t low = 0, high = width - 1; low < high; low++, high--) {
            char byte = data[i * width + low];
            data[i * width + low] = data[i * width + high];
            data[i * width + high] = byte;
        }
    }
}

// The index in column order of the element at [i] in row order.
static int64_t column_order(const ten_tensor *t, int64_t i)
{
    int64_t offset = 0, index[TEN_MAX_RANK];
    for (int d = t->rank - 1; d >= 0; d--) {
        index[d] = i % t->shape[d];
        i /= t->shape[d];
    }
    for (int d = t->rank - 1; d >= 0; d--)
        offset = offset * t->shape[d] + index[d];
    return offset;
}

static char *in_row_order(input *in, const ten_tensor *t, const char *data)
{
    int64_t width = in->header.item_bytes;
    char *rows = arena_alloc(in->arena, in->data.len);
    for (int64_t i = 0; i < t->count; i++)
        memcpy(rows + i * width, data + column_order(t, i) * width, (size_t)width);
    return rows;
}

// A byte each in the file, packed in memory.
static bool pack(input *in, ten_tensor *t, const char *data)
{
    for (int64_t i = 0; i < t->count; i++) {
        int64_t value = dt_is_signed(t->type) ? (int8_t)data[i] : (uint8_t)data[i];
        if (!dt_holds_int(t->type, value)) {
            str_buf words;
            str_buf_init(&words, in->arena);
            str_addf(&words, "%s with %lld at ", name_of(in), (long long)value);
            ten_index_print(t, i, &words);
            diag_report(in->dx, HDS0638, nowhere, in->path, str_text(&words), in->what, dt_name(t->type));
            return false;
        }
        ten_set_bits(t, i, (uint64_t)value);
    }
    return true;
}

static bool take_data(input *in, ten_tensor *t)
{
    const ten_npy_header *h = &in->header;
    size_t bytes = in->data.len;
    char *data = (char *)in->data.at;
    if (h->is_fortran && t->rank > 1)
        data = in_row_order(in, t, data);
    if (h->order == '>' && h->item_bytes > 1) {
        data = data == in->data.at ? arena_dup(in->arena, data, bytes) : data;
        bool is_complex = h->kind == 'c';
        swap_bytes(data, is_complex ? 2 * t->count : t->count, is_complex ? h->item_bytes / 2 : h->item_bytes);
    }
    if (dt_bits(t->type) < 8)
        return ten_allocate(in->arena, t, 0) && pack(in, t, data);
    t->data = arena_dup(in->arena, data, bytes);
    for (int64_t i = 0; t->type == DT_BOOL && i < t->count; i++)
        t->data[i] = t->data[i] != 0;
    return true;
}

// ---- what others call -------------------------------------------------------------------------------------------

const ten_tensor *ten_npy_type(arena *a, const ten_npy *n)
{
    dtype natural = natural_type(&n->header);
    if (n->unreadable || n->malformed || n->found != n->bytes || natural == DT_NONE)
        return NULL;
    ten_tensor *t = ARENA_NEW(a, ten_tensor);
    *t = (ten_tensor){.type = natural, .rank = n->header.rank};
    memcpy(t->shape, n->header.shape, sizeof t->shape);
    return t;
}

bool ten_npy_take(arena *a, diag_context *dx, const ten_npy *n, dtype wanted, dtype raw, const char *what, ten_tensor *out)
{
    input in = {.arena = a, .dx = dx, .path = n->path, .what = what, .header = n->header, .data = n->data};
    dtype type;
    if (n->unreadable) {
        diag_report(dx, HDS0634, nowhere, n->path, n->unreadable);
        return false;
    }
    if (n->malformed) {
        diag *d = diag_report(dx, HDS0635, nowhere, n->path, n->malformed);
        if (n->help)
            diag_help(d, "%s", n->help);
        return false;
    }
    if (!choose_type(&in, wanted, raw, &type))
        return false;
    *out = (ten_tensor){.type = type, .rank = n->header.rank};
    memcpy(out->shape, n->header.shape, sizeof out->shape);
    return ten_measure(out) && check_size(&in, n, out) && take_data(&in, out);
}

bool ten_npy_parse(arena *a, diag_context *dx, const char *path, str file, dtype wanted, dtype raw, const char *what,
                   ten_tensor *out)
{
    return ten_npy_take(a, dx, read_from(a, path, NULL, file), wanted, raw, what, out);
}

bool ten_npy_read(arena *a, diag_context *dx, const char *path, dtype wanted, dtype raw, const char *what, ten_tensor *out)
{
    return ten_npy_take(a, dx, ten_npy_open(a, path), wanted, raw, what, out);
}

// ---- writing ----------------------------------------------------------------------------------------------------

static const char *descr_of(arena *a, dtype t)
{
    if (is_foreign(t))
        return t == DT_BF16 ? "<V2" : "|V1";
    if (dt_bits(t) < 8)
        return dt_is_signed(t) ? "|i1" : "|u1";
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].type == (t == DT_TF32 ? DT_F32 : t))
            return arena_printf(a, "%c%c%d", types[i].bytes == 1 ? '|' : '<', types[i].kind, types[i].bytes);
    }
    return "|V1";
}

// The data begins at a multiple of 64 bytes; blanks and a line end fill up.
static void add_header(arena *a, const ten_tensor *t, str_buf *out)
{
    str_buf header;
    str_buf_init(&header, a);
    str_addf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr_of(a, t->type));
    for (int d = 0; d < t->rank; d++)
        str_addf(&header, "%s%lld", d ? ", " : "", (long long)t->shape[d]);
    str_adds(&header, t->rank == 1 ? ",), }" : "), }");
    while ((VERSION_BYTES + 2 + header.len + 1) % ALIGNMENT)
        str_addc(&header, ' ');
    str_addc(&header, '\n');
    str_add(out, (str){magic, MAGIC_BYTES});
    str_add(out, (str){"\1\0", 2});
    str_addc(out, (char)(header.len & 0xff));
    str_addc(out, (char)(header.len >> 8));
    str_add(out, (str){header.at, header.len});
}

str ten_npy_format(arena *a, const ten_tensor *t)
{
    str_buf out;
    str_buf_init(&out, a);
    add_header(a, t, &out);
    if (dt_bits(t->type) >= 8)
        str_add(&out, (str){(const char *)t->data, (size_t)t->bytes});
    else
        for (int64_t i = 0; i < t->count; i++)
            str_addc(&out, (char)dt_wrap_int(t->type, (int64_t)ten_bits(t, i)));
    return (str){out.at, out.len};
}

bool ten_npy_write(arena *a, diag_context *dx, const char *path, const ten_tensor *t)
{
    const char *error = NULL;
    if (file_write(a, path, ten_npy_format(a, t), &error))
        return true;
    diag_report(dx, HDS0645, nowhere, path, error);
    return false;
}
