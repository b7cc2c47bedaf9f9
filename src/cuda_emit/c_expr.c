// C for the printer of expressions and statements: the differences to C++, and constructs that C lacks.
#include "cuda_emit/c_priv.h"

#include <string.h>

// ---- what cannot be said ----------------------------------------------------------------------------------------

void cu_c_at(cu *cx, src_span span)
{
    cx->c->span = span;
}

void cu_c_refuse(cu *cx, const char *why)
{
    if (!cx->failed) {
        const ir_func *f = cx->c->at->func;
        diag *d = diag_report(cx->m->diags, HDS0700, cx->c->span, f->title ? f->title : f->name, why);
        diag_help(d, "let a kernel do it");
    }
    cx->failed = true;
}

void cu_c_cannot_fail(cu *cx, src_span span)
{
    if (!cx->failed) {
        const ir_func *f = cx->c->at->func;
        diag *d = diag_report(cx->m->diags, HDS0703, span, f->title ? f->title : f->name);
        diag_help(d, "let the function return nothing: in C it returns whether all went well then");
    }
    cx->failed = true;
}

static void lacks(cu *cx, const char *what)
{
    cu_c_refuse(cx, arena_printf(cx->a, "the host has no %s", what));
}

static bool use(cu *cx, const char *snippet)
{
    bool is_float = str_starts(str_of(snippet), STR("float.")) || str_starts(str_of(snippet), STR("double."));
    if (is_float)
        cu_c_needs(cx, "math.h");
    if (!cu_prelude_use(&cx->prelude, str_of(snippet)))
        lacks(cx, arena_printf(cx->a, "'%s'", snippet));
    return true;
}

void cu_c_needs(cu *cx, const char *header)
{
    const char *line = arena_printf(cx->a, "#include <%s>\n", header);
    if (!cx->c->headers.len || !strstr(str_text(&cx->c->headers), line))
        str_adds(&cx->c->headers, line);
}

// The functions of <math.h> that stdlib/language/math.hds calls; rsqrt and exp10 are CUDA's.
static const char math_words[] =
    "fabs exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf "
    "erfc tgamma lgamma floor ceil trunc rint pow atan2 hypot fmod copysign fdim fma fmin fmax isnan isinf isfinite";

static bool is_math(cu *cx, const char *at, size_t len)
{
    const char *word = arena_strndup(cx->a, at, len), *without_f = arena_strndup(cx->a, at, len - 1);
    return cu_is_word(math_words, word) || (at[len - 1] == 'f' && cu_is_word(math_words, without_f));
}

// Whether all words of the CUDA text are C's.
static bool is_c_text(cu *cx, const char *text)
{
    for (const char *at = text; *at;) {
        str hole = cu_hole_at(at);
        size_t len = hole.len ? hole.len + 2 : cu_word_length(at);
        bool is_name = !hole.len && len && !(*at >= '0' && *at <= '9');
        if ((is_name && !is_math(cx, at, len)) || *at == '.')
            return false;
        at += len ? len : 1;
    }
    return true;
}

static bool can_say(cu *cx, const ir_expr *e)
{
    const ir_intrin *in = e->u.intrin;
    if (in->form == IR_INTRIN_CUDA && in->result->kind == IR_SCALAR && is_c_text(cx, in->text)) {
        cu_c_needs(cx, "math.h");
        return true;
    }
    lacks(cx, arena_printf(cx->a, "instruction '%s'", in->name));
    return false;
}

static cu_text intrin(cu *cx, const ir_expr *e, const char *result)
{
    return can_say(cx, e) ? cu_intrin_text(cx, e, result) : cu_primary(cx, DT_NONE, "0");
}

static cu_text special_register(cu *cx, const ir_expr *e)
{
    lacks(cx, ir_sreg_name((ir_sreg)e->u.i));
    return cu_primary(cx, DT_U32, "0");
}

// ---- numbers ----------------------------------------------------------------------------------------------------

