// hidet.lang.cuda: barriers of the block (PTX ISA 9.7.13.1 "bar, barrier") and of the warp (9.7.13.2 "bar.warp.sync").
//
// See Note [barriers count warps]
#include "sim/models/models_priv.h"

#include "sim/barrier.h"
#include "sim/models/mbarrier.h"
#include "sim/models/warpgroup.h"

enum { NAMED_BARRIERS = 16 };

typedef struct named_barrier {
    int expected; // threads of the phase under way; 0: no thread has arrived yet
    int arrived;
    uint64_t waiting; // warps
    uint32_t
        lanes[SIM_LANES]; // by warp: those that wait, and those that were let go on: see Note [barriers count warps]
    uint32_t site;        // of the first to arrive, and its warp and lane
    int warp;
    uint32_t lane;
    sim_sync sync;
} named_barrier;

struct sim_barriers {
    uint64_t waiting; // warps in syncthreads
    int waiting_count;
    uint32_t predicates[SIM_LANES]; // by warp: lanes where it held
    uint32_t poisoned;              // warps with a poisoned predicate
    uint32_t why;
    named_barrier named[NAMED_BARRIERS];
};

static struct sim_barriers *barriers_of(sim_block *b)
{
    if (!b->barriers)
        b->barriers = ARENA_NEW(b->arena, struct sim_barriers);
    return b->barriers;
}

static sim_actor actor_of(const sim_warp *w, uint32_t site, uint32_t lane)
{
    return (sim_actor){site, w->block->index, sim_thread(w, lane), w->index};
}

static void find(sim_warp *w, const sim_finding *f)
{
    sim_find(w->block->launch->device, w->block->launch, f);
}

// ---- all lanes of the warp ---------------------------------------------------------------------------------------

bool sim_barrier_whole_warp(sim_warp *w, const sim_use *use, uint32_t lanes)
{
    uint32_t missing = lanes & ~w->active, ended = missing & ~sim_live(w);
    if (!missing)
        return true;
    sim_finding f = {.code = HDS0607, .actor = actor_of(w, use->site, sim_first_lane(w->active))};
    f.args[0] = sim_say(w, "'%s' is reached by a part of warp %d", use->intrin->name, w->index);
    f.under = sim_say(w, "%s wait%s here, %s %s", sim_say_lanes(w, w->active), w->active & (w->active - 1) ? "" : "s",
                      sim_say_lanes(w, ended ? ended : missing), ended ? "ended before" : "took another branch");
    f.help = "move the barrier out of the branch or loop that only some threads take";
    find(w, &f);
    return false;
}

// ---- syncthreads and its like ------------------------------------------------------------------------------------

static bool same_site(const sim_warp *w, uint32_t a, uint32_t b)
{
    const sim_site *x = sim_site_at(w->block->launch->program, a), *y = sim_site_at(w->block->launch->program, b);
    return a == b || (x->origin == y->origin && memcmp(&x->span, &y->span, sizeof x->span) == 0);
}

static bool meets_others(sim_warp *w, const sim_use *use, const struct sim_barriers *all)
{
    if (!all->waiting)
        return true;
    const sim_warp *first = &w->block->warps[__builtin_ctzll(all->waiting)];
    if (same_site(w, first->waiting_for->site, use->site))
        return true;
    sim_finding f = {.code = HDS0607, .actor = actor_of(w, use->site, sim_first_lane(w->active))};
    f.other = actor_of(first, first->waiting_for->site, sim_first_lane(first->waiting_lanes));
    f.args[0] = sim_say(w, "warps %d and %d wait at different barriers", w->index, first->index);
    f.under = sim_say(w, "warp %d waits here", w->index);
    f.other_text = sim_say(w, "warp %d waits here", first->index);
    f.help = "let all threads of the block reach the same barrier";
    find(w, &f);
    return false;
}

// Threads that have ended do not come any more: HDS0607 at the warp that waits. See Note [threads that have ended]
static void report_ended(sim_warp *w, const sim_use *use, const sim_warp *ended)
{
    sim_finding f = {.code = HDS0607, .actor = actor_of(w, use->site, sim_first_lane(w->active))};
    f.args[0] =
        sim_say(w, "warp %d waits at '%s', and warp %d ended without it", w->index, use->intrin->name, ended->index);
    f.help = "let all threads of the block reach the barrier, and return behind it";
    find(w, &f);
}

