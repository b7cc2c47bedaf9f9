#include "base/map.h"

#include <stdint.h>
#include <string.h>

#include "base/hash.h"

// uthash takes its memory from the map in scope and never gives any back: the arena does.
#define uthash_malloc(size) arena_alloc(m->arena, (size))
#define uthash_free(ptr, size) ((void)(ptr))
#define HASH_FUNCTION(key, len, hash) ((hash) = hash_bytes((key), (len)))
#include <uthash.h>

// Most maps have a few entries: with 32 buckets at first, one of a single entry is half a kilobyte.
#undef HASH_INITIAL_NUM_BUCKETS
#undef HASH_INITIAL_NUM_BUCKETS_LOG2
#define HASH_INITIAL_NUM_BUCKETS 4U
#define HASH_INITIAL_NUM_BUCKETS_LOG2 2U

struct map_entry {
    UT_hash_handle hh;
    void *value;
    size_t key_len;
    char key[];
};

void map_init(map *m, arena *a)
{
    *m = (map){.arena = a};
}

static unsigned hash_of(const void *key, size_t key_len)
{
    unsigned hash = 0;
    HASH_VALUE(key, key_len, hash);
    return hash;
}

// Fibonacci hashing (Knuth, TAOCP 3, 6.4): the high bits of the product are well mixed, and the table uses the low ones.
static unsigned hash_of_address(const void *key)
{
    return (unsigned)((uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

// Inlined, so that addresses are compared as such.
static inline void *get(const map *m, const void *key, size_t key_len, unsigned hash)
{
    map_entry *found = NULL;
    HASH_FIND_BYHASHVALUE(hh, m->entries, key, (unsigned)key_len, hash, found);
    return found ? found->value : NULL;
}

static void put(map *m, const void *key, size_t key_len, unsigned hash, void *value)
{
    map_entry *entry = NULL;
    HASH_FIND_BYHASHVALUE(hh, m->entries, key, (unsigned)key_len, hash, entry);
    if (!entry) {
        entry = arena_alloc(m->arena, sizeof *entry + key_len);
        entry->key_len = key_len;
        memcpy(entry->key, key, key_len);
        HASH_ADD_KEYPTR_BYHASHVALUE(hh, m->entries, entry->key, (unsigned)key_len, hash, entry);
        m->len++;
    }
    entry->value = value;
}

void *map_get(const map *m, const void *key, size_t key_len)
{
    return m->entries ? get(m, key, key_len, hash_of(key, key_len)) : NULL;
}

void map_put(map *m, const void *key, size_t key_len, void *value)
{
    put(m, key, key_len, hash_of(key, key_len), value);
}

void *map_get_ptr(const map *m, const void *key)
{
    return m->entries ? get(m, &key, sizeof key, hash_of_address(key)) : NULL;
}

void map_put_ptr(map *m, const void *key, void *value)
{
    put(m, &key, sizeof key, hash_of_address(key), value);
}

map_entry *map_first(const map *m)
{
    return m->entries;
}

map_entry *map_next(const map_entry *e)
{
    return e->hh.next;
}

const void *map_key(const map_entry *e, size_t *len)
{
    if (len)
        *len = e->key_len;
    return e->key;
}

void *map_value(const map_entry *e)
{
    return e->value;
}
