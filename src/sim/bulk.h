// What the copy engine has to do with shared memory: tiles that it may still read, and writes that it may not see yet.
//
// The engine reads shared memory through the async proxy. What threads wrote there (through the generic proxy) it sees
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
// The lanes execute fence.proxy.async.
void sim_bulk_fence(sim_warp *w, uint32_t lanes);
// All threads of the block have met.
void sim_bulk_barrier(sim_block *b);
// The engine itself wrote these bytes.
void sim_bulk_written(sim_block *b, uint64_t address, int bytes);
// It is about to read them for the lane: HDS0625 unless it sees what was written.
void sim_bulk_check_fences(sim_warp *w, uint32_t site, uint32_t lane, uint64_t address, int bytes);
