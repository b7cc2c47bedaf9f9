#include "base/file.h"

#include "base/file_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// Paths of temporary files being written, for file_remove_temporaries. A slot is taken with a compare-and-swap so that
// several compiling threads can write at once. This is the only process-wide state: signals are per process.
enum { SLOTS = 4096 };
static _Atomic(char *) temporaries[SLOTS];

static atomic_bool is_ending;

// The thread that ends the process may have looked at the slot of [path] before it was taken: then the thread that made the file
// removes it, and stops.
static void remove_if_ending(const char *path)
{
    if (!atomic_load(&is_ending))
        return;
    remove(path);
    for (;;)
        pause();
}

int file_slot_take(char *path)
{
    int slot = -1;
    for (int i = 0; slot < 0 && i < SLOTS; i++) {
        char *empty = NULL;
        if (atomic_compare_exchange_strong(&temporaries[i], &empty, path))
            slot = i;
    }
    remove_if_ending(path);
    return slot;
}

void file_slot_release(int slot)
{
    if (slot >= 0)
        atomic_store(&temporaries[slot], NULL);
}

void file_slot_drop(const char *path)
{
    for (int i = 0; i < SLOTS; i++) {
        if (atomic_load(&temporaries[i]) == path)
            atomic_store(&temporaries[i], NULL);
    }
}

void file_stop_temporaries(void)
{
    atomic_store(&is_ending, true);
}

void file_remove_temporaries(void)
{
    for (int i = 0; i < SLOTS; i++) {
        char *path = atomic_load(&temporaries[i]);
        if (path && path[strlen(path) - 1] == '/')
            file_folder_empty(path);
        else if (path)
            unlink(path);
    }
}

static bool fail(arena *a, const char **error, const char *what)
{
    *error = arena_printf(a, "%s", strerror(errno));
    if (what)
        *error = arena_printf(a, "%s: %s", what, *error);
    return false;
}

// At most [most] bytes. A block is no larger than what may come.
static bool read_up_to(arena *a, int fd, size_t most, str_buf *out)
{
    size_t size = most < 1 << 16 ? most : 1 << 16;
    char *block = arena_alloc(a, size + 1);
    while (most) {
        ssize_t n = read(fd, block, most < size ? most : size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        str_add(out, (str){block, (size_t)n});
        most -= (size_t)n;
    }
    return true;
}

bool file_stream_open(arena *a, const char *path, file_stream *out, const char **error)
{
    struct stat info;
    *out = (file_stream){.fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), .size = -1};
    if (out->fd < 0)
        return fail(a, error, NULL);
    if (fstat(out->fd, &info) != 0)
        return true;
    off_t at = S_ISREG(info.st_mode) ? lseek(out->fd, 0, SEEK_CUR) : -1;
    if (at >= 0 && info.st_size > at) // files of /proc have no size, and are not empty
        out->size = info.st_size - at;
    if (!S_ISDIR(info.st_mode))
        return true;
    file_stream_close(out);
    errno = EISDIR;
    return fail(a, error, NULL);
}

bool file_stream_read(arena *a, file_stream *f, size_t most, str *out, const char **error)
{
    str_buf text;
    str_buf_init(&text, a);
    if (!read_up_to(a, f->fd, most, &text))
        return fail(a, error, NULL);
    *out = (str){str_text(&text), text.len};
    return true;
}

void file_stream_close(file_stream *f)
{
    if (f->fd != STDIN_FILENO)
        close(f->fd);
    f->fd = -1;
}

bool file_read(arena *a, const char *path, str *out, const char **error)
{
    enum { MOST_BYTES = INT32_MAX };  // of what may be endless; a model of ONNX has no more, either
    file_stream f;
    if (!file_stream_open(a, path, &f, error))
        return false;
    bool is_bounded = f.size >= 0, ok = file_stream_read(a, &f, is_bounded ? SIZE_MAX : MOST_BYTES + (size_t)1, out, error);
    file_stream_close(&f);
    if (ok && !is_bounded && out->len > MOST_BYTES) {
        *error = "it is no regular file, and has 2 GiB or more";
        ok = false;
    }
    return ok;
}

bool file_map(arena *a, const char *path, str *out, const char **error)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *out = STR("");
    if (fd < 0 || fstat(fd, &info) != 0) {
        fail(a, error, NULL);
        if (fd >= 0)
            close(fd);
        return false;
    }
    *error = S_ISREG(info.st_mode) ? NULL : S_ISDIR(info.st_mode) ? strerror(EISDIR) : "it is no regular file";
    void *at = *error || !info.st_size ? NULL : mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        fail(a, error, NULL);
    else if (at)
        *out = (str){at, (size_t)info.st_size};
    close(fd);
    return !*error;
}

void file_unmap(str *mapped)
{
    if (mapped->len)
        munmap((void *)mapped->at, mapped->len);
    *mapped = (str){0};
}

static bool write_all(int fd, str text)
{
    size_t done = 0;
    while (done < text.len) {
        ssize_t n = write(fd, text.at + done, text.len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

bool file_write_pieces(int fd, const str *pieces, size_t count)
{
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++)
        ok = write_all(fd, pieces[i]);
    return ok;
}

// Devices and pipes (/dev/null, /dev/full, a FIFO) are written in place: a rename would replace them.
bool file_is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

bool file_write_in_place(arena *a, const char *path, const str *pieces, size_t count, const char **error)
{
    bool is_stdout = strcmp(path, "-") == 0;
    int fd = is_stdout ? STDOUT_FILENO : open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(a, error, NULL);
    bool ok = file_write_pieces(fd, pieces, count);
    int saved = errno;
    if (!is_stdout && close(fd) != 0 && ok) {
        ok = false;
        saved = errno;
    }
    errno = saved;
    return ok || fail(a, error, NULL);
}

// With the permissions [mode].
static bool write_beside(arena *a, const char *path, str text, mode_t mode, const char **error)
{
    char *temporary = arena_printf(a, "%s.tmp-XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return fail(a, error, NULL);
    int slot = file_slot_take(temporary);
    bool ok = write_all(fd, text) && fchmod(fd, mode) == 0;
    int saved = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        saved = errno;
    }
    if (ok && rename(temporary, path) != 0) {
        ok = false;
        saved = errno;
    }
    if (!ok)
        unlink(temporary);
    file_slot_release(slot);
    errno = saved;
    return ok || fail(a, error, NULL);
}

bool file_write(arena *a, const char *path, str text, const char **error)
{
    if (strcmp(path, "-") == 0 || file_is_special(path))
        return file_write_in_place(a, path, &text, 1, error);
    mode_t mask = umask(0);
    umask(mask);
    return write_beside(a, path, text, 0666 & ~mask, error);
}

bool file_write_mode(arena *a, const char *path, str text, unsigned mode)
{
    const char *error = NULL;
    return write_beside(a, path, text, (mode_t)mode, &error);
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

const char *file_folder(arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return slash == path ? "/" : arena_strndup(a, path, (size_t)(slash - path));
}

const char *file_join(arena *a, const char *folder, const char *name)
{
    if (name[0] == '/' || strcmp(folder, ".") == 0)
        return name;
    return arena_printf(a, "%s/%s", folder, name);
}
