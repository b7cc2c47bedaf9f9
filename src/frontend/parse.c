// Entry points of the parser, and what all builders share.
#include "frontend/parse.h"

#include <string.h>

#include "frontend/parse_priv.h"
#include "grammar/hds.h"

diag *parse_report(parse_state *ps, diag_code code, src_span span, ...)
{
    va_list args;
    va_start(args, span);
    diag *d = diag_vreport(ps->px->diags, code, span, args);
    va_end(args);
    if (d->severity == DIAG_ERROR)
        ps->lex.failed = true;
    ps->fatal |= diag_too_many(ps->px->diags);
    return d;
}

void *parse_node(parse_state *ps, ast_kind kind, size_t size, src_span span)
{
    ast_node *node = arena_alloc(ps->arena, size);
    node->kind = kind;
    node->span = span;
    node->height = 1;
    return node;
}

void parse_grow(parse_state *ps, ast_node *node, uint32_t children)
{
    node->height = children + 1;
    if (node->height <= AST_MAX_HEIGHT || ps->fatal)
        return;
    const char *what = node->kind == AST_IF       ? "the branches of this 'if'"
                       : node->kind == AST_BINARY ? "the operators of this expression"
                                                  : "expressions";
    bool is_if = node->kind == AST_IF;
    src_span at = is_if ? (src_span){node->span.begin, node->span.begin + 2} : (src_span){node->span.end - 1, node->span.end};
    diag *d = parse_report(ps, HDS0014, at, what);
    const char *how = node->kind == AST_IF       ? "look the value up in a dict"
                      : node->kind == AST_BINARY ? "add up in several statements, or with sum(…)"
                                                 : "split the expression";
    diag_help(d, "at most %d levels are allowed: %s", AST_MAX_HEIGHT, how);
    ps->fatal = true;
}

uint32_t parse_higher_list(uint32_t height, ast_list list)
{
    for (size_t i = 0; i < list.len; i++)
        height = parse_higher(height, list.at[i]);
    return height;
}

void *parse_vec_grow(parse_state *ps, void *at, size_t len, size_t *cap, size_t size)
{
    *cap = *cap ? *cap * 2 : 2;
    void *grown = arena_alloc(ps->arena, *cap * size);
    if (len)
        memcpy(grown, at, len * size);
    return grown;
}

// Lists have no capacity of their own: they are doubled whenever their length is a power of two, from two on.
void parse_list_add(parse_state *ps, ast_list *list, ast_node *node)
{
    bool is_full = list->len == 0 || (list->len >= 2 && (list->len & (list->len - 1)) == 0);
    if (is_full) {
        size_t cap = list->len;
        list->at = parse_vec_grow(ps, list->at, list->len, &cap, sizeof *list->at);
    }
    list->at[list->len++] = node;
}

sym parse_sym(parse_state *ps, lex_token token)
{
    return sym_intern(ps->px->syms, lex_text(&ps->lex, token));
}

parse_expr parse_bad(parse_state *ps, src_span span)
{
    return parse_bare(parse_node(ps, AST_BAD, sizeof(ast_node), span));
}

lex_token parse_take(parse_state *ps)
{
    lex_token token = lex_next(&ps->lex);
    ps->fatal |= ps->lex.fatal;
    return token;
}

void parse_module_done(parse_state *ps, ast_list body)
{
    ps->module->body = body;
}

void parse_expression_done(parse_state *ps, parse_expr value)
{
    ps->expression = value.node;
}

static void state_init(parse_state *ps, parse_context *px, src_file *file)
{
    memset(ps, 0, offsetof(parse_state, lex));
    memset((char *)ps + offsetof(parse_state, module), 0, sizeof *ps - offsetof(parse_state, module));
    ps->arena = px->arena;
    ps->px = px;
    lex_begin(&ps->lex, px, file);
}

ast_module *parse_module(parse_context *px, src_file *file)
{
    parse_state ps;
    state_init(&ps, px, file);
    ps.module = ARENA_NEW(px->arena, ast_module);
    ps.module->file = file;
    parse_run(&ps, LEX_START_FILE);
    ps.module->doc = parse_take_doc(&ps, &ps.module->body);
    ps.module->has_errors = ps.lex.failed || ps.fatal;
    return ps.module;
}

ast_expr *parse_expression(parse_context *px, src_file *file)
{
    parse_state ps;
    state_init(&ps, px, file);
    parse_run(&ps, LEX_START_EXPRESSION);
    return ps.lex.failed || ps.fatal ? NULL : ps.expression;
}
