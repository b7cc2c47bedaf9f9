// Inside field values: residues, degrees.
#pragma once

#include "sim/field.h"

__extension__ typedef unsigned __int128 sim_wide;

// x mod (2^bits - gap), for x below 2^124: the high part is multiplied by the gap.
static inline uint64_t sim_reduce(sim_wide x, int bits, uint64_t gap)
{
    const uint64_t modulus = ((uint64_t)1 << bits) - gap, mask = ((uint64_t)1 << bits) - 1;
    x = (x & mask) + (x >> bits) * gap;
    uint64_t y = (uint64_t)(x & mask) + (uint64_t)(x >> bits) * gap;
    return y >= modulus ? y - modulus : y;
}

static inline uint64_t sim_p_mul(uint64_t a, uint64_t b) { return sim_reduce((sim_wide)a * b, 62, SIM_FIELD_P_GAP); }
static inline uint64_t sim_q_mul(uint64_t a, uint64_t b) { return sim_reduce((sim_wide)a * b, 61, SIM_FIELD_Q_GAP); }
static inline uint64_t sim_p_add(uint64_t a, uint64_t b) { return a + b >= SIM_FIELD_P ? a + b - SIM_FIELD_P : a + b; }
static inline uint64_t sim_q_add(uint64_t a, uint64_t b) { return a + b >= SIM_FIELD_Q ? a + b - SIM_FIELD_Q : a + b; }
static inline uint64_t sim_p_neg(uint64_t a) { return a ? SIM_FIELD_P - a : 0; }
static inline uint64_t sim_q_neg(uint64_t a) { return a ? SIM_FIELD_Q - a : 0; }
uint64_t sim_q_power(uint64_t base, uint64_t exponent);
// Parts in F_q as they stand in a value: whether there is one, and the element without its sign.
static inline bool sim_has_q(sim_field a) { return !(a.q >> SIM_FIELD_BITS); }
static inline uint64_t sim_unsigned_q(uint64_t q) { return q & ~SIM_FIELD_SIGN; }
static inline uint64_t sim_q_inverse(uint64_t a) { return sim_q_power(a, SIM_FIELD_Q - 2); }

// field_constant.c. log2(e) and log2(10), as elements of both fields.
sim_field sim_field_log2e(void);
sim_field sim_field_log2_10(void);
// Whether a logarithm times q keeps its sign: an odd integer, also times the factors between logarithms to the bases 2, e
// and 10. Of all others it is dropped, as sqrt(-x) = sqrt(x) drops it.
bool sim_keeps_sign(uint64_t q);
// field_function.c. x^((p+1)/4) and x^((q+1)/4): multiplicative; of a square the root that is a square itself.
sim_field sim_field_root(sim_field a);

// field_degree.c. Whether one of the operands is a degree, and then the degree of the result.
static inline bool sim_is_degree(sim_field a) { return a.q == SIM_FIELD_DEGREE; }
sim_field sim_degree_sum(sim_field a, sim_field b);
sim_field sim_degree_product(sim_field a, sim_field b);
sim_field sim_degree_inverse(sim_field a);
sim_field sim_degree_power(sim_field a);     // exp
sim_field sim_degree_function(sim_field a);  // a function without a rule
