// Which axes of an operator's entry may represent any number of axes. See Note [collapsed axes].
#include "typecheck/operators/operators_priv.h"

#include <string.h>

enum { COLLAPSED = 6 }; // extent of the axis that is looked at

// Of each tensor: the number of the collapsed axis, or -1, and the variadic parameter that it stands for.
typedef struct tensor_axis {
    int axis, variadic;
} tensor_axis;
typedef VEC(tensor_axis) axis_list;

// What stands in place of the collapsed axes: of the first variadic parameter, and of others.
typedef struct extents {
    int count, first[2], others[2];
} extents;

static tc_value tuple_of(tc *tx, const int *items, int count)
{
    tc_value list = tc_list_new(tx, TC_TUPLE, NULL, 0);
    for (int i = 0; i < count; i++)
        tc_list_push(tx, list.list, tc_of_int(items[i]));
    return list;
}

// ((0, (2, 3)), None)
static tc_value collapsed_axes(tc *tx, const axis_list *axes, size_t from, size_t count, const extents *e)
{
    tc_value list = tc_list_new(tx, TC_TUPLE, NULL, 0);
    for (size_t i = from; i < from + count; i++) {
        const tensor_axis *t = &axes->at[i];
        tc_value item = tc_none();
        if (t->axis >= 0) {
            tc_value parts[] = {tc_of_int(t->axis), tuple_of(tx, t->variadic ? e->others : e->first, e->count)};
            item = tc_list_new(tx, TC_TUPLE, parts, 2);
        }
        tc_list_push(tx, list.list, item);
    }
    return list;
}

// A kernel with known extents that computes elements of a result, or (axes NULL) has its parameters alone; NULL if
// that is not possible.
static ir_func *build(const tc_probe *as, const axis_list *axes, const extents *e, size_t result, bool is_numbered)
{
    tc_probe p = *as;
    tc *tx = p.tx;
    if (!tc_probe_open(&p))
        return NULL;
    int before = tx->diags->error_count;
    if (axes) {
        size_t results = p.op->results.len, operands = axes->len - results;
        tc_value args[] = {tc_probe_definition(&p),
                           tc_probe_operands(&p),
                           tc_probe_results(&p),
                           collapsed_axes(tx, axes, 0, operands, e),
                           collapsed_axes(tx, axes, operands, results, e),
                           tc_of_int((int)result),
                           tc_bool(is_numbered),
                           tc_probe_named(&p)};
        size_t count = sizeof args / sizeof *args;
        if (tc_is_poison(args[0]) || tc_is_poison(args[count - 1]) ||
            tc_is_poison(tc_probe_call(&p, "collapse", "write_elements", args, count))) {
            tc_probe_close(&p);
            return NULL;
        }
    }
    bool ok = tx->diags->error_count == before && !tx->aborted;
    ir_func *made = tc_probe_close(&p);
    return ok ? made : NULL;
}

// The first variadic parameter that is looked at and stands in the type.
static int variadic_of(const tc_probe *p, const ast_expr *type)
{
    for (size_t i = 0; i < p->op->joined.len; i++) {
        bool is_looked_at = (p->collapsing == (int)i || p->collapsing == TC_ALL_GROUPS) && p->layout->joined[i] >= 0;
        if (is_looked_at && tc_expr_mentions(type, p->op->joined.at[i]))
            return (int)i;
    }
    return 0;
}

// The axis of each tensor that has the extent; tensors with two of them have it nowhere, as in entries. [types]: of the
// tensors, in order.
typedef VEC(const ast_expr *) type_list;

static void find_axes(const tc_probe *p, const ir_func *f, const type_list *types, axis_list *axes)
{
    for (size_t i = 0; i < f->params.len; i++) {
        const ir_tensor *t = f->params.at[i]->tensor;
        int found = 0, last = -1;
        int64_t extent;
        for (int axis = 0; t && axis < t->rank; axis++)
            if (ir_const_int(t->shape[axis], &extent) && extent == COLLAPSED) {
                last = axis;
                found++;
            }
        if (!t)
            continue;
        tensor_axis of = {found == 1 ? last : -1, variadic_of(p, types->at[axes->len])};
        VEC_PUSH(p->tx->arena, axes, of);
    }
}

