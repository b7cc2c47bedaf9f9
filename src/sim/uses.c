// Which loads of shared memory are known to be complete (proxy.h).
//
// Each cell of the warp's registers has a bit mask of the pending loads that its value comes from. Bits are reused when
// 64 loads are pending; the oldest then counts as used.
#include "sim/exec.h"
#include "sim/proxy.h"

enum { LOADS = 64 };

struct sim_uses {
    uint64_t *from; // by cell of the warp
    uint32_t cells;
    uint64_t under_way;   // loads whose values are not used yet
    uint32_t load[LOADS]; // their numbers
    uint32_t *done;       // by number: serial of the block; 0: not yet
    uint32_t count, cap;
    uint32_t open;        // the load that the operation under way is; 0: it is none
    const sim_op *opened; // that
};

static const char *const reads_of[] = {
#define SIM_OP(op, reads, doc) reads,
#include "sim/ops.def"
#undef SIM_OP
};

struct sim_uses *sim_uses_new(sim_block *b)
{
    return ARENA_NEW(b->arena, struct sim_uses);
}

uint32_t sim_uses_done(const sim_warp *w, uint32_t load)
{
    return w->uses->done[load];
}

uint32_t sim_uses_load(sim_warp *w)
{
    struct sim_uses *u = w->uses;
    if (u->open)
        return u->open;
    if (u->count + 1 >= u->cap) {
        uint32_t cap = u->cap ? 2 * u->cap : 64;
        u->done = arena_grow(w->block->arena, u->done, u->cap * sizeof *u->done, cap * sizeof *u->done);
        memset(u->done + u->cap, 0, (cap - u->cap) * sizeof *u->done);
        u->cap = cap;
    }
    u->opened = w->begun;
    w->follows_uses = true;
    return u->open = ++u->count;
}

// ---- cells ---------------------------------------------------------------------------------------------------------

static void reserve(sim_warp *w)
{
    struct sim_uses *u = w->uses;
    if (u->cells >= w->cell_limit)
        return;
    u->from = arena_grow(w->block->arena, u->from, u->cells * sizeof *u->from, w->cell_limit * sizeof *u->from);
    memset(u->from + u->cells, 0, (w->cell_limit - u->cells) * sizeof *u->from);
    u->cells = w->cell_limit;
}

static uint64_t union_of(const uint64_t *from, uint32_t first, uint32_t count)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < count; i++)
        all |= from[first + i];
    return all;
}

static void set(uint64_t *from, uint32_t first, uint32_t count, uint64_t bits)
{
    for (uint32_t i = 0; i < count; i++)
        from[first + i] = bits;
}

// ---- loads ---------------------------------------------------------------------------------------------------------

static void used(sim_warp *w, uint64_t bits)
{
    struct sim_uses *u = w->uses;
    uint64_t rest = bits & u->under_way;
    if (!rest)
        return;
    uint32_t serial = sim_order_tick(w->block);
    for (; rest; rest &= rest - 1)
        u->done[u->load[__builtin_ctzll(rest)]] = serial;
    u->under_way &= ~bits;
}

// The executed operation was a load: its results depend on it.
static void close_load(sim_warp *w, uint64_t *from)
{
    struct sim_uses *u = w->uses;
    const sim_program *p = w->block->launch->program;
    const sim_op *op = u->opened;
    uint32_t load = u->open, bit = load % LOADS, first = 0, count = 0;
    u->open = 0;
    if (op->code == SIM_OP_LOAD) {
        const sim_access *a = &p->accesses.at[op->c];
        first = op->dst;
        count = (uint32_t)a->count * (a->bytes == 8 ? 2 : 1);
    } else if (op->code == SIM_OP_MODEL) {
        const sim_operand *r = &p->uses.at[op->a].result;
        first = r->cell;
        count = (uint32_t)r->count * r->cells;
    }
    used(w, (uint64_t)1 << bit);
    for (uint32_t i = 0; i < u->cells; i++)
        u->from[i] &= ~((uint64_t)1 << bit);
    u->load[bit] = load;
    u->under_way |= (uint64_t)1 << bit;
    for (uint32_t i = 0; i < count; i++)
        from[first + i] |= (uint64_t)1 << bit;
    if (!count)
        used(w, (uint64_t)1 << bit); // it has gone elsewhere: a copy
}

// ---- operations ----------------------------------------------------------------------------------------------------

static void run_model(sim_warp *w, uint64_t *from, const sim_use *use)
{
    uint64_t all = 0;
    for (int i = 0; i < use->intrin->operand_count; i++) {
        const sim_operand *o = &use->operands[i];
        all |= o->is_immediate ? 0 : union_of(from, o->cell, (uint32_t)o->count * o->cells);
    }
    bool is_pure = use->intrin->effects == IR_EFFECT_NONE;
    if (!is_pure)
        used(w, all);
    set(from, use->result.cell, (uint32_t)use->result.count * use->result.cells, is_pure ? all : 0);
}

