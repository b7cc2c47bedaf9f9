// The verifier: each rule is broken once, and the message names the rule, the function, the statement and the pass.
#include "fixture.h"

static const char head[] =
    "intrin mma {\n ptx \"mma\"\n needs sm_80\n operand a: tensor register u32 count 2\n operand n: i32 immediate\n"
    " result tensor register f32 count 4\n}\n"
    "intrin hopper {\n ptx \"x\"\n needs sm_90a\n}\n"
    "device @g(x: i32) -> i32 {\n return x\n}\n"
    "kernel @k(x: i32) {\n}\n"
    "device @f(n: i32, b: bool, h: f16, A: f32[8, 4] global layout row_major(8, 4), C: f32[4] global const layout "
    "row_major(4), p: ~global f32, v: f32x4) {\n"
    "alloc R: u32[4] register layout row_major(4)\nalloc D: f32[4] register layout row_major(4)\n";

static const struct {
    const char *body, *rule;
} broken[] = {
    {"let x: i32 = n + 1i64", "'add' takes operands of its own type i32, found i64"},
    {"let x: bool = b + b", "'add' does not work on bool"},
    {"let x: i32 = n / 2", "'div' does not work on i32"},
    {"let x: f16 = truncdiv(h, h)", "'truncdiv' does not work on f16"},
    {"let x: i32 = n << 1.0", "'shl' takes an integer of its own type and an integer"},
    {"let x: bool = n < 1i64", "a comparison takes two scalars of the same type, found i32 and i64"},
    {"let x: i32 = lt[i32](n, 1)", "a comparison gives a bool"},
    {"let x: bool = b and land[bool](b, n)", "'land' takes and gives bools"},
    {"let x: i32 = select(n, n, n)", "'select' takes a bool and two values of its own type"},
    {"let x: i32 = not[i32](n)", "'not' takes and gives bools"},
    {"let x: i32 = bitcast[i32](h)", "'bitcast' keeps the width, found f16 to i32"},
    {"let x: f32 = f32(v)", "a conversion is between scalars, or vectors of the same length, found f32x4 to f32"},
    {"let x: f32 = lane[4](v)", "'lane' takes a vector and the number of one of its elements"},
    {"let x: f32x4 = vec[f32x4](1.0, 2.0)", "'vec' takes as many scalars as its type has lanes"},
    {"let x: f32 = A[n]", "an access to 'A' has 2 indices, found 1"},
    {"let x: f32 = A[n, 1.0]", "indices are integers"},
    {"let x: f32 = A[n, 1 else 1]", "the value outside is of the tensor's element type"},
    {"let x: f32 = p[1.0]", "'pload' takes a pointer and an integer"},
    {"let x: f16 = p[1]", "the first value is of type f16, found f32"},
    {"let x: ~global f32 = p + 1.0", "'add' moves a pointer by an integer"},
    {"let x: i32 = @g(1.0)", "an argument is of type i32, found f32"},
    {"let x: i32 = @g()", "'g' takes 1 arguments, found 0"},
    {"@k(1)", "'k' cannot be called from here"},
    {"!hopper()", "instruction 'hopper' needs sm_90a"},
    {"tile(D[0], 4) = !mma(tile(R[0], 3), 1)", "operand 'a' is a tile of 2 registers of type u32"},
    {"tile(D[0], 4) = !mma(tile(R[0], 2), n)", "operand 'n' is a constant"},
    {"tile(D[0], 2) = !mma(tile(R[0], 2), 1)", "a tile has as many registers"},
    {"let x: f32 = p[!mma(tile(R[0], 2), 1)]", "operands of 'pload' are values"},
    {"let x: i32 = \"text\"", "the first value is of type i32, found string"},
    {"copy &A[0, 0] = tile(R[0], 4) count 4", "a copy is between elements of the same type"},
    {"copy &A[0, 0] = p count 4", "a copy is between addresses and tiles"},
    {"copy &C[0] = &A[0, 0] count 4", "nothing is written into the constant tensor 'C'"},
    {"C[0] = 1.0", "nothing is written into the constant tensor 'C'"},
    {"A[0, 0] = 1", "the stored value is of type f32, found i32"},
    {"(C)[0] = 1.0", "a store through a pointer needs one to mutable elements"},
    {"n = 3", "'n' is assigned and so mutable"},
    {"let x: i32", "a variable that is never assigned has a first value"},
    {"let mut x: i32 = 1.0", "the first value is of type i32, found f32"},
    {"if n {\n}", "a condition is of type bool, found i32"},
    {"for i: i64 in 0i64 to n {\n}", "a loop's bound is of type i64, found i32"},
    {"for i: i32 in 0 to n step 0 {\n}", "a loop's step is not 0"},
    {"tasks i: f32 in spatial(4) on n {\n}", "task coordinates are integers"},
    {"tasks i: i32 in spatial(4) on 1.0 {\n}", "the worker is an integer, found f32"},
    {"break", "'break' is inside a loop"},
    {"if b {\ncontinue\n}", "'continue' is inside a loop"},
    {"leave 3", "'leave' is inside the scope of its label"},
    {"scope 1 {\nscope 1 {\n}\n}", "scopes inside each other have different labels"},
    {"return 1", "'return' has a value where the function has a result"},
    {"launch @k(1)", "kernels are launched by host functions"},
    {"assume n", "a condition is of type bool, found i32"},
    {"alloc S: f32[4] global layout row_major(4)", "no tensor in global memory is made here"},
    {"alloc S: f32[4] shared", "a tensor has a layout, or strides, or a mapping"},
    {"alloc S: f32[4] shared strided(1)", "only a parameter in global memory is strided"},
    {"alloc S: f32[4] shared layout row_major(5)", "the layout has the tensor's shape"},
    {"alloc S: f32[4] shared layout row_major(2, 2)", "the layout has the tensor's rank"},
    {"alloc S: f32[4] shared map spatial(4) worker tid.x", "a mapping is for a register tensor of its rank"},
    {"alloc S: f32[4] register map spatial(4)", "an expression is missing"},
    {"let mut m: i32 = 1\nalloc S: f32[m] shared strides(1)", "an extent does not change while the tensor lives"},
    {"alloc S: f32[4] local layout row_major(4) at 16", "only shared tensors have an offset in shared memory"},
    {"let x: i32 range(3, 2) = n", "the facts about 'x' can hold"},
    {"let x: f32 = tile(D[0], 4)", "the first value is of type f32, found tensor register f32"},
    {"let x: f32x200 = vec[f32x200](1.0)", "a vector has 2 to 128 lanes"},
    {"let x: f32 = (A + 1)[0] + A[+0, 1]", "an access to 'A' has 1 indices, found 2"},
    {"let x: void = @g(1)", "variable 'x' holds a value"},
};

