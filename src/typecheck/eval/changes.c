// Whether a body may change a record that it was given under a name: it assigns a field of it, or calls a method that does.
// Records are passed by value, so such a parameter is a copy; all others read the caller's record, which costs nothing.
#include "typecheck/eval/eval.h"

enum { DEEPEST_METHODS = 8 };

typedef struct question {
    const tc_class *class;
    sym name;
    int depth;
} question;

static bool list_changes(const question *q, const ast_list *list);
static bool value_changes(const question *q, const ast_expr *e);

static bool is_record(const question *q, const ast_expr *e)
{
    return e->kind == AST_NAME && ((const ast_name *)e)->name == q->name;
}

// name.f, name.f.g[i], name.m(): something that belongs to the record.
static bool is_part(const question *q, const ast_expr *e)
{
    for (;;) {
        if (is_record(q, e))
            return true;
        if (e->kind == AST_ATTRIBUTE)
            e = ((const ast_attribute *)e)->value;
        else if (e->kind == AST_SUBSCRIPT)
            e = ((const ast_subscript *)e)->value;
        else if (e->kind == AST_CALL)
            e = ((const ast_call *)e)->callee;
        else
            return false;
    }
}

static bool target_changes(const question *q, const ast_expr *t)
{
    if (t->kind == AST_STARRED)
        return target_changes(q, ((const ast_starred *)t)->value);
    if (t->kind == AST_TUPLE || t->kind == AST_LIST) {
        const ast_list *items = &((const ast_sequence *)t)->items;
        for (size_t i = 0; i < items->len; i++)
            if (target_changes(q, items->at[i]))
                return true;
        return false;
    }
    return t->kind == AST_ATTRIBUTE && is_part(q, ((const ast_attribute *)t)->value);
}

// name.m(…): as its body says; name.f.m(…): possibly.
static bool call_changes(const question *q, const ast_expr *callee)
{
    if (callee->kind != AST_ATTRIBUTE || !is_part(q, ((const ast_attribute *)callee)->value))
        return false;
    const ast_attribute *a = (const ast_attribute *)callee;
    const tc_function *method = is_record(q, a->value) ? map_get_ptr(&q->class->methods, a->name) : NULL;
    if (!method || !method->decl->params.len || q->depth >= DEEPEST_METHODS)
        return true;
    question inner = {q->class, method->decl->params.at[0].name, q->depth + 1};
    return list_changes(&inner, &method->decl->body);
}

static bool args_change(const question *q, const ast_args *args)
{
    for (size_t i = 0; i < args->len; i++)
        if (value_changes(q, args->at[i].value))
            return true;
    return false;
}

static bool values_change(const question *q, const ast_list *list)
{
    for (size_t i = 0; i < list->len; i++)
        if (value_changes(q, list->at[i]))
            return true;
    return false;
}

static bool value_changes(const question *q, const ast_expr *e)
{
    if (!e)
        return false;
    switch (e->kind) {
    case AST_CALL: {
        const ast_call *c = (const ast_call *)e;
        return call_changes(q, c->callee) || value_changes(q, c->callee) || args_change(q, &c->args);
    }
    case AST_ATTRIBUTE:
        return value_changes(q, ((const ast_attribute *)e)->value);
    case AST_SUBSCRIPT:
        return value_changes(q, ((const ast_subscript *)e)->value) || values_change(q, &((const ast_subscript *)e)->items);
    case AST_SLICE:
        return value_changes(q, ((const ast_slice *)e)->start) || value_changes(q, ((const ast_slice *)e)->stop);
    case AST_UNARY:
        return value_changes(q, ((const ast_unary *)e)->operand);
    case AST_BINARY:
        return value_changes(q, ((const ast_binary *)e)->left) || value_changes(q, ((const ast_binary *)e)->right);
    case AST_LOGICAL:
        return values_change(q, &((const ast_logical *)e)->operands);
    case AST_COMPARE:
        return values_change(q, &((const ast_compare *)e)->operands);
    case AST_IF_EXPR: {
        const ast_if_expr *c = (const ast_if_expr *)e;
        return value_changes(q, c->condition) || value_changes(q, c->then) || value_changes(q, c->or_else);
    }
    case AST_TUPLE:
    case AST_LIST:
    case AST_SET:
        return values_change(q, &((const ast_sequence *)e)->items);
    case AST_STARRED:
        return value_changes(q, ((const ast_starred *)e)->value);
    case AST_WALRUS:
        return value_changes(q, ((const ast_walrus *)e)->value);
    case AST_LAMBDA:
        return value_changes(q, ((const ast_lambda *)e)->body);
    default:
        return false;
    }
}

static bool assign_changes(const question *q, const ast_assign *s)
{
    for (size_t i = 0; i < s->targets.len; i++)
        if (target_changes(q, s->targets.at[i]) || value_changes(q, s->targets.at[i]))
            return true;
    return value_changes(q, s->value);
}

static bool stmt_changes(const question *q, const ast_stmt *s)
{
    switch (s->kind) {
    case AST_ASSIGN:
        return assign_changes(q, (const ast_assign *)s);
    case AST_AUG_ASSIGN: {
        // `name += v` may be a method that works in place
        const ast_aug_assign *a = (const ast_aug_assign *)s;
        return is_record(q, a->target) || target_changes(q, a->target) || value_changes(q, a->target) ||
               value_changes(q, a->value);
    }
    case AST_ANN_ASSIGN:
        return value_changes(q, ((const ast_ann_assign *)s)->value);
    case AST_EXPR_STMT:
        return value_changes(q, ((const ast_expr_stmt *)s)->value);
    case AST_RETURN:
        return value_changes(q, ((const ast_return *)s)->value);
    case AST_ASSERT:
        return value_changes(q, ((const ast_assert *)s)->condition);
    case AST_FOR: {
        const ast_for *f = (const ast_for *)s;
        return value_changes(q, f->iterable) || list_changes(q, &f->body) || list_changes(q, &f->or_else);
    }
    case AST_WHILE: {
        const ast_while *w = (const ast_while *)s;
        return value_changes(q, w->condition) || list_changes(q, &w->body) || list_changes(q, &w->or_else);
    }
    case AST_IF: {
        const ast_if *c = (const ast_if *)s;
        return value_changes(q, c->condition) || list_changes(q, &c->body) || list_changes(q, &c->or_else);
    }
    case AST_FUNCTION:
        return list_changes(q, &((const ast_function *)s)->body);
    case AST_WITH:
        return true;  // __enter__ and __exit__ are methods of something that may well be this record
    default:
        return false;
    }
}

static bool list_changes(const question *q, const ast_list *list)
{
    for (size_t i = 0; i < list->len; i++)
        if (stmt_changes(q, list->at[i]))
            return true;
    return false;
}

bool tc_body_changes(const tc_class *class, sym name, const ast_list *body)
{
    question q = {class, name, 0};
    return list_changes(&q, body);
}
