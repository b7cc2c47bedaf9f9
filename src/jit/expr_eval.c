// A stack machine for expressions.

#include <math.h>

#include "base/checked.h"
#include "base/floored.h"
#include "jit/expr_priv.h"

const char *jit_trouble_text(jit_trouble trouble)
{
    switch (trouble) {
    case JIT_FINE: return "it is fine";
    case JIT_OVERFLOW: return "it is beyond 64 bits";
    case JIT_ZERO_DIVISION: return "it divides by zero";
    case JIT_BAD_SHIFT: return "it shifts by less than 0";
    case JIT_NOT_INTEGER:
        return "it is not an integer";
    case JIT_UNKNOWN: return "it depends on more than the parameters";
    }
    return "";
}

static jit_value integer(int64_t value)
{
    return (jit_value){.kind = JIT_INTEGER, .u.integer = value};
}

static jit_value real(double value)
{
    return (jit_value){.kind = JIT_REAL, .u.real = value};
}

static double as_real(jit_value v)
{
    return v.kind == JIT_REAL ? v.u.real : (double)v.u.integer;
}

static bool is_true(jit_value v)
{
    return v.kind == JIT_REAL ? v.u.real != 0 : v.u.integer != 0;
}

// ---- comparing -------------------------------------------------------------------------------------------------

// -1, 0, 1, or 2 where one of them is NaN. An integer and a float are compared exactly, as Python does.
static int compare_mixed(int64_t a, double b)
{
    if (isnan(b))
        return 2;
    if (b >= 0x1p63)
        return -1;
    if (b < -0x1p63)
        return 1;
    int64_t whole = (int64_t)b;
    if (a != whole)
        return a < whole ? -1 : 1;
    double rest = b - (double)whole;
    return rest > 0 ? -1 : rest < 0 ? 1 : 0;
}

static int compare(jit_value a, jit_value b)
{
    if (a.kind == JIT_INTEGER && b.kind == JIT_INTEGER)
        return (a.u.integer > b.u.integer) - (a.u.integer < b.u.integer);
    if (a.kind == JIT_INTEGER)
        return compare_mixed(a.u.integer, b.u.real);
    if (b.kind == JIT_INTEGER) {
        int order = compare_mixed(b.u.integer, a.u.real);
        return order == 2 ? 2 : -order;
    }
    if (isnan(a.u.real) || isnan(b.u.real))
        return 2;
    return (a.u.real > b.u.real) - (a.u.real < b.u.real);
}

static bool holds(jit_op_code code, int order)
{
    switch (code) {
    case JIT_OP_EQ: return order == 0;
    case JIT_OP_NE: return order != 0;
    case JIT_OP_LT: return order == -1;
    case JIT_OP_LE: return order == -1 || order == 0;
    case JIT_OP_GT: return order == 1;
    case JIT_OP_GE: return order == 0 || order == 1;
    default: return false;
    }
}

// ---- arithmetic ------------------------------------------------------------------------------------------------

static jit_trouble divide_integers(jit_op_code code, int64_t a, int64_t b, jit_value *out)
{
    if (b == 0)
        return JIT_ZERO_DIVISION;
    if (code == JIT_OP_DIV)
        *out = real((double)a / (double)b);
    else if (code == JIT_OP_MOD)
        *out = integer(floor_mod(a, b));
    else if (a == INT64_MIN && b == -1)
        return JIT_OVERFLOW;
    else
        *out = integer(floor_div(a, b));
    return JIT_FINE;
}

static jit_trouble shift(jit_op_code code, int64_t a, int64_t by, jit_value *out)
{
    if (by < 0)
        return JIT_BAD_SHIFT;
    if (code == JIT_OP_SHR) {
        *out = integer(a >> (by > 63 ? 63 : by));
        return JIT_FINE;
    }
    int64_t product = 0;
    if (a != 0 && (by > 62 || !mul_checked(a, (int64_t)1 << by, &product)))
        return JIT_OVERFLOW;
    *out = integer(product);
    return JIT_FINE;
}

static jit_trouble with_integers(jit_op_code code, int64_t a, int64_t b, jit_value *out)
{
    int64_t result = 0;
    bool fits = true;
    switch (code) {
    case JIT_OP_ADD: fits = add_checked(a, b, &result); break;
    case JIT_OP_SUB: fits = sub_checked(a, b, &result); break;
    case JIT_OP_MUL: fits = mul_checked(a, b, &result); break;
    case JIT_OP_AND: result = a & b; break;
    case JIT_OP_OR: result = a | b; break;
    case JIT_OP_XOR: result = a ^ b; break;
    case JIT_OP_SHL:
    case JIT_OP_SHR: return shift(code, a, b, out);
    default: return divide_integers(code, a, b, out);
    }
    *out = integer(result);
    return fits ? JIT_FINE : JIT_OVERFLOW;
}

static jit_trouble divide_reals(jit_op_code code, double a, double b, jit_value *out)
{
    if (b == 0)
        return JIT_ZERO_DIVISION;
    bool floors = code == JIT_OP_FLOORDIV;
    *out = real(floors ? floored_quotient_f64(a, b) : code == JIT_OP_MOD ? floored_rest_f64(a, b) : a / b);
    return JIT_FINE;
}

static jit_trouble with_reals(jit_op_code code, double a, double b, jit_value *out)
{
    switch (code) {
    case JIT_OP_ADD: *out = real(a + b); return JIT_FINE;
    case JIT_OP_SUB: *out = real(a - b); return JIT_FINE;
    case JIT_OP_MUL: *out = real(a * b); return JIT_FINE;
    case JIT_OP_DIV:
    case JIT_OP_FLOORDIV:
    case JIT_OP_MOD: return divide_reals(code, a, b, out);
    default: return JIT_NOT_INTEGER;
    }
}

