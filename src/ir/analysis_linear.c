// From expressions to linear forms.
#include "ir/linear_priv.h"

#include "base/checked.h"

// ---- atoms ---------------------------------------------------------------------------------------------------------

static const ir_linear *constant_form(ir_env *env, int64_t value)
{
    ir_sum s;
    ir_sum_start(&s, value);
    return ir_sum_finish(env, &s);
}

static const ir_linear *atom_form(ir_env *env, ir_expr *e)
{
    ir_range r = ir_range_of(env, e);
    if (r.min == r.max && r.min != INT64_MIN && r.max != INT64_MAX)
        return constant_form(env, r.min);
    ir_sum s;
    ir_sum_start(&s, 0);
    s.terms[s.count++] = (ir_term){1, e, 1, 0};
    return ir_sum_finish(env, &s);
}

// The form of an atom created here is the atom itself, even if it could be decomposed again: this bounds the recursion.
static const ir_linear *final_atom(ir_env *env, ir_expr *e)
{
    const ir_linear *l = atom_form(env, e);
    ir_note_of(env, e)->linear[env->no_expand] = l;
    return l;
}

// The value of the operation is its mathematical value.
static bool is_exact(ir_env *env, const ir_expr *e)
{
    bool promised = dt_is_signed(e->type->scalar) && dt_bits(e->type->scalar) >= 32 && e->op != IR_OP_SHL;
    return promised || ir_range_fits(ir_range_unwrapped(env, e), e->type);
}

// ---- products ------------------------------------------------------------------------------------------------------

enum { MOST_FACTORS = 8, MOST_PRODUCT_TERMS = 12 };

typedef struct factors {
    int count;
    ir_expr *at[MOST_FACTORS];
} factors;

static ir_expr *strip_widening(ir_env *env, ir_expr *e)
{
    while (e->op == IR_OP_CAST && ir_is_integer(e->args[0]->type) &&
           ir_range_fits(ir_range_of(env, e->args[0]), e->type))
        e = e->args[0];
    return e;
}

static bool collect_factors(ir_env *env, ir_expr *e, factors *f)
{
    e = strip_widening(env, e);
    if (e->op == IR_OP_MUL && is_exact(env, e))
        return collect_factors(env, e->args[0], f) && collect_factors(env, e->args[1], f);
    if (f->count == MOST_FACTORS)
        return false;
    int at = f->count++;
    for (; at > 0 && ir_expr_order(e, f->at[at - 1]) < 0; at--)
        f->at[at] = f->at[at - 1];
    f->at[at] = e;
    return true;
}

// a·b with its factors in order, so that equal products are equal trees. Its type is the wider one.
static ir_expr *product_atom(ir_env *env, ir_expr *a, ir_expr *b, const ir_type *type)
{
    factors f = {0};
    bool sorted = collect_factors(env, a, &f) && collect_factors(env, b, &f);
    if (!sorted) {
        f.count = 2;
        f.at[0] = a;
        f.at[1] = b;
    }
    ir_expr *p = ir_cast(env->module, f.at[0], type, f.at[0]->span);
    for (int i = 1; i < f.count; i++)
        p = ir_binary(env->module, IR_OP_MUL, p, ir_cast(env->module, f.at[i], type, f.at[i]->span), f.at[i]->span);
    return p;
}

static ir_expr *split_expr(ir_env *env, ir_term t, const ir_type *type)
{
    ir_sum s;
    ir_sum_start(&s, 0);
    s.terms[s.count++] = t;
    s.terms[0].coef = 1;
    return ir_linear_build(env, ir_sum_finish(env, &s), type, (src_span){0});
}

static void add_product(ir_env *env, ir_sum *s, const ir_term *a, const ir_term *b, const ir_type *type)
{
    ir_expr *x = strip_widening(env, split_expr(env, *a, type)), *y = strip_widening(env, split_expr(env, *b, type));
    ir_term t = {1, product_atom(env, x, y, type), 1, 0};
    final_atom(env, t.atom);
    if (!mul_checked(a->coef, b->coef, &t.coef) || s->count == IR_LINEAR_MAX_TERMS) {
        s->failed = true;
        return;
    }
    for (int i = 0; i < s->count; i++) {
        if (ir_term_same_split(&s->terms[i], &t)) {
            s->failed |= !add_checked(s->terms[i].coef, t.coef, &s->terms[i].coef);
            return;
        }
    }
    s->terms[s->count++] = t;
}

