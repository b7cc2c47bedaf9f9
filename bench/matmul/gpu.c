#include "gpu.h"

#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "hds/ops.h"

const mm_type_facts mm_types[MM__TYPES] = {
    [MM_F16] = {"f16", 2, {2, 16}, 2, 0x1p-11},
    [MM_BF16] = {"bf16", 2, {4, 16}, 14, 0x1p-8},
    [MM_F32] = {"f32", 4, {2, 32}, 0, 0x1p-24},
    [MM_F64] = {"f64", 8, {2, 64}, 1, 0x1p-53},
    [MM_E4M3] = {"e4m3", 1, {10, 8}, 28, 0x1p-4},
    [MM_E5M2] = {"e5m2", 1, {12, 8}, 29, 0x1p-3},
    [MM_I8] = {"i8", 1, {0, 8}, 3, 0},
    [MM_I32] = {"i32", 4, {0, 32}, 10, 0},
};

enum { EVENT_PAIRS = 64, CALLS_OF_A_GRAPH = 20 };

bool mm_gpu_open(mm_gpu *g)
{
    void *stream, *memory;
    *g = (mm_gpu){0};
    if (hdsrt_use_device(0) || hdsrt_driver_open(&g->cuda))
        return false;
    if (hdsrt_driver_fail(g->cuda->stream_create(&stream, 1), "making a stream"))
        return false;
    g->stream = stream;
    g->events = calloc(2 * EVENT_PAIRS, sizeof *g->events);
    for (; g->events && g->event_count < 2 * EVENT_PAIRS; g->event_count++) {
        if (hdsrt_driver_fail(g->cuda->event_create(&g->events[g->event_count], 0), "making an event"))
            return false;
    }
    memory = mm_gpu_allocate(g, MM_FLUSH_BYTES);
    g->flush = (uint64_t)(uintptr_t)memory;
    memory = memory ? mm_gpu_allocate(g, 3 * 8) : NULL;
    g->wrong = (uint64_t)(uintptr_t)memory;
    return g->events && memory;
}

void mm_gpu_close(mm_gpu *g)
{
    for (int i = 0; i < g->event_count; i++)
        g->cuda->event_destroy(g->events[i]);
    free(g->events);
    if (g->flush)
        g->cuda->release(g->flush);
    if (g->wrong)
        g->cuda->release(g->wrong);
    if (g->stream)
        g->cuda->stream_destroy(g->stream);
}

void *mm_gpu_allocate(mm_gpu *g, int64_t bytes)
{
    uint64_t address;
    if (hdsrt_driver_fail(g->cuda->allocate(&address, bytes > 0 ? (size_t)bytes : 1), "allocating %lld bytes",
                          (long long)bytes))
        return NULL;
    return (void *)(uintptr_t)address;
}

void mm_gpu_release(mm_gpu *g, void *address)
{
    if (address)
        g->cuda->release((uint64_t)(uintptr_t)address);
}

bool mm_fill(mm_gpu *g, mm_type type, void *data, int64_t count, uint32_t seed)
{
    if (count == 0)
        return true;
    switch (type) {
    case MM_F16:
        return fill_f16(data, seed, count, g->stream) == HDSRT_OK;
    case MM_BF16:
        return fill_bf16(data, seed, count, g->stream) == HDSRT_OK;
    case MM_F32:
        return fill_f32(data, seed, count, g->stream) == HDSRT_OK;
    case MM_F64:
        return fill_f64(data, seed, count, g->stream) == HDSRT_OK;
    case MM_E4M3:
        return fill_e4m3(data, seed, count, g->stream) == HDSRT_OK;
    case MM_E5M2:
        return fill_e5m2(data, seed, count, g->stream) == HDSRT_OK;
    case MM_I8:
        return fill_i8(data, seed, count, g->stream) == HDSRT_OK;
    default:
        return false;
    }
}

bool mm_poison(mm_gpu *g, void *data, int64_t bytes)
{
    return hdsrt_fill(data, 0xff, 1, bytes, g->stream) == HDSRT_OK;
}

static bool clear_counters(mm_gpu *g)
{
    return hdsrt_driver_fail(g->cuda->fill_8(g->wrong, 0, 3 * 8, g->stream), "clearing counters") == HDSRT_OK;
}

static bool read_counters(mm_gpu *g, uint64_t counters[3])
{
    return hdsrt_synchronize(g->stream) == HDSRT_OK &&
           hdsrt_driver_fail(g->cuda->download(counters, g->wrong, 3 * 8), "reading counters") == HDSRT_OK;
}

