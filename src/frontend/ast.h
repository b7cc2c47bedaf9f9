// The syntax tree of a module.
//
// One struct per kind behind a common head, in the module's arena, immutable once the parser is done. The tree says
// what was written and nothing else: names are not resolved, literals keep their value, parentheses are gone but spans
// are exact (the span of an expression covers it from its first to its last byte, without enclosing parentheses; the
// parentheses of a tuple are its own).
// Syntax of Python that the language does not have becomes an UNSUPPORTED node that names the construct (a BAD node
// where it is an expression); syntax errors leave BAD nodes, so that later stages can go on silently.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sym.h"
#include "base/vec.h"
#include "diag/source.h"

typedef enum ast_kind {
    AST__INVALID,
#define AST_STMT(kind, name, type) AST_##kind,
#define AST_EXPR(kind, name, type) AST_##kind,
#include "frontend/ast.def"
    AST__COUNT
} ast_kind;

// No tree is higher than this, so that later stages may walk it recursively.
enum { AST_MAX_HEIGHT = 2000 };

typedef struct ast_node {
    ast_kind kind;
    src_span span;
    uint32_t height;  // 1 for a leaf, 1 + that of the highest child otherwise
} ast_node;

typedef struct ast_node ast_expr;  // a node whose kind is an expression's
typedef struct ast_node ast_stmt;  // a node whose kind is a statement's

// Lists of nodes: arrays in the arena.
typedef struct ast_list {
    ast_node **at;
    size_t len;
} ast_list;

typedef enum ast_op {
    // binary, also of augmented assignments
    AST_OP_ADD, AST_OP_SUB, AST_OP_MUL, AST_OP_DIV, AST_OP_FLOORDIV, AST_OP_MOD, AST_OP_POW, AST_OP_MATMUL,
    AST_OP_SHL, AST_OP_SHR, AST_OP_AND, AST_OP_OR, AST_OP_XOR,
    // unary
    AST_OP_NEG, AST_OP_POS, AST_OP_INVERT, AST_OP_NOT,
    // logical
    AST_OP_LOGICAL_AND, AST_OP_LOGICAL_OR,
    // comparisons
    AST_OP_EQ, AST_OP_NE, AST_OP_LT, AST_OP_LE, AST_OP_GT, AST_OP_GE, AST_OP_IS, AST_OP_IS_NOT, AST_OP_IN,
    AST_OP_NOT_IN,
    AST_OP__COUNT
} ast_op;
const char *ast_op_text(ast_op op);  // "+", "<=", "not in"

// `T`, `T: bound`, `T: bound = default`, `*S`
typedef struct ast_type_param {
    sym name;
    src_span span;
    ast_expr *bound;          // NULL: none
    ast_expr *default_value;  // NULL: none
    bool is_variadic;         // `*S`
} ast_type_param;

// `x`, `x: T`, `x: T = value`, `*args`, `**kwargs`
typedef struct ast_param {
    sym name;
    src_span span;  // of the whole parameter
    src_span name_span;
    ast_expr *annotation;     // NULL: none
    ast_expr *default_value;  // NULL: none
    enum { AST_PARAM_PLAIN, AST_PARAM_STAR, AST_PARAM_DOUBLE_STAR } kind;
    bool keyword_only;     // after `*` or `*args`
    bool positional_only;  // before `/`
} ast_param;

typedef VEC(ast_type_param) ast_type_params;
typedef VEC(ast_param) ast_params;

// One argument of a call: `value`, `name=value`, `*value`, `**value`.
typedef struct ast_arg {
    sym name;  // NULL: positional
    src_span span;
    ast_expr *value;
    enum { AST_ARG_PLAIN, AST_ARG_STAR, AST_ARG_DOUBLE_STAR } kind;
} ast_arg;
typedef VEC(ast_arg) ast_args;

// ---- statements ----------------------------------------------------------------------------------------------------

