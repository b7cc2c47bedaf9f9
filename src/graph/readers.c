// Who reads a tensor.
#include "graph/graph.h"

#include <string.h>

// Whether an argument before number [k] is the same tensor.
static bool is_repeated(const fg_node *n, size_t k)
{
    for (size_t i = 0; i < k; i++)
        if (n->arguments.at[i].tensor == n->arguments.at[k].tensor)
            return true;
    return false;
}

fg_number_list *fg_all_readers(arena *a, const fg_graph *g)
{
    fg_number_list *readers = ARENA_ARRAY(a, fg_number_list, g->tensors.len + 1);
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        for (size_t k = 0; k < n->arguments.len && !n->is_dropped; k++)
            if (n->arguments.at[k].tensor >= 0 && !is_repeated(n, k))
                VEC_PUSH(a, &readers[n->arguments.at[k].tensor], (int)i);
    }
    return readers;
}

bool fg_evaluates(const fg_node *n, int t)
{
    for (size_t k = 0; k < n->arguments.len; k++)
        if (n->arguments.at[k].tensor == t && (n->arguments.at[k].name || k >= 32 || !(n->evaluates >> k & 1)))
            return false;
    return true;
}

bool fg_writes_rows_apart(const fg_node *n)
{
    return n->pitched & 1 || fg_writes_views(n);
}

bool fg_reads_rows_apart(const fg_node *n, int t)
{
    for (size_t k = 0; k < n->arguments.len; k++) {
        bool is_matrix = k < n->exchanges.len, is_pitched = k < 31 && n->pitched >> (k + 1) & 1;
        if (n->arguments.at[k].tensor == t && (n->arguments.at[k].name || !(is_matrix || is_pitched)))
            return false;
    }
    return true;
}

bool fg_writes_views(const fg_node *n)
{
    return n->exchanges.len && (n->kind == FG_EPILOGUE || strcmp(n->exchanges.at[0], FG_ANY_STRIDES) == 0);
}
