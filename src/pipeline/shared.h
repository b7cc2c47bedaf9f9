// Kernels that the units of a job have alike: NVRTC compiles them to PTX once, of which ptxas makes machine code for each
// architecture (docs/adr/0085).
//
//     pl_sharing *sharing = pl_sharing_new(units, count, memory);   // when all units have their CUDA text
//     pl_shared_find(s);                                            // in each unit's thread: compiles them, or waits
//     pl_sharing_free(sharing);
//
// Two kernels are alike if their canonical texts are the same, but for two things that the older architecture does without: waits
// for the kernel before and signals to the one behind (griddepcontrol), and the promise that nothing else writes what a pointer
// points at (__restrict__), which kernels with such waits do not make. The text of the newest architecture is compiled for the
// oldest one, which takes nothing from it: what only newer ones have is written as instructions (asm), and kernels that have other
// instructions than griddepcontrol are not alike. A sharing is of the newest unit and any others.
#pragma once

#include "pipeline/assemble.h"
#include "toolchain/ptxas.h"

typedef struct pl_sharing pl_sharing;

// Decides what is compiled once, by the texts alone, and makes it known to the units (pl_unit.sharing). NULL: nothing is, or there
// is no ptxas. In [a], which has to outlive the units' work, as [units] has.
pl_sharing *pl_sharing_new(pl_unit *const *units, int count, arena *a);
void pl_sharing_free(pl_sharing *sharing);

// Adds to the inputs of the unit's code what it depends on besides the unit's own text.
void pl_shared_add_inputs(pl_unit *u, cache_parts *out);

// What was compiled for a unit along with others.
typedef struct pl_shared_code {
    const bool *has;            // of each kernel of the unit, whether its code is there; NULL: none is
    VEC(tool_result) results;   // all of them good, with logs of ptxas alone
    size_t kernel_count;
} pl_shared_code;

// The first unit to ask compiles it for all. What cannot be compiled, or of which there is anything to report, is left to the
// units, each for itself. Does not come back if the unit is cancelled.
void pl_shared_find(const pl_assembly *s, pl_shared_code *out);
