// Norms of libhdsops along channels: what they launch for which tensors, on the double of the driver.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "hds/operators/batch_norm_training.h"
#include "hds/operators/instance_norm.h"
#include "tensors.h"

static void images_are_normalized(void **state)
{
    tensor x, y, w, b;
    (void)state;
    MAKE(x, FLOAT, 16, 2, 8, 16, 20);
    MAKE(y, FLOAT, 16, 2, 8, 16, 20);
    MAKE(w, FLOAT, 16, 8);
    MAKE(b, FLOAT, 16, 8);
    assert_true(launched(hds_instance_norm(&x.t, &w.t, &b.t, &y.t, 1e-5f, NULL)) >= 1);
    assert_true(launched(hds_instance_norm(&x.t, NULL, NULL, &y.t, 1e-5f, NULL)) >= 1);
    MAKE(w, FLOAT, 16, 7);
    assert_int_equal(launched(hds_instance_norm(&x.t, &w.t, &b.t, &y.t, 1e-5f, NULL)), -1);
}

static void batches_have_moments(void **state)
{
    tensor x, y, w, b, mean, var;
    (void)state;
    MAKE(x, FLOAT, 16, 2, 8, 16, 20);
    MAKE(y, FLOAT, 16, 2, 8, 16, 20);
    MAKE(w, FLOAT, 16, 8);
    MAKE(b, FLOAT, 16, 8);
    MAKE(mean, FLOAT, 32, 8);
    MAKE(var, FLOAT, 32, 8);
    assert_true(launched(hds_batch_norm_training(&x.t, &w.t, &b.t, &y.t, &mean.t, &var.t, 1e-5f, NULL)) >= 1);
    assert_true(launched(hds_batch_norm_training(&x.t, NULL, NULL, &y.t, &mean.t, &var.t, 1e-5f, NULL)) >= 1);
    MAKE(var, FLOAT, 16, 8);
    assert_int_equal(launched(hds_batch_norm_training(&x.t, &w.t, &b.t, &y.t, &mean.t, &var.t, 1e-5f, NULL)), -1);
    MAKE(var, FLOAT, 32, 9);
    assert_int_equal(launched(hds_batch_norm_training(&x.t, &w.t, &b.t, &y.t, &mean.t, &var.t, 1e-5f, NULL)), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_are_normalized),
        cmocka_unit_test(batches_have_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
