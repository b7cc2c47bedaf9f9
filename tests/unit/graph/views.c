// Layouts that the pass "views" finds, against the elements themselves: random chains of permutations, parts and other extents.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "graph/passes/passes.h"

enum { MOST_RANK = 4, MOST_STEPS = 4, MOST_ELEMENTS = 4096, ROUNDS = 3000 };

typedef struct value {
    int rank;
    int shape[MOST_RANK];
    int element[MOST_ELEMENTS]; // of each element: its number in the graph's input
} value;

typedef struct chain {
    value values[MOST_STEPS + 1];
    int count;
    uint64_t random;
    arena *memory;
    str_buf tensors, nodes;
} chain;

static int below(chain *c, int n)
{
    c->random = c->random * 6364136223846793005u + 1442695040888963407u;
    return (int)((c->random >> 33) % (uint64_t)n);
}

static int count_of(const value *v)
{
    int n = 1;
    for (int d = 0; d < v->rank; d++)
        n *= v->shape[d];
    return n;
}

static int step_behind(const value *v, int axis)
{
    int n = 1;
    for (int d = axis + 1; d < v->rank; d++)
        n *= v->shape[d];
    return n;
}

static void add_tensor(chain *c, const value *v)
{
    str_addf(&c->tensors, "%s{\"dtype\": \"f16\", \"shape\": [", c->tensors.len ? ", " : "");
    for (int d = 0; d < v->rank; d++)
        str_addf(&c->tensors, "%s%d", d ? ", " : "", v->shape[d]);
    str_adds(&c->tensors, "]}");
}

static void add_node(chain *c, const char *op, const char *facts, int from, int to)
{
    str_addf(&c->nodes,
             "%s{\"operator\": \"%s\", \"module\": \"layout\", %s, \"line\": 1, \"inputs\": [{\"tensor\": %d}], \"options\": [],"
             " \"outputs\": [%d]}",
             c->nodes.len ? ", " : "", op, facts, from, to);
}

// y = x at offset + Σ index · strides, in the elements of x.
static void add_view(chain *c, const value *x, value *y, int offset, const int *strides)
{
    str_buf facts;
    str_buf_init(&facts, c->memory);
    str_addf(&facts, "\"kind\": \"elementwise\", \"offset\": %d, \"strides\": [", offset);
    for (int d = 0; d < y->rank; d++)
        str_addf(&facts, "%s%d", d ? ", " : "", y->shape[d] > 1 ? strides[d] : 0);
    str_adds(&facts, "]");
    for (int e = 0; e < count_of(y); e++) {
        int at = offset;
        for (int d = y->rank, rest = e; d-- > 0; rest /= y->shape[d])
            at += rest % y->shape[d] * strides[d];
        y->element[e] = x->element[at];
    }
    add_node(c, "permute", str_text(&facts), c->count - 1, c->count);
}

static void permute(chain *c, const value *x, value *y)
{
    int order[MOST_RANK], strides[MOST_RANK];
    for (int d = 0; d < x->rank; d++)
        order[d] = d;
    for (int d = x->rank - 1; d > 0; d--) {
        int other = below(c, d + 1), kept = order[d];
        order[d] = order[other];
        order[other] = kept;
    }
    for (int d = 0; d < x->rank; d++) {
        y->shape[d] = x->shape[order[d]];
        strides[d] = step_behind(x, order[d]);
    }
    add_view(c, x, y, 0, strides);
}

static void narrow(chain *c, const value *x, value *y)
{
    int axis = below(c, x->rank), strides[MOST_RANK], offset = 0;
    for (int d = 0; d < x->rank; d++) {
        y->shape[d] = x->shape[d];
        strides[d] = step_behind(x, d);
    }
    y->shape[axis] = x->shape[axis] % 2 ? 1 : x->shape[axis] / 2;
    offset = below(c, x->shape[axis] - y->shape[axis] + 1) * strides[axis];
    add_view(c, x, y, offset, strides);
}

