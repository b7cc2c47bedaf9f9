// C text of whole modules. golden_c/NAME.hir, or NAME.ARCH.hir for each of several architectures, gives NAME.h and NAME.c.
// HDS_UPDATE_GOLDENS=1 writes what comes out instead of comparing; read the difference.
#include "cuda_emit/c.h"

#include "golden.h"

enum { MOST_UNITS = 4 };

typedef struct text {
    arena arena;
    golden units[MOST_UNITS];
    cu_c_unit of[MOST_UNITS];
    cu_c_options options;
    str_buf header, source;
} text;

static void add_unit(text *t, const char *name, str ir)
{
    golden *g = &t->units[t->options.unit_count];
    str_buf cuda;
    golden_read(g, name, ir, NULL);
    str_buf_init(&cuda, &g->arena);
    if (!cu_emit(g->module, &g->options, &cuda))
        golden_fail(g, name);
    t->of[t->options.unit_count++] = (cu_c_unit){g->module, &g->kernels};
}

static void begin(text *t, const char *name)
{
    memset(t, 0, sizeof *t);
    arena_init(&t->arena, NULL);
    t->options = (cu_c_options){.units = t->of,
                                .ptx_unit = -1,
                                .image = STR("0123456789"),
                                .prefix = "",
                                .header_name = arena_printf(&t->arena, "%s.h", name),
                                .compiler = "hdsc 1.2.3",
                                .source_name = arena_printf(&t->arena, "%s.hds", name),
                                .flags = "-D N=4",
                                .arena = &t->arena};
}

static bool emit(text *t)
{
    str_buf_init(&t->header, &t->arena);
    str_buf_init(&t->source, &t->arena);
    t->options.diags = &t->units[0].diags;
    return cu_emit_c_header(&t->options, &t->header) && cu_emit_c_source(&t->options, &t->source);
}

static void end(text *t)
{
    for (int i = 0; i < t->options.unit_count; i++)
        golden_free(&t->units[i]);
    arena_free(&t->arena);
}

// ---- goldens ----------------------------------------------------------------------------------------------------

static const char *path_of(arena *a, const char *name)
{
    return file_join(a, file_join(a, HDS_TEST_FOLDER, "golden_c"), name);
}

static void compare(text *t, const char *name, const str_buf *made)
{
    const char *path = path_of(&t->arena, name), *error;
    str is = {made->at, made->len}, expected;
    if (getenv("HDS_UPDATE_GOLDENS"))
        assert_true(file_write(&t->arena, path, is, &error));
    else if (!file_read(&t->arena, path, &expected, &error))
        fail_msg("%s: %s", path, error);
    else if (!str_equal(is, expected))
        fail_msg("%s differs; it is now:\n%s", path, is.at);
}

static void check_golden(const char *name, const char *const *files)
{
    text t, again;
    text *both[] = {&t, &again};
    for (int k = 0; k < 2; k++) {
        begin(both[k], name);
        for (const char *const *file = files; *file; file++) {
            str ir;
            const char *error, *path = path_of(&both[k]->arena, *file);
            if (!file_read(&both[k]->arena, path, &ir, &error))
                fail_msg("%s: %s", path, error);
            add_unit(both[k], name, ir);
        }
        if (!emit(both[k]))
            for (int u = 0; u < both[k]->options.unit_count; u++)
                if (both[k]->units[u].diags.all.len)
                    golden_fail(&both[k]->units[u], name);
    }
    assert_string_equal(str_text(&t.source), str_text(&again.source));
    compare(&t, arena_printf(&t.arena, "%s.h", name), &t.header);
    compare(&t, arena_printf(&t.arena, "%s.c", name), &t.source);
    end(&t);
    end(&again);
}

static void test_goldens(void **state)
{
    (void)state;
    check_golden("kernels", (const char *const[]){"kernels.hir", NULL});
    check_golden("host", (const char *const[]){"host.hir", NULL});
    check_golden("variants", (const char *const[]){"variants.sm_80.hir", "variants.sm_90a.hir", NULL});
}

// ---- what is asked for --------------------------------------------------------------------------------------------

static const char one_kernel[] = "module \"k\" sm_90 low\n"
                                 "public kernel @%s(x: f32 [4] global layout row_major(4)) grid 1, 1, 1 block 32, 1, 1 {\n"
                                 "x[+0] = 0.0\n}\n";

