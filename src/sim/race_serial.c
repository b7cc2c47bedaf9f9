// Serials of accesses and the notes behind them, and what begins and ends with launches and blocks: the blocks that
// record, and the cells of shared memory.
#include "sim/memory_priv.h"

#include "sim/pages.h"

// ---- notes and serials ---------------------------------------------------------------------------------------------

enum { LOG_LIMIT = 1 << 22 }; // notes of a block between two barriers

static void note_put(sim_note *to, const sim_note *n)
{
    __atomic_store_n(&to->site, n->site, __ATOMIC_RELAXED);
    __atomic_store_n(&to->local, n->local, __ATOMIC_RELAXED);
    __atomic_store_n(&to->packed, n->packed, __ATOMIC_RELAXED);
}

static sim_note note_get(const sim_note *n)
{
    return (sim_note){__atomic_load_n(&n->site, __ATOMIC_RELAXED), __atomic_load_n(&n->local, __ATOMIC_RELAXED),
                      __atomic_load_n(&n->packed, __ATOMIC_RELAXED)};
}

// There are too many notes, or the serials are too large for cells: shared memory discards its records of accesses.
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

uint32_t sim_order_tick(sim_block *b)
{
    *log_next(b) = (sim_note){0};
    return ++b->order->serial;
}

// The record of accesses of the warp at this location since its last synchronisation.
static sim_memo *memo_of(sim_touch *t)
{
    sim_warp *w = t->w;
    struct sim_clock *c = w->clock;
    struct sim_order *o = w->block->order;
    uint32_t kind = t->kind | (uint32_t)t->reach << 8;
    sim_memo *memo = &c->memos[(t->site * 2 + (t->kind & 1)) % SIM_MEMOS];
    bool is_current = memo->local > c->epoch && memo->local > o->base && memo->local > o->log_start;
    if (is_current && memo->site == t->site && memo->kind == kind) {
        memo->lanes |= t->lanes;
        return memo;
    }
    if (o->serial == UINT32_MAX)
        return NULL;
    sim_note *note = log_next(w->block);
    uint32_t packed = (uint32_t)w->index | t->kind << 16 | (uint32_t)t->reach << 24;
    *note = (sim_note){t->site, ++o->serial, packed};
    *memo = (sim_memo){t->site, t->lanes, kind, o->serial, 0};
    return memo;
}

// All cells with lists are older than the launch.
static void forget_lists(sim_memory *m)
{
    for (int i = 0; i < SIM_SHARDS; i++) {
        sim_shard *s = &m->shards[i];
        if (s->entries.cap) {
            arena_free(&s->arena);
            arena_init(&s->arena, m->arena->oom);
        }
        s->entries = (sim_entries){.arena = &s->arena, .base = m->launch_base};
    }
}

// Discards the records of all allocations and restarts the serials. The caller holds the lock, and only its own block
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
    forget_lists(m);
}

// Serials are exhausted: the block restarts them if it is the only one, else it records nothing more.
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
    uint32_t packed = (uint32_t)t->w->index | t->kind << 16 | (uint32_t)t->reach << 24;
    memo->global = o->chunk_next++;
    note_put(&b->launch->device->memory->notes[memo->global], &(sim_note){t->site, memo->local, packed});
    return memo->global;
}

static void count_shadow(sim_block *b, int64_t bytes)
{
    sim_memory *m = b->launch->device->memory;
    pthread_mutex_lock(&m->lock);
    b->order->shadow_bytes += bytes;
    m->shadow_used += bytes;
    m->shadow_peak = m->shadow_used > m->shadow_peak ? m->shadow_used : m->shadow_peak;
    m->shared_used += b->order->shadow_bytes == bytes ? b->shared_bytes : 0; // not when it is made anew
    m->shared_peak = m->shared_used > m->shared_peak ? m->shared_used : m->shared_peak;
    pthread_mutex_unlock(&m->lock);
}

