// Allocation of shared memory against brute force: random structured programs are run along random paths, and no path may
// find two tensors in the same bytes without a barrier between their uses, or one overwritten while it is in use.
#include "fixture.h"
#include "random_ir.h"

enum { MAX_TENSORS = 64 };

// ---- random programs, as text ------------------------------------------------------------------------------------

typedef struct writer {
    str_buf out;
    rng *r;
    int tensors, pointers, labels;
    int visible[MAX_TENSORS], visible_count;
    int pointer_visible[MAX_TENSORS], pointer_count;
    int open_labels[MAX_TENSORS], label_count;
    int loops, budget;
} writer;

static void write_block(writer *w, int depth);

static void write_alloc(writer *w)
{
    int n = w->tensors++;
    str_addf(&w->out, "alloc T%d: f32[%d] shared layout row_major(%d)\n", n, 16 << n % 4, 16 << n % 4);
    w->visible[w->visible_count++] = n;
}

static void write_use(writer *w)
{
    if (!w->visible_count)
        return;
    int n = w->visible[rng_below(w->r, w->visible_count)];
    if (rng_one_in(w->r, 3))
        str_addf(&w->out, "x[0] = T%d[n]\n", n);
    else
        str_addf(&w->out, "T%d[n] = 1.0\n", n);
}

static void write_pointer(writer *w)
{
    int n = w->pointers++;
    if (w->pointer_count && rng_one_in(w->r, 3))
        str_addf(&w->out, "let mut p%d: ~shared f32 = p%d + 1\n", n,
                 w->pointer_visible[rng_below(w->r, w->pointer_count)]);
    else if (w->visible_count)
        str_addf(&w->out, "let mut p%d: ~shared f32 = &T%d[n]\n", n, w->visible[rng_below(w->r, w->visible_count)]);
    else
        return;
    w->pointer_visible[w->pointer_count++] = n;
}

static void write_pointer_use(writer *w)
{
    if (!w->pointer_count)
        return;
    int p = w->pointer_visible[rng_below(w->r, w->pointer_count)];
    if (rng_one_in(w->r, 4) && w->visible_count)
        str_addf(&w->out, "p%d = &T%d[n]\n", p, w->visible[rng_below(w->r, w->visible_count)]);
    else
        str_addf(&w->out, "p%d[n] = 1.0\n", p);
}

static void write_inner(writer *w, const char *head, int depth)
{
    int visible = w->visible_count, pointers = w->pointer_count;
    str_addf(&w->out, "%s {\n", head);
    write_block(w, depth - 1);
    str_adds(&w->out, "}");
    w->visible_count = visible;
    w->pointer_count = pointers;
}

static void write_loop(writer *w, int depth)
{
    w->loops++;
    write_inner(w, rng_one_in(w->r, 3) ? "while x[1] < 1.0" : "for i: i32 in 0 to n", depth);
    str_addc(&w->out, '\n');
    w->loops--;
}

static void write_jump(writer *w)
{
    if (w->loops && rng_one_in(w->r, 2))
        str_adds(&w->out, rng_one_in(w->r, 2) ? "if n > 1 {\nbreak\n}\n" : "if n > 1 {\ncontinue\n}\n");
    else if (w->label_count)
        str_addf(&w->out, "if n > 1 {\nleave %d\n}\n", w->open_labels[rng_below(w->r, w->label_count)]);
}

static void write_scope(writer *w, int depth)
{
    char head[32];
    int label = w->labels++;
    w->open_labels[w->label_count++] = label;
    snprintf(head, sizeof head, "scope %d", label);
    write_inner(w, head, depth);
    str_addc(&w->out, '\n');
    w->label_count--;
}

