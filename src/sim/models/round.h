// Rounding to a float format in any direction, in integer arithmetic.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "target/dtype.h"

// As PTX spells them: nearest even, towards zero, down, up; nearest with ties away from zero.
typedef enum sim_rounding { SIM_RN, SIM_RZ, SIM_RM, SIM_RP, SIM_RNA } sim_rounding;

// Bits of (-1)^negative · significand · 2^exponent, as [t] (f16, bf16, f32, f64). Too large numbers become infinity or
// the largest number, as IEEE 754 says for the direction.
uint64_t sim_round_number(dtype t, bool negative, uint64_t significand, int exponent, sim_rounding r);
// Bits of a double as [t]; NaN becomes the one that cvt gives: all bits but the sign.
uint64_t sim_round_double(dtype t, double value, sim_rounding r);
// Bits of an integer type nearest to [value] in that direction, saturated at its ends. NaN: [nan].
uint64_t sim_round_to_int(dtype t, double value, sim_rounding r, uint64_t nan);
