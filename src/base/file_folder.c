// Temporary folders: made, removed at the end and on signals, and those of killed processes found again.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/file_priv.h"

#define PREFIX "hdsc-build-"

// Younger ones may belong to a process that has not got to its lock yet.
enum { LEAST_AGE_S = 60 };

// As getdents64(2) gives them; opendir takes memory, which a signal handler must not.
typedef struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
} entry;

// The files in a folder, and those in the folders in it.
static void empty_level(int fd, bool is_inner)
{
    _Alignas(entry) char block[2048];
    long len;
    while ((len = syscall(SYS_getdents64, fd, block, sizeof block)) > 0) {
        for (long at = 0; at < len; at += ((const entry *)(block + at))->size) {
            const char *name = ((const entry *)(block + at))->name;
            if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || unlinkat(fd, name, 0) == 0 || is_inner)
                continue;
            int inner = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (inner < 0)
                continue;
            empty_level(inner, true);
            close(inner);
            unlinkat(fd, name, AT_REMOVEDIR);
        }
    }
}

void file_folder_empty(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    empty_level(fd, false);
    close(fd);
    rmdir(folder);
}

// ---- making and removing -----------------------------------------------------------------------------------------

// Whether a folder of ours has lost its owner: no process holds the lock on it.
static bool is_abandoned(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 && info.st_uid == geteuid() && time(NULL) - info.st_mtime > LEAST_AGE_S &&
           flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void remove_abandoned(arena *a, const char *parent)
{
    DIR *dir = opendir(parent);
    if (!dir)
        return;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        int fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (is_abandoned(fd))
            file_folder_empty(arena_printf(a, "%s/%s/", parent, e->d_name));
        close(fd);
    }
    closedir(dir);
}

const char *file_folder_new(arena *a, int *fd, const char **error)
{
    const char *given = getenv("TMPDIR"), *parent = given && *given ? given : "/tmp";
    remove_abandoned(a, parent);
    char *folder = arena_printf(a, "%s/" PREFIX "XXXXXX", parent);
    if (!mkdtemp(folder)) {
        *error = arena_printf(a, "cannot make a folder in '%s': %s", parent, strerror(errno));
        return NULL;
    }
    char *path = arena_printf(a, "%s/", folder);
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd >= 0)
        flock(*fd, LOCK_EX | LOCK_NB);
    file_slot_take(path);
    return path;
}

void file_folder_remove(const char *folder, int fd)
{
    file_folder_empty(folder);
    file_slot_drop(folder);
    if (fd >= 0)
        close(fd);
}
