// The memory that a strided tensor spans: its size in bytes, whether its elements overlap, and whether two tensors
// overlap. Header only, because libhdsrt uses it too and links no other module.
//
// Extents and strides count elements, outermost axis first. A tensor without strides is contiguous and row-major; one
// with strides has elements of whole bytes. The stride of an axis of one element is ignored.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct strided_span {
    uint64_t address;  // of the first element
    int64_t bytes;     // from there to behind the last one, by strided_span_measure; 0: no elements
    int bits;          // of an element
    int rank;
    const int64_t *shape, *strides;  // NULL strides: row by row without gaps
} strided_span;

static inline bool strided_span_is_empty(const strided_span *s)
{
    for (int d = 0; d < s->rank; d++) {
        if (!s->shape[d])
            return true;
    }
    return false;
}

// Sets [bytes]. False for negative extents, negative strides of more than one element, and what 63 bits cannot count.
static inline bool strided_span_measure(strided_span *s)
{
    int64_t count = 1, last = 0, bits;  // elements without strides; the last one's offset with them
    s->bytes = 0;
    for (int d = 0; d < s->rank; d++) {
        if (s->shape[d] < 0 || (s->strides && s->shape[d] > 1 && s->strides[d] < 0))
            return false;
    }
    if (strided_span_is_empty(s))
        return true;
    for (int d = 0; d < s->rank; d++) {
        int64_t step;
        if (!s->strides && __builtin_mul_overflow(count, s->shape[d], &count))
            return false;
        if (s->strides && s->shape[d] > 1 &&
            (__builtin_mul_overflow(s->shape[d] - 1, s->strides[d], &step) || __builtin_add_overflow(last, step, &last)))
            return false;
    }
    if (s->strides && __builtin_add_overflow(last, 1, &count))
        return false;
    if (__builtin_mul_overflow(count, s->bits, &bits) || bits > INT64_MAX - 7)
        return false;
    s->bytes = (bits + 7) / 8;
    return true;
}

// The offset of element [i] in row-major order, in elements.
static inline int64_t strided_span_offset(int rank, const int64_t *shape, const int64_t *strides, int64_t i)
{
    int64_t offset = 0;
    for (int d = rank - 1; strides && d >= 0; i /= shape[d], d--)
        offset += i % shape[d] * strides[d];
    return strides ? offset : i;
}

// Chooses the unknown strides (negative ones) so that no elements overlap, if the known ones permit it: the axes of the
// others inside, and what is left row by row around them. False for what 63 bits cannot count.
static inline bool strided_span_complete(int rank, const int64_t *shape, int64_t *strides)
{
    int64_t span = 1, inner;
    for (int d = 0; d < rank; d++) {
        if (strides[d] >= 0 && shape[d] > 1 && __builtin_mul_overflow(strides[d], shape[d], &inner))
            return false;
        span = strides[d] >= 0 && shape[d] > 1 && inner > span ? inner : span;
    }
    for (int d = rank - 1; d >= 0; d--) {
        if (strides[d] >= 0)
            continue;
        strides[d] = span;
        if (shape[d] > 1 && __builtin_mul_overflow(span, shape[d], &span))
            return false;
    }
    return true;
}

// The axis of more than one element with the smallest stride from [least] on, behind axis [after] where they are equal;
// -1: none.
static inline int strided_span_next_axis(const strided_span *s, int64_t least, int after)
{
    int found = -1;
    for (int d = 0; d < s->rank; d++) {
        bool is_later = s->shape[d] > 1 && (s->strides[d] > least || (s->strides[d] == least && d > after));
        if (is_later && (found < 0 || s->strides[d] < s->strides[found]))
            found = d;
    }
    return found;
}

// The axis along which elements may overlap, or -1. Strides that are nested, each beyond all elements of the smaller
// ones, as those of all parts of a tensor are, keep them apart. For what strided_span_measure takes.
static inline int strided_span_folded_axis(const strided_span *s)
{
    int64_t span = 1, least = -1;
    if (!s->strides || strided_span_is_empty(s))
        return -1;
    for (int d = strided_span_next_axis(s, least, -1); d >= 0; d = strided_span_next_axis(s, least, d)) {
        if (s->strides[d] < span)
            return d;
        span += (s->shape[d] - 1) * s->strides[d];
        least = s->strides[d];
    }
    return -1;
}

// Bytes from the first element to behind the last, of those axes whose strides are no multiples of [pitch] bytes.
static inline int64_t strided_span_width(const strided_span *s, int64_t pitch)
{
    int64_t bytes = s->bits / 8, width = bytes;
    if (!s->strides)
        return s->bytes;
    for (int d = 0; d < s->rank; d++) {
        if (s->shape[d] > 1 && s->strides[d] * bytes % pitch)
            width += (s->shape[d] - 1) * s->strides[d] * bytes;
    }
    return width;
}

// Whether the two are disjoint column blocks of a matrix with rows of [pitch] bytes.
static inline bool strided_span_are_columns(const strided_span *a, const strided_span *b, int64_t pitch)
{
    int64_t offset = (int64_t)((b->address - a->address) % (uint64_t)pitch);
    if (b->address < a->address) {
        offset = (int64_t)((a->address - b->address) % (uint64_t)pitch);
        offset = offset ? pitch - offset : 0;
    }
    int64_t left = strided_span_width(a, pitch), right = strided_span_width(b, pitch);
    return left <= offset && right <= pitch - offset;
}

static inline bool strided_span_share_rows(const strided_span *a, const strided_span *b, const strided_span *of)
{
    for (int d = 0; of->strides && d < of->rank; d++) {
        if (of->shape[d] > 1 && of->strides[d] > 0 && strided_span_are_columns(a, b, of->strides[d] * (of->bits / 8)))
            return true;
    }
    return false;
}

// Whether they may share a byte. Exact for tensors that lie apart and for parts of one matrix that have different columns;
// others whose spans meet count as meeting. Both measured.
static inline bool strided_span_meet(const strided_span *a, const strided_span *b)
{
    if (!a->bytes || !b->bytes || a->address >= b->address + (uint64_t)b->bytes ||
        b->address >= a->address + (uint64_t)a->bytes)
        return false;
    return !strided_span_share_rows(a, b, a) && !strided_span_share_rows(a, b, b);
}
