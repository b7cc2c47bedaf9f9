// Internal declarations of taskmap.
#pragma once

#include "taskmap/layout.h"

static inline bool is_in(int64_t value, int64_t below)
{
    return value >= 0 && value < below;
}

// The largest number of workers, tasks or elements anything here may have.
#define TM_LIMIT ((int64_t)1 << 62)

// Sets [why], if there is one, and gives false: `return tm_fail(why, TM_BAD_DIM) …`.
bool tm_fail(tm_reason *why, tm_reason reason);
// *total *= factor, unless that leaves [0, TM_LIMIT].
bool tm_times(int64_t *total, int64_t factor);
// Whether rank and extents are acceptable and the product of the extents is within TM_LIMIT.
bool tm_shape_check(int rank, const int64_t *shape, tm_reason *why);
// Whether [perm] is a permutation of 0 … rank-1.
bool tm_perm_check(int rank, const int *perm, tm_reason *why);

// "2, 3"
void tm_print_list(int count, const int64_t *values, str_buf *out);

uint64_t tm_mix(uint64_t hash, uint64_t value);

// An empty mapping with room for [digit_count] digits. The maker fills kind, dim, extent and attributes of each.
tm_map *tm_new(arena *a, int rank, int digit_count);
// Derives strides, shape and counts from the digits. NULL with *[why] set on overflow.
const tm_map *tm_finish(tm_map *m, tm_reason *why);

// The next index tuple of [shape] in row order; false after the last, when all are 0 again.
bool tm_next_index(int rank, const int64_t *shape, int64_t *index);

// ---- linear.c -------------------------------------------------------------------------------------------------------

enum { TM_MAX_TERMS = 256 };

// One summand of an offset: value·stride with the value in [0, extent).
typedef struct tm_term {
    int64_t extent;
    int64_t stride;
} tm_term;

// A segment of a layout without exclusive-ors: it contributes (index[dim] div divisor mod extent)·stride.
typedef struct tm_segment {
    int dim;
    int64_t divisor;
    int64_t extent;
    int64_t stride;
} tm_segment;

typedef struct tm_segments {
    int count;
    tm_segment at[TM_MAX_TERMS];
} tm_segments;

// The layout as a sum of segments of extent > 1; false where it is no such sum, or none of that length.
bool tm_layout_segments(const tm_layout *l, tm_segments *out);

// The offset of a worker's task as a sum over digits of the worker id and digits of the position, outermost first.
typedef struct tm_linear {
    int worker_count, step_count;
    tm_term workers[TM_MAX_TERMS];
    tm_term steps[TM_MAX_TERMS];
} tm_linear;

// False where the layout or the way the mapping cuts it is not linear. Digits that lead over the layout's edge have
// stride 0.
bool tm_linear_offsets(const tm_map *m, const tm_layout *l, tm_linear *out);

// ---- banks.c --------------------------------------------------------------------------------------------------------

enum { TM_WARP = 32, TM_BANKS = 32, TM_BANK_BYTES = 4 };

// Lanes of one warp that are served together, all at the run of tasks that begins at [position].
typedef struct tm_phase {
    int64_t first_worker;
    int64_t position;
    int lanes;            // from [first_worker] on
    bool active[TM_WARP]; // those whose task is inside the layout
    int degree[TM_WARP];  // different words in the fullest bank the lane touches: 1 where nothing conflicts
    int passes;           // the largest of them
    bool first_of_request;
} tm_phase;

// Calls [visit] for each phase with an active lane. Takes time in proportion to the tasks.
void tm_each_phase(const tm_map *m, const tm_layout *l, int element_bytes, int vector,
                   void (*visit)(void *context, const tm_phase *phase), void *context);
