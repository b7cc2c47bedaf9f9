// From arguments to kernel parameters: scalars as the bits of their types, sizes deduced from tensors, and addresses.
// Everything that the document promises about them is checked.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/strided_span.h"
#include "jit/jit.h"

static const char *entry_of(const jit_frame *f)
{
    return f->kernel->launch.name;
}

// Prefixes the error with "'saxpy': 'n' …", as in the messages of libhdsrt.
#define FAIL(f, p, format, ...) \
    hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' " format, entry_of(f), (p)->shown.name, ##__VA_ARGS__)

void jit_frame_init(jit_frame *f, const jit_kernel *kernel, void *room)
{
    size_t count = (size_t)kernel->count, tensors = (size_t)kernel->tensor_count;
    f->kernel = kernel;
    f->values = room;
    f->bits = (uint64_t *)(f->values + count);
    f->addresses = (void **)(f->bits + count);
    f->tensors = (hdsrt_strided_value *)(f->addresses + count + kernel->map_count);
    f->extents = (int64_t *)(f->tensors + tensors);
    // The driver requires the alignment of the type, which the buffer does not have.
    f->strides = f->extents + kernel->extent_count;
    uintptr_t behind = (uintptr_t)(f->strides + kernel->extent_count), unit = _Alignof(hdsrt_tensor_map);
    f->maps = (hdsrt_tensor_map *)((behind + unit - 1) / unit * unit);
}

// Checks the declared range and divisor of an integer.
static hdsrt_status check_facts(const jit_frame *f, const jit_parameter *p, int64_t value)
{
    if (value < p->min)
        return FAIL(f, p, "is %" PRId64 ", and it has to be at least %" PRId64, value, p->min);
    if (value > p->max)
        return FAIL(f, p, "is %" PRId64 ", and it has to be at most %" PRId64, value, p->max);
    if (value % p->divisor)
        return FAIL(f, p, "is %" PRId64 ", and it has to be a multiple of %" PRId64, value, p->divisor);
    return HDSRT_OK;
}

static void keep(jit_frame *f, int i, jit_value value, uint64_t bits)
{
    f->values[i] = value;
    f->bits[i] = bits;
    f->addresses[i] = &f->bits[i];
}

// ---- scalars ---------------------------------------------------------------------------------------------------

static const char *kind_of_argument(const hds_argument *a)
{
    switch (a->kind) {
    case HDS_ARG_INT: return "an integer";
    case HDS_ARG_FLOAT: return "a float";
    case HDS_ARG_POINTER: return "a pointer";
    case HDS_ARG_TENSOR: return "a tensor";
    }
    return "an argument of an unknown kind";
}

static hdsrt_status wrong_kind(const jit_frame *f, const jit_parameter *p, const hds_argument *a, const char *wanted)
{
    return FAIL(f, p, "is %s and takes %s, not %s", p->shown.dtype, wanted, kind_of_argument(a));
}

static hdsrt_status take_integer(jit_frame *f, int i, int64_t value)
{
    const jit_parameter *p = &f->kernel->parameters[i];
    // Every 64-bit pattern is a valid u64.
    if (p->type != DT_U64 && !dt_holds_int(p->type, value))
        return FAIL(f, p, "is %s and cannot be %" PRId64, p->shown.dtype, value);
    bool is_huge = p->type == DT_U64 && value < 0;
    keep(f, i, (jit_value){.kind = is_huge ? JIT_HUGE : JIT_INTEGER, .u.integer = value}, (uint64_t)value);
    return is_huge ? HDSRT_OK : check_facts(f, p, value);
}

static hdsrt_status take_float(jit_frame *f, int i, double value)
{
    dtype type = f->kernel->parameters[i].type;
    uint64_t bits = dt_from_double(type, value);
    keep(f, i, (jit_value){.kind = JIT_REAL, .u.real = dt_to_double(type, bits)}, bits);
    return HDSRT_OK;
}

