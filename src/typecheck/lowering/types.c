// Types as values: T[shape], shared[…], ~T; inference of type parameters from arguments; checking values against
// annotations.
#include "typecheck/lowering/lowering.h"

#include <string.h>

const ir_type *tc_value_type(tc_value v)
{
    return v.kind == TC_RT ? v.rt->type : NULL;
}

// ---- T[…] --------------------------------------------------------------------------------------------------------

static bool add_dim(tc *tx, tc_tensor_type *t, tc_value v, src_span span)
{
    if (v.kind == TC_TUPLE || v.kind == TC_LIST) {
        for (size_t i = 0; i < v.list->len; i++)
            if (!add_dim(tx, t, v.list->at[i], span))
                return false;
        return true;
    }
    if (t->rank == TM_MAX_RANK) {
        tc_error(tx, HDS0180, span, TM_MAX_RANK);
        return false;
    }
    if (!tc_is_index(v)) {
        tc_error(tx, HDS0181, span, tc_describe(tx, v));
        return false;
    }
    if (v.kind == TC_INT && (v.i < 0 || v.i > INT64_MAX / 2)) {
        tc_error(tx, HDS0182, span, tc_text(tx, v));
        return false;
    }
    t->shape[t->rank++] = v.kind == TC_BOOL ? tc_of_int(v.b) : v;
    return true;
}

static void shape_from(tc_tensor_type *t, int rank, const int64_t *shape)
{
    t->rank = rank;
    for (int i = 0; i < rank; i++)
        t->shape[i] = tc_of_int(shape[i]);
}

static tc_value tensor_type_of(tc *tx, const ir_type *elem, tc_value *items, size_t len, src_span span)
{
    tc_tensor_type *t = ARENA_NEW(tx->arena, tc_tensor_type);
    t->elem = elem;
    t->space = IR_GLOBAL;
    if (len == 1 && items[0].kind == TC_MAP) {
        t->map = items[0].map;
        t->space = IR_REGISTER;
        shape_from(t, t->map->rank, t->map->shape);
        return (tc_value){.kind = TC_TENSOR_TYPE, .tensor_type = t};
    }
    if (len >= 1 && items[len - 1].kind == TC_LAYOUT) {
        t->layout = items[len - 1].layout;
        shape_from(t, t->layout->rank, t->layout->shape);
        return (tc_value){.kind = TC_TENSOR_TYPE, .tensor_type = t};
    }
    for (size_t i = 0; i < len; i++)
        if (!add_dim(tx, t, items[i], span))
            return tc_poison();
    return (tc_value){.kind = TC_TENSOR_TYPE, .tensor_type = t};
}

static tc_value in_space(tc *tx, ir_space space, tc_value *items, size_t len, src_span span)
{
    if (items[0].kind == TC_TYPE && items[0].type->kind == IR_POINTER)
        return tc_type(ir_pointer(tx->ir, items[0].type->elem, space));
    if (items[0].kind != TC_TENSOR_TYPE)
        return TC_ERR(tx, HDS0183, span, ir_space_name(space), tc_describe(tx, items[0]));
    tc_tensor_type *t = arena_dup(tx->arena, items[0].tensor_type, sizeof *t);
    t->space = space;
    if (len > 1 && items[1].kind == TC_LAYOUT)
        t->layout = items[1].layout;
    else if (len > 1)
        return TC_ERR(tx, HDS0183, span, ir_space_name(space), tc_describe(tx, items[1]));
    return (tc_value){.kind = TC_TENSOR_TYPE, .tensor_type = t};
}

tc_value tc_type_subscript(tc *tx, tc_value base, tc_value *items, size_t len, src_span span)
{
    for (size_t i = 0; i < len; i++)
        if (tc_is_poison(items[i]))
            return tc_poison();
    if (base.kind == TC_SPACE)
        return len ? in_space(tx, base.space, items, len, span) : tc_poison();
    if (base.kind == TC_TYPE && base.type->kind != IR_VOID)
        return tensor_type_of(tx, base.type, items, len, span);
    return TC_ERR(tx, HDS0142, span, tc_describe(tx, base));
}

