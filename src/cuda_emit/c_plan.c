// Values of launch plans in C. The printer takes expressions of the IR, and plans have its operators: an expression of a plan
// becomes one of the IR, whose variables are the parameters of the function and one for each value of the plan. What has
// another form in C (addresses, functions of <math.h>) becomes a variable whose name is the text.
#include "cuda_emit/c_priv.h"

#include <string.h>

// ---- values -----------------------------------------------------------------------------------------------------

// Reads of the values in the expression.
static bool mark_read(cu_c_plan *s, int node)
{
    const plan_node *n = &s->plan->nodes.at[node];
    bool is_new = n->op == IR_OP_VAR && !s->is_read[n->u.value];
    if (n->op == IR_OP_VAR)
        s->is_read[n->u.value] = true;
    for (int i = 0; i < 3 && n->args[i] >= 0; i++)
        is_new |= mark_read(s, n->args[i]);
    return is_new;
}

// A value is read if a statement with an effect reads it, or one that gives a value that is read.
static void find_reads(cu_c_plan *s)
{
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (size_t i = 0; i < s->plan->stmts.len; i++) {
            const plan_stmt *stmt = &s->plan->stmts.at[i];
            bool gives = stmt->kind == PLAN_LET || stmt->kind == PLAN_SET;
            s->is_set[stmt->kind == PLAN_SET ? stmt->value : (int)s->plan->values.len] = true;
            for (int k = 0; k < stmt->arg_count && (!gives || s->is_read[stmt->value]); k++)
                goes_on |= mark_read(s, stmt->args[k]);
        }
    }
}

void cu_c_plan_begin(cu_c_plan *s, cu *cx, const cu_c_func *f)
{
    const plan *p = f->plan;
    *s = (cu_c_plan){.cx = cx, .plan = p, .func = f};
    s->vars = ARENA_ARRAY(cx->a, ir_var *, p->values.len + 1);
    s->is_read = ARENA_ARRAY(cx->a, bool, p->values.len + 1);
    s->is_set = ARENA_ARRAY(cx->a, bool, p->values.len + 1);
    for (int i = 0; i < p->parameter_count; i++)
        s->vars[i] = f->func->params.at[i];
    for (size_t i = (size_t)p->parameter_count; i < p->values.len; i++) {
        const plan_value *v = &p->values.at[i];
        const ir_type *t = v->type == DT_NONE ? ir_pointer(cx->m, ir_void(cx->m), IR_GLOBAL) : ir_scalar(cx->m, v->type);
        // "x.2" is another x.
        const char *name = arena_strndup(cx->a, v->name, strcspn(v->name, "."));
        s->vars[i] = cu_var_new(cx, name, t, f->func->span);
    }
    find_reads(s);
}

// ---- expressions ------------------------------------------------------------------------------------------------

// A variable of that type, which C writes as [text].
static ir_expr *written_as(cu_c_plan *s, const ir_type *t, const char *text)
{
    ir_var *v = cu_var_new(s->cx, "", t, s->cx->c->span);
    s->cx->vars[v->id].name = text;
    s->cx->vars[v->id].uses = 1;
    return ir_read(s->cx->m, v, v->span);
}

ir_expr *cu_c_plan_named(cu_c_plan *s, int node, const char *text)
{
    dtype t = s->plan->nodes.at[node].type;
    ir_module *m = s->cx->m;
    return written_as(s, t == DT_NONE ? ir_pointer(m, ir_void(m), IR_GLOBAL) : ir_scalar(m, t), text);
}

static ir_expr *constant(cu_c_plan *s, const plan_node *n)
{
    if (dt_is_float(n->type))
        return ir_float(s->cx->m, n->type, dt_to_double(n->type, n->u.bits));
    return ir_int(s->cx->m, n->type, (int64_t)n->u.bits);
}

static ir_expr *math_call(cu_c_plan *s, const plan_node *n)
{
    cu *cx = s->cx;
    dtype t = s->plan->nodes.at[n->args[0]].type;
    bool tests = plan_function_tests(n->u.function);
    str_buf args;
    str_buf_init(&args, cx->a);
    for (int i = 0; i < 3 && n->args[i] >= 0; i++)
        cu_add_item(&args, cu_as(cx, cu_c_plan_expr(s, n->args[i]), ir_scalar(cx->m, t)));
    cu_c_needs(cx, "math.h");
    const char *suffix = t == DT_F32 && !tests ? "f" : "";
    const char *text = arena_printf(cx->a, "%s%s(%s)", plan_function_name(n->u.function), suffix, str_text(&args));
    return written_as(s, ir_scalar(cx->m, n->type), tests ? arena_printf(cx->a, "(%s != 0)", text) : text);
}

