// Parts and views of a mapping: dimensions dropped, fixed and reordered; tiles; the workers that share a result.

#include <string.h>

#include "taskmap/taskmap_priv.h"

const tm_map *tm_without(arena *a, const tm_map *m, int dim, tm_reason *why)
{
    if (!is_in(dim, m->rank)) {
        tm_fail(why, TM_BAD_DIM);
        return NULL;
    }
    tm_map *result = tm_new(a, m->rank - 1, m->digit_count);
    int count = 0;
    for (int i = 0; i < m->digit_count; i++) {
        tm_digit g = m->digits[i];
        if (g.dim == dim && g.kind == TM_REPEAT)
            continue;
        if (g.dim == dim)
            g.dim = -1;
        else if (g.dim > dim)
            g.dim--;
        result->digits[count++] = g;
    }
    result->digit_count = count;
    return tm_finish(result, why);
}

static tm_map *copy(arena *a, const tm_map *m)
{
    tm_map *result = tm_new(a, m->rank, m->digit_count);
    if (m->digit_count)
        memcpy(result->digits, m->digits, sizeof(tm_digit) * (size_t)m->digit_count);
    return result;
}

const tm_map *tm_project(arena *a, const tm_map *m, int dim, tm_reason *why)
{
    if (!is_in(dim, m->rank)) {
        tm_fail(why, TM_BAD_DIM);
        return NULL;
    }
    tm_map *result = copy(a, m);
    for (int i = 0; i < m->digit_count; i++)
        if (m->digits[i].dim == dim)
            result->digits[i].dim = -1;
    return tm_finish(result, why);
}

const tm_map *tm_permute(arena *a, const tm_map *m, const int *perm, tm_reason *why)
{
    if (!tm_perm_check(m->rank, perm, why))
        return NULL;
    int position[TM_MAX_RANK];
    for (int d = 0; d < m->rank; d++)
        position[perm[d]] = d;
    tm_map *result = copy(a, m);
    for (int i = 0; i < m->digit_count; i++)
        if (m->digits[i].dim >= 0)
            result->digits[i].dim = position[m->digits[i].dim];
    return tm_finish(result, why);
}

static bool same_shape(int rank, const int64_t *a, const int64_t *b)
{
    for (int d = 0; d < rank; d++)
        if (a[d] != b[d])
            return false;
    return true;
}

// Takes digits from the inside until they cover [tile_shape]; *[first] is then the outermost that is needed. Gives how much
// of its extent is, or 0 if no digits cover that shape.
static int64_t take_digits(const tm_map *m, const int64_t *tile_shape, int *first)
{
    int64_t reached[TM_MAX_RANK], taken = 1;
    for (int d = 0; d < m->rank; d++)
        reached[d] = 1;
    *first = m->digit_count;
    while (!same_shape(m->rank, reached, tile_shape)) {
        if (*first == 0)
            return 0;
        const tm_digit *g = &m->digits[--*first];
        taken = g->extent;
        if (g->dim < 0)
            continue;
        int64_t missing = tile_shape[g->dim] / reached[g->dim];
        if (missing < taken) {
            if (g->kind != TM_REPEAT || missing < 1 || taken % missing || reached[g->dim] * missing != tile_shape[g->dim])
                return 0;
            taken = missing;
        }
        reached[g->dim] *= taken;
        if (taken < g->extent && !same_shape(m->rank, reached, tile_shape))
            return 0;
    }
    return taken;
}

const tm_map *tm_inner_tile(arena *a, const tm_map *m, const int64_t *tile_shape, int *outer_digits, tm_reason *why)
{
    int first;
    int64_t taken = take_digits(m, tile_shape, &first);
    if (!taken) {
        tm_fail(why, TM_NOT_A_TILE);
        return NULL;
    }
    int count = m->digit_count - first;
    tm_map *tile = tm_new(a, m->rank, count);
    if (count) {
        memcpy(tile->digits, m->digits + first, sizeof(tm_digit) * (size_t)count);
        tile->digits[0].extent = taken;
    }
    *outer_digits = first;
    return tm_finish(tile, why);
}

int tm_shared_steps(const tm_map *m, int dim, tm_step *steps)
{
    int count = 0;
    int64_t stride = m->workers;
    for (int i = 0; i < m->digit_count; i++) {
        const tm_digit *g = &m->digits[i];
        if (g->kind != TM_SPATIAL)
            continue;
        stride /= g->extent;
        if (g->dim == dim && g->extent > 1)
            steps[count++] = (tm_step){.stride = stride, .extent = g->extent};
    }
    return count;
}
