// The 8-bit floats of the Open Compute Project ("OCP 8-bit Floating Point Specification", revision 1.0).
//
// e4m3 has no infinity and one NaN of each sign; e5m2 is an f16 without its lower byte. Conversions to them round to
// nearest even and give the largest finite value for all that is larger, infinity included, and 0x7f for NaN, as
// cvt.rn.satfinite does (sm_89). The variants below sm_89 do the same by integer arithmetic: adding a power of two that
// is 2^23 subnormal steps large lets the f32 adder round a subnormal result.

//: f8e4m3
struct f8e4m3 {
    unsigned char bits;
};

//: f8e4m3.from_float needs f8e4m3 from sm_89
static __device__ __forceinline__ f8e4m3 to_f8e4m3(float a)
{
    unsigned short pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(a));
    return f8e4m3{(unsigned char)pair};
}

//: f8e4m3.to_float needs f8e4m3 from sm_89
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

//: f8e4m3.from_float needs f8e4m3 below sm_89
static __device__ __forceinline__ f8e4m3 to_f8e4m3(float a)
{
    unsigned int bits = __float_as_uint(a), sign = bits >> 24 & 0x80u, size = bits & 0x7fffffffu, code;
    if (size > 0x7f800000u)
        return f8e4m3{0x7f};
    if (size >= 0x43e00000u)  // 448
        code = 0x7eu;
    else if (size >= 0x3c800000u)  // 2^-6, the smallest normal number
        code = ((size + 0x7ffffu + (size >> 20 & 1u)) >> 20) - (120u << 3);
    else
        code = __float_as_uint(__uint_as_float(size) + 16384.0f) - 0x46800000u;
    return f8e4m3{(unsigned char)(sign | code)};
}

//: f8e4m3.to_float needs f8e4m3 below sm_89
static __device__ __forceinline__ float to_float(f8e4m3 a)
{
    unsigned int sign = (a.bits & 0x80u) << 24, size = a.bits & 0x7fu;
    if (size == 0x7fu)
        return __uint_as_float(sign | 0x7fc00000u);
    if (size < 8u)
        return __uint_as_float(sign | __float_as_uint((float)size * 0.001953125f));
    return __uint_as_float(sign | ((size << 20) + (120u << 23)));
}

//: f8e4m3.from_double needs f8e4m3.from_float to_float_odd.double
static __device__ __forceinline__ f8e4m3 to_f8e4m3(double a)
{
    return to_f8e4m3(to_float_odd(a));
}

//: f8e4m3.from_sint needs f8e4m3.from_float to_float_odd.sint
static __device__ __forceinline__ f8e4m3 to_f8e4m3(long long a)
{
    return to_f8e4m3(to_float_odd(a));
}

//: f8e4m3.from_uint needs f8e4m3.from_float to_float_odd.uint
static __device__ __forceinline__ f8e4m3 to_f8e4m3(unsigned long long a)
{
    return to_f8e4m3(to_float_odd(a));
}

//: f8e4m3.neg needs f8e4m3
static __device__ __forceinline__ f8e4m3 operator-(f8e4m3 a)
{
    return f8e4m3{(unsigned char)(a.bits ^ 0x80)};
}

//: f8e4m3.add needs f8e4m3 f8e4m3.to_float f8e4m3.from_float
static __device__ __forceinline__ f8e4m3 operator+(f8e4m3 a, f8e4m3 b)
{
    return to_f8e4m3(to_float(a) + to_float(b));
}

//: f8e4m3.sub needs f8e4m3 f8e4m3.to_float f8e4m3.from_float
static __device__ __forceinline__ f8e4m3 operator-(f8e4m3 a, f8e4m3 b)
{
    return to_f8e4m3(to_float(a) - to_float(b));
}

//: f8e4m3.mul needs f8e4m3 f8e4m3.to_float f8e4m3.from_float
static __device__ __forceinline__ f8e4m3 operator*(f8e4m3 a, f8e4m3 b)
{
    return to_f8e4m3(to_float(a) * to_float(b));
}

//: f8e4m3.div needs f8e4m3 f8e4m3.to_float f8e4m3.from_float
static __device__ __forceinline__ f8e4m3 operator/(f8e4m3 a, f8e4m3 b)
{
    return to_f8e4m3(to_float(a) / to_float(b));
}

