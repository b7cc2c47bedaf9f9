// GPUs: what schedules are chosen by, besides the architecture.
#pragma once

#include <stdint.h>

#include "target/arch.h"

typedef struct gpu_model {
    const char *name;  // "h200"; "sm_90a" where SMs were given for an architecture; "native" if the driver was asked
    const char *arch;  // the architecture of code for it: shared memory and registers of an SM follow from it
    int sm_count;
    int64_t l2_bytes;
    int memory_gbps;   // bandwidth, 10^9 bytes per second
} gpu_model;

// "h200"; NULL if unknown.
const gpu_model *gpu_find(str name);
const gpu_model *gpu_at(int index);  // NULL past the end
// What code for this architecture is tuned for unless a GPU is named: one of that architecture, else of the next lower one.
const gpu_model *gpu_of_arch(const arch *a);
