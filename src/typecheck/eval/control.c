// Control flow: what is known while compiling is decided here, the rest becomes IR. See Note [regions].
#include "typecheck/eval/eval.h"

#include <string.h>

typedef VEC(sym) sym_list;

// ---- which names does a block of code assign? --------------------------------------------------------------------

static void targets_of(tc *tx, const ast_expr *t, sym_list *out)
{
    if (t->kind == AST_NAME)
        VEC_PUSH(tx->arena, out, AST_AS(NAME, name, t)->name);
    else if (t->kind == AST_STARRED)
        targets_of(tx, AST_AS(STARRED, starred, t)->value, out);
    else if (t->kind == AST_TUPLE || t->kind == AST_LIST)
        for (size_t i = 0; i < ((const ast_sequence *)t)->items.len; i++)
            targets_of(tx, ((const ast_sequence *)t)->items.at[i], out);
}

static void assigned_in(tc *tx, const ast_list *list, sym_list *out)
{
    for (size_t i = 0; i < list->len; i++) {
        const ast_stmt *s = list->at[i];
        switch (s->kind) {
        case AST_ASSIGN:
            for (size_t k = 0; k < ((const ast_assign *)s)->targets.len; k++)
                targets_of(tx, ((const ast_assign *)s)->targets.at[k], out);
            break;
        case AST_AUG_ASSIGN:
            targets_of(tx, ((const ast_aug_assign *)s)->target, out);
            break;
        case AST_ANN_ASSIGN:
            if (((const ast_ann_assign *)s)->value)
                targets_of(tx, ((const ast_ann_assign *)s)->target, out);
            break;
        case AST_FOR:
            targets_of(tx, ((const ast_for *)s)->target, out);
            assigned_in(tx, &((const ast_for *)s)->body, out);
            break;
        case AST_WHILE:
            assigned_in(tx, &((const ast_while *)s)->body, out);
            break;
        case AST_IF:
            assigned_in(tx, &((const ast_if *)s)->body, out);
            assigned_in(tx, &((const ast_if *)s)->or_else, out);
            break;
        case AST_WITH:
            assigned_in(tx, &((const ast_with *)s)->body, out);
            break;
        default:
            break;
        }
    }
}

void tc_silence(tc *tx, const ast_stmt *s)
{
    ast_stmt *one = (ast_stmt *)s;
    ast_list list = {.at = &one, .len = 1};
    sym_list names = {0};
    assigned_in(tx, &list, &names);
    for (size_t i = 0; i < names.len; i++)
        if (!tc_scope_find_here(tx->frame->scope, names.at[i]))
            tc_scope_bind(tx, tx->frame->scope, names.at[i], tc_poison(), s->span);
}

// A tuple of run-time values that is assigned in there gets variables of its own: its present ones may be shared.
static void own_elements(tc *tx, tc_binding *b)
{
    tc_value own = tc_list_new(tx, b->value.kind, b->value.list->at, b->value.list->len);
    own.list->region = b->value.list->region;
    for (size_t i = 0; i < own.list->len; i++) {
        tc_value *item = &own.list->at[i];
        if (item->kind != TC_RT)
            continue;
        ir_var *v = tc_declare(tx, b->name->text, item->rt->type, item->rt, b->span);
        v->is_mutable = true;
        *item = tc_rt(ir_read(tx->ir, v, b->span));
    }
    b->value = own;
}

// Names that hold known numbers and are assigned under run-time control flow become variables before it. (A loop
// variable over known values that is only ever a `for` target keeps its name to itself: it is bound anew in there.)
static void materialize(tc *tx, const ast_list *list)
{
    sym_list names = {0};
    assigned_in(tx, list, &names);
    for (size_t i = 0; i < names.len; i++) {
        tc_binding *b = tc_scope_find_here(tx->frame->scope, names.at[i]);
        bool is_tuple = b && (b->value.kind == TC_TUPLE || b->value.kind == TC_LIST);
        if (is_tuple && b->state == TC_BOUND && b->owner == tx->func && tc_in_region(tx, b->region) &&
            !tc_is_compile_time(b->value)) {
            own_elements(tx, b);
            continue;
        }
        bool is_assigned = b && b->var && b->state == TC_BOUND && b->owner == tx->func && tc_in_region(tx, b->region);
        if (is_assigned) // whatever the text of the region says before the assignment, it may run after it
            b->var->is_mutable = true;
        if (!b || b->var || b->state != TC_BOUND || !tc_is_number(b->value) || !tc_in_region(tx, b->region))
            continue;
        ir_expr *init = tc_default_rt(tx, b->value, b->span);
        if (!init)
            continue;
        ir_var *v = tc_declare(tx, b->name->text, init->type, init, b->span);
        v->is_mutable = true;
        b->value = tc_rt(ir_read(tx->ir, v, b->span));
        b->var = v;
        b->owner = tx->func;
        b->region = tx->region;
    }
}

// ---- leaving a region: names bound inside are not visible after it -----------------------------------------------

typedef struct branch_names {
    VEC(tc_binding) list;
} branch_names;

