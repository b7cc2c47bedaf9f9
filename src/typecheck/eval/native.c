// The outermost scope (types, kinds, namespaces, built-in functions), attributes of values, and methods of built-in
// kinds.
#include "typecheck/eval/eval.h"
#include "typecheck/values/character.h"
#include "typecheck/values/number.h"
#include "typecheck/values/text.h"

#include <math.h>
#include <string.h>

// ---- attributes of types -----------------------------------------------------------------------------------------

static tc_value dtype_limit(tc *tx, dtype t, bool is_max, src_span span)
{
    if (dt_is_int(t) || t == DT_BOOL)
        return tc_of_int(is_max ? (tc_int)dt_max_bits(t) : (tc_int)dt_min(t));
    if (dt_is_float(t)) {
        int e = dt_exponent_bits(t), m = dt_mantissa_bits(t);
        double top = t == DT_F8E4M3 ? 448
                     : t == DT_F64  ? 1.7976931348623157e308
                                    : (2 - pow(2, -m)) * pow(2, (1 << (e - 1)) - 1);
        return tc_float(is_max ? top : -top);
    }
    return TC_ERR(tx, HDS0154, span, "max", dt_name(t));
}

static const char *ptx_name(tc *tx, dtype t)
{
    const char *name = dt_name(t);
    if (t == DT_F8E4M3 || t == DT_F8E5M2)
        return name + 2;
    if (dt_is_signed(t))
        return arena_printf(tx->arena, "s%d", dt_bits(t));
    return name;
}

static tc_value scalar_attribute(tc *tx, dtype t, str n, src_span span, bool *found)
{
    *found = true;
    if (str_equal(n, STR("bits")) || str_equal(n, STR("nbits")))
        return tc_of_int(dt_bits(t));
    if (str_equal(n, STR("name")))
        return tc_str(str_of(dt_long_name(t)));
    if (str_equal(n, STR("short_name")))
        return tc_str(str_of(dt_name(t)));
    if (str_equal(n, STR("ptx")))
        return tc_str(str_of(ptx_name(tx, t)));
    if (str_equal(n, STR("is_float")))
        return tc_bool(dt_is_float(t));
    if (str_equal(n, STR("is_int")) || str_equal(n, STR("is_integer")))
        return tc_bool(dt_is_int(t));
    if (str_equal(n, STR("is_signed")))
        return tc_bool(dt_is_signed(t) || dt_is_float(t));
    if (str_equal(n, STR("is_subbyte")))
        return tc_bool(dt_is_subbyte(t));
    if (str_equal(n, STR("min")) || str_equal(n, STR("min_value")))
        return dtype_limit(tx, t, false, span);
    if (str_equal(n, STR("max")) || str_equal(n, STR("max_value")))
        return dtype_limit(tx, t, true, span);
    bool zero = str_equal(n, STR("zero")), one = str_equal(n, STR("one"));
    if (zero || one)
        return dt_is_float(t) ? tc_float(one) : t == DT_BOOL ? tc_bool(one) : tc_of_int(one);
    *found = false;
    return tc_poison();
}

static tc_value type_attribute(tc *tx, const ir_type *t, str n, src_span span, bool *found)
{
    *found = true;
    if (str_equal(n, STR("nbytes"))) {
        if (t->kind == IR_SCALAR && dt_is_subbyte(t->scalar))
            return TC_ERR(tx, HDS0284, span, dt_name(t->scalar));
        return tc_of_int(ir_type_bytes(t));
    }
    if (t->kind == IR_SCALAR)
        return scalar_attribute(tx, t->scalar, n, span, found);
    if (t->kind == IR_VECTOR && str_equal(n, STR("lanes")))
        return tc_of_int(t->lanes);
    if (t->kind == IR_VECTOR && str_equal(n, STR("dtype")))
        return tc_type(ir_scalar(tx->ir, t->scalar));
    if (t->kind == IR_POINTER && str_equal(n, STR("dtype")))
        return tc_type(t->elem);
    if (t->kind == IR_VECTOR && str_equal(n, STR("ptx")))
        return tc_str(str_of(arena_printf(tx->arena, "%sx%d", ptx_name(tx, t->scalar), t->lanes)));
    if (t->kind == IR_VECTOR)
        return scalar_attribute(tx, t->scalar, n, span, found);
    *found = false;
    return tc_poison();
}

