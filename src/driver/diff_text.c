#include "driver/diff_text.h"

#include <math.h>
#include <string.h>

#include "diag/json_text.h"

// ---- how many ---------------------------------------------------------------------------------------------------------

static bool is_renamed(const diff_weight *w)
{
    const fg_tensor *a = w->tensor.a, *b = w->tensor.b;
    return a && b && strcmp(a->weight, b->weight) != 0;
}

static bool is_different(const diff_weight *w)
{
    return !w->tensor.a || !w->tensor.b || is_renamed(w) || w->unknown || !w->is_equal;
}

static size_t count_pair(const diff_pair *p)
{
    size_t count = p->diff.inputs.len + p->diff.outputs.len;
    if (!p->a || !p->b)
        return 1;
    for (size_t i = 0; i < p->diff.nodes.len; i++)
        count += !p->diff.nodes.at[i].is_consequence;
    for (size_t i = 0; i < p->weights.len; i++)
        count += is_different(&p->weights.at[i]);
    return count;
}

size_t diff_count(const diff_result *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->pairs.len; i++)
        count += count_pair(&r->pairs.at[i]);
    return count;
}

// ---- text -------------------------------------------------------------------------------------------------------------

static void add_tensors(str_buf *out, const char *title, const fg_tensor_diffs *tensors, bool is_output)
{
    str_adds(out, tensors->len ? title : "");
    for (size_t i = 0; i < tensors->len; i++) {
        const fg_tensor_diff *d = &tensors->at[i];
        const fg_tensor *any = d->a ? d->a : d->b;
        str_addf(out, "%c %s:",
                 d->a && d->b ? '~'
                 : d->a       ? '-'
                              : '+',
                 any->output_name && is_output ? any->output_name : any->name);
        if (d->a)
            str_addf(out, " %s%s%s", fg_type_text(out->arena, d->a), is_output ? ", " : "", is_output ? d->from_a : "");
        str_adds(out, d->a && d->b ? " ->" : "");
        if (d->b)
            str_addf(out, " %s%s%s", fg_type_text(out->arena, d->b), is_output ? ", " : "", is_output ? d->from_b : "");
        str_addc(out, '\n');
    }
}

static const char *name_of(const char *const *names, const fg_node *n)
{
    return n && names && names[n->number] ? names[n->number] : "";
}

static void add_alone(str_buf *out, char mark, const fg_graph *g, const fg_node *n, const char *name)
{
    str_addf(out, "%c ", mark);
    fg_print_call(out, g, n, NULL);
    str_addf(out, " -> %s, line %d%s%s\n", fg_type_text(out->arena, &g->tensors.at[n->outputs.at[0]]), n->line, *name ? ": " : "",
             name);
}

static void add_changed(str_buf *out, const diff_pair *p, const fg_node_diff *d)
{
    const char *a = name_of(p->names_a, d->a), *b = name_of(p->names_b, d->b);
    str_addf(out, "~ %s, line %d", d->b->op, d->a->line);
    if (d->a->line != d->b->line)
        str_addf(out, " -> %d", d->b->line);
    str_addf(out, "%s%s", *a ? ": " : "", a);
    if (strcmp(a, b) != 0)
        str_addf(out, " -> %s", *b ? b : "no name");
    str_addc(out, '\n');
    for (size_t i = 0; i < d->changes.len; i++) {
        const fg_change *x = &d->changes.at[i];
        str_addf(out, "    %s: %s -> %s\n", x->what, *x->a ? x->a : "none", *x->b ? x->b : "none");
    }
}

