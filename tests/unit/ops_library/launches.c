// Which kernel libhdsops launches for which tensors on which GPU: the library itself, on the double of the driver.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "../ops/describe.h"
#include "fake_cuda.h"
#include "hds/ops.h"
#include "launched.h"

static const hdsrt_dtype f16 = {2, 16}, f32 = {2, 32}, f64 = {2, 64};

typedef struct matrix {
    hdsrt_tensor tensor;
    int64_t shape[2], strides[2];
} matrix;

static hdsrt_tensor *make(matrix *x, uintptr_t address, hdsrt_dtype type, int64_t rows, int64_t columns, int64_t row,
                          int64_t column)
{
    describe(&x->tensor, x->shape, x->strides, type, address, 2, LIST(rows, columns), LIST(row, column));
    return &x->tensor;
}

// Multiplies 256 × [k] by [k] × 512, k together in both, rows [pitch] apart, from [offset] bytes behind a page; the
// launches.
static int launches(hdsrt_dtype type, int64_t k, int64_t pitch, uintptr_t offset, const hds_matmul_options *options,
                    fake_cuda_launch *last)
{
    matrix a, b, c;
    fake_cuda_forget();
    hdsrt_status status =
        hds_matmul(make(&a, 0x10000000 + offset, type, 256, k, pitch, 1), make(&b, 0x20000000, type, k, 512, 1, pitch),
                   make(&c, 0x30000000, type, 256, 512, 512, 1), options, NULL);
    return launches_of(status, last);
}

// Hopper's kernels have blocks of several warpgroups, or tensor maps among their parameters: 128 bytes each.
static bool has_tensor_map(const fake_cuda_launch *l)
{
    for (int i = 0; i < l->parameter_count; i++) {
        if (l->sizes[i] == 128)
            return true;
    }
    return false;
}

static void hopper_takes_aligned_rows(void **state)
{
    fake_cuda_launch l;
    (void)state;
    assert_int_equal(launches(f16, 256, 256, 0, NULL, &l), 1);
    assert_true(has_tensor_map(&l));
    assert_int_equal(l.arch, 90 | 0x8000);
    assert_int_equal(launches(f16, 250, 256, 0, NULL, &l), 1);
    assert_true(has_tensor_map(&l));
}

static void other_rows_and_types_go_elsewhere(void **state)
{
    fake_cuda_launch l;
    (void)state;
    assert_true(launches(f16, 250, 250, 0, NULL, &l) >= 1);
    assert_false(has_tensor_map(&l));
    assert_true(launches(f16, 256, 256, 2, NULL, &l) >= 1);
    assert_false(has_tensor_map(&l));
    assert_true(launches(f64, 256, 256, 0, NULL, &l) >= 1);
    assert_false(has_tensor_map(&l));
    assert_true(launches(f32, 256, 256, 0, NULL, &l) >= 1);
    assert_false(has_tensor_map(&l));
    hds_matmul_options options = HDS_MATMUL_OPTIONS;
    options.math = HDS_MATH_TF32;
    assert_true(launches(f32, 256, 256, 0, &options, &l) >= 1);
    assert_true(has_tensor_map(&l));
}

static void without_k(void **state)
{
    fake_cuda_launch l;
    (void)state;
    assert_true(launches(f16, 0, 1, 0, NULL, &l) >= 1);
    assert_false(has_tensor_map(&l));
}

