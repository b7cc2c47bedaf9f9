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

// The quotient rounded down. It is found from the exact remainder, since a / b may round up to the next integer.
static __host__ __device__ __forceinline__ double floor_div(double a, double b)
{
    if (b == 0.0)
        return a / b;
    double rest = fmod(a, b);
    double quotient = (a - rest) / b;
    if (rest != 0.0 && (rest < 0.0) != (b < 0.0))
        quotient -= 1.0;
    if (quotient == 0.0)
        return copysign(0.0, a / b);
    double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1.0 : whole;
}

// The remainder that goes with the quotient rounded down: it has the sign of b, also where it is 0.
static __host__ __device__ __forceinline__ double floor_mod(double a, double b)
{
    double rest = fmod(a, b);
    if (rest == 0.0)
        return copysign(0.0, b);
    return (rest < 0.0) != (b < 0.0) ? rest + b : rest;
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

extern "C" __global__ void __launch_bounds__(32) singles(
    float *__restrict__ x,  // f32[16]
    int n, float a, float b, long long k)
{
    x[0] = a + b * 2.0f - a / b;
    x[1] = a - (b - 1.5f);
    x[2] = a * (b * a) + -b;
    x[3] = n * a + n * (float)k;
    x[4] = fminf(a, (float)n);
    x[5] = fmaxf(a, fmaxf(b, 0.1f));
    x[6] = floor_div(a, b);
    x[7] = floor_mod(a, b);
    x[8] = 1e-45f + 3.4028235e38f + 16777216.0f + 1e10f + 1.1754944e-38f;
    x[9] = __int_as_float(0x7f800000) + __int_as_float(0xff800000) + __int_as_float(0x7fc00000);
    x[10] = a < b ? -0.0f : 0.33333334f;
    x[11] += a * b;
    x[12] /= b;
    x[13] = (a == b) + (float)!(a >= b);
    x[14] = threadIdx.x;
    x[15] = __uint_as_float(__float_as_uint(a) & 0x7fffffff) + __int_as_float(__float_as_int(b) + 1);
}

extern "C" __global__ void __launch_bounds__(32) doubles(
    double *__restrict__ x,  // f64[16]
    int n, double a, float b)
{
    x[0] = a + b;
    x[1] = b * (double)n;
    x[2] = 0.1 + 1e300 + __longlong_as_double(0x7ff0000000000000LL);
    x[3] = floor_div(fmin(a, (double)b), 2.0);
    x[4] = floor_mod(a, 3.0);
    x[5] = (float)a;
    x[6] = (int)a + (double)(long long)b + (unsigned char)b;
    x[7] = __longlong_as_double(__double_as_longlong(a) + 1) + bit_cast<double>(bit_cast<unsigned long long>(a));
    if (a != 0.0 && b != 0.0f) {
        x[8] = -a;
    }
}
