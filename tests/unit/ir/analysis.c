// Ranges, divisors, linear forms and proofs against brute force, and by name where a particular rule matters.
#include "ir/analysis_linear.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/checked.h"
#include "../../tools/ireval.h"

typedef struct world {
    arena mem, scratch;
    src_map sources;
    diag_context diags;
    sym_table syms;
    ir_module *m;
    ir_func *f;
    ir_env *env;
    ir_var *size, *loop, *local, *free_var;
    ir_expr *local_value;
    uint64_t seed;
} world;

static const src_span nowhere = {0};

static int64_t pick(world *w, int64_t count)
{
    w->seed ^= w->seed << 13;
    w->seed ^= w->seed >> 7;
    w->seed ^= w->seed << 17;
    return (int64_t)(w->seed % (uint64_t)count);
}

static ir_expr *number(world *w, int64_t v)
{
    return ir_int(w->m, DT_I32, v);
}
static ir_expr *read_of(world *w, ir_var *v)
{
    return ir_read(w->m, v, nowhere);
}
static ir_expr *op2(world *w, ir_op op, ir_expr *a, ir_expr *b)
{
    return ir_binary(w->m, op, a, b, nowhere);
}
static ir_expr *tid(world *w)
{
    return ir_sreg_read(w->m, IR_TID_X, nowhere);
}

static void open_world(world *w, uint64_t seed)
{
    *w = (world){.seed = seed};
    arena_init(&w->mem, NULL);
    arena_init(&w->scratch, NULL);
    src_map_init(&w->sources, &w->mem);
    diag_init(&w->diags, &w->mem, &w->sources);
    sym_init(&w->syms, &w->mem);
    w->m = ir_module_new(&w->mem, &w->syms, &w->diags, arch_find(STR("sm_90")), "test");
    w->f = ir_func_new(w->m, IR_KERNEL, "f", nowhere);
    w->f->block[0] = ir_int(w->m, DT_I32, 128);
    w->f->grid[0] = ir_int(w->m, DT_I32, 6);
    w->env = ir_env_new(w->m, w->f, &w->scratch);
    const ir_type *i32 = ir_scalar(w->m, DT_I32);
    w->size = ir_var_new(w->m, IR_VAR_PARAM, "n", i32, nowhere);
    w->size->is_size = w->size->has_range = true;
    w->size->min = 1;
    w->size->max = 200;
    w->size->divisor = 4;
    w->free_var = ir_var_new(w->m, IR_VAR_PARAM, "x", i32, nowhere);
    w->free_var->has_range = true;
    w->free_var->min = -50;
    w->free_var->max = 70;
    w->loop = ir_var_new(w->m, IR_VAR_LOOP, "i", i32, nowhere);
    ir_stmt *loop = ir_new_stmt(w->m, IR_FOR, nowhere, 0);
    loop->var = w->loop;
    ir_expr *bounds[3] = {number(w, 2), number(w, 30), number(w, 6)};
    loop->args = bounds;
    loop->arg_count = 3;
    ir_env_loop(w->env, loop);
    w->local = ir_var_new(w->m, IR_VAR_LOCAL, "warp", i32, nowhere);
    w->local_value = op2(w, IR_OP_FLOORDIV, tid(w), number(w, 32));
    ir_env_bind(w->env, w->local, w->local_value);
}

static void close_world(world *w)
{
    arena_free(&w->scratch);
    arena_free(&w->mem);
}

static void random_point(world *w, ire *r)
{
    r->overflowed = false;
    r->error = NULL;
    r->sregs[IR_TID_X] = pick(w, 128);
    r->sregs[IR_BID_X] = pick(w, 6);
    ire_set(r, w->size, 4 * (1 + pick(w, 50)));
    ire_set(r, w->free_var, pick(w, 121) - 50);
    ire_set(r, w->loop, 2 + 6 * pick(w, 5));
    ire_set(r, w->local, ire_eval(r, w->local_value).i);
}

// ---- random expressions --------------------------------------------------------------------------------------------

