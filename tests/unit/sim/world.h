// A device with blocks made by hand, whose threads access memory as a test says: memory, races and findings without an
// executor.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sim/finding.h"
#include "sim/memory.h"

enum { WORLD_CELLS = 64, WORLD_SITES = 4096, WORLD_BLOCKS = 8, WORLD_WARPS = 4, WORLD_LOCAL = 64 };

typedef struct world {
    arena mem;
    src_map sources;
    sim *device;
    sim_program program;
    sim_launch launch;
    sim_block blocks[WORLD_BLOCKS];
    sim_code code;
    int block_count;
} world;

static inline void world_start_warp(world *s, sim_block *b, int index)
{
    sim_warp *w = &b->warps[index];
    w->block = b;
    w->index = index;
    w->full = w->active = UINT32_MAX;
    w->cells = w->all_cells = ARENA_ARRAY(&s->mem, uint8_t, WORLD_CELLS * SIM_CELL_BYTES);
    w->poison = ARENA_ARRAY(&s->mem, uint32_t, WORLD_CELLS);
    w->why = ARENA_ARRAY(&s->mem, uint32_t, WORLD_CELLS);
    w->local_bytes = WORLD_LOCAL;
    w->locals = ARENA_ARRAY(&s->mem, uint8_t, WORLD_LOCAL * SIM_LANES);
    if (s->device->options.field) {
        size_t bytes = (size_t)WORLD_CELLS * SIM_LANES * SIM_FIELD_PARTS * sizeof(sim_field);
        w->field = arena_alloc(&s->mem, bytes);
        memset(w->field, 0xff, bytes);
    }
    sim_frame frame = {0};
    VEC_PUSH(&s->mem, &w->frames, frame);
}

// Begins a launch of [blocks] blocks of [warps] warps.
static inline void world_launch(world *s, int blocks, int warps, int shared)
{
    s->block_count = blocks;
    s->code.talks_between_blocks = true;
    s->launch = (sim_launch){.device = s->device, .program = &s->program, .code = &s->code, .block_count = blocks};
    s->launch.number = ++s->device->launches;
    for (int i = 0; i < 3; i++)
        s->launch.shape.grid[i] = s->launch.shape.block[i] = s->launch.shape.cluster[i] = 1;
    s->launch.shape.grid[0] = blocks;
    s->launch.shape.block[0] = warps * SIM_LANES;
    for (int k = 0; k < blocks; k++) {
        sim_block *b = &s->blocks[k];
        *b = (sim_block){.launch = &s->launch, .index = k, .warp_count = warps, .alive = warps, .arena = &s->mem};
        b->thread_count = warps * SIM_LANES;
        b->shared_bytes = shared;
        b->shared = ARENA_ARRAY(&s->mem, uint8_t, shared);
        b->warps = ARENA_ARRAY(&s->mem, sim_warp, warps);
        for (int i = 0; i < warps; i++)
            world_start_warp(s, b, i);
        sim_order_start(b);
    }
}

static inline void world_end_launch(world *s)
{
    for (int k = 0; k < s->block_count; k++)
        sim_order_end(&s->blocks[k]);
}

static inline void world_open_with(world *s, const sim_options *options, int blocks, int warps, int shared)
{
    memset(s, 0, sizeof *s);
    arena_init(&s->mem, NULL);
    src_map_init(&s->sources, &s->mem);
    s->device = sim_new(&s->mem, options);
    s->program.arena = &s->mem;
    for (uint32_t i = 0; i < WORLD_SITES; i++) {
        sim_site site = {.span = {i, i}, .statement = {i, i}};
        VEC_PUSH(&s->mem, &s->program.sites, site);
    }
    world_launch(s, blocks, warps, shared);
}

static inline void world_open(world *s, int blocks, int warps, int shared)
{
    sim_options options = {.max_findings = 1000};
    world_open_with(s, &options, blocks, warps, shared);
}

static inline void world_close(world *s)
{
    world_end_launch(s);
    sim_free(s->device);
    arena_free(&s->mem);
}

// The codes of all findings so far, which are forgotten: "HDS0605 HDS0606", each once for each pair of locations.
static inline const char *world_codes(world *s)
{
    diag_context dx;
    str_buf out;
    diag_init(&dx, &s->mem, &s->sources);
    sim_findings_report(s->device, &dx);
    str_buf_init(&out, &s->mem);
    str_adds(&out, "");
    for (size_t i = 0; i < dx.all.len; i++)
        str_addf(&out, "%s%s", i ? " " : "", diag_name(dx.all.at[i]->code));
    sim_findings_clear(s->device);
    return str_text(&out);
}

