// Integers that do not wrap around: what a program passes is checked before a kernel sees it, so extents are computed
// in 64 bits where 32 may not be enough, and with a check where 64 may not be.
#include "cuda_emit/c_priv.h"

static bool is_int(const ir_expr *e)
{
    return e->type->kind == IR_SCALAR && (dt_is_int(e->type->scalar) || e->type->scalar == DT_BOOL);
}

// ---- ranges -----------------------------------------------------------------------------------------------------

static cu_c_range range_of_type(dtype t)
{
    if (t == DT_BOOL)
        return (cu_c_range){0, 1};
    uint64_t most = dt_max_bits(t);
    return (cu_c_range){t == DT_U64 ? 0 : dt_min(t), most > INT64_MAX ? INT64_MAX : (int64_t)most};
}

static bool is_within(cu_c_range inner, cu_c_range outer)
{
    return inner.min >= outer.min && inner.max <= outer.max;
}

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t at_least(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// The ends of an interval are those of the four corners; false where one has no 64 bits.
static bool corners(ir_op op, cu_c_range a, cu_c_range b, cu_c_range *out)
{
    const int64_t left[] = {a.min, a.min, a.max, a.max}, right[] = {b.min, b.max, b.min, b.max};
    for (int i = 0; i < 4; i++) {
        int64_t value;
        bool fails = op == IR_OP_ADD   ? __builtin_add_overflow(left[i], right[i], &value)
                     : op == IR_OP_SUB ? __builtin_sub_overflow(left[i], right[i], &value)
                                       : __builtin_mul_overflow(left[i], right[i], &value);
        if (fails)
            return false;
        *out = i ? (cu_c_range){at_most(out->min, value), at_least(out->max, value)} : (cu_c_range){value, value};
    }
    return true;
}

// The exact range of an operator that may outgrow its type; false: some value has no 64 bits.
static bool exact_range(const ir_expr *e, cu_c_range *out)
{
    cu_c_range a = cu_c_range_of(e->args[0]);
    if (e->op == IR_OP_NEG)
        return corners(IR_OP_SUB, (cu_c_range){0, 0}, a, out);
    cu_c_range b = cu_c_range_of(e->args[1]);
    if (e->op != IR_OP_SHL)
        return corners(e->op, a, b, out);
    if (b.min != b.max || b.min < 0 || b.min > 62)
        return false;
    return corners(IR_OP_MUL, a, (cu_c_range){(int64_t)1 << b.min, (int64_t)1 << b.min}, out);
}

static bool can_grow(ir_op op)
{
    return ir_op_properties(op) & IR_WRAPS;
}

static cu_c_range divided(const ir_expr *e, cu_c_range a, cu_c_range b, cu_c_range any)
{
    if (b.min < 1)
        return any;
    bool floors = e->op == IR_OP_FLOORDIV;
    int64_t low = a.min / (a.min < 0 ? b.min : b.max), high = a.max / (a.max < 0 ? b.max : b.min);
    return (cu_c_range){floors && a.min < 0 && low > any.min ? low - 1 : low, high};
}

static cu_c_range rest_of(const ir_expr *e, cu_c_range a, cu_c_range b, cu_c_range any)
{
    if (b.min < 1)
        return any;
    int64_t low = a.min >= 0 || e->op == IR_OP_FLOORMOD ? 0 : 1 - b.max;
    return (cu_c_range){low, a.min >= 0 ? at_most(a.max, b.max - 1) : b.max - 1};
}

static cu_c_range range_of_binary(const ir_expr *e, cu_c_range any)
{
    cu_c_range a = cu_c_range_of(e->args[0]), b = cu_c_range_of(e->args[1]);
    switch (e->op) {
    case IR_OP_FLOORDIV:
    case IR_OP_TRUNCDIV: return divided(e, a, b, any);
    case IR_OP_FLOORMOD:
    case IR_OP_TRUNCMOD: return rest_of(e, a, b, any);
    case IR_OP_SHR: return b.min == b.max && b.min >= 0 && b.min < 63 ? (cu_c_range){a.min >> b.min, a.max >> b.min} : any;
    case IR_OP_MIN: return (cu_c_range){at_most(a.min, b.min), at_most(a.max, b.max)};
    case IR_OP_MAX: return (cu_c_range){at_least(a.min, b.min), at_least(a.max, b.max)};
    case IR_OP_AND: return a.min >= 0 && b.min >= 0 ? (cu_c_range){0, at_most(a.max, b.max)} : any;
    default: return any;
    }
}

static cu_c_range range_of_var(const ir_var *v, cu_c_range any)
{
    return v->has_range ? (cu_c_range){at_least(v->min, any.min), at_most(v->max, any.max)} : any;
}

cu_c_range cu_c_range_of(const ir_expr *e)
{
    cu_c_range any = range_of_type(e->type->scalar), r;
    if (can_grow(e->op))
        return exact_range(e, &r) && is_within(r, any) ? r : any;
    switch (e->op) {
    case IR_OP_INT: return e->type->scalar == DT_U64 && e->u.i < 0 ? any : (cu_c_range){e->u.i, e->u.i};
    case IR_OP_VAR: return range_of_var(e->u.var, any);
    case IR_OP_CAST:
        r = is_int(e->args[0]) ? cu_c_range_of(e->args[0]) : any;
        return is_within(r, any) ? r : any;
    case IR_OP_SELECT: {
        cu_c_range a = cu_c_range_of(e->args[1]), b = cu_c_range_of(e->args[2]);
        return (cu_c_range){at_most(a.min, b.min), at_least(a.max, b.max)};
    }
    default: return e->arg_count == 2 && is_int(e->args[0]) && is_int(e->args[1]) ? range_of_binary(e, any) : any;
    }
}

bool cu_c_may_overflow(const ir_expr *e)
{
    cu_c_range r;
    if (!can_grow(e->op) || !is_int(e))
        return false;
    return !exact_range(e, &r) || !is_within(r, range_of_type(e->type->scalar));
}

// ---- in 64 bits -------------------------------------------------------------------------------------------------

// A conversion that may lose something. Extents are what the author wrote, without loss; host functions compute as written.
static bool cuts(const ir_expr *e)
{
    bool is_cast = e->op == IR_OP_CAST && is_int(e) && is_int(e->args[0]) && e->type->scalar != DT_BOOL;
    return is_cast && !is_within(cu_c_range_of(e->args[0]), range_of_type(e->type->scalar));
}

bool cu_c_is_narrow(const cu *cx, const ir_expr *e)
{
    if (is_int(e) && e->type->scalar != DT_I64 && cu_c_may_overflow(e))
        return true;
    if (cx->c->fails && cuts(e))
        return true;
    bool is_operator = e->op != IR_OP_CALL && e->op != IR_OP_INTRIN && e->op != IR_OP_LOAD && e->op != IR_OP_PLOAD;
    for (int i = 0; is_operator && i < e->arg_count; i++)
        if (cu_c_is_narrow(cx, e->args[i]))
            return true;
    return false;
}

static ir_expr *wide_condition(cu *cx, const ir_expr *e);

static ir_expr *wide_binary(cu *cx, const ir_expr *e)
{
    return ir_binary(cx->m, e->op, cu_c_wide(cx, e->args[0]), cu_c_wide(cx, e->args[1]), e->span);
}

ir_expr *cu_c_wide(cu *cx, const ir_expr *e)
{
    const ir_type *i64 = ir_scalar(cx->m, DT_I64);
    if (e->op == IR_OP_INT && e->type->scalar != DT_U64)
        return ir_int(cx->m, DT_I64, e->u.i);
    if (!cu_c_is_narrow(cx, e) || !is_int(e))
        return ir_cast(cx->m, (ir_expr *)e, i64, e->span);
    if (ir_op_properties(e->op) & IR_BINARY)
        return wide_binary(cx, e);
    switch (e->op) {
    case IR_OP_NEG:
    case IR_OP_BITNOT: return ir_unary(cx->m, e->op, cu_c_wide(cx, e->args[0]), e->span);
    case IR_OP_CAST: return is_int(e->args[0]) ? cu_c_wide(cx, e->args[0]) : ir_cast(cx->m, (ir_expr *)e, i64, e->span);
    case IR_OP_SELECT:
        return ir_select(cx->m, wide_condition(cx, e->args[0]), cu_c_wide(cx, e->args[1]), cu_c_wide(cx, e->args[2]),
                         e->span);
    default: return ir_cast(cx->m, wide_condition(cx, e), i64, e->span);
    }
}

static ir_expr *wide_condition(cu *cx, const ir_expr *e)
{
    bool compares = ir_op_properties(e->op) & IR_COMPARE;
    if (compares && is_int(e->args[0]) && is_int(e->args[1]))
        return wide_binary(cx, e);
    if (e->op == IR_OP_LAND || e->op == IR_OP_LOR)
        return ir_binary(cx->m, e->op, wide_condition(cx, e->args[0]), wide_condition(cx, e->args[1]), e->span);
    if (e->op == IR_OP_NOT)
        return ir_unary(cx->m, IR_OP_NOT, wide_condition(cx, e->args[0]), e->span);
    return (ir_expr *)e;
}

const char *cu_c_extent(cu *cx, const ir_expr *e)
{
    return cu_as(cx, cu_c_wide(cx, e), ir_scalar(cx->m, DT_I64));
}
