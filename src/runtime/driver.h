// The CUDA driver, opened once for the process: only this module finds libcuda and calls into it.
//
//     const hdsrt_driver *cuda;
//     if (hdsrt_driver_open(&cuda))
//         return …;                       // a failure is recorded; hdsrt_last_error() has its text
//     int result = cuda->synchronize();
//
// Internal: the modules of hdsc use it, programs do not.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "hds/runtime.h"

#define HDSRT_DRIVER_LIBRARY "libcuda.so.1"

// CUlaunchAttribute and CUlaunchConfig (cuda.h, CUDA 12.0), as far as they are used.
typedef struct hdsrt_launch_attribute {
    int id; // HDSRT_LAUNCH_…
    char pad[4];
    union {
        char bytes[64];
        unsigned cluster[3];
        int is_allowed;
    } value;
} hdsrt_launch_attribute;

typedef struct hdsrt_launch_config {
    unsigned grid[3], block[3];
    unsigned dynamic_smem_bytes;
    void *stream;
    hdsrt_launch_attribute *attributes;
    unsigned attribute_count;
} hdsrt_launch_config;

// Numbers of cuda.h.
enum {
    HDSRT_LAUNCH_CLUSTER = 4,   // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    HDSRT_LAUNCH_DEPENDENT = 6, // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION

    HDSRT_DEVICE_SMEM = 8,   // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK
    HDSRT_DEVICE_SMS = 16,          // …_MULTIPROCESSOR_COUNT
    HDSRT_DEVICE_MEMORY_CLOCK = 36, // …_MEMORY_CLOCK_RATE, kHz
    HDSRT_DEVICE_BUS = 37,          // …_GLOBAL_MEMORY_BUS_WIDTH, bits
    HDSRT_DEVICE_L2 = 38,           // …_L2_CACHE_SIZE, bytes
    HDSRT_DEVICE_MAJOR = 75, // …_COMPUTE_CAPABILITY_MAJOR
    HDSRT_DEVICE_MINOR = 76,
    HDSRT_DEVICE_PAGEABLE = 88,   // …_PAGEABLE_MEMORY_ACCESS
    HDSRT_DEVICE_SMEM_LARGE = 97, // …_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    HDSRT_DEVICE_POOLS = 115,     // …_MEMORY_POOLS_SUPPORTED

    HDSRT_FUNCTION_THREADS = 0,        // CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
    HDSRT_FUNCTION_SMEM = 1,           // …_SHARED_SIZE_BYTES
    HDSRT_FUNCTION_DYNAMIC_SMEM = 8,   // …_MAX_DYNAMIC_SHARED_SIZE_BYTES
    HDSRT_FUNCTION_CLUSTER = 11,       // …_REQUIRED_CLUSTER_WIDTH, then _HEIGHT and _DEPTH
    HDSRT_FUNCTION_LARGE_CLUSTER = 14, // …_NON_PORTABLE_CLUSTER_SIZE_ALLOWED

    HDSRT_POINTER_DEVICE = 3, // CU_POINTER_ATTRIBUTE_DEVICE_POINTER
    HDSRT_POINTER_START = 11, // …_RANGE_START_ADDR
    HDSRT_POINTER_SIZE = 12,  // …_RANGE_SIZE
};

enum {
    HDSRT_CUDA_INVALID_VALUE = 1,
    HDSRT_CUDA_OUT_OF_MEMORY = 2,
    HDSRT_CUDA_NOT_INITIALIZED = 3,
    HDSRT_CUDA_DEINITIALIZED = 4,
    HDSRT_CUDA_STUB_LIBRARY = 34,
    HDSRT_CUDA_NO_DEVICE = 100,
    HDSRT_CUDA_INVALID_DEVICE = 101,
    HDSRT_CUDA_INVALID_CONTEXT = 201,
    HDSRT_CUDA_NO_BINARY = 209,
    HDSRT_CUDA_UNSUPPORTED_PTX = 222,
    HDSRT_CUDA_NOT_READY = 600,
    HDSRT_CUDA_CONTEXT_IS_DESTROYED = 709,
    HDSRT_CUDA_NOT_SUPPORTED = 801,
};

typedef struct hdsrt_driver {
#define HDSRT_DRIVER(name, symbol, parameters) int(*name) parameters;
#include "runtime/driver.def"
#undef HDSRT_DRIVER
} hdsrt_driver;

// Opens the driver and initialises it, once; what failed is tried again at the next call. HDSRT_NO_DRIVER,
// HDSRT_NO_DEVICE or HDSRT_DRIVER_ERROR after recording why.
hdsrt_status hdsrt_driver_open(const hdsrt_driver **driver);
// The driver where it is open already, else NULL. A load.
const hdsrt_driver *hdsrt_driver_get(void);

// Waits for what is in the stream. A CUresult: HDSRT_CUDA_NOT_READY where it has not ended after [seconds]. Then it never
// may, and neither may what waits for it: releases, the end of the context, and exit(), which ends contexts.
int hdsrt_driver_wait(const hdsrt_driver *cuda, void *stream, int64_t seconds);

// Records that [what] failed with a CUresult; HDSRT_OK for result 0. [what] is what was done: "launching 'saxpy'".
hdsrt_status hdsrt_driver_fail(int result, const char *what, ...) HDSRT_FORMAT(2, 3);
