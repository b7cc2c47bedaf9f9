// The unordered accesses of a granule: checks against them, and updates of their cells. See shadow.h.
#include "sim/shadow_priv.h"

// The maximum of accesses kept for a granule of global memory, in kernels whose clusters synchronise with each other.
enum { MOST_ENTRIES = 64 };

// ---- lists ---------------------------------------------------------------------------------------------------------

static sim_entries *entries_of(const sim_touch *t, uint64_t i)
{
    if (t->target == SIM_IN_SHARED)
        return &t->shadow->entries;
    return &sim_shard_of(t->device->memory, &t->shadow->write[i])->entries;
}

static uint32_t take_entry(sim_entries *all, uint32_t serial, uint32_t lanes, uint32_t next)
{
    uint32_t k = all->free;
    if (k) {
        all->free = all->at[k].next;
    } else {
        if (all->count >= all->cap) {
            uint32_t cap = all->cap ? 2 * all->cap : 256;
            all->at = arena_grow(all->arena, all->at, all->cap * sizeof *all->at, cap * sizeof *all->at);
            all->cap = cap;
            all->count = all->count ? all->count : 1;
        }
        k = all->count++;
    }
    all->at[k] = (sim_entry){serial, lanes, next};
    return k;
}

static void free_list(sim_entries *all, uint64_t cell)
{
    uint32_t low = (uint32_t)cell;
    if (!(low & SIM_ACCESS_LIST) || (low & SIM_CELL_SERIAL) <= all->base)
        return;
    for (uint32_t k = (uint32_t)(cell >> SIM_ACCESS_LANES), next; k; k = next) {
        next = all->at[k].next;
        all->at[k].next = all->free;
        all->free = k;
    }
}

// Calls what follows with each entry of a cell that is no older than the lists: for (…) { … e … }
typedef struct walk {
    const sim_entries *all;
    sim_entry entry;
    bool is_there;
} walk;

static walk walk_begin(const sim_entries *all, uint64_t cell)
{
    uint32_t low = (uint32_t)cell, high = (uint32_t)(cell >> SIM_ACCESS_LANES);
    if (low & SIM_ACCESS_LIST) {
        bool is_gone = (low & SIM_CELL_SERIAL) <= all->base;
        return is_gone ? (walk){.all = all} : (walk){all, all->at[high], true};
    }
    return (walk){all, {low, high, 0}, (low & SIM_CELL_SERIAL) != 0};
}

static void walk_next(walk *w)
{
    w->is_there = w->entry.next != 0;
    if (w->is_there)
        w->entry = w->all->at[w->entry.next];
}

// ---- order ---------------------------------------------------------------------------------------------------------

static bool is_same_warp(const sim_touch *t, const sim_party *other)
{
    return other->block == t->w->block->index && sim_note_warp(&other->note) == t->w->index;
}

static sim_met *meet(sim_touch *t, uint32_t serial)
{
    for (uint32_t k = 0; k < t->met_count; k++) {
        if (t->met[k].serial == serial)
            return &t->met[k];
    }
    sim_met *m = &t->met[t->met_count < SIM_MOST_MET ? t->met_count++ : serial % SIM_MOST_MET];
    *m = (sim_met){.party = sim_order_party(t, serial), .serial = serial};
    return m;
}

// Whether all lanes of the touch know the same of threads of other warps.
static bool has_common_knowledge(const sim_touch *t)
{
    const sim_lanes *more = t->w->clock->more;
    return !more || (!more->fresh && !more->lanes);
}

// The first of [lanes] of the party's warp whose access is not ordered before what [lane] does now; SIM_LANES: all are.
static uint32_t unordered(const sim_touch *t, uint32_t lane, sim_party *other, uint32_t lanes)
{
    bool is_own = other->block == t->w->block->index;
    uint32_t base = is_same_warp(t, other) ? t->w->clock->base : 0;
    if (is_own && (other->note.local <= t->w->block->order->base || other->note.local <= base))
        return SIM_LANES;
    SIM_EACH(peer, lanes) {
        other->lane = peer;
        if (!sim_order_knows(t->w, lane, other))
            return peer;
    }
    return SIM_LANES;
}