static bool is_annotation(tc_value v)
{
    return v.kind == TC_KIND || v.kind == TC_TYPE || v.kind == TC_TENSOR_TYPE || v.kind == TC_CLASS ||
           v.kind == TC_NONE || v.kind == TC_ELLIPSIS;
}

// bool[64] is a tensor; list[int], tuple[int, …] name the item types, which are not checked; others have neither shape
// nor items.
tc_value tc_kind_subscript(tc *tx, tc_value kind, tc_value *items, size_t len, src_span span)
{
    tc_kind_name k = kind.kind_name;
    if (k == TC_KIND_BOOL)
        return tc_type_subscript(tx, tc_type(ir_scalar(tx->ir, DT_BOOL)), items, len, span);
    bool ok = k == TC_KIND_LIST || k == TC_KIND_TUPLE || k == TC_KIND_DICT || k == TC_KIND_SET || k == TC_KIND_TYPE;
    for (size_t i = 0; ok && i < len; i++)
        ok = is_annotation(items[i]);
    if (ok)
        return kind;
    diag *d = tc_error(tx, HDS0303, span, tc_kind_texts[k]);
    if (k == TC_KIND_INT || k == TC_KIND_FLOAT)
        diag_help(d, "'%s' is a number known while compiling; elements of tensors have types such as %s",
                  tc_kind_texts[k], k == TC_KIND_INT ? "i32: i32[64]" : "f32: f32[64]");
    return tc_poison();
}

tc_value tc_eval_annotation(tc *tx, const ast_expr *annotation, tc_scope *scope)
{
    tc_scope *saved = tx->frame->scope;
    tx->frame->scope = scope;
    tc_value v = tc_eval(tx, annotation);
    tx->frame->scope = saved;
    return v;
}

// ---- inference ---------------------------------------------------------------------------------------------------

static int param_index(const ast_type_params *params, const ast_expr *e)
{
    if (e->kind != AST_NAME)
        return -1;
    for (size_t i = 0; i < params->len; i++)
        if (params->at[i].name == AST_AS(NAME, name, e)->name)
            return (int)i;
    return -1;
}

typedef struct inference {
    tc *tx;
    tc_scope *scope;
    const ast_type_params *params;
    bool *bound;
} inference;

static void bind_param(inference *in, int i, tc_value v)
{
    if (in->bound[i] || tc_is_poison(v))
        return;
    in->bound[i] = true;
    tc_scope_bind(in->tx, in->scope, in->params->at[i].name, v, in->params->at[i].span);
}

static void infer_type(inference *in, const ast_expr *annotation, const ir_type *type)
{
    if (!type)
        return; // a node whose elements have no type yet
    int i = param_index(in->params, annotation);
    if (i >= 0)
        bind_param(in, i, tc_type(type));
    else if (annotation->kind == AST_UNARY && AST_AS(UNARY, unary, annotation)->op == AST_OP_INVERT &&
             type->kind == IR_POINTER)
        infer_type(in, AST_AS(UNARY, unary, annotation)->operand, type->elem);
}

static void infer_dims(inference *in, const ast_list *items, const tc_tensor *t)
{
    size_t star = items->len;
    for (size_t k = 0; k < items->len; k++)
        if (items->at[k]->kind == AST_STARRED)
            star = k;
    if (star == items->len) {
        for (int k = 0; (size_t)k < items->len && k < t->rank; k++) {
            int i = param_index(in->params, items->at[k]);
            if (i >= 0)
                bind_param(in, i, t->shape[k]);
        }
        return;
    }
    int tail = (int)(items->len - star - 1), head = (int)star, middle = t->rank - head - tail;
    for (int k = 0; k < head && k < t->rank; k++) {
        int i = param_index(in->params, items->at[k]);
        if (i >= 0)
            bind_param(in, i, t->shape[k]);
    }
    if (middle < 0)
        return;
    int i = param_index(in->params, AST_AS(STARRED, starred, items->at[star])->value);
    if (i >= 0)
        bind_param(in, i, tc_list_new(in->tx, TC_TUPLE, t->shape + head, (size_t)middle));
    for (int k = 0; k < tail; k++) {
        i = param_index(in->params, items->at[star + 1 + (size_t)k]);
        if (i >= 0)
            bind_param(in, i, t->shape[head + middle + k]);
    }
}

