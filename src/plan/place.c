// Offsets for memory with known lifetimes: several orders, each by first and by best fit, and the best of all. No order is
// best for all shapes of programs: chains with skips, nested ones and transformers each have their own.

#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

typedef enum order { BY_ARRIVAL, BY_DEPARTURE, BY_SIZE, BY_LIFETIME, BY_AREA, BY_BREADTH, ORDER_COUNT } order;

// Large ones first.
typedef struct ranked {
    double key, second;
    int index;
} ranked;

typedef struct placing {
    arena *arena;
    const plan_block *blocks;
    int count;
    int64_t *offsets;
    int *placed;      // by offset
    int placed_count;
} placing;

static bool meet(const plan_block *a, const plan_block *b)
{
    return a->begin < b->end && b->begin < a->end;
}

// What a block takes, so that the next one is aligned.
static int64_t room_of(const plan_block *b)
{
    return (b->bytes + PLAN_PLACE_ALIGNMENT - 1) / PLAN_PLACE_ALIGNMENT * PLAN_PLACE_ALIGNMENT;
}

// ---- orders -----------------------------------------------------------------------------------------------------

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    if (x->second != y->second)
        return x->second > y->second ? -1 : 1;
    return x->index - y->index;
}

// The most bytes at the times where some block begins; only there they grow. [live]: by block, at its begin.
static int64_t measure_live(const plan_block *blocks, int count, bool is_rounded, int64_t *live)
{
    int64_t most = 0;
    for (int i = 0; i < count; i++) {
        live[i] = 0;
        for (int j = 0; j < count; j++) {
            bool is_live = blocks[j].begin <= blocks[i].begin && blocks[i].begin < blocks[j].end;
            live[i] += !is_live ? 0 : is_rounded ? room_of(&blocks[j]) : blocks[j].bytes;
        }
        most = live[i] > most ? live[i] : most;
    }
    return most;
}

// The most bytes that are live while block [i] is.
static int64_t breadth_of(const placing *p, const int64_t *live, int i)
{
    int64_t most = 0;
    for (int j = 0; j < p->count; j++) {
        bool is_within = p->blocks[i].begin <= p->blocks[j].begin && p->blocks[j].begin < p->blocks[i].end;
        most = is_within && live[j] > most ? live[j] : most;
    }
    return most;
}

static double key_of(const placing *p, const int64_t *live, order by, int i)
{
    const plan_block *b = &p->blocks[i];
    switch (by) {
    case BY_ARRIVAL: return -(double)b->begin;
    case BY_DEPARTURE: return (double)b->end;
    case BY_SIZE: return (double)b->bytes;
    case BY_LIFETIME: return (double)(b->end - b->begin);
    case BY_AREA: return (double)b->bytes * (double)(b->end - b->begin);
    case BY_BREADTH: return (double)breadth_of(p, live, i);
    case ORDER_COUNT: break;
    }
    return 0;
}

static void rank(const placing *p, const int64_t *live, order by, ranked *out)
{
    for (int i = 0; i < p->count; i++) {
        bool is_size = by == BY_SIZE;
        double second = is_size ? (double)(p->blocks[i].end - p->blocks[i].begin) : (double)p->blocks[i].bytes;
        out[i] = (ranked){key_of(p, live, by, i), second, i};
    }
    qsort(out, (size_t)p->count, sizeof *out, compare_ranked);
}

// ---- fits -------------------------------------------------------------------------------------------------------

// Between the blocks that are live with this one: the first gap, or the tightest; else behind all.
static int64_t find_gap(const placing *p, const plan_block *b, bool is_best_fit)
{
    int64_t at = 0, best = -1, best_gap = INT64_MAX, room = room_of(b);
    for (int i = 0; i < p->placed_count; i++) {
        const plan_block *other = &p->blocks[p->placed[i]];
        if (!meet(b, other))
            continue;
        int64_t offset = p->offsets[p->placed[i]], gap = offset - at, end = offset + room_of(other);
        if (gap >= room && gap < best_gap) {
            best = at;
            best_gap = gap;
            if (!is_best_fit)
                return best;
        }
        at = end > at ? end : at;
    }
    return best >= 0 ? best : at;
}

static void insert(placing *p, int block)
{
    int at = p->placed_count++;
    for (; at > 0 && p->offsets[p->placed[at - 1]] > p->offsets[block]; at--)
        p->placed[at] = p->placed[at - 1];
    p->placed[at] = block;
}

static int64_t place_in(placing *p, const ranked *ranks, bool is_best_fit)
{
    int64_t peak = 0;
    p->placed_count = 0;
    for (int i = 0; i < p->count; i++) {
        int block = ranks[i].index;
        const plan_block *b = &p->blocks[block];
        p->offsets[block] = 0;
        if (!b->bytes)
            continue;
        p->offsets[block] = find_gap(p, b, is_best_fit);
        insert(p, block);
        int64_t end = p->offsets[block] + room_of(b);
        peak = end > peak ? end : peak;
    }
    return peak;
}

int64_t plan_place(arena *a, plan_block *blocks, int count)
{
    placing p = {.arena = a, .blocks = blocks, .count = count};
    p.offsets = ARENA_ARRAY(a, int64_t, count + 1);
    p.placed = ARENA_ARRAY(a, int, count + 1);
    int64_t *live = ARENA_ARRAY(a, int64_t, count + 1), *best = ARENA_ARRAY(a, int64_t, count + 1);
    ranked *ranks = ARENA_ARRAY(a, ranked, count + 1);
    int64_t bound = measure_live(blocks, count, true, live), least = -1;
    for (int by = 0; by < ORDER_COUNT && least != bound; by++) {
        rank(&p, live, (order)by, ranks);
        for (int fit = 0; fit < 2 && least != bound; fit++) {
            int64_t peak = place_in(&p, ranks, fit);
            if (least >= 0 && peak >= least)
                continue;
            least = peak;
            memcpy(best, p.offsets, (size_t)count * sizeof *best);
        }
    }
    for (int i = 0; i < count; i++)
        blocks[i].offset = best[i];
    return least;
}

int64_t plan_live_bytes(arena *a, const plan_block *blocks, int count)
{
    return measure_live(blocks, count, false, ARENA_ARRAY(a, int64_t, count + 1));
}