// Takes the bindings made in [region] out of the scope; they read as "maybe undefined" from here on.
static void close_region(tc *tx, int region, src_span span, branch_names *out)
{
    tc_scope *s = tx->frame->scope;
    for (size_t i = 0; i < s->list.len; i++) {
        tc_binding *b = s->list.at[i];
        if (b->region != region || b->state != TC_BOUND)
            continue;
        if (out)
            VEC_PUSH(tx->arena, &out->list, *b);
        b->state = TC_MAYBE_UNDEFINED;
        b->other = b->span.begin ? b->span : span;
    }
}

void tc_close_region(tc *tx, int region, src_span span)
{
    close_region(tx, region, span, NULL);
}

static tc_flow run_branch(tc *tx, const ast_list *list, ir_block *block, src_span span, branch_names *names)
{
    ir_block *saved = tx->block;
    tx->block = block;
    int region = tc_region_enter(tx);
    tc_flow flow = tc_exec_list(tx, list);
    tc_region_leave(tx);
    tx->block = saved;
    close_region(tx, region, span, names);
    return flow;
}

// ---- if ----------------------------------------------------------------------------------------------------------

static bool merge_types(tc *tx, tc_value a, tc_value b, const ir_type **out)
{
    const ir_type *ta = tc_default_type(tx, a), *tb = tc_default_type(tx, b);
    if (!ta || !tb)
        return false;
    bool both_known = a.kind != TC_RT && b.kind != TC_RT;
    if (ta != tb && a.kind != TC_RT && b.kind == TC_RT)
        ta = tb;
    else if (both_known && (a.kind == TC_FLOAT || b.kind == TC_FLOAT))
        ta = a.kind == TC_FLOAT ? ta : tb;
    else if (both_known && ta->scalar != DT_BOOL && tb->scalar != DT_BOOL)
        ta = dt_bits(ta->scalar) > dt_bits(tb->scalar) ? ta : tb;
    else if (ta != tb && !(b.kind != TC_RT && a.kind == TC_RT))
        return false;
    *out = ta;
    return true;
}

static void append_assign(tc *tx, ir_block *block, ir_var *var, tc_value v, src_span span)
{
    ir_block *saved = tx->block;
    tx->block = block;
    ir_expr *e = tc_convert(tx, v, var->type, span, "value");
    if (e)
        tc_assign_var(tx, var, e, span);
    tx->block = saved;
}

// Names bound in both branches go on after the if: equal known values as they are, others in a variable declared before
// it.
static void merge_branches(tc *tx, branch_names *a, branch_names *b, ir_stmt *s)
{
    for (size_t i = 0; i < a->list.len; i++) {
        tc_binding *x = &a->list.at[i], *y = NULL;
        for (size_t k = 0; k < b->list.len && !y; k++)
            if (b->list.at[k].name == x->name)
                y = &b->list.at[k];
        if (!y)
            continue;
        if (tc_is_compile_time(x->value) && x->value.kind == y->value.kind && tc_equal(x->value, y->value)) {
            tc_scope_bind(tx, tx->frame->scope, x->name, x->value, x->span);
            continue;
        }
        const ir_type *t;
        if (!merge_types(tx, x->value, y->value, &t)) {
            tc_binding *gone = tc_scope_find_here(tx->frame->scope, x->name);
            if (gone)
                gone->differs = true;
            continue;
        }
        ir_var *v = tc_declare(tx, x->name->text, t, NULL, x->span);
        append_assign(tx, &s->body, v, x->value, x->span);
        append_assign(tx, &s->or_else, v, y->value, y->span);
        tc_binding *merged = tc_scope_bind(tx, tx->frame->scope, x->name, tc_rt(ir_read(tx->ir, v, x->span)), x->span);
        merged->var = v;
    }
}

// One branch does not come back: what the other bound stays, and its statements follow the if without nesting.
static void continue_with(tc *tx, branch_names *names, ir_block *block)
{
    for (size_t i = 0; i < block->stmts.len; i++)
        tc_emit(tx, block->stmts.at[i]);
    for (size_t i = 0; i < names->list.len; i++) {
        tc_binding *old = &names->list.at[i];
        tc_binding *b = tc_scope_bind(tx, tx->frame->scope, old->name, old->value, old->span);
        b->var = old->var;
    }
}

static tc_flow rt_if(tc *tx, const ast_if *s, ir_expr *condition)
{
    materialize(tx, &s->body);
    materialize(tx, &s->or_else);
    ir_stmt *branch = tc_new_stmt(tx, IR_IF, s->head);
    branch->value = condition;
    branch_names then_names = {0}, else_names = {0};
    tc_flow then_flow = run_branch(tx, &s->body, &branch->body, s->head, &then_names);
    if (then_flow == TC_ABORT)
        return then_flow;
    tc_flow else_flow = run_branch(tx, &s->or_else, &branch->or_else, s->head, &else_names);
    if (else_flow == TC_ABORT)
        return else_flow;
    bool then_dead = then_flow != TC_NEXT, else_dead = else_flow != TC_NEXT;
    if (then_dead == else_dead) {
        if (!then_dead)
            merge_branches(tx, &then_names, &else_names, branch);
        tc_emit(tx, branch);
        return then_dead ? TC_DEAD : TC_NEXT;
    }
    ir_block rest = then_dead ? branch->or_else : branch->body;
    if (else_dead) {
        branch->body = branch->or_else;
        branch->value = ir_unary(tx->ir, IR_OP_NOT, condition, s->head);
    }
    branch->or_else = (ir_block){0};
    tc_emit(tx, branch);
    continue_with(tx, then_dead ? &else_names : &then_names, &rest);
    return TC_NEXT;
}