static const tm_layout *layout_of(tc *tx, const tc_tensor *t)
{
    (void)tx;
    return t->is_view ? NULL : t->base->tensor->layout;
}

// T[L] with a type parameter L: layout
static bool takes_layout(inference *in, int i)
{
    const ast_expr *bound = in->params->at[i].bound;
    tc_value v = bound ? tc_eval_annotation(in->tx, bound, in->scope) : tc_none();
    return v.kind == TC_KIND && v.kind_name == TC_KIND_LAYOUT;
}

// The strides of [LDA, 1] in strided(…); idle axes wait until all others have told what they know.
static void infer_strides(inference *in, const ast_expr *strides, const tc_tensor *t, bool from_idle)
{
    tc_value actual[TM_MAX_RANK];
    bool is_list = strides->kind == AST_LIST || strides->kind == AST_TUPLE;
    if (!is_list || !tc_strides_of(in->tx, t, actual))
        return;
    const ast_list *items = &AST_AS(LIST, sequence, strides)->items;
    for (int k = 0; (size_t)k < items->len && k < t->rank; k++) {
        int i = param_index(in->params, items->at[k]);
        if (i >= 0 && tc_axis_is_idle(t, k) == from_idle)
            bind_param(in, i, actual[k]);
    }
}

static void infer_tensor(inference *in, const ast_subscript *annotation, tc_value actual)
{
    tc_tensor *t = actual.tensor;
    const ast_list *items = &annotation->items;
    tc_value base = annotation->value->kind == AST_NAME && param_index(in->params, annotation->value) < 0
                        ? tc_eval_annotation(in->tx, annotation->value, in->scope)
                        : tc_none();
    if (base.kind == TC_SPACE) {
        if (items->len >= 1 && items->at[0]->kind == AST_SUBSCRIPT)
            infer_tensor(in, AST_AS(SUBSCRIPT, subscript, items->at[0]), actual);
        else if (items->len >= 1 && items->at[0]->kind == AST_UNARY)
            infer_type(in, AST_AS(UNARY, unary, items->at[0])->operand, t->base->tensor->elem);
        int i = items->len > 1 ? param_index(in->params, items->at[1]) : -1;
        if (i >= 0 && layout_of(in->tx, t))
            bind_param(in, i, tc_layout_value(layout_of(in->tx, t)));
        return;
    }
    infer_type(in, annotation->value, t->base->tensor->elem);
    int only = items->len == 1 ? param_index(in->params, items->at[0]) : -1;
    if (only >= 0 && t->map && (t->rank != 1 || t->base->tensor->map))
        bind_param(in, only, tc_map_value(t->map));
    else if (only >= 0 && takes_layout(in, only) && layout_of(in->tx, t))
        bind_param(in, only, tc_layout_value(layout_of(in->tx, t)));
    else
        infer_dims(in, items, t);
}

// The names of a condition have values: type parameters that nothing has fixed so far take their defaults.
static bool settle_names(inference *in, const ast_expr *e)
{
    const ast_list *list = e->kind == AST_COMPARE   ? &AST_AS(COMPARE, compare, e)->operands
                           : e->kind == AST_LOGICAL ? &AST_AS(LOGICAL, logical, e)->operands
                                                    : NULL;
    for (size_t k = 0; list && k < list->len; k++)
        if (!settle_names(in, list->at[k]))
            return false;
    if (e->kind == AST_UNARY)
        return settle_names(in, AST_AS(UNARY, unary, e)->operand);
    int i = param_index(in->params, e);
    if (i < 0 || in->bound[i])
        return true;
    if (!in->params->at[i].default_value)
        return false;
    bind_param(in, i, tc_eval_annotation(in->tx, in->params->at[i].default_value, in->scope));
    return in->bound[i];
}

