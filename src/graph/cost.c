// What nodes do, counted by their shapes.
#include <string.h>

#include "graph/graph.h"

double fg_elements(const fg_tensor *t)
{
    double count = 1;
    for (int d = 0; d < t->rank; d++)
        count *= (double)t->shape[d];
    return count;
}

static const fg_tensor *operand(const fg_graph *g, const fg_node *n, size_t number)
{
    for (size_t k = 0; k < n->arguments.len; k++)
        if (n->arguments.at[k].tensor >= 0 && number-- == 0)
            return &g->tensors.at[n->arguments.at[k].tensor];
    return NULL;
}

static bool has_option(const fg_node *n, const char *name)
{
    for (size_t k = 0; k < n->arguments.len; k++)
        if (n->arguments.at[k].name && strcmp(n->arguments.at[k].name, name) == 0)
            return strcmp(n->arguments.at[k].value ? n->arguments.at[k].value : "", "True") == 0;
    return false;
}

// Of each element of the result, the products that are summed.
static double terms_of_matrices(const fg_node *n, const fg_tensor *x)
{
    bool is_turned = n->exchanges.len && *n->exchanges.at[0] && has_option(n, n->exchanges.at[0]);
    int axis = x->rank - (is_turned && x->rank > 1 ? 2 : 1);
    return axis >= 0 ? (double)x->shape[axis] : 1;
}

// Weights have the filters of the result's channels one behind the other, those of transposed convolutions of the image's.
static double operations_of_product(const fg_graph *g, const fg_node *n, const fg_tensor *result)
{
    const fg_tensor *x = operand(g, n, 0), *w = operand(g, n, 1);
    if (!x || !w || !w->rank)
        return fg_elements(result);
    if (n->exchanges.len)
        return 2 * fg_elements(result) * terms_of_matrices(n, x);
    bool is_transposed = strstr(n->op, "transpose") != NULL;
    return 2 * fg_elements(is_transposed ? x : result) * fg_elements(w) / (double)w->shape[0];
}

double fg_operations(const fg_graph *g, const fg_node *n)
{
    const fg_tensor *result = &g->tensors.at[n->outputs.at[0]];
    if (n->kind == FG_VIEW)
        return 0;
    if (n->kind == FG_EPILOGUE)
        return operations_of_product(g, n, result);
    double most = fg_elements(result);
    for (size_t k = 0; operand(g, n, k); k++) {
        double count = fg_elements(operand(g, n, k));
        most = count > most ? count : most;
    }
    return most;
}
