extern "C" __global__ void __launch_bounds__(256, 2) matmul(
    const float *__restrict__ a,  // f32[m, k]
    const float *__restrict__ b,  // f32[k, n]
    float *c,                     // f32[m, n]
    int m, int k, int n)
{
    __shared__ __align__(16) unsigned char smem[8192];
    float *const a_tile = reinterpret_cast<float *>(smem);  // f32[128, 8], column_major(128, 8)
    float *const b_tile = reinterpret_cast<float *>(smem + 4096);  // f32[8, 128]
    float acc[64] = {};  // f32[8, 8]
    int worker = threadIdx.x;
    int top = blockIdx.y * 128;
    int left = blockIdx.x * 128;
    for (int k0 = 0; k0 < k; k0 += 8) {
        #pragma unroll
        for (int s = 0; s < 4; s++) {
            int i = worker / 8 + s * 32;
            if (top + i < m && k0 + worker % 8 < k) {
                a_tile[worker % 8 * 128 + i] = a[(top + i) * (long long)k + (k0 + worker % 8)];
            } else {
                a_tile[worker % 8 * 128 + i] = 0.0f;
            }
        }
        *(float4 *)&b_tile[worker * 4] = *(const float4 *)&b[(k0 + worker / 32) * n + left + worker % 32 * 4];
        __syncthreads();
        #pragma unroll
        for (int kk = 0; kk < 8; kk++) {
            #pragma unroll
            for (int i = 0; i < 8; i++) {
                #pragma unroll
                for (int j = 0; j < 8; j++) {
                    acc[i * 8 + j] += a_tile[kk * 128 + worker / 16 * 8 + i] * b_tile[kk * 128 + worker % 16 * 8 + j];
                }
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 8; i++) {
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            c[(top + worker / 16 * 8 + i) * n + left + worker % 16 * 8 + j] = acc[i * 8 + j];
        }
    }
}
