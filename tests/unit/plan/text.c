// The text of plans: what is read prints as it was, what is malformed is refused by its line, and expressions have the
// values that host code has.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "plan/plan.h"

static const char whole[] =
    "plan @f(x: address, y: address, s: f32, n: i32, m: i64)\n"
    "let t: i32 = truncdiv(n + 7, 8)\n"
    "let mut: bool = (n > 3) and (not(m == 1i64) or (s <= -0.5))\n"
    "set t = select(mut, t, -1)\n"
    "check t >= 0, \"a \\\"text\\\"\\nof # lines\" # \"a b.hds\":12\n"
    "check mut, \"\"\n"
    "if n == 0 { # 13\n"
    "    return # \"c.hds\":13\n"
    "}\n"
    "allocate a: f16[m + 1i64, 8i64]\n"
    "fill[2] a, 15360u64, (m + 1i64) * 8i64\n"
    "for i: i32 in 0 to n step 2 {\n"
    "    if i == 4 {\n"
    "        continue\n"
    "    } else {\n"
    "        while mut {\n"
    "            scope {\n"
    "                scope {\n"
    "                    leave 1\n"
    "                }\n"
    "                break 1\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "    launch @scale_1(x, a + (i64(i) * 4i64), s, n, 1.5f16, inf(f64), 255u8, bitcast[u32](s))\n"
    "}\n"
    "copy y, a, m * 2i64\n"
    "print \"%5.1f of %-3d, 100%%\\n\", s, n\n"
    "print \"\"\n"
    "free a\n"
    "launch @none()\n";

static bool read_text(arena *a, const char *text, plan *out, const char **why)
{
    return plan_read(a, (str){text, strlen(text)}, out, why);
}

static void reading_is_the_inverse_of_printing(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, NULL);
    plan p;
    const char *why = NULL;
    str_buf text;
    str_buf_init(&text, &a);
    if (!read_text(&a, whole, &p, &why))
        fail_msg("%s", why);
    plan_print(&p, &text);
    assert_string_equal(str_text(&text), whole);
    arena_free(&a);
}

static void results(void **state)
{
    static const char text[] = "plan @f(n: i32) -> i64\n"
                               "if n > 0 { # \"r.hds\":3\n"
                               "    return i64(n) # 4\n"
                               "}\n"
                               "return -1i64 # 6\n";
    (void)state;
    arena a;
    arena_init(&a, NULL);
    plan p;
    const char *why = NULL;
    str_buf printed;
    str_buf_init(&printed, &a);
    if (!read_text(&a, text, &p, &why))
        fail_msg("%s", why);
    assert_true(p.has_result && p.result == DT_I64);
    // The end of a block has the line of what stands before it.
    assert_int_equal(p.stmts.at[2].line, 4);
    assert_string_equal(p.stmts.at[3].file, "r.hds");
    plan_print(&p, &printed);
    assert_string_equal(str_text(&printed), text);
    arena_free(&a);
}

// Texts become a part of the format.
static void formats_of_texts(void **state)
{
    static const char format[] = "100%% %-5s|%d|%.2s\n";
    (void)state;
    arena a;
    arena_init(&a, NULL);
    str_buf before;
    str_buf_init(&before, &a);
    const char *at = format;
    str conversion = plan_next_conversion(&at, &before);
    assert_string_equal(str_text(&before), "100%% ");
    assert_string_equal(plan_format_text(&a, conversion, "ab"), "ab   ");
    conversion = plan_next_conversion(&at, &before);
    assert_true(str_equal(conversion, STR("%d")));
    assert_null(plan_format_text(&a, conversion, "ab"));
    assert_string_equal(plan_format_text(&a, plan_next_conversion(&at, &before), "abc"), "ab");
    assert_null(plan_next_conversion(&at, &before).at);
    assert_string_equal(str_text(&before), "100%% ||\n");
    arena_free(&a);
}

