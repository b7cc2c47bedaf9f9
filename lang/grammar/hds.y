/* Hidet Script: Python 3.13's grammar for an LALR(1) parser.
**
** What the language lacks is parsed all the same (try, raise, yield, …), so that one message can name it; the match
** statement never comes here, layout.c swallows it whole. Each action is one call of a builder (parse_priv.h explains
** them); nothing is decided here but the shape.
**
** Three levels keep Python's precedence honest: `expr` (lambda, a if b else c), `logic` (or, and, not, comparisons) and
** `arith` (operators on numbers). Within `logic` and `arith` the %left lines below decide; between levels the rules do,
** so that `-not x` or `a + lambda: b` are errors, as they are in Python.
*/
%name parse_grammar
%token_prefix LEX_
%token_type {lex_token}
%extra_context {parse_state *ps}
%start_symbol start

/* Brackets (200) and blocks (100) are limited by the lexer; what is left is `- - - x`, `a ** b ** c` and the like.
** There is no %realloc in this Lemon, and there need not be. */
%stack_size 5000
%stack_overflow { parse_stack_overflow(ps); }
%syntax_error   { (void)yymajor; (void)yyminor; ps->syntax_failed = true; }

%include {
#include "frontend/parse_priv.h"

#include <string.h>

/* Recovery is ours (at the end of this file): it must keep INDENT and DEDENT in step. */
#define YYNOERRORRECOVERY 1

static void parse_stack_overflow(parse_state *ps)
{
    if (!ps->fatal)
        diag_help(parse_report(ps, HDS0014, ps->lex.last.span, "expressions"), "give parts of the expression names of their own");
    ps->fatal = true;
}

#define NO_TOKEN ((lex_token){0})
#define NO_EXPR ((parse_expr){0})
#define NO_LIST ((ast_list){0})
#define NO_SUITE ((parse_suite){0})
}

/* ---- tokens -------------------------------------------------------------
** Only groups matter: DEF … ELIF are the keywords that begin (or go on with) a statement and stand nowhere else;
** layout.c and the recovery ask for that range. */
%token NEWLINE INDENT DEDENT START_FILE START_EXPRESSION BROKEN_LINE ERROR.
%token DEF CLASS RETURN WHILE WITH IMPORT ASSERT PASS BREAK CONTINUE RAISE DEL GLOBAL NONLOCAL TRY EXCEPT FINALLY ELIF.
%token IF ELSE FOR FROM AS LAMBDA ASYNC AWAIT YIELD MATCH TYPE.
%token NAME INT FLOAT STRING TRUE FALSE NONE ELLIPSIS.
%token FSTRING_START FSTRING_TEXT FSTRING_RAW_TEXT FSTRING_OPEN FSTRING_SPEC FSTRING_CLOSE FSTRING_END.
%token LPAREN RPAREN LBRACKET RBRACKET LBRACE RBRACE COMMA COLON SEMICOLON DOT ARROW BANG WALRUS ASSIGN AUG_ASSIGN.

/* ---- precedence, weakest first ------------------------------------------
** POWER binds tighter than a sign on its left and weaker than one on its right: -a ** -b is -(a ** (-b)). */
%left OR.
%left AND.
%right NOT.
%left IN IS COMPARE.
%left BAR.
%left CARET.
%left AMPERSAND.
%left SHL SHR.
%left PLUS MINUS.
%left STAR SLASH FLOOR PERCENT AT.
%right TILDE.
%right POWER.

start ::= START_FILE stmts(S).                          { parse_module_done(ps, S); }
start ::= START_EXPRESSION exprs(E) NEWLINE.            { parse_expression_done(ps, E); }

/* ---- statements ---------------------------------------------------------
** A line holds simple statements between semicolons. BROKEN_LINE stands for a line that the recovery has skipped; an
** INDENT where none belongs is reported, unless it is the block of such a line, and its statements are read all the
** same. */
%type stmts {ast_list}
%type more {ast_list}
%type stmt {ast_stmt *}
%type simple {ast_stmt *}
stmts(A) ::= .                                          { A = NO_LIST; }
stmts(A) ::= stmts(A) simple(S) more(M) NEWLINE.        { parse_line(ps, &A, S, M); }
stmts(A) ::= stmts(A) stmt(S).                          { parse_stmts_add(ps, &A, S); }
stmts(A) ::= stmts(A) unexpected_indent stmts(B) DEDENT. { parse_stmts_join(ps, &A, B); }
stmts(A) ::= stmts(A) BROKEN_LINE(T).                   { parse_stmts_add(ps, &A, parse_broken_line(ps, T)); }
unexpected_indent ::= INDENT(T).                        { parse_unexpected_indent(ps, T); }

more(A) ::= .                                           { A = NO_LIST; }
more(A) ::= SEMICOLON.                                  { A = NO_LIST; }
more(A) ::= SEMICOLON simple(S) more(M).                { A = NO_LIST; parse_line(ps, &A, S, M); }

%type suite {parse_suite}
suite(A) ::= COLON(K) NEWLINE INDENT stmts(B) DEDENT.   { A = parse_suite_of(ps, K, B); }
suite(A) ::= COLON(K) simple(S) more(M) NEWLINE. {
    ast_list body = NO_LIST;
    parse_line(ps, &body, S, M);
    A = parse_suite_of(ps, K, body);
}

