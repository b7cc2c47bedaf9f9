// Inside libhds: requests become cores, which programs are handles of.
//
//     request.c    what is asked for, checked, and the bytes that it is known by
//     table.c      cores in memory, by these bytes: who asks for what another thread is making waits for it
//     make.c       cores made by compiling, or taken from the disk
//     core.c       a core's memory and its texts
//     worker.c     the program of worker processes
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include <hds/hds.h>

#include "cache/cache.h"
#include "jit/jit.h"
#include "pipeline/read_files.h"
#include "pipeline/unit.h"
#include "service/service.h"
#include "toolchain/build_id.h"

// ---- errors (error.c) ------------------------------------------------------------------------------------------

// Keeps the text for hds_last_error of this thread, and gives [status] back.
__attribute__((format(printf, 2, 3))) hds_status api_fail(hds_status status, const char *format, ...);
// The same for what libhdsrt says.
hds_status api_fail_runtime(hdsrt_status status);
// request.c: a caller's options, which begin with their size, as one of older or newer headers fills them in. *to has the
// defaults and [size] bytes; [least] were in the first version; [initialiser]: what sets the size. [from] may be NULL.
hds_status api_read_options(const void *from, size_t least, const char *initialiser, void *to, size_t size);
hds_status api_no_memory(void);

// ---- requests (request.c) --------------------------------------------------------------------------------------

typedef struct api_request {
    pl_options options;      // emit, architecture, what the user asked for
    const arch *arch;
    const gpu_model *gpu;          // what schedules are chosen for
    const char *name;
    str text;
    str mapped;              // the file, where it is mapped
    pl_onnx onnx;            // of an ONNX file, whose text is [text]; of a copy, its weights have no bytes
    const char *unreadable;  // why the file could not be read; NULL: it could
    const char *no_onnx;     // why it is no ONNX file, as its name says
    str key;
    pl_progress progress;    // for options.progress, with the caller's function and argument
    struct api_watch {
        hds_progress_function *function;
        void *user;
    } watch;
} api_request;

// Reads options and source into [a], which must last as long as the request; the strings of the caller are not copied.
hds_status api_request_read(arena *a, hds_compiler *compiler, const hds_source *source,
                            const hds_compile_options *options, api_request *out);
// Closes the files of a request that was read, or is {0}.
void api_request_close(api_request *request);
// A copy with all that it points to in [a], but for the key and open files.
void api_request_copy(arena *a, const api_request *from, api_request *to);

// ---- cores (core.c) --------------------------------------------------------------------------------------------

typedef struct api_core api_core;

struct hds_kernel {
    api_core *core;
    jit_kernel *jit;               // of a host function or an operator: its entry
    const jit_function *function;  // NULL: a kernel, or an operator
    const jit_operator *operator;  // over all types; NULL: none
    const char *plan;              // of a function, as text; NULL: none
};

// What compiling gave; immutable once it is made, but for its kernels' state.
struct api_core {
    atomic_int references;
    arena memory;
    arena_oom oom;
    hds_status status;
    hds_origin origin;
    const char *failure;     // for hds_last_error, where no diagnostic says it; NULL: nothing to say
    api_request request;     // empty for findings of a simulation
    hds_diagnostic *diagnostics;
    size_t diagnostic_count;
    str texts[HDS_INTERFACE + 1];
    jit_program jit;
    hds_kernel *kernels, *functions;  // operators behind the host functions
    uint16_t code_arch;      // as hdsrt_library.archs has it
    pl_read_files files;
};

// NULL where there is no memory. One reference.
api_core *api_core_new(void);
void api_core_retain(api_core *core);
void api_core_release(api_core *core);
// The functions below take memory of the core: control goes to core->oom when there is none.
void api_core_add_diagnostics(api_core *core, diag_context *dx);
// All of them as bytes, for an entry on disk, and back; false for bytes that are none.
str api_core_write_diagnostics(api_core *core);
bool api_core_read_diagnostics(api_core *core, str bytes);
void api_core_set_text(api_core *core, hds_text which, str text);
// Reads the interface, and makes the kernels. False: it cannot be read.
bool api_core_finish(api_core *core);

// make.c: from the disk, or compiled. NULL where there is no memory.
api_core *api_make(hds_compiler *compiler, const api_request *request);

// A handle; takes over the caller's reference of the core, also when it fails: then NULL.
hds_program *api_program_of(api_core *core, hds_origin origin);

// ---- programs in memory (table.c) ------------------------------------------------------------------------------

typedef struct api_table {
    pthread_mutex_t lock;
    pthread_cond_t made;
    struct api_entry **buckets;
    size_t bucket_count, len, limit;
    uint64_t clock;  // of uses
} api_table;

bool api_table_init(api_table *t, size_t limit);
void api_table_free(api_table *t);
// The core of the request, with a reference for the caller; *is_known: it was there. NULL after recording why.
api_core *api_table_get(api_table *t, hds_compiler *compiler, const api_request *request, bool *is_known);

// What the driver said of GPUs: some attributes take hundreds of microseconds.
enum { API_MOST_GPUS = 64 };
typedef struct api_gpus {
    pthread_mutex_t lock;
    gpu_model of_device[API_MOST_GPUS]; // without a name until the driver was asked
} api_gpus;

struct hds_compiler {
    api_table table;
    cache *disk;        // NULL: none
    kept_modules *kept; // parsed modules; NULL: none
    char *nvrtc;        // NULL: where it usually is
    char *worker;       // the program of worker processes; NULL: none
    const char *worker_command[2];
    api_gpus gpus;
    svc_pool *service;  // NULL: NVRTC runs in this process
    const char *build;  // of this library; NULL: unknown, and programs are not kept on disk
};

// program.c: HDS_NO_TOOLCHAIN, and why there is nothing to launch.
hds_status api_no_code(const hds_kernel *kernel);

// worker.c: the path of the program, in [a]; NULL: there is none.
const char *api_find_worker(arena *a);
