// The passes over graphs, in the order in which they run.
#pragma once

#include "graph/graph.h"

typedef struct fg_pass {
    const char *name;
    void (*run)(fg_graph *g);
} fg_pass;

// "simplify": nodes that compute the same are one, and those that no output needs are dropped.
void fg_simplify(fg_graph *g);
// Marks the nodes that no output needs as dropped.
void fg_drop_unneeded(fg_graph *g);
// "load": what depends on weights alone becomes the graph [g->load]; the passes behind it run on both.
void fg_load(fg_graph *g);
// "views": permuted and cut tensors that are read, or written, where they are.
void fg_views(fg_graph *g);
// "fuse": groups of nodes that one launch of a composed operator computes.
void fg_fuse(fg_graph *g);
// NULL after the last one.
const fg_pass *fg_pass_at(int index);
