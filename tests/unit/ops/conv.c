// What hds_conv2d() and its kin make of tensors, and what they refuse. The kernels are functions that record.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "describe.h"
#include "ops/product.h"

static const hdsrt_dtype f16 = {2, 16}, f32 = {2, 32}, bf16 = {4, 16}, f64 = {2, 64};

static ops_conv ran;
static ops_product multiplied;
static int runs, products;

hdsrt_status ops_run_conv(const ops_conv *conv, hdsrt_stream stream)
{
    (void)stream;
    ran = *conv;
    runs++;
    return HDSRT_OK;
}

static hdsrt_status multiply(const ops_kernel *self, const ops_product *p, hdsrt_stream stream)
{
    (void)self;
    (void)stream;
    multiplied = *p;
    products++;
    return HDSRT_OK;
}

const ops_kernel *ops_find_kernel(hdsrt_dtype a, hdsrt_dtype b, hdsrt_dtype c, hds_math math, ops_order a_order,
                                  ops_order b_order)
{
    static ops_kernel kernel;
    kernel = (ops_kernel){a, b, c, math, a_order, b_order, multiply, NULL, NULL, NULL};
    return &kernel;
}

enum { X, W, BIAS, Y, TENSORS };

typedef hdsrt_status function(const hdsrt_tensor *x, const hdsrt_tensor *w, hdsrt_tensor *y,
                              const hds_conv_options *options, hdsrt_stream stream);

typedef struct rig {
    function *call;
    hdsrt_tensor tensors[TENSORS];
    int64_t shapes[TENSORS][4], strides[4];
    hds_conv_options options;
} rig;

static void set(rig *r, int i, hdsrt_dtype type, int axes, const int64_t *extents)
{
    describe(&r->tensors[i], r->shapes[i], NULL, type, 0x10000000 * (uintptr_t)(i + 1), axes, extents, NULL);
}

// x: 2 × 6 × 9 × 7, w: 8 × 3 × 3 × 2 in two groups, bias: 8, y: 2 × 8 × 5 × 7; strides 2 and 1, padding 1 and 1, 0
// and 1.
static void usual(rig *r)
{
    memset(r, 0, sizeof *r);
    r->call = hds_conv2d;
    r->options = (hds_conv_options)HDS_CONV_OPTIONS;
    set(r, X, f16, 4, LIST(2, 6, 9, 7));
    set(r, W, f16, 4, LIST(8, 3, 3, 2));
    set(r, BIAS, f16, 1, LIST(8));
    set(r, Y, f16, 4, LIST(2, 8, 5, 7));
    r->options.groups = 2;
    r->options.stride[0] = 2;
    r->options.padding_before[0] = r->options.padding_after[0] = r->options.padding_after[1] = 1;
    r->options.bias = &r->tensors[BIAS];
}

static hdsrt_status run(rig *r)
{
    hdsrt_tensor *t = r->tensors;
    runs = products = 0;
    return r->call(&t[X], &t[W], &t[Y], &r->options, NULL);
}

static void takes(rig *r, int convolutions, int matmuls)
{
    if (run(r) != HDSRT_OK)
        fail_msg("%s", hdsrt_last_error());
    assert_int_equal(runs, convolutions);
    assert_int_equal(products, matmuls);
}

static void is_refused(rig *r, hdsrt_status status, const char *text)
{
    hdsrt_status found = run(r);
    if (found != status || !strstr(hdsrt_last_error(), text))
        fail_msg("status %d, '%s', expected %d, '%s'", found, hdsrt_last_error(), status, text);
    assert_int_equal(runs + products, 0);
}

static void both(const int64_t pair[2], int64_t height, int64_t width)
{
    assert_int_equal(pair[0], height);
    assert_int_equal(pair[1], width);
}

static void channels_first(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    r.options.activation = HDS_ACTIVATION_SILU;
    takes(&r, 1, 0);
    assert_ptr_equal(ran.x, (void *)0x10000000);
    assert_ptr_equal(ran.w, (void *)0x20000000);
    assert_ptr_equal(ran.bias, (void *)0x30000000);
    assert_ptr_equal(ran.y, (void *)0x40000000);
    assert_false(ran.is_last || ran.is_transposed);
    assert_int_equal(ran.activation, HDS_ACTIVATION_SILU);
    assert_int_equal(ran.images, 2);
    assert_int_equal(ran.groups, 2);
    assert_int_equal(ran.inputs, 3);
    assert_int_equal(ran.outputs, 4);
    both(ran.image, 9, 7);
    both(ran.taps, 3, 2);
    both(ran.result, 5, 7);
    both(ran.stride, 2, 1);
    both(ran.before, 1, 0);
    both(ran.dilation, 1, 1);
}

