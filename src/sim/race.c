// Who happened before whom: serials of accesses, and what each thread knows of the others.
//
// Serials of a block only grow. A thread that hands over what it knows names the serial at that moment, and its warp's
// later accesses get new ones; so "knows the thread up to serial s" is all there is to a vector clock. A barrier of the
// whole block moves the base that everybody knows; one of a warp moves the warp's. Only what goes beyond (barriers of some
// lanes, named barriers, mbarriers, atomics) needs tables, which are made then: sim_lanes.
//
// A warp in lockstep is no order: since Volta its threads go their own ways (CUDA C++ Programming Guide, "Independent
// Thread Scheduling").
//
// Other orders follow PTX ISA 8 "memory consistency model", with two liberties on the lenient side: what a thread hands
// over by a relaxed write behind a fence is what it did before the fence, but what it learned of others up to the write;
// and a barrier of the block counts as the fence behind a relaxed read, as in the reduction of the CUDA samples
// ("threadFenceReduction").
#include "sim/memory_priv.h"

#include "sim/pages.h"

static int threads_of(const sim_block *b) { return b->warp_count * SIM_LANES; }

// ---- notes and serials -----------------------------------------------------------------------------------------------

enum { LOG_LIMIT = 1 << 22 };  // notes of a block between two barriers

static void note_put(sim_note *to, const sim_note *n)
{
    __atomic_store_n(&to->site, n->site, __ATOMIC_RELAXED);
    __atomic_store_n(&to->lanes, n->lanes, __ATOMIC_RELAXED);
    __atomic_store_n(&to->local, n->local, __ATOMIC_RELAXED);
    __atomic_store_n(&to->who, n->who, __ATOMIC_RELAXED);
}

static sim_note note_get(const sim_note *n)
{
    return (sim_note){__atomic_load_n(&n->site, __ATOMIC_RELAXED), __atomic_load_n(&n->lanes, __ATOMIC_RELAXED),
                      __atomic_load_n(&n->local, __ATOMIC_RELAXED), __atomic_load_n(&n->who, __ATOMIC_RELAXED)};
}

// The block's notes have become too many, or the serials too large for cells: shared memory forgets its accesses.
static void start_over(sim_block *b)
{
    struct sim_order *o = b->order;
    if (b->shadow)
        sim_shadow_forget(b->shadow);
    o->origin = o->log_start = o->serial;
    o->log_count = 0;
}

static sim_note *log_next(sim_block *b)
{
    struct sim_order *o = b->order;
    if (o->log_count == LOG_LIMIT || o->serial - o->origin >= SIM_LAST_SERIAL)
        start_over(b);
    if (o->log_count == o->log_cap) {
        uint32_t cap = o->log_cap ? 2 * o->log_cap : 64;
        o->log = arena_grow(b->arena, o->log, o->log_cap * sizeof *o->log, cap * sizeof *o->log);
        o->log_cap = cap;
    }
    return &o->log[o->log_count++];
}

// The note of accesses of these lanes at this place since the warp's last synchronisation.
static sim_memo *memo_of(sim_touch *t)
{
    sim_warp *w = t->w;
    struct sim_clock *c = w->clock;
    struct sim_order *o = w->block->order;
    uint32_t kind = t->kind | (uint32_t)t->reach << 8;
    sim_memo *memo = &c->memos[(t->site * 2 + (t->kind & 1)) % SIM_MEMOS];
    bool is_current = memo->local > c->epoch && memo->local > o->log_start;
    if (is_current && memo->site == t->site && memo->lanes == t->lanes && memo->kind == kind)
        return memo;
    if (o->serial == UINT32_MAX)
        return NULL;
    sim_note *note = log_next(w->block);
    uint32_t who = (uint32_t)w->index | t->kind << 16 | (uint32_t)t->reach << 24;
    *note = (sim_note){t->site, t->lanes, ++o->serial, who};
    *memo = (sim_memo){t->site, t->lanes, kind, o->serial, 0};
    return memo;
}

// All allocations forget who accessed them, and serials begin again. The caller holds the lock, and no block but its own
// records.
static void clear_global(sim_memory *m)
{
    for (size_t i = 1; i < m->table.len; i++) {
        if (m->table.at[i].bytes)
            sim_shadow_forget(&m->table.at[i].shadow);
    }
    m->launch_base = 0;
    m->is_exhausted = false;
    __atomic_store_n(&m->next_serial, SIM_CHUNK, __ATOMIC_RELAXED);
}

