// Expressions as Python: brackets exactly where Python's precedence needs them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/interface.h"

typedef struct world {
    arena memory;
    src_map sources;
    diag_context diags;
    sym_table syms;
    ir_module *m;
    ir_expr *a, *b, *c;
} world;

static const src_span nowhere = {0};

static ir_expr *variable(world *w, const char *name)
{
    return ir_read(w->m, ir_var_new(w->m, IR_VAR_PARAM, name, ir_scalar(w->m, DT_I32), nowhere), nowhere);
}

static int set_up(void **state)
{
    static world w;
    arena_init(&w.memory, NULL);
    src_map_init(&w.sources, &w.memory);
    diag_init(&w.diags, &w.memory, &w.sources);
    sym_init(&w.syms, &w.memory);
    w.m = ir_module_new(&w.memory, &w.syms, &w.diags, arch_find(STR("sm_80")), "test");
    w.a = variable(&w, "a");
    w.b = variable(&w, "b");
    w.c = variable(&w, "c");
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    arena_free(&((world *)*state)->memory);
    return 0;
}

static const char *name_of(const void *user, const ir_var *v)
{
    (void)user;
    return v->name;
}

static void check(world *w, const ir_expr *e, const char *expected)
{
    str_buf text;
    str_buf_init(&text, &w->memory);
    assert_true(pl_python_text(e, name_of, NULL, &text));
    assert_string_equal(str_text(&text), expected);
}

static ir_expr *op(world *w, ir_op o, ir_expr *a, ir_expr *b)
{
    return ir_binary(w->m, o, a, b, nowhere);
}

static ir_expr *number(world *w, int64_t value)
{
    return ir_int(w->m, DT_I32, value);
}

static void brackets(void **state)
{
    world *w = *state;
    ir_expr *sum = op(w, IR_OP_ADD, w->a, w->b), *difference = op(w, IR_OP_SUB, w->b, w->c);
    check(w, op(w, IR_OP_SUB, sum, w->c), "a + b - c");
    check(w, op(w, IR_OP_SUB, w->a, difference), "a - (b - c)");
    check(w, op(w, IR_OP_MUL, sum, number(w, 2)), "(a + b) * 2");
    check(w, op(w, IR_OP_ADD, w->c, op(w, IR_OP_MUL, w->a, w->b)), "c + a * b");
    check(w, op(w, IR_OP_TRUNCDIV, op(w, IR_OP_MUL, w->a, w->b), w->c), "a * b // c");
    check(w, op(w, IR_OP_MUL, w->a, op(w, IR_OP_FLOORDIV, w->b, w->c)), "a * (b // c)");
    check(w, op(w, IR_OP_AND, op(w, IR_OP_SHR, w->a, number(w, 3)), number(w, 7)), "a >> 3 & 7");
    check(w, op(w, IR_OP_SHL, op(w, IR_OP_AND, w->a, number(w, 7)), w->b), "(a & 7) << b");
    check(w, op(w, IR_OP_OR, w->a, op(w, IR_OP_XOR, w->b, w->c)), "a | b ^ c");
    check(w, op(w, IR_OP_FLOORMOD, w->a, number(w, -3)), "a % -3");
    check(w, ir_unary(w->m, IR_OP_NEG, sum, nowhere), "-(a + b)");
    check(w, ir_unary(w->m, IR_OP_BITNOT, w->a, nowhere), "~a");
    check(w, op(w, IR_OP_MIN, sum, op(w, IR_OP_MAX, w->a, number(w, 1))), "min(a + b, max(a, 1))");
}

static void conditions(void **state)
{
    world *w = *state;
    ir_expr *less = op(w, IR_OP_LT, w->a, w->b), *same = op(w, IR_OP_EQ, w->b, w->c);
    ir_expr *both = op(w, IR_OP_LAND, less, same), *either = op(w, IR_OP_LOR, less, same);
    check(w, both, "a < b and b == c");
    check(w, op(w, IR_OP_LAND, either, less), "(a < b or b == c) and a < b");
    check(w, op(w, IR_OP_NE, less, same), "(a < b) != (b == c)");
    check(w, ir_unary(w->m, IR_OP_NOT, both, nowhere), "not (a < b and b == c)");
    ir_expr *choice = ir_select(w->m, less, w->a, w->b, nowhere);
    check(w, op(w, IR_OP_ADD, choice, number(w, 1)), "(a if a < b else b) + 1");
    check(w, ir_select(w->m, same, choice, choice, nowhere), "(a if a < b else b) if b == c else a if a < b else b");
}

static void conversions(void **state)
{
    world *w = *state;
    ir_expr *wide = ir_cast(w->m, w->a, ir_scalar(w->m, DT_I64), nowhere);
    check(w, op(w, IR_OP_MUL, wide, ir_int(w->m, DT_I64, INT64_C(1) << 40)), "a * 1099511627776");
    ir_expr *real = ir_cast(w->m, w->a, ir_scalar(w->m, DT_F32), nowhere);
    check(w, op(w, IR_OP_DIV, real, ir_float(w->m, DT_F32, 0.5)), "float(a) / 0.5");
    check(w, ir_cast(w->m, real, ir_scalar(w->m, DT_I32), nowhere), "int(float(a))");
}

static void what_no_caller_can_evaluate(void **state)
{
    world *w = *state;
    str_buf text;
    str_buf_init(&text, &w->memory);
    ir_expr *thread = ir_sreg_read(w->m, IR_TID_X, nowhere);
    assert_false(pl_python_text(op(w, IR_OP_ADD, w->a, thread), name_of, NULL, &text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(brackets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(conditions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(conversions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_no_caller_can_evaluate, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
