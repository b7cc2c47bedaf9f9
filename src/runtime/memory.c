// Memory of the GPU: the program's allocator or the driver's, copies, fills, tensors.
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

enum { ALIGNMENT = 256, MAX_NDIM = 64 };

// ---- allocators --------------------------------------------------------------------------------------------------

static pthread_rwlock_t allocator_lock = PTHREAD_RWLOCK_INITIALIZER;
static hdsrt_allocator program_allocator; // .allocate NULL: the driver's own

void hdsrt_set_allocator(const hdsrt_allocator *allocator)
{
    pthread_rwlock_wrlock(&allocator_lock);
    program_allocator = allocator ? *allocator : (hdsrt_allocator){0};
    pthread_rwlock_unlock(&allocator_lock);
}

// A copy: the program's functions are called without the lock.
static hdsrt_allocator current_allocator(void)
{
    pthread_rwlock_rdlock(&allocator_lock);
    hdsrt_allocator a = program_allocator;
    pthread_rwlock_unlock(&allocator_lock);
    return a;
}

static hdsrt_status driver_allocate(const hdsrt_driver *cuda, int device, void **address, int64_t bytes,
                                    hdsrt_stream stream)
{
    bool has_pools;
    uint64_t found = 0;
    hdsrt_status status = hdsrt_device_has_pools(cuda, device, &has_pools);
    if (status)
        return status;
    int result =
        has_pools ? cuda->allocate_async(&found, (size_t)bytes, stream) : cuda->allocate(&found, (size_t)bytes);
    status = hdsrt_driver_fail(result, "allocating %" PRId64 " bytes on GPU %d", bytes, device);
    if (!status)
        *address = (void *)(uintptr_t)found;
    return status;
}

static int driver_release(const hdsrt_driver *cuda, bool has_pools, void *address, hdsrt_stream stream)
{
    uint64_t value = (uint64_t)(uintptr_t)address;
    if (has_pools)
        return cuda->release_async(value, stream);
    int result = cuda->stream_synchronize(stream);
    return result ? result : cuda->release(value);
}

static hdsrt_status allocate_from(const hdsrt_allocator *a, void **address, int64_t bytes, hdsrt_stream stream)
{
    const hdsrt_driver *cuda;
    int device = 0;
    hdsrt_status status = hdsrt_context_device(&cuda, &device);
    if (status)
        return status;
    if (!a->allocate)
        return driver_allocate(cuda, device, address, bytes, stream);
    void *found = a->allocate(a->user, (size_t)bytes, device, stream);
    if (!found)
        return hdsrt_fail(HDSRT_OUT_OF_MEMORY, "the program's allocator has no %" PRId64 " bytes on GPU %d", bytes,
                          device);
    if ((uintptr_t)found % ALIGNMENT) {
        a->release(a->user, found, device, stream);
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "the program's allocator gave an address that is not a multiple of %d", ALIGNMENT);
    }
    *address = found;
    return HDSRT_OK;
}

hdsrt_status hdsrt_allocate(void **address, int64_t bytes, hdsrt_stream stream)
{
    if (!address)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "hdsrt_allocate: 'address' is null");
    if (bytes < 0)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "cannot allocate %" PRId64 " bytes", bytes);
    hdsrt_allocator a = current_allocator();
    void *found = NULL;
    hdsrt_status status = bytes ? allocate_from(&a, &found, bytes, stream) : HDSRT_OK;
    if (!status)
        *address = found;
    return status;
}

hdsrt_status hdsrt_release(void *address, hdsrt_stream stream)
{
    const hdsrt_driver *cuda;
    int device = 0;
    bool has_pools = false;
    if (!address)
        return HDSRT_OK;
    hdsrt_status status = hdsrt_context_device(&cuda, &device);
    if (status)
        return status;
    hdsrt_allocator a = current_allocator();
    if (a.allocate) {
        a.release(a.user, address, device, stream);
        return HDSRT_OK;
    }
    status = hdsrt_device_has_pools(cuda, device, &has_pools);
    return status ? status : hdsrt_driver_fail(driver_release(cuda, has_pools, address, stream), "releasing memory");
}

