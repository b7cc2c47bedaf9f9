// Functions of field values, by name.
//
// Some have laws: exponentials are powers of 2, roots are powers with a fixed exponent, and what can be written with them
// (tanh, sigmoid, pow with an integer) is. Functions to integers and signs (floor, abs) follow the float. The others
// are hashes of their name and argument, with the symmetries that are cheap: erf(-x) = -erf(x).

#include <math.h>
#include <string.h>

#include "sim/field_log.h"
#include "sim/field_priv.h"

// Masks are often a large negative number where -inf is meant. Below this an exponential counts as 0, as its float does.
static const double mask_limit = -1000;

static const sim_field zero = {0, 0}, one = {1, 1}, two = {2, 2};

static sim_field nan_mark(void)
{
    return (sim_field){SIM_FIELD_NAN, SIM_FIELD_NONE};
}

// ---- uninterpreted -------------------------------------------------------------------------------------------------

static uint64_t hash_name(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 0x100000001b3u;
    return hash;
}

// Of the part in F_p alone: formulas that are equal have the same, whereas whether they have one in F_q depends on how
// they were written.
static sim_field hash(const char *name, sim_field a, sim_field b)
{
    if (sim_is_degree(a) || sim_is_degree(b))
        return sim_degree_function(sim_degree_sum(a, b));
    return sim_field_random(hash_name(name), a.p, b.p);
}

static sim_field hash_of(const char *name, sim_field a)
{
    return hash(name, a, zero);
}

// f(-x) = -f(x): of x and -x the smaller one is hashed.
static sim_field odd(const char *name, sim_field a)
{
    sim_field negative = sim_field_neg(a);
    if (a.p == 0 && !sim_is_degree(a))
        return zero;
    return negative.p < a.p ? sim_field_neg(hash_of(name, negative)) : hash_of(name, a);
}

static sim_field even(const char *name, sim_field a)
{
    sim_field negative = sim_field_neg(a);
    return hash_of(name, negative.p < a.p ? negative : a);
}

// ---- exponentials and logarithms -----------------------------------------------------------------------------------

// 2^exponent, by the bits of the exponent from the top, five at a time.
static uint64_t power_of_two(uint64_t exponent)
{
    uint64_t result = 1;
    for (int at = 60; at >= 0; at -= 5) {
        for (int i = 0; i < 5; i++)
            result = sim_p_mul(result, result);
        result = sim_p_mul(result, (uint64_t)1 << (exponent >> at & 31));
    }
    return result;
}

// 2^(a·factor); [x]: the float exponent to the base 2.
static sim_field exponential(sim_field a, sim_field factor, double x)
{
    if (x < mask_limit)
        return zero;
    if (sim_is_degree(a))
        return sim_degree_power(a);
    // An exponent that contains a power itself has no part in F_q: any function of it will do.
    uint64_t q = sim_has_q(a) ? a.q : hash_of("exponent", a).q, exponent = sim_q_mul(sim_unsigned_q(q), factor.q);
    if (q == 0)
        return one;
    uint64_t power = power_of_two(exponent);
    return (sim_field){q & SIM_FIELD_SIGN ? sim_p_neg(power) : power, SIM_FIELD_NONE};
}

static const double log2e = 1.4426950408889634, log2_10 = 3.3219280948873623;

static sim_field exp_of(sim_field a, double x)
{
    return exponential(a, sim_field_log2e(), x * log2e);
}

static sim_field exp2_of(sim_field a, double x)
{
    return exponential(a, one, x);
}

// In F_p a function with log(1/x) = -log(x), in F_q the exponent that makes a.
static sim_field logarithm(sim_field a)
{
    uint64_t inverse = sim_field_inverse(a.p);
    sim_field value = inverse < a.p ? sim_field_neg(hash_of("log", (sim_field){inverse, 0})) : hash_of("log", a);
    return (sim_field){value.p, sim_field_discrete_log(a.p)};
}

// log2; of powers of two as constants the number that it is.
static sim_field log2_of(sim_field a, double x)
{
    if (a.p == 0)
        return nan_mark();
    if (sim_is_degree(a))
        return sim_degree_function(a);
    double y = log2(x);
    if (y == rint(y) && sim_field_of_float(x).p == a.p)
        return sim_field_of_float(y);
    return logarithm(a);
}

static sim_field log_of(sim_field a, double x)
{
    return sim_field_div(log2_of(a, x), sim_field_log2e());
}

