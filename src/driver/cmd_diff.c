// hdsc diff: what differs between two models, which may be ONNX files, .hds files, or graphs as JSON.

#include <stdio.h>
#include <string.h>

#include "diag/json_text.h"
#include "driver/cmd.h"
#include "driver/diff_text.h"
#include "driver/options.h"
#include "pipeline/graphs.h"
#include "pipeline/weights.h"

enum { KEY_JSON = CMD_KEY_OWN };

static const struct argp_option table[] = {
    {"json", KEY_JSON, NULL, 0, "print JSON instead of text", 1},
    CMD_DEFINE_OPTION("a type parameter of the graph functions, or a module constant", 2),
    CMD_IMPORT_OPTION(2),
    CMD_STDLIB_OPTION(2),
    CMD_MESSAGE_OPTIONS(3),
    {0},
};

static const char doc[] =
    "Say what differs between two models: inputs, operators, arguments, types, outputs, and the elements of weights.\n"
    "\n"
    "  hdsc diff before.onnx after.onnx\n"
    "  hdsc diff model.onnx model.hds --json\n"
    "\v"
    "Graphs are compared as 'hdsc graph' prints them. Nodes are paired in their order, by their names in ONNX files, operators, "
    "arguments and weights; '-' marks what only the first file has, '+' what only the second has, and '~' what has changed. "
    "Nodes whose "
    "results have other types only because their operands have are counted. Weights are paired by name, or by the node "
    "that reads them; 'error' is the largest |b - a| / (|a| + 1).\n"
    "Exit code: 0 there is no difference; 1 there is one, or a file has errors; 2 the command line is wrong.";

typedef struct request {
    cmd_arguments shared;
    bool json;
} request;

static error_t take_own(int key, char *arg, struct argp_state *state)
{
    request *q = state->input;
    (void)arg;
    if (key == ARGP_KEY_END && q->shared.inputs.len != 2)
        argp_error(state, "expected two files");
    if (key != KEY_JSON)
        return ARGP_ERR_UNKNOWN;
    q->json = true;
    return 0;
}

// ---- a file -------------------------------------------------------------------------------------------------------------

typedef struct model {
    pl_options options;
    pl_graphs graphs;
} model;

static bool read_model(model *m, const request *q, int number)
{
    m->options = q->shared.options;
    m->options.input = q->shared.inputs.at[number];
    pl_list_graphs(&m->graphs, &m->options, false, &cmd_oom);
    cmd_print_diags(&m->graphs.unit.diags, &q->shared.diagnostics);
    if (m->graphs.is_read && !m->graphs.list.len)
        fprintf(stderr, "hdsc diff: '%s' has no function under @hidet.graph\n", m->options.input);
    return m->graphs.is_read && m->graphs.list.len;
}

static const char *name_at(model *m, int line)
{
    pl_unit *u = &m->graphs.unit;
    str text = line > 0 ? src_line(&u->sources, u->file, (uint32_t)line) : (str){0};
    const char *mark = text.len ? memmem(text.at, text.len, "  # ", 4) : NULL;
    return mark ? arena_strndup(&u->memory, mark + 4, text.len - (size_t)(mark + 4 - text.at)) : NULL;
}

// What an ONNX file calls its nodes stands behind their lines. NULL: it is no ONNX file.
static const char *const *names_of(model *m, const fg_graph *g)
{
    pl_unit *u = &m->graphs.unit;
    if (!u->onnx_weights || !u->file)
        return NULL;
    const char **names = ARENA_ARRAY(&u->memory, const char *, g->nodes.len + 1);
    for (size_t i = 0; i < g->nodes.len; i++) {
        bool is_same = i && g->nodes.at[i].line == g->nodes.at[i - 1].line;
        names[i] = is_same ? names[i - 1] : name_at(m, g->nodes.at[i].line);
    }
    return names;
}

// ---- weights ------------------------------------------------------------------------------------------------------------

