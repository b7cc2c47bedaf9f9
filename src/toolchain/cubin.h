// The resource usage of a kernel, read from its cubin.
//
// A cubin is an ELF file (machine EM_CUDA, 190). Per kernel there is a function symbol with the entry bit in st_other,
// a section .text.<kernel>, where static shared memory is used .nv.shared.<kernel>, and attributes in .nv.info. The
// attributes' numbers are those that NVIDIA's cuobjdump and nvdisasm print as EIATTR_*. Checked against cuobjdump
// -res-usage for cubins of CUDA 12.1, 12.9 and 13.0.
#pragma once

#include <stdbool.h>

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

typedef struct tool_usage {
    const char *kernel;
    uint32_t registers;      // per thread
    uint32_t stack_bytes;    // local memory per thread, called functions included: arrays and spills
    uint32_t shared_bytes;   // static shared memory per block that the program declares
    uint32_t reserved_bytes; // shared memory per block that the system takes beside it (1024 from sm_90 on); only
                             // known, and else 0, where the kernel has static shared memory
    uint32_t code_bytes;       // machine code of the kernel and what was inlined into it
    int64_t spill_store_bytes; // from ptxas' own account, see tool_usage_add_log; -1: unknown
    int64_t spill_load_bytes;
} tool_usage;

typedef struct tool_usage_list {
    int arch; // 90 for sm_90 and sm_90a
    VEC(tool_usage) kernels;
    map numbers; // by name: of each in [kernels], from 1
} tool_usage_list;

// [list] begins as {0}; the kernel's name is not copied.
void tool_usage_add(arena *a, tool_usage_list *list, tool_usage kernel);

// In the order of the symbol table. False if the bytes are no well-formed cubin.
bool tool_cubin_usage(arena *a, const void *cubin, size_t size, tool_usage_list *out);

// Takes the spill sizes from NVRTC's log (of a cubin compiled by tool_nvrtc_compile, which asks ptxas for them): which
// part of [stack_bytes] are spilled registers only ptxas knows.
void tool_usage_add_log(tool_usage_list *usage, str log);

// Bytes of each thread's local memory that the kernels of a PTX text ask for, by name: arrays that did not become registers, and
// arguments of printf. Spills are not among them: they come into being later.
typedef struct tool_ptx_locals {
    map bytes;
} tool_ptx_locals;

// Reads a PTX text once; [out] is in [a] and needs the text no more.
void tool_ptx_locals_of(arena *a, str ptx, tool_ptx_locals *out);
// 0 also if there is no such kernel.
int64_t tool_ptx_local_bytes(const tool_ptx_locals *locals, const char *kernel);

// NULL if there is no such kernel.
const tool_usage *tool_usage_of(const tool_usage_list *usage, const char *kernel);
