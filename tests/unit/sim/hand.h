// Warps made by hand, to run single models: a device, a block of a few warps with shared memory, and uses of
// instructions whose operands are cells one after the other.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sim/finding.h"
#include "sim/model.h"

enum { HAND_CELLS = 256, HAND_SHARED = 4096, HAND_WARPS = 4 };

typedef struct hand {
    arena mem;
    sim *device;
    sim_program program;
    sim_launch launch;
    sim_block block;
    uint64_t random;
} hand;

static inline uint64_t hand_random(hand *h)
{
    h->random ^= h->random << 13;
    h->random ^= h->random >> 7;
    h->random ^= h->random << 17;
    return h->random * 0x2545f4914f6cdd1du;
}

static inline void hand_start_warp(hand *h, int index, bool field)
{
    sim_warp *w = &h->block.warps[index];
    w->block = &h->block;
    w->index = index;
    w->full = w->active = UINT32_MAX;
    w->all_cells = ARENA_ARRAY(&h->mem, uint8_t, HAND_CELLS * SIM_CELL_BYTES);
    w->all_poison = ARENA_ARRAY(&h->mem, uint32_t, HAND_CELLS);
    w->all_why = ARENA_ARRAY(&h->mem, uint32_t, HAND_CELLS);
    w->cells = w->all_cells;
    w->poison = w->all_poison;
    w->why = w->all_why;
    w->cell_limit = HAND_CELLS;
    if (field) {
        size_t bytes = (size_t)HAND_CELLS * SIM_LANES * SIM_FIELD_PARTS * sizeof(sim_field);
        w->all_field = w->field = arena_alloc(&h->mem, bytes);
        memset(w->field, 0xff, bytes);
    }
    sim_frame frame = {0};
    VEC_PUSH(&h->mem, &w->frames, frame);
    for (int lane = 0; lane < SIM_LANES; lane++)
        w->tid[0][lane] = index * SIM_LANES + lane;
}

// Every finding of a hand-made block has a site of its own: none is dropped as a repetition.
static inline void hand_open(hand *h, int warps, bool field)
{
    *h = (hand){.random = 88172645463325252u};
    arena_init(&h->mem, NULL);
    sim_options options = {.field = field, .max_findings = 1000};
    h->device = sim_new(&h->mem, &options);
    h->program.arena = &h->mem;
    for (int i = 0; i < 64; i++) {
        sim_site site = {.origin = (uint32_t)i};
        VEC_PUSH(&h->mem, &h->program.sites, site);
    }
    h->launch = (sim_launch){.device = h->device, .program = &h->program, .block_count = 1};
    for (int i = 0; i < 3; i++)
        h->launch.shape.grid[i] = h->launch.shape.block[i] = h->launch.shape.cluster[i] = 1;
    h->launch.shape.block[0] = warps * SIM_LANES;
    h->block = (sim_block){.launch = &h->launch, .warp_count = warps, .alive = warps, .arena = &h->mem};
    h->block.thread_count = warps * SIM_LANES;
    h->block.shared_bytes = HAND_SHARED;
    h->block.shared = ARENA_ARRAY(&h->mem, uint8_t, HAND_SHARED);
    h->block.warps = ARENA_ARRAY(&h->mem, sim_warp, warps);
    for (int i = 0; i < warps; i++)
        hand_start_warp(h, i, field);
    sim_order_start(&h->block);
}

static inline void hand_close(hand *h)
{
    sim_order_end(&h->block);
    sim_free(h->device);
    arena_free(&h->mem);
}

// ---- uses ---------------------------------------------------------------------------------------------------------

typedef struct hand_operand {
    const char *name;
    dtype type; // DT_NONE: an address
    int count;  // 0: the end of a list
} hand_operand;

static inline void hand_bind(sim_operand *o, hand_operand from, uint32_t *cell)
{
    int cells = from.type == DT_NONE || dt_bits(from.type) == 64 ? 2 : 1;
    *o = (sim_operand){
        .cell = *cell, .count = (uint16_t)from.count, .cells = (uint8_t)cells, .type = from.type, .name = from.name};
    *cell += (uint32_t)(cells * from.count);
}

// Operands from cell 8 on, in their order; then the result. [argument]: "T=f16" or NULL.
static inline sim_use *hand_use(hand *h, const char *module, const char *name, const char *text, hand_operand result,
                                const hand_operand *operands, const char *argument)
{
    ir_intrin *in = ARENA_NEW(&h->mem, ir_intrin);
    *in = (ir_intrin){.name = name, .module = module, .text = text};
    bool is_cuda = strstr(text, "__") || strchr(text, '(');
    in->form = is_cuda ? IR_INTRIN_CUDA : IR_INTRIN_PTX;
    while (operands && operands[in->operand_count].count)
        in->operand_count++;
    in->operands = ARENA_ARRAY(&h->mem, ir_operand, in->operand_count);
    in->dtypes = ARENA_ARRAY(&h->mem, const char *, 2);
    in->dtypes[0] = argument;
    sim_use *use = ARENA_NEW(&h->mem, sim_use);
    use->intrin = in;
    use->site = (uint32_t)(1 + hand_random(h) % 60);
    use->operands = ARENA_ARRAY(&h->mem, sim_operand, in->operand_count);
    uint32_t cell = 8;
    for (int i = 0; i < in->operand_count; i++) {
        in->operands[i].name = operands[i].name;
        hand_bind(&use->operands[i], operands[i], &cell);
    }
    hand_bind(&use->result, result, &cell);
    use->model = sim_model_find(module, name);
    assert_non_null(use->model);
    if (use->model->bind)
        assert_true(use->model->bind(use));
    return use;
}

static inline sim_step hand_run(sim_warp *w, const sim_use *use)
{
    return use->model->run(w, use);
}

static inline uint32_t hand_cell(const sim_operand *o, int element)
{
    return o->cell + (uint32_t)(element * o->cells);
}

static inline uint64_t hand_get(const sim_warp *w, const sim_operand *o, int element, int lane)
{
    uint32_t cell = hand_cell(o, element);
    return o->cells == 2 ? sim_u64(w, cell)[lane] : sim_u32(w, cell)[lane];
}

static inline void hand_set(sim_warp *w, const sim_operand *o, int element, int lane, uint64_t bits)
{
    uint32_t cell = hand_cell(o, element);
    if (o->cells == 2)
        sim_u64(w, cell)[lane] = bits;
    else
        sim_u32(w, cell)[lane] = (uint32_t)bits;
}

static inline void hand_set_all(sim_warp *w, const sim_operand *o, int element, uint64_t bits)
{
    for (int lane = 0; lane < SIM_LANES; lane++)
        hand_set(w, o, element, lane, bits);
}

#define HAND_OPERANDS(...) ((const hand_operand[]){__VA_ARGS__, {0}})
