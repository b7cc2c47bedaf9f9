// From variants.hds, for sm_80, sm_90a, by hdsc 1.2.3, with -D N=4
#include "variants.h"

static const uint64_t hds_image[] = {
    0x3736353433323130, 0x3938,
};

static const uint16_t hds_archs[] = {80, 90 | HDSRT_ARCH_ONLY};

static hdsrt_library hds_library = {
    .name = "variants.hds",
    .image = hds_image,
    .image_bytes = 10,
    .archs = hds_archs,
    .arch_count = 2,
    .ptx_arch = -1,
};

static hdsrt_kernel hds_kernel_same = {
    .library = &hds_library,
    .symbol = "same",
    .name = "same",
};

static const hdsrt_tensor_rule hds_rules_same[] = {
    {"x", {2, 32}, 1, true, 16},
};

static hdsrt_kernel hds_kernel_differs = {
    .library = &hds_library,
    .symbol = "differs",
    .name = "differs",
    .flags = HDSRT_LARGE_SHARED,
};

static const hdsrt_tensor_rule hds_rules_differs[] = {
    {"x", {2, 32}, 1, true, 16},
};

static const hdsrt_tensor_rule hds_rules_uses[] = {
    {"x", {2, 32}, 1, true, 16},
};

static hdsrt_kernel hds_kernel_newer = {
    .library = &hds_library,
    .symbol = "newer",
    .name = "newer",
};

static const hdsrt_tensor_rule hds_rules_newer[] = {
    {"x", {2, 32}, 1, true, 16},
};

