// Devices and contexts: the thread's own, others made beside it, destroyed and reset ones, and children.
#include "rig.h"

// Of the double alone.
int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuCtxDestroy_v2(void *context);
int cuCtxSetCurrent(void *context);
int cuCtxGetCurrent(void **context);
int cuDevicePrimaryCtxReset_v2(int device);

static unsigned long long last_context(void)
{
    fake_cuda_launch l = {0};
    EXPECT(fake_cuda_launch_at(fake_cuda_launches() - 1, &l));
    return l.context;
}

RIG_TEST(a_thread_without_a_context_gets_device_0)
{
    int device = 7;
    rig r;
    rig_usual(&r);
    fake_cuda_devices(2);
    EXPECT(hdsrt_current_device(&device) == HDSRT_OK && device == 0);
    EXPECT(fake_cuda_live("contexts") == 1 && fake_cuda_live("retains") == 1);
    EXPECT(rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK);
    EXPECT(hdsrt_use_device(0) == HDSRT_OK && hdsrt_use_device(0) == HDSRT_OK);
    EXPECT(fake_cuda_live("contexts") == 1 && fake_cuda_live("retains") == 1);
    rig_unload(&r);
}

RIG_TEST(two_devices)
{
    int device = 7, major = 0, minor = 0;
    rig r;
    fake_cuda_launch l;
    rig_usual(&r);
    fake_cuda_devices(2);
    fake_cuda_arch(1, 86);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++) {
            EXPECT(hdsrt_use_device(i) == HDSRT_OK && hdsrt_current_device(&device) == HDSRT_OK && device == i);
            EXPECT(hdsrt_capability(&major, &minor) == HDSRT_OK && major * 10 + minor == (i ? 86 : 90));
            EXPECT(rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK && fake_cuda_launch_at(2 * round + i, &l));
            EXPECT(l.device == i && l.arch == (i ? 80 : 90) && !l.is_ptx);
        }
    }
    EXPECT(fake_cuda_calls("cuLibraryLoadData") == 1 && fake_cuda_calls("cuLibraryGetKernel") == 1);
    EXPECT(fake_cuda_calls("cuKernelGetFunction") == 2);
    EXPECT_FAILURE(HDSRT_NO_DEVICE, hdsrt_use_device(2), "there is no GPU 2: this machine has 2, counted from 0");
    EXPECT_FAILURE(HDSRT_NO_DEVICE, hdsrt_use_device(-1), "there is no GPU -1");
    EXPECT(hdsrt_current_device(&device) == HDSRT_OK && device == 1);
    rig_unload(&r);
}

RIG_TEST(contexts_of_the_program)
{
    void *contexts[3], *current;
    rig r;
    rig_usual(&r);
    EXPECT(rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK && last_context() == 1);
    for (int i = 0; i < 3; i++)
        EXPECT(cuCtxCreate_v2(&contexts[i], 0, 0) == 0);
    for (int i = 0; i < 6; i++) {
        EXPECT(cuCtxSetCurrent(contexts[i % 3]) == 0 && rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK);
        EXPECT(last_context() == 2ull + (unsigned)i % 3);
        EXPECT(cuCtxGetCurrent(&current) == 0 && current == contexts[i % 3]);
    }
    EXPECT(fake_cuda_calls("cuKernelGetFunction") == 4 && fake_cuda_live("retains") == 1);
    // One is destroyed while another thread, here this one, still has it.
    EXPECT(cuCtxSetCurrent(contexts[0]) == 0);
    EXPECT(cuCtxDestroy_v2(contexts[1]) == 0 && cuCtxSetCurrent(contexts[1]) == 0);
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, rig_saxpy(&r, &rig_small, NULL),
                   "context is destroyed (CUDA_ERROR_CONTEXT_IS_DESTROYED): make another "
                   "context current, or call hdsrt_use_device()");
    EXPECT(hdsrt_last_driver_error() == 709);
    EXPECT(hdsrt_use_device(0) == HDSRT_OK && rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK && last_context() == 1);
    rig_unload(&r);
}

// As cudaDeviceReset does it: the context's address is the same afterwards, and its id is not.
RIG_TEST(a_reset)
{
    rig r;
    void *memory = NULL, *before, *after;
    rig_usual(&r);
    EXPECT(rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK && hdsrt_allocate(&memory, 100, NULL) == HDSRT_OK);
    EXPECT(cuCtxGetCurrent(&before) == 0 && cuDevicePrimaryCtxReset_v2(0) == 0 && fake_cuda_live("memory") == 0);
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, rig_saxpy(&r, &rig_small, NULL), "or call hdsrt_use_device()");
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, hdsrt_synchronize(NULL), "context is destroyed");
    EXPECT(hdsrt_use_device(0) == HDSRT_OK && cuCtxGetCurrent(&after) == 0 && before == after);
    EXPECT(rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK && last_context() == 2);
    EXPECT(fake_cuda_calls("cuKernelGetFunction") == 2 && fake_cuda_calls("cuLibraryLoadData") == 1);
    EXPECT(fake_cuda_live("retains") == 1);
    rig_unload(&r);
}

// A kernel that fails takes its context along, until it is reset.
RIG_TEST(a_context_that_is_lost)
{
    rig r;
    rig_usual(&r);
    EXPECT(rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK);
    fake_cuda_break("cuStreamSynchronize", 1, 700);
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, hdsrt_synchronize(NULL),
                   "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS): the "
                   "context is lost and has to be reset");
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, rig_saxpy(&r, &rig_small, NULL), "launching 'saxpy': an illegal memory access");
    EXPECT(cuDevicePrimaryCtxReset_v2(0) == 0 && hdsrt_use_device(0) == HDSRT_OK);
    EXPECT(rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK && hdsrt_synchronize(NULL) == HDSRT_OK);
    rig_unload(&r);
}

RIG_TEST(children_cannot_use_what_the_parent_opened)
{
    rig r;
    rig_usual(&r);
    EXPECT(rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK);
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        EXPECT_FAILURE(HDSRT_DRIVER_ERROR, rig_saxpy(&r, &rig_small, NULL),
                       "this process was forked from one that had used the GPU");
        EXPECT_FAILURE(HDSRT_DRIVER_ERROR, hdsrt_use_device(0), "this process was forked");
        rig_unload(&r);
        EXPECT_FAILURE(HDSRT_DRIVER_ERROR, hdsrt_load(&r.library), "this process was forked");
        _exit(rig_failures != 0);
    }
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    EXPECT(rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK);
    rig_unload(&r);
}

static void null_results(void **state)
{
    (void)state;
    int n;
    assert_int_equal(hdsrt_device_count(NULL), HDSRT_INVALID_ARGUMENT);
    assert_int_equal(hdsrt_current_device(NULL), HDSRT_INVALID_ARGUMENT);
    assert_int_equal(hdsrt_capability(NULL, &n), HDSRT_INVALID_ARGUMENT);
    assert_string_equal(hdsrt_last_error(), "hdsrt_capability: 'major' is null");
    assert_int_equal(hdsrt_capability(&n, NULL), HDSRT_INVALID_ARGUMENT);
    assert_string_equal(hdsrt_last_error(), "hdsrt_capability: 'minor' is null");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_results),
        cmocka_unit_test(a_thread_without_a_context_gets_device_0),
        cmocka_unit_test(two_devices),
        cmocka_unit_test(contexts_of_the_program),
        cmocka_unit_test(a_reset),
        cmocka_unit_test(a_context_that_is_lost),
        cmocka_unit_test(children_cannot_use_what_the_parent_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
