// Proofs of conditions: linear forms, ranges, and facts of the environment.
#include "ir/linear_priv.h"

#include <string.h>

#include "base/checked.h"

// ---- nonneg --------------------------------------------------------------------------------------------------------

// A goal l >= 0 is proved by its range. Otherwise a fact f >= 0 that shares a term is subtracted, with a factor that
// cancels the term, and the rest is the new goal. A few steps suffice for bounds of tiles.
enum { MOST_DEPTH = 3, MOST_TRIES = 400 };

static bool prove_nonneg(ir_env *env, const ir_linear *l, int depth, int *tries);

static const ir_linear *replace_term(ir_env *env, const ir_linear *l, int at, ir_expr *by)
{
    ir_linear *rest = arena_alloc(env->arena, sizeof *rest + (size_t)l->count * sizeof l->terms[0]);
    rest->constant = l->constant;
    for (int i = 0; i < l->count; i++)
        if (i != at)
            rest->terms[rest->count++] = l->terms[i];
    return ir_linear_combine(env, rest, 1, ir_linear_of(env, by), l->terms[at].coef);
}

// min(a, b) is at most a and at most b; max(a, b) at least.
static bool prove_by_extremum(ir_env *env, const ir_linear *l, int depth, int *tries)
{
    for (int i = 0; i < l->count; i++) {
        const ir_term *t = &l->terms[i];
        bool helps = t->lower == 1 && !t->extent && t->atom->op == (t->coef < 0 ? IR_OP_MIN : IR_OP_MAX);
        for (int arg = 0; helps && arg < 2; arg++) {
            const ir_linear *goal = replace_term(env, l, i, t->atom->args[arg]);
            if (goal && prove_nonneg(env, goal, depth, tries))
                return true;
        }
    }
    return false;
}

// fl·l - ff·f with the term cancelled, both factors positive; NULL if the signs differ.
static const ir_linear *cancel(ir_env *env, const ir_linear *l, const ir_term *t, const ir_linear *f, const ir_term *u)
{
    if ((t->coef < 0) != (u->coef < 0) || t->coef == INT64_MIN || u->coef == INT64_MIN)
        return NULL;
    int64_t a = t->coef < 0 ? -t->coef : t->coef, b = u->coef < 0 ? -u->coef : u->coef, g = gcd_of(a, b);
    return ir_linear_combine(env, l, b / g, f, -(a / g));
}

static bool prove_with_fact(ir_env *env, const ir_linear *l, const ir_linear *f, int depth, int *tries)
{
    for (int i = 0; i < l->count; i++) {
        for (int j = 0; j < f->count; j++) {
            if (!ir_term_same_split(&l->terms[i], &f->terms[j]))
                continue;
            const ir_linear *goal = cancel(env, l, &l->terms[i], f, &f->terms[j]);
            if (goal && prove_nonneg(env, goal, depth - 1, tries))
                return true;
        }
    }
    return false;
}

static bool prove_nonneg(ir_env *env, const ir_linear *l, int depth, int *tries)
{
    if (ir_linear_range(env, l).min >= 0)
        return true;
    if (--*tries < 0 || prove_by_extremum(env, l, depth, tries))
        return *tries >= 0;
    if (depth == 0)
        return false;
    for (size_t i = env->facts.len; i-- > 0 && *tries > 0;) {
        const ir_linear *f = env->facts.at[i].nonneg;
        if (f && prove_with_fact(env, l, f, depth, tries))
            return true;
    }
    return false;
}

bool ir_prove_nonneg(ir_env *env, const ir_linear *l)
{
    int tries = MOST_TRIES;
    return prove_nonneg(env, l, MOST_DEPTH, &tries);
}

// ---- equality ------------------------------------------------------------------------------------------------------

enum { MOST_BREAKS = 2 * IR_LINEAR_MAX_TERMS };

typedef struct breaks {
    int count;
    int64_t at[MOST_BREAKS];
    bool open; // some term has no mod
} breaks;

static bool add_break(breaks *b, int64_t at)
{
    int i = 0;
    while (i < b->count && b->at[i] < at)
        i++;
    if (i < b->count && b->at[i] == at)
        return true;
    if (b->count == MOST_BREAKS)
        return false;
    memmove(&b->at[i + 1], &b->at[i], (size_t)(b->count - i) * sizeof at);
    b->at[i] = at;
    b->count++;
    return true;
}

static bool collect_breaks(const ir_linear *l, const ir_expr *atom, breaks *b)
{
    int64_t end;
    for (int i = 0; i < l->count; i++) {
        const ir_term *t = &l->terms[i];
        if (!ir_same_value(t->atom, atom))
            continue;
        if (!add_break(b, t->lower))
            return false;
        b->open |= !t->extent;
        if (t->extent && (!mul_checked(t->lower, t->extent, &end) || !add_break(b, end)))
            return false;
    }
    for (int i = 1; i < b->count; i++)
        if (b->at[i] % b->at[i - 1])
            return false;
    return true;
}

// The digits of an atom between the breaks of all its terms: the terms vanish together iff each digit's coefficient
// does.
static bool digits_vanish(const ir_linear *l, const ir_expr *atom, const breaks *b)
{
    for (int d = 0; d < b->count; d++) {
        int64_t sum = 0;
        for (int i = 0; i < l->count; i++) {
            const ir_term *t = &l->terms[i];
            bool covers =
                ir_same_value(t->atom, atom) && t->lower <= b->at[d] && (!t->extent || b->at[d] < t->lower * t->extent);
            int64_t part;
            if (covers && (!mul_checked(t->coef, b->at[d] / t->lower, &part) || !add_checked(sum, part, &sum)))
                return false;
        }
        if (sum)
            return false;
    }
    return true;
}

