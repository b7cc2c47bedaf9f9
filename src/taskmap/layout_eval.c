// The layout as a function, and facts about it.

#include "taskmap/layout.h"

#include <string.h>

#include "base/checked.h"
#include "taskmap/taskmap_priv.h"

static int64_t compose_offset(const tm_layout *l, const int64_t *index)
{
    int64_t outer[TM_MAX_RANK], inner[TM_MAX_RANK];
    for (int d = 0; d < l->rank; d++) {
        outer[d] = index[d] / l->inner->shape[d];
        inner[d] = index[d] % l->inner->shape[d];
    }
    return tm_layout_offset(l->outer, outer) * l->inner->size + tm_layout_offset(l->inner, inner);
}

static int64_t swizzle_offset(const tm_layout *l, const int64_t *index)
{
    int64_t moved[TM_MAX_RANK];
    memcpy(moved, index, sizeof(int64_t) * (size_t)l->rank);
    // The extent is a power of two: & is the reduction modulo it, and the result stays inside.
    moved[l->dim] ^= (index[l->regards] >> l->log_step) & (l->shape[l->dim] - 1);
    return tm_layout_offset(l->inner, moved);
}

static int64_t reshape_offset(const tm_layout *l, const int64_t *index)
{
    int64_t flat = 0, within[TM_MAX_RANK];
    for (int d = 0; d < l->rank; d++)
        flat = flat * l->shape[d] + index[d];
    for (int d = l->inner->rank - 1; d >= 0; d--) {
        within[d] = flat % l->inner->shape[d];
        flat /= l->inner->shape[d];
    }
    return tm_layout_offset(l->inner, within);
}

static int64_t permute_offset(const tm_layout *l, const int64_t *index)
{
    int64_t within[TM_MAX_RANK];
    for (int d = 0; d < l->rank; d++)
        within[l->perm[d]] = index[d];
    return tm_layout_offset(l->inner, within);
}

static int64_t strided_offset(const tm_layout *l, const int64_t *index)
{
    int64_t offset = 0;
    for (int d = 0; d < l->rank; d++)
        offset += index[d] * l->strides[d];
    return offset;
}

static int64_t xor_offset(const tm_layout *l, const int64_t *index)
{
    int64_t offset = tm_layout_offset(l->inner, index);
    int64_t mask = (((int64_t)1 << l->bits) - 1) << l->base_bits;
    return offset ^ ((offset >> l->shift) & mask);
}

int64_t tm_layout_offset(const tm_layout *l, const int64_t *index)
{
    switch (l->kind) {
    case TM_LAYOUT_STRIDED:
        return strided_offset(l, index);
    case TM_LAYOUT_COMPOSE:
        return compose_offset(l, index);
    case TM_LAYOUT_CONCAT:
        return tm_layout_offset(l->outer, index) * l->inner->size + tm_layout_offset(l->inner, index + l->outer->rank);
    case TM_LAYOUT_SWIZZLE:
        return swizzle_offset(l, index);
    case TM_LAYOUT_XOR:
        return xor_offset(l, index);
    case TM_LAYOUT_RESHAPE:
        return reshape_offset(l, index);
    case TM_LAYOUT_PERMUTE:
        return permute_offset(l, index);
    case TM_LAYOUT_MAPPING: {
        int64_t worker = 0, position = 0;
        tm_owner(l->map, index, &worker, &position);
        return position;
    }
    }
    return 0;
}

bool tm_layout_in_bounds(const tm_layout *l, const int64_t *index)
{
    for (int d = 0; d < l->rank; d++)
        if (!is_in(index[d], l->shape[d]))
            return false;
    return true;
}

// ---- row order ------------------------------------------------------------------------------------------------------

static void row_strides(const tm_layout *l, int64_t *strides)
{
    int64_t stride = 1;
    for (int d = l->rank - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= l->shape[d];
    }
}

