// From variants.hds, for sm_80, sm_90a, by hdsc 1.2.3, with -D N=4
//
// Tensors are addresses on the GPU: multiples of 16, row-major without gaps, if nothing else is said below. One that is
// written overlaps no other.
// Of types that C lacks (f16, bf16, fp8, complex64, vectors, fewer than 8 bits) they are void pointers.
//
// What returns an hdsrt_status checks its arguments, puts its work into the stream and returns. HDSRT_INVALID_ARGUMENT:
// what is said below does not hold, and nothing was launched; see <hds/runtime.h> for the other values, and
// hdsrt_last_error() for a text. Extents are not negative; a tensor without elements may be NULL. Of each such function
// NAME, NAME_call takes the arguments in a struct, and NAME_dlpack takes tensors over DLPack and compares their shapes.
#ifndef VARIANTS_H
#define VARIANTS_H

#include <hds/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

// same
//
//     x  f32[4], written
//
// Grid: 1; block: 32
typedef struct same_args {
    float *x;
} same_args;

hdsrt_status same(float *x, hdsrt_stream stream);
hdsrt_status same_call(const same_args *args, hdsrt_stream stream);
hdsrt_status same_dlpack(const hdsrt_tensor *x, hdsrt_stream stream);

// differs
//
//     x  f32[n], written
//     n  i32
//
// Grid: floor_div(n + 63, 64); block: 64; dynamic shared memory: 4096 bytes
typedef struct differs_args {
    float *x;
    int32_t n;
} differs_args;

hdsrt_status differs(float *x, int32_t n, hdsrt_stream stream);
hdsrt_status differs_call(const differs_args *args, hdsrt_stream stream);
hdsrt_status differs_dlpack(const hdsrt_tensor *x, hdsrt_stream stream);

// uses
//
//     x  f32[n], written
//     n  i32
typedef struct uses_args {
    float *x;
    int32_t n;
} uses_args;

hdsrt_status uses(float *x, int32_t n, hdsrt_stream stream);
hdsrt_status uses_call(const uses_args *args, hdsrt_stream stream);
hdsrt_status uses_dlpack(const hdsrt_tensor *x, hdsrt_stream stream);

// newer
//
//     x  f32[4], written
//
// Grid: 1; block: 32
typedef struct newer_args {
    float *x;
} newer_args;

hdsrt_status newer(float *x, hdsrt_stream stream);
hdsrt_status newer_call(const newer_args *args, hdsrt_stream stream);
hdsrt_status newer_dlpack(const hdsrt_tensor *x, hdsrt_stream stream);

#ifdef __cplusplus
}
#endif
#endif