tc_flow tc_exec_if(tc *tx, const ast_if *s)
{
    tc_value c = tc_eval(tx, s->condition);
    bool truth;
    if (tc_truth_of(tx, &c, s->condition->span, &truth))
        return tc_exec_list(tx, truth ? &s->body : &s->or_else);
    ir_expr *condition = tc_open_decides(tx, c, s->condition->span, "branch") ? NULL : tc_condition(tx, c, s->condition->span);
    if (condition)
        return rt_if(tx, s, condition);
    // Which branch is meant is unknown, so what either binds is too: nothing more is said about those names.
    sym_list names = {0};
    assigned_in(tx, &s->body, &names);
    assigned_in(tx, &s->or_else, &names);
    for (size_t i = 0; i < names.len; i++)
        if (!tc_scope_find_here(tx->frame->scope, names.at[i]))
            tc_scope_bind(tx, tx->frame->scope, names.at[i], tc_poison(), s->head);
    return TC_NEXT;
}

// ---- loops that run while compiling ------------------------------------------------------------------------------

static tc_flow run_static_body(tc *tx, const ast_list *body)
{
    tc_loop loop = {
        .kind = TC_LOOP_STATIC, .region = tx->region, .with_depth = tx->frame->with_depth, .outer = tx->frame->loop};
    tx->frame->loop = &loop;
    tc_flow flow = tc_exec_list(tx, body);
    tx->frame->loop = loop.outer;
    return flow;
}

static tc_flow static_for(tc *tx, const ast_for *s, tc_value iterable)
{
    tc_walk walk;
    tc_value item;
    if (!tc_walk_begin(tx, &walk, iterable, s->iterable->span)) {
        tc_assign_target(tx, s->target, tc_poison(), s->target->span);
        return TC_NEXT;
    }
    while (tc_walk_next(tx, &walk, &item)) {
        if (!tc_step(tx, s->head))
            return TC_ABORT;
        tc_next_item(tx, s->target, item, s->target->span);
        tc_flow flow = run_static_body(tx, &s->body);
        if (flow == TC_BREAK)
            return TC_NEXT;
        if (flow != TC_NEXT && flow != TC_CONTINUE)
            return flow;
    }
    return tc_exec_list(tx, &s->or_else);
}

// Known integer ranges are walked without making a list of them.
static tc_flow static_range_for(tc *tx, const ast_for *s, const tc_range *r)
{
    for (tc_int i = r->start; r->step > 0 ? i < r->stop : i > r->stop; i += r->step) {
        if (!tc_step(tx, s->head))
            return TC_ABORT;
        tc_assign_target(tx, s->target, tc_of_int(i), s->target->span);
        tc_flow flow = run_static_body(tx, &s->body);
        if (flow == TC_BREAK)
            return TC_NEXT;
        if (flow != TC_NEXT && flow != TC_CONTINUE)
            return flow;
    }
    return tc_exec_list(tx, &s->or_else);
}

// ---- loops in the program ----------------------------------------------------------------------------------------

static tc_flow run_rt_body(tc *tx, const ast_list *body, ir_block *block, tc_loop_kind kind)
{
    ir_block *saved = tx->block;
    tx->block = block;
    tc_loop loop = {.kind = kind, .region = tx->region, .with_depth = tx->frame->with_depth, .outer = tx->frame->loop};
    tx->frame->loop = &loop;
    tc_flow flow = tc_exec_list(tx, body);
    tx->frame->loop = loop.outer;
    tx->block = saved;
    return flow == TC_ABORT ? TC_ABORT : TC_NEXT;
}

static bool is_assigned(tc *tx, const ast_list *body, sym name)
{
    sym_list names = {0};
    assigned_in(tx, body, &names);
    for (size_t i = 0; i < names.len; i++)
        if (names.at[i] == name)
            return true;
    return false;
}

// Binds a loop variable of the IR to a name; if the body assigns the name, to a copy.
static void bind_loop_var(tc *tx, sym name, ir_var *v, const ast_list *body, src_span span)
{
    if (strcmp(name->text, "_") == 0)
        return;
    if (is_assigned(tx, body, name)) {
        ir_var *copy = tc_declare(tx, name->text, v->type, ir_read(tx->ir, v, span), span);
        copy->is_mutable = true;
        tc_scope_bind(tx, tx->frame->scope, name, tc_rt(ir_read(tx->ir, copy, span)), span)->var = copy;
        return;
    }
    tc_scope_bind(tx, tx->frame->scope, name, tc_rt(ir_read(tx->ir, v, span)), span);
}

