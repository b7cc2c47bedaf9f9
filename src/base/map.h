// Hash map from byte strings or pointers to pointers, iterated in the order of insertion (uthash inside).
#pragma once

#include <stddef.h>

#include "base/arena.h"

typedef struct map_entry map_entry;

typedef struct map {
    arena *arena;
    map_entry *entries;
    size_t len;
} map;

void map_init(map *m, arena *a);
// The value stored for the key, or NULL.
void *map_get(const map *m, const void *key, size_t key_len);
// Stores or replaces. The key's bytes are copied.
void map_put(map *m, const void *key, size_t key_len, void *value);

// Keys that are addresses.
void *map_get_ptr(const map *m, const void *key);
void map_put_ptr(map *m, const void *key, void *value);

// Iteration in order of insertion: for (map_entry *e = map_first(m); e; e = map_next(e))
map_entry *map_first(const map *m);
map_entry *map_next(const map_entry *e);
const void *map_key(const map_entry *e, size_t *len);
void *map_value(const map_entry *e);
