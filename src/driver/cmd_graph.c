// hdsc graph: the graphs of a model's graph functions, as text, as a drawing for Graphviz, or as the program that is compiled.
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "driver/cmd.h"
#include "driver/graph_bench.h"
#include "driver/options.h"
#include "pipeline/files.h"
#include "pipeline/graphs.h"
#include "toolchain/graphviz.h"

static const char doc[] =
    "Print the graph of a model, or what is made of it.\v"
    "  hdsc graph mlp.hds -D B=64                 the graph, as a graph function\n"
    "  hdsc graph mlp.hds --print=program         the operators and launches that it becomes\n"
    "  hdsc graph mlp.hds -o mlp.json             the graph for other programs; 'hdsc graph mlp.json' reads it again\n"
    "  hdsc graph mlp.hds -o mlp.svg              a drawing, by Graphviz; clusters are kernels\n"
    "  hdsc graph mlp.hds -o mlp.html             the drawing with search, a table of kernels and the program, in one page\n"
    "  hdsc graph mlp.hds -o mlp.svg --bench=mlp_bench.json\n"
    "                                             with the times that 'hdsc bench --json' wrote\n"
    "  hdsc graph mlp.hds --passes=identities,simplify\n"
    "                                             the graph after these passes; --passes= runs none\n"
    "  hdsc graph mlp.hds --explain-fusion        what became of each edge, and what it saves\n";

enum { KEY_PRINT = CMD_KEY_OWN, KEY_PASSES, KEY_EXPLAIN, KEY_TRACE, KEY_LIST, KEY_BENCH };

static const struct argp_option table[] = {
    {"print", KEY_PRINT, "FORM", 0,
     "graph: a graph function (the default); rewritten: after rewrites; program: what is compiled; json; dot: for Graphviz; svg, "
     "html: drawn by it", 1},
    {NULL, 'o', "FILE", 0,
     "write to FILE; its extension selects the form: .hds (the program), .json, .dot, .svg, .html; '-' is standard output", 1},
    {"passes", KEY_PASSES, "LIST", 0,
     "run these passes only, in this order (default: all for programs and drawings, none for other forms)", 1},
    {"explain-fusion", KEY_EXPLAIN, NULL, 0, "say for each edge whether it is fused, or why not, and what that saves", 1},
    {"bench", KEY_BENCH, "FILE", 0, "in drawings, what 'hdsc bench --json=FILE' measured: the time of each kernel", 1},
    {"trace-rewrites", KEY_TRACE, NULL, 0, "say which rewrites were applied where (to standard error)", 1},
    {"list-rewrites", KEY_LIST, NULL, 0, "list the rewrites that would be applied", 1},
    CMD_ARCH_OPTION("sm_80", 2),
    CMD_REWRITE_OPTIONS(2),
    CMD_PRECISION_OPTION(2),
    {"include", 'I', "DIR", 0, "also search DIR for imported modules; repeatable", 2},
    {"define", 'D', "NAME[=VALUE]", 0, "set a type parameter of the graph function, or a module constant; NAME alone is NAME=True", 2},
    CMD_WEIGHTS_OPTION(2),
    {"stdlib", CMD_KEY_STDLIB, "DIR", 0, "use the standard library in DIR instead of the built-in one", 2},
    {"diagnostics", CMD_KEY_DIAGNOSTICS, "FORMAT", 0, "text, or json for tools (both to standard error)", 3},
    {"color", CMD_KEY_COLOR, "WHEN", 0, "auto, always or never", 3},
    {0},
};

enum { FORM_GRAPH, FORM_REWRITTEN, FORM_PROGRAM, FORM_JSON, FORM_DOT, FORM_SVG, FORM_HTML };
static const char *const forms[] = {"graph", "rewritten", "program", "json", "dot", "svg", "html", NULL};

typedef struct request {
    cmd_arguments shared;
    int form;
    bool has_form, explains, traces, lists;
    const char *passes; // "simplify,fuse"; NULL: those of the form
    const char *bench;  // a result of hdsc bench; NULL: none
} request;

// The next of "a,b,c" behind [*at]; NULL: none is left, or there is none of that name: then it is [wrong].
static const fg_pass *next_pass(const char **at, char *wrong, size_t size)
{
    size_t len = strcspn(*at, ",");
    if (!len && !**at)
        return NULL;
    snprintf(wrong, size, "%.*s", (int)len, *at);
    bool is_cut = len >= size;
    *at += len + ((*at)[len] == ',');
    const fg_pass *pass = is_cut ? NULL : fg_pass_find(wrong);
    if (!pass && !*wrong)
        snprintf(wrong, size, ",");
    if (pass)
        *wrong = 0;
    return pass;
}

