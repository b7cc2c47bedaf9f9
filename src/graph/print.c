// Graphs as text: the graph function.
#include "base/map.h"
#include "graph/graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool fg_same_extent(const fg_tensor *a, int axis_a, const fg_tensor *b, int axis_b)
{
    const char *x = a->extent[axis_a], *y = b->extent[axis_b];
    return x && y ? strcmp(x, y) == 0 : !x && !y && a->shape[axis_a] == b->shape[axis_b];
}

bool fg_is_op(const fg_node *n, const char *module, const char *op)
{
    return strcmp(n->module, module) == 0 && strcmp(n->op, op) == 0;
}

bool fg_has_operands(const fg_node *n)
{
    bool any = false;
    for (size_t k = 0; k < n->arguments.len; k++)
        any |= n->arguments.at[k].tensor >= 0;
    return any;
}

bool fg_is_open(const fg_tensor *t)
{
    for (int d = 0; d < t->rank; d++)
        if (t->extent[d])
            return true;
    return false;
}

bool fg_is_empty(const fg_tensor *t)
{
    for (int d = 0; d < t->rank; d++)
        if (!t->extent[d] && !t->shape[d])
            return true;
    return false;
}

const char *fg_extent_text(arena *a, const fg_tensor *t, int axis)
{
    return t->extent[axis] ? t->extent[axis] : arena_printf(a, "%" PRId64, t->shape[axis]);
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool fg_mentions(const char *text, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = strstr(text, name); len && at; at = strstr(at + 1, name))
        if ((at == text || !is_word(at[-1])) && !is_word(at[len]))
            return true;
    return false;
}

const char *fg_size_parameters(const fg_graph *g, const char *text)
{
    str_buf out;
    str_buf_init(&out, g->memory);
    for (size_t i = 0; i < g->sizes.len; i++)
        if (fg_mentions(text, g->sizes.at[i]))
            str_addf(&out, "%s%s: int", out.len ? ", " : "[", g->sizes.at[i]);
    str_adds(&out, out.len ? "]" : "");
    return str_text(&out);
}

bool fg_is_same_shape(const fg_tensor *a, const fg_tensor *b)
{
    bool same = a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++)
        same = fg_same_extent(a, d, b, d);
    return same;
}

const char *fg_type_text(arena *a, const fg_tensor *t)
{
    str_buf out;
    str_buf_init(&out, a);
    str_addf(&out, "%s[", t->dtype);
    for (int d = 0; d < t->rank; d++)
        str_addf(&out, "%s%s", d ? ", " : "", fg_extent_text(a, t, d));
    str_adds(&out, t->rank ? "]" : "()]");
    return str_text(&out);
}

const char *fg_lines_text(arena *a, const fg_launch *l)
{
    int last = 0;
    str_buf out;
    str_buf_init(&out, a);
    for (size_t i = 0; i < l->nodes.len; i++) {
        const fg_node *n = l->nodes.at[i];
        if (n->line == last)
            continue;
        str_addf(&out, "%s%d", last ? ", " : "", n->line);
        last = n->line;
    }
    return str_text(&out);
}

const char *fg_operators_text(arena *a, const fg_launch *l, const char *separator)
{
    str_buf out;
    str_buf_init(&out, a);
    for (size_t i = 0; i < l->nodes.len; i++)
        str_addf(&out, "%s%s", i ? separator : "", l->nodes.at[i]->op);
    return str_text(&out);
}

const fg_tensor *fg_memory_of(const fg_graph *g, const fg_tensor *t)
{
    return t->layout ? fg_memory_of(g, &g->tensors.at[t->layout->base]) : t->writer ? &g->tensors.at[t->writer->outputs.at[0]] : t;
}

// They are called in order.
int fg_launch_at(const fg_graph *g, int line)
{
    size_t low = 0, high = g->launches.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (g->launches.at[middle].line < line)
            low = middle + 1;
        else
            high = middle;
    }
    return low < g->launches.len && g->launches.at[low].line == line ? (int)low : -1;
}

// Names of functions and inputs.
typedef struct fg_taken {
    const fg_name_list *functions;
    size_t inputs; // so many
    map names;
} fg_taken;

static void take(fg_taken *taken, const char *name)
{
    map_put(&taken->names, name, strlen(name), taken);
}