// Vectors and complex numbers are passed by address.
static hdsrt_status take_by_address(jit_frame *f, int i, const hds_argument *a)
{
    const jit_parameter *p = &f->kernel->parameters[i];
    if (a->kind != HDS_ARG_POINTER)
        return wrong_kind(f, p, a, "a pointer to its value in host memory");
    if (!a->value.pointer)
        return FAIL(f, p, "is null instead of a pointer to a %s in host memory", p->shown.dtype);
    keep(f, i, (jit_value){.kind = JIT_OTHER}, (uint64_t)(uintptr_t)a->value.pointer);
    f->addresses[i] = a->value.pointer;
    return HDSRT_OK;
}

static hdsrt_status take_scalar(jit_frame *f, int i, const hds_argument *a)
{
    const jit_parameter *p = &f->kernel->parameters[i];
    bool is_float = dt_is_float(p->type);
    if (p->lanes || p->type == DT_C64)
        return take_by_address(f, i, a);
    if (a->kind == HDS_ARG_INT)
        return is_float ? take_float(f, i, (double)a->value.integer) : take_integer(f, i, a->value.integer);
    if (a->kind == HDS_ARG_FLOAT && is_float)
        return take_float(f, i, a->value.real);
    return wrong_kind(f, p, a, is_float ? "a float" : "an integer");
}

// ---- sizes -----------------------------------------------------------------------------------------------------

// [by]: the tensor that the size is deduced from; NULL: it was given by the caller.
static hdsrt_status set_size(jit_frame *f, int i, int64_t value, const char *by)
{
    const jit_parameter *p = &f->kernel->parameters[i];
    if (value < 0)
        return by ? FAIL(f, p, "is %" PRId64 " by '%s': a size is not negative", value, by)
                  : FAIL(f, p, "is %" PRId64 ": a size is not negative", value);
    if (!dt_holds_int(p->type, value))
        return FAIL(f, p, "is %" PRId64 ", which does not fit in %s", value, p->shown.dtype);
    keep(f, i, (jit_value){.kind = JIT_INTEGER, .u.integer = value}, (uint64_t)value);
    return check_facts(f, p, value);
}

static hdsrt_status take_size(jit_frame *f, int i, const hds_argument *a)
{
    if (a->kind != HDS_ARG_INT)
        return wrong_kind(f, &f->kernel->parameters[i], a, "an integer");
    return set_size(f, i, a->value.integer, NULL);
}

static bool is_known(const jit_frame *f, int i)
{
    return f->addresses[i] != NULL;
}

// An extent that is just a size determines that size.
static hdsrt_status learn_sizes(jit_frame *f, const jit_parameter *p, const int64_t *shape)
{
    for (int d = 0; d < p->shown.ndim; d++) {
        const jit_expr *extent = &p->shape[d];
        int i = extent->kind == JIT_EXPR_NAME ? (int)extent->number : -1;
        if (i < 0 || f->kernel->parameters[i].shown.kind != HDS_SIZE || is_known(f, i))
            continue;
        hdsrt_status status = set_size(f, i, shape[d], p->shown.name);
        if (status)
            return status;
    }
    return HDSRT_OK;
}

// Whether a DLPack tensor gave its extents.
static bool has_extents(const hds_argument *arguments, int i)
{
    return arguments[i].kind == HDS_ARG_TENSOR && arguments[i].value.tensor;
}

// The same for strides, after all extents: first of axes with more than one element, then of the others.
static hdsrt_status learn_from_strides(jit_frame *f, const jit_parameter *p, bool from_idle)
{
    for (int d = 0; d < p->shown.ndim; d++) {
        const jit_expr *stride = &p->strides[d];
        int i = stride->kind == JIT_EXPR_NAME ? (int)stride->number : -1;
        bool is_idle = f->extents[p->first_extent + d] <= 1;
        if (i < 0 || f->kernel->parameters[i].shown.kind != HDS_SIZE || is_known(f, i) || is_idle != from_idle)
            continue;
        hdsrt_status status = set_size(f, i, f->strides[p->first_extent + d], p->shown.name);
        if (status)
            return status;
    }
    return HDSRT_OK;
}

static hdsrt_status learn_strides(jit_frame *f, const hds_argument *arguments)
{
    hdsrt_status status = HDSRT_OK;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < f->kernel->count && !status; i++) {
            const jit_parameter *p = &f->kernel->parameters[i];
            if (p->strides && has_extents(arguments, i))
                status = learn_from_strides(f, p, pass);
        }
    }
    return status;
}

