// What NVRTC made, kept in the cache (docs/cache.md): by everything that NVRTC is given, and by NVRTC itself.
#pragma once

#include "cache/cache.h"
#include "pipeline/unit.h"
#include "toolchain/nvrtc.h"

#define PL_CODE_KIND "code"

// What NVRTC is asked to make of a unit's CUDA text.
typedef struct pl_code_request {
    tool_compile_options options;
    tool_nvrtc_identity nvrtc;  // whose output is looked for; empty: of none
    cache_parts inputs;         // of the entry
} pl_code_request;

// A part of the entry's outputs that says what it was made for, and is not compared: "about.file", "about.hdsc",
// "about.define" (BM=64; one each), "about.entry", "about.kernel" (titles; one each).
#define PL_ABOUT "about."

// Inputs: "nvrtc", "arch", "option" (one each), "folder" (where line tables name it), "name", "cuda".
void pl_code_request_make(pl_unit *u, const tool_compile_options *options, const tool_nvrtc_identity *nvrtc,
                          pl_code_request *out);
// NULL, or why NVRTC's output depends on more than the request says: it may read files. In the unit's memory.
const char *pl_code_unkept(pl_unit *u, const tool_compile_options *options);

// Adds the parts that begin with PL_ABOUT.
void pl_code_about(pl_unit *u, cache_parts *out);

// True: *[out] is what NVRTC made of the same before. False: the unit holds the ticket for making it.
bool pl_code_find(pl_unit *u, const pl_code_request *q, tool_result *out);
// Keeps what was made, and ends the ticket.
void pl_code_keep(pl_unit *u, const tool_result *result);

// assemble.c: the options of NVRTC that the unit's options ask for.
tool_compile_options pl_nvrtc_options(pl_unit *u);
