// What differs between two graphs: operators, their arguments, the tensors between them, inputs, outputs and weights.
//
//     fg_diff d = fg_compare(&memory, a, names_a, b, names_b);
//
// Nodes are paired in their order: first those that are the same by name, operator, arguments and weights, then by operator and
// arguments, then by operator alone, then what stands alone at the same place. What is paired may have changes.
#pragma once

#include "graph/graph.h"

typedef struct fg_change {
    const char *what;  // "operator", "kernel_size", "argument 2", "result"
    const char *a, *b; // as texts; "": it is not there
} fg_change;

typedef struct fg_node_diff {
    const fg_node *a, *b;   // NULL: it is only in the other graph
    VEC(fg_change) changes; // of a pair; never none
    bool is_consequence;    // only results have other types, and so has an operand
} fg_node_diff;

typedef struct fg_tensor_diff {
    const fg_tensor *a, *b;      // NULL: it is only in the other graph
    const char *from_a, *from_b; // of outputs: what they are
} fg_tensor_diff;

typedef VEC(fg_tensor_diff) fg_tensor_diffs;

typedef struct fg_diff {
    VEC(fg_node_diff) nodes; // in order
    fg_tensor_diffs inputs;  // that are not in both with one type
    fg_tensor_diffs outputs; // that are not in both, have another type, or are another node's result
    fg_tensor_diffs weights; // all: by name, or if that is in one graph only, by the node that reads them
} fg_diff;

// [names_a]: what nodes are called where the model comes from, by number; NULL: no node has a name, or this one has none. In [a].
fg_diff fg_compare(arena *memory, const fg_graph *a, const char *const *names_a, const fg_graph *b, const char *const *names_b);

// Pairs equal elements of two lists in their order, as many as there can be. [match]: of the [n] elements of [a], the element of
// [b]; -1 before for all that are not paired yet. Pairs that are there stay. Scratch memory in [memory].
void fg_align(arena *memory, const int *a, int n, const int *b, int m, int *match);
