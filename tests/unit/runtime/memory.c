// Memory: the driver's and the program's allocator, copies, fills, tensors.
#include "rig.h"

int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuCtxDestroy_v2(void *context);
int cuCtxGetCurrent(void **context);
int cuDevicePrimaryCtxReset_v2(int device);
int cuStreamCreate(void **stream, unsigned flags);

RIG_TEST(allocating)
{
    void *p = NULL, *q = (void *)7, *stream;
    EXPECT(hdsrt_allocate(&p, 1000, NULL) == HDSRT_OK && p && (uintptr_t)p % 256 == 0);
    EXPECT(cuStreamCreate(&stream, 0) == 0);
    EXPECT(hdsrt_allocate(&q, 0, stream) == HDSRT_OK && !q);
    EXPECT(hdsrt_release(p, stream) == HDSRT_OK && hdsrt_release(NULL, NULL) == HDSRT_OK);
    EXPECT(fake_cuda_live("memory") == 0);
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_allocate(&p, -1, NULL), "cannot allocate -1 bytes");
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_allocate(NULL, 1, NULL), "'address' is null");
    q = (void *)7;
    EXPECT_FAILURE(HDSRT_OUT_OF_MEMORY, hdsrt_allocate(&q, INT64_MAX, NULL),
                   "allocating 9223372036854775807 bytes on GPU 0: out of memory");
    EXPECT(q == (void *)7);
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, hdsrt_release((void *)256, NULL), "releasing memory: invalid argument");
}

RIG_TEST(a_gpu_without_pools)
{
    void *p = NULL;
    fake_cuda_attribute(0, 115, 0);
    EXPECT(hdsrt_allocate(&p, 1000, NULL) == HDSRT_OK && fake_cuda_calls("cuMemAlloc_v2") == 1);
    fake_cuda_fail("cuStreamSynchronize", 1, 999);
    EXPECT(hdsrt_release(p, NULL) == HDSRT_DRIVER_ERROR && fake_cuda_live("memory") == 1);
    fake_cuda_fail("cuMemFree_v2", 1, 1);
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, hdsrt_release(p, NULL), "releasing memory");
    EXPECT(hdsrt_release(p, NULL) == HDSRT_OK && fake_cuda_live("memory") == 0);
    fake_cuda_fail("cuMemAlloc_v2", 1, 2);
    EXPECT(hdsrt_allocate(&p, 1000, NULL) == HDSRT_OUT_OF_MEMORY && hdsrt_allocate(&p, 1000, NULL) == HDSRT_OK);
    EXPECT(hdsrt_release(p, NULL) == HDSRT_OK && fake_cuda_calls("cuMemAllocAsync") == 0);
}

// ---- the program's allocator --------------------------------------------------------------------------------------

typedef struct pool {
    int live, last_device, offset;
    size_t last_bytes;
    hdsrt_stream last_stream;
    bool is_empty;
} pool;

static void *pool_allocate(void *user, size_t bytes, int device, hdsrt_stream stream)
{
    pool *p = user;
    p->last_bytes = bytes;
    p->last_device = device;
    p->last_stream = stream;
    if (p->is_empty)
        return NULL;
    p->live++;
    return (char *)aligned_alloc(256, (bytes + 511) / 256 * 256) + p->offset;
}

static void pool_release(void *user, void *address, int device, hdsrt_stream stream)
{
    pool *p = user;
    p->live--;
    p->last_device = device;
    p->last_stream = stream;
    free((char *)address - p->offset);
}

RIG_TEST(an_allocator_of_the_program)
{
    pool own = {0};
    void *p = NULL, *stream;
    fake_cuda_devices(2);
    EXPECT(hdsrt_use_device(1) == HDSRT_OK && cuStreamCreate(&stream, 0) == 0);
    hdsrt_set_allocator(&(hdsrt_allocator){pool_allocate, pool_release, &own});
    EXPECT(hdsrt_allocate(&p, 1000, stream) == HDSRT_OK && own.live == 1 && own.last_bytes == 1000);
    EXPECT(own.last_device == 1 && own.last_stream == stream && fake_cuda_calls("cuMemAllocAsync") == 0);
    EXPECT(hdsrt_release(p, stream) == HDSRT_OK && own.live == 0);
    own.offset = 8;
    p = NULL;
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_allocate(&p, 10, NULL),
                   "the program's allocator gave an address that is not a multiple of 256");
    EXPECT(!p && own.live == 0);
    own.is_empty = true;
    EXPECT_FAILURE(HDSRT_OUT_OF_MEMORY, hdsrt_allocate(&p, 10, NULL),
                   "the program's allocator has no 10 bytes on GPU 1");
    hdsrt_managed_tensor *t = NULL;
    EXPECT(hdsrt_tensor_new(&t, (hdsrt_dtype){2, 32}, 1, (int64_t[]){5}, NULL) == HDSRT_OUT_OF_MEMORY && !t);
    own.is_empty = false;
    own.offset = 0;
    EXPECT(hdsrt_tensor_new(&t, (hdsrt_dtype){2, 32}, 1, (int64_t[]){5}, NULL) == HDSRT_OK && own.live == 1);
    hdsrt_set_allocator(NULL);
    t->deleter(t);
    EXPECT(own.live == 0);
    EXPECT(hdsrt_allocate(&p, 1000, NULL) == HDSRT_OK && fake_cuda_calls("cuMemAllocAsync") == 1);
    EXPECT(hdsrt_release(p, NULL) == HDSRT_OK);
}

