// Counter-based random numbers: number [i] of a stream depends only on the stream's seed and on i, so it is the same on
// every machine, whatever else is drawn. stdlib/language/testing.hds describes the same numbers for authors of tests;
// `hdsc run` makes its random inputs of them.
//
// The bits are Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
#pragma once

#include <stdint.h>

// The four words of Philox with the key (seed mod 2^32, seed div 2^32) and the counter (i mod 2^32, i div 2^32, attempt, 0).
void sim_random_words(uint64_t seed, uint64_t i, uint32_t attempt, uint32_t words[4]);
// Equally distributed in [0, 1), a multiple of 2^-53.
double sim_random_uniform(uint64_t seed, uint64_t i);
// Equally distributed, low <= x < high; [low] itself where high <= low.
int64_t sim_random_integer(uint64_t seed, uint64_t i, int64_t low, int64_t high);
// Normally distributed, mean 0, deviation 1 (Marsaglia's polar method).
double sim_random_normal(uint64_t seed, uint64_t i);
