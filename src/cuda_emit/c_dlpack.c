// The functions that take tensors over DLPack: what the tensors' shapes tell is not asked for, and what they have to be
// is compared.
#include "cuda_emit/c_priv.h"

// A function on its way: all parameters of an entry, or of a model's function those that are not the model's.
typedef struct over {
    cu *cx;
    const cu_c_func *f;
    const bool *given;    // by parameter; NULL: all
    const char *model;    // the name of the parameter that is the model; NULL: there is none
    const char **data, **strides;  // names, by parameter
} over;

static bool is_given(const over *o, size_t i)
{
    return !o->given || o->given[i];
}

static bool is_given_tensor(const over *o, size_t i)
{
    return is_given(o, i) && cu_c_is_tensor(o->f->func->params.at[i]);
}

// Declares the parameters' names.
static const char *declare_params(over *o)
{
    cu *cx = o->cx;
    const cu_c_func *f = o->f;
    str_buf out;
    str_buf_init(&out, cx->a);
    o->model = o->given ? cu_name_new(cx, "model") : NULL;
    if (o->model)
        cu_add_item(&out, arena_printf(cx->a, "%s_model *%s", f->name, o->model));
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        if (!is_given(o, i))
            continue;
        const char *name = cu_declare(cx, v);
        int tensor, axis;
        if (cu_c_is_tensor(v))
            cu_add_item(&out, arena_printf(cx->a, "const hdsrt_tensor *%s", name));
        else if (!cu_c_is_deduced(f->func, v, &tensor, &axis) && !cu_c_is_stride(f->func, v, 0, &tensor, &axis))
            cu_add_item(&out, cu_c_param(cx, v, name, f->writes[i], false));
    }
    cu_add_item(&out, "hdsrt_stream stream");
    return str_text(&out);
}

const char *cu_c_dlpack_params(cu *cx, const cu_c_func *f)
{
    over o = {.cx = cx, .f = f};
    return declare_params(&o);
}

const char *cu_c_dlpack_run_params(cu *cx, const cu_c_func *f, const bool *given)
{
    over o = {.cx = cx, .f = f, .given = given};
    return declare_params(&o);
}

// "a_strides[0]", or of several the first that belongs to more than one element.
static const char *stride_that_tells(cu *cx, const cu_c_func *f, const ir_var *v, const char *const *strides)
{
    int tensor, axis, other, other_axis;
    bool is_one_of_many = cu_c_is_stride(f->func, v, 1, &other, &other_axis);
    str_buf text;
    str_buf_init(&text, cx->a);
    for (int k = 0; is_one_of_many && cu_c_is_stride(f->func, v, k, &tensor, &axis); k++)
        str_addf(&text, "%s->shape[%d] > 1 ? %s[%d] : ", cu_var_name(cx, f->func->params.at[tensor]), axis, strides[tensor],
                 axis);
    cu_c_is_stride(f->func, v, 0, &tensor, &axis);
    str_addf(&text, "%s[%d]", strides[tensor], axis);
    return str_text(&text);
}

static void check_most(cu *cx, const ir_var *v, const char *from, const char *what, int axis)
{
    uint64_t most = dt_max_bits(v->type->scalar);
    const char *name = cu_var_name(cx, v);
    if (most < INT64_MAX)
        cu_c_fail_if(cx, arena_printf(cx->a, "%s > %lld", name, (long long)most),
                     arena_printf(cx->a, "'%s' has %s %%lld along axis %d, and it has to be at most %lld", from, what, axis,
                                  (long long)most),
                     arena_printf(cx->a, ", (long long)%s", name));
}

