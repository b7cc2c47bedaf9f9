// The state of a run: device, launch, block, warp. Shared by the executor, memory, barriers and the models.
#pragma once

#include "sim/code.h"
#include "sim/field.h"
#include "sim/memory.h"

typedef struct sim_warp sim_warp;
typedef struct sim_block sim_block;
typedef struct sim_launch sim_launch;
typedef struct sim_cluster sim_cluster;

// In sim_warp.why: the value is written by the wgmma at that site, which has not completed.
#define SIM_WHY_FLIGHT ((uint32_t)1 << 31)

// The state of a warp when the executor returns, or a model is done.
typedef enum sim_step {
    SIM_NEXT,    // models: continue with the next operation
    SIM_WAIT,    // models: not before sim_wake(); the operation counts as done then
    SIM_YIELD,   // models: done, but yields to other warps (polls something that they change)
    SIM_END,     // the warp has returned
    SIM_HALT,    // the launch is over: a finding that nothing can follow
} sim_step;

typedef struct sim_frame {
    const sim_code *code;
    uint32_t pc;         // where the caller continues
    uint32_t base;       // first cell of the frame in the warp's cells
    uint32_t saved;      // the caller's mask
    uint32_t returned;   // lanes that have returned
    uint32_t control;    // height of the control stack at the call
    uint32_t local_base; // of private memory
} sim_frame;

// An open if, loop or scope.
typedef struct sim_control {
    uint32_t saved;   // mask before it
    uint32_t pending; // if: lanes for the else part; loop: lanes that broke; scope: lanes that left
    uint32_t resumed; // loop: lanes that continue
} sim_control;

// A float of a cell that is a product not rounded yet: its factors (contract.c).
typedef struct sim_product {
    double a, b;
} sim_product;

static inline sim_product sim_negated(sim_product p) { return (sim_product){-p.a, p.b}; }

struct sim_warp {
    sim_block *block;
    int index;            // in the block
    uint32_t full;        // lanes that exist
    uint32_t active;      // lanes that execute
    uint32_t off;         // lanes that broke, continued, left or returned and have not come back yet
    uint32_t outside;     // lanes whose index was outside of a shape: the next access leaves them out
    uint8_t *cells;       // of the current frame: cell i begins at cells + i * SIM_CELL_BYTES
    uint32_t *poison;     // of the current frame, by cell
    uint32_t *why;        // of the current frame, by cell: site where a poisoned value comes from, and SIM_WHY_FLIGHT
    sim_field *field;     // of the current frame: SIM_FIELD_PARTS for each lane of each cell; NULL without field values
    sim_product *products;  // of the current frame: of each lane of each cell; NULL without contraction
    uint32_t *has_product;  // of the current frame, by cell: lanes that have one
    const sim_op *pc;     // the operation under way
    const sim_code *code;
    VEC(sim_frame) frames;
    VEC(sim_control) control;
    uint8_t *all_cells;   // the stack of frames
    uint32_t *all_poison, *all_why;
    sim_field *all_field;
    sim_product *all_products;
    uint32_t *all_has_product;
    uint32_t cell_limit;
    uint8_t *locals;      // private memory, 32 threads after each other
    uint32_t local_bytes; // of one thread
    int32_t tid[3][SIM_LANES];
    sim_step state;       // of the scheduler: NEXT ready, WAIT, END
    const sim_use *waiting_for;   // with WAIT
    uint32_t waiting_lanes;
    uint64_t instructions;        // thread instructions, for the counters
    uint64_t steps;               // warp instructions, for the budget
    uint32_t line_site;           // of the statement under way (tracing)
    bool watches_nan;             // options.trap_nan
    bool contracts;               // options.contract, of kernels
    uint32_t has_waited;          // lanes behind griddepcontrol_wait(), as far as that was asked
    bool told_flight;             // a write to an accumulator in flight has been reported
    struct sim_clock *clock;      // what its lanes know of others (race.c)
    const sim_op *begun;          // the operation under way, always
    bool follows_uses;            // there are such loads:
    struct sim_uses *uses;        // loads of shared memory whose values were not used yet (uses.c); NULL: not followed
    struct sim_async *async;      // copies on their way (models/async.c)
    void *model_state[8];         // for models that keep something by warp
};

