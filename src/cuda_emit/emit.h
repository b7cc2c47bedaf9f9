// CUDA C++ from low level IR: the last stage that knows the author's names.
//
// One self-contained text comes out. It includes no header, so NVRTC compiles it without an include path and fast; nvcc
// takes the same text. Neither says a warning about it. Support code (src/cuda_emit/prelude) is there only where it is
// used. Equal modules give equal bytes.
#pragma once

#include "ir/ir.h"

// The facts about a kernel that a launcher needs.
typedef struct cu_kernel_info {
    const ir_func *func;
    const char *symbol; // the name in the object code (extern "C")
    int64_t static_smem_bytes;
    int64_t dynamic_smem_bytes; // at each launch; func->dynamic_smem_bytes, if any, comes on top
    int64_t max_threads;        // of __launch_bounds__; 0: the block's shape depends on arguments
    int64_t min_blocks;         // of __launch_bounds__; 0: not given
    int64_t cluster[3];         // compiled in; 0: no cluster, or one that depends on arguments
    size_t text_begin, text_end; // of the function in the text: bytes
    bool prints;                // by printf, also what an assertion says: its module has texts in memory
    const bool *writes;         // by parameter: a tensor or pointer through which the kernel may write
} cu_kernel_info;

typedef struct cu_kernel_list {
    cu_kernel_info *at;
    size_t len, cap;
} cu_kernel_list;

// What the modules of one unit have in common of which nobody reads the text. Zero at first, but for [memory].
typedef struct cu_dry_run {
    arena *memory; // of the unit
    struct cu_prelude *prelude;
} cu_dry_run;

typedef struct cu_options {
    bool lines;              // #line directives that map statements to the source
    const src_map *sources;  // for [lines] and for the messages of assert; may be NULL
    bool host;               // host functions too: for nvcc
    bool header;             // a comment about the origin
    const char *compiler;    // "hdsc 0.1.0", for the header; may be NULL
    const char *source_name; // as the user gave it, for the header; NULL: the module's name
    const char *flags;       // options given by the user, for the header; NULL: none
    arena *scratch;          // NULL, or what is needed while a function is written is made there and given back
    cu_kernel_list *kernels; // NULL, or filled in order of the module; memory of the module's arena
    cu_dry_run *dry_run;     // NULL; else nothing is written: errors are reported, and [kernels] filled, with the IR's names
} cu_options;

// Appends the module's text to [out]. False after reporting: IR that is not low level, or host code that would need
// what only the device has.
bool cu_emit(ir_module *m, const cu_options *options, str_buf *out);
