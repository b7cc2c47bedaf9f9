// What the copy engine and wgmma have to do with shared memory: tiles that they may still read, and writes that they may
// not see yet.
//
// Both use shared memory through the async proxy: see proxy.h.
#pragma once

#include "sim/machine.h"

// models/tma.c: no thread of the block is left. A finding for each copy that nobody waited for.
void sim_bulk_block_ends(sim_block *b);

// memory_bulk.c. All of them do nothing where the order of accesses is not followed.
// The engine may read these bytes of shared memory until sim_bulk_take_back of the number that this gives: who writes
// there is a finding (HDS0609).
uint32_t sim_bulk_lend(sim_warp *w, uint32_t site, uint64_t address, int64_t bytes);
void sim_bulk_take_back(sim_block *b, uint32_t loan);
// The same of pieces of 16 bytes anywhere in shared memory, by their numbers. [site]: HDS0609, or with SIM_WHY_FLIGHT
// HDS0626.
void sim_bulk_lend_pieces(sim_block *b, uint32_t site, const uint32_t *pieces, int count);
void sim_bulk_take_back_pieces(sim_block *b, const uint32_t *pieces, int count);
// The lanes execute fence.proxy.async.
void sim_bulk_fence(sim_warp *w, uint32_t lanes);
// The engine itself wrote these bytes of the block.
void sim_bulk_written(sim_block *b, uint64_t address, int bytes);
// It is about to read them for the lane: HDS0625 unless it sees what was written. [reader]: "the copy engine", "wgmma".
void sim_bulk_check_fences(sim_warp *w, uint32_t site, uint32_t lane, uint64_t address, int bytes, const char *reader);
// It is about to write them for the lane, in whatever block: HDS0655 if somebody may still be reading them, HDS0656 if
// it does not see what was written.
void sim_bulk_check_refill(sim_warp *w, uint32_t site, uint32_t lane, uint64_t address, int bytes);
