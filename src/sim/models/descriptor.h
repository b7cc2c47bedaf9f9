// Matrix descriptors of wgmma: where the elements of an operand stand in shared memory (PTX ISA 9.7.15.5.1).
//
// An operand of [rows] rows (of a) or columns (of b) has 32 bytes along k for each, in vectors of 16 bytes:
//
//     K-major     two a row, neighbours along k, by 8 rows: vector 16 · (row / 8) + 8 · half + row % 8
//     MN-major    rows / 8 for each of the 16 k, neighbours across: vector k · rows / 8 + row / 8
#pragma once

#include "sim/machine.h"

typedef struct sim_matrix {
    uint32_t start, leading,
        stride;  // bytes: the first row's address; from column to column and from row to row of atoms
    int swizzle; // 0, 32, 64, 128
    int phase;   // of the pattern, where it does not begin at a multiple of its size
    int rows;
    bool is_mn_major;
} sim_matrix;

// Reads the 64 bits; NULL if all is well, else what is wrong with them, in words.
const char *sim_matrix_decode(const sim_warp *w, uint64_t bits, int rows, bool is_mn_major, sim_matrix *out);
static inline int sim_matrix_vectors(const sim_matrix *m)
{
    return 2 * m->rows;
}
// The offset in shared memory of a vector.
uint32_t sim_matrix_vector(const sim_matrix *m, int vector);