static const sim_warp *ended_warp(const sim_block *b)
{
    for (int i = 0; i < b->warp_count; i++)
        if (b->warps[i].state == SIM_END)
            return &b->warps[i];
    return NULL;
}

static uint64_t result_of(const char *name, int held, int threads)
{
    if (strcmp(name, "syncthreads_and") == 0)
        return held == threads;
    return strcmp(name, "syncthreads_or") == 0 ? held > 0 : (uint64_t)held;
}

static void give_results(sim_block *b, struct sim_barriers *all, const char *name)
{
    int held = 0, threads = 0;
    for (int i = 0; i < b->warp_count; i++)
        if (all->waiting >> i & 1) {
            held += __builtin_popcount(all->predicates[i]);
            threads += __builtin_popcount(b->warps[i].waiting_lanes);
        }
    uint64_t value = result_of(name, held, threads);
    for (int i = 0; i < b->warp_count; i++) {
        sim_warp *w = &b->warps[i];
        if (!(all->waiting >> i & 1))
            continue;
        const sim_use *use = w->waiting_for;
        SIM_EACH(lane, w->waiting_lanes)
            sim_element_set(w, &use->result, 0, lane, value);
        sim_result_defined(w, use, w->waiting_lanes);
        sim_poison_set(w, use->result.cell, w->waiting_lanes, all->poisoned ? UINT32_MAX : 0, all->why);
    }
}

// All warps wait. [self]: the one that runs, which needs no waking.
static void complete(sim_block *b, struct sim_barriers *all, const sim_warp *self)
{
    const sim_use *use = b->warps[__builtin_ctzll(all->waiting)].waiting_for;
    if (use->result.count)
        give_results(b, all, use->intrin->name);
    sim_order_block_barrier(b);
    uint64_t woken = all->waiting;
    all->waiting = 0;
    all->waiting_count = 0;
    all->poisoned = 0;
    for (int i = 0; i < b->warp_count; i++)
        if (woken >> i & 1) {
            b->warps[i].waiting_for = NULL;
            if (&b->warps[i] != self)
                sim_wake(&b->warps[i]);
        }
}

static sim_step run_syncthreads(sim_warp *w, const sim_use *use)
{
    sim_block *b = w->block;
    struct sim_barriers *all = barriers_of(b);
    if (!sim_barrier_whole_warp(w, use, w->full) || !meets_others(w, use, all))
        return SIM_HALT;
    const sim_warp *ended = ended_warp(b);
    if (ended) {
        report_ended(w, use, ended);
        return SIM_HALT;
    }
    if (use->intrin->operand_count) {
        const sim_operand *predicate = &use->operands[0];
        uint32_t held = 0;
        SIM_EACH(lane, w->active)
            held |= (uint32_t)(sim_u32(w, predicate->cell)[lane] != 0) << lane;
        all->predicates[w->index] = held;
        if (w->poison[predicate->cell] & w->active) {
            all->poisoned |= 1u << w->index;
            all->why = w->why[predicate->cell];
        }
    }
    w->waiting_for = use;
    w->waiting_lanes = w->active;
    all->waiting |= (uint64_t)1 << w->index;
    if (++all->waiting_count < b->warp_count)
        return SIM_WAIT;
    complete(b, all, w);
    return SIM_NEXT;
}

void sim_barrier_warp_ended(sim_warp *w)
{
    struct sim_barriers *all = w->block->barriers;
    if (w->block->groups)
        sim_group_warp_ended(w);
    if (!all || !all->waiting)
        return;
    sim_warp *first = &w->block->warps[__builtin_ctzll(all->waiting)];
    report_ended(first, first->waiting_for, w);
    __atomic_store_n(&w->block->launch->halted, true, __ATOMIC_RELAXED);
}

// ---- named barriers ----------------------------------------------------------------------------------------------

// HDS0624, with the location of the first arrival at the barrier if there is one.
static void inconsistent(sim_warp *w, const sim_use *use, int id, const named_barrier *other, const char *what,
                         const char *help)
{
    sim_finding f = {.code = HDS0624, .actor = actor_of(w, use->site, sim_first_lane(w->active))};
    f.args[0] = sim_say(w, "%d", id);
    f.args[1] = what;
    f.help = help;
    if (other && other->expected) {
        f.other = (sim_actor){other->site, w->block->index, other->warp * SIM_LANES + (int)other->lane, other->warp};
        f.other_text = sim_say(w, "%d threads are expected here", other->expected);
    }
    find(w, &f);
}

