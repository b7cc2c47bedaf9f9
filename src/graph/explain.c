// Fusion explained: what became of each edge, and what all of it saves.
#include <inttypes.h>
#include <string.h>

#include "graph/graph.h"

static void add_bytes(str_buf *out, int64_t bytes)
{
    if (bytes >= 10 * 1024 * 1024)
        str_addf(out, "%.1f MiB", (double)bytes / (1024 * 1024));
    else if (bytes >= 10 * 1024)
        str_addf(out, "%.1f KiB", (double)bytes / 1024);
    else
        str_addf(out, "%" PRId64 " B", bytes);
}

static void add_edge(str_buf *out, const fg_graph *g, const fg_edge *e)
{
    const fg_tensor *t = &g->tensors.at[e->tensor];
    const fg_node *from = &g->nodes.at[t->maker], *to = &g->nodes.at[e->reader];
    str_addf(out, "  line %d %s -> line %d %s: ", from->line, from->op, to->line, to->op);
    if (e->why)
        str_addf(out, "in memory (%s), ", e->why);
    else
        str_adds(out, "fused, ");
    add_bytes(out, e->bytes);
    str_adds(out, e->why ? " not saved\n" : " saved\n");
}

typedef struct totals {
    int launches;
    int64_t bytes;
} totals;

static int group_of(const fg_node *n, bool is_fused)
{
    return is_fused ? n->group : n->number;
}

// A concatenation whose parts are written where they are in its result (graph/join.c).
static bool is_joined(const fg_graph *g, const fg_node *n)
{
    int first = n->arguments.len ? n->arguments.at[0].tensor : -1;
    if (n->is_dropped || n->kind == FG_VIEW || first < 0 || !g->tensors.at[first].joined)
        return false;
    return g->tensors.at[first].writer == n || g->tensors.at[n->outputs.at[0]].layout;
}

static bool is_computed(const fg_graph *g, const fg_node *n)
{
    return !n->is_dropped && !is_joined(g, n) && (n->kind != FG_VIEW || g->tensors.at[n->outputs.at[0]].is_output);
}

// The tensor that argument [k] of a node reads of another group or the caller; -1: none.
static int read_by(const fg_graph *g, const fg_node *n, size_t k, bool is_fused)
{
    int t = n->arguments.at[k].tensor, maker = t < 0 ? -1 : g->tensors.at[t].maker;
    bool is_inside = maker >= 0 && group_of(&g->nodes.at[maker], is_fused) == group_of(n, is_fused);
    return is_inside ? -1 : t;
}

static bool has(const fg_number_list *list, int number)
{
    for (size_t i = 0; i < list->len; i++)
        if (list->at[i] == number)
            return true;
    return false;
}

// Of each group whether it is launched, since it writes elements, which views may be read for; the bytes that groups write for
// other groups and the caller are added to *[bytes].
static bool *find_launched(const fg_graph *g, bool is_fused, int64_t *bytes)
{
    bool *is_read = ARENA_ARRAY(g->memory, bool, g->tensors.len + 1);
    bool *is_viewed = ARENA_ARRAY(g->memory, bool, g->tensors.len + 1);
    bool *is_launched = ARENA_ARRAY(g->memory, bool, g->nodes.len + 1);
    for (size_t i = 0; i < g->nodes.len; i++)
        for (size_t k = 0; k < g->nodes.at[i].arguments.len && !g->nodes.at[i].is_dropped; k++) {
            int t = read_by(g, &g->nodes.at[i], k, is_fused);
            if (t >= 0)
                (is_computed(g, &g->nodes.at[i]) || is_joined(g, &g->nodes.at[i]) ? is_read : is_viewed)[t] = true;
        }
    for (size_t t = 0; t < g->tensors.len; t++) {
        const fg_tensor *x = &g->tensors.at[t];
        if (x->maker < 0 || !is_computed(g, &g->nodes.at[x->maker]))
            continue;
        bool is_written = is_read[t] || x->is_output;
        *bytes += is_written ? x->bytes : 0;
        is_launched[group_of(&g->nodes.at[x->maker], is_fused)] |= (is_written || is_viewed[t]) && !fg_is_empty(x);
    }
    return is_launched;
}

// Each tensor is read once by a group that needs it, and written if another group or the caller does.
static totals total_of(const fg_graph *g, bool is_fused)
{
    totals found = {0};
    const bool *is_launched = find_launched(g, is_fused, &found.bytes);
    bool *is_counted = ARENA_ARRAY(g->memory, bool, g->nodes.len + 1);
    fg_number_list *readers = ARENA_ARRAY(g->memory, fg_number_list, g->tensors.len + 1); // groups; each once
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        int own = group_of(n, is_fused);
        if (!is_computed(g, n) || !is_launched[own])
            continue;
        found.launches += !is_counted[own];
        is_counted[own] = true;
        for (size_t k = 0; k < n->arguments.len; k++) {
            int t = read_by(g, n, k, is_fused);
            if (t < 0 || has(&readers[t], own))
                continue;
            VEC_PUSH(g->memory, &readers[t], own);
            found.bytes += g->tensors.at[t].bytes;
        }
    }
    return found;
}

static void add_totals(str_buf *out, const char *when, totals t)
{
    str_addf(out, "  %s: %d launch%s, ", when, t.launches, t.launches == 1 ? "" : "es");
    add_bytes(out, t.bytes);
    str_adds(out, " read and written\n");
}

// Launches that are launched together, and how many there are where the kernels of all of them fit.
static void add_side_by_side(str_buf *out, const fg_graph *g, int launches)
{
    int fewer = 0;
    for (size_t i = 0; i < g->launches.len; i++) {
        const fg_launch *l = &g->launches.at[i];
        bool ends = i + 1 == g->launches.len || g->launches.at[i + 1].beside != l->beside;
        bool is_first = l->beside == (int)i;
        if (is_first && ends)
            continue;
        str_addf(out, "%s%s (line %s)%s", is_first ? "  launched together: " : ", ", fg_operators_text(g->memory, l, " + "),
                 fg_lines_text(g->memory, l), ends ? "\n" : "");
        fewer += !is_first;
    }
    if (fewer)
        str_addf(out, "  side by side: %d launch%s, where the kernels of those fit that are launched together\n", launches - fewer,
                 launches - fewer == 1 ? "" : "es");
}

str fg_explain_fusion(const fg_graph *g)
{
    str_buf out;
    str_buf_init(&out, g->memory);
    for (const fg_graph *part = g; part; part = part->load) {
        str_addf(&out, "%s: %zu edge%s, those that save most first\n", part->name, part->edges.len,
                 part->edges.len == 1 ? "" : "s");
        for (size_t i = 0; i < part->edges.len; i++)
            add_edge(&out, part, &part->edges.at[i]);
        if (part->sizes.len)
            str_adds(&out, "  sizes are open: bytes are estimates\n");
        add_totals(&out, "without fusion", total_of(part, false));
        const totals fused = total_of(part, true);
        add_totals(&out, "with fusion", fused);
        add_side_by_side(&out, part, fused.launches);
    }
    return (str){out.at, out.len};
}