// The branch of `X if c else Y` that c chooses; NULL if c is not known yet.
static const ast_expr *chosen_annotation(inference *in, const ast_expr *annotation)
{
    while (annotation && annotation->kind == AST_IF_EXPR) {
        const ast_if_expr *e = AST_AS(IF_EXPR, if_expr, annotation);
        bool holds = false;
        bool is_known = settle_names(in, e->condition) &&
                        tc_truth(tc_eval_annotation(in->tx, e->condition, in->scope), &holds);
        annotation = !is_known ? NULL : holds ? e->then : e->or_else;
    }
    return annotation;
}

bool tc_infer(tc *tx, const ast_expr *annotation, tc_value actual, tc_scope *scope, const ast_type_params *params,
              bool *bound)
{
    inference in = {tx, scope, params, bound};
    annotation = chosen_annotation(&in, annotation);
    if (!annotation)
        return true;
    tc_tensor *node = annotation->kind == AST_SUBSCRIPT ? tc_node_tensor(tx, actual) : NULL;
    if (node) {
        infer_tensor(&in, AST_AS(SUBSCRIPT, subscript, annotation), (tc_value){.kind = TC_TENSOR, .tensor = node});
        return true;
    }
    int i = param_index(params, annotation);
    if (i >= 0) {
        if (actual.kind == TC_TENSOR)
            return true;
        const ir_type *t = tc_default_type(tx, actual);
        bind_param(&in, i,
                   t                          ? tc_type(t)
                   : actual.kind == TC_RECORD ? (tc_value){.kind = TC_CLASS, .class = actual.record->class}
                                              : actual);
        return true;
    }
    const ast_expr *type, *strides;
    if (actual.kind == TC_TENSOR && tc_strided_parts(tx, annotation, scope, &type, &strides)) {
        type = chosen_annotation(&in, type);
        if (type && type->kind == AST_SUBSCRIPT)
            infer_tensor(&in, AST_AS(SUBSCRIPT, subscript, type), actual);
        infer_strides(&in, strides, actual.tensor, false);
    } else if (annotation->kind == AST_SUBSCRIPT && actual.kind == TC_TENSOR)
        infer_tensor(&in, AST_AS(SUBSCRIPT, subscript, annotation), actual);
    else if (annotation->kind == AST_UNARY && actual.kind == TC_TENSOR)
        infer_type(&in, AST_AS(UNARY, unary, annotation)->operand, actual.tensor->base->tensor->elem);
    else if (actual.kind == TC_RT)
        infer_type(&in, annotation, actual.rt->type);
    if (annotation->kind == AST_SUBSCRIPT && actual.kind == TC_RT && actual.rt->type->kind == IR_POINTER) {
        const ast_subscript *s = AST_AS(SUBSCRIPT, subscript, annotation); // shared[~T]
        if (s->items.len)
            infer_type(&in, s->items.at[0], actual.rt->type);
    }
    return true;
}

void tc_infer_idle(tc *tx, const ast_expr *annotation, tc_value actual, tc_scope *scope, const ast_type_params *params,
                   bool *bound)
{
    inference in = {tx, scope, params, bound};
    annotation = chosen_annotation(&in, annotation);
    const ast_expr *type, *strides;
    if (annotation && actual.kind == TC_TENSOR && tc_strided_parts(tx, annotation, scope, &type, &strides))
        infer_strides(&in, strides, actual.tensor, true);
}

// ---- values against annotations ----------------------------------------------------------------------------------