static void channels_last(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    r.options.layout = HDS_LAYOUT_CHANNELS_LAST;
    r.options.bias = NULL;
    set(&r, X, bf16, 4, LIST(2, 9, 7, 6));
    set(&r, W, bf16, 4, LIST(8, 3, 2, 3));
    set(&r, Y, bf16, 4, LIST(2, 5, 7, 8));
    takes(&r, 1, 0);
    assert_true(ran.is_last);
    assert_null(ran.bias);
    assert_int_equal(ran.type.code, bf16.code);
    assert_int_equal(ran.inputs, 3);
    both(ran.taps, 3, 2);
    both(ran.result, 5, 7);
}

static void rows(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    r.call = hds_conv1d;
    r.options.bias = NULL;
    set(&r, X, f32, 3, LIST(2, 6, 9));
    set(&r, W, f32, 3, LIST(8, 3, 3));
    set(&r, Y, f32, 3, LIST(2, 8, 5));
    takes(&r, 1, 0);
    both(ran.image, 1, 9);
    both(ran.taps, 1, 3);
    both(ran.result, 1, 5);
    both(ran.stride, 1, 2);
    both(ran.before, 0, 1);
    r.tensors[X].ndim = 4;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'x'");
}

static void transposed(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    r.call = hds_conv_transpose2d;
    r.options.math = HDS_MATH_TF32;
    set(&r, X, f32, 4, LIST(2, 8, 5, 7));
    set(&r, W, f32, 4, LIST(8, 3, 3, 2));
    set(&r, BIAS, f32, 1, LIST(6));
    for (int more = 0; more < 2; more++) {
        set(&r, Y, f32, 4, LIST(2, 6, 9 + more, 7));
        takes(&r, 1, 0);
        assert_true(ran.is_transposed);
        assert_int_equal(ran.math, HDS_MATH_EXACT);
        assert_int_equal(ran.inputs, 4);
        assert_int_equal(ran.outputs, 3);
        both(ran.result, 9 + more, 7);
    }
    r.shapes[Y][2] = 11;
    is_refused(&r, HDSRT_INVALID_ARGUMENT,
               "axis 2 of 'y' has extent 11, and images, windows, stride and padding give 9 to 10");
    r.shapes[Y][2] = 8;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "give 9 to 10");
    r.shapes[Y][2] = 9;
    r.shapes[W][0] = 6;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'w'");
}

// Windows of one element are products: of pixels by rows, and with channels first by columns if there is no bias.
static void pointwise(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    r.options = (hds_conv_options)HDS_CONV_OPTIONS;
    r.options.activation = HDS_ACTIVATION_RELU;
    set(&r, X, f16, 4, LIST(2, 6, 9, 7));
    set(&r, W, f16, 4, LIST(8, 6, 1, 1));
    set(&r, Y, f16, 4, LIST(2, 8, 9, 7));
    takes(&r, 0, 1);
    assert_int_equal(multiplied.m, 8);
    assert_int_equal(multiplied.n, 63);
    assert_int_equal(multiplied.k, 6);
    assert_int_equal(multiplied.batch, 2);
    assert_int_equal(multiplied.a.order, OPS_ROWS);
    assert_int_equal(multiplied.b.order, OPS_ROWS);
    assert_int_equal(multiplied.activation, HDS_ACTIVATION_RELU);
    r.options.bias = &r.tensors[BIAS];
    takes(&r, 1, 0);
    r.options.layout = HDS_LAYOUT_CHANNELS_LAST;
    set(&r, X, f16, 4, LIST(2, 9, 7, 6));
    set(&r, W, f16, 4, LIST(8, 1, 1, 6));
    set(&r, Y, f16, 4, LIST(2, 9, 7, 8));
    takes(&r, 0, 1);
    assert_int_equal(multiplied.m, 126);
    assert_int_equal(multiplied.n, 8);
    assert_int_equal(multiplied.k, 6);
    assert_int_equal(multiplied.b.order, OPS_COLUMNS);
    assert_ptr_equal(multiplied.bias, (void *)0x30000000);
    r.options.stride[1] = 2;
    r.shapes[Y][2] = 4;
    takes(&r, 1, 0);
}

