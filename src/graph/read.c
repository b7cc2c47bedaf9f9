// JSON to graphs. The JSON is that of stdlib/language/graph.hds; anything else in it is an error.
#include "graph/rewrite.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/map.h"

typedef struct reader {
    arena *a;
    fg_graph *g;
    const char *error;
} reader;

static bool failed(reader *r, const char *why)
{
    if (!r->error)
        r->error = why;
    return false;
}

static const char *text_of(reader *r, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (!text)
        failed(r, arena_printf(r->a, "a text '%s' is missing", key));
    return text ? arena_strdup(r->a, text) : "";
}

static const json_t *list_of(reader *r, const json_t *object, const char *key)
{
    const json_t *list = json_object_get(object, key);
    if (!json_is_array(list))
        failed(r, arena_printf(r->a, "a list '%s' is missing", key));
    return list;
}

static int64_t bytes_of(const char *dtype)
{
    // clang-format off
    static const struct { const char *name; int bytes; } sizes[] = {
        {"f64", 8}, {"i64", 8}, {"u64", 8}, {"complex64", 8}, {"f32", 4}, {"i32", 4}, {"u32", 4}, {"f16", 2}, {"bf16", 2},
        {"i16", 2}, {"u16", 2}, {"i8", 1}, {"u8", 1}, {"bool", 1}, {"f8e4m3", 1}, {"f8e5m2", 1},
    };
    // clang-format on
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(sizes[i].name, dtype) == 0)
            return sizes[i].bytes;
    return 0;
}

static bool read_tensor(reader *r, const json_t *from)
{
    fg_graph *g = r->g;
    fg_tensor t = {.number = (int)g->tensors.len, .dtype = text_of(r, from, "dtype"), .maker = -1};
    const json_t *shape = list_of(r, from, "shape");
    if (r->error)
        return false;
    t.bytes = bytes_of(t.dtype);
    if (!t.bytes)
        return failed(r, arena_printf(r->a, "tensors of type '%s' are not supported in graphs", t.dtype));
    t.rank = (int)json_array_size(shape);
    if (t.rank > FG_MAX_RANK)
        return failed(r, "a tensor has too many axes");
    for (int d = 0; d < t.rank; d++) {
        const json_t *n = json_array_get(shape, (size_t)d);
        if (json_is_object(n)) {
            int64_t about = json_integer_value(json_object_get(n, "about"));
            t.extent[d] = text_of(r, n, "text");
            t.shape[d] = about > 1 ? about : 1;
        } else {
            t.shape[d] = json_integer_value(n);
        }
        if (t.shape[d] < 0)
            return failed(r, "an extent is below 0");
        if (__builtin_mul_overflow(t.bytes, t.shape[d], &t.bytes))
            return failed(r, "a tensor has more than 2^63 bytes");
    }
    VEC_PUSH(r->a, &g->tensors, t);
    return true;
}

static int number_of(reader *r, const json_t *from)
{
    json_int_t n = json_is_integer(from) ? json_integer_value(from) : -1;
    if (n < 0 || n >= (json_int_t)r->g->tensors.len) {
        failed(r, "there is no tensor of that number");
        return 0;
    }
    return (int)n;
}

static fg_argument read_argument(reader *r, const json_t *from, bool is_named)
{
    const json_t *tensor = json_object_get(from, "tensor");
    fg_argument x = {.name = is_named ? text_of(r, from, "name") : NULL, .tensor = -1};
    if (tensor)
        x.tensor = number_of(r, tensor);
    else
        x.value = text_of(r, from, "value");
    return x;
}

static fg_kind read_kind(reader *r, const char *kind)
{
    for (fg_kind k = FG_ELEMENTWISE; k <= FG_VIEW; k++)
        if (strcmp(fg_kind_name(k), kind) == 0)
            return k;
    failed(r, arena_printf(r->a, "there is no kind of nodes '%s'", kind));
    return FG_KERNELS;
}

static fg_numerics read_numerics(reader *r, const json_t *from)
{
    const char *name = json_string_value(json_object_get(from, "precision"));
    for (fg_numerics n = FG_FOLLOWS; name && n <= FG_BITS; n++)
        if (strcmp(fg_numerics_name(n), name) == 0)
            return n;
    if (name)
        failed(r, arena_printf(r->a, "nodes have no precision '%s'", name));
    return FG_FOLLOWS;
}

static fg_channels read_channels(reader *r, const json_t *from)
{
    if (!from)
        return (fg_channels){0};
    return (fg_channels){text_of(r, from, "attribute"), text_of(r, from, "default"),
                         (int)json_integer_value(json_object_get(from, "images"))};
}

