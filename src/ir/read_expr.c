// Types and expressions of the text form, by precedence climbing.
#include "ir/read_priv.h"

#include <math.h>
#include <string.h>

// ---- types -------------------------------------------------------------------------------------------------------

bool ir_read_take_space(reader *r, ir_space *out)
{
    for (ir_space s = IR_GENERIC; s <= IR_HOST; s++) {
        if (ir_read_take_word(r, ir_space_name(s))) {
            *out = s;
            return true;
        }
    }
    return false;
}

static const ir_type *read_derived(reader *r, bool is_pointer)
{
    ir_space space = IR_GENERIC;
    ir_read_enter(r);
    ir_read_take_space(r, &space);
    bool is_const = ir_read_take_word(r, "const");
    const ir_type *elem = ir_read_type(r);
    const ir_type *t = is_pointer ? ir_pointer(r->module, elem, space) : ir_tensor_type(r->module, elem, space);
    ir_read_leave(r);
    return is_const ? ir_const_of(r->module, t) : t;
}

const ir_type *ir_read_type(reader *r)
{
    if (ir_read_take_sign(r, "~"))
        return read_derived(r, true);
    if (ir_read_take_word(r, "tensor"))
        return read_derived(r, false);
    if (ir_read_take_word(r, "void"))
        return ir_void(r->module);
    if (ir_read_take_word(r, "string"))
        return ir_string(r->module);
    if (ir_read_take_word(r, "tensor_map"))
        return ir_tensor_map_type(r->module);
    dtype scalar;
    int lanes;
    if (r->now.kind != T_NAME || r->now.is_quoted || !ir_text_type_name(r->now.full, &scalar, &lanes))
        ir_read_expected(r, "a type");
    ir_read_next(r);
    return lanes ? ir_vector(r->module, scalar, lanes) : ir_scalar(r->module, scalar);
}

// ---- constants ---------------------------------------------------------------------------------------------------

static ir_expr *read_int_constant(reader *r, bool negative)
{
    token t = r->now;
    dtype type = t.suffix == DT_NONE ? DT_I32 : t.suffix;
    uint64_t limit = (uint64_t)INT64_MAX + negative;
    int64_t value = (int64_t)(negative ? 0 - t.magnitude : t.magnitude);
    bool fits = type == DT_U64 ? !negative || !value : t.magnitude <= limit && dt_holds_int(type, value);
    if (!dt_is_int(type) || !fits)
        ir_read_fail(r, t.span, "the number is not a value of type %s", dt_name(type));
    ir_read_next(r);
    ir_expr *e = ir_int(r->module, type, value);
    e->span = t.span;
    return e;
}

static ir_expr *read_float_constant(reader *r, bool negative)
{
    token t = r->now;
    dtype type = t.suffix == DT_NONE ? DT_F32 : t.suffix;
    if (dt_is_int(type) || type == DT_BOOL)
        ir_read_fail(r, t.span, "the number is not a value of type %s", dt_name(type));
    ir_read_next(r);
    ir_expr *e = ir_float(r->module, type, negative ? -t.number : t.number);
    e->span = t.span;
    return e;
}

// inf(f16), ninf(f16), nan(f16)
static ir_expr *read_special_float(reader *r)
{
    src_span span = r->now.span;
    double infinity = ir_read_at_word(r, "ninf") ? -(double)INFINITY : (double)INFINITY;
    double value = ir_read_at_word(r, "nan") ? (double)NAN : infinity;
    ir_read_next(r);
    ir_read_open(r, "(");
    const ir_type *type = ir_read_type(r);
    ir_read_close(r, ")");
    if (type->kind != IR_SCALAR || dt_is_int(type->scalar) || type->scalar == DT_BOOL)
        ir_read_fail(r, span, "expected a float type");
    // Not through ir_float: narrow types that saturate have no infinity, but a module may hold one until it is checked.
    ir_expr *e = ir_new_expr(r->module, IR_OP_FLOAT, type, span, 0);
    e->u.f = value;
    return e;
}

static ir_expr *read_string_constant(reader *r)
{
    src_span span = r->now.span;
    ir_expr *e = ir_text(r->module, ir_read_string(r));
    e->span = span;
    return e;
}

// ---- lists -------------------------------------------------------------------------------------------------------

int ir_read_exprs(reader *r, const char *close, ir_expr ***out)
{
    VEC(ir_expr *) list = {0};
    int height = 0;
    while (!ir_read_at_sign(r, close) && !ir_read_at_word(r, "else")) {
        if (list.len == READ_MAX_ARGS)
            ir_read_fail(r, r->now.span, "expected at most %d operands", READ_MAX_ARGS);
        ir_expr *e = ir_read_expr(r);
        VEC_PUSH(r->arena, &list, e);
        height = r->height > height ? r->height : height;
        if (!ir_read_take_sign(r, ","))
            break;
    }
    r->height = height;
    *out = list.at;
    return (int)list.len;
}