static void schedules_have_names_and_can_be_asked_for(void **state)
{
    int count = hds_matmul_schedules(f16, f16, f16, HDS_MATH_EXACT), ran = 0;
    fake_cuda_launch l;
    (void)state;
    assert_true(count > 10);
    for (int i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s", hds_matmul_schedule_name(f16, f16, f16, HDS_MATH_EXACT, i));
        assert_true(strlen(name) > 3);
        hds_matmul_options options = HDS_MATMUL_OPTIONS;
        options.schedule = i;
        options.workspace = (void *)0x50000000;
        options.workspace_bytes = 1 << 26;
        if (strcmp(name, "128x128") == 0) { // Hopper's tiles are there instead
            assert_int_equal(launches(f16, 256, 256, 0, &options, &l), -1);
            assert_non_null(strstr(hdsrt_last_error(), "schedule 0 ('128x128') does not support this product"));
            continue;
        }
        ran += launches(f16, 256, 256, 0, &options, &l) > 0;
        assert_int_equal(has_tensor_map(&l), strncmp(name, "hopper", 6) == 0);
    }
    assert_int_equal(ran, count - 1);
    hds_matmul_options options = HDS_MATMUL_OPTIONS;
    options.schedule = count - 1;
    assert_int_equal(launches(f16, 250, 250, 0, &options, &l), -1);
    assert_non_null(strstr(hdsrt_last_error(), "rows of 'a' and 'b' that begin at multiples of 16 bytes"));
}

// What hds_matmul_plan() says of 256 × [k] by [k] × 512.
static int plan(int64_t k, const hds_matmul_options *options, int64_t *bytes)
{
    matrix a, b, c;
    int schedule;
    assert_int_equal(hds_matmul_plan(make(&a, 0x10000000, f16, 256, k, k, 1), make(&b, 0x20000000, f16, k, 512, 1, k),
                                     make(&c, 0x30000000, f16, 256, 512, 512, 1), options, &schedule, bytes),
                     HDSRT_OK);
    return schedule;
}

// Few tiles with a very long k are for schedules by parts of tiles, if there is a workspace.
static void workspaces(void **state)
{
    int last = hds_matmul_schedules(f16, f16, f16, HDS_MATH_EXACT) - 1;
    hds_matmul_options options = HDS_MATMUL_OPTIONS;
    fake_cuda_launch l;
    int64_t bytes, none;
    (void)state;
    assert_true(plan(256, &options, &none) < last - 1);
    assert_int_equal(none, 0);
    options.schedule = last;
    assert_int_equal(plan(256, &options, &bytes), last);
    assert_true(bytes > 0);
    assert_int_equal(launches(f16, 256, 256, 0, &options, &l), -1);
    assert_non_null(strstr(hdsrt_last_error(), "a workspace of"));
    options.workspace = (void *)0x50000000;
    options.workspace_bytes = bytes;
    assert_int_equal(launches(f16, 256, 256, 0, &options, &l), 1);
    assert_true(has_tensor_map(&l));
    options.schedule = -1;
    plan(65536, &options, &bytes);
    options.workspace_bytes = bytes;
    assert_int_equal(plan(65536, &options, &bytes) >= last - 1, bytes > 0);
    assert_int_equal(launches(f16, 65536, 65536, 0, &options, &l), 1);
}

static void an_epilogue_is_one_launch(void **state)
{
    static int64_t n = 512;
    fake_cuda_launch l;
    hdsrt_tensor bias = {.data = (void *)0x40000000, .ndim = 1, .shape = &n};
    hds_matmul_options options = HDS_MATMUL_OPTIONS;
    (void)state;
    bias.device.device_type = 2;
    bias.dtype.code = 2;
    bias.dtype.bits = 16;
    bias.dtype.lanes = 1;
    options.bias = &bias;
    options.activation = HDS_ACTIVATION_GELU;
    assert_int_equal(launches(f16, 256, 256, 0, &options, &l), 1);
    assert_true(has_tensor_map(&l));
}

