// Elements of the field as the numbers that they are for people.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "prove/prove_priv.h"

static arena memory;

static const char *text_of(sim_field x)
{
    str_buf out;
    double value;
    str_buf_init(&out, &memory);
    return prove_number(x.p, &out, &value) ? str_text(&out) : NULL;
}

static sim_field quotient(double a, double b)
{
    return sim_field_div(sim_field_of_float(a), sim_field_of_float(b));
}

static void simple_numbers(void **state)
{
    (void)state;
    assert_string_equal(text_of(quotient(0, 1)), "0");
    assert_string_equal(text_of(quotient(2, 1)), "2");
    assert_string_equal(text_of(quotient(-7, 1)), "-7");
    assert_string_equal(text_of(quotient(3, 2)), "3/2");
    assert_string_equal(text_of(quotient(-1, 12)), "-1/12");
    assert_string_equal(text_of(quotient(1023, 1000)), "1023/1000");
    assert_string_equal(text_of(quotient(1, 1048576)), "9.53674316e-07");
}

// Two roundings of the same constant.
static void quotients_of_floats(void **state)
{
    (void)state;
    sim_field a = sim_field_of_float(11863283), b = sim_field_of_float(11863284);
    str_buf out;
    double value = 0;
    str_buf_init(&out, &memory);
    assert_true(prove_number(sim_field_div(a, b).p, &out, &value));
    assert_true(value < 1 && value > 0.999999);
}

static void random_elements_are_none(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 200; i++)
        assert_null(text_of(sim_field_random(3, 0, i)));
}

int main(void)
{
    arena_init(&memory, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simple_numbers),
        cmocka_unit_test(quotients_of_floats),
        cmocka_unit_test(random_elements_are_none),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_free(&memory);
    return failed;
}
