// Regions of run-time control flow, `if` and `with`. A condition that is known is decided here, the rest becomes IR. See
// Note [regions].
#include "typecheck/eval/eval.h"

// ---- which names does a block of code assign? --------------------------------------------------------------------

static void targets_of(tc *tx, const ast_expr *t, tc_names *out)
{
    if (t->kind == AST_NAME)
        VEC_PUSH(tx->arena, out, AST_AS(NAME, name, t)->name);
    else if (t->kind == AST_STARRED)
        targets_of(tx, AST_AS(STARRED, starred, t)->value, out);
    else if (t->kind == AST_TUPLE || t->kind == AST_LIST)
        for (size_t i = 0; i < ((const ast_sequence *)t)->items.len; i++)
            targets_of(tx, ((const ast_sequence *)t)->items.at[i], out);
}

void tc_assigned_in(tc *tx, const ast_list *list, tc_names *out)
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
            tc_assigned_in(tx, &((const ast_for *)s)->body, out);
            break;
        case AST_WHILE:
            tc_assigned_in(tx, &((const ast_while *)s)->body, out);
            break;
        case AST_IF:
            tc_assigned_in(tx, &((const ast_if *)s)->body, out);
            tc_assigned_in(tx, &((const ast_if *)s)->or_else, out);
            break;
        case AST_WITH:
            tc_assigned_in(tx, &((const ast_with *)s)->body, out);
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
    tc_names names = {0};
    tc_assigned_in(tx, &list, &names);
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
void tc_materialize(tc *tx, const ast_list *list)
{
    tc_names names = {0};
    tc_assigned_in(tx, list, &names);
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
    tc_materialize(tx, &s->body);
    tc_materialize(tx, &s->or_else);
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
    ir_expr *condition =
        tc_open_decides(tx, c, s->condition->span, "branch") ? NULL : tc_condition(tx, c, s->condition->span);
    if (condition)
        return rt_if(tx, s, condition);
    // Which branch is meant is unknown, so what either binds is too: nothing more is said about those names.
    tc_names names = {0};
    tc_assigned_in(tx, &s->body, &names);
    tc_assigned_in(tx, &s->or_else, &names);
    for (size_t i = 0; i < names.len; i++)
        if (!tc_scope_find_here(tx->frame->scope, names.at[i]))
            tc_scope_bind(tx, tx->frame->scope, names.at[i], tc_poison(), s->head);
    return TC_NEXT;
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

/* Note [regions]
 *
 * Code under a run-time `if` or loop may run or not, or many times, so a name bound there means something else than one
 * bound in straight-line code. Each such block gets a region number; a binding remembers its region. Before a
 * region is entered, every name that its text assigns and that holds a known number becomes a run-time variable
 * ("materialize"), so that the assignments inside have something to assign to. Names that are new inside are taken away
 * at the end; an `if` puts those back that both branches bound. Everything else about a known value (a tuple, a type, a
 * mapping) cannot change inside a region, which tc_bind_local reports. Loops that run while compiling and branches that
 * are decided while compiling open no region.
 */
