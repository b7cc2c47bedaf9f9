// Cells of the shadow state: quick looks at many of them, and the closer look at one. See shadow.h for what they mean.
#include "sim/memory_priv.h"

static inline uint32_t cell_get(const uint32_t *cell)
{
    return __atomic_load_n(cell, __ATOMIC_RELAXED);
}
static inline void cell_set(uint32_t *cell, uint32_t value)
{
    __atomic_store_n(cell, value, __ATOMIC_RELAXED);
}

// Whether an access of that serial is ordered before all that the block does now, as far as a glance tells.
static inline bool is_old(const sim_touch *t, uint32_t serial)
{
    return serial <= t->known || serial - t->own_begin < t->own_end - t->own_begin;
}

// The same of readers; what stands in a cell for readers of several blocks is old only for the launch.
static inline bool is_old_reader(const sim_touch *t, uint32_t cell)
{
    uint32_t serial = cell & (SIM_CELL_SERIAL | SIM_CELL_PEERS);
    return (cell & SIM_CELL_SERIAL) <= t->known || serial - t->own_begin < t->own_end - t->own_begin;
}

// Readers that all threads of the block know whose memory it is, where a thread of another block reads: what the block
// writes is later than they are.
static bool is_old_at_home(const sim_touch *t, uint32_t cell)
{
    if (t->target != SIM_IN_SHARED || t->owner == t->w->block)
        return false;
    const struct sim_order *there = t->owner->order;
    return (cell & SIM_CELL_SERIAL) + there->origin <= there->known;
}

static bool is_same_warp(const sim_touch *t, const sim_party *other)
{
    return other->block == t->w->block->index && sim_note_warp(&other->note) == t->w->index;
}

// ---- many cells ----------------------------------------------------------------------------------------------------

// Whether ((cell & mask) ^ flip) is an old serial, for all of [count] cells. [flip]: a flag that has to be set; flags
// in [mask] that are set too much make the value larger than any serial. [own]: the mask for those of the own block.
#if SIM_TSAN
static bool all_old(const sim_touch *t, const uint32_t *cells, uint64_t count, uint32_t mask, uint32_t flip,
                    uint32_t own)
{
    for (uint64_t i = 0; i < count; i++) {
        uint32_t cell = cell_get(&cells[i]);
        bool is_own = ((cell & own) ^ flip) - t->own_begin < t->own_end - t->own_begin;
        if (((cell & mask) ^ flip) > t->known && !is_own)
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

// Values stay below 2^27, so comparisons of signed numbers will do, which is what the smallest vector units have.
static inline bool all_old(const sim_touch *t, const uint32_t *cells, uint64_t count, uint32_t mask, uint32_t flip,
                           uint32_t own)
{
    quad known = splat(t->known), begin = splat(t->own_begin), end = splat(t->own_end), good = splat(UINT32_MAX);
    quad masks = splat(mask), flips = splat(flip), owns = splat(own);
    uint64_t i = 0;
    for (; i + 4 <= count; i += 4) {
        quad cell;
        memcpy(&cell, &cells[i], sizeof cell);
        quad v = (cell & masks) ^ flips, u = (cell & owns) ^ flips;
        good &= (v <= known) | ((u >= begin) & (u < end));
    }
    if (i && !(good[0] & good[1] & good[2] & good[3]))
        return false;
    for (; i < count; i++) {
        bool is_own = ((cells[i] & own) ^ flip) - t->own_begin < t->own_end - t->own_begin;
        if (((cells[i] & mask) ^ flip) > t->known && !is_own)
            return false;
    }
    return true;
}
#endif

static bool all_readable(const sim_touch *t, uint64_t first, uint64_t count)
{
    uint32_t mask = SIM_CELL_SERIAL | SIM_CELL_WRITTEN | SIM_CELL_PENDING;
    return all_old(t, t->shadow->write + first, count, mask, SIM_CELL_WRITTEN, mask);
}

static bool all_writable(const sim_touch *t, uint64_t first, uint64_t count)
{
    uint32_t mask = SIM_CELL_SERIAL | SIM_CELL_PENDING;
    return all_old(t, t->shadow->write + first, count, mask, 0, mask);
}

static bool all_unread(const sim_touch *t, uint64_t first, uint64_t count)
{
    return all_old(t, t->shadow->read + first, count, SIM_CELL_SERIAL, 0, SIM_CELL_SERIAL | SIM_CELL_PEERS);
}

// Whether one more reader of this block adds nothing to what the read cells tell: they stand for several warps already,
// or in global memory for several blocks.
static bool all_settled(const sim_touch *t, uint64_t first, uint64_t count)
{
    uint32_t full = t->target == SIM_IN_SHARED ? SIM_CELL_MANY : SIM_CELL_BLOCKS, missing = 0;
    const uint32_t *cells = t->shadow->read + first;
    if (~cell_get(&cells[0]) & full)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t cell = cell_get(&cells[i]);
        missing |= (~cell & full) | ((cell & SIM_CELL_SERIAL) <= t->known);
    }
    return !missing;
}

// Whether each lane finds its own earlier access, and all the same one, in [each] cells one behind the other, with just
// the flags [flags]. *[kind]: what that access was.
static bool is_own_row(const sim_touch *t, const uint32_t *cells, uint64_t each, uint32_t flags, uint32_t *kind)
{
    uint32_t want = cell_get(&cells[0]), odd = 0;
    if ((want & ~SIM_CELL_SERIAL) != flags)
        return false;
    for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
        for (uint64_t k = 0; k < each; k++)
            odd |= cell_get(&cells[lane * each + k]) ^ (want | lane << SIM_LANE_SHIFT);
    }
    if (odd || is_old(t, want & SIM_CELL_SERIAL))
        return false;
    sim_party party = sim_order_party(t, want);
    *kind = sim_note_kind(&party.note);
    return is_same_warp(t, &party);
}

