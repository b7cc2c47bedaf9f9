// Operators over all types, on the double of the driver: which entry tensors are for, with which axes, and what is copied.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "fake_cuda.h"
#include "jit/jit.h"

static const char code[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry rows_f16(\n.param .b64 x,\n.param .b64 w,\n.param .b64 out,\n.param .b32 m,\n.param .b32 n\n)\n{\n}\n"
    ".visible .entry rows_f32(\n.param .b64 x,\n.param .b64 w,\n.param .b64 out,\n.param .b32 m,\n.param .b32 n\n)\n{\n}\n"
    ".visible .entry bare_f32(\n.param .b64 x,\n.param .b64 out,\n.param .b32 m,\n.param .b32 n\n)\n{\n}\n";

// With ' for ".
#define TENSOR(name, type, shape, more)                                                                                \
    "{'name': '" name "', 'kind': 'tensor', 'dtype': '" type "', 'shape': [" shape "], 'alignment': 16" more "}"
#define X(type) TENSOR("x", type, "'m', 'n'", ", 'written': false, 'joined': 0, 'group': 1")
#define W(type) TENSOR("w", type, "'n'", ", 'written': false") ", "
#define OUT(type) TENSOR("out", type, "'m', 'n'", ", 'written': true, 'result': true, 'joined': 0, 'group': 1")
#define EPS "{'name': 'eps', 'kind': 'scalar', 'dtype': 'f32'}, "
#define SIZES "{'name': 'm', 'kind': 'size', 'dtype': 'i32'}, {'name': 'n', 'kind': 'size', 'dtype': 'i32'}"
#define KERNEL(name, type, w)                                                                                          \
    "{'name': '" name "', 'title': '" name "', 'parameters': [" X(type) ", " w OUT(type) ", " SIZES "], "               \
    "'grid': ['m', 1, 1], 'block': [32, 1, 1], 'dynamic_shared_bytes': 0}"
#define FUNCTION(name, type, w, head, arguments)                                                                       \
    "{'name': '" name "', 'title': '" name "', 'operator': 'rows', 'parameters': [" X(type) ", " w OUT(type) ", " EPS    \
    SIZES "], 'plan': {'version': 4, 'lines': ['plan @f(x: address, " head "out: address, eps: f32, m: i32, n: i32)', "   \
    "'check eps == 0.5, \\\"eps\\\"', 'launch @" name "(x, " arguments "out, m, n)']}}"
#define DOCUMENT(bare)                                                                                                 \
    "{'arch': 'sm_80', 'source': 't.hds', 'kernels': [" KERNEL("rows_f16", "f16", W("f16")) ", "                       \
    KERNEL("rows_f32", "f32", W("f32")) ", " KERNEL("bare_f32", "f32", "") "], 'functions': ["                         \
    FUNCTION("rows_f16", "f16", W("f16"), "w: address, ", "w, ") ", "                                                  \
    FUNCTION("rows_f32", "f32", W("f32"), "w: address, ", "w, ") ", " bare "]}"

static const char document[] = DOCUMENT(FUNCTION("bare_f32", "f32", "", "", ""));
// Its number is of another type than those of the others: no call is for all of them.
static const char uneven[] = DOCUMENT(
    "{'name': 'bare_f32', 'title': 'b', 'operator': 'rows', 'parameters': [" X("f32") ", " OUT("f32") ", "
    "{'name': 'eps', 'kind': 'scalar', 'dtype': 'i32'}, " SIZES "], 'refused': 'here'}");

typedef struct fixture {
    arena memory;
    jit_program program;
} fixture;

static fixture fix;

static void read_document(fixture *f, const char *from)
{
    const char *why = NULL;
    arena_init(&f->memory, NULL);
    char *text = arena_strdup(&f->memory, from);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    if (!jit_read(&f->memory, str_of(text), &f->program, &why))
        fail_msg("%s", why);
}

static int set_up(void **state)
{
    static const uint16_t archs[] = {80};
    *state = &fix;
    read_document(&fix, document);
    jit_set_code(&fix.program, STR(code), archs, 1);
    fix.program.library.ptx_arch = 0;
    fake_cuda_forget();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    jit_unload(&fix.program);
    arena_free(&fix.memory);
    return fake_cuda_live("memory");
}

typedef struct tensor {
    hdsrt_tensor dl;
    int64_t shape[3], strides[3];
} tensor;

static hds_argument device(tensor *t, void *data, int bits, int64_t a, int64_t b, int64_t c)
{
    *t = (tensor){.shape = {a, b, c}};
    t->dl.data = data;
    t->dl.device.device_type = 2;
    t->dl.ndim = c ? 3 : b ? 2 : 1;
    t->dl.dtype.code = 2;
    t->dl.dtype.bits = (uint8_t)bits;
    t->dl.dtype.lanes = 1;
    t->dl.shape = t->shape;
    return hds_tensor(&t->dl);
}

enum { BYTES = 4096 };
static _Alignas(64) unsigned char x[BYTES], w[BYTES], out[BYTES];

static void expect_launch(int index, const char *kernel, unsigned grid)
{
    fake_cuda_launch l;
    assert_true(fake_cuda_launch_at(index, &l));
    assert_string_equal(l.kernel, kernel);
    assert_int_equal(l.grid[0], grid);
}

static void types_choose(void **state)
{
    tensor tx, tw, to;
    (void)state;
    assert_int_equal(fix.program.operator_count, 1);
    const jit_operator *o = &fix.program.operators[0];
    const hds_argument f32[] = {device(&tx, x, 32, 2, 3, 8), device(&tw, w, 32, 8, 0, 0),
                                device(&to, out, 32, 2, 3, 8), hds_float(0.5)};
    assert_int_equal(jit_call_operator(o, f32, 4, NULL), HDSRT_OK);
    const hds_argument f16[] = {device(&tx, x, 16, 4, 8, 0), device(&tw, w, 16, 8, 0, 0),
                                device(&to, out, 16, 4, 8, 0), hds_float(0.5)};
    assert_int_equal(jit_call_operator(o, f16, 4, NULL), HDSRT_OK);
    const hds_argument bare[] = {device(&tx, x, 32, 5, 8, 0), hds_tensor(NULL),
                                 device(&to, out, 32, 5, 8, 0), hds_float(0.5)};
    assert_int_equal(jit_call_operator(o, bare, 4, NULL), HDSRT_OK);
    expect_launch(0, "rows_f32", 6);
    expect_launch(1, "rows_f16", 4);
    expect_launch(2, "bare_f32", 5);
}

// Rows with gaps are copied, and results back.
static void copies(void **state)
{
    tensor tx, tw, to;
    (void)state;
    const jit_operator *o = &fix.program.operators[0];
    const hds_argument a[] = {device(&tx, x, 32, 4, 8, 0), device(&tw, w, 32, 8, 0, 0),
                              device(&to, out, 32, 4, 8, 0), hds_float(0.5)};
    to.strides[0] = 16;
    to.strides[1] = 1;
    to.dl.strides = to.strides;
    assert_int_equal(jit_call_operator(o, a, 4, NULL), HDSRT_OK);
    assert_int_equal(fake_cuda_launches(), 2);
    expect_launch(0, "rows_f32", 4);
    assert_int_equal(fake_cuda_calls("cuMemAllocAsync"), 1);
    assert_int_equal(fake_cuda_calls("cuMemFreeAsync"), 1);
}

static void failures(void **state)
{
    tensor tx, tw, to;
    (void)state;
    const jit_operator *o = &fix.program.operators[0];
    hds_argument a[] = {device(&tx, x, 32, 4, 8, 0), device(&tw, w, 16, 8, 0, 0),
                        device(&to, out, 32, 4, 8, 0), hds_float(0.5)};
    assert_int_equal(jit_call_operator(o, a, 4, NULL), HDSRT_INVALID_ARGUMENT);
    assert_non_null(strstr(hdsrt_last_error(), "'rows': there is no code for x of f32, w of f16"));
    assert_int_equal(jit_call_operator(o, a, 3, NULL), HDSRT_INVALID_ARGUMENT);
    a[1] = hds_pointer(w);
    assert_int_equal(jit_call_operator(o, a, 4, NULL), HDSRT_INVALID_ARGUMENT);
    assert_non_null(strstr(hdsrt_last_error(), "'rows': 'w' takes a tensor"));
    a[1] = device(&tw, w, 32, 8, 0, 0);
    a[3] = hds_float(1);
    assert_int_equal(jit_call_operator(o, a, 4, NULL), HDSRT_ASSERTION);
    assert_int_equal(fake_cuda_launches(), 0);
}

static void uneven_entries(void **state)
{
    fixture f;
    (void)state;
    read_document(&f, uneven);
    assert_int_equal(f.program.function_count, 3);
    assert_int_equal(f.program.operator_count, 0);
    arena_free(&f.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(types_choose, set_up, tear_down),
        cmocka_unit_test_setup_teardown(copies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failures, set_up, tear_down),
        cmocka_unit_test(uneven_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
