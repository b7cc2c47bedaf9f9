// What the copy engine and wgmma have to do with shared memory: tiles that they may still read, and writes that they may
// not see yet.
//
// Both read shared memory through the async proxy. What threads wrote there (through the generic proxy) they see
// behind a fence.proxy.async that stands between the write and the copy: one by the thread that wrote, or one by the
// thread that copies, behind the barrier through which it knows of the write (PTX ISA 8, "proxies", and the CUDA C++
// Programming Guide on asynchronous copies). Which of several threads wrote last is kept for each word of 4 bytes.
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
// All threads of the block have met.
void sim_bulk_barrier(sim_block *b);
// The engine itself wrote these bytes of the block.
void sim_bulk_written(sim_block *b, uint64_t address, int bytes);
// It is about to read them for the lane: HDS0625 unless it sees what was written. [reader]: "the copy engine", "wgmma".
void sim_bulk_check_fences(sim_warp *w, uint32_t site, uint32_t lane, uint64_t address, int bytes, const char *reader);
