// layout: images have their channels last where that pays.
//
// Does      convolutions, and what stands between them, are calls with channels last; their images' axes are turned at borders, and
//           weights are turned, too, which is done once, at load.
// Needs     [g->language], else nothing is done.
// Gives     inputs and outputs as they were. Results are what the language records for the turned operands: a node whose operator has
//           no such call (fg_channels), or gives other extents, stays.
// Why here  behind "precision", since 16-bit convolutions have the most of it, and in front of "identities", which drops orders of
//           axes that undo each other, those of the model as well.
//
// The choice is a minimum cut (cut.h). A convolution costs what it takes longer with channels second: by its operator's model
// of cost, or by its operations; a tensor that is read in the other order costs what turning it moves. All are in bytes, which
// memory moves in that time.
#include "graph/passes/passes.h"

#include <stdlib.h>
#include <string.h>

#include "graph/passes/cut.h"
#include "graph/record.h"

enum {
    LAUNCH = 3000000,    // bytes that memory moves in the time between two launches, as in "fuse"
    OPERATIONS = 12,     // of a convolution: so many take a byte's time longer where images are gathered by single elements (ADR 0046)
    VECTOR = 16,         // bytes that are gathered at once
    NARROW = 8,          // channels of a group that take no tensor cores
    ERROR = 10,          // of operators' models of cost: one part of so many (ADR 0076)
};

#define MUCH ((int64_t)1 << 50) // the gain where channels last are wanted anyway

typedef struct walk {
    fg_graph *g;
    fg_rebuild out;
    fg_number_list *readers; // of each tensor
    const bool *is_constant; // of each tensor: weights alone make it
    bool *is_output;         // of each tensor
    bool *is_seen;           // of each node
    bool *is_recorded;       // of each node: [turned] and [made] are found
    fg_number_list queue;    // nodes of the area around convolutions that would be faster
    fg_node **turned;        // of each node: the call with channels last, its tensors as they were; NULL: there is none
    const fg_graph **made;   // what was recorded for it
    bool *is_last;           // of each node: it is that call
    int *second, *last;      // of each tensor: the numbers of the one with channels second, and last; -1: none yet
} walk;

// ---- orders of axes --------------------------------------------------------------------------------------------------------

// The axis of an image with channels last that stands at [axis] of one with channels second.
static int turned_axis(int axis, int rank)
{
    return axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1;
}

static bool is_one(const fg_tensor *t, int axis)
{
    return !t->extent[axis] && t->shape[axis] == 1;
}

// A tensor that is broadcast with images of so many axes, with axes of extent 1 in front.
static fg_tensor aligned(const fg_tensor *t, int rank)
{
    fg_tensor a = *t;
    a.rank = rank;
    for (int d = 0; d < rank; d++) {
        int from = d - (rank - t->rank);
        a.shape[d] = from < 0 ? 1 : t->shape[from];
        a.extent[d] = from < 0 ? NULL : t->extent[from];
    }
    return a;
}

// Channels second to last, or (back) last to second.
static fg_tensor turned(const fg_tensor *t, bool back)
{
    fg_tensor a = *t;
    for (int d = 0; d < t->rank; d++) {
        int from = back ? d : turned_axis(d, t->rank), to = back ? turned_axis(d, t->rank) : d;
        a.shape[from] = t->shape[to];
        a.extent[from] = t->extent[to];
    }
    return a;
}

// Whether the elements lie in memory as before.
static bool is_free(const fg_tensor *t, bool back)
{
    int last = -1;
    for (int k = 0; k < t->rank; k++) { // axes of the turned one, in order
        int axis = -1;
        for (int d = 0; d < t->rank; d++)
            if (back ? turned_axis(k, t->rank) == d : turned_axis(d, t->rank) == k)
                axis = d;
        if (is_one(t, axis))
            continue;
        if (axis < last)
            return false;
        last = axis;
    }
    return true;
}

