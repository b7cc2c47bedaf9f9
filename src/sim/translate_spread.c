// Parallel loops of host functions run on all lanes of the host's warp: what compute() fills in a test, an element to a lane.
//
//     SPREAD of what the loop reads              every lane has what lane 0 has
//     SPREAD_BEGIN                               all lanes go on, numbered
//     for l = lane; l < extents' product; l += lanes
//         indices of the loops, by l             [loops inside of each other are one]
//         body
//     SPREAD_END                                 lane 0 goes on alone
//
// Only loops whose turns cannot meet: they assign variables of their own, and store to one tensor, which they do not read.
#include "sim/translate_priv.h"

enum { MOST_LOOPS = TM_MAX_RANK, MOST_READ = 64 };

typedef struct spread {
    tr *t;
    const ir_stmt *loops[MOST_LOOPS];
    int count;
    map own;               // variables that are declared inside
    const ir_var *stored;  // the tensor
    const ir_var *read[MOST_READ];
    int read_count;
    bool fits;
} spread;

// ---- what the loops do -----------------------------------------------------------------------------------------------

static void read_expr(spread *s, const ir_expr *e);

static void read_var(spread *s, const ir_var *v)
{
    if (map_get_ptr(&s->own, v))
        return;
    for (int i = 0; i < s->read_count; i++)
        if (s->read[i] == v)
            return;
    // Constant tensors are the same for all lanes; arrays of the thread are not followed.
    bool is_here = map_get_ptr(&s->t->locations, v) != NULL;
    if (!is_here && v->type->kind == IR_TENSOR && v->kind == IR_VAR_GLOBAL)
        return;
    if (!is_here || s->read_count == MOST_READ || (v->type->kind == IR_TENSOR && v->tensor->space != IR_GLOBAL)) {
        s->fits = false;
        return;
    }
    s->read[s->read_count++] = v;
    for (int d = 0; v->type->kind == IR_TENSOR && d < v->tensor->rank; d++) {
        if (v->tensor->shape && v->tensor->shape[d])
            read_expr(s, v->tensor->shape[d]);
        if (v->tensor->strides && v->tensor->strides[d])
            read_expr(s, v->tensor->strides[d]);
    }
}

static void read_expr(spread *s, const ir_expr *e)
{
    bool has_var = e->op == IR_OP_VAR || e->op == IR_OP_LOAD;
    bool follows_address = e->op == IR_OP_ADDR || e->op == IR_OP_PLOAD || e->op == IR_OP_TILE;
    s->fits &= e->op != IR_OP_CALL && !follows_address && !ir_has_effects(e);
    if (has_var && s->fits)
        read_var(s, e->u.var);
    for (int i = 0; i < e->arg_count && s->fits; i++)
        read_expr(s, e->args[i]);
}

static void note_own(void *user, ir_stmt *s)
{
    spread *sp = user;
    if (s->kind == IR_DECL || s->kind == IR_FOR)
        map_put_ptr(&sp->own, s->var, (void *)s);
}

static void look_at(void *user, ir_stmt *s)
{
    spread *sp = user;
    bool is_scalar = s->kind != IR_DECL || s->var->type->kind != IR_TENSOR;
    bool is_known = s->kind == IR_DECL || s->kind == IR_ASSIGN || s->kind == IR_STORE || s->kind == IR_IF || s->kind == IR_FOR ||
                    s->kind == IR_WHILE || s->kind == IR_BREAK || s->kind == IR_CONTINUE || s->kind == IR_COMMENT;
    sp->fits &= is_known && is_scalar && (s->kind != IR_ASSIGN || map_get_ptr(&sp->own, s->var));
    if (s->kind == IR_STORE) {
        sp->fits &= !sp->stored || sp->stored == s->var;
        sp->stored = s->var;
    }
    if (s->value && sp->fits)
        read_expr(sp, s->value);
    for (int i = 0; i < s->arg_count && sp->fits; i++)
        read_expr(sp, s->args[i]);
}

static bool is_one(const ir_expr *e, int64_t wanted)
{
    int64_t value;
    return ir_const_int(e, &value) && value == wanted;
}

static bool is_spread(const ir_stmt *s)
{
    return s->kind == IR_FOR && s->unroll == TM_LOOP_PARALLEL && is_one(s->args[0], 0) && is_one(s->args[2], 1);
}

