// From IR to bytecode: the program, its functions, and their statements.
#include "sim/translate_priv.h"

#include <string.h>

#include "base/checked.h"

const char *sim_op_name(sim_opcode op)
{
    static const char *const names[] = {
#define SIM_OP(op, reads, doc) #op,
#include "sim/ops.def"
#undef SIM_OP
    };
    return names[op];
}

// ---- emitting ------------------------------------------------------------------------------------------------------

uint32_t tr_cells(tr *t, int count)
{
    uint32_t cell = t->next;
    t->next += (uint32_t)count;
    if (t->next > t->code->cell_count)
        t->code->cell_count = t->next;
    return cell;
}

sim_op *tr_op(tr *t, sim_opcode code, uint32_t dst, uint32_t a, uint32_t b, uint32_t c)
{
    sim_op op = {.code = (uint16_t)code, .dst = dst, .a = a, .b = b, .c = c, .site = t->site};
    VEC_PUSH(t->arena, &t->code->ops, op);
    return &VEC_LAST(&t->code->ops);
}

uint32_t tr_here(const tr *t)
{
    return (uint32_t)t->code->ops.len;
}

static uint32_t new_constant(tr *t, uint64_t bits)
{
    VEC_PUSH(t->arena, &t->program->constants, bits);
    return (uint32_t)t->program->constants.len - 1;
}

uint32_t tr_constant_of(tr *t, uint64_t bits, int cells)
{
    if (cells == 1)
        bits = (uint32_t)bits;
    for (size_t i = 0; i < t->constants.len; i++) {
        const tr_constant *c = &t->constants.at[i];
        if (c->bits == bits && c->cells == cells)
            return c->cell;
    }
    if (t->constant_next + (uint32_t)cells > TR_CONSTANT_CELLS) {
        uint32_t cell = tr_cells(t, cells);
        tr_op(t, cells == 2 ? SIM_OP_CONST64 : SIM_OP_CONST32, cell, new_constant(t, bits), 0, 0);
        return cell;
    }
    tr_constant c = {bits, cells, t->constant_next};
    t->constant_next += (uint32_t)cells;
    VEC_PUSH(t->arena, &t->constants, c);
    return c.cell;
}

uint32_t tr_site_of(tr *t, src_span span)
{
    uint32_t origin = t->stmt ? t->stmt->origin : 0;
    if (!span.begin && t->stmt)
        span = t->stmt->span;
    const sim_site *last = &VEC_LAST(&t->program->sites);
    if (last->func != t->func || last->origin != origin || last->span.begin != span.begin || last->span.end != span.end) {
        sim_site site = {span, t->stmt ? t->stmt->span : span, origin, t->func,
                         t->stmt && t->stmt->joined ? t->stmt : NULL};
        VEC_PUSH(t->arena, &t->program->sites, site);
    }
    return (uint32_t)t->program->sites.len - 1;
}

void tr_move(tr *t, uint32_t dst, uint32_t from, int cells)
{
    if (dst != from && cells)
        tr_op(t, SIM_OP_MOVE, dst, from, 0, 0)->count = (uint16_t)cells;
}

void tr_assign(tr *t, uint32_t dst, uint32_t from, int cells, int each)
{
    if (dst != from && cells)
        tr_op(t, each == 2 ? SIM_OP_ASSIGN_WIDE : SIM_OP_ASSIGN, dst, from, 0, 0)->count = (uint16_t)cells;
}

void tr_select(tr *t, uint32_t dst, uint32_t cond, uint32_t a, uint32_t b, int cells, int each)
{
    tr_op(t, each == 2 ? SIM_OP_SELECT_WIDE : SIM_OP_SELECT, dst, cond, a, b)->count = (uint16_t)cells;
}

void tr_open(tr *t, tr_level_kind kind, int label)
{
    tr_level level = {kind, label};
    VEC_PUSH(t->arena, &t->levels, level);
}

void tr_close(tr *t)
{
    t->levels.len--;
}

