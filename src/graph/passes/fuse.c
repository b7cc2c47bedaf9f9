// fuse: groups of nodes that one composed operator computes, by what they save.
//
// Does      joins the groups at both ends of an edge, those that save most first: the bytes that are written and read
// again, and
//           the launch, which costs as much as LAUNCH bytes. Which joins become one kernel the planner of compositions
//           decides (stdlib/schedules/composition.hds); the rules here give it what it can make one of, or split as
//           well as anyone.
// Needs     nothing; runs once.
// Gives     [group] of each node, [group_count], and [edges]: what became of each edge and why.
// Why here  last: rewrites, casts and what moves to load time change what there is to fuse.
//
// The rules:
//
// - elementwise nodes that are the only reader of a product, a reduction or another elementwise node, and have its
//   extents, join it: they are an epilogue, or evaluated where the element is. Readers of one group count as one
// - elementwise nodes without a product or reduction join what moves their elements (slices, permutations, joins of tensors)
//   likewise, where no more than twice as many elements come of it, or these are constants, and rows are still read along memory
// - elementwise groups join the reduction that reads them, and the product whose kernels evaluate such an operand; other
//   readers get the values from memory
// - concatenations whose parts are written in place (graph/join.c) are left alone where rows are apart: what reads them reads one
//   tensor then. That is decided when all else has been joined
// - equal reductions but for the operator (max and sum of x along one axis) read their operand once
//
// Joins are tried again until nothing changes: what has two readers waits until these are one group.
//
// Views are groups by themselves, which launch nothing. A node joins a group only if no path leads from the group out
// and back.
#include "graph/amount.h"
#include "graph/passes/passes.h"

#include <stdlib.h>
#include <string.h>

enum {
    LAUNCH = 3000000,     // bytes that memory moves in the time between two launches, about a microsecond
    MOST_EVALUATIONS = 2, // of an element, where a reader with other extents computes it
    ROUNDS = 8,           // in which joins are tried
    LARGEST = 64,         // nodes of a group: longer chains take compile time and registers, and save no more
};

typedef struct fusion {
    fg_graph *g;
    fg_groups groups;
    int *anchor;             // of each group: its first node that is not elementwise; -1: it has none
    fg_number_list *readers; // of each tensor
    const bool *is_joined;   // of each tensor: it is a concatenation without a kernel; NULL: that is not known yet
} fusion;

// An edge, or two reductions of one tensor: then [is_sibling], and [from] is the other one.
typedef struct candidate {
    fg_edge edge;
    int from;
    bool is_sibling;
    int64_t gain;
} candidate;

typedef VEC(candidate) candidate_list;

static fg_node *node_at(const fusion *f, int number)
{
    return &f->g->nodes.at[number];
}

static const fg_node *anchor_of(fusion *f, int node)
{
    int anchor = f->anchor[fg_group_of(&f->groups, node)];
    return anchor < 0 ? NULL : node_at(f, anchor);
}

static bool takes_epilogue(const fg_node *anchor)
{
    return !anchor || anchor->kind == FG_EPILOGUE || anchor->kind == FG_REDUCTION;
}

// Whether another group reads [x] than that of [reader].
static bool is_read_elsewhere(fusion *f, const fg_tensor *x, int reader)
{
    const fg_number_list *readers = &f->readers[x->number];
    int group = fg_group_of(&f->groups, reader);
    bool elsewhere = false;
    for (size_t k = 0; k < readers->len && !elsewhere; k++)
        elsewhere = fg_group_of(&f->groups, readers->at[k]) != group;
    return elsewhere;
}

// Whether neighbours along the last axis of a view are neighbours in [x], which it views.
static bool keeps_rows(const fg_view *view, const fg_tensor *x, const fg_tensor *y)
{
    int from = x->rank - 1, to = y->rank - 1;
    while (to > 0 && fg_is_single(y, to))
        to--;
    while (from > 0 && fg_is_single(x, from))
        from--;
    return to < 0 || view->axes[to] < 0 || (view->axes[to] == from && view->steps[to] == 1);
}

// Whether an element takes one number in memory and its conversion, which is no more than reading the result would take.
static bool is_conversion(fusion *f, const fg_tensor *x)
{
    const fg_node *cast = node_at(f, x->maker);
    bool is_cast = fg_is_op(cast, "arithmetic", "cast") && cast->arguments.at[0].tensor >= 0;
    const fg_tensor *of = is_cast ? &f->g->tensors.at[cast->arguments.at[0].tensor] : NULL;
    return of && (of->maker < 0 || node_at(f, of->maker)->kind == FG_VIEW);
}