// Operands that are only read may repeat elements (strides of 0), on every path.
static void batches_share_an_operand(void **state)
{
    static int64_t shape[3] = {4, 256, 250}, strides[3] = {256 * 250, 250, 1};
    static int64_t c_shape[3] = {4, 256, 512}, c_strides[3] = {256 * 512, 512, 1};
    (void)state;
    for (int align = 0; align < 2; align++) {
        int64_t pitch = align ? 256 : 250;
        matrix a, b, c;
        hdsrt_tensor *left = make(&a, 0x10000000, f16, 0, 0, 0, 0);
        hdsrt_tensor *right = make(&b, 0x20000000, f16, 250, 512, 1, pitch);
        hdsrt_tensor *result = make(&c, 0x30000000, f16, 0, 0, 0, 0);
        strides[0] = 256 * pitch;
        strides[1] = pitch;
        left->ndim = result->ndim = 3;
        left->shape = shape, left->strides = strides;
        result->shape = c_shape, result->strides = c_strides;
        fake_cuda_forget();
        assert_int_equal(hds_matmul(left, right, result, NULL, NULL), HDSRT_OK);
        assert_true(fake_cuda_launches() > 0);
    }
}

// What hds_matmul_plan() says is what runs, and can be asked for: of types and orders that have the small tile only, and
// of a product whose best schedule depends on the orders (f16).
static void planned_schedules_run(void **state)
{
    static const hdsrt_dtype types[][2] = {
        {{10, 8}, {10, 8}}, {{12, 8}, {10, 8}}, {{2, 64}, {2, 64}},
        {{0, 8}, {0, 8}},   {{2, 16}, {2, 16}}, {{2, 32}, {2, 32}}};
    static const hdsrt_dtype results[] = {{4, 16}, {4, 16}, {2, 64}, {0, 32}, {2, 16}, {2, 32}};
    static const int64_t rows[] = {1, 4, 16, 2048};
    fake_cuda_launch alone, planned;
    (void)state;
    for (int n = 0; n < 6 * 48; n++) {
        int t = n / 8 % 6, done = n / 48 % 3; // done: to the product; 2: a residual is added
        bool is_turned = n / 144;             // a
        if ((done || is_turned) && t < 4)
            continue;
        bool is_large = t == 4, is_by_rows = n / 4 % 2 && t != 1; // mixed floats are multiplied with k together
        int64_t m = rows[n % 4] << (is_large && n % 4 == 3), width = is_large ? 14336 : 2048, k = is_large ? 4096 : 256;
        hds_matmul_options options = HDS_MATMUL_OPTIONS;
        matrix a, b, c, r;
        hdsrt_tensor *left = is_turned ? make(&a, 0x10000000, types[t][0], m, k, 1, m < 16 ? 16 : m)
                                       : make(&a, 0x10000000, types[t][0], m, k, k, 1);
        hdsrt_tensor *right = is_by_rows ? make(&b, 0x20000000, types[t][1], k, width, width, 1)
                                         : make(&b, 0x20000000, types[t][1], k, width, 1, k);
        hdsrt_tensor *result = make(&c, 0x30000000, results[t], m, width, width, 1);
        int64_t bytes;
        options.math = t == 5 && is_by_rows ? HDS_MATH_TF32 : HDS_MATH_EXACT;
        options.activation = done ? HDS_ACTIVATION_GELU : HDS_ACTIVATION_NONE;
        options.residual = done == 2 ? make(&r, 0x40000000, results[t], m, width, width, 1) : NULL;
        fake_cuda_forget();
        assert_int_equal(hds_matmul(left, right, result, &options, NULL), HDSRT_OK);
        assert_int_equal(hds_matmul_plan(left, right, result, &options, &options.schedule, &bytes), HDSRT_OK);
        if (hds_matmul(left, right, result, &options, NULL) != HDSRT_OK)
            fail_msg("case %d: schedule %d: %s", n, options.schedule, hdsrt_last_error());
        int launches_of_each = fake_cuda_launches() / 2;
        assert_true(fake_cuda_launch_at(0, &alone) && fake_cuda_launch_at(launches_of_each, &planned));
        assert_string_equal(alone.kernel, planned.kernel);
    }
}

