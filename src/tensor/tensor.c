#include "tensor/tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"

// ---- size -------------------------------------------------------------------------------------------------------

bool ten_measure(ten_tensor *t)
{
    int64_t count = 1, bits = 0;
    bool is_empty = false;
    for (int d = 0; d < t->rank; d++) {
        if (t->shape[d] < 0)
            return false;
        is_empty = is_empty || t->shape[d] == 0;
    }
    for (int d = 0; d < t->rank && !is_empty; d++) {
        if (!mul_checked(count, t->shape[d], &count))
            return false;
    }
    t->count = is_empty ? 0 : count;
    if (!mul_checked(t->count, dt_bits(t->type), &bits) || bits > INT64_MAX - 7)
        return false;
    t->bytes = (bits + 7) / 8;
    return true;
}

bool ten_allocate(arena *a, ten_tensor *t, int64_t limit_bytes)
{
    if (!ten_measure(t) || (limit_bytes && t->bytes > limit_bytes))
        return false;
    t->data = arena_alloc(a, (size_t)t->bytes);
    return true;
}

// ---- elements ---------------------------------------------------------------------------------------------------

uint64_t ten_bits(const ten_tensor *t, int64_t i)
{
    int width = dt_bits(t->type);
    uint64_t bits = 0;
    if (width < 8)
        return (uint64_t)(t->data[i * width / 8] >> (i * width % 8)) & ((1u << width) - 1);
    memcpy(&bits, t->data + i * (width / 8), (size_t)width / 8);
    return bits;
}

void ten_set_bits(ten_tensor *t, int64_t i, uint64_t bits)
{
    int width = dt_bits(t->type);
    if (width >= 8) {
        memcpy(t->data + i * (width / 8), &bits, (size_t)width / 8);
        return;
    }
    uint8_t *byte = &t->data[i * width / 8];
    int shift = (int)(i * width % 8);
    unsigned mask = ((1u << width) - 1) << shift;
    *byte = (uint8_t)((*byte & ~mask) | ((unsigned)(bits << shift) & mask));
}

static double number_of(dtype type, uint64_t bits)
{
    switch (dt_kind_of(type)) {
    case DT_KIND_BOOL:
        return bits != 0;
    case DT_KIND_SINT:
        return (double)dt_wrap_int(type, (int64_t)bits);
    case DT_KIND_UINT:
        return (double)bits;
    case DT_KIND_COMPLEX:
        return dt_to_double(DT_F32, bits & UINT32_MAX);
    case DT_KIND_FLOAT:
    case DT_KIND_NONE:
        break;
    }
    return dt_to_double(type, bits);
}

double ten_number(const ten_tensor *t, int64_t i)
{
    return number_of(t->type, ten_bits(t, i));
}

double ten_imaginary(const ten_tensor *t, int64_t i)
{
    return t->type == DT_C64 ? dt_to_double(DT_F32, ten_bits(t, i) >> 32) : 0;
}

// Towards zero, modulo the type's width; what no integer of 64 bits holds becomes 0.
static uint64_t integer_of(double value)
{
    if (value >= -0x1p63 && value < 0x1p63)
        return (uint64_t)(int64_t)value;
    return value >= 0x1p63 && value < 0x1p64 ? (uint64_t)value : 0;
}

void ten_set_number(ten_tensor *t, int64_t i, double value)
{
    switch (dt_kind_of(t->type)) {
    case DT_KIND_BOOL:
        ten_set_bits(t, i, value != 0);
        break;
    case DT_KIND_SINT:
    case DT_KIND_UINT:
        ten_set_bits(t, i, integer_of(value));
        break;
    case DT_KIND_COMPLEX:
        ten_set_bits(t, i, dt_from_double(DT_F32, value));
        break;
    case DT_KIND_FLOAT:
    case DT_KIND_NONE:
        ten_set_bits(t, i, dt_from_double(t->type, value));
        break;
    }
}

// ---- words ------------------------------------------------------------------------------------------------------

void ten_type_print(dtype type, int rank, const int64_t *shape, str_buf *out)
{
    str_addf(out, "%s[", dt_name(type));
    for (int d = 0; d < rank; d++)
        str_addf(out, "%s%lld", d ? ", " : "", (long long)shape[d]);
    str_addc(out, ']');
}

void ten_index_print(const ten_tensor *t, int64_t i, str_buf *out)
{
    int64_t index[TEN_MAX_RANK];
    for (int d = t->rank - 1; d >= 0; d--) {
        index[d] = i % t->shape[d];
        i /= t->shape[d];
    }
    if (t->rank == 1) {
        str_addf(out, "%lld", (long long)index[0]);
        return;
    }
    str_addc(out, '(');
    for (int d = 0; d < t->rank; d++)
        str_addf(out, "%s%lld", d ? ", " : "", (long long)index[d]);
    str_addc(out, ')');
}

// The fewest digits that round to the same bits of the type.
static void print_float(dtype type, uint64_t bits, str_buf *out)
{
    double value = dt_to_double(type, bits);
    char text[40];
    if (!isfinite(value)) {
        str_adds(out, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        bool is_plain = !strchr(text, 'e') || fabs(value) < 1e-4 || fabs(value) >= 1e6;
        if (is_plain && dt_from_double(type, str_to_double(text)) == bits)
            break;
    }
    str_adds(out, text);
    if (!strpbrk(text, ".e"))
        str_adds(out, ".0");
}

void ten_value_print(dtype type, uint64_t bits, str_buf *out)
{
    switch (dt_kind_of(type)) {
    case DT_KIND_BOOL:
        str_adds(out, bits ? "true" : "false");
        break;
    case DT_KIND_SINT:
        str_addf(out, "%lld", (long long)dt_wrap_int(type, (int64_t)bits));
        break;
    case DT_KIND_UINT:
        str_addf(out, "%llu", (unsigned long long)bits);
        break;
    case DT_KIND_COMPLEX:
        str_addc(out, '(');
        print_float(DT_F32, bits & UINT32_MAX, out);
        str_adds(out, ", ");
        print_float(DT_F32, bits >> 32, out);
        str_addc(out, ')');
        break;
    case DT_KIND_FLOAT:
    case DT_KIND_NONE:
        print_float(type, bits, out);
        break;
    }
}
