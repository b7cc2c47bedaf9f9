// Does      vectorises loops over consecutive elements of global or shared memory: reads are copied into registers
//           before the loop, writes from registers after it, and the loop works on the registers.
//           Copies that are invariant in an enclosing loop are hoisted out of it, too.
// Needs     no task loops, register tensors flat: the innermost repeat digits are loops of constant bounds. Indices are
//           still those of the tensor's dimensions, guards still on the accesses.
// Gives     IR_COPY between ADDR and TILE of 2, 4, 8 or 16 neighbouring elements (at most 16 bytes), aligned to their
//           size. Guards are around the copies; where they may hold for a part of the elements only, those are
//           moved one by one.
// Why here  after lower-registers, because then a run of slots shows; before lower-guards and flatten, which take away
//           what proves alignment, contiguity and uniform bounds.
// See       Note [what may be moved]
#include "ir/passes/wide.h"

typedef struct forming {
    ir_pass_context *px;
    ir_env *env;
    map pointed;
} forming;

static ir_expr *number(const wide_loop *w, int64_t value)
{
    return ir_int(w->px->module, DT_I32, value);
}

// ---- copies --------------------------------------------------------------------------------------------------------

static ir_var *new_registers(const wide_loop *w, const wide_group *g)
{
    arena *mem = w->px->module->arena;
    tm_reason why;
    ir_tensor *t = ARENA_NEW(mem, ir_tensor);
    int64_t elements = w->trips;
    t->elem = g->tensor->tensor->elem;
    t->space = IR_REGISTER;
    t->rank = 1;
    t->shape = ARENA_ARRAY(mem, ir_expr *, 1);
    t->shape[0] = number(w, elements);
    t->layout = tm_layout_row_major(mem, 1, &elements, &why);
    t->align_bytes = (g->width * dt_bits(t->elem->scalar) + 7) / 8;
    t->storage_elems = elements;
    t->smem_offset = -1;
    return ir_tensor_var(w->px->module, IR_VAR_LOCAL, arena_printf(mem, "%s_v", g->tensor->name), t, g->span);
}

static ir_expr *tile_at(const wide_loop *w, ir_var *registers, ir_expr *slot, int width, src_span span)
{
    ir_expr *tile = ir_tile(w->px->module, registers, &slot, 1, width, span);
    tile->flags |= IR_FLAT;
    return tile;
}

static ir_stmt *new_copy(const wide_loop *w, const wide_group *g, ir_expr *to, ir_expr *from)
{
    ir_stmt *copy = ir_new_stmt(w->px->module, IR_COPY, g->stmt->span, g->stmt->origin);
    copy->args = ARENA_ARRAY(w->px->module->arena, ir_expr *, 2);
    copy->args[0] = to;
    copy->args[1] = from;
    copy->arg_count = 2;
    copy->count = g->width;
    return copy;
}

// The indices in iteration [iteration].
static void index_at(wide_loop *w, const wide_group *g, ir_expr *iteration, ir_expr **index)
{
    for (int d = 0; d < g->rank; d++)
        index[d] = ir_simplify_index(w->env, ir_wide_outside_loop(w, g->index[d], iteration));
}

static ir_expr *plus(const wide_loop *w, ir_expr *a, ir_expr *b)
{
    return ir_binary(w->px->module, IR_OP_ADD, a, ir_cast(w->px->module, b, a->type, b->span), b->span);
}

// The whole copy is inside: its first element is not below, its last one not above.
static ir_expr *inside_whole(wide_loop *w, const wide_group *g, ir_expr *iteration, ir_expr **first, ir_expr *begins)
{
    ir_expr *last[TM_MAX_RANK];
    bool starts_inside = true;
    for (int d = 0; d < g->rank; d++)
        starts_inside &= ir_prove_nonneg(w->env, ir_linear_of(w->env, first[d]));
    index_at(w, g, plus(w, iteration, number(w, g->width - 1)), last);
    ir_expr *ends = ir_inside(w->env, g->tensor->tensor, last, g->span);
    if (starts_inside || !ends)
        return ends ? ends : begins;
    return ir_binary(w->px->module, IR_OP_LAND, begins, ends, g->span);
}