static const char *target_text(const ast_expr *t)
{
    return t->kind == AST_NAME ? AST_AS(NAME, name, t)->name->text : "i";
}

// A bound that the loop's own body could change is stored before the loop.
static ir_expr *steady_bound(tc *tx, ir_expr *e, const ast_list *body, src_span span)
{
    if (e->op != IR_OP_VAR || e->u.var->kind != IR_VAR_LOCAL)
        return tc_keep(tx, e, "bound", span);
    sym_list names = {0};
    assigned_in(tx, body, &names);
    for (size_t i = 0; i < names.len; i++) {
        tc_binding *b = tc_scope_find_here(tx->frame->scope, names.at[i]);
        if (b && b->var == e->u.var)
            return ir_read(tx->ir, tc_declare(tx, "bound", e->type, e, span), span);
    }
    return e;
}

bool tc_range_bounds(tc *tx, const tc_range *r, const ast_list *body, src_span span, ir_expr *out[3])
{
    if (!r->bounds[0]) {
        tc_int bounds[3] = {r->start, r->stop, r->step};
        const ir_type *t = ir_scalar(tx->ir, DT_I32);
        for (int i = 0; i < 3; i++)
            if (bounds[i] < INT32_MIN || bounds[i] > INT32_MAX)
                t = ir_scalar(tx->ir, DT_I64);
        for (int i = 0; i < 3; i++)
            if (!(out[i] = tc_convert(tx, tc_of_int(bounds[i]), t, span, "loop bound")))
                return false;
        return true;
    }
    dtype t = DT_I32;
    for (int i = 0; i < 3; i++) {
        dtype own = r->bounds[i]->type->scalar;
        bool constant = r->bounds[i]->op == IR_OP_INT;
        dtype joined = constant ? t : dt_promote(t, own);
        if (!constant && (own == DT_U64 || joined == DT_NONE))
            joined = DT_U64;
        if (own == DT_U32 && !constant && t == DT_I32)
            joined = DT_U32;
        t = joined;
    }
    // A constant that the type cannot hold, as a step of -1 for unsigned bounds, makes it a signed one of 64 bits.
    for (int i = 0; i < 3; i++)
        if (r->bounds[i]->op == IR_OP_INT && !dt_holds_int(t, r->bounds[i]->u.i) &&
            r->bounds[i]->type->scalar != DT_U64)
            t = DT_I64;
    for (int i = 0; i < 3; i++)
        out[i] = steady_bound(tx, ir_cast(tx->ir, r->bounds[i], ir_scalar(tx->ir, t), span), body, span);
    return true;
}

static tc_flow range_for(tc *tx, const ast_for *s, const tc_range *r)
{
    if (s->target->kind != AST_NAME) {
        tc_error(tx, HDS0164, s->target->span);
        return TC_NEXT;
    }
    materialize(tx, &s->body);
    ir_expr *bounds[3];
    if (!tc_range_bounds(tx, r, &s->body, s->iterable->span, bounds))
        return TC_NEXT;
    ir_stmt *loop = tc_new_stmt(tx, IR_FOR, s->head);
    loop->args = arena_dup(tx->ir->arena, bounds, sizeof bounds);
    loop->arg_count = 3;
    loop->var = ir_var_new(tx->ir, IR_VAR_LOOP, target_text(s->target), bounds[0]->type, s->target->span);
    int region = tc_region_enter_loop(tx);
    ir_block *saved = tx->block;
    tx->block = &loop->body;
    bind_loop_var(tx, AST_AS(NAME, name, s->target)->name, loop->var, &s->body, s->target->span);
    tx->block = saved;
    tc_flow flow = run_rt_body(tx, &s->body, &loop->body, TC_LOOP_RT);
    tc_region_leave(tx);
    close_region(tx, region, s->head, NULL);
    tc_emit(tx, loop);
    return flow;
}

// Binds the task coordinates (IR loop variables) to the target of a `for`.
static bool bind_coordinates(tc *tx, const ast_expr *target, ir_var **vars, int rank, bool as_tuple,
                             const ast_list *body)
{
    if (target->kind == AST_NAME && rank == 1 && !as_tuple) {
        bind_loop_var(tx, AST_AS(NAME, name, target)->name, vars[0], body, target->span);
        return true;
    }
    tc_value tuple = tc_list_new(tx, TC_TUPLE, NULL, 0);
    for (int i = 0; i < rank; i++)
        tc_list_push(tx, tuple.list, tc_rt(ir_read(tx->ir, vars[i], target->span)));
    if (target->kind == AST_NAME) {
        tc_scope_bind(tx, tx->frame->scope, AST_AS(NAME, name, target)->name, tuple, target->span);
        return true;
    }
    if (target->kind != AST_TUPLE) {
        tc_error(tx, HDS0164, target->span);
        return false;
    }
    const ast_sequence *names = AST_AS(TUPLE, sequence, target);
    if ((int)names->items.len != rank) {
        tc_error(tx, HDS0165, target->span, (long)names->items.len, rank);
        return false;
    }
    for (int i = 0; i < rank; i++) {
        if (names->items.at[i]->kind != AST_NAME) {
            tc_error(tx, HDS0164, names->items.at[i]->span);
            return false;
        }
        bind_loop_var(tx, AST_AS(NAME, name, names->items.at[i])->name, vars[i], body, names->items.at[i]->span);
    }
    return true;
}

