// The result of `hdsc diff`: what differs between the graphs of two files, as text and as JSON.
#pragma once

#include <jansson.h>

#include "graph/diff.h"
#include "tensor/compare.h"

// A weight of both graphs, or of one.
typedef struct diff_weight {
    fg_tensor_diff tensor;
    bool is_compared;    // both have bytes, and one shape
    const char *unknown; // why not; NULL: one file does not have it, or it has another shape
    bool is_equal;       // bit by bit
    ten_error error;     // of the second one, where they are not
    int64_t count;       // elements
} diff_weight;

typedef VEC(diff_weight) diff_weights;

// Two graphs of one name, or one that the other file does not have: then the other is NULL.
typedef struct diff_pair {
    const fg_graph *a, *b;
    fg_diff diff;
    diff_weights weights;
    const char *const *names_a, *const *names_b; // of nodes, by number
} diff_pair;

typedef struct diff_result {
    const char *file_a, *file_b;
    VEC(diff_pair) pairs;
} diff_result;

// Nodes that are in one graph only or changed, other than by their operands alone; inputs, outputs, and weights that differ. A
// graph that one file does not have is one.
size_t diff_count(const diff_result *r);
void diff_text(const diff_result *r, str_buf *out);
json_t *diff_json(const diff_result *r);
