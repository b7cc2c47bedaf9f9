// The two proxies of shared memory: threads use the generic proxy, bulk and tensor copies and wgmma the async proxy.
// Only fence.proxy.async orders accesses of one after those of the other (PTX ISA 8, "proxies").
//
// For each word of 4 bytes: the thread that wrote it last, and which lanes of each warp have read it, through the generic
// proxy. What was written must be fenced before the async proxy reads or overwrites it, by the thread that wrote, or by
// the one that starts the copy after it knew of the write. What was read must be done before the async proxy overwrites
// it: the reader has fenced, or it has used the values (uses.c), and then released the word.
#pragma once

#include "sim/memory_priv.h"

struct sim_proxy *sim_proxy_new(sim_block *b);
// For blocks of kernels that use the async proxy, if the order of accesses is tracked; else NULL.
struct sim_proxy *sim_bulk_proxy(const sim_block *b);
// Lanes access shared memory of a block that has one, through the generic proxy.
void sim_proxy_note(sim_touch *t);
void sim_bulk_check_writes(sim_touch *t);

// ---- uses of values (uses.c) -----------------------------------------------------------------------------------------
//
// A load is complete when one of its values, or a result computed from them, is stored, exchanged with other threads,
// or decides a branch: everything the thread does later is ordered after the load. Arithmetic alone does not count,
// since compilers move it across barriers.

struct sim_uses *sim_uses_new(sim_block *b);
// The number of the load that the warp is executing.
uint32_t sim_uses_load(sim_warp *w);
// The serial of the block at which a load's values were used; 0: not yet used.
uint32_t sim_uses_done(const sim_warp *w, uint32_t load);