static const char *coordinate_name(tc *tx, const ast_expr *target, int i)
{
    if (target->kind == AST_TUPLE && (size_t)i < AST_AS(TUPLE, sequence, target)->items.len)
        return target_text(AST_AS(TUPLE, sequence, target)->items.at[i]);
    return target->kind == AST_NAME ? arena_printf(tx->ir->arena, "%s%d", target_text(target), i) : "i";
}

static tc_flow tasks_for(tc *tx, const ast_for *s, const tm_map *mapping, ir_expr *worker, bool as_tuple)
{
    if (tx->frame->compile_time && tc_wants_run_time(tx))
        return TC_ABORT;
    materialize(tx, &s->body);
    ir_stmt *loop = tc_new_stmt(tx, IR_TASKS, s->head);
    loop->map = mapping;
    loop->args = ARENA_ARRAY(tx->ir->arena, ir_expr *, 1);
    loop->arg_count = 1;
    loop->args[0] = tc_keep(tx, worker, "worker", s->iterable->span);
    loop->vars = ARENA_ARRAY(tx->ir->arena, ir_var *, mapping->rank);
    for (int i = 0; i < mapping->rank; i++) {
        loop->vars[i] = ir_var_new(tx->ir, IR_VAR_LOOP, coordinate_name(tx, s->target, i), ir_scalar(tx->ir, DT_I32),
                                   s->target->span);
        loop->vars[i]->has_range = true;
        loop->vars[i]->max = mapping->shape[i] - 1;
        loop->vars[i]->divisor = 1;
    }
    int region = tc_region_enter_loop(tx);
    ir_block *saved = tx->block;
    tx->block = &loop->body;
    bool ok = bind_coordinates(tx, s->target, loop->vars, mapping->rank, as_tuple, &s->body);
    tx->block = saved;
    tc_flow flow = ok ? run_rt_body(tx, &s->body, &loop->body, TC_LOOP_TASKS) : TC_NEXT;
    tc_region_leave(tx);
    close_region(tx, region, s->head, NULL);
    tc_emit(tx, loop);
    return flow;
}

static bool parse_loop_attr(const char **at, tm_unroll *unroll, int *factor)
{
    *unroll = TM_LOOP_PLAIN;
    *factor = 0;
    char c = *(*at)++;
    if (c == 'u')
        *unroll = TM_LOOP_UNROLL;
    else if (c == 'p')
        *unroll = TM_LOOP_PARALLEL;
    else if (c != '.')
        return false;
    if (c == 'u' && **at == '+') {
        *unroll = TM_LOOP_UNROLL_FULL;
        (*at)++;
    }
    while (**at >= '0' && **at <= '9' && *factor < 10000)
        *factor = *factor * 10 + (*(*at)++ - '0');
    return true;
}

// Loop attributes of a grid: one token a dimension, or one for all.
static bool grid_attrs(tc *tx, const tc_grid *g, src_span span, tm_unroll *unroll, int *factor)
{
    for (int i = 0; i < g->rank; i++) {
        unroll[i] = TM_LOOP_DEFAULT;
        factor[i] = 0;
    }
    if (!g->attrs || !*g->attrs)
        return true;
    const char *at = g->attrs;
    int n = 0;
    while (*at && n < g->rank && parse_loop_attr(&at, &unroll[n], &factor[n]))
        n++;
    if (*at || (n != g->rank && n != 1)) {
        tc_error(tx, HDS0166, span, g->attrs);
        return false;
    }
    for (int i = n; i < g->rank; i++) {
        unroll[i] = unroll[0];
        factor[i] = factor[0];
    }
    return true;
}

static tc_flow grid_for(tc *tx, const ast_for *s, const tc_grid *g)
{
    tm_unroll unroll[TM_MAX_RANK];
    int factor[TM_MAX_RANK];
    if (!grid_attrs(tx, g, s->iterable->span, unroll, factor))
        return TC_NEXT;
    materialize(tx, &s->body);
    ir_stmt *outer = NULL, *inner = NULL;
    ir_var *vars[TM_MAX_RANK];
    for (int i = 0; i < g->rank; i++) {
        ir_expr *extent = tc_to_index(tx, g->extents[i], s->iterable->span);
        if (!extent)
            return TC_NEXT;
        ir_stmt *loop = tc_new_stmt(tx, IR_FOR, s->head);
        loop->unroll = unroll[i];
        loop->factor = factor[i];
        loop->args = ARENA_ARRAY(tx->ir->arena, ir_expr *, 3);
        loop->arg_count = 3;
        loop->args[0] = ir_int(tx->ir, extent->type->scalar, 0);
        loop->args[1] = steady_bound(tx, extent, &s->body, s->iterable->span);
        loop->args[2] = ir_int(tx->ir, extent->type->scalar, 1);
        loop->var = vars[i] =
            ir_var_new(tx->ir, IR_VAR_LOOP, coordinate_name(tx, s->target, i), extent->type, s->target->span);
        if (inner)
            ir_append(tx->ir, &inner->body, loop);
        else
            outer = loop;
        inner = loop;
    }
    int region = tc_region_enter_loop(tx);
    ir_block *saved = tx->block;
    tx->block = &inner->body;
    bool ok = bind_coordinates(tx, s->target, vars, g->rank, g->as_tuple, &s->body);
    tx->block = saved;
    tc_flow flow = ok ? run_rt_body(tx, &s->body, &inner->body, g->rank == 1 ? TC_LOOP_RT : TC_LOOP_TASKS) : TC_NEXT;
    tc_region_leave(tx);
    close_region(tx, region, s->head, NULL);
    tc_emit(tx, outer);
    return flow;
}

