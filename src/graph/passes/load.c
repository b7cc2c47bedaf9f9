// load: what depends on weights alone, or on nothing, becomes a graph of its own, which runs once, when the program loads.
//
// Needs     no groups yet.
// Gives     [g->load], whose outputs are prepared tensors: inputs of [g]. What is only needed there is dropped from [g]; weights
//           that nothing in [g] reads are no inputs of it any more. NULL: there is nothing to prepare.
// Why here  after simplification and rewrites, which find what else depends on weights alone; before "fuse", so that no group has
//           nodes of both graphs.
//
// Elementwise nodes that operators evaluate where they read them stay in [g] if what they are of has fewer bytes: weights of
// 4 or 8 bits, which a product with few rows reads as they are.
//
// Views of weights and tensors without elements cost nothing. What depends on nothing, as 'arange' and masks made of it, is known
// in both graphs: where it is needed, there it stands, as a part of what reads it. It is prepared for operators that have kernels of
// their own, as attention, which read it from memory, if the model has weights: without, it stays one function. Outputs of the model,
// and what depends on open sizes, are written by each run.
#include "graph/passes/passes.h"

typedef enum binding {
    FREE,     // depends on nothing
    CONSTANT, // reads weights, and nothing that a run is given
    RUNTIME,
} binding;

typedef struct split {
    fg_graph *g, *load;
    binding *bound;      // of each tensor
    bool *stored;        // tensors that depend on nothing, and are read from memory
    bool *needed, *used; // tensors that [g] reads, and [load]
    int *copies;         // numbers of tensors in [load]
} split;

// Whether the node depends on sizes that are open: only a run knows them.
static bool has_open_sizes(const fg_graph *g, const fg_node *n)
{
    for (size_t k = 0; k < n->outputs.len; k++)
        if (fg_is_open(&g->tensors.at[n->outputs.at[k]]))
            return true;
    for (size_t k = 0; k < n->arguments.len; k++)
        for (size_t i = 0; n->arguments.at[k].value && i < g->sizes.len; i++)
            if (fg_mentions(n->arguments.at[k].value, g->sizes.at[i]))
                return true;
    return false;
}

static binding bind(const split *s, const fg_node *n)
{
    binding b = FREE;
    for (size_t k = 0; k < n->arguments.len; k++) {
        int t = n->arguments.at[k].tensor;
        if (t >= 0 && s->bound[t] > b)
            b = s->bound[t];
    }
    for (size_t k = 0; k < n->outputs.len; k++)
        if (s->g->tensors.at[n->outputs.at[k]].is_output)
            b = RUNTIME;
    if (has_open_sizes(s->g, n))
        b = RUNTIME;
    return b == FREE && s->stored[n->outputs.at[0]] ? CONSTANT : b;
}

static bool has_weights(const fg_graph *g)
{
    for (size_t i = 0; i < g->inputs.len; i++)
        if (g->tensors.at[g->inputs.at[i]].weight)
            return true;
    return false;
}

// What kernels of an operator's own read in memory, behind views.
static void find_stored(split *s)
{
    const fg_graph *g = s->g;
    for (size_t i = g->nodes.len; i-- > 0;) {
        const fg_node *n = &g->nodes.at[i];
        bool reads = n->kind == FG_KERNELS || n->kind == FG_EPILOGUE;
        if (n->is_dropped || !(reads || (n->kind == FG_VIEW && s->stored[n->outputs.at[0]])))
            continue;
        for (size_t k = 0; k < n->arguments.len; k++)
            if (n->arguments.at[k].tensor >= 0)
                s->stored[n->arguments.at[k].tensor] = true;
    }
}

static void bind_all(split *s)
{
    const fg_graph *g = s->g;
    for (size_t i = 0; i < g->inputs.len; i++)
        s->bound[g->inputs.at[i]] = g->tensors.at[g->inputs.at[i]].weight ? CONSTANT : RUNTIME;
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        binding b = n->is_dropped ? FREE : bind(s, n);
        for (size_t k = 0; k < n->outputs.len; k++)
            s->bound[n->outputs.at[k]] = b;
    }
}

enum {
    LONGEST = 8,   // chains of elementwise nodes that products evaluate
    MOST_ROWS = 8, // of a product that takes less time by weights of few bits: of more, fragments of tensor cores wait for them
};

