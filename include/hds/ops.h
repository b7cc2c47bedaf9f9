// libhdsops: precompiled operators, called with DLPack tensors.
//
//     hds_matmul_options options = HDS_MATMUL_OPTIONS;
//     options.bias = &bias;
//     options.activation = HDS_ACTIVATION_GELU;
//     if (hds_matmul(&a, &b, &c, &options, stream) != HDSRT_OK)   // c = gelu(a · b + bias)
//         fprintf(stderr, "%s\n", hdsrt_last_error());
//
// Functions enqueue work on the stream and return. As in libhdsrt (hds/runtime.h), they may be called from any thread
// and print nothing; a failure leaves results unchanged and sets hdsrt_last_error(). They allocate no GPU memory.
#ifndef HDS_OPS_H
#define HDS_OPS_H

#include "hds/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// "0.1.0"
HDSRT_API const char *hds_ops_version(void);

// The function applied to an element x of the product before the residual is added.
typedef enum hds_activation {
    HDS_ACTIVATION_NONE = 0,
    HDS_ACTIVATION_RELU,      // max(x, 0)
    HDS_ACTIVATION_GELU,      // x · Φ(x), by erf
    HDS_ACTIVATION_GELU_TANH, // the tanh approximation, as in cublasLt and GPT-2
    HDS_ACTIVATION_SILU       // x / (1 + exp(−x))
} hds_activation;

// How f32 operands are multiplied.
typedef enum hds_math {
    HDS_MATH_EXACT = 0, // as f32
    HDS_MATH_TF32       // rounded to tf32 (10 fraction bits), on tensor cores
} hds_math;

// Initialise with HDS_MATMUL_OPTIONS, so that members added later get their defaults.
typedef struct hds_matmul_options {
    size_t bytes;                // sizeof this struct in the caller
    double alpha;                // 1
    const hdsrt_tensor *a_scale; // one f32 in GPU memory, by which a is multiplied; NULL: 1
    const hdsrt_tensor *b_scale;
    const hdsrt_tensor *bias;     // n elements of c's type, added to each row; NULL: none
    const hdsrt_tensor *residual; // of c's shape and type, added last; must not be c; NULL: none
    hds_activation activation;
    hds_math math;
    int schedule; // a number below hds_matmul_schedules(), for tests and tuning; -1: chosen by shape and GPU
    // GPU memory aligned to 256 bytes that products in other streams do not use at the same time; it need not be
    // initialised. NULL: schedules that need a workspace are not chosen.
    void *workspace;
    int64_t workspace_bytes;
} hds_matmul_options;

#define HDS_MATMUL_OPTIONS                                                                                             \
    {                                                                                                                  \
        sizeof(hds_matmul_options), 1.0, 0, 0, 0, 0, HDS_ACTIVATION_NONE, HDS_MATH_EXACT, -1, 0, 0                     \
    }

// c = activation(alpha · a_scale · b_scale · (a · b) + bias) + residual, where a is [..., m, k], b [..., k, n] and c
// [..., m, n]. Leading dimensions are batch dimensions and are broadcast as in NumPy; c has the full shape. Any extent
// may be 0; with k = 0 the product is 0.
//
// types    a and b        c              sums in
//          f16            f16, f32       f32
//          bf16           bf16, f32      f32
//          f32            f32            f32
//          f64            f64            f64
//          f8e4m3         f16, bf16, f32 f32
//          f8e5m2·f8e4m3  f16, bf16      f32    (a row-major, b column-major)
//          i8             i32            i32    (no options but schedule)
//
// Batch strides are arbitrary. Of the last two dimensions of a and b, one has stride 1 and the other a stride of at
// least the first one's extent; matrices of c are row-major. Rows may be padded and need no alignment. c must not
// overlap other tensors.
//
// HDSRT_INVALID_ARGUMENT if a precondition is violated; HDSRT_UNSUPPORTED if no kernel of the library supports these
// types or options on this GPU; otherwise as for launches. [options] NULL: the plain product.
HDSRT_API hdsrt_status hds_matmul(const hdsrt_tensor *a, const hdsrt_tensor *b, hdsrt_tensor *c,
                                  const hds_matmul_options *options, hdsrt_stream stream);

// The plan of hds_matmul() for the same arguments: the index of the schedule that it would choose, and the workspace in
// bytes that a faster schedule, or the one in the options, needs; 0 if none. Does the same checks and launches
// nothing. *schedule is -1 if there is nothing to do.
HDSRT_API hdsrt_status hds_matmul_plan(const hdsrt_tensor *a, const hdsrt_tensor *b, const hdsrt_tensor *c,
                                       const hds_matmul_options *options, int *schedule, int64_t *workspace_bytes);

// The number of schedules for products of these types, and their names ("hopper 128x256x3"). A name is valid until the
// thread's next call.
HDSRT_API int hds_matmul_schedules(hdsrt_dtype a, hdsrt_dtype b, hdsrt_dtype c, hds_math math);
HDSRT_API const char *hds_matmul_schedule_name(hdsrt_dtype a, hdsrt_dtype b, hdsrt_dtype c, hds_math math,
                                               int schedule);

