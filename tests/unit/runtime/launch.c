// Launches: what arrives at the driver, and what is refused.
#include "rig.h"

static fake_cuda_launch last(void)
{
    fake_cuda_launch l = {0};
    EXPECT(fake_cuda_launch_at(fake_cuda_launches() - 1, &l));
    return l;
}

RIG_TEST(parameters_and_extents)
{
    rig r;
    float a = 1.5f;
    uint64_t x = 0x1122334455667788, y = 0x99aabbccddeeff00;
    int n = -3;
    hdsrt_extents e = {.grid = {3, 4, 5}, .block = {8, 2, 1}, .dynamic_smem_bytes = 128};
    rig_usual(&r);
    EXPECT(hdsrt_launch(&r.saxpy, &e, (void *[]){&a, &x, &y, &n}, NULL) == HDSRT_OK);
    fake_cuda_launch l = last();
    EXPECT(strcmp(l.kernel, "saxpy") == 0 && !l.is_extended && l.arch == 90 && l.parameter_count == 4);
    EXPECT(l.grid[0] == 3 && l.grid[1] == 4 && l.grid[2] == 5 && l.block[0] == 8 && l.block[1] == 2 && l.block[2] == 1);
    EXPECT(l.dynamic_smem_bytes == 128 && !l.stream && !l.cluster[0] && !l.is_dependent);
    EXPECT(memcmp(l.parameters, &a, 4) == 0 && memcmp(l.parameters + 8, &x, 8) == 0);
    EXPECT(memcmp(l.parameters + 16, &y, 8) == 0 && memcmp(l.parameters + 24, &n, 4) == 0);
    EXPECT(rig_nothing(&r, &e) == HDSRT_OK && last().parameter_count == 0);
    rig_unload(&r);
    EXPECT(hdsrt_launch(&r.saxpy, &e, (void *[]){&a, &x, &y, &n}, NULL) == HDSRT_OK);
    EXPECT(fake_cuda_calls("cuLibraryLoadData") == 2);
    rig_unload(&r);
}

// The second launch asks the driver for nothing but the context.
RIG_TEST(the_second_launch_is_short)
{
    rig r;
    rig_usual(&r);
    EXPECT(rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK);
    fake_cuda_forget();
    EXPECT(rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK);
    static const char *const symbols[] = {
#define HDSRT_DRIVER(name, symbol, parameters) #symbol,
#include "runtime/driver.def"
#undef HDSRT_DRIVER
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        bool is_needed = strcmp(symbols[i], "cuCtxGetId") == 0 || strcmp(symbols[i], "cuLaunchKernel") == 0;
        EXPECT(fake_cuda_calls(symbols[i]) == is_needed);
    }
    rig_unload(&r);
}

static void refuse(rig *r, hdsrt_extents e, hdsrt_status status, const char *text)
{
    int before = fake_cuda_launches();
    EXPECT_FAILURE(status, rig_saxpy(r, &e, NULL), text);
    EXPECT(fake_cuda_launches() == before && hdsrt_last_driver_error() == 0);
    EXPECT(strstr(hdsrt_last_error(), "'saxpy' cannot be launched: ") == hdsrt_last_error());
}

static hdsrt_extents shape(int64_t gx, int64_t gy, int64_t gz, int64_t bx, int64_t by, int64_t bz)
{
    return (hdsrt_extents){.grid = {gx, gy, gz}, .block = {bx, by, bz}};
}

RIG_TEST(extents_out_of_range)
{
    rig r;
    hdsrt_status bad = HDSRT_INVALID_ARGUMENT;
    rig_usual(&r);
    refuse(&r, shape(-1, 1, 1, 1, 1, 1), bad,
           "its grid has -1 blocks along x, and a grid has at most 2147483647 there");
    refuse(&r, shape((int64_t)1 << 31, 1, 1, 1, 1, 1), bad, "its grid has 2147483648 blocks along x");
    refuse(&r, shape(1, 65536, 1, 1, 1, 1), bad,
           "its grid has 65536 blocks along y, and a grid has at most 65535 there");
    refuse(&r, shape(1, 1, INT64_MIN, 1, 1, 1), bad, "its grid has -9223372036854775808 blocks along z");
    refuse(&r, shape(1, 1, 1, 0, 1, 1), bad, "its blocks have 0 threads along x, and a block has 1 to 1024 there");
    refuse(&r, shape(1, 1, 1, 1, 1025, 1), bad, "its blocks have 1025 threads along y");
    refuse(&r, shape(1, 1, 1, 1, 1, 65), bad, "its blocks have 65 threads along z, and a block has 1 to 64 there");
    refuse(&r, shape(1, 1, 1, INT64_MIN, 1, 1), bad, "its blocks have -9223372036854775808 threads along x");
    refuse(&r, shape(1, 1, 1, 1024, 2, 1), bad, "its blocks have 2048 threads, and a block has at most 1024");
    hdsrt_extents e = rig_small;
    e.dynamic_smem_bytes = -1;
    refuse(&r, e, bad, "it asks for -1 bytes of dynamic shared memory");
    EXPECT(fake_cuda_calls("cuInit") == 0);
    EXPECT(rig_saxpy(&r, &(hdsrt_extents){.grid = {INT32_MAX, 65535, 65535}, .block = {16, 1, 64}}, NULL) == HDSRT_OK);
    rig_unload(&r);
}

