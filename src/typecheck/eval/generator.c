// A reduction under an effect handler: the generator goes to the handler's `reduce` as a function of indices.
#include "typecheck/eval/reduce_priv.h"

struct tc_generator {
    const ast_comprehension *e;
    tc_reduction kind;
    tc_value how;
    tc_value start[TM_MAX_RANK], step[TM_MAX_RANK], extent[TM_MAX_RANK]; // by clause
};

static bool is_known_int(tc_value v, tc_int i)
{
    return v.kind == TC_INT && v.i == i;
}

// ceil((stop - start) / step), and at least 0.
static tc_value extent_of(tc *tx, const tc_range *r, src_span span)
{
    if (!r->bounds[0])
        return tc_of_int(tc_range_len(r));
    int64_t start, step;
    if (!ir_const_int(r->bounds[2], &step))
        return TC_ERR(tx, HDS0219, span, "a step that is not known");
    bool from_zero = ir_const_int(r->bounds[0], &start) && start == 0;
    if (from_zero && step == 1)
        return tc_rt(r->bounds[1]);
    tc_value low = tc_rt(r->bounds[step > 0 ? 0 : 1]), high = tc_rt(r->bounds[step > 0 ? 1 : 0]);
    int64_t size = step > 0 ? step : -step;
    tc_value room = from_zero && step > 0 ? high : tc_binary(tx, AST_OP_SUB, high, low, span);
    if (size > 1) {
        room = tc_binary(tx, AST_OP_ADD, room, tc_of_int(size - 1), span);
        room = tc_binary(tx, AST_OP_FLOORDIV, room, tc_of_int(size), span);
    }
    return tc_freeze(tx, tc_min_max(tx, true, room, tc_of_int(0), span), span);
}

static tc_value bound_value(const tc_range *r, int i)
{
    tc_int known[3] = {r->start, r->stop, r->step};
    int64_t v;
    if (!r->bounds[0])
        return tc_of_int(known[i]);
    return ir_const_int(r->bounds[i], &v) ? tc_of_int(v) : tc_rt(r->bounds[i]);
}

// The ranges are independent of one another: while the later ones are evaluated, the earlier ones' names have no value.
static bool read_ranges(tc *tx, tc_generator *g)
{
    for (size_t k = 0; k < g->e->clauses.len; k++) {
        const ast_comp_for *clause = &g->e->clauses.at[k];
        src_span span = clause->iterable->span;
        int errors = tx->diags->error_count;
        tc_value v = tc_eval(tx, clause->iterable);
        bool depends = tc_is_poison(v) && tx->diags->error_count == errors && !tx->needs_run_time && !tx->aborted;
        if (k == TM_MAX_RANK)
            tc_error(tx, HDS0180, span, TM_MAX_RANK);
        else if (depends)
            tc_error(tx, HDS0219, span, "a range that depends on another one");
        else if (v.kind != TC_RANGE && !tc_is_poison(v))
            tc_error(tx, HDS0219, span, tc_describe(tx, v));
        if (v.kind != TC_RANGE || k == TM_MAX_RANK || !tc_is_plain_name(tx, clause->target))
            return false;
        g->extent[k] = extent_of(tx, v.range, span);
        if (tc_is_poison(g->extent[k]))
            return false;
        g->start[k] = tc_freeze(tx, bound_value(v.range, 0), span);
        g->step[k] = bound_value(v.range, 2);
        sym name = AST_AS(NAME, name, clause->target)->name;
        tc_scope_bind(tx, tx->frame->scope, name, tc_poison(), clause->target->span);
    }
    return true;
}