static void without_elements(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    r.shapes[X][0] = r.shapes[Y][0] = 0;
    takes(&r, 0, 0);
    usual(&r);
    r.shapes[X][1] = r.shapes[W][1] = 0; // y is the bias
    takes(&r, 1, 0);
    assert_int_equal(ran.inputs, 0);
    usual(&r);
    r.shapes[X][3] = 0; // one column of padding, narrower than a window
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "a window spans 2 elements along axis 3 of 'x', which has 1 with padding");
    usual(&r);
    r.shapes[W][2] = 0;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "windows have no elements");
}

static void extents_disagree(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    r.options.dilation[0] = 6;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "a window spans 13 elements along axis 2 of 'x', which has 11 with padding");
    usual(&r);
    r.shapes[Y][2] = 4;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "(x + padding - window) / stride + 1");
    usual(&r);
    r.options.groups = 4;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'x' has 6 channels and 'y' 8, and 4 groups have to divide both");
    usual(&r);
    r.options.groups = 1; // the weights have 3 of 6 channels
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "channels of x / groups");
    usual(&r);
    r.options.layout = HDS_LAYOUT_CHANNELS_LAST; // and all tensors have channels first
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'hds_conv2d'");
    usual(&r);
    r.shapes[BIAS][0] = 6;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'bias'");
    usual(&r);
    r.shapes[Y][0] = 3;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "images of x");
}

static void options_are_checked(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    r.options.bytes = 8;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "HDS_CONV_OPTIONS");
    usual(&r);
    r.options.stride[1] = 0;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "have to be 1 or more");
    usual(&r);
    r.options.padding_after[0] = -1;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "has to be 0 or more");
    usual(&r);
    r.options.groups = 0;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "there are 0 groups");
    usual(&r);
    r.options.activation = 9;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "9 is not an activation");
    usual(&r);
    r.options.layout = 2;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "2 is not a layout");
    usual(&r);
    r.options.math = 2;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "2 is not a math mode");
}

static void tensors_are_checked(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    set(&r, X, f64, 4, LIST(2, 6, 9, 7));
    is_refused(&r, HDSRT_UNSUPPORTED, "no convolutions of DLPack type 2:64");
    usual(&r);
    set(&r, W, f32, 4, LIST(8, 3, 3, 2));
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'w'");
    usual(&r);
    r.tensors[X].byte_offset = 2;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "not a multiple of 16");
    usual(&r);
    r.tensors[BIAS].byte_offset = 2;
    takes(&r, 1, 0);
    usual(&r);
    r.tensors[Y].data = r.tensors[X].data;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "overlap");
    usual(&r);
    memcpy(r.strides, LIST(6 * 9 * 7, 1, 6 * 7, 6), sizeof r.strides); // channels last in memory
    r.tensors[X].strides = r.strides;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "contiguous");
    usual(&r);
    assert_int_equal(hds_conv2d(NULL, &r.tensors[W], &r.tensors[Y], NULL, NULL), HDSRT_INVALID_ARGUMENT);
    assert_non_null(strstr(hdsrt_last_error(), "'x' is null"));
}

static void numbers_that_kernels_cannot_count(void **state)
{
    const int64_t many = (int64_t)1 << 31;
    rig r;
    (void)state;
    usual(&r);
    r.shapes[X][2] = many;
    r.shapes[Y][2] = many / 2;
    is_refused(&r, HDSRT_UNSUPPORTED, "extents of images and windows have to be below 2^31 - 2^16");
    usual(&r);
    r.shapes[X][0] = r.shapes[Y][0] = many / 35 + 1;
    is_refused(&r, HDSRT_UNSUPPORTED, "pixels of 'y'");
    usual(&r);
    r.options.padding_before[0] = INT32_MAX;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "(x + padding - window) / stride + 1");
    r.shapes[Y][2] = ((int64_t)INT32_MAX + 10 - 3) / 2 + 1;
    is_refused(&r, HDSRT_UNSUPPORTED, "images with padding");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_first),
        cmocka_unit_test(channels_last),
        cmocka_unit_test(rows),
        cmocka_unit_test(transposed),
        cmocka_unit_test(pointwise),
        cmocka_unit_test(without_elements),
        cmocka_unit_test(extents_disagree),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(tensors_are_checked),
        cmocka_unit_test(numbers_that_kernels_cannot_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
