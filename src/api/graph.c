// Graphs that a program builds: checked as far as that can be done without the operators' definitions, printed as a graph function
// of the language, and compiled as one. Each weight and node is a line of its own, by which messages are those of a node.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/graph_priv.h"
#include "pipeline/graphs.h"

enum { MOST_AXES = 8, MOST_RESULTS = 64 };

// ---- the object ----------------------------------------------------------------------------------------------------------

hds_status hds_graph_new(const char *name, hds_graph **graph)
{
    if (!graph)
        return api_fail(HDS_INVALID_ARGUMENT, "hds_graph_new: graph is a null pointer");
    *graph = NULL;
    if (!api_is_identifier(name))
        return api_fail(HDS_INVALID_ARGUMENT, "hds_graph_new: the name of a model is an identifier, not '%s'", name ? name : "");
    hds_graph *g = calloc(1, sizeof *g);
    if (!g)
        return api_no_memory();
    arena_init(&g->memory, &g->oom);
    if (setjmp(g->oom.jump) != 0) {
        hds_graph_release(g);
        return api_no_memory();
    }
    g->name = arena_strdup(&g->memory, name);
    *graph = g;
    return HDS_OK;
}

void hds_graph_release(hds_graph *graph)
{
    if (!graph)
        return;
    arena_free(&graph->memory);
    free(graph->json);
    free(graph);
}

// ---- types -----------------------------------------------------------------------------------------------------------------

static hds_status wrong_dtype(const char *type)
{
    return api_fail(HDS_INVALID_ARGUMENT, "there is no type of elements '%s'", type ? type : "");
}

static bool is_dtype(const char *name)
{
    dtype found;
    return name && dt_find(str_of(name), &found);
}

static void add_once(hds_graph *g, const char *const *list, size_t len, const char *text, bool is_size)
{
    for (size_t i = 0; i < len; i++)
        if (strcmp(list[i], text) == 0)
            return;
    const char *copy = arena_strdup(&g->memory, text);
    if (is_size)
        VEC_PUSH(&g->memory, &g->sizes, copy);
    else
        VEC_PUSH(&g->memory, &g->dtypes, copy);
}

static void note_dtype(hds_graph *g, const char *type)
{
    add_once(g, g->dtypes.at, g->dtypes.len, type, false);
}

static bool is_input(const hds_graph *g, const char *name)
{
    for (size_t i = 0; i < g->tensors.len; i++)
        if (g->tensors.at[i].kind == API_INPUT && strcmp(g->tensors.at[i].name, name) == 0)
            return true;
    return false;
}

static bool is_size(const hds_graph *g, const char *name)
{
    for (size_t i = 0; i < g->sizes.len; i++)
        if (strcmp(g->sizes.at[i], name) == 0)
            return true;
    return false;
}

// "t3" is the variable of a node's result.
static bool is_variable(const char *name)
{
    return *name == 't' && name[1] && strspn(name + 1, "0123456789") == strlen(name + 1);
}

static hds_status wrong_extent(const char *what, const char *of)
{
    return api_fail(HDS_INVALID_ARGUMENT, "%s of '%s' is neither 0 or more nor the name of a size", what, of);
}

// Sets *[type] to "f16[B, 784]"; sizes are noted.
static hds_status read_type(hds_graph *g, const char *of, const char *elements, const hds_extent *extents, size_t rank,
                            const char **type)
{
    if (!is_dtype(elements))
        return wrong_dtype(elements);
    if (rank > MOST_AXES || (rank && !extents))
        return api_fail(HDS_INVALID_ARGUMENT, "'%s' has %zu axes; tensors have 8 at most", of, rank);
    for (size_t i = 0; i < rank; i++) {
        const char *size = extents[i].size;
        if (size ? !api_is_identifier(size) || is_variable(size) || is_input(g, size) || strcmp(size, g->name) == 0 ||
                       strcmp(size, of) == 0 || is_dtype(size)
                 : extents[i].value < 0)
            return wrong_extent("an extent", of);
    }
    str_buf out;
    str_buf_init(&out, &g->memory);
    str_addf(&out, "%s[", elements);
    for (size_t i = 0; i < rank; i++) {
        str_adds(&out, i ? ", " : "");
        if (extents[i].size) {
            add_once(g, g->sizes.at, g->sizes.len, extents[i].size, true);
            str_adds(&out, extents[i].size);
        } else {
            str_addf(&out, "%" PRId64, extents[i].value);
        }
    }
    str_adds(&out, rank ? "]" : "()]");
    note_dtype(g, elements);
    *type = str_text(&out);
    return HDS_OK;
}

