// Where tests run their kernels.
#pragma once

#include "testing/testing.h"

typedef struct cmd_device {
    const char *name;  // of --device
    // NULL: the simulator itself. Otherwise the backend, in [a]; NULL after setting *[why] if it cannot be used here.
    // The time limit of a kernel in seconds.
    const test_backend *(*open)(arena *a, const pl_options *options, int64_t seconds, const char **why);
    bool (*close)(const test_backend *b);  // false: leave by cmd_leave
} cmd_device;

extern const cmd_device cmd_devices[];  // ends with a NULL name
