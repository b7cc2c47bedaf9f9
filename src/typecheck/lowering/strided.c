// Tensors with strides of their own: the type strided(T[M, K], [LDA, 1]), the type parameters that stand in it, and what
// a tensor must be to be passed for it. Also at_least(n), the bound of sizes that says how small they may be.
//
// A stride of an axis that has at most one element says nothing: no type parameter is taken from it while another axis
// can tell, and it is compared with nothing.
#include "typecheck/lowering/lowering.h"

#include <string.h>

// ---- the type ----------------------------------------------------------------------------------------------------

static tc_value no_strides(tc *tx, src_span span, tc_value of, const char *why, const char *help)
{
    diag *d = tc_error(tx, HDS0780, span, tc_describe(tx, of), why);
    if (help)
        diag_help(d, "%s", help);
    return tc_poison();
}

static bool check_dense(tc *tx, tc_value v, src_span span)
{
    const tc_tensor_type *t = v.kind == TC_TENSOR_TYPE ? v.tensor_type : NULL;
    const char *why = NULL, *help = NULL;
    if (!t)
        why = "it is not a tensor type", help = "write strided(T[m, n], [ld, 1])";
    else if (t->is_strided)
        why = "it has strides already";
    else if (t->space != IR_GLOBAL || t->map || t->layout || t->record)
        why = "strides are those of tensors in global memory, and what it has is a space, a layout or a mapping";
    else if (t->elem->kind == IR_VECTOR)
        why = "its elements are vectors", help = "take scalars: neighbouring accesses become wide by themselves";
    else if (t->elem->kind == IR_SCALAR && dt_bits(t->elem->scalar) < 8 && t->elem->scalar != DT_BOOL)
        why = "several of its elements share a byte";
    if (why)
        no_strides(tx, span, v, why, help);
    return !why;
}

static bool add_stride(tc *tx, tc_value type, tc_tensor_type *t, int *count, tc_value v, src_span span)
{
    if (v.kind == TC_TUPLE || v.kind == TC_LIST) {
        for (size_t i = 0; i < v.list->len; i++)
            if (!add_stride(tx, type, t, count, v.list->at[i], span))
                return false;
        return true;
    }
    const char *why = NULL;
    if (!tc_is_index(v))
        why = arena_printf(tx->arena, "a stride is an integer, not %s", tc_describe(tx, v));
    else if (v.kind == TC_INT && (v.i < 0 || v.i > INT64_MAX / 2))
        why = arena_printf(tx->arena, "a stride of %s elements, and they are at least 0", tc_text(tx, v));
    else if (*count == t->rank)
        why = arena_printf(tx->arena, "it has %d dimensions and more strides", t->rank);
    if (why) {
        if (!tc_is_poison(v))
            no_strides(tx, span, type, why, NULL);
        return false;
    }
    t->strides[(*count)++] = v.kind == TC_BOOL ? tc_of_int(v.b) : v;
    return true;
}

static bool set_align(tc *tx, tc_tensor_type *t, tc_value v, src_span span)
{
    int64_t align, least = ir_type_bytes(t->elem);
    bool is_good = tc_as_int64(v, &align) && align >= 1 && align <= 1024 && !(align & (align - 1));
    if (!is_good) {
        tc_error(tx, HDS0272, span, tc_describe(tx, v));
        return false;
    }
    t->align = (int)(align > least ? align : least);
    return true;
}

// strided(type, strides, align): the same elements, each index counting as many of them as its stride says.
tc_value tc_native_strided(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value type = *tc_arg_get(args, self->params, 0), strides = *tc_arg_get(args, self->params, 1);
    tc_value *align = tc_arg_get(args, self->params, 2);
    if (tc_is_poison(type) || tc_is_poison(strides) || !check_dense(tx, type, tc_arg_span(args, self->params, 0)))
        return tc_poison();
    tc_tensor_type *t = arena_dup(tx->arena, type.tensor_type, sizeof *t);
    src_span span = tc_arg_span(args, self->params, 1);
    int count = 0;
    if (!add_stride(tx, type, t, &count, strides, span))
        return tc_poison();
    if (count < t->rank)
        return no_strides(tx, span, type, arena_printf(tx->arena, "it has %d dimensions, and %d stride%s", t->rank,
                                                       count, count == 1 ? "" : "s"), NULL);
    t->is_strided = true;
    t->align = (int)ir_type_bytes(t->elem);
    if (align && align->kind != TC_NONE && !set_align(tx, t, *align, tc_arg_span(args, self->params, 2)))
        return tc_poison();
    return (tc_value){.kind = TC_TENSOR_TYPE, .tensor_type = t};
}

