// Sums of splits: adding, joining, quotients and remainders.
#include "ir/linear_priv.h"

#include <string.h>

#include "base/checked.h"

// ---- terms ---------------------------------------------------------------------------------------------------------

ir_range ir_term_range(ir_env *env, const ir_term *t)
{
    ir_range r = ir_range_floordiv(ir_range_of(env, t->atom), t->lower);
    if (t->extent && (r.min < 0 || r.max >= t->extent)) {
        bool one_turn =
            r.min != INT64_MIN && r.max != INT64_MAX && floor_div(r.min, t->extent) == floor_div(r.max, t->extent);
        return one_turn ? (ir_range){floor_mod(r.min, t->extent), floor_mod(r.max, t->extent)}
                        : (ir_range){0, t->extent - 1};
    }
    return r;
}

int64_t ir_term_divisor(ir_env *env, const ir_term *t)
{
    int64_t d = ir_divisor_of(env, t->atom);
    if (d % t->lower)
        return 1;
    return t->extent ? gcd_of(d / t->lower, t->extent) : d / t->lower;
}

static bool same_atom(const ir_term *a, const ir_term *b)
{
    return a->atom == b->atom || ir_same_value(a->atom, b->atom);
}

bool ir_term_same_split(const ir_term *a, const ir_term *b)
{
    return a->lower == b->lower && a->extent == b->extent && same_atom(a, b);
}

// The product coef·divisor, by which the term is divisible.
static bool term_divisible(ir_env *env, const ir_term *t, int64_t d)
{
    int64_t product;
    if (t->coef % d == 0)
        return true;
    return mul_checked(t->coef % d, ir_term_divisor(env, t) % d, &product) && product % d == 0;
}

// ---- sums ----------------------------------------------------------------------------------------------------------

void ir_sum_add_constant(ir_sum *s, int64_t value)
{
    if (!add_checked(s->constant, value, &s->constant))
        s->failed = true;
}

static ir_term take_term(ir_sum *s, int at)
{
    ir_term t = s->terms[at];
    memmove(&s->terms[at], &s->terms[at + 1], (size_t)(s->count - at - 1) * sizeof t);
    s->count--;
    return t;
}

// high·(l·e) + low·l with high.coef = low.coef·e: the mod of the one ends where the other begins.
static bool continues(const ir_term *low, const ir_term *high)
{
    int64_t reach, coef;
    return low->extent && mul_checked(low->lower, low->extent, &reach) && reach == high->lower &&
           mul_checked(low->coef, low->extent, &coef) && coef == high->coef && same_atom(low, high);
}

static bool join(const ir_term *low, const ir_term *high, ir_term *out)
{
    *out = *low;
    out->extent = 0;
    return !high->extent || mul_checked(low->extent, high->extent, &out->extent);
}

static const ir_expr *plain_atom(const ir_term *t)
{
    return t->lower == 1 && !t->extent ? t->atom : NULL;
}

static bool is_quotient(const ir_expr *e)
{
    return e->op == IR_OP_FLOORDIV || e->op == IR_OP_TRUNCDIV;
}
static bool is_remainder(const ir_expr *e)
{
    return e->op == IR_OP_FLOORMOD || e->op == IR_OP_TRUNCMOD;
}

// (x div n)·n + x mod n = x, for an n that is not constant.
static ir_expr *whole_of(const ir_term *product, const ir_term *rest)
{
    const ir_expr *p = plain_atom(product), *m = plain_atom(rest);
    if (!p || !m || product->coef != rest->coef || p->op != IR_OP_MUL || !is_remainder(m))
        return NULL;
    for (int i = 0; i < 2; i++) {
        const ir_expr *q = p->args[i], *n = p->args[1 - i];
        bool fits = is_quotient(q) && (q->op == IR_OP_FLOORDIV) == (m->op == IR_OP_FLOORMOD) &&
                    ir_same_value(q->args[1], n) && ir_same_value(m->args[1], n) &&
                    ir_same_value(q->args[0], m->args[0]);
        if (fits)
            return m->args[0];
    }
    return NULL;
}