int64_t mm_compare(mm_gpu *g, mm_type type, const void *data, const void *reference, int64_t count, double relative,
                   double absolute)
{
    uint64_t counters[3], *wrong = (uint64_t *)(uintptr_t)g->wrong;
    hdsrt_status status = HDSRT_INVALID_ARGUMENT;
    if (!clear_counters(g))
        return -1;
    switch (type) {
    case MM_F16:
        status = compare_f16(data, reference, relative, absolute, wrong, count, g->stream);
        break;
    case MM_BF16:
        status = compare_bf16(data, reference, relative, absolute, wrong, count, g->stream);
        break;
    case MM_F32:
        status = compare_f32(data, reference, relative, absolute, wrong, count, g->stream);
        break;
    case MM_F64:
        status = compare_f64(data, reference, relative, absolute, wrong, count, g->stream);
        break;
    case MM_I32:
        status = compare_i32(data, reference, relative, absolute, wrong, count, g->stream);
        break;
    default:
        break;
    }
    return status == HDSRT_OK && read_counters(g, counters) ? (int64_t)counters[0] : -1;
}

// ---- the judge ----------------------------------------------------------------------------------------------------

// What sums may be off, as a part of the sum of magnitudes: each partial sum is rounded or cut (tensor cores cut), and
// their errors add up like steps in random directions and of growing length. fp8 sums are kept with 13 fraction bits by
// tensor cores of sm_90; tf32 operands are rounded.
static double sum_error(const mm_product *p)
{
    double steps = 2 + __builtin_sqrt((double)p->k);
    if (p->a_type == MM_I8)
        return 0;
    if (p->a_type == MM_F64)
        return steps * 0x1p-52;
    if (p->a_type == MM_E4M3 || p->a_type == MM_E5M2)
        return steps * 0x1p-13;
    return steps * 0x1p-23 + (p->tf32 ? 0x1p-9 : 0);
}

// A buffer as judges take it: from a multiple of 16 bytes before the first element.
typedef struct buffer {
    const void *data;
    int64_t first, count;
} buffer;

static buffer buffer_of(const void *data, mm_type type, int64_t count)
{
    uintptr_t address = (uintptr_t)data;
    int64_t before = (int64_t)(address % 16) / mm_types[type].bytes;
    return (buffer){(const void *)(address - address % 16), before, before + count};
}

// The arguments of all judges are the same but for the types, which C has no name for.
#define JUDGE(suffix)                                                                                                  \
    judge_##suffix(a.data, b.data, c.data, bias.data, residual.data, wrong, p->n, p->m, p->k, total, step, count,      \
                   a.first, b.first, c.first, bias.first, residual.first, p->a.batch, p->a.row, p->a.column,           \
                   p->b.batch, p->b.row, p->b.column, p->c.batch, p->c.row, p->has_bias, p->has_residual,              \
                   p->activation, p->alpha, relative, absolute, stepwise, slack, a.count, b.count, c.count,            \
                   bias.count, residual.count, g->stream)

static hdsrt_status judge(mm_gpu *g, const mm_product *p, const int64_t elements[3], int64_t total, int64_t step,
                          int64_t count)
{
    uint64_t *wrong = (uint64_t *)(uintptr_t)g->wrong;
    buffer a = buffer_of(p->a_data, p->a_type, elements[0]), b = buffer_of(p->b_data, p->b_type, elements[1]);
    buffer c = buffer_of(p->c_data, p->c_type, elements[2]), bias = c, residual = c;
    double relative = 1.01 * mm_types[p->c_type].rounding, absolute = sum_error(p);
    if (p->has_bias)
        bias = buffer_of(p->bias, p->c_type, p->n);
    if (p->has_residual)
        residual = buffer_of(p->residual, p->c_type, elements[2]);
    // GELU of 16-bit results is a fitted function (ops/matmul/epilogues.hds).
    double slack = p->activation == HDS_ACTIVATION_GELU && mm_types[p->c_type].bytes == 2 ? 6e-5 : 0;
    // What the epilogue's own operations round, exp and division among them; its terms may cancel.
    double stepwise = p->a_type == MM_I8 ? 0 : p->a_type == MM_F64 ? 0x1p-50 : p->activation ? 0x1p-18 : 0x1p-22;
    switch (p->a_type) {
    case MM_F16:
        return p->c_type == MM_F16 ? JUDGE(f16) : JUDGE(f16_f32);
    case MM_BF16:
        return p->c_type == MM_BF16 ? JUDGE(bf16) : JUDGE(bf16_f32);
    case MM_F32:
        return JUDGE(f32);
    case MM_F64:
        return JUDGE(f64);
    case MM_I8:
        return JUDGE(i8_i32);
    case MM_E4M3:
        return p->c_type == MM_F16 ? JUDGE(e4m3_f16) : p->c_type == MM_BF16 ? JUDGE(e4m3_bf16) : JUDGE(e4m3_f32);
    case MM_E5M2:
        return p->c_type == MM_F16 ? JUDGE(e5m2_f16) : JUDGE(e5m2_bf16);
    default:
        return hdsrt_fail(HDSRT_UNSUPPORTED, "no judge for products of %s", mm_types[p->a_type].name);
    }
}