//: f8e4m3.min needs f8e4m3 f8e4m3.to_float f8e4m3.from_float
static __device__ __forceinline__ f8e4m3 min(f8e4m3 a, f8e4m3 b)
{
    return to_f8e4m3(fminf(to_float(a), to_float(b)));
}

//: f8e4m3.max needs f8e4m3 f8e4m3.to_float f8e4m3.from_float
static __device__ __forceinline__ f8e4m3 max(f8e4m3 a, f8e4m3 b)
{
    return to_f8e4m3(fmaxf(to_float(a), to_float(b)));
}

//: f8e4m3.floordiv needs f8e4m3 f8e4m3.to_float f8e4m3.from_float float.floordiv
static __device__ __forceinline__ f8e4m3 floor_div(f8e4m3 a, f8e4m3 b)
{
    return to_f8e4m3(floor_div(to_float(a), to_float(b)));
}

//: f8e4m3.floormod needs f8e4m3 f8e4m3.to_float f8e4m3.from_float float.floormod
static __device__ __forceinline__ f8e4m3 floor_mod(f8e4m3 a, f8e4m3 b)
{
    return to_f8e4m3(floor_mod(to_float(a), to_float(b)));
}

//: f8e4m3.eq needs f8e4m3 f8e4m3.to_float
static __device__ __forceinline__ bool operator==(f8e4m3 a, f8e4m3 b)
{
    return to_float(a) == to_float(b);
}

//: f8e4m3.ne needs f8e4m3 f8e4m3.to_float
static __device__ __forceinline__ bool operator!=(f8e4m3 a, f8e4m3 b)
{
    return to_float(a) != to_float(b);
}

//: f8e4m3.lt needs f8e4m3 f8e4m3.to_float
static __device__ __forceinline__ bool operator<(f8e4m3 a, f8e4m3 b)
{
    return to_float(a) < to_float(b);
}

//: f8e4m3.le needs f8e4m3 f8e4m3.to_float
static __device__ __forceinline__ bool operator<=(f8e4m3 a, f8e4m3 b)
{
    return to_float(a) <= to_float(b);
}

//: f8e4m3.gt needs f8e4m3 f8e4m3.to_float
static __device__ __forceinline__ bool operator>(f8e4m3 a, f8e4m3 b)
{
    return to_float(a) > to_float(b);
}

//: f8e4m3.ge needs f8e4m3 f8e4m3.to_float
static __device__ __forceinline__ bool operator>=(f8e4m3 a, f8e4m3 b)
{
    return to_float(a) >= to_float(b);
}

//: f8e5m2
struct f8e5m2 {
    unsigned char bits;
};

//: f8e5m2.from_float needs f8e5m2 from sm_89
static __device__ __forceinline__ f8e5m2 to_f8e5m2(float a)
{
    unsigned short pair;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(a));
    return f8e5m2{(unsigned char)pair};
}

//: f8e5m2.to_float needs f8e5m2 from sm_89
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

//: f8e5m2.from_float needs f8e5m2 below sm_89
static __device__ __forceinline__ f8e5m2 to_f8e5m2(float a)
{
    unsigned int bits = __float_as_uint(a), sign = bits >> 24 & 0x80u, size = bits & 0x7fffffffu, code;
    if (size > 0x7f800000u)
        return f8e5m2{0x7f};
    if (size >= 0x47600000u)  // 57344
        code = 0x7bu;
    else if (size >= 0x38800000u)  // 2^-14, the smallest normal number
        code = ((size + 0xfffffu + (size >> 21 & 1u)) >> 21) - (112u << 2);
    else
        code = __float_as_uint(__uint_as_float(size) + 128.0f) - 0x43000000u;
    return f8e5m2{(unsigned char)(sign | code)};
}

//: f8e5m2.to_float needs f8e5m2 below sm_89
static __device__ __forceinline__ float to_float(f8e5m2 a)
{
    unsigned int sign = (a.bits & 0x80u) << 24, size = a.bits & 0x7fu;
    if (size >= 0x7cu)
        return __uint_as_float(sign | 0x7f800000u | (size & 3u) << 21);
    if (size < 4u)
        return __uint_as_float(sign | __float_as_uint((float)size * 0.0000152587890625f));
    return __uint_as_float(sign | ((size << 21) + (112u << 23)));
}

//: f8e5m2.from_double needs f8e5m2.from_float to_float_odd.double
static __device__ __forceinline__ f8e5m2 to_f8e5m2(double a)
{
    return to_f8e5m2(to_float_odd(a));
}

