// Arithmetic of field values.

#include "sim/field.h"

#include <math.h>

#include "sim/field_priv.h"

static const uint64_t first_mark = SIM_FIELD_NAN;

bool sim_field_is_mark(sim_field a)
{
    return a.p >= first_mark && a.p != SIM_FIELD_NONE;
}

static sim_field mark(uint64_t p)
{
    return (sim_field){p, SIM_FIELD_NONE};
}

// Whether the operands need the slow path: marks, degrees.
static inline bool is_plain(sim_field a, sim_field b)
{
    return !((a.p | b.p) >> SIM_FIELD_BITS) && a.q != SIM_FIELD_DEGREE && b.q != SIM_FIELD_DEGREE;
}

// Whether both have a part in F_q, without a sign.
static inline bool have_plain_q(sim_field a, sim_field b)
{
    return !((a.q | b.q) >> (SIM_FIELD_BITS - 1));
}

// ---- sums ----------------------------------------------------------------------------------------------------------

// The parts in F_q of a sum, of a negative and of a product where one has a sign or is missing.
static uint64_t add_signed(sim_field a, sim_field b)
{
    if (!sim_has_q(a) || !sim_has_q(b))
        return SIM_FIELD_NONE;
    return sim_q_add(sim_unsigned_q(a.q), sim_unsigned_q(b.q)) | ((a.q ^ b.q) & SIM_FIELD_SIGN);
}

static uint64_t negate_q(sim_field a)
{
    return sim_has_q(a) ? sim_q_neg(sim_unsigned_q(a.q)) | (a.q & SIM_FIELD_SIGN) : SIM_FIELD_NONE;
}

static uint64_t multiply_signed(uint64_t a, uint64_t b)
{
    uint64_t product = sim_q_mul(sim_unsigned_q(a), sim_unsigned_q(b));
    bool one_is_signed = (a ^ b) & SIM_FIELD_SIGN;
    return one_is_signed && sim_keeps_sign(a & SIM_FIELD_SIGN ? b : a) ? product | SIM_FIELD_SIGN : product;
}

static uint64_t divide_signed(uint64_t a, uint64_t b)
{
    return multiply_signed(a, sim_q_inverse(sim_unsigned_q(b)) | (b & SIM_FIELD_SIGN));
}

static sim_field add_marks(sim_field a, sim_field b)
{
    if (a.p < first_mark || b.p < first_mark)
        return mark(a.p < first_mark ? b.p : a.p);
    return mark(a.p == b.p ? a.p : SIM_FIELD_NAN);
}

sim_field sim_field_add(sim_field a, sim_field b)
{
    if (is_plain(a, b))
        return (sim_field){sim_p_add(a.p, b.p), have_plain_q(a, b) ? sim_q_add(a.q, b.q) : add_signed(a, b)};
    if (a.p >= first_mark || b.p >= first_mark)
        return add_marks(a, b);
    return sim_degree_sum(a, b);
}

sim_field sim_field_neg(sim_field a)
{
    if (a.p == SIM_FIELD_PLUS_INF || a.p == SIM_FIELD_MINUS_INF)
        return mark(a.p == SIM_FIELD_PLUS_INF ? SIM_FIELD_MINUS_INF : SIM_FIELD_PLUS_INF);
    if (a.p >= first_mark || sim_is_degree(a))
        return a;
    return (sim_field){sim_p_neg(a.p), negate_q(a)};
}

sim_field sim_field_sub(sim_field a, sim_field b)
{
    return sim_field_add(a, sim_field_neg(b));
}

// ---- products ------------------------------------------------------------------------------------------------------

static bool is_zero(sim_field a)
{
    return a.p == 0 && a.q == 0;
}

sim_field sim_field_mul(sim_field a, sim_field b)
{
    if (is_plain(a, b)) {
        if (have_plain_q(a, b))
            return (sim_field){sim_p_mul(a.p, b.p), sim_q_mul(a.q, b.q)};
        if (sim_has_q(a) && sim_has_q(b))
            return (sim_field){sim_p_mul(a.p, b.p), multiply_signed(a.q, b.q)};
        // A product with the constant 0 depends on nothing.
        return (sim_field){sim_p_mul(a.p, b.p), is_zero(a) || is_zero(b) ? 0 : SIM_FIELD_NONE};
    }
    if (a.p >= first_mark || b.p >= first_mark)
        return mark(SIM_FIELD_NAN);
    return is_zero(a) || is_zero(b) ? (sim_field){0, 0} : sim_degree_product(a, b);
}

sim_field sim_field_fma(sim_field a, sim_field b, sim_field c)
{
    return sim_field_add(sim_field_mul(a, b), c);
}

sim_field sim_field_div(sim_field a, sim_field b)
{
    if (!is_plain(a, b)) {
        if (a.p < first_mark && b.p < first_mark)
            return sim_degree_product(a, sim_degree_inverse(b));
        return a.p < first_mark && b.p != SIM_FIELD_NAN ? (sim_field){0, 0} : mark(SIM_FIELD_NAN);
    }
    if (b.p == 0)
        return mark(SIM_FIELD_NAN);
    bool with_q = sim_has_q(a) && sim_has_q(b) && sim_unsigned_q(b.q) != 0;
    return (sim_field){sim_p_mul(a.p, sim_field_inverse(b.p)), with_q ? divide_signed(a.q, b.q) : SIM_FIELD_NONE};
}

uint64_t sim_field_times(uint64_t a, uint64_t b)
{
    return sim_p_mul(a, b);
}

uint64_t sim_field_power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base = sim_p_mul(base, base)) {
        if (exponent & 1)
            result = sim_p_mul(result, base);
    }
    return result;
}

uint64_t sim_q_power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base = sim_q_mul(base, base)) {
        if (exponent & 1)
            result = sim_q_mul(result, base);
    }
    return result;
}

uint64_t sim_field_inverse(uint64_t a)
{
    return sim_field_power(a, SIM_FIELD_P - 2);
}

// ---- choices -------------------------------------------------------------------------------------------------------

// Of two values with equal floats the one that does not depend on the order they came in.
static sim_field either(sim_field a, sim_field b)
{
    return a.p < b.p || (a.p == b.p && a.q <= b.q) ? a : b;
}

sim_field sim_field_min(sim_field a, double float_a, sim_field b, double float_b)
{
    if (float_a == float_b)
        return either(a, b);
    return float_a < float_b || isnan(float_b) ? a : b;
}

sim_field sim_field_max(sim_field a, double float_a, sim_field b, double float_b)
{
    if (float_a == float_b)
        return either(a, b);
    return float_a > float_b || isnan(float_b) ? a : b;
}

sim_field sim_field_settle(sim_field result, double x)
{
    return sim_field_is_mark(result) ? sim_field_of_float(x) : result;
}

// ---- randomness ----------------------------------------------------------------------------------------------------

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

sim_field sim_field_random(uint64_t seed, uint64_t tensor, uint64_t index)
{
    uint64_t state = mix(mix(mix(seed + 0x9e3779b97f4a7c15u) + tensor + 0x632be59bd9b4e019u) + index);
    uint64_t p = mix(state + 0x9e3779b97f4a7c15u) >> 2, q = mix(state + 0x3c6ef372fe94f82au) >> 3;
    return (sim_field){p >= SIM_FIELD_P ? p - SIM_FIELD_P : p, q >= SIM_FIELD_Q ? q - SIM_FIELD_Q : q};
}

sim_field sim_field_symbol(uint64_t number)
{
    return sim_field_random(0x68647363, UINT64_MAX, number);
}
