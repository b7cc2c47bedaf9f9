// Assignment of whole tensors and views: registers of one mapping at once, others elementwise.
#include "typecheck/lowering/lowering.h"

// ---- differences of indices --------------------------------------------------------------------------------------

// constant + sum of coef · atom
typedef struct sum {
    const tc *tx;
    int64_t constant;
    int count;
    struct {
        const ir_expr *atom;
        int64_t coef;
    } terms[8];
} sum;

static bool add_atom(sum *s, const ir_expr *e, int64_t coef)
{
    for (int i = 0; i < s->count; i++)
        if (ir_expr_equal(s->terms[i].atom, e))
            return !__builtin_add_overflow(s->terms[i].coef, coef, &s->terms[i].coef);
    if (s->count == (int)(sizeof s->terms / sizeof *s->terms))
        return false;
    s->terms[s->count].atom = e;
    s->terms[s->count++].coef = coef;
    return true;
}

static bool is_single_assignment(const ir_expr *e)
{
    return e->op == IR_OP_VAR && e->u.var->kind == IR_VAR_LOCAL && !e->u.var->is_mutable;
}

// The value that a variable has had since it was declared: arithmetic over values that have not changed since either.
static const ir_expr *definition(const ir_expr *e)
{
    const ir_expr *init = is_single_assignment(e) ? e->u.var->definition : NULL;
    bool is_sum = init && (init->op == IR_OP_ADD || init->op == IR_OP_SUB || init->op == IR_OP_MUL);
    for (int i = 0; is_sum && i < init->arg_count; i++)
        is_sum = tc_is_stable(init->args[i]) || is_single_assignment(init->args[i]);
    return is_sum ? init : NULL;
}

static bool add_terms(sum *s, const ir_expr *e, int64_t coef)
{
    int64_t n;
    const ir_expr *defined = definition(e);
    if (defined)
        e = defined;
    if (ir_const_int(e, &n))
        return !__builtin_mul_overflow(n, coef, &n) && !__builtin_add_overflow(s->constant, n, &s->constant);
    switch (e->op) {
    case IR_OP_ADD:
        return add_terms(s, e->args[0], coef) && add_terms(s, e->args[1], coef);
    case IR_OP_SUB:
        return coef != INT64_MIN && add_terms(s, e->args[0], coef) && add_terms(s, e->args[1], -coef);
    case IR_OP_MUL:
        for (int i = 0; i < 2; i++)
            if (ir_const_int(e->args[i], &n) && !__builtin_mul_overflow(n, coef, &n))
                return add_terms(s, e->args[1 - i], n);
        return add_atom(s, e, coef);
    default:
        return add_atom(s, e, coef);
    }
}

static bool add_value(sum *s, tc_value v, int64_t coef)
{
    int64_t n;
    if (tc_as_int64(v, &n))
        return !__builtin_mul_overflow(n, coef, &n) && !__builtin_add_overflow(s->constant, n, &s->constant);
    return v.kind == TC_RT && ir_is_pure(v.rt) && add_terms(s, v.rt, coef);
}

bool tc_known_difference(const tc *tx, tc_value a, tc_value b, int64_t *out)
{
    sum s = {.tx = tx};
    bool ok = add_value(&s, a, 1) && add_value(&s, b, -1);
    for (int i = 0; i < s.count; i++)
        ok &= s.terms[i].coef == 0;
    *out = s.constant;
    return ok;
}

// ---- registers of one mapping ------------------------------------------------------------------------------------

// A temporary that an instruction has just written is written in place instead: the instruction's result goes to [to].
static bool retarget(tc *tx, tc_tensor *from, ir_expr *to)
{
    size_t n = tx->block->stmts.len;
    if (!from->is_temporary || n < 2)
        return false;
    ir_stmt *write = tx->block->stmts.at[n - 1], *alloc = tx->block->stmts.at[n - 2];
    if (write->kind != IR_INTRIN_TO || write->args[0]->u.var != from->base || alloc->kind != IR_ALLOC ||
        alloc->var != from->base)
        return false;
    write->args[0] = to;
    tx->block->stmts.at[n - 2] = write;
    tx->block->stmts.len = n - 1;
    return true;
}

