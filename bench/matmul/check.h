// The property test of our products on a GPU: random types, orders, extents, strides, alignments and epilogues, each
// against the definition in f64.
#pragma once

#include "gpu.h"

// Runs [count] products, fewer where [seconds] (0: no limit) are over. Prints what is wrong and a summary; the exit
// code.
int mm_check(mm_gpu *g, int count, uint32_t seed, double seconds);
