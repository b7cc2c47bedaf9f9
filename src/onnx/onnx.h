// Models in ONNX files, as graph functions of the language.
//
//     onnx_model *m = onnx_open(&memory, "model.onnx", &error);          the messages of the file, checked
//     str text = onnx_print(m, "model.onnx", &error);                   a graph function; its weights are weights("model.onnx")
//     wt_file *w = onnx_weights(m);                                      those weights, by name
//
// The file is mapped. Weights are views of it, so that nothing of them is in memory that nobody has looked at.
//
// What operators do is not known here: the text calls them by name, and how each is said in the language is in ops/onnx.
//
// Any bytes may be given. Nothing is allocated by a number in the file that the file does not back, and messages nest only as
// deep as the stack allows. Bytes of tensors that are kept in other files are read only from regular files in the model's folder,
// or folders below it, that no link leads to.
#pragma once

#include "weights/weights.h"

typedef struct onnx_model onnx_model;

// Whether the path's ending is that of ONNX files, binary (.onnx) or text (.onnxtxt, .onnxtext: the syntax of onnx.parser).
bool onnx_is_path(const char *path);
// That ending for bytes of a model whose path is not known, as those of standard input; "": they are none. ONNX's own writers begin
// with the field ir_version, the text form begins with "<": nothing of the language begins with either.
const char *onnx_ending_of(str bytes);
// NULL, and *[error] (in [a]) says why, if it cannot be read, or is no model that can be printed: the node or tensor at fault is
// named. All results live in [a], and until onnx_weights(m) is closed.
onnx_model *onnx_open(arena *a, const char *path, const char **error);
// The same of bytes, which stay as long. [path] tells where external data is.
onnx_model *onnx_read(arena *a, const char *path, str bytes, const char **error);
// The tensor of a file that has one alone, as test data of models do ("input_0.pb"): the only entry. Close it by wt_close. NULL, and
// *[error] (in [a]) says why.
wt_file *onnx_open_tensor(arena *a, const char *path, const char **error);
// The graph function. [weights]: what its text calls the file of weights. *[error]: as of onnx_open; NULL: there is none.
str onnx_print(onnx_model *m, const char *weights, const char **error);
// The initialisers, and tensors among attributes; close it by wt_close. The same for all calls.
wt_file *onnx_weights(onnx_model *m);
