// Test data of models in ONNX files: folders with input_0.pb, input_1.pb, ..., output_0.pb, ..., a tensor in each, in the order
// of the model's inputs and outputs.
#pragma once

#include "tensor/tensor.h"
#include "weights/weights.h"

typedef struct report_tensors {
    ten_tensor *at;
    size_t len;
} report_tensors;

typedef struct report_data {
    const char *folder;
    report_tensors inputs, outputs;
    VEC(wt_file *) files; // which the tensors point into
} report_data;

// "DIR/test_data_set_0" of "DIR/model.onnx", or "DIR/model/test_data_set_0". NULL: it is no ONNX file, or there is none.
const char *report_data_find(arena *a, const char *model);
// Tensors stay until report_data_close. False, and *[error] (in [a]) says why.
bool report_data_read(arena *a, const char *folder, report_data *out, const char **error);
void report_data_close(report_data *d);
