#include "base/vec.h"

#include <string.h>

void *vec_grow(arena *a, void *at, size_t len, size_t *cap, size_t need, size_t size)
{
    size_t new_cap = *cap ? *cap * 2 : 8;
    if (new_cap < need)
        new_cap = need;
    void *grown = arena_alloc(a, new_cap * size);
    if (len)
        memcpy(grown, at, len * size);
    *cap = new_cap;
    return grown;
}
