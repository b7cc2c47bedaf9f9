// Preloads NVRTC. Opening the library takes several milliseconds, mostly in the loader, so one thread loads it while
// another runs the front end. The library is not preloaded if all of NVRTC's output is expected to be in the code cache.
#pragma once

#include <pthread.h>

#include "pipeline/options.h"

typedef struct pl_nvrtc_preload {
    pthread_t thread;
    bool is_running;
    const pl_options *options;
    str work;  // key of the compilation for the cache's expectation; empty: NVRTC is not needed
} pl_nvrtc_preload;

// Starts loading if the requested output needs NVRTC. Errors are ignored here; the units report them.
// [input]: the text of the input; [a]: memory that lives as long as the job.
void pl_nvrtc_preload_start(pl_nvrtc_preload *preload, arena *a, const pl_options *options, str input);
void pl_nvrtc_preload_join(pl_nvrtc_preload *preload);
// Records that the cache now holds all output of this compilation, so the next one needs no preload.
void pl_nvrtc_preload_expect(const pl_nvrtc_preload *preload);
