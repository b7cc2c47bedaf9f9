// Folding and simplification against the interpreter: constants of all types, and random trees with variables.
#include "ir/fold.h"
#include "ir/pass.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../../tools/ireval.h"

typedef struct world {
    arena mem, scratch;
    src_map sources;
    diag_context diags;
    sym_table syms;
    ir_module *m;
    uint64_t seed;
    VEC(ir_var *) vars;
} world;

static const src_span nowhere = {0};
static const dtype numbers[] = {DT_I8,  DT_U8,  DT_I16, DT_U16,  DT_I32, DT_U32,
                                DT_I64, DT_U64, DT_F16, DT_BF16, DT_F32, DT_F64};
enum { NUMBERS = sizeof numbers / sizeof *numbers, INTEGERS = 8 };

static int64_t pick(world *w, int64_t count)
{
    w->seed ^= w->seed << 13;
    w->seed ^= w->seed >> 7;
    w->seed ^= w->seed << 17;
    return (int64_t)((w->seed >> 7) % (uint64_t)count);
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
}

static void close_world(world *w)
{
    arena_free(&w->scratch);
    arena_free(&w->mem);
}

static const char *text_of(world *w, const ir_expr *e)
{
    str_buf b;
    str_buf_init(&b, &w->mem);
    ir_print_expr(e, &b);
    return str_text(&b);
}

static int64_t random_int(world *w, dtype t)
{
    switch (pick(w, 6)) {
    case 0:
        return dt_min(t);
    case 1:
        return dt_wrap_int(t, (int64_t)dt_max_bits(t));
    case 2:
        return dt_wrap_int(t, (int64_t)(w->seed * UINT64_C(0x9e3779b97f4a7c15)));
    default:
        return dt_wrap_int(t, pick(w, 41) - 20);
    }
}

static double random_float(world *w)
{
    static const double special[] = {0.0, -0.0, 1.0, -1.0, 0.1, 65504.0, 1e-8, 3e38, INFINITY, -INFINITY, NAN, 1.5};
    return pick(w, 3) ? special[pick(w, 12)] : (double)(pick(w, 2000001) - 1000000) / 1024.0;
}

static ir_expr *constant(world *w, dtype t)
{
    return dt_is_float(t) ? ir_float(w->m, t, random_float(w))
                          : ir_int(w->m, t, t == DT_BOOL ? pick(w, 2) : random_int(w, t));
}

static const ir_op int_ops[] = {IR_OP_ADD,      IR_OP_SUB, IR_OP_MUL, IR_OP_FLOORDIV, IR_OP_FLOORMOD, IR_OP_TRUNCDIV,
                                IR_OP_TRUNCMOD, IR_OP_AND, IR_OP_OR,  IR_OP_XOR,      IR_OP_MIN,      IR_OP_MAX};
static const ir_op float_ops[] = {IR_OP_ADD, IR_OP_SUB, IR_OP_MUL, IR_OP_DIV, IR_OP_MIN, IR_OP_MAX};
static const ir_op compare_ops[] = {IR_OP_EQ, IR_OP_NE, IR_OP_LT, IR_OP_LE, IR_OP_GT, IR_OP_GE};

static bool same_value(const ir_type *t, ire_value a, ire_value b)
{
    if (!dt_is_float(t->scalar))
        return a.i == b.i;
    return (isnan(a.f) && isnan(b.f)) || memcmp(&a.f, &b.f, sizeof a.f) == 0;
}

// What folds, folds to what the interpreter computes; min and max of two zeros and NaN stay.
static bool check_fold(world *w, ire *r, ir_expr *e)
{
    ir_expr *folded = ir_fold(w->m, e);
    if (folded == e)
        return false;
    r->overflowed = false;
    r->error = NULL;
    ire_value value = ire_eval(r, e), now = ire_eval(r, folded);
    if (r->error || r->overflowed || folded->type != e->type || !same_value(e->type, value, now))
        fail_msg("%s folds to %s (%s)", text_of(w, e), text_of(w, folded), r->error ? r->error : "another value");
    return true;
}

static void test_constants(void **state)
{
    (void)state;
    world w;
    open_world(&w, 20240229);
    ire r;
    ire_init(&r, &w.mem, w.m);
    int folded = 0;
    for (int i = 0; i < 60000; i++) {
        dtype t = numbers[pick(&w, NUMBERS)];
        bool is_float = dt_is_float(t);
        ir_expr *a = constant(&w, t), *e;
        switch (pick(&w, 6)) {
        case 0:
            e = ir_binary(w.m, compare_ops[pick(&w, 6)], a, constant(&w, t), nowhere);
            break;
        case 1:
            e = ir_unary(w.m, is_float || pick(&w, 2) ? IR_OP_NEG : IR_OP_BITNOT, a, nowhere);
            break;
        case 2:
            e = ir_cast(w.m, a, ir_scalar(w.m, numbers[pick(&w, NUMBERS)]), nowhere);
            break;
        case 3:
            e = is_float ? a
                         : ir_binary(w.m, pick(&w, 2) ? IR_OP_SHL : IR_OP_SHR, a, ir_int(w.m, t, pick(&w, 9)), nowhere);
            break;
        default: {
            ir_op op = is_float ? float_ops[pick(&w, 6)] : int_ops[pick(&w, 12)];
            e = ir_binary(w.m, op, a, constant(&w, t), nowhere);
        }
        }
        folded += check_fold(&w, &r, e);
    }
    assert_true(folded > 30000);
    close_world(&w);
}

