// Text in canonical form, and the locations of its lines.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "pipeline/canonical.h"

static arena memory;

static int setup(void **state)
{
    (void)state;
    arena_init(&memory, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(&memory);
    return 0;
}

static const char text[] = "// made of a.hds\n"
                           "\n"
                           "#line 7 \"dir/a \\\"b\\\".hds\"\n"
                           "static int shared(); // a comment\n"
                           "\n"
                           "#line 20\n"
                           "void first(int n) {  /* n */\n"
                           "    n = \"//\" + '\\'' /* x */ + 1;\n"
                           "}\n"
                           "\n"
                           "#line 3 \"c.hds\"\n"
                           "void second() {}\n";

static const size_t parts[] = {0, 1}; // of each kernel

static cu_kernel_list kernels_of(cu_kernel_info info[2])
{
    size_t first = (size_t)(strstr(text, "#line 20") - text), second = (size_t)(strstr(text, "#line 3") - text);
    info[0] = (cu_kernel_info){.text_begin = first, .text_end = second};
    info[1] = (cu_kernel_info){.text_begin = second, .text_end = sizeof text - 1};
    return (cu_kernel_list){info, 2, 2};
}

static void leaves_out_what_says_where(void **state)
{
    (void)state;
    pl_canonical c;
    pl_line_numbers from;
    cu_kernel_info info[2];
    cu_kernel_list kernels = kernels_of(info);
    assert_true(pl_canonical_make(&memory, str_of(text), &kernels, &c));
    assert_string_equal(pl_canonical_text(&memory, &c, NULL, 0, &from).at, "static int shared();\n"
                                                                        "void first(int n) {\n"
                                                                        "n = \"//\" + '\\''   + 1;\n"
                                                                        "}\n"
                                                                        "void second() {}\n");
    assert_string_equal(pl_canonical_text(&memory, &c, parts, 1, &from).at, "static int shared();\nvoid second() {}\n");
    assert_int_equal(from.len, 2);
    assert_int_equal(from.at[1], 4);
}

static void gives_locations_back(void **state)
{
    (void)state;
    pl_canonical c;
    pl_line_numbers from;
    cu_kernel_info info[2];
    cu_kernel_list kernels = kernels_of(info);
    assert_true(pl_canonical_make(&memory, str_of(text), &kernels, &c));
    pl_canonical_text(&memory, &c, parts, 1, &from);
    str log = STR("kernel.cu(2): error: x\nptxas, line 9 of kernel.cu(1); kernel.cu(77): kernel.cu(x\n");
    str whole = pl_canonical_log_of_whole(&memory, &from, log);
    assert_string_equal(whole.at, "kernel.cu(5): error: x\nptxas, line 9 of kernel.cu(1); kernel.cu(77): kernel.cu(x\n");
    str source = pl_canonical_log_of_source(&memory, &c, whole);
    assert_string_equal(source.at,
                        "c.hds(3): error: x\nptxas, line 9 of dir/a \"b\".hds(7); kernel.cu(77): kernel.cu(x\n");
}

static void refuses_what_depends_on_lines(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "int a = __LINE__;\n", "const char *f = __FILE__;\n", "/* over\n two */ int a;\n", "auto s = R\"(//)\";\n",
        "#define A 1 \\\n  // more\n", "int a; // goes on \\\n still\n",
    };
    pl_canonical c;
    const cu_kernel_list none = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(pl_canonical_make(&memory, str_of(texts[i]), &none, &c));
    assert_true(pl_canonical_make(&memory, STR("#define A(x) \\\n    x + 1\n"), &none, &c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(leaves_out_what_says_where, setup, teardown),
        cmocka_unit_test_setup_teardown(gives_locations_back, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_what_depends_on_lines, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