// Whether the accesses by [lanes] are ordered before what [lane] does now; else sets the lane of the party to one whose
// access is not.
static bool is_ordered(const sim_touch *t, uint32_t lane, sim_met *m, uint32_t lanes)
{
    if (is_same_warp(t, &m->party) || !has_common_knowledge(t))
        return unordered(t, lane, &m->party, lanes) == SIM_LANES;
    if (!(lanes & m->concurrent) && (lanes & ~m->before)) {
        uint32_t peer = unordered(t, lane, &m->party, lanes & ~m->before);
        if (peer == SIM_LANES)
            m->before |= lanes;
        else
            m->concurrent |= (uint32_t)1 << peer;
    }
    if (!(lanes & m->concurrent))
        return true;
    m->party.lane = (uint32_t)__builtin_ctz(lanes & m->concurrent);
    return false;
}

// Atomic accesses do not race with each other, if each reaches the other's thread.
static bool is_compatible(const sim_touch *t, const sim_party *other)
{
    bool same_block = other->block == t->w->block->index;
    return (t->kind & SIM_NOTE_ATOMIC) && (sim_note_kind(&other->note) & SIM_NOTE_ATOMIC) &&
           (same_block || (t->reach >= SIM_CLUSTER && sim_note_reach(&other->note) >= SIM_CLUSTER));
}

uint64_t sim_bytes_in(const sim_touch *t, uint32_t lane, uint64_t i)
{
    int shift = t->shadow->shift;
    int64_t begin = (int64_t)((i << shift) - t->offset[lane]), end = begin + ((int64_t)1 << shift);
    begin = begin < 0 ? 0 : begin;
    end = end > t->bytes ? t->bytes : end;
    return (end - begin == 64 ? UINT64_MAX : (((uint64_t)1 << (end - begin)) - 1)) << begin;
}

// Both are plain writes, and of one value.
static bool is_silent(const sim_touch *t, uint32_t lane, uint64_t i, const uint8_t *value, const sim_party *other)
{
    uint32_t kinds = t->kind & sim_note_kind(&other->note), either = t->kind | sim_note_kind(&other->note);
    if (!value || (either & SIM_NOTE_ATOMIC) || !(kinds & SIM_NOTE_WRITE))
        return false;
    uint64_t bytes = sim_bytes_in(t, lane, i);
    int begin = __builtin_ctzll(bytes), count = __builtin_popcountll(bytes);
    uint8_t now[8];
    sim_bytes_get(now, sim_touch_at(t, lane) + begin, count, count);
    return memcmp(now, value + begin, (size_t)count) == 0;
}

// The access against that of another party by [lanes], at least one of which writes. See sim_against_write.
static uint32_t against(sim_touch *t, uint32_t lane, uint64_t i, sim_met *m, uint32_t lanes, const uint8_t *value)
{
    if (is_compatible(t, &m->party) || is_ordered(t, lane, m, lanes))
        return 0;
    if (is_silent(t, lane, i, value, &m->party))
        return SIM_VERDICT_SILENT;
    sim_report_race(t, lane, i, &m->party, value);
    return SIM_VERDICT_RACE;
}

uint32_t sim_against_write(sim_touch *t, uint32_t lane, uint64_t i, uint32_t cell, const uint8_t *value, bool is_part)
{
    if (is_part && (cell & SIM_CELL_PART))
        return 0;
    return against(t, lane, i, meet(t, cell & SIM_CELL_SERIAL), (uint32_t)1 << (cell >> SIM_LANE_SHIFT), value);
}

static uint32_t against_cell(sim_touch *t, uint32_t lane, uint64_t i, uint64_t cell, const uint8_t *value, bool is_part)
{
    uint32_t verdict = 0;
    for (walk w = walk_begin(entries_of(t, i), cell); w.is_there; walk_next(&w)) {
        uint32_t serial = w.entry.serial & SIM_CELL_SERIAL;
        bool both_parts = is_part && (w.entry.serial & SIM_ACCESS_PART);
        bool may_write = (t->kind & SIM_NOTE_WRITE) || (w.entry.serial & SIM_ACCESS_SPECIAL);
        if (both_parts || !may_write || sim_is_old(t, serial))
            continue;
        sim_met *m = meet(t, serial);
        if ((t->kind | sim_note_kind(&m->party.note)) & SIM_NOTE_WRITE)
            verdict |= against(t, lane, i, m, w.entry.lanes, value);
    }
    return verdict;
}