// f32 by tf32, of which one operand does not have k together: its schedules have their own names in the list of all.
static void schedules_across_k_have_names(void **state)
{
    hds_matmul_options options = HDS_MATMUL_OPTIONS;
    int64_t bytes;
    matrix a, b, c;
    (void)state;
    options.math = HDS_MATH_TF32;
    for (int turned = 0; turned < 2; turned++) {
        hdsrt_tensor *left =
            turned ? make(&a, 0x10000000, f32, 1024, 256, 1, 1024) : make(&a, 0x10000000, f32, 1024, 256, 256, 1);
        hdsrt_tensor *right =
            turned ? make(&b, 0x20000000, f32, 256, 512, 1, 256) : make(&b, 0x20000000, f32, 256, 512, 512, 1);
        hdsrt_tensor *result = make(&c, 0x30000000, f32, 1024, 512, 512, 1);
        options.schedule = -1;
        assert_int_equal(hds_matmul_plan(left, right, result, &options, &options.schedule, &bytes), HDSRT_OK);
        const char *name = hds_matmul_schedule_name(f32, f32, f32, HDS_MATH_TF32, options.schedule);
        assert_true(name && strstr(name, "transposed"));
        assert_int_equal(hds_matmul(left, right, result, &options, NULL), HDSRT_OK);
    }
}

// 300 rows in 4 groups, k 256.
static hdsrt_status grouped(int64_t n, int64_t b_row, int64_t b_column, const hds_matmul_options *options)
{
    static int64_t b_shape[3] = {4, 256, 0}, b_strides[3], five = 5;
    matrix a, c;
    hdsrt_tensor b = {.data = (void *)0x20000000, .ndim = 3, .shape = b_shape, .strides = b_strides};
    hdsrt_tensor offsets = {.data = (void *)0x40000000, .ndim = 1, .shape = &five};
    b_shape[2] = n;
    b_strides[0] = 256 * n;
    b_strides[1] = b_row;
    b_strides[2] = b_column;
    b.device.device_type = offsets.device.device_type = 2;
    b.dtype.code = 2;
    b.dtype.bits = 16;
    offsets.dtype.bits = 32;
    b.dtype.lanes = offsets.dtype.lanes = 1;
    fake_cuda_forget();
    return hds_matmul_grouped(make(&a, 0x10000000, f16, 300, 256, 256, 1), &b, &offsets,
                              make(&c, 0x30000000, f16, 300, n, n, 1), options, NULL);
}

static void groups_of_rows(void **state)
{
    fake_cuda_launch l;
    hds_matmul_options options = HDS_MATMUL_OPTIONS;
    (void)state;
    for (options.schedule = -1; options.schedule < 3; options.schedule++) {
        assert_int_equal(grouped(512, 1, 256, &options), HDSRT_OK);
        assert_int_equal(grouped(512, 512, 1, &options), HDSRT_OK);
        assert_true(fake_cuda_launches() > 0);
        assert_true(fake_cuda_launch_at(0, &l) && has_tensor_map(&l));
    }
    assert_int_equal(grouped(510, 1, 256, NULL), HDSRT_OK);
    options.schedule = 1;
    assert_int_equal(grouped(510, 1, 256, &options), HDSRT_UNSUPPORTED);
    assert_non_null(strstr(hdsrt_last_error(), "schedule 1 is for rows of 'c' that begin at multiples of 16 bytes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_of_rows),
        cmocka_unit_test(workspaces),
        cmocka_unit_test(hopper_takes_aligned_rows),
        cmocka_unit_test(other_rows_and_types_go_elsewhere),
        cmocka_unit_test(without_k),
        cmocka_unit_test(schedules_have_names_and_can_be_asked_for),
        cmocka_unit_test(an_epilogue_is_one_launch),
        cmocka_unit_test(batches_share_an_operand),
        cmocka_unit_test(planned_schedules_run),
        cmocka_unit_test(schedules_across_k_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
