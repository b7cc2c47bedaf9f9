// Whole renderings. The messages are HDS0072 ("'%s' cannot be used as NVRTC: %s") and friends of the toolchain, which
// stand here for any error and any warning.
#include "golden.h"

#include <jansson.h>

static diag *error_at(fixture *f, src_span span, const char *text)
{
    return diag_report(&f->dx, HDS0074, span, text);
}

static diag *warn_at(fixture *f, src_span span, const char *text)
{
    return diag_report(&f->dx, HDS0075, span, text);
}

static void full_message(void **state)
{
    fixture *f = *state;
    src_file *a = add_source(f, "attention.hds", "copy_map = spatial(16, 8)\ndef main():\n    gemm[f16](x)\n");
    src_file *g = add_source(f, "gemm.hds", "def gemm():\n    for i, k in copy_map.on(threadIdx.x):\n        pass\n");
    diag *d = error_at(f, span_of(g, "copy_map", 1), "'copy_map' needs 128 workers");
    diag_under(d, "16 x %d spatial workers", 8);
    diag_label(d, span_of(g, "threadIdx.x", 1), "of %d threads", 96);
    diag_label(d, span_of(a, "spatial", 1), "made here");
    diag_note(d, span_of(a, "gemm", 1), "in gemm[f16, BM=64], instantiated");
    diag_note(d, (src_span){0, 0}, "the block has 96 threads");
    diag_help(d, "launch the kernel with %d threads", 128);
    diag_fix(d, span_of(g, "copy_map", 1), "small_map");
    assert_text(f, "gemm.hds:2:17: error[HDS0074]: the CUDA compiler rejects this: 'copy_map' needs 128 workers\n"
                   "    2 |     for i, k in copy_map.on(threadIdx.x):\n"
                   "      |                 ^^^^^^^^ 16 x 8 spatial workers\n"
                   "      |                             ----------- of 96 threads\n"
                   "  at attention.hds:1\n"
                   "    1 | copy_map = spatial(16, 8)\n"
                   "      |            ------- made here\n"
                   "  note: in gemm[f16, BM=64], instantiated at attention.hds:3:5\n"
                   "  note: the block has 96 threads\n"
                   "  help: launch the kernel with 128 threads\n"
                   "  fix: replace by 'small_map'\n");
}

static void fixes_and_here(void **state)
{
    fixture *f = *state;
    src_file *a = add_source(f, "a.hds", "x = y z\nw = 1\n");
    diag *d = error_at(f, span_of(a, "z", 1), "q");
    diag_note(d, span_of(a, "w", 1), "'w' is declared here");
    diag_fix(d, (src_span){a->base + 5, a->base + 5}, " +\n");
    diag_fix(d, span_of(a, "z", 1), "");
    diag_fix(d, span_of(a, "w", 1), "v");
    assert_text(f, "a.hds:1:7: error[HDS0074]: the CUDA compiler rejects this: q\n"
                   "    1 | x = y z\n"
                   "      |       ^\n"
                   "  note: 'w' is declared at a.hds:2:1\n"
                   "  fix: insert ' +\\n' at a.hds:1:6\n"
                   "  fix: delete 'z'\n"
                   "  fix: replace by 'v' at a.hds:2:1\n");
}