// for e in 0 … width: registers[slot + e] = x[…], or the other way round, with the guard of the loop.
static void copy_one_by_one(wide_loop *w, const wide_group *g, ir_expr *iteration, ir_expr *slot, bool in, ir_block *out)
{
    ir_module *m = w->px->module;
    ir_stmt *loop = ir_new_stmt(m, IR_FOR, g->stmt->span, g->stmt->origin);
    loop->var = ir_var_new(m, IR_VAR_LOOP, "e", w->loop->var->type, g->span);
    loop->unroll = w->loop->unroll == TM_LOOP_UNROLL_FULL ? TM_LOOP_UNROLL_FULL : TM_LOOP_UNROLL;
    loop->args = ARENA_ARRAY(m->arena, ir_expr *, 3);
    loop->arg_count = 3;
    for (int i = 0; i < 3; i++)
        loop->args[i] = ir_int(m, loop->var->type->scalar, (int64_t[]){0, g->width, 1}[i]);
    ir_env_mark mark = ir_env_enter(w->env);
    ir_env_loop(w->env, loop);
    ir_expr *e = ir_read(m, loop->var, g->span), **index = ARENA_ARRAY(m->arena, ir_expr *, g->rank);
    index_at(w, g, plus(w, iteration, e), index);
    ir_expr **position = ARENA_ARRAY(m->arena, ir_expr *, 1);
    position[0] = ir_simplify_index(w->env, plus(w, slot, e));
    ir_stmt *store = ir_new_stmt(m, IR_STORE, g->stmt->span, g->stmt->origin);
    store->var = in ? g->registers : g->tensor;
    store->args = in ? position : index;
    store->arg_count = in ? 1 : g->rank;
    store->flags = in ? IR_FLAT : IR_GUARDED;
    store->value = in ? ir_load(m, g->tensor, index, g->rank, g->outside, g->span)
                      : ir_load(m, g->registers, position, 1, NULL, g->span);
    store->value->flags |= in ? 0 : IR_FLAT;
    ir_append(m, &loop->body, store);
    ir_env_leave(w->env, mark);
    ir_append(m, out, loop);
}

// One copy of the elements of the iterations from [iteration] on; the registers begin at [slot].
static ir_stmt *copy_at(wide_loop *w, const wide_group *g, ir_expr *iteration, ir_expr *slot, bool in)
{
    ir_module *m = w->px->module;
    ir_expr *index[TM_MAX_RANK];
    index_at(w, g, iteration, index);
    ir_expr *memory = ir_addr(m, g->tensor, index, g->rank, g->span);
    ir_expr *registers = tile_at(w, g->registers, slot, g->width, g->span);
    ir_stmt *copy = new_copy(w, g, in ? registers : memory, in ? memory : registers);
    ir_expr *cond = g->is_guarded ? ir_inside(w->env, g->tensor->tensor, index, g->span) : NULL;
    if (g->is_ragged)
        cond = inside_whole(w, g, iteration, index, cond);
    if (!cond)
        return copy;
    ir_stmt *guard = ir_new_stmt(m, IR_IF, g->stmt->span, g->stmt->origin);
    guard->value = cond;
    ir_append(m, &guard->body, copy);
    if (g->is_ragged)
        copy_one_by_one(w, g, iteration, slot, in, &guard->or_else);
    return guard;
}

enum { COPIES_IN_A_ROW = 2 };