static int read_call_args(reader *r, ir_expr ***out)
{
    ir_read_open(r, "(");
    int count = ir_read_exprs(r, ")", out);
    ir_read_close(r, ")");
    ir_read_grow(r, r->height);
    return count;
}

static ir_expr *with_args(reader *r, ir_op op, const ir_type *type, src_span span, ir_expr **args, int count)
{
    ir_expr *e = ir_new_expr(r->module, op, type, span, count);
    if (count)
        memcpy(e->args, args, (size_t)count * sizeof *args);
    return e;
}

// ---- variables and accesses --------------------------------------------------------------------------------------

ir_var *ir_read_var_use(reader *r)
{
    if (r->now.kind != T_NAME)
        ir_read_expected(r, "a variable");
    ir_var *v = map_get(&r->vars, r->now.full.at, r->now.full.len);
    if (!v)
        ir_read_fail(r, r->now.span, "no variable '%.*s' is declared here", (int)r->now.full.len, r->now.full.at);
    ir_read_next(r);
    return v;
}

static int read_access_flags(reader *r)
{
    int flags = 0;
    if (ir_read_take_word(r, "guarded"))
        flags |= IR_GUARDED;
    if (ir_read_take_word(r, "volatile"))
        flags |= IR_VOLATILE;
    if (ir_read_take_sign(r, "+"))
        flags |= IR_FLAT;
    return flags;
}

typedef struct access {
    ir_var *var;
    int flags;
    ir_expr **args;
    int count;
    ir_expr *outside;
} access;

// A[i, j], A[volatile +offset], A[i, j else value], A[guarded i, j]
static void read_access(reader *r, ir_var *v, access *a)
{
    *a = (access){.var = v};
    ir_read_open(r, "[");
    a->flags = read_access_flags(r);
    a->count = ir_read_exprs(r, "]", &a->args);
    int height = r->height;
    if (ir_read_take_word(r, "else"))
        a->outside = ir_read_expr(r);
    ir_read_close(r, "]");
    ir_read_grow(r, r->height > height ? r->height : height);
}

static ir_var *read_tensor_use(reader *r)
{
    src_span span = r->now.span;
    ir_var *v = ir_read_var_use(r);
    if (v->type->kind != IR_TENSOR)
        ir_read_fail(r, span, "expected a tensor, '%s' is not one", v->name);
    return v;
}

static ir_expr *load_of(reader *r, const access *a, src_span span)
{
    ir_expr *e = ir_load(r->module, a->var, a->args, a->count, a->outside, span);
    e->flags |= (uint8_t)a->flags;
    if (!(a->flags & IR_GUARDED))
        return e;
    if (a->outside || r->guarded_target)
        ir_read_fail(r, span, "'guarded' is for the left side of a store; a load says what to read 'else'");
    r->guarded_target = e;
    return e;
}

static int flat_or_volatile(reader *r, const access *a, src_span span)
{
    if (a->outside || (a->flags & IR_GUARDED))
        ir_read_fail(r, span, "an address cannot be guarded");
    return a->flags;
}

static ir_expr *read_address(reader *r)
{
    src_span span = r->now.span;
    access a;
    read_access(r, read_tensor_use(r), &a);
    ir_expr *e = ir_addr(r->module, a.var, a.args, a.count, span);
    e->flags = (uint8_t)flat_or_volatile(r, &a, span);
    return e;
}

// tile(A[i, j], 4)
static ir_expr *read_tile(reader *r)
{
    src_span span = r->now.span;
    access a;
    ir_read_next(r);
    ir_read_open(r, "(");
    read_access(r, read_tensor_use(r), &a);
    ir_read_sign(r, ",");
    int count = ir_read_int_in(r, 0, INT32_MAX);
    ir_read_close(r, ")");
    ir_expr *e = ir_tile(r->module, a.var, a.args, a.count, count, span);
    e->flags = (uint8_t)flat_or_volatile(r, &a, span);
    return e;
}

static ir_expr *read_variable(reader *r)
{
    src_span span = r->now.span;
    ir_var *v = ir_read_var_use(r);
    if (v->type->kind != IR_TENSOR || !ir_read_at_sign(r, "[") || !ir_read_continues(r))
        return ir_read(r->module, v, span);
    access a;
    read_access(r, v, &a);
    return load_of(r, &a, span);
}

