// Loops: over what is known they run while compiling, others become loops of the program. See Note [regions] in
// control.c.
#include "typecheck/eval/eval.h"

#include <string.h>

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
    tc_names names = {0};
    tc_assigned_in(tx, body, &names);
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
    tc_names names = {0};
    tc_assigned_in(tx, body, &names);
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
    tc_materialize(tx, &s->body);
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
    tc_close_region(tx, region, s->head);
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
    tc_materialize(tx, &s->body);
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
    tc_close_region(tx, region, s->head);
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
    tc_materialize(tx, &s->body);
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
    tc_close_region(tx, region, s->head);
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
    tc_materialize(tx, &s->body);
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
    tc_close_region(tx, region, s->head);
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
        bool runs_now =
            !it.range->bounds[0] && (it.range->is_static || tx->frame->compile_time || !tx->block || tc_in_graph(tx));
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
    tc_materialize(tx, &s->body);
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
    tc_close_region(tx, region, s->head);
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
