// Facts about integers at a program point: ranges, divisors, conditions that hold.
//
// An environment follows a pass through the statements. It holds the ranges of special registers and size parameters,
// the values of single-assignment variables, the bounds of enclosing loops, and the conditions of dominating branches,
// ASSUMEs and ASSERTs. All results are conservative.
//
// Arithmetic. Ranges and proofs speak of the mathematical value of an expression. Signed arithmetic of 32 bits and more
// does not overflow (undefined behaviour, as in C); narrower and unsigned arithmetic wraps, so that a result that may
// leave its type has the type's whole range.
//
// Mutable variables and memory are unknown: no fact about them survives the expression that reads them.
#pragma once

#include "ir/ir.h"

// Inclusive. INT64_MIN and INT64_MAX mean "no bound known" (values of u64 may lie above INT64_MAX).
typedef struct ir_range {
    int64_t min, max;
} ir_range;

typedef struct ir_linear ir_linear;

// A condition that holds, as [nonneg] >= 0.
typedef struct ir_fact {
    ir_expr *cond;           // NULL: no expression says it in this form
    bool holds;              // false: the negation of [cond] holds
    const ir_linear *nonneg; // NULL: not linear
    bool is_branch;          // the condition of a branch that is under way: it need not ever hold
} ir_fact;

// Facts about one expression.
typedef struct ir_refinement {
    const ir_expr *atom;
    ir_range range;
    int64_t divisor;
} ir_refinement;

typedef struct ir_var_info {
    const ir_var *of;
    ir_range range;
    int64_t divisor;
    ir_expr *value; // pure initialiser of a single-assignment variable, or NULL; says more than range and divisor
    int weight;     // operators in [value] once all definitions in it are written out
} ir_var_info;

// Cached results about an expression. The node stores the index of its note, and the note points back to its node, so
// that an index of another environment is detected.
typedef struct ir_note {
    const ir_expr *of;
    uint32_t state; // that all but [rewritten] and [range] holds in
    uint32_t rewritten_state;
    uint32_t range_state; // 0: there is no range
    bool has_divisor;
    bool is_under_way[2]; // the linear form is being made
    ir_range range;
    int64_t divisor;
    const ir_linear *linear[2]; // [no_expand]
    ir_expr *rewritten;         // by ir_env_rewrite
} ir_note;

enum { IR_NOTES = 256 };

typedef struct ir_env {
    ir_module *module;
    const ir_func *func;
    arena *arena;
    ir_range sregs[IR_SREG__COUNT];
    VEC(ir_var_info) vars;
    VEC(ir_note *) notes; // in chunks of IR_NOTES, which stay where they are
    uint32_t note_count;
    VEC(ir_fact) facts;
    VEC(ir_refinement) refinements;
    uint64_t refined; // ir_atom_bit of each of them: most expressions are none of them
    uint32_t state; // names the set of facts; results are memoised per state
    uint32_t range_state; // names the set of refinements, on which alone ranges depend
    uint32_t next_state;
    bool no_expand;  // linear forms keep single-assignment variables as atoms
    uint32_t unexpanded; // counts how often that made a difference
    ir_expr *opaque; // linear forms keep this expression as an atom, see ir_prove_equal_in; or NULL
} ir_env;

typedef struct ir_env_mark {
    size_t facts, refinements;
    uint64_t refined;
    uint32_t state, range_state;
} ir_env_mark;

// Everything the environment and its results need comes from [scratch]; expressions come from the module's arena.
// [f] may be NULL (expressions outside of functions).
ir_env *ir_env_new(ir_module *m, const ir_func *f, arena *scratch);

// A scope: leaving it discards everything assumed after the mark.
ir_env_mark ir_env_enter(const ir_env *env);
void ir_env_leave(ir_env *env, ir_env_mark mark);

