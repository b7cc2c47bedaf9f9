// Cells of the shadow state: fast paths for many cells, and the slow path for one. See shadow.h for their meaning.
#include <sched.h>

#include "sim/shadow_priv.h"

// ---- locks ---------------------------------------------------------------------------------------------------------

static uint32_t shard_number(const uint32_t *cell)
{
    return (uint32_t)((uintptr_t)cell >> SIM_PAGE_SHIFT) % SIM_SHARDS;
}

sim_shard *sim_shard_of(sim_memory *m, const uint32_t *cell)
{
    return &m->shards[shard_number(cell)];
}

static void take_lock(sim_shard *s)
{
    for (int tries = 1; __atomic_exchange_n(&s->lock, 1, __ATOMIC_ACQUIRE); tries++) {
        if (tries % 64 == 0)
            sched_yield();
    }
}

void sim_unlock_cells(sim_touch *t)
{
    sim_memory *m = t->device->memory;
    if (t->held_last != t->held_first)
        __atomic_store_n(&m->shards[t->held_last].lock, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&m->shards[t->held_first].lock, 0, __ATOMIC_RELEASE);
    t->held_first = t->held_last = SIM_NO_SHARD;
    t->held_page = 0;
}

void sim_lock_cells(sim_touch *t, uint64_t first, uint64_t count)
{
    sim_memory *m = t->device->memory;
    const uint32_t *cells = &t->shadow->write[first];
    uint32_t a = shard_number(cells), b = shard_number(cells + count - 1);
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    if (t->held_first != low || t->held_last != high) {
        sim_let_go(t);
        take_lock(&m->shards[low]);
        if (high != low)
            take_lock(&m->shards[high]);
        t->held_first = low;
        t->held_last = high;
    }
    t->held_page = low == high ? (uintptr_t)cells >> SIM_PAGE_SHIFT : 0;
}

// ---- many write cells ----------------------------------------------------------------------------------------------

// Whether ((cell & mask) ^ flip) is an old serial, for all of [count] cells. [flip]: a flag that has to be set; flags
// in [mask] that are set too much make the value larger than any serial.
#if SIM_TSAN
static bool all_old(const sim_touch *t, const uint32_t *cells, uint64_t count, uint32_t mask, uint32_t flip)
{
    for (uint64_t i = 0; i < count; i++) {
        if (!sim_is_old(t, (sim_cell_get(&cells[i]) & mask) ^ flip))
            return false;
    }
    return true;
}
#else
typedef int32_t quad __attribute__((vector_size(16)));

static inline quad splat(uint32_t value)
{
    return (quad){(int32_t)value, (int32_t)value, (int32_t)value, (int32_t)value};
}

// Values stay below 2^27, so signed comparisons suffice, which baseline vector units have.
static inline bool all_old(const sim_touch *t, const uint32_t *cells, uint64_t count, uint32_t mask, uint32_t flip)
{
    quad known = splat(t->known), begin = splat(t->own_begin), end = splat(t->own_end), good = splat(UINT32_MAX);
    quad masks = splat(mask), flips = splat(flip);
    uint64_t i = 0;
    for (; i + 4 <= count; i += 4) {
        quad cell;
        memcpy(&cell, &cells[i], sizeof cell);
        quad v = (cell & masks) ^ flips;
        good &= (v <= known) | ((v >= begin) & (v < end));
    }
    if (i && !(good[0] & good[1] & good[2] & good[3]))
        return false;
    for (; i < count; i++) {
        if (!sim_is_old(t, (cells[i] & mask) ^ flip))
            return false;
    }
    return true;
}
#endif

