#include "graph/record.h"

#include <string.h>

// Stands for a call that the operator does not take.
static const fg_graph refused;

void fg_language_init(fg_language *l, arena *a, const char *(*record)(void *user, const char *text), void *user)
{
    *l = (fg_language){.record = record, .user = user};
    map_init(&l->known, a);
}

// The number of the operand among the distinct ones before it, or of them all.
static int number_of(const fg_tensor *const *operands, size_t k)
{
    int number = 0;
    for (size_t i = 0; i < k; i++) {
        if (operands[i] == operands[k])
            return number_of(operands, i);
        bool is_new = true;
        for (size_t j = 0; j < i; j++)
            is_new &= operands[j] != operands[i];
        number += is_new;
    }
    return number;
}

static void add_arguments(str_buf *out, const fg_node *n, const fg_tensor *const *operands)
{
    size_t tensors = 0;
    for (size_t k = 0; k < n->arguments.len; k++) {
        const fg_argument *x = &n->arguments.at[k];
        str_adds(out, k ? ", " : "");
        if (x->name)
            str_addf(out, "%s=", x->name);
        if (x->tensor >= 0)
            str_addf(out, "_%d", number_of(operands, tensors++));
        else
            str_adds(out, x->value);
    }
}

// "_0: f16[4, 8], _1: f16[8, 8]"
static const char *parameters_of(const fg_graph *g, const fg_node *n, const fg_tensor *const *operands)
{
    str_buf out;
    size_t tensors = 0;
    int next = 0;
    str_buf_init(&out, g->memory);
    for (size_t k = 0; k < n->arguments.len; k++) {
        if (n->arguments.at[k].tensor < 0)
            continue;
        if (number_of(operands, tensors) == next)
            str_addf(&out, "%s_%d: %s", next ? ", " : "", next, fg_type_text(g->memory, operands[tensors])), next++;
        tensors++;
    }
    return str_text(&out);
}

static const char *text_of(const fg_graph *g, const fg_node *n, const fg_tensor *const *operands)
{
    const char *parameters = parameters_of(g, n, operands);
    str_buf out;
    str_buf_init(&out, g->memory);
    str_addf(&out, "from %s import %s as _call\n\n\n@hidet.graph\ndef _graph%s(%s):\n    return _call(", n->module, n->op,
             fg_size_parameters(g, parameters), parameters);
    add_arguments(&out, n, operands);
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
    n->view = NULL;
    memset(&n->exchanges, 0, sizeof n->exchanges);
    for (size_t k = 0; k < from->exchanges.len; k++)
        VEC_PUSH(g->memory, &n->exchanges, from->exchanges.at[k]);
    if (!from->view)
        return;
    fg_layout *view = ARENA_NEW(g->memory, fg_layout);
    *view = *from->view;
    view->base = n->arguments.at[0].tensor;
    n->view = view;
}
