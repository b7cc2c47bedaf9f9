// The accesses of a granule that no order connects: checks against them, and what enters and leaves their cells. See
// shadow.h.
#include "sim/shadow_priv.h"

// In kernels whose clusters synchronise with each other, more are not kept for a granule of global memory.
enum { MOST_ENTRIES = 64 };

// ---- lists
// -----------------------------------------------------------------------------------------------------------

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

// ---- order
// -----------------------------------------------------------------------------------------------------------

static bool is_same_warp(const sim_touch *t, const sim_party *other)
{
    return other->block == t->w->block->index && sim_note_warp(&other->note) == t->w->index;
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
static bool against(sim_touch *t, uint32_t lane, uint64_t i, sim_party *other, uint32_t lanes, const uint8_t *value)
{
    if (is_compatible(t, other) || unordered(t, lane, other, lanes) == SIM_LANES)
        return false;
    if (is_silent(t, lane, i, value, other))
        return true;
    sim_report_race(t, lane, i, other, value);
    return false;
}

bool sim_against_write(sim_touch *t, uint32_t lane, uint64_t i, uint32_t cell, const uint8_t *value, bool is_part)
{
    if (is_part && (cell & SIM_CELL_PART))
        return false;
    sim_party other = sim_order_party(t, cell & SIM_CELL_SERIAL);
    return against(t, lane, i, &other, (uint32_t)1 << (cell >> SIM_LANE_SHIFT), value);
}

static bool against_cell(sim_touch *t, uint32_t lane, uint64_t i, uint64_t cell, const uint8_t *value, bool is_part)
{
    bool is_silent_write = false;
    for (walk w = walk_begin(entries_of(t, i), cell); w.is_there; walk_next(&w)) {
        uint32_t serial = w.entry.serial & SIM_CELL_SERIAL;
        bool both_parts = is_part && (w.entry.serial & SIM_ACCESS_PART);
        bool may_write = (t->kind & SIM_NOTE_WRITE) || (w.entry.serial & SIM_ACCESS_SPECIAL);
        if (both_parts || !may_write || sim_is_old(t, serial))
            continue;
        sim_party other = sim_order_party(t, serial);
        if ((t->kind | sim_note_kind(&other.note)) & SIM_NOTE_WRITE)
            is_silent_write |= against(t, lane, i, &other, w.entry.lanes, value);
    }
    return is_silent_write;
}

bool sim_against_accesses(sim_touch *t, uint32_t lane, uint64_t i, const uint8_t *value, bool is_part)
{
    const sim_shadow *s = t->shadow;
    bool is_silent_write = false;
    if (t->target == SIM_IN_GLOBAL)
        return against_cell(t, lane, i, sim_access_get(&s->access[i]), value, is_part);
    for (int k = 0; k < s->warps; k++) {
        uint64_t cell = s->by_warp[k] ? s->by_warp[k][i] : 0;
        if ((cell & SIM_CELL_SERIAL) > t->known)
            is_silent_write |= against_cell(t, lane, i, cell, value, is_part);
    }
    return is_silent_write;
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

static void drop_cell(sim_touch *t, uint64_t *cell, uint64_t i)
{
    uint64_t old = sim_access_get(cell);
    if (!old)
        return;
    free_list(entries_of(t, i), old);
    sim_access_set(cell, 0);
}

void sim_accesses_drop(sim_touch *t, uint64_t i)
{
    const sim_shadow *s = t->shadow;
    if (t->target == SIM_IN_GLOBAL)
        drop_cell(t, &s->access[i], i);
    for (int k = 0; t->target == SIM_IN_SHARED && k < s->warps; k++) {
        if (s->by_warp[k])
            drop_cell(t, &s->by_warp[k][i], i);
    }
}

// ---- entering
// --------------------------------------------------------------------------------------------------------

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

// Whether an entry can go: it is old, or the newcomer is of the same kind and ordered behind it. What the same lanes
// did before goes from it.
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
    sim_party other = sim_order_party(t, serial);
    bool same_kind = sim_note_kind(&other.note) == t->kind && sim_note_reach(&other.note) == t->reach;
    if (!same_kind)
        return false;
    if (is_same_warp(t, &other))
        e->lanes &= ~n->lanes;
    if (!e->lanes || unordered(t, (uint32_t)__builtin_ctz(n->lanes), &other, e->lanes) == SIM_LANES)
        return true;
    if (!flags && t->target == SIM_IN_GLOBAL) {
        int64_t cluster = cluster_of(t, other.block);
        n->is_settled |= n->cluster >= 0 && cluster != n->cluster;
        n->cluster = cluster;
    }
    return false;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return (a & SIM_CELL_SERIAL) > (b & SIM_CELL_SERIAL) ? a & SIM_CELL_SERIAL : b & SIM_CELL_SERIAL;
}

// What stays of a list; gives its head.
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

// Whether the newcomer tells of races that what is there does not: shadow.h, "SETTLED".
static bool is_needed(const newcomer *n)
{
    if (n->t->target == SIM_IN_SHARED)
        return true;
    if (talks_between_blocks(n->t))
        return n->count < MOST_ENTRIES;
    return n->flags || !n->is_settled;
}

static void enter_list(sim_touch *t, uint64_t i, uint64_t cell, uint32_t lanes, uint32_t flags)
{
    sim_entries *all = entries_of(t, i);
    newcomer n = {.t = t, .lanes = lanes, .flags = flags, .cluster = -1};
    uint32_t low = (uint32_t)cell, high = (uint32_t)(cell >> SIM_ACCESS_LANES);
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

// ---- all granules
// ----------------------------------------------------------------------------------------------------

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
