// The operators of ops/library in libhdsops, whose results say what their signatures leave open, and dropout: what they
// launch for which tensors, on the double of the driver.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "hds/operators/activation.h"
#include "hds/operators/borders.h"
#include "hds/operators/cast.h"
#include "hds/operators/cosine.h"
#include "hds/operators/creation.h"
#include "hds/operators/dropout.h"
#include "hds/operators/grid_sample.h"
#include "hds/operators/joins.h"
#include "hds/operators/pooling_2.h"
#include "hds/operators/pooling_2x2x2.h"
#include "hds/operators/pooling_adaptive.h"
#include "hds/operators/random.h"
#include "hds/operators/resize.h"
#include "hds/operators/resize_nhwc.h"
#include "tensors.h"

static void joins_and_parts_fit(void **state)
{
    tensor a, b, c, y;
    (void)state;
    MAKE(a, FLOAT, 16, 2, 3, 8);
    MAKE(b, FLOAT, 16, 2, 3, 16);
    MAKE(c, FLOAT, 16, 2, 3, 1);
    MAKE(y, FLOAT, 16, 2, 3, 24);
    assert_int_equal(launched(hds_concat2(&a.t, &b.t, &y.t, NULL)), 1);
    assert_int_equal(launched(hds_split2(&y.t, &a.t, &b.t, NULL)), 2);
    assert_int_equal(launched(hds_concat3(&a.t, &b.t, &c.t, &y.t, NULL)), -1);
    MAKE(y, FLOAT, 16, 2, 3, 25);
    assert_int_equal(launched(hds_concat3(&a.t, &b.t, &c.t, &y.t, NULL)), 1);
    assert_int_equal(launched(hds_split2(&y.t, &a.t, &b.t, NULL)), -1);
    MAKE(b, FLOAT, 16, 3, 2, 16);
    assert_int_equal(launched(hds_concat2(&a.t, &b.t, &y.t, NULL)), -1); // not so many rows
    MAKE(a, INT, 64, 5);
    MAKE(b, INT, 64, 7);
    MAKE(y, INT, 64, 12);
    assert_int_equal(launched(hds_concat2(&a.t, &b.t, &y.t, NULL)), 1);
}

static void parts_are_inside(void **state)
{
    tensor x, y;
    (void)state;
    MAKE(x, FLOAT, 32, 4, 100);
    MAKE(y, FLOAT, 32, 4, 10);
    assert_int_equal(launched(hds_narrow(&x.t, &y.t, 90, NULL)), 1);
    assert_int_equal(launched(hds_narrow(&x.t, &y.t, INT64_MAX, NULL)), -1);
    assert_int_equal(launched(hds_narrow(&x.t, &y.t, 91, NULL)), -1);
    assert_non_null(strstr(hdsrt_last_error(), "'narrow' takes a part that is inside the axis"));
    MAKE(y, FLOAT, 32, 4, 300);
    assert_int_equal(launched(hds_repeat(&x.t, &y.t, NULL)), 1);
    assert_int_equal(launched(hds_repeat_interleave(&x.t, &y.t, NULL)), 1);
    MAKE(y, FLOAT, 32, 4, 350);
    assert_int_equal(launched(hds_repeat(&x.t, &y.t, NULL)), -1);
    MAKE(y, FLOAT, 32, 4, 100);
    assert_int_equal(launched(hds_roll(&x.t, &y.t, -3, NULL)), 1);
}

static void borders_have_modes(void **state)
{
    tensor x, y;
    (void)state;
    MAKE(x, FLOAT, 16, 2, 3, 8, 8);
    MAKE(y, FLOAT, 16, 2, 3, 10, 12);
    assert_int_equal(launched(hds_pad_constant(&x.t, &y.t, 1, 2, 0.5, NULL)), 1);
    assert_int_equal(launched(hds_pad_constant(&x.t, &y.t, -5, 9, 0.5, NULL)), 1);
    assert_int_equal(launched(hds_pad_reflect(&x.t, &y.t, 2, 4, NULL)), 1);
    assert_int_equal(launched(hds_pad_reflect(&x.t, &y.t, 3, 4, NULL)), -1); // takes one away below
    assert_non_null(strstr(hdsrt_last_error(), "'pad' as mode 'reflect' takes away no elements"));
    assert_int_equal(launched(hds_pad_replicate(&x.t, &y.t, 0, 0, NULL)), 1);
    assert_int_equal(launched(hds_pad_circular(&x.t, &y.t, 1, 2, NULL)), 1);
    MAKE(y, FLOAT, 16, 2, 3, 17, 8);
    assert_int_equal(launched(hds_pad_circular(&x.t, &y.t, 9, 0, NULL)), -1);
}

