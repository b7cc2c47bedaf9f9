// A space is asked what it says of itself; keys, estimates and their order; tables.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "tune/tune_priv.h"

static const char file_text[] =
    "from hidet.lang.search_space import SearchSpace\n"
    "\n"
    "SPACE = SearchSpace(\n"
    "    \"sum\",\n"
    "    sizes=(\"m\", \"n\"),\n"
    "    candidates=[32, 64, 128],\n"
    "    kernel=lambda t: t,\n"
    "    cost=lambda t, sm_count, m, n: 1.5 if t == 64 else 2.0 * m / sm_count,\n"
    "    valid=lambda t, m, n: t <= n,\n"
    "    label=lambda t: f\"t{t}\",\n"
    "    values=lambda t, sm_count, m, n: {\"blocks\": m, \"fast\": True},\n"
    ")\n";

typedef struct world {
    arena a;
    src_map sources;
    diag_context diags;
    pl_options options;
    const arch *target;
    char path[64];
    tune t;
    tune_space space;
} world;

static void begin(world *w)
{
    const char *error = NULL;
    *w = (world){.path = "/tmp/unit_tune_XXXXXX", .target = arch_find(STR("sm_90a"))};
    arena_init(&w->a, NULL);
    src_map_init(&w->sources, &w->a);
    diag_init(&w->diags, &w->a, &w->sources);
    assert_non_null(mkdtemp(w->path));
    strcat(w->path, "/s.hds");
    assert_true(file_write(&w->a, w->path, STR(file_text), &error));
    w->options = (pl_options){.input = w->path, .archs = &w->target, .arch_count = 1};
    tune_init(&w->t, &w->a, &w->sources, &w->diags, &w->options, "SPACE");
    assert_int_equal(tune_describe(&w->t, &w->space), PL_OK);
}

static void end(world *w)
{
    unlink(w->path);
    *strrchr(w->path, '/') = 0;
    rmdir(w->path);
    tune_free(&w->t);
    arena_free(&w->a);
}

static void descriptions(void **state)
{
    (void)state;
    world w;
    begin(&w);
    assert_string_equal(w.space.name, "sum");
    assert_int_equal(w.space.size_count, 2);
    assert_string_equal(w.space.sizes[1], "n");
    assert_int_equal(w.space.count, 3);
    assert_string_equal(w.space.labels[2], "t128");
    assert_string_equal(tune_entry(&w.t, &w.space, 1), "(SPACE).instance(\"t64\")");
    tune other;
    tune_space none;
    tune_init(&other, &w.a, &w.sources, &w.diags, &w.options, "SearchSpace");
    assert_int_equal(tune_describe(&other, &none), PL_ERRORS);
    assert_int_equal(w.diags.shown_errors, 1);
    tune_free(&other);
    end(&w);
}

static tune_words words_of(world *w, const char *m, const char *n)
{
    tune_words words = {0};
    VEC_PUSH(&w->a, &words, ((tune_word){arena_printf(&w->a, "m=%s", m), "m", m}));
    VEC_PUSH(&w->a, &words, ((tune_word){"alpha=2", "alpha", "2"}));
    VEC_PUSH(&w->a, &words, ((tune_word){arena_printf(&w->a, "n=%s", n), "n", n}));
    return words;
}

static void keys_and_ranks(void **state)
{
    (void)state;
    world w;
    tune_keys keys = {0};
    begin(&w);
    tune_words words = words_of(&w, "10,20", "64,64,256");
    assert_true(tune_add_keys(&w.t, &w.space, &words, &keys));
    assert_int_equal(keys.len, 4);  // the same sizes once
    assert_string_equal(keys.at[0].text, "m=10 n=64");
    assert_string_equal(keys.at[3].text, "m=20 n=256");
    assert_int_equal(keys.at[3].words->len, 1);
    const int64_t sm_count[] = {10, 10, 10, 100};
    assert_int_equal(tune_survey(&w.t, &w.space, keys.at, keys.len, sm_count), PL_OK);
    assert_false(keys.at[0].estimates[2].is_valid);
    assert_true(keys.at[1].estimates[2].is_valid);
    assert_true(keys.at[1].estimates[2].cost == 2.0);
    assert_true(keys.at[3].estimates[2].cost == 0.4);
    assert_string_equal(keys.at[3].estimates[0].values.at[0].value, "20");
    tune_rank(&w.t, &w.space, &keys.at[1], 0);
    assert_int_equal(keys.at[1].chosen_count, 3);
    assert_int_equal(keys.at[1].chosen[0], 1);
    assert_int_equal(keys.at[1].chosen[1], 0);  // of equal ones the first
    tune_rank(&w.t, &w.space, &keys.at[3], 2);
    assert_int_equal(keys.at[3].chosen_count, 2);
    assert_int_equal(keys.at[3].chosen[0], 0);
    tune_words wrong = words_of(&w, "10,-1", "64");
    assert_false(tune_add_keys(&w.t, &w.space, &wrong, &keys));
    wrong.len = 1;
    wrong.at[0].value = "5";
    assert_false(tune_add_keys(&w.t, &w.space, &wrong, &keys));
    assert_int_equal(w.diags.shown_errors, 2);
    end(&w);
}

static void tables(void **state)
{
    (void)state;
    world w;
    begin(&w);
    int own = 0;
    const char *path = arena_printf(&w.a, "%s.tuned", w.path);
    tune_table table;
    assert_true(tune_table_read(&w.t, path, false, &table));
    int64_t sizes[][2] = {{20, 64}, {10, 256}, {20, 64}};
    static const char *const labels[] = {"t32", "t128", "t64"};
    for (int i = 0; i < 3; i++)
        tune_table_put(&w.t, &table, &(tune_row){.space = "sum", .label = labels[i], .sm_count = 132, .sizes = sizes[i], .size_count = 2});
    assert_true(tune_table_write(&w.t, &table));
    tune_table again;
    assert_true(tune_table_read(&w.t, path, true, &again));
    assert_int_equal(again.rows.len, 2);
    assert_string_equal(again.rows.at[0].label, "t128");  // sorted
    assert_string_equal(tune_table_find(&again, "sum", 132, sizes[0], 2)->label, "t64");
    assert_null(tune_table_find(&again, "sum", 131, sizes[0], 2));
    assert_int_equal(tune_table_check(&w.t, &w.space, &again, &own), PL_OK);
    assert_int_equal(own, 2);
    again.rows.at[0].sizes[1] = 100;
    assert_int_equal(tune_table_check(&w.t, &w.space, &again, &own), PL_ERRORS);
    assert_int_equal(w.diags.shown_errors, 1);
    unlink(path);
    end(&w);
}

static void texts_split(void **state)
{
    (void)state;
    arena a;
    int count = -1;
    arena_init(&a, NULL);
    const char *const *parts = tune_split(&a, "a,,b", ',', &count);
    assert_int_equal(count, 3);
    assert_string_equal(parts[1], "");
    assert_string_equal(parts[2], "b");
    tune_split(&a, "", ',', &count);
    assert_int_equal(count, 0);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions),
        cmocka_unit_test(keys_and_ranks),
        cmocka_unit_test(tables),
        cmocka_unit_test(texts_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
