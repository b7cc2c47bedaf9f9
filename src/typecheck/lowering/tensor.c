// Tensors: declaration, views, element access. Assignment of whole tensors and views is in tensor_assign.c.
#include "typecheck/lowering/lowering.h"

#include <string.h>

// ---- declaration -------------------------------------------------------------------------------------------------

static bool constant_dims(ir_expr *const *block)
{
    int64_t v;
    return block[0] && block[1] && block[2] && ir_const_int(block[0], &v) && ir_const_int(block[1], &v) &&
           ir_const_int(block[2], &v);
}

// The thread's number within its block, x fastest; terms of unit extents are omitted.
static ir_expr *linear_thread(tc *tx, src_span span)
{
    int64_t dim[3] = {0, 0, 0};
    bool known = tx->func && constant_dims(tx->func->block);
    for (int i = 0; i < 3 && known; i++)
        ir_const_int(tx->func->block[i], &dim[i]);
    ir_expr *e = ir_sreg_read(tx->ir, IR_TID_X, span);
    ir_expr *stride = NULL;
    for (int i = 1; i < 3; i++) {
        ir_expr *extent =
            known ? ir_int(tx->ir, DT_I32, dim[i - 1]) : ir_sreg_read(tx->ir, (ir_sreg)(IR_BDIM_X + i - 1), span);
        stride = stride ? (known ? ir_int(tx->ir, DT_I32, dim[0] * dim[1])
                                 : ir_binary(tx->ir, IR_OP_MUL, stride, extent, span))
                        : extent;
        if (known && dim[i] == 1)
            continue;
        ir_expr *id = ir_sreg_read(tx->ir, (ir_sreg)(IR_TID_X + i), span);
        e = ir_binary(tx->ir, IR_OP_ADD, e, ir_binary(tx->ir, IR_OP_MUL, id, stride, span), span);
    }
    return e;
}

ir_expr *tc_default_worker(tc *tx, int64_t workers, src_span span)
{
    if (workers == 1)
        return ir_int(tx->ir, DT_I32, 0);
    ir_expr *thread = linear_thread(tx, span);
    int64_t x, y, z;
    if (tx->func && constant_dims(tx->func->block)) {
        ir_const_int(tx->func->block[0], &x);
        ir_const_int(tx->func->block[1], &y);
        ir_const_int(tx->func->block[2], &z);
        if (x * y * z == workers)
            return thread;
    }
    return ir_binary(tx->ir, IR_OP_FLOORMOD, thread, ir_int(tx->ir, DT_I32, workers), span);
}

ir_expr *tc_size_expr(tc *tx, tc_value v)
{
    return v.kind == TC_RT ? v.rt : ir_int(tx->ir, v.i > INT32_MAX ? DT_I64 : DT_I32, (int64_t)v.i);
}

static bool static_shape(const tc_tensor_type *t, int64_t *shape)
{
    for (int i = 0; i < t->rank; i++) {
        if (t->shape[i].kind != TC_INT)
            return false;
        shape[i] = (int64_t)t->shape[i].i;
    }
    return true;
}

static const ir_var *size_in(const ir_expr *e)
{
    if (e->op == IR_OP_VAR)
        return e->u.var->is_size ? e->u.var : NULL;
    const ir_var *found = NULL;
    for (int i = 0; !found && i < e->arg_count; i++)
        found = e->args[i] ? size_in(e->args[i]) : NULL;
    return found;
}

void tc_help_open_size(diag *d, tc_value v)
{
    const ir_var *size = v.kind == TC_RT ? size_in(v.rt) : NULL;
    if (size)
        diag_help(d,
                  "the size '%s' is open: fix it with -D %s=64, or give an instance a name at module level, as in "
                  "name = kernel[64]",
                  size->name, size->name);
}

static tc_value open_shape(tc *tx, const tc_tensor_type *t, src_span span)
{
    diag *d = tc_error(tx, HDS0187, span, ir_space_name(t->space));
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i].kind == TC_RT && size_in(t->shape[i].rt)) {
            tc_help_open_size(d, t->shape[i]);
            break;
        }
    return tc_poison();
}

