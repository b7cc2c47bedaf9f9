// Types, builders, walking, rewriting, copies, questions: trees, deep trees, and DAGs that are exponential as trees.
#include "fixture.h"

static const src_span nowhere = {0};

static ir_expr *number(ir_module *m, int64_t value) { return ir_int(m, DT_I32, value); }

// x + x over and over: 2^depth nodes as a tree.
static ir_expr *doubled(ir_module *m, ir_expr *e, int depth)
{
    for (int i = 0; i < depth; i++)
        e = ir_binary(m, IR_OP_ADD, e, e, nowhere);
    return e;
}

static ir_expr *deep(ir_module *m, ir_expr *e, int depth)
{
    for (int i = 0; i < depth; i++)
        e = ir_unary(m, IR_OP_NEG, e, nowhere);
    return e;
}

static void types_are_interned(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    ir_module *m = fixture_module(&f);
    const ir_type *h = ir_scalar(m, DT_F16);
    assert_ptr_equal(h, ir_scalar(m, DT_F16));
    assert_ptr_equal(ir_vector(m, DT_F32, 4), ir_vector(m, DT_F32, 4));
    assert_ptr_not_equal(ir_vector(m, DT_F32, 4), ir_vector(m, DT_F32, 2));
    const ir_type *p = ir_pointer(m, h, IR_SHARED);
    assert_ptr_equal(p, ir_pointer(m, h, IR_SHARED));
    assert_ptr_not_equal(p, ir_tensor_type(m, h, IR_SHARED));
    assert_ptr_not_equal(p, ir_const_of(m, p));
    assert_ptr_equal(ir_const_of(m, p), ir_const_of(m, ir_const_of(m, p)));
    assert_ptr_equal(ir_const_of(m, h), h);
    str_buf out;
    str_buf_init(&out, &f.arena);
    ir_type_print(ir_const_of(m, p), &out);
    str_addc(&out, ' ');
    ir_type_print(ir_pointer(m, ir_pointer(m, ir_vector(m, DT_U8, 16), IR_GLOBAL), IR_GENERIC), &out);
    assert_string_equal(str_text(&out), "~shared const f16 ~~global u8x16");
    assert_int_equal(ir_type_bytes(ir_vector(m, DT_I4, 8)), 4);
    assert_int_equal(ir_type_bytes(ir_scalar(m, DT_I4)), 1);
    assert_int_equal(ir_type_bytes(p), 8);
    fixture_free(&f);
}

static void constants_are_values_of_their_type(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    ir_module *m = fixture_module(&f);
    assert_int_equal(ir_int(m, DT_U8, -1)->u.i, 255);
    assert_int_equal(ir_int(m, DT_I4, 9)->u.i, -7);
    assert_int_equal(ir_int(m, DT_BOOL, 4)->u.i, 1);
    assert_true(ir_float(m, DT_F32, 0.1)->u.f == (double)0.1f);
    assert_true(ir_float(m, DT_F16, 2049.0)->u.f == 2048.0);
    assert_ptr_equal(ir_cast(m, number(m, 1), ir_scalar(m, DT_I32), nowhere)->type, ir_scalar(m, DT_I32));
    assert_int_equal(ir_cast(m, number(m, 1), ir_scalar(m, DT_I32), nowhere)->op, IR_OP_INT);
    fixture_free(&f);
}

static ir_expr *same(void *user, ir_expr *e)
{
    ++*(int *)user;
    return e;
}

typedef struct renaming {
    ir_module *m;
    int visits;
} renaming;

static ir_expr *next_number(void *user, ir_expr *e)
{
    renaming *r = user;
    r->visits++;
    return e->op == IR_OP_INT ? number(r->m, e->u.i + 1) : e;
}

static void rewriting_keeps_what_does_not_change(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    ir_module *m = fixture_module(&f);
    int visits = 0;
    ir_expr *e = doubled(m, number(m, 3), 60);
    assert_ptr_equal(ir_rewrite_expr(m, e, same, &visits), e);
    assert_true(visits < 1000);
    ir_expr *d = deep(m, number(m, 3), 2500);
    assert_ptr_equal(ir_rewrite_expr(m, d, same, &visits), d);
    assert_null(ir_rewrite_expr(m, NULL, same, &visits));
    fixture_free(&f);
}

static void rewriting_shares_what_was_shared(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    ir_module *m = fixture_module(&f);
    renaming r = {m, 0};
    ir_expr *e = ir_rewrite_expr(m, doubled(m, number(m, 3), 60), next_number, &r);
    assert_true(r.visits < 1000);
    assert_ptr_equal(e->args[0], e->args[1]);
    ir_expr *small = ir_rewrite_expr(m, doubled(m, number(m, 3), 2), next_number, &r);
    assert_int_equal(small->args[0]->args[0]->u.i, 4);
    ir_expr *d = ir_rewrite_expr(m, deep(m, number(m, 3), 2500), next_number, &r);
    for (int i = 0; i < 2500; i++)
        d = d->args[0];
    assert_int_equal(d->u.i, 4);
    fixture_free(&f);
}

// A visitor that rewrites by itself: tables of visited nodes must not get mixed up.
static ir_expr *nested(void *user, ir_expr *e)
{
    renaming *r = user;
    if (e->op != IR_OP_INT)
        return e;
    return ir_rewrite_expr(r->m, doubled(r->m, number(r->m, e->u.i), 8), next_number, r);
}

