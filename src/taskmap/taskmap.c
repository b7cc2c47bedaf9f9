#include "taskmap/taskmap_priv.h"

#include <limits.h>
#include <string.h>

#include "base/checked.h"

const char *tm_reason_text(tm_reason reason)
{
    switch (reason) {
    case TM_OK:
        return "nothing is wrong";
    case TM_RANK_MISMATCH:
        return "the ranks differ";
    case TM_BAD_EXTENT:
        return "an extent is less than 1";
    case TM_BAD_RANKS:
        return "the ranks are not a permutation of the dimensions";
    case TM_TOO_MANY_DIMS:
        return "there are too many dimensions or factors";
    case TM_OVERFLOW:
        return "the number of workers, tasks or elements is too large";
    case TM_NOT_DIVISIBLE:
        return "the number of tasks is not divisible by the number of workers";
    case TM_BAD_DIM:
        return "there is no such dimension";
    case TM_BAD_ATTRS:
        return "the loop attributes cannot be read";
    case TM_NOT_SINGLE:
        return "a worker has more than one task";
    case TM_NOT_POWER_OF_TWO:
        return "the swizzled extent is not a power of two";
    case TM_BAD_RESHAPE:
        return "the numbers of elements differ";
    case TM_NOT_A_TILE:
        return "the shape is not an inner part of the mapping";
    case TM_BAD_SWIZZLE:
        return "the bits of the swizzle are out of range";
    case TM_BAD_STRIDE:
        return "a stride is negative";
    }
    return "the reason is unknown";
}

bool tm_fail(tm_reason *why, tm_reason reason)
{
    if (why)
        *why = reason;
    return false;
}

bool tm_times(int64_t *total, int64_t factor)
{
    return mul_checked(*total, factor, total) && *total <= TM_LIMIT;
}

bool tm_shape_check(int rank, const int64_t *shape, tm_reason *why)
{
    if (rank < 0 || rank > TM_MAX_RANK)
        return tm_fail(why, TM_TOO_MANY_DIMS);
    int64_t count = 1;
    for (int d = 0; d < rank; d++)
        if (shape[d] < 1)
            return tm_fail(why, TM_BAD_EXTENT);
    for (int d = 0; d < rank; d++)
        if (!tm_times(&count, shape[d]))
            return tm_fail(why, TM_OVERFLOW);
    return true;
}

bool tm_perm_check(int rank, const int *perm, tm_reason *why)
{
    bool seen[TM_MAX_RANK] = {0};
    for (int d = 0; d < rank; d++) {
        if (!is_in(perm[d], rank) || seen[perm[d]])
            return tm_fail(why, TM_BAD_RANKS);
        seen[perm[d]] = true;
    }
    return true;
}

tm_map *tm_new(arena *a, int rank, int digit_count)
{
    tm_map *m = arena_alloc(a, sizeof *m + sizeof(tm_digit) * (size_t)digit_count);
    m->rank = rank;
    m->digit_count = digit_count;
    return m;
}

const tm_map *tm_finish(tm_map *m, tm_reason *why)
{
    m->workers = m->tasks_per_worker = 1;
    for (int d = 0; d < m->rank; d++)
        m->shape[d] = 1;
    int64_t all = 1;
    for (int i = m->digit_count - 1; i >= 0; i--) {
        tm_digit *g = &m->digits[i];
        g->stride = g->dim >= 0 ? m->shape[g->dim] : 0;
        if (!tm_times(&all, g->extent)) {
            tm_fail(why, TM_OVERFLOW);
            return NULL;
        }
        // All other products are at most [all].
        *(g->kind == TM_SPATIAL ? &m->workers : &m->tasks_per_worker) *= g->extent;
        if (g->dim >= 0)
            m->shape[g->dim] *= g->extent;
    }
    return m;
}

// One digit a dimension, in the order of [ranks].
static tm_map *ranked(arena *a, tm_kind kind, int rank, const int64_t *shape, const int *ranks, tm_reason *why)
{
    if (!tm_shape_check(rank, shape, why) || (ranks && !tm_perm_check(rank, ranks, why)))
        return NULL;
    tm_map *m = tm_new(a, rank, rank);
    for (int d = 0; d < rank; d++)
        m->digits[ranks ? ranks[d] : d] = (tm_digit){.kind = kind, .dim = d, .extent = shape[d]};
    return m;
}

