// The functions compiled from ops/conv/library_*.hds, by types and layouts. They choose among their kernels by
// themselves (ops/conv/library.hds).
#include "ops/product.h"

#include "library_conv_bf16.h"
#include "library_conv_f16.h"
#include "library_conv_f32.h"
#include "library_conv_tf32.h"

enum { SM_COUNT = 16 }; // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT

// All take the same arguments, but each has its own struct in C. An omitted bias has no elements.
#define ARGUMENTS(c)                                                                                                   \
    .x = (c)->x, .w = (c)->w, .bias = (c)->bias, .y = (c)->y, .stride_h = (int32_t)(c)->stride[0],                     \
    .stride_w = (int32_t)(c)->stride[1], .before_h = (int32_t)(c)->before[0], .before_w = (int32_t)(c)->before[1],     \
    .dilation_h = (int32_t)(c)->dilation[0], .dilation_w = (int32_t)(c)->dilation[1],                                  \
    .activation = (int32_t)(c)->activation, .N = (int32_t)(c)->images, .G = (int32_t)(c)->groups,                      \
    .C = (int32_t)(c)->inputs, .K = (int32_t)(c)->outputs, .H = (int32_t)(c)->image[0], .W = (int32_t)(c)->image[1],   \
    .R = (int32_t)(c)->taps[0], .S = (int32_t)(c)->taps[1], .P = (int32_t)(c)->result[0],                              \
    .Q = (int32_t)(c)->result[1], .BIAS = (c)->bias ? (int32_t)((c)->groups * (c)->outputs) : 0

#define CONVOLVED(name)                                                                                                \
    static hdsrt_status run_##name(const ops_conv *c, int sm_count, hdsrt_stream stream)                               \
    {                                                                                                                  \
        return ops_conv_##name##_call(&(ops_conv_##name##_args){ARGUMENTS(c), .sm_count = sm_count}, stream);          \
    }
#define TRANSPOSED(name)                                                                                               \
    static hdsrt_status run_transpose_##name(const ops_conv *c, hdsrt_stream stream)                                   \
    {                                                                                                                  \
        return ops_conv_transpose_##name##_call(&(ops_conv_transpose_##name##_args){ARGUMENTS(c)}, stream);            \
    }

CONVOLVED(f16_nchw)
CONVOLVED(f16_nhwc)
CONVOLVED(bf16_nchw)
CONVOLVED(bf16_nhwc)
CONVOLVED(f32_nchw)
CONVOLVED(f32_nhwc)
CONVOLVED(tf32_nchw)
CONVOLVED(tf32_nhwc)
TRANSPOSED(f16_nchw)
TRANSPOSED(f16_nhwc)
TRANSPOSED(bf16_nchw)
TRANSPOSED(bf16_nhwc)
TRANSPOSED(f32_nchw)
TRANSPOSED(f32_nhwc)

enum { F16, BF16, F32, TF32, KINDS };

static int kind_of(const ops_conv *c)
{
    bool is_half = c->type.bits == 16;
    return is_half ? (c->type.code == 4 ? BF16 : F16) : c->math == HDS_MATH_TF32 ? TF32 : F32;
}

hdsrt_status ops_run_conv(const ops_conv *c, hdsrt_stream stream)
{
    static hdsrt_status (*const convolved[KINDS][2])(const ops_conv *, int, hdsrt_stream) = {
        {run_f16_nchw, run_f16_nhwc},
        {run_bf16_nchw, run_bf16_nhwc},
        {run_f32_nchw, run_f32_nhwc},
        {run_tf32_nchw, run_tf32_nhwc},
    };
    static hdsrt_status (*const transposed[TF32][2])(const ops_conv *, hdsrt_stream) = {
        {run_transpose_f16_nchw, run_transpose_f16_nhwc},
        {run_transpose_bf16_nchw, run_transpose_bf16_nhwc},
        {run_transpose_f32_nchw, run_transpose_f32_nhwc},
    };
    int sm_count;
    if (c->is_transposed)
        return transposed[kind_of(c)][c->is_last](c, stream);
    hdsrt_status status = hdsrt_device_attribute(&sm_count, SM_COUNT);
    return status ? status : convolved[kind_of(c)][c->is_last](c, sm_count, stream);
}
