// Writing safetensors files.
#include "weights/weights.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/file.h"

enum { ALIGN_BYTES = 8 }; // of where the tensors' bytes begin

static bool bytes_of(const wt_entry *e, const char *stored, int64_t *out)
{
    *out = stored ? wt_dtype_bits(stored) / 8 : 0;
    bool ok = stored != NULL;
    for (int d = 0; d < e->rank && ok; d++)
        ok = e->shape[d] >= 0 && mul_checked(*out, e->shape[d], out);
    return ok;
}

static json_t *describe(const wt_entry *e, const char *stored, int64_t begin, int64_t bytes)
{
    json_t *shape = json_array();
    for (int d = 0; d < e->rank; d++)
        json_array_append_new(shape, json_integer(e->shape[d]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", stored, "shape", shape, "data_offsets", (json_int_t)begin,
                     (json_int_t)(begin + bytes));
}

static bool add_entries(json_t *top, const wt_entry *entries, size_t count, int64_t *sizes)
{
    int64_t begin = 0;
    for (size_t i = 0; i < count; i++) {
        const char *stored = wt_stored_dtype_of(entries[i].dtype);
        if (!bytes_of(&entries[i], stored, &sizes[i]) || json_object_get(top, entries[i].name) ||
            json_object_set_new(top, entries[i].name, describe(&entries[i], stored, begin, sizes[i])) != 0)
            return false;
        begin += sizes[i];
    }
    return true;
}

static void add_header(str_buf *out, const char *text)
{
    size_t len = (strlen(text) + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    for (int i = 0; i < 8; i++)
        str_addc(out, (char)((uint64_t)len >> (8 * i)));
    str_adds(out, text);
    for (size_t i = strlen(text); i < len; i++)
        str_addc(out, ' ');
}

str *wt_pieces(arena *a, const wt_entry *entries, const uint8_t *const *bytes, size_t count, const char **error)
{
    json_t *top = json_object();
    int64_t *sizes = ARENA_ARRAY(a, int64_t, count + 1);
    char *text = add_entries(top, entries, count, sizes) ? json_dumps(top, JSON_COMPACT) : NULL;
    json_decref(top);
    *error = text ? NULL : "a tensor has no type or shape that can be stored, or a name that another one has";
    if (!text)
        return NULL;
    str *pieces = ARENA_ARRAY(a, str, count + 1);
    str_buf header;
    str_buf_init(&header, a);
    add_header(&header, text);
    free(text);
    pieces[0] = (str){str_text(&header), header.len};
    for (size_t i = 0; i < count; i++)
        pieces[i + 1] = (str){(const char *)bytes[i], (size_t)sizes[i]};
    return pieces;
}

str *wt_file_pieces(arena *a, wt_file *f, const char **error)
{
    const uint8_t **bytes = ARENA_ARRAY(a, const uint8_t *, f->entries.len + 1);
    *error = NULL;
    for (size_t i = 0; i < f->entries.len && !*error; i++)
        bytes[i] = wt_bytes(f, &f->entries.at[i], error);
    return *error ? NULL : wt_pieces(a, f->entries.at, bytes, f->entries.len, error);
}

bool wt_write(arena *a, const char *path, const wt_entry *entries, const uint8_t *const *bytes, size_t count, const char **error)
{
    file_staged staged;
    const str *pieces = wt_pieces(a, entries, bytes, count, error);
    return pieces && file_stage(a, path, pieces, count + 1, &staged, error) && file_commit(a, &staged, error);
}