static void remember_guest(sim_touch *t, const sim_memo *memo)
{
    struct sim_order *there = t->owner->order;
    bool is_weak = !(t->kind & SIM_NOTE_ATOMIC) && !t->w->clock->is_tma;
    sim_guest *g = NULL;
    for (size_t i = 0; i < there->guests.len && !g; i++) {
        sim_guest *at = &there->guests.at[i];
        if (at->rank == t->w->block->rank && at->warp == t->w->index && at->is_weak == is_weak)
            g = at;
    }
    if (!g) {
        VEC_PUSH(t->owner->arena, &there->guests,
                 ((sim_guest){.rank = t->w->block->rank, .warp = t->w->index, .is_weak = is_weak}));
        g = &there->guests.at[there->guests.len - 1];
        if (!sim_order_knows_begin(t->w, (uint32_t)__builtin_ctz(t->lanes), t->owner))
            sim_report_unborn(t, (uint32_t)__builtin_ctz(t->lanes));
    }
    g->lanes |= t->lanes;
    g->site = t->site;
    g->kind = t->kind;
    SIM_EACH(lane, t->lanes)
        g->local[lane] = memo->local;
}

// The serial of an access to the shared memory of another block, among those of that block.
static bool guest_serial(sim_touch *t, const sim_memo *memo)
{
    struct sim_order *there = t->owner->order;
    if (there->serial == UINT32_MAX)
        return false;
    sim_note *note = log_next(t->owner);
    uint32_t guest = (uint32_t)t->w->index | (uint32_t)(t->w->block->rank + 1) << 8;
    *note = (sim_note){t->site, memo->local, guest | t->kind << 16 | (uint32_t)t->reach << 24};
    there->serial++;
    t->mine = there->serial - there->origin;
    t->known = there->met > there->origin ? there->met - there->origin : 0;
    remember_guest(t, memo);
    return true;
}

// The access cells of the warp in the shared memory that it touches.
static uint64_t *cells_of_warp(sim_touch *t)
{
    sim_shadow *s = t->shadow;
    int k = t->w->block->rank * t->w->block->warp_count + t->w->index;
    if (!s->by_warp[k]) {
        s->by_warp[k] = ARENA_ARRAY(t->owner->arena, uint64_t, s->count);
        count_shadow(t->owner, (int64_t)(s->count * sizeof(uint64_t)));
    }
    return s->by_warp[k];
}

