// Operators in C: one function over DLPack tensors for all types that a file has the operator for.
#include "cuda_emit/c_priv.h"

#include <string.h>

const char *cu_c_operator_name(const cu *cx, const cu_c_func *f)
{
    const char *prefix = cx->c->options->prefix;
    return arena_printf(cx->a, "%s%s", prefix ? prefix : "", f->func->operator);
}

static bool is_one(const cu_c_func *g, const cu_c_func *f)
{
    return g->func->operator && !g->func->is_strided && cu_c_is_entry(g->func) &&
           strcmp(g->func->operator, f->func->operator) == 0;
}

// The same for tensors with strides, whose instances come in the same order; NULL: there is none.
static const cu_c_func *strided_of(const cu *cx, const cu_c_func *f, int number)
{
    for (size_t i = 0; i < cx->c->funcs.len; i++) {
        const cu_c_func *g = &cx->c->funcs.at[i];
        if (g->func->operator && g->func->is_strided && strcmp(g->func->operator, f->func->operator) == 0 && !number--)
            return g;
    }
    return NULL;
}

bool cu_c_is_first_of_operator(const cu *cx, const cu_c_func *f)
{
    if (!f->func->operator || f->func->is_strided || !cu_c_is_entry(f->func))
        return false;
    for (size_t i = 0; i < cx->c->funcs.len; i++)
        if (is_one(&cx->c->funcs.at[i], f))
            return &cx->c->funcs.at[i] == f;
    return false;
}

// The instances differ in types of numbers: no function in C is for all of them.
static bool is_same_in_c(cu *cx, const cu_c_func *f, const cu_c_func *g)
{
    size_t mark = cu_scope_begin(cx);
    const char *one = cu_c_dlpack_params(cx, f);
    cu_scope_end(cx, mark);
    mark = cu_scope_begin(cx);
    const char *other = cu_c_dlpack_params(cx, g);
    cu_scope_end(cx, mark);
    return strcmp(one, other) == 0;
}

bool cu_c_has_operator(cu *cx, const cu_c_func *f)
{
    for (size_t i = 0; i < cx->c->funcs.len; i++)
        if (is_one(&cx->c->funcs.at[i], f) && !is_same_in_c(cx, f, &cx->c->funcs.at[i]))
            return false;
    return true;
}

static void put_operands(cu *cx, const cu_c_func *f, const char *name)
{
    cu_put(cx, "static const hdsrt_operand %s[] = {", name);
    cx->indent++;
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        if (!cu_c_is_tensor(v))
            continue;
        int before = v->joined ? v->joined - 1 : 0, after = v->joined ? v->tensor->rank - v->joined : 0;
        cu_put(cx, "{\"%s\", %d, %d, %d, %s},", cu_var_name(cx, v), before, after, v->join_group,
               f->writes[i] ? "true" : "false");
    }
    cx->indent--;
    cu_put(cx, "};");
}

static int put_types(cu *cx, const cu_c_func *f, const char *name, int *instances)
{
    int count = 0;
    cu_put(cx, "static const hdsrt_dtype %s[] = {", name);
    cx->indent++;
    for (size_t i = 0; i < cx->c->funcs.len; i++) {
        const cu_c_func *g = &cx->c->funcs.at[i];
        if (!is_one(g, f))
            continue;
        str_buf row;
        str_buf_init(&row, cx->a);
        count = 0;
        for (size_t k = 0; k < g->func->params.len; k++)
            if (cu_c_is_tensor(g->func->params.at[k])) {
                cu_add_item(&row, cu_c_dtype(cx, g->func->params.at[k]->tensor->elem));
                count++;
            }
        cu_put(cx, "%s,", str_text(&row));
        ++*instances;
    }
    cx->indent--;
    cu_put(cx, "};");
    return count;
}

static const char *arguments(cu *cx, const cu_c_func *f, const char *joined)
{
    str_buf args;
    int tensor = 0, of, axis;
    str_buf_init(&args, cx->a);
    for (size_t k = 0; k < f->func->params.len; k++) {
        const ir_var *v = f->func->params.at[k];
        if (cu_c_is_tensor(v))
            cu_add_item(&args, arena_printf(cx->a, "&%s[%d].tensor", joined, tensor++));
        else if (!cu_c_is_deduced(f->func, v, &of, &axis) && !cu_c_is_stride(f->func, v, 0, &of, &axis))
            cu_add_item(&args, cu_var_name(cx, v));
    }
    cu_add_item(&args, "stream");
    return str_text(&args);
}

