// The GPU itself: the driver's library, the context, sessions.

#include "device/cuda_priv.h"

// The architecture-specific variant is the better one where there is one: it has all instructions.
static const arch *arch_of(arena *a, int major, int minor)
{
    const arch *found = arch_find(str_of(arena_printf(a, "sm_%d%da", major, minor)));
    return found ? found : arch_find(str_of(arena_printf(a, "sm_%d%d", major, minor)));
}

// Whether the first GPU can be asked what it is; else hdsrt_last_error() says why not.
static bool find_first(const hdsrt_driver **cuda, int *device, int *major, int *minor)
{
    if (hdsrt_driver_open(cuda))
        return false;
    return !hdsrt_driver_fail((*cuda)->device_get(device, 0), "looking for the first GPU") &&
           !hdsrt_driver_fail((*cuda)->device_attribute(major, HDSRT_DEVICE_MAJOR, *device), "querying the GPU") &&
           !hdsrt_driver_fail((*cuda)->device_attribute(minor, HDSRT_DEVICE_MINOR, *device), "querying the GPU");
}

static const arch *first_arch(arena *a, const hdsrt_driver **cuda, int *device, const char **why)
{
    int major = 0, minor = 0;
    if (!find_first(cuda, device, &major, &minor)) {
        *why = arena_printf(a, "%s", hdsrt_last_error());
        return NULL;
    }
    const arch *found = arch_of(a, major, minor);
    if (!found)
        *why = arena_printf(a, "compute capability %d.%d of this GPU is unknown to hdsc", major, minor);
    return found;
}

const arch *dev_native_arch(arena *a, const char **why)
{
    const hdsrt_driver *cuda;
    int device = 0;
    return first_arch(a, &cuda, &device, why);
}

dev_cuda *dev_cuda_open(arena *a, const pl_options *options, int64_t seconds, const char **why)
{
    dev_cuda *gpu = ARENA_NEW(a, dev_cuda);
    gpu->options = options;
    gpu->seconds = seconds;
    gpu->arch = first_arch(a, &gpu->cuda, &gpu->device, why);
    if (!gpu->arch)
        return NULL;
    if (hdsrt_driver_fail(gpu->cuda->primary_retain(&gpu->context, gpu->device), "making a context on the GPU")) {
        *why = arena_printf(a, "%s", hdsrt_last_error());
        return NULL;
    }
    pthread_mutex_init(&gpu->lock, NULL);
    return gpu;
}

bool dev_cuda_close(dev_cuda *gpu)
{
    if (!gpu->is_stuck)
        gpu->cuda->primary_release(gpu->device);
    pthread_mutex_destroy(&gpu->lock);
    return !gpu->is_stuck;
}

const arch *dev_cuda_arch(const dev_cuda *gpu)
{
    return gpu->arch;
}

void dev_cuda_restart(dev_cuda *gpu)
{
    gpu->cuda->primary_release(gpu->device);
    gpu->cuda->primary_reset(gpu->device);
    gpu->generation++;
    if (gpu->cuda->primary_retain(&gpu->context, gpu->device))
        gpu->context = NULL;
}

bool dev_cuda_check(dev_cuda_session *s, const char *what, int result)
{
    const char *text = NULL;
    if (!result)
        return true;
    if (s->gpu->cuda->error_text(result, &text) || !text)
        text = arena_printf(s->arena, "error %d", result);
    diag_report(s->diags, HDS0647, (src_span){0, 0}, what, text);
    return false;
}

const sim_device *dev_cuda_attach(dev_cuda *gpu, arena *a, diag_context *diags)
{
    dev_cuda_session *s = ARENA_NEW(a, dev_cuda_session);
    *s = (dev_cuda_session){.device = {.user = s, .launch = dev_cuda_run}, .gpu = gpu, .arena = a, .diags = diags};
    return &s->device;
}

void dev_cuda_detach(const sim_device *device)
{
    dev_cuda_free_images(device->user);
}
