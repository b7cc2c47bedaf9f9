// Layouts that the pass "views" finds, against the elements themselves: random chains of permutations, parts and other extents,
// of which some are open.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "graph/amount.h"
#include "graph/passes/passes.h"

enum { MOST_RANK = 4, MOST_STEPS = 4, MOST_ELEMENTS = 4096, ROUNDS = 3000 };

// What an extent is made of: a known factor, and how often it has each of the open sizes.
typedef struct extent {
    int factor, times[2];
} extent;

static const char *const size_names[] = {"A", "B"};
static const int sizes[] = {3, 2};

typedef struct value {
    int rank;
    int shape[MOST_RANK];
    extent extents[MOST_RANK];
    int element[MOST_ELEMENTS]; // of each element: its number in the graph's input
} value;

typedef struct chain {
    value values[MOST_STEPS + 1];
    int count;
    bool has_open_sizes;
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

static bool is_open(const extent *e)
{
    return e->times[0] || e->times[1];
}

static void set_extent(value *v, int axis, extent e)
{
    v->extents[axis] = e;
    v->shape[axis] = e.factor;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < e.times[k]; i++)
            v->shape[axis] *= sizes[k];
}

// As the language writes it: {"text": "4 * A * B", "about": 64}
static void add_extent(str_buf *out, const extent *e)
{
    if (!is_open(e)) {
        str_addf(out, "%d", e->factor);
        return;
    }
    const char *between = "";
    str_adds(out, "{\"text\": \"");
    if (e->factor != 1) {
        str_addf(out, "%d", e->factor);
        between = " * ";
    }
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < e->times[k]; i++, between = " * ")
            str_addf(out, "%s%s", between, size_names[k]);
    str_adds(out, "\", \"about\": 64}");
}

static void add_tensor(chain *c, const value *v)
{
    str_addf(&c->tensors, "%s{\"dtype\": \"f16\", \"shape\": [", c->tensors.len ? ", " : "");
    for (int d = 0; d < v->rank; d++) {
        str_adds(&c->tensors, d ? ", " : "");
        add_extent(&c->tensors, &v->extents[d]);
    }
    str_adds(&c->tensors, "]}");
}

static void add_node(chain *c, const char *op, const char *facts, int from, int to)
{
    str_addf(&c->nodes,
             "%s{\"operator\": \"%s\", \"module\": \"layout\", %s, \"line\": 1, \"inputs\": [{\"tensor\": %d}], \"options\": [],"
             " \"outputs\": [%d]}",
             c->nodes.len ? ", " : "", op, facts, from, to);
}

// y = x, an axis of y along each of [axes] of x, from [starts] on.
static void add_view(chain *c, const value *x, value *y, const int *starts, const int *axes)
{
    str_buf facts;
    str_buf_init(&facts, c->memory);
    str_adds(&facts, "\"kind\": \"elementwise\", \"view\": {\"starts\": [");
    for (int d = 0; d < x->rank; d++)
        str_addf(&facts, "%s%d", d ? ", " : "", starts[d]);
    str_adds(&facts, "], \"axes\": [");
    for (int d = 0; d < y->rank; d++)
        str_addf(&facts, "%s%d", d ? ", " : "", axes[d]);
    str_adds(&facts, "], \"steps\": [");
    for (int d = 0; d < y->rank; d++)
        str_adds(&facts, d ? ", 1" : "1");
    str_adds(&facts, "]}");
    for (int e = 0; e < count_of(y); e++) {
        int at = 0;
        for (int d = 0; d < x->rank; d++)
            at += starts[d] * step_behind(x, d);
        for (int d = y->rank, rest = e; d-- > 0; rest /= y->shape[d])
            at += rest % y->shape[d] * step_behind(x, axes[d]);
        y->element[e] = x->element[at];
    }
    add_node(c, "permute", str_text(&facts), c->count - 1, c->count);
}

static void permute(chain *c, const value *x, value *y)
{
    int order[MOST_RANK], starts[MOST_RANK] = {0};
    for (int d = 0; d < x->rank; d++)
        order[d] = d;
    for (int d = x->rank - 1; d > 0; d--) {
        int other = below(c, d + 1), kept = order[d];
        order[d] = order[other];
        order[other] = kept;
    }
    for (int d = 0; d < x->rank; d++)
        set_extent(y, d, x->extents[order[d]]);
    add_view(c, x, y, starts, order);
}

static void narrow(chain *c, const value *x, value *y)
{
    int axis = below(c, x->rank), axes[MOST_RANK], starts[MOST_RANK] = {0};
    for (int d = 0; d < x->rank; d++) {
        set_extent(y, d, x->extents[d]);
        axes[d] = d;
    }
    set_extent(y, axis, (extent){.factor = x->shape[axis] % 2 ? 1 : x->shape[axis] / 2});
    starts[axis] = below(c, x->shape[axis] - y->shape[axis] + 1);
    add_view(c, x, y, starts, axes);
}