uint32_t tr_mask_begin(tr *t, uint32_t cond)
{
    tr_op(t, SIM_OP_IF, 0, cond, 0, 0);
    tr_open(t, TR_IF, 0);
    t->masked++;
    return tr_here(t) - 1;
}

void tr_mask_end(tr *t, uint32_t at)
{
    t->masked--;
    tr_close(t);
    t->code->ops.at[at].b = tr_here(t);
    tr_op(t, SIM_OP_ENDIF, 0, 0, 0, 0);
}

// ---- statements ----------------------------------------------------------------------------------------------------

static uint32_t text_of(tr *t, const char *text)
{
    VEC_PUSH(t->arena, &t->program->texts, text ? text : "");
    return (uint32_t)t->program->texts.len - 1;
}

static uint32_t statement_of(tr *t, const ir_stmt *s)
{
    VEC_PUSH(t->arena, &t->program->statements, s);
    return (uint32_t)t->program->statements.len - 1;
}

static void note_local(tr *t, const ir_var *v, uint32_t cell, int count)
{
    sim_local local = {v, cell, count};
    VEC_PUSH(t->arena, &t->code->locals, local);
}

// The cells of a variable outlive the statement that declares it: they are taken before its temporaries, which [block]
// gives back.
static void declare(tr *t, const ir_stmt *s)
{
    bool is_tensor = s->var->type->kind == IR_TENSOR;
    int cells = is_tensor ? 2 : tr_value_cells(s->var->type);
    uint32_t cell = tr_location_of(t, s->var)->cell;
    t->is_index = map_get_ptr(&t->indexing, s->var) != NULL;
    if (s->value)
        tr_expr_to(t, s->value, cell);
    else
        tr_op(t, SIM_OP_UNDEFINE, cell, 0, 0, 0)->count = (uint16_t)cells;
    t->is_index = false;
    note_local(t, s->var, cell, is_tensor ? 1 : tr_element_count(s->var->type));
}

static void assign(tr *t, const ir_stmt *s)
{
    t->is_index = map_get_ptr(&t->indexing, s->var) != NULL;
    uint32_t from = tr_expr(t, s->value);
    t->is_index = false;
    int cells = s->var->type->kind == IR_TENSOR ? 2 : tr_value_cells(s->var->type);
    int each = s->var->type->kind == IR_TENSOR ? 2 : tr_element_cells(s->var->type);
    tr_assign(t, tr_location_of(t, s->var)->cell, from, cells, each);
}

static void store_through(tr *t, const ir_stmt *s)
{
    const ir_type *pointer = s->args[0]->type, *elem = pointer->elem;
    uint32_t value = tr_expr(t, s->value);
    uint32_t at = tr_cells(t, 2), base = tr_expr(t, s->args[0]);
    uint32_t index = tr_index(t, s->args[1], true);
    tr_op(t, SIM_OP_OFFSET, at, base, index, (uint32_t)tr_element_bytes(elem));
    uint32_t access = tr_access(t, elem, 1, pointer->space, NULL, s->flags & IR_VOLATILE);
    tr_op(t, SIM_OP_STORE, 0, at, value, access);
}

static void intrin_to(tr *t, const ir_stmt *s)
{
    tr_tile tile = tr_tile_of(t, s->args[0]);
    uint32_t result = tr_cells(t, tile.cells_each * tile.count);
    tr_intrin(t, s->value, result);
    tr_assign(t, tile.cell, result, tile.cells_each * tile.count, tile.part);
    tr_tile_back(t, &tile);
}

static void branch(tr *t, const ir_stmt *s)
{
    uint32_t cond = tr_expr(t, s->value), at = tr_here(t);
    bool are_apart = s->or_else.stmts.len && ir_is_common(t->func, s->value);
    uint32_t begin = t->code->shared_bytes, end;
    int outer = t->shared_branch;
    tr_op(t, SIM_OP_IF, 0, cond, 0, 0);
    tr_open(t, TR_IF, 0);
    t->shared_branch = are_apart ? ++t->shared_branches : outer;
    tr_block(t, &s->body);
    if (s->or_else.stmts.len) {
        t->code->ops.at[at].b = tr_here(t);
        at = tr_here(t);
        tr_op(t, SIM_OP_ELSE, 0, 0, 0, 0);
        end = t->code->shared_bytes;
        t->shared_branch = are_apart ? ++t->shared_branches : outer;
        t->code->shared_bytes = are_apart ? begin : end;
        tr_block(t, &s->or_else);
        t->code->shared_bytes = t->code->shared_bytes > end ? t->code->shared_bytes : end;
    }
    t->shared_branch = outer;
    tr_close(t);
    t->code->ops.at[at].b = tr_here(t);
    tr_op(t, SIM_OP_ENDIF, 0, 0, 0, 0);
}

