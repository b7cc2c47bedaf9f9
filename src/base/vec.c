#include "base/vec.h"

void *vec_grow(arena *a, void *at, size_t len, size_t *cap, size_t need, size_t size)
{
    // Most arrays stay small, and many are made: the first room is a line of the cache, or what is asked for.
    enum { FIRST_BYTES = 128, MOST_FIRST = 8 };
    size_t first = size < FIRST_BYTES ? FIRST_BYTES / size : 1;
    size_t new_cap = *cap ? *cap * 2 : first < MOST_FIRST ? first : MOST_FIRST;
    if (new_cap < need || (!*cap && need > 1))
        new_cap = need;
    void *grown = arena_grow(a, at, len * size, new_cap * size);
    *cap = new_cap;
    return grown;
}
