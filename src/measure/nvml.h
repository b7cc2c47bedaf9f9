// NVIDIA's management library (libnvidia-ml.so.1), where there is one: clocks, power, temperature, and what holds the
// clocks down. It only reads. (NVML API Reference, "Device Queries", "clocksEventReasons".)
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct ms_nvml ms_nvml;

// The state of the GPU at one moment.
typedef struct ms_state {
    bool is_known;
    int sm_mhz, memory_mhz, celsius, milliwatts;  // -1: not known
    uint64_t reasons;                             // why the clocks are what they are: nvmlClocksEventReasons
} ms_state;

// The GPU with this PCI address ("0000:18:00.0"). NULL: no library, or it does not know the GPU.
ms_nvml *ms_nvml_open(const char *bus_id);
void ms_nvml_close(ms_nvml *n);         // NULL is fine
ms_state ms_nvml_state(ms_nvml *n);     // of NULL: not known
// "", or what of [reasons] slows the GPU down: "power limit, thermal".
const char *ms_nvml_slowdown(uint64_t reasons, char *out, int size);
