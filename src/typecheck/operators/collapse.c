// Which axes of an operator's entry may represent any number of axes. See Note [collapsed axes].
#include "typecheck/operators/writer.h"

#include <string.h>

// Extents of the axis that is looked at, and tried in turn for all others: some definitions take multiples of a number.
enum { COLLAPSED = 6, ALL_GROUPS = -1 };
static const int known_extents[] = {4, 32, 8, 2, 1, 3, 5, 7, 64};

static bool is_looked_at(const writer *w, size_t variadic, int axis)
{
    bool is_looked_at = w->collapsing == (int)variadic || w->collapsing == ALL_GROUPS;
    return is_looked_at && w->joined[variadic] == axis;
}

// "N: at_least(0)" as "N: int = 4"; what has a default keeps it.
static void write_size(writer *w, const char *size, bool *any)
{
    str_adds(&w->out, tc_separated(any));
    if (strchr(size, '='))
        str_adds(&w->out, tc_type_in_entry(w, size));
    else
        str_addf(&w->out, "%.*s: int = %d", (int)strcspn(size, ":"), size, w->known);
}

static void write_type_params(writer *w)
{
    bool any = false;
    str_addc(&w->out, '[');
    for (size_t i = 0; i < w->op->types.len; i++)
        if (!w->op->types.at[i].has_default)
            str_addf(&w->out, "%s%s: dtype", tc_separated(&any), w->op->types.at[i].name);
    for (size_t i = 0; i < w->op->joined.len; i++)
        for (int k = 0; k < w->ranks[i]; k++)
            str_addf(&w->out, "%s%s: int = %d", tc_separated(&any), tc_axis_name(w, i, k),
                     is_looked_at(w, i, k) ? w->collapsed : w->known);
    for (size_t i = 0; i < w->op->sizes.len; i++)
        write_size(w, w->op->sizes.at[i], &any);
    str_adds(&w->out, "](");
}

static void write_params(writer *w)
{
    bool any = false;
    for (size_t i = 0; i < w->op->params.len; i++) {
        const tc_operator_param *p = &w->op->params.at[i];
        if (p->kind == TC_PARAM_TENSOR)
            str_addf(&w->out, "%s%s: %s", tc_separated(&any), p->name, tc_type_in_entry(w, p->type));
    }
    for (size_t i = 0; i < w->op->results.len; i++)
        str_addf(&w->out, "%s%s: %s", tc_separated(&any), tc_result_name(w, i),
                 tc_type_in_entry(w, w->op->results.at[i]));
    for (size_t i = 0; i < w->op->params.len; i++)
        if (w->op->params.at[i].kind == TC_PARAM_NUMBER)
            str_addf(&w->out, "%s%s: %s", tc_separated(&any), w->op->params.at[i].name, w->op->params.at[i].type);
    str_adds(&w->out, "):\n    attrs.cuda.grid_dim = 1\n    attrs.cuda.block_dim = 1\n");
}

// Of each tensor: the number of the collapsed axis, or -1, and the variadic parameter that it stands for.
typedef struct tensor_axis {
    int axis, variadic;
} tensor_axis;
typedef VEC(tensor_axis) axis_list;

// What stands in place of the collapsed axes: of the first variadic parameter, and of others.
typedef struct extents {
    const char *first, *others;
} extents;

static void write_axes(writer *w, const axis_list *axes, size_t from, size_t count, const extents *e)
{
    str_addc(&w->out, '(');
    for (size_t i = from; i < from + count; i++) {
        const tensor_axis *t = &axes->at[i];
        if (t->axis < 0)
            str_adds(&w->out, "None, ");
        else
            str_addf(&w->out, "(%d, %s), ", t->axis, t->variadic ? e->others : e->first);
    }
    str_adds(&w->out, "), ");
}

static bool write_call(writer *w, const axis_list *axes, const extents *e)
{
    size_t operands = 0;
    bool any = false;
    str_adds(&w->out, "    the_helper(the_operator.definition, (");
    for (size_t i = 0; i < w->op->params.len; i++)
        if (w->op->params.at[i].kind == TC_PARAM_TENSOR) {
            str_addf(&w->out, "%s, ", w->op->params.at[i].name);
            operands++;
        }
    str_adds(&w->out, "), (");
    for (size_t i = 0; i < w->op->results.len; i++)
        str_addf(&w->out, "%s, ", tc_result_name(w, i));
    str_adds(&w->out, "), ");
    write_axes(w, axes, 0, operands, e);
    write_axes(w, axes, operands, w->op->results.len, e);
    str_addf(&w->out, "%s, dict(", w->is_numbered ? "True" : "False");
    bool ok = tc_write_named(w, &any);
    str_adds(&w->out, "))\n");
    return ok;
}

static tc_function *with_types(tc *tx, const tc_operator *o, tc_function *f)
{
    for (size_t i = 0; i < o->types.len; i++) {
        const tc_operator_type *t = &o->types.at[i];
        if (t->has_default)
            continue;
        tc_value type = {.kind = TC_TYPE, .type = ir_scalar(tx->ir, t->choices.at[0])};
        const sym names[] = {sym_of(tx->syms, t->name)};
        f = tc_function_brackets(tx, (tc_value){.kind = TC_FUNCTION, .function = f}, &type, names, 1, o->span).function;
        if (!f)
            return NULL;
    }
    return f;
}

