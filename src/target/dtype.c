#include "target/dtype.h"

#include <math.h>

const dt_row dt_rows[DT__COUNT] = {
    [DT_NONE] = {"none", "none", "", DT_KIND_NONE, 0, 0, 0},
#define DTYPE(id, name, long_name, kind, bits, exponent, mantissa, cuda)                                               \
    [DT_##id] = {name, long_name, cuda, DT_KIND_##kind, bits, exponent, mantissa},
#include "../../lang/dtypes.def"
#undef DTYPE
};

bool dt_find(str name, dtype *out)
{
    for (int t = DT_NONE + 1; t < DT__COUNT; t++) {
        if (str_equal(name, str_of(dt_rows[t].name)) || str_equal(name, str_of(dt_rows[t].long_name))) {
            *out = (dtype)t;
            return true;
        }
    }
    return false;
}

int64_t dt_min(dtype t)
{
    return dt_is_signed(t) ? -1 - (int64_t)dt_max_bits(t) : 0;
}

uint64_t dt_max_bits(dtype t)
{
    switch (dt_kind_of(t)) {
    case DT_KIND_BOOL: return 1;
    case DT_KIND_SINT: return ((uint64_t)1 << (dt_bits(t) - 1)) - 1;
    case DT_KIND_UINT: return UINT64_MAX >> (64 - dt_bits(t));
    case DT_KIND_NONE:
    case DT_KIND_FLOAT:
    case DT_KIND_COMPLEX: break;
    }
    return 0;
}

static bool is_integral(dtype t)
{
    return dt_is_int(t) || t == DT_BOOL;
}

bool dt_holds_int(dtype t, int64_t value)
{
    if (!is_integral(t))
        return false;
    return value < 0 ? value >= dt_min(t) : (uint64_t)value <= dt_max_bits(t);
}

bool dt_holds_double(dtype t, double value)
{
    if (dt_is_float(t) || t == DT_C64) {
        double back = dt_to_double(t, dt_from_double(t, value));
        return back == value || (isnan(value) && isnan(back));
    }
    if (!is_integral(t) || value != trunc(value))
        return false;
    if (t == DT_U64)
        return value >= 0 && value < 0x1p64;
    return value >= -0x1p63 && value < 0x1p63 && dt_holds_int(t, (int64_t)value);
}

int64_t dt_wrap_int(dtype t, int64_t value)
{
    if (t == DT_BOOL)
        return value != 0;
    if (!dt_is_int(t))
        return value;
    int unused = 64 - dt_bits(t);
    uint64_t high = (uint64_t)value << unused;
    return dt_is_signed(t) ? (int64_t)high >> unused : (int64_t)(high >> unused);
}

// ---- promotion --------------------------------------------------------------------------------------------------

static bool is_fp8(dtype t)
{
    return t == DT_F8E4M3 || t == DT_F8E5M2;
}

// Sub-byte integers have no arithmetic of their own.
static dtype widen_subbyte(dtype t)
{
    if (!dt_is_int(t) || !dt_is_subbyte(t))
        return t;
    return dt_is_signed(t) ? DT_I8 : DT_U8;
}

static dtype promote_ints(dtype a, dtype b)
{
    if (a == DT_BOOL || b == DT_BOOL)
        return a == DT_BOOL ? b : a;
    if (dt_is_signed(a) == dt_is_signed(b))
        return dt_bits(a) >= dt_bits(b) ? a : b;
    dtype s = dt_is_signed(a) ? a : b, u = dt_is_signed(a) ? b : a;
    if (dt_bits(s) > dt_bits(u))
        return s;
    // the smallest signed type that holds both
    return dt_bits(u) == 8 ? DT_I16 : dt_bits(u) == 16 ? DT_I32 : dt_bits(u) == 32 ? DT_I64 : DT_NONE;
}

// [a] and [b] are different and neither is an fp8. The smallest type that holds both, where one does.
static dtype promote_floats(dtype a, dtype b)
{
    if (dt_converts_exactly(a, b))
        return b;
    return dt_converts_exactly(b, a) ? a : DT_F32;
}

dtype dt_promote(dtype a, dtype b)
{
    a = widen_subbyte(a);
    b = widen_subbyte(b);
    if (a == b)
        return a;
    if (a == DT_NONE || b == DT_NONE || is_fp8(a) || is_fp8(b))
        return DT_NONE;
    if (a == DT_C64 || b == DT_C64)
        return a == DT_F64 || b == DT_F64 ? DT_NONE : DT_C64;
    if (dt_is_float(a) && dt_is_float(b))
        return promote_floats(a, b);
    if (dt_is_float(a) || dt_is_float(b))
        return dt_is_float(a) ? a : b;
    return promote_ints(a, b);
}

// Significant bits of the largest magnitude of an integer type that is not a power of two.
static int magnitude_bits(dtype t)
{
    return t == DT_BOOL ? 1 : dt_bits(t) - dt_is_signed(t);
}

static bool int_fits_float(dtype from, dtype to)
{
    // A signed type's minimum is a power of two, so only the exponent matters for it.
    return magnitude_bits(from) <= dt_mantissa_bits(to) + 1 && dt_holds_double(to, (double)dt_min(from)) &&
           dt_holds_double(to, (double)dt_max_bits(from));
}

bool dt_converts_exactly(dtype from, dtype to)
{
    if (from == DT_NONE || to == DT_NONE)
        return false;
    if (from == to)
        return true;
    if (dt_is_int(from) && dt_is_int(to))
        return dt_is_signed(from) == dt_is_signed(to) ? dt_bits(from) <= dt_bits(to)
                                                      : dt_is_signed(to) && dt_bits(from) < dt_bits(to);
    if (to == DT_C64)
        return dt_converts_exactly(from, DT_F32);
    if (is_integral(from) && is_integral(to))
        return dt_min(from) >= dt_min(to) && dt_max_bits(from) <= dt_max_bits(to);
    if (is_integral(from) && dt_is_float(to))
        return int_fits_float(from, to);
    // f8e4m3 has no infinity, so nothing but itself goes into it.
    return dt_is_float(from) && dt_is_float(to) && to != DT_F8E4M3 && dt_exponent_bits(from) <= dt_exponent_bits(to) &&
           dt_mantissa_bits(from) <= dt_mantissa_bits(to);
}
