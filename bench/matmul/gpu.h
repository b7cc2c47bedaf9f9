// The GPU as the benchmark uses it: memory, random operands, judges, and a clock.
#pragma once

#include "product.h"
#include "runtime/driver.h"

typedef struct mm_gpu {
    const hdsrt_driver *cuda;
    hdsrt_stream stream;
    uint64_t flush; // 256 MB that evict L2
    uint64_t wrong; // three counters of the judges
    void **events;  // pairs
    int event_count;
} mm_gpu;

enum { MM_FLUSH_BYTES = 256 << 20 };

bool mm_gpu_open(mm_gpu *g);
void mm_gpu_close(mm_gpu *g);

// Memory; NULL after a failure. Of 0 bytes: some.
void *mm_gpu_allocate(mm_gpu *g, int64_t bytes);
void mm_gpu_release(mm_gpu *g, void *address);

// Normally distributed numbers (integers: all).
bool mm_fill(mm_gpu *g, mm_type type, void *data, int64_t count, uint32_t seed);
// Not a number, in each element of every float type.
bool mm_poison(mm_gpu *g, void *data, int64_t bytes);
// How many elements differ by more than relative · |reference| + absolute; -1 after a failure.
int64_t mm_compare(mm_gpu *g, mm_type type, const void *data, const void *reference, int64_t count, double relative,
                   double absolute);

typedef struct mm_verdict {
    int64_t wrong;   // elements; -1: the judge failed, hdsrt_last_error()
    int64_t example; // the number of one of them
    double worst;    // the largest error of the others, as a part of what is allowed
} mm_verdict;

// Compares [count] elements of c, spread evenly over it (all of them where there are no more), with the definition in
// f64. [elements]: of the buffers of a, b and c, from their first elements on.
mm_verdict mm_judge(mm_gpu *g, const mm_product *p, const int64_t elements[3], int64_t count);

// Runs a way [calls] times, each after the L2 was flushed, and writes the microseconds of each; false after a failure.
bool mm_time(mm_gpu *g, const mm_way *way, const mm_product *p, int calls, double *us);
// The same for several ways one by one in turn, [calls] of each; us[w * calls + i].
bool mm_time_interleaved(mm_gpu *g, const mm_way *ways, int count, const mm_product *p, int calls, double *us);
// Microseconds of a call in a graph of 20 calls without flushes, the median of [replays] in turn of each way.
bool mm_time_graph(mm_gpu *g, const mm_way *ways, int count, const mm_product *p, int replays, double *medians);

double mm_median(double *values, int count); // sorts them
