// Between the grammar (lang/grammar/hds.y) and the builders: what the grammar's actions call.
//
// Every action is one call. Builders never fail: where the text is wrong they report and return something that later
// actions can go on with (a BAD node). All of them run in the order of reduction, bottom up.
#pragma once

#include "frontend/lex.h"

// An expression and the bytes it was written with, parentheses included; the node's own span leaves them out.
typedef struct parse_expr {
    ast_expr *node;
    src_span outer;
} parse_expr;

// Expressions between commas.
typedef struct parse_items {
    ast_list list;
    src_span outer; // from the first item to the last, or to a comma after it
} parse_items;

typedef struct parse_suite {
    ast_list body;
    src_span colon;
    uint32_t end; // end of the last statement
} parse_suite;

typedef struct parse_state {
    arena *arena;
    parse_context *px;
    lex_state lex;
    ast_module *module;
    ast_expr *expression; // what parse_expression asked for

    bool fatal;            // stop at once: nested too deeply, or too many errors
    bool syntax_failed;    // set by the grammar's %syntax_error, taken back by the recovery
    bool broken_before;    // the statement before this one had a syntax error
    lex_token previous[2]; // the tokens fed last, latest first
    uint32_t as_items;     // `a as b` in parentheses that no `with` has claimed yet
    src_span as_span;      // of the last of them
    ast_node *item_list;   // in parentheses and perhaps the items of a `with`
} parse_state;

// ---- shared by the builders ----------------------------------------------------------------------------------------

void *parse_node(parse_state *ps, ast_kind kind, size_t size, src_span span);
#define PARSE_NODE(ps, KIND, type, span) ((ast_##type *)parse_node((ps), AST_##KIND, sizeof(ast_##type), (span)))
// Records the height of a node over its children; reports trees that grow too high.
void parse_grow(parse_state *ps, ast_node *node, uint32_t children);
static inline uint32_t parse_higher(uint32_t height, const ast_node *node)
{
    return node && node->height > height ? node->height : height;
}
uint32_t parse_higher_list(uint32_t height, ast_list list);
// As VEC_PUSH, for vectors that mostly hold one or two items and there are many of.
#define PARSE_PUSH(ps, v, item)                                                                                        \
    ((v)->len == (v)->cap ? (void)((v)->at = parse_vec_grow((ps), (v)->at, (v)->len, &(v)->cap, sizeof *(v)->at))      \
                          : (void)0,                                                                                   \
     (v)->at[(v)->len++] = (item))
void *parse_vec_grow(parse_state *ps, void *at, size_t len, size_t *cap, size_t size);
void parse_list_add(parse_state *ps, ast_list *list, ast_node *node);
sym parse_sym(parse_state *ps, lex_token token);
diag *parse_report(parse_state *ps, diag_code code, src_span span, ...);
parse_expr parse_bad(parse_state *ps, src_span span);
static inline parse_expr parse_bare(ast_expr *node)
{
    return (parse_expr){node, node->span};
}

// ---- files, lines, blocks ------------------------------------------------------------------------------------------

void parse_module_done(parse_state *ps, ast_list body);
void parse_expression_done(parse_state *ps, parse_expr value);
void parse_stmts_add(parse_state *ps, ast_list *stmts, ast_stmt *stmt);
void parse_stmts_join(parse_state *ps, ast_list *stmts, ast_list more);
void parse_line(parse_state *ps, ast_list *stmts, ast_stmt *first, ast_list more);
ast_stmt *parse_broken_line(parse_state *ps, lex_token at);
void parse_unexpected_indent(parse_state *ps, lex_token indent);
// Takes the docstring off a body: cleaned, or NULL if there is none.
const char *parse_take_doc(parse_state *ps, ast_list *body);
parse_suite parse_suite_of(parse_state *ps, lex_token colon, ast_list body);

// ---- simple statements ---------------------------------------------------------------------------------------------

ast_stmt *parse_expr_stmt(parse_state *ps, parse_expr value);
ast_stmt *parse_assign(parse_state *ps, parse_expr target, parse_expr value);
ast_stmt *parse_assign_chain(parse_state *ps, ast_stmt *assign, parse_expr value);
ast_stmt *parse_aug_assign(parse_state *ps, parse_expr target, lex_token op, parse_expr value);
// [value].node is NULL for `x: T`.
ast_stmt *parse_ann_assign(parse_state *ps, parse_expr target, parse_expr annotation, parse_expr value);
ast_stmt *parse_keyword_stmt(parse_state *ps, ast_kind kind, lex_token keyword);
ast_stmt *parse_return(parse_state *ps, lex_token keyword, parse_expr value);
ast_stmt *parse_assert(parse_state *ps, lex_token keyword, parse_expr condition, parse_expr message);
// A statement that the language does not have; [end] is the end of its text.
ast_stmt *parse_unsupported(parse_state *ps, lex_token keyword, uint32_t end);
parse_expr parse_unsupported_expr(parse_state *ps, lex_token keyword, parse_expr value);

