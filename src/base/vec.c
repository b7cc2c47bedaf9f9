#include "base/vec.h"

void *vec_grow(arena *a, void *at, size_t len, size_t *cap, size_t need, size_t size)
{
    size_t new_cap = *cap ? *cap * 2 : 8;
    if (new_cap < need)
        new_cap = need;
    void *grown = arena_grow(a, at, len * size, new_cap * size);
    *cap = new_cap;
    return grown;
}
