// Sorts of rows by CUB, which bench/memory_ops.py measures beside ours: values in order, and the column of each, as ours write them.
//
//     nvcc -O3 -std=c++17 -arch=sm_90a -shared -Xcompiler -fPIC bench/memory/sorts.cu -o sorts.so     with sorts.h beside it
//
//     sort_TYPE_cub_segmented    cub::DeviceSegmentedSort::StableSortPairs, rows as segments
//     sort_TYPE_cub_radix        cub::DeviceSegmentedRadixSort::SortPairs
//     sort_TYPE_cub_block        a kernel of one's own around cub::BlockRadixSort: a block for each row, of 768 or 4096
//                                columns, whose numbers have 16 bits until they are stored
//
// Memory is allocated by the first call for a size, which therefore must not be captured. cub::DeviceSegmentedSort synchronises
// with the host, so that it is in no graph.
#include <cstdint>
#include <map>
#include <utility>

#include <cub/cub.cuh>
#include <cuda_fp16.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "sorts.h"

namespace {

const char *problem = "";

hdsrt_status status_of(cudaError_t error)
{
    problem = error == cudaSuccess ? "" : cudaGetErrorString(error);
    return error == cudaSuccess ? 0 : 1;
}

struct BeginOfRow {
    int64_t columns;
    __host__ __device__ int64_t operator()(int64_t row) const { return row * columns; }
};

// What the device-wide sorts need besides their operands: the columns before and after, and memory of their own.
struct Space {
    int32_t *before = nullptr, *after = nullptr;
    void *own = nullptr;
    size_t bytes = 0;
};

__global__ void number_columns(int32_t *columns, int64_t count, int32_t n)
{
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count)
        columns[i] = int32_t(i % n);
}

// sort(own, bytes, before, after, begins, ends): one of CUB's functions of all rows.
template <typename Sort>
hdsrt_status by_device(std::map<std::pair<int32_t, int32_t>, Space> &spaces, int32_t m, int32_t n, cudaStream_t stream, Sort sort)
{
    auto begins = thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0), BeginOfRow{n});
    Space &space = spaces[{m, n}];
    if (!space.before) {
        int64_t count = int64_t(m) * n;
        cudaError_t error = sort(nullptr, space.bytes, nullptr, nullptr, begins, begins + 1);
        for (void **p : {(void **)&space.before, (void **)&space.after})
            error = error == cudaSuccess ? cudaMalloc(p, count * sizeof(int32_t)) : error;
        error = error == cudaSuccess ? cudaMalloc(&space.own, space.bytes) : error;
        if (error != cudaSuccess)
            return status_of(error);
        number_columns<<<unsigned((count + 255) / 256), 256, 0, stream>>>(space.before, count, n);
    }
    return status_of(sort(space.own, space.bytes, space.before, space.after, begins, begins + 1));
}

template <typename T>
hdsrt_status segmented(const T *x, T *y, int32_t m, int32_t n, cudaStream_t stream)
{
    static std::map<std::pair<int32_t, int32_t>, Space> spaces;
    return by_device(spaces, m, n, stream, [&](void *own, size_t &bytes, int32_t *before, int32_t *after, auto begins, auto ends) {
        return cub::DeviceSegmentedSort::StableSortPairs(own, bytes, x, y, before, after, int64_t(m) * n, m, begins, ends, stream);
    });
}

template <typename T>
hdsrt_status radix(const T *x, T *y, int32_t m, int32_t n, cudaStream_t stream)
{
    static std::map<std::pair<int32_t, int32_t>, Space> spaces;
    return by_device(spaces, m, n, stream, [&](void *own, size_t &bytes, int32_t *before, int32_t *after, auto begins, auto ends) {
        return cub::DeviceSegmentedRadixSort::SortPairs(own, bytes, x, y, before, after, int64_t(m) * n, m, begins, ends, 0,
                                                        int(sizeof(T) * 8), stream);
    });
}

template <typename T, int THREADS, int ITEMS>
__global__ __launch_bounds__(THREADS) void sort_row(const T *x, T *y, int32_t *columns)
{
    using Sort = cub::BlockRadixSort<T, THREADS, ITEMS, uint16_t>;
    using Load = cub::BlockLoad<T, THREADS, ITEMS, cub::BLOCK_LOAD_VECTORIZE>;
    __shared__ typename Sort::TempStorage space;
    T keys[ITEMS];
    uint16_t indices[ITEMS];
    int64_t begin = int64_t(blockIdx.x) * (THREADS * ITEMS);
    Load().Load(x + begin, keys);
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        indices[i] = uint16_t(threadIdx.x * ITEMS + i);
    Sort(space).SortBlockedToStriped(keys, indices);
    cub::StoreDirectStriped<THREADS>(threadIdx.x, y + begin, keys);
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        columns[begin + threadIdx.x + i * THREADS] = indices[i];
}

template <typename T>
hdsrt_status block(const T *x, T *y, int32_t m, int32_t n, cudaStream_t stream)
{
    static std::map<std::pair<int32_t, int32_t>, int32_t *> spaces;
    int32_t *&columns = spaces[{m, n}];
    if (!columns) {
        cudaError_t error = cudaMalloc(&columns, int64_t(m) * n * sizeof(int32_t));
        if (error != cudaSuccess)
            return status_of(error);
    }
    // The fastest of nine divisions on an H200: 64 to 1024 threads, of 3 to 32 items each.
    if (n == 768)
        sort_row<T, 64, 12><<<m, 64, 0, stream>>>(x, y, columns);
    else if (n == 4096)
        sort_row<T, 128, 32><<<m, 128, 0, stream>>>(x, y, columns);
    else
        return status_of(cudaErrorInvalidValue);
    return status_of(cudaGetLastError());
}

} // namespace

extern "C" {

const char *hdsrt_last_error(void)
{
    return problem;
}

#define SORT(T, C, WAY) \
    hdsrt_status sort_##T##_cub_##WAY(const void *x, void *y, int32_t m, int32_t n, hdsrt_stream stream) \
    { \
        return WAY((const C *)x, (C *)y, m, n, (cudaStream_t)stream); \
    }

SORT(f16, __half, segmented)
SORT(f32, float, segmented)
SORT(f16, __half, radix)
SORT(f32, float, radix)
SORT(f16, __half, block)
SORT(f32, float, block)
}
