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

// Nothing is fused, shared or dropped, all results are outputs, and what names a float type names f64.
static void variants_have_all_tensors(void **state)
{
    (void)state;
    static const char casts[] =
        "{\"name\": \"f\", \"tensors\": [{\"dtype\": \"f16\", \"shape\": [4, 8]}, {\"dtype\": \"i32\", \"shape\": [4, 8]},"
        " {\"dtype\": \"f8e4m3\", \"shape\": [4, 8]}, {\"dtype\": \"f32\", \"shape\": [4, 8]}],"
        " \"inputs\": [{\"name\": \"x\", \"tensor\": 0}], \"nodes\": ["
        "{\"operator\": \"a\", \"module\": \"m\", \"kind\": \"elementwise\", \"line\": 3, \"inputs\": [{\"tensor\": 0}],"
        " \"options\": [{\"name\": \"to\", \"value\": \"(f16, bf16_, i32, \\\"f16\\\", f16)\"}], \"outputs\": [1, 2]},"
        "{\"operator\": \"b\", \"module\": \"m\", \"kind\": \"elementwise\", \"line\": 4, \"inputs\": [{\"tensor\": 0}],"
        " \"options\": [], \"outputs\": [3]}], \"outputs\": [3]}";
    arena a;
    const char *error = NULL;
    arena_init(&a, NULL);
    fg_graph *g = fg_read_json(&a, &error, casts);
    assert_non_null(g);
    fg_widen(g);
    fg_split(g);
    static const char *const types[] = {"f64", "i32", "f8e4m3", "f64"};
    static const int64_t bytes[] = {256, 128, 32, 256};
    for (int i = 0; i < 4; i++) {
        assert_string_equal(g->tensors.at[i].dtype, types[i]);
        assert_int_equal(g->tensors.at[i].bytes, bytes[i]);
        assert_int_equal(g->tensors.at[i].is_output, i > 0);
    }
    assert_string_equal(g->nodes.at[0].arguments.at[1].value, "(f64, bf16_, i32, \"f16\", f64)");
    assert_int_equal(g->group_count, 2);
    assert_int_equal(g->outputs.len, 3);
    assert_int_equal(g->returned.len, 1);
    assert_int_equal(g->returned.at[0], 3);
    assert_null(fg_verify(g));
    str text = fg_lower(&a, &g, 1);
    assert_non_null(strstr(text.at, "x: f64[4, 8], t0: i32[4, 8], t1: f8e4m3[4, 8], t2: f64[4, 8]"));
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
        {"\"shape\": [4, 8]", "\"shape\": [4, -1]", "below 0"},
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

// y = linear(x, w) + cast(b), z = matmul(x, w.reshape(1, 8, 8)): b is prepared, w is read as it is, through a view too.
#define TENSOR(dtype, shape) "{\"dtype\": \"" dtype "\", \"shape\": [" shape "]}"
#define NODE(op, module, kind, inputs, outputs)                                                                        \
    "{\"operator\": \"" op "\", \"module\": \"" module "\", \"kind\": \"" kind "\", \"line\": 3, \"inputs\": [" inputs     \
    "], \"options\": [], \"outputs\": [" outputs "]}"
#define OF(number) "{\"tensor\": " #number "}"
// clang-format off
static const char weighted[] =
    "{\"name\": \"f\", \"tensors\": [" TENSOR("f16", "4, 8") "," TENSOR("f16", "8, 8") "," TENSOR("f32", "8") ","
    TENSOR("f16", "4, 8") "," TENSOR("f16", "8") "," TENSOR("f16", "4, 8") ","
    TENSOR("f16", "1, 8, 8") "," TENSOR("f16", "1, 4, 8") "],"
    " \"inputs\": [{\"name\": \"x\", \"tensor\": 0}, {\"weight\": \"fc.weight\", \"file\": \"a.safetensors\", \"tensor\": 1},"
    " {\"weight\": \"add\", \"file\": \"a.safetensors\", \"tensor\": 2}], \"nodes\": ["
    NODE("linear", "matmul", "epilogue", OF(0) "," OF(1), "3") ","
    NODE("cast", "creation", "elementwise", OF(2), "4") ","
    NODE("add", "arithmetic", "elementwise", OF(3) "," OF(4), "5") ","
    NODE("reshape", "layout", "view", OF(1), "6") ","
    NODE("matmul", "matmul", "epilogue", OF(0) "," OF(6), "7") "], \"outputs\": [5, 7]}";

// y = x.T + x.reshape(8, 0), z = sum(x, 0): of x without elements there are no views, and one launch.
static const char nothing[] =
    "{\"name\": \"f\", \"tensors\": [" TENSOR("f16", "0, 8") "," TENSOR("f16", "8, 0") "," TENSOR("f16", "8, 0") ","
    TENSOR("f16", "8, 0") "," TENSOR("f16", "8") "], \"inputs\": [{\"name\": \"x\", \"tensor\": 0}], \"nodes\": ["
    "{\"operator\": \"permute\", \"module\": \"layout\", \"kind\": \"elementwise\", \"line\": 3, \"strides\": [1, 8],"
    " \"offset\": 0, \"inputs\": [" OF(0) "], \"options\": [], \"outputs\": [1]},"
    NODE("reshape", "layout", "view", OF(0), "2") ","
    NODE("add", "arithmetic", "elementwise", OF(1) "," OF(2), "3") ","
    NODE("sum", "reduction", "reduction", OF(0), "4") "], \"outputs\": [3, 4]}";
// clang-format on

static void nothing_is_launched_without_elements(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, NULL);
    const char *error = NULL;
    fg_graph *g = fg_read_json(&a, &error, nothing);
    if (!g)
        fail_msg("%s", error);
    assert_true(fg_is_empty(&g->tensors.at[0]) && !fg_is_empty(&g->tensors.at[4]));
    assert_int_equal(g->tensors.at[0].bytes, 0);
    fg_run_passes(g);
    for (int t = 0; t < 5; t++)
        assert_null(g->tensors.at[t].layout);
    str text = fg_lower(&a, &g, 1);
    assert_int_equal(g->launches.len, 1);
    assert_non_null(strstr(text.at, "def f(x: f16[0, 8], out0: f16[8, 0], out1: f16[8]):"));
    assert_non_null(strstr(text.at, "fused_sum.launch(x, into=out1)"));
    arena_free(&a);
}

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
    has_text(text, "def f(x: f16[4, 8], fc_weight: f16[8, 8], prepared0: f16[8], out0: f16[4, 8], out1: f16[1, 4, 8]):\n");
    has_text(text, "as_tensor_pointer(~fc_weight, f16, [1, 8, 8])");
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

