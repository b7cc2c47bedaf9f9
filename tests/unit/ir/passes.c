// The lowering passes as a whole: programs before and after them leave the same values in memory.
//
// Programs are made twice from one seed; one of the two is lowered; the interpreter runs both, thread by thread.
#include "ir/pass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../../tools/ireval.h"

typedef struct program {
    arena mem, scratch;
    src_map sources;
    diag_context diags;
    sym_table syms;
    ir_module *m;
    ir_func *f;
    uint64_t seed;
    ir_var *m_size, *n_size;
    ir_var *x, *y;
    const tm_map *map;
    ir_expr *worker;
    int64_t threads[2], blocks[2];
} program;

static const src_span nowhere = {0};

static int64_t pick(program *p, int64_t count)
{
    p->seed ^= p->seed << 13;
    p->seed ^= p->seed >> 7;
    p->seed ^= p->seed << 17;
    return (int64_t)((p->seed >> 11) % (uint64_t)count);
}

static ir_expr *number(program *p, int64_t v)
{
    return ir_int(p->m, DT_I32, v);
}
static ir_expr *read_of(program *p, ir_var *v)
{
    return ir_read(p->m, v, nowhere);
}
static ir_expr *sreg(program *p, ir_sreg r)
{
    return ir_sreg_read(p->m, r, nowhere);
}
static ir_expr *op2(program *p, ir_op op, ir_expr *a, ir_expr *b)
{
    return ir_binary(p->m, op, a, b, nowhere);
}
static ir_expr *plus(program *p, ir_expr *a, ir_expr *b)
{
    return op2(p, IR_OP_ADD, a, b);
}
static ir_expr *times(program *p, ir_expr *a, int64_t b)
{
    return op2(p, IR_OP_MUL, a, number(p, b));
}

static void open_program(program *p, uint64_t seed)
{
    *p = (program){.seed = seed * UINT64_C(0x9e3779b97f4a7c15) + 1, .threads = {1, 1}, .blocks = {1, 1}};
    arena_init(&p->mem, NULL);
    arena_init(&p->scratch, NULL);
    src_map_init(&p->sources, &p->mem);
    diag_init(&p->diags, &p->mem, &p->sources);
    sym_init(&p->syms, &p->mem);
    p->m = ir_module_new(&p->mem, &p->syms, &p->diags, arch_find(STR("sm_90")), "test");
    p->f = ir_func_new(p->m, IR_KERNEL, "f", nowhere);
    ir_func_add(p->m, p->f);
    for (int i = 0; i < 20; i++)
        pick(p, 2);
}

static void close_program(program *p)
{
    arena_free(&p->scratch);
    arena_free(&p->mem);
}

static void set_launch(program *p)
{
    for (int axis = 0; axis < 2; axis++) {
        p->f->block[axis] = number(p, p->threads[axis]);
        p->f->grid[axis] = number(p, p->blocks[axis]);
        if (p->blocks[axis] == 1 || pick(p, 2))
            continue;
        // A grid that only the launch knows.
        ir_var *v = ir_var_new(p->m, IR_VAR_PARAM, axis ? "rows" : "columns", ir_scalar(p->m, DT_I32), nowhere);
        VEC_PUSH(&p->mem, &p->f->params, v);
        p->f->grid[axis] = read_of(p, v);
    }
}

static ir_stmt *append(program *p, ir_block *b, ir_stmt_kind kind)
{
    ir_stmt *s = ir_new_stmt(p->m, kind, nowhere, 0);
    ir_append(p->m, b, s);
    return s;
}

static ir_var *new_tensor(program *p, ir_var_kind kind, const char *name, dtype elem, ir_space space)
{
    ir_tensor *t = ARENA_NEW(&p->mem, ir_tensor);
    t->elem = ir_scalar(p->m, elem);
    t->space = space;
    t->storage_elems = t->smem_offset = -1;
    t->align_bytes = pick(p, 3) ? 16 : 0;
    return ir_tensor_var(p->m, kind, name, t, nowhere);
}

static void shape_static(program *p, ir_tensor *t, int rank, const int64_t *shape)
{
    t->rank = rank;
    t->shape = ARENA_ARRAY(&p->mem, ir_expr *, rank + 1);
    for (int d = 0; d < rank; d++)
        t->shape[d] = number(p, shape[d]);
}

static ir_var *allocate(program *p, ir_block *b, ir_var *v, ir_expr *fill)
{
    ir_stmt *s = append(p, b, IR_ALLOC);
    s->var = v;
    s->value = fill;
    return v;
}

