// Atomic accesses, and copies that arrive later.
#include "sim/memory_priv.h"

static void spread(uint64_t *address, uint64_t value)
{
    for (int lane = 0; lane < SIM_LANES; lane++)
        address[lane] = value;
}

static uint64_t unwritten_of(sim_touch *t, uint32_t lane)
{
    if (!t->checks)
        return 0;
    if (t->target == SIM_IN_LOCAL)
        return sim_local_unwritten(t->w, lane, t->offset[lane], t->bytes);
    sim_shadow_read(t);
    return t->any_unwritten ? t->unwritten[lane] : 0;
}

static void write_lane(sim_touch *t, uint32_t lane, uint64_t poison)
{
    if (!t->checks)
        return;
    if (t->target == SIM_IN_LOCAL)
        sim_local_write(t->w, lane, t->offset[lane], t->bytes, poison);
    else
        sim_shadow_write(t, lane, NULL, poison);
}

// Whether the bytes are initialised, without recording a read.
static bool is_written(sim_touch *t, uint32_t lane)
{
    uint64_t first;
    if (!t->checks)
        return true;
    if (t->target == SIM_IN_LOCAL)
        return !sim_local_unwritten(t->w, lane, t->offset[lane], t->bytes);
    return !t->shadow || !t->shadow->write ||
           sim_shadow_is_written(t->shadow, t->offset[lane], (uint64_t)t->bytes, &first);
}

static uint8_t *touch_atomic(sim_warp *w, uint32_t site, uint32_t lane, uint64_t address, int bytes, bool reads,
                             bool writes, sim_sem sem, sim_reach reach)
{
    sim_touch t;
    uint64_t at[SIM_LANES];
    spread(at, address);
    sim_touch_open(&t, w, NULL, site, (uint32_t)1 << lane, at, bytes, bytes,
                   SIM_NOTE_ATOMIC | (writes ? SIM_NOTE_WRITE : 0));
    t.reach = reach;
    if (!sim_touch_next(&t))
        return NULL;
    bool is_ordered = t.target != SIM_IN_LOCAL;
    if (is_ordered)
        sim_order_take(w, lane, address, sem, reach);
    if (reads && !is_written(&t, lane)) {
        sim_report_poison(&t, lane, "an atomic operation", 0);
        if (!writes && t.shadow)
            sim_shadow_mark(t.shadow, t.offset[lane], (uint64_t)bytes);
    }
    if (writes)
        write_lane(&t, lane, 0);
    else
        unwritten_of(&t, lane);
    if (is_ordered && writes)
        sim_order_give(w, lane, address, sem, reach);
    return sim_touch_at(&t, lane);
}

uint8_t *sim_atomic(sim_warp *w, uint32_t site, uint32_t lane, uint64_t address, int bytes, bool writes, sim_sem sem,
                    sim_reach reach)
{
    return touch_atomic(w, site, lane, address, bytes, true, writes, sem, reach);
}

uint8_t *sim_atomic_store(sim_warp *w, uint32_t site, uint32_t lane, uint64_t address, int bytes, sim_sem sem,
                          sim_reach reach)
{
    return touch_atomic(w, site, lane, address, bytes, false, true, sem, reach);
}

bool sim_touch_mbarrier(sim_warp *w, uint32_t site, uint32_t lane, uint64_t address, bool writes)
{
    sim_touch t;
    uint64_t at[SIM_LANES];
    spread(at, address);
    sim_touch_open(&t, w, NULL, site, (uint32_t)1 << lane, at, 8, 8, SIM_NOTE_ATOMIC | (writes ? SIM_NOTE_WRITE : 0));
    t.reach = SIM_CLUSTER;
    if (!sim_touch_next(&t))
        return false;
    if (!is_written(&t, lane)) {
        sim_report_poison(&t, lane, "an mbarrier", 0);
        return false;
    }
    if (writes)
        write_lane(&t, lane, 0);
    else
        unwritten_of(&t, lane);
    return true;
}

// ---- asynchronous copies -------------------------------------------------------------------------------------------

