// Integer arithmetic that says when it overflows, and division with floor rounding (Python's).
#pragma once

#include <stdbool.h>
#include <stdint.h>

static inline bool add_checked(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool sub_checked(int64_t a, int64_t b, int64_t *out) { return !__builtin_sub_overflow(a, b, out); }
static inline bool mul_checked(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }

// Requires b != 0 and not (a == INT64_MIN and b == -1).
static inline int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

// The remainder that goes with floor_div: it has the sign of b.
static inline int64_t floor_mod(int64_t a, int64_t b)
{
    if (b == -1)
        return 0;
    int64_t r = a % b;
    return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

static inline int64_t gcd_of(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

static inline bool is_power_of_two(int64_t v) { return v > 0 && (v & (v - 1)) == 0; }
