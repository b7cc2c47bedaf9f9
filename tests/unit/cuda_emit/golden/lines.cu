// examples/kernel.hds for sm_90, by hdsc 1.2.3, with -O2

// Out of line, so that a check costs its kernel a compare and a branch.
static __device__ __noinline__ void fail(const char *message)
{
    printf("%s\n", message);
    __trap();
}

#line 3 "lines.hir"
static __device__ __forceinline__ int lane_id()
{
    int result;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(result));
    return result;
}

#line 8 "lines.hir"
static __device__ __forceinline__ float half(float x)
{
#line 9
    return x * 0.5f;
}

// Shows locations.
#line 11
extern "C" __global__ void __launch_bounds__(32) lines(
    float *__restrict__ x,  // f32[n]
    int n)
{
#line 12
    int i = lane_id();

    if (i < n) {
#line 14
        x[i] = 1.0f;
    }
    int j = i + 1;
#line 20
    #pragma unroll
    for (int k = 0; k < n; k++) {
#line 21
        x[k] = half(x[j]);
    }
    if (j < 3) {
        x[0] = 0.0f;
    } else

    if (j < 4) {
        x[1] = 1.0f;
    } else {
        if (j != 5)
            fail("lines.hir:30: assertion failed: five");
    }
#line 32
    {
        while (n > j) {
            goto done;
        }
        x[2] = 2.0f;
    }
    done:;
}
