// From the text of a file to its syntax tree (grammar: lang/grammar/hds.y, lexer: lang/grammar/hds.re).
#pragma once

#include "base/sym.h"
#include "diag/diag.h"
#include "frontend/ast.h"

typedef struct parse_context {
    arena *arena;     // the tree and its strings
    sym_table *syms;
    diag_context *diags;
} parse_context;

// Never fails: unreadable source is reported to [diags] and omitted from the tree, with [has_errors] set.
ast_module *parse_module(parse_context *px, src_file *file);

// One expression, as in `hdsc mapping 'repeat(2,1)*spatial(8,4)'` or `-D NAME=VALUE`. NULL after an error.
ast_expr *parse_expression(parse_context *px, src_file *file);

// The tokens of a file, a line each: for `--dump=tokens` and golden tests.
void lex_print(parse_context *px, src_file *file, str_buf *out);