ir_expr **tc_row_major_strides(tc *tx, ir_expr **shape, int rank, src_span span)
{
    ir_expr **strides = ARENA_ARRAY(tx->ir->arena, ir_expr *, rank ? rank : 1);
    const ir_type *wide = ir_scalar(tx->ir, DT_I64);
    ir_expr *stride = ir_int(tx->ir, DT_I32, 1);
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        int64_t one;
        bool is_one = ir_const_int(stride, &one) && one == 1;
        stride = is_one ? shape[i]
                        : ir_binary(tx->ir, IR_OP_MUL, ir_cast(tx->ir, stride, wide, span),
                                    ir_cast(tx->ir, shape[i], wide, span), span);
    }
    return strides;
}

static bool is_empty(int rank, const int64_t *shape)
{
    for (int i = 0; i < rank; i++)
        if (shape[i] == 0)
            return true;
    return false;
}

static const tm_layout *static_layout(tc *tx, const tc_tensor_type *type, const int64_t *shape, src_span span)
{
    if (type->layout)
        return type->layout;
    if (is_empty(type->rank, shape)) {
        diag *d = tc_error(tx, HDS0182, span, "0");
        diag_help(d, "in a kernel an extent that is known is at least 1; one that may be 0 is a size of the run: def "
                     "f[n: int](x: f32[n])");
        return NULL;
    }
    tm_reason why = TM_OK;
    const tm_layout *l = tm_layout_row_major(tx->ir->arena, type->rank, shape, &why);
    if (!l)
        tc_error(tx, HDS0124, span, tm_reason_text(why));
    return l;
}

static ir_tensor *tensor_info(tc *tx, const tc_tensor_type *type, ir_expr *worker, int align, src_span span)
{
    ir_tensor *t = ARENA_NEW(tx->ir->arena, ir_tensor);
    t->elem = type->elem;
    t->space = type->space;
    t->rank = type->rank;
    t->align_bytes = align;
    t->smem_offset = -1;
    t->shape = ARENA_ARRAY(tx->ir->arena, ir_expr *, type->rank ? type->rank : 1);
    for (int i = 0; i < type->rank; i++)
        t->shape[i] = tc_size_expr(tx, type->shape[i]);
    int64_t shape[TM_MAX_RANK];
    if (type->is_strided) {
        t->is_strided = true;
        t->strides = ARENA_ARRAY(tx->ir->arena, ir_expr *, type->rank ? type->rank : 1);
        for (int i = 0; i < type->rank; i++)
            t->strides[i] = tc_size_expr(tx, type->strides[i]);
        t->align_bytes = type->align;
        t->storage_elems = -1;
        return t;
    }
    if (type->map) {
        t->map = type->map;
        t->worker = worker ? worker : tc_default_worker(tx, type->map->workers, span);
        t->storage_elems = type->map->tasks_per_worker;
        return t;
    }
    // Layouts have elements. A tensor of the host without any is one whose extents happen to be 0.
    bool has_layout = static_shape(type, shape) && !(tc_on_host(tx) && !type->layout && is_empty(type->rank, shape));
    if (has_layout) {
        t->layout = static_layout(tx, type, shape, span);
        t->storage_elems = t->layout ? t->layout->size : 0;
        return t->layout ? t : NULL;
    }
    t->strides = tc_row_major_strides(tx, t->shape, type->rank, span);
    t->storage_elems = -1;
    return t;
}

tc_value tc_tensor_of_var(tc *tx, ir_var *v)
{
    const ir_tensor *info = v->tensor;
    tc_tensor *t = ARENA_NEW(tx->arena, tc_tensor);
    t->base = v;
    t->rank = info->rank;
    t->map = info->map;
    for (int i = 0; i < info->rank; i++) {
        int64_t n;
        t->shape[i] = ir_const_int(info->shape[i], &n) ? tc_of_int(n) : tc_rt(info->shape[i]);
        t->dim_of[i] = i;
    }
    return (tc_value){.kind = TC_TENSOR, .tensor = t};
}

static tc_value strided_local(tc *tx, const tc_tensor_type *type, src_span span)
{
    tc_value v = {.kind = TC_TENSOR_TYPE, .tensor_type = (tc_tensor_type *)type};
    return TC_ERR(tx, HDS0782, span, tc_describe(tx, v));
}