static void write_if(writer *w, int depth)
{
    char head[32];
    snprintf(head, sizeof head, "if bid.x < %d", 1 + rng_below(w->r, 3));
    write_inner(w, rng_one_in(w->r, 2) ? "if x[2] > 0.0" : head, depth); // the same for whole blocks, or not
    if (rng_one_in(w->r, 2))
        write_inner(w, " else", depth);
    str_addc(&w->out, '\n');
}

static void write_stmt(writer *w, int depth)
{
    switch (rng_below(w->r, depth > 0 ? 14 : 10)) {
    case 0:
    case 1: write_alloc(w); break;
    case 2:
    case 3:
    case 4: write_use(w); break;
    case 5:
    case 6: str_adds(&w->out, "!bar()\n"); break;
    case 7: write_pointer(w); break;
    case 8: write_pointer_use(w); break;
    case 9: write_jump(w); break;
    case 10: write_if(w, depth); break;
    case 11: write_scope(w, depth); break;
    default: write_loop(w, depth); break;
    }
}

static void write_block(writer *w, int depth)
{
    for (int n = 1 + rng_below(w->r, 7); n > 0 && w->tensors < MAX_TENSORS - 8 && w->budget-- > 0; n--)
        write_stmt(w, depth);
}

static const char *write_program(arena *a, rng *r)
{
    writer w = {.r = r, .budget = 60};
    str_buf_init(&w.out, a);
    str_adds(&w.out, "intrin bar {\nptx \"bar\"\nscope block\neffects barrier\n}\n"
                     "public kernel @k(x: f32[4] global layout row_major(4), n: i32) {\n");
    write_block(&w, 4);
    str_adds(&w.out, "}\n");
    return str_text(&w.out);
}

// ---- running along a random path ---------------------------------------------------------------------------------

typedef struct tensor_state {
    const ir_var *var;
    int64_t begin, end;
    int born, first_use, last_use;  // times; -1: not yet
} tensor_state;

typedef struct path {
    rng *r;
    tensor_state tensors[MAX_TENSORS];
    int count;
    map pointers;   // ir_var* -> ir_var* of the tensor
    int time, barrier, steps;
    int label;
    int block;      // index in the grid
    const char *problem;
} path;

typedef enum flow { NEXT, BREAK, CONTINUE, LEAVE, RETURN } flow;

static tensor_state *state_of(path *p, const ir_var *v)
{
    for (int i = 0; i < p->count; i++)
        if (p->tensors[i].var == v)
            return &p->tensors[i];
    tensor_state *t = &p->tensors[p->count++];
    *t = (tensor_state){v, v->tensor->smem_offset, v->tensor->smem_offset + v->tensor->layout->size * 4, -1, -1, -1};
    return t;
}

static void use_tensor(path *p, const ir_var *v)
{
    tensor_state *t = state_of(p, v);
    p->time++;
    for (int i = 0; i < p->count; i++) {
        tensor_state *o = &p->tensors[i];
        if (o == t || o->last_use < 0 || o->begin >= t->end || t->begin >= o->end)
            continue;
        if (p->barrier < o->last_use)
            p->problem = "no barrier between uses of the same bytes";
        if (t->first_use >= 0 && o->last_use > t->first_use)
            p->problem = "overwritten while in use";
    }
    t->first_use = t->first_use < 0 ? p->time : t->first_use;
    t->last_use = p->time;
}

static void use_pointer(path *p, const ir_expr *e)
{
    while (e->op == IR_OP_ADD)
        e = e->args[0];
    const ir_var *tensor = e->op == IR_OP_ADDR ? e->u.var : map_get_ptr(&p->pointers, e->u.var);
    if (tensor)
        use_tensor(p, tensor);
}

static void keep_pointer(path *p, const ir_var *to, const ir_expr *e)
{
    while (e->op == IR_OP_ADD)
        e = e->args[0];
    const ir_var *tensor = e->op == IR_OP_ADDR ? e->u.var : map_get_ptr(&p->pointers, e->u.var);
    map_put_ptr(&p->pointers, to, (void *)(uintptr_t)tensor);
}

