// precision: products, convolutions and what reads their results compute in 16 bits, or products in tf32, or by Winograd's algorithm.
//
// Does      nodes that are wanted in f16 or bf16 read operands of that type, and their results have it: a cast stands between a f32
//           tensor and its first reader, once for each type. Products that are wanted in tf32 have math="tf32", convolutions of two
//           axes that are wanted by Winograd's algorithm have math="winograd".
// Needs     [g->precisions] and [g->language], else nothing is done. f32 alone changes: other types stay.
// Gives     inputs and outputs keep their types. What depends on weights alone stays f32, and is cast last. Results are what the
//           language records for the new operands; a node whose operator does not take them stays f32.
// Why here  behind rewrites, which fold batch norms in f32, and in front of "identities", which drops casts that undo each other, and
//           of "load", which runs the casts of weights once.
//
// Which nodes are low:
//   - products (FG_PRODUCT), and what a pattern names;
//   - what reads a low tensor (FG_FOLLOWS), weights that its operator takes in f32 aside;
//   - not what needs f32 (FG_WIDE), and not what follows a cast to f32 that the model states, up to the next product;
//   - in f16, not what a number beyond that type is an attribute of, as of where(mask, x, -1e9): its result is cast where it is read.
#include "graph/passes/passes.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/precision.h"
#include "graph/record.h"

typedef struct walk {
    fg_graph *g;
    fg_precisions *wanted;
    bool *was_f32;           // of each tensor
    bool *is_constant;       // weights alone make it
    bool *is_stated;         // f32 by a cast that the model states
    int *now;                // of each tensor: what readers read instead of it
    int *casts[FG_PRECISION_COUNT]; // of each tensor: the one in this type; -1: none yet
    bool **is_named;         // of each rule and tensor: it is made of weights of that name
    fg_rebuild out;
} walk;

static bool is_type(const fg_tensor *t, fg_precision p)
{
    return strcmp(t->dtype, fg_precision_name(p)) == 0;
}

static fg_tensor *tensor_now(const walk *w, int number)
{
    return &w->g->tensors.at[w->now[number]];
}

// A tensor that was f32 and is of 16 bits now.
static bool is_low(const walk *w, int number)
{
    return w->was_f32[number] && !is_type(tensor_now(w, number), FG_F32);
}

// ---- what is wanted ------------------------------------------------------------------------------------------------------

static bool reads_named(const walk *w, const fg_node *n, size_t rule)
{
    for (size_t k = 0; k < n->arguments.len; k++)
        if (n->arguments.at[k].tensor >= 0 && w->is_named[rule][n->arguments.at[k].tensor])
            return true;
    return false;
}

static bool is_matched(const walk *w, const fg_node *n, size_t rule)
{
    const char *pattern = w->wanted->rules.at[rule].pattern;
    if (!pattern)
        return true;
    char *end;
    long line = strtol(pattern, &end, 10);
    return (!*end && line == n->line) || fnmatch(pattern, n->op, 0) == 0 || reads_named(w, n, rule);
}

// [*is_named]: by a pattern.
static fg_precision precision_of(walk *w, const fg_node *n, bool *is_named)
{
    fg_precision p = FG_F32;
    *is_named = false;
    for (size_t i = 0; i < w->wanted->rules.len; i++) {
        fg_precision_rule *rule = &w->wanted->rules.at[i];
        if (!is_matched(w, n, i))
            continue;
        rule->is_used = true;
        p = rule->precision;
        *is_named = rule->pattern != NULL;
    }
    return p;
}

// A finite number that f16 rounds to an infinity.
static bool has_large_number(const fg_node *n)
{
    const double most = 65520; // halfway between the largest f16 and what would be next
    bool found = false;
    for (size_t k = 0; k < n->arguments.len; k++) {
        char *end;
        const char *text = n->arguments.at[k].tensor < 0 ? n->arguments.at[k].value : "";
        double value = strtod(text, &end);
        found |= end != text && !*end && isfinite(value) && fabs(value) >= most;
    }
    return found;
}

// ---- facts of tensors ----------------------------------------------------------------------------------------------------

