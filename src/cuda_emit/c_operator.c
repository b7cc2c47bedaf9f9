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

static int operand_count(const cu_c_func *f)
{
    int count = 0;
    for (size_t i = 0; i < f->func->params.len; i++)
        count += cu_c_is_tensor(f->func->params.at[i]);
    return count;
}

// The first of those that have all operands: other instances lack optional ones.
bool cu_c_is_first_of_operator(const cu *cx, const cu_c_func *f)
{
    const cu_c_func *first = NULL;
    if (!f->func->operator || f->func->is_strided || !cu_c_is_entry(f->func))
        return false;
    for (size_t i = 0; i < cx->c->funcs.len; i++) {
        const cu_c_func *g = &cx->c->funcs.at[i];
        if (is_one(g, f) && (!first || operand_count(g) > operand_count(first)))
            first = g;
    }
    return first == f;
}

// The operand that [g] has by that name; NULL: it goes without.
static const ir_var *operand_of(const cu_c_func *g, const ir_var *operand)
{
    for (size_t i = 0; i < g->func->params.len; i++) {
        const ir_var *v = g->func->params.at[i];
        if (cu_c_is_tensor(v) && strcmp(v->name, operand->name) == 0)
            return v;
    }
    return NULL;
}

static bool has_same_operands(const cu_c_func *f, const cu_c_func *g)
{
    int count = 0;
    for (size_t i = 0; i < f->func->params.len; i++)
        count += cu_c_is_tensor(f->func->params.at[i]) && operand_of(g, f->func->params.at[i]);
    return count == operand_count(g);
}

// What C calls take behind the tensors: neither sizes nor strides, which those tell.
static bool is_number(const cu_c_func *f, const ir_var *v)
{
    int of, axis;
    return !cu_c_is_tensor(v) && !cu_c_is_deduced(f->func, v, &of, &axis) && !cu_c_is_stride(f->func, v, 0, &of, &axis);
}

// "float eps"
static const char *numbers(cu *cx, const cu_c_func *f)
{
    size_t mark = cu_scope_begin(cx);
    str_buf out;
    str_buf_init(&out, cx->a);
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        if (is_number(f, v))
            cu_add_item(&out, cu_c_param(cx, v, cu_declare(cx, v), f->writes[i], false));
    }
    cu_scope_end(cx, mark);
    return str_text(&out);
}

// Else the instances differ in types of numbers, or each lacks what the other has: no function in C is for all of them.
static bool is_same_in_c(cu *cx, const cu_c_func *f, const cu_c_func *g)
{
    return has_same_operands(f, g) && strcmp(numbers(cx, f), numbers(cx, g)) == 0;
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
        cu_put(cx, "{\"%s\", %d, %d, %d, %s, %s},", cu_var_name(cx, v), before, after, v->join_group,
               f->writes[i] ? "true" : "false", v->is_result ? "true" : "false");
    }
    cx->indent--;
    cu_put(cx, "};");
}

// The types of an instance's operands; no type for those that it goes without.
static void put_types(cu *cx, const cu_c_func *f, const char *name, int *instances)
{
    cu_put(cx, "static const hdsrt_dtype %s[] = {", name);
    cx->indent++;
    for (size_t i = 0; i < cx->c->funcs.len; i++) {
        const cu_c_func *g = &cx->c->funcs.at[i];
        if (!is_one(g, f))
            continue;
        str_buf row;
        str_buf_init(&row, cx->a);
        for (size_t k = 0; k < f->func->params.len; k++) {
            if (!cu_c_is_tensor(f->func->params.at[k]))
                continue;
            const ir_var *v = operand_of(g, f->func->params.at[k]);
            cu_add_item(&row, v ? cu_c_dtype(cx, v->tensor->elem) : "{0, 0}");
        }
        cu_put(cx, "%s,", str_text(&row));
        ++*instances;
    }
    cx->indent--;
    cu_put(cx, "};");
}

// For instance [g], from the parameters of [f].
static const char *arguments(cu *cx, const cu_c_func *f, const cu_c_func *g, const char *joined)
{
    str_buf args;
    int tensor = 0;
    str_buf_init(&args, cx->a);
    for (size_t k = 0; k < f->func->params.len; k++) {
        const ir_var *v = f->func->params.at[k];
        if (cu_c_is_tensor(v) && operand_of(g, v))
            cu_add_item(&args, arena_printf(cx->a, "&%s[%d].tensor", joined, tensor));
        else if (is_number(f, v))
            cu_add_item(&args, cu_var_name(cx, v));
        tensor += cu_c_is_tensor(v);
    }
    cu_add_item(&args, "stream");
    return str_text(&args);
}

// The names of what the function over all types has.
typedef struct locals {
    const char *operands, *types, *tensors, *joined, *instance, *status;
    int count, instances;
} locals;

// By element: operands may lie anyhow, and instances for tensors with strides have the numbers behind those of the others.
static void put_by_element(cu *cx, const cu_c_func *f, const locals *l)
{
    int number = 0;
    cu_put(cx, "switch (%s) {", l->instance);
    for (size_t i = 0; i < cx->c->funcs.len; i++) {
        const cu_c_func *g = &cx->c->funcs.at[i];
        if (is_one(g, f))
            cu_put(cx, "case %d: return %s_dlpack(%s);", number++, g->name, arguments(cx, f, g, l->joined));
    }
    for (int k = 0; k < l->instances && strided_of(cx, f, k); k++)
        cu_put(cx, "case %d: return %s_dlpack(%s);", number++, strided_of(cx, f, k)->name, arguments(cx, f, f, l->joined));
    cu_put(cx, "default: return HDSRT_INVALID_ARGUMENT;");
    cu_put(cx, "}");
}