void tr_loop_begin(tr *t)
{
    tr_op(t, SIM_OP_LOOP, 0, 0, 0, 0);
    tr_open(t, TR_LOOP, 0);
}

void tr_loop_test(tr *t, tr_loop *l, uint32_t cond)
{
    l->test = tr_here(t);
    tr_op(t, SIM_OP_TEST, 0, cond, 0, 0);
}

void tr_loop_end(tr *t, const tr_loop *l)
{
    tr_op(t, SIM_OP_JUMP, 0, 0, l->head, 0);
    t->code->ops.at[l->test].b = tr_here(t);
    tr_op(t, SIM_OP_ENDLOOP, 0, 0, 0, 0);
    tr_close(t);
}

static sim_opcode less_op(dtype type)
{
    bool wide = dt_bits(type) > 32, is_signed = dt_is_signed(type);
    return wide ? (is_signed ? SIM_OP_LT_I64 : SIM_OP_LT_U64) : (is_signed ? SIM_OP_LT_I32 : SIM_OP_LT_U32);
}

// Whether another iteration follows: i < end going up, i > end going down; the direction may be known at run time only.
static uint32_t goes_on(tr *t, dtype type, uint32_t i, uint32_t end, uint32_t step, const ir_expr *step_expr)
{
    uint32_t up = tr_cells(t, 1);
    int64_t known;
    sim_opcode less = less_op(type);
    if (ir_const_int(step_expr, &known)) {
        tr_op(t, less, up, known > 0 ? i : end, known > 0 ? end : i, 0);
        return up;
    }
    uint32_t down = tr_cells(t, 1), forward = tr_cells(t, 1), result = tr_cells(t, 1);
    tr_op(t, less, up, i, end, 0);
    tr_op(t, less, down, end, i, 0);
    tr_op(t, less, forward, tr_constant_of(t, 0, tr_width(type)), step, 0);
    tr_select(t, result, forward, up, down, 1, 1);
    return result;
}

static void counted_loop(tr *t, const ir_stmt *s)
{
    if (tr_spread_loop(t, s))
        return;
    dtype type = s->var->type->scalar;
    int cells = tr_width(type);
    uint32_t i = tr_location_of(t, s->var)->cell;
    // The bounds are evaluated once, and the body may change what they read.
    uint32_t first = tr_expr(t, s->args[0]), end = tr_fresh(t, s->args[1]), step = tr_fresh(t, s->args[2]);
    tr_move(t, i, first, cells);
    note_local(t, s->var, i, 1);
    tr_loop_begin(t);
    tr_loop l = {.head = tr_here(t)};
    tr_loop_test(t, &l, goes_on(t, type, i, end, step, s->args[2]));
    tr_block(t, &s->body);
    t->stmt = s;
    t->site = tr_site_of(t, s->span);
    tr_op(t, SIM_OP_NEXT, 0, 0, 0, 0);
    uint32_t next = tr_cells(t, cells);
    tr_binary(t, IR_OP_ADD, type, next, i, step);
    tr_assign(t, i, next, cells, cells);
    tr_loop_end(t, &l);
}

static void while_loop(tr *t, const ir_stmt *s)
{
    tr_loop_begin(t);
    tr_loop l = {.head = tr_here(t)};
    tr_loop_test(t, &l, tr_expr(t, s->value));
    tr_block(t, &s->body);
    tr_op(t, SIM_OP_NEXT, 0, 0, 0, 0);
    tr_loop_end(t, &l);
}

