// Rewrites: what is found, what is not, and the time that it takes to look.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <time.h>

#include "graph/rewrite.h"

#define TENSOR "{\"dtype\": \"f16\", \"shape\": [4, 8]}"

static const char *node_text(arena *a, const char *op, const char *inputs, int result)
{
    return arena_printf(a,
                        "{\"operator\": \"%s\", \"module\": \"m\", \"kind\": \"elementwise\", \"line\": %d, \"inputs\": [%s],"
                        " \"options\": [], \"outputs\": [%d]}",
                        op, result, inputs, result);
}

// Of one input, tensor 0; each node makes one tensor, the last one is the output.
static fg_graph *graph_of(arena *a, const char *const *nodes, int count)
{
    str_buf out;
    const char *error = NULL;
    str_buf_init(&out, a);
    str_adds(&out, "{\"name\": \"g\", \"tensors\": [" TENSOR);
    for (int i = 0; i < count; i++)
        str_adds(&out, ", " TENSOR);
    str_adds(&out, "], \"inputs\": [{\"name\": \"x\", \"tensor\": 0}], \"nodes\": [");
    for (int i = 0; i < count; i++)
        str_addf(&out, "%s%s", i ? ",\n" : "", nodes[i]);
    str_addf(&out, "], \"outputs\": [%d]}", count);
    fg_graph *g = fg_read_json(a, &error, str_text(&out));
    if (!g)
        fail_msg("%s", error);
    return g;
}

static fg_rule *rule_of(arena *a, const char *tensors, const char *left)
{
    const char *error = NULL;
    fg_rule *r = fg_read_rule(a, &error,
                              arena_printf(a,
                                           "{\"sizes\": [{\"name\": \"S\", \"text\": \"70000001\"}],"
                                           " \"types\": [{\"name\": \"T\", \"text\": \"f8e5m2\"}], \"attributes\": [],"
                                           " \"tensors\": [%s], \"left\": {\"name\": \"rule\", \"approximate\": false, %s}}",
                                           tensors, left));
    if (!r)
        fail_msg("%s", error);
    return r;
}

#define WILDCARD(name) "{\"name\": \"" name "\", \"type\": \"T\", \"optional\": false, \"extents\": [\"*S\"]}"
#define LEFT(op, inputs, result)                                                                                       \
    "{\"operator\": \"" op "\", \"module\": \"m\", \"output\": " result ", \"inputs\": [" inputs "], \"options\": []}"

typedef struct answers {
    int asked;
    const char *text;
} answers;

static const char *answer(void *user, const fg_rule *rule, const fg_graph *g, const char *operands)
{
    answers *x = user;
    (void)rule;
    (void)g;
    (void)operands;
    x->asked++;
    return x->text;
}

// exp(x) + x is found where x + exp(x) is looked for.
static void operands_of_sums_are_exchanged(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, NULL);
    const char *nodes[] = {node_text(&a, "exp", "{\"tensor\": 0}", 1),
                           node_text(&a, "add", "{\"tensor\": 1}, {\"tensor\": 0}", 2)};
    fg_graph *g = graph_of(&a, nodes, 2);
    fg_rule_list rules = {0};
    VEC_PUSH(&a, &rules, rule_of(&a, WILDCARD("x"), "\"nodes\": [" LEFT("exp", "{\"tensor\": 0}", "1") ", "
                                 LEFT("add", "{\"tensor\": 0}, {\"tensor\": 1}", "2") "], \"outputs\": [2]"));
    answers x = {.text = "{\"name\": \"s\", \"tensors\": [" TENSOR ", " TENSOR "],"
                         " \"inputs\": [{\"name\": \"x\", \"tensor\": 0}], \"nodes\": [{\"operator\": \"log\", \"module\": \"m\","
                         " \"kind\": \"elementwise\", \"line\": 1, \"inputs\": [{\"tensor\": 0}], \"options\": [],"
                         " \"outputs\": [1]}], \"outputs\": [1], \"wanted\": [" TENSOR "]}"};
    fg_engine e = {.right = answer, .user = &x};
    assert_true(fg_rewrite(g, &rules, &e));
    assert_int_equal(x.asked, 1);
    assert_int_equal(g->nodes.len, 1);
    assert_string_equal(g->nodes.at[0].op, "log");
    assert_true(g->tensors.at[2].is_output);
    assert_null(fg_verify(g));
    arena_free(&a);
}

