// Ranges and divisors, operator by operator.
#include "ir/analysis_range.h"

#include "base/checked.h"

static const ir_range unbounded = {INT64_MIN, INT64_MAX};

// Of integer types and bool.
#define RANGE_NONE(bits) {INT64_MIN, INT64_MAX}
#define RANGE_BOOL(bits) {0, 1}
#define RANGE_SINT(bits) {INT64_MIN >> (64 - (bits)), INT64_MAX >> (64 - (bits))}
#define RANGE_UINT(bits) {0, (bits) == 64 ? INT64_MAX : (int64_t)(UINT64_MAX >> (64 - (bits)))}
#define RANGE_FLOAT RANGE_NONE
#define RANGE_COMPLEX RANGE_NONE
static const ir_range type_ranges[DT__COUNT] = {
    [DT_NONE] = RANGE_NONE(0),
#define DTYPE(id, name, long_name, kind, bits, exponent, mantissa, cuda) [DT_##id] = RANGE_##kind(bits),
#include "../../lang/dtypes.def"
#undef DTYPE
};

ir_range ir_range_of_type(const ir_type *t)
{
    return t->kind == IR_SCALAR ? type_ranges[t->scalar] : unbounded;
}

// Of u64 the upper bound INT64_MAX stands for "above", so that a result with it may have wrapped.
bool ir_range_fits(ir_range r, const ir_type *t)
{
    ir_range all = ir_range_of_type(t);
    if (t->kind == IR_SCALAR && t->scalar == DT_U64 && r.max == INT64_MAX)
        return false;
    return r.min >= all.min && r.max <= all.max;
}

// Arithmetic of the type does not overflow: overflow is undefined behaviour.
static bool never_overflows(const ir_type *t)
{
    return t->kind == IR_SCALAR && dt_is_signed(t->scalar) && dt_bits(t->scalar) >= 32;
}

// ---- arithmetic of bounds ------------------------------------------------------------------------------------------

static bool is_infinite(int64_t v)
{
    return v == INT64_MIN || v == INT64_MAX;
}

// An infinite bound stays infinite; the sum of two bounds of one side never mixes the infinities.
static int64_t add_bounds(int64_t a, int64_t b)
{
    if (is_infinite(a))
        return a;
    if (is_infinite(b))
        return b;
    int64_t sum;
    return add_checked(a, b, &sum) ? sum : a > 0 ? INT64_MAX : INT64_MIN;
}

