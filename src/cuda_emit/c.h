// C11 over libhdsrt (include/hds/runtime.h): how programs call the kernels and host functions of a file.
//
// Each public kernel and host function, other than kernels made for a launch, becomes
//     typedef struct NAME_args { … } NAME_args;                              the parameters, in order
//     hdsrt_status NAME(…the parameters…, hdsrt_stream stream);              checks and launches
//     hdsrt_status NAME_call(const NAME_args *args, hdsrt_stream stream);    the same
//     hdsrt_status NAME_dlpack(…, hdsrt_stream stream);                      tensors as hdsrt_tensor; sizes that they determine are omitted
// (with a tensor among them). A host function that returns a value is a plain function. Tensors and pointers are typed where C
// has the type, else void pointers; scalars of narrow floats are their bits in an unsigned integer; complex64 and vectors are
// arrays. All else is static.
#pragma once

#include "cuda_emit/emit.h"

// The file compiled for one architecture. What differs between architectures (extents, shared memory, host functions) is
// chosen when the program runs.
typedef struct cu_c_unit {
    ir_module *module;              // low level
    const cu_kernel_list *kernels;  // as cu_emit gave them
} cu_c_unit;

// A tensor that a function of a model takes.
typedef enum cu_c_role { CU_C_GIVEN, CU_C_WEIGHT, CU_C_PREPARED } cu_c_role;

typedef struct cu_c_tensor {
    cu_c_role role;
    const char *name;                  // the parameter's
    const char *weight, *stored_dtype; // of a weight: its name in a safetensors file, and its type there
    const char *type;                  // of a weight: "f16[512, 784]"
    int rank;
    const int64_t *shape;
    int64_t bytes;
} cu_c_tensor;

// One function of a model; its sizes follow these parameters.
typedef struct cu_c_model_part {
    const char *name;  // as the module has it
    const cu_c_tensor *tensors;
    int count;
} cu_c_model_part;

// A graph function. Its C functions also are NAME_open, NAME_open_bytes, NAME_run, NAME_prepare and NAME_close.
typedef struct cu_c_model {
    cu_c_model_part load, run;  // load: runs once, when the model is opened; its name is NULL: there is none
    const char *weights_symbol; // of a safetensors file with its weights, which the object has; NULL: it has none
    size_t weights_bytes;
} cu_c_model;

typedef struct cu_c_options {
    const cu_c_unit *units;   // ascending by architecture
    int unit_count;
    int ptx_unit;             // whose PTX is in the image; -1: none
    str image;                // the fat binary
    const char *image_symbol; // NULL: the image is in the C text; else the symbol that defines it elsewhere
    const char *prefix;       // before the names of the entries; "": none
    const char *header_name;  // what the C text includes: "matmul.h"
    const char *compiler;     // "hdsc 0.1.0"; may be NULL
    const char *source_name;  // as the user gave it
    const char *flags;        // options given by the user; NULL: none
    bool lines;               // #line directives for statements with a source location
    const cu_c_model *models;
    int model_count;
    diag_context *diags;
    arena *arena;
} cu_c_options;

// Append the header and the C text to [out]. Equal input gives equal bytes. False after reporting, at the author's line and
// so to the diagnostics of the unit's module, what C cannot say: an entry whose name is taken by C or C++, or whose parameters
// differ between architectures; host functions that compute with what only the GPU has, or that have no way to say that they
// failed.
bool cu_emit_c_header(const cu_c_options *options, str_buf *out);
bool cu_emit_c_source(const cu_c_options *options, str_buf *out);