// ---- mappings ------------------------------------------------------------------------------------------------------

static const tm_map *factor(program *p, int rank)
{
    static const int64_t extents[] = {1, 1, 2, 2, 3, 4, 4, 8};
    static const char *const attrs[] = {NULL, "u", "u+", ".", "u2"};
    int64_t shape[TM_MAX_RANK];
    int ranks[TM_MAX_RANK];
    tm_reason why;
    for (int d = 0; d < rank; d++) {
        shape[d] = extents[pick(p, 8)];
        ranks[d] = d;
    }
    if (rank == 2 && pick(p, 3) == 0) {
        ranks[0] = 1;
        ranks[1] = 0;
    }
    return pick(p, 2) ? tm_spatial(&p->mem, rank, shape, ranks, &why)
                      : tm_repeat(&p->mem, rank, shape, ranks, attrs[pick(p, 5)], &why);
}

static const tm_map *random_map(program *p, int rank)
{
    tm_reason why;
    const tm_map *m = factor(p, rank);
    for (int64_t count = pick(p, 4); count > 0; count--) {
        const tm_map *next = tm_compose(&p->mem, m, factor(p, rank), &why);
        if (!next || next->workers > 64 || next->tasks_per_worker > 64)
            break;
        m = next;
    }
    return m;
}

// The block's threads in one or two dimensions, possibly more than the mapping has workers.
static void choose_worker(program *p)
{
    p->threads[0] = p->map->workers + (pick(p, 3) ? 0 : pick(p, 5));
    p->worker = sreg(p, IR_TID_X);
    if (pick(p, 3) == 0 && p->map->workers % 2 == 0) {
        p->threads[0] = p->map->workers / 2;
        p->threads[1] = 2;
        p->worker = plus(p, times(p, sreg(p, IR_TID_Y), p->threads[0]), sreg(p, IR_TID_X));
    }
    if (pick(p, 2)) {
        ir_stmt *decl = append(p, &p->f->body, IR_DECL);
        decl->var = ir_var_new(p->m, IR_VAR_LOCAL, "t", ir_scalar(p->m, DT_I32), nowhere);
        decl->value = p->worker;
        p->worker = read_of(p, decl->var);
    }
}

static ir_stmt *tasks(program *p, ir_block *b, const tm_map *mapping)
{
    static const char *const names[] = {"i", "j", "l", "o"};
    ir_stmt *s = append(p, b, IR_TASKS);
    s->map = mapping;
    s->vars = ARENA_ARRAY(&p->mem, ir_var *, mapping->rank);
    for (int d = 0; d < mapping->rank; d++)
        s->vars[d] = ir_var_new(p->m, IR_VAR_LOOP, names[d], ir_scalar(p->m, DT_I32), nowhere);
    s->args = ARENA_ARRAY(&p->mem, ir_expr *, 1);
    s->args[0] = p->worker;
    s->arg_count = 1;
    return s;
}

static void store(program *p, ir_block *b, ir_var *v, ir_expr **index, int rank, ir_expr *value, int flags)
{
    ir_stmt *s = append(p, b, IR_STORE);
    s->var = v;
    s->args = arena_dup(&p->mem, index, sizeof *index * (size_t)rank);
    s->arg_count = rank;
    s->value = value;
    s->flags = (uint8_t)flags;
}

// ---- running -------------------------------------------------------------------------------------------------------

static void lower(program *p, bool wide)
{
    ir_pass_options options = {.verify_each = true, .wide_access = wide};
    ir_pass_context px = {.module = p->m, .scratch = &p->scratch, .diags = &p->diags, .options = &options};
    for (int i = 0; ir_pass_at(i); i++) {
        if (ir_run_pass(&px, ir_pass_at(i)))
            continue;
        str_buf text;
        str_buf_init(&text, &p->mem);
        diag_render_text(&p->diags, &text, (diag_style){0});
        ir_print(p->m, &text);
        fail_msg("%s failed: %s", ir_pass_at(i)->name, str_text(&text));
    }
}

static const char *text_of(program *p)
{
    str_buf text;
    str_buf_init(&text, &p->mem);
    ir_print(p->m, &text);
    return str_text(&text);
}

typedef struct outcome {
    ire run;
    program *p;
} outcome;