RIG_TEST(a_grid_without_blocks)
{
    rig r;
    rig_usual(&r);
    setenv("HDSRT_DRIVER", "/nowhere", 1);
    for (int i = 0; i < 3; i++) {
        hdsrt_extents e = rig_small;
        e.grid[i] = 0;
        EXPECT(rig_saxpy(&r, &e, NULL) == HDSRT_OK);
    }
    EXPECT(fake_cuda_launches() == 0);
}

RIG_TEST(shared_memory)
{
    rig r;
    hdsrt_extents e = rig_small;
    rig_usual(&r);
    fake_cuda_function_attribute(1, 1000); // of its own
    e.dynamic_smem_bytes = 232448 - 1000;
    EXPECT(rig_saxpy(&r, &e, NULL) == HDSRT_OK && last().dynamic_smem_bytes == 231448);
    EXPECT(rig_saxpy(&r, &e, NULL) == HDSRT_OK && fake_cuda_calls("cuFuncSetAttribute") == 1);
    e.dynamic_smem_bytes++;
    refuse(&r, e, HDSRT_UNSUPPORTED,
           "it asks for 231449 bytes of dynamic shared memory beside 1000 of its own, and a block of this GPU (sm_90) "
           "has at most 232448");
    e.dynamic_smem_bytes = INT64_MAX;
    refuse(&r, e, HDSRT_UNSUPPORTED, "it asks for 9223372036854775807 bytes");
    // One that did not say that it may want more.
    e.dynamic_smem_bytes = 49152 - 1000;
    EXPECT(rig_nothing(&r, &e) == HDSRT_OK);
    e.dynamic_smem_bytes++;
    EXPECT_FAILURE(HDSRT_UNSUPPORTED, rig_nothing(&r, &e), "has at most 49152");
    rig_unload(&r);
}

RIG_TEST(threads_of_a_block)
{
    rig r;
    rig_usual(&r);
    fake_cuda_function_attribute(0, 256);
    EXPECT(rig_saxpy(&r, &(hdsrt_extents){.grid = {1, 1, 1}, .block = {256, 1, 1}}, NULL) == HDSRT_OK);
    refuse(&r, shape(1, 1, 1, 257, 1, 1), HDSRT_INVALID_ARGUMENT,
           "its blocks have 257 threads, and its code uses so many registers, or promises so "
           "few threads, that a block has at most 256");
    rig_unload(&r);
}

static hdsrt_extents clustered(int64_t grid, int64_t x, int64_t y, int64_t z)
{
    return (hdsrt_extents){.grid = {grid, 16, 1}, .block = {32, 1, 1}, .cluster = {x, y, z}};
}

RIG_TEST(clusters)
{
    rig r;
    hdsrt_status bad = HDSRT_INVALID_ARGUMENT;
    hdsrt_extents e = clustered(8, 2, 4, 1);
    rig_usual(&r);
    EXPECT(rig_saxpy(&r, &e, NULL) == HDSRT_OK);
    fake_cuda_launch l = last();
    EXPECT(l.is_extended && l.cluster[0] == 2 && l.cluster[1] == 4 && l.cluster[2] == 1 && !l.is_dependent);
    EXPECT(fake_cuda_calls("cuFuncSetAttribute") == 1);
    e = clustered(8, 8, 2, 1);
    EXPECT(rig_saxpy(&r, &e, NULL) == HDSRT_OK && last().cluster[0] == 8 && fake_cuda_calls("cuFuncSetAttribute") == 2);
    e = clustered(8, 1, 1, 1);
    EXPECT(rig_saxpy(&r, &e, NULL) == HDSRT_OK && !last().is_extended);
    refuse(&r, clustered(8, 3, 1, 1), bad, "its grid has 8 blocks along x, which is not a multiple of its cluster's 3");
    refuse(&r, clustered(8, 2, 3, 1), bad, "its grid has 16 blocks along y, which is not a multiple of its cluster's 3");
    refuse(&r, clustered(32, 16, 2, 1), bad, "its cluster is of 16 x 2 x 1 blocks, and a cluster has 1 to 16 blocks");
    refuse(&r, clustered(8, 2, 0, 1), bad, "its cluster is of 2 x 0 x 1 blocks");
    refuse(&r, clustered(8, INT64_MAX, INT64_MAX, 2), bad, "and a cluster has 1 to 16 blocks");
    rig_unload(&r);
}

RIG_TEST(a_cluster_that_is_compiled_in)
{
    rig r;
    rig_usual(&r);
    fake_cuda_function_attribute(11, 4);
    EXPECT(rig_saxpy(&r, &(hdsrt_extents){.grid = {8, 1, 1}, .block = {32, 1, 1}}, NULL) == HDSRT_OK &&
           !last().is_extended);
    refuse(&r, shape(6, 1, 1, 32, 1, 1), HDSRT_INVALID_ARGUMENT,
           "its grid has 6 blocks along x, which is not a multiple of its cluster's 4");
    rig_unload(&r);
}

