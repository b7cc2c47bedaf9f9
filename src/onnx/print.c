// The graph function that a model is.
#include "onnx/model.h"

#include <inttypes.h>
#include <string.h>

void onnx_start_line(onnx_printer *p)
{
    for (int i = 0; i < p->indent; i++)
        str_adds(p->out, "    ");
}

void onnx_add_quoted(str_buf *out, arena *a, const char *text)
{
    str_addc(out, '"');
    for (const char *c = onnx_clean(a, text); *c; c++) {
        if (*c == '"' || *c == '\\')
            str_addc(out, '\\');
        str_addc(out, *c);
    }
    str_addc(out, '"');
}

// ---- operators ------------------------------------------------------------------------------------------------------------------

// "" and "ai.onnx" are one domain.
static const char *domain_of(const char *domain)
{
    return !domain || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

static int64_t version_of(const onnx_printer *p, const char *domain)
{
    for (size_t i = 0; i < p->set_count; i++)
        if (strcmp(domain_of(p->sets[i]->domain), domain) == 0)
            return p->sets[i]->version;
    return 1;
}

const char *onnx_operator_key(onnx_printer *p, const Onnx__Node *n)
{
    const char *domain = domain_of(n->domain), *key = arena_printf(p->m->memory, "%s\n%s", domain, n->op_type);
    if (map_get(&p->functions, key, strlen(key)))
        return key;
    return arena_printf(p->m->memory, "%s\n%s\n%" PRId64, domain, n->op_type, version_of(p, domain));
}

const char *onnx_function_of(onnx_printer *p, const Onnx__Node *n)
{
    return onnx_name(&p->names, onnx_operator_key(p, n));
}

// "Conv = onnx_operator("Conv", 17)", once for each.
static void find_operators(onnx_printer *p, Onnx__Node *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const Onnx__Node *n = nodes[i];
        const char *key = onnx_operator_key(p, n), *domain = domain_of(n->domain);
        if (!map_get(&p->names.by_text, key, strlen(key))) {
            const char *name = onnx_new_name(&p->names, n->op_type);
            onnx_bind(&p->names, key, name);
            str_buf line;
            str_buf_init(&line, p->m->memory);
            str_addf(&line, "%s = onnx_operator(\"%s\", %" PRId64, name, n->op_type, version_of(p, domain));
            if (*domain) {
                str_adds(&line, ", ");
                onnx_add_quoted(&line, p->m->memory, domain);
            }
            str_adds(&line, ")\n");
            VEC_PUSH(p->m->memory, &p->lines, str_text(&line));
        }
        for (size_t k = 0; k < n->n_attribute; k++)
            if (n->attribute[k]->g)
                find_operators(p, n->attribute[k]->g->node, n->attribute[k]->g->n_node);
    }
}

// ---- parameters -----------------------------------------------------------------------------------------------------------------

// "batch" for an open dimension: by its name, and a new one where it has none.
static const char *size_of(onnx_printer *p, onnx_namer *names, const Onnx__Dimension *d, str_buf *sizes)
{
    if (d->has_dim_value && d->dim_value >= 0)
        return arena_printf(p->m->memory, "%" PRId64, d->dim_value);
    bool is_named = d->dim_param && *d->dim_param;
    const char *key = is_named ? arena_printf(p->m->memory, "size\n%s", d->dim_param) : "";
    const char *known = is_named ? map_get(&names->by_text, key, strlen(key)) : NULL;
    if (known)
        return known;
    const char *name = onnx_new_name(names, is_named ? d->dim_param : "n");
    if (is_named)
        onnx_bind(names, key, name);
    str_addf(sizes, "%s%s: int", sizes->len ? ", " : "", name);
    return name;
}

static bool input_failed(onnx_printer *p, const Onnx__ValueInfo *v, const char *why)
{
    return onnx_failed(p->m, arena_printf(p->m->memory, "input '%s': %s", onnx_clean(p->m->memory, v->name), why));
}

static bool add_parameter(onnx_printer *p, onnx_namer *names, const Onnx__ValueInfo *v, str_buf *parameters, str_buf *sizes)
{
    const Onnx__TensorType *t = v->type ? v->type->tensor_type : NULL;
    const onnx_type *type = t ? onnx_type_of(t->elem_type) : NULL;
    if (!t)
        return input_failed(p, v, "it is no tensor, and sequences, maps and optional values are no inputs here");
    if (!type || !type->dtype)
        return input_failed(p, v, arena_printf(p->m->memory, "its elements are %s, which the language does not have",
                                               type ? type->name : "of no type"));
    if (!t->shape)
        return input_failed(p, v, "the file does not say how many axes it has");
    str_addf(parameters, "%s%s: %s[", parameters->len ? ", " : "", onnx_new_name(names, v->name), type->dtype);
    for (size_t i = 0; i < t->shape->n_dim; i++)
        str_addf(parameters, "%s%s", i ? ", " : "", size_of(p, names, t->shape->dim[i], sizes));
    str_adds(parameters, t->shape->n_dim ? "]" : "()]");
    return true;
}

// ---- functions ------------------------------------------------------------------------------------------------------------------

void onnx_print_return(onnx_printer *p, onnx_namer *names, const Onnx__Graph *g)
{
    onnx_start_line(p);
    str_adds(p->out, "return [");
    for (size_t i = 0; i < g->n_output; i++)
        str_addf(p->out, "%s%s", i ? ", " : "", onnx_name(names, g->output[i]->name));
    str_adds(p->out, "]\n");
}