static sim_field log10_of(sim_field a, double x)
{
    return sim_field_div(log2_of(a, x), sim_field_log2_10());
}

// ---- hyperbolic ----------------------------------------------------------------------------------------------------

static sim_field sigmoid(sim_field a, double x)
{
    return sim_field_div(one, sim_field_add(one, exp_of(sim_field_neg(a), -x)));
}

// 1 - 2 / (1 + exp(2x))
static sim_field tanh_of(sim_field a, double x)
{
    sim_field power = exp_of(sim_field_mul(two, a), 2 * x);
    return sim_field_sub(one, sim_field_div(two, sim_field_add(one, power)));
}

static sim_field half_of(sim_field sum)
{
    return sim_field_div(sum, two);
}

static sim_field cosh_of(sim_field a, double x)
{
    return half_of(sim_field_add(exp_of(a, x), exp_of(sim_field_neg(a), -x)));
}

static sim_field sinh_of(sim_field a, double x)
{
    return half_of(sim_field_sub(exp_of(a, x), exp_of(sim_field_neg(a), -x)));
}

// ---- roots and powers ----------------------------------------------------------------------------------------------

sim_field sim_field_root(sim_field a)
{
    if (sim_is_degree(a))
        return sim_degree_function(a);
    return (sim_field){sim_field_power(a.p, (SIM_FIELD_P + 1) / 4),
                       sim_has_q(a) ? sim_q_power(sim_unsigned_q(a.q), (SIM_FIELD_Q + 1) / 4) : SIM_FIELD_NONE};
}

static sim_field inverse(sim_field a)
{
    return sim_field_div(one, a);
}

static sim_field integer_power(sim_field a, int64_t n)
{
    sim_field result = one;
    for (int64_t rest = n < 0 ? -n : n; rest; rest >>= 1, a = sim_field_mul(a, a)) {
        if (rest & 1)
            result = sim_field_mul(result, a);
    }
    return n < 0 ? inverse(result) : result;
}

static bool is_constant(sim_field a, double x)
{
    return !sim_is_degree(a) && sim_field_of_float(x).p == a.p;
}

static sim_field pow_of(sim_field a, double x, sim_field b, double y)
{
    if (is_constant(b, y)) {
        if (y == rint(y) && fabs(y) <= 1024)
            return integer_power(a, (int64_t)y);
        if (2 * y == rint(2 * y) && fabs(y) <= 64) {
            sim_field root = integer_power(sim_field_root(a), (int64_t)(2 * fabs(y)));
            return y < 0 ? inverse(root) : root;
        }
    }
    return x == 2 && is_constant(a, x) ? exp2_of(b, y) : hash("pow", a, b);
}

static sim_field hypot_of(sim_field a, sim_field b)
{
    return sim_field_root(sim_field_add(sim_field_mul(a, a), sim_field_mul(b, b)));
}

// ---- by the float --------------------------------------------------------------------------------------------------

static sim_field with_sign(sim_field a, double x, bool negative)
{
    return !signbit(x) == !negative ? a : sim_field_neg(a);
}

static sim_field saturate(sim_field a, double x)
{
    return x > 1 ? one : x > 0 ? a : zero;
}

static sim_field erfc_of(sim_field a)
{
    return sim_field_sub(one, odd("erf", a));
}

static sim_field minus_one(sim_field a)
{
    return sim_field_sub(a, one);
}

static sim_field plus_one(sim_field a)
{
    return sim_field_add(one, a);
}

// ---- by name -------------------------------------------------------------------------------------------------------

typedef enum rule {
    HASH, EXP, EXP2, EXP10, EXPM1, LOG, LOG2, LOG10, LOG1P, SQRT, RSQRT, RCP, TANH, SIGMOID, SINH, COSH, ABS, NEG,
    INTEGER, SATURATE, RELU, SAME, ODD, EVEN, ERFC
} rule;

