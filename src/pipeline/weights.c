#include "pipeline/weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "pipeline/onnx_input.h"
#include "target/dtype.h"

bool pl_weights_are_random(const char *text, uint64_t *seed)
{
    *seed = 0;
    if (!text || strncmp(text, "random", 6) != 0 || (text[6] && text[6] != ':'))
        return false;
    char *end = NULL;
    if (text[6])
        *seed = strtoull(text + 7, &end, 10);
    return !text[6] || (text[7] >= '0' && text[7] <= '9' && !*end);
}

// ---- where they are --------------------------------------------------------------------------------------------------------

static const char *look(pl_finder *f, const char *folder, const char *name, str_buf *looked)
{
    const char *path = file_join(f->arena, folder, name);
    str_addf(looked, "%s'%s'", looked->len ? ", " : "", path);
    if (file_exists(path))
        return path;
    pl_finder_note(f, path, NULL);
    return NULL;
}

// Beside the file that names it, or in the folders of -I. NULL: it is in none of them.
static const char *find_path(pl_finder *f, const char *name, const src_file *importer, str_buf *looked)
{
    const char *folder = importer ? pl_finder_folder(f, importer) : NULL;
    if (*name == '/')
        return file_exists(name) ? name : NULL;
    const char *path = look(f, folder ? folder : ".", name, looked);
    for (int i = 0; !path && i < f->include_count; i++)
        path = look(f, f->include_folders[i], name, looked);
    return path;
}

// ---- what is in them -------------------------------------------------------------------------------------------------------

static const pl_weights *known(const pl_finder *f, const char *path)
{
    for (size_t i = 0; i < f->weight_files.len; i++)
        if (strcmp(f->weight_files.at[i].file->path, path) == 0)
            return &f->weight_files.at[i];
    return NULL;
}

static const wt_file *open_once(pl_finder *f, const char *name, const char *path, const char **why)
{
    const pl_weights *w = known(f, path);
    if (w)
        return w->file;
    wt_file *file = pl_open_weights(f->arena, path, why);
    if (file)
        VEC_PUSH(f->arena, &f->weight_files, ((pl_weights){name, file}));
    return file;
}

static void describe(pl_finder *f, const wt_file *file, tc_weight_file *out)
{
    tc_weight_entry *at = ARENA_ARRAY(f->arena, tc_weight_entry, file->entries.len + 1);
    for (size_t i = 0; i < file->entries.len; i++) {
        const wt_entry *e = &file->entries.at[i];
        at[i] = (tc_weight_entry){e->name, DT_NONE, e->stored_dtype, e->rank, e->shape};
        if (e->dtype && !dt_find(str_of(e->dtype), &at[i].type))
            at[i].type = DT_NONE;
    }
    *out = (tc_weight_file){.path = file->path, .at = at, .len = file->entries.len};
}

// Weights that the input itself has: it was an ONNX file.
static const wt_file *own_weights(const pl_finder *f, const char *name)
{
    for (size_t i = 0; name && i < f->weight_files.len; i++)
        if (onnx_is_path(f->weight_files.at[i].file->path) && strcmp(f->weight_files.at[i].name, name) == 0)
            return f->weight_files.at[i].file;
    return NULL;
}

bool pl_find_weights(void *user, const char *name, const src_file *importer, tc_weight_file *out, const char **why,
                     const char **looked)
{
    pl_finder *f = user;
    uint64_t seed;
    str_buf tried;
    str_buf_init(&tried, f->arena);
    bool is_random = pl_weights_are_random(f->weights, &seed);
    const wt_file *own = f->weights ? NULL : own_weights(f, name);
    if (own) {
        describe(f, own, out);
        return true;
    }
    const char *path = f->weights && !is_random ? f->weights : name ? find_path(f, name, importer, &tried) : NULL;
    *looked = NULL;
    if (!path && (is_random || !name)) {
        *out = (tc_weight_file){.path = name ? name : "", .is_open = true};
        return true;
    }
    if (!path) {
        *why = "there is no such file";
        *looked = tried.len ? str_text(&tried) : NULL;
        return false;
    }
    out->path = path;
    const wt_file *file = open_once(f, name ? name : "", path, why);
    if (file)
        describe(f, file, out);
    return file != NULL;
}

wt_file *pl_weights_of(const pl_finder *f, const char *name)
{
    for (size_t i = 0; i < f->weight_files.len; i++)
        if (strcmp(f->weight_files.at[i].name, name) == 0)
            return f->weight_files.at[i].file;
    const pl_weights *w = known(f, name);
    return w ? w->file : NULL;
}

const uint8_t *pl_weight_bytes(const pl_finder *f, const char *file, const char *name, const char **why)
{
    wt_file *w = pl_weights_of(f, file);
    const wt_entry *e = w ? wt_find(w, name) : NULL;
    *why = "the model names no file";
    return e ? wt_bytes(w, e, why) : NULL;
}

void pl_weights_close(pl_finder *f)
{
    for (size_t i = 0; i < f->weight_files.len; i++)
        wt_close(f->weight_files.at[i].file);
    f->weight_files.len = 0;
}
