#include "toolchain/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

// ---- words ------------------------------------------------------------------------------------------------------

void tool_words_add(arena *a, tool_words *words, const char *text)
{
    for (const char *at = text;;) {
        at += strspn(at, " \t\n");
        size_t len = strcspn(at, " \t\n");
        if (!len)
            return;
        VEC_PUSH(a, &words->at, arena_strndup(a, at, len));
        at += len;
    }
}

const char *tool_words_join(arena *a, const tool_words *words)
{
    str_buf text;
    str_buf_init(&text, a);
    for (size_t i = 0; i < words->at.len; i++)
        str_addf(&text, "%s%s", i ? " " : "", words->at.at[i]);
    return str_text(&text);
}

static bool is_program(const char *path)
{
    struct stat info;
    return access(path, X_OK) == 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

// Programs are run in other folders than ours.
static const char *absolute(arena *a, const char *path)
{
    if (path[0] == '/')
        return path;
    char *folder = getcwd(NULL, 0);
    const char *whole = folder ? arena_printf(a, "%s/%s", folder, path) : path;
    free(folder);
    return whole;
}

const char *tool_program_find(arena *a, const char *name)
{
    if (strchr(name, '/'))
        return is_program(name) ? absolute(a, name) : NULL;
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/usr/bin:/bin";;) {
        size_t len = strcspn(at, ":");
        const char *found = len ? arena_printf(a, "%.*s/%s", (int)len, at, name) : arena_printf(a, "./%s", name);
        if (is_program(found))
            return absolute(a, found);
        if (!at[len])
            return NULL;
        at += len + 1;
    }
}

// ---- running ----------------------------------------------------------------------------------------------------

static bool give_up(arena *a, tool_run_result *out, const char *what, int number)
{
    out->failure = arena_printf(a, "%s: %s", what, strerror(number));
    return false;
}

// Programs that run, each the leader of a group, for tool_end_programs: signals are per process.
enum { MOST_PROGRAMS = 1024 };
static _Atomic(pid_t) programs[MOST_PROGRAMS];
static atomic_bool is_ending;

// The thread that ends the process does not come back.
static void stop_if_ending(void)
{
    while (atomic_load(&is_ending))
        pause();
}

static int note_program(pid_t pid)
{
    for (int i = 0; i < MOST_PROGRAMS; i++) {
        pid_t none = 0;
        if (atomic_compare_exchange_strong(&programs[i], &none, pid))
            return i;
    }
    return -1;
}

// Whether anything of the group is left. Its leader is ours to wait for.
static bool is_left(pid_t pid)
{
    waitpid(pid, NULL, WNOHANG);
    return kill(-pid, 0) == 0;
}

static void end_by(int number)
{
    enum { WAITS = 200 };
    const struct timespec five_ms = {0, 5000000};
    for (int i = 0; i < MOST_PROGRAMS; i++) {
        pid_t pid = atomic_load(&programs[i]); // once: it may end meanwhile, and group 0 is our own
        if (pid)
            kill(-pid, number);
    }
    for (int waits = 0, left = 1; left && waits < WAITS; waits++) {
        left = 0;
        for (int i = 0; i < MOST_PROGRAMS; i++) {
            pid_t pid = atomic_load(&programs[i]);
            left += pid && is_left(pid);
        }
        if (left)
            nanosleep(&five_ms, NULL);
    }
}

void tool_end_programs(void)
{
    atomic_store(&is_ending, true);
    end_by(SIGTERM);
    end_by(SIGKILL);
}

// The child: its own folder and session, no input, both outputs into the pipe, signals as a program expects them. In a group of
// our session it would be in the terminal's background, and stop for ever where it asks for a password.
static int start(const char *const *argv, const char *folder, int output, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults, none;
    sigemptyset(&none);
    sigfillset(&defaults);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions, folder);
    int error = posix_spawn(child, argv[0], &actions, &attributes, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

// No signal comes between the start and the note of it. *[slot]: of the note.
static int start_noted(const char *const *argv, const char *folder, int output, pid_t *child, int *slot)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = start(argv, folder, output, child);
    *slot = error ? -1 : note_program(*child);
    if (!error && atomic_load(&is_ending))
        kill(-*child, SIGKILL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void read_to_end(int fd, str_buf *out)
{
    char block[4096];
    for (;;) {
        ssize_t n = read(fd, block, sizeof block);
        if (n > 0)
            str_add(out, (str){block, (size_t)n});
        else if (n == 0 || errno != EINTR)
            return;
    }
}

static const char *end_of(arena *a, int status)
{
    if (WIFSIGNALED(status))
        return arena_printf(a, "signal %d", WTERMSIG(status));
    return WEXITSTATUS(status) ? arena_printf(a, "exit code %d", WEXITSTATUS(status)) : NULL;
}

bool tool_run(arena *a, const tool_words *command, const char *folder, tool_run_result *out)
{
    int ends[2], status = 0, slot = -1;
    pid_t child;
    str_buf printed;
    str_buf_init(&printed, a);
    *out = (tool_run_result){.printed = {"", 0}};
    const char **argv = ARENA_ARRAY(a, const char *, command->at.len + 1);
    memcpy(argv, command->at.at, command->at.len * sizeof *argv);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return give_up(a, out, "cannot make a pipe", errno);
    int error = start_noted(argv, folder, ends[1], &child, &slot);
    close(ends[1]);
    if (error == 0) {
        read_to_end(ends[0], &printed);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
        stop_if_ending();
        if (slot >= 0)
            atomic_store(&programs[slot], 0);
    }
    close(ends[0]);
    if (error)
        return give_up(a, out, "cannot be started", error);
    out->printed = (str){str_text(&printed), printed.len};
    out->failure = end_of(a, status);
    return !out->failure;
}

const char *tool_first_lines(arena *a, str printed)
{
    enum { MOST_LINES = 12 };
    size_t len = 0;
    for (int lines = 0; len < printed.len && lines < MOST_LINES; len++)
        lines += printed.at[len] == '\n';
    while (len && printed.at[len - 1] == '\n')
        len--;
    return arena_strndup(a, printed.at, len);
}
