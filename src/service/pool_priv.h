// Inside a pool. All of it is guarded by the lock of the pool, but for what its own slot does with a worker.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include "service/protocol.h"

typedef struct svc_call svc_call;

// A job on its way. Memory of the caller, for as long as a slot may know it.
typedef struct svc_task {
    struct svc_task *next;
    svc_call *call;
    size_t index;
    str request;
    char *answer;  // malloc'ed; NULL: none came
    size_t answer_len;
    int end;       // status of the worker that ended last, where no answer came
} svc_task;

// What a thread waits for in svc_compile.
struct svc_call {
    svc_task *tasks;
    size_t count;
    svc_task *done;         // results that were not taken yet, in the order of their coming
    int in_work;            // tasks that slots have
    bool is_dropped;        // no request waits for its results
    bool is_unavailable;    // no worker can be started
    pthread_cond_t changed;
};

// A worker process and the thread that speaks with it.
typedef struct svc_slot {
    svc_pool *pool;
    pthread_t thread;
    pid_t pid;       // 0: no process
    int fd;
    svc_task *task;  // NULL: none
} svc_slot;

struct svc_pool {
    const char *const *command;
    pid_t owner;
    pthread_mutex_t lock;
    pthread_cond_t work;
    svc_task *queue;
    svc_slot *slots;
    int slot_count, limit, idle;
    bool is_ending;
};

// slot.c: starts the worker of a slot and waits for its greeting; false: it cannot be started, or is of another version.
bool svc_slot_start(svc_slot *slot);
// Ends the worker; its status, 0 where the program's own handling of children has taken it.
int svc_slot_end(svc_slot *slot);