// Tensors of single threads are in registers and local memory, of which a thread has 512 KiB (CUDA C++ Programming
// Guide, "Technical Specifications per Compute Capability").
static bool fits_a_thread(tc *tx, const ir_tensor *t, src_span span)
{
    enum { MOST_BYTES = 512 << 10 };
    bool is_private = t->space == IR_REGISTER || t->space == IR_LOCAL;
    int64_t bytes = t->elem->kind == IR_SCALAR ? t->storage_elems * dt_bits(t->elem->scalar) / 8
                                               : t->storage_elems * ir_type_bytes(t->elem);
    if (!is_private || bytes <= MOST_BYTES)
        return true;
    diag *d = tc_error(tx, HDS0306, span, (long long)bytes, (int)MOST_BYTES);
    diag_help(d, "spread it over the threads with a mapping, or use shared or global memory");
    return false;
}

tc_value tc_tensor_declare(tc *tx, const char *name, const tc_tensor_type *type, ir_var_kind kind, tc_value init,
                           int align, ir_expr *worker, src_span span)
{
    if (tc_wants_run_time(tx))
        return tc_poison();
    bool needs_storage = kind == IR_VAR_LOCAL;
    bool is_host_view = kind == IR_VAR_GLOBAL && tc_on_host(tx);
    if (type->is_strided && kind != IR_VAR_PARAM && !is_host_view)
        return strided_local(tx, type, span);
    tc_tensor_type local = *type;
    if (needs_storage && local.space == IR_GLOBAL && tx->func && !tc_on_host(tx))
        local.space = IR_REGISTER;
    if (needs_storage && local.space != IR_GLOBAL && tc_on_host(tx)) {
        diag *d = tc_error(tx, HDS0295, span, local.space == IR_SHARED ? "shared memory" : "a register tensor");
        diag_help(d, "on the host, write tensor(%s, shape)", tc_text(tx, tc_type(local.elem)));
        return tc_poison();
    }
    int64_t shape[TM_MAX_RANK];
    if (needs_storage && !local.map && !static_shape(&local, shape) && !tc_on_host(tx))
        return open_shape(tx, &local, span);
    ir_tensor *info = tensor_info(tx, &local, worker, align, span);
    if (!info)
        return tc_poison();
    if (kind == IR_VAR_PARAM && !align && !info->is_strided)
        info->align_bytes = 16;
    if (needs_storage && info->storage_elems > ((int64_t)1 << 40))
        return TC_ERR(tx, HDS0182, span, arena_printf(tx->arena, "%lld elements", (long long)info->storage_elems));
    if (needs_storage && !fits_a_thread(tx, info, span))
        return tc_poison();
    ir_var *v = ir_tensor_var(tx->ir, kind, name, info, span);
    tc_value value = tc_tensor_of_var(tx, v);
    if (!needs_storage)
        return value;
    ir_stmt *s = tc_new_stmt(tx, IR_ALLOC, span);
    s->var = v;
    if (init.kind != TC_NONE) {
        s->value = tc_convert(tx, init, info->elem, span, "initial value");
        if (!s->value)
            return tc_poison();
    }
    tc_emit(tx, s);
    return value;
}

// ---- indices and views -------------------------------------------------------------------------------------------

static bool check_index(tc *tx, const tc_tensor *t, int dim, tc_value i, bool guarded, src_span span)
{
    if (i.kind != TC_INT && !tc_is_index(i)) {
        if (!tc_is_poison(i))
            tc_error(tx, HDS0113, span, tc_describe(tx, i));
        return false;
    }
    if (i.kind != TC_INT || guarded)
        return true;
    bool beyond = t->shape[dim].kind == TC_INT && i.i >= t->shape[dim].i;
    if (i.i >= 0 && !beyond)
        return true;
    diag *d = tc_error(tx, HDS0190, span, tc_text(tx, i), dim, t->base->name,
                       t->shape[dim].kind == TC_INT ? tc_text(tx, t->shape[dim]) : "a run-time size");
    if (i.i < 0)
        diag_help(d, "negative indices do not count from the end; write extent %s", tc_text(tx, i));
    return false;
}

// Marks the index that is wrong, where the indices are written one by one.
bool tc_tensor_check_indices(tc *tx, const tc_tensor *t, const ast_subscript *at, const tc_list *items)
{
    if (at->items.len != items->len)
        return true;
    for (size_t i = 0; i < items->len && (int)i < t->rank; i++) {
        if (at->items.at[i]->kind == AST_STARRED)
            return true;
        bool is_number = items->at[i].kind != TC_TUPLE && !tc_has_index(tx, items->at[i]);
        if (is_number && !check_index(tx, t, (int)i, items->at[i], false, at->items.at[i]->span))
            return false;
    }
    return true;
}

