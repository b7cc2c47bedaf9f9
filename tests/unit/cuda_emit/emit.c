// What goldens do not show: what is reported, what launchers learn, that every operator and statement has a golden, and
// that the compiler's messages come out at the source's lines.
#include "nvrtc.h"

// ---- coverage of the IR -----------------------------------------------------------------------------------------

typedef struct seen {
    bool ops[IR_OP__COUNT], stmts[IR_STMT__COUNT];
} seen;

static void see_expr(seen *s, const ir_expr *e)
{
    s->ops[e->op] = true;
    for (int i = 0; i < e->arg_count; i++)
        see_expr(s, e->args[i]);
}

static void see_stmt(void *user, ir_stmt *stmt)
{
    seen *s = user;
    s->stmts[stmt->kind] = true;
    if (stmt->value)
        see_expr(s, stmt->value);
    for (int i = 0; i < stmt->arg_count; i++)
        see_expr(s, stmt->args[i]);
}

static void test_goldens_cover_the_ir(void **state)
{
    (void)state;
    seen s = {0};
    arena a;
    arena_init(&a, NULL);
    for (const char **name = golden_names(&a); *name; name++) {
        golden g;
        golden_emit(&g, *name, NULL);
        for (size_t i = 0; i < g.module->funcs.len; i++)
            ir_walk(&g.module->funcs.at[i]->body, see_stmt, &s);
        golden_free(&g);
    }
    for (int op = 0; op < IR_OP__COUNT; op++)
        if (!s.ops[op])
            fail_msg("no golden has the operator '%s'", ir_op_name((ir_op)op));
    for (int kind = 0; kind < IR_STMT__COUNT; kind++)
        if (!s.stmts[kind] && kind != IR_TASKS)
            fail_msg("no golden has a '%s'", ir_stmt_name((ir_stmt_kind)kind));
    arena_free(&a);
}

// ---- what launchers learn ---------------------------------------------------------------------------------------

static const char kernels_text[] =
    "module \"k\" sm_90 low\n"
    "device @twice(x: i32) -> i32 {\n  return x * 2\n}\n"
    "public kernel @exp(n: i32) grid 1, 1, 1 block 32, 8, 1 min_blocks 3 cluster 2, 1, 1 static_smem 128 pool 4096 {\n"
    "}\n"
    "public kernel @any_block(n: i32) grid 1, 1, 1 block @twice(n), 1, 1 {\n"
    "}\n";

static void test_kernel_list(void **state)
{
    (void)state;
    golden g;
    golden_read(&g, "kernels", str_of(kernels_text), NULL);
    assert_true(cu_emit(g.module, &g.options, &g.text));
    assert_int_equal(g.kernels.len, 2);
    const cu_kernel_info *exp = &g.kernels.at[0], *any = &g.kernels.at[1];
    assert_string_equal(exp->symbol, "exp_1");
    assert_non_null(strstr(str_text(&g.text), "__launch_bounds__(256, 3) __cluster_dims__(2, 1, 1) exp_1(int n)"));
    assert_int_equal(exp->max_threads, 256);
    assert_int_equal(exp->min_blocks, 3);
    assert_int_equal(exp->cluster[0], 2);
    assert_int_equal(exp->static_smem_bytes, 128);
    assert_int_equal(exp->dynamic_smem_bytes, 4096);
    assert_int_equal(any->max_threads, 0);
    assert_int_equal(any->cluster[0], 0);
    golden_free(&g);
}

// ---- dry runs ---------------------------------------------------------------------------------------------------

// What launchers learn is the same, and nothing is written.
static void test_dry_runs(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, NULL);
    cu_dry_run dry_runs[2] = {{.memory = &a}, {.memory = &a}};
    for (const char **name = golden_names(&a); *name; name++) {
        golden g;
        golden_emit(&g, *name, NULL);
        cu_kernel_list of_text = g.kernels;
        g.kernels = (cu_kernel_list){0};
        g.text.len = 0;
        cu_dry_run own = {.memory = &a};
        bool is_sm_90 = strcmp(g.module->arch->name, "sm_90") == 0; // what they share belongs to one architecture
        g.options.dry_run = is_sm_90 ? &dry_runs[g.options.host] : &own;
        assert_true(cu_emit(g.module, &g.options, &g.text));
        assert_int_equal(g.text.len, 0);
        assert_int_equal(g.kernels.len, of_text.len);
        for (size_t i = 0; i < of_text.len; i++) {
            assert_ptr_equal(g.kernels.at[i].func, of_text.at[i].func);
            assert_int_equal(g.kernels.at[i].max_threads, of_text.at[i].max_threads);
            assert_int_equal(g.kernels.at[i].min_blocks, of_text.at[i].min_blocks);
            assert_int_equal(g.kernels.at[i].static_smem_bytes, of_text.at[i].static_smem_bytes);
        }
        golden_free(&g);
    }
    arena_free(&a);
}

// ---- what is reported -------------------------------------------------------------------------------------------

