// How the functions of a graph's program are called.
#include "graph/graph.h"

const char *fg_role_name(fg_role role)
{
    static const char *const names[] = {"input", "weight", "prepared", "output"};
    return names[role];
}

static fg_function describe(arena *a, const fg_graph *g)
{
    fg_function f = {.name = g->name};
    for (size_t i = 0; i < g->inputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->inputs.at[i]];
        VEC_PUSH(a, &f.parameters, ((fg_parameter){t->is_prepared ? FG_PREPARED : t->weight ? FG_WEIGHT : FG_INPUT, t}));
    }
    for (size_t i = 0; i < g->outputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->outputs.at[i]];
        VEC_PUSH(a, &f.parameters, ((fg_parameter){t->is_prepared ? FG_PREPARED : FG_OUTPUT, t}));
    }
    return f;
}

fg_model fg_describe(arena *a, const fg_graph *g)
{
    fg_model m = {.run = describe(a, g)};
    if (g->load)
        m.load = describe(a, g->load);
    return m;
}
