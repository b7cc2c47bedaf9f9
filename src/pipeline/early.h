// Opening NVRTC takes several milliseconds, most of them the loader's. While the front end works on one thread, another
// has the library loaded, so that opening it later costs next to nothing.
#pragma once

#include <pthread.h>

#include "pipeline/options.h"

typedef struct pl_early {
    pthread_t thread;
    bool is_running;
    const char *nvrtc_path;
} pl_early;

// Starts loading if the output that is asked for needs NVRTC. Whether it works out is for the units to find and to say.
void pl_early_start(pl_early *early, const pl_options *options);
void pl_early_join(pl_early *early);