// The same of access cells, without [flip].
static bool all_accesses_old(const sim_touch *t, const uint64_t *cells, uint64_t count, uint32_t mask)
{
    uint64_t i = 0;
    uint32_t newer = 0;
#if !SIM_TSAN
    // Each cell is two numbers, the lower one first; the upper one is masked out: zero is always old.
    quad known = splat(t->known), begin = splat(t->own_begin), end = splat(t->own_end), good = splat(UINT32_MAX);
    quad masks = (quad){(int32_t)mask, 0, (int32_t)mask, 0};
    for (; count >= SIM_LANES && i + 2 <= count; i += 2) {
        quad pair;
        memcpy(&pair, &cells[i], sizeof pair);
        quad v = pair & masks;
        good &= (v <= known) | ((v >= begin) & (v < end));
    }
    if (i && !(good[0] & good[1] & good[2] & good[3]))
        return false;
#endif
    for (; i < count; i++) {
        uint32_t serial = (uint32_t)sim_access_get(&cells[i]) & mask;
        newer |= (uint32_t)(serial > t->known) & (uint32_t)(serial - t->own_begin >= t->own_end - t->own_begin);
    }
    return !newer;
}

enum { READ_MASK = SIM_CELL_SERIAL | SIM_CELL_MIXED | SIM_CELL_WRITTEN | SIM_CELL_PENDING };

static bool is_readable(const sim_touch *t, uint64_t i)
{
    return sim_is_old(t, (sim_cell_get(&t->shadow->write[i]) & READ_MASK) ^ SIM_CELL_WRITTEN);
}

static bool all_readable(const sim_touch *t, uint64_t first, uint64_t count)
{
    return all_old(t, t->shadow->write + first, count, READ_MASK, SIM_CELL_WRITTEN);
}

static bool all_writable(const sim_touch *t, uint64_t first, uint64_t count)
{
    return all_old(t, t->shadow->write + first, count, SIM_CELL_SERIAL | SIM_CELL_MIXED | SIM_CELL_PENDING, 0);
}

// Whether each lane finds its own earlier write, the same for all lanes, in [each] consecutive cells.
static bool are_own_writes(const sim_touch *t, uint64_t first, uint64_t each)
{
    const uint32_t *cells = t->shadow->write + first;
    uint32_t want = sim_cell_get(&cells[0]), odd = 0;
    if ((want & ~SIM_CELL_SERIAL) != SIM_CELL_WRITTEN)
        return false;
    for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
        for (uint64_t k = 0; k < each; k++)
            odd |= sim_cell_get(&cells[lane * each + k]) ^ (want | lane << SIM_LANE_SHIFT);
    }
    if (odd || !(want & SIM_CELL_SERIAL))
        return false;
    sim_party party = sim_order_party(t, want);
    return party.block == t->w->block->index && sim_note_warp(&party.note) == t->w->index;
}

static inline void fill(uint32_t *cells, uint64_t count, uint32_t value)
{
    for (uint64_t i = 0; i < count; i++)
        sim_cell_set(&cells[i], value);
}

static void fill_row(uint32_t *cells, uint64_t each, uint32_t value)
{
    for (uint32_t lane = 0; lane < SIM_LANES; lane++)
        fill(cells + lane * each, each, value | lane << SIM_LANE_SHIFT);
}

// ---- many access cells ---------------------------------------------------------------------------------------------

// Bit 0: an access by [lanes] replaces the access of the cell. Bit 1: the cell stays as it is. Neither: see
// sim_access_enter.
static inline uint32_t glance(const sim_touch *t, uint64_t cell, uint32_t lanes)
{
    uint32_t low = (uint32_t)cell, high = (uint32_t)(cell >> SIM_ACCESS_LANES);
    uint32_t plain = low & (SIM_CELL_SERIAL | SIM_ACCESS_LIST | SIM_ACCESS_SPECIAL);
    bool is_shared = t->target == SIM_IN_SHARED;
    bool goes = (plain <= t->known) | (plain <= t->warp_known) | (plain - t->own_begin < t->own_end - t->own_begin) |
                (is_shared & !(high & ~lanes) & (plain <= SIM_CELL_SERIAL));
    bool stays = ((low & SIM_ACCESS_SETTLED) != 0) & ((low & SIM_CELL_SERIAL) > t->known);
    return (uint32_t)goes | (uint32_t)stays << 1;
}

