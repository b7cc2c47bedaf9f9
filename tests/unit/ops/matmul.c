// What hds_matmul() makes of tensors: launches with which operands, orders, pitches and batches; and what it refuses.
// The kernels are a table that records.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "describe.h"
#include "ops/product.h"

enum { MOST_RUNS = 64 };

static const hdsrt_dtype f16 = {2, 16}, f32 = {2, 32}, i8 = {0, 8}, i32 = {0, 32};

static ops_product runs[MOST_RUNS];
static int run_count, fail_at = -1;
static ops_order found_a, found_b;

static hdsrt_status record(const ops_kernel *self, const ops_product *p, hdsrt_stream stream)
{
    (void)self, (void)stream;
    if (run_count == fail_at)
        return hdsrt_fail(HDSRT_DRIVER_ERROR, "planted");
    runs[run_count++] = *p;
    return HDSRT_OK;
}

static hdsrt_status choose(const ops_kernel *self, const ops_product *p, int *schedule, int64_t *workspace_bytes)
{
    (void)self;
    *schedule = p->schedule < 0 ? 1 : p->schedule;
    *workspace_bytes = p->batch * 1000;
    return HDSRT_OK;
}

static int two(const ops_kernel *self)
{
    (void)self;
    return 2;
}

static const char *name_of(const ops_kernel *self, int schedule)
{
    (void)self;
    return schedule ? "second" : "first";
}

static bool is(hdsrt_dtype x, hdsrt_dtype y)
{
    return x.code == y.code && x.bits == y.bits;
}

const ops_kernel *ops_find_kernel(hdsrt_dtype a, hdsrt_dtype b, hdsrt_dtype c, hds_math math, ops_order a_order,
                                  ops_order b_order)
{
    static const ops_kernel kernel = {.run = record, .choose = choose, .schedule_count = two, .schedule_name = name_of};
    (void)math;
    found_a = a_order;
    found_b = b_order;
    bool is_known = (is(a, f16) && is(b, f16) && (is(c, f16) || is(c, f32))) || (is(a, i8) && is(b, i8) && is(c, i32));
    return is_known ? &kernel : NULL;
}

// ---- tensors ------------------------------------------------------------------------------------------------------

typedef struct rig {
    hdsrt_tensor a, b, c, bias, residual, scale;
    int64_t shapes[6][4], strides[6][4];
    hds_matmul_options options;
} rig;

static void set_a(rig *r, int axes, const int64_t *extents, const int64_t *steps)
{
    describe(&r->a, r->shapes[0], r->strides[0], f16, 0x10000000, axes, extents, steps);
}

static void set_b(rig *r, int axes, const int64_t *extents, const int64_t *steps)
{
    describe(&r->b, r->shapes[1], r->strides[1], f16, 0x20000000, axes, extents, steps);
}

static void set_c(rig *r, int axes, const int64_t *extents, const int64_t *steps)
{
    describe(&r->c, r->shapes[2], r->strides[2], f16, 0x30000000, axes, extents, steps);
}

static void set_bias(rig *r, int64_t n)
{
    describe(&r->bias, r->shapes[3], r->strides[3], f16, 0x40000000, 1, &n, NULL);
    r->options.bias = &r->bias;
}

static void set_residual(rig *r, int axes, const int64_t *extents, const int64_t *steps)
{
    describe(&r->residual, r->shapes[4], r->strides[4], f16, 0x50000000, axes, extents, steps);
    r->options.residual = &r->residual;
}

// a: 3 × 5, b: 5 × 7 in rows, c: 3 × 7.
static void usual(rig *r)
{
    memset(r, 0, sizeof *r);
    r->options = (hds_matmul_options)HDS_MATMUL_OPTIONS;
    set_a(r, 2, LIST(3, 5), NULL);
    set_b(r, 2, LIST(5, 7), NULL);
    set_c(r, 2, LIST(3, 7), NULL);
    run_count = 0;
    fail_at = -1;
}

static hdsrt_status run(rig *r)
{
    run_count = 0;
    return hds_matmul(&r->a, &r->b, &r->c, &r->options, NULL);
}

static void runs_once(rig *r)
{
    assert_int_equal(run(r), HDSRT_OK);
    assert_int_equal(run_count, 1);
}