static hdsrt_status check_sizes(const jit_frame *f)
{
    for (int i = 0; i < f->kernel->count; i++) {
        if (!is_known(f, i))
            return FAIL(f, &f->kernel->parameters[i],
                        "is a size that no tensor tells: pass it, behind the other arguments");
    }
    return HDSRT_OK;
}

// ---- tensors ---------------------------------------------------------------------------------------------------

static void keep_address(jit_frame *f, int i, const void *address)
{
    const jit_parameter *p = &f->kernel->parameters[i];
    keep(f, i, (jit_value){.kind = JIT_OTHER}, (uint64_t)(uintptr_t)address);
    if (p->tensor >= 0)
        f->tensors[p->tensor] = (hdsrt_strided_value){address, f->extents + p->first_extent,
                                                      p->strides ? f->strides + p->first_extent : NULL};
}

static bool is_row_major(const hdsrt_tensor *t)
{
    int64_t stride = 1;
    for (int d = t->ndim - 1; t->strides && d >= 0; d--) {
        if (t->shape[d] != 1 && t->strides[d] != stride)
            return false;
        if (!mul_checked(stride, t->shape[d], &stride))
            return false;
    }
    return true;
}

// As hdsrt_check_dlpack_strided: the stride of one element is that of row-major order.
static int64_t stride_of(const hdsrt_tensor *t, int axis)
{
    int64_t dense = 1;
    if (t->strides && t->shape[axis] > 1)
        return t->strides[axis];
    for (int d = t->ndim - 1; d > axis; d--) {
        if (t->shape[d] > 1 && !mul_checked(dense, t->shape[d], &dense))
            return INT64_MAX;
    }
    return dense;
}

static hdsrt_status keep_strides(jit_frame *f, const jit_parameter *p, const hdsrt_tensor *t)
{
    for (int d = 0; d < t->ndim; d++) {
        int64_t stride = stride_of(t, d);
        if (stride < 0)
            return FAIL(f, p, "has a stride of %" PRId64 " elements along axis %d, and it has to be at least 0",
                        stride, d);
        f->strides[p->first_extent + d] = stride;
    }
    return HDSRT_OK;
}

static bool is_empty(const hdsrt_tensor *t)
{
    for (int d = 0; d < t->ndim; d++) {
        if (t->shape[d] == 0)
            return true;
    }
    return false;
}

// As the language calls it, or "another type" that it does not have.
static const char *type_name(const hdsrt_tensor *t)
{
    for (int i = 0; i < DT__COUNT && t->dtype.lanes == 1; i++) {
        hdsrt_dtype known = jit_dlpack_type((dtype)i);
        if (known.bits && known.code == t->dtype.code && known.bits == t->dtype.bits)
            return dt_name((dtype)i);
    }
    return "another type";
}

// As hdsrt_check_dlpack, for tensors that the simulator is to use.
static hdsrt_status check_host(const jit_frame *f, const jit_parameter *p, const hdsrt_tensor *t, const void **data)
{
    enum { HOST = 1, PINNED_HOST = 3, MANAGED = 13 };
    const hdsrt_dtype want = f->kernel->rules[p->tensor].dtype;
    if (t->dtype.code != want.code || t->dtype.bits != want.bits || t->dtype.lanes != 1)
        return FAIL(f, p, "is of %s, and it has to be of %s", type_name(t), p->shown.dtype);
    if (t->device.device_type != HOST && t->device.device_type != PINNED_HOST && t->device.device_type != MANAGED)
        return FAIL(f, p, "is not in host memory, which the simulator works on (device type %d)",
                    (int)t->device.device_type);
    if (!p->strides && !is_empty(t) && !is_row_major(t))
        return FAIL(f, p, "has gaps between its elements, or another order than row by row");
    if (!is_empty(t) && !t->data)
        return FAIL(f, p, "is null");
    *data = t->data ? (const char *)t->data + t->byte_offset : NULL;
    return HDSRT_OK;
}

static hdsrt_status check_rank(const jit_frame *f, const jit_parameter *p, const hdsrt_tensor *t)
{
    if (t->ndim != p->shown.ndim)
        return FAIL(f, p, "has %d dimension%s and needs %d", (int)t->ndim, t->ndim == 1 ? "" : "s", p->shown.ndim);
    if (t->ndim && !t->shape)
        return FAIL(f, p, "is a tensor without a shape");
    return HDSRT_OK;
}