// Serials have run out: the block goes on with new ones if it is alone, else it records nothing more.
static bool exhausted(sim_block *b)
{
    sim_memory *m = b->launch->device->memory;
    struct sim_order *o = b->order;
    pthread_mutex_lock(&m->lock);
    bool is_alone = m->recording == 1;
    m->is_exhausted = true;
    if (is_alone)
        clear_global(m);
    pthread_mutex_unlock(&m->lock);
    o->records = is_alone;
    o->chunk_next = o->chunk_end = o->run_begin = o->own_begin = o->own_end = 0;
    for (int i = 0; i < b->warp_count; i++) {
        for (int k = 0; k < SIM_MEMOS; k++)
            b->warps[i].clock->memos[k].global = 0;
    }
    return is_alone;
}

static bool next_chunk(sim_block *b)
{
    sim_memory *m = b->launch->device->memory;
    struct sim_order *o = b->order;
    uint32_t begin = __atomic_fetch_add(&m->next_serial, SIM_CHUNK, __ATOMIC_RELAXED);
    if (begin > SIM_GLOBAL_SERIALS - SIM_CHUNK) {
        __atomic_fetch_sub(&m->next_serial, SIM_CHUNK, __ATOMIC_RELAXED);
        return exhausted(b) && next_chunk(b);
    }
    __atomic_store_n(&m->chunk_blocks[begin / SIM_CHUNK], b->index, __ATOMIC_RELAXED);
    if (begin != o->chunk_end)
        o->run_begin = begin;
    o->chunk_next = begin;
    o->chunk_end = begin + SIM_CHUNK;
    return true;
}

static uint32_t global_serial(sim_touch *t, sim_memo *memo)
{
    sim_block *b = t->w->block;
    struct sim_order *o = b->order;
    if (memo->global)
        return memo->global;
    if (o->chunk_next == o->chunk_end && !next_chunk(b))
        return 0;
    uint32_t who = (uint32_t)t->w->index | t->kind << 16 | (uint32_t)t->reach << 24;
    memo->global = o->chunk_next++;
    note_put(&b->launch->device->memory->notes[memo->global], &(sim_note){t->site, t->lanes, memo->local, who});
    return memo->global;
}

void sim_order_touch(sim_touch *t)
{
    const sim_block *b = t->w->block;
    const struct sim_order *o = b->order;
    t->mine = t->own_begin = t->own_end = 0;
    t->known = SIM_LAST_SERIAL;
    if (!o->tracks || (t->target == SIM_IN_GLOBAL && !o->records))
        return;
    sim_memo *memo = memo_of(t);
    if (!memo)
        return;
    if (t->target == SIM_IN_SHARED) {
        t->mine = memo->local - o->origin;
        t->known = o->base > o->origin ? o->base - o->origin : 0;
    } else {
        t->mine = global_serial(t, memo);
        if (!t->mine)
            return;
        t->known = t->device->memory->launch_base;
        t->own_begin = o->own_begin;
        t->own_end = o->own_end;
    }
    t->races = true;
}

sim_party sim_order_party(const sim_touch *t, uint32_t cell)
{
    const sim_block *b = t->w->block;
    const sim_memory *m = t->device->memory;
    uint32_t serial = cell & SIM_CELL_SERIAL;
    sim_party p = {.block = b->index, .lane = cell >> SIM_LANE_SHIFT};
    if (t->target == SIM_IN_SHARED) {
        p.note = b->order->log[serial + b->order->origin - b->order->log_start - 1];
        return p;
    }
    p.note = note_get(&m->notes[serial]);
    p.block = __atomic_load_n(&m->chunk_blocks[serial / SIM_CHUNK], __ATOMIC_RELAXED);
    return p;
}

// ---- shared memory ---------------------------------------------------------------------------------------------------

// Granules that lie between tensors wholly are red.
static void paint_red(const sim_block *b, sim_shadow *s)
{
    const sim_code *p = b->launch->code;
    uint64_t end = 0, size = (uint64_t)1 << s->shift;
    if (!p || !p->shared.len)
        return;
    for (size_t i = 0; i <= p->shared.len; i++) {
        bool is_last = i == p->shared.len;
        uint64_t limit = is_last ? p->shared_bytes : p->shared.at[i].offset;
        for (uint64_t k = (end + size - 1) >> s->shift; k < limit >> s->shift && k < s->count; k++)
            s->write[k] = SIM_CELL_RED;
        uint64_t next = is_last ? 0 : (uint64_t)p->shared.at[i].offset + p->shared.at[i].bytes;
        end = next > end ? next : end;
    }
}