// All tasks of the worker, one after the other: each coordinate is the sum of its digits. Workers beyond the mapping's
// have none.
static void task_loop(tr *t, const ir_stmt *s)
{
    const tm_map *m = s->map;
    uint32_t worker = tr_fresh(t, s->args[0]);
    dtype worker_type = s->args[0]->type->scalar;
    worker = tr_widen(t, worker, worker_type);
    uint32_t low = tr_cells(t, 1), high = tr_cells(t, 1), has = tr_cells(t, 1), zero = tr_constant_of(t, 0, 2);
    tr_op(t, SIM_OP_LE_I64, low, zero, worker, 0);
    tr_op(t, SIM_OP_LT_I64, high, worker, tr_constant_of(t, (uint64_t)m->workers, 2), 0);
    tr_op(t, SIM_OP_AND_I32, has, low, high, 0);
    uint32_t guard = tr_mask_begin(t, has);
    uint32_t position = tr_cells(t, 2);
    tr_move(t, position, zero, 2);
    tr_loop_begin(t);
    tr_loop l = {.head = tr_here(t)};
    uint32_t more = tr_cells(t, 1);
    tr_op(t, SIM_OP_LT_I64, more, position, tr_constant_of(t, (uint64_t)m->tasks_per_worker, 2), 0);
    tr_loop_test(t, &l, more);
    uint32_t sums[TM_MAX_RANK];
    for (int d = 0; d < m->rank; d++) {
        sums[d] = tr_cells(t, 2);
        tr_move(t, sums[d], zero, 2);
    }
    int64_t workers = m->workers, tasks = m->tasks_per_worker;
    for (int i = 0; i < m->digit_count; i++) {
        const tm_digit *g = &m->digits[i];
        int64_t *below = g->kind == TM_SPATIAL ? &workers : &tasks;
        *below /= g->extent;
        if (g->dim < 0 || g->extent == 1)
            continue;
        uint32_t digit = tr_cells(t, 2);
        tr_op(t, SIM_OP_DIV_U64, digit, g->kind == TM_SPATIAL ? worker : position, tr_constant_of(t, (uint64_t)*below, 2), 0);
        tr_op(t, SIM_OP_MOD_U64, digit, digit, tr_constant_of(t, (uint64_t)g->extent, 2), 0);
        tr_op(t, SIM_OP_MUL_I64, digit, digit, tr_constant_of(t, (uint64_t)g->stride, 2), 0);
        tr_op(t, SIM_OP_ADD_I64, sums[g->dim], sums[g->dim], digit, 0);
    }
    for (int d = 0; d < m->rank; d++) {
        dtype type = s->vars[d]->type->scalar;
        uint32_t cell = tr_location_of(t, s->vars[d])->cell;
        tr_op(t, SIM_OP_CAST, cell, sums[d], DT_I64, type);
        note_local(t, s->vars[d], cell, 1);
    }
    tr_block(t, &s->body);
    t->stmt = s;
    tr_op(t, SIM_OP_NEXT, 0, 0, 0, 0);
    uint32_t next = tr_cells(t, 2);
    tr_op(t, SIM_OP_ADD_I64, next, position, tr_constant_of(t, 1, 2), 0);
    tr_assign(t, position, next, 2, 2);
    tr_loop_end(t, &l);
    tr_mask_end(t, guard);
}

static uint32_t levels_up(const tr *t, tr_level_kind kind, int label)
{
    for (size_t i = t->levels.len; i-- > 0;)
        if (t->levels.at[i].kind == kind && (kind != TR_SCOPE || t->levels.at[i].label == label))
            return (uint32_t)(t->levels.len - 1 - i);
    return 0;
}

static void scope(tr *t, const ir_stmt *s)
{
    tr_op(t, SIM_OP_SCOPE, 0, 0, 0, 0);
    tr_open(t, TR_SCOPE, s->count);
    tr_block(t, &s->body);
    tr_close(t);
    tr_op(t, SIM_OP_ENDSCOPE, 0, 0, 0, 0);
}

