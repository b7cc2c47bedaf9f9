// Kernels that use registers, static shared memory, local arrays, calls and spills; all in one text.
#pragma once

static const char kernels[] =
    "extern \"C\" __global__ void small(float *x) { x[threadIdx.x] += 1.0f; }\n"
    "extern \"C\" __global__ void shared(float *x) { __shared__ float s[1000]; s[threadIdx.x] = x[threadIdx.x];\n"
    "    __syncthreads(); x[threadIdx.x] = s[999 - threadIdx.x]; }\n"
    "extern \"C\" __global__ void local(float *x, int i) { float t[64];\n"
    "    for (int k = 0; k < 64; k++) t[k] = x[k * i];\n"
    "    for (int k = 0; k < 64; k++) x[k] = t[(k * i) & 63]; }\n"
    "extern \"C\" __global__ void __launch_bounds__(1024, 2) spill(float *x) { float t[96];\n"
    "    _Pragma(\"unroll\") for (int k = 0; k < 96; k++) t[k] = x[k * 32 + threadIdx.x];\n"
    "    __syncthreads();\n"
    "    _Pragma(\"unroll\") for (int k = 0; k < 96; k++) x[k * 64 + threadIdx.x] = t[k] * t[95 - k]; }\n"
    "__device__ __noinline__ float helper(float *p, int n) { float t[32];\n"
    "    for (int i = 0; i < 32; i++) t[i] = p[i];\n"
    "    return t[n]; }\n"
    "extern \"C\" __global__ void calls(float *x, int i) { x[0] = helper(x, i) + helper(x + 32, i + 1); }\n";