uint32_t sim_against_accesses(sim_touch *t, uint32_t lane, uint64_t i, const uint8_t *value, bool is_part)
{
    const sim_shadow *s = t->shadow;
    uint32_t verdict = 0;
    if (t->target == SIM_IN_GLOBAL)
        return against_cell(t, lane, i, sim_access_get(&s->access[i]), value, is_part);
    for (int k = 0; k < s->warps; k++) {
        uint64_t cell = s->by_warp[k] ? s->by_warp[k][i] : 0;
        if ((cell & SIM_CELL_SERIAL) > t->known)
            verdict |= against_cell(t, lane, i, cell, value, is_part);
    }
    return verdict;
}

bool sim_accesses_are_old(const sim_touch *t, uint64_t i)
{
    const sim_shadow *s = t->shadow;
    if (t->target == SIM_IN_GLOBAL)
        return (sim_access_get(&s->access[i]) & SIM_CELL_SERIAL) <= t->known;
    for (int k = 0; k < s->warps; k++) {
        if (s->by_warp[k] && (s->by_warp[k][i] & SIM_CELL_SERIAL) > t->known)
            return false;
    }
    return true;
}

static void drop_cells(sim_touch *t, uint64_t *cells, uint64_t first, uint64_t count)
{
    uint64_t any = 0;
    for (uint64_t i = first; i < first + count; i++)
        any |= cells[i];
    for (uint64_t i = first; any && i < first + count; i++) {
        uint64_t cell = sim_access_get(&cells[i]);
        if (cell & SIM_ACCESS_LIST)
            free_list(entries_of(t, i), cell);
        sim_access_set(&cells[i], 0);
    }
}

void sim_accesses_drop(sim_touch *t, uint64_t first, uint64_t count)
{
    const sim_shadow *s = t->shadow;
    if (t->target == SIM_IN_GLOBAL)
        drop_cells(t, s->access, first, count);
    for (int k = 0; t->target == SIM_IN_SHARED && k < s->warps; k++) {
        if (s->by_warp[k])
            drop_cells(t, s->by_warp[k], first, count);
    }
}

// ---- entering ------------------------------------------------------------------------------------------------------

// The cluster of a block of the launch, in any numbering.
static int64_t cluster_of(const sim_touch *t, int64_t block)
{
    const sim_launch *l = t->w->block->launch;
    const int64_t *grid = l->shape.grid, *size = l->shape.cluster;
    if (sim_cluster_count(t->w->block) == 1)
        return block;
    int64_t x = block % grid[0] / size[0], y = block / grid[0] % grid[1] / size[1],
            z = block / grid[0] / grid[1] / size[2];
    return (z * grid[1] + y) * grid[0] + x;
}

// An access that enters a list, and what is found on the way through it.
typedef struct newcomer {
    sim_touch *t;
    uint32_t lanes, flags;
    int64_t cluster; // of the first plain read in the list; -1: none yet
    bool is_settled; // there is one of another cluster
    uint32_t count, largest;
} newcomer;

// Whether an entry can be removed: it is old, or the new access is of the same kind and ordered after it. Earlier
// accesses of the same lanes are removed from it.
static bool is_replaced(newcomer *n, sim_entry *e)
{
    sim_touch *t = n->t;
    uint32_t serial = e->serial & SIM_CELL_SERIAL, flags = e->serial & ~SIM_CELL_SERIAL;
    if (sim_is_old(t, serial))
        return true;
    if (flags != n->flags)
        return false;
    if (serial == t->mine) {
        n->lanes |= e->lanes;
        return true;
    }
    sim_met *m = meet(t, serial);
    bool same_kind = sim_note_kind(&m->party.note) == t->kind && sim_note_reach(&m->party.note) == t->reach;
    if (!same_kind)
        return false;
    if (is_same_warp(t, &m->party))
        e->lanes &= ~n->lanes;
    if (!e->lanes || is_ordered(t, (uint32_t)__builtin_ctz(n->lanes), m, e->lanes))
        return true;
    if (!flags && t->target == SIM_IN_GLOBAL) {
        int64_t cluster = cluster_of(t, m->party.block);
        n->is_settled |= n->cluster >= 0 && cluster != n->cluster;
        n->cluster = cluster;
    }
    return false;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return (a & SIM_CELL_SERIAL) > (b & SIM_CELL_SERIAL) ? a & SIM_CELL_SERIAL : b & SIM_CELL_SERIAL;
}