static void run_all(outcome *o, program *p, int64_t m_value, int64_t n_value, int64_t elements)
{
    o->p = p;
    ire_init(&o->run, &p->mem, p->m);
    o->run.record = true;
    if (p->m_size)
        ire_set(&o->run, p->m_size, m_value);
    if (p->n_size)
        ire_set(&o->run, p->n_size, n_value);
    for (int i = 0; i < 2; i++) {
        ir_var *v = i ? p->y : p->x;
        ire_array *a = v ? ire_array_of(&o->run, v, elements) : NULL;
        for (int64_t k = 0; a && k < a->count; k++)
            a->at[k] = dt_is_float(v->tensor->elem->scalar) ? (ire_value){.f = (double)(k % 97 + i)}
                                                            : (ire_value){.i = k % 97 + i};
    }
    int64_t count = p->blocks[0] * p->blocks[1] * p->threads[0] * p->threads[1];
    for (int64_t id = 0; id < count && !o->run.error; id++) {
        int64_t rest = id;
        o->run.sregs[IR_TID_X] = rest % p->threads[0], rest /= p->threads[0];
        o->run.sregs[IR_TID_Y] = rest % p->threads[1], rest /= p->threads[1];
        o->run.sregs[IR_BID_X] = rest % p->blocks[0], rest /= p->blocks[0];
        o->run.sregs[IR_BID_Y] = rest;
        ire_run(&o->run, &p->f->body);
    }
    if (o->run.error)
        fail_msg("%s\n%s", o->run.error, text_of(p));
    if (o->run.overflowed)
        fail_msg("overflow in\n%s", text_of(p));
}

static void expect_same_memory(outcome *before, outcome *after, ir_var *v, ir_var *w)
{
    ire_array *a = ire_array_of(&before->run, v, 0), *b = ire_array_of(&after->run, w, 0);
    assert_int_equal(a->count, b->count);
    for (int64_t i = 0; i < a->count; i++)
        if (a->at[i].i != b->at[i].i || a->at[i].f != b->at[i].f)
            fail_msg("element %ld of %s: %ld, %g before and %ld, %g after\n%s\n%s", (long)i, v->name, (long)a->at[i].i,
                     a->at[i].f, (long)b->at[i].i, b->at[i].f, text_of(before->p), text_of(after->p));
}

typedef void generator(program *p);

static int copies_in(const ir_block *b)
{
    int count = 0;
    for (size_t i = 0; i < b->stmts.len; i++) {
        const ir_stmt *s = b->stmts.at[i];
        count += (s->kind == IR_COPY) + copies_in(&s->body) + copies_in(&s->or_else);
    }
    return count;
}

// Copies in the lowered programs.
static int compare(generator *make, uint64_t seed, int64_t unit)
{
    program before, after;
    open_program(&before, seed);
    open_program(&after, seed);
    make(&before);
    make(&after);
    lower(&after, true);
    int64_t m_value = 1 + (int64_t)(seed % 23), n_value = unit * (1 + (int64_t)(seed % 11));
    outcome a, b;
    run_all(&a, &before, m_value, n_value, m_value * n_value);
    run_all(&b, &after, m_value, n_value, m_value * n_value);
    if (before.x)
        expect_same_memory(&a, &b, before.x, after.x);
    expect_same_memory(&a, &b, before.y, after.y);
    int copies = copies_in(&after.f->body);
    close_program(&before);
    close_program(&after);
    return copies;
}

// ---- task loops ----------------------------------------------------------------------------------------------------

static int64_t flat_of(const int64_t *index, const int64_t *shape, int rank)
{
    int64_t flat = 0;
    for (int d = 0; d < rank; d++)
        flat = flat * shape[d] + index[d];
    return flat;
}

static void make_visits(program *p)
{
    tm_reason why;
    int rank = 1 + (int)pick(p, 3);
    p->map = random_map(p, rank);
    choose_worker(p);
    set_launch(p);
    p->y = new_tensor(p, IR_VAR_PARAM, "y", DT_I32, IR_GLOBAL);
    shape_static(p, p->y->tensor, rank, p->map->shape);
    p->y->tensor->layout = tm_layout_row_major(&p->mem, rank, p->map->shape, &why);
    VEC_PUSH(&p->mem, &p->f->params, p->y);
    ir_stmt *loop = tasks(p, &p->f->body, p->map);
    ir_expr *index[TM_MAX_RANK];
    for (int d = 0; d < rank; d++)
        index[d] = read_of(p, loop->vars[d]);
    store(p, &loop->body, p->y, index, rank, number(p, 7), 0);
}

