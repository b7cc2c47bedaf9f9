// Inputs that are ONNX files: their text takes the place of the file's bytes.
#pragma once

#include "onnx/onnx.h"
#include "pipeline/job.h"

// Makes the graph function of the unit's input, an ONNX file, its text; the file's weights are those that the text names. Lines
// of messages are those of the text. False after reporting.
bool pl_read_onnx(pl_unit *u);
// Opens a file of weights: safetensors, or an ONNX file. As wt_open.
wt_file *pl_open_weights(arena *a, const char *path, const char **error);
// --emit=graph: the weights of the job's input, if it is an ONNX file, as a safetensors file. False after reporting.
bool pl_make_weights(pl_job *job);
