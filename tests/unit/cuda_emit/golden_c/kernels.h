// From kernels.hds, for sm_90a, by hdsc 1.2.3, with -D N=4
//
// Tensors are addresses on the GPU: multiples of 16, row-major without gaps, if nothing else is said below. One that is
// written overlaps no other.
// Of types that C lacks (f16, bf16, fp8, complex64, vectors, fewer than 8 bits) they are void pointers.
//
// What returns an hdsrt_status checks its arguments, puts its work into the stream and returns. HDSRT_INVALID_ARGUMENT:
// what is said below does not hold, and nothing was launched; see <hds/runtime.h> for the other values, and
// hdsrt_last_error() for a text. Extents are not negative; a tensor without elements may be NULL. Of each such function
// NAME, NAME_call takes the arguments in a struct, and NAME_dlpack takes tensors over DLPack and compares their shapes.
#ifndef KERNELS_H
#define KERNELS_H

#include <hds/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

// plain
//
// Scales x.
// In place.
//
//     s  f32
//     x  f32[n], written
//     n  i32
//
// Grid: floor_div(n + 255, 256); block: 256
typedef struct plain_args {
    float s;
    float *x;
    int32_t n;
} plain_args;

hdsrt_status plain(float s, float *x, int32_t n, hdsrt_stream stream);
hdsrt_status plain_call(const plain_args *args, hdsrt_stream stream);
hdsrt_status plain_dlpack(float s, const hdsrt_tensor *x, hdsrt_stream stream);

// assuming
//
//     x  f32[n, 8], written
//     y  f16[2 * n + 1], read, at a multiple of 128
//     n  i32
//     k  i32, at least 1, at most 64, a multiple of 4
//
// Assumes: n % 8 == 0
//
// Grid: min(n, 1056) x (k / 4); block: 32 x 8; dynamic shared memory: 65536 + k * 4 bytes
// May start before the previous kernel of the stream ends (PDL), and waits for it.
typedef struct assuming_args {
    float *x;
    const void *y;
    int32_t n;
    int32_t k;
} assuming_args;

hdsrt_status assuming(float *x, const void *y, int32_t n, int32_t k, hdsrt_stream stream);
hdsrt_status assuming_call(const assuming_args *args, hdsrt_stream stream);
hdsrt_status assuming_dlpack(const hdsrt_tensor *x, const hdsrt_tensor *y, int32_t k, hdsrt_stream stream);

// any_block
//
//     p  the address of f32 on the GPU
//     z  complex64
//     v  f32x4
//     c  i32
//     d  i64
//
// Grid: floor_div(d, (int64_t)c) x (d * d); block: threads_for(c); cluster: c
typedef struct any_block_args {
    float *p;
    float z[2];
    float v[4];
    int32_t c;
    int64_t d;
} any_block_args;

hdsrt_status any_block(float *p, const float z[2], const float v[4], int32_t c, int64_t d, hdsrt_stream stream);
hdsrt_status any_block_call(const any_block_args *args, hdsrt_stream stream);

// mapped
//
//     a  bf16[m, k], read
//     c  f32[m], written
//     m  i32
//     k  i32
//
// Grid: m; block: 32
typedef struct mapped_args {
    const void *a;
    float *c;
    int32_t m;
    int32_t k;
} mapped_args;

hdsrt_status mapped(const void *a, float *c, int32_t m, int32_t k, hdsrt_stream stream);
hdsrt_status mapped_call(const mapped_args *args, hdsrt_stream stream);
hdsrt_status mapped_dlpack(const hdsrt_tensor *a, const hdsrt_tensor *c, hdsrt_stream stream);

// paired
//
//     x      i4[n], read
//     new_1  bool[n], written
//     n      i64
//
// Grid: (int32_t)floor_div(n + 7, 8LL); block: 32; cluster: 2
typedef struct paired_args {
    const void *x;
    bool *new_1;
    int64_t n;
} paired_args;

hdsrt_status paired(const void *x, bool *new_1, int64_t n, hdsrt_stream stream);
hdsrt_status paired_call(const paired_args *args, hdsrt_stream stream);
hdsrt_status paired_dlpack(const hdsrt_tensor *x, const hdsrt_tensor *new_1, hdsrt_stream stream);

// nothing
//
// Grid: 1; block: 32
typedef struct nothing_args {
    char unused;
} nothing_args;

hdsrt_status nothing(hdsrt_stream stream);
hdsrt_status nothing_call(const nothing_args *args, hdsrt_stream stream);

#ifdef __cplusplus
}
#endif
#endif
