// What hds_matmul_grouped() makes of tensors, and what it refuses. The kernels are a function that records.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "describe.h"
#include "ops/product.h"

static const hdsrt_dtype f16 = {2, 16}, f32 = {2, 32}, bf16 = {4, 16}, i32 = {0, 32}, i64 = {0, 64};

static ops_grouped ran;
static int run_count;

hdsrt_status ops_run_grouped(const ops_grouped *product, hdsrt_stream stream)
{
    (void)stream;
    ran = *product;
    run_count++;
    return HDSRT_OK;
}

enum { A, B, OFFSETS, C, TENSORS };

typedef struct rig {
    hdsrt_tensor tensors[TENSORS];
    int64_t shapes[TENSORS][4], strides[TENSORS][4];
    hds_matmul_options options;
} rig;

static void set(rig *r, int i, hdsrt_dtype type, int axes, const int64_t *extents, const int64_t *steps)
{
    describe(&r->tensors[i], r->shapes[i], r->strides[i], type, 0x10000000 * (uintptr_t)(i + 1), axes, extents, steps);
}

// a: 30 × 16, b: 4 × 16 × 24 by rows, c: 30 × 24.
static void usual(rig *r)
{
    memset(r, 0, sizeof *r);
    r->options = (hds_matmul_options)HDS_MATMUL_OPTIONS;
    set(r, A, f16, 2, LIST(30, 16), NULL);
    set(r, B, f16, 3, LIST(4, 16, 24), NULL);
    set(r, OFFSETS, i32, 1, LIST(5), NULL);
    set(r, C, f16, 2, LIST(30, 24), NULL);
}

static hdsrt_status run(rig *r)
{
    hdsrt_tensor *t = r->tensors;
    run_count = 0;
    return hds_matmul_grouped(&t[A], &t[B], &t[OFFSETS], &t[C], &r->options, NULL);
}

static void runs_once(rig *r)
{
    if (run(r) != HDSRT_OK)
        fail_msg("%s", hdsrt_last_error());
    assert_int_equal(run_count, 1);
}

static void is_refused(rig *r, hdsrt_status status, const char *text)
{
    hdsrt_status found = run(r);
    if (found != status || !strstr(hdsrt_last_error(), text))
        fail_msg("status %d, '%s', expected %d, '%s'", found, hdsrt_last_error(), status, text);
    assert_int_equal(run_count, 0);
}

static void by_rows(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    assert_int_equal(hds_matmul_grouped(&r.tensors[A], &r.tensors[B], &r.tensors[OFFSETS], &r.tensors[C], NULL, NULL),
                     HDSRT_OK);
    assert_int_equal(ran.m, 30);
    assert_int_equal(ran.n, 24);
    assert_int_equal(ran.k, 16);
    assert_int_equal(ran.groups, 4);
    assert_int_equal(ran.schedule, -1);
    assert_int_equal(ran.a.pitch, 16);
    assert_int_equal(ran.b.order, OPS_ROWS);
    assert_int_equal(ran.b.pitch, 24);
    assert_int_equal(ran.b.batch, 16 * 24);
    assert_int_equal(ran.c.pitch, 24);
    assert_ptr_equal(ran.offsets, (void *)0x30000000);
    assert_int_equal(ran.type.code, f16.code);
    r.options.schedule = 2;
    runs_once(&r);
    assert_int_equal(ran.schedule, 2);
}

static void by_columns_and_apart(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    set(&r, A, bf16, 2, LIST(30, 16), LIST(40, 1));
    set(&r, B, bf16, 3, LIST(4, 16, 24), LIST(1000, 1, 32));
    set(&r, C, bf16, 2, LIST(30, 24), LIST(25, 1));
    runs_once(&r);
    assert_int_equal(ran.a.pitch, 40);
    assert_int_equal(ran.b.order, OPS_COLUMNS);
    assert_int_equal(ran.b.pitch, 32);
    assert_int_equal(ran.b.batch, 1000);
    assert_int_equal(ran.c.pitch, 25);
    assert_int_equal(ran.type.code, bf16.code);
}

static void nothing_to_do(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    set(&r, A, f16, 2, LIST(0, 16), NULL);
    set(&r, C, f16, 2, LIST(0, 24), NULL);
    assert_int_equal(run(&r), HDSRT_OK);
    assert_int_equal(run_count, 0);
    set(&r, B, f16, 3, LIST(0, 16, 24), NULL);
    set(&r, OFFSETS, i32, 1, LIST(1), NULL);
    assert_int_equal(run(&r), HDSRT_OK);
    assert_int_equal(run_count, 0);
}

static void wrong_extents_and_types(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    set(&r, OFFSETS, i32, 1, LIST(4), NULL);
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'offsets'");
    set(&r, OFFSETS, i64, 1, LIST(5), NULL);
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'offsets'");
    set(&r, OFFSETS, i32, 1, LIST(5), LIST(2));
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'offsets' has a stride of 2 elements");
    usual(&r);
    set(&r, B, f16, 3, LIST(4, 15, 24), NULL);
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'b'");
    set(&r, B, bf16, 3, LIST(4, 16, 24), NULL);
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'b'");
    usual(&r);
    set(&r, A, f32, 2, LIST(30, 16), NULL);
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'a'");
    usual(&r);
    set(&r, B, f16, 3, LIST(0, 16, 24), NULL);
    set(&r, OFFSETS, i32, 1, LIST(1), NULL);
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "'a' has 30 rows, and there is no group");
    assert_int_equal(hds_matmul_grouped(&r.tensors[A], NULL, &r.tensors[OFFSETS], &r.tensors[C], NULL, NULL),
                     HDSRT_INVALID_ARGUMENT);
}

static void unsupported_layouts(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    set(&r, A, f16, 2, LIST(30, 16), LIST(1, 30));
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "the last two strides of 'a' are 1 and 30");
    set(&r, A, f16, 2, LIST(30, 16), LIST(20, 1));
    is_refused(&r, HDSRT_UNSUPPORTED, "the rows of 'a'");
    usual(&r);
    r.tensors[B].data = (void *)0x20000008;
    is_refused(&r, HDSRT_UNSUPPORTED, "the rows of 'b'");
    usual(&r);
    r.tensors[C].data = r.tensors[A].data;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "overlap");
    usual(&r);
    set(&r, A, f16, 2, LIST(30, 0), NULL);
    set(&r, B, f16, 3, LIST(4, 0, 24), NULL);
    is_refused(&r, HDSRT_UNSUPPORTED, "k is 0");
}

static void options(void **state)
{
    rig r;
    (void)state;
    usual(&r);
    r.options.schedule = 3;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "there is no schedule 3");
    r.options.schedule = -1;
    r.options.alpha = 2.0;
    is_refused(&r, HDSRT_UNSUPPORTED, "only the schedule can be chosen");
    r.options.bytes = 8;
    is_refused(&r, HDSRT_INVALID_ARGUMENT, "begin with HDS_MATMUL_OPTIONS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_rows),       cmocka_unit_test(by_columns_and_apart),
        cmocka_unit_test(nothing_to_do), cmocka_unit_test(wrong_extents_and_types),
        cmocka_unit_test(unsupported_layouts),  cmocka_unit_test(options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