// Multiplies each term by each other term, as long as there are few.
static const ir_linear *multiply(ir_env *env, const ir_linear *a, const ir_linear *b, const ir_type *type)
{
    ir_sum s;
    ir_sum_start(&s, 0);
    if (!a->count || !b->count) {
        ir_sum_add(env, &s, a->count ? a : b, a->count ? b->constant : a->constant);
        return ir_sum_finish(env, &s);
    }
    if ((int64_t)a->count * b->count > MOST_PRODUCT_TERMS)
        return NULL;
    for (int i = 0; i < a->count; i++)
        for (int j = 0; j < b->count; j++)
            add_product(env, &s, &a->terms[i], &b->terms[j], type);
    const ir_linear *crossed = ir_sum_finish(env, &s);
    if (!crossed || !mul_checked(a->constant, b->constant, &s.constant))
        return NULL;
    ir_sum_start(&s, s.constant);
    for (int i = 0; i < crossed->count && !s.failed; i++)
        if (crossed->terms[i].coef)
            s.terms[s.count++] = crossed->terms[i];
    for (int i = 0; i < a->count + b->count; i++) {
        ir_term t = i < a->count ? a->terms[i] : b->terms[i - a->count];
        if (mul_checked(t.coef, i < a->count ? b->constant : a->constant, &t.coef))
            ir_sum_add_term(env, &s, t);
        else
            s.failed = true;
    }
    return ir_sum_finish(env, &s);
}

// ---- operators -----------------------------------------------------------------------------------------------------

static const ir_linear *canonical_atom(ir_env *env, ir_expr *e)
{
    ir_expr *now = e;
    for (int i = 0; i < e->arg_count; i++) {
        if (!ir_is_integer(e->args[i]->type) || !e->args[i]->arg_count)
            continue;
        ir_expr *arg = ir_linear_build(env, ir_linear_of(env, e->args[i]), e->args[i]->type, e->args[i]->span);
        if (ir_same_value(arg, e->args[i]))
            continue;
        if (now == e)
            now = ir_with_args(env->module, e, e->args);
        now->args[i] = arg;
    }
    return final_atom(env, now);
}

// A variable's initialiser has the same value; only in the expanding mode.
static const ir_linear *var_form(ir_env *env, ir_expr *e)
{
    ir_expr *value = ir_env_value(env, e->u.var);
    if (value && env->no_expand)
        env->unexpanded++;
    if (!value || env->no_expand)
        return atom_form(env, e);
    ir_range r = ir_range_of(env, e);
    return r.min == r.max ? constant_form(env, r.min) : ir_linear_of(env, value);
}

static bool positive_constant(ir_env *env, ir_expr *e, int64_t *d)
{
    ir_range r = ir_range_of(env, e);
    *d = r.min;
    return r.min == r.max && r.min > 0 && r.max != INT64_MAX;
}

// Truncating and flooring division agree: nothing is negative, or there is no remainder.
static bool truncates_down(ir_env *env, ir_expr *e, int64_t d)
{
    return ir_range_of(env, e->args[0]).min >= 0 || ir_divisor_of(env, e->args[0]) % d == 0;
}

// (q·n + r) div n where 0 <= r < n, for an n that is not constant.
static const ir_linear *divide_by_atom(ir_env *env, ir_expr *e, bool quotient)
{
    const ir_linear *n = ir_linear_of(env, e->args[1]), *l = ir_linear_of(env, e->args[0]);
    if (n->count != 1 || n->constant || n->terms[0].coef != 1 || n->terms[0].lower != 1 || n->terms[0].extent)
        return NULL;
    ir_expr *by = n->terms[0].atom;
    ir_sum whole, rest;
    ir_sum_start(&whole, 0);
    ir_sum_start(&rest, l->constant);
    for (int i = 0; i < l->count; i++) {
        const ir_term *t = &l->terms[i];
        bool plain = t->lower == 1 && !t->extent;
        if (plain && ir_same_value(t->atom, by)) {
            ir_sum_add_constant(&whole, t->coef);
            continue;
        }
        factors f = {0};
        int at = 0;
        if (plain && t->atom->op == IR_OP_MUL && collect_factors(env, t->atom, &f))
            while (at < f.count && !ir_same_value(f.at[at], by))
                at++;
        if (!f.count || at == f.count || f.count != 2)
            ir_sum_add_term(env, &rest, *t);
        else
            ir_sum_add(env, &whole, ir_linear_of(env, f.at[1 - at]), t->coef);
    }
    const ir_linear *w = ir_sum_finish(env, &whole), *r = ir_sum_finish(env, &rest);
    if (!w || !r || (!w->count && !w->constant) || !ir_prove_nonneg(env, r))
        return NULL;
    ir_linear one = {-1, 0};
    const ir_linear *below = ir_linear_combine(env, n, 1, r, -1);
    below = below ? ir_linear_combine(env, below, 1, &one, 1) : NULL;
    return below && ir_prove_nonneg(env, below) ? (quotient ? w : r) : NULL;
}

