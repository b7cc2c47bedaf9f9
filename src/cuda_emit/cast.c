// Conversions: explicit ones, those implicit in C++, and those that repair a text whose C++ type is not the IR's (see
// cu_text).
#include "cuda_emit/printer.h"

static bool is_builtin(dtype t)
{
    return t == DT_BOOL || dt_is_int(t) || t == DT_F32 || t == DT_F64;
}

cu_text cu_written(cu *cx, dtype to, cu_text t)
{
    cu_text cast = cu_text_of(cx, to, CU_UNARY, "(%s)%s", cu_scalar_name(cx, to), cu_paren(cx, t, CU_UNARY));
    bool widens = dt_is_int(t.ctype) && dt_bits(to) > dt_bits(t.ctype);
    bool fits = widens || ((t.most || t.literal) && t.most <= dt_max_bits(to));
    cast.nonneg = t.nonneg && !t.dirty && fits && to != DT_U64;
    cast.most = t.most;
    return cast;
}

cu_text cu_exact_text(cu *cx, cu_text t, dtype want, bool unsigned_is_fine)
{
    want = cu_value_dtype(want);
    if (!dt_is_int(want) || t.literal || t.ctype == DT_NONE)
        return t;
    bool wrong_sign = want == DT_I32 && t.ctype == DT_U32 && !(t.nonneg && unsigned_is_fine);
    return t.dirty || wrong_sign ? cu_written(cx, want, t) : t;
}

cu_text cu_exact(cu *cx, const ir_expr *e, bool unsigned_is_fine)
{
    cu_text t = cu_expr(cx, e);
    return e->type->kind == IR_SCALAR ? cu_exact_text(cx, t, e->type->scalar, unsigned_is_fine) : t;
}

cu_text cu_typed(cu *cx, const ir_expr *e)
{
    cu_text t = cu_exact(cx, e, false);
    if (e->type->kind != IR_SCALAR || t.literal)
        return t;
    dtype want = cu_value_dtype(e->type->scalar);
    return t.ctype == want || !is_builtin(want) ? t : cu_written(cx, want, t);
}

// Conversions that lose nothing, and integers to floats.
bool cu_converts_itself(dtype from, dtype to)
{
    from = cu_value_dtype(from);
    if (!is_builtin(from) || !is_builtin(to))
        return false;
    bool from_integral = dt_is_int(from) || from == DT_BOOL;
    return dt_converts_exactly(from, to) || (from_integral && (to == DT_F32 || to == DT_F64));
}

const char *cu_as(cu *cx, const ir_expr *e, const ir_type *type)
{
    bool to_scalar = type->kind == IR_SCALAR && e->type->kind == IR_SCALAR;
    if (!to_scalar)
        return cu_at(cx, e, CU_ASSIGN);
    if (e->op == IR_OP_INT && dt_is_int(type->scalar))
        return cu_int_text(cx, type->scalar, e->u.i, true).s;
    if (e->op == IR_OP_CAST && e->type == type && e->args[0]->type->kind == IR_SCALAR &&
        cu_converts_itself(e->args[0]->type->scalar, type->scalar))
        return cu_paren(cx, cu_exact(cx, e->args[0], true), CU_ASSIGN);
    // Storing into the type itself cuts off what a dirty text has too much.
    bool cuts = e->type == type && !dt_is_subbyte(type->scalar);
    return cuts ? cu_at(cx, e, CU_ASSIGN) : cu_paren(cx, cu_exact(cx, e, true), CU_ASSIGN);
}

// ---- to the narrow floats and back ------------------------------------------------------------------------------

// to_f16(x): the overload goes by the type of x. Integers that f32 holds exactly go through it.
static cu_text to_struct(cu *cx, const ir_expr *e, dtype to)
{
    const ir_expr *arg = e->args[0];
    dtype from = cu_value_dtype(arg->type->scalar);
    const char *name = dt_cuda_name(to);
    cu_text t = cu_exact(cx, arg, false);
    if (cu_is_struct(from)) {
        cu_use_of(cx, from, "to_float", e->span);
        cu_use_of(cx, to, "from_float", e->span);
        return cu_primary(cx, to, "to_%s(to_float(%s))", name, cu_paren(cx, t, CU_ASSIGN));
    }
    bool through_float = from == DT_F32 || dt_bits(from) < 32 || to == DT_C64;
    if (through_float || from == DT_F64) {
        cu_use_of(cx, to, through_float ? "from_float" : "from_double", e->span);
        if (through_float && from != DT_F32)
            t = cu_written(cx, DT_F32, t);
        return cu_primary(cx, to, "to_%s(%s)", name, cu_paren(cx, t, CU_ASSIGN));
    }
    if (to == DT_F16 && dt_bits(from) == 32) {
        cu_use_of(cx, to, from == DT_I32 ? "from_int" : "from_unsigned", e->span);
        return cu_primary(cx, to, "to_f16(%s)", cu_paren(cx, t, CU_ASSIGN));
    }
    dtype wide = dt_is_signed(from) ? DT_I64 : DT_U64;
    cu_use_of(cx, to, wide == DT_I64 ? "from_sint" : "from_uint", e->span);
    if (from != wide)
        t = cu_written(cx, wide, t);
    return cu_primary(cx, to, "to_%s(%s)", name, cu_paren(cx, t, CU_ASSIGN));
}

