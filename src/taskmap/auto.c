// Mappings found for a shape and a number of workers: repeat(…) * spatial(…).

#include "base/checked.h"
#include "taskmap/taskmap_priv.h"

static const tm_map *repeat_of_spatial(arena *a, int rank, const int64_t *shape, const int64_t *inner, const int *ranks,
                                       tm_reason *why)
{
    int64_t outer[TM_MAX_RANK];
    for (int d = 0; d < rank; d++)
        outer[d] = shape[d] / inner[d];
    const tm_map *rounds = tm_repeat(a, rank, outer, ranks, NULL, why);
    const tm_map *workers = tm_spatial(a, rank, inner, ranks, why);
    return rounds && workers ? tm_compose(a, rounds, workers, why) : NULL;
}

static bool check(int rank, const int64_t *shape, int64_t workers, const int *ranks, tm_reason *why)
{
    if (!tm_shape_check(rank, shape, why) || (ranks && !tm_perm_check(rank, ranks, why)))
        return false;
    return workers >= 1 || tm_fail(why, TM_BAD_EXTENT);
}

// dims[0] is the fastest dimension.
static void fastest_first(int rank, const int *ranks, int *dims)
{
    for (int d = 0; d < rank; d++)
        dims[rank - 1 - (ranks ? ranks[d] : d)] = d;
}

const tm_map *tm_auto(arena *a, int rank, const int64_t *shape, int64_t workers, const int *ranks, tm_reason *why)
{
    if (!check(rank, shape, workers, ranks, why))
        return NULL;
    int dims[TM_MAX_RANK];
    fastest_first(rank, ranks, dims);
    int64_t remain = workers, inner[TM_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        inner[dims[i]] = gcd_of(remain, shape[dims[i]]);
        remain /= inner[dims[i]];
    }
    // Nothing remains exactly when the workers divide the tasks: W | d·R implies W / gcd(W, d) | R.
    if (remain != 1) {
        tm_fail(why, TM_NOT_DIVISIBLE);
        return NULL;
    }
    return repeat_of_spatial(a, rank, shape, inner, ranks, why);
}

const tm_map *tm_auto_predicated(arena *a, int rank, const int64_t *shape, int64_t workers, const int *ranks,
                                 tm_reason *why)
{
    if (!check(rank, shape, workers, ranks, why))
        return NULL;
    int dims[TM_MAX_RANK];
    fastest_first(rank, ranks, dims);
    int64_t remain = workers, inner[TM_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        int64_t extent = shape[dims[i]];
        bool fits = remain >= extent;
        inner[dims[i]] = fits ? extent : gcd_of(remain, extent);
        remain = fits ? remain / extent : 1;
    }
    return repeat_of_spatial(a, rank, shape, inner, ranks, why);
}
