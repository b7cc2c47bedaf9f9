// Layouts: where an element of a tensor lives.
//
// A layout sends an index tuple to an offset in elements. It is a tree of the constructors below, so that each can be
// evaluated here for constant indices and turned into index expressions by the compiler. Pure values in an arena.
#pragma once

#include "taskmap/taskmap.h"

typedef enum tm_layout_kind {
    TM_LAYOUT_STRIDED, // sum of index·stride
    TM_LAYOUT_COMPOSE, // outer(i div s)·size(inner) + inner(i mod s), s the inner shape
    TM_LAYOUT_CONCAT,  // outer(first indices)·size(inner) + inner(the rest)
    TM_LAYOUT_SWIZZLE, // index[dim] ^= index[regards] >> log_step (reduced modulo the extent of dim), then the base
    TM_LAYOUT_XOR,     // on the base's offset o: o ^ ((o >> shift) & mask), mask = (2^bits - 1) << base_bits
    TM_LAYOUT_RESHAPE, // flat index in row order, unflattened in the base's shape
    TM_LAYOUT_PERMUTE, // dimension i of this layout is dimension perm[i] of the base
    TM_LAYOUT_MAPPING, // a register tensor: offset = position in the owning worker's list (each worker has its own)
} tm_layout_kind;

typedef struct tm_layout {
    tm_layout_kind kind;
    int rank;
    int64_t shape[TM_MAX_RANK];
    int64_t size;                  // elements of storage (for MAPPING: of one worker)
    int64_t strides[TM_MAX_RANK];  // STRIDED; stride 0 with extent > 1 is a "local" dimension
    const struct tm_layout *outer; // COMPOSE, CONCAT
    const struct tm_layout *inner; // COMPOSE, CONCAT; the base of SWIZZLE, XOR, RESHAPE, PERMUTE
    int dim, regards, log_step;    // SWIZZLE
    int bits, base_bits, shift;    // XOR
    int perm[TM_MAX_RANK];         // PERMUTE
    const tm_map *map;             // MAPPING
} tm_layout;

// All results in [a]; NULL with *[why] set on failure.
const tm_layout *tm_layout_row_major(arena *a, int rank, const int64_t *shape, tm_reason *why);
const tm_layout *tm_layout_column_major(arena *a, int rank, const int64_t *shape, tm_reason *why);
// Strides from ranks: the dimension with the largest rank varies fastest.
const tm_layout *tm_layout_ranked(arena *a, int rank, const int64_t *shape, const int *ranks, tm_reason *why);
// Explicit strides (>= 0); size = 1 + sum of (extent-1)·stride.
const tm_layout *tm_layout_strided(arena *a, int rank, const int64_t *shape, const int64_t *strides, tm_reason *why);
const tm_layout *tm_layout_local(arena *a, int rank, const int64_t *shape, tm_reason *why); // always offset 0, size 1
const tm_layout *tm_layout_compose(arena *a, const tm_layout *outer, const tm_layout *inner, tm_reason *why);
const tm_layout *tm_layout_concat(arena *a, const tm_layout *outer, const tm_layout *inner, tm_reason *why);
// [regards] -1: the other dimension of a rank-2 layout.
const tm_layout *tm_layout_swizzle(arena *a, const tm_layout *base, int dim, int regards, int log_step, tm_reason *why);
// Offset swizzle as TMA and ldmatrix layouts use it: XOR bits [base_bits, base_bits+bits) of the offset
// with the bits [shift] >= 1 positions above them; all of them below 2^62. Storage grows to whole blocks of
// 2^(base_bits+bits).
const tm_layout *tm_layout_xor(arena *a, const tm_layout *base, int bits, int base_bits, int shift, tm_reason *why);
const tm_layout *tm_layout_reshape(arena *a, const tm_layout *base, int rank, const int64_t *shape, tm_reason *why);
const tm_layout *tm_layout_permute(arena *a, const tm_layout *base, const int *perm, tm_reason *why);
const tm_layout *tm_layout_of_map(arena *a, const tm_map *map);

bool tm_layout_equal(const tm_layout *a, const tm_layout *b);
uint64_t tm_layout_hash(const tm_layout *l);
int64_t tm_layout_offset(const tm_layout *l, const int64_t *index);
bool tm_layout_in_bounds(const tm_layout *l, const int64_t *index);
// Whether the offset is the flat row-order index. Layouts with swizzles of more than 65536 elements count as not.
bool tm_layout_is_row_major(const tm_layout *l);
// Whether different indices have different offsets (false for local dimensions of extent > 1 and the like). Strides
// that interleave so oddly that a million steps of search find no answer count as not injective.
bool tm_layout_is_injective(const tm_layout *l);

// ---- a mapping over a layout ----------------------------------------------------------------------------------------

// The largest V (a power of two, at most [max_elements]) such that every worker's list splits into runs of V tasks at
// consecutive offsets that begin at multiples of V: the widest vector access, if the base address is aligned so far.
// Tasks outside the layout are masked: a run of them is no access, but no run may have both kinds. Layouts with
// swizzles under mappings of more than 2^22 tasks give 1.
int tm_widest_access(const tm_map *m, const tm_layout *l, int max_elements);

// Shared memory has 32 banks of 4 bytes (CUDA C++ Programming Guide, "Shared Memory"); accesses of up to 4 bytes a lane
// go in one phase a warp, of 8 in two (16 lanes each), of 16 in four (8 lanes each), wider ones as requests of 16 bytes
// each; lanes that touch the same 4-byte word do not conflict, and lanes whose task is outside the layout are idle. For
// the access of width [vector] elements by each warp (workers 32k … 32k+31) at each step of the lists:
typedef struct tm_banks {
    int64_t accesses;   // warp-wide requests
    int64_t wavefronts; // passes they take
    int64_t ideal;      // passes they would take without conflicts
    int worst;          // largest number of passes of one phase; 0 without accesses
} tm_banks;
tm_banks tm_bank_conflicts(const tm_map *m, const tm_layout *l, int element_bytes, int vector);

// Source text that rebuilds the layout: "row_major(8, 4).swizzle(1, log_step=1)". Offset swizzles are .xor(bits,
// base_bits, shift), layouts of register tensors register_layout(mapping).
void tm_layout_print(const tm_layout *l, str_buf *out);
