// The kernels compiled from ops/matmul/library_*.hds, by types and orders, and the choice between those for Hopper and
// those for every GPU.
#include <inttypes.h>
#include <string.h>

#include "ops/product.h"

#include "library_bf16.h"
#include "library_f16.h"
#include "library_f32.h"
#include "library_f64.h"
#include "library_f8.h"
#include "library_hopper_bf16.h"
#include "library_hopper_f16.h"
#include "library_hopper_f32.h"
#include "library_hopper_f8.h"
#include "library_hopper_i8.h"
#include "library_hopper_stream_k.h"
#include "library_hopper_tf32.h"
#include "library_i8.h"
#include "library_tf32.h"

enum { HOPPER = 9, SM_COUNT = 16, MOST_SCHEDULES = 1000 }; // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
enum { SKINNY = 2 };                                       // the index of that schedule in library.hds
enum { SIGNED_INTEGER = 0 };                               // DLPack's kDLInt

// The criteria for choosing kernels, besides extents.
typedef struct situation {
    int schedule;   // among the template's own
    int sm_count;   // of the GPU
    bool is_hopper; // the template for compute capability 9.0 is to run
    bool unaligned; // rows of c do not begin at multiples of 16 bytes
    bool wide;      // rows of a, b and c begin at multiples of 16 bytes, and so are their lengths
    bool aligned;   // rows of a and b begin at multiples of 128 bytes
    int stream;     // the requested stream-K schedule; -1: none
} situation;

typedef hdsrt_status launch(const ops_product *p, const situation *s, hdsrt_stream stream);
typedef int32_t choice(int32_t m, int32_t n, int32_t k, int32_t batches, int32_t sm_count, bool aligned, bool unaligned,
                       int32_t done);
typedef int32_t choice_anywhere(int32_t m, int32_t n, int32_t batches, int32_t wide, int32_t sm_count);

// The letters of schedules' names, as indices in LETTERS of library.hds.
typedef int32_t letter(int32_t schedule, int32_t position);

typedef struct row {
    ops_kernel face;              // the first member: a face is its row
    launch *anywhere, *on_hopper; // on_hopper NULL: none
    choice *choice;               // of on_hopper; -1: run the one for every GPU
    letter *label;                // of its schedules
} row;

// ---- schedules ----------------------------------------------------------------------------------------------------

// Those for every GPU come first, then Hopper's, then stream-K.
static int count_names(letter *of)
{
    int count = 0;
    while (count < MOST_SCHEDULES && of(count, 0))
        count++;
    return count;
}

static int anywhere_count(void)
{
    return count_names(ops_label);
}

static int hopper_count(const row *r)
{
    return r->on_hopper ? count_names(r->label) : 0;
}

// Stream-K is for 16-bit elements.
static int stream_count(const row *r)
{
    return r->on_hopper && r->face.a.bits == 16 && r->face.c.bits == 16 ? count_names(ops_stream_label) : 0;
}

static int schedule_count(const ops_kernel *kernel)
{
    const row *r = (const row *)kernel;
    return anywhere_count() + hopper_count(r) + stream_count(r);
}

static const char *schedule_name(const ops_kernel *kernel, int schedule)
{
    static const char letters[] = " abcdefghijklmnopqrstuvwxyz0123456789/-";
    static _Thread_local char name[64];
    const row *r = (const row *)kernel;
    const int counts[] = {anywhere_count(), hopper_count(r), stream_count(r)};
    letter *const of[] = {ops_label, r->label, ops_stream_label};
    int list = 0, at = 0;
    while (list < 3 && schedule >= counts[list])
        schedule -= counts[list++];
    if (list == 3)
        return NULL;
    for (int32_t l; at < (int)sizeof name - 1 && (l = of[list](schedule, at));)
        name[at++] = letters[l - 1];
    name[at] = 0;
    return name;
}

// ---- the choice ---------------------------------------------------------------------------------------------------

static bool are_multiples(const ops_matrices *m, int element_bytes, int bytes, int64_t batches)
{
    return (uintptr_t)m->data % (unsigned)bytes == 0 && m->pitch * element_bytes % bytes == 0 &&
           (batches == 1 || m->batch * element_bytes % bytes == 0);
}

