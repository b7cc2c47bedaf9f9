// What host functions need; only in text for nvcc.

//: device_array
// Device memory that lives as long as its scope.
template <typename T> struct device_array {
    T *at = nullptr;
    cudaError_t error;

    explicit device_array(size_t count) : error(cudaMalloc(&at, count * sizeof(T) + 16)) {}
    device_array(const device_array &) = delete;
    ~device_array() { cudaFree(at); }
    operator T *() const { return at; }
};

//: device_array.fill needs device_array
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

//: host_array
// Host memory that lives as long as its scope.
template <typename T> struct host_array {
    T *at;

    explicit host_array(size_t count) : at(new T[count]()) {}
    host_array(const host_array &) = delete;
    ~host_array() { delete[] at; }
    operator T *() const { return at; }
};

//: make_tensor_map needs tensor_map
// [type]: a CUtensorMapDataType. Extents, strides (in elements) and box are in the tensor's order of axes; the driver begins
// with the fastest. It is looked up where it is needed, so that programs do not link it. Strides that are no multiples of 16
// bytes are an invalid value. With the map of a tensor without elements nothing may be copied. [walk]: in im2col mode.
struct pixel_walk {
    int lower[3], upper[3], step[3]; // from the fastest axis on
};

template <int rank>
static cudaError_t make_tensor_map(tensor_map *map, const void *at, int type, int bytes,
                                   const long long (&extents)[rank], const long long (&strides)[rank],
                                   const int (&box)[rank], int swizzle, int promotion, pixel_walk walk = {})
{
    typedef int encode_im2col(tensor_map *, int, unsigned, void *, const unsigned long long *, const unsigned long long *,
                              const int *, const int *, unsigned, unsigned, const unsigned *, int, int, int, int);
    const char *symbol = walk.step[0] ? "cuTensorMapEncodeIm2col" : "cuTensorMapEncodeTiled";
    typedef int encode_tiled(tensor_map *, int, unsigned, void *, const unsigned long long *, const unsigned long long *,
                             const unsigned *, const unsigned *, int, int, int, int);
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
    cudaError_t error =
        cudaGetDriverEntryPointByVersion(symbol, &found, 12000, cudaEnableDefault, &result);
#else
    cudaError_t error = cudaGetDriverEntryPoint(symbol, &found, cudaEnableDefault, &result);
#endif
    if (error != cudaSuccess)
        return error;
    if (!found || result != cudaDriverEntryPointSuccess)
        return cudaErrorNotSupported;
    bool is_empty = false;
    for (int i = 0; i < rank; i++)
        is_empty |= extents[i] == 0;
    unsigned long long dims[rank], rows[rank];
    unsigned edges[rank], steps[rank];
    for (int i = 0; i < rank; i++) {
        dims[i] = is_empty ? 1 : (unsigned long long)extents[rank - 1 - i];
        edges[i] = (unsigned)box[rank - 1 - i];
        steps[i] = walk.step[0] && i && i + 1 < rank ? walk.step[i - 1] : 1;
        rows[i] = is_empty || i + 1 == rank ? 32 : (unsigned long long)strides[rank - 2 - i] * bytes;
    }
    at = is_empty ? (const void *)32 : at;
    int pattern = swizzle == 128 ? 3 : swizzle / 32, more = promotion / 64;
    pixel_walk corners = is_empty ? pixel_walk{} : walk;
    void *base = const_cast<void *>(at);
    int l2 = more == 4 ? 3 : more;
    int failed = walk.step[0] ? ((encode_im2col *)found)(map, type, rank, base, dims, rows, corners.lower, corners.upper,
                                                         edges[0], edges[rank > 1], steps, 0, pattern, l2, 0)
                              : ((encode_tiled *)found)(map, type, rank, base, dims, rows, edges, steps, 0, pattern, l2, 0);
    return failed ? cudaErrorInvalidValue : cudaSuccess;
}

// Row by row without gaps.
template <int rank>
static cudaError_t make_tensor_map(tensor_map *map, const void *at, int type, int bytes,
                                   const long long (&extents)[rank], const int (&box)[rank], int swizzle,
                                   int promotion, pixel_walk walk = {})
{
    long long strides[rank], stride = 1;
    for (int i = rank - 1; i >= 0; stride *= extents[i], i--)
        strides[i] = stride;
    return make_tensor_map(map, at, type, bytes, extents, strides, box, swizzle, promotion, walk);
}