// ---- tensors ---------------------------------------------------------------------------------------------------------------

static int add_tensor(hds_graph *g, const api_tensor *t)
{
    VEC_PUSH(&g->memory, &g->tensors, *t);
    g->text = NULL;
    return (int)g->tensors.len - 1;
}

__attribute__((noinline)) static hds_status add_input(hds_graph *g, const char *name, const char *type, const hds_extent *extents,
                                                      size_t rank, int *tensor)
{
    api_tensor t = {.kind = API_INPUT};
    bool is_taken = !api_is_identifier(name) || is_variable(name) || is_input(g, name) || is_size(g, name) || is_dtype(name) ||
                    strcmp(name, g->name) == 0;
    if (is_taken)
        return api_fail(HDS_INVALID_ARGUMENT, "the name of an input is an identifier that nothing else has, not '%s'", name ? name : "");
    hds_status status = read_type(g, name, type, extents, rank, &t.type);
    if (status)
        return status;
    t.name = arena_strdup(&g->memory, name);
    *tensor = add_tensor(g, &t);
    return HDS_OK;
}

// Whether the pointers of a call are there.
static hds_status check_call(const char *function, const hds_graph *graph, const void *result)
{
    if (graph && result)
        return HDS_OK;
    return api_fail(HDS_INVALID_ARGUMENT, "%s: %s is a null pointer", function, graph ? "the result" : "graph");
}

hds_status hds_graph_input(hds_graph *graph, const char *name, const char *type, const hds_extent *extents, size_t rank, int *tensor)
{
    hds_status status = check_call("hds_graph_input", graph, tensor);
    if (status)
        return status;
    return setjmp(graph->oom.jump) != 0 ? api_no_memory() : add_input(graph, name, type, extents, rank, tensor);
}

// Extents that are numbers; NULL: there are too many.
static const hds_extent *known_extents(hds_graph *g, const int64_t *extents, size_t rank)
{
    hds_extent *known = ARENA_ARRAY(&g->memory, hds_extent, MOST_AXES);
    for (size_t i = 0; extents && i < rank && rank <= MOST_AXES; i++)
        known[i].value = extents[i];
    return extents && rank <= MOST_AXES ? known : NULL;
}

__attribute__((noinline)) static hds_status add_weight(hds_graph *g, const char *name, const char *file, const char *type,
                                                       const int64_t *extents, size_t rank, int *tensor)
{
    api_tensor t = {.kind = API_WEIGHT};
    if (!name || !*name)
        return api_fail(HDS_INVALID_ARGUMENT, "a weight has the name that it has in its file");
    hds_status status = read_type(g, name, type, known_extents(g, extents, rank), rank, &t.type);
    if (status)
        return status;
    t.name = arena_strdup(&g->memory, name);
    t.file = file && *file ? arena_strdup(&g->memory, file) : NULL;
    *tensor = add_tensor(g, &t);
    VEC_PUSH(&g->memory, &g->statements, ((api_statement){.node = t.name, .first = *tensor, .count = 1}));
    return HDS_OK;
}

hds_status hds_graph_weight(hds_graph *graph, const char *name, const char *file, const char *type, const int64_t *extents,
                            size_t rank, int *tensor)
{
    hds_status status = check_call("hds_graph_weight", graph, tensor);
    if (status)
        return status;
    return setjmp(graph->oom.jump) != 0 ? api_no_memory() : add_weight(graph, name, file, type, extents, rank, tensor);
}

hds_status hds_graph_constant(hds_graph *graph, const char *type, const int64_t *extents, size_t rank, double value, int *tensor)
{
    hds_extent known[MOST_AXES] = {{0, NULL}};
    if (rank > MOST_AXES || (rank && !extents))
        return api_fail(HDS_INVALID_ARGUMENT, "a constant has %zu axes; tensors have 8 at most", rank);
    for (size_t i = 0; i < rank; i++)
        known[i].value = extents[i];
    const hds_value arguments[] = {hds_value_extents("size", known, rank), hds_value_float("fill_value", value),
                                   hds_value_dtype("dtype", type)};
    return hds_graph_node(graph, &(hds_node){"constant", "creation.full", arguments, 3, 1}, tensor);
}

// ---- nodes -----------------------------------------------------------------------------------------------------------------

