#include "base/map.h"

#include <string.h>

// uthash takes its memory from the map in scope and never gives any back: the arena does.
#define uthash_malloc(size) arena_alloc(m->arena, (size))
#define uthash_free(ptr, size) ((void)(ptr))
#include <uthash.h>

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

static map_entry *find(const map *m, const void *key, size_t key_len)
{
    map_entry *found = NULL;
    if (m->entries)
        HASH_FIND(hh, m->entries, key, (unsigned)key_len, found);
    return found;
}

void *map_get(const map *m, const void *key, size_t key_len)
{
    map_entry *found = find(m, key, key_len);
    return found ? found->value : NULL;
}

void map_put(map *m, const void *key, size_t key_len, void *value)
{
    map_entry *entry = find(m, key, key_len);
    if (!entry) {
        entry = arena_alloc(m->arena, sizeof *entry + key_len);
        entry->key_len = key_len;
        memcpy(entry->key, key, key_len);
        HASH_ADD_KEYPTR(hh, m->entries, entry->key, (unsigned)key_len, entry);
        m->len++;
    }
    entry->value = value;
}

void *map_get_ptr(const map *m, const void *key)
{
    return map_get(m, &key, sizeof key);
}

void map_put_ptr(map *m, const void *key, void *value)
{
    map_put(m, &key, sizeof key, value);
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