// The value of an operand that all active lanes share.
static bool uniform(sim_warp *w, const sim_operand *o, int32_t *value)
{
    *value = sim_i32(w, o->cell)[sim_first_lane(w->active)];
    SIM_EACH(lane, w->active)
        if (sim_i32(w, o->cell)[lane] != *value)
            return false;
    return true;
}

static bool check_named(sim_warp *w, const sim_use *use, int32_t *id, int32_t *threads)
{
    static const char *const help = "all participants name the same barrier and number of threads";
    for (int i = 0; i < 2; i++)
        sim_require_defined(w, use->site, use->operands[use->bound[i]].cell, w->active, "operand of a named barrier");
    bool is_uniform = uniform(w, &use->operands[use->bound[0]], id);
    is_uniform &= uniform(w, &use->operands[use->bound[1]], threads);
    if (!is_uniform) {
        inconsistent(w, use, *id, NULL, "the lanes of the warp name different barriers or numbers of threads", help);
        return false;
    }
    if (*id < 0 || *id >= NAMED_BARRIERS) {
        inconsistent(w, use, *id, NULL, "there are barriers 0 to 15", help);
        return false;
    }
    int most = w->block->warp_count * SIM_LANES;
    if (*threads <= 0 || *threads % SIM_LANES || *threads > most) {
        const char *what =
            sim_say(w, "it is for %d threads, but the number is a multiple of 32 up to the block's %d", *threads, most);
        inconsistent(w, use, *id, NULL, what, help);
        return false;
    }
    return true;
}

static bool joins(sim_warp *w, const sim_use *use, int id, int threads, int count, named_barrier *n)
{
    struct sim_barriers *all = barriers_of(w->block);
    if (id == 0 && all->waiting) {
        inconsistent(w, use, id, NULL, "other warps wait at it in syncthreads()",
                     "use barriers 1 to 15 for parts of a block");
        return false;
    }
    if (!n->expected) {
        *n = (named_barrier){
            .expected = threads, .site = use->site, .warp = w->index, .lane = sim_first_lane(w->active)};
    } else if (n->expected != threads) {
        const char *what = sim_say(w, "%d threads are expected here, and %d by earlier arrivals", threads, n->expected);
        inconsistent(w, use, id, n, what, "all participants pass the same number of threads");
        return false;
    }
    if (n->arrived + count > threads) {
        const char *what = sim_say(w, "%d threads arrive, %d are expected", n->arrived + count, threads);
        inconsistent(w, use, id, n, what, "count all threads that arrive or wait");
        return false;
    }
    return true;
}

static void complete_named(sim_warp *self, named_barrier *n)
{
    sim_block *b = self->block;
    for (int i = 0; i < b->warp_count; i++) {
        sim_warp *w = &b->warps[i];
        if (n->lanes[i])
            sim_order_acquire(w, n->lanes[i], &n->sync);
        if ((n->waiting >> i & 1) && w != self)
            sim_wake(w);
    }
    *n = (named_barrier){0};
}

// bound[0], bound[1]: operands of the number and the threads; bound[2]: whether it waits; bound[3]: whether lanes count
// one by one.
static bool bind_named(sim_use *use)
{
    const sim_operand *id = sim_operand_named(use, "id"), *threads = sim_operand_named(use, "threads");
    if (!id || !threads)
        return false;
    use->bound[0] = id - use->operands;
    use->bound[1] = threads - use->operands;
    use->bound[2] = strcmp(use->intrin->name, "barrier_arrive") != 0;
    use->bound[3] = strcmp(use->intrin->name, "barrier_sync_unaligned") == 0;
    return true;
}

static sim_step run_named(sim_warp *w, const sim_use *use)
{
    int32_t id, threads;
    if ((!use->bound[3] && !sim_barrier_whole_warp(w, use, sim_live(w))) || !check_named(w, use, &id, &threads))
        return SIM_HALT;
    named_barrier *n = &barriers_of(w->block)->named[id];
    // An aligned barrier counts whole warps, however many of their lanes are alive.
    int count = use->bound[3] ? __builtin_popcount(w->active) : SIM_LANES;
    if (!joins(w, use, id, threads, count, n))
        return SIM_HALT;
    n->arrived += count;
    sim_order_release(w, w->active, &n->sync);
    if (use->bound[2]) {
        n->waiting |= (uint64_t)1 << w->index;
        n->lanes[w->index] |= w->active;
    }
    if (n->arrived < n->expected)
        return use->bound[2] ? SIM_WAIT : SIM_NEXT;
    complete_named(w, n);
    return SIM_NEXT;
}

