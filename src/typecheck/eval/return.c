// Return statements: of functions that are inlined, and of those of the program.
#include "typecheck/eval/eval.h"

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
            tc_list_set(r.list, i, result_variable(tx, r.list->at[i], span));
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
