// Accesses of TMA and wgmma to shared memory: tiles that they may still read, and writes that are not yet visible to
// them.
//
// Both use shared memory through the async proxy: see proxy.h.
#pragma once

#include "sim/machine.h"

// models/tma.c: the block has ended. Reports each copy that no thread waited for.
void sim_bulk_block_ends(sim_block *b);

// memory_bulk.c. All of these do nothing where the order of accesses is not tracked.
// TMA may read these bytes of shared memory until sim_bulk_end_read of the returned number: a write to them before
// that is a finding (HDS0609).
uint32_t sim_bulk_begin_read(sim_warp *w, uint32_t site, uint64_t address, int64_t bytes);
void sim_bulk_end_read(sim_block *b, uint32_t number);
// The same for 16-byte vectors anywhere in shared memory, by their numbers. [site]: HDS0609, or with SIM_WHY_FLIGHT
// HDS0626.
void sim_bulk_begin_reads(sim_block *b, uint32_t site, const uint32_t *vectors, int count);
void sim_bulk_end_reads(sim_block *b, const uint32_t *vectors, int count);
// The lanes execute fence.proxy.async.
void sim_bulk_fence(sim_warp *w, uint32_t lanes);
// TMA wrote these bytes of the block.
void sim_bulk_written(sim_block *b, uint64_t address, int bytes);
// TMA or wgmma will read them for the lane: HDS0625 unless earlier writes are visible to it. [reader]: "TMA" or
// "wgmma".
void sim_bulk_check_fences(sim_warp *w, uint32_t site, uint32_t lane, uint64_t address, int bytes, const char *reader);
// TMA is about to write them for the lane, in any block: HDS0655 if a thread may still be reading them, HDS0656 if
// earlier writes are not visible to TMA.
void sim_bulk_check_refill(sim_warp *w, uint32_t site, uint32_t lane, uint64_t address, int bytes);
