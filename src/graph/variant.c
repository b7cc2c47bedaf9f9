// Variants of a graph that are compared with it: each node by itself, and all numbers with fractions in f64.
#include "graph/graph.h"

#include <ctype.h>
#include <string.h>

#include "graph/record.h"

// Those that become f64. What is quantized is so in both: f8e4m3 and f8e5m2 stay.
static bool is_float(const char *name, size_t len)
{
    static const char *const names[] = {"f32", "tf32", "f16", "bf16"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
            return true;
    return false;
}

void fg_split(fg_graph *g)
{
    g->returned = g->outputs;
    g->outputs = (fg_number_list){0};
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        for (size_t k = 0; k < n->outputs.len; k++) {
            fg_tensor *t = &g->tensors.at[n->outputs.at[k]];
            t->is_output = true;
            t->output_name = t->name;
            VEC_PUSH(g->memory, &g->outputs, t->number);
        }
    }
    fg_group_each(g);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

// "f16(2)" becomes "f64(2)"; what is in quotes stays.
static const char *widened(arena *a, const char *text)
{
    str_buf out;
    char quote = 0;
    str_buf_init(&out, a);
    for (const char *at = text; *at;) {
        size_t len = 0;
        while (!quote && is_word(at[len]))
            len++;
        if (len && is_float(at, len)) {
            str_adds(&out, "f64");
        } else if (len) {
            str_add(&out, (str){at, len});
        } else {
            quote = quote == *at ? 0 : !quote && (*at == '"' || *at == '\'') ? *at : quote;
            str_addc(&out, *at);
            len = 1;
        }
        at += len;
    }
    return str_text(&out);
}

static bool names(const fg_node *n, const char *attribute)
{
    for (size_t k = 0; k < n->arguments.len; k++)
        if (n->arguments.at[k].name && strcmp(n->arguments.at[k].name, attribute) == 0)
            return true;
    return false;
}

static void widen_types(fg_graph *g, fg_node *n)
{
    for (size_t k = 0; k < n->arguments.len; k++)
        if (n->arguments.at[k].value)
            n->arguments.at[k].value = widened(g->memory, n->arguments.at[k].value);
    for (size_t k = 0; k < n->types.len; k++) {
        fg_argument x = n->types.at[k];
        bool was_float = is_float(x.value, strlen(x.value));
        x.value = "f64";
        if (was_float && !names(n, x.name))
            VEC_PUSH(g->memory, &n->arguments, x);
    }
}

static void set_type(fg_tensor *t, const char *dtype, int64_t bytes)
{
    t->dtype = dtype;
    t->bytes = bytes;
}

static int64_t bytes_in_f64(const fg_tensor *t)
{
    int64_t bytes = 8;
    for (int d = 0; d < t->rank; d++)
        bytes *= t->shape[d];
    return bytes;
}

typedef struct widening {
    fg_rebuild out;
    const fg_tensor *was; // by number
    int *now;             // of each tensor: what readers read instead of it
} widening;

// The tensor in another type.
static int cast(widening *w, int tensor, const char *dtype, int64_t bytes)
{
    fg_graph *g = w->out.g;
    fg_node n = fg_new_node(g, "arithmetic", "cast", tensor, "to", dtype);
    int made = fg_add_tensor(g, tensor, dtype);
    set_type(&g->tensors.at[made], dtype, bytes);
    VEC_PUSH(g->memory, &n.outputs, made);
    fg_push_node(&w->out, n);
    return made;
}

static bool was_float(const widening *w, int tensor)
{
    return tensor >= 0 && is_float(w->was[tensor].dtype, strlen(w->was[tensor].dtype));
}

// Its operands and results have the types that they had.
static void keep_types(widening *w, fg_node *n)
{
    for (size_t k = 0; k < n->arguments.len; k++) {
        fg_argument *x = &n->arguments.at[k];
        if (was_float(w, x->tensor))
            x->tensor = cast(w, w->now[x->tensor], w->was[x->tensor].dtype, w->was[x->tensor].bytes);
    }
    fg_push_node(&w->out, *n);
    for (size_t k = 0; k < n->outputs.len; k++) {
        int t = n->outputs.at[k];
        if (!was_float(w, t))
            continue;
        set_type(&w->out.g->tensors.at[t], w->was[t].dtype, w->was[t].bytes);
        w->now[t] = cast(w, t, "f64", bytes_in_f64(&w->was[t]));
    }
}

static void widen(widening *w, fg_node *n)
{
    for (size_t k = 0; k < n->arguments.len; k++)
        if (n->arguments.at[k].tensor >= 0)
            n->arguments.at[k].tensor = w->now[n->arguments.at[k].tensor];
    widen_types(w->out.g, n);
    fg_push_node(&w->out, *n);
}

void fg_widen(fg_graph *g)
{
    size_t count = g->tensors.len;
    widening w = {.out = {.g = g}, .now = ARENA_ARRAY(g->memory, int, count + 1)};
    fg_tensor *was = ARENA_ARRAY(g->memory, fg_tensor, count + 1);
    w.was = was;
    for (size_t i = 0; i < count; i++) {
        was[i] = g->tensors.at[i];
        w.now[i] = (int)i;
        if (was_float(&w, (int)i))
            set_type(&g->tensors.at[i], "f64", bytes_in_f64(&was[i]));
    }
    for (size_t i = 0; i < g->nodes.len; i++) {
        fg_node *n = &g->nodes.at[i];
        if (n->numerics == FG_BITS && !n->is_dropped)
            keep_types(&w, n);
        else
            widen(&w, n);
    }
    fg_take_nodes(&w.out);
}
