// Linear forms under construction: shared by analysis_linear.c (expression to form), linear_split.c (sums, quotients),
// linear_build.c (form to expression) and linear_order.c (comparison).
#pragma once

#include "ir/analysis_linear.h"

enum { IR_LINEAR_MAX_TERMS = 32 };

// A sum that grows. Terms of value 0 or constant vanish, equal ones add up, neighbouring splits join.
typedef struct ir_sum {
    int64_t constant;
    int count;
    bool failed; // overflow or too many terms: no form
    ir_term terms[IR_LINEAR_MAX_TERMS];
} ir_sum;

// Terms beyond [count] are left as they are: clearing them would be most of the work.
static inline void ir_sum_start(ir_sum *s, int64_t constant)
{
    s->constant = constant;
    s->count = 0;
    s->failed = false;
}

void ir_sum_add_constant(ir_sum *s, int64_t value);
void ir_sum_add_term(ir_env *env, ir_sum *s, ir_term t);
void ir_sum_add(ir_env *env, ir_sum *s, const ir_linear *l, int64_t factor);
// The finished form, or NULL.
const ir_linear *ir_sum_finish(ir_env *env, const ir_sum *s);

ir_range ir_term_range(ir_env *env, const ir_term *t); // of the split, without the coefficient
int64_t ir_term_divisor(ir_env *env, const ir_term *t);
bool ir_term_same_split(const ir_term *a, const ir_term *b);

// A total order of what ir_same_value tells apart by structure: factors of products stand in it.
int ir_expr_order(const ir_expr *a, const ir_expr *b);

// floor(l / d) and l mod d for d >= 1. [type] is what an atom made of several terms gets. NULL on overflow.
const ir_linear *ir_linear_divide(ir_env *env, const ir_linear *l, int64_t d, const ir_type *type);
const ir_linear *ir_linear_modulo(ir_env *env, const ir_linear *l, int64_t d, const ir_type *type);