// Whether an element is a number, or one of its index: full, arange.
static bool is_constant(fusion *f, const fg_tensor *x)
{
    const fg_node *n = node_at(f, x->maker);
    return !fg_has_operands(n) && strcmp(n->module, "creation") == 0;
}

// Why a reader with other extents does not evaluate what it reads; NULL: nothing is against it.
static const char *obstacle_of_movement(fusion *f, const fg_tensor *x, int reader)
{
    const fg_node *anchor = anchor_of(f, x->maker), *own = anchor_of(f, reader), *n = node_at(f, reader);
    const fg_tensor *y = &f->g->tensors.at[n->outputs.at[0]];
    if (anchor || (own && own->kind != FG_REDUCTION))
        return "the result has other extents";
    if (!is_conversion(f, x) && !is_constant(f, x) && fg_elements(y) > MOST_EVALUATIONS * fg_elements(x))
        return "elements would be computed many times";
    return n->view && !keeps_rows(n->view, x, y) ? "it would be read across its rows" : NULL;
}

// Why an elementwise reader does not join what it reads; NULL: nothing is against it.
static const char *obstacle_of_elementwise(fusion *f, const fg_tensor *x, int reader)
{
    const fg_node *anchor = anchor_of(f, x->maker), *own = anchor_of(f, reader);
    if (!takes_epilogue(anchor))
        return "its kernels take no epilogue";
    if (x->is_output)
        return "it is an output of the graph";
    if (is_read_elsewhere(f, x, reader))
        return "others read it too";
    if (!fg_is_same_shape(x, &f->g->tensors.at[node_at(f, reader)->outputs.at[0]]))
        return obstacle_of_movement(f, x, reader);
    return anchor && own ? "both have reductions or kernels of their own" : NULL;
}

// Why elementwise nodes do not join the operator whose kernels evaluate this operand; NULL: nothing is against it.
static const char *obstacle_of_prologue(fusion *f, const fg_tensor *x, int reader)
{
    if (!fg_evaluates(node_at(f, reader), x->number) || anchor_of(f, x->maker))
        return "the reader has kernels of its own, which read memory";
    if (x->is_output)
        return "it is an output of the graph";
    return is_read_elsewhere(f, x, reader) ? "others read it too" : NULL;
}

// Of concatenations that take no kernel only parts are computed. Which they are is known when all else has been joined.
static bool is_in_place(const fusion *f, const fg_tensor *x)
{
    return fg_is_op(node_at(f, x->maker), "layout", "concat") && (!f->is_joined || f->is_joined[x->number]);
}

static const char *obstacle_of(fusion *f, const fg_tensor *x, int reader)
{
    const fg_node *from = node_at(f, x->maker), *to = node_at(f, reader);
    if (is_in_place(f, x))
        return "its parts are written in place";
    if (from->kind == FG_VIEW || to->kind == FG_VIEW)
        return "a view takes no kernel";
    if (to->kind == FG_KERNELS || to->kind == FG_EPILOGUE)
        return obstacle_of_prologue(f, x, reader);
    if (to->kind == FG_ELEMENTWISE)
        return obstacle_of_elementwise(f, x, reader);
    return anchor_of(f, x->maker) ? "both have reductions or kernels of their own" : NULL;
}

static bool is_same_argument(const fg_argument *a, const fg_argument *b)
{
    const char *name = a->name ? a->name : "", *other = b->name ? b->name : "";
    return strcmp(name, other) == 0 && a->tensor == b->tensor && (a->tensor >= 0 || strcmp(a->value, b->value) == 0);
}

// Reductions of the same operands along the same axes.
static bool are_siblings(const fusion *f, int a, int b)
{
    const fg_node *x = node_at(f, a), *y = node_at(f, b);
    bool same = x->kind == FG_REDUCTION && y->kind == FG_REDUCTION && x->arguments.len == y->arguments.len;
    same = same && fg_is_same_shape(&f->g->tensors.at[x->outputs.at[0]], &f->g->tensors.at[y->outputs.at[0]]);
    for (size_t k = 0; same && k < x->arguments.len; k++)
        same = is_same_argument(&x->arguments.at[k], &y->arguments.at[k]);
    return same;
}

// Other readers of a tensor still need it in memory.
static int64_t saved_bytes(const fusion *f, const fg_tensor *x)
{
    return x->is_output || f->readers[x->number].len > 1 ? x->bytes : 2 * x->bytes;
}

static void add_candidate(fusion *f, candidate_list *list, candidate c)
{
    bool is_large = __builtin_add_overflow(c.edge.bytes, (int64_t)LAUNCH, &c.gain);
    c.gain = is_large ? INT64_MAX : c.gain;
    VEC_PUSH(f->g->memory, list, c);
}

