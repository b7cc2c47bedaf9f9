// Unrolling and dropping dead code leave the behaviour alone: random programs are run before and after, and must write
// the same values to memory in the same order.
#include "fixture.h"
#include "random_ir.h"

#include "../../tools/ireval.h"

// ---- random programs, as text ------------------------------------------------------------------------------------

typedef struct writer {
    str_buf out;
    rng *r;
    int next;                   // number of the next variable
    int vars[64], var_count;    // readable
    int muts[64], mut_count;
    int labels[16], label_count;
    int loops, budget;
} writer;

static void write_block(writer *w, int depth);

static void write_expr(writer *w, int depth)
{
    static const char *const signs[] = {"+", "-", "*", "&", "|", "^"};
    int kind = rng_below(w->r, depth > 0 ? 6 : 3);
    if (kind == 0) {
        str_addf(&w->out, "%d", rng_below(w->r, 7) - 2);
    } else if (kind < 3) {
        str_addf(&w->out, w->var_count ? "v%d" : "n", w->var_count ? w->vars[rng_below(w->r, w->var_count)] : 0);
    } else if (kind == 3) {
        str_adds(&w->out, rng_one_in(w->r, 2) ? "out[(" : "own[(");
        write_expr(w, depth - 1);
        str_adds(&w->out, ") & 7]");
    } else {
        str_adds(&w->out, "((");
        write_expr(w, depth - 1);
        str_addf(&w->out, ") %s (", signs[rng_below(w->r, 6)]);
        write_expr(w, depth - 1);
        str_adds(&w->out, ") & 255)");
    }
}

static void write_condition(writer *w)
{
    static const char *const words[] = {"true", "false"};
    if (rng_one_in(w->r, 4)) {
        str_adds(&w->out, words[rng_below(w->r, 2)]);
        return;
    }
    write_expr(w, 2);
    str_adds(&w->out, rng_one_in(w->r, 2) ? " < " : " == ");
    write_expr(w, 2);
}

static void write_let(writer *w)
{
    bool is_mutable = rng_one_in(w->r, 2);
    if (w->var_count == 64 || w->mut_count == 64)
        return;
    str_addf(&w->out, "let %sv%d: i32 = ", is_mutable ? "mut " : "", w->next);
    write_expr(w, 3);
    str_addc(&w->out, '\n');
    if (is_mutable)
        w->muts[w->mut_count++] = w->next;
    w->vars[w->var_count++] = w->next++;
}

static void write_assign(writer *w)
{
    if (!w->mut_count)
        return;
    str_addf(&w->out, "v%d = ", w->muts[rng_below(w->r, w->mut_count)]);
    write_expr(w, 3);
    str_addc(&w->out, '\n');
}

// Into the array that is seen outside, one of the program's own that it reads, or one that is never read.
static void write_store(writer *w)
{
    static const char *const arrays[] = {"out", "own", "unread"};
    str_addf(&w->out, "%s[(", arrays[rng_below(w->r, 3)]);
    write_expr(w, 2);
    str_adds(&w->out, ") & 7] = ");
    write_expr(w, 3);
    str_addc(&w->out, '\n');
}

static void write_inner(writer *w, int depth)
{
    int vars = w->var_count, muts = w->mut_count;
    str_adds(&w->out, " {\n");
    write_block(w, depth - 1);
    str_addc(&w->out, '}');
    w->var_count = vars;
    w->mut_count = muts;
}

static void write_for(writer *w, int depth)
{
    static const char *const marks[] = {"", " unroll", " unroll_full", " unroll_full", " plain"};
    int v = w->next++, step = rng_below(w->r, 5) - 2;
    str_addf(&w->out, "for v%d: i32 in ", v);
    if (rng_one_in(w->r, 4) && w->var_count)
        str_addf(&w->out, "v%d & 3", w->vars[rng_below(w->r, w->var_count)]);
    else
        str_addf(&w->out, "%d", rng_below(w->r, 5));
    str_addf(&w->out, " to %d step %d%s", rng_below(w->r, 6), step ? step : 1, marks[rng_below(w->r, 5)]);
    int vars = w->var_count;
    if (w->var_count < 64)
        w->vars[w->var_count++] = v;
    w->loops++;
    write_inner(w, depth);
    w->loops--;
    w->var_count = vars;
    str_addc(&w->out, '\n');
}

// Counts down, so that it ends.
static void write_while(writer *w, int depth)
{
    int v = w->next++;
    str_addf(&w->out, "let mut v%d: i32 = %d\nwhile v%d > 0 {\nv%d = v%d - 1\nif true", v, rng_below(w->r, 4), v, v, v);
    w->loops++;
    write_inner(w, depth);
    w->loops--;
    str_adds(&w->out, "\n}\n");
}

static void write_if(writer *w, int depth)
{
    str_adds(&w->out, "if ");
    write_condition(w);
    write_inner(w, depth);
    if (rng_one_in(w->r, 2)) {
        str_adds(&w->out, " else");
        write_inner(w, depth);
    }
    str_addc(&w->out, '\n');
}

static void write_scope(writer *w, int depth)
{
    if (w->label_count == 16)
        return;
    int label = w->next++;
    w->labels[w->label_count++] = label;
    str_addf(&w->out, "scope %d", label);
    write_inner(w, depth);
    str_addc(&w->out, '\n');
    w->label_count--;
}

