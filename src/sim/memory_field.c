// Field values of memory: one for each byte, at the byte where a value begins.
#include "sim/memory_priv.h"

#include "sim/pages.h"

static sim_field *of_allocation(sim_allocation *a)
{
    if (!a->field) {
        a->field = sim_pages_map((size_t)a->size * sizeof(sim_field));
        if (a->field)
            memset(a->field, 0xff, (size_t)a->size * sizeof(sim_field));
    }
    return a->field;
}

static sim_field *make(arena *a, size_t bytes)
{
    sim_field *made = ARENA_ARRAY(a, sim_field, bytes);
    memset(made, 0xff, bytes * sizeof *made);
    return made;
}

static sim_field *of_global(sim_memory *m, uint64_t address)
{
    uint64_t number = (address & ~SIM_TAG_MASK) >> SIM_OFFSET_BITS, offset = address & SIM_OFFSET_MASK;
    if (!number || number >= m->table.len)
        return NULL;
    sim_allocation *a = &m->table.at[number];
    if (!a->bytes || offset >= (uint64_t)a->size)
        return NULL;
    pthread_mutex_lock(&m->lock);
    sim_field *values = of_allocation(a);
    pthread_mutex_unlock(&m->lock);
    return values ? values + offset : NULL;
}

static sim_field *of_local(sim_warp *w, uint32_t lane, uint64_t offset)
{
    if (offset >= w->local_bytes)
        return NULL;
    if (!w->clock->local_field)
        w->clock->local_field = make(w->block->arena, (size_t)w->local_bytes * SIM_LANES);
    return w->clock->local_field + (size_t)w->local_bytes * lane + offset;
}

sim_field *sim_memory_field(sim_warp *w, uint32_t lane, uint64_t address)
{
    sim_block *b = w->block;
    uint64_t offset = address & SIM_OFFSET_MASK;
    if (!w->field)
        return NULL;
    switch (address & SIM_TAG_MASK) {
    case SIM_TAG_GLOBAL:
        return of_global(sim_device_of(w)->memory, address);
    case SIM_TAG_LOCAL:
        return of_local(w, lane, offset);
    case SIM_TAG_SHARED:
        b = sim_block_of(b, address);
        offset = address & SIM_SHARED_MASK;
        if (!b || b->has_ended || offset >= (uint64_t)b->shared_bytes)
            return NULL;
        if (!b->order->shared_field)
            b->order->shared_field = make(b->arena, (size_t)b->shared_bytes);
        return b->order->shared_field + offset;
    default:
        return NULL;
    }
}

sim_field *sim_memory_host_field(sim *s, uint64_t address)
{
    bool is_global = (address & SIM_TAG_MASK) == SIM_TAG_GLOBAL;
    return s->options.field && is_global ? of_global(s->memory, address) : NULL;
}

void sim_set_argument_fields(sim *s, const sim_field *fields)
{
    s->arg_fields = fields;
}

// Byte [at] of an element of a lane in its cells.
static sim_field *part_of(const sim_warp *w, uint32_t cell, uint32_t lane, int at)
{
    return sim_field_of(w, cell + (uint32_t)at / SIM_FIELD_PARTS, (int)lane) + at % SIM_FIELD_PARTS;
}

static int cells_of(int bytes)
{
    return bytes == 8 ? 2 : 1;
}

void sim_fields_load(sim_touch *t, uint32_t lane, uint32_t cell, int bytes, int count)
{
    const sim_field *from = sim_memory_field(t->w, lane, t->address[lane] & ~((uint64_t)7 << SIM_BIT_SHIFT));
    bool has_bits = t->access && t->access->bits;
    for (int i = 0; i < count; i++) {
        uint32_t to = cell + (uint32_t)(i * cells_of(bytes));
        for (int c = 0; c < cells_of(bytes); c++)
            memset(sim_field_of(t->w, to + (uint32_t)c, (int)lane), 0xff, SIM_FIELD_PARTS * sizeof(sim_field));
        for (int b = 0; from && !has_bits && b < bytes; b++)
            *part_of(t->w, to, lane, b) = from[i * bytes + b];
    }
}

void sim_fields_store(sim_touch *t, uint32_t lane, uint32_t cell, int bytes, int count)
{
    sim_field *to = sim_memory_field(t->w, lane, t->address[lane] & ~((uint64_t)7 << SIM_BIT_SHIFT));
    if (!to)
        return;
    if (t->access && t->access->bits) {
        memset(to, 0xff, (size_t)t->bytes * sizeof *to);
        return;
    }
    for (int i = 0; i < count; i++) {
        for (int b = 0; b < bytes; b++)
            to[i * bytes + b] = *part_of(t->w, cell + (uint32_t)(i * cells_of(bytes)), lane, b);
    }
}

void sim_fields_move(sim_warp *w, uint32_t lane, uint64_t to, uint64_t from, int bytes, int present)
{
    uint64_t bit_mask = ~((uint64_t)7 << SIM_BIT_SHIFT);
    sim_field *into = sim_memory_field(w, lane, to & bit_mask);
    const sim_field *out = present ? sim_memory_field(w, lane, from & bit_mask) : NULL;
    if (!into)
        return;
    memset(into, 0xff, (size_t)bytes * sizeof *into);
    if (out)
        memcpy(into, out, (size_t)present * sizeof *into);
}
