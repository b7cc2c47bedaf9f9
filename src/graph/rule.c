// JSON to rules: what typecheck/operators/rewrite.c and stdlib/language/rewrite.hds write.
#include "graph/rewrite.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *copy(arena *a, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? arena_strdup(a, text) : NULL;
}

static fg_symbol_list read_symbols(arena *a, const json_t *list)
{
    fg_symbol_list out = {0};
    size_t i;
    json_t *x;
    json_array_foreach((json_t *)list, i, x)
        VEC_PUSH(a, &out, ((fg_symbol){copy(a, x, "name"), copy(a, x, "text"), copy(a, x, "default")}));
    return out;
}

static int symbol_of(const fg_symbol_list *list, const char *name)
{
    for (size_t i = 0; name && i < list->len; i++)
        if (strcmp(list->at[i].name, name) == 0)
            return (int)i;
    return -1;
}

// "4", "M" or "*S"
static fg_extent read_extent(const fg_rule *r, const char *text)
{
    bool is_many = *text == '*';
    int symbol = symbol_of(&r->sizes, text + is_many);
    if (symbol < 0)
        return (fg_extent){.kind = FG_FIXED, .value = strtoll(text, NULL, 10)};
    return (fg_extent){.kind = is_many ? FG_SIZES : FG_SIZE, .symbol = symbol};
}

static void read_wildcards(arena *a, fg_rule *r, const json_t *list)
{
    size_t i, k;
    json_t *x, *n;
    json_array_foreach((json_t *)list, i, x) {
        fg_wildcard w = {.name = copy(a, x, "name"), .dtype = copy(a, x, "type")};
        w.type = symbol_of(&r->types, w.dtype);
        if (w.type >= 0)
            w.dtype = NULL;
        w.is_optional = json_is_true(json_object_get(x, "optional"));
        json_array_foreach(json_object_get(x, "extents"), k, n)
            VEC_PUSH(a, &w.extents, read_extent(r, json_string_value(n)));
        VEC_PUSH(a, &r->wildcards, w);
    }
}

static void add_argument(arena *a, fg_argument_list *list, const json_t *x)
{
    const json_t *tensor = json_object_get(x, "tensor");
    fg_argument argument = {.name = copy(a, x, "name"), .tensor = tensor ? (int)json_integer_value(tensor) : -1};
    argument.value = copy(a, x, "value");
    VEC_PUSH(a, list, argument);
}

static void read_nodes(arena *a, fg_rule *r, const json_t *list)
{
    size_t i, k;
    json_t *from, *x;
    json_array_foreach((json_t *)list, i, from) {
        fg_pattern_node n = {.op = copy(a, from, "operator"), .module = copy(a, from, "module")};
        json_array_foreach(json_object_get(from, "inputs"), k, x)
            add_argument(a, &n.arguments, x);
        json_array_foreach(json_object_get(from, "options"), k, x)
            add_argument(a, &n.arguments, x);
        json_array_foreach(json_object_get(from, "defaults"), k, x)
            add_argument(a, &n.defaults, x);
        VEC_PUSH(a, &r->nodes, n);
    }
}

// The right side's nodes are among those of the recording: only what outputs need is looked for. Returns the depth.
static int mark_needed(const fg_rule *r, int tensor, bool *needed)
{
    int node = tensor - (int)r->wildcards.len, deepest = 0;
    if (node < 0)
        return 0;
    needed[node] = true;
    for (size_t k = 0; k < r->nodes.at[node].arguments.len; k++) {
        int t = r->nodes.at[node].arguments.at[k].tensor;
        int depth = t >= 0 ? mark_needed(r, t, needed) : 0;
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

static void drop_right(fg_rule *r)
{
    bool needed[FG_MAX_RULE] = {0};
    for (size_t i = 0; i < r->outputs.len; i++) {
        int depth = mark_needed(r, r->outputs.at[i], needed);
        r->depth = depth > r->depth ? depth : r->depth;
    }
    for (size_t i = 0; i < r->nodes.len; i++)
        if (!needed[i])
            r->nodes.at[i].op = NULL;
}

static bool is_too_large(const json_t *object, const char *key)
{
    return json_array_size(json_object_get(object, key)) > FG_MAX_RULE;
}

fg_rule *fg_read_rule(arena *a, const char **error, const char *text)
{
    json_error_t where;
    json_t *top = json_loads(text, JSON_REJECT_DUPLICATES, &where), *left = json_object_get(top, "left"), *x;
    fg_rule *r = ARENA_NEW(a, fg_rule);
    size_t i;
    *error = top ? NULL : arena_printf(a, "line %d: %s", where.line, where.text);
    if (!*error && (is_too_large(left, "nodes") || is_too_large(top, "tensors") || is_too_large(top, "attributes")))
        *error = "a rewrite has at most 64 calls, tensors and attributes";
    if (!*error) {
        r->name = copy(a, left, "name");
        r->is_approximate = json_is_true(json_object_get(left, "approximate"));
        r->is_late = json_is_true(json_object_get(left, "late"));
        r->sizes = read_symbols(a, json_object_get(top, "sizes"));
        r->types = read_symbols(a, json_object_get(top, "types"));
        r->attributes = read_symbols(a, json_object_get(top, "attributes"));
        read_wildcards(a, r, json_object_get(top, "tensors"));
        read_nodes(a, r, json_object_get(left, "nodes"));
        json_array_foreach(json_object_get(left, "trials"), i, x)
            VEC_PUSH(a, &r->trials, read_symbols(a, x));
        json_array_foreach(json_object_get(left, "outputs"), i, x)
            VEC_PUSH(a, &r->outputs, (int)json_integer_value(x));
        drop_right(r);
    }
    json_decref(top);
    return *error ? NULL : r;
}