static ir_expr *random_leaf(world *w)
{
    switch (pick(w, 7)) {
    case 0:
        return number(w, pick(w, 70) - 8);
    case 1:
        return read_of(w, w->size);
    case 2:
        return read_of(w, w->loop);
    case 3:
        return read_of(w, w->local);
    case 4:
        return read_of(w, w->free_var);
    case 5:
        return ir_sreg_read(w->m, IR_BID_X, nowhere);
    default:
        return tid(w);
    }
}

static int64_t divisor(world *w)
{
    static const int64_t divisors[] = {1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64};
    return divisors[pick(w, 11)];
}

static ir_expr *random_index(world *w, int depth)
{
    if (depth == 0 || pick(w, 8) == 0)
        return random_leaf(w);
    ir_expr *a = random_index(w, depth - 1);
    switch (pick(w, 16)) {
    case 0:
    case 1:
    case 2:
        return op2(w, IR_OP_ADD, a, random_index(w, depth - 1));
    case 3:
        return op2(w, IR_OP_SUB, a, random_index(w, depth - 1));
    case 4:
    case 5:
        return op2(w, IR_OP_MUL, a, number(w, divisor(w)));
    case 6:
        return op2(w, IR_OP_MUL, a, random_leaf(w));
    case 7:
    case 8:
        return op2(w, IR_OP_FLOORDIV, a, number(w, divisor(w)));
    case 9:
    case 10:
        return op2(w, IR_OP_FLOORMOD, a, number(w, divisor(w)));
    case 11:
        return op2(w, pick(w, 2) ? IR_OP_TRUNCDIV : IR_OP_TRUNCMOD, a, number(w, divisor(w)));
    case 12:
        return op2(w, pick(w, 2) ? IR_OP_SHL : IR_OP_SHR, a, number(w, pick(w, 5)));
    case 13:
        return op2(w, IR_OP_AND, a, number(w, pick(w, 2) ? (1 << pick(w, 7)) - 1 : pick(w, 64)));
    case 14:
        return op2(w, pick(w, 2) ? IR_OP_XOR : IR_OP_OR, a, random_index(w, depth - 1));
    default:
        return op2(w, pick(w, 2) ? IR_OP_MIN : IR_OP_MAX, a, random_index(w, depth - 1));
    }
}

enum { EXPRESSIONS = 6000, POINTS = 40 };

static const char *text_of(world *w, const ir_expr *e)
{
    str_buf b;
    str_buf_init(&b, &w->mem);
    ir_print_expr(e, &b);
    return str_text(&b);
}

static void check_point(world *w, ire *r, ir_expr *e, ir_expr *simple, ir_range range, int64_t d, int64_t d2)
{
    random_point(w, r);
    int64_t value = ire_eval(r, e).i;
    if (r->overflowed || r->error)
        return;
    if (value < range.min || value > range.max)
        fail_msg("range [%ld, %ld] of %s: %ld", (long)range.min, (long)range.max, text_of(w, e), (long)value);
    if (d == 0 ? value != 0 : value % d != 0)
        fail_msg("divisor %ld of %s: %ld", (long)d, text_of(w, e), (long)value);
    if (d2 == 0 ? value != 0 : value % d2 != 0)
        fail_msg("index divisor %ld of %s: %ld", (long)d2, text_of(w, e), (long)value);
    int64_t other = ire_eval(r, simple).i;
    if (other != value)
        fail_msg("%s = %ld, simplified %s = %ld", text_of(w, e), (long)value, text_of(w, simple), (long)other);
}

static void test_random_expressions(void **state)
{
    (void)state;
    world w;
    open_world(&w, 88172645463325252u);
    ire r;
    ire_init(&r, &w.mem, w.m);
    for (int i = 0; i < EXPRESSIONS; i++) {
        ir_expr *e = random_index(&w, 1 + (int)pick(&w, 5));
        ir_expr *simple = ir_simplify_index(w.env, e);
        assert_true(ir_expr_cost(simple) <= ir_expr_cost(e));
        ir_range range = ir_range_of(w.env, e);
        int64_t d = ir_divisor_of(w.env, e), d2 = ir_index_divisor(w.env, e);
        for (int p = 0; p < POINTS; p++)
            check_point(&w, &r, e, simple, range, d, d2);
    }
    close_world(&w);
}

