// Equality of values of expressions, and a total order of expressions.
#include "ir/linear_priv.h"

static bool same_leaf(const ir_expr *a, const ir_expr *b)
{
    switch (a->op) {
    case IR_OP_INT:
    case IR_OP_SREG:
        return a->u.i == b->u.i;
    case IR_OP_VAR:
        return a->u.var == b->u.var;
    default:
        return ir_expr_equal(a, b);
    }
}

// Casts that keep every value do not count.
static const ir_expr *without_widening(const ir_expr *e)
{
    while (e->op == IR_OP_CAST && ir_is_integer(e->args[0]->type) && ir_is_integer(e->type) &&
           dt_converts_exactly(e->args[0]->type->scalar, e->type->scalar))
        e = e->args[0];
    return e;
}

// The mathematical value does not depend on the width: signed arithmetic without overflow, and constants.
static bool width_matters(const ir_expr *a, const ir_expr *b)
{
    if (a->type == b->type)
        return false;
    bool index_types = ir_is_integer(a->type) && ir_is_integer(b->type) && dt_is_signed(a->type->scalar) &&
                       dt_is_signed(b->type->scalar) && dt_bits(a->type->scalar) >= 32 &&
                       dt_bits(b->type->scalar) >= 32;
    return !index_types || (a->op != IR_OP_INT && a->op != IR_OP_ADD && a->op != IR_OP_SUB && a->op != IR_OP_MUL);
}

// Reads of memory are the same only if they are one node: another thread may write between two of them. A mutable
// variable has one value at one point.
bool ir_same_value(const ir_expr *a, const ir_expr *b)
{
    a = without_widening(a);
    b = without_widening(b);
    if (a == b)
        return true;
    if (a->op != b->op || a->arg_count != b->arg_count || width_matters(a, b))
        return false;
    if (!a->arg_count)
        return same_leaf(a, b);
    bool plain =
        (ir_op_properties(a->op) & IR_PURE) && a->op != IR_OP_ADDR && a->op != IR_OP_TILE && a->op != IR_OP_LANE;
    if (!plain)
        return ir_expr_equal(a, b);
    for (int i = 0; i < a->arg_count; i++)
        if (!ir_same_value(a->args[i], b->args[i]))
            return false;
    return true;
}

int ir_expr_order(const ir_expr *a, const ir_expr *b)
{
    if (a == b)
        return 0;
    if (a->op != b->op)
        return a->op < b->op ? -1 : 1;
    if (a->arg_count != b->arg_count)
        return a->arg_count < b->arg_count ? -1 : 1;
    if (a->op == IR_OP_VAR || a->op == IR_OP_LOAD)
        if (a->u.var->id != b->u.var->id)
            return a->u.var->id < b->u.var->id ? -1 : 1;
    if ((a->op == IR_OP_INT || a->op == IR_OP_SREG) && a->u.i != b->u.i)
        return a->u.i < b->u.i ? -1 : 1;
    for (int i = 0; i < a->arg_count; i++) {
        int by_arg = ir_expr_order(a->args[i], b->args[i]);
        if (by_arg)
            return by_arg;
    }
    return 0;
}
