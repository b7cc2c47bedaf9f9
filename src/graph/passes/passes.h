// The passes over graphs, and what they share. The table is passes.def.
#pragma once

#include "graph/graph.h"

#define FG_PASS(name, function, doc) void function(fg_graph *g);
#include "graph/passes/passes.def"
#undef FG_PASS

// ---- for passes ----------------------------------------------------------------------------------------------------

// Marks the nodes that no output needs as dropped.
void fg_drop_unneeded(fg_graph *g);

// Groups of nodes, as sets that are joined. All steps but fg_number_groups take nearly constant time.
typedef struct fg_groups {
    fg_graph *g;
    int *parent, *next, *size; // a tree and a ring of the members of each group; the size at its root
    int *least, *most;         // at the root: the numbers of its first and last node
    int *seen, search;         // groups that the present search has seen
} fg_groups;

void fg_init_groups(fg_groups *s, fg_graph *g);
int fg_group_of(fg_groups *s, int node);
// Returns the root of the new group.
int fg_join_groups(fg_groups *s, int a, int b);
// Whether a group that is joined of both can run as one: no path leads from group [from] through others to group [to].
// A long search is given up with false.
bool fg_is_joinable(fg_groups *s, int from, int to);
// Gives every node the number of its group, in an order in which they can run: a group follows those that it reads. Of those that
// can run, the one with the first node runs first. n log n.
void fg_number_groups(fg_groups *s);
