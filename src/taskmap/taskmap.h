// Task mappings: which worker does which task, in which order.
//
// A mapping sends a worker id in [0, workers) to an ordered list of task coordinates. Every mapping that spatial,
// repeat, composition and projection can build has one flat form, kept here: a list of digits, outermost first. A
// worker id is read as a number in the mixed radix of the spatial digits (first digit most significant), a position in
// the worker's list in that of the repeat digits; task coordinate d is the sum of value·stride over the digits of
// dimension d. Composition concatenates: the outer digits, their strides multiplied by the inner shape, then the inner
// ones.
//
//     spatial(4, 2) * repeat(1, 8)   digits  S d0 ×4 stride 1 · S d1 ×2 stride 8 · R d0 ×1 stride 1 · R d1 ×8 stride 1
//
// Strides are therefore running products: a digit's is the product of the extents of the digits of its dimension
// further in, and the digits of one dimension are a mixed-radix number that reaches each coordinate once.
//
// A digit of dimension -1 belongs to no coordinate (projection): its spatial workers replicate each other.
// A mapping is a pure value in an arena; nothing changes one. Nothing here reports diagnostics: failures return NULL
// or false and a [tm_reason] that the caller puts into words.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { TM_MAX_RANK = 8, TM_MAX_DIGITS = 64 };

typedef enum tm_reason {
    TM_OK,
    TM_RANK_MISMATCH,    // composition of mappings or layouts of different rank
    TM_BAD_EXTENT,       // an extent below 1
    TM_BAD_RANKS,        // ranks are not a permutation of 0 … rank-1
    TM_TOO_MANY_DIMS,    // more than TM_MAX_RANK dimensions or TM_MAX_DIGITS digits
    TM_OVERFLOW,         // workers, tasks or storage beyond 2^62
    TM_NOT_DIVISIBLE,    // auto_map: workers do not divide the tasks
    TM_BAD_DIM,          // no such dimension
    TM_BAD_ATTRS,        // a loop attribute string that cannot be read
    TM_NOT_SINGLE,       // more than one task per worker where one is needed
    TM_NOT_POWER_OF_TWO, // swizzle over such an extent
    TM_BAD_RESHAPE,      // element counts differ
    TM_NOT_A_TILE,       // the requested shape is no aligned part of the mapping
    TM_BAD_SWIZZLE,      // bits, base or shift of an exclusive-or out of range
    TM_BAD_STRIDE,       // a negative stride
} tm_reason;
// "the ranks differ", as the middle of a sentence.
const char *tm_reason_text(tm_reason reason);

typedef enum tm_kind { TM_SPATIAL, TM_REPEAT } tm_kind;

// How a repeat digit's loop is written: attribute strings '.', 'u', 'u4', 'u+', 'p', 'p8'.
typedef enum tm_unroll {
    TM_LOOP_DEFAULT,
    TM_LOOP_PLAIN,
    TM_LOOP_UNROLL,
    TM_LOOP_UNROLL_FULL,
    TM_LOOP_PARALLEL
} tm_unroll;

typedef struct tm_digit {
    tm_kind kind;
    int dim;        // task dimension, or -1: none
    int64_t extent; // >= 1
    int64_t stride; // of one step, within the task coordinate [dim]
    tm_unroll unroll;
    int factor; // of 'u4' and 'p8', else 0
} tm_digit;

typedef struct tm_map {
    int rank;
    int digit_count;
    int64_t shape[TM_MAX_RANK];
    int64_t workers;          // product of the spatial extents
    int64_t tasks_per_worker; // product of the repeat extents
    tm_digit digits[];
} tm_map;

// ---- construction (all results in [a]; NULL with *[why] set on failure) ---------------------------------------------

// [ranks]: a permutation; the dimension with the largest rank varies fastest. NULL means row order (0, 1, …).
const tm_map *tm_spatial(arena *a, int rank, const int64_t *shape, const int *ranks, tm_reason *why);
// [attrs]: loop attributes, one token a dimension or one for all; NULL: none.
const tm_map *tm_repeat(arena *a, int rank, const int64_t *shape, const int *ranks, const char *attrs, tm_reason *why);
const tm_map *tm_compose(arena *a, const tm_map *outer, const tm_map *inner, tm_reason *why);
const tm_map *tm_identity(arena *a, int rank, tm_reason *why);
// repeat(…) * spatial(…) over [shape] with exactly [workers] workers: from the fastest dimension on, as many workers as
// the greatest common divisor allows.
const tm_map *tm_auto(arena *a, int rank, const int64_t *shape, int64_t workers, const int *ranks, tm_reason *why);
// The same without the divisibility condition: the workers used may be fewer (worker < result->workers does something).
const tm_map *tm_auto_predicated(arena *a, int rank, const int64_t *shape, int64_t workers, const int *ranks,
                                 tm_reason *why);
