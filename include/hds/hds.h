// libhds: the compiler as a library.
//
//     hds_compiler *compiler;
//     hds_program *program;
//     hds_compiler_new(NULL, &compiler);
//     hds_status status = hds_compile(compiler, &(hds_source){.name = "saxpy.hds"}, NULL, &program);
//     for (size_t i = 0; i < hds_program_diagnostic_count(program); i++)
//         fputs(hds_program_diagnostic(program, i)->rendered, stderr);
//     const hds_kernel *saxpy = hds_program_kernel(program, "saxpy");
//     hds_launch(saxpy, (hds_argument[]){hds_float(2.0), hds_tensor(x), hds_tensor(y)}, 3, stream);
//     hds_program_release(program);
//     hds_compiler_release(compiler);
//
// Every function may be called from any thread, on the same objects. Nothing here aborts or exits, and nothing
// prints but host functions with printf, on a GPU. Results are cached in memory by the compiler object and on disk
// (docs/cache.md): compiling the same source again takes microseconds, or a millisecond in another process.
//
// Option structures begin with their size so that they can be extended. Initialise them with HDS_…_INIT.
#ifndef HDS_H
#define HDS_H

#include <hds/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

// Incremented on changes that break programs compiled against an older header.
#define HDS_ABI 1
HDSRT_API int hds_abi(void);
HDSRT_API const char *hds_version(void);  // "0.1.0"

typedef enum hds_status {
    HDS_OK = 0,
    HDS_ERRORS,            // the source has errors, or the simulator found errors in the kernel: see the diagnostics
    HDS_INVALID_ARGUMENT,  // an invalid call: see hds_last_error()
    HDS_NO_TOOLCHAIN,      // NVRTC is missing or too old: a diagnostic lists the searched paths. Also for launching a kernel
                           // without machine code
    HDS_DEVICE,            // an error of the driver or the GPU: see hds_last_error() and hdsrt_last_driver_error()
    HDS_NO_MEMORY,
    HDS_INTERNAL,          // a bug in hdsc: a diagnostic has the details
    HDS_INTERRUPTED        // by hds_interrupt, or by the progress function of hds_compile
} hds_status;

HDSRT_API const char *hds_status_text(hds_status status);
// The error of the last failed call in this thread, one line; "" if there was none.
HDSRT_API const char *hds_last_error(void);

// ---- the compiler ----------------------------------------------------------------------------------------------------------

typedef struct hds_compiler hds_compiler;

typedef struct hds_compiler_options {
    size_t size;              // sizeof(hds_compiler_options)
    const char *cache_dir;    // NULL: $HDS_CACHE_DIR or the user's cache folder; "": no cache on disk
    uint64_t cache_bytes;     // size limit of the cache on disk; 0: $HDS_CACHE_SIZE or 1 GiB
    const char *nvrtc;        // the NVRTC library or its folder; NULL: where CUDA is usually installed
    size_t memory_programs;   // programs kept in memory after their last release; 0: 256
    int workers;              // processes that run NVRTC, at most; 0: one for each core; -1: none, it runs in this process
} hds_compiler_options;
#define HDS_COMPILER_OPTIONS_INIT {sizeof(hds_compiler_options), NULL, 0, NULL, 0, 0}

HDSRT_API hds_status hds_compiler_new(const hds_compiler_options *options, hds_compiler **compiler);
// Programs outlive their compiler.
HDSRT_API void hds_compiler_release(hds_compiler *compiler);

// ---- programs --------------------------------------------------------------------------------------------------------------

// A compiled file: its kernels, diagnostics and texts. Immutable and reference-counted.
typedef struct hds_program hds_program;

typedef struct hds_source {
    const char *name;   // for messages; the path of the file if [text] is NULL
    const char *text;   // UTF-8; NULL: the file [name]
    size_t text_bytes;  // 0: [text] ends at its first 0
} hds_source;

// What takes long in hds_compile, in this order. Stages that are not needed are left out; the last one where machine code is
// found in the cache, and all of them where the program is.
typedef enum hds_stage {
    HDS_STAGE_GRAPH,    // the graph of a model is recorded and rewritten
    HDS_STAGE_KERNELS,  // kernels are made of definitions and schedules
    HDS_STAGE_CODE      // NVRTC compiles them to machine code
} hds_stage;

