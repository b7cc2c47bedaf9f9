// Field values: each float is accompanied by the value of its formula in two prime fields, so that two kernels can be
// compared as formulas, independent of rounding (hdsc prove).
//
// A value has a part in F_p, where sums, products and quotients are exact, and a part in F_q with q | p - 1, in which it
// can be the exponent of g, an element of order q: exp(x) has the part g^(x in F_q) in F_p, so that exp(a + b) is
// exp(a)·exp(b) (the idea is that of Mirage, OSDI 2025). Values that cannot be computed in F_q have none; functions
// without a rule are a hash of their name and argument.
//
// The primes: p is the largest below 2^62 with q = (p - 1) / 2 prime too, p = 15 mod 16, and 2, 3, 5, 7, 11, 13 squares
// modulo both. So 2 has order q, and is g: exp2(n) is 2^n; every square has one square root that is a square, x^((p+1)/4),
// and of numbers made of those small primes it is the one that they have as integers. Both are just below a power of
// two, which makes reduction cheap. Found by search in that order; tests/unit/sim/field_numbers.c checks all of it.
//
// Logarithms go the other way: the part of log2(x) in F_q is the exponent that makes x, so that exp2(log2(x)) is x.
// Powers of 2 are squares, which half of all x are not: for those it is the exponent of -x, marked with SIM_FIELD_SIGN.
// Sums add the marks modulo 2, and an exponential with one is negative.
//
// The laws that hold are documented in docs/prove.md and tested in tests/unit/sim/field_*.c. All functions here are
// pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// A cell holds up to four values of a lane: f32 (and f16 in a cell of its own) in part 0, two f16 packed in 32 bits in
// parts 0 and 2, four fp8 in 0 … 3: the part is the byte the value begins at. 64-bit values use part 0 of their first cell.
enum { SIM_FIELD_PARTS = 4 };

typedef struct sim_field {
    uint64_t p;  // in [0, SIM_FIELD_P), or one of the marks below
    uint64_t q;  // in [0, SIM_FIELD_Q), perhaps with SIM_FIELD_SIGN, or SIM_FIELD_NONE
} sim_field;

#define SIM_FIELD_NONE UINT64_MAX          // no value was followed here: it is made from the float when it is needed
#define SIM_FIELD_PLUS_INF (UINT64_MAX - 1)
#define SIM_FIELD_MINUS_INF (UINT64_MAX - 2)
#define SIM_FIELD_NAN (UINT64_MAX - 3)

enum { SIM_FIELD_BITS = 62, SIM_FIELD_P_GAP = 392705, SIM_FIELD_Q_GAP = 196353 };
#define SIM_FIELD_P (((uint64_t)1 << 62) - SIM_FIELD_P_GAP)
#define SIM_FIELD_Q (((uint64_t)1 << 61) - SIM_FIELD_Q_GAP)
#define SIM_FIELD_SIGN ((uint64_t)1 << 61)  // in q: the exponential of this value is the negative of 2^q

// No value: the state of all cells and bytes without a field value. All its bytes are 0xff, so that memset can fill
// arrays with it.
#define SIM_FIELD_NOTHING ((sim_field){SIM_FIELD_NONE, SIM_FIELD_NONE})
static inline bool sim_field_is_followed(sim_field f) { return f.p != SIM_FIELD_NONE; }

// The value of a float: m·2^e exactly, but floats that are the rounding of a simple fraction (1/3), of the root of one
// (1/sqrt(96)) or of a constant of mathematics (log2(e), pi) stand for that. Infinities and NaN are marks.
sim_field sim_field_of_float(double x);
// The field value, or if there is none, the value of the float.
static inline sim_field sim_field_or(sim_field f, double x) { return f.p == SIM_FIELD_NONE ? sim_field_of_float(x) : f; }

