// Laws of functions of field values, and what is not taken for a law.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "sim/field.h"

enum { POINTS = 50 };

// Floats stand beside the values; their size decides nothing here.
static sim_field f(const char *name, sim_field a)
{
    return sim_field_apply(name, a, 0.5, 0.25);
}

static sim_field number(double x)
{
    return sim_field_of_float(x);
}

static void same(sim_field a, sim_field b)
{
    assert_true(a.p == b.p);
    assert_false(sim_field_is_mark(a));
}

static void different(sim_field a, sim_field b)
{
    assert_true(a.p != b.p);
}

static void powers(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < POINTS; i++) {
        sim_field a = sim_field_random(1, 0, i), b = sim_field_random(1, 1, i);
        same(f("exp", sim_field_add(a, b)), sim_field_mul(f("exp", a), f("exp", b)));
        same(f("exp", sim_field_sub(a, b)), sim_field_div(f("exp", a), f("exp", b)));
        same(f("exp2", sim_field_mul(a, number((double)(float)1.4426950408889634))), f("exp", a));
        same(f("exp", sim_field_mul(a, number(0.6931471805599453))), f("exp2", a));
        same(f("exp10", a), f("exp2", sim_field_mul(a, number(3.3219280948873623))));
        same(f("exp10", a), f("exp", sim_field_mul(a, number(2.302585092994046))));
        same(f("expm1", a), sim_field_sub(f("exp", a), number(1)));
        same(f("ex2", a), f("exp2", a));
        different(f("exp", a), f("exp2", a));
        different(f("exp", a), f("exp", b));
        different(f("exp", a), a);
    }
    same(sim_field_apply("exp2", number(10), 10, 1024), number(1024));
    same(sim_field_apply("exp2", number(-3), -3, 0.125), number(0.125));
    same(sim_field_apply("exp", number(0), 0, 1), number(1));
}

// The part of exp(a) in F_p comes from that of a in F_q, which exp(a) itself has none of.
static void powers_of_powers(void **state)
{
    (void)state;
    sim_field a = sim_field_random(1, 0, 0), b = sim_field_random(1, 0, 1);
    sim_field x = f("exp", sim_field_add(a, b)), y = sim_field_mul(f("exp", a), f("exp", b));
    same(f("exp", x), f("exp", y));
    different(f("exp", x), f("exp", f("exp", a)));
}

static void sigmoid_and_tanh(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < POINTS; i++) {
        sim_field a = sim_field_random(2, 0, i), power = f("exp", sim_field_neg(a));
        sim_field s = sim_field_div(number(1), sim_field_add(number(1), power));
        same(f("sigmoid", a), s);
        same(f("tanh", a), sim_field_sub(sim_field_mul(number(2), f("sigmoid", sim_field_add(a, a))), number(1)));
        same(f("tanh", sim_field_neg(a)), sim_field_neg(f("tanh", a)));
        same(f("tanh", a), sim_field_div(f("sinh", a), f("cosh", a)));
    }
}

static void roots(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < POINTS; i++) {
        sim_field a = sim_field_random(3, 0, i), b = sim_field_random(3, 1, i);
        same(f("rsqrt", a), sim_field_div(number(1), f("sqrt", a)));
        same(f("sqrt", sim_field_mul(a, b)), sim_field_mul(f("sqrt", a), f("sqrt", b)));
        same(f("sqrt", sim_field_div(a, b)), sim_field_mul(f("sqrt", a), f("rsqrt", b)));
        same(f("sqrt", sim_field_mul(number(64), a)), sim_field_mul(number(8), f("sqrt", a)));
        same(f("sqrt", f("exp", sim_field_add(a, a))), f("exp", a));
        same(f("rcp", a), sim_field_div(number(1), a));
        different(f("sqrt", a), f("sqrt", b));
    }
    for (int n = 1; n <= 15; n++)
        same(f("sqrt", number(n * n)), number(n));
    same(sim_field_mul(f("sqrt", number(96)), f("sqrt", number(96))), number(96));
}

static sim_field power(sim_field a, double y)
{
    return sim_field_apply2("pow", a, 0.5, number(y), y, 0.25);
}