static void rewriting_inside_rewriting_works(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    ir_module *m = fixture_module(&f);
    renaming r = {m, 0};
    ir_expr *e = ir_rewrite_expr(m, doubled(m, number(m, 5), 30), nested, &r);
    for (int i = 0; i < 38; i++)
        e = e->args[i % 2];
    assert_int_equal(e->u.i, 6);
    fixture_free(&f);
}

static void count_node(void *user, ir_expr *e)
{
    (void)e;
    ++*(int *)user;
}

static void walking_visits_large_trees_once(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    ir_module *m = fixture_module(&f);
    int nodes = 0;
    ir_walk_expr(m, doubled(m, number(m, 1), 60), count_node, &nodes);
    assert_in_range(nodes, 61, 400);
    fixture_free(&f);
}

static void questions_take_no_exponential_time(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    ir_module *m = fixture_module(&f);
    ir_expr *a = doubled(m, number(m, 1), 200), *b = doubled(m, number(m, 1), 200);
    assert_true(ir_is_pure(a));
    assert_false(ir_has_effects(a));
    assert_true(ir_expr_equal(a, b));
    assert_true(ir_expr_equal(a, a));
    assert_false(ir_expr_equal(a, doubled(m, number(m, 2), 200)));
    assert_false(ir_expr_equal(a, doubled(m, number(m, 1), 199)));
    fixture_free(&f);
}

static const char sample[] =
    "intrin clock {\n cuda \"clock()\"\n effects volatile\n result i32\n}\n"
    "intrin sqrt {\n cuda \"sqrt({x})\"\n operand x: f32\n result f32\n}\n"
    "device @g() -> i32 {\n return 1\n}\n"
    "device @f(n: i32, A: f32[4] global layout row_major(4)) {\n"
    "    let mut m: i32 = n\n"
    "    let pure: i32 = n * 2 + tid.x\n"
    "    let reads: i32 = m + 1\n"
    "    let loaded: f32 = A[n]\n"
    "    let calls: i32 = @g()\n"
    "    let clock: i32 = !clock()\n"
    "    let root: f32 = !sqrt(2.0)\n"
    "    let waits: f32 = A[volatile n]\n"
    "    let where: ~global f32 = &A[n]\n"
    "}\n";

static void purity_and_effects(void **state)
{
    (void)state;
    static const struct {
        bool pure, effects;
    } expected[] = {{true, false}, {true, false}, {false, false}, {false, false}, {false, true},
                    {false, true}, {true, false}, {false, true},  {true, false}};
    fixture f;
    fixture_init(&f);
    ir_module *m = fixture_read(&f, sample);
    if (!m)
        fail_msg("%s", fixture_messages(&f));
    const ir_block *b = &m->funcs.at[1]->body;
    for (size_t i = 0; i < b->stmts.len; i++) {
        assert_int_equal(ir_is_pure(b->stmts.at[i]->value), expected[i].pure);
        assert_int_equal(ir_has_effects(b->stmts.at[i]->value), expected[i].effects);
        assert_int_equal(ir_expr_equal(b->stmts.at[i]->value, b->stmts.at[i]->value), expected[i].pure);
    }
    fixture_free(&f);
}

// A copy declares variables of its own and leaves the original as it was.
static void clones_renew_their_variables(void **state)
{
    (void)state;
    static const char text[] =
        "module \"\" sm_90\n\n"
        "device @f(n: i32)\n"
        "{\n"
        "    for i: i32 in 0 to n {\n"
        "        let x: i32 = i + n\n"
        "        alloc T: f32[n, 4] shared strides(x, 1)\n"
        "        T[i, 0] = T[x, 1]\n"
        "        let mut y: i32 = x\n"
        "        y = y + 1\n"
        "        tasks a: i32 in spatial(4) on y {\n"
        "            copy &T[a, 0] = &T[i, 0] count 2\n"
        "        }\n"
        "    }\n"
        "}\n";
    fixture f;
    fixture_init(&f);
    ir_module *m = fixture_read(&f, text);
    if (!m)
        fail_msg("%s", fixture_messages(&f));
    ir_func *func = m->funcs.at[0];
    map substitution;
    map_init(&substitution, &f.arena);
    map_put_ptr(&substitution, func->params.at[0], number(m, 7));
    ir_append(m, &func->body, ir_clone_stmt(m, func->body.stmts.at[0], &substitution));
    if (!ir_verify(m))
        fail_msg("%s", fixture_messages(&f));
    const char *both = fixture_print(&f, m);
    assert_non_null(strstr(both, "for i.2: i32 in 0 to 7 {"));
    assert_non_null(strstr(both, "alloc T.2: f32[7, 4] shared strides(x.2, 1)"));
    assert_non_null(strstr(both, "copy &T.2[a.2, 0] = &T.2[i.2, 0] count 2"));
    func->body.stmts.len = 1;
    assert_string_equal(fixture_print(&f, m), text);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_interned),
        cmocka_unit_test(constants_are_values_of_their_type),
        cmocka_unit_test(rewriting_keeps_what_does_not_change),
        cmocka_unit_test(rewriting_shares_what_was_shared),
        cmocka_unit_test(rewriting_inside_rewriting_works),
        cmocka_unit_test(walking_visits_large_trees_once),
        cmocka_unit_test(questions_take_no_exponential_time),
        cmocka_unit_test(purity_and_effects),
        cmocka_unit_test(clones_renew_their_variables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
