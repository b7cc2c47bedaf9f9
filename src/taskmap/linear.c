// Offsets as sums over digits, where a layout has no exclusive-or in it.

#include "taskmap/taskmap_priv.h"

// Where a dimension of a part of the layout comes from: (index[dim] div divisor), read as far as the part reaches.
typedef struct source {
    int dim;
    int64_t divisor;
} source;

static bool add_segment(tm_segments *out, const source *from, int64_t extent, int64_t stride)
{
    if (extent == 1)
        return true;
    if (out->count == TM_MAX_TERMS)
        return false;
    out->at[out->count++] = (tm_segment){.dim = from->dim, .divisor = from->divisor, .extent = extent, .stride = stride};
    return true;
}

static bool collect(const tm_layout *l, const source *from, int64_t scale, tm_segments *out);

static bool collect_compose(const tm_layout *l, const source *from, int64_t scale, tm_segments *out)
{
    source outer[TM_MAX_RANK];
    for (int d = 0; d < l->rank; d++)
        outer[d] = (source){from[d].dim, from[d].divisor * l->inner->shape[d]};
    return collect(l->outer, outer, scale * l->inner->size, out) && collect(l->inner, from, scale, out);
}

static bool collect_map(const tm_map *m, const source *from, int64_t scale, tm_segments *out)
{
    for (int i = m->digit_count - 1; i >= 0; i--) {
        const tm_digit *g = &m->digits[i];
        bool repeat = g->kind == TM_REPEAT;
        if (g->dim >= 0) {
            source digit = {from[g->dim].dim, from[g->dim].divisor * g->stride};
            if (!add_segment(out, &digit, g->extent, repeat ? scale : 0))
                return false;
        }
        if (repeat)
            scale *= g->extent;
    }
    return true;
}

// Another shape of something in row order is in row order.
static bool collect_reshape(const tm_layout *l, const source *from, int64_t scale, tm_segments *out)
{
    if (!tm_layout_is_row_major(l->inner))
        return false;
    for (int d = l->rank - 1; d >= 0; d--) {
        if (!add_segment(out, &from[d], l->shape[d], scale))
            return false;
        scale *= l->shape[d];
    }
    return true;
}

static bool collect(const tm_layout *l, const source *from, int64_t scale, tm_segments *out)
{
    source inner[TM_MAX_RANK];
    switch (l->kind) {
    case TM_LAYOUT_STRIDED:
        for (int d = 0; d < l->rank; d++)
            if (!add_segment(out, &from[d], l->shape[d], l->shape[d] > 1 ? l->strides[d] * scale : 0))
                return false;
        return true;
    case TM_LAYOUT_COMPOSE:
        return collect_compose(l, from, scale, out);
    case TM_LAYOUT_CONCAT:
        return collect(l->outer, from, scale * l->inner->size, out) &&
               collect(l->inner, from + l->outer->rank, scale, out);
    case TM_LAYOUT_PERMUTE:
        for (int d = 0; d < l->rank; d++)
            inner[l->perm[d]] = from[d];
        return collect(l->inner, inner, scale, out);
    case TM_LAYOUT_MAPPING:
        return collect_map(l->map, from, scale, out);
    case TM_LAYOUT_RESHAPE:
        return collect_reshape(l, from, scale, out);
    case TM_LAYOUT_SWIZZLE:
    case TM_LAYOUT_XOR:
        return false;
    }
    return false;
}

bool tm_layout_segments(const tm_layout *l, tm_segments *out)
{
    source from[TM_MAX_RANK];
    for (int d = 0; d < l->rank; d++)
        from[d] = (source){d, 1};
    out->count = 0;
    return collect(l, from, 1, out);
}

// ---- a mapping over the segments ------------------------------------------------------------------------------------

// The offset of a step of [low] in dimension [dim]. Segments divide [low] or begin above it: the mapping's digits
// further in fill all that lies below, and were split where segments begin.
static int64_t step_stride(const tm_segments *segments, int dim, int64_t low)
{
    int64_t stride = 0;
    for (int i = 0; i < segments->count; i++) {
        const tm_segment *q = &segments->at[i];
        if (q->dim == dim && low >= q->divisor && low < q->divisor * q->extent)
            stride += low / q->divisor * q->stride;
    }
    return stride;
}

// The smallest boundary of a segment of the dimension above [low] and below [high], or [high].
static int64_t next_cut(const tm_segments *segments, int dim, int64_t low, int64_t high)
{
    for (int i = 0; i < segments->count; i++) {
        const tm_segment *q = &segments->at[i];
        if (q->dim != dim)
            continue;
        if (q->divisor > low && q->divisor < high)
            high = q->divisor;
        if (q->divisor * q->extent > low && q->divisor * q->extent < high)
            high = q->divisor * q->extent;
    }
    return high;
}

// Appends the terms of one digit, innermost first.
static bool split_digit(const tm_segments *segments, const tm_digit *g, tm_term *terms, int *count)
{
    if (g->dim < 0) {
        if (*count < TM_MAX_TERMS)
            terms[*count] = (tm_term){g->extent, 0};
        return (*count)++ < TM_MAX_TERMS;
    }
    int64_t end = g->stride * g->extent;
    for (int64_t low = g->stride, high; low < end; low = high) {
        high = next_cut(segments, g->dim, low, end);
        if (high % low != 0 || *count == TM_MAX_TERMS)
            return false;
        terms[(*count)++] = (tm_term){high / low, step_stride(segments, g->dim, low)};
    }
    return true;
}

static void reverse(tm_term *terms, int count)
{
    for (int i = 0; i < count / 2; i++) {
        tm_term swapped = terms[i];
        terms[i] = terms[count - 1 - i];
        terms[count - 1 - i] = swapped;
    }
}

bool tm_linear_offsets(const tm_map *m, const tm_layout *l, tm_linear *out)
{
    tm_segments segments;
    if (!tm_layout_segments(l, &segments))
        return false;
    out->worker_count = out->step_count = 0;
    for (int i = m->digit_count - 1; i >= 0; i--) {
        const tm_digit *g = &m->digits[i];
        bool spatial = g->kind == TM_SPATIAL;
        if (g->extent > 1 && !split_digit(&segments, g, spatial ? out->workers : out->steps,
                                          spatial ? &out->worker_count : &out->step_count))
            return false;
    }
    reverse(out->workers, out->worker_count);
    reverse(out->steps, out->step_count);
    return true;
}