static bool is_inside(const fg_tensor *x, int axis, json_int_t n)
{
    return n >= 0 && (x->extent[axis] || n < x->shape[axis]);
}

// "view": of which elements of the first operand the result consists.
static void read_view(reader *r, const json_t *from, fg_node *n)
{
    const json_t *given = json_object_get(from, "view");
    const json_t *starts = json_object_get(given, "starts"), *axes = json_object_get(given, "axes");
    if (!given)
        return;
    int operand = n->arguments.len && n->outputs.len == 1 ? n->arguments.at[0].tensor : -1;
    const fg_tensor *x = operand < 0 ? NULL : &r->g->tensors.at[operand], *y = x ? &r->g->tensors.at[n->outputs.at[0]] : NULL;
    bool fits = x && json_array_size(starts) == (size_t)x->rank && json_array_size(axes) == (size_t)y->rank;
    fg_view *view = ARENA_NEW(r->a, fg_view);
    for (int d = 0; fits && d < x->rank; d++) {
        view->starts[d] = json_integer_value(json_array_get(starts, (size_t)d));
        fits = is_inside(x, d, view->starts[d]) || fg_is_empty(x) || fg_is_empty(y);
    }
    for (int d = 0; fits && d < y->rank; d++) {
        json_int_t axis = json_integer_value(json_array_get(axes, (size_t)d));
        view->axes[d] = (int)axis;
        view->steps[d] = json_integer_value(json_array_get(json_object_get(given, "steps"), (size_t)d));
        fits = axis >= -1 && axis < x->rank;
    }
    if (!fits)
        failed(r, "a view has one operand and one result, a start for each axis of the one, and an axis for each of the other");
    n->view = view;
}

static void read_exchanges(reader *r, const json_t *from, fg_node *n)
{
    size_t i;
    json_t *x;
    json_array_foreach(json_object_get(from, "matrices"), i, x)
        VEC_PUSH(r->a, &n->exchanges, json_is_string(x) ? arena_strdup(r->a, json_string_value(x)) : "");
}

// Of a list of positions of operands, their bits.
static uint32_t read_positions(const json_t *from)
{
    uint32_t bits = 0;
    size_t i;
    json_t *x;
    json_array_foreach((json_t *)from, i, x)
    {
        json_int_t k = json_integer_value(x);
        bits |= k >= 0 && k < 32 ? 1u << k : 0;
    }
    return bits;
}

static bool read_node(reader *r, const json_t *from)
{
    fg_graph *g = r->g;
    fg_node n = {.number = (int)g->nodes.len, .group = -1};
    n.op = text_of(r, from, "operator");
    n.module = text_of(r, from, "module");
    n.line = (int)json_integer_value(json_object_get(from, "line"));
    n.kind = read_kind(r, text_of(r, from, "kind"));
    n.numerics = read_numerics(r, from);
    n.channels = read_channels(r, json_object_get(from, "channels_last"));
    n.constants = read_positions(json_object_get(from, "constant"));
    const json_t *inputs = list_of(r, from, "inputs"), *options = list_of(r, from, "options");
    const json_t *outputs = list_of(r, from, "outputs"), *x;
    size_t i;
    json_array_foreach((json_t *)inputs, i, x) VEC_PUSH(r->a, &n.arguments, read_argument(r, x, false));
    json_array_foreach((json_t *)options, i, x) VEC_PUSH(r->a, &n.arguments, read_argument(r, x, true));
    json_array_foreach(json_object_get(from, "types"), i, x) VEC_PUSH(r->a, &n.types, read_argument(r, x, true));
    json_array_foreach((json_t *)outputs, i, x)
    {
        int t = number_of(r, x);
        if (r->error)
            return false;
        if (g->tensors.at[t].maker >= 0)
            return failed(r, "two nodes make one tensor");
        g->tensors.at[t].maker = n.number;
        VEC_PUSH(r->a, &n.outputs, t);
    }
    read_view(r, from, &n);
    read_exchanges(r, from, &n);
    n.evaluates = read_positions(json_object_get(from, "evaluates"));
    n.pitched = read_positions(json_object_get(from, "pitched"));
    n.cost = (int64_t)json_integer_value(json_object_get(from, "cost"));
    VEC_PUSH(r->a, &g->nodes, n);
    return !r->error;
}