static int64_t multiply_bounds(int64_t a, int64_t b)
{
    if (a == 0 || b == 0)
        return 0;
    int64_t product;
    if (!is_infinite(a) && !is_infinite(b) && mul_checked(a, b, &product))
        return product;
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static int64_t negate_bound(int64_t v)
{
    return v == INT64_MIN ? INT64_MAX : v == INT64_MAX ? INT64_MIN : -v;
}

static int64_t divide_bound(int64_t v, int64_t divisor)
{
    return is_infinite(v) ? v : floor_div(v, divisor);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static ir_range hull(ir_range a, ir_range b)
{
    return (ir_range){smaller(a.min, b.min), larger(a.max, b.max)};
}

// Contradicting bounds mean unreachable code; then either is as good.
static ir_range meet(ir_range a, ir_range b)
{
    ir_range both = {larger(a.min, b.min), smaller(a.max, b.max)};
    return both.min <= both.max ? both : a;
}

// The infinities stand for "no bound" on their own side only: a lower bound beyond all numbers is the largest but one.
static ir_range of_bounds(int64_t min, int64_t max)
{
    return (ir_range){min == INT64_MAX ? INT64_MAX - 1 : min, max == INT64_MIN ? INT64_MIN + 1 : max};
}

ir_range ir_range_constant(int64_t value)
{
    return of_bounds(value, value);
}

ir_range ir_range_add(ir_range a, ir_range b)
{
    return of_bounds(add_bounds(a.min, b.min), add_bounds(a.max, b.max));
}

static ir_range negate(ir_range a)
{
    return of_bounds(negate_bound(a.max), negate_bound(a.min));
}

static ir_range multiply(ir_range a, ir_range b)
{
    int64_t p = multiply_bounds(a.min, b.min), q = multiply_bounds(a.min, b.max);
    int64_t r = multiply_bounds(a.max, b.min), s = multiply_bounds(a.max, b.max);
    return of_bounds(smaller(smaller(p, q), smaller(r, s)), larger(larger(p, q), larger(r, s)));
}

ir_range ir_range_scale(ir_range a, int64_t factor)
{
    if (factor == 1)
        return a;
    int64_t p = multiply_bounds(a.min, factor), q = multiply_bounds(a.max, factor);
    return factor < 0 ? of_bounds(q, p) : of_bounds(p, q);
}

ir_range ir_range_floordiv(ir_range a, int64_t divisor)
{
    return (ir_range){divide_bound(a.min, divisor), divide_bound(a.max, divisor)};
}

// For divisors known to be positive.
static ir_range floordiv(ir_range a, ir_range d)
{
    ir_range least = ir_range_floordiv(a, d.min);
    return is_infinite(d.max) ? hull(least, (ir_range){a.min < 0 ? -1 : 0, a.max < 0 ? -1 : 0})
                              : hull(least, ir_range_floordiv(a, d.max));
}

static ir_range floormod(ir_range a, ir_range d)
{
    int64_t top = is_infinite(d.max) ? INT64_MAX : d.max - 1;
    if (a.min >= 0 && a.max < d.min)
        return a;
    if (d.min == d.max && !is_infinite(a.min) && !is_infinite(a.max) &&
        floor_div(a.min, d.min) == floor_div(a.max, d.min))
        return (ir_range){floor_mod(a.min, d.min), floor_mod(a.max, d.min)};
    return (ir_range){0, a.min >= 0 ? smaller(a.max, top) : top};
}

static ir_range truncdiv(ir_range a, ir_range d)
{
    if (a.min >= 0)
        return floordiv(a, d);
    // Towards zero: the negative side is the mirror image.
    ir_range mirrored = {negate_bound(a.min), negate_bound(a.min)};
    int64_t low = negate_bound(divide_bound(mirrored.max, d.min));
    return (ir_range){low, a.max < 0 ? 0 : divide_bound(a.max, d.min)};
}

static ir_range truncmod(ir_range a, ir_range d)
{
    if (a.min >= 0)
        return floormod(a, d);
    int64_t top = is_infinite(d.max) ? INT64_MAX : d.max - 1;
    return (ir_range){larger(negate_bound(top), a.min), a.max <= 0 ? 0 : smaller(a.max, top)};
}

// The smallest 2^k - 1 that is at least [v] >= 0.
static int64_t all_ones(int64_t v)
{
    return v == 0 ? 0 : INT64_MAX >> (__builtin_clzll((uint64_t)v) - 1);
}

static ir_range bitwise(ir_op op, ir_range a, ir_range b, ir_range type)
{
    bool both = a.min >= 0 && b.min >= 0;
    if (op == IR_OP_AND) {
        if (both)
            return (ir_range){0, smaller(a.max, b.max)};
        return a.min >= 0 ? (ir_range){0, a.max} : b.min >= 0 ? (ir_range){0, b.max} : type;
    }
    if (!both)
        return type;
    int64_t top = larger(all_ones(a.max), all_ones(b.max));
    return (ir_range){op == IR_OP_OR ? larger(a.min, b.min) : 0, top};
}

static bool shift_count(ir_range by, const ir_type *t, int *count)
{
    *count = (int)by.min;
    return by.min == by.max && by.min >= 0 && by.min < dt_bits(t->scalar) && by.min < 63;
}

static ir_range shift(ir_op op, ir_range a, ir_range by, const ir_type *t)
{
    int count;
    if (shift_count(by, t, &count))
        return op == IR_OP_SHL ? ir_range_scale(a, (int64_t)1 << count) : ir_range_floordiv(a, (int64_t)1 << count);
    if (op == IR_OP_SHR && a.min >= 0)
        return (ir_range){0, a.max};
    return ir_range_of_type(t);
}

// ---- leaves --------------------------------------------------------------------------------------------------------

// Where a kernel runs, sizes that are extents are at least 1, which each launch checks, unless they are said to be 0 at
// times; a host function may be called with empty tensors.
static ir_range declared_range(const ir_env *env, const ir_var *v)
{
    ir_range r = ir_range_of_type(v->type);
    bool is_in_kernel = env->func && env->func->kind != IR_HOST_FUNC;
    if (v->is_size)
        r.min = larger(r.min, is_in_kernel && !v->may_be_zero && ir_is_extent(env->func, v) ? 1 : 0);
    return v->has_range ? meet(r, (ir_range){v->min, v->max}) : r;
}

static ir_range var_range(ir_env *env, const ir_var *v)
{
    ir_range r = declared_range(env, v);
    const ir_var_info *info = ir_env_info(env, v);
    if (!info)
        return r;
    r = meet(r, info->range);
    // What was learned since the declaration about the operands counts as well.
    ir_expr *value = info->value;
    return value ? meet(r, ir_range_of(env, value)) : r;
}

static ir_range refined(const ir_env *env, const ir_expr *e, ir_range r)
{
    for (size_t i = 0; i < env->refinements.len; i++) {
        const ir_refinement *f = &env->refinements.at[i];
        bool may_be = f->atom->op == e->op && (e->op != IR_OP_VAR || f->atom->u.var == e->u.var);
        if (may_be && (f->atom == e || ir_expr_equal(f->atom, e)))
            r = meet(r, f->range);
    }
    return r;
}

// ---- the tree ------------------------------------------------------------------------------------------------------

static ir_range binary_range(ir_env *env, const ir_expr *e)
{
    ir_range a = ir_range_of(env, e->args[0]), b = ir_range_of(env, e->args[1]);
    ir_range all = ir_range_of_type(e->type);
    switch (e->op) {
    case IR_OP_ADD:
        return ir_range_add(a, b);
    case IR_OP_SUB:
        return ir_range_add(a, negate(b));
    case IR_OP_MUL:
        return multiply(a, b);
    case IR_OP_FLOORDIV:
        return b.min > 0 ? floordiv(a, b) : all;
    case IR_OP_FLOORMOD:
        return b.min > 0 ? floormod(a, b) : all;
    case IR_OP_TRUNCDIV:
        return b.min > 0 ? truncdiv(a, b) : all;
    case IR_OP_TRUNCMOD:
        return b.min > 0 ? truncmod(a, b) : all;
    case IR_OP_SHL:
    case IR_OP_SHR:
        return shift(e->op, a, b, e->type);
    case IR_OP_AND:
    case IR_OP_OR:
    case IR_OP_XOR:
        return bitwise(e->op, a, b, all);
    case IR_OP_MIN:
        return (ir_range){smaller(a.min, b.min), smaller(a.max, b.max)};
    case IR_OP_MAX:
        return (ir_range){larger(a.min, b.min), larger(a.max, b.max)};
    default:
        return all;
    }
}

static ir_range cast_range(ir_env *env, const ir_expr *e)
{
    const ir_type *from = e->args[0]->type;
    if (!ir_is_integer(from) && !ir_is_scalar(from, DT_BOOL))
        return ir_range_of_type(e->type);
    ir_range r = ir_range_of(env, e->args[0]);
    bool fits = r.min >= ir_range_of_type(e->type).min && r.max <= ir_range_of_type(e->type).max;
    // A u64 that may lie above INT64_MAX fits only into u64.
    if (r.max == INT64_MAX && ir_is_scalar(from, DT_U64) && !ir_is_scalar(e->type, DT_U64))
        fits = false;
    return fits ? r : ir_range_of_type(e->type);
}

static bool constant_fits_signed(const ir_expr *e)
{
    return !(e->type->kind == IR_SCALAR && e->type->scalar == DT_U64 && e->u.i < 0);
}

static ir_range constant_range(const ir_expr *e)
{
    return constant_fits_signed(e) ? ir_range_constant(e->u.i) : (ir_range){0, INT64_MAX};
}

ir_range ir_range_unwrapped(ir_env *env, const ir_expr *e)
{
    switch (e->op) {
    case IR_OP_INT:
        return constant_range(e);
    case IR_OP_VAR:
        return var_range(env, e->u.var);
    case IR_OP_SREG:
        return env->sregs[e->u.i];
    case IR_OP_NEG:
        return negate(ir_range_of(env, e->args[0]));
    case IR_OP_BITNOT:
        if (!dt_is_signed(e->type->scalar))
            return ir_range_of_type(e->type);
        return ir_range_add(negate(ir_range_of(env, e->args[0])), (ir_range){-1, -1});
    case IR_OP_SELECT:
        return hull(ir_range_of(env, e->args[1]), ir_range_of(env, e->args[2]));
    case IR_OP_CAST:
        return cast_range(env, e);
    default:
        return e->arg_count == 2 && (ir_op_properties(e->op) & IR_PURE) ? binary_range(env, e)
                                                                        : ir_range_of_type(e->type);
    }
}

static ir_range compute_range(ir_env *env, const ir_expr *e)
{
    ir_range r = ir_range_unwrapped(env, e), all = ir_range_of_type(e->type);
    if (never_overflows(e->type) && e->op != IR_OP_SHL)
        r = meet(all, r);
    else if (!ir_range_fits(r, e->type))
        r = all;
    return env->refined & ir_atom_bit(e) ? refined(env, e, r) : r;
}

ir_range ir_range_of(ir_env *env, const ir_expr *e)
{
    if (!ir_is_integer(e->type))
        return ir_range_of_type(e->type);
    if (e->op == IR_OP_INT)
        return constant_range(e);
    ir_note *note = ir_note_of(env, e);
    if (note->range_state == env->range_state)
        return note->range;
    ir_range r = compute_range(env, e);
    note->range_state = env->range_state;
    return note->range = r;
}

// ---- divisors ------------------------------------------------------------------------------------------------------

// Of multiples of [a] and multiples of [b] at once, as long as it stays small.
static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t product;
    if (a == 0 || b == 0)
        return 0;
    return mul_checked(a / gcd_of(a, b), b, &product) ? product : larger(a, b);
}

// A value that may have wrapped keeps only the powers of two.
static int64_t wrapped_divisor(int64_t d, const ir_type *t)
{
    if (d == 0)
        return dt_bits(t->scalar) >= 63 ? INT64_MAX / 2 + 1 : (int64_t)1 << dt_bits(t->scalar);
    return d & -d;
}

static int64_t multiply_divisors(int64_t a, int64_t b)
{
    int64_t product;
    return mul_checked(a, b, &product) ? product : larger(a, b);
}

static int64_t low_bits_of(int64_t d)
{
    return d == 0 ? INT64_MAX / 2 + 1 : d & -d;
}

static int64_t and_divisor(int64_t a, int64_t b)
{
    return a == 0 || b == 0 ? 0 : larger(low_bits_of(a), low_bits_of(b));
}

static int64_t quotient_divisor(const ir_expr *e, int64_t a)
{
    int64_t d;
    if (!ir_const_int(e->args[1], &d) || d == 0 || d == INT64_MIN)
        return 1;
    return a % d == 0 ? (a / d < 0 ? -(a / d) : a / d) : 1;
}

static int64_t var_divisor(ir_env *env, const ir_var *v)
{
    int64_t d = v->divisor > 0 ? v->divisor : 1;
    const ir_var_info *info = ir_env_info(env, v);
    if (!info)
        return d;
    d = common_multiple(d, info->divisor);
    return info->value ? common_multiple(d, ir_divisor_of(env, info->value)) : d;
}

static int64_t shift_divisor(ir_env *env, const ir_expr *e, int64_t a)
{
    int64_t by;
    if (!ir_const_int(e->args[1], &by) || by < 0 || by >= dt_bits(e->type->scalar) || by > 61)
        return 1;
    (void)env;
    if (e->op == IR_OP_SHL)
        return multiply_divisors(a, (int64_t)1 << by);
    return a % ((int64_t)1 << by) == 0 ? a >> by : 1;
}

static int64_t binary_divisor(ir_env *env, const ir_expr *e)
{
    int64_t a = ir_divisor_of(env, e->args[0]), b = ir_divisor_of(env, e->args[1]);
    switch (e->op) {
    case IR_OP_ADD:
    case IR_OP_SUB:
    case IR_OP_MIN:
    case IR_OP_MAX:
    case IR_OP_FLOORMOD:
    case IR_OP_TRUNCMOD:
        return gcd_of(a, b);
    case IR_OP_MUL:
        return multiply_divisors(a, b);
    case IR_OP_FLOORDIV:
    case IR_OP_TRUNCDIV:
        return quotient_divisor(e, a);
    case IR_OP_SHL:
    case IR_OP_SHR:
        return shift_divisor(env, e, a);
    case IR_OP_AND:
        return and_divisor(a, b);
    case IR_OP_OR:
    case IR_OP_XOR:
        return a == 0 && b == 0 ? 0 : smaller(low_bits_of(a), low_bits_of(b));
    default:
        return 1;
    }
}

static int64_t compute_divisor(ir_env *env, const ir_expr *e)
{
    switch (e->op) {
    case IR_OP_INT:
        return e->u.i == INT64_MIN ? 1 : e->u.i < 0 ? -e->u.i : e->u.i;
    case IR_OP_VAR:
        return var_divisor(env, e->u.var);
    case IR_OP_NEG:
        return ir_divisor_of(env, e->args[0]);
    case IR_OP_SELECT:
        return gcd_of(ir_divisor_of(env, e->args[1]), ir_divisor_of(env, e->args[2]));
    case IR_OP_CAST:
        return ir_is_integer(e->args[0]->type) ? ir_divisor_of(env, e->args[0]) : 1;
    default:
        return e->arg_count == 2 && (ir_op_properties(e->op) & IR_PURE) ? binary_divisor(env, e) : 1;
    }
}

static bool may_wrap(ir_env *env, const ir_expr *e)
{
    switch (e->op) {
    case IR_OP_CAST: {
        ir_range r = ir_range_of(env, e->args[0]);
        return !ir_range_fits(r, e->type);
    }
    case IR_OP_NEG:
    case IR_OP_ADD:
    case IR_OP_SUB:
    case IR_OP_MUL:
        return !never_overflows(e->type) && !ir_range_fits(ir_range_unwrapped(env, e), e->type);
    case IR_OP_SHL:
        return !ir_range_fits(ir_range_unwrapped(env, e), e->type);
    default:
        return false;
    }
}

static int64_t known_divisor(ir_env *env, const ir_expr *e)
{
    int64_t d = compute_divisor(env, e);
    if (may_wrap(env, e))
        d = wrapped_divisor(d, e->type);
    for (size_t i = 0; i < env->refinements.len; i++) {
        const ir_refinement *f = &env->refinements.at[i];
        if (f->divisor != 1 && f->atom->op == e->op && ir_expr_equal(f->atom, e))
            d = common_multiple(d, f->divisor);
    }
    return d;
}

int64_t ir_divisor_of(ir_env *env, const ir_expr *e)
{
    if (!ir_is_integer(e->type))
        return 1;
    if (e->op == IR_OP_INT)
        return compute_divisor(env, e);
    ir_note *note = ir_note_of(env, e);
    if (note->has_divisor)
        return note->divisor;
    int64_t d = known_divisor(env, e);
    note = ir_note_of(env, e);
    note->has_divisor = true;
    return note->divisor = d;
}
