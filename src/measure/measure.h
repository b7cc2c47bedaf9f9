// Kernels measured on the GPU of this machine: `hdsc bench` (docs/bench.md).
//
//     ms_session *s;
//     if (ms_open(arena, diags, &options, &s)) {
//         if (ms_load(s, …)) for each row: ms_measure(s, …);
//         ms_report_text(ms_record_of(s), …);
//         ms_close(s);
//     }
//
// One thread at a time, which gets the GPU's context. Errors are reported to the diagnostics.
#pragma once

#include <hds/hds.h>
#include <jansson.h>

#include "base/vec.h"
#include "diag/diag.h"
#include "measure/nvml.h"
#include "measure/statistics.h"
#include "target/gpu.h"
#include "target/dtype.h"

typedef enum ms_method {
    MS_ROTATE,  // consecutive launches that cycle through copies of the tensors larger than L2
    MS_FLUSH,   // one launch at a time, each after the whole L2 was written with something else
    MS_METHOD__COUNT
} ms_method;
const char *ms_method_name(ms_method m);  // "rotate"

typedef struct ms_options {
    const char *source;            // the file
    const char *const *defines, *const *entries, *const *include_folders;
    int define_count, entry_count, include_count;
    const arch *arch;              // compiled for; NULL: the GPU's own
    const char *gpu;               // whose schedules: "h200"; NULL: a usual one of [arch], or the GPU itself without that
    int sm_count;                  // choose schedules for this many SMs; 0: those of the GPU
    bool is_own;                   // set by ms_open if no arch was given: [arch] is the GPU's
    const char *nvrtc;             // NULL: where it usually is
    const char *cache_dir;         // of libhds; NULL: the usual one
    ms_method method;
    double min_seconds;            // minimum time for which a row's kernel is measured
    double warm_up_seconds;        // before
    int samples;                   // least number
    int64_t gpu_seconds;           // most that a sample may take
    bool graph;                    // launches in CUDA graphs
    bool one_copy;                 // with MS_ROTATE: of the tensors; calls find in L2 what the call before left there
    bool yardstick;                // a copy of as many bytes beside each row
    const char *flops, *bytes;     // expressions over sizes and scalars; NULL: none (bytes: those of the tensors)
    dtype peak_type;               // the type whose peak limits the FLOP rate; DT_NONE: by the tensors
    int argc;                      // the command line, for the record
    const char *const *argv;
    // Called between samples: true stops the measurement and keeps the rows so far.
    bool (*stopped)(void *user);
    void (*progress)(void *user, const char *text);  // NULL: no progress reports
    void *user;
} ms_options;

// A value for a parameter of the kernel, in order.
typedef struct ms_argument {
    const char *name;
    bool is_tensor, is_size;
    dtype type;
    // Tensors: size in bytes, and initial bytes that are repeated to the end; none: not initialised.
    int64_t bytes, data_bytes;
    const void *data;
    bool is_read, is_written;
    // Others: the bits of the value.
    uint64_t value;
} ms_argument;

// A varied size: "n=4096".
typedef struct ms_size {
    const char *name, *value;
} ms_size;

// A kernel's launch in a row.
typedef struct ms_launch {
    const char *symbol;
    void *function;        // a CUfunction
    int64_t grid[3], block[3], cluster[3], dynamic_smem_bytes;
    int registers, local_bytes, static_smem_bytes;
    int blocks_per_sm;     // occupancy; 0: not known
    double waves;          // of blocks
} ms_launch;

typedef struct ms_row {
    const ms_size *sizes;
    int size_count;
    ms_summary time, copy;    // seconds; copy.count 0: not measured
    double *samples;          // time.count, ascending
    int64_t bytes;            // that are moved
    double flops;             // operations; negative: unknown
    const ms_launch *launches;  // one for each kernel of the call
    int launch_count;
    const ms_summary *each;   // of a host with launch_at: seconds of each launch, in its place between the others
    int sets, batch;          // copies of the tensors; calls of a sample
    bool is_host_bound;       // the GPU waited for launches
    ms_state before, after;   // clocks
} ms_row;

typedef struct ms_machine {
    const char *gpu, *host, *bus_id, *driver;
    const arch *arch;
    int device, sm_count, cuda_version, clock_khz, memory_khz, bus_bits;
    int64_t memory_bytes, l2_bytes;
    int warps_per_sm;
} ms_machine;

// The subject of a measurement.
typedef struct ms_subject {
    const char *title, *symbol, *arch;  // symbol: NULL where it is a host function
    dtype peak_type;
} ms_subject;

// A host function instead of a kernel: the caller makes its launches.
typedef struct ms_host {
    void *user;
    const ms_launch *launches;  // symbols, functions and extents
    int launch_count;
    // Called for each copy of the tensors, in order: their addresses, by argument (others: null). False after reporting.
    bool (*bind)(void *user, int set, void *const *addresses);
    // Enqueues all of its launches in the stream. False after reporting.
    bool (*launch)(void *user, int set, void *stream);
    // Enqueues one of them, by its number. NULL: the launches are not measured one by one.
    bool (*launch_at)(void *user, int set, int number, void *stream);
    // Called once it has been measured, with the addresses of the first copy of the tensors. NULL: nothing is. False after
    // reporting.
    bool (*ran)(void *user, void *const *addresses);
} ms_host;

