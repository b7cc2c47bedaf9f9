// From kernels.hds, for sm_90a, by hdsc 1.2.3, with -D N=4
#include "kernels.h"

static const uint64_t hds_image[] = {
    0x3736353433323130, 0x3938,
};

static const uint16_t hds_archs[] = {90 | HDSRT_ARCH_ONLY};

static hdsrt_library hds_library = {
    .name = "kernels.hds",
    .image = hds_image,
    .image_bytes = 10,
    .archs = hds_archs,
    .arch_count = 1,
    .ptx_arch = -1,
};

static hdsrt_kernel hds_kernel_plain = {
    .library = &hds_library,
    .symbol = "plain",
    .name = "plain",
};

static const hdsrt_tensor_rule hds_rules_plain[] = {
    {"x", {2, 32}, 1, true, 16},
};

static hdsrt_kernel hds_kernel_assuming = {
    .library = &hds_library,
    .symbol = "assuming",
    .name = "assuming",
    .flags = HDSRT_LARGE_SHARED | HDSRT_DEPENDENT_LAUNCH,
};

static const hdsrt_tensor_rule hds_rules_assuming[] = {
    {"x", {2, 32}, 2, true, 16},
    {"y", {2, 16}, 1, false, 128},
};

static hdsrt_kernel hds_kernel_any_block = {
    .library = &hds_library,
    .symbol = "any_block",
    .name = "any_block",
};

static hdsrt_kernel hds_kernel_mapped = {
    .library = &hds_library,
    .symbol = "mapped",
    .name = "mapped",
};

static const hdsrt_tensor_rule hds_rules_mapped[] = {
    {"a", {4, 16}, 2, false, 16},
    {"c", {2, 32}, 1, true, 16},
};

static hdsrt_kernel hds_kernel_paired = {
    .library = &hds_library,
    .symbol = "paired",
    .name = "paired",
};

static const hdsrt_tensor_rule hds_rules_paired[] = {
    {"x", {0, 4}, 1, false, 16},
    {"new_1", {6, 8}, 1, true, 16},
};

static hdsrt_kernel hds_kernel_nothing = {
    .library = &hds_library,
    .symbol = "nothing",
    .name = "nothing",
};

