// Where a graph has the left side of a rule. A search by backtracking: operands of commutative operators in both orders, and the
// second and later outputs of a left side among what is bound already and its readers.
#include "graph/rewrite.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void fg_match_init(fg_match *m, arena *a, const fg_graph *g, const fg_number_list *readers, const fg_rule *rule)
{
    *m = (fg_match){.rule = rule, .g = g, .readers = readers};
    m->tensors = ARENA_ARRAY(a, int, rule->wildcards.len + rule->nodes.len + 1);
    m->nodes = ARENA_ARRAY(a, int, rule->nodes.len + 1);
    m->attributes = ARENA_ARRAY(a, const char *, rule->attributes.len + 1);
    m->types = ARENA_ARRAY(a, const char *, rule->types.len + 1);
    m->sizes = ARENA_ARRAY(a, fg_bound, rule->sizes.len + 1);
}

static void clear(fg_match *m)
{
    const fg_rule *r = m->rule;
    for (size_t i = 0; i < r->wildcards.len + r->nodes.len; i++)
        m->tensors[i] = -1;
    for (size_t i = 0; i < r->nodes.len; i++)
        m->nodes[i] = -1;
    for (size_t i = 0; i < r->attributes.len; i++)
        m->attributes[i] = NULL;
}

// ---- types -------------------------------------------------------------------------------------------------------------

// Open extents are equal where their texts are.
static bool bind_size(fg_bound *b, const fg_tensor *t, int first, int count)
{
    if (b->count < 0) {
        *b = (fg_bound){count, t, first};
        return true;
    }
    bool same = b->count == count;
    for (int i = 0; same && i < count; i++)
        same = fg_same_extent(b->tensor, b->first + i, t, first + i);
    return same;
}

static bool bind_type(fg_match *m, const fg_wildcard *w, const fg_tensor *t)
{
    int single = 0, at = 0, many = 0;
    for (size_t i = 0; i < w->extents.len; i++)
        *(w->extents.at[i].kind == FG_SIZES ? &many : &single) += 1;
    if (t->rank < single || (!many && t->rank != single) || many > 1)
        return false;
    for (size_t i = 0; i < w->extents.len; i++) {
        const fg_extent *e = &w->extents.at[i];
        int count = e->kind == FG_SIZES ? t->rank - single : 1;
        bool fits = e->kind == FG_FIXED ? !t->extent[at] && t->shape[at] == e->value
                                        : bind_size(&m->sizes[e->symbol], t, at, count);
        if (!fits)
            return false;
        at += count;
    }
    if (w->dtype)
        return strcmp(w->dtype, t->dtype) == 0;
    if (!m->types[w->type])
        m->types[w->type] = t->dtype;
    return strcmp(m->types[w->type], t->dtype) == 0;
}

static bool bind_types(fg_match *m)
{
    const fg_rule *r = m->rule;
    for (size_t i = 0; i < r->sizes.len; i++)
        m->sizes[i].count = -1;
    for (size_t i = 0; i < r->types.len; i++)
        m->types[i] = NULL;
    for (size_t i = 0; i < r->wildcards.len; i++) {
        const fg_wildcard *w = &r->wildcards.at[i];
        if (m->tensors[i] < 0 ? !w->is_optional : !bind_type(m, w, &m->g->tensors.at[m->tensors[i]]))
            return false;
    }
    return true;
}

// ---- attributes ----------------------------------------------------------------------------------------------------------

static int attribute_at(const fg_rule *r, const char *word, size_t len)
{
    for (size_t i = 0; i < r->attributes.len; i++)
        if (strlen(r->attributes.at[i].text) == len && memcmp(r->attributes.at[i].text, word, len) == 0)
            return (int)i;
    return -1;
}

static int attribute_of(const fg_rule *r, const char *text)
{
    return attribute_at(r, text, strlen(text));
}

