// A model with its weights in a safetensors file: opened once, run as often as needed.
//
//     build/classifier classifier.safetensors
//
// The file has hidden.weight, hidden.bias, head.weight and head.bias, in f32, as PyTorch's modules have them.
#include <stdio.h>
#include <stdlib.h>

#include <hds/runtime.h>

#include "classifier.h"

enum { ROWS = 3, IN = 16, OUT = 4 };

static void check(hdsrt_status status)
{
    if (status == HDSRT_OK)
        return;
    fprintf(stderr, "%s: %s\n", hdsrt_status_text(status), hdsrt_last_error());
    exit(1);
}

int main(int argc, char **argv)
{
    float rows[ROWS * IN], scores[ROWS * OUT];
    void *x, *y;
    classifier_model *model;
    for (int i = 0; i < ROWS * IN; i++)
        rows[i] = (float)(i % 7) / 7;
    check(hdsrt_use_device(0));
    check(classifier_open(argc > 1 ? argv[1] : "classifier.safetensors", NULL, &model));
    check(hdsrt_allocate(&x, sizeof rows, NULL));
    check(hdsrt_allocate(&y, sizeof scores, NULL));
    check(hdsrt_copy(x, rows, sizeof rows, NULL));
    check(classifier_run(model, x, y, ROWS, NULL));  // records a CUDA graph for three rows; further runs replay it
    check(hdsrt_copy(scores, y, sizeof scores, NULL));
    check(hdsrt_synchronize(NULL));
    for (int i = 0; i < ROWS; i++)
        printf("%g %g %g %g\n", scores[i * OUT], scores[i * OUT + 1], scores[i * OUT + 2], scores[i * OUT + 3]);
    classifier_close(model);
    check(hdsrt_release(x, NULL));
    check(hdsrt_release(y, NULL));
    return 0;
}
