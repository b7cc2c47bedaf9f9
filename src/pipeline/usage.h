// Resource usage of a unit's kernels, and how many of their blocks fit on an SM.
#pragma once

#include "pipeline/unit.h"
#include "remarks/kernel_facts.h"

// From the cubin and ptxas' log: warns of kernels that spill registers, and with --resource-usage makes the table. The
// numbers stay in [u->costs], for manifests.
void pl_usage(pl_unit *u, const remark_facts_list *facts, const tool_ptx_locals *locals, str log);

typedef struct pl_occupancy {
    int blocks;         // per SM; 0: a block does not fit
    const char *limit;  // "registers", "shared memory", "warps" or "blocks"
} pl_occupancy;

// [registers] per thread, [threads] and [shared_bytes] per block.
pl_occupancy pl_occupancy_of(const arch *target, int64_t registers, int64_t threads, int64_t shared_bytes);