static cu_text struct_constant(cu *cx, dtype t, double value)
{
    if (t == DT_C64)
        lacks(cx, "complex64");
    str_buf decimal;
    str_buf_init(&decimal, cx->a);
    str_add_double(&decimal, value);
    return cu_primary(cx, t, "0x%0*llx /* %s */", dt_bits(t) / 4, (unsigned long long)dt_from_double(t, value),
                      str_text(&decimal));
}

static cu_text float_minmax(cu *cx, const ir_expr *e, dtype t)
{
    const char *name = arena_printf(cx->a, "%s_%s", e->op == IR_OP_MIN ? "min" : "max", dt_name(t));
    cu_use(cx, name);
    return cu_primary(cx, t, "%s(%s, %s)", name, cu_at(cx, e->args[0], CU_ASSIGN), cu_at(cx, e->args[1], CU_ASSIGN));
}

// What is an integer in C, narrow floats among it, keeps its bits in a cast.
static cu_text scalar_bits(cu *cx, const ir_expr *e, dtype from, dtype to)
{
    bool from_float = from == DT_F32 || from == DT_F64, to_float = to == DT_F32 || to == DT_F64;
    cu_text t = cu_typed(cx, e->args[0]);
    if (from == to)
        return t;
    if (!from_float && !to_float)
        return cu_text_of(cx, to, CU_UNARY, "(%s)%s", cu_c_scalar(cx, to), cu_paren(cx, t, CU_UNARY));
    return cu_primary(cx, to, "((union { %s from; %s to; }){%s}).to", cu_c_scalar(cx, from), cu_c_scalar(cx, to),
                      cu_paren(cx, t, CU_ASSIGN));
}

// "sum_of(a, b, &fails)"
static cu_text safe_call(cu *cx, const char *name, const ir_expr *left, const ir_expr *right)
{
    const ir_type *i64 = ir_scalar(cx->m, DT_I64);
    const char *a = cu_as(cx, left, i64), *b = cu_as(cx, right, i64);
    const char *fails = cx->c->fails ? arena_printf(cx->a, ", &%s", cx->c->fails) : "";
    cu_use(cx, name);
    cx->c->used_fails |= cx->c->fails != NULL && !cx->in_comment;
    return cu_primary(cx, DT_I64, "%s(%s, %s%s)", name, a, b, fails);
}

static bool is_division(ir_op op)
{
    return ir_op_properties(op) & IR_DIVIDES;
}

static bool may_divide_by_zero(const ir_expr *e)
{
    cu_c_range b = cu_c_range_of(e->args[1]);
    return b.min <= 0 && b.max >= 0;
}

// Rounding down and towards 0 are the same where the passes chose the latter.
static cu_text division(cu *cx, const ir_expr *e, dtype t)
{
    bool divides = e->op == IR_OP_FLOORDIV || e->op == IR_OP_TRUNCDIV;
    const char *name = cx->c->fails ? (divides ? "quotient_of" : "rest_of") : divides ? "quotient" : "rest";
    cu_text r = safe_call(cx, name, e->args[0], e->args[1]);
    return t == DT_I64 ? r : cu_written(cx, t, r);
}

static cu_text checked(cu *cx, const ir_expr *e)
{
    int64_t by;
    if (e->op == IR_OP_SHL && ir_const_int(e->args[1], &by) && by >= 0 && by < 63)
        return safe_call(cx, "product_of", e->args[0], ir_int(cx->m, DT_I64, (int64_t)1 << by));
    if (e->op == IR_OP_SHL)
        return safe_call(cx, "shifted_of", e->args[0], e->args[1]);
    const char *name = e->op == IR_OP_ADD ? "sum_of" : e->op == IR_OP_SUB ? "difference_of" : "product_of";
    return safe_call(cx, name, e->args[0], e->args[1]);
}

