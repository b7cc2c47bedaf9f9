#include "graph/diff.h"

#include <string.h>

#include "base/map.h"

typedef struct side {
    const fg_graph *graph;
    const char *const *names;
    VEC(const fg_node *) nodes; // those that are there
    const char **texts;         // of tensors by number: what they are, for messages
} side;

typedef struct comparison {
    arena *memory;
    side a, b;
    int *match;      // of a's nodes: of b's; -1: none
    int *match_back; // the other way
    int *tensors;    // of a's tensors: of b's; -1: none
    fg_diff *out;
} comparison;

static bool is_same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool is_same_type(const fg_tensor *a, const fg_tensor *b)
{
    return strcmp(a->dtype, b->dtype) == 0 && fg_is_same_shape(a, b);
}

// ---- what tensors are ---------------------------------------------------------------------------------------------------

static const char *text_of(const comparison *c, const side *s, const fg_tensor *t)
{
    if (t->weight)
        return arena_printf(c->memory, "weight '%s'", t->weight);
    if (t->maker < 0)
        return t->name;
    const fg_node *n = &s->graph->nodes.at[t->maker];
    return arena_printf(c->memory, "%s of line %d", n->op, n->line);
}

static void read_side(comparison *c, side *s)
{
    const fg_graph *g = s->graph;
    s->texts = ARENA_ARRAY(c->memory, const char *, g->tensors.len + 1);
    for (size_t i = 0; i < g->tensors.len; i++)
        s->texts[i] = text_of(c, s, &g->tensors.at[i]);
    for (size_t i = 0; i < g->nodes.len; i++)
        if (!g->nodes.at[i].is_dropped)
            VEC_PUSH(c->memory, &s->nodes, &g->nodes.at[i]);
}

// ---- pairs of nodes -------------------------------------------------------------------------------------------------------

// By what nodes are the same, from the strictest on.
typedef enum likeness { BY_ALL, BY_ARGUMENTS, BY_OPERATOR, LIKENESSES } likeness;

static const char *key_of(const comparison *c, const side *s, const fg_node *n, likeness how)
{
    str_buf out;
    str_buf_init(&out, c->memory);
    str_addf(&out, "%s.%s", n->module, n->op);
    for (size_t k = 0; k < n->arguments.len && how < BY_OPERATOR; k++) {
        const fg_argument *x = &n->arguments.at[k];
        const fg_tensor *t = x->tensor < 0 ? NULL : &s->graph->tensors.at[x->tensor];
        str_addf(&out, "\n%s=%s", x->name ? x->name : "", t ? t->weight && how == BY_ALL ? t->weight : "*" : x->value);
    }
    if (how == BY_ALL && s->names && s->names[n->number])
        str_addf(&out, "\n%s", s->names[n->number]);
    return str_text(&out);
}

static int *number_keys(comparison *c, const side *s, likeness how, map *known, uintptr_t *last)
{
    int *keys = ARENA_ARRAY(c->memory, int, s->nodes.len + 1);
    for (size_t i = 0; i < s->nodes.len; i++) {
        const char *key = key_of(c, s, s->nodes.at[i], how);
        uintptr_t number = (uintptr_t)map_get(known, key, strlen(key));
        if (!number)
            map_put(known, key, strlen(key), (void *)(number = ++*last));
        keys[i] = (int)number;
    }
    return keys;
}

// As many nodes of both graphs between two pairs replace one another.
static void pair_rest(comparison *c)
{
    int n = (int)c->a.nodes.len, m = (int)c->b.nodes.len;
    for (int i = 0, from_a = 0, from_b = 0; i <= n; i++) {
        if (i < n && c->match[i] < 0)
            continue;
        int to_b = i < n ? c->match[i] : m;
        for (int k = 0; i - from_a == to_b - from_b && k < i - from_a; k++)
            c->match[from_a + k] = from_b + k;
        from_a = i + 1;
        from_b = to_b + 1;
    }
}

static void pair_nodes(comparison *c)
{
    int n = (int)c->a.nodes.len, m = (int)c->b.nodes.len;
    c->match = ARENA_ARRAY(c->memory, int, n + 1);
    c->match_back = ARENA_ARRAY(c->memory, int, m + 1);
    for (int i = 0; i < n; i++)
        c->match[i] = -1;
    for (int j = 0; j < m; j++)
        c->match_back[j] = -1;
    for (likeness how = BY_ALL; how < LIKENESSES; how++) {
        map known;
        uintptr_t last = 0;
        map_init(&known, c->memory);
        const int *a = number_keys(c, &c->a, how, &known, &last), *b = number_keys(c, &c->b, how, &known, &last);
        fg_align(c->memory, a, n, b, m, c->match);
    }
    pair_rest(c);
    for (int i = 0; i < n; i++)
        if (c->match[i] >= 0)
            c->match_back[c->match[i]] = i;
}

// ---- pairs of tensors -----------------------------------------------------------------------------------------------------