// Instances for tensors with strides have the numbers behind those of the others.
static void put_calls(cu *cx, const cu_c_func *f, const char *joined, const char *instance, int instances)
{
    int number = 0;
    const char *args = arguments(cx, f, joined);
    cu_put(cx, "switch (%s) {", instance);
    for (size_t i = 0; i < cx->c->funcs.len; i++)
        if (is_one(&cx->c->funcs.at[i], f))
            cu_put(cx, "case %d: return %s_dlpack(%s);", number++, cx->c->funcs.at[i].name, args);
    for (int k = 0; k < instances && strided_of(cx, f, k); k++)
        cu_put(cx, "case %d: return %s_dlpack(%s);", number++, strided_of(cx, f, k)->name, args);
    cu_put(cx, "default: return HDSRT_INVALID_ARGUMENT;");
    cu_put(cx, "}");
}

void cu_c_operator(cu *cx, const cu_c_func *f, str_buf *out)
{
    size_t mark = cu_scope_begin(cx);
    str_buf body, tensors;
    int instances = 0;
    cu_c_begin_function(cx, f, &body);
    const char *name = cu_c_operator_name(cx, f), *params = cu_c_dlpack_params(cx, f);
    const char *operands = cu_name_new(cx, "operands"), *types = cu_name_new(cx, "types");
    const char *given = cu_name_new(cx, "tensors"), *joined = cu_name_new(cx, "joined");
    const char *instance = cu_name_new(cx, "instance"), *status = cu_name_new(cx, "status");
    put_operands(cx, f, operands);
    int count = put_types(cx, f, types, &instances);
    str_buf_init(&tensors, cx->a);
    for (size_t i = 0; i < f->func->params.len; i++)
        if (cu_c_is_tensor(f->func->params.at[i]))
            cu_add_item(&tensors, cu_var_name(cx, f->func->params.at[i]));
    cu_put(cx, "const hdsrt_tensor *const %s[] = {%s};", given, str_text(&tensors));
    cu_put(cx, "hdsrt_joined %s[%d];", joined, count);
    cu_put(cx, "int %s = 0;", instance);
    cu_put(cx, "hdsrt_status %s = %s(\"%s\", %s, %s, %d, %d, %s, %s, &%s);", status,
           strided_of(cx, f, 0) ? "hdsrt_choose_by_element" : "hdsrt_choose_instance", name, operands, types, count, instances,
           given, joined, instance);
    cu_put(cx, "if (%s != HDSRT_OK)", status);
    cx->indent++;
    cu_put(cx, "return %s;", status);
    cx->indent--;
    put_calls(cx, f, joined, instance, instances);
    str_addf(out, "%s\n{\n", cu_c_wrapped(cx->a, arena_printf(cx->a, "hdsrt_status %s(%s)", name, params)));
    str_add(out, (str){body.at, body.len});
    str_adds(out, "}\n");
    cu_scope_end(cx, mark);
}

// ---- the header -------------------------------------------------------------------------------------------------

static void add_doc(const char *doc, str_buf *out)
{
    for (const char *at = doc, *end; *at; at = *end ? end + 1 : end) {
        end = strchr(at, '\n');
        end = end ? end : at + strlen(at);
        str_addf(out, "//%s%.*s\n", end > at ? " " : "", (int)(end - at), at);
    }
}

void cu_c_declare_operator(cu *cx, const cu_c_func *f, str_buf *out)
{
    const char *name = cu_c_operator_name(cx, f);
    str_addf(out, "\n// %s, for tensors of", f->func->operator);
    bool any = false;
    for (size_t i = 0; i < cx->c->funcs.len; i++)
        if (is_one(&cx->c->funcs.at[i], f)) {
            str_addf(out, "%s %s", any ? "," : "", cx->c->funcs.at[i].name + strlen(name) + 1);
            any = true;
        }
    str_adds(out, "\n");
    if (f->func->doc && *f->func->doc) {
        str_adds(out, "//\n");
        add_doc(f->func->doc, out);
    }
    size_t mark = cu_scope_begin(cx);
    str_addf(out, "%s;\n", cu_c_wrapped(cx->a, arena_printf(cx->a, "hdsrt_status %s(%s)", name, cu_c_dlpack_params(cx, f))));
    cu_scope_end(cx, mark);
}