static hds_status wrong_argument(const hds_node *n, size_t i, const char *why)
{
    return api_fail(HDS_INVALID_ARGUMENT, "node '%s' (%s): argument %zu %s", n->name ? n->name : "", n->op, i, why);
}

static void add_float(hds_graph *g, str_buf *out, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    g->names_infinity |= !isfinite(value);
    if (isnan(value))
        str_adds(out, "nan");
    else
        str_addf(out, "%s%s", text, strpbrk(text, ".einf") ? "" : ".0");
}

// Characters of an expression of sizes.
static bool is_expression(const char *text)
{
    return *text && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ +-*/%(),") == strlen(text);
}

static hds_status add_extents(str_buf *out, const hds_node *n, size_t i)
{
    const hds_value *v = &n->arguments[i];
    if (v->count && !v->value.extents)
        return wrong_argument(n, i, "has a null pointer for its extents");
    str_addc(out, '(');
    for (size_t k = 0; k < v->count; k++) {
        const hds_extent *e = &v->value.extents[k];
        if (e->size && !is_expression(e->size))
            return wrong_argument(n, i, "has an extent that is no expression of sizes");
        if (e->size)
            str_addf(out, "%s, ", e->size);
        else
            str_addf(out, "%" PRId64 ", ", e->value);
    }
    str_addc(out, ')');
    return HDS_OK;
}

static hds_status add_value(hds_graph *g, str_buf *out, const hds_node *n, size_t i)
{
    const hds_value *v = &n->arguments[i];
    switch (v->kind) {
    case HDS_VALUE_TENSOR:
        if (v->value.tensor < 0 || (size_t)v->value.tensor >= g->tensors.len)
            return wrong_argument(n, i, "is no tensor of the graph");
        str_adds(out, api_variable(g, v->value.tensor));
        return HDS_OK;
    case HDS_VALUE_INT: str_addf(out, "%" PRId64, v->value.integer); return HDS_OK;
    case HDS_VALUE_FLOAT: add_float(g, out, v->value.real); return HDS_OK;
    case HDS_VALUE_BOOL: str_adds(out, v->value.boolean ? "True" : "False"); return HDS_OK;
    case HDS_VALUE_STRING:
        if (!v->value.text)
            return wrong_argument(n, i, "is a null pointer");
        api_add_quoted(out, v->value.text);
        return HDS_OK;
    case HDS_VALUE_DTYPE:
        if (!is_dtype(v->value.text))
            return wrong_argument(n, i, "is no type of elements");
        note_dtype(g, v->value.text);
        str_adds(out, v->value.text);
        return HDS_OK;
    case HDS_VALUE_EXTENTS: return add_extents(out, n, i);
    case HDS_VALUE_NONE: str_adds(out, "None"); return HDS_OK;
    }
    return wrong_argument(n, i, "has no kind that there is");
}

static hds_status read_arguments(hds_graph *g, const hds_node *n, const char **text)
{
    str_buf out;
    bool is_named = false;
    str_buf_init(&out, &g->memory);
    for (size_t i = 0; i < n->count; i++) {
        const hds_value *v = &n->arguments[i];
        if (v->name && !api_is_identifier(v->name))
            return wrong_argument(n, i, "has a name that is no identifier");
        if (!v->name && is_named)
            return wrong_argument(n, i, "comes by position behind one with a name");
        is_named |= v->name != NULL;
        str_addf(&out, "%s%s%s", i ? ", " : "", v->name ? v->name : "", v->name ? "=" : "");
        hds_status status = add_value(g, &out, n, i);
        if (status)
            return status;
    }
    *text = str_text(&out);
    return HDS_OK;
}

// "matmul.linear": a module, whose parts are identifiers, and an operator.
static bool read_op(hds_graph *g, const char *op, api_statement *out)
{
    const char *dot = op ? strrchr(op, '.') : NULL;
    if (!dot || dot == op || !api_is_identifier(dot + 1))
        return false;
    out->op = arena_strdup(&g->memory, dot + 1);
    out->module = arena_strndup(&g->memory, op, (size_t)(dot - op));
    for (const char *part = out->module; part; part = strchr(part, '.') ? strchr(part, '.') + 1 : NULL)
        if (!api_is_identifier(arena_strndup(&g->memory, part, strcspn(part, "."))))
            return false;
    return true;
}