static void copy_in_loop(ir_rewriter *r, wide_loop *w, const wide_group *g, bool in, ir_block *out)
{
    ir_module *m = w->px->module;
    const ir_type *type = w->loop->var->type;
    ir_stmt *loop = ir_new_stmt(m, IR_FOR, g->stmt->span, g->stmt->origin);
    loop->var = ir_var_new(m, IR_VAR_LOOP, "run", type, g->span);
    loop->unroll = w->loop->unroll == TM_LOOP_UNROLL_FULL ? TM_LOOP_UNROLL_FULL : TM_LOOP_UNROLL;
    loop->args = ARENA_ARRAY(m->arena, ir_expr *, 3);
    loop->arg_count = 3;
    loop->args[0] = ir_int(m, type->scalar, 0);
    loop->args[1] = ir_int(m, type->scalar, w->trips / g->width);
    loop->args[2] = ir_int(m, type->scalar, 1);
    ir_env_mark mark = ir_env_enter(w->env);
    ir_env_loop(w->env, loop);
    ir_expr *run = ir_read(m, loop->var, g->span);
    ir_expr *slot = ir_binary(m, IR_OP_MUL, run, ir_int(m, type->scalar, g->width), g->span);
    ir_expr *iteration = w->first ? ir_binary(m, IR_OP_ADD, slot, ir_int(m, type->scalar, w->first), g->span) : slot;
    ir_append(m, &loop->body, copy_at(w, g, iteration, slot, in));
    ir_env_leave(w->env, mark);
    ir_emit(r, out, loop);
}

static void copy_all(ir_rewriter *r, wide_loop *w, const wide_group *g, bool in, ir_block *out)
{
    int64_t runs = w->trips / g->width;
    if (runs > COPIES_IN_A_ROW) {
        copy_in_loop(r, w, g, in, out);
        return;
    }
    for (int64_t run = 0; run < runs; run++) {
        ir_expr *iteration = ir_int(w->px->module, w->loop->var->type->scalar, w->first + run * g->width);
        ir_emit(r, out, copy_at(w, g, iteration, number(w, run * g->width), in));
    }
}

static void allocate(ir_rewriter *r, wide_loop *w, const wide_group *g, ir_block *out)
{
    ir_stmt *alloc = ir_new_stmt(w->px->module, IR_ALLOC, g->stmt->span, g->stmt->origin);
    alloc->var = g->registers;
    alloc->value = g->is_read && g->is_guarded && !g->is_ragged ? g->outside : NULL;
    ir_emit(r, out, alloc);
}

static void raise_alignment(const wide_loop *w, const wide_group *g)
{
    ir_tensor *t = g->tensor->tensor;
    int bytes = g->width * dt_bits(t->elem->scalar) / 8;
    if (ir_wide_owns_storage(w, g->tensor) && t->align_bytes < bytes)
        t->align_bytes = bytes;
}

// ---- the body ------------------------------------------------------------------------------------------------------

static ir_expr *slot_of_turn(const wide_loop *w)
{
    ir_expr *iteration = ir_read(w->px->module, w->loop->var, w->loop->span);
    if (!w->first)
        return iteration;
    ir_expr *first = ir_int(w->px->module, iteration->type->scalar, w->first);
    return ir_binary(w->px->module, IR_OP_SUB, iteration, first, w->loop->span);
}

static ir_expr *replace_load(void *user, ir_expr *e)
{
    wide_loop *w = user;
    if (e->op != IR_OP_LOAD)
        return e;
    for (size_t i = 0; i < w->accesses.len; i++) {
        const wide_access *a = &w->accesses.at[i];
        if (a->load != e || a->group < 0)
            continue;
        ir_expr *slot = slot_of_turn(w);
        ir_expr *load = ir_load(w->px->module, w->groups.at[a->group].registers, &slot, 1, NULL, e->span);
        load->flags |= IR_FLAT;
        return load;
    }
    return e;
}

static void replace_stores(wide_loop *w)
{
    for (size_t i = 0; i < w->accesses.len; i++) {
        const wide_access *a = &w->accesses.at[i];
        if (!a->store || a->group < 0)
            continue;
        a->store->var = w->groups.at[a->group].registers;
        a->store->args = ARENA_ARRAY(w->px->module->arena, ir_expr *, 1);
        a->store->args[0] = slot_of_turn(w);
        a->store->arg_count = 1;
        a->store->flags = IR_FLAT;
    }
}

