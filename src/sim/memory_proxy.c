// What the async proxy sees of accesses through the generic proxy (proxy.h). Times are serials of the block whose
// thread accesses or fences, so that what a copy knows of a fence is what race.c says.
#include "sim/proxy.h"

#include "sim/bulk.h"

typedef struct written {
    uint32_t serial, site; // 0: not written
    int32_t thread;
    sim_block *block;
} written;

// Lanes of a warp that have read a word and did not fence since.
typedef struct reads {
    uint32_t serial, lanes, site, load;
} reads;

enum { MOST_FENCES = 256 };

// Fences of a thread that still matter, oldest first, and what it knew at the last.
typedef struct fences {
    uint32_t *at;
    uint32_t count, cap;
    bool has_dropped;     // there were older ones
    const uint32_t *knew; // by thread of the block; NULL: it has not fenced
    uint32_t *own;        // room for that, where lanes of the warp know different things
} fences;

struct sim_proxy {
    written *words;
    reads **by_warp; // of the cluster; NULL: the warp has read nothing
    int warps;
    uint64_t count;  // of words
    fences *fences;  // by thread of the block
    uint32_t **knew; // by warp: what all its lanes knew
};

enum { WORD_SHIFT = 2 };

struct sim_proxy *sim_proxy_new(sim_block *b)
{
    struct sim_proxy *p = ARENA_NEW(b->arena, struct sim_proxy);
    p->count = (uint64_t)(b->shared_bytes + 3) >> WORD_SHIFT;
    p->words = ARENA_ARRAY(b->arena, written, p->count + 1);
    p->warps = sim_cluster_count(b) * b->warp_count;
    p->by_warp = ARENA_ARRAY(b->arena, reads *, p->warps);
    p->fences = ARENA_ARRAY(b->arena, fences, sim_threads_of(b));
    p->knew = ARENA_ARRAY(b->arena, uint32_t *, b->warp_count);
    for (int i = 0; i < b->warp_count; i++)
        b->warps[i].uses = sim_uses_new(b);
    return p;
}

// ---- fences --------------------------------------------------------------------------------------------------------

static void push_fence(sim_block *b, fences *f, uint32_t serial)
{
    uint32_t drop = f->count == MOST_FENCES ? MOST_FENCES / 2 : 0;
    if (f->count > 1 && f->at[f->count - 1] <= b->order->base)
        drop = f->count - 1;
    if (drop) {
        memmove(f->at, f->at + drop, (f->count - drop) * sizeof *f->at);
        f->count -= drop;
        f->has_dropped = true;
    }
    if (f->count == f->cap) {
        uint32_t cap = f->cap ? 2 * f->cap : 4;
        f->at = arena_grow(b->arena, f->at, f->cap * sizeof *f->at, cap * sizeof *f->at);
        f->cap = cap;
    }
    f->at[f->count++] = serial;
}

// What a lane knows of its block; lane SIM_LANES: what all lanes of the warp know.
static void fill_knowledge(sim_warp *w, uint32_t lane, uint32_t *to)
{
    for (int i = 0; i < sim_threads_of(w->block); i++)
        to[i] = w->block->order->base;
    sim_knowledge_of_warp(w, to);
    if (lane < SIM_LANES)
        sim_knowledge_of_lane(w, lane, w->block->order->serial, to);
}

static void remember_knowledge(sim_warp *w, uint32_t lanes)
{
    struct sim_proxy *p = sim_bulk_proxy(w->block);
    const sim_lanes *more = w->clock->more;
    bool is_common = !more || (!more->fresh && !more->lanes);
    int threads = sim_threads_of(w->block);
    if (is_common && !p->knew[w->index])
        p->knew[w->index] = ARENA_ARRAY(w->block->arena, uint32_t, threads);
    if (is_common)
        fill_knowledge(w, SIM_LANES, p->knew[w->index]);
    SIM_EACH(lane, lanes) {
        fences *f = &p->fences[sim_thread(w, lane)];
        if (!is_common && !f->own)
            f->own = ARENA_ARRAY(w->block->arena, uint32_t, threads);
        if (!is_common)
            fill_knowledge(w, lane, f->own);
        f->knew = is_common ? p->knew[w->index] : f->own;
    }
}

