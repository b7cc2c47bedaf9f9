// Lines, blocks, docstrings and the compound statements, except functions and classes.
#include "frontend/parse_priv.h"

#include "grammar/hds.h"

// ---- lines ---------------------------------------------------------------------------------------------------------

void parse_stmts_add(parse_state *ps, ast_list *stmts, ast_stmt *stmt)
{
    parse_check_as_items(ps);
    ps->broken_before = stmt->kind == AST_EXPR_STMT && ((ast_expr_stmt *)stmt)->value->kind == AST_BAD;
    parse_list_add(ps, stmts, stmt);
}

void parse_line(parse_state *ps, ast_list *stmts, ast_stmt *first, ast_list more)
{
    parse_stmts_add(ps, stmts, first);
    for (size_t i = 0; i < more.len; i++)
        parse_list_add(ps, stmts, more.at[i]);
}

// The statements of a block that nothing opens.
void parse_stmts_join(parse_state *ps, ast_list *stmts, ast_list more)
{
    for (size_t i = 0; i < more.len; i++)
        parse_list_add(ps, stmts, more.at[i]);
    ps->broken_before = true;
}

ast_stmt *parse_broken_line(parse_state *ps, lex_token at)
{
    ps->as_items = 0;
    return parse_expr_stmt(ps, parse_bad(ps, at.span));
}

void parse_unexpected_indent(parse_state *ps, lex_token indent)
{
    if (!ps->broken_before)
        parse_report(ps, HDS0011, indent.span);
}

// ---- blocks --------------------------------------------------------------------------------------------------------

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

static const char *line_end(const char *at, const char *end)
{
    while (at < end && *at != '\n')
        at++;
    return at;
}

// Spaces before the first other character; -1 for a line of nothing else. Tabs count as Python's expandtabs() has them.
static int indent_of(const char *at, const char *end)
{
    int column = 0;
    for (; at < end && is_blank(*at); at++)
        column = *at == '\t' ? (column / 8 + 1) * 8 : column + 1;
    return at < end ? column : -1;
}

static void add_line(str_buf *out, const char *at, const char *end, int skip)
{
    int column = 0;
    while (at < end && column < skip && is_blank(*at)) {
        column = *at == '\t' ? (column / 8 + 1) * 8 : column + 1;
        at++;
    }
    while (end > at && is_blank(end[-1]))
        end--;
    for (; column > skip; column--)
        str_addc(out, ' ');
    str_add(out, (str){at, (size_t)(end - at)});
}

// As inspect.cleandoc: the first line loses its blanks in front, the others what all of them have in common, and empty
// lines at either end go.
static const char *clean_doc(parse_state *ps, str text)
{
    const char *end = text.at + text.len, *first_end = line_end(text.at, end);
    int margin = -1;
    for (const char *at = first_end; at < end; at = line_end(at + 1, end)) {
        int indent = indent_of(at + 1, line_end(at + 1, end));
        if (indent >= 0 && (margin < 0 || indent < margin))
            margin = indent;
    }
    str_buf out;
    str_buf_init(&out, ps->arena);
    add_line(&out, text.at, first_end, 1 << 20);
    for (const char *at = first_end; at < end; at = line_end(at + 1, end)) {
        if (out.len)
            str_addc(&out, '\n');
        add_line(&out, at + 1, line_end(at + 1, end), margin < 0 ? 0 : margin);
    }
    while (out.len && out.at[out.len - 1] == '\n')
        out.len--;
    return arena_strndup(ps->arena, out.at ? out.at : "", out.len);
}

const char *parse_take_doc(parse_state *ps, ast_list *body)
{
    if (!body->len || body->at[0]->kind != AST_EXPR_STMT)
        return NULL;
    ast_expr *value = AST_AS(EXPR_STMT, expr_stmt, body->at[0])->value;
    if (value->kind != AST_STRING || AST_AS(STRING, string, value)->is_bytes)
        return NULL;
    body->at++;
    body->len--;
    return clean_doc(ps, AST_AS(STRING, string, value)->value);
}

parse_suite parse_suite_of(parse_state *ps, lex_token colon, ast_list body)
{
    parse_suite suite = {.body = body, .colon = colon.span, .end = colon.span.end};
    if (body.len && body.at[body.len - 1]->span.end > suite.end)
        suite.end = body.at[body.len - 1]->span.end;
    ps->broken_before = false;
    return suite;
}

static uint32_t end_of(parse_suite body, parse_suite or_else)
{
    return or_else.end ? or_else.end : body.end;
}

static uint32_t suites_height(uint32_t height, parse_suite body, parse_suite or_else)
{
    return parse_higher_list(parse_higher_list(height, body.body), or_else.body);
}

// ---- if ------------------------------------------------------------------------------------------------------------

ast_stmt *parse_elif(parse_state *ps, lex_token keyword, parse_expr condition, parse_suite body)
{
    ast_if *node = PARSE_NODE(ps, IF, if, ((src_span){keyword.span.begin, body.end}));
    node->head = src_join(keyword.span, body.colon);
    node->condition = condition.node;
    node->body = body.body;
    parse_grow(ps, &node->node, parse_higher_list(condition.node->height, body.body));
    return &node->node;
}

static void if_else(parse_state *ps, ast_stmt *stmt, ast_list or_else, uint32_t end)
{
    AST_AS(IF, if, stmt)->or_else = or_else;
    stmt->span.end = end;
    parse_grow(ps, stmt, parse_higher_list(stmt->height - 1, or_else));
}