// A warp that waits with some of its lanes, while others could still come to the barrier.
static bool waits_in_part(const sim_warp *w)
{
    const sim_use *use = w->waiting_for;
    return w->state == SIM_WAIT && use && use->model->run == run_named && use->bound[3] &&
           (sim_live(w) & ~w->waiting_lanes);
}

bool sim_barrier_relax(sim_block *b)
{
    for (int i = 0; i < b->warp_count; i++) {
        sim_warp *w = &b->warps[i];
        if (!waits_in_part(w))
            continue;
        int id = sim_i32(w, w->waiting_for->operands[w->waiting_for->bound[0]].cell)[sim_first_lane(w->waiting_lanes)];
        named_barrier *n = &barriers_of(b)->named[id];
        if (!(sim_live(w) & ~n->lanes[i]))
            continue;
        n->waiting &= ~((uint64_t)1 << i);
        sim_wake(w);
        return true;
    }
    return false;
}

// ---- the warp ----------------------------------------------------------------------------------------------------

static sim_step run_syncwarp(sim_warp *w, const sim_use *use)
{
    const sim_operand *mask = &use->operands[0];
    uint32_t done = 0, members;
    sim_require_defined(w, use->site, mask->cell, w->active, "mask of a barrier");
    SIM_EACH(lane, w->active) {
        if (done >> lane & 1)
            continue;
        if (!sim_members(w, use, mask, lane, &members))
            return SIM_NEXT;
        sim_order_warp_barrier(w, members & w->active);
        done |= members;
    }
    return SIM_NEXT;
}

// ---- words for the scheduler -------------------------------------------------------------------------------------

static void describe_named(const sim_warp *w, const sim_use *use, str_buf *out)
{
    int32_t id = sim_i32(w, use->operands[use->bound[0]].cell)[sim_first_lane(w->waiting_lanes)];
    const named_barrier *n = &w->block->barriers->named[id & 15];
    str_addf(out, "barrier %d, where %d of %d threads have arrived", (int)id, n->arrived, n->expected);
}

void sim_barrier_describe(const sim_warp *w, str_buf *out)
{
    const sim_use *use = w->waiting_for;
    if (!use) {
        str_adds(out, "nothing");
    } else if (use->model && use->model->run == run_named) {
        describe_named(w, use, out);
    } else if (use->model && use->model->run == run_syncthreads) {
        str_addf(out, "%s(), which %d of %d warps have reached", use->intrin->name, w->block->barriers->waiting_count,
                 w->block->warp_count);
    } else if (!sim_mbarrier_describe(w, out) && !sim_group_describe(w, out) &&
               !sim_cluster_describe(w, out)) {
        str_addf(out, "%s()", use->intrin->name);
    }
}

const sim_model sim_models_barrier[] = {
    {"syncthreads", run_syncthreads, NULL, false},
    {"syncthreads_and", run_syncthreads, NULL, false},
    {"syncthreads_or", run_syncthreads, NULL, false},
    {"syncthreads_count", run_syncthreads, NULL, false},
    {"syncwarp", run_syncwarp, NULL, false},
    {"barrier_sync", run_named, bind_named, false},
    {"barrier_sync_unaligned", run_named, bind_named, false},
    {"barrier_arrive", run_named, bind_named, false},
    {NULL, NULL, NULL, false},
};

// Note [barriers count warps]
//
// A warp waits as a whole, with the lanes that are active: its other lanes run again only when these go on. That is
// what syncthreads asks for anyway. barrier_sync_unaligned may stand in two branches of one warp, both of which the
// barrier needs. So when no warp of the block can go on (sim_barrier_relax), a part of a warp that waits there goes on
// with its branch as if the barrier were complete, and its other lanes run next. What it then reads of others is
// not ordered by the barrier yet, so it is reported as a race and not silently wrong.
//
// Note [threads that have ended]
//
// The hardware since sm_70 lets a barrier pass when all threads that have not ended are there. The CUDA C++ Programming
// Guide allows __syncthreads() in conditional code only if the condition is the same for all threads of the block, and
// an early return is such a condition; the models follow the Guide.
