// Conversions between compile-time and run-time values, implicit (assignment, arguments, stores) and explicit (T(v)).
//
// Implicit conversions never lose information: exact widening, integers to floats, literals that fit. Everything else
// must be written, so that every rounding is explicit in the text of a kernel.
#include "typecheck/lowering/lowering.h"

#include <math.h>

const ir_type *tc_default_type(tc *tx, tc_value v)
{
    switch (v.kind) {
    case TC_BOOL:
        return ir_scalar(tx->ir, DT_BOOL);
    case TC_INT:
        return ir_scalar(tx->ir, v.i >= INT32_MIN && v.i <= INT32_MAX ? DT_I32 : v.i <= INT64_MAX ? DT_I64 : DT_U64);
    case TC_FLOAT:
        return ir_scalar(tx->ir, DT_F32);
    case TC_RT:
        return v.rt->type;
    default:
        return NULL;
    }
}

static ir_expr *with_span(ir_expr *e, src_span span)
{
    if (!e->span.begin)
        e->span = span;
    return e;
}

static bool int_fits(dtype t, tc_int i)
{
    if (t == DT_U64)
        return i >= 0 && i <= (tc_int)UINT64_MAX;
    return i >= INT64_MIN && i <= INT64_MAX && dt_holds_int(t, (int64_t)i);
}

static void narrowing_error(tc *tx, tc_value v, const ir_type *want, src_span span, const char *what)
{
    str_buf name;
    str_buf_init(&name, tx->arena);
    ir_type_print(want, &name);
    diag *d = tc_error(tx, HDS0110, span, tc_describe(tx, v), str_text(&name), what);
    if (want->kind == IR_POINTER && v.kind == TC_RT && v.rt->op == IR_OP_LOAD)
        diag_help(d, "the address of an element is written '~x[i]'");
    if (want->kind != IR_SCALAR || !(tc_is_number(v) || (v.kind == TC_RT && v.rt->type->kind == IR_SCALAR)))
        return;
    diag_help(d, "write the conversion: %s(…)", str_text(&name));
    if (span.begin && span.begin == tx->value_span.begin && span.end == tx->value_span.end) {
        diag_fix(d, (src_span){span.begin, span.begin}, arena_printf(tx->arena, "%s(", str_text(&name)));
        diag_fix(d, (src_span){span.end, span.end}, ")");
    }
}

static ir_expr *number_to(tc *tx, tc_value v, const ir_type *want, src_span span, const char *what)
{
    dtype t = want->scalar;
    if (dt_is_float(t)) {
        double f = v.kind == TC_FLOAT ? v.f : v.kind == TC_BOOL ? v.b : (double)v.i;
        double rounded = dt_to_double(t, dt_from_double(t, f));
        bool is_fp8 = dt_bits(t) == 8;  // these saturate instead of overflowing
        if (isfinite(f) && (is_fp8 ? fabs(f) > fabs(rounded) * 1.0625 : !isfinite(rounded))) {
            tc_error(tx, HDS0111, span, tc_text(tx, v), dt_name(t));
            return NULL;
        }
        return with_span(ir_float(tx->ir, t, f), span);
    }
    if (t == DT_C64)
        return ir_cast(tx->ir, number_to(tx, v, ir_scalar(tx->ir, DT_F32), span, what), want, span);
    if (t == DT_BOOL && v.kind == TC_BOOL)
        return with_span(ir_int(tx->ir, DT_BOOL, v.b), span);
    if (dt_is_int(t) && v.kind != TC_FLOAT) {
        tc_int i = v.kind == TC_BOOL ? (tc_int)v.b : v.i;
        if (int_fits(t, i))
            return with_span(ir_int(tx->ir, t, (int64_t)(uint64_t)i), span);
        tc_error(tx, HDS0111, span, tc_text(tx, v), dt_name(t));
        return NULL;
    }
    narrowing_error(tx, v, want, span, what);
    return NULL;
}