static const char *order_text(arena *a, int rank, bool back)
{
    str_buf out;
    str_buf_init(&out, a);
    for (int k = 0; k < rank; k++) {
        int axis = k == 0 ? 0 : back ? turned_axis(k, rank) : k == rank - 1 ? 1 : k + 1;
        str_addf(&out, "%s%d", k ? ", " : "(", axis);
    }
    str_addc(&out, ')');
    return str_text(&out);
}

static const char *shape_text(arena *a, const fg_tensor *t)
{
    str_buf out;
    str_buf_init(&out, a);
    for (int d = 0; d < t->rank; d++)
        str_addf(&out, "%s%s", d ? ", " : "(", fg_extent_text(a, t, d));
    str_adds(&out, t->rank == 1 ? ",)" : ")");
    return str_text(&out);
}

// ---- calls with channels last ----------------------------------------------------------------------------------------------

static fg_argument *named(fg_node *n, const char *name)
{
    for (size_t k = 0; k < n->arguments.len; k++)
        if (n->arguments.at[k].name && strcmp(n->arguments.at[k].name, name) == 0)
            return &n->arguments.at[k];
    return NULL;
}

static void set_value(const fg_graph *g, fg_node *n, const char *name, const char *value)
{
    fg_argument *x = named(n, name);
    if (x)
        x->value = value;
    else
        VEC_PUSH(g->memory, &n->arguments, ((fg_argument){.name = name, .tensor = -1, .value = value}));
}

static const fg_tensor *first_operand(const walk *w, const fg_node *n)
{
    for (size_t k = 0; k < n->arguments.len; k++)
        if (n->arguments.at[k].tensor >= 0)
            return &w->g->tensors.at[n->arguments.at[k].tensor];
    return NULL;
}

// How many axes the node's images have; 0: they are no images.
static int rank_of(const walk *w, const fg_node *n)
{
    const fg_tensor *x = first_operand(w, n);
    int rank = !x ? 0 : *n->channels.attribute ? x->rank : w->g->tensors.at[n->outputs.at[0]].rank;
    return rank >= 3 && rank <= 5 ? rank : 0;
}

// Whether argument [k] is turned with the images.
static bool is_image(const fg_node *n, size_t k)
{
    int before = 0;
    for (size_t i = 0; i < k; i++)
        before += n->arguments.at[i].tensor >= 0;
    return n->arguments.at[k].tensor >= 0 && (!n->channels.images || before < n->channels.images);
}

// The axes that a text names, from 0 on. Their number; -1: it is none of numbers.
static int read_axes(const char *text, int rank, int *axes)
{
    int count = 0;
    for (const char *at = text; *at;) {
        char *end;
        long axis = strtol(at, &end, 10);
        if (end == at && !strchr("(), ", *at))
            return -1;
        if (end == at) {
            at++;
            continue;
        }
        if (count == rank || axis < -rank || axis >= rank)
            return -1;
        axes[count++] = (int)(axis < 0 ? axis + rank : axis);
        at = end;
    }
    return count;
}

// Whether axes that a reduction leaves stand in one order in both calls.
static bool keeps_order(const int *axes, int count, int rank)
{
    int before = -1;
    for (int d = 0; d < rank; d++) {
        bool is_reduced = false;
        for (int k = 0; k < count; k++)
            is_reduced |= axes[k] == d;
        if (is_reduced)
            continue;
        if (turned_axis(d, rank) < before)
            return false;
        before = turned_axis(d, rank);
    }
    return true;
}

// The attribute that says axes says the turned ones. False: the result would have its axes in another order.
static bool turn_axes(const walk *w, fg_node *n, const char *value, int rank)
{
    int axes[FG_MAX_RANK], count = read_axes(value, rank, axes);
    bool is_whole = w->g->tensors.at[n->outputs.at[0]].rank == rank, is_list = *value == '(';
    if (strcmp(value, "None") == 0)
        return w->g->tensors.at[n->outputs.at[0]].rank == 0;
    if (count < 1 || (!is_whole && !keeps_order(axes, count, rank)))
        return false;
    str_buf out;
    str_buf_init(&out, w->g->memory);
    for (int k = 0; k < count; k++)
        str_addf(&out, "%s%d", k ? ", " : is_list ? "(" : "", turned_axis(axes[k], rank));
    str_adds(&out, !is_list ? "" : count == 1 ? ",)" : ")");
    set_value(w->g, n, n->channels.attribute, str_text(&out));
    return true;
}

