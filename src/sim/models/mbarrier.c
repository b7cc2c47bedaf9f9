// hidet.lang.mbarrier: mbarriers with phases, arrivals and bytes (PTX ISA 9.7.13.15).
//
// The state is kept here and not in the eight bytes of shared memory, which PTX calls opaque; they are written by init,
// so that an init that is not ordered before its users is a race.
//
// See Note [waiting for a phase], Note [copies that arrive late]
#include "sim/models/models_priv.h"

#include "sim/models/mbarrier.h"

enum { MOST_ARRIVALS = (1 << 20) - 1 };

typedef struct promise {
    sim_warp *warp;
    uint32_t lane;
    sim_landing *land;
    void *copy;
} promise;

typedef struct mbarrier {
    sim_block *home;
    uint64_t address;
    bool is_valid;
    uint32_t expected, pending; // arrivals of a phase; those that the phase under way lacks
    int64_t bytes;              // that the phase under way lacks, those on their way included
    int64_t coming;             // bytes of the copies on their way
    VEC(promise) copies;        // in the order in which they were started
    uint64_t phase;             // number of the phase under way
    uint32_t site;              // of init
    sim_sync under_way, complete;
} mbarrier;

// A warp that waits: which of its lanes have seen their phase complete.
typedef struct waiter {
    sim_warp *warp;
    const sim_use *use;
    uint32_t lanes, seen;
} waiter;

typedef struct mbarriers {
    VEC(mbarrier *) all;
    VEC(waiter) waiters;
} mbarriers;

static mbarriers *mbarriers_of(sim_block *b)
{
    void **state = &b->warps[0].model_state[SIM_STATE_MBARRIERS];
    if (!*state)
        *state = ARENA_NEW(b->arena, mbarriers);
    return *state;
}

static mbarrier *mbarrier_at(sim_block *b, uint64_t address)
{
    mbarriers *m = mbarriers_of(b);
    for (size_t i = 0; i < m->all.len; i++)
        if (m->all.at[i]->address == address)
            return m->all.at[i];
    return NULL;
}

// Where the mbarrier is that the lane names: at an address in its block or, with a rank, at the same one in that block
// of the cluster. False after a finding.
static bool home_of(sim_warp *w, const sim_use *use, uint32_t lane, uint64_t *address, sim_block **home)
{
    *address = sim_u64(w, use->operands[use->bound[0]].cell)[lane];
    *home = w->block;
    const sim_operand *rank = sim_operand_named(use, "rank");
    if (!rank)
        return true;
    *home = sim_cluster_block(w, use, lane, sim_i32(w, rank->cell)[lane]);
    return *home != NULL;
}

// HDS0624 at a lane, with the location where the mbarrier was initialized.
static void wrong(sim_warp *w, const sim_use *use, uint32_t lane, const mbarrier *m, uint64_t address, const char *what)
{
    sim_finding f = {.code = HDS0624};
    f.actor = (sim_actor){use->site, w->block->index, sim_thread(w, lane), w->index};
    if (m && m->home && m->site) {
        f.other = (sim_actor){m->site, m->home->index, -1, -1};
        f.other_text = sim_say(w, "initialised here for %u arrivals", m->expected);
    }
    f.args[0] = sim_say(w, "at byte %llu of shared memory", (unsigned long long)(address & SIM_SHARED_MASK));
    f.args[1] = what;
    sim_find(w->block->launch->device, w->block->launch, &f);
}

// The mbarrier at an address of a block, for a lane of whatever block; NULL after a finding.
static mbarrier *used_by(sim_warp *w, const sim_use *use, uint32_t lane, sim_block *home, uint64_t address, bool writes)
{
    uint64_t there = home == w->block ? address : sim_address_in(address, home->rank);
    mbarrier *m = mbarrier_at(home, address);
    if (home != w->block && (home->has_ended || !m || !m->is_valid)) {
        if (sim_touch_mbarrier(w, use->site, lane, there, writes))
            wrong(w, use, lane, m, address, m ? "it is used after inval" : "it is not initialised yet (init)");
        return NULL;
    }
    if (!m || !m->is_valid) {
        wrong(w, use, lane, m, address, m ? "it is used after inval" : "it is not initialised (init)");
        return NULL;
    }
    return sim_touch_mbarrier(w, use->site, lane, there, writes) ? m : NULL;
}

// The mbarrier that a lane names; NULL after a finding.
static mbarrier *named_by(sim_warp *w, const sim_use *use, uint32_t lane, bool writes)
{
    uint64_t address;
    sim_block *home;
    return home_of(w, use, lane, &address, &home) ? used_by(w, use, lane, home, address, writes) : NULL;
}