// ---- bounds of sizes ---------------------------------------------------------------------------------------------

static bool size_type(tc_value v, dtype *out)
{
    if (v.kind == TC_KIND && v.kind_name == TC_KIND_INT) {
        *out = DT_I32;
        return true;
    }
    *out = v.kind == TC_TYPE && v.type->kind == IR_SCALAR ? v.type->scalar : DT_NONE;
    return *out == DT_I32 || *out == DT_I64;
}

// at_least(n, type): integers from n on, as i32 (int) or i64 where they stay open.
tc_value tc_native_at_least(tc *tx, const tc_native *self, tc_args *args)
{
    tc_value least = *tc_arg_get(args, self->params, 0), *type = tc_arg_get(args, self->params, 1);
    tc_at_least *bound = ARENA_NEW(tx->arena, tc_at_least);
    bound->type = DT_I32;
    if (tc_is_poison(least) || (type && tc_is_poison(*type)))
        return tc_poison();
    if (!tc_as_int64(least, &bound->least) || bound->least < 0 || bound->least > INT32_MAX)
        return TC_ERR(tx, HDS0783, tc_arg_span(args, self->params, 0), "an integer from 0 on", tc_describe(tx, least));
    if (type && !size_type(*type, &bound->type))
        return TC_ERR(tx, HDS0783, tc_arg_span(args, self->params, 1), "'int', 'i32' or 'i64'", tc_describe(tx, *type));
    return (tc_value){.kind = TC_AT_LEAST, .at_least = bound};
}

// ---- what an annotation says -------------------------------------------------------------------------------------

static const ast_expr *argument(const ast_call *call, size_t position, const char *name)
{
    for (size_t i = 0; i < call->args.len; i++) {
        const ast_arg *a = &call->args.at[i];
        if (a->kind == AST_ARG_PLAIN && (a->name ? strcmp(a->name->text, name) == 0 : i == position))
            return a->value;
    }
    return NULL;
}

bool tc_strided_parts(tc *tx, const ast_expr *annotation, tc_scope *scope, const ast_expr **type,
                      const ast_expr **strides)
{
    if (annotation->kind != AST_CALL)
        return false;
    const ast_call *call = AST_AS(CALL, call, annotation);
    if (call->callee->kind != AST_NAME && call->callee->kind != AST_ATTRIBUTE)
        return false;
    tc_value callee = tc_eval_annotation(tx, call->callee, scope);
    *type = argument(call, 0, "tensor_type");
    *strides = argument(call, 1, "strides");
    return callee.kind == TC_NATIVE && callee.native->run == tc_native_strided && *type && *strides;
}

// ---- strides of tensors ------------------------------------------------------------------------------------------

bool tc_strides_of(tc *tx, const tc_tensor *t, tc_value *strides)
{
    (void)tx;
    const ir_tensor *info = t->base->tensor;
    if (t->map || info->map || (info->layout && info->layout->kind != TM_LAYOUT_STRIDED))
        return false;
    for (int d = 0; d < info->rank; d++) {
        int64_t known = info->layout ? info->layout->strides[d] : 0;
        bool is_known = info->layout || ir_const_int(info->strides[d], &known);
        if (t->dim_of[d] >= 0)
            strides[t->dim_of[d]] = is_known ? tc_of_int(known) : tc_rt(info->strides[d]);
    }
    return true;
}

// Tensors in memory begin at multiples of 16 bytes unless they say something else: launchers and allocations see to that.
int tc_align_of_whole(const ir_tensor *info)
{
    int of_elements = (int)ir_type_bytes(info->elem);
    return info->align_bytes ? info->align_bytes : info->space == IR_REGISTER ? of_elements : 16;
}

int tc_align_of(const tc_tensor *t)
{
    const ir_tensor *info = t->base->tensor;
    bool is_subbyte = info->elem->kind == IR_SCALAR && dt_bits(info->elem->scalar) < 8;
    int64_t align = tc_align_of_whole(info);
    for (int d = 0; d < info->rank; d++) {
        int64_t offset = 1, stride = info->layout && info->layout->kind == TM_LAYOUT_STRIDED ? info->layout->strides[d] : 1;
        if (!t->offset[d] || (ir_const_int(t->offset[d], &offset) && offset == 0))
            continue;
        if (!info->layout && info->strides)
            ir_const_int(info->strides[d], &stride);
        int64_t bytes = is_subbyte ? 1 : offset * stride * ir_type_bytes(info->elem);
        while (bytes % align)
            align /= 2;
    }
    return (int)align;
}

