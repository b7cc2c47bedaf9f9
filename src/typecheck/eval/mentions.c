// Whether an expression names a variable. Names of keyword arguments and attributes are none.
#include "typecheck/eval/eval.h"

static bool any_mentions(const ast_list *list, sym name)
{
    for (size_t i = 0; i < list->len; i++)
        if (tc_expr_mentions(list->at[i], name))
            return true;
    return false;
}

static bool call_mentions(const ast_call *c, sym name)
{
    for (size_t i = 0; i < c->args.len; i++)
        if (tc_expr_mentions(c->args.at[i].value, name))
            return true;
    return tc_expr_mentions(c->callee, name);
}

static bool fstring_mentions(const ast_fstring *s, sym name)
{
    for (size_t i = 0; i < s->parts.len; i++)
        if (tc_expr_mentions(s->parts.at[i].value, name) || tc_expr_mentions(s->parts.at[i].spec, name))
            return true;
    return false;
}

static bool dict_mentions(const ast_dict *d, sym name)
{
    for (size_t i = 0; i < d->items.len; i++)
        if (tc_expr_mentions(d->items.at[i].key, name) || tc_expr_mentions(d->items.at[i].value, name))
            return true;
    return false;
}

static bool comprehension_mentions(const ast_comprehension *c, sym name)
{
    for (size_t i = 0; i < c->clauses.len; i++)
        if (tc_expr_mentions(c->clauses.at[i].iterable, name) || any_mentions(&c->clauses.at[i].conditions, name))
            return true;
    return tc_expr_mentions(c->element, name) || tc_expr_mentions(c->key, name);
}

bool tc_expr_mentions(const ast_expr *e, sym name)
{
    if (!e)
        return false;
    switch (e->kind) {
    case AST_NAME:
        return ((const ast_name *)e)->name == name;
    case AST_UNARY:
        return tc_expr_mentions(((const ast_unary *)e)->operand, name);
    case AST_BINARY: {
        const ast_binary *b = (const ast_binary *)e;
        return tc_expr_mentions(b->left, name) || tc_expr_mentions(b->right, name);
    }
    case AST_LOGICAL:
        return any_mentions(&((const ast_logical *)e)->operands, name);
    case AST_COMPARE:
        return any_mentions(&((const ast_compare *)e)->operands, name);
    case AST_IF_EXPR: {
        const ast_if_expr *c = (const ast_if_expr *)e;
        return tc_expr_mentions(c->condition, name) || tc_expr_mentions(c->then, name) ||
               tc_expr_mentions(c->or_else, name);
    }
    case AST_LAMBDA:
        return tc_expr_mentions(((const ast_lambda *)e)->body, name);
    case AST_CALL:
        return call_mentions((const ast_call *)e, name);
    case AST_ATTRIBUTE:
        return tc_expr_mentions(((const ast_attribute *)e)->value, name);
    case AST_SUBSCRIPT: {
        const ast_subscript *s = (const ast_subscript *)e;
        return tc_expr_mentions(s->value, name) || any_mentions(&s->items, name);
    }
    case AST_SLICE: {
        const ast_slice *s = (const ast_slice *)e;
        return tc_expr_mentions(s->start, name) || tc_expr_mentions(s->stop, name) || tc_expr_mentions(s->step, name);
    }
    case AST_STARRED:
        return tc_expr_mentions(((const ast_starred *)e)->value, name);
    case AST_TUPLE:
    case AST_LIST:
    case AST_SET:
        return any_mentions(&((const ast_sequence *)e)->items, name);
    case AST_DICT:
        return dict_mentions((const ast_dict *)e, name);
    case AST_FSTRING:
        return fstring_mentions((const ast_fstring *)e, name);
    case AST_LIST_COMP:
    case AST_SET_COMP:
    case AST_GENERATOR:
    case AST_DICT_COMP:
        return comprehension_mentions((const ast_comprehension *)e, name);
    case AST_WALRUS:
        return tc_expr_mentions(((const ast_walrus *)e)->value, name);
    default:
        return false;
    }
}
