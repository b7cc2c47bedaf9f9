// Frames, slots, packing, and statements of host functions.
#include "sim/exec.h"

#include <complex.h>
#include <string.h>

#include "sim/check.h"

enum { LARGEST_DEPTH = 4096 };

sim_step sim_execute(sim_warp *w, int64_t quantum)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"))
        return sim_execute_avx2(w, quantum);
#endif
    return sim_execute_base(w, quantum);
}

// ---- frames ------------------------------------------------------------------------------------------------------

static void point_at(sim_warp *w, uint32_t base)
{
    w->cells = w->all_cells + (size_t)base * SIM_CELL_BYTES;
    w->poison = w->all_poison + base;
    w->why = w->all_why + base;
    w->field = w->all_field ? w->all_field + (size_t)base * SIM_LANES * SIM_FIELD_PARTS : NULL;
    w->products = w->all_products ? w->all_products + (size_t)base * SIM_LANES : NULL;
    w->has_product = w->all_products ? w->all_has_product + base : NULL;
}

static void *grown(arena *a, void *old, size_t old_bytes, size_t bytes)
{
    return arena_grow(a, old, old_bytes, bytes);
}

// Grows the stack of frames to [cells]; contents are kept.
static void reserve(sim_warp *w, uint32_t cells)
{
    if (cells <= w->cell_limit)
        return;
    uint32_t limit = w->cell_limit ? w->cell_limit * 2 : 0;
    limit = limit > cells ? limit : cells;
    arena *a = w->block->arena;
    size_t old = w->cell_limit;
    w->all_cells = grown(a, w->all_cells, old * SIM_CELL_BYTES, (size_t)limit * SIM_CELL_BYTES);
    w->all_poison = grown(a, w->all_poison, old * sizeof(uint32_t), limit * sizeof(uint32_t));
    w->all_why = grown(a, w->all_why, old * sizeof(uint32_t), limit * sizeof(uint32_t));
    memset(w->all_poison + old, 0, (limit - old) * sizeof(uint32_t));
    memset(w->all_why + old, 0, (limit - old) * sizeof(uint32_t));
    if (w->block->launch->device->options.field) {
        size_t each = SIM_LANES * SIM_FIELD_PARTS * sizeof(sim_field);
        w->all_field = grown(a, w->all_field, old * each, limit * each);
        memset((uint8_t *)w->all_field + old * each, 0xff, (limit - old) * each);
    }
    if (w->contracts) {
        size_t each = SIM_LANES * sizeof(sim_product);
        w->all_products = grown(a, w->all_products, old * each, limit * each);
        w->all_has_product = grown(a, w->all_has_product, old * sizeof(uint32_t), limit * sizeof(uint32_t));
        memset(w->all_has_product + old, 0, (limit - old) * sizeof(uint32_t));
    }
    w->cell_limit = limit;
}

// Broadcasts a value to all lanes of its cells. Narrow integers may have arbitrary high bits.
static void broadcast(sim_warp *w, uint32_t cell, const ir_type *type, uint64_t bits)
{
    dtype t = type->kind == IR_SCALAR || type->kind == IR_VECTOR ? type->scalar : DT_NONE;
    int width = t == DT_NONE ? 64 : dt_bits(t), lanes = type->kind == IR_VECTOR ? type->lanes : 1;
    for (int i = 0; i < lanes; i++, bits = width < 64 ? bits >> width : 0) {
        uint64_t value = width < 64 ? bits & (((uint64_t)1 << width) - 1) : bits;
        if (t != DT_NONE && dt_is_int(t))
            value = (uint64_t)dt_wrap_int(t, (int64_t)value);
        for (int l = 0; l < SIM_LANES; l++) {
            if (width > 32)
                sim_u64(w, cell)[l] = value;
            else
                sim_u32(w, cell)[l] = (uint32_t)value;
        }
        w->poison[cell] = 0;
        cell += width > 32 ? 2 : 1;
    }
}

void sim_warp_start(sim_warp *w, const sim_code *code, const uint64_t *args, int count)
{
    reserve(w, code->cell_count);
    point_at(w, 0);
    w->code = code;
    w->pc = code->ops.at;
    w->active = w->full;
    w->off = w->outside = 0;
    w->frames.len = w->control.len = 0;
    sim_frame frame = {.code = code, .saved = w->full};
    VEC_PUSH(w->block->arena, &w->frames, frame);
    for (int i = 0; i < count; i++)
        broadcast(w, code->param_cells[i], code->func->params.at[i]->type, args[i]);
    if (w->field)
        sim_field_start(w, code->param_cells, count);
    w->state = SIM_NEXT;
}

