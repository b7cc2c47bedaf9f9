// Operands that are not contiguous or not aligned to 16 bytes, as operators need them: memory of the call's own, with a
// copy of what is read, and what is written goes back from there. All in the order of the stream.
#include "runtime/internal.h"

typedef struct call {
    const char *entry;
    const hdsrt_operand *operands;
    const hdsrt_tensor *const *tensors; // NULL: omitted
    int count;
    hdsrt_stream stream;
} call;

static bool is_empty(const hdsrt_tensor *t)
{
    for (int axis = 0; axis < t->ndim; axis++)
        if (!t->shape[axis])
            return true;
    return false;
}

// Without elements, wherever they are not: nothing that could be said against it.
static void take_nothing(hdsrt_tensor *t)
{
    t->data = NULL;
    t->byte_offset = 0;
    t->strides = NULL;
}

// As it is, or without elements.
static bool is_taken(const hdsrt_tensor *t)
{
    int64_t step = 1;
    bool is_dense = true;
    for (int axis = t->ndim - 1; t->strides && axis >= 0; axis--) {
        is_dense &= t->shape[axis] == 1 || t->strides[axis] == step;
        step = (int64_t)((uint64_t)step * (uint64_t)t->shape[axis]);
    }
    return is_empty(t) || (is_dense && (uintptr_t)hdsrt_address_of(t) % HDSRT_OPERAND_ALIGNMENT == 0);
}

// What a kernel would promise, before anything is read: no element that is written lies on another.
static hdsrt_status check(const call *c, hdsrt_joined *joined)
{
    hdsrt_tensor_rule rules[HDSRT_MOST_OPERANDS];
    hdsrt_strided_value values[HDSRT_MOST_OPERANDS];
    hdsrt_status status = HDSRT_OK;
    int count = 0;
    for (int i = 0; !status && i < c->count; i++) {
        const hdsrt_tensor *t = c->tensors[i];
        if (!t)
            continue;
        hdsrt_tensor_rule rule = {.name = c->operands[i].name,
                                  .dtype = {t->dtype.code, t->dtype.bits},
                                  .ndim = (uint8_t)t->ndim,
                                  .is_written = c->operands[i].is_written};
        hdsrt_strided_value value = {.shape = t->shape, .strides = is_taken(t) ? NULL : joined[i].strides};
        if (value.strides && t->dtype.bits % 8)
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                              "'%s': '%s' has to be contiguous, and aligned to %d bytes, since elements of "
                              "%d bits are not copied: make a contiguous copy",
                              c->entry, rule.name, HDSRT_OPERAND_ALIGNMENT, t->dtype.bits);
        status = hdsrt_check_dlpack_strided(c->entry, &rule, t, &value.data, joined[i].strides);
        rules[count] = rule;
        values[count++] = value;
    }
    return status ? status : hdsrt_check_strided(c->entry, rules, values, count);
}

// Checked, and joined.
static hdsrt_status copy(const call *c, int i, hdsrt_joined *joined)
{
    const hdsrt_tensor *t = c->tensors[i];
    int64_t bytes = 0;
    hdsrt_tensor_bytes(t->dtype.bits, t->ndim, t->shape, &bytes);
    hdsrt_status status = hdsrt_allocate(&joined->copy, bytes, c->stream);
    const hdsrt_elements to = {joined->copy, NULL}, from = {hdsrt_address_of(t), t->strides};
    if (!status && !c->operands[i].is_result)
        status = hdsrt_copy_elements(&to, &from, t->ndim, t->shape, t->dtype.bits / 8, c->stream);
    joined->tensor.data = joined->copy;
    joined->tensor.byte_offset = 0;
    joined->tensor.strides = NULL;
    return status;
}

static hdsrt_status release_all(const call *c, hdsrt_joined *joined, hdsrt_status status)
{
    for (int i = c->count - 1; i >= 0; i--) {
        hdsrt_status released = hdsrt_release(joined[i].copy, c->stream);
        status = status ? status : released;
        joined[i].copy = NULL;
    }
    return status;
}

hdsrt_status hdsrt_copy_operands(const char *entry, const hdsrt_operand *operands, const hdsrt_tensor *const *tensors,
                                 int count, hdsrt_joined *joined, hdsrt_stream stream)
{
    const call c = {entry, operands, tensors, count, stream};
    bool are_taken = true;
    for (int i = 0; i < count; i++) {
        joined[i].copy = NULL;
        are_taken &= !tensors[i] || is_taken(tensors[i]);
        if (tensors[i] && is_empty(tensors[i]))
            take_nothing(&joined[i].tensor);
    }
    if (are_taken)
        return HDSRT_OK;
    if (count > HDSRT_MOST_OPERANDS)
        return hdsrt_fail(HDSRT_UNSUPPORTED,
                          "'%s' has %d operands, and of more than %d none is copied: make contiguous copies", entry,
                          count, HDSRT_MOST_OPERANDS);
    hdsrt_status status = check(&c, joined);
    for (int i = 0; !status && i < count; i++)
        if (tensors[i] && !is_taken(tensors[i]))
            status = copy(&c, i, &joined[i]);
    return status ? release_all(&c, joined, status) : HDSRT_OK;
}

hdsrt_status hdsrt_finish_instance(const hdsrt_operand *operands, int count, const hdsrt_tensor *const *tensors,
                                   hdsrt_joined *joined, hdsrt_status status, hdsrt_stream stream)
{
    const call c = {NULL, operands, tensors, count, stream};
    for (int i = 0; !status && i < count; i++) {
        const hdsrt_tensor *t = tensors[i];
        if (!joined[i].copy || !operands[i].is_written)
            continue;
        const hdsrt_elements to = {hdsrt_address_of(t), t->strides}, from = {joined[i].copy, NULL};
        status = hdsrt_copy_elements(&to, &from, t->ndim, t->shape, t->dtype.bits / 8, stream);
    }
    return release_all(&c, joined, status);
}