static void odd_text(void **state)
{
    fixture *f = *state;
    // A tab, wide characters, a combining accent, an escape sequence, a lone continuation byte, a bidi override.
    src_file *a =
        add_source(f, "a.hds", "\tx = '\xe6\xbc\xa2\xe5\xad\x97' + bad\ne\xcc\x81 = \x1b[31m \x80 \xe2\x80\xae bad\n");
    error_at(f, span_of(a, "bad", 1), "1");
    error_at(f, span_of(a, "\xe5\xad\x97", 1), "2\nsecond line \x07");
    error_at(f, span_of(a, "bad", 2), "3");
    error_at(f, span_of(a, "\x80", 2), "4");
    assert_text(f, "a.hds:1:10: error[HDS0074]: the CUDA compiler rejects this: 2\n"
                   "    second line \\x07\n"
                   "    1 |     x = '\xe6\xbc\xa2\xe5\xad\x97' + bad\n"
                   "      |            ^^\n"
                   "a.hds:1:17: error[HDS0074]: the CUDA compiler rejects this: 1\n"
                   "    1 |     x = '\xe6\xbc\xa2\xe5\xad\x97' + bad\n"
                   "      |                  ^^^\n"
                   "a.hds:2:16: error[HDS0074]: the CUDA compiler rejects this: 4\n"
                   "    2 | e\xcc\x81 = \\x1B[31m \\x80 \\xE2\\x80\\xAE bad\n"
                   "      |                   ^^^^^^^^^^^^\n"
                   "a.hds:2:19: error[HDS0074]: the CUDA compiler rejects this: 3\n"
                   "    2 | e\xcc\x81 = \\x1B[31m \\x80 \\xE2\\x80\\xAE bad\n"
                   "      |                                ^^^\n");
}

static void ends_and_lines(void **state)
{
    fixture *f = *state;
    src_file *a = add_source(f, "a.hds", "def f(\n    x,\n    y)\n");
    error_at(f, (src_span){a->base + 5, a->base + 20}, "over lines");
    error_at(f, (src_span){a->base + 6, a->base + 7}, "at the line's end");
    error_at(f, (src_span){a->base + 21, a->base + 21}, "at the file's end");
    error_at(f, (src_span){0, 0}, "nowhere");
    assert_text(f, "a.hds:1:6: error[HDS0074]: the CUDA compiler rejects this: over lines\n"
                   "    1 | def f(\n"
                   "      |      ^\n"
                   "a.hds:1:7: error[HDS0074]: the CUDA compiler rejects this: at the line's end\n"
                   "    1 | def f(\n"
                   "      |       ^\n"
                   "a.hds:4:1: error[HDS0074]: the CUDA compiler rejects this: at the file's end\n"
                   "    4 |\n"
                   "      | ^\n"
                   "error[HDS0074]: the CUDA compiler rejects this: nowhere\n");
}

static void long_lines(void **state)
{
    fixture *f = *state;
    enum { LEN = 1 << 20 };
    char *text = arena_alloc(&f->arena, LEN + 1);
    memset(text, 'a', LEN);
    memcpy(text + LEN / 2, "HERE", 4);
    src_file *a = add_source(f, "a.hds", text);
    error_at(f, span_of(a, "HERE", 1), "q");
    assert_string_equal(text_of(f, (diag_style){.width = 50}),
                        "a.hds:1:524289: error[HDS0074]: the CUDA compiler rejects this: q\n"
                        "    1 | ...aaaaaaaaaaaaaaaaaaHEREaaaaaaaaaaaaaa...\n"
                        "      |                      ^^^^\n");
    assert_true(strlen(text_of(f, (diag_style){0})) < 600);
    // A mark that is itself longer than the line may be.
    error_at(f, (src_span){a->base, a->base + LEN}, "r");
    assert_true(strlen(text_of(f, (diag_style){.width = 100})) < 600);
}

static void order_and_repetition(void **state)
{
    fixture *f = *state;
    src_file *a = add_source(f, "a.hds", "a b\n"), *b = add_source(f, "b.hds", "a b\n");
    error_at(f, (src_span){0, 0}, "nowhere");
    error_at(f, span_of(b, "a", 1), "b.a");
    warn_at(f, span_of(a, "b", 1), "a.b first");
    error_at(f, span_of(a, "b", 1), "a.b second");
    error_at(f, span_of(a, "b", 1), "a.b second");
    error_at(f, span_of(a, "a", 1), "a.a");
    assert_text(f, "a.hds:1:1: error[HDS0074]: the CUDA compiler rejects this: a.a\n"
                   "    1 | a b\n"
                   "      | ^\n"
                   "a.hds:1:3: warning[HDS0075]: the CUDA compiler warns: a.b first\n"
                   "    1 | a b\n"
                   "      |   ^\n"
                   "a.hds:1:3: error[HDS0074]: the CUDA compiler rejects this: a.b second\n"
                   "    1 | a b\n"
                   "      |   ^\n"
                   "b.hds:1:1: error[HDS0074]: the CUDA compiler rejects this: b.a\n"
                   "    1 | a b\n"
                   "      | ^\n"
                   "error[HDS0074]: the CUDA compiler rejects this: nowhere\n");
    assert_int_equal(f->dx.error_count, 5);
    assert_int_equal(f->dx.shown_errors, 4);
    assert_string_equal(diag_summary(&f->dx), "4 errors, 1 warning");
}

