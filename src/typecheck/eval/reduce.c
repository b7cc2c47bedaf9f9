// Reductions over generators whose elements are run-time values: sum(x[j] for j in range(n)), …, reduce(f, e, (…)).
//
// Without an interpretation they are loops around accumulators, made here; under one they are the handler's `reduce`
// (generator.c). stdlib/language/compute.hds defines what sum, max, … combine.
#include "typecheck/eval/eval.h"
#include "typecheck/eval/reduce_priv.h"

#include <string.h>

static const struct {
    const char *name, *record;
} REDUCTIONS[] = {
    [TC_REDUCE_SUM] = {"sum", "SUM"},          [TC_REDUCE_PROD] = {"prod", "PROD"},
    [TC_REDUCE_MAX] = {"max", "MAX"},          [TC_REDUCE_MIN] = {"min", "MIN"},
    [TC_REDUCE_ANY] = {"any", "ANY"},          [TC_REDUCE_ALL] = {"all", "ALL"},
    [TC_REDUCE_ARGMAX] = {"argmax", "ARGMAX"}, [TC_REDUCE_ARGMIN] = {"argmin", "ARGMIN"},
    [TC_REDUCE_CUSTOM] = {"reduce", NULL},
};

bool tc_gives_position(tc_reduction kind)
{
    return kind == TC_REDUCE_ARGMAX || kind == TC_REDUCE_ARGMIN;
}

// ---- elements ----------------------------------------------------------------------------------------------------

bool tc_is_sequence(tc_value v)
{
    return v.kind == TC_TUPLE || v.kind == TC_LIST;
}

// The parts of an element of reduce(…). A known float takes the type of the first float beside it.
static tc_value parts_of(tc *tx, tc_value v, src_span span)
{
    const ir_type *floats = NULL;
    for (size_t i = 0; i < v.list->len && !floats; i++) {
        const ir_type *t = tc_value_type(v.list->at[i]);
        floats = t && t->kind == IR_SCALAR && dt_is_float(t->scalar) ? t : NULL;
    }
    tc_value parts = tc_list_new(tx, TC_TUPLE, NULL, 0);
    for (size_t i = 0; i < v.list->len; i++) {
        tc_value part = v.list->at[i];
        ir_expr *e = part.kind == TC_FLOAT && floats ? tc_convert(tx, part, floats, span, "element")
                                                     : tc_default_rt(tx, part, span);
        if (!e)
            return tc_poison();
        tc_list_push(tx, parts.list, tc_rt(e));
    }
    return parts;
}

// What is reduced: a run-time scalar, or a tuple of them.
tc_value tc_reduce_element(tc *tx, tc_reduction kind, tc_value v, src_span span)
{
    if (kind == TC_REDUCE_CUSTOM && tc_is_sequence(v) && v.list->len)
        return parts_of(tx, v, span);
    if (tc_is_sequence(v))
        return TC_ERR(tx, HDS0281, span, REDUCTIONS[kind].name, tc_describe(tx, v));
    bool is_logical = kind == TC_REDUCE_ANY || kind == TC_REDUCE_ALL;
    ir_expr *e = is_logical ? tc_condition(tx, v, span) : tc_default_rt(tx, v, span);
    if (!e)
        return tc_poison();
    if (e->type->kind != IR_SCALAR)
        return TC_ERR(tx, HDS0281, span, REDUCTIONS[kind].name, tc_describe(tx, v));
    bool counts = (kind == TC_REDUCE_SUM || kind == TC_REDUCE_PROD) && e->type->scalar == DT_BOOL;
    return tc_rt(counts ? ir_cast(tx->ir, e, ir_scalar(tx->ir, DT_I32), span) : e);
}

static tc_value field(tc *tx, tc_value how, const char *name)
{
    const tc_value *f = how.kind == TC_RECORD ? tc_record_field(how.record, sym_of(tx->syms, name), NULL) : NULL;
    return f ? *f : tc_poison();
}

