// Graphs as JSON: what is refused, and what the passes make of small ones.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "graph/passes/passes.h"

static const char two_sums[] =
    "{\"name\": \"f\", \"tensors\": [{\"dtype\": \"f16\", \"shape\": [4, 8]}, {\"dtype\": \"f16\", \"shape\": [4, 8]},"
    " {\"dtype\": \"f16\", \"shape\": [4, 8]}, {\"dtype\": \"f16\", \"shape\": [4, 8]}],"
    " \"inputs\": [{\"name\": \"x\", \"tensor\": 0}], \"nodes\": ["
    "{\"operator\": \"relu\", \"module\": \"activation\", \"kind\": \"elementwise\", \"line\": 3, \"inputs\": [{\"tensor\": 0}],"
    " \"options\": [], \"outputs\": [1]},"
    "{\"operator\": \"relu\", \"module\": \"activation\", \"kind\": \"elementwise\", \"line\": 4, \"inputs\": [{\"tensor\": 0}],"
    " \"options\": [], \"outputs\": [2]},"
    "{\"operator\": \"add\", \"module\": \"arithmetic\", \"kind\": \"elementwise\", \"line\": 5,"
    " \"inputs\": [{\"tensor\": 1}, {\"tensor\": 2}], \"options\": [], \"outputs\": [3]}],"
    " \"outputs\": [3]}";

static void equal_nodes_are_one(void **state)
{
    (void)state;
    arena a;
    const char *error = NULL;
    arena_init(&a, NULL);
    fg_graph *g = fg_read_json(&a, &error, two_sums);
    assert_non_null(g);
    assert_int_equal(g->tensors.at[1].bytes, 64);
    fg_run_passes(g);
    assert_true(g->nodes.at[1].is_dropped);
    assert_int_equal(g->nodes.at[2].arguments.at[1].tensor, 1);
    assert_int_equal(g->group_count, 1);
    assert_null(fg_verify(g));
    arena_free(&a);
}

// Each has one fault; the message says which.
static void damaged_graphs_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *says;
    } faults[] = {
        {"{\"name\"", "[{\"name\"", "line 1"},
        {"\"shape\": [4, 8]", "\"shape\": [4, 0]", "below 1"},
        {"\"shape\": [4, 8]", "\"shape\": [4611686018427387904, 8]", "2^63"},
        {"\"dtype\": \"f16\"", "\"dtype\": \"i4\"", "'i4'"},
        {"\"tensor\": 2}]", "\"tensor\": 3}]", "before it is made"},
        {"\"tensor\": 2}]", "\"tensor\": 9}]", "no tensor of that number"},
        {"\"outputs\": [2]", "\"outputs\": [1]", "two nodes make one tensor"},
        {"\"outputs\": [2]", "\"outputs\": []", "makes nothing"},
        {"\"kind\": \"elementwise\"", "\"kind\": \"other\"", "'other'"},
        {"\"inputs\": [{\"name\": \"x\", \"tensor\": 0}]", "\"inputs\": []", "made by no node"},
        {"\"module\": \"activation\", ", "", "'module'"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const char *at = strstr(two_sums, faults[i].from), *error = NULL;
        assert_non_null(at);
        arena a;
        arena_init(&a, NULL);
        str_buf text;
        str_buf_init(&text, &a);
        str_addf(&text, "%.*s%s%s", (int)(at - two_sums), two_sums, faults[i].to, at + strlen(faults[i].from));
        assert_null(fg_read_json(&a, &error, str_text(&text)));
        assert_non_null(error);
        if (!strstr(error, faults[i].says))
            fail_msg("'%s' does not say '%s'", error, faults[i].says);
        arena_free(&a);
    }
}

// y = linear(x, w) + cast(b), z = linear(x, w.T): b is prepared, w is read as it is, through a view too.
#define TENSOR(dtype, shape) "{\"dtype\": \"" dtype "\", \"shape\": [" shape "]}"
#define NODE(op, module, kind, inputs, outputs)                                                                        \
    "{\"operator\": \"" op "\", \"module\": \"" module "\", \"kind\": \"" kind "\", \"line\": 3, \"inputs\": [" inputs     \
    "], \"options\": [], \"outputs\": [" outputs "]}"