// NULL, or why there are no bytes.
static const char *look_at(model *m, const fg_tensor *t, ten_tensor *out)
{
    const char *why = NULL;
    *out = (ten_tensor){.rank = t->rank};
    memcpy(out->shape, t->shape, sizeof out->shape);
    if (!dt_find(str_of(t->dtype), &out->type) || !ten_measure(out))
        return "its type is not known";
    out->data = (uint8_t *)pl_weight_bytes(&m->graphs.unit.finder, t->weight_file, t->weight, &why);
    return out->data ? NULL : why;
}

static diff_weight compare_weight(model *a, model *b, const fg_tensor_diff *d)
{
    diff_weight w = {.tensor = *d};
    ten_tensor x, y;
    if (!d->a || !d->b || !fg_is_same_shape(d->a, d->b))
        return w;
    w.unknown = look_at(a, d->a, &x);
    w.unknown = w.unknown ? w.unknown : look_at(b, d->b, &y);
    if (w.unknown)
        return w;
    w.is_compared = true;
    w.count = x.count;
    w.is_equal = x.type == y.type && memcmp(x.data, y.data, (size_t)x.bytes) == 0;
    if (!w.is_equal)
        w.error = ten_error_of(&y, &x);
    return w;
}

// ---- both ---------------------------------------------------------------------------------------------------------------

static const fg_graph *graph_like(const pl_graph_list *others, const fg_graph *g, bool is_alone)
{
    for (size_t i = 0; i < others->len; i++)
        if (strcmp(others->at[i]->name, g->name) == 0)
            return others->at[i];
    return is_alone && others->len == 1 ? others->at[0] : NULL;
}

static void add_pair(diff_result *r, arena *memory, model *a, const fg_graph *x, model *b, const fg_graph *y)
{
    diff_pair p = {.a = x, .b = y};
    if (x && y) {
        p.names_a = names_of(a, x);
        p.names_b = names_of(b, y);
        p.diff = fg_compare(memory, x, p.names_a, y, p.names_b);
        for (size_t i = 0; i < p.diff.weights.len; i++)
            VEC_PUSH(memory, &p.weights, compare_weight(a, b, &p.diff.weights.at[i]));
    }
    VEC_PUSH(memory, &r->pairs, p);
}

// Graphs of one name; one of each file, whatever they are called.
static diff_result compare(arena *memory, model *a, model *b)
{
    const pl_graph_list *x = &a->graphs.list, *y = &b->graphs.list;
    diff_result r = {.file_a = a->options.input, .file_b = b->options.input};
    for (size_t i = 0; i < x->len; i++)
        add_pair(&r, memory, a, x->at[i], b, graph_like(y, x->at[i], x->len == 1));
    for (size_t i = 0; i < y->len; i++)
        if (!graph_like(x, y->at[i], y->len == 1))
            add_pair(&r, memory, a, NULL, b, y->at[i]);
    return r;
}

static int print_diff(const request *q, arena *memory, const diff_result *r)
{
    str_buf out;
    str_buf_init(&out, memory);
    if (q->json)
        diag_add_json(&out, diff_json(r), JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    else
        diff_text(r, &out);
    return cmd_print((str){out.at, out.len}) && !diff_count(r) ? CMD_OK : CMD_ERRORS;
}

int cmd_diff(int argc, char **argv)
{
    request q = {0};
    cmd_parse_with(&q.shared, argc, argv, "A B", doc, table, take_own);
    model a = {0}, b = {0};
    bool has_a = read_model(&a, &q, 0), has_b = read_model(&b, &q, 1);
    int code = CMD_ERRORS;
    if (has_a && has_b) {
        const diff_result r = compare(&q.shared.memory, &a, &b);
        code = print_diff(&q, &q.shared.memory, &r);
    }
    pl_unit_free(&a.graphs.unit);
    pl_unit_free(&b.graphs.unit);
    cmd_arguments_free(&q.shared);
    return code;
}
