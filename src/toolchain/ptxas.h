// ptxas: PTX in, cubins out. It is a program of the CUDA Toolkit, of which NVRTC has a copy inside, and does without inlining or
// linking what that does: from the same PTX comes the same machine code.
//
// Nothing needs it. Where it is, PTX of several architectures is made once (pipeline/shared.h).
#pragma once

#include "toolchain/nvrtc.h"

typedef struct tool_ptxas {
    const char *path;
    const char *identity;  // as that of NVRTC: "ptxas 37741528 65be0db3…"; equal ones mean equal output
} tool_ptxas;

// The one that the environment's HDS_PTXAS names ("off": none), else that of NVRTC's toolkit or wheels, where [nvrtc_path] is the
// file of NVRTC behind all links. Of another release it may refuse PTX. False: there is none.
bool tool_ptxas_find(arena *a, const char *nvrtc_path, tool_ptxas *out);

// Machine code of [ptx] for [target], whose PTX it has to be, with the log that NVRTC would have of it. May be called by several
// threads. Returns whether there is code; reports nothing.
bool tool_ptxas_run(arena *a, const char *path, const arch *target, str ptx, tool_result *out);

// PTX that was made for an architecture that runs on [target], too, as that of [target]. Kernels of GPUs that cannot start before
// their predecessors have ended do not wait for them: these instructions (griddepcontrol, from sm_90 on) are dropped.
// Author's texts must not be in it.
str tool_ptx_for(arena *a, str ptx, const arch *target);
