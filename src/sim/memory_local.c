// Private memory: no other thread sees it, so only the initialised bytes are tracked.
#include "sim/memory_priv.h"

#include <string.h>

static uint8_t *bits_of(sim_warp *w, uint32_t lane)
{
    struct sim_clock *c = w->clock;
    size_t stride = (c->local_bytes + 7) / 8;
    return c->local_written + stride * lane;
}

static void make_bits(sim_warp *w)
{
    struct sim_clock *c = w->clock;
    if (c->local_written && c->local_bytes == w->local_bytes)
        return;
    c->local_bytes = w->local_bytes;
    c->local_written = ARENA_ARRAY(w->block->arena, uint8_t, (size_t)(w->local_bytes + 7) / 8 * SIM_LANES);
}

void sim_local_write(sim_warp *w, uint32_t lane, uint64_t offset, int bytes, uint64_t poison)
{
    make_bits(w);
    uint8_t *bits = bits_of(w, lane);
    for (int i = 0; i < bytes; i++) {
        uint64_t at = offset + (uint64_t)i;
        uint8_t bit = (uint8_t)(1 << at % 8);
        bits[at / 8] = poison >> i & 1 ? (uint8_t)(bits[at / 8] & ~bit) : (uint8_t)(bits[at / 8] | bit);
    }
}

uint64_t sim_local_unwritten(sim_warp *w, uint32_t lane, uint64_t offset, int bytes)
{
    make_bits(w);
    const uint8_t *bits = bits_of(w, lane);
    uint64_t missing = 0;
    for (int i = 0; i < bytes; i++) {
        uint64_t at = offset + (uint64_t)i;
        missing |= (uint64_t) !(bits[at / 8] >> at % 8 & 1) << i;
    }
    return missing;
}

// Rows of [old] bytes become rows of [now] bytes; [fill] in what is new.
static uint8_t *widened(sim_warp *w, const uint8_t *rows, size_t old, size_t now, int fill)
{
    uint8_t *wider = arena_alloc(w->block->arena, now * SIM_LANES);
    memset(wider, fill, now * SIM_LANES);
    for (size_t lane = 0; rows && lane < SIM_LANES; lane++)
        memcpy(wider + lane * now, rows + lane * old, old);
    return wider;
}

void sim_local_grow(sim_warp *w, uint32_t bytes)
{
    struct sim_clock *c = w->clock;
    uint32_t old = w->local_bytes;
    make_bits(w);
    w->locals = widened(w, w->locals, old, bytes, 0);
    c->local_written = widened(w, c->local_written, (old + 7) / 8, (bytes + 7) / 8, 0);
    if (c->local_field)
        c->local_field = (void *)widened(w, (const void *)c->local_field, old * sizeof *c->local_field,
                                         bytes * sizeof *c->local_field, 0xff);
    w->local_bytes = c->local_bytes = bytes;
}

void sim_local_undefine(sim_warp *w, uint32_t lanes, uint32_t offset, uint32_t bytes)
{
    make_bits(w);
    SIM_EACH(lane, lanes) {
        uint8_t *bits = bits_of(w, lane);
        uint32_t at = offset, end = offset + bytes < w->local_bytes ? offset + bytes : w->local_bytes;
        for (; at < end && at % 8; at++)
            bits[at / 8] &= (uint8_t) ~(1 << at % 8);
        uint32_t whole = at < end ? (end - at) / 8 : 0;
        memset(bits + at / 8, 0, whole);
        for (at += whole * 8; at < end; at++)
            bits[at / 8] &= (uint8_t) ~(1 << at % 8);
    }
}
