struct f16 {
    unsigned short bits;
};

static __device__ __forceinline__ void ldmatrix_x4(f16 *result, const f16 *address)
{
    unsigned int address_at = (unsigned int)__cvta_generic_to_shared(address);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(reinterpret_cast<unsigned int *>(result)[0]), "=r"(reinterpret_cast<unsigned int *>(result)[1]),
          "=r"(reinterpret_cast<unsigned int *>(result)[2]), "=r"(reinterpret_cast<unsigned int *>(result)[3])
        : "r"(address_at)
        : "memory");
}

static __device__ __forceinline__ void mma_m16n8k16_f16(float *result, const f16 *a, const f16 *b, const float *c)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=f"(result[0]), "=f"(result[1]), "=f"(result[2]), "=f"(result[3])
        : "r"(reinterpret_cast<const unsigned int *>(a)[0]), "r"(reinterpret_cast<const unsigned int *>(a)[1]),
          "r"(reinterpret_cast<const unsigned int *>(a)[2]), "r"(reinterpret_cast<const unsigned int *>(a)[3]),
          "r"(reinterpret_cast<const unsigned int *>(b)[0]), "r"(reinterpret_cast<const unsigned int *>(b)[1]),
          "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

extern "C" __global__ void __launch_bounds__(32) tensor_cores(
    const f16 *__restrict__ x,  // f16[1024]
    float *y,                   // f32[1024]
    int n)
{
    __shared__ __align__(16) f16 stage[1024];
    __align__(4) f16 a[16];
    __align__(8) f16 b[4];
    float acc[16] = {};  // f32[4, 4]
    *(uint4 *)&stage[threadIdx.x * 8] = *(const uint4 *)&x[threadIdx.x * 8];
    *(uint2 *)b = *(const uint2 *)&x[threadIdx.x * 4];
    __syncthreads();
    for (int k = 0; k < n; k++) {
        ldmatrix_x4(a, &stage[k * 64]);
        ldmatrix_x4(&a[8], &stage[k * 64 + 512]);
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            mma_m16n8k16_f16(&acc[i * 4], &a[i * 8], b, &acc[i * 4]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 16; i++) {
        y[(int)(i * 32 + threadIdx.x)] = acc[i];
    }
}