// The quotient rounded down; 0 where there is none.
static int64_t floor_div_i64(int64_t a, int64_t b)
{
    if (b == 0 || (b == -1 && a == INT64_MIN))
        return b ? a : 0;
    int64_t quotient = a / b;
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static int64_t sum_of(int64_t a, int64_t b, bool *fails)
{
    *fails |= b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b;
    return *fails ? 0 : a + b;
}

static int64_t product_of(int64_t a, int64_t b, bool *fails)
{
    if (a > 0 ? b > INT64_MAX / a || b < INT64_MIN / a : a < -1 && (b > INT64_MIN / a || b < INT64_MAX / a))
        *fails = true;
    *fails |= a == -1 && b == INT64_MIN;
    return *fails ? 0 : a * b;
}

static int64_t quotient_of(int64_t a, int64_t b, bool *fails)
{
    *fails |= b == 0;
    return floor_div_i64(a, b);
}

static int32_t min_i32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t threads_for(int32_t n)
{
    if (n < 1000) {
        return 64;
    }
    return 256;
}

hdsrt_status plain(float s, float *x, int32_t n, hdsrt_stream stream)
{
    const int64_t x_shape[] = {n};
    const hdsrt_tensor_value tensors[] = {{x, x_shape}};
    hdsrt_status status = hdsrt_check_tensors("plain", hds_rules_plain, tensors, 1);
    if (status != HDSRT_OK)
        return status;
    const hdsrt_extents extents = {
        .grid = {((int64_t)n + 255) / 256, 1, 1},
        .block = {256, 1, 1},
    };
    void *parameters[] = {&s, &x, &n};
    return hdsrt_launch(&hds_kernel_plain, &extents, parameters, stream);
}

hdsrt_status plain_call(const plain_args *args, hdsrt_stream stream)
{
    if (!args)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'plain': its arguments are null");
    return plain(args->s, args->x, args->n, stream);
}

hdsrt_status plain_dlpack(float s, const hdsrt_tensor *x, hdsrt_stream stream)
{
    const void *x_data;
    hdsrt_status status = hdsrt_check_dlpack("plain", &hds_rules_plain[0], x, &x_data);
    if (status != HDSRT_OK)
        return status;
    const int64_t n = x->shape[0];
    if (n > 2147483647)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'plain': 'x' has extent %lld along axis 0, and it has to be at most 2147483647", (long long)n);
    return plain(s, (float *)x_data, (int32_t)n, stream);
}

hdsrt_status assuming(float *x, const void *y, int32_t n, int32_t k, hdsrt_stream stream)
{
    if (k < 1)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'assuming': 'k' is %lld, and it has to be at least 1", (long long)k);
    if (k > 64)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'assuming': 'k' is %lld, and it has to be at most 64", (long long)k);
    if (k % 4 != 0)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'assuming': 'k' is %lld, and it has to be a multiple of 4", (long long)k);
    if (n % 8 != 0)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'assuming': it assumes '%s', and 'n' is %lld", "n % 8 == 0", (long long)n);
    const int64_t x_shape[] = {n, 8};
    const int64_t y_shape[] = {2 * (int64_t)n + 1};
    const hdsrt_tensor_value tensors[] = {{x, x_shape}, {y, y_shape}};
    hdsrt_status status = hdsrt_check_tensors("assuming", hds_rules_assuming, tensors, 2);
    if (status != HDSRT_OK)
        return status;
    const hdsrt_extents extents = {
        .grid = {min_i32(n, 1056), k / 4, 1},
        .block = {32, 8, 1},
        .dynamic_smem_bytes = 65536 + (int64_t)(k * 4),
    };
    void *parameters[] = {&x, &y, &n, &k};
    return hdsrt_launch(&hds_kernel_assuming, &extents, parameters, stream);
}

hdsrt_status assuming_call(const assuming_args *args, hdsrt_stream stream)
{
    if (!args)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'assuming': its arguments are null");
    return assuming(args->x, args->y, args->n, args->k, stream);
}

hdsrt_status assuming_dlpack(const hdsrt_tensor *x, const hdsrt_tensor *y, int32_t k, hdsrt_stream stream)
{
    const void *x_data;
    hdsrt_status status = hdsrt_check_dlpack("assuming", &hds_rules_assuming[0], x, &x_data);
    if (status != HDSRT_OK)
        return status;
    const void *y_data;
    status = hdsrt_check_dlpack("assuming", &hds_rules_assuming[1], y, &y_data);
    if (status != HDSRT_OK)
        return status;
    const int64_t n = x->shape[0];
    if (n > 2147483647)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'assuming': 'x' has extent %lld along axis 0, and it has to be at most 2147483647", (long long)n);
    status = hdsrt_check_extent("assuming", "x", 1, x->shape[1], 8, "8");
    if (status != HDSRT_OK)
        return status;
    status = hdsrt_check_extent("assuming", "y", 0, y->shape[0], 2 * (int64_t)n + 1, "2 * n + 1");
    if (status != HDSRT_OK)
        return status;
    return assuming((float *)x_data, y_data, (int32_t)n, k, stream);
}

hdsrt_status any_block(float *p, const float z[2], const float v[4], int32_t c, int64_t d, hdsrt_stream stream)
{
    if (!z)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'any_block': 'z' is null");
    if (!v)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'any_block': 'v' is null");
    bool fails = false;
    const hdsrt_extents extents = {
        .grid = {quotient_of(d, c, &fails), product_of(d, d, &fails), 1},
        .block = {threads_for(c), 1, 1},
        .cluster = {c, 1, 1},
    };
    if (fails)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'any_block': its extents are too large for 64 bits, or divided by 0");
    void *parameters[] = {&p, (void *)z, (void *)v, &c, &d};
    return hdsrt_launch(&hds_kernel_any_block, &extents, parameters, stream);
}

hdsrt_status any_block_call(const any_block_args *args, hdsrt_stream stream)
{
    if (!args)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'any_block': its arguments are null");
    return any_block(args->p, args->z, args->v, args->c, args->d, stream);
}

hdsrt_status mapped(const void *a, float *c, int32_t m, int32_t k, hdsrt_stream stream)
{
    const int64_t a_shape[] = {m, k};
    const int64_t c_shape[] = {m};
    const hdsrt_tensor_value tensors[] = {{a, a_shape}, {c, c_shape}};
    hdsrt_status status = hdsrt_check_tensors("mapped", hds_rules_mapped, tensors, 2);
    if (status != HDSRT_OK)
        return status;
    const hdsrt_extents extents = {
        .grid = {m, 1, 1},
        .block = {32, 1, 1},
    };
    if (k == 0 && extents.grid[0] > 0 && extents.grid[1] > 0 && extents.grid[2] > 0)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'mapped': 'k' is 0, and where a kernel runs its extents are at least 1");
    hdsrt_tensor_map a_tiles = {{0}};
    const hdsrt_tiling a_tiles_tiling = {
        .dtype = {4, 16},
        .ndim = 2,
        .swizzle_bytes = 128,
        .l2_bytes = 256,
        .shape = a_shape,
        .box = {32, 64},
    };
    if (extents.grid[0] > 0 && extents.grid[1] > 0 && extents.grid[2] > 0)
        status = hdsrt_tensor_map_tiled(&a_tiles, "mapped", "a", a, &a_tiles_tiling);
    if (status != HDSRT_OK)
        return status;
    void *parameters[] = {&a, &c, &m, &k, &a_tiles};
    return hdsrt_launch(&hds_kernel_mapped, &extents, parameters, stream);
}

hdsrt_status mapped_call(const mapped_args *args, hdsrt_stream stream)
{
    if (!args)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'mapped': its arguments are null");
    return mapped(args->a, args->c, args->m, args->k, stream);
}

hdsrt_status mapped_dlpack(const hdsrt_tensor *a, const hdsrt_tensor *c, hdsrt_stream stream)
{
    const void *a_data;
    hdsrt_status status = hdsrt_check_dlpack("mapped", &hds_rules_mapped[0], a, &a_data);
    if (status != HDSRT_OK)
        return status;
    const void *c_data;
    status = hdsrt_check_dlpack("mapped", &hds_rules_mapped[1], c, &c_data);
    if (status != HDSRT_OK)
        return status;
    const int64_t m = a->shape[0];
    if (m > 2147483647)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'mapped': 'a' has extent %lld along axis 0, and it has to be at most 2147483647", (long long)m);
    const int64_t k = a->shape[1];
    if (k > 2147483647)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'mapped': 'a' has extent %lld along axis 1, and it has to be at most 2147483647", (long long)k);
    status = hdsrt_check_extent("mapped", "c", 0, c->shape[0], m, "m");
    if (status != HDSRT_OK)
        return status;
    return mapped(a_data, (float *)c_data, (int32_t)m, (int32_t)k, stream);
}

hdsrt_status paired(const void *x, bool *new_1, int64_t n, hdsrt_stream stream)
{
    const int64_t x_shape[] = {n};
    const int64_t new_shape[] = {n};
    const hdsrt_tensor_value tensors[] = {{x, x_shape}, {new_1, new_shape}};
    hdsrt_status status = hdsrt_check_tensors("paired", hds_rules_paired, tensors, 2);
    if (status != HDSRT_OK)
        return status;
    bool fails = false;
    const hdsrt_extents extents = {
        .grid = {floor_div_i64(sum_of(n, 7, &fails), 8LL), 1, 1},
        .block = {32, 1, 1},
    };
    if (fails)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'paired': its extents are too large for 64 bits, or divided by 0");
    void *parameters[] = {&x, &new_1, &n};
    return hdsrt_launch(&hds_kernel_paired, &extents, parameters, stream);
}

hdsrt_status paired_call(const paired_args *args, hdsrt_stream stream)
{
    if (!args)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'paired': its arguments are null");
    return paired(args->x, args->new_1, args->n, stream);
}

hdsrt_status paired_dlpack(const hdsrt_tensor *x, const hdsrt_tensor *new_1, hdsrt_stream stream)
{
    const void *x_data;
    hdsrt_status status = hdsrt_check_dlpack("paired", &hds_rules_paired[0], x, &x_data);
    if (status != HDSRT_OK)
        return status;
    const void *new_data;
    status = hdsrt_check_dlpack("paired", &hds_rules_paired[1], new_1, &new_data);
    if (status != HDSRT_OK)
        return status;
    const int64_t n = x->shape[0];
    status = hdsrt_check_extent("paired", "new_1", 0, new_1->shape[0], n, "n");
    if (status != HDSRT_OK)
        return status;
    return paired(x_data, (bool *)new_data, n, stream);
}

hdsrt_status nothing(hdsrt_stream stream)
{
    static const hdsrt_extents extents = {
        .grid = {1, 1, 1},
        .block = {32, 1, 1},
    };
    void *parameters[] = {NULL};
    return hdsrt_launch(&hds_kernel_nothing, &extents, parameters, stream);
}

hdsrt_status nothing_call(const nothing_args *args, hdsrt_stream stream)
{
    if (!args)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'nothing': its arguments are null");
    return nothing(stream);
}
