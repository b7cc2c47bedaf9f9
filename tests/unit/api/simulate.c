// hds_simulate: right results come back, wrong kernels are found out, and arguments are checked as at a launch.
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "rig.h"

enum { COUNT = 1000 };

typedef struct tensor {
    hdsrt_tensor dl;
    int64_t shape[2];
} tensor;

static hdsrt_tensor *host_tensor(tensor *t, void *data, int64_t count)
{
    *t = (tensor){.shape = {count}};
    t->dl.data = data;
    t->dl.device.device_type = 1;
    t->dl.ndim = 1;
    t->dl.dtype.code = 2;
    t->dl.dtype.bits = 32;
    t->dl.dtype.lanes = 1;
    t->dl.shape = t->shape;
    return &t->dl;
}

static void results_come_back(void **state)
{
    const rig *r = *state;
    _Alignas(16) static float x[COUNT], y[COUNT];
    tensor tx, ty;
    hds_program *p = rig_compile(r->compiler, "scale.hds", rig_scale, NULL), *findings = NULL;
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)i;
    const hds_argument a[] = {hds_float(3), hds_tensor(host_tensor(&tx, x, COUNT)),
                              hds_tensor(host_tensor(&ty, y, COUNT)), hds_int(COUNT)};
    for (size_t count = 3; count <= 4; count++) {
        memset(y, 0, sizeof y);
        assert_int_equal(hds_simulate(hds_program_kernel_at(p, 0), a, count, &findings), HDS_OK);
        assert_null(findings);
        for (int i = 0; i < COUNT; i++)
            assert_true(y[i] == 3 * x[i]);
    }
    const hds_argument pointers[] = {hds_int(2), hds_pointer(x), hds_pointer(y), hds_int(10)};
    assert_int_equal(hds_simulate(hds_program_kernel_at(p, 0), pointers, 4, NULL), HDS_OK);
    assert_true(y[9] == 18 && y[10] == 30);
    const hds_argument nothing[] = {hds_int(2), hds_pointer(NULL), hds_pointer(NULL), hds_int(0)};
    assert_int_equal(hds_simulate(hds_program_kernel_at(p, 0), nothing, 4, NULL), HDS_OK);
    hds_program_release(p);
}

static void *interrupt_until_done(void *is_done)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    while (!atomic_load((atomic_bool *)is_done)) {
        hds_interrupt();
        nanosleep(&pause, NULL);
    }
    return NULL;
}

// A kernel that does not end is ended, and writes nothing; later ones run.
static void a_simulation_is_interrupted(void **state)
{
    static const char endless[] = "from hidet.lang import attrs, f32\n"
                                  "@hidet.script\n"
                                  "def endless(y: f32[4]):\n"
                                  "    attrs.cuda.grid_dim = 1\n"
                                  "    attrs.cuda.block_dim = 1\n"
                                  "    y[0] = 1.0\n"
                                  "    while y[0] > 0.0:\n"
                                  "        y[0] += 1.0\n";
    const rig *r = *state;
    float x[4] = {1, 2, 3, 4}, y[4] = {0};
    tensor ty;
    pthread_t thread;
    atomic_bool is_done = false;
    hds_program *p = rig_compile(r->compiler, "endless.hds", endless, NULL), *findings = NULL;
    const hds_argument a[] = {hds_tensor(host_tensor(&ty, y, 4))};
    assert_int_equal(pthread_create(&thread, NULL, interrupt_until_done, &is_done), 0);
    rig_expect_error(hds_simulate(hds_program_kernel_at(p, 0), a, 1, &findings), HDS_INTERRUPTED, "it was interrupted");
    atomic_store(&is_done, true);
    pthread_join(thread, NULL);
    assert_null(findings);
    assert_true(y[0] == 0);
    hds_program_release(p);
    p = rig_compile(r->compiler, "scale.hds", rig_scale, NULL);
    const hds_argument next[] = {hds_float(2), hds_pointer(x), hds_pointer(y), hds_int(4)};
    assert_int_equal(hds_simulate(hds_program_kernel_at(p, 0), next, 4, NULL), HDS_OK);
    assert_true(y[3] == 8);
    hds_program_release(p);
}