// Along such an axis no index but 0 is used.
bool tc_axis_is_idle(const tc_tensor *t, int axis)
{
    return t->shape[axis].kind == TC_INT && t->shape[axis].i <= 1;
}

const char *tc_strides_differ(tc *tx, const tc_tensor *t, const tc_value *want)
{
    tc_value strides[TM_MAX_RANK];
    if (!tc_strides_of(tx, t, strides))
        return "its layout has no strides";
    for (int d = 0; d < t->rank; d++)
        if (!tc_axis_is_idle(t, d) && strides[d].kind == TC_INT && want[d].kind == TC_INT && strides[d].i != want[d].i)
            return arena_printf(tx->arena, "the stride of dimension %d differs: it is %s, and has to be %s", d,
                                tc_text(tx, strides[d]), tc_text(tx, want[d]));
    return NULL;
}

// Products of known extents, as the strides behind them are written.
static bool known_product(const ir_expr *e, int64_t *out)
{
    int64_t a, b;
    if (e->op == IR_OP_CAST)
        return known_product(e->args[0], out);
    if (e->op != IR_OP_MUL)
        return ir_const_int(e, out);
    return known_product(e->args[0], &a) && known_product(e->args[1], &b) && !__builtin_mul_overflow(a, b, out);
}

static bool same_stride(tc_value a, const ir_expr *b)
{
    int64_t known;
    if (a.kind == TC_INT)
        return known_product(b, &known) && known == a.i;
    const ir_expr *e = a.rt;
    while (e->op == IR_OP_CAST)
        e = e->args[0];
    while (b->op == IR_OP_CAST)
        b = b->args[0];
    return ir_expr_equal(e, b);
}

bool tc_is_row_major(tc *tx, const tc_tensor *t, src_span span)
{
    const ir_tensor *info = t->base->tensor;
    if (!t->is_view && !info->is_strided && (!info->layout || tm_layout_is_row_major(info->layout)))
        return true;
    tc_value strides[TM_MAX_RANK];
    if (!tc_strides_of(tx, t, strides))
        return false;
    ir_expr *shape[TM_MAX_RANK];
    for (int d = 0; d < t->rank; d++)
        shape[d] = tc_size_expr(tx, t->shape[d]);
    ir_expr **dense = tc_row_major_strides(tx, shape, t->rank, span);
    for (int d = 0; d < t->rank; d++)
        if (!tc_axis_is_idle(t, d) && !same_stride(strides[d], dense[d]))
            return false;
    return true;
}

// ---- arguments of launches ---------------------------------------------------------------------------------------

static ir_expr *in_64_bits(tc *tx, ir_expr *e)
{
    return ir_cast(tx->ir, e, ir_scalar(tx->ir, DT_I64), e->span);
}

// extent <= 1 or is == wanted, before the launch.
static void assert_stride(tc *tx, const ir_var *param, const tc_tensor *t, int axis, ir_expr *is, ir_expr *wanted,
                          src_span span)
{
    ir_expr *condition = ir_binary(tx->ir, IR_OP_EQ, in_64_bits(tx, is), in_64_bits(tx, wanted), span);
    if (t->shape[axis].kind == TC_RT) {
        ir_expr *extent = t->shape[axis].rt;
        ir_expr *idle = ir_binary(tx->ir, IR_OP_LE, extent, ir_int(tx->ir, extent->type->scalar, 1), span);
        condition = ir_binary(tx->ir, IR_OP_LOR, idle, condition, span);
    }
    ir_stmt *s = tc_new_stmt(tx, IR_ASSERT, span);
    s->value = condition;
    s->text = arena_printf(tx->ir->arena, "'%s' has another stride along axis %d than the other arguments of the kernel say",
                           param->name, axis);
    tc_emit(tx, s);
}

void tc_check_launch_strides(tc *tx, const ir_var *param, const tc_tensor *t, const map *arguments, src_span span)
{
    tc_value strides[TM_MAX_RANK];
    if (!param->tensor->is_strided || !tc_strides_of(tx, t, strides))
        return;
    for (int d = 0; d < t->rank; d++) {
        ir_expr *wanted = ir_substitute(tx->ir, param->tensor->strides[d], arguments);
        if (!tc_axis_is_idle(t, d) && !same_stride(strides[d], wanted))
            assert_stride(tx, param, t, d, tc_size_expr(tx, strides[d]), wanted, span);
    }
}
