// Construction of layouts, equality and hash.

#include "taskmap/layout.h"

#include "base/checked.h"
#include "taskmap/taskmap_priv.h"

static tm_layout *new_layout(arena *a, tm_layout_kind kind, int rank, const int64_t *shape)
{
    tm_layout *l = ARENA_NEW(a, tm_layout);
    l->kind = kind;
    l->rank = rank;
    for (int d = 0; d < rank; d++)
        l->shape[d] = shape[d];
    return l;
}

// A layout of one kind over [base], with its shape and size.
static tm_layout *over(arena *a, tm_layout_kind kind, const tm_layout *base)
{
    tm_layout *l = new_layout(a, kind, base->rank, base->shape);
    l->inner = base;
    l->size = base->size;
    return l;
}

static const tm_layout *failed(tm_reason *why, tm_reason reason)
{
    tm_fail(why, reason);
    return NULL;
}

const tm_layout *tm_layout_ranked(arena *a, int rank, const int64_t *shape, const int *ranks, tm_reason *why)
{
    if (!tm_shape_check(rank, shape, why) || !tm_perm_check(rank, ranks, why))
        return NULL;
    tm_layout *l = new_layout(a, TM_LAYOUT_STRIDED, rank, shape);
    int dims[TM_MAX_RANK];
    for (int d = 0; d < rank; d++)
        dims[ranks[d]] = d;
    l->size = 1;
    for (int i = rank - 1; i >= 0; i--) {
        l->strides[dims[i]] = l->size;
        l->size *= shape[dims[i]];
    }
    return l;
}

