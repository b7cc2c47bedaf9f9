#include "ir/fold.h"

#include <math.h>

#include "base/checked.h"
#include "base/floored.h"

bool ir_const_float(const ir_expr *e, double *out)
{
    if (e->op != IR_OP_FLOAT)
        return false;
    *out = e->u.f;
    return true;
}

static ir_expr *with_span_of(ir_expr *constant, const ir_expr *e)
{
    constant->span = e->span;
    return constant;
}

static ir_expr *integer(ir_module *m, const ir_expr *e, int64_t value)
{
    return with_span_of(ir_int(m, e->type->scalar, value), e);
}

static ir_expr *boolean(ir_module *m, const ir_expr *e, bool value)
{
    return with_span_of(ir_int(m, DT_BOOL, value), e);
}

// ---- integers ------------------------------------------------------------------------------------------------------

// Wraps to unsigned types; a signed result that does not fit stays unfolded.
static ir_expr *checked(ir_module *m, ir_expr *e, bool fits_64, int64_t value)
{
    dtype t = e->type->scalar;
    if (dt_is_signed(t) && (!fits_64 || !dt_holds_int(t, value)))
        return e;
    return integer(m, e, value);
}

static ir_expr *arithmetic(ir_module *m, ir_expr *e, int64_t a, int64_t b)
{
    int64_t value;
    switch (e->op) {
    case IR_OP_ADD: {
        bool fits = add_checked(a, b, &value);
        return checked(m, e, fits, value);
    }
    case IR_OP_SUB: {
        bool fits = sub_checked(a, b, &value);
        return checked(m, e, fits, value);
    }
    default: {
        bool fits = mul_checked(a, b, &value);
        return checked(m, e, fits, value);
    }
    }
}

static ir_expr *divide_unsigned(ir_module *m, ir_expr *e, uint64_t a, uint64_t b)
{
    bool quotient = e->op == IR_OP_FLOORDIV || e->op == IR_OP_TRUNCDIV;
    return integer(m, e, (int64_t)(quotient ? a / b : a % b));
}

static ir_expr *divide(ir_module *m, ir_expr *e, int64_t a, int64_t b)
{
    if (b == 0)
        return e;
    if (!dt_is_signed(e->type->scalar))
        return divide_unsigned(m, e, (uint64_t)a, (uint64_t)b);
    if (b == -1 && a == dt_min(e->type->scalar))
        return e;
    switch (e->op) {
    case IR_OP_FLOORDIV:
        return integer(m, e, floor_div(a, b));
    case IR_OP_FLOORMOD:
        return integer(m, e, floor_mod(a, b));
    case IR_OP_TRUNCDIV:
        return integer(m, e, a / b);
    default:
        return integer(m, e, a % b);
    }
}

static ir_expr *shift(ir_module *m, ir_expr *e, int64_t a, int64_t by)
{
    dtype t = e->type->scalar;
    if (by < 0 || by >= dt_bits(t))
        return e;
    if (e->op == IR_OP_SHL)
        return integer(m, e, (int64_t)((uint64_t)a << by));
    return integer(m, e, dt_is_signed(t) ? a >> by : (int64_t)((uint64_t)a >> by));
}

static bool below(dtype t, int64_t a, int64_t b)
{
    return dt_is_signed(t) ? a < b : (uint64_t)a < (uint64_t)b;
}

