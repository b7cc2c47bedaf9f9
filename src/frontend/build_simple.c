// Simple statements: expressions, assignments, imports, and what the language does not have.
#include "frontend/parse_priv.h"

#include <string.h>

#include "grammar/hds.h"

ast_stmt *parse_expr_stmt(parse_state *ps, parse_expr value)
{
    ast_expr_stmt *node = PARSE_NODE(ps, EXPR_STMT, expr_stmt, value.outer);
    node->value = value.node;
    parse_grow(ps, &node->node, value.node->height);
    return &node->node;
}

ast_stmt *parse_assign(parse_state *ps, parse_expr target, parse_expr value)
{
    ast_assign *node = PARSE_NODE(ps, ASSIGN, assign, ((src_span){target.outer.begin, value.outer.end}));
    parse_check_target(ps, target.node);
    parse_list_add(ps, &node->targets, target.node);
    node->value = value.node;
    parse_grow(ps, &node->node, parse_higher(target.node->height, value.node));
    return &node->node;
}

// What was taken for the value is a target too.
ast_stmt *parse_assign_chain(parse_state *ps, ast_stmt *assign, parse_expr value)
{
    ast_assign *node = AST_AS(ASSIGN, assign, assign);
    parse_check_target(ps, node->value);
    parse_list_add(ps, &node->targets, node->value);
    node->value = value.node;
    assign->span.end = value.outer.end;
    parse_grow(ps, assign, parse_higher(assign->height - 1, value.node));
    return assign;
}

// Operators and their '=': "+=", "//=", …
static ast_op aug_op(str text)
{
    bool is_double = text.len == 3;
    switch (text.at[0]) {
    case '+':
        return AST_OP_ADD;
    case '-':
        return AST_OP_SUB;
    case '*':
        return is_double ? AST_OP_POW : AST_OP_MUL;
    case '/':
        return is_double ? AST_OP_FLOORDIV : AST_OP_DIV;
    case '%':
        return AST_OP_MOD;
    case '@':
        return AST_OP_MATMUL;
    case '<':
        return AST_OP_SHL;
    case '>':
        return AST_OP_SHR;
    case '&':
        return AST_OP_AND;
    case '|':
        return AST_OP_OR;
    default:
        return AST_OP_XOR;
    }
}

// Only one target at a time can be updated or annotated.
static void check_single_target(parse_state *ps, ast_expr *target, const char *action)
{
    if (target->kind == AST_TUPLE || target->kind == AST_LIST)
        parse_report(ps, HDS0021, target->span, action);
    else
        parse_check_target(ps, target);
}

ast_stmt *parse_aug_assign(parse_state *ps, parse_expr target, lex_token op, parse_expr value)
{
    ast_aug_assign *node = PARSE_NODE(ps, AUG_ASSIGN, aug_assign, src_join(target.outer, value.outer));
    check_single_target(ps, target.node, "updated");
    node->op = aug_op(lex_text(&ps->lex, op));
    node->target = target.node;
    node->value = value.node;
    parse_grow(ps, &node->node, parse_higher(target.node->height, value.node));
    return &node->node;
}

ast_stmt *parse_ann_assign(parse_state *ps, parse_expr target, parse_expr annotation, parse_expr value)
{
    src_span span = src_join(src_join(target.outer, annotation.outer), value.outer);
    ast_ann_assign *node = PARSE_NODE(ps, ANN_ASSIGN, ann_assign, span);
    check_single_target(ps, target.node, "annotated");
    node->target = target.node;
    node->annotation = annotation.node;
    node->value = value.node;
    parse_grow(ps, &node->node, parse_higher(parse_higher(target.node->height, annotation.node), value.node));
    return &node->node;
}

ast_stmt *parse_keyword_stmt(parse_state *ps, ast_kind kind, lex_token keyword)
{
    return parse_node(ps, kind, sizeof(ast_node), keyword.span);
}

ast_stmt *parse_return(parse_state *ps, lex_token keyword, parse_expr value)
{
    ast_return *node = PARSE_NODE(ps, RETURN, return, src_join(keyword.span, value.outer));
    node->value = value.node;
    parse_grow(ps, &node->node, parse_higher(0, value.node));
    return &node->node;
}

ast_stmt *parse_assert(parse_state *ps, lex_token keyword, parse_expr condition, parse_expr message)
{
    src_span span = src_join(src_join(keyword.span, condition.outer), message.outer);
    ast_assert *node = PARSE_NODE(ps, ASSERT, assert, span);
    node->condition = condition.node;
    node->message = message.node;
    parse_grow(ps, &node->node, parse_higher(condition.node->height, message.node));
    return &node->node;
}

// ---- imports -------------------------------------------------------------------------------------------------------

