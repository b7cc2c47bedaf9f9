// Sums and roundings that are exact or rounded once.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sim/half.h"

// a + b, rounded to odd: towards zero, with the last bit set if anything was lost, so that a second rounding to a
// narrower type is as good as one of the exact sum (Boldo and Melquiond, "Emulation of FMA and correctly rounded
// sums").
static inline double sim_add_odd(double a, double b)
{
    double sum = a + b;
    double part = sum - a, error = (a - (sum - part)) + (b - part);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    bool is_inexact = error != 0 && fabs(sum) < (double)INFINITY;
    if (is_inexact && !(bits & 1))
        bits += (error > 0) == (sum > 0) ? 1 : (uint64_t)-1;
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

// A double as f32, rounded to odd.
static inline float sim_narrow_odd(double d)
{
    float f = (float)d;
    if ((double)f == d || isnan(d))
        return f;
    uint32_t bits = sim_bits_of(f);
    if (fabs((double)f) > fabs(d))
        bits--; // infinity becomes the largest number
    return sim_float_of(bits | 1u);
}

// The NaN that f32 instructions of a GPU give.
static inline float sim_quiet(float f)
{
    return f == f ? f : sim_float_of(0x7fffffffu);
}
