// Parts of a concatenation are written where they are in its result, so that it takes no kernel.
//
// Each part has to be computed, for memory of its own. It is in the result
//
// - one run of elements, where all axes before the joined one have one element: it begins at a multiple of 16 bytes then,
// - or, where the joined axis is the last one (channels last), rows that are apart: they begin at multiples of 16 bytes. Kernels
//   have to write such rows, and those that read the part besides have to read them (Operator.pitched).
//
// A concatenation of the first parts of another one is the beginning of that one's result (DenseNet).
#include "graph/amount.h"
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16 }; // bytes

typedef struct joining {
    fg_graph *g;
    bool *is_elsewhere;      // of each tensor: it is written in the memory of another one
    fg_number_list *readers; // of each tensor
    fg_node_list *groups;    // of each group: its nodes
} joining;

// The number of operands, which stand before options; 0: there are other arguments among them.
static size_t operands(const fg_node *n)
{
    size_t count = 0;
    while (count < n->arguments.len && !n->arguments.at[count].name && n->arguments.at[count].tensor >= 0)
        count++;
    for (size_t i = count; i < n->arguments.len; i++)
        if (n->arguments.at[i].tensor >= 0)
            return 0;
    return count;
}

static int axis(const fg_node *n, int rank)
{
    for (size_t i = 0; i < n->arguments.len; i++)
        if (n->arguments.at[i].name && strcmp(n->arguments.at[i].name, "dim") == 0) {
            int dim = (int)strtol(n->arguments.at[i].value, NULL, 10);
            return dim < 0 ? dim + rank : dim;
        }
    return 0;
}

static const fg_tensor *result_of(const fg_graph *g, const fg_node *n)
{
    return &g->tensors.at[n->outputs.at[0]];
}

// Whether the result is one part after the other.
static bool is_in_runs(const fg_graph *g, const fg_node *n)
{
    const fg_tensor *y = result_of(g, n);
    for (int d = 0; d < axis(n, y->rank); d++)
        if (y->shape[d] != 1)
            return false;
    return true;
}

// A concatenation that is a kernel of its own, of parts that kernels can write.
static bool is_join(const joining *j, const fg_node *n)
{
    const fg_graph *g = j->g;
    if (n->is_dropped || !fg_is_op(n, "layout", "concat") || j->groups[n->group].len != 1 || operands(n) < 2)
        return false;
    const fg_tensor *y = result_of(g, n);
    if (j->is_elsewhere[y->number] || y->layout || y->is_prepared || fg_is_open(y) || fg_is_empty(y))
        return false;
    return is_in_runs(g, n) || axis(n, y->rank) == y->rank - 1;
}

// Whether a kernel computes the tensor, and may do so anywhere.
static bool is_movable(const joining *j, const fg_tensor *t)
{
    const fg_node *maker = t->maker < 0 ? NULL : &j->g->nodes.at[t->maker];
    return maker && maker->kind != FG_VIEW && !fg_is_op(maker, "layout", "concat") && !j->is_elsewhere[t->number] && !t->layout &&
           !t->writer && !t->is_output && !fg_is_open(t) && !fg_is_empty(t);
}

static bool is_output_of_group(const joining *j, const fg_tensor *t)
{
    const fg_number_list *readers = &j->readers[t->number];
    bool is_read = t->is_output;
    for (size_t i = 0; i < readers->len && !is_read; i++)
        is_read = j->g->nodes.at[readers->at[i]].group != j->g->nodes.at[t->maker].group;
    return is_read;
}

// Whether kernels of the group write this result where its rows are apart: the first one of an operator that says so, or that of
// nodes none of which writes rows without gaps only, if it is the only one.
static bool writes_rows_apart(const joining *j, const fg_tensor *t)
{
    const fg_node *maker = &j->g->nodes.at[t->maker];
    const fg_node_list *group = &j->groups[maker->group];
    if (group->len == 1 && maker->outputs.len > 1)
        return maker->pitched & 1 && maker->outputs.at[0] == t->number;
    for (size_t i = 0; i < group->len; i++) {
        const fg_node *n = group->at[i];
        if (n->kind == FG_VIEW || !fg_writes_rows_apart(n))
            return false;
        for (size_t k = 0; k < n->outputs.len; k++)
            if (n->outputs.at[k] != t->number && is_output_of_group(j, &j->g->tensors.at[n->outputs.at[k]]))
                return false;
    }
    return true;
}

// Whether the group's kernels may read rows that are apart in elementwise nodes: before or behind a reduction they may not.
static bool evaluates_rows_apart(const fg_node_list *group)
{
    for (size_t i = 0; i < group->len; i++) {
        const fg_node *n = group->at[i];
        if (n->kind != FG_EPILOGUE && !(n->kind == FG_ELEMENTWISE && n->pitched & 1))
            return false;
    }
    return true;
}

static bool reads_rows_apart(const joining *j, const fg_node *n, int t)
{
    const fg_node_list *group = &j->groups[n->group];
    return n->kind != FG_VIEW && fg_reads_rows_apart(n, t) && (group->len == 1 || evaluates_rows_apart(group));
}

// Whether the operands of [n] are the first ones of [whole], along the same axis.
static bool has_first_operands(const fg_graph *g, const fg_node *n, const fg_node *whole)
{
    int rank = result_of(g, n)->rank;
    if (operands(n) > operands(whole) || axis(n, rank) != axis(whole, rank))
        return false;
    for (size_t i = 0; i < operands(n); i++)
        if (n->arguments.at[i].tensor != whole->arguments.at[i].tensor)
            return false;
    return true;
}

