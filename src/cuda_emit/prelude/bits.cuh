// Integers of 1, 2 and 4 bits. A value is held in a byte; in memory they are packed, the lowest element in the lowest
// bits. A store reads and writes the whole byte, so threads that store elements of one byte race.

//: wrap_sint
template <int bits>
static __host__ __device__ __forceinline__ signed char wrap_sint(int value)
{
    return (signed char)((value << (32 - bits)) >> (32 - bits));
}

//: wrap_uint
template <int bits>
static __host__ __device__ __forceinline__ unsigned char wrap_uint(int value)
{
    return (unsigned char)(value & ((1 << bits) - 1));
}

//: load_uint
template <int bits>
static __host__ __device__ __forceinline__ unsigned char load_uint(const unsigned char *from, long long i)
{
    int shift = (int)(i % (8 / bits)) * bits;
    return (unsigned char)(from[i / (8 / bits)] >> shift & ((1 << bits) - 1));
}

//: load_sint needs wrap_sint
template <int bits>
static __host__ __device__ __forceinline__ signed char load_sint(const unsigned char *from, long long i)
{
    int shift = (int)(i % (8 / bits)) * bits;
    return wrap_sint<bits>(from[i / (8 / bits)] >> shift);
}

//: store_bits
template <int bits>
static __host__ __device__ __forceinline__ void store_bits(unsigned char *to, long long i, int value)
{
    int shift = (int)(i % (8 / bits)) * bits, mask = (1 << bits) - 1;
    unsigned char *byte = to + i / (8 / bits);
    *byte = (unsigned char)((*byte & ~(mask << shift)) | (value & mask) << shift);
}
