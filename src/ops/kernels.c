// The functions compiled from ops/matmul/library_*.hds, by types and orders. They choose among their kernels by
// themselves: by GPU, sizes, alignment and what is done with the product (ops/matmul/gemm.hds).
#include <inttypes.h>

#include "ops/product.h"

#include "library_bf16.h"
#include "library_bf16_f32.h"
#include "library_f16.h"
#include "library_f16_f32.h"
#include "library_f32.h"
#include "library_f64.h"
#include "library_f8.h"
#include "library_grouped.h"
#include "library_i8.h"
#include "library_tf32.h"

enum { HOPPER = 9, SM_COUNT = 16, MOST_SCHEDULES = 1000 }; // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT

typedef struct gpu {
    int sm_count;
    bool is_hopper; // compute capability 9.0
} gpu;

// [schedule] is what choice() gave.
typedef hdsrt_status launch(const ops_product *p, int schedule, int sm_count, hdsrt_stream stream);
// The schedule with [room] elements of f32 for parts of tiles; -1: the requested one does not support the product.
typedef int32_t choice(const ops_product *p, int schedule, const gpu *g, int32_t room);
// The letters of schedules' names, as indices in LETTERS of library.hds.
typedef int32_t letter(int32_t schedule, int32_t position);

typedef struct row {
    ops_kernel face; // the first member: a face is its row
    launch *launch;
    choice *choice;
    letter *label;
} row;

static hdsrt_status find_gpu(gpu *g)
{
    int major, minor;
    hdsrt_status status = hdsrt_capability(&major, &minor);
    if (!status)
        status = hdsrt_device_attribute(&g->sm_count, SM_COUNT);
    if (!status)
        g->is_hopper = major == HOPPER && minor == 0;
    return status;
}

// ---- schedules ----------------------------------------------------------------------------------------------------

static int schedule_count(const ops_kernel *kernel)
{
    const row *r = (const row *)kernel;
    int count = 0;
    while (count < MOST_SCHEDULES && r->label(count, 0))
        count++;
    return count;
}

static const char *schedule_name(const ops_kernel *kernel, int schedule)
{
    static const char letters[] = " abcdefghijklmnopqrstuvwxyz0123456789/-";
    static _Thread_local char name[64];
    const row *r = (const row *)kernel;
    int at = 0;
    for (int32_t l; at < (int)sizeof name - 1 && (l = r->label(schedule, at));)
        name[at++] = letters[l - 1];
    name[at] = 0;
    return at ? name : NULL;
}

// ---- workspaces: flags, then parts of tiles
// ---------------------------------------------------------------------------

static int64_t flag_bytes(void)
{
    return ops_words() * (int64_t)sizeof(uint64_t);
}

// The bytes that a schedule needs; 0: none.
static int64_t workspace_of(const ops_kernel *kernel, int schedule, int sm_count)
{
    int32_t parts = kernel->a.bits == 16 ? ops_workspace(schedule, sm_count) : 0;
    return parts ? flag_bytes() + parts * (int64_t)sizeof(float) : 0;
}

static int32_t room_in(int64_t bytes)
{
    int64_t parts = (bytes - flag_bytes()) / (int64_t)sizeof(float);
    return parts < 0 ? 0 : parts > INT32_MAX ? INT32_MAX : (int32_t)parts;
}

// ---- running ------------------------------------------------------------------------------------------------------

static hdsrt_status not_supported(const ops_kernel *kernel, const ops_product *p)
{
    return hdsrt_fail(
        HDSRT_UNSUPPORTED,
        "'hds_matmul': schedule %d ('%s') does not support this product: Hopper's are for GPUs of compute "
        "capability 9.0, k of 1 and more, and rows of 'a' and 'b' that begin at multiples of 16 bytes; "
        "where they are, there is no '128x128'; orders, rows of 'c' and what is done to it limit them further",
        p->schedule, schedule_name(kernel, p->schedule));
}

// Whether the requested schedule supports the product, given a workspace.
static hdsrt_status check_schedule(const ops_kernel *kernel, const ops_product *p, const gpu *g)
{
    const row *r = (const row *)kernel;
    bool is_supported = p->schedule < 0 || r->choice(p, p->schedule, g, INT32_MAX) >= 0;
    return is_supported ? HDSRT_OK : not_supported(kernel, p);
}