static flow run_block(path *p, const ir_block *b);

static flow run_loop(path *p, const ir_stmt *s)
{
    for (int n = rng_below(p->r, 4); n > 0; n--) {
        flow f = run_block(p, &s->body);
        if (f == BREAK)
            break;
        if (f == LEAVE || f == RETURN)
            return f;
    }
    return NEXT;
}

static bool is_taken(path *p, const ir_expr *condition)
{
    bool is_common = condition->op == IR_OP_LT && condition->args[0]->op == IR_OP_SREG;
    return is_common ? p->block < condition->args[1]->u.i : rng_one_in(p->r, 2);
}

static flow run_stmt(path *p, const ir_stmt *s)
{
    flow f;
    switch (s->kind) {
    case IR_ALLOC: state_of(p, s->var)->first_use = -1; return NEXT;
    case IR_STORE:
        if (s->value->op == IR_OP_LOAD)
            use_tensor(p, s->value->u.var);
        if (s->var->tensor->space == IR_SHARED)
            use_tensor(p, s->var);
        return NEXT;
    case IR_PSTORE: use_pointer(p, s->args[0]); return NEXT;
    case IR_DECL:
    case IR_ASSIGN: keep_pointer(p, s->var, s->value); return NEXT;
    case IR_EVAL: p->barrier = ++p->time; return NEXT;
    case IR_IF: return run_block(p, is_taken(p, s->value) ? &s->body : &s->or_else);
    case IR_FOR:
    case IR_WHILE: return run_loop(p, s);
    case IR_SCOPE_OF: f = run_block(p, &s->body); return f == LEAVE && p->label == s->count ? NEXT : f;
    case IR_LEAVE: p->label = s->count; return LEAVE;
    case IR_BREAK: return BREAK;
    case IR_CONTINUE: return CONTINUE;
    default: return RETURN;
    }
}

static flow run_block(path *p, const ir_block *b)
{
    for (size_t i = 0; i < b->stmts.len; i++) {
        if (p->steps++ > 5000)
            return RETURN;
        flow f = run_stmt(p, b->stmts.at[i]);
        if (f != NEXT)
            return f;
    }
    return NEXT;
}

static int64_t bytes_apart(const ir_block *b)
{
    int64_t sum = 0;
    for (size_t i = 0; i < b->stmts.len; i++) {
        const ir_stmt *s = b->stmts.at[i];
        if (s->kind == IR_ALLOC)
            sum += s->var->tensor->layout->size * 4;
        sum += bytes_apart(&s->body) + bytes_apart(&s->or_else);
    }
    return sum;
}

static void paths_never_meet(void **state)
{
    (void)state;
    int64_t taken = 0, apart = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        fixture f;
        rng r = {seed};
        fixture_init(&f);
        const char *text = write_program(&f.arena, &r);
        ir_module *m = fixture_read(&f, text);
        ir_pass_context px = {.module = m, .scratch = &f.scratch, .diags = &f.diags};
        if (!m || !ir_verify(m) || !ir_pass_allocate_shared(&px))
            fail_msg("%s\n%s", fixture_messages(&f), text);
        ir_func *k = m->funcs.at[0];
        taken += k->static_smem_bytes;
        apart += bytes_apart(&k->body);
        for (int i = 0; i < 60; i++) {
            path *p = ARENA_NEW(&f.scratch, path);
            *p = (path){.r = &r, .barrier = -1, .block = i % 4};
            map_init(&p->pointers, &f.scratch);
            run_block(p, &k->body);
            if (!p->problem)
                continue;
            fputs(fixture_print(&f, m), stderr);  // too long for cmocka's buffer
            fail_msg("seed %d: %s", (int)seed, p->problem);
        }
        fixture_free(&f);
    }
    // The point of it all: bytes are shared, and not only by unused tensors.
    assert_true(taken * 4 < apart * 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(paths_never_meet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