const tm_layout *tm_layout_row_major(arena *a, int rank, const int64_t *shape, tm_reason *why)
{
    static const int rising[TM_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    return tm_layout_ranked(a, rank, shape, rising, why);
}

const tm_layout *tm_layout_column_major(arena *a, int rank, const int64_t *shape, tm_reason *why)
{
    int falling[TM_MAX_RANK] = {0};
    for (int d = 0; d < rank && d < TM_MAX_RANK; d++)
        falling[d] = rank - 1 - d;
    return tm_layout_ranked(a, rank, shape, falling, why);
}

const tm_layout *tm_layout_strided(arena *a, int rank, const int64_t *shape, const int64_t *strides, tm_reason *why)
{
    if (!tm_shape_check(rank, shape, why))
        return NULL;
    tm_layout *l = new_layout(a, TM_LAYOUT_STRIDED, rank, shape);
    l->size = 1;
    for (int d = 0; d < rank; d++) {
        int64_t reach;
        if (strides[d] < 0)
            return failed(why, TM_BAD_STRIDE);
        if (!mul_checked(shape[d] - 1, strides[d], &reach) || !add_checked(l->size, reach, &l->size) ||
            l->size > TM_LIMIT || strides[d] > TM_LIMIT)
            return failed(why, TM_OVERFLOW);
        l->strides[d] = strides[d];
    }
    return l;
}

const tm_layout *tm_layout_local(arena *a, int rank, const int64_t *shape, tm_reason *why)
{
    static const int64_t zeros[TM_MAX_RANK];
    return tm_layout_strided(a, rank, shape, zeros, why);
}

const tm_layout *tm_layout_compose(arena *a, const tm_layout *outer, const tm_layout *inner, tm_reason *why)
{
    if (outer->rank != inner->rank)
        return failed(why, TM_RANK_MISMATCH);
    tm_layout *l = new_layout(a, TM_LAYOUT_COMPOSE, outer->rank, outer->shape);
    int64_t count = 1;
    for (int d = 0; d < l->rank; d++)
        if (!tm_times(&l->shape[d], inner->shape[d]) || !tm_times(&count, l->shape[d]))
            return failed(why, TM_OVERFLOW);
    l->size = outer->size;
    if (!tm_times(&l->size, inner->size))
        return failed(why, TM_OVERFLOW);
    l->outer = outer;
    l->inner = inner;
    return l;
}

const tm_layout *tm_layout_concat(arena *a, const tm_layout *outer, const tm_layout *inner, tm_reason *why)
{
    if (outer->rank + inner->rank > TM_MAX_RANK)
        return failed(why, TM_TOO_MANY_DIMS);
    tm_layout *l = new_layout(a, TM_LAYOUT_CONCAT, outer->rank, outer->shape);
    for (int d = 0; d < inner->rank; d++)
        l->shape[l->rank++] = inner->shape[d];
    if (!tm_shape_check(l->rank, l->shape, why))
        return NULL;
    l->size = outer->size;
    if (!tm_times(&l->size, inner->size))
        return failed(why, TM_OVERFLOW);
    l->outer = outer;
    l->inner = inner;
    return l;
}

const tm_layout *tm_layout_swizzle(arena *a, const tm_layout *base, int dim, int regards, int log_step, tm_reason *why)
{
    if (regards == -1 && base->rank == 2)
        regards = dim == 0;
    if (!is_in(dim, base->rank) || !is_in(regards, base->rank) || dim == regards)
        return failed(why, TM_BAD_DIM);
    if (!is_in(log_step, 63))
        return failed(why, TM_BAD_SWIZZLE);
    if (!is_power_of_two(base->shape[dim]))
        return failed(why, TM_NOT_POWER_OF_TWO);
    tm_layout *l = over(a, TM_LAYOUT_SWIZZLE, base);
    l->dim = dim;
    l->regards = regards;
    l->log_step = log_step;
    return l;
}

const tm_layout *tm_layout_xor(arena *a, const tm_layout *base, int bits, int base_bits, int shift, tm_reason *why)
{
    // A shift of 0 would clear bits and so merge elements.
    bool fine = is_in(bits, 63) && is_in(base_bits, 63) && is_in(shift, 63) && (bits == 0 || shift > 0);
    if (!fine || bits + base_bits + shift > 62)
        return failed(why, TM_BAD_SWIZZLE);
    tm_layout *l = over(a, TM_LAYOUT_XOR, base);
    l->bits = bits;
    l->base_bits = base_bits;
    l->shift = shift;
    // Offsets move within aligned blocks of 2^(base_bits + bits), unless all source bits are 0 anyway.
    int64_t block = (int64_t)1 << (base_bits + bits);
    if (bits > 0 && base->size > (int64_t)1 << (base_bits + shift))
        l->size = (base->size + block - 1) / block * block;
    return l->size <= TM_LIMIT ? l : failed(why, TM_OVERFLOW);
}

static int64_t count_of(int rank, const int64_t *shape)
{
    int64_t count = 1;
    for (int d = 0; d < rank; d++)
        count *= shape[d];
    return count;
}

const tm_layout *tm_layout_reshape(arena *a, const tm_layout *base, int rank, const int64_t *shape, tm_reason *why)
{
    if (!tm_shape_check(rank, shape, why))
        return NULL;
    if (count_of(rank, shape) != count_of(base->rank, base->shape))
        return failed(why, TM_BAD_RESHAPE);
    tm_layout *l = new_layout(a, TM_LAYOUT_RESHAPE, rank, shape);
    l->inner = base;
    l->size = base->size;
    return l;
}

const tm_layout *tm_layout_permute(arena *a, const tm_layout *base, const int *perm, tm_reason *why)
{
    if (!tm_perm_check(base->rank, perm, why))
        return NULL;
    // Permuted strides are strides, and better understood than a permutation of them.
    bool strided = base->kind == TM_LAYOUT_STRIDED;
    tm_layout *l = over(a, strided ? TM_LAYOUT_STRIDED : TM_LAYOUT_PERMUTE, base);
    l->inner = strided ? NULL : base;
    for (int d = 0; d < l->rank; d++) {
        l->shape[d] = base->shape[perm[d]];
        if (strided)
            l->strides[d] = base->strides[perm[d]];
        else
            l->perm[d] = perm[d];
    }
    return l;
}

const tm_layout *tm_layout_of_map(arena *a, const tm_map *map)
{
    tm_layout *l = new_layout(a, TM_LAYOUT_MAPPING, map->rank, map->shape);
    l->size = map->tasks_per_worker;
    l->map = map;
    return l;
}

static bool same_numbers(const tm_layout *a, const tm_layout *b)
{
    for (int d = 0; d < a->rank; d++)
        if (a->shape[d] != b->shape[d] || a->perm[d] != b->perm[d] ||
            (a->shape[d] > 1 && a->strides[d] != b->strides[d]))
            return false;
    return a->dim == b->dim && a->regards == b->regards && a->log_step == b->log_step && a->bits == b->bits &&
           a->base_bits == b->base_bits && a->shift == b->shift;
}

bool tm_layout_equal(const tm_layout *a, const tm_layout *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || a->rank != b->rank || a->size != b->size || !same_numbers(a, b))
        return false;
    switch (a->kind) {
    case TM_LAYOUT_STRIDED:
        return true;
    case TM_LAYOUT_COMPOSE:
    case TM_LAYOUT_CONCAT:
        return tm_layout_equal(a->outer, b->outer) && tm_layout_equal(a->inner, b->inner);
    case TM_LAYOUT_SWIZZLE:
    case TM_LAYOUT_XOR:
    case TM_LAYOUT_RESHAPE:
    case TM_LAYOUT_PERMUTE:
        return tm_layout_equal(a->inner, b->inner);
    case TM_LAYOUT_MAPPING:
        return tm_equal(a->map, b->map);
    }
    return false;
}

uint64_t tm_layout_hash(const tm_layout *l)
{
    uint64_t hash = tm_mix(0x6c61796f757473ULL + (uint64_t)l->kind, (uint64_t)l->size);
    for (int d = 0; d < l->rank; d++) {
        hash = tm_mix(hash, (uint64_t)l->shape[d]);
        hash = tm_mix(hash, l->shape[d] > 1 ? (uint64_t)l->strides[d] : 0);
        hash = tm_mix(hash, (uint64_t)l->perm[d]);
    }
    hash = tm_mix(hash, (uint64_t)l->dim * 4096 + (uint64_t)l->regards * 64 + (uint64_t)l->log_step);
    hash = tm_mix(hash, (uint64_t)l->bits * 4096 + (uint64_t)l->base_bits * 64 + (uint64_t)l->shift);
    if (l->outer)
        hash = tm_mix(hash, tm_layout_hash(l->outer));
    if (l->inner)
        hash = tm_mix(hash, tm_layout_hash(l->inner));
    return l->map ? tm_mix(hash, tm_hash(l->map)) : hash;
}
