// views: tensors that take no kernel, since their elements are those of another tensor, at offsets that are affine in
// the index.
//
// Needs     nodes with [view] (permutations, parts of tensors), and those of kind FG_VIEW (other extents).
// Gives     the tensors of such nodes have a [layout] where all that read them take it: products take matrices with
//           strides, other operators tensors that lie row by row. The nodes are of kind FG_VIEW then.
//           A permutation of what a product computes is FG_VIEW with [written] set: the product writes it
//           (graph/lower.c). So is an output that has other extents than what it is of: that is written there.
// Why here  behind "load", which computes permuted weights once, and in front of "fuse", which takes what is left
//           into kernels.
//
// Layouts are found from the inputs on as if all such nodes were free, and what readers accept from the outputs back. A
// node that has to be computed changes the layouts behind it, so this is done again until nothing changes.
#include "graph/amount.h"
#include "graph/passes/passes.h"

#include <string.h>

typedef struct search {
    fg_graph *g;
    fg_number_list *readers; // of each tensor
    fg_layout *layouts;      // of each tensor
    bool *is_known;          // of each tensor: there is such a layout
    bool *is_computed;       // of each node: it is not free
    bool *is_accepted;       // of each node that may be free: all readers take its result
} search;

static int64_t element_bytes(const fg_tensor *t)
{
    int64_t count = 1;
    for (int d = 0; d < t->rank; d++)
        count *= t->shape[d];
    return t->bytes / count;
}

static bool is_dense(const fg_graph *g, const fg_tensor *t, const fg_layout *l)
{
    return !l->offset.factor && fg_has_rows_in_order(g->memory, t, l);
}

// ---- layouts of views of views
// -----------------------------------------------------------------------------------------

// The layout of a view of [x], which has a layout itself. False: its offset is a sum of different products of open sizes.
static bool compose(arena *a, const fg_tensor *x, const fg_layout *of, const fg_tensor *y, const fg_view *view, fg_layout *out)
{
    *out = (fg_layout){.base = of->base, .offset = of->offset};
    for (int d = 0; d < x->rank; d++) {
        const fg_amount start = fg_amount_of(view->starts[d]), distance = fg_times(a, &start, &of->strides[d]);
        if (!fg_plus(&out->offset, &distance, &out->offset))
            return false;
    }
    for (int d = 0; d < y->rank; d++) {
        const fg_amount steps = fg_amount_of(view->steps[d]);
        if (view->axes[d] >= 0 && !fg_is_single(y, d))
            out->strides[d] = fg_times(a, &steps, &of->strides[view->axes[d]]);
    }
    return true;
}

// Other extents for the elements of [x] in their order: runs of axes that are one become runs of axes with as many
// elements.
static bool reshape(arena *a, const fg_tensor *x, const fg_layout *of, const fg_tensor *y, fg_layout *out)
{
    int from = x->rank - 1, to = y->rank - 1;
    *out = (fg_layout){.base = of->base, .offset = of->offset};
    while (from >= 0) {
        if (fg_is_single(x, from)) {
            from--;
            continue;
        }
        const fg_amount step = of->strides[from];
        fg_amount count = fg_extent_amount(a, x, from--), left = fg_amount_of(1);
        for (; from >= 0; from--) {
            const fg_amount behind = fg_times(a, &step, &count), extent = fg_extent_amount(a, x, from);
            if (!fg_is_single(x, from) && !fg_same_amount(&of->strides[from], &behind))
                break;
            count = fg_times(a, &count, &extent);
        }
        for (; to >= 0 && (fg_is_proper_part(&left, &count) || fg_is_single(y, to)); to--) {
            const fg_amount extent = fg_extent_amount(a, y, to);
            if (!fg_is_single(y, to))
                out->strides[to] = fg_times(a, &step, &left);
            left = fg_times(a, &left, &extent);
        }
        if (!fg_same_amount(&left, &count))
            return false;
    }
    return true;
}

static void find_layout(search *s, const fg_node *n)
{
    const fg_graph *g = s->g;
    for (size_t k = 0; k < n->outputs.len; k++) {
        s->is_known[n->outputs.at[k]] = true;
        s->layouts[n->outputs.at[k]] = fg_row_major(g->memory, &g->tensors.at[n->outputs.at[k]]);
    }
    if ((n->kind != FG_VIEW && !n->view) || s->is_computed[n->number])
        return;
    int from = n->arguments.at[0].tensor, to = n->outputs.at[0];
    const fg_tensor *x = &g->tensors.at[from], *y = &g->tensors.at[to];
    const fg_layout *of = &s->layouts[from];
    fg_layout *out = &s->layouts[to];
    s->is_known[to] = s->is_known[from] && (n->view ? compose(g->memory, x, of, y, n->view, out)
                                                    : reshape(g->memory, x, of, y, out));
}