static bool bind_attribute(fg_match *m, const char *wanted, const char *found)
{
    int k = attribute_of(m->rule, wanted);
    if (k < 0)
        return true; // compared when sizes are known
    if (!m->attributes[k])
        m->attributes[k] = found;
    return strcmp(m->attributes[k], found) == 0;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

// "4", "2, 3", "4 * B"; "" for no axes.
static const char *extents_text(arena *a, const fg_bound *b)
{
    str_buf out;
    str_buf_init(&out, a);
    for (int i = 0; i < b->count; i++)
        str_addf(&out, "%s%s", i ? ", " : "", fg_extent_text(a, b->tensor, b->first + i));
    return str_text(&out);
}

// What a word of an attribute of the left side stands for; NULL: itself, or "" where nothing is bound.
static const char *meaning(const fg_match *m, arena *a, const char *word, size_t len)
{
    const fg_rule *r = m->rule;
    for (size_t i = 0; i < r->sizes.len; i++)
        if (strlen(r->sizes.at[i].text) == len && memcmp(r->sizes.at[i].text, word, len) == 0)
            return extents_text(a, &m->sizes[i]);
    for (size_t i = 0; i < r->types.len; i++)
        if (strlen(r->types.at[i].text) == len && memcmp(r->types.at[i].text, word, len) == 0)
            return m->types[i] ? m->types[i] : "";
    int k = attribute_at(r, word, len);
    if (k >= 0)
        return m->attributes[k] ? m->attributes[k] : "";
    return NULL;
}

static const char *filled_in(const fg_match *m, const char *text)
{
    arena *a = m->g->memory;
    str_buf out;
    str_buf_init(&out, a);
    while (*text) {
        size_t len = 0;
        while (is_word(text[len]))
            len++;
        const char *means = len ? meaning(m, a, text, len) : NULL;
        len = len ? len : 1;
        if (means && !*means && strncmp(text + len, ", ", 2) == 0)
            len += 2; // no axes: (*S, 1) is (1)
        if (means)
            str_adds(&out, means);
        else
            str_addf(&out, "%.*s", (int)len, text);
        text += len;
    }
    return str_text(&out);
}

// ---- nodes -----------------------------------------------------------------------------------------------------------------

static const fg_argument *find_argument(const fg_argument_list *list, const char *name, size_t position)
{
    size_t by_position = 0;
    for (size_t i = 0; i < list->len; i++) {
        const fg_argument *x = &list->at[i];
        if (name ? x->name && strcmp(x->name, name) == 0 : !x->name && by_position == position)
            return x;
        by_position += !x->name;
    }
    return NULL;
}

// Where the graph's node has the operand number [position] of node [wanted] of the left side.
static size_t position_of(const fg_match *m, int wanted, size_t position)
{
    bool is_swapped = wanted < 64 && m->swaps >> wanted & 1;
    return is_swapped && position < 2 ? 1 - position : position;
}

// As texts, but numbers within what f32 tells apart: constants are written with more or fewer digits. "(1)" is "(1,)".
static bool is_same_value(const char *a, const char *b)
{
    char *a_end, *b_end;
    double x = strtod(a, &a_end), y = strtod(b, &b_end);
    if (a_end != a && b_end != b && !*a_end && !*b_end)
        return fabs(x - y) <= 1e-6 * fabs(y);
    size_t len = strlen(a);
    bool lacks_comma = len > 1 && *a == '(' && a[len - 1] == ')' && !strchr(a, ',');
    return strcmp(a, b) == 0 || (lacks_comma && strncmp(a, b, len - 1) == 0 && strcmp(b + len - 1, ",)") == 0);
}

static const char *default_of(const fg_pattern_node *n, const char *name)
{
    const fg_argument *x = name ? find_argument(&n->defaults, name, 0) : NULL;
    return x ? x->value : NULL;
}

// Attributes of the rule that are bound by nothing else than their place inside of a tuple: n of size=(B, n, 4).
static void bind_items(fg_match *m, const char *wanted, const char *found)
{
    arena *a = m->g->memory;
    for (const char *at = wanted; *at;) {
        size_t len = 0;
        while (is_word(at[len]))
            len++;
        int k = len ? attribute_at(m->rule, at, len) : -1;
        if (k >= 0 && !m->attributes[k]) {
            const char *before = filled_in(m, arena_printf(a, "%.*s", (int)(at - wanted), wanted));
            if (strncmp(found, before, strlen(before)) != 0)
                return;
            const char *item = found + strlen(before);
            m->attributes[k] = arena_printf(a, "%.*s", (int)strcspn(item, ",)]"), item);
        }
        at += len ? len : 1;
    }
}

// Attributes that are numbers, or contain sizes, types or several attributes. What a call omits has its operator's default.
static bool check_values(fg_match *m)
{
    const fg_rule *r = m->rule;
    for (size_t i = 0; i < r->nodes.len; i++) {
        if (!r->nodes.at[i].op)
            continue;
        const fg_argument_list *wanted = &r->nodes.at[i].arguments, *found = &m->g->nodes.at[m->nodes[i]].arguments;
        size_t position = 0;
        for (size_t k = 0; k < wanted->len; k++) {
            const fg_argument *w = &wanted->at[k];
            const fg_argument *f = find_argument(found, w->name, position_of(m, (int)i, position));
            position += !w->name;
            if (w->tensor >= 0 || attribute_of(r, w->value) >= 0)
                continue;
            const char *value = f ? f->value : default_of(&r->nodes.at[i], w->name);
            if (value)
                bind_items(m, w->value, value);
            if (!is_same_value(filled_in(m, w->value), value))
                return false;
        }
    }
    return true;
}

static bool match_tensor(fg_match *m, int wanted, int found);

static bool match_argument(fg_match *m, const fg_pattern_node *n, const fg_argument *w, const fg_argument *f)
{
    const fg_rule *r = m->rule;
    if (w->tensor >= 0 && (size_t)w->tensor < r->wildcards.len && r->wildcards.at[w->tensor].is_optional) {
        bool is_absent = !f || (f->tensor < 0 && strcmp(f->value, "None") == 0);
        return is_absent ? m->tensors[w->tensor] < 0 : f->tensor >= 0 && match_tensor(m, w->tensor, f->tensor);
    }
    if (w->tensor >= 0)
        return f && f->tensor >= 0 && match_tensor(m, w->tensor, f->tensor);
    if (f)
        return f->tensor < 0 && bind_attribute(m, w->value, f->value);
    int k = attribute_of(r, w->value);
    const char *omitted = k >= 0 && w->name ? r->attributes.at[k].initial : default_of(n, w->name);
    return omitted && bind_attribute(m, w->value, omitted);
}

static bool is_commutative(const char *op)
{
    static const char *const names[] = {"add", "multiply", "maximum", "minimum", "fmax", "fmin", "equal", "not_equal"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], op) == 0)
            return true;
    return false;
}

