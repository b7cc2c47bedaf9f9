// The operators of libhdsops whose results say what is wanted (ops/library), and norms of images, on a real GPU:
// against loops, with extents that are multiples of vectors and such that are not, and tensors of more than 2^32
// elements. Prints what does not hold; exit code 1 then, 2 without a GPU.
//
//     cc -O2 -Iinclude -IBUILD/src/ops/include tests/gpu/library.c -lhdsops -lhdsrt -lm && ./a.out
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hds/operators/activation.h"
#include "hds/operators/batch_norm_training.h"
#include "hds/operators/borders.h"
#include "hds/operators/cast.h"
#include "hds/operators/cosine.h"
#include "hds/operators/creation.h"
#include "hds/operators/dropout.h"
#include "hds/operators/grid_sample.h"
#include "hds/operators/instance_norm.h"
#include "hds/operators/joins.h"
#include "hds/operators/pooling_2.h"
#include "hds/operators/pooling_2x2x2.h"
#include "hds/operators/pooling_adaptive.h"
#include "hds/operators/random.h"
#include "hds/operators/resize.h"
#include "hds/operators/resize_nhwc.h"
#include "holds.h"

enum { INT = 0, FLOAT = 2, BOOL = 6, AXES = 5 };

#define WORKS(call) HOLDS((call) == HDSRT_OK, "failed")

// ---- tensors --------------------------------------------------------------------------------------------------------

typedef struct tensor {
    hdsrt_tensor t;
    int64_t shape[AXES], count;
    void *host; // the elements, as they were before the call, or are once they were fetched
} tensor;

static tensor *make(int code, int bits, int axes, const int64_t *shape)
{
    tensor *x = calloc(1, sizeof *x);
    x->count = 1;
    for (int i = 0; i < axes; i++)
        x->count *= x->shape[i] = shape[i];
    x->t.device.device_type = 2;
    x->t.ndim = axes;
    x->t.shape = x->shape;
    x->t.dtype.code = (uint8_t)code;
    x->t.dtype.bits = (uint8_t)bits;
    x->t.dtype.lanes = 1;
    WORKS(hdsrt_allocate(&x->t.data, x->count * (bits / 8) + 16, NULL));
    return x;
}

