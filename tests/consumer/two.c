// Two libraries made of one .hds file, with different constants: a prefix keeps their names apart.
#include "check.h"
#include "doubled/saxpy.h"
#include "plain/saxpy.h"

int main(int argc, char **argv)
{
    float *x = vector_new(), *y = vector_new();
    if (!x || !y)
        return 1;
    if (!succeeded(saxpy(2.0f, x, y, COUNT, NULL), "saxpy"))  // y = 3 i
        return 1;
    if (!succeeded(twice_saxpy(1.0f, x, y, COUNT, NULL), "twice_saxpy"))  // y = 5 i
        return 1;
    return !(vector_check(y, 5.0f, argc, argv) && vector_check(x, 1.0f, argc, argv));
}