// Cells of the stack of frames, with their shadow arrays.
static void copy_cells(sim_warp *w, size_t to, size_t from, size_t count)
{
    memcpy(w->all_cells + to * SIM_CELL_BYTES, w->all_cells + from * SIM_CELL_BYTES, count * SIM_CELL_BYTES);
    memcpy(w->all_poison + to, w->all_poison + from, count * sizeof(uint32_t));
    memcpy(w->all_why + to, w->all_why + from, count * sizeof(uint32_t));
    if (w->all_field) {
        size_t each = SIM_LANES * SIM_FIELD_PARTS;
        memcpy(w->all_field + to * each, w->all_field + from * each, count * each * sizeof(sim_field));
    }
    if (w->all_products) {
        memcpy(w->all_products + to * SIM_LANES, w->all_products + from * SIM_LANES, count * SIM_LANES * sizeof(sim_product));
        memcpy(w->all_has_product + to, w->all_has_product + from, count * sizeof(uint32_t));
    }
}

bool sim_enter(sim_warp *w, const sim_op *op)
{
    const sim_code *callee = w->block->launch->program->codes[op->a];
    const sim_frame *caller = &VEC_LAST(&w->frames);
    if (w->frames.len >= LARGEST_DEPTH) {
        sim_check_depth(w, op->site);
        return false;
    }
    uint32_t from = caller->base + op->b, base = caller->base + w->code->cell_count;
    reserve(w, base + callee->cell_count);
    uint32_t to = base + callee->param_cell;
    copy_cells(w, to, from, op->c);
    uint32_t below = caller->local_base + w->code->local_bytes;
    sim_frame frame = {
        .code = callee,
        .pc = (uint32_t)(op - w->code->ops.at),
        .base = base,
        .saved = w->active,
        .control = (uint32_t)w->control.len,
        .local_base = below > SIM_LARGEST_LOCAL ? SIM_LARGEST_LOCAL : below,
    };
    VEC_PUSH(w->block->arena, &w->frames, frame);
    w->code = callee;
    w->pc = callee->ops.at;
    point_at(w, base);
    return true;
}

bool sim_leave(sim_warp *w)
{
    if (w->frames.len == 1)
        return false;
    sim_frame frame = VEC_POP(&w->frames);
    const sim_frame *caller = &VEC_LAST(&w->frames);
    w->off &= ~frame.returned;
    w->active = frame.saved;
    w->code = caller->code;
    w->pc = caller->code->ops.at + frame.pc;
    point_at(w, caller->base);
    uint32_t from = frame.base + frame.code->result_cell, to = caller->base + w->pc->dst;
    copy_cells(w, to, from, w->pc->count);
    return true;
}

// ---- values ------------------------------------------------------------------------------------------------------

// Smith's algorithm, as in the CUDA prelude.
void sim_complex_divide(float *out, const float *a, const float *b)
{
    float ar = a[0], ai = a[1], br = b[0], bi = b[1];
    float scale = br * br + bi * bi;
    out[0] = (ar * br + ai * bi) / scale;
    out[1] = (ai * br - ar * bi) / scale;
}

static uint64_t lane_bits(const sim_warp *w, uint32_t cell, int bits, int lane)
{
    if (bits > 32)
        return sim_u64(w, cell)[lane];
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    return sim_u32(w, cell)[lane] & mask;
}

void sim_pack(sim_warp *w, const sim_op *op)
{
    uint64_t packed[SIM_LANES] = {0};
    uint32_t poison = 0, why = 0, in = op->b > 32 ? 2 : 1;
    for (uint32_t i = 0; i < op->count; i++) {
        uint32_t cell = op->a + i * in;
        for (int l = 0; l < SIM_LANES; l++)
            packed[l] |= lane_bits(w, cell, (int)op->b, l) << (i * op->b);
        if (w->poison[cell])
            why = w->why[cell];
        poison |= w->poison[cell];
    }
    for (int l = 0; l < SIM_LANES; l++) {
        if (op->c == 2)
            sim_u64(w, op->dst)[l] = packed[l];
        else
            sim_u32(w, op->dst)[l] = (uint32_t)packed[l];
    }
    w->poison[op->dst] = poison;
    w->why[op->dst] = why;
}

void sim_unpack(sim_warp *w, const sim_op *op)
{
    bool from_wide = op->count * op->b > 32;
    uint64_t whole[SIM_LANES];
    for (int l = 0; l < SIM_LANES; l++)
        whole[l] = from_wide ? sim_u64(w, op->a)[l] : sim_u32(w, op->a)[l];
    uint32_t poison = w->poison[op->a], why = w->why[op->a];
    int up = 64 - (int)op->b;
    for (uint32_t i = 0; i < op->count; i++) {
        uint32_t cell = op->dst + i;
        for (int l = 0; l < SIM_LANES; l++) {
            uint64_t bits = whole[l] >> (i * op->b) << up;
            sim_u32(w, cell)[l] = (uint32_t)(op->c ? (uint64_t)((int64_t)bits >> up) : bits >> up);
        }
        w->poison[cell] = poison;
        w->why[cell] = why;
    }
}

