#pragma once

#include "jit/expr.h"
#include "measure/measure.h"
#include "runtime/driver.h"

// Constants of cuda.h that the runtime does not need.
enum {
    MS_DEVICE_CLOCK = 13,         // CU_DEVICE_ATTRIBUTE_CLOCK_RATE, kHz
    MS_DEVICE_SMS = 16,           // …_MULTIPROCESSOR_COUNT
    MS_DEVICE_MEMORY_CLOCK = 36,  // …_MEMORY_CLOCK_RATE, kHz
    MS_DEVICE_BUS = 37,           // …_GLOBAL_MEMORY_BUS_WIDTH, bits
    MS_DEVICE_L2 = 38,            // …_L2_CACHE_SIZE, bytes
    MS_FUNCTION_LOCAL = 3,        // CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES
    MS_FUNCTION_REGISTERS = 4,    // …_NUM_REGS
    MS_STREAM_NON_BLOCKING = 1,
    MS_CAPTURE_RELAXED = 2,
    MS_RECORD_EXTERNAL = 1,       // CU_EVENT_RECORD_EXTERNAL
};

struct ms_session {
    arena *arena;
    diag_context *diags;
    ms_options options;
    ms_record record;
    const hdsrt_driver *cuda;
    hdsrt_stream stream;
    void *begin, *end;        // events
    hds_compiler *compiler;
    hds_program *program, *empty_program;
    const hds_kernel *kernel, *empty;  // kernel: NULL where a host function is measured; empty: where it could not be compiled
    void *module, *function;  // the same code loaded again, for attribute queries
    ms_nvml *nvml;
    void *flush;              // twice what L2 holds; NULL: not used
    int64_t flush_bytes;
    bool is_stopped;
    bool is_stuck;            // a kernel timed out: nothing that synchronises may be called
};

// Reports HDS0647 with the runtime's last error: "measuring 'relu' on the GPU failed: …". Returns false.
bool ms_failed(ms_session *s, const char *what);
// The same for a CUresult; true if it is 0.
bool ms_check(ms_session *s, int result, const char *what);
// Whether the caller wants to continue.
bool ms_goes_on(ms_session *s);
double ms_now(void);  // seconds

// ---- buffers.c ----------------------------------------------------------------------------------------------------------

// The copies of a row's tensors on the GPU, and buffers for the yardstick.
typedef struct ms_buffers {
    int sets, count;
    hds_argument *arguments;  // [sets][count]
    bool *is_tensor;          // [count]
    const ms_host *host;      // NULL: a kernel is launched with the arguments
    VEC(void *) owned;
    char *pool;               // of the copies; NULL: none
    int64_t half_bytes;       // bytes that one copy reads, and writes behind them
    int copies;               // that fit into the pool
} ms_buffers;

// The number of copies that together exceed a cache of [l2_bytes]: 2 to 512, limited by memory.
int ms_sets(int64_t set_bytes, int64_t l2_bytes, int64_t free_bytes);
// False after reporting HDS0750 or HDS0647.
bool ms_buffers_make(ms_session *s, const ms_argument *arguments, int count, int64_t moved, ms_buffers *out);
void ms_buffers_free(ms_session *s, ms_buffers *b);
// Writes the initial contents of the tensor to [to].
bool ms_buffer_fill(ms_session *s, char *to, const ms_argument *a);

// ---- timing.c -----------------------------------------------------------------------------------------------------------

// Something that is launched again and again.
typedef struct ms_work {
    const char *what;  // for messages
    bool (*launch)(ms_session *s, const struct ms_work *work, int turn);
    const void *user;
    int turns;         // number of rotating buffers
    bool may_capture;
    // Set by ms_warm_up:
    int batch, next;
    void *graph;       // of [batch] launches; NULL: none
    double seconds;    // of one launch, as last measured
    double host_seconds, device_seconds;  // of all samples: enqueuing, and running
} ms_work;

// Warms up with [work], determines the launches per sample, and creates the graph. Returns false after reporting.
bool ms_warm_up(ms_session *s, ms_work *work, double seconds);
// Synchronises the stream. Returns false after reporting, also after a timeout.
bool ms_wait(ms_session *s, const ms_work *work);
// Seconds of one launch. False after reporting.
bool ms_sample(ms_session *s, ms_work *work, double *seconds);
// The clocks while [work] runs.
bool ms_state_under(ms_session *s, ms_work *work, ms_state *out);
void ms_work_free(ms_session *s, ms_work *work);

// The session's compiler, created on first use. NULL after reporting.
hds_compiler *ms_compiler(ms_session *s);

// ---- machine.c ----------------------------------------------------------------------------------------------------------

bool ms_machine_read(ms_session *s);

// ---- for reports and comparisons ------------------------------------------------------------------------------------------

// "n=4096, m=2"
const char *ms_sizes_text(arena *a, const ms_size *sizes, int count);
