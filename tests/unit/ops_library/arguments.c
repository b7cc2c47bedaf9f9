// Parameters of definitions that are arguments in C, and functions for choices: what they launch for which tensors, on the
// double of the driver.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "hds/operators/activation.h"
#include "hds/operators/activation_choices.h"
#include "hds/operators/cross_entropy.h"
#include "hds/operators/masks.h"
#include "hds/operators/pixels.h"
#include "tensors.h"

static void numbers_are_arguments(void **state)
{
    tensor x, y;
    (void)state;
    MAKE(x, FLOAT, 16, 2, 3, 8);
    MAKE(y, FLOAT, 16, 2, 3, 8);
    assert_int_equal(launched(hds_threshold(&x.t, &y.t, 0.5f, -1.0f, NULL)), 1);
    assert_int_equal(launched(hds_hardtanh(&x.t, &y.t, -2.0f, 2.0f, NULL)), 1);
    assert_int_equal(launched(hds_gelu(&x.t, &y.t, NULL)), 1);
    assert_int_equal(launched(hds_gelu_tanh(&x.t, &y.t, NULL)), 1);
}

static void gates_have_names(void **state)
{
    tensor x, y;
    (void)state;
    MAKE(x, BFLOAT, 16, 2, 3, 16);
    MAKE(y, BFLOAT, 16, 2, 3, 8);
    assert_int_equal(launched(hds_glu(&x.t, &y.t, NULL)), 1);
    assert_int_equal(launched(hds_swiglu(&x.t, &y.t, NULL)), 1);
    assert_int_equal(launched(hds_geglu(&x.t, &y.t, NULL)), 1);
    assert_int_equal(launched(hds_reglu(&x.t, &y.t, NULL)), 1);
    assert_int_equal(launched(hds_tanhglu(&x.t, &y.t, NULL)), 1);
    assert_int_equal(launched(hds_bilinear_glu(&x.t, &y.t, NULL)), 1);
    MAKE(y, BFLOAT, 16, 2, 3, 9);
    assert_int_equal(launched(hds_swiglu(&x.t, &y.t, NULL)), -1);
}

static void masks_and_classes(void **state)
{
    tensor x, mask, y, numbers;
    (void)state;
    MAKE(x, FLOAT, 32, 4, 5);
    MAKE(mask, BOOL, 8, 4, 5);
    MAKE(y, FLOAT, 32, 4, 5);
    assert_int_equal(launched(hds_masked_fill(&x.t, &mask.t, &y.t, -1.0, NULL)), 1);
    MAKE(mask, BOOL, 8, 5, 4);
    assert_int_equal(launched(hds_masked_fill(&x.t, &mask.t, &y.t, -1.0, NULL)), -1); // not the axes of x
    MAKE(numbers, INT, 64, 2, 3);
    MAKE(y, FLOAT, 32, 2, 3, 10);
    assert_int_equal(launched(hds_one_hot(&numbers.t, &y.t, NULL)), 1);
    MAKE(y, FLOAT, 32, 3, 2, 10);
    assert_int_equal(launched(hds_one_hot(&numbers.t, &y.t, NULL)), -1);
}

static void windows_are_of_the_run(void **state)
{
    tensor x, y;
    (void)state;
    MAKE(x, FLOAT, 32, 2, 12, 5, 7);
    MAKE(y, FLOAT, 32, 2, 3, 10, 14);
    assert_int_equal(launched(hds_pixel_shuffle(&x.t, &y.t, NULL)), 1);
    assert_int_equal(launched(hds_pixel_unshuffle(&y.t, &x.t, NULL)), 1);
    MAKE(y, FLOAT, 32, 2, 3, 10, 21);
    assert_int_equal(launched(hds_pixel_shuffle(&x.t, &y.t, NULL)), -1);
    assert_non_null(strstr(hdsrt_last_error(), "by the same factor"));
    MAKE(y, FLOAT, 32, 2, 12 * 9, 5 * 7);
    assert_int_equal(launched(hds_unfold(&x.t, &y.t, 3, 3, 1, 1, 1, NULL)), 1);
    assert_int_equal(launched(hds_unfold(&x.t, &y.t, 3, 3, 2, 1, 1, NULL)), -1);
    assert_int_equal(launched(hds_unfold(&x.t, &y.t, 3, 3, 0, 1, 1, NULL)), -1);
    assert_non_null(strstr(hdsrt_last_error(), "a window of 'unfold' and its stride and dilation are at least 1"));
}

static void classes_have_weights(void **state)
{
    tensor x, target, weight, loss;
    (void)state;
    MAKE(x, FLOAT, 32, 6, 10);
    MAKE(target, INT, 64, 6);
    MAKE(weight, FLOAT, 32, 10);
    make(&loss, FLOAT, 32, 0, NULL);
    assert_true(launched(hds_cross_entropy(&x.t, &target.t, &weight.t, &loss.t, -100, NULL)) >= 1);
    assert_true(launched(hds_cross_entropy(&x.t, &target.t, NULL, &loss.t, -100, NULL)) >= 1);
    assert_true(launched(hds_nll_loss(&x.t, &target.t, NULL, &loss.t, 0, NULL)) >= 1);
    MAKE(weight, FLOAT, 32, 9);
    assert_int_equal(launched(hds_cross_entropy(&x.t, &target.t, &weight.t, &loss.t, -100, NULL)), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_arguments), cmocka_unit_test(gates_have_names),
        cmocka_unit_test(masks_and_classes),     cmocka_unit_test(windows_are_of_the_run),
        cmocka_unit_test(classes_have_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
