// Conversions between doubles and the bits of every type, in integer arithmetic: the rounding mode and the instruction
// set of the host have no say.

#include "target/dtype.h"

#include <math.h>
#include <string.h>

enum { DOUBLE_MANTISSA = 52, DOUBLE_BIAS = 1023 };

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t low_mask(int bits)
{
    return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

// A float type: its fields sit above [pad] zero bits (tf32 lives in the upper 19 bits of a word).
typedef struct format {
    int exponent, mantissa, pad;
    bool saturates;    // overflow gives the largest finite value
    bool ties_away;    // instead of ties to even
    bool has_infinity; // the all-ones exponent is kept for infinity and NaN
} format;

static format format_of(dtype t)
{
    format f = {.exponent = dt_exponent_bits(t), .mantissa = dt_mantissa_bits(t), .has_infinity = true};
    f.pad = t == DT_TF32 ? 13 : 0;
    f.ties_away = t == DT_TF32;
    f.saturates = t == DT_F8E4M3 || t == DT_F8E5M2;
    f.has_infinity = t != DT_F8E4M3;
    return f;
}

static uint64_t infinity_of(format f)
{
    return low_mask(f.exponent) << f.mantissa;
}

// Of f8e4m3 (OCP 8-bit floating point, section 5.2) only the all-ones pattern is not a number: 448 is 0x7e.
static uint64_t largest_of(format f)
{
    return f.has_infinity ? infinity_of(f) - 1 : low_mask(f.exponent + f.mantissa) - 1;
}

// fp8 conversions give the canonical NaN without a sign (PTX ISA, cvt); wider types keep sign and payload, so that every
// pattern survives the way to double and back. (On sm_90 cvt.rna.tf32.f32 makes infinity of a NaN whose payload lies
// below bit 13; here it stays NaN.)
static uint64_t encode_nan(format f, uint64_t source)
{
    if (f.saturates)
        return low_mask(f.exponent + f.mantissa);
    uint64_t payload = (source & low_mask(DOUBLE_MANTISSA)) >> (DOUBLE_MANTISSA - f.mantissa);
    if (!payload)
        payload = (uint64_t)1 << (f.mantissa - 1);
    uint64_t sign = source >> 63;
    return (sign << (f.exponent + f.mantissa)) | infinity_of(f) | payload;
}

// [significand] / 2^drop, rounded. [drop] > 0.
static uint64_t round_shift(uint64_t significand, int drop, bool ties_away)
{
    if (drop > 63)
        return 0;
    uint64_t kept = significand >> drop, rest = significand & low_mask(drop), half = (uint64_t)1 << (drop - 1);
    bool up = rest > half || (rest == half && (ties_away || (kept & 1)));
    return kept + up;
}

// Magnitude bits of a finite nonzero double, without its sign. A carry out of the mantissa lands in the exponent field,
// which is just what it should do: subnormals become normal, and the largest normal becomes infinity.
static uint64_t encode_magnitude(format f, uint64_t source)
{
    int bias = (1 << (f.exponent - 1)) - 1;
    int field = (int)((source >> DOUBLE_MANTISSA) & 0x7ff);
    uint64_t significand = source & low_mask(DOUBLE_MANTISSA);
    if (field)
        significand |= (uint64_t)1 << DOUBLE_MANTISSA;
    int exponent = (field ? field : 1) - DOUBLE_BIAS + bias;
    int drop = DOUBLE_MANTISSA - f.mantissa;
    if (exponent <= 0)
        return round_shift(significand, drop + 1 - exponent, f.ties_away);
    uint64_t rounded = drop ? round_shift(significand, drop, f.ties_away) : significand;
    // The hidden bit of [rounded] counts one in the exponent field, unless a double's own subnormal comes without it.
    return (((uint64_t)exponent - 1) << f.mantissa) + rounded;
}

static uint64_t encode(format f, double value)
{
    uint64_t source = bits_of(value), sign = source >> 63;
    if (isnan(value))
        return encode_nan(f, source) << f.pad;
    uint64_t largest = largest_of(f), magnitude;
    if (isinf(value))
        magnitude = f.saturates ? largest : infinity_of(f);
    else
        magnitude = encode_magnitude(f, source);
    if (magnitude > largest)
        magnitude = f.saturates ? largest : infinity_of(f);
    return (sign << (f.exponent + f.mantissa) | magnitude) << f.pad;
}

static double decode_nan(format f, uint64_t sign, uint64_t mantissa)
{
    uint64_t payload = mantissa << (DOUBLE_MANTISSA - f.mantissa);
    return double_of(sign << 63 | (uint64_t)0x7ff << DOUBLE_MANTISSA | payload);
}

static double decode(format f, uint64_t bits)
{
    bits = (bits >> f.pad) & low_mask(f.exponent + f.mantissa + 1);
    uint64_t sign = bits >> (f.exponent + f.mantissa), magnitude = bits & low_mask(f.exponent + f.mantissa);
    uint64_t mantissa = bits & low_mask(f.mantissa);
    int field = (int)(magnitude >> f.mantissa), bias = (1 << (f.exponent - 1)) - 1;
    if (magnitude > largest_of(f)) {
        if (f.has_infinity && !mantissa)
            return sign ? -INFINITY : INFINITY;
        return decode_nan(f, sign, mantissa);
    }
    if (field)
        mantissa |= (uint64_t)1 << f.mantissa;
    double value = ldexp((double)mantissa, (field ? field : 1) - bias - f.mantissa);
    return sign ? -value : value;
}

// As cvt.rzi does: towards zero, out of range to the nearest end, NaN to 0.
static uint64_t int_from_double(dtype t, double value)
{
    if (isnan(value))
        return 0;
    value = trunc(value);
    int64_t least = dt_min(t);
    if (value <= (double)least)
        return (uint64_t)least & low_mask(dt_bits(t));
    if (value >= (double)dt_max_bits(t))
        return dt_max_bits(t);
    uint64_t bits = value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
    return bits & low_mask(dt_bits(t));
}

uint64_t dt_from_double(dtype t, double value)
{
    switch (dt_kind_of(t)) {
    case DT_KIND_BOOL: return value != 0;
    case DT_KIND_SINT:
    case DT_KIND_UINT: return int_from_double(t, value);
    case DT_KIND_FLOAT: return encode(format_of(t), value);
    case DT_KIND_COMPLEX: return encode(format_of(DT_F32), value); // the imaginary part, in the high half, is 0
    case DT_KIND_NONE: break;
    }
    return 0;
}

double dt_to_double(dtype t, uint64_t bits)
{
    switch (dt_kind_of(t)) {
    case DT_KIND_BOOL: return bits != 0;
    case DT_KIND_SINT: return (double)dt_wrap_int(t, (int64_t)bits);
    case DT_KIND_UINT: return (double)(bits & low_mask(dt_bits(t)));
    case DT_KIND_FLOAT: return decode(format_of(t), bits);
    case DT_KIND_COMPLEX: return decode(format_of(DT_F32), bits);
    case DT_KIND_NONE: break;
    }
    return 0;
}
