// Complex numbers of two f32.

//: complex64
struct __align__(8) complex64 {
    float re, im;
};

//: complex64.from_float needs complex64
static __device__ __forceinline__ complex64 to_complex64(float re)
{
    return complex64{re, 0.0f};
}

//: complex64.neg needs complex64
static __device__ __forceinline__ complex64 operator-(complex64 a)
{
    return complex64{-a.re, -a.im};
}

//: complex64.add needs complex64
static __device__ __forceinline__ complex64 operator+(complex64 a, complex64 b)
{
    return complex64{a.re + b.re, a.im + b.im};
}

//: complex64.sub needs complex64
static __device__ __forceinline__ complex64 operator-(complex64 a, complex64 b)
{
    return complex64{a.re - b.re, a.im - b.im};
}

//: complex64.mul needs complex64
static __device__ __forceinline__ complex64 operator*(complex64 a, complex64 b)
{
    return complex64{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

//: complex64.div needs complex64
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

//: complex64.eq needs complex64
static __device__ __forceinline__ bool operator==(complex64 a, complex64 b)
{
    return a.re == b.re && a.im == b.im;
}

//: complex64.ne needs complex64
static __device__ __forceinline__ bool operator!=(complex64 a, complex64 b)
{
    return a.re != b.re || a.im != b.im;
}
