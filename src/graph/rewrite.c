// Rewriting a graph to a fixed point.
//
// Rules are indexed by the operator of their first output. Nodes are looked at in order; what a rewrite makes, and the nodes
// that read it up to the depth of the deepest rule, are looked at again. A rewrite is applied if the cost of the nodes that runs
// have does not grow: a view costs 0, an elementwise node 1, a reduction 2, a node with kernels of its own 8; what depends
// on weights alone costs nothing. Rules of equal cost may undo each other: so many applications are the limit.
#include "graph/rewrite.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

enum { BUDGET_PER_NODE = 16, BUDGET_MIN = 256 };

// What a tensor is made of, as in passes/load.c.
typedef enum binding { RUNTIME, WEIGHTS, NOTHING } binding;

typedef struct rewriting {
    fg_graph *g;
    fg_engine *e;
    map by_op; // -> bucket: rules
    VEC(fg_number_list) readers;
    VEC(binding) bound; // of each tensor
    VEC(bool) queued;   // of each node
    fg_number_list places; // of each node: the number of the model's node that it stands for, to order them
    fg_number_list queue;
    size_t next;
    int depth;
    int64_t left; // of the budget
    fg_match *matches; // of each rule
} rewriting;

typedef struct bucket {
    VEC(const fg_rule *) rules;
} bucket;

static void index_rules(rewriting *w, const fg_rule_list *rules)
{
    map_init(&w->by_op, w->g->memory);
    for (size_t i = 0; i < rules->len; i++) {
        const fg_rule *r = rules->at[i];
        const char *op = r->nodes.at[r->outputs.at[0] - (int)r->wildcards.len].op;
        bucket *b = map_get(&w->by_op, op, strlen(op));
        if (!b) {
            b = ARENA_NEW(w->g->memory, bucket);
            map_put(&w->by_op, op, strlen(op), b);
        }
        VEC_PUSH(w->g->memory, &b->rules, r);
        w->depth = r->depth > w->depth ? r->depth : w->depth;
    }
}

// ---- facts of nodes and tensors ------------------------------------------------------------------------------------------

static binding bind(const fg_node *n, const binding *of)
{
    binding b = NOTHING;
    for (size_t k = 0; k < n->arguments.len; k++) {
        int t = n->arguments.at[k].tensor;
        if (t >= 0 && of[t] < b)
            b = of[t];
    }
    return b;
}

static void enqueue(rewriting *w, int node)
{
    if (!w->queued.at[node])
        VEC_PUSH(w->g->memory, &w->queue, node);
    w->queued.at[node] = true;
}

// The facts of tensors that have been added.
static void extend_tensors(rewriting *w)
{
    arena *a = w->g->memory;
    while (w->readers.len < w->g->tensors.len) {
        const fg_tensor *t = &w->g->tensors.at[w->readers.len];
        VEC_PUSH(a, &w->bound, t->maker < 0 && t->weight ? WEIGHTS : RUNTIME);
        VEC_PUSH(a, &w->readers, ((fg_number_list){0}));
    }
}

static void add_reader(rewriting *w, int tensor, int node)
{
    fg_number_list *list = &w->readers.at[tensor];
    if (!list->len || VEC_LAST(list) != node)
        VEC_PUSH(w->g->memory, list, node);
}

// The facts of node number [i], which is new or reads other tensors.
static void note_node(rewriting *w, int i)
{
    const fg_node *n = &w->g->nodes.at[i];
    while (w->queued.len <= (size_t)i) {
        VEC_PUSH(w->g->memory, &w->places, (int)w->queued.len);
        VEC_PUSH(w->g->memory, &w->queued, false);
    }
    for (size_t k = 0; k < n->arguments.len; k++)
        if (n->arguments.at[k].tensor >= 0)
            add_reader(w, n->arguments.at[k].tensor, i);
    for (size_t k = 0; k < n->outputs.len; k++)
        w->bound.at[n->outputs.at[k]] = bind(n, w->bound.at);
}

static void enqueue_readers(rewriting *w, int tensor, int depth)
{
    for (size_t i = 0; depth > 0 && i < w->readers.at[tensor].len; i++) {
        const fg_node *n = &w->g->nodes.at[w->readers.at[tensor].at[i]];
        if (n->is_dropped)
            continue;
        enqueue(w, n->number);
        for (size_t k = 0; k < n->outputs.len; k++)
            enqueue_readers(w, n->outputs.at[k], depth - 1);
    }
}

// ---- costs ---------------------------------------------------------------------------------------------------------------

