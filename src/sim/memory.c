// The table of allocations, and what the host does with them.
#include "sim/memory_priv.h"

#include "sim/pages.h"

sim_memory *sim_memory_new(arena *a, int64_t limit)
{
    sim_memory *m = ARENA_NEW(a, sim_memory);
    m->arena = a;
    m->limit = limit > 0 ? limit : (int64_t)(sim_pages_of_machine() / 4 * 3);
    m->shared_shift = 2;
    m->next_serial = 1;
    pthread_mutex_init(&m->lock, NULL);
    arena_init(&m->remote_arena, a->oom);
    m->shards = ARENA_ARRAY(a, sim_shard, SIM_SHARDS);
    for (int i = 0; i < SIM_SHARDS; i++)
        arena_init(&m->shards[i].arena, a->oom);
    VEC_PUSH(a, &m->table, (sim_allocation){0});
    return m;
}

static size_t cell_bytes(const sim_shadow *s)
{
    return s->count * sizeof(uint32_t);
}

static size_t access_bytes(const sim_shadow *s)
{
    return s->count * sizeof(uint64_t);
}

static int64_t shadow_bytes(const sim_shadow *s)
{
    return (int64_t)((s->write ? cell_bytes(s) : 0) + (s->access ? access_bytes(s) : 0) +
                     (s->copies ? cell_bytes(s) : 0));
}

static void free_pages(sim_memory *m, sim_allocation *of)
{
    m->used -= of->size;
    m->shadow_used -= shadow_bytes(&of->shadow);
    sim_pages_unmap(of->bytes, (size_t)of->size);
    sim_pages_unmap(of->shadow.write, cell_bytes(&of->shadow));
    sim_pages_unmap(of->shadow.access, access_bytes(&of->shadow));
    sim_pages_unmap(of->shadow.copies, cell_bytes(&of->shadow));
    sim_pages_unmap(of->field, (size_t)of->size * sizeof(sim_field));
    of->bytes = NULL;
    of->field = NULL;
    of->shadow = (sim_shadow){0};
}

void sim_memory_free(sim_memory *m)
{
    for (size_t i = 1; i < m->table.len; i++) {
        if (m->table.at[i].bytes)
            free_pages(m, &m->table.at[i]);
    }
    sim_pages_unmap(m->notes, SIM_GLOBAL_SERIALS * sizeof(sim_note));
    sim_pages_unmap(m->chunk_blocks, SIM_GLOBAL_SERIALS / SIM_CHUNK * sizeof(int64_t));
    arena_free(&m->remote_arena);
    for (int i = 0; i < SIM_SHARDS; i++)
        arena_free(&m->shards[i].arena);
    pthread_mutex_destroy(&m->lock);
    m->table.len = 0;
    m->notes = NULL;
    m->chunk_blocks = NULL;
}

static int granule_shift(int elem_bytes)
{
    int shift = 0;
    while (shift < 3 && elem_bytes > 0 && elem_bytes % (2 << shift) == 0)
        shift++;
    return shift;
}

static bool map_shadow(sim_shadow *s, int64_t bytes, int elem_bytes)
{
    s->shift = (uint8_t)granule_shift(elem_bytes);
    s->count = ((uint64_t)bytes + ((uint64_t)1 << s->shift) - 1) >> s->shift;
    s->write = sim_pages_map(cell_bytes(s));
    s->access = sim_pages_map(access_bytes(s));
    return s->write && s->access;
}

// An unused number while there is one; then numbers of freed allocations, oldest first. 0: all are in use.
static uint32_t free_number(sim_memory *m)
{
    uint32_t count = (uint32_t)m->table.len;
    if (count < ((uint32_t)1 << SIM_ALLOCATION_BITS) - 1) {
        VEC_PUSH(m->arena, &m->table, (sim_allocation){0});
        return count;
    }
    for (uint32_t step = 1; step < count; step++) {
        uint32_t number = (m->last_reused + step) % count;
        if (number && !m->table.at[number].bytes)
            return m->last_reused = number;
    }
    return 0;
}