static hdsrt_status take_dlpack(jit_frame *f, int i, const hdsrt_tensor *t, jit_purpose purpose)
{
    const jit_parameter *p = &f->kernel->parameters[i];
    const void *data = NULL;
    if (!t)
        return FAIL(f, p, "is null instead of a tensor");
    hdsrt_status status = check_rank(f, p, t);
    if (!status && purpose == JIT_TO_LAUNCH && p->strides)
        status = hdsrt_check_dlpack_strided(entry_of(f), &f->kernel->rules[p->tensor], t, &data,
                                            f->strides + p->first_extent);
    else if (!status && purpose == JIT_TO_LAUNCH)
        status = hdsrt_check_dlpack(entry_of(f), &f->kernel->rules[p->tensor], t, &data);
    if (!status && purpose == JIT_TO_SIMULATE)
        status = check_host(f, p, t, &data);
    if (status)
        return status;
    keep_address(f, i, data);
    memcpy(f->extents + p->first_extent, t->shape, (size_t)t->ndim * sizeof(int64_t));
    if (p->strides && purpose != JIT_TO_LAUNCH)
        status = keep_strides(f, p, t);
    return status ? status : learn_sizes(f, p, t->shape);
}

static hdsrt_status take_tensor(jit_frame *f, int i, const hds_argument *a, jit_purpose purpose)
{
    bool may_miss = purpose == JIT_TO_MEASURE;
    if (a->kind == HDS_ARG_TENSOR && (a->value.tensor || !may_miss))
        return take_dlpack(f, i, a->value.tensor, purpose);
    if (a->kind != HDS_ARG_POINTER && a->kind != HDS_ARG_TENSOR)
        return wrong_kind(f, &f->kernel->parameters[i], a, "a tensor, or a pointer to its first element");
    keep_address(f, i, a->kind == HDS_ARG_POINTER ? a->value.pointer : NULL);
    return HDSRT_OK;
}

// A tensor is passed as the address of its first element.
static hdsrt_status take_pointer(jit_frame *f, int i, const hds_argument *a)
{
    const hdsrt_tensor *t = a->kind == HDS_ARG_TENSOR ? a->value.tensor : NULL;
    if (a->kind != HDS_ARG_POINTER && !t)
        return wrong_kind(f, &f->kernel->parameters[i], a, "a pointer");
    keep_address(f, i, !t ? a->value.pointer : t->data ? (char *)t->data + t->byte_offset : NULL);
    return HDSRT_OK;
}

static hdsrt_status check_extent(jit_frame *f, const jit_parameter *p, int axis, bool is_given)
{
    int64_t expected = 0, *extent = &f->extents[p->first_extent + axis];
    jit_trouble trouble = jit_expr_evaluate(&p->shape[axis], f->values, &expected);
    if (trouble)
        return FAIL(f, p, "has the extent '%s' along axis %d: %s", p->shown.shape[axis], axis,
                    jit_trouble_text(trouble));
    if (is_given)
        return hdsrt_check_extent(entry_of(f), p->shown.name, axis, *extent, expected, p->shown.shape[axis]);
    *extent = expected;
    return HDSRT_OK;
}

static hdsrt_status check_stride(jit_frame *f, const jit_parameter *p, int axis, const hdsrt_tensor *given)
{
    int64_t expected = 0, *stride = &f->strides[p->first_extent + axis];
    jit_trouble trouble = jit_expr_evaluate(&p->strides[axis], f->values, &expected);
    hdsrt_status status = HDSRT_OK;
    if (trouble)
        return FAIL(f, p, "has the stride '%s' along axis %d: %s", p->shown.strides[axis], axis,
                    jit_trouble_text(trouble));
    if (given)
        status = hdsrt_check_stride(entry_of(f), p->shown.name, given, axis, expected, p->shown.strides[axis]);
    *stride = expected;
    return status;
}

