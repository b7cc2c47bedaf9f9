// Many threads on the same compiler, programs and kernels. Run under ThreadSanitizer, too.
#include "rig.h"

#include <pthread.h>

enum { THREADS = 8, ROUNDS = 12, SOURCES = 3 };

typedef struct worker {
    const rig *rig;
    hds_compiler *compiler;
    int number, wrong;
    pthread_barrier_t *start;
} worker;

static bool simulates(const hds_kernel *k, int factor)
{
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {0};
    const hds_argument a[] = {hds_int(factor), hds_pointer(x), hds_pointer(y), hds_int(8)};
    return hds_simulate(k, a, 4, NULL) == HDS_OK && y[7] == (float)(8 * factor);
}

// Errors of one thread are its own.
static bool fails_alone(const hds_kernel *k, int number)
{
    char expected[48];
    const hds_argument a[] = {hds_int(number), hds_pointer(NULL), hds_pointer(NULL), hds_int(-1 - number)};
    snprintf(expected, sizeof expected, "'n' is %d: a size is not negative", -1 - number);
    return hds_launch(k, a, 4, NULL) == HDS_INVALID_ARGUMENT && strstr(hds_last_error(), expected);
}

static bool measures(const hds_kernel *k, int n)
{
    hdsrt_extents e;
    const hds_argument a[] = {hds_int(1), hds_pointer(NULL), hds_pointer(NULL), hds_int(n)};
    return hds_kernel_extents(k, a, 4, &e) == HDS_OK && e.grid[0] == (n + 255) / 256;
}

static void *work(void *argument)
{
    worker *w = argument;
    char name[16];
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    o.arch = "sm_80";
    pthread_barrier_wait(w->start);
    for (int round = 0; round < ROUNDS; round++) {
        hds_program *p = NULL;
        snprintf(name, sizeof name, "k%d.hds", (round + w->number) % SOURCES);
        hds_status status = hds_compile(w->compiler, &(hds_source){name, rig_scale, 0}, &o, &p);
        const hds_kernel *k = hds_program_kernel(p, "scale");
        w->wrong += status != HDS_OK || !k || !measures(k, 100 * round + w->number) || !fails_alone(k, w->number);
        if (round % 6 == 0)
            w->wrong += !k || !simulates(k, w->number);
        hds_program_release(p);
    }
    return NULL;
}

// Each source is compiled once, however many ask for it at once; with room for one idle program, more often.
static void run(const rig *r, size_t memory_programs, const char *cache_dir)
{
    pthread_t threads[THREADS];
    worker workers[THREADS];
    pthread_barrier_t start;
    hds_compiler *c = rig_compiler(r, FAKE_NVRTC, cache_dir, memory_programs);
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){r, c, i, 0, &start};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
    pthread_barrier_destroy(&start);
    hds_compiler_release(c);
}

static void in_memory(void **state)
{
    const rig *r = *state;
    run(r, 0, "");
    assert_int_equal(rig_compilations(r), SOURCES);
}

static void with_little_memory(void **state)
{
    const rig *r = *state;
    run(r, 1, r->cache);
    // The sources differ in their names only, and so do not for NVRTC: the first is on disk when the second comes.
    assert_int_equal(rig_compilations(r), 1);
}

// Who waits for a program with errors gets the errors.
static void *work_in_vain(void *argument)
{
    worker *w = argument;
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    o.arch = "sm_80";
    pthread_barrier_wait(w->start);
    for (int round = 0; round < 3; round++) {
        hds_program *p = NULL;
        hds_status status = hds_compile(w->compiler, &(hds_source){"bad.hds", "x = y\n", 0}, &o, &p);
        w->wrong +=
            status != HDS_ERRORS || hds_program_diagnostic_count(p) != 1 || !strstr(hds_last_error(), "bad.hds");
        hds_program_release(p);
    }
    return NULL;
}

static void errors_for_all(void **state)
{
    const rig *r = *state;
    pthread_t threads[THREADS];
    worker workers[THREADS];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){r, r->compiler, i, 0, &start};
        assert_int_equal(pthread_create(&threads[i], NULL, work_in_vain, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
    pthread_barrier_destroy(&start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(in_memory, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(with_little_memory, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(errors_for_all, rig_set_up, rig_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