static void expect_broken(const char *text, const char *rule)
{
    fixture f;
    fixture_init(&f);
    ir_module *m = fixture_read(&f, text);
    if (!m)
        fail_msg("%s", fixture_messages(&f));
    if (ir_verify_after(m, "squash"))
        fail_msg("nothing is broken in\n%s", text);
    const char *messages = fixture_messages(&f);
    if (!strstr(messages, rule) || !strstr(messages, "HDS0400") || !strstr(messages, "after pass 'squash'"))
        fail_msg("expected '%s' in\n%s", rule, messages);
    fixture_free(&f);
}

static void each_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char text[4096];
        snprintf(text, sizeof text, "module \"m\" sm_90\n%s%s\n}\n", head, broken[i].body);
        expect_broken(text, broken[i].rule);
    }
}

static void low_level(void **state)
{
    (void)state;
    expect_broken("module \"m\" sm_90 low\ndevice @f(A: f32[4] global layout row_major(4)) {\nA[1] = 1.0\n}\n",
                  "accesses are flat at the low level");
    expect_broken("module \"m\" sm_90 low\ndevice @f() {\ntasks i: i32 in spatial(4) on 1 {\n}\n}\n",
                  "no task loop is left at the low level");
    expect_broken("module \"m\" sm_90 low\ndevice @f() {\nalloc R: f32[4] register map repeat(4) worker 0\n}\n",
                  "no tensor has a mapping at the low level");
}

static void heads_of_functions(void **state)
{
    (void)state;
    expect_broken("device @f()\nblock 1, 1, 1\n{\n}\n", "only kernels have a grid");
    expect_broken("kernel @f()\ngrid 1.0, 1, 1\n{\n}\n", "a grid dimension is an integer, found f32");
    expect_broken("kernel @f() -> i32\n{\nreturn 1\n}\n", "a kernel has no result");
    expect_broken("host @f() {\nlet x: i32 = tid.x\n}\n", "special registers are read on the device only");
    expect_broken("kernel @f()\ncluster 2, _, 1\n{\n}\n", "an expression is missing");
}

// What text cannot say: variables out of scope, declared twice, of another module.
static void scopes(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    ir_module *m = fixture_read(&f, "device @f(b: bool) {\nif b {\nlet x: i32 = 1\n}\nlet y: i32 = 2\n}\n");
    ir_block *b = &m->funcs.at[0]->body;
    ir_stmt *inner = b->stmts.at[0]->body.stmts.at[0];
    b->stmts.at[1]->value = ir_read(m, inner->var, (src_span){0});
    assert_false(ir_verify(m));
    assert_non_null(strstr(fixture_messages(&f), "variable 'x' is used outside its scope"));
    assert_non_null(strstr(fixture_messages(&f), "in the statement 'let y: i32 = x'"));
    b->stmts.at[1] = inner;
    assert_false(ir_verify(m));
    assert_non_null(strstr(fixture_messages(&f), "variable 'x' is declared once"));
    b->stmts.at[1] = ir_new_stmt(m, IR_EVAL, (src_span){0}, 0);
    b->stmts.at[1]->value = ir_unary(m, IR_OP_NEG, ir_int(m, DT_I32, 1), (src_span){0});
    b->stmts.at[1]->value->args[0] = NULL;
    assert_false(ir_verify(m));
    assert_non_null(strstr(fixture_messages(&f), "an operand of 'neg' is missing"));
    fixture_free(&f);
}

static void origins(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    ir_module *m = fixture_read(&f, "device @f(b: bool) {\nlet y: i32 = 2\n}\n");
    ir_stmt *s = m->funcs.at[0]->body.stmts.at[0];
    s->origin = ir_site_add(m, (src_span){0}, ir_site_add(m, (src_span){0}, 0, "outer"), "inner");
    assert_true(ir_verify(m));
    s->origin++;
    assert_false(ir_verify(m));
    assert_non_null(strstr(fixture_messages(&f), "the origin of a statement is a site"));
    s->origin = 0;
    m->sites.at[0].parent = 2;
    assert_false(ir_verify(m));
    assert_non_null(strstr(fixture_messages(&f), "the site of a caller comes before"));
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule),
        cmocka_unit_test(low_level),
        cmocka_unit_test(heads_of_functions),
        cmocka_unit_test(scopes),
        cmocka_unit_test(origins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