// Rows in groups (mixture of experts): c[r] = a[r] · b[g] for offsets[g] <= r < offsets[g + 1], where a is [m, k], b
// [groups, k, n], c [m, n], and offsets [groups + 1] i32 in GPU memory: the first is 0, the last m, and they are
// non-decreasing, which is not checked. Groups may be empty. All tensors are f16 or all bf16; sums are in f32.
//
// a and c are row-major, and of the last two dimensions of b one has stride 1. Rows may be padded; rows of a, and rows
// or columns of b, are aligned to 16 bytes. Needs compute capability 9.0 and k >= 1.
//
// Of the options only [schedule] may differ from HDS_MATMUL_OPTIONS: 0 for tiles of 128 × 128, 1 for 64 × 64, 2 for 64
// × 64 with unaligned rows of c (the others need rows aligned to 16 bytes and a multiple of 16 bytes long); -1: chosen.
// NULL: as HDS_MATMUL_OPTIONS.
HDSRT_API hdsrt_status hds_matmul_grouped(const hdsrt_tensor *a, const hdsrt_tensor *b, const hdsrt_tensor *offsets,
                                          hdsrt_tensor *c, const hds_matmul_options *options, hdsrt_stream stream);

// ---- convolution ---------------------------------------------------------------------------------------------------

// Where channels are, in images and in weights.
typedef enum hds_layout {
    HDS_LAYOUT_CHANNELS_FIRST = 0, // NCHW: x [N, C, H, W], w [K, C / groups, R, S], y [N, K, P, Q]
    HDS_LAYOUT_CHANNELS_LAST       // NHWC: x [N, H, W, C], w [K, R, S, C / groups], y [N, P, Q, K]
} hds_layout;

// Initialise with HDS_CONV_OPTIONS, so that members added later get their defaults. Arrays have a number for height and
// one for width; one-dimensional convolutions read the first one.
typedef struct hds_conv_options {
    size_t bytes; // sizeof this struct in the caller
    hds_layout layout;
    int32_t stride[2];                           // 1 and more
    int32_t padding_before[2], padding_after[2]; // zeros above and left, below and right
    int32_t dilation[2];                         // distance of a window's elements, 1 and more
    int32_t groups;                              // divides C and K; depthwise: C
    const hdsrt_tensor *bias;                    // K elements of y's type; NULL: none
    hds_activation activation;
    hds_math math; // of f32
} hds_conv_options;

#define HDS_CONV_OPTIONS                                                                                               \
    {                                                                                                                  \
        sizeof(hds_conv_options), HDS_LAYOUT_CHANNELS_FIRST, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1, 0,                     \
            HDS_ACTIVATION_NONE, HDS_MATH_EXACT                                                                        \
    }

// y = activation(x * w + bias): y[n, k, p, q] sums x[n, c, p · stride - before + r · dilation, …] · w[k, c, r, s] over
// the channels c of k's group and the elements (r, s) of a window; x is 0 outside of its image. P = (H + before + after
// - dilation · (R - 1) - 1) / stride + 1, rounded down, is at least 1.
//
// hds_conv1d()   the same of rows: without H, P and R
// hds_conv_transpose2d(), …1d()   the gradient of a convolution by its image: w is [C, K / groups, R, S], or [C, R, S,
//                K / groups] with channels last; P is from (H - 1) · stride - before - after + dilation · (R - 1) + 1
//                on, less than max(stride, dilation) more
//
// All tensors are f16, bf16 or f32, and contiguous; x, w and y begin at multiples of 16 bytes. Sums are in f32; f32 is
// multiplied as [math] says, exactly by transposed convolutions. There may be no images, channels or pixels; a window
// has an element or more. y must not overlap other tensors.
//
// HDSRT_INVALID_ARGUMENT if a precondition is violated; HDSRT_UNSUPPORTED for other types, and from 2^31 - 2^16 pixels
// of y, weights of a channel, or channels of all images on; otherwise as for launches. [options] NULL: the defaults.
HDSRT_API hdsrt_status hds_conv1d(const hdsrt_tensor *x, const hdsrt_tensor *w, hdsrt_tensor *y,
                                  const hds_conv_options *options, hdsrt_stream stream);
HDSRT_API hdsrt_status hds_conv2d(const hdsrt_tensor *x, const hdsrt_tensor *w, hdsrt_tensor *y,
                                  const hds_conv_options *options, hdsrt_stream stream);
HDSRT_API hdsrt_status hds_conv_transpose1d(const hdsrt_tensor *x, const hdsrt_tensor *w, hdsrt_tensor *y,
                                            const hds_conv_options *options, hdsrt_stream stream);
HDSRT_API hdsrt_status hds_conv_transpose2d(const hdsrt_tensor *x, const hdsrt_tensor *w, hdsrt_tensor *y,
                                            const hds_conv_options *options, hdsrt_stream stream);

#ifdef __cplusplus
}
#endif
#endif