tc_value tc_wrong_parts(tc *tx, const char *what, tc_value expected, tc_value found, src_span span)
{
    if (tc_is_poison(found))
        return found;
    size_t count = tc_is_sequence(expected) ? expected.list->len : 0;
    const char *wanted = count ? arena_printf(tx->arena, "a tuple of %zu numbers", count) : "a number";
    const char *is =
        tc_is_sequence(found) ? arena_printf(tx->arena, "a tuple of %zu", found.list->len) : tc_describe(tx, found);
    return TC_ERR(tx, HDS0218, span, what, wanted, is);
}

static bool same_parts(tc_value a, tc_value b)
{
    if (tc_is_sequence(a) && tc_is_sequence(b))
        return a.list->len == b.list->len;
    return !tc_is_sequence(a) && !tc_is_sequence(b) && b.kind != TC_POISON;
}

// The identity of the reduction for elements like this one.
tc_value tc_reduce_identity(tc *tx, tc_value how, tc_value element, src_span span)
{
    tc_value identity = field(tx, how, "identity");
    if (tc_is_of_kind(TC_KIND_FUNCTION, identity)) {
        size_t count = tc_is_sequence(element) ? element.list->len : 1;
        tc_value *types = ARENA_ARRAY(tx->arena, tc_value, count + 1);
        for (size_t i = 0; i < count; i++)
            types[i] = tc_type((tc_is_sequence(element) ? element.list->at[i] : element).rt->type);
        identity = tc_call_values(tx, identity, types, count, span);
    }
    return same_parts(element, identity) ? identity : tc_wrong_parts(tx, "the identity", element, identity, span);
}

tc_value tc_tuple_or_one(tc *tx, tc_value like, const tc_value *parts)
{
    return tc_is_sequence(like) ? tc_list_new(tx, TC_TUPLE, parts, like.list->len) : parts[0];
}

const tc_value *tc_parts_in(const tc_value *v, size_t *count)
{
    *count = tc_is_sequence(*v) ? v->list->len : 1;
    return tc_is_sequence(*v) ? v->list->at : v;
}

// ---- loops -------------------------------------------------------------------------------------------------------

typedef struct serial {
    tc *tx;
    const ast_comprehension *e;
    tc_reduction kind;
    tc_value how;
    ir_block *outside;  // accumulators are declared here, before the loops
    tc_value total;     // reads of the accumulators; poison: there was no element yet
    const ir_var *only; // the loop variable that counts the elements; NULL: [counter] does
    ir_var *counter;
    bool is_wide; // positions have 64 bits
} serial;

static bool serial_clause(serial *s, size_t k);

static ir_expr *position_of(serial *s, src_span span)
{
    tc *tx = s->tx;
    if (s->only)
        return ir_read(tx->ir, (ir_var *)s->only, span);
    if (!s->counter) {
        ir_block *inside = tx->block;
        tx->block = s->outside;
        dtype t = s->is_wide ? DT_I64 : DT_I32;
        s->counter = tc_declare(tx, "position", ir_scalar(tx->ir, t), ir_int(tx->ir, t, 0), span);
        s->counter->is_mutable = true;
        tx->block = inside;
    }
    return ir_read(tx->ir, s->counter, span);
}

// Accumulators of the identity's types, as far as it has some, else of the first element's.
static bool declare_total(serial *s, tc_value element)
{
    tc *tx = s->tx;
    src_span span = s->e->node.span;
    tc_value identity = tc_reduce_identity(tx, s->how, element, span);
    if (tc_is_poison(identity))
        return false;
    size_t count;
    const tc_value *starts = tc_parts_in(&identity, &count), *parts = tc_parts_in(&element, &count);
    tc_value *reads = ARENA_ARRAY(tx->arena, tc_value, count);
    ir_block *inside = tx->block;
    tx->block = s->outside;
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        const ir_type *t = starts[i].kind == TC_RT ? starts[i].rt->type : parts[i].rt->type;
        ir_expr *init = tc_convert(tx, starts[i], t, span, "identity");
        ok = init != NULL;
        if (!ok)
            break;
        ir_var *v = tc_declare(tx, REDUCTIONS[s->kind].name, t, init, span);
        v->is_mutable = true;
        reads[i] = tc_rt(ir_read(tx->ir, v, span));
    }
    tx->block = inside;
    if (ok)
        s->total = tc_tuple_or_one(tx, element, reads);
    return ok;
}

