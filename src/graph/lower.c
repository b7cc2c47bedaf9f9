// Graphs as programs: an operator for each group, and the host function that launches them.
#include "graph/amount.h"

#include <string.h>

#include "base/map.h"

typedef struct group_text {
    const char *name;       // of its operator
    fg_node_list nodes;     // in order, without those that are dropped
    fg_number_list inputs;  // tensors that it reads from memory, in order of first use
    fg_number_list outputs; // tensors that it writes
    const char *passed;     // open sizes that its operands do not tell: "B=B, "
} group_text;

// The text of all graphs.
typedef struct program {
    str_buf out;
    bool is_called; // by other functions: it has no entries
    map by_text; // the text of an operator behind its name -> its name
    map by_name; // names that are taken
    map numbers; // an operator's name without a number -> the last number behind it
    bool launches_together; // some of the launches
    size_t counted;
    int lines;   // in [counted] characters of it
} program;

enum { FURTHER = 16 }; // groups ahead in which others are looked for that run side by side

typedef struct lowering {
    fg_graph *g;
    program *program;
    str_buf operators, body;
    bool *is_needed;         // of each tensor: read by another group than its maker's, or an output
    const char **names; // of each tensor, in the operator that is written; where it reads none, of an earlier one
    group_text *groups;
    bool *is_done;      // of each group: its launch or view is in the body
    bool *has_memory;   // of each tensor: it is in the body
    size_t counted;
    int lines;   // in [counted] characters of the body
} lowering;

// Line ends in what was added to the text since [*at] was its end.
static int new_lines(const str_buf *text, size_t *at)
{
    int count = 0;
    for (; *at < text->len; ++*at)
        count += text->at[*at] == '\n';
    return count;
}

static bool has(const fg_number_list *list, int number)
{
    for (size_t i = 0; i < list->len; i++)
        if (list->at[i] == number)
            return true;
    return false;
}

static void find_needed(lowering *l)
{
    const fg_graph *g = l->g;
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        for (size_t k = 0; k < n->arguments.len && !n->is_dropped; k++) {
            int t = n->arguments.at[k].tensor, maker = t < 0 ? -1 : g->tensors.at[t].maker;
            bool is_view = g->tensors.at[n->outputs.at[0]].layout != NULL;
            if (maker >= 0 && g->nodes.at[maker].group != n->group)
                l->is_needed[is_view ? g->tensors.at[n->outputs.at[0]].layout->base : t] = true;
        }
    }
    for (size_t k = 0; k < g->outputs.len; k++)
        l->is_needed[g->outputs.at[k]] = true;
}

static void find_operands(lowering *l)
{
    fg_graph *g = l->g;
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        if (n->is_dropped)
            continue;
        group_text *group = &l->groups[n->group];
        VEC_PUSH(g->memory, &group->nodes, n);
        for (size_t k = 0; k < n->arguments.len; k++) {
            int t = n->arguments.at[k].tensor, maker = t < 0 ? -1 : g->tensors.at[t].maker;
            bool is_outside = t >= 0 && (maker < 0 || g->nodes.at[maker].group != n->group);
            if (is_outside && !has(&group->inputs, t))
                VEC_PUSH(g->memory, &group->inputs, t);
        }
        for (size_t k = 0; k < n->outputs.len; k++)
            if (l->is_needed[n->outputs.at[k]])
                VEC_PUSH(g->memory, &group->outputs, n->outputs.at[k]);
    }
}

// Open extents of an operator: of its operands they are type parameters, by which the extents of results are told where they are
// equal; sizes that no operand has are numbers that the launch passes.
typedef struct open_sizes {
    fg_name_list texts, names; // an extent of an operand, and its type parameter
    const char *passed;        // "B=B, "
} open_sizes;

static const char *size_of(const open_sizes *s, const char *text)
{
    for (size_t i = 0; text && i < s->texts.len; i++)
        if (strcmp(s->texts.at[i], text) == 0)
            return s->names.at[i];
    return NULL;
}