typedef struct ms_session ms_session;

// The options of libhds for this compilation.
hds_compile_options ms_compile_options(const ms_options *o);

// Opens the GPU. Returns false after reporting HDS0648.
bool ms_open(arena *a, diag_context *diags, const ms_options *options, ms_session **session);
// From here on, memory comes from [a] and diagnostics go to [diags].
void ms_move(ms_session *s, arena *a, diag_context *diags);
// Compiles, and finds the kernel by symbol or title; [peak]: the type of the FLOP rate's limit. False after reporting.
bool ms_load(ms_session *s, const char *name, dtype peak);
// Sets only the title: each row brings its own launches.
bool ms_load_host(ms_session *s, const char *title, dtype peak);
// Measures one row. Returns false after an error or a stop; finished rows are kept. [host]: NULL where a kernel
// was loaded.
bool ms_measure(ms_session *s, const ms_size *sizes, int size_count, const ms_argument *arguments, int count,
                const ms_host *host);
// What is measured from now on is one model, on one copy of its tensors and beside no yardstick; [graph]: as a CUDA graph.
void ms_measure_model(ms_session *s, bool graph);
// The last row, which the record does not keep.
ms_row ms_take_row(ms_session *s);
// Drops all rows: the arena that they are in ends.
void ms_forget(ms_session *s);
bool ms_is_stopped(const ms_session *s);
// False if a kernel that timed out is still running: exit() would wait for it, _exit() does not.
bool ms_close(ms_session *s);

// Peak memory bandwidth in bytes/s, by clock and bus width; peak operations/s of a type, at the highest clock. 0:
// unknown.
double ms_peak_bandwidth(const ms_machine *m);
// The GPU model for which schedules are chosen, in [a].
const gpu_model *ms_gpu_of(arena *a, const ms_machine *m);
double ms_peak_ops(const ms_machine *m, dtype t);

// An integer expression over the arguments' sizes and scalars, which is not negative. NULL, or why it has no value.
const char *ms_evaluate(arena *a, const char *text, const ms_argument *arguments, int count, int64_t *out);

// The result of one run: of the session, or read back from its file.
typedef struct ms_record {
    ms_machine machine;
    ms_subject subject;
    const ms_options *options;
    const char *date;
    double empty_seconds;    // time of an empty kernel by the same method; negative: not measured
    VEC(ms_row) rows;
} ms_record;

const ms_record *ms_record_of(const ms_session *s);
void ms_report_text(const ms_record *r, str_buf *out);
void ms_report_json(const ms_record *r, str_buf *out);
// The same as a document, to which more can be added.
json_t *ms_report_document(const ms_record *r);
// "NVIDIA H200, 132 SMs, CUDA 13.0; limits: 4814 GB/s", without a newline.
void ms_report_machine(const ms_record *r, str_buf *out);

// "13.5 µs"
const char *ms_time_text(arena *a, double seconds);
// A table: each column is as wide as its widest cell; numbers are right-aligned.
typedef struct ms_table {
    arena *arena;
    int columns;
    VEC(const char *) cells;  // row by row, the first is the head
} ms_table;
void ms_table_print(const ms_table *t, str_buf *out);

// ---- contest.c ----------------------------------------------------------------------------------------------------------

// One of several kernels for the same computation.
typedef struct ms_rival {
    const char *name;            // for messages
    const char *entry;           // what is compiled: "matmul[f16, 128]"
    hds_program *program;        // of ms_rival_load
    const hds_kernel *kernel;    // its only one
    const ms_argument *arguments;  // in the order of the kernel's parameters; set by the caller
    int count;
    // Of a contest:
    const char *failure;         // NULL, or why it could not be compiled or launched, or is wrong
    bool is_wrong;               // its results differ from those of the first
    ms_summary time;             // seconds
    bool is_dropped;             // clearly slower, so not measured to the end
} ms_rival;

// Compiles it; on failure [failure] says why. Returns false, after reporting, if nothing can be compiled.
bool ms_rival_load(ms_session *s, ms_rival *r);
void ms_rival_free(ms_rival *r);

typedef struct ms_judging {
    // NULL, or how the parameter [name] of the rival differs from that of the first; parts of [bytes] bytes of both.
    const char *(*differs)(void *user, const char *name, dtype type, const void *first, const void *now, int64_t bytes);
    void *differs_user;
    void (*progress)(void *user, int rounds, int most);  // between rounds; NULL: no progress reports
    void *user;
    uint64_t seed;  // of the interleaving order
} ms_judging;

// Runs the kernels on the same tensors and compares their results with those of the first kernel that runs. Kernels
// with the same results are measured in rounds, in random order; clearly slower ones are dropped early. Returns false
// after an error or a stop: the times are then meaningless.
bool ms_contest(ms_session *s, ms_rival *rivals, int count, const ms_judging *judging);

// ---- compare.c ----------------------------------------------------------------------------------------------------------

typedef struct ms_comparison {
    int rows, faster, slower, failed;  // failed: beyond noise slower than fail_below times the speed
} ms_comparison;

// Reads two files of ms_report_json and compares the second with the first, row by row. Returns false after
// reporting HDS0751 or HDS0752.
bool ms_compare(arena *a, diag_context *diags, const char *before, const char *now, double fail_below, str_buf *out,
                ms_comparison *result);
