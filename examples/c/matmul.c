// Ahead of time: the build compiles matmul_bias.hds (see CMakeLists.txt), and this program calls it as a C function. It takes
// its memory from libhdsrt; pointers and streams of the CUDA runtime or of any framework do as well.
#include <stdio.h>
#include <stdlib.h>

#include <hds/runtime.h>

#include "matmul_bias.h"

enum { M = 300, N = 200, K = 100 };

static float a[M * K], b[K * N], bias[N], c[M * N];

// Small whole numbers: their sums are exact in float, so the GPU has to find the very same.
static void fill(float *values, int count, int seed)
{
    for (int i = 0; i < count; i++)
        values[i] = (float)((i * 7 + seed) % 19 - 9);
}

static int wrong_results(void)
{
    int wrong = 0;
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            float expected = bias[j];
            for (int k = 0; k < K; k++)
                expected += a[i * K + k] * b[k * N + j];
            wrong += c[i * N + j] != expected;
        }
    }
    return wrong;
}

// Device memory with a copy of [bytes] at [host] (NULL: nothing is copied).
static hdsrt_status upload(float **device, const float *host, size_t bytes)
{
    hdsrt_status status = hdsrt_allocate((void **)device, (int64_t)bytes, NULL);
    return status == HDSRT_OK && host ? hdsrt_copy(*device, host, (int64_t)bytes, NULL) : status;
}

static hdsrt_status multiply(float *on_gpu[4])
{
    hdsrt_status status;
    if ((status = upload(&on_gpu[0], a, sizeof a)) != HDSRT_OK ||
        (status = upload(&on_gpu[1], b, sizeof b)) != HDSRT_OK ||
        (status = upload(&on_gpu[2], bias, sizeof bias)) != HDSRT_OK ||
        (status = upload(&on_gpu[3], NULL, sizeof c)) != HDSRT_OK)
        return status;
    // Grid, block and shared memory are the header's business; the launch checks pointers and sizes before anything runs.
    if ((status = matmul_bias(on_gpu[0], on_gpu[1], on_gpu[2], on_gpu[3], M, N, K, NULL)) != HDSRT_OK ||
        (status = hdsrt_copy(c, on_gpu[3], sizeof c, NULL)) != HDSRT_OK)
        return status;
    return hdsrt_synchronize(NULL);
}

int main(void)
{
    fill(a, M * K, 1);
    fill(b, K * N, 5);
    fill(bias, N, 3);

    float *on_gpu[4] = {NULL};
    hdsrt_status status = multiply(on_gpu);
    if (status != HDSRT_OK)
        fprintf(stderr, "matmul: %s\n", hdsrt_last_error());
    for (int i = 0; i < 4; i++)
        hdsrt_release(on_gpu[i], NULL);
    if (status != HDSRT_OK)
        return EXIT_FAILURE;

    int wrong = wrong_results();
    printf("%d x %d x %d: %d of %d results are wrong\n", M, N, K, wrong, M * N);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
