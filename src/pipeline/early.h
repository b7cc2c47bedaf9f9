// Opening NVRTC takes several milliseconds, most of them the loader's. While the front end works on one thread, another
// has the library loaded, so that opening it later costs next to nothing. Where the cache expects to have all that NVRTC
// would be asked for, it is not loaded before it is known to be needed.
#pragma once

#include <pthread.h>

#include "pipeline/options.h"

typedef struct pl_early {
    pthread_t thread;
    bool is_running;
    const pl_options *options;
    str work;  // what is compiled, for the cache; empty: NVRTC is not asked for
} pl_early;

// Starts loading if the output that is asked for needs NVRTC. Whether it works out is for the units to find and to say.
// [input]: the text of the input; [a]: memory that lasts as long as the job.
void pl_early_start(pl_early *early, arena *a, const pl_options *options, str input);
void pl_early_join(pl_early *early);
// All that was asked for is in the cache now: the next time it is expected there.
void pl_early_expect(const pl_early *early);
