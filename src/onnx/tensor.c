// Tensors of the file as weights: their types, extents and bytes.
#include "onnx/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

enum { EXTERNAL = 1, MOST_INTEGERS = 256, MOST_FLOATS = 8 };

// clang-format off
static const onnx_type types[] = {
    {1, "FLOAT", "f32", 4}, {2, "UINT8", "u8", 1}, {3, "INT8", "i8", 1}, {4, "UINT16", "u16", 2}, {5, "INT16", "i16", 2},
    {6, "INT32", "i32", 4}, {7, "INT64", "i64", 8}, {8, "STRING", NULL, 0}, {9, "BOOL", "bool", 1}, {10, "FLOAT16", "f16", 2},
    {11, "DOUBLE", "f64", 8}, {12, "UINT32", "u32", 4}, {13, "UINT64", "u64", 8}, {14, "COMPLEX64", "complex64", 8},
    {15, "COMPLEX128", NULL, 16}, {16, "BFLOAT16", "bf16", 2}, {17, "FLOAT8E4M3FN", "f8e4m3", 1}, {18, "FLOAT8E4M3FNUZ", NULL, 1},
    {19, "FLOAT8E5M2", "f8e5m2", 1}, {20, "FLOAT8E5M2FNUZ", NULL, 1}, {21, "UINT4", NULL, 0}, {22, "INT4", NULL, 0},
    {23, "FLOAT4E2M1", NULL, 0}, {24, "FLOAT8E8M0", NULL, 1}, {25, "UINT2", NULL, 0}, {26, "INT2", NULL, 0},
};
// clang-format on

const onnx_type *onnx_type_of(int code)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == code)
            return &types[i];
    return NULL;
}

// ---- bytes --------------------------------------------------------------------------------------------------------------------

// The elements of a typed field, of one of two kinds, each in [width] bytes, little-endian; they are [count].
static const uint8_t *from_integers(arena *a, const int32_t *small, const uint64_t *natural, size_t count, int width)
{
    uint8_t *out = arena_alloc(a, count * (size_t)width + 1);
    for (size_t i = 0; i < count; i++) {
        uint64_t v = small ? (uint64_t)(int64_t)small[i] : natural[i];
        for (int b = 0; b < width; b++)
            out[i * (size_t)width + (size_t)b] = (uint8_t)(v >> (8 * b));
    }
    return out;
}

// A list of the file's parser, or where its only field is.
static const uint8_t *listed(const onnx_model *m, const Onnx__View *view, const void *list, size_t count, size_t width,
                             size_t *bytes)
{
    *bytes = view ? view->bytes : count * width;
    return view ? m->bytes + view->at : list;
}

// The bytes of the typed field of a tensor, and how many there are. NULL: it is empty.
static const uint8_t *typed_bytes(const onnx_model *m, const Onnx__Tensor *t, const onnx_type *type, size_t *bytes)
{
    if (type->code == 1 || type->code == 14)
        return listed(m, t->floats, t->float_data, t->n_float_data, sizeof(float), bytes);
    if (type->code == 11)
        return listed(m, t->doubles, t->double_data, t->n_double_data, sizeof(double), bytes);
    if (type->code == 7)
        return listed(m, NULL, t->int64_data, t->n_int64_data, sizeof(int64_t), bytes);
    bool is_natural = type->code == 12 || type->code == 13;
    size_t count = is_natural ? t->n_uint64_data : t->n_int32_data;
    *bytes = count * (size_t)type->bytes;
    return from_integers(m->memory, is_natural ? NULL : t->int32_data, t->uint64_data, count, type->bytes);
}

static bool tensor_failed(onnx_model *m, const char *name, const char *why)
{
    return onnx_failed(m, arena_printf(m->memory, "tensor '%s': %s", name, why));
}

// How many bytes type and extents need.
static bool measure(onnx_model *m, const Onnx__Tensor *t, wt_entry *e, int width)
{
    int64_t bytes = width;
    bool is_empty = false;
    for (size_t d = 0; d < t->n_dims; d++) {
        if (t->dims[d] < 0)
            return tensor_failed(m, e->name, "an extent is negative");
        is_empty |= t->dims[d] == 0;
    }
    for (size_t d = 0; d < t->n_dims && !is_empty; d++)
        if (!mul_checked(bytes, t->dims[d], &bytes))
            return tensor_failed(m, e->name, "it has more than 2^63 bytes");
    e->bytes = is_empty ? 0 : bytes;
    e->rank = (int)t->n_dims;
    e->shape = t->dims;
    return true;
}