static void return_value(tr *t, const ir_stmt *s)
{
    if (s->value)
        tr_assign(t, t->code->result_cell, tr_expr(t, s->value), t->code->result_cells, tr_element_cells(t->func->result));
    tr_op(t, SIM_OP_RETURN, 0, 0, 0, 0);
}

// Arguments as consecutive 64-bit values; vectors of at most 64 bits are packed.
static uint32_t wide_arguments(tr *t, const ir_stmt *s)
{
    uint32_t first = tr_cells(t, 2 * s->arg_count);
    for (int i = 0; i < s->arg_count; i++) {
        const ir_expr *e = s->args[i];
        uint32_t from = e->type->kind == IR_STRING ? tr_constant_of(t, (uintptr_t)e->u.text, 2) : tr_expr(t, e);
        uint32_t to = first + 2 * (uint32_t)i;
        if (e->type->kind == IR_VECTOR)
            tr_op(t, SIM_OP_PACK, to, from, (uint32_t)dt_bits(e->type->scalar), 2)->count = (uint16_t)e->type->lanes;
        else if (e->type->kind == IR_SCALAR && tr_width(e->type->scalar) == 1)
            tr_op(t, SIM_OP_CAST, to, from, dt_is_signed(e->type->scalar) ? DT_I32 : DT_U32, DT_I64);
        else
            tr_move(t, to, from, 2);
    }
    return first;
}

static void statement(tr *t, const ir_stmt *s)
{
    t->stmt = s;
    t->site = tr_site_of(t, s->span);
    map_init(&t->done, t->arena);
    map_init(&t->done_index, t->arena);
    if (t->options->mark_statements && s->kind != IR_COMMENT && s->kind != IR_SCOPE_OF)
        tr_op(t, SIM_OP_STATEMENT, 0, statement_of(t, s), 0, 0);
    switch (s->kind) {
    case IR_DECL: declare(t, s); break;
    case IR_ASSIGN: assign(t, s); break;
    case IR_STORE: tr_store(t, s); break;
    case IR_PSTORE: store_through(t, s); break;
    case IR_COPY: tr_copy(t, s); break;
    case IR_EVAL: tr_expr(t, s->value); break;
    case IR_INTRIN_TO: intrin_to(t, s); break;
    case IR_ALLOC: tr_alloc(t, s); break;
    case IR_IF: branch(t, s); break;
    case IR_FOR: counted_loop(t, s); break;
    case IR_WHILE: while_loop(t, s); break;
    case IR_TASKS: task_loop(t, s); break;
    case IR_BREAK: tr_op(t, SIM_OP_BREAK, 0, 0, 0, levels_up(t, TR_LOOP, 0)); break;
    case IR_CONTINUE: tr_op(t, SIM_OP_CONTINUE, 0, 0, 0, levels_up(t, TR_LOOP, 0)); break;
    case IR_RETURN: return_value(t, s); break;
    case IR_SCOPE_OF: scope(t, s); break;
    case IR_LEAVE: tr_op(t, SIM_OP_LEAVE, 0, 0, 0, levels_up(t, TR_SCOPE, s->count)); break;
    case IR_ASSERT: tr_op(t, SIM_OP_ASSERT, 0, tr_expr(t, s->value), text_of(t, s->text), 0); break;
    case IR_ASSUME: tr_op(t, SIM_OP_ASSUME, 0, tr_expr(t, s->value), text_of(t, NULL), 0); break;
    case IR_PRINT: tr_op(t, SIM_OP_PRINT, 0, statement_of(t, s), wide_arguments(t, s), 0); break;
    case IR_LAUNCH: tr_op(t, SIM_OP_LAUNCH, 0, statement_of(t, s), wide_arguments(t, s), 0); break;
    case IR_COMMENT:
    case IR_STMT__COUNT: break;
    }
}

// Cells for what the statement declares, which live to the end of the block.
static void reserve(tr *t, const ir_stmt *s)
{
    bool has_var = s->kind == IR_DECL || s->kind == IR_FOR;
    if (has_var) {
        int cells = s->var->type->kind == IR_TENSOR ? 2 : tr_value_cells(s->var->type);
        tr_new_location(t, s->var, false, tr_cells(t, cells), 0);
    }
    for (int d = 0; s->kind == IR_TASKS && d < s->map->rank; d++)
        tr_new_location(t, s->vars[d], false, tr_cells(t, tr_value_cells(s->vars[d]->type)), 0);
}

