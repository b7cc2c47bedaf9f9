#include "contest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hds/ops.h"

enum { INTERLEAVED_CALLS = 301, BLOCKS = 9, BLOCK_US = 100000, LARGEST_BLOCK = 1500 };

double mm_operations(const mm_shape *s)
{
    return 2.0 * (double)s->batch * (double)s->m * (double)s->n * (double)s->k;
}

// ---- operands -----------------------------------------------------------------------------------------------------

static mm_strides strides_of(int64_t rows, int64_t columns, bool is_transposed)
{
    return is_transposed ? (mm_strides){rows * columns, 1, rows} : (mm_strides){rows * columns, columns, 1};
}

static mm_product product_of(const mm_shape *s)
{
    return (mm_product){
        .a_type = s->a,
        .b_type = s->b,
        .c_type = s->c,
        .tf32 = s->tf32,
        .batch = s->batch,
        .m = s->m,
        .n = s->n,
        .k = s->k,
        .a = strides_of(s->m, s->k, s->orders[1] == 'T'),
        .b = strides_of(s->k, s->n, s->orders[0] == 'T'),
        .c = strides_of(s->m, s->n, false),
        .alpha = 1,
    };
}

static void *make(mm_gpu *g, mm_type type, int64_t count, uint32_t seed)
{
    void *data = mm_gpu_allocate(g, count * mm_types[type].bytes);
    if (data && !mm_fill(g, type, data, count, seed)) {
        mm_gpu_release(g, data);
        data = NULL;
    }
    return data;
}

bool mm_contest_open(mm_contest *c, mm_gpu *g, const mm_shape *s, uint32_t seed)
{
    mm_product *p = &c->product;
    *c = (mm_contest){.gpu = g, .shape = *s};
    c->elements[0] = s->batch * s->m * s->k;
    c->elements[1] = s->batch * s->k * s->n;
    c->elements[2] = s->batch * s->m * s->n;
    *p = product_of(s);
    p->a_data = make(g, s->a, c->elements[0], seed);
    p->b_data = p->a_data ? make(g, s->b, c->elements[1], seed + 1) : NULL;
    p->c_data = p->b_data ? mm_gpu_allocate(g, c->elements[2] * mm_types[s->c].bytes) : NULL;
    c->bare = *p;
    bool is_right = p->c_data != NULL;
    if (is_right && s->has_epilogue) {
        p->bias = make(g, s->c, s->n, seed + 2);
        p->has_bias = true;
        p->activation = HDS_ACTIVATION_GELU_TANH;
        is_right = p->bias != NULL;
    }
    if (is_right && hdsrt_synchronize(g->stream) == HDSRT_OK)
        return true;
    mm_contest_close(c);
    return false;
}

void mm_contest_close(mm_contest *c)
{
    mm_gpu_release(c->gpu, (void *)(uintptr_t)c->product.a_data);
    mm_gpu_release(c->gpu, (void *)(uintptr_t)c->product.b_data);
    mm_gpu_release(c->gpu, (void *)(uintptr_t)c->product.bias);
    mm_gpu_release(c->gpu, c->product.c_data);
    mm_gpu_release(c->gpu, c->reference);
    c->product = (mm_product){0};
    c->reference = NULL;
}

// ---- correctness --------------------------------------------------------------------------------------------------

static int64_t c_bytes(const mm_contest *c)
{
    return c->elements[2] * mm_types[c->shape.c].bytes;
}

bool mm_contest_reference(mm_contest *c, const mm_way *peer)
{
    mm_product p = c->product;
    if (!peer)
        return true;
    if (!c->reference)
        c->reference = mm_gpu_allocate(c->gpu, c_bytes(c));
    p.c_data = c->reference;
    return c->reference && mm_poison(c->gpu, c->reference, c_bytes(c)) &&
           peer->run(peer->self, &p, peer->index, c->gpu->stream) == HDSRT_OK &&
           hdsrt_synchronize(c->gpu->stream) == HDSRT_OK;
}

// How far two right results may be apart: each is rounded once, and sums end at random points.
static int64_t differences(mm_contest *c)
{
    const mm_product *p = &c->product;
    double relative = 4 * mm_types[p->c_type].rounding, unit = 0x1p-11;
    if (p->a_type == MM_E4M3 || p->a_type == MM_E5M2)
        unit = 0x1p-5; // ours are kept with 13 fraction bits throughout
    if (p->tf32)
        unit = 0x1p-6; // operands are cut off, or rounded: of all elements some are far apart
    if (p->c_type == MM_F64)
        unit = 0x1p-45;
    // 0.5 · √k · 2e-3 of f16, scaled to the type: a small part of what elements are, √k.
    double absolute = p->c_type == MM_I32 ? 0 : unit * __builtin_sqrt((double)p->k);
    // Sums in f32 of exact products: of k partial sums as large as √i each is rounded by 0.29 units of 2^-23 in the mean,
    // which makes k · 2^-23 / 5 for a sum in the mean, and as much for the peer's where its order is another one; more for
    // sums that wander far. Fourteen of those.
    if (p->c_type == MM_F32 && p->a_type == MM_F32 && !p->tf32)
        absolute = 0x1p-21 * (double)p->k;
    return mm_compare(c->gpu, p->c_type, p->c_data, c->reference, c->elements[2], relative, absolute);
}

