#include "graph/passes/passes.h"

static const fg_pass passes[] = {{"simplify", fg_simplify}, {"load", fg_load}, {"views", fg_views}, {"fuse", fg_fuse}};

const fg_pass *fg_pass_at(int index)
{
    return index >= 0 && (size_t)index < sizeof passes / sizeof *passes ? &passes[index] : NULL;
}

void fg_run_passes(fg_graph *g)
{
    for (int i = 0; fg_pass_at(i); i++) {
        fg_graph *load = g->load;
        fg_pass_at(i)->run(g);
        if (load)
            fg_pass_at(i)->run(load);
    }
}