/* ---- assignments and expressions as statements --------------------------
**     a, b = b, a        a = b = c        acc[i] += x        parity: u32 = 0 */
%type assign {ast_stmt *}
%type rhs {parse_expr}
simple(A) ::= rhs(E).                                   { A = parse_expr_stmt(ps, E); }
simple(A) ::= assign(B).                                { A = B; }
simple(A) ::= exprs(T) AUG_ASSIGN(O) rhs(V).            { A = parse_aug_assign(ps, T, O, V); }
simple(A) ::= exprs(T) COLON expr(Y).                   { A = parse_ann_assign(ps, T, Y, NO_EXPR); }
simple(A) ::= exprs(T) COLON expr(Y) ASSIGN rhs(V).     { A = parse_ann_assign(ps, T, Y, V); }
assign(A) ::= rhs(T) ASSIGN rhs(V).                     { A = parse_assign(ps, T, V); }
assign(A) ::= assign(B) ASSIGN rhs(V).                  { A = parse_assign_chain(ps, B, V); }
rhs(A) ::= exprs(A).
rhs(A) ::= yield(A).

/* ---- other simple statements -------------------------------------------- */
simple(A) ::= PASS(K).                                  { A = parse_keyword_stmt(ps, AST_PASS, K); }
simple(A) ::= BREAK(K).                                 { A = parse_keyword_stmt(ps, AST_BREAK, K); }
simple(A) ::= CONTINUE(K).                              { A = parse_keyword_stmt(ps, AST_CONTINUE, K); }
simple(A) ::= RETURN(K).                                { A = parse_return(ps, K, NO_EXPR); }
simple(A) ::= RETURN(K) exprs(E).                       { A = parse_return(ps, K, E); }
simple(A) ::= ASSERT(K) expr(C).                        { A = parse_assert(ps, K, C, NO_EXPR); }
simple(A) ::= ASSERT(K) expr(C) COMMA expr(M).          { A = parse_assert(ps, K, C, M); }

/* ---- imports ------------------------------------------------------------
**     import a.b as c, d        from .a import (b, c as d,)        from m import * */
%type dotted {parse_dotted}
%type import_name {ast_import_name}
%type from_name {ast_import_name}
%type import_names {parse_import_names *}
%type from_names {parse_import_names *}
%type dots {int}
%type from_path {parse_from_path}
%type imported {parse_imported}
simple(A) ::= IMPORT(K) import_names(N).                { A = parse_import(ps, K, N); }
simple(A) ::= FROM(K) from_path(P) IMPORT imported(N).  { A = parse_from_import(ps, K, P, N); }
from_path(A) ::= dotted(P).                             { A = (parse_from_path){0, P}; }
from_path(A) ::= dots(D).                               { A = (parse_from_path){D, {0}}; }
from_path(A) ::= dots(D) dotted(P).                     { A = (parse_from_path){D, P}; }
imported(A) ::= from_names(N).                          { A = (parse_imported){N, 0}; }
imported(A) ::= LPAREN from_names(N) comma RPAREN(E).   { A = (parse_imported){N, E.span.end}; }
imported(A) ::= STAR(S).                                { A = (parse_imported){parse_star_import(ps, S), 0}; }
dots(A) ::= DOT(T).                                     { A = parse_dots(ps, T); }
dots(A) ::= ELLIPSIS(T).                                { A = parse_dots(ps, T); }
dots(A) ::= dots(B) DOT(T).                             { A = B + parse_dots(ps, T); }
dots(A) ::= dots(B) ELLIPSIS(T).                        { A = B + parse_dots(ps, T); }
dotted(A) ::= NAME(N).                                  { A = parse_dotted_first(ps, N); }
dotted(A) ::= dotted(B) DOT NAME(N).                    { A = parse_dotted_add(ps, B, N); }
import_names(A) ::= import_name(N).                     { A = parse_import_names_add(ps, NULL, N); }
import_names(A) ::= import_names(B) COMMA import_name(N). { A = parse_import_names_add(ps, B, N); }
import_name(A) ::= dotted(P).                           { A = parse_import_name(ps, P, NULL); }
import_name(A) ::= dotted(P) AS NAME(N).                { A = parse_import_name(ps, P, &N); }
from_names(A) ::= from_name(N).                         { A = parse_import_names_add(ps, NULL, N); }
from_names(A) ::= from_names(B) COMMA from_name(N).     { A = parse_import_names_add(ps, B, N); }
from_name(A) ::= NAME(P).                               { A = parse_import_name(ps, parse_dotted_first(ps, P), NULL); }
from_name(A) ::= NAME(P) AS NAME(N).                    { A = parse_import_name(ps, parse_dotted_first(ps, P), &N); }
comma ::= .
comma ::= COMMA.

/* ---- if -----------------------------------------------------------------
** `if` cond suite { `elif` cond suite } [ `else` suite ]
** The elifs are a list, folded from its end into ifs in else parts: a long chain costs no parser stack. */
%type elifs {ast_list}
%type else_part {parse_suite}
stmt(A) ::= IF(K) named(C) suite(T) elifs(L) else_part(E). { A = parse_if(ps, K, C, T, L, E); }
elifs(A) ::= .                                          { A = NO_LIST; }
elifs(A) ::= elifs(A) ELIF(K) named(C) suite(T).        { parse_list_add(ps, &A, parse_elif(ps, K, C, T)); }
else_part(A) ::= .                                      { A = NO_SUITE; }
else_part(A) ::= ELSE suite(S).                         { A = S; }

