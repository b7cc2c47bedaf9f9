#ifndef __CUDACC_RTC__
#include <math.h>
#include <stdio.h>
#endif

static __device__ __forceinline__ void wait_1()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

extern "C" __global__ void __launch_bounds__(256) fill_kernel(
    float *__restrict__ x,  // f32[n]
    int n, float v)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        x[i] = v;
    }
}

extern "C" __global__ void __launch_bounds__(256) big(
    float *__restrict__ x,  // f32[n]
    int n)
{
    extern __shared__ __align__(16) unsigned char dynamic_smem[];
    float *const t = reinterpret_cast<float *>(dynamic_smem);  // f32[128, 128]
    t[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = t[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(32) clustered(
    float *__restrict__ x,  // f32[n]
    int n, int c)
{
    x[threadIdx.x] = 0.0f;
}

extern "C" __global__ void __launch_bounds__(32) __cluster_dims__(2, 1, 1) paired(
    float *__restrict__ x,  // f32[n]
    int n)
{
    x[threadIdx.x] = 0.0f;
}

extern "C" __global__ void __launch_bounds__(32) early(
    const float *x,  // f32[n]
    float *y,        // f32[n]
    int n)
{
    wait_1();
    y[threadIdx.x] = x[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(32) early_cluster(
    float *x,  // f32[n]
    int n, int c)
{
    wait_1();
    x[threadIdx.x] = 1.0f;
}

#ifndef __CUDACC_RTC__

// The quotient rounded down.
static __host__ __device__ __forceinline__ int floor_div(int a, int b)
{
    int quotient = a / b;
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
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

// Device memory that lives as long as its scope.
template <typename T> struct device_array {
    T *at = nullptr;
    cudaError_t error;

    explicit device_array(size_t count) : error(cudaMalloc(&at, count * sizeof(T) + 16)) {}
    device_array(const device_array &) = delete;
    ~device_array() { cudaFree(at); }
    operator T *() const { return at; }
};

template <typename T> static cudaError_t fill(const device_array<T> &array, size_t count, T value, cudaStream_t stream)
{
    T *host = new T[count];
    for (size_t i = 0; i < count; i++)
        host[i] = value;
    cudaError_t error = cudaMemcpyAsync(array.at, host, count * sizeof(T), cudaMemcpyHostToDevice, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    delete[] host;
    return error;
}

// Host memory that lives as long as its scope.
template <typename T> struct host_array {
    T *at;

    explicit host_array(size_t count) : at(new T[count]()) {}
    host_array(const host_array &) = delete;
    ~host_array() { delete[] at; }
    operator T *() const { return at; }
};

static inline int shared_helper(int n)
{
    return floor_div(n, 3);
}

static inline int ceil_div(int a, int b)
{
    return floor_div(a + b - 1, b);
}

static inline cudaError_t inner(
    float *x,  // f32[n]
    int n, cudaStream_t stream)
{
    {
        dim3 grid(floor_div(n + 255, 256)), block(256);
        size_t smem_bytes = 0;
        if (grid.x && grid.y && grid.z) {
            fill_kernel<<<grid, block, smem_bytes, stream>>>(x, n, 1.0f);
            if (cudaError_t error = cudaGetLastError())
                return error;
        }
    }
    return cudaSuccess;
}

// Runs it all.
extern "C" cudaError_t run(
    float *x,  // f32[m, n]
    int m, int n, cudaStream_t stream)
{
    device_array<float> y((size_t)m * n);  // f32[m, n]
    if (cudaError_t error = y.error)
        return error;
    if (cudaError_t error = fill<float>(y, (size_t)m * n, 0.5f, stream))
        return error;
    host_array<float> z(16);  // f32[16]
    for (size_t i = 0; i < 16; i++)
        z[i] = 2.0f;
    int total = m * n;
    z[0] = total;
    for (int i = 0; i < 16; i++) {
        z[i] += fminf((float)i, 3.0f);
    }
    if (total <= 0) {
        fprintf(stderr, "%s\n", "host.hir:52: assertion failed: a shape of nothing");
        return cudaErrorAssert;
    }
    if (total <= 0) __builtin_unreachable();
    printf("%d elements, %f\n", total, z[1]);
    if (cudaError_t error = cudaMemcpyAsync(y, z, 64, cudaMemcpyDefault, stream))
        return error;
    if (cudaError_t error = cudaStreamSynchronize(stream))
        return error;
    {
        int n_1 = ceil_div(total, 2);
        dim3 grid(floor_div(n_1 + 255, 256)), block(256);
        size_t smem_bytes = 0;
        if (grid.x && grid.y && grid.z) {
            fill_kernel<<<grid, block, smem_bytes, stream>>>(y, n_1, 3.0f);
            if (cudaError_t error = cudaGetLastError())
                return error;
        }
    }
    if (cudaError_t error = inner(x, total, stream))
        return error;
    if (total > 4) {
        {
            dim3 grid(2, 3), block(32, 8);
            size_t smem_bytes = 65536 + total * 4;
            if (cudaError_t error = cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)smem_bytes))
                return error;
            big<<<grid, block, smem_bytes, stream>>>(x, total);
            if (cudaError_t error = cudaGetLastError())
                return error;
        }
        return cudaSuccess;
    }
    {
        dim3 grid(8), block(32);
        size_t smem_bytes = 0;
        cudaLaunchAttribute attributes[1] = {};
        attributes[0].id = cudaLaunchAttributeClusterDimension;
        attributes[0].val.clusterDim.x = 2;
        attributes[0].val.clusterDim.y = 1;
        attributes[0].val.clusterDim.z = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = grid;
        config.blockDim = block;
        config.dynamicSmemBytes = smem_bytes;
        config.stream = stream;
        config.attrs = attributes;
        config.numAttrs = 1;
        if (cudaError_t error = cudaLaunchKernelEx(&config, clustered, x, n, 2))
            return error;
    }
    {
        int n_1 = shared_helper(n);
        dim3 grid(8), block(32);
        size_t smem_bytes = 0;
        paired<<<grid, block, smem_bytes, stream>>>(x, n_1);
        if (cudaError_t error = cudaGetLastError())
            return error;
    }
    {
        dim3 grid(8), block(32);
        size_t smem_bytes = 0;
        cudaLaunchAttribute attributes[1] = {};
        attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[0].val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = grid;
        config.blockDim = block;
        config.dynamicSmemBytes = smem_bytes;
        config.stream = stream;
        config.attrs = attributes;
        config.numAttrs = 1;
        if (cudaError_t error = cudaLaunchKernelEx(&config, early, x, y, n))
            return error;
    }
    {
        dim3 grid(8), block(32);
        size_t smem_bytes = 0;
        cudaLaunchAttribute attributes[2] = {};
        attributes[0].id = cudaLaunchAttributeClusterDimension;
        attributes[0].val.clusterDim.x = total;
        attributes[0].val.clusterDim.y = 1;
        attributes[0].val.clusterDim.z = 1;
        attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[1].val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = grid;
        config.blockDim = block;
        config.dynamicSmemBytes = smem_bytes;
        config.stream = stream;
        config.attrs = attributes;
        config.numAttrs = 2;
        if (cudaError_t error = cudaLaunchKernelEx(&config, early_cluster, x, n, total))
            return error;
    }
    unsigned int bits = bit_cast<unsigned int>(z[2]);
    printf("%x %f %s\n", bits, INFINITY, "end");
    return cudaSuccess;
}

#endif