__attribute__((noinline)) static hds_status add_node(hds_graph *g, const hds_node *n, int *results)
{
    api_statement s = {.first = (int)g->tensors.len, .count = n->result_count ? (int)n->result_count : 1};
    if (!read_op(g, n->op, &s))
        return api_fail(HDS_INVALID_ARGUMENT, "node '%s': an operator is named with its module, as in 'matmul.linear', not '%s'",
                        n->name ? n->name : "", n->op ? n->op : "");
    hds_status status = read_arguments(g, n, &s.arguments);
    if (status)
        return status;
    s.node = n->name ? arena_strdup(&g->memory, n->name) : NULL;
    for (int k = 0; k < s.count; k++)
        results[k] = add_tensor(g, &(api_tensor){.kind = API_RESULT});
    VEC_PUSH(&g->memory, &g->statements, s);
    return HDS_OK;
}

hds_status hds_graph_node(hds_graph *graph, const hds_node *node, int *results)
{
    hds_status status = check_call("hds_graph_node", graph, results);
    if (status)
        return status;
    if (!node || (node->count && !node->arguments) || node->result_count > MOST_RESULTS)
        return api_fail(HDS_INVALID_ARGUMENT, "hds_graph_node: %s", !node ? "node is a null pointer" :
                        node->result_count > MOST_RESULTS ? "a node has 64 results at most" : "node->arguments is a null pointer");
    return setjmp(graph->oom.jump) != 0 ? api_no_memory() : add_node(graph, node, results);
}

__attribute__((noinline)) static hds_status add_output(hds_graph *g, int tensor, const char *name)
{
    if (tensor < 0 || (size_t)tensor >= g->tensors.len)
        return api_fail(HDS_INVALID_ARGUMENT, "hds_graph_output: the graph has no tensor %d", tensor);
    if (g->outputs.len && (g->outputs.at[0].name != NULL) != (name != NULL))
        return api_fail(HDS_INVALID_ARGUMENT, "hds_graph_output: all outputs have names, or none has");
    for (size_t i = 0; name && i < g->outputs.len; i++)
        if (strcmp(g->outputs.at[i].name, name) == 0)
            return api_fail(HDS_INVALID_ARGUMENT, "hds_graph_output: there is an output '%s' already", name);
    const api_output output = {tensor, name ? arena_strdup(&g->memory, name) : NULL};
    VEC_PUSH(&g->memory, &g->outputs, output);
    g->text = NULL;
    return HDS_OK;
}

hds_status hds_graph_output(hds_graph *graph, int tensor, const char *name)
{
    if (!graph)
        return check_call("hds_graph_output", graph, NULL);
    return setjmp(graph->oom.jump) != 0 ? api_no_memory() : add_output(graph, tensor, name);
}

// ---- as a graph function ---------------------------------------------------------------------------------------------------

const char *hds_graph_text(hds_graph *graph)
{
    if (!graph || !graph->outputs.len) {
        api_fail(HDS_INVALID_ARGUMENT, "hds_graph_text: %s", graph ? "the graph has no outputs" : "graph is a null pointer");
        return NULL;
    }
    if (setjmp(graph->oom.jump) != 0) {
        api_no_memory();
        return NULL;
    }
    if (!graph->text)
        api_print_graph(graph);
    return graph->text;
}

// The statement of a line of the text; NULL: it has none.
static const api_statement *statement_at(const hds_graph *g, uint32_t line)
{
    int64_t i = (int64_t)line - g->first_line;
    if (i >= 0 && (size_t)i < g->statements.len)
        return &g->statements.at[i];
    for (size_t k = 0; k < g->statements.len && line && (int)line <= g->first_line; k++) // an import
        if (g->statements.at[k].op && (int)line == g->statements.at[k].import_line)
            return &g->statements.at[k];
    return NULL;
}

// "node 'fc' (matmul.linear): …"
static hds_status fail_at(const hds_graph *g, hds_status status, uint32_t line, const char *message)
{
    const api_statement *s = statement_at(g, line);
    if (!s)
        return api_fail(status, "'%s': %s", g->name, message);
    if (!s->op)
        return api_fail(status, "weight '%s': %s", s->node, message);
    return api_fail(status, "node '%s' (%s.%s): %s", s->node ? s->node : api_variable((hds_graph *)g, s->first), s->module, s->op,
                    message);
}

