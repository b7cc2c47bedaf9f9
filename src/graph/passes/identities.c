// identities: nodes that change nothing are dropped, views and casts of each other are merged, products take transposes.
//
// Does      x + 0, x - 0, x * 1, x / 1, casts to the own type, reshapes to the own extents, orders of axes that are none: readers
//           read x. A reshape of a reshape and an order of an order are one; so is a cast of a cast to a wider float. A cast of
//           an input comes behind a reshape of it, where readers can do it. An order that only moves axes of one element is a
//           reshape; one between reshapes that join the first axes and part them again is an order of all axes. A product reads
//           an operand whose two last axes were exchanged as it was, by the option that its operator names for that.
//           All but the last also before rewrites, which look for what is left.
// Needs     nothing; runs on what was rewritten again.
// Gives     what nobody reads any more is dropped.
// Why here  before "simplify", for which more is equal then, and before fusion, which sees what is left.
//
// One walk in the order of the nodes: what a node reads is in its final form before the node is looked at. -0.0 + 0 is 0.0, which
// is the only value that changes.
#include "graph/passes/passes.h"

#include <stdlib.h>
#include <string.h>

typedef struct walk {
    fg_graph *g;
    int *same; // of each tensor: what is read instead of it
    const fg_number_list *readers; // of each tensor, before the walk
    bool keeps_products;
} walk;

static const fg_tensor *operand_of(const fg_graph *g, const fg_node *n)
{
    int t = n->arguments.len ? n->arguments.at[0].tensor : -1;
    return t < 0 ? NULL : &g->tensors.at[t];
}

// The live node that makes a tensor; NULL: an input.
static const fg_node *maker_of(const fg_graph *g, int tensor)
{
    int maker = tensor < 0 ? -1 : g->tensors.at[tensor].maker;
    return maker < 0 || g->nodes.at[maker].is_dropped ? NULL : &g->nodes.at[maker];
}

// ---- nodes that change nothing ---------------------------------------------------------------------------------------

static bool is_number(const fg_argument *x, double wanted)
{
    char *end = NULL;
    double have = x->tensor < 0 && x->value ? strtod(x->value, &end) : 0;
    return end && end != x->value && !*end && have == wanted;
}

// Whether the number leaves all elements of the operand as they are. Integers are rounded where they meet a number with a point.
static bool is_neutral(const fg_graph *g, const fg_argument *x, const fg_argument *number, double neutral)
{
    if (x->tensor < 0 || !is_number(number, neutral))
        return false;
    const char *dtype = g->tensors.at[x->tensor].dtype;
    bool is_integer = *dtype == 'i' || *dtype == 'u' || strcmp(dtype, "bool") == 0;
    return !is_integer || !strpbrk(number->value, ".eE");
}

// x + 0 and the like, with the number behind the tensor or, where that is the same, before it.
static int neutral_operand(const fg_graph *g, const fg_node *n)
{
    // clang-format off
    static const struct { const char *op; double neutral; bool is_symmetric; } neutrals[] = {
        {"add", 0, true}, {"subtract", 0, false}, {"multiply", 1, true}, {"divide", 1, false},
    };
    // clang-format on
    for (size_t i = 0; i < sizeof neutrals / sizeof *neutrals; i++) {
        if (n->arguments.len != 2 || !fg_is_op(n, "arithmetic", neutrals[i].op))
            continue;
        const fg_argument *x = &n->arguments.at[0], *y = &n->arguments.at[1];
        if (is_neutral(g, x, y, neutrals[i].neutral))
            return x->tensor;
        if (neutrals[i].is_symmetric && is_neutral(g, y, x, neutrals[i].neutral))
            return y->tensor;
    }
    return -1;
}

// Floats of more exponent and more digits than [narrow] hold all its values.
static bool is_wider(const char *wide, const char *narrow)
{
    bool is_f32 = strcmp(wide, "f32") == 0, is_f64 = strcmp(wide, "f64") == 0;
    bool is_half = strcmp(narrow, "f16") == 0 || strcmp(narrow, "bf16") == 0;
    return (is_f32 && is_half) || (is_f64 && (is_half || strcmp(narrow, "f32") == 0));
}