static jit_trouble binary(jit_op_code code, jit_value a, jit_value b, jit_value *out)
{
    if (code >= JIT_OP_EQ && code <= JIT_OP_GE) {
        *out = integer(holds(code, compare(a, b)));
        return JIT_FINE;
    }
    if (code == JIT_OP_MIN || code == JIT_OP_MAX) {
        // min and max: of equal or unordered operands, the first.
        *out = compare(b, a) == (code == JIT_OP_MIN ? -1 : 1) ? b : a;
        return JIT_FINE;
    }
    if (a.kind == JIT_INTEGER && b.kind == JIT_INTEGER)
        return with_integers(code, a.u.integer, b.u.integer, out);
    return with_reals(code, as_real(a), as_real(b), out);
}

static jit_trouble to_integer(jit_value v, jit_value *out)
{
    if (v.kind == JIT_REAL && !(v.u.real >= -0x1p63 && v.u.real < 0x1p63))
        return isnan(v.u.real) ? JIT_NOT_INTEGER : JIT_OVERFLOW;
    *out = v.kind == JIT_REAL ? integer((int64_t)v.u.real) : v;
    return JIT_FINE;
}

static jit_trouble unary(jit_op_code code, jit_value v, jit_value *out)
{
    int64_t negative;
    switch (code) {
    case JIT_OP_NOT: *out = integer(!is_true(v)); return JIT_FINE;
    case JIT_OP_TO_BOOL: *out = integer(is_true(v)); return JIT_FINE;
    case JIT_OP_TO_FLOAT: *out = real(as_real(v)); return JIT_FINE;
    case JIT_OP_TO_INT: return to_integer(v, out);
    case JIT_OP_BITNOT:
        if (v.kind == JIT_REAL)
            return JIT_NOT_INTEGER;
        *out = integer(~v.u.integer);
        return JIT_FINE;
    default: break;
    }
    if (v.kind == JIT_REAL) {
        *out = real(-v.u.real);
        return JIT_FINE;
    }
    if (!sub_checked(0, v.u.integer, &negative))
        return JIT_OVERFLOW;
    *out = integer(negative);
    return JIT_FINE;
}

// ---- programs --------------------------------------------------------------------------------------------------

static jit_trouble read_name(const jit_value *v, jit_value *out)
{
    if (v->kind == JIT_HUGE)
        return JIT_OVERFLOW;
    if (v->kind == JIT_OTHER)
        return JIT_NOT_INTEGER;
    *out = *v;
    return JIT_FINE;
}

static jit_trouble step(const jit_op *op, const jit_value *values, jit_value *stack, int *depth)
{
    switch (op->code) {
    case JIT_OP_INTEGER: stack[(*depth)++] = integer(op->u.integer); return JIT_FINE;
    case JIT_OP_REAL: stack[(*depth)++] = real(op->u.real); return JIT_FINE;
    case JIT_OP_NAME: return read_name(&values[op->u.integer], &stack[(*depth)++]);
    case JIT_OP_HUGE: return JIT_OVERFLOW;
    default: break;
    }
    if (op->code >= JIT_OP_NEG)
        return unary(op->code, stack[*depth - 1], &stack[*depth - 1]);
    (*depth)--;
    return binary(op->code, stack[*depth - 1], stack[*depth], &stack[*depth - 1]);
}

// Whether the jump is taken. The tested value is popped if the operator says so.
static bool jumps(const jit_op *op, const jit_value *stack, int *depth)
{
    if (op->code == JIT_OP_JUMP)
        return true;
    bool top = is_true(stack[*depth - 1]), taken = op->code == JIT_OP_OR_ELSE ? top : !top;
    if (op->code == JIT_OP_JUMP_UNLESS || !taken)
        (*depth)--;
    return taken;
}

static jit_trouble run(const jit_expr *expr, const jit_value *values, int64_t *out)
{
    jit_value stack[JIT_STACK];
    int depth = 0;
    for (uint32_t i = 0; i < expr->op_count; i++) {
        const jit_op *op = &expr->ops[i];
        if (op->code >= JIT_OP_JUMP) {
            i += jumps(op, stack, &depth) ? (uint32_t)op->u.integer : 0;
            continue;
        }
        jit_trouble trouble = step(op, values, stack, &depth);
        if (trouble)
            return trouble;
    }
    if (stack[0].kind != JIT_INTEGER)
        return JIT_NOT_INTEGER;
    *out = stack[0].u.integer;
    return JIT_FINE;
}

static bool is_among(const int *list, int count, int64_t index)
{
    for (int i = 0; i < count; i++) {
        if (list[i] == index)
            return true;
    }
    return false;
}

int jit_expr_names(const jit_expr *expr, int *out, int most)
{
    int count = 0;
    for (uint32_t i = 0; i < expr->op_count && count < most; i++) {
        const jit_op *op = &expr->ops[i];
        if (op->code == JIT_OP_NAME && !is_among(out, count, op->u.integer))
            out[count++] = (int)op->u.integer;
    }
    return count;
}

jit_trouble jit_expr_evaluate(const jit_expr *expr, const jit_value *values, int64_t *out)
{
    jit_value value;
    switch (expr->kind) {
    case JIT_EXPR_UNKNOWN: return JIT_UNKNOWN;
    case JIT_EXPR_NUMBER: *out = expr->number; return JIT_FINE;
    case JIT_EXPR_TEXT: return run(expr, values, out);
    case JIT_EXPR_NAME: break;
    }
    jit_trouble trouble = read_name(&values[expr->number], &value);
    if (!trouble && value.kind != JIT_INTEGER)
        trouble = JIT_NOT_INTEGER;
    if (!trouble)
        *out = value.u.integer;
    return trouble;
}