static void test_tasks_in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 250; seed++) {
        program p;
        open_program(&p, seed);
        make_visits(&p);
        lower(&p, false);
        outcome o;
        run_all(&o, &p, 0, 0, 0);
        size_t at = 0;
        for (int64_t w = 0; w < p.map->workers; w++) {
            for (int64_t k = 0; k < p.map->tasks_per_worker; k++) {
                int64_t coords[TM_MAX_RANK];
                tm_task(p.map, w, k, coords);
                if (at == o.run.events.len || o.run.events.at[at].offset != flat_of(coords, p.map->shape, p.map->rank))
                    fail_msg("task %ld of worker %ld\n%s", (long)k, (long)w, text_of(&p));
                at++;
            }
        }
        assert_int_equal(at, o.run.events.len);
        close_program(&p);
    }
}

// ---- register tensors ----------------------------------------------------------------------------------------------

// acc[i, j] = hash(i, j); rows[i] = rows[i] + acc[i, j]; y[i, j] = acc[i, j] · rows[i]
static void make_registers(program *p)
{
    tm_reason why;
    make_visits(p);
    p->f->body.stmts.len--;
    ir_var *acc = new_tensor(p, IR_VAR_LOCAL, "acc", DT_I32, IR_REGISTER);
    shape_static(p, acc->tensor, p->map->rank, p->map->shape);
    acc->tensor->map = p->map;
    acc->tensor->worker = p->worker;
    allocate(p, &p->f->body, acc, number(p, 3));
    ir_var *rows = new_tensor(p, IR_VAR_LOCAL, "rows", DT_I32, IR_REGISTER);
    int dropped = (int)pick(p, p->map->rank);
    rows->tensor->map = tm_without(&p->mem, p->map, dropped, &why);
    bool has_rows = p->map->rank > 1 && rows->tensor->map;
    if (has_rows) {
        shape_static(p, rows->tensor, rows->tensor->map->rank, rows->tensor->map->shape);
        rows->tensor->worker = p->worker;
        allocate(p, &p->f->body, rows, number(p, 1));
    }
    for (int round = 0; round < 2; round++) {
        ir_stmt *loop = tasks(p, &p->f->body, p->map);
        ir_expr *index[TM_MAX_RANK], *row[TM_MAX_RANK], *hash = number(p, round);
        int row_rank = 0;
        for (int d = 0; d < p->map->rank; d++) {
            index[d] = read_of(p, loop->vars[d]);
            hash = plus(p, times(p, hash, 5), index[d]);
            if (d != dropped)
                row[row_rank++] = index[d];
        }
        ir_expr *now = ir_load(p->m, acc, index, p->map->rank, NULL, nowhere);
        ir_expr *of_row = has_rows ? ir_load(p->m, rows, row, row_rank, NULL, nowhere) : number(p, 2);
        if (round == 0) {
            store(p, &loop->body, acc, index, p->map->rank, plus(p, now, hash), 0);
            if (has_rows)
                store(p, &loop->body, rows, row, row_rank,
                      plus(p, of_row, ir_load(p->m, acc, index, p->map->rank, NULL, nowhere)), 0);
        } else {
            store(p, &loop->body, p->y, index, p->map->rank, plus(p, times(p, now, 3), of_row), 0);
        }
    }
}

static void test_registers(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 250; seed++)
        compare(make_registers, seed, 1);
}

// ---- layouts -------------------------------------------------------------------------------------------------------

static const tm_layout *simple_layout(program *p, int64_t rows, int64_t columns)
{
    tm_reason why;
    int64_t shape[2] = {rows, columns}, strides[2] = {columns + 1, 1};
    switch (pick(p, 3)) {
    case 0:
        return tm_layout_row_major(&p->mem, 2, shape, &why);
    case 1:
        return tm_layout_column_major(&p->mem, 2, shape, &why);
    default:
        return tm_layout_strided(&p->mem, 2, shape, strides, &why);
    }
}

