// What the models of hidet.lang.testing share: tensors in simulated memory, read and written by the host.
#pragma once

#include "sim/models/models_priv.h"

enum { TESTING_DIMS = 8 };

// Operands "x", "e0" … "e7", "s0" … "s7" of the declarations in stdlib/language/testing.hds.
typedef struct sim_testing_tensor {
    uint64_t address;
    uint8_t *bytes;
    dtype type;
    int64_t strides[TESTING_DIMS]; // in elements
    bool is_written;               // all of it, as far as is known at once
} sim_testing_tensor;

typedef struct sim_testing_shape {
    int64_t extents[TESTING_DIMS];
    int64_t count;
} sim_testing_shape;

// False after a finding: an operand is undefined, or this is not the host.
bool sim_testing_ready(sim_warp *w, const sim_use *use);
int64_t sim_testing_int(const sim_warp *w, const sim_use *use, const char *name);
double sim_testing_double(const sim_warp *w, const sim_use *use, const char *name);
sim_testing_shape sim_testing_shape_of(const sim_warp *w, const sim_use *use);
// The tensor behind operand [name] with elements of compile-time argument [type] and strides in operands [strides]0 …,
// or row by row where that is NULL. False after a finding: it is not all in one allocation.
bool sim_testing_tensor_of(sim_warp *w, const sim_use *use, const char *name, const char *type, const char *strides,
                           const sim_testing_shape *shape, sim_testing_tensor *out);
// The offset in elements of element number [i], counted row by row; its indices.
int64_t sim_testing_offset(const sim_testing_tensor *t, const sim_testing_shape *shape, int64_t i);
void sim_testing_index(const sim_testing_shape *shape, int64_t i, int64_t index[TESTING_DIMS]);
uint64_t sim_testing_get(const sim_testing_tensor *t, int64_t offset);
bool sim_testing_is_written(sim_warp *w, const sim_testing_tensor *t, int64_t offset);

// testing_compare.c
sim_step sim_testing_compare(sim_warp *w, const sim_use *use);
sim_step sim_testing_max_error(sim_warp *w, const sim_use *use);