static void write_jump(writer *w)
{
    if (w->loops && rng_one_in(w->r, 2))
        str_adds(&w->out, rng_one_in(w->r, 2) ? "break\n" : "continue\n");
    else if (w->label_count)
        str_addf(&w->out, "leave %d\n", w->labels[rng_below(w->r, w->label_count)]);
    else if (rng_one_in(w->r, 8))
        str_adds(&w->out, "return\n");
}

static void write_stmt(writer *w, int depth)
{
    switch (rng_below(w->r, depth > 0 ? 12 : 7)) {
    case 0:
    case 1: write_let(w); break;
    case 2: write_assign(w); break;
    case 3:
    case 4: write_store(w); break;
    case 5: rng_one_in(w->r, 3) ? write_jump(w) : write_store(w); break;
    case 6:
        write_expr(w, 2);
        str_addc(&w->out, '\n');
        break;
    case 7:
    case 8: write_for(w, depth); break;
    case 9: write_while(w, depth); break;
    case 10: write_scope(w, depth); break;
    default: write_if(w, depth); break;
    }
}

static void write_block(writer *w, int depth)
{
    for (int n = 1 + rng_below(w->r, 5); n > 0 && w->budget-- > 0; n--)
        write_stmt(w, depth);
}

static const char *write_program(arena *a, rng *r)
{
    writer w = {.r = r, .budget = 40};
    str_buf_init(&w.out, a);
    str_adds(&w.out, "public device @f(out: i32[8] global layout row_major(8) storage 8, n: i32) {\n"
                     "alloc own: i32[8] local layout row_major(8) storage 8 = 1\n"
                     "alloc unread: i32[8] shared layout row_major(8) storage 8 = 1\n");
    write_block(&w, 4);
    str_adds(&w.out, "}\n");
    return str_text(&w.out);
}

// ---- running -----------------------------------------------------------------------------------------------------

typedef struct outcome {
    ire_event *events;
    size_t count;
    int64_t steps;
} outcome;

// The stores to [out], in order.
static outcome run(fixture *f, ir_module *m)
{
    ire r;
    ir_func *func = m->funcs.at[0];
    const ir_var *out = func->params.at[0];
    ire_init(&r, &f->arena, m);
    r.record = true;
    ire_set(&r, func->params.at[1], 5);
    ire_array *array = ire_array_of(&r, out, 8);
    for (int64_t i = 0; i < array->count; i++)
        array->at[i] = (ire_value){.i = i * 3};
    ire_run(&r, &func->body);
    if (r.error)
        fail_msg("%s in\n%s", r.error, fixture_print(f, m));
    outcome result = {r.events.at, 0, r.steps};
    for (size_t i = 0; i < r.events.len; i++)
        if (r.events.at[i].tensor == out)
            result.events[result.count++] = r.events.at[i];
    return result;
}

static void check_same(fixture *f, outcome before, outcome after, ir_module *m)
{
    bool same = before.count == after.count;
    for (size_t i = 0; same && i < before.count; i++)
        same = before.events[i].offset == after.events[i].offset && before.events[i].value.i == after.events[i].value.i;
    if (same)
        return;
    fputs(fixture_print(f, m), stderr);
    fail_msg("the programs differ");
}

static void run_passes(fixture *f, ir_module *m, rng *r)
{
    ir_pass_context px = {.module = m, .scratch = &f->scratch, .diags = &f->diags};
    for (int i = 0; i < 3; i++) {
        bool fine = rng_one_in(r, 2) ? ir_pass_unroll(&px) : ir_pass_dce(&px);
        if (!fine || !ir_verify(m))
            fail_msg("%s", fixture_messages(f));
    }
}

static void behaviour_stays(void **state)
{
    (void)state;
    int64_t before_steps = 0, after_steps = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        fixture f;
        rng r = {seed};
        fixture_init(&f);
        const char *text = write_program(&f.arena, &r);
        ir_module *before = fixture_read(&f, text), *after = fixture_read(&f, text);
        if (!before || !ir_verify(before))
            fail_msg("%s\n%s", fixture_messages(&f), text);
        run_passes(&f, after, &r);
        outcome first = run(&f, before), second = run(&f, after);
        check_same(&f, first, second, before);
        before_steps += first.steps;
        after_steps += second.steps;
        fixture_free(&f);
    }
    assert_true(after_steps * 4 < before_steps * 3);
}

// The flag that dumps call '(unchanged)' tells the truth, and a few rounds reach the end.
static void dce_says_whether_it_changed_anything(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        fixture f;
        rng r = {seed};
        fixture_init(&f);
        ir_module *m = fixture_read(&f, write_program(&f.arena, &r));
        ir_pass_context px = {.module = m, .scratch = &f.scratch, .diags = &f.diags, .changed = true};
        for (int rounds = 0; px.changed; rounds++) {
            const char *before = fixture_print(&f, m);
            assert_in_range(rounds, 0, 8);
            px.changed = false;
            assert_true(ir_pass_dce(&px));
            assert_int_equal(strcmp(before, fixture_print(&f, m)) != 0, px.changed);
        }
        fixture_free(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behaviour_stays),
        cmocka_unit_test(dce_says_whether_it_changed_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
