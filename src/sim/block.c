// Blocks and their warps take turns.
//
// Inside a block, each warp that can go on runs for a quantum of operations; without a seed in their order, with one in
// an order and for quanta drawn from it. A block whose warps all wait is deadlocked.
//
// Blocks that do not talk to each other run one after the other on each worker thread; workers take the next block from
// a common counter. Kernels that talk between blocks run on one thread, all blocks that are resident taking turns, so
// that a block may wait for another; the same seed gives the same run.
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sim/barrier.h"
#include "sim/bulk.h"
#include "sim/check.h"
#include "sim/exec.h"

enum {
    QUANTUM = 20000,        // operations of a warp's turn
    BLOCK_STEPS = 200,      // what a block costs besides its operations, for the budget
    TALKING_QUANTUM = 2000, // where blocks wait for each other
    RESIDENT_BLOCKS = 2048, // at most as many take turns
    RESIDENT_BYTES = 1 << 30,
};

typedef struct sim_worker {
    sim_launch *launch;
    _Atomic int64_t *next;
    arena_oom oom;
} sim_worker;

typedef struct resident {
    arena memory;
    arena_mark empty;
    sim_block *block;
} resident;

// ---- random turns ------------------------------------------------------------------------------------------------

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void shuffled(sim_block *b, int *order)
{
    for (int i = 0; i < b->warp_count; i++)
        order[i] = i;
    if (!b->launch->device->options.seed)
        return;
    for (int i = b->warp_count - 1; i > 0; i--) {
        int k = (int)(next_random(&b->random) % (uint64_t)(i + 1)), held = order[i];
        order[i] = order[k];
        order[k] = held;
    }
}

static int64_t quantum_of(sim_block *b)
{
    int64_t most = b->launch->code->talks_between_blocks ? TALKING_QUANTUM : QUANTUM;
    if (!b->launch->device->options.seed)
        return most;
    // From a few operations to the whole quantum, each size class as often as the others.
    return most >> next_random(&b->random) % 9;
}

// ---- a block -----------------------------------------------------------------------------------------------------

static void start_warp(sim_block *b, int index)
{
    sim_launch *l = b->launch;
    sim_warp *w = &b->warps[index];
    w->block = b;
    w->index = index;
    w->watches_nan = l->device->options.trap_nan;
    int64_t threads = b->thread_count - (int64_t)index * SIM_LANES;
    w->full = threads >= SIM_LANES ? UINT32_MAX : ((uint32_t)1 << threads) - 1;
    const int64_t *extent = l->shape.block;
    for (int lane = 0; lane < SIM_LANES; lane++) {
        int64_t t = (int64_t)index * SIM_LANES + lane;
        w->tid[0][lane] = (int32_t)(t % extent[0]);
        w->tid[1][lane] = (int32_t)(t / extent[0] % extent[1]);
        w->tid[2][lane] = (int32_t)(t / extent[0] / extent[1]);
    }
    w->locals = sim_local_start(w);
    sim_warp_start(w, l->code, l->args, l->arg_count);
}

static sim_block *start_block(sim_launch *l, arena *a, int64_t index)
{
    sim_block *b = ARENA_NEW(a, sim_block);
    *b = (sim_block){.launch = l, .index = index, .arena = a};
    b->id[0] = index % l->shape.grid[0];
    b->id[1] = index / l->shape.grid[0] % l->shape.grid[1];
    b->id[2] = index / l->shape.grid[0] / l->shape.grid[1];
    b->thread_count = (int)(l->shape.block[0] * l->shape.block[1] * l->shape.block[2]);
    b->warp_count = b->alive = (b->thread_count + SIM_LANES - 1) / SIM_LANES;
    b->shared_bytes = (int64_t)l->code->shared_bytes + l->shape.dynamic_smem_bytes;
    b->shared = b->shared_bytes ? arena_alloc(a, (size_t)b->shared_bytes) : NULL;
    b->random = l->device->options.seed * 0x2545f4914f6cdd1du + (uint64_t)index;
    b->warps = ARENA_ARRAY(a, sim_warp, b->warp_count);
    for (int i = 0; i < b->warp_count; i++)
        start_warp(b, i);
    sim_order_start(b);
    return b;
}