// cast(cast(x, wide), to): cast(x, to), since the wide type has each value of x.
static void merge_casts(const fg_graph *g, fg_node *n)
{
    const fg_tensor *middle = operand_of(g, n);
    const fg_node *inner = middle ? maker_of(g, middle->number) : NULL;
    const fg_tensor *x = inner && fg_is_op(inner, "arithmetic", "cast") ? operand_of(g, inner) : NULL;
    if (x && is_wider(middle->dtype, x->dtype))
        n->arguments.at[0].tensor = x->number;
}

// Whether results of the operator are their operand's elements in their order, if the extents are the same.
static bool keeps_elements(const fg_node *n)
{
    static const char *const ops[] = {"reshape", "narrow", "expand"};
    bool found = fg_is_op(n, "arithmetic", "cast");
    for (size_t i = 0; i < sizeof ops / sizeof *ops && !found; i++)
        found = fg_is_op(n, "layout", ops[i]);
    return found;
}

// ---- orders of axes --------------------------------------------------------------------------------------------------

typedef struct order {
    int rank, axes[FG_MAX_RANK];
} order;

static bool read_axes(const char *text, int rank, int *axes, int count)
{
    int found = 0;
    for (const char *at = text; at && *at;) {
        char *end;
        long axis = strtol(at, &end, 10);
        if (end == at) {
            at++;
            continue;
        }
        if (found == count || axis < -rank || axis >= rank)
            return false;
        axes[found++] = (int)(axis < 0 ? axis + rank : axis);
        at = end;
    }
    return found == count;
}

static const char *value_of(const fg_node *n, const char *name, size_t position)
{
    for (size_t k = 0; k < n->arguments.len; k++) {
        const fg_argument *x = &n->arguments.at[k];
        if (x->tensor < 0 && (x->name ? strcmp(x->name, name) == 0 : k == position))
            return x->value;
    }
    return NULL;
}

// The order of axes that a node gives its operand; false: it is no such node.
static bool order_of(const fg_graph *g, const fg_node *n, order *o)
{
    const fg_tensor *x = operand_of(g, n);
    o->rank = x ? x->rank : 0;
    if (!x)
        return false;
    if (fg_is_op(n, "layout", "permute"))
        return read_axes(value_of(n, "dims", 1), o->rank, o->axes, o->rank);
    int a = 0, b = 0;
    bool is_swap = fg_is_op(n, "layout", "transpose") && read_axes(value_of(n, "dim0", 1), o->rank, &a, 1) &&
                   read_axes(value_of(n, "dim1", 2), o->rank, &b, 1);
    for (int k = 0; is_swap && k < o->rank; k++)
        o->axes[k] = k == a ? b : k == b ? a : k;
    return is_swap;
}

static bool is_in_order(const order *o)
{
    bool same = true;
    for (int k = 0; k < o->rank; k++)
        same &= o->axes[k] == k;
    return same;
}

// Whether only the two last axes are exchanged.
static bool is_matrix_transpose(const order *o)
{
    bool same = o->rank >= 2;
    for (int k = 0; same && k < o->rank; k++)
        same = o->axes[k] == (k == o->rank - 1 ? k - 1 : k == o->rank - 2 ? k + 1 : k);
    return same;
}

static void set_arguments(fg_graph *g, fg_node *n, int tensor, const char *name, const char *value)
{
    n->arguments = (fg_argument_list){0};
    VEC_PUSH(g->memory, &n->arguments, ((fg_argument){.tensor = tensor}));
    VEC_PUSH(g->memory, &n->arguments, ((fg_argument){.name = name, .tensor = -1, .value = value}));
}

static const char *order_text(const fg_graph *g, const order *o)
{
    str_buf out;
    str_buf_init(&out, g->memory);
    for (int k = 0; k < o->rank; k++)
        str_addf(&out, "%s%d", k ? ", " : "(", o->axes[k]);
    str_adds(&out, o->rank == 1 ? ",)" : ")");
    return str_text(&out);
}