#define MAKE(code, bits, ...)                                                                                          \
    make(code, bits, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

static int64_t bytes_of(const tensor *x)
{
    return x->count * (x->t.dtype.bits / 8);
}

static void put(tensor *x)
{
    WORKS(hdsrt_copy(x->t.data, x->host, bytes_of(x), NULL));
    WORKS(hdsrt_synchronize(NULL));
}

// Its elements, of whatever type, until the next call for it.
static void *fetch(tensor *x)
{
    if (!x->host)
        x->host = malloc((size_t)bytes_of(x) + 1);
    WORKS(hdsrt_copy(x->host, x->t.data, bytes_of(x), NULL));
    WORKS(hdsrt_synchronize(NULL));
    return x->host;
}

static void discard(tensor *x)
{
    WORKS(hdsrt_release(x->t.data, NULL));
    free(x->host);
    free(x);
}

// f32 with whole numbers, different ones as far as 24 bits go.
static tensor *numbers(int axes, const int64_t *shape)
{
    static int seed;
    tensor *x = make(FLOAT, 32, axes, shape);
    x->host = malloc((size_t)bytes_of(x) + 1);
    seed++;
    for (int64_t i = 0; i < x->count; i++)
        ((float *)x->host)[i] = (float)((i * 7919 + seed * 104729) % 1000003 - 500000);
    put(x);
    return x;
}

#define NUMBERS(...) numbers(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})
#define ROOM(...) MAKE(FLOAT, 32, __VA_ARGS__)

// ---- joins, parts, borders ------------------------------------------------------------------------------------------

static void check_joins(int rows, const int *widths)
{
    tensor *part[4], *again[4], *y[3];
    int total = 0;
    for (int k = 0; k < 4; k++) {
        part[k] = NUMBERS(rows, widths[k]);
        again[k] = ROOM(rows, widths[k]);
        total += widths[k];
        if (k)
            y[k - 1] = ROOM(rows, total);
    }
#define OF2(v) &v[0]->t, &v[1]->t
#define OF3(v) OF2(v), &v[2]->t
#define OF4(v) OF3(v), &v[3]->t
    WORKS(hds_concat2(OF2(part), &y[0]->t, NULL));
    WORKS(hds_concat3(OF3(part), &y[1]->t, NULL));
    WORKS(hds_concat4(OF4(part), &y[2]->t, NULL));
    for (int n = 2; n <= 4; n++) {
        float *found = fetch(y[n - 2]);
        bool is_right = true;
        int width = (int)y[n - 2]->shape[1], from = 0;
        for (int k = 0; k < n; from += widths[k++])
            for (int r = 0; r < rows; r++)
                is_right &= memcmp(found + r * width + from, (float *)part[k]->host + r * widths[k],
                                   (size_t)widths[k] * sizeof(float)) == 0;
        HOLDS(is_right, "joins of %d, %d rows", n, rows);
        if (n == 2)
            WORKS(hds_split2(&y[0]->t, OF2(again), NULL));
        else if (n == 3)
            WORKS(hds_split3(&y[1]->t, OF3(again), NULL));
        else
            WORKS(hds_split4(&y[2]->t, OF4(again), NULL));
        for (int k = 0; k < n; k++)
            HOLDS(memcmp(fetch(again[k]), part[k]->host, (size_t)bytes_of(part[k])) == 0, "part %d of %d", k, n);
    }
    for (int k = 0; k < 4; k++) {
        discard(part[k]);
        discard(again[k]);
        if (k)
            discard(y[k - 1]);
    }
}

// Whether y[r, j] is x[r, index(j)] for all of them.
static bool is_taken(const tensor *x, tensor *y, int (*index)(int j, int n, int of, int m), int of)
{
    int n = (int)x->shape[1], m = (int)y->shape[1];
    float *found = fetch(y);
    for (int r = 0; r < (int)x->shape[0]; r++)
        for (int j = 0; j < m; j++)
            if (found[r * m + j] != ((float *)x->host)[r * n + index(j, n, of, m)])
                return false;
    return true;
}

static int further(int j, int n, int of, int m)
{
    (void)n, (void)m;
    return j + of;
}

static int around(int j, int n, int of, int m)
{
    (void)m;
    return ((j - of) % n + n) % n;
}

static int again_and_again(int j, int n, int of, int m)
{
    (void)of, (void)m;
    return j % n;
}

static int one_by_one(int j, int n, int of, int m)
{
    (void)of;
    return j / (m / n);
}

static void check_rows(int rows, int n)
{
    tensor *x = NUMBERS(rows, n), *part = ROOM(rows, n - 8), *same = ROOM(rows, n), *more = ROOM(rows, 3 * n);
    for (int start = 0; start <= 8; start += 4) {
        WORKS(hds_narrow(&x->t, &part->t, start, NULL));
        HOLDS(is_taken(x, part, further, start), "narrow from %d of %d", start, n);
        WORKS(hds_roll(&x->t, &same->t, start - 5, NULL));
        HOLDS(is_taken(x, same, around, start - 5), "roll by %d of %d", start - 5, n);
    }
    WORKS(hds_repeat(&x->t, &more->t, NULL));
    HOLDS(is_taken(x, more, again_and_again, 0), "repeat of %d", n);
    WORKS(hds_repeat_interleave(&x->t, &more->t, NULL));
    HOLDS(is_taken(x, more, one_by_one, 0), "repeat_interleave of %d", n);
    discard(x), discard(part), discard(same), discard(more);
}

enum { CONSTANT, REFLECT, REPLICATE, CIRCULAR };

// The index along an axis of n elements; -1: there is none.
static int bordered(int j, int n, int mode)
{
    if (j >= 0 && j < n)
        return j;
    switch (mode) {
    case REFLECT:
        return j < 0 ? -j : 2 * (n - 1) - j;
    case REPLICATE:
        return j < 0 ? 0 : n - 1;
    case CIRCULAR:
        return j < 0 ? j + n : j - n;
    default:
        return -1;
    }
}

static void check_borders(int h, int w, int top, int bottom, int left, int right)
{
    int p = h + top + bottom, q = w + left + right;
    tensor *x = NUMBERS(3, h, w), *y = ROOM(3, p, q);
    for (int mode = CONSTANT; mode <= CIRCULAR; mode++) {
        switch (mode) {
        case CONSTANT:
            WORKS(hds_pad_constant(&x->t, &y->t, top, left, -0.5, NULL));
            break;
        case REFLECT:
            WORKS(hds_pad_reflect(&x->t, &y->t, top, left, NULL));
            break;
        case REPLICATE:
            WORKS(hds_pad_replicate(&x->t, &y->t, top, left, NULL));
            break;
        default:
            WORKS(hds_pad_circular(&x->t, &y->t, top, left, NULL));
        }
        float *found = fetch(y), *of = x->host;
        bool is_right = true;
        for (int b = 0; b < 3; b++)
            for (int i = 0; i < p; i++)
                for (int j = 0; j < q; j++) {
                    int k = bordered(i - top, h, mode), l = bordered(j - left, w, mode);
                    is_right &= found[(b * p + i) * q + j] == (k < 0 || l < 0 ? -0.5f : of[(b * h + k) * w + l]);
                }
        HOLDS(is_right, "mode %d, %d x %d", mode, h, w);
    }
    discard(x), discard(y);
}

// ---- images ---------------------------------------------------------------------------------------------------------

static double linear_at(const float *image, int h, int w, double y, double x)
{
    y = y < 0 ? 0 : y, x = x < 0 ? 0 : x;
    int i = (int)y < h - 1 ? (int)y : h - 1, j = (int)x < w - 1 ? (int)x : w - 1;
    int k = i + 1 < h ? i + 1 : i, l = j + 1 < w ? j + 1 : j;
    double u = y - i, v = x - j;
    return (1 - u) * ((1 - v) * image[i * w + j] + v * image[i * w + l]) +
           u * ((1 - v) * image[k * w + j] + v * image[k * w + l]);
}

static void check_images(int h, int w, int p, int q)
{
    enum { PLANES = 6 };
    tensor *x = NUMBERS(2, 3, h, w), *y = ROOM(2, 3, p, q), *last = NUMBERS(2, h, w, 3), *of_last = ROOM(2, p, q, 3);
    bool is_nearest = true, is_linear = true, is_largest = true, is_mean = true, is_last = true;
    float *of = x->host, *found;
    WORKS(hds_upsample_nearest2d(&x->t, &y->t, NULL));
    found = fetch(y);
    for (int c = 0; c < PLANES; c++)
        for (int i = 0; i < p; i++)
            for (int j = 0; j < q; j++) {
                int k = (int)((float)i * ((float)h / (float)p)), l = (int)((float)j * ((float)w / (float)q));
                is_nearest &= found[(c * p + i) * q + j] == of[(c * h + k) * w + l];
            }
    HOLDS(is_nearest, "nearest, %d x %d to %d x %d", h, w, p, q);
    WORKS(hds_upsample_bilinear2d(&x->t, &y->t, NULL));
    found = fetch(y);
    for (int c = 0; c < PLANES; c++)
        for (int i = 0; i < p; i++)
            for (int j = 0; j < q; j++) {
                double at = linear_at(of + c * h * w, h, w, (i + 0.5) * h / p - 0.5, (j + 0.5) * w / q - 0.5);
                is_linear &= fabs(found[(c * p + i) * q + j] - at) < 2.0;
            }
    HOLDS(is_linear, "bilinear, %d x %d to %d x %d", h, w, p, q);
    WORKS(hds_nhwc_upsample_nearest2d(&last->t, &of_last->t, NULL));
    found = fetch(of_last);
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < p; i++)
            for (int j = 0; j < q; j++) {
                int k = (int)((float)i * ((float)h / (float)p)), l = (int)((float)j * ((float)w / (float)q));
                is_last &= memcmp(found + ((b * p + i) * q + j) * 3, (float *)last->host + ((b * h + k) * w + l) * 3,
                                  3 * sizeof(float)) == 0;
            }
    HOLDS(is_last, "channels last, %d x %d to %d x %d", h, w, p, q);
    tensor *mean = ROOM(2, 3, p, q);
    WORKS(hds_adaptive_max_pool2d(&x->t, &y->t, NULL));
    WORKS(hds_adaptive_avg_pool2d(&x->t, &mean->t, NULL));
    found = fetch(y);
    float *means = fetch(mean);
    for (int c = 0; c < PLANES; c++)
        for (int i = 0; i < p; i++)
            for (int j = 0; j < q; j++) {
                double sum = 0, top = -INFINITY;
                int count = 0;
                for (int k = i * h / p; k < ((i + 1) * h + p - 1) / p; k++)
                    for (int l = j * w / q; l < ((j + 1) * w + q - 1) / q; l++, count++) {
                        float v = of[(c * h + k) * w + l];
                        sum += v, top = v > top ? v : top;
                    }
                is_largest &= found[(c * p + i) * q + j] == top;
                is_mean &= fabs(means[(c * p + i) * q + j] - sum / count) < 0.5;
            }
    HOLDS(is_largest && is_mean, "adaptive, %d x %d to %d x %d", h, w, p, q);
    discard(x), discard(y), discard(last), discard(of_last), discard(mean);
}