// A record with __len__ and __getitem__ is a sequence: its length is taken once, its items as the loop goes.
static tc_flow sequence_for(tc *tx, const ast_for *s, tc_value record)
{
    src_span span = s->iterable->span;
    bool found;
    tc_value length = tc_record_dunder(tx, record, "__len__", NULL, 0, span, &found);
    if (!tc_is_index(length)) {
        if (!tc_is_poison(length))
            tc_error(tx, HDS0113, span, tc_describe(tx, length));
        return TC_NEXT;
    }
    if (length.kind == TC_INT && (tx->frame->compile_time || !tx->block)) {
        tc_list items = {0};
        for (tc_int i = 0; i < length.i && tc_step(tx, span); i++) {
            tc_value index = tc_of_int(i);
            tc_list_push(tx, &items, tc_record_dunder(tx, record, "__getitem__", &index, 1, span, &found));
        }
        return static_for(tx, s, (tc_value){.kind = TC_LIST, .list = &items});
    }
    if (s->or_else.len)
        tc_error(tx, HDS0167, s->head);
    materialize(tx, &s->body);
    ir_stmt *loop = tc_new_stmt(tx, IR_FOR, s->head);
    ir_expr *stop = tc_keep(tx, tc_default_rt(tx, length, span), "iterations", span);
    dtype t = stop->type->scalar;
    ir_expr *bounds[3] = {ir_int(tx->ir, t, 0), stop, ir_int(tx->ir, t, 1)};
    loop->args = arena_dup(tx->ir->arena, bounds, sizeof bounds);
    loop->arg_count = 3;
    loop->var = ir_var_new(tx->ir, IR_VAR_LOOP, "iteration", stop->type, span);
    int region = tc_region_enter_loop(tx);
    ir_block *saved = tx->block;
    tx->block = &loop->body;
    tc_value index = tc_rt(ir_read(tx->ir, loop->var, span));
    tc_assign_target(tx, s->target, tc_record_dunder(tx, record, "__getitem__", &index, 1, span, &found),
                     s->target->span);
    tx->block = saved;
    tc_flow flow = run_rt_body(tx, &s->body, &loop->body, TC_LOOP_RT);
    tc_region_leave(tx);
    close_region(tx, region, s->head, NULL);
    tc_emit(tx, loop);
    return flow;
}

static bool is_known_grid(const tc_grid *g)
{
    for (int i = 0; i < g->rank; i++)
        if (g->extents[i].kind == TC_RT)
            return false;
    return true;
}

// Which worker of a register tensor's mapping, or of a tile's of it, the executing thread is.
static ir_expr *worker_of(tc *tx, const tc_tensor *t, src_span span)
{
    const ir_tensor *whole = t->base->tensor;
    if (t->map->workers == whole->map->workers)
        return whole->worker;
    ir_expr *count = ir_int(tx->ir, whole->worker->type->scalar, t->map->workers);
    return ir_binary(tx->ir, IR_OP_FLOORMOD, whole->worker, count, span);
}

tc_flow tc_exec_for(tc *tx, const ast_for *s)
{
    tc_value it = tc_iterable(tx, tc_eval(tx, s->iterable), s->iterable->span);
    if (it.kind == TC_RECORD)
        return sequence_for(tx, s, it);
    if (tc_is_poison(it)) {
        tc_assign_target(tx, s->target, it, s->target->span);
        return TC_NEXT;
    }
    bool now = !tx->block || tx->frame->compile_time;
    if (now &&
        ((it.kind == TC_GRID && is_known_grid(it.grid)) || (it.kind == TC_TASKS && it.tasks->worker->op == IR_OP_INT)))
        return static_for(tx, s, it);
    bool in_program = it.kind == TC_TASKS || it.kind == TC_GRID || (it.kind == TC_TENSOR && it.tensor->map);
    if (in_program && s->or_else.len)
        tc_error(tx, HDS0167, s->head);
    if (it.kind == TC_TASKS)
        return tasks_for(tx, s, it.tasks->map, it.tasks->worker, it.tasks->as_tuple);
    if (it.kind == TC_TENSOR && it.tensor->map)
        return tasks_for(tx, s, it.tensor->map, worker_of(tx, it.tensor, s->iterable->span), false);
    if (it.kind == TC_GRID)
        return grid_for(tx, s, it.grid);
    if (it.kind == TC_RANGE) {
        bool runs_now = !it.range->bounds[0] && (it.range->is_static || tx->frame->compile_time || !tx->block || tc_in_graph(tx));
        if (runs_now)
            return static_range_for(tx, s, it.range);
        if (tx->frame->compile_time && tc_wants_run_time(tx))
            return TC_ABORT;
        if (tc_open_decides(tx, tc_none(), s->iterable->span, "loop"))
            return TC_NEXT;
        if (s->or_else.len)
            tc_error(tx, HDS0167, s->head);
        return range_for(tx, s, it.range);
    }
    return static_for(tx, s, it);
}

