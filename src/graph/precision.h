// Which nodes of a graph compute in less than f32: what --precision says.
//
//     f16                          products and convolutions, and what reads their results
//     f16,softmax=f32              but the operator softmax
//     f16,19=f32,layers.0.*=bf16   but line 19 of the model; and what reads these weights in bf16
//     matmul=tf32                  products of f32 by tensor cores
//     winograd                     3 x 3 convolutions of f32 by Winograd's algorithm, where that is faster
#pragma once

#include "graph/graph.h"

typedef enum fg_precision { FG_F32, FG_WINOGRAD, FG_TF32, FG_BF16, FG_F16, FG_PRECISION_COUNT } fg_precision;

typedef struct fg_precision_rule {
    const char *pattern; // NULL: the whole model. An operator's name, a line, or names of weights with '*' and '?'
    fg_precision precision;
    bool is_used; // some node matches it
} fg_precision_rule;

// Later rules go before earlier ones.
typedef struct fg_precisions {
    VEC(fg_precision_rule) rules;
    bool was_run;     // a graph has been looked at
    bool has_changed; // a node of one computes otherwise
} fg_precisions;

// NULL, and *[error] says why. In [a].
fg_precisions *fg_read_precisions(arena *a, const char **error, const char *text);
// "f16"
const char *fg_precision_name(fg_precision p);
