#include "measure/nvml.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, TEMPERATURE_GPU = 0 };

struct ms_nvml {
    void *library, *device;
    int (*shutdown)(void);
    int (*clock)(void *device, int which, unsigned *mhz);
    int (*temperature)(void *device, int sensor, unsigned *celsius);
    int (*power)(void *device, unsigned *milliwatts);
    int (*reasons)(void *device, unsigned long long *reasons);
};

static bool find(void *library, const char *symbol, void *function)
{
    void *found = dlsym(library, symbol);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static bool start(ms_nvml *n, const char *bus_id)
{
    int (*init)(void), (*by_bus_id)(const char *id, void **device);
    if (!find(n->library, "nvmlInit_v2", &init) || !find(n->library, "nvmlShutdown", &n->shutdown) ||
        !find(n->library, "nvmlDeviceGetHandleByPciBusId_v2", &by_bus_id) || init())
        return false;
    if (by_bus_id(bus_id, &n->device)) {
        n->shutdown();
        return false;
    }
    find(n->library, "nvmlDeviceGetClockInfo", &n->clock);
    find(n->library, "nvmlDeviceGetTemperature", &n->temperature);
    find(n->library, "nvmlDeviceGetPowerUsage", &n->power);
    // The name up to driver 535; later drivers still export it.
    find(n->library, "nvmlDeviceGetCurrentClocksThrottleReasons", &n->reasons);
    return true;
}

ms_nvml *ms_nvml_open(const char *bus_id)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    ms_nvml *n = library ? calloc(1, sizeof *n) : NULL;
    if (n)
        n->library = library;
    if (n && start(n, bus_id))
        return n;
    free(n);
    if (library)
        dlclose(library);
    return NULL;
}

void ms_nvml_close(ms_nvml *n)
{
    if (!n)
        return;
    n->shutdown();
    dlclose(n->library);
    free(n);
}

ms_state ms_nvml_state(ms_nvml *n)
{
    ms_state s = {.sm_mhz = -1, .memory_mhz = -1, .celsius = -1, .milliwatts = -1};
    unsigned value;
    unsigned long long reasons;
    if (!n)
        return s;
    s.is_known = true;
    if (n->clock && n->clock(n->device, CLOCK_SM, &value) == 0)
        s.sm_mhz = (int)value;
    if (n->clock && n->clock(n->device, CLOCK_MEMORY, &value) == 0)
        s.memory_mhz = (int)value;
    if (n->temperature && n->temperature(n->device, TEMPERATURE_GPU, &value) == 0)
        s.celsius = (int)value;
    if (n->power && n->power(n->device, &value) == 0)
        s.milliwatts = (int)value;
    if (n->reasons && n->reasons(n->device, &reasons) == 0)
        s.reasons = reasons;
    return s;
}

// nvml.h, nvmlClocksEventReason…, except the harmless ones (idle, clocks set by an application).
static const struct {
    uint64_t bit;
    const char *name;
} slowdowns[] = {{0x4, "power limit"},        {0x8, "hardware slowdown"}, {0x10, "sync boost"},
                 {0x20, "thermal"},           {0x40, "hardware thermal"}, {0x80, "power brake"},
                 {0x100, "display clocks"}};

const char *ms_nvml_slowdown(uint64_t reasons, char *out, int size)
{
    int len = 0;
    out[0] = 0;
    for (size_t i = 0; i < sizeof slowdowns / sizeof *slowdowns && len < size - 1; i++) {
        if (reasons & slowdowns[i].bit)
            len += snprintf(out + len, (size_t)(size - len), "%s%s", len ? ", " : "", slowdowns[i].name);
    }
    return out;
}
