// The exact value that a float constant represents: itself, or the fraction, root or constant of mathematics it is the
// rounding of.
//
// 1/3 in one kernel and a division by 3 in the other, log2(e) multiplied in before exp2, or 1/sqrt(96) written as a
// number are the same formula to their authors, and differ only by rounding.

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "sim/field_priv.h"

enum {
    EXACT_BITS = 16,             // floats with no more significant bits than this are meant as they stand
    FRACTION_LIMIT = 1 << 20,    // numerator times denominator of a fraction
    FACTOR_LIMIT = 1 << 12,      // the same, of a fraction that a constant is multiplied with
};

enum { SYMBOL_LOG2E = 1, SYMBOL_LOG2_10, SYMBOL_PI };

sim_field sim_field_log2e(void)
{
    return sim_field_symbol(SYMBOL_LOG2E);
}

sim_field sim_field_log2_10(void)
{
    return sim_field_symbol(SYMBOL_LOG2_10);
}

static bool is_odd_integer(uint64_t q)
{
    uint64_t size = q < sim_q_neg(q) ? q : sim_q_neg(q);
    return size >> 24 == 0 && size % 2;
}

static bool is_same_size(uint64_t a, uint64_t b)
{
    return a == b || a == sim_q_neg(b);
}

bool sim_keeps_sign(uint64_t q)
{
    uint64_t log2e = sim_field_log2e().q, log2_10 = sim_field_log2_10().q;
    uint64_t of_e = sim_q_mul(q, log2e), of_10 = sim_q_mul(q, log2_10);
    return is_odd_integer(q) || is_odd_integer(of_e) || is_odd_integer(of_10) || is_same_size(q, log2e) ||
           is_same_size(q, log2_10) || is_same_size(of_e, log2_10) || is_same_size(of_10, log2e);
}

// ---- exact values --------------------------------------------------------------------------------------------------

// 2^e: of negative exponents that of the inverse, (p + 1) / 2.
static sim_field power_of_two(int e)
{
    if (e >= 0 && e < 61)
        return (sim_field){(uint64_t)1 << e, ((uint64_t)1 << e) % SIM_FIELD_Q};
    uint64_t n = (uint64_t)(e < 0 ? -e : e);
    return (sim_field){sim_field_power(e < 0 ? (SIM_FIELD_P + 1) / 2 : 2, n),
                       sim_q_power(e < 0 ? (SIM_FIELD_Q + 1) / 2 : 2, n)};
}

static sim_field of_integer(uint64_t n)
{
    return (sim_field){n % SIM_FIELD_P, n % SIM_FIELD_Q};
}

// ---- recognising ---------------------------------------------------------------------------------------------------

typedef struct fraction {
    uint64_t over, under;
} fraction;

static bool is_near(double x, double y, double tolerance)
{
    return fabs(x - y) <= tolerance * fabs(y);
}

// The first convergent of the continued fraction of x > 0 that x may be the rounding of.
static bool find_fraction(double x, double tolerance, double limit, fraction *out)
{
    double rest = x, over = 1, under = 0, over_before = 0, under_before = 1;
    for (int step = 0; step < 24; step++) {
        double whole = floor(rest), next_over = whole * over + over_before, next_under = whole * under + under_before;
        over_before = over, under_before = under;
        over = next_over, under = next_under;
        if (over * under > limit || over > limit || under > limit)
            return false;
        if (over > 0 && is_near(x, over / under, tolerance)) {
            *out = (fraction){(uint64_t)over, (uint64_t)under};
            return true;
        }
        if (rest == whole)
            return false;
        rest = 1 / (rest - whole);
    }
    return false;
}

enum { DECIMAL_DIGITS_LIMIT = 1000, DECIMAL_EXPONENT_LIMIT = 40 };

static sim_field power_of_ten(int n)
{
    sim_field result = of_integer(1);
    for (; n > 0; n--)
        result = sim_field_mul(result, of_integer(10));
    return result;
}

// Up to three digits and a power of ten: 1e-10, 2.5e-13, 4e12.
static bool find_decimal(double x, double tolerance, sim_field *out)
{
    int exponent = 2 - (int)floor(log10(x)); // digits are in front of the point of x · 10^exponent
    if (abs(exponent) > DECIMAL_EXPONENT_LIMIT)
        return false;
    double digits = rint(exponent > 0 ? x * pow(10, exponent) : x / pow(10, -exponent));
    double decimal = exponent > 0 ? digits / pow(10, exponent) : digits * pow(10, -exponent);
    if (digits < 1 || digits > DECIMAL_DIGITS_LIMIT || !is_near(x, decimal, tolerance))
        return false;
    sim_field power = power_of_ten(abs(exponent)), n = of_integer((uint64_t)digits);
    *out = exponent > 0 ? sim_field_div(n, power) : sim_field_mul(n, power);
    return true;
}

