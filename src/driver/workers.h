// Inputs that are compiled at the same time, by several processes: inside a process NVRTC has its callers wait for each
// other (bench/parallel.py --threads shows it), and a crash of one does not affect the others. Results are bytes, in
// the order of the inputs.
#pragma once

#include "base/str.h"

typedef enum cmd_part {
    CMD_PRINTED,     // for standard output
    CMD_COMPLAINED,  // for standard error
    CMD_OUTPUT,
    CMD_HEADER,
    CMD_DEPENDS,
    CMD_MANIFEST,
    CMD_PART__COUNT
} cmd_part;

typedef struct cmd_result {
    int code;  // exit code of the program, if this were all
    str parts[CMD_PART__COUNT];
    bool is_done;
} cmd_result;

typedef struct cmd_workers {
    const char *const *names;  // of the inputs
    size_t count;
    int jobs;                  // at a time; 1: in this process
    bool shows_progress;       // on standard error, when it takes long
    // Does [index]; the result in [a]. Prints nothing.
    void (*work)(void *user, arena *a, size_t index, cmd_result *out);
    // Called in this process for each result, in order, as early as that can be.
    void (*done)(void *user, size_t index, const cmd_result *result);
    void *user;
} cmd_workers;

// Does all of them; [results] has room for [count], and what they hold is in [a].
void cmd_work_all(arena *a, const cmd_workers *w, cmd_result *results);
// How many processes the machine has cores for.
int cmd_core_count(void);