static void check_passes(struct argp_state *state, const char *list)
{
    char wrong[64] = "", known[256] = "";
    while (next_pass(&list, wrong, sizeof wrong))
        continue;
    for (int i = 0; fg_pass_at(i); i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", fg_pass_at(i)->name);
    if (*wrong)
        argp_error(state, "unknown pass '%s'; expected one of %s", wrong, known);
}

// By the extension of -o.
static int form_of_path(struct argp_state *state, const char *path)
{
    static const char *const endings[] = {
        [FORM_PROGRAM] = ".hds", [FORM_JSON] = ".json", [FORM_DOT] = ".dot", [FORM_SVG] = ".svg", [FORM_HTML] = ".html"};
    const char *dot = strrchr(path, '.');
    for (int form = FORM_PROGRAM; dot && form <= FORM_HTML; form++)
        if (strcmp(dot, endings[form]) == 0)
            return form;
    argp_error(state, "cannot tell the form from '%s': use the extension .hds, .json, .dot, .svg or .html, or give --print", path);
    return FORM_GRAPH;
}

static error_t take_own(int key, char *text, struct argp_state *state)
{
    request *r = state->input;
    if (key == KEY_PRINT) {
        r->form = cmd_choose(state, "--print", text, forms);
        r->has_form = true;
        return 0;
    }
    if (key == KEY_TRACE || key == KEY_LIST) {
        *(key == KEY_TRACE ? &r->traces : &r->lists) = true;
        return 0;
    }
    if (key == KEY_PASSES) {
        r->passes = text;
        check_passes(state, text);
        return 0;
    }
    if (key == KEY_BENCH) {
        r->bench = text;
        return 0;
    }
    if (key == KEY_EXPLAIN) {
        r->explains = true;
        return 0;
    }
    const char *output = r->shared.output;
    if (key == ARGP_KEY_END && output && strcmp(output, "-") != 0 && !r->has_form)
        r->form = form_of_path(state, output);
    return ARGP_ERR_UNKNOWN;
}

// Programs, and drawings of their launches.
static bool is_lowered(const request *r)
{
    return !r->explains && r->form != FORM_GRAPH && r->form != FORM_REWRITTEN && r->form != FORM_JSON;
}

// Programs and drawings need groups.
static void run_passes(const request *r, fg_graph *g)
{
    char wrong[64];
    const char *at = r->passes;
    bool needs_groups = is_lowered(r) || r->explains;
    if (!at && needs_groups)
        fg_run_passes(g);
    for (const fg_pass *pass; at && (pass = next_pass(&at, wrong, sizeof wrong));)
        fg_run_pass(g, pass);
    for (fg_graph *part = g; part && needs_groups; part = part->load)
        if (!part->group_count)
            fg_group_each(part);
}

static str text_of_graph(const request *r, const fg_graph *g)
{
    if (r->explains)
        return fg_explain_fusion(g);
    return r->form == FORM_JSON ? fg_print_json(g) : fg_print(g);
}

// A drawing, laid out by Graphviz where [form] asks for it. Without text after reporting.
static str drawing_of(int form, pl_graphs *graphs, str program)
{
    arena *memory = &graphs->unit.memory;
    const pl_graph_list *list = &graphs->list;
    str dot = fg_print_dot(memory, list->at, list->len), svg;
    if (form == FORM_DOT)
        return dot;
    if (!tool_dot_svg(memory, &graphs->unit.diags, dot, &svg))
        return (str){0};
    return form == FORM_SVG ? svg : fg_print_page(memory, list->at, list->len, svg, program);
}

// A text for each graph, and a list in JSON where there are several.
static str texts_of_graphs(const request *r, pl_graphs *graphs)
{
    const pl_graph_list *list = &graphs->list;
    bool is_list = r->form == FORM_JSON && list->len > 1 && !r->explains;
    str_buf out;
    str_buf_init(&out, &graphs->unit.memory);
    str_adds(&out, is_list ? "[" : "");
    for (size_t i = 0; i < list->len; i++) {
        str_adds(&out, is_list && i ? "," : "");
        str_add(&out, text_of_graph(r, list->at[i]));
    }
    str_adds(&out, is_list ? "]\n" : "");
    return (str){str_text(&out), out.len};
}

// Without text after reporting. A program and a drawing have all graphs.
static str text_of(const request *r, pl_graphs *graphs)
{
    const pl_graph_list *list = &graphs->list;
    if (r->explains)
        fg_lower(&graphs->unit.memory, list->at, list->len); // what is launched together is found there
    if (!is_lowered(r))
        return texts_of_graphs(r, graphs);
    str program = fg_lower(&graphs->unit.memory, list->at, list->len);
    if (r->bench && !cmd_graph_bench(&graphs->unit.memory, &graphs->unit.diags, r->bench, list->at, list->len))
        return (str){0};
    return r->form == FORM_PROGRAM ? program : drawing_of(r->form, graphs, program);
}

static int write_text(const char *path, pl_graphs *graphs, str text)
{
    const char *error = NULL;
    if (!path || strcmp(path, "-") == 0)
        return cmd_print(text) ? CMD_OK : CMD_ERRORS;
    if (file_write(&graphs->unit.memory, path, text, &error))
        return CMD_OK;
    fprintf(stderr, "hdsc graph: cannot write '%s': %s\n", path, error);
    return CMD_ERRORS;
}

static bool is_about_graphviz(const diag_context *dx)
{
    const diag *last = VEC_LAST(&dx->all);
    return last->code == HDS0835 || last->code == HDS0836;
}

static int write_graphs(const request *r, pl_graphs *graphs)
{
    const char *path = r->shared.output, *input = r->shared.options.input;
    diag_context *dx = &graphs->unit.diags;
    const pl_file file = {.path = path, .what = "the output"};
    bool is_file = path && strcmp(path, "-") != 0;
    int code = CMD_ERRORS;
    if (!is_file || pl_files_check(dx, &file, 1, &input, 1)) {
        str text = text_of(r, graphs);
        if (text.at)
            return write_text(path, graphs, text);
        code = is_about_graphviz(dx) ? CMD_INTERNAL : CMD_ERRORS;
    }
    cmd_print_diags(dx, &r->shared.diagnostics);
    return code;
}

static bool list_rewrites(const pl_graphs *graphs)
{
    bool ok = true;
    for (size_t i = 0; ok && i < graphs->rewriting.rules.len; i++)
        ok = printf("%s\n", graphs->rewriting.rules.at[i]->name) >= 0;
    return ok;
}

// "mlp: scale_into_weights at line 12, 13: 9 nodes -> 8"
static void trace(const pl_graphs *graphs)
{
    const fg_engine *e = &graphs->rewriting.engine;
    for (size_t i = 0; i < e->trace.len; i++) {
        const fg_application *x = &e->trace.at[i];
        fprintf(stderr, "%s: %s at line %s: %d -> %d nodes\n", x->graph, x->rule, x->lines, x->before, x->after);
    }
}

static int print_graphs(request *r)
{
    pl_graphs graphs;
    r->shared.options.input = r->shared.inputs.at[0];
    bool is_made = r->form != FORM_GRAPH && r->form != FORM_JSON; // of the graph that is compiled
    bool rewrites = ((is_made || r->explains) && !r->passes) || r->form == FORM_REWRITTEN || r->traces || r->lists;
    pl_list_graphs(&graphs, &r->shared.options, rewrites, &cmd_oom);
    for (size_t i = 0; graphs.is_read && i < graphs.list.len; i++)
        run_passes(r, graphs.list.at[i]);
    if (graphs.is_read)
        pl_check_precision(&graphs.unit, &graphs.list);
    cmd_print_diags(&graphs.unit.diags, &r->shared.diagnostics);
    int code = graphs.is_read ? CMD_OK : cmd_code_of_errors(&graphs.unit.diags);
    if (code == CMD_OK && !graphs.list.len) {
        fprintf(stderr, "hdsc graph: '%s' has no function under @hidet.graph\n", r->shared.options.input);
        code = CMD_ERRORS;
    }
    if (r->traces)
        trace(&graphs);
    if (code == CMD_OK && r->lists)
        code = list_rewrites(&graphs) ? CMD_OK : CMD_ERRORS;
    else if (code == CMD_OK)
        code = write_graphs(r, &graphs);
    pl_unit_free(&graphs.unit);
    return code;
}

int cmd_graph(int argc, char **argv)
{
    request r = {0};
    cmd_parse_with(&r.shared, argc, argv, "FILE", doc, table, take_own);
    int code = CMD_USAGE;
    if (r.shared.archs.len > 1)
        fputs("hdsc graph: graphs are those for one architecture\n", stderr);
    else if (r.shared.inputs.len == 1)
        code = print_graphs(&r);
    else
        fprintf(stderr, "hdsc graph: name one file; 'hdsc graph --help' tells more\n");
    cmd_arguments_free(&r.shared);
    return code;
}