// Whether all lanes of a row have read their granules before in one and the same access of the warp.
static bool are_own_reads(const sim_touch *t, uint64_t first, uint64_t each)
{
    const uint64_t *cells = t->cells + first;
    uint32_t want = (uint32_t)sim_access_get(&cells[0]);
    uint64_t odd = want & ~SIM_CELL_SERIAL;
    for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
        for (uint64_t k = 0; k < each; k++)
            odd |= sim_access_get(&cells[lane * each + k]) ^ sim_access_of(want, (uint32_t)1 << lane);
    }
    if (odd || !want)
        return false;
    sim_party party = sim_order_party(t, want);
    return party.block == t->w->block->index && sim_note_warp(&party.note) == t->w->index;
}

static inline void enter(sim_touch *t, uint64_t i, uint32_t lanes, uint32_t flags)
{
    uint32_t seen = flags ? 0 : glance(t, sim_access_get(&t->cells[i]), lanes);
    if (seen & 1)
        sim_access_set(&t->cells[i], sim_access_of(t->mine, lanes));
    else if (!seen)
        sim_access_enter(t, i, lanes, flags);
}

// Each lane enters its own granules of a row.
static void fill_accesses(const sim_touch *t, uint64_t *cells, uint64_t each)
{
    for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
        uint64_t mark = sim_access_of(t->mine, (uint32_t)1 << lane);
        for (uint64_t k = 0; k < each; k++)
            sim_access_set(&cells[lane * each + k], mark);
    }
}

static bool enter_row(sim_touch *t, uint64_t first, uint64_t each)
{
    uint64_t *cells = t->cells + first;
    uint32_t all = UINT32_MAX, any = 0, mask = SIM_CELL_SERIAL | SIM_ACCESS_LIST | SIM_ACCESS_SPECIAL;
    if (all_accesses_old(t, cells, each * SIM_LANES, mask)) {
        fill_accesses(t, cells, each);
        return true;
    }
    for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
        for (uint64_t k = 0; k < each; k++) {
            uint32_t seen = glance(t, sim_access_get(&cells[lane * each + k]), (uint32_t)1 << lane);
            all &= seen | seen >> 1 | seen << 1;
            any |= seen;
        }
    }
    bool is_quiet = all & 1, any_stays = any & 2;
    if (!is_quiet && !are_own_reads(t, first, each))
        return false;
    for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
        uint64_t mark = sim_access_of(t->mine, (uint32_t)1 << lane);
        for (uint64_t k = 0; k < each; k++) {
            uint64_t *at = &cells[lane * each + k];
            if (!any_stays || !(glance(t, sim_access_get(at), (uint32_t)1 << lane) & 2))
                sim_access_set(at, mark);
        }
    }
    return true;
}

// Whether [count] cells hold the same, and none of them a list: then an access meets the same at each of them.
static bool are_alike(const uint64_t *cells, uint64_t count)
{
    uint64_t cell = sim_access_get(&cells[0]), odd = cell & SIM_ACCESS_LIST;
    for (uint64_t k = 1; k < count; k++)
        odd |= sim_access_get(&cells[k]) ^ cell;
    return !odd;
}

// The same of all cells of [count] granules.
static bool is_uniform(const sim_touch *t, uint64_t first, uint64_t count)
{
    const sim_shadow *s = t->shadow;
    uint32_t cell = sim_cell_get(&s->write[first]), odd = 0;
    for (uint64_t i = first + 1; i < first + count; i++)
        odd |= sim_cell_get(&s->write[i]) ^ cell;
    if (odd || count < 2 || !t->races)
        return !odd;
    if (t->target == SIM_IN_GLOBAL)
        return are_alike(s->access + first, count);
    for (int k = 0; k < s->warps; k++) {
        if (s->by_warp[k] && !are_alike(s->by_warp[k] + first, count))
            return false;
    }
    return true;
}