static bool has_few_rows(const fg_tensor *y)
{
    return y->rank < 2 || fg_elements(y) <= MOST_ROWS * y->shape[y->rank - 1];
}

// Whether all that reads a tensor is computed by each run, and evaluates it.
static bool is_evaluated(const split *s, const fg_number_list *readers, int tensor)
{
    for (size_t k = 0; k < readers[tensor].len; k++) {
        const fg_node *n = &s->g->nodes.at[readers[tensor].at[k]];
        int y = n->outputs.at[0];
        if (n->kind == FG_VIEW || s->bound[y] != RUNTIME || !fg_evaluates(n, tensor) || !has_few_rows(&s->g->tensors.at[y]))
            return false;
    }
    return readers[tensor].len > 0;
}

// The node that alone makes this operand for the one that reads it, element by element, [depth] nodes from the chain's end;
// NULL: there is none, or the operand is in memory.
static const fg_node *chained(const split *s, const fg_number_list *readers, int tensor, int depth)
{
    if (tensor < 0 || depth >= LONGEST)
        return NULL;
    const fg_tensor *t = &s->g->tensors.at[tensor];
    const fg_node *n = t->maker >= 0 ? &s->g->nodes.at[t->maker] : NULL;
    bool is_own = n && n->kind == FG_ELEMENTWISE && s->bound[tensor] != RUNTIME && readers[tensor].len == 1;
    return is_own && !t->is_output ? n : NULL;
}

// The bytes that a chain which ends with [n] reads.
static int64_t bytes_of_chain(const split *s, const fg_number_list *readers, const fg_node *n, int depth)
{
    int64_t total = 0;
    for (size_t k = 0; k < n->arguments.len; k++) {
        int t = n->arguments.at[k].tensor;
        const fg_node *before = chained(s, readers, t, depth);
        total += t < 0 ? 0 : before ? bytes_of_chain(s, readers, before, depth + 1) : s->g->tensors.at[t].bytes;
    }
    return total;
}

static void stay(split *s, const fg_number_list *readers, const fg_node *n, int depth)
{
    s->bound[n->outputs.at[0]] = RUNTIME;
    for (size_t k = 0; k < n->arguments.len; k++) {
        int t = n->arguments.at[k].tensor;
        const fg_node *before = chained(s, readers, t, depth);
        if (before)
            stay(s, readers, before, depth + 1);
    }
}

// What products evaluate is not prepared where that would be more to read.
static void keep_evaluated(split *s)
{
    const fg_graph *g = s->g;
    const fg_number_list *readers = fg_all_readers(g->memory, g);
    for (size_t i = g->nodes.len; i-- > 0;) {
        const fg_node *n = &g->nodes.at[i];
        int y = n->outputs.at[0];
        bool may_stay = !n->is_dropped && n->kind == FG_ELEMENTWISE && n->outputs.len == 1 && s->bound[y] == CONSTANT;
        if (may_stay && is_evaluated(s, readers, y) && bytes_of_chain(s, readers, n, 0) < g->tensors.at[y].bytes)
            stay(s, readers, n, 0);
    }
}

static bool is_prepared(const split *s, const fg_node *n)
{
    int y = n->outputs.at[0];
    return n->kind != FG_VIEW && s->bound[y] == CONSTANT && !fg_is_empty(&s->g->tensors.at[y]);
}

static bool is_any(const bool *set, const fg_node *n)
{
    for (size_t k = 0; k < n->outputs.len; k++)
        if (set[n->outputs.at[k]])
            return true;
    return false;
}

static void add_operands(bool *set, const fg_node *n)
{
    for (size_t k = 0; k < n->arguments.len; k++)
        if (n->arguments.at[k].tensor >= 0)
            set[n->arguments.at[k].tensor] = true;
}

// From the outputs back: what runs read, and where that is prepared, what is read for it.
static void find_needed(split *s)
{
    const fg_graph *g = s->g;
    for (size_t i = 0; i < g->outputs.len; i++)
        s->needed[g->outputs.at[i]] = true;
    for (size_t i = g->nodes.len; i-- > 0;) {
        const fg_node *n = &g->nodes.at[i];
        if (n->is_dropped)
            continue;
        bool moves = is_prepared(s, n);
        if (is_any(s->used, n) || (moves && is_any(s->needed, n)))
            add_operands(s->used, n);
        if (!moves && is_any(s->needed, n))
            add_operands(s->needed, n);
    }
}