// An input has a name, a weight the name that it has in a file.
static void read_input(reader *r, const json_t *from, fg_tensor *t)
{
    if (!json_object_get(from, "weight")) {
        t->name = text_of(r, from, "name");
        return;
    }
    t->weight = text_of(r, from, "weight");
    t->weight_file = text_of(r, from, "file");
}

static void read_sizes(reader *r, const json_t *top)
{
    size_t i;
    json_t *x;
    json_array_foreach(json_object_get(top, "sizes"), i, x)
        VEC_PUSH(r->a, &r->g->sizes, json_is_string(x) ? arena_strdup(r->a, json_string_value(x)) : "");
    json_array_foreach(json_object_get(top, "checks"), i, x)
    {
        fg_check check = {text_of(r, x, "condition"), text_of(r, x, "message")};
        VEC_PUSH(r->a, &r->g->checks, check);
    }
}

static bool read_inputs(reader *r, const json_t *top)
{
    size_t i;
    json_t *x;
    read_sizes(r, top);
    json_array_foreach((json_t *)list_of(r, top, "inputs"), i, x)
    {
        int t = number_of(r, json_object_get(x, "tensor"));
        if (r->error)
            return false;
        read_input(r, x, &r->g->tensors.at[t]);
        VEC_PUSH(r->a, &r->g->inputs, t);
    }
    json_array_foreach((json_t *)list_of(r, top, "outputs"), i, x)
    {
        const json_t *named = json_object_get(x, "tensor");
        int t = number_of(r, named ? named : x);
        if (r->error)
            return false;
        r->g->tensors.at[t].is_output = true;
        if (named)
            r->g->tensors.at[t].output_name = text_of(r, x, "name");
        VEC_PUSH(r->a, &r->g->outputs, t);
    }
    return !r->error;
}

static bool same_text(const char *a, const char *b)
{
    return a && strcmp(a, b) == 0;
}

const char *fg_free_name(const fg_graph *g, const char *name)
{
    for (size_t i = 0; i < g->inputs.len; i++)
        if (same_text(g->tensors.at[g->inputs.at[i]].name, name))
            return fg_free_name(g, arena_printf(g->memory, "%s_", name));
    return name;
}

static void take(map *names, const char *name)
{
    map_put(names, name, strlen(name), names);
}

static bool is_taken(const map *names, const char *name)
{
    return map_get(names, name, strlen(name)) != NULL;
}

// The names of the types of tensors.
static void take_types(const fg_graph *g, map *types)
{
    map_init(types, g->memory);
    for (size_t i = 0; i < g->tensors.len; i++)
        take(types, g->tensors.at[i].dtype);
}

// Whether a name means something else in every function of a program.
static bool is_word(const map *types, const char *name)
{
    static const char *const words[] = {
        "False", "None",     "True",     "and",    "as",      "assert", "async",  "await",    "break",
        "class", "continue", "def",      "del",    "elif",    "else",   "except", "finally",  "for",
        "from",  "global",   "if",       "import", "in",      "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise",    "return", "try",     "while",  "with",   "yield",    "as_tensor_pointer",
        "attrs", "hidet",    "operator", "strided_layout",   "tensor", "weights",
    };
    bool taken = false;
    for (size_t i = 0; i < sizeof words / sizeof *words && !taken; i++)
        taken = strcmp(words[i], name) == 0;
    return taken || is_taken(types, name);
}

// "layer1.0.bn1.weight" -> layer1_0_bn1_weight. Whatever is no letter or digit of ASCII is an underscore.
static const char *identifier_of(const fg_graph *g, const map *types, const char *given)
{
    bool begins_well = isalpha((unsigned char)*given) || *given == '_';
    char *name = arena_printf(g->memory, "%s%s", begins_well ? "" : "w_", given);
    for (char *c = name; *c; c++)
        if ((unsigned char)*c >= 0x80 || !isalnum((unsigned char)*c))
            *c = '_';
    return is_word(types, name) ? arena_printf(g->memory, "%s_", name) : name;
}

const char *fg_output_name(const fg_graph *g, size_t number)
{
    const char *given = g->tensors.at[g->outputs.at[number]].output_name;
    const char *plain = g->outputs.len == 1 ? "out" : arena_printf(g->memory, "out%zu", number);
    map types; // of all tensors: for names that the model gives, of which there are few
    if (given)
        take_types(g, &types);
    if (given && *given && !str_is_identifier(given))
        given = str_identifier(g->memory, given, SIZE_MAX);
    const char *name = fg_free_name(g, given ? identifier_of(g, &types, given) : plain);
    for (size_t i = 0; i < number; i++)
        if (same_text(g->tensors.at[g->outputs.at[i]].name, name)) {
            name = fg_free_name(g, arena_printf(g->memory, "%s_", name));
            i = (size_t)-1;
        }
    return name;
}

