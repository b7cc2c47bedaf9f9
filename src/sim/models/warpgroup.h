// Warpgroups: four warps, from a multiple of four on, that execute an instruction together; and the wgmma that they
// have under way.
#pragma once

#include "sim/machine.h"

enum { SIM_GROUP_WARPS = 4 };

typedef struct sim_flight sim_flight;

// Registers as they were at the last wgmma.fence of a warp, as far as wgmma uses them.
typedef struct sim_fenced {
    const sim_code *code; // NULL: there was none
    uint32_t base;        // of the frame
    VEC(uint32_t) first;  // runs of cells of the frame: where each begins, and how many cells it has
    VEC(uint32_t) count;
    uint8_t *cells; // one run after the other
    uint32_t *poison;
} sim_fenced;

typedef struct sim_warpgroup {
    sim_block *block;
    int first;              // number of its first warp
    const sim_use *meeting; // the instruction that some have reached and wait at; NULL: none
    uint32_t here;          // which of the four, a bit each
    uint32_t committed[SIM_GROUP_WARPS];
    VEC(sim_flight *) flying; // oldest first
    VEC(sim_flight *) spare;
    sim_fenced fenced[SIM_GROUP_WARPS];
    int registers, wanted; // a thread's share; that they wait for, 0: they do not
    void *work;            // of wgmma.c
} sim_warpgroup;

// The warpgroup of a warp.
sim_warpgroup *sim_group_of(sim_warp *w);
static inline int sim_group_index(const sim_warp *w)
{
    return w->index % SIM_GROUP_WARPS;
}

// Whether the whole warp is here and there are four warps; a finding (HDS0615) else.
bool sim_group_is_whole(sim_warp *w, const sim_use *use);
// The warp comes to an instruction that the four execute as one. SIM_NEXT: it is the last of them, and does it for all;
// then sim_group_go lets the others go on. SIM_WAIT: it waits for them. SIM_HALT: after a finding.
sim_step sim_group_meet(sim_warp *w, const sim_use *use);
void sim_group_go(sim_warpgroup *g, const sim_warp *self);

// barrier.c asks: what a warp waits for; and a warp has ended, which is a finding if its group waits for it.
bool sim_group_describe(const sim_warp *w, str_buf *out);
void sim_group_warp_ended(sim_warp *w);