static bool is_size(const fg_graph *g, const char *text)
{
    for (size_t i = 0; i < g->sizes.len; i++)
        if (strcmp(g->sizes.at[i], text) == 0)
            return true;
    return false;
}

static const char *open_type(const fg_graph *g, const open_sizes *s, const fg_tensor *t)
{
    fg_tensor shown = *t;
    for (int d = 0; d < t->rank; d++)
        if (size_of(s, t->extent[d]))
            shown.extent[d] = size_of(s, t->extent[d]);
    return fg_type_text(g->memory, &shown);
}

static void find_open(const fg_graph *g, const group_text *group, open_sizes *out)
{
    for (size_t i = 0; i < group->inputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[group->inputs.at[i]];
        for (int d = 0; d < t->rank; d++) {
            if (!t->extent[d] || size_of(out, t->extent[d]))
                continue;
            VEC_PUSH(g->memory, &out->texts, t->extent[d]);
            const char *name = arena_printf(g->memory, "n%zu", out->names.len);
            VEC_PUSH(g->memory, &out->names, is_size(g, t->extent[d]) ? t->extent[d] : name);
        }
    }
}

// "[B: int, n1: int](x0: f16[B, 784], S: int) -> f16[B, 10]:"
static const char *operator_head(lowering *l, int number, const char *body)
{
    const fg_graph *g = l->g;
    group_text *group = &l->groups[number];
    open_sizes sizes = {0};
    str_buf out, results, passed;
    str_buf_init(&out, g->memory);
    str_buf_init(&results, g->memory);
    str_buf_init(&passed, g->memory);
    find_open(g, group, &sizes);
    for (size_t i = 0; i < sizes.names.len; i++)
        str_addf(&out, "%s%s: int", i ? ", " : "[", sizes.names.at[i]);
    str_adds(&out, sizes.names.len ? "](" : "(");
    for (size_t i = 0; i < group->inputs.len; i++)
        str_addf(&out, "%sx%zu: %s", i ? ", " : "", i, open_type(g, &sizes, &g->tensors.at[group->inputs.at[i]]));
    for (size_t i = 0; i < group->outputs.len; i++)
        str_addf(&results, "%s%s", i ? ", " : "", open_type(g, &sizes, &g->tensors.at[group->outputs.at[i]]));
    for (size_t i = 0; i < g->sizes.len; i++) {
        const char *name = g->sizes.at[i];
        bool is_told = size_of(&sizes, name) != NULL;
        if (is_told || (!fg_mentions(str_text(&results), name) && !fg_mentions(body, name)))
            continue;
        str_addf(&out, "%s%s: int", group->inputs.len || passed.len ? ", " : "", name);
        str_addf(&passed, "%s=%s, ", name, name);
    }
    group->passed = str_text(&passed);
    bool is_tuple = group->outputs.len > 1;
    str_addf(&out, ") -> %s%s%s:\n", is_tuple ? "(" : "", str_text(&results), is_tuple ? ")" : "");
    return str_text(&out);
}

// Whether nothing writes the tensor while the graph runs: it is a weight, is prepared at load, or is a view of such a tensor.
static bool is_constant(const fg_graph *g, int tensor)
{
    const fg_layout *layout = tensor < 0 ? NULL : g->tensors.at[tensor].layout;
    const fg_tensor *base = tensor < 0 ? NULL : &g->tensors.at[layout ? layout->base : tensor];
    return base && base->maker < 0 && (base->weight || base->is_prepared);
}

// Whether kernels may read operands before those in front of them have ended (Operator.constant of hidet.lang.compute). Not the
// first ones: in front of them may be the program [load], or what the caller writes weights with.
static bool has_constants(const lowering *l, const fg_node *n)
{
    const fg_graph *g = l->g;
    bool all = n->constants && g->launches.len && !g->whole;
    for (unsigned rest = n->constants; all && rest; rest &= rest - 1) {
        size_t k = (size_t)__builtin_ctz(rest);
        all = k < n->arguments.len && !n->arguments.at[k].name && is_constant(g, n->arguments.at[k].tensor);
    }
    return all;
}