static bool serial_element(serial *s)
{
    tc *tx = s->tx;
    src_span span = s->e->element->span;
    tc_value v = tc_reduce_element(tx, s->kind, tc_eval(tx, s->e->element), span);
    if (tc_is_poison(v))
        return false;
    if (tc_gives_position(s->kind)) {
        tc_value pair[2] = {tc_freeze(tx, v, span), tc_rt(position_of(s, span))};
        v = tc_list_new(tx, TC_TUPLE, pair, 2);
    }
    if (tc_is_poison(s->total) && !declare_total(s, v))
        return false;
    tc_value operands[2] = {s->total, tc_freeze(tx, v, span)};
    tc_value sum = tc_call_values(tx, field(tx, s->how, "combine"), operands, 2, s->e->node.span);
    if (!same_parts(s->total, sum))
        return !tc_is_poison(tc_wrong_parts(tx, "the combined value", s->total, sum, s->e->node.span));
    size_t count;
    const tc_value *to = tc_parts_in(&s->total, &count), *from = tc_parts_in(&sum, &count);
    tc_value *kept = ARENA_ARRAY(tx->arena, tc_value, count);
    for (size_t i = 0; i < count; i++) {
        ir_expr *e = tc_convert(tx, from[i], to[i].rt->type, s->e->node.span, "the combined value");
        if (!e)
            return false;
        // no part is assigned before all are computed
        kept[i] = count > 1 ? tc_freeze(tx, tc_rt(e), span) : tc_rt(e);
    }
    for (size_t i = 0; i < count; i++)
        tc_assign_var(tx, to[i].rt->u.var, kept[i].rt, span);
    if (s->counter) {
        ir_expr *one = ir_int(tx->ir, s->counter->type->scalar, 1);
        ir_expr *next = ir_binary(tx->ir, IR_OP_ADD, ir_read(tx->ir, s->counter, span), one, span);
        tc_assign_var(tx, s->counter, next, span);
    }
    return true;
}

static bool serial_conditions(serial *s, size_t k, size_t c)
{
    tc *tx = s->tx;
    const ast_comp_for *clause = &s->e->clauses.at[k];
    if (c == clause->conditions.len)
        return serial_clause(s, k + 1);
    const ast_expr *e = clause->conditions.at[c];
    tc_value v = tc_eval(tx, e);
    bool truth;
    if (tc_truth_of(tx, &v, e->span, &truth))
        return !truth || serial_conditions(s, k, c + 1);
    ir_expr *condition = tc_condition(tx, v, e->span);
    if (!condition)
        return false;
    ir_stmt *branch = tc_new_stmt(tx, IR_IF, e->span);
    branch->value = condition;
    ir_block *saved = tx->block;
    tx->block = &branch->body;
    tc_region_enter(tx);
    bool ok = serial_conditions(s, k, c + 1);
    tc_region_leave(tx);
    tx->block = saved;
    if (ok)
        tc_emit(tx, branch);
    return ok;
}

bool tc_is_plain_name(tc *tx, const ast_expr *target)
{
    if (target->kind == AST_NAME)
        return true;
    tc_error(tx, HDS0164, target->span);
    return false;
}

static bool serial_range(serial *s, size_t k, const tc_range *r)
{
    tc *tx = s->tx;
    static const ast_list nothing;
    const ast_comp_for *clause = &s->e->clauses.at[k];
    ir_expr *bounds[3];
    if (!tc_is_plain_name(tx, clause->target) || !tc_range_bounds(tx, r, &nothing, clause->iterable->span, bounds))
        return false;
    ir_stmt *loop = tc_new_stmt(tx, IR_FOR, s->e->node.span);
    loop->args = arena_dup(tx->ir->arena, bounds, sizeof bounds);
    loop->arg_count = 3;
    sym name = AST_AS(NAME, name, clause->target)->name;
    loop->var = ir_var_new(tx->ir, IR_VAR_LOOP, name->text, bounds[0]->type, clause->target->span);
    int64_t start, step;
    bool counts = ir_const_int(bounds[0], &start) && ir_const_int(bounds[2], &step) && start == 0 && step == 1;
    s->is_wide |= dt_bits(bounds[0]->type->scalar) > 32;
    s->only = counts && s->e->clauses.len == 1 ? loop->var : NULL;
    ir_block *saved = tx->block;
    tx->block = &loop->body;
    tc_region_enter_loop(tx);
    tc_scope_bind(tx, tx->frame->scope, name, tc_rt(ir_read(tx->ir, loop->var, clause->target->span)),
                  clause->target->span);
    bool ok = serial_conditions(s, k, 0);
    tc_region_leave(tx);
    tx->block = saved;
    if (ok)
        tc_emit(tx, loop);
    return ok;
}

