#pragma once

#include <pthread.h>

#include "sim/profile.h"

// The counters of one program, by site.
typedef struct sim_profile_page {
    const sim_program *program;
    size_t count;
    sim_counts *counts;  // of the system, for they are shared by threads
    struct sim_profile_page *next;
} sim_profile_page;

struct sim_profile {
    arena *arena;
    pthread_mutex_t lock;             // of adding pages
    _Atomic(sim_profile_page *) pages;  // the newest first
    VEC(sim_profiled_kernel) kernels;
};
