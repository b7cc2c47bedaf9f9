// Conversions by value, lane by lane.
#pragma once

#include "sim/code.h"

// Integers are sign- or zero-extended to 64 bits; f16 and other narrow floats are in the low bits; tf32 is an f32.
uint64_t sim_cast_bits(dtype from, dtype to, uint64_t bits);
double sim_double_of_bits(dtype from, uint64_t bits);   // of complex numbers: not for them
uint64_t sim_bits_of_double(dtype to, double value);    // floats
// All 32 lanes of a cell (two for 64-bit types).
void sim_cast_lanes(dtype from, dtype to, const uint32_t *in, uint32_t *out);
