// Real GPUs as devices of the simulator: host code and memory stay simulated, kernels run on the GPU.
//
//     dev_cuda *gpu = dev_cuda_open(arena, &options, 60, &why);           // one for the program
//     const sim_device *device = dev_cuda_attach(gpu, arena, &diags);     // one for each simulated device
//     … sim_options.device = device …
//     dev_cuda_detach(device);
//     dev_cuda_close(gpu);
//
// At a launch the module of the kernel is compiled for the GPU (once), the allocations that its arguments point into are
// copied there, each between two red zones, and what the kernel may have written is copied back and counts as written: the
// GPU cannot say what it left out. A red zone that changed is a finding. Tensors of pointers stay what they were.
#pragma once

#include "pipeline/options.h"
#include "sim/sim.h"

typedef struct dev_cuda dev_cuda;

// The architecture of the first GPU of this machine, which is only asked for it. NULL where there is none; *[why] then says
// what is missing, in [a].
const arch *dev_native_arch(arena *a, const char **why);

// Opens the CUDA driver (libcuda.so.1) and the first GPU. [options] says how kernels are compiled (NVRTC, its options), but
// not for what architecture; [seconds] how long a kernel may take. NULL where there is no GPU that can be used; *[why] then
// says what is missing, in [a].
dev_cuda *dev_cuda_open(arena *a, const pl_options *options, int64_t seconds, const char **why);
// False where a kernel still runs that did not end in time: exit() would wait for it, _exit() does not.
bool dev_cuda_close(dev_cuda *gpu);
const arch *dev_cuda_arch(const dev_cuda *gpu);

// A device for one simulated device, on whatever thread; what goes wrong is reported to [diags]. In [a].
const sim_device *dev_cuda_attach(dev_cuda *gpu, arena *a, diag_context *diags);
void dev_cuda_detach(const sim_device *device);
