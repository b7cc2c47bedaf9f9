// Index expressions in canonical form, and what can be proved with it.
//
// An integer expression becomes constant + sum of coef · split(atom, lower, extent), where split(a, l, e) = floor(a /
// l) mod e, and e = 0 means no mod. Sums, products with constants, quotients and remainders by constants, shifts and
// masks are decomposed; the rest are atoms: variables, registers, and other subexpressions, compared by structure.
// Quotients and remainders of sums are taken apart where one part is divisible and the range of the rest is small
// enough; neighbouring splits of one atom join again.
#pragma once

#include "ir/analysis_range.h"

typedef struct ir_term {
    int64_t coef; // never 0
    ir_expr *atom;
    int64_t lower;  // >= 1
    int64_t extent; // >= 2, or 0: no mod
} ir_term;

// An immutable value in the environment's arena.
struct ir_linear {
    int64_t constant;
    int count;
    ir_term terms[];
};

// Never NULL: an expression that cannot be decomposed is an atom. [e] is an integer.
const ir_linear *ir_linear_of(ir_env *env, ir_expr *e);
// fa·a + fb·b; NULL if a coefficient overflows.
const ir_linear *ir_linear_combine(ir_env *env, const ir_linear *a, int64_t fa, const ir_linear *b, int64_t fb);
// a - b + offset; NULL if a coefficient overflows.
const ir_linear *ir_linear_difference(ir_env *env, ir_expr *a, ir_expr *b, int64_t offset);
ir_range ir_linear_range(ir_env *env, const ir_linear *l);
int64_t ir_linear_divisor(ir_env *env, const ir_linear *l);
// The expression of type [type] (an integer) again.
ir_expr *ir_linear_build(ir_env *env, const ir_linear *l, const ir_type *type, src_span span);
// Whether the same value is computed, evaluated at the same point: structure, with mutable variables; reads of memory
// only if they are one node.
bool ir_same_value(const ir_expr *a, const ir_expr *b);
// coef if [v] occurs in [l] only as coef·v; 0 if it does not occur at all. False if it occurs in another way.
bool ir_linear_coefficient(const ir_linear *l, const ir_var *v, int64_t *coef);
bool ir_expr_mentions(const ir_expr *e, const ir_var *v);

// [e] or a cheaper equal expression of the same type (4 for a division or remainder, 1 for any other operator).
// Expressions with effects come back unchanged.
ir_expr *ir_simplify_index(ir_env *env, ir_expr *e);
int ir_expr_cost(const ir_expr *e);

// Whether [cond], of bool, is known to hold at this point. False means "not proved".
bool ir_prove(ir_env *env, ir_expr *cond);
bool ir_disprove(ir_env *env, ir_expr *cond);
bool ir_prove_equal(ir_env *env, ir_expr *a, ir_expr *b);
// The same, where [unit] (a pure expression) may be taken as a whole: what both sides compute from it agrees.
bool ir_prove_equal_in(ir_env *env, ir_expr *a, ir_expr *b, ir_expr *unit);
bool ir_prove_less(ir_env *env, ir_expr *a, ir_expr *b);
bool ir_prove_nonneg(ir_env *env, const ir_linear *l);
// The largest provable divisor, through the linear form (stronger than ir_divisor_of, and dearer).
int64_t ir_index_divisor(ir_env *env, ir_expr *e);
