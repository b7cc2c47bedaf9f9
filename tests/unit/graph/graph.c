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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_nodes_are_one),
        cmocka_unit_test(damaged_graphs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
