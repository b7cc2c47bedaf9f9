// Mappings as the language reference defines them: for each worker a list of coordinate tuples, built tuple by tuple.
// Nothing here uses the code under test.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "taskmap/layout.h"

typedef struct tuple {
    int64_t at[TM_MAX_RANK];
} tuple;

typedef struct ref_map {
    int rank;
    tuple shape;
    int64_t workers;
    int64_t count; // tasks in each list
    tuple *lists;  // worker · count + position
} ref_map;

static inline int64_t ref_product(int rank, const int64_t *shape)
{
    int64_t product = 1;
    for (int d = 0; d < rank; d++)
        product *= shape[d];
    return product;
}

// The dimension with the largest rank varies fastest: its stride is the product of the extents of all larger ranks.
static inline tuple ref_strides(int rank, const int64_t *shape, const int *ranks)
{
    tuple strides = {{0}};
    for (int d = 0; d < rank; d++) {
        strides.at[d] = 1;
        for (int e = 0; e < rank; e++)
            if (ranks[e] > ranks[d])
                strides.at[d] *= shape[e];
    }
    return strides;
}

static inline ref_map ref_new(arena *a, int rank, const int64_t *shape, int64_t workers, int64_t count)
{
    ref_map m = {.rank = rank, .workers = workers, .count = count};
    for (int d = 0; d < rank; d++)
        m.shape.at[d] = shape[d];
    m.lists = ARENA_ARRAY(a, tuple, workers * count);
    return m;
}

// Task number n in the order of [ranks]: worker n's only task, or the n-th of the only worker.
static inline ref_map ref_ordered(arena *a, bool spatial, int rank, const int64_t *shape, const int *ranks)
{
    int64_t all = ref_product(rank, shape);
    ref_map m = ref_new(a, rank, shape, spatial ? all : 1, spatial ? 1 : all);
    tuple strides = ref_strides(rank, shape, ranks);
    for (int64_t n = 0; n < all; n++)
        for (int d = 0; d < rank; d++)
            m.lists[n].at[d] = n / strides.at[d] % shape[d];
    return m;
}

static inline ref_map ref_compose(arena *a, ref_map o, ref_map i)
{
    tuple shape = o.shape;
    for (int d = 0; d < o.rank; d++)
        shape.at[d] *= i.shape.at[d];
    ref_map m = ref_new(a, o.rank, shape.at, o.workers * i.workers, o.count * i.count);
    tuple *to = m.lists;
    for (int64_t w = 0; w < m.workers; w++)
        for (int64_t p = 0; p < o.count; p++)
            for (int64_t q = 0; q < i.count; q++, to++)
                for (int d = 0; d < m.rank; d++)
                    to->at[d] = o.lists[w / i.workers * o.count + p].at[d] * i.shape.at[d] +
                                i.lists[w % i.workers * i.count + q].at[d];
    return m;
}

static inline ref_map ref_project(arena *a, ref_map m, int dim)
{
    ref_map r = ref_new(a, m.rank, m.shape.at, m.workers, m.count);
    r.shape.at[dim] = 1;
    for (int64_t i = 0; i < m.workers * m.count; i++) {
        r.lists[i] = m.lists[i];
        r.lists[i].at[dim] = 0;
    }
    return r;
}

static inline tuple ref_drop(tuple t, int rank, int dim)
{
    for (int d = dim; d + 1 < rank; d++)
        t.at[d] = t.at[d + 1];
    t.at[rank - 1] = 0;
    return t;
}

// The coordinate is dropped and each list keeps the first of equal tasks.
static inline ref_map ref_without(arena *a, ref_map m, int dim)
{
    ref_map r = ref_new(a, m.rank - 1, ref_drop(m.shape, m.rank, dim).at, m.workers, m.count);
    int64_t total = 0;
    for (int64_t w = 0; w < m.workers; w++) {
        int64_t first = total;
        for (int64_t p = 0; p < m.count; p++) {
            tuple t = ref_drop(m.lists[w * m.count + p], m.rank, dim);
            bool seen = false;
            for (int64_t i = first; i < total; i++)
                seen |= memcmp(&r.lists[i], &t, sizeof t) == 0;
            if (!seen)
                r.lists[total++] = t;
        }
    }
    r.count = total / m.workers;
    return r;
}

static inline ref_map ref_permute(arena *a, ref_map m, const int *perm)
{
    ref_map r = ref_new(a, m.rank, m.shape.at, m.workers, m.count);
    for (int d = 0; d < m.rank; d++) {
        r.shape.at[d] = m.shape.at[perm[d]];
        for (int64_t i = 0; i < m.workers * m.count; i++)
            r.lists[i].at[d] = m.lists[i].at[perm[d]];
    }
    return r;
}

