// Graphs as JSON: what fg_read_json reads, and stdlib/language/graph.hds writes.
#include "graph/graph.h"

#include <inttypes.h>

const char *fg_kind_name(fg_kind kind)
{
    static const char *const names[] = {"elementwise", "reduction", "kernels", "epilogue", "view"};
    return names[kind];
}

const char *fg_numerics_name(fg_numerics n)
{
    static const char *const names[] = {"", "product", "wide", "bits"};
    return names[n];
}

// JSON is UTF-8; only quotes, backslashes and control characters are written otherwise.
static void add_text(str_buf *out, const char *text)
{
    str_addc(out, '"');
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            str_addc(out, '\\');
        if ((unsigned char)*c < 0x20)
            str_addf(out, "\\u%04x", (unsigned)(unsigned char)*c);
        else
            str_addc(out, *c);
    }
    str_addc(out, '"');
}

// The numbers that tensors have in the text; -1: no input, and no node that is left makes it.
static int *number_tensors(const fg_graph *g)
{
    int *numbers = ARENA_ARRAY(g->memory, int, g->tensors.len + 1), count = 0;
    for (size_t i = 0; i < g->tensors.len; i++)
        numbers[i] = g->tensors.at[i].maker >= 0 && !g->nodes.at[g->tensors.at[i].maker].is_dropped ? 0 : -1;
    for (size_t i = 0; i < g->inputs.len; i++)
        numbers[g->inputs.at[i]] = 0;
    for (size_t i = 0; i < g->tensors.len; i++)
        if (numbers[i] == 0)
            numbers[i] = count++;
    return numbers;
}

// An extent that is open is its text, and an estimate.
static void add_extents(str_buf *out, const fg_tensor *t)
{
    for (int d = 0; d < t->rank; d++) {
        str_adds(out, d ? ", " : "");
        if (t->extent[d]) {
            str_adds(out, "{\"text\": ");
            add_text(out, t->extent[d]);
            str_addf(out, ", \"about\": %" PRId64 "}", t->shape[d]);
        } else {
            str_addf(out, "%" PRId64, t->shape[d]);
        }
    }
}

// Of graphs that are not the same for all sizes: nothing.
static void add_sizes(str_buf *out, const fg_graph *g)
{
    if (!g->sizes.len)
        return;
    str_adds(out, "\"sizes\": [");
    for (size_t i = 0; i < g->sizes.len; i++) {
        str_adds(out, i ? ", " : "");
        add_text(out, g->sizes.at[i]);
    }
    str_adds(out, "],\n\"checks\": [");
    for (size_t i = 0; i < g->checks.len; i++) {
        str_adds(out, i ? ", {\"condition\": " : "{\"condition\": ");
        add_text(out, g->checks.at[i].condition);
        str_adds(out, ", \"message\": ");
        add_text(out, g->checks.at[i].message);
        str_addc(out, '}');
    }
    str_adds(out, "],\n");
}

static void add_tensors(str_buf *out, const fg_graph *g, const int *numbers)
{
    const char *separator = "\n  ";
    str_adds(out, "\"tensors\": [");
    for (size_t i = 0; i < g->tensors.len; i++) {
        const fg_tensor *t = &g->tensors.at[i];
        if (numbers[i] < 0)
            continue;
        str_addf(out, "%s{\"dtype\": \"%s\", \"shape\": [", separator, t->dtype);
        add_extents(out, t);
        str_adds(out, "]}");
        separator = ",\n  ";
    }
    str_adds(out, "\n],\n");
}

static void add_inputs(str_buf *out, const fg_graph *g, const int *numbers)
{
    str_adds(out, "\"inputs\": [");
    for (size_t i = 0; i < g->inputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->inputs.at[i]];
        str_adds(out, i ? ",\n  {" : "\n  {");
        str_adds(out, t->weight ? "\"weight\": " : "\"name\": ");
        add_text(out, t->weight ? t->weight : t->name);
        if (t->weight) {
            str_adds(out, ", \"file\": ");
            add_text(out, t->weight_file);
        }
        str_addf(out, ", \"tensor\": %d}", numbers[t->number]);
    }
    str_adds(out, "\n],\n");
}

static void add_argument(str_buf *out, const fg_argument *x, const int *numbers)
{
    str_addc(out, '{');
    if (x->name) {
        str_adds(out, "\"name\": ");
        add_text(out, x->name);
        str_adds(out, ", ");
    }
    if (x->tensor >= 0) {
        str_addf(out, "\"tensor\": %d}", numbers[x->tensor]);
        return;
    }
    str_adds(out, "\"value\": ");
    add_text(out, x->value);
    str_addc(out, '}');
}

// Those by position, or those by name.
static void add_arguments(str_buf *out, const fg_argument_list *list, const int *numbers, bool by_name)
{
    const char *separator = "";
    for (size_t k = 0; k < list->len; k++) {
        if ((list->at[k].name != NULL) != by_name)
            continue;
        str_adds(out, separator);
        add_argument(out, &list->at[k], numbers);
        separator = ", ";
    }
}