// Records one access in consecutive granules. Equal cells get equal results.
static void enter_all(sim_touch *t, uint64_t first, uint64_t count, uint32_t lanes, uint32_t flags)
{
    uint64_t before = SIM_ACCESS_LIST;
    for (uint64_t i = first; i < first + count; i++) {
        uint64_t cell = sim_access_get(&t->cells[i]);
        if (cell == before && !(cell & SIM_ACCESS_LIST))
            sim_access_copy(t, i);
        else
            enter(t, i, lanes, flags);
        before = cell;
    }
}

// Whether all accesses of [count] granules are ordered before a plain write by [lanes] (of a row: each lane's own), as
// far as the fast test can tell.
static bool all_unread(const sim_touch *t, uint64_t first, uint64_t count)
{
    const sim_shadow *s = t->shadow;
    uint32_t newest = 0;
    if (t->target == SIM_IN_GLOBAL) {
        if (all_accesses_old(t, s->access + first, count, SIM_CELL_SERIAL | SIM_ACCESS_LIST))
            return true;
        for (uint64_t i = first; i < first + count; i++) {
            uint32_t low = (uint32_t)sim_access_get(&s->access[i]);
            bool is_own = !(low & SIM_ACCESS_LIST) && sim_is_old(t, low & SIM_CELL_SERIAL);
            newest |= (uint32_t)((low & SIM_CELL_SERIAL) > t->known && !is_own);
        }
        return !newest;
    }
    for (int k = 0; k < s->warps; k++) {
        const uint64_t *cells = s->by_warp[k];
        for (uint64_t i = first; cells && i < first + count; i++)
            newest |= (uint32_t)(((uint32_t)cells[i] & SIM_CELL_SERIAL) > t->known);
    }
    return !newest;
}

// The same where lanes may have read their own granules before.
static bool row_is_unread(const sim_touch *t, uint64_t first, uint64_t each)
{
    const sim_shadow *s = t->shadow;
    if (t->target == SIM_IN_GLOBAL)
        return all_unread(t, first, each * SIM_LANES) || are_own_reads(t, first, each);
    for (int k = 0; k < s->warps; k++) {
        const uint64_t *cells = s->by_warp[k];
        bool is_own = cells == t->cells;
        uint32_t newest = 0;
        if (!cells || all_accesses_old(t, cells + first, each * SIM_LANES, SIM_CELL_SERIAL))
            continue;
        for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
            for (uint64_t at = first + lane * each; at < first + (lane + 1) * each; at++) {
                uint32_t low = (uint32_t)cells[at], high = (uint32_t)(cells[at] >> SIM_ACCESS_LANES);
                bool is_lane = is_own && high == (uint32_t)1 << lane && !(low & SIM_ACCESS_LIST);
                newest |= (uint32_t)((low & SIM_CELL_SERIAL) > t->known && !is_lane);
            }
        }
        if (newest)
            return false;
    }
    return true;
}

// ---- the granules of a lane ----------------------------------------------------------------------------------------

typedef struct span {
    uint64_t first, count;
    bool is_part; // the lane touches a part of a single granule
} span;

static inline span span_of(const sim_touch *t, uint32_t lane)
{
    int shift = t->shadow->shift;
    uint64_t offset = t->offset[lane], bytes = (uint64_t)t->bytes, first = offset >> shift;
    return (span){first, ((offset + bytes - 1) >> shift) - first + 1,
                  ((offset | bytes) & (((uint64_t)1 << shift) - 1)) != 0};
}

static void note_unwritten(sim_touch *t, uint32_t lane, uint64_t i)
{
    if (!t->any_unwritten)
        memset(t->unwritten, 0, sizeof t->unwritten);
    t->any_unwritten = true;
    t->unwritten[lane] |= sim_bytes_in(t, lane, i);
}