// The operator from its parameters on: equal groups have equal texts.
static const char *operator_text(lowering *l, int number)
{
    fg_graph *g = l->g;
    const group_text *group = &l->groups[number];
    const char **names = l->names;
    str_buf out;
    str_buf_init(&out, g->memory);
    for (size_t i = 0; i < group->inputs.len; i++)
        names[group->inputs.at[i]] = arena_printf(g->memory, "x%zu", i);
    int count = 0;
    for (size_t i = 0; i < group->nodes.len; i++) {
        const fg_node *n = group->nodes.at[i];
        str_adds(&out, "    ");
        for (size_t k = 0; k < n->outputs.len; k++) {
            names[n->outputs.at[k]] = arena_printf(g->memory, "y%d", count++);
            str_addf(&out, "%s%s", k ? ", " : "", names[n->outputs.at[k]]);
        }
        str_adds(&out, " = ");
        fg_print_call(&out, g, n, names);
        bool constant = has_constants(l, n);
        out.len -= constant ? strlen(")") : 0;
        str_adds(&out, constant ? ", constant=True)\n" : "\n");
    }
    str_adds(&out, "    return ");
    for (size_t i = 0; i < group->outputs.len; i++)
        str_addf(&out, "%s%s", i ? ", " : "", names[group->outputs.at[i]]);
    str_addc(&out, '\n');
    return arena_printf(g->memory, "%s%s", operator_head(l, number, str_text(&out)), str_text(&out));
}

// "linear_relu": the group's operators, each once; with a number where the name is taken.
static const char *operator_name(lowering *l, int number)
{
    fg_graph *g = l->g;
    str_buf out;
    str_buf_init(&out, g->memory);
    const char *last = "";
    for (size_t i = 0; i < l->groups[number].nodes.len && out.len < 60; i++) {
        const fg_node *n = l->groups[number].nodes.at[i];
        if (strcmp(n->op, last) == 0)
            continue;
        str_addf(&out, "%s%s", out.len ? "_" : "fused_", n->op);
        last = n->op;
    }
    const char *base = str_text(&out), *name = base;
    int *last_number = map_get(&l->program->numbers, base, strlen(base));
    if (!last_number) {
        last_number = ARENA_NEW(g->memory, int);
        *last_number = 1;
        map_put(&l->program->numbers, base, strlen(base), last_number);
    }
    while (map_get(&l->program->by_name, name, strlen(name)))
        name = arena_printf(g->memory, "%s_%d", base, ++*last_number);
    map_put(&l->program->by_name, name, strlen(name), l);
    return name;
}

static void add_operator(lowering *l, int number)
{
    const char *text = operator_text(l, number);
    char *known = map_get(&l->program->by_text, text, strlen(text));
    if (!known) {
        known = (char *)operator_name(l, number);
        map_put(&l->program->by_text, text, strlen(text), known);
        str_addf(&l->operators, "\n\n@operator\ndef %s%s", known, text);
    }
    l->groups[number].name = known;
}

// "# lines 12, 13": of the model.
static void add_lines(lowering *l, int number)
{
    int last = 0;
    str_buf lines;
    str_buf_init(&lines, l->g->memory);
    for (size_t i = 0; i < l->groups[number].nodes.len; i++) {
        const fg_node *n = l->groups[number].nodes.at[i];
        if (n->line == last)
            continue;
        str_addf(&lines, "%s%d", last ? ", " : " ", n->line);
        last = n->line;
    }
    str_addf(&l->body, "  # %s%s\n", strchr(str_text(&lines), ',') ? "lines" : "line", str_text(&lines));
}

static void add_extents(arena *a, str_buf *out, const fg_tensor *t)
{
    for (int d = 0; d < t->rank; d++)
        str_addf(out, "%s%s", d ? ", " : "", fg_extent_text(a, t, d));
}

