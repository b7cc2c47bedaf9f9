// What the files of this module share.
#pragma once

#include "onnx.pb-c.h"
#include "onnx/onnx.h"

// What is known of a tensor's type.
typedef struct onnx_type {
    int code;           // TensorProto.DataType
    const char *name;   // "FLOAT16"
    const char *dtype;  // as the language calls it; NULL: it has no such type
    int bytes;          // of an element
} onnx_type;

struct onnx_model {
    arena *memory;
    const char *path;
    const uint8_t *bytes; // of the file
    Onnx__Model *proto;
    wt_file *weights;
    const char *error; // the first one
    map tensors;       // Onnx__Tensor -> its wt_entry's name
    map numbers;       // of a weight's name: the last number behind it
    int depth;         // of inner graphs
};

// Keeps the first error. False.
bool onnx_failed(onnx_model *m, const char *error);
const onnx_type *onnx_type_of(int code);  // NULL: there is no such type

// ---- text.c -----------------------------------------------------------------------------------------------------------------

// The bytes of the message of a model that is written as text. False, and *[error] (in [a]) says why, with line and column.
bool onnx_text_read(arena *a, str text, str *out, const char **error);

// ---- skeleton.c --------------------------------------------------------------------------------------------------------------

// The message [bytes] of the kind [d] with views instead of the bytes of tensors. False: it is none, or is nested too deeply.
bool onnx_skeleton(arena *a, const ProtobufCMessageDescriptor *d, str bytes, str *out);

// ---- tensor.c: tensors of the file as weights -------------------------------------------------------------------------------

// Makes a weight of [t], called [name] or like it. False after keeping an error.
bool onnx_add_weight(onnx_model *m, const Onnx__Tensor *t, const char *name);
// The weight's name, and the weight.
const char *onnx_weight_name(const onnx_model *m, const Onnx__Tensor *t);
const wt_entry *onnx_weight_of(const onnx_model *m, const Onnx__Tensor *t);
// The elements as a list of the language, "[1, -1]"; NULL: they are in another file, or not small. Of floats only a few are.
const char *onnx_values(const onnx_model *m, const Onnx__Tensor *t);

// The shortest text that is the same number.
void onnx_add_float(str_buf *out, float v);

// ---- external.c -------------------------------------------------------------------------------------------------------------

// Where the bytes of [e] are, by the tensor's external data. False after keeping an error.
bool onnx_find_external(onnx_model *m, const Onnx__Tensor *t, wt_entry *e);

// ---- names.c: identifiers ---------------------------------------------------------------------------------------------------

// Texts to identifiers, distinct within a namer and those that it is in.
typedef struct onnx_namer {
    arena *memory;
    const struct onnx_namer *outer;
    map by_text, taken;
    map next; // of a text: the last number behind it
} onnx_namer;

void onnx_namer_init(onnx_namer *n, arena *a, const onnx_namer *outer);
// Takes names that are not to be used.
void onnx_reserve(onnx_namer *n, const char *name);
// The identifier of a text, made if there is none.
const char *onnx_name(onnx_namer *n, const char *text);
// The text stands for this expression.
void onnx_bind(onnx_namer *n, const char *text, const char *expression);
// The text without what cannot be printed, or is no UTF-8; "" for NULL.
const char *onnx_clean(arena *a, const char *text);
// A new identifier for the text in this namer.
const char *onnx_new_name(onnx_namer *n, const char *text);

// ---- print.c, print_node.c --------------------------------------------------------------------------------------------------

typedef struct onnx_printer {
    onnx_model *m;
    str_buf *out;
    onnx_namer names;        // of the module: operators, functions
    VEC(const char *) lines; // that import operators
    map functions;           // "domain\nName" -> Onnx__Function
    Onnx__OperatorSet *const *sets; // of the graph or function that is printed
    size_t set_count;
    int indent;
    bool has_weights;
} onnx_printer;

// Binds the initialisers of a graph to expressions.
void onnx_bind_constants(onnx_printer *p, onnx_namer *names, const Onnx__Graph *g);
// A line for each node, and inner graphs as functions before theirs.
void onnx_print_nodes(onnx_printer *p, onnx_namer *names, Onnx__Node *const *nodes, size_t count);
// "return [y, z]"
void onnx_print_return(onnx_printer *p, onnx_namer *names, const Onnx__Graph *g);
// The name of the function that an operator is.
const char *onnx_function_of(onnx_printer *p, const Onnx__Node *n);
// The key of an operator in the names of the module.
const char *onnx_operator_key(onnx_printer *p, const Onnx__Node *n);
// What an attribute is, as the language writes it. [inner]: the function of its graph.
void onnx_add_attribute(onnx_printer *p, str_buf *out, const Onnx__Attribute *a, const char *inner);
void onnx_add_quoted(str_buf *out, arena *a, const char *text);
void onnx_start_line(onnx_printer *p);