// The canonical form itself, not only where it is the cheaper one.
static void test_random_forms(void **state)
{
    (void)state;
    world w;
    open_world(&w, 1234567891234567u);
    ire r;
    ire_init(&r, &w.mem, w.m);
    for (int i = 0; i < EXPRESSIONS; i++) {
        w.env->no_expand = pick(&w, 2);
        ir_expr *e = random_index(&w, 1 + (int)pick(&w, 5));
        ir_expr *again = ir_linear_build(w.env, ir_linear_of(w.env, e), e->type, nowhere);
        for (int p = 0; p < POINTS; p++) {
            random_point(&w, &r);
            int64_t value = ire_eval(&r, e).i;
            if (r.overflowed || r.error)
                continue;
            int64_t other = ire_eval(&r, again).i;
            if (other != value)
                fail_msg("%s = %ld, rebuilt %s = %ld", text_of(&w, e), (long)value, text_of(&w, again), (long)other);
        }
    }
    close_world(&w);
}

static bool holds_everywhere(world *w, ire *r, ir_expr *cond, ir_expr *given)
{
    for (int p = 0; p < POINTS * 2; p++) {
        random_point(w, r);
        if (given && !ire_eval(r, given).i)
            continue;
        int64_t value = ire_eval(r, cond).i;
        if (!r->overflowed && !r->error && !value)
            return false;
    }
    return true;
}

static ir_expr *random_condition(world *w, int depth)
{
    return op2(w, IR_OP_EQ + (ir_op)pick(w, 6), random_index(w, depth), random_index(w, depth));
}

static void test_random_proofs(void **state)
{
    (void)state;
    world w;
    open_world(&w, 99991234577u);
    ire r;
    ire_init(&r, &w.mem, w.m);
    int proved = 0, disproved = 0;
    for (int i = 0; i < EXPRESSIONS; i++) {
        ir_expr *given = pick(&w, 2) ? random_condition(&w, 1) : NULL;
        ir_expr *cond = random_condition(&w, (int)pick(&w, 3));
        ir_env_mark mark = ir_env_enter(w.env);
        if (given)
            ir_env_assume(w.env, given, true);
        bool yes = ir_prove(w.env, cond), no = ir_disprove(w.env, cond);
        ir_env_leave(w.env, mark);
        proved += yes;
        disproved += no;
        if (yes && !holds_everywhere(&w, &r, cond, given))
            fail_msg("proved %s given %s", text_of(&w, cond), given ? text_of(&w, given) : "nothing");
        if (no && !holds_everywhere(&w, &r, ir_unary(w.m, IR_OP_NOT, cond, nowhere), given))
            fail_msg("disproved %s given %s", text_of(&w, cond), given ? text_of(&w, given) : "nothing");
    }
    assert_true(proved > 100 && disproved > 100);
    close_world(&w);
}

// ---- by name -------------------------------------------------------------------------------------------------------

static void expect_text(world *w, ir_expr *e, const char *text)
{
    assert_string_equal(text_of(w, ir_simplify_index(w->env, e)), text);
}

static ir_expr *fdiv(world *w, ir_expr *e, int64_t d)
{
    return op2(w, IR_OP_FLOORDIV, e, number(w, d));
}
static ir_expr *fmod_(world *w, ir_expr *e, int64_t d)
{
    return op2(w, IR_OP_FLOORMOD, e, number(w, d));
}
static ir_expr *times(world *w, ir_expr *e, int64_t d)
{
    return op2(w, IR_OP_MUL, e, number(w, d));
}
static ir_expr *plus(world *w, ir_expr *a, ir_expr *b)
{
    return op2(w, IR_OP_ADD, a, b);
}

