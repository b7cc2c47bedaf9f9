// Operators: Python's on compile-time values, typed ones on run-time values (promotion: lang/reference.md, "Numbers").
#include "typecheck/eval/eval.h"
#include "typecheck/values/number.h"

#include <math.h>
#include <string.h>

// ---- compile-time ------------------------------------------------------------------------------------------------

static tc_value repeat_sequence(tc *tx, tc_value seq, tc_int times, src_span span)
{
    size_t len = seq.kind == TC_STR ? seq.s.len : seq.list->len;
    if (times > 0 && (times > 1000000 || (tc_int)len * times > 10000000))
        return TC_ERR(tx, HDS0123, span);
    if (seq.kind == TC_STR) {
        str_buf b;
        str_buf_init(&b, tx->arena);
        for (tc_int i = 0; i < times; i++)
            str_add(&b, seq.s);
        return tc_str((str){str_text(&b), b.len});
    }
    tc_value r = tc_list_new(tx, seq.kind, NULL, 0);
    for (tc_int i = 0; i < times; i++)
        for (size_t j = 0; j < len; j++)
            tc_list_push(tx, r.list, seq.list->at[j]);
    return r;
}

static tc_value concat(tc *tx, tc_value a, tc_value b)
{
    if (a.kind == TC_STR) {
        str_buf both;
        str_buf_init(&both, tx->arena);
        str_add(&both, a.s);
        str_add(&both, b.s);
        return tc_str((str){str_text(&both), both.len});
    }
    tc_value r = tc_list_new(tx, a.kind, a.list->at, a.list->len);
    for (size_t i = 0; i < b.list->len; i++)
        tc_list_push(tx, r.list, b.list->at[i]);
    return r;
}

static bool is_sequence(tc_value v)
{
    return v.kind == TC_STR || v.kind == TC_TUPLE || v.kind == TC_LIST;
}

// False after an error.
static bool is_item(tc *tx, const tc_list *items, tc_value v, bool *found)
{
    size_t at;
    bool ok = tc_find_item(tx, items, v, &at);
    *found = ok && at < items->len;
    return ok;
}

static tc_value set_binary(tc *tx, ast_op op, tc_value a, tc_value b)
{
    tc_value r = tc_list_new(tx, TC_SET, NULL, 0);
    for (size_t i = 0; i < a.list->len; i++) {
        bool in_b = false;
        if (op != AST_OP_OR && !is_item(tx, b.list, a.list->at[i], &in_b))
            return tc_poison();
        if (op == AST_OP_OR || (op == AST_OP_AND) == in_b) // - and ^ keep what is in the first alone
            tc_list_push(tx, r.list, a.list->at[i]);
    }
    for (size_t j = 0; (op == AST_OP_OR || op == AST_OP_XOR) && j < b.list->len; j++) {
        bool in_a;
        if (!is_item(tx, a.list, b.list->at[j], &in_a))
            return tc_poison();
        if (!in_a)
            tc_list_push(tx, r.list, b.list->at[j]);
    }
    return r;
}

static tc_value mapping_error(tc *tx, tm_reason why, src_span span)
{
    return TC_ERR(tx, HDS0124, span, tm_reason_text(why));
}

static tc_value compose(tc *tx, tc_value a, tc_value b, src_span span)
{
    tm_reason why = TM_OK;
    if (a.kind == TC_MAP && b.kind == TC_MAP) {
        const tm_map *m = tm_compose(tx->ir->arena, a.map, b.map, &why);
        if (m)
            return tc_map_value(m);
        diag *d = tc_error(tx, HDS0124, span, tm_reason_text(why));
        diag_under(d, "%s over %s", arena_printf(tx->arena, "rank %d", a.map->rank),
                   arena_printf(tx->arena, "rank %d", b.map->rank));
        return tc_poison();
    }
    const tm_layout *l = tm_layout_compose(tx->ir->arena, a.layout, b.layout, &why);
    return l ? tc_layout_value(l) : mapping_error(tx, why, span);
}

static tc_value layout_concat(tc *tx, tc_value a, tc_value b, src_span span)
{
    tm_reason why = TM_OK;
    const tm_layout *l = tm_layout_concat(tx->ir->arena, a.layout, b.layout, &why);
    return l ? tc_layout_value(l) : mapping_error(tx, why, span);
}

