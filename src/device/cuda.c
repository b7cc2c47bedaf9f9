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

// The number [attribute], which is 0 where the driver does not say.
static int attribute_of(const hdsrt_driver *cuda, int device, int attribute)
{
    int value = 0;
    return cuda->device_attribute(&value, attribute, device) ? 0 : value;
}

static const gpu_model *read_gpu(arena *a, const hdsrt_driver *cuda, int device, const arch *target)
{
    const gpu_model *usual = gpu_of_arch(target);
    gpu_model *out = ARENA_NEW(a, gpu_model);
    int sms = attribute_of(cuda, device, HDSRT_DEVICE_SMS), l2 = attribute_of(cuda, device, HDSRT_DEVICE_L2);
    // Two transfers a clock, on every line of the bus.
    double gbps = 2e-6 * attribute_of(cuda, device, HDSRT_DEVICE_MEMORY_CLOCK) * attribute_of(cuda, device, HDSRT_DEVICE_BUS) / 8;
    *out = (gpu_model){"native", target->name, sms ? sms : usual->sm_count, l2 ? l2 : usual->l2_bytes,
                 gbps >= 1 ? (int)gbps : usual->memory_gbps};
    return out;
}

const gpu_model *dev_native_gpu(arena *a, const char **why)
{
    const hdsrt_driver *cuda;
    int device = 0;
    const arch *found = first_arch(a, &cuda, &device, why);
    return found ? read_gpu(a, cuda, device, found) : NULL;
}

const gpu_model *dev_cuda_gpu(const dev_cuda *gpu)
{
    return gpu->properties;
}

dev_cuda *dev_cuda_open(arena *a, const pl_options *options, int64_t seconds, const char **why)
{
    dev_cuda *gpu = ARENA_NEW(a, dev_cuda);
    gpu->options = options;
    gpu->seconds = seconds;
    gpu->arch = first_arch(a, &gpu->cuda, &gpu->device, why);
    if (!gpu->arch)
        return NULL;
    gpu->properties = read_gpu(a, gpu->cuda, gpu->device, gpu->arch);
    if (hdsrt_driver_fail(gpu->cuda->primary_retain(&gpu->context, gpu->device), "making a context on the GPU")) {
        *why = arena_printf(a, "%s", hdsrt_last_error());
        return NULL;
    }
    pthread_mutex_init(&gpu->lock, NULL);
    return gpu;
}

dev_cuda *dev_cuda_absent(arena *a, const pl_options *options, const arch *target, const gpu_model *properties)
{
    dev_cuda *gpu = ARENA_NEW(a, dev_cuda);
    *gpu = (dev_cuda){.options = options, .arch = target, .properties = properties};
    pthread_mutex_init(&gpu->lock, NULL);
    return gpu;
}

bool dev_cuda_close(dev_cuda *gpu)
{
    if (!gpu->is_stuck && gpu->cuda)
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
