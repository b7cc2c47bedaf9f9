// Devices and contexts.
//
// A primary context is retained when it is first needed and kept until the process ends. One that was reset since is
// retained again when the program asks for its device (hdsrt_use_device), or a thread without a context needs device 0.
#include "runtime/internal.h"

enum { MAX_DEVICES = 64 };

// What is known of a device; numbers are 0 until they are asked.
typedef struct device {
    void *primary;  // NULL: not retained; under the lock
    int capability; // atomic
    int pools;      // atomic; 1: none, 2: it has them
} device;

static device devices[MAX_DEVICES];

// ---- contexts ----------------------------------------------------------------------------------------------------

// With the lock held. One that was reset is released as well, so that it is retained once.
static hdsrt_status retain(const hdsrt_driver *cuda, int number)
{
    unsigned flags;
    int is_active = 0, handle = 0;
    device *d = &devices[number];
    hdsrt_status status = hdsrt_driver_fail(cuda->device_get(&handle, number), "looking for GPU %d", number);
    if (status)
        return status;
    if (d->primary) {
        status = hdsrt_driver_fail(cuda->primary_state(handle, &flags, &is_active), "asking for the context of GPU %d",
                                   number);
        if (status || is_active)
            return status;
        cuda->primary_release(handle);
        d->primary = NULL;
    }
    void *context = NULL;
    status = hdsrt_driver_fail(cuda->primary_retain(&context, handle), "making a context on GPU %d", number);
    if (!status)
        d->primary = context;
    return status;
}

static hdsrt_status use_primary(const hdsrt_driver *cuda, int number)
{
    hdsrt_lock();
    hdsrt_status status = retain(cuda, number);
    void *context = devices[number].primary;
    hdsrt_unlock();
    return status ? status
                  : hdsrt_driver_fail(cuda->context_set(context), "making the context of GPU %d current", number);
}

hdsrt_status hdsrt_context_begin(const hdsrt_driver **cuda, unsigned long long *id)
{
    void *current = NULL;
    hdsrt_status status = hdsrt_driver_open(cuda);
    if (status)
        return status;
    int result = (*cuda)->context_id(NULL, id);
    if (!result)
        return HDSRT_OK;
    if (result != HDSRT_CUDA_INVALID_CONTEXT || (*cuda)->context_get(&current) || current)
        return hdsrt_driver_fail(result, "asking for the current context");
    status = use_primary(*cuda, 0);
    return status ? status : hdsrt_driver_fail((*cuda)->context_id(NULL, id), "asking for the current context");
}

hdsrt_status hdsrt_context_any(const hdsrt_driver **cuda)
{
    unsigned long long id;
    return hdsrt_context_begin(cuda, &id);
}

hdsrt_status hdsrt_context_device(const hdsrt_driver **cuda, int *number)
{
    *cuda = hdsrt_driver_get();
    if (*cuda && !(*cuda)->context_device(number))
        return HDSRT_OK;
    hdsrt_status status = hdsrt_context_any(cuda);
    return status ? status : hdsrt_driver_fail((*cuda)->context_device(number), "asking for the current device");
}

// ---- devices -----------------------------------------------------------------------------------------------------

static hdsrt_status attribute(const hdsrt_driver *cuda, int *value, int which, int number)
{
    return hdsrt_driver_fail(cuda->device_attribute(value, which, number), "querying GPU %d", number);
}

hdsrt_status hdsrt_device_capability(const hdsrt_driver *cuda, int number, int *capability)
{
    int major, minor, *known = number < MAX_DEVICES ? &devices[number].capability : NULL;
    *capability = known ? __atomic_load_n(known, __ATOMIC_RELAXED) : 0;
    if (*capability)
        return HDSRT_OK;
    hdsrt_status status = attribute(cuda, &major, HDSRT_DEVICE_MAJOR, number);
    if (!status)
        status = attribute(cuda, &minor, HDSRT_DEVICE_MINOR, number);
    if (status)
        return status;
    *capability = major * 10 + minor;
    if (known)
        __atomic_store_n(known, *capability, __ATOMIC_RELAXED);
    return HDSRT_OK;
}

hdsrt_status hdsrt_device_has_pools(const hdsrt_driver *cuda, int number, bool *has_pools)
{
    int value = 0, *known = number < MAX_DEVICES ? &devices[number].pools : NULL,
        pools = known ? __atomic_load_n(known, __ATOMIC_RELAXED) : 0;
    *has_pools = pools == 2;
    if (pools)
        return HDSRT_OK;
    hdsrt_status status = attribute(cuda, &value, HDSRT_DEVICE_POOLS, number);
    if (status)
        return status;
    *has_pools = value;
    if (known)
        __atomic_store_n(known, value ? 2 : 1, __ATOMIC_RELAXED);
    return HDSRT_OK;
}

hdsrt_status hdsrt_device_count(int *count)
{
    const hdsrt_driver *cuda;
    if (!count)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "hdsrt_device_count: 'count' is null");
    *count = 0;
    hdsrt_status status = hdsrt_driver_open(&cuda);
    // The driver does not start where there is nothing for it to drive.
    if (status == HDSRT_NO_DEVICE)
        return HDSRT_OK;
    return status ? status : hdsrt_driver_fail(cuda->device_count(count), "counting the GPUs");
}

hdsrt_status hdsrt_use_device(int number)
{
    const hdsrt_driver *cuda;
    int count = 0;
    hdsrt_status status = hdsrt_driver_open(&cuda);
    if (!status)
        status = hdsrt_driver_fail(cuda->device_count(&count), "counting the GPUs");
    if (status)
        return status;
    if (number < 0 || number >= count || number >= MAX_DEVICES)
        return hdsrt_fail(HDSRT_NO_DEVICE, "there is no GPU %d: this machine has %d, counted from 0", number, count);
    return use_primary(cuda, number);
}

hdsrt_status hdsrt_current_device(int *number)
{
    const hdsrt_driver *cuda;
    if (!number)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "hdsrt_current_device: 'device' is null");
    int found = 0;
    hdsrt_status status = hdsrt_context_device(&cuda, &found);
    if (!status)
        *number = found;
    return status;
}

hdsrt_status hdsrt_current_context(unsigned long long *id)
{
    const hdsrt_driver *cuda;
    if (!id)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "hdsrt_current_context: 'id' is null");
    return hdsrt_context_begin(&cuda, id);
}

hdsrt_status hdsrt_capability(int *major, int *minor)
{
    const hdsrt_driver *cuda;
    int number = 0, capability = 0;
    if (!major || !minor)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "hdsrt_capability: '%s' is null", major ? "minor" : "major");
    hdsrt_status status = hdsrt_context_device(&cuda, &number);
    if (!status)
        status = hdsrt_device_capability(cuda, number, &capability);
    if (status)
        return status;
    *major = capability / 10;
    *minor = capability % 10;
    return HDSRT_OK;
}

hdsrt_status hdsrt_device_attribute(int *value, int attribute)
{
    const hdsrt_driver *cuda;
    int number = 0;
    if (!value)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "hdsrt_device_attribute: 'value' is null");
    hdsrt_status status = hdsrt_context_device(&cuda, &number);
    if (status)
        return status;
    return hdsrt_driver_fail(cuda->device_attribute(value, attribute, number), "asking for attribute %d of GPU %d",
                             attribute, number);
}

hdsrt_status hdsrt_synchronize(hdsrt_stream stream)
{
    const hdsrt_driver *cuda;
    hdsrt_status status = hdsrt_context_any(&cuda);
    return status ? status : hdsrt_driver_fail(cuda->stream_synchronize(stream), "waiting for the stream");
}
