// Any bytes at all as an entry of the cache: what is accepted reads back as it is written. The checksum would keep nearly
// everything out, so the bytes are tried again with a good one, and with their own length in the head.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cache/cache_priv.h"

enum { HEAD = 48, SIZE_AT = 24, CHECKSUM = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_bytes(arena *a, str bytes)
{
    cache_record record;
    if (cache_record_parse(a, bytes, &record))
        return;
    if (!str_equal(cache_record_make(a, &record), bytes))
        __builtin_trap();
    if (!cache_record_is(&record, record.kind, record.inputs.at, record.inputs.len))
        __builtin_trap();
}

static void repair(char *bytes, size_t size)
{
    for (int i = 0; i < 8; i++)
        bytes[SIZE_AT + i] = (char)(uint8_t)((uint64_t)size >> (8 * i));
    cache_key sum = cache_hash_bytes((str){bytes, size - CHECKSUM});
    for (int i = 0; i < CHECKSUM; i++)
        bytes[size - CHECKSUM + (size_t)i] = (char)(uint8_t)(sum.at[i / 8] >> (56 - 8 * (i % 8)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena a;
    arena_init(&a, NULL);
    // An exact copy, so that the sanitizer sees a read past the end.
    char *bytes = malloc(size ? size : 1);
    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    try_bytes(&a, (str){bytes, size});
    if (size >= HEAD + CHECKSUM) {
        repair(bytes, size);
        try_bytes(&a, (str){bytes, size});
    }
    free(bytes);
    arena_free(&a);
    return 0;
}