// The quotient rounded down; 0 where there is none.
static int64_t floor_div_i64(int64_t a, int64_t b)
{
    if (b == 0 || (b == -1 && a == INT64_MIN))
        return b ? a : 0;
    int64_t quotient = a / b;
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

hdsrt_status same(float *x, hdsrt_stream stream)
{
    static const int64_t x_shape[] = {4};
    const hdsrt_tensor_value tensors[] = {{x, x_shape}};
    hdsrt_status status = hdsrt_check_tensors("same", hds_rules_same, tensors, 1);
    if (status != HDSRT_OK)
        return status;
    static const hdsrt_extents extents = {
        .grid = {1, 1, 1},
        .block = {32, 1, 1},
    };
    void *parameters[] = {&x};
    return hdsrt_launch(&hds_kernel_same, &extents, parameters, stream);
}

hdsrt_status same_call(const same_args *args, hdsrt_stream stream)
{
    if (!args)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'same': its arguments are null");
    return same(args->x, stream);
}

hdsrt_status same_dlpack(const hdsrt_tensor *x, hdsrt_stream stream)
{
    const void *x_data;
    hdsrt_status status = hdsrt_check_dlpack("same", &hds_rules_same[0], x, &x_data);
    if (status != HDSRT_OK)
        return status;
    status = hdsrt_check_extent("same", "x", 0, x->shape[0], 4, "4");
    if (status != HDSRT_OK)
        return status;
    return same((float *)x_data, stream);
}

static hdsrt_status differs_sm_80(float *x, int32_t n, hdsrt_stream stream)
{
    const int64_t x_shape[] = {n};
    const hdsrt_tensor_value tensors[] = {{x, x_shape}};
    hdsrt_status status = hdsrt_check_tensors("differs", hds_rules_differs, tensors, 1);
    if (status != HDSRT_OK)
        return status;
    const hdsrt_extents extents = {
        .grid = {floor_div_i64((int64_t)n + 63, 64LL), 1, 1},
        .block = {64, 1, 1},
        .dynamic_smem_bytes = 4096,
    };
    void *parameters[] = {&x, &n};
    return hdsrt_launch(&hds_kernel_differs, &extents, parameters, stream);
}

static hdsrt_status differs_sm_90a(float *x, int32_t n, hdsrt_stream stream)
{
    const int64_t x_shape[] = {n};
    const hdsrt_tensor_value tensors[] = {{x, x_shape}};
    hdsrt_status status = hdsrt_check_tensors("differs", hds_rules_differs, tensors, 1);
    if (status != HDSRT_OK)
        return status;
    const hdsrt_extents extents = {
        .grid = {floor_div_i64((int64_t)n + 127, 128LL), 1, 1},
        .block = {128, 1, 1},
        .dynamic_smem_bytes = 65536,
    };
    void *parameters[] = {&x, &n};
    return hdsrt_launch(&hds_kernel_differs, &extents, parameters, stream);
}

hdsrt_status differs(float *x, int32_t n, hdsrt_stream stream)
{
    int variant;
    hdsrt_status status = hdsrt_variant(&hds_library, &variant);
    if (status != HDSRT_OK)
        return status;
    switch (variant) {
    case 0: return differs_sm_80(x, n, stream);
    case 1: return differs_sm_90a(x, n, stream);
    default: return hdsrt_fail(HDSRT_NO_CODE, "'differs' was not compiled for this GPU");
    }
}

hdsrt_status differs_call(const differs_args *args, hdsrt_stream stream)
{
    if (!args)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'differs': its arguments are null");
    return differs(args->x, args->n, stream);
}

hdsrt_status differs_dlpack(const hdsrt_tensor *x, hdsrt_stream stream)
{
    const void *x_data;
    hdsrt_status status = hdsrt_check_dlpack("differs", &hds_rules_differs[0], x, &x_data);
    if (status != HDSRT_OK)
        return status;
    const int64_t n = x->shape[0];
    if (n > 2147483647)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'differs': 'x' has extent %lld along axis 0, and it has to be at most 2147483647", (long long)n);
    return differs((float *)x_data, (int32_t)n, stream);
}

static hdsrt_status uses_sm_80(float *x, int32_t n, hdsrt_stream stream)
{
    const int64_t x_shape[] = {n};
    const hdsrt_tensor_value tensors[] = {{x, x_shape}};
    hdsrt_status status = hdsrt_check_tensors("uses", hds_rules_uses, tensors, 1);
    if (status != HDSRT_OK)
        return status;
    if (n > 64) {
        status = differs(x, n, stream);
        if (status != HDSRT_OK)
            return status;
    }
    return HDSRT_OK;
}

static hdsrt_status uses_sm_90a(float *x, int32_t n, hdsrt_stream stream)
{
    const int64_t x_shape[] = {n};
    const hdsrt_tensor_value tensors[] = {{x, x_shape}};
    hdsrt_status status = hdsrt_check_tensors("uses", hds_rules_uses, tensors, 1);
    if (status != HDSRT_OK)
        return status;
    if (n > 128) {
        status = differs(x, n, stream);
        if (status != HDSRT_OK)
            return status;
    }
    return HDSRT_OK;
}

hdsrt_status uses(float *x, int32_t n, hdsrt_stream stream)
{
    int variant;
    hdsrt_status status = hdsrt_variant(&hds_library, &variant);
    if (status != HDSRT_OK)
        return status;
    switch (variant) {
    case 0: return uses_sm_80(x, n, stream);
    case 1: return uses_sm_90a(x, n, stream);
    default: return hdsrt_fail(HDSRT_NO_CODE, "'uses' was not compiled for this GPU");
    }
}

hdsrt_status uses_call(const uses_args *args, hdsrt_stream stream)
{
    if (!args)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'uses': its arguments are null");
    return uses(args->x, args->n, stream);
}

hdsrt_status uses_dlpack(const hdsrt_tensor *x, hdsrt_stream stream)
{
    const void *x_data;
    hdsrt_status status = hdsrt_check_dlpack("uses", &hds_rules_uses[0], x, &x_data);
    if (status != HDSRT_OK)
        return status;
    const int64_t n = x->shape[0];
    if (n > 2147483647)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'uses': 'x' has extent %lld along axis 0, and it has to be at most 2147483647", (long long)n);
    return uses((float *)x_data, (int32_t)n, stream);
}

static hdsrt_status newer_sm_90a(float *x, hdsrt_stream stream)
{
    static const int64_t x_shape[] = {4};
    const hdsrt_tensor_value tensors[] = {{x, x_shape}};
    hdsrt_status status = hdsrt_check_tensors("newer", hds_rules_newer, tensors, 1);
    if (status != HDSRT_OK)
        return status;
    static const hdsrt_extents extents = {
        .grid = {1, 1, 1},
        .block = {32, 1, 1},
    };
    void *parameters[] = {&x};
    return hdsrt_launch(&hds_kernel_newer, &extents, parameters, stream);
}

hdsrt_status newer(float *x, hdsrt_stream stream)
{
    int variant;
    hdsrt_status status = hdsrt_variant(&hds_library, &variant);
    if (status != HDSRT_OK)
        return status;
    switch (variant) {
    case 1: return newer_sm_90a(x, stream);
    default: return hdsrt_fail(HDSRT_NO_CODE, "'newer' was not compiled for this GPU");
    }
}

hdsrt_status newer_call(const newer_args *args, hdsrt_stream stream)
{
    if (!args)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'newer': its arguments are null");
    return newer(args->x, stream);
}

hdsrt_status newer_dlpack(const hdsrt_tensor *x, hdsrt_stream stream)
{
    const void *x_data;
    hdsrt_status status = hdsrt_check_dlpack("newer", &hds_rules_newer[0], x, &x_data);
    if (status != HDSRT_OK)
        return status;
    status = hdsrt_check_extent("newer", "x", 0, x->shape[0], 4, "4");
    if (status != HDSRT_OK)
        return status;
    return newer((float *)x_data, stream);
}
