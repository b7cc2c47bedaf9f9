// The library of operators: y = relu(x * w + bias), 3 × 3 windows of an image with channels last, in f32, without a
// kernel of one's own.
#include <stdio.h>
#include <stdlib.h>

#include <hds/ops.h>

enum { H = 15, W = 20, C = 8, K = 16, R = 3, STRIDE = 2, P = (H - 1) / STRIDE + 1, Q = (W - 1) / STRIDE + 1 };

static float x[H * W * C], w[K * R * R * C], bias[K], y[P * Q * K];

// Small whole numbers: their sums are exact in float, so the GPU has to find the very same.
static void fill(float *values, int count, int seed)
{
    for (int i = 0; i < count; i++)
        values[i] = (float)((i * 7 + seed) % 19 - 9);
}

// One element of zeros is around the image.
static float element(int p, int q, int k)
{
    float sum = bias[k];
    for (int r = 0; r < R; r++) {
        for (int s = 0; s < R; s++) {
            int h = p * STRIDE - 1 + r, v = q * STRIDE - 1 + s;
            for (int c = 0; h >= 0 && h < H && v >= 0 && v < W && c < C; c++)
                sum += x[(h * W + v) * C + c] * w[((k * R + r) * R + s) * C + c];
        }
    }
    return sum > 0 ? sum : 0;
}

static int wrong_results(void)
{
    int wrong = 0;
    for (int i = 0; i < P * Q * K; i++)
        wrong += y[i] != element(i / (Q * K), i / K % Q, i % K);
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

static hdsrt_status convolve(hdsrt_managed_tensor *t[4])
{
    hds_conv_options options = HDS_CONV_OPTIONS;
    hdsrt_status status;
    options.layout = HDS_LAYOUT_CHANNELS_LAST;
    for (int a = 0; a < 2; a++) {
        options.stride[a] = STRIDE;
        options.padding_before[a] = options.padding_after[a] = 1;
    }
    options.bias = &t[2]->dl_tensor;
    options.activation = HDS_ACTIVATION_RELU;
    if ((status = hds_conv2d(&t[0]->dl_tensor, &t[1]->dl_tensor, &t[3]->dl_tensor, &options, NULL)) != HDSRT_OK ||
        (status = hdsrt_copy(y, t[3]->dl_tensor.data, sizeof y, NULL)) != HDSRT_OK)
        return status;
    return hdsrt_synchronize(NULL);
}

int main(void)
{
    const int64_t x_shape[] = {1, H, W, C}, w_shape[] = {K, R, R, C}, bias_shape[] = {K}, y_shape[] = {1, P, Q, K};
    hdsrt_managed_tensor *t[4] = {NULL};
    fill(x, H * W * C, 1);
    fill(w, K * R * R * C, 5);
    fill(bias, K, 3);

    int failed = !(t[0] = upload(x, 4, x_shape)) || !(t[1] = upload(w, 4, w_shape)) ||
                 !(t[2] = upload(bias, 1, bias_shape)) || !(t[3] = upload(y, 4, y_shape)) || convolve(t) != HDSRT_OK;
    if (failed)
        fprintf(stderr, "convolution: %s\n", hdsrt_last_error());
    for (int i = 0; i < 4; i++) {
        if (t[i])
            t[i]->deleter(t[i]);
    }
    if (failed)
        return EXIT_FAILURE;

    int wrong = wrong_results();
    printf("%d of %d results are wrong\n", wrong, P * Q * K);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
