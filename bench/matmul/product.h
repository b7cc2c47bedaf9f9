// A matrix product c = activation(alpha · a · b + bias) + residual, as the benchmark and the check pass it to the
// implementations: our library, cuBLAS, a kernel of the user.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hds/runtime.h"

// Element types, as rows of mm_types.
typedef enum mm_type { MM_F16, MM_BF16, MM_F32, MM_F64, MM_E4M3, MM_E5M2, MM_I8, MM_I32, MM__TYPES } mm_type;

typedef struct mm_type_facts {
    const char *name;
    int bytes;
    hdsrt_dtype dlpack;
    int cuda;        // cudaDataType
    double rounding; // the largest relative error of rounding to it
} mm_type_facts;

extern const mm_type_facts mm_types[MM__TYPES];

// Where the elements of a matrix lie: element (z, i, j) at z · batch + i · row + j · column. One of row and column
// is 1.
typedef struct mm_strides {
    int64_t batch, row, column;
} mm_strides;

typedef struct mm_product {
    mm_type a_type, b_type, c_type;
    bool tf32;              // f32 operands may be rounded to tf32
    int64_t batch, m, n, k; // a: batch × m × k, b: batch × k × n, c: batch × m × n
    mm_strides a, b, c;     // c.column is 1
    double alpha;
    int activation;              // hds_activation of hds/ops.h
    bool has_bias, has_residual; // bias: n elements; residual: strides of c; both of the type of c
    const void *a_data, *b_data, *bias, *residual;
    void *c_data;
} mm_product;

// A way of computing products. [index] is the number of a schedule, where it has several; -1: its own choice.
typedef struct mm_way {
    const char *name;
    hdsrt_status (*run)(void *self, const mm_product *p, int index, hdsrt_stream stream);
    void *self;
    int index;
} mm_way;

// ---- our library (library.c) --------------------------------------------------------------------------------------

// How many schedules there are for the product; the names of some are NULL where they do not take it.
int mm_schedules(const mm_product *p);
const char *mm_schedule_name(const mm_product *p, int index);
// What the library chooses by itself; "" where it takes no such product.
const char *mm_choice_name(const mm_product *p);
const char *mm_version(void);
hdsrt_status mm_run(void *self, const mm_product *p, int index, hdsrt_stream stream);
