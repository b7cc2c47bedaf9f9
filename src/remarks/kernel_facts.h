// Constructs in the low IR of a kernel that ptxas may warn about, with their locations.
#pragma once

#include "cuda_emit/emit.h"

// What there is to say something about: one compilation for one architecture.
typedef struct remark_unit {
    arena *memory;
    diag_context *diags;
    const src_map *sources;
    ir_module *module;
    const arch *arch;
    const cu_kernel_list *kernels;
    const char *const *nvrtc_options;
    int nvrtc_option_count;
    bool runs_ptxas;  // machine code is asked for, not only PTX
} remark_unit;

// A statement; [span] is nowhere if the kernel has none of its kind.
typedef struct remark_spot {
    src_span span;
    uint32_t origin; // see ir_site
} remark_spot;

// Why an index of an array in registers may be unknown while compiling.
typedef enum remark_index { REMARK_INDEX_KNOWN, REMARK_INDEX_OF_LOOP, REMARK_INDEX_AT_RUN_TIME } remark_index;

// An array that each thread holds.
typedef struct remark_array {
    const ir_var *var;
    int64_t bytes;
    remark_index index; // the worst of its accesses, which is at
    remark_spot access;
} remark_array;

typedef struct remark_facts {
    const cu_kernel_info *info;
    remark_spot wgmma;   // the first wgmma.mma_async
    remark_spot message; // the first assertion or output, which become calls
    bool is_assertion;
    int64_t output_bytes;   // what the arguments of outputs take of the stack
    remark_spot register_share; // the first setmaxnreg
    VEC(remark_array) arrays;   // in order of declaration
} remark_facts;

typedef VEC(remark_facts) remark_facts_list;

// Of the kernels in [u->kernels], in their order; what device functions have is their callers'. In [u->memory].
void remark_facts_of(const remark_unit *u, remark_facts_list *out);
// PTX instructions that early warnings are about.
bool remark_is_wgmma(const ir_intrin *in);
bool remark_is_share(const ir_intrin *in);
// The author's word for a kernel: "gemm[f16, BM=128]".
const char *remark_kernel_title(const remark_facts *facts);
// The array that takes most registers; NULL if there is none.
const remark_array *remark_largest_array(const remark_facts *facts);
// The first statement of the kernel on that line of the source; nowhere if there is none.
remark_spot remark_statement_at(const remark_unit *u, const remark_facts *facts, const src_file *file, uint32_t line);