/* ---- loops -------------------------------------------------------------- */
stmt(A) ::= WHILE(K) named(C) suite(B) else_part(E).    { A = parse_while(ps, K, C, B, E); }
stmt(A) ::= for(B).                                     { A = B; }
%type for {ast_stmt *}
for(A) ::= FOR(K) targets(T) IN exprs(I) suite(B) else_part(E). { A = parse_for(ps, K, T, I, B, E); }

/* ---- with ---------------------------------------------------------------
**     with filling as stage:        with (a as b, c as d,):
** Parenthesised items look like a tuple until the first `as`; they are parsed as one (see `element`). */
%type with {ast_stmt *}
%type with_head {parse_with_items *}
%type with_items {parse_with_items *}
%type with_item {ast_with_item}
stmt(A) ::= with(B).                                    { A = B; }
with(A) ::= WITH(K) with_head(I) suite(B).              { A = parse_with(ps, K, I, B); }
with_head(A) ::= with_items(I).                         { A = parse_with_items_done(ps, I); }
with_items(A) ::= with_item(I).                         { A = parse_with_items_add(ps, NULL, I); }
with_items(A) ::= with_items(B) COMMA with_item(I).     { A = parse_with_items_add(ps, B, I); }
with_item(A) ::= expr(C).                               { A = parse_with_item(ps, C, NO_EXPR); }
with_item(A) ::= expr(C) AS arith(T).                   { A = parse_with_item(ps, C, T); }

/* ---- functions and classes ----------------------------------------------
**     @decorator
**     def f[T: dtype, *S, N: int = 4](a: T[N], /, b=1, *rest, c, **named) -> T:
**     class Ring[Stage: type](Base, option=1): */
%type def {ast_stmt *}
%type decorators {ast_list}
%type returns {ast_expr *}
%type bases {ast_args *}
stmt(A) ::= def(B).                                     { A = B; }
stmt(A) ::= decorators(D) def(B).                       { A = parse_decorated(ps, D, B); }
def(A) ::= function(B).                                 { A = B; }
def(A) ::= ASYNC(K) function(B).                        { A = parse_async(ps, K, B); }
def(A) ::= CLASS(K) NAME(N) type_params(T) bases(B) suite(S). {
    A = parse_class(ps, (parse_head){.keyword = K, .name = N, .type_params = T, .bases = B}, S);
}
%type function {ast_stmt *}
function(A) ::= DEF(K) NAME(N) type_params(T) LPAREN params(P) RPAREN returns(R) suite(S). {
    A = parse_function(ps, (parse_head){.keyword = K, .name = N, .type_params = T, .params = P, .returns = R}, S);
}
decorators(A) ::= decorator(D).                         { A = NO_LIST; parse_list_add(ps, &A, D); }
decorators(A) ::= decorators(A) decorator(D).           { parse_list_add(ps, &A, D); }
%type decorator {ast_expr *}
decorator(A) ::= AT named(E) NEWLINE.                   { A = E.node; }
returns(A) ::= .                                        { A = NULL; }
returns(A) ::= ARROW expr(E).                           { A = E.node; }
bases(A) ::= .                                          { A = NULL; }
bases(A) ::= LPAREN args(B) RPAREN.                     { A = B; }

%type type_params {ast_type_params *}
%type type_param_list {ast_type_params *}
%type type_param {ast_type_param}
type_params(A) ::= .                                    { A = NULL; }
type_params(A) ::= LBRACKET type_param_list(L) comma RBRACKET. { A = parse_type_params_done(ps, L); }
type_param_list(A) ::= type_param(P).                   { A = parse_type_params_add(ps, NULL, P); }
type_param_list(A) ::= type_param_list(B) COMMA type_param(P). { A = parse_type_params_add(ps, B, P); }
type_param(A) ::= NAME(N).                              { A = parse_type_param(ps, NO_TOKEN, N, NO_EXPR, NO_EXPR); }
type_param(A) ::= NAME(N) COLON expr(B).                { A = parse_type_param(ps, NO_TOKEN, N, B, NO_EXPR); }
type_param(A) ::= NAME(N) ASSIGN expr(V).               { A = parse_type_param(ps, NO_TOKEN, N, NO_EXPR, V); }
type_param(A) ::= NAME(N) COLON expr(B) ASSIGN expr(V). { A = parse_type_param(ps, NO_TOKEN, N, B, V); }
type_param(A) ::= STAR(S) NAME(N).                      { A = parse_type_param(ps, S, N, NO_EXPR, NO_EXPR); }
type_param(A) ::= STAR(S) NAME(N) ASSIGN item(V).       { A = parse_type_param(ps, S, N, NO_EXPR, V); }
type_param(A) ::= POWER(S) NAME(N).                     { A = parse_type_param(ps, S, N, NO_EXPR, NO_EXPR); }
type_param(A) ::= POWER(S) NAME(N) ASSIGN expr(V).      { A = parse_type_param(ps, S, N, NO_EXPR, V); }

