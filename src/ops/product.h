// Operators in the form that kernels take, made from DLPack tensors: matrix products, one per launch, and convolutions.
#pragma once

#include "hds/ops.h"

// Kernels count in 32 bits, and advance by whole tiles and iterations, which are shorter than 2^16.
enum { OPS_MOST_AXES = 16, OPS_MOST_EXTENT = INT32_MAX - (1 << 16) };

// How an operand's matrices are stored, the last letter fastest: row by row, or column by column.
typedef enum ops_order {
    OPS_ROWS,    // "mk" of a, "kn" of b
    OPS_COLUMNS, // "km" of a, "nk" of b
} ops_order;

// Matrices of equal shape. Element (z, i, j) is at [batch] · z + [pitch] · (i or j) + (j or i) elements.
typedef struct ops_matrices {
    char *data;    // the first element
    int64_t batch; // elements from one matrix to the next; 0: all are the same matrix
    int64_t pitch; // elements from one row, or column, to the next
    ops_order order;
} ops_matrices;

typedef struct ops_product {
    ops_matrices a, b, c, residual; // c and residual by rows; residual.data NULL: none
    int64_t batch, m, n, k;         // each of m, n, k at most OPS_MOST_EXTENT; batch, m, n at least 1
    const char *bias;               // n elements; NULL: none
    const float *a_scale, *b_scale; // NULL: 1
    double alpha;
    hds_activation activation;
    int schedule; // -1: chosen by the library
    void *workspace;
    int64_t workspace_bytes;
} ops_product;

// The kernels for operands of some types in some orders, compiled by hdsc from ops/matmul/library_*.hds (kernels.c).
// All support any pitch, any alignment of whole elements, and k = 0.
typedef struct ops_kernel ops_kernel;
struct ops_kernel {
    hdsrt_dtype a, b, c;
    hds_math math;
    ops_order a_order, b_order;
    // Enqueues the product. HDSRT_UNSUPPORTED if the requested schedule does not support it.
    hdsrt_status (*run)(const ops_kernel *self, const ops_product *p, hdsrt_stream stream);
    // The schedule that [run] chooses, and the bytes of workspace that it needs.
    hdsrt_status (*choose)(const ops_kernel *self, const ops_product *p, int *schedule, int64_t *workspace_bytes);
    int (*schedule_count)(const ops_kernel *self);
    const char *(*schedule_name)(const ops_kernel *self, int schedule); // valid until the thread's next call
};

// NULL: no such kernel.
const ops_kernel *ops_find_kernel(hdsrt_dtype a, hdsrt_dtype b, hdsrt_dtype c, hds_math math, ops_order a_order,
                                  ops_order b_order);

// ---- reading tensors (tensors.c) ----------------------------------------------------------------------------------

// The tensors of a call, checked, with all batch axes.
typedef struct ops_call {
    hdsrt_dtype a_type, b_type, c_type;
    ops_product product; // of the first matrices; batch is 1
    int axes;            // batch axes, outermost first
    int64_t extents[OPS_MOST_AXES];
    int64_t strides[4][OPS_MOST_AXES]; // of a, b, c, residual, in elements; 0 where one is repeated
    int element_bytes[4];
} ops_call;

// Checks tensors and options.
hdsrt_status ops_read_call(ops_call *call, const hdsrt_tensor *a, const hdsrt_tensor *b, const hdsrt_tensor *c,
                           const hds_matmul_options *options);

// The order and the pitch of matrices with these strides: sets [order] and [pitch] of [out]. Refuses matrices that are
// neither row-major nor column-major, or not row-major with [is_by_rows].
hdsrt_status ops_read_order(const char *where, const char *name, const hdsrt_tensor *tensor, const int64_t *strides,
                            bool is_by_rows, ops_matrices *out);

// ---- batches (batches.c) ------------------------------------------------------------------------------------------

// Merges batch axes that are contiguous like one, and moves rows of batches into m if b is the same for all. The rest
// is in call->axes, extents and strides. Afterwards each launch computes the last axis, with one launch for each index
// of the others.
void ops_join_batches(ops_call *call);
// The product number [index] of ops_launches(call).
ops_product ops_product_at(const ops_call *call, int64_t index);
int64_t ops_launches(const ops_call *call);

// ---- grouped rows (grouped.c)  -----------------------------------------------------------------------------------

// c[r] = a[r] · b[g] for the rows r of group g. a and c are one matrix each, by rows; b has one for each group.
typedef struct ops_grouped {
    ops_matrices a, b, c;
    const int32_t *offsets;  // groups + 1
    int64_t groups, m, n, k; // each at least 1 and at most OPS_MOST_EXTENT
    hdsrt_dtype type;        // of a, b and c: f16 or bf16
    int schedule;            // -1: chosen by the library
} ops_grouped;

// Enqueues it, if the current GPU supports it (kernels.c).
hdsrt_status ops_run_grouped(const ops_grouped *product, hdsrt_stream stream);

// What products and convolutions have in common among their options (tensors.c).
hdsrt_status ops_check_modes(const char *where, hds_activation activation, hds_math math);

// ---- convolutions (conv.c) ------------------------------------------------------------------------------------------

// Of images [images, groups · inputs, height, width], or with channels last. Numbers of pixels and of weights of a
// channel are at most OPS_MOST_EXTENT.
typedef struct ops_conv {
    const void *x, *w, *bias; // bias NULL: none
    void *y;
    hdsrt_dtype type; // f16, bf16 or f32
    hds_math math;    // of f32
    bool is_last;     // channels are the last axis of images and weights
    bool is_transposed;
    hds_activation activation;
    int64_t images, groups, inputs, outputs;   // inputs, outputs: channels of a group
    int64_t image[2], taps[2], result[2];      // height and width
    int64_t stride[2], before[2], dilation[2]; // before: elements of padding
} ops_conv;

// Enqueues it (conv_kernels.c). There is an element of y.
hdsrt_status ops_run_conv(const ops_conv *conv, hdsrt_stream stream);
