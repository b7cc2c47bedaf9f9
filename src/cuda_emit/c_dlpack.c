// The functions that take tensors over DLPack: what the tensors' shapes tell is not asked for, and what they have to be
// is compared.
#include "cuda_emit/c_priv.h"

// Declares the parameters' names.
const char *cu_c_dlpack_params(cu *cx, const cu_c_func *f)
{
    str_buf out;
    str_buf_init(&out, cx->a);
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        const char *name = cu_declare(cx, v);
        int tensor, axis;
        if (cu_c_is_tensor(v))
            cu_add_item(&out, arena_printf(cx->a, "const hdsrt_tensor *%s", name));
        else if (!cu_c_is_deduced(f->func, v, &tensor, &axis))
            cu_add_item(&out, cu_c_param(cx, v, name, f->writes[i], false));
    }
    cu_add_item(&out, "hdsrt_stream stream");
    return str_text(&out);
}

static void deduce(cu *cx, const cu_c_func *f)
{
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        int tensor, axis;
        if (!cu_c_is_deduced(f->func, v, &tensor, &axis))
            continue;
        const char *name = cu_var_name(cx, v), *from = cu_var_name(cx, f->func->params.at[tensor]);
        cu_put(cx, "const int64_t %s = %s->shape[%d];", name, from, axis);
        uint64_t most = dt_max_bits(v->type->scalar);
        if (most < INT64_MAX)
            cu_c_fail_if(cx, arena_printf(cx->a, "%s > %lld", name, (long long)most),
                         arena_printf(cx->a, "'%s' has extent %%lld along axis %d, and it has to be at most %lld", from,
                                      axis, (long long)most),
                         arena_printf(cx->a, ", (long long)%s", name));
    }
}

static void compare_extent(cu *cx, const cu_c_func *f, const ir_var *v, int axis, str_buf *out)
{
    const ir_tensor *t = v->tensor;
    bool is_lane = axis == t->rank;
    const char *name = cu_var_name(cx, v);
    str_buf rule;
    str_buf_init(&rule, cx->a);
    cx->in_comment = true;
    cu_add_literal(&rule, is_lane ? arena_printf(cx->a, "%d", cu_c_lanes(t->elem)) : cu_at(cx, t->shape[axis], CU_ASSIGN));
    cx->in_comment = false;
    const char *expected = is_lane ? str_text(&rule) : cu_c_extent(cx, t->shape[axis]);
    str_buf *saved = cx->out;
    cx->out = out;
    cu_c_checked(cx, arena_printf(cx->a, "hdsrt_check_extent(\"%s\", \"%s\", %d, %s->shape[%d], %s, \"%s\")", f->name,
                                  name, axis, name, axis, expected, str_text(&rule)));
    cx->out = saved;
}

static void compare_extents(cu *cx, const cu_c_func *f)
{
    bool has_flag = false;
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        int axes = cu_c_is_tensor(v) ? v->tensor->rank + (cu_c_lanes(v->tensor->elem) != 0) : 0;
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
                cu_c_put_with_flag(cx, &text, &has_flag);
        }
    }
}

static void call_flat(cu *cx, const cu_c_func *f, const char *const *data)
{
    str_buf args;
    str_buf_init(&args, cx->a);
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        int tensor, axis;
        const char *text = cu_var_name(cx, v);
        if (cu_c_is_tensor(v))
            text = f->writes[i] ? arena_printf(cx->a, "(%s *)%s", cu_c_elem(cx, v->type->elem), data[i]) : data[i];
        else if (v->type->scalar != DT_I64 && cu_c_is_deduced(f->func, v, &tensor, &axis))
            text = arena_printf(cx->a, "(%s)%s", cu_c_scalar(cx, v->type->scalar), text);
        cu_add_item(&args, text);
    }
    cu_add_item(&args, "stream");
    cu_put(cx, "return %s(%s);", f->name, str_text(&args));
}

void cu_c_dlpack(cu *cx, const cu_c_func *f, str_buf *out)
{
    size_t mark = cu_scope_begin(cx);
    str_buf body;
    cu_c_begin_function(cx, f, &body);
    const char *params = cu_c_dlpack_params(cx, f);
    const char **data = ARENA_ARRAY(cx->a, const char *, f->func->params.len + 1);
    cu_c_begin_fails(cx);
    for (size_t i = 0, rule = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        if (!cu_c_is_tensor(v))
            continue;
        data[i] = cu_name_new(cx, arena_printf(cx->a, "%s_data", v->name));
        cu_put(cx, "const void *%s;", data[i]);
        cu_c_checked(cx, arena_printf(cx->a, "hdsrt_check_dlpack(\"%s\", &hds_rules_%s[%zu], %s, &%s)", f->name, f->name,
                                      rule++, cu_var_name(cx, v), data[i]));
    }
    deduce(cx, f);
    compare_extents(cx, f);
    call_flat(cx, f, data);
    cx->c->fails = NULL;
    str_addf(out, "%s\n{\n", cu_c_wrapped(cx->a, arena_printf(cx->a, "hdsrt_status %s_dlpack(%s)", f->name, params)));
    str_add(out, (str){body.at, body.len});
    str_adds(out, "}\n");
    cu_scope_end(cx, mark);
}