typedef struct hds_progress {
    const char *name;        // of the source
    const char *stage_text;  // "graph", "kernels", "machine code"
    hds_stage stage;
    size_t done, count;   // kernels of this stage, of HDS_STAGE_KERNELS launches of a model; count is 0 where it is not known
} hds_progress;

// Called on threads of the compiler, never by two at once for one call of hds_compile: when something is done, and about ten
// times a second while NVRTC works. false: compiling ends soon, with HDS_INTERRUPTED and without a program; worker processes that
// compile for it are ended, and what is finished stays in the caches. It must not call hds_compile with the same source and
// options, which would wait for it.
typedef bool hds_progress_function(void *user, const hds_progress *progress);

typedef struct hds_compile_options {
    size_t size;                  // sizeof(hds_compile_options)
    const char *arch;             // "sm_90a"; NULL: that of the current GPU
    const char *const *defines;   // "BM=64", "T=f16", "FAST" for "FAST=True": module constants and type parameters, as -D
    size_t define_count;
    const char *const *entries;   // "relu", "relu[f16, 1024]": these kernels and instances only, as --entry
    size_t entry_count;
    const char *const *include_dirs;  // as -I
    size_t include_dir_count;
    const char *const *warnings;  // "no-shadow", …: as -W
    size_t warning_count;
    bool warnings_are_errors;
    bool line_info;               // source lines in the code, for profilers
    // Schedules are chosen for this GPU: "h200", as --gpu; "native": the current one; NULL: that one if [arch] is NULL, else a
    // typical one of [arch]. It names the architecture if [arch] is NULL.
    const char *gpu;
    int sm_count;                 // choose them for this number of SMs, as --sms; 0: that of the GPU
    // Of models, as --weights: a safetensors file, or the index of several, that says the types of weights, and that
    // hds_model_open takes unless it is given another one; "random" or "random:SEED": no file is read. NULL: the file that
    // the model names.
    const char *weights;
    // Of models, as --precision: "f16", "bf16", "tf32" or "winograd", and exceptions: "f16,softmax=f32,19=f32,layers.0.*=f32".
    // Inputs and outputs keep their types. NULL: models compute in the types that they name.
    const char *precision;
    bool no_code;                 // no machine code: kernels can be simulated, and NVRTC is not needed
    // Of models, as --layout: "keep": images stay as they are; "last": channels last wherever operators take that; "auto" or NULL:
    // where it pays. Inputs and outputs stay.
    const char *layout;
    // A table of `hdsc tune`, as --tuned: what it says goes before the tables of the library. NULL: none.
    const char *tuned;
    // Of models: "FILE.hds": its rewrites are applied, too, as by --rewrites; "NAME": this rewrite, even if it is approximate;
    // "-NAME": not this one; "none": none at all. The later one of two with the same name counts.
    const char *const *rewrites;
    size_t rewrite_count;
    hds_progress_function *progress;  // says how far compiling is, and may end it; NULL: no callback
    void *progress_user;              // its first argument
} hds_compile_options;
#define HDS_COMPILE_OPTIONS_INIT \
    {sizeof(hds_compile_options), NULL, NULL, 0, NULL, 0, NULL, 0, NULL, 0, false, false, NULL, 0, NULL, NULL, false, NULL, NULL, \
     NULL, 0, NULL, NULL}

// Compiles to machine code. Sets *program, which the caller releases, whenever there are diagnostics to read, also
// after HDS_ERRORS, HDS_NO_TOOLCHAIN and HDS_INTERNAL; otherwise *program is NULL. [options] may be NULL. After
// HDS_NO_TOOLCHAIN the program has its kernels, CUDA text and interface, but no machine code: they can be simulated.
HDSRT_API hds_status hds_compile(hds_compiler *compiler, const hds_source *source, const hds_compile_options *options,
                                 hds_program **program);
HDSRT_API void hds_program_retain(hds_program *program);
// The last release unloads the code from the GPU, now or when the compiler evicts it. No launch may be in flight.
HDSRT_API void hds_program_release(hds_program *program);