// False: the call has no such attribute, or has images with channels last already.
static bool turn_attribute(const walk *w, fg_node *n, int rank)
{
    static const char *const second[] = {"'NCW'", "'NCHW'", "'NCDHW'"}, *const last[] = {"'NWC'", "'NHWC'", "'NDHWC'"};
    if (!*n->channels.attribute)
        return true;
    // Where a value by position is the attribute, it would be given twice, which the language does not record.
    const fg_argument *x = named(n, n->channels.attribute);
    const char *value = x ? x->value : n->channels.initial;
    if (strcmp(n->channels.attribute, "layout") != 0)
        return x && x->tensor >= 0 ? false : turn_axes(w, n, value, rank);
    if (x && strcmp(value, "None") != 0 && strcmp(value, second[rank - 3]) != 0)
        return false;
    set_value(w->g, n, "layout", last[rank - 3]);
    return true;
}

static bool has_same_extents(const fg_tensor *a, const fg_tensor *b)
{
    return a->rank == b->rank && fg_is_same_shape(a, b) && strcmp(a->dtype, b->dtype) == 0;
}

// Whether the results are those of the node, turned where they are images.
static bool gives_turned(const walk *w, const fg_node *n, const fg_graph *made, int rank)
{
    bool same = true;
    for (size_t k = 0; same && k < n->outputs.len; k++) {
        const fg_tensor *t = &w->g->tensors.at[n->outputs.at[k]];
        fg_tensor wanted = t->rank == rank ? turned(t, false) : *t;
        same = has_same_extents(&made->tensors.at[made->outputs.at[k]], &wanted);
    }
    return same;
}

// Finds [turned] and [made] of a node.
static void find_call(walk *w, const fg_node *from)
{
    arena *a = w->g->memory;
    w->is_recorded[from->number] = true;
    int rank = from->channels.attribute ? rank_of(w, from) : 0;
    const fg_tensor **operands = ARENA_ARRAY(a, const fg_tensor *, from->arguments.len + 1);
    fg_node n = *from;
    n.arguments = (fg_argument_list){0};
    for (size_t k = 0; k < from->arguments.len; k++) {
        const fg_tensor *t = from->arguments.at[k].tensor < 0 ? NULL : &w->g->tensors.at[from->arguments.at[k].tensor];
        fg_tensor *copy = t ? ARENA_NEW(a, fg_tensor) : NULL;
        VEC_PUSH(a, &n.arguments, from->arguments.at[k]);
        if (t && is_image(from, k) && (t->rank > rank || (t->rank < rank && *from->channels.attribute)))
            return;
        if (t && is_image(from, k)) {
            fg_tensor whole = aligned(t, rank);
            *copy = turned(&whole, false);
        } else if (t) {
            *copy = *t;
        }
        operands[k] = copy;
    }
    if (!rank || !turn_attribute(w, &n, rank))
        return;
    const fg_graph *made = fg_record(w->g, &n, operands);
    if (!made || !gives_turned(w, &n, made, rank))
        return;
    w->made[from->number] = made;
    w->turned[from->number] = ARENA_NEW(a, fg_node);
    *w->turned[from->number] = n;
}

// ---- costs -----------------------------------------------------------------------------------------------------------------

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    return b ? greatest_divisor(b, a % b) : a;
}

// Whether the operator's model of cost, which is that of one architecture, says how long the node takes.
static bool has_cost(const walk *w, const fg_node *n)
{
    return n->cost && !w->g->has_many_targets;
}

// The same where the operator's model of cost knows both calls.
static int64_t gain_by_cost(walk *w, const fg_node *n)
{
    if (!w->is_recorded[n->number])
        find_call(w, n);
    const fg_graph *made = w->made[n->number];
    int64_t cost = made ? made->nodes.at[0].cost : 0;
    return cost ? n->cost - cost : 0;
}