void sim_bulk_fence(sim_warp *w, uint32_t lanes)
{
    struct sim_proxy *p = sim_bulk_proxy(w->block);
    if (!p || !lanes)
        return;
    uint32_t serial = sim_order_tick(w->block);
    w->clock->epoch = serial;
    remember_knowledge(w, lanes);
    SIM_EACH(lane, lanes)
        push_fence(w->block, &p->fences[sim_thread(w, lane)], serial);
}

// The first fence of the thread after the serial; 0: none. *[unknown]: there may have been an earlier one.
static uint32_t fence_behind(const sim_block *b, int thread, uint32_t serial, bool *unknown)
{
    const fences *f = &sim_bulk_proxy(b)->fences[thread];
    uint32_t low = 0, high = f->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (f->at[middle] < serial)
            low = middle + 1;
        else
            high = middle;
    }
    *unknown = f->has_dropped && low == 0;
    return low < f->count ? f->at[low] : 0;
}

// Whether the accesses of the thread up to the serial of its block happened before the lane's current access.
static bool knows(const sim_warp *w, uint32_t lane, const sim_block *block, int thread, uint32_t serial)
{
    sim_party other = {.block = block->index, .lane = (uint32_t)thread % SIM_LANES};
    other.note = (sim_note){.local = serial, .packed = (uint32_t)(thread / SIM_LANES)};
    return sim_order_knows(w, lane, &other);
}

// Whether the thread has fenced after the serial, and this fence happened before the lane's current access.
static bool has_fenced(const sim_warp *w, uint32_t lane, const sim_block *block, int thread, uint32_t serial)
{
    bool unknown = false;
    uint32_t fence = fence_behind(block, thread, serial, &unknown);
    return unknown || (fence && knows(w, lane, block, thread, fence));
}

// ---- accesses ------------------------------------------------------------------------------------------------------

static void note_write(struct sim_proxy *p, const sim_touch *t, uint64_t word, uint32_t lane)
{
    sim_block *b = t->w->block;
    p->words[word] = (written){b->order->serial, t->site, sim_thread(t->w, lane), b};
}

static uint32_t without_fenced(const sim_touch *t, uint32_t lanes, uint32_t serial)
{
    const struct sim_proxy *mine = sim_bulk_proxy(t->w->block);
    uint32_t rest = lanes;
    SIM_EACH(lane, lanes) {
        const fences *f = &mine->fences[sim_thread(t->w, lane)];
        if (f->count && f->at[f->count - 1] >= serial)
            rest &= ~((uint32_t)1 << lane);
    }
    return rest;
}

// For lanes that read the word before and have not fenced since, the later read replaces the earlier one.
static void note_read(reads *r, const sim_touch *t, uint32_t lane, uint32_t load)
{
    uint32_t serial = t->w->block->order->serial;
    if (r->lanes && r->load == load) {
        r->lanes |= (uint32_t)1 << lane;
        return;
    }
    uint32_t rest = r->lanes ? without_fenced(t, r->lanes, r->serial) & ~((uint32_t)1 << lane) : 0;
    if (rest && sim_uses_done(t->w, r->load))
        rest = 0;
    *r = (reads){serial, rest | (uint32_t)1 << lane, t->site, load};
}

static reads *reads_of(struct sim_proxy *p, const sim_touch *t)
{
    int k = t->w->block->rank * t->w->block->warp_count + t->w->index;
    if (!p->by_warp[k])
        p->by_warp[k] = ARENA_ARRAY(t->owner->arena, reads, p->count + 1);
    return p->by_warp[k];
}

void sim_proxy_note(sim_touch *t)
{
    struct sim_proxy *p = sim_bulk_proxy(t->owner);
    bool writes = t->kind & SIM_NOTE_WRITE, is_atomic = (t->kind & SIM_NOTE_ATOMIC) && !t->access;
    if (t->is_async || t->w->clock->is_tma || !t->races || (!writes && is_atomic))
        return;
    reads *r = writes ? NULL : reads_of(p, t);
    uint32_t load = writes ? 0 : sim_uses_load(t->w);
    SIM_EACH(lane, t->lanes) {
        uint64_t last = (t->offset[lane] + (uint64_t)t->bytes - 1) >> WORD_SHIFT;
        for (uint64_t i = t->offset[lane] >> WORD_SHIFT; i <= last && i < p->count; i++) {
            if (writes)
                note_write(p, t, i, lane);
            else
                note_read(&r[i], t, lane, load);
        }
    }
}

