// The code cache: output of NVRTC, keyed by NVRTC's complete input and its identity (docs/cache.md).
#pragma once

#include "cache/cache.h"
#include "pipeline/canonical.h"
#include "pipeline/unit.h"
#include "toolchain/nvrtc.h"

#define PL_CODE_KIND "code"

// What NVRTC gets of a unit's CUDA text.
typedef struct pl_nvrtc_text {
    str text;
    bool is_canonical;       // else as it is, with the names of files in it
    pl_canonical canonical;
} pl_nvrtc_text;

// As it is where line tables are made, options of the user's may have to do with lines, or the text itself does.
void pl_nvrtc_text_of(pl_unit *u, const tool_compile_options *options, pl_nvrtc_text *out);

// A compilation of CUDA text by NVRTC.
typedef struct pl_code_request {
    tool_compile_options options;
    tool_nvrtc_identity nvrtc;  // the NVRTC whose output is looked up; empty: none
    cache_parts inputs;         // of the entry
} pl_code_request;

// Prefix of the parts of an entry that describe its origin and are not compared: "about.file", "about.hdsc",
// "about.define" (BM=64; one each), "about.entry", "about.kernel" (titles; one each).
#define PL_ABOUT "about."

// Inputs: "nvrtc", "arch", "option" (one each), "folder" (where line tables name it), "name", "cuda".
void pl_code_request_make(pl_unit *u, const tool_compile_options *options, const tool_nvrtc_identity *nvrtc,
                          const pl_nvrtc_text *text, pl_code_request *out);
const char *pl_working_folder(arena *a);
// NULL, or why the output may depend on more than the request, such as included files. In the unit's memory.
const char *pl_code_uncacheable(pl_unit *u, const tool_compile_options *options);

// Adds the parts that begin with PL_ABOUT.
void pl_code_about(pl_unit *u, cache_parts *out);

// True: a hit, and *[out] is the cached output. False: the unit holds the cache ticket for compiling it.
bool pl_code_find(pl_unit *u, const pl_code_request *q, tool_result *out);
// Stores the output and ends the ticket.
void pl_code_store(pl_unit *u, const tool_result *result);
// The same for a part of the unit, without a ticket: looks without waiting; stores what was made meanwhile by others again.
bool pl_code_peek(pl_unit *u, const pl_code_request *q, tool_result *out);
void pl_code_keep(pl_unit *u, const pl_code_request *q, const tool_result *result);

// assemble.c: NVRTC's options for the unit's options.
tool_compile_options pl_nvrtc_options(pl_unit *u);
