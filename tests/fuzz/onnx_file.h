// What the fuzz targets of ONNX files share: a file is refused with a reason, or it is printed, and its weights have their bytes.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "onnx/onnx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum_of(wt_file *f, uint64_t *count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < f->entries.len; i++) {
        const wt_entry *e = &f->entries.at[i];
        for (int64_t k = 0; e->at && k < e->bytes; k++)
            sum += e->at[k];
        if (wt_find(f, e->name) != e)
            __builtin_trap();
        *count += (uint64_t)e->bytes;
    }
    return sum;
}

static int read_model(const char *path, const uint8_t *data, size_t size)
{
    arena a;
    arena_init(&a, NULL);
    const char *error = NULL;
    onnx_model *m = onnx_read(&a, path, (str){(const char *)data, size}, &error);
    if ((m == NULL) != (error != NULL))
        __builtin_trap();
    if (m) {
        uint64_t count = 0, sum = sum_of(onnx_weights(m), &count);
        str text = onnx_print(m, "model.onnx", &error);
        if (!text.len || sum > count * 255)
            __builtin_trap();
        wt_close(onnx_weights(m));
    }
    arena_free(&a);
    return 0;
}