// TMA writes rows in vectors of 16 bytes.
static bool is_unaligned(const ops_kernel *k, const ops_product *p)
{
    return p->n * k->c.bits / 8 % 16 != 0 || !are_multiples(&p->c, k->c.bits / 8, 16, p->batch);
}

// TMA reads rows of operands that begin at multiples of 16 bytes.
static bool takes_hopper(const row *r, const ops_product *p, int major, int minor)
{
    return r->on_hopper && major == HOPPER && minor == 0 && p->k > 0 &&
           are_multiples(&p->a, r->face.a.bits / 8, 16, p->batch) &&
           are_multiples(&p->b, r->face.b.bits / 8, 16, p->batch);
}

// Whether the rows, or columns, of a matrix with [extent] elements in each are multiples of 16 bytes.
static bool is_wide(const ops_matrices *m, int element_bytes, int64_t extent, int64_t batches)
{
    return are_multiples(m, element_bytes, 16, batches) && extent * element_bytes % 16 == 0;
}

static bool are_wide(const ops_kernel *k, const ops_product *p)
{
    return is_wide(&p->a, k->a.bits / 8, p->a.order == OPS_ROWS ? p->k : p->m, p->batch) &&
           is_wide(&p->b, k->b.bits / 8, p->b.order == OPS_ROWS ? p->n : p->k, p->batch) &&
           is_wide(&p->c, k->c.bits / 8, p->n, p->batch);
}

static bool is_together(const row *r)
{
    return r->face.a_order == OPS_ROWS && r->face.b_order == OPS_COLUMNS;
}

// As has_large() in library.hds: f64 has the small tile only; so has fp8 unless both operands have k along rows and one
// type.
static bool has_large(const row *r)
{
    const ops_kernel *k = &r->face;
    bool is_f8 = k->a.bits == 8 && k->a.code != SIGNED_INTEGER;
    return k->a.bits != 64 && (!is_f8 || (k->a.code == k->b.code && is_together(r)));
}

static choice_anywhere *choice_of(const row *r)
{
    return !has_large(r) ? ops_choice_f64 : r->face.a.bits == 16 && is_together(r) ? ops_choice_f16 : ops_choice;
}

// The kind of epilogue, as in library_hopper.hds: 0 none, 1 without a residual, 2 with a residual.
static int32_t done_to(const ops_product *p)
{
    bool is_plain = p->alpha == 1 && p->activation == HDS_ACTIVATION_NONE && !p->bias && !p->a_scale && !p->b_scale;
    return p->residual.data ? 2 : !is_plain;
}

static int32_t choice_on_hopper(const row *r, const ops_product *p, const situation *s)
{
    return r->choice((int32_t)p->m, (int32_t)p->n, (int32_t)p->k, (int32_t)p->batch, s->sm_count, s->aligned,
                     s->unaligned, done_to(p));
}

// Hopper's kernels come first, except for skinny GEMMs (small m): memory bandwidth limits these, and gemv.hds and
// skinny.hds use it better than any tile.
static void choose_schedule(const row *r, const ops_product *p, bool can_hopper, situation *s)
{
    s->schedule = choice_of(r)((int32_t)p->m, (int32_t)p->n, (int32_t)p->batch, s->wide, s->sm_count);
    bool is_few = s->schedule == SKINNY && p->b.order == OPS_COLUMNS;
    int32_t on_hopper = can_hopper && !is_few ? choice_on_hopper(r, p, s) : -1;
    s->is_hopper = on_hopper >= 0;
    if (s->is_hopper)
        s->schedule = on_hopper;
}

// The template for a product on the current GPU, and the criteria.
static hdsrt_status find_situation(const row *r, const ops_product *p, situation *s)
{
    const ops_kernel *k = &r->face;
    int major, minor, before = anywhere_count();
    hdsrt_status status = hdsrt_capability(&major, &minor);
    if (!status)
        status = hdsrt_device_attribute(&s->sm_count, SM_COUNT);
    if (status)
        return status;
    bool can = takes_hopper(r, p, major, minor);
    if (p->schedule >= before && !can)
        return hdsrt_fail(
            HDSRT_UNSUPPORTED,
            "'hds_matmul': schedule %d ('%s') is for GPUs of compute capability 9.0, k of 1 and more, and rows of 'a' "
            "and 'b' that begin at multiples of 16 bytes",
            p->schedule, schedule_name(k, p->schedule));
    s->unaligned = is_unaligned(k, p);
    s->wide = are_wide(k, p);
    s->aligned = p->a.pitch * k->a.bits / 8 % 128 == 0 && p->b.pitch * k->b.bits / 8 % 128 == 0;
    s->is_hopper = p->schedule >= before;
    s->schedule = s->is_hopper ? p->schedule - before : p->schedule;
    if (p->schedule < 0)
        choose_schedule(r, p, can, s);
    s->stream = p->schedule < before ? -1 : p->schedule - before - hopper_count(r);
    return HDSRT_OK;
}

