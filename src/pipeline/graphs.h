// Graph functions of a file: recorded, and lowered to a program.
#pragma once

#include "graph/precision.h"
#include "graph/record.h"
#include "graph/rewrite.h"
#include "pipeline/unit.h"

// Whether the unit's file has graph functions, by its text.
bool pl_has_graphs(const pl_unit *u);
// Reads the graphs of the unit's file, in order; no pass has run. False after reporting.
typedef fg_graph_list pl_graph_list;
bool pl_read_graphs(pl_unit *u, pl_graph_list *out);

// Rewrites of the file, of the library and of files that the options name.
typedef struct pl_rewriting {
    src_file *file;       // whose own rewrites apply; NULL: the unit's
    tc_rewrites *language;
    fg_rule_list rules;   // those that the options want
    VEC(src_span) spans;  // of each: its function's name
    fg_engine engine;     // after pl_rewrite_graphs: its trace says what was applied
} pl_rewriting;

bool pl_open_rewrites(pl_unit *u, pl_rewriting *w);
// Simplifies and rewrites graphs, as far as the options want that. False after reporting.
bool pl_rewrite_graphs(pl_unit *u, pl_graph_list *graphs, pl_rewriting *w);
// The lines of the model that a statement of its program launches a kernel for, at [span], or [line] of [file]: how many, and in
// *out, in the unit's memory. 0: it is no such statement. [unit]: a pl_unit; a sim_options.origins.
size_t pl_model_lines(void *unit, src_span span, const char *file, uint32_t line, const src_span **out);
// What is reported at statements of the program is at the lines of the model instead that they are for.
void pl_point_at_model(pl_unit *u);
// Makes the program of the file's graphs the unit's file. False after reporting.
bool pl_lower_graphs(pl_unit *u);

// Gives graphs what the passes "precision" and later ones ask for, by the options. [w]: an elaboration that is open is used; where
// there is none, one is opened when it is needed.
void pl_prepare_graphs(pl_unit *u, pl_graph_list *graphs, pl_rewriting *w);
// Reports what --precision names and no graph has, once the pass "precision" has run.
void pl_check_precision(pl_unit *u, const pl_graph_list *graphs);
// A tc_lower_graph with the unit as its [user].
src_file *pl_lower_for_test(void *user, const char *json, src_file *model, bool as_reference);

typedef struct pl_graphs {
    pl_unit unit;  // its diagnostics, its memory
    pl_graph_list list;
    str text;              // of the model; empty: it is read from a file
    bool rewrites;         // the graphs are simplified and rewritten
    pl_rewriting rewriting;
    bool is_read;
} pl_graphs;

// The graphs of the file options.input, which is a model, or .json: graphs as JSON. They
// live until pl_unit_free(&graphs.unit). [oom]: as for pl_job_init.
pl_status pl_list_graphs(pl_graphs *graphs, const pl_options *options, bool rewrites, arena_oom *oom);
// Likewise of a model that is this text, as it is recorded.
pl_status pl_list_graphs_of(pl_graphs *graphs, const pl_options *options, str text, arena_oom *oom);
