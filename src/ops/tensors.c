// Reads and checks the tensors of a call: types, extents, orders, pitches.
#include <inttypes.h>
#include <string.h>

#include "ops/product.h"

static const char entry[] = "hds_matmul";

enum { A, B, C, RESIDUAL, BIAS, A_SCALE, B_SCALE, TENSORS };

// A tensor argument, with its name in messages.
typedef struct operand {
    const char *name;
    const hdsrt_tensor *tensor; // NULL: not given
    const void *data;
    int64_t strides[OPS_MOST_AXES];
    hdsrt_tensor_rule rule;
} operand;

typedef struct reading {
    ops_call *call;
    hds_matmul_options options;
    operand operands[TENSORS];
} reading;

static hdsrt_dtype type_of(const hdsrt_tensor *t)
{
    return (hdsrt_dtype){t->dtype.code, t->dtype.bits};
}

// ---- one tensor ---------------------------------------------------------------------------------------------------

// [type], [axes]: the expected ones; axes -1: two or more.
static hdsrt_status read_operand(operand *o, hdsrt_dtype type, int axes)
{
    const hdsrt_tensor *t = o->tensor;
    if (axes < 0 && (t->ndim < 2 || t->ndim > OPS_MOST_AXES))
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' has %d %s, and it has to have 2 to %d", entry, o->name,
                          t->ndim, t->ndim == 1 ? "axis" : "axes", OPS_MOST_AXES);
    o->rule.name = o->name;
    o->rule.dtype = type;
    o->rule.ndim = (uint8_t)(axes < 0 ? t->ndim : axes);
    o->rule.alignment = (uint32_t)(type.bits + 7) / 8;
    return hdsrt_check_dlpack_strided(entry, &o->rule, t, &o->data, o->strides);
}

static hdsrt_status is_given(const operand *o)
{
    return o->tensor ? HDSRT_OK : hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' is null", entry, o->name);
}

static int64_t extent_at(const operand *o, int from_last)
{
    return o->tensor->shape[o->tensor->ndim - from_last];
}

static hdsrt_status bad_extent(const operand *o, int from_last, int64_t expected, const char *rule)
{
    return hdsrt_check_extent(entry, o->name, o->tensor->ndim - from_last, extent_at(o, from_last), expected, rule);
}

// ---- options ------------------------------------------------------------------------------------------------------

hdsrt_status ops_check_modes(const char *where, hds_activation activation, hds_math math)
{
    if ((unsigned)activation > HDS_ACTIVATION_SILU)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': %d is not an activation", where, (int)activation);
    if ((unsigned)math > HDS_MATH_TF32)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': %d is not a math mode", where, (int)math);
    return HDSRT_OK;
}

static hdsrt_status read_options(reading *r, const hds_matmul_options *options)
{
    hds_matmul_options *o = &r->options;
    *o = (hds_matmul_options)HDS_MATMUL_OPTIONS;
    if (options) {
        // A caller compiled with an older header knows fewer members.
        if (options->bytes < offsetof(hds_matmul_options, workspace_bytes) + sizeof o->workspace_bytes)
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': the options have %zu bytes: begin with HDS_MATMUL_OPTIONS",
                              entry, options->bytes);
        memcpy(o, options, options->bytes < sizeof *o ? options->bytes : sizeof *o);
    }
    hdsrt_status status = ops_check_modes(entry, o->activation, o->math);
    if (status)
        return status;
    if (o->workspace_bytes < 0 || (uintptr_t)o->workspace % 256)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'%s': the workspace begins at %p and has %" PRId64
                          " bytes, and it has to begin at a multiple of 256",
                          entry, o->workspace, o->workspace_bytes);
    r->operands[BIAS].tensor = o->bias;
    r->operands[RESIDUAL].tensor = o->residual;
    r->operands[A_SCALE].tensor = o->a_scale;
    r->operands[B_SCALE].tensor = o->b_scale;
    return HDSRT_OK;
}

// Integers are summed exactly, and have no epilogue.
static hdsrt_status check_exact(const reading *r)
{
    const hds_matmul_options *o = &r->options;
    bool is_plain = o->alpha == 1.0 && !o->activation && !o->bias && !o->residual && !o->a_scale && !o->b_scale;
    if (r->call->c_type.code != 0 || is_plain)
        return HDSRT_OK;
    return hdsrt_fail(HDSRT_UNSUPPORTED, "'%s': products of integers take neither alpha nor anything that is done to c",
                      entry);
}

// ---- types and extents --------------------------------------------------------------------------------------------

