// Tensors whose bytes are in other files: regular ones in the model's folder, or below it, that no link leads to.
#include "onnx/model.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

typedef struct place {
    const char *location;
    int64_t offset, length; // length < 0: not said
} place;

static bool read_number(const char *text, int64_t *out)
{
    *out = 0;
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || *out > (INT64_MAX - 9) / 10)
            return false;
        *out = *out * 10 + (*c - '0');
    }
    return *text != 0;
}

static const char *read_place(const Onnx__Tensor *t, place *p)
{
    *p = (place){.length = -1};
    for (size_t i = 0; i < t->n_external_data; i++) {
        const char *key = t->external_data[i]->key, *value = t->external_data[i]->value;
        if (!key || !value)
            continue;
        if (strcmp(key, "location") == 0)
            p->location = value;
        if ((strcmp(key, "offset") == 0 && !read_number(value, &p->offset)) ||
            (strcmp(key, "length") == 0 && !read_number(value, &p->length)))
            return "its offset or its length is no number from 0 on";
    }
    return p->location && *p->location ? NULL : "it does not say which file it is in";
}

// Opens the next folder of a path, or its file. Links are refused by the system.
static int open_part(int folder, const char *name, bool is_last)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (is_last ? O_NONBLOCK : O_DIRECTORY);
    return strcmp(name, "..") == 0 ? (errno = EACCES, -1) : openat(folder, name, flags);
}

static int open_below(arena *a, const char *folder, const char *location)
{
    int at = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    while (at >= 0 && *location) {
        size_t len = strcspn(location, "/");
        const char *name = arena_strndup(a, location, len), *rest = location + len + strspn(location + len, "/");
        int next = *name ? open_part(at, name, !*rest) : (errno = EACCES, -1);
        int reason = errno;
        close(at);
        errno = reason;
        at = next;
        location = rest;
    }
    return at;
}

static const char *open_file(onnx_model *m, const char *location, int *part)
{
    struct stat st;
    const char *path = file_join(m->memory, file_folder(m->memory, m->path), location);
    for (size_t i = 0; i < m->weights->parts.len; i++)
        if (strcmp(m->weights->parts.at[i].path, path) == 0) {
            *part = (int)i;
            return NULL;
        }
    int fd = open_below(m->memory, file_folder(m->memory, m->path), location);
    if (fd < 0)
        return errno == ELOOP || errno == EACCES || errno == ENOTDIR
                   ? "the file's path leaves the model's folder, leads through a link, or may not be read"
                   : strerror(errno);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1) {
        close(fd);
        return "the file is no regular file, or has other names (hard links)";
    }
    *part = wt_add_part(m->weights, path, fd, st.st_size);
    return NULL;
}

bool onnx_find_external(onnx_model *m, const Onnx__Tensor *t, wt_entry *e)
{
    place p;
    const char *error = read_place(t, &p);
    if (!error)
        error = open_file(m, p.location, &e->part);
    if (!error) {
        int64_t size = m->weights->parts.at[e->part].size;
        if (p.length >= 0 && p.length != e->bytes)
            error = arena_printf(m->memory, "%" PRId64 " bytes are said, and its type and extents need %" PRId64, p.length, e->bytes);
        else if (p.offset > size || e->bytes > size - p.offset)
            error = arena_printf(m->memory, "its bytes, %" PRId64 " from %" PRId64 " on, are not in the file, which has %" PRId64, e->bytes,
                                 p.offset, size);
    }
    e->offset = p.offset;
    return !error || onnx_failed(m, arena_printf(m->memory, "tensor '%s' in '%s': %s", e->name, p.location ? p.location : "", error));
}