static bool fill(tc *tx, tc_tensor *t, tc_value v, src_span span)
{
    tc_value f = tc_library(tx, "hidet.lang.registers", "fill", span);
    tc_value args[2] = {{.kind = TC_TENSOR, .tensor = t}, v};
    return !tc_is_poison(f) && !tc_is_poison(tc_call_values(tx, f, args, 2, span));
}

static tc_value tensor_value(tc_tensor *t)
{
    return (tc_value){.kind = TC_TENSOR, .tensor = t};
}

// All registers of one are those of the other, in the same order.
static bool are_alike(const tc_tensor *a, const tc_tensor *b)
{
    const ir_tensor *x = a->base->tensor, *y = b->base->tensor;
    if (x->elem != y->elem || !a->map != !b->map)
        return false;
    if (a->map)
        return tm_equal(a->map, b->map);
    bool in_registers = x->space == IR_REGISTER && y->space == IR_REGISTER && !a->is_view && !b->is_view;
    return in_registers && x->layout && y->layout && tm_layout_equal(x->layout, y->layout);
}

static bool mismatch(tc *tx, tc_tensor *to, tc_tensor *from, src_span span, const char *why)
{
    diag *d = tc_error(tx, HDS0198, span, tc_describe(tx, tensor_value(from)), tc_text(tx, tensor_value(to)));
    diag_help(d, "%s", why);
    return false;
}

static bool copy_registers(tc *tx, tc_tensor *to, tc_tensor *from, src_span span)
{
    int to_count = 0, from_count = 0;
    ir_expr *target = tc_tensor_tile(tx, to, &to_count, span), *source = tc_tensor_tile(tx, from, &from_count, span);
    if (!target || !source || to_count != from_count)
        return mismatch(tx, to, from, span, "only register tensors of one mapping and element type are assigned whole");
    if (retarget(tx, from, target))
        return true;
    ir_stmt *s = tc_new_stmt(tx, IR_COPY, span);
    s->args = ARENA_ARRAY(tx->ir->arena, ir_expr *, 2);
    s->arg_count = 2;
    s->args[0] = target;
    s->args[1] = source;
    s->count = to_count;
    tc_emit(tx, s);
    return true;
}

// ---- elementwise ---------------------------------------------------------------------------------------------------

// Views of one tensor: whether some element may be in both and is not at the same indices of both.
static bool may_overlap(const tc *tx, const tc_tensor *a, const tc_tensor *b)
{
    if (a->base != b->base || tc_equal(tensor_value((tc_tensor *)a), tensor_value((tc_tensor *)b)))
        return false;
    for (int d = 0; d < a->base->tensor->rank; d++) {
        tc_value zero = tc_of_int(0), one = tc_of_int(1);
        tc_value start_a = a->offset[d] ? tc_rt(a->offset[d]) : zero,
                 start_b = b->offset[d] ? tc_rt(b->offset[d]) : zero;
        tc_value len_a = a->dim_of[d] >= 0 ? a->shape[a->dim_of[d]] : one;
        tc_value len_b = b->dim_of[d] >= 0 ? b->shape[b->dim_of[d]] : one;
        int64_t distance; // from the start of a to that of b
        if (!tc_known_difference(tx, start_b, start_a, &distance))
            continue;
        bool apart =
            distance >= 0 ? len_a.kind == TC_INT && distance >= len_a.i : len_b.kind == TC_INT && -distance >= len_b.i;
        if (apart)
            return false;
    }
    return true;
}

static bool same_shape(tc *tx, tc_tensor *to, tc_tensor *from, src_span span)
{
    if (to->rank != from->rank)
        return mismatch(tx, to, from, span, "the ranks differ");
    for (int d = 0; d < to->rank; d++) {
        int64_t difference;
        bool known = tc_known_difference(tx, to->shape[d], from->shape[d], &difference);
        if (!known || difference) {
            const char *why = arena_printf(tx->arena, "dimension %d differs", d);
            if (!known)
                why = arena_printf(tx->arena, "the extents of dimension %d are not known to be equal", d);
            return mismatch(tx, to, from, span, why);
        }
    }
    return true;
}

