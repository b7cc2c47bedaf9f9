// Kernels as C functions: from a pointer, by an argument struct, and what a call that makes no sense says.
#include "check.h"
#include "saxpy.h"

int main(int argc, char **argv)
{
    float *x = vector_new(), *y = vector_new();
    if (!x || !y)
        return 1;
    if (!succeeded(saxpy(2.0f, x, y, COUNT, NULL), "saxpy"))  // y = 3 i
        return 1;
    saxpy_args args = {.s = 4.0f, .x = x, .y = y, .n = COUNT};
    if (!succeeded(saxpy_call(&args, NULL), "saxpy_call"))  // y = 7 i
        return 1;
    if (saxpy(2.0f, NULL, y, COUNT, NULL) != HDSRT_INVALID_ARGUMENT || !strstr(hdsrt_last_error(), "'x'")) {
        fprintf(stderr, "a null pointer gave: %s\n", hdsrt_last_error());
        return 1;
    }
    return !(vector_check(y, 7.0f, argc, argv) && vector_check(x, 1.0f, argc, argv));
}
