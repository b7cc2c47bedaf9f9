// DLPack: tensors as PyTorch, JAX, CuPy and others hand them over. Here they are made by libhdsrt; what the kernel
// is called with looks the same wherever they come from. Sizes need not be passed: the tensors tell them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <hds/runtime.h>

#include "rms_norm.h"

enum { ROWS = 64, COLUMNS = 1000 };

static const hdsrt_dtype f32 = {2, 32};  // DLPack's code for floating point, and bits
static const float epsilon = 1e-5f;

static float x[ROWS * COLUMNS], weight[COLUMNS], y[ROWS * COLUMNS];

static double worst_error(void)
{
    double worst = 0;
    for (int i = 0; i < ROWS; i++) {
        double squares = 0;
        for (int j = 0; j < COLUMNS; j++)
            squares += (double)x[i * COLUMNS + j] * x[i * COLUMNS + j];
        double scale = 1 / sqrt(squares / COLUMNS + epsilon);
        for (int j = 0; j < COLUMNS; j++)
            worst = fmax(worst, fabs(y[i * COLUMNS + j] - x[i * COLUMNS + j] * weight[j] * scale));
    }
    return worst;
}

static hdsrt_status normalise(hdsrt_managed_tensor *tensors[3])
{
    const int64_t shape[] = {ROWS, COLUMNS};
    hdsrt_status status;
    if ((status = hdsrt_tensor_new(&tensors[0], f32, 2, shape, NULL)) != HDSRT_OK ||
        (status = hdsrt_tensor_new(&tensors[1], f32, 1, shape + 1, NULL)) != HDSRT_OK ||
        (status = hdsrt_tensor_new(&tensors[2], f32, 2, shape, NULL)) != HDSRT_OK)
        return status;
    hdsrt_tensor *t_x = &tensors[0]->dl_tensor, *t_weight = &tensors[1]->dl_tensor, *t_y = &tensors[2]->dl_tensor;
    if ((status = hdsrt_copy(t_x->data, x, sizeof x, NULL)) != HDSRT_OK ||
        (status = hdsrt_copy(t_weight->data, weight, sizeof weight, NULL)) != HDSRT_OK)
        return status;

    // A tensor that does not fit is refused before anything is launched.
    if (rms_norm_dlpack(t_x, t_weight, t_weight, epsilon, NULL) == HDSRT_INVALID_ARGUMENT)
        printf("as expected: %s\n", hdsrt_last_error());

    if ((status = rms_norm_dlpack(t_x, t_weight, t_y, epsilon, NULL)) != HDSRT_OK ||
        (status = hdsrt_copy(y, t_y->data, sizeof y, NULL)) != HDSRT_OK)
        return status;
    return hdsrt_synchronize(NULL);
}

int main(void)
{
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)(i * 37 % 101) / 50 - 1;
    for (int j = 0; j < COLUMNS; j++)
        weight[j] = 1 + (float)(j % 7) / 10;

    hdsrt_managed_tensor *tensors[3] = {NULL};
    hdsrt_status status = normalise(tensors);
    if (status != HDSRT_OK)
        fprintf(stderr, "dlpack: %s\n", hdsrt_last_error());
    for (int i = 0; i < 3; i++) {
        if (tensors[i])
            tensors[i]->deleter(tensors[i]);
    }
    if (status != HDSRT_OK)
        return EXIT_FAILURE;

    double worst = worst_error();
    printf("%d rows of %d: no result is off by more than %.1e\n", ROWS, COLUMNS, worst);
    return worst < 1e-5 ? EXIT_SUCCESS : EXIT_FAILURE;
}