static ir_expr *integers(ir_module *m, ir_expr *e, int64_t a, int64_t b)
{
    dtype t = e->args[0]->type->scalar;
    switch (e->op) {
    case IR_OP_ADD:
    case IR_OP_SUB:
    case IR_OP_MUL:
        return arithmetic(m, e, a, b);
    case IR_OP_FLOORDIV:
    case IR_OP_FLOORMOD:
    case IR_OP_TRUNCDIV:
    case IR_OP_TRUNCMOD:
        return divide(m, e, a, b);
    case IR_OP_SHL:
    case IR_OP_SHR:
        return shift(m, e, a, b);
    case IR_OP_AND:
        return integer(m, e, a & b);
    case IR_OP_OR:
        return integer(m, e, a | b);
    case IR_OP_XOR:
        return integer(m, e, a ^ b);
    case IR_OP_MIN:
        return integer(m, e, below(t, b, a) ? b : a);
    case IR_OP_MAX:
        return integer(m, e, below(t, a, b) ? b : a);
    case IR_OP_EQ:
        return boolean(m, e, a == b);
    case IR_OP_NE:
        return boolean(m, e, a != b);
    case IR_OP_LT:
        return boolean(m, e, below(t, a, b));
    case IR_OP_LE:
        return boolean(m, e, !below(t, b, a));
    case IR_OP_GT:
        return boolean(m, e, below(t, b, a));
    case IR_OP_GE:
        return boolean(m, e, !below(t, a, b));
    case IR_OP_LAND:
        return boolean(m, e, a && b);
    case IR_OP_LOR:
        return boolean(m, e, a || b);
    default:
        return e;
    }
}

// ---- floats --------------------------------------------------------------------------------------------------------

// Types whose sums, products and quotients are those of doubles, rounded once: doubles have more than twice their
// digits.
static bool computes_in_double(dtype t)
{
    return t == DT_F16 || t == DT_BF16 || t == DT_F32 || t == DT_F64;
}

static ir_expr *real(ir_module *m, ir_expr *e, double value)
{
    return isnan(value) ? e : with_span_of(ir_float(m, e->type->scalar, value), e);
}

static ir_expr *float_arithmetic(ir_module *m, ir_expr *e, double a, double b)
{
    dtype t = e->type->scalar;
    if (!computes_in_double(t) || m->keeps_floats)
        return e;
    switch (e->op) {
    case IR_OP_ADD:
        return real(m, e, a + b);
    case IR_OP_SUB:
        return real(m, e, a - b);
    case IR_OP_MUL:
        return real(m, e, a * b);
    case IR_OP_FLOORDIV: // narrow floats are calculated with in f32, and rounded to their type
        return b == 0 ? e
                      : real(m, e, t == DT_F64 ? floored_quotient_f64(a, b) : floored_quotient_f32((float)a, (float)b));
    case IR_OP_FLOORMOD:
        return b == 0 ? e : real(m, e, t == DT_F64 ? floored_rest_f64(a, b) : floored_rest_f32((float)a, (float)b));
    default:
        return b == 0 ? e : real(m, e, a / b);
    }
}

// minNum and maxNum; which zero of two comes out is not promised.
static ir_expr *float_extremum(ir_module *m, ir_expr *e, double a, double b)
{
    if (a == 0 && b == 0 && signbit(a) != signbit(b))
        return e;
    if (isnan(a) || isnan(b))
        return real(m, e, isnan(a) ? b : a);
    return real(m, e, (e->op == IR_OP_MIN) == (a < b) ? a : b);
}

static ir_expr *floats(ir_module *m, ir_expr *e, double a, double b)
{
    switch (e->op) {
    case IR_OP_ADD:
    case IR_OP_SUB:
    case IR_OP_MUL:
    case IR_OP_DIV:
    case IR_OP_FLOORDIV:
    case IR_OP_FLOORMOD:
        return float_arithmetic(m, e, a, b);
    case IR_OP_MIN:
    case IR_OP_MAX:
        return float_extremum(m, e, a, b);
    case IR_OP_EQ:
        return boolean(m, e, a == b);
    case IR_OP_NE:
        return boolean(m, e, a != b);
    case IR_OP_LT:
        return boolean(m, e, a < b);
    case IR_OP_LE:
        return boolean(m, e, a <= b);
    case IR_OP_GT:
        return boolean(m, e, a > b);
    case IR_OP_GE:
        return boolean(m, e, a >= b);
    default:
        return e;
    }
}

// ---- one operand ---------------------------------------------------------------------------------------------------