// Between pointers, and between pointers and 64-bit integers: the bits stay.
ir_expr *tc_pointer_cast(tc *tx, ir_expr *e, const ir_type *want, src_span span)
{
    bool narrow = e->type->kind == IR_SCALAR && dt_bits(e->type->scalar) != 64;
    if (narrow)
        e = ir_cast(tx->ir, e, ir_scalar(tx->ir, DT_U64), span);
    if (e->type == want)
        return e;
    ir_expr *bits = ir_new_expr(tx->ir, IR_OP_BITCAST, want, span, 1);
    bits->args[0] = e;
    return bits;
}

static bool pointer_converts(const ir_type *from, const ir_type *to)
{
    bool same_elem = from->elem == to->elem || to->elem->kind == IR_VOID || from->elem->kind == IR_VOID;
    return same_elem && (from->space == to->space || to->space == IR_GENERIC || from->space == IR_GENERIC);
}

static bool converts_implicitly(const ir_type *from, const ir_type *to)
{
    if (from->kind == IR_POINTER && to->kind == IR_POINTER)
        return pointer_converts(from, to);
    if (from->kind != IR_SCALAR || to->kind != IR_SCALAR)
        return false;
    if (dt_converts_exactly(from->scalar, to->scalar))
        return true;
    return dt_is_int(from->scalar) && (to->scalar == DT_F32 || to->scalar == DT_F64);
}

static ir_expr *decay(tc *tx, tc_tensor *t, src_span span)
{
    tc_value first = tc_tensor_address(tx, t, NULL, 0, span);
    return first.kind == TC_RT ? first.rt : NULL;
}

ir_expr *tc_convert(tc *tx, tc_value v, const ir_type *want, src_span span, const char *what)
{
    if (want->kind == IR_SCALAR)
        v = tc_as_index(tx, v, span);
    if (tc_is_poison(v))
        return NULL;
    if (v.kind == TC_TENSOR && want->kind == IR_POINTER) {
        ir_expr *p = decay(tx, v.tensor, span);
        if (!p)
            return NULL;
        v = tc_rt(p);
    }
    if (tc_is_number(v) && want->kind == IR_SCALAR)
        return number_to(tx, v, want, span, what);
    if (v.kind == TC_RT && v.rt->type == want)
        return v.rt;
    if (v.kind == TC_RT && converts_implicitly(v.rt->type, want))
        return want->kind == IR_POINTER ? tc_pointer_cast(tx, v.rt, want, span) : ir_cast(tx->ir, v.rt, want, span);
    if (v.kind == TC_NONE && want->kind == IR_POINTER)
        return tc_pointer_cast(tx, ir_int(tx->ir, DT_U64, 0), want, span);
    narrowing_error(tx, v, want, span, what);
    return NULL;
}

static ir_expr *cast_number(tc *tx, tc_value v, const ir_type *want, src_span span)
{
    dtype t = want->scalar;
    if (t == DT_BOOL) {
        bool truth = false;
        tc_truth(v, &truth);
        return ir_int(tx->ir, DT_BOOL, truth);
    }
    if (dt_is_int(t) && v.kind == TC_FLOAT) {
        double whole = trunc(v.f);
        if (!(fabs(whole) < 1e30) || !int_fits(t, (tc_int)whole)) {
            tc_error(tx, HDS0111, span, tc_text(tx, v), dt_name(t));
            return NULL;
        }
        return ir_int(tx->ir, t, (int64_t)(uint64_t)(tc_int)whole);
    }
    return number_to(tx, v, want, span, "conversion");
}