static void test_splits_join(void **state)
{
    (void)state;
    world w;
    open_world(&w, 1);
    ir_expr *t = tid(&w);
    // (w / 4) % 8 * 4 + w % 4 = w % 32
    ir_expr *joined = plus(&w, times(&w, fmod_(&w, fdiv(&w, t, 4), 8), 4), fmod_(&w, t, 4));
    assert_true(ir_prove_equal(w.env, joined, fmod_(&w, t, 32)));
    assert_int_equal(ir_expr_cost(ir_simplify_index(w.env, joined)), 4);
    // w % 128 = w for w < 128; a local looks through
    assert_int_equal(ir_simplify_index(w.env, fmod_(&w, t, 128))->op, IR_OP_SREG);
    assert_true(ir_prove_equal(w.env, plus(&w, times(&w, read_of(&w, w.local), 32), fmod_(&w, t, 32)), t));
    // 3·(w % 4) + 4·(w / 4) and w + 2·(w % 4) agree digit by digit
    ir_expr *left = plus(&w, times(&w, fmod_(&w, t, 4), 3), times(&w, fdiv(&w, t, 4), 4));
    assert_true(ir_prove_equal(w.env, left, plus(&w, t, times(&w, fmod_(&w, t, 4), 2))));
    // (w·8 + i % 8) / 8 = w
    ir_expr *mixed = fdiv(&w, plus(&w, times(&w, t, 8), fmod_(&w, read_of(&w, w.loop), 8)), 8);
    assert_int_equal(ir_simplify_index(w.env, mixed)->op, IR_OP_SREG);
    close_world(&w);
}

static void test_dynamic_divisor(void **state)
{
    (void)state;
    world w;
    open_world(&w, 1);
    ir_expr *n = read_of(&w, w.size), *x = plus(&w, times(&w, tid(&w), 4), read_of(&w, w.loop));
    ir_expr *q = op2(&w, IR_OP_FLOORDIV, x, n), *m = op2(&w, IR_OP_FLOORMOD, x, n);
    assert_true(ir_prove_equal(w.env, plus(&w, op2(&w, IR_OP_MUL, q, n), m), x));
    // (t·n + j) / n = t where 0 <= j < n is known
    ir_var *j = ir_var_new(w.m, IR_VAR_PARAM, "j", ir_scalar(w.m, DT_I32), nowhere);
    ir_env_assume(w.env, op2(&w, IR_OP_GE, read_of(&w, j), number(&w, 0)), true);
    ir_env_assume(w.env, op2(&w, IR_OP_LT, read_of(&w, j), n), true);
    ir_expr *flat = plus(&w, op2(&w, IR_OP_MUL, tid(&w), n), read_of(&w, j));
    assert_true(ir_prove_equal(w.env, op2(&w, IR_OP_FLOORDIV, flat, n), tid(&w)));
    assert_true(ir_prove_equal(w.env, op2(&w, IR_OP_FLOORMOD, flat, n), read_of(&w, j)));
    close_world(&w);
}

static void test_divisible_sizes(void **state)
{
    (void)state;
    world w;
    open_world(&w, 1);
    ir_expr *n = read_of(&w, w.size);
    assert_int_equal(ir_index_divisor(w.env, n), 4);
    assert_true(ir_prove_equal(w.env, times(&w, fdiv(&w, n, 4), 4), n));
    // b < (n + 3) / 4  =>  b·4 + 3 < n
    ir_var *b = ir_var_new(w.m, IR_VAR_PARAM, "b", ir_scalar(w.m, DT_I32), nowhere);
    ir_env_assume(w.env, op2(&w, IR_OP_LT, read_of(&w, b), fdiv(&w, plus(&w, n, number(&w, 3)), 4)), true);
    assert_true(ir_prove_less(w.env, plus(&w, times(&w, read_of(&w, b), 4), number(&w, 3)), n));
    assert_false(ir_prove_less(w.env, plus(&w, times(&w, read_of(&w, b), 4), number(&w, 4)), n));
    close_world(&w);
}