static const fg_view *view_in_order(const fg_graph *g, const order *o)
{
    fg_view *view = ARENA_NEW(g->memory, fg_view);
    for (int k = 0; k < o->rank; k++) {
        view->axes[k] = o->axes[k];
        view->steps[k] = 1;
    }
    return view;
}

// permute(permute(x)): one order, of x.
static void merge_orders(fg_graph *g, fg_node *n, order *o)
{
    const fg_node *inner = maker_of(g, n->arguments.at[0].tensor);
    order before;
    if (!inner || !order_of(g, inner, &before))
        return;
    for (int k = 0; k < o->rank; k++)
        o->axes[k] = before.axes[o->axes[k]];
    if (n->view)
        n->view = view_in_order(g, o);
    n->op = "permute";
    set_arguments(g, n, inner->arguments.at[0].tensor, "dims", order_text(g, o));
}

// Whether axes of more than one element keep their order: what such an order of axes does, other extents do.
static bool keeps_memory(const fg_tensor *x, const order *o)
{
    int last = -1;
    for (int k = 0; k < o->rank; k++) {
        if (!x->extent[o->axes[k]] && x->shape[o->axes[k]] == 1)
            continue;
        if (o->axes[k] < last)
            return false;
        last = o->axes[k];
    }
    return true;
}

static const char *shape_text(const fg_graph *g, const fg_tensor *t)
{
    str_buf out;
    str_buf_init(&out, g->memory);
    for (int d = 0; d < t->rank; d++)
        str_addf(&out, "%s%s", d ? ", " : "(", fg_extent_text(g->memory, t, d));
    str_adds(&out, t->rank == 1 ? ",)" : ")");
    return str_text(&out);
}

static void become_reshape(fg_graph *g, fg_node *n)
{
    n->op = "reshape";
    n->kind = FG_VIEW;
    n->view = NULL;
    n->channels = (fg_channels){0};
    set_arguments(g, n, n->arguments.at[0].tensor, "shape", shape_text(g, &g->tensors.at[n->outputs.at[0]]));
}

// Whether [y] has the extents of [x] with the first axes, [count] of them, as one.
static bool joins_first_axes(const fg_tensor *x, const fg_tensor *y, int count)
{
    bool same = count >= 1 && y->rank == x->rank - count + 1;
    for (int d = 1; same && d < y->rank; d++)
        same = fg_same_extent(x, d + count - 1, y, d);
    return same;
}

// reshape(permute(reshape(x))) where the first axes of x are one in between, which stays the first: an order of axes of x.
static void merge_order_of_joined(fg_graph *g, fg_node *n)
{
    const fg_node *turn = maker_of(g, n->arguments.at[0].tensor);
    order o, whole = {0};
    if (!turn || !order_of(g, turn, &o) || o.axes[0] != 0)
        return;
    const fg_node *join = maker_of(g, turn->arguments.at[0].tensor);
    if (!join || !fg_is_op(join, "layout", "reshape") || join->arguments.at[0].tensor < 0)
        return;
    int from = join->arguments.at[0].tensor;
    const fg_tensor *x = &g->tensors.at[from], *y = &g->tensors.at[n->outputs.at[0]];
    int count = x->rank - o.rank + 1;
    bool fits = y->rank == x->rank && joins_first_axes(x, operand_of(g, turn), count) &&
                joins_first_axes(y, &g->tensors.at[turn->outputs.at[0]], count);
    whole.rank = x->rank;
    for (int d = 0; fits && d < x->rank; d++) {
        whole.axes[d] = d < count ? d : o.axes[d - count + 1] + count - 1;
        fits = fg_same_extent(x, whole.axes[d], y, d);
    }
    if (!fits)
        return;
    n->op = "permute";
    n->kind = turn->kind;
    n->numerics = turn->numerics;
    n->channels = turn->channels;
    n->view = turn->view ? view_in_order(g, &whole) : NULL;
    set_arguments(g, n, from, "dims", order_text(g, &whole));
}

