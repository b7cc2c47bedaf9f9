// Graphs as text: the graph function, and a drawing.
#include "graph/graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

fg_number_list fg_readers(arena *a, const fg_graph *g, int tensor)
{
    fg_number_list found = {0};
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        for (size_t k = 0; k < n->arguments.len && !n->is_dropped; k++) {
            if (n->arguments.at[k].tensor == tensor) {
                VEC_PUSH(a, &found, (int)i);
                break;
            }
        }
    }
    return found;
}

const char *fg_type_text(arena *a, const fg_tensor *t)
{
    str_buf out;
    str_buf_init(&out, a);
    str_addf(&out, "%s[", t->dtype);
    for (int d = 0; d < t->rank; d++)
        str_addf(&out, "%s%" PRId64, d ? ", " : "", t->shape[d]);
    str_adds(&out, t->rank ? "]" : "()]");
    return str_text(&out);
}

void fg_print_call(str_buf *out, const fg_graph *g, const fg_node *n, const char *const *names)
{
    str_addf(out, "%s(", n->op);
    for (size_t k = 0; k < n->arguments.len; k++) {
        const fg_argument *x = &n->arguments.at[k];
        if (k)
            str_adds(out, ", ");
        if (x->name)
            str_addf(out, "%s=", x->name);
        if (x->tensor < 0)
            str_adds(out, x->value);
        else
            str_adds(out, names && names[x->tensor] ? names[x->tensor] : g->tensors.at[x->tensor].name);
    }
    str_addc(out, ')');
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_types(str_buf *out, const fg_graph *g, const char *more)
{
    const char **types = ARENA_ARRAY(g->memory, const char *, g->tensors.len + 1);
    size_t count = 0;
    for (size_t i = 0; i < g->tensors.len; i++)
        types[count++] = g->tensors.at[i].dtype;
    qsort(types, count, sizeof *types, compare_texts);
    str_addf(out, "from hidet.lang import %s", more);
    for (size_t i = 0; i < count; i++)
        if (!i || strcmp(types[i], types[i - 1]) != 0)
            str_addf(out, "%s%s", i || *more ? ", " : "", types[i]);
    str_addc(out, '\n');
}

// Modules and names are in order, each once.
void fg_print_imports(str_buf *out, const fg_graph *g, const char *more)
{
    const char **pairs = ARENA_ARRAY(g->memory, const char *, g->nodes.len + 1);
    size_t count = 0;
    for (size_t i = 0; i < g->nodes.len; i++)
        if (!g->nodes.at[i].is_dropped)
            pairs[count++] = arena_printf(g->memory, "%s\n%s", g->nodes.at[i].module, g->nodes.at[i].op);
    qsort(pairs, count, sizeof *pairs, compare_texts);
    for (size_t i = 0; i < count; i++) {
        if (i && strcmp(pairs[i], pairs[i - 1]) == 0)
            continue;
        size_t len = strcspn(pairs[i], "\n");
        bool goes_on = i && strncmp(pairs[i], pairs[i - 1], len + 1) == 0;
        if (!goes_on)
            str_addf(out, "%sfrom %.*s import ", i ? "\n" : "", (int)len, pairs[i]);
        str_addf(out, "%s%s", goes_on ? ", " : "", pairs[i] + len + 1);
    }
    str_adds(out, count ? "\n" : "");
    add_types(out, g, more);
}

static void add_outputs(str_buf *out, const fg_graph *g, const fg_number_list *numbers)
{
    for (size_t k = 0; k < numbers->len; k++)
        str_addf(out, "%s%s", k ? ", " : "", g->tensors.at[numbers->at[k]].name);
}

str fg_print(const fg_graph *g)
{
    str_buf out;
    str_buf_init(&out, g->memory);
    fg_print_imports(&out, g, "");
    str_addf(&out, "\n\n@hidet.graph\ndef %s(", g->name);
    for (size_t i = 0; i < g->inputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->inputs.at[i]];
        str_addf(&out, "%s%s: %s", i ? ", " : "", t->name, fg_type_text(g->memory, t));
    }
    str_adds(&out, "):\n");
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        if (n->is_dropped)
            continue;
        str_adds(&out, "    ");
        add_outputs(&out, g, &n->outputs);
        str_adds(&out, " = ");
        fg_print_call(&out, g, n, NULL);
        str_addf(&out, "  # %s, line %d\n", fg_type_text(g->memory, &g->tensors.at[n->outputs.at[0]]), n->line);
    }
    str_adds(&out, "    return ");
    add_outputs(&out, g, &g->outputs);
    str_addc(&out, '\n');
    return (str){out.at, out.len};
}

static void add_dot_nodes(str_buf *out, const fg_graph *g, int group)
{
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        if (!n->is_dropped && n->group == group)
            str_addf(out, "    n%zu [label=\"%s\\nline %d\"];\n", i, n->op, n->line);
    }
}

static void add_dot_edges(str_buf *out, const fg_graph *g)
{
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        for (size_t k = 0; k < n->arguments.len && !n->is_dropped; k++) {
            int t = n->arguments.at[k].tensor;
            if (t < 0)
                continue;
            const fg_tensor *x = &g->tensors.at[t];
            const char *from = x->maker < 0 ? arena_printf(g->memory, "t%d", t) : arena_printf(g->memory, "n%d", x->maker);
            str_addf(out, "  %s -> n%zu [label=\"%s\"];\n", from, i, x->maker < 0 ? "" : fg_type_text(g->memory, x));
        }
    }
}

str fg_print_dot(const fg_graph *g)
{
    str_buf out;
    str_buf_init(&out, g->memory);
    str_addf(&out, "digraph \"%s\" {\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n",
             g->name);
    for (size_t i = 0; i < g->inputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->inputs.at[i]];
        str_addf(&out, "  t%d [label=\"%s\\n%s\", shape=ellipse];\n", t->number, t->name, fg_type_text(g->memory, t));
    }
    for (int k = 0; k < g->group_count; k++) {
        str_addf(&out, "  subgraph cluster_%d {\n", k);
        add_dot_nodes(&out, g, k);
        str_adds(&out, "  }\n");
    }
    if (!g->group_count)
        add_dot_nodes(&out, g, -1);
    add_dot_edges(&out, g);
    str_adds(&out, "}\n");
    return (str){out.at, out.len};
}