void tr_block(tr *t, const ir_block *b)
{
    uint32_t before = t->next;
    for (size_t i = 0; i < b->stmts.len; i++) {
        const ir_stmt *s = b->stmts.at[i];
        reserve(t, s);
        uint32_t kept = t->next;
        statement(t, s);
        // The cells of an ALLOC stay allocated, like a variable; all others of the statement are freed.
        if (s->kind != IR_ALLOC)
            t->next = kept;
    }
    t->next = before;
}

// ---- what indices depend on ----------------------------------------------------------------------------------------

typedef struct slice {
    tr *t;
    bool grew;
    bool inside;  // an index
} slice;

static void note_index_var(void *user, ir_expr *e)
{
    slice *sl = user;
    if (e->op == IR_OP_VAR && e->u.var->type->kind == IR_SCALAR && !map_get_ptr(&sl->t->indexing, e->u.var)) {
        map_put_ptr(&sl->t->indexing, e->u.var, e->u.var);
        sl->grew = true;
    }
}

static void note_index(slice *sl, ir_expr *e)
{
    ir_walk_expr(sl->t->program->module, e, note_index_var, sl);
}

static void note_accesses(void *user, ir_expr *e)
{
    slice *sl = user;
    bool guarded = e->op == IR_OP_LOAD && (e->flags & IR_GUARDED);
    if (e->op == IR_OP_LOAD || e->op == IR_OP_ADDR)
        for (int i = 0; i < e->arg_count - guarded; i++)
            note_index(sl, e->args[i]);
    if (e->op == IR_OP_PLOAD)
        note_index(sl, e->args[1]);
    bool is_private = (e->op == IR_OP_ADDR || e->op == IR_OP_VAR) && tr_is_private(e->u.var);
    if (is_private && !map_get_ptr(&sl->t->in_memory, e->u.var))
        map_put_ptr(&sl->t->in_memory, e->u.var, e->u.var);
}

static void note_statement(void *user, ir_stmt *s)
{
    slice *sl = user;
    ir_walk_stmt_exprs(sl->t->program->module, s, note_accesses, sl);
    if (s->kind == IR_STORE)
        for (int i = 0; i < s->arg_count; i++)
            note_index(sl, s->args[i]);
    if (s->kind == IR_PSTORE)
        note_index(sl, s->args[1]);
    // Slots are numbered by 16 bits.
    bool is_large = s->kind == IR_ALLOC && tr_is_private(s->var) && tr_private_elements(s->var->tensor) >= UINT16_MAX;
    if (is_large && !map_get_ptr(&sl->t->in_memory, s->var))
        map_put_ptr(&sl->t->in_memory, s->var, s->var);
    bool defines = (s->kind == IR_DECL || s->kind == IR_ASSIGN) && s->value && s->var->type->kind == IR_SCALAR;
    if (defines && map_get_ptr(&sl->t->indexing, s->var))
        note_index(sl, s->value);
}

static void find_indices(tr *t)
{
    slice sl = {.t = t, .grew = true};
    while (sl.grew) {
        sl.grew = false;
        ir_walk((ir_block *)&t->func->body, note_statement, &sl);
    }
}

// ---- functions -----------------------------------------------------------------------------------------------------