static void is_refused(rig *r, hdsrt_status status, const char *text)
{
    hdsrt_status found = run(r);
    if (found != status || !strstr(hdsrt_last_error(), text))
        fail_msg("status %d, '%s', expected %d, '%s'", found, hdsrt_last_error(), status, text);
    assert_int_equal(run_count, 0);
}

static uintptr_t at(const void *p)
{
    return (uintptr_t)p;
}

// ---- what is launched ---------------------------------------------------------------------------------------------

static void orders_and_pitches(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    assert_int_equal(hds_matmul(&r.a, &r.b, &r.c, NULL, NULL), HDSRT_OK);
    assert_int_equal(run_count, 1);
    const ops_product *p = &runs[0];
    assert_int_equal(p->m, 3);
    assert_int_equal(p->n, 7);
    assert_int_equal(p->k, 5);
    assert_int_equal(p->batch, 1);
    assert_int_equal(p->schedule, -1);
    assert_true(p->alpha == 1.0 && !p->bias && !p->residual.data && !p->a_scale);
    assert_int_equal(p->a.order, OPS_ROWS);
    assert_int_equal(p->a.pitch, 5);
    assert_int_equal(p->b.order, OPS_ROWS);
    assert_int_equal(p->b.pitch, 7);
    assert_int_equal(p->c.pitch, 7);
    assert_int_equal(at(p->b.data), 0x20000000);

    // Columns together, with space between them; an offset in bytes.
    set_a(&r, 2, LIST(3, 5), LIST(1, 8));
    set_b(&r, 2, LIST(5, 7), LIST(1, 6));
    set_c(&r, 2, LIST(3, 7), LIST(16, 1));
    r.a.byte_offset = 6;
    runs_once(&r);
    assert_int_equal(found_a, OPS_COLUMNS);
    assert_int_equal(found_b, OPS_COLUMNS);
    assert_int_equal(runs[0].a.pitch, 8);
    assert_int_equal(at(runs[0].a.data), 0x10000006);
    assert_int_equal(runs[0].b.pitch, 6);
    assert_int_equal(runs[0].c.pitch, 16);
}

static void single_rows_and_columns(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    // A row whose elements lie apart is a column of a matrix that is stored by columns.
    set_a(&r, 2, LIST(1, 5), LIST(1000, 3));
    set_c(&r, 2, LIST(1, 7), LIST(123, 1));
    runs_once(&r);
    assert_int_equal(runs[0].a.order, OPS_COLUMNS);
    assert_int_equal(runs[0].a.pitch, 3);
    assert_int_equal(runs[0].c.pitch, 7);
    // Of n = 1 the result is a column with any pitch.
    usual(&r);
    set_b(&r, 2, LIST(5, 1), LIST(9, 77));
    set_c(&r, 2, LIST(3, 1), LIST(9, 5));
    runs_once(&r);
    assert_int_equal(runs[0].b.order, OPS_ROWS);
    assert_int_equal(runs[0].b.pitch, 9);
    assert_int_equal(runs[0].c.pitch, 9);
    // What fits both orders is the transpose that most kernels want.
    usual(&r);
    set_b(&r, 2, LIST(5, 1), NULL);
    set_c(&r, 2, LIST(3, 1), NULL);
    runs_once(&r);
    assert_int_equal(runs[0].b.order, OPS_COLUMNS);
    assert_int_equal(runs[0].b.pitch, 5);
}

static void options_arrive(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    set_bias(&r, 7);
    set_residual(&r, 2, LIST(3, 7), LIST(10, 1));
    describe(&r.scale, r.shapes[5], r.strides[5], f32, 0x60000000, 0, LIST(0), NULL);
    r.scale.ndim = 0;
    r.options.a_scale = &r.scale;
    r.options.alpha = 0.5;
    r.options.activation = HDS_ACTIVATION_SILU;
    r.options.schedule = 1;
    r.options.workspace = (void *)0x70000000;
    r.options.workspace_bytes = 4096;
    runs_once(&r);
    const ops_product *p = &runs[0];
    assert_int_equal(at(p->bias), 0x40000000);
    assert_int_equal(at(p->residual.data), 0x50000000);
    assert_int_equal(p->residual.pitch, 10);
    assert_int_equal(at(p->a_scale), 0x60000000);
    assert_null(p->b_scale);
    assert_true(p->alpha == 0.5);
    assert_int_equal(p->activation, HDS_ACTIVATION_SILU);
    assert_int_equal(p->schedule, 1);
    assert_int_equal(p->workspace_bytes, 4096);
}