static int rank_in(const ir_func *f, size_t tensor)
{
    for (size_t i = 0; i < f->params.len; i++)
        if (f->params.at[i]->tensor && tensor-- == 0)
            return f->params.at[i]->tensor->rank;
    return -1;
}

// With more axes in place of the one, a tensor that has the axis has so many more by its type, too: not so the w: T[*R]
// of *R = S[-2:], which are the last two alone.
static bool stays_together(const tc_probe *as, const axis_list *axes, const ir_func *shell)
{
    bool ok = true;
    for (int added = 1; added <= 2; added++) {
        tc_probe p = *as;
        tc_entry_layout split = *as->layout;
        for (size_t i = 0; i < p.op->joined.len; i++)
            if ((p.collapsing == (int)i || p.collapsing == TC_ALL_GROUPS) && split.joined[i] >= 0)
                split.ranks[i] += added;
        p.layout = &split;
        p.split = added + 1;
        const ir_func *more = build(&p, NULL, NULL, 0, false);
        for (size_t i = 0; more && i < axes->len; i++)
            ok &= axes->at[i].axis < 0 || rank_in(more, i) == rank_in(shell, i) + added;
    }
    return ok;
}

static type_list types_of(const tc_probe *p)
{
    type_list types = {0};
    for (size_t i = 0; i < p->op->params.len; i++)
        if (tc_is_present(p->op, p->layout, i))
            VEC_PUSH(p->tx->arena, &types, p->op->params.at[i].type);
    for (size_t i = 0; i < p->op->results.len; i++)
        VEC_PUSH(p->tx->arena, &types, p->op->results.at[i]);
    return types;
}

// The statements, but for the tensors that the definition was given: their extents differ, and every load is of a
// parameter.
static const char *text_of(tc *tx, ir_func *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->body.stmts.len; i++) {
        ir_stmt *s = f->body.stmts.at[i];
        if (s->kind != IR_DECL || !s->var->tensor)
            f->body.stmts.at[kept++] = s;
    }
    f->body.stmts.len = kept;
    tc_compute_constants(tx->ir, &f->body, tx->arena);
    str_buf out;
    str_buf_init(&out, tx->arena);
    ir_print_func(f, &out);
    const char *body = strstr(str_text(&out), "\n{");
    return body ? body : str_text(&out);
}

// The text of what is built; of the code, which may be large, nothing is left. NULL: it cannot be built.
static const char *text_with(const tc_probe *p, const axis_list *axes, const extents *e, size_t result,
                             bool is_numbered)
{
    tc *tx = p->tx;
    arena_mark mark = arena_mark_get(tx->ir->arena);
    size_t funcs = tx->ir->funcs.len;
    ir_func *f = build(p, axes, e, result, is_numbered);
    const char *text = f ? text_of(tx, f) : NULL;
    if (tx->options->ir_scratch && !tx->lifetime->keeps && tx->ir->funcs.len == funcs) {
        ir_forget_spare(tx->ir);
        arena_reset(tx->ir->arena, mark);
    }
    return text;
}

// Two ways to lay out what a collapsed axis stands for, and how many elements it has.
typedef struct comparison {
    int collapsed;
    extents one, more;
} comparison;

// One result at a time, since the code of all of them is large.
static tc_collapse compare_result(tc_probe *p, const axis_list *axes, size_t result, bool is_numbered)
{
    // Axes of two variadic parameters that meet have no such extents. The last one: there may be no axes at all.
    static const comparison all[] = {{COLLAPSED, {1, {6}, {6}}, {2, {2, 3}, {2, 3}}},
                                     {COLLAPSED, {1, {6}, {6}}, {2, {2, 3}, {3, 2}}},
                                     {1, {1, {1}, {1}}, {0, {0}, {0}}}};
    bool is_alone = p->collapsing != TC_ALL_GROUPS;
    int last = is_alone && p->layout->ranks[p->collapsing] > 1 ? 2 : is_alone ? 0 : 1;
    for (int i = is_alone ? 0 : 1; i <= last; i += is_alone ? 2 : 1) {
        p->collapsed = all[i].collapsed;
        const char *one = text_with(p, axes, &all[i].one, result, is_numbered);
        const char *more = one ? text_with(p, axes, &all[i].more, result, is_numbered) : NULL;
        if (!one)
            return TC_COLLAPSE_UNKNOWN;
        if (!more || strcmp(one, more) != 0)
            return TC_COLLAPSE_NO;
    }
    return TC_COLLAPSE_YES;
}