static int copy_tensor(split *s, int number)
{
    if (s->copies[number] < 0) {
        fg_tensor t = s->g->tensors.at[number];
        s->copies[number] = t.number = (int)s->load->tensors.len;
        t.maker = -1;
        t.is_output = false;
        VEC_PUSH(s->g->memory, &s->load->tensors, t);
    }
    return s->copies[number];
}

static void copy_node(split *s, const fg_node *from)
{
    arena *a = s->g->memory;
    fg_node n = *from;
    n.number = (int)s->load->nodes.len;
    n.arguments = (fg_argument_list){0};
    n.outputs = (fg_number_list){0};
    for (size_t k = 0; k < from->arguments.len; k++) {
        fg_argument x = from->arguments.at[k];
        if (x.tensor >= 0)
            x.tensor = copy_tensor(s, x.tensor);
        VEC_PUSH(a, &n.arguments, x);
    }
    for (size_t k = 0; k < from->outputs.len; k++) {
        int t = copy_tensor(s, from->outputs.at[k]);
        s->load->tensors.at[t].maker = n.number;
        VEC_PUSH(a, &n.outputs, t);
    }
    VEC_PUSH(a, &s->load->nodes, n);
}

// The tensor [number] that a node of [load] makes is read by runs.
static void prepare(split *s, int number)
{
    fg_graph *g = s->g, *load = s->load;
    fg_tensor *t = &g->tensors.at[number], *made = &load->tensors.at[s->copies[number]];
    t->name = made->name = fg_free_name(g, arena_printf(g->memory, "prepared%zu", load->outputs.len));
    t->maker = -1;
    t->is_prepared = made->is_prepared = made->is_output = true;
    VEC_PUSH(g->memory, &g->inputs, number);
    VEC_PUSH(g->memory, &load->outputs, made->number);
}

static void copy_inputs(split *s)
{
    const fg_graph *g = s->g;
    for (size_t i = 0; i < g->inputs.len; i++)
        if (s->used[g->inputs.at[i]])
            VEC_PUSH(g->memory, &s->load->inputs, copy_tensor(s, g->inputs.at[i]));
}

static void move_nodes(split *s)
{
    fg_graph *g = s->g;
    for (size_t i = 0; i < g->nodes.len; i++) {
        fg_node *n = &g->nodes.at[i];
        if (n->is_dropped)
            continue;
        bool moves = is_prepared(s, n), is_read = is_any(s->needed, n);
        if (is_any(s->used, n) || (moves && is_read))
            copy_node(s, n);
        for (size_t k = 0; k < n->outputs.len && moves; k++)
            if (s->needed[n->outputs.at[k]])
                prepare(s, n->outputs.at[k]);
        n->is_dropped = moves || !is_read;
    }
}

static void drop_unread_weights(split *s)
{
    fg_graph *g = s->g;
    size_t kept = 0;
    for (size_t i = 0; i < g->inputs.len; i++) {
        int t = g->inputs.at[i];
        if (!g->tensors.at[t].weight || s->needed[t])
            g->inputs.at[kept++] = t;
    }
    g->inputs.len = kept;
}

void fg_load(fg_graph *g)
{
    split s = {.g = g, .load = ARENA_NEW(g->memory, fg_graph)};
    *s.load = (fg_graph){.memory = g->memory, .name = arena_printf(g->memory, "%s_load", g->name), .whole = g};
    s.bound = ARENA_ARRAY(g->memory, binding, g->tensors.len + 1);
    s.stored = ARENA_ARRAY(g->memory, bool, g->tensors.len + 1);
    s.needed = ARENA_ARRAY(g->memory, bool, g->tensors.len + 1);
    s.used = ARENA_ARRAY(g->memory, bool, g->tensors.len + 1);
    s.copies = ARENA_ARRAY(g->memory, int, g->tensors.len + 1);
    for (size_t i = 0; i < g->tensors.len; i++)
        s.copies[i] = -1;
    if (has_weights(g))
        find_stored(&s);
    bind_all(&s);
    keep_evaluated(&s);
    find_needed(&s);
    copy_inputs(&s);
    move_nodes(&s);
    drop_unread_weights(&s);
    g->load = s.load->outputs.len ? s.load : NULL;
}
