// From host.hds, for sm_90, by hdsc 1.2.3, with -D N=4
#include "host.h"

#include <stdio.h>

static const uint64_t hds_image[] = {
    0x3736353433323130, 0x3938,
};

static const uint16_t hds_archs[] = {90};

static hdsrt_library hds_library = {
    .name = "host.hds",
    .image = hds_image,
    .image_bytes = 10,
    .archs = hds_archs,
    .arch_count = 1,
    .ptx_arch = -1,
};

static hdsrt_kernel hds_kernel_inner_kernel = {
    .library = &hds_library,
    .symbol = "inner_kernel",
    .name = "inner_kernel",
};

static const hdsrt_tensor_rule hds_rules_inner_kernel[] = {
    {"x", {2, 32}, 1, true, 16},
};

static hdsrt_kernel hds_kernel_scale = {
    .library = &hds_library,
    .symbol = "scale",
    .name = "scale",
};

static const hdsrt_tensor_rule hds_rules_scale[] = {
    {"x", {2, 32}, 1, false, 16},
    {"y", {2, 32}, 1, true, 16},
};

static const hdsrt_tensor_rule hds_rules_run[] = {
    {"x", {2, 32}, 2, true, 16},
    {"out", {2, 32}, 1, true, 16},
    {"h", {2, 16}, 1, false, 16},
};