struct sim_block {
    sim_launch *launch;
    struct sim_worker *worker;
    int64_t index;         // linear
    int64_t id[3];
    int warp_count;
    int thread_count;
    sim_warp *warps;
    int alive;             // warps that have not ended
    uint8_t *shared;       // the bytes of shared memory
    int64_t shared_bytes;
    struct sim_shadow *shadow;    // of shared memory (memory.c)
    struct sim_barriers *barriers; // models/barrier.c
    struct sim_warpgroup *groups;  // models/warpgroup.c
    struct sim_order *order;       // what happened before what in this block (race.c)
    arena *arena;          // lives as long as the block runs
    uint64_t random;       // state of the schedule's generator
    uint64_t clock;        // warp instructions executed in this block: the clock that kernels see
    sim_cluster *cluster;  // NULL: of a host function
    int rank;              // in the cluster
    bool has_ended;        // its shared memory is gone
    bool lets_dependents_start;  // a thread has executed griddepcontrol_launch_dependents()
};

// Blocks that run together, on one host thread, and reach into each other's shared memory. A launch without clusters
// has clusters of one block.
struct sim_cluster {
    sim_launch *launch;
    int count;
    int alive;             // blocks that have not ended
    sim_block **blocks;    // by rank
    struct sim_cluster_barrier *barrier;  // models/cluster.c
    VEC(struct sim_party) waits;  // griddepcontrol_wait() by its threads
    arena *arena;          // of all of them
};

struct sim_launch {
    sim *device;
    const sim_program *program;
    const ir_func *kernel;
    const sim_code *code;
    const uint64_t *args;
    const sim_field *arg_fields;  // of each; NULL: none have any
    int arg_count;
    const sim_tensor_map *maps;    // of the kernel's maps, in their order
    sim_launch_shape shape;
    int64_t block_count;
    uint64_t number;       // launches so far
    bool is_host;          // a host function: one lane, no shared memory
    bool is_parallel;      // its blocks run on several host threads
    bool halted;           // atomic: set by the first to find that it cannot continue
    int64_t steps;         // atomic: warp instructions of all blocks so far
    uint64_t place;        // kernels: among those of the stream, from 1 (dependent.h),
    uint64_t complete;     // of which those up to this one have ended when it starts
    bool has_waited;       // atomic: a thread has executed griddepcontrol_wait(),
    bool waits_first;      // atomic: and in a block that had not let dependents start
    VEC(uint64_t) kept;    // host functions: what they have allocated, freed when they return
    arena *arena;          // of [kept]
};

enum { SIM_RECENT = 16 };

// The launches of a device, in the order of one stream.
typedef struct sim_stream {
    uint64_t count;                      // of kernels so far
    uint64_t complete;                   // those up to this one have ended when the next dependent kernel starts
    const ir_func *recent[SIM_RECENT];   // by number, modulo SIM_RECENT
} sim_stream;

struct sim {
    arena *arena;
    sim_stream stream;
    sim_options options;
    sim_memory *memory;
    struct sim_findings *findings;
    sim_profile *profile;
    uint64_t launches;
    const sim_field *arg_fields;   // of the arguments of the call or launch that comes next; NULL: none
    uint64_t instructions;
    map constants;                 // sim_program* -> uint64_t[] addresses of its constant tensors
    src_span statement;            // of the launch plan that runs (sim_at_statement); 0: none
    const char *statement_file;    // of one without a span; NULL: not known
    uint32_t statement_line;
    const src_span *origins;       // of it, by sim_options.origins
    size_t origin_count;
    struct sim_loose *loose;       // arenas of what runs now, to free when memory runs out
};

