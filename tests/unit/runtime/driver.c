// Opening the driver: what is missing is said, and tried again.
#include "rig.h"

static const char *const symbols[] = {
#define HDSRT_DRIVER(name, symbol, parameters) #symbol,
#include "runtime/driver.def"
#undef HDSRT_DRIVER
};

RIG_TEST(a_driver_that_is_missing)
{
    int count = 7;
    setenv("HDSRT_DRIVER", "/nowhere/libcuda.so.1", 1);
    EXPECT_FAILURE(HDSRT_NO_DRIVER, hdsrt_device_count(&count),
                   "the CUDA driver (/nowhere/libcuda.so.1) cannot be opened: ");
    EXPECT(count == 0 && hdsrt_last_driver_error() == 0);
    rig r;
    rig_usual(&r);
    EXPECT_FAILURE(HDSRT_NO_DRIVER, rig_saxpy(&r, &rig_small, NULL), "cannot be opened");
    EXPECT_FAILURE(HDSRT_NO_DRIVER, hdsrt_load(&r.library), "cannot be opened");
    rig_unload(&r);
    setenv("HDSRT_DRIVER", "", 1);
    EXPECT(rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK);
    rig_unload(&r);
}

RIG_TEST(symbols_that_are_missing)
{
    char text[100];
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        fake_cuda_hide(symbols[i]);
        snprintf(text, sizeof text, "has no '%s': one for CUDA 12.0", symbols[i]);
        EXPECT_FAILURE(HDSRT_NO_DRIVER, hdsrt_use_device(0), text);
        fake_cuda_show(symbols[i]);
    }
    EXPECT(hdsrt_use_device(0) == HDSRT_OK);
}

RIG_TEST(a_driver_that_is_old)
{
    fake_cuda_version(11080);
    fake_cuda_hide("cuLibraryLoadData");
    EXPECT_FAILURE(HDSRT_NO_DRIVER, hdsrt_use_device(0),
                   "the CUDA driver is for CUDA 11.8, and 12.0 or newer is needed: update it");
    fake_cuda_show("cuLibraryLoadData");
    EXPECT_FAILURE(HDSRT_NO_DRIVER, hdsrt_use_device(0), "CUDA 11.8");
    fake_cuda_version(12000);
    EXPECT(hdsrt_use_device(0) == HDSRT_OK);
}

RIG_TEST(no_gpu)
{
    int count = 7, device = 7;
    fake_cuda_devices(0);
    EXPECT(hdsrt_device_count(&count) == HDSRT_OK && count == 0);
    EXPECT_FAILURE(HDSRT_NO_DEVICE, hdsrt_current_device(&device), "the CUDA driver finds no GPU");
    EXPECT(hdsrt_last_driver_error() == 100 && device == 7);
    EXPECT_FAILURE(HDSRT_NO_DEVICE, hdsrt_use_device(0), "finds no GPU");
    fake_cuda_devices(1);
    EXPECT(hdsrt_current_device(&device) == HDSRT_OK && device == 0);
}

RIG_TEST(a_driver_that_does_not_start)
{
    int count = 7;
    fake_cuda_fail("cuInit", 1, 802);
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, hdsrt_device_count(&count),
                   "starting the CUDA driver: system not yet initialized (CUDA_ERROR_SYSTEM_NOT_READY)");
    EXPECT(hdsrt_last_driver_error() == 802 && count == 0);
    EXPECT(hdsrt_device_count(&count) == HDSRT_OK && count == 1);
    fake_cuda_fail("cuDeviceGetCount", 1, 999);
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, hdsrt_device_count(&count),
                   "counting the GPUs: unknown error (CUDA_ERROR_UNKNOWN)");
    EXPECT(count == 0);
}

// The driver is started once, and its failures are told without its help if need be.
RIG_TEST(the_driver_starts_once)
{
    int device;
    for (int i = 0; i < 3; i++)
        EXPECT(hdsrt_current_device(&device) == HDSRT_OK);
    EXPECT(fake_cuda_calls("cuInit") == 1);
    fake_cuda_fail("cuStreamSynchronize", 0, 700);
    fake_cuda_fail("cuGetErrorString", 1, 999);
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, hdsrt_synchronize(NULL),
                   "waiting for the stream: CUDA error 700: the context is lost");
    fake_cuda_fail("cuGetErrorName", 1, 999);
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, hdsrt_synchronize(NULL),
                   "waiting for the stream: CUDA error 700: the context is lost");
    fake_cuda_fail("cuStreamSynchronize", 1, 54321);
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, hdsrt_synchronize(NULL), "waiting for the stream: CUDA error 54321");
}

static void versions(void **state)
{
    (void)state;
    assert_int_equal(hdsrt_abi(), HDSRT_ABI);
    assert_string_equal(hdsrt_version(), HDSRT_VERSION);
    for (int i = HDSRT_OK; i <= HDSRT_DRIVER_ERROR; i++)
        assert_true(strlen(hdsrt_status_text((hdsrt_status)i)) > 5);
    assert_string_equal(hdsrt_status_text((hdsrt_status)99), "unknown status");
    assert_string_equal(hdsrt_status_text((hdsrt_status)-1), "unknown status");
}

static void texts_of_failures(void **state)
{
    (void)state;
    char long_text[3000];
    memset(long_text, 'x', sizeof long_text);
    long_text[sizeof long_text - 1] = 0;
    assert_string_equal(hdsrt_last_error(), "");
    assert_int_equal(hdsrt_fail(HDSRT_ASSERTION, "%d\nis\tnot %s", 1, "2"), HDSRT_ASSERTION);
    assert_string_equal(hdsrt_last_error(), "1 is not 2");
    hdsrt_fail(HDSRT_ASSERTION, "again: %s", hdsrt_last_error());
    assert_string_equal(hdsrt_last_error(), "again: 1 is not 2");
    hdsrt_fail(HDSRT_ASSERTION, "%s", long_text);
    assert_int_equal(strlen(hdsrt_last_error()), 1023);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_failures),
        cmocka_unit_test(versions),
        cmocka_unit_test(a_driver_that_is_missing),
        cmocka_unit_test(symbols_that_are_missing),
        cmocka_unit_test(a_driver_that_is_old),
        cmocka_unit_test(no_gpu),
        cmocka_unit_test(a_driver_that_does_not_start),
        cmocka_unit_test(the_driver_starts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