static void merge_reshapes(fg_graph *g, fg_node *n)
{
    const fg_node *inner = maker_of(g, n->arguments.at[0].tensor);
    if (inner && fg_is_op(inner, "layout", "reshape") && inner->arguments.at[0].tensor >= 0)
        n->arguments.at[0].tensor = inner->arguments.at[0].tensor;
}

static void exchange_calls(fg_node *a, fg_node *b)
{
    fg_node was = *a;
    *a = *b;
    *b = was;
    b->number = a->number;
    a->number = was.number;
    b->outputs = a->outputs;
    a->outputs = was.outputs;
}

// An input, maybe with other extents.
static bool is_given(const fg_graph *g, const fg_tensor *x)
{
    const fg_node *maker = maker_of(g, x->number);
    const fg_tensor *of = maker && fg_is_op(maker, "layout", "reshape") ? operand_of(g, maker) : maker ? NULL : x;
    return of && !maker_of(g, of->number);
}

// reshape(cast(x)) of an input is cast(reshape(x)): what reads the result elementwise can do the cast, and a view takes no
// kernel. A cast of what is computed stays with that.
static void cast_behind_reshape(const walk *w, fg_node *n)
{
    fg_graph *g = w->g;
    int t = n->arguments.at[0].tensor;
    fg_node *cast = (fg_node *)maker_of(g, t);
    if (!cast || !fg_is_op(cast, "arithmetic", "cast") || !operand_of(g, cast) || g->tensors.at[t].is_output)
        return;
    const fg_tensor *x = operand_of(g, cast), *y = &g->tensors.at[n->outputs.at[0]];
    bool is_alone = w->readers[t].len == 1 && w->readers[t].at[0] == n->number;
    if (!is_given(g, x) || !is_alone || y->is_output || n->view)
        return;
    exchange_calls(cast, n);
    n->arguments.at[0].tensor = t;
    cast->arguments.at[0].tensor = x->number;
    merge_reshapes(g, cast);
    fg_tensor *between = &g->tensors.at[t];
    const fg_tensor of = {.number = t, .name = between->name, .maker = cast->number, .dtype = x->dtype, .bytes = x->bytes,
                          .rank = y->rank};
    *between = of;
    memcpy(between->shape, y->shape, sizeof of.shape);
    memcpy(between->extent, y->extent, sizeof of.extent);
}

// ---- products ----------------------------------------------------------------------------------------------------------

static void toggle(fg_graph *g, fg_node *n, const char *name)
{
    for (size_t k = 0; k < n->arguments.len; k++) {
        fg_argument *x = &n->arguments.at[k];
        if (x->name && strcmp(x->name, name) == 0) {
            x->value = strcmp(x->value, "True") == 0 ? "False" : "True";
            return;
        }
    }
    VEC_PUSH(g->memory, &n->arguments, ((fg_argument){.name = name, .tensor = -1, .value = "True"}));
}

// Whether arguments behind the operands are given by name only.
static bool has_names(const fg_node *n, size_t operands)
{
    bool ok = n->arguments.len >= operands;
    for (size_t k = 0; ok && k < n->arguments.len; k++)
        ok =
            k < operands ? n->arguments.at[k].tensor >= 0 && !n->arguments.at[k].name : n->arguments.at[k].name != NULL;
    return ok;
}

// The operand of which argument k is the transpose; -1: it is none.
static int transposed(const fg_graph *g, const fg_node *n, size_t k)
{
    const fg_node *inner = maker_of(g, n->arguments.at[k].tensor);
    order o;
    return inner && order_of(g, inner, &o) && is_matrix_transpose(&o) ? inner->arguments.at[0].tensor : -1;
}

