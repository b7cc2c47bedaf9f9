// Graphs as drawings for Graphviz. Labels are in its HTML-like form, whose text is escaped as in XML.
#include "graph/graph.h"

#include <inttypes.h>
#include <string.h>

// What a box or a tensor is drawn as.
typedef struct style {
    const char *name, *shape, *fill, *border;
} style;

enum { LOOK_VIEW = FG_VIEW, LOOK_INPUT, LOOK_WEIGHT, LOOK_PREPARED, LOOK_OUTPUT, LOOK_COUNT };

static const style styles[LOOK_COUNT] = {
    [FG_ELEMENTWISE] = {"elementwise", "box", "#dbeafe", "#3b82f6"},
    [FG_REDUCTION] = {"reduction", "box", "#ffedd5", "#f97316"},
    [FG_KERNELS] = {"own kernels", "box", "#f3e8ff", "#a855f7"},
    [FG_EPILOGUE] = {"product", "box", "#ffe4e6", "#f43f5e"},
    [LOOK_VIEW] = {"view", "box", "#f3f4f6", "#9ca3af"},
    [LOOK_INPUT] = {"input", "ellipse", "#dcfce7", "#16a34a"},
    [LOOK_WEIGHT] = {"weight", "cylinder", "#fef9c3", "#ca8a04"},
    [LOOK_PREPARED] = {"prepared at load", "note", "#ede0d4", "#9c6644"},
    [LOOK_OUTPUT] = {"output", "ellipse", "#ccfbf1", "#0d9488"},
};

typedef struct drawing {
    str_buf *out;
    const fg_graph *g;
    const char *prefix; // of names in the drawing
    bool *is_launched;  // of each group: drawn as a cluster
    const char *indent;
} drawing;

const char *fg_bytes_text(arena *a, int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    int unit = 0;
    int64_t whole = bytes, rest = 0;
    if (bytes < 0)
        return "open";
    for (; whole >= 1024; unit++) {
        rest = whole % 1024;
        whole /= 1024;
    }
    int64_t tenths = rest * 10 / 1024;
    return whole < 100 && tenths ? arena_printf(a, "%" PRId64 ".%" PRId64 " %s", whole, tenths, units[unit])
                                 : arena_printf(a, "%" PRId64 " %s", whole, units[unit]);
}

int64_t fg_sum_bytes(const fg_graph *g, const fg_number_list *numbers)
{
    int64_t sum = 0;
    for (size_t i = 0; i < numbers->len; i++) {
        const fg_tensor *t = &g->tensors.at[numbers->at[i]];
        if (fg_is_open(t))
            return -1;
        if (__builtin_add_overflow(sum, t->bytes, &sum))
            return INT64_MAX;
    }
    return sum;
}

const char *fg_drawing_prefix(arena *a, size_t number, size_t count, bool is_load)
{
    return arena_printf(a, "%s%s", count > 1 ? arena_printf(a, "g%zu_", number) : "", is_load ? "l" : "");
}

// An attribute in quotes, where Graphviz knows entities, and backslashes that it reads itself.
static void add_attribute(str_buf *out, const char *text)
{
    str_buf escaped;
    str_buf_init(&escaped, out->arena);
    str_add_xml(&escaped, text);
    str_addc(out, '"');
    for (const char *c = str_text(&escaped); *c; c++) {
        if (*c == '\\')
            str_addc(out, '\\');
        str_addc(out, *c);
    }
    str_addc(out, '"');
}

static void add_small(str_buf *out, const char *text)
{
    str_adds(out, "<br/><font point-size=\"10\" color=\"#4b5563\">");
    str_add_xml(out, text);
    str_adds(out, "</font>");
}

// "f16[64, 784]", and its bytes behind it.
static const char *type_and_bytes(arena *a, const fg_tensor *t)
{
    const char *type = fg_type_text(a, t);
    return fg_is_open(t) ? type : arena_printf(a, "%s · %s", type, fg_bytes_text(a, t->bytes));
}

// ---- tensors ----------------------------------------------------------------------------------------------------

static int look_of_input(const fg_tensor *t)
{
    return t->weight ? LOOK_WEIGHT : t->is_prepared ? LOOK_PREPARED : LOOK_INPUT;
}

