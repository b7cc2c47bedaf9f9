// Graph functions of a file: recorded, and lowered to a program.
#pragma once

#include "graph/graph.h"
#include "pipeline/unit.h"

// Whether the unit's file has graph functions, by its text.
bool pl_has_graphs(const pl_unit *u);
// Reads the graphs of the unit's file, in order; no pass has run. False after reporting.
typedef fg_graph_list pl_graph_list;
bool pl_read_graphs(pl_unit *u, pl_graph_list *out);
// Makes the program of the file's graphs the unit's file. False after reporting.
bool pl_lower_graphs(pl_unit *u);

typedef struct pl_graphs {
    pl_unit unit;  // its diagnostics, its memory
    pl_graph_list list;
    bool is_read;
} pl_graphs;

// The graphs of the file options.input, which is a model, or .json: graphs as JSON. They
// live until pl_unit_free(&graphs.unit). [oom]: as for pl_job_init.
pl_status pl_list_graphs(pl_graphs *graphs, const pl_options *options, arena_oom *oom);
