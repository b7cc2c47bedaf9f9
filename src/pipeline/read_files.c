#include "pipeline/read_files.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "cache/cache.h"
#include "pipeline/onnx_input.h"
#include "weights/weights.h"

enum { HASH_LENGTH = 32 };

// Of nothing that there is: it never holds.
#define NO_HASH "unreadable......................"

// ---- weights --------------------------------------------------------------------------------------------------------

// All that is known of them while compiling.
static str description_of(arena *a, const wt_file *f)
{
    str_buf out;
    str_buf_init(&out, a);
    for (size_t i = 0; i < f->parts.len; i++)
        str_addf(&out, "%s%c", f->parts.at[i].path, 0);
    for (size_t i = 0; i < f->entries.len; i++) {
        const wt_entry *e = &f->entries.at[i];
        str_addf(&out, "%zu %s %s ", strlen(e->name), e->name, e->dtype ? e->dtype : "-");
        str_adds(&out, e->stored_dtype ? e->stored_dtype : "-");
        for (int d = 0; d < e->rank; d++)
            str_addf(&out, " %" PRId64, e->shape[d]);
        str_addc(&out, '\n');
    }
    return (str){str_text(&out), out.len};
}

const char *pl_weights_hash(arena *a, wt_file *file, bool with_bytes)
{
    const char *error = NULL;
    str *pieces = ARENA_ARRAY(a, str, file->entries.len + 1);
    pieces[0] = description_of(a, file);
    for (size_t i = 0; with_bytes && i < file->entries.len; i++) {
        const wt_entry *e = &file->entries.at[i];
        const uint8_t *at = wt_bytes(file, e, &error);
        if (!at)
            return NULL;
        pieces[i + 1] = (str){(const char *)at, (size_t)e->bytes};
    }
    return cache_hash_pieces(a, pieces, with_bytes ? file->entries.len + 1 : 1);
}

static void add_weights(arena *a, const pl_unit *u, pl_read_files *out)
{
    bool with_bytes = u->options->embeds_weights;
    for (size_t i = 0; i < u->finder.weight_files.len; i++) {
        wt_file *f = u->finder.weight_files.at[i].file;
        if (f == u->onnx_weights)
            continue;
        const char *hash = pl_weights_hash(a, f, with_bytes);
        pl_read_file file = {arena_strdup(a, f->path), with_bytes ? PL_READ_WEIGHTS : PL_READ_HEADER, hash ? hash : NO_HASH};
        VEC_PUSH(a, out, file);
    }
}

static bool weights_hold(arena *scratch, const pl_read_file *file)
{
    const char *error = NULL;
    wt_file *f = pl_open_weights(scratch, file->path, &error);
    const char *hash = f ? pl_weights_hash(scratch, f, file->what == PL_READ_WEIGHTS) : NULL;
    bool ok = hash && strcmp(hash, file->hash) == 0;
    wt_close(f);
    return ok;
}

// ---- all files ------------------------------------------------------------------------------------------------------

void pl_read_files_add(arena *a, const pl_unit *u, pl_read_files *out)
{
    for (size_t i = 0; i < u->finder.tried.len; i++) {
        const pl_tried *t = &u->finder.tried.at[i];
        pl_read_file file = {arena_strdup(a, t->path), PL_READ_ALL, t->file ? cache_hash(a, t->file->text) : NULL};
        VEC_PUSH(a, out, file);
    }
    add_weights(a, u, out);
}

bool pl_read_files_add_path(arena *a, const char *path, pl_read_files *out)
{
    str text;
    const char *error = NULL;
    if (!file_read(a, path, &text, &error))
        return false;
    pl_read_file file = {path, PL_READ_ALL, cache_hash(a, text)};
    VEC_PUSH(a, out, file);
    return true;
}

static bool holds(arena *scratch, const pl_read_file *file)
{
    str text;
    const char *error = NULL;
    if (file->what != PL_READ_ALL)
        return weights_hold(scratch, file);
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

// Before the hash, by pl_read_what.
static const char marks[] = "=hw";

// Of each file: a mark and the hash, or "-", a blank, the path, 0.
str pl_read_files_write(arena *a, const pl_read_files *files)
{
    str_buf out;
    str_buf_init(&out, a);
    for (size_t i = 0; i < files->len; i++) {
        const pl_read_file *f = &files->at[i];
        if (f->hash)
            str_addf(&out, "%c%s ", marks[f->what], f->hash);
        else
            str_adds(&out, "- ");
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
        const char *mark = blank && *at ? strchr(marks, *at) : NULL;
        if (!blank || (!is_missing && (!mark || blank - at != HASH_LENGTH + 1)))
            return false;
        pl_read_file file = {arena_strdup(a, blank + 1), is_missing ? PL_READ_ALL : (pl_read_what)(mark - marks),
                             is_missing ? NULL : arena_strndup(a, at + 1, HASH_LENGTH)};
        VEC_PUSH(a, out, file);
        at = stop + 1;
    }
    return true;
}