// Every index looked at; false where there are too many for that.
static bool counts_in_row_order(const tm_layout *l)
{
    enum { MOST = 1 << 16 };
    int64_t index[TM_MAX_RANK] = {0}, count = 1;
    for (int d = 0; d < l->rank; d++)
        count *= l->shape[d];
    if (count > MOST)
        return false;
    int64_t flat = 0;
    do {
        if (tm_layout_offset(l, index) != flat++)
            return false;
    } while (tm_next_index(l->rank, l->shape, index));
    return true;
}

bool tm_layout_is_row_major(const tm_layout *l)
{
    tm_segments segments;
    if (!tm_layout_segments(l, &segments))
        return counts_in_row_order(l);
    int64_t strides[TM_MAX_RANK];
    row_strides(l, strides);
    for (int i = 0; i < segments.count; i++)
        if (segments.at[i].stride != segments.at[i].divisor * strides[segments.at[i].dim])
            return false;
    return true;
}

// ---- injectivity ----------------------------------------------------------------------------------------------------

typedef struct collision_search {
    int count;
    tm_term terms[TM_MAX_RANK];     // by falling stride
    int64_t reach[TM_MAX_RANK + 1]; // of all terms from here on
    int budget;
} collision_search;

// Whether differences of indices, not all 0, add up to -[sum] in the terms from [k] on. Only differences that the terms
// after can still make up for are tried: with nested strides that is 0 alone.
static bool collides(collision_search *s, int k, int64_t sum, bool differs)
{
    if (k == s->count)
        return sum == 0 && differs;
    if (s->budget-- <= 0)
        return true;
    int64_t stride = s->terms[k].stride, most = s->terms[k].extent - 1, rest = s->reach[k + 1];
    int64_t low = -floor_div(sum + rest, stride), high = floor_div(rest - sum, stride);
    low = low < -most ? -most : low;
    high = high > most ? most : high;
    // Differences come in pairs of opposite sign: the first one that is not 0 may be positive.
    for (int64_t delta = differs || low > 0 ? low : 0; delta <= high; delta++)
        if (collides(s, k + 1, sum + delta * stride, differs || delta != 0))
            return true;
    return false;
}

static bool strides_injective(const tm_layout *l)
{
    collision_search s = {.budget = 1 << 20};
    for (int d = 0; d < l->rank; d++) {
        if (l->shape[d] == 1)
            continue;
        if (l->strides[d] == 0)
            return false;
        int i = s.count++;
        for (; i > 0 && s.terms[i - 1].stride < l->strides[d]; i--)
            s.terms[i] = s.terms[i - 1];
        s.terms[i] = (tm_term){l->shape[d], l->strides[d]};
    }
    for (int i = s.count - 1; i >= 0; i--)
        s.reach[i] = s.reach[i + 1] + (s.terms[i].extent - 1) * s.terms[i].stride;
    return !collides(&s, 0, 0, false);
}

// Its storage is one worker's, so elements of different workers share offsets.
static bool has_one_owner(const tm_map *m)
{
    for (int i = 0; i < m->digit_count; i++)
        if (m->digits[i].kind == TM_SPATIAL && m->digits[i].dim >= 0 && m->digits[i].extent > 1)
            return false;
    return true;
}

bool tm_layout_is_injective(const tm_layout *l)
{
    switch (l->kind) {
    case TM_LAYOUT_STRIDED:
        return strides_injective(l);
    case TM_LAYOUT_COMPOSE:
    case TM_LAYOUT_CONCAT:
        return tm_layout_is_injective(l->outer) && tm_layout_is_injective(l->inner);
    case TM_LAYOUT_SWIZZLE: // these three rename indices
    case TM_LAYOUT_RESHAPE:
    case TM_LAYOUT_PERMUTE:
    case TM_LAYOUT_XOR: // and this one offsets
        return tm_layout_is_injective(l->inner);
    case TM_LAYOUT_MAPPING:
        return has_one_owner(l->map);
    }
    return false;
}
