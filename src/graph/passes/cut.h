// Minimum cuts: which things are on the one side and which on the other, so that what stands between them costs least.
//
//     fg_cut c;
//     fg_cut_init(&c, memory, count);                 things 0 … count - 1, and the sides FG_CUT_FIRST and FG_CUT_SECOND
//     fg_cut_cost(&c, a, b, cost);                    if a is on the first side and b on the second one
//     const bool *second = fg_cut_solve(&c);
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"

enum { FG_CUT_FIRST = -1, FG_CUT_SECOND = -2 };

#define FG_CUT_NEVER (INT64_MAX / 4) // a cost that is never paid, if that can be avoided

typedef struct fg_cut_edge {
    int to, reverse; // its thing, and the number of the edge back there
    int64_t left;    // of the cost: what can still flow
} fg_cut_edge;

typedef VEC(fg_cut_edge) fg_cut_edges;

typedef struct fg_cut {
    arena *memory;
    int count;
    fg_cut_edges *edges; // of each thing
    int *level, *next;   // of the present phase
} fg_cut;

void fg_cut_init(fg_cut *c, arena *memory, int count);
void fg_cut_cost(fg_cut *c, int first, int second, int64_t cost);
// Of each thing whether it is on the second side; of equally cheap cuts one with few things there. Dinic's algorithm.
const bool *fg_cut_solve(fg_cut *c);