static void same_graphs(const fg_graph *g, const fg_graph *h)
{
    assert_string_equal(g->name, h->name);
    assert_int_equal(g->tensors.len, h->tensors.len);
    for (size_t i = 0; i < g->tensors.len; i++) {
        const fg_tensor *t = &g->tensors.at[i], *u = &h->tensors.at[i];
        assert_string_equal(t->name, u->name);
        assert_string_equal(fg_type_text(g->memory, t), fg_type_text(g->memory, u));
        assert_int_equal(t->maker, u->maker);
        assert_int_equal(t->is_output, u->is_output);
        assert_string_equal(t->output_name ? t->output_name : "", u->output_name ? u->output_name : "");
        assert_string_equal(t->weight ? t->weight : "", u->weight ? u->weight : "");
        assert_string_equal(t->weight ? t->weight_file : "", u->weight ? u->weight_file : "");
    }
    assert_int_equal(g->nodes.len, h->nodes.len);
    for (size_t i = 0; i < g->nodes.len; i++) {
        const fg_node *n = &g->nodes.at[i], *m = &h->nodes.at[i];
        assert_string_equal(n->module, m->module);
        assert_int_equal(n->kind, m->kind);
        assert_int_equal(n->line, m->line);
        assert_int_equal(n->view != NULL, m->view != NULL);
        if (n->view)
            assert_memory_equal(n->view, m->view, sizeof *n->view);
        assert_int_equal(n->pitched, m->pitched);
        assert_int_equal(n->exchanges.len, m->exchanges.len);
        for (size_t k = 0; k < n->exchanges.len; k++)
            assert_string_equal(n->exchanges.at[k], m->exchanges.at[k]);
        str_buf a, b;
        str_buf_init(&a, g->memory);
        str_buf_init(&b, g->memory);
        fg_print_call(&a, g, n, NULL);
        fg_print_call(&b, h, m, NULL);
        assert_string_equal(str_text(&a), str_text(&b));
    }
    assert_int_equal(g->outputs.len, h->outputs.len);
    for (size_t i = 0; i < g->outputs.len; i++)
        assert_int_equal(g->outputs.at[i], h->outputs.at[i]);
}