static ir_expr *op2(world *w, ir_op op, ir_expr *a, ir_expr *b)
{
    return ir_binary(w->m, op, a, b, nowhere);
}

static void expect_unfolded(world *w, ir_expr *e)
{
    assert_ptr_equal(ir_fold(w->m, e), e);
}

static void test_left_alone(void **state)
{
    (void)state;
    world w;
    open_world(&w, 1);
    ir_module *m = w.m;
    expect_unfolded(&w, op2(&w, IR_OP_FLOORDIV, ir_int(m, DT_I32, 1), ir_int(m, DT_I32, 0)));
    expect_unfolded(&w, op2(&w, IR_OP_TRUNCMOD, ir_int(m, DT_U32, 1), ir_int(m, DT_U32, 0)));
    expect_unfolded(&w, op2(&w, IR_OP_TRUNCDIV, ir_int(m, DT_I32, INT32_MIN), ir_int(m, DT_I32, -1)));
    expect_unfolded(&w, op2(&w, IR_OP_ADD, ir_int(m, DT_I32, INT32_MAX), ir_int(m, DT_I32, 1)));
    expect_unfolded(&w, op2(&w, IR_OP_SHL, ir_int(m, DT_I32, 1), ir_int(m, DT_I32, 32)));
    expect_unfolded(&w, op2(&w, IR_OP_SUB, ir_float(m, DT_F32, INFINITY), ir_float(m, DT_F32, INFINITY)));
    expect_unfolded(&w, op2(&w, IR_OP_MIN, ir_float(m, DT_F32, 0.0), ir_float(m, DT_F32, -0.0)));
    expect_unfolded(&w, op2(&w, IR_OP_FLOORMOD, ir_float(m, DT_F32, 5.0), ir_float(m, DT_F32, 0.0)));
    expect_unfolded(&w, op2(&w, IR_OP_ADD, ir_float(m, DT_F8E4M3, 1.0), ir_float(m, DT_F8E4M3, 1.0)));
    // wrapping: u8 and narrow rounding: f16
    assert_int_equal(ir_fold(m, op2(&w, IR_OP_ADD, ir_int(m, DT_U8, 255), ir_int(m, DT_U8, 2)))->u.i, 1);
    ir_expr *sum = ir_fold(m, op2(&w, IR_OP_ADD, ir_float(m, DT_F16, 2048), ir_float(m, DT_F16, 1)));
    assert_true(sum->u.f == 2048.0);
    // floor(a / b) of the exact quotient: 1 / 0.1f rounds to 10
    ir_expr *tenth = ir_float(m, DT_F32, 0.1);
    assert_true(ir_fold(m, op2(&w, IR_OP_FLOORDIV, ir_float(m, DT_F32, 1.0), tenth))->u.f == 9.0);
    assert_true(ir_fold(m, op2(&w, IR_OP_FLOORMOD, ir_float(m, DT_F32, -1.0), ir_float(m, DT_F32, 3.0)))->u.f == 2.0);
    close_world(&w);
}

// ---- whole expressions through the pass ----------------------------------------------------------------------------

static ir_expr *random_tree(world *w, dtype t, int depth);

static ir_expr *random_bool(world *w, int depth)
{
    dtype t = numbers[pick(w, NUMBERS)];
    switch (depth > 0 ? pick(w, 6) : 0) {
    case 0:
        return depth > 0 ? op2(w, compare_ops[pick(w, 6)], random_tree(w, t, depth - 1), random_tree(w, t, depth - 1))
                         : constant(w, DT_BOOL);
    case 1:
        return op2(w, IR_OP_LAND, random_bool(w, depth - 1), random_bool(w, depth - 1));
    case 2:
        return op2(w, IR_OP_LOR, random_bool(w, depth - 1), random_bool(w, depth - 1));
    case 3:
        return ir_unary(w->m, IR_OP_NOT, random_bool(w, depth - 1), nowhere);
    default:
        return op2(w, compare_ops[pick(w, 6)], random_tree(w, DT_I32, depth - 1), random_tree(w, DT_I32, depth - 1));
    }
}

static ir_expr *random_leaf(world *w, dtype t)
{
    for (int tries = 0; tries < 3; tries++) {
        ir_var *v = w->vars.at[pick(w, (int64_t)w->vars.len)];
        if (v->type->scalar == t)
            return ir_read(w->m, v, nowhere);
    }
    return constant(w, t);
}

