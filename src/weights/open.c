// Opening: single files, and shards that an index names.
#include "weights/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/shard_name.h"

enum { LENGTH_BYTES = 8, MOST_HEADER_BYTES = 100 * 1000 * 1000 }; // the limit of the format's own library

// A regular file that is open for reading. Others, such as pipes, would block or have no end.
static int open_regular(const char *path, int64_t *size, const char **error)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool ok = fd >= 0 && fstat(fd, &st) == 0;
    *error = ok ? NULL : strerror(errno);
    if (ok && !S_ISREG(st.st_mode))
        *error = S_ISDIR(st.st_mode) ? "it is a folder" : "it is no regular file";
    if (*error) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *size = st.st_size;
    return fd;
}

static bool read_all(int fd, void *to, size_t bytes, off_t from)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, (char *)to + done, bytes - done, from + (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static uint64_t little_endian(const uint8_t bytes[LENGTH_BYTES])
{
    uint64_t n = 0;
    for (int i = 0; i < LENGTH_BYTES; i++)
        n |= (uint64_t)bytes[i] << (8 * i);
    return n;
}

static const char *read_part(wt_file *f, int number)
{
    wt_part *p = &f->parts.at[number];
    uint8_t length[LENGTH_BYTES];
    if (p->size < LENGTH_BYTES)
        return "it is shorter than the 8 bytes that say how long its header is";
    if (!read_all(p->fd, length, LENGTH_BYTES, 0))
        return "it cannot be read";
    uint64_t n = little_endian(length), limit = (uint64_t)p->size - LENGTH_BYTES;
    if (n > limit || n > MOST_HEADER_BYTES)
        return arena_printf(f->memory, "its header has %" PRIu64 " bytes, and %" PRIu64 " are possible", n,
                            limit < MOST_HEADER_BYTES ? limit : MOST_HEADER_BYTES);
    char *header = arena_alloc(f->memory, (size_t)n + 1);
    if (!read_all(p->fd, header, (size_t)n, LENGTH_BYTES))
        return "it cannot be read";
    p->data_begin = LENGTH_BYTES + (int64_t)n;
    const char *error = NULL;
    wt_read_header(f, number, (str){header, (size_t)n}, p->size - p->data_begin, &error);
    return error;
}

static const char *add_part(wt_file *f, const char *path)
{
    const char *error = NULL;
    wt_part p = {.path = path};
    p.fd = open_regular(path, &p.size, &error);
    if (error)
        return error;
    VEC_PUSH(f->memory, &f->parts, p);
    return read_part(f, (int)f->parts.len - 1);
}

// ---- shards --------------------------------------------------------------------------------------------------------------

// Each shard is opened once, in the order of the index.
static const char *open_shards(wt_file *f, const json_t *weight_map)
{
    map seen;
    map_init(&seen, f->memory);
    const char *name, *folder = file_folder(f->memory, f->path);
    json_t *value;
    json_object_foreach((json_t *)weight_map, name, value) {
        const char *shard = json_string_value(value);
        if (!shard || !shard_stays_inside(shard))
            return arena_printf(f->memory, "tensor '%s': its file's name does not stay in the folder of the index", name);
        if (map_get(&seen, shard, strlen(shard)))
            continue;
        map_put(&seen, shard, strlen(shard), f);
        const char *path = file_join(f->memory, folder, arena_strdup(f->memory, shard)), *error = add_part(f, path);
        if (error)
            return arena_printf(f->memory, "shard '%s': %s", shard, error);
    }
    return NULL;
}

// The index and the shards name the same tensors.
static const char *compare_names(const wt_file *f, const json_t *weight_map)
{
    const char *name, *folder = file_folder(f->memory, f->path);
    json_t *value;
    json_object_foreach((json_t *)weight_map, name, value) {
        const wt_entry *e = wt_find(f, name);
        const char *path = file_join(f->memory, folder, json_string_value(value));
        if (!e || strcmp(f->parts.at[e->part].path, path) != 0)
            return arena_printf(f->memory, "tensor '%s' is not in '%s', as the index says", name, json_string_value(value));
    }
    for (size_t i = 0; i < f->entries.len; i++)
        if (!json_object_get(weight_map, f->entries.at[i].name))
            return arena_printf(f->memory, "tensor '%s' of a shard is not in the index", f->entries.at[i].name);
    return NULL;
}

static const char *read_index(wt_file *f)
{
    const char *error = NULL;
    json_error_t where;
    int64_t size = 0;
    int fd = open_regular(f->path, &size, &error);
    if (error)
        return error;
    bool is_short = size <= MOST_HEADER_BYTES;
    char *text = is_short ? arena_alloc(f->memory, (size_t)size + 1) : NULL;
    bool is_read = is_short && read_all(fd, text, (size_t)size, 0);
    close(fd);
    if (!is_read)
        return is_short ? "it cannot be read" : "an index has at most 100000000 bytes";
    json_t *top = json_loadb(text, (size_t)size, JSON_REJECT_DUPLICATES, &where), *weight_map = json_object_get(top, "weight_map");
    if (!top)
        error = arena_printf(f->memory, "line %d: %s", where.line, where.text);
    else if (!json_is_object(weight_map))
        error = "it has no map 'weight_map'";
    else if (!(error = open_shards(f, weight_map)))
        error = compare_names(f, weight_map);
    json_decref(top);
    return error;
}

// ---- all together ----------------------------------------------------------------------------------------------------------

wt_file *wt_new(arena *a, const char *path)
{
    wt_file *f = ARENA_NEW(a, wt_file);
    *f = (wt_file){.memory = a, .path = arena_strdup(a, path)};
    map_init(&f->by_name, a);
    return f;
}

int wt_add_part(wt_file *f, const char *path, int fd, int64_t size)
{
    VEC_PUSH(f->memory, &f->parts, ((wt_part){.path = path, .fd = fd, .size = size}));
    return (int)f->parts.len - 1;
}

wt_file *wt_open(arena *a, const char *path, const char **error)
{
    wt_file *f = wt_new(a, path);
    *error = str_ends(str_of(path), STR(".json")) ? read_index(f) : add_part(f, f->path);
    if (!*error)
        return f;
    wt_close(f);
    return NULL;
}

// The size is asked for again: the header may have been read long ago.
static const char *map_part(wt_part *p)
{
    struct stat st;
    if (fstat(p->fd, &st) != 0 || st.st_size != p->size)
        return "its size has changed since its header was read";
    void *at = mmap(NULL, (size_t)p->size, PROT_READ, MAP_PRIVATE, p->fd, 0);
    if (at == MAP_FAILED)
        return strerror(errno);
    p->mapped = at;
    return NULL;
}

const uint8_t *wt_bytes(wt_file *f, const wt_entry *e, const char **error)
{
    *error = NULL;
    if (e->at)
        return e->at;
    wt_part *p = &f->parts.at[e->part];
    *error = p->mapped ? NULL : map_part(p);
    return *error ? NULL : p->mapped + p->data_begin + e->offset;
}

void wt_close(wt_file *f)
{
    for (size_t i = 0; f && i < f->parts.len; i++) {
        wt_part *p = &f->parts.at[i];
        if (p->mapped)
            munmap(p->mapped, (size_t)p->size);
        if (p->fd >= 0)
            close(p->fd);
        p->mapped = NULL;
        p->fd = -1;
    }
    if (f)
        file_unmap(&f->mapped);
}

static wt_entry copy_entry(arena *a, wt_entry e, bool with_bytes)
{
    int64_t *shape = ARENA_ARRAY(a, int64_t, e.rank + 1);
    if (e.rank) // of a number it may be NULL
        memcpy(shape, e.shape, (size_t)e.rank * sizeof *shape);
    e.name = arena_strdup(a, e.name);
    e.dtype = e.dtype ? arena_strdup(a, e.dtype) : NULL;
    e.stored_dtype = e.stored_dtype ? arena_strdup(a, e.stored_dtype) : NULL;
    e.shape = shape;
    e.at = with_bytes ? e.at : NULL;
    return e;
}

wt_file *wt_copy(arena *a, const wt_file *f, bool with_bytes)
{
    wt_file *copy = wt_new(a, arena_strdup(a, f->path));
    for (size_t i = 0; i < f->parts.len; i++) {
        const wt_part *p = &f->parts.at[i];
        int number = wt_add_part(copy, arena_strdup(a, p->path), with_bytes ? fcntl(p->fd, F_DUPFD_CLOEXEC, 0) : -1, p->size);
        copy->parts.at[number].data_begin = p->data_begin;
    }
    for (size_t i = 0; i < f->entries.len; i++)
        wt_add(copy, copy_entry(a, f->entries.at[i], with_bytes));
    return copy;
}