static void expect_report_of(const char *name, const char *text, bool host, bool is_dry, diag_code code)
{
    golden g;
    golden_read(&g, name, str_of(text), NULL);
    g.options.host = host;
    cu_dry_run dry_run = {.memory = &g.arena};
    g.options.dry_run = is_dry ? &dry_run : NULL;
    assert_false(cu_emit(g.module, &g.options, &g.text));
    assert_int_equal(g.text.len, 0);
    assert_int_equal(g.diags.all.len, 1);
    assert_int_equal(g.diags.all.at[0]->code, code);
    golden_free(&g);
}

static void expect_report(const char *name, const char *text, bool host, diag_code code)
{
    for (int is_dry = 0; is_dry < 2; is_dry++)
        expect_report_of(name, text, host, is_dry, code);
}

static void test_high_level_ir_is_refused(void **state)
{
    (void)state;
    const char *head = "module \"m\" sm_90\npublic kernel @k(x: f32 [8, 8] global layout row_major(8, 8)) grid 1, 1, 1 "
                       "block 8, 1, 1 {\n";
    static const char *const bodies[] = {
        "x[1, 2] = 0.0\n",
        "x[guarded +tid.x] = 0.0\n",
        "let a: f32 = x[tid.x, 2 else 0.0]\nx[+a] = a\n",
        "tasks i: i32 in spatial(8) on tid.x {\nx[+i] = 1.0\n}\n",
        "alloc r: f32 [8] register map spatial(8) worker tid.x\nr[+0] = 1.0\nx[+0] = r[+0]\n",
        "alloc s: f32 [8] shared layout row_major(8) storage 8 = 1.0\nx[+0] = s[+0]\n",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        // Some of these the verifier would refuse too.
        if (i == 1 || i == 2)
            continue;
        arena a;
        arena_init(&a, NULL);
        expect_report("high", arena_printf(&a, "%s%s}\n", head, bodies[i]), false, HDS0470);
        arena_free(&a);
    }
}

static void test_narrow_floats_stay_on_the_device(void **state)
{
    (void)state;
    expect_report("narrow", "module \"m\" sm_90 low\npublic host @run(a: f16) -> f16 {\n  return a + a\n}\n", true,
                  HDS0471);
}

static void test_device_work_needs_an_error_to_return(void **state)
{
    (void)state;
    expect_report("work",
                  "module \"m\" sm_90 low\npublic kernel @k() grid 1, 1, 1 block 1, 1, 1 {\n}\n"
                  "public host @run() -> i32 {\n  launch @k()\n  return 1\n}\n",
                  true, HDS0470);
}

// ---- lines ------------------------------------------------------------------------------------------------------

static const char lines_text[] =
    "module \"m\" sm_90 low\n"                                                                // 1
    "intrin nonsense { cuda \"undeclared_function({x})\" effects volatile operand x: i32 }\n" // 2
    "public kernel @k(x: i32 [n] global strides(1), n: i32) grid 1, 1, 1 block 1, 1, 1 {\n"   // 3
    "  let a: i32 = x[+0]\n"                                                                  // 4
    "\n"                                                                                      // 5
    "\n"                                                                                      // 6
    "  for i: i32 in 0 to n unroll {\n"                                                       // 7
    "    x[+i] = a\n"                                                                         // 8
    "\n"                                                                                      // 9
    "    !nonsense(i)\n"                                                                      // 10
    "  }\n"                                                                                   // 11
    "  if n > 2 { x[+0] = 1 } else if n > 3 { !nonsense(n) }\n"                               // 12
    "  if n > 4 { x[+0] = 1\n"                                                                // 13
    "  } else if n > 3 { !nonsense(5)\n"                                                      // 14
    "  }\n"
    "}\n";

static void test_errors_come_at_source_lines(void **state)
{
    (void)state;
    nvrtc n;
    if (!nvrtc_open(&n))
        skip();
    golden g;
    golden_read(&g, "lines", str_of(lines_text), NULL);
    g.options.lines = true;
    assert_true(cu_emit(g.module, &g.options, &g.text));
    void *program = NULL;
    assert_int_equal(n.create(&program, str_text(&g.text), "program", 0, NULL, NULL), 0);
    const char *options[] = {"--gpu-architecture=sm_90"};
    assert_int_not_equal(n.compile(program, 1, options), 0);
    size_t size = 0;
    n.log_size(program, &size);
    char *log = arena_alloc(&g.arena, size + 1);
    n.log(program, log);
    n.destroy(&program);
    static const char *const wanted[] = {"lines.hir(10): error", "lines.hir(12): error", "lines.hir(14): error"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(log, wanted[i]))
            fail_msg("expected '%s' in\n%s\nfrom\n%s", wanted[i], log, str_text(&g.text));
    golden_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens_cover_the_ir),
        cmocka_unit_test(test_kernel_list),
        cmocka_unit_test(test_dry_runs),
        cmocka_unit_test(test_high_level_ir_is_refused),
        cmocka_unit_test(test_narrow_floats_stay_on_the_device),
        cmocka_unit_test(test_device_work_needs_an_error_to_return),
        cmocka_unit_test(test_errors_come_at_source_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
