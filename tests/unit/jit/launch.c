// Launches through a document, on the double of the driver: what arrives at the kernel, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"
#include "jit/jit.h"

static const char code[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry mixed(\n.param .b8 a,\n.param .b8 b,\n.param .b16 c,\n.param .b16 d,\n.param .b8 e,\n.param .b32 "
    "f,\n"
    ".param .b64 g,\n.param .b64 h,\n.param .align 16 .b8 v[16],\n.param .b64 p\n)\n{\n}\n"
    ".visible .entry rows(\n.param .b64 x,\n.param .b64 y,\n.param .b32 m,\n.param .b32 n\n)\n{\n}\n"
    ".visible .entry odd(\n.param .b32 n\n)\n{\n}\n"
    ".visible .entry strict(\n.param .b64 x,\n.param .b32 m,\n.param .b32 n,\n.param .align 64 .b8 map[128]\n)\n{\n}\n"
    ".visible .entry head(\n.param .b64 x,\n.param .b32 n,\n.param .b32 m\n)\n{\n}\n";

// With ' for ".
#define SCALAR(name, type) "{'name': '" name "', 'kind': 'scalar', 'dtype': '" type "'}"
#define SIZE(name, facts) "{'name': '" name "', 'kind': 'size', 'dtype': 'i32'" facts "}"
#define TENSOR(name, shape, written)                                                                                   \
    "{'name': '" name "', 'kind': 'tensor', 'dtype': 'f32', 'shape': [" shape "], 'alignment': 16, 'written': " written "}"
static const char document[] =
    "{'arch': 'sm_80', 'source': 't.hds', 'kernels': ["
    "{'name': 'mixed', 'title': 'mixed', 'parameters': ["
    SCALAR("a", "bool") ", " SCALAR("b", "i8") ", " SCALAR("c", "f16") ", " SCALAR("d", "bf16") ", "
    SCALAR("e", "f8e4m3") ", " SCALAR("f", "u32") ", " SCALAR("g", "f64") ", " SCALAR("h", "u64") ", "
    SCALAR("v", "f32x4") ", {'name': 'p', 'kind': 'pointer', 'dtype': 'f32', 'written': true}], "
    "'grid': ['f', 1, 1], 'block': ['int(c * 2)', 1, 1], 'dynamic_shared_bytes': 'h // 2'}, "
    "{'name': 'rows', 'title': 'rows[m, n]', 'parameters': ["
    TENSOR("x", "'m', 'n'", "false") ", " TENSOR("y", "'m + 1'", "true") ", " SIZE("m", "") ", " SIZE("n", "") "], "
    "'grid': ['m', '(n + 31) // 32', 1], 'block': [32, 2, 1], 'cluster': null, 'dynamic_shared_bytes': 0}, "
    "{'name': 'odd', 'title': 'odd', 'parameters': [" SCALAR("n", "i32") "], "
    "'grid': ['n << 40', 1, null], 'block': [32, 1, 1], 'cluster': [2, 1, 1], 'dynamic_shared_bytes': 0}, "
    "{'name': 'strict', 'title': 'strict', 'parameters': ["
    TENSOR("x", "'m', 'n'", "false") ", " SIZE("m", "") ", " SIZE("n", ", 'min': 8, 'max': 64, 'multiple_of': 8") "], "
    "'assumptions': ['(m + n) % 16 == 0', 'm != 1'], "
    "'tensor_maps': [{'name': 't', 'tensor': 'x', 'box': [4, 8], 'swizzle': 32, 'l2_promotion': 128}], "
    "'grid': ['m', 1, 1], 'block': [32, 1, 1], 'cluster': null, 'dynamic_shared_bytes': 0}, "
    "{'name': 'head', 'title': 'head', 'parameters': [" TENSOR("x", "'n'", "false") ", " SIZE("n", "") ", " SIZE("m", "") "], "
    "'grid': ['m', 1, 1], 'block': [32, 1, 1], 'cluster': null, 'dynamic_shared_bytes': 0}]}";

typedef struct fixture {
    arena memory;
    jit_program program;
    jit_kernel *mixed, *rows, *odd, *strict, *head;
} fixture;

static fixture fix;

static int set_up(void **state)
{
    static const uint16_t archs[] = {80};
    const char *why = NULL;
    *state = &fix;
    arena_init(&fix.memory, NULL);
    char *text = arena_strdup(&fix.memory, document);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    if (!jit_read(&fix.memory, str_of(text), &fix.program, &why)) {
        fputs(why, stderr);
        return 1;
    }
    jit_set_code(&fix.program, STR(code), archs, 1);
    fix.program.library.ptx_arch = 0;
    fix.mixed = &fix.program.kernels[0];
    fix.rows = &fix.program.kernels[1];
    fix.odd = &fix.program.kernels[2];
    fix.strict = &fix.program.kernels[3];
    fix.head = &fix.program.kernels[4];
    fake_cuda_forget();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    jit_unload(&fix.program);
    arena_free(&fix.memory);
    return fake_cuda_live("libraries");
}

static void assert_error(hdsrt_status status, const char *text)
{
    assert_int_equal(status, HDSRT_INVALID_ARGUMENT);
    if (!strstr(hdsrt_last_error(), text))
        fail_msg("'%s' is not in '%s'", text, hdsrt_last_error());
    assert_int_equal(fake_cuda_launches(), 0);
}

// ---- scalars ---------------------------------------------------------------------------------------------------

static const float vector[4] = {1, 2, 3, 4};

static void good_scalars(hds_argument out[10])
{
    const hds_argument good[] = {hds_int(1),       hds_int(-3),    hds_float(32),
                                 hds_float(-2),    hds_float(1e6), hds_int(4294967295),
                                 hds_float(0.1),   hds_int(64),    hds_pointer((void *)(uintptr_t)vector),
                                 hds_pointer(NULL)};
    memcpy(out, good, sizeof good);
}

static void scalars_arrive(void **state)
{
    (void)state;
    hds_argument arguments[10];
    fake_cuda_launch l;
    good_scalars(arguments);
    arguments[5] = hds_int(7);
    assert_int_equal(jit_launch(fix.mixed, arguments, 10, NULL), HDSRT_OK);
    assert_true(fake_cuda_launch_at(0, &l));
    assert_string_equal(l.kernel, "mixed");
    assert_int_equal(l.grid[0], 7);
    assert_int_equal(l.block[0], 64);
    assert_int_equal(l.dynamic_smem_bytes, 32);
    assert_int_equal(l.parameter_count, 10);
    static const unsigned char small[][2] = {{1}, {0xfd}, {0x00, 0x50}, {0x00, 0xc0}, {0x7e}};
    for (int i = 0; i < 5; i++)
        assert_memory_equal(l.parameters + l.offsets[i], small[i], l.sizes[i]);
    const double tenth = 0.1;
    assert_memory_equal(l.parameters + l.offsets[6], &tenth, 8);
    assert_memory_equal(l.parameters + l.offsets[8], vector, 16);
}

static void scalars_refused(void **state)
{
    static const struct {
        int index;
        hds_argument argument;
        const char *text;
    } rows[] = {
        {0, {HDS_ARG_INT, {.integer = 2}}, "'mixed': 'a' is bool and cannot be 2"},
        {1, {HDS_ARG_INT, {.integer = 128}}, "'b' is i8 and cannot be 128"},
        {1, {HDS_ARG_FLOAT, {.real = 1}}, "'b' is i8 and takes an integer, not a float"},
        {2, {HDS_ARG_POINTER, {.pointer = NULL}}, "'c' is f16 and takes a float, not a pointer"},
        {3, {HDS_ARG_TENSOR, {.tensor = NULL}}, "'d' is bf16 and takes a float, not a tensor"},
        {5, {HDS_ARG_INT, {.integer = -1}}, "'f' is u32 and cannot be -1"},
        {5, {HDS_ARG_INT, {.integer = 4294967296}}, "'f' is u32 and cannot be 4294967296"},
        {7,
         {HDS_ARG_INT, {.integer = -1}},
         "dynamic shared memory cannot be computed from 'h // 2': it is beyond 64 bits"},
        {8, {HDS_ARG_FLOAT, {.real = 1}}, "'v' is f32x4 and takes a pointer to its value in host memory, not a float"},
        {8, {HDS_ARG_POINTER, {.pointer = NULL}}, "'v' is null instead of a pointer to a f32x4 in host memory"},
        {9, {HDS_ARG_INT, {.integer = 0}}, "'p' is f32 and takes a pointer, not an integer"},
        {9, {(hds_argument_kind)17, {.integer = 0}}, "takes a pointer, not an argument of an unknown kind"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hds_argument arguments[10];
        good_scalars(arguments);
        arguments[rows[i].index] = rows[i].argument;
        assert_error(jit_launch(fix.mixed, arguments, 10, NULL), rows[i].text);
    }
    hds_argument arguments[11];
    good_scalars(arguments);
    assert_error(jit_launch(fix.mixed, arguments, 9, NULL), "'mixed': it takes 10 arguments, not 9");
    assert_error(jit_launch(fix.mixed, arguments, 11, NULL), "it takes 10 arguments, not 11");
    assert_error(jit_launch(fix.mixed, arguments, SIZE_MAX, NULL), "it takes 10 arguments, not 18446744073709551615");
    assert_error(jit_launch(fix.mixed, NULL, 10, NULL), "'mixed': the list of arguments is null");
}

// ---- tensors ---------------------------------------------------------------------------------------------------

typedef struct tensor {
    hdsrt_tensor dl;
    int64_t shape[4], strides[4];
} tensor;

// f32, on the current device; memory that is never read.
static hdsrt_tensor *make(tensor *t, uintptr_t address, int ndim, int64_t a, int64_t b)
{
    *t = (tensor){.shape = {a, b}};
    t->dl.data = (void *)address;
    t->dl.device.device_type = 2;
    t->dl.ndim = ndim;
    t->dl.dtype.code = 2;
    t->dl.dtype.bits = 32;
    t->dl.dtype.lanes = 1;
    t->dl.shape = t->shape;
    return &t->dl;
}

static void sizes_follow_from_tensors(void **state)
{
    (void)state;
    tensor x, y;
    fake_cuda_launch l;
    hds_argument arguments[] = {hds_tensor(make(&x, 0x10000, 2, 5, 70)), hds_tensor(make(&y, 0x20000, 1, 6, 0)),
                                hds_int(5), hds_int(70)};
    for (size_t count = 2; count <= 4; count++) {
        assert_int_equal(jit_launch(fix.rows, arguments, count, NULL), HDSRT_OK);
        assert_true(fake_cuda_launch_at((int)count - 2, &l));
        assert_int_equal(l.grid[0], 5);
        assert_int_equal(l.grid[1], 3);
        assert_int_equal(l.block[1], 2);
        const uint64_t address = 0x20000;
        const int32_t m = 5, n = 70;
        assert_memory_equal(l.parameters + l.offsets[1], &address, 8);
        assert_memory_equal(l.parameters + l.offsets[2], &m, 4);
        assert_memory_equal(l.parameters + l.offsets[3], &n, 4);
    }
    hds_argument pointers[] = {hds_pointer((void *)0x10000), hds_pointer((void *)0x20000), hds_int(5), hds_int(70)};
    assert_int_equal(jit_launch(fix.rows, pointers, 4, NULL), HDSRT_OK);
    assert_true(fake_cuda_launch_at(3, &l));
    assert_int_equal(l.grid[0], 5);
    // Nothing to do is no error, and no launch.
    hds_argument empty[] = {hds_tensor(make(&x, 0, 2, 0, 70)), hds_tensor(make(&y, 0x20000, 1, 1, 0))};
    assert_int_equal(jit_launch(fix.rows, empty, 2, NULL), HDSRT_OK);
    assert_int_equal(fake_cuda_launches(), 4);
}

static void tensors_refused(void **state)
{
    (void)state;
    tensor x, y;
    hds_argument a[] = {hds_tensor(make(&x, 0x10000, 2, 5, 70)), hds_tensor(make(&y, 0x20000, 1, 6, 0)), hds_int(5),
                        hds_int(70)};
    assert_error(jit_launch(fix.rows, a, 1, NULL), "it takes 2 arguments, or 4 with its sizes, not 1: 'y' is missing");
    assert_error(jit_launch(fix.rows, a, 5, NULL), "or 4 with its sizes, not 5");
    y.shape[0] = 7;
    assert_error(jit_launch(fix.rows, a, 2, NULL), "'y'");
    assert_non_null(strstr(hdsrt_last_error(), "m + 1"));
    y.shape[0] = 6;
    a[3] = hds_int(71);
    assert_error(jit_launch(fix.rows, a, 4, NULL), "'x'");
    a[3] = hds_int(-1);
    assert_error(jit_launch(fix.rows, a, 4, NULL), "'n' is -1: a size is not negative");
    a[3] = hds_int(3000000000);
    assert_error(jit_launch(fix.rows, a, 4, NULL), "'n' is 3000000000, which does not fit in i32");
    a[3] = hds_float(1);
    assert_error(jit_launch(fix.rows, a, 4, NULL), "'n' is i32 and takes an integer, not a float");
    a[0] = hds_pointer((void *)0x10000);
    assert_error(jit_launch(fix.rows, a, 2, NULL), "'m' is a size that no tensor tells");
    a[0] = hds_int(3);
    assert_error(jit_launch(fix.rows, a, 2, NULL),
                 "'x' is f32 and takes a tensor, or a pointer to its first element, not an integer");
    a[0] = hds_tensor(NULL);
    assert_error(jit_launch(fix.rows, a, 2, NULL), "'x' is null instead of a tensor");
    a[0] = hds_tensor(make(&x, 0x10000, 1, 5, 0));
    assert_error(jit_launch(fix.rows, a, 2, NULL), "'x' has 1 dimension and needs 2");
    a[0] = hds_tensor(make(&x, 0x10000, 2, 5, 70));
    x.dl.dtype.bits = 16;
    assert_error(jit_launch(fix.rows, a, 2, NULL), "'x'");
    make(&x, 0x10004, 2, 5, 70);
    assert_error(jit_launch(fix.rows, a, 2, NULL), "multiple of 16");
    make(&x, 0x20000, 2, 5, 70);
    assert_error(jit_launch(fix.rows, a, 2, NULL), "overlap");
    make(&x, 0, 2, 5, 70);
    assert_error(jit_launch(fix.rows, a, 2, NULL), "'x' is null");
    make(&x, 0x10000, 2, 5, 70)->shape = NULL;
    assert_error(jit_launch(fix.rows, a, 2, NULL), "'x' is a tensor without a shape");
    make(&x, 0x10000, 2, 5, (int64_t)1 << 33);
    assert_error(jit_launch(fix.rows, a, 2, NULL), "which does not fit in i32");
    make(&x, 0x10000, 2, 5, 70)->device.device_type = 1;
    assert_error(jit_launch(fix.rows, a, 2, NULL), "'x'");
    make(&x, 0x10000, 2, 5, 70)->strides = x.strides;
    assert_error(jit_launch(fix.rows, a, 2, NULL), "'x'");
}

// ---- extents ---------------------------------------------------------------------------------------------------

static void extents_and_shapes(void **state)
{
    (void)state;
    hdsrt_extents e = {.grid = {-1, -1, -1}};
    int64_t shape[2] = {0, 0};
    tensor x;
    const hds_argument sizes[] = {hds_pointer(NULL), hds_tensor(NULL), hds_int(40000), hds_int(70)};
    assert_int_equal(jit_extents(fix.rows, sizes, 4, &e), HDSRT_OK);
    assert_int_equal(e.grid[0], 40000);
    assert_int_equal(e.grid[1], 3);
    assert_int_equal(e.dynamic_smem_bytes, 0);
    assert_int_equal(jit_shape(fix.rows, sizes, 4, 1, shape), HDSRT_OK);
    assert_int_equal(shape[0], 40001);
    assert_error(jit_shape(fix.rows, sizes, 4, 2, shape), "'rows': parameter 2 is not a tensor");
    assert_error(jit_shape(fix.rows, sizes, 4, 99, shape), "parameter 99 is not a tensor");
    const hds_argument tensors[] = {hds_tensor(make(&x, 0, 2, 8, 9)), hds_pointer(NULL)};
    assert_int_equal(jit_shape(fix.rows, tensors, 2, 0, shape), HDSRT_OK);
    assert_int_equal(shape[1], 9);
    const hds_argument odd = hds_int(1);
    e.grid[0] = -1;
    assert_error(jit_extents(fix.odd, &odd, 1, &e),
                 "the grid cannot be computed: it depends on more than the parameters");
    assert_int_equal(e.grid[0], -1);
    const hds_argument huge = hds_int(INT32_MAX);
    assert_error(jit_launch(fix.odd, &huge, 1, NULL),
                 "the grid cannot be computed from 'n << 40': it is beyond 64 bits");
}

// What the declaration says of sizes, and what the kernel takes it assumes; the descriptor behind the parameters.
// Where a kernel runs, sizes that are extents are at least 1; others may be 0.
static void sizes_of_nothing(void **state)
{
    const jit_kernel *k = fix.head;
    (void)state;
    hds_argument a[] = {hds_pointer(NULL), hds_int(0), hds_int(4)};
    assert_error(jit_launch(fix.head, a, 3, NULL), "'head': 'n' is 0, and where a kernel runs its extents are at least 1");
    assert_int_equal(fake_cuda_launches(), 0);
    a[2] = hds_int(0);
    assert_int_equal(jit_launch(fix.head, a, 3, NULL), HDSRT_OK);
    assert_int_equal(fake_cuda_launches(), 0);
    assert_true(k->parameters[1].is_extent && !k->parameters[2].is_extent);
}

static void promises(void **state)
{
    (void)state;
    fake_cuda_launch l;
    hds_argument a[] = {hds_pointer((void *)0x10000), hds_int(8), hds_int(7)};
    assert_error(jit_launch(fix.strict, a, 3, NULL), "'strict': 'n' is 7, and it has to be at least 8");
    a[2] = hds_int(65);
    assert_error(jit_launch(fix.strict, a, 3, NULL), "'n' is 65, and it has to be at most 64");
    a[2] = hds_int(12);
    assert_error(jit_launch(fix.strict, a, 3, NULL), "'n' is 12, and it has to be a multiple of 8");
    a[2] = hds_int(16);
    assert_error(jit_launch(fix.strict, a, 3, NULL),
                 "'strict': it assumes '(m + n) % 16 == 0', and 'm' is 8 and 'n' is 16");
    a[1] = hds_int(0);
    assert_int_equal(jit_launch(fix.strict, a, 3, NULL), HDSRT_OK);  // launches nothing, and describes nothing
    a[1] = hds_int(16);
    assert_int_equal(jit_launch(fix.strict, a, 3, NULL), HDSRT_OK);
    assert_int_equal(fake_cuda_launches(), 1);
    assert_true(fake_cuda_launch_at(0, &l));
    assert_int_equal(l.grid[0], 16);
    assert_int_equal(l.parameter_count, 4);
    static const unsigned char nothing[128];
    assert_int_equal(l.sizes[3], 128);
    assert_memory_not_equal(l.parameters + l.offsets[3], nothing, 128);
}

// ---- threads -----------------------------------------------------------------------------------------------------

enum { THREADS = 8, ROUNDS = 100 };

// The first launch of a kernel is that of several threads at once; right and wrong ones go side by side.
static void *launch_often(void *argument)
{
    int *wrong = argument;
    const hds_argument good[] = {hds_pointer((void *)0x10000), hds_pointer((void *)0x20000), hds_int(5), hds_int(70)};
    const hds_argument bad[] = {hds_pointer((void *)0x10000), hds_pointer((void *)0x10000), hds_int(5), hds_int(70)};
    for (int round = 0; round < ROUNDS; round++) {
        *wrong += jit_launch(fix.rows, good, 4, NULL) != HDSRT_OK;
        *wrong += jit_launch(fix.rows, bad, 4, NULL) != HDSRT_INVALID_ARGUMENT;
        *wrong += !strstr(hdsrt_last_error(), "overlap");
    }
    return NULL;
}

static void many_threads(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    int wrong[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_often, &wrong[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(wrong[i], 0);
    }
    assert_int_equal(fake_cuda_launches(), THREADS * ROUNDS);
    assert_int_equal(fake_cuda_live("libraries"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scalars_arrive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(scalars_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sizes_follow_from_tensors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tensors_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(extents_and_shapes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sizes_of_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(promises, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_threads, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