static bool join_with(ir_env *env, ir_sum *s, int at, const ir_term *t)
{
    const ir_term *other = &s->terms[at];
    ir_term joined;
    if (continues(t, other) ? join(t, other, &joined) : continues(other, t) && join(other, t, &joined)) {
        take_term(s, at);
        ir_sum_add_term(env, s, joined);
        return true;
    }
    ir_expr *whole = whole_of(t, other);
    if (!whole)
        whole = whole_of(other, t);
    if (!whole)
        return false;
    take_term(s, at);
    ir_sum_add(env, s, ir_linear_of(env, whole), t->coef);
    return true;
}

// Whether the linear form of [e] is more than [e] itself: as a plain term it would be taken apart again.
static bool has_own_form(const ir_expr *e)
{
    return ir_op_properties(e->op) & IR_INDEX;
}

static bool is_itself(const ir_linear *l, const ir_expr *atom)
{
    const ir_term *t = &l->terms[0];
    return l->count == 1 && !l->constant && t->coef == 1 && t->lower == 1 && !t->extent && ir_same_value(t->atom, atom);
}

static void insert_term(ir_env *env, ir_sum *s, ir_term t)
{
    for (int i = 0; i < s->count; i++) {
        if (!ir_term_same_split(&s->terms[i], &t))
            continue;
        ir_term old = take_term(s, i);
        if (!add_checked(old.coef, t.coef, &t.coef))
            s->failed = true;
        else if (t.coef)
            ir_sum_add_term(env, s, t);
        return;
    }
    for (int i = 0; i < s->count; i++)
        if (join_with(env, s, i, &t))
            return;
    if (s->count == IR_LINEAR_MAX_TERMS)
        s->failed = true;
    else
        s->terms[s->count++] = t;
}

void ir_sum_add_term(ir_env *env, ir_sum *s, ir_term t)
{
    int64_t value;
    if (s->failed || t.coef == 0 || t.extent == 1)
        return;
    ir_range whole = ir_range_floordiv(ir_range_of(env, t.atom), t.lower);
    if (t.extent && whole.min >= 0 && whole.max < t.extent)
        t.extent = 0;
    ir_range r = ir_term_range(env, &t);
    if (r.min == r.max && r.min != INT64_MIN && r.max != INT64_MAX) {
        if (mul_checked(t.coef, r.min, &value))
            ir_sum_add_constant(s, value);
        else
            s->failed = true;
        return;
    }
    if (t.lower > 1 && !t.extent && t.coef % t.lower == 0 && ir_divisor_of(env, t.atom) % t.lower == 0) {
        t.coef /= t.lower;
        t.lower = 1;
    }
    if (t.lower == 1 && !t.extent && t.atom != env->opaque && has_own_form(t.atom)) {
        const ir_linear *l = ir_linear_of(env, t.atom);
        if (!is_itself(l, t.atom)) {
            ir_sum_add(env, s, l, t.coef);
            return;
        }
    }
    insert_term(env, s, t);
}

void ir_sum_add(ir_env *env, ir_sum *s, const ir_linear *l, int64_t factor)
{
    int64_t value;
    if (!l || !mul_checked(l->constant, factor, &value)) {
        s->failed = true;
        return;
    }
    ir_sum_add_constant(s, value);
    if (!s->count && (factor == 1 || factor == -1)) {
        // A form is rebuilt from its own terms.
        for (; s->count < l->count; s->count++) {
            ir_term *t = &s->terms[s->count];
            *t = l->terms[s->count];
            t->coef *= factor; // never INT64_MIN: see ir_sum_finish
        }
        return;
    }
    for (int i = 0; i < l->count && !s->failed; i++) {
        ir_term t = l->terms[i];
        if (mul_checked(t.coef, factor, &t.coef))
            ir_sum_add_term(env, s, t);
        else
            s->failed = true;
    }
}

