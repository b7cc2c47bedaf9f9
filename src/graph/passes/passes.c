#include "graph/passes/passes.h"

#include <assert.h>
#include <string.h>

static const fg_pass passes[] = {
#define FG_PASS(name, function, doc) {name, function, doc},
#include "graph/passes/passes.def"
#undef FG_PASS
};

const fg_pass *fg_pass_at(int index)
{
    return index >= 0 && (size_t)index < sizeof passes / sizeof *passes ? &passes[index] : NULL;
}

const fg_pass *fg_pass_find(const char *name)
{
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        if (strcmp(passes[i].name, name) == 0)
            return &passes[i];
    return NULL;
}

void fg_run_pass(fg_graph *g, const fg_pass *pass)
{
    fg_graph *load = g->load;
    pass->run(g);
    assert(!fg_verify(g));
    if (load) {
        pass->run(load);
        assert(!fg_verify(load));
    }
}

void fg_run_passes(fg_graph *g)
{
    for (int i = 0; fg_pass_at(i); i++)
        fg_run_pass(g, fg_pass_at(i));
}