static ir_expr *base_index(tc *tx, const tc_tensor *t, int d, tc_value *idx, size_t len, src_span span)
{
    int dim = t->dim_of[d];
    ir_expr *i = dim >= 0 && (size_t)dim < len ? tc_to_index(tx, idx[dim], span) : NULL;
    int64_t zero;
    if (i && t->offset[d] && ir_const_int(i, &zero) && zero == 0)
        i = NULL;
    if (!i)
        return t->offset[d] ? t->offset[d] : ir_int(tx->ir, DT_I32, 0);
    if (!t->offset[d])
        return i;
    tc_value sum = tc_binary(tx, AST_OP_ADD, tc_rt(t->offset[d]), tc_rt(i), span);
    return sum.kind == TC_RT ? sum.rt : i;
}

static ir_expr **base_indices(tc *tx, const tc_tensor *t, tc_value *idx, size_t len, bool guarded, src_span span)
{
    if ((int)len > t->rank) {
        tc_error(tx, HDS0191, span, t->base->name, t->rank, (long)len);
        return NULL;
    }
    tc_value numbers[TM_MAX_RANK];
    for (size_t i = 0; i < len; i++) {
        numbers[i] = tc_as_index(tx, idx[i], span);
        if (!check_index(tx, t, (int)i, numbers[i], guarded, span))
            return NULL;
    }
    int rank = t->base->tensor->rank;
    ir_expr **out = ARENA_ARRAY(tx->ir->arena, ir_expr *, rank ? rank : 1);
    for (int d = 0; d < rank; d++)
        out[d] = base_index(tx, t, d, numbers, len, span);
    return out;
}

// The first [len] dimensions fixed at the indices: what is left is a view.
static tc_value row_view(tc *tx, const tc_tensor *t, tc_value *idx, size_t len, src_span span)
{
    ir_expr **base = base_indices(tx, t, idx, len, false, span);
    if (!base)
        return tc_poison();
    tc_tensor *v = ARENA_NEW(tx->arena, tc_tensor);
    *v = *t;
    v->is_view = true;
    v->is_temporary = false;
    v->rank = t->rank - (int)len;
    memmove(v->shape, t->shape + len, sizeof v->shape[0] * (size_t)v->rank);
    for (int d = 0; d < t->base->tensor->rank; d++) {
        v->dim_of[d] = t->dim_of[d] < (int)len ? -1 : t->dim_of[d] - (int)len;
        v->offset[d] = t->dim_of[d] >= 0 && t->dim_of[d] < (int)len ? tc_keep(tx, base[d], "row", span) : t->offset[d];
    }
    if (t->map) {
        tc_error(tx, HDS0192, span, t->base->name);
        return tc_poison();
    }
    return (tc_value){.kind = TC_TENSOR, .tensor = v};
}

tc_value tc_tensor_load(tc *tx, tc_tensor *t, tc_value *idx, size_t len, tc_value *outside, src_span span)
{
    if (tc_wants_run_time(tx))
        return tc_poison();
    if ((int)len < t->rank && !outside)
        return row_view(tx, t, idx, len, span);
    if ((int)len != t->rank)
        return TC_ERR(tx, HDS0191, span, t->base->name, t->rank, (long)len);
    ir_expr **base = base_indices(tx, t, idx, len, outside != NULL, span);
    if (!base)
        return tc_poison();
    ir_expr *other = outside ? tc_convert(tx, *outside, t->base->tensor->elem, span, "value outside") : NULL;
    if (outside && !other)
        return tc_poison();
    return tc_rt(ir_load(tx->ir, t->base, base, t->base->tensor->rank, other, span));
}

