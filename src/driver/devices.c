#include "driver/devices.h"

#include "device/device.h"

static const sim_device *attach(const test_backend *b, arena *a, diag_context *diags)
{
    return dev_cuda_attach(b->user, a, diags);
}

static void detach(const test_backend *b, const sim_device *device)
{
    (void)b;
    dev_cuda_detach(device);
}

static const test_backend *open_cuda(arena *a, const pl_options *options, int64_t seconds, const char **why)
{
    dev_cuda *gpu = dev_cuda_open(a, options, seconds, why);
    if (!gpu)
        return NULL;
    test_backend *b = ARENA_NEW(a, test_backend);
    *b = (test_backend){.name = "cuda", .open = attach, .close = detach, .arch = dev_cuda_arch(gpu), .user = gpu};
    return b;
}

static bool close_cuda(const test_backend *b)
{
    return dev_cuda_close(b->user);
}

const cmd_device cmd_devices[] = {
    {"sim", NULL, NULL},
    {"cuda", open_cuda, close_cuda},
    {NULL, NULL, NULL},
};
