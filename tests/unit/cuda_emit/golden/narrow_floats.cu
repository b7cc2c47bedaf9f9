// The quotient rounded down. It is found from the exact remainder, since a / b may round up to the next integer.
static __host__ __device__ __forceinline__ float floor_div(float a, float b)
{
    if (b == 0.0f)
        return a / b;
    float rest = fmodf(a, b);
    float quotient = (a - rest) / b;
    if (rest != 0.0f && (rest < 0.0f) != (b < 0.0f))
        quotient -= 1.0f;
    if (quotient == 0.0f)
        return copysignf(0.0f, a / b);
    float whole = floorf(quotient);
    return quotient - whole > 0.5f ? whole + 1.0f : whole;
}

// The remainder that goes with the quotient rounded down: it has the sign of b, also where it is 0.
static __host__ __device__ __forceinline__ float floor_mod(float a, float b)
{
    float rest = fmodf(a, b);
    if (rest == 0.0f)
        return copysignf(0.0f, b);
    return (rest < 0.0f) != (b < 0.0f) ? rest + b : rest;
}

// The same bits as another type of the same size.
template <typename To, typename From> static __host__ __device__ __forceinline__ To bit_cast(From value)
{
    static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
    union both {
        From from;
        To to;
        __host__ __device__ both() {}
    } bits;
    bits.from = value;
    return bits.to;
}

// Rounds to odd, so that a second rounding to a narrower type is as good as a single one.
static __device__ __forceinline__ float to_float_odd(double a)
{
    float rounded = __double2float_rz(a);
    return (double)rounded == a ? rounded : __uint_as_float(__float_as_uint(rounded) | 1u);
}

// Rounds to odd, so that a second rounding to a narrower type is as good as a single one.
static __device__ __forceinline__ float to_float_odd(long long a)
{
    float rounded = __ll2float_rz(a);
    return (long long)rounded == a ? rounded : __uint_as_float(__float_as_uint(rounded) | 1u);
}

// Rounds to odd, so that a second rounding to a narrower type is as good as a single one.
static __device__ __forceinline__ float to_float_odd(unsigned long long a)
{
    float rounded = __ull2float_rz(a);
    return (unsigned long long)rounded == a ? rounded : __uint_as_float(__float_as_uint(rounded) | 1u);
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

static __device__ __forceinline__ f16 to_f16(float a)
{
    f16 result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(a));
    return result;
}

static __device__ __forceinline__ f16 to_f16(double a)
{
    f16 result;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(result.bits) : "d"(a));
    return result;
}

static __device__ __forceinline__ f16 to_f16(int a)
{
    f16 result;
    asm("cvt.rn.f16.s32 %0, %1;" : "=h"(result.bits) : "r"(a));
    return result;
}

static __device__ __forceinline__ f16 to_f16(unsigned int a)
{
    f16 result;
    asm("cvt.rn.f16.u32 %0, %1;" : "=h"(result.bits) : "r"(a));
    return result;
}

static __device__ __forceinline__ f16 to_f16(long long a)
{
    f16 result;
    asm("cvt.rn.f16.s64 %0, %1;" : "=h"(result.bits) : "l"(a));
    return result;
}

static __device__ __forceinline__ f16 to_f16(unsigned long long a)
{
    f16 result;
    asm("cvt.rn.f16.u64 %0, %1;" : "=h"(result.bits) : "l"(a));
    return result;
}

static __device__ __forceinline__ f16 operator-(f16 a)
{
    return f16{(unsigned short)(a.bits ^ 0x8000)};
}

static __device__ __forceinline__ f16 operator+(f16 a, f16 b)
{
    f16 result;
    asm("add.f16 %0, %1, %2;" : "=h"(result.bits) : "h"(a.bits), "h"(b.bits));
    return result;
}

static __device__ __forceinline__ f16 operator-(f16 a, f16 b)
{
    f16 result;
    asm("sub.f16 %0, %1, %2;" : "=h"(result.bits) : "h"(a.bits), "h"(b.bits));
    return result;
}

static __device__ __forceinline__ f16 operator*(f16 a, f16 b)
{
    f16 result;
    asm("mul.f16 %0, %1, %2;" : "=h"(result.bits) : "h"(a.bits), "h"(b.bits));
    return result;
}

static __device__ __forceinline__ f16 operator/(f16 a, f16 b)
{
    return to_f16(to_float(a) / to_float(b));
}

static __device__ __forceinline__ f16 min(f16 a, f16 b)
{
    f16 result;
    asm("min.f16 %0, %1, %2;" : "=h"(result.bits) : "h"(a.bits), "h"(b.bits));
    return result;
}