static void deduce(const over *o)
{
    cu *cx = o->cx;
    const cu_c_func *f = o->f;
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        int tensor, axis;
        if (!is_given(o, i))
            continue;
        const char *name = cu_c_is_tensor(v) ? NULL : cu_var_name(cx, v);
        if (cu_c_is_deduced(f->func, v, &tensor, &axis)) {
            const char *from = cu_var_name(cx, f->func->params.at[tensor]);
            cu_put(cx, "const int64_t %s = %s->shape[%d];", name, from, axis);
            check_most(cx, v, from, "extent", axis);
        } else if (cu_c_is_stride(f->func, v, 0, &tensor, &axis)) {
            cu_put(cx, "const int64_t %s = %s;", name, stride_that_tells(cx, f, v, o->strides));
            check_most(cx, v, cu_var_name(cx, f->func->params.at[tensor]), "the stride", axis);
        }
    }
}

// The text of an extent or stride, in quotes' inside, as the author wrote it.
static const char *said(cu *cx, const ir_expr *e)
{
    str_buf out;
    str_buf_init(&out, cx->a);
    cx->in_comment = true;
    cu_add_literal(&out, cu_at(cx, e, CU_ASSIGN));
    cx->in_comment = false;
    return str_text(&out);
}

static void compare_stride(cu *cx, const cu_c_func *f, const ir_var *v, int axis, str_buf *out)
{
    const ir_expr *stride = v->tensor->strides[axis];
    const char *name = cu_var_name(cx, v), *expected = cu_c_extent(cx, stride);
    str_buf *saved = cx->out;
    cx->out = out;
    cu_c_checked(cx, arena_printf(cx->a, "hdsrt_check_stride(\"%s\", \"%s\", %s, %d, %s, \"%s\")", f->name, name, name,
                                  axis, expected, said(cx, stride)));
    cx->out = saved;
}

// But for those that tell a size, of which there is one.
static void compare_strides(const over *o, bool *has_flag)
{
    cu *cx = o->cx;
    const cu_c_func *f = o->f;
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        for (int d = 0; is_given_tensor(o, i) && v->tensor->is_strided && d < v->tensor->rank; d++) {
            const ir_expr *e = cu_c_uncast(v->tensor->strides[d]);
            int tensor, axis;
            bool is_var = e->op == IR_OP_VAR && !cu_c_is_deduced(f->func, e->u.var, &tensor, &axis);
            bool is_source = is_var && cu_c_is_stride(f->func, e->u.var, 0, &tensor, &axis) &&
                             !cu_c_is_stride(f->func, e->u.var, 1, &tensor, &axis);
            str_buf text;
            str_buf_init(&text, cx->a);
            if (!is_source)
                compare_stride(cx, f, v, d, &text);
            if (text.len)
                cu_c_put_with_flag(cx, &text, has_flag);
        }
    }
}

static void compare_extent(cu *cx, const cu_c_func *f, const ir_var *v, int axis, str_buf *out)
{
    const ir_tensor *t = v->tensor;
    bool is_lane = axis == t->rank;
    const char *name = cu_var_name(cx, v);
    const char *rule = is_lane ? arena_printf(cx->a, "%d", cu_c_lanes(t->elem)) : said(cx, t->shape[axis]);
    const char *expected = is_lane ? rule : cu_c_extent(cx, t->shape[axis]);
    str_buf *saved = cx->out;
    cx->out = out;
    cu_c_checked(cx, arena_printf(cx->a, "hdsrt_check_extent(\"%s\", \"%s\", %d, %s->shape[%d], %s, \"%s\")", f->name,
                                  name, axis, name, axis, expected, rule));
    cx->out = saved;
}

static void compare_extents(const over *o, bool *has_flag)
{
    cu *cx = o->cx;
    const cu_c_func *f = o->f;
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        int axes = is_given_tensor(o, i) ? v->tensor->rank + (cu_c_lanes(v->tensor->elem) != 0) : 0;
        for (int d = 0; d < axes; d++) {
            const ir_expr *e = d < v->tensor->rank ? cu_c_uncast(v->tensor->shape[d]) : NULL;
            int tensor, axis;
            bool is_source = e && e->op == IR_OP_VAR && cu_c_is_deduced(f->func, e->u.var, &tensor, &axis) &&
                             tensor == (int)i && axis == d;
            str_buf text;
            str_buf_init(&text, cx->a);
            if (!is_source)
                compare_extent(cx, f, v, d, &text);
            if (text.len)
                cu_c_put_with_flag(cx, &text, has_flag);
        }
    }
}

