// bfloat16: the upper half of an f32.
//
// Sums, differences and products are one fma.rn.bf16 from sm_80 on, with 1 as factor or -0 as addend: one rounding of
// the exact result. Below, they are f32 operations that are rounded once more; f32 has 24 >= 2 * 8 + 2 bits, so the
// second rounding changes nothing (Figueroa, "When is double rounding innocuous?"), except that a product below 2^-126,
// where both types lose bits, may be off by one in its last place. Division goes that way everywhere.

//: bf16
struct bf16 {
    unsigned short bits;
};

//: bf16.to_float needs bf16
static __device__ __forceinline__ float to_float(bf16 a)
{
    return __uint_as_float((unsigned int)a.bits << 16);
}

//: bf16.from_float needs bf16 from sm_80
static __device__ __forceinline__ bf16 to_bf16(float a)
{
    bf16 result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(a));
    return result;
}

//: bf16.from_float needs bf16 below sm_80
static __device__ __forceinline__ bf16 to_bf16(float a)
{
    unsigned int bits = __float_as_uint(a);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return bf16{0x7fff};
    return bf16{(unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}

//: bf16.from_double needs bf16.from_float to_float_odd.double
static __device__ __forceinline__ bf16 to_bf16(double a)
{
    return to_bf16(to_float_odd(a));
}

//: bf16.from_sint needs bf16.from_float to_float_odd.sint
static __device__ __forceinline__ bf16 to_bf16(long long a)
{
    return to_bf16(to_float_odd(a));
}

//: bf16.from_uint needs bf16.from_float to_float_odd.uint
static __device__ __forceinline__ bf16 to_bf16(unsigned long long a)
{
    return to_bf16(to_float_odd(a));
}

//: bf16.neg needs bf16
static __device__ __forceinline__ bf16 operator-(bf16 a)
{
    return bf16{(unsigned short)(a.bits ^ 0x8000)};
}

//: bf16.add needs bf16 from sm_80
static __device__ __forceinline__ bf16 operator+(bf16 a, bf16 b)
{
    bf16 result;
    asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(result.bits) : "h"(a.bits), "h"((unsigned short)0x3f80), "h"(b.bits));
    return result;
}

//: bf16.sub needs bf16 from sm_80
static __device__ __forceinline__ bf16 operator-(bf16 a, bf16 b)
{
    bf16 result;
    asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(result.bits) : "h"(b.bits), "h"((unsigned short)0xbf80), "h"(a.bits));
    return result;
}

//: bf16.mul needs bf16 from sm_80
static __device__ __forceinline__ bf16 operator*(bf16 a, bf16 b)
{
    bf16 result;
    asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(result.bits) : "h"(a.bits), "h"(b.bits), "h"((unsigned short)0x8000));
    return result;
}

//: bf16.add needs bf16 bf16.to_float bf16.from_float below sm_80
static __device__ __forceinline__ bf16 operator+(bf16 a, bf16 b)
{
    return to_bf16(to_float(a) + to_float(b));
}

//: bf16.sub needs bf16 bf16.to_float bf16.from_float below sm_80
static __device__ __forceinline__ bf16 operator-(bf16 a, bf16 b)
{
    return to_bf16(to_float(a) - to_float(b));
}

//: bf16.mul needs bf16 bf16.to_float bf16.from_float below sm_80
static __device__ __forceinline__ bf16 operator*(bf16 a, bf16 b)
{
    return to_bf16(to_float(a) * to_float(b));
}

//: bf16.div needs bf16 bf16.to_float bf16.from_float
static __device__ __forceinline__ bf16 operator/(bf16 a, bf16 b)
{
    return to_bf16(to_float(a) / to_float(b));
}

//: bf16.min needs bf16 from sm_80
static __device__ __forceinline__ bf16 min(bf16 a, bf16 b)
{
    bf16 result;
    asm("min.bf16 %0, %1, %2;" : "=h"(result.bits) : "h"(a.bits), "h"(b.bits));
    return result;
}

//: bf16.max needs bf16 from sm_80
static __device__ __forceinline__ bf16 max(bf16 a, bf16 b)
{
    bf16 result;
    asm("max.bf16 %0, %1, %2;" : "=h"(result.bits) : "h"(a.bits), "h"(b.bits));
    return result;
}

//: bf16.min needs bf16 bf16.to_float bf16.from_float below sm_80
static __device__ __forceinline__ bf16 min(bf16 a, bf16 b)
{
    return to_bf16(fminf(to_float(a), to_float(b)));
}

//: bf16.max needs bf16 bf16.to_float bf16.from_float below sm_80
static __device__ __forceinline__ bf16 max(bf16 a, bf16 b)
{
    return to_bf16(fmaxf(to_float(a), to_float(b)));
}

//: bf16.floordiv needs bf16 bf16.to_float bf16.from_float float.floordiv
static __device__ __forceinline__ bf16 floor_div(bf16 a, bf16 b)
{
    return to_bf16(floor_div(to_float(a), to_float(b)));
}

//: bf16.floormod needs bf16 bf16.to_float bf16.from_float float.floormod
static __device__ __forceinline__ bf16 floor_mod(bf16 a, bf16 b)
{
    return to_bf16(floor_mod(to_float(a), to_float(b)));
}

//: bf16.eq needs bf16 bf16.to_float
static __device__ __forceinline__ bool operator==(bf16 a, bf16 b)
{
    return to_float(a) == to_float(b);
}

//: bf16.ne needs bf16 bf16.to_float
static __device__ __forceinline__ bool operator!=(bf16 a, bf16 b)
{
    return to_float(a) != to_float(b);
}

//: bf16.lt needs bf16 bf16.to_float
static __device__ __forceinline__ bool operator<(bf16 a, bf16 b)
{
    return to_float(a) < to_float(b);
}

//: bf16.le needs bf16 bf16.to_float
static __device__ __forceinline__ bool operator<=(bf16 a, bf16 b)
{
    return to_float(a) <= to_float(b);
}

//: bf16.gt needs bf16 bf16.to_float
static __device__ __forceinline__ bool operator>(bf16 a, bf16 b)
{
    return to_float(a) > to_float(b);
}

//: bf16.ge needs bf16 bf16.to_float
static __device__ __forceinline__ bool operator>=(bf16 a, bf16 b)
{
    return to_float(a) >= to_float(b);
}
