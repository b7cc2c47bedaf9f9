// Host functions on the simulator as GPUs run them: by their launch plans (docs/adr/0064-plans-on-the-simulator.md). What is
// taken, freed and launched, when, and where temporaries are in the workspace, is what the plan says.
#pragma once

#include "base/arena.h"
#include "jit/jit.h"
#include "sim/sim.h"

typedef struct planned_device {
    sim *device;
    const sim_program *program;
    void *user;
    // The function of [program] that is the kernel; NULL: there is none.
    const ir_func *(*find)(void *user, const jit_kernel *kernel);
    sim_status status;  // the worst of its launches, so far
} planned_device;

// Runs the plan of [f]. [values]: of its parameters; tensors are addresses of the device. A failure has called hdsrt_fail, and
// findings of the simulator say the line of the plan.
hdsrt_status planned_run(planned_device *d, const jit_function *f, const uint64_t *values, uint64_t *result);

// Runs host functions of [m], which is low, by the plans that are made of them; for sim_options. One that has no plan is a
// finding. In [a].
const sim_host *planned_host(arena *a, ir_module *m);
