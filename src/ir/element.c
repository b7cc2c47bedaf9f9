#include "ir/element.h"

#include <string.h>

// ---- bounds --------------------------------------------------------------------------------------------------------

ir_expr *ir_compare(ir_env *env, ir_op op, ir_expr *a, ir_expr *b, src_span span)
{
    ir_module *m = env->module;
    int64_t value;
    if (a->type != b->type) {
        if (ir_const_int(b, &value) && dt_holds_int(a->type->scalar, value)) {
            b = ir_int(m, a->type->scalar, value);
        } else {
            const ir_type *wide = ir_scalar(m, DT_I64);
            a = ir_cast(m, a, wide, a->span);
            b = ir_cast(m, b, wide, b->span);
        }
    }
    return ir_binary(m, op, a, b, span);
}

static ir_expr *not_negative(ir_env *env, ir_expr *e, src_span span)
{
    return ir_binary(env->module, IR_OP_GE, e, ir_int(env->module, e->type->scalar, 0), span);
}

// No condition is needed where the ranges prove it, as for most indices.
static bool is_never_negative(ir_env *env, const ir_expr *e)
{
    return ir_range_of(env, e).min >= 0;
}

static bool is_always_below(ir_env *env, const ir_expr *e, const ir_expr *extent)
{
    return ir_range_of(env, e).max < ir_range_of(env, extent).min;
}

void ir_assume_inside(ir_env *env, const ir_tensor *t, ir_expr **index)
{
    for (int d = 0; d < t->rank; d++) {
        if (!ir_is_integer(index[d]->type))
            continue;
        if (!is_never_negative(env, index[d]))
            ir_env_assume(env, not_negative(env, index[d], index[d]->span), true);
        if (!is_always_below(env, index[d], t->shape[d]))
            ir_env_assume(env, ir_compare(env, IR_OP_LT, index[d], t->shape[d], index[d]->span), true);
    }
}

static ir_expr *with_condition(ir_env *env, ir_expr *all, ir_expr *cond, src_span span)
{
    if (ir_prove(env, cond))
        return all;
    return all ? ir_binary(env->module, IR_OP_LAND, all, cond, span) : cond;
}

ir_expr *ir_inside(ir_env *env, const ir_tensor *t, ir_expr **index, src_span span)
{
    ir_expr *all = NULL;
    for (int d = 0; d < t->rank; d++) {
        if (!is_never_negative(env, index[d]))
            all = with_condition(env, all, not_negative(env, index[d], span), span);
        if (!is_always_below(env, index[d], t->shape[d]))
            all = with_condition(env, all, ir_compare(env, IR_OP_LT, index[d], t->shape[d], span), span);
    }
    return all;
}

static bool has_argument(const ir_expr *e)
{
    bool found = e->op == IR_OP_VAR && e->u.var->kind == IR_VAR_PARAM;
    for (int i = 0; !found && i < e->arg_count; i++)
        found = has_argument(e->args[i]);
    return found;
}

// Whether the code at this point may be for no launch at all: conditions around it contradict each other, or a branch depends on
// arguments, such as open sizes, and an extent that is known may rule out those that it is for.
static bool may_be_dead(ir_env *env)
{
    for (size_t i = 0; i < env->facts.len; i++) {
        const ir_fact *f = &env->facts.at[i];
        if (!f->nonneg)
            continue;
        bool is_open = false;
        for (int t = 0; f->is_branch && t < f->nonneg->count; t++)
            is_open = is_open || has_argument(f->nonneg->terms[t].atom);
        if (is_open || ir_linear_range(env, f->nonneg).max < 0)
            return true;
    }
    return false;
}

int ir_outside_dim(ir_env *env, const ir_tensor *t, ir_expr **index)
{
    for (int d = 0; d < t->rank; d++) {
        ir_range r = ir_range_of(env, index[d]), extent = ir_range_of(env, t->shape[d]);
        if (r.max < 0 || (r.min >= extent.max && extent.max != INT64_MAX))
            return may_be_dead(env) ? -1 : d;
    }
    return -1;
}

// ---- layouts -------------------------------------------------------------------------------------------------------

typedef struct expansion {
    ir_env *env;
    const ir_type *type;
    src_span span;
} expansion;

static ir_expr *number(expansion *x, int64_t value)
{
    return ir_int(x->env->module, x->type->scalar, value);
}

static ir_expr *simple(expansion *x, ir_op op, ir_expr *a, ir_expr *b)
{
    return ir_simplify_index(x->env, ir_binary(x->env->module, op, a, b, x->span));
}

static ir_expr *by_constant(expansion *x, ir_op op, ir_expr *a, int64_t value)
{
    return simple(x, op, a, number(x, value));
}

static bool is_zero(const ir_expr *e)
{
    int64_t value;
    return ir_const_int(e, &value) && value == 0;
}

static ir_expr *sum(expansion *x, ir_expr *a, ir_expr *b)
{
    if (!a || is_zero(a))
        return b;
    return is_zero(b) ? a : ir_binary(x->env->module, IR_OP_ADD, a, b, x->span);
}