static const tm_layout *random_layout(program *p)
{
    tm_reason why;
    int64_t rows = (int64_t)1 << pick(p, 4), columns = (int64_t)1 << (1 + pick(p, 5));
    const tm_layout *l = simple_layout(p, rows, columns);
    for (int64_t count = pick(p, 4); count > 0; count--) {
        const tm_layout *next = NULL;
        int64_t shape[2] = {l->shape[1], l->shape[0]};
        int swap[2] = {1, 0};
        switch (pick(p, 6)) {
        case 0:
            next = tm_layout_compose(&p->mem, l, simple_layout(p, 2, 4), &why);
            break;
        case 1:
            next = tm_layout_compose(&p->mem, simple_layout(p, 3, 2), l, &why);
            break;
        case 2:
            next = tm_layout_swizzle(&p->mem, l, (int)pick(p, 2), -1, (int)pick(p, 2), &why);
            break;
        case 3:
            next = tm_layout_xor(&p->mem, l, 1 + (int)pick(p, 3), (int)pick(p, 4), 3, &why);
            break;
        case 4:
            next = tm_layout_reshape(&p->mem, l, 2, shape, &why);
            break;
        default:
            next = tm_layout_permute(&p->mem, l, swap, &why);
            break;
        }
        l = next && next->size <= 4096 ? next : l;
    }
    return l;
}

static ir_stmt *loop_over(program *p, ir_block *b, const char *name, int64_t extent)
{
    ir_stmt *s = append(p, b, IR_FOR);
    s->var = ir_var_new(p->m, IR_VAR_LOOP, name, ir_scalar(p->m, DT_I32), nowhere);
    s->args = ARENA_ARRAY(&p->mem, ir_expr *, 3);
    s->arg_count = 3;
    s->args[0] = number(p, 0);
    s->args[1] = number(p, extent);
    s->args[2] = number(p, 1);
    return s;
}

// s[i, j] = i·1000 + j; y[i, j] = s[i, j] + 1
static void make_layout(program *p)
{
    tm_reason why;
    const tm_layout *l = random_layout(p);
    ir_var *s = new_tensor(p, IR_VAR_LOCAL, "s", pick(p, 2) ? DT_I32 : DT_I16, pick(p, 3) ? IR_SHARED : IR_LOCAL);
    p->y = new_tensor(p, IR_VAR_PARAM, "y", s->tensor->elem->scalar, IR_GLOBAL);
    p->y->tensor->layout = tm_layout_row_major(&p->mem, 2, l->shape, &why);
    VEC_PUSH(&p->mem, &p->f->params, p->y);
    shape_static(p, s->tensor, 2, l->shape);
    shape_static(p, p->y->tensor, 2, l->shape);
    s->tensor->layout = l;
    s->tensor->storage_elems = l->size;
    allocate(p, &p->f->body, s, NULL);
    const ir_type *elem = s->tensor->elem;
    for (int round = 0; round < 2; round++) {
        ir_stmt *outer = loop_over(p, &p->f->body, "i", l->shape[0]),
                *inner = loop_over(p, &outer->body, "j", l->shape[1]);
        ir_expr *index[2] = {read_of(p, outer->var), read_of(p, inner->var)};
        ir_expr *hash = ir_cast(p->m, plus(p, times(p, index[0], 100), index[1]), elem, nowhere);
        ir_expr *next = ir_binary(p->m, IR_OP_ADD, ir_load(p->m, s, index, 2, NULL, nowhere),
                                  ir_int(p->m, elem->scalar, 1), nowhere);
        store(p, &inner->body, round ? p->y : s, index, 2, round ? next : hash, 0);
    }
}

static void test_layouts(void **state)
{
    (void)state;
    int copies = 0;
    for (uint64_t seed = 1; seed < 250; seed++)
        copies += compare(make_layout, seed, 1);
    assert_true(copies > 100);
}

// ---- guarded tiles of dynamic tensors ------------------------------------------------------------------------------

static int64_t unit_of(uint64_t seed)
{
    static const int64_t units[] = {1, 2, 4, 8};
    return units[seed % 4];
}

static void dynamic_tensor(program *p, ir_var **v, const char *name, dtype elem)
{
    *v = new_tensor(p, IR_VAR_PARAM, name, elem, IR_GLOBAL);
    ir_tensor *t = (*v)->tensor;
    t->rank = 2;
    t->shape = ARENA_ARRAY(&p->mem, ir_expr *, 2);
    t->strides = ARENA_ARRAY(&p->mem, ir_expr *, 2);
    t->shape[0] = read_of(p, p->m_size);
    t->shape[1] = t->strides[0] = read_of(p, p->n_size);
    t->strides[1] = number(p, 1);
    VEC_PUSH(&p->mem, &p->f->params, *v);
}

static ir_var *size_param(program *p, const char *name, int64_t divisor)
{
    ir_var *v = ir_var_new(p->m, IR_VAR_PARAM, name, ir_scalar(p->m, DT_I32), nowhere);
    v->is_size = true;
    v->divisor = divisor;
    VEC_PUSH(&p->mem, &p->f->params, v);
    return v;
}