static hdsrt_status read_tensors(reading *r)
{
    const hdsrt_dtype f32 = {2, 32};
    operand *o = r->operands;
    ops_call *call = r->call;
    hdsrt_status status = HDSRT_OK;
    for (int i = A; !status && i <= C; i++)
        status = is_given(&o[i]);
    if (status)
        return status;
    call->a_type = type_of(o[A].tensor);
    call->b_type = type_of(o[B].tensor);
    call->c_type = type_of(o[C].tensor);
    o[C].rule.is_written = true;
    if ((status = read_operand(&o[A], call->a_type, -1)) || (status = read_operand(&o[B], call->b_type, -1)) ||
        (status = read_operand(&o[C], call->c_type, -1)) || (status = check_exact(r)))
        return status;
    if (o[RESIDUAL].tensor && (status = read_operand(&o[RESIDUAL], call->c_type, o[C].tensor->ndim)))
        return status;
    if (o[BIAS].tensor && (status = read_operand(&o[BIAS], call->c_type, 1)))
        return status;
    for (int i = A_SCALE; i <= B_SCALE && !status; i++) {
        // A scale may have axes, as long as there is one element.
        if (o[i].tensor)
            status = read_operand(&o[i], f32, o[i].tensor->ndim > 1 ? 1 : o[i].tensor->ndim);
        if (!status && o[i].tensor && o[i].tensor->ndim == 1)
            status = bad_extent(&o[i], 1, 1, "1");
    }
    return status;
}

static hdsrt_status read_extents(reading *r)
{
    operand *o = r->operands;
    ops_product *p = &r->call->product;
    hdsrt_status status;
    p->m = extent_at(&o[A], 2);
    p->k = extent_at(&o[A], 1);
    p->n = extent_at(&o[B], 1);
    if ((status = bad_extent(&o[B], 2, p->k, "k")) || (status = bad_extent(&o[C], 2, p->m, "m")) ||
        (status = bad_extent(&o[C], 1, p->n, "n")) || (o[BIAS].tensor && (status = bad_extent(&o[BIAS], 1, p->n, "n"))))
        return status;
    if (o[BIAS].tensor && p->n > 1 && o[BIAS].strides[0] != 1)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'%s': 'bias' has a stride of %" PRId64
                          " elements, and it has to be 1: make a contiguous copy",
                          entry, o[BIAS].strides[0]);
    if (p->m > OPS_MOST_EXTENT || p->n > OPS_MOST_EXTENT || p->k > OPS_MOST_EXTENT)
        return hdsrt_fail(HDSRT_UNSUPPORTED,
                          "'%s': m, n and k are %" PRId64 ", %" PRId64 " and %" PRId64
                          ", and each has to be below 2^31 - 2^16",
                          entry, p->m, p->n, p->k);
    return HDSRT_OK;
}

// The stride of batch axis [axis] of c in another tensor; 0 where that has no such axis, or repeats one element along
// it. False if its extent is neither c's nor 1.
static bool batch_stride(const operand *o, const operand *c, int axis, int64_t *stride)
{
    int own = axis - (c->tensor->ndim - o->tensor->ndim);
    int64_t extent = own < 0 ? 1 : o->tensor->shape[own];
    *stride = extent == 1 || own < 0 ? 0 : o->strides[own];
    return extent == 1 || extent == c->tensor->shape[axis];
}

static hdsrt_status read_batches(reading *r)
{
    operand *o = r->operands;
    ops_call *call = r->call;
    int a_axes = o[A].tensor->ndim, b_axes = o[B].tensor->ndim, axes = a_axes > b_axes ? a_axes : b_axes;
    if (o[C].tensor->ndim != axes)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': 'c' has %d axes, and those of 'a' and 'b' make %d", entry,
                          o[C].tensor->ndim, axes);
    call->axes = axes - 2;
    for (int d = 0; d < call->axes; d++) {
        int64_t extent = call->extents[d] = o[C].tensor->shape[d], widest = 1;
        for (int i = A; i <= RESIDUAL; i++) {
            if (!o[i].tensor)
                continue;
            bool fits = batch_stride(&o[i], &o[C], d, &call->strides[i][d]);
            int own = d - (axes - o[i].tensor->ndim);
            if (!fits || (i == RESIDUAL && o[i].tensor->shape[own] != extent))
                return hdsrt_fail(
                    HDSRT_INVALID_ARGUMENT,
                    "'%s': axis %d of '%s' has extent %" PRId64 ", and it has to be %" PRId64 "%s, as axis %d of 'c'",
                    entry, own, o[i].name, o[i].tensor->shape[own], extent, i == RESIDUAL ? "" : " or 1", d);
            if (i <= B && own >= 0 && o[i].tensor->shape[own] != 1)
                widest = o[i].tensor->shape[own];
        }
        if (extent != widest)
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                              "'%s': axis %d of 'c' has extent %" PRId64 ", and that of 'a' and 'b' is 1", entry, d,
                              extent);
    }
    return HDSRT_OK;
}

// ---- orders -------------------------------------------------------------------------------------------------------