const tm_map *tm_spatial(arena *a, int rank, const int64_t *shape, const int *ranks, tm_reason *why)
{
    tm_map *m = ranked(a, TM_SPATIAL, rank, shape, ranks, why);
    return m ? tm_finish(m, why) : NULL;
}

typedef struct loop_attr {
    tm_unroll unroll;
    int factor;
} loop_attr;

// Reads an optional factor; false if it is 0 or too long.
static bool read_factor(const char **text, int *factor)
{
    const char *at = *text;
    int64_t value = 0;
    while (*at >= '0' && *at <= '9' && value <= INT_MAX)
        value = value * 10 + (*at++ - '0');
    bool given = at != *text;
    *text = at;
    *factor = (int)(value <= INT_MAX ? value : 0);
    return !given || *factor > 0;
}

static bool read_attr(const char **text, loop_attr *out)
{
    *out = (loop_attr){0};
    switch (*(*text)++) {
    case '.':
        out->unroll = TM_LOOP_PLAIN;
        return true;
    case 'u':
        out->unroll = **text == '+' ? TM_LOOP_UNROLL_FULL : TM_LOOP_UNROLL;
        if (out->unroll == TM_LOOP_UNROLL_FULL) {
            (*text)++;
            return true;
        }
        return read_factor(text, &out->factor);
    case 'p':
        out->unroll = TM_LOOP_PARALLEL;
        return read_factor(text, &out->factor);
    default:
        return false;
    }
}

// One attribute a dimension; a single one is meant for all of them. NULL and "" give defaults.
static bool read_attrs(const char *text, int rank, loop_attr *attrs, tm_reason *why)
{
    memset(attrs, 0, sizeof(loop_attr) * TM_MAX_RANK);
    if (!text || !*text)
        return true;
    int count = 0;
    while (*text) {
        loop_attr attr;
        if (count == TM_MAX_RANK || !read_attr(&text, &attr))
            return tm_fail(why, TM_BAD_ATTRS);
        attrs[count++] = attr;
    }
    for (int d = 1; count == 1 && d < rank; d++)
        attrs[d] = attrs[0];
    return count == 1 || count == rank || tm_fail(why, TM_BAD_ATTRS);
}

const tm_map *tm_repeat(arena *a, int rank, const int64_t *shape, const int *ranks, const char *attrs, tm_reason *why)
{
    tm_map *m = ranked(a, TM_REPEAT, rank, shape, ranks, why);
    loop_attr read[TM_MAX_RANK];
    if (!m || !read_attrs(attrs, rank, read, why))
        return NULL;
    for (int i = 0; i < rank; i++) {
        m->digits[i].unroll = read[m->digits[i].dim].unroll;
        m->digits[i].factor = read[m->digits[i].dim].factor;
    }
    return tm_finish(m, why);
}

static int count_above_one(const tm_map *m)
{
    int count = 0;
    for (int i = 0; i < m->digit_count; i++)
        count += m->digits[i].extent > 1;
    return count;
}

static tm_digit *append(tm_digit *to, const tm_map *m, bool with_ones)
{
    for (int i = 0; i < m->digit_count; i++)
        if (with_ones || m->digits[i].extent > 1)
            *to++ = m->digits[i];
    return to;
}

const tm_map *tm_compose(arena *a, const tm_map *outer, const tm_map *inner, tm_reason *why)
{
    if (outer->rank != inner->rank) {
        tm_fail(why, TM_RANK_MISMATCH);
        return NULL;
    }
    // Digits of extent 1 say nothing; they are kept only as long as there is room.
    int count = outer->digit_count + inner->digit_count;
    bool with_ones = count <= TM_MAX_DIGITS;
    if (!with_ones)
        count = count_above_one(outer) + count_above_one(inner);
    if (count > TM_MAX_DIGITS) {
        tm_fail(why, TM_TOO_MANY_DIMS);
        return NULL;
    }
    tm_map *m = tm_new(a, outer->rank, count);
    append(append(m->digits, outer, with_ones), inner, with_ones);
    return tm_finish(m, why);
}

const tm_map *tm_identity(arena *a, int rank, tm_reason *why)
{
    if (rank < 0 || rank > TM_MAX_RANK) {
        tm_fail(why, TM_TOO_MANY_DIMS);
        return NULL;
    }
    return tm_finish(tm_new(a, rank, 0), why);
}
