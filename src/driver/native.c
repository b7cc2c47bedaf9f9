#include "driver/native.h"

#include <dlfcn.h>

// CUDA Driver API, "Device Management"; CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
enum { ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76 };

typedef int init_function(unsigned flags);
typedef int device_function(int *device, int ordinal);
typedef int attribute_function(int *value, int attribute, int device);

// A function pointer out of a data pointer, as POSIX allows and ISO C does not.
#define SYMBOL(library, name, type) (*(type **)(void *[]){dlsym((library), (name))})

// The architecture-specific variant is the better one where there is one: it has all instructions.
static const arch *best_arch(arena *a, int major, int minor)
{
    const arch *found = arch_find(str_of(arena_printf(a, "sm_%d%da", major, minor)));
    return found ? found : arch_find(str_of(arena_printf(a, "sm_%d%d", major, minor)));
}

const arch *cmd_native_arch(arena *a, const char **why)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver) {
        *why = "the CUDA driver (libcuda.so.1) is not installed";
        return NULL;
    }
    init_function *init = SYMBOL(driver, "cuInit", init_function);
    device_function *get_device = SYMBOL(driver, "cuDeviceGet", device_function);
    attribute_function *get_attribute = SYMBOL(driver, "cuDeviceGetAttribute", attribute_function);
    int device = 0, major = 0, minor = 0;
    if (!init || !get_device || !get_attribute) {
        *why = "'libcuda.so.1' is not the CUDA driver";
        return NULL;
    }
    if (init(0) != 0 || get_device(&device, 0) != 0 || get_attribute(&major, ATTRIBUTE_MAJOR, device) != 0 ||
        get_attribute(&minor, ATTRIBUTE_MINOR, device) != 0) {
        *why = "the CUDA driver finds no GPU";
        return NULL;
    }
    const arch *found = best_arch(a, major, minor);
    if (!found)
        *why = arena_printf(a, "compute capability %d.%d of this GPU is unknown to hdsc", major, minor);
    return found;
}
