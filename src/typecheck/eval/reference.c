// Arguments by reference. The elaborator inlines the functions that have such parameters, so that a reference is the
// expression that reads the variable or the element: writing through it is a store to what the expression names.
#include "typecheck/eval/eval.h"
#include "typecheck/eval/reference.h"

#include <string.h>

static const ast_param *parameter_of(const tc_function *f, const ast_call *e, size_t index)
{
    if (!f->decl)
        return NULL;
    const ast_params *params = &f->decl->params;
    sym name = e->args.at[index].name;
    if (!name)
        return index < params->len ? &params->at[index] : NULL;
    for (size_t i = 0; i < params->len; i++)
        if (params->at[i].name == name)
            return &params->at[i];
    return NULL;
}

bool tc_is_reference(const tc_function *f, const ast_param *p)
{
    if (!p || !p->annotation || p->annotation->kind != AST_NAME)
        return false;
    const tc_binding *b = tc_scope_find(f->module->scope, ((const ast_name *)p->annotation)->name);
    return b && b->value.kind == TC_REFERENCE;
}

bool tc_takes_reference(tc *tx, tc_value callee, const ast_call *e, size_t index)
{
    (void)tx;
    if (callee.kind == TC_FUNCTION && callee.function->module)
        return tc_is_reference(callee.function, parameter_of(callee.function, e, index));
    if (callee.kind != TC_NATIVE || callee.native->run != tc_native_asm)
        return false;
    sym name = e->args.at[index].name;
    return name ? strcmp(name->text, "outputs") == 0 || strcmp(name->text, "output_inputs") == 0
                : index == 1 || index == 2;
}

// A name that stands for a known number becomes a variable, so that it can be written to.
static void make_variable(tc *tx, const ast_expr *e)
{
    if (e->kind != AST_NAME || !tx->block)
        return;
    sym name = ((const ast_name *)e)->name;
    tc_binding *b = tc_scope_find_here(tx->frame->scope, name);
    if (!b || b->var || b->owner != tx->func || b->region != tx->region || !tc_is_number(b->value) ||
        b->value.kind == TC_RT)
        return;
    ir_expr *value = tc_default_rt(tx, b->value, e->span);
    if (!value)
        return;
    ir_var *v = tc_declare(tx, name->text, value->type, value, e->span);
    tc_scope_bind(tx, tx->frame->scope, name, tc_rt(ir_read(tx->ir, v, e->span)), b->span)->var = v;
}

static tc_value reference_list(tc *tx, const ast_sequence *s)
{
    tc_value r = tc_list_new(tx, TC_LIST, NULL, 0);
    for (size_t i = 0; i < s->items.len; i++)
        make_variable(tx, s->items.at[i]);
    tc_list items = {0};
    if (!tc_eval_items(tx, &s->items, &items))
        return tc_poison();
    for (size_t i = 0; i < items.len; i++)
        tc_list_push(tx, r.list, items.at[i]);
    return r;
}

tc_value tc_eval_reference(tc *tx, const ast_expr *e)
{
    if (e->kind == AST_LIST || e->kind == AST_TUPLE)
        return reference_list(tx, (const ast_sequence *)e);
    make_variable(tx, e);
    const ast_comprehension *saved = tx->references;
    tx->references = e->kind == AST_LIST_COMP ? (const ast_comprehension *)e : NULL;
    tc_value v = tc_eval(tx, e);
    tx->references = saved;
    return v;
}

static bool is_variable(const ir_var *v)
{
    return v->kind == IR_VAR_LOCAL && v->role != IR_ROLE_KEPT;
}

static ir_stmt *store_to(tc *tx, ir_stmt_kind kind, const ir_expr *target, src_span span)
{
    ir_stmt *s = tc_new_stmt(tx, kind, span);
    s->var = kind == IR_STORE ? target->u.var : NULL;
    s->arg_count = target->arg_count;
    s->args = arena_dup(tx->ir->arena, target->args, (size_t)target->arg_count * sizeof *target->args);
    return s;
}

bool tc_store_reference(tc *tx, tc_value target, tc_value v, src_span span)
{
    const ir_expr *p = target.kind == TC_RT ? target.rt : NULL;
    bool is_plain_load = p && (p->op == IR_OP_LOAD || p->op == IR_OP_PLOAD) && !(p->flags & IR_GUARDED);
    if (!p || !(is_plain_load || (p->op == IR_OP_VAR && is_variable(p->u.var)))) {
        diag *d = tc_error(tx, HDS0331, span, tc_describe(tx, target));
        diag_help(d, "give a variable or an element of a tensor; a variable gets its type as in q: u32 = 0");
        return false;
    }
    ir_expr *value = tc_convert(tx, v, p->type, span, "value");
    if (!value)
        return false;
    if (p->op == IR_OP_VAR) {
        tc_assign_var(tx, p->u.var, value, span);
        return true;
    }
    ir_stmt *s = store_to(tx, p->op == IR_OP_LOAD ? IR_STORE : IR_PSTORE, p, span);
    s->value = value;
    tc_emit(tx, s);
    return true;
}