// ---- cells ----------------------------------------------------------------------------------------------------

static inline uint32_t *sim_u32(const sim_warp *w, uint32_t cell)
{
    return (uint32_t *)(void *)(w->cells + (size_t)cell * SIM_CELL_BYTES);
}
static inline int32_t *sim_i32(const sim_warp *w, uint32_t cell) { return (int32_t *)(void *)sim_u32(w, cell); }
static inline float *sim_f32(const sim_warp *w, uint32_t cell) { return (float *)(void *)sim_u32(w, cell); }
static inline uint64_t *sim_u64(const sim_warp *w, uint32_t cell) { return (uint64_t *)(void *)sim_u32(w, cell); }
static inline int64_t *sim_i64(const sim_warp *w, uint32_t cell) { return (int64_t *)(void *)sim_u32(w, cell); }
static inline double *sim_f64(const sim_warp *w, uint32_t cell) { return (double *)(void *)sim_u32(w, cell); }
static inline sim_field *sim_field_of(const sim_warp *w, uint32_t cell, int lane)
{
    return w->field + ((size_t)cell * SIM_LANES + (size_t)lane) * SIM_FIELD_PARTS;
}

// Bits of a lane of a value of one or two cells.
static inline uint64_t sim_bits(const sim_warp *w, uint32_t cell, int cells, uint32_t lane)
{
    return cells == 2 ? sim_u64(w, cell)[lane] : sim_u32(w, cell)[lane];
}

// Lanes of [mask], one after the other: SIM_EACH(lane, mask) { … }
#define SIM_EACH(lane, mask)                                                                                           \
    for (uint32_t rest_##lane = (mask), lane = 0;                                                                      \
         rest_##lane && (lane = (uint32_t)__builtin_ctz(rest_##lane), true); rest_##lane &= rest_##lane - 1)

static inline int sim_cluster_count(const sim_block *b) { return b->cluster ? b->cluster->count : 1; }
static inline int sim_thread(const sim_warp *w, uint32_t lane) { return w->index * SIM_LANES + (int)lane; }
// Lanes that have not returned from the kernel.
static inline uint32_t sim_live(const sim_warp *w) { return w->full & ~(w->frames.len ? w->frames.at[0].returned : 0); }

// ---- running --------------------------------------------------------------------------------------------------

// exec.c: runs until the warp waits, ends, or has executed about [quantum] operations (SIM_YIELD).
sim_step sim_execute(sim_warp *w, int64_t quantum);
// Brings a warp to the start of [code], its parameters [args].
void sim_warp_start(sim_warp *w, const sim_code *code, const uint64_t *args, int count);
// block.c: a waiting warp may continue, after the operation that it waits at.
void sim_wake(sim_warp *w);
// block.c: runs all blocks of the launch.
void sim_run_launch(sim_launch *l);
// sim.c: a launch by a host function, from [site].
sim_status sim_launch_kernel(sim *s, const sim_program *p, const ir_func *kernel, const uint64_t *args, int count, uint32_t site);
void sim_keep_allocation(sim_launch *host, uint64_t address);
// workspace.c: what the launch that comes next, of a host function, is for (sim_options.origins).
void sim_at_launch(sim *s, const sim_program *p, uint32_t site);
// An argument that is a tensor.
typedef struct sim_extents {
    const int64_t *shape;    // NULL: it is none
    const int64_t *strides;  // in elements; NULL: row-major
} sim_extents;
// launch.c: whether hardware and language (reference, 10.1) allow the launch. False after reporting at
// [site]. [extents]: of each argument.
bool sim_launch_check(const sim_launch *l, const sim_extents *extents, uint32_t site, arena *scratch);
int64_t sim_budget_of(const sim *s);
int64_t sim_memory_limit(const sim *s);
int sim_worker_count(const sim *s);
uint32_t sim_site_of_function(const sim_program *p, const ir_func *f);  // the location of its head
