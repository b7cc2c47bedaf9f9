// NVIDIA's management library (libnvidia-ml.so.1), if present: clocks, power, temperature, and the reasons for lower
// clocks. Read-only. (NVML API Reference, "Device Queries", "clocksEventReasons".)
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct ms_nvml ms_nvml;

// The state of the GPU at one moment.
typedef struct ms_state {
    bool is_known;
    int sm_mhz, memory_mhz, celsius, milliwatts;  // -1: not known
    uint64_t reasons;                             // nvmlClocksEventReasons, a bit mask
} ms_state;

// The GPU with this PCI address ("0000:18:00.0"). NULL: no library, or it does not know the GPU.
ms_nvml *ms_nvml_open(const char *bus_id);
void ms_nvml_close(ms_nvml *n);         // NULL is fine
ms_state ms_nvml_state(ms_nvml *n);     // of NULL: not known
// The [reasons] that slow the GPU down, "power limit, thermal"; "" if none does.
const char *ms_nvml_slowdown(uint64_t reasons, char *out, int size);