static bool serial_clause(serial *s, size_t k)
{
    tc *tx = s->tx;
    if (k == s->e->clauses.len)
        return serial_element(s);
    const ast_comp_for *clause = &s->e->clauses.at[k];
    tc_value iterable = tc_eval(tx, clause->iterable);
    if (tc_is_poison(iterable))
        return false;
    if (iterable.kind == TC_RANGE && !iterable.range->is_static)
        return serial_range(s, k, iterable.range);
    tc_list items = {0};
    if (!tc_iterate(tx, iterable, clause->iterable->span, &items))
        return false;
    for (size_t i = 0; i < items.len; i++)
        if (!tc_step(tx, s->e->node.span) || !tc_assign_target(tx, clause->target, items.at[i], clause->target->span) ||
            !serial_conditions(s, k, 0))
            return false;
    return true;
}

static tc_value serial_reduce(tc *tx, const ast_comprehension *e, tc_reduction kind, tc_value how)
{
    serial s = {.tx = tx, .e = e, .kind = kind, .how = how, .outside = tx->block, .total = tc_poison()};
    tc_scope *saved = tx->frame->scope;
    tx->frame->scope = tc_scope_new(tx, saved, saved->module, TC_SCOPE_FUNCTION);
    bool ok = serial_clause(&s, 0);
    tx->frame->scope = saved;
    if (ok && tc_is_poison(s.total)) // static iterables without items
        return TC_ERR(tx, HDS0282, e->node.span, REDUCTIONS[kind].name);
    return ok ? s.total : tc_poison();
}

// ---- calls -------------------------------------------------------------------------------------------------------

// Few calls have one: it is asked before names are compared.
static bool has_generator(const ast_call *e)
{
    for (size_t i = 0; i < e->args.len; i++)
        if (e->args.at[i].value->kind == AST_GENERATOR)
            return true;
    return false;
}

static bool reduction_of(tc_value callee, tc_reduction *kind)
{
    for (size_t i = 0; i < sizeof REDUCTIONS / sizeof *REDUCTIONS; i++)
        if (strcmp(callee.native->name, REDUCTIONS[i].name) == 0) {
            *kind = (tc_reduction)i;
            return true;
        }
    return false;
}

// The generator of a call that has nothing else but what the reduction takes; NULL: there is none.
static const ast_comprehension *generator_of(const ast_call *e, tc_reduction kind)
{
    size_t at = kind == TC_REDUCE_CUSTOM ? 2 : 0, most = kind == TC_REDUCE_SUM ? 2 : at + 1;
    if (e->args.len <= at || e->args.len > most || e->args.at[at].value->kind != AST_GENERATOR)
        return NULL;
    for (size_t i = 0; i <= at; i++)
        if (e->args.at[i].kind != AST_ARG_PLAIN || e->args.at[i].name)
            return NULL;
    bool has_start = e->args.len == 2 && kind == TC_REDUCE_SUM;
    if (has_start && e->args.at[1].name && strcmp(e->args.at[1].name->text, "start") != 0)
        return NULL;
    return AST_AS(GENERATOR, comprehension, e->args.at[at].value);
}

static bool has_condition(const ast_comprehension *e)
{
    for (size_t k = 0; k < e->clauses.len; k++)
        if (e->clauses.at[k].conditions.len)
            return true;
    return false;
}

