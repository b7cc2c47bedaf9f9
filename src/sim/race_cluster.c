// Order between blocks of a cluster: synchronisation through objects in shared memory of one of them, and what a block
// must know of the others before it ends.
#include "sim/memory_priv.h"

// What the lane of a warp knows of its own block, itself up to [self], as others keep it.
static sim_remote *knowledge_of(sim_warp *w, sim_memory *m, uint32_t lanes, uint32_t self)
{
    sim_block *b = w->block;
    arena_mark mark = arena_mark_get(b->arena);
    int threads = sim_threads_of(b), count = 0;
    uint32_t *serial = ARENA_ARRAY(b->arena, uint32_t, threads);
    sim_known_thread *known = ARENA_ARRAY(b->arena, sim_known_thread, threads);
    sim_knowledge_of_warp(w, serial);
    SIM_EACH(lane, lanes)
        sim_knowledge_of_lane(w, lane, self, serial);
    for (int i = 0; i < threads; i++) {
        if (serial[i] > b->order->base)
            known[count++] = (sim_known_thread){(uint32_t)i, serial[i]};
    }
    sim_remote *here = sim_remote_of(m, b->index, b->order->base, known, count);
    arena_reset(b->arena, mark);
    return here;
}

// [to] learns what the lanes know of all blocks.
static void tell(sim_warp *w, sim_memory *m, uint32_t lanes, uint32_t self, bool done, sim_remote **to)
{
    const struct sim_order *o = w->block->order;
    const sim_lanes *more = w->clock->more;
    sim_remote *here = knowledge_of(w, m, lanes, self);
    sim_remote_add(m, to, here);
    sim_remote_drop(m, here);
    sim_remote_add(m, to, o->remote);
    if (done)
        sim_remote_add(m, to, o->done);
    if (more && more->all) {
        sim_remote_add(m, to, more->all->remote);
        if (done)
            sim_remote_add(m, to, more->all->done);
    }
    SIM_EACH(lane, lanes) {
        if (!more || !more->own[lane])
            continue;
        sim_remote_add(m, to, more->own[lane]->remote);
        if (done)
            sim_remote_add(m, to, more->own[lane]->done);
    }
}

// A relaxed arrival after a fence releases what was done before the fence.
static void tell_fenced(sim_warp *w, sim_memory *m, uint32_t lanes, sim_remote **to)
{
    const sim_lanes *more = w->clock->more;
    SIM_EACH(lane, more ? lanes : 0) {
        if (more->fence[1][lane])
            tell(w, m, (uint32_t)1 << lane, more->fence[1][lane], false, to);
    }
}

void sim_order_release_at(sim_warp *w, uint32_t lanes, sim_sync *to, bool releases)
{
    sim_memory *m = sim_device_of(w)->memory;
    uint32_t serial = w->block->order->serial;
    if (!w->block->order->tracks)
        return;
    pthread_mutex_lock(&m->lock);
    tell(w, m, lanes, serial, true, &to->done);
    if (releases)
        tell(w, m, lanes, serial, false, &to->released);
    else
        tell_fenced(w, m, lanes, &to->released);
    pthread_mutex_unlock(&m->lock);
    w->clock->epoch = serial;
    w->block->order->is_plain = false;
}

static void learn(sim_warp *w, uint32_t lanes, sim_remote *remote, sim_remote *done)
{
    sim_block *b = w->block;
    sim_lanes *more = sim_order_more(w);
    bool is_all = (lanes & sim_live(w)) == sim_live(w);
    SIM_EACH(lane, is_all ? 1 : lanes) {
        sim_knowledge **into = is_all ? &more->all : &more->own[lane];
        if (!*into)
            *into = sim_knowledge_new(b);
        sim_knowledge_add_remote(b, &(*into)->remote, remote);
        sim_knowledge_add_remote(b, &(*into)->done, done);
    }
    more->fresh |= is_all ? 0 : lanes;
    b->order->is_plain = false;
}

void sim_order_acquire_from(sim_warp *w, uint32_t lanes, const sim_sync *from, bool acquires)
{
    if (!w->block->order->tracks)
        return;
    sim_order_acquire(w, lanes, from);
    if (from->released)
        learn(w, lanes, acquires ? from->released : NULL, from->released);
    if (from->done)
        learn(w, lanes, NULL, from->done);
}

void sim_order_deliver(sim_warp *w, uint32_t lane, sim_sync *to, sim_block *home)
{
    sim_memory *m = sim_device_of(w)->memory;
    if (!w->block->order->tracks)
        return;
    if (home == w->block) {
        sim_order_release(w, (uint32_t)1 << lane, to);
        return;
    }
    if (!to->known)
        to->known = sim_knowledge_new(home);
    sim_known_thread self = {(uint32_t)sim_thread(w, lane), w->block->order->serial};
    pthread_mutex_lock(&m->lock);
    sim_remote *here = sim_remote_of(m, w->block->index, 0, &self, 1);
    sim_remote_add(m, &to->known->remote, here);
    sim_remote_drop(m, here);
    pthread_mutex_unlock(&m->lock);
    w->clock->epoch = self.serial;
}

void sim_order_clear(sim_block *home, sim_sync *sync)
{
    sim_memory *m = home->launch->device->memory;
    if (sync->released || sync->done) {
        pthread_mutex_lock(&m->lock);
        sim_remote_drop(m, sync->released);
        sim_remote_drop(m, sync->done);
        pthread_mutex_unlock(&m->lock);
    }
    *sync = (sim_sync){0};
}

// ---- the begin and the end of a block -----------------------------------------------------------------------------

bool sim_order_knows_begin(sim_warp *w, uint32_t lane, const sim_block *b)
{
    sim_party other = {.block = b->index, .note = {.local = 1}};
    bool was_tma = w->clock->is_tma;
    w->clock->is_tma = true;
    bool knows = sim_order_knows(w, lane, &other);
    w->clock->is_tma = was_tma;
    return knows;
}

static bool anybody_knows(sim_block *b, const sim_party *other, bool is_weak)
{
    bool knows = false;
    for (int i = 0; i < b->warp_count && !knows; i++) {
        sim_warp *w = &b->warps[i];
        w->clock->is_tma = !is_weak;
        for (uint32_t lane = 0; lane < SIM_LANES && !knows; lane++)
            knows = sim_order_knows(w, lane, other);
        w->clock->is_tma = false;
    }
    return knows;
}

void sim_order_check_guests(sim_block *b)
{
    const struct sim_order *o = b->order;
    for (size_t i = 0; i < o->guests.len; i++) {
        const sim_guest *g = &o->guests.at[i];
        sim_party other = {.block = b->cluster->blocks[g->rank]->index};
        other.note = (sim_note){.site = g->site, .packed = (uint32_t)g->warp};
        SIM_EACH(lane, g->lanes) {
            other.lane = lane;
            other.note.local = g->local[lane];
            if (!anybody_knows(b, &other, g->is_weak)) {
                sim_report_guest(b, g, lane);
                break;
            }
        }
    }
}