static int cost_of(const fg_node *n)
{
    static const int costs[] = {[FG_ELEMENTWISE] = 1, [FG_REDUCTION] = 2, [FG_KERNELS] = 8, [FG_EPILOGUE] = 8, [FG_VIEW] = 0};
    return costs[n->kind];
}

static int cost_of_left(const rewriting *w, const fg_match *m)
{
    int cost = 0;
    for (size_t i = 0; i < m->rule->nodes.len; i++)
        if (m->rule->nodes.at[i].op && w->bound.at[w->g->nodes.at[m->nodes[i]].outputs.at[0]] != WEIGHTS)
            cost += cost_of(&w->g->nodes.at[m->nodes[i]]);
    return cost;
}

// [inputs]: tensors of the graph for those of the side.
static int cost_of_right(const rewriting *w, const fg_graph *side, const int *inputs)
{
    binding *bound = ARENA_ARRAY(w->g->memory, binding, side->tensors.len + 1);
    bool *needed = ARENA_ARRAY(w->g->memory, bool, side->tensors.len + 1);
    int cost = 0;
    for (size_t i = 0; i < side->inputs.len; i++)
        bound[side->inputs.at[i]] = w->bound.at[inputs[i]];
    for (size_t i = 0; i < side->nodes.len; i++) {
        const fg_node *n = &side->nodes.at[i];
        for (size_t k = 0; k < n->outputs.len; k++)
            bound[n->outputs.at[k]] = bind(n, bound);
    }
    for (size_t i = 0; i < side->outputs.len; i++)
        needed[side->outputs.at[i]] = true;
    for (size_t i = side->nodes.len; i-- > 0;) {
        const fg_node *n = &side->nodes.at[i];
        bool is_needed = false;
        for (size_t k = 0; k < n->outputs.len; k++)
            is_needed |= needed[n->outputs.at[k]];
        for (size_t k = 0; k < n->arguments.len && is_needed; k++)
            if (n->arguments.at[k].tensor >= 0)
                needed[n->arguments.at[k].tensor] = true;
        cost += is_needed && bound[n->outputs.at[0]] != WEIGHTS ? cost_of(n) : 0;
        ((fg_node *)n)->is_dropped = !is_needed;
    }
    return cost;
}

// ---- replacing -------------------------------------------------------------------------------------------------------------

// The operands of a match, as Rewrite.sides of stdlib/language/rewrite.hds takes them; [inputs]: their tensors.
static const char *operands_text(const rewriting *w, const fg_match *m, fg_number_list *inputs)
{
    const fg_rule *r = m->rule;
    str_buf out;
    str_buf_init(&out, w->g->memory);
    str_addc(&out, '[');
    for (size_t i = 0; i < r->wildcards.len; i++) {
        if (m->tensors[i] < 0)
            continue;
        const fg_tensor *t = &w->g->tensors.at[m->tensors[i]];
        str_addf(&out, "('%s', %s, (", r->wildcards.at[i].name, t->dtype);
        for (int d = 0; d < t->rank; d++)
            str_addf(&out, "%s, ", fg_extent_text(w->g->memory, t, d));
        str_addf(&out, "), %s), ", w->bound.at[m->tensors[i]] == WEIGHTS ? "True" : "False");
        VEC_PUSH(w->g->memory, inputs, m->tensors[i]);
    }
    str_adds(&out, "], [");
    for (size_t i = 0; i < r->attributes.len; i++)
        if (m->attributes[i])
            str_addf(&out, "('%s', %s), ", r->attributes.at[i].name, m->attributes[i]);
    str_addc(&out, ']');
    return str_text(&out);
}

// Whether [tensor] is computed from an output of the match.
static bool depends_on_left(const rewriting *w, const fg_match *m, int tensor, bool *seen)
{
    int maker = w->g->tensors.at[tensor].maker;
    if (maker < 0 || seen[maker])
        return false;
    seen[maker] = true;
    for (size_t i = 0; i < m->rule->outputs.len; i++)
        if (m->tensors[m->rule->outputs.at[i]] == tensor)
            return true;
    const fg_node *n = &w->g->nodes.at[maker];
    for (size_t k = 0; k < n->arguments.len; k++)
        if (n->arguments.at[k].tensor >= 0 && depends_on_left(w, m, n->arguments.at[k].tensor, seen))
            return true;
    return false;
}

