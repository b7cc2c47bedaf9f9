// Tensors for tests of libhdsops: descriptions alone, since nothing reads their memory.
#pragma once

#include <stdint.h>
#include <string.h>

#include "hds/runtime.h"

#define LIST(...) ((const int64_t[]){__VA_ARGS__})

// A tensor on the GPU at [address]. [shape] and [strides] are where it keeps [extents] and [steps]; steps NULL: contiguous.
static inline void describe(hdsrt_tensor *t, int64_t *shape, int64_t *strides, hdsrt_dtype type, uintptr_t address, int axes,
                            const int64_t *extents, const int64_t *steps)
{
    memset(t, 0, sizeof *t);
    t->data = (void *)address;
    t->device.device_type = 2;
    t->ndim = axes;
    t->dtype.code = type.code;
    t->dtype.bits = type.bits;
    t->dtype.lanes = 1;
    memcpy(shape, extents, (size_t)axes * sizeof *shape);
    t->shape = shape;
    if (steps) {
        memcpy(strides, steps, (size_t)axes * sizeof *strides);
        t->strides = strides;
    }
}
