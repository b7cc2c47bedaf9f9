// Kernels that are launched by what a document says of them (docs/interface.md), instead of by generated code.
//
//     jit_program p;
//     if (jit_read(arena, document, &p, &why)) {
//         jit_set_code(&p, &library);                          // a cubin
//         jit_launch(&p.kernels[0], arguments, count, stream);
//         jit_unload(&p);
//     }
//
// A program is read-only once it has its code, but for what libhdsrt keeps in it: any number of threads may launch its
// kernels. Failures are those of libhdsrt: a status, and a text for hdsrt_last_error(). Launching takes no memory,
// unless a kernel has dozens of parameters.
#pragma once

#include <hds/hds.h>

#include "base/arena.h"
#include "base/str.h"
#include "jit/amount.h"
#include "plan/plan.h"
#include "target/dtype.h"

// Larger documents are refused: they are none of ours.
enum { JIT_MAX_PARAMETERS = 1024, JIT_MAX_RANK = 16, JIT_MOST_OPERANDS = 64, JIT_MOST_ARGUMENTS = 96 };

typedef struct jit_parameter {
    hds_parameter shown;      // tensors of vectors have one more dimension than the kernel says
    dtype type;               // of the value, or of what is pointed at; DT_NONE: something else (pointers to pointers)
    int lanes;                // of a vector; 0: none
    int bytes;                // as passed: 8 for addresses
    int tensor;               // which one of the tensors it is; -1: none
    bool is_extent;           // sizes: some tensor has it as an extent
    int first_extent;         // tensors: where its extents begin among those of all tensors
    const jit_amount *shape;  // tensors: shown.ndim
    const jit_amount *strides;  // tensors whose strides are their own: shown.ndim; NULL: row-major
    bool may_be_zero;         // sizes: also as extents
    int64_t min, max, divisor;  // integers: what the declaration says of them
    int joined;               // operands of operators: 1 + the axis that represents any number of them; 0: none
    int join_group;           // operands of one group have the same extents there; from 1
    bool is_result;           // operands: each element is written, and none is read before
} jit_parameter;

// A descriptor for TMA, passed after the parameters.
typedef struct jit_map {
    const char *tensor;
    int parameter;        // that tensor
    hdsrt_tiling tiling;  // but for the shape
} jit_map;

typedef struct jit_kernel {
    hdsrt_kernel launch;
    const char *title, *doc;
    jit_parameter *parameters;
    int count, size_count;     // sizes come last
    const hdsrt_tensor_rule *rules;  // of the tensors
    int tensor_count, extent_count;
    const jit_amount *assumptions;  // what has to be true
    int assumption_count;
    const jit_map *maps;
    int map_count;
    jit_amount grid[3], block[3], cluster[3], dynamic_smem_bytes;
    bool has_cluster;
    bool is_cluster_fixed;     // compiled in
    size_t frame_bytes;
} jit_kernel;

// A host function: parameters, as a kernel has them, and the plan that runs with their values.
typedef struct jit_function {
    jit_kernel entry;         // but for its extents, maps and code
    plan plan;
    jit_kernel **kernels;     // by statement of the plan: what a LAUNCH launches
    const char *refused;      // why there is no plan: "scale.hds:12:5: a launch plan has no …"; NULL: there is one
    const char *operator;     // that this is an entry of, for some types; NULL: none
    bool is_strided;          // such an entry for tensors with any strides
} jit_function;

// All entries of an operator as one.
typedef struct jit_operator {
    jit_kernel *entry;        // parameters: those of [first], without sizes
    const jit_function *first;
    const jit_function **functions;  // [instance_count], then [strided_count], which is the same or 0
    const int **places;       // by function: where its arguments stand among those of the operator
    const hdsrt_operand *operands;
    const hdsrt_dtype *types;
    int instance_count, strided_count;
} jit_operator;

typedef struct jit_program {
    const char *arch, *source;
    jit_kernel *kernels;
    hdsrt_kernel **launches;  // of the kernels
    int count;
    jit_function *functions;
    int function_count;
    jit_operator *operators;
    int operator_count;
    hdsrt_library library;
} jit_program;

// Reads a document; the result is in [a] and must not move. False for what is none, *why then says what is wrong, in
// [a].
bool jit_read(arena *a, str document, jit_program *out, const char **why);
// What the kernels are launched from. [archs] must live as long.
void jit_set_code(jit_program *p, str image, const uint16_t *archs, uint32_t arch_count);
void jit_unload(jit_program *p);