static tc_value ct_binary(tc *tx, ast_op op, tc_value a, tc_value b, src_span span)
{
    if (tc_is_number(a) && tc_is_number(b)) {
        bool bits = op >= AST_OP_SHL && op <= AST_OP_XOR;
        if (a.kind == TC_BOOL && b.kind == TC_BOOL && op >= AST_OP_AND && op <= AST_OP_XOR)
            return tc_bool(op == AST_OP_AND ? a.b && b.b : op == AST_OP_OR ? a.b || b.b : a.b != b.b);
        bool whole = a.kind != TC_FLOAT && b.kind != TC_FLOAT;
        if (op != AST_OP_MATMUL && (whole || !bits))
            return tc_number_binary(tx, op, a, b, span);
    }
    if (op == AST_OP_ADD && is_sequence(a) && a.kind == b.kind)
        return concat(tx, a, b);
    if (op == AST_OP_MUL && is_sequence(a) && (b.kind == TC_INT || b.kind == TC_BOOL))
        return repeat_sequence(tx, a, tc_to_int(b), span);
    if (op == AST_OP_MUL && is_sequence(b) && (a.kind == TC_INT || a.kind == TC_BOOL))
        return repeat_sequence(tx, b, tc_to_int(a), span);
    if (op == AST_OP_MUL && a.kind == b.kind && (a.kind == TC_MAP || a.kind == TC_LAYOUT))
        return compose(tx, a, b, span);
    if (op == AST_OP_ADD && a.kind == TC_LAYOUT && b.kind == TC_LAYOUT)
        return layout_concat(tx, a, b, span);
    if (a.kind == TC_SET && b.kind == TC_SET &&
        (op == AST_OP_AND || op == AST_OP_OR || op == AST_OP_XOR || op == AST_OP_SUB))
        return set_binary(tx, op, a, b);
    if (op == AST_OP_OR && a.kind == TC_DICT && b.kind == TC_DICT) {
        tc_value r = tc_dict_new(tx);
        for (size_t i = 0; i < a.dict->keys.len; i++)
            tc_dict_put(tx, r.dict, a.dict->keys.at[i], a.dict->values.at[i]);
        for (size_t i = 0; i < b.dict->keys.len; i++)
            tc_dict_put(tx, r.dict, b.dict->keys.at[i], b.dict->values.at[i]);
        return r;
    }
    diag *d = tc_error(tx, HDS0125, span, ast_op_text(op), tc_describe(tx, a), tc_describe(tx, b));
    if (a.kind == TC_TENSOR || b.kind == TC_TENSOR)
        diag_help(
            d,
            "elementwise arithmetic on whole tensors needs register tensors; for others, write a loop over elements");
    return tc_poison();
}

// ---- run-time ----------------------------------------------------------------------------------------------------

// The common type of two operands, of which at least one is RT; literals adapt to the other side.
static const ir_type *common_type(tc *tx, tc_value a, tc_value b)
{
    const ir_type *ta = tc_default_type(tx, a), *tb = tc_default_type(tx, b);
    if (!ta || !tb)
        return NULL;
    if (ta->kind == IR_VECTOR || tb->kind == IR_VECTOR) {
        const ir_type *v = ta->kind == IR_VECTOR ? ta : tb;
        return ta->kind == tb->kind && ta != tb ? NULL : v;
    }
    if (ta->kind != IR_SCALAR || tb->kind != IR_SCALAR)
        return NULL;
    if (a.kind != TC_RT || b.kind != TC_RT) {
        tc_value literal = a.kind == TC_RT ? b : a;
        const ir_type *other = a.kind == TC_RT ? ta : tb;
        dtype t = other->scalar;
        bool is_real = dt_is_float(t) || t == DT_C64;
        if (is_real)
            return other;
        if (literal.kind == TC_INT && dt_is_int(t)) {
            tc_int i = literal.i;
            if (t == DT_U64 ? i >= 0 : i >= INT64_MIN && i <= INT64_MAX && dt_holds_int(t, (int64_t)i))
                return other;
        }
        if (literal.kind == TC_BOOL && dt_is_int(t))
            return other;
    }
    dtype t = dt_promote(ta->scalar, tb->scalar);
    return t == DT_NONE ? NULL : ir_scalar(tx->ir, t);
}

static bool is_int_type(const ir_type *t)
{
    return t->kind == IR_SCALAR && (dt_is_int(t->scalar) || t->scalar == DT_BOOL);
}

static ir_op arithmetic_op(ast_op op)
{
    switch (op) {
    case AST_OP_ADD:
        return IR_OP_ADD;
    case AST_OP_SUB:
        return IR_OP_SUB;
    case AST_OP_MUL:
        return IR_OP_MUL;
    case AST_OP_DIV:
        return IR_OP_DIV;
    case AST_OP_FLOORDIV:
        return IR_OP_FLOORDIV;
    case AST_OP_MOD:
        return IR_OP_FLOORMOD;
    case AST_OP_SHL:
        return IR_OP_SHL;
    case AST_OP_SHR:
        return IR_OP_SHR;
    case AST_OP_AND:
        return IR_OP_AND;
    case AST_OP_OR:
        return IR_OP_OR;
    case AST_OP_XOR:
        return IR_OP_XOR;
    default:
        return IR_OP__COUNT;
    }
}

