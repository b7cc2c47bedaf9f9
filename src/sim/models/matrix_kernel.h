// The arithmetic of mma, free of everything else: bits of fragments in, bits of a fragment out.
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum sim_mma_number {
    SIM_MMA_F16,
    SIM_MMA_BF16,
    SIM_MMA_TF32,
    SIM_MMA_E4M3,
    SIM_MMA_E5M2,
    SIM_MMA_F32,
    SIM_MMA_INT
} sim_mma_number;
typedef enum sim_mma_sum { SIM_MMA_TO_F32, SIM_MMA_TO_F16, SIM_MMA_TO_I32 } sim_mma_sum;

// A product of m × k by k × 8.
typedef struct sim_mma_shape {
    sim_mma_number a, b;
    sim_mma_sum sum;
    int m, k;
    int per_register; // elements of a and b that share a register of 32 bits: neighbours along k
    bool saturates;   // integers; else they wrap
} sim_mma_shape;

// d = a · b + c. Element i of a fragment is 32 values at [32 · i], one for each lane. [d] may be [c].
typedef void sim_mma_kernel(const sim_mma_shape *s, const uint32_t *a, const uint32_t *b, const uint32_t *c,
                            uint32_t *d);
sim_mma_kernel sim_mma_base, sim_mma_avx2; // matrix_base.c, matrix_avx2.c: the same text, other instructions
// The one for this machine.
sim_mma_kernel *sim_mma_best(void);

// The right operand of a wide product, ready to be multiplied: k × 8 doubles for each 8 columns.
typedef struct sim_mma_panel {
    int n;
    double at[256 * 32];
} sim_mma_panel;
// Makes it of [n] columns of 32 bytes each, neighbours along k.
typedef void sim_mma_load_panel(const sim_mma_shape *s, bool is_signed, int n, const uint8_t (*columns)[32],
                                sim_mma_panel *out);
// d = a · panel (+ d), 16 × n: fragments as above, those of d one for each 8 columns, 4 elements each.
typedef void sim_mma_wide_kernel(const sim_mma_shape *s, const uint32_t *a, const sim_mma_panel *b, bool accumulates,
                                 uint32_t *d);
sim_mma_load_panel sim_mma_load_base, sim_mma_load_avx2;
sim_mma_wide_kernel sim_mma_wide_base, sim_mma_wide_avx2;
typedef struct sim_mma_wide {
    sim_mma_load_panel *load;
    sim_mma_wide_kernel *multiply;
} sim_mma_wide;
sim_mma_wide sim_mma_wide_best(void);

// Where an element of a fragment stands: the figures "matrix fragments for mma" of the PTX ISA, as stdlib/hardware/mma.hds
// writes them as mappings.
static inline int sim_mma_a_row(const sim_mma_shape *s, int element, int lane)
{
    return element / s->per_register % (s->m / 8) * 8 + lane / 4;
}

static inline int sim_mma_a_k(const sim_mma_shape *s, int element, int lane)
{
    int per = s->per_register;
    return element / per / (s->m / 8) * 4 * per + lane % 4 * per + element % per;
}

static inline int sim_mma_b_k(const sim_mma_shape *s, int element, int lane)
{
    int per = s->per_register;
    return element / per * 4 * per + lane % 4 * per + element % per;
}

static inline int sim_mma_c_row(int element, int lane)
{
    return element / 2 * 8 + lane / 4;
}
static inline int sim_mma_c_column(int element, int lane)
{
    return lane % 4 * 2 + element % 2;
}
