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
// GPU cannot say what it did not write. A red zone that changed is a finding. Tensors of pointers stay what they were.
#pragma once

#include "pipeline/options.h"
#include "sim/sim.h"

typedef struct dev_cuda dev_cuda;

// The first GPU of this machine, which is only asked what it is. In [a]. NULL where there is none; *[why] then says what is
// missing, in [a].
const gpu_model *dev_native_gpu(arena *a, const char **why);

// Opens the CUDA driver (libcuda.so.1) and the first GPU. [options] says how kernels are compiled (NVRTC, its options), but
// not for what architecture; [seconds] how long a kernel may take. NULL where there is no GPU that can be used; *[why] then
// says what is missing, in [a].
dev_cuda *dev_cuda_open(arena *a, const pl_options *options, int64_t seconds, const char **why);
// A GPU that need not be there: launches can be recorded, and compiled for it. In [a].
dev_cuda *dev_cuda_absent(arena *a, const pl_options *options, const arch *target, const gpu_model *properties);
// False where a kernel still runs that did not end in time: exit() would wait for it, _exit() does not.
bool dev_cuda_close(dev_cuda *gpu);
const arch *dev_cuda_arch(const dev_cuda *gpu);
const gpu_model *dev_cuda_gpu(const dev_cuda *gpu);

// A device for one simulated device, on whatever thread; what goes wrong is reported to [diags]. In [a].
const sim_device *dev_cuda_attach(dev_cuda *gpu, arena *a, diag_context *diags);
void dev_cuda_detach(const sim_device *device);

// ---- recorded launches ----------------------------------------------------------------------------------------------
//
// Records the launches of a host function, to replay them on memory of the caller:
//
//     dev_cuda_recording *r = dev_cuda_record(gpu, arena, &diags);
//     … sim_options.device = dev_cuda_recording_device(r), and a call of the host function …
//     if (dev_cuda_recording_load(r)) {
//         int set = dev_cuda_recording_bind(r, addresses);  // once per set of buffers
//         dev_cuda_recording_replay(r, set, stream);
//     }
//     dev_cuda_recording_free(r);

typedef struct dev_cuda_recording dev_cuda_recording;

// An allocation that recorded launches access.
typedef struct dev_cuda_memory {
    uint64_t base;     // simulated address
    int64_t bytes;
    const char *name;  // of the first parameter that points to it
    int first, last;   // indices of the launches that use it
} dev_cuda_memory;

typedef struct dev_cuda_recorded {
    const ir_func *kernel;
    const char *symbol;       // after loading: its name in the machine code
    void *function;           // after loading: a CUfunction
    sim_launch_shape shape;   // dynamic shared memory: with what the compiler needs, after loading
} dev_cuda_recorded;

dev_cuda_recording *dev_cuda_record(dev_cuda *gpu, arena *a, diag_context *diags);
void dev_cuda_recording_free(dev_cuda_recording *r);
// Records launches and runs nothing; the device of a simulation.
const sim_device *dev_cuda_recording_device(dev_cuda_recording *r);

// [*count] launches, in order.
const dev_cuda_recorded *dev_cuda_recording_launches(const dev_cuda_recording *r, int *count);
const dev_cuda_memory *dev_cuda_recording_memory(const dev_cuda_recording *r, int *count);

// Compiles the recorded kernels only: the code is in the cache, if there is one. False after reporting.
bool dev_cuda_recording_compile(dev_cuda_recording *r);
// Compiles them likewise, and loads them on the GPU. False after reporting.
bool dev_cuda_recording_load(dev_cuda_recording *r);
// Whether the code was in the cache when it was to be compiled.
bool dev_cuda_recording_was_cached(const dev_cuda_recording *r);
// Binds the launches to memory on the GPU, one address for each allocation. Returns the index of the set; negative after
// reporting.
int dev_cuda_recording_bind(dev_cuda_recording *r, const uint64_t *addresses);
// Enqueues one of the launches, or all. False after reporting.
bool dev_cuda_recording_replay_at(dev_cuda_recording *r, int set, int launch, void *stream);
bool dev_cuda_recording_replay(dev_cuda_recording *r, int set, void *stream);