static void add_nodes(str_buf *out, const diff_pair *p)
{
    size_t consequences = 0;
    str_adds(out, p->diff.nodes.len ? "nodes\n" : "");
    for (size_t i = 0; i < p->diff.nodes.len; i++) {
        const fg_node_diff *d = &p->diff.nodes.at[i];
        if (d->is_consequence)
            consequences++;
        else if (d->a && d->b)
            add_changed(out, p, d);
        else if (d->a)
            add_alone(out, '-', p->a, d->a, name_of(p->names_a, d->a));
        else
            add_alone(out, '+', p->b, d->b, name_of(p->names_b, d->b));
    }
    if (consequences)
        str_addf(out, "  and %zu whose result%s another type, as an operand has\n", consequences,
                 consequences == 1 ? " has" : "s have");
}

static void add_weight(str_buf *out, const diff_weight *w)
{
    const fg_tensor *a = w->tensor.a, *b = w->tensor.b;
    str_addf(out, "%c %s", a && b ? '~' : a ? '-' : '+', (a ? a : b)->weight);
    if (is_renamed(w))
        str_addf(out, " -> %s", b->weight);
    str_addf(out, ": %s", fg_type_text(out->arena, a ? a : b));
    if (a && b && (strcmp(a->dtype, b->dtype) != 0 || !fg_is_same_shape(a, b)))
        str_addf(out, " -> %s", fg_type_text(out->arena, b));
    if (w->unknown)
        str_addf(out, ", not compared: %s", w->unknown);
    else if (w->is_compared && w->is_equal)
        str_adds(out, ", equal");
    else if (w->is_compared)
        str_addf(out, ", error %.2e, max abs %.2e, mean abs %.2e, max rel %.2e; %lld of %lld elements differ", w->error.harmonic,
                 w->error.max_absolute, w->error.mean_absolute, w->error.max_relative, (long long)w->error.different,
                 (long long)w->count);
    str_addc(out, '\n');
}

static void add_weights(str_buf *out, const diff_pair *p)
{
    bool has_title = false;
    for (size_t i = 0; i < p->weights.len; i++) {
        if (!is_different(&p->weights.at[i]))
            continue;
        str_adds(out, has_title ? "" : "weights\n");
        has_title = true;
        add_weight(out, &p->weights.at[i]);
    }
}

static void add_pair(str_buf *out, const diff_result *r, const diff_pair *p)
{
    const fg_graph *any = p->a ? p->a : p->b;
    if (!p->a || !p->b) {
        str_addf(out, "%c graph '%s' is only in %s\n", p->a ? '-' : '+', any->name, p->a ? r->file_a : r->file_b);
        return;
    }
    if (!count_pair(p))
        return;
    str_addf(out, "%s: %zu nodes, %s: %zu nodes\n", p->a->name, p->a->nodes.len, p->b->name, p->b->nodes.len);
    add_tensors(out, "inputs\n", &p->diff.inputs, false);
    add_nodes(out, p);
    add_tensors(out, "outputs\n", &p->diff.outputs, true);
    add_weights(out, p);
}

void diff_text(const diff_result *r, str_buf *out)
{
    size_t count = diff_count(r);
    for (size_t i = 0; i < r->pairs.len; i++)
        add_pair(out, r, &r->pairs.at[i]);
    str_addf(out, "%zu difference%s between %s and %s\n", count, count == 1 ? "" : "s", r->file_a, r->file_b);
}

// ---- JSON -------------------------------------------------------------------------------------------------------------

static json_t *type_json(arena *a, const fg_tensor *t)
{
    return t ? json_string(fg_type_text(a, t)) : json_null();
}

static json_t *node_json(arena *a, const fg_graph *g, const fg_node *n, const char *name)
{
    if (!n)
        return json_null();
    return json_pack("{s:i, s:s, s:i, s:o, s:o}", "node", n->number, "operator", n->op, "line", n->line, "name",
                     *name ? diag_json_text(name) : json_null(), "type", type_json(a, &g->tensors.at[n->outputs.at[0]]));
}

