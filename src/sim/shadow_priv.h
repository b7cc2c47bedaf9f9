// Shared by the two halves of the shadow state: shadow.c checks many cells at once, shadow_access.c one cell in detail.
#pragma once

#include "sim/memory_priv.h"

static inline uint32_t sim_cell_get(const uint32_t *cell)
{
    return __atomic_load_n(cell, __ATOMIC_RELAXED);
}
static inline void sim_cell_set(uint32_t *cell, uint32_t value)
{
    __atomic_store_n(cell, value, __ATOMIC_RELAXED);
}
static inline uint64_t sim_access_get(const uint64_t *cell)
{
    return __atomic_load_n(cell, __ATOMIC_RELAXED);
}
static inline void sim_access_set(uint64_t *cell, uint64_t value)
{
    __atomic_store_n(cell, value, __ATOMIC_RELAXED);
}

static inline uint64_t sim_access_of(uint32_t low, uint32_t lanes)
{
    return low | (uint64_t)lanes << SIM_ACCESS_LANES;
}

// Whether an access of that serial is ordered before all that the block does now, as far as a glance tells.
static inline bool sim_is_old(const sim_touch *t, uint32_t serial)
{
    return serial <= t->known || serial - t->own_begin < t->own_end - t->own_begin;
}

// Bits of the bytes of the lane that lie in granule [i].
uint64_t sim_bytes_in(const sim_touch *t, uint32_t lane, uint64_t i);
// What comes of an access and one before it, as bits; 0: they are ordered, or do not conflict.
enum {
    SIM_VERDICT_SILENT = 1, // both write the same value, and nothing orders them
    SIM_VERDICT_RACE = 2,   // a race, which has been reported
};
// The last plain write of a granule, which is not old, against this access: SIM_VERDICT_ bits.
uint32_t sim_against_write(sim_touch *t, uint32_t lane, uint64_t i, uint32_t cell, const uint8_t *value, bool is_part);
// The accesses in all access cells of a granule against this one; the same result.
uint32_t sim_against_accesses(sim_touch *t, uint32_t lane, uint64_t i, const uint8_t *value, bool is_part);
// Enters an access of [lanes] in the warp's cell of the granule. [flags]: SPECIAL, PART.
void sim_access_enter(sim_touch *t, uint64_t i, uint32_t lanes, uint32_t flags);
// The warp's cell of granule [i] becomes what that of the granule before it is, with a list of its own.
void sim_access_copy(sim_touch *t, uint64_t i);
// Whether nothing in the access cells of the granule is newer than what all threads know.
bool sim_accesses_are_old(const sim_touch *t, uint64_t i);
// All access cells of [count] granules become empty.
void sim_accesses_drop(sim_touch *t, uint64_t first, uint64_t count);
