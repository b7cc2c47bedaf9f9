// Writing IR: statements, variables, order of evaluation, control-flow regions.
#include "ir/fold.h"
#include "typecheck/values/values.h"

// The site of the call that [f] belongs to. Most calls are evaluated while compiling, so sites are made when the first
// statement is; those of an attempt are dropped with it.
static uint32_t site_of(tc *tx, const tc_frame *f)
{
    while (f && f->preparing && !f->site)
        f = f->caller;
    if (!f || !f->site || tx->speculating)
        return 0;
    if (!*f->site) {
        const tc_function *of = f->function;
        const char *title = tc_frame_title(tx, f);
        bool lasts = !f->title && of->name && !of->bound_count; // the name of the function, or of its class and it
        *f->site = ir_site_add(tx->ir, f->call_span, site_of(tx, f->caller), lasts ? title : sym_of(tx->syms, title)->text);
    }
    return *f->site;
}

uint32_t tc_site(tc *tx)
{
    return site_of(tx, tx->frame);
}

ir_stmt *tc_new_stmt(tc *tx, ir_stmt_kind kind, src_span span)
{
    return ir_new_stmt(tx->ir, kind, span, site_of(tx, tx->frame));
}

void tc_emit(tc *tx, ir_stmt *s)
{
    tc_wants_run_time(tx); // whatever emits code cannot be evaluated while compiling
    if (!tx->block) {
        tc_error(tx, HDS0104, s->span, "this");
        return;
    }
    ir_append(tx->ir, tx->block, s);
    tc_shared_after(tx, s);
}

ir_var *tc_declare(tc *tx, const char *name, const ir_type *type, ir_expr *init, src_span span)
{
    ir_var *v = ir_var_new(tx->ir, IR_VAR_LOCAL, name, type, span);
    ir_stmt *s = tc_new_stmt(tx, IR_DECL, span);
    s->var = v;
    s->value = init;
    tc_emit(tx, s);
    v->definition = init;
    return v;
}

// The result of a call, in a variable that takes the first name it is bound to.
ir_var *tc_declare_result(tc *tx, ir_expr *call, src_span span)
{
    ir_var *v = tc_declare(tx, "t", call->type, call, span);
    v->role = IR_ROLE_RESULT;
    return v;
}

bool tc_is_stable(const ir_expr *e)
{
    if (e->op == IR_OP_VAR)
        return e->u.var->kind != IR_VAR_LOCAL && !e->u.var->is_mutable;
    return e->op == IR_OP_INT || e->op == IR_OP_FLOAT || e->op == IR_OP_TEXT || e->op == IR_OP_SREG;
}

// Whether nothing that later statements do can change the value: stable leaves under pure operators, of modest size.
static bool is_steady(const ir_expr *e, int budget)
{
    if (budget <= 0)
        return false;
    if (tc_is_stable(e))
        return true;
    if (e->op == IR_OP_VAR)
        return e->u.var->role == IR_ROLE_KEPT;
    if (!(ir_op_properties(e->op) & IR_PURE))
        return false;
    for (int i = 0; i < e->arg_count; i++)
        if (!is_steady(e->args[i], budget / 2))
            return false;
    return true;
}

ir_expr *tc_keep(tc *tx, ir_expr *e, const char *name, src_span span)
{
    if (is_steady(e, 4) || e->type->kind == IR_VOID || e->type->kind == IR_STRING)
        return e;
    ir_var *v = tc_declare(tx, name ? name : "t", e->type, e, span);
    v->role = IR_ROLE_KEPT;
    return ir_read(tx->ir, v, span);
}

static bool is_settled(const tc_value *v)
{
    if (v->kind == TC_RT)
        return is_steady(v->rt, 4);
    if (!tc_may_be_unsettled(v->kind))
        return true;
    const tc_list *items = v->kind == TC_DICT ? &v->dict->values : v->list;
    for (size_t i = 0; i < items->len; i++)
        if (!is_settled(&items->at[i]))
            return false;
    return true;
}

tc_value tc_freeze_parts(tc *tx, tc_value v, src_span span)
{
    if (v.kind == TC_RT)
        return tc_rt(tc_keep(tx, v.rt, NULL, span));
    if (is_settled(&v) || tc_wants_run_time(tx))
        return v;
    // Lists and dicts keep their identity: others may hold them too.
    tc_value settled = v.kind == TC_TUPLE ? tc_list_new(tx, v.kind, v.list->at, v.list->len) : v;
    tc_list *items = v.kind == TC_DICT ? &v.dict->values : settled.list;
    tc_changes(tx, items->born);
    for (size_t i = 0; i < items->len; i++)
        tc_list_set(items, i, tc_freeze(tx, items->at[i], span));
    return settled;
}

