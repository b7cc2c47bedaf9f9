// Resolves the addresses of a warp: the allocation, whether the access is allowed, and the host address of its bytes.
#include "sim/dependent.h"
#include "sim/memory_priv.h"
#include "sim/proxy.h"

void sim_touch_open(sim_touch *t, sim_warp *w, const sim_access *access, uint32_t site, uint32_t mask,
                    const uint64_t *address, int bytes, int align, uint32_t kind)
{
    t->w = w;
    t->device = sim_device_of(w);
    t->access = access;
    t->address = address;
    t->site = site;
    t->todo = mask;
    t->refused = 0;
    t->bytes = bytes;
    t->align = align;
    t->kind = kind;
    t->reach = SIM_CTA;
    t->is_async = false;
    t->held_first = t->held_last = SIM_NO_SHARD;
    t->held_page = 0;
    t->checks = !t->device->options.no_checks;
}

static bool find_global(sim_touch *t, uint64_t base, uint64_t *size)
{
    const sim_memory *m = t->device->memory;
    uint64_t number = (base & ~SIM_TAG_MASK) >> SIM_OFFSET_BITS;
    if (!number || number >= m->table.len)
        return false;
    sim_allocation *found = &m->table.at[number];
    t->target = SIM_IN_GLOBAL;
    t->allocation = found;
    if (!found->bytes || (found->is_read_only && (t->kind & SIM_NOTE_WRITE) && !t->w->block->launch->is_host))
        return false;
    t->base = found->bytes;
    t->stride = 0;
    t->shadow = &found->shadow;
    *size = (uint64_t)found->size;
    return true;
}

sim_block *sim_block_of(sim_block *from, uint64_t address)
{
    int rank = (int)(address >> SIM_RANK_SHIFT & 0xff) - 1;
    if (rank < 0)
        return from;
    return rank < sim_cluster_count(from) && from->cluster ? from->cluster->blocks[rank] : NULL;
}

static bool find_shared(sim_touch *t, uint64_t base, uint64_t *size)
{
    sim_block *b = sim_block_of(t->w->block, base);
    t->target = SIM_IN_SHARED;
    t->owner = b;
    if ((base & ~((uint64_t)0xff << SIM_RANK_SHIFT)) != SIM_TAG_SHARED || !b || !b->shared || b->has_ended)
        return false;
    t->base = b->shared;
    t->stride = 0;
    t->shadow = b->shadow;
    *size = (uint64_t)b->shared_bytes;
    return true;
}

static bool find_local(sim_touch *t, uint64_t base, uint64_t *size)
{
    const sim_warp *w = t->w;
    t->target = SIM_IN_LOCAL;
    if (base != SIM_TAG_LOCAL || !w->locals)
        return false;
    t->base = w->locals;
    t->stride = w->local_bytes;
    t->shadow = NULL;
    *size = w->local_bytes;
    return true;
}

static bool find_target(sim_touch *t, uint64_t base, uint64_t *size)
{
    t->allocation = NULL;
    t->owner = NULL;
    switch (base & SIM_TAG_MASK) {
    case SIM_TAG_GLOBAL:
        return find_global(t, base, size);
    case SIM_TAG_SHARED:
        return find_shared(t, base, size);
    case SIM_TAG_LOCAL:
        return find_local(t, base, size);
    default:
        return false;
    }
}

// The address without its offset in the allocation, or in the block's shared memory.
static uint64_t base_of(uint64_t address)
{
    return address & ~((address & SIM_TAG_MASK) == SIM_TAG_SHARED ? SIM_SHARED_MASK : SIM_OFFSET_MASK);
}

// Lanes of [todo] whose address begins with [base].
static uint32_t lanes_of(const sim_touch *t, uint64_t base)
{
    uint32_t lanes = 0;
    SIM_EACH(lane, t->todo)
        lanes |= (uint32_t)(base_of(t->offset[lane]) == base) << lane;
    return lanes;
}

// [end]: offsets from here on are outside, others misaligned.
static void refuse(sim_touch *t, uint32_t lanes, uint64_t end)
{
    t->refused |= lanes;
    t->todo &= ~lanes;
    if (!t->checks)
        return;
    SIM_EACH(lane, lanes) {
        t->offset[lane] &= (t->address[lane] & SIM_TAG_MASK) == SIM_TAG_SHARED ? SIM_SHARED_MASK : SIM_OFFSET_MASK;
        if (t->owner && t->owner->has_ended)
            sim_report_ended(t, lane, t->owner);
        else if (t->allocation && t->allocation->bytes && t->allocation->is_read_only && (t->kind & SIM_NOTE_WRITE))
            sim_report_read_only(t, lane);
        else if (t->offset[lane] >= end)
            sim_report_outside(t, lane);
        else
            sim_report_misaligned(t, lane);
    }
}