bool mm_contest_check(mm_contest *c, const mm_way *way, const char **why)
{
    static _Thread_local char text[256];
    mm_gpu *g = c->gpu;
    *why = text;
    if (!mm_poison(g, c->product.c_data, c_bytes(c)) || way->run(way->self, &c->product, way->index, g->stream) ||
        hdsrt_synchronize(g->stream)) {
        snprintf(text, sizeof text, "%s", hdsrt_last_error());
        return false;
    }
    mm_verdict v = mm_judge(g, &c->product, c->elements, 1024);
    int64_t different = c->reference ? differences(c) : 0;
    if (v.wrong < 0 || different < 0)
        snprintf(text, sizeof text, "%s", hdsrt_last_error());
    else if (v.wrong || different)
        snprintf(text, sizeof text, "wrong: %lld elements differ from the peer's, %lld of 1024 from f64 (element %lld)",
                 (long long)different, (long long)v.wrong, (long long)v.example);
    else
        return true;
    return false;
}

// ---- races --------------------------------------------------------------------------------------------------------

typedef struct race {
    mm_contest *contest;
    const mm_way *ways;
    const mm_product *const *products;
    int count;
    double *medians;
} race;

// Ways that compute different products (bare and with an epilogue) look like ways of one.
typedef struct bound_way {
    const mm_way *way;
    const mm_product *product;
} bound_way;

static hdsrt_status run_bound(void *self, const mm_product *p, int index, hdsrt_stream stream)
{
    const bound_way *b = self;
    (void)p;
    return b->way->run(b->way->self, b->product, index, stream);
}

static bool race_interleaved(race *r, const mm_way *ways, double effort)
{
    int calls = (int)(INTERLEAVED_CALLS * effort);
    if (calls < 11)
        calls = 11;
    double *us = calloc((size_t)(r->count * calls), sizeof *us);
    bool is_right = us && mm_time_interleaved(r->contest->gpu, ways, r->count, r->products[0], calls, us);
    for (int w = 0; is_right && w < r->count; w++)
        r->medians[w] = mm_median(&us[w * calls], calls);
    free(us);
    return is_right;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

static void shuffle(int *order, int count, uint32_t *state)
{
    for (int i = count - 1; i > 0; i--) {
        int j = (int)(next_random(state) % (uint32_t)(i + 1)), value = order[i];
        order[i] = order[j];
        order[j] = value;
    }
}

// How many calls fill a block, from one call.
static int calls_of_block(race *r, const mm_way *way, double us_of_block)
{
    double us[3];
    if (!mm_time(r->contest->gpu, way, r->products[0], 3, us))
        return 0;
    double each = mm_median(us, 3) + MM_FLUSH_BYTES / 3e6; // the flush takes its time as well
    int calls = (int)(us_of_block / each);
    return calls < 3 ? 3 : calls > LARGEST_BLOCK ? LARGEST_BLOCK : calls;
}

static bool race_blocks(race *r, const mm_way *ways, double effort)
{
    int blocks = effort >= 1 ? BLOCKS : (int)(BLOCKS * effort + 0.99);
    int order[64], count = r->count, *calls = calloc((size_t)count, sizeof *calls);
    size_t room = (size_t)blocks * LARGEST_BLOCK;
    double *us = calloc((size_t)count * room, sizeof *us);
    uint32_t random = 12345;
    bool is_right = calls && us && count <= 64;
    for (int w = 0; is_right && w < count; w++) {
        order[w] = w;
        is_right = (calls[w] = calls_of_block(r, &ways[w], effort >= 1 ? BLOCK_US : 0.6 * BLOCK_US)) > 0;
    }
    for (int b = 0; is_right && b < blocks; b++) {
        shuffle(order, count, &random);
        for (int i = 0; is_right && i < count; i++) {
            int w = order[i];
            is_right = mm_time(r->contest->gpu, &ways[w], r->products[0], calls[w],
                               &us[(size_t)w * room + (size_t)(b * calls[w])]);
        }
    }
    for (int w = 0; is_right && w < count; w++)
        r->medians[w] = mm_median(&us[(size_t)w * room], blocks * calls[w]);
    free(calls);
    free(us);
    return is_right;
}

bool mm_contest_race(mm_contest *c, const mm_way *ways, const mm_product *const *products, int count, double effort,
                     double *medians)
{
    race r = {c, ways, products, count, medians};
    bound_way *bound = calloc((size_t)count, sizeof *bound);
    mm_way *runners = calloc((size_t)count, sizeof *runners);
    bool is_right = bound && runners;
    memset(medians, 0, (size_t)count * sizeof *medians);
    for (int w = 0; is_right && w < count; w++) {
        bound[w] = (bound_way){&ways[w], products[w]};
        runners[w] = (mm_way){ways[w].name, run_bound, &bound[w], ways[w].index};
    }
    is_right = is_right && (mm_operations(&c->shape) < 1e10 ? race_interleaved(&r, runners, effort)
                                                            : race_blocks(&r, runners, effort));
    free(bound);
    free(runners);
    return is_right;
}