static tc_value operands_error(tc *tx, ast_op op, tc_value a, tc_value b, src_span span)
{
    diag *d = tc_error(tx, HDS0125, span, ast_op_text(op), tc_describe(tx, a), tc_describe(tx, b));
    const ir_type *ta = tc_default_type(tx, a), *tb = tc_default_type(tx, b);
    if (a.kind == TC_TENSOR || b.kind == TC_TENSOR)
        diag_help(
            d,
            "elementwise arithmetic on whole tensors needs register tensors; for others, write a loop over elements");
    if (ta && tb && ta->kind == IR_SCALAR && tb->kind == IR_SCALAR && ta != tb)
        diag_help(d, "convert one of them, for example %s(…)",
                  dt_name(dt_bits(ta->scalar) > dt_bits(tb->scalar) ? ta->scalar : tb->scalar));
    return tc_poison();
}

static tc_value pointer_binary(tc *tx, ast_op op, tc_value a, tc_value b, src_span span)
{
    if (op == AST_OP_ADD && b.kind == TC_RT && b.rt->type->kind == IR_POINTER) {
        tc_value swap = a;
        a = b;
        b = swap;
    }
    if (a.kind != TC_RT || a.rt->type->kind != IR_POINTER || !tc_is_index(b) || (op != AST_OP_ADD && op != AST_OP_SUB))
        return operands_error(tx, op, a, b, span);
    ir_expr *offset = tc_to_index(tx, b, span);
    if (!offset)
        return tc_poison();
    if (op == AST_OP_SUB)
        offset = ir_unary(tx->ir, IR_OP_NEG, offset, span);
    return tc_rt(ir_binary(tx->ir, IR_OP_ADD, a.rt, offset, span));
}

// x ** n for small constant n: multiplications in the order of repeated squaring.
static tc_value power_expand(tc *tx, tc_value x, int64_t n, src_span span)
{
    if (n == 0)
        return tc_rt(dt_is_float(x.rt->type->scalar) ? ir_float(tx->ir, x.rt->type->scalar, 1)
                                                     : ir_int(tx->ir, x.rt->type->scalar, 1));
    ir_expr *square = tc_keep(tx, x.rt, "base", span), *result = NULL;
    for (; n; n >>= 1) {
        if (n & 1)
            result = result ? ir_binary(tx->ir, IR_OP_MUL, result, square, span) : square;
        if (n > 1)
            square = tc_keep(tx, ir_binary(tx->ir, IR_OP_MUL, square, square, span), "square", span);
    }
    return tc_rt(result);
}

static tc_value power(tc *tx, tc_value a, tc_value b, src_span span)
{
    int64_t n;
    if (a.kind == TC_RT && a.rt->type->kind == IR_SCALAR && tc_as_int64(b, &n) && n >= 0 && n <= 16)
        return power_expand(tx, a, n, span);
    const ir_type *t = common_type(tx, a, b);
    if (!t || t->kind != IR_SCALAR)
        return operands_error(tx, AST_OP_POW, a, b, span);
    if (!dt_is_float(t->scalar)) {
        diag *d = tc_error(tx, HDS0125, span, "**", tc_describe(tx, a), tc_describe(tx, b));
        diag_help(d, "the exponent of an integer is a known number from 0 to 16; otherwise convert: f32(a) ** b");
        return tc_poison();
    }
    if (a.kind == TC_RT && a.rt->type == t && b.kind == TC_FLOAT && b.f >= 0 && b.f <= 16 && b.f == floor(b.f))
        return power_expand(tx, a, (int)b.f, span);
    tc_value pow_function = tc_library(tx, "hidet.lang.math", "pow", span);
    ir_expr *x = tc_cast(tx, a, t, span), *y = tc_cast(tx, b, t, span);
    if (!x || !y)
        return tc_poison();
    tc_value args[2] = {tc_rt(x), tc_rt(y)};
    return tc_is_poison(pow_function) ? pow_function : tc_call_values(tx, pow_function, args, 2, span);
}

static ir_expr *lane_of(tc *tx, tc_value v, int i, const ir_type *vector, src_span span)
{
    if (v.kind == TC_RT && v.rt->type->kind == IR_VECTOR) {
        ir_expr *e = ir_new_expr(tx->ir, IR_OP_LANE, ir_scalar(tx->ir, vector->scalar), span, 1);
        e->args[0] = v.rt;
        e->u.i = i;
        return e;
    }
    return tc_convert(tx, v, ir_scalar(tx->ir, vector->scalar), span, "operand");
}

static tc_value vector_binary(tc *tx, ast_op op, tc_value a, tc_value b, const ir_type *vector, src_span span)
{
    if (a.kind == TC_RT)
        a = tc_rt(tc_keep(tx, a.rt, NULL, span));
    if (b.kind == TC_RT)
        b = tc_rt(tc_keep(tx, b.rt, NULL, span));
    ir_expr *result = ir_new_expr(tx->ir, IR_OP_VEC, vector, span, vector->lanes);
    for (int i = 0; i < vector->lanes; i++) {
        ir_expr *x = lane_of(tx, a, i, vector, span), *y = lane_of(tx, b, i, vector, span);
        if (!x || !y)
            return tc_poison();
        tc_value lane = tc_binary(tx, op, tc_rt(x), tc_rt(y), span);
        if (lane.kind != TC_RT)
            return tc_poison();
        result->args[i] = lane.rt;
    }
    return tc_rt(result);
}