// ---- operators in call form --------------------------------------------------------------------------------------

static const ir_type *inferred_type(reader *r, ir_op op, ir_expr **args, src_span span)
{
    switch (op) {
    case IR_OP_NOT:
    case IR_OP_LAND:
    case IR_OP_LOR: return ir_scalar(r->module, DT_BOOL);
    case IR_OP_SELECT: return args[1]->type;
    case IR_OP_PLOAD:
        if (args[0]->type->kind != IR_POINTER)
            ir_read_fail(r, span, "expected a pointer");
        return args[0]->type->elem;
    case IR_OP_LANE:
        if (args[0]->type->kind != IR_VECTOR)
            ir_read_fail(r, span, "expected a vector");
        return ir_scalar(r->module, args[0]->type->scalar);
    case IR_OP_CAST:
    case IR_OP_BITCAST:
    case IR_OP_VEC: ir_read_fail(r, span, "expected a type in brackets after '%s'", ir_op_name(op));
    default: break;
    }
    return ir_op_properties(op) & IR_COMPARE ? ir_scalar(r->module, DT_BOOL) : args[0]->type;
}

// min(a, b), add[i64](a, b), lane[2](v), bitcast[~shared u32](p)
static ir_expr *read_operator(reader *r, ir_op op)
{
    src_span span = r->now.span;
    const ir_type *type = NULL;
    int lane = 0;
    ir_expr **args;
    ir_read_next(r);
    if (ir_read_at_sign(r, "[")) {
        ir_read_open(r, "[");
        if (op == IR_OP_LANE)
            lane = ir_read_int_in(r, 0, INT32_MAX);
        else
            type = ir_read_type(r);
        ir_read_close(r, "]");
    }
    int count = read_call_args(r, &args);
    if (op != IR_OP_VEC && count != ir_op_arity(op))
        ir_read_fail(r, span, "'%s' takes %d operands, found %d", ir_op_name(op), ir_op_arity(op), count);
    if (!type)
        type = inferred_type(r, op, args, span);
    ir_expr *e = with_args(r, op, type, span, args, count);
    if (op == IR_OP_LANE)
        e->u.i = lane;
    return e;
}

static ir_expr *read_cast(reader *r)
{
    src_span span = r->now.span;
    const ir_type *type = ir_read_type(r);
    ir_expr **args;
    if (read_call_args(r, &args) != 1)
        ir_read_fail(r, span, "a conversion takes one operand");
    return with_args(r, IR_OP_CAST, type, span, args, 1);
}

static ir_expr *read_call(reader *r)
{
    src_span span = r->now.span;
    ir_expr **args;
    ir_read_next(r);
    str name = ir_read_name(r, "the name of a function");
    ir_func *f = map_get(&r->funcs, name.at, name.len);
    if (!f)
        ir_read_fail(r, span, "no function '%.*s' is declared before this", (int)name.len, name.at);
    int count = read_call_args(r, &args);
    ir_expr *e = with_args(r, IR_OP_CALL, f->result, span, args, count);
    e->u.func = f;
    return e;
}

static ir_expr *read_intrin(reader *r)
{
    src_span span = r->now.span;
    ir_expr **args;
    ir_read_next(r);
    str name = ir_read_name(r, "the name of an instruction");
    const ir_intrin *in = map_get(&r->intrins, name.at, name.len);
    if (!in)
        ir_read_fail(r, span, "no instruction '%.*s' is declared before this", (int)name.len, name.at);
    int count = read_call_args(r, &args);
    ir_expr *e = with_args(r, IR_OP_INTRIN, in->result, span, args, count);
    e->u.intrin = in;
    return e;
}

static bool find_sreg(str name, ir_sreg *out)
{
    if (!memchr(name.at, '.', name.len))
        return false;
    for (int i = 0; i < IR_SREG__COUNT; i++) {
        if (str_equal(name, str_of(ir_sreg_name((ir_sreg)i)))) {
            *out = (ir_sreg)i;
            return true;
        }
    }
    return false;
}

static ir_expr *read_truth(reader *r)
{
    ir_expr *e = ir_int(r->module, DT_BOOL, ir_read_at_word(r, "true"));
    e->span = r->now.span;
    ir_read_next(r);
    return e;
}

// A word before '(' or '[' that calls something; NULL if it does not.
static ir_expr *read_called_word(reader *r)
{
    ir_op op;
    dtype scalar;
    int lanes;
    bool called = ir_read_before(r, '(');
    if (called && (ir_read_at_word(r, "nan") || ir_read_at_word(r, "inf") || ir_read_at_word(r, "ninf")))
        return read_special_float(r);
    if (called && ir_read_at_word(r, "tile"))
        return read_tile(r);
    if (ir_text_op(r->now.full, &op) && ir_text_has_call_form(op))
        return read_operator(r, op);
    if (called && ir_text_type_name(r->now.full, &scalar, &lanes))
        return read_cast(r);
    return NULL;
}

