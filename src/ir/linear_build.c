// From linear forms back to expressions, and the choice of the cheaper one.
#include "ir/linear_priv.h"

#include <string.h>

#include "base/checked.h"

// ---- splits --------------------------------------------------------------------------------------------------------

typedef struct building {
    ir_env *env;
    const ir_type *type;
    src_span span;
} building;

static ir_expr *cast_to(building *b, ir_expr *e, const ir_type *type)
{
    int64_t value;
    if (ir_const_int(e, &value) && dt_holds_int(type->scalar, value))
        return ir_int(b->env->module, type->scalar, value);
    return ir_cast(b->env->module, e, type, e->span);
}

static ir_expr *with_constant(building *b, ir_op op, ir_expr *e, int64_t value)
{
    return ir_binary(b->env->module, op, e, ir_int(b->env->module, e->type->scalar, value), b->span);
}

// floor(e / d): C's division where e is not negative, a shift for powers of two.
static ir_expr *floor_quotient(building *b, ir_expr *e, int64_t d)
{
    if (ir_range_of(b->env, e).min >= 0)
        return with_constant(b, IR_OP_TRUNCDIV, e, d);
    if (is_power_of_two(d))
        return with_constant(b, IR_OP_SHR, e, __builtin_ctzll((uint64_t)d));
    return with_constant(b, IR_OP_FLOORDIV, e, d);
}

static ir_expr *floor_rest(building *b, ir_expr *e, int64_t d)
{
    if (ir_range_of(b->env, e).min >= 0)
        return with_constant(b, IR_OP_TRUNCMOD, e, d);
    if (is_power_of_two(d))
        return with_constant(b, IR_OP_AND, e, d - 1);
    return with_constant(b, IR_OP_FLOORMOD, e, d);
}

static ir_expr *split(building *b, const ir_term *t)
{
    ir_expr *e = t->atom;
    // Constants must fit: the rare split beyond the atom's type is done in 64 bits.
    if (!dt_holds_int(e->type->scalar, t->lower) || !dt_holds_int(e->type->scalar, t->extent))
        e = cast_to(b, e, ir_scalar(b->env->module, DT_I64));
    if (t->lower > 1)
        e = floor_quotient(b, e, t->lower);
    if (t->extent)
        e = floor_rest(b, e, t->extent);
    return e;
}

// ---- sums ----------------------------------------------------------------------------------------------------------

typedef struct part {
    int64_t coef;
    ir_expr *e;
    bool used;
} part;

typedef struct parts {
    int count;
    part at[IR_LINEAR_MAX_TERMS];
} parts;

static ir_expr *scaled(building *b, ir_expr *e, int64_t factor)
{
    e = cast_to(b, e, b->type);
    return factor == 1 ? e : with_constant(b, IR_OP_MUL, e, factor);
}

static ir_expr *plus(building *b, ir_expr *sum, ir_expr *e, int64_t coef)
{
    int64_t size = coef < 0 ? -coef : coef;
    e = scaled(b, e, size);
    if (!sum)
        return coef < 0 ? ir_unary(b->env->module, IR_OP_NEG, e, b->span) : e;
    return ir_binary(b->env->module, coef < 0 ? IR_OP_SUB : IR_OP_ADD, sum, e, b->span);
}

static ir_expr *plus_constant(building *b, ir_expr *sum, int64_t value)
{
    if (!sum)
        return ir_int(b->env->module, b->type->scalar, value);
    if (value == 0)
        return sum;
    bool subtract = value < 0 && value != INT64_MIN && dt_holds_int(b->type->scalar, -value);
    return with_constant(b, subtract ? IR_OP_SUB : IR_OP_ADD, sum, subtract ? -value : value);
}

// The first positive part goes first, so that no negation is needed.
static void lead_with_positive(parts *p)
{
    int at = 0;
    while (at < p->count && p->at[at].coef < 0)
        at++;
    if (at == 0 || at == p->count)
        return;
    part lead = p->at[at];
    memmove(&p->at[1], &p->at[0], (size_t)at * sizeof lead);
    p->at[0] = lead;
}

