// The GPU itself: the driver's library, the context, sessions.

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda_priv.h"

// CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
enum { ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76 };

static bool bind(dev_cuda *gpu, const char **missing)
{
    static const struct {
        size_t offset;
        const char *symbol;
    } rows[] = {
#define CUDA_API(name, symbol, parameters) {offsetof(dev_cuda_api, name), symbol},
#include "device/cuda_api.def"
#undef CUDA_API
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *address = dlsym(gpu->library, rows[i].symbol);
        *missing = rows[i].symbol;
        if (!address)
            return false;
        memcpy((char *)&gpu->api + rows[i].offset, &address, sizeof address);
    }
    return true;
}

// The architecture-specific variant is the better one where there is one: it has all instructions.
static const arch *arch_of(arena *a, int major, int minor)
{
    const arch *found = arch_find(str_of(arena_printf(a, "sm_%d%da", major, minor)));
    return found ? found : arch_find(str_of(arena_printf(a, "sm_%d%d", major, minor)));
}

// NULL, or what is missing.
static const char *start(dev_cuda *gpu, arena *a)
{
    const char *missing = NULL;
    int major = 0, minor = 0;
    gpu->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!gpu->library)
        return "the CUDA driver (libcuda.so.1) is not installed";
    if (!bind(gpu, &missing))
        return arena_printf(a, "the CUDA driver has no '%s': one of CUDA 12 or newer is needed", missing);
    if (gpu->api.init(0) || gpu->api.device_get(&gpu->device, 0) ||
        gpu->api.device_attribute(&major, ATTRIBUTE_MAJOR, gpu->device) ||
        gpu->api.device_attribute(&minor, ATTRIBUTE_MINOR, gpu->device))
        return "the CUDA driver finds no GPU";
    gpu->arch = arch_of(a, major, minor);
    if (!gpu->arch)
        return arena_printf(a, "compute capability %d.%d of this GPU is unknown to hdsc", major, minor);
    if (gpu->api.context_retain(&gpu->context, gpu->device))
        return "the GPU gives no context: it may be in use by another program alone";
    return NULL;
}

dev_cuda *dev_cuda_open(arena *a, const pl_options *options, const char **why)
{
    dev_cuda *gpu = ARENA_NEW(a, dev_cuda);
    gpu->options = options;
    *why = start(gpu, a);
    if (*why)
        return NULL;
    pthread_mutex_init(&gpu->lock, NULL);
    return gpu;
}

void dev_cuda_close(dev_cuda *gpu)
{
    gpu->api.context_release(gpu->device);
    pthread_mutex_destroy(&gpu->lock);
}

const arch *dev_cuda_arch(const dev_cuda *gpu)
{
    return gpu->arch;
}

void dev_cuda_restart(dev_cuda *gpu)
{
    gpu->api.context_release(gpu->device);
    gpu->api.context_reset(gpu->device);
    gpu->generation++;
    if (gpu->api.context_retain(&gpu->context, gpu->device))
        gpu->context = NULL;
}

bool dev_cuda_check(dev_cuda_session *s, const char *what, int result)
{
    const char *text = NULL;
    if (!result)
        return true;
    if (s->gpu->api.error_text(result, &text) || !text)
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
