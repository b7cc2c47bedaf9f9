// Inputs that are ONNX files: their text takes the place of the file's bytes.
#pragma once

#include "onnx/onnx.h"
#include "pipeline/job.h"

// Reads an input into [*out]. An ONNX file is not read but mapped: then [*mapped] is the same, for file_unmap. As file_read.
bool pl_read_input(arena *a, const char *path, str *out, str *mapped, const char **error);
// What messages call an input that has been read: its path, and for standard input ("-") what pl_is_stdin knows, with the ending of
// an ONNX file if that is what its bytes are.
const char *pl_input_name(arena *a, const char *path, str bytes);
bool pl_is_stdin(const char *input_name);
// Reads the bytes of an ONNX file; wt_close closes its weights. False: *[error] says why. All of it lives in [a].
bool pl_onnx_read(arena *a, const pl_options *o, const char *path, str bytes, pl_onnx *out, const char **error);
// Makes the graph function of the unit's input, an ONNX file, its text; the file's weights are those that the text names. Lines
// of messages are those of the text. False after reporting.
bool pl_take_onnx(pl_unit *u);
// Opens a file of weights: safetensors, or an ONNX file. As wt_open.
wt_file *pl_open_weights(arena *a, const char *path, const char **error);
