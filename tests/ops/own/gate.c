// A program that calls the operator of gate.hds.
#include <stdio.h>

#include "gate.h"

static char memory[3][2048] __attribute__((aligned(16)));  // stands for the GPU's

int main(void)
{
    int64_t shape[] = {2, 5, 64};
    hdsrt_tensor t[3] = {0};
    for (int i = 0; i < 3; i++) {
        t[i].data = memory[i];
        t[i].device.device_type = 2;
        t[i].dtype.code = 2;
        t[i].dtype.bits = 16;
        t[i].dtype.lanes = 1;
        t[i].ndim = 3;
        t[i].shape = shape;
    }
    hdsrt_status status = gated_shares(&t[0], &t[1], &t[2], 1.0f, NULL);
    if (status != HDSRT_OK)
        fprintf(stderr, "%s\n", hdsrt_last_error());
    return status != HDSRT_OK;
}