bool tc_tensor_store(tc *tx, tc_tensor *t, tc_value *idx, size_t len, tc_value v, bool guarded, src_span span)
{
    if (tc_wants_run_time(tx))
        return false;
    if ((int)len != t->rank) {
        tc_error(tx, HDS0191, span, t->base->name, t->rank, (long)len);
        return false;
    }
    ir_expr **base = base_indices(tx, t, idx, len, guarded, span);
    if (v.kind == TC_TENSOR || v.kind == TC_RECORD) {
        tc_error(tx, HDS0193, tx->value_span.begin ? tx->value_span : span, t->base->name, tc_describe(tx, v));
        return false;
    }
    src_span value_span = tx->value_span.begin ? tx->value_span : span;
    ir_expr *value = base ? tc_convert(tx, v, t->base->tensor->elem, value_span, "stored value") : NULL;
    if (!value)
        return false;
    ir_stmt *s = tc_new_stmt(tx, IR_STORE, span);
    s->var = t->base;
    s->args = base;
    s->arg_count = t->base->tensor->rank;
    s->value = value;
    s->flags = guarded ? IR_GUARDED : 0;
    tc_emit(tx, s);
    return true;
}

// Narrow elements behind a pointer are read as registers of 32 bits by instructions and by views of another type.
static void align_registers(ir_tensor *t)
{
    bool is_narrow = t->elem->kind == IR_SCALAR && dt_bits(t->elem->scalar) < 32;
    if (t->space == IR_REGISTER && is_narrow && t->align_bytes < 16)
        t->align_bytes = 16;
}

tc_value tc_tensor_address(tc *tx, tc_tensor *t, tc_value *idx, size_t len, src_span span)
{
    if (tc_wants_run_time(tx))
        return tc_poison();
    if (t->map)
        return TC_ERR(tx, HDS0194, span, t->base->name);
    ir_expr **base = base_indices(tx, t, idx, len, true, span);
    align_registers(t->base->tensor);
    return base ? tc_rt(ir_addr(tx->ir, t->base, base, t->base->tensor->rank, span)) : tc_poison();
}

// Whether two expressions are written alike and surely mean the same: names, numbers, attributes, arithmetic over
// those.
static bool same_text(const ast_expr *a, const ast_expr *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case AST_NAME:
        return ((const ast_name *)a)->name == ((const ast_name *)b)->name;
    case AST_INT:
        return ((const ast_int *)a)->value == ((const ast_int *)b)->value;
    case AST_ATTRIBUTE:
        return ((const ast_attribute *)a)->name == ((const ast_attribute *)b)->name &&
               same_text(((const ast_attribute *)a)->value, ((const ast_attribute *)b)->value);
    case AST_BINARY:
        return ((const ast_binary *)a)->op == ((const ast_binary *)b)->op &&
               same_text(((const ast_binary *)a)->left, ((const ast_binary *)b)->left) &&
               same_text(((const ast_binary *)a)->right, ((const ast_binary *)b)->right);
    default:
        return false;
    }
}

// The extent of start:stop. `m : m + BM` has extent BM, whatever m is.
static tc_value slice_extent(tc *tx, const ast_slice *s, tc_value start, tc_value stop)
{
    if (s->start && s->stop && s->stop->kind == AST_BINARY) {
        const ast_binary *sum = AST_AS(BINARY, binary, s->stop);
        if (sum->op == AST_OP_ADD && same_text(s->start, sum->left))
            return tc_eval(tx, sum->right);
        if (sum->op == AST_OP_ADD && same_text(s->start, sum->right))
            return tc_eval(tx, sum->left);
    }
    // (a + b) * n : (a + b + 1) * n and the like: try the difference of the values.
    if (s->start && s->stop && s->start->kind == AST_BINARY && s->stop->kind == AST_BINARY) {
        const ast_binary *a = AST_AS(BINARY, binary, s->start), *b = AST_AS(BINARY, binary, s->stop);
        if (a->op == AST_OP_MUL && b->op == AST_OP_MUL && same_text(a->right, b->right) &&
            b->left->kind == AST_BINARY) {
            const ast_binary *more = AST_AS(BINARY, binary, b->left);
            if (more->op == AST_OP_ADD && same_text(more->left, a->left))
                return tc_binary(tx, AST_OP_MUL, tc_eval(tx, more->right), tc_eval(tx, a->right), s->node.span);
        }
    }
    if (start.kind == TC_INT && start.i == 0)
        return stop;
    int64_t known;
    return tc_known_difference(tx, stop, start, &known) ? tc_of_int(known) : tc_size_sub(tx, stop, start, s->node.span);
}

typedef struct view_builder {
    tc *tx;
    const tc_tensor *from;
    tc_tensor *view;
    tc_value start[TM_MAX_RANK]; // by dimension of [from]
    tc_value extent[TM_MAX_RANK];
    bool fixed[TM_MAX_RANK];
} view_builder;

