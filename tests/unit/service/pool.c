// The pool with real worker processes and the stand-in for NVRTC: order, crashes, cancelling, threads, no worker at all.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "service/service.h"

enum { MOST = 32 };

typedef struct fixture {
    arena arena;
    svc_pool *pool;
    char folder[64];
    tool_result results[MOST];
    bool crashed[MOST];
    size_t taken, wanted;  // results; how many are wanted
    size_t moments;        // without one
    bool is_impatient;     // none is wanted after a moment without one
    size_t order[MOST];
} fixture;

static const char *const command[] = {WORKER, NULL};

static int setup(void **state)
{
    static fixture f;
    f = (fixture){.folder = "/tmp/hds-unit-XXXXXX", .wanted = MOST};
    *state = &f;
    arena_init(&f.arena, NULL);
    f.pool = svc_pool_new(&(svc_pool_options){.command = command, .workers = 3});
    return f.pool && mkdtemp(f.folder) ? 0 : -1;
}

static int teardown(void **state)
{
    fixture *f = *state;
    char *line = arena_printf(&f->arena, "rm -r '%s'", f->folder);
    svc_pool_free(f->pool);
    unsetenv("FAKE_NVRTC_MS");
    unsetenv("FAKE_NVRTC_CRASHED");
    int failed = system(line);
    arena_free(&f->arena);
    return failed;
}

static svc_job job_of(const char *text)
{
    return (svc_job){.options = {.target = arch_find(STR("sm_80")), .cubin = true},
                     .nvrtc = FAKES "/whole/libnvrtc.so",
                     .text = str_of(text)};
}

static bool take(void *user, size_t index, const svc_result *result)
{
    fixture *f = user;
    if (!result) {
        f->moments++;
        return !f->is_impatient;
    }
    f->results[index] = result->result;
    f->crashed[index] = result->has_crashed;
    f->order[f->taken++] = index;
    return f->taken < f->wanted;
}

static svc_status compile(fixture *f, const char *const *texts, size_t count)
{
    svc_job jobs[MOST];
    for (size_t i = 0; i < count; i++)
        jobs[i] = job_of(texts[i]);
    return svc_compile(f->pool, &f->arena, jobs, count, take, f);
}

static void compiles_each_as_it_is(void **state)
{
    fixture *f = *state;
    const char *texts[] = {"first", "second warned", "third reject", "fourth fail"};
    assert_int_equal(compile(f, texts, 4), SVC_OK);
    assert_int_equal(f->taken, 4);
    assert_int_equal(f->results[0].status, TOOL_COMPILED);
    assert_non_null(strstr(f->results[0].ptx.at, "--gpu-architecture=sm_80"));
    assert_non_null(strstr(f->results[0].ptx.at, "first"));
    assert_true(f->results[0].cubin.len >= 4);
    assert_non_null(strstr(f->results[1].log.at, "warned.hds(9)"));
    assert_int_equal(f->results[2].status, TOOL_REJECTED);
    assert_int_equal(f->results[3].status, TOOL_FAILED);
    assert_false(f->crashed[3]);
}

// A job for ptxas is another program's, which needs no NVRTC.
static void runs_ptxas(void **state)
{
    fixture *f = *state;
    const char *error, *path = arena_printf(&f->arena, "%s/ptxas", f->folder);
    assert_true(file_write(&f->arena, path, STR("#!/bin/sh\necho \"$2\"; cat \"$3\" > \"$5\"\n"), &error));
    assert_int_equal(chmod(path, 0700), 0);
    svc_job jobs[] = {job_of("first"), job_of(".version 9.0")};
    jobs[1].ptxas = path;
    jobs[1].nvrtc = NULL;
    assert_int_equal(svc_compile(f->pool, &f->arena, jobs, 2, take, f), SVC_OK);
    assert_non_null(strstr(f->results[0].ptx.at, "first"));
    assert_int_equal(f->results[1].status, TOOL_COMPILED);
    assert_true(str_equal(f->results[1].cubin, STR(".version 9.0")));
    assert_true(str_equal(f->results[1].log, STR("-arch=sm_80\n")));
}

static void does_many_jobs_with_few_workers(void **state)
{
    fixture *f = *state;
    const char *texts[MOST];
    for (int i = 0; i < MOST - 1; i++)
        texts[i] = arena_printf(&f->arena, "text %d.", i);
    assert_int_equal(compile(f, texts, MOST - 1), SVC_OK);
    for (int i = 0; i < MOST - 1; i++)
        assert_non_null(strstr(f->results[i].ptx.at, texts[i]));
}

