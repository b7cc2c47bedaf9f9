// Tiles of shared memory that the async proxy may still read (bulk.h).
#include "sim/bulk.h"

#include "sim/memory_priv.h"
#include "sim/proxy.h"

typedef struct loan {
    uint32_t first, count; // 16-byte vectors; none: it has ended
} loan;

// A 16-byte vector that TMA or wgmma may still read.
typedef struct lent {
    uint32_t times, site; // site: of the last loan
} lent;

struct sim_bulk {
    struct sim_proxy *proxy;
    VEC(loan) loans; // of bytes that follow each other; those that have ended make room for others
    lent *pieces;
    uint64_t piece_count;
    size_t open; // loans that have not ended
};

enum { PIECE_SHIFT = 4 };

void sim_bulk_start(sim_block *b)
{
    struct sim_bulk *k = b->order->bulk = ARENA_NEW(b->arena, struct sim_bulk);
    k->proxy = sim_proxy_new(b);
    k->piece_count = (uint64_t)(b->shared_bytes + 15) >> PIECE_SHIFT;
    k->pieces = ARENA_ARRAY(b->arena, lent, k->piece_count + 1);
}

struct sim_proxy *sim_bulk_proxy(const sim_block *b)
{
    return b->order->bulk ? b->order->bulk->proxy : NULL;
}

// ---- tiles that are read -------------------------------------------------------------------------------------------

static void lend(struct sim_bulk *k, uint64_t piece, uint32_t site)
{
    if (piece < k->piece_count) {
        k->pieces[piece].times++;
        k->pieces[piece].site = site;
    }
}

static void take_back(struct sim_bulk *k, uint64_t piece)
{
    if (piece < k->piece_count)
        k->pieces[piece].times--;
}

void sim_bulk_lend_pieces(sim_block *b, uint32_t site, const uint32_t *pieces, int count)
{
    struct sim_bulk *k = b->order->bulk;
    if (!k)
        return;
    for (int i = 0; i < count; i++)
        lend(k, pieces[i], site);
    k->open++;
}

void sim_bulk_take_back_pieces(sim_block *b, const uint32_t *pieces, int count)
{
    struct sim_bulk *k = b->order->bulk;
    if (!k)
        return;
    for (int i = 0; i < count; i++)
        take_back(k, pieces[i]);
    k->open--;
}

uint32_t sim_bulk_lend(sim_warp *w, uint32_t site, uint64_t address, int64_t bytes)
{
    struct sim_bulk *k = w->block->order->bulk;
    if (!k || bytes <= 0)
        return 0;
    uint64_t offset = address & SIM_SHARED_MASK, last = (offset + (uint64_t)bytes - 1) >> PIECE_SHIFT;
    size_t place = 0;
    while (place < k->loans.len && k->loans.at[place].count)
        place++;
    if (place == k->loans.len)
        VEC_PUSH(w->block->arena, &k->loans, (loan){0});
    loan *l = &k->loans.at[place];
    l->first = (uint32_t)(offset >> PIECE_SHIFT);
    l->count = (uint32_t)last - l->first + 1;
    for (uint32_t i = 0; i < l->count; i++)
        lend(k, l->first + i, site);
    k->open++;
    return (uint32_t)place + 1;
}

void sim_bulk_take_back(sim_block *b, uint32_t number)
{
    struct sim_bulk *k = b->order->bulk;
    if (!k || !number)
        return;
    loan *l = &k->loans.at[number - 1];
    for (uint32_t i = 0; i < l->count; i++)
        take_back(k, l->first + i);
    l->count = 0;
    k->open--;
}

static void check_loans(sim_touch *t, const struct sim_bulk *k, uint32_t lane)
{
    uint64_t last = (t->offset[lane] + (uint64_t)t->bytes - 1) >> PIECE_SHIFT;
    for (uint64_t i = t->offset[lane] >> PIECE_SHIFT; i <= last && i < k->piece_count; i++) {
        if (k->pieces[i].times) {
            sim_report_pending(t, lane, k->pieces[i].site);
            return;
        }
    }
}

// The lanes write to shared memory of a block whose tiles may be lent.
void sim_bulk_check_loans(sim_touch *t)
{
    const struct sim_bulk *k = t->owner->order->bulk;
    SIM_EACH(lane, k->open ? t->lanes : 0)
        check_loans(t, k, lane);
}
