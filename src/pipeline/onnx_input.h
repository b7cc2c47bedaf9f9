// Inputs that are ONNX files: their text takes the place of the file's bytes.
#pragma once

#include "onnx/onnx.h"
#include "pipeline/job.h"

// Reads an input into [*out]. An ONNX file is not read but mapped: then [*mapped] is the same, for file_unmap. As file_read.
bool pl_read_input(arena *a, const char *path, str *out, str *mapped, const char **error);
// The text of an ONNX file's bytes, and its weights, by the name that the text gives them; close them by wt_close. Nothing else of
// the file matters to what is compiled. *[error] as of onnx_print; NULL: there is none. All of it lives in [a].
str pl_onnx_text(arena *a, const char *path, const char *name, str bytes, wt_file **weights, const char **error);
// What the text calls the file of its weights.
const char *pl_onnx_weights_name(const pl_options *o, const char *path);
// Makes the graph function of the unit's input, an ONNX file, its text; the file's weights are those that the text names. Lines
// of messages are those of the text. False after reporting.
bool pl_read_onnx(pl_unit *u);
// Opens a file of weights: safetensors, or an ONNX file. As wt_open.
wt_file *pl_open_weights(arena *a, const char *path, const char **error);
