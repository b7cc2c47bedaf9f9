// Operators that are compiled for several types: which of them tensors are for, and their axes as it takes them.
#include <inttypes.h>
#include <string.h>

#include "runtime/internal.h"

typedef struct call {
    const char *entry;
    const hdsrt_operand *operands;
    const hdsrt_tensor *const *tensors; // NULL: omitted
    int count;
} call;

// The types of the instances that there are.
typedef struct choices {
    const hdsrt_dtype *types; // of the operands of one after another
    int instances;
} choices;

// An instance goes without an operand that has no type there.
static bool is_omitted(hdsrt_dtype type)
{
    return !type.bits;
}

static hdsrt_status check_operand(const call *c, int i)
{
    const hdsrt_operand *o = &c->operands[i];
    const hdsrt_tensor *t = c->tensors[i];
    int least = o->before + o->after;
    if (!t)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' is null", c->entry, o->name);
    if (o->group && t->ndim < least)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' has %d %s, and it has to have at least %d", c->entry, o->name,
                          t->ndim, t->ndim == 1 ? "axis" : "axes", least);
    if (t->ndim > HDSRT_MOST_AXES)
        return hdsrt_fail(HDSRT_UNSUPPORTED, "'%s': '%s' has %d axes, and operators take at most %d", c->entry, o->name, t->ndim,
                          HDSRT_MOST_AXES);
    if (t->ndim && !t->shape)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': the shape of '%s' is null", c->entry, o->name);
    return HDSRT_OK;
}

// ---- types ---------------------------------------------------------------------------------------------------------

static bool is_of(const hdsrt_tensor *t, hdsrt_dtype type)
{
    if (!t || is_omitted(type))
        return !t && is_omitted(type);
    return t->dtype.code == type.code && t->dtype.bits == type.bits && t->dtype.lanes == 1;
}

// Appends to a text of fixed length, which is cut where it is full.
static void add(char *text, size_t size, const char *more)
{
    size_t len = strlen(text);
    if (len + 1 < size)
        strncat(text, more, size - len - 1);
}

static bool is_optional(const call *c, choices all, int i)
{
    for (int k = 0; k < all.instances; k++)
        if (is_omitted(all.types[k * c->count + i]))
            return true;
    return false;
}

// "x of f16, w omitted, out of f64", and of the instances "f16, f16, f16; f16, none, f16".
static hdsrt_status no_instance(const call *c, choices all)
{
    char found[256] = "", known[512] = "", name[48];
    for (int i = 0; i < c->count; i++) {
        const hdsrt_tensor *t = c->tensors[i];
        add(found, sizeof found, i ? ", " : "");
        add(found, sizeof found, c->operands[i].name);
        add(found, sizeof found, t ? " of " : " omitted");
        if (t)
            add(found, sizeof found, hdsrt_dtype_name((hdsrt_dtype){t->dtype.code, t->dtype.bits}, name));
    }
    for (int k = 0; k < all.instances; k++)
        for (int i = 0; i < c->count; i++) {
            hdsrt_dtype type = all.types[k * c->count + i];
            add(known, sizeof known, i ? ", " : k ? "; " : "");
            add(known, sizeof known, is_omitted(type) ? "none" : hdsrt_dtype_name(type, name));
        }
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': there is no code for %s, only for %s", c->entry, found, known);
}

static hdsrt_status find_instance(const call *c, choices all, int *instance)
{
    for (int k = 0; k < all.instances; k++) {
        bool fits = true;
        for (int i = 0; i < c->count; i++)
            fits &= is_of(c->tensors[i], all.types[k * c->count + i]);
        if (fits) {
            *instance = k;
            return HDSRT_OK;
        }
    }
    return no_instance(c, all);
}

// ---- axes ----------------------------------------------------------------------------------------------------------

// All operands have the same extents where they have any number of axes.
static hdsrt_status check_alike(const call *c, int first, int i)
{
    const hdsrt_operand *a = &c->operands[first], *b = &c->operands[i];
    const hdsrt_tensor *s = c->tensors[first], *t = c->tensors[i];
    int axes = s->ndim - a->before - a->after;
    if (t->ndim - b->before - b->after != axes)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' has %d axes, and by those of '%s' it has to have %d", c->entry,
                          b->name, t->ndim, a->name, axes + b->before + b->after);
    for (int k = 0; k < axes; k++)
        if (s->shape[a->before + k] != t->shape[b->before + k])
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                              "'%s': '%s' has extent %" PRId64 " along axis %d, and it has to be that of '%s', %" PRId64,
                              c->entry, b->name, t->shape[b->before + k], b->before + k, a->name, s->shape[a->before + k]);
    return HDSRT_OK;
}