bool tc_is_of_kind(tc_kind_name k, tc_value v)
{
    switch (k) {
    case TC_KIND_INT:
        return v.kind == TC_INT || v.kind == TC_BOOL;
    case TC_KIND_FLOAT:
        return v.kind == TC_FLOAT;
    case TC_KIND_BOOL:
        return v.kind == TC_BOOL;
    case TC_KIND_STR:
        return v.kind == TC_STR;
    case TC_KIND_DTYPE:
        return v.kind == TC_TYPE && v.type->kind == IR_SCALAR;
    case TC_KIND_TYPE:
        return v.kind == TC_TYPE || v.kind == TC_TENSOR_TYPE || v.kind == TC_CLASS || v.kind == TC_KIND;
    case TC_KIND_LAYOUT:
        return v.kind == TC_LAYOUT;
    case TC_KIND_MAPPING:
        return v.kind == TC_MAP;
    case TC_KIND_FUNCTION:
        return v.kind == TC_FUNCTION || v.kind == TC_NATIVE || v.kind == TC_METHOD;
    case TC_KIND_TUPLE:
        return v.kind == TC_TUPLE;
    case TC_KIND_LIST:
        return v.kind == TC_LIST;
    case TC_KIND_DICT:
        return v.kind == TC_DICT;
    case TC_KIND_SET:
        return v.kind == TC_SET;
    default:
        return true;
    }
}

// What an annotation takes besides values of its kind: run-time numbers, and compatible values.
static bool kind_accepts(tc_kind_name k, tc_value v)
{
    const ir_type *t = tc_value_type(v);
    bool rt_scalar = t && t->kind == IR_SCALAR;
    if (tc_is_of_kind(k, v))
        return true;
    switch (k) {
    case TC_KIND_INT:
        return rt_scalar && dt_is_int(t->scalar);
    case TC_KIND_FLOAT:
        return tc_is_number(v) || (rt_scalar && (dt_is_float(t->scalar) || dt_is_int(t->scalar)));
    case TC_KIND_BOOL:
        return rt_scalar && t->scalar == DT_BOOL;
    case TC_KIND_FUNCTION:
        return v.kind == TC_CLASS || v.kind == TC_TYPE;
    case TC_KIND_LIST:
        return v.kind == TC_TUPLE;
    default:
        return false;
    }
}

static tc_value conform_kind(tc *tx, tc_value v, tc_kind_name k, const char *what, src_span span)
{
    if (k == TC_KIND_INT || k == TC_KIND_FLOAT)
        v = tc_as_index(tx, v, span);
    if (tc_is_poison(v))
        return v;
    bool is_callable = k == TC_KIND_FUNCTION && v.kind == TC_RECORD && tc_is_compile_time(v) &&
                       map_get_ptr(&v.record->class->methods, sym_of(tx->syms, "__call__"));
    if (!kind_accepts(k, v) && !is_callable)
        return TC_ERR(tx, HDS0184, span, what, tc_kind_texts[k], tc_describe(tx, v));
    if (k == TC_KIND_FLOAT && v.kind != TC_RT)
        return tc_float(v.kind == TC_FLOAT ? v.f : v.kind == TC_BOOL ? (double)v.b : (double)v.i);
    if (k == TC_KIND_FLOAT && dt_is_int(v.rt->type->scalar))
        return tc_rt(ir_cast(tx->ir, v.rt, ir_scalar(tx->ir, DT_F32), span));
    return v;
}

static tc_value tensor_mismatch(tc *tx, tc_value v, const tc_tensor_type *want, const char *what, src_span span,
                                const char *why)
{
    str_buf b;
    str_buf_init(&b, tx->arena);
    tc_tensor_type_text(tx, want, &b);
    diag *d = tc_error(tx, HDS0185, span, what, str_text(&b), tc_describe(tx, v));
    if (why)
        diag_under(d, "%s", why);
    if (v.kind == TC_TENSOR && v.tensor->base->span.begin)
        diag_label(d, v.tensor->base->span, "the tensor is declared here");
    return tc_poison();
}

// Where a handler says what conversions are, floats need not be of the type that is written.
static bool converts_elements(tc *tx, const ir_type *have, const ir_type *want)
{
    return have->kind == IR_SCALAR && want->kind == IR_SCALAR && dt_is_float(have->scalar) &&
           dt_is_float(want->scalar) && tc_handles(tx, "convert");
}