// Bytes that memory moves in the time that a convolution takes longer with channels second; less than 0 with channels last.
static int64_t gain_of(walk *w, const fg_node *n)
{
    bool is_layout = n->channels.attribute && strcmp(n->channels.attribute, "layout") == 0;
    if (w->g->order == FG_ORDER_LAST)
        return is_layout ? MUCH : 0;
    if (has_cost(w, n) && is_layout)
        return gain_by_cost(w, n);
    if (n->numerics != FG_PRODUCT || !is_layout || n->arguments.len < 2 || strstr(n->op, "transpose"))
        return 0;
    int x = n->arguments.at[0].tensor, k = n->arguments.at[1].tensor;
    if (x < 0 || k < 0 || rank_of(w, n) == 0)
        return 0;
    const fg_tensor *images = &w->g->tensors.at[x], *weights = &w->g->tensors.at[k];
    fg_node copy = *n;
    const fg_argument *math = named(&copy, "math");
    bool is_half = strcmp(images->dtype, "f16") == 0 || strcmp(images->dtype, "bf16") == 0;
    bool is_tf32 = strcmp(images->dtype, "f32") == 0 && math && strcmp(math->value, "'tf32'") == 0;
    int64_t channels = weights->shape[1], bytes = is_half ? 2 : 4;
    if (weights->rank != images->rank || (!is_half && !is_tf32) || (channels < images->shape[1] && channels < NARROW))
        return 0;
    int64_t vector = greatest_divisor(channels, VECTOR / bytes);
    return (int64_t)(fg_operations(w->g, n) / OPERATIONS) * (vector - 1) / vector;
}

// The model's own order of axes that makes channels last, or (back) second.
static bool is_order(const walk *w, const fg_node *n, bool back)
{
    const fg_tensor *x = first_operand(w, n);
    bool is_permute = strcmp(n->module, "layout") == 0 && strcmp(n->op, "permute") == 0;
    if (!is_permute || !x || x->rank < 3 || x->rank > 5 || n->arguments.len != 2 || !n->arguments.at[1].value)
        return false;
    int axes[FG_MAX_RANK], count = read_axes(n->arguments.at[1].value, x->rank, axes);
    bool same = count == x->rank;
    for (int d = 0; same && d < x->rank; d++)
        same = back ? axes[d] == turned_axis(d, x->rank) : axes[turned_axis(d, x->rank)] == d;
    return same;
}

static bool is_pointwise(const fg_node *n)
{
    return n->kind == FG_ELEMENTWISE && n->channels.attribute && !*n->channels.attribute;
}

// Bytes of turning a tensor that is in memory. What reads an input elementwise has a kernel anyway, which turns it, too.
static int64_t cost_of_turning(const walk *w, int tensor, bool back)
{
    const fg_tensor *t = &w->g->tensors.at[tensor];
    bool is_fused = t->maker < 0 && !back;
    for (size_t i = 0; i < w->readers[tensor].len; i++)
        is_fused &= is_pointwise(&w->g->nodes.at[w->readers[tensor].at[i]]);
    if (is_free(t, false))
        return 0;
    return is_fused ? t->bytes / 4 : 2 * t->bytes + LAUNCH;
}

// ---- the choice ------------------------------------------------------------------------------------------------------------

static void add_to_area(walk *w, int node)
{
    if (node < 0 || w->is_seen[node] || w->g->nodes.at[node].is_dropped)
        return;
    w->is_seen[node] = true;
    if (w->is_constant[w->g->nodes.at[node].outputs.at[0]])
        return;
    if (!w->is_recorded[node])
        find_call(w, &w->g->nodes.at[node]);
    if (w->turned[node])
        VEC_PUSH(w->g->memory, &w->queue, node);
}

