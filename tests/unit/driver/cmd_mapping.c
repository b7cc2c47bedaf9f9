// The text of `hdsc mapping`, whole.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "driver/cmd_mapping.h"

static arena memory;

// repeat(2, 1) * spatial(2, 2) * repeat(1, 2)
static const tm_map *small_map(void)
{
    const tm_map *rounds = tm_repeat(&memory, 2, (int64_t[]){2, 1}, NULL, NULL, NULL);
    const tm_map *workers = tm_spatial(&memory, 2, (int64_t[]){2, 2}, NULL, NULL);
    const tm_map *pair = tm_repeat(&memory, 2, (int64_t[]){1, 2}, NULL, NULL, NULL);
    return tm_compose(&memory, tm_compose(&memory, rounds, workers, NULL), pair, NULL);
}

static const char *shown(const tm_map *m, const tm_layout *l, cmd_mapping_options o, int status)
{
    str_buf out;
    str_buf_init(&out, &memory);
    assert_int_equal(cmd_mapping_show(m, l, &o, &out), status);
    return str_text(&out);
}

static void a_mapping(void **state)
{
    (void)state;
    assert_string_equal(shown(small_map(), NULL, (cmd_mapping_options){.table = true}, 0),
                        "mapping   repeat(2, 1) * spatial(2, 2) * repeat(1, 2)\n"
                        "shape     (4, 4)\n"
                        "workers   4\n"
                        "tasks     4 for each worker\n"
                        "does      every task, none twice\n"
                        "\n"
                        "T0: (0, 0) (0, 1) (2, 0) (2, 1)\n"
                        "T1: (0, 2) (0, 3) (2, 2) (2, 3)\n"
                        "T2: (1, 0) (1, 1) (3, 0) (3, 1)\n"
                        "T3: (1, 2) (1, 3) (3, 2) (3, 3)\n"
                        "\n"
                        "      0    1    2    3\n"
                        " 0 T0.0 T0.1 T1.0 T1.1\n"
                        " 1 T2.0 T2.1 T3.0 T3.1\n"
                        " 2 T0.2 T0.3 T1.2 T1.3\n"
                        " 3 T2.2 T2.3 T3.2 T3.3\n");
}

static void a_mapping_over_a_layout(void **state)
{
    (void)state;
    const tm_layout *l = tm_layout_strided(&memory, 2, (int64_t[]){4, 5}, (int64_t[]){32, 1}, NULL);
    assert_string_equal(shown(small_map(), l, (cmd_mapping_options){0}, 0),
                        "mapping   repeat(2, 1) * spatial(2, 2) * repeat(1, 2)\n"
                        "shape     (4, 4)\n"
                        "workers   4\n"
                        "tasks     4 for each worker\n"
                        "does      every task, none twice\n"
                        "\n"
                        "layout    strided_layout([4, 5], strides=[32, 1])\n"
                        "shape     (4, 5)\n"
                        "storage   101 elements\n"
                        "injective yes\n"
                        "of these  not task (0, 4), none twice\n"
                        "\n"
                        "bytes     widest          passes / ideal, single      passes / ideal, widest\n"
                        "1         2 (2 bytes)     4 / 4                       2 / 2\n"
                        "2         2 (4 bytes)     4 / 4                       2 / 2\n"
                        "4         2 (8 bytes)     8 / 4, worst x2             4 / 2, worst x2\n"
                        "8         2 (16 bytes)    8 / 4, worst x2             4 / 2, worst x2\n"
                        "16        1 (16 bytes)    8 / 4, worst x2             8 / 4, worst x2\n"
                        "\n"
                        "      0    1    2    3\n"
                        " 0 T0.0 T0.1 T1.0 T1.1\n"
                        " 1 T2.0 T2.1 T3.0 T3.1\n"
                        " 2 T0.2 T0.3 T1.2 T1.3\n"
                        " 3 T2.2 T2.3 T3.2 T3.3\n"
                        "\n"
                        "offsets\n"
                        "    0  1  2  3\n"
                        " 0  0  1  2  3\n"
                        " 1 32 33 34 35\n"
                        " 2 64 65 66 67\n"
                        " 3 96 97 98 99\n");
}

static void a_reduced_mapping(void **state)
{
    (void)state;
    const tm_map *m = tm_without(&memory, small_map(), 1, NULL);
    assert_string_equal(shown(m, NULL, (cmd_mapping_options){0}, 0),
                        "mapping   (repeat(2, 1) * spatial(2, 2)).without(1)\n"
                        "shape     (4,)\n"
                        "workers   4\n"
                        "tasks     2 for each worker\n"
                        "does      every task; task (0,) and others 2 times\n"
                        "\n"
                        "    0    1    2    3\n"
                        " T0.0 T2.0 T0.1 T2.1\n");
}

static void a_layout_and_its_picture(void **state)
{
    (void)state;
    str_buf svg;
    str_buf_init(&svg, &memory);
    const tm_layout *l = tm_layout_local(&memory, 2, (int64_t[]){1, 2}, NULL);
    assert_string_equal(shown(NULL, l, (cmd_mapping_options){.svg = &svg, .element_bytes = 8}, 0),
                        "layout    local_layout(1, 2)\n"
                        "shape     (1, 2)\n"
                        "storage   1 element\n"
                        "injective no: some elements share an offset\n"
                        "\n"
                        "offsets\n"
                        "   0 1\n"
                        " 0 0 0\n"
                        "\n"
                        "banks\n"
                        "   0 1\n"
                        " 0 0 0\n");
    assert_memory_equal(str_text(&svg), "<svg ", 5);
}

static void too_many_to_count(void **state)
{
    (void)state;
    const tm_map *m = tm_spatial(&memory, 1, (int64_t[]){(int64_t)1 << 40}, NULL, NULL);
    const tm_layout *l = tm_layout_row_major(&memory, 1, m->shape, NULL);
    const char *text = shown(m, l, (cmd_mapping_options){.element_bytes = 4, .table = true}, 0);
    assert_non_null(strstr(text, "(too many tasks to count bank conflicts)\n"));
    assert_non_null(strstr(text, "(the first 65536 tasks of 1099511627776)\n"));
}

static void that_do_not_fit(void **state)
{
    (void)state;
    const tm_layout *l = tm_layout_local(&memory, 1, (int64_t[]){4}, NULL);
    assert_string_equal(shown(small_map(), l, (cmd_mapping_options){0}, 1),
                        "the mapping has 2 dimensions, but the layout has 1\n");
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
        cmocka_unit_test(a_mapping),         cmocka_unit_test(a_mapping_over_a_layout),
        cmocka_unit_test(a_reduced_mapping), cmocka_unit_test(a_layout_and_its_picture),
        cmocka_unit_test(too_many_to_count), cmocka_unit_test(that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