typedef enum hds_severity { HDS_NOTE, HDS_WARNING, HDS_ERROR } hds_severity;

// Lines and columns count from 1, columns in bytes; 0 if a message has no location.
typedef struct hds_diagnostic {
    const char *code;      // "HDS0130"
    hds_severity severity;
    const char *message;   // one line
    const char *file;      // NULL if a message has no location
    uint32_t line, column, end_line, end_column;
    const char *rendered;  // the whole message as `hdsc` prints it, without colours
} hds_diagnostic;

// In source order. Returned pointers live as long as the program.
HDSRT_API size_t hds_program_diagnostic_count(const hds_program *program);
HDSRT_API const hds_diagnostic *hds_program_diagnostic(const hds_program *program, size_t index);

typedef enum hds_text {
    HDS_CUDA,       // CUDA C++
    HDS_PTX,
    HDS_CUBIN,
    HDS_INTERFACE   // JSON: how the kernels are launched (docs/interface.md)
} hds_text;

// The text or machine code; *bytes excludes the terminating 0. NULL if the program has errors.
HDSRT_API const void *hds_program_text(const hds_program *program, hds_text which, size_t *bytes);
// "sm_90a"
HDSRT_API const char *hds_program_arch(const hds_program *program);
typedef enum hds_origin { HDS_COMPILED, HDS_FROM_DISK, HDS_FROM_MEMORY } hds_origin;
HDSRT_API hds_origin hds_program_origin(const hds_program *program);  // where the code came from

// ---- kernels ---------------------------------------------------------------------------------------------------------------

// Belongs to its program, with the same lifetime.
typedef struct hds_kernel hds_kernel;

HDSRT_API size_t hds_program_kernel_count(const hds_program *program);
HDSRT_API const hds_kernel *hds_program_kernel_at(const hds_program *program, size_t index);
// By symbol, or by title ("relu[T=f16]"); NULL if there is none.
HDSRT_API const hds_kernel *hds_program_kernel(const hds_program *program, const char *name);

HDSRT_API const char *hds_kernel_name(const hds_kernel *kernel);   // the symbol
HDSRT_API const char *hds_kernel_title(const hds_kernel *kernel);  // in source notation, "relu[T=f16]"
HDSRT_API const char *hds_kernel_doc(const hds_kernel *kernel);    // the docstring, or NULL

typedef enum hds_parameter_kind { HDS_SCALAR, HDS_TENSOR, HDS_POINTER, HDS_SIZE } hds_parameter_kind;

typedef struct hds_parameter {
    const char *name;
    hds_parameter_kind kind;
    const char *dtype;         // "f16"
    int ndim;                  // tensors; a tensor of vectors has one dimension more than in the source
    const char *const *shape;  // tensors: the extents' texts, "m", "128", "2 * n"
    uint32_t alignment;        // tensors: bytes
    bool is_written;           // tensors and pointers
    const char *const *strides;  // strided tensors: the strides' texts, "ld", "1"; else NULL
} hds_parameter;

// Host functions of the file, then its operators. They are launched, simulated and described as kernels are. What a host
// function does is its launch plan, which needs no C compiler (docs/interface.md): checks, sizes, branches, temporaries in
// stream order, and launches. An operator ("softmax") has one host function for each type ("softmax_f16"), and
// chooses by the types, axes and strides of its arguments, as the C function of the same name does (docs/aot.md). It takes
// DLPack tensors and numbers, but no sizes; a null tensor omits an optional operand. Names are as above.
HDSRT_API size_t hds_program_function_count(const hds_program *program);
HDSRT_API const hds_kernel *hds_program_function_at(const hds_program *program, size_t index);
HDSRT_API const hds_kernel *hds_program_function(const hds_program *program, const char *name);
// The plan as text, which lives as long as the program; NULL for kernels and operators, and for a host function that a
// plan cannot express: launching that one is HDS_INVALID_ARGUMENT, and hds_last_error() has the line and the reason.
HDSRT_API const char *hds_function_plan(const hds_kernel *function);

