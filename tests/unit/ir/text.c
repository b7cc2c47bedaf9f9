// The text form: what is printed reads back as the same, for random modules and for corner cases.
#include "fixture.h"
#include "random_ir.h"

static void check_round_trip(fixture *f, ir_module *m)
{
    const char *first = fixture_print(f, m);
    ir_module *again = fixture_read(f, first);
    if (!again)
        fail_msg("does not read back:\n%s\n%s", fixture_messages(f), first);
    assert_string_equal(fixture_print(f, again), first);
    if (!ir_verify(m) || !ir_verify(again))
        fail_msg("%s\n%s", fixture_messages(f), first);
}

static void random_modules_round_trip(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        fixture f;
        rng r = {seed};
        fixture_init(&f);
        check_round_trip(&f, gen_module(&f.arena, &f.syms, &f.diags, &r));
        fixture_free(&f);
    }
}

static void expect_text(const char *text)
{
    fixture f;
    fixture_init(&f);
    ir_module *m = fixture_read(&f, text);
    if (!m)
        fail_msg("%s", fixture_messages(&f));
    assert_string_equal(fixture_print(&f, m), text);
    fixture_free(&f);
}

static void canonical_text_stays(void **state)
{
    (void)state;
    expect_text("module \"m\" sm_80 low\n\n"
                "device @f(n: i32 size, A: f16[n, 4] global strides(4, 1)) -> i32\n"
                "{\n"
                "    let x: i32 = (n + 1) * -n - (3 - (n - -2)) << 1\n"
                "    let y: bool = not(x < 3) and (x == 1 or n >= 2)\n"
                "    let p: ~global f16 = &A[+n] + 1\n"
                "    let q: ~global u32 = bitcast[~global u32](p)\n"
                "    A[+0] = (A)[1] + p[x]\n"
                "    return i32(u8(x)) + -(3) + i32(255u8) + i32(18446744073709551615u64) + i32(0.1f16)\n"
                "}\n");
    expect_text("module \"\" sm_90a\n\n"
                "host @launcher(x: ~f32)\n"
                "{\n"
                "    alloc T: f32[] host storage 1\n"
                "    T[] = 1.0\n"
                "    return\n"
                "}\n");
}

static void expect_error(const char *text, const char *message)
{
    fixture f;
    fixture_init(&f);
    assert_null(fixture_read(&f, text));
    const char *found = fixture_messages(&f);
    if (!strstr(found, message))
        fail_msg("expected '%s' in: %s", message, found);
    fixture_free(&f);
}

static void errors_say_what_was_expected(void **state)
{
    (void)state;
    expect_error("device @f() { x = 1 }", "no variable 'x' is declared here");
    expect_error("device @f() { let x: i32 = 1 let y: i32 = 2 }", "expected the end of the line, found 'let'");
    expect_error("device @f() { let x: i32 = 300u8 }", "the number is not a value of type u8");
    expect_error("device @f() { let if: i32 = 1 }", "expected the name of a variable, found 'if'");
    expect_error("device @f() { @g() }", "no function 'g' is declared before this");
    expect_error("device @f() {", "expected an expression, found the end of the file");
    expect_error("device @f(A: f32[4] global layout row_major(0)) { }", "cannot be built: an extent");
    expect_error("device @f(A: f32[4] global layout row_major(4)) { let x: f32 = A[guarded 1] }", "left side of a store");
    expect_error("device @f(x: i32) { let y: i32 = x[3] }", "expected a tensor or a pointer before '['");
    expect_error("module \"\" sm_1", "no architecture is called 'sm_1'");
}

static void deep_nesting_ends_in_a_message(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    str_buf text;
    str_buf_init(&text, &f.arena);
    str_adds(&text, "device @f() { let x: i32 = ");
    for (int i = 0; i < 100000; i++)
        str_addc(&text, '(');
    assert_null(fixture_read(&f, str_text(&text)));
    assert_non_null(strstr(fixture_messages(&f), "nested too deeply"));
    fixture_free(&f);
}

// Every precedence at every level: the longest way through the reader.
static void deepest_recursion_fits_the_stack(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    str_buf text;
    str_buf_init(&text, &f.arena);
    str_adds(&text, "device @f(b: bool) { let x: i32 = ");
    for (int i = 0; i < 100000; i++)
        str_adds(&text, "b or b and b == 1 | 1 ^ 1 & 1 << 1 + 1 * -i32(");
    assert_null(fixture_read(&f, str_text(&text)));
    assert_non_null(strstr(fixture_messages(&f), "nested too deeply"));
    fixture_free(&f);
}

static void long_chains_inside_each_other_end_in_a_message(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    str_buf text;
    str_buf_init(&text, &f.arena);
    str_adds(&text, "device @f() { let x: i32 = ");
    for (int i = 0; i < 100; i++)
        str_addc(&text, '(');
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < 100; k++)
            str_adds(&text, "1 + ");
        str_adds(&text, i ? "1) + " : "1) * ");
    }
    assert_null(fixture_read(&f, str_text(&text)));
    assert_non_null(strstr(fixture_messages(&f), "nested too deeply"));
    fixture_free(&f);
}

static void two_thousand_levels_work(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    ir_module *m = fixture_module(&f);
    ir_func *func = ir_func_new(m, IR_DEVICE, "f", (src_span){0});
    ir_expr *e = ir_int(m, DT_I32, 1);
    for (int i = 0; i < 2000; i++)
        e = i % 2 ? ir_binary(m, IR_OP_ADD, ir_int(m, DT_I32, i), e, (src_span){0})
                  : ir_unary(m, IR_OP_NEG, e, (src_span){0});
    ir_stmt *s = ir_new_stmt(m, IR_RETURN, (src_span){0}, 0);
    s->value = e;
    func->result = e->type;
    ir_append(m, &func->body, s);
    ir_func_add(m, func);
    check_round_trip(&f, m);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_modules_round_trip),    cmocka_unit_test(canonical_text_stays),
        cmocka_unit_test(errors_say_what_was_expected), cmocka_unit_test(deep_nesting_ends_in_a_message),
        cmocka_unit_test(two_thousand_levels_work),     cmocka_unit_test(deepest_recursion_fits_the_stack),
        cmocka_unit_test(long_chains_inside_each_other_end_in_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