tc_value tc_handled_reduce(tc *tx, const ast_comprehension *e, tc_reduction kind, tc_value how)
{
    tc_generator *g = ARENA_NEW(tx->arena, tc_generator);
    *g = (tc_generator){.e = e, .kind = kind, .how = how};
    tc_scope *saved = tx->frame->scope;
    tx->frame->scope = tc_scope_new(tx, saved, saved->module, TC_SCOPE_FUNCTION);
    bool ok = read_ranges(tx, g);
    tx->frame->scope = saved;
    if (!ok)
        return tc_poison();
    tc_function *f = ARENA_NEW(tx->arena, tc_function);
    f->id = tx->next_id++;
    f->module = saved->module;
    f->closure = saved;
    f->env = tx->env;
    f->generator = g;
    f->facts = ARENA_NEW(tx->arena, tc_function_facts);
    tc_value args[3] = {
        how, tc_list_new(tx, TC_TUPLE, g->extent, e->clauses.len), {.kind = TC_FUNCTION, .function = f}};
    tc_value r = tc_poison();
    tc_handler_call(tx, "reduce", args, 3, e->node.span, &r);
    bool is_number = tc_default_type(tx, r) != NULL;
    if (tc_gives_position(kind) ? tc_is_sequence(r) && r.list->len == 2
                                : is_number || (kind == TC_REDUCE_CUSTOM && tc_is_sequence(r)))
        return r;
    tc_value like = tc_gives_position(kind) ? tc_list_new(tx, TC_TUPLE, args, 2) : tc_of_int(0);
    return tc_wrong_parts(tx, "the result of the handler's 'reduce'", like, r, e->node.span);
}

// ---- the function of indices ----------------------------------------------------------------------

typedef struct at_indices {
    tc *tx;
    const tc_generator *g;
    const tc_value *indices;
    VEC(const ast_expr *) conditions; // of all clauses
} at_indices;

// The number of the element, counted with the last range fastest.
static tc_value position_at(at_indices *p, src_span span)
{
    tc *tx = p->tx;
    tc_value n = tc_as_index(tx, p->indices[0], span);
    for (size_t k = 1; k < p->g->e->clauses.len; k++) {
        n = tc_binary(tx, AST_OP_MUL, n, p->g->extent[k], span);
        n = tc_binary(tx, AST_OP_ADD, n, p->indices[k], span);
    }
    ir_expr *e = tc_to_index(tx, n, span);
    return e ? tc_rt(e) : tc_poison();
}

static tc_value plain_element(at_indices *p)
{
    tc *tx = p->tx;
    const ast_expr *e = p->g->e->element;
    tc_value v = tc_reduce_element(tx, p->g->kind, tc_eval(tx, e), e->span);
    if (!tc_gives_position(p->g->kind) || tc_is_poison(v))
        return v;
    tc_value pair[2] = {tc_freeze(tx, v, e->span), position_at(p, e->span)};
    return tc_is_poison(pair[1]) ? pair[1] : tc_list_new(tx, TC_TUPLE, pair, 2);
}

static tc_value element_if(at_indices *p, size_t c);

// The element where the condition holds, else the identity. [known_false]: the element only tells the types.
static tc_value chosen_element(at_indices *p, size_t c, ir_expr *condition, bool known_false)
{
    tc *tx = p->tx;
    src_span span = p->conditions.at[c]->span;
    ir_stmt *branch = tc_new_stmt(tx, IR_IF, span);
    branch->value = condition;
    ir_block *saved = tx->block;
    tx->block = &branch->body;
    tc_region_enter(tx);
    tc_value v = element_if(p, c + 1);
    tc_region_leave(tx);
    tx->block = saved;
    tc_value identity = tc_is_poison(v) ? v : tc_reduce_identity(tx, p->g->how, v, span);
    if (tc_is_poison(identity))
        return tc_poison();
    size_t count;
    const tc_value *parts = tc_parts_in(&v, &count), *others = tc_parts_in(&identity, &count);
    tc_value *chosen = ARENA_ARRAY(tx->arena, tc_value, count);
    bool has_code = branch->body.stmts.len > 0;
    for (size_t i = 0; i < count; i++) {
        ir_expr *other = tc_convert(tx, others[i], parts[i].rt->type, span, "identity");
        if (!other)
            return tc_poison();
        if (known_false) {
            chosen[i] = tc_rt(other);
        } else if (!has_code) {
            chosen[i] = tc_rt(ir_select(tx->ir, condition, parts[i].rt, other, span));
        } else {
            ir_var *result = tc_declare(tx, "element", other->type, other, span);
            tx->block = &branch->body;
            tc_assign_var(tx, result, parts[i].rt, span);
            tx->block = saved;
            chosen[i] = tc_rt(ir_read(tx->ir, result, span));
        }
    }
    if (has_code && !known_false)
        tc_emit(tx, branch);
    return tc_tuple_or_one(tx, v, chosen);
}

