// Several files that appear together, or none of them.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_priv.h"

static bool fail(arena *a, const char **error, int number)
{
    *error = arena_printf(a, "%s", strerror(number));
    return false;
}

// Whether [path] is still the file that [fd] is: its last owner may have renamed it meanwhile.
static bool is_same(int fd, const char *path)
{
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && lstat(path, &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino && S_ISREG(ours.st_mode);
}

// Nobody else's file, and under no other name: in a folder that others write, too, it could be anything.
static bool is_ours_alone(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 && info.st_uid == geteuid() && info.st_nlink == 1;
}

// The name that is the same each time, for who gets the lock on it; -1 if somebody else has it, or there are no locks.
static int open_common(const char *temporary)
{
    int fd = open(temporary, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_same(fd, temporary) && is_ours_alone(fd) && ftruncate(fd, 0) == 0)
        return fd;
    close(fd);
    return -1;
}

static mode_t usual_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

bool file_stage(arena *a, const char *path, const str *pieces, size_t count, file_staged *out, const char **error)
{
    struct stat info;
    *out = (file_staged){.path = path, .pieces = pieces, .piece_count = count, .fd = -1, .slot = -1};
    if (strcmp(path, "-") == 0 || file_is_special(path))
        return true;
    // The rename would find out, too late for the other files.
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return fail(a, error, EISDIR);
    out->temporary = arena_printf(a, "%s.tmp-hdsc", path);
    out->fd = open_common(out->temporary);
    if (out->fd < 0) {
        out->temporary = arena_printf(a, "%s.tmp-XXXXXX", path);
        out->fd = mkostemp(out->temporary, O_CLOEXEC);
    }
    if (out->fd < 0) {
        int saved = errno;
        out->temporary = NULL;
        return fail(a, error, saved);
    }
    out->slot = file_slot_take(out->temporary);
    if (file_write_pieces(out->fd, pieces, count) && fchmod(out->fd, usual_mode()) == 0)
        return true;
    int saved = errno;
    file_discard(out);
    return fail(a, error, saved);
}

static void release(file_staged *s)
{
    file_slot_release(s->slot);
    if (s->fd >= 0)
        close(s->fd);
    *s = (file_staged){.fd = -1, .slot = -1};
}

bool file_commit(arena *a, file_staged *s, const char **error)
{
    if (!s->temporary)
        return file_write_in_place(a, s->path, s->pieces, s->piece_count, error);
    int saved = rename(s->temporary, s->path) == 0 ? 0 : errno;
    if (saved)
        unlink(s->temporary);
    release(s);
    return !saved || fail(a, error, saved);
}

void file_discard(file_staged *s)
{
    if (s->temporary)
        unlink(s->temporary);
    release(s);
}