static void powers_with_numbers(void **state)
{
    (void)state;
    sim_field a = sim_field_random(4, 0, 0), b = sim_field_random(4, 0, 1);
    same(power(a, 0), number(1));
    same(power(a, 3), sim_field_mul(a, sim_field_mul(a, a)));
    same(power(a, -2), sim_field_div(number(1), sim_field_mul(a, a)));
    same(power(a, 0.5), f("sqrt", a));
    same(power(a, -0.5), f("rsqrt", a));
    same(power(a, 1.5), sim_field_mul(f("sqrt", a), sim_field_mul(f("sqrt", a), f("sqrt", a))));
    same(power(a, 0.75), power(a, 0.75));
    different(power(a, 0.75), power(b, 0.75));
    different(power(a, 0.75), power(a, 0.7));
    same(sim_field_apply2("pow", number(2), 2, a, 0.5, 1.4), f("exp2", a));
}

static void logarithms(void **state)
{
    (void)state;
    sim_field a = sim_field_random(5, 0, 0);
    same(f("log", sim_field_div(number(1), a)), sim_field_neg(f("log", a)));
    same(f("log", a), sim_field_mul(f("log2", a), number(0.6931471805599453)));
    same(f("log10", a), sim_field_mul(f("log2", a), number(0.30102999566398120)));
    same(f("log1p", a), f("log", sim_field_add(number(1), a)));
    same(sim_field_apply("log2", number(8), 8, 3), number(3));
    same(sim_field_apply("log", number(1), 1, 0), number(0));
    assert_true(sim_field_apply("log", number(0), 0, -INFINITY).p == SIM_FIELD_MINUS_INF);
}

// Half of these values are no powers of 2, but negatives of one.
static void powers_of_logarithms(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < POINTS; i++) {
        sim_field a = sim_field_random(9, 0, i), s = sim_field_random(9, 1, i), t = sim_field_random(9, 2, i);
        sim_field log_s = f("log", s), log_t = f("log", t), log2e = number(1.4426950408889634);
        same(f("exp", log_s), s);
        same(f("exp2", f("log2", s)), s);
        same(f("exp10", f("log10", s)), s);
        same(f("exp", sim_field_sub(a, log_s)), sim_field_div(f("exp", a), s));
        same(f("exp", sim_field_add(sim_field_neg(log_t), log_s)), sim_field_div(s, t));
        same(f("exp2", sim_field_mul(sim_field_sub(a, log_s), log2e)), sim_field_div(f("exp", a), s));
        same(f("exp2", sim_field_sub(sim_field_mul(a, log2e), f("log2", s))), sim_field_div(f("exp", a), s));
        same(f("exp", sim_field_mul(f("log2", s), number(0.6931471805599453))), s);
        same(f("exp", sim_field_mul(f("log10", s), number(2.302585092994046))), s);
        same(f("exp", sim_field_div(f("log2", s), log2e)), s);
        same(f("exp", sim_field_mul(number(-3), log_s)), power(s, -3));
        same(f("exp", sim_field_mul(number(2), log_s)), power(s, 2));
        same(f("exp", sim_field_mul(number(0.5), log_s)), f("sqrt", s));
        same(f("exp", f("log", sim_field_mul(s, t))), f("exp", sim_field_add(log_s, log_t)));
        same(f("exp", f("log", sim_field_mul(f("exp", a), s))), f("exp", sim_field_add(a, log_s)));
        different(f("exp", sim_field_add(a, log_s)), sim_field_div(f("exp", a), s));
        different(f("exp", f("log2", s)), s);
        different(f("exp", log_s), sim_field_neg(s));
        different(f("exp", log_s), t);
    }
}

static void uninterpreted(void **state)
{
    (void)state;
    sim_field a = sim_field_random(6, 0, 0), b = sim_field_random(6, 0, 1), minus = sim_field_neg(a);
    same(f("erf", minus), sim_field_neg(f("erf", a)));
    same(f("erfc", a), sim_field_sub(number(1), f("erf", a)));
    same(f("cos", minus), f("cos", a));
    same(f("lgamma", a), f("lgamma", a));
    different(f("lgamma", a), f("tgamma", a));
    different(f("lgamma", a), f("lgamma", b));
    different(f("lgamma", a), f("lgamma", minus));
    different(f("sin", a), f("cos", a));
    same(f("sin", number(0)), number(0));
    assert_true(f("erf", a).q < SIM_FIELD_Q);
}

static void floats_decide(void **state)
{
    (void)state;
    sim_field a = sim_field_random(7, 0, 0), b = sim_field_random(7, 0, 1);
    same(sim_field_apply("abs", a, -2, 2), sim_field_neg(a));
    same(sim_field_apply("abs", a, 2, 2), a);
    same(sim_field_apply("floor", a, 2.5, 2), number(2));
    same(sim_field_max(a, 1, b, 2), b);
    same(sim_field_min(a, 1, b, 2), a);
    same(sim_field_max(a, NAN, b, 2), b);
    same(sim_field_max(a, 2, b, 2), sim_field_max(b, 2, a, 2));
    same(sim_field_apply2("copysign", a, 3, b, -1, -3), sim_field_neg(a));
    same(sim_field_apply2("fmod", a, 7.5, b, 2, 1.5), sim_field_sub(a, sim_field_mul(number(3), b)));
    same(sim_field_apply2("hypot", a, 3, b, 4, 5),
         f("sqrt", sim_field_add(sim_field_mul(a, a), sim_field_mul(b, b))));
}

