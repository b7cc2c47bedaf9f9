// A pool of worker processes that compile with NVRTC, or run ptxas.
//
// Inside a process, NVRTC has its callers wait for each other, and a crash of it takes the process along. A worker is a
// process that opens NVRTC once and then compiles one text after another, as they come through a socket. A pool starts
// workers when there is work for them, keeps them, and may be used by any number of threads at the same time.
//
//     svc_pool *pool = svc_pool_new(&(svc_pool_options){.command = command});
//     svc_status status = svc_compile(pool, &memory, jobs, count, take, user);   // take: once for each job
//     svc_pool_free(pool);
//
// A worker that ends while it compiles is replaced and its job done again, once; then the job has failed.
// Workers end with their pool, and with the process of the pool, however that ends.
#pragma once

#include "toolchain/nvrtc.h"
#include "toolchain/ptxas.h"

typedef struct svc_pool svc_pool;

typedef struct svc_pool_options {
    // Program and arguments of a worker, ends with NULL; its main calls svc_worker_main. The strings are not copied.
    const char *const *command;
    int workers;  // at most; 0: as many as this process may use cores
} svc_pool_options;

// NULL where there is no memory. Starts no process.
svc_pool *svc_pool_new(const svc_pool_options *options);
// No thread may be in svc_compile. Waits for the end of the workers, which is at once. NULL is fine.
void svc_pool_free(svc_pool *pool);
// How many jobs the pool does at the same time.
int svc_pool_workers(const svc_pool *pool);

typedef struct svc_job {
    tool_compile_options options;
    const char *nvrtc;   // path of the library, as tool_nvrtc_open has it
    const char *ptxas;   // path of the program that makes machine code of PTX; NULL: NVRTC compiles
    const char *folder;  // the working folder, where line tables name it; NULL: it does not matter
    str text;            // CUDA text; PTX of options.target, for ptxas
} svc_job;

typedef enum svc_status {
    SVC_OK,           // each job was delivered
    SVC_CANCELLED,    // the caller wanted no more
    SVC_UNAVAILABLE,  // no worker can be started: what was not delivered is for the caller to compile
} svc_status;

typedef struct svc_result {
    tool_result result;  // in the arena of svc_compile
    bool has_crashed;    // the worker ended twice: result.failure says how
} svc_result;

// Takes the result of a job as soon as it is there, in any order, on the thread that called svc_compile. [result] is NULL, and
// [index] says nothing, where none came for a tenth of a second. False: the jobs that are left are dropped, and those in work
// end with their workers.
typedef bool svc_deliver(void *user, size_t index, const svc_result *result);

// Compiles [count] jobs. Memory of the results is in [a]; when that runs out, control goes where [a] says, with all
// jobs dropped. The jobs must not change until it returns.
svc_status svc_compile(svc_pool *pool, arena *a, const svc_job *jobs, size_t count, svc_deliver *deliver, void *user);

// The worker: serves its pool, at the other end of standard input, until that is closed. Returns the exit code.
int svc_worker_main(void);