// With several outputs, an operand of one may depend on another: then nothing can compute both at once.
static bool is_circular(const rewriting *w, const fg_match *m, const fg_number_list *inputs)
{
    if (m->rule->outputs.len == 1)
        return false;
    bool *seen = ARENA_ARRAY(w->g->memory, bool, w->g->nodes.len + 1);
    for (size_t i = 0; i < inputs->len; i++)
        if (depends_on_left(w, m, inputs->at[i], seen))
            return true;
    return false;
}

// Results of the side that the graph returns have to be made by a node, each by its own.
static bool keeps_outputs(const rewriting *w, const fg_match *m, const fg_graph *side)
{
    for (size_t i = 0; i < side->outputs.len; i++) {
        int t = side->outputs.at[i];
        bool is_taken = side->tensors.at[t].maker < 0;
        for (size_t k = 0; k < i; k++)
            is_taken |= side->outputs.at[k] == t;
        if (is_taken && w->g->tensors.at[m->tensors[m->rule->outputs.at[i]]].is_output)
            return false;
    }
    return true;
}

static bool has_check(const fg_graph *g, const char *condition)
{
    for (size_t i = 0; i < g->checks.len; i++)
        if (strcmp(g->checks.at[i].condition, condition) == 0)
            return true;
    return false;
}

// Whether the results have the types and the extents, by their texts, of what they take the place of, and nothing has to hold of
// open sizes that the graph does not check anyway.
static bool keeps_types(const rewriting *w, const fg_match *m, const fg_graph *side)
{
    for (size_t i = 0; i < side->outputs.len; i++) {
        const fg_tensor *is = &side->tensors.at[side->outputs.at[i]], *was = &w->g->tensors.at[m->tensors[m->rule->outputs.at[i]]];
        if (strcmp(is->dtype, was->dtype) != 0 || !fg_is_same_shape(is, was))
            return false;
    }
    for (size_t i = 0; i < side->checks.len; i++)
        if (!has_check(w->g, side->checks.at[i].condition))
            return false;
    return true;
}

// Whether an operand has an extent that is known only when the model runs.
static bool has_open_operands(const rewriting *w, const fg_number_list *inputs)
{
    for (size_t i = 0; i < inputs->len; i++)
        if (fg_is_open(&w->g->tensors.at[inputs->at[i]]))
            return true;
    return false;
}

static const char *lines_of(const rewriting *w, const fg_match *m)
{
    str_buf out;
    str_buf_init(&out, w->g->memory);
    int last = 0;
    for (size_t i = 0; i < m->rule->nodes.len; i++) {
        int line = m->rule->nodes.at[i].op ? w->g->nodes.at[m->nodes[i]].line : last;
        if (line != last)
            str_addf(&out, "%s%d", out.len ? ", " : "", line);
        last = line;
    }
    return str_text(&out);
}

static void redirect(rewriting *w, int from, int to)
{
    fg_number_list readers = w->readers.at[from];
    for (size_t i = 0; i < readers.len; i++) {
        fg_node *n = &w->g->nodes.at[readers.at[i]];
        for (size_t k = 0; k < n->arguments.len; k++)
            if (n->arguments.at[k].tensor == from)
                n->arguments.at[k].tensor = to;
        add_reader(w, to, n->number);
    }
    w->readers.at[from].len = 0;
}

// A tensor of the side as one of the graph. [numbers]: those that are known; -1: none yet.
static int number_of(rewriting *w, const fg_graph *side, int t, int *numbers)
{
    if (numbers[t] < 0) {
        fg_tensor copy = side->tensors.at[t];
        numbers[t] = copy.number = (int)w->g->tensors.len;
        copy.is_output = false;
        copy.weight = NULL;
        copy.name = fg_free_name(w->g, arena_printf(w->g->memory, "r%d", copy.number));
        VEC_PUSH(w->g->memory, &w->g->tensors, copy);
        extend_tensors(w);
    }
    return numbers[t];
}

static void add_node(rewriting *w, const fg_graph *side, const fg_node *from, int *numbers, const fg_node *root)
{
    fg_graph *g = w->g;
    fg_node n = *from;
    n.number = (int)g->nodes.len;
    n.line = root->line;
    int place = w->places.at[root->number];
    n.arguments = (fg_argument_list){0};
    n.outputs = (fg_number_list){0};
    for (size_t k = 0; k < from->arguments.len; k++) {
        fg_argument x = from->arguments.at[k];
        if (x.tensor >= 0)
            x.tensor = number_of(w, side, x.tensor, numbers);
        VEC_PUSH(g->memory, &n.arguments, x);
    }
    for (size_t k = 0; k < from->outputs.len; k++) {
        int t = number_of(w, side, from->outputs.at[k], numbers);
        g->tensors.at[t].maker = n.number;
        VEC_PUSH(g->memory, &n.outputs, t);
    }
    VEC_PUSH(g->memory, &g->nodes, n);
    note_node(w, n.number);
    w->places.at[n.number] = place;
    enqueue(w, n.number);
}

