// Medians, quartiles, and what counts as a difference.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "measure/measure_priv.h"

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-12 * (1 + fabs(b))))
        fail_msg("%.17g is not %.17g", a, b);
}

static void summaries(void **state)
{
    (void)state;
    double odd[] = {5, 1, 4, 2, 3};
    ms_summary s = ms_summarize(odd, 5);
    assert_near(s.median, 3);
    assert_near(s.q1, 2);
    assert_near(s.q3, 4);
    assert_near(s.min, 1);
    assert_near(s.max, 5);
    assert_int_equal(s.count, 5);
    assert_near(odd[0], 1);  // sorted
    double even[] = {10, 0, 30, 20};
    s = ms_summarize(even, 4);
    assert_near(s.median, 15);
    assert_near(s.q1, 7.5);
    assert_near(s.q3, 22.5);
    assert_near(ms_spread(&s), 0.5);
}

static void few_values(void **state)
{
    (void)state;
    double one[] = {7};
    ms_summary s = ms_summarize(one, 1);
    assert_near(s.median, 7);
    assert_near(s.q1, 7);
    assert_near(s.q3, 7);
    assert_near(ms_spread(&s), 0);
    double two[] = {3, 1};
    s = ms_summarize(two, 2);
    assert_near(s.median, 2);
    assert_near(s.q1, 1.5);
    s = ms_summarize(NULL, 0);
    assert_int_equal(s.count, 0);
    assert_near(ms_spread(&s), 0);
}

static void outliers_do_not_move_the_median(void **state)
{
    (void)state;
    double values[101];
    for (int i = 0; i < 101; i++)
        values[i] = i < 10 ? 1000 : 10 + i * 1e-3;
    ms_summary s = ms_summarize(values, 101);
    assert_true(s.median < 10.2 && s.max == 1000);
    assert_true(ms_spread(&s) < 0.01);
}

static void differences(void **state)
{
    (void)state;
    ms_summary a = {.median = 10, .q1 = 9, .q3 = 11}, near = {.median = 11.5, .q1 = 10.9, .q3 = 12};
    ms_summary slow = {.median = 12, .q1 = 11.5, .q3 = 13}, fast = {.median = 8, .q1 = 7, .q3 = 8.9};
    assert_int_equal(ms_judge(&a, &a), MS_SAME);
    assert_int_equal(ms_judge(&a, &near), MS_SAME);
    assert_int_equal(ms_judge(&a, &slow), MS_SLOWER);
    assert_int_equal(ms_judge(&slow, &a), MS_FASTER);
    assert_int_equal(ms_judge(&a, &fast), MS_FASTER);
}

// ---- copies of the tensors --------------------------------------------------------------------------------------

static void sets(void **state)
{
    (void)state;
    int64_t mb = 1000000, much = 100000 * mb;
    assert_int_equal(ms_sets(0, 60 * mb, much), 1);
    assert_int_equal(ms_sets(1, 60 * mb, much), 512);
    assert_int_equal(ms_sets(24 * mb, 60 * mb, much), 11);  // the ten others are four times what L2 holds
    assert_int_equal(ms_sets(1000 * mb, 60 * mb, much), 2);
    assert_int_equal(ms_sets(1000 * mb, 60 * mb, 1500 * mb), 1);
    assert_int_equal(ms_sets(1000 * mb, 60 * mb, 500 * mb), 1);
    assert_int_equal(ms_sets(24 * mb, 60 * mb, 100 * mb), 4);
}

static void limits(void **state)
{
    (void)state;
    ms_machine m = {.arch = arch_find(STR("sm_90a")), .sm_count = 132, .clock_khz = 1830000, .memory_khz = 2619000, .bus_bits = 5120};
    assert_near(ms_peak_bandwidth(&m), 3352.32e9);
    assert_near(ms_peak_ops(&m, DT_BF16), 132 * 4096 * 1.83e9);
    assert_near(ms_peak_ops(&m, DT_I64), 0);
    m.arch = NULL;
    assert_near(ms_peak_ops(&m, DT_BF16), 0);
}

static void slowdowns(void **state)
{
    (void)state;
    char text[160], small[8];
    assert_string_equal(ms_nvml_slowdown(0, text, sizeof text), "");
    assert_string_equal(ms_nvml_slowdown(0x1 | 0x2, text, sizeof text), "");  // idle, and what an application chose
    assert_string_equal(ms_nvml_slowdown(0x4 | 0x40, text, sizeof text), "power limit, hardware thermal");
    assert_int_equal(strlen(ms_nvml_slowdown(0x1fc, small, sizeof small)), 7);
    assert_false(ms_nvml_state(NULL).is_known);
    ms_nvml_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(summaries), cmocka_unit_test(few_values), cmocka_unit_test(outliers_do_not_move_the_median),
        cmocka_unit_test(differences), cmocka_unit_test(sets), cmocka_unit_test(limits), cmocka_unit_test(slowdowns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
