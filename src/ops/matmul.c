#include "hds/ops.h"

#include <inttypes.h>

#include "ops/product.h"

const char *hds_ops_version(void)
{
    return HDS_OPS_VERSION;
}

static hdsrt_status no_kernel(const ops_call *call)
{
    return hdsrt_fail(
        HDSRT_UNSUPPORTED,
        "'hds_matmul': the library has no products of 'a' and 'b' of DLPack types %d:%d and %d:%d in 'c' of "
        "%d:%d (hds/ops.h lists what there is)",
        call->a_type.code, call->a_type.bits, call->b_type.code, call->b_type.bits, call->c_type.code,
        call->c_type.bits);
}

static hdsrt_status find(const ops_call *call, hds_math math, const ops_kernel **kernel)
{
    const ops_product *p = &call->product;
    *kernel = ops_find_kernel(call->a_type, call->b_type, call->c_type, math, p->a.order, p->b.order);
    if (!*kernel)
        return no_kernel(call);
    // Counting takes longer than launching: only if a schedule is requested.
    if (p->schedule != -1 && (p->schedule < 0 || p->schedule >= (*kernel)->schedule_count(*kernel)))
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'hds_matmul': there is no schedule %d; these products have %d",
                          p->schedule, (*kernel)->schedule_count(*kernel));
    return HDSRT_OK;
}

static bool is_empty(const ops_call *call)
{
    for (int d = 0; d < call->axes; d++) {
        if (call->extents[d] == 0)
            return true;
    }
    return call->product.m == 0 || call->product.n == 0;
}

// The common beginning of all entries. The kernel of an empty c is NULL.
static hdsrt_status prepare(ops_call *call, const ops_kernel **kernel, const hdsrt_tensor *a, const hdsrt_tensor *b,
                            const hdsrt_tensor *c, const hds_matmul_options *options)
{
    hdsrt_status status = ops_read_call(call, a, b, c, options);
    if (!status)
        status = find(call, options ? options->math : HDS_MATH_EXACT, kernel);
    if (status || is_empty(call)) {
        *kernel = NULL;
        return status;
    }
    ops_join_batches(call);
    if (call->axes && call->extents[call->axes - 1] > INT32_MAX)
        return hdsrt_fail(HDSRT_UNSUPPORTED, "'hds_matmul': there are %" PRId64 " batches, and there may be 2^31 - 1",
                          call->extents[call->axes - 1]);
    return HDSRT_OK;
}

hdsrt_status hds_matmul(const hdsrt_tensor *a, const hdsrt_tensor *b, hdsrt_tensor *c,
                        const hds_matmul_options *options, hdsrt_stream stream)
{
    const ops_kernel *kernel;
    ops_call call;
    hdsrt_status status = prepare(&call, &kernel, a, b, c, options);
    int64_t launches = status || !kernel ? 0 : ops_launches(&call);
    for (int64_t i = 0; !status && i < launches; i++) {
        ops_product p = ops_product_at(&call, i);
        status = kernel->run(kernel, &p, stream);
    }
    return status;
}

hdsrt_status hds_matmul_plan(const hdsrt_tensor *a, const hdsrt_tensor *b, const hdsrt_tensor *c,
                             const hds_matmul_options *options, int *schedule, int64_t *workspace_bytes)
{
    const ops_kernel *kernel;
    ops_call call;
    hdsrt_status status = prepare(&call, &kernel, a, b, c, options);
    *schedule = -1;
    *workspace_bytes = 0;
    if (status || !kernel)
        return status;
    ops_product p = ops_product_at(&call, 0);
    return kernel->choose(kernel, &p, schedule, workspace_bytes);
}

int hds_matmul_schedules(hdsrt_dtype a, hdsrt_dtype b, hdsrt_dtype c, hds_math math)
{
    const ops_kernel *kernel = ops_find_kernel(a, b, c, math, OPS_ROWS, OPS_COLUMNS);
    return kernel ? kernel->schedule_count(kernel) : 0;
}

const char *hds_matmul_schedule_name(hdsrt_dtype a, hdsrt_dtype b, hdsrt_dtype c, hds_math math, int schedule)
{
    const ops_kernel *kernel = ops_find_kernel(a, b, c, math, OPS_ROWS, OPS_COLUMNS);
    return kernel && schedule >= 0 && schedule < kernel->schedule_count(kernel)
               ? kernel->schedule_name(kernel, schedule)
               : NULL;
}