static ir_expr *arithmetic(program *p, ir_expr *a, int64_t by)
{
    ir_expr *c =
        dt_is_float(a->type->scalar) ? ir_float(p->m, a->type->scalar, (double)by) : ir_int(p->m, a->type->scalar, by);
    return ir_binary(p->m, pick(p, 2) ? IR_OP_ADD : IR_OP_MUL, a, c, nowhere);
}

static ir_expr *outside_value(program *p, dtype t)
{
    return dt_is_float(t) ? ir_float(p->m, t, 5) : ir_int(p->m, t, 5);
}

// Each thread's tasks of a tile: y[top + i, left + j] = f(x[…]), by way of registers or shared memory or not, guarded.
static void make_tile(program *p)
{
    static const dtype types[] = {DT_F32, DT_F16, DT_I32, DT_I8, DT_F64};
    tm_reason why;
    dtype elem = types[pick(p, 5)];
    p->map = random_map(p, 2);
    choose_worker(p);
    dynamic_tensor(p, &p->x, "x", elem);
    dynamic_tensor(p, &p->y, "y", elem);
    p->blocks[0] = 1 + pick(p, 4);
    p->blocks[1] = 1 + pick(p, 3);
    set_launch(p);
    ir_expr *top = times(p, sreg(p, IR_BID_Y), p->map->shape[0]), *left = times(p, sreg(p, IR_BID_X), p->map->shape[1]);
    ir_var *between = NULL;
    int way = (int)pick(p, 4);
    if (way == 1 || way == 2) {
        between = new_tensor(p, IR_VAR_LOCAL, "between", elem, way == 1 ? IR_REGISTER : IR_SHARED);
        shape_static(p, between->tensor, 2, p->map->shape);
        if (way == 1) {
            between->tensor->map = p->map;
            between->tensor->worker = p->worker;
        } else {
            between->tensor->layout = tm_layout_row_major(&p->mem, 2, p->map->shape, &why);
            between->tensor->storage_elems = between->tensor->layout->size;
        }
        allocate(p, &p->f->body, between, NULL);
    }
    for (int round = between ? 0 : 1; round < 2; round++) {
        ir_stmt *loop = tasks(p, &p->f->body, p->map);
        ir_expr *inner[3] = {read_of(p, loop->vars[0]), read_of(p, loop->vars[1])};
        ir_expr *index[3] = {plus(p, top, inner[0]), plus(p, left, inner[1])};
        if (way == 3 && round == 1) {
            ir_stmt *column = append(p, &loop->body, IR_DECL);
            column->var = ir_var_new(p->m, IR_VAR_LOCAL, "column", ir_scalar(p->m, DT_I32), nowhere);
            column->value = index[1];
            index[1] = read_of(p, column->var);
        }
        ir_expr *value = between && round == 1 ? ir_load(p->m, between, inner, 2, NULL, nowhere)
                                               : ir_load(p->m, p->x, index, 2, outside_value(p, elem), nowhere);
        if (pick(p, 2))
            value = arithmetic(p, value, 1 + pick(p, 3));
        if (round == 1 && pick(p, 3) == 0)
            value = ir_binary(p->m, IR_OP_ADD, value, ir_load(p->m, p->y, index, 2, outside_value(p, elem), nowhere),
                              nowhere);
        if (between && round == 0)
            store(p, &loop->body, between, inner, 2, value, 0);
        else
            store(p, &loop->body, p->y, index, 2, value, IR_GUARDED);
    }
}

static void make_tile_1(program *p)
{
    p->m_size = size_param(p, "m", 1);
    p->n_size = size_param(p, "n", 1);
    make_tile(p);
}

static void make_tile_4(program *p)
{
    p->m_size = size_param(p, "m", 1);
    p->n_size = size_param(p, "n", 4);
    make_tile(p);
}

static void make_tile_8(program *p)
{
    p->m_size = size_param(p, "m", 1);
    p->n_size = size_param(p, "n", 8);
    make_tile(p);
}

static void test_guarded_tiles(void **state)
{
    (void)state;
    int narrow = 0, wide = 0;
    for (uint64_t seed = 1; seed < 200; seed++) {
        narrow += compare(make_tile_1, seed, unit_of(seed));
        wide += compare(make_tile_4, seed, 4);
        wide += compare(make_tile_8, seed, 8);
    }
    assert_true(wide > 100);
    (void)narrow;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks_in_order),
        cmocka_unit_test(test_registers),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_guarded_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
