// The SIMT simulator: runs IR on the host, and checks it at run time.
//
//     sim_program *p = sim_translate(arena, module, &translate_options);   // bytecode of every function
//     sim *s = sim_new(arena, &options);                                   // a device: memory, findings, counters
//     uint64_t x = sim_allocate(s, bytes, "x");                            // an address in simulated global memory
//     sim_status status = sim_call(s, p, func, args, count, &result);      // a kernel (launched) or a host function
//     sim_findings_report(s, p, diags);                                    // findings become diagnostics
//     sim_free(s);
//
// A kernel runs warp by warp: one operation of the bytecode works on the 32 lanes of a warp under a mask. The warps
// of a block are interleaved, in an order that the seed varies; blocks are distributed over [workers] threads. Kernels
// whose blocks communicate (atomics, volatile or ordered accesses to global memory) run on one thread, so that the
// same seed gives the same run. Host functions run by the same executor, as a single lane.
//
// Values of tensors passed to [sim_call] are addresses that sim_allocate gave. Nothing here prints.
#pragma once

#include "diag/diag.h"
#include "ir/ir.h"

typedef struct sim sim;
typedef struct sim_program sim_program;
typedef struct sim_profile sim_profile;

// By increasing severity.
typedef enum sim_status {
    SIM_OK,
    SIM_FOUND,     // ran to the end, with findings
    SIM_STOPPED,   // could not continue: deadlock, budget, trap, no model, bad launch; findings say which. Or it was interrupted
} sim_status;

// Values of a kernel's launch attributes.
typedef struct sim_launch_shape {
    int64_t grid[3], block[3], cluster[3];
    int64_t dynamic_smem_bytes;
} sim_launch_shape;

// Where kernels run, for host functions: NULL members of sim_options.device mean the simulator itself.
typedef struct sim_device {
    void *user;
    // Runs [kernel] of [module] with the grid that its attributes give for [args] (one 64-bit value for each parameter;
    // tensors: simulated addresses, whose allocations the device copies there and back). False after reporting.
    bool (*launch)(void *user, sim *s, const sim_program *p, const ir_func *kernel, const uint64_t *args, int count);
} sim_device;

// Who runs host functions in the simulator's place.
typedef struct sim_host {
    void *user;
    sim_status (*call)(void *user, sim *s, const sim_program *p, const ir_func *f, const uint64_t *args, uint64_t *result);
} sim_host;

struct sim_warp;

// A source location to stop at or to trace, for --trace and --break.
typedef struct sim_watch {
    void *user;
    bool has_block, has_thread;
    int64_t block, thread;  // linear numbers
    // Before each statement that begins on another line than the one before, for warps that hold the thread. [lanes]:
    // those that execute it. Variables are read by sim_variables().
    void (*statement)(void *user, struct sim_warp *w, uint32_t site, uint32_t lanes);
} sim_watch;

typedef struct sim_options {
    uint64_t seed;        // 0: warps and blocks in their order; others: shuffled
    int workers;          // threads for blocks; 0: one for each core
    bool no_checks;       // neither races nor uninitialised values nor bounds (memory of the process is still safe)
    bool no_races;        // all checks but races
    bool trap_nan;        // report where the first NaN or infinity comes from
    bool contract;        // kernels: fuse products with the sums that take them, as NVRTC does (contract.c)
    bool profile;         // count (profile.h)
    bool field;           // carry a field value beside each float (field.h)
    int64_t budget;       // most warp instructions of one launch, or of a host function; 0: a thousand million
    int64_t memory_limit; // bytes of simulated memory; 0: 3/4 of the machine's
    int max_findings;     // kinds (code and locations) that are kept; 0: 20
    const sim_device *device;
    const sim_host *host; // of sim_call; NULL: the simulator itself
    const sim_watch *watch;
    // After each launch of a host function, wherever the kernel runs. [site]: of the launch, in p->sites.
    void (*launched)(void *user, sim *s, const sim_program *p, const ir_func *kernel, const sim_launch_shape *shape,
                     uint32_t site);
    void *launched_user;
    // What of the author's text a statement of a launch plan, as of sim_at_statement, is for, where the plan is of a text that was
    // made from that: how many lines, and in *out, which stay as long as the device. 0: it is the author's own. NULL: all are.
    size_t (*origins)(void *user, src_span span, const char *file, uint32_t line, const src_span **out);
    void *origins_user;
    // Lines that kernels and host functions print, in order. NULL: dropped.
    void (*print)(void *user, str text);
    void *print_user;
    // Whether kernels shall stop now, without a finding; asked often, on any thread. NULL: they never do.
    bool (*is_interrupted)(const void *user);
    const void *interrupted_user;
} sim_options;