static ir_expr *add_parts(building *b, parts *p, int64_t constant)
{
    lead_with_positive(p);
    ir_expr *sum = NULL;
    bool constant_first = p->count && p->at[0].coef < 0 && constant > 0;
    if (constant_first)
        sum = ir_int(b->env->module, b->type->scalar, constant);
    for (int i = 0; i < p->count; i++)
        sum = plus(b, sum, p->at[i].e, p->at[i].coef);
    return constant_first ? sum : plus_constant(b, sum, constant);
}

// Parts with one coefficient share the multiplication: a·c + b·c = (a + b)·c.
static void share_coefficients(building *b, parts *p)
{
    parts out;
    out.count = 0;
    for (int i = 0; i < p->count; i++) {
        if (p->at[i].used)
            continue;
        int64_t c = p->at[i].coef;
        parts same;
        same.count = 0;
        for (int j = i; j < p->count && c != 1 && c != -1 && c != INT64_MIN; j++) {
            if (p->at[j].used || (p->at[j].coef != c && p->at[j].coef != -c))
                continue;
            p->at[j].used = true;
            same.at[same.count++] = (part){p->at[j].coef == c ? 1 : -1, p->at[j].e, false};
        }
        if (same.count > 1)
            out.at[out.count++] = (part){c, add_parts(b, &same, 0), false};
        else
            out.at[out.count++] = (part){c, p->at[i].e, false};
    }
    *p = out;
}

static ir_expr *cofactor(ir_expr *e, const ir_expr *factor)
{
    if (e->op != IR_OP_MUL)
        return NULL;
    return ir_same_value(e->args[0], factor) ? e->args[1] : ir_same_value(e->args[1], factor) ? e->args[0] : NULL;
}

static int count_cofactors(const parts *p, const ir_expr *factor)
{
    int count = 0;
    for (int i = 0; i < p->count; i++)
        count += ir_same_value(p->at[i].e, factor) || cofactor(p->at[i].e, factor);
    return count;
}

// i·n + 4·(j·n) + n = (i + 4·j + 1)·n
static bool share_factor(building *b, parts *p, ir_expr *factor)
{
    parts out, inner;
    out.count = inner.count = 0;
    int64_t constant = 0;
    if (count_cofactors(p, factor) < 2)
        return false;
    int index = -1;
    for (int i = 0; i < p->count; i++) {
        ir_expr *other = cofactor(p->at[i].e, factor);
        bool itself = ir_same_value(p->at[i].e, factor);
        if (!other && !itself) {
            out.at[out.count++] = p->at[i];
            continue;
        }
        if (index < 0)
            index = out.count++;
        if (other)
            inner.at[inner.count++] = (part){p->at[i].coef, other, false};
        else if (!add_checked(constant, p->at[i].coef, &constant))
            return false;
    }
    share_coefficients(b, &inner);
    ir_expr *sum = add_parts(b, &inner, constant);
    out.at[index] = (part){1, ir_binary(b->env->module, IR_OP_MUL, sum, cast_to(b, factor, b->type), b->span), false};
    *p = out;
    return true;
}

static void share_factors(building *b, parts *p)
{
    for (int i = 0; i < p->count; i++) {
        ir_expr *e = p->at[i].e;
        if (e->op == IR_OP_MUL && (share_factor(b, p, e->args[1]) || share_factor(b, p, e->args[0])))
            i = -1;
    }
}

ir_expr *ir_linear_build(ir_env *env, const ir_linear *l, const ir_type *type, src_span span)
{
    building b = {env, type, span};
    parts p;
    p.count = l->count;
    for (int i = 0; i < l->count; i++)
        p.at[i] = (part){l->terms[i].coef, split(&b, &l->terms[i]), false};
    share_factors(&b, &p);
    share_coefficients(&b, &p);
    return add_parts(&b, &p, l->constant);
}