// [v] = [value] was declared (mutable variables are ignored).
void ir_env_bind(ir_env *env, ir_var *v, ir_expr *value);
// The body of the FOR statement [loop] is entered.
void ir_env_loop(ir_env *env, const ir_stmt *loop);
// The variable has a value in [range], divisible by [divisor].
void ir_env_bound(ir_env *env, ir_var *v, ir_range range, int64_t divisor);
// [cond] holds, or does not, from here to the end of the scope.
void ir_env_assume(ir_env *env, ir_expr *cond, bool holds);
// Whether [cond] itself was assumed, in this form.
bool ir_env_knows(const ir_env *env, const ir_expr *cond, bool holds);
// The facts that hold after statement [s] because of it.
void ir_env_learn(ir_env *env, ir_stmt *s);
// The initialiser of a single-assignment variable, if it is pure; else NULL.
ir_expr *ir_env_value(const ir_env *env, const ir_var *v);
// The facts about the variable; NULL: only those of its declaration.
const ir_var_info *ir_env_info(const ir_env *env, const ir_var *v);
ir_note *ir_note_new(ir_env *env, const ir_expr *e);
// The note about [e] for the present state, empty at first.
static inline ir_note *ir_note_of(ir_env *env, const ir_expr *e)
{
    if (e->note >= env->note_count)
        return ir_note_new(env, e);
    ir_note *note = &env->notes.at[e->note / IR_NOTES][e->note % IR_NOTES];
    if (note->of != e)
        return ir_note_new(env, e);
    if (note->state != env->state) {
        note->state = env->state;
        note->has_divisor = false;
        note->linear[0] = note->linear[1] = NULL;
        note->is_under_way[0] = note->is_under_way[1] = false;
    }
    return note;
}

// Equal atoms have the same bit.
static inline uint64_t ir_atom_bit(const ir_expr *e)
{
    return UINT64_C(1) << (e->op == IR_OP_VAR ? e->u.var->id % 32 : 32 + (unsigned)e->op % 32);
}

ir_range ir_range_of(ir_env *env, const ir_expr *e);
// The same before the type's bounds are applied: whether it fits the type says whether the operation can overflow.
ir_range ir_range_unwrapped(ir_env *env, const ir_expr *e);
ir_range ir_range_of_type(const ir_type *t);
bool ir_range_fits(ir_range r, const ir_type *t);
// The largest d that is known to divide [e]; 0 for the constant 0 (everything divides it), else >= 1.
int64_t ir_divisor_of(ir_env *env, const ir_expr *e);

// Saturating arithmetic of bounds.
ir_range ir_range_constant(int64_t value);
ir_range ir_range_add(ir_range a, ir_range b);
ir_range ir_range_scale(ir_range a, int64_t factor);
ir_range ir_range_floordiv(ir_range a, int64_t divisor); // divisor > 0

// ---- passes that rewrite statements with an environment ------------------------------------------------------------

typedef struct ir_rewriter ir_rewriter;
// Appends the replacement of [s] to [out]: usually s itself, with ir_emit, after ir_rewrite_nested.
typedef void ir_stmt_rewrite(ir_rewriter *r, ir_stmt *s, ir_block *out);
struct ir_rewriter {
    ir_env *env;
    ir_stmt_rewrite *stmt;
    void *user;
};
void ir_rewrite_block(ir_rewriter *r, ir_block *b);
// The blocks inside [s], each under the facts that hold there.
void ir_rewrite_nested(ir_rewriter *r, ir_stmt *s);
void ir_emit(ir_rewriter *r, ir_block *out, ir_stmt *s);

// Rewrites an expression bottom-up like ir_rewrite_expr, but arms of SELECT and right operands of LAND and LOR are
// visited under the facts that their condition implies. Shared operands are visited once per state, across calls: an
// environment serves one visitor.
ir_expr *ir_env_rewrite(ir_env *env, ir_expr *e, ir_expr_visit *visit, void *user);
// All expressions that [s] itself holds. The fill value of ALLOC and the condition of WHILE are among them.
void ir_env_rewrite_stmt(ir_env *env, ir_stmt *s, ir_expr_visit *visit, void *user);

// Whether control never reaches the end of the block.
bool ir_block_ends(const ir_block *b);
