// Any bytes at all as an ONNX file.
#include "onnx_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return read_model("/nonexistent/model.onnx", data, size);
}
