// Kernels that start before their predecessors have ended: what they may access before griddepcontrol_wait() (race_dependent.c).
#pragma once

#include "sim/machine.h"

struct sim_touch;

// A launch takes its place in the stream; and it has run: reports HDS0658 if it started early and no thread waited.
void sim_dependent_begin(sim_launch *l);
void sim_dependent_end(sim_launch *l);
// The host has waited for all launches.
void sim_dependent_synchronise(sim *s);
// The active lanes execute griddepcontrol_wait(), and griddepcontrol_launch_dependents().
void sim_dependent_wait(sim_warp *w);
void sim_dependent_let_start(sim_warp *w);
// An access of global memory: reports HDS0657 if it may meet one of an earlier launch, and records it.
void sim_dependent_access(struct sim_touch *t);