static hdsrt_status join_extents(const call *c, int i, hdsrt_joined *out)
{
    const hdsrt_operand *o = &c->operands[i];
    const hdsrt_tensor *t = c->tensors[i];
    int64_t extent = 1;
    for (int k = o->before; k < t->ndim - o->after; k++)
        if (t->shape[k] < 0 || __builtin_mul_overflow(extent, t->shape[k], &extent))
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': the extents of '%s' are negative or exceed 63 bits", c->entry,
                              o->name);
    for (int k = 0; k < o->before; k++)
        out->shape[k] = t->shape[k];
    out->shape[o->before] = extent;
    for (int k = 0; k < o->after; k++)
        out->shape[o->before + 1 + k] = t->shape[t->ndim - o->after + k];
    return HDSRT_OK;
}

// As if it lay row by row, which hdsrt_copy_operands sees to.
static hdsrt_status join(const call *c, int i, hdsrt_joined *out)
{
    const hdsrt_operand *o = &c->operands[i];
    out->tensor = *c->tensors[i];
    if (!o->group)
        return HDSRT_OK;
    out->tensor.ndim = o->before + 1 + o->after;
    out->tensor.shape = out->shape;
    out->tensor.strides = NULL;
    return join_extents(c, i, out);
}

// Joined as the first operand of its group is that there is.
static hdsrt_status join_with_group(const call *c, int i, hdsrt_joined *out)
{
    int first = 0;
    while (!c->tensors[first] || c->operands[first].group != c->operands[i].group)
        first++;
    hdsrt_status status = c->operands[i].group && first < i ? check_alike(c, first, i) : HDSRT_OK;
    return status ? status : join(c, i, out);
}

hdsrt_status hdsrt_choose_instance(const char *entry, const hdsrt_operand *operands, const hdsrt_dtype *types, int count,
                                   int instances, const hdsrt_tensor *const *tensors, hdsrt_stream stream, hdsrt_joined *joined,
                                   int *instance)
{
    const call c = {entry, operands, tensors, count};
    const choices all = {types, instances};
    hdsrt_status status = HDSRT_OK;
    for (int i = 0; !status && i < count; i++)
        if (tensors[i] || !is_optional(&c, all, i))
            status = check_operand(&c, i);
    if (!status)
        status = find_instance(&c, all, instance);
    for (int i = 0; !status && i < count; i++)
        if (tensors[i])
            status = join_with_group(&c, i, &joined[i]);
    return status ? status : hdsrt_copy_operands(entry, operands, tensors, count, joined, stream);
}

// ---- elementwise operators ------------------------------------------------------------------------------------------

enum { STRIDED_RANK = 4 };

// The axes of the results, and by how many elements each operand goes on along them.
typedef struct meeting {
    int rank;
    int64_t extents[HDSRT_MOST_AXES], strides[HDSRT_MOST_OPERANDS][HDSRT_MOST_AXES];
} meeting;

static int64_t stride_of(const hdsrt_tensor *t, int axis)
{
    int64_t dense = 1;
    if (t->strides)
        return t->strides[axis];
    for (int i = t->ndim - 1; i > axis; i--)
        dense = t->shape[i] > 1 ? dense * t->shape[i] : dense;
    return dense;
}

static hdsrt_status meet_one(const call *c, int i, int result, meeting *m)
{
    const hdsrt_operand *o = &c->operands[i];
    const hdsrt_tensor *t = c->tensors[i];
    const char *whole = c->operands[result].name;
    if (t->ndim > m->rank || (o->is_written && t->ndim < m->rank))
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' has %d axes, and '%s' has %d", c->entry, o->name, t->ndim, whole,
                          m->rank);
    for (int axis = 0; axis < m->rank; axis++) {
        int own = axis - (m->rank - t->ndim);
        int64_t extent = own < 0 ? 1 : t->shape[own];
        if (extent != m->extents[axis] && (extent != 1 || o->is_written))
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                              "'%s': '%s' has extent %" PRId64 " along axis %d, where '%s' has %" PRId64 "%s", c->entry, o->name,
                              extent, own, whole, m->extents[axis], o->is_written ? "" : "; 1 would be repeated");
        m->strides[i][axis] = extent == 1 ? 0 : stride_of(t, own);
    }
    return HDSRT_OK;
}

