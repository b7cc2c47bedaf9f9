// What the programs share: vectors on the GPU, and whether kernels did what they should. With the argument 'launch-only'
// results are not looked at: the double of the driver runs no kernels.
#pragma once

#include <stdio.h>
#include <string.h>

#include <hds/runtime.h>

enum { COUNT = 1000 };

static inline int succeeded(hdsrt_status status, const char *what)
{
    if (status != HDSRT_OK)
        fprintf(stderr, "%s: %s: %s\n", what, hdsrt_status_text(status), hdsrt_last_error());
    return status == HDSRT_OK;
}

// A vector 0, 1, 2, …; NULL after saying why not.
static inline float *vector_new(void)
{
    float values[COUNT];
    void *vector = NULL;
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)i;
    if (!succeeded(hdsrt_allocate(&vector, sizeof values, NULL), "allocate"))
        return NULL;
    if (succeeded(hdsrt_copy(vector, values, sizeof values, NULL), "copy") && succeeded(hdsrt_synchronize(NULL), "wait"))
        return (float *)vector;
    hdsrt_release(vector, NULL);
    return NULL;
}

// Whether the vector is factor · (0, 1, 2, …); gives it back.
static inline int vector_check(float *vector, float factor, int argc, char **argv)
{
    float values[COUNT];
    int wrong = 0;
    if (!succeeded(hdsrt_copy(values, vector, sizeof values, NULL), "copy") ||
        !succeeded(hdsrt_synchronize(NULL), "wait") || !succeeded(hdsrt_release(vector, NULL), "release"))
        return 0;
    if (argc > 1 && strcmp(argv[1], "launch-only") == 0)
        return 1;
    for (int i = 0; i < COUNT; i++)
        wrong += values[i] != factor * (float)i;
    printf("%d of %d results are wrong\n", wrong, COUNT);
    return wrong == 0;
}