static const fg_tensor *input_like(const fg_graph *g, const fg_tensor *t)
{
    for (size_t i = 0; i < g->inputs.len; i++) {
        const fg_tensor *x = &g->tensors.at[g->inputs.at[i]];
        if (!x->weight == !t->weight && strcmp(t->weight ? x->weight : x->name, t->weight ? t->weight : t->name) == 0)
            return x;
    }
    return NULL;
}

static void pair_inputs(comparison *c)
{
    const fg_graph *a = c->a.graph, *b = c->b.graph;
    for (size_t i = 0; i < a->tensors.len; i++)
        c->tensors[i] = -1;
    map weights;
    map_init(&weights, c->memory);
    for (size_t i = 0; i < b->inputs.len; i++) {
        const fg_tensor *t = &b->tensors.at[b->inputs.at[i]];
        if (t->weight)
            map_put(&weights, t->weight, strlen(t->weight), (void *)t);
    }
    for (size_t i = 0; i < a->inputs.len; i++) {
        const fg_tensor *t = &a->tensors.at[a->inputs.at[i]];
        const fg_tensor *like = t->weight ? map_get(&weights, t->weight, strlen(t->weight)) : input_like(b, t);
        if (like)
            c->tensors[t->number] = like->number;
    }
}

static void pair_results(comparison *c)
{
    for (size_t i = 0; i < c->a.nodes.len; i++) {
        const fg_node *a = c->a.nodes.at[i], *b = c->match[i] < 0 ? NULL : c->b.nodes.at[c->match[i]];
        for (size_t k = 0; b && k < a->outputs.len && k < b->outputs.len; k++)
            c->tensors[a->outputs.at[k]] = b->outputs.at[k];
    }
}

// Weights of two names that paired nodes read at the same place, and that no other graph has.
static void pair_renamed(comparison *c)
{
    bool *taken = ARENA_ARRAY(c->memory, bool, c->b.graph->tensors.len + 1);
    for (size_t i = 0; i < c->a.graph->tensors.len; i++)
        if (c->tensors[i] >= 0)
            taken[c->tensors[i]] = true;
    for (size_t i = 0; i < c->a.nodes.len; i++) {
        const fg_node *a = c->a.nodes.at[i], *b = c->match[i] < 0 ? NULL : c->b.nodes.at[c->match[i]];
        for (size_t k = 0; b && k < a->arguments.len && k < b->arguments.len; k++) {
            int x = a->arguments.at[k].tensor, y = b->arguments.at[k].tensor;
            if (x < 0 || y < 0 || c->tensors[x] >= 0 || taken[y] || !c->a.graph->tensors.at[x].weight ||
                !c->b.graph->tensors.at[y].weight)
                continue;
            c->tensors[x] = y;
            taken[y] = true;
        }
    }
}

// ---- changes of a pair ----------------------------------------------------------------------------------------------------

static void add_change(const comparison *c, fg_node_diff *d, const char *what, const char *a, const char *b)
{
    VEC_PUSH(c->memory, &d->changes, ((fg_change){what, a ? a : "", b ? b : ""}));
}

static const fg_argument *argument_like(const fg_node *n, const fg_argument *x, size_t position)
{
    if (!x->name)
        return position < n->arguments.len && !n->arguments.at[position].name ? &n->arguments.at[position] : NULL;
    for (size_t k = 0; k < n->arguments.len; k++)
        if (is_same_text(n->arguments.at[k].name, x->name))
            return &n->arguments.at[k];
    return NULL;
}

static const char *argument_text(const side *s, const fg_argument *x)
{
    return !x ? "" : x->tensor < 0 ? x->value : s->texts[x->tensor];
}

static const char *argument_name(const comparison *c, const fg_argument *x, size_t position)
{
    return x->name ? x->name : arena_printf(c->memory, "argument %zu", position + 1);
}

static void compare_arguments(const comparison *c, fg_node_diff *d)
{
    for (size_t k = 0; k < d->a->arguments.len; k++) {
        const fg_argument *x = &d->a->arguments.at[k], *y = argument_like(d->b, x, k);
        bool is_same = y && (x->tensor < 0) == (y->tensor < 0) &&
                       (x->tensor < 0 ? strcmp(x->value, y->value) == 0 : c->tensors[x->tensor] == y->tensor);
        if (!is_same)
            add_change(c, d, argument_name(c, x, k), argument_text(&c->a, x), argument_text(&c->b, y));
    }
    for (size_t k = 0; k < d->b->arguments.len; k++) {
        const fg_argument *y = &d->b->arguments.at[k];
        if (!argument_like(d->a, y, k))
            add_change(c, d, argument_name(c, y, k), "", argument_text(&c->b, y));
    }
}

static bool has_other_operand(const comparison *c, const fg_node_diff *d)
{
    for (size_t k = 0; k < d->a->arguments.len; k++) {
        int x = d->a->arguments.at[k].tensor, y = x < 0 ? -1 : c->tensors[x];
        if (y >= 0 && !is_same_type(&c->a.graph->tensors.at[x], &c->b.graph->tensors.at[y]))
            return true;
    }
    return false;
}

