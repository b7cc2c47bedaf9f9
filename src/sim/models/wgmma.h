// What the files of wgmma share: an instance (wgmma.c), its operands in shared memory (wgmma_operands.c), and what is
// under way in registers (wgmma_flight.c).
#pragma once

#include "sim/models/descriptor.h"
#include "sim/models/matrix_kernel.h"
#include "sim/models/models_priv.h"
#include "sim/models/warpgroup.h"

enum {
    WGMMA_ROWS = 64,
    WGMMA_WARP_ROWS = 16,
    WGMMA_MOST_COLUMNS = 256,
    WGMMA_MOST_VECTORS = 2 * (WGMMA_ROWS + WGMMA_MOST_COLUMNS),
    WGMMA_MOST_A = 16
};

// ---- an instance ----------------------------------------------------------------------------------------------------
//
// Of bound[], by the names below: operands; SHAPE: columns << 8 | k; MAJOR: bit 0: b, bit 1: a lies across k; NUMBERS:
// types of a, b << 8.
enum { WGMMA_ACC, WGMMA_A, WGMMA_B, WGMMA_ACCUMULATES, WGMMA_SHAPE, WGMMA_MAJOR, WGMMA_NUMBERS, WGMMA_A_IN_REGISTERS };

static inline const sim_operand *sim_wgmma_operand(const sim_use *use, int which)
{
    return &use->operands[use->bound[which]];
}
static inline int sim_wgmma_columns(const sim_use *use)
{
    return (int)use->bound[WGMMA_SHAPE] >> 8;
}

// ---- registers and flights (wgmma_flight.c) -------------------------------------------------------------------------

// The part of a warp: its accumulators and, if they are in registers, its rows of a. Cells of the stack of frames.
typedef struct sim_flight_part {
    uint32_t acc, a;
    uint32_t poison[WGMMA_MOST_COLUMNS / 2]; // of the results
    uint32_t a_cells[WGMMA_MOST_A][SIM_LANES];
} sim_flight_part;

struct sim_flight {
    const sim_use *use;
    uint32_t why;                    // of [poison]
    uint32_t landed;                 // warps that have waited for it
    uint32_t group[SIM_GROUP_WARPS]; // groups that the warp had committed before
    int vector_count;                 // of shared memory; their numbers
    uint32_t vectors[WGMMA_MOST_VECTORS];
    sim_sync done; // what the first thread that waited knows
    sim_flight_part parts[SIM_GROUP_WARPS];
};

sim_flight *sim_flight_new(sim_warpgroup *g, const sim_use *use);
// Registers of a warp that a product takes: accumulators in flight belong to one of the same shape, whose marks give
// way to the true poison; others have been fenced. The same of a.
void sim_flight_claim(sim_warpgroup *g, sim_warp *w, const sim_use *use);
// Its results stand in the accumulators: they are marked as on their way.
void sim_flight_mark(sim_warp *w, sim_flight *f);
// Whether a product that the warp has not waited for writes any of these cells of the frame.
bool sim_flight_writes(const sim_warpgroup *g, const sim_warp *w, uint32_t cell, int count);
sim_model_run sim_wgmma_fence, sim_wgmma_commit, sim_wgmma_wait;
sim_model_bind sim_wgmma_bind_wait;

// The first cell of a tile in the frame: that of the tile itself, also where the operand is a copy.
uint32_t sim_wgmma_cell(const sim_warp *w, const sim_operand *o);
// Brings a copy of a tile up to date.
void sim_wgmma_refresh(sim_warp *w, const sim_operand *o);

// ---- operands (wgmma_operands.c) ------------------------------------------------------------------------------------

// Field values of operands, as [rows] and [columns], by byte; and of a warp's product.
typedef struct sim_wgmma_fields {
    sim_field rows[WGMMA_ROWS * 32], columns[WGMMA_MOST_COLUMNS * 32];
    sim_field a[WGMMA_WARP_ROWS][32], b[WGMMA_MOST_COLUMNS][32], sum[WGMMA_MOST_COLUMNS / 2][SIM_LANES];
} sim_wgmma_fields;

// What a product works on. Rows of a are those of all four warps, unless they come from registers.
typedef struct sim_wgmma_work {
    sim_warpgroup *group;
    const sim_use *use;
    sim_mma_shape shape;
    bool accumulates;
    sim_matrix a, b;
    uint8_t rows[WGMMA_ROWS][32], columns[WGMMA_MOST_COLUMNS][32]; // neighbours along k
    uint64_t bad_rows;                                             // with an uninitialized byte
    bool bad_columns[WGMMA_MOST_COLUMNS], has_bad_columns;
    sim_wgmma_fields *fields; // NULL: none are carried
    sim_mma_panel panel;
} sim_wgmma_work;

static inline sim_warp *sim_wgmma_warp(const sim_wgmma_work *x, int i)
{
    return &x->group->block->warps[x->group->first + i];
}
// Reads the operands that are not in registers, with all checks, and lists the vectors in [f]. False after a finding
// about them.
bool sim_wgmma_read(sim_wgmma_work *x, sim_flight *f);
