// The compiler's own formatting agrees with the C library's, for each directive and where it does not fit.
#include "base/format.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"

static int format(char *out, size_t size, const char *text, ...)
{
    va_list args;
    va_start(args, text);
    int len = str_vformat(out, size, text, args);
    va_end(args);
    return len;
}

// Once with room for all, once with room for a part.
#define CHECK(...)                                                                                                     \
    do {                                                                                                               \
        char got[200], wanted[200];                                                                                    \
        for (size_t size = sizeof got; size; size = size == sizeof got ? 5 : size == 5 ? 1 : 0) {                      \
            assert_int_equal(format(got, size, __VA_ARGS__), snprintf(wanted, size, __VA_ARGS__));                     \
            assert_string_equal(got, wanted);                                                                          \
        }                                                                                                              \
        assert_int_equal(format(NULL, 0, __VA_ARGS__), snprintf(NULL, 0, __VA_ARGS__));                                \
    } while (0)

static void plain_directives(void **state)
{
    (void)state;
    CHECK("nothing to replace");
    CHECK("%s", "");
    CHECK("%s%s, %c%%", "two", "pieces", 'x');
    CHECK("%d %d %d", 0, INT_MAX, INT_MIN);
    CHECK("%u %u", 0u, UINT_MAX);
    CHECK("%lld %lld", LLONG_MAX, LLONG_MIN);
    CHECK("%ld %ld %lu", LONG_MAX, LONG_MIN, ULONG_MAX);
    CHECK("a%llub", ULLONG_MAX);
}

static void other_directives(void **state)
{
    (void)state;
    CHECK("%s %5d %d", "width", 42, 7);
    CHECK("%d %.3s", 1, "precision");
    CHECK("%*d|%-4u|%04x", 6, 1, 2u, 255);
    CHECK("%zu %li %g %p", (size_t)9, -3L, 0.5, (void *)0);
}

static void texts_that_grow(void **state)
{
    (void)state;
    arena a;
    str_buf b;
    arena_init(&a, NULL);
    str_buf_init(&b, &a);
    char expected[2000] = "";
    for (int i = 0; i < 100; i++) {
        str_addf(&b, "%d:%s;", i, "text");
        snprintf(expected + strlen(expected), 20, "%d:%s;", i, "text");
    }
    assert_string_equal(str_text(&b), expected);
    // Longer than what is put together on the stack.
    assert_string_equal(arena_printf(&a, "%s%d", expected, 1) + strlen(expected), "1");
    arena_free(&a);
}

static void names_what_is_no_identifier(void **state)
{
    static const char *const rows[][2] = {
        {"x", "x"}, {"142", "v142"}, {"/conv1/Conv.0", "conv1_Conv_0"}, {"a b  c", "a_b_c"}, {"..", "v"}, {"", "v"},
        {"\xc3\xa9t\xc3\xa9", "t_"},
    };
    (void)state;
    arena a;
    arena_init(&a, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(str_identifier(&a, rows[i][0], 100), rows[i][1]);
    assert_string_equal(str_identifier(&a, "123456", 4), "v123");
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_directives),
        cmocka_unit_test(other_directives),
        cmocka_unit_test(texts_that_grow),
        cmocka_unit_test(names_what_is_no_identifier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
