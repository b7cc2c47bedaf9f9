// Keeping the cache within its size.
//
// The total size is not known: storing an entry sums up a sixteenth of the groups, and removes what was not used for
// longest where that holds more than a sixteenth of the limit. Hashes spread entries evenly. In a small cache entries
// are few and their sizes count, so all of it is one range.

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cache/cache_priv.h"

static const uint64_t small_bytes = (uint64_t)64 << 20;

static bool is_small(const cache *c)
{
    return c->limit_bytes < small_bytes;
}

uint64_t cache_range_limit(const cache *c)
{
    return is_small(c) ? c->limit_bytes : c->limit_bytes / CACHE_RANGES;
}

// ---- looking ------------------------------------------------------------------------------------------------------------

static bool is_temporary(const char *name)
{
    return strstr(name, ".tmp-") != NULL;
}

static void take(arena *a, int folder, int group, const char *name, cache_files *out, uint64_t *stale)
{
    struct stat info;
    cache_key key;
    bool is_entry = cache_key_of_name(group, name, &key);
    if ((!is_entry && !is_temporary(name)) || fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (!is_entry) {
        bool is_old = S_ISREG(info.st_mode) && time(NULL) - info.st_mtime > CACHE_STALE_SECONDS;
        *stale += is_old && unlinkat(folder, name, 0) == 0;
        return;
    }
    cache_file file = {
        .group = group,
        .used_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec,
        .size_bytes = S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0,
        .is_folder = S_ISDIR(info.st_mode),
    };
    memcpy(file.name, name, strlen(name) + 1);
    VEC_PUSH(a, out, file);
}

typedef struct scan {
    DIR *folder;
    int group;
    cache_files *out;
    arena *arena;
    uint64_t *stale;
} scan;

static bool scan_all(scan *s)
{
    for (struct dirent *entry; (entry = readdir(s->folder));)
        take(s->arena, dirfd(s->folder), s->group, entry->d_name, s->out, s->stale);
    return true;
}

void cache_scan_group(const cache *c, arena *a, int group, cache_files *out, uint64_t *stale)
{
    const char *path = cache_group_path(c, a, group);
    scan s = {opendir(path), group, out, a, stale};
    if (!s.folder)
        return;
    // The folder is closed wherever memory runs out.
    arena_oom oom, *callers = a->oom;
    a->oom = &oom;
    bool is_whole = setjmp(oom.jump) == 0 && scan_all(&s);
    a->oom = callers;
    closedir(s.folder);
    if (!is_whole)
        longjmp(callers->jump, 1);
}

static uint64_t total_of(const cache_files *files)
{
    uint64_t total = 0;
    for (size_t i = 0; i < files->len; i++)
        total += files->at[i].size_bytes;
    return total;
}

// ---- removing -----------------------------------------------------------------------------------------------------------

static int by_age(const void *left, const void *right)
{
    const cache_file *a = left, *b = right;
    if (a->used_ns != b->used_ns)
        return a->used_ns < b->used_ns ? -1 : 1;
    return a->group != b->group ? a->group - b->group : strcmp(a->name, b->name);
}

static bool remove_file(const cache *c, arena *a, const cache_file *f)
{
    const char *path = arena_printf(a, "%s/%s", cache_group_path(c, a, f->group), f->name);
    return (f->is_folder ? rmdir(path) : unlink(path)) == 0;
}

// The oldest first, until what is left is no more than [goal] bytes.
static void shrink(const cache *c, arena *a, cache_files *files, uint64_t goal, cache_gc_result *out)
{
    uint64_t total = total_of(files);
    if (files->len && total > goal)
        qsort(files->at, files->len, sizeof *files->at, by_age);
    for (size_t i = 0; i < files->len; i++) {
        const cache_file *f = &files->at[i];
        bool is_removed = (total > goal || !goal) && remove_file(c, a, f);
        total -= is_removed ? f->size_bytes : 0;
        out->removed += is_removed;
        out->removed_bytes += is_removed ? f->size_bytes : 0;
        out->kept += !is_removed;
        out->kept_bytes += is_removed ? 0 : f->size_bytes;
    }
}

// An eighth is made free at once, so that not each store has to sort and remove.
void cache_shrink_around(const cache *c, arena *a, cache_key key)
{
    int count = is_small(c) ? CACHE_GROUPS : CACHE_GROUPS / CACHE_RANGES;
    int first = (int)(key.at[0] >> 56) / count * count;
    cache_files files = {0};
    cache_gc_result result = {0};
    uint64_t limit = cache_range_limit(c);
    for (int i = 0; i < count; i++)
        cache_scan_group(c, a, first + i, &files, &result.stale);
    if (total_of(&files) > limit)
        shrink(c, a, &files, limit - limit / 8, &result);
}

typedef struct collection {
    const cache *cache;
    uint64_t goal;
    cache_gc_result *out;
} collection;

static bool collect(arena *a, void *user)
{
    collection *g = user;
    cache_files files = {0};
    for (int group = 0; group < CACHE_GROUPS; group++)
        cache_scan_group(g->cache, a, group, &files, &g->out->stale);
    shrink(g->cache, a, &files, g->goal, g->out);
    return true;
}

void cache_gc(cache *c, uint64_t limit_bytes, cache_gc_result *out)
{
    *out = (cache_gc_result){0};
    collection g = {c, limit_bytes, out};
    if (c)
        cache_with_memory(collect, &g);
}

static bool clear(arena *a, void *user)
{
    collection *g = user;
    if (!collect(a, user))
        return false;
    unlink(arena_printf(a, "%s/expected", g->cache->root));
    for (int group = 0; group < CACHE_GROUPS; group++)
        rmdir(cache_group_path(g->cache, a, group));
    return true;
}

void cache_clear(cache *c, cache_gc_result *out)
{
    *out = (cache_gc_result){0};
    collection g = {c, 0, out};
    if (c)
        cache_with_memory(clear, &g);
}
