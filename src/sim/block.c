// Scheduling of blocks and their warps.
//
// Inside a block, each runnable warp runs for a quantum of operations: without a seed in warp order, with a seed in
// random order and for random quanta. The blocks of a cluster are scheduled in the same way. A cluster whose
// warps all wait is deadlocked; most clusters are a single block.
//
// Clusters that do not communicate run one after the other on each worker thread; workers take the next cluster from a
// common counter. Kernels whose blocks communicate run on one thread, which interleaves all resident clusters, so that
// a block may wait for another; the same seed gives the same run.
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
    QUANTUM = 20000,        // operations of a warp before the next runs
    BLOCK_STEPS = 200,      // what a block costs besides its operations, for the budget
    TALKING_QUANTUM = 2000, // the same where blocks communicate
    RESIDENT_BLOCKS = 2048, // at most as many are interleaved
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
    sim_cluster *cluster;
} resident;

// ---- random order ------------------------------------------------------------------------------------------------

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
    bool talks = b->launch->code->talks_between_blocks || b->cluster->count > 1;
    int64_t most = talks ? TALKING_QUANTUM : QUANTUM;
    if (!b->launch->device->options.seed)
        return most;
    // From a few operations to the whole quantum, log-uniformly distributed.
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
    w->contracts = l->device->options.contract;
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

// Where block [rank] of a cluster is in the grid; of both x varies fastest.
static void set_position(sim_block *b, int64_t cluster)
{
    const int64_t *grid = b->launch->shape.grid, *size = b->launch->shape.cluster;
    int64_t rank = b->rank;
    for (int i = 0; i < 3; i++) {
        int64_t clusters = grid[i] / size[i];
        b->id[i] = cluster % clusters * size[i] + rank % size[i];
        cluster /= clusters;
        rank /= size[i];
    }
    b->index = b->id[0] + grid[0] * (b->id[1] + grid[1] * b->id[2]);
}

static sim_block *start_block(sim_cluster *c, int rank, int64_t cluster)
{
    sim_launch *l = c->launch;
    arena *a = c->arena;
    sim_block *b = ARENA_NEW(a, sim_block);
    *b = (sim_block){.launch = l, .cluster = c, .rank = rank, .arena = a};
    set_position(b, cluster);
    b->thread_count = (int)(l->shape.block[0] * l->shape.block[1] * l->shape.block[2]);
    b->warp_count = b->alive = (b->thread_count + SIM_LANES - 1) / SIM_LANES;
    b->shared_bytes = (int64_t)l->code->shared_bytes + l->shape.dynamic_smem_bytes;
    b->shared = b->shared_bytes ? arena_alloc(a, (size_t)b->shared_bytes) : NULL;
    b->random = l->device->options.seed * 0x2545f4914f6cdd1du + (uint64_t)b->index;
    b->warps = ARENA_ARRAY(a, sim_warp, b->warp_count);
    for (int i = 0; i < b->warp_count; i++)
        start_warp(b, i);
    sim_order_start(b);
    return b;
}

static sim_cluster *start_cluster(sim_launch *l, arena *a, int64_t index)
{
    const int64_t *size = l->shape.cluster;
    sim_cluster *c = ARENA_NEW(a, sim_cluster);
    *c = (sim_cluster){.launch = l, .count = (int)(size[0] * size[1] * size[2]), .arena = a};
    c->alive = c->count;
    c->blocks = ARENA_ARRAY(a, sim_block *, c->count);
    for (int i = 0; i < c->count; i++)
        c->blocks[i] = start_block(c, i, index);
    return c;
}

static int64_t cluster_count(const sim_launch *l)
{
    const int64_t *size = l->shape.cluster;
    return l->block_count / (size[0] * size[1] * size[2]);
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

static void describe_waiting(sim_warp *w, sim_finding *f, int *waiting, int *notes)
{
    sim_block *b = w->block;
    str_buf text, name;
    str_buf_init(&text, b->arena);
    str_buf_init(&name, b->arena);
    str_addf(&name, "warp %d", w->index);
    if (b->cluster->count > 1)
        str_addf(&name, " of block %lld", (long long)b->index);
    sim_barrier_describe(w, &text);
    sim_actor actor = {w->waiting_for ? w->waiting_for->site : w->pc[-1].site, b->index, -1, w->index};
    if (!*waiting)
        f->actor = actor;
    else if (actor.site != f->actor.site && !f->other.site)
        f->other = actor, f->other_text = arena_printf(b->arena, "%s waits here: %s", str_text(&name), str_text(&text));
    if (!*waiting)
        f->under = arena_printf(b->arena, "%s waits: %s", str_text(&name), str_text(&text));
    else if (*notes < 3)
        f->notes[(*notes)++] = arena_printf(b->arena, "%s waits: %s", str_text(&name), str_text(&text));
    ++*waiting;
}

static void report_deadlock(sim_cluster *c)
{
    sim_finding f = {.code = HDS0608};
    int notes = 0, waiting = 0, warps = 0;
    for (int rank = 0; rank < c->count; rank++) {
        sim_block *b = c->blocks[rank];
        warps += b->warp_count;
        for (int i = 0; i < b->warp_count; i++)
            if (b->warps[i].state == SIM_WAIT)
                describe_waiting(&b->warps[i], &f, &waiting, &notes);
    }
    long long first = c->blocks[0]->index;
    long long last = c->blocks[c->count - 1]->index;
    const char *whose = c->count == 1 ? arena_printf(c->arena, "block %lld", first)
                                      : arena_printf(c->arena, "the cluster of blocks %lld to %lld", first, last);
    f.args[0] = arena_printf(c->arena, "%d of %d warps of %s", waiting, warps, whose);
    sim_find(c->launch->device, c->launch, &f);
}

static bool is_interrupted(const sim *s)
{
    return s->options.is_interrupted && s->options.is_interrupted(s->options.interrupted_user);
}

// Runs each runnable warp for a quantum. False: there was none.
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
        if (is_interrupted(l->device))
            step = SIM_HALT;
        if (step == SIM_WAIT) {
            w->state = SIM_WAIT;
        } else if (step == SIM_END) {
            w->state = SIM_END;
            b->alive--;
            sim_barrier_warp_ended(w);
            sim_cluster_warp_ended(w);
        } else if (step == SIM_HALT) {
            halt(l);
        }
    }
    return any;
}