// Other modes where all elements are equal, and the identity.
static void check_even_images(void)
{
    tensor *x = ROOM(2, 3, 4, 6, 8), *y = ROOM(2, 3, 5, 9, 31), *image = ROOM(2, 3, 6, 8), *large = ROOM(2, 3, 13, 32);
    WORKS(hds_full(&x->t, 2.5, NULL));
    WORKS(hds_full(&image->t, 2.5, NULL));
    for (int k = 0; k < 6; k++) {
        tensor *to = k < 2 ? y : large;
        WORKS(hds_full(&to->t, 0.0, NULL));
        switch (k) {
        case 0:
            WORKS(hds_upsample_nearest3d(&x->t, &y->t, NULL));
            break;
        case 1:
            WORKS(hds_upsample_trilinear3d(&x->t, &y->t, NULL));
            break;
        case 2:
            WORKS(hds_upsample_bicubic2d(&image->t, &large->t, NULL));
            break;
        case 3:
            to = ROOM(2, 3, 2, 3, 4);
            WORKS(hds_2x2x2_avg_pool3d(&x->t, &to->t, NULL));
            break;
        case 4:
            to = ROOM(2, 3, 2, 3, 4);
            WORKS(hds_2x2x2_max_pool3d(&x->t, &to->t, NULL));
            break;
        default:
            to = ROOM(2, 3, 1, 5, 3);
            WORKS(hds_adaptive_avg_pool3d(&x->t, &to->t, NULL));
        }
        bool is_even = true;
        float *found = fetch(to);
        for (int64_t i = 0; i < to->count; i++)
            is_even &= fabsf(found[i] - 2.5f) < 1e-5f;
        HOLDS(is_even, "case %d", k);
        if (to != y && to != large)
            discard(to);
    }
    tensor *grid = ROOM(2, 6, 8, 2), *same = ROOM(2, 3, 6, 8), *from = NUMBERS(2, 3, 6, 8);
    float *at = grid->host = malloc((size_t)bytes_of(grid));
    for (int i = 0; i < 2 * 6 * 8; i++) {
        at[2 * i] = (float)((2 * (i % 8) + 1) / 8.0 - 1);
        at[2 * i + 1] = (float)((2 * (i / 8 % 6) + 1) / 6.0 - 1);
    }
    put(grid);
    WORKS(hds_grid_sample(&from->t, &grid->t, &same->t, NULL));
    bool is_same = true;
    float *found = fetch(same);
    for (int64_t i = 0; i < same->count; i++)
        is_same &= fabsf(found[i] - ((float *)from->host)[i]) < 1.0f;
    HOLDS(is_same, "grid_sample");
    tensor *row = NUMBERS(3, 4, 30), *half = ROOM(3, 4, 15);
    WORKS(hds_2_max_pool1d(&row->t, &half->t, NULL));
    found = fetch(half);
    for (int i = 0; i < 3 * 4 * 15; i++) {
        float *pair = (float *)row->host + 2 * i;
        is_same &= found[i] == (pair[0] > pair[1] ? pair[0] : pair[1]);
    }
    HOLDS(is_same, "max_pool1d");
    discard(x), discard(y), discard(image), discard(large), discard(grid), discard(same), discard(from);
    discard(row), discard(half);
}