mm_verdict mm_judge(mm_gpu *g, const mm_product *p, const int64_t elements[3], int64_t count)
{
    int64_t total = p->batch * p->m * p->n;
    uint64_t counters[3];
    if (total == 0)
        return (mm_verdict){0};
    if (count > total)
        count = total;
    // An odd step near the golden section of the whole visits rows and columns evenly.
    int64_t step = count == total ? 1 : (int64_t)(0.618 * (double)total) | 1;
    if (!clear_counters(g) || judge(g, p, elements, total, step, count) || !read_counters(g, counters))
        return (mm_verdict){.wrong = -1};
    return (mm_verdict){(int64_t)counters[0], (int64_t)counters[1] - 1, (double)counters[2] / 1000};
}

// ---- time ---------------------------------------------------------------------------------------------------------

double mm_median(double *values, int count)
{
    for (int gap = count / 2; gap > 0; gap /= 2) { // Shell's sort: some hundred numbers
        for (int i = gap; i < count; i++) {
            double value = values[i];
            int j = i;
            for (; j >= gap && values[j - gap] > value; j -= gap)
                values[j] = values[j - gap];
            values[j] = value;
        }
    }
    return count == 0 ? 0 : count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

// Puts one timed call into the stream.
static bool put_call(mm_gpu *g, const mm_way *way, const mm_product *p, int pair)
{
    if (g->cuda->fill_8(g->flush, (unsigned char)pair, MM_FLUSH_BYTES, g->stream) ||
        g->cuda->event_record(g->events[2 * pair], g->stream))
        return hdsrt_fail(HDSRT_DRIVER_ERROR, "flushing L2 failed") == HDSRT_OK;
    if (way->run(way->self, p, way->index, g->stream))
        return false;
    return hdsrt_driver_fail(g->cuda->event_record(g->events[2 * pair + 1], g->stream), "recording an event") ==
           HDSRT_OK;
}

static bool read_time(mm_gpu *g, int pair, double *us)
{
    float ms = 0;
    int result = g->cuda->event_elapsed(&ms, g->events[2 * pair], g->events[2 * pair + 1]);
    *us = 1e3 * (double)ms;
    return hdsrt_driver_fail(result, "reading events") == HDSRT_OK;
}

bool mm_time_interleaved(mm_gpu *g, const mm_way *ways, int count, const mm_product *p, int calls, double *us)
{
    int total = count * calls;
    // The queue holds a part of the calls at a time, so that the host is always ahead of the GPU, and never far.
    for (int begin = 0; begin < total; begin += EVENT_PAIRS) {
        int some = total - begin < EVENT_PAIRS ? total - begin : EVENT_PAIRS;
        for (int i = 0; i < some; i++) {
            if (!put_call(g, &ways[(begin + i) % count], p, i))
                return false;
        }
        if (hdsrt_synchronize(g->stream))
            return false;
        for (int i = 0; i < some; i++) {
            int way = (begin + i) % count, call = (begin + i) / count;
            if (!read_time(g, i, &us[way * calls + call]))
                return false;
        }
    }
    return true;
}

bool mm_time(mm_gpu *g, const mm_way *way, const mm_product *p, int calls, double *us)
{
    return mm_time_interleaved(g, way, 1, p, calls, us);
}

static void *make_graph(mm_gpu *g, const mm_way *way, const mm_product *p)
{
    void *graph = NULL, *exec = NULL;
    if (g->cuda->capture_begin(g->stream, 2))
        return NULL;
    bool is_right = true;
    for (int i = 0; is_right && i < CALLS_OF_A_GRAPH; i++)
        is_right = way->run(way->self, p, way->index, g->stream) == HDSRT_OK;
    if (g->cuda->capture_end(g->stream, &graph) || !is_right)
        return NULL;
    if (g->cuda->graph_instantiate(&exec, graph, 0))
        exec = NULL;
    g->cuda->graph_destroy(graph);
    return exec;
}

static bool time_replay(mm_gpu *g, void *exec, double *us)
{
    if (g->cuda->event_record(g->events[0], g->stream) || g->cuda->graph_launch(exec, g->stream) ||
        g->cuda->event_record(g->events[1], g->stream) || hdsrt_synchronize(g->stream))
        return false;
    return read_time(g, 0, us);
}

bool mm_time_graph(mm_gpu *g, const mm_way *ways, int count, const mm_product *p, int replays, double *medians)
{
    void **graphs = calloc((size_t)count, sizeof *graphs);
    double *us = calloc((size_t)(count * replays), sizeof *us);
    bool is_right = graphs && us;
    for (int w = 0; is_right && w < count; w++)
        is_right = (graphs[w] = make_graph(g, &ways[w], p)) && time_replay(g, graphs[w], &us[0]);
    for (int r = 0; is_right && r < replays; r++) {
        for (int w = 0; is_right && w < count; w++)
            is_right = time_replay(g, graphs[w], &us[w * replays + r]);
    }
    for (int w = 0; w < count; w++) {
        medians[w] = is_right ? mm_median(&us[w * replays], replays) / CALLS_OF_A_GRAPH : 0;
        if (graphs && graphs[w])
            g->cuda->graph_exec_destroy(graphs[w]);
    }
    free(graphs);
    free(us);
    return is_right;
}