static void count_shadow(sim_block *b, int64_t bytes)
{
    sim_memory *m = b->launch->device->memory;
    pthread_mutex_lock(&m->lock);
    b->order->shadow_bytes += bytes;
    m->shadow_used += bytes;
    m->shadow_peak = m->shadow_used > m->shadow_peak ? m->shadow_used : m->shadow_peak;
    m->shared_used += b->order->shadow_bytes == bytes ? b->shared_bytes : 0;  // not when it is made anew
    m->shared_peak = m->shared_used > m->shared_peak ? m->shared_used : m->shared_peak;
    pthread_mutex_unlock(&m->lock);
}

static void make_shadow(sim_block *b, int shift)
{
    sim_shadow *s = b->shadow ? b->shadow : ARENA_NEW(b->arena, sim_shadow);
    s->shift = (uint8_t)shift;
    s->count = ((uint64_t)b->shared_bytes + ((uint64_t)1 << shift) - 1) >> shift;
    s->write = ARENA_ARRAY(b->arena, uint32_t, s->count);
    s->read = shift ? ARENA_ARRAY(b->arena, uint32_t, s->count) : NULL;
    paint_red(b, s);
    b->shadow = s;
    count_shadow(b, (int64_t)(s->count * sizeof(uint32_t) * (shift ? 2 : 1)));
}

// The single cell of a byte that had two: the write, unless only the readers can still matter.
static uint32_t merged(const struct sim_order *o, uint32_t write, uint32_t read)
{
    uint32_t known = o->base > o->origin ? o->base - o->origin : 0, state = SIM_CELL_WRITTEN | SIM_CELL_PENDING;
    if ((write & SIM_CELL_SERIAL) > known || (read & SIM_CELL_SERIAL) <= known || (write & SIM_CELL_PENDING))
        return write & ~SIM_CELL_WRITE_PART;
    return (write & state) | (read & ~(SIM_CELL_MANY | SIM_CELL_READ_PART));
}

void sim_order_refine(sim_block *b, uint64_t low)
{
    sim_memory *m = b->launch->device->memory;
    int shift = low ? __builtin_ctzll(low) : 0;
    if (!b->shadow || shift >= b->shadow->shift)
        return;
    sim_shadow old = *b->shadow;
    make_shadow(b, shift);
    for (uint64_t i = 0; i < b->shadow->count; i++) {
        uint64_t from = i >> (old.shift - shift);
        uint32_t write = old.write[from];
        if ((write & SIM_CELL_SERIAL) == SIM_CELL_RED || b->shadow->write[i])
            continue;
        b->shadow->write[i] = shift ? write : merged(b->order, write, old.read[from]);
        if (shift)
            b->shadow->read[i] = old.read[from];
    }
    if ((uint32_t)shift < __atomic_load_n(&m->shared_shift, __ATOMIC_RELAXED))
        __atomic_store_n(&m->shared_shift, (uint32_t)shift, __ATOMIC_RELAXED);
}

static int first_shift(const sim_block *b)
{
    const sim_code *p = b->launch->code;
    int shift = (int)__atomic_load_n(&b->launch->device->memory->shared_shift, __ATOMIC_RELAXED);
    for (size_t i = 0; p && shift > 1 && i < p->shared.len; i++) {
        if (p->shared.at[i].elem_bytes < 4)
            shift = 1;
    }
    return shift;
}

// ---- launches and blocks ---------------------------------------------------------------------------------------------

static void begin_launch(sim_memory *m, const sim_launch *l)
{
    if (!m->notes) {
        m->notes = sim_pages_map(SIM_GLOBAL_SERIALS * sizeof(sim_note));
        m->chunk_blocks = sim_pages_map(SIM_GLOBAL_SERIALS / SIM_CHUNK * sizeof(int64_t));
        m->next_serial = SIM_CHUNK;
    }
    m->launch = l->number + 1;
    m->recording = 0;
    m->shared_shift = 2;
    if (m->is_exhausted || m->next_serial > SIM_GLOBAL_SERIALS / 2)
        clear_global(m);
    m->launch_base = m->next_serial - 1;
    sim_remote_begin(m, l->block_count);
}

