// Calls as the language records them: what a node is for other operands or attributes than those it was recorded with.
//
//     const fg_graph *made = fg_record(g, &changed, operands);    kind, views and results of the changed call
//     if (made)
//         fg_take_facts(g, &changed, made);
//
// Types and extents of results follow from definitions, which C does not know (ADR 0026). So the call is written as a graph function
// of its own, with the operands as parameters, and recorded.
#pragma once

#include "base/map.h"
#include "graph/graph.h"

typedef struct fg_language {
    // What the only graph function of [text] records, as fg_read_json reads it; NULL: an operator does not take what it is given.
    // Nothing is reported.
    const char *(*record)(void *user, const char *text);
    void *user;
    map known; // what was recorded, by texts
} fg_language;

void fg_language_init(fg_language *l, arena *a, const char *(*record)(void *user, const char *text), void *user);
// The node [n] of [g], which need not be in the graph, with [operands], one for each argument that is a tensor: a graph with inputs
// for the distinct tensors among them and this one node. NULL: its operator does not take them. Equal calls are recorded once.
const fg_graph *fg_record(const fg_graph *g, const fg_node *n, const fg_tensor *const *operands);
// What fg_record says about the node; its arguments are its operands in [g].
void fg_take_facts(const fg_graph *g, fg_node *n, const fg_graph *made);
