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
    int64_t ties;             // of error.different: elements one step off by a tie, see report_find_ties
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
// Counts elements that are the operand rounded to whole numbers, one step apart because its two values are on two sides of a tie,
// as 127.49999 and 127.50001 are: what the operand's row says is all that is inexact. None of operands of another shape.
void report_find_ties(report_row *row, const ten_tensor *expected, const ten_tensor *operand, const ten_tensor *expected_operand);
// The same against test data, which others have computed in the model's types: the bound is at least that of ONNX's own tests.
void report_measure_data(report_row *row, const ten_tensor *expected, double bound);
// The first row with an error beyond its bound; NULL: there is none.
const report_row *report_first(const report_row_list *rows);
size_t report_count(const report_row_list *rows);  // of those

void report_table(const report *r, str_buf *out);
void report_json(const report *r, str_buf *out);
