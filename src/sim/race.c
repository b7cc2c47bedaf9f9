// The happens-before order: serials of accesses, and what each thread knows of the others.
//
// Serials of a block only grow. A thread that passes on its knowledge records the current serial, and later accesses of
// its warp get new serials; so an entry of a vector clock is "knows the thread up to serial s". A block-wide barrier
// advances the base that all threads know; a warp barrier advances the base of the warp. Only other synchronisation
// (barriers of some lanes, named barriers, mbarriers, atomics) needs tables, created on demand: sim_lanes.
//
// Threads of a warp are not ordered by lockstep: since Volta they are scheduled independently (CUDA C++ Programming
// Guide, "Independent Thread Scheduling").
//
// Other orders follow PTX ISA 8 "memory consistency model", but are more lenient in two cases: a relaxed write after a
// fence releases what the thread did before the fence, and what it learned of others up to the write; and a barrier of
// the block counts as the fence after a relaxed read, as in the reduction of the CUDA samples ("threadFenceReduction").
#include "sim/memory_priv.h"

// ---- barriers ------------------------------------------------------------------------------------------------------

static void add_both(sim_memory *m, sim_remote **remote, sim_remote **done, const sim_knowledge *from)
{
    sim_remote_add(m, remote, from->remote);
    sim_remote_add(m, done, from->done);
}

// All threads now know what any of them knew of other blocks.
static void share_remote(sim_block *b)
{
    struct sim_order *o = b->order;
    sim_memory *m = b->launch->device->memory;
    pthread_mutex_lock(&m->lock);
    for (int i = 0; i < b->warp_count; i++) {
        sim_lanes *more = b->warps[i].clock->more;
        if (!more)
            continue;
        if (more->all)
            add_both(m, &o->remote, &o->done, more->all);
        for (int lane = 0; lane < SIM_LANES; lane++) {
            if (more->own[lane])
                add_both(m, &o->remote, &o->done, more->own[lane]);
            sim_remote_add(m, &o->remote, more->unfenced_remote[lane]);
        }
        sim_order_drop_lanes(m, more);
        more->waiting = more->fresh = 0;
    }
    pthread_mutex_unlock(&m->lock);
    o->is_plain = !o->remote && !o->done;
}

// Notes of shared memory are kept while other blocks of the cluster may need them.
static void forget_notes(sim_block *b)
{
    struct sim_order *o = b->order;
    o->known = o->met = o->log_start = o->serial;
    o->log_count = 0;
    if (b->shadow)
        sim_shadow_settle(b->shadow, o->serial - o->origin);
}

void sim_order_block_barrier(sim_block *b)
{
    struct sim_order *o = b->order;
    o->base = o->serial;
    if (sim_cluster_count(b) == 1)
        forget_notes(b);
    else if (!o->guests.len)
        o->known = o->serial;
    o->own_begin = o->run_begin;
    o->own_end = o->chunk_next;
    if (!o->is_plain)
        share_remote(b);
}

// ---- clusters ------------------------------------------------------------------------------------------------------

void sim_order_cluster_barrier(sim_cluster *c)
{
    sim_memory *m = c->launch->device->memory;
    sim_remote *all = NULL, *done = NULL;
    if (!c->blocks[0]->order->tracks)
        return;
    if (c->count == 1) {
        sim_order_block_barrier(c->blocks[0]);
        return;
    }
    for (int i = 0; i < c->count; i++) {
        struct sim_order *o = c->blocks[i]->order;
        o->guests.len = 0;
        sim_order_block_barrier(c->blocks[i]);
        forget_notes(c->blocks[i]);
        pthread_mutex_lock(&m->lock);
        sim_remote *here = sim_remote_of(m, c->blocks[i]->index, o->serial, NULL, 0);
        sim_remote_add(m, &all, here);
        sim_remote_drop(m, here);
        sim_remote_add(m, &all, o->remote);
        sim_remote_add(m, &done, o->done);
        pthread_mutex_unlock(&m->lock);
    }
    pthread_mutex_lock(&m->lock);
    for (int i = 0; i < c->count; i++) {
        sim_remote_add(m, &c->blocks[i]->order->remote, all);
        sim_remote_add(m, &c->blocks[i]->order->done, done);
        c->blocks[i]->order->is_plain = false;
    }
    sim_remote_drop(m, all);
    sim_remote_drop(m, done);
    pthread_mutex_unlock(&m->lock);
}