// Joins two neighbouring axes, or splits one.
static void reshape(chain *c, const value *x, value *y)
{
    int axis = below(c, x->rank), from = 0, to = 0;
    bool joins = x->rank == MOST_RANK || (x->rank > 1 && below(c, 2));
    y->rank = 0;
    if (joins && axis == x->rank - 1)
        axis--;
    for (; from < x->rank; from++) {
        if (from != axis) {
            y->shape[to++] = x->shape[from];
        } else if (joins) {
            y->shape[to++] = x->shape[from] * x->shape[from + 1];
            from++;
        } else {
            int first = x->shape[from] % 2 ? 1 : 2;
            y->shape[to++] = first;
            y->shape[to++] = x->shape[from] / first;
        }
    }
    y->rank = to;
    memcpy(y->element, x->element, sizeof x->element);
    add_node(c, "reshape", "\"kind\": \"view\"", c->count - 1, c->count);
}

static void make_chain(chain *c)
{
    static const int extents[] = {1, 2, 3, 4, 8, 16};
    value *x = &c->values[0];
    x->rank = 2 + below(c, 3);
    for (int d = 0; d < x->rank; d++)
        x->shape[d] = extents[below(c, d == x->rank - 1 ? 6 : 4)];
    for (int e = 0; e < count_of(x); e++)
        x->element[e] = e;
    add_tensor(c, x);
    c->count = 1;
    for (int steps = 1 + below(c, MOST_STEPS); steps > 0; steps--) {
        const value *from = &c->values[c->count - 1];
        value *to = &c->values[c->count];
        to->rank = from->rank;
        switch (below(c, 3)) {
        case 0: permute(c, from, to); break;
        case 1: narrow(c, from, to); break;
        default: reshape(c, from, to); break;
        }
        add_tensor(c, to);
        c->count++;
    }
}

static fg_graph *read_chain(chain *c, bool is_product)
{
    const char *error = NULL, *facts = is_product ? "\"kind\": \"epilogue\", \"matrices\": [\"\", \"\"]" : "\"kind\": \"elementwise\"";
    add_tensor(c, &c->values[c->count - 1]);
    add_node(c, is_product ? "matmul" : "relu", facts, c->count - 1, c->count);
    fg_graph *g = fg_read_json(c->memory, &error,
                               arena_printf(c->memory,
                                            "{\"name\": \"f\", \"tensors\": [%s], \"inputs\": [{\"name\": \"x\", \"tensor\": 0}],"
                                            " \"nodes\": [%s], \"outputs\": [%d]}",
                                            str_text(&c->tensors), str_text(&c->nodes), c->count));
    if (!g)
        fail_msg("%s", error);
    return g;
}

static void expect_elements(const chain *c, int number, const fg_layout *l)
{
    const value *v = &c->values[number], *base = &c->values[l->base];
    for (int e = 0; e < count_of(v); e++) {
        int64_t at = l->offset;
        for (int d = v->rank, rest = e; d-- > 0; rest /= v->shape[d])
            at += rest % v->shape[d] * l->strides[d];
        assert_true(at >= 0 && at < count_of(base));
        assert_int_equal(v->element[e], base->element[at]);
    }
}

static bool is_row_major(const value *v, const fg_layout *l)
{
    bool same = l->offset == 0;
    for (int d = 0; d < v->rank; d++)
        same &= v->shape[d] == 1 || l->strides[d] == step_behind(v, d);
    return same;
}

static void layouts_are_those_of_the_elements(void **state)
{
    (void)state;
    static chain c;
    int views = 0, strided = 0;
    for (int round = 0; round < ROUNDS; round++) {
        arena a;
        arena_init(&a, NULL);
        memset(&c, 0, sizeof c);
        c.random = (uint64_t)round * 977 + 1;
        c.memory = &a;
        str_buf_init(&c.tensors, &a);
        str_buf_init(&c.nodes, &a);
        make_chain(&c);
        bool is_product = round % 2;
        fg_graph *g = read_chain(&c, is_product);
        fg_views(g);
        for (int t = 1; t < c.count; t++) {
            const fg_layout *l = g->tensors.at[t].layout;
            if (!l)
                continue;
            expect_elements(&c, t, l);
            assert_null(g->tensors.at[l->base].layout);
            views++;
            strided += !is_row_major(&c.values[t], l);
        }
        const fg_layout *read = g->tensors.at[c.count - 1].layout;
        if (read && !is_product)
            assert_true(is_row_major(&c.values[c.count - 1], read));
        assert_null(fg_verify(g));
        arena_free(&a);
    }
    assert_true(views > ROUNDS / 2 && strided > ROUNDS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layouts_are_those_of_the_elements)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