static void note_inputs(walk *w)
{
    for (size_t i = 0; i < w->g->inputs.len; i++) {
        const fg_tensor *t = &w->g->tensors.at[w->g->inputs.at[i]];
        for (size_t r = 0; r < w->wanted->rules.len && t->weight; r++) {
            const char *pattern = w->wanted->rules.at[r].pattern;
            w->is_named[r][t->number] = pattern && fnmatch(pattern, t->weight, 0) == 0;
        }
    }
}

static void note_constant(walk *w, const fg_node *n)
{
    for (size_t k = 0; k < n->outputs.len; k++)
        for (size_t r = 0; r < w->wanted->rules.len; r++)
            w->is_named[r][n->outputs.at[k]] = reads_named(w, n, r);
}

typedef struct operand_facts {
    bool has_f32, reads_low, reads_stated;
} operand_facts;

static operand_facts facts_of(const walk *w, const fg_node *n)
{
    operand_facts f = {0};
    for (size_t k = 0; k < n->arguments.len; k++) {
        int t = n->arguments.at[k].tensor;
        if (t < 0)
            continue;
        f.has_f32 |= w->was_f32[t];
        f.reads_low |= is_low(w, t);
        f.reads_stated |= w->is_stated[t];
    }
    return f;
}

// A cast of floats to f32, and what follows it.
static bool is_stated(const walk *w, const fg_node *n, const operand_facts *f)
{
    int t = n->arguments.len ? n->arguments.at[0].tensor : -1;
    static const char *const floats[] = {"f32", "f16", "bf16"};
    bool states = false;
    for (size_t i = 0; t >= 0 && fg_is_op(n, "arithmetic", "cast") && i < sizeof floats / sizeof *floats; i++)
        states |= strcmp(w->g->tensors.at[t].dtype, floats[i]) == 0;
    return (states || (f->reads_stated && n->numerics != FG_PRODUCT)) && w->was_f32[n->outputs.at[0]];
}

// ---- casts -------------------------------------------------------------------------------------------------------------------

static void set_type(fg_tensor *t, fg_precision p)
{
    bool was_wide = is_type(t, FG_F32), is_wide = p == FG_F32;
    t->bytes = was_wide == is_wide ? t->bytes : is_wide ? 2 * t->bytes : t->bytes / 2;
    t->dtype = fg_precision_name(p);
}

// A tensor like number [from], of another type, that no node makes yet.
static int new_tensor(walk *w, int from, fg_precision p)
{
    int number = fg_add_tensor(w->g, from, fg_precision_name(p));
    set_type(&w->g->tensors.at[number], p);
    return number;
}

// What is finite in f32 is finite in f16: a mask of -1e9 that became -inf would make a softmax of masked rows NaN.
static void push_cast(walk *w, int from, int to, int line)
{
    fg_graph *g = w->g;
    const fg_tensor *operands[2] = {&g->tensors.at[from], NULL};
    fg_node n = fg_new_node(g, "arithmetic", "cast", from, "to", g->tensors.at[to].dtype);
    if (is_type(&g->tensors.at[to], FG_F16))
        VEC_PUSH(g->memory, &n.arguments, ((fg_argument){.name = "finite", .tensor = -1, .value = "True"}));
    VEC_PUSH(g->memory, &n.outputs, to);
    n.line = line;
    const fg_graph *made = fg_record(g, &n, operands);
    if (made)
        fg_take_facts(g, &n, made);
    fg_push_node(&w->out, n);
}

// Tensor [number] as one of type [p].
static int cast_of(walk *w, int number, fg_precision p, int line)
{
    if (is_type(tensor_now(w, number), p))
        return w->now[number];
    int *known = &w->casts[p][number];
    if (*known < 0) {
        *known = new_tensor(w, w->now[number], p);
        push_cast(w, w->now[number], *known, line);
    }
    return *known;
}

// ---- nodes -------------------------------------------------------------------------------------------------------------------

// Of each argument, the type in which the node reads it; FG_PRECISION_COUNT: its own.
typedef VEC(fg_precision) precision_list;

