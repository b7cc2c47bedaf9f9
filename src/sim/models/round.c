#include "sim/models/round.h"

#include <math.h>
#include <string.h>

// Whether to round a magnitude up that was cut: [rest] of 2^63 stands for the half, [sticky] for what lies below it.
static bool goes_up(sim_rounding r, bool negative, bool is_odd, uint64_t rest, bool sticky)
{
    const uint64_t half = (uint64_t)1 << 63;
    switch (r) {
    case SIM_RN:
        return rest > half || (rest == half && (sticky || is_odd));
    case SIM_RNA:
        return rest >= half;
    case SIM_RZ:
        return false;
    case SIM_RM:
        return negative && (rest || sticky);
    case SIM_RP:
        return !negative && (rest || sticky);
    }
    return false;
}

// [significand] >> drop with what falls out; 0 < drop.
static uint64_t cut(uint64_t significand, int drop, uint64_t *rest, bool *sticky)
{
    *sticky = false;
    if (drop < 64) {
        *rest = significand << (64 - drop);
        return significand >> drop;
    }
    *rest = drop == 64 ? significand : drop - 64 < 64 ? significand >> (drop - 64) : 0;
    *sticky = drop > 64 && (drop - 64 >= 64 ? significand != 0 : (significand << (128 - drop)) != 0);
    return 0;
}

uint64_t sim_round_number(dtype t, bool negative, uint64_t significand, int exponent, sim_rounding r)
{
    int mantissa = dt_mantissa_bits(t), field_bits = dt_exponent_bits(t), bias = (1 << (field_bits - 1)) - 1;
    uint64_t sign = (uint64_t)negative << (mantissa + field_bits);
    uint64_t infinity = (((uint64_t)1 << field_bits) - 1) << mantissa;
    if (!significand)
        return sign;
    int shift = __builtin_clzll(significand);
    significand <<= shift;
    int top = exponent - shift + 63; // of the highest bit
    int field = top + bias;
    int drop = 63 - mantissa + (field < 1 ? 1 - field : 0);
    uint64_t rest;
    bool sticky;
    uint64_t kept = cut(significand, drop, &rest, &sticky);
    // The hidden bit of a normal number counts one in the exponent's field, so a carry does the right thing everywhere.
    uint64_t magnitude = kept + (field > 1 ? (uint64_t)(field - 1) << mantissa : 0);
    if (field > (1 << field_bits))
        magnitude = infinity, rest = 1;
    else
        magnitude += goes_up(r, negative, kept & 1, rest, sticky);
    if (magnitude >= infinity) {
        bool stays = r == SIM_RZ || (r == SIM_RM && !negative) || (r == SIM_RP && negative);
        magnitude = stays ? infinity - 1 : infinity;
    }
    return sign | magnitude;
}

uint64_t sim_round_double(dtype t, double value, sim_rounding r)
{
    int width = dt_mantissa_bits(t) + dt_exponent_bits(t);
    if (isnan(value))
        return ((uint64_t)1 << width) - 1;
    bool negative = signbit(value);
    if (isinf(value))
        return (uint64_t)negative << width | ((((uint64_t)1 << dt_exponent_bits(t)) - 1) << dt_mantissa_bits(t));
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int field = (int)(bits >> 52 & 0x7ff);
    uint64_t significand = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)(field != 0) << 52;
    return sim_round_number(t, negative, significand, (field ? field : 1) - 1075, r);
}

static double whole(double value, sim_rounding r)
{
    double below = floor(value), rest = value - below;
    switch (r) {
    case SIM_RZ:
        return trunc(value);
    case SIM_RM:
        return below;
    case SIM_RP:
        return ceil(value);
    case SIM_RN:
    case SIM_RNA:
        break;
    }
    if (rest != 0.5)
        return rest > 0.5 ? below + 1 : below;
    if (r == SIM_RNA)
        return value < 0 ? below : below + 1;
    return fmod(below, 2) == 0 ? below : below + 1;
}

uint64_t sim_round_to_int(dtype t, double value, sim_rounding r, uint64_t nan)
{
    if (isnan(value))
        return nan;
    double n = whole(value, r);
    uint64_t mask = dt_bits(t) == 64 ? UINT64_MAX : ((uint64_t)1 << dt_bits(t)) - 1;
    if (n <= (double)dt_min(t))
        return (uint64_t)dt_min(t) & mask;
    if (n >= (double)dt_max_bits(t))
        return dt_max_bits(t);
    return (n < 0 ? (uint64_t)(int64_t)n : (uint64_t)n) & mask;
}
