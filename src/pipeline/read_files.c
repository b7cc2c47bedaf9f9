#include "pipeline/read_files.h"

#include <string.h>

#include "base/file.h"
#include "cache/cache.h"

enum { HASH_LENGTH = 32 };

void pl_read_files_add(arena *a, const pl_finder *finder, pl_read_files *out)
{
    for (size_t i = 0; i < finder->tried.len; i++) {
        const pl_tried *t = &finder->tried.at[i];
        pl_read_file file = {arena_strdup(a, t->path), t->file ? cache_hash(a, t->file->text) : NULL};
        VEC_PUSH(a, out, file);
    }
}

static bool holds(arena *scratch, const pl_read_file *file)
{
    str text;
    const char *error = NULL;
    bool is_there = file_read(scratch, file->path, &text, &error);
    if (!is_there || !file->hash)
        return !is_there && !file->hash;
    return strcmp(cache_hash(scratch, text), file->hash) == 0;
}

bool pl_read_files_hold(arena *scratch, const pl_read_files *files)
{
    for (size_t i = 0; i < files->len; i++) {
        arena_mark mark = arena_mark_get(scratch);
        bool ok = holds(scratch, &files->at[i]);
        arena_reset(scratch, mark);
        if (!ok)
            return false;
    }
    return true;
}

// Of each file: the hash or "-", a blank, the path, 0.
str pl_read_files_write(arena *a, const pl_read_files *files)
{
    str_buf out;
    str_buf_init(&out, a);
    for (size_t i = 0; i < files->len; i++) {
        const pl_read_file *f = &files->at[i];
        str_addf(&out, "%s ", f->hash ? f->hash : "-");
        str_add(&out, (str){f->path, strlen(f->path) + 1});
    }
    return (str){str_text(&out), out.len};
}

bool pl_read_files_parse(arena *a, str bytes, pl_read_files *out)
{
    const char *at = bytes.at, *end = bytes.at + bytes.len;
    *out = (pl_read_files){0};
    while (at < end) {
        const char *stop = memchr(at, 0, (size_t)(end - at)),
                   *blank = stop ? memchr(at, ' ', (size_t)(stop - at)) : NULL;
        bool is_missing = blank && blank == at + 1 && *at == '-';
        if (!blank || (!is_missing && blank - at != HASH_LENGTH))
            return false;
        pl_read_file file = {arena_strdup(a, blank + 1), is_missing ? NULL : arena_strndup(a, at, HASH_LENGTH)};
        VEC_PUSH(a, out, file);
        at = stop + 1;
    }
    return true;
}
