// Things that belong to no type.

//: fail
// Out of line, so that a check costs its kernel a compare and a branch.
static __device__ __noinline__ void fail(const char *message)
{
    printf("%s\n", message);
    __trap();
}

//: int.floordiv
// The quotient rounded down.
static __host__ __device__ __forceinline__ int floor_div(int a, int b)
{
    int quotient = a / b;
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

//: int.floormod
// The remainder that goes with the quotient rounded down: it has the sign of b.
static __host__ __device__ __forceinline__ int floor_mod(int a, int b)
{
    int rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

//: long.floordiv
// The quotient rounded down.
static __host__ __device__ __forceinline__ long long floor_div(long long a, long long b)
{
    long long quotient = a / b;
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

//: long.floormod
// The remainder that goes with the quotient rounded down: it has the sign of b.
static __host__ __device__ __forceinline__ long long floor_mod(long long a, long long b)
{
    long long rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

//: float.floordiv
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

//: float.floormod
// The remainder that goes with the quotient rounded down: it has the sign of b, also where it is 0.
static __host__ __device__ __forceinline__ float floor_mod(float a, float b)
{
    float rest = fmodf(a, b);
    if (rest == 0.0f)
        return copysignf(0.0f, b);
    return (rest < 0.0f) != (b < 0.0f) ? rest + b : rest;
}

//: double.floordiv
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

//: double.floormod
// The remainder that goes with the quotient rounded down: it has the sign of b, also where it is 0.
static __host__ __device__ __forceinline__ double floor_mod(double a, double b)
{
    double rest = fmod(a, b);
    if (rest == 0.0)
        return copysign(0.0, b);
    return (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

//: bit_cast
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

//: vec
template <typename T, int N> struct __align__(sizeof(T) * N) vec {
    T v[N];
};

//: vec.neg needs vec
template <typename T, int N> static __device__ __forceinline__ vec<T, N> operator-(vec<T, N> a)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        a.v[i] = -a.v[i];
    return a;
}

//: vec.add needs vec
template <typename T, int N> static __device__ __forceinline__ vec<T, N> operator+(vec<T, N> a, vec<T, N> b)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        a.v[i] = a.v[i] + b.v[i];
    return a;
}

//: vec.sub needs vec
template <typename T, int N> static __device__ __forceinline__ vec<T, N> operator-(vec<T, N> a, vec<T, N> b)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        a.v[i] = a.v[i] - b.v[i];
    return a;
}

//: vec.mul needs vec
template <typename T, int N> static __device__ __forceinline__ vec<T, N> operator*(vec<T, N> a, vec<T, N> b)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        a.v[i] = a.v[i] * b.v[i];
    return a;
}

//: vec.div needs vec
template <typename T, int N> static __device__ __forceinline__ vec<T, N> operator/(vec<T, N> a, vec<T, N> b)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        a.v[i] = a.v[i] / b.v[i];
    return a;
}

//: vec.min needs vec
template <typename T, int N> static __device__ __forceinline__ vec<T, N> min(vec<T, N> a, vec<T, N> b)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        a.v[i] = min(a.v[i], b.v[i]);
    return a;
}

//: vec.max needs vec
template <typename T, int N> static __device__ __forceinline__ vec<T, N> max(vec<T, N> a, vec<T, N> b)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        a.v[i] = max(a.v[i], b.v[i]);
    return a;
}

//: tensor_map
// CUtensorMap (CUDA Driver API): made by the launch, read by the copy engine.
struct alignas(64) tensor_map {
    unsigned long long words[16];
};
