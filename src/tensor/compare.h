// Comparison of what a run gave with what was expected.
#pragma once

#include "tensor/tensor.h"

enum { TEN_SHOWN = 8 };

typedef struct ten_difference {
    int64_t index;      // of the element, row by row
    double error;       // |actual - expected|; NaN where exactly one of them is NaN, or an infinity
} ten_difference;

typedef struct ten_comparison {
    int64_t compared;
    int64_t different;  // elements with |actual - expected| > atol + rtol · |expected|
    int64_t unwritten;  // of those, uninitialized elements
    ten_difference first[TEN_SHOWN];  // the first few, in order
    int first_count;
    ten_difference worst;             // that with the largest error; a NaN counts as largest
    double worst_relative;            // largest |actual - expected| / |expected| over all where expected is not 0
} ten_comparison;

// Compares elements of two tensors of one shape in f64; integers of one type bit by bit where both tolerances are 0. NaN is
// close to NaN, and infinities to themselves. [written]: as of ten_show.
void ten_compare(const ten_tensor *actual, const uint8_t *written, const ten_tensor *expected, double rtol, double atol,
                 ten_comparison *out);
// How far [actual] is from [expected], element by element.
typedef struct ten_error {
    int64_t different;              // elements that are not equal
    double harmonic;                // largest |actual - expected| / (|expected| + 1)
    double max_absolute, mean_absolute;
    double max_relative, mean_relative;  // over elements where expected is not 0; 0 where it always is
} ten_error;

// An element that is a number in one tensor and an infinity or NaN in the other one has an infinite error.
ten_error ten_error_of(const ten_tensor *actual, const ten_tensor *expected);
// "index, actual, expected, error" of the first differences, a line each, with a heading.
void ten_compare_table(const ten_comparison *c, const ten_tensor *actual, const uint8_t *written,
                       const ten_tensor *expected, str_buf *out);
// Tolerances that leave room for the roundings of a few operations in [type], not for a wrong formula: those of
// hidet.lang.testing.
void ten_usual_tolerance(dtype type, double *rtol, double *atol);
