// The result of `hdsc report`: how far a model's tensors are from the same in f64.
#pragma once

#include "graph/graph.h"
#include "tensor/compare.h"

typedef struct report_row {
    const fg_node *node;      // NULL: an output of the program with all passes
    const char *name;         // of the tensor
    const ten_tensor *actual;
    ten_error error;
    double bound;             // of error.harmonic; 0: a type whose values are equal or wrong
    bool is_wrong;
} report_row;

typedef VEC(report_row) report_row_list;

typedef struct report {
    const char *file, *model;
    report_row_list nodes, outputs;
    const char *data;           // the folder of test data; NULL: there is none
    report_row_list data_outputs; // outputs of the program against these
} report;

// The error that values of the type may have by rounding; 0: a type whose values are equal or wrong.
double report_bound(dtype type);
// Compares, and sets the bound and whether it is passed. [bound]: of the coarsest type that the values come from.
void report_measure(report_row *row, const ten_tensor *expected, double bound);
// The same against test data, which others have computed in the model's types: the bound is at least that of ONNX's own tests.
void report_measure_data(report_row *row, const ten_tensor *expected, double bound);
// The first row with an error beyond its bound; NULL: there is none.
const report_row *report_first(const report_row_list *rows);
size_t report_count(const report_row_list *rows);  // of those

void report_table(const report *r, str_buf *out);
void report_json(const report *r, str_buf *out);