static extent product(const extent *a, const extent *b)
{
    return (extent){a->factor * b->factor, {a->times[0] + b->times[0], a->times[1] + b->times[1]}};
}

// Takes a half, or an open size, out of an extent.
static extent first_part(chain *c, extent *of)
{
    int k = below(c, 2);
    extent part = {.factor = 1};
    if (of->times[k]) {
        of->times[k]--;
        part.times[k] = 1;
    } else if (of->factor % 2 == 0) {
        of->factor /= 2;
        part.factor = 2;
    }
    return part;
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
            set_extent(y, to++, x->extents[from]);
        } else if (joins) {
            set_extent(y, to++, product(&x->extents[from], &x->extents[from + 1]));
            from++;
        } else {
            extent rest = x->extents[from];
            set_extent(y, to++, first_part(c, &rest));
            set_extent(y, to++, rest);
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
    for (int d = 0; d < x->rank; d++) {
        int open = c->has_open_sizes ? below(c, 4) : 3;
        extent e = {.factor = extents[below(c, d == x->rank - 1 ? 6 : 4)]};
        if (open < 2)
            e = (extent){.factor = 1 + below(c, 2), .times = {open == 0, open == 1}};
        set_extent(x, d, e);
    }
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

static int64_t number_of(const fg_amount *x)
{
    int64_t n = x->factor;
    for (size_t i = 0; i < x->names.len; i++)
        n *= sizes[strcmp(x->names.at[i], size_names[1]) == 0];
    return n;
}

static void expect_elements(const chain *c, int number, const fg_layout *l)
{
    const value *v = &c->values[number], *base = &c->values[l->base];
    for (int e = 0; e < count_of(v); e++) {
        int64_t at = number_of(&l->offset);
        for (int d = v->rank, rest = e; d-- > 0; rest /= v->shape[d])
            at += rest % v->shape[d] * number_of(&l->strides[d]);
        assert_true(at >= 0 && at < count_of(base));
        assert_int_equal(v->element[e], base->element[at]);
    }
}

static bool is_row_major(const value *v, const fg_layout *l)
{
    bool same = l->offset.factor == 0;
    for (int d = 0; d < v->rank; d++)
        same &= v->shape[d] == 1 || number_of(&l->strides[d]) == step_behind(v, d);
    return same;
}

static void run(bool has_open_sizes)
{
    static chain c;
    int views = 0, strided = 0;
    for (int round = 0; round < ROUNDS; round++) {
        arena a;
        arena_init(&a, NULL);
        memset(&c, 0, sizeof c);
        c.random = (uint64_t)round * 977 + 1;
        c.memory = &a;
        c.has_open_sizes = has_open_sizes;
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
    assert_true(views > ROUNDS / 2 && strided > ROUNDS / 20);
}

static void layouts_are_those_of_the_elements(void **state)
{
    (void)state;
    run(false);
}

static void layouts_with_open_sizes_are_those_of_the_elements(void **state)
{
    (void)state;
    run(true);
}

// 8 × B rows of 48: what an operand is made of, and what it is not.
static void amounts_are_products(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, NULL);
    fg_tensor t = {.rank = 4, .shape = {64, 48, 64, 64}, .extent = {"8 * A * B", NULL, "A + 1", "((B) // (2)) * max(A, B)"}};
    const fg_amount x = fg_extent_amount(&a, &t, 0), n = fg_extent_amount(&a, &t, 1), sum = fg_extent_amount(&a, &t, 2);
    const fg_amount quotient = fg_extent_amount(&a, &t, 3), both = fg_times(&a, &x, &n);
    fg_amount total;
    assert_string_equal(fg_amount_text(&a, &both), "384 * i64(A) * i64(B)");
    assert_string_equal(fg_amount_text(&a, &sum), "i64(A + 1)");
    assert_int_equal(quotient.names.len, 2);
    assert_true(fg_is_proper_part(&x, &both) && !fg_is_proper_part(&both, &x) && !fg_is_proper_part(&sum, &both));
    assert_true(fg_plus(&x, &both, &total) && total.factor == 392);
    assert_false(fg_plus(&x, &n, &total));
    const fg_amount large = fg_amount_of(INT64_MAX), less = fg_amount_of(-2), most = fg_times(&a, &large, &less);
    assert_true(most.factor == INT64_MIN);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layouts_are_those_of_the_elements),
                                       cmocka_unit_test(layouts_with_open_sizes_are_those_of_the_elements),
                                       cmocka_unit_test(amounts_are_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