// A copy was refused and reported: its destination counts as written, so that reads of it are not reported too.
static void forgive(sim_warp *w, uint64_t to, int bytes)
{
    uint64_t offset = to & SIM_SHARED_MASK;
    const sim_block *owner = (to & SIM_TAG_MASK) == SIM_TAG_SHARED ? sim_block_of(w->block, to) : NULL;
    bool is_inside = owner && offset + (uint64_t)bytes <= (uint64_t)owner->shared_bytes;
    if (is_inside && owner->shadow && owner->shadow->write)
        sim_shadow_mark(owner->shadow, offset, (uint64_t)bytes);
}

// The bytes that a vector writes, for its lane alone. [at]: addresses of all lanes, filled here.
static bool open_target(sim_touch *t, sim_warp *w, const sim_async_chunk *p, uint64_t *at)
{
    spread(at, p->to);
    sim_touch_open(t, w, NULL, p->site, (uint32_t)1 << p->lane, at, p->bytes, p->align, SIM_NOTE_WRITE);
    return sim_touch_next(t);
}

void sim_async_start(sim_warp *w, sim_async_chunk *p)
{
    sim_touch t;
    uint64_t at[SIM_LANES];
    p->started = 0;
    if (p->present > 0) {
        spread(at, p->from);
        sim_touch_open(&t, w, NULL, p->site, (uint32_t)1 << p->lane, at, p->present, p->align, 0);
        t.is_async = p->is_tma;
        if (sim_touch_next(&t)) {
            unwritten_of(&t, p->lane);
            p->started = t.target == SIM_IN_GLOBAL ? t.mine : 0;
        }
    }
    w->clock->is_tma = p->is_tma;
    if (!open_target(&t, w, p, at))
        forgive(w, p->to, p->bytes);
    else if (t.checks)
        sim_shadow_pend(&t, p->lane);
    w->clock->is_tma = false;
}

// Whether a thread of the block has written the source since the copy started. (What other blocks write is a race with
// the read at the start.)
static void check_source(sim_touch *t, uint32_t lane, int bytes, uint32_t started)
{
    uint64_t end = (t->offset[lane] + (uint64_t)bytes - 1) >> t->shadow->shift;
    for (uint64_t i = t->offset[lane] >> t->shadow->shift; i <= end; i++) {
        sim_party writer;
        if (sim_shadow_written_since(t, i, started, &writer)) {
            sim_report_source(t, lane, &writer);
            return;
        }
    }
}

// The bytes that arrived, and which of them are uninitialized. Errors of the address were reported at the start.
static uint64_t fetch(sim_warp *w, const sim_async_chunk *p, uint8_t *bytes)
{
    sim_touch t;
    uint64_t at[SIM_LANES], first, poison = 0;
    uint32_t lane = p->lane;
    if (p->present <= 0)
        return 0;
    spread(at, p->from);
    sim_touch_open(&t, w, NULL, p->site, (uint32_t)1 << lane, at, p->present, 1, 0);
    t.is_async = true;
    if (!sim_touch_next(&t))
        return 0;
    sim_bytes_get(bytes, sim_touch_at(&t, lane), p->present, p->present);
    if (p->started && t.checks && t.shadow && t.shadow->write)
        check_source(&t, lane, p->present, p->started);
    for (int i = 0; t.checks && t.shadow && t.shadow->write && i < p->present; i++) {
        if (!sim_shadow_is_written(t.shadow, t.offset[lane] + (uint64_t)i, 1, &first))
            poison |= (uint64_t)1 << i;
    }
    return poison;
}

void sim_async_land(sim_warp *w, const sim_async_chunk *p)
{
    sim_touch t;
    uint64_t at[SIM_LANES];
    uint8_t value[SIM_TOUCH_BYTES] = {0};
    uint64_t poison = fetch(w, p, value);
    w->clock->is_tma = p->is_tma;
    bool is_open = open_target(&t, w, p, at);
    w->clock->is_tma = false;
    if (!is_open)
        return;
    if (poison && t.target == SIM_IN_GLOBAL) {
        sim_report_poison(&t, p->lane, "a value stored to global memory", 0);
        poison = 0;
    }
    if (t.checks)
        sim_shadow_land(&t, p->lane, poison);
    sim_bytes_put(sim_touch_at(&t, p->lane), value, p->bytes, p->bytes);
    if (w->field)
        sim_fields_move(w, p->lane, p->to, p->from, p->bytes, p->present);
}
