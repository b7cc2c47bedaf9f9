#include "pipeline/interface.h"

#include <jansson.h>
#include <string.h>

// The language promises it of every tensor parameter (lang/reference.md, 10.1).
enum { TENSOR_ALIGNMENT = 16 };

typedef struct describer {
    pl_unit *unit;
    const cu_kernel_info *kernel;
    const char **names; // of the parameters, each once
} describer;

// ---- names ------------------------------------------------------------------------------------------------------

static bool is_taken(char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

// What a launched function captured may have the name of a parameter: then it is x_1.
static const char **name_parameters(pl_unit *u, const ir_func *f)
{
    char **names = ARENA_ARRAY(&u->memory, char *, f->params.len);
    for (size_t i = 0; i < f->params.len; i++) {
        const char *own = f->params.at[i]->name ? f->params.at[i]->name : "p";
        names[i] = arena_strdup(&u->memory, own);
        for (int n = 1; is_taken(names, i, names[i]); n++)
            names[i] = arena_printf(&u->memory, "%s_%d", own, n);
    }
    return (const char **)names;
}

static const char *name_of(const void *user, const ir_var *v)
{
    const describer *d = user;
    const ir_func *f = d->kernel->func;
    for (size_t i = 0; i < f->params.len; i++) {
        if (f->params.at[i] == v)
            return d->names[i];
    }
    return v->name;
}

// ---- values -----------------------------------------------------------------------------------------------------

// The parser takes UTF-8 only, so that only foreign IR text can hold anything else.
static json_t *text_of(const char *text)
{
    json_t *value = text ? json_string(text) : NULL;
    return value ? value : json_null();
}

// An integer, a text over the parameters, or null: what no caller can compute.
static json_t *amount_of(describer *d, const ir_expr *e)
{
    int64_t known;
    if (ir_const_int(e, &known))
        return json_integer(known);
    str_buf text;
    str_buf_init(&text, &d->unit->memory);
    return pl_python_text(e, name_of, d, &text) ? json_string(str_text(&text)) : json_null();
}

static json_t *dims_of(describer *d, ir_expr *const dims[3])
{
    if (!dims[0])
        return json_null();
    json_t *list = json_array();
    for (int i = 0; i < 3; i++)
        json_array_append_new(list, dims[i] ? amount_of(d, dims[i]) : json_integer(1));
    return list;
}

// ---- parameters -------------------------------------------------------------------------------------------------

static const char *kind_of(const ir_var *v)
{
    if (v->is_size)
        return "size";
    return v->type->kind == IR_TENSOR ? "tensor" : v->type->kind == IR_POINTER ? "pointer" : "scalar";
}

static json_t *type_name(describer *d, const ir_type *t)
{
    if (t->kind == IR_VOID)
        return json_string("void");
    str_buf text;
    str_buf_init(&text, &d->unit->memory);
    ir_type_print(t, &text);
    return json_string(str_text(&text));
}

static int alignment_of(const ir_var *v)
{
    int own = v->tensor->align_bytes;
    return own > TENSOR_ALIGNMENT ? own : TENSOR_ALIGNMENT;
}

static void describe_tensor(describer *d, const ir_var *v, json_t *object)
{
    json_t *shape = json_array();
    for (int i = 0; i < v->tensor->rank; i++)
        json_array_append_new(shape, amount_of(d, v->tensor->shape[i]));
    json_object_set_new(object, "shape", shape);
    json_object_set_new(object, "alignment", json_integer(alignment_of(v)));
}

static json_t *parameter(describer *d, size_t index)
{
    const ir_var *v = d->kernel->func->params.at[index];
    bool is_scalar = v->type->kind == IR_SCALAR || v->type->kind == IR_VECTOR;
    json_t *object = json_object();
    json_object_set_new(object, "name", json_string(d->names[index]));
    json_object_set_new(object, "kind", json_string(kind_of(v)));
    json_object_set_new(object, "dtype", type_name(d, is_scalar ? v->type : v->type->elem));
    if (v->type->kind == IR_TENSOR)
        describe_tensor(d, v, object);
    if (!is_scalar)
        json_object_set_new(object, "written", json_boolean(d->kernel->writes[index]));
    return object;
}

// ---- kernels ----------------------------------------------------------------------------------------------------

static json_t *dynamic_bytes(describer *d)
{
    const ir_expr *wish = d->kernel->func->dynamic_smem_bytes;
    int64_t pool = d->kernel->dynamic_smem_bytes, known;
    if (!wish)
        return json_integer(pool);
    if (ir_const_int(wish, &known))
        return json_integer(pool + known);
    ir_module *m = d->unit->module;
    ir_expr *sum = ir_cast(m, (ir_expr *)wish, ir_scalar(m, DT_I64), wish->span);
    return amount_of(d, pool ? ir_binary(m, IR_OP_ADD, sum, ir_int(m, DT_I64, pool), wish->span) : sum);
}

static json_t *kernel(pl_unit *u, const cu_kernel_info *info)
{
    const ir_func *f = info->func;
    describer d = {.unit = u, .kernel = info, .names = name_parameters(u, f)};
    json_t *object = json_object(), *parameters = json_array();
    for (size_t i = 0; i < f->params.len; i++)
        json_array_append_new(parameters, parameter(&d, i));
    json_object_set_new(object, "name", json_string(info->symbol));
    json_object_set_new(object, "title", text_of(f->title ? f->title : f->name));
    json_object_set_new(object, "doc", text_of(f->doc));
    json_object_set_new(object, "parameters", parameters);
    json_object_set_new(object, "grid", dims_of(&d, f->grid));
    json_object_set_new(object, "block", dims_of(&d, f->block));
    json_object_set_new(object, "cluster", dims_of(&d, f->cluster));
    json_object_set_new(object, "min_blocks", info->min_blocks ? json_integer(info->min_blocks) : json_null());
    json_object_set_new(object, "static_shared_bytes", json_integer(info->static_smem_bytes));
    json_object_set_new(object, "dynamic_shared_bytes", dynamic_bytes(&d));
    return object;
}

str pl_interface(pl_unit *u)
{
    json_t *document = json_object(), *kernels = json_array();
    for (size_t i = 0; i < u->kernels.len; i++) {
        if (u->kernels.at[i].func->is_public)
            json_array_append_new(kernels, kernel(u, &u->kernels.at[i]));
    }
    json_object_set_new(document, "compiler", json_string("hdsc " HDS_VERSION));
    json_object_set_new(document, "arch", json_string(u->arch->name));
    json_object_set_new(document, "source", text_of(u->input_name));
    json_object_set_new(document, "kernels", kernels);
    size_t flags = JSON_INDENT(2), len = json_dumpb(document, NULL, 0, flags);
    char *text = arena_alloc(&u->memory, len + 1);
    json_dumpb(document, text, len, flags);
    text[len] = '\n';
    json_decref(document);
    return (str){text, len + 1};
}