#define OF(number) "{\"tensor\": " #number "}"
static const char weighted[] =
    "{\"name\": \"f\", \"tensors\": [" TENSOR("f16", "4, 8") "," TENSOR("f16", "8, 8") "," TENSOR("f32", "8") ","
    TENSOR("f16", "4, 8") "," TENSOR("f16", "8") "," TENSOR("f16", "4, 8") "," TENSOR("f16", "8, 8") "," TENSOR("f16", "4, 8") "],"
    " \"inputs\": [{\"name\": \"x\", \"tensor\": 0}, {\"weight\": \"fc.weight\", \"file\": \"a.safetensors\", \"tensor\": 1},"
    " {\"weight\": \"add\", \"file\": \"a.safetensors\", \"tensor\": 2}], \"nodes\": ["
    NODE("linear", "matmul", "epilogue", OF(0) "," OF(1), "3") ","
    NODE("cast", "creation", "elementwise", OF(2), "4") ","
    NODE("add", "arithmetic", "elementwise", OF(3) "," OF(4), "5") ","
    NODE("reshape", "layout", "view", OF(1), "6") ","
    NODE("linear", "matmul", "epilogue", OF(0) "," OF(6), "7") "], \"outputs\": [5, 7]}";

static void has_text(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

static void weights_are_prepared_at_load(void **state)
{
    (void)state;
    arena a;
    const char *error = NULL;
    arena_init(&a, NULL);
    fg_graph *g = fg_read_json(&a, &error, weighted);
    assert_null(error);
    has_text(arena_strndup(&a, fg_print(g).at, fg_print(g).len),
             "    fc_weight = W[\"fc.weight\", f16[8, 8]]\n    add_ = W[\"add\", f32[8]]\n");
    fg_run_passes(g);
    assert_null(fg_verify(g));
    assert_non_null(g->load);
    assert_null(fg_verify(g->load));
    str program = fg_lower(&a, &g, 1);
    const char *text = arena_strndup(&a, program.at, program.len);
    has_text(text, "def f_load(add_: f32[8], prepared0: f16[8]):\n");
    has_text(text, "fused_cast.launch(add_, into=prepared0)");
    has_text(text, "def f(x: f16[4, 8], fc_weight: f16[8, 8], prepared0: f16[8], out0: f16[4, 8], out1: f16[4, 8]):\n");
    has_text(text, "as_tensor_pointer(~fc_weight, f16, [8, 8])");
    fg_model m = fg_describe(&a, g);
    assert_string_equal(m.load.name, "f_load");
    static const fg_role roles[] = {FG_INPUT, FG_WEIGHT, FG_PREPARED, FG_OUTPUT, FG_OUTPUT};
    assert_int_equal(m.run.parameters.len, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(m.run.parameters.at[i].role, roles[i]);
    assert_string_equal(m.load.parameters.at[0].tensor->weight, "add");
    assert_int_equal(m.load.parameters.at[1].role, FG_PREPARED);
    arena_free(&a);
}

// Without what is prepared there is no load function; what is an output is computed in each run.
static void outputs_are_not_prepared(void **state)
{
    (void)state;
    static const char text[] =
        "{\"name\": \"f\", \"tensors\": [" TENSOR("f32", "8") "," TENSOR("f16", "8") "], \"inputs\": ["
        "{\"weight\": \"9\", \"file\": \"\", \"tensor\": 0}], \"nodes\": [" NODE("cast", "creation", "elementwise", OF(0), "1")
        "], \"outputs\": [1]}";
    arena a;
    const char *error = NULL;
    arena_init(&a, NULL);
    fg_graph *g = fg_read_json(&a, &error, text);
    assert_null(error);
    has_text(arena_strndup(&a, fg_print(g).at, fg_print(g).len), "W = weights()\n");
    fg_run_passes(g);
    assert_null(g->load);
    assert_null(fg_describe(&a, g).load.name);
    assert_string_equal(g->tensors.at[0].name, "w_9");
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_nodes_are_one),
        cmocka_unit_test(damaged_graphs_are_refused),
        cmocka_unit_test(weights_are_prepared_at_load),
        cmocka_unit_test(outputs_are_not_prepared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