// bound[0]: operand bar; bound[1]: the other operand (-1: none); bound[2]: whether a phase is named by its number;
// bound[5], bound[6]: whether it releases and acquires memory between blocks.
static bool bind_mbarrier(sim_use *use)
{
    static const char *const others[] = {"count", "bytes", "parity", "state"};
    const sim_operand *bar = sim_operand_named(use, "bar");
    if (!bar)
        return false;
    use->bound[0] = bar - use->operands;
    use->bound[1] = -1;
    for (int i = 0; i < 4; i++) {
        const sim_operand *o = sim_operand_named(use, others[i]);
        if (o)
            use->bound[1] = o - use->operands;
    }
    use->bound[2] = sim_operand_named(use, "state") != NULL;
    use->bound[5] = strstr(use->intrin->text, ".release.cluster") != NULL;
    use->bound[6] = strstr(use->intrin->text, ".acquire.cluster") != NULL;
    return true;
}

static uint32_t defined_lanes(sim_warp *w, const sim_use *use)
{
    uint32_t lanes = w->active;
    for (int i = 0; i < use->intrin->operand_count; i++)
        lanes = sim_require_defined(w, use->site, use->operands[i].cell, lanes, "an operand of an mbarrier");
    return lanes;
}

static uint64_t other_operand(const sim_warp *w, const sim_use *use, uint32_t lane)
{
    return use->bound[1] < 0 ? 0 : sim_element(w, &use->operands[use->bound[1]], 0, lane);
}

// ---- init, inval -------------------------------------------------------------------------------------------------

static void init_lane(sim_warp *w, const sim_use *use, uint32_t lane)
{
    uint64_t address = sim_u64(w, use->operands[use->bound[0]].cell)[lane], count = other_operand(w, use, lane);
    mbarrier *m = mbarrier_at(w->block, address);
    if (count == 0 || count > MOST_ARRIVALS) {
        wrong(w, use, lane, NULL, address,
              sim_say(w, "it is initialised for %llu arrivals, but 1 to 1048575 are possible",
                      (unsigned long long)count));
        return;
    }
    if (m && m->is_valid) {
        wrong(w, use, lane, m, address, "it is initialised again without inval");
        return;
    }
    if (!m) {
        m = ARENA_NEW(w->block->arena, mbarrier);
        VEC_PUSH(w->block->arena, &mbarriers_of(w->block)->all, m);
    }
    *m = (mbarrier){.home = w->block,
                    .address = address,
                    .is_valid = true,
                    .expected = (uint32_t)count,
                    .pending = (uint32_t)count,
                    .site = use->site};
}

static sim_step run_init(sim_warp *w, const sim_use *use)
{
    uint32_t lanes = defined_lanes(w, use);
    uint8_t bytes[SIM_LANES][16] = {{0}};
    sim_store_bytes(w, use->site, lanes, sim_u64(w, use->operands[use->bound[0]].cell), 8, (const uint8_t(*)[16])bytes,
                    NULL);
    SIM_EACH(lane, lanes)
        init_lane(w, use, lane);
    return SIM_NEXT;
}

static sim_step run_inval(sim_warp *w, const sim_use *use)
{
    uint32_t lanes = defined_lanes(w, use);
    uint8_t bytes[SIM_LANES][16] = {{0}};
    SIM_EACH(lane, lanes) {
        uint64_t address = sim_u64(w, use->operands[use->bound[0]].cell)[lane];
        mbarrier *m = mbarrier_at(w->block, address);
        if (!m || !m->is_valid)
            wrong(w, use, lane, m, address, m ? "it has been ended before" : "it is not initialised (init)");
        else
            m->is_valid = false;
    }
    sim_store_bytes(w, use->site, lanes, sim_u64(w, use->operands[use->bound[0]].cell), 8, (const uint8_t(*)[16])bytes,
                    NULL);
    return SIM_NEXT;
}

static sim_step run_fence_init(sim_warp *w, const sim_use *use)
{
    (void)use;
    sim_order_fence(w, w->active, SIM_CLUSTER);
    return SIM_NEXT;
}

// ---- phases ------------------------------------------------------------------------------------------------------

// Whether the phase that a lane names is complete. The one under way has the parity of its number.
static bool is_complete(const sim_warp *w, const sim_use *use, const mbarrier *m, uint32_t lane)
{
    uint64_t named = other_operand(w, use, lane);
    return use->bound[2] ? named != m->phase : (named & 1) != (m->phase & 1);
}

static void finish_wait(sim_warp *w, const sim_use *use, uint32_t lanes, uint64_t value)
{
    if (!use->result.count)
        return;
    SIM_EACH(lane, lanes)
        sim_element_set(w, &use->result, 0, lane, value);
    sim_result_defined(w, use, lanes);
}

