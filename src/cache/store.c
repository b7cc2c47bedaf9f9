// Finding, making and storing entries.

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cache/cache_priv.h"

enum { TOUCH_SECONDS = 3600 };

bool cache_with_memory(bool (*body)(arena *a, void *user), void *user)
{
    arena a;
    arena_oom oom;
    arena_init(&a, &oom);
    bool ok = setjmp(oom.jump) == 0 && body(&a, user);
    arena_free(&a);
    return ok;
}

const char *cache_read_record(arena *a, const char *path, cache_record *out, uint64_t *size_bytes, bool *is_missing)
{
    str bytes = {0};
    *out = (cache_record){0};
    const char *why = cache_read_file(a, path, &bytes, is_missing);
    *size_bytes = bytes.len;
    return why ? why : cache_record_parse(a, bytes, out);
}

// ---- finding ------------------------------------------------------------------------------------------------------------

// When an entry was last of use, to the hour: enough to know the oldest, and few writes.
static void touch(const char *path)
{
    struct stat info;
    time_t now = time(NULL);
    if (stat(path, &info) == 0 && llabs((long long)now - (long long)info.st_mtime) > TOUCH_SECONDS)
        (void)!utimensat(AT_FDCWD, path, NULL, 0);
}

typedef struct search {
    const cache *cache;
    arena *arena;
    const char *path;
    const char *kind;
    const cache_part *inputs;
    size_t input_count;
    cache_record found;
} search;

static bool look(void *user)
{
    search *s = user;
    uint64_t size;
    bool is_missing;
    arena_mark mark = arena_mark_get(s->arena);
    const char *why = cache_read_record(s->arena, s->path, &s->found, &size, &is_missing);
    if (!why && cache_record_is(&s->found, s->kind, s->inputs, s->input_count)) {
        touch(s->path);
        return true;
    }
    arena_reset(s->arena, mark);
    return false;
}

static void end(cache_ticket *ticket)
{
    if (ticket->cache && ticket->lock >= 0)
        close(ticket->lock);
    ticket->cache = NULL;
    ticket->lock = -1;
}

static bool hit(search *s, cache_parts *out, cache_ticket *ticket)
{
    end(ticket);
    *out = s->found.outputs;
    return true;
}

static void begin(cache *c, const char *kind, const cache_part *inputs, size_t input_count, cache_ticket *ticket)
{
    *ticket = (cache_ticket){.cache = c, .kind = kind, .inputs = inputs, .input_count = input_count, .lock = -1};
    if (c)
        memcpy(ticket->key, cache_hash_parts(kind, inputs, input_count).at, sizeof ticket->key);
}

static cache_key key_of(const cache_ticket *ticket)
{
    return (cache_key){{ticket->key[0], ticket->key[1]}};
}

// The lock goes into the ticket before anything else can fail, so that who recovers from want of memory can give it back.
static void wait_for_turn(cache_ticket *ticket, bool (*is_done)(void *user), void *user)
{
    ticket->lock = cache_lock_open(ticket->cache);
    if (ticket->lock < 0 || cache_lock_wait(ticket->cache, ticket->lock, key_of(ticket), is_done, user))
        return;
    close(ticket->lock);
    ticket->lock = -1;
}

bool cache_get(cache *c, arena *a, const char *kind, const cache_part *inputs, size_t input_count, cache_parts *out,
               cache_ticket *ticket)
{
    begin(c, kind, inputs, input_count, ticket);
    if (!c)
        return false;
    search s = {.cache = c, .arena = a, .path = cache_path_of(c, a, key_of(ticket)), .kind = kind, .inputs = inputs,
                .input_count = input_count};
    if (look(&s))
        return hit(&s, out, ticket);
    wait_for_turn(ticket, look, &s);
    return look(&s) && hit(&s, out, ticket);
}

void cache_claim(cache *c, const char *kind, const cache_part *inputs, size_t input_count, cache_ticket *ticket)
{
    begin(c, kind, inputs, input_count, ticket);
    if (c)
        wait_for_turn(ticket, NULL, NULL);
}

// ---- storing ------------------------------------------------------------------------------------------------------------

typedef struct storing {
    const cache_ticket *ticket;
    const cache_part *outputs;
    size_t output_count;
} storing;

static cache_parts parts_of(arena *a, const cache_part *parts, size_t count)
{
    cache_parts list = {0};
    for (size_t i = 0; i < count; i++)
        VEC_PUSH(a, &list, parts[i]);
    return list;
}

static bool store(arena *a, void *user)
{
    const storing *s = user;
    const cache_ticket *t = s->ticket;
    cache_record record = {
        .kind = t->kind,
        .key = key_of(t),
        .inputs = parts_of(a, t->inputs, t->input_count),
        .outputs = parts_of(a, s->outputs, s->output_count),
    };
    str bytes = cache_record_make(a, &record);
    if (bytes.len > cache_range_limit(t->cache) || !cache_write_file(t->cache, a, record.key, bytes))
        return false;
    cache_shrink_around(t->cache, a, record.key);
    return true;
}

void cache_put(cache_ticket *ticket, const cache_part *outputs, size_t output_count)
{
    storing s = {ticket, outputs, output_count};
    if (ticket->cache)
        cache_with_memory(store, &s);
    end(ticket);
}

void cache_abandon(cache_ticket *ticket)
{
    end(ticket);
}

// ---- what is expected ---------------------------------------------------------------------------------------------------

// A table of hashes, a slot each: whatever is in it, at worst somebody is wrong about what to expect.
enum { SLOTS = 8192 };

typedef struct noting {
    const cache *cache;
    uint64_t hash;
    bool writes, is_there;
} noting;

static bool note(arena *a, void *user)
{
    noting *n = user;
    uint64_t value = 0;
    bool is_writable = false;
    off_t at = (off_t)(n->hash % SLOTS * sizeof value);
    int fd = n->writes ? cache_open_shared(n->cache, a, "expected", &is_writable)
                       : open(arena_printf(a, "%s/expected", n->cache->root), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n->is_there = pread(fd, &value, sizeof value, at) == (ssize_t)sizeof value && value == n->hash;
    if (n->writes && is_writable && !n->is_there)
        (void)!pwrite(fd, &n->hash, sizeof n->hash, at);
    close(fd);
    return true;
}

bool cache_expects(const cache *c, str what)
{
    noting n = {.cache = c, .hash = c ? cache_hash_bytes(what).at[0] : 0};
    return c && cache_with_memory(note, &n) && n.is_there;
}

void cache_expect(const cache *c, str what)
{
    noting n = {.cache = c, .hash = c ? cache_hash_bytes(what).at[0] : 0, .writes = true};
    if (c)
        cache_with_memory(note, &n);
}
