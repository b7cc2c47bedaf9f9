// Many threads at once: the first launch of a kernel, devices of their own, allocators, failures.
#include <pthread.h>

#include "rig.h"

enum { THREADS = 16, ROUNDS = 50 };

static rig shared;
static pthread_barrier_t barrier;

static void run_threads(void *(*body)(void *))
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (intptr_t i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, body, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) {
        void *bad;
        EXPECT(pthread_join(threads[i], &bad) == 0 && !bad);
    }
    pthread_barrier_destroy(&barrier);
}

static void *first_launch(void *index)
{
    int bad = 0;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < ROUNDS; i++)
        bad += rig_saxpy(&shared, &rig_small, NULL) != HDSRT_OK;
    (void)index;
    return bad ? &shared : NULL;
}

RIG_TEST(the_first_launch_of_a_kernel)
{
    rig_usual(&shared);
    run_threads(first_launch);
    EXPECT(fake_cuda_launches() == THREADS * ROUNDS && fake_cuda_calls("cuInit") == 1);
    EXPECT(fake_cuda_calls("cuLibraryLoadData") == 1 && fake_cuda_calls("cuKernelGetFunction") == 1);
    EXPECT(fake_cuda_live("retains") == 1);
    rig_unload(&shared);
}

static void *on_some_device(void *index)
{
    int device = (int)(intptr_t)index % 4, found = -1, variant = -1, bad = 0;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < ROUNDS; i++) {
        int wanted = (device + i / 10) % 4;
        bad += hdsrt_use_device(wanted) != HDSRT_OK;
        bad += hdsrt_current_device(&found) != HDSRT_OK || found != wanted;
        bad += hdsrt_variant(&shared.library, &variant) != HDSRT_OK || variant != (wanted % 2 ? 0 : 1);
        bad += rig_saxpy(&shared, &rig_small, NULL) != HDSRT_OK;
        bad += rig_nothing(&shared, &rig_small) != HDSRT_OK;
    }
    return bad ? &shared : NULL;
}

RIG_TEST(a_device_for_each_thread)
{
    rig_usual(&shared);
    fake_cuda_devices(4);
    fake_cuda_arch(1, 80);
    fake_cuda_arch(3, 86);
    run_threads(on_some_device);
    EXPECT(fake_cuda_launches() == 2 * THREADS * ROUNDS && fake_cuda_live("retains") == 4);
    EXPECT(fake_cuda_calls("cuLibraryLoadData") == 1 && fake_cuda_calls("cuKernelGetFunction") == 8);
    rig_unload(&shared);
}

static void *allocate(void *user, size_t bytes, int device, hdsrt_stream stream)
{
    (void)user, (void)device, (void)stream;
    return aligned_alloc(256, (bytes + 255) / 256 * 256);
}

static void release(void *user, void *address, int device, hdsrt_stream stream)
{
    (void)user, (void)device, (void)stream;
    free(address);
}

static void *with_allocators(void *index)
{
    static const hdsrt_allocator host = {allocate, release, NULL};
    int bad = 0;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < ROUNDS; i++) {
        hdsrt_managed_tensor *t = NULL;
        if (index == 0)
            hdsrt_set_allocator(i % 2 ? &host : NULL);
        bad += hdsrt_tensor_new(&t, (hdsrt_dtype){2, 32}, 1, (int64_t[]){1 + i}, NULL) != HDSRT_OK;
        if (t)
            t->deleter(t);
    }
    return bad ? &shared : NULL;
}

// Tensors remember whose memory they have.
RIG_TEST(allocators_that_change)
{
    run_threads(with_allocators);
    EXPECT(fake_cuda_live("memory") == 0);
    hdsrt_set_allocator(NULL);
}

static void *failing(void *index)
{
    char name[32];
    int bad = 0;
    snprintf(name, sizeof name, "kernel_%d", (int)(intptr_t)index);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < ROUNDS; i++) {
        bad += hdsrt_check_extent(name, "x", 0, i, i + 1, "n") != HDSRT_INVALID_ARGUMENT;
        bad += !strstr(hdsrt_last_error(), name);
        bad += rig_saxpy(&shared, &rig_small, NULL) != HDSRT_NO_DRIVER;
        bad += strstr(hdsrt_last_error(), name) != NULL;
    }
    return bad ? &shared : NULL;
}

// Each thread has its own last failure, and a driver that is missing is missing for all.
RIG_TEST(failures_of_threads)
{
    rig_usual(&shared);
    setenv("HDSRT_DRIVER", "/nowhere", 1);
    run_threads(failing);
    EXPECT(strcmp(hdsrt_last_error(), "") == 0);
}

// A child that is made while other threads load must be able to say that it cannot use the driver.
static void *forking(void *index)
{
    int bad = 0, status = -1;
    pthread_barrier_wait(&barrier);
    if (index)
        return first_launch(index);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (!child) {
            hdsrt_load(&shared.library);
            _exit(0);
        }
        bad += child < 0 || waitpid(child, &status, 0) != child || status;
    }
    return bad ? &shared : NULL;
}

RIG_TEST(forks_while_threads_load)
{
    rig_usual(&shared);
    run_threads(forking);
    rig_unload(&shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_launch_of_a_kernel), cmocka_unit_test(a_device_for_each_thread),
        cmocka_unit_test(allocators_that_change),       cmocka_unit_test(failures_of_threads),
        cmocka_unit_test(forks_while_threads_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