typedef struct ast_function {
    ast_node node;  // from `def` to the end of the body
    sym name;
    src_span name_span;
    ast_list decorators;
    ast_type_params type_params;
    ast_params params;
    ast_expr *returns;  // NULL: no annotation
    ast_list body;      // without the docstring
    const char *doc;    // the docstring, cleaned of common indentation as inspect.cleandoc does; NULL: none
    bool is_async;
} ast_function;

typedef struct ast_class {
    ast_node node;
    sym name;
    src_span name_span;
    ast_list decorators;
    ast_type_params type_params;
    ast_args bases;
    ast_list body;
    const char *doc;
} ast_class;

typedef struct ast_return {
    ast_node node;
    ast_expr *value;  // NULL: none
} ast_return;

// `a = b = value`: targets are in order of writing.
typedef struct ast_assign {
    ast_node node;
    ast_list targets;
    ast_expr *value;
} ast_assign;

typedef struct ast_aug_assign {
    ast_node node;
    ast_op op;
    ast_expr *target;
    ast_expr *value;
} ast_aug_assign;

typedef struct ast_ann_assign {
    ast_node node;
    ast_expr *target;
    ast_expr *annotation;
    ast_expr *value;  // NULL: none
} ast_ann_assign;

typedef struct ast_for {
    ast_node node;
    src_span head;  // from `for` to the colon
    ast_expr *target;
    ast_expr *iterable;
    ast_list body;
    ast_list or_else;  // empty: none
} ast_for;

typedef struct ast_while {
    ast_node node;
    src_span head;
    ast_expr *condition;
    ast_list body;
    ast_list or_else;
} ast_while;

// `elif` is an `if` alone in [or_else].
typedef struct ast_if {
    ast_node node;
    src_span head;
    ast_expr *condition;
    ast_list body;
    ast_list or_else;
} ast_if;

typedef struct ast_with_item {
    ast_expr *context;
    ast_expr *target;  // NULL: no `as`
} ast_with_item;

typedef struct ast_with {
    ast_node node;
    src_span head;
    VEC(ast_with_item) items;
    ast_list body;
} ast_with;

typedef struct ast_assert {
    ast_node node;
    ast_expr *condition;
    ast_expr *message;  // NULL: none
} ast_assert;

// One name of an import. `import a.b as c`: path "a.b", alias c. `from m import x as y`: path "x", alias y.
typedef struct ast_import_name {
    sym path;   // dotted; "*" for a star import
    sym alias;  // NULL: no `as`
    src_span span;
} ast_import_name;

typedef struct ast_import {
    ast_node node;
    VEC(ast_import_name) names;
} ast_import;

typedef struct ast_from_import {
    ast_node node;
    int level;   // leading dots
    sym module;  // dotted, NULL for `from . import x`
    src_span module_span;
    VEC(ast_import_name) names;
} ast_from_import;

typedef struct ast_expr_stmt {
    ast_node node;
    ast_expr *value;
} ast_expr_stmt;

// A construct of Python that the language does not have: `try`, `raise`, `match`, `yield`, `async for`, …
typedef struct ast_unsupported {
    ast_node node;
    const char *construct;  // as a message names it: "'try'"
    const char *instead;    // what to write, or NULL
} ast_unsupported;

// ---- expressions ---------------------------------------------------------------------------------------------------

typedef struct ast_name {
    ast_node node;
    sym name;
} ast_name;

typedef struct ast_int {
    ast_node node;
    unsigned __int128 value; // magnitude
    bool too_large;          // has more than 127 bits; reported when used
} ast_int;

typedef struct ast_float {
    ast_node node;
    double value;
    bool imaginary;  // `2j`
} ast_float;

// Adjacent literals are joined. Escapes are resolved.
typedef struct ast_string {
    ast_node node;
    str value;
    bool is_bytes;
} ast_string;

