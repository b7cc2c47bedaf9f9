// Candidates are compiled by processes of their own, into the cache, where measuring finds them. One process hands out the work, so
// that the one that measures has nothing else to do than to look whether something came.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver/tune.h"
#include "driver/workers.h"

// ---- in the other processes -------------------------------------------------------------------------------------

typedef struct handing {
    const tune_jobs *jobs;
    int line;
} handing;

// What goes wrong is found once more by who measures, and said there.
static void do_job(void *user, arena *a, size_t index, cmd_result *out)
{
    const handing *h = user;
    (void)a;
    h->jobs->compile(h->jobs->user, (int)index);
    out->code = CMD_OK;
}

static void say_done(void *user, size_t index, const cmd_result *result)
{
    const handing *h = user;
    const int number = (int)index;
    (void)result;
    if (write(h->line, &number, sizeof number) != (ssize_t)sizeof number)
        _exit(CMD_INTERNAL);  // the parent process has ended
}

static _Noreturn void hand_out_work(tune_request *q, const tune_jobs *jobs, int line, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(CMD_INTERRUPTED);
    if (setjmp(cmd_oom.jump) != 0)
        _exit(CMD_INTERNAL);
    arena memory;
    arena_init(&memory, &cmd_oom);
    handing h = {.jobs = jobs, .line = line};
    const cmd_workers w = {.names = jobs->names, .count = (size_t)jobs->count, .jobs = q->shared.jobs, .work = do_job,
                           .done = say_done, .user = &h};
    cmd_work_all(&memory, &w, ARENA_ARRAY(&memory, cmd_result, jobs->count));
    _exit(CMD_OK);
}

// ---- here -------------------------------------------------------------------------------------------------------

// Without a cache, or without a process, nothing is compiled ahead: all candidates count as ready.
static void skip_compilation(tune_pool *p)
{
    for (int i = 0; i < p->count; i++)
        p->is_ready[i] = true;
    p->done = p->count;
}

void cmd_tune_pool_start(tune_request *q, tune_pool *p, const tune_jobs *jobs)
{
    int ends[2];
    *p = (tune_pool){.is_ready = ARENA_ARRAY(&q->shared.memory, bool, jobs->count + 1), .count = jobs->count, .line = -1};
    if (!q->shared.options.cache || !jobs->count || pipe(ends) != 0) {
        skip_compilation(p);
        return;
    }
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        close(ends[0]);
        hand_out_work(q, jobs, ends[1], parent);
    }
    close(ends[1]);
    p->pid = pid > 0 ? pid : 0;
    p->line = ends[0];
    if (pid < 0)
        skip_compilation(p);
}

void cmd_tune_pool_poll(tune_pool *p, int milliseconds)
{
    struct pollfd line = {.fd = p->line, .events = POLLIN};
    while (p->done < p->count && poll(&line, 1, milliseconds) > 0) {
        int index = -1;
        ssize_t n = read(p->line, &index, sizeof index);
        if (n < 0 && errno == EINTR)
            return;
        if (n != (ssize_t)sizeof index) {
            skip_compilation(p);  // the process has died: this one compiles the rest
            return;
        }
        if (index >= 0 && index < p->count && !p->is_ready[index]) {
            p->is_ready[index] = true;
            p->done++;
        }
        milliseconds = 0;
    }
}

void cmd_tune_pool_stop(tune_pool *p)
{
    if (p->pid) {
        kill(p->pid, SIGTERM);
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    if (p->line >= 0)
        close(p->line);
    *p = (tune_pool){.line = -1};
}

// ---- entries of a file --------------------------------------------------------------------------------------------

typedef struct entry_jobs {
    tune_jobs jobs;          // first
    tune_request *request;
    hds_compiler *compiler;  // of this process
} entry_jobs;

static void compile_entry(void *user, int index)
{
    entry_jobs *e = user;
    ms_options own = e->request->measure;
    own.entries = &e->jobs.names[index];
    own.entry_count = 1;
    hds_compiler_options compiler_options = HDS_COMPILER_OPTIONS_INIT;
    compiler_options.workers = -1;
    compiler_options.nvrtc = own.nvrtc;
    compiler_options.cache_dir = own.cache_dir;
    const hds_compile_options options = ms_compile_options(&own);
    hds_program *program = NULL;
    if (!e->compiler && hds_compiler_new(&compiler_options, &e->compiler))
        return;
    hds_compile(e->compiler, &(hds_source){.name = own.source}, &options, &program);
    hds_program_release(program);
}

void cmd_tune_pool_start_entries(tune_request *q, tune_pool *p, const char *const *entries, int count)
{
    entry_jobs e = {.jobs = {.names = entries, .count = count, .compile = compile_entry}, .request = q};
    e.jobs.user = &e;
    cmd_tune_pool_start(q, p, &e.jobs);
}