// ---- norms and angles -----------------------------------------------------------------------------------------------

static void check_norms(int n, int c, int l)
{
    tensor *x = NUMBERS(n, c, l), *w = NUMBERS(c), *b = NUMBERS(c), *y = ROOM(n, c, l), *mean = ROOM(c), *var = ROOM(c);
    for (int batch = 0; batch < 2; batch++) {
        if (batch)
            WORKS(hds_batch_norm_training(&x->t, &w->t, &b->t, &y->t, &mean->t, &var->t, 1e-5f, NULL));
        else
            WORKS(hds_instance_norm(&x->t, &w->t, &b->t, &y->t, 1e-5f, NULL));
        float *found = fetch(y), *of = x->host, *means = fetch(mean), *vars = fetch(var);
        double worst = 0;
        for (int k = 0; k < c; k++)
            for (int i = 0; i < (batch ? 1 : n); i++) {
                double sum = 0, square = 0;
                int count = batch ? n * l : l;
                for (int pass = 0; pass < 2; pass++)
                    for (int m = 0; m < count; m++) {
                        double v = of[((i + m / l) * c + k) * l + m % l];
                        *(pass ? &square : &sum) += pass ? (v - sum / count) * (v - sum / count) : v;
                    }
                double scale = 1 / sqrt(square / count + 1e-5), weight = ((float *)w->host)[k],
                       bias = ((float *)b->host)[k];
                for (int m = 0; m < count; m++) {
                    int64_t at = ((i + m / l) * c + k) * l + m % l;
                    double wanted = (of[at] - sum / count) * scale * weight + bias;
                    worst = fmax(worst, fabs(found[at] - wanted) / (fabs(weight) + fabs(bias)));
                }
                if (batch)
                    worst = fmax(worst, fmax(fabs(means[k] - sum / count) / 5e5, fabs(vars[k] / (square / count) - 1)));
            }
        HOLDS(worst < 1e-5, "%s of %d x %d x %d: %g", batch ? "batch_norm_training" : "instance_norm", n, c, l, worst);
    }
    discard(x), discard(w), discard(b), discard(y), discard(mean), discard(var);
}