// Nodes that can have channels last, from the convolutions that want it along their images. False: there are no such convolutions.
static bool find_area(walk *w)
{
    const fg_graph *g = w->g;
    for (size_t i = 0; i < g->nodes.len; i++)
        if (!g->nodes.at[i].is_dropped && gain_of(w, &g->nodes.at[i]) > 0)
            add_to_area(w, (int)i);
    for (size_t next = 0; next < w->queue.len; next++) {
        const fg_node *n = &g->nodes.at[w->queue.at[next]];
        int rank = rank_of(w, n);
        for (size_t k = 0; k < n->arguments.len; k++)
            if (is_image(n, k))
                add_to_area(w, g->tensors.at[n->arguments.at[k].tensor].maker);
        for (size_t k = 0; k < n->outputs.len; k++)
            for (size_t i = 0; g->tensors.at[n->outputs.at[k]].rank == rank && i < w->readers[n->outputs.at[k]].len; i++)
                add_to_area(w, w->readers[n->outputs.at[k]].at[i]);
    }
    return w->queue.len > 0;
}

// On which side a node reads the tensor, or makes it: its own, or one that is fixed.
static int side_of_reader(const walk *w, const int *things, int node, int tensor)
{
    const fg_node *n = &w->g->nodes.at[node];
    bool reads_image = false;
    for (size_t k = 0; k < n->arguments.len; k++)
        reads_image |= n->arguments.at[k].tensor == tensor && is_image(n, k);
    if (things[node] >= 0 && reads_image && w->g->tensors.at[tensor].rank == rank_of(w, n))
        return things[node];
    return is_order(w, n, false) ? FG_CUT_SECOND : FG_CUT_FIRST;
}

static int side_of_maker(const walk *w, const int *things, int tensor)
{
    const fg_tensor *t = &w->g->tensors.at[tensor];
    if (t->maker < 0)
        return FG_CUT_FIRST;
    const fg_node *n = &w->g->nodes.at[t->maker];
    if (things[t->maker] >= 0)
        return t->rank == rank_of(w, n) ? things[t->maker] : FG_CUT_FIRST;
    return is_order(w, n, true) ? FG_CUT_SECOND : FG_CUT_FIRST;
}

// A tensor is turned once, however many nodes read it in the other order.
static void add_tensor(walk *w, fg_cut *c, const int *things, int tensor, int *next)
{
    int maker = side_of_maker(w, things, tensor), to_last = (*next)++, to_second = (*next)++;
    fg_cut_cost(c, maker, to_last, cost_of_turning(w, tensor, false));
    fg_cut_cost(c, to_second, maker, cost_of_turning(w, tensor, true));
    for (size_t i = 0; i < w->readers[tensor].len; i++) {
        int reader = side_of_reader(w, things, w->readers[tensor].at[i], tensor);
        fg_cut_cost(c, to_last, reader, FG_CUT_NEVER);
        fg_cut_cost(c, reader, to_second, FG_CUT_NEVER);
    }
    if (w->is_output[tensor])
        fg_cut_cost(c, FG_CUT_FIRST, to_second, FG_CUT_NEVER);
}

// Tensors that nodes of the area read or make, each once.
static fg_number_list tensors_of_area(const walk *w)
{
    fg_number_list found = {0};
    bool *seen = ARENA_ARRAY(w->g->memory, bool, w->g->tensors.len + 1);
    for (size_t i = 0; i < w->queue.len; i++) {
        const fg_node *n = &w->g->nodes.at[w->queue.at[i]];
        for (size_t k = 0; k < n->arguments.len + n->outputs.len; k++) {
            int t = k < n->arguments.len ? n->arguments.at[k].tensor : n->outputs.at[k - n->arguments.len];
            if (t >= 0 && !seen[t] && !w->is_constant[t] && w->g->tensors.at[t].rank >= 3)
                VEC_PUSH(w->g->memory, &found, t);
            if (t >= 0)
                seen[t] = true;
        }
    }
    return found;
}

// Whether nodes whose models of cost are known gain more than these may be wrong by; or there are others that gain.
static bool is_certain(walk *w, const bool *second)
{
    int64_t all = 0, saved = 0;
    for (size_t i = 0; i < w->queue.len; i++) {
        const fg_node *n = &w->g->nodes.at[w->queue.at[i]];
        int64_t gain = second[i] ? gain_of(w, n) : 0;
        if (gain > 0 && !has_cost(w, n))
            return true;
        all += has_cost(w, n) ? n->cost : 0;
        saved += gain;
    }
    return w->g->order == FG_ORDER_LAST || saved > all / ERROR;
}