tc_value tc_store_before(tc *tx, tc_value v, size_t mark, src_span span)
{
    if (is_settled(&v))
        return v;
    if (v.kind == TC_TUPLE) {
        tc_value kept = tc_list_new(tx, TC_TUPLE, v.list->at, v.list->len);
        for (size_t i = 0; i < kept.list->len; i++)
            tc_list_set(kept.list, i, tc_keep_before(tx, kept.list->at[i], mark, span));
        return kept;
    }
    if (v.kind != TC_RT)
        return v;
    ir_var *t = tc_declare(tx, "t", v.rt->type, v.rt, span); // at the end, then moved here
    t->role = IR_ROLE_KEPT;
    ir_stmt **at = tx->block->stmts.at, *s = at[tx->block->stmts.len - 1];
    for (size_t i = tx->block->stmts.len - 1; i > mark; i--)
        at[i] = at[i - 1];
    at[mark] = s;
    return tc_rt(ir_read(tx->ir, t, span));
}

void tc_assign_var(tc *tx, ir_var *v, ir_expr *value, src_span span)
{
    v->is_mutable = true;
    v->definition = NULL;
    ir_stmt *s = tc_new_stmt(tx, IR_ASSIGN, span);
    s->var = v;
    s->value = value;
    tc_emit(tx, s);
}

int tc_region_enter(tc *tx)
{
    VEC_PUSH(tx->lasting, &tx->region_stack, ((tc_region_around){tx->region, tx->loop_region}));
    tx->region = ++tx->next_region;
    return tx->region;
}

int tc_region_enter_loop(tc *tx)
{
    tc_region_enter(tx);
    return tx->loop_region = tx->region;
}

void tc_region_leave(tc *tx)
{
    const tc_region_around around = VEC_POP(&tx->region_stack);
    tx->region = around.region;
    tx->loop_region = around.loop_region;
}

// Whether [region] is the current region or one around it.
bool tc_in_region(const tc *tx, int region)
{
    if (region == tx->region)
        return true;
    for (size_t i = tx->region_stack.len; i-- > 0;)
        if (tx->region_stack.at[i].region == region)
            return true;
    return false;
}

typedef struct resolver {
    tc *tx;
    bool ok;
    int depth;
} resolver;

static ir_expr *resolve_visit(void *user, ir_expr *e)
{
    resolver *r = user;
    if (e->op == IR_OP_VAR && e->u.var->kind == IR_VAR_LOCAL) {
        ir_expr *init = e->u.var->is_mutable ? NULL : e->u.var->definition;
        if (!init || ++r->depth > 1000) {
            r->ok = false;
            return e;
        }
        return ir_rewrite_expr(r->tx->ir, init, resolve_visit, r);
    }
    bool is_thread = e->op == IR_OP_SREG && (e->u.i <= IR_BID_Z);
    if (is_thread || e->op == IR_OP_LOAD || e->op == IR_OP_PLOAD || e->op == IR_OP_CALL || e->op == IR_OP_INTRIN ||
        (e->op == IR_OP_VAR && (e->u.var->kind == IR_VAR_LOOP || e->u.var->type->kind == IR_TENSOR)))
        r->ok = false;
    return e;
}

ir_expr *tc_resolve_definitions(tc *tx, ir_expr *e, bool *ok)
{
    resolver r = {tx, true, 0};
    ir_expr *resolved = ir_rewrite_expr(tx->ir, e, resolve_visit, &r);
    *ok = r.ok;
    return resolved;
}

// [e] as a constant, or NULL; it may look at [*left] more nodes.
static ir_expr *constant_of(tc *tx, ir_expr *e, int *left)
{
    if (--*left < 0)
        return NULL;
    if (e->op == IR_OP_INT || e->op == IR_OP_FLOAT)
        return e;
    if (e->op == IR_OP_VAR) {
        bool is_fixed = e->u.var->kind == IR_VAR_LOCAL && !e->u.var->is_mutable;
        ir_expr *init = is_fixed ? e->u.var->definition : NULL;
        return init ? constant_of(tx, init, left) : NULL;
    }
    if (!(ir_op_properties(e->op) & IR_PURE) || !e->arg_count || e->arg_count > 3)
        return NULL;
    ir_expr *args[3];
    for (int i = 0; i < e->arg_count; i++) {
        if (!(args[i] = constant_of(tx, e->args[i], left)))
            return NULL;
    }
    ir_expr *folded = ir_fold(tx->ir, ir_with_args(tx->ir, e, args));
    return folded->op == IR_OP_INT || folded->op == IR_OP_FLOAT ? folded : NULL;
}

bool tc_known_on_host(tc *tx, ir_expr *e, int64_t *out)
{
    enum { MOST_NODES = 256 };
    int left = MOST_NODES;
    if (!tc_on_host(tx) || tx->in_test)
        return false;
    const ir_expr *known = constant_of(tx, e, &left);
    return known && ir_const_int(known, out);
}