static ir_expr *product(expansion *x, ir_expr *a, int64_t factor)
{
    if (factor == 0 || is_zero(a))
        return number(x, 0);
    return factor == 1 ? a : ir_binary(x->env->module, IR_OP_MUL, a, number(x, factor), x->span);
}

// Nothing here is negative: C's division will do, if the range shows it.
static ir_expr *quotient(expansion *x, ir_expr *a, int64_t d)
{
    return d == 1 ? a : by_constant(x, ir_range_of(x->env, a).min >= 0 ? IR_OP_TRUNCDIV : IR_OP_FLOORDIV, a, d);
}

static ir_expr *remainder_of(expansion *x, ir_expr *a, int64_t d)
{
    return d == 1 ? number(x, 0)
                  : by_constant(x, ir_range_of(x->env, a).min >= 0 ? IR_OP_TRUNCMOD : IR_OP_FLOORMOD, a, d);
}

static ir_expr *expand(expansion *x, const tm_layout *l, ir_expr **index);

static ir_expr *expand_strided(expansion *x, const tm_layout *l, ir_expr **index)
{
    ir_expr *offset = NULL;
    for (int d = 0; d < l->rank; d++)
        if (l->shape[d] > 1)
            offset = sum(x, offset, product(x, index[d], l->strides[d]));
    return offset ? offset : number(x, 0);
}

static ir_expr *expand_compose(expansion *x, const tm_layout *l, ir_expr **index)
{
    ir_expr *outer[TM_MAX_RANK], *inner[TM_MAX_RANK];
    for (int d = 0; d < l->rank; d++) {
        outer[d] = quotient(x, index[d], l->inner->shape[d]);
        inner[d] = remainder_of(x, index[d], l->inner->shape[d]);
    }
    ir_expr *high = expand(x, l->outer, outer);
    return sum(x, product(x, high, l->inner->size), expand(x, l->inner, inner));
}

static ir_expr *expand_swizzle(expansion *x, const tm_layout *l, ir_expr **index)
{
    ir_expr *moved[TM_MAX_RANK];
    memcpy(moved, index, sizeof(ir_expr *) * (size_t)l->rank);
    ir_expr *row = l->log_step ? by_constant(x, IR_OP_SHR, index[l->regards], l->log_step) : index[l->regards];
    row = remainder_of(x, row, l->shape[l->dim]);
    if (!is_zero(row))
        moved[l->dim] = simple(x, IR_OP_XOR, index[l->dim], row);
    return expand(x, l->inner, moved);
}

static ir_expr *expand_xor(expansion *x, const tm_layout *l, ir_expr **index)
{
    ir_expr *offset = ir_simplify_index(x->env, expand(x, l->inner, index));
    int64_t mask = (((int64_t)1 << l->bits) - 1) << l->base_bits;
    ir_expr *bits = by_constant(x, IR_OP_AND, by_constant(x, IR_OP_SHR, offset, l->shift), mask);
    return is_zero(bits) ? offset : simple(x, IR_OP_XOR, offset, bits);
}

static ir_expr *expand_reshape(expansion *x, const tm_layout *l, ir_expr **index)
{
    ir_expr *flat = NULL, *within[TM_MAX_RANK];
    int64_t below = 1;
    for (int d = l->rank - 1; d >= 0; below *= l->shape[d--])
        flat = sum(x, flat, product(x, index[d], below));
    flat = flat ? ir_simplify_index(x->env, flat) : number(x, 0);
    below = 1;
    for (int d = l->inner->rank - 1; d >= 0; below *= l->inner->shape[d--]) {
        ir_expr *high = quotient(x, flat, below);
        within[d] = d == 0 ? high : remainder_of(x, high, l->inner->shape[d]);
    }
    return expand(x, l->inner, within);
}

static ir_expr *expand_permute(expansion *x, const tm_layout *l, ir_expr **index)
{
    ir_expr *within[TM_MAX_RANK];
    for (int d = 0; d < l->rank; d++)
        within[l->perm[d]] = index[d];
    return expand(x, l->inner, within);
}

// Position in the owner's list: the repeat digits, outermost most significant.
static ir_expr *expand_mapping(expansion *x, const tm_map *m, ir_expr **index)
{
    ir_expr *position = NULL;
    int64_t below = 1;
    for (int i = m->digit_count - 1; i >= 0; i--) {
        const tm_digit *g = &m->digits[i];
        if (g->kind != TM_REPEAT)
            continue;
        if (g->dim >= 0 && g->extent > 1) {
            ir_expr *digit = remainder_of(x, quotient(x, index[g->dim], g->stride), g->extent);
            position = sum(x, product(x, digit, below), position ? position : number(x, 0));
        }
        below *= g->extent;
    }
    return position ? position : number(x, 0);
}

