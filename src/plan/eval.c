// Evaluation: the scalars of the IR, as the language defines them for host code.

#include "plan/plan.h"

#include <math.h>

#include "base/checked.h"
#include "base/floored.h"

uint64_t plan_canonical(plan_type t, uint64_t bits)
{
    if (t == DT_NONE)
        return bits;
    if (t == DT_BOOL)
        return bits != 0;
    if (dt_is_int(t))
        return (uint64_t)dt_wrap_int(t, (int64_t)bits);
    int width = dt_bits(t);
    return width < 64 ? bits & (((uint64_t)1 << width) - 1) : bits;
}

// ---- integers ---------------------------------------------------------------------------------------------------

static plan_trouble divide_unsigned(ir_op op, uint64_t a, uint64_t b, uint64_t *out)
{
    if (!b)
        return PLAN_ZERO_DIVISION;
    *out = op == IR_OP_FLOORDIV || op == IR_OP_TRUNCDIV ? a / b : a % b;
    return PLAN_FINE;
}

static plan_trouble divide_signed(ir_op op, int64_t a, int64_t b, uint64_t *out)
{
    if (!b)
        return PLAN_ZERO_DIVISION;
    bool is_quotient = op == IR_OP_FLOORDIV || op == IR_OP_TRUNCDIV;
    if (b == -1)
        *out = is_quotient ? 0 - (uint64_t)a : 0;
    else if (op == IR_OP_FLOORDIV || op == IR_OP_FLOORMOD)
        *out = (uint64_t)(is_quotient ? floor_div(a, b) : floor_mod(a, b));
    else
        *out = (uint64_t)(is_quotient ? a / b : a % b);
    return PLAN_FINE;
}

static uint64_t shifted(ir_op op, plan_type t, uint64_t a, uint64_t by)
{
    bool is_far = by >= (uint64_t)dt_bits(t);
    if (op == IR_OP_SHL)
        return is_far ? 0 : a << by;
    if (dt_is_signed(t))
        return (uint64_t)((int64_t)a >> (is_far ? 63 : (int)by));
    return is_far ? 0 : a >> by;
}

static bool is_less(plan_type t, uint64_t a, uint64_t b)
{
    return dt_is_signed(t) ? (int64_t)a < (int64_t)b : a < b;
}

static plan_trouble with_integers(ir_op op, plan_type t, uint64_t a, uint64_t b, uint64_t *out)
{
    switch (op) {
    case IR_OP_ADD: *out = a + b; break;
    case IR_OP_SUB: *out = a - b; break;
    case IR_OP_MUL: *out = a * b; break;
    case IR_OP_AND: *out = a & b; break;
    case IR_OP_OR: *out = a | b; break;
    case IR_OP_XOR: *out = a ^ b; break;
    case IR_OP_SHL:
    case IR_OP_SHR: *out = shifted(op, t, a, b); break;
    case IR_OP_MIN: *out = is_less(t, b, a) ? b : a; break;
    case IR_OP_MAX: *out = is_less(t, a, b) ? b : a; break;
    default:
        return dt_is_signed(t) ? divide_signed(op, (int64_t)a, (int64_t)b, out) : divide_unsigned(op, a, b, out);
    }
    return PLAN_FINE;
}

// ---- floats -----------------------------------------------------------------------------------------------------
// A double holds twice the bits of the other types and more, so that rounding its results rounds the exact ones.

static double smaller(double a, double b)
{
    return isnan(a) || b < a ? b : a;
}