static hdsrt_status check_strides(jit_frame *f, const hds_argument *arguments)
{
    for (int i = 0; i < f->kernel->count; i++) {
        const jit_parameter *p = &f->kernel->parameters[i];
        const hdsrt_tensor *given = p->strides && has_extents(arguments, i) ? arguments[i].value.tensor : NULL;
        for (int d = 0; p->strides && d < p->shown.ndim; d++) {
            hdsrt_status status = check_stride(f, p, d, given);
            if (status)
                return status;
        }
    }
    return HDSRT_OK;
}

static hdsrt_status check_shapes(jit_frame *f, const hds_argument *arguments)
{
    for (int i = 0; i < f->kernel->count; i++) {
        const jit_parameter *p = &f->kernel->parameters[i];
        for (int d = 0; p->tensor >= 0 && d < p->shown.ndim; d++) {
            hdsrt_status status = check_extent(f, p, d, has_extents(arguments, i));
            if (status)
                return status;
        }
    }
    return HDSRT_OK;
}

// ---- tensors of the host ---------------------------------------------------------------------------------------

static strided_span strided_span_of(const jit_frame *f, int i)
{
    const jit_parameter *p = &f->kernel->parameters[i];
    return (strided_span){.address = f->bits[i],
                    .bits = p->type == DT_NONE ? 64 : dt_bits(p->type),
                    .rank = p->shown.ndim,
                    .shape = f->tensors[p->tensor].shape,
                    .strides = f->tensors[p->tensor].strides};
}

static hdsrt_status check_host_pair(const jit_frame *f, int i, int k)
{
    const jit_parameter *p = &f->kernel->parameters[i], *q = &f->kernel->parameters[k];
    strided_span a = strided_span_of(f, i), b = strided_span_of(f, k);
    bool may_meet = (p->shown.is_written || q->shown.is_written) && strided_span_measure(&a) && strided_span_measure(&b);
    if (!may_meet || !strided_span_meet(&a, &b))
        return HDSRT_OK;
    return FAIL(f, p, "and '%s' overlap, and '%s' is written", q->shown.name,
                (q->shown.is_written ? q : p)->shown.name);
}

static hdsrt_status check_host_tensors(const jit_frame *f)
{
    for (int i = 0; i < f->kernel->count; i++) {
        const jit_parameter *p = &f->kernel->parameters[i];
        if (p->tensor < 0)
            continue;
        strided_span s = strided_span_of(f, i);
        if (!strided_span_measure(&s))
            return FAIL(f, p, "has a negative extent or stride, or more elements than there are addresses");
        if (s.bytes && !f->bits[i])
            return FAIL(f, p, "is null");
        int axis = s.bytes && p->shown.is_written ? strided_span_folded_axis(&s) : -1;
        if (axis >= 0)
            return FAIL(f, p, "is written, and its elements overlap: its stride along axis %d is %" PRId64, axis,
                        s.strides[axis]);
        for (int k = 0; k < i; k++) {
            hdsrt_status status = f->kernel->parameters[k].tensor >= 0 ? check_host_pair(f, k, i) : HDSRT_OK;
            if (status)
                return status;
        }
    }
    return HDSRT_OK;
}

// ---- assumptions -----------------------------------------------------------------------------------------------

static hdsrt_status assumption_fails(const jit_frame *f, const jit_expr *a)
{
    enum { SHOWN = 4 };
    int shown[SHOWN], count = jit_expr_names(a, shown, SHOWN);
    char values[256] = "";
    for (int i = 0, len = 0; i < count && len < (int)sizeof values; i++) {
        const jit_value *v = &f->values[shown[i]];
        const char *name = f->kernel->parameters[shown[i]].shown.name, *and = i ? " and" : ", and";
        size_t room = sizeof values - (size_t)len;
        len += v->kind == JIT_REAL ? snprintf(values + len, room, "%s '%s' is %g", and, name, v->u.real)
                                   : snprintf(values + len, room, "%s '%s' is %" PRId64, and, name, v->u.integer);
    }
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': it assumes '%s'%s", entry_of(f), a->text, values);
}

// An expression that cannot be evaluated does not fail: the kernel's own arithmetic may wrap around.
static hdsrt_status check_assumptions(const jit_frame *f)
{
    for (int i = 0; i < f->kernel->assumption_count; i++) {
        int64_t holds = 1;
        jit_expr_evaluate(&f->kernel->assumptions[i], f->values, &holds);
        if (!holds)
            return assumption_fails(f, &f->kernel->assumptions[i]);
    }
    return HDSRT_OK;
}

