#include "base/hash.h"

#define XXH_INLINE_ALL // keys are short: the code for long ones is left out where it is not called
#include <xxhash.h>

uint32_t hash_bytes(const void *key, size_t len)
{
    return (uint32_t)XXH3_64bits(key, len);
}
