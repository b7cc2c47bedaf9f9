// Reading: protobuf-c's messages in the arena without the nodes that nothing reads, and what has to hold of them before they are
// printed.
#include "onnx/model.h"

#include <string.h>

#include "base/file.h"

enum { MOST_INNER = 32 };

bool onnx_failed(onnx_model *m, const char *error)
{
    if (!m->error)
        m->error = error;
    return false;
}

static bool is_text(const char *path)
{
    return str_ends(str_of(path), STR(".onnxtxt")) || str_ends(str_of(path), STR(".onnxtext"));
}

bool onnx_is_path(const char *path)
{
    return str_ends(str_of(path), STR(".onnx")) || is_text(path);
}

// Where a text begins, behind spaces and comments.
static size_t text_begin(str bytes)
{
    size_t at = 0;
    for (bool is_comment = false; at < bytes.len; at++) {
        char c = bytes.at[at];
        is_comment = c == '#' || (is_comment && c != '\n');
        if (!is_comment && c != ' ' && c != '\t' && c != '\r' && c != '\n')
            break;
    }
    return at;
}

const char *onnx_ending_of(str bytes)
{
    enum { IR_VERSION = 1 << 3 }; // field 1, a varint
    size_t begin = text_begin(bytes);
    if (begin < bytes.len && bytes.at[begin] == '<')
        return ".onnxtxt";
    return bytes.len && bytes.at[0] == IR_VERSION ? ".onnx" : "";
}

// ---- the messages ---------------------------------------------------------------------------------------------------

static void *allocate(void *user, size_t size)
{
    return arena_alloc(user, size ? size : 1);
}

static void release(void *user, void *memory)
{
    (void)user;
    (void)memory;
}

// NULL: it is no message of this kind, or is nested too deeply.
static void *unpack(arena *a, const ProtobufCMessageDescriptor *d, str bytes)
{
    str skeleton;
    ProtobufCAllocator allocator = {allocate, release, a};
    if (!onnx_skeleton(a, d, bytes, &skeleton))
        return NULL;
    return protobuf_c_message_unpack(d, &allocator, skeleton.len, (const uint8_t *)skeleton.at);
}

static const char *text_of(const char *text)
{
    return text ? text : "";
}

// ---- what nothing reads ---------------------------------------------------------------------------------------------

static void add_read(map *read, const char *name)
{
    map_put(read, text_of(name), strlen(text_of(name)), read);
}

static bool is_name_read(const map *read, const char *name)
{
    return *text_of(name) && map_get(read, name, strlen(name));
}

static bool is_read(const Onnx__Node *n, const map *read)
{
    bool found = false;
    for (size_t i = 0; i < n->n_output && !found; i++)
        found = is_name_read(read, n->output[i]);
    return found;
}

static void drop_from_graph(Onnx__Graph *g, map *read, arena *a);

// A tensor that two nodes make is an error, which must not be dropped: it counts as read.
static void add_made_twice(map *read, Onnx__Node **nodes, size_t count, arena *a)
{
    map made;
    map_init(&made, a);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < nodes[i]->n_output; k++) {
            if (is_name_read(&made, nodes[i]->output[k]))
                add_read(read, nodes[i]->output[k]);
            add_read(&made, nodes[i]->output[k]);
        }
    }
}

// Keeps the nodes that [read] depends on, to which it adds what they read. Names of inner graphs are among those of the graphs
// around them: what has a name that is read elsewhere stays.
static void drop_nodes(Onnx__Node **nodes, size_t *count, map *read, arena *a)
{
    size_t first = *count;
    add_made_twice(read, nodes, *count, a);
    for (size_t i = *count; i-- > 0;) {
        Onnx__Node *n = nodes[i];
        if (!is_read(n, read))
            continue;
        nodes[--first] = n;
        for (size_t k = 0; k < n->n_input; k++)
            add_read(read, n->input[k]);
        for (size_t k = 0; k < n->n_attribute; k++)
            if (n->attribute[k]->g)
                drop_from_graph(n->attribute[k]->g, read, a);
    }
    *count -= first;
    if (*count)
        memmove(nodes, nodes + first, *count * sizeof *nodes);
}

static void drop_from_graph(Onnx__Graph *g, map *read, arena *a)
{
    for (size_t i = 0; i < g->n_output; i++)
        add_read(read, g->output[i]->name);
    drop_nodes(g->node, &g->n_node, read, a);
}

