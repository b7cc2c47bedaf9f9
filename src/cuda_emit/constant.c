// Constants that read back as exactly the same value.
#include "cuda_emit/printer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool fits_int(int64_t value)
{
    return value >= -INT32_MAX && value <= INT32_MAX;
}

// What a literal needs to have type [t] by itself.
static const char *suffix_of(dtype t, bool bare)
{
    switch (t) {
    case DT_U32: return "u";
    case DT_I64: return bare ? "" : "LL";
    case DT_U64: return "ull";
    default: return "";
    }
}

static const char *digits_of(cu *cx, dtype t, int64_t value)
{
    bool is_unsigned = t == DT_U32 || t == DT_U64;
    uint64_t bits = (uint64_t)value;
    bool is_mask = is_unsigned && (bits > INT32_MAX || (bits > UINT16_MAX / 2 && (bits & (bits + 1)) == 0));
    if (is_mask)
        return cu_format(cx, "0x%llx", (unsigned long long)value);
    if (t == DT_U64)
        return cu_format(cx, "%llu", (unsigned long long)value);
    return cu_format(cx, "%lld", (long long)value);
}

// [bare]: the other operand or the context gives the type, so that a plain number will do where it fits an int.
cu_text cu_int_text(cu *cx, dtype t, int64_t value, bool bare)
{
    cu_text text = {.ctype = t, .prec = CU_POSTFIX, .nonneg = value >= 0 && t != DT_U64, .literal = true};
    text.most = text.nonneg ? (uint64_t)value : 0;
    if (t == DT_BOOL) {
        text.s = value ? "true" : "false";
        text.literal = false;
        return text;
    }
    if (dt_bits(t) < 32)
        text.ctype = DT_I32;
    if (value == INT64_MIN && t == DT_I64) {
        text.s = "(-9223372036854775807LL - 1)";
    } else if (value == INT32_MIN && t == DT_I32) {
        text.s = "(-2147483647 - 1)";
    } else if (bare && fits_int(value) && (dt_is_signed(t) || value >= 0)) {
        text.s = digits_of(cx, t, value);
        text.prec = value < 0 ? CU_UNARY : CU_POSTFIX;
    } else {
        text.s = cu_format(cx, "%s%s", digits_of(cx, t, value), suffix_of(t, bare && fits_int(value)));
        text.prec = value < 0 && dt_is_signed(t) ? CU_UNARY : CU_POSTFIX;
    }
    return text;
}

// "1.5" of "15", exponent 0: plain between 1e-5 and 1e9, with an exponent elsewhere.
static const char *place_point(arena *a, const char *digits, int exponent)
{
    int count = (int)strlen(digits);
    if (exponent < -5 || exponent > 8)
        return arena_printf(a, "%c%s%se%d", digits[0], count > 1 ? "." : "", digits + 1, exponent);
    if (exponent < 0)
        return arena_printf(a, "0.%.*s%s", -exponent - 1, "00000", digits);
    if (exponent >= count - 1)
        return arena_printf(a, "%s%.*s.0", digits, exponent - count + 1, "000000000");
    return arena_printf(a, "%.*s.%s", exponent + 1, digits, digits + exponent + 1);
}

// Decimal digits and exponent of "%.{n}e", whatever the locale's decimal point is.
static int split_digits(const char *formatted, char *digits)
{
    const char *e = strchr(formatted, 'e');
    int count = 0;
    for (const char *at = formatted; at < e; at++)
        if (*at >= '0' && *at <= '9')
            digits[count++] = *at;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    digits[count] = '\0';
    return atoi(e + 1);
}

// The shortest decimal text that a compiler reads as [value] (> 0, finite), as float or as double. A float must also
// survive being read as a double first.
static const char *shortest(arena *a, double value, bool is_float)
{
    const char *text = "0.0";
    for (int n = 0; n < 17; n++) {
        char formatted[40], digits[40];
        snprintf(formatted, sizeof formatted, "%.*e", n, value);
        int exponent = split_digits(formatted, digits);
        text = place_point(a, digits, exponent);
        double back = str_to_double(text);
        if (is_float ? (double)(float)back == value : back == value)
            break;
    }
    return text;
}

static const char *special(cu *cx, dtype t, double value)
{
    bool is_negative = signbit(value) != 0;
    cx->dialect->use_header(cx, "math.h");
    if (cx->in_host)
        return arena_printf(cx->a, "%s%s", is_negative ? "-" : "", isnan(value) ? "NAN" : "INFINITY");
    if (t == DT_F32)
        return arena_printf(cx->a, "__int_as_float(0x%08x)", (unsigned)dt_from_double(DT_F32, value));
    return arena_printf(cx->a, "__longlong_as_double(0x%016llxLL)", (unsigned long long)dt_from_double(DT_F64, value));
}

static cu_text wide_float(cu *cx, dtype t, double value)
{
    cu_text text = {.ctype = t, .prec = CU_POSTFIX};
    if (isnan(value) || isinf(value)) {
        text.s = special(cx, t, value);
        text.prec = cx->in_host && signbit(value) ? CU_UNARY : CU_POSTFIX;
        return text;
    }
    bool is_negative = signbit(value) != 0, is_float = t == DT_F32;
    const char *size = value == 0 || cx->is_dry ? "0.0" : shortest(cx->a, fabs(value), is_float);
    text.s = cu_format(cx, "%s%s%s", is_negative ? "-" : "", size, is_float ? "f" : "");
    text.prec = is_negative ? CU_UNARY : CU_POSTFIX;
    return text;
}

cu_text cu_float_text(cu *cx, dtype t, double value)
{
    return cu_is_struct(t) ? cx->dialect->struct_constant(cx, t, value) : wide_float(cx, t, value);
}
