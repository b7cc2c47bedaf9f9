// Functions that move to memory that lasts: what they say is the same, nothing of theirs is left where they were, and numbers
// of variables and sites have no gaps.
#include "fixture.h"

static const char text[] = "module \"moved\" sm_90a\n"
                           "device @clamp(x: f32, low: f32) -> f32 {\n"
                           "    return select(x < low, low, x)\n"
                           "}\n"
                           "public kernel @scale(x: f32[m, n] global strides(n, 1), m: i32 size range(1, 65536) div(8), n: i32 size)\n"
                           "    grid m // 8, 1, 1\n"
                           "    block 128, 1, 1\n"
                           "{\n"
                           "    let first: i32 = bid.x * 8\n"
                           "    for i: i32 in 0 to 8 step 1 {\n"
                           "        if tid.x < n {\n"
                           "            x[first + i, tid.x] = @clamp(x[first + i, tid.x], 0.0)\n"
                           "        }\n"
                           "    }\n"
                           "}\n";

typedef struct moved {
    fixture f;
    arena lasting;
    ir_module *m;
} moved;

static void set_up(moved *t)
{
    fixture_init(&t->f);
    arena_init(&t->lasting, NULL);
    t->m = fixture_read(&t->f, text);
    if (!t->m)
        fail_msg("%s", fixture_messages(&t->f));
    t->m->lasting = &t->lasting;
}

static void tear_down(moved *t)
{
    arena_free(&t->lasting);
    fixture_free(&t->f);
}

// What a statement, and what is in it, refers to. Overwritten, it would show in the text of what has moved.
static void spoil_expr(void *user, ir_expr *e)
{
    (void)user;
    if (e->op == IR_OP_INT || e->op == IR_OP_FLOAT)
        e->u.i = 12345;
}

static void spoil(void *user, ir_stmt *s)
{
    ir_walk_stmt_exprs(user, s, spoil_expr, NULL);
    if (s->var)
        s->var->name = "spoiled";
}

static void the_text_is_the_same(void **state)
{
    (void)state;
    moved t;
    set_up(&t);
    const char *before = fixture_print(&t.f, t.m);
    ir_block old[2];
    for (int i = 0; i < 2; i++)
        old[i] = t.m->funcs.at[i]->body;
    ir_settle(t.m, &(ir_extent){0}, &t.f.scratch);
    for (int i = 0; i < 2; i++)
        ir_walk(&old[i], spoil, t.m);
    assert_string_equal(fixture_print(&t.f, t.m), before);
    assert_true(ir_verify(t.m));
    tear_down(&t);
}

static void note_highest(void *user, ir_stmt *s)
{
    uint32_t *highest = user;
    if (s->var && s->var->id > *highest)
        *highest = s->var->id;
}

static void variables_have_no_gaps(void **state)
{
    (void)state;
    moved t;
    set_up(&t);
    uint32_t count = t.m->next_var, highest = 0;
    for (int i = 0; i < 100; i++)
        ir_var_new(t.m, IR_VAR_LOCAL, "unused", ir_scalar(t.m, DT_I32), (src_span){0});
    ir_settle(t.m, &(ir_extent){.vars = 1000}, &t.f.scratch);
    assert_int_equal(t.m->next_var, 1000 + count);
    for (size_t i = 0; i < t.m->funcs.len; i++)
        ir_walk(&t.m->funcs.at[i]->body, note_highest, &highest);
    assert_in_range(highest, 1000, 1000 + count - 1);
    tear_down(&t);
}

static void only_sites_that_are_used_stay(void **state)
{
    (void)state;
    moved t;
    set_up(&t);
    uint32_t older = ir_site_add(t.m, (src_span){1, 2}, 0, "older");
    uint32_t outer = ir_site_add(t.m, (src_span){2, 3}, older, "outer");
    ir_site_add(t.m, (src_span){3, 4}, outer, "unused");
    uint32_t inner = ir_site_add(t.m, (src_span){4, 5}, outer, "inner");
    ir_stmt *s = t.m->funcs.at[1]->body.stmts.at[0];
    s->origin = inner;
    ir_settle(t.m, &(ir_extent){.sites = older}, &t.f.scratch);
    assert_int_equal(t.m->sites.len, 3);
    s = t.m->funcs.at[1]->body.stmts.at[0];
    const ir_site *site = ir_site_at(t.m, s->origin);
    assert_string_equal(site->callee, "inner");
    site = ir_site_at(t.m, site->parent);
    assert_string_equal(site->callee, "outer");
    assert_string_equal(ir_site_at(t.m, site->parent)->callee, "older");
    tear_down(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_the_same),
        cmocka_unit_test(variables_have_no_gaps),
        cmocka_unit_test(only_sites_that_are_used_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