static hdsrt_status bad_order(const char *where, const char *name, int64_t row, int64_t column, const char *rule)
{
    return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                      "'%s': the last two strides of '%s' are %" PRId64 " and %" PRId64
                      ", and %s: make a contiguous copy",
                      where, name, row, column, rule);
}

// The stride of an axis with at most one element has no meaning. If both orders fit, b counts as column-major, which
// has the most kernels, and the others as row-major.
static hdsrt_status find_order(const char *where, const char *name, const hdsrt_tensor *tensor, const int64_t *strides,
                               bool takes_columns, bool prefers_columns, ops_matrices *out)
{
    int last = tensor->ndim - 1;
    int64_t rows = tensor->shape[last - 1], columns = tensor->shape[last], row = strides[last - 1],
            column = strides[last];
    bool is_empty = rows == 0 || columns == 0;
    bool by_rows = is_empty || ((column == 1 || columns == 1) && (row >= columns || rows == 1));
    bool by_columns = takes_columns && (is_empty || ((row == 1 || rows == 1) && (column >= rows || columns == 1)));
    if (!takes_columns && !by_rows)
        return bad_order(where, name, row, column, "rows have to lie in memory one after another, the last stride 1");
    if (!by_rows && !by_columns)
        return bad_order(where, name, row, column, "one has to be 1, the other at least the extent along that axis");
    if (by_rows && !(prefers_columns && by_columns)) {
        out->order = OPS_ROWS;
        out->pitch = is_empty || rows == 1 ? columns : row;
    } else {
        out->order = OPS_COLUMNS;
        out->pitch = is_empty || columns == 1 ? rows : column;
    }
    return HDSRT_OK;
}

hdsrt_status ops_read_order(const char *where, const char *name, const hdsrt_tensor *tensor, const int64_t *strides,
                            bool is_by_rows, ops_matrices *out)
{
    return find_order(where, name, tensor, strides, !is_by_rows, false, out);
}

static hdsrt_status read_order(const operand *o, bool takes_columns, bool prefers_columns, ops_matrices *out)
{
    out->data = (char *)(uintptr_t)o->data;
    return find_order(entry, o->name, o->tensor, o->strides, takes_columns, prefers_columns, out);
}

static hdsrt_status read_orders(reading *r)
{
    operand *o = r->operands;
    ops_product *p = &r->call->product;
    hdsrt_status status;
    if ((status = read_order(&o[A], true, false, &p->a)) || (status = read_order(&o[B], true, true, &p->b)) ||
        (status = read_order(&o[C], false, false, &p->c)))
        return status;
    return o[RESIDUAL].tensor ? read_order(&o[RESIDUAL], false, false, &p->residual) : HDSRT_OK;
}

// c is written: it must not overlap another tensor or itself.
static hdsrt_status check_overlaps(reading *r)
{
    hdsrt_tensor_rule rules[TENSORS];
    hdsrt_strided_value values[TENSORS];
    int count = 0;
    for (int i = 0; i < TENSORS; i++) {
        operand *o = &r->operands[i];
        if (!o->tensor)
            continue;
        rules[count] = o->rule;
        values[count++] = (hdsrt_strided_value){o->data, o->tensor->shape, o->strides};
    }
    return hdsrt_check_strided(entry, rules, values, count);
}

hdsrt_status ops_read_call(ops_call *call, const hdsrt_tensor *a, const hdsrt_tensor *b, const hdsrt_tensor *c,
                           const hds_matmul_options *options)
{
    static const char *const names[TENSORS] = {"a", "b", "c", "residual", "bias", "a_scale", "b_scale"};
    reading r = {.call = call};
    ops_product *p = &call->product;
    hdsrt_status status;
    *call = (ops_call){0};
    for (int i = 0; i < TENSORS; i++)
        r.operands[i].name = names[i];
    r.operands[A].tensor = a;
    r.operands[B].tensor = b;
    r.operands[C].tensor = c;
    if ((status = read_options(&r, options)) || (status = read_tensors(&r)) || (status = read_extents(&r)) ||
        (status = read_batches(&r)) || (status = read_orders(&r)) || (status = check_overlaps(&r)))
        return status;
    const hdsrt_dtype types[] = {call->a_type, call->b_type, call->c_type, call->c_type};
    for (int i = A; i <= RESIDUAL; i++)
        call->element_bytes[i] = types[i].bits / 8;
    p->batch = 1;
    p->bias = r.operands[BIAS].data;
    p->a_scale = r.operands[A_SCALE].data;
    p->b_scale = r.operands[B_SCALE].data;
    p->alpha = r.options.alpha;
    p->activation = r.options.activation;
    p->schedule = r.options.schedule;
    p->workspace = r.options.workspace;
    p->workspace_bytes = r.options.workspace ? r.options.workspace_bytes : 0;
    return HDSRT_OK;
}
