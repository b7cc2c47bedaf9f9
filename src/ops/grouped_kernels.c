// The kernels compiled from ops/matmul/library_hopper_grouped.hds, by type and order.
#include "ops/product.h"

#include "library_hopper_grouped.h"

enum { HOPPER = 9, SM_COUNT = 16, BF16 = 4, ANY_ROWS = 2 }; // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT

typedef struct situation {
    int sm_count;
    bool unaligned; // rows of c are not aligned to 16 bytes, or their length is not a multiple of 16 bytes
} situation;

// All take the same arguments, but each has its own struct in C.
#define LAUNCH(name)                                                                                                   \
    static hdsrt_status launch_##name(const ops_grouped *p, const situation *s, hdsrt_stream stream)                   \
    {                                                                                                                  \
        return name##_call(&(name##_args){.a = p->a.data,                                                              \
                                          .b = p->b.data,                                                              \
                                          .c = p->c.data,                                                              \
                                          .offsets = (void *)p->offsets,                                               \
                                          .schedule = p->schedule,                                                     \
                                          .sm_count = s->sm_count,                                                     \
                                          .unaligned = s->unaligned,                                                   \
                                          .G = (int32_t)p->groups,                                                     \
                                          .M = (int32_t)p->m,                                                          \
                                          .N = (int32_t)p->n,                                                          \
                                          .K = (int32_t)p->k,                                                          \
                                          .SA = p->a.batch,                                                            \
                                          .LDA = p->a.pitch,                                                           \
                                          .SB = p->b.batch,                                                            \
                                          .LDB = p->b.pitch,                                                           \
                                          .SC = p->c.batch,                                                            \
                                          .LDC = p->c.pitch},                                                          \
                           stream);                                                                                    \
    }

LAUNCH(ops_grouped_f16_nk)
LAUNCH(ops_grouped_f16_kn)
LAUNCH(ops_grouped_bf16_nk)
LAUNCH(ops_grouped_bf16_kn)

static hdsrt_status find_situation(const ops_grouped *p, situation *s)
{
    int major, minor;
    hdsrt_status status = hdsrt_capability(&major, &minor);
    if (!status)
        status = hdsrt_device_attribute(&s->sm_count, SM_COUNT);
    if (status)
        return status;
    if (major != HOPPER || minor != 0)
        return hdsrt_fail(HDSRT_UNSUPPORTED,
                          "'hds_matmul_grouped' is for GPUs of compute capability 9.0, and this one has %d.%d", major,
                          minor);
    s->unaligned = (uintptr_t)p->c.data % 16 != 0 || p->c.pitch % 8 != 0 || p->n % 8 != 0;
    if (s->unaligned && p->schedule >= 0 && p->schedule != ANY_ROWS)
        return hdsrt_fail(
            HDSRT_UNSUPPORTED,
            "'hds_matmul_grouped': schedule %d is for rows of 'c' that begin at multiples of 16 bytes and "
            "have as many",
            p->schedule);
    return HDSRT_OK;
}

hdsrt_status ops_run_grouped(const ops_grouped *p, hdsrt_stream stream)
{
    situation s;
    hdsrt_status status = find_situation(p, &s);
    if (status)
        return status;
    bool is_by_columns = p->b.order == OPS_COLUMNS;
    if (p->type.code == BF16)
        return (is_by_columns ? launch_ops_grouped_bf16_nk : launch_ops_grouped_bf16_kn)(p, &s, stream);
    return (is_by_columns ? launch_ops_grouped_f16_nk : launch_ops_grouped_f16_kn)(p, &s, stream);
}
