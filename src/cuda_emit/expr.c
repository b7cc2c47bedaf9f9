// Expressions: leaves, calls, and the way to the files that know the rest.
#include "cuda_emit/printer.h"

#include <stdarg.h>
#include <string.h>

void cu_bad_ir(cu *cx, src_span span, const char *what)
{
    if (!cx->failed)
        diag_report(cx->m->diags, HDS0470, span, what);
    cx->failed = true;
}

// In a dry run, one text stands for all: not an empty one, since its ends are looked at.
static const char *vformat(cu *cx, const char *format, va_list args)
{
    return cx->is_dry ? "x" : arena_vprintf(cx->a, format, args);
}

const char *cu_format(cu *cx, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *s = vformat(cx, format, args);
    va_end(args);
    return s;
}

cu_text cu_text_of(cu *cx, dtype ctype, cu_prec prec, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *s = vformat(cx, format, args);
    va_end(args);
    return (cu_text){.s = s, .prec = prec, .ctype = ctype};
}

cu_text cu_primary(cu *cx, dtype ctype, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *s = vformat(cx, format, args);
    va_end(args);
    return (cu_text){.s = s, .prec = CU_POSTFIX, .ctype = ctype};
}

const char *cu_paren(cu *cx, cu_text t, cu_prec prec)
{
    return t.prec >= prec ? t.s : cu_format(cx, "(%s)", t.s);
}

const char *cu_at(cu *cx, const ir_expr *e, cu_prec prec)
{
    return cu_paren(cx, cu_expr(cx, e), prec);
}

static cu_text variable(cu *cx, const ir_expr *e)
{
    const ir_var *v = e->u.var;
    if (v->type->kind == IR_TENSOR_MAP)
        return (cu_text){.s = cu_format(cx, "&%s", cu_var_name(cx, v)), .prec = CU_UNARY};
    dtype ctype = v->type->kind == IR_SCALAR ? cu_value_dtype(v->type->scalar) : DT_NONE;
    cu_text t = {.s = cu_var_name(cx, v), .prec = CU_POSTFIX, .ctype = ctype};
    t.nonneg = ctype != DT_U64 && ((v->has_range && v->min >= 0) || cx->vars[v->id].is_nonneg);
    t.most = t.nonneg && v->has_range ? (uint64_t)v->max : 0;
    return t;
}

const char *cu_call_args(cu *cx, const ir_expr *e)
{
    str_buf out;
    str_buf_init(&out, cx->a);
    for (int i = 0; i < e->arg_count; i++) {
        const ir_type *want = (size_t)i < e->u.func->params.len ? e->u.func->params.at[i]->type : e->args[i]->type;
        str_addf(&out, "%s%s", i ? ", " : "", cu_as(cx, e->args[i], want));
    }
    return str_text(&out);
}

static dtype ctype_of(const ir_type *t)
{
    return t->kind == IR_SCALAR ? cu_value_dtype(t->scalar) : DT_NONE;
}

static cu_text call(cu *cx, const ir_expr *e)
{
    return cu_primary(cx, ctype_of(e->type), "%s(%s)", cu_func_name(cx, e->u.func), cu_call_args(cx, e));
}

// i4x4 of a, b, c, d: {(unsigned char)(a & 15 | (b & 15) << 4), …}
static void add_packed(cu *cx, const ir_expr *e, str_buf *out)
{
    int bits = dt_bits(e->type->scalar), per_byte = 8 / bits, mask = (1 << bits) - 1;
    for (int i = 0; i < e->arg_count; i++) {
        int position = i % per_byte;
        const char *value = cu_paren(cx, cu_exact(cx, e->args[i], true), CU_SHIFT);
        str_adds(out, position ? " | " : i ? "), (unsigned char)(" : "(unsigned char)(");
        str_addf(out, position ? "(%s & %d) << %d" : "(%s & %d)", value, mask, position * bits);
    }
    str_addc(out, ')');
}

static cu_text vector(cu *cx, const ir_expr *e)
{
    str_buf out;
    str_buf_init(&out, cx->a);
    if (dt_is_int(e->type->scalar) && dt_is_subbyte(e->type->scalar))
        add_packed(cx, e, &out);
    else
        for (int i = 0; i < e->arg_count; i++)
            str_addf(&out, "%s%s", i ? ", " : "", cu_paren(cx, cu_typed(cx, e->args[i]), CU_ASSIGN));
    return cu_primary(cx, DT_NONE, "%s{{%s}}", cu_type(cx, e->type), str_text(&out));
}

static cu_text lane(cu *cx, const ir_expr *e)
{
    dtype t = e->type->scalar;
    const char *v = cu_at(cx, e->args[0], CU_POSTFIX);
    if (!dt_is_int(t) || !dt_is_subbyte(t))
        return cu_primary(cx, t, "%s.v[%d]", v, (int)e->u.i);
    const char *helper = dt_is_signed(t) ? "load_sint" : "load_uint";
    cu_use(cx, helper);
    return cu_primary(cx, cu_value_dtype(t), "%s<%d>(%s.v, %d)", helper, dt_bits(t), v, (int)e->u.i);
}

static cu_text string(cu *cx, const ir_expr *e)
{
    str_buf out;
    str_buf_init(&out, cx->a);
    cu_add_literal(&out, e->u.text);
    return cu_primary(cx, DT_NONE, "\"%s\"", str_text(&out));
}

bool cu_is_plain(const cu *cx)
{
    return cx->in_comment && !cx->dialect->has_overloads;
}

cu_text cu_expr(cu *cx, const ir_expr *e)
{
    int properties = ir_op_properties(e->op);
    if (properties & IR_UNARY)
        return cu_unary(cx, e);
    if (properties & (IR_BINARY | IR_COMPARE | IR_LOGIC))
        return cu_binary(cx, e);
    switch (e->op) {
    case IR_OP_INT:
        return cu_int_text(cx, e->type->scalar, e->u.i, cu_is_plain(cx));
    case IR_OP_FLOAT: return cu_float_text(cx, e->type->scalar, e->u.f);
    case IR_OP_TEXT: return string(cx, e);
    case IR_OP_VAR: return variable(cx, e);
    case IR_OP_SREG:
        return cx->dialect->special_register(cx, e);
    case IR_OP_SELECT: return cu_select(cx, e);
    case IR_OP_CAST: return cu_cast(cx, e);
    case IR_OP_BITCAST: return cu_bitcast(cx, e);
    case IR_OP_LOAD: return cu_load(cx, e);
    case IR_OP_ADDR: return cu_addr(cx, e);
    case IR_OP_PLOAD: return cu_pload(cx, e);
    case IR_OP_TILE: return cu_tile(cx, e);
    case IR_OP_CALL: return call(cx, e);
    case IR_OP_INTRIN:
        return cx->dialect->intrin(cx, e, NULL);
    case IR_OP_VEC: return vector(cx, e);
    case IR_OP_LANE: return lane(cx, e);
    default:
        break;
    }
    cu_bad_ir(cx, e->span, "an unknown operator");
    return cu_primary(cx, DT_NONE, "0");
}
