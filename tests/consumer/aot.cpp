// The same header in C++, with the kernels of two files and a DLPack tensor.
#include "check.h"
#include "saxpy.h"
#include "scale.h"

int main(int argc, char **argv)
{
    float *x = vector_new(), *y = vector_new();
    if (!x || !y)
        return 1;
    int64_t shape[] = {COUNT};
    hdsrt_tensor from{}, to{};
    from.data = x;
    from.device = {2, 0};
    from.ndim = 1;
    from.dtype = {2, 32, 1};
    from.shape = shape;
    to = from;
    to.data = y;
    if (!succeeded(scale_f32_dlpack(0.5f, &from, &to, nullptr), "scale_f32_dlpack"))  // y = i / 2
        return 1;
    if (!succeeded(saxpy(1.5f, x, y, COUNT, nullptr), "saxpy"))  // y = 2 i
        return 1;
    from.dtype = {2, 16, 1};
    if (scale_f32_dlpack(0.5f, &from, &to, nullptr) != HDSRT_INVALID_ARGUMENT)
        return 1;
    return !(vector_check(y, 2.0f, argc, argv) && vector_check(x, 1.0f, argc, argv));
}
