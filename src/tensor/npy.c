#include "tensor/npy.h"

#include <string.h>

#include "base/checked.h"
#include "base/file.h"
#include "tensor/npy_header.h"

static const char magic[] = "\x93NUMPY";
enum { MAGIC_BYTES = 6, VERSION_BYTES = 8, ALIGNMENT = 64 };

// A file under examination: where it came from, who wants it, what its header says.
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

static bool malformed(input *in, const char *why, const char *help)
{
    diag *d = diag_report(in->dx, HDS0635, nowhere, in->path, why);
    if (help)
        diag_help(d, "%s", help);
    return false;
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

static bool open_frame(input *in, str file)
{
    if (file.len < VERSION_BYTES || memcmp(file.at, magic, MAGIC_BYTES) != 0)
        return malformed(in, file.len ? "it does not begin with the bytes '\\x93NUMPY'" : "it is empty", hint_of(file));
    int major = (uint8_t)file.at[6], minor = (uint8_t)file.at[7];
    if (major < 1 || major > 3 || minor != 0)
        return malformed(in, arena_printf(in->arena, "its version is %d.%d; 1.0, 2.0 and 3.0 are known", major, minor), NULL);
    size_t length_bytes = major == 1 ? 2 : 4, start = VERSION_BYTES + length_bytes;
    if (file.len < start)
        return malformed(in, "it ends within the header", NULL);
    size_t len = little_endian(file.at + VERSION_BYTES, (int)length_bytes);
    if (file.len - start < len)
        return malformed(in, "it ends within the header", NULL);
    const char *why = ten_npy_header_parse(in->arena, (str){file.at + start, len}, &in->header);
    in->data = (str){file.at + start + len, file.len - start - len};
    return !why || malformed(in, why, NULL);
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

static bool check_size(input *in, const ten_tensor *t, int64_t *bytes)
{
    if (!mul_checked(t->count, in->header.item_bytes, bytes))
        return malformed(in, "its shape has more elements than fit in memory", NULL);
    if ((uint64_t)*bytes == in->data.len)
        return true;
    str_buf type;
    str_buf_init(&type, in->arena);
    ten_type_print(t->type, t->rank, t->shape, &type);
    diag_report(in->dx, HDS0636, nowhere, in->path, (long long)in->data.len, str_text(&type), (long long)*bytes);
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
    int64_t bytes = 0;
    if (!ten_measure(t))
        return malformed(in, "its shape has more elements than fit in memory", NULL);
    if (!check_size(in, t, &bytes))
        return false;
    char *data = (char *)in->data.at;
    if (h->is_fortran && t->rank > 1)
        data = in_row_order(in, t, data);
    if (h->order == '>' && h->item_bytes > 1) {
        data = data == in->data.at ? arena_dup(in->arena, data, (size_t)bytes) : data;
        bool is_complex = h->kind == 'c';
        swap_bytes(data, is_complex ? 2 * t->count : t->count, is_complex ? h->item_bytes / 2 : h->item_bytes);
    }
    if (dt_bits(t->type) < 8)
        return ten_allocate(in->arena, t, 0) && pack(in, t, data);
    t->data = arena_dup(in->arena, data, (size_t)bytes);
    for (int64_t i = 0; t->type == DT_BOOL && i < t->count; i++)
        t->data[i] = t->data[i] != 0;
    return true;
}

bool ten_npy_parse(arena *a, diag_context *dx, const char *path, str file, dtype wanted, dtype raw, const char *what,
                   ten_tensor *out)
{
    input in = {.arena = a, .dx = dx, .path = path, .what = what};
    dtype type;
    if (!open_frame(&in, file) || !choose_type(&in, wanted, raw, &type))
        return false;
    *out = (ten_tensor){.type = type, .rank = in.header.rank};
    memcpy(out->shape, in.header.shape, sizeof out->shape);
    return take_data(&in, out);
}

bool ten_npy_read(arena *a, diag_context *dx, const char *path, dtype wanted, dtype raw, const char *what, ten_tensor *out)
{
    const char *error = NULL;
    str file;
    if (file_read(a, path, &file, &error))
        return ten_npy_parse(a, dx, path, file, wanted, raw, what, out);
    diag_report(dx, HDS0634, nowhere, path, error);
    return false;
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