static hdsrt_status run(const ops_kernel *kernel, const ops_product *p, hdsrt_stream stream)
{
    const row *r = (const row *)kernel;
    gpu g;
    hdsrt_status status;
    if ((status = find_gpu(&g)) || (status = check_schedule(kernel, p, &g)))
        return status;
    if (p->schedule < 0)
        return r->launch(p, r->choice(p, -1, &g, room_in(p->workspace_bytes)), g.sm_count, stream);
    int64_t bytes = workspace_of(kernel, p->schedule, g.sm_count);
    if (p->workspace_bytes < bytes)
        return hdsrt_fail(HDSRT_UNSUPPORTED, "'hds_matmul': schedule %d ('%s') needs a workspace of %" PRId64 " bytes",
                          p->schedule, schedule_name(kernel, p->schedule), bytes);
    return r->launch(p, p->schedule, g.sm_count, stream);
}

static hdsrt_status choose(const ops_kernel *kernel, const ops_product *p, int *schedule, int64_t *workspace_bytes)
{
    const row *r = (const row *)kernel;
    gpu g;
    hdsrt_status status;
    if ((status = find_gpu(&g)) || (status = check_schedule(kernel, p, &g)))
        return status;
    *schedule = p->schedule < 0 ? r->choice(p, -1, &g, INT32_MAX) : p->schedule;
    *workspace_bytes = workspace_of(kernel, *schedule, g.sm_count);
    if (p->schedule < 0 && p->workspace_bytes < *workspace_bytes)
        *schedule = r->choice(p, -1, &g, room_in(p->workspace_bytes));
    return HDSRT_OK;
}

// ---- generated functions ------------------------------------------------------------------------------------------

// Elements from one matrix to the next. A single matrix has no such stride, but a tensor map needs one.
static int64_t apart(const ops_matrices *m, int64_t rows, int64_t columns, int64_t batches)
{
    return batches > 1 ? m->batch : m->pitch * (m->order == OPS_ROWS ? rows : columns);
}

#define A_APART(p) apart(&(p)->a, (p)->m, (p)->k, (p)->batch)
#define B_APART(p) apart(&(p)->b, (p)->k, (p)->n, (p)->batch)
#define C_APART(p) apart(&(p)->c, (p)->m, (p)->n, (p)->batch)

// All take the same arguments, but each has its own struct in C. Omitted tensors have no elements.
#define FUNCTIONS(name)                                                                                                \
    static hdsrt_status launch_##name(const ops_product *p, int schedule, int sm_count, hdsrt_stream stream)           \
    {                                                                                                                  \
        bool has_residual = p->residual.data != NULL;                                                                  \
        int32_t room = room_in(p->workspace_bytes);                                                                    \
        return ops_##name##_call(&(ops_##name##_args){.a = (void *)p->a.data,                                          \
                                                      .b = (void *)p->b.data,                                          \
                                                      .c = (void *)p->c.data,                                          \
                                                      .bias = (const void *)p->bias,                                   \
                                                      .residual = (void *)p->residual.data,                            \
                                                      .a_scale = p->a_scale,                                           \
                                                      .b_scale = p->b_scale,                                           \
                                                      .parts = room ? parts_of(p) : NULL,                              \
                                                      .flags = room ? p->workspace : NULL,                             \
                                                      .alpha = p->alpha,                                               \
                                                      .activation = (int32_t)p->activation,                            \
                                                      .schedule = schedule,                                            \
                                                      .sm_count = sm_count,                                            \
                                                      .BATCH = (int32_t)p->batch,                                      \
                                                      .M = (int32_t)p->m,                                              \
                                                      .N = (int32_t)p->n,                                              \
                                                      .K = (int32_t)p->k,                                              \
                                                      .SA = A_APART(p),                                                \
                                                      .LDA = p->a.pitch,                                               \
                                                      .SB = B_APART(p),                                                \
                                                      .LDB = p->b.pitch,                                               \
                                                      .SC = C_APART(p),                                                \
                                                      .LDC = p->c.pitch,                                               \
                                                      .BIAS = p->bias ? (int32_t)p->n : 0,                             \
                                                      .RB = has_residual ? (int32_t)p->batch : 0,                      \
                                                      .RM = has_residual ? (int32_t)p->m : 0,                          \
                                                      .RN = has_residual ? (int32_t)p->n : 0,                          \
                                                      .SR = p->residual.batch,                                         \
                                                      .LDR = p->residual.pitch,                                        \
                                                      .QA = p->a_scale != NULL,                                        \
                                                      .QB = p->b_scale != NULL,                                        \
                                                      .ROOM = room,                                                    \
                                                      .WORDS = room ? ops_words() : 0},                                \
                                 stream);                                                                              \
    }                                                                                                                  \
    static int32_t choice_##name(const ops_product *p, int schedule, const gpu *g, int32_t room)                       \
    {                                                                                                                  \
        int32_t scales = (p->a_scale != NULL) + (p->b_scale != NULL);                                                  \
        return ops_choice_##name((void *)p->a.data, (void *)p->b.data, (void *)p->c.data, p->alpha, p->activation,     \
                                 p->bias != NULL, p->residual.data != NULL, scales, schedule, g->sm_count, room,       \
                                 g->is_hopper, (int32_t)p->batch, (int32_t)p->m, (int32_t)p->n, (int32_t)p->k,         \
                                 A_APART(p), p->a.pitch, B_APART(p), p->b.pitch, C_APART(p), p->c.pitch);              \
    }