// Lanes of [lanes] that name [m] and whose phase is complete: they know what the arrivals knew.
static uint32_t satisfied(sim_warp *w, const sim_use *use, const mbarrier *m, uint32_t lanes)
{
    uint32_t done = 0;
    SIM_EACH(lane, lanes) {
        bool is_here = sim_u64(w, use->operands[use->bound[0]].cell)[lane] == m->address;
        done |= (uint32_t)(is_here && is_complete(w, use, m, lane)) << lane;
    }
    if (done)
        sim_order_acquire_from(w, done, &m->complete, use->bound[6]);
    return done;
}

static void wake_waiters(sim_block *b, const mbarrier *m)
{
    mbarriers *all = mbarriers_of(b);
    size_t kept = 0;
    for (size_t i = 0; i < all->waiters.len; i++) {
        waiter t = all->waiters.at[i];
        t.seen |= satisfied(t.warp, t.use, m, t.lanes & ~t.seen);
        if (t.seen != t.lanes) {
            all->waiters.at[kept++] = t;
            continue;
        }
        finish_wait(t.warp, t.use, t.lanes, 1);
        sim_wake(t.warp);
    }
    all->waiters.len = kept;
}

// Whether somebody is asleep until a phase of it completes.
static bool is_awaited(sim_block *b, const mbarrier *m)
{
    const mbarriers *all = mbarriers_of(b);
    for (size_t i = 0; i < all->waiters.len; i++) {
        const waiter *t = &all->waiters.at[i];
        SIM_EACH(lane, t->lanes & ~t->seen)
            if (sim_u64(t->warp, t->use->operands[t->use->bound[0]].cell)[lane] == m->address)
                return true;
    }
    return false;
}

static void land_copies(mbarrier *m)
{
    for (size_t i = 0; i < m->copies.len; i++) {
        const promise *p = &m->copies.at[i];
        p->land(p->warp, p->copy);
        sim_order_deliver(p->warp, p->lane, &m->under_way, m->home);
    }
    m->copies.len = 0;
    m->coming = m->bytes = 0;
}

// [is_watched]: somebody wants to know whether the phase is complete.
static void advance(mbarrier *m, bool is_watched)
{
    sim_block *b = m->home;
    if (m->pending || m->bytes != m->coming)
        return;
    if (m->copies.len && !is_watched && !is_awaited(b, m))
        return;
    land_copies(m);
    m->phase++;
    m->pending = m->expected;
    sim_order_clear(b, &m->complete);
    m->complete = m->under_way;
    m->under_way = (sim_sync){0};
    wake_waiters(b, m);
}

// ---- arrivals and bytes ------------------------------------------------------------------------------------------

// bound[3]: expect_tx: 1, complete_tx: -1, none: 0; bound[4]: whether it arrives.
static bool bind_arrive(sim_use *use)
{
    const char *name = use->intrin->name;
    use->bound[3] = strstr(name, "expect_tx") ? 1 : strcmp(name, "complete_tx") == 0 ? -1 : 0;
    use->bound[4] = strncmp(name, "arrive", strlen("arrive")) == 0;
    return bind_mbarrier(use);
}

static uint64_t arrive_lane(sim_warp *w, const sim_use *use, uint32_t lane)
{
    mbarrier *m = named_by(w, use, lane, true);
    if (!m)
        return 0;
    advance(m, true);  // what comes now is for the next phase
    uint64_t phase = m->phase;
    m->bytes += use->bound[3] * (int64_t)other_operand(w, use, lane);
    if (use->bound[4] && !m->pending) {
        wrong(w, use, lane, m, m->address, "more threads arrive in one phase than it is for");
        return phase;
    }
    if (use->bound[4])
        m->pending--;
    if (m->home == w->block)
        sim_order_release(w, 1u << lane, &m->under_way);
    else
        sim_order_release_at(w, 1u << lane, &m->under_way, use->bound[5]);
    advance(m, false);
    return phase;
}

void sim_mbarrier_promise(sim_warp *w, const sim_use *use, uint32_t lane, sim_block *home, int64_t bytes,
                          sim_landing *land, void *copy)
{
    uint64_t address = sim_u64(w, use->operands[use->bound[0]].cell)[lane];
    mbarrier *m = used_by(w, use, lane, home, address, true);
    if (!m)
        return;
    advance(m, true);
    VEC_PUSH(home->arena, &m->copies, ((promise){w, lane, land, copy}));
    m->coming += bytes;
    advance(m, false);
}

static sim_step run_arrive(sim_warp *w, const sim_use *use)
{
    uint64_t phases[SIM_LANES] = {0};
    uint32_t lanes = defined_lanes(w, use);
    SIM_EACH(lane, lanes)
        phases[lane] = arrive_lane(w, use, lane);
    if (use->result.count) {
        SIM_EACH(lane, w->active)
            sim_element_set(w, &use->result, 0, lane, phases[lane]);
        sim_result_defined(w, use, w->active);
    }
    return SIM_NEXT;
}