// Prunes a list; returns its head.
static uint32_t thinned(sim_entries *all, newcomer *n, uint32_t head)
{
    uint32_t *link = &head;
    while (*link) {
        uint32_t k = *link;
        if (is_replaced(n, &all->at[k])) {
            *link = all->at[k].next;
            all->at[k].next = all->free;
            all->free = k;
            continue;
        }
        n->count++;
        n->largest = larger(n->largest, all->at[k].serial);
        link = &all->at[k].next;
    }
    return head;
}

// Whether blocks of the kernel synchronise with each other; tests of single accesses have no kernel.
static bool talks_between_blocks(const sim_touch *t)
{
    const sim_code *code = t->w->block->launch->code;
    return !code || code->talks_between_blocks;
}

// Whether the new access can expose races that the recorded ones cannot: shadow.h, "SETTLED".
static bool is_needed(const newcomer *n)
{
    if (n->t->target == SIM_IN_SHARED)
        return true;
    if (talks_between_blocks(n->t))
        return n->count < MOST_ENTRIES;
    return n->flags || !n->is_settled;
}

// If the first entry of a list is of the same access, the lanes join it.
static bool joins_first(const sim_touch *t, sim_entries *all, uint64_t cell, uint32_t lanes, uint32_t flags)
{
    uint32_t low = (uint32_t)cell;
    if (!(low & SIM_ACCESS_LIST) || (low & SIM_CELL_SERIAL) <= all->base)
        return false;
    sim_entry *e = &all->at[cell >> SIM_ACCESS_LANES];
    if (e->serial != (t->mine | flags))
        return false;
    e->lanes |= lanes;
    return true;
}

static void enter_list(sim_touch *t, uint64_t i, uint64_t cell, uint32_t lanes, uint32_t flags)
{
    sim_entries *all = entries_of(t, i);
    newcomer n = {.t = t, .lanes = lanes, .flags = flags, .cluster = -1};
    uint32_t low = (uint32_t)cell, high = (uint32_t)(cell >> SIM_ACCESS_LANES);
    if (joins_first(t, all, cell, lanes, flags))
        return;
    uint32_t head = low & SIM_ACCESS_LIST ? high : take_entry(all, low, high, 0);
    head = thinned(all, &n, head);
    bool is_needed_here = is_needed(&n);
    if (!head) {
        sim_access_set(&t->cells[i], sim_access_of(t->mine | flags, n.lanes));
        return;
    }
    if (is_needed_here) {
        head = take_entry(all, t->mine | flags, n.lanes, head);
        n.largest = larger(n.largest, t->mine);
        if (!flags && t->target == SIM_IN_GLOBAL)
            n.is_settled |= n.cluster >= 0 && cluster_of(t, t->w->block->index) != n.cluster;
    }
    bool is_settled = n.is_settled && !talks_between_blocks(t);
    uint32_t marks = SIM_ACCESS_LIST | (is_settled ? SIM_ACCESS_SETTLED : 0);
    if (all->at[head].next)
        sim_access_set(&t->cells[i], sim_access_of(n.largest | marks, head));
    else {
        sim_entry only = all->at[head];
        sim_access_set(&t->cells[i], sim_access_of(only.serial, only.lanes));
        all->at[head].next = all->free;
        all->free = head;
    }
}

// Whether the single access of a cell goes when the newcomer comes, without a list.
static bool is_replaced_at_once(sim_touch *t, uint32_t low, uint32_t high, uint32_t lanes, uint32_t flags)
{
    bool is_plain = !((low | flags) & SIM_ACCESS_SPECIAL);
    if (!is_plain || t->target == SIM_IN_GLOBAL)
        return false;
    return !(high & ~lanes) || (low & SIM_CELL_SERIAL) <= t->warp_known;
}

