// Cores in memory, keyed by the bytes of their request. The first request computes an entry; concurrent requests for it
// wait and share the result, successful or not. Only successful ones are kept.

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_priv.h"

typedef struct api_entry {
    struct api_entry *next;  // in its bucket
    uint64_t hash, used;     // used: the table's clock
    str key;                 // follows the entry
    api_core *core;          // NULL while it is made, and after it could not be
    int waiting;             // threads that will look at it again
    bool is_made, is_listed;
} api_entry;

enum { FIRST_BUCKETS = 64 };

bool api_table_init(api_table *t, size_t limit)
{
    *t = (api_table){.bucket_count = FIRST_BUCKETS, .limit = limit};
    t->buckets = calloc(t->bucket_count, sizeof *t->buckets);
    if (!t->buckets)
        return false;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->made, NULL);
    return true;
}

// ---- entries ---------------------------------------------------------------------------------------------------

// FNV-1a, eight bytes at a time: it only chooses a bucket, and runs over a whole source.
static uint64_t hash_of(str key)
{
    uint64_t hash = 0xcbf29ce484222325u, word;
    size_t i = 0;
    for (; i + sizeof word <= key.len; i += sizeof word) {
        memcpy(&word, key.at + i, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    for (; i < key.len; i++)
        hash = (hash ^ (unsigned char)key.at[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static api_entry **bucket_of(const api_table *t, uint64_t hash)
{
    return &t->buckets[hash & (t->bucket_count - 1)];
}

static api_entry *find(const api_table *t, str key, uint64_t hash)
{
    for (api_entry *e = *bucket_of(t, hash); e; e = e->next) {
        if (e->hash == hash && str_equal(e->key, key))
            return e;
    }
    return NULL;
}

static void entry_free(api_entry *e)
{
    api_core_release(e->core);
    free(e);
}

// Nobody finds it any more; who waits for it frees it.
static void unlist(api_table *t, api_entry *e)
{
    api_entry **at = bucket_of(t, e->hash);
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    e->is_listed = false;
    t->len--;
    if (!e->waiting)
        entry_free(e);
}

// A table that cannot grow is a slow one.
static void grow(api_table *t)
{
    size_t count = t->bucket_count * 2, old_count = t->bucket_count;
    api_entry **buckets = t->len < t->bucket_count ? NULL : calloc(count, sizeof *buckets), **old = t->buckets;
    if (!buckets)
        return;
    t->buckets = buckets;
    t->bucket_count = count;
    for (size_t i = 0; i < old_count; i++) {
        for (api_entry *e = old[i], *next; e; e = next) {
            next = e->next;
            e->next = *bucket_of(t, e->hash);
            *bucket_of(t, e->hash) = e;
        }
    }
    free(old);
}

static api_entry *add(api_table *t, str key, uint64_t hash)
{
    api_entry *e = malloc(sizeof *e + key.len);
    if (!e)
        return NULL;
    *e = (api_entry){.hash = hash, .key = {(const char *)(e + 1), key.len}, .is_listed = true};
    memcpy(e + 1, key.at, key.len);
    grow(t);
    e->next = *bucket_of(t, hash);
    *bucket_of(t, hash) = e;
    t->len++;
    return e;
}

void api_table_free(api_table *t)
{
    for (size_t i = 0; i < t->bucket_count; i++) {
        while (t->buckets[i])
            unlist(t, t->buckets[i]);
    }
    free(t->buckets);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->made);
}

// ---- the limit -------------------------------------------------------------------------------------------------

// Nobody but the table has it.
static bool is_idle(const api_entry *e)
{
    return e->is_made && atomic_load_explicit(&e->core->references, memory_order_acquire) == 1;
}

static size_t count_idle(const api_table *t, api_entry **oldest)
{
    size_t idle = 0;
    *oldest = NULL;
    for (size_t i = 0; i < t->bucket_count; i++) {
        for (api_entry *e = t->buckets[i]; e; e = e->next) {
            if (!is_idle(e))
                continue;
            idle++;
            *oldest = !*oldest || e->used < (*oldest)->used ? e : *oldest;
        }
    }
    return idle;
}

// Programs in use do not count: forgetting them would only compile them twice.
static void forget_oldest(api_table *t)
{
    api_entry *oldest;
    while (t->len > t->limit && count_idle(t, &oldest) > t->limit)
        unlist(t, oldest);
}

// ---- getting ---------------------------------------------------------------------------------------------------

// What came out goes to all who wait.
static api_core *make(api_table *t, api_entry *e, hds_compiler *compiler, const api_request *request)
{
    pthread_mutex_unlock(&t->lock);
    api_core *core = api_make(compiler, request);
    pthread_mutex_lock(&t->lock);
    e->core = core;
    e->is_made = true;
    e->used = ++t->clock;
    if (core)
        api_core_retain(core);
    if (!core || core->status != HDS_OK)
        unlist(t, e);
    forget_oldest(t);
    pthread_cond_broadcast(&t->made);
    return core;
}

static api_core *wait_for(api_table *t, api_entry *e)
{
    e->waiting++;
    while (!e->is_made)
        pthread_cond_wait(&t->made, &t->lock);
    e->waiting--;
    e->used = ++t->clock;
    api_core *core = e->core;
    if (core)
        api_core_retain(core);
    if (!e->is_listed && !e->waiting)
        entry_free(e);
    return core;
}

// Whether the files that it was made from are as they were; reading them takes no lock. No memory: let it be made
// again.
static bool holds(const api_core *core)
{
    arena scratch;
    arena_oom oom;
    arena_init(&scratch, &oom);
    bool ok = setjmp(oom.jump) == 0 && pl_read_files_hold(&scratch, &core->files);
    arena_free(&scratch);
    return ok;
}

// The entry is out of date; another thread may have seen that, too.
static void drop(api_table *t, str key, uint64_t hash, const api_core *core)
{
    api_entry *e = find(t, key, hash);
    if (e && e->core == core)
        unlist(t, e);
}

static api_core *get(api_table *t, hds_compiler *compiler, const api_request *request, uint64_t hash, bool *is_known)
{
    for (;;) {
        api_entry *e = find(t, request->key, hash);
        *is_known = e != NULL;
        if (!e) {
            e = add(t, request->key, hash);
            return e ? make(t, e, compiler, request) : NULL;
        }
        bool was_made = e->is_made;
        api_core *core = wait_for(t, e);
        if (core && core->status == HDS_INTERRUPTED) { // by the caller that made it, who is another one
            api_core_release(core);
            continue;
        }
        if (!core || !was_made || !core->files.len)
            return core;
        pthread_mutex_unlock(&t->lock);
        bool ok = holds(core);
        pthread_mutex_lock(&t->lock);
        if (ok)
            return core;
        drop(t, request->key, hash, core);
        api_core_release(core);
    }
}

api_core *api_table_get(api_table *t, hds_compiler *compiler, const api_request *request, bool *is_known)
{
    uint64_t hash = hash_of(request->key);
    // A file that cannot be read says nothing about its next reading.
    if (request->unreadable) {
        *is_known = false;
        return api_make(compiler, request);
    }
    pthread_mutex_lock(&t->lock);
    api_core *core = get(t, compiler, request, hash, is_known);
    pthread_mutex_unlock(&t->lock);
    if (!core)
        api_no_memory();
    return core;
}
