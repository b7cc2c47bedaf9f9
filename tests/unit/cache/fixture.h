// A folder for a cache, and short ways to ask it.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/cache_priv.h"

typedef struct fixture {
    arena a;
    char folder[64];
    cache *cache;
} fixture;

static inline int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    return remove(path);
}

static inline int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    const char *why = NULL;
    arena_init(&f->a, NULL);
    strcpy(f->folder, "/tmp/hdsc-cache-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    f->cache = cache_open(f->folder, 0, &why);
    assert_non_null(f->cache);
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    fixture *f = *state;
    cache_close(f->cache);
    nftw(f->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    arena_free(&f->a);
    free(f);
    return 0;
}

static inline cache_part part_of(const char *name, const char *text)
{
    return (cache_part){name, str_of(text)};
}

// The output "out" of the entry whose input "in" is [text]; NULL, and the ticket, where there is none.
static inline const char *look_up(fixture *f, const char *text, cache_ticket *ticket)
{
    cache_part *in = ARENA_NEW(&f->a, cache_part);
    cache_parts out = {0};
    *in = part_of("in", text);
    return cache_get(f->cache, &f->a, "test", in, 1, &out, ticket) ? cache_part_of(&out, "out").at : NULL;
}

static inline void keep(fixture *f, const char *text, const char *result)
{
    cache_ticket ticket;
    cache_part out = part_of("out", result);
    assert_null(look_up(f, text, &ticket));
    cache_put(&ticket, &out, 1);
}

static inline const char *path_of(fixture *f, const char *text)
{
    cache_part in = part_of("in", text);
    return cache_path_of(f->cache, &f->a, cache_hash_parts("test", &in, 1));
}

static inline bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}