static json_t *nodes_json(arena *a, const diff_pair *p)
{
    json_t *list = json_array();
    for (size_t i = 0; i < p->diff.nodes.len; i++) {
        const fg_node_diff *d = &p->diff.nodes.at[i];
        json_t *changes = json_array();
        for (size_t k = 0; k < d->changes.len; k++) {
            const fg_change *x = &d->changes.at[k];
            json_array_append_new(
                changes, json_pack("{s:s, s:o, s:o}", "what", x->what, "a", diag_json_text(x->a), "b", diag_json_text(x->b)));
        }
        json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:b}", "a", node_json(a, p->a, d->a, name_of(p->names_a, d->a)),
                                              "b", node_json(a, p->b, d->b, name_of(p->names_b, d->b)), "changes", changes,
                                              "is_consequence", d->is_consequence));
    }
    return list;
}

static json_t *tensors_json(arena *a, const fg_tensor_diffs *tensors, bool is_output)
{
    json_t *list = json_array();
    for (size_t i = 0; i < tensors->len; i++) {
        const fg_tensor_diff *d = &tensors->at[i];
        const fg_tensor *any = d->a ? d->a : d->b;
        const char *name = is_output && any->output_name ? any->output_name : any->name;
        json_t *object =
            json_pack("{s:o, s:o, s:o}", "name", diag_json_text(name), "a", type_json(a, d->a), "b", type_json(a, d->b));
        if (is_output) {
            json_object_set_new(object, "from_a", diag_json_text(d->from_a));
            json_object_set_new(object, "from_b", diag_json_text(d->from_b));
        }
        json_array_append_new(list, object);
    }
    return list;
}

// JSON has no infinity.
static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *weight_json(arena *a, const diff_weight *w)
{
    const fg_tensor *x = w->tensor.a, *y = w->tensor.b;
    json_t *object = json_pack("{s:o, s:o, s:o, s:o}", "name_a", diag_json_text(x ? x->weight : NULL), "name_b",
                               diag_json_text(y ? y->weight : NULL), "a", type_json(a, x), "b", type_json(a, y));
    json_object_set_new(object, "equal", w->is_compared ? json_boolean(w->is_equal) : json_null());
    if (w->unknown)
        json_object_set_new(object, "not_compared", diag_json_text(w->unknown));
    if (w->is_compared && !w->is_equal) {
        json_object_set_new(object, "error", number(w->error.harmonic));
        json_object_set_new(object, "max_abs", number(w->error.max_absolute));
        json_object_set_new(object, "mean_abs", number(w->error.mean_absolute));
        json_object_set_new(object, "max_rel", number(w->error.max_relative));
        json_object_set_new(object, "mean_rel", number(w->error.mean_relative));
        json_object_set_new(object, "different", json_integer(w->error.different));
        json_object_set_new(object, "elements", json_integer(w->count));
    }
    return object;
}

static json_t *pair_json(arena *a, const diff_pair *p)
{
    json_t *weights = json_array();
    for (size_t i = 0; i < p->weights.len; i++)
        if (is_different(&p->weights.at[i]))
            json_array_append_new(weights, weight_json(a, &p->weights.at[i]));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "a", diag_json_text(p->a ? p->a->name : NULL), "b",
                     diag_json_text(p->b ? p->b->name : NULL), "inputs", tensors_json(a, &p->diff.inputs, false), "nodes",
                     nodes_json(a, p), "outputs", tensors_json(a, &p->diff.outputs, true), "weights", weights);
}

json_t *diff_json(const diff_result *r)
{
    arena scratch;
    json_t *pairs = json_array();
    arena_init(&scratch, NULL);
    for (size_t i = 0; i < r->pairs.len; i++)
        json_array_append_new(pairs, pair_json(&scratch, &r->pairs.at[i]));
    arena_free(&scratch);
    return json_pack("{s:o, s:o, s:I, s:o}", "a", diag_json_text(r->file_a), "b", diag_json_text(r->file_b), "differences",
                     (json_int_t)diff_count(r), "graphs", pairs);
}