// Sets [is_last]. False: no node has channels last.
static bool choose(walk *w)
{
    fg_cut c;
    const fg_number_list tensors = tensors_of_area(w);
    int *things = ARENA_ARRAY(w->g->memory, int, w->g->nodes.len + 1), next = (int)w->queue.len;
    bool any = false;
    memset(things, -1, (w->g->nodes.len + 1) * sizeof *things);
    for (size_t i = 0; i < w->queue.len; i++)
        things[w->queue.at[i]] = (int)i;
    fg_cut_init(&c, w->g->memory, next + 2 * (int)tensors.len);
    for (size_t i = 0; i < w->queue.len; i++) {
        int64_t gain = gain_of(w, &w->g->nodes.at[w->queue.at[i]]);
        fg_cut_cost(&c, (int)i, FG_CUT_SECOND, gain > 0 ? gain : 0);
        fg_cut_cost(&c, FG_CUT_FIRST, (int)i, gain < 0 ? -gain : 0);
    }
    for (size_t i = 0; i < tensors.len; i++)
        add_tensor(w, &c, things, tensors.at[i], &next);
    const bool *second = fg_cut_solve(&c);
    if (!is_certain(w, second))
        return false;
    for (size_t i = 0; i < w->queue.len; i++)
        any |= w->is_last[w->queue.at[i]] = second[i];
    return any;
}

// ---- the new graph ---------------------------------------------------------------------------------------------------------

static void set_extents(fg_tensor *t, const fg_tensor *like)
{
    t->rank = like->rank;
    memcpy(t->shape, like->shape, sizeof t->shape);
    memcpy(t->extent, like->extent, sizeof t->extent);
}

// OP(tensor, name=value), whose result has the extents of [like]. [result]: its number; -1: a new tensor.
static int push_move(walk *w, const char *op, int tensor, const char *value, const fg_tensor *like, int result, int line)
{
    fg_graph *g = w->g;
    const fg_tensor extents = *like, operand = g->tensors.at[tensor], *operands[2] = {&operand, NULL};
    fg_node n = fg_new_node(g, "layout", op, tensor, strcmp(op, "reshape") == 0 ? "shape" : "dims", value);
    result = result < 0 ? fg_add_tensor(g, tensor, op) : result;
    set_extents(&g->tensors.at[result], &extents);
    VEC_PUSH(g->memory, &n.outputs, result);
    n.line = line;
    const fg_graph *made = fg_record(g, &n, operands);
    if (made)
        fg_take_facts(g, &n, made);
    fg_push_node(&w->out, n);
    return result;
}

// The tensor number [tensor] turned: a view where its elements lie as before.
static int push_turned(walk *w, int tensor, bool back, int result, int line)
{
    fg_graph *g = w->g;
    const fg_tensor t = g->tensors.at[tensor], to = turned(&t, back);
    if (is_free(&t, back))
        return push_move(w, "reshape", tensor, shape_text(g->memory, &to), &to, result, line);
    return push_move(w, "permute", tensor, order_text(g->memory, t.rank, back), &to, result, line);
}

// Tensor number [t] of the graph as it was, with channels last, of so many axes.
static int last_of(walk *w, int t, int rank, int line)
{
    if (w->last[t] >= 0 && w->g->tensors.at[w->last[t]].rank == rank)
        return w->last[t];
    int from = w->second[t];
    const fg_tensor whole = aligned(&w->g->tensors.at[from], rank), to = turned(&whole, false);
    if (w->g->tensors.at[from].rank < rank && is_free(&whole, false))
        return w->last[t] = push_move(w, "reshape", from, shape_text(w->g->memory, &to), &to, -1, line);
    if (w->g->tensors.at[from].rank < rank)
        from = push_move(w, "reshape", from, shape_text(w->g->memory, &whole), &whole, -1, line);
    return w->last[t] = push_turned(w, from, false, -1, line);
}

static int second_of(walk *w, int t, int line)
{
    if (w->second[t] < 0)
        w->second[t] = push_turned(w, w->last[t], true, -1, line);
    return w->second[t];
}