void sim_copies_begin(sim_touch *t)
{
    sim_memory *m = t->device->memory;
    sim_shadow *s = t->shadow;
    if (__atomic_load_n(&s->copies, __ATOMIC_ACQUIRE))
        return;
    if (t->target == SIM_IN_SHARED) {
        s->copies = ARENA_ARRAY(t->owner->arena, uint32_t, s->count);
        count_shadow(t->owner, (int64_t)(s->count * sizeof(uint32_t)));
        return;
    }
    pthread_mutex_lock(&m->lock);
    if (!s->copies) {
        uint32_t *made = sim_pages_map(s->count * sizeof *made);
        m->shadow_used += made ? (int64_t)(s->count * sizeof *made) : 0;
        m->shadow_peak = m->shadow_used > m->shadow_peak ? m->shadow_used : m->shadow_peak;
        __atomic_store_n(&s->copies, made, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&m->lock);
}

void sim_order_touch(sim_touch *t)
{
    const sim_block *b = t->w->block;
    const struct sim_order *o = b->order;
    t->mine = t->own_begin = t->own_end = t->warp_known = 0;
    t->known = SIM_LAST_SERIAL;
    if (!o->tracks || (t->target == SIM_IN_GLOBAL && !o->records))
        return;
    sim_memo *memo = memo_of(t);
    if (!memo)
        return;
    if (t->target == SIM_IN_SHARED)
        t->cells = cells_of_warp(t);
    if (t->target == SIM_IN_SHARED && t->owner != b) {
        if (!guest_serial(t, memo))
            return;
    } else if (t->target == SIM_IN_SHARED) {
        t->mine = memo->local - o->origin;
        t->known = o->known > o->origin ? o->known - o->origin : 0;
        t->warp_known = t->w->clock->base > o->origin ? t->w->clock->base - o->origin : 0;
    } else {
        t->cells = t->shadow->access;
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
        const struct sim_order *o = t->owner->order;
        p.note = o->log[serial + o->origin - o->log_start - 1];
        int rank = sim_note_rank(&p.note);
        p.block = rank < 0 ? t->owner->index : t->owner->cluster->blocks[rank]->index;
        return p;
    }
    p.note = note_get(&m->notes[serial]);
    p.block = __atomic_load_n(&m->chunk_blocks[serial / SIM_CHUNK], __ATOMIC_RELAXED);
    return p;
}

// ---- shared memory -------------------------------------------------------------------------------------------------

// Granules of the kernel's own memory that no tensor has a part of are red.
static void paint_red(const sim_block *b, sim_shadow *s)
{
    const sim_code *p = b->launch->code;
    uint64_t size = (uint64_t)1 << s->shift;
    if (!p || !p->shared.len)
        return;
    for (uint64_t k = 0; k < p->shared_bytes >> s->shift && k < s->count; k++)
        s->write[k] = SIM_CELL_RED;
    for (size_t i = 0; i < p->shared.len; i++) {
        uint64_t begin = p->shared.at[i].offset, end = begin + p->shared.at[i].bytes;
        for (uint64_t k = begin >> s->shift; k < (end + size - 1) >> s->shift && k < s->count; k++)
            s->write[k] = 0;
    }
}

// Cells for granules of that size, all empty.
static sim_shadow new_shadow(const sim_block *b, int shift)
{
    sim_shadow s = {.shift = (uint8_t)shift, .warps = sim_cluster_count(b) * b->warp_count};
    s.count = ((uint64_t)b->shared_bytes + ((uint64_t)1 << shift) - 1) >> shift;
    s.write = ARENA_ARRAY(b->arena, uint32_t, s.count);
    s.by_warp = ARENA_ARRAY(b->arena, uint64_t *, s.warps);
    s.entries.arena = b->arena;
    paint_red(b, &s);
    return s;
}

static void make_shadow(sim_block *b, int shift)
{
    b->shadow = ARENA_NEW(b->arena, sim_shadow);
    *b->shadow = new_shadow(b, shift);
    count_shadow(b, (int64_t)(b->shadow->count * sizeof(uint32_t)));
}

void sim_order_refine(sim_block *b, uint64_t low)
{
    sim_memory *m = b->launch->device->memory;
    int shift = low ? __builtin_ctzll(low) : 0;
    if (!b->shadow || shift >= b->shadow->shift)
        return;
    sim_shadow fine = new_shadow(b, shift);
    int64_t bytes = (int64_t)(fine.count * sizeof(uint32_t));
    for (int k = 0; k < fine.warps; k++) {
        fine.by_warp[k] = b->shadow->by_warp[k] ? ARENA_ARRAY(b->arena, uint64_t, fine.count) : NULL;
        bytes += fine.by_warp[k] ? (int64_t)(fine.count * sizeof(uint64_t)) : 0;
    }
    fine.copies = b->shadow->copies ? ARENA_ARRAY(b->arena, uint32_t, fine.count) : NULL;
    sim_shadow_split(b->shadow, &fine);
    *b->shadow = fine;
    count_shadow(b, bytes);
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

// ---- launches and blocks -------------------------------------------------------------------------------------------

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
    forget_lists(m);
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
    o->serial = o->base = o->known = o->met = o->log_start = o->origin = 1;
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
    if (o->tracks && b->launch->code && b->launch->code->uses_async_proxy)
        sim_bulk_start(b);
}

void sim_order_drop_lanes(sim_memory *m, sim_lanes *more)
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
    sim_remote_drop(m, o->done);
    for (sim_knowledge *k = o->holders; k; k = k->next) {
        sim_remote_drop(m, k->remote);
        sim_remote_drop(m, k->done);
    }
    for (int i = 0; i < b->warp_count; i++)
        sim_order_drop_lanes(m, b->warps[i].clock->more);
    pthread_mutex_unlock(&m->lock);
    b->order = NULL;
}