// What is wrong with elements of type [elem] (NULL: any) in the shape of [t]; NULL: nothing.
static const char *elements_differ(tc *tx, const ir_type *elem, const tc_tensor *t, const tc_tensor_type *want)
{
    if (elem && elem != want->elem && !converts_elements(tx, elem, want->elem))
        return "the element types differ";
    if (t->rank != want->rank)
        return "the ranks differ";
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i].kind == TC_INT && want->shape[i].kind == TC_INT && t->shape[i].i != want->shape[i].i)
            return arena_printf(tx->arena, "dimension %d differs", i);
    return NULL;
}

// A record that stands for a tensor: of this shape, and from now on of this element type.
static tc_value conform_node(tc *tx, tc_value v, const tc_tensor *t, const tc_tensor_type *want, const char *what,
                             src_span span)
{
    const ir_type *elem = t->base->tensor->elem;
    if (want->map || want->is_strided || want->layout || want->space != IR_GLOBAL)
        return tensor_mismatch(tx, v, want, what, span, "a record that stands for a tensor has no memory");
    const char *why = elements_differ(tx, elem, t, want);
    if (why)
        return tensor_mismatch(tx, v, want, what, span, why);
    return elem ? v : tc_node_of_type(tx, v, want->elem);
}

// A pointer to the first element stands for the tensor, as in calls like load(~tile[0, 0], ~regs[k, 0]).
static bool points_to_elements(tc_value v, const tc_tensor_type *want)
{
    const ir_type *type = v.kind == TC_RT ? v.rt->type : NULL;
    return type && type->kind == IR_POINTER && type->elem == want->elem && !want->is_strided && want->rank > 0 &&
           (want->space == IR_GLOBAL || want->space == IR_GENERIC || want->space == type->space);
}

static tc_value conform_tensor(tc *tx, tc_value v, const tc_tensor_type *want, const char *what, src_span span)
{
    const tc_tensor *node = tc_node_tensor(tx, v);
    if (node)
        return conform_node(tx, v, node, want, what, span);
    if (points_to_elements(v, want) && !tc_on_host(tx))
        return tx->block ? tc_pointer_view(tx, v, want, span) : tc_poison();
    if (v.kind != TC_TENSOR)
        return tensor_mismatch(tx, v, want, what, span, NULL);
    tc_tensor *t = v.tensor;
    const ir_tensor *base = t->base->tensor;
    const char *why = elements_differ(tx, base->elem, t, want);
    if (!why && want->is_strided)
        why = tc_strides_differ(tx, t, want->strides);
    if (why)
        return tensor_mismatch(tx, v, want, what, span, why);
    if (want->map && !(t->map && tm_equal(t->map, want->map)))
        return tensor_mismatch(tx, v, want, what, span, "the register mappings differ");
    if (want->space == IR_SHARED && base->space != IR_SHARED)
        return tensor_mismatch(tx, v, want, what, span, "a shared-memory tensor is wanted");
    if (want->layout && want->space == IR_SHARED &&
        !(layout_of(tx, t) && tm_layout_equal(layout_of(tx, t), want->layout)) && !t->is_view)
        return tensor_mismatch(tx, v, want, what, span, "the layouts differ");
    return v;
}

// (T[M], i32[M]) of a tuple of two says what each of them is; of other values a tuple names those that it may be.
static bool is_tuple_of_types(const tc_value *annotation, const tc_value *v)
{
    bool is = v->kind == TC_TUPLE && v->list->len == annotation->list->len;
    for (size_t i = 0; is && i < annotation->list->len; i++) {
        tc_kind kind = annotation->list->at[i].kind;
        is = kind == TC_TYPE || kind == TC_TENSOR_TYPE || kind == TC_CLASS;
    }
    return is;
}