static sim_field of_fraction(fraction f)
{
    return sim_field_div(of_integer(f.over), of_integer(f.under));
}

// x as [constant] times a fraction with few digits.
static bool find_multiple(double x, double constant, double tolerance, sim_field value, sim_field *out)
{
    fraction f;
    if (!find_fraction(x / constant, tolerance, FACTOR_LIMIT, &f))
        return false;
    *out = sim_field_mul(value, of_fraction(f));
    return true;
}

static bool find_root(double x, double tolerance, double limit, sim_field factor, sim_field *out)
{
    fraction f;
    if (!find_fraction(x * x, 2 * tolerance, limit, &f))
        return false;
    *out = sim_field_mul(factor, sim_field_root(of_fraction(f)));
    return true;
}

static bool find_constant(double x, double tolerance, sim_field *out)
{
    static const double log2e = 1.4426950408889634, log2_10 = 3.3219280948873623, pi = 3.141592653589793;
    const sim_field one = of_integer(1), e2 = sim_field_log2e(), t2 = sim_field_log2_10();
    const sim_field pi_value = sim_field_symbol(SYMBOL_PI);
    const sim_field root = sim_field_root(pi_value);
    const struct {
        double x;
        sim_field value;
    } table[] = {
        {log2e, e2},
        {1 / log2e, sim_field_div(one, e2)},
        {log2_10, t2},
        {1 / log2_10, sim_field_div(one, t2)},
        {log2_10 / log2e, sim_field_div(t2, e2)},
        {log2e / log2_10, sim_field_div(e2, t2)},
        {pi, pi_value},
        {1 / pi, sim_field_div(one, pi_value)},
        {sqrt(pi), root},
        {1 / sqrt(pi), sim_field_div(one, root)},
        {sqrt(2 * pi), sim_field_mul(sim_field_root(of_integer(2)), root)},
        {1 / sqrt(2 * pi), sim_field_div(one, sim_field_mul(sim_field_root(of_integer(2)), root))},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (find_multiple(x, table[i].x, tolerance, table[i].value, out))
            return true;
    }
    // Of softmax: log2(e) / sqrt(d).
    return find_root(x / log2e, tolerance, FACTOR_LIMIT, e2, out);
}

// x > 0 with many significant bits.
static bool recognise(double x, sim_field *out)
{
    fraction f;
    // A float is within half a unit in the last place of what it rounds; products of two such within one and a half.
    double tolerance = (double)(float)x == x ? 0x1p-24 : 0x1p-53;
    if (find_fraction(x, tolerance, FRACTION_LIMIT, &f)) {
        *out = of_fraction(f);
        return true;
    }
    if (find_decimal(x, tolerance, out))
        return true;
    return find_root(x, 2 * tolerance, FRACTION_LIMIT / 64, of_integer(1), out) || find_constant(x, 3 * tolerance, out);
}

// ---- all together --------------------------------------------------------------------------------------------------

static sim_field of_positive(double x)
{
    int e;
    uint64_t m = (uint64_t)ldexp(frexp(x, &e), 53);
    int zeros = __builtin_ctzll(m);
    m >>= zeros;
    e += zeros - 53;
    sim_field value;
    bool is_rounded = m >> EXACT_BITS;
    if (e < 0 && is_rounded && recognise(x, &value))
        return value;
    if (e > 0 && is_rounded && find_decimal(x, (double)(float)x == x ? 0x1p-24 : 0x1p-53, &value))
        return value;
    value = of_integer(m);
    return e ? sim_field_mul(value, power_of_two(e)) : value;
}

sim_field sim_field_of_float(double x)
{
    if (isnan(x))
        return (sim_field){SIM_FIELD_NAN, SIM_FIELD_NONE};
    if (isinf(x))
        return (sim_field){x > 0 ? SIM_FIELD_PLUS_INF : SIM_FIELD_MINUS_INF, SIM_FIELD_NONE};
    if (x == 0)
        return (sim_field){0, 0};
    return x < 0 ? sim_field_neg(of_positive(-x)) : of_positive(x);
}
