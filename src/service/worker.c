// A worker process: NVRTC, opened once, and one compilation after the other, or one run of ptxas.

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "service/protocol.h"

// NVRTC recurses over expressions.
enum { STACK_BYTES = 64 << 20 };

typedef struct worker {
    arena memory;  // of what is open
    arena_oom oom;
    src_map sources;
    diag_context unheard;
    const tool_nvrtc *nvrtc;
    const char *path;  // as the jobs name it
} worker;

static const tool_nvrtc *open_nvrtc(worker *w, const char *path)
{
    if (w->nvrtc && strcmp(w->path, path) == 0)
        return w->nvrtc;
    w->path = arena_strdup(&w->memory, path);
    w->nvrtc = tool_nvrtc_open(&w->memory, &w->unheard, path);
    return w->nvrtc;
}

static void compile(worker *w, arena *a, const svc_job *job, tool_result *out)
{
    if (job->ptxas) {
        tool_ptxas_run(a, job->ptxas, job->options.target, job->text, out);
        return;
    }
    const tool_nvrtc *nvrtc = job->nvrtc ? open_nvrtc(w, job->nvrtc) : NULL;
    bool is_there = !job->folder || chdir(job->folder) == 0;
    if (nvrtc && is_there)
        tool_nvrtc_compile(nvrtc, a, &job->options, job->text.at, out);
    else
        *out = (tool_result){.status = TOOL_FAILED,
                             .failure = nvrtc ? "a worker process cannot enter the working folder"
                                              : "a worker process cannot open the library"};
}

// False when the pool is gone. Memory that runs out ends the worker: the pool starts another.
static bool serve(worker *w, str message)
{
    arena memory;
    svc_job job;
    tool_result result;
    str_buf answer;
    arena_init(&memory, &w->oom);
    str_buf_init(&answer, &memory);
    bool ok = svc_job_read(&memory, message, &job);
    if (ok) {
        compile(w, &memory, &job, &result);
        svc_result_write(&result, &answer);
        ok = svc_send(STDIN_FILENO, (str){answer.at, answer.len});
    }
    arena_free(&memory);
    return ok;
}

// Until the pipe is closed. A function of its own: what it holds in variables is not there after a longjmp.
static void serve_all(worker *w)
{
    static const char greeting[] = SVC_GREETING;
    char *message;
    size_t len;
    bool ok = svc_send(STDIN_FILENO, (str){greeting, sizeof greeting - 1});
    while (ok && svc_receive(STDIN_FILENO, &message, &len)) {
        ok = serve(w, (str){message, len});
        free(message);
    }
}

static void *run(void *unused)
{
    worker w = {.nvrtc = NULL};
    (void)unused;
    arena_init(&w.memory, &w.oom);
    if (setjmp(w.oom.jump) != 0)
        _exit(EXIT_FAILURE);
    src_map_init(&w.sources, &w.memory);
    diag_init(&w.unheard, &w.memory, &w.sources);
    serve_all(&w);
    arena_free(&w.memory);
    return NULL;
}

// Ctrl-C is for the program at the other end, whose end is this one's too. Files that the program had open without
// O_CLOEXEC are not for a worker to keep open.
int svc_worker_main(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (pthread_create(&thread, &attributes, run, NULL) != 0)
        return EXIT_FAILURE;
    pthread_attr_destroy(&attributes);
    pthread_join(thread, NULL);
    return EXIT_SUCCESS;
}
