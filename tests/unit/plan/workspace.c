// The workspace of a plan: an upper bound over its parameters, or unknown.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "plan/build.h"

// The workspace of a plan with these statements, as text.
static void expect(const char *statements, const char *expected)
{
    arena a;
    char text[1000];
    plan p;
    const char *why = NULL;
    str_buf line;
    arena_init(&a, NULL);
    snprintf(text, sizeof text, "plan @f(x: address, n: i64, m: i64)\n%s", statements);
    if (!plan_read(&a, (str){text, strlen(text)}, &p, &why))
        fail_msg("%s: %s", statements, why);
    plan_builder b = {.arena = &a, .plan = &p};
    for (int i = 0; i < p.parameter_count; i++)
        VEC_PUSH(&a, &b.visible, i);
    p.workspace = plan_build_workspace(&b);
    str_buf_init(&line, &a);
    plan_print_line(&p, 0, &line);
    const char *found = strstr(str_text(&line), " workspace ");
    assert_string_equal(found ? found + strlen(" workspace ") : "unknown", expected);
    arena_free(&a);
}

static void lifetimes(void **state)
{
    (void)state;
    expect("", "0i64");
    expect("allocate a: f32[n]\nfree a\n", "n * 4i64");
    expect("allocate a: f32[8i64]\nallocate b: i4[3i64]\nfree a\n", "34i64");
    expect("allocate a: f32[n]\nfree a\nallocate b: f16[m]\n", "max(n * 4i64, m * 2i64)");
    expect("allocate a: f32[n]\nfree a\nallocate b: f32[n]\nfree b\n", "n * 4i64");
    expect("allocate a: f32[n]\nallocate b: f16[m]\nfree a\nfree b\n", "(n * 4i64) + (m * 2i64)");
}

static void control_flow(void **state)
{
    (void)state;
    expect("let k: i64 = n + 1i64\nif n == 0i64 {\nallocate a: bool[k]\nfree a\n} else {\nallocate b: bool[m]\nfree b\n}\n",
           "max(n + 1i64, m)");
    // Assigned in one branch: not known behind it, but in the other one.
    expect("let k: i64 = n\nif n == 0i64 {\nset k = 5i64\n} else {\nallocate a: f32[k]\nfree a\n}\n", "n * 4i64");
    expect("let k: i64 = n\nif n == 0i64 {\nset k = 5i64\n}\nallocate a: f32[k]\n", "unknown");
    expect("for i: i64 in 0i64 to n step 1i64 {\nallocate a: f32[m]\nfree a\n}\n", "m * 4i64");
    expect("for i: i64 in 0i64 to n step 1i64 {\nallocate a: f32[i]\nfree a\n}\n", "unknown");
    // What a way out leaves behind stays until the end.
    expect("for i: i64 in 0i64 to n step 1i64 {\nallocate a: f32[n]\nif i == m {\nbreak\n}\nfree a\n}\nallocate b: f16[m]\n",
           "(n * 4i64) + (m * 2i64)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lifetimes),
        cmocka_unit_test(control_flow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