// True if the access must not be recorded: a red zone, or a copy in flight.
static bool is_closed(sim_touch *t, uint32_t lane, uint64_t i, uint32_t cell)
{
    if ((cell & SIM_CELL_SERIAL) == SIM_CELL_RED) {
        sim_report_red_zone(t, lane);
        return true;
    }
    if (cell & SIM_CELL_PENDING)
        sim_report_pending(t, lane, t->shadow->copies ? sim_cell_get(&t->shadow->copies[i]) : 0);
    return (cell & SIM_CELL_PENDING) != 0;
}

// ---- reads ---------------------------------------------------------------------------------------------------------

static uint32_t flags_of(const sim_touch *t, bool is_part)
{
    return is_part ? SIM_ACCESS_PART | SIM_ACCESS_SPECIAL : t->kind ? SIM_ACCESS_SPECIAL : 0;
}

// What was seen at a granule that is read.
typedef struct look {
    bool enters;   // the read is to be entered
    bool is_clean; // nothing was reported
} look;

static look look_granule(sim_touch *t, uint32_t lane, uint64_t i, bool is_part)
{
    uint32_t cell = sim_cell_get(&t->shadow->write[i]), verdict = 0;
    if (is_closed(t, lane, i, cell))
        return (look){false, false};
    if (!(cell & SIM_CELL_WRITTEN))
        note_unwritten(t, lane, i);
    if (!t->races)
        return (look){false, true};
    if (!sim_is_old(t, cell & SIM_CELL_SERIAL))
        verdict |= sim_against_write(t, lane, i, cell, NULL, is_part);
    if (!(cell & SIM_CELL_MIXED))
        return (look){true, !verdict};
    verdict |= sim_against_accesses(t, lane, i, NULL, is_part);
    if ((cell & SIM_CELL_SERIAL) <= t->known && sim_cluster_count(t->w->block) == 1 && sim_accesses_are_old(t, i))
        sim_cell_set(&t->shadow->write[i], cell & ~SIM_CELL_MIXED);
    return (look){true, !verdict};
}

// Granules on the slow path. If all cells are equal and nothing is reported, one check covers all of them.
static void read_closely(sim_touch *t, uint32_t lane, span s)
{
    uint32_t flags = flags_of(t, s.is_part), *write = t->shadow->write;
    uint64_t end = s.first + s.count;
    bool is_same = is_uniform(t, s.first, s.count);
    look l = look_granule(t, lane, s.first, s.is_part);
    if (is_same && l.is_clean) {
        uint32_t cell = sim_cell_get(&write[s.first]);
        fill(write + s.first + 1, s.count - 1, cell);
        for (uint64_t i = s.first + 1; !(cell & SIM_CELL_WRITTEN) && i < end; i++)
            note_unwritten(t, lane, i);
        if (l.enters)
            enter_all(t, s.first, s.count, (uint32_t)1 << lane, flags);
        return;
    }
    for (uint64_t i = s.first; i < end; i++) {
        l = i == s.first ? l : look_granule(t, lane, i, s.is_part);
        if (l.enters)
            enter(t, i, (uint32_t)1 << lane, flags);
    }
}

// [lanes] read the same bytes.
static void read_lanes(sim_touch *t, uint32_t lanes)
{
    span s = span_of(t, (uint32_t)__builtin_ctz(lanes));
    sim_hold(t, s.first, s.count);
    if (s.count == 1 && is_readable(t, s.first)) {
        if (t->races)
            enter(t, s.first, lanes, flags_of(t, s.is_part));
        return;
    }
    if (!all_readable(t, s.first, s.count)) {
        SIM_EACH(lane, lanes)
            read_closely(t, lane, s);
        return;
    }
    if (t->races)
        enter_all(t, s.first, s.count, lanes, flags_of(t, s.is_part));
}

static void read_each(sim_touch *t)
{
    for (uint32_t rest = t->lanes; rest;) {
        uint32_t first = (uint32_t)__builtin_ctz(rest), lanes = 0;
        for (uint32_t lane = first; lane < SIM_LANES && (rest >> lane & 1) && t->offset[lane] == t->offset[first]; lane++)
            lanes |= (uint32_t)1 << lane;
        read_lanes(t, lanes);
        rest &= ~lanes;
    }
}