static double larger(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

static double floored(ir_op op, plan_type t, double a, double b)
{
    bool is_quotient = op == IR_OP_FLOORDIV;
    if (t == DT_F64)
        return is_quotient ? floored_quotient_f64(a, b) : floored_rest_f64(a, b);
    float x = (float)a, y = (float)b;
    return (double)(is_quotient ? floored_quotient_f32(x, y) : floored_rest_f32(x, y));
}

static double with_floats(ir_op op, plan_type t, double a, double b)
{
    switch (op) {
    case IR_OP_ADD: return a + b;
    case IR_OP_SUB: return a - b;
    case IR_OP_MUL: return a * b;
    case IR_OP_DIV: return a / b;
    case IR_OP_MIN: return smaller(a, b);
    case IR_OP_MAX: return larger(a, b);
    default: return floored(op, t, a, b);
    }
}

// ---- comparisons ------------------------------------------------------------------------------------------------

static bool is_ordered(ir_op op, bool is_less, bool is_equal, bool is_more)
{
    switch (op) {
    case IR_OP_EQ: return is_equal;
    case IR_OP_NE: return !is_equal;
    case IR_OP_LT: return is_less;
    case IR_OP_LE: return is_less || is_equal;
    case IR_OP_GT: return is_more;
    default: return is_more || is_equal;
    }
}

static bool holds(ir_op op, plan_type t, uint64_t a, uint64_t b)
{
    if (t != DT_NONE && dt_is_float(t)) {
        double x = dt_to_double(t, a), y = dt_to_double(t, b);
        return is_ordered(op, x < y, x == y, x > y);
    }
    bool is_unsigned = t == DT_NONE || !dt_is_signed(t);
    bool less = is_unsigned ? a < b : (int64_t)a < (int64_t)b;
    return is_ordered(op, less, a == b, !less && a != b);
}

// ---- conversions ------------------------------------------------------------------------------------------------

// Rounds once: what a double cannot hold keeps that it is odd.
static uint64_t float_of_integer(plan_type from, plan_type to, uint64_t bits)
{
    bool is_negative = dt_is_signed(from) && (int64_t)bits < 0;
    uint64_t size = is_negative ? 0 - bits : bits;
    if (to == DT_F64)
        return dt_from_double(to, is_negative ? -(double)size : (double)size);
    if (size >> 53)
        size = (size >> 11 | ((size & 0x7ff) != 0)) << 11;
    return dt_from_double(to, is_negative ? -(double)size : (double)size);
}

// Truncates; what does not fit becomes the nearest that does, and NaN 0, as on the GPU.
static uint64_t integer_of_float(plan_type to, double value)
{
    if (isnan(value))
        return 0;
    if (dt_is_signed(to)) {
        int64_t least = dt_min(to), most = (int64_t)dt_max_bits(to);
        return (uint64_t)(value <= (double)least ? least : value >= (double)most ? most : (int64_t)value);
    }
    uint64_t most = dt_max_bits(to);
    return value <= 0 ? 0 : value >= (double)most ? most : (uint64_t)value;
}

static uint64_t converted(plan_type from, plan_type to, uint64_t bits)
{
    if (dt_is_float(from)) {
        double value = dt_to_double(from, bits);
        return to == DT_BOOL ? value != 0 : dt_is_float(to) ? dt_from_double(to, value) : integer_of_float(to, value);
    }
    return dt_is_float(to) ? float_of_integer(from, to, bits) : bits;
}

// ---- expressions ------------------------------------------------------------------------------------------------

static plan_trouble evaluate_unary(const plan_node *n, plan_type from, uint64_t a, uint64_t *out)
{
    switch (n->op) {
    case IR_OP_NEG: *out = dt_is_float(from) ? dt_from_double(from, -dt_to_double(from, a)) : 0 - a; break;
    case IR_OP_BITNOT: *out = ~a; break;
    case IR_OP_NOT: *out = !a; break;
    case IR_OP_CAST: *out = converted(from, n->type, a); break;
    default: *out = a; break;  // BITCAST
    }
    return PLAN_FINE;
}

static plan_trouble evaluate_binary(const plan_node *n, plan_type from, uint64_t a, uint64_t b, uint64_t *out)
{
    if (ir_op_properties(n->op) & IR_COMPARE) {
        *out = holds(n->op, from, a, b);
        return PLAN_FINE;
    }
    if (from != DT_NONE && dt_is_float(from)) {
        *out = dt_from_double(from, with_floats(n->op, from, dt_to_double(from, a), dt_to_double(from, b)));
        return PLAN_FINE;
    }
    return with_integers(n->op, from == DT_NONE ? DT_U64 : from, a, b, out);
}

static plan_trouble evaluate_call(const plan *p, const plan_node *n, const uint64_t *values, uint64_t *out)
{
    plan_type t = p->nodes.at[n->args[0]].type;
    double operands[PLAN_MOST_OPERANDS] = {0};
    for (int i = 0; i < plan_function_operands(n->u.function); i++) {
        uint64_t bits = 0;
        plan_trouble trouble = plan_evaluate(p, n->args[i], values, &bits);
        if (trouble)
            return trouble;
        operands[i] = dt_to_double(t, bits);
    }
    double value = plan_function_value(n->u.function, t, operands);
    *out = n->type == DT_BOOL ? value != 0 : dt_from_double(t, value);
    return PLAN_FINE;
}

// Which operand a node stands for, by its first; -1: it is computed.
static int chosen(const plan_node *n, uint64_t first)
{
    if (n->op == IR_OP_SELECT)
        return first ? 1 : 2;
    bool is_open = (n->op == IR_OP_LAND && first) || (n->op == IR_OP_LOR && !first);
    return is_open ? 1 : -1;
}

plan_trouble plan_evaluate(const plan *p, int node, const uint64_t *values, uint64_t *out)
{
    const plan_node *n = &p->nodes.at[node];
    uint64_t a = 0, b = 0;
    if (n->op == IR_OP_INT || n->op == IR_OP_VAR) {
        *out = n->op == IR_OP_INT ? n->u.bits : values[n->u.value];
        return PLAN_FINE;
    }
    if (n->op == IR_OP_INTRIN)
        return evaluate_call(p, n, values, out);
    plan_trouble trouble = plan_evaluate(p, n->args[0], values, &a);
    if (trouble)
        return trouble;
    if (n->op == IR_OP_SELECT || n->op == IR_OP_LAND || n->op == IR_OP_LOR) {
        int arm = chosen(n, a);
        *out = a;
        return arm < 0 ? PLAN_FINE : plan_evaluate(p, n->args[arm], values, out);
    }
    plan_type from = p->nodes.at[n->args[0]].type;
    if (n->args[1] >= 0)
        trouble = plan_evaluate(p, n->args[1], values, &b);
    if (!trouble)
        trouble = n->args[1] < 0 ? evaluate_unary(n, from, a, out) : evaluate_binary(n, from, a, b, out);
    *out = plan_canonical(n->type, *out);
    return trouble;
}

plan_trouble plan_bytes(const plan *p, const plan_stmt *s, const uint64_t *values, int64_t *out)
{
    int64_t bits = s->elem == DT_NONE ? 64 : dt_bits(s->elem);
    bool is_empty = false, fits = true;
    // A bool, and what is no integer, fills bytes.
    if (bits < 8 && !dt_is_int(s->elem))
        bits = 8;
    for (int i = 0; i < s->arg_count; i++) {
        uint64_t extent = 0;
        plan_trouble trouble = plan_evaluate(p, s->args[i], values, &extent);
        if (trouble)
            return trouble;
        if ((int64_t)extent < 0)
            return PLAN_NEGATIVE;
        is_empty = is_empty || !extent;
        fits = fits && mul_checked(bits, (int64_t)extent, &bits);
    }
    *out = is_empty ? 0 : (bits - 1) / 8 + 1;
    return is_empty || fits ? PLAN_FINE : PLAN_TOO_LARGE;
}
