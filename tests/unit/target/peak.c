// Peak rates against what the vendor's papers say of whole GPUs.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "target/peak.h"

static void agrees_with_data_sheets(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        dtype type;
        int sms;
        double mhz, tera;
    } rows[] = {
        {"sm_75", DT_F16, 40, 1590, 65},      // T4
        {"sm_80", DT_F16, 108, 1410, 312},    // A100
        {"sm_80", DT_TF32, 108, 1410, 156},
        {"sm_80", DT_F64, 108, 1410, 19.5},
        {"sm_80", DT_F32, 108, 1410, 19.5},
        {"sm_86", DT_BF16, 84, 1740, 149.7},  // A40
        {"sm_89", DT_F8E4M3, 142, 2520, 733}, // L40S
        {"sm_90a", DT_F16, 132, 1830, 989},   // H100 SXM
        {"sm_90", DT_F8E5M2, 132, 1830, 1979},
        {"sm_90", DT_F32, 132, 1980, 67},
        {"sm_90", DT_F64, 132, 1980, 67},
        {"sm_120", DT_F16, 188, 2617, 503.8}, // RTX PRO 6000
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double tera = arch_peak_ops(arch_find(str_of(rows[i].arch)), rows[i].type) * rows[i].mhz * 1e6 * rows[i].sms * 1e-12;
        if (fabs(tera - rows[i].tera) > 0.02 * rows[i].tera)
            fail_msg("%s %s: %g instead of %g", rows[i].arch, dt_name(rows[i].type), tera, rows[i].tera);
    }
}

static void unknown_ones(void **state)
{
    (void)state;
    assert_int_equal(arch_peak_ops(arch_find(STR("sm_87")), DT_F16), 0);
    assert_int_equal(arch_peak_ops(arch_find(STR("sm_75")), DT_TF32), 0);
    assert_int_equal(arch_peak_ops(arch_find(STR("sm_90")), DT_I64), 0);
    assert_int_equal(arch_peak_ops(arch_find(STR("sm_90a")), DT_BF16), arch_peak_ops(arch_find(STR("sm_90")), DT_F16));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_data_sheets),
        cmocka_unit_test(unknown_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