const ir_linear *ir_sum_finish(ir_env *env, const ir_sum *s)
{
    if (s->failed)
        return NULL;
    // INT64_MIN has no negation and is not supported.
    for (int i = 0; i < s->count; i++)
        if (s->terms[i].coef == INT64_MIN)
            return NULL;
    // Not cleared first, and copied without a call: forms are many, and of few terms.
    ir_linear *l = arena_raw(env->arena, sizeof *l + (size_t)s->count * sizeof l->terms[0]);
    l->constant = s->constant;
    l->count = s->count;
    for (int i = 0; i < s->count; i++)
        l->terms[i] = s->terms[i];
    return l;
}

// ---- quotients and remainders --------------------------------------------------------------------------------------

static ir_range sum_range(ir_env *env, const ir_sum *s)
{
    ir_range r = ir_range_constant(s->constant);
    for (int i = 0; i < s->count; i++)
        r = ir_range_add(r, ir_range_scale(ir_term_range(env, &s->terms[i]), s->terms[i].coef));
    return r;
}

// floor(s / d) if it is the same for the whole range.
static bool constant_quotient(ir_env *env, const ir_sum *s, int64_t d, int64_t *quotient)
{
    ir_range r = sum_range(env, s);
    if (r.min == INT64_MIN || r.max == INT64_MAX)
        return false;
    *quotient = floor_div(r.min, d);
    return *quotient == floor_div(r.max, d);
}

// The exact quotient of a divisible term.
static void add_exact_quotient(ir_env *env, ir_sum *s, ir_term t, int64_t d)
{
    int64_t common = gcd_of(t.coef, d), rest = d / common;
    t.coef /= common;
    if (rest > 1) {
        // rest divides the split, so dividing it again loses nothing
        if (!mul_checked(t.lower, rest, &t.lower) || (t.extent && t.extent % rest)) {
            s->failed = true;
            return;
        }
        if (t.extent)
            t.extent /= rest;
    }
    ir_sum_add_term(env, s, t);
}

// l = d·[whole] + [rest]: separates multiples of d from the rest. The rest keeps the signs of the terms (x - 3 must not
// become x + 5, which may overflow) unless [floors].
static void separate(ir_env *env, const ir_linear *l, int64_t d, bool floors, ir_sum *whole, ir_sum *rest)
{
    ir_sum_add_constant(whole, floors ? floor_div(l->constant, d) : l->constant / d);
    ir_sum_add_constant(rest, floors ? floor_mod(l->constant, d) : l->constant % d);
    for (int i = 0; i < l->count; i++) {
        ir_term t = l->terms[i];
        if (term_divisible(env, &t, d)) {
            add_exact_quotient(env, whole, t, d);
            continue;
        }
        ir_term high = t;
        high.coef = t.coef / d;
        t.coef %= d;
        ir_sum_add_term(env, whole, high);
        ir_sum_add_term(env, rest, t);
    }
}

static int64_t multiply_or_one(int64_t a, int64_t b)
{
    int64_t product;
    return mul_checked(a, b, &product) ? product : 1;
}

// [rest] = g·[high] + [low] with 0 <= low < g < d and g | d; false if there is no such g.
static bool peel(ir_env *env, const ir_sum *rest, int64_t d, int64_t *g, ir_sum *high, ir_sum *low)
{
    int64_t last = d;
    for (;;) {
        int64_t best = 1;
        for (int i = 0; i < rest->count; i++) {
            int64_t unit = multiply_or_one(rest->terms[i].coef, ir_term_divisor(env, &rest->terms[i]));
            int64_t common = gcd_of(unit, d);
            if (common < last && common > best)
                best = common;
        }
        if (best == 1)
            return false;
        last = *g = best;
        ir_sum_start(high, 0);
        ir_sum_start(low, 0);
        const ir_linear *all = ir_sum_finish(env, rest);
        if (!all)
            return false;
        separate(env, all, best, true, high, low);
        ir_range r = sum_range(env, low);
        if (!high->failed && !low->failed && r.min >= 0 && r.max < best)
            return true;
    }
}

static ir_expr *build_sum(ir_env *env, const ir_sum *s, const ir_type *type)
{
    return ir_linear_build(env, ir_sum_finish(env, s), type, (src_span){0});
}