uint64_t sim_allocate(sim *s, int64_t bytes, int elem_bytes, const char *name)
{
    sim_memory *m = s->memory;
    if (bytes < 0 || bytes > m->limit - m->used)
        return 0;
    sim_allocation made = {.size = bytes ? bytes : 1, .elem_bytes = (uint8_t)(elem_bytes > 0 ? elem_bytes : 1)};
    made.bytes = sim_pages_map((size_t)made.size);
    bool is_mapped = made.bytes && (s->options.no_checks || map_shadow(&made.shadow, made.size, elem_bytes));
    m->used += made.size;
    m->shadow_used += shadow_bytes(&made.shadow);
    uint32_t number = is_mapped ? free_number(m) : 0;
    if (!number) {
        free_pages(m, &made);
        return 0;
    }
    made.name = arena_strdup(m->arena, name ? name : "memory");
    m->table.at[number] = made;
    m->peak = m->used > m->peak ? m->used : m->peak;
    m->shadow_peak = m->shadow_used > m->shadow_peak ? m->shadow_used : m->shadow_peak;
    return SIM_TAG_GLOBAL | (uint64_t)number << SIM_OFFSET_BITS;
}

static sim_allocation *allocation_of(const sim *s, uint64_t address)
{
    uint64_t number = (address & ~SIM_TAG_MASK) >> SIM_OFFSET_BITS;
    if ((address & SIM_TAG_MASK) != SIM_TAG_GLOBAL || !number || number >= s->memory->table.len)
        return NULL;
    sim_allocation *found = &s->memory->table.at[number];
    return found->bytes ? found : NULL;
}

void sim_release(sim *s, uint64_t address)
{
    sim_allocation *found = allocation_of(s, address);
    if (found)
        free_pages(s->memory, found);
}

void sim_memory_protect(sim *s, uint64_t address)
{
    sim_allocation *found = allocation_of(s, address);
    if (found)
        found->is_read_only = true;
}

uint8_t *sim_bytes(sim *s, uint64_t address, int64_t *bytes)
{
    sim_allocation *found = allocation_of(s, address);
    int64_t offset = (int64_t)(address & SIM_OFFSET_MASK);
    if (!found || offset > found->size)
        return NULL;
    if (bytes)
        *bytes = found->size - offset;
    return found->bytes + offset;
}

// Limits [*bytes] from [address] on to the allocation.
static sim_allocation *clipped(const sim *s, uint64_t address, int64_t *bytes)
{
    sim_allocation *found = allocation_of(s, address);
    int64_t offset = (int64_t)(address & SIM_OFFSET_MASK);
    if (!found || offset >= found->size)
        return NULL;
    *bytes = *bytes < found->size - offset ? *bytes : found->size - offset;
    return *bytes > 0 ? found : NULL;
}

void sim_mark_written(sim *s, uint64_t address, int64_t bytes)
{
    sim_allocation *found = clipped(s, address, &bytes);
    if (found && found->shadow.write)
        sim_shadow_mark(&found->shadow, address & SIM_OFFSET_MASK, (uint64_t)bytes);
}

bool sim_is_initialised(sim *s, uint64_t address, int64_t bytes, int64_t *first)
{
    sim_allocation *found = clipped(s, address, &bytes);
    uint64_t at = 0, offset = address & SIM_OFFSET_MASK;
    if (!found || !found->shadow.write || sim_shadow_is_written(&found->shadow, offset, (uint64_t)bytes, &at))
        return true;
    if (first)
        *first = at > offset ? (int64_t)(at - offset) : 0;
    return false;
}

void sim_memory_use(const sim *s, int64_t *simulated, int64_t *shadow)
{
    *simulated = s->memory->peak + s->memory->shared_peak;
    *shadow = s->memory->shadow_peak;
}

int64_t sim_memory_limit(const sim *s)
{
    return s->memory->limit;
}
