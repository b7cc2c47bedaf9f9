#include "cache/cache_priv.h"

#include <string.h>

// The state is declared by the header only for who links the archive.
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

static cache_key key_of(XXH128_hash_t h)
{
    return (cache_key){{h.high64, h.low64}};
}

cache_key cache_hash_bytes(str bytes)
{
    return key_of(XXH3_128bits(bytes.at, bytes.len));
}

static void add(XXH3_state_t *state, str bytes)
{
    uint8_t len[8];
    for (int i = 0; i < 8; i++)
        len[i] = (uint8_t)((uint64_t)bytes.len >> (8 * i));
    XXH3_128bits_update(state, len, sizeof len);
    XXH3_128bits_update(state, bytes.at, bytes.len);
}

cache_key cache_hash_parts(const char *kind, const cache_part *inputs, size_t count)
{
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    add(&state, str_of(kind));
    for (size_t i = 0; i < count; i++) {
        add(&state, str_of(inputs[i].name));
        add(&state, inputs[i].bytes);
    }
    return key_of(XXH3_128bits_digest(&state));
}

const char *cache_hash(arena *a, str bytes)
{
    return cache_key_text(a, cache_hash_bytes(bytes));
}

const char *cache_hash_pieces(arena *a, const str *pieces, size_t count)
{
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    for (size_t i = 0; i < count; i++)
        XXH3_128bits_update(&state, pieces[i].at, pieces[i].len);
    return cache_key_text(a, key_of(XXH3_128bits_digest(&state)));
}