static void color(void **state)
{
    fixture *f = *state;
    src_file *a = add_source(f, "a.hds", "x\n");
    diag *d = warn_at(f, span_of(a, "x", 1), "q");
    diag_under(d, "this");
    diag_help(d, "do that");
    assert_string_equal(
        text_of(f, (diag_style){.color = true}),
        "\033[1ma.hds:1:1: \033[1;35mwarning[HDS0075]:\033[0m\033[1m the CUDA compiler warns: q\033[0m\n"
        "\033[1;34m    1 |\033[0m x\n"
        "\033[1;34m      |\033[0m \033[1;35m^ this\033[0m\n"
        "\033[1;32m  help:\033[0m do that\n");
}

static void wide_gutter(void **state)
{
    fixture *f = *state;
    enum { LINES = 123456 };
    char *text = arena_alloc(&f->arena, LINES + 3);
    memset(text, '\n', LINES);
    strcpy(text + LINES, "x");
    src_file *a = add_source(f, "a.hds", text);
    error_at(f, span_of(a, "x", 1), "q");
    assert_text(f, "a.hds:123457:1: error[HDS0074]: the CUDA compiler rejects this: q\n"
                   "123457 | x\n"
                   "       | ^\n");
}

static void json(void **state)
{
    fixture *f = *state;
    src_file *a = add_source(f, "a.hds", "x = y\n");
    diag *d = error_at(f, span_of(a, "y", 1), "\"y\" \xff");
    diag_note(d, (src_span){0, 0}, "n");
    diag_fix(d, span_of(a, "y", 1), "z");
    warn_at(f, (src_span){0, 0}, "w");
    str_buf out;
    str_buf_init(&out, &f->arena);
    diag_render_json(&f->dx, &out);
    assert_string_equal(
        str_text(&out),
        "{\"diagnostics\": [\n"
        "{\"code\": \"HDS0074\", \"slug\": \"cuda-error\", \"severity\": \"error\", "
        "\"message\": \"the CUDA compiler rejects this: \\\"y\\\" \\\\xFF\", \"file\": \"a.hds\", \"line\": 1, "
        "\"column\": 5, \"end_line\": 1, \"end_column\": 6, \"label\": null, "
        "\"parts\": [{\"kind\": \"note\", \"message\": \"n\", \"file\": null, \"line\": null, \"column\": null, "
        "\"end_line\": null, \"end_column\": null}], "
        "\"fixes\": [{\"file\": \"a.hds\", \"line\": 1, \"column\": 5, \"end_line\": 1, \"end_column\": 6, "
        "\"text\": \"z\"}]},\n"
        "{\"code\": \"HDS0075\", \"slug\": \"cuda-warning\", \"severity\": \"warning\", "
        "\"message\": \"the CUDA compiler warns: w\", \"file\": null, \"line\": null, \"column\": null, "
        "\"end_line\": null, \"end_column\": null, \"label\": null, \"parts\": [], \"fixes\": []}\n"
        "]}\n");
    json_t *parsed = json_loads(str_text(&out), 0, NULL);
    assert_non_null(parsed);
    json_decref(parsed);
}

static void empty(void **state)
{
    fixture *f = *state;
    assert_text(f, "");
    str_buf out;
    str_buf_init(&out, &f->arena);
    diag_render_json(&f->dx, &out);
    assert_string_equal(str_text(&out), "{\"diagnostics\": []}\n");
    assert_string_equal(diag_summary(&f->dx), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(full_message),         TEST(fixes_and_here), TEST(odd_text),    TEST(ends_and_lines), TEST(long_lines),
        TEST(order_and_repetition), TEST(color),          TEST(wide_gutter), TEST(json),           TEST(empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