static void batches_in_one_launch(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    set_a(&r, 4, LIST(2, 4, 3, 5), NULL);
    set_b(&r, 4, LIST(2, 4, 5, 7), NULL);
    set_c(&r, 4, LIST(2, 4, 3, 7), NULL);
    runs_once(&r);
    assert_int_equal(runs[0].batch, 8);
    assert_int_equal(runs[0].a.batch, 15);
    assert_int_equal(runs[0].b.batch, 35);
    assert_int_equal(runs[0].c.batch, 21);
    // b has no such axes, and rows of a and c lie apart from those of the next matrix.
    set_a(&r, 3, LIST(8, 3, 5), LIST(100, 5, 1));
    set_b(&r, 2, LIST(5, 7), NULL);
    set_c(&r, 3, LIST(8, 3, 7), NULL);
    runs_once(&r);
    assert_int_equal(runs[0].batch, 8);
    assert_int_equal(runs[0].a.batch, 100);
    assert_int_equal(runs[0].b.batch, 0);
}

static void batches_as_rows(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    set_a(&r, 4, LIST(2, 4, 3, 5), NULL);
    set_c(&r, 4, LIST(2, 4, 3, 7), NULL);
    runs_once(&r);
    assert_int_equal(runs[0].batch, 1);
    assert_int_equal(runs[0].m, 24);
    assert_int_equal(runs[0].a.pitch, 5);
    // Matrices of one row are rows of one matrix, whatever lies between them.
    set_a(&r, 3, LIST(8, 1, 5), LIST(32, 5, 1));
    set_c(&r, 3, LIST(8, 1, 7), LIST(64, 7, 1));
    runs_once(&r);
    assert_int_equal(runs[0].m, 8);
    assert_int_equal(runs[0].a.pitch, 32);
    assert_int_equal(runs[0].c.pitch, 64);
    // But not where a residual's rows are elsewhere.
    set_residual(&r, 3, LIST(8, 1, 7), LIST(0, 7, 1));
    runs_once(&r);
    assert_int_equal(runs[0].m, 1);
    assert_int_equal(runs[0].batch, 8);
    assert_int_equal(runs[0].residual.batch, 0);
}

static void batches_in_many_launches(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    // a is repeated along the outer axis, b along the inner one.
    set_a(&r, 4, LIST(1, 4, 3, 5), NULL);
    set_b(&r, 4, LIST(2, 1, 5, 7), NULL);
    set_c(&r, 4, LIST(2, 4, 3, 7), NULL);
    // 4 matrices of 3 rows are one of 12.
    runs_once(&r);
    assert_int_equal(runs[0].m, 12);
    assert_int_equal(runs[0].batch, 2);
    assert_int_equal(runs[0].a.batch, 0);
    assert_int_equal(runs[0].b.batch, 35);
    assert_int_equal(runs[0].c.batch, 4 * 21);
    // Axes that do not lie like one: a launch for each index of the outer one.
    set_a(&r, 4, LIST(3, 4, 3, 5), LIST(1000, 15, 5, 1));
    set_b(&r, 4, LIST(3, 4, 5, 7), NULL);
    set_c(&r, 4, LIST(3, 4, 3, 7), NULL);
    fail_at = 2;
    assert_int_equal(run(&r), HDSRT_DRIVER_ERROR);
    assert_int_equal(run_count, 2);
    assert_int_equal(runs[1].batch, 4);
    assert_int_equal(at(runs[1].a.data), 0x10000000 + 2000);
    assert_int_equal(at(runs[1].c.data), 0x30000000 + 4 * 21 * 2);
}

static void nothing_to_do(void **state)
{
    static const int64_t extents[][3] = {{0, 7, 5}, {3, 0, 5}, {0, 0, 0}};
    rig r;
    (void)state;
    for (int i = 0; i < 3; i++) {
        const int64_t *e = extents[i];
        usual(&r);
        set_a(&r, 2, LIST(e[0], e[2]), NULL);
        set_b(&r, 2, LIST(e[2], e[1]), NULL);
        set_c(&r, 2, LIST(e[0], e[1]), NULL);
        r.c.data = NULL;
        assert_int_equal(run(&r), HDSRT_OK);
        assert_int_equal(run_count, 0);
    }
    usual(&r);
    set_a(&r, 3, LIST(0, 3, 5), NULL);
    set_c(&r, 3, LIST(0, 3, 7), NULL);
    assert_int_equal(run(&r), HDSRT_OK);
    assert_int_equal(run_count, 0);
    // Without k there is a product, of zeros; the operands have no data.
    usual(&r);
    set_a(&r, 2, LIST(3, 0), NULL);
    set_b(&r, 2, LIST(0, 7), NULL);
    r.a.data = r.b.data = NULL;
    runs_once(&r);
    assert_int_equal(runs[0].k, 0);
}

