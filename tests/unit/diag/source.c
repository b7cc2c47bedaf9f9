#include "golden.h"

static void locations(void **state)
{
    fixture *f = *state;
    src_file *a = add_source(f, "a.hds", "one\ntwo\r\nthree\rfour");
    src_file *b = add_source(f, "b.hds", "");
    src_file *c = add_source(f, "c.hds", "x\n");
    static const struct {
        uint32_t offset, line, column;
    } table[] = {{0, 1, 1}, {3, 1, 4}, {4, 2, 1}, {7, 2, 4}, {8, 2, 5}, {9, 3, 1}, {14, 3, 6}, {15, 4, 1}, {19, 4, 5}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        src_location location = src_location_of(&f->sources, a->base + table[i].offset);
        assert_ptr_equal(location.file, a);
        assert_int_equal(location.line, table[i].line);
        assert_int_equal(location.column, table[i].column);
    }
    assert_ptr_equal(src_file_at(&f->sources, b->base), b);
    assert_int_equal(src_location_of(&f->sources, b->base).line, 1);
    assert_int_equal(src_location_of(&f->sources, c->base + 2).line, 2);
    assert_null(src_location_of(&f->sources, 0).file);
    assert_null(src_file_at(&f->sources, c->base + 3));
    assert_true(str_equal(src_line(&f->sources, a, 2), STR("two")));
    assert_true(str_equal(src_line(&f->sources, a, 4), STR("four")));
    assert_true(str_equal(src_line(&f->sources, a, 5), STR("")));
    assert_true(str_equal(src_line(&f->sources, a, 0), STR("")));
    assert_true(str_equal(src_line(&f->sources, b, 1), STR("")));
}

static void no_files(void **state)
{
    fixture *f = *state;
    assert_null(src_file_at(&f->sources, 1));
    assert_null(src_location_of(&f->sources, 1).file);
}

static void full_map(void **state)
{
    fixture *f = *state;
    // The text is never read before somebody asks for a line.
    assert_non_null(src_add(&f->sources, "huge", (str){"", SRC_KEPT_BASE - 10}));
    assert_null(src_add(&f->sources, "more", (str){"", 100}));
    assert_non_null(src_add(&f->sources, "small", STR("abc")));
}

static void upper_half(void **state)
{
    fixture *f = *state;
    src_file *first = add_source(f, "a.hds", "one\ntwo");
    src_file *kept = src_add_at(&f->sources, "kept.hds", STR("x\ny"), SRC_KEPT_BASE + 100);
    src_file *last = add_source(f, "b.hds", "z");
    assert_int_equal(last->base, first->base + 8);
    assert_ptr_equal(src_file_at(&f->sources, last->base), last);
    assert_ptr_equal(src_file_at(&f->sources, SRC_KEPT_BASE + 102), kept);
    assert_int_equal(src_location_of(&f->sources, SRC_KEPT_BASE + 102).line, 2);
    assert_null(src_file_at(&f->sources, SRC_KEPT_BASE + 99));
    assert_null(src_file_at(&f->sources, SRC_KEPT_BASE + 104));
    // In the order of adding, whatever the positions.
    const src_span in_first = {first->base, first->base}, in_kept = {kept->base, kept->base}, in_last = {last->base, last->base};
    assert_true(src_is_after(&f->sources, in_kept, in_first));
    assert_true(src_is_after(&f->sources, in_last, in_kept));
    assert_false(src_is_after(&f->sources, in_kept, in_last));
    assert_true(src_is_after(&f->sources, (src_span){0, 0}, in_last));
}

static void joins(void **state)
{
    (void)state;
    src_span joined = src_join((src_span){5, 9}, (src_span){2, 6});
    assert_int_equal(joined.begin, 2);
    assert_int_equal(joined.end, 9);
    joined = src_join((src_span){0, 0}, (src_span){2, 6});
    assert_int_equal(joined.begin, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(locations, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(no_files, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(full_map, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(upper_half, fixture_setup, fixture_teardown),
        cmocka_unit_test(joins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
