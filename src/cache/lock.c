// One byte of one file for each key, locked as long as somebody makes the entry. These locks belong to the open file, not
// to the process (fcntl's F_OFD_SETLK), so that threads exclude each other, too; the system takes them from the dead.

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "cache/cache_priv.h"

typedef struct opening {
    const cache *cache;
    int fd;
} opening;

enum { FIRST_NAP_US = 500, LONGEST_NAP_US = 20000 };

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void nap(int64_t us)
{
    nanosleep(&(struct timespec){0, us * 1000}, NULL);
}

static int try_lock(int fd, cache_key key)
{
    struct flock byte = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)(key.at[1] >> 2), .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &byte);
}

static bool open_file(arena *a, void *user)
{
    bool is_writable;
    opening *o = user;
    o->fd = cache_open_shared(o->cache, a, "lock", &is_writable);
    if (o->fd >= 0 && !is_writable) {
        close(o->fd);
        o->fd = -1;
    }
    return o->fd >= 0;
}

int cache_lock_open(const cache *c)
{
    opening o = {c, -1};
    cache_with_memory(open_file, &o);
    return o.fd;
}

// Asking again and again: a call that waits could not be given up.
bool cache_lock_wait(const cache *c, int lock, cache_key key, bool (*is_done)(void *user), void *user)
{
    int64_t deadline = now_ms() + c->wait_ms, us = FIRST_NAP_US;
    while (try_lock(lock, key) != 0) {
        bool is_held = errno == EAGAIN || errno == EACCES || errno == EINTR;
        if (!is_held || now_ms() >= deadline)
            return false;
        nap(us);
        us = us * 3 / 2 < LONGEST_NAP_US ? us * 3 / 2 : LONGEST_NAP_US;
        if (is_done && is_done(user))
            return false;
    }
    return true;
}