// As printf of C prints the same values.
static void formats(void **state)
{
    (void)state;
    const plan_type types[] = {DT_I32, DT_U32, DT_I64, DT_F32, DT_F64, DT_I8, DT_NONE, DT_U64};
    const uint64_t bits[] = {(uint64_t)-7, 0xfffffff0, (uint64_t)INT64_MIN, dt_from_double(DT_F32, 1.5), dt_from_double(DT_F64, -1e300),
                             'x', 0x1234, UINT64_MAX};
    static const char format[] = "%d|%5x|%lld|%+6.2f|%g|%c|%p|%llu%%\n";
    char expected[200];
    snprintf(expected, sizeof expected, "%d|%5x|%lld|%+6.2f|%g|%c|%p|%llu%%\n", -7, 0xfffffff0U, (long long)INT64_MIN, 1.5, -1e300, 'x',
             (void *)0x1234, (unsigned long long)UINT64_MAX);
    arena a;
    arena_init(&a, NULL);
    str_buf text;
    str_buf_init(&text, &a);
    assert_true(plan_format_takes(format, types, 8));
    assert_false(plan_format_takes(format, types, 7));
    plan_format(&text, format, types, bits);
    assert_string_equal(str_text(&text), expected);
    arena_free(&a);
}

static void malformed_plans(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "line 1: 'plan' is missing"},
        {"plan @f(n: i32)\nprint \"%d\"\n", "line 2: the operands of a statement have other types than it takes"},
        {"plan @f(n: i32)\nprint \"%d\", n, n\n", "line 2: the operands of a statement have other types than it takes"},
        {"plan @f(n: i32)\nprint \"%f\", n\n", "line 2: the operands of a statement have other types than it takes"},
        {"plan @f(n: i64)\nprint \"%s\", n\n", "line 2: the operands of a statement have other types than it takes"},
        {"plan @f(n: i64)\nprint \"%*d\", n, n\n", "line 2: the operands of a statement have other types than it takes"},
        {"plan @f(n: i64)\nprint \"%n\", n\n", "line 2: the operands of a statement have other types than it takes"},
        {"plan @f(n: i64)\nprint \"%\"\n", "line 2: the operands of a statement have other types than it takes"},
        {"plan @f(n: i64)\nprint \"%1000d\", n\n",
         "line 2: the operands of a statement have other types than it takes"},
        {"plan @f()\nprint 1\n", "line 2: '\"' is missing"},
        {"plan @f(n: i32, n: i32)\n", "line 1: 'n' is declared twice"},
        {"plan @f(n: f17)\n", "line 1: a type is missing"},
        {"plan @f(n: c64)\n", "line 1: a type is missing"},
        {"plan @f(n: complex64)\n", "line 1: 'n' is complex64, and a plan has no such values"},
        {"plan @f()\nlet a: i32 = b\n", "line 2: there is no 'b' in scope"},
        {"plan @f()\nlet a: i32 = a\n", "line 2: there is no 'a' in scope"},
        {"plan @f()\nlet a: i32 = 1i64\n", "line 2: the operands of a statement have other types than it takes"},
        {"plan @f()\nlet a: i32 = 2147483648\n", "line 2: a number does not fit its type"},
        {"plan @f()\nlet a: u8 = -1u8\n", "line 2: a number does not fit its type"},
        {"plan @f()\nlet a: i32 = 1 + true\n", "line 2: 'add' does not take i32 and bool"},
        {"plan @f()\nlet a: i32 = 1 2\n", "line 2: the line goes on where it should end"},
        {"plan @f()\nlet a: i32 = f(1)\n", "line 2: there is no operation 'f'"},
        {"plan @f()\nlet a: bool = not(true, true)\n", "line 2: 'not' does not take bool and bool"},
        {"plan @f()\nif true {\n", "line 2: 1 blocks are not closed"},
        {"plan @f()\n}\n", "line 2: there is no block to close"},
        {"plan @f()\nscope {\n} else {\n", "line 3: there is no 'if' for this 'else'"},
        {"plan @f()\nif true {\n} else {\n} else {\n", "line 4: there is no 'if' for this 'else'"},
        {"plan @f()\nbreak\n", "line 2: there is no block to leave"},
        {"plan @f()\nscope {\nleave 1\n}\n", "line 3: there is no block to leave"},
        {"plan @f()\nif true {\nlet a: i32 = 1\n}\nset a = 2\n", "line 5: there is no 'a' in scope"},
        {"plan @f(x: address)\nfree x\n", "line 2: 'x' is no temporary"},
        {"plan @f()\nallocate a: f32[1i64]\nset a = a\n", "line 3: 'a' is a temporary"},
        {"plan @f()\nallocate a: f32[1i64]\nfree a\nfree a\n", "line 4: there is no 'a' in scope"},
        {"plan @f()\nallocate a: f32[1i64]\nfree a\nlaunch @k(a)\n", "line 4: there is no 'a' in scope"},
        {"plan @f()\nallocate a: f32[1i64]\nif true {\nfree a\n}\n", "line 4: it frees what its block has not taken"},
        {"plan @f()\nallocate a: f32[1]\n", "line 2: the operands of a statement have other types than it takes"},
        {"plan @f(x: address)\nfill[3] x, 0u64, 1i64\n", "line 2: the operands of a statement have other types than it takes"},
        {"plan @f()\nfor i: f32 in 0.0 to 1.0 step 0.5 {\n",
         "line 2: the operands of a statement have other types than it takes"},
        {"plan @f()\ncheck true, \"open\n", "line 2: a text does not end"},
        {"plan @f()\nhope\n", "line 2: there is no such statement"},
        {"plan @f() -> address\n", "line 1: a plan gives no address"},
        {"plan @f() -> i32\nreturn\n", "line 2: there is no '' in scope"},
        {"plan @f() -> i32\nreturn 1.0\n", "line 2: the operands of a statement have other types than it takes"},
        {"plan @f()\nreturn 1\n", "line 2: the line goes on where it should end"},
        {"plan @f(n: i32) -> i32\nlaunch @k(n)\n", "line 2: it gives a result, and this could fail"},
        {"plan @f(n: i32) -> i32\ncheck n > 0, \"\"\n", "line 2: it gives a result, and this could fail"},
        {"plan @f() -> i32\nallocate a: f32[1i64]\n", "line 2: it gives a result, and this could fail"},
        {"plan @f()\nlet a: f32 = sqrt(1)\n", "line 2: 'sqrt' does not take i32"},
        {"plan @f()\nlet a: f32 = pow(1.0)\n", "line 2: 'pow' takes 2 operands"},
        {"plan @f()\nlet a: f32 = pow(1.0, 2.0f64)\n", "line 2: 'pow' does not take f64"},
        {"plan @f()\nreturn # 12\n", "line 2: a line is of no file"},
        {"plan @f()\nreturn # \"a\":0\n", "line 2: a line is of no file"},
        {"plan @f()\nreturn # \"a\"\n", "line 2: ':' is missing"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        arena a;
        arena_init(&a, NULL);
        plan p;
        const char *why = "it was read";
        bool ok = read_text(&a, rows[i].text, &p, &why);
        if (ok || strcmp(why, rows[i].why) != 0)
            fail_msg("row %zu: '%s', and not '%s'", i, ok ? "it was read" : why, rows[i].why);
        arena_free(&a);
    }
}

