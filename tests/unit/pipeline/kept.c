// Parsed modules that are kept: what later jobs parse again, that nothing else changes, and files that do.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "pipeline/job.h"

typedef struct fixture {
    arena memory;
    char folder[32];
    const char *main, *other;
    kept_modules *kept;
} fixture;

static const char main_text[] = "from hidet.lang import attrs, f32\n"
                                "from hidet.lang.cuda import threadIdx\n"
                                "import other\n"
                                "@hidet.script\n"
                                "def scale(x: f32[32]):\n"
                                "    attrs.cuda.grid_dim = 1\n"
                                "    attrs.cuda.block_dim = 32\n"
                                "    x[threadIdx.x] = x[threadIdx.x] * other.FACTOR\n";

static void write_file(fixture *f, const char *path, const char *text)
{
    const char *error;
    assert_true(file_write(&f->memory, path, str_of(text), &error));
}

static int set_up(void **state)
{
    static fixture f;
    f = (fixture){.folder = "/tmp/hds-kept-XXXXXX", .kept = kept_new()};
    arena_init(&f.memory, NULL);
    assert_non_null(mkdtemp(f.folder));
    f.main = arena_printf(&f.memory, "%s/main.hds", f.folder);
    f.other = arena_printf(&f.memory, "%s/other.hds", f.folder);
    write_file(&f, f.main, main_text);
    write_file(&f, f.other, "FACTOR = 2.0\n");
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    remove(f->main);
    remove(f->other);
    remove(f->folder);
    kept_free(f->kept);
    arena_free(&f->memory);
    return 0;
}

typedef struct outcome {
    pl_status status;
    const char *text;      // the CUDA text, and the messages
    size_t files, parsed;  // of the unit: all, and those that it parsed itself
} outcome;

// One compilation to CUDA text; in [a].
static outcome compile(fixture *f, arena *a, kept_modules *kept)
{
    const arch *archs[] = {arch_find(STR("sm_80"))};
    const pl_options options = {.input = f->main, .emit = PL_CU, .archs = archs, .arch_count = 1, .kept = kept};
    outcome out = {0};
    pl_job job;
    pl_job_init(&job, &options, NULL);
    out.status = pl_job_run(&job);
    pl_unit *u = &job.units[0];
    out.files = u->sources.files.len;
    for (size_t i = 0; i < out.files; i++)
        out.parsed += u->sources.files.at[i]->base < SRC_KEPT_BASE;
    str_buf text;
    str_buf_init(&text, a);
    str_add(&text, job.product.output);
    for (size_t i = 0; i < job.diags.all.len; i++)
        str_addf(&text, "%s\n", job.diags.all.at[i]->message);
    out.text = str_text(&text);
    pl_job_free(&job);
    return out;
}

static void parses_its_own_file_only(void **state)
{
    fixture *f = *state;
    outcome alone = compile(f, &f->memory, NULL), first = compile(f, &f->memory, f->kept);
    assert_int_equal(alone.status, PL_OK);
    assert_true(first.files > 3);
    assert_int_equal(first.parsed, first.files);
    assert_int_equal(kept_parsed(f->kept), 0);  // a single compilation pays nothing
    for (int i = 0; i < 3; i++) {
        outcome next = compile(f, &f->memory, f->kept);
        assert_int_equal(next.files, first.files);
        assert_int_equal(next.parsed, 1);
        assert_string_equal(next.text, alone.text);
        assert_int_equal(kept_parsed(f->kept), first.files - 1);
    }
}

// What comes later does not parse again what is there.
static void each_module_is_parsed_once(void **state)
{
    fixture *f = *state;
    outcome first = compile(f, &f->memory, f->kept);
    compile(f, &f->memory, f->kept);
    size_t before = kept_parsed(f->kept);
    assert_int_equal(before, first.files - 1);
    for (int i = 0; i < 4; i++) {
        static const char *const more[] = {"math", "warp", "testing", "mma"};
        const char *text = arena_printf(&f->memory, "import hidet.lang.%s\n%s", more[i], main_text);
        write_file(f, f->main, text);
        outcome alone = compile(f, &f->memory, NULL), next = compile(f, &f->memory, f->kept);
        assert_int_equal(alone.status, PL_OK);
        assert_string_equal(next.text, alone.text);
        compile(f, &f->memory, f->kept);
        assert_int_equal(kept_parsed(f->kept), before + next.parsed - 1); // those that this file was the first to import
        before = kept_parsed(f->kept);
        assert_int_equal(compile(f, &f->memory, f->kept).parsed, 1);
    }
    assert_true(before > first.files + 2);
}

static void a_changed_file_is_another_one(void **state)
{
    fixture *f = *state;
    compile(f, &f->memory, f->kept);
    compile(f, &f->memory, f->kept);
    write_file(f, f->other, "FACTOR = 3.0\n");
    outcome changed = compile(f, &f->memory, f->kept);
    assert_int_equal(changed.parsed, 2);
    assert_string_equal(changed.text, compile(f, &f->memory, NULL).text);
    assert_int_equal(compile(f, &f->memory, f->kept).parsed, 1);
}

// It would be parsed for each new state.
static void a_file_that_goes_on_changing_is_not_kept(void **state)
{
    fixture *f = *state;
    size_t parsed = 0;
    for (int i = 0; i < 12; i++) {
        write_file(f, f->other, arena_printf(&f->memory, "FACTOR = %d.5\n", i));
        outcome o = compile(f, &f->memory, f->kept);
        assert_string_equal(o.text, compile(f, &f->memory, NULL).text);
        if (i == 7)
            parsed = kept_parsed(f->kept);
    }
    assert_int_equal(kept_parsed(f->kept), parsed);
}

static void what_is_wrong_is_said_each_time(void **state)
{
    fixture *f = *state;
    write_file(f, f->other, "FACTOR = = 3.0\n");
    outcome alone = compile(f, &f->memory, NULL);
    assert_int_equal(alone.status, PL_ERRORS);
    for (int i = 0; i < 3; i++) {
        outcome next = compile(f, &f->memory, f->kept);
        assert_int_equal(next.status, PL_ERRORS);
        assert_string_equal(next.text, alone.text);
    }
}

static void *compile_many(void *user)
{
    fixture *f = user;
    arena memory;
    arena_init(&memory, NULL);
    const char *expected = compile(f, &memory, NULL).text;
    for (int i = 0; i < 8; i++)
        assert_string_equal(compile(f, &memory, f->kept).text, expected);
    arena_free(&memory);
    return NULL;
}

static void threads_share_them(void **state)
{
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compile_many, *state), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parses_its_own_file_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_module_is_parsed_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_changed_file_is_another_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_goes_on_changing_is_not_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_said_each_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_share_them, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
