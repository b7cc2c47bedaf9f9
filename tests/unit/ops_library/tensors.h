// Tensors for tests of libhdsops on the double of the driver, which knows nothing of their memory.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "fake_cuda.h"
#include "hds/runtime.h"

enum { INT = 0, FLOAT = 2, BFLOAT = 4, BOOL = 6, MOST_AXES = 5 };

typedef struct tensor {
    hdsrt_tensor t;
    int64_t shape[MOST_AXES];
} tensor;

// A tensor of [axes] axes at an address of its own.
static inline const hdsrt_tensor *make(tensor *x, int code, int bits, int axes, const int64_t *shape)
{
    static uintptr_t next = 0x10000000;
    *x = (tensor){0};
    if (axes)
        memcpy(x->shape, shape, (size_t)axes * sizeof *shape);
    x->t.data = (void *)(next += 0x1000000);
    x->t.device.device_type = 2;
    x->t.ndim = axes;
    x->t.dtype.code = (uint8_t)code;
    x->t.dtype.bits = (uint8_t)bits;
    x->t.dtype.lanes = 1;
    x->t.shape = x->shape;
    return &x->t;
}

#define MAKE(x, code, bits, ...)                                                                                       \
    make(&(x), code, bits, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

// What a call launched, since the last time this was asked; -1: it gave an error.
static inline int launched(hdsrt_status status)
{
    int count = fake_cuda_launches();
    fake_cuda_forget();
    if (status != HDSRT_OK)
        print_message("%s\n", hdsrt_last_error());
    return status == HDSRT_OK ? count : -1;
}