static ir_expr *expand(expansion *x, const tm_layout *l, ir_expr **index)
{
    switch (l->kind) {
    case TM_LAYOUT_STRIDED:
        return expand_strided(x, l, index);
    case TM_LAYOUT_COMPOSE:
        return expand_compose(x, l, index);
    case TM_LAYOUT_CONCAT: {
        ir_expr *high = product(x, expand(x, l->outer, index), l->inner->size);
        return sum(x, high, expand(x, l->inner, index + l->outer->rank));
    }
    case TM_LAYOUT_SWIZZLE:
        return expand_swizzle(x, l, index);
    case TM_LAYOUT_XOR:
        return expand_xor(x, l, index);
    case TM_LAYOUT_RESHAPE:
        return expand_reshape(x, l, index);
    case TM_LAYOUT_PERMUTE:
        return expand_permute(x, l, index);
    case TM_LAYOUT_MAPPING:
        return expand_mapping(x, l->map, index);
    }
    return number(x, 0);
}

// ---- offsets -------------------------------------------------------------------------------------------------------

static int64_t largest_of(const tm_layout *l)
{
    int64_t elements = 1;
    for (int d = 0; d < l->rank; d++)
        elements *= l->shape[d];
    return elements > l->size ? elements : l->size;
}

static ir_expr *static_offset(ir_env *env, const tm_layout *l, ir_expr **index, src_span span)
{
    dtype width = largest_of(l) - 1 <= INT32_MAX ? DT_I32 : DT_I64;
    expansion x = {env, ir_scalar(env->module, width), span};
    ir_expr *same[TM_MAX_RANK];
    for (int d = 0; d < l->rank; d++)
        same[d] = ir_simplify_index(env, ir_cast(env->module, index[d], x.type, index[d]->span));
    return expand(&x, l, same);
}

// The largest offset by extents and strides: whether 32 bits hold it.
static bool fits_32(ir_env *env, const ir_tensor *t)
{
    ir_range all = {0, 0};
    for (int d = 0; d < t->rank; d++) {
        ir_range extent = ir_range_of(env, t->shape[d]), stride = ir_range_of(env, t->strides[d]);
        if (stride.min < 0 || stride.max == INT64_MAX || extent.max == INT64_MAX)
            return false;
        all = ir_range_add(all, ir_range_scale((ir_range){0, extent.max > 0 ? extent.max - 1 : 0}, stride.max));
    }
    return all.max <= INT32_MAX;
}

// A stride such as n·k may itself leave 32 bits: its operands are widened, down to where the range shows enough.
static ir_expr *widen(expansion *x, ir_expr *e)
{
    int64_t value;
    if (ir_const_int(e, &value))
        return ir_int(x->env->module, x->type->scalar, value);
    bool arithmetic = e->op == IR_OP_ADD || e->op == IR_OP_SUB || e->op == IR_OP_MUL;
    if (e->type == x->type || !arithmetic || ir_range_fits(ir_range_unwrapped(x->env, e), e->type))
        return ir_cast(x->env->module, e, x->type, e->span);
    return ir_binary(x->env->module, e->op, widen(x, e->args[0]), widen(x, e->args[1]), e->span);
}

static ir_expr *strided_offset(ir_env *env, const ir_tensor *t, ir_expr **index, src_span span)
{
    dtype width = fits_32(env, t) ? DT_I32 : DT_I64;
    expansion x = {env, ir_scalar(env->module, width), span};
    ir_expr *offset = NULL;
    for (int d = 0; d < t->rank; d++) {
        int64_t extent, stride;
        if (ir_const_int(t->shape[d], &extent) && extent == 1)
            continue;
        ir_expr *i = ir_simplify_index(env, index[d]);
        i = ir_const_int(i, &extent) ? number(&x, extent) : ir_cast(env->module, i, x.type, i->span);
        ir_expr *part = ir_const_int(t->strides[d], &stride) ? product(&x, i, stride)
                        : is_zero(i)                         ? i
                                     : ir_binary(env->module, IR_OP_MUL, i, widen(&x, t->strides[d]), span);
        offset = sum(&x, offset, part);
    }
    return offset ? offset : number(&x, 0);
}

// The offset before it is simplified as a whole.
static ir_expr *plain_offset(ir_env *env, const ir_tensor *t, ir_expr **index, src_span span)
{
    return t->layout ? static_offset(env, t->layout, index, span) : strided_offset(env, t, index, span);
}

ir_expr *ir_element_offset(ir_env *env, const ir_tensor *t, ir_expr **index, bool accessed, src_span span)
{
    if (t->rank == 0)
        return ir_int(env->module, DT_I32, 0);
    ir_env_mark mark = ir_env_enter(env);
    if (accessed)
        ir_assume_inside(env, t, index);
    ir_expr *offset = ir_simplify_index(env, plain_offset(env, t, index, span));
    ir_env_leave(env, mark);
    return offset;
}

const ir_linear *ir_element_form(ir_env *env, const ir_tensor *t, ir_expr **index, src_span span)
{
    ir_env_mark mark = ir_env_enter(env);
    ir_assume_inside(env, t, index);
    const ir_linear *form = ir_linear_of(env, plain_offset(env, t, index, span));
    ir_env_leave(env, mark);
    return form;
}