static void enter_launch(sim_block *b)
{
    sim_memory *m = b->launch->device->memory;
    pthread_mutex_lock(&m->lock);
    if (m->launch != b->launch->number + 1)
        begin_launch(m, b->launch);
    if (m->is_exhausted && !m->recording)
        clear_global(m);
    b->order->records = b->order->is_counted = m->notes && m->chunk_blocks && !m->is_exhausted;
    m->recording += b->order->is_counted;
    pthread_mutex_unlock(&m->lock);
}

void sim_order_start(sim_block *b)
{
    struct sim_order *o = b->order = ARENA_NEW(b->arena, struct sim_order);
    o->is_plain = true;
    o->serial = o->base = o->log_start = o->origin = 1;
    o->tracks = !b->launch->device->options.no_checks && !b->launch->device->options.no_races && !b->launch->is_host;
    map_init(&o->locations, b->arena);
    for (int i = 0; i < b->warp_count; i++)
        b->warps[i].clock = ARENA_NEW(b->arena, struct sim_clock);
    b->shadow = NULL;
    if (b->launch->device->options.no_checks)
        return;
    if (o->tracks)
        enter_launch(b);
    if (b->shared_bytes > 0)
        make_shadow(b, first_shift(b));
}

static void drop_lanes(sim_memory *m, sim_lanes *more)
{
    for (int lane = 0; more && lane < SIM_LANES; lane++) {
        sim_remote_drop(m, more->unfenced_remote[lane]);
        more->unfenced_remote[lane] = NULL;
    }
}

void sim_order_end(sim_block *b)
{
    struct sim_order *o = b->order;
    sim_memory *m = b->launch->device->memory;
    if (!o)
        return;
    pthread_mutex_lock(&m->lock);
    m->recording -= o->is_counted;
    m->shadow_used -= o->shadow_bytes;
    m->shared_used -= o->shadow_bytes ? b->shared_bytes : 0;
    sim_remote_drop(m, o->remote);
    for (sim_knowledge *k = o->holders; k; k = k->next)
        sim_remote_drop(m, k->remote);
    for (int i = 0; i < b->warp_count; i++)
        drop_lanes(m, b->warps[i].clock->more);
    pthread_mutex_unlock(&m->lock);
    b->order = NULL;
}

// ---- barriers --------------------------------------------------------------------------------------------------------

// What any thread knows of other blocks, all know now.
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
            sim_remote_add(m, &o->remote, more->all->remote);
        for (int lane = 0; lane < SIM_LANES; lane++) {
            if (more->own[lane])
                sim_remote_add(m, &o->remote, more->own[lane]->remote);
            sim_remote_add(m, &o->remote, more->unfenced_remote[lane]);
        }
        drop_lanes(m, more);
        more->waiting = more->fresh = 0;
    }
    pthread_mutex_unlock(&m->lock);
    o->is_plain = !o->remote;
}

void sim_order_block_barrier(sim_block *b)
{
    struct sim_order *o = b->order;
    o->base = o->log_start = o->serial;
    o->log_count = 0;
    o->own_begin = o->run_begin;
    o->own_end = o->chunk_next;
    if (!o->is_plain)
        share_remote(b);
}

static sim_lanes *more_of(sim_warp *w)
{
    if (!w->clock->more)
        w->clock->more = ARENA_NEW(w->block->arena, sim_lanes);
    return w->clock->more;
}

static sim_knowledge *new_knowledge(sim_block *b)
{
    sim_knowledge *k = arena_alloc(b->arena, sizeof *k + sizeof(uint32_t) * (size_t)threads_of(b));
    k->next = b->order->holders;
    b->order->holders = k;
    return k;
}

static void raise(uint32_t *to, const uint32_t *from, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = to[i] > from[i] ? to[i] : from[i];
}

static void add_remote(sim_block *b, sim_remote **into, sim_remote *from)
{
    sim_memory *m = b->launch->device->memory;
    if (!from)
        return;
    pthread_mutex_lock(&m->lock);
    sim_remote_add(m, into, from);
    pthread_mutex_unlock(&m->lock);
}

static void add_knowledge(sim_block *b, sim_knowledge **into, const sim_knowledge *from)
{
    if (!*into)
        *into = new_knowledge(b);
    raise((*into)->serial, from->serial, threads_of(b));
    add_remote(b, &(*into)->remote, from->remote);
}

