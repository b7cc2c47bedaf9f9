// Graphs in libhds: models that a program builds node by node, instead of a graph function in a file (docs/models.md).
//
//     hds_graph *graph;
//     int x, w, y;
//     hds_graph_new("layer", &graph);
//     hds_graph_input(graph, "x", "f16", (hds_extent[]){{.size = "B"}, {.value = 784}}, 2, &x);     f16[B, 784], B open
//     hds_graph_weight(graph, "fc.weight", NULL, "f16", (int64_t[]){512, 784}, 2, &w);
//     hds_graph_node(graph, &(hds_node){.name = "fc", .op = "matmul.linear", .count = 2,
//                                       .arguments = (hds_value[]){hds_value_tensor(x), hds_value_tensor(w)}}, &y);
//     hds_graph_output(graph, y, "scores");
//     hds_graph_compile(compiler, graph, NULL, &program);     then hds_model_open (hds/model.h)
//
// Operators are those of the library (docs/operators.md) and of modules in options->include_dirs. What a node's results are,
// their types and extents, follows from its operator's definition, as in graph functions: a graph is a graph function,
// hds_graph_text, and hds_graph_verify, hds_graph_json and hds_graph_compile read it as such.
//
// Tensors are numbers, from 0 on, of their graph. A graph is used by one thread at a time; texts are copied.
#ifndef HDS_GRAPH_H
#define HDS_GRAPH_H

#include <hds/hds.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hds_graph hds_graph;

// [name]: of the model, an identifier: hds_model_options.graph, and the function of the program.
HDSRT_API hds_status hds_graph_new(const char *name, hds_graph **graph);
HDSRT_API void hds_graph_release(hds_graph *graph);

// An extent: a number from 0 on, or a size that stays open until the model runs, by its name. Attributes of nodes also
// take expressions of open sizes, "2 * B".
typedef struct hds_extent {
    int64_t value;
    const char *size;  // NULL: [value]
} hds_extent;

// A parameter of the model, an identifier. Sizes are those that the extents of inputs name.
HDSRT_API hds_status hds_graph_input(hds_graph *graph, const char *name, const char *dtype, const hds_extent *extents,
                                     size_t rank, int *tensor);
// A tensor of a file of weights. [file]: the safetensors file that the model names, relative to the working directory; NULL: that
// of hds_compile_options or hds_model_options.
HDSRT_API hds_status hds_graph_weight(hds_graph *graph, const char *name, const char *file, const char *dtype,
                                      const int64_t *extents, size_t rank, int *tensor);
// A tensor whose elements are all [value]. Other constants are weights.
HDSRT_API hds_status hds_graph_constant(hds_graph *graph, const char *dtype, const int64_t *extents, size_t rank, double value,
                                        int *tensor);

typedef enum hds_value_kind {
    HDS_VALUE_TENSOR,
    HDS_VALUE_INT,
    HDS_VALUE_FLOAT,
    HDS_VALUE_BOOL,
    HDS_VALUE_STRING,
    HDS_VALUE_DTYPE,    // a type of elements: "f32"
    HDS_VALUE_EXTENTS,  // a tuple of integers and expressions of open sizes
    HDS_VALUE_NONE      // an operand that is left out
} hds_value_kind;

// An argument of a node. Operands come by position, first; attributes have the names of the operator's parameters.
typedef struct hds_value {
    const char *name;  // NULL: by position
    hds_value_kind kind;
    union {
        int tensor;
        int64_t integer;
        double real;
        bool boolean;
        const char *text;           // HDS_VALUE_STRING, HDS_VALUE_DTYPE
        const hds_extent *extents;  // HDS_VALUE_EXTENTS
    } value;
    size_t count;  // of [extents]
} hds_value;

static inline hds_value hds_value_tensor(int tensor)
{
    hds_value v = {NULL, HDS_VALUE_TENSOR, {0}, 0};
    v.value.tensor = tensor;
    return v;
}

static inline hds_value hds_value_int(const char *name, int64_t value)
{
    hds_value v = {name, HDS_VALUE_INT, {0}, 0};
    v.value.integer = value;
    return v;
}

static inline hds_value hds_value_float(const char *name, double value)
{
    hds_value v = {name, HDS_VALUE_FLOAT, {0}, 0};
    v.value.real = value;
    return v;
}

static inline hds_value hds_value_bool(const char *name, bool value)
{
    hds_value v = {name, HDS_VALUE_BOOL, {0}, 0};
    v.value.boolean = value;
    return v;
}

static inline hds_value hds_value_string(const char *name, const char *value)
{
    hds_value v = {name, HDS_VALUE_STRING, {0}, 0};
    v.value.text = value;
    return v;
}

static inline hds_value hds_value_dtype(const char *name, const char *value)
{
    hds_value v = {name, HDS_VALUE_DTYPE, {0}, 0};
    v.value.text = value;
    return v;
}

static inline hds_value hds_value_extents(const char *name, const hds_extent *extents, size_t count)
{
    hds_value v = {name, HDS_VALUE_EXTENTS, {0}, count};
    v.value.extents = extents;
    return v;
}

// A call of an operator.
typedef struct hds_node {
    const char *name;            // for messages, any text; NULL: none
    const char *op;              // module and operator: "matmul.linear", "activation.relu"
    const hds_value *arguments;
    size_t count;
    size_t result_count;         // 0: one
} hds_node;

// [results]: the numbers of its results. Whether the operator is there and takes these operands is found by hds_graph_verify.
HDSRT_API hds_status hds_graph_node(hds_graph *graph, const hds_node *node, int *results);
// Results are named, all of them, or none is (NULL): the model has parameters "out", or "out0", "out1" … then.
HDSRT_API hds_status hds_graph_output(hds_graph *graph, int tensor, const char *name);

// The graph as a graph function. Lives until the graph changes; NULL: it has no outputs, or there is no memory.
HDSRT_API const char *hds_graph_text(hds_graph *graph);

// Whether all nodes have operators that take their operands: HDS_ERRORS, and hds_last_error() has the name of the node and the
// reason. [options] may be NULL; no GPU and no NVRTC is needed.
HDSRT_API hds_status hds_graph_verify(hds_compiler *compiler, hds_graph *graph, const hds_compile_options *options);
// The same, and the graph with the types and extents of all tensors as JSON, as 'hdsc graph -o model.json' writes it. *json lives
// until the next call for this graph.
HDSRT_API hds_status hds_graph_json(hds_compiler *compiler, hds_graph *graph, const hds_compile_options *options,
                                    const char **json);
// hds_compile of the graph function, with all rewrites and passes.
HDSRT_API hds_status hds_graph_compile(hds_compiler *compiler, hds_graph *graph, const hds_compile_options *options,
                                       hds_program **program);

#ifdef __cplusplus
}
#endif
#endif