static void test_facts_have_scopes(void **state)
{
    (void)state;
    world w;
    open_world(&w, 1);
    ir_expr *lt = op2(&w, IR_OP_LT, read_of(&w, w.free_var), read_of(&w, w.size));
    assert_false(ir_prove(w.env, lt));
    ir_env_mark mark = ir_env_enter(w.env);
    ir_env_assume(w.env, lt, true);
    assert_true(ir_prove(w.env, lt));
    assert_true(ir_prove_less(w.env, read_of(&w, w.free_var), number(&w, 200)));
    ir_env_leave(w.env, mark);
    assert_false(ir_prove(w.env, lt));
    // warp == 1: the thread is one of 32 … 63
    ir_env_assume(w.env, op2(&w, IR_OP_EQ, read_of(&w, w.local), number(&w, 1)), true);
    ir_range r = ir_range_of(w.env, tid(&w));
    assert_int_equal(r.min, 32);
    assert_int_equal(r.max, 63);
    close_world(&w);
}

static void test_unsigned_wraps(void **state)
{
    (void)state;
    world w;
    open_world(&w, 1);
    ir_var *u = ir_var_new(w.m, IR_VAR_PARAM, "u", ir_scalar(w.m, DT_U32), nowhere);
    ir_expr *less = ir_binary(w.m, IR_OP_SUB, read_of(&w, u), ir_int(w.m, DT_U32, 1), nowhere);
    ir_range r = ir_range_of(w.env, less);
    assert_int_equal(r.min, 0);
    assert_int_equal(r.max, UINT32_MAX);
    assert_false(ir_prove_less(w.env, less, read_of(&w, u)));
    ir_env_assume(w.env, ir_binary(w.m, IR_OP_GT, read_of(&w, u), ir_int(w.m, DT_U32, 3), nowhere), true);
    assert_true(ir_prove_less(w.env, less, read_of(&w, u)));
    close_world(&w);
}

static void test_swizzle_keeps_runs(void **state)
{
    (void)state;
    world w;
    open_world(&w, 1);
    // (base + r) ^ (row·8), r < 8: r can be taken out
    ir_var *rv = ir_var_new(w.m, IR_VAR_LOOP, "r", ir_scalar(w.m, DT_I32), nowhere);
    ir_env_bound(w.env, rv, (ir_range){0, 7}, 1);
    ir_expr *base = times(&w, fmod_(&w, tid(&w), 8), 8), *row = times(&w, fmod_(&w, fdiv(&w, tid(&w), 8), 8), 8);
    ir_expr *e = op2(&w, IR_OP_XOR, plus(&w, base, read_of(&w, rv)), row);
    int64_t coef;
    assert_true(ir_linear_coefficient(ir_linear_of(w.env, e), rv, &coef));
    assert_int_equal(coef, 1);
    assert_true(ir_prove_equal(w.env, e, plus(&w, op2(&w, IR_OP_XOR, base, row), read_of(&w, rv))));
    close_world(&w);
}

static void test_author_shape(void **state)
{
    (void)state;
    world w;
    open_world(&w, 1);
    ir_expr *n = read_of(&w, w.size), *i = read_of(&w, w.loop);
    // nothing to gain: the very same expression
    ir_expr *plain = plus(&w, op2(&w, IR_OP_MUL, plus(&w, tid(&w), i), n), read_of(&w, w.free_var));
    assert_ptr_equal(ir_simplify_index(w.env, plain), plain);
    expect_text(&w, plus(&w, times(&w, tid(&w), 4), times(&w, i, 4)), text_of(&w, times(&w, plus(&w, tid(&w), i), 4)));
    expect_text(&w, op2(&w, IR_OP_SUB, plus(&w, tid(&w), i), tid(&w)), text_of(&w, i));
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_expressions), cmocka_unit_test(test_random_forms),
        cmocka_unit_test(test_random_proofs),      cmocka_unit_test(test_splits_join),
        cmocka_unit_test(test_dynamic_divisor),    cmocka_unit_test(test_divisible_sizes),
        cmocka_unit_test(test_facts_have_scopes),  cmocka_unit_test(test_unsigned_wraps),
        cmocka_unit_test(test_swizzle_keeps_runs), cmocka_unit_test(test_author_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