// Neighbours with equal cells are checked once.
static void look_lane(sim_touch *t, uint32_t lane)
{
    span s = span_of(t, lane);
    uint32_t good = 0;
    sim_hold(t, s.first, s.count);
    if (all_readable(t, s.first, s.count))
        return;
    for (uint64_t i = s.first; i < s.first + s.count; i++) {
        uint32_t cell = sim_cell_get(&t->shadow->write[i]);
        if (good && cell == good)
            continue;
        look_granule(t, lane, i, s.is_part);
        if ((cell & SIM_CELL_WRITTEN) && !(cell & (SIM_CELL_MIXED | SIM_CELL_PENDING)))
            good = cell;
    }
}

void sim_shadow_look(sim_touch *t)
{
    if (!t->shadow || !t->shadow->write)
        return;
    SIM_EACH(lane, t->lanes)
        look_lane(t, lane);
    sim_let_go(t);
}

// There is nothing to read while a copy is in flight.
static void enter_lane(sim_touch *t, uint32_t lane)
{
    span s = span_of(t, lane);
    uint32_t flags = flags_of(t, s.is_part), any = 0;
    sim_hold(t, s.first, s.count);
    for (uint64_t i = s.first; i < s.first + s.count; i++)
        any |= sim_cell_get(&t->shadow->write[i]);
    if (!(any & SIM_CELL_PENDING)) {
        enter_all(t, s.first, s.count, (uint32_t)1 << lane, flags);
        return;
    }
    for (uint64_t i = s.first; i < s.first + s.count; i++) {
        if (!(sim_cell_get(&t->shadow->write[i]) & SIM_CELL_PENDING))
            enter(t, i, (uint32_t)1 << lane, flags);
    }
}

void sim_shadow_enter(sim_touch *t)
{
    SIM_EACH(lane, t->lanes)
        enter_lane(t, lane);
    sim_let_go(t);
}

// All lanes at consecutive addresses, if nothing needs the slow path.
static bool read_row(sim_touch *t, span s)
{
    bool is_quiet = all_readable(t, s.first, s.count * SIM_LANES);
    if (!is_quiet && (!t->races || !are_own_writes(t, s.first, s.count)))
        return false;
    return !t->races || (!t->kind && enter_row(t, s.first, s.count));
}

// All lanes at one address.
static bool read_same(sim_touch *t, span s)
{
    if (!all_readable(t, s.first, s.count))
        return false;
    if (t->races)
        enter_all(t, s.first, s.count, t->lanes, flags_of(t, false));
    return true;
}

static bool read_together(sim_touch *t)
{
    if (!t->is_row && !t->is_same)
        return false;
    span s = span_of(t, (uint32_t)__builtin_ctz(t->lanes));
    if (s.is_part)
        return false;
    sim_hold(t, s.first, t->is_row ? s.count * SIM_LANES : s.count);
    return t->is_row ? read_row(t, s) : read_same(t, s);
}

void sim_shadow_read(sim_touch *t)
{
    if (!t->shadow || !t->shadow->write)
        return;
    if (!read_together(t))
        read_each(t);
    sim_let_go(t);
}

// ---- writes --------------------------------------------------------------------------------------------------------

static bool write_row(sim_touch *t, span s)
{
    uint64_t count = s.count * SIM_LANES;
    if (!all_writable(t, s.first, count) && (!t->races || !are_own_writes(t, s.first, s.count)))
        return false;
    if (t->races && (t->kind != SIM_NOTE_WRITE || !row_is_unread(t, s.first, s.count)))
        return false;
    if (t->races)
        fill_row(t->shadow->write + s.first, s.count, t->mine | SIM_CELL_WRITTEN);
    else
        fill(t->shadow->write + s.first, count, SIM_CELL_WRITTEN);
    return true;
}