static bool is_single(const ir_sum *s)
{
    return s->count == 1 && s->terms[0].coef == 1 && s->constant == 0;
}

static ir_expr *term_expr(ir_env *env, ir_term t, const ir_type *type)
{
    ir_sum s;
    ir_sum_start(&s, 0);
    s.terms[s.count++] = t;
    s.terms[0].coef = 1;
    return build_sum(env, &s, type);
}

// floor(s / d) if nothing more can be taken out of s.
static ir_term quotient_term(ir_env *env, const ir_sum *s, int64_t d, const ir_type *type)
{
    if (is_single(s)) {
        ir_term t = s->terms[0];
        if ((!t.extent || t.extent % d == 0) && mul_checked(t.lower, d, &t.lower)) {
            t.extent /= d;
            return t;
        }
        return (ir_term){1, term_expr(env, s->terms[0], type), d, 0};
    }
    return (ir_term){1, build_sum(env, s, type), d, 0};
}

static ir_term remainder_term(ir_env *env, const ir_sum *s, int64_t d, const ir_type *type)
{
    if (is_single(s)) {
        ir_term t = s->terms[0];
        if (!t.extent || t.extent % d == 0) {
            t.extent = d;
            return t;
        }
        return (ir_term){1, term_expr(env, t, type), 1, d};
    }
    return (ir_term){1, build_sum(env, s, type), 1, d};
}

static void divide(ir_env *env, const ir_linear *l, int64_t d, const ir_type *type, ir_sum *out)
{
    ir_sum rest, high, low;
    int64_t quotient, g;
    ir_sum_start(&rest, 0);
    if (!l) {
        out->failed = true;
        return;
    }
    separate(env, l, d, false, out, &rest);
    if (out->failed || rest.failed) {
        out->failed = true;
    } else if (constant_quotient(env, &rest, d, &quotient)) {
        ir_sum_add_constant(out, quotient);
    } else if (peel(env, &rest, d, &g, &high, &low)) {
        const ir_linear *part = ir_sum_finish(env, &high);
        divide(env, part, d / g, type, out);
    } else {
        ir_sum_add_term(env, out, quotient_term(env, &rest, d, type));
    }
}

const ir_linear *ir_linear_divide(ir_env *env, const ir_linear *l, int64_t d, const ir_type *type)
{
    if (d == 1)
        return l;
    ir_sum out;
    ir_sum_start(&out, 0);
    divide(env, l, d, type, &out);
    return ir_sum_finish(env, &out);
}

// [out] += factor·(l mod d)
static void modulo(ir_env *env, const ir_linear *l, int64_t d, const ir_type *type, int64_t factor, ir_sum *out)
{
    ir_sum whole, rest, high, low;
    int64_t quotient, g;
    ir_sum_start(&whole, 0);
    ir_sum_start(&rest, 0);
    if (l)
        separate(env, l, d, false, &whole, &rest);
    if (!l || rest.failed) {
        out->failed = true;
    } else if (constant_quotient(env, &rest, d, &quotient)) {
        ir_sum_add(env, out, ir_sum_finish(env, &rest), factor);
        int64_t wraps;
        if (mul_checked(-quotient, d, &wraps) && mul_checked(wraps, factor, &wraps))
            ir_sum_add_constant(out, wraps);
        else
            out->failed = true;
    } else if (peel(env, &rest, d, &g, &high, &low)) {
        ir_sum_add(env, out, ir_sum_finish(env, &low), factor);
        modulo(env, ir_sum_finish(env, &high), d / g, type, factor * g, out);
    } else {
        ir_term t = remainder_term(env, &rest, d, type);
        t.coef = factor;
        ir_sum_add_term(env, out, t);
    }
}

const ir_linear *ir_linear_modulo(ir_env *env, const ir_linear *l, int64_t d, const ir_type *type)
{
    ir_sum out;
    ir_sum_start(&out, 0);
    if (d > 1)
        modulo(env, l, d, type, 1, &out);
    return ir_sum_finish(env, &out);
}