static void replace_in(wide_loop *w, ir_block *b)
{
    for (size_t i = 0; i < b->stmts.len; i++) {
        ir_stmt *s = b->stmts.at[i];
        ir_rewrite_stmt_exprs(w->px->module, s, replace_load, w);
        replace_in(w, &s->body);
        replace_in(w, &s->or_else);
    }
}

static void work_on_registers(wide_loop *w)
{
    replace_in(w, &w->loop->body);
    replace_stores(w);
    if (w->loop->unroll == TM_LOOP_DEFAULT || w->loop->unroll == TM_LOOP_PARALLEL) {
        w->loop->unroll = TM_LOOP_UNROLL;
        w->loop->factor = 0;
    }
}

// ---- loops that only copy ------------------------------------------------------------------------------------------

// The single STORE of a body that does nothing else but declare what its indices need.
static ir_stmt *only_store(const ir_block *b)
{
    ir_stmt *store = NULL;
    for (size_t i = 0; i < b->stmts.len; i++) {
        ir_stmt *s = b->stmts.at[i];
        if (s->kind == IR_STORE && !store)
            store = s;
        else if (s->kind != IR_DECL || s->var->is_mutable || !s->value || !ir_is_pure(s->value))
            return NULL;
    }
    return store;
}

// The array of registers whose consecutive slots the loop visits from a multiple of [width] on; else NULL.
static const ir_linear *run_of_slots(wide_loop *w, const ir_var *v, int flags, ir_expr *const *args, int width)
{
    if (!v->tensor || v->tensor->space != IR_REGISTER || !(flags & IR_FLAT))
        return NULL;
    const ir_linear *base = ir_wide_unit_form(w, ir_linear_of(w->env, args[0]));
    return base && ir_linear_divisor(w->env, base) % width == 0 ? base : NULL;
}

// r[s + iteration] = x[i, j + iteration] and the like: the registers are there already.
static bool copy_directly(ir_rewriter *r, wide_loop *w, ir_block *out)
{
    ir_stmt *s = only_store(&w->loop->body);
    if (!s || s->value->op != IR_OP_LOAD || w->groups.len != 1 || w->groups.at[0].is_guarded ||
        (w->groups.at[0].is_read && w->groups.at[0].is_written))
        return false;
    wide_group *g = &w->groups.at[0];
    ir_var *registers = g->is_read ? s->var : s->value->u.var;
    int flags = g->is_read ? s->flags : s->value->flags;
    ir_expr **slot = g->is_read ? s->args : s->value->args;
    if (g->width != w->trips || !run_of_slots(w, registers, flags, slot, g->width))
        return false;
    ir_expr *first = ir_int(w->px->module, w->loop->var->type->scalar, w->first);
    ir_expr *base = ir_wide_outside_loop(w, slot[0], first);
    if (!base)
        return false;
    g->registers = registers;
    int bytes = g->width * dt_bits(g->tensor->tensor->elem->scalar) / 8;
    if (registers->tensor->align_bytes < bytes)
        registers->tensor->align_bytes = bytes;
    ir_emit(r, out, copy_at(w, g, first, ir_simplify_index(w->env, base), g->is_read));
    return true;
}

// From memory to memory: one array of registers serves both copies, and no loop is left.
static bool pass_through(ir_rewriter *r, wide_loop *w, ir_block *out)
{
    ir_stmt *s = only_store(&w->loop->body);
    if (!s || s->value->op != IR_OP_LOAD || w->groups.len != 2 || w->accesses.len != 2)
        return false;
    wide_group *from = &w->groups.at[w->groups.at[0].is_read ? 0 : 1],
               *to = &w->groups.at[w->groups.at[0].is_read ? 1 : 0];
    if (!from->is_read || from->is_written || !to->is_written || to->is_read)
        return false;
    wide_group *wider = from->width > to->width ? from : to;
    from->registers = to->registers = new_registers(w, wider);
    allocate(r, w, from, out);
    copy_all(r, w, from, true, out);
    copy_all(r, w, to, false, out);
    return true;
}

// ---- the pass ------------------------------------------------------------------------------------------------------

