// Nodes as calls, attributes as values of the language, inner graphs as nested functions.
#include "onnx/model.h"

#include <inttypes.h>
#include <string.h>

// ---- values ---------------------------------------------------------------------------------------------------------------------

// Where values of a tensor are needed while compiling they are known if they are few: "constant(W, "axes", [0, 1])".
static const char *tensor_text(onnx_printer *p, const Onnx__Tensor *t)
{
    str_buf out;
    const char *values = onnx_values(p->m, t);
    p->has_weights = true;
    str_buf_init(&out, p->m->memory);
    str_adds(&out, values ? "constant(W, " : "W[");
    onnx_add_quoted(&out, p->m->memory, onnx_weight_name(p->m, t));
    if (values)
        str_addf(&out, ", %s)", values);
    else
        str_addc(&out, ']');
    return str_text(&out);
}

void onnx_bind_constants(onnx_printer *p, onnx_namer *names, const Onnx__Graph *g)
{
    for (size_t i = 0; i < g->n_initializer; i++)
        onnx_bind(names, g->initializer[i]->name, tensor_text(p, g->initializer[i]));
}

static void add_bytes(onnx_printer *p, str_buf *out, const ProtobufCBinaryData *s)
{
    onnx_add_quoted(out, p->m->memory, arena_strndup(p->m->memory, (const char *)s->data, s->len));
}

static void add_list(onnx_printer *p, str_buf *out, const Onnx__Attribute *a)
{
    size_t count = a->n_ints + a->n_floats + a->n_strings + a->n_tensors;
    str_addc(out, '[');
    for (size_t i = 0; i < count; i++) {
        str_adds(out, i ? ", " : "");
        if (i < a->n_ints)
            str_addf(out, "%" PRId64, a->ints[i]);
        else if (i < a->n_floats)
            onnx_add_float(out, a->floats[i]);
        else if (i < a->n_strings)
            add_bytes(p, out, &a->strings[i]);
        else if (i < a->n_tensors)
            str_adds(out, tensor_text(p, a->tensors[i]));
    }
    str_addc(out, ']');
}

// What an attribute is, by its type; files that are older than types have the one member that is set.
void onnx_add_attribute(onnx_printer *p, str_buf *out, const Onnx__Attribute *a, const char *inner)
{
    enum { FLOAT = 1, INT, STRING, TENSOR, GRAPH };
    if (a->ref_attr_name && *a->ref_attr_name)
        str_adds(out, onnx_clean(p->m->memory, a->ref_attr_name));
    else if (inner)
        str_adds(out, inner);
    else if (a->t)
        str_adds(out, tensor_text(p, a->t));
    else if (a->type == FLOAT || (!a->type && a->has_f))
        onnx_add_float(out, a->f);
    else if (a->type == INT || (!a->type && a->has_i))
        str_addf(out, "%" PRId64, a->i);
    else if (a->type == STRING || (!a->type && a->has_s))
        add_bytes(p, out, &a->s);
    else
        add_list(p, out, a);
}

// ---- inner graphs ---------------------------------------------------------------------------------------------------------------

static void print_inner(onnx_printer *p, const onnx_namer *outer, const Onnx__Graph *g, const char *name)
{
    onnx_namer names;
    onnx_namer_init(&names, p->m->memory, outer);
    onnx_start_line(p);
    str_addf(p->out, "def %s(", name);
    for (size_t i = 0; i < g->n_input; i++)
        str_addf(p->out, "%s%s", i ? ", " : "", onnx_new_name(&names, g->input[i]->name));
    str_adds(p->out, "):\n");
    p->indent++;
    onnx_bind_constants(p, &names, g);
    onnx_print_nodes(p, &names, g->node, g->n_node);
    onnx_print_return(p, &names, g);
    p->indent--;
}

// ---- nodes ----------------------------------------------------------------------------------------------------------------------

static size_t count_outputs(const Onnx__Node *n)
{
    size_t count = n->n_output;
    while (count && !*n->output[count - 1])
        count--;
    return count;
}

static void add_operands(onnx_printer *p, str_buf *out, onnx_namer *names, const Onnx__Node *n)
{
    size_t count = n->n_input;
    (void)p;
    while (count && !*n->input[count - 1])
        count--;
    for (size_t i = 0; i < count; i++)
        str_addf(out, "%s%s", i ? ", " : "", *n->input[i] ? onnx_name(names, n->input[i]) : "None");
    str_adds(out, count && n->n_attribute ? ", " : "");
}

static void print_node(onnx_printer *p, onnx_namer *names, const Onnx__Node *n)
{
    str_buf call;
    str_buf_init(&call, p->m->memory);
    add_operands(p, &call, names, n);
    for (size_t i = 0; i < n->n_attribute; i++) {
        const Onnx__Attribute *a = n->attribute[i];
        const char *inner = a->g ? onnx_new_name(names, a->name) : NULL;
        if (inner)
            print_inner(p, names, a->g, inner);
        str_addf(&call, "%s%s=", i ? ", " : "", a->name);
        onnx_add_attribute(p, &call, a, inner);
    }
    size_t outputs = count_outputs(n);
    if (outputs > 1)
        str_addf(&call, "%soutputs=%zu", call.len ? ", " : "", outputs);
    onnx_start_line(p);
    for (size_t i = 0; i < outputs; i++)
        str_addf(p->out, "%s%s", i ? ", " : "", onnx_new_name(names, *n->output[i] ? n->output[i] : "unused"));
    str_adds(p->out, outputs ? " = " : "");
    str_addf(p->out, "%s(%s)", onnx_function_of(p, n), call.len ? str_text(&call) : "");
    const char *name = onnx_clean(p->m->memory, n->name);
    str_addf(p->out, "%s%s\n", *name ? "  # " : "", name);
}

void onnx_print_nodes(onnx_printer *p, onnx_namer *names, Onnx__Node *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        print_node(p, names, nodes[i]);
}