void sim_wake(sim_warp *w)
{
    w->state = SIM_NEXT;
    w->waiting_for = NULL;
}

static void halt(sim_launch *l)
{
    __atomic_store_n(&l->halted, true, __ATOMIC_RELAXED);
}

static bool is_halted(const sim_launch *l)
{
    return __atomic_load_n(&l->halted, __ATOMIC_RELAXED);
}

static void report_deadlock(sim_block *b)
{
    sim_finding f = {.code = HDS0608};
    int notes = 0, waiting = 0;
    for (int i = 0; i < b->warp_count; i++) {
        sim_warp *w = &b->warps[i];
        if (w->state != SIM_WAIT)
            continue;
        str_buf text;
        str_buf_init(&text, b->arena);
        sim_barrier_describe(w, &text);
        sim_actor who = {w->waiting_for ? w->waiting_for->site : w->pc[-1].site, b->index, -1, i};
        if (!waiting)
            f.who = who;
        else if (who.site != f.who.site && !f.other.site)
            f.other = who, f.other_text = arena_printf(b->arena, "warp %d waits here: %s", i, str_text(&text));
        if (!waiting)
            f.under = arena_printf(b->arena, "warp %d waits: %s", i, str_text(&text));
        else if (notes < 3)
            f.notes[notes++] = arena_printf(b->arena, "warp %d waits: %s", i, str_text(&text));
        waiting++;
    }
    f.args[0] = arena_printf(b->arena, "%d of %d warps of block %lld", waiting, b->warp_count, (long long)b->index);
    sim_find(b->launch->device, b->launch, &f);
}

// A turn for each warp that can go on. False: none could.
static bool run_turns(sim_block *b)
{
    sim_launch *l = b->launch;
    int order[1024 / SIM_LANES];
    bool any = false;
    shuffled(b, order);
    for (int i = 0; i < b->warp_count && !is_halted(l); i++) {
        sim_warp *w = &b->warps[order[i]];
        if (w->state != SIM_NEXT)
            continue;
        any = true;
        uint64_t before = w->steps;
        sim_step step = sim_execute(w, quantum_of(b));
        int64_t steps = (int64_t)(w->steps - before) + (before == 0 && w->index == 0 ? BLOCK_STEPS : 0);
        if (__atomic_add_fetch(&l->steps, steps, __ATOMIC_RELAXED) > sim_budget_of(l->device) && step != SIM_HALT) {
            sim_check_budget(w);
            step = SIM_HALT;
        }
        if (step == SIM_WAIT) {
            w->state = SIM_WAIT;
        } else if (step == SIM_END) {
            w->state = SIM_END;
            b->alive--;
            sim_barrier_warp_ended(w);
        } else if (step == SIM_HALT) {
            halt(l);
        }
    }
    return any;
}

static void finish_block(sim_block *b)
{
    uint64_t instructions = 0;
    if (!b->alive && b->launch->code->uses_copy_engine)
        sim_bulk_block_ends(b);
    for (int i = 0; i < b->warp_count; i++)
        instructions += b->warps[i].instructions;
    __atomic_add_fetch(&b->launch->device->instructions, instructions, __ATOMIC_RELAXED);
    sim_order_end(b);
}

// ---- many blocks -------------------------------------------------------------------------------------------------

static void run_alone(sim_block *b)
{
    while (b->alive && !is_halted(b->launch)) {
        if (!run_turns(b) && !sim_barrier_relax(b)) {
            report_deadlock(b);
            halt(b->launch);
        }
    }
    finish_block(b);
}

static void out_of_memory(sim_launch *l)
{
    sim_finding f = {.code = HDS0621, .args = {l->kernel->name, "more", "0", "all"}};
    sim_find(l->device, l, &f);
    halt(l);
}