static bool add_slice(view_builder *vb, int dim, const ast_slice *s)
{
    tc *tx = vb->tx;
    if (s->step) {
        tc_value step = tc_eval(tx, s->step);
        if (step.kind != TC_INT || step.i != 1) {
            tc_error(tx, HDS0195, s->node.span);
            return false;
        }
    }
    tc_value start = s->start ? tc_eval(tx, s->start) : tc_of_int(0);
    tc_value stop = s->stop ? tc_eval(tx, s->stop) : vb->from->shape[dim];
    start = tc_as_index(tx, start, s->node.span);
    stop = tc_as_index(tx, stop, s->node.span);
    if (!tc_is_index(start) || !tc_is_index(stop)) {
        if (!tc_is_poison(start) && !tc_is_poison(stop))
            tc_error(tx, HDS0113, s->node.span, tc_describe(tx, tc_is_index(start) ? stop : start));
        return false;
    }
    start = start.kind == TC_BOOL ? tc_of_int(start.b) : start;
    stop = stop.kind == TC_BOOL ? tc_of_int(stop.b) : stop;
    tc_value extent = slice_extent(tx, s, start, stop);
    if (tc_is_poison(extent))
        return false;
    tc_value whole = vb->from->shape[dim];
    if (extent.kind == TC_INT && extent.i < 0) {
        diag *d = tc_error(tx, HDS0304, s->node.span, tc_text(tx, extent));
        diag_help(d, "start:stop has stop - start elements, and indices do not count from the end");
        return false;
    }
    bool outside = start.kind == TC_INT && extent.kind == TC_INT && whole.kind == TC_INT &&
                   (start.i < 0 || start.i + extent.i > whole.i);
    if (outside) {
        tc_error(tx, HDS0196, s->node.span, tc_text(tx, start), tc_text(tx, stop), dim, vb->from->base->name,
                 tc_text(tx, whole));
        return false;
    }
    vb->start[dim] = start;
    vb->extent[dim] = extent;
    return true;
}

static bool tile_view(view_builder *vb, src_span span)
{
    tc *tx = vb->tx;
    const tc_tensor *t = vb->from;
    int64_t shape[TM_MAX_RANK];
    for (int d = 0; d < t->rank; d++) {
        if (vb->fixed[d])
            vb->extent[d] = tc_of_int(1);
        if (vb->fixed[d] || !tc_as_int64(vb->extent[d], &shape[d])) {
            tc_error(tx, HDS0192, span, t->base->name);
            return false;
        }
    }
    int outer;
    tm_reason why = TM_OK;
    const tm_map *tile = tm_inner_tile(tx->ir->arena, t->map, shape, &outer, &why);
    if (!tile) {
        diag *d = tc_error(tx, HDS0197, span, t->base->name, tc_text(tx, tc_map_value(t->map)));
        diag_help(d, "a slice of a register tensor must be a tile that an inner part of its mapping covers");
        return false;
    }
    vb->view->map = tile;
    return true;
}

static tc_value finish_view(view_builder *vb, src_span span)
{
    tc *tx = vb->tx;
    const tc_tensor *t = vb->from;
    tc_tensor *v = vb->view;
    if (t->map && !tile_view(vb, span))
        return tc_poison();
    int next = 0, renumbered[TM_MAX_RANK];
    for (int d = 0; d < t->rank; d++) {
        renumbered[d] = vb->fixed[d] ? -1 : next;
        if (!vb->fixed[d])
            v->shape[next++] = vb->extent[d];
    }
    v->rank = next;
    for (int b = 0; b < t->base->tensor->rank; b++) {
        int d = t->dim_of[b];
        if (d < 0)
            continue;
        v->dim_of[b] = renumbered[d];
        tc_value start = vb->start[d];
        if (start.kind == TC_INT && start.i == 0)
            continue;
        ir_expr *e = tc_default_rt(tx, start, span);
        if (!e)
            return tc_poison();
        if (t->offset[b]) {
            tc_value sum = tc_binary(tx, AST_OP_ADD, tc_rt(t->offset[b]), tc_rt(e), span);
            if (sum.kind != TC_RT)
                return tc_poison();
            e = sum.rt;
        }
        v->offset[b] = t->map ? e : tc_keep(tx, e, "offset", span);
    }
    return (tc_value){.kind = TC_TENSOR, .tensor = v};
}

