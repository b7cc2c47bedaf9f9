// A test double of the CUDA driver: a libcuda.so.1 that has devices, contexts, memory and kernels, runs nothing,
// records what it was asked for, and fails where it was told to. README.md says how the environment configures it;
// these functions are for tests that link it. Devices, version and what is hidden have to be said before cuInit.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FAKE_PARAMETER_BYTES = 4096, FAKE_PARAMETERS = 64 };

typedef struct fake_cuda_launch {
    char kernel[200];
    unsigned grid[3], block[3], cluster[3]; // cluster: of the launch's attribute; 0: none
    unsigned dynamic_smem_bytes;
    bool is_extended;  // by cuLaunchKernelEx
    bool is_dependent; // programmatic stream serialization
    void *stream;
    unsigned long long context; // its id
    int device;
    int arch; // of the code: 90; 90 | 0x8000 for sm_90a
    bool is_ptx;
    int parameter_count;                                     // as the code declares them
    size_t sizes[FAKE_PARAMETERS], offsets[FAKE_PARAMETERS]; // of each, in [parameters]
    unsigned char parameters[FAKE_PARAMETER_BYTES];
} fake_cuda_launch;

#define FAKE_API __attribute__((visibility("default")))

FAKE_API void fake_cuda_devices(int count);         // 0 too; at first 1
FAKE_API void fake_cuda_arch(int device, int arch); // 90; at first FAKE_CUDA_ARCH, or 90
FAKE_API void fake_cuda_version(int version);       // 12040; at first 13000
FAKE_API void fake_cuda_hide(const char *symbol);   // dlsym does not find it any more
FAKE_API void fake_cuda_show(const char *symbol);   // dlsym finds it again
// A device's attribute by its number in cuda.h.
FAKE_API void fake_cuda_attribute(int device, int attribute, int value);
// An attribute of all functions, by its number in cuda.h; -1: what the code says.
FAKE_API void fake_cuda_function_attribute(int attribute, int value);

// The [nth] call of [symbol] from now on gives [code]; nth 0: every call. A rule for a symbol replaces the one before;
// code 0 takes it back.
FAKE_API void fake_cuda_fail(const char *symbol, int nth, int code);
// The same, and the context is lost: all that is asked of it gives [code], until it is reset or destroyed.
FAKE_API void fake_cuda_break(const char *symbol, int nth, int code);

FAKE_API int fake_cuda_calls(const char *symbol); // since the start or fake_cuda_forget
FAKE_API int fake_cuda_launches(void);
FAKE_API bool fake_cuda_launch_at(int index, fake_cuda_launch *launch); // the last 64 are kept
FAKE_API void fake_cuda_forget(void);                                   // counts and launches begin at 0
// What exists: "contexts" (each that is made, and each primary one that is active), "retains" (of primary contexts),
// "memory" (allocations), "libraries", "modules", "streams", "events"; -1 for another word.
FAKE_API int fake_cuda_live(const char *kind);

// Called at each launch that succeeds, in the launching thread: a hook that can do what the kernel would.
typedef void fake_cuda_kernel(void *user, const fake_cuda_launch *launch);
FAKE_API void fake_cuda_on_launch(fake_cuda_kernel *kernel, void *user);
