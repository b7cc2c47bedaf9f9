// Inside the last stage: from CUDA text to PTX and machine code.
#pragma once

#include "pipeline/canonical.h"
#include "pipeline/code_cache.h"

// A compilation of a unit's text by NVRTC.
typedef struct pl_assembly {
    pl_unit *unit;
    tool_compile_options options;
    pl_nvrtc_text text;
    const tool_nvrtc *nvrtc;       // NULL: not open yet
    tool_nvrtc_identity identity;  // of the NVRTC whose output is cached
    bool is_kept;                  // whether it is
} pl_assembly;

// assemble.c: compiles [text], some kernels of the unit or all of them, where the unit's options want it: in a worker
// process or in this one. *crashed: a worker ended, twice.
void pl_run_nvrtc(const pl_assembly *s, const tool_compile_options *options, str text, tool_result *out, bool *crashed);
// Names lines of the text in what ptxas says about lines of the PTX, as the cached log has it.
void pl_locate(const pl_assembly *s, const tool_compile_options *options, str text, tool_result *result);
// Reports that NVRTC crashed over the kernels k whose [parts][k] is [part]; NULL: over all.
void pl_report_crash(pl_unit *u, const char *how, const size_t *parts, size_t part);
