// Elements of F_p as simple numbers for messages.

#include <inttypes.h>
#include <math.h>

#include "prove/prove_priv.h"

enum { LARGEST_EXPONENT = 30 };

typedef struct ratio {
    int64_t over;
    uint64_t under;
} ratio;

// x as over/under with both at most [limit]: half of Euclid's algorithm (Wang 1981). Unique while 2·limit² < p.
static bool reconstruct(uint64_t x, uint64_t limit, ratio *out)
{
    uint64_t r0 = SIM_FIELD_P, r1 = x;
    int64_t t0 = 0, t1 = 1;
    while (r1 > limit) {
        int64_t quotient = (int64_t)(r0 / r1), t2;
        uint64_t r2 = r0 % r1;
        if (__builtin_mul_overflow(quotient, t1, &t2) || __builtin_sub_overflow(t0, t2, &t2))
            return false;
        r0 = r1, r1 = r2;
        t0 = t1, t1 = t2;
        if ((uint64_t)(t1 < 0 ? -t1 : t1) > limit)
            return false;
    }
    *out = (ratio){t1 < 0 ? -(int64_t)r1 : (int64_t)r1, (uint64_t)(t1 < 0 ? -t1 : t1)};
    return out->under != 0;
}

static void print(ratio r, int exponent, str_buf *out)
{
    double value = ldexp((double)r.over / (double)r.under, exponent);
    if (r.under == 1 && exponent == 0)
        str_addf(out, "%" PRId64, r.over);
    else if (exponent == 0 && r.under < 10000)
        str_addf(out, "%" PRId64 "/%" PRIu64, r.over, r.under);
    else
        str_addf(out, "%.9g", value);
}

bool prove_number(uint64_t x, str_buf *out, double *value)
{
    static const uint64_t small = 1 << 12, large = 1 << 24;
    ratio r;
    if (reconstruct(x, small, &r)) {
        print(r, 0, out);
        *value = (double)r.over / (double)r.under;
        return true;
    }
    // Quotients of two f32: each has 24 bits and a power of two.
    for (int e = 0; e <= LARGEST_EXPONENT; e = e > 0 ? -e : 1 - e) {
        uint64_t shifted = sim_field_times(x, sim_field_power(e < 0 ? 2 : (SIM_FIELD_P + 1) / 2, (uint64_t)(e < 0 ? -e : e)));
        bool found = reconstruct(shifted, e == 0 ? large : small, &r);
        double approximate = found ? ldexp((double)r.over / (double)r.under, e) : 0;
        if (!found && reconstruct(shifted, large, &r)) {
            approximate = ldexp((double)r.over / (double)r.under, e);
            found = fabs(approximate - 1) < 0x1p-8;
        }
        if (found) {
            print(r, e, out);
            *value = approximate;
            return true;
        }
    }
    return false;
}