// ---- all together ----------------------------------------------------------------------------------------------

static hdsrt_status check_count(const jit_frame *f, size_t count)
{
    const jit_kernel *k = f->kernel;
    size_t most = (size_t)k->count, least = (size_t)(k->count - k->size_count);
    if (count >= least && count <= most)
        return HDSRT_OK;
    if (least == most)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': it takes %zu argument%s, not %zu", entry_of(f), most,
                          most == 1 ? "" : "s", count);
    const char *next = k->parameters[count < least ? count : most - 1].shown.name;
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': it takes %zu arguments, or %zu with its sizes, not %zu%s%s%s",
                      entry_of(f), least, most, count, count < least ? ": '" : "", count < least ? next : "",
                      count < least ? "' is missing" : "");
}

static hdsrt_status take(jit_frame *f, int i, const hds_argument *a, jit_purpose purpose)
{
    switch (f->kernel->parameters[i].shown.kind) {
    case HDS_SCALAR: return take_scalar(f, i, a);
    case HDS_SIZE: return take_size(f, i, a);
    case HDS_POINTER: return take_pointer(f, i, a);
    case HDS_TENSOR: return take_tensor(f, i, a, purpose);
    }
    return HDSRT_OK;
}

// Given sizes come first: they are not deduced, but checked against the tensors.
static hdsrt_status take_all(jit_frame *f, const hds_argument *arguments, int count, jit_purpose purpose)
{
    int least = f->kernel->count - f->kernel->size_count;
    for (int i = least; i < count; i++) {
        hdsrt_status status = take(f, i, &arguments[i], purpose);
        if (status)
            return status;
    }
    for (int i = 0; i < least; i++) {
        hdsrt_status status = take(f, i, &arguments[i], purpose);
        if (status)
            return status;
    }
    return HDSRT_OK;
}

hdsrt_status jit_bind(jit_frame *f, const hds_argument *arguments, size_t count, jit_purpose purpose)
{
    const jit_kernel *k = f->kernel;
    hdsrt_status status = check_count(f, count);
    if (!status && count && !arguments)
        status = hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': the list of arguments is null", entry_of(f));
    for (int i = 0; i < k->count; i++)
        f->addresses[i] = NULL;
    if (!status)
        status = take_all(f, arguments, (int)count, purpose);
    if (!status)
        status = learn_strides(f, arguments);
    if (!status)
        status = check_sizes(f);
    if (!status)
        status = check_shapes(f, arguments);
    if (!status)
        status = check_strides(f, arguments);
    if (!status && purpose == JIT_TO_LAUNCH)
        status = check_assumptions(f);
    if (!status && purpose == JIT_TO_SIMULATE)
        status = check_host_tensors(f);
    if (!status && purpose == JIT_TO_LAUNCH)
        status = hdsrt_check_strided(entry_of(f), k->rules, f->tensors, k->tensor_count);
    return status;
}

hdsrt_dtype jit_dlpack_type(dtype type)
{
    // DLDataTypeCode (dlpack.h 1.1).
    enum { INT, UINT, FLOAT, BFLOAT = 4, COMPLEX, BOOL, FLOAT8_E4M3FN = 10, FLOAT8_E5M2 = 12 };
    uint8_t bits = (uint8_t)dt_bits(type);
    switch (type) {
    case DT_BF16: return (hdsrt_dtype){BFLOAT, bits};
    case DT_F8E4M3: return (hdsrt_dtype){FLOAT8_E4M3FN, bits};
    case DT_F8E5M2: return (hdsrt_dtype){FLOAT8_E5M2, bits};
    default: break;
    }
    switch (dt_kind_of(type)) {
    case DT_KIND_BOOL: return (hdsrt_dtype){BOOL, bits};
    case DT_KIND_SINT: return (hdsrt_dtype){INT, bits};
    case DT_KIND_UINT: return (hdsrt_dtype){UINT, bits};
    case DT_KIND_FLOAT: return (hdsrt_dtype){FLOAT, bits};
    case DT_KIND_COMPLEX: return (hdsrt_dtype){COMPLEX, bits};
    case DT_KIND_NONE: break;
    }
    return (hdsrt_dtype){0, 0};
}