static ir_expr *int_to_float(ir_module *m, ir_expr *e, dtype from, int64_t value)
{
    const int64_t exact = (int64_t)1 << 53;
    if (value > exact || value < -exact || (from == DT_U64 && value < 0))
        return e;
    return real(m, e, (double)value);
}

static ir_expr *float_to_int(ir_module *m, ir_expr *e, double value)
{
    dtype to = e->type->scalar;
    if (to == DT_BOOL)
        return isnan(value) ? e : boolean(m, e, value != 0);
    double whole = trunc(value);
    if (!(whole >= -0x1p62 && whole <= 0x1p62) || !dt_holds_int(to, (int64_t)whole))
        return e;
    return integer(m, e, (int64_t)whole);
}

static ir_expr *cast(ir_module *m, ir_expr *e)
{
    const ir_expr *a = e->args[0];
    dtype to = e->type->scalar, from = a->type->scalar;
    bool to_int = dt_is_int(to) || to == DT_BOOL;
    if (a->op == IR_OP_INT) {
        if (dt_is_float(to))
            return int_to_float(m, e, from, a->u.i);
        return to_int ? integer(m, e, a->u.i) : e;
    }
    if (a->op != IR_OP_FLOAT)
        return e;
    return to_int ? float_to_int(m, e, a->u.f) : dt_is_float(to) ? real(m, e, a->u.f) : e;
}

static ir_expr *bitcast(ir_module *m, ir_expr *e)
{
    const ir_expr *a = e->args[0];
    dtype to = e->type->scalar, from = a->type->scalar;
    if ((a->op != IR_OP_INT && a->op != IR_OP_FLOAT) || dt_bits(to) != dt_bits(from) || to == DT_BOOL ||
        from == DT_BOOL)
        return e;
    uint64_t bits = a->op == IR_OP_FLOAT ? dt_from_double(from, a->u.f) : (uint64_t)a->u.i;
    if (dt_is_int(to))
        return integer(m, e, (int64_t)bits);
    return dt_is_float(to) ? real(m, e, dt_to_double(to, bits)) : e;
}

static ir_expr *unary(ir_module *m, ir_expr *e)
{
    const ir_expr *a = e->args[0];
    switch (e->op) {
    case IR_OP_NOT:
        return a->op == IR_OP_INT ? boolean(m, e, !a->u.i) : e;
    case IR_OP_BITNOT:
        return a->op == IR_OP_INT ? integer(m, e, ~a->u.i) : e;
    case IR_OP_NEG:
        if (a->op == IR_OP_FLOAT)
            return real(m, e, -a->u.f);
        if (a->op != IR_OP_INT)
            return e;
        return a->u.i == INT64_MIN ? checked(m, e, false, a->u.i) : checked(m, e, true, -a->u.i);
    case IR_OP_CAST:
        return cast(m, e);
    case IR_OP_BITCAST:
        return bitcast(m, e);
    default:
        return e;
    }
}

static ir_expr *lane(ir_expr *e)
{
    const ir_expr *v = e->args[0];
    return v->op == IR_OP_VEC && e->u.i >= 0 && e->u.i < v->arg_count ? v->args[e->u.i] : e;
}

ir_expr *ir_fold(ir_module *m, ir_expr *e)
{
    int64_t a, b;
    double x, y;
    if (e->op == IR_OP_LANE)
        return ir_has_effects(e) ? e : lane(e);
    if (e->type->kind != IR_SCALAR || !(ir_op_properties(e->op) & IR_PURE))
        return e;
    if (e->arg_count == 1)
        return e->args[0]->type->kind == IR_SCALAR ? unary(m, e) : e;
    if (e->op == IR_OP_SELECT && ir_const_int(e->args[0], &a))
        return e->args[a ? 1 : 2];
    if (e->arg_count != 2)
        return e;
    if (ir_const_int(e->args[0], &a) && ir_const_int(e->args[1], &b))
        return integers(m, e, a, b);
    if (ir_const_float(e->args[0], &x) && ir_const_float(e->args[1], &y))
        return floats(m, e, x, y);
    return e;
}