// Every argument of the graph's node is one of the left side's, or states what the operator does without it.
static bool has_no_more(const fg_pattern_node *w, const fg_node *n)
{
    size_t position = 0;
    for (size_t k = 0; k < n->arguments.len; k++) {
        const fg_argument *x = &n->arguments.at[k];
        const char *usual = x->tensor < 0 ? default_of(w, x->name) : NULL;
        bool says_nothing = x->tensor < 0 && (strcmp(x->value, "None") == 0 || (usual && is_same_value(x->value, usual)));
        if (!says_nothing && !find_argument(&w->arguments, x->name, position))
            return false;
        position += !x->name;
    }
    return true;
}

static bool match_arguments(fg_match *m, int wanted, const fg_node *n)
{
    const fg_pattern_node *w = &m->rule->nodes.at[wanted];
    size_t position = 0;
    for (size_t k = 0; k < w->arguments.len; k++) {
        const fg_argument *x = &w->arguments.at[k];
        if (!match_argument(m, w, x, find_argument(&n->arguments, x->name, position_of(m, wanted, position))))
            return false;
        position += !x->name;
    }
    return true;
}

static bool match_node(fg_match *m, int wanted, int found)
{
    const fg_rule *r = m->rule;
    const fg_pattern_node *w = &r->nodes.at[wanted];
    const fg_node *n = &m->g->nodes.at[found];
    if (n->is_dropped || strcmp(n->op, w->op) != 0 || strcmp(n->module, w->module) != 0 || n->outputs.len != 1 ||
        !has_no_more(w, n))
        return false;
    for (size_t i = 0; i < r->nodes.len; i++)
        if (m->nodes[i] == found && i != (size_t)wanted)
            return false;
    m->nodes[wanted] = found;
    m->tensors[r->wildcards.len + (size_t)wanted] = n->outputs.at[0];
    return match_arguments(m, wanted, n);
}

static bool match_tensor(fg_match *m, int wanted, int found)
{
    if (m->tensors[wanted] >= 0)
        return m->tensors[wanted] == found;
    if ((size_t)wanted < m->rule->wildcards.len) {
        m->tensors[wanted] = found;
        return true;
    }
    int maker = m->g->tensors.at[found].maker;
    return maker >= 0 && match_node(m, wanted - (int)m->rule->wildcards.len, maker);
}

// ---- several outputs ---------------------------------------------------------------------------------------------------------

static bool is_side_output(const fg_rule *r, int tensor)
{
    for (size_t i = 0; i < r->outputs.len; i++)
        if (r->outputs.at[i] == tensor)
            return true;
    return false;
}

// Whether what takes the place of the match may read the tensor.
static bool is_operand(const fg_match *m, int tensor)
{
    for (size_t i = 0; i < m->rule->wildcards.len; i++)
        if (m->tensors[i] == tensor)
            return true;
    return false;
}