static tc_value tensor_type_attribute(tc *tx, const tc_tensor_type *t, str n, src_span span, bool *found)
{
    *found = true;
    if (str_equal(n, STR("dtype")))
        return tc_type(t->elem);
    if (str_equal(n, STR("rank")))
        return tc_of_int(t->rank);
    if (str_equal(n, STR("shape")))
        return tc_list_new(tx, TC_TUPLE, t->shape, (size_t)t->rank);
    if (str_equal(n, STR("strides")) && t->is_strided)
        return tc_list_new(tx, TC_TUPLE, (tc_value *)t->strides, (size_t)t->rank);
    if (str_equal(n, STR("mapping")))
        return t->map ? tc_map_value(t->map) : tc_none();
    if (str_equal(n, STR("layout")))
        return t->layout ? tc_layout_value(t->layout) : tc_none();
    if (str_equal(n, STR("nbytes")) || str_equal(n, STR("size"))) {
        tc_value size = tc_of_int(n.len == 6 ? ir_type_bytes(t->elem) : 1);
        for (int i = 0; i < t->rank; i++)
            size = tc_binary(tx, AST_OP_MUL, size, t->shape[i], span);
        return size;
    }
    *found = false;
    return tc_poison();
}

// ---- namespaces --------------------------------------------------------------------------------------------------

static tc_value special_register(tc *tx, tc_namespace ns, str n, src_span span, bool *found)
{
    int axis = str_equal(n, STR("x")) ? 0 : str_equal(n, STR("y")) ? 1 : str_equal(n, STR("z")) ? 2 : -1;
    *found = axis >= 0;
    if (axis < 0)
        return tc_poison();
    if (tc_wants_run_time(tx))
        return tc_poison();
    if (!tx->func || tc_on_host(tx))
        return TC_ERR(tx, HDS0285, span);
    static const ir_sreg first[] = {IR_TID_X, IR_BID_X, IR_BDIM_X, IR_GDIM_X};
    if (ns == TC_NS_BDIM && tx->func->block[axis] && tx->func->block[axis]->op == IR_OP_INT)
        return tc_rt(ir_int(tx->ir, DT_I32, tx->func->block[axis]->u.i));
    return tc_rt(ir_sreg_read(tx->ir, (ir_sreg)((int)first[ns - TC_NS_TID] + axis), span));
}

static tc_value native_by_name(tc *tx, const char *name)
{
    tc_binding *b = tc_scope_find_here(tx->natives, sym_of(tx->syms, name));
    return b ? b->value : tc_poison();
}

static tc_value run_each(tc *tx, const tc_native *self, tc_args *args)
{
    (void)self;
    tc_value r = tc_list_new(tx, TC_LIST, NULL, 0);
    return tc_iterate(tx, args->list.at[0].value, args->span, r.list) ? r : tc_poison();
}

static const tc_native meta_each = {"each", run_each, 1, 1, NULL, 0};

// this_cluster.block_rank: what the function of that name in the library gives.
static tc_value cluster_attribute(tc *tx, sym name, src_span span, bool *found)
{
    static const char *const values[] = {"thread_rank", "block_rank", "dim_threads", "dim_blocks"};
    bool is_function = strcmp(name->text, "sync") == 0 || strcmp(name->text, "map_shared_rank") == 0;
    bool is_value = false;
    for (int i = 0; i < 4; i++)
        is_value |= strcmp(name->text, values[i]) == 0;
    *found = is_function || is_value;
    if (!*found)
        return tc_poison();
    tc_value f = tc_library(tx, "hidet.lang.compat_cluster", name->text, span);
    tc_args none = {.span = span};
    return is_function || tc_is_poison(f) ? f : tc_call(tx, f, &none);
}

static tc_value namespace_attribute(tc *tx, tc_namespace ns, sym name, src_span span, bool *found)
{
    str n = sym_str(name);
    *found = true;
    if (ns == TC_NS_ATTRS && str_equal(n, STR("cuda")))
        return (tc_value){.kind = TC_NAMESPACE, .ns = TC_NS_ATTRS_CUDA};
    if (ns >= TC_NS_TID)
        return special_register(tx, ns, n, span, found);
    if (ns == TC_NS_CLUSTER)
        return cluster_attribute(tx, name, span, found);
    if (ns == TC_NS_META && str_equal(n, STR("range")))
        return native_by_name(tx, "static_range");
    if (ns == TC_NS_META && str_equal(n, STR("each")))
        return (tc_value){.kind = TC_NATIVE, .native = &meta_each};
    if (ns == TC_NS_HIDET && str_equal(n, STR("lang"))) {
        tc_module *m = tc_module_load(tx, "hidet.lang", 0, NULL, span);
        return m ? (tc_value){.kind = TC_MODULE, .module = m} : tc_poison();
    }
    if (ns == TC_NS_HIDET && str_equal(n, STR("script")))
        return native_by_name(tx, "script");
    if (ns == TC_NS_HIDET && str_equal(n, STR("graph")))
        return tc_library(tx, "hidet.lang.graph", "Graph", span);
    tc_frame *f = tx->frame;
    bool reads_dims = (ns == TC_NS_ATTRS_CUDA && str_equal(n, STR("block_dim"))) ||
                      (ns == TC_NS_ATTR && str_equal(n, STR("cuda_block_dim")));
    if (reads_dims && tx->func && tx->func->block[0]) {
        (void)f;
        tc_value dims = tc_list_new(tx, TC_TUPLE, NULL, 0);
        for (int i = 0; i < 3; i++) {
            int64_t v;
            tc_list_push(tx, dims.list,
                         ir_const_int(tx->func->block[i], &v) ? tc_of_int(v) : tc_rt(tx->func->block[i]));
        }
        return dims;
    }
    *found = false;
    return tc_poison();
}