// [name] without the underscores at its end: "t0" is not told from "t0_" by readers.
static void take_plain(map *names, const char *name)
{
    size_t len = strlen(name);
    while (len > 1 && name[len - 1] == '_')
        len--;
    map_put(names, name, len, names);
}

// Names that mean something else where weights are named: in graph functions and in the programs they become. Outputs have their
// names before weights, which give way: a program is called by the names of inputs and outputs.
static void take_names(fg_graph *g, map *names)
{
    take(names, g->name);
    for (size_t i = 0; i < g->nodes.len; i++)
        take(names, g->nodes.at[i].op);
    for (size_t i = 0; i < g->inputs.len; i++)
        if (g->tensors.at[g->inputs.at[i]].name)
            take(names, g->tensors.at[g->inputs.at[i]].name);
    for (size_t i = 0; i < g->outputs.len; i++) {
        const char *name = fg_output_name(g, i);
        fg_tensor *t = &g->tensors.at[g->outputs.at[i]];
        take(names, name);
        if (t->maker >= 0)
            t->name = name; // the next ones have others
    }
    for (size_t i = 0; i < g->outputs.len; i++)
        if (g->tensors.at[g->outputs.at[i]].maker >= 0)
            g->tensors.at[g->outputs.at[i]].name = NULL;
}

static void name_weights(fg_graph *g)
{
    map names, types;
    map_init(&names, g->memory);
    take_names(g, &names);
    take_types(g, &types);
    for (size_t i = 0; i < g->inputs.len; i++) {
        fg_tensor *t = &g->tensors.at[g->inputs.at[i]];
        if (!t->weight)
            continue;
        const char *name = identifier_of(g, &types, t->weight);
        while (is_taken(&names, name))
            name = arena_printf(g->memory, "%s_", name);
        t->name = name;
        take(&names, name);
    }
}

// "t0", "t1" …, of which those are left out that inputs or outputs have.
static void name_tensors(fg_graph *g)
{
    int count = 0;
    map names;
    map_init(&names, g->memory);
    name_weights(g);
    for (size_t i = 0; i < g->inputs.len; i++)
        take_plain(&names, g->tensors.at[g->inputs.at[i]].name);
    for (size_t i = 0; i < g->outputs.len; i++)
        if (g->tensors.at[g->outputs.at[i]].output_name)
            take_plain(&names, g->tensors.at[g->outputs.at[i]].output_name);
    for (size_t i = 0; i < g->tensors.len; i++) {
        fg_tensor *t = &g->tensors.at[i];
        while (!t->name) {
            const char *name = arena_printf(g->memory, "t%d", count++);
            t->name = is_taken(&names, name) ? NULL : name;
        }
    }
}

static bool read_graph(reader *r, const json_t *top)
{
    size_t i;
    json_t *x;
    r->g->name = text_of(r, top, "name");
    const json_t *tensors = list_of(r, top, "tensors"), *nodes = list_of(r, top, "nodes");
    if (r->error)
        return false;
    json_array_foreach((json_t *)tensors, i, x) if (!read_tensor(r, x)) return false;
    if (!read_inputs(r, top))
        return false;
    json_array_foreach((json_t *)nodes, i, x) if (!read_node(r, x)) return false;
    for (i = 0; i < r->g->inputs.len; i++) // names are made next, and inputs keep theirs
        if (r->g->tensors.at[r->g->inputs.at[i]].maker >= 0)
            failed(r, "an input is what a node makes");
    if (r->error)
        return false;
    name_tensors(r->g);
    return true;
}

// NULL: the outputs have these types.
static const char *compare_wanted(reader *r, const json_t *wanted)
{
    const fg_graph *g = r->g;
    fg_graph types = {.memory = r->a};
    reader inner = {r->a, &types, NULL};
    size_t i;
    json_t *x;
    json_array_foreach((json_t *)wanted, i, x)
        if (!read_tensor(&inner, x))
            return inner.error;
    if (types.tensors.len != g->outputs.len)
        return arena_printf(r->a, "%zu tensors take the place of %zu", g->outputs.len, types.tensors.len);
    for (i = 0; i < g->outputs.len; i++) {
        const char *is = fg_type_text(r->a, &g->tensors.at[g->outputs.at[i]]);
        const char *was = fg_type_text(r->a, &types.tensors.at[i]);
        if (strcmp(is, was) != 0)
            return arena_printf(r->a, "%s takes the place of %s", is, was);
    }
    return NULL;
}