static bool is_read(const rewriting *w, const fg_node *n)
{
    int t = n->outputs.at[0];
    bool any = w->g->tensors.at[t].is_output;
    for (size_t i = 0; i < w->readers.at[t].len; i++)
        any |= !w->g->nodes.at[w->readers.at[t].at[i]].is_dropped;
    return any;
}

// Operands stand before what reads them: the last ones are dropped first.
static void drop_left(rewriting *w, const fg_match *m)
{
    for (size_t i = m->rule->nodes.len; i-- > 0;) {
        fg_node *n = m->rule->nodes.at[i].op ? &w->g->nodes.at[m->nodes[i]] : NULL;
        if (n && (fg_has_operands(n) || !is_read(w, n)))
            n->is_dropped = true;
    }
}

static void replace(rewriting *w, const fg_match *m, const fg_graph *side, const fg_number_list *inputs)
{
    fg_graph *g = w->g;
    const fg_rule *r = m->rule;
    int *numbers = ARENA_ARRAY(g->memory, int, side->tensors.len + 1);
    const fg_node root = g->nodes.at[m->nodes[r->outputs.at[0] - (int)r->wildcards.len]];
    for (size_t i = 0; i < side->tensors.len; i++)
        numbers[i] = -1;
    for (size_t i = 0; i < side->inputs.len; i++)
        numbers[side->inputs.at[i]] = inputs->at[i];
    drop_left(w, m);
    for (size_t i = 0; i < side->outputs.len; i++) {
        int *number = &numbers[side->outputs.at[i]], was = m->tensors[r->outputs.at[i]];
        if (*number < 0)
            *number = was;
        else
            redirect(w, was, *number);
    }
    for (size_t i = 0; i < side->nodes.len; i++)
        if (!side->nodes.at[i].is_dropped)
            add_node(w, side, &side->nodes.at[i], numbers, &root);
    for (size_t i = 0; i < side->outputs.len; i++)
        enqueue_readers(w, numbers[side->outputs.at[i]], w->depth);
}

static int count_nodes(const fg_graph *g)
{
    int count = 0;
    for (size_t i = 0; i < g->nodes.len; i++)
        count += !g->nodes.at[i].is_dropped;
    return count;
}

// ---- one place --------------------------------------------------------------------------------------------------------------

static bool is_over_budget(rewriting *w, const fg_rule *r, int line)
{
    const char *before = w->e->trace.len > 1 ? w->e->trace.at[w->e->trace.len - 2].rule : r->name;
    if (w->left-- > 0)
        return false;
    w->e->error = arena_printf(w->g->memory, "rewrites of '%s' do not end: '%s' and '%s' are applied again and again", w->g->name,
                               before, r->name);
    w->e->error_line = line;
    w->e->error_rule = r;
    return true;
}

// Sets [*applied]. False after errors.
static bool apply(rewriting *w, const fg_match *m, int root, bool *applied)
{
    fg_graph *g = w->g;
    fg_number_list inputs = {0};
    const char *operands = operands_text(w, m, &inputs), *error = NULL;
    if (is_circular(w, m, &inputs))
        return true;
    const char *text = w->e->right(w->e->user, m->rule, g, operands);
    if (!text || !*text)
        return text != NULL;
    fg_graph *side = fg_read_side(g->memory, &error, text);
    if (!side && has_open_operands(w, &inputs))
        return true; // its extents are not known to be those of the left side
    if (!side) {
        w->e->error = arena_printf(g->memory, "rewrite '%s': %s", m->rule->name, error);
        w->e->error_line = g->nodes.at[root].line;
        w->e->error_rule = m->rule;
        return false;
    }
    if (!keeps_types(w, m, side) || !keeps_outputs(w, m, side) || cost_of_right(w, side, inputs.at) > cost_of_left(w, m))
        return true;
    int before = count_nodes(g);
    const char *lines = lines_of(w, m);
    int line = g->nodes.at[root].line;
    replace(w, m, side, &inputs);
    *applied = true;
    VEC_PUSH(g->memory, &w->e->trace, ((fg_application){m->rule->name, g->name, lines, before, count_nodes(g)}));
    return !is_over_budget(w, m->rule, line);
}