static fg_graph *read_again(arena *a, const fg_graph *g)
{
    const char *error = NULL;
    str text = fg_print_json(g);
    fg_graph *h = fg_read_json(a, &error, arena_strndup(a, text.at, text.len));
    assert_null(error);
    return h;
}

// What is read is what was printed; names with quotes, control characters and UTF-8 too. What is dropped is left out.
static void json_gives_the_same_graph(void **state)
{
    (void)state;
    static const char odd[] =
        "{\"name\": \"f\", \"tensors\": [" TENSOR("f32", "") "," TENSOR("f16", "8, 2") "], \"inputs\": ["
        "{\"weight\": \"a\\\"\\\\\\n\\u0001\u00e4\", \"file\": \"b\\t.safetensors\", \"tensor\": 0}], \"nodes\": [{\"operator\": \"full\","
        " \"module\": \"creation\", \"kind\": \"elementwise\", \"line\": 7, \"inputs\": [{\"tensor\": 0}], \"options\": ["
        "{\"name\": \"mode\", \"value\": \"'a\\\\n\\\"'\"}], \"outputs\": [1]}], \"outputs\": [1]}";
    static const char viewed[] =
        "{\"name\": \"f\", \"tensors\": [" TENSOR("f16", "8, 16") "," TENSOR("f16", "16, 4") "," TENSOR("f16", "16, 16") "],"
        " \"inputs\": [{\"name\": \"x\", \"tensor\": 0}], \"nodes\": [{\"operator\": \"cut\", \"module\": \"layout\","
        " \"kind\": \"elementwise\", \"line\": 7, \"offset\": 3, \"strides\": [1, 16], \"inputs\": [{\"tensor\": 0}], \"options\": [],"
        " \"outputs\": [1]}, {\"operator\": \"matmul\", \"module\": \"matmul\", \"kind\": \"epilogue\", \"line\": 8, \"matrices\":"
        " [\"\", \"transpose_b\"], \"inputs\": [" OF(1) "," OF(1) "], \"options\": [], \"outputs\": [2]}],"
        " \"outputs\": [{\"name\": \"scores\", \"tensor\": 2}]}";
    static const char *const texts[] = {two_sums, weighted, odd, viewed};
    arena a;
    const char *error = NULL;
    arena_init(&a, NULL);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fg_graph *g = fg_read_json(&a, &error, texts[i]);
        assert_null(error);
        same_graphs(g, read_again(&a, g));
    }
    fg_graph *g = fg_read_json(&a, &error, two_sums);
    fg_run_passes(g);
    fg_graph *h = read_again(&a, g);
    assert_int_equal(h->nodes.len, 2);
    assert_int_equal(h->tensors.len, 3);
    assert_int_equal(h->outputs.at[0], 2);
    arena_free(&a);
}

static void lists_of_graphs_are_read(void **state)
{
    (void)state;
    arena a;
    const char *error = NULL;
    fg_graph_list list = {0};
    arena_init(&a, NULL);
    assert_true(fg_read_json_list(&a, &list, &error, arena_printf(&a, "[%s, %s]", two_sums, weighted)));
    assert_int_equal(list.len, 2);
    assert_true(fg_read_json_list(&a, &list, &error, two_sums));
    assert_int_equal(list.len, 3);
    assert_false(fg_read_json_list(&a, &list, &error, "[]"));
    assert_string_equal(error, "the list has no graph");
    assert_false(fg_read_json_list(&a, &list, &error, arena_printf(&a, "[%s, 7]", two_sums)));
    assert_non_null(error);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_nodes_are_one), cmocka_unit_test(variants_have_all_tensors),
        cmocka_unit_test(damaged_graphs_are_refused),
        cmocka_unit_test(nothing_is_launched_without_elements),
        cmocka_unit_test(weights_are_prepared_at_load),
        cmocka_unit_test(outputs_are_not_prepared),
        cmocka_unit_test(json_gives_the_same_graph),
        cmocka_unit_test(lists_of_graphs_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