static void infinities(void **state)
{
    (void)state;
    sim_field a = sim_field_random(8, 0, 0), minus_inf = number(-INFINITY), plus_inf = number(INFINITY);
    same(sim_field_apply("exp", minus_inf, -INFINITY, 0), number(0));
    same(sim_field_max(minus_inf, -INFINITY, a, -3), a);
    assert_true(sim_field_sub(minus_inf, a).p == SIM_FIELD_MINUS_INF);
    assert_true(sim_field_sub(a, minus_inf).p == SIM_FIELD_PLUS_INF);
    assert_true(sim_field_add(plus_inf, minus_inf).p == SIM_FIELD_NAN);
    assert_true(sim_field_mul(number(0), plus_inf).p == SIM_FIELD_NAN);
    assert_true(sim_field_settle(sim_field_mul(a, minus_inf), INFINITY).p == SIM_FIELD_PLUS_INF);
    same(sim_field_div(a, plus_inf), number(0));
    assert_true(sim_field_div(a, number(0)).p == SIM_FIELD_NAN);
    // Masks that are only very large.
    same(sim_field_apply("exp", sim_field_sub(number(-1e30), a), -1e30, 0), number(0));
    same(sim_field_apply("tanh", plus_inf, INFINITY, 1), number(1));
    assert_true(sim_field_apply("sqrt", a, -1, NAN).p == SIM_FIELD_NAN);
}

static void constants(void **state)
{
    (void)state;
    same(number(-2.5), sim_field_div(number(-5), number(2)));
    same(number((double)(1.0f / 3)), sim_field_div(number(1), number(3)));
    same(number(1.0 / 3), sim_field_div(number(1), number(3)));
    same(number((double)1e-5f), sim_field_div(number(1), number(100000)));
    same(number((double)(1 / sqrtf(96))), f("rsqrt", number(96)));
    same(sim_field_mul(number((double)(1.4426950408889634f / 8)), number(8)), number(1.4426950408889634));
    same(sim_field_mul(number((double)0.79788456f), f("sqrt", number(3.141592653589793))), f("sqrt", number(2)));
    same(number(16777217), sim_field_add(number(16777216), number(1)));
    same(number(0x1p-149), sim_field_div(number(1), sim_field_mul(number(0x1p100), number(0x1p49))));
    same(sim_field_mul(number(0x1p-1000), number(0x1p1000)), number(1));
    same(sim_field_mul(number((double)0.123456f), number(2)), number(2 * (double)0.123456f));
    different(number((double)0.1234567f), number((double)nextafterf(0.1234567f, 1)));
}

static void degrees(void **state)
{
    (void)state;
    sim_field x = sim_field_degree_input();
    sim_degree d = sim_field_degree_of(sim_field_add(sim_field_mul(x, x), number(1)));
    assert_int_equal(d.over, 2);
    assert_int_equal(d.under, 0);
    d = sim_field_degree_of(sim_field_add(sim_field_div(x, sim_field_mul(x, x)), x));
    assert_int_equal(d.over, 3);
    assert_int_equal(d.under, 2);
    assert_false(d.has_powers || d.has_functions);
    d = sim_field_degree_of(f("erf", f("exp", x)));
    assert_true(d.has_powers && d.has_functions);
    d = sim_field_degree_of(f("exp", sim_field_neg(f("log", sim_field_mul(x, x)))));
    assert_true(d.under >= 2);
    assert_int_equal(sim_field_degree_of(number(3)).over, 0);
    for (int i = 0; i < 40; i++)
        x = sim_field_mul(x, x);
    assert_int_equal(sim_field_degree_of(x).over, SIM_DEGREE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers),     cmocka_unit_test(powers_of_powers),    cmocka_unit_test(sigmoid_and_tanh),
        cmocka_unit_test(roots),      cmocka_unit_test(powers_with_numbers), cmocka_unit_test(logarithms),
        cmocka_unit_test(uninterpreted), cmocka_unit_test(floats_decide),    cmocka_unit_test(infinities),
        cmocka_unit_test(constants),  cmocka_unit_test(degrees),             cmocka_unit_test(powers_of_logarithms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