static tc_value element_if(at_indices *p, size_t c)
{
    if (c == p->conditions.len)
        return plain_element(p);
    const ast_expr *e = p->conditions.at[c];
    tc_value v = tc_eval(p->tx, e);
    bool truth;
    bool known = tc_truth_of(p->tx, &v, e->span, &truth);
    if (known && truth)
        return element_if(p, c + 1);
    ir_expr *condition = tc_condition(p->tx, v, e->span);
    return condition ? chosen_element(p, c, condition, known) : tc_poison();
}

// The loop variable of a range is the index itself where the range counts from 0 in steps of 1.
static bool bind_indices(at_indices *p, tc_scope *scope)
{
    tc *tx = p->tx;
    for (size_t k = 0; k < p->g->e->clauses.len; k++) {
        const ast_expr *target = p->g->e->clauses.at[k].target;
        tc_value v = tc_freeze(tx, p->indices[k], target->span);
        if (!is_known_int(p->g->step[k], 1))
            v = tc_binary(tx, AST_OP_MUL, v, p->g->step[k], target->span);
        if (!is_known_int(p->g->start[k], 0))
            v = tc_binary(tx, AST_OP_ADD, v, p->g->start[k], target->span);
        if (tc_is_poison(v))
            return false;
        if (v.kind == TC_RT)
            v = tc_rt(tc_keep(tx, v.rt, AST_AS(NAME, name, target)->name->text, target->span));
        tc_scope_bind(tx, scope, AST_AS(NAME, name, target)->name, v, target->span);
    }
    return true;
}

tc_value tc_generator_call(tc *tx, tc_function *f, tc_args *args)
{
    const tc_generator *g = f->generator;
    size_t rank = g->e->clauses.len;
    if (args->list.len != rank)
        return TC_ERR(tx, HDS0283, args->span, "a generator", arena_printf(tx->arena, "%zu", rank),
                      (int)args->list.len);
    tc_value indices[TM_MAX_RANK];
    for (size_t k = 0; k < rank; k++) {
        indices[k] = args->list.at[k].value;
        if (!tc_is_index(indices[k]) && !tc_has_index(tx, indices[k]))
            return TC_ERR(tx, HDS0113, args->list.at[k].span, tc_describe(tx, indices[k]));
    }
    uint32_t site = 0;
    tc_frame frame = {.caller = tx->frame, .function = f, .call_span = args->span, .title = "a generator"};
    frame.site = &site;
    frame.scope = tc_scope_new(tx, f->closure, f->module, TC_SCOPE_FUNCTION);
    frame.compile_time = tx->frame->compile_time;
    frame.dissolved = true;
    frame.entry_region = tx->region;
    tx->frame = &frame;
    at_indices p = {.tx = tx, .g = g, .indices = indices};
    for (size_t k = 0; k < rank; k++)
        for (size_t c = 0; c < g->e->clauses.at[k].conditions.len; c++)
            VEC_PUSH(tx->arena, &p.conditions, g->e->clauses.at[k].conditions.at[c]);
    tc_value v = bind_indices(&p, frame.scope) ? element_if(&p, 0) : tc_poison();
    tx->frame = frame.caller;
    return v;
}
