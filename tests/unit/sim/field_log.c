// Discrete logarithms: the table's lines, and that 2 to the power of what is found is the number or its negative.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/field_log.h"
#include "sim/field_priv.h"

static void table_has_all_primes(void **state)
{
    (void)state;
    int count = 0;
    for (uint32_t n = 3; n < 1 << 12; n += 2) {
        uint32_t divisor = 3;
        while (n % divisor != 0)
            divisor += 2;
        if (divisor == n)
            assert_int_equal(sim_prime_logs[count++].prime, n);
    }
    assert_int_equal(count, SIM_PRIME_LOGS);
}

static void table_has_logarithms(void **state)
{
    (void)state;
    for (int i = 0; i < SIM_PRIME_LOGS; i++) {
        const sim_prime_log *entry = &sim_prime_logs[i];
        uint64_t power = sim_field_power(2, entry->log);
        assert_true(entry->log < SIM_FIELD_Q);
        assert_true(power == entry->prime || power == SIM_FIELD_P - entry->prime);
        assert_true(entry->prime * entry->inverse == 1);
    }
}

static void is_logarithm(uint64_t a)
{
    uint64_t log = sim_field_discrete_log(a), power = sim_field_power(2, sim_unsigned_q(log));
    assert_true(sim_unsigned_q(log) < SIM_FIELD_Q);
    assert_true(power == (log & SIM_FIELD_SIGN ? SIM_FIELD_P - a : a));
}

static void powers_are_found(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 2000; i++)
        is_logarithm(sim_field_random(1, 0, i).p);
    for (uint64_t a = 1; a < 300; a++) {
        is_logarithm(a);
        is_logarithm(SIM_FIELD_P - a);
        is_logarithm(sim_field_inverse(a));
    }
    for (uint64_t n = 0; n < 200; n++)
        assert_true(sim_field_discrete_log(sim_field_power(2, n)) == n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_has_all_primes),
        cmocka_unit_test(table_has_logarithms),
        cmocka_unit_test(powers_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
