// Syntax trees that are not in the source, as of entries.
#include "typecheck/operators/operators_priv.h"

#include <string.h>

static void start(ast_node *n, ast_kind kind, src_span span, uint32_t below)
{
    *n = (ast_node){.kind = kind, .span = span, .height = below + 1};
}

ast_list tc_make_list(tc *tx, ast_node *const *items, size_t len)
{
    return (ast_list){arena_dup(tx->lasting, items, len * sizeof *items), len};
}

ast_expr *tc_make_name(tc *tx, src_span span, const char *name)
{
    ast_name *e = ARENA_NEW(tx->lasting, ast_name);
    start(&e->node, AST_NAME, span, 0);
    e->name = sym_of(tx->syms, name);
    return &e->node;
}

ast_expr *tc_make_none(tc *tx, src_span span)
{
    ast_node *e = ARENA_NEW(tx->lasting, ast_node);
    start(e, AST_NONE, span, 0);
    return e;
}

ast_expr *tc_make_int(tc *tx, src_span span, int64_t value)
{
    ast_int *e = ARENA_NEW(tx->lasting, ast_int);
    start(&e->node, AST_INT, span, 0);
    e->value = (unsigned __int128)value;
    return &e->node;
}

ast_expr *tc_make_string(tc *tx, src_span span, const char *text)
{
    ast_string *e = ARENA_NEW(tx->lasting, ast_string);
    start(&e->node, AST_STRING, span, 0);
    e->value = str_of(text);
    e->is_bytes = false;
    return &e->node;
}

ast_expr *tc_make_attribute(tc *tx, ast_expr *value, const char *name)
{
    ast_attribute *e = ARENA_NEW(tx->lasting, ast_attribute);
    start(&e->node, AST_ATTRIBUTE, value->span, value->height);
    e->value = value;
    e->name = sym_of(tx->syms, name);
    e->name_span = value->span;
    return &e->node;
}

static uint32_t highest(ast_expr *const *items, size_t len)
{
    uint32_t height = 0;
    for (size_t i = 0; i < len; i++)
        height = items[i]->height > height ? items[i]->height : height;
    return height;
}

ast_expr *tc_make_sequence(tc *tx, src_span span, ast_kind kind, ast_expr *const *items, size_t len)
{
    ast_sequence *e = ARENA_NEW(tx->lasting, ast_sequence);
    start(&e->node, kind, span, highest(items, len));
    e->items = tc_make_list(tx, items, len);
    return &e->node;
}

ast_expr *tc_make_starred(tc *tx, ast_expr *value)
{
    ast_starred *e = ARENA_NEW(tx->lasting, ast_starred);
    start(&e->node, AST_STARRED, value->span, value->height);
    e->value = value;
    return &e->node;
}

ast_expr *tc_make_subscript(tc *tx, ast_expr *value, ast_expr *const *items, size_t len)
{
    ast_subscript *e = ARENA_NEW(tx->lasting, ast_subscript);
    uint32_t below = highest(items, len);
    start(&e->node, AST_SUBSCRIPT, value->span, below > value->height ? below : value->height);
    e->value = value;
    e->items = tc_make_list(tx, items, len);
    e->is_tuple = true;
    return &e->node;
}

ast_call *tc_make_call(tc *tx, ast_expr *callee)
{
    ast_call *e = ARENA_NEW(tx->lasting, ast_call);
    *e = (ast_call){.callee = callee};
    start(&e->node, AST_CALL, callee->span, callee->height);
    return e;
}

void tc_make_argument(tc *tx, ast_call *call, sym name, ast_expr *value)
{
    ast_arg arg = {.name = name, .span = value->span, .value = value, .kind = AST_ARG_PLAIN};
    VEC_PUSH(tx->lasting, &call->args, arg);
    if (call->node.height <= value->height)
        call->node.height = value->height + 1;
}

ast_stmt *tc_make_assign(tc *tx, ast_expr *target, ast_expr *value)
{
    ast_assign *s = ARENA_NEW(tx->lasting, ast_assign);
    start(&s->node, AST_ASSIGN, target->span, target->height > value->height ? target->height : value->height);
    s->targets = tc_make_list(tx, &target, 1);
    s->value = value;
    return &s->node;
}

ast_stmt *tc_make_expr_stmt(tc *tx, ast_expr *value)
{
    ast_expr_stmt *s = ARENA_NEW(tx->lasting, ast_expr_stmt);
    start(&s->node, AST_EXPR_STMT, value->span, value->height);
    s->value = value;
    return &s->node;
}
