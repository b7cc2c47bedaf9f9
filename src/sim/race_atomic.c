// Synchronisation through memory: knowledge that atomic writes release at an address, for threads that read it. A
// memory location stores knowledge for threads of the same block and for other blocks separately, so that an access
// with block scope releases nothing to other blocks.
#include "sim/memory_priv.h"

// ---- through atomics -----------------------------------------------------------------------------------------------

static sim_location *location_of(sim_block *b, uint64_t address, bool make)
{
    map *locations = &b->order->locations;
    sim_location *l = locations->len ? map_get(locations, &address, sizeof address) : NULL;
    if (l || !make)
        return l;
    l = ARENA_NEW(b->arena, sim_location);
    l->known = sim_knowledge_new(b);
    map_put(locations, &address, sizeof address, l);
    return l;
}

typedef struct remote_location {
    sim_remote *known;
} remote_location;

static remote_location *remote_location_of(sim_memory *m, uint64_t address, bool make)
{
    remote_location *l = m->locations.len ? map_get(&m->locations, &address, sizeof address) : NULL;
    if (l || !make)
        return l;
    l = ARENA_NEW(&m->remote_arena, remote_location);
    map_put(&m->locations, &address, sizeof address, l);
    __atomic_store_n(&m->has_locations, true, __ATOMIC_RELAXED);
    return l;
}

static void take_from_block(sim_warp *w, uint32_t lane, uint64_t address, bool acquires)
{
    sim_location *l = location_of(w->block, address, false);
    if (!l)
        return;
    sim_lanes *more = sim_order_more(w);
    w->block->order->is_plain = false;
    if (!acquires) {
        sim_knowledge_add(w->block, &more->unfenced[lane], l->known);
        more->waiting |= (uint32_t)1 << lane;
    } else if (more->seen[lane] != l || more->seen_version[lane] != l->version) {
        sim_knowledge_add(w->block, &more->own[lane], l->known);
        more->fresh |= (uint32_t)1 << lane;
        more->seen[lane] = l;
        more->seen_version[lane] = l->version;
    }
}

static void take_from_blocks(sim_warp *w, uint32_t lane, uint64_t address, bool acquires)
{
    sim_memory *m = sim_device_of(w)->memory;
    if (!__atomic_load_n(&m->has_locations, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&m->lock);
    const remote_location *l = remote_location_of(m, address, false);
    if (l) {
        sim_lanes *more = sim_order_more(w);
        w->block->order->is_plain = false;
        if (acquires && !more->own[lane])
            more->own[lane] = sim_knowledge_new(w->block);
        sim_remote_add(m, acquires ? &more->own[lane]->remote : &more->unfenced_remote[lane], l->known);
        more->fresh |= acquires ? (uint32_t)1 << lane : 0;
        more->waiting |= acquires ? 0 : (uint32_t)1 << lane;
    }
    pthread_mutex_unlock(&m->lock);
}

static void give_to_block(sim_warp *w, uint32_t lane, uint64_t address, uint32_t self)
{
    const sim_lanes *more = w->clock->more;
    sim_location *l = location_of(w->block, address, true);
    sim_knowledge_of_warp(w, l->known->serial);
    sim_knowledge_of_lane(w, lane, self, l->known->serial);
    if (more && more->all)
        sim_knowledge_add_remote(w->block, &l->known->remote, more->all->remote);
    if (more && more->own[lane])
        sim_knowledge_add_remote(w->block, &l->known->remote, more->own[lane]->remote);
    l->version++;
}

static void give_to_blocks(sim_warp *w, uint32_t lane, uint64_t address, uint32_t self)
{
    sim_block *b = w->block;
    struct sim_order *o = b->order;
    sim_memory *m = sim_device_of(w)->memory;
    const sim_lanes *more = w->clock->more;
    arena_mark mark = arena_mark_get(b->arena);
    int threads = sim_threads_of(b), count = 0;
    uint32_t *serial = ARENA_ARRAY(b->arena, uint32_t, threads);
    sim_known_thread *known = ARENA_ARRAY(b->arena, sim_known_thread, threads);
    sim_knowledge_of_warp(w, serial);
    sim_knowledge_of_lane(w, lane, self, serial);
    for (int i = 0; i < threads; i++) {
        if (serial[i] > o->base)
            known[count++] = (sim_known_thread){(uint32_t)i, serial[i]};
    }
    pthread_mutex_lock(&m->lock);
    remote_location *l = remote_location_of(m, address, true);
    sim_remote *here = sim_remote_of(m, b->index, o->base, known, count);
    sim_remote_add(m, &l->known, here);
    sim_remote_drop(m, here);
    sim_remote_add(m, &l->known, o->remote);
    if (more && more->all)
        sim_remote_add(m, &l->known, more->all->remote);
    if (more && more->own[lane])
        sim_remote_add(m, &l->known, more->own[lane]->remote);
    pthread_mutex_unlock(&m->lock);
    arena_reset(b->arena, mark);
}

static bool reaches_blocks(const sim_warp *w, uint64_t address, sim_reach reach)
{
    bool is_global = (address & SIM_TAG_MASK) == SIM_TAG_GLOBAL;
    return reach >= SIM_CLUSTER && (is_global || sim_cluster_count(w->block) > 1);
}

// The same number for an address in shared memory in all blocks: with the number of its block above the offset.
static uint64_t name_of(sim_warp *w, uint64_t address)
{
    enum { NAME_SHIFT = 20 };
    const sim_block *owner = (address & SIM_TAG_MASK) == SIM_TAG_SHARED ? sim_block_of(w->block, address) : NULL;
    return owner ? SIM_TAG_SHARED | (uint64_t)owner->index << NAME_SHIFT | (address & SIM_SHARED_MASK) : address;
}

void sim_order_take(sim_warp *w, uint32_t lane, uint64_t address, sim_sem sem, sim_reach reach)
{
    bool acquires = sem == SIM_ACQUIRE || sem == SIM_ACQ_REL;
    if (!w->block->order->tracks)
        return;
    address = name_of(w, address);
    take_from_block(w, lane, address, acquires);
    if (reaches_blocks(w, address, reach))
        take_from_blocks(w, lane, address, acquires);
}

// What a relaxed write of the lane releases: what it did before its fence, and if nothing came in between, the write
// itself, so that the last thread that increments a counter may reset it.
static uint32_t fenced(const sim_warp *w, uint32_t lane, bool between_blocks)
{
    const struct sim_clock *c = w->clock;
    uint32_t fence = c->more ? c->more->fence[between_blocks][lane] : 0, between = 0;
    for (int i = 0; fence && i < SIM_MEMOS; i++)
        between += c->memos[i].local > fence && (c->memos[i].lanes >> lane & 1);
    return fence && between <= 1 ? w->block->order->serial : fence;
}

void sim_order_give(sim_warp *w, uint32_t lane, uint64_t address, sim_sem sem, sim_reach reach)
{
    struct sim_order *o = w->block->order;
    bool releases = sem == SIM_RELEASE || sem == SIM_ACQ_REL;
    if (!o->tracks)
        return;
    uint32_t in_block = releases ? o->serial : fenced(w, lane, false);
    uint32_t in_blocks = releases ? o->serial : fenced(w, lane, true);
    address = name_of(w, address);
    if (in_block)
        give_to_block(w, lane, address, in_block);
    if (in_blocks && reaches_blocks(w, address, reach))
        give_to_blocks(w, lane, address, in_blocks);
    if (releases || in_block == o->serial)
        w->clock->epoch = o->serial;
    if (in_block)
        o->is_plain = false;
}