static void add_tensor(const drawing *d, char kind, size_t number, const fg_tensor *t, int look)
{
    const style *s = &styles[look];
    const char *name = arena_printf(d->out->arena, "%s%c%zu", d->prefix, kind, number);
    str_addf(d->out, "%s%s [id=\"%s\", shape=%s, fillcolor=\"%s\", color=\"%s\"%s, label=<<b>", d->indent, name, name,
             s->shape, s->fill, s->border, look == LOOK_OUTPUT ? ", peripheries=2" : "");
    str_add_xml(d->out, t->weight ? t->weight : t->name);
    str_adds(d->out, "</b>");
    add_small(d->out, fg_type_text(d->out->arena, t));
    if (!fg_is_open(t))
        add_small(d->out, fg_bytes_text(d->out->arena, t->bytes));
    str_adds(d->out, ">, tooltip=");
    add_attribute(d->out, arena_printf(d->out->arena, "%s %s: %s", s->name, t->name, type_and_bytes(d->out->arena, t)));
    str_adds(d->out, "];\n");
}

static void add_inputs(const drawing *d)
{
    for (size_t i = 0; i < d->g->inputs.len; i++) {
        const fg_tensor *t = &d->g->tensors.at[d->g->inputs.at[i]];
        add_tensor(d, 't', (size_t)t->number, t, look_of_input(t));
    }
}

// What is prepared is drawn in the graph that reads it.
static void add_outputs(const drawing *d)
{
    for (size_t i = 0; i < d->g->outputs.len; i++) {
        const fg_tensor *t = &d->g->tensors.at[d->g->outputs.at[i]];
        if (t->is_prepared)
            continue;
        add_tensor(d, 'o', i, t, LOOK_OUTPUT);
        str_addf(d->out, "%s%sn%d -> %so%zu;\n", d->indent, d->prefix, t->maker, d->prefix, i);
    }
}

// ---- nodes ------------------------------------------------------------------------------------------------------

// "axis=-1, 0.25": the arguments that are no tensors; long ones are in the tooltip only.
static const char *options_of(arena *a, const fg_node *n)
{
    enum { MOST = 36 };
    str_buf out;
    str_buf_init(&out, a);
    for (size_t k = 0; k < n->arguments.len; k++) {
        const fg_argument *x = &n->arguments.at[k];
        if (x->tensor >= 0)
            continue;
        size_t len = strlen(x->value) + (x->name ? strlen(x->name) : 0);
        if (out.len + len > MOST) {
            str_adds(&out, out.len ? ", …" : "…");
            break;
        }
        str_addf(&out, "%s%s%s%s", out.len ? ", " : "", x->name ? x->name : "", x->name ? "=" : "", x->value);
    }
    return str_text(&out);
}

static void add_node(const drawing *d, const fg_node *n)
{
    arena *a = d->out->arena;
    const style *s = &styles[n->kind];
    const char *options = options_of(a, n), *name = arena_printf(a, "%sn%d", d->prefix, n->number);
    str_addf(d->out, "%s  %s [id=\"%s\", style=\"filled,rounded%s\", fillcolor=\"%s\", color=\"%s\", label=<<b>",
             d->indent, name, name, n->kind == FG_VIEW ? ",dashed" : "", s->fill, s->border);
    str_add_xml(d->out, n->op);
    str_adds(d->out, "</b>");
    if (*options)
        add_small(d->out, options);
    add_small(d->out, arena_printf(a, "line %d", n->line));
    str_buf call;
    str_buf_init(&call, a);
    str_addf(&call, "%s = ", d->g->tensors.at[n->outputs.at[0]].name);
    fg_print_call(&call, d->g, n, NULL);
    str_adds(d->out, ">, tooltip=");
    add_attribute(d->out, str_text(&call));
    str_adds(d->out, "];\n");
}

static void add_nodes(const drawing *d, int group)
{
    for (size_t i = 0; i < d->g->nodes.len; i++)
        if (!d->g->nodes.at[i].is_dropped && d->g->nodes.at[i].group == group)
            add_node(d, &d->g->nodes.at[i]);
}

