#include "pipeline/early.h"

#include "diag/diag.h"
#include "toolchain/nvrtc.h"

// The library stays loaded: it would have to be loaded again for the next file.
static void *load(void *argument)
{
    pl_early *early = argument;
    arena memory;
    arena_oom oom;
    src_map sources;
    diag_context unheard;
    arena_init(&memory, &oom);
    if (setjmp(oom.jump) == 0) {
        src_map_init(&sources, &memory);
        diag_init(&unheard, &memory, &sources);
        tool_nvrtc_open(&memory, &unheard, early->nvrtc_path);
    }
    arena_free(&memory);
    return NULL;
}

void pl_early_start(pl_early *early, const pl_options *options)
{
    bool is_needed = options->emit > PL_CU || options->resource_usage;
    early->nvrtc_path = options->nvrtc_path;
    early->is_running = is_needed && pthread_create(&early->thread, NULL, load, early) == 0;
}

void pl_early_join(pl_early *early)
{
    if (early->is_running)
        pthread_join(early->thread, NULL);
    early->is_running = false;
}