static void drop_unread(onnx_model *m)
{
    Onnx__Model *p = m->proto;
    map read;
    for (size_t i = 0; i < p->n_functions; i++) {
        Onnx__Function *f = p->functions[i];
        map_init(&read, m->memory);
        for (size_t k = 0; k < f->n_output; k++)
            add_read(&read, f->output[k]);
        drop_nodes(f->node, &f->n_node, &read, m->memory);
    }
    map_init(&read, m->memory);
    if (p->graph)
        drop_from_graph(p->graph, &read, m->memory);
}

// ---- checks ---------------------------------------------------------------------------------------------------------

static bool node_failed(onnx_model *m, const Onnx__Node *n, const char *why)
{
    const char *name = onnx_clean(m->memory, n->name && *n->name ? n->name : n->n_output ? n->output[0] : "");
    return onnx_failed(m, arena_printf(m->memory, "node '%s' (%s): %s", name, onnx_clean(m->memory, n->op_type), why));
}

// The values of a graph, and those of the graphs around it.
typedef struct scope {
    map values;
    const struct scope *outer;
} scope;

static bool has_value(const scope *s, const char *name)
{
    for (; s; s = s->outer)
        if (map_get(&s->values, name, strlen(name)))
            return true;
    return false;
}

static bool check_graph(onnx_model *m, const Onnx__Graph *g, const char *name, const scope *outer);

static bool add_tensor(onnx_model *m, const Onnx__Tensor *t, const char *name)
{
    return onnx_add_weight(m, t, t->name && *t->name ? t->name : name);
}

static bool check_attribute(onnx_model *m, const Onnx__Node *n, const Onnx__Attribute *a, const scope *values)
{
    const char *output = n->n_output ? n->output[0] : "", *name = arena_printf(m->memory, "%s.%s", output, text_of(a->name));
    bool is_value = n->op_type && strcmp(n->op_type, "Constant") == 0;
    if (!a->name || !str_is_identifier(a->name))
        return node_failed(m, n, "an attribute has no name, or one that is no identifier");
    if (a->t && !onnx_add_weight(m, a->t, is_value ? output : name))
        return false;
    for (size_t i = 0; i < a->n_tensors; i++)
        if (!onnx_add_weight(m, a->tensors[i], name))
            return false;
    if (a->g && ++m->depth > MOST_INNER)
        return node_failed(m, n, "graphs are nested more than 32 times");
    bool ok = !a->g || check_graph(m, a->g, name, values);
    m->depth -= a->g != NULL;
    return ok;
}

static bool check_node(onnx_model *m, const Onnx__Node *n, scope *values)
{
    if (!n->op_type || !str_is_identifier(n->op_type))
        return node_failed(m, n, "its operator has no name, or one that is no identifier");
    for (size_t i = 0; i < n->n_input; i++)
        if (*n->input[i] && !has_value(values, n->input[i]))
            return node_failed(m, n, arena_printf(m->memory, "its input '%s' is no value that is there before it: the nodes have a "
                                                             "cycle, are in no order, or one is missing",
                                                  onnx_clean(m->memory, n->input[i])));
    for (size_t i = 0; i < n->n_attribute; i++)
        if (!check_attribute(m, n, n->attribute[i], values))
            return false;
    for (size_t i = 0; i < n->n_output; i++) {
        if (!*n->output[i])
            continue;
        if (has_value(values, n->output[i]))
            return node_failed(m, n, arena_printf(m->memory, "its output '%s' is a value that is there before it",
                                                  onnx_clean(m->memory, n->output[i])));
        map_put(&values->values, n->output[i], strlen(n->output[i]), (void *)n);
    }
    return true;
}

static bool check_values(onnx_model *m, const Onnx__Graph *g, map *values)
{
    if (g->n_sparse_initializer)
        return onnx_failed(m, "it has sparse initialisers, which are not read");
    for (size_t i = 0; i < g->n_input; i++) {
        const char *name = text_of(g->input[i]->name);
        if (!*name)
            return onnx_failed(m, "an input of a graph has no name");
        map_put(values, name, strlen(name), (void *)g);
    }
    for (size_t i = 0; i < g->n_initializer; i++) {
        const char *name = text_of(g->initializer[i]->name);
        if (!*name)
            return onnx_failed(m, "an initialiser has no name");
        map_put(values, name, strlen(name), (void *)g);
        if (!add_tensor(m, g->initializer[i], name))
            return false;
    }
    return true;
}