HDSRT_API size_t hds_kernel_parameter_count(const hds_kernel *kernel);
HDSRT_API const hds_parameter *hds_kernel_parameter(const hds_kernel *kernel, size_t index);

// ---- launching --------------------------------------------------------------------------------------------------------------

typedef enum hds_argument_kind { HDS_ARG_INT, HDS_ARG_FLOAT, HDS_ARG_POINTER, HDS_ARG_TENSOR } hds_argument_kind;

// An argument. A tensor parameter takes a DLPack tensor, or a pointer to its first element; a pointer takes a pointer,
// or a tensor for the address of its first element; numbers are converted to the parameter's type; an integer has to
// fit into it (any 64 bits are a u64); vectors and complex numbers take a pointer to their value in host memory.
typedef struct hds_argument {
    hds_argument_kind kind;
    union {
        int64_t integer;
        double real;
        void *pointer;
        const hdsrt_tensor *tensor;
    } value;
} hds_argument;

static inline hds_argument hds_int(int64_t value)
{
    hds_argument a;
    a.kind = HDS_ARG_INT;
    a.value.integer = value;
    return a;
}

static inline hds_argument hds_float(double value)
{
    hds_argument a;
    a.kind = HDS_ARG_FLOAT;
    a.value.real = value;
    return a;
}

static inline hds_argument hds_pointer(void *value)
{
    hds_argument a;
    a.kind = HDS_ARG_POINTER;
    a.value.pointer = value;
    return a;
}

static inline hds_argument hds_tensor(const hdsrt_tensor *value)
{
    hds_argument a;
    a.kind = HDS_ARG_TENSOR;
    a.value.tensor = value;
    return a;
}

// Launches [kernel] on [stream] of the thread's current context. Arguments come in the order of the parameters. Sizes
// come last and may be omitted if DLPack tensors determine them. Types, shapes, alignment and devices are checked
// first: HDS_INVALID_ARGUMENT, and hds_last_error() names the parameter. A host function also returns that for a failed
// assert, and HDS_NO_MEMORY if a temporary cannot be allocated; kernels that it has launched before still run.
HDSRT_API hds_status hds_launch(const hds_kernel *kernel, const hds_argument *arguments, size_t count, hdsrt_stream stream);

// The value of a host function with a result, such as the number of blocks for a size: an integer (HDS_ARG_INT; bool: 0 or 1), or
// a float. It launches nothing and needs no GPU. HDS_INVALID_ARGUMENT also for a division by zero.
HDSRT_API hds_status hds_evaluate(const hds_kernel *function, const hds_argument *arguments, size_t count,
                                  hds_argument *result);

// The resources of a launch with these scalars and sizes. Only the extents of tensor arguments are used; they may be
// null pointers if sizes are given. Host functions have no extents. hds_kernel_shape: the ndim extents of the tensor
// parameter [index].
HDSRT_API hds_status hds_kernel_extents(const hds_kernel *kernel, const hds_argument *arguments, size_t count,
                                        hdsrt_extents *extents);
HDSRT_API hds_status hds_kernel_shape(const hds_kernel *kernel, const hds_argument *arguments, size_t count, size_t index,
                                      int64_t *shape);

// The most bytes of GPU memory that its temporaries take at one time, for these scalars and sizes as in hds_kernel_extents;
// -1 if the sizes do not determine it. Not for kernels and operators.
HDSRT_API hds_status hds_function_workspace(const hds_kernel *function, const hds_argument *arguments, size_t count,
                                            int64_t *bytes);

// Runs [kernel] on the simulator, on tensors in host memory, with all checks (docs/simulator.md). HDS_ERRORS: a check
// failed, see *findings. *findings is a program without kernels, released by the caller, or NULL without findings;
// [findings] may be NULL. A pointer parameter takes a tensor, which determines the memory that it points to.
HDSRT_API hds_status hds_simulate(const hds_kernel *kernel, const hds_argument *arguments, size_t count,
                                  hds_program **findings);

// Ends all simulations of the process that run now, with HDS_INTERRUPTED; they write no tensor. A signal handler may call it.
HDSRT_API void hds_interrupt(void);

#ifdef __cplusplus
}
#endif
#endif
