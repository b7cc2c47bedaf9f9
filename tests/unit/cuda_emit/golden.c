// The text of whole modules. HDS_UPDATE_GOLDENS=1 writes what comes out instead of comparing; read the difference.
#include "golden.h"

static void check_golden(arena *a, const char *name)
{
    golden first, again;
    golden_emit(&first, name, NULL);
    golden_emit(&again, name, NULL);
    assert_string_equal(str_text(&first.text), str_text(&again.text));
    const char *path = file_join(a, golden_folder(a), arena_printf(a, "%s.cu", name)), *error;
    str text = {first.text.at, first.text.len}, expected;
    if (getenv("HDS_UPDATE_GOLDENS"))
        assert_true(file_write(a, path, text, &error));
    else if (!file_read(a, path, &expected, &error))
        fail_msg("%s: %s", path, error);
    else if (!str_equal(text, expected))
        fail_msg("%s differs; it is now:\n%s", path, text.at);
    golden_free(&first);
    golden_free(&again);
}

static void test_goldens(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, NULL);
    for (const char **name = golden_names(&a); *name; name++)
        check_golden(&a, *name);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_goldens)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
