#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "target/arch.h"

static void finds_every_spelling(void **state)
{
    (void)state;
    for (int i = 0; arch_at(i); i++)
        assert_ptr_equal(arch_find(str_of(arch_at(i)->name)), arch_at(i));
    const arch *hopper = arch_find(STR("sm_90a"));
    assert_non_null(hopper);
    assert_true(hopper->accelerated);
    assert_int_equal(hopper->smem_per_block, 232448);
    assert_ptr_equal(arch_find(STR("90a")), hopper);
    assert_ptr_equal(arch_find(STR("compute_90a")), hopper);
    assert_ptr_equal(arch_find(STR("9.0a")), hopper);
    assert_ptr_equal(arch_find(STR("9.0")), arch_find(STR("sm_90")));
    assert_ptr_equal(arch_find(STR("12.0")), arch_find(STR("sm_120")));
    assert_non_null(arch_find(STR("compute_80")));
    static const char *const unknown[] = {"",    "sm_",    "sm_91", "9",    "9.",     "9.00",
                                          ".90", "sm_9.0", "90b",   "1.20", "sm_90aa"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_null(arch_find(str_of(unknown[i])));
    assert_null(arch_at(-1));
}

static void code_runs_upwards(void **state)
{
    (void)state;
    const arch *ampere = arch_find(STR("sm_80")), *ada = arch_find(STR("sm_89")), *hopper = arch_find(STR("sm_90"));
    const arch *hopper_a = arch_find(STR("sm_90a")), *blackwell = arch_find(STR("sm_100"));
    assert_true(arch_has(ampere, ampere));
    assert_true(arch_has(hopper, ada));
    assert_false(arch_has(ampere, ada));
    assert_true(arch_has(blackwell, hopper));
    assert_true(arch_has(hopper_a, hopper));
    assert_true(arch_has(hopper_a, hopper_a));
    assert_false(arch_has(hopper, hopper_a));
    assert_false(arch_has(blackwell, hopper_a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_every_spelling),
        cmocka_unit_test(code_runs_upwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
