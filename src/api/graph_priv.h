// A graph that a program builds, inside: graph.c adds to it, graph_text.c prints it.
#pragma once

#include <hds/graph.h>

#include "api/api_priv.h"

typedef enum api_tensor_kind { API_INPUT, API_WEIGHT, API_RESULT } api_tensor_kind;

typedef struct api_tensor {
    api_tensor_kind kind;
    const char *name;  // inputs: of the parameter; weights: in the file
    const char *file;  // weights; NULL: none is named
    const char *type;  // inputs and weights: "f16[B, 784]"
} api_tensor;

// A line of the function's body: a weight, or a call.
typedef struct api_statement {
    const char *node;            // its name; NULL: it has none
    const char *module, *op;     // NULL: a weight
    const char *arguments;       // "t0, t1, axis=1"
    int import_line;             // of the operator, in the text
    int first, count;            // its tensors
} api_statement;

typedef struct api_output {
    int tensor;
    const char *name;
} api_output;

struct hds_graph {
    arena memory;
    arena_oom oom;
    const char *name;
    VEC(api_tensor) tensors;
    VEC(api_statement) statements;
    VEC(api_output) outputs;
    VEC(const char *) sizes;  // that are open, in the order of first use
    VEC(const char *) dtypes; // that attributes name
    bool names_infinity;      // an attribute is inf or nan
    const char *text;         // NULL: it has changed since
    int first_line;           // of the first statement in [text]
    char *json;
};

bool api_is_identifier(const char *text);
// The variable of a tensor: its name, or "t3".
const char *api_variable(hds_graph *g, int tensor);
void api_add_quoted(str_buf *out, const char *text);
// The graph function; sets g->text and g->first_line. Memory of the graph: control goes to g->oom when there is none.
void api_print_graph(hds_graph *g);