#define ORDERS(types)                                                                                                  \
    FUNCTIONS(types##_mk_nk) FUNCTIONS(types##_mk_kn) FUNCTIONS(types##_km_nk) FUNCTIONS(types##_km_kn)

static float *parts_of(const ops_product *p)
{
    return (float *)((char *)p->workspace + flag_bytes());
}

ORDERS(f16_f16)
ORDERS(f16_f32)
ORDERS(bf16_bf16)
ORDERS(bf16_f32)
ORDERS(f32_f32)
ORDERS(tf32_f32)
ORDERS(f64_f64)
ORDERS(i8_i32)
ORDERS(e4m3_e4m3_f16)
ORDERS(e4m3_e4m3_bf16)
ORDERS(e4m3_e4m3_f32)
FUNCTIONS(e5m2_e4m3_f16_mk_nk)
FUNCTIONS(e5m2_e4m3_bf16_mk_nk)

// ---- the table ----------------------------------------------------------------------------------------------------

// clang-format off
#define TYPE_F16 {2, 16}
#define TYPE_BF16 {4, 16}
#define TYPE_F32 {2, 32}
#define TYPE_F64 {2, 64}
#define TYPE_E4M3 {10, 8}
#define TYPE_E5M2 {12, 8}
#define TYPE_I8 {0, 8}
#define TYPE_I32 {0, 32}
// clang-format on

#define ORDERS_mk_nk OPS_ROWS, OPS_COLUMNS
#define ORDERS_mk_kn OPS_ROWS, OPS_ROWS
#define ORDERS_km_nk OPS_COLUMNS, OPS_COLUMNS
#define ORDERS_km_kn OPS_COLUMNS, OPS_ROWS

#define ROW(orders, a, b, c, math, types)                                                                              \
    {                                                                                                                  \
        {TYPE_##a, TYPE_##b, TYPE_##c, HDS_MATH_##math, ORDERS_##orders, run, choose, schedule_count, schedule_name},  \
            launch_##types##_##orders, choice_##types##_##orders, ops_label_##types                                    \
    }
#define ROWS(...) ROW(mk_nk, __VA_ARGS__), ROW(mk_kn, __VA_ARGS__), ROW(km_nk, __VA_ARGS__), ROW(km_kn, __VA_ARGS__)

static const row rows[] = {
    ROWS(F16, F16, F16, EXACT, f16_f16),
    ROWS(F16, F16, F32, EXACT, f16_f32),
    ROWS(BF16, BF16, BF16, EXACT, bf16_bf16),
    ROWS(BF16, BF16, F32, EXACT, bf16_f32),
    ROWS(F32, F32, F32, TF32, tf32_f32),
    ROWS(F32, F32, F32, EXACT, f32_f32),
    ROWS(F64, F64, F64, EXACT, f64_f64),
    ROWS(I8, I8, I32, EXACT, i8_i32),
    ROWS(E4M3, E4M3, F16, EXACT, e4m3_e4m3_f16),
    ROWS(E4M3, E4M3, BF16, EXACT, e4m3_e4m3_bf16),
    ROWS(E4M3, E4M3, F32, EXACT, e4m3_e4m3_f32),
    ROW(mk_nk, E5M2, E4M3, F16, EXACT, e5m2_e4m3_f16),
    ROW(mk_nk, E5M2, E4M3, BF16, EXACT, e5m2_e4m3_bf16),
};

static bool is_same(hdsrt_dtype x, hdsrt_dtype y)
{
    return x.code == y.code && x.bits == y.bits;
}

const ops_kernel *ops_find_kernel(hdsrt_dtype a, hdsrt_dtype b, hdsrt_dtype c, hds_math math, ops_order a_order,
                                  ops_order b_order)
{
    // Only f32 operands can be rounded to tf32.
    hds_math wanted = is_same(a, (hdsrt_dtype)TYPE_F32) ? math : HDS_MATH_EXACT;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const ops_kernel *k = &rows[i].face;
        if (is_same(k->a, a) && is_same(k->b, b) && is_same(k->c, c) && k->math == wanted && k->a_order == a_order &&
            k->b_order == b_order)
            return k;
    }
    return NULL;
}

// ---- grouped rows -------------------------------------------------------------------------------------------------

#define GROUPED(name)                                                                                                  \
    static hdsrt_status launch_grouped_##name(const ops_grouped *p, int sm_count, hdsrt_stream stream)                 \
    {                                                                                                                  \
        return ops_grouped_##name##_call(&(ops_grouped_##name##_args){.a = p->a.data,                                  \
                                                                      .b = p->b.data,                                  \
                                                                      .c = p->c.data,                                  \
                                                                      .offsets = (void *)p->offsets,                   \
                                                                      .schedule = p->schedule,                         \
                                                                      .sm_count = sm_count,                            \
                                                                      .G = (int32_t)p->groups,                         \
                                                                      .M = (int32_t)p->m,                              \
                                                                      .N = (int32_t)p->n,                              \
                                                                      .K = (int32_t)p->k,                              \
                                                                      .SA = p->a.batch,                                \
                                                                      .LDA = p->a.pitch,                               \
                                                                      .SB = p->b.batch,                                \
                                                                      .LDB = p->b.pitch,                               \
                                                                      .SC = p->c.batch,                                \
                                                                      .LDC = p->c.pitch},                              \
                                         stream);                                                                      \
    }

