// Tensors of other libraries, over DLPack.
#include <inttypes.h>

#include "runtime/internal.h"

// DLDeviceType.
enum { ON_HOST = 1, ON_CUDA = 2, ON_PINNED_HOST = 3, ON_CUDA_MANAGED = 13 };

static const char *place_of(int type)
{
    switch (type) {
    case ON_HOST:
        return "the host";
    case ON_CUDA:
        return "a GPU";
    case ON_PINNED_HOST:
        return "the host (pinned)";
    default:
        return "a device that is no CUDA GPU";
    }
}

static hdsrt_status check_type(const char *entry, const hdsrt_tensor_rule *rule, const hdsrt_tensor *tensor)
{
    char expected[48], found[48];
    hdsrt_dtype is = {tensor->dtype.code, tensor->dtype.bits};
    if (tensor->ndim != rule->ndim)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' has %d %s, and it has to have %d", entry, rule->name,
                          tensor->ndim, tensor->ndim == 1 ? "axis" : "axes", rule->ndim);
    if (tensor->dtype.lanes != 1)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'%s': the elements of '%s' are vectors of %d lanes, and they have to be single values",
                          entry, rule->name, tensor->dtype.lanes);
    if (is.code == rule->dtype.code && is.bits == rule->dtype.bits)
        return HDSRT_OK;
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' is of %s, and it has to be of %s", entry, rule->name,
                      hdsrt_dtype_name(is, found), hdsrt_dtype_name(rule->dtype, expected));
}

static hdsrt_status check_place(const char *entry, const hdsrt_tensor_rule *rule, const hdsrt_tensor *tensor)
{
    const hdsrt_driver *cuda;
    int device = 0, type = (int)tensor->device.device_type;
    if (type == ON_CUDA_MANAGED)
        return HDSRT_OK;
    if (type != ON_CUDA)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' is on %s, and it has to be on the current GPU", entry,
                          rule->name, place_of(type));
    hdsrt_status status = hdsrt_context_device(&cuda, &device);
    if (status || tensor->device.device_id == device)
        return status;
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' is on GPU %d, and the current one is GPU %d", entry,
                      rule->name, tensor->device.device_id, device);
}

// Where there is at most one element along an axis, its stride says nothing.
static hdsrt_status check_strides(const char *entry, const hdsrt_tensor_rule *rule, const hdsrt_tensor *tensor)
{
    int64_t step = 1;
    for (int i = tensor->ndim - 1; tensor->strides && i >= 0; i--) {
        if (tensor->shape[i] > 1 && tensor->strides[i] != step)
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                              "'%s': '%s' has a stride of %" PRId64
                              " elements along axis %d, and it has to be row-major without gaps, "
                              "%" PRId64 " there: make a contiguous copy",
                              entry, rule->name, tensor->strides[i], i, step);
        step *= tensor->shape[i];
    }
    return HDSRT_OK;
}

static hdsrt_status check_data(const char *entry, const hdsrt_tensor_rule *rule, const hdsrt_tensor *tensor,
                               int64_t bytes, const void *address)
{
    hdsrt_status status = bytes ? check_strides(entry, rule, tensor) : HDSRT_OK;
    if (status || !bytes)
        return status;
    if (!tensor->data)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': the data of '%s' is null", entry, rule->name);
    if (rule->alignment && (uintptr_t)address & (rule->alignment - 1))
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' begins at %p, which is no multiple of %u: make a copy",
                          entry, rule->name, address, (unsigned)rule->alignment);
    return HDSRT_OK;
}

hdsrt_status hdsrt_check_dlpack(const char *entry, const hdsrt_tensor_rule *rule, const hdsrt_tensor *tensor,
                                const void **data)
{
    int64_t bytes = 0;
    if (!tensor)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' is null", entry, rule->name);
    hdsrt_status status = check_type(entry, rule, tensor);
    if (!status && tensor->ndim && !tensor->shape)
        status = hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': the shape of '%s' is null", entry, rule->name);
    if (!status && !hdsrt_tensor_bytes(rule->dtype.bits, rule->ndim, tensor->shape, &bytes))
        status = hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': the extents of '%s' are negative or exceed 63 bits", entry,
                            rule->name);
    if (!status)
        status = check_place(entry, rule, tensor);
    const void *address = tensor->data ? (const char *)tensor->data + tensor->byte_offset : NULL;
    if (!status)
        status = check_data(entry, rule, tensor, bytes, address);
    if (!status)
        *data = address;
    return status;
}
