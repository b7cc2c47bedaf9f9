// Discrete logarithms by index calculus: a · 2^k is written as ±u / v modulo p with u and v near the root of p, in a
// few ways for one k after the other, until both are products of primes below 2^12, whose logarithms are in a table.
// One of about a hundred such pairs is.

#include "sim/field_log.h"

#include <stdbool.h>
#include <stdlib.h>

#include "sim/field_priv.h"

enum {
    STEP = 67,          // from one k to the next: far enough apart for the pairs to have nothing in common
    ATTEMPTS = 1 << 12, // a hundred times as many as are needed on average
    // Limits for the cofactors after the first primes, of one number and of both, for continuing: the fastest of those
    // tried.
    FEW_PRIMES = 48,
    COFACTOR_BITS = 23,
    COFACTORS_BITS = 43,
};

typedef struct pair {
    int64_t u, v;
} pair;

// Two pairs with u = ±a · v modulo p, all of them near 2^31: neighbours in Euclid's algorithm stopped half way. Their
// sums and differences are such pairs too.
static void halve(uint64_t a, pair *large, pair *small)
{
    *large = (pair){(int64_t)SIM_FIELD_P, 0};
    *small = (pair){(int64_t)a, 1};
    while (small->u >> 31) {
        int64_t whole = large->u / small->u;
        pair next = {large->u - whole * small->u, large->v - whole * small->v};
        *large = *small;
        *small = next;
    }
}

// Takes some of the table's primes out of an odd n, and adds their logarithms to [log].
static uint32_t divide(uint32_t n, int from, int to, uint64_t *log)
{
    for (int i = from; i < to && n != 1; i++) {
        const sim_prime_log *entry = &sim_prime_logs[i];
        // n · inverse is n / prime if that is an integer, and else too large.
        for (uint32_t ratio; (uint64_t)(ratio = n * entry->inverse) * entry->prime == n; n = ratio)
            *log = sim_q_add(*log, entry->log);
    }
    return n;
}

// The logarithm of u / v, if both are products of 2 and the table's primes.
static bool find_quotient(pair p, uint64_t *log)
{
    uint64_t u = (uint64_t)llabs(p.u), v = (uint64_t)llabs(p.v);
    if (!u || !v || (u | v) >> 32)
        return false;
    uint64_t over = (uint64_t)__builtin_ctzll(u), under = (uint64_t)__builtin_ctzll(v);
    uint32_t a = divide((uint32_t)(u >> over), 0, FEW_PRIMES, &over);
    if (a >> COFACTOR_BITS)
        return false;
    uint32_t b = divide((uint32_t)(v >> under), 0, FEW_PRIMES, &under);
    if (b >> COFACTOR_BITS || (uint64_t)a * b >> COFACTORS_BITS)
        return false;
    if (divide(a, FEW_PRIMES, SIM_PRIME_LOGS, &over) != 1 || divide(b, FEW_PRIMES, SIM_PRIME_LOGS, &under) != 1)
        return false;
    *log = sim_q_add(over, sim_q_neg(under));
    return true;
}

static bool find_in_plane(pair large, pair small, uint64_t *log)
{
    return find_quotient(small, log) || find_quotient(large, log) ||
           find_quotient((pair){large.u + small.u, large.v + small.v}, log) ||
           find_quotient((pair){large.u - small.u, large.v - small.v}, log);
}

// l with 2^l = a or -a.
static bool find_log(uint64_t a, uint64_t *log)
{
    const uint64_t factor = sim_field_power(2, STEP);
    for (uint64_t attempt = 0; attempt < ATTEMPTS; attempt++, a = sim_p_mul(a, factor)) {
        pair large, small;
        halve(a, &large, &small);
        if (find_in_plane(large, small, log)) {
            *log = sim_q_add(*log, sim_q_neg(attempt * STEP));
            return true;
        }
    }
    return false;
}

uint64_t sim_field_discrete_log(uint64_t a)
{
    uint64_t log;
    if (!find_log(a, &log))
        return SIM_FIELD_NONE;
    return sim_field_power(2, log) == a ? log : log | SIM_FIELD_SIGN;
}