static const struct {
    const char *name;
    rule rule;
} rules[] = {
    {"exp", EXP},       {"exp2", EXP2},     {"ex2", EXP2},      {"exp10", EXP10},  {"expm1", EXPM1},
    {"log", LOG},       {"log2", LOG2},     {"lg2", LOG2},      {"log10", LOG10},  {"log1p", LOG1P},
    {"sqrt", SQRT},     {"rsqrt", RSQRT},   {"rcp", RCP},       {"tanh", TANH},    {"sigmoid", SIGMOID},
    {"sinh", SINH},     {"cosh", COSH},     {"abs", ABS},       {"fabs", ABS},     {"neg", NEG},
    {"floor", INTEGER}, {"ceil", INTEGER},  {"trunc", INTEGER}, {"rint", INTEGER}, {"round", INTEGER},
    {"nearbyint", INTEGER},                 {"sign", INTEGER},  {"saturate", SATURATE},
    {"relu", RELU},     {"identity", SAME}, {"erf", ODD},       {"sin", ODD},      {"tan", ODD},
    {"asin", ODD},      {"atan", ODD},      {"asinh", ODD},     {"atanh", ODD},    {"cbrt", ODD},
    {"cos", EVEN},      {"erfc", ERFC},
};

static rule rule_of(const char *name)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (strcmp(rules[i].name, name) == 0)
            return rules[i].rule;
    }
    return HASH;
}

static sim_field apply(const char *name, sim_field a, double x, double y)
{
    switch (rule_of(name)) {
    case EXP: return exp_of(a, x);
    case EXP2: return exp2_of(a, x);
    case EXP10: return exponential(a, sim_field_log2_10(), x * log2_10);
    case EXPM1: return minus_one(exp_of(a, x));
    case LOG: return log_of(a, x);
    case LOG2: return log2_of(a, x);
    case LOG10: return log10_of(a, x);
    case LOG1P: return log_of(plus_one(a), 1 + x);
    case SQRT: return sim_field_root(a);
    case RSQRT: return inverse(sim_field_root(a));
    case RCP: return inverse(a);
    case TANH: return tanh_of(a, x);
    case SIGMOID: return sigmoid(a, x);
    case SINH: return sinh_of(a, x);
    case COSH: return cosh_of(a, x);
    case ABS: return with_sign(a, x, false);
    case NEG: return sim_field_neg(a);
    case INTEGER: return sim_field_of_float(y);
    case SATURATE: return saturate(a, x);
    case RELU: return sim_field_max(a, x, zero, 0);
    case SAME: return a;
    case ODD: return odd(name, a);
    case EVEN: return even(name, a);
    case ERFC: return erfc_of(a);
    case HASH: break;
    }
    return hash_of(name, a);
}

sim_field sim_field_apply(const char *name, sim_field a, double x, double y)
{
    // If an argument is infinite, or numbers give NaN, the result is that of the float.
    if (sim_field_is_mark(a) || isnan(y))
        return sim_field_of_float(y);
    return sim_field_settle(apply(name, a, x, y), y);
}

sim_field sim_field_apply_next(sim_field_last *last, const char *name, sim_field a, double x, double y)
{
    if (!last->is_set || last->a.p != a.p || last->a.q != a.q || last->x != x)
        *last = (sim_field_last){true, x, a, sim_field_apply(name, a, x, y)};
    return last->result;
}

static sim_field apply2(const char *name, sim_field a, double x, sim_field b, double y)
{
    if (strcmp(name, "pow") == 0)
        return pow_of(a, x, b, y);
    if (strcmp(name, "hypot") == 0)
        return hypot_of(a, b);
    if (strcmp(name, "copysign") == 0)
        return with_sign(a, x, signbit(y));
    if (strcmp(name, "fdim") == 0)
        return x > y ? sim_field_sub(a, b) : zero;
    if (strcmp(name, "fmod") == 0)
        return sim_field_sub(a, sim_field_mul(b, sim_field_of_float(trunc(x / y))));
    if (strcmp(name, "div") == 0)
        return sim_field_div(a, b);
    if (strcmp(name, "min") == 0)
        return sim_field_min(a, x, b, y);
    if (strcmp(name, "max") == 0)
        return sim_field_max(a, x, b, y);
    if (strcmp(name, "ldexp") == 0)
        return sim_field_mul(a, exp2_of(b, y));
    return hash(name, a, b);
}

sim_field sim_field_apply2(const char *name, sim_field a, double x, sim_field b, double y, double result)
{
    if (sim_field_is_mark(a) || sim_field_is_mark(b) || isnan(result)) {
        bool is_choice = strcmp(name, "min") == 0 || strcmp(name, "max") == 0;
        return is_choice && !isnan(result) ? apply2(name, a, x, b, y) : sim_field_of_float(result);
    }
    return sim_field_settle(apply2(name, a, x, b, y), result);
}
