// Expressions: what they mean (tests/jit/check_expressions.py compares many with Python), and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/str.h"
#include "jit/expr.h"

enum { COUNT = 4 };
static const char *const names[COUNT] = {"n", "größe", "x", "h"};
static const jit_value values[COUNT] = {
    {.kind = JIT_INTEGER, .u.integer = 1000},
    {.kind = JIT_INTEGER, .u.integer = -7},
    {.kind = JIT_REAL, .u.real = 2.5},
    {.kind = JIT_HUGE},
};

static void expect(const char *text, jit_trouble trouble, int64_t value)
{
    arena a;
    arena_init(&a, NULL);
    jit_expr expr;
    const char *why = NULL;
    int64_t result = 0;
    if (!jit_expr_compile(&a, text, names, COUNT, &expr, &why))
        fail_msg("'%s' is refused: %s", text, why);
    jit_trouble found = jit_expr_evaluate(&expr, values, &result);
    if (found != trouble || (!trouble && result != value))
        fail_msg("'%s': %s, %lld", text, jit_trouble_text(found), (long long)result);
    arena_free(&a);
}

static void refuse(const char *text, const char *reason)
{
    arena a;
    arena_init(&a, NULL);
    jit_expr expr;
    const char *why = NULL;
    if (jit_expr_compile(&a, text, names, COUNT, &expr, &why))
        fail_msg("'%s' is taken", text);
    if (!strstr(why, reason))
        fail_msg("'%s' is refused, but: %s", text, why);
    arena_free(&a);
}

static void values_of_expressions(void **state)
{
    (void)state;
    expect("n", JIT_FINE, 1000);
    expect("größe", JIT_FINE, -7);
    expect("min(1056, (n + 255) // 256)", JIT_FINE, 4);
    expect("größe // 2", JIT_FINE, -4);
    expect("größe % 4", JIT_FINE, 1);
    expect("-größe % -4", JIT_FINE, -1);
    expect("2 - 3 - 4", JIT_FINE, -5);
    expect("2 + 3 * 4", JIT_FINE, 14);
    expect("1 << 2 + 1", JIT_FINE, 8);
    expect("7 & 3 ^ 1 | 8", JIT_FINE, 10);
    expect("~n + 1", JIT_FINE, -1000);
    expect("--n", JIT_FINE, 1000);
    expect("not n or größe", JIT_FINE, -7);
    expect("n and größe", JIT_FINE, -7);
    expect("0 and 1 // 0", JIT_FINE, 0);
    expect("1 if n < 0 else 2 if n < 10 else 3", JIT_FINE, 3);
    expect("1 // 0 if n < 0 else 5", JIT_FINE, 5);
    expect("(1 if n > 0 else 2) + 10", JIT_FINE, 11);
    expect("max(1, 2, n, 3)", JIT_FINE, 1000);
    expect("int(x * 2)", JIT_FINE, 5);
    expect("int(7 / 2)", JIT_FINE, 3);
    expect("bool(x) + True", JIT_FINE, 2);
    expect("int(1e-05 + 1.5)", JIT_FINE, 1);
    expect("n == 1000 and x > 2", JIT_FINE, 1);
    expect("9223372036854775807 - 1 + 1", JIT_FINE, INT64_MAX);
}

static void what_cannot_be_computed(void **state)
{
    (void)state;
    expect("9223372036854775807 + 1", JIT_OVERFLOW, 0);
    expect("18446744073709551615", JIT_OVERFLOW, 0);
    expect("n << 60", JIT_OVERFLOW, 0);
    expect("-(-9223372036854775807 - 1)", JIT_OVERFLOW, 0);
    expect("(-9223372036854775807 - 1) // -1", JIT_OVERFLOW, 0);
    expect("h", JIT_OVERFLOW, 0);
    expect("h // 2", JIT_OVERFLOW, 0);
    expect("int(1e300)", JIT_OVERFLOW, 0);
    expect("n // 0", JIT_ZERO_DIVISION, 0);
    expect("n % (n - 1000)", JIT_ZERO_DIVISION, 0);
    expect("x / 0", JIT_ZERO_DIVISION, 0);
    expect("1 << größe", JIT_BAD_SHIFT, 0);
    expect("x", JIT_NOT_INTEGER, 0);
    expect("n / 2", JIT_NOT_INTEGER, 0);
    expect("x & 1", JIT_NOT_INTEGER, 0);
    expect("~x", JIT_NOT_INTEGER, 0);
    int64_t out = 0;
    const jit_expr unknown = {.kind = JIT_EXPR_UNKNOWN};
    assert_int_equal(jit_expr_evaluate(&unknown, values, &out), JIT_UNKNOWN);
}

static void what_is_refused(void **state)
{
    (void)state;
    refuse("", "too early");
    refuse("n +", "too early");
    refuse("m", "not a parameter");
    refuse("n n", "continues after its end");
    refuse("(n", "')' is missing");
    refuse("min(n, 1", "')' is missing");
    refuse("min()", "misplaced sign");
    refuse("abs(n)", "unknown function");
    refuse("n ** 2", "continues after its end");
    refuse("1 < n < 3", "chains");
    refuse("1 if n", "without 'else'");
    refuse("12ab", "number");
    refuse("n; 1", "continues after its end");
    refuse("+", "too early");
}

static char *repeated(arena *a, const char *before, const char *middle, const char *after, int count)
{
    str_buf out;
    str_buf_init(&out, a);
    for (int i = 0; i < count; i++)
        str_adds(&out, before);
    str_adds(&out, middle);
    for (int i = 0; i < count; i++)
        str_adds(&out, after);
    return (char *)str_text(&out);
}

// Deep texts are refused instead of filling the stack, and long ones are not deep.
static void deep_texts(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, NULL);
    refuse(repeated(&a, "(", "n", ")", 1000), "too deeply");
    refuse(repeated(&a, "-", "n", "", 1000), "too deeply");
    refuse(repeated(&a, "not ", "n", "", 1000), "too deeply");
    refuse(repeated(&a, "1 if n else ", "2", "", 1000), "too deeply");
    refuse(repeated(&a, "1 + (", "2", ")", 1000), "too deeply");
    refuse(repeated(&a, "0 or (1, ", "2", ")", 1000), "missing");
    expect(repeated(&a, "1 + ", "0", "", 5000), JIT_FINE, 5000);
    expect(repeated(&a, "", "0", " + (1 if n else 2)", 5000), JIT_FINE, 5000);
    expect(repeated(&a, "(", "n", " - 1)", 50), JIT_FINE, 950);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_expressions),
        cmocka_unit_test(what_cannot_be_computed),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(deep_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
