// The happens-before knowledge of blocks about each other: a trie over the numbers of blocks, 16 ways a level, with a
// leaf for each block. Nodes are reference-counted and immutable once shared, so that joining similar tries is cheap.
// The usual case is a counter or a chain of flags through which each block passes on slightly more than it received.
#include "sim/memory_priv.h"

enum { WAYS = 16, WAY_BITS = 4, SIZES = 24 };

struct sim_remote {
    uint32_t refs;
    uint8_t level;    // 0: leaf
    uint8_t size;     // leaf: log2 of the room for threads
    uint32_t base;    // leaf: all threads are known up to here, and
    uint32_t count;   // so many further
    sim_remote *next; // among the free ones
};

struct sim_remote_pool {
    int levels;
    sim_remote *free_nodes;
    sim_remote *free_leaves[SIZES];
};

static sim_remote **children(const sim_remote *r)
{
    return (sim_remote **)(void *)(r + 1);
}
static sim_known_thread *threads(const sim_remote *r)
{
    return (sim_known_thread *)(void *)(r + 1);
}

void sim_remote_begin(sim_memory *m, int64_t block_count)
{
    arena_free(&m->remote_arena);
    arena_init(&m->remote_arena, m->arena->oom);
    map_init(&m->locations, &m->remote_arena);
    m->has_locations = false;
    m->pool = ARENA_NEW(&m->remote_arena, struct sim_remote_pool);
    m->pool->levels = 1;
    while (m->pool->levels < 15 && block_count > (int64_t)1 << (m->pool->levels * WAY_BITS))
        m->pool->levels++;
}

static sim_remote *take(sim_memory *m, sim_remote **list, size_t bytes)
{
    sim_remote *r = *list;
    if (r)
        *list = r->next;
    else
        r = arena_alloc(&m->remote_arena, sizeof *r + bytes);
    return r;
}

static sim_remote *new_node(sim_memory *m, int level)
{
    sim_remote *r = take(m, &m->pool->free_nodes, WAYS * sizeof(sim_remote *));
    *r = (sim_remote){.refs = 1, .level = (uint8_t)level};
    memset(children(r), 0, WAYS * sizeof(sim_remote *));
    return r;
}

static sim_remote *new_leaf(sim_memory *m, uint32_t base, uint32_t room)
{
    int size = 0;
    while (((uint32_t)1 << size) < room)
        size++;
    sim_remote *r = take(m, &m->pool->free_leaves[size], ((size_t)1 << size) * sizeof(sim_known_thread));
    *r = (sim_remote){.refs = 1, .size = (uint8_t)size, .base = base};
    return r;
}

sim_remote *sim_remote_keep(sim_remote *r)
{
    if (r)
        r->refs++;
    return r;
}

void sim_remote_drop(sim_memory *m, sim_remote *r)
{
    if (!r || --r->refs)
        return;
    for (int i = 0; r->level && i < WAYS; i++)
        sim_remote_drop(m, children(r)[i]);
    sim_remote **list = r->level ? &m->pool->free_nodes : &m->pool->free_leaves[r->size];
    r->next = *list;
    *list = r;
}

static int way_of(int64_t block, int level)
{
    return (int)(block >> ((level - 1) * WAY_BITS) & (WAYS - 1));
}

sim_remote *sim_remote_of(sim_memory *m, int64_t block, uint32_t base, const sim_known_thread *known, int count)
{
    sim_remote *r = new_leaf(m, base, (uint32_t)count);
    if (count)
        memcpy(threads(r), known, (size_t)count * sizeof *known);
    r->count = (uint32_t)count;
    for (int level = 1; level <= m->pool->levels; level++) {
        sim_remote *node = new_node(m, level);
        children(node)[way_of(block, level)] = r;
        r = node;
    }
    return r;
}

static void append(sim_remote *leaf, uint32_t thread, uint32_t serial)
{
    if (serial > leaf->base)
        threads(leaf)[leaf->count++] = (sim_known_thread){thread, serial};
}

static sim_remote *merge_leaves(sim_memory *m, const sim_remote *a, const sim_remote *b)
{
    sim_remote *r = new_leaf(m, a->base > b->base ? a->base : b->base, a->count + b->count);
    uint32_t i = 0, k = 0;
    while (i < a->count || k < b->count) {
        sim_known_thread end = {UINT32_MAX, 0};
        sim_known_thread x = i < a->count ? threads(a)[i] : end, y = k < b->count ? threads(b)[k] : end;
        uint32_t thread = x.thread < y.thread ? x.thread : y.thread, serial = 0;
        if (x.thread == thread) {
            serial = x.serial;
            i++;
        }
        if (y.thread == thread) {
            serial = y.serial > serial ? y.serial : serial;
            k++;
        }
        append(r, thread, serial);
    }
    return r;
}

static bool same_leaf(const sim_remote *a, const sim_remote *b)
{
    return a->base == b->base && a->count == b->count &&
           memcmp(threads(a), threads(b), a->count * sizeof(sim_known_thread)) == 0;
}

static sim_remote *join_leaves(sim_memory *m, sim_remote *a, sim_remote *b)
{
    sim_remote *r = merge_leaves(m, a, b);
    sim_remote *old = same_leaf(r, a) ? a : same_leaf(r, b) ? b : NULL;
    if (!old)
        return r;
    sim_remote_drop(m, r);
    return sim_remote_keep(old);
}

static sim_remote *join_nodes(sim_memory *m, sim_remote *a, sim_remote *b)
{
    sim_remote *r = new_node(m, a->level);
    bool is_a = true, is_b = true;
    for (int i = 0; i < WAYS; i++) {
        children(r)[i] = sim_remote_join(m, children(a)[i], children(b)[i]);
        is_a = is_a && children(r)[i] == children(a)[i];
        is_b = is_b && children(r)[i] == children(b)[i];
    }
    if (!is_a && !is_b)
        return r;
    sim_remote_drop(m, r);
    return sim_remote_keep(is_a ? a : b);
}

sim_remote *sim_remote_join(sim_memory *m, sim_remote *a, sim_remote *b)
{
    if (a == b || !b)
        return sim_remote_keep(a);
    if (!a)
        return sim_remote_keep(b);
    return a->level ? join_nodes(m, a, b) : join_leaves(m, a, b);
}

void sim_remote_add(sim_memory *m, sim_remote **into, sim_remote *other)
{
    if (!other || *into == other)
        return;
    sim_remote *both = sim_remote_join(m, *into, other);
    sim_remote_drop(m, *into);
    *into = both;
}

bool sim_remote_knows(const sim_memory *m, const sim_remote *r, int64_t block, uint32_t thread, uint32_t serial)
{
    for (int level = r ? m->pool->levels : 0; level > 0 && r; level--)
        r = children(r)[way_of(block, level)];
    if (!r)
        return false;
    uint32_t low = 0, high = r->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (threads(r)[middle].thread < thread)
            low = middle + 1;
        else
            high = middle;
    }
    return serial <= r->base ||
           (low < r->count && threads(r)[low].thread == thread && serial <= threads(r)[low].serial);
}
