// Graphs as modules for tests: the function _outputs around a graph's program, and the same by the references of its operators.
#include "graph/graph.h"

#include <string.h>

// "[B: int](x: f16[B, 784]):" of the inputs that a run is given.
static void add_head(arena *a, str_buf *out, const fg_graph *g)
{
    str_buf inputs;
    str_buf_init(&inputs, a);
    for (size_t i = 0; i < g->inputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->inputs.at[i]];
        if (!t->weight && !t->is_prepared)
            str_addf(&inputs, "%s%s: %s", inputs.len ? ", " : "", t->name, fg_type_text(a, t));
    }
    str_addf(out, "\n\ndef _outputs%s(%s):\n", fg_size_parameters(g, str_text(&inputs)), str_text(&inputs));
}

typedef VEC(const char *) name_list;

// A line for each weight that a graph reads, but for those that [known] has.
static void add_weights(arena *a, str_buf *out, const fg_graph *g, name_list *known)
{
    for (size_t i = 0; i < g->inputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->inputs.at[i]];
        bool is_known = !t->weight;
        for (size_t k = 0; k < known->len; k++)
            is_known |= strcmp(known->at[k], t->name) == 0;
        if (is_known)
            continue;
        VEC_PUSH(a, known, t->name);
        str_addf(out, "    %s = test_weight(", t->name);
        fg_print_quoted(out, t->weight_file);
        str_adds(out, ", ");
        fg_print_quoted(out, t->weight);
        str_addf(out, ", %s)\n", fg_type_text(a, t));
    }
}

// "    t = tensor(f16, [B, 16])" for each output.
static void add_outputs(arena *a, str_buf *out, const fg_graph *g, const char *tensor)
{
    for (size_t i = 0; i < g->outputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->outputs.at[i]];
        str_addf(out, "    %s = %s(%s, [", t->name, tensor, t->dtype);
        for (int d = 0; d < t->rank; d++)
            str_addf(out, "%s%s", d ? ", " : "", fg_extent_text(a, t, d));
        str_adds(out, "])\n");
    }
}

static void add_call(str_buf *out, const fg_graph *g, const char *function)
{
    const fg_number_list *const both[] = {&g->inputs, &g->outputs};
    int count = 0;
    str_addf(out, "    %s(", function);
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < both[k]->len; i++)
            str_addf(out, "%s%s", count++ ? ", " : "", g->tensors.at[both[k]->at[i]].name);
    str_adds(out, ")\n");
}

static void add_return(str_buf *out, const fg_graph *g)
{
    str_adds(out, "    return (");
    for (size_t i = 0; i < g->outputs.len; i++)
        str_addf(out, "%s, ", g->tensors.at[g->outputs.at[i]].name);
    str_adds(out, ")\n");
}

str fg_lower_for_test(arena *a, fg_graph *g)
{
    str program = fg_lower_called(a, g);
    const char *tensor = fg_name_in_text(g, "tensor");
    name_list weights = {0};
    str_buf out;
    str_buf_init(&out, a);
    str_adds(&out, "from hidet.lang import test_weight\n");
    str_add(&out, program);
    str_addf(&out, "\n\n_run = %s\n", g->name);
    if (g->load)
        str_addf(&out, "_load = %s\n", g->load->name);
    add_head(a, &out, g);
    if (g->load)
        add_weights(a, &out, g->load, &weights);
    add_weights(a, &out, g, &weights);
    if (g->load) {
        add_outputs(a, &out, g->load, tensor);
        add_call(&out, g->load, "_load");
    }
    add_outputs(a, &out, g, tensor);
    add_call(&out, g, "_run");
    add_return(&out, g);
    return (str){out.at, out.len};
}

str fg_print_reference(arena *a, const fg_graph *g)
{
    name_list weights = {0};
    str_buf out;
    str_buf_init(&out, a);
    fg_print_imports(&out, g, "test_weight");
    add_head(a, &out, g);
    add_weights(a, &out, g, &weights);
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        if (n->is_dropped)
            continue;
        str_adds(&out, "    ");
        for (size_t k = 0; k < n->outputs.len; k++)
            str_addf(&out, "%s%s", k ? ", " : "", g->tensors.at[n->outputs.at[k]].name);
        str_adds(&out, " = ");
        fg_print_method(&out, g, n, "reference", NULL);
        str_addf(&out, "  # line %d\n", n->line);
    }
    add_return(&out, g);
    return (str){out.at, out.len};
}
