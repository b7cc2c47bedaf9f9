// One line on the terminal about long work of the compiler, while it lasts.
#pragma once

#include <pthread.h>

#include "pipeline/options.h"

typedef struct cmd_progress {
    pl_progress as_option;
    pthread_mutex_t lock;
    int64_t start_ms;
    bool has_line;
} cmd_progress;

// Where standard error is a terminal; begins when work does, says nothing in the first moments.
void cmd_progress_begin(cmd_progress *p);
// Removes the line.
void cmd_progress_end(cmd_progress *p);