static void add_numbers(str_buf *out, const fg_number_list *list, const int *numbers)
{
    str_adds(out, "\"outputs\": [");
    for (size_t k = 0; k < list->len; k++)
        str_addf(out, "%s%d", k ? ", " : "", numbers[list->at[k]]);
    str_addc(out, ']');
}

// Those of the graph, which may have names.
static void add_results(str_buf *out, const fg_graph *g, const int *numbers)
{
    str_adds(out, "\"outputs\": [");
    for (size_t k = 0; k < g->outputs.len; k++) {
        const fg_tensor *t = &g->tensors.at[g->outputs.at[k]];
        str_adds(out, k ? ", " : "");
        if (t->output_name) {
            str_adds(out, "{\"name\": ");
            add_text(out, t->output_name);
            str_addf(out, ", \"tensor\": %d}", numbers[t->number]);
        } else {
            str_addf(out, "%d", numbers[t->number]);
        }
    }
    str_addc(out, ']');
}

static void add_view(str_buf *out, const fg_view *view, const fg_tensor *x, const fg_tensor *y)
{
    str_adds(out, "\"view\": {\"starts\": [");
    for (int d = 0; d < x->rank; d++)
        str_addf(out, "%s%" PRId64, d ? ", " : "", view->starts[d]);
    str_adds(out, "], \"axes\": [");
    for (int d = 0; d < y->rank; d++)
        str_addf(out, "%s%d", d ? ", " : "", view->axes[d]);
    str_adds(out, "], \"steps\": [");
    for (int d = 0; d < y->rank; d++)
        str_addf(out, "%s%" PRId64, d ? ", " : "", view->steps[d]);
    str_adds(out, "]}, ");
}

static void add_exchanges(str_buf *out, const fg_node *n)
{
    str_adds(out, "\"matrices\": [");
    for (size_t k = 0; k < n->exchanges.len; k++) {
        str_adds(out, k ? ", " : "");
        add_text(out, n->exchanges.at[k]);
    }
    str_adds(out, "], ");
}

static void add_channels(str_buf *out, const fg_channels *c)
{
    str_adds(out, "\"channels_last\": {\"attribute\": ");
    add_text(out, c->attribute);
    str_adds(out, ", \"default\": ");
    add_text(out, c->initial);
    str_addf(out, ", \"images\": %d}, ", c->images);
}

static void add_positions(str_buf *out, const char *name, uint32_t bits)
{
    str_addf(out, "\"%s\": [", name);
    for (uint32_t rest = bits; rest; rest &= rest - 1)
        str_addf(out, "%s%d", rest != bits ? ", " : "", __builtin_ctz(rest));
    str_adds(out, "], ");
}

static void add_node(str_buf *out, const fg_graph *g, const fg_node *n, const int *numbers)
{
    str_adds(out, "{\"operator\": ");
    add_text(out, n->op);
    str_adds(out, ", \"module\": ");
    add_text(out, n->module);
    str_addf(out, ", \"kind\": \"%s\", \"line\": %d, ", fg_kind_name(n->kind), n->line);
    if (n->numerics != FG_FOLLOWS)
        str_addf(out, "\"precision\": \"%s\", ", fg_numerics_name(n->numerics));
    if (n->channels.attribute)
        add_channels(out, &n->channels);
    if (n->constants)
        add_positions(out, "constant", n->constants);
    if (n->evaluates)
        add_positions(out, "evaluates", n->evaluates);
    if (n->pitched)
        add_positions(out, "pitched", n->pitched);
    if (n->cost)
        str_addf(out, "\"cost\": %lld, ", (long long)n->cost);
    if (n->view)
        add_view(out, n->view, &g->tensors.at[n->arguments.at[0].tensor], &g->tensors.at[n->outputs.at[0]]);
    if (n->exchanges.len)
        add_exchanges(out, n);
    if (n->types.len) {
        str_adds(out, "\"types\": [");
        add_arguments(out, &n->types, numbers, true);
        str_adds(out, "], ");
    }
    str_adds(out, "\"inputs\": [");
    add_arguments(out, &n->arguments, numbers, false);
    str_adds(out, "], \"options\": [");
    add_arguments(out, &n->arguments, numbers, true);
    str_adds(out, "], ");
    add_numbers(out, &n->outputs, numbers);
    str_addc(out, '}');
}

str fg_print_json(const fg_graph *g)
{
    const int *numbers = number_tensors(g);
    const char *separator = "\n  ";
    str_buf out;
    str_buf_init(&out, g->memory);
    str_adds(&out, "{\"name\": ");
    add_text(&out, g->name);
    str_adds(&out, ",\n");
    add_sizes(&out, g);
    add_tensors(&out, g, numbers);
    add_inputs(&out, g, numbers);
    str_adds(&out, "\"nodes\": [");
    for (size_t i = 0; i < g->nodes.len; i++) {
        if (g->nodes.at[i].is_dropped)
            continue;
        str_adds(&out, separator);
        add_node(&out, g, &g->nodes.at[i], numbers);
        separator = ",\n  ";
    }
    str_adds(&out, "\n],\n");
    add_results(&out, g, numbers);
    str_adds(&out, "}\n");
    return (str){out.at, out.len};
}