// The stream-K schedule that was requested, or is the fastest with a workspace; -1: run another one.
static int find_stream(const row *r, const ops_product *p, const situation *s)
{
    if (p->schedule >= 0)
        return s->stream;
    return s->is_hopper && ops_stream_takes(&r->face, p) ? ops_stream_choice_for(p, s->sm_count, s->aligned) : -1;
}

static hdsrt_status run_stream(const ops_kernel *kernel, const ops_product *p, const situation *s, hdsrt_stream stream)
{
    int64_t bytes = ops_stream_bytes(s->stream, s->sm_count);
    if (!ops_stream_takes(kernel, p) || p->workspace_bytes < bytes)
        return hdsrt_fail(
            HDSRT_UNSUPPORTED,
            "'hds_matmul': schedule %d ('%s') is for GPUs of compute capability 9.0, 'a' by rows, rows of "
            "'c' that begin at multiples of 16 bytes, nothing that is done to 'c', and a workspace of "
            "%" PRId64 " bytes",
            p->schedule, schedule_name(kernel, p->schedule), bytes);
    return ops_run_stream(kernel, p, s->stream, s->sm_count, stream);
}

static hdsrt_status run(const ops_kernel *kernel, const ops_product *p, hdsrt_stream stream)
{
    const row *r = (const row *)kernel;
    situation s;
    hdsrt_status status = find_situation(r, p, &s);
    if (status)
        return status;
    int chosen = p->workspace && s.stream < 0 ? find_stream(r, p, &s) : -1;
    if (chosen >= 0 && p->workspace_bytes >= ops_stream_bytes(chosen, s.sm_count))
        s.stream = chosen;
    if (s.stream >= 0)
        return run_stream(kernel, p, &s, stream);
    return s.is_hopper ? r->on_hopper(p, &s, stream) : r->anywhere(p, &s, stream);
}

static hdsrt_status choose(const ops_kernel *kernel, const ops_product *p, int *schedule, int64_t *workspace_bytes)
{
    const row *r = (const row *)kernel;
    situation s;
    hdsrt_status status = find_situation(r, p, &s);
    *workspace_bytes = 0;
    if (status)
        return status;
    int stream = find_stream(r, p, &s);
    if (stream >= 0)
        *workspace_bytes = ops_stream_bytes(stream, s.sm_count);
    if (p->schedule >= 0)
        *schedule = p->schedule;
    else if (stream >= 0 && p->workspace_bytes >= *workspace_bytes)
        *schedule = anywhere_count() + hopper_count(r) + stream;
    else
        *schedule = (s.is_hopper ? anywhere_count() : 0) + s.schedule;
    return HDSRT_OK;
}

// ---- generated functions ------------------------------------------------------------------------------------------

// Elements from one matrix to the next. A single matrix has no such stride, but a tensor map needs one.
static int64_t apart(const ops_matrices *m, int64_t rows, int64_t columns, int64_t batches)
{
    return batches > 1 ? m->batch : m->pitch * (m->order == OPS_ROWS ? rows : columns);
}