// ---- attributes --------------------------------------------------------------------------------------------------

static tc_value method_of(tc *tx, tc_value v, sym name)
{
    tc_method *m = ARENA_NEW(tx->arena, tc_method);
    m->self = arena_dup(tx->arena, &v, sizeof v);
    m->name = name;
    return (tc_value){.kind = TC_METHOD, .method = m};
}

static tc_value function_attribute(tc *tx, const tc_function *f, str n, bool *found)
{
    *found = true;
    if (str_equal(n, STR("name")) || str_equal(n, STR("__name__")))
        return tc_str(f->name ? sym_str(f->name) : STR("<lambda>"));
    if (str_equal(n, STR("__doc__")))
        return f->decl && f->decl->doc ? tc_str(str_of(f->decl->doc)) : tc_none();
    (void)tx;
    *found = false;
    return tc_poison();
}

static tc_value class_attribute(tc *tx, tc_value v, sym name, src_span span, bool *found)
{
    const tc_class *c = v.kind == TC_CLASS ? v.class : v.record->class;
    *found = true;
    for (int i = 0; i < c->bound_count; i++)
        if (c->bound_names[i] == name)
            return c->bound_values[i];
    if (v.kind == TC_RECORD) {
        tc_value *field = tc_record_field(v.record, name, NULL);
        if (field)
            return *field;
        tc_value method = tc_record_method(tx, v, name, found);
        if (*found)
            return tc_is_property(method.function->decl) ? tc_call_values(tx, method, NULL, 0, span) : method;
    }
    if (v.kind == TC_RECORD) {
        tc_value of_node = tc_node_attribute(tx, v, name, span, found);
        if (*found)
            return of_node;
    }
    *found = true;
    if (v.kind == TC_RECORD && strcmp(name->text, "nbytes") == 0) {
        tc_value sum = tc_of_int(0);
        for (int i = 0; i < c->field_count; i++)
            sum = tc_binary(tx, AST_OP_ADD, sum, tc_attribute(tx, v.record->fields[i], name, span, span), span);
        return sum;
    }
    if (v.kind == TC_CLASS && strcmp(name->text, "fields") == 0) {
        tc_value names = tc_list_new(tx, TC_TUPLE, NULL, 0);
        for (int i = 0; i < c->field_count; i++)
            tc_list_push(tx, names.list, tc_str(sym_str(c->fields[i].name)));
        return names;
    }
    *found = false;
    return tc_poison();
}

static tc_value rt_attribute(tc *tx, tc_value v, str n, src_span span, bool *found)
{
    *found = true;
    const ir_type *t = v.rt->type;
    if (str_equal(n, STR("dtype")))
        return tc_type(t->kind == IR_POINTER ? t->elem : t->kind == IR_VECTOR ? ir_scalar(tx->ir, t->scalar) : t);
    if (str_equal(n, STR("type")))
        return tc_type(t);
    if (t->kind == IR_POINTER && str_equal(n, STR("space")))
        return (tc_value){.kind = TC_SPACE, .space = t->space};
    if (t->kind == IR_VECTOR && n.len == 1 && strchr("xyzw", n.at[0])) {
        tc_value index = tc_of_int(strchr("xyzw", n.at[0]) - "xyzw");
        return tc_index_value(tx, v, &index, 1, span);
    }
    *found = false;
    return tc_poison();
}

static const char *const int_methods[] = {"bit_length", "is_integer", NULL};
static const char *const float_methods[] = {"is_integer", NULL};
static const char *const map_methods[] = {"on",      "map",     "single_task_of", "shared_steps", "projection",
                                          "without", "permute", "spatial",        "repeat",       NULL};
static const char *const layout_methods[] = {"swizzle",   "xor",          "reshape", "permute", "within_bound",
                                             "row_major", "column_major", "local",   NULL};

static bool is_one_of(const char *const *names, str n)
{
    for (; *names; names++)
        if (str_equal(n, str_of(*names)))
            return true;
    return false;
}

// Methods of built-in kinds of values that are data; NULL: none.
static const char *const *methods_of(tc_kind kind)
{
    switch (kind) {
    case TC_STR:
        return tc_str_method_names;
    case TC_LIST:
        return tc_list_method_names;
    case TC_TUPLE:
        return tc_tuple_method_names;
    case TC_SET:
        return tc_set_method_names;
    case TC_DICT:
        return tc_dict_method_names;
    case TC_INT:
    case TC_BOOL:
        return int_methods;
    case TC_FLOAT:
        return float_methods;
    case TC_MAP:
        return map_methods;
    case TC_LAYOUT:
        return layout_methods;
    default:
        return NULL;
    }
}

