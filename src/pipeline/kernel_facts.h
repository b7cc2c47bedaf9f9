// What the low IR of a kernel has that the assembler may complain about, with its places.
#pragma once

#include "pipeline/unit.h"

// A statement; [span] is nowhere if the kernel has none of its kind.
typedef struct pl_spot {
    src_span span;
    uint32_t origin; // see ir_site
} pl_spot;

// Why an index of an array in registers may be unknown while compiling.
typedef enum pl_index { PL_INDEX_KNOWN, PL_INDEX_OF_LOOP, PL_INDEX_AT_RUN_TIME } pl_index;

// An array that each thread holds.
typedef struct pl_array {
    const ir_var *var;
    int64_t bytes;
    pl_index index; // the worst of its accesses, which is at
    pl_spot access;
} pl_array;

typedef struct pl_kernel_facts {
    const cu_kernel_info *info;
    pl_spot wgmma;   // the first wgmma.mma_async
    pl_spot message; // the first assertion or output, which become calls
    bool is_assertion;
    int64_t output_bytes;   // what the arguments of outputs take of the stack
    pl_spot register_share; // the first setmaxnreg
    VEC(pl_array) arrays;   // in order of declaration
} pl_kernel_facts;

typedef VEC(pl_kernel_facts) pl_facts_list;

// Of the kernels in [u->kernels], in their order; what device functions have is their callers'. In the unit's memory.
void pl_kernel_facts_of(pl_unit *u, pl_facts_list *out);
// The author's word for a kernel: "gemm[f16, BM=128]".
const char *pl_kernel_title(const pl_kernel_facts *facts);
// The array that takes most registers; NULL if there is none.
const pl_array *pl_largest_array(const pl_kernel_facts *facts);
// The first statement of the kernel on that line of the source; nowhere if there is none.
pl_spot pl_statement_at(pl_unit *u, const pl_kernel_facts *facts, const src_file *file, uint32_t line);
