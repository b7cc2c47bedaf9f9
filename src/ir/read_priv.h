// The reader of the text form, in four files: tokens (read_lex.c), expressions (read_expr.c), mappings and layouts
// (read_map.c), statements, functions and modules (read.c).
//
// The first error is reported and ends the reading with a jump to the recovery point in ir_read_text. All memory is in
// the arena, so nothing leaks.
#pragma once

#include <setjmp.h>

#include "ir/text_priv.h"

enum {
    READ_MAX_DEPTH = 3000,  // nested parentheses, types and blocks; levels of an expression or a layout
    READ_MAX_ARGS = 60000,
    READ_MAX_RANK = 32,
};

typedef enum token_kind { T_END, T_NAME, T_INT, T_FLOAT, T_STRING, T_SIGN } token_kind;

typedef struct token {
    token_kind kind;
    src_span span;
    bool starts_line;   // nothing but space before it on its line
    bool is_quoted;     // NAME in backquotes
    bool is_numbered;   // NAME with '.2'
    str text;           // NAME (without '.2'), STRING (decoded)
    str full;           // NAME: with its '.2', as written: the key of a variable
    const char *sign;   // SIGN
    uint64_t magnitude; // INT
    double number;      // FLOAT
    dtype suffix;       // INT, FLOAT: DT_NONE if there is none
} token;

typedef struct binding {
    str name;
    ir_var *before;
} binding;

typedef struct reader {
    arena *arena;
    ir_module *module;
    diag_context *diags;
    src_file *file;
    size_t at;         // the next byte after [now]
    token now;
    int depth;         // of the reader's own recursion
    int height;        // levels of the expression or layout that was read last
    int brackets;      // open ( and [: inside, line ends mean nothing
    map vars;          // name as written -> ir_var*
    map funcs;
    map intrins;
    VEC(binding) undo; // bindings of the blocks that are open
    ir_expr *guarded_target; // the A[guarded i] of this statement: only a store may have one
    jmp_buf failed;
} reader;

// ---- read_lex.c
void ir_read_next(reader *r);
_Noreturn void ir_read_fail(reader *r, src_span span, const char *format, ...) __attribute__((format(printf, 3, 4)));
_Noreturn void ir_read_expected(reader *r, const char *what);
bool ir_read_at_sign(const reader *r, const char *sign);
bool ir_read_at_word(const reader *r, const char *word);
bool ir_read_continues(const reader *r);               // whether the current token is still on the statement's line
bool ir_read_before(const reader *r, char c);           // whether [c] follows the current token at once
bool ir_read_take_sign(reader *r, const char *sign);  // if it is the next token, goes past it
bool ir_read_take_word(reader *r, const char *word);
void ir_read_sign(reader *r, const char *sign);       // must be there
void ir_read_word(reader *r, const char *word);
void ir_read_open(reader *r, const char *sign);       // '(' or '[', inside which line ends mean nothing
void ir_read_close(reader *r, const char *sign);
str ir_read_name(reader *r, const char *what);
const char *ir_read_string(reader *r);
int64_t ir_read_integer(reader *r);                   // with an optional '-'
int ir_read_int_in(reader *r, int64_t low, int64_t high);
void ir_read_enter(reader *r);                        // one level deeper; fails beyond READ_MAX_DEPTH
void ir_read_leave(reader *r);
void ir_read_grow(reader *r, int below);              // what was read is a node over [below] levels

// ---- read_expr.c
bool ir_read_take_space(reader *r, ir_space *out);
const ir_type *ir_read_type(reader *r);
ir_expr *ir_read_expr(reader *r);
ir_expr *ir_read_postfix(reader *r);
int ir_read_exprs(reader *r, const char *close, ir_expr ***out);  // up to the closing sign, which is not read
ir_var *ir_read_var_use(reader *r);

// ---- read_map.c
const tm_map *ir_read_map(reader *r);
const tm_layout *ir_read_layout(reader *r);
