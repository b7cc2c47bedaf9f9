// What other models need of mbarriers.
#pragma once

#include "sim/machine.h"

// Says what a warp waits for, if it waits for an mbarrier.
bool sim_mbarrier_describe(const sim_warp *w, str_buf *out);

// A copy of the lane is on its way that brings [bytes] to the mbarrier that its operand bar (use->bound[0]) names, in
// block [home] of the cluster: it arrives, by [land], when the phase under way completes. That happens when all arrivals
// and bytes are there and somebody waits for the phase. Nothing but a finding (HDS0624) where there is no such mbarrier.
typedef void sim_landing(sim_warp *w, void *copy);
void sim_mbarrier_promise(sim_warp *w, const sim_use *use, uint32_t lane, sim_block *home, int64_t bytes,
                          sim_landing *land, void *copy);