static void compare_results(const comparison *c, fg_node_diff *d)
{
    size_t before = d->changes.len;
    for (size_t k = 0; k < d->a->outputs.len && k < d->b->outputs.len; k++) {
        const fg_tensor *x = &c->a.graph->tensors.at[d->a->outputs.at[k]], *y = &c->b.graph->tensors.at[d->b->outputs.at[k]];
        const char *what = k ? arena_printf(c->memory, "result %zu", k + 1) : "result";
        if (!is_same_type(x, y))
            add_change(c, d, what, fg_type_text(c->memory, x), fg_type_text(c->memory, y));
    }
    d->is_consequence = !before && d->changes.len && has_other_operand(c, d);
}

static void compare_pair(comparison *c, const fg_node *a, const fg_node *b)
{
    fg_node_diff d = {.a = a, .b = b};
    if (strcmp(a->op, b->op) != 0 || strcmp(a->module, b->module) != 0)
        add_change(c, &d, "operator", a->op, b->op);
    compare_arguments(c, &d);
    compare_results(c, &d);
    if (d.changes.len)
        VEC_PUSH(c->memory, &c->out->nodes, d);
}

// Nodes of both graphs, in an order that holds for both.
static void compare_nodes(comparison *c)
{
    size_t j = 0;
    for (size_t i = 0; i <= c->a.nodes.len; i++) {
        bool is_end = i == c->a.nodes.len;
        size_t until = is_end ? c->b.nodes.len : c->match[i] < 0 ? j : (size_t)c->match[i];
        for (; j < until; j++)
            VEC_PUSH(c->memory, &c->out->nodes, ((fg_node_diff){.b = c->b.nodes.at[j]}));
        if (!is_end && c->match[i] < 0)
            VEC_PUSH(c->memory, &c->out->nodes, ((fg_node_diff){.a = c->a.nodes.at[i]}));
        else if (!is_end)
            compare_pair(c, c->a.nodes.at[i], c->b.nodes.at[j++]);
    }
}

// ---- inputs, outputs, weights -----------------------------------------------------------------------------------------------

static void compare_inputs(comparison *c)
{
    const fg_graph *a = c->a.graph, *b = c->b.graph;
    bool *taken = ARENA_ARRAY(c->memory, bool, b->tensors.len + 1);
    for (size_t i = 0; i < a->inputs.len; i++) {
        const fg_tensor *x = &a->tensors.at[a->inputs.at[i]];
        const fg_tensor *y = c->tensors[x->number] < 0 ? NULL : &b->tensors.at[c->tensors[x->number]];
        if (y)
            taken[y->number] = true;
        if (x->weight || !y || !is_same_type(x, y))
            VEC_PUSH(c->memory, x->weight ? &c->out->weights : &c->out->inputs, ((fg_tensor_diff){.a = x, .b = y}));
    }
    for (size_t i = 0; i < b->inputs.len; i++) {
        const fg_tensor *y = &b->tensors.at[b->inputs.at[i]];
        if (!taken[y->number])
            VEC_PUSH(c->memory, y->weight ? &c->out->weights : &c->out->inputs, ((fg_tensor_diff){.b = y}));
    }
}

// By their names, where the model gives them; else by their place.
static const fg_tensor *output_like(const fg_graph *g, const fg_tensor *t, size_t number)
{
    for (size_t i = 0; t->output_name && i < g->outputs.len; i++)
        if (is_same_text(g->tensors.at[g->outputs.at[i]].output_name, t->output_name))
            return &g->tensors.at[g->outputs.at[i]];
    const fg_tensor *there = number < g->outputs.len ? &g->tensors.at[g->outputs.at[number]] : NULL;
    return there && !there->output_name == !t->output_name && !t->output_name ? there : NULL;
}

static void compare_outputs(comparison *c)
{
    const fg_graph *a = c->a.graph, *b = c->b.graph;
    for (size_t i = 0; i < a->outputs.len; i++) {
        const fg_tensor *x = &a->tensors.at[a->outputs.at[i]], *y = output_like(b, x, i);
        if (!y || !is_same_type(x, y) || c->tensors[x->number] != y->number)
            VEC_PUSH(c->memory, &c->out->outputs,
                     ((fg_tensor_diff){x, y, c->a.texts[x->number], y ? c->b.texts[y->number] : NULL}));
    }
    for (size_t i = 0; i < b->outputs.len; i++) {
        const fg_tensor *y = &b->tensors.at[b->outputs.at[i]];
        if (!output_like(a, y, i))
            VEC_PUSH(c->memory, &c->out->outputs, ((fg_tensor_diff){.b = y, .from_b = c->b.texts[y->number]}));
    }
}

fg_diff fg_compare(arena *memory, const fg_graph *a, const char *const *names_a, const fg_graph *b, const char *const *names_b)
{
    fg_diff out = {0};
    comparison c = {.memory = memory, .a = {.graph = a, .names = names_a}, .b = {.graph = b, .names = names_b}, .out = &out};
    c.tensors = ARENA_ARRAY(memory, int, a->tensors.len + 1);
    read_side(&c, &c.a);
    read_side(&c, &c.b);
    pair_nodes(&c);
    pair_inputs(&c);
    pair_results(&c);
    pair_renamed(&c);
    compare_inputs(&c);
    compare_nodes(&c);
    compare_outputs(&c);
    return out;
}