bool sim_shadow_write_row(sim_touch *t)
{
    if (!t->shadow || !t->shadow->write)
        return true;
    span s = span_of(t, 0);
    if (s.is_part)
        return false;
    sim_hold(t, s.first, s.count * SIM_LANES);
    bool is_done = write_row(t, s);
    sim_let_go(t);
    return is_done;
}

// Checks a write against all recorded accesses: SIM_VERDICT_ bits.
static uint32_t check_write(sim_touch *t, uint32_t lane, uint64_t i, uint32_t cell, const uint8_t *value, bool is_part)
{
    uint32_t verdict = 0;
    if (!sim_is_old(t, cell & SIM_CELL_SERIAL))
        verdict |= sim_against_write(t, lane, i, cell, value, is_part);
    return verdict | sim_against_accesses(t, lane, i, value, is_part);
}

// True: it is the last plain write of the granule now, and nothing was reported.
static bool write_granule(sim_touch *t, uint32_t lane, uint64_t i, bool is_part, const uint8_t *value, uint64_t poison)
{
    uint32_t *at = &t->shadow->write[i], cell = sim_cell_get(at), verdict = 0;
    bool is_pending = cell & SIM_CELL_PENDING, joins = false;
    if (is_closed(t, lane, i, cell) && !is_pending)
        return false;
    if (t->races && !is_pending) {
        verdict = check_write(t, lane, i, cell, value, is_part);
        joins = (verdict & SIM_VERDICT_SILENT) || is_part || (t->kind & SIM_NOTE_ATOMIC);
    }
    bool is_written =
        poison ? (sim_bytes_in(t, lane, i) & ~poison) != 0 || (is_part && (cell & SIM_CELL_WRITTEN)) : true;
    uint32_t state = is_written ? SIM_CELL_WRITTEN : 0;
    if (joins) {
        enter(t, i, (uint32_t)1 << lane, flags_of(t, is_part));
        sim_cell_set(at, (cell & ~SIM_CELL_WRITTEN) | SIM_CELL_MIXED | state);
        return false;
    }
    if (t->races)
        sim_accesses_drop(t, i, 1);
    uint32_t mark = t->races ? t->mine | lane << SIM_LANE_SHIFT : 0;
    sim_cell_set(at, mark | state | (is_part ? SIM_CELL_PART : 0));
    return !is_pending && !verdict;
}

static void write_lane(sim_touch *t, uint32_t lane, const uint8_t *value, uint64_t poison)
{
    span s = span_of(t, lane);
    bool is_plain = !poison && (!t->races || (t->kind == SIM_NOTE_WRITE && !s.is_part));
    if (is_plain && all_writable(t, s.first, s.count) && (!t->races || all_unread(t, s.first, s.count))) {
        uint32_t mark = t->races ? t->mine | lane << SIM_LANE_SHIFT : 0;
        fill(t->shadow->write + s.first, s.count, mark | SIM_CELL_WRITTEN);
        return;
    }
    bool is_same = !poison && s.count > 1 && is_uniform(t, s.first, s.count);
    bool is_clean = write_granule(t, lane, s.first, s.is_part, value, poison);
    if (is_same && is_clean) {
        if (t->races)
            sim_accesses_drop(t, s.first + 1, s.count - 1);
        fill(t->shadow->write + s.first + 1, s.count - 1, sim_cell_get(&t->shadow->write[s.first]));
        return;
    }
    for (uint64_t i = s.first + 1; i < s.first + s.count; i++)
        write_granule(t, lane, i, s.is_part, value, poison);
}

void sim_shadow_write(sim_touch *t, uint32_t lane, const uint8_t *value, uint64_t poison)
{
    if (!t->shadow || !t->shadow->write)
        return;
    span s = span_of(t, lane);
    sim_hold(t, s.first, s.count);
    write_lane(t, lane, value, poison);
    sim_let_go(t);
}

// ---- copies on their way -------------------------------------------------------------------------------------------