%type params {ast_params *}
%type param_list {ast_params *}
%type param {ast_param}
params(A) ::= .                                         { A = NULL; }
params(A) ::= param_list(L) comma.                      { A = parse_params_done(ps, L); }
param_list(A) ::= param(P).                             { A = parse_params_add(ps, NULL, P); }
param_list(A) ::= param_list(B) COMMA param(P).         { A = parse_params_add(ps, B, P); }
param(A) ::= NAME(N).                                   { A = parse_param(ps, N, NO_EXPR, NO_EXPR); }
param(A) ::= NAME(N) COLON expr(T).                     { A = parse_param(ps, N, T, NO_EXPR); }
param(A) ::= NAME(N) ASSIGN expr(V).                    { A = parse_param(ps, N, NO_EXPR, V); }
param(A) ::= NAME(N) COLON expr(T) ASSIGN expr(V).      { A = parse_param(ps, N, T, V); }
param(A) ::= STAR(S) NAME(N).                           { A = parse_star_param(ps, S, N, NO_EXPR); }
param(A) ::= STAR(S) NAME(N) COLON item(T).             { A = parse_star_param(ps, S, N, T); }
param(A) ::= POWER(S) NAME(N).                          { A = parse_star_param(ps, S, N, NO_EXPR); }
param(A) ::= POWER(S) NAME(N) COLON expr(T).            { A = parse_star_param(ps, S, N, T); }
param(A) ::= STAR(M).                                   { A = parse_marker_param(ps, M); }
param(A) ::= SLASH(M).                                  { A = parse_marker_param(ps, M); }

%type lambda_params {ast_params *}
%type lambda_list {ast_params *}
%type lambda_param {ast_param}
lambda_params(A) ::= .                                  { A = NULL; }
lambda_params(A) ::= lambda_list(L) comma.              { A = parse_params_done(ps, L); }
lambda_list(A) ::= lambda_param(P).                     { A = parse_params_add(ps, NULL, P); }
lambda_list(A) ::= lambda_list(B) COMMA lambda_param(P). { A = parse_params_add(ps, B, P); }
lambda_param(A) ::= NAME(N).                            { A = parse_param(ps, N, NO_EXPR, NO_EXPR); }
lambda_param(A) ::= NAME(N) ASSIGN expr(V).             { A = parse_param(ps, N, NO_EXPR, V); }
lambda_param(A) ::= STAR(S) NAME(N).                    { A = parse_star_param(ps, S, N, NO_EXPR); }
lambda_param(A) ::= POWER(S) NAME(N).                   { A = parse_star_param(ps, S, N, NO_EXPR); }
lambda_param(A) ::= STAR(M).                            { A = parse_marker_param(ps, M); }
lambda_param(A) ::= SLASH(M).                           { A = parse_marker_param(ps, M); }

/* ---- what the language does not have ------------------------------------
** Read to the end, so that the message can name it and nothing after it is misread. */
simple(A) ::= RAISE(K).                                 { A = parse_unsupported(ps, K, K.span.end); }
simple(A) ::= RAISE(K) expr(E).                         { A = parse_unsupported(ps, K, E.outer.end); }
simple(A) ::= RAISE(K) expr FROM expr(E).               { A = parse_unsupported(ps, K, E.outer.end); }
simple(A) ::= DEL(K) exprs(E).                          { A = parse_unsupported(ps, K, E.outer.end); }
simple(A) ::= GLOBAL(K) names(E).                       { A = parse_unsupported(ps, K, E.span.end); }
simple(A) ::= NONLOCAL(K) names(E).                     { A = parse_unsupported(ps, K, E.span.end); }
simple(A) ::= TYPE(K) NAME type_params ASSIGN expr(E).  { A = parse_unsupported(ps, K, E.outer.end); }
names(A) ::= NAME(N).                                   { A = N; }
names(A) ::= names COMMA NAME(N).                       { A = N; }
stmt(A) ::= MATCH(K).                                   { A = parse_unsupported(ps, K, K.span.end); }
stmt(A) ::= ASYNC(K) for(B).                            { A = parse_unsupported(ps, K, B->span.end); }
stmt(A) ::= ASYNC(K) with(B).                           { A = parse_unsupported(ps, K, B->span.end); }
stmt(A) ::= TRY(K) suite handlers(H).                   { A = parse_unsupported(ps, K, H); }
%type handlers {uint32_t}
%type excepts {uint32_t}
%type finally {uint32_t}
handlers(A) ::= finally(F).                             { A = F; }
handlers(A) ::= excepts(E) else_part(L).                { A = L.end ? L.end : E; }
handlers(A) ::= excepts else_part finally(F).           { A = F; }
excepts(A) ::= except(E).                               { A = E; }
excepts(A) ::= excepts except(E).                       { A = E; }
%type except {uint32_t}
except(A) ::= EXCEPT suite(S).                          { A = S.end; }
except(A) ::= EXCEPT expr suite(S).                     { A = S.end; }
except(A) ::= EXCEPT expr AS NAME suite(S).             { A = S.end; }
except(A) ::= EXCEPT STAR expr suite(S).                { A = S.end; }
except(A) ::= EXCEPT STAR expr AS NAME suite(S).        { A = S.end; }
finally(A) ::= FINALLY suite(S).                        { A = S.end; }
%type yield {parse_expr}
yield(A) ::= YIELD(K).                                  { A = parse_unsupported_expr(ps, K, NO_EXPR); }
yield(A) ::= YIELD(K) exprs(E).                         { A = parse_unsupported_expr(ps, K, E); }
yield(A) ::= YIELD(K) FROM expr(E).                     { A = parse_unsupported_expr(ps, K, E); }

