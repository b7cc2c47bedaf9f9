// Arithmetic of compile-time numbers, as in Python: integers are exact (and limited to 128 bits), floats are doubles,
// and an integer meets a float without losing digits in comparisons.
#include "typecheck/values/number.h"

#include <math.h>

#include "base/floored.h"

typedef unsigned __int128 magnitude;

static tc_value overflow(tc *tx, src_span span)
{
    return TC_ERR(tx, HDS0120, span);
}

double tc_to_double(tc_value v)
{
    return v.kind == TC_FLOAT ? v.f : v.kind == TC_BOOL ? (double)v.b : (double)v.i;
}

tc_int tc_to_int(tc_value v)
{
    return v.kind == TC_BOOL ? (tc_int)v.b : v.i;
}

static magnitude magnitude_of(tc_int i)
{
    return i < 0 ? -(magnitude)i : (magnitude)i;
}

// ---- integers ----------------------------------------------------------------------------------------------------

static tc_int floor_quotient(tc_int a, tc_int b)
{
    tc_int q = a / b;
    return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

static tc_value float_power(tc *tx, double base, double exponent, src_span span);

static tc_value int_power(tc *tx, tc_int base, tc_int exponent, src_span span)
{
    if (exponent < 0)
        return float_power(tx, (double)base, (double)exponent, span);
    tc_int result = 1;
    while (exponent) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
            return overflow(tx, span);
        exponent >>= 1;
        if (exponent && __builtin_mul_overflow(base, base, &base))
            return overflow(tx, span);
    }
    return tc_of_int(result);
}

// The nearest double to a / b. The quotient is carried to 55 bits and more, of which the last says whether something
// follows, so that the conversion rounds once and correctly.
static double nearest_quotient(tc_int a, tc_int b)
{
    magnitude n = magnitude_of(a), d = magnitude_of(b), quotient = n / d, rest = n % d;
    int exponent = 0;
    for (; n && quotient < (magnitude)1 << 54; exponent--) {
        bool one = rest >= d - rest;
        rest = one ? rest - (d - rest) : rest + rest;
        quotient = quotient << 1 | one;
    }
    double nearest = ldexp((double)(quotient | (rest != 0)), exponent);
    return (a < 0) != (b < 0) ? -nearest : nearest;
}

static tc_value int_divide(tc *tx, ast_op op, tc_int a, tc_int b, src_span span)
{
    tc_int r;
    if (b == 0)
        return TC_ERR(tx, HDS0121, span);
    if (op == AST_OP_DIV)
        return tc_float(nearest_quotient(a, b));
    if (b == -1 && op == AST_OP_MOD)
        return tc_of_int(0);
    if (b == -1)
        return __builtin_sub_overflow((tc_int)0, a, &r) ? overflow(tx, span) : tc_of_int(r);
    return tc_of_int(op == AST_OP_FLOORDIV ? floor_quotient(a, b) : a - floor_quotient(a, b) * b);
}

static tc_value int_shift(tc *tx, ast_op op, tc_int a, tc_int by, src_span span)
{
    tc_int r;
    if (by < 0)
        return TC_ERR(tx, HDS0122, span, tc_text(tx, tc_of_int(by)));
    if (op == AST_OP_SHR)
        return tc_of_int(by > 126 ? (a < 0 ? -1 : 0) : a >> by);
    if (a == 0)
        return tc_of_int(0);
    if (by > 126 || __builtin_mul_overflow(a, (tc_int)1 << by, &r))
        return overflow(tx, span);
    return tc_of_int(r);
}

static tc_value int_binary(tc *tx, ast_op op, tc_int a, tc_int b, src_span span)
{
    tc_int r;
    switch (op) {
    case AST_OP_ADD:
        return __builtin_add_overflow(a, b, &r) ? overflow(tx, span) : tc_of_int(r);
    case AST_OP_SUB:
        return __builtin_sub_overflow(a, b, &r) ? overflow(tx, span) : tc_of_int(r);
    case AST_OP_MUL:
        return __builtin_mul_overflow(a, b, &r) ? overflow(tx, span) : tc_of_int(r);
    case AST_OP_DIV:
    case AST_OP_FLOORDIV:
    case AST_OP_MOD:
        return int_divide(tx, op, a, b, span);
    case AST_OP_POW:
        return int_power(tx, a, b, span);
    case AST_OP_SHL:
    case AST_OP_SHR:
        return int_shift(tx, op, a, b, span);
    case AST_OP_AND:
        return tc_of_int(a & b);
    case AST_OP_OR:
        return tc_of_int(a | b);
    case AST_OP_XOR:
        return tc_of_int(a ^ b);
    default:
        return tc_poison();
    }
}

// ---- powers modulo an integer ------------------------------------------------------------------------------------

// Products modulo m by doubling: they would not fit into 128 bits.
static magnitude times_modulo(magnitude a, magnitude b, magnitude m)
{
    magnitude result = 0;
    for (; b; b >>= 1) {
        if (b & 1)
            result = result >= m - a ? result - (m - a) : result + a;
        a = a >= m - a ? a - (m - a) : a + a;
    }
    return result;
}

// The inverse of a modulo m by Euclid's algorithm; 0 if there is none. The factors alternate in sign and stay below m.
static magnitude inverse_modulo(magnitude a, magnitude m)
{
    magnitude r0 = m, r1 = a % m, t0 = 0, t1 = 1;
    bool negative = false; // the sign of t1
    while (r1) {
        magnitude q = r0 / r1, r2 = r0 % r1, t2 = t0 + q * t1;
        r0 = r1;
        r1 = r2;
        t0 = t1;
        t1 = t2;
        negative = !negative;
    }
    return r0 != 1 ? 0 : negative ? t0 : m - t0;
}