ir_expr *tc_cast(tc *tx, tc_value v, const ir_type *want, src_span span)
{
    if (want->kind == IR_SCALAR)
        v = tc_as_index(tx, v, span);
    if (tc_is_poison(v))
        return NULL;
    if (tc_is_number(v) && want->kind == IR_SCALAR) {
        ir_expr *e = cast_number(tx, v, want, span);
        return e ? with_span(e, span) : NULL;
    }
    if (v.kind == TC_TENSOR && want->kind == IR_POINTER) {
        ir_expr *p = decay(tx, v.tensor, span);
        if (!p)
            return NULL;
        v = tc_rt(p);
    }
    if (v.kind == TC_INT && want->kind == IR_POINTER)
        return tc_pointer_cast(tx, ir_int(tx->ir, DT_U64, (int64_t)v.i), want, span);
    if (v.kind != TC_RT) {
        narrowing_error(tx, v, want, span, "conversion");
        return NULL;
    }
    const ir_type *from = v.rt->type;
    bool ok = (from->kind == IR_SCALAR && want->kind == IR_SCALAR) ||
              (from->kind == IR_POINTER && want->kind == IR_POINTER) ||
              (from->kind == IR_POINTER && want->kind == IR_SCALAR && dt_is_int(want->scalar) &&
               dt_bits(want->scalar) == 64) ||
              (from->kind == IR_SCALAR && dt_is_int(from->scalar) && want->kind == IR_POINTER) ||
              (from->kind == IR_VECTOR && want->kind == IR_VECTOR && from->lanes == want->lanes);
    if (!ok) {
        narrowing_error(tx, v, want, span, "conversion");
        return NULL;
    }
    if (want->kind == IR_SCALAR && want->scalar == DT_BOOL && from->kind == IR_SCALAR && from->scalar != DT_BOOL) {
        ir_expr *zero = dt_is_float(from->scalar) ? ir_float(tx->ir, from->scalar, 0) : ir_int(tx->ir, from->scalar, 0);
        return ir_binary(tx->ir, IR_OP_NE, v.rt, zero, span);
    }
    return from->kind == IR_POINTER || want->kind == IR_POINTER ? tc_pointer_cast(tx, v.rt, want, span)
                                                                : ir_cast(tx->ir, v.rt, want, span);
}

ir_expr *tc_default_rt(tc *tx, tc_value v, src_span span)
{
    v = tc_as_index(tx, v, span);
    if (tc_is_poison(v))
        return NULL;
    const ir_type *t = tc_default_type(tx, v);
    if (!t) {
        tc_error(tx, HDS0112, span, tc_describe(tx, v));
        return NULL;
    }
    return tc_convert(tx, v, t, span, "value");
}

bool tc_is_index(tc_value v)
{
    if (v.kind == TC_INT || v.kind == TC_BOOL)
        return true;
    return v.kind == TC_RT && v.rt->type->kind == IR_SCALAR && dt_is_int(v.rt->type->scalar);
}

ir_expr *tc_to_index(tc *tx, tc_value v, src_span span)
{
    v = tc_as_index(tx, v, span);
    if (tc_is_poison(v))
        return NULL;
    if (!tc_is_index(v)) {
        diag *d = tc_error(tx, HDS0113, span, tc_describe(tx, v));
        if (v.kind == TC_NAMESPACE)
            diag_help(d, "write its number in one dimension: '.x'");
        else if (v.kind == TC_FLOAT ||
                 (v.kind == TC_RT && v.rt->type->kind == IR_SCALAR && dt_is_float(v.rt->type->scalar)))
            diag_help(d, "write '//' for integer division, or convert it: i32(…)");
        return NULL;
    }
    return tc_default_rt(tx, v.kind == TC_BOOL ? tc_of_int(v.b) : v, span);
}

ir_expr *tc_condition(tc *tx, tc_value v, src_span span)
{
    bool truth;
    if (tc_truth_of(tx, &v, span, &truth))
        return ir_int(tx->ir, DT_BOOL, truth);
    if (tc_is_poison(v))
        return NULL;
    if (v.kind == TC_RT && ir_is_scalar(v.rt->type, DT_BOOL))
        return v.rt;
    if (v.kind == TC_RT && v.rt->type->kind == IR_SCALAR && dt_kind_of(v.rt->type->scalar) != DT_KIND_COMPLEX)
        return tc_cast(tx, v, ir_scalar(tx->ir, DT_BOOL), span);
    if (v.kind == TC_RT && v.rt->type->kind == IR_POINTER) {
        ir_expr *bits = tc_pointer_cast(tx, v.rt, ir_scalar(tx->ir, DT_U64), span);
        return ir_binary(tx->ir, IR_OP_NE, bits, ir_int(tx->ir, DT_U64, 0), span);
    }
    tc_error(tx, HDS0114, span, tc_describe(tx, v));
    return NULL;
}