GROUPED(f16_nk)
GROUPED(f16_kn)
GROUPED(bf16_nk)
GROUPED(bf16_kn)

static hdsrt_status check_grouped(const ops_grouped *p, const gpu *g)
{
    if (!g->is_hopper)
        return hdsrt_fail(HDSRT_UNSUPPORTED, "'hds_matmul_grouped' is for GPUs of compute capability 9.0");
    if (p->schedule < 0 ||
        ops_grouped_supports(p->c.data, p->schedule, (int32_t)p->m, (int32_t)p->n, p->c.batch, p->c.pitch))
        return HDSRT_OK;
    return hdsrt_fail(HDSRT_UNSUPPORTED,
                      "'hds_matmul_grouped': schedule %d is for rows of 'c' that begin at multiples of 16 bytes and "
                      "have as many",
                      p->schedule);
}

hdsrt_status ops_run_grouped(const ops_grouped *p, hdsrt_stream stream)
{
    const hdsrt_dtype bf16 = TYPE_BF16;
    gpu g;
    hdsrt_status status;
    if ((status = find_gpu(&g)) || (status = check_grouped(p, &g)))
        return status;
    bool is_by_columns = p->b.order == OPS_COLUMNS;
    if (is_same(p->type, bf16))
        return (is_by_columns ? launch_grouped_bf16_nk : launch_grouped_bf16_kn)(p, g.sm_count, stream);
    return (is_by_columns ? launch_grouped_f16_nk : launch_grouped_f16_kn)(p, g.sm_count, stream);
}