static cu_text to_float(cu *cx, const ir_expr *e)
{
    if (e->type->scalar == DT_C64 && cx->dialect->has_structs)
        return cu_primary(cx, DT_F32, "%s.re", cu_at(cx, e, CU_POSTFIX));
    cu_use_of(cx, e->type->scalar, "to_float", e->span);
    return cu_primary(cx, DT_F32, "to_float(%s)", cu_at(cx, e, CU_ASSIGN));
}

// ---- integers ---------------------------------------------------------------------------------------------------

static cu_text to_subbyte(cu *cx, cu_text t, dtype from, dtype to)
{
    const char *helper = dt_is_signed(to) ? "wrap_sint" : "wrap_uint";
    cu_use(cx, helper);
    if (dt_bits(from) > 32 || dt_is_float(from))
        t = cu_written(cx, DT_I32, t);
    return cu_primary(cx, cu_value_dtype(to), "%s<%d>(%s)", helper, dt_bits(to), cu_paren(cx, t, CU_ASSIGN));
}

static cu_text to_bool(cu *cx, cu_text t)
{
    const char *zero = t.ctype == DT_F32 ? "0.0f" : t.ctype == DT_F64 ? "0.0" : "0";
    return cu_text_of(cx, DT_BOOL, CU_EQUAL, "%s != %s", cu_paren(cx, t, CU_RELATION), zero);
}

static cu_text scalar_cast(cu *cx, const ir_expr *e)
{
    dtype to = e->type->scalar, from = cu_value_dtype(e->args[0]->type->scalar);
    if (cu_is_struct(to))
        return to_struct(cx, e, to);
    cu_text t = cu_is_struct(from) ? to_float(cx, e->args[0]) : cu_expr(cx, e->args[0]);
    if (cu_is_struct(from))
        from = DT_F32;
    // The low bits are enough where the target has no more.
    bool low_bits_do = dt_is_int(from) && dt_is_int(to) && dt_bits(to) <= dt_bits(from);
    if (!low_bits_do)
        t = cu_exact_text(cx, t, from, true);
    if (to == DT_BOOL)
        return to_bool(cx, t);
    if (dt_is_int(to) && dt_is_subbyte(to))
        return to_subbyte(cx, t, from, to);
    return t.ctype == to && !t.literal ? (t.dirty = false, t) : cu_written(cx, to, t);
}

// Lane by lane, which needs the vector in a name: only variables have one, so others are bound to a lambda's parameter.
static cu_text vector_cast(cu *cx, const ir_expr *e)
{
    ir_module *m = cx->m;
    const ir_expr *arg = e->args[0];
    ir_var *v = arg->op == IR_OP_VAR ? arg->u.var : cu_var_new(cx, "v", arg->type, e->span);
    ir_expr *lanes = ir_new_expr(m, IR_OP_VEC, e->type, e->span, e->type->lanes);
    bool is_named = arg->op == IR_OP_VAR;
    for (int i = 0; i < e->type->lanes; i++) {
        ir_expr *one = ir_new_expr(m, IR_OP_LANE, ir_scalar(m, arg->type->scalar), e->span, 1);
        one->u.i = i;
        one->args[0] = ir_new_expr(m, IR_OP_VAR, v->type, e->span, 0);
        one->args[0]->u.var = v;
        lanes->args[i] = ir_cast(m, one, ir_scalar(m, e->type->scalar), e->span);
    }
    if (is_named)
        return cu_expr(cx, lanes);
    cx->vars[v->id].name = "v";
    const char *body = cu_expr(cx, lanes).s;
    return cu_primary(cx, DT_NONE, "[](%s) { return %s; }(%s)", cu_declarator(cx, v->type, "v"), body,
                      cu_at(cx, arg, CU_ASSIGN));
}

cu_text cu_cast(cu *cx, const ir_expr *e)
{
    const ir_type *from = e->args[0]->type;
    if (e->type->kind == IR_SCALAR && from->kind == IR_SCALAR)
        return scalar_cast(cx, e);
    if (e->type->kind == IR_VECTOR && from->kind == IR_VECTOR)
        return vector_cast(cx, e);
    return cu_text_of(cx, DT_NONE, CU_UNARY, "(%s)%s", cu_type(cx, e->type), cu_at(cx, e->args[0], CU_UNARY));
}

// ---- the same bits ----------------------------------------------------------------------------------------------

cu_text cu_bitcast(cu *cx, const ir_expr *e)
{
    const ir_type *from = e->args[0]->type, *to = e->type;
    if (from->kind == IR_SCALAR && to->kind == IR_SCALAR)
        return cx->dialect->scalar_bits(cx, e, cu_value_dtype(from->scalar), cu_value_dtype(to->scalar));
    if (from->kind == IR_VECTOR || to->kind == IR_VECTOR) {
        cu_use(cx, "bit_cast");
        dtype ctype = to->kind == IR_SCALAR ? cu_value_dtype(to->scalar) : DT_NONE;
        const char *arg = cu_paren(cx, cu_typed(cx, e->args[0]), CU_ASSIGN);
        return cu_primary(cx, ctype, "bit_cast<%s>(%s)", cu_type(cx, to), arg);
    }
    dtype ctype = to->kind == IR_SCALAR ? to->scalar : DT_NONE;
    return cu_text_of(cx, ctype, CU_UNARY, "(%s)%s", cu_type(cx, to), cu_at(cx, e->args[0], CU_UNARY));
}