// Each elif goes into the else part of what stands before it, the last one first.
ast_stmt *parse_if(parse_state *ps, lex_token keyword, parse_expr condition, parse_suite body, ast_list elifs,
                   parse_suite or_else)
{
    ast_stmt *first = parse_elif(ps, keyword, condition, body);
    uint32_t end = or_else.end ? or_else.end : elifs.len ? elifs.at[elifs.len - 1]->span.end : body.end;
    ast_list rest = or_else.body;
    for (size_t i = elifs.len; i-- > 0;) {
        if_else(ps, elifs.at[i], rest, end);
        rest = (ast_list){0};
        parse_list_add(ps, &rest, elifs.at[i]);
    }
    if_else(ps, first, rest, end);
    return first;
}

// ---- loops ---------------------------------------------------------------------------------------------------------

ast_stmt *parse_while(parse_state *ps, lex_token keyword, parse_expr condition, parse_suite body, parse_suite or_else)
{
    ast_while *node = PARSE_NODE(ps, WHILE, while, ((src_span){keyword.span.begin, end_of(body, or_else)}));
    node->head = src_join(keyword.span, body.colon);
    node->condition = condition.node;
    node->body = body.body;
    node->or_else = or_else.body;
    parse_grow(ps, &node->node, suites_height(condition.node->height, body, or_else));
    return &node->node;
}

ast_stmt *parse_for(parse_state *ps, lex_token keyword, parse_expr target, parse_expr iterable, parse_suite body,
                    parse_suite or_else)
{
    ast_for *node = PARSE_NODE(ps, FOR, for, ((src_span){keyword.span.begin, end_of(body, or_else)}));
    parse_check_target(ps, target.node);
    node->head = src_join(keyword.span, body.colon);
    node->target = target.node;
    node->iterable = iterable.node;
    node->body = body.body;
    node->or_else = or_else.body;
    parse_grow(ps, &node->node, suites_height(parse_higher(target.node->height, iterable.node), body, or_else));
    return &node->node;
}

// ---- with ----------------------------------------------------------------------------------------------------------

// `expr as target` within parentheses. In the tree it is a BAD node of height 0, which no other node has.
// See Note [items in parentheses].
typedef struct as_item {
    ast_node node;
    ast_with_item item;
} as_item;

static bool is_as_item(const ast_node *node)
{
    return node->kind == AST_BAD && node->height == 0;
}

parse_expr parse_as_item(parse_state *ps, parse_expr context, parse_expr target)
{
    parse_check_target(ps, target.node);
    as_item *node = parse_node(ps, AST_BAD, sizeof *node, src_join(context.outer, target.outer));
    node->node.height = 0;
    node->item = (ast_with_item){context.node, target.node};
    ps->as_items++;
    ps->as_span = node->node.span;
    return parse_bare(&node->node);
}

void parse_check_as_items(parse_state *ps)
{
    if (ps->as_items)
        parse_report(ps, HDS0030, ps->as_span);
    ps->as_items = 0;
}

// A tuple in parentheses of its own, and no others, may be the list of items itself.
static bool is_item_list(parse_expr context)
{
    if (is_as_item(context.node))
        return true;
    if (context.node->kind != AST_TUPLE || context.outer.begin != context.node->span.begin)
        return false;
    ast_list items = AST_AS(TUPLE, sequence, context.node)->items;
    for (size_t i = 0; i < items.len; i++)
        if (items.at[i]->kind == AST_STARRED)
            return false;
    return items.len > 0;
}

ast_with_item parse_with_item(parse_state *ps, parse_expr context, parse_expr target)
{
    if (target.node)
        parse_check_target(ps, target.node);
    else if (is_item_list(context))
        ps->item_list = context.node;
    return (ast_with_item){context.node, target.node};
}

parse_with_items *parse_with_items_add(parse_state *ps, parse_with_items *items, ast_with_item item)
{
    if (!items)
        items = ARENA_NEW(ps->arena, parse_with_items);
    PARSE_PUSH(ps, items, item);
    return items;
}

static void unpack_item(parse_state *ps, parse_with_items *items, ast_node *node)
{
    ast_with_item item = {node, NULL};
    if (is_as_item(node)) {
        item = ((as_item *)node)->item;
        ps->as_items--;
    }
    PARSE_PUSH(ps, items, item);
}

parse_with_items *parse_with_items_done(parse_state *ps, parse_with_items *items)
{
    ast_node *only = items->at[0].context;
    if (items->len == 1 && only == ps->item_list && !items->at[0].target) {
        items->len = 0;
        if (only->kind == AST_TUPLE) {
            ast_list list = AST_AS(TUPLE, sequence, only)->items;
            for (size_t i = 0; i < list.len; i++)
                unpack_item(ps, items, list.at[i]);
        } else {
            unpack_item(ps, items, only);
        }
    }
    parse_check_as_items(ps);
    return items;
}

ast_stmt *parse_with(parse_state *ps, lex_token keyword, parse_with_items *items, parse_suite body)
{
    ast_with *node = PARSE_NODE(ps, WITH, with, ((src_span){keyword.span.begin, body.end}));
    node->head = src_join(keyword.span, body.colon);
    node->body = body.body;
    uint32_t height = parse_higher_list(0, body.body);
    for (size_t i = 0; i < items->len; i++) {
        PARSE_PUSH(ps, &node->items, items->at[i]);
        height = parse_higher(parse_higher(height, items->at[i].context), items->at[i].target);
    }
    parse_grow(ps, &node->node, height);
    return &node->node;
}

// Note [items in parentheses]
//
// `with (a as b, c as d):` begins like `with (a, b).m() as c:`, and an LALR(1) parser cannot tell them apart before it
// has seen what follows the closing parenthesis. So the grammar lets `expr as target` stand in any parentheses, and a
// `with` whose only item is such a list unpacks it. [as_items] counts those that no `with` has claimed; some left over
// at the end of a statement's head are an error.
