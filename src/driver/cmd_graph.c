// hdsc graph: the graphs of a model's graph functions, as text, as a drawing for Graphviz, or as the program that is compiled.
#include <stdio.h>
#include <string.h>

#include "driver/cmd.h"
#include "driver/options.h"
#include "pipeline/graphs.h"

static const char doc[] =
    "Print the graph of a model, or what is made of it.\v"
    "  hdsc graph mlp.hds -D B=64                 the graph, as a graph function\n"
    "  hdsc graph mlp.hds --print=program         the operators and launches that it becomes\n"
    "  hdsc graph mlp.hds --print=dot | dot -Tsvg -o mlp.svg\n"
    "                                             a drawing; clusters are launched together\n";

enum { KEY_PRINT = CMD_KEY_OWN };

static const struct argp_option table[] = {
    {"print", KEY_PRINT, "FORM", 0, "graph: a graph function (the default); program: what is compiled; dot: for Graphviz", 1},
    {"include", 'I', "DIR", 0, "also search DIR for imported modules; repeatable", 2},
    {"define", 'D', "NAME=VALUE", 0, "set a type parameter of the graph function, or a module constant", 2},
    CMD_WEIGHTS_OPTION(2),
    {"stdlib", CMD_KEY_STDLIB, "DIR", 0, "use the standard library in DIR instead of the built-in one", 2},
    {"diagnostics", CMD_KEY_DIAGNOSTICS, "FORMAT", 0, "text, or json for tools (both to standard error)", 3},
    {"color", CMD_KEY_COLOR, "WHEN", 0, "auto, always or never", 3},
    {0},
};

enum { FORM_GRAPH, FORM_PROGRAM, FORM_DOT };
static const char *const forms[] = {"graph", "program", "dot", NULL};

typedef struct request {
    cmd_arguments shared;
    int form;
} request;

static error_t take_own(int key, char *text, struct argp_state *state)
{
    request *r = state->input;
    if (key != KEY_PRINT)
        return ARGP_ERR_UNKNOWN;
    r->form = cmd_choose(state, "--print", text, forms);
    return 0;
}

// A program has all graphs; the other forms are one for each.
static bool print_all(const request *r, pl_graphs *graphs)
{
    bool ok = true;
    for (size_t i = 0; r->form != FORM_GRAPH && i < graphs->list.len; i++)
        fg_run_passes(graphs->list.at[i]);
    if (r->form == FORM_PROGRAM)
        return cmd_print(fg_lower(&graphs->unit.memory, graphs->list.at, graphs->list.len));
    for (size_t i = 0; ok && i < graphs->list.len; i++)
        ok = cmd_print(r->form == FORM_DOT ? fg_print_dot(graphs->list.at[i]) : fg_print(graphs->list.at[i]));
    return ok;
}

static int print_graphs(request *r)
{
    pl_graphs graphs;
    r->shared.options.input = r->shared.inputs.at[0];
    pl_list_graphs(&graphs, &r->shared.options, &cmd_oom);
    cmd_print_diags(&graphs.unit.diags, &r->shared.diagnostics);
    int code = graphs.is_read ? CMD_OK : cmd_code_of_errors(&graphs.unit.diags);
    if (code == CMD_OK && !graphs.list.len) {
        fprintf(stderr, "hdsc graph: '%s' has no function under @hidet.graph\n", r->shared.options.input);
        code = CMD_ERRORS;
    }
    if (code == CMD_OK && !print_all(r, &graphs))
        code = CMD_ERRORS;
    pl_unit_free(&graphs.unit);
    return code;
}

int cmd_graph(int argc, char **argv)
{
    request r = {0};
    cmd_parse_with(&r.shared, argc, argv, "FILE", doc, table, take_own);
    int code = CMD_USAGE;
    if (r.shared.inputs.len == 1)
        code = print_graphs(&r);
    else
        fprintf(stderr, "hdsc graph: name one file; 'hdsc graph --help' tells more\n");
    cmd_arguments_free(&r.shared);
    return code;
}