static const map *taken_names(fg_graph *g)
{
    if (g->taken && g->taken->functions == g->functions && g->taken->inputs == g->inputs.len)
        return &g->taken->names;
    g->taken = ARENA_NEW(g->memory, fg_taken);
    *g->taken = (fg_taken){.functions = g->functions, .inputs = g->inputs.len};
    map_init(&g->taken->names, g->memory);
    take(g->taken, g->name);
    for (size_t i = 0; g->functions && i < g->functions->len; i++)
        take(g->taken, g->functions->at[i]);
    for (size_t i = 0; i < g->inputs.len; i++)
        take(g->taken, g->tensors.at[g->inputs.at[i]].name);
    return &g->taken->names;
}

const char *fg_name_in_text(const fg_graph *g, const char *op)
{
    const fg_graph *whole = g->whole ? g->whole : g;
    bool is_taken = map_get(taken_names((fg_graph *)whole), op, strlen(op)) != NULL; // changes nothing but what is known of it
    return is_taken ? fg_name_in_text(g, arena_printf(g->memory, "%s_", op)) : op;
}

void fg_print_call(str_buf *out, const fg_graph *g, const fg_node *n, const char *const *names)
{
    fg_print_method(out, g, n, "", names);
}

void fg_print_method(str_buf *out, const fg_graph *g, const fg_node *n, const char *method, const char *const *names)
{
    str_addf(out, "%s%s%s(", fg_name_in_text(g, n->op), *method ? "." : "", method);
    for (size_t k = 0; k < n->arguments.len; k++) {
        const fg_argument *x = &n->arguments.at[k];
        if (k)
            str_adds(out, ", ");
        if (x->name)
            str_addf(out, "%s=", x->name);
        if (x->tensor < 0)
            str_adds(out, x->value);
        else
            str_adds(out, names && names[x->tensor] ? names[x->tensor] : g->tensors.at[x->tensor].name);
    }
    str_addc(out, ')');
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_types(str_buf *out, const fg_graph *g, const char *more)
{
    size_t limit = g->tensors.len + (g->load ? g->load->tensors.len : 0), count = 0;
    const char **types = ARENA_ARRAY(g->memory, const char *, limit + 1);
    for (const fg_graph *part = g; part; part = part->load)
        for (size_t i = 0; i < part->tensors.len; i++)
            types[count++] = part->tensors.at[i].dtype;
    qsort(types, count, sizeof *types, compare_texts);
    str_addf(out, "from hidet.lang import %s", more);
    for (size_t i = 0; i < count; i++)
        if (!i || strcmp(types[i], types[i - 1]) != 0)
            str_addf(out, "%s%s", i || *more ? ", " : "", types[i]);
    str_addc(out, '\n');
}

// Modules and names are in order, each once.
void fg_print_imports(str_buf *out, const fg_graph *g, const char *more)
{
    size_t limit = g->nodes.len + (g->load ? g->load->nodes.len : 0), count = 0;
    const char **pairs = ARENA_ARRAY(g->memory, const char *, limit + 1);
    for (const fg_graph *part = g; part; part = part->load)
        for (size_t i = 0; i < part->nodes.len; i++)
            if (!part->nodes.at[i].is_dropped)
                pairs[count++] = arena_printf(g->memory, "%s\n%s", part->nodes.at[i].module, part->nodes.at[i].op);
    qsort(pairs, count, sizeof *pairs, compare_texts);
    for (size_t i = 0; i < count; i++) {
        if (i && strcmp(pairs[i], pairs[i - 1]) == 0)
            continue;
        size_t len = strcspn(pairs[i], "\n");
        bool goes_on = i && strncmp(pairs[i], pairs[i - 1], len + 1) == 0;
        if (!goes_on)
            str_addf(out, "%sfrom %.*s import ", i ? "\n" : "", (int)len, pairs[i]);
        const char *op = pairs[i] + len + 1, *name = fg_name_in_text(g, op);
        str_addf(out, "%s%s%s%s", goes_on ? ", " : "", op, name != op ? " as " : "", name != op ? name : "");
    }
    str_adds(out, count ? "\n" : "");
    add_types(out, g, more);
}

static void add_outputs(str_buf *out, const fg_graph *g, const fg_number_list *numbers)
{
    for (size_t k = 0; k < numbers->len; k++)
        str_addf(out, "%s%s", k ? ", " : "", g->tensors.at[numbers->at[k]].name);
}

void fg_print_quoted(str_buf *out, const char *text)
{
    str_addc(out, '"');
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            str_addc(out, '\\');
        if ((unsigned char)*c < 0x20)
            str_addf(out, "\\x%02x", (unsigned)*c);
        else
            str_addc(out, *c);
    }
    str_addc(out, '"');
}