void sim_access_enter(sim_touch *t, uint64_t i, uint32_t lanes, uint32_t flags)
{
    uint64_t *at = &t->cells[i], cell = sim_access_get(at);
    uint32_t low = (uint32_t)cell, high = (uint32_t)(cell >> SIM_ACCESS_LANES), serial = low & SIM_CELL_SERIAL;
    bool is_list = low & SIM_ACCESS_LIST;
    if (serial <= t->known || (!is_list && sim_is_old(t, serial))) {
        if (is_list)
            free_list(entries_of(t, i), cell);
        sim_access_set(at, sim_access_of(t->mine | flags, lanes));
    } else if (!is_list && low == (t->mine | flags)) {
        if (lanes & ~high)
            sim_access_set(at, sim_access_of(low, high | lanes));
    } else if (!is_list && is_replaced_at_once(t, low, high, lanes, flags)) {
        sim_access_set(at, sim_access_of(t->mine | flags, lanes));
    } else if (!(low & SIM_ACCESS_SETTLED) || flags) {
        enter_list(t, i, cell, lanes, flags);
    }
}

static uint32_t copied_list(sim_entries *to, const sim_entries *from, uint32_t k)
{
    if (!k)
        return 0;
    sim_entry e = from->at[k];
    uint32_t next = copied_list(to, from, e.next);
    return take_entry(to, e.serial, e.lanes, next);
}

void sim_access_copy(sim_touch *t, uint64_t i)
{
    uint64_t cell = sim_access_get(&t->cells[i - 1]);
    uint32_t low = (uint32_t)cell, high = (uint32_t)(cell >> SIM_ACCESS_LANES);
    if (low & SIM_ACCESS_LIST)
        high = copied_list(entries_of(t, i), entries_of(t, i - 1), high);
    sim_access_set(&t->cells[i], sim_access_of(low, high));
}

// ---- all granules --------------------------------------------------------------------------------------------------

static bool writes_as_own(sim_touch *t, uint32_t serial, uint32_t since, sim_party *writer)
{
    if (serial <= since)
        return false;
    *writer = sim_order_party(t, serial);
    return writer->block == t->w->block->index && (sim_note_kind(&writer->note) & SIM_NOTE_WRITE);
}

bool sim_shadow_written_since(sim_touch *t, uint64_t i, uint32_t since, sim_party *writer)
{
    uint32_t cell = sim_cell_get(&t->shadow->write[i]);
    if (writes_as_own(t, cell & SIM_CELL_SERIAL, since, writer)) {
        writer->lane = cell >> SIM_LANE_SHIFT;
        return true;
    }
    if (!(cell & SIM_CELL_MIXED) || t->target != SIM_IN_GLOBAL)
        return false;
    sim_hold(t, i, 1);
    bool found = false;
    for (walk w = walk_begin(entries_of(t, i), sim_access_get(&t->shadow->access[i])); w.is_there && !found;
         walk_next(&w)) {
        found = writes_as_own(t, w.entry.serial & SIM_CELL_SERIAL, since, writer);
        writer->lane = (uint32_t)__builtin_ctz(w.entry.lanes);
    }
    sim_let_go(t);
    return found;
}

void sim_shadow_settle(sim_shadow *s, uint32_t serial)
{
    s->entries.count = s->entries.cap ? 1 : 0;
    s->entries.free = 0;
    s->entries.base = serial;
}

void sim_shadow_split(const sim_shadow *coarse, sim_shadow *fine)
{
    int shift = coarse->shift - fine->shift;
    fine->entries = coarse->entries;
    for (uint64_t i = 0; i < fine->count; i++) {
        if (!fine->write[i] && (coarse->write[i >> shift] & SIM_CELL_SERIAL) != SIM_CELL_RED)
            fine->write[i] = coarse->write[i >> shift];
        if (coarse->copies)
            fine->copies[i] = coarse->copies[i >> shift];
    }
    for (int k = 0; k < coarse->warps; k++) {
        for (uint64_t i = 0; coarse->by_warp[k] && i < fine->count; i++) {
            uint64_t cell = coarse->by_warp[k][i >> shift];
            uint32_t low = (uint32_t)cell, head = 0;
            for (walk w = walk_begin(&fine->entries, cell); (low & SIM_ACCESS_LIST) && w.is_there; walk_next(&w))
                head = take_entry(&fine->entries, w.entry.serial, w.entry.lanes, head);
            fine->by_warp[k][i] = head ? sim_access_of(low, head) : low & SIM_ACCESS_LIST ? 0 : cell;
        }
    }
}