static tc_flow static_while(tc *tx, const ast_while *s)
{
    for (;;) {
        tc_value c = tc_eval(tx, s->condition);
        bool truth;
        if (tc_is_poison(c) || !tc_step(tx, s->head))
            return tx->aborted || tx->needs_run_time ? TC_ABORT : TC_NEXT;
        if (!tc_truth_of(tx, &c, s->condition->span, &truth)) {
            if (!tc_wants_run_time(tx) && !tc_is_poison(c) && !tc_open_decides(tx, c, s->condition->span, "loop"))
                tc_error(tx, HDS0136, s->condition->span, tc_describe(tx, c));
            return TC_ABORT;
        }
        if (!truth)
            return tc_exec_list(tx, &s->or_else);
        tc_flow flow = run_static_body(tx, &s->body);
        if (flow == TC_BREAK)
            return TC_NEXT;
        if (flow != TC_NEXT && flow != TC_CONTINUE)
            return flow;
    }
}

static tc_flow rt_while(tc *tx, const ast_while *s)
{
    materialize(tx, &s->body);
    ir_stmt *loop = tc_new_stmt(tx, IR_WHILE, s->head);
    int region = tc_region_enter_loop(tx);
    ir_block *saved = tx->block;
    tx->block = &loop->body;
    tc_value c = tc_eval(tx, s->condition);
    ir_expr *condition = tc_condition(tx, c, s->condition->span);
    if (condition && loop->body.stmts.len) {
        // The condition needs statements of its own: they go into the loop, followed by the way out.
        ir_stmt *leave = tc_new_stmt(tx, IR_IF, s->head);
        leave->value = ir_unary(tx->ir, IR_OP_NOT, condition, s->condition->span);
        ir_append(tx->ir, &leave->body, tc_new_stmt(tx, IR_BREAK, s->head));
        tc_emit(tx, leave);
        condition = ir_int(tx->ir, DT_BOOL, 1);
    }
    tx->block = saved;
    loop->value = condition;
    tc_flow flow = condition ? run_rt_body(tx, &s->body, &loop->body, TC_LOOP_RT) : TC_NEXT;
    tc_region_leave(tx);
    close_region(tx, region, s->head, NULL);
    if (condition)
        tc_emit(tx, loop);
    return flow;
}

tc_flow tc_exec_while(tc *tx, const ast_while *s)
{
    if (tx->frame->compile_time || !tx->block || tc_in_graph(tx))
        return static_while(tx, s);
    if (s->or_else.len)
        tc_error(tx, HDS0167, s->head);
    return rt_while(tx, s);
}

// ---- with --------------------------------------------------------------------------------------------------------

static tc_flow run_with(tc *tx, const ast_with *s, size_t item)
{
    if (item == s->items.len)
        return tc_exec_list(tx, &s->body);
    const ast_with_item *w = &s->items.at[item];
    tc_value v = tc_eval(tx, w->context);
    bool found = false;
    tc_value entered = tc_record_dunder(tx, v, "__enter__", NULL, 0, w->context->span, &found);
    if (!found) {
        if (!tc_is_poison(v))
            tc_error(tx, HDS0168, w->context->span, tc_describe(tx, v));
        if (w->target)
            tc_assign_target(tx, w->target, tc_poison(), w->target->span);
        return TC_NEXT;
    }
    if (w->target)
        tc_assign_target(tx, w->target, entered, w->target->span);
    tx->frame->with_depth++;
    tc_flow flow = run_with(tx, s, item + 1);
    tx->frame->with_depth--;
    if (flow == TC_DEAD || flow == TC_ABORT)
        return flow;
    if (flow == TC_RETURN)
        tx->frame->result = tc_freeze(tx, tx->frame->result, s->head);
    tc_record_dunder(tx, v, "__exit__", NULL, 0, w->context->span, &found);
    if (!found)
        tc_error(tx, HDS0168, w->context->span, tc_describe(tx, v));
    return flow;
}

tc_flow tc_exec_with(tc *tx, const ast_with *s)
{
    return run_with(tx, s, 0);
}

// ---- return ------------------------------------------------------------------------------------------------------