// Lanes meet: each of them knows what any of them knew.
static void meet_all(sim_warp *w)
{
    sim_lanes *more = w->clock->more;
    w->clock->base = w->block->order->serial;
    if (!more || !more->fresh)
        return;
    SIM_EACH(lane, more->fresh)
        add_knowledge(w->block, &more->all, more->own[lane]);
    more->fresh = 0;
}

static void meet_some(sim_warp *w, uint32_t lanes)
{
    sim_lanes *more = more_of(w);
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
    sim_knowledge *joined = new_knowledge(w->block);
    SIM_EACH(lane, more->fresh & lanes)
        add_knowledge(w->block, &joined, more->own[lane]);
    SIM_EACH(lane, lanes)
        add_knowledge(w->block, &more->own[lane], joined);
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

// ---- handing over ----------------------------------------------------------------------------------------------------

// What all lanes of the warp know.
static void gather_warp(const sim_warp *w, uint32_t *serial)
{
    const struct sim_clock *c = w->clock;
    if (c->more && c->more->all)
        raise(serial, c->more->all->serial, threads_of(w->block));
    uint32_t *own = serial + w->index * SIM_LANES;
    for (int i = 0; i < SIM_LANES; i++)
        own[i] = own[i] > c->base ? own[i] : c->base;
}

// What a lane knows besides, and itself up to [self].
static void gather_lane(const sim_warp *w, uint32_t lane, uint32_t self, uint32_t *serial)
{
    const sim_lanes *more = w->clock->more;
    uint32_t *own = serial + w->index * SIM_LANES;
    if (more && more->own[lane])
        raise(serial, more->own[lane]->serial, threads_of(w->block));
    if (more && more->lanes)
        raise(own, more->lanes[lane], SIM_LANES);
    own[lane] = own[lane] > self ? own[lane] : self;
}

void sim_order_release(sim_warp *w, uint32_t lanes, sim_sync *to)
{
    sim_block *b = w->block;
    const sim_lanes *more = w->clock->more;
    uint32_t serial = b->order->serial;
    if (!b->order->tracks)
        return;
    if (!to->known)
        to->known = new_knowledge(b);
    gather_warp(w, to->known->serial);
    if (more && more->all)
        add_remote(b, &to->known->remote, more->all->remote);
    SIM_EACH(lane, lanes) {
        gather_lane(w, lane, serial, to->known->serial);
        if (more && more->own[lane])
            add_remote(b, &to->known->remote, more->own[lane]->remote);
    }
    w->clock->epoch = serial;
    b->order->is_plain = false;
}

void sim_order_acquire(sim_warp *w, uint32_t lanes, const sim_sync *from)
{
    if (!from->known || !w->block->order->tracks)
        return;
    sim_lanes *more = more_of(w);
    w->block->order->is_plain = false;
    if ((lanes & sim_live(w)) == sim_live(w)) {
        add_knowledge(w->block, &more->all, from->known);
        return;
    }
    SIM_EACH(lane, lanes)
        add_knowledge(w->block, &more->own[lane], from->known);
    more->fresh |= lanes;
}

// What the lane has read by relaxed accesses counts now.
static void settle_reads(sim_warp *w, uint32_t lane, bool reaches_blocks)
{
    sim_lanes *more = w->clock->more;
    if (more->unfenced[lane])
        add_knowledge(w->block, &more->own[lane], more->unfenced[lane]);
    if (reaches_blocks && more->unfenced_remote[lane]) {
        if (!more->own[lane])
            more->own[lane] = new_knowledge(w->block);
        add_remote(w->block, &more->own[lane]->remote, more->unfenced_remote[lane]);
    }
    more->fresh |= (uint32_t)1 << lane;
}

void sim_order_fence(sim_warp *w, uint32_t lanes, sim_reach reach)
{
    if (!w->block->order->tracks)
        return;
    sim_lanes *more = more_of(w);
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

// ---- through atomics -------------------------------------------------------------------------------------------------

static sim_location *location_of(sim_block *b, uint64_t address, bool make)
{
    map *locations = &b->order->locations;
    sim_location *l = locations->len ? map_get(locations, &address, sizeof address) : NULL;
    if (l || !make)
        return l;
    l = ARENA_NEW(b->arena, sim_location);
    l->known = new_knowledge(b);
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
    return l;
}

static void take_from_block(sim_warp *w, uint32_t lane, uint64_t address, bool acquires)
{
    sim_location *l = location_of(w->block, address, false);
    if (!l)
        return;
    sim_lanes *more = more_of(w);
    w->block->order->is_plain = false;
    if (!acquires) {
        add_knowledge(w->block, &more->unfenced[lane], l->known);
        more->waiting |= (uint32_t)1 << lane;
    } else if (more->seen[lane] != l || more->seen_version[lane] != l->version) {
        add_knowledge(w->block, &more->own[lane], l->known);
        more->fresh |= (uint32_t)1 << lane;
        more->seen[lane] = l;
        more->seen_version[lane] = l->version;
    }
}

static void take_from_blocks(sim_warp *w, uint32_t lane, uint64_t address, bool acquires)
{
    sim_memory *m = sim_device_of(w)->memory;
    pthread_mutex_lock(&m->lock);
    const remote_location *l = remote_location_of(m, address, false);
    if (l) {
        sim_lanes *more = more_of(w);
        w->block->order->is_plain = false;
        if (acquires && !more->own[lane])
            more->own[lane] = new_knowledge(w->block);
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
    gather_warp(w, l->known->serial);
    gather_lane(w, lane, self, l->known->serial);
    if (more && more->all)
        add_remote(w->block, &l->known->remote, more->all->remote);
    if (more && more->own[lane])
        add_remote(w->block, &l->known->remote, more->own[lane]->remote);
    l->version++;
}

static void give_to_blocks(sim_warp *w, uint32_t lane, uint64_t address, uint32_t self)
{
    sim_block *b = w->block;
    struct sim_order *o = b->order;
    sim_memory *m = sim_device_of(w)->memory;
    const sim_lanes *more = w->clock->more;
    arena_mark mark = arena_mark_get(b->arena);
    int threads = threads_of(b), count = 0;
    uint32_t *serial = ARENA_ARRAY(b->arena, uint32_t, threads);
    sim_known_thread *known = ARENA_ARRAY(b->arena, sim_known_thread, threads);
    gather_warp(w, serial);
    gather_lane(w, lane, self, serial);
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

static bool reaches_blocks(uint64_t address, sim_reach reach)
{
    return (address & SIM_TAG_MASK) == SIM_TAG_GLOBAL && reach >= SIM_CLUSTER;
}

void sim_order_take(sim_warp *w, uint32_t lane, uint64_t address, sim_sem sem, sim_reach reach)
{
    bool acquires = sem == SIM_ACQUIRE || sem == SIM_ACQ_REL;
    if (!w->block->order->tracks)
        return;
    take_from_block(w, lane, address, acquires);
    if (reaches_blocks(address, reach))
        take_from_blocks(w, lane, address, acquires);
}

void sim_order_give(sim_warp *w, uint32_t lane, uint64_t address, sim_sem sem, sim_reach reach)
{
    struct sim_order *o = w->block->order;
    const sim_lanes *more = w->clock->more;
    bool releases = sem == SIM_RELEASE || sem == SIM_ACQ_REL;
    if (!o->tracks)
        return;
    uint32_t in_block = releases ? o->serial : more ? more->fence[0][lane] : 0;
    uint32_t in_blocks = releases ? o->serial : more ? more->fence[1][lane] : 0;
    if (in_block)
        give_to_block(w, lane, address, in_block);
    if (in_blocks && reaches_blocks(address, reach))
        give_to_blocks(w, lane, address, in_blocks);
    if (releases)
        w->clock->epoch = o->serial;
    if (in_block)
        o->is_plain = false;
}

// ---- what a lane knows -----------------------------------------------------------------------------------------------

static bool knows_remotely(const sim_warp *w, uint32_t lane, const sim_party *other, uint32_t thread)
{
    const struct sim_order *o = w->block->order;
    const sim_lanes *more = w->clock->more;
    sim_memory *m = sim_device_of(w)->memory;
    if (o->is_plain)
        return false;
    uint32_t serial = other->note.local;
    pthread_mutex_lock(&m->lock);
    bool knows = sim_remote_knows(m, o->remote, other->block, thread, serial);
    if (!knows && more && more->all)
        knows = sim_remote_knows(m, more->all->remote, other->block, thread, serial);
    if (!knows && more && more->own[lane])
        knows = sim_remote_knows(m, more->own[lane]->remote, other->block, thread, serial);
    pthread_mutex_unlock(&m->lock);
    return knows;
}

bool sim_order_met_nobody(const sim_warp *w, uint32_t since)
{
    const struct sim_clock *c = w->clock;
    return w->block->order->is_plain && since > c->base && !(c->more && c->more->lanes);
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