static void test_options(void **state)
{
    (void)state;
    text t;
    begin(&t, "k");
    add_unit(&t, "k", str_of(arena_printf(&t.arena, one_kernel, "exp")));
    t.options.prefix = "my_";
    t.options.image_symbol = "the_image";
    t.options.ptx_unit = 0;
    t.options.header_name = "sub/9-k.h";
    assert_true(emit(&t));
    const char *c = str_text(&t.source), *h = str_text(&t.header);
    assert_non_null(strstr(h, "#ifndef MY_SUB_9_K_H\n#define MY_SUB_9_K_H\n"));
    assert_non_null(strstr(h, "hdsrt_status my_exp(float *x, hdsrt_stream stream);"));
    assert_non_null(strstr(c, "#include \"sub/9-k.h\""));
    assert_non_null(strstr(c, "extern const uint64_t the_image[];"));
    assert_non_null(strstr(c, ".image = the_image,\n    .image_bytes = 10,"));
    assert_non_null(strstr(c, ".ptx_arch = 0,"));
    assert_non_null(strstr(c, ".symbol = \"exp_1\","));
    end(&t);
}

// ---- what is refused ------------------------------------------------------------------------------------------------

static void expect(const char *ir, const char *other, diag_code code)
{
    text t;
    begin(&t, "k");
    add_unit(&t, "k", str_of(ir));
    if (other)
        add_unit(&t, "k", str_of(other));
    assert_false(emit(&t));
    int found = 0;
    for (int u = 0; u < t.options.unit_count; u++)
        for (size_t i = 0; i < t.units[u].diags.all.len; i++)
            found += t.units[u].diags.all.at[i]->code == code;
    if (found != 1)
        golden_fail(&t.units[t.options.unit_count - 1], ir);
    end(&t);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const taken[] = {"exp",   "expf",     "read",      "printf", "hdsrt_launch", "hds_kernel_k",
                                        "class", "int32_t",  "_Big",      "__x",    "nullptr",      "typeof",
                                        "errno", "restrict", "I",         "malloc", "y0",           "sinl",
                                        "std",   "nullptr_t"};
    static const char *const fine[] = {"copy", "fill", "transpose", "reads", "exponent", "f16", "vec", "image", "x_args"};
    arena a;
    arena_init(&a, NULL);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        expect(arena_printf(&a, one_kernel, arena_printf(&a, "`%s`", taken[i])), NULL, HDS0701);
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        text t;
        begin(&t, "k");
        add_unit(&t, "k", str_of(arena_printf(&t.arena, one_kernel, fine[i])));
        if (!emit(&t))
            golden_fail(&t.units[0], fine[i]);
        end(&t);
    }
    expect("module \"k\" sm_90 low\npublic kernel @k() grid 1, 1, 1 block 1, 1, 1 {\n}\n"
           "public kernel @k_call() grid 1, 1, 1 block 1, 1, 1 {\n}\n", NULL, HDS0701);
    arena_free(&a);
}

static void test_architectures_that_differ(void **state)
{
    (void)state;
    expect("module \"k\" sm_80 low\npublic kernel @k(n: i32) grid 1, 1, 1 block 1, 1, 1 {\n}\n",
           "module \"k\" sm_90 low\npublic kernel @k(n: i64) grid 1, 1, 1 block 1, 1, 1 {\n}\n", HDS0702);
    expect("module \"k\" sm_80 low\npublic host @k() -> i32 {\nreturn 1\n}\n",
           "module \"k\" sm_90 low\npublic host @k() -> i32 {\nreturn 2\n}\n", HDS0704);
}

static void test_what_c_cannot_say(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "(a: f32) -> f32 {\nreturn !rsqrt(a)\n}\n",
        "(a: f32) -> i32 {\nreturn tid.x\n}\n",
        "(a: f32x4) -> f32 {\nreturn lane[0](a + a)\n}\n",
        "(a: complex64) -> complex64 {\nreturn a\n}\n",
    };
    arena a;
    arena_init(&a, NULL);
    const char *head = "module \"k\" sm_90 low\nintrin rsqrt { cuda \"rsqrtf({x})\" operand x: f32 result f32 }\npublic host @k";
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        if (i == 1)
            continue; // the verifier sees it
        expect(arena_printf(&a, "%s%s", head, bodies[i]), NULL, HDS0700);
    }
    expect(arena_printf(&a, "%s(a: f16) -> f16 {\nreturn a + a\n}\n", head), NULL, HDS0471);
    expect(arena_printf(&a, "%s(a: i32) -> i32 {\nassert a > 0\nreturn a\n}\n", head), NULL, HDS0703);
    expect(arena_printf(&a, "module \"k\" sm_90 low\npublic kernel @g() grid 1, 1, 1 block 1, 1, 1 {\n}\n"
                            "public host @k() -> i32 {\nlaunch @g()\nreturn 1\n}\n"), NULL, HDS0703);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_architectures_that_differ),
        cmocka_unit_test(test_what_c_cannot_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