static void begin(tr *t, const ir_func *f)
{
    t->func = f;
    t->code = ARENA_NEW(t->arena, sim_code);
    t->code->func = f;
    // Functions that kernels call have their shared tensors before the kernels' own, the same in all of them.
    t->code->shared_bytes = t->function_shared.shared_bytes;
    for (size_t i = 0; i < t->function_shared.shared.len; i++)
        VEC_PUSH(t->arena, &t->code->shared, t->function_shared.shared.at[i]);
    t->stmt = NULL;
    t->shared_branch = t->shared_branches = 0;
    t->site = tr_site_of(t, f->span);
    t->constants.len = t->levels.len = 0;
    t->constant_next = 0;
    t->next = 0;
    map_init(&t->locations, t->arena);
    map_init(&t->done, t->arena);
    map_init(&t->done_index, t->arena);
    tr_cells(t, TR_CONSTANT_CELLS);
    t->code->param_cell = t->next;
    t->code->param_cells = ARENA_ARRAY(t->arena, uint32_t, f->params.len + 1);
    for (size_t i = 0; i < f->params.len; i++) {
        const ir_var *v = f->params.at[i];
        int cells = v->type->kind == IR_TENSOR ? 2 : tr_value_cells(v->type);
        t->code->param_cells[i] = tr_cells(t, cells);
        tr_new_location(t, v, false, t->code->param_cells[i], 0);
        sim_local local = {v, t->code->param_cells[i], v->type->kind == IR_TENSOR ? 1 : tr_element_count(v->type)};
        VEC_PUSH(t->arena, &t->code->locals, local);
    }
    t->code->param_cells[f->params.len] = t->next;
    t->code->result_cells = f->result->kind == IR_VOID ? 0 : tr_value_cells(f->result);
    t->code->result_cell = tr_cells(t, t->code->result_cells);
    tr_op(t, SIM_OP_JUMP, 0, 0, 0, 0);  // to the constants, which are known at the end
}

static void finish(tr *t)
{
    tr_op(t, SIM_OP_END, 0, 0, 0, 0);
    t->code->ops.at[0].b = tr_here(t);
    for (size_t i = 0; i < t->constants.len; i++) {
        const tr_constant *c = &t->constants.at[i];
        tr_op(t, c->cells == 2 ? SIM_OP_CONST64 : SIM_OP_CONST32, c->cell, new_constant(t, c->bits), 0, 0);
    }
    tr_op(t, SIM_OP_JUMP, 0, 0, 1, 0);
}

// The extents of a tensor from cell [to] on, then its strides where its shape does not tell them. The cell behind.
static uint32_t put_extents(tr *t, const ir_tensor *tensor, uint32_t to)
{
    for (int d = 0; tensor && d < tensor->rank; d++, to += 2)
        tr_move(t, to, tr_index(t, tensor->shape[d], true), 2);
    for (int d = 0; tensor && tensor->is_strided && d < tensor->rank; d++, to += 2)
        tr_move(t, to, tr_index(t, tensor->strides[d], true), 2);
    return to;
}

static int extent_count(const ir_func *f)
{
    int count = 0;
    for (size_t i = 0; i < f->params.len; i++) {
        const ir_tensor *tensor = f->params.at[i]->tensor;
        count += tensor ? tensor->rank * (tensor->is_strided ? 2 : 1) : 0;
    }
    return count;
}

// Ten values: grid, block, cluster, dynamic shared memory; then the extents and strides of each parameter that is a tensor.
static sim_code *shape_code(tr *t, const ir_func *f)
{
    begin(t, f);
    uint32_t first = tr_cells(t, 20 + 2 * extent_count(f)), at = first + 20;
    ir_expr *const *groups[] = {f->grid, f->block, f->cluster};
    t->is_index = true;  // a grid that overflows would be another grid
    for (int i = 0; i < 10; i++) {
        const ir_expr *e = i < 9 ? groups[i / 3][i % 3] : f->dynamic_smem_bytes;
        uint32_t value = e ? tr_widen(t, tr_expr(t, e), e->type->scalar) : tr_constant_of(t, i < 9, 2);
        tr_move(t, first + 2 * (uint32_t)i, value, 2);
    }
    t->is_index = false;
    for (size_t i = 0; i < f->params.len; i++)
        at = put_extents(t, f->params.at[i]->tensor, at);
    finish(t);
    t->code->shape_cell = first;
    return t->code;
}

static void note_written(sim_code *c, const ir_var *v)
{
    for (size_t i = 0; i < c->func->params.len; i++)
        c->writes[i] |= c->func->params.at[i] == v;
}

