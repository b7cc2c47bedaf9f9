// All entries, one after the other.

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/cache_priv.h"

static int by_name(const void *left, const void *right)
{
    const cache_file *a = left, *b = right;
    return a->group != b->group ? a->group - b->group : strcmp(a->name, b->name);
}

static bool is_same_key(cache_key a, cache_key b)
{
    return a.at[0] == b.at[0] && a.at[1] == b.at[1];
}

static const char *damage_of(const cache_record *r, cache_key name)
{
    bool is_its_own = is_same_key(r->key, name) && is_same_key(cache_hash_parts(r->kind, r->inputs.at, r->inputs.len), name);
    return is_its_own ? NULL : "it is stored under the key of another";
}

// False if the file is gone.
static bool read_entry(arena *a, const char *path, cache_key key, cache_entry *out)
{
    cache_record record;
    bool is_missing;
    *out = (cache_entry){.path = path, .name = cache_key_text(a, key)};
    out->damage = cache_read_record(a, path, &record, &out->size_bytes, &is_missing);
    if (!out->damage)
        out->damage = damage_of(&record, key);
    if (!out->damage) {
        out->kind = record.kind;
        out->inputs = record.inputs;
        out->outputs = record.outputs;
    }
    return !is_missing;
}

typedef struct listing {
    const cache *cache;
    void (*visit)(void *user, const cache_entry *entry);
    void *user;
} listing;

static void show(arena *a, const listing *l, const cache_file *f)
{
    cache_key key;
    cache_entry entry;
    const char *path = arena_printf(a, "%s/%s", cache_group_path(l->cache, a, f->group), f->name);
    if (!cache_key_of_name(f->group, f->name, &key) || !read_entry(a, path, key, &entry))
        return;
    entry.used = f->used_ns / 1000000000;
    l->visit(l->user, &entry);
}

static bool show_all(arena *a, void *user)
{
    const listing *l = user;
    uint64_t stale = 0;
    for (int group = 0; group < CACHE_GROUPS; group++) {
        cache_files files = {0};
        cache_scan_group(l->cache, a, group, &files, &stale);
        if (files.len)
            qsort(files.at, files.len, sizeof *files.at, by_name);
        for (size_t i = 0; i < files.len; i++) {
            arena_mark mark = arena_mark_get(a);
            show(a, l, &files.at[i]);
            arena_reset(a, mark);
        }
    }
    return true;
}

void cache_each(const cache *c, void (*visit)(void *user, const cache_entry *entry), void *user)
{
    listing l = {c, visit, user};
    if (c)
        cache_with_memory(show_all, &l);
}

bool cache_find(const cache *c, arena *a, const char *kind, const cache_part *inputs, size_t input_count, cache_entry *out)
{
    if (!c)
        return false;
    struct stat info;
    cache_key key = cache_hash_parts(kind, inputs, input_count);
    const char *path = cache_path_of(c, a, key);
    if (!read_entry(a, path, key, out) || out->damage || stat(path, &info) != 0)
        return false;
    out->used = (int64_t)info.st_mtime;
    cache_record record = {.kind = out->kind, .inputs = out->inputs};
    return cache_record_is(&record, kind, inputs, input_count);
}

bool cache_remove(const cache_entry *entry)
{
    return unlink(entry->path) == 0 || rmdir(entry->path) == 0;
}
