// Groups of nodes: sets that are joined, whether a join leaves an order of groups, and that order.
#include "graph/passes/passes.h"

// Operands that a search for a path looks at. Paths that matter are short; a group that needs a longer search stays as
// it is.
enum { LONGEST_SEARCH = 512 };

void fg_init_groups(fg_groups *s, fg_graph *g)
{
    size_t count = g->nodes.len + 1;
    *s = (fg_groups){.g = g};
    int **arrays[] = {&s->parent, &s->next, &s->size, &s->least, &s->most, &s->seen};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        *arrays[k] = ARENA_ARRAY(g->memory, int, count);
    for (size_t i = 0; i < g->nodes.len; i++) {
        s->parent[i] = s->next[i] = s->least[i] = s->most[i] = (int)i;
        s->size[i] = 1;
    }
}

int fg_group_of(fg_groups *s, int node)
{
    while (s->parent[node] != node)
        node = s->parent[node] = s->parent[s->parent[node]];
    return node;
}

int fg_join_groups(fg_groups *s, int a, int b)
{
    a = fg_group_of(s, a);
    b = fg_group_of(s, b);
    if (a == b)
        return a;
    int root = s->size[a] > s->size[b] || (s->size[a] == s->size[b] && a < b) ? a : b, other = root == a ? b : a;
    s->parent[other] = root;
    s->size[root] += s->size[other];
    s->least[root] = s->least[a] < s->least[b] ? s->least[a] : s->least[b];
    s->most[root] = s->most[a] > s->most[b] ? s->most[a] : s->most[b];
    int next = s->next[root];
    s->next[root] = s->next[other];
    s->next[other] = next;
    return root;
}

// Adds the groups that [group] reads to those that are looked at, but for [from] itself if it [is_first]. False: [from]
// is read.
static bool add_read(fg_groups *s, fg_number_list *open, int group, int from, bool is_first, int *left)
{
    int node = group;
    do {
        const fg_node *n = &s->g->nodes.at[node];
        *left -= (int)n->arguments.len + 1;
        s->g->steps += n->arguments.len + 1;
        for (size_t k = 0; k < n->arguments.len && !n->is_dropped; k++) {
            int t = n->arguments.at[k].tensor, maker = t < 0 ? -1 : s->g->tensors.at[t].maker;
            int read = maker < 0 ? -1 : fg_group_of(s, maker);
            if (read < 0 || read == group || (read == from && is_first))
                continue;
            if (read == from)
                return false;
            // What ends before [from] begins does not need it.
            if (s->most[read] > s->least[from] && s->seen[read] != s->search) {
                s->seen[read] = s->search;
                VEC_PUSH(s->g->memory, open, read);
            }
        }
        node = s->next[node];
    } while (node != group && *left > 0);
    return *left > 0;
}

bool fg_is_joinable(fg_groups *s, int from, int to)
{
    fg_number_list open = {0};
    int left = LONGEST_SEARCH;
    from = fg_group_of(s, from);
    to = fg_group_of(s, to);
    s->search++;
    bool ok = add_read(s, &open, to, from, true, &left);
    for (size_t i = 0; ok && i < open.len; i++)
        ok = add_read(s, &open, open.at[i], from, false, &left);
    return ok;
}

// ---- the order -----------------------------------------------------------------------------------------------------

// Groups that can run, the one with the first node at the top.
typedef struct heap {
    int *at, len;
    const int *key;
} heap;

static void swap(heap *h, int i, int j)
{
    int at = h->at[i];
    h->at[i] = h->at[j];
    h->at[j] = at;
}

static void heap_push(heap *h, int group)
{
    int i = h->len++;
    h->at[i] = group;
    for (; i > 0 && h->key[h->at[i]] < h->key[h->at[(i - 1) / 2]]; i = (i - 1) / 2)
        swap(h, i, (i - 1) / 2);
}

static int heap_pop(heap *h)
{
    int top = h->at[0];
    h->at[0] = h->at[--h->len];
    for (int i = 0;;) {
        int least = i;
        for (int child = 2 * i + 1; child <= 2 * i + 2 && child < h->len; child++)
            if (h->key[h->at[child]] < h->key[h->at[least]])
                least = child;
        if (least == i)
            return top;
        swap(h, i, least);
        i = least;
    }
}

// Of each group, those that read it, once for each operand, and how many operands it has of other groups.
static fg_number_list *find_readers(fg_groups *s, int *missing)
{
    fg_graph *g = s->g;
    fg_number_list *readers = ARENA_ARRAY(g->memory, fg_number_list, g->nodes.len + 1);
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        int own = fg_group_of(s, (int)i);
        for (size_t k = 0; k < n->arguments.len && !n->is_dropped; k++) {
            int t = n->arguments.at[k].tensor, maker = t < 0 ? -1 : g->tensors.at[t].maker;
            if (maker >= 0 && fg_group_of(s, maker) != own) {
                VEC_PUSH(g->memory, &readers[fg_group_of(s, maker)], own);
                missing[own]++;
            }
        }
    }
    return readers;
}

void fg_number_groups(fg_groups *s)
{
    fg_graph *g = s->g;
    int *missing = ARENA_ARRAY(g->memory, int, g->nodes.len + 1);
    fg_number_list *readers = find_readers(s, missing);
    heap h = {.at = ARENA_ARRAY(g->memory, int, g->nodes.len + 1), .key = s->least};
    for (size_t i = 0; i < g->nodes.len; i++)
        if (!g->nodes.at[i].is_dropped && fg_group_of(s, (int)i) == (int)i && !missing[i])
            heap_push(&h, (int)i);
    g->group_count = 0;
    while (h.len) {
        int group = heap_pop(&h), node = group;
        do {
            g->steps++;
            g->nodes.at[node].group = g->group_count;
            node = s->next[node];
        } while (node != group);
        g->group_count++;
        g->steps += readers[group].len;
        for (size_t k = 0; k < readers[group].len; k++)
            if (!--missing[readers[group].at[k]])
                heap_push(&h, readers[group].at[k]);
    }
}

void fg_group_each(fg_graph *g)
{
    fg_groups s;
    fg_drop_unneeded(g);
    fg_init_groups(&s, g);
    fg_number_groups(&s);
}
