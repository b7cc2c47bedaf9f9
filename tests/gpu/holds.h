// What programs of tests on a GPU count: conditions, and those that do not hold, which are printed.
#pragma once

#include <stdio.h>

#include "hds/runtime.h"

static int failures, checks;

// [condition], which is about what the other arguments print.
#define HOLDS(condition, ...)                                                                                          \
    do {                                                                                                               \
        checks++;                                                                                                      \
        if (!(condition)) {                                                                                            \
            printf("line %d: %s, ", __LINE__, #condition);                                                             \
            printf(__VA_ARGS__);                                                                                       \
            printf("; last error: %s\n", hdsrt_last_error());                                                          \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)