static tc_value reduction_record(tc *tx, tc_reduction kind, const tc_value *custom, src_span span)
{
    if (kind != TC_REDUCE_CUSTOM)
        return tc_library(tx, "hidet.lang.compute", REDUCTIONS[kind].record, span);
    tc_value class = tc_library(tx, "hidet.lang.compute", "Reduction", span);
    tc_value fields[3] = {custom[0], custom[1], tc_str(STR("reduce"))};
    return tc_is_poison(class) ? class : tc_call_values(tx, class, fields, 3, span);
}

static tc_value reduce_generator(tc *tx, const ast_comprehension *e, tc_reduction kind, const tc_value *custom)
{
    if (tc_gives_position(kind) && has_condition(e))
        return TC_ERR(tx, HDS0281, e->node.span, REDUCTIONS[kind].name, "a generator with 'if'");
    tc_value how = reduction_record(tx, kind, custom, e->node.span), r;
    if (how.kind != TC_RECORD)
        return tc_poison();
    if (tc_handles(tx, "reduce"))
        r = tc_handled_reduce(tx, e, kind, how);
    else
        r = serial_reduce(tx, e, kind, how);
    return tc_gives_position(kind) && tc_is_sequence(r) ? r.list->at[1] : r;
}

// Binds the names of a generator's clauses to indices that no loop counts. False: it is not over ranges.
static bool bind_no_index(tc *tx, const ast_comprehension *e)
{
    for (size_t k = 0; k < e->clauses.len; k++) {
        const ast_expr *target = e->clauses.at[k].target;
        if (target->kind != AST_NAME || tc_eval(tx, e->clauses.at[k].iterable).kind != TC_RANGE)
            return false;
        sym name = AST_AS(NAME, name, target)->name;
        ir_var *index = ir_var_new(tx->ir, IR_VAR_LOOP, name->text, ir_scalar(tx->ir, DT_I32), target->span);
        tc_scope_bind(tx, tx->frame->scope, name, tc_rt(ir_read(tx->ir, index, target->span)), target->span);
    }
    return true;
}

// An element of a generator whose ranges are known to be empty, of which no code is kept; poison: it cannot be evaluated, or the
// generator is over something else.
static tc_value imagined_element(tc *tx, const ast_comprehension *e)
{
    ir_block aside = {0}, *kept = tx->block;
    tc_scope *saved = tx->frame->scope;
    bool analyzed = tx->analyzes, muted = tx->diags->muted;
    int errors = tx->diags->error_count;
    size_t shared = tc_shared_mark(tx);
    tx->block = &aside;
    tx->analyzes = tx->diags->muted = true;
    tx->frame->scope = tc_scope_new(tx, saved, saved->module, TC_SCOPE_FUNCTION);
    tc_value v = bind_no_index(tx, e) ? tc_eval(tx, e->element) : tc_poison();
    tx->frame->scope = saved;
    tc_shared_drop(tx, shared);
    tx->diags->error_count = errors;
    tx->diags->muted = muted;
    tx->analyzes = analyzed;
    tx->block = kept;
    return v;
}

// A reduction over ranges that are known to be empty is what it is over ranges of the run that are empty: the identity, in
// the type of the elements. False: they are known, and Python's rules hold.
static bool reduce_nothing(tc *tx, const ast_comprehension *e, tc_reduction kind, tc_value *out)
{
    src_span span = e->node.span;
    tc_value v = kind == TC_REDUCE_CUSTOM || tc_gives_position(kind) ? tc_poison() : imagined_element(tx, e);
    if (v.kind != TC_RT)
        return false;
    v = tc_reduce_element(tx, kind, v, span);
    tc_value how = tc_is_poison(v) ? v : reduction_record(tx, kind, NULL, span);
    tc_value identity = tc_is_poison(how) ? how : tc_reduce_identity(tx, how, v, span);
    ir_expr *converted = tc_is_poison(identity) ? NULL : tc_convert(tx, identity, v.rt->type, span, "identity");
    *out = converted ? tc_rt(converted) : tc_poison();
    return true;
}

