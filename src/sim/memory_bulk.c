// Tiles of shared memory that the async proxy may still read (bulk.h).
#include "sim/bulk.h"

#include "sim/memory_priv.h"
#include "sim/proxy.h"

typedef struct range {
    uint32_t first, count; // 16-byte vectors; none: the read has ended
} range;

// A 16-byte vector that TMA or wgmma may still read.
typedef struct vector {
    uint32_t reads, site; // reads under way, and the location of the last one
} vector;

struct sim_bulk {
    struct sim_proxy *proxy;
    VEC(range) ranges; // that are read; entries of ended reads are used again
    vector *vectors;   // of shared memory
    uint64_t vector_count;
    size_t open;       // reads that have not ended
};

enum { VECTOR_SHIFT = 4 };

void sim_bulk_start(sim_block *b)
{
    struct sim_bulk *k = b->order->bulk = ARENA_NEW(b->arena, struct sim_bulk);
    k->proxy = sim_proxy_new(b);
    k->vector_count = (uint64_t)(b->shared_bytes + 15) >> VECTOR_SHIFT;
    k->vectors = ARENA_ARRAY(b->arena, vector, k->vector_count + 1);
}

struct sim_proxy *sim_bulk_proxy(const sim_block *b)
{
    return b->order->bulk ? b->order->bulk->proxy : NULL;
}

// ---- tiles that are read -------------------------------------------------------------------------------------------

static void begin_read(struct sim_bulk *k, uint64_t i, uint32_t site)
{
    if (i < k->vector_count) {
        k->vectors[i].reads++;
        k->vectors[i].site = site;
    }
}

static void end_read(struct sim_bulk *k, uint64_t i)
{
    if (i < k->vector_count)
        k->vectors[i].reads--;
}

void sim_bulk_begin_reads(sim_block *b, uint32_t site, const uint32_t *vectors, int count)
{
    struct sim_bulk *k = b->order->bulk;
    if (!k)
        return;
    for (int i = 0; i < count; i++)
        begin_read(k, vectors[i], site);
    k->open++;
}

void sim_bulk_end_reads(sim_block *b, const uint32_t *vectors, int count)
{
    struct sim_bulk *k = b->order->bulk;
    if (!k)
        return;
    for (int i = 0; i < count; i++)
        end_read(k, vectors[i]);
    k->open--;
}

uint32_t sim_bulk_begin_read(sim_warp *w, uint32_t site, uint64_t address, int64_t bytes)
{
    struct sim_bulk *k = w->block->order->bulk;
    if (!k || bytes <= 0)
        return 0;
    uint64_t offset = address & SIM_SHARED_MASK, last = (offset + (uint64_t)bytes - 1) >> VECTOR_SHIFT;
    size_t number = 0;
    while (number < k->ranges.len && k->ranges.at[number].count)
        number++;
    if (number == k->ranges.len)
        VEC_PUSH(w->block->arena, &k->ranges, (range){0});
    range *r = &k->ranges.at[number];
    r->first = (uint32_t)(offset >> VECTOR_SHIFT);
    r->count = (uint32_t)last - r->first + 1;
    for (uint32_t i = 0; i < r->count; i++)
        begin_read(k, r->first + i, site);
    k->open++;
    return (uint32_t)number + 1;
}

void sim_bulk_end_read(sim_block *b, uint32_t number)
{
    struct sim_bulk *k = b->order->bulk;
    if (!k || !number)
        return;
    range *r = &k->ranges.at[number - 1];
    for (uint32_t i = 0; i < r->count; i++)
        end_read(k, r->first + i);
    r->count = 0;
    k->open--;
}

static void check_write(sim_touch *t, const struct sim_bulk *k, uint32_t lane)
{
    uint64_t last = (t->offset[lane] + (uint64_t)t->bytes - 1) >> VECTOR_SHIFT;
    for (uint64_t i = t->offset[lane] >> VECTOR_SHIFT; i <= last && i < k->vector_count; i++) {
        if (k->vectors[i].reads) {
            sim_report_pending(t, lane, k->vectors[i].site);
            return;
        }
    }
}

// Reports writes of the lanes to shared memory that the async proxy may be reading.
void sim_bulk_check_writes(sim_touch *t)
{
    const struct sim_bulk *k = t->owner->order->bulk;
    SIM_EACH(lane, k->open ? t->lanes : 0)
        check_write(t, k, lane);
}
