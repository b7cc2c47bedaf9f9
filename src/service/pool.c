// The pool: a queue of tasks, and slots that take them. A slot is a thread with a worker process: the thread sends a
// task and waits for the answer. Which worker does what is chance; what comes out is not.

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "service/pool_priv.h"

// ---- queues -----------------------------------------------------------------------------------------------------

static void append(svc_task **list, svc_task *task)
{
    while (*list)
        list = &(*list)->next;
    task->next = NULL;
    *list = task;
}

static svc_task *take_first(svc_task **list)
{
    svc_task *task = *list;
    *list = task->next;
    task->next = NULL;
    return task;
}

// ---- one task, by the thread of a slot --------------------------------------------------------------------------

static bool has_answer(svc_slot *slot, svc_task *task)
{
    return svc_send(slot->fd, task->request) && svc_receive(slot->fd, &task->answer, &task->answer_len);
}

static bool is_dropped(svc_pool *pool, const svc_task *task)
{
    pthread_mutex_lock(&pool->lock);
    bool dropped = task->call->is_dropped;
    pthread_mutex_unlock(&pool->lock);
    return dropped;
}

// A worker that ends in between is replaced, once for each task. False: none can be started.
static bool run_task(svc_slot *slot, svc_task *task)
{
    enum { MOST_TRIES = 2 };
    for (int tries = 0; tries < MOST_TRIES && !is_dropped(slot->pool, task); tries++) {
        if (!slot->pid && !svc_slot_start(slot))
            return tries > 0;
        if (has_answer(slot, task))
            return true;
        task->end = svc_slot_end(slot);
    }
    return true;
}

// ---- the thread of a slot; the lock is held outside of run_task --------------------------------------------------

static void finish(svc_task *task)
{
    svc_call *call = task->call;
    append(&call->done, task);
    call->in_work--;
    pthread_cond_signal(&call->changed);
}

static void *serve(void *user)
{
    svc_slot *slot = user;
    svc_pool *pool = slot->pool;
    pthread_mutex_lock(&pool->lock);
    while (!pool->is_ending) {
        if (!pool->queue) {
            pool->idle++;
            pthread_cond_wait(&pool->work, &pool->lock);
            pool->idle--;
            continue;
        }
        svc_task *task = slot->task = take_first(&pool->queue);
        task->call->in_work++;
        pthread_mutex_unlock(&pool->lock);
        bool can_work = run_task(slot, task);
        pthread_mutex_lock(&pool->lock);
        slot->task = NULL;
        task->call->is_unavailable |= !can_work;
        finish(task);
    }
    pthread_mutex_unlock(&pool->lock);
    if (slot->pid)
        svc_slot_end(slot);
    return NULL;
}

// ---- slots ------------------------------------------------------------------------------------------------------

// Signals of the program are for its own threads.
static bool start_thread(svc_slot *slot)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool ok = pthread_create(&slot->thread, NULL, serve, slot) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

static void add_slots(svc_pool *pool, size_t wanted)
{
    for (size_t ready = (size_t)pool->idle; ready < wanted && pool->slot_count < pool->limit; ready++) {
        svc_slot *slot = &pool->slots[pool->slot_count];
        *slot = (svc_slot){.pool = pool, .fd = -1};
        if (!start_thread(slot))
            return;
        pool->slot_count++;
    }
}

// ---- calls ------------------------------------------------------------------------------------------------------

static const char *end_of(arena *a, int status)
{
    if (WIFSIGNALED(status))
        return arena_printf(a, "the worker process was ended by signal %d (%s), twice", WTERMSIG(status),
                            strsignal(WTERMSIG(status)));
    return arena_printf(a, "the worker process ended with exit code %d, twice", WEXITSTATUS(status));
}

static void read_answer(arena *a, svc_task *task, svc_result *out)
{
    *out = (svc_result){.has_crashed = !task->answer};
    if (!task->answer)
        out->result = (tool_result){.status = TOOL_FAILED, .failure = end_of(a, task->end)};
    else if (!svc_result_read(a, (str){task->answer, task->answer_len}, &out->result))
        out->result = (tool_result){.status = TOOL_FAILED, .failure = "the worker process gave no result"};
    free(task->answer);
    task->answer = NULL;
}

