// Calls what many_elements.hds became, on the double of the CUDA driver: which kernels are launched follows from the number
// of elements that are reduced.
#include <string.h>

#include "expect.h"
#include "fake_cuda.h"
#include "many_elements.h"

// A parameter of so many bytes has that value.
static bool has_parameter(const fake_cuda_launch *launch, int64_t value, size_t bytes)
{
    bool has = false;
    for (int i = 0; i < launch->parameter_count; i++)
        has |= launch->sizes[i] == bytes && memcmp(launch->parameters + launch->offsets[i], &value, bytes) == 0;
    return has;
}

// Whether all launches since the last call, [count] of them, have the extent as a number of so many bytes.
static bool have_extent(int count, const char *kernel, int64_t extent, size_t bytes)
{
    bool have = fake_cuda_launches() == count;
    fake_cuda_launch launch;
    for (int i = 0; fake_cuda_launch_at(i, &launch); i++)
        have &= strstr(launch.kernel, kernel) && has_parameter(&launch, extent, bytes) &&
               !has_parameter(&launch, extent, 12 - bytes);
    fake_cuda_forget();
    return have;
}

int main(void)
{
    static char memory[256] __attribute__((aligned(64)));
    int64_t *number = (int64_t *)(void *)memory;
    int32_t *short_number = (int32_t *)(void *)(memory + 64);
    float *y = (float *)(void *)(memory + 128);
    const float *x = (const float *)(uintptr_t)0x100000000000; // never read: there is no memory for terabytes

    expect(matrix_index(x, number, 32767, 65536, NULL) == HDSRT_OK &&
           have_extent(2, "split_rows", 32767, 4), "2 ** 31 - 2 ** 16 elements");
    expect(matrix_index(x, number, 32769, 65536, NULL) == HDSRT_OK &&
           have_extent(2, "split_rows", 32769, 8), "2 ** 31 + 2 ** 16 elements");
    expect(matrix_index(x, number, 65537, 65536, NULL) == HDSRT_OK &&
           have_extent(2, "split_rows", 65537, 8), "2 ** 32 + 2 ** 16 elements");
    const int64_t far = (INT64_C(1) << 32) + 123456;
    expect(vector_index(x, number, far, NULL) == HDSRT_OK &&
           have_extent(2, "split_rows", far, 8), "an extent of 64 bits");
    expect(vector_index(x, number, 16777216, NULL) == HDSRT_OK &&
           have_extent(2, "split_rows", 16777216, 4), "a smaller one");
    expect(short_index(x, short_number, 32767, 65536, NULL) == HDSRT_OK &&
           have_extent(2, "split_rows", 32767, 4), "a number of 32 bits");
    expect(short_index(x, short_number, 65537, 65536, NULL) == HDSRT_ASSERTION &&
           fake_cuda_launches() == 0, "one that is too long");
    expect(strstr(hdsrt_last_error(), "is stored in 64 bits") != NULL, "the message says the rule");
    expect(column_means(x, y, 32767, 65536, 16, NULL) == HDSRT_OK &&
           have_extent(2, "reduce_columns", 32767, 4), "columns");
    expect(column_means(x, y, 65537, 65536, 16, NULL) == HDSRT_OK &&
           have_extent(2, "reduce_columns", 65537, 8), "tall columns");
    expect(column_means(x, y, 65537, 65536, 129, NULL) == HDSRT_ASSERTION &&
           fake_cuda_launches() == 0, "too many columns");
    expect(strstr(hdsrt_last_error(), "has 128 results at most") != NULL, "the message says the rule");
    return failures > 0;
}