static const ir_linear *division_form(ir_env *env, ir_expr *e)
{
    int64_t d;
    bool quotient = e->op == IR_OP_FLOORDIV || e->op == IR_OP_TRUNCDIV;
    bool floors = e->op == IR_OP_FLOORDIV || e->op == IR_OP_FLOORMOD;
    if (positive_constant(env, e->args[1], &d)) {
        if (!floors && !truncates_down(env, e, d))
            return NULL;
        const ir_linear *a = ir_linear_of(env, e->args[0]);
        return quotient ? ir_linear_divide(env, a, d, e->type) : ir_linear_modulo(env, a, d, e->type);
    }
    if (ir_range_of(env, e->args[1]).min <= 0 || (!floors && ir_range_of(env, e->args[0]).min < 0))
        return NULL;
    return divide_by_atom(env, e, quotient);
}

static bool shift_amount(ir_env *env, const ir_expr *e, int *by)
{
    ir_range r = ir_range_of(env, e->args[1]);
    *by = (int)r.min;
    return r.min == r.max && r.min >= 0 && r.min < dt_bits(e->type->scalar) && r.min <= 61;
}

static const ir_linear *shift_form(ir_env *env, ir_expr *e)
{
    int by;
    if (!shift_amount(env, e, &by))
        return NULL;
    const ir_linear *a = ir_linear_of(env, e->args[0]);
    if (e->op == IR_OP_SHR)
        return ir_linear_divide(env, a, (int64_t)1 << by, e->type);
    ir_sum s;
    ir_sum_start(&s, 0);
    ir_sum_add(env, &s, a, (int64_t)1 << by);
    return ir_sum_finish(env, &s);
}

// [mask] = (2^bits - 1) << low
static bool is_mask(int64_t mask, int *low, int *bits)
{
    if (mask <= 0)
        return false;
    *low = __builtin_ctzll((uint64_t)mask);
    uint64_t ones = (uint64_t)mask >> *low;
    *bits = __builtin_ctzll(~ones);
    return (ones & (ones + 1)) == 0;
}

static const ir_linear *scaled_form(ir_env *env, const ir_linear *l, int64_t factor)
{
    ir_sum s;
    ir_sum_start(&s, 0);
    ir_sum_add(env, &s, l, factor);
    return ir_sum_finish(env, &s);
}

static const ir_linear *and_form(ir_env *env, ir_expr *e)
{
    int low, bits;
    for (int i = 0; i < 2; i++) {
        int64_t mask;
        if (!ir_const_int(e->args[i], &mask))
            continue;
        const ir_linear *a = ir_linear_of(env, e->args[1 - i]);
        if (is_mask(mask, &low, &bits) && low + bits < 62) {
            const ir_linear *part = ir_linear_divide(env, a, (int64_t)1 << low, e->type);
            part = part ? ir_linear_modulo(env, part, (int64_t)1 << bits, e->type) : NULL;
            return part ? scaled_form(env, part, (int64_t)1 << low) : NULL;
        }
        // -2^k keeps all but the lowest bits
        if (mask < 0 && mask != INT64_MIN && is_power_of_two(-mask) && dt_is_signed(e->type->scalar)) {
            const ir_linear *rest = ir_linear_modulo(env, a, -mask, e->type);
            return rest ? ir_linear_combine(env, a, 1, rest, -1) : NULL;
        }
    }
    return NULL;
}

// The largest power of two that is known to divide the value: bits below it are zero. 0 if the value is 0.
static int64_t low_zero_unit(ir_env *env, ir_expr *e)
{
    int64_t d = ir_index_divisor(env, e);
    return d & -d;
}