tc_value tc_power_modulo(tc *tx, tc_value base, tc_value exponent, tc_value modulus, src_span span)
{
    tc_int b = tc_to_int(base), e = tc_to_int(exponent), m = tc_to_int(modulus);
    if (m == 0)
        return TC_ERR(tx, HDS0121, span);
    magnitude size = magnitude_of(m), rest = magnitude_of(b) % size, result = 1 % size;
    if (b < 0 && rest)
        rest = size - rest;
    if (e < 0 && size > 1 && !(rest = inverse_modulo(rest, size)))
        return TC_ERR(tx, HDS0321, span, tc_text(tx, base), tc_text(tx, modulus));
    for (magnitude left = magnitude_of(e); left; left >>= 1) {
        if (left & 1)
            result = times_modulo(result, rest, size);
        rest = times_modulo(rest, rest, size);
    }
    return tc_of_int(m < 0 && result ? (tc_int)result + m : (tc_int)result);
}

// ---- floats ------------------------------------------------------------------------------------------------------

static tc_value float_power(tc *tx, double base, double exponent, src_span span)
{
    bool finite = isfinite(base) && isfinite(exponent);
    if (base == 0 && exponent < 0 && finite)
        return TC_ERR(tx, HDS0121, span);
    if (base < 0 && finite && exponent != floor(exponent))
        return TC_ERR(tx, HDS0320, span, tc_text(tx, tc_float(base)), tc_text(tx, tc_float(exponent)));
    double power = pow(base, exponent);
    return finite && isinf(power) ? TC_ERR(tx, HDS0322, span) : tc_float(power);
}

static tc_value float_binary(tc *tx, ast_op op, double a, double b, src_span span)
{
    bool divides = op == AST_OP_DIV || op == AST_OP_FLOORDIV || op == AST_OP_MOD;
    if (divides && b == 0)
        return TC_ERR(tx, HDS0121, span);
    switch (op) {
    case AST_OP_ADD:
        return tc_float(a + b);
    case AST_OP_SUB:
        return tc_float(a - b);
    case AST_OP_MUL:
        return tc_float(a * b);
    case AST_OP_DIV:
        return tc_float(a / b);
    case AST_OP_FLOORDIV:
        return tc_float(floored_quotient_f64(a, b));
    case AST_OP_MOD:
        return tc_float(floored_rest_f64(a, b));
    case AST_OP_POW:
        return float_power(tx, a, b, span);
    default:
        return tc_poison();
    }
}

tc_value tc_number_binary(tc *tx, ast_op op, tc_value a, tc_value b, src_span span)
{
    if (a.kind != TC_FLOAT && b.kind != TC_FLOAT)
        return int_binary(tx, op, tc_to_int(a), tc_to_int(b), span);
    return float_binary(tx, op, tc_to_double(a), tc_to_double(b), span);
}

// ---- order -------------------------------------------------------------------------------------------------------

// An integer beside a float: by the float's whole part, which is exact, and then by what is behind its point.
static int order_int_float(tc_int i, double f)
{
    if (!(fabs(f) < 0x1p127))
        return f > 0 ? -1 : 1;
    double whole = floor(f);
    tc_int w = (tc_int)whole;
    return i < w ? -1 : i > w ? 1 : whole < f ? -1 : 0;
}

int tc_number_order(tc_value a, tc_value b, bool *unordered)
{
    *unordered = (a.kind == TC_FLOAT && isnan(a.f)) || (b.kind == TC_FLOAT && isnan(b.f));
    if (*unordered)
        return 0;
    if (a.kind == TC_FLOAT && b.kind == TC_FLOAT)
        return a.f < b.f ? -1 : a.f > b.f;
    if (b.kind == TC_FLOAT)
        return order_int_float(tc_to_int(a), b.f);
    if (a.kind == TC_FLOAT)
        return -order_int_float(tc_to_int(b), a.f);
    tc_int x = tc_to_int(a), y = tc_to_int(b);
    return x < y ? -1 : x > y;
}

// ---- sums --------------------------------------------------------------------------------------------------------

// Neumaier's compensated sum: the digits that an addition loses are kept beside the total.
static void add_compensated(double *total, double *lost, double x)
{
    double t = *total + x;
    *lost += fabs(*total) >= fabs(x) ? (*total - t) + x : (x - t) + *total;
    *total = t;
}

// Adds as many of the numbers at [items] to [total], a float, as Python's sum adds at once.
static size_t sum_floats(const tc_list *items, size_t i, tc_value *total)
{
    double lost = 0;
    for (int64_t n; i < items->len; i++) {
        if (items->at[i].kind == TC_FLOAT)
            add_compensated(&total->f, &lost, items->at[i].f);
        else if (tc_as_int64(items->at[i], &n))
            total->f += (double)n;
        else
            break;
    }
    if (lost != 0 && isfinite(lost))
        total->f += lost;
    return i;
}

tc_value tc_number_sum(tc *tx, const tc_list *items, size_t *at, tc_value total, src_span span)
{
    size_t i = *at;
    int64_t small;
    while (total.kind == TC_INT && tc_as_int64(total, &small) && i < items->len && tc_is_number(items->at[i]))
        total = tc_number_binary(tx, AST_OP_ADD, total, items->at[i++], span);
    if (total.kind == TC_FLOAT)
        i = sum_floats(items, i, &total);
    *at = i;
    return total;
}