// f"text {value!r:spec} …": literal parts and values, alternating.
typedef struct ast_fstring_part {
    str literal;        // valid when value is NULL
    ast_expr *value;    // NULL: a literal part
    char conversion;    // 'r', 's', 'a' or 0
    ast_expr *spec;     // NULL or an FSTRING/STRING
    const char *debug;  // "x=" of f"{x=}", or NULL
} ast_fstring_part;

typedef struct ast_fstring {
    ast_node node;
    VEC(ast_fstring_part) parts;
} ast_fstring;

typedef struct ast_unary {
    ast_node node;
    ast_op op;
    ast_expr *operand;
} ast_unary;

typedef struct ast_binary {
    ast_node node;
    ast_op op;
    src_span op_span;
    ast_expr *left;
    ast_expr *right;
} ast_binary;

// `a and b and c`: two or more operands, one operator.
typedef struct ast_logical {
    ast_node node;
    ast_op op;
    ast_list operands;
} ast_logical;

// `a < b <= c`: ops[i] is between operands[i] and operands[i + 1].
typedef struct ast_compare {
    ast_node node;
    VEC(ast_op) ops;
    ast_list operands;
} ast_compare;

typedef struct ast_if_expr {
    ast_node node;
    ast_expr *condition;
    ast_expr *then;
    ast_expr *or_else;
} ast_if_expr;

typedef struct ast_lambda {
    ast_node node;
    ast_params params;
    ast_expr *body;
} ast_lambda;

typedef struct ast_call {
    ast_node node;
    ast_expr *callee;
    ast_args args;
} ast_call;

typedef struct ast_attribute {
    ast_node node;
    ast_expr *value;
    sym name;
    src_span name_span;
} ast_attribute;

// `a[i]`, `a[i, j:k, *rest]`: the items of the subscript, one for `a[i]` and for `a[(i, j)]` alike a tuple's items.
typedef struct ast_subscript {
    ast_node node;
    ast_expr *value;
    ast_list items;
    bool is_tuple;  // `a[i, j]` or `a[i,]`, as against `a[i]`
} ast_subscript;

typedef struct ast_slice {
    ast_node node;
    ast_expr *start;  // each NULL when not written
    ast_expr *stop;
    ast_expr *step;
} ast_slice;

typedef struct ast_starred {
    ast_node node;
    ast_expr *value;
} ast_starred;

typedef struct ast_sequence {
    ast_node node;
    ast_list items;
} ast_sequence;

typedef struct ast_dict_item {
    ast_expr *key;  // NULL: `**value`
    ast_expr *value;
} ast_dict_item;

typedef struct ast_dict {
    ast_node node;
    VEC(ast_dict_item) items;
} ast_dict;

typedef struct ast_comp_for {
    ast_expr *target;
    ast_expr *iterable;
    ast_list conditions;
} ast_comp_for;

typedef struct ast_comprehension {
    ast_node node;
    ast_expr *element;
    ast_expr *key;  // of a dict comprehension, else NULL
    VEC(ast_comp_for) clauses;
} ast_comprehension;

typedef struct ast_walrus {
    ast_node node;
    sym name;
    ast_expr *value;
} ast_walrus;

// Checked casts: AST_AS(call, e)->callee
void *ast_cast(ast_kind kind, const ast_node *node);
#define AST_AS_FUNCTION(n) ((ast_function *)ast_cast(AST_FUNCTION, (n)))
#define AST_AS_CLASS(n) ((ast_class *)ast_cast(AST_CLASS, (n)))
#define AST_AS(KIND, type, n) ((ast_##type *)ast_cast(AST_##KIND, (n)))

const char *ast_kind_name(ast_kind kind);
bool ast_is_expr(ast_kind kind);

// A parsed file.
typedef struct ast_module {
    src_file *file;
    ast_list body;
    const char *doc;
    bool has_errors;  // syntax errors were reported
} ast_module;

// The tree as indented text, one node a line, for `--dump=ast` and golden tests.
void ast_print(const ast_module *module, src_map *sources, str_buf *out);