// Kernels say by which option they take an operand with its last two axes exchanged.
static void exchange_operands(fg_graph *g, fg_node *n)
{
    if (!n->exchanges.len || !has_names(n, n->exchanges.len))
        return;
    for (size_t k = 0; k < n->exchanges.len; k++) {
        bool has_option = *n->exchanges.at[k] && strcmp(n->exchanges.at[k], FG_ANY_STRIDES) != 0;
        int x = has_option ? transposed(g, n, k) : -1;
        if (x < 0)
            continue;
        n->arguments.at[k].tensor = x;
        toggle(g, n, n->exchanges.at[k]);
    }
}

// linear(x, transpose(w)): x · w
static void multiply_transposed(fg_graph *g, fg_node *n)
{
    if (!fg_is_op(n, "matmul", "linear") || !has_names(n, 2) || g->tensors.at[n->arguments.at[0].tensor].rank < 2)
        return;
    int w = transposed(g, n, 1);
    for (size_t k = 2; k < n->arguments.len && w >= 0; k++)
        if (n->arguments.at[k].tensor >= 0 || strcmp(n->arguments.at[k].name, "math") != 0)
            return; // a bias stays the operator's own
    if (w < 0)
        return;
    n->arguments.at[1].tensor = w;
    n->op = "matmul";
    n->exchanges.len = 0;
    VEC_PUSH(g->memory, &n->exchanges, "transpose_a");
    VEC_PUSH(g->memory, &n->exchanges, "transpose_b");
}

// ---- the walk ----------------------------------------------------------------------------------------------------------

// What can be read instead of the node's result; -1: nothing.
static int equal_operand(const fg_graph *g, const fg_node *n)
{
    const fg_tensor *x = operand_of(g, n), *y = &g->tensors.at[n->outputs.at[0]];
    order o;
    bool is_kept = keeps_elements(n) || (order_of(g, n, &o) && is_in_order(&o));
    int found = is_kept && x ? x->number : neutral_operand(g, n);
    if (found < 0)
        return -1;
    x = &g->tensors.at[found];
    return fg_is_same_shape(x, y) && strcmp(x->dtype, y->dtype) == 0 ? found : -1;
}

static void visit(walk *w, fg_node *n)
{
    fg_graph *g = w->g;
    for (size_t k = 0; k < n->arguments.len; k++)
        if (n->arguments.at[k].tensor >= 0)
            n->arguments.at[k].tensor = w->same[n->arguments.at[k].tensor];
    order o;
    if (fg_is_op(n, "layout", "reshape") && operand_of(g, n))
        merge_order_of_joined(g, n);
    if (order_of(g, n, &o) && keeps_memory(operand_of(g, n), &o) && !is_in_order(&o))
        become_reshape(g, n);
    if (fg_is_op(n, "layout", "reshape") && operand_of(g, n)) {
        merge_reshapes(g, n);
        cast_behind_reshape(w, n);
    } else if (fg_is_op(n, "arithmetic", "cast")) {
        merge_casts(g, n);
    } else if (order_of(g, n, &o)) {
        merge_orders(g, n, &o);
    } else if (!w->keeps_products) {
        multiply_transposed(g, n);
        exchange_operands(g, n);
    }
    int x = n->outputs.len == 1 && !g->tensors.at[n->outputs.at[0]].is_output ? equal_operand(g, n) : -1;
    if (x >= 0) {
        w->same[n->outputs.at[0]] = x;
        n->is_dropped = true;
    }
}

static void run(fg_graph *g, bool keeps_products)
{
    walk w = {.g = g, .same = ARENA_ARRAY(g->memory, int, g->tensors.len + 1), .keeps_products = keeps_products};
    w.readers = fg_all_readers(g->memory, g);
    for (size_t i = 0; i < g->tensors.len; i++)
        w.same[i] = (int)i;
    for (size_t i = 0; i < g->nodes.len; i++)
        if (!g->nodes.at[i].is_dropped)
            visit(&w, &g->nodes.at[i]);
    fg_drop_unneeded(g);
}

void fg_identities(fg_graph *g)
{
    run(g, false);
}

void fg_drop_identities(fg_graph *g)
{
    run(g, true);
}