static tc_value int_division_error(tc *tx, src_span span)
{
    diag *d = tc_error(tx, HDS0126, span);
    diag_help(d, "write '//' for the integer quotient, or convert one operand: f32(a) / b");
    return tc_poison();
}

static tc_value check_constant_divisor(tc *tx, ast_op op, tc_value b, const ir_type *t, src_span span)
{
    bool zero = (b.kind == TC_INT && b.i == 0) || (b.kind == TC_BOOL && !b.b);
    if (zero && (op == AST_OP_FLOORDIV || op == AST_OP_MOD) && is_int_type(t))
        return TC_ERR(tx, HDS0121, span);
    int64_t shift;
    if ((op == AST_OP_SHL || op == AST_OP_SHR) && tc_as_int64(b, &shift) && (shift < 0 || shift >= dt_bits(t->scalar)))
        return TC_ERR(tx, HDS0122, span, tc_text(tx, b));
    return tc_none();
}

static tc_value rt_binary(tc *tx, ast_op op, tc_value a, tc_value b, src_span span)
{
    if (op == AST_OP_POW)
        return power(tx, a, b, span);
    bool has_pointer =
        (a.kind == TC_RT && a.rt->type->kind == IR_POINTER) || (b.kind == TC_RT && b.rt->type->kind == IR_POINTER);
    if (has_pointer)
        return pointer_binary(tx, op, a, b, span);
    bool shifts = op == AST_OP_SHL || op == AST_OP_SHR;
    const ir_type *t = shifts && a.kind == TC_RT ? a.rt->type : common_type(tx, a, b);
    if (!t || op == AST_OP_MATMUL || (shifts && !tc_is_index(b)))
        return operands_error(tx, op, a, b, span);
    if (t->kind == IR_VECTOR)
        return vector_binary(tx, op, a, b, t, span);
    bool bitwise = op >= AST_OP_SHL && op <= AST_OP_XOR;
    if (t->scalar == DT_BOOL && !(op >= AST_OP_AND && op <= AST_OP_XOR))
        t = ir_scalar(tx->ir, DT_I32);
    if (bitwise && !is_int_type(t))
        return operands_error(tx, op, a, b, span);
    if (op == AST_OP_DIV && is_int_type(t))
        return int_division_error(tx, span);
    if (tc_is_poison(check_constant_divisor(tx, op, b, t, span)))
        return tc_poison();
    ir_expr *x = tc_cast(tx, a, t, span);
    ir_expr *y = shifts ? tc_default_rt(tx, b, span) : tc_cast(tx, b, t, span);
    if (!x || !y)
        return tc_poison();
    if (shifts && y->type != t)
        y = ir_cast(tx->ir, y, t, span);
    return tc_rt(ir_binary(tx->ir, arithmetic_op(op), x, y, span));
}

const char *tc_special_name(ast_op op)
{
    static const char *const names[AST_OP__COUNT] = {[AST_OP_ADD] = "add",
                                                     [AST_OP_SUB] = "sub",
                                                     [AST_OP_MUL] = "mul",
                                                     [AST_OP_DIV] = "truediv",
                                                     [AST_OP_FLOORDIV] = "floordiv",
                                                     [AST_OP_MOD] = "mod",
                                                     [AST_OP_POW] = "pow",
                                                     [AST_OP_MATMUL] = "matmul",
                                                     [AST_OP_SHL] = "lshift",
                                                     [AST_OP_SHR] = "rshift",
                                                     [AST_OP_AND] = "and",
                                                     [AST_OP_OR] = "or",
                                                     [AST_OP_XOR] = "xor",
                                                     [AST_OP_NEG] = "neg",
                                                     [AST_OP_POS] = "pos",
                                                     [AST_OP_INVERT] = "invert",
                                                     [AST_OP_EQ] = "eq",
                                                     [AST_OP_NE] = "ne",
                                                     [AST_OP_LT] = "lt",
                                                     [AST_OP_LE] = "le",
                                                     [AST_OP_GT] = "gt",
                                                     [AST_OP_GE] = "ge",
                                                     [AST_OP_IN] = "contains"};
    return names[op];
}

