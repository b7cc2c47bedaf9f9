// tf32: an f32 whose lower 13 bits are zero. Rounding is to nearest, ties away from zero, as cvt.rna.tf32.f32 does (the
// only rounding that sm_80 has).

//: tf32
struct tf32 {
    unsigned int bits;
};

//: tf32.to_float needs tf32
static __device__ __forceinline__ float to_float(tf32 a)
{
    return __uint_as_float(a.bits);
}

//: tf32.from_float needs tf32 from sm_80
static __device__ __forceinline__ tf32 to_tf32(float a)
{
    tf32 result;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result.bits) : "f"(a));
    return result;
}

//: tf32.from_float needs tf32 below sm_80
static __device__ __forceinline__ tf32 to_tf32(float a)
{
    unsigned int bits = __float_as_uint(a);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return tf32{0x7fffe000u};
    return tf32{(bits + 0x1000u) & 0xffffe000u};
}

//: tf32.from_double needs tf32.from_float to_float_odd.double
static __device__ __forceinline__ tf32 to_tf32(double a)
{
    return to_tf32(to_float_odd(a));
}

//: tf32.from_sint needs tf32.from_float to_float_odd.sint
static __device__ __forceinline__ tf32 to_tf32(long long a)
{
    return to_tf32(to_float_odd(a));
}

//: tf32.from_uint needs tf32.from_float to_float_odd.uint
static __device__ __forceinline__ tf32 to_tf32(unsigned long long a)
{
    return to_tf32(to_float_odd(a));
}

//: tf32.neg needs tf32
static __device__ __forceinline__ tf32 operator-(tf32 a)
{
    return tf32{(unsigned int)(a.bits ^ 0x80000000u)};
}

//: tf32.add needs tf32 tf32.to_float tf32.from_float
static __device__ __forceinline__ tf32 operator+(tf32 a, tf32 b)
{
    return to_tf32(to_float(a) + to_float(b));
}

//: tf32.sub needs tf32 tf32.to_float tf32.from_float
static __device__ __forceinline__ tf32 operator-(tf32 a, tf32 b)
{
    return to_tf32(to_float(a) - to_float(b));
}

//: tf32.mul needs tf32 tf32.to_float tf32.from_float
static __device__ __forceinline__ tf32 operator*(tf32 a, tf32 b)
{
    return to_tf32(to_float(a) * to_float(b));
}

//: tf32.div needs tf32 tf32.to_float tf32.from_float
static __device__ __forceinline__ tf32 operator/(tf32 a, tf32 b)
{
    return to_tf32(to_float(a) / to_float(b));
}

//: tf32.min needs tf32 tf32.to_float tf32.from_float
static __device__ __forceinline__ tf32 min(tf32 a, tf32 b)
{
    return to_tf32(fminf(to_float(a), to_float(b)));
}

//: tf32.max needs tf32 tf32.to_float tf32.from_float
static __device__ __forceinline__ tf32 max(tf32 a, tf32 b)
{
    return to_tf32(fmaxf(to_float(a), to_float(b)));
}

//: tf32.floordiv needs tf32 tf32.to_float tf32.from_float float.floordiv
static __device__ __forceinline__ tf32 floor_div(tf32 a, tf32 b)
{
    return to_tf32(floor_div(to_float(a), to_float(b)));
}

//: tf32.floormod needs tf32 tf32.to_float tf32.from_float float.floormod
static __device__ __forceinline__ tf32 floor_mod(tf32 a, tf32 b)
{
    return to_tf32(floor_mod(to_float(a), to_float(b)));
}

//: tf32.eq needs tf32 tf32.to_float
static __device__ __forceinline__ bool operator==(tf32 a, tf32 b)
{
    return to_float(a) == to_float(b);
}

//: tf32.ne needs tf32 tf32.to_float
static __device__ __forceinline__ bool operator!=(tf32 a, tf32 b)
{
    return to_float(a) != to_float(b);
}

//: tf32.lt needs tf32 tf32.to_float
static __device__ __forceinline__ bool operator<(tf32 a, tf32 b)
{
    return to_float(a) < to_float(b);
}

//: tf32.le needs tf32 tf32.to_float
static __device__ __forceinline__ bool operator<=(tf32 a, tf32 b)
{
    return to_float(a) <= to_float(b);
}

//: tf32.gt needs tf32 tf32.to_float
static __device__ __forceinline__ bool operator>(tf32 a, tf32 b)
{
    return to_float(a) > to_float(b);
}

//: tf32.ge needs tf32 tf32.to_float
static __device__ __forceinline__ bool operator>=(tf32 a, tf32 b)
{
    return to_float(a) >= to_float(b);
}