static bool is_zero(const ir_linear *l)
{
    if (l->constant)
        return false;
    for (int i = 0; i < l->count; i++) {
        breaks b = {0};
        if (!collect_breaks(l, l->terms[i].atom, &b) || !digits_vanish(l, l->terms[i].atom, &b))
            return false;
    }
    return true;
}

static bool nonneg(ir_env *env, const ir_linear *l)
{
    return l && ir_prove_nonneg(env, l);
}

static bool equal(ir_env *env, ir_expr *a, ir_expr *b)
{
    const ir_linear *d = ir_linear_difference(env, a, b, 0);
    if (!d)
        return false;
    if (is_zero(d))
        return true;
    ir_range r = ir_linear_range(env, d);
    if (r.min > 0 || r.max < 0)
        return false;
    return nonneg(env, d) && nonneg(env, ir_linear_difference(env, b, a, 0));
}

static bool unequal(ir_env *env, ir_expr *a, ir_expr *b)
{
    const ir_linear *d = ir_linear_difference(env, a, b, 0);
    if (!d)
        return false;
    // a - b = c + multiples of u, and u does not divide c
    ir_linear *varying = arena_dup(env->arena, d, sizeof *d + (size_t)d->count * sizeof d->terms[0]);
    varying->constant = 0;
    int64_t unit = ir_linear_divisor(env, varying);
    if (unit > 1 && d->constant % unit)
        return true;
    return nonneg(env, ir_linear_difference(env, a, b, -1)) || nonneg(env, ir_linear_difference(env, b, a, -1));
}

// ---- conditions ----------------------------------------------------------------------------------------------------

static bool compare(ir_env *env, ir_op op, ir_expr *a, ir_expr *b)
{
    switch (op) {
    case IR_OP_LT:
        return nonneg(env, ir_linear_difference(env, b, a, -1));
    case IR_OP_LE:
        return nonneg(env, ir_linear_difference(env, b, a, 0));
    case IR_OP_GT:
        return nonneg(env, ir_linear_difference(env, a, b, -1));
    case IR_OP_GE:
        return nonneg(env, ir_linear_difference(env, a, b, 0));
    case IR_OP_EQ:
        return equal(env, a, b);
    case IR_OP_NE:
        return unequal(env, a, b);
    default:
        return false;
    }
}

static ir_op negated(ir_op op)
{
    switch (op) {
    case IR_OP_LT:
        return IR_OP_GE;
    case IR_OP_LE:
        return IR_OP_GT;
    case IR_OP_GT:
        return IR_OP_LE;
    case IR_OP_GE:
        return IR_OP_LT;
    case IR_OP_EQ:
        return IR_OP_NE;
    default:
        return IR_OP_EQ;
    }
}

static bool prove(ir_env *env, ir_expr *cond, bool holds)
{
    int64_t value;
    if (ir_const_int(cond, &value))
        return (value != 0) == holds;
    if (cond->op == IR_OP_NOT)
        return prove(env, cond->args[0], !holds);
    if (cond->op == IR_OP_LAND || cond->op == IR_OP_LOR) {
        bool both = (cond->op == IR_OP_LAND) == holds;
        bool first = prove(env, cond->args[0], holds);
        return both ? first && prove(env, cond->args[1], holds) : first || prove(env, cond->args[1], holds);
    }
    bool integers = (ir_op_properties(cond->op) & IR_COMPARE) && ir_is_integer(cond->args[0]->type) &&
                    ir_is_integer(cond->args[1]->type);
    if (integers && compare(env, holds ? cond->op : negated(cond->op), cond->args[0], cond->args[1]))
        return true;
    return ir_env_knows(env, cond, holds);
}

static bool prove_expanding(ir_env *env, ir_expr *cond, bool holds)
{
    bool no_expand = env->no_expand;
    env->no_expand = false;
    bool proved = prove(env, cond, holds);
    env->no_expand = no_expand;
    return proved;
}

bool ir_prove(ir_env *env, ir_expr *cond)
{
    return prove_expanding(env, cond, true);
}

bool ir_disprove(ir_env *env, ir_expr *cond)
{
    return prove_expanding(env, cond, false);
}

bool ir_prove_equal(ir_env *env, ir_expr *a, ir_expr *b)
{
    bool no_expand = env->no_expand;
    env->no_expand = false;
    bool proved = equal(env, a, b);
    env->no_expand = no_expand;
    return proved;
}

// Quotients split sums, not always in the same way on both sides: (9·y + x) mod 6 and its parts (… / 3) mod 2 and
// … mod 3 have forms that do not join again. With the sum as one atom they do.
bool ir_prove_equal_in(ir_env *env, ir_expr *a, ir_expr *b, ir_expr *unit)
{
    if (ir_prove_equal(env, a, b))
        return true;
    uint32_t state = env->state;
    env->state = ++env->next_state;
    env->opaque = unit;
    bool proved = ir_prove_equal(env, a, b);
    env->opaque = NULL;
    env->state = state;
    return proved;
}

bool ir_prove_less(ir_env *env, ir_expr *a, ir_expr *b)
{
    bool no_expand = env->no_expand;
    env->no_expand = false;
    bool proved = compare(env, IR_OP_LT, a, b);
    env->no_expand = no_expand;
    return proved;
}