void sim_shadow_pend(sim_touch *t, uint32_t lane)
{
    if (!t->shadow || !t->shadow->write)
        return;
    span s = span_of(t, lane);
    sim_copies_begin(t);
    sim_hold(t, s.first, s.count);
    write_lane(t, lane, NULL, 0);
    for (uint64_t i = s.first; i < s.first + s.count; i++) {
        uint32_t cell = sim_cell_get(&t->shadow->write[i]);
        if ((cell & SIM_CELL_SERIAL) == SIM_CELL_RED)
            continue;
        if (t->shadow->copies)
            sim_cell_set(&t->shadow->copies[i], t->site);
        sim_cell_set(&t->shadow->write[i], cell | SIM_CELL_PENDING);
    }
    sim_let_go(t);
}

void sim_shadow_land(sim_touch *t, uint32_t lane, uint64_t poison)
{
    if (!t->shadow || !t->shadow->write)
        return;
    span s = span_of(t, lane);
    uint32_t mark = (t->races ? t->mine | lane << SIM_LANE_SHIFT : 0) | (s.is_part ? SIM_CELL_PART : 0);
    sim_hold(t, s.first, s.count);
    if (t->races)
        sim_accesses_drop(t, s.first, s.count);
    for (uint64_t i = s.first; i < s.first + s.count; i++) {
        bool is_written = !poison || (sim_bytes_in(t, lane, i) & ~poison) != 0;
        if ((sim_cell_get(&t->shadow->write[i]) & SIM_CELL_SERIAL) != SIM_CELL_RED)
            sim_cell_set(&t->shadow->write[i], mark | (is_written ? SIM_CELL_WRITTEN : 0));
    }
    sim_let_go(t);
}

// ---- from outside --------------------------------------------------------------------------------------------------

void sim_shadow_mark(sim_shadow *s, uint64_t offset, uint64_t bytes)
{
    uint64_t first = offset >> s->shift, end = ((offset + bytes - 1) >> s->shift) + 1;
    for (uint64_t i = first; i < end; i++) {
        sim_cell_set(&s->write[i], SIM_CELL_WRITTEN);
        if (s->access && sim_access_get(&s->access[i]))
            sim_access_set(&s->access[i], 0);
        for (int k = 0; s->by_warp && k < s->warps; k++) {
            if (s->by_warp[k])
                s->by_warp[k][i] = 0;
        }
    }
}

bool sim_shadow_is_written(const sim_shadow *s, uint64_t offset, uint64_t bytes, uint64_t *first)
{
    uint64_t end = ((offset + bytes - 1) >> s->shift) + 1;
    for (uint64_t i = offset >> s->shift; i < end; i++) {
        uint32_t cell = sim_cell_get(&s->write[i]);
        // Accesses to red zones are reported elsewhere.
        if (cell != SIM_CELL_RED && !(cell & SIM_CELL_WRITTEN)) {
            *first = i << s->shift;
            return false;
        }
    }
    return true;
}

static void forget_accesses(uint64_t *cells, uint64_t count)
{
    for (uint64_t i = 0; cells && i < count; i++) {
        if (sim_access_get(&cells[i]))
            sim_access_set(&cells[i], 0);
    }
}

void sim_shadow_forget(sim_shadow *s)
{
    for (uint64_t i = 0; i < s->count && s->write; i++) {
        uint32_t cell = sim_cell_get(&s->write[i]), serial = cell & SIM_CELL_SERIAL;
        if ((serial && serial != SIM_CELL_RED) || (cell & SIM_CELL_MIXED))
            __atomic_fetch_and(&s->write[i], SIM_CELL_WRITTEN | SIM_CELL_PENDING, __ATOMIC_RELAXED);
    }
    forget_accesses(s->access, s->count);
    for (int k = 0; s->by_warp && k < s->warps; k++)
        forget_accesses(s->by_warp[k], s->count);
    sim_shadow_settle(s, 0);
}