static tc_value method_among(tc *tx, const char *const *names, tc_value v, sym name, bool *found)
{
    *found = is_one_of(names, sym_str(name));
    return *found ? method_of(tx, v, name) : tc_poison();
}

static tc_value range_attribute(const tc_range *r, str n, bool *found)
{
    if (!r->bounds[0]) {
        if (str_equal(n, STR("start")))
            return tc_of_int(r->start);
        if (str_equal(n, STR("stop")))
            return tc_of_int(r->stop);
        if (str_equal(n, STR("step")))
            return tc_of_int(r->step);
    }
    *found = false;
    return tc_poison();
}

tc_value tc_native_attribute(tc *tx, tc_value v, sym name, src_span span, bool *found)
{
    str n = sym_str(name);
    *found = true;
    switch (v.kind) {
    case TC_TYPE:
        return type_attribute(tx, v.type, n, span, found);
    case TC_TENSOR_TYPE:
        return tensor_type_attribute(tx, v.tensor_type, n, span, found);
    case TC_TENSOR:
        return tc_tensor_attribute(tx, v, name, span, found);
    case TC_MODULE:
        return tc_module_attribute(tx, v.module, name, span, tx->frame ? tx->frame->scope->module : NULL);
    case TC_NAMESPACE:
        return namespace_attribute(tx, v.ns, name, span, found);
    case TC_CLASS:
    case TC_RECORD:
        return class_attribute(tx, v, name, span, found);
    case TC_RT:
        return rt_attribute(tx, v, n, span, found);
    case TC_TENSOR_MAP:
        return str_equal(n, STR("check")) ? method_of(tx, v, name) : tc_tensor_map_attribute(tx, v, n, found);
    case TC_FUNCTION:
        return function_attribute(tx, v.function, n, found);
    case TC_MAP: {
        tc_value r = tc_native_map_attribute(tx, v.map, n, found);
        return *found ? r : method_among(tx, map_methods, v, name, found);
    }
    case TC_LAYOUT: {
        tc_value r = tc_native_layout_attribute(tx, v.layout, n, found);
        return *found ? r : method_among(tx, layout_methods, v, name, found);
    }
    case TC_RANGE:
        return range_attribute(v.range, n, found);
    case TC_STR:
    case TC_LIST:
    case TC_TUPLE:
    case TC_SET:
    case TC_DICT:
    case TC_INT:
    case TC_BOOL:
    case TC_FLOAT:
        return method_among(tx, methods_of(v.kind), v, name, found);
    default:
        *found = false;
        return tc_poison();
    }
}

static const char *const *data_attributes(tc_value v)
{
    static const char *const of_tensor[] = {"shape",   "dtype", "rank",  "size",     "nbytes", "space", "layout",
                                            "mapping", "T",     "align", "is_dense", "read",   "write", NULL};
    static const char *const of_type[] = {"bits",   "nbytes",    "name",       "short_name", "ptx", "is_float",
                                          "is_int", "is_signed", "is_subbyte", "min",        "max", "zero",
                                          "one",    "lanes",     "dtype",      NULL};
    static const char *const of_map[] = {"workers", "shape", "rank", "tasks_per_worker", NULL};
    static const char *const of_layout[] = {"shape", "size", "rank", NULL};
    static const char *const of_rt[] = {"dtype", "type", NULL};
    static const char *const of_tensor_map[] = {"box",    "rank",  "dtype", "swizzle", "nbytes",
                                                "layout", "align", "check", "is_im2col", NULL};
    static const char *const of_meta[] = {"range", "each", NULL};
    switch (v.kind) {
    case TC_TENSOR:
    case TC_TENSOR_TYPE:
        return of_tensor;
    case TC_TENSOR_MAP:
        return of_tensor_map;
    case TC_TYPE:
        return of_type;
    case TC_MAP:
        return of_map;
    case TC_LAYOUT:
        return of_layout;
    case TC_RT:
        return of_rt;
    case TC_NAMESPACE:
        return v.ns == TC_NS_META ? of_meta : NULL;
    default:
        return NULL;
    }
}

