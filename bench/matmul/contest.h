// A product that several ways compete on: operands, correctness, and times in the manner that suits its size.
#pragma once

#include "gpu.h"
#include "peer.h"

// A product to measure. Orders are those of BLAS for row-major matrices seen from their transposes, as papers on GEMM
// name them: first a, then b, "T" where k lies together in b (N where it does in a): "TN" has k together in both, "NN"
// in a alone.
typedef struct mm_shape {
    const char *group;
    mm_type a, b, c;
    const char *orders; // "TN", "NN", "TT", "NT"
    int64_t batch, m, n, k;
    bool tf32, has_epilogue; // epilogue: bias and GELU (by tanh)
} mm_shape;

typedef struct mm_contest {
    mm_gpu *gpu;
    mm_shape shape;
    mm_product product, bare; // bare: without the epilogue
    int64_t elements[3];      // of a, b and c
    void *reference;          // what the peer made
} mm_contest;

// Allocates and fills operands. false: hdsrt_last_error().
bool mm_contest_open(mm_contest *c, mm_gpu *g, const mm_shape *shape, uint32_t seed);
void mm_contest_close(mm_contest *c);

// Computes the reference by [peer]; NULL: there is none, and results are compared with the definition alone.
bool mm_contest_reference(mm_contest *c, const mm_way *peer);
// Whether a way's result is right: all of it against the peer's, 1024 elements against f64. Else *why, which the next
// call changes.
bool mm_contest_check(mm_contest *c, const mm_way *way, const char **why);

// Medians in microseconds of [count] ways with L2 flushed; they are 0 after a failure. Products below 10^10 operations
// are called one by one in turn, larger ones in blocks of a way each, in random order, so that each way runs at its own
// clock. A long race has 301 calls, or 9 blocks of 100 ms; [effort] 1 is all of that, 0.1 a tenth.
bool mm_contest_race(mm_contest *c, const mm_way *ways, const mm_product *const *products, int count, double effort,
                     double *medians);

double mm_operations(const mm_shape *s);
