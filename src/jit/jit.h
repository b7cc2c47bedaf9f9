// Kernels launched from their interface document (docs/interface.md) instead of by generated code.
//
//     jit_program p;
//     if (jit_read(arena, document, &p, &why)) {
//         jit_set_code(&p, &library);                          // a cubin
//         jit_launch(&p.kernels[0], arguments, count, stream);
//         jit_unload(&p);
//     }
//
// Once it has code, a program is read-only except for state of libhdsrt, so any number of threads may launch its
// kernels. Errors are reported as in libhdsrt: a status, and a text for hdsrt_last_error(). A launch does not allocate
// unless the kernel has dozens of parameters.
#pragma once

#include <hds/hds.h>

#include "base/arena.h"
#include "base/str.h"
#include "jit/expr.h"
#include "plan/plan.h"
#include "target/dtype.h"

// Larger documents are rejected: the compiler does not generate them.
enum { JIT_MAX_PARAMETERS = 1024, JIT_MAX_RANK = 16, JIT_MOST_OPERANDS = 64, JIT_MOST_ARGUMENTS = 96 };

typedef struct jit_parameter {
    hds_parameter shown;      // tensors of vectors have one more dimension than in the kernel
    dtype type;               // of the value or the pointee; DT_NONE: other (pointers to pointers)
    int lanes;                // of a vector; 0: none
    int bytes;                // as passed: 8 for addresses
    int tensor;               // index among the tensors; -1: no tensor
    bool is_extent;           // sizes: some tensor has it as an extent
    int first_extent;         // tensors: where its extents begin among those of all tensors
    const jit_expr *shape;  // tensors: shown.ndim
    const jit_expr *strides;  // tensors with strides: shown.ndim of them; NULL: row-major
    bool may_be_zero;         // sizes: 0 is allowed, also as an extent
    int64_t min, max, divisor;  // integers: from the declaration
    int joined;               // operands of operators: 1 + the axis that represents any number of them; 0: none
    int join_group;           // operands of one group have equal extents there; from 1
    bool is_result;           // operands: each element is written, and none is read before
} jit_parameter;

// Vectors and complex numbers.
static inline bool jit_is_by_address(const jit_parameter *p)
{
    return p->shown.kind == HDS_SCALAR && (p->lanes || p->type == DT_C64);
}

// A descriptor for TMA, passed after the parameters.
typedef struct jit_map {
    const char *tensor;
    int parameter;        // the index of the tensor
    hdsrt_tiling tiling;  // without the shape
    bool is_im2col;
    hdsrt_im2col im2col;
} jit_map;

typedef struct jit_kernel {
    hdsrt_kernel launch;
    const char *title, *doc;
    jit_parameter *parameters;
    int count, size_count;     // sizes come last
    const hdsrt_tensor_rule *rules;  // of the tensors
    int tensor_count, extent_count;
    const jit_expr *assumptions;  // conditions that must hold
    int assumption_count;
    const jit_map *maps;
    int map_count;
    jit_expr grid[3], block[3], cluster[3], dynamic_smem_bytes;
    bool has_cluster;
    bool is_cluster_fixed;     // compiled in
    size_t frame_bytes;
} jit_kernel;

// A host function: parameters, as a kernel has them, and the plan that runs with their values.
typedef struct jit_function {
    jit_kernel entry;         // without extents, maps and code
    plan plan;
    jit_kernel **kernels;     // by statement of the plan: what a LAUNCH launches
    const char *refused;      // why there is no plan: "scale.hds:12:5: a launch plan has no …"; NULL: there is one
    const char *operator;     // the operator of which this is an instance; NULL: none
    bool is_strided;          // an instance for tensors with any strides
} jit_function;

// All entries of an operator as one.
typedef struct jit_operator {
    jit_kernel *entry;        // parameters: those of [first], without sizes
    const jit_function *first;
    const jit_function **functions;  // [instance_count], then [strided_count], which is the same or 0
    const int **operand_indices;     // by function, for each argument: its index among the operator's
    const hdsrt_operand *operands;
    const hdsrt_dtype *types;
    int instance_count, strided_count;
} jit_operator;

// What a parameter of a model's function is.
typedef enum jit_role { JIT_INPUT, JIT_WEIGHT, JIT_PREPARED, JIT_OUTPUT } jit_role;

typedef struct jit_role_of {
    jit_role role;
    const char *name;          // the parameter's; what is prepared has the same in both functions
    const char *weight, *file; // a weight's name in its file; the file as the model names it, or NULL
} jit_role_of;

// One function of a model, and what its tensors are, parameter by parameter.
typedef struct jit_model_function {
    const jit_function *function;
    const jit_role_of *roles;
    int count;
} jit_model_function;

typedef struct jit_model {
    jit_model_function load; // runs once, before the other; its function is NULL: there is none
    jit_model_function run;
} jit_model;

typedef struct jit_program {
    const char *arch, *source;
    jit_kernel *kernels;
    hdsrt_kernel **launches;  // of the kernels
    int count;
    jit_function *functions;
    int function_count;
    jit_operator *operators;
    int operator_count;
    jit_model *models;
    int model_count;
    hdsrt_library library;
} jit_program;