typedef struct parse_dotted {
    sym name;
    src_span span;
} parse_dotted;
typedef VEC(ast_import_name) parse_import_names;
parse_dotted parse_dotted_first(parse_state *ps, lex_token name);
parse_dotted parse_dotted_add(parse_state *ps, parse_dotted path, lex_token name);
ast_import_name parse_import_name(parse_state *ps, parse_dotted path, const lex_token *alias);
parse_import_names *parse_import_names_add(parse_state *ps, parse_import_names *names, ast_import_name name);
ast_stmt *parse_import(parse_state *ps, lex_token keyword, parse_import_names *names);
typedef struct parse_from_path {
    int dots;          // leading ones
    parse_dotted path; // name NULL for `from . import`
} parse_from_path;
typedef struct parse_imported {
    parse_import_names *names;
    uint32_t end; // of the closing parenthesis, 0 if there is none
} parse_imported;
ast_stmt *parse_from_import(parse_state *ps, lex_token keyword, parse_from_path from, parse_imported imported);
int parse_dots(parse_state *ps, lex_token token);
parse_import_names *parse_star_import(parse_state *ps, lex_token star);

// ---- compound statements -------------------------------------------------------------------------------------------

ast_stmt *parse_elif(parse_state *ps, lex_token keyword, parse_expr condition, parse_suite body);
ast_stmt *parse_if(parse_state *ps, lex_token keyword, parse_expr condition, parse_suite body, ast_list elifs,
                   parse_suite or_else);
ast_stmt *parse_while(parse_state *ps, lex_token keyword, parse_expr condition, parse_suite body, parse_suite or_else);
ast_stmt *parse_for(parse_state *ps, lex_token keyword, parse_expr target, parse_expr iterable, parse_suite body,
                    parse_suite or_else);
typedef VEC(ast_with_item) parse_with_items;
ast_with_item parse_with_item(parse_state *ps, parse_expr context, parse_expr target);
parse_with_items *parse_with_items_add(parse_state *ps, parse_with_items *items, ast_with_item item);
parse_with_items *parse_with_items_done(parse_state *ps, parse_with_items *items);
ast_stmt *parse_with(parse_state *ps, lex_token keyword, parse_with_items *items, parse_suite body);
// `expr as target` within parentheses: an item, allowed only where the parentheses belong to a `with`.
parse_expr parse_as_item(parse_state *ps, parse_expr context, parse_expr target);
void parse_check_as_items(parse_state *ps);

// What stands between `def` or `class` and the colon.
typedef struct parse_head {
    lex_token keyword;
    lex_token name;
    ast_type_params *type_params; // NULL: none
    ast_params *params;
    ast_args *bases;
    ast_expr *returns;
} parse_head;
ast_stmt *parse_function(parse_state *ps, parse_head head, parse_suite body);
ast_stmt *parse_class(parse_state *ps, parse_head head, parse_suite body);
ast_stmt *parse_async(parse_state *ps, lex_token keyword, ast_stmt *stmt);
ast_stmt *parse_decorated(parse_state *ps, ast_list decorators, ast_stmt *stmt);

// ---- parameters and arguments --------------------------------------------------------------------------------------

ast_param parse_param(parse_state *ps, lex_token name, parse_expr annotation, parse_expr value);
ast_param parse_star_param(parse_state *ps, lex_token star, lex_token name, parse_expr annotation);
// A bare `*` or `/`: a marker, with no name, that parse_params_done turns into flags.
ast_param parse_marker_param(parse_state *ps, lex_token marker);
ast_params *parse_params_add(parse_state *ps, ast_params *params, ast_param param);
ast_params *parse_params_done(parse_state *ps, ast_params *params);
ast_type_param parse_type_param(parse_state *ps, lex_token star, lex_token name, parse_expr bound, parse_expr value);
ast_type_params *parse_type_params_add(parse_state *ps, ast_type_params *params, ast_type_param param);
ast_type_params *parse_type_params_done(parse_state *ps, ast_type_params *params);
ast_arg parse_arg(parse_state *ps, lex_token star, parse_expr value);
ast_arg parse_named_arg(parse_state *ps, lex_token name, parse_expr value);
ast_args *parse_args_add(parse_state *ps, ast_args *args, ast_arg arg);
ast_args *parse_args_done(parse_state *ps, ast_args *args);

// ---- expressions ---------------------------------------------------------------------------------------------------