bool tc_reduce_call(tc *tx, tc_value callee, const ast_call *call, tc_value *out)
{
    tc_reduction kind;
    if (!tx->block || callee.kind != TC_NATIVE || !has_generator(call) || !reduction_of(callee, &kind))
        return false;
    const ast_comprehension *e = generator_of(call, kind);
    if (!e)
        return false;
    tc_value values[3];
    size_t count = 0;
    for (; count < 2 && kind == TC_REDUCE_CUSTOM; count++) {
        values[count] = tc_eval(tx, call->args.at[count].value);
        if (tc_is_poison(values[count])) {
            *out = tc_poison();
            return true;
        }
    }
    tc_try t;
    tc_try_begin(tx, &t);
    bool compile_time = tx->frame->compile_time;
    tx->frame->compile_time = true;
    values[count++] = tc_comprehension(tx, e);
    tx->frame->compile_time = compile_time;
    bool is_known = tc_try_end(tx, &t);
    *out = tc_poison();
    if (!is_known && !t.outermost)
        return true; // the attempt around this one fails as well
    if (is_known && tc_is_poison(values[count - 1]))
        return true;
    bool is_empty = is_known && tc_is_sequence(values[count - 1]) && !values[count - 1].list->len;
    if (is_known && !(is_empty && reduce_nothing(tx, e, kind, out))) {
        if (call->args.len > count)
            values[count++] = tc_eval(tx, call->args.at[1].value);
        *out = tc_call_values(tx, callee, values, count, call->node.span);
        return true;
    }
    if (!is_known)
        *out = reduce_generator(tx, e, kind, values);
    if (kind == TC_REDUCE_SUM && call->args.len == 2) {
        *out = tc_freeze(tx, *out, call->node.span);
        *out = tc_binary(tx, AST_OP_ADD, tc_eval(tx, call->args.at[1].value), *out, call->node.span);
    }
    return true;
}

// ---- over known sequences ----------------------------------------------------------------------------------------

tc_value tc_native_reduce(tc *tx, const tc_native *self, tc_args *args)
{
    tc_list items = {0};
    tc_value combine = *tc_arg_get(args, self->params, 0), r = *tc_arg_get(args, self->params, 1);
    if (!tc_iterate(tx, *tc_arg_get(args, self->params, 2), tc_arg_span(args, self->params, 2), &items))
        return tc_poison();
    for (size_t i = 0; i < items.len; i++) {
        tc_value pair[2] = {r, items.at[i]};
        r = tc_call_values(tx, combine, pair, 2, args->span);
        if (tc_is_poison(r))
            return r;
    }
    return r;
}

tc_value tc_native_prod(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_list items = {0};
    if (!tc_iterate(tx, args->list.at[0].value, args->list.at[0].span, &items))
        return tc_poison();
    tc_value r = items.len ? items.at[0] : tc_of_int(1);
    for (size_t i = 1; i < items.len; i++)
        r = tc_binary(tx, AST_OP_MUL, r, items.at[i], args->span);
    return r;
}

// The index of the first of the largest, or smallest, items, which are known.
tc_value tc_native_arg(tc *tx, const tc_native *self, tc_args *args)
{
    tc_list items = {0};
    if (!tc_iterate(tx, args->list.at[0].value, args->list.at[0].span, &items))
        return tc_poison();
    if (!items.len)
        return TC_ERR(tx, HDS0282, args->span, self->name);
    size_t best = 0;
    for (size_t i = 0; i < items.len; i++) {
        bool is_nan = items.at[i].kind == TC_FLOAT && items.at[i].f != items.at[i].f;
        if (is_nan)
            return tc_of_int((tc_int)i);
        ast_op wins = self->data == 1 ? AST_OP_GT : AST_OP_LT;
        tc_value better = tc_compare(tx, wins, items.at[i], items.at[best], args->span);
        if (better.kind == TC_RT) {
            diag *d = tc_error(tx, HDS0281, args->list.at[0].span, self->name, "run-time items in a list");
            diag_help(d, "write a generator: %s(x[j] for j in range(n))", self->name);
        }
        if (better.kind != TC_BOOL)
            return tc_poison();
        best = better.b ? i : best;
    }
    return tc_of_int((tc_int)best);
}