sim_lanes *sim_order_more(sim_warp *w)
{
    if (!w->clock->more)
        w->clock->more = ARENA_NEW(w->block->arena, sim_lanes);
    return w->clock->more;
}

sim_knowledge *sim_knowledge_new(sim_block *b)
{
    sim_knowledge *k = arena_alloc(b->arena, sizeof *k + sizeof(uint32_t) * (size_t)sim_threads_of(b));
    k->next = b->order->holders;
    b->order->holders = k;
    return k;
}

static void raise(uint32_t *to, const uint32_t *from, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = to[i] > from[i] ? to[i] : from[i];
}

void sim_knowledge_add_remote(sim_block *b, sim_remote **into, sim_remote *from)
{
    sim_memory *m = b->launch->device->memory;
    if (!from)
        return;
    pthread_mutex_lock(&m->lock);
    sim_remote_add(m, into, from);
    pthread_mutex_unlock(&m->lock);
}

void sim_knowledge_add(sim_block *b, sim_knowledge **into, const sim_knowledge *from)
{
    if (!*into)
        *into = sim_knowledge_new(b);
    raise((*into)->serial, from->serial, sim_threads_of(b));
    sim_knowledge_add_remote(b, &(*into)->remote, from->remote);
    sim_knowledge_add_remote(b, &(*into)->done, from->done);
}

// A barrier of lanes: each of them now knows what any of them knew.
static void meet_all(sim_warp *w)
{
    sim_lanes *more = w->clock->more;
    w->clock->base = w->block->order->serial;
    if (!more || !more->fresh)
        return;
    SIM_EACH(lane, more->fresh)
        sim_knowledge_add(w->block, &more->all, more->own[lane]);
    more->fresh = 0;
}

static void meet_some(sim_warp *w, uint32_t lanes)
{
    sim_lanes *more = sim_order_more(w);
    uint32_t known[SIM_LANES] = {0}, serial = w->block->order->serial;
    if (!more->lanes)
        more->lanes = arena_alloc(w->block->arena, SIM_LANES * sizeof *more->lanes);
    SIM_EACH(lane, lanes)
        raise(known, more->lanes[lane], SIM_LANES);
    SIM_EACH(lane, lanes)
        known[lane] = serial;
    SIM_EACH(lane, lanes)
        memcpy(more->lanes[lane], known, sizeof known);
    if (!(more->fresh & lanes))
        return;
    sim_knowledge *joined = sim_knowledge_new(w->block);
    SIM_EACH(lane, more->fresh & lanes)
        sim_knowledge_add(w->block, &joined, more->own[lane]);
    SIM_EACH(lane, lanes)
        sim_knowledge_add(w->block, &more->own[lane], joined);
    more->fresh |= lanes;
}

void sim_order_warp_barrier(sim_warp *w, uint32_t lanes)
{
    if (!w->block->order->tracks)
        return;
    w->clock->epoch = w->block->order->serial;
    if ((lanes & sim_live(w)) == sim_live(w))
        meet_all(w);
    else
        meet_some(w, lanes);
}

// ---- handing over --------------------------------------------------------------------------------------------------

// What all lanes of the warp know.
void sim_knowledge_of_warp(const sim_warp *w, uint32_t *serial)
{
    const struct sim_clock *c = w->clock;
    if (c->more && c->more->all)
        raise(serial, c->more->all->serial, sim_threads_of(w->block));
    uint32_t *own = serial + w->index * SIM_LANES;
    for (int i = 0; i < SIM_LANES; i++)
        own[i] = own[i] > c->base ? own[i] : c->base;
}

// What a lane knows in addition, and its own accesses up to [self].
void sim_knowledge_of_lane(const sim_warp *w, uint32_t lane, uint32_t self, uint32_t *serial)
{
    const sim_lanes *more = w->clock->more;
    uint32_t *own = serial + w->index * SIM_LANES;
    if (more && more->own[lane])
        raise(serial, more->own[lane]->serial, sim_threads_of(w->block));
    if (more && more->lanes)
        raise(own, more->lanes[lane], SIM_LANES);
    own[lane] = own[lane] > self ? own[lane] : self;
}

static void hand_over_remote(sim_block *b, sim_knowledge *to, const sim_knowledge *from)
{
    sim_knowledge_add_remote(b, &to->remote, from->remote);
    sim_knowledge_add_remote(b, &to->done, from->done);
}

