// Rounding in two steps without double rounding: first to f32 "to odd" (towards zero, then the last bit is set if
// anything was lost), then to the narrow type. f32 has more than two bits beyond the narrow type's 2 to 11, so the odd
// last bit tells the second rounding on which side of a tie the value was (Boldo and Melquiond, "Emulation of FMA and
// correctly rounded sums", theorem on rounding to odd).

//: to_float_odd.double
// Rounds to odd, so that a second rounding to a narrower type is as good as a single one.
static __device__ __forceinline__ float to_float_odd(double a)
{
    float rounded = __double2float_rz(a);
    return (double)rounded == a ? rounded : __uint_as_float(__float_as_uint(rounded) | 1u);
}

//: to_float_odd.sint
// Rounds to odd, so that a second rounding to a narrower type is as good as a single one.
static __device__ __forceinline__ float to_float_odd(long long a)
{
    float rounded = __ll2float_rz(a);
    return (long long)rounded == a ? rounded : __uint_as_float(__float_as_uint(rounded) | 1u);
}

//: to_float_odd.uint
// Rounds to odd, so that a second rounding to a narrower type is as good as a single one.
static __device__ __forceinline__ float to_float_odd(unsigned long long a)
{
    float rounded = __ull2float_rz(a);
    return (unsigned long long)rounded == a ? rounded : __uint_as_float(__float_as_uint(rounded) | 1u);
}