static bool dunder_binary(tc *tx, ast_op op, tc_value a, tc_value b, src_span span, tc_value *out)
{
    if (!tc_special_name(op))
        return false;
    bool found = false;
    if (a.kind == TC_RECORD) {
        *out = tc_record_dunder(tx, a, arena_printf(tx->arena, "__%s__", tc_special_name(op)), &b, 1, span, &found);
        if (found)
            return true;
    }
    bool same_class =
        a.kind == b.kind && a.record->class->decl == b.record->class->decl; // as in Python, not asked again
    if (b.kind == TC_RECORD && !same_class) {
        *out = tc_record_dunder(tx, b, arena_printf(tx->arena, "__r%s__", tc_special_name(op)), &a, 1, span, &found);
        if (found)
            return true;
    }
    return false;
}

// Element-wise operators over register tensors of one mapping make a new one.
static tc_value tensor_binary(tc *tx, ast_op op, tc_value a, tc_value b, src_span span)
{
    tc_value f = tc_library(tx, "hidet.lang.registers", "elementwise", span);
    if (tc_is_poison(f))
        return f;
    tc_value args[3] = {tc_str(str_of(ast_op_text(op))), a, b};
    return tc_call_values(tx, f, args, 3, span);
}

static bool is_register_tensor(tc_value v)
{
    return v.kind == TC_TENSOR && v.tensor->map;
}

// Records that stand for integers become these. False after an error.
static bool both_indices(tc *tx, tc_value *a, tc_value *b, src_span span)
{
    *a = tc_as_index(tx, *a, span);
    *b = tc_as_index(tx, *b, span);
    return !tc_is_poison(*a) && !tc_is_poison(*b);
}

tc_value tc_binary(tc *tx, ast_op op, tc_value a, tc_value b, src_span span)
{
    if (tc_is_poison(a) || tc_is_poison(b))
        return tc_poison();
    tc_value result;
    if ((a.kind == TC_RECORD || b.kind == TC_RECORD) && dunder_binary(tx, op, a, b, span, &result))
        return result;
    if (!both_indices(tx, &a, &b, span))
        return tc_poison();
    if (is_register_tensor(a) || is_register_tensor(b))
        return tensor_binary(tx, op, a, b, span);
    if (a.kind == TC_RT || b.kind == TC_RT)
        return rt_binary(tx, op, a, b, span);
    return ct_binary(tx, op, a, b, span);
}

tc_value tc_size_sub(tc *tx, tc_value a, tc_value b, src_span span)
{
    return tc_binary(tx, AST_OP_SUB, a, b, span);
}

static tc_value vector_negated(tc *tx, tc_value a, src_span span)
{
    const ir_type *t = a.rt->type;
    a = tc_rt(tc_keep(tx, a.rt, NULL, span));
    ir_expr *result = ir_new_expr(tx->ir, IR_OP_VEC, t, span, t->lanes);
    for (int i = 0; i < t->lanes; i++)
        result->args[i] = ir_unary(tx->ir, IR_OP_NEG, lane_of(tx, a, i, t, span), span);
    return tc_rt(result);
}

// -1 * x keeps the sign of a zero, which 0 - x does not.
static tc_value tensor_negated(tc *tx, tc_value a, src_span span)
{
    const ir_type *elem = a.tensor->base->tensor->elem;
    bool is_float = elem->kind == IR_SCALAR && dt_is_float(elem->scalar);
    return is_float ? tensor_binary(tx, AST_OP_MUL, tc_of_int(-1), a, span)
                    : tensor_binary(tx, AST_OP_SUB, tc_of_int(0), a, span);
}

static tc_value rt_unary(tc *tx, ast_op op, tc_value a, src_span span)
{
    const ir_type *t = a.rt->type;
    if (op == AST_OP_NOT) {
        ir_expr *c = tc_condition(tx, a, span);
        return c ? tc_rt(ir_unary(tx->ir, IR_OP_NOT, c, span)) : tc_poison();
    }
    if (t->kind == IR_VECTOR && op == AST_OP_NEG)
        return vector_negated(tx, a, span);
    if (t->kind != IR_SCALAR)
        return TC_ERR(tx, HDS0127, span, ast_op_text(op), tc_describe(tx, a));
    if (t->scalar == DT_BOOL && op != AST_OP_INVERT) {
        t = ir_scalar(tx->ir, DT_I32);
        a = tc_rt(ir_cast(tx->ir, a.rt, t, span));
    }
    switch (op) {
    case AST_OP_POS:
        return a;
    case AST_OP_NEG:
        return tc_rt(ir_unary(tx->ir, IR_OP_NEG, a.rt, span));
    case AST_OP_INVERT:
        if (dt_is_int(t->scalar))
            return tc_rt(ir_unary(tx->ir, IR_OP_BITNOT, a.rt, span));
        if (t->scalar == DT_BOOL)
            return tc_rt(ir_unary(tx->ir, IR_OP_NOT, a.rt, span));
        return TC_ERR(tx, HDS0127, span, "~", tc_describe(tx, a));
    default:
        return tc_poison();
    }
}

