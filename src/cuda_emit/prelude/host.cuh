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
// Extents and box are in the tensor's order of axes; the driver begins with the fastest. It is looked up where it is
// needed, so that programs do not link it. Rows that are no multiples of 16 bytes are an invalid value.
template <int rank>
static cudaError_t make_tensor_map(tensor_map *map, const void *at, int bytes, const long long (&extents)[rank],
                                   const int (&box)[rank], int swizzle, int promotion)
{
    typedef int encode_tiled(tensor_map *, int, unsigned, void *, const unsigned long long *, const unsigned long long *,
                             const unsigned *, const unsigned *, int, int, int, int);
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
    cudaError_t error =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
#else
    cudaError_t error = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
#endif
    if (error != cudaSuccess)
        return error;
    if (!found || result != cudaDriverEntryPointSuccess)
        return cudaErrorNotSupported;
    unsigned long long dims[rank], strides[rank], stride = bytes;
    unsigned edges[rank], steps[rank];
    for (int i = 0; i < rank; i++) {
        dims[i] = (unsigned long long)extents[rank - 1 - i];
        edges[i] = (unsigned)box[rank - 1 - i];
        steps[i] = 1;
        strides[i] = stride *= dims[i];
    }
    // CU_TENSOR_MAP_DATA_TYPE_UINT8, 16, 32, 64: a copy does not ask what its bits mean.
    int type = bytes == 8 ? 4 : bytes / 2, pattern = swizzle == 128 ? 3 : swizzle / 32, more = promotion / 64;
    int failed = ((encode_tiled *)found)(map, type, rank, const_cast<void *>(at), dims, strides, edges, steps, 0, pattern,
                                         more == 4 ? 3 : more, 0);
    return failed ? cudaErrorInvalidValue : cudaSuccess;
}