// Tensors without elements are in no memory, and what computes them launches nothing.
static bool is_of_nothing(const fg_graph *g, const fg_node *n)
{
    int x = n->arguments.len ? n->arguments.at[0].tensor : -1;
    return fg_is_empty(&g->tensors.at[n->outputs.at[0]]) || (x >= 0 && fg_is_empty(&g->tensors.at[x]));
}

static bool is_candidate(const search *s, const fg_node *n)
{
    return !n->is_dropped && (n->kind == FG_VIEW || n->view) && !s->is_computed[n->number];
}

// ---- what readers accept
// -------------------------------------------------------------------------------------------------

// Whether axes with these strides are one, row by row.
static bool are_one(arena *a, const fg_tensor *t, const fg_layout *l, int count)
{
    fg_amount wanted = fg_amount_of(0);
    for (int d = count; d-- > 0;) {
        if (fg_is_single(t, d))
            continue;
        if (wanted.factor && !fg_same_amount(&l->strides[d], &wanted))
            return false;
        const fg_amount extent = fg_extent_amount(a, t, d);
        wanted = fg_times(a, &l->strides[d], &extent);
    }
    return true;
}

// Rows of contiguous elements that begin at multiples of 16 bytes.
static bool have_rows(const fg_tensor *t, const fg_layout *l)
{
    int64_t bytes = element_bytes(t);
    bool ok = t->rank >= 2 && (fg_is_amount(&l->strides[t->rank - 1], 1) || fg_is_single(t, t->rank - 1)) &&
              l->offset.factor % 16 * bytes % 16 == 0;
    for (int d = 0; d < t->rank - 1 && ok; d++) {
        int64_t factor = l->strides[d].factor;
        ok = factor >= 0 && factor % 16 * bytes % 16 == 0 && (factor > 0 || fg_is_single(t, d));
    }
    return ok;
}

static bool is_folded(const fg_graph *g, const fg_node *n)
{
    for (size_t k = 0; k < n->arguments.len && k < n->exchanges.len; k++)
        if (n->arguments.at[k].tensor >= 0 && g->tensors.at[n->arguments.at[k].tensor].rank <= 2)
            return true;
    return false;
}

// For a node whose kernels take a stride for each axis before the last, no more than that; for the others one stride
// for all axes before the last two, or of a product of all rows with one matrix, for all before the last.
static bool takes(const fg_graph *g, const fg_node *n, size_t operand, const fg_tensor *t, const fg_layout *l)
{
    if (!have_rows(t, l))
        return false;
    if (strcmp(n->exchanges.at[operand], FG_ANY_STRIDES) == 0)
        return true;
    return are_one(g->memory, t, l, is_folded(g, n) ? t->rank - 1 : t->rank - 2);
}

static bool accepts(const search *s, const fg_node *n, int tensor)
{
    const fg_graph *g = s->g;
    const fg_tensor *t = &g->tensors.at[tensor];
    const fg_layout *l = &s->layouts[tensor];
    if (is_dense(g, t, l))
        return true;
    if (is_candidate(s, n))
        return s->is_accepted[n->number];
    if (!n->exchanges.len || t->rank < 2)
        return false;
    for (size_t k = 0; k < n->arguments.len; k++)
        if (n->arguments.at[k].tensor == tensor &&
            (n->arguments.at[k].name || k >= n->exchanges.len || !takes(g, n, k, t, l)))
            return false;
    return true;
}

static bool is_free(const search *s, const fg_node *n)
{
    int y = n->outputs.at[0];
    if (!s->is_known[y] || s->g->tensors.at[y].is_output)
        return false;
    for (size_t i = 0; i < s->readers[y].len; i++)
        if (!accepts(s, &s->g->nodes.at[s->readers[y].at[i]], y))
            return false;
    return true;
}

// Whether a node had to be given up: of a chain of views the first, since the others may be free behind it.
static bool give_up(search *s)
{
    const fg_graph *g = s->g;
    bool changed = false;
    for (size_t i = g->nodes.len; i-- > 0;)
        s->is_accepted[i] = is_candidate(s, &g->nodes.at[i]) && is_free(s, &g->nodes.at[i]);
    for (size_t i = g->nodes.len; i-- > 0;) {
        const fg_node *n = &g->nodes.at[i];
        if (!is_candidate(s, n) || s->is_accepted[i])
            continue;
        int maker = g->tensors.at[n->arguments.at[0].tensor].maker;
        if (maker < 0 || !is_candidate(s, &g->nodes.at[maker]) || s->is_accepted[maker])
            s->is_computed[i] = changed = true;
    }
    return changed;
}

// ---- results
// ---------------------------------------------------------------------------------------------------------