typedef struct sim_translate_options {
    bool mark_statements;  // needed by sim_watch
    bool index_overflow;   // check 32-bit arithmetic that indices are made of (default of the driver: on)
} sim_translate_options;

// ---- programs ---------------------------------------------------------------------------------------------------

// Bytecode of all functions of [m], at any level of the IR. Never fails for verified IR; an instruction without a model
// becomes a finding when it is executed.
sim_program *sim_translate(arena *a, ir_module *m, const sim_translate_options *options);
// Text of the bytecode, for tests and for debugging.
void sim_print(const sim_program *p, str_buf *out);

// ---- devices ----------------------------------------------------------------------------------------------------

// In [a]; simulated memory comes from the system and goes with sim_free.
sim *sim_new(arena *a, const sim_options *options);
void sim_free(sim *s);
const sim_options *sim_options_of(const sim *s);

// [args]: one value for each parameter, in the low bits (floats: their bits; tensors and pointers: addresses).
sim_status sim_call(sim *s, const sim_program *p, const ir_func *f, const uint64_t *args, int count, uint64_t *result);

// For these arguments.
sim_launch_shape sim_shape_of(sim *s, const sim_program *p, const ir_func *kernel, const uint64_t *args, int count);

// A tensor map of a launch: the tensor's address, extents and strides (in elements), by axis, as the arguments say.
typedef struct sim_tensor_map {
    const ir_var *var;
    uint64_t address;
    int64_t extent[IR_MAP_MAX_RANK], stride[IR_MAP_MAX_RANK];
} sim_tensor_map;
// Of each of the kernel's maps, in [a].
sim_tensor_map *sim_maps_of(sim *s, const sim_program *p, const ir_func *kernel, const uint64_t *args, int count, arena *a);

// ---- memory -----------------------------------------------------------------------------------------------------

// Global memory of the device, uninitialised. [name]: for messages, copied. 0 when the limit is exceeded.
uint64_t sim_allocate(sim *s, int64_t bytes, int elem_bytes, const char *name);
void sim_release(sim *s, uint64_t address);
// The bytes behind an address, for the host: up to [*bytes] of them are valid. NULL if it is no allocation.
uint8_t *sim_bytes(sim *s, uint64_t address, int64_t *bytes);
// The host has written [bytes] there: they are initialised, and the write is ordered before every later launch.
void sim_mark_written(sim *s, uint64_t address, int64_t bytes);
// Whether all of them are initialised; [*first]: the offset of the first byte that is not.
bool sim_is_initialised(sim *s, uint64_t address, int64_t bytes, int64_t *first);
// Peak bytes of simulated memory and of shadow state.
void sim_memory_use(const sim *s, int64_t *simulated, int64_t *shadow);

// ---- launch plans (workspace.c) -----------------------------------------------------------------------------------

// A plan begins whose temporaries are in one workspace of so many bytes.
void sim_workspace(sim *s, int64_t bytes);
// The allocation is at [offset] of it, until sim_place_end: a finding where another one is, or where the workspace ends.
// Dependent launches find out there what used the same bytes before.
void sim_place(sim *s, uint64_t address, int64_t offset);
void sim_place_end(sim *s, uint64_t address);
// The statement of the plan that comes next, for findings: its span, or where there is none the file, or NULL, and the line.
void sim_at_statement(sim *s, src_span span, const char *file, uint32_t line);
// A finding: the plan of [name] cannot be run, or not to its end.
void sim_report_plan(sim *s, const char *name, const char *why);
// What comes next on the stream waits for all kernels before it, as copies and fills do.
void sim_synchronise(sim *s);

// ---- what came out ----------------------------------------------------------------------------------------------

int sim_finding_count(const sim *s);
// Each finding as a diagnostic in [diags]: primary location, second location, coordinates, values. Sorted by location.
void sim_findings_report(const sim *s, diag_context *diags);
void sim_findings_clear(sim *s);
const sim_profile *sim_profile_of(const sim *s);  // NULL without options.profile
int64_t sim_instructions(const sim *s);  // thread instructions executed so far: lanes that were active, summed
