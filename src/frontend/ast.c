// Names and casts of syntax nodes.
#include "frontend/ast.h"

#include <stdlib.h>

const char *ast_kind_name(ast_kind kind)
{
    static const char *const names[AST__COUNT] = {
        [AST__INVALID] = "invalid",
#define AST_STMT(kind, name, type) [AST_##kind] = name,
#define AST_EXPR(kind, name, type) [AST_##kind] = name,
#include "frontend/ast.def"
    };
    return (unsigned)kind < AST__COUNT ? names[kind] : "invalid";
}

bool ast_is_expr(ast_kind kind)
{
    switch (kind) {
#define AST_EXPR(kind, name, type) case AST_##kind:
#include "frontend/ast.def"
        return true;
    default:
        return false;
    }
}

const char *ast_op_text(ast_op op)
{
    static const char *const texts[AST_OP__COUNT] = {
        [AST_OP_ADD] = "+",         [AST_OP_SUB] = "-",         [AST_OP_MUL] = "*",
        [AST_OP_DIV] = "/",         [AST_OP_FLOORDIV] = "//",   [AST_OP_MOD] = "%",
        [AST_OP_POW] = "**",        [AST_OP_MATMUL] = "@",      [AST_OP_SHL] = "<<",
        [AST_OP_SHR] = ">>",        [AST_OP_AND] = "&",         [AST_OP_OR] = "|",
        [AST_OP_XOR] = "^",         [AST_OP_NEG] = "-",         [AST_OP_POS] = "+",
        [AST_OP_INVERT] = "~",      [AST_OP_NOT] = "not",       [AST_OP_LOGICAL_AND] = "and",
        [AST_OP_LOGICAL_OR] = "or", [AST_OP_EQ] = "==",         [AST_OP_NE] = "!=",
        [AST_OP_LT] = "<",          [AST_OP_LE] = "<=",         [AST_OP_GT] = ">",
        [AST_OP_GE] = ">=",         [AST_OP_IS] = "is",         [AST_OP_IS_NOT] = "is not",
        [AST_OP_IN] = "in",         [AST_OP_NOT_IN] = "not in",
    };
    return (unsigned)op < AST_OP__COUNT ? texts[op] : "?";
}

void *ast_cast(ast_kind kind, const ast_node *node)
{
    // A wrong cast is a mistake in the compiler; going on would read another struct's bytes.
    if (!node || node->kind != kind)
        abort();
    return (void *)node;
}