parse_dotted parse_dotted_first(parse_state *ps, lex_token name)
{
    return (parse_dotted){parse_sym(ps, name), name.span};
}

parse_dotted parse_dotted_add(parse_state *ps, parse_dotted path, lex_token name)
{
    str text = lex_text(&ps->lex, name);
    size_t len = path.name->len + 1 + text.len;
    if (len > 1000) { // each dot interns all that stands before it
        if (!ps->fatal)
            parse_report(ps, HDS0014, name.span, "modules");
        ps->fatal = true;
        return path;
    }
    char joined[1024];
    memcpy(joined, path.name->text, path.name->len);
    joined[path.name->len] = '.';
    memcpy(joined + path.name->len + 1, text.at, text.len);
    return (parse_dotted){sym_intern(ps->px->syms, (str){joined, len}), src_join(path.span, name.span)};
}

ast_import_name parse_import_name(parse_state *ps, parse_dotted path, const lex_token *alias)
{
    ast_import_name name = {.path = path.name, .span = path.span};
    if (alias) {
        name.alias = parse_sym(ps, *alias);
        name.span = src_join(path.span, alias->span);
    }
    return name;
}

parse_import_names *parse_import_names_add(parse_state *ps, parse_import_names *names, ast_import_name name)
{
    if (!names)
        names = ARENA_NEW(ps->arena, parse_import_names);
    PARSE_PUSH(ps, names, name);
    return names;
}

parse_import_names *parse_star_import(parse_state *ps, lex_token star)
{
    return parse_import_names_add(ps, NULL, (ast_import_name){sym_intern(ps->px->syms, STR("*")), NULL, star.span});
}

ast_stmt *parse_import(parse_state *ps, lex_token keyword, parse_import_names *names)
{
    ast_import *node = PARSE_NODE(ps, IMPORT, import, src_join(keyword.span, VEC_LAST(names).span));
    memcpy(&node->names, names, sizeof *names);
    return &node->node;
}

int parse_dots(parse_state *ps, lex_token token)
{
    return (int)lex_text(&ps->lex, token).len;
}

ast_stmt *parse_from_import(parse_state *ps, lex_token keyword, parse_from_path from, parse_imported imported)
{
    src_span span = src_join(keyword.span, VEC_LAST(imported.names).span);
    if (imported.end)
        span.end = imported.end;
    ast_from_import *node = PARSE_NODE(ps, FROM_IMPORT, from_import, span);
    node->level = from.dots;
    node->module = from.path.name;
    node->module_span = from.path.span;
    memcpy(&node->names, imported.names, sizeof *imported.names);
    return &node->node;
}

// ---- what the language does not have -------------------------------------------------------------------------------

static const struct {
    uint32_t keyword;
    const char *construct;
    const char *instead;
} unsupported[] = {
    {LEX_TRY, "'try'", "check conditions with 'if', 'assert' or 'static_assert'"},
    {LEX_RAISE, "'raise'", "use 'assert' or 'static_assert' to refuse a value"},
    {LEX_DEL, "'del'", "drop the statement: values go when their block ends"},
    {LEX_GLOBAL, "'global'", "pass the value as a parameter and return it"},
    {LEX_NONLOCAL, "'nonlocal'", "pass the value as a parameter and return it"},
    {LEX_TYPE, "the 'type' statement", "bind the type with '=': 'X = f16'"},
    {LEX_MATCH, "'match'", "use 'if' and 'elif'"},
    {LEX_YIELD, "'yield'", "return a tuple, or take a function to call with each value"},
    {LEX_ASYNC, "'async'", "use the barriers and asynchronous copies of 'hidet.lang'"},
    {LEX_AWAIT, "'await'", "use the barriers and asynchronous copies of 'hidet.lang'"},
};

static size_t report_unsupported(parse_state *ps, lex_token keyword)
{
    size_t i = 0;
    while (unsupported[i].keyword != keyword.kind)
        i++;
    src_span span = keyword.span;
    if (keyword.kind == LEX_MATCH) // this token is the whole statement
        span.end = span.begin + 5;
    diag *d = parse_report(ps, HDS0015, span, unsupported[i].construct);
    diag_help(d, "%s", unsupported[i].instead);
    return i;
}

ast_stmt *parse_unsupported(parse_state *ps, lex_token keyword, uint32_t end)
{
    size_t i = report_unsupported(ps, keyword);
    ast_unsupported *node = PARSE_NODE(ps, UNSUPPORTED, unsupported, ((src_span){keyword.span.begin, end}));
    node->construct = unsupported[i].construct;
    node->instead = unsupported[i].instead;
    return &node->node;
}

parse_expr parse_unsupported_expr(parse_state *ps, lex_token keyword, parse_expr value)
{
    report_unsupported(ps, keyword);
    return parse_bad(ps, src_join(keyword.span, value.outer));
}
