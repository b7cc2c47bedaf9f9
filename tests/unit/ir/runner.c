// The pass runner: order, names, dumps, stopping, timing, and who is blamed for what breaks.
#include "fixture.h"

static const char sample[] = "module \"m\" sm_90\n"
                             "public device @f(A: f32[8] global layout row_major(8) storage 8) {\n"
                             "    for i: i32 in 0 to 2 unroll_full {\n"
                             "        A[i] = 1.0\n"
                             "    }\n"
                             "    let unused: i32 = 3\n"
                             "}\n";

typedef struct run {
    fixture f;
    ir_pass_options options;
    str_buf dump;
    ir_pass_context px;
} run;

static void run_init(run *r, const char *text)
{
    *r = (run){0};
    fixture_init(&r->f);
    str_buf_init(&r->dump, &r->f.arena);
    r->options.verify_each = r->options.wide_access = true;
    r->options.dump_out = &r->dump;
    r->px.module = fixture_read(&r->f, text);
    r->px.scratch = &r->f.scratch;
    r->px.diags = &r->f.diags;
    r->px.options = &r->options;
    assert_non_null(r->px.module);
}

static void passes_are_found(void **state)
{
    (void)state;
    int count = 0;
    for (const ir_pass *p; (p = ir_pass_at(count)); count++) {
        assert_non_null(ir_pass_find(p->name));
        assert_true(*p->summary != '\0');
    }
    assert_true(count >= 8);
    assert_null(ir_pass_at(-1));
    assert_null(ir_pass_find("no-such-pass"));
    assert_string_equal(ir_pass_at(count - 1)->name, "dce");
}

static void the_pipeline_lowers(void **state)
{
    (void)state;
    run r;
    run_init(&r, sample);
    assert_true(ir_run_pipeline(&r.px));
    assert_true(r.px.module->is_low);
    const char *text = fixture_print(&r.f, r.px.module);
    assert_non_null(strstr(text, "module \"m\" sm_90 low"));
    assert_non_null(strstr(text, "    A[+0] = 1.0\n    A[+1] = 1.0\n}\n"));
    assert_int_equal(r.dump.len, 0);
    double end = 0;
    for (size_t i = 0; i < r.px.times.len; i++) {
        assert_string_equal(r.px.times.at[i].name, ir_pass_at((int)i)->name);
        assert_true(r.px.times.at[i].start_us >= end && r.px.times.at[i].duration_us >= 0);
        end = r.px.times.at[i].start_us + r.px.times.at[i].duration_us;
    }
    assert_null(ir_pass_at((int)r.px.times.len));
    fixture_free(&r.f);
}

static void all_is_dumped(void **state)
{
    (void)state;
    run r;
    run_init(&r, sample);
    r.options.dump = "all";
    assert_true(ir_run_pipeline(&r.px));
    const char *text = str_text(&r.dump);
    assert_non_null(strstr(text, "; ---- input\nmodule \"m\" sm_90\n"));
    assert_non_null(strstr(text, "; ---- after unroll\nmodule \"m\" sm_90\n"));
    assert_non_null(strstr(text, "; ---- after lower-tasks (unchanged)\n\n; ----"));
    fixture_free(&r.f);
}

static void one_dump_reads_back(void **state)
{
    (void)state;
    run r;
    run_init(&r, sample);
    r.options.dump = r.options.stop_after = "unroll";
    assert_true(ir_run_pipeline(&r.px));
    assert_false(r.px.module->is_low);
    assert_string_equal(VEC_LAST(&r.px.times).name, "unroll");
    ir_module *again = fixture_read(&r.f, arena_strdup(&r.f.arena, str_text(&r.dump)));
    assert_non_null(again);
    assert_string_equal(fixture_print(&r.f, again), fixture_print(&r.f, r.px.module));
    fixture_free(&r.f);
}

static bool break_something(ir_pass_context *px)
{
    px->module->funcs.at[0]->body.stmts.at[1]->value = ir_float(px->module, DT_F32, 1.0);
    px->changed = true;
    return true;
}

static bool fail_with_a_message(ir_pass_context *px)
{
    diag_report(px->diags, HDS0404, (src_span){0}, "x");
    return false;
}

static void the_guilty_pass_is_named(void **state)
{
    (void)state;
    run r;
    run_init(&r, sample);
    assert_false(ir_run_pass(&r.px, &(ir_pass){"break-something", break_something, ""}));
    assert_non_null(strstr(fixture_messages(&r.f), "IR is broken after pass 'break-something', in 'f': "
                                                   "the first value is of type i32, found f32"));
    r.options.verify_each = false;
    assert_true(ir_run_pass(&r.px, &(ir_pass){"break-something", break_something, ""}));
    assert_false(ir_run_pass(&r.px, &(ir_pass){"fail", fail_with_a_message, ""}));
    fixture_free(&r.f);
}

// A broken module does not get as far as the first pass.
static void input_is_checked(void **state)
{
    (void)state;
    run r;
    run_init(&r, "public device @f() {\nlet x: i32 = 1.0\n}\n");
    assert_false(ir_run_pipeline(&r.px));
    assert_int_equal(r.px.times.len, 0);
    assert_non_null(strstr(fixture_messages(&r.f), "IR is broken, in 'f'"));
    fixture_free(&r.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_are_found),    cmocka_unit_test(the_pipeline_lowers),
        cmocka_unit_test(all_is_dumped),       cmocka_unit_test(one_dump_reads_back),
        cmocka_unit_test(the_guilty_pass_is_named), cmocka_unit_test(input_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