// Operators on addresses: comparisons, and their bits.
static ir_expr *of_addresses(cu_c_plan *s, const plan_node *n)
{
    cu *cx = s->cx;
    const ir_type *t = ir_scalar(cx->m, n->type);
    const char *a = cu_c_plan_address(s, n->args[0], CU_UNARY);
    if (n->op == IR_OP_BITCAST)
        return written_as(s, t, arena_printf(cx->a, "((uint64_t)(uintptr_t)%s)", a));
    static const char *const signs[IR_OP__COUNT] = {[IR_OP_EQ] = "==", [IR_OP_NE] = "!=", [IR_OP_LT] = "<",
                                                    [IR_OP_LE] = "<=", [IR_OP_GT] = ">",  [IR_OP_GE] = ">="};
    const char *b = cu_c_plan_address(s, n->args[1], CU_UNARY);
    return written_as(s, t, arena_printf(cx->a, "((uintptr_t)%s %s (uintptr_t)%s)", a, signs[n->op], b));
}

ir_expr *cu_c_plan_expr(cu_c_plan *s, int node)
{
    const plan_node *n = &s->plan->nodes.at[node];
    ir_module *m = s->cx->m;
    src_span span = n->span.begin ? n->span : s->cx->c->span;
    if (n->op == IR_OP_VAR)
        return ir_read(m, s->vars[n->u.value], span);
    if (n->type == DT_NONE)
        return cu_c_plan_named(s, node, cu_c_plan_address(s, node, CU_POSTFIX));
    if (n->op == IR_OP_INT)
        return constant(s, n);
    if (n->op == IR_OP_INTRIN)
        return math_call(s, n);
    if (s->plan->nodes.at[n->args[0]].type == DT_NONE)
        return of_addresses(s, n);
    // What a comment says is what the author wrote: extents are computed in 64 bits anyway.
    if (s->cx->in_comment && n->op == IR_OP_CAST && n->type == DT_I64 && dt_is_int(s->plan->nodes.at[n->args[0]].type))
        return cu_c_plan_expr(s, n->args[0]);
    int count = n->args[2] >= 0 ? 3 : n->args[1] >= 0 ? 2 : 1;
    ir_expr *e = ir_new_expr(m, n->op, ir_scalar(m, n->type), span, count);
    for (int i = 0; i < count; i++)
        e->args[i] = cu_c_plan_expr(s, n->args[i]);
    return e;
}

// ---- addresses --------------------------------------------------------------------------------------------------

static const char *with_brackets(cu *cx, const char *text, bool needed)
{
    return needed ? arena_printf(cx->a, "(%s)", text) : text;
}

// A void pointer, but for what is just a name.
const char *cu_c_plan_address(cu_c_plan *s, int node, cu_prec prec)
{
    const plan_node *n = &s->plan->nodes.at[node];
    cu *cx = s->cx;
    if (n->op == IR_OP_VAR)
        return cu_var_name(cx, s->vars[n->u.value]);
    if (n->op == IR_OP_INT)
        return n->u.bits ? arena_printf(cx->a, "((void *)(uintptr_t)0x%llx)", (unsigned long long)n->u.bits) : "NULL";
    if (n->op == IR_OP_ADD) {
        const char *base = cu_c_plan_address(s, n->args[0], CU_UNARY);
        const char *offset = cu_paren(cx, cu_exact(cx, cu_c_plan_expr(s, n->args[1]), true), CU_MUL);
        return with_brackets(cx, arena_printf(cx->a, "(void *)((char *)%s + %s)", base, offset), prec > CU_UNARY);
    }
    if (n->op == IR_OP_SELECT) {
        const char *condition = cu_at(cx, cu_c_plan_expr(s, n->args[0]), CU_LOR);
        const char *a = cu_c_plan_address(s, n->args[1], CU_UNARY), *b = cu_c_plan_address(s, n->args[2], CU_UNARY);
        return with_brackets(cx, arena_printf(cx->a, "%s ? (void *)%s : (void *)%s", condition, a, b), prec > CU_COND);
    }
    const char *bits = cu_at(cx, cu_c_plan_expr(s, n->args[0]), CU_UNARY);
    return with_brackets(cx, arena_printf(cx->a, "(void *)(uintptr_t)%s", bits), prec > CU_UNARY);
}