// All take the same arguments, but each has its own struct in C. Omitted tensors have no elements.
#define LAUNCH(name)                                                                                                   \
    static hdsrt_status launch_##name(const ops_product *p, const situation *s, hdsrt_stream stream)                   \
    {                                                                                                                  \
        bool has_residual = p->residual.data != NULL;                                                                  \
        return name##_call(&(name##_args){.a = (void *)p->a.data,                                                      \
                                          .b = (void *)p->b.data,                                                      \
                                          .c = (void *)p->c.data,                                                      \
                                          .bias = (const void *)p->bias,                                               \
                                          .residual = (void *)p->residual.data,                                        \
                                          .a_scale = p->a_scale,                                                       \
                                          .b_scale = p->b_scale,                                                       \
                                          .alpha = p->alpha,                                                           \
                                          .activation = (int32_t)p->activation,                                        \
                                          .schedule = s->schedule,                                                     \
                                          .sm_count = s->sm_count,                                                     \
                                          .unaligned = s->unaligned,                                                   \
                                          .wide = s->wide,                                                             \
                                          .BATCH = (int32_t)p->batch,                                                  \
                                          .M = (int32_t)p->m,                                                          \
                                          .N = (int32_t)p->n,                                                          \
                                          .K = (int32_t)p->k,                                                          \
                                          .SA = apart(&p->a, p->m, p->k, p->batch),                                    \
                                          .LDA = p->a.pitch,                                                           \
                                          .SB = apart(&p->b, p->k, p->n, p->batch),                                    \
                                          .LDB = p->b.pitch,                                                           \
                                          .SC = apart(&p->c, p->m, p->n, p->batch),                                    \
                                          .LDC = p->c.pitch,                                                           \
                                          .BIAS = p->bias ? (int32_t)p->n : 0,                                         \
                                          .RB = has_residual ? (int32_t)p->batch : 0,                                  \
                                          .RM = has_residual ? (int32_t)p->m : 0,                                      \
                                          .RN = has_residual ? (int32_t)p->n : 0,                                      \
                                          .SR = p->residual.batch,                                                     \
                                          .LDR = p->residual.pitch,                                                    \
                                          .QA = p->a_scale != NULL,                                                    \
                                          .QB = p->b_scale != NULL},                                                   \
                           stream);                                                                                    \
    }

#define LAUNCHES(tag) LAUNCH(tag##_mk_nk) LAUNCH(tag##_mk_kn) LAUNCH(tag##_km_nk) LAUNCH(tag##_km_kn)

LAUNCHES(ops_f16_f16)
LAUNCHES(ops_f16_f32)
LAUNCHES(ops_bf16_bf16)
LAUNCHES(ops_bf16_f32)
LAUNCHES(ops_f32_f32)
LAUNCHES(ops_tf32_f32)
LAUNCHES(ops_f64_f64)
LAUNCHES(ops_i8_i32)
LAUNCHES(ops_e4m3_e4m3_f16)
LAUNCHES(ops_e4m3_e4m3_bf16)
LAUNCHES(ops_e4m3_e4m3_f32)
LAUNCH(ops_e5m2_e4m3_f16_mk_nk)
LAUNCH(ops_e5m2_e4m3_bf16_mk_nk)
LAUNCHES(ops_hopper_f16_f16)
LAUNCHES(ops_hopper_f16_f32)
LAUNCHES(ops_hopper_bf16_bf16)
LAUNCHES(ops_hopper_bf16_f32)
LAUNCHES(ops_hopper_f32_f32)
LAUNCH(ops_hopper_tf32_f32_mk_nk)
LAUNCH(ops_hopper_tf32_f32_mk_kn)
LAUNCH(ops_hopper_tf32_f32_km_nk)
LAUNCH(ops_hopper_e4m3_e4m3_f16_mk_nk)
LAUNCH(ops_hopper_e4m3_e4m3_bf16_mk_nk)
LAUNCH(ops_hopper_e4m3_e4m3_f32_mk_nk)
LAUNCH(ops_hopper_i8_i32_mk_nk)

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

// Rows of the table: products with one template for every GPU, and products with separate kernels for Hopper.
#define FACE(orders, a, b, c, math)                                                                                    \
    {                                                                                                                  \
        TYPE_##a, TYPE_##b, TYPE_##c, math, ORDERS_##orders, run, choose, schedule_count, schedule_name                \
    }
#define ANYWHERE(orders, a, b, c, math, any)                                                                           \
    {                                                                                                                  \
        FACE(orders, a, b, c, math), launch_##any##_##orders, NULL, NULL, NULL                                         \
    }
#define BY_LIST(orders, a, b, c, math, any, tag, choice, label)                                                        \
    {                                                                                                                  \
        FACE(orders, a, b, c, math), launch_##any##_##orders, launch_ops_hopper_##tag##_##orders, choice, label        \
    }