// A kernel with known extents that computes elements of the results, or (axes NULL) has its parameters alone; NULL if
// that is not possible. It is no part of the output.
static ir_func *build(const writer *entry, tc_value v, const axis_list *axes, const extents *e)
{
    writer w = *entry;
    tc *tx = w.tx;
    str_buf_init(&w.out, tx->lasting);
    const char *name = arena_printf(tx->arena, "%s_collapse", w.op->name);
    str_addf(&w.out, "@hidet.script\ndef %s", name);
    write_type_params(&w);
    write_params(&w);
    if (axes && !write_call(&w, axes, e))
        return NULL;
    tc_value helper = tc_library(tx, "hidet.lang.collapse", "write_elements", w.op->span);
    tc_function *f = tc_function_of_text(&w, v, tx->main, name, &helper);
    f = f ? with_types(tx, w.op, f) : NULL;
    if (!f)
        return NULL;
    bool *bound = ARENA_ARRAY(tx->arena, bool, f->decl->type_params.len + 1);
    tc_builder k;
    tx->steps = 0;
    ir_func *made =
        tc_build_kernel(tx, f, tc_entry_scope(tx, f, bound), bound, name, NULL, IR_KERNEL, &k, (src_span){0});
    if (made)
        tx->ir->funcs.len--; // it was the last one
    return made;
}

// The type of tensor number [i] as the author wrote it: operands, then results.
static const char *type_of(const tc_operator *o, size_t i)
{
    for (size_t k = 0; k < o->params.len; k++)
        if (o->params.at[k].kind == TC_PARAM_TENSOR && i-- == 0)
            return o->params.at[k].type;
    return o->results.at[i];
}

// The first variadic parameter that is looked at and stands in the type.
static int variadic_of(const writer *w, const char *type)
{
    for (size_t i = 0; i < w->op->joined.len; i++)
        if (is_looked_at(w, i, w->joined[i]) && tc_has_word(type, str_of(w->op->joined.at[i])))
            return (int)i;
    return 0;
}

// The axis of each tensor that has the extent; tensors with two of them have it nowhere, as in entries.
static void find_axes(const writer *w, const ir_func *f, axis_list *axes)
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
        tensor_axis of = {found == 1 ? last : -1, variadic_of(w, type_of(w->op, axes->len))};
        VEC_PUSH(w->tx->arena, axes, of);
    }
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
    tc_compute_constants(tx->ir, &f->body);
    str_buf out;
    str_buf_init(&out, tx->arena);
    ir_print_func(f, &out);
    const char *body = strstr(str_text(&out), "\n{");
    return body ? body : str_text(&out);
}

// Two ways to lay out what a collapsed axis stands for, and how many elements it has.
typedef struct comparison {
    int collapsed;
    extents one, more;
} comparison;

static tc_collapse compare(writer *w, tc_value v, const axis_list *axes)
{
    // Axes of two variadic parameters that meet have no such extents. The last one: there may be no axes at all.
    static const comparison all[] = {{COLLAPSED, {"(6,)", "(6,)"}, {"(2, 3)", "(2, 3)"}},
                                     {COLLAPSED, {"(6,)", "(6,)"}, {"(2, 3)", "(3, 2)"}},
                                     {1, {"(1,)", "(1,)"}, {"()", "()"}}};
    bool is_alone = w->collapsing != ALL_GROUPS;
    int last = is_alone && w->ranks[w->collapsing] > 1 ? 2 : is_alone ? 0 : 1;
    for (int i = is_alone ? 0 : 1; i <= last; i += is_alone ? 2 : 1) {
        w->collapsed = all[i].collapsed;
        ir_func *one = build(w, v, axes, &all[i].one), *more = one ? build(w, v, axes, &all[i].more) : NULL;
        if (!one)
            return TC_COLLAPSE_UNKNOWN;
        if (!more || strcmp(text_of(w->tx, one), text_of(w->tx, more)) != 0)
            return TC_COLLAPSE_NO;
    }
    return TC_COLLAPSE_YES;
}

// Whether an operand may be of indices.
static bool has_numbers(const tc_operator *o)
{
    bool any = false;
    for (size_t i = 0; i < o->types.len; i++)
        any |= dt_is_int(o->types.at[i].choices.at[0]);
    return any;
}

// The same with extents that the definition takes, if there are.
static tc_collapse look_at(const writer *entry, tc_value v, int variadic)
{
    for (size_t i = 0; i < sizeof known_extents / sizeof *known_extents; i++) {
        writer w = *entry;
        axis_list axes = {0};
        w.collapsing = variadic;
        w.known = known_extents[i];
        w.collapsed = COLLAPSED;
        const ir_func *shell = build(&w, v, NULL, NULL);
        if (!shell)
            continue;
        find_axes(&w, shell, &axes);
        tc_collapse found = compare(&w, v, &axes);
        w.is_numbered = true;
        if (found == TC_COLLAPSE_NO && has_numbers(w.op))
            found = compare(&w, v, &axes);
        if (found != TC_COLLAPSE_UNKNOWN)
            return found;
    }
    return TC_COLLAPSE_UNKNOWN;
}

tc_collapse tc_may_collapse(const writer *entry, tc_value v)
{
    tc *tx = entry->tx;
    bool muted = tx->diags->muted, aborted = tx->aborted;
    int errors = tx->diags->error_count;
    int count = 0;
    tc_collapse answer = TC_COLLAPSE_YES;
    tx->diags->muted = true;
    for (size_t i = 0; answer == TC_COLLAPSE_YES && i < entry->op->joined.len; i++)
        if (entry->joined[i] >= 0) {
            answer = look_at(entry, v, (int)i);
            count++;
        }
    if (answer == TC_COLLAPSE_YES && count > 1)
        answer = look_at(entry, v, ALL_GROUPS);
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
 * The handler has no answer for definitions that cannot be elaborated without extents that only their results tell.
 * They are taken at their word.
 */