static __device__ __forceinline__ f16 max(f16 a, f16 b)
{
    f16 result;
    asm("max.f16 %0, %1, %2;" : "=h"(result.bits) : "h"(a.bits), "h"(b.bits));
    return result;
}

static __device__ __forceinline__ f16 floor_div(f16 a, f16 b)
{
    return to_f16(floor_div(to_float(a), to_float(b)));
}

static __device__ __forceinline__ f16 floor_mod(f16 a, f16 b)
{
    return to_f16(floor_mod(to_float(a), to_float(b)));
}

static __device__ __forceinline__ bool operator==(f16 a, f16 b)
{
    return to_float(a) == to_float(b);
}

static __device__ __forceinline__ bool operator!=(f16 a, f16 b)
{
    return to_float(a) != to_float(b);
}

static __device__ __forceinline__ bool operator<(f16 a, f16 b)
{
    return to_float(a) < to_float(b);
}

static __device__ __forceinline__ bool operator<=(f16 a, f16 b)
{
    return to_float(a) <= to_float(b);
}

static __device__ __forceinline__ bool operator>(f16 a, f16 b)
{
    return to_float(a) > to_float(b);
}

static __device__ __forceinline__ bool operator>=(f16 a, f16 b)
{
    return to_float(a) >= to_float(b);
}

struct bf16 {
    unsigned short bits;
};

static __device__ __forceinline__ float to_float(bf16 a)
{
    return __uint_as_float((unsigned int)a.bits << 16);
}

static __device__ __forceinline__ bf16 to_bf16(float a)
{
    bf16 result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(a));
    return result;
}

static __device__ __forceinline__ bf16 to_bf16(double a)
{
    return to_bf16(to_float_odd(a));
}

static __device__ __forceinline__ bf16 to_bf16(long long a)
{
    return to_bf16(to_float_odd(a));
}

static __device__ __forceinline__ bf16 to_bf16(unsigned long long a)
{
    return to_bf16(to_float_odd(a));
}

static __device__ __forceinline__ bf16 operator-(bf16 a)
{
    return bf16{(unsigned short)(a.bits ^ 0x8000)};
}

static __device__ __forceinline__ bf16 operator+(bf16 a, bf16 b)
{
    bf16 result;
    asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(result.bits) : "h"(a.bits), "h"((unsigned short)0x3f80), "h"(b.bits));
    return result;
}

static __device__ __forceinline__ bf16 operator-(bf16 a, bf16 b)
{
    bf16 result;
    asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(result.bits) : "h"(b.bits), "h"((unsigned short)0xbf80), "h"(a.bits));
    return result;
}

static __device__ __forceinline__ bf16 operator*(bf16 a, bf16 b)
{
    bf16 result;
    asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(result.bits) : "h"(a.bits), "h"(b.bits), "h"((unsigned short)0x8000));
    return result;
}

static __device__ __forceinline__ bf16 operator/(bf16 a, bf16 b)
{
    return to_bf16(to_float(a) / to_float(b));
}

static __device__ __forceinline__ bf16 min(bf16 a, bf16 b)
{
    bf16 result;
    asm("min.bf16 %0, %1, %2;" : "=h"(result.bits) : "h"(a.bits), "h"(b.bits));
    return result;
}

static __device__ __forceinline__ bf16 max(bf16 a, bf16 b)
{
    bf16 result;
    asm("max.bf16 %0, %1, %2;" : "=h"(result.bits) : "h"(a.bits), "h"(b.bits));
    return result;
}

static __device__ __forceinline__ bf16 floor_div(bf16 a, bf16 b)
{
    return to_bf16(floor_div(to_float(a), to_float(b)));
}

static __device__ __forceinline__ bf16 floor_mod(bf16 a, bf16 b)
{
    return to_bf16(floor_mod(to_float(a), to_float(b)));
}

static __device__ __forceinline__ bool operator==(bf16 a, bf16 b)
{
    return to_float(a) == to_float(b);
}

static __device__ __forceinline__ bool operator!=(bf16 a, bf16 b)
{
    return to_float(a) != to_float(b);
}

static __device__ __forceinline__ bool operator<(bf16 a, bf16 b)
{
    return to_float(a) < to_float(b);
}

static __device__ __forceinline__ bool operator<=(bf16 a, bf16 b)
{
    return to_float(a) <= to_float(b);
}

static __device__ __forceinline__ bool operator>(bf16 a, bf16 b)
{
    return to_float(a) > to_float(b);
}

static __device__ __forceinline__ bool operator>=(bf16 a, bf16 b)
{
    return to_float(a) >= to_float(b);
}

