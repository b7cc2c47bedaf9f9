// The scheduler's interface to barriers of a block; the models are in models/barrier.c and models/mbarrier.c.
#pragma once

#include "sim/machine.h"

// Describes what a warp with state SIM_WAIT waits for: "syncthreads(), which 2 of 4 warps have reached".
void sim_barrier_describe(const sim_warp *w, str_buf *out);
// Called when a warp has ended; reports a finding if others wait for all threads of the block.
void sim_barrier_warp_ended(sim_warp *w);
// Says what it waits for, if that is the cluster; and a warp has ended, for which the others of the cluster wait no
// longer (models/cluster.c).
bool sim_cluster_describe(const sim_warp *w, str_buf *out);
void sim_cluster_warp_ended(sim_warp *w);
// Reports HDS0607 unless all of these lanes are active.
bool sim_barrier_whole_warp(sim_warp *w, const sim_use *use, uint32_t lanes);
// Called when no warp of the block can continue. True: part of a warp that waited at an unaligned barrier may continue,
// so that its other lanes can reach the barrier.
bool sim_barrier_relax(sim_block *b);
