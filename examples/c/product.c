// The library of operators: c = relu(a · b + bias) in f32, without a kernel of one's own. Tensors are those of
// DLPack, as frameworks have them.
#include <stdio.h>
#include <stdlib.h>

#include <hds/ops.h>

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
            wrong += c[i * N + j] != (expected > 0 ? expected : 0);
        }
    }
    return wrong;
}

// A tensor on the GPU with a copy of [host].
static hdsrt_managed_tensor *upload(const float *host, int axes, const int64_t *shape)
{
    const hdsrt_dtype f32 = {2, 32};
    int64_t bytes = sizeof(float);
    hdsrt_managed_tensor *t = NULL;
    for (int i = 0; i < axes; i++)
        bytes *= shape[i];
    if (hdsrt_tensor_new(&t, f32, axes, shape, NULL) != HDSRT_OK)
        return NULL;
    if (hdsrt_copy(t->dl_tensor.data, host, bytes, NULL) == HDSRT_OK)
        return t;
    t->deleter(t);
    return NULL;
}

static hdsrt_status multiply(hdsrt_managed_tensor *t[4])
{
    hds_matmul_options options = HDS_MATMUL_OPTIONS;
    hdsrt_status status;
    options.bias = &t[2]->dl_tensor;
    options.activation = HDS_ACTIVATION_RELU;
    if ((status = hds_matmul(&t[0]->dl_tensor, &t[1]->dl_tensor, &t[3]->dl_tensor, &options, NULL)) != HDSRT_OK ||
        (status = hdsrt_copy(c, t[3]->dl_tensor.data, sizeof c, NULL)) != HDSRT_OK)
        return status;
    return hdsrt_synchronize(NULL);
}

int main(void)
{
    const int64_t a_shape[] = {M, K}, b_shape[] = {K, N}, c_shape[] = {M, N};
    hdsrt_managed_tensor *t[4] = {NULL};
    fill(a, M * K, 1);
    fill(b, K * N, 5);
    fill(bias, N, 3);

    int failed = !(t[0] = upload(a, 2, a_shape)) || !(t[1] = upload(b, 2, b_shape)) ||
                 !(t[2] = upload(bias, 1, &b_shape[1])) || !(t[3] = upload(c, 2, c_shape)) || multiply(t) != HDSRT_OK;
    if (failed)
        fprintf(stderr, "product: %s\n", hdsrt_last_error());
    for (int i = 0; i < 4; i++) {
        if (t[i])
            t[i]->deleter(t[i]);
    }
    if (failed)
        return EXIT_FAILURE;

    int wrong = wrong_results();
    printf("%d x %d x %d: %d of %d results are wrong\n", M, N, K, wrong, M * N);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
