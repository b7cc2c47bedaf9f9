// The kernels compiled from ops/matmul/library_hopper_stream_k.hds, and their workspace.
#include "ops/product.h"

#include "library_hopper_stream_k.h"

// The workspace: flags, then a tile for each SM.
enum { FLAGS = 2048, FLAG_BYTES = FLAGS * 8, BF16 = 4 };

int64_t ops_stream_bytes(int schedule, int sm_count)
{
    return FLAG_BYTES + (int64_t)sm_count * ops_stream_tile(schedule) * (int64_t)sizeof(float);
}

bool ops_stream_takes(const ops_kernel *kernel, const ops_product *p)
{
    bool is_plain = p->alpha == 1.0 && !p->a_scale && !p->b_scale && !p->bias && !p->residual.data && !p->activation;
    bool is_aligned = (uintptr_t)p->c.data % 16 == 0 && p->c.pitch % 8 == 0 && p->n % 8 == 0 &&
                      (p->batch == 1 || p->c.batch % 8 == 0);
    return is_plain && is_aligned && kernel->a.bits == 16 && kernel->c.bits == 16 && kernel->a_order == OPS_ROWS;
}

int ops_stream_choice_for(const ops_product *p, int sm_count, bool aligned)
{
    return ops_stream_choice((int32_t)p->m, (int32_t)p->n, (int32_t)p->k, (int32_t)p->batch, sm_count, aligned);
}

// A single matrix has no stride to the next, but a tensor map needs one.
static int64_t apart(const ops_matrices *m, int64_t lines, int64_t batches)
{
    return batches > 1 ? m->batch : m->pitch * lines;
}

// All take the same arguments, but each has its own struct in C.
#define LAUNCH(name)                                                                                                   \
    static hdsrt_status launch_##name(const ops_product *p, int schedule, int sm_count, hdsrt_stream stream)           \
    {                                                                                                                  \
        return name##_call(&(name##_args){.a = p->a.data,                                                              \
                                          .b = p->b.data,                                                              \
                                          .c = p->c.data,                                                              \
                                          .parts = (float *)((char *)p->workspace + FLAG_BYTES),                       \
                                          .flags = p->workspace,                                                       \
                                          .schedule = schedule,                                                        \
                                          .sm_count = sm_count,                                                        \
                                          .BATCH = (int32_t)p->batch,                                                  \
                                          .M = (int32_t)p->m,                                                          \
                                          .N = (int32_t)p->n,                                                          \
                                          .K = (int32_t)p->k,                                                          \
                                          .SA = apart(&p->a, p->m, p->batch),                                          \
                                          .LDA = p->a.pitch,                                                           \
                                          .SB = apart(&p->b, p->b.order == OPS_ROWS ? p->k : p->n, p->batch),          \
                                          .LDB = p->b.pitch,                                                           \
                                          .SC = apart(&p->c, p->m, p->batch),                                          \
                                          .LDC = p->c.pitch,                                                           \
                                          .PARTS = sm_count * ops_stream_tile(schedule),                               \
                                          .FLAGS = FLAGS},                                                             \
                           stream);                                                                                    \
    }

LAUNCH(ops_stream_f16_mk_nk)
LAUNCH(ops_stream_f16_mk_kn)
LAUNCH(ops_stream_bf16_mk_nk)
LAUNCH(ops_stream_bf16_mk_kn)

hdsrt_status ops_run_stream(const ops_kernel *kernel, const ops_product *p, int schedule, int sm_count,
                            hdsrt_stream stream)
{
    bool is_by_columns = p->b.order == OPS_COLUMNS;
    if (kernel->a.code == BF16)
        return (is_by_columns ? launch_ops_stream_bf16_mk_nk : launch_ops_stream_bf16_mk_kn)(p, schedule, sm_count,
                                                                                             stream);
    return (is_by_columns ? launch_ops_stream_f16_mk_nk : launch_ops_stream_f16_mk_kn)(p, schedule, sm_count, stream);
}