// Splits the addresses into [offset], and the index of the first bit in its byte, [bit].
static void strip_bits(sim_touch *t)
{
    uint64_t bit_mask = (uint64_t)7 << SIM_BIT_SHIFT;
    for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
        t->bit[lane] = (uint8_t)((t->address[lane] & bit_mask) >> SIM_BIT_SHIFT);
        t->offset[lane] = t->address[lane] & ~bit_mask;
    }
}

// Computes offsets from [base]; returns the lanes that are inside and aligned, and classifies the access pattern.
static uint32_t locate_lanes(sim_touch *t, uint64_t base, uint64_t last)
{
    uint64_t odd = (uint64_t)t->align - 1, step = (uint64_t)t->bytes, stray = 0;
    uint32_t inside = 0, first = (uint32_t)__builtin_ctz(t->todo);
    const uint64_t *from = t->access && t->access->bits ? t->offset : t->address;
    uint64_t begin = from[first] - base;
    if (!(t->todo & (t->todo - 1))) {
        t->offset[first] = begin;
        t->is_row = false;
        return (uint32_t)(begin <= last && !(begin & odd)) << first;
    }
    for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
        uint64_t o = t->offset[lane] = from[lane] - base;
        inside |= (uint32_t)((o <= last) & ((o & odd) == 0)) << lane;
        stray |= o ^ (begin + lane * step);
    }
    t->is_row = !stray && t->target != SIM_IN_LOCAL;
    return inside & t->todo;
}

// Lanes that are not in [inside] but in the same allocation are refused; lanes in other allocations stay in [todo].
static void refuse_rest(sim_touch *t, uint32_t inside, uint64_t last)
{
    uint32_t bad = 0;
    uint64_t most = t->target == SIM_IN_SHARED ? SIM_SHARED_MASK : SIM_OFFSET_MASK;
    SIM_EACH(lane, t->todo & ~inside)
        bad |= (uint32_t)(t->offset[lane] <= most) << lane;
    refuse(t, bad, last + 1);
}

static void describe(sim_touch *t)
{
    uint32_t first = (uint32_t)__builtin_ctz(t->lanes);
    uint64_t spread = 0, low = (uint64_t)t->bytes;
    t->is_row = t->is_row && t->lanes == UINT32_MAX;
    SIM_EACH(lane, t->is_row ? 1 : t->lanes) {
        spread |= t->offset[lane] ^ t->offset[first];
        low |= t->offset[lane];
    }
    t->is_same = !t->is_row && !spread;
    t->any_unwritten = false;
    t->races = false;
    t->met_count = 0;
    if (t->checks && t->target == SIM_IN_GLOBAL)
        sim_dependent_access(t);
    if (!t->checks || !t->shadow || !t->shadow->write)
        return;
    if (t->target == SIM_IN_SHARED)
        sim_order_refine(t->owner, low);
    sim_order_touch(t);
    if (t->target == SIM_IN_SHARED && t->owner->order->bulk) {
        if (t->kind & SIM_NOTE_WRITE)
            sim_bulk_check_writes(t);
        sim_proxy_note(t);
    }
}

bool sim_touch_next(sim_touch *t)
{
    while (t->todo) {
        bool has_bits = t->access && t->access->bits;
        if (has_bits)
            strip_bits(t);
        uint32_t first = (uint32_t)__builtin_ctz(t->todo);
        uint64_t size = 0, base = base_of(has_bits ? t->offset[first] : t->address[first]);
        if (!find_target(t, base, &size) || size < (uint64_t)t->bytes) {
            if (!has_bits)
                memcpy(t->offset, t->address, sizeof t->offset);
            refuse(t, lanes_of(t, base), 0);
            continue;
        }
        uint64_t last = size - (uint64_t)t->bytes;
        t->lanes = locate_lanes(t, base, last);
        if (t->lanes != t->todo)
            refuse_rest(t, t->lanes, last);
        t->todo &= ~t->lanes;
        if (!t->lanes)
            continue;
        describe(t);
        return true;
    }
    return false;
}
