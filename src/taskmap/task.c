// The mapping as a function, and when two of them are the same.

#include "taskmap/taskmap_priv.h"

void tm_task(const tm_map *m, int64_t worker, int64_t position, int64_t *coords)
{
    for (int d = 0; d < m->rank; d++)
        coords[d] = 0;
    for (int i = m->digit_count - 1; i >= 0; i--) {
        const tm_digit *g = &m->digits[i];
        int64_t *number = g->kind == TM_SPATIAL ? &worker : &position;
        if (g->dim >= 0)
            coords[g->dim] += *number % g->extent * g->stride;
        *number /= g->extent;
    }
}

bool tm_owner(const tm_map *m, const int64_t *coords, int64_t *worker, int64_t *position)
{
    for (int d = 0; d < m->rank; d++)
        if (!is_in(coords[d], m->shape[d]))
            return false;
    *worker = *position = 0;
    for (int i = 0; i < m->digit_count; i++) {
        const tm_digit *g = &m->digits[i];
        int64_t *number = g->kind == TM_SPATIAL ? worker : position;
        *number = *number * g->extent + (g->dim >= 0 ? coords[g->dim] / g->stride % g->extent : 0);
    }
    return true;
}

static bool same_domain(const tm_map *a, const tm_map *b)
{
    if (a->rank != b->rank || a->workers != b->workers || a->tasks_per_worker != b->tasks_per_worker)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->shape[d] != b->shape[d])
            return false;
    return true;
}

// The index of the first digit from [i] on that counts, or digit_count.
static int next_above_one(const tm_map *m, int i)
{
    while (i < m->digit_count && m->digits[i].extent == 1)
        i++;
    return i;
}

bool tm_equal(const tm_map *a, const tm_map *b)
{
    if (!same_domain(a, b))
        return false;
    int i = next_above_one(a, 0), j = next_above_one(b, 0);
    while (i < a->digit_count && j < b->digit_count) {
        const tm_digit *g = &a->digits[i], *h = &b->digits[j];
        if (g->kind != h->kind || g->dim != h->dim || g->extent != h->extent || g->stride != h->stride)
            return false;
        i = next_above_one(a, i + 1);
        j = next_above_one(b, j + 1);
    }
    return i == a->digit_count && j == b->digit_count;
}

// The digits of one kind, neighbours that count on in the same dimension joined: then equal lists are equal functions,
// since the first number at which a sum of digits stops being linear tells where its last digit ends.
static int joined(const tm_map *m, tm_kind kind, tm_digit *out)
{
    int count = 0;
    for (int i = 0; i < m->digit_count; i++) {
        tm_digit g = m->digits[i];
        if (g.kind != kind || g.extent == 1)
            continue;
        tm_digit *before = count ? &out[count - 1] : NULL;
        if (before && before->dim == g.dim && before->stride == g.stride * g.extent) {
            before->extent *= g.extent;
            before->stride = g.stride;
        } else {
            out[count++] = g;
        }
    }
    return count;
}

static bool same_numbers(const tm_map *a, const tm_map *b, tm_kind kind)
{
    tm_digit left[TM_MAX_DIGITS], right[TM_MAX_DIGITS];
    int count = joined(a, kind, left);
    if (joined(b, kind, right) != count)
        return false;
    for (int i = 0; i < count; i++)
        if (left[i].dim != right[i].dim || left[i].extent != right[i].extent || left[i].stride != right[i].stride)
            return false;
    return true;
}

bool tm_same_tasks(const tm_map *a, const tm_map *b)
{
    return same_domain(a, b) && same_numbers(a, b, TM_SPATIAL) && same_numbers(a, b, TM_REPEAT);
}

// One round of the 64-bit finaliser of MurmurHash3 over a running state.
uint64_t tm_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0xff51afd7ed558ccdULL;
    hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return hash ^ (hash >> 33);
}

uint64_t tm_hash(const tm_map *m)
{
    uint64_t hash = tm_mix(0x7461736b6d617073ULL, (uint64_t)m->rank);
    for (int d = 0; d < m->rank; d++)
        hash = tm_mix(hash, (uint64_t)m->shape[d]);
    for (int i = next_above_one(m, 0); i < m->digit_count; i = next_above_one(m, i + 1)) {
        const tm_digit *g = &m->digits[i];
        hash = tm_mix(hash, (uint64_t)g->kind * 64 + (uint64_t)(g->dim + 1));
        hash = tm_mix(hash, (uint64_t)g->extent);
    }
    return hash;
}

bool tm_next_index(int rank, const int64_t *shape, int64_t *index)
{
    for (int d = rank - 1; d >= 0; d--) {
        if (++index[d] < shape[d])
            return true;
        index[d] = 0;
    }
    return false;
}