tc_value tc_unary(tc *tx, ast_op op, tc_value a, src_span span)
{
    if (tc_is_poison(a))
        return a;
    bool truth;
    if (op == AST_OP_NOT && tc_truth_of(tx, &a, span, &truth))
        return tc_bool(!truth);
    if (a.kind == TC_RECORD) {
        bool found = false;
        tc_value r =
            tc_record_dunder(tx, a, arena_printf(tx->arena, "__%s__", tc_special_name(op)), NULL, 0, span, &found);
        if (found)
            return r;
    }
    a = tc_as_index(tx, a, span);
    if (tc_is_poison(a))
        return a;
    if (a.kind == TC_RT)
        return rt_unary(tx, op, a, span);
    if (a.kind == TC_FLOAT && op != AST_OP_INVERT)
        return tc_float(op == AST_OP_NEG ? -a.f : a.f);
    if (tc_is_number(a) && a.kind != TC_FLOAT) {
        tc_int i = tc_to_int(a), r;
        if (op == AST_OP_NEG)
            return __builtin_sub_overflow((tc_int)0, i, &r) ? TC_ERR(tx, HDS0120, span) : tc_of_int(r);
        return tc_of_int(op == AST_OP_INVERT ? ~i : i);
    }
    if (op == AST_OP_INVERT && a.kind == TC_TYPE)
        return tc_type(ir_pointer(tx->ir, a.type, IR_GENERIC));
    if (op == AST_OP_INVERT && a.kind == TC_TENSOR_TYPE)
        return tc_type(ir_pointer(tx->ir, a.tensor_type->elem, a.tensor_type->space));
    if (is_register_tensor(a) && op == AST_OP_NEG)
        return tensor_negated(tx, a, span);
    if (a.kind == TC_TENSOR && op == AST_OP_INVERT)
        return tc_tensor_address(tx, a.tensor, NULL, 0, span);
    return TC_ERR(tx, HDS0127, span, ast_op_text(op), tc_describe(tx, a));
}

// ---- comparisons -------------------------------------------------------------------------------------------------

static int compare_str(str a, str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n ? memcmp(a.at, b.at, n) : 0;
    return c ? c : a.len < b.len ? -1 : a.len > b.len;
}

static bool ct_order(tc_value a, tc_value b, int *out, bool *unordered)
{
    *unordered = false;
    if (tc_is_number(a) && tc_is_number(b)) {
        *out = tc_number_order(a, b, unordered);
        return true;
    }
    if (a.kind == TC_STR && b.kind == TC_STR) {
        *out = compare_str(a.s, b.s);
        return true;
    }
    return false;
}

// The first items that differ decide, or else the lengths.
static tc_value order_sequences(tc *tx, ast_op op, const tc_list *a, const tc_list *b, src_span span)
{
    for (size_t i = 0; i < a->len && i < b->len; i++) {
        bool equal;
        if (!tc_items_equal(tx, a->at[i], b->at[i], &equal))
            return tc_poison();
        if (!equal)
            return tc_compare(tx, op, a->at[i], b->at[i], span);
    }
    return tc_compare(tx, op, tc_of_int((tc_int)a->len), tc_of_int((tc_int)b->len), span);
}

// < and its kin between sets ask which contains the other.
static tc_value set_order(tc *tx, ast_op op, tc_value a, tc_value b)
{
    bool reversed = op == AST_OP_GT || op == AST_OP_GE, contained;
    const tc_list *small = reversed ? b.list : a.list, *large = reversed ? a.list : b.list;
    if (!tc_sets_ordered(tx, small, large, &contained))
        return tc_poison();
    return tc_bool(contained && (op == AST_OP_LE || op == AST_OP_GE || small->len < large->len));
}

static tc_value known_item(tc *tx, const tc_list *items, tc_value v)
{
    bool found;
    return is_item(tx, items, v, &found) ? tc_bool(found) : tc_poison();
}

static bool is_in_range(const tc_range *r, tc_value item)
{
    enum { EXACT = 53 }; // bits of a float's integers
    tc_int distance;
    bool is_whole = item.kind == TC_FLOAT && item.f == floor(item.f) && fabs(item.f) <= (double)((int64_t)1 << EXACT);
    if (item.kind != TC_INT && item.kind != TC_BOOL && !is_whole)
        return false;
    tc_int i = is_whole ? (tc_int)item.f : tc_to_int(item);
    bool inside = r->step > 0 ? i >= r->start && i < r->stop : i <= r->start && i > r->stop;
    return inside && !__builtin_sub_overflow(i, r->start, &distance) && (r->step == -1 || distance % r->step == 0);
}