static void push_last(walk *w, const fg_node *from)
{
    fg_graph *g = w->g;
    int rank = rank_of(w, from);
    fg_node n = *w->turned[from->number];
    const fg_number_list outputs = n.outputs;
    n.outputs = (fg_number_list){0};
    for (size_t k = 0; k < from->arguments.len; k++) {
        int t = from->arguments.at[k].tensor;
        if (t >= 0)
            n.arguments.at[k].tensor = is_image(from, k) ? last_of(w, t, rank, n.line) : second_of(w, t, n.line);
    }
    fg_take_facts(g, &n, w->made[from->number]);
    for (size_t k = 0; k < outputs.len; k++) {
        int t = outputs.at[k];
        if (g->tensors.at[t].rank == rank) {
            const fg_tensor to = turned(&g->tensors.at[t], false);
            w->last[t] = w->is_output[t] ? fg_add_tensor(g, t, "last") : t;
            w->second[t] = -1;
            set_extents(&g->tensors.at[w->last[t]], &to);
        }
        VEC_PUSH(g->memory, &n.outputs, g->tensors.at[t].rank == rank ? w->last[t] : t);
    }
    fg_push_node(&w->out, n);
    for (size_t k = 0; k < outputs.len; k++) // an output of the graph keeps its tensor, which is made of the turned one
        if (w->is_output[outputs.at[k]] && w->second[outputs.at[k]] < 0)
            w->second[outputs.at[k]] = push_turned(w, w->last[outputs.at[k]], true, outputs.at[k], n.line);
}

static void push_node(walk *w, const fg_node *from)
{
    if (from->is_dropped) {
        fg_push_node(&w->out, *from);
        return;
    }
    if (w->is_last[from->number]) {
        push_last(w, from);
        return;
    }
    fg_node n = *from;
    n.arguments = (fg_argument_list){0};
    for (size_t k = 0; k < from->arguments.len; k++) {
        fg_argument x = from->arguments.at[k];
        x.tensor = x.tensor < 0 ? -1 : second_of(w, x.tensor, n.line);
        VEC_PUSH(w->g->memory, &n.arguments, x);
    }
    fg_push_node(&w->out, n);
}

static void init(walk *w, fg_graph *g)
{
    size_t tensors = g->tensors.len + 1, nodes = g->nodes.len + 1;
    *w = (walk){.g = g, .out = {.g = g}, .readers = fg_all_readers(g->memory, g), .is_constant = fg_find_constants(g)};
    w->is_output = ARENA_ARRAY(g->memory, bool, tensors);
    w->is_seen = ARENA_ARRAY(g->memory, bool, nodes);
    w->is_recorded = ARENA_ARRAY(g->memory, bool, nodes);
    w->turned = ARENA_ARRAY(g->memory, fg_node *, nodes);
    w->made = ARENA_ARRAY(g->memory, const fg_graph *, nodes);
    w->is_last = ARENA_ARRAY(g->memory, bool, nodes);
    w->second = ARENA_ARRAY(g->memory, int, tensors);
    w->last = ARENA_ARRAY(g->memory, int, tensors);
    memset(w->last, -1, tensors * sizeof *w->last);
    for (size_t i = 0; i < g->tensors.len; i++) {
        w->second[i] = (int)i;
        w->is_output[i] = g->tensors.at[i].is_output;
    }
}

bool fg_find_image_order(const char *name, fg_image_order *out)
{
    static const char *const names[] = {"auto", "keep", "last"};
    for (*out = FG_ORDER_AUTO; *out <= FG_ORDER_LAST; ++*out)
        if (strcmp(names[*out], name) == 0)
            return true;
    return false;
}

void fg_layout_pass(fg_graph *g)
{
    walk w;
    if (!g->language || g->order == FG_ORDER_KEEP)
        return;
    init(&w, g);
    if (!find_area(&w) || !choose(&w))
        return;
    const fg_node *nodes = arena_dup(g->memory, g->nodes.at, g->nodes.len * sizeof *g->nodes.at);
    for (size_t i = 0; i < g->nodes.len; i++)
        push_node(&w, &nodes[i]);
    fg_take_nodes(&w.out);
}
