// The quotient rounded down.
static __host__ __device__ __forceinline__ int floor_div(int a, int b)
{
    int quotient = a / b;
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// The remainder that goes with the quotient rounded down: it has the sign of b.
static __host__ __device__ __forceinline__ int floor_mod(int a, int b)
{
    int rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// The quotient rounded down.
static __host__ __device__ __forceinline__ long long floor_div(long long a, long long b)
{
    long long quotient = a / b;
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

extern "C" __global__ void __launch_bounds__(32) in_i32(
    int *__restrict__ x,  // i32[8]
    int n, int m)
{
    x[0] = n + m * 3 - -4;
    x[1] = (n + m) * (n - (m - 1)) - 5;
    x[2] = floor_div(n, m);
    x[3] = floor_mod(n, m);
    x[4] = n / 2 + m % 3;
    x[5] = ((n << 2) + 1) | ((n & 255) ^ (~m >> 3));
    x[6] = min(n, max(m, 7));
    x[7] = -n + -(-m) + (-2147483647 - 1);
    int t = threadIdx.x - 1;
    int u = threadIdx.x / 4 + (int)(threadIdx.x - 1) % 4;
    x[threadIdx.x] = t + u;
    x[(int)(threadIdx.x - 1)] = threadIdx.x / 32;
    x[threadIdx.x + 4] = floor_div((int)threadIdx.x, n) + min((int)threadIdx.x, n);
    if ((int)threadIdx.x < n && (blockIdx.x == 0 || true) && threadIdx.x < 32) {
        x[(int)(blockIdx.x * 128 + threadIdx.x)] = threadIdx.x < 4 ? (int)threadIdx.x : n;
    }
    if (!(n == m) || (n != 3 && m <= 4)) {
        x[2]++;
        x[3] -= n;
        x[4] *= 2;
        x[5] <<= 1;
        x[6] -= 8;
    }
}

extern "C" __global__ void __launch_bounds__(32) in_i64(
    long long *__restrict__ x,  // i64[n]
    int *__restrict__ y,        // i32[4]
    long long n, int k, long long r)
{
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    long long j = k * (long long)k;
    if (i < n) {
        x[i] = k + j;
        x[k] = 5000000000LL + n * 2;
        x[(int)(threadIdx.x - k)] = min(n, 7LL);
        x[2] = 1LL << n;
        x[3] = (-9223372036854775807LL - 1) + floor_div(n, j) + r / 4;
        x[4] = i == 0 ? 0 : j;
        x[5] = (long long)5 * 3;
    }
    y[0] = (int)n + (j > k);
    for (long long q = 0; q < k; q++) {
        x[q] = q;
    }
}

extern "C" __global__ void __launch_bounds__(32) unsigned_1(
    unsigned int *__restrict__ x,        // u32[8]
    unsigned long long *__restrict__ y,  // u64[8]
    unsigned int n, unsigned long long m)
{
    x[0] = n + 1;
    x[1] = n / 3 + n % 5;
    x[2] = n & 0xffffffffu;
    x[3] = threadIdx.x - 1;
    x[4] = min(n, 5u) >> 2;
    if (n <= 0xffffffffu && m > 0) {
        y[0] = n * m + 0xffffffffffffffffull;
    }
    y[1] = (unsigned long long)threadIdx.x << 3;
    y[2] = max(m, 1ull);
}

extern "C" __global__ void __launch_bounds__(1) narrow(
    signed char *__restrict__ a,     // i8[8]
    unsigned char *__restrict__ b,   // u8[8]
    short *__restrict__ c,           // i16[8]
    unsigned short *__restrict__ d,  // u16[8]
    signed char p, unsigned char q, bool f)
{
    a[0] = p + p * 2;
    a[1] = (signed char)(p + 1) >> 1;
    a[2] = (signed char)(p * p) / 3;
    a[3] = (signed char)(p * p) > 3 ? p : (signed char)-p;
    b[0] = q + q;
    b[1] = (unsigned char)(q + q) >> 1;
    b[2] = (unsigned char)~q / 2;
    b[3] = max(q, (unsigned char)(q - 1));
    c[0] = (short)p * (short)q;
    c[1] = (signed char)(p + p);
    d[0] = ((unsigned short)q << 8) | (unsigned short)b[1];
    d[1] = (unsigned short)f + (unsigned short)!f;
    a[4] = floor_div(p, 2);
    a[5] = floor_mod(p, 3);
    if ((f && p != 0) || f ^ true) {
        a[6] = (signed char)(q & 15);
    }
    c[2]++;
}
