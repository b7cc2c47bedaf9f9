// GPU architectures and what they have.
#pragma once

#include <stdbool.h>

#include "base/str.h"

typedef struct arch {
    const char *name;  // "sm_90a"
    int major, minor;
    bool accelerated;  // an "a" architecture: its code runs there and nowhere else
    int smem_per_block;  // bytes a block may ask for (opt-in limit)
    int smem_per_sm, registers_per_sm, warps_per_sm, blocks_per_sm;
} arch;

// "sm_90a", "90a", "compute_90" or "9.0"; NULL if unknown.
const arch *arch_find(str name);
const arch *arch_at(int index);  // NULL past the end
// Whether code for [needed] ("sm_80": any from 8.0 on; "sm_90a": that one only) can run on [have].
bool arch_has(const arch *have, const arch *needed);