static void add_tensor(lowering *l, const fg_tensor *t)
{
    if (t->is_output)
        return;
    str_addf(&l->body, "    %s = %s(%s, [", t->name, fg_name_in_text(l->g, "tensor"), t->dtype);
    add_extents(l->g->memory, &l->body, t);
    str_adds(&l->body, "])\n");
}

static bool has_open_strides(const fg_tensor *t, const fg_layout *layout)
{
    bool open = fg_is_open(t);
    for (int d = 0; d < t->rank; d++)
        open |= layout->strides[d].names.len > 0;
    return open;
}

// "t = as_tensor_pointer(~base + 64, f16, [4, 16], layout=strided_layout([4, 16], strides=[1, 4]))"; with open sizes
// "t = view(~base + 64, strided(f16[n, 16], [1, i64(n)]))", as of parts of concatenations, with align=16
static void add_view(lowering *l, const fg_tensor *t, const fg_layout *layout, const fg_node *n)
{
    arena *a = l->g->memory;
    const fg_tensor *of = &l->g->tensors.at[layout->base];
    bool is_strided = !fg_has_rows_in_order(a, t, layout), is_part = fg_is_op(n, "layout", "concat");
    bool open = is_strided && (is_part || has_open_strides(t, layout)); // parts may be operands where others are written
    str_addf(&l->body, "    %s = %s(~%s", t->name, open ? fg_name_in_text(l->g, "view") : "as_tensor_pointer", of->name);
    if (layout->offset.factor)
        str_addf(&l->body, " + %s", fg_amount_text(a, &layout->offset));
    if (open)
        str_addf(&l->body, ", strided(%s, strides=[", fg_type_text(a, t));
    else
        str_addf(&l->body, ", %s, [", t->dtype);
    if (!open)
        add_extents(a, &l->body, t);
    if (is_strided && !open) {
        str_adds(&l->body, "], layout=strided_layout([");
        add_extents(a, &l->body, t);
        str_adds(&l->body, "], strides=[");
    }
    for (int d = 0; d < t->rank && is_strided; d++)
        str_addf(&l->body, "%s%s", d ? ", " : "", fg_amount_text(a, &layout->strides[d]));
    str_addf(&l->body, "]%s%s)  # line %d\n", is_strided && is_part ? ", align=16" : "", is_strided ? ")" : "", n->line);
}

// Temporaries for what a group computes.
static void add_results(lowering *l, int number)
{
    const fg_graph *g = l->g;
    const group_text *group = &l->groups[number];
    for (size_t i = 0; i < group->outputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[group->outputs.at[i]];
        const fg_layout *place = t->joined ? t->joined : t->writer ? t->writer->written : NULL;
        const fg_tensor *memory = place ? &g->tensors.at[place->base] : t;
        if (!l->has_memory[memory->number])
            add_tensor(l, memory);
        l->has_memory[memory->number] = true;
        if (place)
            add_view(l, t, place, t->writer);
    }
}

// One of several [together], the first of which is launch [beside], or alone.
static void add_launch(lowering *l, int number, bool together, int beside)
{
    fg_graph *g = l->g;
    const group_text *group = &l->groups[number];
    const fg_launch launch = {.group = number, .name = group->name, .beside = beside, .nodes = group->nodes,
                              .inputs = group->inputs, .outputs = group->outputs};
    VEC_PUSH(g->memory, &g->launches, launch);
    l->lines += new_lines(&l->body, &l->counted);
    g->launches.at[g->launches.len - 1].line = l->lines;
    str_addf(&l->body, "    %s%s.launch(", together ? "    lambda: " : "", group->name);
    for (size_t i = 0; i < group->inputs.len; i++)
        str_addf(&l->body, "%s, ", g->tensors.at[group->inputs.at[i]].name);
    str_adds(&l->body, group->passed);
    str_adds(&l->body, group->outputs.len > 1 ? "into=(" : "into=");
    for (size_t i = 0; i < group->outputs.len; i++)
        str_addf(&l->body, "%s%s", i ? ", " : "", g->tensors.at[group->outputs.at[i]].name);
    str_adds(&l->body, group->outputs.len > 1 ? "))" : ")");
    str_adds(&l->body, together ? "," : "");
    add_lines(l, number);
}