// The values that nodes name are there before them. Inner graphs see those around them.
static bool check_graph(onnx_model *m, const Onnx__Graph *g, const char *name, const scope *outer)
{
    scope values = {.outer = outer};
    map_init(&values.values, m->memory);
    if (!check_values(m, g, &values.values))
        return false;
    for (size_t i = 0; i < g->n_node; i++)
        if (!check_node(m, g->node[i], &values))
            return false;
    for (size_t i = 0; i < g->n_output; i++) {
        const char *output = text_of(g->output[i]->name);
        if (!*output || !has_value(&values, output))
            return onnx_failed(m, arena_printf(m->memory, "output '%s' of graph '%s' is made by no node",
                                               onnx_clean(m->memory, output), onnx_clean(m->memory, name)));
    }
    return g->n_output || onnx_failed(m, arena_printf(m->memory, "graph '%s' has no output", onnx_clean(m->memory, name)));
}

static bool check_function(onnx_model *m, const Onnx__Function *f)
{
    scope values = {0};
    map_init(&values.values, m->memory);
    if (!f->name || !str_is_identifier(f->name))
        return onnx_failed(m, "a function has no name, or one that is no identifier");
    for (size_t i = 0; i < f->n_input; i++)
        map_put(&values.values, f->input[i], strlen(f->input[i]), (void *)f);
    for (size_t i = 0; i < f->n_node; i++)
        if (!check_node(m, f->node[i], &values))
            return false;
    for (size_t i = 0; i < f->n_output; i++)
        if (!has_value(&values, f->output[i]))
            return onnx_failed(m, arena_printf(m->memory, "output '%s' of function '%s' is made by no node",
                                               onnx_clean(m->memory, f->output[i]), f->name));
    for (size_t i = 0; i < f->n_attribute; i++)
        if (!str_is_identifier(f->attribute[i]))
            return onnx_failed(m, arena_printf(m->memory, "function '%s': an attribute's name is no identifier", f->name));
    for (size_t i = 0; i < f->n_attribute_proto; i++) {
        const Onnx__Attribute *a = f->attribute_proto[i];
        if (!a->name || !str_is_identifier(a->name) || a->g || a->ref_attr_name)
            return onnx_failed(m, arena_printf(m->memory, "function '%s': an attribute's default has no name, or is a graph", f->name));
        if ((a->t && !onnx_add_weight(m, a->t, a->name)))
            return false;
        for (size_t k = 0; k < a->n_tensors; k++)
            if (!onnx_add_weight(m, a->tensors[k], a->name))
                return false;
    }
    return true;
}

static bool check(onnx_model *m)
{
    const Onnx__Model *p = m->proto;
    if (!p->graph)
        return onnx_failed(m, "it has no graph");
    if (!p->n_opset_import)
        return onnx_failed(m, "it does not say which version of the operator set it needs");
    for (size_t i = 0; i < p->n_functions; i++)
        if (!check_function(m, p->functions[i]))
            return false;
    return check_graph(m, p->graph, text_of(p->graph->name), NULL);
}

static onnx_model *new_model(arena *a, const char *path, str bytes)
{
    onnx_model *m = ARENA_NEW(a, onnx_model);
    *m = (onnx_model){.memory = a, .path = arena_strdup(a, path), .bytes = (const uint8_t *)bytes.at, .weights = wt_new(a, path)};
    map_init(&m->tensors, a);
    map_init(&m->numbers, a);
    return m;
}

onnx_model *onnx_read(arena *a, const char *path, str bytes, const char **error)
{
    if (is_text(path) && !onnx_text_read(a, bytes, &bytes, error))
        return NULL;
    onnx_model *m = new_model(a, path, bytes);
    m->proto = unpack(a, &onnx__model__descriptor, bytes);
    if (!m->proto)
        onnx_failed(m, "its bytes are no message of a model, or one that is nested too deeply");
    else
        drop_unread(m);
    if (m->proto && check(m))
        return m;
    *error = m->error;
    wt_close(m->weights);
    return NULL;
}

onnx_model *onnx_open(arena *a, const char *path, const char **error)
{
    str bytes;
    onnx_model *m = file_map(a, path, &bytes, error) ? onnx_read(a, path, bytes, error) : NULL;
    if (m)
        m->weights->mapped = bytes;
    else
        file_unmap(&bytes);
    return m;
}

wt_file *onnx_open_tensor(arena *a, const char *path, const char **error)
{
    str bytes;
    if (!file_map(a, path, &bytes, error))
        return NULL;
    onnx_model *m = new_model(a, path, bytes);
    const Onnx__Tensor *t = unpack(a, &onnx__tensor__descriptor, bytes);
    m->weights->mapped = bytes;
    if (!t)
        onnx_failed(m, "its bytes are no message of a tensor");
    if (t && onnx_add_weight(m, t, t->name ? t->name : ""))
        return m->weights;
    *error = m->error;
    wt_close(m->weights);
    return NULL;
}
