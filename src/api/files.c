// The files that a program was made from: those that were read, by their hash, and those that were looked for and not
// there, since a file that appears there would be found first.

#include <string.h>

#include "api/api_priv.h"
#include "base/file.h"

enum { HASH_LENGTH = 32 };

void api_files_of(arena *a, const pl_finder *finder, api_files *out)
{
    *out = (api_files){0};
    for (size_t i = 0; i < finder->tried.len; i++) {
        const pl_tried *t = &finder->tried.at[i];
        api_file file = {arena_strdup(a, t->path), t->file ? cache_hash(a, t->file->text) : NULL};
        VEC_PUSH(a, out, file);
    }
}

static bool holds(arena *scratch, const api_file *file)
{
    str text;
    const char *error = NULL;
    bool is_there = file_read(scratch, file->path, &text, &error);
    if (!is_there || !file->hash)
        return !is_there && !file->hash;
    return strcmp(cache_hash(scratch, text), file->hash) == 0;
}

bool api_files_hold(arena *scratch, const api_files *files)
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
str api_files_write(arena *a, const api_files *files)
{
    str_buf out;
    str_buf_init(&out, a);
    for (size_t i = 0; i < files->len; i++) {
        const api_file *f = &files->at[i];
        str_addf(&out, "%s ", f->hash ? f->hash : "-");
        str_add(&out, (str){f->path, strlen(f->path) + 1});
    }
    return (str){str_text(&out), out.len};
}

bool api_files_read(arena *a, str bytes, api_files *out)
{
    const char *at = bytes.at, *end = bytes.at + bytes.len;
    *out = (api_files){0};
    while (at < end) {
        const char *stop = memchr(at, 0, (size_t)(end - at)),
                   *blank = stop ? memchr(at, ' ', (size_t)(stop - at)) : NULL;
        bool is_missing = blank && blank == at + 1 && *at == '-';
        if (!blank || (!is_missing && blank - at != HASH_LENGTH))
            return false;
        api_file file = {arena_strdup(a, blank + 1), is_missing ? NULL : arena_strndup(a, at, HASH_LENGTH)};
        VEC_PUSH(a, out, file);
        at = stop + 1;
    }
    return true;
}