static void enqueue(svc_pool *pool, svc_call *call)
{
    pthread_mutex_lock(&pool->lock);
    for (size_t i = 0; i < call->count; i++)
        append(&pool->queue, &call->tasks[i]);
    add_slots(pool, call->count);
    call->is_unavailable = !pool->slot_count;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

// Comes back when no slot knows the call any more.
static void drop(svc_pool *pool, svc_call *call)
{
    pthread_mutex_lock(&pool->lock);
    call->is_dropped = true;
    for (svc_task **at = &pool->queue; *at;) {
        if ((*at)->call == call)
            *at = (*at)->next;
        else
            at = &(*at)->next;
    }
    for (int i = 0; i < pool->slot_count; i++) {
        const svc_slot *slot = &pool->slots[i];
        if (slot->task && slot->task->call == call && slot->pid)
            kill(slot->pid, SIGKILL);
    }
    while (call->in_work)
        pthread_cond_wait(&call->changed, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < call->count; i++)
        free(call->tasks[i].answer);
    pthread_cond_destroy(&call->changed);
}

// A tenth of a second from now, for pthread_cond_timedwait. A clock that is set meanwhile makes one wait shorter or longer.
static struct timespec in_a_moment(void)
{
    enum { MOMENT_NS = 100000000, SECOND_NS = 1000000000 };
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += MOMENT_NS;
    if (t.tv_nsec < SECOND_NS)
        return t;
    return (struct timespec){t.tv_sec + 1, t.tv_nsec - SECOND_NS};
}

// SVC_OK: *out is what is done, NULL if nothing is so far.
static svc_status next_done(svc_pool *pool, svc_call *call, svc_task **out)
{
    const struct timespec until = in_a_moment();
    int error = 0;
    pthread_mutex_lock(&pool->lock);
    while (!call->done && !call->is_unavailable && !error)
        error = pthread_cond_timedwait(&call->changed, &pool->lock, &until);
    svc_status status = call->is_unavailable ? SVC_UNAVAILABLE : SVC_OK;
    *out = !status && call->done ? take_first(&call->done) : NULL;
    pthread_mutex_unlock(&pool->lock);
    return status;
}

static svc_status take_all(svc_pool *pool, arena *a, svc_call *call, svc_deliver *deliver, void *user)
{
    for (size_t delivered = 0; delivered < call->count;) {
        svc_result result;
        svc_task *task;
        if (next_done(pool, call, &task) != SVC_OK)
            return SVC_UNAVAILABLE;
        if (task)
            read_answer(a, task, &result);
        if (!deliver(user, task ? task->index : 0, task ? &result : NULL))
            return SVC_CANCELLED;
        delivered += task != NULL;
    }
    return SVC_OK;
}

static svc_task *tasks_of(arena *a, svc_call *call, const svc_job *jobs, size_t count)
{
    svc_task *tasks = ARENA_ARRAY(a, svc_task, count);
    for (size_t i = 0; i < count; i++) {
        str_buf request;
        str_buf_init(&request, a);
        svc_job_write(&jobs[i], &request);
        tasks[i] = (svc_task){.index = i, .call = call, .request = {request.at, request.len}};
    }
    return tasks;
}

svc_status svc_compile(svc_pool *pool, arena *a, const svc_job *jobs, size_t count, svc_deliver *deliver, void *user)
{
    // A process that was forked off has neither the threads nor the workers.
    if (getpid() != pool->owner)
        return SVC_UNAVAILABLE;
    arena_oom oom, *outer = a->oom;
    svc_call call = {.changed = PTHREAD_COND_INITIALIZER};
    call.tasks = tasks_of(a, &call, jobs, count);
    call.count = count;
    if (outer && setjmp(oom.jump) != 0) {
        a->oom = outer;
        drop(pool, &call);
        longjmp(outer->jump, 1);
    }
    a->oom = outer ? &oom : NULL;
    enqueue(pool, &call);
    svc_status status = take_all(pool, a, &call, deliver, user);
    a->oom = outer;
    drop(pool, &call);
    return status;
}

// ---- pools ------------------------------------------------------------------------------------------------------

static int core_count(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? count : 1;
}

svc_pool *svc_pool_new(const svc_pool_options *options)
{
    svc_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->command = options->command;
    pool->owner = getpid();
    pool->limit = options->workers > 0 ? options->workers : core_count();
    pool->slots = calloc((size_t)pool->limit, sizeof *pool->slots);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    if (pool->slots)
        return pool;
    svc_pool_free(pool);
    return NULL;
}

static void end_slots(svc_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->is_ending = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->slot_count; i++)
        pthread_join(pool->slots[i].thread, NULL);
}

void svc_pool_free(svc_pool *pool)
{
    if (!pool)
        return;
    if (getpid() == pool->owner) {
        end_slots(pool);
        pthread_mutex_destroy(&pool->lock);
        pthread_cond_destroy(&pool->work);
    }
    free(pool->slots);
    free(pool);
}

int svc_pool_workers(const svc_pool *pool)
{
    return pool->limit;
}