// ---- copies, fills -----------------------------------------------------------------------------------------------

hdsrt_status hdsrt_copy(void *to, const void *from, int64_t bytes, hdsrt_stream stream)
{
    const hdsrt_driver *cuda;
    if (bytes < 0)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "cannot copy %" PRId64 " bytes", bytes);
    if (!bytes)
        return HDSRT_OK;
    if (!to || !from)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "hdsrt_copy: '%s' is null", to ? "from" : "to");
    hdsrt_status status = hdsrt_context_any(&cuda);
    if (status)
        return status;
    int result = cuda->copy_async((uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, (size_t)bytes, stream);
    return hdsrt_driver_fail(result, "copying %" PRId64 " bytes", bytes);
}

// The driver fills with 4 bytes at most. Words of 8 that differ in their halves are two columns of a matrix, which is
// slow (13 GB/s on an H200): a few are made so, and copied, twice as many each time.
static int fill_words(const hdsrt_driver *cuda, uint64_t to, uint64_t pattern, size_t count, hdsrt_stream stream)
{
    enum { FEW = 1024 };
    uint32_t low = (uint32_t)pattern, high = (uint32_t)(pattern >> 32);
    size_t done = count < FEW ? count : FEW;
    if (low == high)
        return cuda->fill_32(to, low, 2 * count, stream);
    int result = cuda->fill_2d_32(to, 8, low, 1, done, stream);
    if (!result)
        result = cuda->fill_2d_32(to + 4, 8, high, 1, done, stream);
    while (!result && done < count) {
        size_t more = done < count - done ? done : count - done;
        result = cuda->copy_async(to + 8 * done, to, 8 * more, stream);
        done += more;
    }
    return result;
}

static int fill(const hdsrt_driver *cuda, uint64_t to, uint64_t pattern, int element_bytes, size_t count,
                hdsrt_stream stream)
{
    switch (element_bytes) {
    case 1:
        return cuda->fill_8(to, (unsigned char)pattern, count, stream);
    case 2:
        return cuda->fill_16(to, (unsigned short)pattern, count, stream);
    case 4:
        return cuda->fill_32(to, (unsigned)pattern, count, stream);
    default:
        return fill_words(cuda, to, pattern, count, stream);
    }
}

hdsrt_status hdsrt_fill(void *to, uint64_t pattern, int element_bytes, int64_t count, hdsrt_stream stream)
{
    const hdsrt_driver *cuda;
    if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4 && element_bytes != 8)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "cannot fill with elements of %d bytes: they have 1, 2, 4 or 8",
                          element_bytes);
    if (count < 0 || count > INT64_MAX / element_bytes)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "cannot fill %" PRId64 " elements", count);
    if (!count)
        return HDSRT_OK;
    if (!to)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "hdsrt_fill: 'to' is null");
    if ((uintptr_t)to % (unsigned)element_bytes)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "hdsrt_fill: 'to' is not a multiple of the elements' %d bytes",
                          element_bytes);
    hdsrt_status status = hdsrt_context_any(&cuda);
    if (status)
        return status;
    int result = fill(cuda, (uint64_t)(uintptr_t)to, pattern, element_bytes, (size_t)count, stream);
    return hdsrt_driver_fail(result, "filling %" PRId64 " elements", count);
}

// ---- tensors -----------------------------------------------------------------------------------------------------

typedef struct owned_tensor {
    hdsrt_managed_tensor managed; // first
    hdsrt_allocator allocator;
    void *context;
    unsigned long long context_id;
    int64_t extents[]; // the shape, then the strides
} owned_tensor;

