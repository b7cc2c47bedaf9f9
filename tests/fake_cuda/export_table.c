// NVRTC looks for a driver, too, and calls this without asking whether it is there. There are no tables.
#include <stddef.h>

#include "fake_cuda.h"

FAKE_API int cuGetExportTable(const void **table, const void *id);

int cuGetExportTable(const void **table, const void *id)
{
    (void)id;
    *table = NULL;
    return 500; // CUDA_ERROR_NOT_FOUND
}
