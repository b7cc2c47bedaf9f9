// hds_matmul_grouped(): checks its tensors and derives the problem sizes.
#include <inttypes.h>
#include <string.h>

#include "ops/product.h"

static const char entry[] = "hds_matmul_grouped";

enum { A, B, OFFSETS, C, TENSORS };

static const char *const names[TENSORS] = {"a", "b", "offsets", "c"};

typedef struct reading {
    const hdsrt_tensor *tensors[TENSORS];
    const void *data[TENSORS];
    int64_t strides[TENSORS][3];
    hdsrt_tensor_rule rules[TENSORS];
} reading;

static bool is_plain(const hds_matmul_options *o)
{
    return o->alpha == 1.0 && !o->a_scale && !o->b_scale && !o->bias && !o->residual && !o->activation && !o->math;
}

static hdsrt_status read_schedule(const hds_matmul_options *o, int *schedule)
{
    *schedule = -1;
    if (!o)
        return HDSRT_OK;
    if (o->bytes < offsetof(hds_matmul_options, schedule) + sizeof o->schedule)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': the options have %zu bytes: begin with HDS_MATMUL_OPTIONS",
                          entry, o->bytes);
    if (!is_plain(o))
        return hdsrt_fail(HDSRT_UNSUPPORTED, "'%s': of the options only the schedule can be chosen", entry);
    if (o->schedule < -1 || o->schedule > 2)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': there is no schedule %d; these products have 3", entry,
                          o->schedule);
    *schedule = o->schedule;
    return HDSRT_OK;
}

static hdsrt_status read_tensors(reading *r)
{
    static const int axes[TENSORS] = {2, 3, 1, 2};
    const hdsrt_dtype i32 = {0, 32}, f16 = {2, 16}, bf16 = {4, 16};
    for (int i = 0; i < TENSORS; i++) {
        if (!r->tensors[i])
            return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': '%s' is null", entry, names[i]);
    }
    hdsrt_dtype type = r->tensors[A]->dtype.code == bf16.code ? bf16 : f16;
    hdsrt_status status = HDSRT_OK;
    for (int i = 0; i < TENSORS && !status; i++) {
        r->rules[i] = (hdsrt_tensor_rule){.name = names[i],
                                          .dtype = i == OFFSETS ? i32 : type,
                                          .ndim = (uint8_t)axes[i],
                                          .is_written = i == C,
                                          .alignment = i == OFFSETS ? 4 : 2};
        status = hdsrt_check_dlpack_strided(entry, &r->rules[i], r->tensors[i], &r->data[i], r->strides[i]);
    }
    return status;
}

static hdsrt_status read_extents(const reading *r, ops_grouped *p)
{
    const hdsrt_tensor *const *t = r->tensors;
    hdsrt_status status;
    p->m = t[A]->shape[0];
    p->k = t[A]->shape[1];
    p->n = t[B]->shape[2];
    p->groups = t[B]->shape[0];
    if ((status = hdsrt_check_extent(entry, "b", 1, t[B]->shape[1], p->k, "k")) ||
        (status = hdsrt_check_extent(entry, "offsets", 0, t[OFFSETS]->shape[0], p->groups + 1, "groups + 1")) ||
        (status = hdsrt_check_extent(entry, "c", 0, t[C]->shape[0], p->m, "m")) ||
        (status = hdsrt_check_extent(entry, "c", 1, t[C]->shape[1], p->n, "n")))
        return status;
    if (p->groups > 0 && r->strides[OFFSETS][0] != 1)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT,
                          "'%s': 'offsets' has a stride of %" PRId64
                          " elements, and it has to be 1: make a contiguous copy",
                          entry, r->strides[OFFSETS][0]);
    if (p->groups == 0 && p->m > 0)
        return hdsrt_fail(HDSRT_INVALID_ARGUMENT, "'%s': 'a' has %" PRId64 " rows, and there is no group", entry, p->m);
    const int64_t most = OPS_MOST_EXTENT;
    if (p->m > most || p->n > most || p->k > most || p->groups > most)
        return hdsrt_fail(HDSRT_UNSUPPORTED,
                          "'%s': m, n, k and the number of groups are %" PRId64 ", %" PRId64 ", %" PRId64
                          " and %" PRId64 ", and each has to be below 2^31 - 2^16",
                          entry, p->m, p->n, p->k, p->groups);
    return HDSRT_OK;
}

// The alignment that TMA requires of rows.
static hdsrt_status check_rows(const char *name, const ops_matrices *m, int64_t matrices)
{
    bool is_aligned = (uintptr_t)m->data % 16 == 0 && m->pitch % 8 == 0 && (matrices == 1 || m->batch % 8 == 0);
    return is_aligned ? HDSRT_OK
                      : hdsrt_fail(HDSRT_UNSUPPORTED,
                                   "'%s': the rows of '%s', or its columns if these lie side by side, have to begin at "
                                   "multiples of 16 bytes",
                                   entry, name);
}

static hdsrt_status read_orders(const reading *r, ops_grouped *p)
{
    hdsrt_status status;
    p->a.data = (char *)(uintptr_t)r->data[A];
    p->b.data = (char *)(uintptr_t)r->data[B];
    p->c.data = (char *)(uintptr_t)r->data[C];
    p->offsets = r->data[OFFSETS];
    if ((status = ops_read_order(entry, "a", r->tensors[A], r->strides[A], true, &p->a)) ||
        (status = ops_read_order(entry, "b", r->tensors[B], r->strides[B], false, &p->b)) ||
        (status = ops_read_order(entry, "c", r->tensors[C], r->strides[C], true, &p->c)))
        return status;
    // A single matrix has no stride to the next, but a tensor map needs one.
    p->a.batch = p->a.pitch * p->m;
    p->b.batch = p->groups > 1 ? r->strides[B][0] : p->b.pitch * (p->b.order == OPS_ROWS ? p->k : p->n);
    p->c.batch = p->c.pitch * p->m;
    return HDSRT_OK;
}

// c is written: it must not overlap another tensor or itself.
static hdsrt_status check_overlaps(const reading *r)
{
    hdsrt_strided_value values[TENSORS];
    for (int i = 0; i < TENSORS; i++)
        values[i] = (hdsrt_strided_value){r->data[i], r->tensors[i]->shape, r->strides[i]};
    return hdsrt_check_strided(entry, r->rules, values, TENSORS);
}

hdsrt_status hds_matmul_grouped(const hdsrt_tensor *a, const hdsrt_tensor *b, const hdsrt_tensor *offsets,
                                hdsrt_tensor *c, const hds_matmul_options *options, hdsrt_stream stream)
{
    reading r = {.tensors = {a, b, offsets, c}};
    ops_grouped p = {0};
    hdsrt_status status;
    if ((status = read_schedule(options, &p.schedule)) || (status = read_tensors(&r)) ||
        (status = read_extents(&r, &p)) || (status = read_orders(&r, &p)) || (status = check_overlaps(&r)))
        return status;
    if (p.m == 0 || p.n == 0)
        return HDSRT_OK;
    if (p.k == 0)
        return hdsrt_fail(HDSRT_UNSUPPORTED, "'%s': k is 0, and it has to be 1 or more", entry);
    if ((status = check_rows("a", &p.a, 1)) || (status = check_rows("b", &p.b, p.groups)))
        return status;
    p.type = r.rules[A].dtype;
    return ops_run_grouped(&p, stream);
}