// In the context that the memory belongs to; where that is gone, so is the memory. (A context that was destroyed must
// not be made current: the driver takes it and crashes later.) Errors cannot be reported here.
static void release_memory(const owned_tensor *t)
{
    const hdsrt_driver *cuda = hdsrt_driver_get();
    const hdsrt_tensor *tensor = &t->managed.dl_tensor;
    unsigned long long id = 0;
    void *before = NULL;
    bool has_pools = false;
    if (cuda->context_id(t->context, &id) || id != t->context_id || cuda->context_push(t->context))
        return;
    if (t->allocator.allocate)
        t->allocator.release(t->allocator.user, tensor->data, tensor->device.device_id, NULL);
    else if (!hdsrt_device_has_pools(cuda, tensor->device.device_id, &has_pools))
        driver_release(cuda, has_pools, tensor->data, NULL);
    cuda->context_pop(&before);
}

static void delete_tensor(hdsrt_managed_tensor *self)
{
    owned_tensor *t = self->manager_ctx;
    if (t->managed.dl_tensor.data)
        release_memory(t);
    free(t);
}

static owned_tensor *tensor_of(hdsrt_dtype dtype, int ndim, const int64_t *shape)
{
    owned_tensor *t = calloc(1, sizeof *t + 2 * (size_t)ndim * sizeof(int64_t));
    if (!t)
        return NULL;
    int64_t *strides = t->extents + ndim;
    uint64_t step = 1; // of a tensor without elements it may be anything
    for (int i = ndim - 1; i >= 0; i--) {
        t->extents[i] = shape[i];
        strides[i] = (int64_t)step;
        step *= shape[i] ? (uint64_t)shape[i] : 1;
    }
    t->managed.manager_ctx = t;
    t->managed.deleter = delete_tensor;
    hdsrt_tensor *tensor = &t->managed.dl_tensor;
    tensor->device.device_type = 2;
    tensor->ndim = ndim;
    tensor->dtype.code = dtype.code;
    tensor->dtype.bits = dtype.bits;
    tensor->dtype.lanes = 1;
    tensor->shape = t->extents;
    tensor->strides = strides;
    return t;
}

static hdsrt_status fill_tensor(owned_tensor *t, int64_t bytes, hdsrt_stream stream)
{
    const hdsrt_driver *cuda;
    int device = 0;
    hdsrt_status status = hdsrt_context_begin(&cuda, &t->context_id);
    if (!status)
        status = hdsrt_driver_fail(cuda->context_get(&t->context), "asking for the current context");
    if (!status)
        status = hdsrt_context_device(&cuda, &device);
    if (status)
        return status;
    t->managed.dl_tensor.device.device_id = device;
    t->allocator = current_allocator();
    return bytes ? allocate_from(&t->allocator, &t->managed.dl_tensor.data, bytes, stream) : HDSRT_OK;
}

hdsrt_status hdsrt_tensor_new(hdsrt_managed_tensor **tensor, hdsrt_dtype dtype, int ndim, const int64_t *shape,
                              hdsrt_stream stream)
{
    int64_t bytes;
    if (!tensor || (ndim > 0 && !shape))
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "hdsrt_tensor_new: '%s' is null", tensor ? "shape" : "tensor");
    if (ndim < 0 || ndim > MAX_NDIM || !dtype.bits)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "cannot make a tensor of %d axes and elements of %d bits", ndim,
                          dtype.bits);
    if (!hdsrt_tensor_bytes(dtype.bits, ndim, shape, &bytes))
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "cannot make a tensor whose extents are negative or exceed 63 bits");
    owned_tensor *t = tensor_of(dtype, ndim, shape);
    if (!t)
        return hdsrt_fail(HDSRT_OUT_OF_MEMORY, "the host has no memory for a tensor");
    hdsrt_status status = fill_tensor(t, bytes, stream);
    if (status)
        free(t);
    else
        *tensor = &t->managed;
    return status;
}