static void results_are_made(void **state)
{
    tensor y;
    (void)state;
    MAKE(y, BOOL, 8, 3, 7);
    assert_int_equal(launched(hds_full(&y.t, 1.0, NULL)), 1);
    MAKE(y, INT, 64, 1000);
    assert_int_equal(launched(hds_arange(&y.t, 3.0, -2.0, NULL)), 1);
    assert_int_equal(launched(hds_linspace(&y.t, 3.0, -2.0, NULL)), -1);
    assert_non_null(strstr(hdsrt_last_error(), "'hds_linspace': there is no code for out of i64"));
    assert_int_equal(launched(hds_randint(&y.t, -4, 9, 1, 0, NULL)), 1);
    assert_int_equal(launched(hds_randint(&y.t, 9, 9, 1, 0, NULL)), -1);
    assert_non_null(strstr(hdsrt_last_error(), "'randint' takes 'low' below 'high'"));
    MAKE(y, FLOAT, 16, 30, 20);
    assert_int_equal(launched(hds_eye(&y.t, -3, NULL)), 1);
    assert_int_equal(launched(hds_rand(&y.t, 1, 0, NULL)), 1);
    assert_int_equal(launched(hds_uniform(&y.t, -1.0, 1.0, 1, 0, NULL)), 1);
    assert_int_equal(launched(hds_randn(&y.t, 1, 0, NULL)), 1);
    assert_int_equal(launched(hds_normal(&y.t, 0.0, 2.0, 1, 0, NULL)), 1);
    assert_int_equal(launched(hds_exponential(&y.t, 2.0, 1, 0, NULL)), 1);
    assert_int_equal(launched(hds_exponential(&y.t, 0.0, 1, 0, NULL)), -1);
    MAKE(y, FLOAT, 16, 30, 2, 10);
    assert_int_equal(launched(hds_eye(&y.t, 0, NULL)), -1); // of matrices only
}

static void elements_are_dropped(void **state)
{
    tensor x, y, z;
    (void)state;
    MAKE(x, FLOAT, 32, 2, 3, 7, 5);
    MAKE(y, FLOAT, 32, 2, 3, 7, 5);
    MAKE(z, FLOAT, 32, 2, 3, 5, 7);
    assert_int_equal(launched(hds_dropout(&x.t, &y.t, 0.1f, 1, 0, NULL)), 1);
    assert_int_equal(launched(hds_dropout(&x.t, &z.t, 0.1f, 1, 0, NULL)), -1);
    assert_int_equal(launched(hds_dropout(&x.t, &y.t, 1.5f, 1, 0, NULL)), -1);
    assert_non_null(strstr(hdsrt_last_error(), "'dropout' takes a probability 'p' of 0 … 1"));
    assert_int_equal(launched(hds_alpha_dropout(&x.t, &y.t, NAN, 1, 0, NULL)), -1);
    assert_int_equal(launched(hds_alpha_dropout(&x.t, &y.t, 0.1f, 1, 0, NULL)), 1);
    assert_int_equal(launched(hds_feature_dropout(&x.t, &y.t, 0.1f, 1, 0, NULL)), 1);
    assert_int_equal(launched(hds_bernoulli(&x.t, &y.t, 1, 0, NULL)), 1);
    MAKE(z, INT, 64, 2, 3, 7);
    assert_true(launched(hds_multinomial(&x.t, &z.t, 1, 0, NULL)) >= 1);
}

