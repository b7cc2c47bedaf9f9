// Out of line, so that a check costs its kernel a compare and a branch.
static __device__ __noinline__ void fail(const char *message)
{
    printf("%s\n", message);
    __trap();
}

// The remainder that goes with the quotient rounded down: it has the sign of b.
static __host__ __device__ __forceinline__ int floor_mod(int a, int b)
{
    int rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

struct f16 {
    unsigned short bits;
};

static __device__ __forceinline__ float to_float(f16 a)
{
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(a.bits));
    return result;
}

extern "C" __global__ void __launch_bounds__(32) checks(
    float *__restrict__ x,      // f32[n]
    const f16 *__restrict__ h,  // f16[4]
    int n, long long k, unsigned int u, unsigned char b, bool f, unsigned long long l)
{
    if (n >= 100)
        fail("checks.hir:4: assertion failed: n is \"small\"");
    if (!(x[0] < 1.0f))
        fail("checks.hir:5: assertion failed");
    if (!f)
        fail("checks.hir:6: assertion failed: 100%");
    if (!(!f && n == 3))
        fail("checks.hir:7: assertion failed: both");
    __builtin_assume(n > 0);
    __builtin_assume(floor_mod(n, 4) == 0);
    printf("hello\n");
    printf("%d %lld %u %llu %f %f %s %c %p %x 100%%\n", n, k, u, l, x[0], to_float(h[1]), "text", b, x, (unsigned int)n);
    printf("%lld %d %f %hhu %d\n", (long long)n, b, (double)n, b, f);
    printf("%d %d\n", threadIdx.x, 7);
    // two lines
    // of remarks \.
}
