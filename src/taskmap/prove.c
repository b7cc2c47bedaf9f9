// Coverage and disjointness without enumeration.
//
// The strides of a dimension's digits are the running products of the extents further in (tm_finish), so the digits of
// each dimension are a mixed-radix number and every coordinate below the mapping's own extent has exactly one reading.
// Dimensions share no digits. Hence a task inside the mapping's shape is done once for each combination of the digits
// that belong to no dimension, and one outside it never.

#include "taskmap/taskmap_priv.h"

static int64_t copies_of_a_task(const tm_map *m)
{
    int64_t copies = 1;
    for (int i = 0; i < m->digit_count; i++)
        if (m->digits[i].dim < 0)
            copies *= m->digits[i].extent;
    return copies;
}

tm_proof tm_prove(const tm_map *m, const int64_t *shape)
{
    tm_proof proof = {.covers = true, .disjoint = true};
    for (int d = 0; d < m->rank; d++)
        if (shape[d] <= 0)
            return proof;
    for (int d = 0; d < m->rank && proof.covers; d++) {
        if (shape[d] <= m->shape[d])
            continue;
        proof.covers = false;
        proof.missing[d] = m->shape[d];
    }
    // The task at the origin is as good a witness as any.
    proof.disjoint = copies_of_a_task(m) == 1;
    return proof;
}