/* ---- lists of expressions -----------------------------------------------
** `exprs`: one or a tuple, as on either side of an assignment. `targets`: of a loop, where `in` ends the target.
** `elements`: in brackets, where := and, for a `with`, `as` are allowed. */
%type exprs {parse_expr}
%type expr_items {parse_items}
%type item {parse_expr}
exprs(A) ::= item(E).                                   { A = parse_single(ps, E); }
exprs(A) ::= expr_items(L).                             { A = parse_bare_tuple(ps, L); }
exprs(A) ::= expr_items(L) COMMA(C).                    { parse_items_comma(&L, C); A = parse_bare_tuple(ps, L); }
exprs(A) ::= item(E) COMMA(C). {
    parse_items l = parse_items_first(ps, E);
    parse_items_comma(&l, C);
    A = parse_bare_tuple(ps, l);
}
expr_items(A) ::= item(E) COMMA item(F).                { A = parse_items_first(ps, E); parse_items_add(ps, &A, F); }
expr_items(A) ::= expr_items(A) COMMA item(E).          { parse_items_add(ps, &A, E); }
item(A) ::= expr(A).
item(A) ::= STAR(S) arith(E).                           { A = parse_starred(ps, S, E); }

%type targets {parse_expr}
%type target_items {parse_items}
%type target {parse_expr}
targets(A) ::= target(E).                               { A = parse_single(ps, E); }
targets(A) ::= target_items(L).                         { A = parse_bare_tuple(ps, L); }
targets(A) ::= target_items(L) COMMA(C).                { parse_items_comma(&L, C); A = parse_bare_tuple(ps, L); }
targets(A) ::= target(E) COMMA(C). {
    parse_items l = parse_items_first(ps, E);
    parse_items_comma(&l, C);
    A = parse_bare_tuple(ps, l);
}
target_items(A) ::= target(E) COMMA target(F).          { A = parse_items_first(ps, E); parse_items_add(ps, &A, F); }
target_items(A) ::= target_items(A) COMMA target(E).    { parse_items_add(ps, &A, E); }
target(A) ::= arith(A).
target(A) ::= STAR(S) arith(E).                         { A = parse_starred(ps, S, E); }

%type elements {parse_items}
%type element {parse_expr}
elements(A) ::= element(E).                             { A = parse_items_first(ps, E); }
elements(A) ::= elements(A) COMMA element(E).           { parse_items_add(ps, &A, E); }
element(A) ::= named(A).
element(A) ::= STAR(S) arith(E).                        { A = parse_starred(ps, S, E); }

/* ---- expressions -------------------------------------------------------- */
%type named {parse_expr}
%type expr {parse_expr}
named(A) ::= expr(A).
named(A) ::= NAME(N) WALRUS expr(E).                    { A = parse_walrus(ps, N, E); }
expr(A) ::= logic(A).
expr(A) ::= logic(T) IF logic(C) ELSE expr(E).          { A = parse_if_expr(ps, T, C, E); }
expr(A) ::= LAMBDA(K) lambda_params(P) COLON expr(E).   { A = parse_lambda(ps, K, P, E); }

%type logic {parse_expr}
%type chain {parse_expr}
%type compare_op {parse_compare_op}
logic(A) ::= arith(A).
logic(A) ::= chain(A).
logic(A) ::= NOT(O) logic(E).                           { A = parse_unary(ps, O, AST_OP_NOT, E); }
logic(A) ::= logic(L) AND logic(R).                     { A = parse_logical(ps, L, AST_OP_LOGICAL_AND, R); }
logic(A) ::= logic(L) OR logic(R).                      { A = parse_logical(ps, L, AST_OP_LOGICAL_OR, R); }
chain(A) ::= arith(L) compare_op(O) arith(R).           { A = parse_compare(ps, L, O, R); }
chain(A) ::= chain(L) compare_op(O) arith(R).           { A = parse_compare_more(ps, L, O, R); }
compare_op(A) ::= COMPARE(T).                           { A = parse_compare_symbol(ps, T); }
compare_op(A) ::= IN.                                   { A.op = AST_OP_IN; }
compare_op(A) ::= NOT IN.                               { A.op = AST_OP_NOT_IN; }
compare_op(A) ::= IS.                                   { A.op = AST_OP_IS; }
compare_op(A) ::= IS NOT.                               { A.op = AST_OP_IS_NOT; }

