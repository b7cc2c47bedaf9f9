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
