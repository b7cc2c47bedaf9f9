// Any bytes at all as a file of weights: it is refused with a reason, or its entries fill the file one behind the other.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "weights/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t header_length(const uint8_t *data)
{
    uint64_t n = 0;
    for (int i = 0; i < 8; i++)
        n |= (uint64_t)data[i] << (8 * i);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 8 || header_length(data) > size - 8)
        return 0;
    arena a;
    arena_init(&a, NULL);
    wt_file f = {.memory = &a};
    map_init(&f.by_name, &a);
    const char *error = NULL;
    size_t len = (size_t)header_length(data);
    int64_t data_bytes = (int64_t)(size - 8 - len), end = 0;
    bool ok = wt_read_header(&f, 0, (str){(const char *)data + 8, len}, data_bytes, &error);
    if (ok == (error != NULL))
        __builtin_trap();
    for (size_t i = 0; i < f.entries.len && ok; i++) {
        const wt_entry *e = &f.entries.at[i];
        if (e->offset != end || wt_find(&f, e->name) != e)
            __builtin_trap();
        end += e->bytes;
    }
    if (ok && end != data_bytes)
        __builtin_trap();
    arena_free(&a);
    return 0;
}