static bool find_bytes(onnx_model *m, const Onnx__Tensor *t, const onnx_type *type, wt_entry *e)
{
    size_t count = 0;
    if (t->data_location == EXTERNAL)
        return onnx_find_external(m, t, e);
    if (t->raw) {
        e->at = m->bytes + t->raw->at;
        count = t->raw->bytes;
    } else {
        e->at = typed_bytes(m, t, type, &count);
    }
    if (!e->at)
        e->at = (const uint8_t *)"";
    if (count == (size_t)e->bytes)
        return true;
    return tensor_failed(m, e->name, arena_printf(m->memory, "it has %zu bytes, and its type and extents need %" PRId64, count, e->bytes));
}

// A name that no other weight has.
static const char *free_name(onnx_model *m, const char *text)
{
    const char *name = *text ? onnx_clean(m->memory, text) : "constant", *tried = name;
    uintptr_t next = (uintptr_t)map_get(&m->numbers, name, strlen(name));
    while (wt_find(m->weights, tried))
        tried = arena_printf(m->memory, "%s.%zu", name, (size_t)++next);
    map_put(&m->numbers, name, strlen(name), (void *)next);
    return tried;
}

bool onnx_add_weight(onnx_model *m, const Onnx__Tensor *t, const char *name)
{
    wt_entry e = {.name = free_name(m, name)};
    const onnx_type *type = onnx_type_of(t->data_type);
    if (!type)
        return tensor_failed(m, e.name, arena_printf(m->memory, "there is no type of elements %d", t->data_type));
    if (!type->dtype)
        return tensor_failed(m, e.name, arena_printf(m->memory, "its elements are %s, which the language does not have", type->name));
    e.dtype = type->dtype;
    e.stored_dtype = wt_stored_dtype_of(type->dtype);
    if (!measure(m, t, &e, type->bytes) || !find_bytes(m, t, type, &e))
        return false;
    wt_add(m->weights, e);
    map_put_ptr(&m->tensors, t, (void *)e.name);
    return true;
}

const char *onnx_weight_name(const onnx_model *m, const Onnx__Tensor *t)
{
    return map_get_ptr(&m->tensors, t);
}

const wt_entry *onnx_weight_of(const onnx_model *m, const Onnx__Tensor *t)
{
    const char *name = onnx_weight_name(m, t);
    return name ? wt_find(m->weights, name) : NULL;
}

wt_file *onnx_weights(onnx_model *m)
{
    return m->weights;
}

// ---- values -------------------------------------------------------------------------------------------------------------------

static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
        return mantissa ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(mantissa + 1024, exponent - 25) : ldexp(mantissa, -24));
}

void onnx_add_float(str_buf *out, float v)
{
    char text[32];
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)v);
        if (strtof(text, NULL) == v)
            break;
    }
    if (isnan(v) || isinf(v))
        str_adds(out, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
    else
        str_addf(out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

static void add_float(str_buf *out, double v)
{
    if (isnan(v) || isinf(v))
        str_adds(out, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
    else
        str_add_double(out, v);
}

static void add_value(str_buf *out, const onnx_type *type, const uint8_t *at)
{
    uint64_t bits = 0;
    for (int b = 0; b < type->bytes; b++)
        bits |= (uint64_t)at[b] << (8 * b);
    uint32_t low = type->code == 16 ? (uint32_t)bits << 16 : (uint32_t)bits;
    float single;
    double twice;
    memcpy(&single, &low, sizeof single);
    memcpy(&twice, &bits, sizeof twice);
    int unused = 64 - 8 * type->bytes;
    if (type->code == 1 || type->code == 16)
        onnx_add_float(out, single);
    else if (type->code == 11)
        add_float(out, twice);
    else if (type->code == 10)
        add_float(out, half_value((uint16_t)bits));
    else if (type->code == 9)
        str_adds(out, bits ? "True" : "False");
    else if (*type->name == 'U')
        str_addf(out, "%" PRIu64, bits);
    else
        str_addf(out, "%" PRId64, (int64_t)(bits << unused) >> unused);
}

static bool is_float(const onnx_type *type)
{
    return type->code == 1 || type->code == 10 || type->code == 11 || type->code == 16;
}

const char *onnx_values(const onnx_model *m, const Onnx__Tensor *t)
{
    const wt_entry *e = onnx_weight_of(m, t);
    const onnx_type *type = onnx_type_of(t->data_type);
    int64_t count = e ? e->bytes / type->bytes : 0;
    bool is_listed = type->code != 14 && type->code != 17 && type->code != 19;
    if (!e || !is_listed || count > (is_float(type) ? MOST_FLOATS : MOST_INTEGERS))
        return NULL;
    const char *error = NULL;
    const uint8_t *at = wt_bytes(m->weights, e, &error);
    if (!at)
        return NULL; // who needs them says why
    str_buf out;
    str_buf_init(&out, m->memory);
    str_addc(&out, '[');
    for (int64_t i = 0; i < count; i++) {
        str_adds(&out, i ? ", " : "");
        add_value(&out, type, at + i * type->bytes);
    }
    str_addc(&out, ']');
    return str_text(&out);
}