// The node of a group that is a view of memory that is there, or is written in place of its operand; NULL: it has to be
// computed.
static const fg_node *view_of(const lowering *l, int number)
{
    const fg_node *n = l->groups[number].nodes.len ? l->groups[number].nodes.at[0] : NULL;
    int first = n && n->arguments.len ? n->arguments.at[0].tensor : -1;
    bool is_written = first >= 0 && l->g->tensors.at[first].writer == n;
    return n && (is_written || l->g->tensors.at[n->outputs.at[0]].layout) ? n : NULL;
}

// Whether a view is of memory that is there when it is reached.
static bool is_placed(const lowering *l, const fg_node *view)
{
    return l->g->tensors.at[view->outputs.at[0]].layout != NULL;
}

// Whether the group writes elements. Tensors without any are in the program, but nothing is launched for them alone.
static bool has_elements(const fg_graph *g, const group_text *group)
{
    for (size_t i = 0; i < group->outputs.len; i++)
        if (!fg_is_empty(&g->tensors.at[group->outputs.at[i]]))
            return true;
    return false;
}

// The node of a group that has kernels of its own: a product, a convolution; NULL: none.
static const fg_node *node_with_kernels(const group_text *group)
{
    for (size_t i = 0; i < group->nodes.len; i++)
        if (group->nodes.at[i]->kind == FG_KERNELS || group->nodes.at[i]->kind == FG_EPILOGUE)
            return group->nodes.at[i];
    return NULL;
}

// The group that makes a tensor and that has had no turn yet; -1: the tensor is there.
static int missing_group(const lowering *l, int tensor)
{
    int maker = l->g->tensors.at[tensor].maker, group = maker >= 0 ? l->g->nodes.at[maker].group : -1;
    return group < 0 || l->is_done[group] ? -1 : group;
}

// Whether all that the group reads is there, or is a view of what is there, and takes no launch.
static bool is_ready(const lowering *l, int number)
{
    const group_text *group = &l->groups[number];
    for (size_t i = 0; i < group->inputs.len; i++) {
        int missing = missing_group(l, group->inputs.at[i]);
        const fg_node *view = missing < 0 ? NULL : view_of(l, missing);
        if (missing >= 0 && (!view || !is_placed(l, view) || !is_ready(l, missing)))
            return false;
    }
    return true;
}

// The group, and others of the same operator that do not depend on it: siblings, which the compiler may make one launch.
static fg_number_list side_by_side(const lowering *l, int number)
{
    const fg_graph *g = l->g;
    fg_number_list list = {0};
    VEC_PUSH(g->memory, &list, number);
    const fg_node *own = node_with_kernels(&l->groups[number]);
    int end = number + FURTHER < g->group_count ? number + FURTHER : g->group_count;
    for (int k = number + 1; own && k < end; k++) {
        bool is_launched = !l->is_done[k] && !view_of(l, k) && has_elements(g, &l->groups[k]);
        const fg_node *n = is_launched ? node_with_kernels(&l->groups[k]) : NULL;
        if (n && strcmp(n->op, own->op) == 0 && is_ready(l, k))
            VEC_PUSH(g->memory, &list, k);
    }
    return list;
}

static void add_group(lowering *l, int number);

// Views that a group reads, which stand behind others of its launches.
static void add_missing_views(lowering *l, int number)
{
    const group_text *group = &l->groups[number];
    for (size_t i = 0; i < group->inputs.len; i++) {
        int missing = missing_group(l, group->inputs.at[i]);
        if (missing >= 0)
            add_group(l, missing);
    }
}

