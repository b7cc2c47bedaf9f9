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

static __device__ __forceinline__ int sign(int x)
{
    if (x < 0) {
        return -1;
    } else if (x == 0) {
        return 0;
    } else {
        return 1;
    }
}

static __device__ __forceinline__ int search(float *p, int n)
{
    int i = 0;
    while (true) {
        if (p[i] == 0.0f) {
            return i;
        }
        i++;
    }
}

static __device__ __forceinline__ float last(float *p, int n)
{
    float best = *p;
    for (int i = n - 1; i > -1; i--) {
        if (p[i] > best) {
            best = p[i];
        } else if (p[i] < 0.0f) {
            break;
        } else {
            continue;
        }
    }
    return best;
}

static __device__ __forceinline__ int bump(int *p)
{
    *p = *p + 1;
    return *p;
}

extern "C" __global__ void control(
    float *__restrict__ x,  // f32[n]
    int *__restrict__ y,    // i32[n]
    int n, int s)
{
    for (int i = 0; s > 0 ? i < n : i > n; i += s) {
        x[i] = 0.0f;
    }
    for (int i = bump(y), i_end = bump(y); i < i_end; i++) {
        x[i] = 1.0f;
    }
    #pragma unroll 2
    for (int i = 10; i > 0; i -= 2) {
        x[i] = 2.0f;
    }
    bump(&y[1]);
    int r;
    {
        if (n > 3) {
            r = 1;
            goto done;
        }
        for (int i = 0; i < n; i++) {
            if (x[i] > 0.0f) {
                r = i;
                goto done;
            }
            int t = i;
            y[t] = t;
        }
        int late = n;
        r = late;
    }
    done:;
    {
        if (n > 4) {
            y[0] = 1;
        } else {
            {
                y[0] = 2;
            }
        }
    }
    {
        while (n > r) {
            {
                r += sign(r);
                if (r == 7) {
                    goto done_1;
                }
                if (r == 8) {
                    goto done_2;
                }
                y[r] = r;
            }
            done_1:;
        }
        y[3] = 3;
    }
    done_2:;
    y[r] = search(x, n) + (int)last(x, n);
    if (n == 0) {
        return;
    }
}

extern "C" __global__ void __launch_bounds__(32) nobody_reads(
    int *__restrict__ x,  // i32[4]
    int n)
{
    bump(x);
    unsigned int u = (unsigned int)n;
    if (u > 0xffffffffu || u <= 0xffffffffu || (unsigned int)bump(&x[1]) > 0xffffffffu) {
        x[2] = floor_mod(floor_div(floor_div(floor_div(n, 4), 5), 6), 7);
    }
}