static hds_status fail_recording(hds_graph *g, const pl_unit *u)
{
    for (size_t i = 0; i < u->diags.all.len; i++) {
        const diag *d = u->diags.all.at[i];
        if (d->severity != DIAG_ERROR)
            continue;
        bool is_here = d->span.begin && u->file && src_file_at(&u->sources, d->span.begin) == u->file;
        return fail_at(g, HDS_ERRORS, is_here ? src_location_of(&u->sources, d->span.begin).line : 0, d->message);
    }
    return u->status == PL_NO_MEMORY ? api_no_memory() : api_fail(HDS_INTERNAL, "'%s' cannot be recorded", g->name);
}

static const char *file_name(hds_graph *g, arena *a)
{
    return arena_printf(a, "%s.hds", g->name);
}

// Records the graph function, for the usual architecture unless the options name one.
__attribute__((noinline)) static hds_status record(arena *a, hds_compiler *compiler, hds_graph *g, const hds_compile_options *options,
                                                   bool keeps_json)
{
    hds_compile_options o = HDS_COMPILE_OPTIONS_INIT;
    api_request request, own;
    pl_graphs graphs;
    hds_status status = api_read_options(options, sizeof o.size + sizeof o.arch, "HDS_COMPILE_OPTIONS_INIT", &o, sizeof o);
    o.size = sizeof o;
    o.no_code = true;
    o.progress = NULL; // it takes no time
    if (!o.arch && !o.gpu)
        o.arch = "sm_80";
    if (!status)
        status = api_request_read(a, compiler, &(hds_source){file_name(g, a), g->text, 0}, &o, &request);
    if (status)
        return status;
    api_request_copy(a, &request, &own);
    pl_status recorded = pl_list_graphs_of(&graphs, &own.options, own.text, a->oom);
    if (recorded != PL_OK || !graphs.is_read || !graphs.list.len) {
        status = recorded == PL_NO_MEMORY ? api_no_memory() : fail_recording(g, &graphs.unit);
    } else if (keeps_json) {
        str text = fg_print_json(graphs.list.at[0]);
        free(g->json);
        g->json = strndup(text.at, text.len);
        status = g->json ? HDS_OK : api_no_memory();
    }
    pl_unit_free(&graphs.unit);
    return status;
}

static hds_status verify(const char *function, hds_compiler *compiler, hds_graph *graph, const hds_compile_options *options,
                         bool keeps_json)
{
    arena scratch;
    arena_oom oom;
    if (!compiler || !graph)
        return api_fail(HDS_INVALID_ARGUMENT, "%s: %s is a null pointer", function, compiler ? "graph" : "compiler");
    if (!hds_graph_text(graph))
        return graph->outputs.len ? HDS_NO_MEMORY : HDS_INVALID_ARGUMENT;
    arena_init(&scratch, &oom);
    hds_status status = setjmp(oom.jump) != 0 ? api_no_memory() : record(&scratch, compiler, graph, options, keeps_json);
    arena_free(&scratch);
    return status;
}

hds_status hds_graph_verify(hds_compiler *compiler, hds_graph *graph, const hds_compile_options *options)
{
    return verify("hds_graph_verify", compiler, graph, options, false);
}

hds_status hds_graph_json(hds_compiler *compiler, hds_graph *graph, const hds_compile_options *options, const char **json)
{
    if (!json)
        return api_fail(HDS_INVALID_ARGUMENT, "hds_graph_json: json is a null pointer");
    *json = NULL;
    hds_status status = verify("hds_graph_json", compiler, graph, options, true);
    if (!status)
        *json = graph->json;
    return status;
}

hds_status hds_graph_compile(hds_compiler *compiler, hds_graph *graph, const hds_compile_options *options, hds_program **program)
{
    char name[256];
    if (program)
        *program = NULL;
    if (!graph)
        return api_fail(HDS_INVALID_ARGUMENT, "hds_graph_compile: graph is a null pointer");
    if (!hds_graph_text(graph))
        return graph->outputs.len ? HDS_NO_MEMORY : HDS_INVALID_ARGUMENT;
    snprintf(name, sizeof name, "%.200s.hds", graph->name);
    hds_status status = hds_compile(compiler, &(hds_source){name, graph->text, 0}, options, program);
    for (size_t i = 0; status == HDS_ERRORS && program && *program && i < hds_program_diagnostic_count(*program); i++) {
        const hds_diagnostic *d = hds_program_diagnostic(*program, i);
        if (d->severity == HDS_ERROR)
            return fail_at(graph, status, d->file && strcmp(d->file, name) == 0 ? d->line : 0, d->message);
    }
    return status;
}