static tc_value contains(tc *tx, tc_value item, tc_value in, src_span span)
{
    if (in.kind == TC_STR && item.kind == TC_STR)
        return tc_bool(item.s.len == 0 || (in.s.len && memmem(in.s.at, in.s.len, item.s.at, item.s.len)));
    if (in.kind == TC_DICT)
        return known_item(tx, &in.dict->keys, item);
    if (in.kind == TC_RANGE && item.kind != TC_RECORD && tc_is_compile_time(item) && !in.range->bounds[0])
        return tc_bool(is_in_range(in.range, item));
    if (in.kind == TC_RANGE && item.kind == TC_RECORD && !in.range->bounds[0]) {
        tc_value items = tc_list_new(tx, TC_LIST, NULL, 0);
        return tc_iterate(tx, in, span, items.list) ? known_item(tx, items.list, item) : tc_poison();
    }
    if (in.kind == TC_TUPLE || in.kind == TC_LIST || in.kind == TC_SET) {
        if (!tc_is_compile_time(item) || !tc_is_compile_time(in)) {
            tc_value any = tc_bool(false);
            for (size_t i = 0; i < in.list->len; i++) {
                bool swap = in.list->at[i].kind == TC_RECORD; // the item's method is asked, as in Python
                tc_value left = swap ? in.list->at[i] : item, right = swap ? item : in.list->at[i];
                tc_value equal = tc_compare(tx, AST_OP_EQ, left, right, span);
                ir_expr *x = tc_condition(tx, any, span), *y = tc_condition(tx, equal, span);
                if (!x || !y)
                    return tc_poison();
                any = any.kind == TC_BOOL ? (any.b ? any : equal) : tc_rt(ir_binary(tx->ir, IR_OP_LOR, x, y, span));
            }
            return any;
        }
        return known_item(tx, in.list, item);
    }
    if (in.kind == TC_RECORD)
        return tc_record_contains(tx, in, item, span);
    return TC_ERR(tx, HDS0125, span, "in", tc_describe(tx, item), tc_describe(tx, in));
}

static ir_op comparison_op(ast_op op)
{
    switch (op) {
    case AST_OP_EQ:
        return IR_OP_EQ;
    case AST_OP_NE:
        return IR_OP_NE;
    case AST_OP_LT:
        return IR_OP_LT;
    case AST_OP_LE:
        return IR_OP_LE;
    case AST_OP_GT:
        return IR_OP_GT;
    default:
        return IR_OP_GE;
    }
}

static tc_value rt_compare(tc *tx, ast_op op, tc_value a, tc_value b, src_span span)
{
    if (op == AST_OP_IS || op == AST_OP_IS_NOT) {
        if (a.kind == TC_NONE || b.kind == TC_NONE)
            return tc_bool(op == AST_OP_IS_NOT);
        return TC_ERR(tx, HDS0125, span, ast_op_text(op), tc_describe(tx, a), tc_describe(tx, b));
    }
    bool is_known;
    if (tc_in_graph(tx) && tc_known_order(tx, op, a, b, &is_known))
        return tc_bool(is_known);
    const ir_type *ta = tc_default_type(tx, a), *tb = tc_default_type(tx, b);
    if (ta && tb && ta->kind == IR_POINTER && tb->kind == IR_POINTER) {
        const ir_type *word = ir_scalar(tx->ir, DT_U64);
        return tc_rt(ir_binary(tx->ir, comparison_op(op), tc_pointer_cast(tx, a.rt, word, span),
                               tc_pointer_cast(tx, b.rt, word, span), span));
    }
    const ir_type *t = common_type(tx, a, b);
    if (!t || t->kind != IR_SCALAR)
        return operands_error(tx, op, a, b, span);
    ir_expr *x = tc_cast(tx, a, t, span), *y = tc_cast(tx, b, t, span);
    if (!x || !y)
        return tc_poison();
    ir_expr *holds = ir_binary(tx->ir, comparison_op(op), x, y, span);
    int64_t known;
    return tc_known_on_host(tx, holds, &known) ? tc_bool(known != 0) : tc_rt(holds);
}

// == and != of sequences with run-time items: item by item. Tensors, and records without '__eq__', have no equality.
static tc_value compare_parts(tc *tx, ast_op op, tc_value a, tc_value b, src_span span)
{
    bool sequences = (a.kind == TC_TUPLE || a.kind == TC_LIST) && a.kind == b.kind;
    if (!sequences) {
        bool never = a.kind != b.kind && (a.kind == TC_NONE || b.kind == TC_NONE);
        if (never)
            return tc_bool(op == AST_OP_NE);
        diag *d = tc_error(tx, HDS0125, span, ast_op_text(op), tc_describe(tx, a), tc_describe(tx, b));
        if (a.kind == TC_TENSOR || b.kind == TC_TENSOR)
            diag_help(d, "tensors are compared element by element");
        else if (a.kind == TC_RECORD)
            diag_help(d, "give the class '%s' an '__eq__'", a.record->class->name->text);
        return tc_poison();
    }
    tc_value all = tc_bool(a.list->len == b.list->len);
    for (size_t i = 0; all.kind != TC_POISON && i < a.list->len && i < b.list->len; i++) {
        tc_value same = tc_compare(tx, AST_OP_EQ, a.list->at[i], b.list->at[i], span);
        bool known;
        if (tc_is_poison(same))
            return same;
        if (tc_truth(same, &known))
            all = known ? all : tc_bool(false);
        else if (all.kind == TC_RT)
            all = tc_rt(ir_binary(tx->ir, IR_OP_LAND, all.rt, same.rt, span));
        else if (all.b)
            all = same;
    }
    return op == AST_OP_EQ ? all : tc_unary(tx, AST_OP_NOT, all, span);
}