static precision_list operand_types(const walk *w, const fg_node *n, fg_precision p, bool keeps_constants)
{
    precision_list types = {0};
    for (size_t k = 0; k < n->arguments.len; k++) {
        int t = n->arguments.at[k].tensor;
        bool is_kept = t < 0 || !w->was_f32[t] || (keeps_constants && w->is_constant[t]);
        VEC_PUSH(w->g->memory, &types, is_kept ? FG_PRECISION_COUNT : p);
    }
    return types;
}

static const fg_graph *record(const walk *w, const fg_node *n, const precision_list *types)
{
    arena *a = w->g->memory;
    const fg_tensor **operands = ARENA_ARRAY(a, const fg_tensor *, n->arguments.len + 1);
    for (size_t k = 0; k < n->arguments.len; k++) {
        if (n->arguments.at[k].tensor < 0)
            continue;
        fg_tensor *copy = ARENA_NEW(a, fg_tensor);
        *copy = *tensor_now(w, n->arguments.at[k].tensor);
        if (types->at[k] != FG_PRECISION_COUNT)
            set_type(copy, types->at[k]);
        operands[k] = copy;
    }
    return fg_record(w->g, n, operands);
}

// Whether all results that were f32 are of type [p].
static bool gives_low(const walk *w, const fg_node *n, const fg_graph *made, fg_precision p)
{
    bool all = true;
    for (size_t k = 0; k < n->outputs.len; k++)
        all &= !w->was_f32[n->outputs.at[k]] || is_type(&made->tensors.at[made->outputs.at[k]], p);
    return all;
}

static void read_operands(walk *w, fg_node *n, const precision_list *types)
{
    for (size_t k = 0; k < n->arguments.len; k++) {
        int t = n->arguments.at[k].tensor;
        if (t >= 0)
            n->arguments.at[k].tensor = types->at[k] == FG_PRECISION_COUNT ? w->now[t] : cast_of(w, t, types->at[k], n->line);
    }
}

// Results have the types that were recorded. The graph's outputs keep theirs: they are casts of what the node makes.
static void push_with_results(walk *w, fg_node n, const fg_graph *made)
{
    fg_graph *g = w->g;
    const fg_number_list outputs = n.outputs;
    n.outputs = (fg_number_list){0};
    for (size_t k = 0; k < outputs.len; k++) {
        int t = outputs.at[k];
        const fg_tensor *result = &made->tensors.at[made->outputs.at[k]];
        fg_precision p = is_type(result, FG_F16) ? FG_F16 : is_type(result, FG_BF16) ? FG_BF16 : FG_F32;
        bool changes = w->was_f32[t] && p != FG_F32;
        if (changes && g->tensors.at[t].is_output)
            w->now[t] = new_tensor(w, t, p);
        else if (changes)
            set_type(&g->tensors.at[t], p);
        VEC_PUSH(g->memory, &n.outputs, w->now[t]);
    }
    fg_push_node(&w->out, n);
    for (size_t k = 0; k < outputs.len; k++)
        if (w->now[outputs.at[k]] != outputs.at[k])
            push_cast(w, w->now[outputs.at[k]], outputs.at[k], n.line);
}

static bool push_low(walk *w, fg_node n, fg_precision p)
{
    precision_list types = operand_types(w, &n, p, n.numerics != FG_PRODUCT);
    const fg_graph *made = record(w, &n, &types);
    if (!made || !gives_low(w, &n, made, p)) {
        types = operand_types(w, &n, p, false);
        made = record(w, &n, &types);
    }
    if (!made)
        return false;
    read_operands(w, &n, &types);
    fg_take_facts(w->g, &n, made);
    push_with_results(w, n, made);
    w->wanted->has_changed = true;
    return true;
}

// Whether [math] may concern the node, whose operands are f32: images have layouts.
static bool takes_math(const fg_node *n, fg_precision math)
{
    bool is_convolution = n->channels.attribute && strcmp(n->channels.attribute, "layout") == 0;
    return n->numerics == FG_PRODUCT && (math == FG_TF32 || (math == FG_WINOGRAD && is_convolution));
}