// An attribute, field or method of [v] that is written like [name], or NULL.
static const char *close_attribute(tc *tx, tc_value v, sym name)
{
    VEC(const char *) names = {0};
    const char *const *lists[2] = {data_attributes(v), methods_of(v.kind)};
    for (int i = 0; i < 2; i++)
        for (const char *const *at = lists[i]; at && *at; at++)
            VEC_PUSH(tx->arena, &names, *at);
    const tc_class *c = v.kind == TC_RECORD ? v.record->class : v.kind == TC_CLASS ? v.class : NULL;
    for (int i = 0; c && i < c->field_count; i++)
        VEC_PUSH(tx->arena, &names, c->fields[i].name->text);
    for (size_t i = 0; c && i < c->decl->body.len; i++)
        if (c->decl->body.at[i]->kind == AST_FUNCTION)
            VEC_PUSH(tx->arena, &names, ((const ast_function *)c->decl->body.at[i])->name->text);
    if (v.kind == TC_TENSOR && v.tensor->base->tensor->space == IR_REGISTER) {
        tc_module *library = tc_module_load(tx, "hidet.lang.registers", 0, NULL, (src_span){0});
        for (size_t i = 0; library && i < library->scope->list.len; i++)
            VEC_PUSH(tx->arena, &names, library->scope->list.at[i]->name->text);
    }
    VEC_PUSH(tx->arena, &names, NULL);
    return tc_suggest(tx, names.at, sym_str(name));
}

tc_value tc_attribute(tc *tx, tc_value v, sym name, src_span span, src_span value_span)
{
    (void)value_span;
    if (tc_is_poison(v))
        return v;
    bool found = false;
    tc_value r = tc_native_attribute(tx, v, name, span, &found);
    if (found)
        return r;
    diag *d = tc_error(tx, HDS0154, span, name->text, tc_describe(tx, v));
    const char *close = close_attribute(tx, v, name);
    if (close) {
        diag_help(d, "did you mean '%s'?", close);
        if (span.end - span.begin == name->len)
            diag_fix(d, span, close);
    }
    return tc_poison();
}

bool tc_has_attribute(tc *tx, tc_value v, sym name)
{
    bool muted = tx->diags->muted, found = false;
    int errors = tx->diags->error_count;
    tx->diags->muted = true;
    tc_value r = tc_native_attribute(tx, v, name, (src_span){0}, &found);
    tx->diags->muted = muted;
    tx->diags->error_count = errors;
    return found && !tc_is_poison(r);
}

// ---- methods -----------------------------------------------------------------------------------------------------

// The value of a digit in bases up to 36; 99: it is none.
static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'z' ? c - 'a' + 10
           : c >= 'A' && c <= 'Z' ? c - 'A' + 10
                                  : 99;
}

static tc_value not_a_number(tc *tx, const tc_args *args, const char *kind)
{
    return TC_ERR(tx, HDS0286, args->span, tc_text(tx, args->list.at[0].value), kind);
}

// int("-0x1f", 16): blanks around, underscores between digits, a prefix that suits the base.
static tc_value int_of_text(tc *tx, str s, tc_args *args)
{
    int64_t base = 10;
    if (args->list.len > 1 && (!tc_as_int64(args->list.at[1].value, &base) || base < 0 || base == 1 || base > 36))
        return TC_ERR(tx, HDS0184, args->list.at[1].span, "the base", "0 or 2 to 36",
                      tc_describe(tx, args->list.at[1].value));
    s = tc_numeral(tx->arena, s);
    bool negative = s.len && s.at[0] == '-';
    if (s.len && (s.at[0] == '-' || s.at[0] == '+'))
        s = (str){s.at + 1, s.len - 1};
    char kind = s.len > 2 && s.at[0] == '0' ? (char)(s.at[1] | 32) : 0;
    int of_prefix = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
    bool prefixed = of_prefix && (base == 0 || base == of_prefix);
    if (prefixed)
        s = (str){s.at + 2, s.len - 2};
    base = base ? base : prefixed ? of_prefix : 10;
    tc_int value = 0;
    bool after_digit = prefixed;
    for (size_t i = 0; i < s.len; i++) {
        bool gap = s.at[i] == '_' && after_digit && i + 1 < s.len;
        after_digit = !gap;
        if (gap)
            continue;
        if (digit_of(s.at[i]) >= base)
            return not_a_number(tx, args, "int");
        if (__builtin_mul_overflow(value, (tc_int)base, &value) ||
            __builtin_add_overflow(value, (tc_int)digit_of(s.at[i]), &value))
            return TC_ERR(tx, HDS0120, args->span);
    }
    return s.len ? tc_of_int(negative ? -value : value) : not_a_number(tx, args, "int");
}

static size_t count_digits(str s, size_t from)
{
    size_t i = from;
    while (i < s.len && s.at[i] >= '0' && s.at[i] <= '9')
        i++;
    return i - from;
}

// 1, 1., .5, 1.5e-3
static bool is_decimal(str s)
{
    size_t whole = count_digits(s, 0), i = whole, after = 0;
    if (i < s.len && s.at[i] == '.') {
        after = count_digits(s, i + 1);
        i += 1 + after;
    }
    if (whole + after && i < s.len && s.at[i] == 'e') {
        i++;
        i += i < s.len && (s.at[i] == '+' || s.at[i] == '-');
        size_t digits = count_digits(s, i);
        if (!digits)
            return false;
        i += digits;
    }
    return whole + after && i == s.len;
}