// Two records of a class without '__eq__': one may be a copy of the other, so that there is no telling by identity.
static bool are_unequal_copies(tc_value a, tc_value b)
{
    return a.kind == TC_RECORD && b.kind == TC_RECORD && a.record != b.record &&
           a.record->class->decl == b.record->class->decl;
}

tc_value tc_compare(tc *tx, ast_op op, tc_value a, tc_value b, src_span span)
{
    if (tc_is_poison(a) || tc_is_poison(b))
        return tc_poison();
    tc_value result;
    if ((a.kind == TC_RECORD || b.kind == TC_RECORD) && tc_compare_records(tx, op, a, b, span, &result))
        return result;
    if (op == AST_OP_IN || op == AST_OP_NOT_IN) {
        tc_value in = contains(tx, a, b, span);
        return op == AST_OP_IN ? in : tc_unary(tx, AST_OP_NOT, in, span);
    }
    bool is_identity = op == AST_OP_IS || op == AST_OP_IS_NOT || a.kind == TC_NONE || b.kind == TC_NONE;
    if (!is_identity && !both_indices(tx, &a, &b, span))
        return tc_poison();
    if (a.kind == TC_RT || b.kind == TC_RT)
        return rt_compare(tx, op, a, b, span);
    bool equates = op == AST_OP_EQ || op == AST_OP_NE;
    if (equates && (!tc_is_compile_time(a) || !tc_is_compile_time(b) || are_unequal_copies(a, b)))
        return compare_parts(tx, op, a, b, span);
    if (equates && (a.kind == TC_RECORD || b.kind == TC_RECORD)) // without a method for it
        return tc_bool((a.kind == b.kind && a.record == b.record) == (op == AST_OP_EQ));
    if (equates) {
        bool equal;
        return tc_items_equal(tx, a, b, &equal) ? tc_bool(equal == (op == AST_OP_EQ)) : tc_poison();
    }
    if (op == AST_OP_IS || op == AST_OP_IS_NOT)
        return tc_bool(tc_equal(a, b) == (op == AST_OP_IS));
    if (a.kind == b.kind && (a.kind == TC_TUPLE || a.kind == TC_LIST))
        return order_sequences(tx, op, a.list, b.list, span);
    if (a.kind == TC_SET && b.kind == TC_SET)
        return set_order(tx, op, a, b);
    int order;
    bool unordered;
    if (!ct_order(a, b, &order, &unordered))
        return TC_ERR(tx, HDS0125, span, ast_op_text(op), tc_describe(tx, a), tc_describe(tx, b));
    bool holds = op == AST_OP_LT ? order < 0 : op == AST_OP_LE ? order <= 0 : op == AST_OP_GT ? order > 0 : order >= 0;
    return tc_bool(holds && !unordered);
}

// [a] if the comparison holds, else [b].
static tc_value chosen(tc *tx, tc_value holds, tc_value a, tc_value b, src_span span)
{
    bool truth;
    if (tc_truth_of(tx, &holds, span, &truth))
        return truth ? a : b;
    return tc_is_poison(holds) ? holds : TC_ERR(tx, HDS0136, span, tc_describe(tx, holds));
}

tc_value tc_min_max(tc *tx, bool is_max, tc_value a, tc_value b, src_span span)
{
    if (tc_is_poison(a) || tc_is_poison(b))
        return tc_poison();
    ast_op better = is_max ? AST_OP_GT : AST_OP_LT;
    tc_value by_method;
    if ((a.kind == TC_RECORD || b.kind == TC_RECORD) && tc_compare_records(tx, better, b, a, span, &by_method))
        return chosen(tx, by_method, b, a, span);
    if (!both_indices(tx, &a, &b, span))
        return tc_poison();
    if (a.kind != TC_RT && b.kind != TC_RT)
        return chosen(tx, tc_compare(tx, better, b, a, span), b, a, span);
    const ir_type *t = common_type(tx, a, b);
    if (!t || t->kind != IR_SCALAR || t->scalar == DT_C64)
        return TC_ERR(tx, HDS0125, span, is_max ? "max" : "min", tc_describe(tx, a), tc_describe(tx, b));
    ir_expr *x = tc_cast(tx, a, t, span), *y = tc_cast(tx, b, t, span);
    return x && y ? tc_rt(ir_binary(tx->ir, is_max ? IR_OP_MAX : IR_OP_MIN, x, y, span)) : tc_poison();
}