static void print_graph(onnx_printer *p, const Onnx__Graph *g, const char *name)
{
    str_buf parameters, sizes;
    onnx_namer names;
    map initializers;
    str_buf_init(&parameters, p->m->memory);
    str_buf_init(&sizes, p->m->memory);
    onnx_namer_init(&names, p->m->memory, &p->names);
    map_init(&initializers, p->m->memory);
    for (size_t i = 0; i < g->n_initializer; i++)
        map_put(&initializers, g->initializer[i]->name, strlen(g->initializer[i]->name), (void *)g);
    for (size_t i = 0; i < g->n_input; i++)
        if (!map_get(&initializers, g->input[i]->name, strlen(g->input[i]->name)) &&
            !add_parameter(p, &names, g->input[i], &parameters, &sizes))
            return;
    str_addf(p->out, "\n\n@hidet.graph\ndef %s", name);
    if (sizes.len)
        str_addf(p->out, "[%s]", str_text(&sizes));
    str_addf(p->out, "(%s):\n", str_text(&parameters));
    p->indent = 1;
    onnx_bind_constants(p, &names, g);
    onnx_print_nodes(p, &names, g->node, g->n_node);
    str_adds(p->out, "    return results({");
    for (size_t i = 0; i < g->n_output; i++) {
        str_adds(p->out, i ? ", " : "");
        onnx_add_quoted(p->out, p->m->memory, g->output[i]->name);
        str_addf(p->out, ": %s", onnx_name(&names, g->output[i]->name));
    }
    str_adds(p->out, "})\n");
}

// A function of the model: attributes are parameters by name, with what they are where a call leaves them out.
static void print_function(onnx_printer *p, const Onnx__Function *f, const char *name)
{
    onnx_namer names;
    onnx_namer_init(&names, p->m->memory, &p->names);
    str_addf(p->out, "\n\ndef %s(", name);
    for (size_t i = 0; i < f->n_input; i++)
        str_addf(p->out, "%s%s=None", i ? ", " : "", onnx_new_name(&names, f->input[i]));
    str_addf(p->out, "%s*", f->n_input ? ", " : "");
    for (size_t i = 0; i < f->n_attribute; i++) {
        onnx_reserve(&names, f->attribute[i]);
        str_addf(p->out, ", %s=None", f->attribute[i]);
    }
    for (size_t i = 0; i < f->n_attribute_proto; i++) {
        onnx_reserve(&names, f->attribute_proto[i]->name);
        str_addf(p->out, ", %s=", f->attribute_proto[i]->name);
        onnx_add_attribute(p, p->out, f->attribute_proto[i], NULL);
    }
    str_adds(p->out, ", outputs=1):\n");
    p->indent = 1;
    onnx_print_nodes(p, &names, f->node, f->n_node);
    str_adds(p->out, "    return ");
    for (size_t i = 0; i < f->n_output; i++)
        str_addf(p->out, "%s%s", i ? ", " : "", onnx_name(&names, f->output[i]));
    str_adds(p->out, f->n_output ? "\n" : "None\n");
}

static void name_functions(onnx_printer *p)
{
    const Onnx__Model *model = p->m->proto;
    map_init(&p->functions, p->m->memory);
    for (size_t i = 0; i < model->n_functions; i++) {
        const Onnx__Function *f = model->functions[i];
        const char *key = arena_printf(p->m->memory, "%s\n%s", domain_of(f->domain), f->name);
        map_put(&p->functions, key, strlen(key), (void *)f);
        onnx_bind(&p->names, key, onnx_new_name(&p->names, f->name));
    }
}

static void use_sets(onnx_printer *p, Onnx__OperatorSet *const *sets, size_t count)
{
    p->sets = sets;
    p->set_count = count;
}

static void print_all(onnx_printer *p)
{
    const Onnx__Model *model = p->m->proto;
    name_functions(p);
    for (size_t i = 0; i < model->n_functions; i++) {
        use_sets(p, model->functions[i]->opset_import, model->functions[i]->n_opset_import);
        find_operators(p, model->functions[i]->node, model->functions[i]->n_node);
    }
    use_sets(p, model->opset_import, model->n_opset_import);
    find_operators(p, model->graph->node, model->graph->n_node);
    const char *name = onnx_new_name(&p->names, model->graph->name && *model->graph->name ? model->graph->name : "model");
    for (size_t i = 0; i < model->n_functions; i++) {
        const Onnx__Function *f = model->functions[i];
        use_sets(p, f->opset_import, f->n_opset_import);
        print_function(p, f, onnx_name(&p->names, arena_printf(p->m->memory, "%s\n%s", domain_of(f->domain), f->name)));
    }
    use_sets(p, model->opset_import, model->n_opset_import);
    print_graph(p, model->graph, name);
}

str onnx_print(onnx_model *m, const char *weights, const char **error)
{
    str_buf body, out;
    str_buf_init(&body, m->memory);
    str_buf_init(&out, m->memory);
    onnx_printer p = {.m = m, .out = &body};
    onnx_namer_init(&p.names, m->memory, NULL);
    print_all(&p);
    *error = m->error;
    str_addf(&out, "from hidet.lang import weights\nfrom onnx.operators import constant, onnx_operator, results\n");
    if (p.has_weights) {
        str_adds(&out, "\nW = weights(");
        onnx_add_quoted(&out, m->memory, weights);
        str_adds(&out, ")\n");
    }
    str_adds(&out, p.lines.len ? "\n" : "");
    for (size_t i = 0; i < p.lines.len; i++)
        str_adds(&out, p.lines.at[i]);
    str_add(&out, (str){body.at, body.len});
    return (str){str_text(&out), out.len};
}
