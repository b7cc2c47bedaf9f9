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
// The node [n] of [g], which need not be in the graph, with an operand for each argument (NULL where that is no tensor): a graph
// with inputs for the distinct tensors among them and this one node. NULL: its operator does not take them. Equal calls are
// recorded once.
const fg_graph *fg_record(const fg_graph *g, const fg_node *n, const fg_tensor *const *operands);
// What fg_record says about the node; its arguments are its operands in [g].
void fg_take_facts(const fg_graph *g, fg_node *n, const fg_graph *made);

// ---- for passes that put nodes between others: they push all nodes in order, and take them at the end ----------------------

typedef struct fg_rebuild {
    fg_graph *g;
    VEC(fg_node) nodes;
} fg_rebuild;

// Numbers the node, and notes that it makes its outputs.
void fg_push_node(fg_rebuild *r, fg_node n);
// The nodes that were pushed are those of the graph.
void fg_take_nodes(fg_rebuild *r);
// A tensor like number [like], named "LIKE_suffix", which no node makes yet and which is no output. Its number.
int fg_add_tensor(fg_graph *g, int like, const char *suffix);
// OP(operand, name=value), without results and facts.
fg_node fg_new_node(const fg_graph *g, const char *module, const char *op, int operand, const char *name, const char *value);
// Of each tensor, whether weights alone make it: what is done with it is done once, at load.
bool *fg_find_constants(const fg_graph *g);
