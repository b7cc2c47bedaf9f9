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
    const hdsrt_tensor *x = &t[0], *out = &t[2];
    hdsrt_status status = gated_shares(x, &t[1], out, 1.0f, NULL);
    if (status == HDSRT_OK)  // operands are read only: one may be the other
        status = gated_shares(x, x, out, 1.0f, NULL);
    if (status != HDSRT_OK)
        fprintf(stderr, "%s\n", hdsrt_last_error());
    return status != HDSRT_OK;
}