// ---- waiting -----------------------------------------------------------------------------------------------------

// Lanes that need not wait; those in trouble neither.
static uint32_t ready_lanes(sim_warp *w, const sim_use *use)
{
    uint32_t lanes = defined_lanes(w, use), done = w->active & ~lanes;
    SIM_EACH(lane, lanes) {
        mbarrier *m = named_by(w, use, lane, false);
        if (!m) {
            done |= 1u << lane;
        } else if (!(done >> lane & 1)) {
            if (!is_complete(w, use, m, lane))
                advance(m, true);
            done |= satisfied(w, use, m, lanes);
        }
    }
    return done;
}

static sim_step run_test(sim_warp *w, const sim_use *use)
{
    uint32_t done = ready_lanes(w, use);
    uint64_t held[2] = {0, 1};
    for (int i = 0; i < 2; i++)
        finish_wait(w, use, i ? done & w->active : w->active & ~done, held[i]);
    return SIM_YIELD;
}

static sim_step run_wait(sim_warp *w, const sim_use *use)
{
    uint32_t done = ready_lanes(w, use);
    if (done == w->active) {
        finish_wait(w, use, w->active, 1);
        return SIM_NEXT;
    }
    waiter t = {w, use, w->active, done};
    VEC_PUSH(w->block->arena, &mbarriers_of(w->block)->waiters, t);
    w->waiting_for = use;
    w->waiting_lanes = w->active & ~done;
    return SIM_WAIT;
}

bool sim_mbarrier_describe(const sim_warp *w, str_buf *out)
{
    const sim_use *use = w->waiting_for;
    if (!use->model || use->model->run != run_wait)
        return false;
    uint32_t lane = sim_first_lane(w->waiting_lanes);
    uint64_t address = sim_u64(w, use->operands[use->bound[0]].cell)[lane];
    const mbarrier *m = mbarrier_at(w->block, address);
    str_addf(out, "a phase of parity %d of the mbarrier at byte %llu of shared memory",
             (int)(other_operand(w, use, lane) & 1), (unsigned long long)(address & SIM_OFFSET_MASK));
    if (m)
        str_addf(out, ", whose phase %llu lacks %u of %u arrivals", (unsigned long long)m->phase, m->pending, m->expected);
    if (m && m->coming > m->bytes)
        str_addf(out, ", which receives %lld bytes that it does not expect", (long long)(m->coming - m->bytes));
    else if (m)
        str_addf(out, " and %lld bytes", (long long)(m->bytes - m->coming));
    return true;
}

// hidet.lang.cluster
const sim_model sim_models_mbarrier_at[] = {
    {"arrive_at", run_arrive, bind_arrive, false},
    {"arrive_at_release", run_arrive, bind_arrive, false},
    {"arrive_expect_tx_at", run_arrive, bind_arrive, false},
    {"wait_cluster", run_wait, bind_mbarrier, false},
    {NULL, NULL, NULL, false},
};

const sim_model sim_models_mbarrier[] = {
    {"init", run_init, bind_mbarrier, false},
    {"inval", run_inval, bind_mbarrier, false},
    {"fence_init", run_fence_init, NULL, false},
    {"arrive", run_arrive, bind_arrive, false},
    {"arrive_expect_tx", run_arrive, bind_arrive, false},
    {"expect_tx", run_arrive, bind_arrive, false},
    {"complete_tx", run_arrive, bind_arrive, false},
    {"wait", run_wait, bind_mbarrier, false},
    {"test_wait", run_test, bind_mbarrier, false},
    {"test_wait_state", run_test, bind_mbarrier, false},
    {"try_wait", run_wait, bind_mbarrier, false},
    {"try_wait_loop", run_wait, bind_mbarrier, false},
    {NULL, NULL, NULL, false},
};

// Note [copies that arrive late]
//
// Hardware completes a phase as soon as its arrivals and bytes are there, and bytes arrive at any time. Here a phase with
// copies completes when somebody waits or tests for it, or when the next arrival or copy is certainly for the phase behind
// it. So a program that reads a tile without having waited meets a copy on its way, however fast the copy may be. What the
// thread that started the copy did up to its arrival counts as seen by the waiting threads: races can be missed there.
//
// Note [waiting for a phase]
//
// wait and try_wait put the warp to sleep until the phase is complete, so that a phase that never completes is a
// deadlock with a name, not a loop without end. The hardware's try_wait gives up after a while; a program that counts
// on that, or that waits in one branch for what lanes of the same warp do in another, sees a deadlock here that a GPU
// would not have.