// The layout of the operand of a permutation in the memory of its result. False: [view] is none.
static bool invert(arena *a, const fg_tensor *x, const fg_tensor *y, const fg_view *view, fg_layout *out)
{
    const fg_layout to = fg_row_major(a, y);
    *out = (fg_layout){.base = y->number};
    for (int d = 0; d < x->rank; d++) {
        int found = -1;
        for (int k = 0; k < y->rank && !fg_is_single(x, d); k++)
            if (view->axes[k] == d && view->steps[k] == 1 && fg_same_extent(x, d, y, k))
                found = k;
        if (view->starts[d] || (found < 0 && !fg_is_single(x, d)))
            return false;
        if (found >= 0)
            out->strides[d] = to.strides[found];
    }
    return x->rank == y->rank;
}

// The node whose kernels write tensor [t], with what is done elementwise with its result; NULL: there is none.
static const fg_node *product_of(const search *s, int t)
{
    for (int steps = 0; steps < 64; steps++) {
        const fg_node *maker = s->g->tensors.at[t].maker < 0 ? NULL : &s->g->nodes.at[s->g->tensors.at[t].maker];
        if (!maker || maker->is_dropped || maker->outputs.len != 1 || s->readers[t].len != 1 ||
            s->g->tensors.at[t].is_output)
            return NULL;
        if (fg_writes_views(maker))
            return maker;
        if (maker->kind != FG_ELEMENTWISE || maker->view)
            return NULL;
        int next = -1;
        for (size_t k = 0; k < maker->arguments.len; k++) {
            int x = maker->arguments.at[k].tensor;
            if (x >= 0 && s->readers[x].len == 1 && s->g->tensors.at[x].maker >= 0)
                next = x;
        }
        if (next < 0)
            return NULL;
        t = next;
    }
    return NULL;
}

static void find_written(search *s, fg_node *n)
{
    fg_graph *g = s->g;
    int from = n->arguments.at[0].tensor;
    const fg_tensor *x = &g->tensors.at[from], *y = &g->tensors.at[n->outputs.at[0]];
    fg_layout *layout = ARENA_NEW(g->memory, fg_layout);
    const fg_node *product = product_of(s, from);
    if (product && x->rank >= 3 && invert(g->memory, x, y, n->view, layout) && takes(g, product, 0, x, layout)) {
        n->written = layout;
        n->kind = FG_VIEW;
    }
}

// Other extents of what is computed for them alone are the memory of an output from the start.
static bool find_reshaped(const search *s, fg_node *n)
{
    fg_graph *g = s->g;
    int from = n->arguments.at[0].tensor;
    const fg_tensor *x = &g->tensors.at[from], *y = &g->tensors.at[n->outputs.at[0]];
    const fg_node *maker = x->maker < 0 ? NULL : &g->nodes.at[x->maker];
    if (!maker || maker->kind == FG_VIEW || maker->view || s->readers[from].len != 1 || x->is_output || !y->is_output ||
        y->is_prepared || is_of_nothing(g, n))
        return false;
    fg_layout *layout = ARENA_NEW(g->memory, fg_layout);
    *layout = fg_row_major(g->memory, x);
    layout->base = y->number;
    n->written = layout;
    return true;
}

// ---- the pass
// --------------------------------------------------------------------------------------------------------

static void mark_free(search *s)
{
    fg_graph *g = s->g;
    for (size_t i = 0; i < g->nodes.len; i++) {
        fg_node *n = &g->nodes.at[i];
        if (n->is_dropped || (n->kind != FG_VIEW && !n->view))
            continue;
        if (!s->is_computed[i]) {
            fg_tensor *t = &g->tensors.at[n->outputs.at[0]];
            t->layout = arena_dup(g->memory, &s->layouts[t->number], sizeof(fg_layout));
            n->kind = FG_VIEW;
        } else if (n->kind == FG_VIEW) {
            n->kind = find_reshaped(s, n) ? FG_VIEW : FG_ELEMENTWISE;
        } else if (!is_of_nothing(g, n)) {
            find_written(s, n);
        }
    }
}

void fg_views(fg_graph *g)
{
    search s = {.g = g, .readers = fg_all_readers(g->memory, g)};
    s.layouts = ARENA_ARRAY(g->memory, fg_layout, g->tensors.len + 1);
    s.is_known = ARENA_ARRAY(g->memory, bool, g->tensors.len + 1);
    s.is_computed = ARENA_ARRAY(g->memory, bool, g->nodes.len + 1);
    s.is_accepted = ARENA_ARRAY(g->memory, bool, g->nodes.len + 1);
    for (size_t i = 0; i < g->nodes.len; i++)
        s.is_computed[i] = is_of_nothing(g, &g->nodes.at[i]);
    do {
        for (size_t i = 0; i < g->inputs.len; i++) {
            int t = g->inputs.at[i];
            s.is_known[t] = true;
            s.layouts[t] = fg_row_major(g->memory, &g->tensors.at[t]);
        }
        for (size_t i = 0; i < g->nodes.len; i++)
            if (!g->nodes.at[i].is_dropped)
                find_layout(&s, &g->nodes.at[i]);
    } while (give_up(&s));
    mark_free(&s);
}