// Whether the result of [n] may be the beginning of that of [whole], which writes its parts in place.
static bool is_beginning(const joining *j, const fg_node *n, const fg_node *whole)
{
    const fg_graph *g = j->g;
    const fg_tensor *y = result_of(g, n);
    bool is_apart = !is_in_runs(g, whole);
    if (n == whole || !is_join(j, n) || y->is_output || !has_first_operands(g, n, whole))
        return false;
    for (size_t i = 0; i < j->readers[y->number].len && is_apart; i++)
        if (!reads_rows_apart(j, &g->nodes.at[j->readers[y->number].at[i]], y->number))
            return false;
    return true;
}

// Whether the part [t] of [n] may be rows of its result.
static bool may_be_apart(const joining *j, const fg_node *n, const fg_tensor *t)
{
    if (!writes_rows_apart(j, t))
        return false;
    for (size_t i = 0; i < j->readers[t->number].len; i++) {
        const fg_node *reader = &j->g->nodes.at[j->readers[t->number].at[i]];
        if (reader != n && !is_beginning(j, reader, n) && !reads_rows_apart(j, reader, t->number))
            return false;
    }
    return true;
}

static bool are_movable(const joining *j, const fg_node *n)
{
    const fg_graph *g = j->g;
    const fg_tensor *y = result_of(g, n);
    int64_t bytes = y->bytes / (int64_t)fg_elements(y), offset = 0;
    bool is_apart = !is_in_runs(g, n);
    for (size_t i = 0; i < operands(n); i++) {
        const fg_tensor *x = &g->tensors.at[n->arguments.at[i].tensor];
        if (!is_movable(j, x) || strcmp(x->dtype, y->dtype) != 0 || offset * bytes % ALIGNMENT)
            return false;
        for (size_t k = 0; k < i; k++)
            if (n->arguments.at[k].tensor == x->number)
                return false;
        if (is_apart && (x->shape[x->rank - 1] * bytes % ALIGNMENT || !may_be_apart(j, n, x)))
            return false;
        offset += is_apart ? x->shape[x->rank - 1] : (int64_t)fg_elements(x);
    }
    return true;
}

// Where [t] is in the result of [n], from that element of it on.
static const fg_layout *part(arena *a, const fg_graph *g, const fg_tensor *t, const fg_node *n, int64_t offset)
{
    const fg_layout whole = fg_row_major(a, result_of(g, n));
    fg_layout *layout = ARENA_NEW(a, fg_layout);
    *layout = fg_row_major(a, t);
    layout->base = whole.base;
    layout->offset = fg_amount_of(offset);
    for (int d = 0; d < t->rank - 1 && !is_in_runs(g, n); d++)
        layout->strides[d] = whole.strides[d];
    return layout;
}

static void join(const joining *j, const fg_node *n)
{
    int64_t offset = 0;
    for (size_t i = 0; i < operands(n); i++) {
        fg_tensor *x = &j->g->tensors.at[n->arguments.at[i].tensor];
        x->writer = n;
        x->joined = part(j->g->memory, j->g, x, n, offset);
        offset += is_in_runs(j->g, n) ? (int64_t)fg_elements(x) : x->shape[x->rank - 1];
    }
}

static void find_groups(joining *j)
{
    fg_graph *g = j->g;
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        if (!n->is_dropped && n->group >= 0)
            VEC_PUSH(g->memory, &j->groups[n->group], n);
        if (!n->is_dropped && n->written)
            j->is_elsewhere[n->arguments.at[0].tensor] = true;
    }
}

void fg_find_joins(fg_graph *g)
{
    joining j = {.g = g, .readers = fg_all_readers(g->memory, g)};
    j.is_elsewhere = ARENA_ARRAY(g->memory, bool, g->tensors.len + 1);
    j.groups = ARENA_ARRAY(g->memory, fg_node_list, (size_t)g->group_count + 1);
    find_groups(&j);
    for (size_t i = g->nodes.len; i-- > 0;) { // those that have the others' operands stand behind them
        const fg_node *n = &g->nodes.at[i];
        if (!is_join(&j, n))
            continue;
        const fg_tensor *first = &g->tensors.at[n->arguments.at[0].tensor];
        const fg_node *whole = first->joined ? first->writer : NULL;
        fg_tensor *y = &g->tensors.at[n->outputs.at[0]];
        if (whole && is_beginning(&j, n, whole))
            y->layout = part(g->memory, g, y, whole, 0);
        else if (are_movable(&j, n))
            join(&j, n);
    }
}

bool *fg_find_free_joins(arena *a, fg_graph *g)
{
    bool *is_free = ARENA_ARRAY(a, bool, g->tensors.len + 1);
    const fg_tensor *before = arena_dup(a, g->tensors.at, g->tensors.len * sizeof *g->tensors.at);
    fg_find_joins(g);
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        if (n->is_dropped || !fg_is_op(n, "layout", "concat") || !operands(n) || is_in_runs(g, n))
            continue;
        const fg_tensor *x = &g->tensors.at[n->arguments.at[0].tensor];
        is_free[n->outputs.at[0]] = result_of(g, n)->layout || (x->joined && x->writer == n);
    }
    for (size_t t = 0; t < g->tensors.len; t++)
        g->tensors.at[t] = before[t];
    return is_free;
}
