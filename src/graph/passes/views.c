// views: tensors that take no kernel, since their elements are those of another tensor, at offsets that are affine in
// the index.
//
// Needs     nodes with [view] (permutations, parts of tensors), and those of kind FG_VIEW (other extents).
// Gives     the tensors of such nodes have a [layout] where all that read them take it: products take matrices with
//           strides, other operators tensors that lie row by row. The nodes are of kind FG_VIEW then.
//           A permutation of what a product computes is FG_VIEW with [written] set: the product writes it
//           (graph/lower.c).
// Why here  behind "load", which computes permuted weights once, and in front of "fuse", which takes what is left
//           into kernels.
//
// Layouts are found from the inputs on as if all such nodes were free, and what readers accept from the outputs back. A
// node that has to be computed changes the layouts behind it, so this is done again until nothing changes.
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

static void set_dense(const fg_tensor *t, fg_layout *out)
{
    int64_t step = 1;
    *out = (fg_layout){.base = t->number};
    for (int d = t->rank; d-- > 0; step *= t->shape[d])
        out->strides[d] = t->shape[d] > 1 ? step : 0;
}

static bool is_dense(const fg_tensor *t, const fg_layout *l)
{
    fg_layout dense;
    set_dense(t, &dense);
    bool same = l->offset == 0;
    for (int d = 0; d < t->rank && same; d++)
        same = t->shape[d] == 1 || l->strides[d] == dense.strides[d];
    return same;
}

// ---- layouts of views of views
// -----------------------------------------------------------------------------------------

// The step along one axis of [x], which lies row by row, that is a step of [n] elements; its axis is *[axis]. 0: it is
// not along one axis, or leaves it after [count] steps.
static int64_t step_of(const fg_tensor *x, int64_t n, int64_t count, int *axis)
{
    int64_t behind = 1;
    for (int d = x->rank; d-- > 0; behind *= x->shape[d]) {
        int64_t size = n < 0 ? -n : n;
        if (x->shape[d] == 1 || size % behind || size / behind * (count - 1) >= x->shape[d])
            continue;
        *axis = d;
        return n / behind;
    }
    return 0;
}

// The layout of a view of [x], which has a layout itself.
static bool compose(const fg_tensor *x, const fg_layout *of, const fg_tensor *y, const fg_layout *view, fg_layout *out)
{
    int64_t rest = view->offset;
    *out = (fg_layout){.base = of->base, .offset = of->offset};
    for (int d = x->rank; d-- > 0; rest /= x->shape[d])
        out->offset += rest % x->shape[d] * of->strides[d];
    for (int d = 0; d < y->rank; d++) {
        int axis = 0;
        if (y->shape[d] == 1)
            continue;
        int64_t step = step_of(x, view->strides[d], y->shape[d], &axis);
        if (!step)
            return false;
        out->strides[d] = step * of->strides[axis];
    }
    return true;
}

// Other extents for the elements of [x] in their order: runs of axes that are one become runs of axes with as many
// elements.
static bool reshape(const fg_tensor *x, const fg_layout *of, const fg_tensor *y, fg_layout *out)
{
    int from = x->rank - 1, to = y->rank - 1;
    *out = (fg_layout){.base = of->base, .offset = of->offset};
    while (from >= 0) {
        if (x->shape[from] == 1) {
            from--;
            continue;
        }
        int64_t step = of->strides[from], count = x->shape[from--], left = 1;
        for (; from >= 0 && (x->shape[from] == 1 || of->strides[from] == step * count); from--)
            count *= x->shape[from];
        for (; to >= 0 && (left < count || y->shape[to] == 1); left *= y->shape[to--])
            out->strides[to] = y->shape[to] > 1 ? step * left : 0;
        if (left != count)
            return false;
    }
    return true;
}

static void find_layout(search *s, const fg_node *n)
{
    const fg_graph *g = s->g;
    for (size_t k = 0; k < n->outputs.len; k++) {
        s->is_known[n->outputs.at[k]] = true;
        set_dense(&g->tensors.at[n->outputs.at[k]], &s->layouts[n->outputs.at[k]]);
    }
    if (n->kind != FG_VIEW && !n->view)
        return;
    int from = n->arguments.at[0].tensor, to = n->outputs.at[0];
    const fg_tensor *x = &g->tensors.at[from], *y = &g->tensors.at[to];
    fg_layout *out = &s->layouts[to];
    if (fg_is_open(x) || fg_is_open(y)) { // strides are not known, but memory row by row stays so
        s->is_known[to] = !s->is_computed[n->number] && s->is_known[from] && !n->view && is_dense(x, &s->layouts[from]);
        out->base = s->layouts[from].base;
    } else if (!s->is_computed[n->number] && s->is_known[from])
        s->is_known[to] =
            n->view ? compose(x, &s->layouts[from], y, n->view, out) : reshape(x, &s->layouts[from], y, out);
    else if (!s->is_computed[n->number])
        s->is_known[to] = false;
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
static bool are_one(const fg_tensor *t, const fg_layout *l, int count)
{
    int64_t wanted = -1;
    for (int d = count; d-- > 0;) {
        if (t->shape[d] == 1)
            continue;
        if (wanted >= 0 && l->strides[d] != wanted)
            return false;
        wanted = l->strides[d] * t->shape[d];
    }
    return true;
}

// Rows of contiguous elements that begin at multiples of 16 bytes.
static bool have_rows(const fg_tensor *t, const fg_layout *l)
{
    int64_t bytes = element_bytes(t);
    bool ok =
        t->rank >= 2 && (l->strides[t->rank - 1] == 1 || t->shape[t->rank - 1] == 1) && l->offset * bytes % 16 == 0;
    for (int d = 0; d < t->rank - 1 && ok; d++)
        ok = l->strides[d] >= 0 && l->strides[d] * bytes % 16 == 0 && (l->strides[d] > 0 || t->shape[d] == 1);
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
    return are_one(t, l, is_folded(g, n) ? t->rank - 1 : t->rank - 2);
}

static bool accepts(const search *s, const fg_node *n, int tensor)
{
    const fg_graph *g = s->g;
    const fg_tensor *t = &g->tensors.at[tensor];
    const fg_layout *l = &s->layouts[tensor];
    if (is_dense(t, l))
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

// The layout of the operand of a permutation in the memory of its result.
static bool invert(const fg_tensor *x, const fg_tensor *y, const fg_layout *view, fg_layout *out)
{
    fg_layout from, to;
    set_dense(x, &from);
    set_dense(y, &to);
    *out = (fg_layout){.base = y->number};
    for (int d = 0; d < x->rank; d++) {
        int found = -1;
        for (int k = 0; k < y->rank && x->shape[d] > 1; k++)
            if (y->shape[k] == x->shape[d] && view->strides[k] == from.strides[d])
                found = k;
        if (found < 0 && x->shape[d] > 1)
            return false;
        out->strides[d] = found < 0 ? 0 : to.strides[found];
    }
    return x->bytes == y->bytes && !view->offset;
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
    if (product && x->rank >= 3 && invert(x, y, n->view, layout) && takes(g, product, 0, x, layout)) {
        n->written = layout;
        n->kind = FG_VIEW;
    }
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
            n->kind = FG_ELEMENTWISE;
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
            set_dense(&g->tensors.at[t], &s.layouts[t]);
        }
        for (size_t i = 0; i < g->nodes.len; i++)
            if (!g->nodes.at[i].is_dropped)
                find_layout(&s, &g->nodes.at[i]);
    } while (give_up(&s));
    mark_free(&s);
}
