#include "driver/workers.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "driver/cmd.h"

// How a worker ends that has no result to give.
enum { END_NO_MEMORY = 3 };

// When a progress line is worth its flicker.
enum { QUIET_MS = 400 };

// A process that does one input after the other: NVRTC's first compilation takes several times as long as the next.
typedef struct worker {
    pid_t pid;     // 0: no process
    int line;      // an index goes one way, a byte comes back
    int fd;        // the file in memory that results are written to
    bool is_busy;
    size_t index;
} worker;

// Instead of an index: that was all.
static const size_t THE_END = SIZE_MAX;

typedef struct run {
    const cmd_workers *w;
    arena *arena;
    cmd_result *results;
    worker *workers;
    size_t started, finished, reported;
    int64_t start_ms;
    bool has_line;  // of progress, on the terminal
} run;

int cmd_core_count(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? count : 1;
}

// ---- progress ---------------------------------------------------------------------------------------------------

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void clear_progress(run *r)
{
    if (r->has_line)
        fputs("\r\033[K", stderr);
    r->has_line = false;
}

static void show_progress(run *r, size_t index)
{
    if (!r->w->shows_progress || now_ms() - r->start_ms < QUIET_MS)
        return;
    int width = cmd_terminal_width(STDERR_FILENO);
    char line[512];
    snprintf(line, sizeof line, "[%zu/%zu] %s", r->finished, r->w->count, r->w->names[index]);
    fprintf(stderr, "\r%.*s\033[K", width > 1 ? width - 1 : 79, line);
    r->has_line = true;
}

// ---- results ----------------------------------------------------------------------------------------------------

static void finish(run *r, size_t index)
{
    r->results[index].is_done = true;
    r->finished++;
    if (r->reported == index)
        clear_progress(r);
    while (r->reported < r->w->count && r->results[r->reported].is_done) {
        r->w->done(r->w->user, r->reported, &r->results[r->reported]);
        r->reported++;
    }
}

static void run_here(run *r, size_t index)
{
    show_progress(r, index);
    r->w->work(r->w->user, r->arena, index, &r->results[index]);
    finish(r, index);
}