static tc_flow return_from_function(tc *tx, const ast_return *s, tc_value v)
{
    ir_stmt *r = tc_new_stmt(tx, IR_RETURN, s->node.span);
    const ir_type *want = tx->frame->return_type;
    if (want && want->kind != IR_VOID) {
        r->value = tc_convert(tx, v, want, s->value ? s->value->span : s->node.span, "result");
        if (!r->value)
            return TC_DEAD;
    } else if (v.kind != TC_NONE) {
        bool is_kernel = tx->func->kind == IR_KERNEL;
        diag *d = tc_error(tx, HDS0169, s->node.span, tc_frame_title(tx, tx->frame));
        diag_help(d, is_kernel ? "a kernel has no result: write the value into a tensor"
                               : "annotate the function with its result type: -> T");
        return TC_DEAD;
    }
    tc_emit(tx, r);
    return TC_DEAD;
}

static tc_value result_variable(tc *tx, tc_value v, src_span span)
{
    if (v.kind == TC_TUPLE || v.kind == TC_LIST) {
        tc_value r = tc_list_new(tx, v.kind, v.list->at, v.list->len);
        for (size_t i = 0; i < r.list->len; i++)
            r.list->at[i] = result_variable(tx, r.list->at[i], span);
        return r;
    }
    const ir_type *t = tc_default_type(tx, v);
    if (!t)
        return v;
    tc_value annotation = tx->frame->return_annotation;
    if (annotation.kind == TC_TYPE && annotation.type->kind == IR_SCALAR)
        t = annotation.type;
    ir_var *var = ir_var_new(tx->ir, IR_VAR_LOCAL, "result", t, span);
    var->is_mutable = true;
    ir_stmt *decl = tc_new_stmt(tx, IR_DECL, span);
    decl->var = var;
    VEC_PUSH(tx->arena, &tx->frame->result_decls, decl);
    return tc_rt(ir_read(tx->ir, var, span));
}

static bool store_result(tc *tx, tc_value to, tc_value v, src_span span)
{
    if (to.kind == TC_RT) {
        ir_expr *e = tc_convert(tx, v, to.rt->type, span, "result");
        if (e)
            tc_assign_var(tx, to.rt->u.var, e, span);
        return e != NULL;
    }
    if ((to.kind == TC_TUPLE || to.kind == TC_LIST) && v.kind == to.kind && v.list->len == to.list->len) {
        v = tc_freeze(tx, v, span);
        bool ok = true;
        for (size_t i = 0; i < to.list->len; i++)
            ok &= store_result(tx, to.list->at[i], v.list->at[i], span);
        return ok;
    }
    if (tc_equal(to, v))
        return true;
    diag *d = tc_error(tx, HDS0170, span, tc_describe(tx, v), tc_describe(tx, to));
    diag_label(d, tx->frame->result_span, "the other return");
    return false;
}

// A return under run-time control flow: the value goes to result variables, control to the end of the inlined
// function.
static tc_flow return_early(tc *tx, const ast_return *s, tc_value v)
{
    tc_frame *f = tx->frame;
    if (f->with_depth) {
        tc_error(tx, HDS0163, s->node.span, "return");
        return TC_DEAD;
    }
    if (!f->label)
        f->label = ++tx->next_label;
    if (!f->has_result) {
        f->has_result = f->result_in_vars = true;
        f->result = result_variable(tx, v, s->node.span);
        f->result_span = s->node.span;
    }
    store_result(tx, f->result, v, s->node.span);
    ir_stmt *leave = tc_new_stmt(tx, IR_LEAVE, s->node.span);
    leave->count = f->label;
    tc_emit(tx, leave);
    return TC_DEAD;
}

tc_flow tc_exec_return(tc *tx, const ast_return *s)
{
    tc_frame *f = tx->frame;
    if (!f->function) {
        tc_error(tx, HDS0171, s->node.span);
        return TC_NEXT;
    }
    tc_value v = s->value ? tc_eval(tx, s->value) : tc_none();
    if (tx->needs_run_time || tx->aborted)
        return TC_ABORT;
    if (!f->dissolved)
        return tc_is_poison(v) ? TC_DEAD : return_from_function(tx, s, v);
    if (f->entry_region != tx->region)
        return tc_is_poison(v) ? TC_DEAD : return_early(tx, s, v);
    if (f->result_in_vars) {
        if (!tc_is_poison(v))
            store_result(tx, f->result, v, s->node.span);
        return TC_RETURN;
    }
    f->has_result = true;
    f->result = v;
    f->result_span = s->node.span;
    return TC_RETURN;
}

/* Note [regions]
 *
 * Code under a run-time `if` or loop may run or not, or many times, so a name bound there means something else than one
 * bound in straight-line code. Each such piece of code gets a region number; a binding remembers its region. Before a
 * region is entered, every name that its text assigns and that holds a known number becomes a run-time variable
 * ("materialize"), so that the assignments inside have something to assign to. Names that are new inside are taken away
 * at the end; an `if` puts those back that both branches bound. Everything else about a known value (a tuple, a type, a
 * mapping) cannot change inside a region, which tc_bind_local reports. Loops that run while compiling and branches that
 * are decided while compiling open no region.
 */