%type arith {parse_expr}
arith(A) ::= primary(A).
arith(A) ::= AWAIT(K) primary(E).                       { A = parse_unsupported_expr(ps, K, E); }
arith(A) ::= PLUS(O) arith(E). [TILDE]                  { A = parse_unary(ps, O, AST_OP_POS, E); }
arith(A) ::= MINUS(O) arith(E). [TILDE]                 { A = parse_unary(ps, O, AST_OP_NEG, E); }
arith(A) ::= TILDE(O) arith(E).                         { A = parse_unary(ps, O, AST_OP_INVERT, E); }
arith(A) ::= arith(L) PLUS(O) arith(R).                 { A = parse_binary(ps, L, O, AST_OP_ADD, R); }
arith(A) ::= arith(L) MINUS(O) arith(R).                { A = parse_binary(ps, L, O, AST_OP_SUB, R); }
arith(A) ::= arith(L) STAR(O) arith(R).                 { A = parse_binary(ps, L, O, AST_OP_MUL, R); }
arith(A) ::= arith(L) SLASH(O) arith(R).                { A = parse_binary(ps, L, O, AST_OP_DIV, R); }
arith(A) ::= arith(L) FLOOR(O) arith(R).                { A = parse_binary(ps, L, O, AST_OP_FLOORDIV, R); }
arith(A) ::= arith(L) PERCENT(O) arith(R).              { A = parse_binary(ps, L, O, AST_OP_MOD, R); }
arith(A) ::= arith(L) AT(O) arith(R).                   { A = parse_binary(ps, L, O, AST_OP_MATMUL, R); }
arith(A) ::= arith(L) POWER(O) arith(R).                { A = parse_binary(ps, L, O, AST_OP_POW, R); }
arith(A) ::= arith(L) SHL(O) arith(R).                  { A = parse_binary(ps, L, O, AST_OP_SHL, R); }
arith(A) ::= arith(L) SHR(O) arith(R).                  { A = parse_binary(ps, L, O, AST_OP_SHR, R); }
arith(A) ::= arith(L) AMPERSAND(O) arith(R).            { A = parse_binary(ps, L, O, AST_OP_AND, R); }
arith(A) ::= arith(L) BAR(O) arith(R).                  { A = parse_binary(ps, L, O, AST_OP_OR, R); }
arith(A) ::= arith(L) CARET(O) arith(R).                { A = parse_binary(ps, L, O, AST_OP_XOR, R); }

/* ---- calls, attributes, subscripts -------------------------------------- */
%type primary {parse_expr}
primary(A) ::= primary(E) DOT NAME(N).                  { A = parse_attribute(ps, E, N); }
primary(A) ::= primary(E) LPAREN(O) args(L) RPAREN(C).  { A = parse_call(ps, E, O, L, C); }
primary(A) ::= primary(E) LBRACKET subscripts(L) RBRACKET(C). { A = parse_subscript(ps, E, L, false, C); }
primary(A) ::= primary(E) LBRACKET subscripts(L) COMMA RBRACKET(C). { A = parse_subscript(ps, E, L, true, C); }

%type args {ast_args *}
%type arg_list {ast_args *}
%type arg {ast_arg}
args(A) ::= .                                           { A = NULL; }
args(A) ::= arg_list(L) comma.                          { A = parse_args_done(ps, L); }
arg_list(A) ::= arg(E).                                 { A = parse_args_add(ps, NULL, E); }
arg_list(A) ::= arg_list(B) COMMA arg(E).               { A = parse_args_add(ps, B, E); }
arg(A) ::= named(E).                                    { A = parse_arg(ps, NO_TOKEN, E); }
arg(A) ::= STAR(S) expr(E).                             { A = parse_arg(ps, S, E); }
arg(A) ::= POWER(S) expr(E).                            { A = parse_arg(ps, S, E); }
arg(A) ::= NAME(N) ASSIGN expr(E).                      { A = parse_named_arg(ps, N, E); }
arg(A) ::= named(E) clauses(L).                         { A = parse_generator_arg(ps, E, L); }

%type subscripts {parse_items}
%type subscript {parse_expr}
%type maybe_expr {parse_expr}
subscripts(A) ::= subscript(E).                         { A = parse_items_first(ps, E); }
subscripts(A) ::= subscripts(A) COMMA subscript(E).     { parse_items_add(ps, &A, E); }
subscript(A) ::= named(A).
subscript(A) ::= STAR(S) arith(E).                      { A = parse_starred(ps, S, E); }
subscript(A) ::= maybe_expr(B) COLON(C) maybe_expr(E).  { A = parse_slice(ps, B, C, E, NULL, NO_EXPR); }
subscript(A) ::= maybe_expr(B) COLON(C) maybe_expr(E) COLON(D) maybe_expr(F). { A = parse_slice(ps, B, C, E, &D, F); }
maybe_expr(A) ::= .                                     { A = NO_EXPR; }
maybe_expr(A) ::= expr(A).

/* ---- atoms -------------------------------------------------------------- */
primary(A) ::= NAME(N).                                    { A = parse_name(ps, N); }
primary(A) ::= INT(T).                                     { A = parse_int(ps, T); }
primary(A) ::= FLOAT(T).                                   { A = parse_float(ps, T); }
primary(A) ::= TRUE(T).                                    { A = parse_constant(ps, AST_TRUE, T); }
primary(A) ::= FALSE(T).                                   { A = parse_constant(ps, AST_FALSE, T); }
primary(A) ::= NONE(T).                                    { A = parse_constant(ps, AST_NONE, T); }
primary(A) ::= ELLIPSIS(T).                                { A = parse_constant(ps, AST_ELLIPSIS, T); }
primary(A) ::= strings(L).                                 { A = parse_strings(ps, L); }

