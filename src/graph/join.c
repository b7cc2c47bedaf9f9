// Parts of a concatenation are written where they are in its result, so that it takes no kernel.
//
// That is so where a part is one run of the result's elements: all axes before the joined one have one element. Each part has
// to be computed, for memory of its own, and to begin at a multiple of 16 bytes. A concatenation of the first parts of another
// one is the beginning of that one's result (DenseNet).
#include "graph/amount.h"
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16 }; // bytes

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

// A concatenation that is a kernel of its own, whose result is one part after the other.
static bool is_join(const fg_graph *g, const fg_node *n, const int *sizes, const bool *is_elsewhere)
{
    if (n->is_dropped || !fg_is_op(n, "layout", "concat") || sizes[n->group] != 1 || operands(n) < 2)
        return false;
    const fg_tensor *y = &g->tensors.at[n->outputs.at[0]];
    if (is_elsewhere[y->number] || y->layout || y->is_prepared || fg_is_open(y) || fg_is_empty(y))
        return false;
    for (int d = 0; d < axis(n, y->rank); d++)
        if (y->shape[d] != 1)
            return false;
    return true;
}

// Whether a kernel computes the tensor, and may do so anywhere.
static bool is_movable(const fg_graph *g, const fg_tensor *t, const bool *is_elsewhere)
{
    const fg_node *maker = t->maker < 0 ? NULL : &g->nodes.at[t->maker];
    return maker && maker->kind != FG_VIEW && !fg_is_op(maker, "layout", "concat") && !is_elsewhere[t->number] && !t->layout &&
           !t->writer && !t->is_output && !fg_is_open(t) && !fg_is_empty(t);
}

static bool are_movable(const fg_graph *g, const fg_node *n, const bool *is_elsewhere)
{
    const fg_tensor *y = &g->tensors.at[n->outputs.at[0]];
    int64_t bytes = y->bytes / (int64_t)fg_elements(y), offset = 0;
    for (size_t i = 0; i < operands(n); i++) {
        const fg_tensor *x = &g->tensors.at[n->arguments.at[i].tensor];
        if (!is_movable(g, x, is_elsewhere) || strcmp(x->dtype, y->dtype) != 0 || offset * bytes % ALIGNMENT)
            return false;
        for (size_t k = 0; k < i; k++)
            if (n->arguments.at[k].tensor == x->number)
                return false;
        offset += (int64_t)fg_elements(x);
    }
    return true;
}

static const fg_layout *part(arena *a, const fg_tensor *t, int base, int64_t offset)
{
    fg_layout *layout = ARENA_NEW(a, fg_layout);
    *layout = fg_row_major(a, t);
    layout->base = base;
    layout->offset = fg_amount_of(offset);
    return layout;
}

static void join(fg_graph *g, const fg_node *n)
{
    int64_t offset = 0;
    for (size_t i = 0; i < operands(n); i++) {
        fg_tensor *x = &g->tensors.at[n->arguments.at[i].tensor];
        x->writer = n;
        x->joined = part(g->memory, x, n->outputs.at[0], offset);
        offset += (int64_t)fg_elements(x);
    }
}

// Whether the operands of [n] are the first ones of [whole], which writes them in place.
static bool is_beginning(const fg_graph *g, const fg_node *n, const fg_node *whole)
{
    const fg_tensor *x = &g->tensors.at[n->arguments.at[0].tensor];
    if (x->writer != whole || !x->joined || operands(n) > operands(whole) || axis(n, x->rank) != axis(whole, x->rank))
        return false;
    for (size_t i = 0; i < operands(n); i++)
        if (n->arguments.at[i].tensor != whole->arguments.at[i].tensor)
            return false;
    return true;
}

void fg_find_joins(fg_graph *g)
{
    int *sizes = ARENA_ARRAY(g->memory, int, (size_t)g->group_count + 1);
    bool *is_elsewhere = ARENA_ARRAY(g->memory, bool, g->tensors.len + 1); // what is written in the memory of another tensor
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        if (!n->is_dropped && n->group >= 0)
            sizes[n->group]++;
        if (!n->is_dropped && n->written)
            is_elsewhere[n->arguments.at[0].tensor] = true;
    }
    for (size_t i = g->nodes.len; i-- > 0;) { // those that have the others' operands stand behind them
        const fg_node *n = &g->nodes.at[i];
        if (!is_join(g, n, sizes, is_elsewhere))
            continue;
        const fg_node *whole = g->tensors.at[n->arguments.at[0].tensor].writer;
        fg_tensor *y = &g->tensors.at[n->outputs.at[0]];
        if (whole && !y->is_output && is_beginning(g, n, whole)) {
            y->layout = part(g->memory, y, whole->outputs.at[0], 0);
        } else if (are_movable(g, n, is_elsewhere)) {
            join(g, n);
        }
    }
}