typedef struct elements {
    tc *tx;
    tc_tensor *to;
    tc_value from; // a tensor of the same shape, or a number for all elements
    src_span span;
    tc_value at[TM_MAX_RANK];
} elements;

static bool assign_one(elements *e)
{
    size_t rank = (size_t)e->to->rank;
    tc_value v =
        e->from.kind == TC_TENSOR ? tc_tensor_load(e->tx, e->from.tensor, e->at, rank, NULL, e->span) : e->from;
    return !tc_is_poison(v) && tc_tensor_store(e->tx, e->to, e->at, rank, v, false, e->span);
}

static bool assign_known(elements *e, int dim)
{
    if (dim == e->to->rank)
        return assign_one(e);
    for (tc_int i = 0; i < e->to->shape[dim].i; i++) {
        e->at[dim] = tc_of_int(i);
        if (!assign_known(e, dim + 1))
            return false;
    }
    return true;
}

static bool assign_in_loops(elements *e, int dim)
{
    tc *tx = e->tx;
    if (dim == e->to->rank)
        return assign_one(e);
    ir_stmt *loop = tc_new_stmt(tx, IR_FOR, e->span);
    ir_expr *stop = tc_size_expr(tx, e->to->shape[dim]);
    dtype t = stop->type->scalar;
    ir_expr *bounds[3] = {ir_int(tx->ir, t, 0), stop, ir_int(tx->ir, t, 1)};
    loop->args = arena_dup(tx->ir->arena, bounds, sizeof bounds);
    loop->arg_count = 3;
    loop->var = ir_var_new(tx->ir, IR_VAR_LOOP, arena_printf(tx->ir->arena, "i%d", dim), stop->type, e->span);
    e->at[dim] = tc_rt(ir_read(tx->ir, loop->var, e->span));
    ir_block *saved = tx->block;
    int region = tc_region_enter_loop(tx);
    tx->block = &loop->body;
    bool ok = assign_in_loops(e, dim + 1);
    tx->block = saved;
    tc_region_leave(tx);
    tc_close_region(tx, region, e->span);
    tc_emit(tx, loop);
    return ok;
}

static bool assign_elements(tc *tx, tc_tensor *to, tc_value from, src_span span)
{
    enum { UNROLLED = 16 }; // so many elements are assigned without a loop: they may be in registers
    elements e = {.tx = tx, .to = to, .from = from, .span = span};
    tc_int count = 1;
    for (int d = 0; d < to->rank && count >= 0; d++)
        count = to->shape[d].kind == TC_INT && to->shape[d].i <= UNROLLED ? count * to->shape[d].i : -1;
    return count >= 0 && count <= UNROLLED ? assign_known(&e, 0) : assign_in_loops(&e, 0);
}

static bool assign_number(tc *tx, tc_tensor *t, tc_value v, src_span span)
{
    if (t->map)
        return fill(tx, t, v, span);
    src_span value_span = tx->value_span.begin ? tx->value_span : span;
    ir_expr *value = tc_convert(tx, v, t->base->tensor->elem, value_span, "stored value");
    return value && assign_elements(tx, t, tc_rt(tc_keep(tx, value, NULL, span)), span);
}

bool tc_tensor_assign(tc *tx, tc_tensor *t, tc_value v, src_span span)
{
    if (tc_is_poison(v) || tc_wants_run_time(tx))
        return false;
    if (v.kind != TC_TENSOR)
        return assign_number(tx, t, v, span);
    if (are_alike(t, v.tensor))
        return copy_registers(tx, t, v.tensor, span);
    if (t->map || v.tensor->map)
        return mismatch(tx, t, v.tensor, span,
                        "register tensors with a mapping are assigned to tensors of that mapping and element type");
    if (!same_shape(tx, t, v.tensor, span))
        return false;
    if (!may_overlap(tx, t, v.tensor))
        return assign_elements(tx, t, v, span);
    diag *d = tc_error(tx, HDS0305, span, t->base->name);
    diag_help(d, "copy the elements in a loop, or through another tensor");
    return false;
}
