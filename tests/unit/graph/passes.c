// Passes: their steps on large graphs, and the order of groups.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "graph/passes/passes.h"

typedef enum shape { CHAIN, LADDER, LAYERS, FAN } shape;

static void add_node(str_buf *nodes, str_buf *tensors, const char *op, const char *kind, int a, int b, int result)
{
    str_addf(tensors, ", {\"dtype\": \"f16\", \"shape\": [4, 8]}");
    str_addf(nodes,
             "%s{\"operator\": \"%s\", \"module\": \"m\", \"kind\": \"%s\", \"line\": 1, \"inputs\": [{\"tensor\": %d}",
             nodes->len ? ",\n" : "", op, kind, a);
    if (b >= 0)
        str_addf(nodes, ", {\"tensor\": %d}", b);
    str_addf(nodes, "], \"options\": [{\"name\": \"seed\", \"value\": \"%d\"}], \"outputs\": [%d]}", result, result);
}

// CHAIN   each node reads the one before it
// LADDER  each node reads the two before it
// LAYERS  products with epilogues and a residual over each four
// FAN     all read one tensor, and the last ones read them two by two
static fg_graph *large_graph(arena *a, shape s, int count)
{
    str_buf nodes, tensors, all;
    const char *error = NULL;
    str_buf_init(&nodes, a);
    str_buf_init(&tensors, a);
    str_buf_init(&all, a);
    str_adds(&tensors, "{\"dtype\": \"f16\", \"shape\": [4, 8]}");
    for (int i = 0; i < count; i++) {
        bool is_product = s == LAYERS && i % 4 == 0;
        int back = s == LADDER ? i - 1 : s == LAYERS && i % 4 == 3 ? i - 3 : -1;
        int from = s == FAN ? (i < count / 2 ? 0 : i - count / 2 + 1) : i;
        back = s == FAN && i >= count / 2 ? i : back;
        add_node(&nodes, &tensors, is_product ? "linear" : "relu", is_product ? "epilogue" : "elementwise", from, back,
                 i + 1);
    }
    str_addf(&all,
             "{\"name\": \"f\", \"tensors\": [%s], \"inputs\": [{\"name\": \"x\", \"tensor\": 0}], \"nodes\": [%s], "
             "\"outputs\": [%d",
             str_text(&tensors), str_text(&nodes), count);
    for (int i = count / 2 + 1; s == FAN && i < count; i++)
        str_addf(&all, ", %d", i);
    str_adds(&all, "]}");
    fg_graph *g = fg_read_json(a, &error, str_text(&all));
    assert_null(error);
    return g;
}

// Groups that run in their order read nothing that is not there yet.
static void check_order(const fg_graph *g)
{
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i];
        for (size_t k = 0; k < n->arguments.len && !n->is_dropped; k++) {
            int t = n->arguments.at[k].tensor, maker = t < 0 ? -1 : g->tensors.at[t].maker;
            if (maker >= 0)
                assert_true(g->nodes.at[maker].group <= n->group);
        }
        assert_true(n->is_dropped || (n->group >= 0 && n->group < g->group_count));
    }
}

static size_t steps_of(shape s, int count)
{
    arena a;
    arena_init(&a, NULL);
    fg_graph *g = large_graph(&a, s, count);
    fg_run_passes(g);
    assert_null(fg_verify(g));
    check_order(g);
    assert_true(g->group_count < count);
    size_t steps = g->steps;
    arena_free(&a);
    return steps;
}

static void steps_grow_with_the_graph(void **state)
{
    (void)state;
    for (shape s = CHAIN; s <= FAN; s++) {
        size_t few = steps_of(s, 2500), many = steps_of(s, 5000);
        if (many > 2 * few + few / 10 || many > 600 * 5000)
            fail_msg("shape %d: %zu steps for 2500 nodes, %zu for 5000", (int)s, few, many);
    }
}

// Each node is in the one launch that stands for it, and launches are found by their lines: what reports of launches read is the
// graph once.
static void launches_know_their_nodes(void **state)
{
    (void)state;
    for (shape s = CHAIN; s <= FAN; s++) {
        arena a;
        arena_init(&a, NULL);
        fg_graph *g = large_graph(&a, s, 2000);
        size_t live = 0, listed = 0;
        fg_run_passes(g);
        fg_lower(&a, &g, 1);
        for (size_t i = 0; i < g->nodes.len; i++)
            live += !g->nodes.at[i].is_dropped;
        for (size_t i = 0; i < g->launches.len; i++) {
            const fg_launch *l = &g->launches.at[i];
            assert_int_equal(fg_launch_at(g, l->line), i);
            for (size_t k = 0; k < l->nodes.len; k++)
                assert_int_equal(l->nodes.at[k]->group, l->group);
            listed += l->nodes.len;
        }
        assert_int_equal(listed, live);
        assert_int_equal(fg_launch_at(g, 1), -1);
        assert_int_equal(fg_launch_at(g, 1 << 30), -1);
        arena_free(&a);
    }
}

// sum(relu(x), sort(relu(x))): the sort runs between the two, so that relu is no part of the sum.
// clang-format off
#define X8 "{\"dtype\": \"f16\", \"shape\": [8, 8]}"
#define NODE(op, kind, inputs, output)                                                                                 \
    "{\"operator\": \"" op "\", \"module\": \"m\", \"kind\": \"" kind "\", \"line\": 3, \"inputs\": [" inputs        \
    "], \"options\": [], \"outputs\": [" output "]}"
static const char detour[] =
    "{\"name\": \"f\", \"tensors\": [" X8 "," X8 "," X8 "," X8 "," X8 "],"
    " \"inputs\": [{\"name\": \"x\", \"tensor\": 0}], \"nodes\": ["
    NODE("relu", "elementwise", "{\"tensor\": 0}", "1") "," NODE("sort", "kernels", "{\"tensor\": 1}", "2") ","
    NODE("sum", "reduction", "{\"tensor\": 1}, {\"tensor\": 2}", "3") ","
    NODE("neg", "elementwise", "{\"tensor\": 3}", "4") "], \"outputs\": [4]}";
// clang-format on

static void has_text(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

static void groups_do_not_wait_for_each_other(void **state)
{
    (void)state;
    arena a;
    const char *error = NULL;
    arena_init(&a, NULL);
    fg_graph *g = fg_read_json(&a, &error, detour);
    assert_null(error);
    fg_run_passes(g);
    check_order(g);
    assert_int_equal(g->group_count, 3);
    assert_true(g->nodes.at[0].group < g->nodes.at[1].group);
    assert_int_equal(g->nodes.at[2].group, g->nodes.at[3].group);
    str text = fg_explain_fusion(g);
    has_text(arena_strndup(&a, text.at, text.len),
             "relu -> line 3 sum: in memory (another group between them reads the one");
    has_text(arena_strndup(&a, text.at, text.len), "  with fusion: 3 launches");
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_grow_with_the_graph),
        cmocka_unit_test(launches_know_their_nodes),
        cmocka_unit_test(groups_do_not_wait_for_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