static bool write_all(int fd, const void *bytes, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = write(fd, (const char *)bytes + done, len - done);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

// Code, lengths, bytes; the processes are one program.
static bool put_result(int fd, const cmd_result *result)
{
    bool ok = ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0 && write_all(fd, &result->code, sizeof result->code);
    for (int i = 0; i < CMD_PART__COUNT; i++)
        ok = ok && write_all(fd, &result->parts[i].len, sizeof result->parts[i].len);
    for (int i = 0; i < CMD_PART__COUNT; i++)
        ok = ok && write_all(fd, result->parts[i].at, result->parts[i].len);
    return ok;
}

static bool read_all(int fd, void *bytes, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = read(fd, (char *)bytes + done, len - done);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool take_result(run *r, int fd, cmd_result *out)
{
    bool ok = lseek(fd, 0, SEEK_SET) == 0 && read_all(fd, &out->code, sizeof out->code);
    for (int i = 0; i < CMD_PART__COUNT; i++)
        ok = ok && read_all(fd, &out->parts[i].len, sizeof out->parts[i].len);
    for (int i = 0; ok && i < CMD_PART__COUNT; i++) {
        char *bytes = arena_alloc(r->arena, out->parts[i].len + 1);
        out->parts[i].at = bytes;
        ok = read_all(fd, bytes, out->parts[i].len);
    }
    return ok;
}

// ---- in the worker ----------------------------------------------------------------------------------------------

static void do_one(run *r, int fd, size_t index)
{
    arena memory;
    cmd_result result = {0};
    arena_init(&memory, &cmd_oom);
    r->w->work(r->w->user, &memory, index, &result);
    if (!put_result(fd, &result))
        _exit(END_NO_MEMORY);
    arena_free(&memory);
}

// Ends when its parent does, also when that was killed, by the signal that has temporary files removed.
static _Noreturn void be_a_worker(run *r, int line, int fd, pid_t parent)
{
    size_t index;
    char done = 1;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(CMD_INTERRUPTED);
    if (setjmp(cmd_oom.jump) != 0)
        _exit(END_NO_MEMORY);
    while (read_all(line, &index, sizeof index) && index != THE_END) {
        do_one(r, fd, index);
        if (!write_all(line, &done, 1))
            break;
    }
    _exit(0);
}

// ---- outside ----------------------------------------------------------------------------------------------------

// False where the system gives no process.
static bool start(run *r, worker *w)
{
    int ends[2], fd = memfd_create("hdsc result", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        close(fd);
        return false;
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        close(ends[0]);
        be_a_worker(r, ends[1], fd, parent);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        close(fd);
        return false;
    }
    *w = (worker){.pid = pid, .line = ends[0], .fd = fd};
    return true;
}

// Its status, when it has come to its end.
static int dismiss(worker *w)
{
    int status = 0;
    close(w->line);
    close(w->fd);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    *w = (worker){0};
    return status;
}

// What is left to say of an input whose worker ended without a result.
static void give_up(run *r, size_t index, int status)
{
    cmd_result *result = &r->results[index];
    const char *name = r->w->names[index];
    *result = (cmd_result){.code = CMD_INTERNAL};
    if (WIFSIGNALED(status))
        result->parts[CMD_COMPLAINED] = str_of(arena_printf(
            r->arena, "hdsc: internal error: compiling '%s' ended with signal %d (%s)\n", name, WTERMSIG(status),
            strsignal(WTERMSIG(status))));
    else
        result->parts[CMD_COMPLAINED] = str_of(arena_printf(r->arena, "hdsc: out of memory while compiling '%s'\n", name));
}

static void collect(run *r, worker *w)
{
    char done;
    size_t index = w->index;
    w->is_busy = false;
    if (!read_all(w->line, &done, 1) || !take_result(r, w->fd, &r->results[index]))
        give_up(r, index, dismiss(w));
    finish(r, index);
}

static bool hand_out(run *r, worker *w)
{
    if (!w->pid && !start(r, w))
        return false;
    size_t index = r->started++;
    w->index = index;
    w->is_busy = true;
    show_progress(r, index);
    // One that is gone is found out by collect.
    send(w->line, &index, sizeof index, MSG_NOSIGNAL);
    return true;
}

static void wait_for_some(run *r, struct pollfd *lines)
{
    for (int i = 0; i < r->w->jobs; i++)
        lines[i] = (struct pollfd){.fd = r->workers[i].is_busy ? r->workers[i].line : -1, .events = POLLIN};
    if (poll(lines, (nfds_t)r->w->jobs, -1) <= 0)
        return;
    for (int i = 0; i < r->w->jobs; i++) {
        if (lines[i].revents)
            collect(r, &r->workers[i]);
    }
}

static void work_together(run *r)
{
    struct pollfd *lines = ARENA_ARRAY(r->arena, struct pollfd, r->w->jobs);
    while (r->finished < r->w->count) {
        bool is_alone = true;
        for (int i = 0; i < r->w->jobs; i++) {
            worker *w = &r->workers[i];
            if (!w->is_busy && r->started < r->w->count)
                hand_out(r, w);
            is_alone = is_alone && !w->is_busy;
        }
        if (!is_alone)
            wait_for_some(r, lines);
        else if (r->started < r->w->count)
            run_here(r, r->started++);
    }
    for (int i = 0; i < r->w->jobs; i++) {
        if (!r->workers[i].pid)
            continue;
        send(r->workers[i].line, &THE_END, sizeof THE_END, MSG_NOSIGNAL);
        dismiss(&r->workers[i]);
    }
}

void cmd_work_all(arena *a, const cmd_workers *w, cmd_result *results)
{
    run r = {.w = w, .arena = a, .results = results, .start_ms = now_ms()};
    r.workers = ARENA_ARRAY(a, worker, w->jobs);
    if (w->jobs > 1 && w->count > 1)
        work_together(&r);
    while (r.finished < w->count)
        run_here(&r, r.started++);
    clear_progress(&r);
}