static void check_angles(int rows, int n)
{
    tensor *a = NUMBERS(rows, n), *b = NUMBERS(rows, n), *cosines = ROOM(rows), *labels = ROOM(rows),
           *loss = make(FLOAT, 32, 0, NULL);
    WORKS(hds_full(&labels->t, 1.0, NULL));
    WORKS(hds_cosine_similarity(&a->t, &b->t, &cosines->t, 1e-8f, NULL));
    WORKS(hds_cosine_embedding_loss(&a->t, &b->t, &labels->t, &loss->t, 0.0f, NULL));
    float *found = fetch(cosines), *mean = fetch(loss);
    double worst = 0, total = 0;
    for (int r = 0; r < rows; r++) {
        double ab = 0, aa = 0, bb = 0;
        for (int j = 0; j < n; j++) {
            double u = ((float *)a->host)[r * n + j], v = ((float *)b->host)[r * n + j];
            ab += u * v, aa += u * u, bb += v * v;
        }
        worst = fmax(worst, fabs(found[r] - ab / sqrt(aa * bb)));
        total += 1 - ab / sqrt(aa * bb);
    }
    HOLDS(worst < 1e-5 && fabs(mean[0] - total / rows) < 1e-5, "%d x %d: %g", rows, n, worst);
    discard(a), discard(b), discard(cosines), discard(labels), discard(loss);
}

// ---- new tensors, chance, types -------------------------------------------------------------------------------------

static void check_new(int n)
{
    tensor *y = ROOM(n), *unit = ROOM(n, 7), *whole = MAKE(INT, 64, n);
    WORKS(hds_arange(&y->t, 3.0, -0.5, NULL));
    float *found = fetch(y);
    bool is_right = true;
    for (int i = 0; i < n; i++)
        is_right &= found[i] == 3.0f - 0.5f * (float)i;
    WORKS(hds_linspace(&y->t, -1.0, 1.0, NULL));
    found = fetch(y);
    for (int i = 0; i < n; i++)
        is_right &= fabsf(found[i] - (float)(-1 + 2.0 * i / (n - 1))) < 1e-6f;
    is_right &= found[n - 1] == 1.0f;
    WORKS(hds_eye(&unit->t, 2, NULL));
    found = fetch(unit);
    for (int i = 0; i < 7 * n; i++)
        is_right &= found[i] == (float)(i % 7 - i / 7 == 2);
    WORKS(hds_arange(&whole->t, 4e12, 3.0, NULL));
    int64_t *numbered = fetch(whole);
    for (int i = 0; i < n; i++)
        is_right &= numbered[i] == 4000000000000 + 3 * i;
    WORKS(hds_cast(&whole->t, &y->t, NULL));
    found = fetch(y);
    for (int i = 0; i < n; i++)
        is_right &= found[i] == (float)(4000000000000 + 3 * i);
    HOLDS(is_right, "%d elements", n);
    discard(y), discard(unit), discard(whole);
}

