// cuBLAS as a peer of the benchmark: opened when the program runs, so that the build needs nothing of it.
#pragma once

#include "gpu.h"

typedef struct mm_peer mm_peer;

// NULL: no library, or it does not start; *why says so. [path]: of libcublas, or NULL: looked for in the usual folders.
mm_peer *mm_peer_open(mm_gpu *g, const char *path, const char **why);
void mm_peer_close(mm_peer *peer);
// "13.1.0", with the path that the library was loaded from.
const char *mm_peer_version(const mm_peer *peer);

enum { MM_PEER_WAYS = 9 };

// The ways in which cuBLAS computes the product: cublasGemmEx where there is no epilogue, and the first [heuristics]
// choices of cublasLt (1 to 8). Their number. They hold until the next call.
int mm_peer_ways(mm_peer *peer, const mm_product *p, int heuristics, mm_way ways[MM_PEER_WAYS]);
