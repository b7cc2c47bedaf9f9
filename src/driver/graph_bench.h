#pragma once

#include "diag/diag.h"
#include "graph/graph.h"

// Sets the notes of launches by the first run in [path], a result of `hdsc bench --json` for one of the graphs. Needs fg_lower.
// False after reporting HDS0751. Notes are in [a].
bool cmd_graph_bench(arena *a, diag_context *diags, const char *path, fg_graph *const *graphs, size_t count);
