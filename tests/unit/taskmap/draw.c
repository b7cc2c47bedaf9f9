// Pictures: small text grids whole, what is cut, and SVG files that are well formed and say the right things.

#include "parse.h"
#include "taskmap/draw.h"

static arena memory;

static const char *text_of(const char *map, const char *layout, tm_draw_options options)
{
    str_buf out;
    str_buf_init(&out, &memory);
    tm_draw_text(map ? map_of(&memory, map) : NULL, layout ? layout_of(&memory, layout) : NULL, &options, &out);
    return str_text(&out);
}

static const char *svg_of(const char *map, const char *layout, int element_bytes)
{
    str_buf out;
    str_buf_init(&out, &memory);
    tm_draw_options options = {.element_bytes = element_bytes};
    tm_draw_svg(map ? map_of(&memory, map) : NULL, layout ? layout_of(&memory, layout) : NULL, &options, &out);
    return str_text(&out);
}

static void text_of_a_mapping(void **state)
{
    (void)state;
    assert_string_equal(text_of("spatial(2, 2) * repeat(1, 2)", NULL, (tm_draw_options){0}),
                        "      0    1    2    3\n"
                        " 0 T0.0 T0.1 T1.0 T1.1\n"
                        " 1 T2.0 T2.1 T3.0 T3.1\n");
    assert_string_equal(text_of("spatial(2) * repeat(2)", NULL, (tm_draw_options){0}), "    0    1    2    3\n"
                                                                                       " T0.0 T0.1 T1.0 T1.1\n");
    assert_string_equal(text_of("spatial(2, 1, 2)", NULL, (tm_draw_options){0}), "[0, :, :]\n"
                                                                                 "      0    1\n"
                                                                                 " 0 T0.0 T1.0\n"
                                                                                 "[1, :, :]\n"
                                                                                 "      0    1\n"
                                                                                 " 0 T2.0 T3.0\n");
    assert_string_equal(text_of("repeat()", NULL, (tm_draw_options){0}), "    0\n T0.0\n");
    assert_string_equal(text_of("repeat(2)", NULL, (tm_draw_options){.colours = true}),
                        "    0    1\n \x1b[38;5;33mT0.0\x1b[0m \x1b[38;5;33mT0.1\x1b[0m\n");
}

static void text_of_a_layout(void **state)
{
    (void)state;
    assert_string_equal(text_of(NULL, "row_major(2, 4).swizzle(1)", (tm_draw_options){0}), "offsets\n"
                                                                                           "   0 1 2 3\n"
                                                                                           " 0 0 1 2 3\n"
                                                                                           " 1 5 4 7 6\n");
    assert_string_equal(text_of("spatial(2, 1)", "row_major(2, 32)", (tm_draw_options){.element_bytes = 4}),
                        "      0\n"
                        " 0 T0.0\n"
                        " 1 T1.0\n"
                        "\noffsets\n"
                        "    0\n"
                        " 0  0\n"
                        " 1 32\n"
                        "\nbanks (4-byte elements, 1 at a time: 1 request in 2 passes, 1 without conflicts)\n"
                        "     0\n"
                        " 0 0x2\n"
                        " 1 0x2\n");
}

static void text_is_cut_with_a_note(void **state)
{
    (void)state;
    assert_string_equal(text_of("repeat(3, 100)", NULL, (tm_draw_options){.columns = 20, .rows = 2}),
                        "        0      1\n"
                        " 0   T0.0   T0.1\n"
                        " 1 T0.100 T0.101\n"
                        "(shown: 2 of 3 rows, 2 of 100 columns)\n");
    const char *huge = text_of("spatial(1048576, 1024) * repeat(1024, 1048576)", "row_major(1073741824, 1073741824)",
                               (tm_draw_options){.columns = 80, .rows = 3, .element_bytes = 2});
    assert_non_null(strstr(huge, "(shown: 3 of 1073741824 rows, "));
    assert_true(strlen(huge) < 2000);
    const char *slices = text_of("repeat(40, 2, 2)", NULL, (tm_draw_options){0});
    assert_non_null(strstr(slices, "(shown: 16 of 40 slices)"));
}

