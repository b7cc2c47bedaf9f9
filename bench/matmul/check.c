#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hds/ops.h"

enum { GUARD_BYTES = 4096, REPEATS = 20, LARGEST = 1 << 22, REPORTED = 20 };

// ---- what is tried ------------------------------------------------------------------------------------------------

static uint32_t next(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static int64_t below(uint32_t *state, int64_t count)
{
    return (int64_t)(next(state) % (uint32_t)count);
}

// Extents: small ones, ones around multiples of tiles, primes, and now and then large ones.
static int64_t extent(uint32_t *state, int64_t most)
{
    static const int64_t odd[] = {1, 2, 3, 5, 7, 13, 31, 63, 65, 97, 127, 129, 191, 193, 255, 257, 263, 383, 521, 1021};
    static const int64_t even[] = {8, 16, 32, 64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 1024, 1536, 2048};
    int64_t e;
    switch (below(state, 4)) {
    case 0:
        e = odd[below(state, sizeof odd / sizeof *odd)];
        break;
    case 1:
        e = even[below(state, sizeof even / sizeof *even)];
        break;
    case 2:
        e = 8 * (1 + below(state, 80));
        break;
    default:
        e = 1 + below(state, 700);
    }
    return e > most ? most : e;
}

// k from 1 to a bit beyond three rounds of the longest ring (14 slots of 64).
static int64_t depth(uint32_t *state)
{
    return below(state, 20) == 0 ? 0 : below(state, 3) == 0 ? 64 * (1 + below(state, 45)) : extent(state, 2800);
}

typedef struct types {
    mm_type a, b, c;
    bool tf32;
} types;

static const types kinds[] = {
    {MM_F16, MM_F16, MM_F16, false},   {MM_F16, MM_F16, MM_F32, false},   {MM_BF16, MM_BF16, MM_BF16, false},
    {MM_BF16, MM_BF16, MM_F32, false}, {MM_F32, MM_F32, MM_F32, false},   {MM_F32, MM_F32, MM_F32, true},
    {MM_F64, MM_F64, MM_F64, false},   {MM_E4M3, MM_E4M3, MM_F16, false}, {MM_E4M3, MM_E4M3, MM_BF16, false},
    {MM_E4M3, MM_E4M3, MM_F32, false}, {MM_E5M2, MM_E4M3, MM_F16, false}, {MM_E5M2, MM_E4M3, MM_BF16, false},
    {MM_I8, MM_I8, MM_I32, false},     {MM_F16, MM_F16, MM_F16, false},   {MM_BF16, MM_BF16, MM_BF16, false},
};

// A matrix with space around it: [bytes] from [base], the first element [offset] bytes behind that.
typedef struct buffer {
    char *base;
    int64_t bytes, offset;
} buffer;

typedef struct trial {
    mm_product p;
    buffer a, b, c, bias, residual;
    int64_t elements[3];
    int index; // of a schedule, -1: the library's choice
} trial;

// Strides of rows × columns: by rows or by columns, with space between them, of which half keep multiples of 16 bytes.
static mm_strides random_strides(uint32_t *state, int64_t rows, int64_t columns, int bytes, bool is_turned)
{
    int64_t pitch = is_turned ? rows : columns, count = is_turned ? columns : rows;
    pitch += below(state, 3) ? 0 : below(state, 40);
    if (below(state, 3))
        pitch = (pitch * bytes + 15) / 16 * 16 / bytes;
    int64_t batch = pitch * (count ? count : 1) + (below(state, 3) ? 0 : 16 / bytes * below(state, 9));
    return is_turned ? (mm_strides){batch, 1, pitch} : (mm_strides){batch, pitch, 1};
}

static int64_t span(mm_strides s, int64_t batch, int64_t rows, int64_t columns)
{
    if (!batch || !rows || !columns)
        return 1;
    return (batch - 1) * s.batch + (rows - 1) * s.row + (columns - 1) * s.column + 1;
}

static void plan(trial *t, uint32_t *state)
{
    const types *kind = &kinds[below(state, sizeof kinds / sizeof *kinds)];
    mm_product *p = &t->p;
    *t = (trial){.index = -1};
    *p = (mm_product){.a_type = kind->a, .b_type = kind->b, .c_type = kind->c, .tf32 = kind->tf32, .alpha = 1};
    p->batch = below(state, 4) ? 1 : 1 + below(state, 5);
    p->m = below(state, 3) ? extent(state, 2048) : 1 + below(state, 64);
    p->n = extent(state, 2048);
    p->k = depth(state);
    while (p->batch * p->m * p->n > LARGEST)
        p->m = p->m / 2 + 1, p->batch = 1;
    // Products of two types of fp8 have k together in both.
    bool is_mixed = p->a_type != p->b_type;
    p->a = random_strides(state, p->m, p->k, mm_types[p->a_type].bytes, !is_mixed && below(state, 2));
    p->b = random_strides(state, p->k, p->n, mm_types[p->b_type].bytes, is_mixed || below(state, 2));
    p->c = random_strides(state, p->m, p->n, mm_types[p->c_type].bytes, false);
    if (p->batch > 1 && below(state, 3) == 0)
        p->b.batch = 0;
    if (kind->a == MM_I8 || below(state, 2))
        return;
    p->has_bias = below(state, 2);
    p->has_residual = below(state, 3) == 0;
    p->activation = (int)below(state, HDS_ACTIVATION_SILU + 1);
    p->alpha = below(state, 3) ? 1 : 0.37;
}

// ---- buffers ------------------------------------------------------------------------------------------------------

static bool make(mm_gpu *g, buffer *b, mm_type type, int64_t elements, bool is_aligned, uint32_t *state)
{
    int bytes = mm_types[type].bytes;
    b->offset = GUARD_BYTES + (is_aligned ? 0 : bytes * below(state, 16));
    b->bytes = b->offset + elements * bytes + GUARD_BYTES;
    b->bytes += (256 - b->bytes % 256) % 256;
    b->base = mm_gpu_allocate(g, b->bytes);
    return b->base && mm_poison(g, b->base, b->bytes);
}

// Fills all of it but the guards: elements in spaces are numbers as well.
static bool fill(mm_gpu *g, const buffer *b, mm_type type, int64_t elements, uint32_t seed)
{
    // From a multiple of 16 bytes on, as filling wants it.
    int64_t before = b->offset % 16 / mm_types[type].bytes;
    return mm_fill(g, type, b->base + b->offset - b->offset % 16, before + elements, seed);
}

static bool make_operands(mm_gpu *g, trial *t, uint32_t *state)
{
    mm_product *p = &t->p;
    bool is_aligned = below(state, 3) != 0;
    t->elements[0] = span(p->a, p->batch, p->m, p->k);
    t->elements[1] = span(p->b, p->batch, p->k, p->n);
    t->elements[2] = span(p->c, p->batch, p->m, p->n);
    if (!make(g, &t->a, p->a_type, t->elements[0], is_aligned, state) ||
        !fill(g, &t->a, p->a_type, t->elements[0], next(state)) ||
        !make(g, &t->b, p->b_type, t->elements[1], is_aligned, state) ||
        !fill(g, &t->b, p->b_type, t->elements[1], next(state)) ||
        !make(g, &t->c, p->c_type, t->elements[2], is_aligned, state))
        return false;
    if (p->has_bias &&
        (!make(g, &t->bias, p->c_type, p->n, is_aligned, state) || !fill(g, &t->bias, p->c_type, p->n, next(state))))
        return false;
    if (p->has_residual && (!make(g, &t->residual, p->c_type, t->elements[2], is_aligned, state) ||
                            !fill(g, &t->residual, p->c_type, t->elements[2], next(state))))
        return false;
    p->a_data = t->a.base + t->a.offset;
    p->b_data = t->b.base + t->b.offset;
    p->c_data = t->c.base + t->c.offset;
    p->bias = p->has_bias ? t->bias.base + t->bias.offset : NULL;
    p->residual = p->has_residual ? t->residual.base + t->residual.offset : NULL;
    return true;
}

static void drop_operands(mm_gpu *g, trial *t)
{
    buffer *all[] = {&t->a, &t->b, &t->c, &t->bias, &t->residual};
    for (int i = 0; i < 5; i++)
        mm_gpu_release(g, all[i]->base);
}

// ---- a trial ------------------------------------------------------------------------------------------------------

// Whether a byte outside the elements of c was written. Clears the elements on the way, so that all must be poison
// then.
static bool wrote_outside(const trial *t, unsigned char *bytes)
{
    const mm_product *p = &t->p;
    int64_t size = mm_types[p->c_type].bytes;
    for (int64_t z = 0; z < p->batch; z++) {
        for (int64_t i = 0; i < p->m; i++)
            memset(bytes + t->c.offset + (z * p->c.batch + i * p->c.row) * size, 0xff, (size_t)(p->n * size));
    }
    for (int64_t i = 0; i < t->c.bytes; i++) {
        if (bytes[i] != 0xff)
            return true;
    }
    return false;
}

static bool run_once(mm_gpu *g, const trial *t, unsigned char *bytes)
{
    return mm_poison(g, t->c.base, t->c.bytes) && mm_run(NULL, &t->p, t->index, g->stream) == HDSRT_OK &&
           hdsrt_synchronize(g->stream) == HDSRT_OK &&
           hdsrt_driver_fail(g->cuda->download(bytes, (uint64_t)(uintptr_t)t->c.base, (size_t)t->c.bytes),
                             "reading c") == HDSRT_OK;
}

// What is wrong; NULL: nothing. [repeats]: how often the same bits have to come.
static const char *judge(mm_gpu *g, trial *t, int repeats, double *worst)
{
    static char text[512];
    unsigned char *first = malloc((size_t)t->c.bytes), *again = malloc((size_t)t->c.bytes);
    const char *why = NULL;
    mm_verdict v = {0};
    if (!first || !again || !run_once(g, t, first))
        why = hdsrt_last_error();
    if (!why) {
        v = mm_judge(g, &t->p, t->elements, t->p.batch * t->p.m * t->p.n);
        if (v.wrong < 0) {
            why = hdsrt_last_error();
        } else if (v.wrong) {
            snprintf(text, sizeof text, "%lld of %lld elements are wrong, such as number %lld", (long long)v.wrong,
                     (long long)(t->p.batch * t->p.m * t->p.n), (long long)v.example);
            why = text;
        }
    }
    *worst = v.worst;
    for (int r = 1; !why && r < repeats; r++) {
        if (!run_once(g, t, again))
            why = hdsrt_last_error();
        else if (memcmp(first, again, (size_t)t->c.bytes) != 0)
            why = "another run gives other bits";
    }
    if (!why && wrote_outside(t, first))
        why = "something was written outside c";
    free(first);
    free(again);
    return why;
}

static void print_trial(const trial *t, int number, const char *why)
{
    const mm_product *p = &t->p;
    const char *name = t->index < 0 ? mm_choice_name(p) : mm_schedule_name(p, t->index);
    printf("%d: %s x %s -> %s%s, %lld x (%lld x %lld x %lld), a %lld,%lld,%lld%s b %lld,%lld,%lld%s c %lld,%lld%s, "
           "bias %d, "
           "residual %d, activation %d, alpha %g, schedule %d (%s): %s\n",
           number, mm_types[p->a_type].name, mm_types[p->b_type].name, mm_types[p->c_type].name,
           p->tf32 ? " by tf32" : "", (long long)p->batch, (long long)p->m, (long long)p->n, (long long)p->k,
           (long long)p->a.batch, (long long)p->a.row, (long long)p->a.column,
           (uintptr_t)p->a_data % 16 ? " (misaligned)" : "", (long long)p->b.batch, (long long)p->b.row,
           (long long)p->b.column, (uintptr_t)p->b_data % 16 ? " (misaligned)" : "", (long long)p->c.batch,
           (long long)p->c.row, (uintptr_t)p->c_data % 16 ? " (misaligned)" : "", p->has_bias, p->has_residual,
           p->activation, p->alpha, t->index, name ? name : "", why);
    fflush(stdout);
}

typedef struct tally {
    int passed, failed, refused;
    double worst;
} tally;

// A schedule that is asked for by number may not take the product; the library's own choice takes every one.
static bool is_refusal(const trial *t, const char *why)
{
    static const char *const texts[] = {"there is no schedule", "has no such schedule", "this schedule is for",
                                        "is for GPUs of compute capability"};
    for (size_t i = 0; t->index >= 0 && i < sizeof texts / sizeof *texts; i++) {
        if (strstr(why, texts[i]))
            return true;
    }
    return false;
}

static void try(mm_gpu *g, trial *t, int number, int repeats, tally *sum)
{
    double worst = 0;
    const char *why = judge(g, t, repeats, &worst);
    if (!why) {
        sum->passed++;
        sum->worst = worst > sum->worst ? worst : sum->worst;
    } else if (is_refusal(t, why)) {
        sum->refused++;
    } else {
        if (sum->failed++ < REPORTED)
            print_trial(t, number, why);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int mm_check(mm_gpu *g, int count, uint32_t seed, double seconds)
{
    double began = now();
    uint32_t state = seed * 2654435761u + 1;
    tally sum = {0};
    int n = 0;
    for (; n < count && (seconds <= 0 || now() - began < seconds); n++) {
        trial t;
        plan(&t, &state);
        if (!make_operands(g, &t, &state)) {
            print_trial(&t, n, hdsrt_last_error());
            sum.failed++;
        } else {
            // The library's choice each time; a schedule of its own number as well; every eighth often, to see that the
            // bits stay.
            try(g, &t, n, n % 8 ? 2 : REPEATS, &sum);
            int schedules = mm_schedules(&t.p);
            if (schedules > 1) {
                t.index = (int)below(&state, schedules);
                try(g, &t, n, 2, &sum);
            }
        }
        drop_operands(g, &t);
    }
    printf("%d products: %d passed, %d failed, %d not taken by the schedule that was asked for; largest error %.3f of "
           "what is "
           "allowed; %.0f s, seed %u\n",
           n, sum.passed, sum.failed, sum.refused, sum.worst, now() - began, seed);
    return sum.failed != 0;
}