static tc_value float_of_text(tc *tx, str s, tc_args *args)
{
    s = tc_numeral(tx->arena, s);
    str_buf plain;
    str_buf_init(&plain, tx->arena);
    for (size_t i = 0; i < s.len; i++) {
        bool gap = s.at[i] == '_' && i > 0 && i + 1 < s.len && digit_of(s.at[i - 1]) < 10 && digit_of(s.at[i + 1]) < 10;
        if (!gap)
            str_addc(&plain, s.at[i] >= 'A' && s.at[i] <= 'Z' ? (char)(s.at[i] | 32) : s.at[i]);
    }
    str word = {str_text(&plain), plain.len};
    bool negative = word.len && word.at[0] == '-';
    if (word.len && (word.at[0] == '-' || word.at[0] == '+'))
        word = (str){word.at + 1, word.len - 1};
    double value = 0;
    if (str_equal(word, STR("inf")) || str_equal(word, STR("infinity")))
        value = INFINITY;
    else if (str_equal(word, STR("nan")))
        value = NAN;
    else if (is_decimal(word))
        value = str_to_double(word.at);
    else
        return not_a_number(tx, args, "float");
    return tc_float(negative ? -value : value);
}

static tc_value cast_to(tc *tx, tc_value v, dtype type, src_span span)
{
    ir_expr *e = tc_cast(tx, v, ir_scalar(tx->ir, type), span);
    return e ? tc_rt(e) : tc_poison();
}

static tc_value not_convertible(tc *tx, tc_value v, tc_kind_name k, src_span span)
{
    return TC_ERR(tx, HDS0286, span, tc_describe(tx, v), tc_kind_texts[k]);
}

// int(r) and float(r) of a record by its method; false: it has none.
static bool convert_record(tc *tx, tc_value v, tc_kind_name k, src_span span, tc_value *out)
{
    bool found = false;
    *out = tc_record_dunder(tx, v, k == TC_KIND_INT ? "__int__" : "__float__", NULL, 0, span, &found);
    bool is_right = tc_is_poison(*out) || out->kind == (k == TC_KIND_INT ? TC_INT : TC_FLOAT) || out->kind == TC_RT;
    if (found && !is_right)
        *out = TC_ERR(tx, HDS0184, span, k == TC_KIND_INT ? "the result of '__int__'" : "the result of '__float__'",
                      tc_kind_texts[k], tc_describe(tx, *out));
    return found;
}

static tc_value call_int(tc *tx, tc_value v, tc_args *args)
{
    tc_value r;
    if (convert_record(tx, v, TC_KIND_INT, args->span, &r))
        return r;
    if (v.kind == TC_RT)
        return cast_to(tx, v, DT_I32, args->span);
    if (v.kind == TC_FLOAT && !isfinite(v.f))
        return TC_ERR(tx, HDS0307, args->span, tc_describe(tx, v));
    if (v.kind == TC_FLOAT)
        return fabs(v.f) < 1e38 ? tc_of_int((tc_int)trunc(v.f)) : TC_ERR(tx, HDS0120, args->span);
    if (v.kind == TC_STR)
        return int_of_text(tx, v.s, args);
    if (!args->list.len)
        return tc_of_int(0);
    return tc_is_number(v) ? tc_of_int(tc_to_int(v)) : not_convertible(tx, v, TC_KIND_INT, args->span);
}

static tc_value call_float(tc *tx, tc_value v, tc_args *args)
{
    tc_value r;
    if (convert_record(tx, v, TC_KIND_FLOAT, args->span, &r))
        return r;
    if (v.kind == TC_RT)
        return cast_to(tx, v, DT_F32, args->span);
    if (v.kind == TC_STR)
        return float_of_text(tx, v.s, args);
    if (!args->list.len)
        return tc_float(0);
    return tc_is_number(v) ? tc_float(tc_to_double(v)) : not_convertible(tx, v, TC_KIND_FLOAT, args->span);
}

static tc_value call_bool(tc *tx, tc_value v, tc_args *args)
{
    bool truth;
    if (!args->list.len)
        return tc_bool(false);
    if (tc_truth_of(tx, &v, args->span, &truth))
        return tc_bool(truth);
    ir_expr *c = tc_condition(tx, v, args->span);
    return c ? tc_rt(c) : tc_poison();
}

static tc_value call_str(tc *tx, tc_value v, tc_args *args)
{
    str_buf b;
    str_buf_init(&b, tx->arena);
    if (args->list.len)
        tc_to_text(tx, v, &b);
    return tc_str((str){str_text(&b), b.len});
}

// Keeps the first of equal items. False after an error.
static bool drop_equal_items(tc *tx, tc_list *list, src_span span)
{
    size_t kept = 0;
    tc_list before = {.at = list->at, .born = tx->born};
    for (size_t i = 0; i < list->len; i++) {
        size_t at;
        before.len = kept;
        if (!tc_spend(tx, (int64_t)kept / 8, span) || !tc_find_item(tx, &before, list->at[i], &at))
            return false;
        if (at == kept)
            list->at[kept++] = list->at[i];
    }
    list->len = kept;
    tc_list_changed(list);
    return true;
}

