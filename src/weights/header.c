// Headers of safetensors files.
#include "weights/weights.h"

#include <string.h>

#include <hds/runtime.h>

// clang-format off
static const struct { const char *stored, *dtype; } types[] = {
    {"F64", "f64"}, {"F32", "f32"}, {"F16", "f16"}, {"BF16", "bf16"}, {"I64", "i64"}, {"I32", "i32"}, {"I16", "i16"},
    {"I8", "i8"}, {"U64", "u64"}, {"U32", "u32"}, {"U16", "u16"}, {"U8", "u8"}, {"BOOL", "bool"}, {"F8_E4M3", "f8e4m3"},
    {"F8_E5M2", "f8e5m2"}, {"C64", "complex64"},
};
// clang-format on

enum { TYPE_COUNT = sizeof types / sizeof *types };

const char *wt_dtype_of(const char *stored)
{
    for (int i = 0; i < TYPE_COUNT; i++)
        if (strcmp(types[i].stored, stored) == 0)
            return types[i].dtype;
    return NULL;
}

const char *wt_stored_dtype_of(const char *dtype)
{
    for (int i = 0; i < TYPE_COUNT; i++)
        if (strcmp(types[i].dtype, dtype) == 0)
            return types[i].stored;
    return NULL;
}

int wt_dtype_bits(const char *stored)
{
    return hdsrt_stored_bits(stored);
}

void wt_add(wt_file *f, wt_entry entry)
{
    map_put(&f->by_name, entry.name, strlen(entry.name), (void *)(uintptr_t)(f->entries.len + 1));
    VEC_PUSH(f->memory, &f->entries, entry);
}

// A copy of what libhdsrt read.
static wt_entry entry_of(arena *a, const hdsrt_stored_tensor *t, int part)
{
    int64_t *shape = ARENA_ARRAY(a, int64_t, t->ndim + 1);
    memcpy(shape, t->shape, (size_t)t->ndim * sizeof *shape);
    return (wt_entry){
        .name = arena_strdup(a, t->name),
        .dtype = wt_dtype_of(t->dtype),
        .stored_dtype = arena_strdup(a, t->dtype),
        .rank = t->ndim,
        .shape = shape,
        .offset = t->begin,
        .bytes = t->bytes,
        .part = part,
    };
}

// Not an entry of a shard before.
static bool add_entries(wt_file *f, int part, const hdsrt_stored_tensors *tensors, const char **error)
{
    for (size_t i = 0; i < tensors->count; i++) {
        const char *name = tensors->at[i].name;
        if (map_get(&f->by_name, name, strlen(name))) {
            *error = arena_printf(f->memory, "tensor '%s': two shards have it", name);
            return false;
        }
        wt_add(f, entry_of(f->memory, &tensors->at[i], part));
    }
    return true;
}

bool wt_read_header(wt_file *f, int part, str header, int64_t data_bytes, const char **error)
{
    hdsrt_stored_tensors *tensors;
    *error = NULL;
    if (hdsrt_stored_read(header.at, header.len, data_bytes, &tensors)) {
        *error = arena_strdup(f->memory, hdsrt_last_error());
        return false;
    }
    bool ok = add_entries(f, part, tensors, error);
    hdsrt_stored_free(tensors);
    return ok;
}

const wt_entry *wt_find(const wt_file *f, const char *name)
{
    uintptr_t number = (uintptr_t)map_get(&f->by_name, name, strlen(name));
    return number ? &f->entries.at[number - 1] : NULL;
}