// ---- copies, fills ------------------------------------------------------------------------------------------------

RIG_TEST(copies)
{
    char there[100], back[100] = {0};
    void *p = NULL, *q = NULL;
    memset(there, 42, sizeof there);
    EXPECT(hdsrt_allocate(&p, 100, NULL) == HDSRT_OK && hdsrt_allocate(&q, 100, NULL) == HDSRT_OK);
    EXPECT(hdsrt_copy(p, there, 100, NULL) == HDSRT_OK && hdsrt_copy(q, p, 100, NULL) == HDSRT_OK);
    EXPECT(hdsrt_copy(back, q, 100, NULL) == HDSRT_OK && hdsrt_synchronize(NULL) == HDSRT_OK);
    EXPECT(memcmp(there, back, 100) == 0);
    EXPECT(hdsrt_copy(NULL, NULL, 0, NULL) == HDSRT_OK);
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_copy(p, q, -5, NULL), "cannot copy -5 bytes");
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_copy(NULL, q, 5, NULL), "'to' is null");
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_copy(p, NULL, 5, NULL), "'from' is null");
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, hdsrt_copy(p, q, 101, NULL), "copying 101 bytes: invalid argument");
    EXPECT(hdsrt_release(p, NULL) == HDSRT_OK && hdsrt_release(q, NULL) == HDSRT_OK);
}

static bool is_filled(const unsigned char *at, uint64_t pattern, int bytes, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (memcmp(at + i * bytes, &pattern, (size_t)bytes) != 0)
            return false;
    }
    return true;
}

RIG_TEST(fills)
{
    static const int64_t counts[] = {1, 2, 7, 1023, 1024, 1025, 2048, 3000, 5000};
    static const uint64_t patterns[] = {0, 0x1122334455667788, 0x3f8000003f800000, UINT64_MAX};
    void *p = NULL;
    EXPECT(hdsrt_allocate(&p, 8 * 5000 + 8, NULL) == HDSRT_OK);
    for (int bytes = 1; bytes <= 8; bytes *= 2) {
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
                unsigned char *end = (unsigned char *)p + counts[i] * bytes;
                memset(p, 0x5a, 8 * 5000 + 8);
                EXPECT(hdsrt_fill(p, patterns[k], bytes, counts[i], NULL) == HDSRT_OK);
                EXPECT(is_filled(p, patterns[k], bytes, counts[i]) && *end == 0x5a);
            }
        }
    }
    fake_cuda_fail("cuMemsetD2D32Async", 2, 999);
    EXPECT(hdsrt_fill(p, 1, 8, 10, NULL) == HDSRT_DRIVER_ERROR);
    fake_cuda_fail("cuMemcpyAsync", 1, 999);
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, hdsrt_fill(p, 1, 8, 5000, NULL), "filling 5000 elements: unknown error");
    EXPECT(hdsrt_fill(NULL, 1, 4, 0, NULL) == HDSRT_OK);
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_fill(p, 1, 3, 1, NULL), "elements of 3 bytes: they have 1, 2, 4 or 8");
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_fill(p, 1, 4, -1, NULL), "cannot fill -1 elements");
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_fill(p, 1, 4, INT64_MAX / 2, NULL),
                   "cannot fill 4611686018427387903 elements");
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_fill(NULL, 1, 4, 1, NULL), "'to' is null");
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_fill((char *)p + 2, 1, 4, 1, NULL),
                   "'to' is not a multiple of the elements' 4 bytes");
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, hdsrt_fill(p, 1, 1, 50000, NULL), "filling 50000 elements: invalid argument");
    EXPECT(hdsrt_release(p, NULL) == HDSRT_OK);
}

// ---- tensors ------------------------------------------------------------------------------------------------------