static ir_expr *random_tree(world *w, dtype t, int depth)
{
    if (depth <= 0)
        return random_leaf(w, t);
    switch (pick(w, 8)) {
    case 0:
        return random_leaf(w, t);
    case 1:
        return ir_select(w->m, random_bool(w, depth - 1), random_tree(w, t, depth - 1), random_tree(w, t, depth - 1),
                         nowhere);
    case 2: {
        // Conversions whose result is defined: from an integer, or between floats.
        dtype from = numbers[pick(w, dt_is_float(t) ? NUMBERS : INTEGERS)];
        return ir_cast(w->m, random_tree(w, from, depth - 1), ir_scalar(w->m, t), nowhere);
    }
    case 3:
        return ir_unary(w->m, IR_OP_NEG, random_tree(w, t, depth - 1), nowhere);
    default: {
        ir_op op = dt_is_float(t) ? float_ops[pick(w, 4)] : int_ops[pick(w, 12)];
        return op2(w, op, random_tree(w, t, depth - 1), random_tree(w, t, depth - 1));
    }
    }
}

static void test_trees(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 3000; seed++) {
        world w;
        open_world(&w, seed * UINT64_C(0x9e3779b97f4a7c15) + 1);
        ir_func *f = ir_func_new(w.m, IR_DEVICE, "f", nowhere);
        ir_func_add(w.m, f);
        for (int i = 0; i < NUMBERS * 2; i++) {
            ir_var *v = ir_var_new(w.m, IR_VAR_PARAM, "v", ir_scalar(w.m, numbers[i % NUMBERS]), nowhere);
            VEC_PUSH(&w.mem, &w.vars, v);
            VEC_PUSH(&w.mem, &f->params, v);
        }
        dtype t = numbers[pick(&w, NUMBERS)];
        ir_expr *e = random_tree(&w, t, 1 + (int)pick(&w, 4));
        f->result = e->type;
        ir_stmt *s = ir_new_stmt(w.m, IR_RETURN, nowhere, 0);
        s->value = e;
        ir_append(w.m, &f->body, s);
        ir_pass_options options = {0};
        ir_pass_context px = {.module = w.m, .scratch = &w.scratch, .diags = &w.diags, .options = &options};
        assert_true(ir_run_pass(&px, ir_pass_find("simplify")));
        ire r;
        ire_init(&r, &w.mem, w.m);
        for (int point = 0; point < 30; point++) {
            r.error = NULL;
            r.overflowed = false;
            for (size_t i = 0; i < w.vars.len; i++) {
                dtype vt = w.vars.at[i]->type->scalar;
                ire_set(&r, w.vars.at[i], dt_is_float(vt) ? 0 : random_int(&w, vt));
                r.vars.at[w.vars.at[i]->id].f =
                    dt_is_float(vt) ? dt_to_double(vt, dt_from_double(vt, random_float(&w))) : 0;
            }
            ire_value before = ire_eval(&r, e);
            if (r.error || r.overflowed)
                continue;
            ire_value after = ire_eval(&r, s->value);
            if (r.error || !same_value(e->type, before, after))
                fail_msg("%s became %s", text_of(&w, e), text_of(&w, s->value));
        }
        close_world(&w);
    }
}

static void test_floats_stay(void **state)
{
    (void)state;
    world w;
    open_world(&w, 5);
    ir_func *f = ir_func_new(w.m, IR_DEVICE, "f", nowhere);
    ir_func_add(w.m, f);
    ir_var *x = ir_var_new(w.m, IR_VAR_PARAM, "x", ir_scalar(w.m, DT_F32), nowhere);
    VEC_PUSH(&w.mem, &f->params, x);
    ir_expr *forms[] = {
        op2(&w, IR_OP_MUL, ir_read(w.m, x, nowhere), ir_float(w.m, DT_F32, 0)),
        op2(&w, IR_OP_ADD, ir_read(w.m, x, nowhere), ir_float(w.m, DT_F32, 0)),
        op2(&w, IR_OP_SUB, ir_read(w.m, x, nowhere), ir_read(w.m, x, nowhere)),
        ir_unary(w.m, IR_OP_NOT, op2(&w, IR_OP_LT, ir_read(w.m, x, nowhere), ir_float(w.m, DT_F32, 1)), nowhere),
        op2(&w, IR_OP_EQ, ir_read(w.m, x, nowhere), ir_read(w.m, x, nowhere))};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        ir_stmt *s = ir_new_stmt(w.m, IR_EVAL, nowhere, 0);
        s->value = forms[i];
        ir_append(w.m, &f->body, s);
    }
    ir_pass_options options = {0};
    ir_pass_context px = {.module = w.m, .scratch = &w.scratch, .diags = &w.diags, .options = &options};
    assert_true(ir_run_pass(&px, ir_pass_find("simplify")));
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        assert_ptr_equal(f->body.stmts.at[i]->value, forms[i]);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_left_alone),
        cmocka_unit_test(test_trees),
        cmocka_unit_test(test_floats_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
