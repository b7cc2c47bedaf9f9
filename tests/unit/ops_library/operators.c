// The operators of libhdsops that have values of -D or types of their own: what they launch for which tensors, on the
// double of the driver.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "hds/operators/cross_entropy.h"
#include "hds/operators/gather.h"
#include "hds/operators/heads.h"
#include "hds/operators/indexing.h"
#include "hds/operators/layout.h"
#include "hds/operators/loss.h"
#include "hds/operators/nchw_to_nhwc.h"
#include "hds/operators/nhwc_to_nchw.h"
#include "hds/operators/pooling_2x2.h"
#include "hds/operators/pooling_3x3.h"
#include "hds/operators/transpose.h"
#include "tensors.h"

static void indices_have_two_types(void **state)
{
    tensor table, index, out;
    (void)state;
    MAKE(table, FLOAT, 16, 1000, 64);
    for (int bits = 32; bits <= 64; bits += 32) {
        MAKE(index, INT, bits, 4, 7);
        MAKE(out, FLOAT, 16, 4, 7, 64);
        assert_int_equal(launched(hds_embedding(&index.t, &table.t, &out.t, NULL)), 1);
    }
    MAKE(index, INT, 64, 5);
    MAKE(out, FLOAT, 16, 5, 64);
    assert_int_equal(launched(hds_index_select(&table.t, &index.t, &out.t, NULL)), 1);
    MAKE(index, INT, 8, 5);
    assert_int_equal(launched(hds_index_select(&table.t, &index.t, &out.t, NULL)), -1);
    assert_non_null(strstr(hdsrt_last_error(), "there is no code for x of f16, index of i8, out of f16"));
}

static void gathers_are_of_matrices(void **state)
{
    tensor x, index, out;
    (void)state;
    MAKE(x, FLOAT, 32, 8, 100);
    MAKE(index, INT, 64, 6, 3);
    MAKE(out, FLOAT, 32, 6, 3);
    assert_int_equal(launched(hds_gather(&x.t, &index.t, &out.t, NULL)), 1);
    MAKE(out, FLOAT, 32, 8, 100);
    MAKE(index, INT, 64, 8, 3);
    tensor from;
    MAKE(from, FLOAT, 32, 8, 3);
    assert_true(launched(hds_scatter_add(&x.t, &index.t, &from.t, &out.t, NULL)) >= 1);
    MAKE(x, FLOAT, 32, 2, 4, 100);
    assert_int_equal(launched(hds_gather(&x.t, &index.t, &out.t, NULL)), -1);
}

static void axes_are_permuted(void **state)
{
    tensor image, turned, wrong, matrices, across;
    (void)state;
    MAKE(image, BFLOAT, 16, 2, 8, 5, 6);
    MAKE(turned, BFLOAT, 16, 2, 5, 6, 8);
    MAKE(wrong, BFLOAT, 16, 2, 6, 5, 8);
    assert_int_equal(launched(hds_nchw_to_nhwc_permute(&image.t, &turned.t, NULL)), 1);
    assert_int_equal(launched(hds_nhwc_to_nchw_permute(&turned.t, &image.t, NULL)), 1);
    assert_int_equal(launched(hds_nchw_to_nhwc_permute(&image.t, &wrong.t, NULL)), -1);
    MAKE(turned, BFLOAT, 16, 2, 5, 8, 6);
    assert_int_equal(launched(hds_heads_permute(&image.t, &turned.t, NULL)), 1);
    MAKE(matrices, FLOAT, 32, 3, 40, 50);
    MAKE(across, FLOAT, 32, 3, 50, 40);
    assert_int_equal(launched(hds_transpose(&matrices.t, &across.t, NULL)), 1);
    assert_int_equal(launched(hds_flip(&matrices.t, &matrices.t, NULL)), -1); // the result is no operand
    MAKE(across, FLOAT, 32, 3, 40, 50);
    assert_int_equal(launched(hds_flip(&matrices.t, &across.t, NULL)), 1);
    assert_int_equal(launched(hds_tril(&matrices.t, &across.t, -1, NULL)), 1);
}

static void windows_have_an_extent(void **state)
{
    tensor image, half, other;
    (void)state;
    MAKE(image, FLOAT, 16, 2, 3, 16, 20);
    MAKE(half, FLOAT, 16, 2, 3, 8, 10);
    MAKE(other, FLOAT, 16, 2, 3, 7, 9);
    assert_int_equal(launched(hds_2x2_max_pool2d(&image.t, &half.t, NULL)), 1);
    assert_int_equal(launched(hds_2x2_avg_pool2d(&image.t, &half.t, NULL)), 1);
    assert_int_equal(launched(hds_3x3_max_pool2d(&image.t, &half.t, NULL)), 1); // stride 2, padding 1
    assert_int_equal(launched(hds_3x3_max_pool2d(&image.t, &other.t, NULL)), -1);
}

static void losses_are_one_number(void **state)
{
    tensor x, y, classes, out;
    (void)state;
    MAKE(x, FLOAT, 32, 64, 1000);
    MAKE(y, FLOAT, 32, 64, 1000);
    MAKE(classes, INT, 64, 64);
    make(&out, FLOAT, 32, 0, (int64_t[]){0});
    assert_true(launched(hds_mse_loss(&x.t, &y.t, &out.t, NULL)) >= 1);
    assert_true(launched(hds_huber_loss(&x.t, &y.t, &out.t, 0.5f, NULL)) >= 1);
    assert_true(launched(hds_cross_entropy(&x.t, &classes.t, NULL, &out.t, -100, NULL)) >= 1);
    assert_true(launched(hds_nll_loss(&x.t, &classes.t, NULL, &out.t, -100, NULL)) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_have_two_types), cmocka_unit_test(gathers_are_of_matrices),
        cmocka_unit_test(axes_are_permuted),     cmocka_unit_test(windows_have_an_extent),
        cmocka_unit_test(losses_are_one_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
