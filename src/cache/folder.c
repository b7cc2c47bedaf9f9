// File names, permissions, and reading and writing of whole files.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "cache/cache_priv.h"

static const char ending[] = ".entry";

// ---- names --------------------------------------------------------------------------------------------------------------

static int group_of(cache_key key)
{
    return (int)(key.at[0] >> 56);
}

const char *cache_key_text(arena *a, cache_key key)
{
    return arena_printf(a, "%016llx%016llx", (unsigned long long)key.at[0], (unsigned long long)key.at[1]);
}

const char *cache_group_path(const cache *c, arena *a, int group)
{
    return arena_printf(a, "%s/%02x", c->root, group);
}

const char *cache_path_of(const cache *c, arena *a, cache_key key)
{
    return arena_printf(a, "%s/%s%s", cache_group_path(c, a, group_of(key)), cache_key_text(a, key) + 2, ending);
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool cache_key_of_name(int group, const char *name, cache_key *out)
{
    *out = (cache_key){{(uint64_t)group, 0}};
    if (strlen(name) != CACHE_NAME_LEN + sizeof ending - 1 || strcmp(name + CACHE_NAME_LEN, ending) != 0)
        return false;
    for (int i = 0; i < CACHE_NAME_LEN; i++) {
        int digit = digit_of(name[i]);
        if (digit < 0)
            return false;
        uint64_t *half = &out->at[i + 2 >= 16];
        *half = *half << 4 | (uint64_t)digit;
    }
    return true;
}

// ---- folders ------------------------------------------------------------------------------------------------------------

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// The folder and those above it, with what the umask leaves of [mode].
static bool make_all(arena *a, const char *path, mode_t mode)
{
    if (mkdir(path, mode) == 0 || is_folder(path))
        return true;
    const char *parent = file_folder(a, path);
    return errno == ENOENT && strcmp(parent, path) != 0 && make_all(a, parent, mode) &&
           (mkdir(path, mode) == 0 || is_folder(path));
}

// What is made inside has the permissions of the folder itself: who shares it sets them once, whatever umask the
// processes have.
static mode_t mode_inside(const cache *c)
{
    struct stat info;
    return stat(c->folder, &info) == 0 ? info.st_mode & 07777 : 0700;
}

static mode_t mode_of_files(const cache *c)
{
    return mode_inside(c) & 0666;
}

static bool make_inside(const char *path, mode_t mode)
{
    if (mkdir(path, mode) == 0)
        return chmod(path, mode) == 0 || is_folder(path);
    return errno == EEXIST && is_folder(path);
}

// For programs that make backups (bford.info/cachedir).
static void add_tag(const cache *c, arena *a)
{
    const char *path = arena_printf(a, "%s/CACHEDIR.TAG", c->folder);
    if (!file_exists(path))
        file_write_mode(a, path,
                        STR("Signature: 8a477f597d28d172789f06886806bc55\n# What hdsc compiled; may be removed at any time.\n"),
                        mode_of_files(c));
}

bool cache_make_folders(const cache *c, arena *a, const cache_key *key)
{
    const char *group = key ? cache_group_path(c, a, group_of(*key)) : c->root;
    if (is_folder(group))
        return true;
    if (!is_folder(c->root)) {
        if (!make_all(a, c->folder, c->is_given ? 0777 : 0700) || !make_inside(c->root, mode_inside(c)))
            return false;
        add_tag(c, a);
    }
    return !key || make_inside(group, mode_inside(c));
}

// ---- files --------------------------------------------------------------------------------------------------------------

int cache_open_shared(const cache *c, arena *a, const char *name, bool *is_writable)
{
    const char *path = arena_printf(a, "%s/%s", c->root, name);
    mode_t mode = mode_of_files(c);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    *is_writable = true;
    if (fd >= 0)
        return fd;
    if (errno == ENOENT && cache_make_folders(c, a, NULL) && (fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, mode)) >= 0) {
        (void)!fchmod(fd, mode);  // past the umask
        return fd;
    }
    *is_writable = false;
    return open(path, O_RDONLY | O_CLOEXEC);
}

static ssize_t read_whole(int fd, char *at, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = read(fd, at + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

// Memory for a large file is asked for only where it is an entry: a file that damage made long must not take all there is.
static bool is_worth_reading(const char *path, size_t size)
{
    enum { SMALL = 1 << 20 };
    char head[CACHE_HEAD];
    if (size <= SMALL)
        return true;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && read_whole(fd, head, sizeof head) == (ssize_t)sizeof head && cache_record_may_be(head, size);
    if (fd >= 0)
        close(fd);
    return ok;
}

// Memory comes first: where it runs out control leaves, and no file may be open then.
const char *cache_read_file(arena *a, const char *path, str *out, bool *is_missing)
{
    struct stat info;
    *is_missing = false;
    if (stat(path, &info) != 0) {
        *is_missing = errno == ENOENT || errno == ENOTDIR;
        return arena_strdup(a, strerror(errno));
    }
    if (!S_ISREG(info.st_mode))
        return S_ISDIR(info.st_mode) ? "it is a folder" : "it is not a file";
    size_t size = (size_t)info.st_size;
    if (!is_worth_reading(path, size))
        return "its size is not that of an entry";
    char *bytes = arena_alloc(a, size + 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read_whole(fd, bytes, size) : -1;
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (got < 0)
        return arena_strdup(a, strerror(error));
    *out = (str){bytes, (size_t)got};
    return NULL;
}

// A write beyond the limit on file sizes is like one on a full disk: no reason to end the program (RLIMIT_FSIZE, SIGXFSZ).
static bool write_quietly(const cache *c, arena *a, const char *path, str bytes)
{
    sigset_t limit, before;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    bool is_blocked = pthread_sigmask(SIG_BLOCK, &limit, &before) == 0;
    bool ok = file_write_mode(a, path, bytes, mode_of_files(c));
    int error = errno;
    if (!ok && error == EFBIG && is_blocked && !sigismember(&before, SIGXFSZ))
        sigtimedwait(&limit, NULL, &(struct timespec){0});
    if (is_blocked)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return ok;
}

bool cache_write_file(const cache *c, arena *a, cache_key key, str bytes)
{
    const char *path = cache_path_of(c, a, key);
    if (!cache_make_folders(c, a, &key))
        return false;
    if (write_quietly(c, a, path, bytes))
        return true;
    // A folder in the way, if there is nothing in it.
    return (errno == EISDIR || errno == ENOTEMPTY || errno == EEXIST) && rmdir(path) == 0 && write_quietly(c, a, path, bytes);
}
