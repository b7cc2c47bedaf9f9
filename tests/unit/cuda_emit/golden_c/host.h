// From host.hds, for sm_90, by hdsc 1.2.3, with -D N=4
//
// Tensors are addresses on the GPU: multiples of 16, row-major without gaps, if nothing else is said below. One that is
// written overlaps no other.
// Of types that C lacks (f16, bf16, fp8, complex64, vectors, fewer than 8 bits) they are void pointers.
//
// What returns an hdsrt_status checks its arguments, puts its work into the stream and returns. HDSRT_INVALID_ARGUMENT:
// what is said below does not hold, and nothing was launched; see <hds/runtime.h> for the other values, and
// hdsrt_last_error() for a text. Extents are not negative; a tensor without elements may be NULL. Of each such function
// NAME, NAME_call takes the arguments in a struct, and NAME_dlpack takes tensors over DLPack and compares their shapes.
#ifndef HOST_H
#define HOST_H

#include <hds/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

// inner_kernel
//
//     x  f32[n], written
//     n  i32
//
// Grid: n; block: 32
typedef struct inner_kernel_args {
    float *x;
    int32_t n;
} inner_kernel_args;

hdsrt_status inner_kernel(float *x, int32_t n, hdsrt_stream stream);
hdsrt_status inner_kernel_call(const inner_kernel_args *args, hdsrt_stream stream);
hdsrt_status inner_kernel_dlpack(const hdsrt_tensor *x, hdsrt_stream stream);

// scale
//
//     x  f32[n], read
//     y  f32[n], written
//     n  i32
//     v  bf16, as its bits
//
// Grid: floor_div(n + 255, 256); block: 256
typedef struct scale_args {
    const float *x;
    float *y;
    int32_t n;
    uint16_t v;
} scale_args;

hdsrt_status scale(const float *x, float *y, int32_t n, uint16_t v, hdsrt_stream stream);
hdsrt_status scale_call(const scale_args *args, hdsrt_stream stream);
hdsrt_status scale_dlpack(const hdsrt_tensor *x, const hdsrt_tensor *y, uint16_t v, hdsrt_stream stream);

// rows_of
//
//     n      i32
//     parts  i32
int32_t rows_of(int32_t n, int32_t parts);

// run
//
// Runs it all.
//
//     x      f32[m, n], written
//     out    f32[n], written
//     h      f16[n], read
//     m      i32
//     n      i32
//     v      bf16, as its bits
//     turns  i32
//     f      f32
//
// Workspace: at most m * n * 4 + 64 + n * 2 * 2 bytes on the GPU
// Fails with HDSRT_ASSERTION where an assert of it does not hold.
typedef struct run_args {
    float *x;
    float *out;
    const void *h;
    int32_t m;
    int32_t n;
    uint16_t v;
    int32_t turns;
    float f;
} run_args;

hdsrt_status run(float *x, float *out, const void *h, int32_t m, int32_t n, uint16_t v, int32_t turns, float f,
                 hdsrt_stream stream);
hdsrt_status run_call(const run_args *args, hdsrt_stream stream);
hdsrt_status run_dlpack(const hdsrt_tensor *x, const hdsrt_tensor *out, const hdsrt_tensor *h, uint16_t v,
                        int32_t turns, float f, hdsrt_stream stream);

#ifdef __cplusplus
}
#endif
#endif
