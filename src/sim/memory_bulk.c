// What the copy engine and wgmma may still read of shared memory, and what they do not see yet (bulk.h).
//
// Time is a number that fences and barriers of the block move on. A word of shared memory keeps when and by whom it was
// written last; a thread keeps when it fenced, and up to when it knew the writes of others then.
#include "sim/bulk.h"

#include "sim/memory_priv.h"

typedef struct stamp {
    uint32_t time; // 0: nobody has written
    uint32_t site;
    int32_t thread;
    uint32_t guest_time;          // of a thread of another block: in that block's time, and
    const struct sim_bulk *guest; // what that is; NULL: a thread of the block itself
    int64_t block;
} stamp;

typedef struct fence {
    uint32_t own, others; // writes up to here are fenced: the thread's own, those of others
} fence;

typedef struct loan {
    uint32_t first, count; // pieces; none: it has ended
} loan;

// A piece of 16 bytes that a unit may still read.
typedef struct lent {
    uint32_t times, site; // site: of the last loan
} lent;

struct sim_bulk {
    uint32_t time, barrier; // now; of the last barrier of the block
    stamp *words;
    uint64_t word_count;
    fence *fences; // by thread
    VEC(loan) loans;   // of bytes that follow each other; those that have ended make room for others
    lent *pieces;
    uint64_t piece_count;
    size_t open;       // loans that have not ended
};

enum { WORD_SHIFT = 2, PIECE_SHIFT = 4 };

void sim_bulk_start(sim_block *b)
{
    struct sim_bulk *k = b->order->bulk = ARENA_NEW(b->arena, struct sim_bulk);
    k->time = 1;
    k->word_count = (uint64_t)(b->shared_bytes + 3) >> WORD_SHIFT;
    k->words = ARENA_ARRAY(b->arena, stamp, k->word_count + 1);
    k->fences = ARENA_ARRAY(b->arena, fence, sim_threads_of(b));
    k->piece_count = (uint64_t)(b->shared_bytes + 15) >> PIECE_SHIFT;
    k->pieces = ARENA_ARRAY(b->arena, lent, k->piece_count + 1);
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

// ---- who wrote, and who fenced -------------------------------------------------------------------------------------

void sim_bulk_note_write(sim_touch *t)
{
    struct sim_bulk *k = t->owner->order->bulk;
    const struct sim_bulk *mine = t->w->block->order->bulk;
    bool is_guest = t->owner != t->w->block;
    SIM_EACH(lane, t->lanes) {
        if (k->open)
            check_loans(t, k, lane);
        if (t->w->clock->is_engine)
            continue;  // it came through the async proxy itself
        uint64_t last = (t->offset[lane] + (uint64_t)t->bytes - 1) >> WORD_SHIFT;
        for (uint64_t i = t->offset[lane] >> WORD_SHIFT; i <= last && i < k->word_count; i++)
            k->words[i] = (stamp){k->time, t->site, sim_thread(t->w, lane), is_guest ? mine->time : 0,
                                  is_guest ? mine : NULL, t->w->block->index};
    }
}

void sim_bulk_written(sim_block *b, uint64_t address, int bytes)
{
    struct sim_bulk *k = b->order->bulk;
    uint64_t offset = address & SIM_SHARED_MASK, last = (offset + (uint64_t)bytes - 1) >> WORD_SHIFT;
    for (uint64_t i = offset >> WORD_SHIFT; k && i <= last && i < k->word_count; i++)
        k->words[i] = (stamp){0};
}

void sim_bulk_barrier(sim_block *b)
{
    if (b->order->bulk)
        b->order->bulk->barrier = b->order->bulk->time++;
}

// What a thread has learned otherwise than by barriers of the block is taken to be everything.
void sim_bulk_fence(sim_warp *w, uint32_t lanes)
{
    struct sim_bulk *k = w->block->order->bulk;
    if (!k)
        return;
    SIM_EACH(lane, lanes)
        k->fences[sim_thread(w, lane)] = (fence){k->time, w->block->order->is_plain ? k->barrier : k->time};
    k->time++;
}

static bool is_fenced(const struct sim_bulk *k, const stamp *s, int thread)
{
    const fence *writer = s->guest ? &s->guest->fences[s->thread] : &k->fences[s->thread];
    if (!s->time || (s->guest ? s->guest_time : s->time) <= writer->own || s->time <= k->fences[thread].others)
        return true;
    if (s->guest)
        return false;
    return s->thread / SIM_LANES == thread / SIM_LANES && s->time <= k->fences[thread].own;
}

void sim_bulk_check_fences(sim_warp *w, uint32_t site, uint32_t lane, uint64_t address, int bytes, const char *reader)
{
    const struct sim_bulk *k = w->block->order->bulk;
    uint64_t offset = address & SIM_SHARED_MASK, last = (offset + (uint64_t)bytes - 1) >> WORD_SHIFT;
    for (uint64_t i = offset >> WORD_SHIFT; k && i <= last && i < k->word_count; i++) {
        const stamp *s = &k->words[i];
        if (is_fenced(k, s, sim_thread(w, lane)))
            continue;
        sim_report_unfenced(w, site, lane, i << WORD_SHIFT, s->site, s->thread, s->block, reader);
        return;
    }
}