// a | b and a ^ b are a + b if all bits of one are below the lowest bit of the other. In a ^ b the bits below those of
// b are those of a, and the rest is a smaller xor.
static const ir_linear *or_form(ir_env *env, ir_expr *e)
{
    for (int i = 0; i < 2; i++) {
        ir_expr *a = e->args[i], *b = e->args[1 - i];
        int64_t unit = low_zero_unit(env, b);
        ir_range r = ir_range_of(env, a);
        if (unit == 0)
            return ir_linear_of(env, a);
        if (unit > 1 && r.min >= 0 && r.max < unit)
            return ir_linear_combine(env, ir_linear_of(env, a), 1, ir_linear_of(env, b), 1);
    }
    if (e->op != IR_OP_XOR)
        return NULL;
    for (int i = 0; i < 2; i++) {
        ir_expr *a = e->args[i], *b = e->args[1 - i];
        int64_t unit = low_zero_unit(env, b);
        if (unit == 1)
            continue;
        const ir_linear *fa = ir_linear_of(env, a), *fb = ir_linear_of(env, b);
        const ir_linear *high_a = ir_linear_divide(env, fa, unit, e->type),
                        *low_a = ir_linear_modulo(env, fa, unit, e->type);
        const ir_linear *high_b = ir_linear_divide(env, fb, unit, e->type);
        if (!high_a || !low_a || !high_b)
            return NULL;
        ir_expr *x = ir_linear_build(env, high_a, e->type, a->span),
                *y = ir_linear_build(env, high_b, e->type, b->span);
        if (ir_expr_order(y, x) < 0) {
            ir_expr *t = x;
            x = y;
            y = t;
        }
        const ir_linear *top = ir_linear_of(env, ir_binary(env->module, IR_OP_XOR, x, y, e->span));
        return ir_linear_combine(env, top, unit, low_a, 1);
    }
    return NULL;
}

// Narrowing keeps a sum only if no part of it can leave the narrow type.
static bool parts_fit(ir_env *env, const ir_linear *l, const ir_type *type)
{
    ir_range most = ir_range_of_type(type);
    int64_t left = most.max, size;
    if (__builtin_sub_overflow(left, l->constant < 0 ? -l->constant : l->constant, &left))
        return false;
    for (int i = 0; i < l->count; i++) {
        ir_range r = ir_range_scale(ir_term_range(env, &l->terms[i]), l->terms[i].coef);
        if (r.min == INT64_MIN || r.max == INT64_MAX)
            return false;
        size = -r.min > r.max ? -r.min : r.max;
        if (!sub_checked(left, size, &left) || left < 0)
            return false;
    }
    return left >= 0;
}

static const ir_linear *cast_form(ir_env *env, ir_expr *e)
{
    ir_expr *a = e->args[0];
    if (!ir_is_integer(a->type))
        return NULL;
    ir_range r = ir_range_of(env, a), all = ir_range_of_type(e->type);
    bool keeps = dt_converts_exactly(a->type->scalar, e->type->scalar) ||
                 (r.min >= all.min && r.max <= all.max && !(ir_is_scalar(a->type, DT_U64) && r.max == INT64_MAX));
    if (!keeps)
        return NULL;
    const ir_linear *l = ir_linear_of(env, a);
    return dt_bits(e->type->scalar) >= dt_bits(a->type->scalar) || parts_fit(env, l, e->type) ? l : NULL;
}

static const ir_linear *extremum_form(ir_env *env, ir_expr *e)
{
    const ir_linear *d = ir_linear_combine(env, ir_linear_of(env, e->args[0]), 1, ir_linear_of(env, e->args[1]), -1);
    if (!d)
        return NULL;
    bool first_larger = ir_linear_range(env, d).min >= 0, second_larger = ir_linear_range(env, d).max <= 0;
    if (first_larger || second_larger)
        return ir_linear_of(env, e->args[(e->op == IR_OP_MAX) == first_larger ? 0 : 1]);
    return NULL;
}

static const ir_linear *sum_form(ir_env *env, ir_expr *e)
{
    const ir_linear *a = ir_linear_of(env, e->args[0]);
    switch (e->op) {
    case IR_OP_NEG:
        return scaled_form(env, a, -1);
    case IR_OP_ADD:
        return ir_linear_combine(env, a, 1, ir_linear_of(env, e->args[1]), 1);
    case IR_OP_SUB:
        return ir_linear_combine(env, a, 1, ir_linear_of(env, e->args[1]), -1);
    default:
        return multiply(env, a, ir_linear_of(env, e->args[1]), e->type);
    }
}

static const ir_linear *compute_form(ir_env *env, ir_expr *e)
{
    switch (e->op) {
    case IR_OP_INT:
        return ir_range_of(env, e).min == e->u.i ? constant_form(env, e->u.i) : NULL;
    case IR_OP_VAR:
        return var_form(env, e);
    case IR_OP_NEG:
    case IR_OP_ADD:
    case IR_OP_SUB:
    case IR_OP_MUL:
        return is_exact(env, e) ? sum_form(env, e) : NULL;
    case IR_OP_FLOORDIV:
    case IR_OP_FLOORMOD:
    case IR_OP_TRUNCDIV:
    case IR_OP_TRUNCMOD:
        return division_form(env, e);
    case IR_OP_SHL:
    case IR_OP_SHR:
        return is_exact(env, e) ? shift_form(env, e) : NULL;
    case IR_OP_AND:
        return and_form(env, e);
    case IR_OP_OR:
    case IR_OP_XOR:
        return or_form(env, e);
    case IR_OP_CAST:
        return cast_form(env, e);
    case IR_OP_MIN:
    case IR_OP_MAX:
        return extremum_form(env, e);
    default:
        return NULL;
    }
}