static tc_value slice_view(tc *tx, tc_tensor *t, const ast_subscript *at)
{
    view_builder vb = {.tx = tx, .from = t, .view = ARENA_NEW(tx->arena, tc_tensor)};
    *vb.view = *t;
    vb.view->is_view = true;
    vb.view->is_temporary = false;
    if ((int)at->items.len > t->rank)
        return TC_ERR(tx, HDS0191, at->node.span, t->base->name, t->rank, (long)at->items.len);
    for (int d = 0; d < t->rank; d++) {
        vb.start[d] = tc_of_int(0);
        vb.extent[d] = t->shape[d];
        if ((size_t)d >= at->items.len)
            continue;
        const ast_expr *item = at->items.at[d];
        if (item->kind == AST_SLICE) {
            if (!add_slice(&vb, d, AST_AS(SLICE, slice, item)))
                return tc_poison();
            continue;
        }
        vb.start[d] = tc_as_index(tx, tc_eval(tx, item), item->span);
        vb.fixed[d] = true;
        if (!check_index(tx, t, d, vb.start[d], false, item->span))
            return tc_poison();
    }
    return finish_view(&vb, at->node.span);
}

tc_value tc_tensor_index(tc *tx, tc_tensor *t, const ast_subscript *at)
{
    if (tc_wants_run_time(tx))
        return tc_poison();
    for (size_t i = 0; i < at->items.len; i++)
        if (at->items.at[i]->kind == AST_SLICE)
            return slice_view(tx, t, at);
    tc_list items = {0};
    if (!tc_eval_items(tx, &at->items, &items))
        return tc_poison();
    if (!tc_tensor_check_indices(tx, t, at, &items))
        return tc_poison();
    if (items.len == 1 && items.at[0].kind == TC_TUPLE)
        items = *items.at[0].list;
    tc_value given;
    if (tc_load_hook(tx, t, &items, at->node.span, &given))
        return given;
    return tc_tensor_load(tx, t, items.at, items.len, NULL, at->node.span);
}

// ---- whole tensors -----------------------------------------------------------------------------------------------

ir_expr *tc_tensor_tile(tc *tx, tc_tensor *t, int *count, src_span span)
{
    const ir_tensor *info = t->base->tensor;
    if (info->space != IR_REGISTER && info->space != IR_LOCAL)
        return NULL;
    for (int d = 0; d < info->rank; d++)
        if (t->dim_of[d] != d) {
            tc_error(tx, HDS0192, span, t->base->name);
            return NULL;
        }
    *count = (int)(t->map ? t->map->tasks_per_worker : info->storage_elems);
    ir_expr *indices[TM_MAX_RANK];
    for (int d = 0; d < info->rank; d++)
        indices[d] = t->offset[d] ? t->offset[d] : NULL;
    // The tile's own part: its first task as this worker sees it. Its coordinates are those of the worker's first
    // element.
    if (t->map) {
        const tm_map *m = info->map;
        bool whole = !t->is_view;
        for (int d = 0; d < info->rank; d++) {
            ir_expr *first = NULL;
            int64_t below = 1;
            for (int k = (whole ? m : t->map)->digit_count - 1; k >= 0; k--) {
                const tm_digit *digit = &(whole ? m : t->map)->digits[k];
                if (digit->kind != TM_SPATIAL)
                    continue;
                if (digit->dim == d && digit->extent > 1) {
                    ir_expr *part =
                        ir_binary(tx->ir, IR_OP_FLOORMOD,
                                  ir_binary(tx->ir, IR_OP_FLOORDIV, info->worker, ir_int(tx->ir, DT_I32, below), span),
                                  ir_int(tx->ir, DT_I32, digit->extent), span);
                    part = ir_binary(tx->ir, IR_OP_MUL, part, ir_int(tx->ir, DT_I32, digit->stride), span);
                    first = first ? ir_binary(tx->ir, IR_OP_ADD, first, part, span) : part;
                }
                below *= digit->extent;
            }
            if (first)
                indices[d] = indices[d] ? ir_binary(tx->ir, IR_OP_ADD, ir_cast(tx->ir, indices[d], first->type, span),
                                                    first, span)
                                        : first;
        }
    }
    for (int d = 0; d < info->rank; d++)
        if (!indices[d])
            indices[d] = ir_int(tx->ir, DT_I32, 0);
    return ir_tile(tx->ir, t->base, indices, info->rank, *count, span);
}

