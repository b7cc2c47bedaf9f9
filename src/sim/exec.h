// Parts of the executor besides its loop: frames, slots, packing, and statements that leave the warp.
#pragma once

#include "sim/model.h"
#include "sim/profile.h"

// Bytes of private memory of a thread: CUDA C++ Programming Guide, "Features and Technical Specifications".
enum { SIM_LARGEST_LOCAL = 512 << 10 };
// The private memory that a warp starts with; sets w->local_bytes.
uint8_t *sim_local_start(sim_warp *w);

// The loop, compiled for each instruction set; sim_execute picks one.
sim_step sim_execute_base(sim_warp *w, int64_t quantum);
sim_step sim_execute_avx2(sim_warp *w, int64_t quantum);

// Opens the frame of a call; false: too deep. The pc is the callee's first operation.
bool sim_enter(sim_warp *w, const sim_op *op);
// Closes the frame; false: it was the first. The pc is the call.
bool sim_leave(sim_warp *w);

void sim_watch_statement(sim_warp *w, const sim_op *op);
void sim_watch_nan(sim_warp *w, const sim_op *op);
// contract.c. Before an operation of a warp that has products: true if it was a sum of a product and has been executed.
bool sim_contract(sim_warp *w, const sim_op *op);
// What a lane holds there goes along with its value.
void sim_product_move(sim_warp *w, uint32_t to, uint32_t from, uint32_t lanes);
void sim_complex_divide(float *out, const float *a, const float *b);
void sim_pack(sim_warp *w, const sim_op *op);
void sim_unpack(sim_warp *w, const sim_op *op);
uint64_t sim_constant_address(sim_warp *w, uint32_t index);
void sim_zero(sim_warp *w, const sim_access *access, uint32_t lanes, uint32_t cell);
void sim_load_slot(sim_warp *w, const sim_op *op);
void sim_store_slot(sim_warp *w, const sim_op *op);
void sim_print_statement(sim_warp *w, const sim_op *op);
// False: the run is over.
bool sim_local_base(sim_warp *w, const sim_op *op);
void sim_spread(sim_warp *w, const sim_op *op);
void sim_spread_begin(sim_warp *w, const sim_op *op);
bool sim_launch_statement(sim_warp *w, const sim_op *op);
bool sim_allocate_statement(sim_warp *w, const sim_op *op);
void sim_fill_statement(sim_warp *w, const sim_op *op);
// field_exec.c
void sim_field_execute(sim_warp *w, const sim_op *op);

static inline void sim_control_push(sim_warp *w, sim_control level)
{
    VEC_PUSH(w->block->arena, &w->control, level);
}

// Whether a wgmma is still writing the cell, and [from] brings something else than what is there.
static inline bool sim_in_flight(const sim_warp *w, uint32_t cell, uint32_t from, uint32_t lanes)
{
    bool is_same = w->poison[from] && w->why[from] == w->why[cell];
    if (!(w->why[cell] & SIM_WHY_FLIGHT))
        return false;
    SIM_EACH(lane, lanes)
        is_same = is_same && sim_u32(w, from)[lane] == sim_u32(w, cell)[lane];
    return !is_same;
}

static inline void sim_select_poison(sim_warp *w, const sim_op *op, uint32_t i, uint32_t chosen)
{
    uint32_t from_b = w->poison[op->b + i] & chosen, from_c = w->poison[op->c + i] & ~chosen, cond = w->poison[op->a];
    w->poison[op->dst + i] = from_b | from_c | cond;
    if (from_b | from_c | cond)
        w->why[op->dst + i] = cond ? w->why[op->a] : from_b ? w->why[op->b + i] : w->why[op->c + i];
}

// uses.c: the operation is about to be executed; only where the warp has [uses].
void sim_track_uses(sim_warp *w, const sim_op *op);
