// Which kernel libhdsops launches for which convolution: the library itself, on the double of the driver.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "../ops/describe.h"
#include "fake_cuda.h"
#include "hds/ops.h"
#include "launched.h"

static const hdsrt_dtype f16 = {2, 16}, bf16 = {4, 16}, f32 = {2, 32};

enum { EXTENT = 14 };

// Images of 14 × 14 with padding, channels last or first.
typedef struct layer {
    hdsrt_dtype type;
    int64_t inputs, outputs; // channels
    int64_t taps;
    int groups, stride;
    bool is_last, is_transposed;
    hds_math math;
} layer;

typedef struct image {
    hdsrt_tensor tensor;
    int64_t shape[4];
} image;

static void make(image *t, const layer *l, uintptr_t address, int64_t outer, int64_t channels, int64_t extent)
{
    const int64_t *shape = l->is_last ? LIST(outer, extent, extent, channels) : LIST(outer, channels, extent, extent);
    describe(&t->tensor, t->shape, NULL, l->type, address, 4, shape, NULL);
}

// The launches; the last one.
static int launches(const layer *l, fake_cuda_launch *last)
{
    hds_conv_options options = HDS_CONV_OPTIONS;
    image x, w, y;
    options.layout = l->is_last ? HDS_LAYOUT_CHANNELS_LAST : HDS_LAYOUT_CHANNELS_FIRST;
    options.groups = l->groups;
    options.math = l->math;
    for (int a = 0; a < 2; a++) {
        options.stride[a] = l->stride;
        options.padding_before[a] = options.padding_after[a] = (int32_t)l->taps / 2;
    }
    int64_t out = l->is_transposed ? (EXTENT - 1) * l->stride + 1 : (EXTENT - 1) / l->stride + 1;
    int64_t outer = l->is_transposed ? l->inputs : l->outputs, inner = l->is_transposed ? l->outputs : l->inputs;
    make(&x, l, 0x10000000, 2, l->inputs, EXTENT);
    make(&w, l, 0x20000000, outer, inner / l->groups, l->taps);
    make(&y, l, 0x30000000, 2, l->outputs, out);
    fake_cuda_forget();
    hdsrt_status status =
        (l->is_transposed ? hds_conv_transpose2d : hds_conv2d)(&x.tensor, &w.tensor, &y.tensor, &options, NULL);
    return launches_of(status, last);
}

static fake_cuda_launch only(const layer *l)
{
    fake_cuda_launch found;
    assert_int_equal(launches(l, &found), 1);
    return found;
}

static void each_is_one_kernel(void **state)
{
    const hdsrt_dtype types[] = {f16, bf16, f32};
    (void)state;
    for (int i = 0; i < 3; i++) {
        for (int last = 0; last < 2; last++) {
            layer l = {types[i], 64, 64, 3, 1, 1, last, false, HDS_MATH_EXACT};
            fake_cuda_launch whole = only(&l);
            l.inputs = 3;
            only(&l);
            l.math = HDS_MATH_TF32;
            only(&l);
            l = (layer){types[i], 64, 64, 3, 64, 2, last, false, HDS_MATH_EXACT};
            fake_cuda_launch depthwise = only(&l);
            assert_int_equal(depthwise.grid[0], 2 * 64 * 7 * 7 / 128);
            assert_int_not_equal(whole.grid[0], depthwise.grid[0]);
            l = (layer){types[i], 64, 32, 3, 1, 2, last, true, HDS_MATH_EXACT};
            assert_int_equal(only(&l).grid[0], (2 * 32 * 27 * 27 + 127) / 128);
        }
    }
}

// Rows that are not made of vectors of 16 bytes are loaded element by element.
static void vectors(void **state)
{
    layer l = {f16, 64, 64, 3, 1, 1, true, false, HDS_MATH_EXACT};
    (void)state;
    fake_cuda_launch wide = only(&l);
    l.inputs = 60;
    assert_string_not_equal(only(&l).kernel, wide.kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_one_kernel),
        cmocka_unit_test(vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
