// IEEE 754 binary16, by the instructions that every architecture since sm_53 has (PTX ISA, "Half Precision Floating
// Point Instructions"). Division and the comparisons go through f32: the quotient has 24 >= 2 * 11 + 2 bits there, so
// that the second rounding changes nothing (Figueroa, "When is double rounding innocuous?").

//: f16
struct f16 {
    unsigned short bits;
};

//: f16.to_float needs f16
static __device__ __forceinline__ float to_float(f16 a)
{
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(a.bits));
    return result;
}

//: f16.from_float needs f16
static __device__ __forceinline__ f16 to_f16(float a)
{
    f16 result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(a));
    return result;
}

//: f16.from_double needs f16
static __device__ __forceinline__ f16 to_f16(double a)
{
    f16 result;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(result.bits) : "d"(a));
    return result;
}

//: f16.from_int needs f16
static __device__ __forceinline__ f16 to_f16(int a)
{
    f16 result;
    asm("cvt.rn.f16.s32 %0, %1;" : "=h"(result.bits) : "r"(a));
    return result;
}

//: f16.from_unsigned needs f16
static __device__ __forceinline__ f16 to_f16(unsigned int a)
{
    f16 result;
    asm("cvt.rn.f16.u32 %0, %1;" : "=h"(result.bits) : "r"(a));
    return result;
}

//: f16.from_sint needs f16
static __device__ __forceinline__ f16 to_f16(long long a)
{
    f16 result;
    asm("cvt.rn.f16.s64 %0, %1;" : "=h"(result.bits) : "l"(a));
    return result;
}

//: f16.from_uint needs f16
static __device__ __forceinline__ f16 to_f16(unsigned long long a)
{
    f16 result;
    asm("cvt.rn.f16.u64 %0, %1;" : "=h"(result.bits) : "l"(a));
    return result;
}

//: f16.neg needs f16
static __device__ __forceinline__ f16 operator-(f16 a)
{
    return f16{(unsigned short)(a.bits ^ 0x8000)};
}

//: f16.add needs f16
static __device__ __forceinline__ f16 operator+(f16 a, f16 b)
{
    f16 result;
    asm("add.f16 %0, %1, %2;" : "=h"(result.bits) : "h"(a.bits), "h"(b.bits));
    return result;
}

//: f16.sub needs f16
static __device__ __forceinline__ f16 operator-(f16 a, f16 b)
{
    f16 result;
    asm("sub.f16 %0, %1, %2;" : "=h"(result.bits) : "h"(a.bits), "h"(b.bits));
    return result;
}

//: f16.mul needs f16
static __device__ __forceinline__ f16 operator*(f16 a, f16 b)
{
    f16 result;
    asm("mul.f16 %0, %1, %2;" : "=h"(result.bits) : "h"(a.bits), "h"(b.bits));
    return result;
}

//: f16.div needs f16 f16.to_float f16.from_float
static __device__ __forceinline__ f16 operator/(f16 a, f16 b)
{
    return to_f16(to_float(a) / to_float(b));
}

//: f16.min needs f16 from sm_80
static __device__ __forceinline__ f16 min(f16 a, f16 b)
{
    f16 result;
    asm("min.f16 %0, %1, %2;" : "=h"(result.bits) : "h"(a.bits), "h"(b.bits));
    return result;
}

//: f16.max needs f16 from sm_80
static __device__ __forceinline__ f16 max(f16 a, f16 b)
{
    f16 result;
    asm("max.f16 %0, %1, %2;" : "=h"(result.bits) : "h"(a.bits), "h"(b.bits));
    return result;
}

//: f16.min needs f16 f16.to_float f16.from_float below sm_80
static __device__ __forceinline__ f16 min(f16 a, f16 b)
{
    return to_f16(fminf(to_float(a), to_float(b)));
}

//: f16.max needs f16 f16.to_float f16.from_float below sm_80
static __device__ __forceinline__ f16 max(f16 a, f16 b)
{
    return to_f16(fmaxf(to_float(a), to_float(b)));
}

//: f16.floordiv needs f16 f16.to_float f16.from_float float.floordiv
static __device__ __forceinline__ f16 floor_div(f16 a, f16 b)
{
    return to_f16(floor_div(to_float(a), to_float(b)));
}

//: f16.floormod needs f16 f16.to_float f16.from_float float.floormod
static __device__ __forceinline__ f16 floor_mod(f16 a, f16 b)
{
    return to_f16(floor_mod(to_float(a), to_float(b)));
}

//: f16.eq needs f16 f16.to_float
static __device__ __forceinline__ bool operator==(f16 a, f16 b)
{
    return to_float(a) == to_float(b);
}

//: f16.ne needs f16 f16.to_float
static __device__ __forceinline__ bool operator!=(f16 a, f16 b)
{
    return to_float(a) != to_float(b);
}

//: f16.lt needs f16 f16.to_float
static __device__ __forceinline__ bool operator<(f16 a, f16 b)
{
    return to_float(a) < to_float(b);
}

//: f16.le needs f16 f16.to_float
static __device__ __forceinline__ bool operator<=(f16 a, f16 b)
{
    return to_float(a) <= to_float(b);
}

//: f16.gt needs f16 f16.to_float
static __device__ __forceinline__ bool operator>(f16 a, f16 b)
{
    return to_float(a) > to_float(b);
}

//: f16.ge needs f16 f16.to_float
static __device__ __forceinline__ bool operator>=(f16 a, f16 b)
{
    return to_float(a) >= to_float(b);
}

//: vec.f16.add needs vec f16
static __device__ __forceinline__ vec<f16, 2> operator+(vec<f16, 2> a, vec<f16, 2> b)
{
    vec<f16, 2> result;
    asm("add.f16x2 %0, %1, %2;"
        : "=r"(reinterpret_cast<unsigned int &>(result))
        : "r"(reinterpret_cast<unsigned int &>(a)), "r"(reinterpret_cast<unsigned int &>(b)));
    return result;
}

//: vec.f16.sub needs vec f16
static __device__ __forceinline__ vec<f16, 2> operator-(vec<f16, 2> a, vec<f16, 2> b)
{
    vec<f16, 2> result;
    asm("sub.f16x2 %0, %1, %2;"
        : "=r"(reinterpret_cast<unsigned int &>(result))
        : "r"(reinterpret_cast<unsigned int &>(a)), "r"(reinterpret_cast<unsigned int &>(b)));
    return result;
}

//: vec.f16.mul needs vec f16
static __device__ __forceinline__ vec<f16, 2> operator*(vec<f16, 2> a, vec<f16, 2> b)
{
    vec<f16, 2> result;
    asm("mul.f16x2 %0, %1, %2;"
        : "=r"(reinterpret_cast<unsigned int &>(result))
        : "r"(reinterpret_cast<unsigned int &>(a)), "r"(reinterpret_cast<unsigned int &>(b)));
    return result;
}