// A program from the disk knows its source, too, and one without machine code as well.
static void also_from_disk(void **state)
{
    const rig *r = *state;
    float x[4] = {1, 2, 3, 4}, y[4];
    const hds_argument a[] = {hds_float(-1), hds_pointer(x), hds_pointer(y), hds_int(4)};
    for (int round = 0; round < 2; round++) {
        hds_compiler *c = rig_compiler(r, FAKE_NVRTC, r->cache, 0);
        hds_program *p = rig_compile(c, "scale.hds", rig_scale, NULL);
        assert_int_equal(hds_simulate(hds_program_kernel_at(p, 0), a, 4, NULL), HDS_OK);
        assert_true(y[3] == -4);
        hds_program_release(p);
        hds_compiler_release(c);
    }
}

static const char beyond_text[] =
    "from hidet.lang import attrs, f32, i32\n"
    "from hidet.lang.cuda import threadIdx\n"
    "@hidet.script\n"
    "def beyond[n: int](shift: i32, x: f32[n]):\n"
    "    attrs.cuda.grid_dim = 1\n"
    "    attrs.cuda.block_dim = 32\n"
    "    x[threadIdx.x + shift] = 1.0\n";

static void faults_are_found(void **state)
{
    const rig *r = *state;
    float x[32] = {0};
    hds_program *p = rig_compile(r->compiler, "beyond.hds", beyond_text, NULL), *findings = NULL;
    hds_argument a[] = {hds_int(1), hds_pointer(x), hds_int(32)};
    rig_expect_error(hds_simulate(hds_program_kernel_at(p, 0), a, 3, &findings), HDS_ERRORS, "'beyond': ");
    assert_non_null(findings);
    assert_int_equal(hds_program_diagnostic_count(findings), 1);
    const hds_diagnostic *d = hds_program_diagnostic(findings, 0);
    assert_int_equal(d->line, 7);
    assert_non_null(strstr(d->rendered, "beyond.hds:7"));
    assert_int_equal(hds_program_kernel_count(findings), 0);
    assert_null(hds_program_text(findings, HDS_CUDA, NULL));
    assert_null(hds_program_arch(findings));
    hds_program_release(findings);
    rig_expect_error(hds_simulate(hds_program_kernel_at(p, 0), a, 3, NULL), HDS_ERRORS, "'beyond': ");
    a[0] = hds_int(0);
    assert_int_equal(hds_simulate(hds_program_kernel_at(p, 0), a, 3, &findings), HDS_OK);
    assert_null(findings);
    hds_program_release(p);
}

static void arguments_are_checked(void **state)
{
    const rig *r = *state;
    float x[8], y[8];
    tensor tx, ty;
    hds_program *p = rig_compile(r->compiler, "scale.hds", rig_scale, NULL), *findings = (hds_program *)(uintptr_t)1;
    const hds_kernel *k = hds_program_kernel_at(p, 0);
    hds_argument a[] = {hds_float(3), hds_tensor(host_tensor(&tx, x, 8)), hds_tensor(host_tensor(&ty, y, 8))};
    rig_expect_error(hds_simulate(NULL, a, 3, &findings), HDS_INVALID_ARGUMENT, "kernel is a null pointer");
    assert_null(findings);
    tx.dl.device.device_type = 2;
    rig_expect_error(hds_simulate(k, a, 3, NULL), HDS_INVALID_ARGUMENT, "'x' is not in host memory");
    host_tensor(&tx, x, 8)->dtype.bits = 64;
    rig_expect_error(hds_simulate(k, a, 3, NULL), HDS_INVALID_ARGUMENT, "'x' is of f64, and it has to be of f32");
    host_tensor(&tx, NULL, 8);
    rig_expect_error(hds_simulate(k, a, 3, NULL), HDS_INVALID_ARGUMENT, "'x' is null");
    host_tensor(&tx, y + 4, 8);
    rig_expect_error(hds_simulate(k, a, 3, NULL), HDS_INVALID_ARGUMENT, "overlap, and 'y' is written");
    host_tensor(&tx, x, 7);
    rig_expect_error(hds_simulate(k, a, 3, NULL), HDS_INVALID_ARGUMENT, "'y'");
    host_tensor(&tx, x, -1);
    rig_expect_error(hds_simulate(k, a, 3, NULL), HDS_INVALID_ARGUMENT, "a size is not negative");
    host_tensor(&tx, x, 8)->strides = (int64_t[]){2};
    rig_expect_error(hds_simulate(k, a, 3, NULL), HDS_INVALID_ARGUMENT, "gaps");
    const hds_argument huge[] = {hds_float(3), hds_pointer((void *)0x1000), hds_pointer((void *)0x10000000000),
                                 hds_int(INT32_MAX)};
    (void)huge;
    hds_program_release(p);
}