primary(A) ::= LPAREN(O) RPAREN(C).                        { A = parse_empty(ps, AST_TUPLE, O, C); }
primary(A) ::= LPAREN(O) yield(E) RPAREN(C).               { A = parse_group(ps, O, E, C); }
primary(A) ::= LPAREN(O) group_item(E) RPAREN(C).          { A = parse_group(ps, O, E, C); }
primary(A) ::= LPAREN(O) group_items(L) RPAREN(C).         { A = parse_display(ps, AST_TUPLE, O, L, C); }
primary(A) ::= LPAREN(O) group_items(L) COMMA RPAREN(C).   { A = parse_display(ps, AST_TUPLE, O, L, C); }
primary(A) ::= LPAREN(O) group_item(E) COMMA RPAREN(C). {
    A = parse_display(ps, AST_TUPLE, O, parse_items_first(ps, E), C);
}
primary(A) ::= LPAREN(O) element(E) clauses(L) RPAREN(C). {
    A = parse_comprehension(ps, AST_GENERATOR, O, NO_EXPR, E, L, C);
}
%type group_item {parse_expr}
%type group_items {parse_items}
group_items(A) ::= group_item(E) COMMA group_item(F).   { A = parse_items_first(ps, E); parse_items_add(ps, &A, F); }
group_items(A) ::= group_items(A) COMMA group_item(E).  { parse_items_add(ps, &A, E); }
group_item(A) ::= element(A).
group_item(A) ::= expr(E) AS arith(T).                  { A = parse_as_item(ps, E, T); }

primary(A) ::= LBRACKET(O) RBRACKET(C).                    { A = parse_empty(ps, AST_LIST, O, C); }
primary(A) ::= LBRACKET(O) elements(L) comma RBRACKET(C).  { A = parse_display(ps, AST_LIST, O, L, C); }
primary(A) ::= LBRACKET(O) element(E) clauses(L) RBRACKET(C). {
    A = parse_comprehension(ps, AST_LIST_COMP, O, NO_EXPR, E, L, C);
}

primary(A) ::= LBRACE(O) RBRACE(C).                        { A = parse_dict(ps, O, NULL, C); }
primary(A) ::= LBRACE(O) elements(L) comma RBRACE(C).      { A = parse_display(ps, AST_SET, O, L, C); }
primary(A) ::= LBRACE(O) element(E) clauses(L) RBRACE(C). {
    A = parse_comprehension(ps, AST_SET_COMP, O, NO_EXPR, E, L, C);
}
primary(A) ::= LBRACE(O) dict_items(L) comma RBRACE(C).    { A = parse_dict(ps, O, L, C); }
primary(A) ::= LBRACE(O) expr(K) COLON expr(E) clauses(L) RBRACE(C). {
    A = parse_comprehension(ps, AST_DICT_COMP, O, K, E, L, C);
}
%type dict_items {parse_dict_items *}
dict_items(A) ::= expr(K) COLON expr(V).                { A = parse_dict_add(ps, NULL, K, V); }
dict_items(A) ::= POWER arith(V).                       { A = parse_dict_add(ps, NULL, NO_EXPR, V); }
dict_items(A) ::= dict_items(B) COMMA expr(K) COLON expr(V). { A = parse_dict_add(ps, B, K, V); }
dict_items(A) ::= dict_items(B) COMMA POWER arith(V).   { A = parse_dict_add(ps, B, NO_EXPR, V); }

/* ---- comprehensions ----------------------------------------------------- */
%type clauses {parse_clauses *}
%type clause {ast_comp_for}
%type conditions {ast_list}
clauses(A) ::= clause(C).                               { A = parse_clauses_add(ps, NULL, C); }
clauses(A) ::= clauses(B) clause(C).                    { A = parse_clauses_add(ps, B, C); }
clause(A) ::= FOR targets(T) IN logic(I) conditions(C). { A = parse_comp_for(ps, T, I, C); }
clause(A) ::= async_for targets(T) IN logic(I) conditions(C). { A = parse_comp_for(ps, T, I, C); }
async_for ::= ASYNC(K) FOR.                             { parse_async_comprehension(ps, K); }
conditions(A) ::= .                                     { A = NO_LIST; }
conditions(A) ::= conditions(A) IF logic(C).            { parse_list_add(ps, &A, C.node); }

/* ---- strings ------------------------------------------------------------
** Neighbours are joined. The parts of an f-string come as tokens of their own; layout.c knows where text ends and a
** field begins.
**     f"{x!r:>{width}} and {y=}" */
%type strings {ast_list}
%type string {ast_expr *}
%type fparts {parse_fparts *}
%type field {ast_fstring_part}
%type conversion {char}
%type spec {ast_expr *}
strings(A) ::= string(S).                               { A = NO_LIST; parse_list_add(ps, &A, S); }
strings(A) ::= strings(A) string(S).                    { parse_list_add(ps, &A, S); }
string(A) ::= STRING(T).                                { A = parse_string(ps, T); }
string(A) ::= FSTRING_START(S) fparts(P) FSTRING_END(E). { A = parse_fstring(ps, S, P, E.span.end); }
fparts(A) ::= .                                         { A = NULL; }
fparts(A) ::= fparts(B) FSTRING_TEXT(T).                { A = parse_ftext(ps, B, T, false); }
fparts(A) ::= fparts(B) FSTRING_RAW_TEXT(T).            { A = parse_ftext(ps, B, T, true); }
fparts(A) ::= fparts(B) field(F).                       { A = parse_ffield(ps, B, F); }
field(A) ::= FSTRING_OPEN(O) rhs(E) conversion(V) spec(S) FSTRING_CLOSE(C). {
    A = parse_field(ps, O, E, NULL, V, S, C);
}
field(A) ::= FSTRING_OPEN(O) rhs(E) ASSIGN(Q) conversion(V) spec(S) FSTRING_CLOSE(C). {
    A = parse_field(ps, O, E, &Q, V, S, C);
}
conversion(A) ::= .                                     { A = 0; }
conversion(A) ::= BANG(B) NAME(N).                      { A = parse_conversion(ps, B, N); }
spec(A) ::= .                                           { A = NULL; }
spec(A) ::= FSTRING_SPEC(T) fparts(P).                  { A = parse_fstring(ps, T, P, 0); }