// The purpose of inspecting arguments.
typedef enum jit_purpose {
    JIT_TO_LAUNCH,    // tensors in memory of the current device
    JIT_TO_SIMULATE,  // tensors in host memory
    JIT_TO_MEASURE,   // tensors for their extents only; they may be missing
} jit_purpose;

// Arguments bound to parameters.
typedef struct jit_frame {
    const jit_kernel *kernel;
    jit_value *values;            // by parameter
    uint64_t *bits;               // by parameter: scalars, sizes and addresses as passed
    void **addresses;             // by parameter, then by map: where what is passed stands
    hdsrt_strided_value *tensors; // by tensor
    int64_t *extents, *strides;   // of all tensors
    hdsrt_tensor_map *maps;
} jit_frame;

// Cuts a frame from [room], kernel->frame_bytes at a multiple of 8.
void jit_frame_init(jit_frame *f, const jit_kernel *kernel, void *room);
// Memory for a frame: enough for a dozen tensors; more goes to the heap, and the caller frees [large].
enum { JIT_SMALL_FRAME = 2048 };

typedef struct jit_room {
    _Alignas(16) char small[JIT_SMALL_FRAME];
    void *large;
} jit_room;

hdsrt_status jit_take_room(jit_room *r, const jit_kernel *kernel, jit_frame *f);
// Checks the arguments and fills the frame; it points into [arguments].
hdsrt_status jit_bind(jit_frame *f, const hds_argument *arguments, size_t count, jit_purpose purpose);
// The extents of the launch, those of a cluster that is compiled in included.
hdsrt_status jit_frame_extents(const jit_frame *f, hdsrt_extents *out);

hdsrt_status jit_launch(jit_kernel *kernel, const hds_argument *arguments, size_t count, hdsrt_stream stream);
hdsrt_status jit_extents(const jit_kernel *kernel, const hds_argument *arguments, size_t count, hdsrt_extents *out);
hdsrt_status jit_shape(const jit_kernel *kernel, const hds_argument *arguments, size_t count, size_t index,
                       int64_t *shape);

// ---- host functions (run.c) ------------------------------------------------------------------------------------

// What plans run on: the current GPU, or a simulated one. Each function may fail, after hdsrt_fail.
typedef struct jit_machine {
    void *user;
    hdsrt_status (*allocate)(void *user, const char *name, const plan_stmt *s, int64_t bytes, uint64_t *address);
    hdsrt_status (*release)(void *user, uint64_t address);
    hdsrt_status (*fill)(void *user, uint64_t to, uint64_t pattern, int element_bytes, int64_t count);
    hdsrt_status (*copy)(void *user, uint64_t to, uint64_t from, int64_t bytes);
    // [bits]: of each parameter, as plans have them.
    hdsrt_status (*launch)(void *user, jit_kernel *kernel, const uint64_t *bits);
    int64_t most_steps;  // statements after which a run ends as a failure; 0: any number
} jit_machine;

// Runs the plan, which [f] has, with the values of its parameters. Temporaries that it takes are released, also after a failure.
hdsrt_status jit_run(const jit_function *f, const uint64_t *parameters, const jit_machine *machine);
// The most bytes that its temporaries have at one time, for these sizes; -1: that is not known beforehand.
hdsrt_status jit_workspace(const jit_function *f, const hds_argument *arguments, size_t count, int64_t *bytes);
// Checks the arguments and runs the plan on the current GPU, in stream order.
hdsrt_status jit_call(const jit_function *f, const hds_argument *arguments, size_t count, hdsrt_stream stream);
// ---- operators (operator.c) ------------------------------------------------------------------------------------

// Of the functions in [p].
void jit_find_operators(arena *a, jit_program *p);

// The entry that arguments are for, and its arguments. Points into itself.
typedef struct jit_choice {
    const jit_function *function;
    hds_argument arguments[JIT_MOST_ARGUMENTS];
    size_t count;
    const hdsrt_tensor *tensors[JIT_MOST_OPERANDS];
    hdsrt_joined joined[JIT_MOST_OPERANDS];
} jit_choice;

// Operands that are left out are null tensors. To launch: operands may be copied, in stream order, and
// hdsrt_finish_instance has to be called, unless operands are strided. To simulate: nothing is copied.
hdsrt_status jit_choose(const jit_operator *o, const hds_argument *arguments, size_t count, jit_purpose purpose,
                        hdsrt_stream stream, jit_choice *out);
hdsrt_status jit_call_operator(const jit_operator *o, const hds_argument *arguments, size_t count, hdsrt_stream stream);

// The DLPack code of a type; {0, 0} for those that it has no name for.
hdsrt_dtype jit_dlpack_type(dtype type);