// ---- cost ----------------------------------------------------------------------------------------------------------

// Costs beyond this are not compared; shared operands make trees exponentially large.
enum { MOST_NODES = 4000 };

static int own_cost(const ir_expr *e)
{
    switch (e->op) {
    case IR_OP_FLOORDIV:
    case IR_OP_FLOORMOD:
    case IR_OP_TRUNCDIV:
    case IR_OP_TRUNCMOD:
        return 4;
    case IR_OP_CAST:
        return !(ir_is_integer(e->type) && ir_is_integer(e->args[0]->type));
    default:
        return e->arg_count > 0;
    }
}

static int cost(const ir_expr *e, int *budget)
{
    if (--*budget < 0)
        return MOST_NODES;
    int sum = own_cost(e);
    for (int i = 0; i < e->arg_count && *budget >= 0; i++)
        sum += cost(e->args[i], budget);
    return sum;
}

int ir_expr_cost(const ir_expr *e)
{
    int budget = MOST_NODES;
    return cost(e, &budget);
}

// The number of operations that may overflow, as far as known. A rewritten expression must not have more of them:
// another order of evaluation may overflow where the author's does not.
static int risks(ir_env *env, const ir_expr *e, int *budget)
{
    if (--*budget < 0 || !ir_is_integer(e->type))
        return 0;
    bool grows =
        e->op == IR_OP_ADD || e->op == IR_OP_SUB || e->op == IR_OP_MUL || e->op == IR_OP_NEG || e->op == IR_OP_SHL;
    int sum = grows && !ir_range_fits(ir_range_unwrapped(env, e), e->type);
    for (int i = 0; i < e->arg_count; i++)
        sum += risks(env, e->args[i], budget);
    return sum;
}

static int count_risks(ir_env *env, const ir_expr *e)
{
    int budget = MOST_NODES;
    return risks(env, e, &budget);
}

// A lower bound of the cost of the form's expression: the sums of its terms, and their quotients and remainders, which
// are never shared. It is computed without building anything.
static int least_cost(ir_env *env, const ir_linear *l)
{
    int sum = l->count && l->constant;
    for (int i = 0; i < l->count; i++) {
        const ir_term *t = &l->terms[i];
        int splits = (t->lower > 1) + (t->extent > 0);
        // Of what may be negative they can be shifts and masks.
        sum += (i > 0) + splits * (splits && ir_range_of(env, t->atom).min >= 0 ? 4 : 1);
    }
    return sum;
}

typedef struct choice {
    ir_expr *best;
    int cost;
} choice;

static void consider(ir_env *env, choice *c, const ir_linear *l, const ir_expr *e)
{
    if (least_cost(env, l) >= c->cost)
        return;
    ir_expr *candidate = ir_linear_build(env, l, e->type, e->span);
    int candidate_cost = ir_expr_cost(candidate);
    if (candidate_cost >= c->cost)
        return;
    if (!candidate->arg_count || count_risks(env, candidate) <= count_risks(env, c->best))
        *c = (choice){candidate, candidate_cost};
}

ir_expr *ir_simplify_index(ir_env *env, ir_expr *e)
{
    int64_t known;
    if (!ir_is_integer(e->type) || ir_const_int(e, &known) || ir_has_effects(e))
        return e;
    ir_range r = ir_range_of(env, e);
    if (r.min == r.max && r.min != INT64_MIN && r.max != INT64_MAX)
        return ir_int(env->module, e->type->scalar, r.min);
    if (!e->arg_count)
        return e;
    choice c = {e, ir_expr_cost(e)};
    if (c.cost == 0)
        return e;
    bool no_expand = env->no_expand;
    env->no_expand = true;
    const ir_linear *as_written = ir_linear_of(env, e);
    env->no_expand = false;
    const ir_linear *expanded = ir_linear_of(env, e);
    env->no_expand = no_expand;
    consider(env, &c, as_written, e);
    if (expanded != as_written)
        consider(env, &c, expanded, e);
    return c.best;
}