static tc_value call_sequence(tc *tx, tc_kind kind, tc_value v, tc_args *args)
{
    tc_value r = tc_list_new(tx, kind, NULL, 0);
    if (args->list.len && !tc_iterate(tx, v, args->span, r.list))
        return tc_poison();
    return kind == TC_SET && !drop_equal_items(tx, r.list, args->span) ? tc_poison() : r;
}

// [(key, value), …] into a dict. False after an error.
static bool put_pairs(tc *tx, tc_dict *d, const tc_arg *a)
{
    tc_list pairs = {0};
    if (!tc_iterate(tx, a->value, a->span, &pairs))
        return false;
    for (size_t i = 0; i < pairs.len; i++) {
        bool sequence = pairs.at[i].kind == TC_TUPLE || pairs.at[i].kind == TC_LIST;
        if (!sequence || pairs.at[i].list->len != 2) {
            tc_error(tx, HDS0134, a->span, tc_describe(tx, pairs.at[i]));
            return false;
        }
        if (!tc_spend(tx, (int64_t)i / 8, a->span))
            return false;
        tc_dict_put(tx, d, pairs.at[i].list->at[0], pairs.at[i].list->at[1]);
    }
    return true;
}

static tc_value call_dict(tc *tx, tc_args *args)
{
    tc_value r = tc_dict_new(tx);
    for (size_t i = 0; i < args->list.len; i++) {
        const tc_arg *a = &args->list.at[i];
        if (a->name)
            tc_dict_put(tx, r.dict, tc_str(sym_str(a->name)), a->value);
        else if (a->value.kind == TC_DICT)
            for (size_t j = 0; j < a->value.dict->keys.len; j++)
                tc_dict_put(tx, r.dict, a->value.dict->keys.at[j], a->value.dict->values.at[j]);
        else if (!put_pairs(tx, r.dict, a))
            return tc_poison();
    }
    return r;
}

static tc_value call_kind(tc *tx, tc_kind_name k, tc_args *args)
{
    tc_value v = args->list.len ? args->list.at[0].value : tc_none();
    if (k == TC_KIND_INT || k == TC_KIND_FLOAT)
        v = tc_as_index(tx, v, args->span);
    if (tc_is_poison(v))
        return v;
    switch (k) {
    case TC_KIND_INT:
        return call_int(tx, v, args);
    case TC_KIND_FLOAT:
        return call_float(tx, v, args);
    case TC_KIND_BOOL:
        return call_bool(tx, v, args);
    case TC_KIND_STR:
        return call_str(tx, v, args);
    case TC_KIND_TUPLE:
        return call_sequence(tx, TC_TUPLE, v, args);
    case TC_KIND_LIST:
        return call_sequence(tx, TC_LIST, v, args);
    case TC_KIND_SET:
        return call_sequence(tx, TC_SET, v, args);
    case TC_KIND_DICT:
        return call_dict(tx, args);
    default:
        return not_convertible(tx, v, k, args->span);
    }
}

tc_value tc_method_call(tc *tx, tc_value self, sym name, tc_args *args)
{
    str n = sym_str(name);
    bool found = false;
    tc_value r = tc_poison();
    switch (self.kind) {
    case TC_TENSOR:
        return tc_native_tensor_method(tx, self, name, args);
    case TC_MAP:
        r = tc_native_map_method(tx, self.map, n, args, &found);
        break;
    case TC_LAYOUT:
        r = tc_native_layout_method(tx, self.layout, n, args, &found);
        break;
    case TC_STR:
        r = tc_str_method(tx, self.s, name, args, &found);
        break;
    case TC_TENSOR_MAP:
        return tc_tensor_map_check(tx, self, args);
    case TC_KIND:
        return call_kind(tx, self.kind_name, args);
    case TC_LIST:
    case TC_TUPLE:
    case TC_SET:
    case TC_DICT:
        r = tc_data_method(tx, self, name, args, &found);
        break;
    case TC_INT:
    case TC_BOOL: {
        if (str_equal(n, STR("is_integer")))
            return tc_bool(true);
        tc_int v = self.kind == TC_BOOL ? (tc_int)self.b : self.i, bits = 0;
        for (unsigned __int128 rest = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v; rest; rest >>= 1)
            bits++;
        return tc_of_int(bits);
    }
    case TC_FLOAT:
        return tc_bool(isfinite(self.f) && floor(self.f) == self.f);
    default:
        break;
    }
    if (found)
        return r;
    return TC_ERR(tx, HDS0154, args->span, name->text, tc_describe(tx, self));
}

// ---- the outermost scope -----------------------------------------------------------------------------------------