static void tries_again_after_a_crash(void **state)
{
    fixture *f = *state;
    const char *texts[] = {"one", "crash_once", "three"};
    setenv("FAKE_NVRTC_CRASHED", arena_printf(&f->arena, "%s/crashed", f->folder), 1);
    assert_int_equal(compile(f, texts, 3), SVC_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(f->results[i].status, TOOL_COMPILED);
    assert_int_equal(access(getenv("FAKE_NVRTC_CRASHED"), F_OK), 0);
}

static void gives_up_after_two_crashes(void **state)
{
    fixture *f = *state;
    const char *texts[] = {"one", "crash", "three"};
    assert_int_equal(compile(f, texts, 3), SVC_OK);
    assert_int_equal(f->results[0].status, TOOL_COMPILED);
    assert_int_equal(f->results[2].status, TOOL_COMPILED);
    assert_true(f->crashed[1]);
    assert_int_equal(f->results[1].status, TOOL_FAILED);
    assert_non_null(strstr(f->results[1].failure, "signal 9"));
    // The pool is as good as before.
    f->taken = 0;
    assert_int_equal(compile(f, texts, 1), SVC_OK);
}

static void can_be_cancelled(void **state)
{
    fixture *f = *state;
    const char *texts[MOST];
    for (int i = 0; i < MOST; i++)
        texts[i] = "slow";
    setenv("FAKE_NVRTC_MS", "20", 1);
    f->wanted = 2;
    assert_int_equal(compile(f, texts, MOST), SVC_CANCELLED);
    assert_int_equal(f->taken, 2);
    f->taken = 0;
    f->wanted = MOST;
    assert_int_equal(compile(f, texts, 3), SVC_OK);
}

// Who waits is asked while nothing comes, and the worker of a job that is not waited for ends.
static void can_be_cancelled_while_nothing_comes(void **state)
{
    fixture *f = *state;
    const char *texts[] = {"slow"};
    setenv("FAKE_NVRTC_MS", "400", 1);
    assert_int_equal(compile(f, texts, 1), SVC_OK);
    assert_true(f->moments > 0);
    f->is_impatient = true;
    svc_pool_free(f->pool); // a worker has the environment that it was started with
    setenv("FAKE_NVRTC_MS", "600000", 1);
    f->pool = svc_pool_new(&(svc_pool_options){.command = command, .workers = 1});
    f->taken = 0;
    assert_int_equal(compile(f, texts, 1), SVC_CANCELLED);
    assert_int_equal(f->taken, 0);
}

static bool use_up(void *user, size_t index, const svc_result *result)
{
    fixture *f = user;
    (void)index, (void)result;
    f->arena.limit_bytes = f->arena.total_bytes;
    arena_alloc(&f->arena, 1 << 20);
    return true;
}

static void survives_want_of_memory(void **state)
{
    fixture *f = *state;
    arena_oom oom;
    const svc_job jobs[] = {job_of("a"), job_of("b"), job_of("c")};
    f->arena.oom = &oom;
    if (setjmp(oom.jump) == 0) {
        svc_compile(f->pool, &f->arena, jobs, 3, use_up, f);
        fail();
    }
    f->arena.oom = NULL;
    f->arena.limit_bytes = 0;
    const char *texts[] = {"d"};
    assert_int_equal(compile(f, texts, 1), SVC_OK);
}

typedef struct caller {
    fixture own;
    pthread_t thread;
    int number;
} caller;

static void *call(void *user)
{
    caller *c = user;
    const char *texts[4];
    arena_init(&c->own.arena, NULL);
    for (int i = 0; i < 4; i++)
        texts[i] = arena_printf(&c->own.arena, "caller %d text %d.", c->number, i);
    bool ok = compile(&c->own, texts, 4) == SVC_OK;
    for (int i = 0; i < 4; i++)
        ok = ok && strstr(c->own.results[i].ptx.at, texts[i]);
    arena_free(&c->own.arena);
    return ok ? c : NULL;
}

static void is_shared_by_threads(void **state)
{
    fixture *f = *state;
    static caller callers[6];
    for (int i = 0; i < 6; i++) {
        callers[i] = (caller){.number = i, .own = {.pool = f->pool, .wanted = MOST}};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
    }
    for (int i = 0; i < 6; i++) {
        void *result;
        pthread_join(callers[i].thread, &result);
        assert_non_null(result);
    }
}

static void is_not_for_forked_processes(void **state)
{
    fixture *f = *state;
    const char *texts[] = {"one"};
    assert_int_equal(compile(f, texts, 1), SVC_OK);
    pid_t pid = fork();
    if (pid == 0)
        _exit(compile(f, texts, 1) == SVC_UNAVAILABLE ? 0 : 1);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static svc_status with_command(fixture *f, const char *const *other)
{
    const svc_job job = job_of("one");
    svc_pool *pool = svc_pool_new(&(svc_pool_options){.command = other, .workers = 2});
    svc_status status = svc_compile(pool, &f->arena, &job, 1, take, f);
    svc_pool_free(pool);
    return status;
}

static void says_where_no_worker_can_be_started(void **state)
{
    fixture *f = *state;
    assert_int_equal(with_command(f, (const char *const[]){"/nonexistent", NULL}), SVC_UNAVAILABLE);
    assert_int_equal(with_command(f, (const char *const[]){"/bin/true", NULL}), SVC_UNAVAILABLE);
    assert_int_equal(f->taken, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(compiles_each_as_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(runs_ptxas, setup, teardown),
        cmocka_unit_test_setup_teardown(does_many_jobs_with_few_workers, setup, teardown),
        cmocka_unit_test_setup_teardown(tries_again_after_a_crash, setup, teardown),
        cmocka_unit_test_setup_teardown(gives_up_after_two_crashes, setup, teardown),
        cmocka_unit_test_setup_teardown(can_be_cancelled, setup, teardown),
        cmocka_unit_test_setup_teardown(can_be_cancelled_while_nothing_comes, setup, teardown),
        cmocka_unit_test_setup_teardown(survives_want_of_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(is_shared_by_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(is_not_for_forked_processes, setup, teardown),
        cmocka_unit_test_setup_teardown(says_where_no_worker_can_be_started, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
