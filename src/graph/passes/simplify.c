// simplify: nodes that compute the same are one, and those that no output needs are dropped.
//
// Does      readers of a node that equals an earlier one read that one; what no output needs is marked as dropped.
// Needs     nothing.
// Gives     every node that is left is needed, and no two are equal but for outputs.
// Why here  behind "identities", which makes nodes equal and leaves unneeded ones; before "load" and "fuse", which count readers.
//
// Operators have no effects: equal operators of equal arguments give equal results. Random numbers are drawn by seeds that are
// arguments, so this holds for them too.
#include "graph/passes/passes.h"

#include <string.h>

#include "base/map.h"

// What two equal calls have in common.
static const char *key_of(const fg_graph *g, const fg_node *n)
{
    str_buf out;
    str_buf_init(&out, g->memory);
    str_addf(&out, "%s\n%s", n->module, n->op);
    for (size_t k = 0; k < n->arguments.len; k++) {
        const fg_argument *x = &n->arguments.at[k];
        str_addf(&out, "\n%s=%d %s", x->name ? x->name : "", x->tensor, x->tensor < 0 ? x->value : "");
    }
    return str_text(&out);
}

static bool has_output(const fg_graph *g, const fg_node *n)
{
    for (size_t k = 0; k < n->outputs.len; k++)
        if (g->tensors.at[n->outputs.at[k]].is_output)
            return true;
    return false;
}

static void merge_equal(fg_graph *g)
{
    map seen;
    map_init(&seen, g->memory);
    int *same = ARENA_ARRAY(g->memory, int, g->tensors.len + 1);
    for (size_t i = 0; i < g->tensors.len; i++)
        same[i] = (int)i;
    for (size_t i = 0; i < g->nodes.len; i++) {
        fg_node *n = &g->nodes.at[i];
        if (n->is_dropped)
            continue;
        for (size_t k = 0; k < n->arguments.len; k++)
            if (n->arguments.at[k].tensor >= 0)
                n->arguments.at[k].tensor = same[n->arguments.at[k].tensor];
        const char *key = key_of(g, n);
        const fg_node *first = map_get(&seen, key, strlen(key));
        if (!first) {
            map_put(&seen, key, strlen(key), n);
        } else if (!has_output(g, n)) { // an output has memory of its own
            for (size_t k = 0; k < n->outputs.len; k++)
                same[n->outputs.at[k]] = first->outputs.at[k];
            n->is_dropped = true;
        }
    }
}

void fg_drop_unneeded(fg_graph *g)
{
    bool *needed = ARENA_ARRAY(g->memory, bool, g->tensors.len + 1);
    for (size_t k = 0; k < g->outputs.len; k++)
        needed[g->outputs.at[k]] = true;
    for (size_t i = g->nodes.len; i-- > 0;) {
        fg_node *n = &g->nodes.at[i];
        bool is_needed = false;
        for (size_t k = 0; k < n->outputs.len; k++)
            is_needed |= needed[n->outputs.at[k]];
        n->is_dropped |= !is_needed;
        for (size_t k = 0; k < n->arguments.len && !n->is_dropped; k++)
            if (n->arguments.at[k].tensor >= 0)
                needed[n->arguments.at[k].tensor] = true;
    }
}

void fg_simplify(fg_graph *g)
{
    merge_equal(g);
    fg_drop_unneeded(g);
}