static void install(tc *tx, const char *name, tc_value v)
{
    tc_scope_bind(tx, tx->natives, sym_of(tx->syms, name), v, (src_span){0});
}

static void install_types(tc *tx)
{
    for (int t = DT_NONE + 1; t < DT__COUNT; t++) {
        tc_value v = tc_type(ir_scalar(tx->ir, (dtype)t));
        // `bool` is Python's: known values and, as an annotation, the run-time type.
        if (t != DT_BOOL)
            install(tx, dt_name((dtype)t), v);
        install(tx, dt_long_name((dtype)t), v);
    }
    static const struct {
        dtype t;
        int lanes[4];
    } vectors[] = {{DT_F16, {1, 2, 4, 8}},     {DT_BF16, {1, 2, 4, 8}},   {DT_F32, {1, 2, 4, 8}},
                   {DT_F64, {1, 2, 4, 0}},     {DT_I8, {2, 4, 8, 16}},    {DT_U8, {2, 4, 8, 16}},
                   {DT_I16, {2, 4, 8, 0}},     {DT_U16, {2, 4, 8, 0}},    {DT_I32, {1, 2, 4, 8}},
                   {DT_U32, {1, 2, 4, 8}},     {DT_I64, {1, 2, 4, 0}},    {DT_U64, {1, 2, 4, 0}},
                   {DT_F8E4M3, {2, 4, 8, 16}}, {DT_F8E5M2, {2, 4, 8, 16}}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        for (int k = 0; k < 4; k++)
            if (vectors[i].lanes[k]) {
                const char *name = arena_printf(tx->arena, "%sx%d", dt_name(vectors[i].t), vectors[i].lanes[k]);
                install(tx, name, tc_type(ir_vector(tx->ir, vectors[i].t, vectors[i].lanes[k])));
                name = arena_printf(tx->arena, "%sx%d", dt_long_name(vectors[i].t), vectors[i].lanes[k]);
                install(tx, name, tc_type(ir_vector(tx->ir, vectors[i].t, vectors[i].lanes[k])));
            }
    install(tx, "ref_u32", (tc_value){.kind = TC_REFERENCE, .type = ir_scalar(tx->ir, DT_U32)});
    install(tx, "references", (tc_value){.kind = TC_REFERENCE});
    install(tx, "void", tc_type(ir_void(tx->ir)));
    install(tx, "void_p", tc_type(ir_pointer(tx->ir, ir_void(tx->ir), IR_GENERIC)));
    install(tx, "void_pointer", tc_type(ir_pointer(tx->ir, ir_void(tx->ir), IR_GENERIC)));
    install(tx, "byte_p", tc_type(ir_pointer(tx->ir, ir_scalar(tx->ir, DT_U8), IR_GENERIC)));
}

void tc_natives_install(tc *tx)
{
    install_types(tx);
    for (int k = 0; k < TC_KIND__COUNT; k++)
        install(tx, tc_kind_texts[k], (tc_value){.kind = TC_KIND, .kind_name = (tc_kind_name)k});
    static const struct {
        const char *name;
        ir_space space;
    } spaces[] = {{"shared", IR_SHARED},
                  {"register", IR_REGISTER},
                  {"global_", IR_GLOBAL},
                  {"generic", IR_GENERIC},
                  {"memory", IR_GENERIC}};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        install(tx, spaces[i].name, (tc_value){.kind = TC_SPACE, .space = spaces[i].space});
    static const char *const scopes[] = {"thread", "warp", "warpgroup", "block", "cluster", "gpu"};
    for (int i = 0; i < 6; i++)
        install(tx, scopes[i], (tc_value){.kind = TC_SCOPE_NAME, .scope_name = (ir_scope)i});
    static const struct {
        const char *name;
        tc_namespace ns;
    } namespaces[] = {{"attrs", TC_NS_ATTRS},   {"attr", TC_NS_ATTR},     {"meta", TC_NS_META},
                      {"hidet", TC_NS_HIDET},   {"threadIdx", TC_NS_TID}, {"blockIdx", TC_NS_BID},
                      {"blockDim", TC_NS_BDIM}, {"gridDim", TC_NS_GDIM},  {"this_cluster", TC_NS_CLUSTER}};
    for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++)
        install(tx, namespaces[i].name, (tc_value){.kind = TC_NAMESPACE, .ns = namespaces[i].ns});
    install(tx, "inf", tc_float(INFINITY));
    install(tx, "nan", tc_float(NAN));
    install(tx, "pi", tc_float(3.14159265358979323846));
    for (const tc_native *n = tc_native_python; n->name; n++)
        install(tx, n->name, (tc_value){.kind = TC_NATIVE, .native = n});
    for (const tc_native *n = tc_native_gpu; n->name; n++)
        install(tx, n->name, (tc_value){.kind = TC_NATIVE, .native = n});
}