static bool visit(rewriting *w, int node)
{
    const fg_node *n = &w->g->nodes.at[node];
    const bucket *b = map_get(&w->by_op, n->op, strlen(n->op));
    bool applied = false;
    for (size_t i = 0; b && i < b->rules.len && !applied; i++) {
        fg_match *m = &w->matches[b->rules.at[i]->number];
        m->readers = w->readers.at;
        if (fg_match_at(m, node) && !apply(w, m, node, &applied))
            return false;
    }
    return true;
}

// ---- order ------------------------------------------------------------------------------------------------------------------

typedef struct order {
    fg_graph *g;
    bool *done;
    fg_number_list nodes;
} order;

static void put_in_order(order *o, int node)
{
    const fg_node *n = &o->g->nodes.at[node];
    if (o->done[node])
        return;
    o->done[node] = true;
    for (size_t k = 0; k < n->arguments.len; k++) {
        int t = n->arguments.at[k].tensor, maker = t < 0 ? -1 : o->g->tensors.at[t].maker;
        if (maker >= 0)
            put_in_order(o, maker);
    }
    VEC_PUSH(o->g->memory, &o->nodes, node);
}

typedef struct placed {
    int place, node;
} placed;

static int compare_places(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    return x->place != y->place ? x->place - y->place : x->node - y->node;
}

// Nodes stand behind those that they read; what a rewrite made stands where that was that it took the place of.
static void sort_nodes(rewriting *w)
{
    fg_graph *g = w->g;
    order o = {.g = g, .done = ARENA_ARRAY(g->memory, bool, g->nodes.len + 1)};
    placed *places = ARENA_ARRAY(g->memory, placed, g->nodes.len + 1);
    for (size_t i = 0; i < g->nodes.len; i++)
        places[i] = (placed){w->places.at[i], (int)i};
    qsort(places, g->nodes.len, sizeof *places, compare_places);
    for (size_t i = 0; i < g->nodes.len; i++)
        if (!g->nodes.at[places[i].node].is_dropped)
            put_in_order(&o, places[i].node);
    fg_node *old = arena_dup(g->memory, g->nodes.at, g->nodes.len * sizeof *g->nodes.at);
    for (size_t i = 0; i < o.nodes.len; i++) {
        fg_node n = old[o.nodes.at[i]];
        n.number = (int)i;
        for (size_t k = 0; k < n.outputs.len; k++)
            g->tensors.at[n.outputs.at[k]].maker = (int)i;
        g->nodes.at[i] = n;
    }
    g->nodes.len = o.nodes.len;
}

// Until no rule fits. [*left]: of the budget.
static bool rewrite_all(fg_graph *g, const fg_rule_list *rules, fg_engine *e, int64_t *left)
{
    rewriting w = {.g = g, .e = e, .left = *left};
    index_rules(&w, rules);
    extend_tensors(&w);
    w.matches = ARENA_ARRAY(g->memory, fg_match, rules->len);
    for (size_t i = 0; i < rules->len; i++) {
        rules->at[i]->number = (int)i;
        fg_match_init(&w.matches[i], g->memory, g, NULL, rules->at[i]);
    }
    for (size_t i = 0; i < g->nodes.len; i++)
        if (!g->nodes.at[i].is_dropped)
            note_node(&w, (int)i);
    while (w.queued.len < g->nodes.len) {
        VEC_PUSH(g->memory, &w.places, (int)w.queued.len);
        VEC_PUSH(g->memory, &w.queued, false);
    }
    for (size_t i = 0; i < g->nodes.len; i++)
        enqueue(&w, (int)i);
    for (; w.next < w.queue.len; w.next++) {
        int node = w.queue.at[w.next];
        w.queued.at[node] = false;
        if (!g->nodes.at[node].is_dropped && !visit(&w, node))
            return false;
    }
    sort_nodes(&w);
    *left = w.left;
    return true;
}

// What changes nothing is gone before rules look, and what they leave of it before they look again.
bool fg_rewrite(fg_graph *g, const fg_rule_list *rules, fg_engine *e)
{
    int64_t left = (int64_t)g->nodes.len * BUDGET_PER_NODE + BUDGET_MIN;
    size_t before;
    if (!rules->len)
        return true;
    do {
        before = e->trace.len;
        fg_drop_identities(g);
        fg_run_pass(g, fg_pass_find("simplify"));
        if (!rewrite_all(g, rules, e, &left))
            return false;
    } while (e->trace.len > before);
    return true;
}