// Whether axis [k] and the one behind it lie in memory like one, for all.
static bool may_join(const call *c, const meeting *m, int k)
{
    bool may = true;
    for (int i = 0; i < c->count; i++)
        may &= m->strides[i][k] == m->strides[i][k + 1] * m->extents[k + 1];
    return may;
}

static void remove_axis(const call *c, meeting *m, int k)
{
    for (int axis = k; axis + 1 < m->rank; axis++) {
        m->extents[axis] = m->extents[axis + 1];
        for (int i = 0; i < c->count; i++)
            m->strides[i][axis] = m->strides[i][axis + 1];
    }
    m->rank--;
}

static void swap(int64_t *a, int64_t *b)
{
    int64_t kept = *a;
    *a = *b;
    *b = kept;
}

// The result's neighbours in memory become neighbours along the last axis, whatever the order of its axes.
static void sort_axes(const call *c, int result, meeting *m)
{
    for (int k = 1; k < m->rank; k++)
        for (int at = k; at > 0 && m->strides[result][at - 1] < m->strides[result][at]; at--) {
            swap(&m->extents[at - 1], &m->extents[at]);
            for (int i = 0; i < c->count; i++)
                swap(&m->strides[i][at - 1], &m->strides[i][at]);
        }
}

static hdsrt_status join_axes(const call *c, int result, meeting *m)
{
    for (int k = m->rank - 1; k >= 0; k--)
        if (m->extents[k] == 1)
            remove_axis(c, m, k);
    sort_axes(c, result, m);
    for (int k = m->rank - 2; k >= 0; k--) {
        if (!may_join(c, m, k))
            continue;
        if (__builtin_mul_overflow(m->extents[k], m->extents[k + 1], &m->extents[k + 1]))
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': the extents exceed 63 bits", c->entry);
        remove_axis(c, m, k);
    }
    if (m->rank <= STRIDED_RANK)
        return HDSRT_OK;
    return hdsrt_fail(HDSRT_UNSUPPORTED, "'%s': the operands have %d axes that do not lie in memory like fewer, and at most %d "
                      "are taken: make contiguous copies", c->entry, m->rank, STRIDED_RANK);
}

static bool are_side_by_side(const call *c, const meeting *m)
{
    bool are = m->rank <= 1;
    for (int i = 0; are && i < c->count; i++) {
        uintptr_t address = (uintptr_t)hdsrt_address_of(c->tensors[i]);
        are = (m->rank == 0 || m->strides[i][0] == 1) && address % HDSRT_OPERAND_ALIGNMENT == 0;
    }
    return are;
}

static void give(const call *c, const meeting *m, int i, int rank, hdsrt_joined *out)
{
    out->tensor = *c->tensors[i];
    out->copy = NULL;
    for (int axis = 0; axis < rank; axis++) {
        int from = axis - (rank - m->rank);
        out->shape[axis] = from < 0 ? 1 : m->extents[from];
        out->strides[axis] = from < 0 ? 0 : m->strides[i][from];
    }
    out->tensor.ndim = rank;
    out->tensor.shape = out->shape;
    out->tensor.strides = out->strides;
}

hdsrt_status hdsrt_choose_by_element(const char *entry, const hdsrt_operand *operands, const hdsrt_dtype *types, int count,
                                     int instances, const hdsrt_tensor *const *tensors, hdsrt_joined *joined, int *instance)
{
    const call c = {entry, operands, tensors, count};
    const choices all = {types, instances};
    hdsrt_status status = count <= HDSRT_MOST_OPERANDS ? HDSRT_OK : HDSRT_UNSUPPORTED;
    int result = 0;
    meeting m = {0};
    for (int i = 0; !status && i < count; i++) {
        status = check_operand(&c, i);
        result = operands[i].is_written ? i : result;
    }
    if (!status)
        status = find_instance(&c, all, instance);
    if (status)
        return status;
    m.rank = tensors[result]->ndim;
    bool is_empty = false;
    for (int axis = 0; axis < m.rank; axis++) {
        m.extents[axis] = tensors[result]->shape[axis];
        is_empty |= m.extents[axis] == 0;
    }
    for (int i = 0; !status && i < count; i++)
        status = meet_one(&c, i, result, &m);
    if (is_empty) {
        m.rank = 1;
        m.extents[0] = 0;
    }
    if (!status && !is_empty)
        status = join_axes(&c, result, &m);
    bool is_flat = is_empty || are_side_by_side(&c, &m);
    for (int i = 0; !status && i < count; i++)
        give(&c, &m, i, is_flat ? 1 : STRIDED_RANK, &joined[i]);
    *instance += is_flat ? 0 : instances;
    return status;
}
