#include "graph/passes/cut.h"

#include <string.h>

// The two sides are things behind the others.
static int index_of(const fg_cut *c, int thing)
{
    return thing == FG_CUT_FIRST ? c->count : thing == FG_CUT_SECOND ? c->count + 1 : thing;
}

void fg_cut_init(fg_cut *c, arena *memory, int count)
{
    *c = (fg_cut){.memory = memory, .count = count};
    c->edges = ARENA_ARRAY(memory, fg_cut_edges, (size_t)count + 2);
    c->level = ARENA_ARRAY(memory, int, (size_t)count + 2);
    c->next = ARENA_ARRAY(memory, int, (size_t)count + 2);
}

void fg_cut_cost(fg_cut *c, int first, int second, int64_t cost)
{
    int a = index_of(c, first), b = index_of(c, second);
    if (a == b || cost <= 0)
        return;
    int at_a = (int)c->edges[a].len, at_b = (int)c->edges[b].len;
    VEC_PUSH(c->memory, &c->edges[a], ((fg_cut_edge){b, at_b, cost}));
    VEC_PUSH(c->memory, &c->edges[b], ((fg_cut_edge){a, at_a, 0}));
}

// How far each thing is from the first side, along edges that are not full; -1: it cannot be reached.
static bool find_levels(fg_cut *c, int *queue)
{
    int begin = 0, end = 0;
    memset(c->level, -1, ((size_t)c->count + 2) * sizeof *c->level);
    memset(c->next, 0, ((size_t)c->count + 2) * sizeof *c->next);
    c->level[c->count] = 0;
    queue[end++] = c->count;
    while (begin < end) {
        int at = queue[begin++];
        for (size_t k = 0; k < c->edges[at].len; k++) {
            const fg_cut_edge *e = &c->edges[at].at[k];
            if (e->left > 0 && c->level[e->to] < 0) {
                c->level[e->to] = c->level[at] + 1;
                queue[end++] = e->to;
            }
        }
    }
    return c->level[c->count + 1] >= 0;
}

// A path to the second side along levels: the number of its edges, in [path] as (thing, edge); 0: there is none left.
static int find_path(fg_cut *c, int (*path)[2])
{
    int len = 0, at = c->count;
    while (at != c->count + 1) {
        fg_cut_edges *edges = &c->edges[at];
        int *k = &c->next[at];
        while (*k < (int)edges->len && (edges->at[*k].left <= 0 || c->level[edges->at[*k].to] != c->level[at] + 1))
            (*k)++;
        if (*k < (int)edges->len) {
            path[len][0] = at;
            path[len++][1] = *k;
            at = edges->at[*k].to;
        } else if (len) { // a dead end
            at = path[--len][0];
            c->next[at]++;
        } else {
            return 0;
        }
    }
    return len;
}

static void fill(fg_cut *c, int (*path)[2], int len)
{
    int64_t flow = INT64_MAX;
    for (int i = 0; i < len; i++) {
        int64_t left = c->edges[path[i][0]].at[path[i][1]].left;
        flow = left < flow ? left : flow;
    }
    for (int i = 0; i < len; i++) {
        fg_cut_edge *e = &c->edges[path[i][0]].at[path[i][1]];
        e->left -= flow;
        c->edges[e->to].at[e->reverse].left += flow;
    }
}

// Whether the second side can be reached from each thing: then it is on that side. What neither side needs stays on the first one.
static const bool *find_sides(fg_cut *c, int *queue)
{
    bool *second = ARENA_ARRAY(c->memory, bool, (size_t)c->count + 2);
    int begin = 0, end = 0;
    second[c->count + 1] = true;
    queue[end++] = c->count + 1;
    while (begin < end) {
        int at = queue[begin++];
        for (size_t k = 0; k < c->edges[at].len; k++) {
            const fg_cut_edge *back = &c->edges[at].at[k];
            if (!second[back->to] && c->edges[back->to].at[back->reverse].left > 0) {
                second[back->to] = true;
                queue[end++] = back->to;
            }
        }
    }
    return second;
}

const bool *fg_cut_solve(fg_cut *c)
{
    int *queue = ARENA_ARRAY(c->memory, int, (size_t)c->count + 2);
    int(*path)[2] = arena_alloc(c->memory, ((size_t)c->count + 2) * sizeof *path);
    while (find_levels(c, queue))
        for (int len; (len = find_path(c, path));)
            fill(c, path, len);
    return find_sides(c, queue);
}