// [is_whole]: it is a graph that runs.
static fg_graph *read_one(arena *a, const char **error, const json_t *top, bool is_whole)
{
    fg_graph *g = ARENA_NEW(a, fg_graph);
    g->memory = a;
    reader r = {a, g, NULL};
    bool ok = read_graph(&r, top);
    const char *wrong = !ok ? NULL : is_whole ? fg_verify(g) : compare_wanted(&r, json_object_get(top, "wanted"));
    if (wrong)
        ok = failed(&r, wrong);
    *error = r.error;
    return ok ? g : NULL;
}

static json_t *parse(arena *a, const char **error, const char *text)
{
    json_error_t where;
    json_t *top = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    *error = top ? NULL : arena_printf(a, "line %d: %s", where.line, where.text);
    return top;
}

fg_graph *fg_read_json(arena *a, const char **error, const char *text)
{
    json_t *top = parse(a, error, text);
    fg_graph *g = top ? read_one(a, error, top, true) : NULL;
    json_decref(top);
    return g;
}

fg_graph *fg_read_side(arena *a, const char **error, const char *text)
{
    json_t *top = parse(a, error, text);
    fg_graph *g = top ? read_one(a, error, top, false) : NULL;
    json_decref(top);
    return g;
}

void fg_join(const fg_graph_list *graphs)
{
    fg_name_list *names = graphs->len > 1 ? ARENA_NEW(graphs->at[0]->memory, fg_name_list) : NULL;
    for (size_t i = 0; names && i < graphs->len; i++) {
        fg_graph *g = graphs->at[i];
        VEC_PUSH(g->memory, names, g->name);
        VEC_PUSH(g->memory, names, arena_printf(g->memory, "%s_load", g->name));
        g->functions = names;
    }
}

bool fg_read_json_list(arena *a, fg_graph_list *out, const char **error, const char *text)
{
    json_t *top = parse(a, error, text);
    size_t count = json_is_array(top) ? json_array_size(top) : 1;
    bool ok = top != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        fg_graph *g = read_one(a, error, json_is_array(top) ? json_array_get(top, i) : top, true);
        ok = g != NULL;
        if (ok)
            VEC_PUSH(a, out, g);
    }
    if (ok && !count) {
        *error = "the list has no graph";
        ok = false;
    }
    if (ok)
        fg_join(out);
    json_decref(top);
    return ok;
}

// In this order inputs stand.
static int class_of(const fg_tensor *t)
{
    return t->is_prepared ? 2 : t->weight ? 1 : 0;
}

const char *fg_verify(const fg_graph *g)
{
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        for (size_t k = 0; k < n->arguments.len; k++) {
            int t = n->arguments.at[k].tensor;
            if (t >= 0 && g->tensors.at[t].maker >= (int)i)
                return arena_printf(g->memory, "node %zu ('%s') reads '%s' before it is made", i, n->op,
                                    g->tensors.at[t].name);
        }
        if (!n->outputs.len)
            return arena_printf(g->memory, "node %zu ('%s') makes nothing", i, n->op);
    }
    for (size_t i = 0; i < g->tensors.len; i++) {
        bool is_input = false;
        for (size_t k = 0; k < g->inputs.len; k++)
            is_input |= g->inputs.at[k] == (int)i;
        bool is_unread = g->tensors.at[i].weight && !is_input; // all that reads it was moved into the graph [load]
        if (is_input != (g->tensors.at[i].maker < 0) && !is_unread)
            return arena_printf(g->memory, "'%s' is %s", g->tensors.at[i].name,
                                is_input ? "an input that a node makes" : "made by no node");
    }
    for (size_t i = 1; i < g->inputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->inputs.at[i]];
        if (class_of(t) < class_of(&g->tensors.at[g->inputs.at[i - 1]]))
            return arena_printf(g->memory, "the input '%s' stands behind weights", t->name);
    }
    for (size_t i = 0; i < g->outputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->outputs.at[i]];
        if (t->maker < 0)
            return arena_printf(g->memory, "the input '%s' is an output", t->name);
        for (size_t k = 0; k < i; k++)
            if (g->outputs.at[k] == g->outputs.at[i])
                return arena_printf(g->memory, "'%s' is two outputs", t->name);
    }
    return g->outputs.len ? NULL : "the graph has no outputs";
}
