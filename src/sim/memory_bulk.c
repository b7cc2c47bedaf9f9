// What the copy engine may still read of shared memory, and what it does not see yet (bulk.h).
//
// Time is a number that fences and barriers of the block move on. A word of shared memory keeps when and by whom it was
// written last; a thread keeps when it fenced, and up to when it knew the writes of others then.
#include "sim/bulk.h"

#include "sim/memory_priv.h"

typedef struct stamp {
    uint32_t time; // 0: nobody has written
    uint32_t site;
    int32_t thread;
} stamp;

typedef struct fence {
    uint32_t own, others; // writes up to here are fenced: the thread's own, those of others
} fence;

typedef struct loan {
    uint64_t begin, end; // offsets; equal: it has ended
    uint32_t site;
} loan;

struct sim_bulk {
    uint32_t time, barrier; // now; of the last barrier of the block
    stamp *words;
    uint64_t word_count;
    fence *fences; // by thread
    VEC(loan) loans; // those that have ended make room for others
    size_t open;     // that have not ended
};

enum { WORD_SHIFT = 2 };

void sim_bulk_start(sim_block *b)
{
    struct sim_bulk *k = b->order->bulk = ARENA_NEW(b->arena, struct sim_bulk);
    k->time = 1;
    k->word_count = (uint64_t)(b->shared_bytes + 3) >> WORD_SHIFT;
    k->words = ARENA_ARRAY(b->arena, stamp, k->word_count + 1);
    k->fences = ARENA_ARRAY(b->arena, fence, sim_threads_of(b));
}

// ---- tiles that are read -------------------------------------------------------------------------------------------

uint32_t sim_bulk_lend(sim_warp *w, uint32_t site, uint64_t address, int64_t bytes)
{
    struct sim_bulk *k = w->block->order->bulk;
    if (!k)
        return 0;
    uint64_t begin = address & SIM_OFFSET_MASK;
    size_t place = 0;
    while (place < k->loans.len && k->loans.at[place].begin != k->loans.at[place].end)
        place++;
    if (place == k->loans.len)
        VEC_PUSH(w->block->arena, &k->loans, (loan){0});
    k->loans.at[place] = (loan){begin, begin + (uint64_t)bytes, site};
    k->open++;
    return (uint32_t)place + 1;
}

void sim_bulk_take_back(sim_block *b, uint32_t number)
{
    struct sim_bulk *k = b->order->bulk;
    if (!k || !number)
        return;
    k->loans.at[number - 1].end = k->loans.at[number - 1].begin;
    k->open--;
}

static void check_loans(sim_touch *t, const struct sim_bulk *k, uint32_t lane)
{
    uint64_t begin = t->offset[lane], end = begin + (uint64_t)t->bytes;
    for (size_t i = 0; i < k->loans.len; i++) {
        if (begin < k->loans.at[i].end && k->loans.at[i].begin < end) {
            sim_report_pending(t, lane, k->loans.at[i].site);
            return;
        }
    }
}

// ---- who wrote, and who fenced -------------------------------------------------------------------------------------

void sim_bulk_note_write(sim_touch *t)
{
    struct sim_bulk *k = t->w->block->order->bulk;
    SIM_EACH(lane, t->lanes) {
        if (k->open)
            check_loans(t, k, lane);
        uint64_t last = (t->offset[lane] + (uint64_t)t->bytes - 1) >> WORD_SHIFT;
        for (uint64_t i = t->offset[lane] >> WORD_SHIFT; i <= last && i < k->word_count; i++)
            k->words[i] = (stamp){k->time, t->site, sim_thread(t->w, lane)};
    }
}

void sim_bulk_written(sim_block *b, uint64_t address, int bytes)
{
    struct sim_bulk *k = b->order->bulk;
    uint64_t offset = address & SIM_OFFSET_MASK, last = (offset + (uint64_t)bytes - 1) >> WORD_SHIFT;
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
    if (!s->time || s->time <= k->fences[s->thread].own || s->time <= k->fences[thread].others)
        return true;
    return s->thread / SIM_LANES == thread / SIM_LANES && s->time <= k->fences[thread].own;
}

void sim_bulk_check_fences(sim_warp *w, uint32_t site, uint32_t lane, uint64_t address, int bytes)
{
    const struct sim_bulk *k = w->block->order->bulk;
    uint64_t offset = address & SIM_OFFSET_MASK, last = (offset + (uint64_t)bytes - 1) >> WORD_SHIFT;
    for (uint64_t i = offset >> WORD_SHIFT; k && i <= last && i < k->word_count; i++) {
        const stamp *s = &k->words[i];
        if (is_fenced(k, s, sim_thread(w, lane)))
            continue;
        sim_report_unfenced(w, site, lane, i << WORD_SHIFT, s->site, s->thread);
        return;
    }
}