/* ---- the machine --------------------------------------------------------
** Recovery: forget what was being read since the block's last whole statement, put BROKEN_LINE there, skip to the end
** of the line, go on. INDENT and DEDENT are never skipped, so blocks stay what they are. */
%code {
/* Would [token] be shifted here, after whatever reductions it takes? Walks a copy of the states, without actions. */
static bool accepts(yyParser *p, YYCODETYPE token, YYACTIONTYPE *states)
{
    int top = (int)(p->yytos - p->yystack);
    for (int i = 0; i <= top; i++)
        states[i] = p->yystack[i].stateno;
    for (;;) {
        YYACTIONTYPE action = yy_find_shift_action(token, states[top]);
        if (action <= YY_MAX_SHIFTREDUCE)
            return true;
        if (action < YY_MIN_REDUCE)
            return action == YY_ACCEPT_ACTION;
        unsigned rule = action - YY_MIN_REDUCE;
        top += yyRuleInfoNRhs[rule];  /* a negative number */
        if (top + 1 >= YYSTACKDEPTH)
            return false;
        states[top + 1] = yy_find_reduce_action(states[top], yyRuleInfoLhs[rule]);
        top++;
    }
}

/* States where a statement may begin: those after `stmts`, the only ones where both `pass` and an INDENT fit. */
static bool begins_statement(YYACTIONTYPE state)
{
    return state <= YY_MAX_SHIFT && yy_find_shift_action(LEX_BROKEN_LINE, state) <= YY_MAX_SHIFTREDUCE;
}

static void explain(yyParser *p, parse_state *ps, lex_token found)
{
    bool expected[YYNTOKEN] = {false};
    YYACTIONTYPE states[YYSTACKDEPTH + 1];
    for (unsigned token = 0; token < YYNTOKEN; token++)
        expected[token] = accepts(p, (YYCODETYPE)token, states);
    parse_explain(ps, found, expected, YYNTOKEN);
}

/* Forgets what was being read since the last whole statement of the innermost block. False if there is nothing to go on
** with: an expression of its own. */
static bool forget_statement(yyParser *p, parse_state *ps, lex_token found)
{
    ps->syntax_failed = false;
    while (p->yytos > p->yystack && !begins_statement(p->yytos->stateno))
        p->yytos--;
    if (p->yytos == p->yystack)
        return false;
    parse_grammar(p, LEX_BROKEN_LINE, found);
    ps->lex.line_failed = true;
    return true;
}

static void skip_broken_line(parse_state *ps, lex_token found)
{
    if (found.kind == LEX_NEWLINE)
        return;
    if (ps->lex.depth && ps->lex.first_on_line && lex_at_margin(&ps->lex))
        lex_restart_line(&ps->lex);
    else
        lex_skip_line(&ps->lex);
}

/* [found] fits nowhere. Layout tokens are always fed again, and so is what can begin a statement of its own. */
static void recover(yyParser *p, parse_state *ps, lex_token found)
{
    uint32_t before = ps->previous[0].kind;
    bool is_layout = found.kind == LEX_INDENT || found.kind == LEX_DEDENT || found.kind == 0;
    bool may_begin = before == LEX_NEWLINE || before == LEX_INDENT || before == LEX_DEDENT;
    explain(p, ps, found);
    if (ps->fatal || !forget_statement(p, ps, found)) {
        ps->fatal = true;
        return;
    }
    YYACTIONTYPE states[YYSTACKDEPTH + 1];
    if (!is_layout && !(may_begin && accepts(p, (YYCODETYPE)found.kind, states))) {
        skip_broken_line(ps, found);
        return;
    }
    parse_grammar(p, (int)found.kind, found);
    if (ps->syntax_failed)
        ps->fatal = true;
}

void parse_run(parse_state *ps, uint32_t start)
{
    yyParser parser;
    parse_grammarInit(&parser, ps);
    parse_grammar(&parser, (int)start, NO_TOKEN);
    lex_token token;
    do {
        token = parse_take(ps);
        if (ps->fatal)
            return;
        parse_grammar(&parser, (int)token.kind, token);
        if (ps->syntax_failed)
            recover(&parser, ps, token);
        ps->previous[1] = ps->previous[0];
        ps->previous[0] = token;
    } while (token.kind && !ps->fatal);
}
}