// p(x, x) and p(x, that): a node that makes both would read what it makes.
static void circular_pairs_are_left(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, NULL);
    const char *nodes[] = {node_text(&a, "p", "{\"tensor\": 0}, {\"tensor\": 0}", 1),
                           node_text(&a, "p", "{\"tensor\": 0}, {\"tensor\": 1}", 2)};
    fg_graph *g = graph_of(&a, nodes, 2);
    fg_rule_list rules = {0};
    VEC_PUSH(&a, &rules, rule_of(&a, WILDCARD("x") ", " WILDCARD("y") ", " WILDCARD("z"),
                                 "\"nodes\": [" LEFT("p", "{\"tensor\": 0}, {\"tensor\": 1}", "3") ", "
                                 LEFT("p", "{\"tensor\": 0}, {\"tensor\": 2}", "4") "], \"outputs\": [3, 4]"));
    answers x = {0};
    fg_engine e = {.right = answer, .user = &x};
    assert_true(fg_rewrite(g, &rules, &e));
    assert_int_equal(x.asked, 0);
    assert_int_equal(g->nodes.len, 2);
    arena_free(&a);
}

// q(p(x)) and p(x), which r reads as well: one node makes both, named q first. It stands before r, which stood before q.
static void an_output_may_be_read_by_one_named_before(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, NULL);
    const char *nodes[] = {node_text(&a, "p", "{\"tensor\": 0}", 1), node_text(&a, "r", "{\"tensor\": 1}", 2),
                           node_text(&a, "q", "{\"tensor\": 1}", 3), node_text(&a, "add", "{\"tensor\": 2}, {\"tensor\": 3}", 4)};
    fg_graph *g = graph_of(&a, nodes, 4);
    fg_rule_list rules = {0};
    VEC_PUSH(&a, &rules, rule_of(&a, WILDCARD("x"), "\"nodes\": [" LEFT("p", "{\"tensor\": 0}", "1") ", "
                                 LEFT("q", "{\"tensor\": 1}", "2") "], \"outputs\": [2, 1]"));
    answers x = {.text = "{\"name\": \"s\", \"tensors\": [" TENSOR ", " TENSOR ", " TENSOR "],"
                         " \"inputs\": [{\"name\": \"x\", \"tensor\": 0}],"
                         " \"nodes\": [{\"operator\": \"both\", \"module\": \"m\", \"kind\": \"elementwise\","
                         " \"line\": 1, \"inputs\": [{\"tensor\": 0}], \"options\": [], \"outputs\": [1, 2]}],"
                         " \"outputs\": [2, 1], \"wanted\": [" TENSOR ", " TENSOR "]}"};
    fg_engine e = {.right = answer, .user = &x};
    assert_true(fg_rewrite(g, &rules, &e));
    assert_int_equal(x.asked, 1);
    assert_int_equal(g->nodes.len, 3);
    assert_string_equal(g->nodes.at[0].op, "both");
    assert_int_equal(g->nodes.at[0].outputs.at[0], g->nodes.at[1].arguments.at[0].tensor);
    assert_string_equal(g->nodes.at[1].op, "r");
    assert_int_equal(g->nodes.at[0].outputs.at[1], g->nodes.at[2].arguments.at[1].tensor);
    assert_null(fg_verify(g));
    arena_free(&a);
}

#define OPEN(extent) "{\"dtype\": \"f16\", \"shape\": [{\"text\": \"" extent "\", \"about\": 64}, 8]}"

// Rewrites exp(x), of f16[B, 8], to log(x) with that extent, which also asks for [checks]: whether it is applied.
static bool applies_to_open(const char *extent, const char *of_graph, const char *checks)
{
    arena a;
    const char *error = NULL;
    arena_init(&a, NULL);
    static const char graph[] = "{\"name\": \"g\", \"sizes\": [\"B\", \"C\"], \"checks\": [%s], \"tensors\": ["
                                OPEN("B") ", " OPEN("B") "],"
                        " \"inputs\": [{\"name\": \"x\", \"tensor\": 0}], \"nodes\": [%s], \"outputs\": [1]}";
    fg_graph *g = fg_read_json(&a, &error, arena_printf(&a, graph, of_graph, node_text(&a, "exp", "{\"tensor\": 0}", 1)));
    assert_non_null(g);
    fg_rule_list rules = {0};
    VEC_PUSH(&a, &rules, rule_of(&a, WILDCARD("x"), "\"nodes\": [" LEFT("exp", "{\"tensor\": 0}", "1") "], \"outputs\": [1]"));
    static const char side[] = "{\"name\": \"s\", \"checks\": [%s], \"tensors\": [" OPEN("B") ", " OPEN("%s") "],"
                       " \"inputs\": [{\"name\": \"x\", \"tensor\": 0}], \"nodes\": [%s], \"outputs\": [1],"
                       " \"wanted\": [" OPEN("%s") "]}";
    answers x = {.text = arena_printf(&a, side, checks, extent, node_text(&a, "log", "{\"tensor\": 0}", 1), extent)};
    fg_engine e = {.right = answer, .user = &x};
    assert_true(fg_rewrite(g, &rules, &e));
    assert_int_equal(x.asked, 1);
    bool applied = strcmp(g->nodes.at[0].op, "log") == 0;
    arena_free(&a);
    return applied;
}