void sim_bulk_written(sim_block *b, uint64_t address, int bytes)
{
    struct sim_proxy *p = sim_bulk_proxy(b);
    uint64_t offset = address & SIM_SHARED_MASK, last = (offset + (uint64_t)bytes - 1) >> WORD_SHIFT;
    for (uint64_t i = offset >> WORD_SHIFT; p && i <= last && i < p->count; i++)
        p->words[i] = (written){0};
}

// ---- checks --------------------------------------------------------------------------------------------------------

static bool is_fenced(const sim_warp *w, uint32_t lane, const written *s)
{
    if (!s->serial || has_fenced(w, lane, s->block, s->thread, s->serial))
        return true;
    const fences *mine = &sim_bulk_proxy(w->block)->fences[sim_thread(w, lane)];
    return s->block == w->block && mine->knew && mine->knew[s->thread] >= s->serial;
}

void sim_bulk_check_fences(sim_warp *w, uint32_t site, uint32_t lane, uint64_t address, int bytes, const char *reader)
{
    const struct sim_proxy *p = sim_bulk_proxy(w->block);
    uint64_t offset = address & SIM_SHARED_MASK, last = (offset + (uint64_t)bytes - 1) >> WORD_SHIFT;
    for (uint64_t i = offset >> WORD_SHIFT; p && i <= last && i < p->count; i++) {
        const written *s = &p->words[i];
        if (is_fenced(w, lane, s) || !knows(w, lane, s->block, s->thread, s->serial))
            continue;
        sim_report_unfenced(w, site, lane, i << WORD_SHIFT, s->site, s->thread, s->block->index, reader);
        return;
    }
}

// The first lane that may still be reading, of lanes whose read is ordered before the copy; SIM_LANES: none. (Other
// reads are races, which are reported elsewhere.)
static uint32_t still_reading(const sim_warp *w, uint32_t lane, const sim_warp *reader, const reads *r)
{
    uint32_t used = sim_uses_done(reader, r->load);
    SIM_EACH(peer, r->lanes) {
        int thread = sim_thread(reader, peer);
        bool is_done = used && knows(w, lane, reader->block, thread, used);
        if (!is_done && knows(w, lane, reader->block, thread, r->serial) &&
            !has_fenced(w, lane, reader->block, thread, r->serial))
            return peer;
    }
    return SIM_LANES;
}

static bool check_readers(sim_warp *w, uint32_t site, uint32_t lane, sim_block *home, uint64_t word)
{
    struct sim_proxy *p = sim_bulk_proxy(home);
    for (int k = 0; k < p->warps; k++) {
        reads *r = p->by_warp[k] ? &p->by_warp[k][word] : NULL;
        if (!r || !r->lanes)
            continue;
        sim_block *b = home->cluster ? home->cluster->blocks[k / home->warp_count] : home;
        const sim_warp *reader = &b->warps[k % home->warp_count];
        uint32_t peer = still_reading(w, lane, reader, r);
        if (peer < SIM_LANES) {
            sim_report_refilled(w, home, site, lane, word << WORD_SHIFT, r->site, sim_thread(reader, peer), b->index,
                                false);
            return false;
        }
        *r = (reads){0};
    }
    return true;
}

void sim_bulk_check_refill(sim_warp *w, uint32_t site, uint32_t lane, uint64_t address, int bytes)
{
    sim_block *home = sim_block_of(w->block, address);
    const struct sim_proxy *p = home ? sim_bulk_proxy(home) : NULL;
    uint64_t offset = address & SIM_SHARED_MASK, last = (offset + (uint64_t)bytes - 1) >> WORD_SHIFT;
    bool is_good = p != NULL, was_tma = w->clock->is_tma;
    w->clock->is_tma = true;
    for (uint64_t i = offset >> WORD_SHIFT; is_good && i <= last && i < p->count; i++) {
        const written *s = &p->words[i];
        is_good = check_readers(w, site, lane, home, i);
        if (!is_good || is_fenced(w, lane, s) || !knows(w, lane, s->block, s->thread, s->serial))
            continue;
        sim_report_refilled(w, home, site, lane, i << WORD_SHIFT, s->site, s->thread, s->block->index, true);
        is_good = false;
    }
    w->clock->is_tma = was_tma;
}
