// Hashes of bytes, for tables in memory. They differ between machines: nothing that is written depends on them.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ (h >> 32);
}

// Eight bytes at a time. Keys come from the user's own files, so there is no attacker who would make them collide.
static inline uint32_t hash_bytes(const void *key, size_t len)
{
    uint64_t h = len, word;
    const unsigned char *at = key;
    size_t left = len;
    for (; left >= 8; left -= 8, at += 8) {
        memcpy(&word, at, 8);
        h = hash_mix(h, word);
    }
    if (left >= 4) {
        uint32_t head, tail;
        memcpy(&head, at, 4);
        memcpy(&tail, at + left - 4, 4);
        h = hash_mix(h, (uint64_t)head << 32 | tail);
    } else if (left) {
        word = (uint64_t)at[0] << 16 | (uint64_t)at[left / 2] << 8 | at[left - 1];
        h = hash_mix(h, word);
    }
    return (uint32_t)h;
}