static void add_launches(lowering *l, const fg_number_list *groups)
{
    bool together = groups->len > 1;
    for (size_t i = 0; i < groups->len; i++)
        add_missing_views(l, groups->at[i]);
    int beside = (int)l->g->launches.len;
    for (size_t i = 0; i < groups->len; i++) {
        add_operator(l, groups->at[i]);
        add_results(l, groups->at[i]);
        l->is_done[groups->at[i]] = true;
    }
    l->program->launches_together |= together;
    str_adds(&l->body, together ? "    launch_together(\n" : "");
    for (size_t i = 0; i < groups->len; i++)
        add_launch(l, groups->at[i], together, beside);
    str_adds(&l->body, together ? "    )\n" : "");
}

static void add_group(lowering *l, int number)
{
    const fg_node *view = view_of(l, number);
    if (l->is_done[number])
        return;
    if (!view && !has_elements(l->g, &l->groups[number])) {
        add_results(l, number);
    } else if (!view) {
        const fg_number_list groups = side_by_side(l, number);
        add_launches(l, &groups);
    } else if (is_placed(l, view) && l->is_needed[view->outputs.at[0]]) {
        add_missing_views(l, number);
        const fg_tensor *t = &l->g->tensors.at[view->outputs.at[0]];
        add_view(l, t, t->layout, view);
    }
    l->is_done[number] = true;
}

// A product writes the result of a permutation where nothing else comes out of its group; outputs that have other extents than what
// they are of, any kernel writes.
static void find_writers(lowering *l)
{
    fg_graph *g = l->g;
    bool *has_product = ARENA_ARRAY(g->memory, bool, (size_t)g->group_count + 1);
    for (size_t i = 0; i < g->nodes.len; i++)
        if (!g->nodes.at[i].is_dropped && fg_writes_views(&g->nodes.at[i]))
            has_product[g->nodes.at[i].group] = true;
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        if (n->is_dropped || !n->written)
            continue;
        int t = n->arguments.at[0].tensor, group = g->nodes.at[g->tensors.at[t].maker].group;
        if (!n->view || (has_product[group] && l->groups[group].outputs.len == 1))
            g->tensors.at[t].writer = n;
    }
}

// What is prepared has its name in both graphs.
static void name_outputs(fg_graph *g)
{
    for (size_t i = 0; i < g->outputs.len; i++) {
        fg_tensor *t = &g->tensors.at[g->outputs.at[i]];
        if (!t->is_prepared)
            t->name = fg_output_name(g, i);
    }
}

static void add_head(lowering *l)
{
    fg_graph *g = l->g;
    str_buf parameters;
    str_buf_init(&parameters, g->memory);
    for (size_t i = 0; i < g->inputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->inputs.at[i]];
        str_addf(&parameters, "%s: %s, ", t->name, fg_type_text(g->memory, t));
    }
    for (size_t i = 0; i < g->outputs.len; i++) {
        const fg_tensor *t = &g->tensors.at[g->outputs.at[i]];
        str_addf(&parameters, "%s%s: %s", i ? ", " : "", t->name, fg_type_text(g->memory, t));
    }
    const char *text = str_text(&parameters);
    str_addf(&l->body, "\n\n@hidet.script\ndef %s%s(%s):\n", g->name, fg_size_parameters(g, text), text);
    if (!l->program->is_called)
        str_adds(&l->body, "    attrs.func_kind = \"public\"\n");
    for (size_t i = 0; i < g->checks.len; i++)
        str_addf(&l->body, "    assert %s, \"%s\"\n", g->checks.at[i].condition, g->checks.at[i].message);
}

static void move_launches(fg_graph *g, int lines)
{
    for (size_t i = 0; i < g->launches.len; i++)
        g->launches.at[i].line += lines;
}