// The name is a node, since edges go around nodes, and not around labels of clusters.
static void add_launch(const drawing *d, const fg_launch *l)
{
    static const char text_cell[] = "<tr><td align=\"left\"><font point-size=\"10\" color=\"#4b5563\">";
    arena *a = d->out->arena;
    const char *name = arena_printf(a, "%sk%d", d->prefix, l->group);
    str_addf(
        d->out,
        "%ssubgraph cluster_%s {\n%s  id=\"%s\"; style=\"filled,rounded\"; fillcolor=\"#f8fafc\"; color=\"#94a3b8\";",
        d->indent, name, d->indent, name);
    str_addf(d->out, " margin=10; label=\"\"; tooltip=\"kernel %d\";\n", l->group + 1);
    str_addf(d->out, "%s  %s [shape=plain, style=\"\", label=<<table border=\"0\" cellspacing=\"0\" cellpadding=\"1\">",
             d->indent, name);
    str_adds(d->out, "<tr><td align=\"left\"><font point-size=\"12\"><b>");
    str_add_xml(d->out, l->name);
    str_addf(d->out, "</b></font></td></tr>%sreads %s</font></td></tr>", text_cell,
             fg_bytes_text(a, fg_sum_bytes(d->g, &l->inputs)));
    str_addf(d->out, "%swrites %s</font></td></tr>", text_cell, fg_bytes_text(a, fg_sum_bytes(d->g, &l->outputs)));
    if (l->note) {
        str_adds(d->out, "<tr><td align=\"left\"><font point-size=\"11\" color=\"#b45309\"><b>");
        str_add_xml(d->out, l->note);
        str_adds(d->out, "</b></font></td></tr>");
    }
    str_adds(d->out, "</table>>];\n");
    add_nodes(d, l->group);
    str_addf(d->out, "%s}\n", d->indent);
}

// What is in memory has its bytes; what stays inside a kernel, and what a view is of, is thin.
static void add_edge(const drawing *d, const fg_node *n, const fg_tensor *t)
{
    const fg_node *maker = t->maker < 0 ? NULL : &d->g->nodes.at[t->maker];
    bool is_memory = (!maker || maker->group != n->group) && d->is_launched[n->group];
    str_addf(d->out, "%s%s%c%d -> %sn%d [", d->indent, d->prefix, maker ? 'n' : 't', maker ? t->maker : t->number,
             d->prefix, n->number);
    if (maker) {
        str_adds(d->out, "label=<&#160;");
        str_add_xml(d->out, fg_type_text(d->out->arena, t));
        if (is_memory && !fg_is_open(t))
            add_small(d->out, fg_bytes_text(d->out->arena, t->bytes));
        str_adds(d->out, ">, ");
    }
    str_addf(d->out, "%s, tooltip=", is_memory ? "color=\"#334155\"" : "style=dashed, color=\"#94a3b8\"");
    add_attribute(d->out, arena_printf(d->out->arena, "%s: %s", t->name, type_and_bytes(d->out->arena, t)));
    str_adds(d->out, "];\n");
}

static void add_edges(const drawing *d)
{
    for (size_t i = 0; i < d->g->nodes.len; i++) {
        const fg_node *n = &d->g->nodes.at[i];
        for (size_t k = 0; k < n->arguments.len && !n->is_dropped; k++)
            if (n->arguments.at[k].tensor >= 0)
                add_edge(d, n, &d->g->tensors.at[n->arguments.at[k].tensor]);
    }
}

// ---- graphs -----------------------------------------------------------------------------------------------------

static void add_graph(str_buf *out, const fg_graph *g, const char *prefix)
{
    drawing d = {out, g, prefix, ARENA_ARRAY(out->arena, bool, (size_t)g->group_count + 1), "    "};
    for (size_t i = 0; i < g->launches.len; i++)
        d.is_launched[g->launches.at[i].group] = true;
    add_inputs(&d);
    for (size_t i = 0; i < g->launches.len; i++)
        add_launch(&d, &g->launches.at[i]);
    for (int k = 0; k < g->group_count; k++)
        if (!d.is_launched[k])
            add_nodes(&d, k);
    add_edges(&d);
    add_outputs(&d);
}