static bool begin(spread *s, tr *t, const ir_stmt *outer)
{
    *s = (spread){.t = t, .fits = true};
    map_init(&s->own, t->arena);
    for (const ir_stmt *at = outer; is_spread(at) && s->count < MOST_LOOPS; at = at->body.stmts.at[0]) {
        s->loops[s->count++] = at;
        map_put_ptr(&s->own, at->var, (void *)at);
        if (at->body.stmts.len != 1)
            break;
    }
    if (!s->count)
        return false;
    ir_block *body = (ir_block *)&s->loops[s->count - 1]->body;
    ir_walk(body, note_own, s);
    ir_walk(body, look_at, s);
    for (int i = 0; i < s->read_count; i++)
        s->fits &= s->read[i] != s->stored;
    // Its address, and what its extents and strides are made of.
    if (s->fits && s->stored)
        read_var(s, s->stored);
    return s->fits && s->stored;
}

// ---- code ------------------------------------------------------------------------------------------------------------

static void spread_var(tr *t, const ir_var *v)
{
    const tr_location *at = tr_location_of(t, v);
    bool is_tensor = v->type->kind == IR_TENSOR;
    int each = is_tensor ? 2 : tr_element_cells(v->type), count = is_tensor ? 1 : tr_element_count(v->type);
    for (int i = 0; i < count; i++)
        tr_op(t, SIM_OP_SPREAD, at->cell + (uint32_t)(i * each), 0, 0, 0)->count = (uint16_t)each;
}

static uint32_t spread_extent(tr *t, const ir_stmt *loop)
{
    dtype type = loop->var->type->scalar;
    uint32_t extent = tr_fresh(t, loop->args[1]);
    if (tr_width(type) == 1)
        extent = tr_widen(t, extent, type);
    tr_op(t, SIM_OP_SPREAD, extent, 0, 0, 0)->count = 2;
    return extent;
}

// The index of each loop, the innermost first.
static void set_indices(tr *t, const spread *s, uint32_t number, const uint32_t *extents)
{
    for (int d = s->count - 1; d >= 0; d--) {
        dtype type = s->loops[d]->var->type->scalar;
        uint32_t index = number, cell = tr_location_of(t, s->loops[d]->var)->cell;
        if (d > 0) {
            index = tr_cells(t, 2);
            uint32_t rest = tr_cells(t, 2);
            tr_op(t, SIM_OP_MOD_U64, index, number, extents[d], 0);
            tr_op(t, SIM_OP_DIV_U64, rest, number, extents[d], 0);
            number = rest;
        }
        if (tr_width(type) == 1) {
            uint32_t narrow = tr_cells(t, 1);
            tr_op(t, SIM_OP_CAST, narrow, index, DT_I64, type);
            index = narrow;
        }
        tr_assign(t, cell, index, tr_width(type), tr_width(type));
    }
}

bool tr_spread_loop(tr *t, const ir_stmt *outer)
{
    spread s;
    uint32_t extents[MOST_LOOPS] = {0}, total;
    if (t->func->kind != IR_HOST_FUNC || t->spreads || !is_spread(outer) || !begin(&s, t, outer))
        return false;
    t->spreads = true;
    for (int d = 0; d < s.count; d++) {
        if (d > 0)
            tr_new_location(t, s.loops[d]->var, false, tr_cells(t, tr_width(s.loops[d]->var->type->scalar)), 0);
        extents[d] = spread_extent(t, s.loops[d]);
    }
    total = extents[0];
    for (int d = 1; d < s.count; d++) {
        uint32_t product = tr_cells(t, 2);
        tr_op(t, SIM_OP_MUL_I64, product, total, extents[d], 0);
        total = product;
    }
    for (int i = 0; i < s.read_count; i++)
        spread_var(t, s.read[i]);
    uint32_t number = tr_cells(t, 2), step = tr_cells(t, 2), next = tr_cells(t, 2), more = tr_cells(t, 1);
    tr_op(t, SIM_OP_SPREAD_BEGIN, number, step, 0, 0);
    tr_loop_begin(t);
    tr_loop l = {.head = tr_here(t)};
    tr_op(t, SIM_OP_LT_I64, more, number, total, 0);
    tr_loop_test(t, &l, more);
    set_indices(t, &s, number, extents);
    tr_block(t, &s.loops[s.count - 1]->body);
    t->stmt = outer;
    t->site = tr_site_of(t, outer->span);
    tr_op(t, SIM_OP_NEXT, 0, 0, 0, 0);
    tr_op(t, SIM_OP_ADD_I64, next, number, step, 0);
    tr_assign(t, number, next, 2, 2);
    tr_loop_end(t, &l);
    tr_op(t, SIM_OP_SPREAD_END, 0, 0, 0, 0);
    t->spreads = false;
    return true;
}
