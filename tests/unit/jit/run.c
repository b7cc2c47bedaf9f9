// Host functions by their plans, on the double of the driver: what is launched, taken and given back, in which order.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"
#include "jit/jit.h"

static const char code[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry put(\n.param .b64 x,\n.param .b16 v,\n.param .b32 n\n)\n{\n}\n"
    ".visible .entry add(\n.param .b64 x,\n.param .b64 y,\n.param .b32 n\n)\n{\n}\n";

// With ' for ".
#define TENSOR(name, type, written)                                                                                    \
    "{'name': '" name "', 'kind': 'tensor', 'dtype': '" type "', 'shape': ['n'], 'alignment': 16, 'written': " written "}"
#define IN(name) TENSOR(name, "f16", "false")
#define OUT(name) TENSOR(name, "f16", "true")
#define SCALAR(name, type) "{'name': '" name "', 'kind': 'scalar', 'dtype': '" type "'}"
#define SIZE "{'name': 'n', 'kind': 'size', 'dtype': 'i32', 'may_be_zero': true}"
#define EXTENTS "'grid': ['n', 1, 1], 'block': [32, 1, 1], 'dynamic_shared_bytes': 0"
#define KERNELS                                                                                                        \
    "{'arch': 'sm_80', 'source': 't.hds', 'kernels': ["                                                                \
    "{'name': 'put', 'title': 'put', 'parameters': [" OUT("x") ", " SCALAR("v", "f16") ", " SIZE "], " EXTENTS "}, "    \
    "{'name': 'add', 'title': 'add', 'parameters': [" IN("x") ", " OUT("y") ", " SIZE "], " EXTENTS "}], "
#define FUNCTION(plan)                                                                                                 \
    "'functions': [{'name': 'f', 'title': 'f[n]', 'parameters': [" IN("x") ", " OUT("y") ", "                          \
    SCALAR("turns", "i32") ", " SIZE "], " plan "}]}"
#define PLAN(lines) "'plan': {'version': 4, 'lines': ['plan @f(x: address, y: address, turns: i32, n: i32)', " lines "]}"

static const char chain[] = KERNELS FUNCTION(PLAN(
    "'check turns >= 0, \\\"turns are counted\\\" # \\\"t.hds\\\":4', "
    "'if turns == 9 {', 'return', '}', "
    "'allocate a: f16[i64(n)]', 'fill[2] a, 15360u64, i64(n)', 'launch @put(a, 0.5f16, n)', "
    "'for i: i32 in 0 to turns step 1 {', "
    "'allocate b: f16[i64(n), i64(i) + 1i64]', 'launch @add(a, b + (i64(i) * 256i64), n)', "
    "'if i == 2 {', 'return', '}', 'free b', '}', "
    "'copy y, a, 2i64 * i64(n)', 'free a', 'launch @add(x, y, n)'"));

typedef struct fixture {
    arena memory;
    jit_program program;
} fixture;

static bool read_document(fixture *f, const char *document, const char **why)
{
    char *text = arena_strdup(&f->memory, document);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return jit_read(&f->memory, str_of(text), &f->program, why);
}

static fixture fix;

static int set_up(void **state)
{
    static const uint16_t archs[] = {80};
    const char *why = NULL;
    *state = &fix;
    arena_init(&fix.memory, NULL);
    if (!read_document(&fix, chain, &why)) {
        fputs(why, stderr);
        return 1;
    }
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
    return fake_cuda_live("libraries") || fake_cuda_live("memory");
}

// The double copies for real.
static hdsrt_status call(int64_t turns, int64_t n)
{
    _Alignas(16) static uint16_t x[128], y[128];
    const hds_argument a[] = {hds_pointer(x), hds_pointer(y), hds_int(turns), hds_int(n)};
    return jit_call(&fix.program.functions[0], a, 4, NULL);
}

static void expect_launch(int index, const char *kernel, unsigned grid)
{
    fake_cuda_launch l;
    assert_true(fake_cuda_launch_at(index, &l));
    assert_string_equal(l.kernel, kernel);
    assert_int_equal(l.grid[0], grid);
}

static void launches_in_order(void **state)
{
    (void)state;
    assert_int_equal(call(2, 100), HDSRT_OK);
    assert_int_equal(fake_cuda_launches(), 4);
    expect_launch(0, "put", 100);
    expect_launch(1, "add", 100);
    expect_launch(2, "add", 100);
    expect_launch(3, "add", 100);
    assert_int_equal(fake_cuda_calls("cuMemAllocAsync"), 3);
    assert_int_equal(fake_cuda_calls("cuMemFreeAsync"), 3);
    fake_cuda_launch l;
    assert_true(fake_cuda_launch_at(0, &l));
    const unsigned char half[] = {0x00, 0x38};
    assert_memory_equal(l.parameters + l.offsets[1], half, 2);
}

// What a return leaves behind is given back.
static void early_returns(void **state)
{
    (void)state;
    assert_int_equal(call(9, 100), HDSRT_OK);
    assert_int_equal(fake_cuda_launches(), 0);
    assert_int_equal(call(5, 100), HDSRT_OK);
    assert_int_equal(fake_cuda_launches(), 4);
    assert_int_equal(fake_cuda_calls("cuMemAllocAsync"), fake_cuda_calls("cuMemFreeAsync"));
}

static void failures(void **state)
{
    (void)state;
    assert_int_equal(call(-1, 100), HDSRT_ASSERTION);
    assert_string_equal(hdsrt_last_error(), "t.hds:4: assertion failed: turns are counted");
    fake_cuda_fail("cuMemAllocAsync", 2, 2);
    assert_int_equal(call(1, 100), HDSRT_OUT_OF_MEMORY);
    assert_string_equal(hdsrt_last_error(),
                        "'f': there is no memory for 'b', a temporary of 200 bytes, beside 200 bytes of others");
    fake_cuda_fail("cuMemAllocAsync", 0, 0);
    const hds_argument few[] = {hds_pointer((void *)0x10000)};
    assert_int_equal(jit_call(&fix.program.functions[0], few, 1, NULL), HDSRT_INVALID_ARGUMENT);
    assert_int_equal(fake_cuda_live("memory"), 0);
}

static void launches_fail(void **state)
{
    (void)state;
    fake_cuda_fail("cuLaunchKernel", 2, 700);
    assert_int_equal(call(3, 100), HDSRT_DRIVER_ERROR);
    fake_cuda_fail("cuLaunchKernel", 0, 0);
    assert_int_equal(fake_cuda_live("memory"), 0);
}

// Temporaries with offsets share one allocation, made for the first of them.
static void planned(void **state)
{
    static const char document[] = KERNELS FUNCTION("'plan': {'version': 4, 'lines': ["
        "'plan @f(x: address, y: address, turns: i32, n: i32) planned 1024', "
        "'if turns == 0 {', 'return', '}', "
        "'allocate a: f16[256i64] at 0', 'launch @put(a, 0.5f16, n)', "
        "'allocate b: f16[200i64] at 512', 'launch @add(a, b, n)', 'free a', "
        "'allocate c: f16[8i64] at 0', 'launch @add(b, c, n)', 'free b', 'free c']}");
    static const uint16_t archs[] = {80};
    _Alignas(16) static uint16_t x[128], y[128];
    fixture own;
    const char *why = NULL;
    (void)state;
    arena_init(&own.memory, NULL);
    if (!read_document(&own, document, &why))
        fail_msg("%s", why);
    jit_set_code(&own.program, STR(code), archs, 1);
    own.program.library.ptx_arch = 0;
    const jit_function *f = &own.program.functions[0];
    hds_argument a[] = {hds_pointer(x), hds_pointer(y), hds_int(1), hds_int(100)};
    int64_t bytes = 0;
    assert_int_equal(jit_workspace(f, a, 4, &bytes), HDSRT_OK);
    assert_int_equal(bytes, 1024);
    fake_cuda_forget();
    assert_int_equal(jit_call(f, a, 4, NULL), HDSRT_OK);
    assert_int_equal(fake_cuda_calls("cuMemAllocAsync"), 1);
    assert_int_equal(fake_cuda_calls("cuMemFreeAsync"), 1);
    uint64_t at[3][2];
    for (int i = 0; i < 3; i++) {
        fake_cuda_launch l;
        assert_true(fake_cuda_launch_at(i, &l));
        memcpy(&at[i][0], l.parameters + l.offsets[0], 8);
        memcpy(&at[i][1], l.parameters + l.offsets[1], 8);
    }
    assert_true(at[1][0] == at[0][0] && at[1][1] == at[0][0] + 512);
    assert_true(at[2][0] == at[1][1] && at[2][1] == at[0][0]);
    // Without a temporary that is reached, and without memory.
    a[2] = hds_int(0);
    assert_int_equal(jit_call(f, a, 4, NULL), HDSRT_OK);
    assert_int_equal(fake_cuda_calls("cuMemAllocAsync"), 1);
    a[2] = hds_int(1);
    fake_cuda_fail("cuMemAllocAsync", 1, 2);
    assert_int_equal(jit_call(f, a, 4, NULL), HDSRT_OUT_OF_MEMORY);
    assert_string_equal(hdsrt_last_error(), "'f': there is no memory for its temporaries, 1024 bytes");
    fake_cuda_fail("cuMemAllocAsync", 0, 0);
    fake_cuda_fail("cuLaunchKernel", 2, 700);
    assert_int_equal(jit_call(f, a, 4, NULL), HDSRT_DRIVER_ERROR);
    fake_cuda_fail("cuLaunchKernel", 0, 0);
    assert_int_equal(fake_cuda_live("memory"), 0);
    jit_unload(&own.program);
    arena_free(&own.memory);
}

// Two parameters that are values of another kind: a size and a complex number.
#define COMPLEX(name) SCALAR(name, "complex64")
#define TURNED                                                                                                         \
    "{'arch': 'sm_80', 'source': 't.hds', 'kernels': ["                                                                \
    "{'name': 'turn', 'title': 'turn', 'parameters': [" COMPLEX("z") ", " SIZE "], " EXTENTS "}], "                     \
    "'functions': [{'name': 'f', 'title': 'f', 'parameters': [" COMPLEX("z") ", " SCALAR("w", "u64") ", " SIZE "], "    \
    "'plan': {'version': 4, 'lines': ['plan @f(z: address, w: u64, n: i32)', "

// What stands at an address of the host is an argument of the caller's, and no number that a document has made an address.
static void complex_numbers_are_passed_on(void **state)
{
    static const char turn[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                               ".visible .entry turn(\n.param .align 8 .b8 z[8],\n.param .b32 n\n)\n{\n}\n";
    static const uint16_t archs[] = {80};
    const float z[2] = {1.5f, -2};
    const hds_argument a[] = {hds_pointer((void *)z), hds_int(7), hds_int(3)};
    fixture own;
    fake_cuda_launch l;
    const char *why = NULL;
    (void)state;
    arena_init(&own.memory, NULL);
    assert_false(read_document(&own, TURNED "'launch @turn(bitcast[address](w), n)']}}]}", &why));
    assert_string_equal(why, "function 'f': its plan launches 'turn' with other arguments than it takes");
    if (!read_document(&own, TURNED "'launch @turn(z, n)']}}]}", &why))
        fail_msg("%s", why);
    jit_set_code(&own.program, STR(turn), archs, 1);
    own.program.library.ptx_arch = 0;
    fake_cuda_forget();
    assert_int_equal(jit_call(&own.program.functions[0], a, 3, NULL), HDSRT_OK);
    assert_true(fake_cuda_launch_at(0, &l));
    assert_memory_equal(l.parameters + l.offsets[0], z, sizeof z);
    jit_unload(&own.program);
    arena_free(&own.memory);
}

#define VALUE(lines)                                                                                                   \
    KERNELS "'functions': [{'name': 'f', 'title': 'f', 'parameters': [" SCALAR("n", "i32") "], "                        \
    "'plan': {'version': 4, 'lines': ['plan @f(n: i32) -> f32', " lines "]}}]}"

static void results(void **state)
{
    static const char document[] = VALUE("'if n > 9 {', 'return 0.5', '}', 'while n > 3 {', '}', 'return f32(truncdiv(6, n))'");
    fixture own;
    const char *why = NULL;
    (void)state;
    arena_init(&own.memory, NULL);
    if (!read_document(&own, document, &why))
        fail_msg("%s", why);
    const jit_function *f = &own.program.functions[0];
    hds_argument n = hds_int(10), result = {0};
    assert_int_equal(jit_evaluate(f, &n, 1, &result), HDSRT_OK);
    assert_true(result.kind == HDS_ARG_FLOAT && result.value.real == 0.5);
    n = hds_int(2);
    assert_int_equal(jit_evaluate(f, &n, 1, &result), HDSRT_OK);
    assert_true(result.value.real == 3);
    n = hds_int(0);
    assert_int_equal(jit_evaluate(f, &n, 1, &result), HDSRT_INVALID_ARGUMENT);
    assert_string_equal(hdsrt_last_error(), "'f': it divides by zero");
    assert_int_equal(jit_call(f, &n, 1, NULL), HDSRT_INVALID_ARGUMENT);
    assert_string_equal(hdsrt_last_error(), "'f' gives a result: hds_evaluate computes it");
    assert_int_equal(jit_evaluate(&fix.program.functions[0], NULL, 0, &result), HDSRT_INVALID_ARGUMENT);
    assert_string_equal(hdsrt_last_error(), "'f' gives no result: launch it");
    assert_true(read_document(&own, VALUE("'if n > 9 {', 'return 0.5', '}'"), &why));
    assert_int_equal(jit_evaluate(&own.program.functions[0], &n, 1, &result), HDSRT_INVALID_ARGUMENT);
    assert_string_equal(hdsrt_last_error(), "'f': it ends without a result");
    arena_free(&own.memory);
}

static void malformed_functions(void **state)
{
    static const struct {
        const char *document, *why;
    } rows[] = {
        {KERNELS FUNCTION("'plan': {'version': 1, 'lines': []}"), "function 'f': 'version' is 1"},
        {KERNELS FUNCTION("'doc': null"), "function 'f': 'version' is not an integer"},
        {KERNELS FUNCTION("'plan': {'version': 4, 'lines': [1]}"), "function 'f': its plan has a line that is not text"},
        {KERNELS FUNCTION("'plan': {'version': 4, 'lines': ['plan @f()']}"), "function 'f': its plan has other parameters"},
        {KERNELS FUNCTION(PLAN("'launch @other(x)'")), "function 'f': its plan launches 'other', and there is no such kernel"},
        {KERNELS FUNCTION(PLAN("'launch @put(x)'")), "function 'f': its plan launches 'put' with other arguments than it takes"},
        {KERNELS FUNCTION(PLAN("'launch @put(x, 1.0, n)'")),
         "function 'f': its plan launches 'put' with other arguments than it takes"},
        {KERNELS FUNCTION(PLAN("'hope'")), "function 'f': its plan cannot be read: line 2: there is no such statement"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        const char *why = NULL;
        arena_init(&f.memory, NULL);
        assert_false(read_document(&f, rows[i].document, &why));
        assert_string_equal(why, rows[i].why);
        arena_free(&f.memory);
    }
}

static void refused_functions(void **state)
{
    fixture f;
    const char *why = NULL;
    (void)state;
    arena_init(&f.memory, NULL);
    assert_true(read_document(&f, KERNELS FUNCTION("'refused': 't.hds:7:5: a launch plan does not print'"), &why));
    assert_int_equal(jit_call(&f.program.functions[0], NULL, 0, NULL), HDSRT_INVALID_ARGUMENT);
    assert_string_equal(hdsrt_last_error(), "'f': t.hds:7:5: a launch plan does not print");
    arena_free(&f.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(launches_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(early_returns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failures, set_up, tear_down),
        cmocka_unit_test_setup_teardown(launches_fail, set_up, tear_down),
        cmocka_unit_test(planned),
        cmocka_unit_test(complex_numbers_are_passed_on),
        cmocka_unit_test_setup_teardown(results, set_up, tear_down),
        cmocka_unit_test(malformed_functions),
        cmocka_unit_test(refused_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