// The quotient rounded down; 0 where there is none.
static int32_t floor_div_i32(int32_t a, int32_t b)
{
    if (b == 0 || (b == -1 && a == INT32_MIN))
        return b ? a : 0;
    int32_t quotient = a / b;
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// The quotient rounded down; 0 where there is none.
static int64_t floor_div_i64(int64_t a, int64_t b)
{
    if (b == 0 || (b == -1 && a == INT64_MIN))
        return b ? a : 0;
    int64_t quotient = a / b;
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// The remainder that goes with the quotient rounded down: it has the sign of b.
static int64_t floor_mod_i64(int64_t a, int64_t b)
{
    int64_t rest = b == 0 || b == -1 ? 0 : a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// The counter of a loop in its next turn: the end, where the step leads to it or beyond. No 64 bits are too few.
static int64_t next_signed(int64_t at, int64_t end, int64_t step)
{
    if (step > 0)
        return (uint64_t)end - (uint64_t)at > (uint64_t)step ? at + step : end;
    return (uint64_t)at - (uint64_t)end > 0 - (uint64_t)step ? at + step : end;
}

static int64_t quotient_of(int64_t a, int64_t b, bool *fails)
{
    *fails |= b == 0;
    return floor_div_i64(a, b);
}

static int64_t rest_of(int64_t a, int64_t b, bool *fails)
{
    *fails |= b == 0;
    return floor_mod_i64(a, b);
}

// The number if the other is NaN, as on the GPU; so are its fellows.
static float min_f32(float a, float b)
{
    return a < b || b != b ? a : b;
}

// Bytes of a tensor that a function makes for itself, rounded up.
static hdsrt_status tensor_bytes(const char *entry, const char *tensor, const int64_t *shape, int rank, int bits,
                                 int64_t *bytes)
{
    int64_t most = (INT64_MAX - 7) / bits, count = 1;
    bool is_empty = false, is_large = false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': its tensor '%s' has extent %lld along axis %d", entry,
                              tensor, (long long)shape[i], i);
        is_empty = is_empty || shape[i] == 0;
        is_large = is_large || (shape[i] > 0 && count > most / shape[i]);
        count = is_large || is_empty ? 1 : count * shape[i];
    }
    if (is_large && !is_empty)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': its tensor '%s' is too large for any memory", entry, tensor);
    *bytes = is_empty ? 0 : (count * bits + 7) / 8;
    return HDSRT_OK;
}

hdsrt_status inner_kernel(float *x, int32_t n, hdsrt_stream stream)
{
    const int64_t x_shape[] = {n};
    const hdsrt_tensor_value tensors[] = {{x, x_shape}};
    hdsrt_status status = hdsrt_check_tensors("inner_kernel", hds_rules_inner_kernel, tensors, 1);
    if (status != HDSRT_OK)
        return status;
    const hdsrt_extents extents = {
        .grid = {n, 1, 1},
        .block = {32, 1, 1},
    };
    void *parameters[] = {&x, &n};
    return hdsrt_launch(&hds_kernel_inner_kernel, &extents, parameters, stream);
}

hdsrt_status inner_kernel_call(const inner_kernel_args *args, hdsrt_stream stream)
{
    if (!args)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'inner_kernel': its arguments are null");
    return inner_kernel(args->x, args->n, stream);
}

hdsrt_status inner_kernel_dlpack(const hdsrt_tensor *x, hdsrt_stream stream)
{
    const void *x_data;
    hdsrt_status status = hdsrt_check_dlpack("inner_kernel", &hds_rules_inner_kernel[0], x, &x_data);
    if (status != HDSRT_OK)
        return status;
    const int64_t n = x->shape[0];
    if (n > 2147483647)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'inner_kernel': 'x' has extent %lld along axis 0, and it has to be at most 2147483647", (long long)n);
    return inner_kernel((float *)x_data, (int32_t)n, stream);
}

hdsrt_status scale(const float *x, float *y, int32_t n, uint16_t v, hdsrt_stream stream)
{
    const int64_t x_shape[] = {n};
    const int64_t y_shape[] = {n};
    const hdsrt_tensor_value tensors[] = {{x, x_shape}, {y, y_shape}};
    hdsrt_status status = hdsrt_check_tensors("scale", hds_rules_scale, tensors, 2);
    if (status != HDSRT_OK)
        return status;
    const hdsrt_extents extents = {
        .grid = {floor_div_i64((int64_t)n + 255, 256LL), 1, 1},
        .block = {256, 1, 1},
    };
    void *parameters[] = {&x, &y, &n, &v};
    return hdsrt_launch(&hds_kernel_scale, &extents, parameters, stream);
}

hdsrt_status scale_call(const scale_args *args, hdsrt_stream stream)
{
    if (!args)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'scale': its arguments are null");
    return scale(args->x, args->y, args->n, args->v, stream);
}

hdsrt_status scale_dlpack(const hdsrt_tensor *x, const hdsrt_tensor *y, uint16_t v, hdsrt_stream stream)
{
    const void *x_data;
    hdsrt_status status = hdsrt_check_dlpack("scale", &hds_rules_scale[0], x, &x_data);
    if (status != HDSRT_OK)
        return status;
    const void *y_data;
    status = hdsrt_check_dlpack("scale", &hds_rules_scale[1], y, &y_data);
    if (status != HDSRT_OK)
        return status;
    const int64_t n = x->shape[0];
    if (n > 2147483647)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'scale': 'x' has extent %lld along axis 0, and it has to be at most 2147483647", (long long)n);
    status = hdsrt_check_extent("scale", "y", 0, y->shape[0], n, "n");
    if (status != HDSRT_OK)
        return status;
    return scale(x_data, (float *)y_data, (int32_t)n, v, stream);
}

int32_t rows_of(int32_t n, int32_t parts)
{
    return (int32_t)floor_div_i64((int64_t)n * 3 + parts - 1, (int64_t)parts);
}

hdsrt_status run(float *x, float *out, const void *h, int32_t m, int32_t n, uint16_t v, int32_t turns, float f,
                 hdsrt_stream stream)
{
    const int64_t x_shape[] = {m, n};
    const int64_t out_shape[] = {n};
    const int64_t h_shape[] = {n};
    const hdsrt_tensor_value tensors[] = {{x, x_shape}, {out, out_shape}, {h, h_shape}};
    hdsrt_status status = hdsrt_check_tensors("run", hds_rules_run, tensors, 3);
    if (status != HDSRT_OK)
        return status;
    void *memory[3] = {NULL};
    int32_t total = (int32_t)(m * (int64_t)n);
    if (total <= 0) {
        status = hdsrt_fail(HDSRT_ASSERTION, "%s", "host.hir:38: assertion failed: a shape of \"nothing\"");
        goto end;
    }
    int64_t y_bytes = 0;
    status = tensor_bytes("run", "y", (const int64_t[]){m, n}, 2, 32, &y_bytes);
    if (status != HDSRT_OK)
        goto end;
    status = hdsrt_allocate(&memory[0], y_bytes, stream);
    if (status != HDSRT_OK)
        goto end;
    float *y = memory[0];  // f32[m, n]
    status = hdsrt_fill(y, 0x3f000000, 4, m * (int64_t)n, stream);
    if (status != HDSRT_OK)
        goto end;
    status = hdsrt_allocate(&memory[1], 64, stream);
    if (status != HDSRT_OK)
        goto end;
    float *z = memory[1];  // f32[16]
    status = hdsrt_fill(z, 0x40000000, 4, 16, stream);
    if (status != HDSRT_OK)
        goto end;
    int32_t steps = 0;
    for (int32_t i = 0; i < turns; i++) {
        int64_t t_bytes = 0;
        status = tensor_bytes("run", "t", (const int64_t[]){n, 2}, 2, 16, &t_bytes);
        if (status != HDSRT_OK)
            goto end;
        status = hdsrt_release(memory[2], stream);
        memory[2] = NULL;
        if (status != HDSRT_OK)
            goto end;
        status = hdsrt_allocate(&memory[2], t_bytes, stream);
        if (status != HDSRT_OK)
            goto end;
        void *t = memory[2];  // f16[n, 2]
        status = hdsrt_fill(t, 0x3c00, 2, (int64_t)n * 2, stream);
        if (status != HDSRT_OK)
            goto end;
        status = scale((void *)((char *)x + (int64_t)((uint64_t)(i * (int64_t)n) * (uint64_t)4LL)), out, n, v, stream);
        if (status != HDSRT_OK)
            goto end;
        if (i == 7) {
            break;
        }
        steps++;
        status = hdsrt_copy((void *)((char *)t + 8LL), (void *)((char *)h + 16LL), 8, stream);
        if (status != HDSRT_OK)
            goto end;
        status = hdsrt_release(memory[2], stream);
        memory[2] = NULL;
        if (status != HDSRT_OK)
            goto end;
    }
    status = hdsrt_copy(y, z, 64, stream);
    if (status != HDSRT_OK)
        goto end;
    status = hdsrt_release(memory[1], stream);
    memory[1] = NULL;
    if (status != HDSRT_OK)
        goto end;
    while (true) {
        int32_t half = 0;
        {
            if (turns < 0) {
                half = 0;
                goto done;
            }
            half = floor_div_i32(turns, 2);
        }
        done:;
        bool fails = false;
        bool holds = !(steps > half || (int32_t)rest_of(steps, turns, &fails) == 3);
        if (fails) {
            status = hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'run': it divides by zero");
            goto end;
        }
        if (holds) {
            break;
        }
        int32_t half_1 = 0;
        {
            if (total < 0) {
                half_1 = 0;
                goto done_1;
            }
            half_1 = floor_div_i32(total, 2);
        }
        done_1:;
        int32_t n_1 = half_1;
        status = inner_kernel(y, n_1, stream);
        if (status != HDSRT_OK)
            goto end;
        steps--;
    }
    if (turns == 0) {
        status = hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'run': a loop of it has the step 0");
        goto end;
    }
    for (int32_t k = total; turns > 0 ? k < n : k > n; k = (int32_t)next_signed((int64_t)k, n, turns)) {
        bool fails = false;
        int32_t value = (int32_t)quotient_of(k, m, &fails);
        if (fails) {
            status = hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'run': it divides by zero");
            goto end;
        }
        printf("turn %d\n", value);
        if (k == 5) {
            continue;
        }
        int32_t value_1 = (int32_t)rest_of(steps, k, &fails);
        if (fails) {
            status = hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'run': it divides by zero");
            goto end;
        }
        status = scale(x, y, value_1, v, stream);
        if (status != HDSRT_OK)
            goto end;
    }
    printf("%d elements, %lld, %f%%\n", total, (long long)(int64_t)n, min_f32(f, 2.0f));
    if (total > 4) {
        status = scale(x, y, n, 0x3fc0 /* 1.5 */, stream);
        if (status != HDSRT_OK)
            goto end;
        goto end;
    }
    status = hdsrt_release(memory[0], stream);
    memory[0] = NULL;
    if (status != HDSRT_OK)
        goto end;
    status = inner_kernel(x, total, stream);
end:;
    for (int slot = 2; slot >= 0; slot--) {
        hdsrt_status released = hdsrt_release(memory[slot], stream);
        status = status == HDSRT_OK ? released : status;
    }
    return status;
}

hdsrt_status run_call(const run_args *args, hdsrt_stream stream)
{
    if (!args)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'run': its arguments are null");
    return run(args->x, args->out, args->h, args->m, args->n, args->v, args->turns, args->f, stream);
}

hdsrt_status run_dlpack(const hdsrt_tensor *x, const hdsrt_tensor *out, const hdsrt_tensor *h, uint16_t v,
                        int32_t turns, float f, hdsrt_stream stream)
{
    const void *x_data;
    hdsrt_status status = hdsrt_check_dlpack("run", &hds_rules_run[0], x, &x_data);
    if (status != HDSRT_OK)
        return status;
    const void *out_data;
    status = hdsrt_check_dlpack("run", &hds_rules_run[1], out, &out_data);
    if (status != HDSRT_OK)
        return status;
    const void *h_data;
    status = hdsrt_check_dlpack("run", &hds_rules_run[2], h, &h_data);
    if (status != HDSRT_OK)
        return status;
    const int64_t m = x->shape[0];
    if (m > 2147483647)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'run': 'x' has extent %lld along axis 0, and it has to be at most 2147483647", (long long)m);
    const int64_t n = x->shape[1];
    if (n > 2147483647)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'run': 'x' has extent %lld along axis 1, and it has to be at most 2147483647", (long long)n);
    status = hdsrt_check_extent("run", "out", 0, out->shape[0], n, "n");
    if (status != HDSRT_OK)
        return status;
    status = hdsrt_check_extent("run", "h", 0, h->shape[0], n, "n");
    if (status != HDSRT_OK)
        return status;
    return run((float *)x_data, (float *)out_data, h_data, (int32_t)m, (int32_t)n, v, turns, f, stream);
}