static void images_have_the_size_of_the_result(void **state)
{
    tensor x, y, grid;
    (void)state;
    MAKE(x, FLOAT, 16, 2, 8, 16, 20);
    MAKE(y, FLOAT, 16, 2, 8, 31, 45);
    assert_int_equal(launched(hds_upsample_nearest2d(&x.t, &y.t, NULL)), 1);
    assert_int_equal(launched(hds_upsample_bilinear2d(&x.t, &y.t, NULL)), 1);
    assert_int_equal(launched(hds_upsample_bicubic2d(&x.t, &y.t, NULL)), 1);
    assert_int_equal(launched(hds_adaptive_max_pool2d(&x.t, &y.t, NULL)), 1);
    MAKE(grid, FLOAT, 16, 2, 31, 45, 2);
    assert_int_equal(launched(hds_grid_sample(&x.t, &grid.t, &y.t, NULL)), 1);
    MAKE(y, FLOAT, 16, 2, 8, 1, 1);
    assert_true(launched(hds_adaptive_avg_pool2d(&x.t, &y.t, NULL)) >= 1);
    MAKE(y, FLOAT, 16, 2, 8, 0, 1);
    assert_int_equal(launched(hds_adaptive_avg_pool2d(&x.t, &y.t, NULL)), -1);
    assert_non_null(strstr(hdsrt_last_error(), "a result of 'adaptive_avg_pool2d' has elements"));
    assert_int_equal(launched(hds_adaptive_max_pool2d(&y.t, &x.t, NULL)), -1);
    assert_non_null(strstr(hdsrt_last_error(), "an image of 'adaptive_max_pool2d' has elements"));
    MAKE(y, FLOAT, 16, 2, 9, 31, 45);
    assert_int_equal(launched(hds_upsample_nearest2d(&x.t, &y.t, NULL)), -1);
    MAKE(x, FLOAT, 16, 2, 16, 20, 8);
    MAKE(y, FLOAT, 16, 2, 31, 45, 8);
    assert_int_equal(launched(hds_nhwc_upsample_bilinear2d(&x.t, &y.t, NULL)), 1);
    MAKE(x, FLOAT, 32, 2, 4, 6, 8, 10);
    MAKE(y, FLOAT, 32, 2, 4, 3, 4, 5);
    assert_int_equal(launched(hds_upsample_trilinear3d(&x.t, &y.t, NULL)), 1);
    assert_int_equal(launched(hds_upsample_nearest3d(&x.t, &y.t, NULL)), 1);
    assert_int_equal(launched(hds_adaptive_avg_pool3d(&x.t, &y.t, NULL)), 1);
    assert_int_equal(launched(hds_2x2x2_max_pool3d(&x.t, &y.t, NULL)), 1);
    MAKE(x, FLOAT, 32, 2, 4, 30);
    MAKE(y, FLOAT, 32, 2, 4, 15);
    assert_int_equal(launched(hds_2_avg_pool1d(&x.t, &y.t, NULL)), 1);
}

static void vectors_have_angles(void **state)
{
    tensor a, b, cosines, labels, out;
    (void)state;
    MAKE(a, FLOAT, 32, 8, 64);
    MAKE(b, FLOAT, 32, 8, 64);
    MAKE(cosines, FLOAT, 32, 8);
    MAKE(labels, FLOAT, 32, 8);
    make(&out, FLOAT, 32, 0, NULL);
    assert_true(launched(hds_cosine_similarity(&a.t, &b.t, &cosines.t, 1e-8f, NULL)) >= 1);
    assert_true(launched(hds_cosine_embedding_loss(&a.t, &b.t, &labels.t, &out.t, 0.0f, NULL)) >= 1);
}

// More than 2 ** 32 elements: where axes stand for any number of them, and side by side are one.
static void tensors_may_be_large(void **state)
{
    tensor x, y, mask;
    (void)state;
    MAKE(x, FLOAT, 16, 65536, 65600);
    MAKE(y, FLOAT, 16, 65536, 65600);
    MAKE(mask, BOOL, 8, 65536, 65600);
    x.t.data = (void *)((uintptr_t)1 << 40);
    mask.t.data = (void *)((uintptr_t)1 << 41);
    assert_int_equal(launched(hds_relu(&x.t, &y.t, NULL)), 1);
    assert_int_equal(launched(hds_cast(&x.t, &mask.t, NULL)), 1);
    assert_int_equal(launched(hds_dropout(&x.t, &y.t, 0.1f, 1, 0, NULL)), 1);
    assert_int_equal(launched(hds_full(&x.t, 2.0, NULL)), 1);
    assert_int_equal(launched(hds_randn(&x.t, 1, 0, NULL)), 1);
    x.t.ndim = y.t.ndim = 1;
    x.shape[0] = y.shape[0] = (int64_t)1 << 33;
    assert_int_equal(launched(hds_relu(&x.t, &y.t, NULL)), 1);
    assert_int_equal(launched(hds_arange(&x.t, 0.0, 1.0, NULL)), 1);
    assert_int_equal(launched(hds_linspace(&x.t, 0.0, 1.0, NULL)), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_and_parts_fit),  cmocka_unit_test(parts_are_inside),
        cmocka_unit_test(borders_have_modes),   cmocka_unit_test(results_are_made),
        cmocka_unit_test(elements_are_dropped), cmocka_unit_test(images_have_the_size_of_the_result),
        cmocka_unit_test(vectors_have_angles),  cmocka_unit_test(tensors_may_be_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