static void add_math(const walk *w, fg_node *n, precision_list *types, fg_precision math)
{
    const char *value = arena_printf(w->g->memory, "'%s'", fg_precision_name(math));
    fg_node changed = *n;
    changed.arguments = (fg_argument_list){0};
    for (size_t k = 0; k < n->arguments.len; k++) {
        VEC_PUSH(w->g->memory, &changed.arguments, n->arguments.at[k]);
        if (n->arguments.at[k].name && strcmp(n->arguments.at[k].name, "math") == 0)
            return; // the model says it
    }
    VEC_PUSH(w->g->memory, &changed.arguments, ((fg_argument){.name = "math", .tensor = -1, .value = value}));
    VEC_PUSH(w->g->memory, types, FG_PRECISION_COUNT);
    if (!record(w, &changed, types))
        return;
    *n = changed;
    w->wanted->has_changed = true;
}

static void push_f32(walk *w, fg_node n, fg_precision math)
{
    precision_list types = operand_types(w, &n, FG_F32, false);
    if (takes_math(&n, math))
        add_math(w, &n, &types, math);
    read_operands(w, &n, &types);
    fg_push_node(&w->out, n);
}

static void visit(walk *w, const fg_node *from)
{
    fg_node n = *from;
    const operand_facts f = facts_of(w, &n);
    bool is_named;
    n.arguments = (fg_argument_list){0};
    for (size_t k = 0; k < from->arguments.len; k++)
        VEC_PUSH(w->g->memory, &n.arguments, from->arguments.at[k]);
    if (w->is_constant[n.outputs.at[0]]) {
        note_constant(w, &n);
        fg_push_node(&w->out, n);
        return;
    }
    fg_precision p = precision_of(w, &n, &is_named);
    bool follows = n.numerics == FG_FOLLOWS && f.reads_low && !f.reads_stated;
    bool is_wanted = f.has_f32 && (p == FG_F16 || p == FG_BF16) && (is_named || n.numerics == FG_PRODUCT || follows);
    if (p == FG_F16 && !is_named && n.numerics != FG_PRODUCT && has_large_number(&n))
        is_wanted = false;
    for (size_t k = 0; k < n.outputs.len; k++)
        w->is_stated[n.outputs.at[k]] = !is_named && is_stated(w, &n, &f);
    if (!is_wanted || !push_low(w, n, p))
        push_f32(w, n, f.has_f32 ? p : FG_F32);
}

static void init(walk *w, fg_graph *g)
{
    size_t count = g->tensors.len;
    *w = (walk){.g = g, .wanted = g->precisions, .out = {.g = g}};
    w->was_f32 = ARENA_ARRAY(g->memory, bool, count + 1);
    w->is_constant = fg_find_constants(g);
    w->is_stated = ARENA_ARRAY(g->memory, bool, count + 1);
    w->now = ARENA_ARRAY(g->memory, int, count + 1);
    w->is_named = ARENA_ARRAY(g->memory, bool *, w->wanted->rules.len + 1);
    for (size_t r = 0; r < w->wanted->rules.len; r++)
        w->is_named[r] = ARENA_ARRAY(g->memory, bool, count + 1);
    for (int p = 0; p < FG_PRECISION_COUNT; p++) {
        w->casts[p] = ARENA_ARRAY(g->memory, int, count + 1);
        memset(w->casts[p], -1, (count + 1) * sizeof(int));
    }
    for (size_t i = 0; i < count; i++) {
        w->was_f32[i] = is_type(&g->tensors.at[i], FG_F32);
        w->now[i] = (int)i;
    }
    note_inputs(w);
}

void fg_precision_pass(fg_graph *g)
{
    walk w;
    if (!g->precisions || !g->language)
        return;
    init(&w, g);
    g->precisions->was_run = true;
    for (size_t i = 0; i < g->nodes.len; i++)
        if (g->nodes.at[i].is_dropped)
            fg_push_node(&w.out, g->nodes.at[i]);
        else
            visit(&w, &g->nodes.at[i]);
    fg_take_nodes(&w.out);
}