// Arithmetic of field values. Operands that are marks (infinities) give marks if that is independent of their signs,
// else NaN: see sim_field_settle.
sim_field sim_field_add(sim_field a, sim_field b);
sim_field sim_field_sub(sim_field a, sim_field b);
sim_field sim_field_mul(sim_field a, sim_field b);
sim_field sim_field_div(sim_field a, sim_field b);
sim_field sim_field_neg(sim_field a);
sim_field sim_field_fma(sim_field a, sim_field b, sim_field c);  // a·b + c
// The smaller or larger of two values, by their floats; the number if the other is NaN. Equal floats: the same of both,
// whatever the order.
sim_field sim_field_min(sim_field a, double float_a, sim_field b, double float_b);
sim_field sim_field_max(sim_field a, double float_a, sim_field b, double float_b);

// The [result] of an operation whose float result is [x]; if infinities were involved, the value of the float.
sim_field sim_field_settle(sim_field result, double x);

// A function by its name: "exp", "exp2", "log", "sqrt", "rsqrt", "rcp", "tanh", "abs", "floor", … (field_function.c lists
// them). Suffixes and prefixes of precision are the caller's to strip. [x]: the float argument; [y]: the float that came
// out. A name without a rule is an uninterpreted function: equal arguments give equal values, nothing else is known.
sim_field sim_field_apply(const char *name, sim_field a, double x, double y);
// The same for one lane after the other: lanes with the argument of the one before, as of a sum that all have, share
// its result. [last]: of zeros at first; of one function.
typedef struct sim_field_last {
    bool is_set;
    double x;
    sim_field a, result;
} sim_field_last;
sim_field sim_field_apply_next(sim_field_last *last, const char *name, sim_field a, double x, double y);
// The same for two arguments: "pow", "fmod", "atan2", "hypot", "copysign", …
sim_field sim_field_apply2(const char *name, sim_field a, double x, sim_field b, double y, double result);

// ---- for the prover ------------------------------------------------------------------------------------------------

// Element [index] of tensor [tensor] of the inputs of a seed: random in both fields.
sim_field sim_field_random(uint64_t seed, uint64_t tensor, uint64_t index);
// Constant of mathematics or of the prover: a random element of both fields that is the same in every run.
sim_field sim_field_symbol(uint64_t number);
bool sim_field_is_mark(sim_field a);  // an infinity or NaN
// Integers of F_p: products, powers, inverses (0 for 0).
uint64_t sim_field_times(uint64_t a, uint64_t b);
uint64_t sim_field_power(uint64_t base, uint64_t exponent);
uint64_t sim_field_inverse(uint64_t a);

// A companion may also be a degree: how large the degrees of numerator and denominator of the formula can be, and what
// else it is made of. Inputs are marked with sim_field_degree_input(); sums, products and functions then carry it on.
typedef struct sim_degree {
    uint32_t over, under;  // at most SIM_DEGREE_MAX, which means: more than that
    bool has_powers;       // exp and its like
    bool has_functions;    // uninterpreted ones
} sim_degree;
enum { SIM_DEGREE_MAX = (1 << 28) - 1 };
#define SIM_FIELD_DEGREE (UINT64_MAX - 4)  // the q of such a companion
sim_field sim_field_degree_input(void);
sim_degree sim_field_degree_of(sim_field a);  // of a constant: 0 / 0

// ---- the executor (field_exec.c) -------------------------------------------------------------------------------------

struct sim_warp;
struct sim_op;
// Updates the field values of the cells that an operation wrote: moves, arithmetic, conversions, packing. Memory,
// models, calls and slots update theirs. dst must not overlap a, b, c.
void sim_field_execute(struct sim_warp *w, const struct sim_op *op);
// Parameters at the start of a kernel or host function: those that its launch has for them, or none.
void sim_field_start(struct sim_warp *w, const uint32_t *param_cells, int count);
// Of the arguments of a launch, which are in the cells from [cell] on, two each. In the block's arena.
sim_field *sim_field_arguments(struct sim_warp *w, uint32_t cell, int count, uint32_t lane);
// Field values of [count] cells, for the lanes of [mask]: those of the other cells, or none.
void sim_field_copy(struct sim_warp *w, uint32_t dst, uint32_t from, uint32_t count, uint32_t mask);
void sim_field_drop(struct sim_warp *w, uint32_t cell, uint32_t count, uint32_t mask);