// Every tag is closed in order, every quote and entity ends.
static void check_well_formed(const char *svg)
{
    char open[20][16];
    int depth = 0;
    for (const char *at = svg; *at; at++) {
        if (*at == '&')
            assert_true(strncmp(at, "&amp;", 5) == 0 || strncmp(at, "&lt;", 4) == 0 || strncmp(at, "&gt;", 4) == 0 ||
                        strncmp(at, "&quot;", 6) == 0);
        if (*at != '<')
            continue;
        bool closes = *++at == '/';
        at += closes;
        size_t len = strcspn(at, " >/");
        assert_in_range(len, 1, 15);
        if (closes) {
            assert_true(depth > 0 && strncmp(open[--depth], at, len) == 0);
        } else {
            memcpy(open[depth], at, len);
            open[depth++][len] = '\0';
        }
        bool quoted = false;
        for (; *at && (quoted || *at != '>'); at++)
            quoted ^= *at == '"';
        assert_true(*at == '>' && !quoted);
        if (at[-1] == '/')
            depth--;
    }
    assert_int_equal(depth, 0);
}

static int count_of(const char *text, const char *what)
{
    int count = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        count++;
    return count;
}

static void svg_of_mappings(void **state)
{
    (void)state;
    const char *svg = svg_of("repeat(2, 1) * spatial(8, 4) * repeat(1, 2)", NULL, 0);
    check_well_formed(svg);
    assert_non_null(strstr(svg, ">repeat(2, 1) * spatial(8, 4) * repeat(1, 2)<"));
    assert_non_null(strstr(svg, ">32 workers, shape (16, 8), 4 tasks each<"));
    assert_int_equal(count_of(svg, "<rect"), 1 + 16 * 8);
    assert_int_equal(count_of(svg, ">T31.3<"), 1);
    svg = svg_of("repeat(4, attrs=\"u\")", NULL, 0);
    check_well_formed(svg);
    assert_non_null(strstr(svg, "repeat(4, attrs=&quot;u&quot;)"));
    svg = svg_of("spatial(2, 3, 4)", NULL, 0);
    check_well_formed(svg);
    assert_non_null(strstr(svg, ">[1, :, :]<"));
    svg = svg_of("spatial(4, 32).without(1)", NULL, 0);
    check_well_formed(svg);
    assert_non_null(strstr(svg, "each task is done 32 times"));
    check_well_formed(svg_of("repeat()", NULL, 0));
}

static void svg_with_banks(void **state)
{
    (void)state;
    const char *svg = svg_of("spatial(32, 1)", "row_major(32, 8)", 4);
    check_well_formed(svg);
    assert_non_null(strstr(svg, ">over row_major(32, 8)<"));
    assert_non_null(strstr(svg, "1 request in 8 passes, 1 without conflicts"));
    assert_int_equal(count_of(svg, "class=\"clash\""), 32);
    assert_int_equal(count_of(svg, ">x8<"), 32);
    svg = svg_of("spatial(32, 1)", "row_major(32, 8).xor(3, 0, 5)", 4);
    check_well_formed(svg);
    svg = svg_of(NULL, "row_major(4, 4)", 0);
    check_well_formed(svg);
    assert_non_null(strstr(svg, ">shape (4, 4), 16 elements of storage<"));
}

static void svg_of_large_ones(void **state)
{
    (void)state;
    const char *svg = svg_of("spatial(64, 4) * repeat(4, 128)", "row_major(256, 512)", 2);
    check_well_formed(svg);
    assert_non_null(strstr(svg, "first 256 of 512 columns"));
    assert_null(strstr(svg, ">T0.0<"));
    check_well_formed(svg_of("spatial(1048576, 1024) * repeat(1024, 1048576)", "row_major(1073741824, 1073741824)", 2));
}

static void pictures_are_the_same_each_time(void **state)
{
    (void)state;
    const char *one = svg_of("col_spatial(8, 8) * repeat(2, 2)", "row_major(16, 16).swizzle(1)", 4);
    arena_alloc(&memory, 12345);
    assert_string_equal(one, svg_of("col_spatial(8, 8) * repeat(2, 2)", "row_major(16, 16).swizzle(1)", 4));
}

static int set_up(void **state)
{
    (void)state;
    arena_init(&memory, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(&memory);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_of_a_mapping),
        cmocka_unit_test(text_of_a_layout),
        cmocka_unit_test(text_is_cut_with_a_note),
        cmocka_unit_test(svg_of_mappings),
        cmocka_unit_test(svg_with_banks),
        cmocka_unit_test(svg_of_large_ones),
        cmocka_unit_test(pictures_are_the_same_each_time),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