static double mean_of(tensor *x)
{
    double sum = 0;
    float *of = fetch(x);
    for (int64_t i = 0; i < x->count; i++)
        sum += of[i];
    return sum / (double)x->count;
}

static void check_chance(void)
{
    enum { N = 1 << 20 };
    tensor *x = ROOM(N), *y = ROOM(N), *ones = ROOM(16, 8, N / 128), *kept = ROOM(16, 8, N / 128);
    WORKS(hds_rand(&x->t, 7, 3, NULL));
    WORKS(hds_rand(&y->t, 7, 3, NULL));
    HOLDS(memcmp(fetch(x), fetch(y), N * sizeof(float)) == 0 && fabs(mean_of(x) - 0.5) < 0.002, "rand %g", mean_of(x));
    WORKS(hds_rand(&y->t, 7, 4, NULL));
    HOLDS(memcmp(fetch(x), fetch(y), N * sizeof(float)) != 0, "another call");
    WORKS(hds_uniform(&y->t, -1.0, 3.0, 7, 3, NULL));
    HOLDS(fabs(mean_of(y) - 1.0) < 0.006, "uniform %g", mean_of(y));
    WORKS(hds_randn(&x->t, 7, 3, NULL));
    WORKS(hds_normal(&y->t, 1.0, 2.0, 7, 3, NULL));
    HOLDS(fabs(mean_of(x)) < 0.006 && fabs(mean_of(y) - 1.0) < 0.012, "normal %g %g", mean_of(x), mean_of(y));
    WORKS(hds_exponential(&y->t, 2.0, 7, 3, NULL));
    HOLDS(fabs(mean_of(y) - 0.5) < 0.003, "exponential %g", mean_of(y));
    WORKS(hds_randint(&y->t, -4, 9, 7, 3, NULL));
    bool is_inside = true;
    float *found = fetch(y);
    for (int i = 0; i < N; i++)
        is_inside &= found[i] >= -4 && found[i] < 9;
    HOLDS(is_inside && fabs(mean_of(y) - 2.0) < 0.02, "randint %g", mean_of(y));
    WORKS(hds_full(&ones->t, 1.0, NULL));
    WORKS(hds_dropout(&ones->t, &kept->t, 0.25f, 7, 3, NULL));
    bool is_scaled = true;
    found = fetch(kept);
    for (int i = 0; i < N; i++)
        is_scaled &= found[i] == 0.0f || fabsf(found[i] - 4.0f / 3.0f) < 1e-6f;
    HOLDS(is_scaled && fabs(mean_of(kept) - 1.0) < 0.003, "dropout %g", mean_of(kept));
    WORKS(hds_feature_dropout(&ones->t, &kept->t, 0.5f, 7, 3, NULL));
    found = fetch(kept);
    for (int i = 0; i < N; i++)
        is_scaled &= found[i] == found[i / (N / 128) * (N / 128)];
    HOLDS(is_scaled, "feature_dropout");
    WORKS(hds_alpha_dropout(&ones->t, &kept->t, 0.0f, 7, 3, NULL));
    HOLDS(fabs(mean_of(kept) - 1.0) < 1e-6, "alpha_dropout");
    WORKS(hds_full(&ones->t, 0.75, NULL));
    WORKS(hds_bernoulli(&ones->t, &kept->t, 7, 3, NULL));
    HOLDS(fabs(mean_of(kept) - 0.75) < 0.003, "bernoulli %g", mean_of(kept));
    tensor *choice = MAKE(INT, 64, 16, 8);
    WORKS(hds_multinomial(&ones->t, &choice->t, 7, 3, NULL));
    int64_t *chosen = fetch(choice);
    for (int i = 0; i < 128; i++)
        is_inside &= chosen[i] >= 0 && chosen[i] < N / 128;
    HOLDS(is_inside, "multinomial");
    discard(x), discard(y), discard(ones), discard(kept), discard(choice);
}

// ---- more than 2^32 elements ----------------------------------------------------------------------------------------

static bool has(const tensor *x, int64_t first, int count, uint16_t bits)
{
    uint16_t found[64];
    WORKS(hdsrt_copy(found, (char *)x->t.data + 2 * first, 2 * count, NULL));
    WORKS(hdsrt_synchronize(NULL));
    for (int i = 0; i < count; i++)
        if (found[i] != bits)
            return false;
    return true;
}

