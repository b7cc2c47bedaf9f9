// The two fields: that they are what field.h says, and their arithmetic against slow but sure ways.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/field_priv.h"

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 3 ^ *state << 20;
}

// a·b mod m by the machine's division.
static uint64_t times(uint64_t a, uint64_t b, uint64_t m)
{
    return (uint64_t)((sim_wide)a * b % m);
}

static uint64_t power(uint64_t a, uint64_t n, uint64_t m)
{
    uint64_t result = 1;
    for (; n; n >>= 1, a = times(a, a, m)) {
        if (n & 1)
            result = times(result, a, m);
    }
    return result;
}

// Miller and Rabin's test; with these bases it is no gamble below 2^64 (Sorenson, Webster 2015).
static bool is_prime(uint64_t n)
{
    static const uint64_t bases[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
    uint64_t odd = n - 1;
    int twos = __builtin_ctzll(odd);
    odd >>= twos;
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        uint64_t x = power(bases[i], odd, n);
        bool passes = x == 1 || x == n - 1;
        for (int k = 1; k < twos && !passes; k++) {
            x = times(x, x, n);
            passes = x == n - 1;
        }
        if (!passes)
            return false;
    }
    return true;
}

static void moduli_are_primes(void **state)
{
    (void)state;
    assert_true(is_prime(SIM_FIELD_P));
    assert_true(is_prime(SIM_FIELD_Q));
    assert_true(SIM_FIELD_P == 2 * SIM_FIELD_Q + 1);
    assert_true(SIM_FIELD_P % 16 == 15);
    assert_false(is_prime(SIM_FIELD_P - 2));
}

static bool has_roots(uint64_t modulus)
{
    static const uint64_t small[] = {2, 3, 5, 7, 11, 13};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        if (power(small[i], (modulus - 1) / 2, modulus) != 1)
            return false;
    }
    return true;
}

static void small_primes_are_squares(void **state)
{
    (void)state;
    assert_true(has_roots(SIM_FIELD_P));
    assert_true(has_roots(SIM_FIELD_Q));
}

// The choice as field.h tells it: nothing larger has all these properties.
static void no_larger_prime_would_do(void **state)
{
    (void)state;
    for (uint64_t p = ((uint64_t)1 << 62) - 1; p > SIM_FIELD_P; p -= 16)
        assert_false(power(2, p - 1, p) == 1 && power(2, (p - 3) / 2, (p - 1) / 2) == 1 && is_prime(p) &&
                     is_prime((p - 1) / 2) && has_roots(p) && has_roots((p - 1) / 2));
}

static void two_has_order_q(void **state)
{
    (void)state;
    assert_true(power(2, SIM_FIELD_Q, SIM_FIELD_P) == 1);  // q is prime, so the order is q or 1
    assert_true(sim_field_power(2, SIM_FIELD_Q) == 1);
}

static void products_are_reduced(void **state)
{
    (void)state;
    static const uint64_t edges[] = {0, 1, 2, SIM_FIELD_P - 1, SIM_FIELD_P - 2, SIM_FIELD_Q - 1, SIM_FIELD_Q,
                                     (uint64_t)1 << 61, ((uint64_t)1 << 61) - 1};
    enum { EDGES = sizeof edges / sizeof *edges };
    uint64_t seed = 7;
    for (int i = 0; i < 100000; i++) {
        uint64_t a = i < EDGES * EDGES ? edges[i / EDGES] : next(&seed) % SIM_FIELD_P;
        uint64_t b = i < EDGES * EDGES ? edges[i % EDGES] : next(&seed) % SIM_FIELD_P;
        assert_true(sim_p_mul(a, b) == times(a, b, SIM_FIELD_P));
        a %= SIM_FIELD_Q, b %= SIM_FIELD_Q;
        assert_true(sim_q_mul(a, b) == times(a, b, SIM_FIELD_Q));
    }
}

static void inverses_are_inverse(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int i = 0; i < 1000; i++) {
        uint64_t a = next(&seed) % (SIM_FIELD_Q - 1) + 1;
        assert_true(sim_p_mul(a, sim_field_inverse(a)) == 1);
        assert_true(sim_q_mul(a, sim_q_inverse(a)) == 1);
    }
    assert_true(sim_field_inverse(0) == 0);
}

static bool is_same(sim_field a, sim_field b)
{
    return a.p == b.p && a.q == b.q;
}

static void axioms_hold(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        sim_field a = sim_field_random(1, 0, i), b = sim_field_random(1, 1, i), c = sim_field_random(1, 2, i);
        assert_true(is_same(sim_field_add(a, b), sim_field_add(b, a)));
        assert_true(is_same(sim_field_mul(a, b), sim_field_mul(b, a)));
        assert_true(is_same(sim_field_add(sim_field_add(a, b), c), sim_field_add(a, sim_field_add(b, c))));
        assert_true(is_same(sim_field_mul(sim_field_mul(a, b), c), sim_field_mul(a, sim_field_mul(b, c))));
        assert_true(is_same(sim_field_mul(a, sim_field_add(b, c)),
                            sim_field_add(sim_field_mul(a, b), sim_field_mul(a, c))));
        assert_true(is_same(sim_field_add(a, sim_field_neg(a)), (sim_field){0, 0}));
        assert_true(is_same(sim_field_sub(sim_field_add(a, b), b), a));
        assert_true(is_same(sim_field_div(sim_field_mul(a, b), b), a));
        assert_true(is_same(sim_field_fma(a, b, c), sim_field_add(sim_field_mul(a, b), c)));
        assert_false(is_same(a, b));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moduli_are_primes),
        cmocka_unit_test(small_primes_are_squares),
        cmocka_unit_test(no_larger_prime_would_do),
        cmocka_unit_test(two_has_order_q),
        cmocka_unit_test(products_are_reduced),
        cmocka_unit_test(inverses_are_inverse),
        cmocka_unit_test(axioms_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