static tc_value transposed(tc *tx, tc_tensor *t, src_span span)
{
    tc_tensor *v = ARENA_NEW(tx->arena, tc_tensor);
    *v = *t;
    v->is_view = true;
    v->is_temporary = false;
    int perm[TM_MAX_RANK];
    for (int i = 0; i < t->rank; i++) {
        v->shape[i] = t->shape[t->rank - 1 - i];
        perm[i] = t->rank - 1 - i;
    }
    for (int b = 0; b < t->base->tensor->rank; b++)
        v->dim_of[b] = t->dim_of[b] >= 0 ? t->rank - 1 - t->dim_of[b] : -1;
    if (t->map) {
        tm_reason why = TM_OK;
        v->map = tm_permute(tx->ir->arena, t->map, perm, &why);
        if (!v->map)
            return TC_ERR(tx, HDS0124, span, tm_reason_text(why));
    }
    return (tc_value){.kind = TC_TENSOR, .tensor = v};
}

static tc_value shape_tuple(tc *tx, const tc_tensor *t)
{
    return tc_list_new(tx, TC_TUPLE, t->shape, (size_t)t->rank);
}

// Elements from one index to the next, by dimension of the view; None where the layout has no such numbers.
static tc_value stride_tuple(tc *tx, const tc_tensor *t)
{
    tc_value strides[TM_MAX_RANK];
    if (!tc_strides_of(tx, t, strides))
        return tc_none();
    return tc_list_new(tx, TC_TUPLE, strides, (size_t)t->rank);
}

static tc_value element_count(tc *tx, const tc_tensor *t, src_span span)
{
    tc_value n = tc_of_int(1);
    for (int i = 0; i < t->rank; i++)
        n = tc_binary(tx, AST_OP_MUL, n, t->shape[i], span);
    return n;
}

tc_value tc_tensor_attribute(tc *tx, tc_value v, sym name, src_span span, bool *found)
{
    tc_tensor *t = v.tensor;
    const ir_tensor *info = t->base->tensor;
    str n = sym_str(name);
    if (str_equal(n, STR("shape")))
        return shape_tuple(tx, t);
    if (str_equal(n, STR("strides")))
        return stride_tuple(tx, t);
    if (str_equal(n, STR("align")))
        return tc_of_int(tc_align_of(t));
    if (str_equal(n, STR("is_dense")))
        return tc_bool(!info->map && tc_is_row_major(tx, t, span));
    if (str_equal(n, STR("dtype")))
        return tc_type(info->elem);
    if (str_equal(n, STR("rank")))
        return tc_of_int(t->rank);
    if (str_equal(n, STR("size")))
        return element_count(tx, t, span);
    if (str_equal(n, STR("nbytes")))
        return tc_binary(tx, AST_OP_MUL, element_count(tx, t, span), tc_of_int(ir_type_bytes(info->elem)), span);
    if (str_equal(n, STR("space")))
        return (tc_value){.kind = TC_SPACE, .space = info->space};
    if (str_equal(n, STR("T")))
        return transposed(tx, t, span);
    if (str_equal(n, STR("mapping")))
        return t->map ? tc_map_value(t->map) : tc_none();
    if (str_equal(n, STR("worker")) && info->map)
        return tc_rt(info->worker);
    if (str_equal(n, STR("layout")))
        return !t->is_view && info->layout ? tc_layout_value(info->layout) : tc_none();
    bool is_method = str_equal(n, STR("read")) || str_equal(n, STR("write"));
    if (!is_method && info->space == IR_REGISTER) {
        // Everything else about register tensors is library code.
        tc_module *library = tc_module_load(tx, "hidet.lang.registers", 0, NULL, span);
        is_method = library && name->text[0] != '_' && tc_scope_find_here(library->scope, name);
    }
    if (!is_method) {
        *found = false;
        return tc_poison();
    }
    tc_method *m = ARENA_NEW(tx->arena, tc_method);
    m->self = arena_dup(tx->arena, &v, sizeof v);
    m->name = name;
    return (tc_value){.kind = TC_METHOD, .method = m};
}