static void check_large(void)
{
    enum { ROWS = 65536, COLUMNS = 65609, ONE = 0x3c00, TWO = 0x4000, MINUS = 0xbc00 };
    const int64_t count = (int64_t)ROWS * COLUMNS, offsets[] = {0, 1LL << 31, (1LL << 32) - 20, 1LL << 32, count - 40};
    tensor *x = MAKE(FLOAT, 16, ROWS, COLUMNS), *y = MAKE(FLOAT, 16, ROWS, COLUMNS), *is = MAKE(BOOL, 8, ROWS, COLUMNS);
    WORKS(hds_full(&x->t, -1.0, NULL));
    WORKS(hds_full(&y->t, 2.0, NULL));
    for (int k = 0; k < 5; k++)
        HOLDS(has(x, offsets[k], 40, MINUS) && has(y, offsets[k], 40, TWO), "full, index %d", k);
    WORKS(hds_relu(&x->t, &y->t, NULL));
    for (int k = 0; k < 5; k++)
        HOLDS(has(y, offsets[k], 40, 0), "relu, index %d", k);
    WORKS(hds_cast(&x->t, &is->t, NULL));
    for (int k = 0; k < 5; k++)
        HOLDS(has(is, offsets[k] / 2, 19, 0x0101), "cast, index %d", k);
    WORKS(hds_dropout(&x->t, &y->t, 0.0f, 7, 0, NULL));
    for (int k = 0; k < 5; k++)
        HOLDS(has(y, offsets[k], 40, MINUS), "dropout, index %d", k);
    WORKS(hds_randn(&y->t, 7, 0, NULL));
    for (int k = 0; k < 5; k++)
        HOLDS(!has(y, offsets[k], 40, MINUS), "randn, index %d", k);
    // The same elements of the same number, by the part of the tensor that begins there.
    uint16_t whole[8], part[8];
    tensor *small = MAKE(FLOAT, 16, 1000);
    WORKS(hds_randn(&small->t, 7, 0, NULL));
    WORKS(hdsrt_copy(part, small->t.data, sizeof part, NULL));
    WORKS(hdsrt_copy(whole, y->t.data, sizeof whole, NULL));
    WORKS(hdsrt_synchronize(NULL));
    HOLDS(memcmp(whole, part, sizeof part) == 0, "randn does not depend on the number of elements");
    tensor *half = MAKE(FLOAT, 16, ROWS, 32800), *other = MAKE(FLOAT, 16, ROWS, COLUMNS - 32800);
    WORKS(hds_full(&half->t, 1.0, NULL));
    WORKS(hds_full(&other->t, 2.0, NULL));
    WORKS(hds_concat2(&half->t, &other->t, &x->t, NULL));
    HOLDS(has(x, count - COLUMNS, 40, ONE) && has(x, count - 40, 40, TWO), "concat2");
    WORKS(hds_narrow(&x->t, &half->t, COLUMNS - 32800, NULL));
    HOLDS(has(half, half->count - 40, 40, TWO), "narrow");
    discard(x), discard(y), discard(is), discard(small), discard(half), discard(other);
}

int main(void)
{
    void *memory = NULL;
    if (hdsrt_allocate(&memory, 16, NULL) != HDSRT_OK) {
        printf("no GPU: %s\n", hdsrt_last_error());
        return 2;
    }
    WORKS(hdsrt_release(memory, NULL));
    static const int widths[][4] = {{8, 16, 8, 24}, {5, 1, 3, 7}, {1024, 512, 4, 36}, {333, 1000, 77, 1}};
    for (int k = 0; k < 4; k++)
        check_joins(k == 2 ? 700 : 37, widths[k]);
    check_rows(300, 64);
    check_rows(37, 1001);
    check_borders(5, 16, 1, 2, 3, 4);
    check_borders(33, 64, 0, 0, 8, 8);
    check_borders(40, 77, 3, 0, 0, 1);
    check_images(8, 10, 16, 20);
    check_images(7, 9, 31, 45);
    check_images(64, 48, 8, 6);
    check_even_images();
    check_norms(3, 5, 1000);
    check_norms(16, 32, 49);
    check_norms(2, 3, 40000);
    check_angles(33, 100);
    check_angles(8, 5000);
    check_new(9);
    check_new(10007);
    check_chance();
    check_large();
    printf("%d checks, %d failed\n", checks, failures);
    return failures > 0;
}