//: f8e5m2.from_sint needs f8e5m2.from_float to_float_odd.sint
static __device__ __forceinline__ f8e5m2 to_f8e5m2(long long a)
{
    return to_f8e5m2(to_float_odd(a));
}

//: f8e5m2.from_uint needs f8e5m2.from_float to_float_odd.uint
static __device__ __forceinline__ f8e5m2 to_f8e5m2(unsigned long long a)
{
    return to_f8e5m2(to_float_odd(a));
}

//: f8e5m2.neg needs f8e5m2
static __device__ __forceinline__ f8e5m2 operator-(f8e5m2 a)
{
    return f8e5m2{(unsigned char)(a.bits ^ 0x80)};
}

//: f8e5m2.add needs f8e5m2 f8e5m2.to_float f8e5m2.from_float
static __device__ __forceinline__ f8e5m2 operator+(f8e5m2 a, f8e5m2 b)
{
    return to_f8e5m2(to_float(a) + to_float(b));
}

//: f8e5m2.sub needs f8e5m2 f8e5m2.to_float f8e5m2.from_float
static __device__ __forceinline__ f8e5m2 operator-(f8e5m2 a, f8e5m2 b)
{
    return to_f8e5m2(to_float(a) - to_float(b));
}

//: f8e5m2.mul needs f8e5m2 f8e5m2.to_float f8e5m2.from_float
static __device__ __forceinline__ f8e5m2 operator*(f8e5m2 a, f8e5m2 b)
{
    return to_f8e5m2(to_float(a) * to_float(b));
}

//: f8e5m2.div needs f8e5m2 f8e5m2.to_float f8e5m2.from_float
static __device__ __forceinline__ f8e5m2 operator/(f8e5m2 a, f8e5m2 b)
{
    return to_f8e5m2(to_float(a) / to_float(b));
}

//: f8e5m2.min needs f8e5m2 f8e5m2.to_float f8e5m2.from_float
static __device__ __forceinline__ f8e5m2 min(f8e5m2 a, f8e5m2 b)
{
    return to_f8e5m2(fminf(to_float(a), to_float(b)));
}

//: f8e5m2.max needs f8e5m2 f8e5m2.to_float f8e5m2.from_float
static __device__ __forceinline__ f8e5m2 max(f8e5m2 a, f8e5m2 b)
{
    return to_f8e5m2(fmaxf(to_float(a), to_float(b)));
}

//: f8e5m2.floordiv needs f8e5m2 f8e5m2.to_float f8e5m2.from_float float.floordiv
static __device__ __forceinline__ f8e5m2 floor_div(f8e5m2 a, f8e5m2 b)
{
    return to_f8e5m2(floor_div(to_float(a), to_float(b)));
}

//: f8e5m2.floormod needs f8e5m2 f8e5m2.to_float f8e5m2.from_float float.floormod
static __device__ __forceinline__ f8e5m2 floor_mod(f8e5m2 a, f8e5m2 b)
{
    return to_f8e5m2(floor_mod(to_float(a), to_float(b)));
}

//: f8e5m2.eq needs f8e5m2 f8e5m2.to_float
static __device__ __forceinline__ bool operator==(f8e5m2 a, f8e5m2 b)
{
    return to_float(a) == to_float(b);
}

//: f8e5m2.ne needs f8e5m2 f8e5m2.to_float
static __device__ __forceinline__ bool operator!=(f8e5m2 a, f8e5m2 b)
{
    return to_float(a) != to_float(b);
}

//: f8e5m2.lt needs f8e5m2 f8e5m2.to_float
static __device__ __forceinline__ bool operator<(f8e5m2 a, f8e5m2 b)
{
    return to_float(a) < to_float(b);
}

//: f8e5m2.le needs f8e5m2 f8e5m2.to_float
static __device__ __forceinline__ bool operator<=(f8e5m2 a, f8e5m2 b)
{
    return to_float(a) <= to_float(b);
}

//: f8e5m2.gt needs f8e5m2 f8e5m2.to_float
static __device__ __forceinline__ bool operator>(f8e5m2 a, f8e5m2 b)
{
    return to_float(a) > to_float(b);
}

//: f8e5m2.ge needs f8e5m2 f8e5m2.to_float
static __device__ __forceinline__ bool operator>=(f8e5m2 a, f8e5m2 b)
{
    return to_float(a) >= to_float(b);
}