// What is inside has no readers outside: else it would have to be computed all the same. So it is with what is an operand as well,
// as scores that are added to scores. Constants are an exception: equal ones are one node, and all places of a rule have it.
static bool is_closed(const fg_match *m)
{
    const fg_rule *r = m->rule;
    for (size_t i = 0; i < r->nodes.len; i++) {
        int tensor = (int)(r->wildcards.len + i);
        if (!r->nodes.at[i].op || is_side_output(r, tensor) || !fg_has_operands(&m->g->nodes.at[m->nodes[i]]))
            continue;
        const fg_number_list *readers = &m->readers[m->tensors[tensor]];
        if (m->g->tensors.at[m->tensors[tensor]].is_output || is_operand(m, m->tensors[tensor]))
            return false;
        for (size_t k = 0; k < readers->len; k++) {
            bool is_inside = m->g->nodes.at[readers->at[k]].is_dropped;
            for (size_t n = 0; n < r->nodes.len; n++)
                is_inside |= m->nodes[n] == readers->at[k];
            if (!is_inside)
                return false;
        }
    }
    return true;
}

static bool is_whole(fg_match *m)
{
    return bind_types(m) && check_values(m) && is_closed(m);
}

static bool match_outputs(fg_match *m, size_t k);

// What has been bound, to go back to.
typedef struct saved {
    int tensors[2 * FG_MAX_RULE], nodes[FG_MAX_RULE];
    const char *attributes[FG_MAX_RULE];
} saved;

// The root of output [k] is a reader of a tensor that is bound, or of what `depth` readers in a row make of it.
static bool match_among_readers(fg_match *m, size_t k, int tensor, int depth)
{
    const fg_rule *r = m->rule;
    int node = r->outputs.at[k] - (int)r->wildcards.len, before = m->nodes[r->outputs.at[k - 1] - (int)r->wildcards.len];
    size_t count = r->wildcards.len + r->nodes.len;
    saved s;
    memcpy(s.tensors, m->tensors, count * sizeof *m->tensors);
    memcpy(s.nodes, m->nodes, r->nodes.len * sizeof *m->nodes);
    memcpy(s.attributes, m->attributes, r->attributes.len * sizeof *m->attributes);
    for (size_t i = 0; i < m->readers[tensor].len; i++) {
        int reader = m->readers[tensor].at[i];
        const fg_number_list *made = &m->g->nodes.at[reader].outputs;
        for (size_t o = 0; depth > 0 && o < made->len; o++)
            if (match_among_readers(m, k, made->at[o], depth - 1))
                return true;
        if (depth == 0 && reader > before && match_node(m, node, reader) && match_outputs(m, k + 1))
            return true;
        memcpy(m->tensors, s.tensors, count * sizeof *m->tensors);
        memcpy(m->nodes, s.nodes, r->nodes.len * sizeof *m->nodes);
        memcpy(m->attributes, s.attributes, r->attributes.len * sizeof *m->attributes);
    }
    return false;
}

// A tensor of the graph that the left side's node reads, `depth` nodes before it; -1: nothing that it reads is bound.
static int bound_operand(const fg_match *m, int node, int *depth)
{
    const fg_argument_list *arguments = &m->rule->nodes.at[node].arguments;
    int first_node = (int)m->rule->wildcards.len;
    *depth = 0;
    for (size_t i = 0; i < arguments->len; i++) {
        int t = arguments->at[i].tensor;
        if (t >= 0 && m->tensors[t] >= 0)
            return m->tensors[t];
    }
    for (size_t i = 0; i < arguments->len; i++) {
        int t = arguments->at[i].tensor, bound = t >= first_node ? bound_operand(m, t - first_node, depth) : -1;
        if (bound >= 0) {
            ++*depth;
            return bound;
        }
    }
    return -1;
}

static bool match_outputs(fg_match *m, size_t k)
{
    const fg_rule *r = m->rule;
    if (k == r->outputs.len)
        return is_whole(m);
    if (m->nodes[r->outputs.at[k] - (int)r->wildcards.len] >= 0) // what an output before it reads
        return match_outputs(m, k + 1);
    int depth, tensor = bound_operand(m, r->outputs.at[k] - (int)r->wildcards.len, &depth);
    return tensor >= 0 && match_among_readers(m, k, tensor, depth);
}

bool fg_match_at(fg_match *m, int root)
{
    const fg_rule *r = m->rule;
    uint64_t commutative = 0;
    for (size_t i = 0; i < r->nodes.len && i < 64; i++)
        if (r->nodes.at[i].op && is_commutative(r->nodes.at[i].op))
            commutative |= (uint64_t)1 << i;
    m->swaps = 0;
    do {
        clear(m);
        if (match_node(m, r->outputs.at[0] - (int)r->wildcards.len, root) && match_outputs(m, 1))
            return true;
        m->swaps = (m->swaps - commutative) & commutative; // the next subset
    } while (m->swaps);
    return false;
}