static ir_expr *read_word_expr(reader *r)
{
    src_span span = r->now.span;
    ir_sreg sreg;
    if (r->now.is_quoted || r->now.is_numbered)
        return read_variable(r);
    if (ir_read_at_word(r, "true") || ir_read_at_word(r, "false"))
        return read_truth(r);
    if (find_sreg(r->now.full, &sreg)) {
        ir_read_next(r);
        return ir_sreg_read(r->module, sreg, span);
    }
    ir_expr *called = ir_read_before(r, '(') || ir_read_before(r, '[') ? read_called_word(r) : NULL;
    return called ? called : read_variable(r);
}

// ---- precedence --------------------------------------------------------------------------------------------------

static ir_expr *read_primary(reader *r)
{
    ir_expr *e;
    r->height = 0;
    switch (r->now.kind) {
    case T_INT: return read_int_constant(r, false);
    case T_FLOAT: return read_float_constant(r, false);
    case T_STRING: return read_string_constant(r);
    case T_NAME: return read_word_expr(r);
    case T_SIGN:
    case T_END: break;
    }
    if (ir_read_at_sign(r, "@"))
        return read_call(r);
    if (ir_read_at_sign(r, "!"))
        return read_intrin(r);
    if (!ir_read_at_sign(r, "("))
        ir_read_expected(r, "an expression");
    ir_read_open(r, "(");
    e = ir_read_expr(r);
    ir_read_close(r, ")");
    return e;
}

// p[i], p[volatile i]
ir_expr *ir_read_postfix(reader *r)
{
    ir_expr *e = read_primary(r);
    while (ir_read_at_sign(r, "[") && ir_read_continues(r)) {
        src_span span = r->now.span;
        int height = r->height;
        if (e->type->kind != IR_POINTER)
            ir_read_fail(r, span, "expected a tensor or a pointer before '['");
        ir_read_open(r, "[");
        bool is_volatile = ir_read_take_word(r, "volatile");
        ir_expr *args[2] = {e, ir_read_expr(r)};
        ir_read_close(r, "]");
        ir_read_grow(r, r->height > height ? r->height : height);
        e = with_args(r, IR_OP_PLOAD, e->type->elem, span, args, 2);
        e->flags = is_volatile ? IR_VOLATILE : 0;
    }
    return e;
}

static ir_expr *read_unary(reader *r)
{
    src_span span = r->now.span;
    if (ir_read_take_sign(r, "&"))
        return read_address(r);
    ir_op op = ir_read_at_sign(r, "-") ? IR_OP_NEG : IR_OP_BITNOT;
    if (op == IR_OP_BITNOT && !ir_read_at_sign(r, "~"))
        return ir_read_postfix(r);
    ir_read_next(r);
    r->height = 0;
    if (op == IR_OP_NEG && r->now.kind == T_INT)
        return read_int_constant(r, true);
    if (op == IR_OP_NEG && r->now.kind == T_FLOAT)
        return read_float_constant(r, true);
    ir_read_enter(r);
    ir_expr *e = ir_unary(r->module, op, read_unary(r), span);
    ir_read_grow(r, r->height);
    ir_read_leave(r);
    return e;
}

static const text_infix *at_infix(const reader *r)
{
    if ((r->now.kind != T_SIGN && r->now.kind != T_NAME) || !ir_read_continues(r))
        return NULL;
    for (int op = 0; op < IR_OP__COUNT; op++) {
        const text_infix *t = ir_text_infix((ir_op)op);
        if (t && (ir_read_at_sign(r, t->sign) || ir_read_at_word(r, t->sign)))
            return t;
    }
    return NULL;
}

// Recurses at most once for each precedence.
static ir_expr *read_binary(reader *r, int at_least)
{
    ir_expr *left = read_unary(r);
    for (const text_infix *t; (t = at_infix(r)) && t->precedence >= at_least;) {
        src_span span = r->now.span;
        int height = r->height;
        ir_read_next(r);
        left = ir_binary(r->module, t->op, left, read_binary(r, t->precedence + 1), span);
        ir_read_grow(r, r->height > height ? r->height : height);
    }
    return left;
}

ir_expr *ir_read_expr(reader *r)
{
    ir_read_enter(r);
    ir_expr *e = read_binary(r, TEXT_LOR);
    ir_read_leave(r);
    return e;
}