void sim_order_release(sim_warp *w, uint32_t lanes, sim_sync *to)
{
    sim_block *b = w->block;
    const sim_lanes *more = w->clock->more;
    uint32_t serial = b->order->serial;
    if (!b->order->tracks)
        return;
    if (!to->known)
        to->known = sim_knowledge_new(b);
    sim_knowledge_of_warp(w, to->known->serial);
    if (more && more->all)
        hand_over_remote(b, to->known, more->all);
    SIM_EACH(lane, lanes) {
        sim_knowledge_of_lane(w, lane, serial, to->known->serial);
        if (more && more->own[lane])
            hand_over_remote(b, to->known, more->own[lane]);
    }
    w->clock->epoch = serial;
    b->order->is_plain = false;
}

void sim_order_acquire(sim_warp *w, uint32_t lanes, const sim_sync *from)
{
    if (!from->known || !w->block->order->tracks)
        return;
    sim_lanes *more = sim_order_more(w);
    w->block->order->is_plain = false;
    if ((lanes & sim_live(w)) == sim_live(w)) {
        sim_knowledge_add(w->block, &more->all, from->known);
        return;
    }
    SIM_EACH(lane, lanes)
        sim_knowledge_add(w->block, &more->own[lane], from->known);
    more->fresh |= lanes;
}

// A fence: what the lane has read by relaxed accesses is acquired.
static void settle_reads(sim_warp *w, uint32_t lane, bool reaches_blocks)
{
    sim_lanes *more = w->clock->more;
    if (more->unfenced[lane])
        sim_knowledge_add(w->block, &more->own[lane], more->unfenced[lane]);
    if (reaches_blocks && more->unfenced_remote[lane]) {
        if (!more->own[lane])
            more->own[lane] = sim_knowledge_new(w->block);
        sim_knowledge_add_remote(w->block, &more->own[lane]->remote, more->unfenced_remote[lane]);
    }
    more->fresh |= (uint32_t)1 << lane;
}

void sim_order_fence(sim_warp *w, uint32_t lanes, sim_reach reach)
{
    if (!w->block->order->tracks)
        return;
    sim_lanes *more = sim_order_more(w);
    uint32_t serial = w->block->order->serial;
    SIM_EACH(lane, lanes) {
        more->fence[0][lane] = serial;
        if (reach >= SIM_CLUSTER)
            more->fence[1][lane] = serial;
    }
    SIM_EACH(lane, more->waiting & lanes)
        settle_reads(w, lane, reach >= SIM_CLUSTER);
    w->clock->epoch = serial;
}

// ---- what a lane knows ---------------------------------------------------------------------------------------------

static bool knows_remotely(const sim_warp *w, uint32_t lane, const sim_party *other, uint32_t thread)
{
    const struct sim_order *o = w->block->order;
    const sim_lanes *more = w->clock->more;
    const sim_knowledge *all = more ? more->all : NULL, *own = more ? more->own[lane] : NULL;
    sim_memory *m = sim_device_of(w)->memory;
    if (o->is_plain)
        return false;
    uint32_t serial = other->note.local;
    const sim_remote *sources[] = {o->remote, all ? all->remote : NULL, own ? own->remote : NULL,
                                   o->done,   all ? all->done : NULL,   own ? own->done : NULL};
    bool knows = false;
    pthread_mutex_lock(&m->lock);
    for (int i = 0; i < (w->clock->is_tma ? 6 : 3) && !knows; i++)
        knows = sim_remote_knows(m, sources[i], other->block, thread, serial);
    pthread_mutex_unlock(&m->lock);
    return knows;
}

bool sim_order_knows(const sim_warp *w, uint32_t lane, const sim_party *other)
{
    const sim_block *b = w->block;
    const sim_lanes *more = w->clock->more;
    int warp = sim_note_warp(&other->note);
    uint32_t serial = other->note.local, thread = (uint32_t)warp * SIM_LANES + other->lane;
    if (other->block == b->index) {
        if (serial <= b->order->base)
            return true;
        if (warp == w->index && (other->lane == lane || serial <= w->clock->base))
            return true;
        if (more && warp == w->index && more->lanes && more->lanes[lane][other->lane] >= serial)
            return true;
        if (more && more->all && more->all->serial[thread] >= serial)
            return true;
        if (more && more->own[lane] && more->own[lane]->serial[thread] >= serial)
            return true;
    }
    return knows_remotely(w, lane, other, thread);
}