// ---- private memory and slots ------------------------------------------------------------------------------------

// The bytes count as uninitialised from now on, as in fresh memory. Without recursion the window is large enough from
// the start.
bool sim_local_base(sim_warp *w, const sim_op *op)
{
    uint64_t base = (uint64_t)VEC_LAST(&w->frames).local_base + op->a, end = base + op->b;
    if (end > SIM_LARGEST_LOCAL) {
        sim_check_local(w, op->site, w->block->launch->program->statements.at[op->c]->var, base);
        return false;
    }
    if (end > w->local_bytes)
        sim_local_grow(w, (uint32_t)(2 * end));
    sim_local_undefine(w, w->active, (uint32_t)base, op->b);
    for (int l = 0; l < SIM_LANES; l++)
        sim_u64(w, op->dst)[l] = SIM_TAG_LOCAL | base;
    w->poison[op->dst] = 0;
    return true;
}

uint8_t *sim_local_start(sim_warp *w)
{
    const sim_program *p = w->block->launch->program;
    uint64_t bytes = 0;
    for (size_t i = 0; i < p->module->funcs.len; i++)
        bytes += (p->codes[i]->local_bytes + 15) / 16 * 16;
    w->local_bytes = (uint32_t)(bytes < SIM_LARGEST_LOCAL ? bytes : SIM_LARGEST_LOCAL);
    return w->local_bytes ? arena_alloc(w->block->arena, (size_t)w->local_bytes * SIM_LANES) : NULL;
}

void sim_zero(sim_warp *w, const sim_access *access, uint32_t lanes, uint32_t cell)
{
    uint32_t each = access->bytes > 4 ? 2 : 1;
    for (uint32_t i = 0; i < access->count; i++, cell += each) {
        SIM_EACH(lane, lanes)
        {
            if (each == 2)
                sim_u64(w, cell)[lane] = 0;
            else
                sim_u32(w, cell)[lane] = 0;
        }
        w->poison[cell] &= ~lanes;
    }
}

// Lanes whose slot is inside the array; reports the others.
static uint32_t slots_inside(sim_warp *w, const sim_op *op, uint32_t array)
{
    uint32_t mask = w->active & ~w->outside;
    w->outside = 0;
    if (w->poison[op->b] & mask)
        mask = sim_require_defined(w, op->site, op->b, mask, "the index");
    SIM_EACH(lane, mask)
    {
        int64_t slot = sim_i64(w, op->b)[lane];
        if (slot < 0 || slot >= op->count) {
            sim_check_slot(w, op->site, lane, array, slot, op->count);
            mask &= ~(1u << lane);
        }
    }
    return mask;
}

static void move_lane(sim_warp *w, uint32_t to, uint32_t from, uint32_t part, uint32_t lane, uint32_t site)
{
    uint32_t bit = 1u << lane;
    if (site && (w->poison[to] & bit) && sim_in_flight(w, to, from, bit))
        sim_check_flight(w, site, bit, to);
    if (part == 2)
        sim_u64(w, to)[lane] = sim_u64(w, from)[lane];
    else
        sim_u32(w, to)[lane] = sim_u32(w, from)[lane];
    w->poison[to] = (w->poison[to] & ~bit) | (w->poison[from] & bit);
    if (w->poison[from] & bit)
        w->why[to] = w->why[from];
    if (w->field)
        memcpy(sim_field_of(w, to, (int)lane), sim_field_of(w, from, (int)lane), SIM_FIELD_PARTS * sizeof(sim_field));
    if (w->products)
        sim_product_move(w, to, from, bit);
}

void sim_load_slot(sim_warp *w, const sim_op *op)
{
    uint32_t cells = op->c & 0xffff, part = op->c >> 16;
    SIM_EACH(lane, slots_inside(w, op, op->a))
    for (uint32_t i = 0; i < cells; i += part)
        move_lane(w, op->dst + i, op->a + (uint32_t)sim_i64(w, op->b)[lane] * cells + i, part, lane, 0);
}

void sim_store_slot(sim_warp *w, const sim_op *op)
{
    uint32_t cells = op->c & 0xffff, part = op->c >> 16;
    SIM_EACH(lane, slots_inside(w, op, op->dst))
    for (uint32_t i = 0; i < cells; i += part)
        move_lane(w, op->dst + (uint32_t)sim_i64(w, op->b)[lane] * cells + i, op->a + i, part, lane, op->site);
}

// ---- host functions on all lanes -----------------------------------------------------------------------------------

