// Variants of a graph that are compared with it: each node by itself, and all numbers with fractions in f64.
#include "graph/graph.h"

#include <ctype.h>
#include <string.h>

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

void fg_widen(fg_graph *g)
{
    for (size_t i = 0; i < g->tensors.len; i++) {
        fg_tensor *t = &g->tensors.at[i];
        if (!is_float(t->dtype, strlen(t->dtype)))
            continue;
        t->dtype = "f64";
        t->bytes = 8;
        for (int d = 0; d < t->rank; d++)
            t->bytes *= t->shape[d];
    }
    for (size_t i = 0; i < g->nodes.len; i++)
        widen_types(g, &g->nodes.at[i]);
}