// From what runs at load to what each run reads of it.
static void add_prepared(str_buf *out, const fg_graph *g, const char *prefix, const char *load)
{
    size_t count = 0;
    for (size_t i = 0; i < g->inputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->inputs.at[i]];
        if (!t->is_prepared)
            continue;
        int made = g->load->outputs.at[count++];
        str_addf(out, "    %sn%d -> %st%d;\n", load, g->load->tensors.at[made].maker, prefix, t->number);
    }
}

static void find_looks(const fg_graph *g, bool *found)
{
    for (size_t i = 0; i < g->nodes.len; i++)
        if (!g->nodes.at[i].is_dropped)
            found[g->nodes.at[i].kind] = true;
    for (size_t i = 0; i < g->inputs.len; i++)
        found[look_of_input(&g->tensors.at[g->inputs.at[i]])] = true;
    found[LOOK_OUTPUT] = true;
    if (g->load)
        find_looks(g->load, found);
}

// The title, and what the colours mean, as far as they occur.
static void add_title(str_buf *out, fg_graph *const *graphs, size_t count)
{
    bool found[LOOK_COUNT] = {0};
    size_t launches = 0;
    str_adds(out, "  labelloc=t;\n  label=<<table border=\"0\" cellspacing=\"5\"><tr><td colspan=\"9\"><font "
                  "point-size=\"18\"><b>");
    for (size_t i = 0; i < count; i++) {
        str_adds(out, i ? ", " : "");
        str_add_xml(out, graphs[i]->name);
        launches += graphs[i]->launches.len;
        find_looks(graphs[i], found);
    }
    str_addf(out, "</b></font> <font color=\"#4b5563\">%zu kernel%s</font></td></tr>\n    <tr>", launches,
             launches == 1 ? "" : "s");
    for (int k = 0; k < LOOK_COUNT; k++)
        if (found[k])
            str_addf(out, "<td bgcolor=\"%s\"><font point-size=\"10\">%s</font></td>", styles[k].fill, styles[k].name);
    str_adds(out, "</tr></table>>;\n");
}

// [label]: NULL, or what stands at the cluster of the whole graph.
static void add_whole(str_buf *out, const fg_graph *g, const char *label, const char *prefix, const char *load)
{
    if (label) {
        str_addf(out, "  subgraph cluster_%swhole {\n    style=rounded; color=\"#64748b\"; label=", prefix);
        add_attribute(out, label);
        str_adds(out, ";\n");
    }
    add_graph(out, g, prefix);
    if (g->load) {
        str_addf(
            out,
            "  subgraph cluster_%sload {\n    label=\"once, at load\"; style=\"rounded,dashed\"; color=\"#9c6644\";\n",
            prefix);
        add_graph(out, g->load, load);
        str_adds(out, "  }\n");
        add_prepared(out, g, prefix, load);
    }
    str_adds(out, label ? "  }\n" : "");
}

str fg_print_dot(arena *a, fg_graph *const *graphs, size_t count)
{
    str_buf out;
    str_buf_init(&out, a);
    str_adds(&out, "digraph ");
    add_attribute(&out, count == 1 ? graphs[0]->name : "models");
    str_adds(&out,
             " {\n  fontname=\"Helvetica,Arial,sans-serif\"; fontsize=12; nodesep=0.3; ranksep=0.45; bgcolor=white; "
             "pad=0.2;\n"
             "  node [fontname=\"Helvetica,Arial,sans-serif\", fontsize=13, shape=box, style=filled, "
             "margin=\"0.14,0.06\"];\n"
             "  edge [fontname=\"Helvetica,Arial,sans-serif\", fontsize=10, arrowsize=0.7, color=\"#334155\"];\n");
    add_title(&out, graphs, count);
    for (size_t i = 0; i < count; i++)
        add_whole(&out, graphs[i], count > 1 ? graphs[i]->name : NULL, fg_drawing_prefix(a, i, count, false),
                  fg_drawing_prefix(a, i, count, true));
    str_adds(&out, "}\n");
    return (str){out.at, out.len};
}
