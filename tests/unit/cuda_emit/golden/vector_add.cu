// examples/kernel.hds for sm_90, by hdsc 1.2.3, with -O2

// vector_add[f32]
// c = a + b, element by element.
//
// One thread each.
extern "C" __global__ void __launch_bounds__(256) vector_add(
    const float *__restrict__ a,  // f32[n]
    const float *__restrict__ b,  // f32[n]
    float *__restrict__ c,        // f32[n]
    int n)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}
