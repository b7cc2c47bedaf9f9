// Where the cache is, and how large.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache/cache_priv.h"

static const uint64_t default_limit = (uint64_t)1 << 30;

enum { WAIT_MS = 30000 };

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bool cache_size_parse(const char *text, uint64_t *out)
{
    static const char units[] = "KMGT";
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && value < (uint64_t)1 << 58; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    const char *unit = *at ? strchr(units, *at & ~0x20) : NULL;
    int shift = unit && *unit ? 10 * (int)(unit - units + 1) : 0;
    at += shift > 0;
    if (shift && (*at == 'B' || *at == 'b'))
        at++;
    if (*at || at == text || !value || value > UINT64_MAX >> 2 >> shift)
        return false;
    *out = value << shift;
    return true;
}

// The user's own folder in [a]; NULL: nothing says where. A relative XDG_CACHE_HOME is to be ignored (XDG Base Directory
// Specification).
static const char *own_folder(arena *a)
{
    const char *base = environment("XDG_CACHE_HOME"), *home = environment("HOME");
    if (base && *base == '/')
        return arena_printf(a, "%s/hdsc", base);
    return home ? arena_printf(a, "%s/.cache/hdsc", home) : NULL;
}

typedef struct opening {
    const char *folder;  // as asked for, or NULL
    const char **why;
    cache *result;
    uint64_t limit_bytes;
} opening;

static bool open_in(arena *a, void *user)
{
    opening *o = user;
    const char *given = o->folder ? o->folder : environment("HDS_CACHE_DIR");
    const char *folder = given ? given : own_folder(a);
    *o->why = "neither HDS_CACHE_DIR nor XDG_CACHE_HOME nor HOME says where it could be";
    if (!folder)
        return false;
    const char *versioned = arena_printf(a, "%s/v1", folder);  // first: it may not come back
    cache *c = calloc(1, sizeof *c);
    char *name = strdup(folder), *root = strdup(versioned);
    if (!c || !name || !root) {
        free(c);
        free(name);
        free(root);
        *o->why = "out of memory";
        return false;
    }
    *c = (cache){.folder = name, .root = root, .limit_bytes = o->limit_bytes, .is_given = given != NULL, .wait_ms = WAIT_MS};
    o->result = c;
    *o->why = NULL;
    return true;
}

static bool is_switched_off(const char **why)
{
    const char *value = environment("HDS_CACHE");
    bool is_off = value && (strcmp(value, "off") == 0 || strcmp(value, "0") == 0);
    *why = is_off ? "HDS_CACHE=off" : "HDS_CACHE is neither on nor off";
    return value && strcmp(value, "on") != 0 && strcmp(value, "1") != 0;
}

cache *cache_open(const char *folder, uint64_t limit_bytes, const char **why)
{
    opening o = {.folder = folder, .why = why, .limit_bytes = limit_bytes};
    const char *size = environment("HDS_CACHE_SIZE");
    if (!folder && is_switched_off(why))
        return NULL;
    if (!limit_bytes)
        o.limit_bytes = default_limit;
    if (!limit_bytes && size && !cache_size_parse(size, &o.limit_bytes)) {
        *why = "HDS_CACHE_SIZE is not a size such as 500M or 2G";
        return NULL;
    }
    cache_with_memory(open_in, &o);
    return o.result;
}

void cache_close(cache *c)
{
    if (!c)
        return;
    free(c->folder);
    free(c->root);
    free(c);
}

const char *cache_folder(const cache *c)
{
    return c->folder;
}

uint64_t cache_limit(const cache *c)
{
    return c->limit_bytes;
}