// Two neighbours of the readers of [x] are compared: siblings stand beside each other where models are written.
static void find_candidates(fusion *f, candidate_list *list)
{
    for (size_t t = 0; t < f->g->tensors.len; t++) {
        const fg_tensor *x = &f->g->tensors.at[t];
        const fg_number_list *readers = &f->readers[t];
        for (size_t k = 0; k < readers->len && x->maker >= 0 && !node_at(f, x->maker)->is_dropped; k++) {
            fg_edge edge = {.tensor = (int)t, .reader = readers->at[k], .bytes = saved_bytes(f, x)};
            add_candidate(f, list, (candidate){.edge = edge, .from = x->maker});
        }
        for (size_t k = 1; k < readers->len; k++) {
            fg_edge edge = {.tensor = (int)t, .reader = readers->at[k], .bytes = x->bytes};
            if (are_siblings(f, readers->at[k - 1], readers->at[k]))
                add_candidate(f, list, (candidate){.edge = edge, .from = readers->at[k - 1], .is_sibling = true});
        }
    }
}

// What saves most comes first, then what stands first in the graph.
static int compare(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->gain != y->gain)
        return x->gain > y->gain ? -1 : 1;
    if (x->edge.reader != y->edge.reader)
        return x->edge.reader < y->edge.reader ? -1 : 1;
    if (x->edge.tensor != y->edge.tensor)
        return x->edge.tensor < y->edge.tensor ? -1 : 1;
    return (int)x->is_sibling - (int)y->is_sibling;
}

static void join(fusion *f, int from, int to)
{
    int a = f->anchor[fg_group_of(&f->groups, from)], b = f->anchor[fg_group_of(&f->groups, to)];
    f->anchor[fg_join_groups(&f->groups, from, to)] = a >= 0 ? a : b;
}

// False: nothing was joined.
static bool try(fusion *f, candidate *c)
{
    int from = fg_group_of(&f->groups, c->from), to = fg_group_of(&f->groups, c->edge.reader);
    if (from == to)
        return false;
    c->edge.why = c->is_sibling ? NULL : obstacle_of(f, &f->g->tensors.at[c->edge.tensor], c->edge.reader);
    if (c->edge.why)
        return false;
    if (f->groups.size[from] + f->groups.size[to] > LARGEST)
        c->edge.why = "the group would be too large";
    else if (!fg_is_joinable(&f->groups, from, to) || (c->is_sibling && !fg_is_joinable(&f->groups, to, from)))
        c->edge.why = "another group between them reads the one and is read by the other";
    else
        join(f, from, to);
    return !c->edge.why;
}

static bool has_concatenations(const fg_graph *g)
{
    bool any = false;
    for (size_t i = 0; i < g->nodes.len; i++)
        any |= !g->nodes.at[i].is_dropped && fg_is_op(&g->nodes.at[i], "layout", "concat");
    return any;
}

static void join_all(fusion *f, candidate_list *list)
{
    bool again = true;
    for (int round = 0; again && round < ROUNDS; round++) {
        again = false;
        for (size_t i = 0; i < list->len; i++)
            again = try(f, &list->at[i]) || again;
    }
}

void fg_fuse(fg_graph *g)
{
    fusion f = {.g = g};
    fg_drop_unneeded(g);
    fg_init_groups(&f.groups, g);
    f.anchor = ARENA_ARRAY(g->memory, int, g->nodes.len + 1);
    f.readers = fg_all_readers(g->memory, g);
    for (size_t i = 0; i < g->nodes.len; i++)
        f.anchor[i] = g->nodes.at[i].kind == FG_ELEMENTWISE ? -1 : (int)i;
    candidate_list list = {0};
    find_candidates(&f, &list);
    if (list.len)
        qsort(list.at, list.len, sizeof *list.at, compare);
    join_all(&f, &list);
    fg_number_groups(&f.groups);
    if (has_concatenations(g)) {
        f.is_joined = fg_find_free_joins(g->memory, g);
        join_all(&f, &list);
        fg_number_groups(&f.groups);
    }
    g->edges.len = 0;
    for (size_t i = 0; i < list.len; i++) {
        fg_edge e = list.at[i].edge;
        if (list.at[i].is_sibling)
            continue;
        if (g->nodes.at[g->tensors.at[e.tensor].maker].group == g->nodes.at[e.reader].group)
            e.why = NULL;
        VEC_PUSH(g->memory, &g->edges, e);
    }
}