// All warps of the block have ended, and its shared memory with them.
static void end_block(sim_block *b)
{
    if (b->launch->code->uses_async_proxy)
        sim_bulk_block_ends(b);
    if (b->cluster->count > 1)
        sim_order_check_guests(b);
    b->has_ended = true;
    b->cluster->alive--;
}

static void finish_block(sim_block *b)
{
    uint64_t instructions = 0;
    for (int i = 0; i < b->warp_count; i++)
        instructions += b->warps[i].instructions;
    __atomic_add_fetch(&b->launch->device->instructions, instructions, __ATOMIC_RELAXED);
    sim_order_end(b);
}

static void finish_cluster(sim_cluster *c)
{
    for (int i = 0; i < c->count; i++)
        finish_block(c->blocks[i]);
}

// ---- a cluster -----------------------------------------------------------------------------------------------------

// Runs each block for one round. False: no warp is runnable.
static bool run_cluster(sim_cluster *c)
{
    bool any = false;
    uint64_t *random = &c->blocks[0]->random;
    int first = c->count > 1 && c->launch->device->options.seed ? (int)(next_random(random) % (uint64_t)c->count) : 0;
    for (int i = 0; i < c->count && !is_halted(c->launch); i++) {
        sim_block *b = c->blocks[(first + i) % c->count];
        if (b->has_ended)
            continue;
        any |= run_turns(b) || sim_barrier_relax(b);
        if (!b->alive && !is_halted(c->launch))
            end_block(b);
    }
    return any;
}

// ---- many blocks -------------------------------------------------------------------------------------------------

static void run_alone(sim_cluster *c)
{
    while (c->alive && !is_halted(c->launch)) {
        if (!run_cluster(c) && !is_halted(c->launch)) {
            report_deadlock(c);
            halt(c->launch);
        }
    }
    finish_cluster(c);
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
        for (int64_t i; !is_halted(l) && (i = atomic_fetch_add(worker->next, 1)) < cluster_count(l);) {
            run_alone(start_cluster(l, &memory, i));
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
    if (count > cluster_count(l))
        count = (int)cluster_count(l);
    l->is_parallel = count > 1;
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

// The number of interleaved clusters: as many as fit in memory.
static int resident_count(const sim_launch *l)
{
    int64_t threads = l->shape.block[0] * l->shape.block[1] * l->shape.block[2];
    int64_t warps = (threads + SIM_LANES - 1) / SIM_LANES, size = l->block_count / cluster_count(l);
    int64_t bytes = warps * (int64_t)l->code->cell_count * SIM_CELL_BYTES + (int64_t)l->code->shared_bytes * 6 + 65536;
    int64_t count = RESIDENT_BYTES / bytes / size;
    count = count < 2 ? 2 : count > RESIDENT_BLOCKS ? RESIDENT_BLOCKS : count;
    return (int)(count < cluster_count(l) ? count : cluster_count(l));
}

// The resident clusters, scheduled round-robin. One that has ended makes room for the next.
typedef struct interleaving {
    sim_launch *launch;
    arena memory;
    arena_oom oom;
    resident *at;
    int count;
    int64_t next, ended;
} interleaving;

static bool fill_slot(interleaving *c, resident *r)
{
    if (!r->cluster && c->next < cluster_count(c->launch)) {
        if (!r->memory.oom) {
            arena_init(&r->memory, &c->oom);
            r->empty = arena_mark_get(&r->memory);
        }
        r->cluster = start_cluster(c->launch, &r->memory, c->next++);
    }
    return r->cluster != NULL;
}

static void leave_slot(interleaving *c, resident *r)
{
    finish_cluster(r->cluster);
    arena_reset(&r->memory, r->empty);
    r->cluster = NULL;
    c->ended++;
}

static void run_each(interleaving *c)
{
    bool any = false;
    sim_cluster *stuck = NULL;
    for (int i = 0; i < c->count && !is_halted(c->launch); i++) {
        resident *r = &c->at[i];
        if (!fill_slot(c, r))
            continue;
        if (run_cluster(r->cluster))
            any = true;
        else
            stuck = r->cluster;
        if (!r->cluster->alive)
            leave_slot(c, r);
    }
    if (!any && stuck && !is_halted(c->launch)) {
        report_deadlock(stuck);
        halt(c->launch);
    }
}

static void run_together(sim_launch *l)
{
    interleaving c = {.launch = l, .count = resident_count(l)};
    arena_init(&c.memory, &c.oom);
    if (setjmp(c.oom.jump)) {
        out_of_memory(l);
    } else {
        c.at = ARENA_ARRAY(&c.memory, resident, c.count);
        while (c.ended < cluster_count(l) && !is_halted(l))
            run_each(&c);
    }
    for (int i = 0; c.at && i < c.count; i++) {
        if (c.at[i].cluster)
            finish_cluster(c.at[i].cluster);
        if (c.at[i].memory.oom)
            arena_free(&c.at[i].memory);
    }
    arena_free(&c.memory);
}

void sim_run_launch(sim_launch *l)
{
    if (l->code->talks_between_blocks && cluster_count(l) > 1)
        run_together(l);
    else
        run_in_parallel(l);
}