static inline void check_same(const tm_map *m, ref_map r)
{
    assert_non_null(m);
    assert_int_equal(m->rank, r.rank);
    assert_int_equal(m->workers, r.workers);
    assert_int_equal(m->tasks_per_worker, r.count);
    assert_memory_equal(m->shape, r.shape.at, sizeof(int64_t) * (size_t)r.rank);
    for (int64_t w = 0; w < r.workers; w++)
        for (int64_t p = 0; p < r.count; p++) {
            tuple t = {{0}};
            tm_task(m, w, p, t.at);
            if (memcmp(&t, &r.lists[w * r.count + p], sizeof t) != 0)
                fail_msg("worker %lld, position %lld differs", (long long)w, (long long)p);
        }
}

// The owner of every task is where the reference has that task.
static inline void check_owner(const tm_map *m, ref_map r)
{
    int64_t w, p;
    for (int64_t i = 0; i < r.workers * r.count; i++) {
        assert_true(tm_owner(m, r.lists[i].at, &w, &p));
        if (ref_product(r.rank, r.shape.at) == r.workers * r.count)
            assert_int_equal(w * r.count + p, i);
        assert_memory_equal(&r.lists[w * r.count + p], &r.lists[i], sizeof(tuple));
    }
    for (int d = 0; d < r.rank; d++) {
        tuple t = {{0}};
        t.at[d] = r.shape.at[d];
        assert_false(tm_owner(m, t.at, &w, &p));
        t.at[d] = -1;
        assert_false(tm_owner(m, t.at, &w, &p));
    }
}

// ---- a small generator ----------------------------------------------------------------------------------------------

typedef struct random_state {
    uint64_t state;
} random_state;

static inline int64_t random_below(random_state *r, int64_t below)
{
    r->state = r->state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int64_t)((r->state >> 33) % (uint64_t)below);
}

static inline void random_ranks(random_state *r, int rank, int *ranks)
{
    for (int d = 0; d < rank; d++) {
        int64_t other = random_below(r, d + 1);
        ranks[d] = ranks[other];
        ranks[other] = d;
    }
}

typedef struct both {
    const tm_map *m;
    ref_map r;
} both;

static inline both random_map(random_state *r, arena *a, int rank, int most_factors)
{
    both result = {tm_identity(a, rank, NULL), {0}};
    int64_t ones[TM_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    int ranks[TM_MAX_RANK];
    random_ranks(r, rank, ranks);
    result.r = ref_ordered(a, false, rank, ones, ranks);
    int64_t factors = random_below(r, most_factors + 1);
    for (int64_t f = 0; f < factors; f++) {
        int64_t shape[TM_MAX_RANK];
        for (int d = 0; d < rank; d++)
            shape[d] = random_below(r, 2) ? 1 : ((int64_t[]){2, 2, 3, 4})[random_below(r, 4)];
        random_ranks(r, rank, ranks);
        bool spatial = random_below(r, 2);
        const tm_map *m =
            spatial ? tm_spatial(a, rank, shape, ranks, NULL) : tm_repeat(a, rank, shape, ranks, NULL, NULL);
        result.m = tm_compose(a, result.m, m, NULL);
        result.r = ref_compose(a, result.r, ref_ordered(a, spatial, rank, shape, ranks));
    }
    return result;
}

// Every shape of [rank] with extents 1 … most, one after the other; starts from all zeros.
static inline bool next_shape(int rank, int64_t most, int64_t *shape)
{
    if (shape[0] == 0) {
        for (int d = 0; d < rank; d++)
            shape[d] = 1;
        return true;
    }
    for (int d = rank - 1; d >= 0; d--) {
        if (++shape[d] <= most)
            return true;
        shape[d] = 1;
    }
    return false;
}

// Permutation number [n] of 0 … rank-1, n < rank!.
static inline void nth_perm(int rank, int n, int *perm)
{
    bool used[TM_MAX_RANK] = {0};
    int among = 1;
    for (int i = 2; i < rank; i++)
        among *= i;
    for (int d = 0; d < rank; d++) {
        int pick = n / among, v = 0;
        n %= among;
        if (rank - 1 - d > 0)
            among /= rank - 1 - d;
        while (used[v] || pick-- > 0)
            v++;
        used[v] = true;
        perm[d] = v;
    }
}

static inline int factorial(int n)
{
    return n < 2 ? 1 : n * factorial(n - 1);
}