RIG_TEST(new_tensors)
{
    hdsrt_managed_tensor *t = NULL;
    const hdsrt_dtype f16 = {2, 16}, i4 = {0, 4};
    EXPECT(hdsrt_tensor_new(&t, f16, 3, (int64_t[]){2, 3, 5}, NULL) == HDSRT_OK);
    const hdsrt_tensor *d = &t->dl_tensor;
    EXPECT(d->ndim == 3 && d->shape[0] == 2 && d->shape[1] == 3 && d->shape[2] == 5 && d->byte_offset == 0);
    EXPECT(d->strides[0] == 15 && d->strides[1] == 5 && d->strides[2] == 1 && d->device.device_type == 2);
    EXPECT(d->device.device_id == 0 && d->dtype.code == 2 && d->dtype.bits == 16 && d->dtype.lanes == 1);
    memset(d->data, 1, 60);
    t->deleter(t);
    EXPECT(hdsrt_tensor_new(&t, i4, 1, (int64_t[]){7}, NULL) == HDSRT_OK);
    memset(t->dl_tensor.data, 1, 4);
    t->deleter(t);
    EXPECT(hdsrt_tensor_new(&t, f16, 0, NULL, NULL) == HDSRT_OK && t->dl_tensor.ndim == 0 && t->dl_tensor.data);
    t->deleter(t);
    EXPECT(hdsrt_tensor_new(&t, f16, 3, (int64_t[]){INT64_MAX, 0, INT64_MAX}, NULL) == HDSRT_OK && !t->dl_tensor.data);
    t->deleter(t);
    EXPECT(fake_cuda_live("memory") == 0);
    hdsrt_status bad = HDSRT_INVALID_ARGUMENT;
    t = NULL;
    EXPECT_FAILURE(bad, hdsrt_tensor_new(&t, f16, 1, (int64_t[]){-1}, NULL), "extents are negative or exceed 63 bits");
    EXPECT_FAILURE(bad, hdsrt_tensor_new(&t, f16, 2, (int64_t[]){INT64_MAX, 2}, NULL), "exceed 63 bits");
    EXPECT_FAILURE(bad, hdsrt_tensor_new(&t, f16, 1, (int64_t[]){INT64_MAX / 8}, NULL), "exceed 63 bits");
    EXPECT_FAILURE(bad, hdsrt_tensor_new(&t, f16, -1, NULL, NULL), "a tensor of -1 axes");
    EXPECT_FAILURE(bad, hdsrt_tensor_new(&t, (hdsrt_dtype){2, 0}, 0, NULL, NULL), "elements of 0 bits");
    EXPECT_FAILURE(bad, hdsrt_tensor_new(&t, f16, 2, NULL, NULL), "'shape' is null");
    EXPECT_FAILURE(bad, hdsrt_tensor_new(NULL, f16, 0, NULL, NULL), "'tensor' is null");
    EXPECT(hdsrt_tensor_new(&t, f16, 1, (int64_t[]){1ll << 55}, NULL) == HDSRT_OUT_OF_MEMORY && !t);
}

// Wherever it is deleted; and after its context is gone there is nothing to release.
RIG_TEST(tensors_and_contexts)
{
    hdsrt_managed_tensor *t = NULL;
    const hdsrt_dtype f16 = {2, 16};
    void *other, *current;
    int device = -1;
    fake_cuda_devices(2);
    EXPECT(hdsrt_tensor_new(&t, f16, 1, (int64_t[]){5}, NULL) == HDSRT_OK && hdsrt_use_device(1) == HDSRT_OK);
    t->deleter(t);
    EXPECT(fake_cuda_live("memory") == 0 && hdsrt_current_device(&device) == HDSRT_OK && device == 1);
    EXPECT(cuCtxCreate_v2(&other, 0, 0) == 0 && hdsrt_tensor_new(&t, f16, 1, (int64_t[]){5}, NULL) == HDSRT_OK);
    EXPECT(cuCtxDestroy_v2(other) == 0 && fake_cuda_live("memory") == 0);
    t->deleter(t);
    EXPECT(cuCtxGetCurrent(&current) == 0 && current != other);
    EXPECT(hdsrt_tensor_new(&t, f16, 1, (int64_t[]){5}, NULL) == HDSRT_OK && cuDevicePrimaryCtxReset_v2(1) == 0);
    EXPECT(hdsrt_use_device(1) == HDSRT_OK);
    t->deleter(t);
    EXPECT(fake_cuda_live("memory") == 0);
    EXPECT(hdsrt_tensor_new(&t, f16, 1, (int64_t[]){5}, NULL) == HDSRT_OK);
    fake_cuda_fail("cuMemFreeAsync", 1, 4);
    t->deleter(t);
    EXPECT(fake_cuda_live("memory") == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocating),
        cmocka_unit_test(a_gpu_without_pools),
        cmocka_unit_test(an_allocator_of_the_program),
        cmocka_unit_test(copies),
        cmocka_unit_test(fills),
        cmocka_unit_test(new_tensors),
        cmocka_unit_test(tensors_and_contexts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