// Where 64 bits may not be enough, the type without a sign wraps around.
static bool wrapped(cu *cx, const ir_expr *e, cu_text *out)
{
    static const char *const signs[IR_OP__COUNT] = {[IR_OP_ADD] = "+", [IR_OP_SUB] = "-", [IR_OP_MUL] = "*"};
    if (!signs[e->op])
        return false;
    const char *a = cu_paren(cx, cu_exact(cx, e->args[0], true), CU_UNARY);
    const char *b = cu_paren(cx, cu_exact(cx, e->args[1], true), CU_UNARY);
    *out = cu_text_of(cx, DT_I64, CU_UNARY, "(int64_t)((uint64_t)%s %s (uint64_t)%s)", a, signs[e->op], b);
    return true;
}

static bool safe_integer(cu *cx, const ir_expr *e, dtype t, cu_text *out)
{
    // In a comment stands what the author wrote.
    if (cx->in_comment || t == DT_U64)
        return false;
    bool floors = (e->op == IR_OP_FLOORDIV || e->op == IR_OP_FLOORMOD) && cu_c_range_of(e->args[0]).min < 0;
    if (is_division(e->op) && may_divide_by_zero(e) && (cx->c->fails || !floors)) {
        *out = division(cx, e, t);
        return true;
    }
    if (t == DT_I64 && cx->c->wraps && cu_c_may_overflow(e))
        return wrapped(cx, e, out);
    if (t == DT_I64 && cx->c->fails && cu_c_may_overflow(e)) {
        *out = checked(cx, e);
        return true;
    }
    // What overflows in between may fit in the end.
    if (e->type->scalar != DT_I32 || !cu_c_is_narrow(cx, e))
        return false;
    *out = cu_written(cx, DT_I32, cu_expr(cx, cu_c_wide(cx, e)));
    return true;
}

// ---- addresses --------------------------------------------------------------------------------------------------

// "&x[n]", or of what C has no type for "(const char *)x + n * 2".
cu_text cu_c_offset(cu *cx, const char *base, const ir_var *v, const ir_expr *index)
{
    if (index->op == IR_OP_INT && index->u.i == 0)
        return cu_primary(cx, DT_NONE, "%s", base);
    const ir_type *elem = v->type->elem;
    if (cu_c_is_native(elem))
        return cu_text_of(cx, DT_NONE, CU_UNARY, "&%s[%s]", base, cu_c_extent(cx, index));
    int64_t bits = cu_is_subbyte(elem) ? dt_bits(elem->scalar) : ir_type_bytes(elem) * 8;
    ir_expr *at = cu_c_wide(cx, index);
    at = ir_binary(cx->m, IR_OP_MUL, at, ir_int(cx->m, DT_I64, bits < 8 ? bits : bits / 8), index->span);
    if (bits < 8)
        at = ir_binary(cx->m, IR_OP_TRUNCDIV, at, ir_int(cx->m, DT_I64, 8), index->span);
    bool is_const = true;
    for (size_t i = 0; i < cx->c->at->func->params.len; i++)
        if (cx->c->at->func->params.at[i] == v)
            is_const = !cx->c->at->writes[i];
    is_const = is_const && v->kind == IR_VAR_PARAM;
    return cu_text_of(cx, DT_NONE, CU_ADD, "(%schar *)%s + %s", is_const ? "const " : "", base,
                      cu_at(cx, at, CU_MUL));
}

// ---- all of it --------------------------------------------------------------------------------------------------

const cu_dialect cu_dialect_c = {
    .words = cu_words_of_c,
    .host = &cu_host_c,
    .warns_of_unused = true,
    .warns_of_const = true,
    .scalar = cu_c_scalar,
    .elem = cu_c_elem,
    .special_register = special_register,
    .struct_constant = struct_constant,
    .scalar_bits = scalar_bits,
    .safe_integer = safe_integer,
    .float_minmax = float_minmax,
    .address = cu_c_offset,
    .intrin = intrin,
    .use = use,
    .use_header = cu_c_needs,
    .begin_statement = cu_c_at,
};