// The files of weights that the graph reads, each once.
typedef VEC(const char *) file_list;

static size_t number_of_file(const file_list *files, const char *file)
{
    size_t i = 0;
    while (i < files->len && strcmp(files->at[i], file) != 0)
        i++;
    return i;
}

static file_list find_files(const fg_graph *g)
{
    file_list files = {0};
    for (const fg_graph *part = g; part; part = part->load)
        for (size_t i = 0; i < part->inputs.len; i++) {
            const fg_tensor *t = &part->tensors.at[part->inputs.at[i]];
            if (t->weight && number_of_file(&files, t->weight_file) == files.len)
                VEC_PUSH(g->memory, &files, t->weight_file);
        }
    return files;
}

// "W", "W1" …: the values of the files.
static const char *file_variable(const fg_graph *g, size_t number)
{
    return fg_free_name(g, number ? arena_printf(g->memory, "W%zu", number) : "W");
}

// The parameters, and a line for each weight. The type stands there for those who have no file.
static void add_inputs(str_buf *out, const fg_graph *g, const fg_graph *whole, const file_list *files)
{
    for (size_t i = 0, count = 0; i < g->inputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->inputs.at[i]];
        if (!t->weight)
            str_addf(out, "%s%s: %s", count++ ? ", " : "", t->name, fg_type_text(g->memory, t));
    }
    str_adds(out, "):\n");
    for (size_t i = 0; i < g->inputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->inputs.at[i]];
        if (!t->weight)
            continue;
        str_addf(out, "    %s = %s[", t->name, file_variable(whole, number_of_file(files, t->weight_file)));
        fg_print_quoted(out, t->weight);
        str_addf(out, ", %s]\n", fg_type_text(g->memory, t));
    }
}

// Results that have names are a dict.
static void add_return(str_buf *out, const fg_graph *g)
{
    bool is_named = g->outputs.len && g->tensors.at[g->outputs.at[0]].output_name;
    str_addf(out, "    return %s", is_named ? "{" : "");
    if (!is_named)
        add_outputs(out, g, &g->outputs);
    for (size_t k = 0; is_named && k < g->outputs.len; k++) {
        const fg_tensor *t = &g->tensors.at[g->outputs.at[k]];
        str_adds(out, k ? ", " : "");
        fg_print_quoted(out, t->output_name);
        str_addf(out, ": %s", t->name);
    }
    str_adds(out, is_named ? "}\n" : "\n");
}

static void add_function(str_buf *out, const fg_graph *g, const fg_graph *whole, const file_list *files)
{
    str_buf inputs;
    str_buf_init(&inputs, g->memory);
    add_inputs(&inputs, g, whole, files);
    str_addf(out, "\n\n@hidet.graph\ndef %s%s(%s", g->name, fg_size_parameters(g, str_text(&inputs)), str_text(&inputs));
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        if (n->is_dropped)
            continue;
        str_adds(out, "    ");
        add_outputs(out, g, &n->outputs);
        str_adds(out, " = ");
        fg_print_call(out, g, n, NULL);
        str_addf(out, "  # %s, line %d\n", fg_type_text(g->memory, &g->tensors.at[n->outputs.at[0]]), n->line);
    }
    add_return(out, g);
}

str fg_print(const fg_graph *g)
{
    str_buf out;
    str_buf_init(&out, g->memory);
    file_list files = find_files(g);
    fg_print_imports(&out, g, files.len ? "weights" : "");
    for (size_t i = 0; i < files.len; i++) {
        str_addf(&out, "%s%s = weights(", i ? "" : "\n", file_variable(g, i));
        if (*files.at[i])
            fg_print_quoted(&out, files.at[i]);
        str_adds(&out, ")\n");
    }
    if (g->load)
        add_function(&out, g->load, g, &files);
    add_function(&out, g, g, &files);
    return (str){out.at, out.len};
}
