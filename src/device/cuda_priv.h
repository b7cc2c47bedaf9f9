#pragma once

#include <pthread.h>

#include "device/device.h"
#include "pipeline/unit.h"
#include "runtime/driver.h"

struct dev_cuda {
    const hdsrt_driver *cuda;  // NULL: it is not there
    const pl_options *options;
    const arch *arch;
    const gpu_model *properties;
    int64_t seconds;       // that a kernel may take
    bool is_stuck;         // one did not end: the context can neither be used nor destroyed
    int device;
    void *context;
    unsigned generation;   // of the context: a kernel that fails takes all that the context held with it
    pthread_mutex_t lock;  // one launch at a time
};

// A program compiled for the GPU.
typedef struct dev_cuda_image {
    const sim_program *program;
    pl_unit *unit;         // of the compilation; NULL: it failed
    void *module;          // NULL: not loaded
    unsigned generation;   // in which it was
} dev_cuda_image;

typedef struct dev_cuda_session {
    sim_device device;     // first
    dev_cuda *gpu;
    arena *arena;
    diag_context *diags;
    VEC(dev_cuda_image) images;
    dev_cuda_recording *recording;  // where launches are recorded; NULL: they run
} dev_cuda_session;

// Kernels by name; NULL: all.
typedef VEC(const char *) dev_cuda_names;

// cuda_image.c: the code of the program's kernels, compiled: of all of them, or of the ones that the first call names. NULL after
// reporting, the first time.
dev_cuda_image *dev_cuda_image_of(dev_cuda_session *s, const sim_program *p, const dev_cuda_names *kernels);
// Brings it to the GPU, if it is not there; with the lock held. False after reporting.
bool dev_cuda_load(dev_cuda_session *s, dev_cuda_image *image);
void dev_cuda_free_images(dev_cuda_session *s);
// cuda_launch.c: a sim_device's launch.
bool dev_cuda_run(void *user, sim *s, const sim_program *p, const ir_func *kernel, const uint64_t *args, int count);

// cuda_call.c
const cu_kernel_info *dev_cuda_info_of(const dev_cuda_image *image, const ir_func *kernel);

// A launch as the simulator sees it.
typedef struct dev_cuda_launch {
    const ir_func *kernel;
    const cu_kernel_info *info;
    void *function;
    sim_launch_shape shape;
    int count;                   // of arguments
    const sim_tensor_map *maps;  // of the kernel's, with simulated addresses
} dev_cuda_launch;

// A launch as the driver wants it. Points into itself: stays where it was made.
typedef struct dev_cuda_call {
    void *function;
    const char *symbol;
    hdsrt_launch_config config;
    hdsrt_launch_attribute attributes[2];
    void **params;
} dev_cuda_call;
// [values]: of each parameter, with addresses on the GPU; they have to stay. False after reporting.
bool dev_cuda_prepare(dev_cuda_session *s, const dev_cuda_launch *l, uint64_t *values, dev_cuda_call *out);
bool dev_cuda_start(dev_cuda_session *s, dev_cuda_call *call, void *stream);

// Reports HDS0647 and gives false, unless [result] is 0.
bool dev_cuda_check(dev_cuda_session *s, const char *what, int result);
// A new context after a failure, in which nothing of the old one is left.
void dev_cuda_restart(dev_cuda *gpu);