static void plans(void **state)
{
    int schedule;
    int64_t bytes;
    rig r;
    (void)state;
    usual(&r);
    assert_int_equal(hds_matmul_plan(&r.a, &r.b, &r.c, &r.options, &schedule, &bytes), HDSRT_OK);
    assert_int_equal(schedule, 1);
    assert_int_equal(bytes, 1000);
    assert_int_equal(run_count, 0);
    set_a(&r, 2, LIST(0, 5), NULL);
    set_c(&r, 2, LIST(0, 7), NULL);
    assert_int_equal(hds_matmul_plan(&r.a, &r.b, &r.c, &r.options, &schedule, &bytes), HDSRT_OK);
    assert_int_equal(schedule, -1);
    assert_int_equal(hds_matmul_schedules(f16, f16, f16, HDS_MATH_EXACT), 2);
    assert_int_equal(hds_matmul_schedules(f32, f16, f16, HDS_MATH_EXACT), 0);
    assert_string_equal(hds_matmul_schedule_name(f16, f16, f16, HDS_MATH_EXACT, 1), "second");
    assert_null(hds_matmul_schedule_name(f16, f16, f16, HDS_MATH_EXACT, 2));
}

// ---- what is refused ----------------------------------------------------------------------------------------------

static void bad_tensors(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    assert_int_equal(hds_matmul(NULL, &r.b, &r.c, NULL, NULL), HDSRT_INVALID_ARGUMENT);
    assert_string_equal(hdsrt_last_error(), "'hds_matmul': 'a' is null");
    assert_int_equal(hds_matmul(&r.a, &r.b, NULL, NULL, NULL), HDSRT_INVALID_ARGUMENT);
    assert_string_equal(hdsrt_last_error(), "'hds_matmul': 'c' is null");
    r.b.data = NULL;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'b' is null");
    usual(&r);
    r.a.ndim = 1;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'a' has 1 axis, and it has to have 2 to 16");
    usual(&r);
    r.b.device.device_type = 1;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'b' is on the host");
    usual(&r);
    r.c.byte_offset = 1;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'c' begins at 0x30000001, which is not a multiple of 2");
    usual(&r);
    r.a.dtype.lanes = 2;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "vectors of 2 lanes");
    usual(&r);
    r.b.dtype.bits = 32;
    is_refused(&r, HDSRT_UNSUPPORTED, "no products of 'a' and 'b' of DLPack types 2:16 and 2:32");
    usual(&r);
    set_bias(&r, 7);
    r.bias.dtype.bits = 32;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'bias' is of f32, and it has to be of f16");
}

static void bad_extents(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    set_b(&r, 2, LIST(6, 7), NULL);
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'b' has");
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "k");
    usual(&r);
    set_c(&r, 2, LIST(3, 8), NULL);
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'c'");
    usual(&r);
    set_bias(&r, 3);
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'bias'");
    usual(&r);
    set_c(&r, 3, LIST(1, 3, 7), NULL);
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'c' has 3 axes, and those of 'a' and 'b' make 2");
    usual(&r);
    set_a(&r, 3, LIST(4, 3, 5), NULL);
    set_b(&r, 3, LIST(2, 5, 7), NULL);
    set_c(&r, 3, LIST(4, 3, 7), NULL);
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "axis 0 of 'b' has extent 2, and it has to be 4 or 1, as axis 0 of 'c'");
    set_b(&r, 3, LIST(1, 5, 7), NULL);
    set_residual(&r, 3, LIST(1, 3, 7), NULL);
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "axis 0 of 'residual' has extent 1, and it has to be 4, as axis 0 of 'c'");
    usual(&r);
    set_a(&r, 3, LIST(1, 3, 5), NULL);
    set_c(&r, 3, LIST(2, 3, 7), NULL);
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "axis 0 of 'c' has extent 2, and that of 'a' and 'b' is 1");
    usual(&r);
    set_a(&r, 2, LIST(3, 3000000000), NULL);
    set_b(&r, 2, LIST(3000000000, 7), NULL);
    is_refused(&r, HDSRT_UNSUPPORTED, "each has to be below 2^31 - 2^16");
    // The last tile and the last turn of a loop reach further.
    set_a(&r, 2, LIST(3, (int64_t)INT32_MAX - (1 << 16) + 1), NULL);
    set_b(&r, 2, LIST((int64_t)INT32_MAX - (1 << 16) + 1, 7), NULL);
    is_refused(&r, HDSRT_UNSUPPORTED, "each has to be below 2^31 - 2^16");
}

