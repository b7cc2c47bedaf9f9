// Division of floats rounded down, as Python defines it for doubles; f32 does the same in its own precision.
//
// The quotient comes from the exact remainder, since a / b may round up to the next integer (1.0 / 0.1 is 10.0, but 1.0
// holds only nine times the double that 0.1 stands for). Where b is 0 the quotient is that of IEEE 754 and the
// remainder is NaN; Python raises an exception there, which is up to the caller.
#pragma once

#include <math.h>

#define FLOORED(T, NAME, FMOD, FLOOR, COPYSIGN)                                                                        \
    static inline T floored_rest_##NAME(T a, T b)                                                                      \
    {                                                                                                                  \
        T rest = FMOD(a, b);                                                                                           \
        if (rest == 0)                                                                                                 \
            return COPYSIGN(0, b);                                                                                     \
        return (rest < 0) != (b < 0) ? rest + b : rest;                                                                \
    }                                                                                                                  \
    static inline T floored_quotient_##NAME(T a, T b)                                                                  \
    {                                                                                                                  \
        if (b == 0)                                                                                                    \
            return a / b;                                                                                              \
        T rest = FMOD(a, b), quotient = (a - rest) / b;                                                                \
        if (rest != 0 && (rest < 0) != (b < 0))                                                                        \
            quotient -= 1;                                                                                             \
        if (quotient == 0)                                                                                             \
            return COPYSIGN(0, a / b);                                                                                 \
        T whole = FLOOR(quotient);                                                                                     \
        return quotient - whole > (T)0.5 ? whole + 1 : whole;                                                          \
    }

FLOORED(double, f64, fmod, floor, copysign)
FLOORED(float, f32, fmodf, floorf, copysignf)
#undef FLOORED