// Else what lies in other ways has been copied.
static void put_calls(cu *cx, const cu_c_func *f, const locals *l)
{
    int number = 0;
    cu_put(cx, "switch (%s) {", l->instance);
    for (size_t i = 0; i < cx->c->funcs.len; i++) {
        const cu_c_func *g = &cx->c->funcs.at[i];
        if (is_one(g, f))
            cu_put(cx, "case %d: %s = %s_dlpack(%s); break;", number++, l->status, g->name, arguments(cx, f, g, l->joined));
    }
    cu_put(cx, "default: %s = HDSRT_INVALID_ARGUMENT;", l->status);
    cu_put(cx, "}");
    cu_put(cx, "return hdsrt_finish_instance(%s, %d, %s, %s, %s, stream);", l->operands, l->count, l->tensors, l->joined, l->status);
}

static void put_tensors(cu *cx, const cu_c_func *f, const char *name)
{
    str_buf tensors;
    str_buf_init(&tensors, cx->a);
    for (size_t i = 0; i < f->func->params.len; i++)
        if (cu_c_is_tensor(f->func->params.at[i]))
            cu_add_item(&tensors, cu_var_name(cx, f->func->params.at[i]));
    cu_put(cx, "const hdsrt_tensor *const %s[] = {%s};", name, str_text(&tensors));
}

static void put_body(cu *cx, const cu_c_func *f, const char *name, locals *l)
{
    bool is_by_element = strided_of(cx, f, 0);
    put_operands(cx, f, l->operands);
    put_types(cx, f, l->types, &l->instances);
    put_tensors(cx, f, l->tensors);
    cu_put(cx, "hdsrt_joined %s[%d];", l->joined, l->count);
    cu_put(cx, "int %s = 0;", l->instance);
    cu_put(cx, "hdsrt_status %s = %s(\"%s\", %s, %s, %d, %d, %s, %s%s, &%s);", l->status,
           is_by_element ? "hdsrt_choose_by_element" : "hdsrt_choose_instance", name, l->operands, l->types, l->count, l->instances,
           l->tensors, is_by_element ? "" : "stream, ", l->joined, l->instance);
    cu_put(cx, "if (%s != HDSRT_OK)", l->status);
    cx->indent++;
    cu_put(cx, "return %s;", l->status);
    cx->indent--;
    if (is_by_element)
        put_by_element(cx, f, l);
    else
        put_calls(cx, f, l);
}

void cu_c_operator(cu *cx, const cu_c_func *f, str_buf *out)
{
    size_t mark = cu_scope_begin(cx);
    str_buf body;
    cu_c_begin_function(cx, f, &body);
    const char *name = cu_c_operator_name(cx, f), *params = cu_c_dlpack_params(cx, f);
    locals l = {.operands = cu_name_new(cx, "operands"), .types = cu_name_new(cx, "types"), .tensors = cu_name_new(cx, "tensors"),
                .joined = cu_name_new(cx, "joined"), .instance = cu_name_new(cx, "instance"),
                .status = cu_name_new(cx, "status"), .count = operand_count(f)};
    put_body(cx, f, name, &l);
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

static void add_types(const cu *cx, const cu_c_func *f, str_buf *out)
{
    bool any = false;
    for (size_t i = 0; i < cx->c->funcs.len; i++) {
        const cu_c_func *g = &cx->c->funcs.at[i];
        bool is_new = is_one(g, f);
        for (size_t k = 0; is_new && k < i; k++)
            is_new = !is_one(&cx->c->funcs.at[k], f) ||
                     strcmp(cx->c->funcs.at[k].func->operator_types, g->func->operator_types) != 0;
        if (is_new)
            str_addf(out, "%s %s", any ? "," : "", g->func->operator_types);
        any |= is_new;
    }
}

// "; w, b: NULL leaves them out"
static void add_optional(const cu *cx, const cu_c_func *f, str_buf *out)
{
    int count = 0;
    for (size_t i = 0; i < f->func->params.len; i++) {
        const ir_var *v = f->func->params.at[i];
        bool is_everywhere = true;
        for (size_t k = 0; k < cx->c->funcs.len; k++)
            is_everywhere &= !is_one(&cx->c->funcs.at[k], f) || operand_of(&cx->c->funcs.at[k], v);
        if (cu_c_is_tensor(v) && !is_everywhere)
            str_addf(out, "%s%s", count++ ? ", " : "; ", v->name);
    }
    if (count)
        str_addf(out, ": NULL leaves %s out", count > 1 ? "them" : "it");
}

void cu_c_declare_operator(cu *cx, const cu_c_func *f, str_buf *out)
{
    const char *name = cu_c_operator_name(cx, f);
    str_addf(out, "\n// %s, for tensors of", f->func->operator);
    add_types(cx, f, out);
    add_optional(cx, f, out);
    str_adds(out, "\n");
    if (f->func->doc && *f->func->doc) {
        str_adds(out, "//\n");
        add_doc(f->func->doc, out);
    }
    size_t mark = cu_scope_begin(cx);
    str_addf(out, "%s;\n", cu_c_wrapped(cx->a, arena_printf(cx->a, "hdsrt_status %s(%s)", name, cu_c_dlpack_params(cx, f))));
    cu_scope_end(cx, mark);
}
