// Conversions by value between any two types, lane by lane: the rules of IR_OP_CAST (ir_ops.def).
#include "sim/cast.h"

#include <math.h>
#include <string.h>

#include "sim/half.h"

static bool is_signed_int(dtype t)
{
    return dt_kind_of(t) == DT_KIND_SINT;
}

static double double_of(dtype from, uint64_t bits)
{
    switch (from) {
    case DT_F64: {
        double d;
        memcpy(&d, &bits, sizeof d);
        return d;
    }
    case DT_TF32:
    case DT_F32:
        return (double)sim_float_of((uint32_t)bits);
    case DT_F16:
        return (double)sim_from_f16((uint32_t)bits);
    case DT_BF16:
        return (double)sim_from_bf16((uint32_t)bits);
    default:
        return dt_to_double(from, bits);
    }
}

// cvt.rna.tf32.f32: to nearest, ties away from zero.
static uint32_t tf32_of(float f)
{
    uint32_t bits = sim_bits_of(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fffe000u;
    return (bits + 0x1000u) & 0xffffe000u;
}

// Rounds an f64 to f32 with sticky last bit (round to odd), so that a second rounding is correct.
static float to_float_odd(double d)
{
    float f = (float)d;
    if (!isfinite(f) && isfinite(d))
        return f;
    if ((double)f != d && !isnan(d)) {
        float towards = fabs((double)f) > fabs(d) ? nextafterf(f, 0.0f) : f;
        return sim_float_of(sim_bits_of(towards) | 1u);
    }
    return f;
}

static uint64_t bits_of_double(dtype to, double d)
{
    switch (to) {
    case DT_F64: {
        uint64_t bits;
        memcpy(&bits, &d, sizeof bits);
        return bits;
    }
    case DT_F32:
        return sim_bits_of((float)d);
    case DT_TF32:
        return tf32_of(to_float_odd(d));
    case DT_F16:
        return sim_to_f16(to_float_odd(d));
    case DT_BF16:
        return sim_to_bf16(to_float_odd(d));
    default:
        return dt_from_double(to, d);
    }
}

// Truncated, clamped to the type's range, NaN to 0, as cvt.rzi does (of types below 32 bits: of 32, then wrapped).
static uint64_t int_of_double(dtype to, double d)
{
    dtype at_least = dt_bits(to) >= 32 ? to : is_signed_int(to) ? DT_I32 : DT_U32;
    uint64_t bits;
    if (isnan(d)) {
        bits = dt_bits(to) == 64 ? (uint64_t)1 << 63 : 0;
    } else if (is_signed_int(at_least)) {
        double low = (double)dt_min(at_least), high = -low;
        bits = d >= high ? dt_max_bits(at_least) : d < low ? (uint64_t)dt_min(at_least) : (uint64_t)(int64_t)d;
    } else {
        double high = dt_bits(at_least) == 64 ? 0x1p64 : 0x1p32;
        bits = d >= high ? dt_max_bits(at_least) : d <= -1.0 ? 0 : (uint64_t)d;
    }
    return (uint64_t)dt_wrap_int(to, (int64_t)bits);
}

static double double_of_int(dtype from, uint64_t bits)
{
    return is_signed_int(from) ? (double)(int64_t)bits : (double)bits;
}

// Integers of 64 bits go to f32 and narrower in one rounding.
static uint64_t float_of_int(dtype from, dtype to, uint64_t bits)
{
    if (to == DT_F32)
        return sim_bits_of(is_signed_int(from) ? (float)(int64_t)bits : (float)bits);
    if (to != DT_F64 && dt_bits(from) == 64) {
        // Odd rounding to f64 first.
        uint64_t magnitude = is_signed_int(from) && (int64_t)bits < 0 ? -bits : bits;
        if (magnitude >> 53)
            magnitude = (magnitude >> 11 | ((magnitude & 0x7ff) != 0)) << 11;
        double d = (double)magnitude;
        return bits_of_double(to, is_signed_int(from) && (int64_t)bits < 0 ? -d : d);
    }
    return bits_of_double(to, double_of_int(from, bits));
}

static uint64_t complex_of(float re, float im)
{
    return sim_bits_of(re) | (uint64_t)sim_bits_of(im) << 32;
}

// [bits]: of integers sign- or zero-extended to 64 bits. So is the result.
uint64_t sim_cast_bits(dtype from, dtype to, uint64_t bits)
{
    dt_kind in = dt_kind_of(from), out = dt_kind_of(to);
    if (from == to)
        return bits;
    if (out == DT_KIND_COMPLEX) {
        float re = in == DT_KIND_FLOAT ? (float)double_of(from, bits) : (float)double_of_int(from, bits);
        return complex_of(re, 0.0f);
    }
    if (out == DT_KIND_BOOL)
        return in == DT_KIND_FLOAT     ? double_of(from, bits) != 0.0
               : in == DT_KIND_COMPLEX ? (bits & 0x7fffffff7fffffffu) != 0
                                       : bits != 0;
    if (in == DT_KIND_COMPLEX) // its real part
        return sim_cast_bits(DT_F32, to, (uint32_t)bits);
    if (in == DT_KIND_FLOAT)
        return out == DT_KIND_FLOAT ? bits_of_double(to, double_of(from, bits))
                                    : int_of_double(to, double_of(from, bits));
    return out == DT_KIND_FLOAT ? float_of_int(from, to, bits) : (uint64_t)dt_wrap_int(to, (int64_t)bits);
}

double sim_double_of_bits(dtype from, uint64_t bits)
{
    return dt_kind_of(from) == DT_KIND_FLOAT ? double_of(from, bits) : double_of_int(from, bits);
}

uint64_t sim_bits_of_double(dtype to, double value)
{
    return bits_of_double(to, value);
}

static uint64_t read_lane(dtype t, const uint32_t *cells, int lane)
{
    if (dt_bits(t) > 32)
        return ((const uint64_t *)(const void *)cells)[lane];
    return is_signed_int(t) ? (uint64_t)(int64_t)(int32_t)cells[lane] : cells[lane];
}

void sim_cast_lanes(dtype from, dtype to, const uint32_t *in, uint32_t *out)
{
    uint64_t results[SIM_LANES];
    for (int l = 0; l < SIM_LANES; l++)
        results[l] = sim_cast_bits(from, to, read_lane(from, in, l));
    for (int l = 0; l < SIM_LANES; l++) {
        if (dt_bits(to) > 32)
            ((uint64_t *)(void *)out)[l] = results[l];
        else
            out[l] = (uint32_t)results[l];
    }
}