// Reads a document; the result is in [a] and must not be moved. Returns false for an invalid document, with the reason
// in *why, in [a].
bool jit_read(arena *a, str document, jit_program *out, const char **why);
// Sets the machine code of the kernels. [archs] must live as long as the program.
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
    uint64_t *bits;               // by parameter: scalars, sizes and addresses as passed; of vectors and complex numbers: where
                                  // they stand
    void **addresses;             // by parameter, then by map: the address of the value to pass
    hdsrt_strided_value *tensors; // by tensor
    int64_t *extents, *strides;   // of all tensors
    hdsrt_tensor_map *maps;
} jit_frame;

// Cuts a frame from [room], kernel->frame_bytes at a multiple of 8.
void jit_frame_init(jit_frame *f, const jit_kernel *kernel, void *room);
// Memory for a frame: enough for a dozen tensors. Larger frames are on the heap; the caller frees [large].
enum { JIT_SMALL_FRAME = 2048 };

typedef struct jit_room {
    _Alignas(16) char small[JIT_SMALL_FRAME];
    void *large;
} jit_room;

hdsrt_status jit_take_room(jit_room *r, const jit_kernel *kernel, jit_frame *f);
// Checks the arguments and fills the frame; it points into [arguments].
hdsrt_status jit_bind(jit_frame *f, const hds_argument *arguments, size_t count, jit_purpose purpose);
// The extents of the launch, including those of a compiled-in cluster.
hdsrt_status jit_frame_extents(const jit_frame *f, hdsrt_extents *out);

hdsrt_status jit_launch(jit_kernel *kernel, const hds_argument *arguments, size_t count, hdsrt_stream stream);
hdsrt_status jit_extents(const jit_kernel *kernel, const hds_argument *arguments, size_t count, hdsrt_extents *out);
hdsrt_status jit_shape(const jit_kernel *kernel, const hds_argument *arguments, size_t count, size_t index,
                       int64_t *shape);

// ---- host functions (run.c) ------------------------------------------------------------------------------------

// The device that plans run on: the current GPU or a simulated one. A function that fails has called hdsrt_fail.
typedef struct jit_machine {
    void *user;
    // The planned workspace is taken at once (without a statement). Else each temporary is memory of its own, in which
    // an access beyond its end can be found.
    bool has_workspace;
    hdsrt_status (*allocate)(void *user, const char *name, const plan_stmt *s, int64_t bytes, uint64_t *address);
    hdsrt_status (*release)(void *user, uint64_t address);
    hdsrt_status (*fill)(void *user, uint64_t to, uint64_t pattern, int element_bytes, int64_t count);
    hdsrt_status (*copy)(void *user, uint64_t to, uint64_t from, int64_t bytes);
    // [bits]: of each parameter, as plans have them.
    hdsrt_status (*launch)(void *user, const plan_stmt *s, jit_kernel *kernel, const uint64_t *bits);
    // What the host function prints. NULL: dropped.
    void (*print)(void *user, str text);
    int64_t most_steps;  // a run fails after this many statements; 0: unlimited
} jit_machine;

// Runs the plan of [f] with the values of its parameters. Temporaries are released, also after a failure. [result]: the bits of
// what the plan gives; NULL for a plan without a result.
hdsrt_status jit_run(const jit_function *f, const uint64_t *parameters, const jit_machine *machine, uint64_t *result);
// The value of a function with a result, which needs no GPU.
hdsrt_status jit_evaluate(const jit_function *f, const hds_argument *arguments, size_t count, hds_argument *result);
// The peak size of its temporaries in bytes for these sizes; -1: not known in advance.
hdsrt_status jit_workspace(const jit_function *f, const hds_argument *arguments, size_t count, int64_t *bytes);
// Checks the arguments and runs the plan on the current GPU, in stream order.
hdsrt_status jit_call(const jit_function *f, const hds_argument *arguments, size_t count, hdsrt_stream stream);
// The same with memory for the planned workspace, of at least f->plan.planned bytes: nothing is allocated where temporaries have
// offsets in one.
hdsrt_status jit_call_in(const jit_function *f, const hds_argument *arguments, size_t count, hdsrt_stream stream, void *workspace);

// ---- operators (operator.c) ------------------------------------------------------------------------------------

// Of the functions in [p].
void jit_find_operators(arena *a, jit_program *p);

// The instance selected for the arguments, and its arguments. Self-referential: do not copy.
typedef struct jit_choice {
    const jit_function *function;
    hds_argument arguments[JIT_MOST_ARGUMENTS];
    size_t count;
    const hdsrt_tensor *tensors[JIT_MOST_OPERANDS];
    hdsrt_joined joined[JIT_MOST_OPERANDS];
} jit_choice;

// Omitted operands are null tensors. To launch: operands may be copied in stream order, and the caller must call
// hdsrt_finish_instance unless operands are strided. To simulate: nothing is copied.
hdsrt_status jit_choose(const jit_operator *o, const hds_argument *arguments, size_t count, jit_purpose purpose,
                        hdsrt_stream stream, jit_choice *out);
hdsrt_status jit_call_operator(const jit_operator *o, const hds_argument *arguments, size_t count, hdsrt_stream stream);

// The DLPack type code; {0, 0} for types that DLPack lacks.
hdsrt_dtype jit_dlpack_type(dtype type);
