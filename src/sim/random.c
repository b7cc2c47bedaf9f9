#include "sim/random.h"

#include <math.h>
#include <stdbool.h>

static void philox_round(uint32_t c[4], uint32_t key0, uint32_t key1)
{
    uint64_t a = (uint64_t)0xd2511f53u * c[0], b = (uint64_t)0xcd9e8d57u * c[2];
    uint32_t c1 = c[1], c3 = c[3];
    c[0] = (uint32_t)(b >> 32) ^ c1 ^ key0;
    c[1] = (uint32_t)b;
    c[2] = (uint32_t)(a >> 32) ^ c3 ^ key1;
    c[3] = (uint32_t)a;
}

void sim_random_words(uint64_t seed, uint64_t i, uint32_t attempt, uint32_t words[4])
{
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    words[0] = (uint32_t)i;
    words[1] = (uint32_t)(i >> 32);
    words[2] = attempt;
    words[3] = 0;
    for (int round = 0; round < 10; round++) {
        philox_round(words, key0, key1);
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
}

double sim_random_uniform(uint64_t seed, uint64_t i)
{
    uint32_t w[4];
    sim_random_words(seed, i, 0, w);
    return (double)(((uint64_t)w[0] << 21) + (w[1] >> 11)) * 0x1p-53;
}

int64_t sim_random_integer(uint64_t seed, uint64_t i, int64_t low, int64_t high)
{
    if (high <= low)
        return low;
    uint32_t w[4];
    sim_random_words(seed, i, 0, w);
    uint64_t count = (uint64_t)high - (uint64_t)low, bits = (uint64_t)w[0] << 32 | w[1];
    return (int64_t)((uint64_t)low + (uint64_t)((unsigned __int128)count * bits >> 64));
}

// A point of the square; false outside of the circle.
static bool polar(uint32_t first, uint32_t second, double *out)
{
    double a = 2.0 * first / 0x1p32 - 1.0, b = 2.0 * second / 0x1p32 - 1.0, s = a * a + b * b;
    if (s <= 0 || s >= 1)
        return false;
    *out = a * sqrt(-2.0 * log(s) / s);
    return true;
}

// A point misses the circle with probability 1 - π/4.
double sim_random_normal(uint64_t seed, uint64_t i)
{
    double x = 0;
    for (uint32_t attempt = 0;; attempt++) {
        uint32_t w[4];
        sim_random_words(seed, i, attempt, w);
        if (polar(w[0], w[1], &x) || polar(w[2], w[3], &x))
            return x;
    }
}