void sim_spread(sim_warp *w, const sim_op *op)
{
    for (int cell = 0; cell < op->count; cell++)
        w->poison[op->dst + (uint32_t)cell] = w->poison[op->dst + (uint32_t)cell] & 1 ? UINT32_MAX : 0;
    for (int lane = 1; lane < SIM_LANES; lane++) {
        if (op->count == 2)
            sim_u64(w, op->dst)[lane] = sim_u64(w, op->dst)[0];
        else
            sim_u32(w, op->dst)[lane] = sim_u32(w, op->dst)[0];
    }
}

// Formulas are followed, and statements are watched, one lane after the other.
void sim_spread_begin(sim_warp *w, const sim_op *op)
{
    bool is_alone = w->field || w->block->launch->device->options.watch;
    w->full = is_alone ? 1 : UINT32_MAX;
    for (int lane = 0; lane < SIM_LANES; lane++) {
        sim_u64(w, op->dst)[lane] = (uint64_t)lane;
        sim_u64(w, op->a)[lane] = is_alone ? 1 : SIM_LANES;
    }
    for (uint32_t cell = 0; cell < 2; cell++)
        w->poison[op->dst + cell] = w->poison[op->a + cell] = 0;
}

// ---- statements of host functions --------------------------------------------------------------------------------

uint64_t sim_constant_address(sim_warp *w, uint32_t index)
{
    const sim_launch *l = w->block->launch;
    const uint64_t *addresses = map_get_ptr(&l->device->constants, l->program);
    return addresses[index];
}

bool sim_allocate_statement(sim_warp *w, const sim_op *op)
{
    const ir_stmt *s = w->block->launch->program->statements.at[op->b];
    const ir_type *elem = s->var->tensor->elem;
    bool is_subbyte = elem->kind == IR_SCALAR && dt_is_subbyte(elem->scalar);
    int64_t count = sim_i64(w, op->a)[__builtin_ctz(w->active)], bytes;
    int64_t each = is_subbyte ? 1 : ir_type_bytes(elem);
    bool fits = count >= 0 && !__builtin_mul_overflow(count, each, &bytes);
    if (fits && is_subbyte)
        bytes = (count * dt_bits(elem->scalar) + 7) / 8;
    uint64_t address = fits ? sim_allocate(w->block->launch->device, bytes, (int)each, s->var->name) : 0;
    if (!address) {
        sim_check_memory(w, op->site, s->var->name, fits ? bytes : INT64_MAX);
        return false;
    }
    for (int l = 0; l < SIM_LANES; l++)
        sim_u64(w, op->dst)[l] = address;
    w->poison[op->dst] = 0;
    sim_keep_allocation(w->block->launch, address);
    return true;
}

void sim_fill_statement(sim_warp *w, const sim_op *op)
{
    uint32_t lane = (uint32_t)__builtin_ctz(w->active);
    uint64_t address = sim_u64(w, op->a)[lane];
    int64_t count = sim_i64(w, op->b)[lane], bytes = 0;
    uint64_t value = op->count > 4 ? sim_u64(w, op->c)[lane] : sim_u32(w, op->c)[lane];
    uint8_t *at = sim_bytes(w->block->launch->device, address, &bytes);
    for (int64_t i = 0; at && i < count && (i + 1) * op->count <= bytes; i++)
        memcpy(at + i * op->count, &value, op->count);
    sim_mark_written(w->block->launch->device, address, bytes);
}

bool sim_launch_statement(sim_warp *w, const sim_op *op)
{
    sim_launch *host = w->block->launch;
    const ir_stmt *s = host->program->statements.at[op->a];
    uint64_t *args = ARENA_ARRAY(w->block->arena, uint64_t, s->arg_count + 1);
    uint32_t lane = (uint32_t)__builtin_ctz(w->active);
    for (int i = 0; i < s->arg_count; i++)
        args[i] = sim_u64(w, op->b + 2 * (uint32_t)i)[lane];
    host->device->arg_fields = w->field ? sim_field_arguments(w, op->b, s->arg_count, lane) : NULL;
    sim_at_launch(host->device, host->program, op->site);
    return sim_launch_kernel(host->device, host->program, s->func, args, s->arg_count, op->site) != SIM_STOPPED;
}

void sim_watch_statement(sim_warp *w, const sim_op *op)
{
    const sim_watch *watch = w->block->launch->device->options.watch;
    if (!watch || (watch->has_block && watch->block != w->block->index))
        return;
    uint32_t lanes = w->active;
    if (watch->has_thread)
        lanes &= watch->thread / SIM_LANES == w->index ? 1u << (watch->thread % SIM_LANES) : 0;
    w->line_site = op->site;
    if (lanes)
        watch->statement(watch->user, w, op->site, lanes);
}