static void call_flat(const over *o)
{
    cu *cx = o->cx;
    const cu_c_func *f = o->f;
    str_buf args;
    str_buf_init(&args, cx->a);
    if (o->model)
        cu_add_item(&args, o->model);
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        int tensor, axis;
        if (!is_given(o, i))
            continue;
        const char *text = cu_var_name(cx, v);
        if (cu_c_is_tensor(v))
            text = f->writes[i] ? arena_printf(cx->a, "(%s *)%s", cu_c_elem(cx, v->type->elem), o->data[i]) : o->data[i];
        else if (v->type->scalar != DT_I64 && (cu_c_is_deduced(f->func, v, &tensor, &axis) ||
                                               cu_c_is_stride(f->func, v, 0, &tensor, &axis)))
            text = arena_printf(cx->a, "(%s)%s", cu_c_scalar(cx, v->type->scalar), text);
        cu_add_item(&args, text);
    }
    cu_add_item(&args, "stream");
    cu_put(cx, "return %s%s(%s);", f->name, o->model ? "_run" : "", str_text(&args));
}

// The tensor itself: its type, device, alignment, and whether the function accepts its strides.
static void check_tensor(cu *cx, const cu_c_func *f, const ir_var *v, size_t rule, const char *data, const char *strides)
{
    const char *out = strides ? arena_printf(cx->a, ", %s", strides) : "";
    cu_put(cx, "const void *%s;", data);
    if (strides)
        cu_put(cx, "int64_t %s[%d];", strides, v->tensor->rank ? v->tensor->rank : 1);
    cu_c_checked(cx, arena_printf(cx->a, "hdsrt_check_dlpack%s(\"%s\", &hds_rules_%s[%zu], %s, &%s%s)",
                                  strides ? "_strided" : "", f->name, f->name, rule, cu_var_name(cx, v), data, out));
}

static void define(over *o, str_buf *out)
{
    cu *cx = o->cx;
    const cu_c_func *f = o->f;
    size_t mark = cu_scope_begin(cx);
    str_buf body;
    bool has_flag = false;
    cu_c_begin_function(cx, f, &body);
    const char *params = declare_params(o);
    o->data = ARENA_ARRAY(cx->a, const char *, f->func->params.len + 1);
    o->strides = ARENA_ARRAY(cx->a, const char *, f->func->params.len + 1);
    cu_c_begin_fails(cx);
    for (size_t i = 0, rule = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        if (is_given_tensor(o, i)) {
            o->data[i] = cu_name_new(cx, arena_printf(cx->a, "%s_data", v->name));
            o->strides[i] = v->tensor->is_strided ? cu_name_new(cx, arena_printf(cx->a, "%s_strides", v->name)) : NULL;
            check_tensor(cx, f, v, rule, o->data[i], o->strides[i]);
        }
        rule += cu_c_is_tensor(v);
    }
    deduce(o);
    compare_extents(o, &has_flag);
    compare_strides(o, &has_flag);
    call_flat(o);
    cx->c->fails = NULL;
    const char *head = arena_printf(cx->a, "hdsrt_status %s%s_dlpack(%s)", f->name, o->model ? "_run" : "", params);
    str_addf(out, "%s\n{\n", cu_c_wrapped(cx->a, head));
    str_add(out, (str){body.at, body.len});
    str_adds(out, "}\n");
    cu_scope_end(cx, mark);
}

void cu_c_dlpack(cu *cx, const cu_c_func *f, str_buf *out)
{
    over o = {.cx = cx, .f = f};
    define(&o, out);
}

void cu_c_dlpack_run(cu *cx, const cu_c_func *f, const bool *given, str_buf *out)
{
    over o = {.cx = cx, .f = f, .given = given};
    define(&o, out);
}