parse_expr parse_name(parse_state *ps, lex_token name);
parse_expr parse_constant(parse_state *ps, ast_kind kind, lex_token token);
parse_expr parse_int(parse_state *ps, lex_token token);
parse_expr parse_float(parse_state *ps, lex_token token);
ast_expr *parse_string(parse_state *ps, lex_token token);
parse_expr parse_strings(parse_state *ps, ast_list literals);
parse_expr parse_unary(parse_state *ps, lex_token op, ast_op code, parse_expr operand);
parse_expr parse_binary(parse_state *ps, parse_expr left, lex_token op, ast_op code, parse_expr right);
parse_expr parse_logical(parse_state *ps, parse_expr left, ast_op code, parse_expr right);
typedef struct parse_compare_op {
    ast_op op;
} parse_compare_op;
parse_compare_op parse_compare_symbol(parse_state *ps, lex_token token);
parse_expr parse_compare(parse_state *ps, parse_expr left, parse_compare_op op, parse_expr right);
parse_expr parse_compare_more(parse_state *ps, parse_expr chain, parse_compare_op op, parse_expr right);
parse_expr parse_if_expr(parse_state *ps, parse_expr then, parse_expr condition, parse_expr or_else);
parse_expr parse_lambda(parse_state *ps, lex_token keyword, ast_params *params, parse_expr body);
parse_expr parse_walrus(parse_state *ps, lex_token name, parse_expr value);
parse_expr parse_starred(parse_state *ps, lex_token star, parse_expr value);
parse_expr parse_call(parse_state *ps, parse_expr callee, lex_token open, ast_args *args, lex_token close);
parse_expr parse_attribute(parse_state *ps, parse_expr value, lex_token name);
parse_expr parse_subscript(parse_state *ps, parse_expr value, parse_items items, bool has_comma, lex_token close);
parse_expr parse_slice(parse_state *ps, parse_expr start, lex_token colon, parse_expr stop, const lex_token *colon2,
                       parse_expr step);

parse_items parse_items_first(parse_state *ps, parse_expr item);
void parse_items_add(parse_state *ps, parse_items *items, parse_expr item);
void parse_items_comma(parse_items *items, lex_token comma);
// One expression without brackets around: not a starred one.
parse_expr parse_single(parse_state *ps, parse_expr item);
parse_expr parse_bare_tuple(parse_state *ps, parse_items items);
parse_expr parse_group(parse_state *ps, lex_token open, parse_expr item, lex_token close);
parse_expr parse_display(parse_state *ps, ast_kind kind, lex_token open, parse_items items, lex_token close);
parse_expr parse_empty(parse_state *ps, ast_kind kind, lex_token open, lex_token close);

typedef VEC(ast_dict_item) parse_dict_items;
parse_dict_items *parse_dict_add(parse_state *ps, parse_dict_items *items, parse_expr key, parse_expr value);
parse_expr parse_dict(parse_state *ps, lex_token open, parse_dict_items *items, lex_token close);

typedef VEC(ast_comp_for) parse_clauses;
ast_comp_for parse_comp_for(parse_state *ps, parse_expr target, parse_expr iterable, ast_list conditions);
parse_clauses *parse_clauses_add(parse_state *ps, parse_clauses *clauses, ast_comp_for clause);
parse_expr parse_comprehension(parse_state *ps, ast_kind kind, lex_token open, parse_expr key, parse_expr element,
                               parse_clauses *clauses, lex_token close);
// A generator as the only argument of a call, where the call's parentheses are its own.
ast_arg parse_generator_arg(parse_state *ps, parse_expr element, parse_clauses *clauses);
// `async for` in a comprehension.
void parse_async_comprehension(parse_state *ps, lex_token keyword);

// ---- f-strings -----------------------------------------------------------------------------------------------------

typedef VEC(ast_fstring_part) parse_fparts;
parse_fparts *parse_ftext(parse_state *ps, parse_fparts *parts, lex_token text, bool is_raw);
parse_fparts *parse_ffield(parse_state *ps, parse_fparts *parts, ast_fstring_part part);
ast_fstring_part parse_field(parse_state *ps, lex_token open, parse_expr value, const lex_token *equals,
                             char conversion, ast_expr *spec, lex_token close);
char parse_conversion(parse_state *ps, lex_token bang, lex_token name);
ast_expr *parse_fstring(parse_state *ps, lex_token start, parse_fparts *parts, uint32_t end);

// ---- targets -------------------------------------------------------------------------------------------------------

// Reports expressions that nothing can be assigned to; false if [target] is one.
bool parse_check_target(parse_state *ps, ast_expr *target);

// ---- the machine, in the generated parser --------------------------------------------------------------------------

// Feeds all tokens to the parser, with recovery. [start] is LEX_START_FILE or LEX_START_EXPRESSION.
void parse_run(parse_state *ps, uint32_t start);
// Of the terminals (numbers below [count]) that the parser could go on with, when a token fits nowhere.
void parse_explain(parse_state *ps, lex_token found, const bool *expected, uint32_t count);
// The next token from the lexer.
lex_token parse_take(parse_state *ps);
