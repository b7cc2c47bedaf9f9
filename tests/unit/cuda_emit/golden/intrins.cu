template <typename T, int N> struct __align__(sizeof(T) * N) vec {
    T v[N];
};

struct f16 {
    unsigned short bits;
};

static __device__ __forceinline__ float to_float(f16 a)
{
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(a.bits));
    return result;
}

static __device__ __forceinline__ f16 to_f16(float a)
{
    f16 result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(a));
    return result;
}

struct f8e4m3 {
    unsigned char bits;
};

static __device__ __forceinline__ int lane_id()
{
    int result;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(result));
    return result;
}

static __device__ __forceinline__ float accumulate(float x)
{
    float result;
    asm("{ .reg .f32 t;\n"
        "  add.f32 t, %1, 0f3f800000;\n"
        "  mov.f32 %0, t; }"
        : "=f"(result)
        : "f"(x));
    return result;
}

template <int n> static __device__ __forceinline__ void setmaxnreg()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(n) : "memory");
}

static __device__ __forceinline__ void bar(int id, int n)
{
    asm volatile("barrier.cta.sync %0, %1;" :: "r"(id), "r"(n) : "memory");
}

static __device__ __forceinline__ void fence()
{
    asm volatile("fence.proxy.async;" ::: "memory");
}

static __device__ __forceinline__ int load_flag(const int *p)
{
    int result;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(result) : "l"(p) : "memory");
    return result;
}

static __device__ __forceinline__ bool vote(bool x)
{
    unsigned int result;
    asm volatile("{ .reg .pred p, q;\n"
        " setp.ne.b32 p, %1, 0;\n"
        " vote.sync.any.pred q, p, -1;\n"
        " selp.b32 %0, 1, 0, q; }"
        : "=r"(result)
        : "r"((unsigned int)x));
    return result != 0;
}

static __device__ __forceinline__ vec<f8e4m3, 4> cvt_e4m3x4(unsigned int x)
{
    vec<f8e4m3, 4> result;
    asm("mov.b32 %0, %1;"
        : "=r"(reinterpret_cast<unsigned int *>(result.v)[0])
        : "r"(x));
    return result;
}

static __device__ __forceinline__ void split(unsigned int *lo, unsigned int x)
{
    asm("{ .reg .b64 t; mov.b64 t, {%2, %2}; mov.b64 {%0, %1}, t; }"
        : "+r"(lo[0]), "+r"(lo[1])
        : "r"(x));
}

static __device__ __forceinline__ float scale(vec<float, 2> d, float by)
{
    float result;
    asm("{ .reg .b64 t; mov.b64 t, {%1, %2}; mul.f32 %0, %3, %3; }"
        : "=f"(result)
        : "f"(d.v[0]), "f"(d.v[1]), "f"(by));
    return result;
}

extern "C" __global__ void __launch_bounds__(32, 1) others(
    float *x,                             // f32[64]
    const int *__restrict__ flags,        // i32[4]
    f16 *h,                               // f16[4]
    unsigned int *u,                      // u32[4]
    vec<f8e4m3, 4> *o,                    // f8e4m3x4[1]
    const vec<float, 2> *__restrict__ d)  // f32x2[2]
{
    int me = lane_id();
    x[me] = accumulate(x[me]) * 2.0f;
    x[0] = __shfl_xor_sync(0xffffffffu, x[0] + 1.0f, me / 2);
    x[1] = ((x[1] + 2.0f) + (x[1] + 2.0f)) * 3.0f;
    setmaxnreg<40>();
    bar(1, me + 32);
    fence();
    int seen = load_flag(&flags[1]);
    bool any = vote(me == seen);
    if (any && vote(true)) {
        asm volatile("prefetch.global.L2 [%0];" :: "l"(&x[4]));
        float old = atomicAdd(&x[5], 1.0f);
        x[6] = old;
    }
    h[0] = to_f16(sqrtf(to_float(h[1])));
    o[0] = cvt_e4m3x4(u[0]);
    unsigned int halves[2] = {};
    split(halves, u[1]);
    u[2] = halves[0];
    x[7] = scale(d[0], 2.0f);
}
