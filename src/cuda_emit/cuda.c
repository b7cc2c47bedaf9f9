// CUDA C++, as the printer of expressions and statements asks for it.
#include "cuda_emit/emit_priv.h"

#include <string.h>

// ---- types --------------------------------------------------------------------------------------------------------

static const char *scalar(cu *cx, dtype t)
{
    if (cu_is_struct(t))
        cu_use(cx, dt_cuda_name(t));
    return dt_cuda_name(cu_value_dtype(t));
}

// ---- values -------------------------------------------------------------------------------------------------------

// threadIdx.x
static cu_text special_register(cu *cx, const ir_expr *e)
{
    static const char *const names[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
    cu_text t = cu_primary(cx, DT_U32, "%s.%c", names[e->u.i / 3], "xyz"[e->u.i % 3]);
    t.nonneg = true;
    bool is_of_block = e->u.i / 3 == 0 || e->u.i / 3 == 2;
    t.most = is_of_block ? 1024 : INT32_MAX;
    return t;
}

// f16{0x3c00 /* 1.0 */}
static cu_text struct_constant(cu *cx, dtype t, double value)
{
    if (t == DT_C64) {
        cu_use(cx, "complex64");
        return cu_primary(cx, t, "complex64{%s, 0.0f}", cu_float_text(cx, DT_F32, value).s);
    }
    cu_use(cx, dt_cuda_name(t));
    if (cx->is_dry)
        return cu_primary(cx, t, "0");
    str_buf decimal;
    str_buf_init(&decimal, cx->a);
    str_add_double(&decimal, value);
    uint64_t bits = dt_from_double(t, value);
    return cu_primary(cx, t, "%s{0x%0*llx%s /* %s */}", dt_cuda_name(t), dt_bits(t) / 4, (unsigned long long)bits,
                      t == DT_TF32 ? "u" : "", str_text(&decimal));
}

static cu_text float_minmax(cu *cx, const ir_expr *e, dtype t)
{
    const char *a = cu_at(cx, e->args[0], CU_ASSIGN), *b = cu_at(cx, e->args[1], CU_ASSIGN);
    return cu_primary(cx, t, "f%s%s(%s, %s)", e->op == IR_OP_MIN ? "min" : "max", t == DT_F32 ? "f" : "", a, b);
}

// Integers wrap around as the IR says.
static bool safe_integer(cu *cx, const ir_expr *e, dtype t, cu_text *out)
{
    (void)cx, (void)e, (void)t, (void)out;
    return false;
}

static cu_text address(cu *cx, const char *base, const ir_var *v, const ir_expr *index)
{
    const ir_type *elem = v->type->elem;
    if (index->op == IR_OP_INT && index->u.i == 0)
        return cu_primary(cx, DT_NONE, "%s", base);
    cu_text at = cu_index(cx, index);
    int per_byte = cu_is_subbyte(elem) ? 8 / dt_bits(elem->scalar) : 1;
    if (per_byte > 1 && index->op == IR_OP_INT)
        at = cu_int_text(cx, DT_I64, index->u.i / per_byte, true);
    else if (per_byte > 1)
        at = cu_text_of(cx, DT_NONE, CU_MUL, "%s / %d", cu_paren(cx, at, CU_MUL), per_byte);
    return cu_text_of(cx, DT_NONE, CU_UNARY, "&%s[%s]", base, at.s);
}

// ---- the same bits ------------------------------------------------------------------------------------------------

// The unsigned integer that has the bits of a struct.
static dtype bits_dtype(dtype t)
{
    return dt_bits(t) == 8 ? DT_U8 : dt_bits(t) == 16 ? DT_U16 : DT_U32;
}

// __float_as_uint and its like; NULL where there is none.
static const char *reinterpreter(dtype from, dtype to)
{
    if (from == DT_F32)
        return to == DT_I32 ? "__float_as_int" : to == DT_U32 ? "__float_as_uint" : NULL;
    if (to == DT_F32)
        return from == DT_I32 ? "__int_as_float" : from == DT_U32 ? "__uint_as_float" : NULL;
    if (from == DT_F64)
        return to == DT_I64 ? "__double_as_longlong" : NULL;
    return to == DT_F64 && from == DT_I64 ? "__longlong_as_double" : NULL;
}

static cu_text scalar_bits(cu *cx, const ir_expr *e, dtype from, dtype to)
{
    const ir_expr *arg = e->args[0];
    if (cu_is_struct(from) && from != DT_C64) {
        cu_text bits = cu_primary(cx, bits_dtype(from), "%s.bits", cu_at(cx, arg, CU_POSTFIX));
        if (cu_is_struct(to))
            return cu_primary(cx, to, "%s{%s}", cu_type(cx, e->type), bits.s);
        if (to == DT_F32)
            return cu_primary(cx, to, "__uint_as_float(%s)", bits.s);
        return bits.ctype == to ? bits : cu_written(cx, to, bits);
    }
    if (cu_is_struct(to) && to != DT_C64) {
        dtype raw = bits_dtype(to);
        cu_text bits = from == DT_F32 ? cu_primary(cx, DT_U32, "__float_as_uint(%s)", cu_at(cx, arg, CU_ASSIGN))
                                      : cu_expr(cx, arg);
        if (bits.ctype != raw || bits.literal)
            bits = cu_written(cx, raw, bits);
        return cu_primary(cx, to, "%s{%s}", cu_type(cx, e->type), cu_paren(cx, bits, CU_ASSIGN));
    }
    if (dt_is_int(from) && dt_is_int(to)) {
        cu_text t = cu_expr(cx, arg);
        return t.ctype == to && !t.literal ? t : cu_written(cx, to, t);
    }
    const char *function = cx->in_host ? NULL : reinterpreter(from, to);
    if (function)
        return cu_primary(cx, to, "%s(%s)", function, cu_at(cx, arg, CU_ASSIGN));
    cu_use(cx, "bit_cast");
    return cu_primary(cx, to, "bit_cast<%s>(%s)", cu_type(cx, e->type), cu_paren(cx, cu_typed(cx, arg), CU_ASSIGN));
}

// ---- instructions: a wrapper function around PTX text (wrapper.c), or CUDA text in place --------------------------

static const char *wrapper_name(cu *cx, const ir_intrin *in)
{
    if (cx->is_dry)
        return in->instance;
    if (!map_get_ptr(&cx->used_intrins, in)) {
        map_put_ptr(&cx->used_intrins, in, (void *)in);
        VEC_PUSH(cx->lasting, &cx->intrins, in);
    }
    const char *name = map_get_ptr(&cx->wrappers, in);
    if (!name) {
        name = cu_name_global(cx, in->instance);
        map_put_ptr(&cx->wrappers, in, (void *)name);
    }
    return name;
}

static cu_text ptx_call(cu *cx, const ir_expr *e, const char *result)
{
    const ir_intrin *in = e->u.intrin;
    str_buf args, immediates;
    str_buf_init(&args, cx->a);
    str_buf_init(&immediates, cx->a);
    if (result)
        cu_add_item(&args, result);
    for (int i = 0; i < e->arg_count; i++) {
        bool is_immediate = i < in->operand_count && in->operands[i].is_immediate;
        cu_add_item(is_immediate ? &immediates : &args, cu_intrin_argument(cx, e, i));
    }
    const char *of = immediates.len ? cu_format(cx, "<%s>", str_text(&immediates)) : "";
    return cu_primary(cx, cu_intrin_ctype(in), "%s%s(%s)", wrapper_name(cx, in), of, str_text(&args));
}

// Conversions of the prelude that the declaration's text calls.
static void use_prelude(cu *cx, const ir_intrin *in, str word)
{
    cu_prelude_use(&cx->prelude, word);
    for (int i = -1; i < in->operand_count; i++) {
        const ir_type *t = i < 0 ? in->result : in->operands[i].type;
        const ir_type *s = t->elem ? t->elem : t;
        if (s->kind != IR_SCALAR || !cu_is_struct(s->scalar))
            continue;
        const char *name = dt_cuda_name(s->scalar);
        if (str_equal(word, STR("to_float")))
            cu_use(cx, arena_printf(cx->a, "%s.to_float", name));
        if (str_equal(word, str_of(arena_printf(cx->a, "to_%s", name))))
            cu_use(cx, arena_printf(cx->a, "%s.from_float", name));
    }
}

static void use_words(cu *cx, const ir_intrin *in)
{
    bool is_for_device = !cx->in_host && !cx->in_comment;
    if (cx->is_dry || (is_for_device && map_get_ptr(&cx->used_intrins, in)))
        return;
    if (is_for_device)
        map_put_ptr(&cx->used_intrins, in, (void *)in);
    for (const char *at = in->text; *at;) {
        size_t len = cu_word_length(at);
        if (len)
            use_prelude(cx, in, (str){at, len});
        at += len ? len : 1;
    }
}

static cu_text intrin(cu *cx, const ir_expr *e, const char *result)
{
    const ir_intrin *in = e->u.intrin;
    if (in->form == IR_INTRIN_PTX)
        return ptx_call(cx, e, result);
    use_words(cx, in);
    return cu_intrin_text(cx, e, result);
}

// ---- beside the text ----------------------------------------------------------------------------------------------

static bool use(cu *cx, const char *snippet)
{
    return cu_prelude_use(&cx->prelude, str_of(snippet));
}

// Device code has what it calls without a header.
static void use_header(cu *cx, const char *header)
{
    (void)header;
    cx->needs_headers |= cx->in_host;
}

static void begin_statement(cu *cx, src_span span)
{
    (void)cx, (void)span;
}

const cu_dialect cu_dialect_cuda = {
    .words = cu_words_of_cuda,
    .host = &cu_host_cuda,
    .has_overloads = true,
    .has_structs = true,
    .has_destructors = true,
    .has_gpu_pragmas = true,
    .i64_is_long_long = true,
    .scalar = scalar,
    .elem = cu_elem,
    .special_register = special_register,
    .struct_constant = struct_constant,
    .scalar_bits = scalar_bits,
    .safe_integer = safe_integer,
    .float_minmax = float_minmax,
    .address = address,
    .intrin = intrin,
    .use = use,
    .use_header = use_header,
    .begin_statement = begin_statement,
};