static tc_value conform_items(tc *tx, tc_value v, tc_value annotation, const char *what, src_span span)
{
    tc_value result = tc_list_new(tx, TC_TUPLE, v.list->at, v.list->len);
    for (size_t i = 0; i < v.list->len; i++) {
        tc_list_set(result.list, i, tc_conform(tx, v.list->at[i], annotation.list->at[i], what, span));
        if (tc_is_poison(result.list->at[i]))
            return tc_poison();
    }
    return result;
}

// Nothing is converted on the way: what is written goes to the variable or the element itself.
static tc_value conform_reference(tc *tx, tc_value v, const ir_type *type, const char *what, src_span span)
{
    if (!type || (v.kind == TC_RT && v.rt->type == type))
        return v;
    return TC_ERR(tx, HDS0184, span, what, tc_text(tx, tc_type(type)), tc_describe(tx, v));
}

// Whether the value is one of these, or of one of these kinds.
static bool is_one_of(const tc_list *items, tc_value v)
{
    bool is = false;
    for (size_t i = 0; i < items->len; i++)
        is |= items->at[i].kind == TC_KIND ? kind_accepts(items->at[i].kind_name, v) : tc_equal(items->at[i], v);
    return is;
}

bool tc_fits(tc_value v, tc_value annotation)
{
    switch (annotation.kind) {
    case TC_KIND:
        return v.kind == TC_RECORD || kind_accepts(annotation.kind_name, v);
    case TC_TYPE: {
        const ir_type *t = tc_value_type(v);
        bool is_scalar = annotation.type->kind == IR_SCALAR;
        return !is_scalar || v.kind == TC_RECORD || tc_is_number(v) || (t && t->kind == IR_SCALAR);
    }
    case TC_TUPLE:
        return is_one_of(annotation.list, v);
    default:
        return true;
    }
}

bool tc_conforms(tc_value v, tc_value annotation)
{
    if (annotation.kind == TC_KIND)
        return v.kind != TC_RECORD && annotation.kind_name != TC_KIND_FLOAT && tc_is_of_kind(annotation.kind_name, v);
    return annotation.kind == TC_CLASS && v.kind == TC_RECORD && v.record->class->decl == annotation.class->decl;
}

tc_value tc_conform(tc *tx, tc_value v, tc_value annotation, const char *what, src_span span)
{
    if (tc_is_poison(v) || tc_is_poison(annotation))
        return tc_poison();
    switch (annotation.kind) {
    case TC_KIND:
        return conform_kind(tx, v, annotation.kind_name, what, span);
    case TC_TYPE: {
        if (annotation.type->kind == IR_VOID)
            return v;
        // A pointer into a known space stays one where any space will do: the text of an instruction may depend on it.
        bool any_space = annotation.type->kind == IR_POINTER && annotation.type->space == IR_GENERIC;
        if (any_space && v.kind == TC_TENSOR) {
            v = tc_tensor_address(tx, v.tensor, NULL, 0, span);
            if (tc_is_poison(v))
                return v;
        }
        if (any_space && v.kind == TC_RT && v.rt->type->kind == IR_POINTER && v.rt->type->elem == annotation.type->elem)
            return v;
        tc_value converted;
        if (tc_convert_hook(tx, annotation.type, v, span, &converted))
            return converted;
        ir_expr *e = tc_convert(tx, v, annotation.type, span, what);
        return e ? tc_rt(e) : tc_poison();
    }
    case TC_REFERENCE:
        return conform_reference(tx, v, annotation.type, what, span);
    case TC_TENSOR_TYPE:
        return conform_tensor(tx, v, annotation.tensor_type, what, span);
    case TC_CLASS:
        if (v.kind == TC_RECORD && v.record->class->decl == annotation.class->decl)
            return v;
        return TC_ERR(tx, HDS0184, span, what, annotation.class->name->text, tc_describe(tx, v));
    case TC_TUPLE:
        if (is_one_of(annotation.list, v))
            return v;
        if (is_tuple_of_types(&annotation, &v))
            return conform_items(tx, v, annotation, what, span);
        return TC_ERR(tx, HDS0186, span, what, tc_text(tx, annotation), tc_describe(tx, v));
    default:
        return v;
    }
}