static void open_extents_are_compared_as_texts(void **state)
{
    (void)state;
    static const char check[] = "{\"condition\": \"B == C\", \"message\": \"equal\"}";
    assert_true(applies_to_open("B", "", ""));
    assert_false(applies_to_open("C", "", ""));
    assert_false(applies_to_open("2 * B", "", ""));
    assert_false(applies_to_open("B", "", check)); // it would need more than the graph checks
    assert_true(applies_to_open("B", check, check));
}

// x + y of x: f16[B, 8] and y: f16[C, 8] is no place where equal shapes are looked for.
static void open_extents_are_matched_as_texts(void **state)
{
    (void)state;
    static const char *const extents[] = {"B", "C"};
    for (int k = 0; k < 2; k++) {
        arena a;
        const char *error = NULL;
        arena_init(&a, NULL);
        static const char graph[] = "{\"name\": \"g\", \"sizes\": [\"B\", \"C\"], \"tensors\": ["
                                    OPEN("B") ", " OPEN("%s") ", " OPEN("B") "],"
                            " \"inputs\": [{\"name\": \"x\", \"tensor\": 0}, {\"name\": \"y\", \"tensor\": 1}], \"nodes\": [%s],"
                            " \"outputs\": [2]}";
        const char *node = node_text(&a, "add", "{\"tensor\": 0}, {\"tensor\": 1}", 2);
        fg_graph *g = fg_read_json(&a, &error, arena_printf(&a, graph, extents[k], node));
        assert_non_null(g);
        fg_rule_list rules = {0};
        VEC_PUSH(&a, &rules, rule_of(&a, WILDCARD("x") ", " WILDCARD("y"),
                                     "\"nodes\": [" LEFT("add", "{\"tensor\": 0}, {\"tensor\": 1}", "2") "], \"outputs\": [2]"));
        answers x = {.text = ""};
        fg_engine e = {.right = answer, .user = &x};
        assert_true(fg_rewrite(g, &rules, &e));
        assert_int_equal(x.asked, k ? 0 : 1);
        arena_free(&a);
    }
}

// 5,000 nodes and 50 rules of three nodes, of which two are there at each place.
static void looking_is_fast(void **state)
{
    enum { NODES = 5000, RULES = 50 };
    (void)state;
    arena a;
    arena_init(&a, NULL);
    const char **nodes = ARENA_ARRAY(&a, const char *, NODES);
    for (int i = 0; i < NODES; i++)
        nodes[i] = node_text(&a, arena_printf(&a, "op%d", i % RULES), arena_printf(&a, "{\"tensor\": %d}", i), i + 1);
    fg_graph *g = graph_of(&a, nodes, NODES);
    fg_rule_list rules = {0};
    for (int k = 0; k < RULES; k++) {
        static const char nodes_text[] = "\"nodes\": [" LEFT("op%d", "{\"tensor\": 0}", "1") ", "
                                         LEFT("op%d", "{\"tensor\": 1}", "2") ", "
                                         LEFT("op%d", "{\"tensor\": 2}", "3") "], \"outputs\": [3]";
        const char *left = arena_printf(&a, nodes_text, k, (k + RULES - 1) % RULES, k);
        VEC_PUSH(&a, &rules, rule_of(&a, WILDCARD("x"), left));
    }
    answers x = {0};
    fg_engine e = {.right = answer, .user = &x};
    clock_t begin = clock();
    assert_true(fg_rewrite(g, &rules, &e));
    double ms = (double)(clock() - begin) * 1e3 / CLOCKS_PER_SEC;
    print_message("%.2f ms\n", ms);
    assert_int_equal(x.asked, 0);
    assert_true(ms < 1000); // 3 ms; much more with sanitizers and on a busy machine
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_of_sums_are_exchanged),
        cmocka_unit_test(circular_pairs_are_left),
        cmocka_unit_test(an_output_may_be_read_by_one_named_before),
        cmocka_unit_test(open_extents_are_compared_as_texts),
        cmocka_unit_test(open_extents_are_matched_as_texts),
        cmocka_unit_test(looking_is_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