static void *work(void *user)
{
    sim_worker *worker = user;
    sim_launch *l = worker->launch;
    arena memory;
    arena_init(&memory, &worker->oom);
    if (setjmp(worker->oom.jump)) {
        out_of_memory(l);
    } else {
        arena_mark mark = arena_mark_get(&memory);
        for (int64_t i; !is_halted(l) && (i = atomic_fetch_add(worker->next, 1)) < l->block_count;) {
            run_alone(start_block(l, &memory, i));
            arena_reset(&memory, mark);
        }
    }
    arena_free(&memory);
    return NULL;
}

static void run_in_parallel(sim_launch *l)
{
    _Atomic int64_t next = 0;
    int count = sim_worker_count(l->device);
    if (count > l->block_count)
        count = (int)l->block_count;
    sim_worker workers[64];
    pthread_t threads[64];
    int started = 0;
    for (int i = 0; i < count; i++)
        workers[i] = (sim_worker){.launch = l, .next = &next};
    for (; started < count - 1; started++)
        if (pthread_create(&threads[started], NULL, work, &workers[started + 1]))
            break;
    work(&workers[0]);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

// How many blocks take turns: as many as memory is good for.
static int resident_count(const sim_launch *l)
{
    int64_t threads = l->shape.block[0] * l->shape.block[1] * l->shape.block[2];
    int64_t warps = (threads + SIM_LANES - 1) / SIM_LANES;
    int64_t bytes = warps * (int64_t)l->code->cell_count * SIM_CELL_BYTES + (int64_t)l->code->shared_bytes * 6 + 65536;
    int64_t count = RESIDENT_BYTES / bytes;
    count = count < 2 ? 2 : count > RESIDENT_BLOCKS ? RESIDENT_BLOCKS : count;
    return (int)(count < l->block_count ? count : l->block_count);
}

// The blocks that are resident: one turn each, round and round. One that has ended makes room for the next.
typedef struct company {
    sim_launch *launch;
    arena memory;
    arena_oom oom;
    resident *at;
    int count;
    int64_t next, ended;
} company;

static bool fill_place(company *c, resident *r)
{
    if (!r->block && c->next < c->launch->block_count) {
        if (!r->memory.oom) {
            arena_init(&r->memory, &c->oom);
            r->empty = arena_mark_get(&r->memory);
        }
        r->block = start_block(c->launch, &r->memory, c->next++);
    }
    return r->block != NULL;
}

static void leave_place(company *c, resident *r)
{
    finish_block(r->block);
    arena_reset(&r->memory, r->empty);
    r->block = NULL;
    c->ended++;
}

static void take_turns(company *c)
{
    bool any = false;
    sim_block *stuck = NULL;
    for (int i = 0; i < c->count && !is_halted(c->launch); i++) {
        resident *r = &c->at[i];
        if (!fill_place(c, r))
            continue;
        if (run_turns(r->block) || sim_barrier_relax(r->block))
            any = true;
        else
            stuck = r->block;
        if (!r->block->alive)
            leave_place(c, r);
    }
    if (!any && stuck && !is_halted(c->launch)) {
        report_deadlock(stuck);
        halt(c->launch);
    }
}

static void run_together(sim_launch *l)
{
    company c = {.launch = l, .count = resident_count(l)};
    arena_init(&c.memory, &c.oom);
    if (setjmp(c.oom.jump)) {
        out_of_memory(l);
    } else {
        c.at = ARENA_ARRAY(&c.memory, resident, c.count);
        while (c.ended < l->block_count && !is_halted(l))
            take_turns(&c);
    }
    for (int i = 0; c.at && i < c.count; i++) {
        if (c.at[i].block)
            finish_block(c.at[i].block);
        if (c.at[i].memory.oom)
            arena_free(&c.at[i].memory);
    }
    arena_free(&c.memory);
}

void sim_run_launch(sim_launch *l)
{
    if (l->code->talks_between_blocks && l->block_count > 1)
        run_together(l);
    else
        run_in_parallel(l);
}