static bool may_canonise(const ir_expr *e)
{
    bool pure = (ir_op_properties(e->op) & IR_PURE) && !(ir_op_properties(e->op) & IR_LEAF);
    return pure && e->op != IR_OP_ADDR && e->op != IR_OP_TILE && e->op != IR_OP_VEC && e->op != IR_OP_LANE;
}

static const ir_linear *new_form(ir_env *env, ir_expr *e)
{
    bool opaque = env->opaque && ir_same_value(e, env->opaque);
    const ir_linear *l = opaque ? atom_form(env, env->opaque) : ir_is_integer(e->type) ? compute_form(env, e) : NULL;
    if (!l)
        l = may_canonise(e) ? canonical_atom(env, e) : atom_form(env, e);
    return l;
}

// An expression without variables to expand has the same form in both modes.
const ir_linear *ir_linear_of(ir_env *env, ir_expr *e)
{
    int mode = env->no_expand;
    ir_note *note = ir_note_of(env, e);
    if (note->linear[mode]) {
        env->unexpanded += mode && note->linear[0] != note->linear[1];
        return note->linear[mode];
    }
    // The form of a quotient may need a proof that uses a fact about the quotient: in there it is an atom.
    if (note->is_under_way[mode])
        return atom_form(env, e);
    uint32_t unexpanded = env->unexpanded;
    note->is_under_way[mode] = true;
    const ir_linear *l = new_form(env, e);
    note = ir_note_of(env, e);
    note->is_under_way[mode] = false;
    note->linear[mode] = l;
    if (mode && env->unexpanded == unexpanded)
        note->linear[0] = l;
    return l;
}

const ir_linear *ir_linear_combine(ir_env *env, const ir_linear *a, int64_t fa, const ir_linear *b, int64_t fb)
{
    ir_sum s;
    ir_sum_start(&s, 0);
    ir_sum_add(env, &s, a, fa);
    ir_sum_add(env, &s, b, fb);
    return ir_sum_finish(env, &s);
}

const ir_linear *ir_linear_difference(ir_env *env, ir_expr *a, ir_expr *b, int64_t offset)
{
    ir_sum s;
    ir_sum_start(&s, 0);
    ir_sum_add(env, &s, ir_linear_of(env, a), 1);
    ir_sum_add(env, &s, ir_linear_of(env, b), -1);
    ir_sum_add_constant(&s, offset);
    return ir_sum_finish(env, &s);
}

// ---- questions -----------------------------------------------------------------------------------------------------

ir_range ir_linear_range(ir_env *env, const ir_linear *l)
{
    ir_range r = ir_range_constant(l->constant);
    for (int i = 0; i < l->count; i++)
        r = ir_range_add(r, ir_range_scale(ir_term_range(env, &l->terms[i]), l->terms[i].coef));
    return r;
}

int64_t ir_linear_divisor(ir_env *env, const ir_linear *l)
{
    int64_t d = l->constant == INT64_MIN ? 1 : l->constant;
    for (int i = 0; i < l->count; i++) {
        int64_t product;
        bool fits = mul_checked(l->terms[i].coef, ir_term_divisor(env, &l->terms[i]), &product);
        d = gcd_of(d, fits && product != INT64_MIN ? product : 1);
    }
    return d;
}

int64_t ir_index_divisor(ir_env *env, ir_expr *e)
{
    bool no_expand = env->no_expand;
    env->no_expand = false;
    int64_t d = ir_linear_divisor(env, ir_linear_of(env, e));
    env->no_expand = no_expand;
    return d;
}

bool ir_expr_mentions(const ir_expr *e, const ir_var *v)
{
    if (!e->arg_count)
        return e->op == IR_OP_VAR && e->u.var == v;
    for (int i = 0; i < e->arg_count; i++)
        if (ir_expr_mentions(e->args[i], v))
            return true;
    return false;
}

bool ir_linear_coefficient(const ir_linear *l, const ir_var *v, int64_t *coef)
{
    *coef = 0;
    for (int i = 0; i < l->count; i++) {
        const ir_term *t = &l->terms[i];
        if (t->atom->op == IR_OP_VAR && t->atom->u.var == v && t->lower == 1 && !t->extent)
            *coef = t->coef;
        else if (ir_expr_mentions(t->atom, v))
            return false;
    }
    return true;
}
