// fuse: groups of nodes that one composed operator computes.
//
// The planner of compositions (stdlib/schedules/composition.hds) makes kernels of a group; these rules give it groups that become
// one kernel, or that it can split as well as anyone:
//
// - elementwise nodes that are the only reader of a product, a reduction or another elementwise node, and have its extents, join it:
//   they are an epilogue, or evaluated where the element is
// - elementwise groups join the reduction that reads them, if it has their extents' elements to read; other readers get the values
//   from memory
//
// Views are groups by themselves, which launch nothing.
//
// A node joins a group only if no path leads from the group out and back to the node: groups run one after the other.
#include "graph/passes/passes.h"

typedef struct fusion {
    fg_graph *g;
    int *group;             // of each node: a node's number, which stands for the group
    fg_number_list *readers; // of each tensor
    int *anchor;            // of each group: its node that is not elementwise; -1: it has none
} fusion;

static int group_of(const fusion *f, int node)
{
    while (f->group[node] != node)
        node = f->group[node];
    return node;
}

static bool are_same_extents(const fg_tensor *a, const fg_tensor *b)
{
    bool same = a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++)
        same = fg_same_extent(a, d, b, d);
    return same;
}

// Whether computing node [n] needs a node of group [group], other than by reading it directly when [is_first].
static bool depends(const fusion *f, int n, int group, bool is_first, bool *seen)
{
    const fg_node *node = &f->g->nodes.at[n];
    for (size_t k = 0; k < node->arguments.len; k++) {
        int t = node->arguments.at[k].tensor, maker = t < 0 ? -1 : f->g->tensors.at[t].maker;
        if (maker < 0 || seen[maker])
            continue;
        bool is_inside = group_of(f, maker) == group;
        if (is_inside && !is_first)
            return true;
        if (!is_inside) {
            seen[maker] = true;
            if (depends(f, maker, group, false, seen))
                return true;
        }
    }
    return false;
}

// Whether joining [n]'s group and [group] leaves an order of groups: nothing that [n]'s group needs from outside needs [group].
static bool stays_ordered(const fusion *f, int n, int group)
{
    bool *seen = ARENA_ARRAY(f->g->memory, bool, f->g->nodes.len + 1);
    int own = group_of(f, n);
    for (size_t i = 0; i < f->g->nodes.len; i++)
        if (!f->g->nodes.at[i].is_dropped && group_of(f, (int)i) == own && depends(f, (int)i, group, true, seen))
            return false;
    return true;
}

static void join(fusion *f, int from, int into)
{
    int a = group_of(f, from), b = group_of(f, into), anchor = f->anchor[a] >= 0 ? f->anchor[a] : f->anchor[b];
    f->group[a] = b;
    f->anchor[b] = anchor;
}

// Elementwise node [n] joins the makers of what it reads.
static void join_makers(fusion *f, int n)
{
    const fg_graph *g = f->g;
    const fg_node *node = &g->nodes.at[n];
    for (size_t k = 0; k < node->arguments.len; k++) {
        int t = node->arguments.at[k].tensor;
        const fg_tensor *x = t < 0 ? NULL : &g->tensors.at[t];
        if (!x || x->maker < 0 || x->is_output || f->readers[t].len != 1 || !are_same_extents(x, &g->tensors.at[node->outputs.at[0]]))
            continue;
        int maker = group_of(f, x->maker), own = group_of(f, n);
        const fg_node *anchor = f->anchor[maker] < 0 ? NULL : &g->nodes.at[f->anchor[maker]];
        bool takes = !anchor || anchor->kind == FG_EPILOGUE || anchor->kind == FG_REDUCTION;
        if (maker != own && takes && (f->anchor[own] < 0 || !anchor) && stays_ordered(f, n, maker))
            join(f, n, maker);
    }
}

// A reduction takes the elementwise groups that it reads.
static void take_elementwise(fusion *f, int n)
{
    const fg_graph *g = f->g;
    const fg_node *node = &g->nodes.at[n];
    for (size_t k = 0; k < node->arguments.len; k++) {
        int t = node->arguments.at[k].tensor;
        const fg_tensor *x = t < 0 ? NULL : &g->tensors.at[t];
        if (!x || x->maker < 0)
            continue;
        int maker = group_of(f, x->maker);
        if (f->anchor[maker] < 0 && maker != group_of(f, n) && stays_ordered(f, n, maker))
            join(f, maker, n);
    }
}

// Numbers the groups in an order in which they can run: a group follows those that it reads.
static void number_groups(fusion *f)
{
    fg_graph *g = f->g;
    bool *is_done = ARENA_ARRAY(g->memory, bool, g->nodes.len + 1);
    for (bool changes = true; changes;) {
        changes = false;
        for (size_t i = 0; i < g->nodes.len; i++) {
            int root = group_of(f, (int)i);
            if (g->nodes.at[i].is_dropped || is_done[root])
                continue;
            bool is_ready = true;
            for (size_t m = 0; m < g->nodes.len && is_ready; m++) {
                if (g->nodes.at[m].is_dropped || group_of(f, (int)m) != root)
                    continue;
                for (size_t k = 0; k < g->nodes.at[m].arguments.len && is_ready; k++) {
                    int t = g->nodes.at[m].arguments.at[k].tensor, maker = t < 0 ? -1 : g->tensors.at[t].maker;
                    is_ready = maker < 0 || group_of(f, maker) == root || is_done[group_of(f, maker)];
                }
            }
            if (!is_ready)
                continue;
            for (size_t m = 0; m < g->nodes.len; m++)
                if (!g->nodes.at[m].is_dropped && group_of(f, (int)m) == root)
                    g->nodes.at[m].group = g->group_count;
            is_done[root] = changes = true;
            g->group_count++;
        }
    }
}

void fg_fuse(fg_graph *g)
{
    fusion f = {.g = g};
    f.group = ARENA_ARRAY(g->memory, int, g->nodes.len + 1);
    f.anchor = ARENA_ARRAY(g->memory, int, g->nodes.len + 1);
    f.readers = fg_all_readers(g->memory, g);
    for (size_t i = 0; i < g->nodes.len; i++) {
        f.group[i] = (int)i;
        f.anchor[i] = g->nodes.at[i].kind == FG_ELEMENTWISE ? -1 : (int)i;
    }
    for (size_t i = 0; i < g->nodes.len; i++) {
        if (g->nodes.at[i].is_dropped)
            continue;
        if (g->nodes.at[i].kind == FG_ELEMENTWISE)
            join_makers(&f, (int)i);
        else if (g->nodes.at[i].kind == FG_REDUCTION)
            take_elementwise(&f, (int)i);
    }
    number_groups(&f);
}
