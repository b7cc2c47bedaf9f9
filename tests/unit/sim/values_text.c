// Values in findings have the digits of their type.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/finding.h"

static void prints(dtype type, double value, const char *expected)
{
    arena a;
    arena_init(&a, NULL);
    str_buf out;
    str_buf_init(&out, &a);
    sim_value_print(type, dt_from_double(type, value), &out);
    assert_string_equal(str_text(&out), expected);
    arena_free(&a);
}

static void has_the_digits_of_its_type(void **state)
{
    (void)state;
    prints(DT_F32, 0.1, "0.1");
    prints(DT_F32, 1.0 / 3, "0.33333334");
    prints(DT_F16, 0.1, "0.1");
    prints(DT_F16, 1.0 / 3, "0.3333");
    prints(DT_BF16, 3.140625, "3.14");
    prints(DT_F64, 0.1, "0.1");
    prints(DT_F64, 1.0 / 3, "0.3333333333333333");
    prints(DT_F32, 16777216, "16777216.0");
    prints(DT_F32, -2, "-2.0");
    prints(DT_F32, 1.0 / 0.0, "inf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(has_the_digits_of_its_type)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