static void lower(fg_graph *g, program *p, str_buf *operators, str_buf *functions)
{
    lowering l = {.g = g, .program = p};
    size_t begin = 0;
    str_buf_init(&l.operators, g->memory);
    str_buf_init(&l.body, g->memory);
    l.names = ARENA_ARRAY(g->memory, const char *, g->tensors.len + 1);
    l.is_needed = ARENA_ARRAY(g->memory, bool, g->tensors.len + 1);
    l.groups = ARENA_ARRAY(g->memory, group_text, (size_t)g->group_count + 1);
    l.has_memory = ARENA_ARRAY(g->memory, bool, g->tensors.len + 1);
    l.is_done = ARENA_ARRAY(g->memory, bool, (size_t)g->group_count + 1);
    memset(&g->launches, 0, sizeof g->launches);
    name_outputs(g);
    fg_find_joins(g);
    find_needed(&l);
    find_operands(&l);
    add_head(&l);
    size_t head = l.body.len;
    find_writers(&l);
    for (int k = 0; k < g->group_count; k++)
        add_group(&l, k);
    if (l.body.len == head && p->is_called && !g->checks.len) // all tensors are without elements
        str_adds(&l.body, "    pass\n");
    move_launches(g, new_lines(functions, &begin));
    str_add(operators, (str){l.operators.at, l.operators.len});
    str_add(functions, (str){l.body.at, l.body.len});
}

// Names of functions and parameters, which operators do not take.
static void take_names(const fg_graph *g, map *by_name)
{
    map_put(by_name, g->name, strlen(g->name), (void *)g);
    for (size_t i = 0; i < g->inputs.len; i++) {
        const char *name = g->tensors.at[g->inputs.at[i]].name;
        map_put(by_name, name, strlen(name), (void *)g);
    }
    if (g->load)
        take_names(g->load, by_name);
}

static bool has_type(const fg_graph *g, const char *dtype)
{
    bool found = false;
    for (const fg_graph *part = g; part; part = part->load)
        for (size_t i = 0; i < part->tensors.len; i++)
            found |= strcmp(part->tensors.at[i].dtype, dtype) == 0;
    return found;
}

static void add_import(str_buf *out, const fg_graph *g, const char *name)
{
    const char *own = fg_name_in_text(g, name);
    str_addf(out, strcmp(own, name) == 0 ? "%s, " : "%s as %s, ", name, own);
}

// The graph and what it computes at load share operators.
static void lower_both(fg_graph *g, program *p)
{
    str_buf operators, functions;
    str_buf_init(&operators, g->memory);
    str_buf_init(&functions, g->memory);
    p->launches_together = false;
    if (g->load)
        lower(g->load, p, &operators, &functions);
    lower(g, p, &operators, &functions);
    const char *text = str_text(&functions);
    str_buf names;
    str_buf_init(&names, g->memory);
    str_adds(&names, "as_tensor_pointer, attrs, ");
    if (strstr(text, "i64(") && !has_type(g, "i64"))
        str_adds(&names, "i64, ");
    str_addf(&names, "%soperator, ", p->launches_together ? "launch_together, " : "");
    if (strstr(text, "strided("))
        str_adds(&names, "strided, ");
    if (strstr(text, "strided_layout("))
        str_adds(&names, "strided_layout, ");
    add_import(&names, g, "tensor");
    if (strstr(text, "strided("))
        add_import(&names, g, "view");
    names.len -= strlen(", ");
    fg_print_imports(&p->out, g, str_text(&names));
    str_add(&p->out, (str){operators.at, operators.len});
    p->lines += new_lines(&p->out, &p->counted);
    move_launches(g, p->lines + 1);
    if (g->load)
        move_launches(g->load, p->lines + 1);
    str_add(&p->out, (str){functions.at, functions.len});
}

static str lower_all(arena *a, fg_graph *const *graphs, size_t count, bool is_called)
{
    program p = {.is_called = is_called};
    str_buf_init(&p.out, a);
    map_init(&p.by_text, a);
    map_init(&p.by_name, a);
    map_init(&p.numbers, a);
    for (size_t i = 0; i < count; i++)
        take_names(graphs[i], &p.by_name);
    for (size_t i = 0; i < count; i++) {
        str_adds(&p.out, i ? "\n\n" : "");
        lower_both(graphs[i], &p);
    }
    return (str){p.out.at, p.out.len};
}

str fg_lower(arena *a, fg_graph *const *graphs, size_t count)
{
    return lower_all(a, graphs, count, false);
}

str fg_lower_called(arena *a, fg_graph *g)
{
    return lower_all(a, &g, 1, true);
}
