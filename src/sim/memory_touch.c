// Which allocation the lanes of a warp touch, whether they may, and where its bytes are.
#include "sim/memory_priv.h"

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

static bool find_shared(sim_touch *t, uint64_t base, uint64_t *size)
{
    const sim_block *b = t->w->block;
    t->target = SIM_IN_SHARED;
    if (base != SIM_TAG_SHARED || !b->shared)
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
    switch (base & SIM_TAG_MASK) {
    case SIM_TAG_GLOBAL: return find_global(t, base, size);
    case SIM_TAG_SHARED: return find_shared(t, base, size);
    case SIM_TAG_LOCAL: return find_local(t, base, size);
    default: return false;
    }
}

// Lanes of [todo] whose address begins with [base].
static uint32_t lanes_of(const sim_touch *t, uint64_t base)
{
    uint32_t lanes = 0;
    SIM_EACH(lane, t->todo)
        lanes |= (uint32_t)((t->offset[lane] & ~SIM_OFFSET_MASK) == base) << lane;
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
        t->offset[lane] &= SIM_OFFSET_MASK;
        if (t->allocation && t->allocation->bytes && t->allocation->is_read_only && (t->kind & SIM_NOTE_WRITE))
            sim_report_read_only(t, lane);
        else if (t->offset[lane] >= end)
            sim_report_outside(t, lane);
        else
            sim_report_misaligned(t, lane);
    }
}

// Sets [offset] to the addresses without the bits' place in a byte, which goes to [bit].
static void strip_bits(sim_touch *t)
{
    uint64_t place = (uint64_t)7 << SIM_BIT_SHIFT;
    bool has_bits = t->access && t->access->bits;
    for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
        t->offset[lane] = t->address[lane];
        if (!has_bits)
            continue;
        t->bit[lane] = (uint8_t)((t->address[lane] & place) >> SIM_BIT_SHIFT);
        t->offset[lane] &= ~place;
    }
}

bool sim_touch_next(sim_touch *t)
{
    while (t->todo) {
        strip_bits(t);
        uint32_t first = (uint32_t)__builtin_ctz(t->todo), inside = 0;
        uint64_t base = t->offset[first] & ~SIM_OFFSET_MASK, size = 0, stray = 0, spread = 0, low = 0;
        uint64_t odd = (uint64_t)t->align - 1;
        if (!find_target(t, base, &size) || size < (uint64_t)t->bytes) {
            refuse(t, lanes_of(t, base), 0);
            continue;
        }
        uint64_t last = size - (uint64_t)t->bytes, begin = t->offset[first] - base, step = (uint64_t)t->bytes;
        for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
            uint64_t o = t->offset[lane] -= base;
            inside |= (uint32_t)((o <= last) & ((o & odd) == 0)) << lane;
            stray |= o ^ (begin + lane * step);
        }
        t->lanes = inside & t->todo;
        if (t->lanes != t->todo) {
            uint32_t bad = 0;
            SIM_EACH(lane, t->todo & ~t->lanes)
                bad |= (uint32_t)(t->offset[lane] <= SIM_OFFSET_MASK) << lane;
            refuse(t, bad, last + 1);
        }
        t->todo &= ~t->lanes;
        if (!t->lanes)
            continue;
        t->is_row = t->lanes == UINT32_MAX && !stray && t->target != SIM_IN_LOCAL;
        SIM_EACH(lane, t->is_row ? 1 : t->lanes) {
            spread |= t->offset[lane] ^ t->offset[first];
            low |= t->offset[lane];
        }
        t->is_same = !t->is_row && !spread;
        t->any_unwritten = false;
        t->races = false;
        if (t->checks && t->shadow && t->shadow->write) {
            if (t->target == SIM_IN_SHARED)
                sim_order_refine(t->w->block, low | (uint64_t)t->bytes);
            sim_order_touch(t);
        }
        return true;
    }
    return false;
}
