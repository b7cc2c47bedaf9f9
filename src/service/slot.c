// Worker processes as seen from the pool: started and ended by the thread of a slot.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "service/pool_priv.h"

// A program that is no worker may never say anything.
enum { GREETING_SECONDS = 20 };

// The socket is its standard input. Output that NVRTC prints is discarded.
static int spawn(const char *const *command, int socket, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int error = posix_spawn(pid, command[0], &actions, &attributes, (char *const *)command, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

static bool is_greeted(int fd)
{
    struct timeval most = {.tv_sec = GREETING_SECONDS}, any = {0};
    char *message;
    size_t len;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    bool ok = svc_receive(fd, &message, &len) && str_equal((str){message, len}, STR(SVC_GREETING));
    free(message);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &any, sizeof any);
    return ok;
}

static void set_process(svc_slot *slot, pid_t pid)
{
    pthread_mutex_lock(&slot->pool->lock);
    slot->pid = pid;
    pthread_mutex_unlock(&slot->pool->lock);
}

bool svc_slot_start(svc_slot *slot)
{
    int ends[2];
    pid_t pid;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    bool ok = spawn(slot->pool->command, ends[1], &pid) == 0;
    close(ends[1]);
    if (!ok) {
        close(ends[0]);
        return false;
    }
    slot->fd = ends[0];
    set_process(slot, pid);
    if (is_greeted(slot->fd))
        return true;
    svc_slot_end(slot);
    return false;
}

// No signal goes to a process id that has been waited for: it may be another's by then.
int svc_slot_end(svc_slot *slot)
{
    int status = 0;
    pid_t pid = slot->pid;
    kill(pid, SIGKILL);
    close(slot->fd);
    slot->fd = -1;
    set_process(slot, 0);
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return 0;
    }
    return status;
}
