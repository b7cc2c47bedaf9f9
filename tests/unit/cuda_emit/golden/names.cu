extern "C" __device__ float exp_1(float min_1)
{
    return min_1 * 2.0f;
}

extern "C" __global__ void __launch_bounds__(32) names(
    float *__restrict__ class_1,  // f32[4]
    int threadIdx_1, int f16_, int ring_index, int _2nd, int uint4_1)
{
    int x = threadIdx_1;
    int x_1 = x + 1;
    if (x_1 > 0) {
        int x_2 = x_1;
        int y = x_2;
        class_1[y] = exp_1(1.0f);
    }
    int y = f16_ + ring_index + _2nd + uint4_1;
    class_1[y] = x;
    for (int i = 0; i < 4; i++) {
        int i_1 = i * 2;
        class_1[i_1] = 0.0f;
    }
    for (int i = 0; i < 4; i++) {
        class_1[i] = 1.0f;
    }
}

extern "C" __global__ void __launch_bounds__(32) hides(
    float sqrtf_1,
    float *__restrict__ x)  // f32[4]
{
    x[0] = sqrtf(sqrtf_1);
}