#define HOPPER_TOO(orders, a, b, c, math, any, tag, label)                                                             \
    BY_LIST(orders, a, b, c, math, any, tag, ops_hopper_choice_##tag##_##orders, label)

// In all orders; on Hopper …
#define ALL(...)                                                                                                       \
    ANYWHERE(mk_nk, __VA_ARGS__), ANYWHERE(mk_kn, __VA_ARGS__), ANYWHERE(km_nk, __VA_ARGS__),                          \
        ANYWHERE(km_kn, __VA_ARGS__)
// … in all of them: 16-bit operands,
#define ALL_HOPPER(a, b, c, math, any, tag)                                                                            \
    HOPPER_TOO(mk_nk, a, b, c, math, any, tag, ops_hopper_label),                                                      \
        HOPPER_TOO(mk_kn, a, b, c, math, any, tag, ops_hopper_label),                                                  \
        HOPPER_TOO(km_nk, a, b, c, math, any, tag, ops_hopper_label),                                                  \
        HOPPER_TOO(km_kn, a, b, c, math, any, tag, ops_hopper_label)
// … and exact products of f32, by simt_hopper.hds;
#define EXACT(orders)                                                                                                  \
    BY_LIST(orders, F32, F32, F32, HDS_MATH_EXACT, ops_f32_f32, f32_f32, ops_hopper_choice_f32, ops_hopper_label_f32)
// … where one operand has k along rows: f32 by tf32 (transposed_operand.hds);
#define TRANSPOSED(a, b, c, math, any, tag)                                                                            \
    HOPPER_TOO(mk_nk, a, b, c, math, any, tag, ops_hopper_label_tf32),                                                 \
        HOPPER_TOO(mk_kn, a, b, c, math, any, tag, ops_hopper_label_tf32),                                             \
        HOPPER_TOO(km_nk, a, b, c, math, any, tag, ops_hopper_label_tf32), ANYWHERE(km_kn, a, b, c, math, any)
// … where both have k along rows: 8 bits.
#define TOGETHER(a, b, c, math, any, tag)                                                                              \
    HOPPER_TOO(mk_nk, a, b, c, math, any, tag, ops_hopper_label), ANYWHERE(mk_kn, a, b, c, math, any),                 \
        ANYWHERE(km_nk, a, b, c, math, any), ANYWHERE(km_kn, a, b, c, math, any)

static const row rows[] = {
    ALL_HOPPER(F16, F16, F16, HDS_MATH_EXACT, ops_f16_f16, f16_f16),
    ALL_HOPPER(F16, F16, F32, HDS_MATH_EXACT, ops_f16_f32, f16_f32),
    ALL_HOPPER(BF16, BF16, BF16, HDS_MATH_EXACT, ops_bf16_bf16, bf16_bf16),
    ALL_HOPPER(BF16, BF16, F32, HDS_MATH_EXACT, ops_bf16_f32, bf16_f32),
    TRANSPOSED(F32, F32, F32, HDS_MATH_TF32, ops_tf32_f32, tf32_f32),
    EXACT(mk_nk),
    EXACT(mk_kn),
    EXACT(km_nk),
    EXACT(km_kn),
    ALL(F64, F64, F64, HDS_MATH_EXACT, ops_f64_f64),
    TOGETHER(I8, I8, I32, HDS_MATH_EXACT, ops_i8_i32, i8_i32),
    TOGETHER(E4M3, E4M3, F16, HDS_MATH_EXACT, ops_e4m3_e4m3_f16, e4m3_e4m3_f16),
    TOGETHER(E4M3, E4M3, BF16, HDS_MATH_EXACT, ops_e4m3_e4m3_bf16, e4m3_e4m3_bf16),
    TOGETHER(E4M3, E4M3, F32, HDS_MATH_EXACT, ops_e4m3_e4m3_f32, e4m3_e4m3_f32),
    ANYWHERE(mk_nk, E5M2, E4M3, F16, HDS_MATH_EXACT, ops_e5m2_e4m3_f16),
    ANYWHERE(mk_nk, E5M2, E4M3, BF16, HDS_MATH_EXACT, ops_e5m2_e4m3_bf16),
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
