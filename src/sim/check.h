// Checks of the executor; see check.c.
#pragma once

#include "sim/finding.h"

void sim_check_bound(sim_warp *w, uint32_t site, uint32_t lane, const sim_bound *b, int64_t index, int64_t extent);
void sim_check_owner(sim_warp *w, uint32_t site, uint32_t lane, const sim_bound *b, int64_t owner, int64_t worker);
void sim_check_overflow(sim_warp *w, uint32_t site, uint32_t lane, char op, int32_t a, int32_t b);
void sim_check_division(sim_warp *w, uint32_t site, uint32_t lane);
void sim_check_slot(sim_warp *w, uint32_t site, uint32_t lane, uint32_t cell, int64_t slot, int64_t count);
void sim_check_nan(sim_warp *w, uint32_t site, uint32_t lane, double value);
// The condition is false in [lanes].
void sim_check_assert(sim_warp *w, uint32_t site, uint32_t lanes, const char *text, bool is_assume);
void sim_check_budget(sim_warp *w);
// An allocation of [bytes] does not fit; INT64_MAX: more than can be counted.
void sim_check_memory(sim_warp *w, uint32_t site, const char *name, int64_t bytes);
// The same for a private array of a thread that already uses [used] bytes.
void sim_check_local(sim_warp *w, uint32_t site, const ir_var *array, uint64_t used);
void sim_check_depth(sim_warp *w, uint32_t site);
// A cell is overwritten in [lanes] that a wgmma is still writing.
void sim_check_flight(sim_warp *w, uint32_t site, uint32_t lanes, uint32_t cell);
void sim_check_no_model(sim_warp *w, const sim_use *use);