static void deep_nests_are_refused(void **state)
{
    static char text[20000];
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        arena a;
        arena_init(&a, NULL);
        plan p;
        const char *why = NULL;
        strcpy(text, kind ? "plan @f()\nlet a: i32 = " : "plan @f()\n");
        for (int i = 0; i < 1000; i++)
            strcat(text, kind ? "(" : "if true {\n");
        assert_false(read_text(&a, text, &p, &why));
        assert_non_null(strstr(why, "nested more than"));
        arena_free(&a);
    }
}

static void values(void **state)
{
    static const struct {
        const char *type, *text;
        uint64_t bits;
    } rows[] = {
        {"i32", "2147483647 + 1", (uint64_t)(int64_t)INT32_MIN},
        {"u8", "200u8 + 100u8", 44},
        {"i32", "-7 // 2", (uint64_t)-4},
        {"i32", "-7 % 2", 1},
        {"i32", "truncdiv(-7, 2)", (uint64_t)-3},
        {"i32", "truncmod(-7, 2)", (uint64_t)-1},
        {"i32", "truncdiv(neg(2147483647) - 1, -1)", (uint64_t)(int64_t)INT32_MIN},
        {"u64", "18446744073709551615u64 >> 1u64", INT64_MAX},
        {"i64", "-1i64 >> 70i64", UINT64_MAX},
        {"i32", "1 << 40", 0},
        {"bool", "18446744073709551615u64 > 1u64", 1},
        {"bool", "nan(f32) == nan(f32)", 0},
        {"f32", "max(nan(f32), 2.0)", 0x40000000},
        {"f16", "f16(0.1)", 0x2e66},
        {"f32", "16777216.0 + 1.0", 0x4b800000},
        {"f32", "f32(16777219)", 0x4b800002},
        {"f32", "f32(9007200328482817i64)", 0x5a000001},
        {"i32", "i32(3e10)", INT32_MAX},
        {"i8", "i8(300)", 44},
        {"u8", "u8(-3.5)", 0},
        {"i32", "select(false, 1 // 0, 3)", 3},
        {"bool", "false and (1 // 0 == 1)", 0},
        {"bool", "true or (1 // 0 == 1)", 1},
        {"u32", "bitcast[u32](1.0)", 0x3f800000},
        {"i32", "1 + 2 * 3 - 4", 3},
        {"bool", "1 | 2 == 2 and true", 0},
        {"f32", "sqrt(2.0)", 0x3fb504f3},
        {"f64", "fma(2.0f64, 3.0f64, 1.0f64)", 0x401c000000000000},
        {"f32", "pow(2.0, 10.0)", 0x44800000},
        {"bool", "isnan(nan(f64))", 1},
        {"bool", "isfinite(inf(f32))", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        arena a;
        char text[200];
        plan p;
        const char *why = NULL;
        uint64_t out = 0, none[1] = {0};
        arena_init(&a, NULL);
        snprintf(text, sizeof text, "plan @f()\nlet v: %s = %s\n", rows[i].type, rows[i].text);
        if (!read_text(&a, text, &p, &why))
            fail_msg("%s: %s", rows[i].text, why);
        assert_int_equal(plan_evaluate(&p, p.stmts.at[0].args[0], none, &out), PLAN_FINE);
        if (out != rows[i].bits)
            fail_msg("%s is %llx", rows[i].text, (unsigned long long)out);
        arena_free(&a);
    }
}

static void sizes(void **state)
{
    static const struct {
        const char *text;
        plan_trouble trouble;
        int64_t bytes;
    } rows[] = {
        {"f32[3i64, 5i64]", PLAN_FINE, 60},
        {"i4[3i64]", PLAN_FINE, 2},
        {"bool[3i64]", PLAN_FINE, 3},
        {"address[2i64]", PLAN_FINE, 16},
        {"f32[]", PLAN_FINE, 4},
        {"f32[0i64, 9223372036854775807i64, 9i64]", PLAN_FINE, 0},
        {"f32[9223372036854775807i64]", PLAN_TOO_LARGE, 0},
        {"f32[-1i64]", PLAN_NEGATIVE, 0},
        {"f32[1i64 // 0i64]", PLAN_ZERO_DIVISION, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        arena a;
        char text[200];
        plan p;
        const char *why = NULL;
        int64_t bytes = 0;
        uint64_t none[1] = {0};
        arena_init(&a, NULL);
        snprintf(text, sizeof text, "plan @f()\nallocate v: %s\n", rows[i].text);
        if (!read_text(&a, text, &p, &why))
            fail_msg("%s: %s", rows[i].text, why);
        assert_int_equal(plan_bytes(&p, &p.stmts.at[0], none, &bytes), rows[i].trouble);
        if (!rows[i].trouble)
            assert_int_equal(bytes, rows[i].bytes);
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_is_the_inverse_of_printing),
        cmocka_unit_test(results), cmocka_unit_test(formats_of_texts),
        cmocka_unit_test(formats), cmocka_unit_test(malformed_plans),
        cmocka_unit_test(deep_nests_are_refused),
        cmocka_unit_test(values),
        cmocka_unit_test(sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