static inline void fill(uint32_t *cells, uint64_t count, uint32_t value)
{
    for (uint64_t i = 0; i < count; i++)
        cell_set(&cells[i], value);
}

static void fill_row(uint32_t *cells, uint64_t each, uint32_t value)
{
    for (uint32_t lane = 0; lane < SIM_LANES; lane++)
        fill(cells + lane * each, each, value | lane << SIM_LANE_SHIFT);
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

// Bits of the bytes of the lane that lie in granule [i].
static uint64_t bytes_in(const sim_touch *t, uint32_t lane, uint64_t i)
{
    int shift = t->shadow->shift;
    int64_t begin = (int64_t)((i << shift) - t->offset[lane]), end = begin + ((int64_t)1 << shift);
    begin = begin < 0 ? 0 : begin;
    end = end > t->bytes ? t->bytes : end;
    return (end - begin == 64 ? UINT64_MAX : (((uint64_t)1 << (end - begin)) - 1)) << begin;
}

static void note_unwritten(sim_touch *t, uint32_t lane, uint64_t i)
{
    if (!t->any_unwritten)
        memset(t->unwritten, 0, sizeof t->unwritten);
    t->any_unwritten = true;
    t->unwritten[lane] |= bytes_in(t, lane, i);
}

// Atomic accesses do not race with each other, if each reaches the other's thread.
static bool is_compatible(const sim_touch *t, const sim_party *other)
{
    bool same_block = other->block == t->w->block->index;
    return (t->kind & SIM_NOTE_ATOMIC) && (sim_note_kind(&other->note) & SIM_NOTE_ATOMIC) &&
           (same_block || (t->reach >= SIM_CLUSTER && sim_note_reach(&other->note) >= SIM_CLUSTER));
}

static bool is_silent(const sim_touch *t, uint32_t lane, uint64_t i, const uint8_t *value, const sim_party *other)
{
    if (!value || ((t->kind | sim_note_kind(&other->note)) & SIM_NOTE_ATOMIC) || !(t->kind & SIM_NOTE_WRITE))
        return false;
    uint64_t bytes = bytes_in(t, lane, i);
    int begin = __builtin_ctzll(bytes), count = __builtin_popcountll(bytes);
    uint8_t now[8];
    sim_bytes_get(now, sim_touch_at(t, lane) + begin, count, count);
    return memcmp(now, value + begin, (size_t)count) == 0;
}

// The last write of a granule, which is not old, against this access.
static void against_write(sim_touch *t, uint32_t lane, uint64_t i, uint32_t cell, const uint8_t *value, bool is_part)
{
    if (is_part && (cell & SIM_CELL_WRITE_PART))
        return;
    sim_party other = sim_order_party(t, cell);
    if (!sim_order_knows(t->w, lane, &other) && !is_compatible(t, &other) && !is_silent(t, lane, i, value, &other))
        sim_report_race(t, lane, i, &other, SIM_REST_NONE, value);
}

// Whether the lane knows all, or at least one, of the lanes that made the access together with [other].
static bool knows_rest(const sim_touch *t, uint32_t lane, const sim_party *other, bool all)
{
    sim_party one = *other;
    SIM_EACH(peer, other->note.lanes & ~((uint32_t)1 << other->lane)) {
        one.lane = peer;
        if (sim_order_knows(t->w, lane, &one) != all)
            return !all;
    }
    return all;
}

// The readers of a granule, who are not old, against this write.
static void against_readers(sim_touch *t, uint32_t lane, uint64_t i, uint32_t cell, const uint8_t *value)
{
    sim_party other = sim_order_party(t, cell);
    if (is_compatible(t, &other))
        return;
    if (!sim_order_knows(t->w, lane, &other)) {
        sim_report_race(t, lane, i, &other, SIM_REST_NONE, value);
        return;
    }
    uint32_t others = cell & SIM_CELL_BLOCKS;
    bool is_plain = t->w->block->order->is_plain;
    if (others == SIM_CELL_BLOCKS && is_plain) {
        sim_report_race(t, lane, i, &other, SIM_REST_BLOCKS, value);
        return;
    }
    if (!is_same_warp(t, &other))
        return;
    bool is_itself = other.lane == lane, is_among = other.note.lanes >> lane & 1;
    if ((cell & SIM_CELL_SEVERAL) && (is_itself || !is_among) && !knows_rest(t, lane, &other, false))
        sim_report_race(t, lane, i, &other, SIM_REST_WARP, value);
    else if (others == SIM_CELL_PEERS && is_itself && sim_order_met_nobody(t->w, other.note.local))
        sim_report_race(t, lane, i, &other, SIM_REST_WARP, value);
    else if (others == SIM_CELL_MANY && is_plain)
        sim_report_race(t, lane, i, &other, SIM_REST_OTHERS, value);
}

// True if the access must not be entered: nothing may be here, or a copy is on its way.
static bool is_closed(sim_touch *t, uint32_t lane, uint64_t i, uint32_t cell)
{
    if ((cell & SIM_CELL_SERIAL) == SIM_CELL_RED) {
        sim_report_red_zone(t, lane);
        return true;
    }
    if (cell & SIM_CELL_PENDING)
        sim_report_pending(t, lane, t->shadow->read ? cell_get(&t->shadow->read[i]) : 0);
    return (cell & SIM_CELL_PENDING) != 0;
}

// ---- reads ---------------------------------------------------------------------------------------------------------

// A read cell of the same access: the highest lane stands for all.
static uint32_t joined(uint32_t cell, uint32_t mark)
{
    uint32_t higher = cell > mark ? cell : mark, lane = higher & ~(((uint32_t)1 << SIM_LANE_SHIFT) - 1);
    uint32_t part = cell & mark & SIM_CELL_READ_PART;
    return lane | SIM_CELL_SEVERAL | part | (cell & (SIM_CELL_MANY | SIM_CELL_PEERS | SIM_CELL_SERIAL));
}

static bool is_ordered_reader(const sim_touch *t, uint32_t lane, uint32_t cell, const sim_party *other)
{
    return sim_order_knows(t->w, lane, other) && (!(cell & SIM_CELL_SEVERAL) || knows_rest(t, lane, other, true));
}

// The reader is one more: what the cell tells of those besides the one that it names. Who reads but a part may be out
// of the way of a write that is a race for the one named.
static uint32_t with_reader(const sim_touch *t, uint32_t lane, uint32_t cell, uint32_t mark, const sim_party *other)
{
    uint32_t others = cell & SIM_CELL_BLOCKS;
    if (mark & SIM_CELL_READ_PART)
        return cell;
    if (other->block != t->w->block->index)
        return cell | SIM_CELL_BLOCKS;
    if (!is_same_warp(t, other))
        return others == SIM_CELL_PEERS ? cell : cell | SIM_CELL_MANY;
    return others || other->lane == lane ? cell : cell | SIM_CELL_PEERS;
}

static void enter_reader(sim_touch *t, uint32_t lane, uint64_t i, uint32_t mark)
{
    uint32_t *at = &t->shadow->read[i], cell = cell_get(at), serial = cell & SIM_CELL_SERIAL;
    uint32_t others = cell & SIM_CELL_BLOCKS;
    if (is_old_reader(t, cell) || is_old_at_home(t, cell)) {
        cell_set(at, mark);
        return;
    }
    if (serial == t->mine) {
        if (cell >> SIM_LANE_SHIFT != lane)
            cell_set(at, joined(cell, mark));
        return;
    }
    if (others == SIM_CELL_BLOCKS || (others == SIM_CELL_MANY && t->target == SIM_IN_SHARED))
        return;
    sim_party other = sim_order_party(t, cell);
    bool is_alone = others == 0 || others == SIM_CELL_PEERS;
    uint32_t after =
        is_alone && is_ordered_reader(t, lane, cell, &other) ? mark : with_reader(t, lane, cell, mark, &other);
    if (after != cell)
        cell_set(at, after);
}

static void read_granule(sim_touch *t, uint32_t lane, uint64_t i, uint32_t mark, bool is_part)
{
    uint32_t cell = cell_get(&t->shadow->write[i]);
    if (is_closed(t, lane, i, cell))
        return;
    if (!(cell & SIM_CELL_WRITTEN))
        note_unwritten(t, lane, i);
    if (!t->races)
        return;
    if (!is_old(t, cell & SIM_CELL_SERIAL))
        against_write(t, lane, i, cell, NULL, is_part);
    enter_reader(t, lane, i, mark);
}

// The only cell of a granule of one byte.
static void read_single(sim_touch *t, uint32_t lane, uint64_t i, uint32_t mark)
{
    uint32_t *at = &t->shadow->write[i], cell = cell_get(at), serial = cell & SIM_CELL_SERIAL;
    if (is_closed(t, lane, i, cell))
        return;
    if (!(cell & SIM_CELL_WRITTEN))
        note_unwritten(t, lane, i);
    if (!t->races)
        return;
    mark |= cell & SIM_CELL_WRITTEN;
    if (is_old(t, serial)) {
        cell_set(at, mark);
        return;
    }
    if (serial == t->mine) {
        if (cell >> SIM_LANE_SHIFT != lane)
            cell_set(at, joined(cell, mark));
        return;
    }
    sim_party other = sim_order_party(t, cell);
    if (sim_note_kind(&other.note) & SIM_NOTE_WRITE)
        against_write(t, lane, i, cell & ~SIM_CELL_WRITE_PART, NULL, false);
    else if (!(cell & SIM_CELL_PEERS) && is_ordered_reader(t, lane, cell, &other))
        cell_set(at, mark);
    else if (is_same_warp(t, &other) && other.lane != lane && !(cell & SIM_CELL_PEERS))
        cell_set(at, cell | SIM_CELL_PEERS);
}

static void read_lane(sim_touch *t, uint32_t lane)
{
    span s = span_of(t, lane);
    uint32_t mark = t->mine | lane << SIM_LANE_SHIFT;
    if (!t->shadow->read) {
        if (all_readable(t, s.first, s.count) && !t->races)
            return;
        for (uint64_t i = s.first; i < s.first + s.count; i++)
            read_single(t, lane, i, mark);
        return;
    }
    mark |= s.is_part ? SIM_CELL_READ_PART : 0;
    if (all_readable(t, s.first, s.count)) {
        if (!t->races)
            return;
        if (all_unread(t, s.first, s.count)) {
            fill(t->shadow->read + s.first, s.count, mark);
            return;
        }
        if (all_settled(t, s.first, s.count))
            return;
    }
    for (uint64_t i = s.first; i < s.first + s.count; i++)
        read_granule(t, lane, i, mark, s.is_part);
}

static bool is_reader(const sim_touch *t, uint32_t cell)
{
    sim_party other = sim_order_party(t, cell);
    return !(sim_note_kind(&other.note) & SIM_NOTE_WRITE);
}

// What neighbours have in common is looked at once.
static void look_lane(sim_touch *t, uint32_t lane)
{
    span s = span_of(t, lane);
    uint32_t good = 0;
    if (all_readable(t, s.first, s.count))
        return;
    for (uint64_t i = s.first; i < s.first + s.count; i++) {
        uint32_t cell = cell_get(&t->shadow->write[i]);
        if ((good && cell == good) || is_closed(t, lane, i, cell))
            continue;
        if (!(cell & SIM_CELL_WRITTEN))
            note_unwritten(t, lane, i);
        if (t->races && !is_old(t, cell & SIM_CELL_SERIAL) && (t->shadow->read || !is_reader(t, cell)))
            against_write(t, lane, i, cell, NULL, s.is_part);
        if (cell & SIM_CELL_WRITTEN)
            good = cell;
    }
}

void sim_shadow_look(sim_touch *t)
{
    if (!t->shadow || !t->shadow->write)
        return;
    SIM_EACH(lane, t->lanes)
        look_lane(t, lane);
}

static bool is_any_pending(const sim_touch *t, span s)
{
    uint32_t flags = 0;
    for (uint64_t i = s.first; i < s.first + s.count; i++)
        flags |= cell_get(&t->shadow->write[i]);
    return (flags & SIM_CELL_PENDING) != 0;
}

// Where a copy is on its way, the read cell tells of that.
static void enter_lane(sim_touch *t, uint32_t lane)
{
    span s = span_of(t, lane);
    uint32_t mark = t->mine | lane << SIM_LANE_SHIFT, before = 0, after = 0;
    if (is_any_pending(t, s))
        return;
    if (!t->shadow->read) {
        for (uint64_t i = s.first; i < s.first + s.count; i++)
            read_single(t, lane, i, mark);
        return;
    }
    mark |= s.is_part ? SIM_CELL_READ_PART : 0;
    if (all_unread(t, s.first, s.count)) {
        fill(t->shadow->read + s.first, s.count, mark);
        return;
    }
    if (all_settled(t, s.first, s.count))
        return;
    for (uint64_t i = s.first; i < s.first + s.count; i++) {
        uint32_t cell = cell_get(&t->shadow->read[i]);
        if (cell != before) {
            enter_reader(t, lane, i, mark);
            before = cell;
            after = cell_get(&t->shadow->read[i]);
        } else {
            cell_set(&t->shadow->read[i], after);
        }
    }
}

void sim_shadow_enter(sim_touch *t)
{
    SIM_EACH(lane, t->lanes)
        enter_lane(t, lane);
}

// All lanes one behind the other, if nothing needs a closer look.
static bool read_row(sim_touch *t, span s)
{
    uint64_t count = s.count * SIM_LANES;
    uint32_t *write = t->shadow->write + s.first, *read = t->shadow->read ? t->shadow->read + s.first : NULL, kind;
    bool is_readable = all_readable(t, s.first, count);
    if (!is_readable && (!t->races || !is_own_row(t, write, s.count, SIM_CELL_WRITTEN, &kind)))
        return false;
    if (!t->races)
        return true;
    if (!read && (is_readable || !(kind & SIM_NOTE_WRITE))) {
        fill_row(write, s.count, t->mine | SIM_CELL_WRITTEN);
        return true;
    }
    if (!read || all_settled(t, s.first, count))
        return true;
    if (!all_unread(t, s.first, count) && !is_own_row(t, read, s.count, 0, &kind))
        return false;
    if ((cell_get(&read[0]) & SIM_CELL_SERIAL) != t->mine)
        fill_row(read, s.count, t->mine);
    return true;
}

// All lanes at one place: the highest stands for them.
static bool read_same(sim_touch *t, span s)
{
    uint32_t lane = 31 - (uint32_t)__builtin_clz(t->lanes), several = t->lanes & (t->lanes - 1) ? SIM_CELL_SEVERAL : 0;
    uint32_t mark = t->mine | several | lane << SIM_LANE_SHIFT;
    if (!all_readable(t, s.first, s.count))
        return false;
    if (!t->races || (t->shadow->read && all_settled(t, s.first, s.count)))
        return true;
    if (!t->shadow->read)
        fill(t->shadow->write + s.first, s.count, mark | SIM_CELL_WRITTEN);
    else if (all_unread(t, s.first, s.count))
        fill(t->shadow->read + s.first, s.count, mark);
    else
        return false;
    return true;
}

static bool read_together(sim_touch *t)
{
    span s = span_of(t, (uint32_t)__builtin_ctz(t->lanes));
    return !s.is_part && ((t->is_row && read_row(t, s)) || (t->is_same && read_same(t, s)));
}

void sim_shadow_read(sim_touch *t)
{
    if (!t->shadow || !t->shadow->write || read_together(t))
        return;
    SIM_EACH(lane, t->lanes)
        read_lane(t, lane);
}

// ---- writes --------------------------------------------------------------------------------------------------------

bool sim_shadow_write_row(sim_touch *t)
{
    if (!t->shadow || !t->shadow->write)
        return true;
    span s = span_of(t, 0);
    uint64_t count = s.count * SIM_LANES;
    uint32_t *write = t->shadow->write + s.first, *read = t->shadow->read ? t->shadow->read + s.first : NULL, kind;
    if (s.is_part)
        return false;
    if (!all_writable(t, s.first, count) && (!t->races || !is_own_row(t, write, s.count, SIM_CELL_WRITTEN, &kind)))
        return false;
    if (t->races && read && !all_unread(t, s.first, count) && !is_own_row(t, read, s.count, 0, &kind))
        return false;
    if (t->races)
        fill_row(write, s.count, t->mine | SIM_CELL_WRITTEN);
    else
        fill(write, count, SIM_CELL_WRITTEN);
    return true;
}

static void check_readers(sim_touch *t, uint32_t lane, uint64_t i, const uint8_t *value, bool is_part)
{
    uint32_t read = cell_get(&t->shadow->read[i]);
    bool both_part = is_part && (read & SIM_CELL_READ_PART);
    if (!is_old_reader(t, read) && !both_part)
        against_readers(t, lane, i, read, value);
    // Whoever is ordered behind this write is ordered behind the readers; of atomic accesses only each by itself.
    if (read && !(t->kind & SIM_NOTE_ATOMIC))
        cell_set(&t->shadow->read[i], 0);
}

static void check_single(sim_touch *t, uint32_t lane, uint64_t i, uint32_t cell, const uint8_t *value)
{
    sim_party other = sim_order_party(t, cell);
    if (sim_note_kind(&other.note) & SIM_NOTE_WRITE)
        against_write(t, lane, i, cell & ~SIM_CELL_WRITE_PART, value, false);
    else
        against_readers(t, lane, i, cell & ~SIM_CELL_MANY, value);
}

static void write_granule(sim_touch *t, uint32_t lane, uint64_t i, uint32_t mark, const uint8_t *value, uint64_t poison)
{
    uint32_t *at = &t->shadow->write[i], cell = cell_get(at);
    bool is_part = mark & SIM_CELL_WRITE_PART, is_pending = cell & SIM_CELL_PENDING;
    if (is_closed(t, lane, i, cell) && !is_pending)
        return;
    if (t->races && !is_pending && !t->shadow->read) {
        if (!is_old(t, cell & SIM_CELL_SERIAL))
            check_single(t, lane, i, cell, value);
    } else if (t->races && !is_pending) {
        if (!is_old(t, cell & SIM_CELL_SERIAL))
            against_write(t, lane, i, cell, value, is_part);
        check_readers(t, lane, i, value, is_part);
    } else if (is_pending && t->shadow->read) {
        cell_set(&t->shadow->read[i], 0);
    }
    bool is_written = poison ? (bytes_in(t, lane, i) & ~poison) != 0 || (is_part && (cell & SIM_CELL_WRITTEN)) : true;
    cell_set(at, mark | (is_written ? SIM_CELL_WRITTEN : 0));
}

void sim_shadow_write(sim_touch *t, uint32_t lane, const uint8_t *value, uint64_t poison)
{
    if (!t->shadow || !t->shadow->write)
        return;
    span s = span_of(t, lane);
    uint32_t mark = t->races ? t->mine | lane << SIM_LANE_SHIFT : 0;
    mark |= s.is_part && t->shadow->read ? SIM_CELL_WRITE_PART : 0;
    bool is_quiet = !t->races || !t->shadow->read || all_unread(t, s.first, s.count);
    if (!poison && is_quiet && all_writable(t, s.first, s.count)) {
        fill(t->shadow->write + s.first, s.count, mark | SIM_CELL_WRITTEN);
        return;
    }
    for (uint64_t i = s.first; i < s.first + s.count; i++)
        write_granule(t, lane, i, mark, value, poison);
}

// ---- copies on their way -------------------------------------------------------------------------------------------

void sim_shadow_pend(sim_touch *t, uint32_t lane)
{
    if (!t->shadow || !t->shadow->write)
        return;
    sim_shadow_write(t, lane, NULL, 0);
    span s = span_of(t, lane);
    for (uint64_t i = s.first; i < s.first + s.count; i++) {
        uint32_t cell = cell_get(&t->shadow->write[i]);
        if ((cell & SIM_CELL_SERIAL) == SIM_CELL_RED)
            continue;
        cell_set(&t->shadow->write[i], cell | SIM_CELL_PENDING);
        if (t->shadow->read)
            cell_set(&t->shadow->read[i], t->site);
    }
}

void sim_shadow_land(sim_touch *t, uint32_t lane, uint64_t poison)
{
    if (!t->shadow || !t->shadow->write)
        return;
    span s = span_of(t, lane);
    uint32_t mark = t->races ? t->mine | lane << SIM_LANE_SHIFT : 0;
    mark |= s.is_part && t->shadow->read ? SIM_CELL_WRITE_PART : 0;
    for (uint64_t i = s.first; i < s.first + s.count; i++) {
        bool is_written = (bytes_in(t, lane, i) & ~poison) != 0;
        if ((cell_get(&t->shadow->write[i]) & SIM_CELL_SERIAL) != SIM_CELL_RED)
            cell_set(&t->shadow->write[i], mark | (is_written ? SIM_CELL_WRITTEN : 0));
        if (t->shadow->read)
            cell_set(&t->shadow->read[i], 0);
    }
}

// ---- from outside --------------------------------------------------------------------------------------------------

void sim_shadow_mark(sim_shadow *s, uint64_t offset, uint64_t bytes)
{
    uint64_t first = offset >> s->shift, end = ((offset + bytes - 1) >> s->shift) + 1;
    for (uint64_t i = first; i < end; i++) {
        cell_set(&s->write[i], SIM_CELL_WRITTEN);
        if (s->read && cell_get(&s->read[i]))
            cell_set(&s->read[i], 0);
    }
}

bool sim_shadow_is_written(const sim_shadow *s, uint64_t offset, uint64_t bytes, uint64_t *first)
{
    uint64_t end = ((offset + bytes - 1) >> s->shift) + 1;
    for (uint64_t i = offset >> s->shift; i < end; i++) {
        uint32_t cell = cell_get(&s->write[i]);
        // Red zones are no memory at all, which is said elsewhere.
        if (cell != SIM_CELL_RED && !(cell & SIM_CELL_WRITTEN)) {
            *first = i << s->shift;
            return false;
        }
    }
    return true;
}

void sim_shadow_forget(sim_shadow *s)
{
    for (uint64_t i = 0; i < s->count && s->write; i++) {
        uint32_t cell = cell_get(&s->write[i]), serial = cell & SIM_CELL_SERIAL;
        if (s->read && !(cell & SIM_CELL_PENDING) && cell_get(&s->read[i]))
            cell_set(&s->read[i], 0);
        if (serial && serial != SIM_CELL_RED)
            __atomic_fetch_and(&s->write[i], SIM_CELL_WRITTEN | SIM_CELL_PENDING, __ATOMIC_RELAXED);
    }
}