static void move(const sim_warp *w, uint64_t *from, const sim_op *op)
{
    bool is_all = op->code == SIM_OP_MOVE || w->active == UINT32_MAX;
    for (uint32_t i = 0; i < op->count; i++)
        from[op->dst + i] = (is_all ? 0 : from[op->dst + i]) | from[op->a + i];
}

static void choose(uint64_t *from, const sim_op *op)
{
    for (uint32_t i = 0; i < op->count; i++)
        from[op->dst + i] = from[op->a] | from[op->b + i] | from[op->c + i];
}

static void compute(uint64_t *from, const sim_op *op)
{
    uint64_t all = 0;
    const char *reads = reads_of[op->code];
    for (; *reads; reads++)
        all |= from[*reads == 'a' ? op->a : *reads == 'b' ? op->b : op->c];
    from[op->dst] = all;
}

static void run_slot(uint64_t *from, const sim_op *op)
{
    uint32_t each = op->c & 0xffff, all = (uint32_t)op->count * each;
    if (op->code == SIM_OP_LOAD_SLOT) {
        set(from, op->dst, each, union_of(from, op->a, all));
        return;
    }
    uint64_t bits = union_of(from, op->a, each);
    for (uint32_t i = 0; i < all; i++)
        from[op->dst + i] |= bits;
}

static uint32_t cells_of(const sim_access *a)
{
    return (uint32_t)a->count * (a->bytes == 8 ? 2 : 1);
}

static void access_memory(sim_warp *w, uint64_t *from, const sim_op *op)
{
    const sim_access *a = &w->block->launch->program->accesses.at[op->c];
    uint64_t address = from[op->a];
    if (op->code == SIM_OP_LOAD)
        set(from, op->dst, cells_of(a), 0);
    used(w,
         address | (op->code == SIM_OP_LOAD ? 0 : union_of(from, op->b, op->code == SIM_OP_STORE ? cells_of(a) : 1)));
}

// What leaves the registers of the function.
static void leave(sim_warp *w, const uint64_t *from, const sim_op *op)
{
    if (op->code == SIM_OP_CALL)
        used(w, union_of(from, op->b, op->c));
    else if (op->code == SIM_OP_RETURN)
        used(w, union_of(from, w->code->result_cell, (uint32_t)w->code->result_cells));
    else
        used(w, from[op->a]);
}

static void move_packed(uint64_t *from, const sim_op *op)
{
    if (op->code == SIM_OP_UNPACK)
        set(from, op->dst, op->count, from[op->a]);
    else
        set(from, op->dst, op->c, union_of(from, op->a, (uint32_t)op->count * (op->b > 32 ? 2 : 1)));
}

static void run(sim_warp *w, uint64_t *from, const sim_op *op)
{
    switch ((sim_opcode)op->code) {
    case SIM_OP_MOVE:
    case SIM_OP_ASSIGN:
    case SIM_OP_ASSIGN_WIDE:
        move(w, from, op);
        return;
    case SIM_OP_SELECT:
    case SIM_OP_SELECT_WIDE:
        choose(from, op);
        return;
    case SIM_OP_CONST32:
    case SIM_OP_CONST64:
    case SIM_OP_TID:
    case SIM_OP_BID:
    case SIM_OP_BDIM:
    case SIM_OP_GDIM:
    case SIM_OP_SHARED_BASE:
    case SIM_OP_LOCAL_BASE:
    case SIM_OP_GLOBAL_BASE:
        from[op->dst] = 0;
        return;
    case SIM_OP_PACK:
    case SIM_OP_UNPACK:
        move_packed(from, op);
        return;
    case SIM_OP_LOAD_SLOT:
    case SIM_OP_STORE_SLOT:
        run_slot(from, op);
        return;
    case SIM_OP_LOAD:
    case SIM_OP_STORE:
    case SIM_OP_COPY:
        access_memory(w, from, op);
        return;
    case SIM_OP_IF:
    case SIM_OP_TEST:
    case SIM_OP_ASSERT:
    case SIM_OP_CALL:
    case SIM_OP_RETURN:
        leave(w, from, op);
        return;
    case SIM_OP_MODEL:
        run_model(w, from, &w->block->launch->program->uses.at[op->a]);
        return;
    case SIM_OP_WITHIN:
    case SIM_OP_OWNER:
    case SIM_OP_ASSUME:
        return;
    default:
        if (reads_of[op->code][0])
            compute(from, op);
    }
}

void sim_track_uses(sim_warp *w, const sim_op *op)
{
    struct sim_uses *u = w->uses;
    reserve(w);
    uint64_t *from = u->from + VEC_LAST(&w->frames).base;
    if (u->open)
        close_load(w, from);
    run(w, from, op);
    w->follows_uses = u->under_way != 0;
}