// The message of the first finding, with its second location and help; all are forgotten.
static inline const char *world_text(world *s)
{
    diag_context dx;
    str_buf out;
    diag_init(&dx, &s->mem, &s->sources);
    sim_findings_report(s->device, &dx);
    str_buf_init(&out, &s->mem);
    str_adds(&out, "");
    diag *d = dx.all.len ? dx.all.at[0] : NULL;
    if (d)
        str_adds(&out, d->message);
    if (d && d->label)
        str_addf(&out, "; under: %s", d->label);
    for (size_t i = 0; d && i < d->parts.len; i++)
        str_addf(&out, "; %s", d->parts.at[i].text);
    sim_findings_clear(s->device);
    return str_text(&out);
}

// ---- accesses --------------------------------------------------------------------------------------------------------

typedef struct act {
    int block, warp;
    uint32_t lanes;
    uint64_t address;  // of lane 0
    int64_t step;      // from lane to lane
    int bytes;         // of an element: 1, 2, 4, 8
    int count;         // 0: 1
    uint32_t site;
    uint64_t value;    // to write
    int64_t value_step;
    bool is_volatile;
} act;

static inline sim_warp *world_warp(world *s, const act *a) { return &s->blocks[a->block].warps[a->warp]; }

static inline sim_access world_access(const act *a)
{
    dtype types[] = {[1] = DT_U8, [2] = DT_U16, [4] = DT_U32, [8] = DT_U64};
    return (sim_access){.bytes = (uint8_t)a->bytes, .count = (uint16_t)(a->count ? a->count : 1), .type = types[a->bytes],
                        .site = a->site, .is_volatile = a->is_volatile};
}

static inline void world_addresses(const act *a, uint64_t *address)
{
    for (int lane = 0; lane < SIM_LANES; lane++)
        address[lane] = a->lanes >> lane & 1 ? a->address + (uint64_t)(lane * a->step) : 0xdeadbeefdeadbeefu;
}

// Into cells 8 …; uninitialized values that the lanes read.
static inline uint32_t world_load(world *s, act a)
{
    sim_access access = world_access(&a);
    uint64_t address[SIM_LANES];
    world_addresses(&a, address);
    sim_load(world_warp(s, &a), &access, a.lanes, address, 8);
    return world_warp(s, &a)->poison[8] & a.lanes;
}

static inline void world_store(world *s, act a)
{
    sim_access access = world_access(&a);
    sim_warp *w = world_warp(s, &a);
    uint64_t address[SIM_LANES];
    world_addresses(&a, address);
    for (int i = 0; i < access.count; i++) {
        for (int lane = 0; lane < SIM_LANES; lane++) {
            uint64_t value = a.value + (uint64_t)(lane * a.value_step);
            if (a.bytes == 8)
                sim_u64(w, 16 + 2 * (uint32_t)i)[lane] = value;
            else
                sim_u32(w, 16 + (uint32_t)i)[lane] = (uint32_t)value;
        }
        w->poison[16 + i * (a.bytes == 8 ? 2 : 1)] = 0;
    }
    sim_store(w, &access, a.lanes, address, 16);
}

static inline act one(int block, int thread, uint64_t address, int bytes, uint32_t site)
{
    return (act){.block = block, .warp = thread / SIM_LANES, .lanes = (uint32_t)1 << thread % SIM_LANES,
                 .address = address, .bytes = bytes, .site = site, .value = site};
}

// The atomic operation of one thread; adds one.
static inline void world_atomic(world *s, act a, bool writes, sim_sem sem, sim_reach reach)
{
    uint8_t *at = sim_atomic(world_warp(s, &a), a.site, (uint32_t)__builtin_ctz(a.lanes), a.address, a.bytes, writes, sem, reach);
    if (at && writes)
        ++*at;
}

static inline void world_fence(world *s, int block, int thread, sim_reach reach)
{
    sim_order_fence(&s->blocks[block].warps[thread / SIM_LANES], (uint32_t)1 << thread % SIM_LANES, reach);
}

#define WORLD_EXPECT(s, codes) assert_string_equal(world_codes(s), codes)