// Without being allowed it is CUDA_ERROR_INVALID_CLUSTER_SIZE, as on an H200.
RIG_TEST(a_large_cluster_that_is_compiled_in)
{
    rig r;
    rig_usual(&r);
    fake_cuda_function_attribute(11, 16);
    int calls = fake_cuda_calls("cuFuncSetAttribute");
    EXPECT(rig_saxpy(&r, &(hdsrt_extents){.grid = {32, 1, 1}, .block = {32, 1, 1}}, NULL) == HDSRT_OK);
    EXPECT(fake_cuda_calls("cuFuncSetAttribute") == calls + 1);
    EXPECT(rig_saxpy(&r, &(hdsrt_extents){.grid = {32, 1, 1}, .block = {32, 1, 1}}, NULL) == HDSRT_OK);
    EXPECT(fake_cuda_calls("cuFuncSetAttribute") == calls + 1);
    rig_unload(&r);
}

RIG_TEST(dependent_launches)
{
    rig r;
    hdsrt_extents e = clustered(8, 2, 1, 1);
    rig_usual(&r);
    r.saxpy.flags = HDSRT_DEPENDENT_LAUNCH;
    EXPECT(rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK);
    EXPECT(last().is_extended && last().is_dependent && !last().cluster[0]);
    EXPECT(rig_saxpy(&r, &e, NULL) == HDSRT_OK && last().is_dependent && last().cluster[0] == 2);
    rig_unload(&r);
}

// A GPU of sm_100 runs the PTX for sm_80, where the kernel does not wait.
RIG_TEST(older_code_is_not_dependent)
{
    static const uint16_t archs[] = {80, 90 | HDSRT_ARCH_ONLY};
    rig r;
    rig_make(&r, archs, 2, 0);
    r.saxpy.flags = HDSRT_DEPENDENT_LAUNCH;
    fake_cuda_arch(0, 100);
    EXPECT(rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK && last().arch == 80 && !last().is_dependent);
    rig_unload(&r);
}

RIG_TEST(older_drivers_have_no_dependent_launches)
{
    rig r;
    rig_usual(&r);
    r.saxpy.flags = HDSRT_DEPENDENT_LAUNCH;
    fake_cuda_version(12020);
    EXPECT(rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK && !last().is_extended && !last().is_dependent);
    rig_unload(&r);
}

RIG_TEST(before_sm_90)
{
    rig r;
    rig_usual(&r);
    r.saxpy.flags = HDSRT_DEPENDENT_LAUNCH | HDSRT_LARGE_SHARED;
    fake_cuda_arch(0, 86);
    EXPECT(rig_saxpy(&r, &rig_small, NULL) == HDSRT_OK && !last().is_extended && !last().is_dependent);
    refuse(&r, clustered(8, 2, 1, 1), HDSRT_UNSUPPORTED,
           "it is for clusters of blocks, which GPUs have from sm_90 on, and this one is of sm_86");
    hdsrt_extents e = clustered(8, 1, 1, 1);
    EXPECT(rig_saxpy(&r, &e, NULL) == HDSRT_OK);
    e.dynamic_smem_bytes = 101376;
    EXPECT(rig_saxpy(&r, &e, NULL) == HDSRT_OK);
    e.dynamic_smem_bytes++;
    refuse(&r, e, HDSRT_UNSUPPORTED, "a block of this GPU (sm_86) has at most 101376");
    rig_unload(&r);
}

RIG_TEST(kernels_that_are_not_there)
{
    rig r;
    rig_usual(&r);
    r.saxpy.symbol = "daxpy";
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, rig_saxpy(&r, &rig_small, NULL),
                   "looking for 'saxpy' in the code of 'rig.hds': named symbol not found");
    EXPECT(rig_nothing(&r, &rig_small) == HDSRT_OK);
    rig_unload(&r);
    r.image[0] = 0;
    EXPECT_FAILURE(HDSRT_DRIVER_ERROR, rig_nothing(&r, &rig_small), "loading the code of 'rig.hds': ");
    rig_unload(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_and_extents),
        cmocka_unit_test(the_second_launch_is_short),
        cmocka_unit_test(extents_out_of_range),
        cmocka_unit_test(a_grid_without_blocks),
        cmocka_unit_test(shared_memory),
        cmocka_unit_test(threads_of_a_block),
        cmocka_unit_test(clusters),
        cmocka_unit_test(a_cluster_that_is_compiled_in),
        cmocka_unit_test(a_large_cluster_that_is_compiled_in),
        cmocka_unit_test(dependent_launches),
        cmocka_unit_test(older_code_is_not_dependent),
        cmocka_unit_test(older_drivers_have_no_dependent_launches),
        cmocka_unit_test(before_sm_90),
        cmocka_unit_test(kernels_that_are_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
