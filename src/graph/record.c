#include "graph/record.h"

#include <string.h>

// Stands for a call that the operator does not take.
static const fg_graph refused;

void fg_language_init(fg_language *l, arena *a, const char *(*record)(void *user, const char *text), void *user)
{
    *l = (fg_language){.record = record, .user = user};
    map_init(&l->known, a);
}

// The first argument that is the same tensor, in the same type and extents. [operands]: of each argument; NULL: it is no tensor.
static size_t first_of(const fg_graph *g, const fg_node *n, const fg_tensor *const *operands, size_t k)
{
    size_t i = 0;
    while (i < k && (n->arguments.at[i].tensor != n->arguments.at[k].tensor ||
                     strcmp(fg_type_text(g->memory, operands[i]), fg_type_text(g->memory, operands[k])) != 0))
        i++;
    return i;
}

static void add_arguments(str_buf *out, const fg_graph *g, const fg_node *n, const fg_tensor *const *operands)
{
    for (size_t k = 0; k < n->arguments.len; k++) {
        const fg_argument *x = &n->arguments.at[k];
        str_adds(out, k ? ", " : "");
        if (x->name)
            str_addf(out, "%s=", x->name);
        if (x->tensor >= 0)
            str_addf(out, "_%zu", first_of(g, n, operands, k));
        else
            str_adds(out, x->value);
    }
}

// "_0: f16[4, 8], _1: f16[8, 8]"
static const char *parameters_of(const fg_graph *g, const fg_node *n, const fg_tensor *const *operands)
{
    str_buf out;
    str_buf_init(&out, g->memory);
    for (size_t k = 0; k < n->arguments.len; k++)
        if (n->arguments.at[k].tensor >= 0 && first_of(g, n, operands, k) == k)
            str_addf(&out, "%s_%zu: %s", out.len ? ", " : "", k, fg_type_text(g->memory, operands[k]));
    return str_text(&out);
}

static const char *text_of(const fg_graph *g, const fg_node *n, const fg_tensor *const *operands)
{
    const char *parameters = parameters_of(g, n, operands);
    str_buf out;
    str_buf_init(&out, g->memory);
    str_addf(&out, "from %s import %s as _call\n\n\n@hidet.graph\ndef _graph%s(%s):\n    return _call(", n->module, n->op,
             fg_size_parameters(g, parameters), parameters);
    add_arguments(&out, g, n, operands);
    str_adds(&out, ")\n");
    return str_text(&out);
}

const fg_graph *fg_record(const fg_graph *g, const fg_node *n, const fg_tensor *const *operands)
{
    fg_language *l = g->language;
    const char *text = text_of(g, n, operands), *error = NULL;
    const fg_graph *made = map_get(&l->known, text, strlen(text));
    if (!made) {
        const char *json = l->record(l->user, text);
        made = json ? fg_read_json(g->memory, &error, json) : NULL;
        if (!made || made->nodes.len != 1 || made->outputs.len != n->outputs.len)
            made = &refused;
        map_put(&l->known, text, strlen(text), (void *)made);
    }
    return made == &refused ? NULL : made;
}

void fg_take_facts(const fg_graph *g, fg_node *n, const fg_graph *made)
{
    const fg_node *from = &made->nodes.at[0];
    n->kind = from->kind;
    n->numerics = from->numerics;
    n->channels = from->channels;
    n->constants = from->constants;
    n->evaluates = from->evaluates;
    n->pitched = from->pitched;
    n->cost = from->cost;
    n->view = from->view;
    n->types = from->types;
    memset(&n->exchanges, 0, sizeof n->exchanges);
    for (size_t k = 0; k < from->exchanges.len; k++)
        VEC_PUSH(g->memory, &n->exchanges, from->exchanges.at[k]);
}

void fg_push_node(fg_rebuild *r, fg_node n)
{
    n.number = (int)r->nodes.len;
    for (size_t k = 0; k < n.outputs.len; k++)
        r->g->tensors.at[n.outputs.at[k]].maker = n.number;
    VEC_PUSH(r->g->memory, &r->nodes, n);
}

int fg_add_tensor(fg_graph *g, int like, const char *suffix)
{
    fg_tensor t = g->tensors.at[like];
    t.name = fg_free_name(g, arena_printf(g->memory, "%s_%s", t.name, suffix));
    t.number = (int)g->tensors.len;
    t.maker = -1;
    t.is_output = t.is_prepared = false;
    t.output_name = t.weight = t.weight_file = NULL;
    VEC_PUSH(g->memory, &g->tensors, t);
    return t.number;
}

fg_node fg_new_node(const fg_graph *g, const char *module, const char *op, int operand, const char *name, const char *value)
{
    fg_node n = {.op = op, .module = module, .group = -1};
    VEC_PUSH(g->memory, &n.arguments, ((fg_argument){.tensor = operand}));
    VEC_PUSH(g->memory, &n.arguments, ((fg_argument){.name = name, .tensor = -1, .value = value}));
    return n;
}

void fg_take_nodes(fg_rebuild *r)
{
    fg_graph *g = r->g;
    g->nodes.len = 0;
    for (size_t i = 0; i < r->nodes.len; i++)
        VEC_PUSH(g->memory, &g->nodes, r->nodes.at[i]);
}

static bool is_made_of(const fg_node *n, const bool *constants)
{
    bool all = true, any = false;
    for (size_t k = 0; k < n->arguments.len; k++) {
        int t = n->arguments.at[k].tensor;
        all &= t < 0 || constants[t];
        any |= t >= 0;
    }
    return all && any;
}

bool *fg_find_constants(const fg_graph *g)
{
    bool *constants = ARENA_ARRAY(g->memory, bool, g->tensors.len + 1);
    for (size_t i = 0; i < g->inputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->inputs.at[i]];
        constants[t->number] = t->weight || t->is_prepared;
    }
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        for (size_t k = 0; k < n->outputs.len && !n->is_dropped; k++)
            constants[n->outputs.at[k]] = is_made_of(n, constants);
    }
    return constants;
}