static bool has_groups(const wide_loop *w)
{
    bool any = false;
    for (size_t i = 0; i < w->groups.len; i++)
        any |= w->groups.at[i].width > 1;
    return any && !w->hopeless;
}

static void keep_used_groups(wide_loop *w)
{
    size_t kept = 0;
    for (size_t g = 0; g < w->groups.len; g++) {
        if (w->groups.at[g].width < 2)
            continue;
        for (size_t i = 0; i < w->accesses.len; i++)
            if (w->accesses.at[i].group == (int)g)
                w->accesses.at[i].group = (int)kept;
        w->groups.at[kept++] = w->groups.at[g];
    }
    w->groups.len = kept;
}

static void form(ir_rewriter *r, wide_loop *w, ir_block *out)
{
    keep_used_groups(w);
    for (size_t i = 0; i < w->groups.len; i++)
        raise_alignment(w, &w->groups.at[i]);
    if (copy_directly(r, w, out) || pass_through(r, w, out))
        return;
    for (size_t i = 0; i < w->groups.len; i++) {
        wide_group *g = &w->groups.at[i];
        g->registers = new_registers(w, g);
        allocate(r, w, g, out);
        if (g->is_read)
            copy_all(r, w, g, true, out);
    }
    work_on_registers(w);
    ir_emit(r, out, w->loop);
    for (size_t i = 0; i < w->groups.len; i++)
        if (w->groups.at[i].is_written)
            copy_all(r, w, &w->groups.at[i], false, out);
}

static void form_stmt(ir_rewriter *r, ir_stmt *s, ir_block *out)
{
    forming *f = r->user;
    ir_rewrite_nested(r, s);
    ir_wide_hoist(r, s, out);
    wide_loop w = {.px = f->px, .env = f->env, .loop = s, .pointed = &f->pointed};
    bool found = false;
    if (ir_wide_is_candidate(s, &w.first, &w.trips)) {
        ir_env_mark mark = ir_env_enter(f->env);
        ir_env_loop(f->env, s);
        ir_wide_find(&w);
        found = has_groups(&w);
        ir_env_leave(f->env, mark);
    }
    if (!found) {
        ir_emit(r, out, s);
        return;
    }
    form(r, &w, out);
    f->px->changed = true;
}

static void note_pointed(void *user, ir_stmt *s)
{
    if (s->kind == IR_DECL && s->var->tensor)
        map_put_ptr(user, s->var, s);
}

static bool is_candidate(const ir_stmt *s)
{
    int64_t first, trips;
    return ir_wide_is_candidate(s, &first, &trips);
}

bool ir_pass_form_wide(ir_pass_context *px)
{
    if (px->options && !px->options->wide_access)
        return true;
    for (size_t i = 0; i < px->module->funcs.len; i++) {
        ir_func *func = px->module->funcs.at[i];
        if (func->kind == IR_HOST_FUNC || !ir_find(&func->body, is_candidate)) // the host has no registers to copy to
            continue;
        arena_mark mark = arena_mark_get(px->scratch); // what one function needs is gone with it
        forming f = {.px = px, .env = ir_env_new(px->module, func, px->scratch)};
        map_init(&f.pointed, px->scratch);
        ir_walk(&func->body, note_pointed, &f.pointed);
        ir_rewriter r = {f.env, form_stmt, &f};
        ir_rewrite_block(&r, &func->body);
        arena_reset(px->scratch, mark);
    }
    return true;
}

// Note [what may be moved]
//
// All reads of a run happen before the loop's first iteration, all writes after its last. That is the same program if
// nothing in the loop tells the difference: no calls, barriers, instructions with effects, or jumps; the accesses are
// made in every iteration (inner loops of constant bounds count as straight on); and a tensor that is written has no other
// accesses in the loop than to the one element of the iteration, which then live in the registers in order. Different
// tensors do not overlap, unless one of them was made of a pointer: for parameters that is the language's rule (a
// tensor may be given twice only if the kernel writes an element after all reads of that element, as in place
// elementwise operators do), and for shared memory the allocator's.