// Dimension [dim] is dropped from the coordinates (rank shrinks by one): its repeat digits vanish, its spatial digits
// stay with dimension -1, so that the workers along it hold copies. This is the mapping of a reduced tensor.
const tm_map *tm_without(arena *a, const tm_map *m, int dim, tm_reason *why);
// Dimension [dim] is forced to 0 (rank stays, extent 1), as in the original language's projection: the lists keep their
// lengths, so that repeats along [dim] do a task several times.
const tm_map *tm_project(arena *a, const tm_map *m, int dim, tm_reason *why);
// Dimensions reordered: dimension i of the result is dimension perm[i] of [m].
const tm_map *tm_permute(arena *a, const tm_map *m, const int *perm, tm_reason *why);

bool tm_equal(const tm_map *a,
              const tm_map *b); // the same digits, loop attributes aside, once extents of 1 are dropped
// The same function: the same tasks for each worker in the same order, however the digits are cut and interleaved.
// spatial(4) * spatial(2) does what spatial(8) does, and repeat(2, 1) * spatial(1, 4) what spatial(1, 4) * repeat(2,
// 1).
bool tm_same_tasks(const tm_map *a, const tm_map *b);
uint64_t tm_hash(const tm_map *m); // equal mappings have equal hashes

// ---- the mapping as a function --------------------------------------------------------------------------------------

// Coordinates of task number [position] of [worker].
void tm_task(const tm_map *m, int64_t worker, int64_t position, int64_t *coords);
// Inverse: which worker holds [coords] and at which position. Digits of dimension -1 read as 0. False if the
// coordinates are outside the shape.
bool tm_owner(const tm_map *m, const int64_t *coords, int64_t *worker, int64_t *position);

// A tile: mappings of tensor-core operands are inner parts of larger ones. If the innermost digits of [m] are a mapping
// of shape [tile_shape], gives it (as a mapping of its own) and how many outer digits come before it. The fewest digits
// that reach the shape are taken; of a repeat digit an inner part may be enough, and then it counts as an outer one too.
const tm_map *tm_inner_tile(arena *a, const tm_map *m, const int64_t *tile_shape, int *outer_digits, tm_reason *why);

// How a reduction along [dim] goes: the workers that share a result differ in these worker-id strides (each a spatial
// digit of [dim]: [stride] in the worker number and [extent] > 1). Outermost first. Returns their count; [steps] has
// room for TM_MAX_DIGITS.
typedef struct tm_step {
    int64_t stride;
    int64_t extent;
} tm_step;
int tm_shared_steps(const tm_map *m, int dim, tm_step *steps);

// ---- proofs ---------------------------------------------------------------------------------------------------------

typedef struct tm_proof {
    bool covers;                  // each task of the shape is done by at least one worker
    bool disjoint;                // … by at most one, once
    int64_t missing[TM_MAX_RANK]; // a task that no worker does, when !covers
    int64_t doubled[TM_MAX_RANK]; // a task done twice, when !disjoint
} tm_proof;
// Whether [m] covers a tensor of [shape] (which may be smaller or larger than the mapping's own) exactly once. Takes
// time in proportion to the digits, not to the tasks.
tm_proof tm_prove(const tm_map *m, const int64_t *shape);

// ---- text -----------------------------------------------------------------------------------------------------------

// The mapping as source text that rebuilds it: "repeat(2, 1) * spatial(8, 4) * repeat(1, 2)". Every mapping has one
// (col_ forms, spatial_map with ranks, .without(dim) where needed).
void tm_print(const tm_map *m, str_buf *out);
// A shape, a task or an index as Python writes it: "(16, 8)", "(16,)".
void tm_print_tuple(int count, const int64_t *values, str_buf *out);