static void bad_strides(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    set_a(&r, 2, LIST(3, 5), LIST(10, 2));
    is_refused(
        &r, HDSRT_INVALID_ARGUMENT,
        "the last two strides of 'a' are 10 and 2, and one has to be 1, the other at least the extent along that axis");
    set_a(&r, 2, LIST(3, 5), LIST(4, 1));
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "strides of 'a' are 4 and 1");
    set_a(&r, 2, LIST(3, 5), LIST(-5, 1));
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'a' has a stride of -5");
    usual(&r);
    set_c(&r, 2, LIST(3, 7), LIST(1, 3));
    is_refused(&r, HDSRT_INVALID_ARGUMENT,
               "strides of 'c' are 1 and 3, and rows have to lie in memory one after another");
    usual(&r);
    set_residual(&r, 2, LIST(3, 7), LIST(1, 3));
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "strides of 'residual'");
    usual(&r);
    set_bias(&r, 7);
    r.strides[3][0] = 2;
    r.bias.strides = r.strides[3];
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'bias' has a stride of 2 elements, and it has to be 1");
    // Matrices of c on one another.
    usual(&r);
    set_a(&r, 3, LIST(4, 3, 5), NULL);
    set_c(&r, 3, LIST(4, 3, 7), LIST(0, 7, 1));
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'c' is written, and its elements overlap");
}

static void overlaps(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    r.b.data = r.c.data;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "overlap, and 'c' is written");
    // a and b may be the same, and c may be columns of the residual's matrix.
    usual(&r);
    set_b(&r, 2, LIST(5, 3), LIST(1, 5));
    set_c(&r, 2, LIST(3, 3), LIST(6, 1));
    r.b.data = r.a.data;
    set_residual(&r, 2, LIST(3, 3), LIST(6, 1));
    r.residual.data = (char *)r.c.data + 6;
    runs_once(&r);
}

static void bad_options(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    r.options.bytes = 8;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "the options have 8 bytes: begin with HDS_MATMUL_OPTIONS");
    usual(&r);
    r.options.activation = (hds_activation)9;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "9 is not an activation");
    usual(&r);
    r.options.math = (hds_math)7;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "7 is not a math mode");
    usual(&r);
    r.options.schedule = 2;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "there is no schedule 2; these products have 2");
    usual(&r);
    r.options.workspace = (void *)0x101;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "the workspace begins at 0x101");
    usual(&r);
    r.a.dtype.code = r.b.dtype.code = r.c.dtype.code = 0;
    r.a.dtype.bits = r.b.dtype.bits = 8;
    r.c.dtype.bits = 32;
    runs_once(&r);
    r.options.alpha = 2;
    is_refused(&r, HDSRT_UNSUPPORTED, "products of integers take neither alpha nor anything that is done to c");
    usual(&r);
    describe(&r.scale, r.shapes[5], r.strides[5], f32, 0x60000000, 1, LIST(2), NULL);
    r.options.b_scale = &r.scale;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'b_scale'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_and_pitches), cmocka_unit_test(single_rows_and_columns),
        cmocka_unit_test(options_arrive),     cmocka_unit_test(batches_in_one_launch),
        cmocka_unit_test(batches_as_rows),    cmocka_unit_test(batches_in_many_launches),
        cmocka_unit_test(nothing_to_do),      cmocka_unit_test(plans),
        cmocka_unit_test(bad_tensors),        cmocka_unit_test(bad_extents),
        cmocka_unit_test(bad_strides),        cmocka_unit_test(overlaps),
        cmocka_unit_test(bad_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