static void note_writes(void *user, ir_stmt *s)
{
    sim_code *c = user;
    if (s->kind == IR_STORE)
        note_written(c, s->var);
    if (s->kind == IR_COPY)
        note_written(c, s->args[0]->u.var);
    const ir_expr *e = s->kind == IR_EVAL || s->kind == IR_DECL || s->kind == IR_ASSIGN ? s->value : NULL;
    bool writes = e && e->op == IR_OP_INTRIN && (e->u.intrin->effects & IR_EFFECT_WRITES_GLOBAL);
    for (int i = 0; writes && i < e->arg_count; i++)
        if (e->args[i]->op == IR_OP_ADDR || e->args[i]->op == IR_OP_VAR)
            note_written(c, e->args[i]->u.var->map ? e->args[i]->u.var->map->tensor : e->args[i]->u.var);
}

static sim_code *function(tr *t, const ir_func *f)
{
    sim_code *shape = f->kind == IR_KERNEL ? shape_code(t, f) : NULL;
    map_init(&t->in_memory, t->arena);
    map_init(&t->indexing, t->arena);
    begin(t, f);
    find_indices(t);
    tr_block(t, &f->body);
    t->stmt = NULL;
    finish(t);
    t->code->shape = shape;
    t->code->writes = ARENA_ARRAY(t->arena, bool, f->params.len + 1);
    ir_walk((ir_block *)&f->body, note_writes, t->code);
    if (f->kind == IR_DEVICE)
        t->function_shared = *t->code;
    return t->code;
}

static bool calls_one_that_talks(const sim_program *p, const sim_code *c)
{
    for (size_t i = 0; i < c->ops.len; i++)
        if (c->ops.at[i].code == SIM_OP_CALL && p->codes[c->ops.at[i].a]->talks_between_blocks)
            return true;
    return false;
}

// Functions may be mutually recursive, so a call may be translated before its callee.
static void spread_talk(sim_program *p)
{
    for (bool any = true; any;) {
        any = false;
        for (size_t i = 0; i < p->module->funcs.len; i++) {
            sim_code *c = p->codes[i];
            if (!c->talks_between_blocks && calls_one_that_talks(p, c))
                any = c->talks_between_blocks = true;
        }
    }
}

sim_program *sim_translate(arena *a, ir_module *m, const sim_translate_options *options)
{
    sim_program *p = ARENA_NEW(a, sim_program);
    *p = (sim_program){.arena = a, .module = m};
    map_init(&p->globals, a);
    sim_site nowhere = {0};
    VEC_PUSH(a, &p->sites, nowhere);
    for (size_t i = 0; i < m->globals.len; i++)
        map_put_ptr(&p->globals, m->globals.at[i], (void *)(uintptr_t)(i + 1));
    tr t = {.program = p, .arena = a, .options = options};
    // Functions before the kernels that call them.
    p->codes = ARENA_ARRAY(a, sim_code *, m->funcs.len + 1);
    for (int kernels = 0; kernels < 2; kernels++) {
        for (size_t i = 0; i < m->funcs.len; i++) {
            const ir_func *f = m->funcs.at[i];
            if ((f->kind != IR_DEVICE) == kernels)
                p->codes[f->id] = function(&t, f);
        }
    }
    spread_talk(p);
    return p;
}

const sim_code *sim_code_of(const sim_program *p, const ir_func *f)
{
    return p->codes[f->id];
}

const sim_site *sim_site_at(const sim_program *p, uint32_t site)
{
    return &p->sites.at[site < p->sites.len ? site : 0];
}

void sim_print(const sim_program *p, str_buf *out)
{
    for (size_t i = 0; i < p->module->funcs.len; i++) {
        const sim_code *c = p->codes[i];
        str_addf(out, "%s%s: %u cells\n", i ? "\n" : "", c->func->name, c->cell_count);
        for (size_t k = 0; k < c->ops.len; k++) {
            const sim_op *op = &c->ops.at[k];
            str_addf(out, "%5zu  %-14s dst %u a %u b %u c %u n %u\n", k, sim_op_name(op->code), op->dst, op->a, op->b,
                     op->c, op->count);
        }
    }
}
