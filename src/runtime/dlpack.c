// Tensors of other libraries, over DLPack.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/internal.h"

// DLDeviceType.
enum { ON_HOST = 1, ON_CUDA = 2, ON_PINNED_HOST = 3, ON_CUDA_MANAGED = 13 };

static const char *device_name(int type)
{
    switch (type) {
    case ON_HOST:
        return "the host";
    case ON_CUDA:
        return "a GPU";
    case ON_PINNED_HOST:
        return "the host (pinned)";
    default:
        return "a device that is not a CUDA GPU";
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

static hdsrt_status check_device(const char *entry, const hdsrt_tensor_rule *rule, const hdsrt_tensor *tensor)
{
    const hdsrt_driver *cuda;
    int device = 0, type = (int)tensor->device.device_type;
    if (type == ON_CUDA_MANAGED)
        return HDSRT_OK;
    if (type != ON_CUDA)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' is on %s, and it has to be on the current GPU", entry,
                          rule->name, device_name(type));
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
                               const void *address)
{
    if (!tensor->data)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': the data of '%s' is null", entry, rule->name);
    if (rule->alignment && (uintptr_t)address & (rule->alignment - 1))
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' begins at %p, which is not a multiple of %u: make a copy",
                          entry, rule->name, address, (unsigned)rule->alignment);
    return HDSRT_OK;
}

// All but the strides. [*bytes]: without gaps.
static hdsrt_status check_tensor(const char *entry, const hdsrt_tensor_rule *rule, const hdsrt_tensor *tensor,
                                 int64_t *bytes)
{
    if (!tensor)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' is null", entry, rule->name);
    hdsrt_status status = check_type(entry, rule, tensor);
    if (!status && tensor->ndim && !tensor->shape)
        status = hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': the shape of '%s' is null", entry, rule->name);
    if (!status && !hdsrt_tensor_bytes(rule->dtype.bits, rule->ndim, tensor->shape, bytes))
        status = hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': the extents of '%s' are negative or exceed 63 bits", entry,
                            rule->name);
    return status ? status : check_device(entry, rule, tensor);
}

const void *hdsrt_address_of(const hdsrt_tensor *tensor)
{
    return tensor->data ? (const char *)tensor->data + tensor->byte_offset : NULL;
}

hdsrt_status hdsrt_check_dlpack(const char *entry, const hdsrt_tensor_rule *rule, const hdsrt_tensor *tensor,
                                const void **data)
{
    int64_t bytes = 0;
    hdsrt_status status = check_tensor(entry, rule, tensor, &bytes);
    if (!status && bytes)
        status = check_strides(entry, rule, tensor);
    if (!status && bytes)
        status = check_data(entry, rule, tensor, hdsrt_address_of(tensor));
    if (!status)
        *data = hdsrt_address_of(tensor);
    return status;
}

// ---- strides -------------------------------------------------------------------------------------------------------

// Of one element along an axis: as if the elements lay row by row, each axis holding one at least.
static int64_t stride_of(const hdsrt_tensor *tensor, int axis)
{
    int64_t dense = 1;
    if (tensor->strides && tensor->shape[axis] > 1)
        return tensor->strides[axis];
    for (int i = tensor->ndim - 1; i > axis; i--) {
        if (tensor->shape[i] > 1 && __builtin_mul_overflow(dense, tensor->shape[i], &dense))
            return INT64_MAX;
    }
    return dense;
}

hdsrt_status hdsrt_check_dlpack_strided(const char *entry, const hdsrt_tensor_rule *rule, const hdsrt_tensor *tensor,
                                        const void **data, int64_t *strides)
{
    int64_t bytes = 0;
    hdsrt_status status = check_tensor(entry, rule, tensor, &bytes);
    for (int i = 0; !status && i < rule->ndim; i++) {
        if (stride_of(tensor, i) < 0)
            status = hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                                "'%s': '%s' has a stride of %" PRId64
                                " elements along axis %d, and it has to be at least 0: make a contiguous copy",
                                entry, rule->name, stride_of(tensor, i), i);
    }
    if (!status && bytes)
        status = check_data(entry, rule, tensor, hdsrt_address_of(tensor));
    if (status)
        return status;
    for (int i = 0; i < rule->ndim; i++)
        strides[i] = stride_of(tensor, i);
    *data = hdsrt_address_of(tensor);
    return HDSRT_OK;
}

hdsrt_status hdsrt_check_stride(const char *entry, const char *name, const hdsrt_tensor *tensor, int axis,
                                int64_t expected, const char *rule)
{
    char number[24];
    bool says_nothing = tensor->shape[axis] <= 1 || stride_of(tensor, axis) == expected;
    for (int i = 0; i < tensor->ndim; i++)
        says_nothing |= !tensor->shape[i];
    if (says_nothing)
        return HDSRT_OK;
    snprintf(number, sizeof number, "%" PRId64, expected);
    bool is_plain = strcmp(number, rule) == 0;
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                      "'%s': '%s' has a stride of %" PRId64 " elements along axis %d, and it has to be %s%s%s", entry,
                      name, stride_of(tensor, axis), axis, rule, is_plain ? "" : ", which is ", is_plain ? "" : number);
}