static const char pointer_text[] =
    "from hidet.lang import attrs, f32, void_p\n"
    "from hidet.lang.cuda import threadIdx\n"
    "@hidet.script\n"
    "def put(p: ~f32):\n"
    "    attrs.cuda.grid_dim = 1\n"
    "    attrs.cuda.block_dim = 4\n"
    "    p[threadIdx.x] = 2.0\n";

// What is behind a pointer is known by the tensor that is passed for it.
static void pointers(void **state)
{
    const rig *r = *state;
    float x[4] = {0};
    tensor tx;
    hds_program *p = rig_compile(r->compiler, "put.hds", pointer_text, NULL);
    const hds_kernel *k = hds_program_kernel_at(p, 0);
    assert_int_equal(hds_kernel_parameter(k, 0)->kind, HDS_POINTER);
    hds_argument a = hds_pointer(x);
    rig_expect_error(hds_simulate(k, &a, 1, NULL), HDS_INVALID_ARGUMENT, "pass a tensor");
    a = hds_tensor(host_tensor(&tx, x, 4));
    assert_int_equal(hds_simulate(k, &a, 1, NULL), HDS_OK);
    assert_true(x[3] == 2);
    a = hds_tensor(host_tensor(&tx, x, 3));
    rig_expect_error(hds_simulate(k, &a, 1, NULL), HDS_ERRORS, "'put'");
    // All of it is copied, so it has to be there.
    host_tensor(&tx, x, 4)->device.device_type = 2;
    rig_expect_error(hds_simulate(k, &a, 1, NULL), HDS_INVALID_ARGUMENT, "'p' is not in host memory");
    host_tensor(&tx, NULL, 4);
    rig_expect_error(hds_simulate(k, &a, 1, NULL), HDS_INVALID_ARGUMENT, "'p' is null");
    host_tensor(&tx, x, 4)->strides = (int64_t[]){2};
    rig_expect_error(hds_simulate(k, &a, 1, NULL), HDS_INVALID_ARGUMENT, "'p' has gaps");
    host_tensor(&tx, x, -4);
    rig_expect_error(hds_simulate(k, &a, 1, NULL), HDS_INVALID_ARGUMENT, "'p' has a negative extent");
    host_tensor(&tx, x, INT64_MAX / 2);
    rig_expect_error(hds_simulate(k, &a, 1, NULL), HDS_INVALID_ARGUMENT, "more elements than there are addresses");
    host_tensor(&tx, x, 4)->shape = NULL;
    rig_expect_error(hds_simulate(k, &a, 1, NULL), HDS_INVALID_ARGUMENT, "without a shape");
    hds_program_release(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(results_come_back, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(a_simulation_is_interrupted, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(also_from_disk, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(faults_are_found, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(arguments_are_checked, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(pointers, rig_set_up, rig_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