static tc_collapse compare(tc_probe *p, const axis_list *axes, bool is_numbered)
{
    tc_collapse found = TC_COLLAPSE_YES;
    for (size_t i = 0; found == TC_COLLAPSE_YES && i < p->op->results.len; i++)
        found = compare_result(p, axes, i, is_numbered);
    return found;
}

// Whether an operand may be of indices.
static bool has_numbers(const tc_operator *o)
{
    bool any = false;
    for (size_t i = 0; i < o->schema.symbols.len; i++)
        any |= o->schema.symbols.at[i].kind == OP_TYPE && dt_is_int(o->schema.symbols.at[i].choices.at[0]);
    return any;
}

static tc_collapse look_with(const tc_probe *as, int variadic)
{
    tc_probe p = *as;
    p.collapsing = variadic;
    p.collapsed = COLLAPSED;
    axis_list axes = {0};
    const ir_func *shell = build(&p, NULL, NULL, 0, false);
    if (!shell)
        return TC_COLLAPSE_UNKNOWN;
    const type_list types = types_of(&p);
    find_axes(&p, shell, &types, &axes);
    if (!stays_together(&p, &axes, shell))
        return TC_COLLAPSE_NO;
    tc_collapse found = compare(&p, &axes, false);
    if (found == TC_COLLAPSE_NO && has_numbers(p.op))
        found = compare(&p, &axes, true);
    return found;
}

// As [look_with]. Nothing of the code is kept, unless there are device functions, which others may call, too.
static tc_collapse look_at(const tc_probe *p, int variadic)
{
    tc *tx = p->tx;
    ir_module *m = tx->ir;
    const ir_extent before = {m->funcs.len, m->next_var, (uint32_t)m->sites.len};
    tc_ir_lifetime lifetime;
    tc_ir_begin(tx, &lifetime);
    tc_collapse found = look_with(p, variadic);
    lifetime.lifetime.keeps |= m->funcs.len != before.funcs;
    if (!lifetime.lifetime.keeps) {
        m->sites.len = before.sites;
        m->next_var = before.vars;
    }
    tc_ir_end(tx, &lifetime);
    return found;
}

tc_collapse tc_may_collapse(tc *tx, const tc_operator *o, const tc_entry_layout *l, const dtype *types, int known)
{
    const tc_probe p = {.tx = tx, .op = o, .layout = l, .types = types, .known = known};
    bool muted = tx->diags->muted, aborted = tx->aborted;
    int errors = tx->diags->error_count;
    int count = 0;
    tc_collapse answer = TC_COLLAPSE_YES;
    tx->diags->muted = true;
    for (size_t i = 0; answer == TC_COLLAPSE_YES && i < o->joined.len; i++)
        if (l->joined[i] >= 0) {
            answer = look_at(&p, (int)i);
            count++;
        }
    if (answer == TC_COLLAPSE_YES && count > 1)
        answer = look_at(&p, TC_ALL_GROUPS);
    tx->diags->muted = muted;
    tx->diags->error_count = errors;
    tx->aborted = aborted;
    return answer;
}

/* Note [collapsed axes]
 *
 * `*S` is one axis of an entry, for any number of axes of the tensors that C has. That is right for definitions that
 * use these axes together, as x[*i], and wrong for one that uses an axis of them by itself: softmax(x) reduces the last
 * one. A definition does anything with len(S), S[-1] and i[0], in functions that it calls, so looking at its text does
 * not tell. It is elaborated: once with one axis of 6, once with two of 2 and 3, with all extents and all indices along
 * these axes known, for the same elements of the results (stdlib/schedules/collapse.hds). Loads go to the same flat
 * tensors in both. Whatever depends on axes is gone from the code then, and the texts of both are equal if the axes may
 * be collapsed.
 *
 * What the parameters of the definition are called does not matter: entries of softmax have the last axis apart because
 * the comparison fails without, and with axis=0 the first one.
 *
 * There is no answer for definitions that cannot be elaborated like this. Other types and extents are tried; where none
 * of them gives an answer, there is no entry unless -D fixes the number of axes, or the author wrote the schedule.
 */