struct tf32 {
    unsigned int bits;
};

static __device__ __forceinline__ float to_float(tf32 a)
{
    return __uint_as_float(a.bits);
}

static __device__ __forceinline__ tf32 to_tf32(float a)
{
    tf32 result;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result.bits) : "f"(a));
    return result;
}

static __device__ __forceinline__ tf32 to_tf32(long long a)
{
    return to_tf32(to_float_odd(a));
}

static __device__ __forceinline__ tf32 operator+(tf32 a, tf32 b)
{
    return to_tf32(to_float(a) + to_float(b));
}

static __device__ __forceinline__ tf32 operator*(tf32 a, tf32 b)
{
    return to_tf32(to_float(a) * to_float(b));
}

struct f8e4m3 {
    unsigned char bits;
};

static __device__ __forceinline__ f8e4m3 to_f8e4m3(float a)
{
    unsigned short pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(a));
    return f8e4m3{(unsigned char)pair};
}

static __device__ __forceinline__ float to_float(f8e4m3 a)
{
    float result;
    asm("{\n"
        "    .reg .f16 low, high;\n"
        "    .reg .b32 pair;\n"
        "    cvt.rn.f16x2.e4m3x2 pair, %1;\n"
        "    mov.b32 {low, high}, pair;\n"
        "    cvt.f32.f16 %0, low;\n"
        "}"
        : "=f"(result)
        : "h"((unsigned short)a.bits));
    return result;
}

static __device__ __forceinline__ f8e4m3 to_f8e4m3(double a)
{
    return to_f8e4m3(to_float_odd(a));
}

static __device__ __forceinline__ f8e4m3 to_f8e4m3(long long a)
{
    return to_f8e4m3(to_float_odd(a));
}

static __device__ __forceinline__ f8e4m3 operator-(f8e4m3 a)
{
    return f8e4m3{(unsigned char)(a.bits ^ 0x80)};
}

static __device__ __forceinline__ f8e4m3 operator+(f8e4m3 a, f8e4m3 b)
{
    return to_f8e4m3(to_float(a) + to_float(b));
}

static __device__ __forceinline__ f8e4m3 operator-(f8e4m3 a, f8e4m3 b)
{
    return to_f8e4m3(to_float(a) - to_float(b));
}

static __device__ __forceinline__ f8e4m3 operator*(f8e4m3 a, f8e4m3 b)
{
    return to_f8e4m3(to_float(a) * to_float(b));
}

static __device__ __forceinline__ f8e4m3 operator/(f8e4m3 a, f8e4m3 b)
{
    return to_f8e4m3(to_float(a) / to_float(b));
}

static __device__ __forceinline__ f8e4m3 min(f8e4m3 a, f8e4m3 b)
{
    return to_f8e4m3(fminf(to_float(a), to_float(b)));
}

static __device__ __forceinline__ f8e4m3 max(f8e4m3 a, f8e4m3 b)
{
    return to_f8e4m3(fmaxf(to_float(a), to_float(b)));
}

struct f8e5m2 {
    unsigned char bits;
};

static __device__ __forceinline__ f8e5m2 to_f8e5m2(float a)
{
    unsigned short pair;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(a));
    return f8e5m2{(unsigned char)pair};
}

static __device__ __forceinline__ float to_float(f8e5m2 a)
{
    float result;
    asm("{\n"
        "    .reg .f16 low, high;\n"
        "    .reg .b32 pair;\n"
        "    cvt.rn.f16x2.e5m2x2 pair, %1;\n"
        "    mov.b32 {low, high}, pair;\n"
        "    cvt.f32.f16 %0, low;\n"
        "}"
        : "=f"(result)
        : "h"((unsigned short)a.bits));
    return result;
}

static __device__ __forceinline__ f8e5m2 operator+(f8e5m2 a, f8e5m2 b)
{
    return to_f8e5m2(to_float(a) + to_float(b));
}

static __device__ __forceinline__ bool operator==(f8e5m2 a, f8e5m2 b)
{
    return to_float(a) == to_float(b);
}

static __device__ __forceinline__ bool operator>(f8e5m2 a, f8e5m2 b)
{
    return to_float(a) > to_float(b);
}

struct __align__(8) complex64 {
    float re, im;
};

static __device__ __forceinline__ complex64 to_complex64(float re)
{
    return complex64{re, 0.0f};
}

static __device__ __forceinline__ complex64 operator-(complex64 a)
{
    return complex64{-a.re, -a.im};
}

static __device__ __forceinline__ complex64 operator+(complex64 a, complex64 b)
{
    return complex64{a.re + b.re, a.im + b.im};
}

static __device__ __forceinline__ complex64 operator-(complex64 a, complex64 b)
{
    return complex64{a.re - b.re, a.im - b.im};
}

static __device__ __forceinline__ complex64 operator*(complex64 a, complex64 b)
{
    return complex64{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// Smith's method: no square of a part overflows.
static __device__ __forceinline__ complex64 operator/(complex64 a, complex64 b)
{
    if (fabsf(b.re) >= fabsf(b.im)) {
        float ratio = b.im / b.re, scale = b.re + b.im * ratio;
        return complex64{(a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale};
    }
    float ratio = b.re / b.im, scale = b.re * ratio + b.im;
    return complex64{(a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale};
}

static __device__ __forceinline__ bool operator==(complex64 a, complex64 b)
{
    return a.re == b.re && a.im == b.im;
}

static __device__ __forceinline__ bool operator!=(complex64 a, complex64 b)
{
    return a.re != b.re || a.im != b.im;
}

extern "C" __global__ void __launch_bounds__(32) halves(
    f16 *__restrict__ x,    // f16[16]
    float *__restrict__ y,  // f32[16]
    int n, long long k, unsigned int u, unsigned long long v, short s, f16 a, f16 b)
{
    x[0] = a + b * f16{0x4000 /* 2.0 */} - a / b;
    x[1] = -a;
    x[2] = min(a, max(b, f16{0x2e66 /* 0.0999755859375 */}));
    x[3] = to_f16(to_float(a) * 3.0f);
    x[4] = to_f16(n) + to_f16(k) + to_f16(u) + to_f16(v) + to_f16((float)s) + to_f16((double)y[0]);
    x[5] = a < b ? a : (a == b && a != b) || a <= b ? b : f16{0x7c00 /* inf */};
    x[6] = floor_div(a, b) + floor_mod(a, b);
    y[0] = to_float(a) + to_float(b);
    y[1] = (int)to_float(a) + (float)(a >= b) + (a > b);
    y[2] = __uint_as_float((unsigned int)a.bits);
    x[7] = f16{(unsigned short)(a.bits + 1)};
    x[8] = f16{bf16{a.bits}.bits};
    x[9] = x[9] + a;
    if (to_float(a) != 0.0f) {
        x[10] = f16{0x8000 /* -0.0 */};
    }
}

extern "C" __global__ void __launch_bounds__(32) brains(
    bf16 *__restrict__ x,  // bf16[16]
    int n, long long k, unsigned long long v, double d, bf16 a, bf16 b)
{
    x[0] = a + b * bf16{0x4000 /* 2.0 */} - a / b;
    x[1] = min(-a, max(b, bf16{0x3dcd /* 0.10009765625 */}));
    x[2] = to_bf16((long long)n) + to_bf16(k) + to_bf16(v) + to_bf16(d);
    x[3] = to_bf16(to_float(to_f16(to_float(a))));
    x[4] = a < b && a <= b && a > b && a >= b && a == b && a != b ? floor_div(a, b) : floor_mod(a, b);
}

extern "C" __global__ void __launch_bounds__(32) eights(
    f8e4m3 *__restrict__ x,  // f8e4m3[16]
    f8e5m2 *__restrict__ y,  // f8e5m2[16]
    tf32 *__restrict__ z,    // tf32[8]
    int n, double d, f8e4m3 a, f8e5m2 b, tf32 c)
{
    x[0] = to_f8e4m3(to_float(a) * 2.0f);
    x[1] = to_f8e4m3((long long)n);
    x[2] = to_f8e4m3(d);
    x[3] = f8e4m3{0x7e /* 448.0 */};
    x[4] = min(a + a * a, max(-a, a - a / a));
    y[0] = to_f8e5m2(to_float(b) * to_float(a));
    y[1] = to_f8e5m2((float)(b > b || b == b));
    y[2] = b + b;
    y[3] = f8e5m2{a.bits};
    z[0] = c + to_tf32(to_float(b)) * tf32{0x3fc00000u /* 1.5 */};
    z[1] = to_tf32((long long)n);
    z[2] = tf32{__float_as_uint(__uint_as_float(c.bits))};
}

extern "C" __global__ void __launch_bounds__(32) complexes(
    complex64 *__restrict__ x,  // complex64[8]
    complex64 a, complex64 b, float f)
{
    x[0] = a + b * a - a / b;
    x[1] = -to_complex64(f);
    x[2] = a == b || a != b ? a : complex64{1.0f, 0.0f};
    x[3] = bit_cast<complex64>(bit_cast<unsigned long long>(a));
}
