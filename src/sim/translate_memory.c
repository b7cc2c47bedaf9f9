// Tensors to addresses and cells: layouts, strides, mappings, guards.
//
// The arithmetic is deliberately duplicated here: it shares no code with the passes lower-registers and flatten, so
// that running the IR before and after them compares two implementations.
#include "sim/translate_priv.h"

#include <string.h>

// ---- addresses -----------------------------------------------------------------------------------------------------

tr_location *tr_new_location(tr *t, const ir_var *v, bool is_array, uint32_t cell, int64_t elements)
{
    tr_location *p = ARENA_NEW(t->arena, tr_location);
    *p = (tr_location){is_array, cell, elements};
    map_put_ptr(&t->locations, v, p);
    return p;
}

tr_location *tr_location_of(tr *t, const ir_var *v)
{
    tr_location *p = map_get_ptr(&t->locations, v);
    if (p)
        return p;
    uintptr_t global = (uintptr_t)map_get_ptr(&t->program->globals, v);
    uint32_t cell = tr_cells(t, 2);
    tr_op(t, SIM_OP_GLOBAL_BASE, cell, (uint32_t)(global - 1), 0, 0);
    // Computed again at its next use: this point may not be on every path to it.
    p = ARENA_NEW(t->arena, tr_location);
    *p = (tr_location){false, cell, 0};
    return p;
}

uint32_t tr_base(tr *t, const ir_var *tensor)
{
    return tr_location_of(t, tensor)->cell;
}

uint32_t tr_access(tr *t, const ir_type *elem, int count, ir_space space, const ir_var *var, bool is_volatile)
{
    sim_access access = {.count = (uint16_t)count, .space = space, .var = var, .is_volatile = is_volatile, .site = t->site};
    access.type = tr_element_type(elem);
    access.is_signed = access.type != DT_NONE && dt_is_signed(access.type);
    int lanes = tr_element_count(elem);
    if (elem->kind == IR_VECTOR)
        access.count = (uint16_t)(count * lanes);
    access.bytes = access.type == DT_NONE ? 8 : (uint8_t)(dt_bits(access.type) / 8);
    if (access.type != DT_NONE && dt_is_subbyte(access.type)) {
        access.bytes = 1;
        access.bits = (uint8_t)dt_bits(access.type);
    }
    if (access.type == DT_BOOL)
        access.bytes = 1, access.bits = 0;
    if (access.type == DT_TF32)
        access.bytes = 4;
    bool may_be_global = space == IR_GLOBAL || space == IR_GENERIC;
    t->code->talks_between_blocks |= is_volatile && may_be_global;
    VEC_PUSH(t->arena, &t->program->accesses, access);
    return (uint32_t)t->program->accesses.len - 1;
}

// ---- offsets ---------------------------------------------------------------------------------------------------------

static uint32_t binary64(tr *t, sim_opcode op, uint32_t a, uint32_t b)
{
    uint32_t dst = tr_cells(t, 2);
    tr_op(t, op, dst, a, b, 0);
    return dst;
}

static uint32_t with64(tr *t, sim_opcode op, uint32_t a, int64_t b)
{
    return binary64(t, op, a, tr_constant_of(t, (uint64_t)b, 2));
}

static uint32_t scaled(tr *t, uint32_t a, int64_t by)
{
    return by == 1 ? a : with64(t, SIM_OP_MUL_I64, a, by);
}

static uint32_t zero64(tr *t)
{
    return tr_constant_of(t, 0, 2);
}

static bool is_zero(tr *t, uint32_t cell)
{
    return cell == zero64(t);
}

static uint32_t sum64(tr *t, uint32_t a, uint32_t b)
{
    if (is_zero(t, a))
        return b;
    return is_zero(t, b) ? a : binary64(t, SIM_OP_ADD_I64, a, b);
}

static uint32_t layout_offset(tr *t, const tm_layout *l, const uint32_t *index);

static uint32_t strided_offset(tr *t, const tm_layout *l, const uint32_t *index)
{
    uint32_t sum = zero64(t);
    for (int d = 0; d < l->rank; d++)
        if (l->strides[d] && !is_zero(t, index[d]))
            sum = sum64(t, sum, scaled(t, index[d], l->strides[d]));
    return sum;
}

static uint32_t composed_offset(tr *t, const tm_layout *l, const uint32_t *index)
{
    uint32_t outer[TM_MAX_RANK], inner[TM_MAX_RANK];
    for (int d = 0; d < l->rank; d++) {
        outer[d] = with64(t, SIM_OP_DIV_U64, index[d], l->inner->shape[d]);
        inner[d] = with64(t, SIM_OP_MOD_U64, index[d], l->inner->shape[d]);
    }
    return sum64(t, scaled(t, layout_offset(t, l->outer, outer), l->inner->size), layout_offset(t, l->inner, inner));
}

static uint32_t concatenated_offset(tr *t, const tm_layout *l, const uint32_t *index)
{
    uint32_t outer = layout_offset(t, l->outer, index), inner = layout_offset(t, l->inner, index + l->outer->rank);
    return sum64(t, scaled(t, outer, l->inner->size), inner);
}

// index[dim] ^= (index[regards] >> log_step) mod extent
static uint32_t swizzled_offset(tr *t, const tm_layout *l, const uint32_t *index)
{
    uint32_t changed[TM_MAX_RANK];
    memcpy(changed, index, sizeof *index * (size_t)l->rank);
    uint32_t swizzle = with64(t, SIM_OP_DIV_U64, index[l->regards], (int64_t)1 << l->log_step);
    swizzle = with64(t, SIM_OP_MOD_U64, swizzle, l->shape[l->dim]);
    changed[l->dim] = binary64(t, SIM_OP_XOR_I64, index[l->dim], swizzle);
    return layout_offset(t, l->inner, changed);
}

static uint32_t xor_offset(tr *t, const tm_layout *l, const uint32_t *index)
{
    uint32_t offset = layout_offset(t, l->inner, index);
    int64_t mask = (((int64_t)1 << l->bits) - 1) << l->base_bits;
    uint32_t bits = with64(t, SIM_OP_AND_I64, with64(t, SIM_OP_DIV_U64, offset, (int64_t)1 << l->shift), mask);
    return binary64(t, SIM_OP_XOR_I64, offset, bits);
}

static uint32_t reshaped_offset(tr *t, const tm_layout *l, const uint32_t *index)
{
    uint32_t flat = zero64(t), inner[TM_MAX_RANK];
    for (int d = 0; d < l->rank; d++)
        flat = sum64(t, scaled(t, flat, l->shape[d]), index[d]);
    int64_t below = 1;
    for (int d = l->inner->rank - 1; d >= 0; d--) {
        inner[d] = with64(t, SIM_OP_MOD_U64, with64(t, SIM_OP_DIV_U64, flat, below), l->inner->shape[d]);
        below *= l->inner->shape[d];
    }
    return layout_offset(t, l->inner, inner);
}

static uint32_t permuted_offset(tr *t, const tm_layout *l, const uint32_t *index)
{
    uint32_t inner[TM_MAX_RANK] = {0};
    for (int d = 0; d < l->rank; d++)
        inner[l->perm[d]] = index[d];
    return layout_offset(t, l->inner, inner);
}

// The digits of one kind of a mapping as one number: the position in the owner's list, or the owner.
static uint32_t digits_number(tr *t, const tm_map *m, tm_kind kind, const uint32_t *index)
{
    uint32_t number = zero64(t);
    int64_t below = kind == TM_SPATIAL ? m->workers : m->tasks_per_worker;
    for (int i = 0; i < m->digit_count; i++) {
        const tm_digit *g = &m->digits[i];
        if (g->kind != kind)
            continue;
        below /= g->extent;
        if (g->dim < 0 || g->extent == 1)
            continue;
        uint32_t digit = with64(t, SIM_OP_MOD_U64, with64(t, SIM_OP_DIV_U64, index[g->dim], g->stride), g->extent);
        number = sum64(t, number, scaled(t, digit, below));
    }
    return number;
}

static uint32_t layout_offset(tr *t, const tm_layout *l, const uint32_t *index)
{
    switch (l->kind) {
    case TM_LAYOUT_STRIDED: return strided_offset(t, l, index);
    case TM_LAYOUT_COMPOSE: return composed_offset(t, l, index);
    case TM_LAYOUT_CONCAT: return concatenated_offset(t, l, index);
    case TM_LAYOUT_SWIZZLE: return swizzled_offset(t, l, index);
    case TM_LAYOUT_XOR: return xor_offset(t, l, index);
    case TM_LAYOUT_RESHAPE: return reshaped_offset(t, l, index);
    case TM_LAYOUT_PERMUTE: return permuted_offset(t, l, index);
    case TM_LAYOUT_MAPPING: return digits_number(t, l->map, TM_REPEAT, index);
    }
    return zero64(t);
}

static uint32_t strides_offset(tr *t, const ir_tensor *tensor, const uint32_t *index)
{
    uint32_t sum = zero64(t);
    for (int d = 0; d < tensor->rank; d++) {
        int64_t known;
        if (ir_const_int(tensor->strides[d], &known))
            sum = sum64(t, sum, known ? scaled(t, index[d], known) : zero64(t));
        else
            sum = sum64(t, sum, binary64(t, SIM_OP_MUL_I64, index[d], tr_index(t, tensor->strides[d], true)));
    }
    return sum;
}

static uint32_t offset_of(tr *t, const ir_tensor *tensor, const uint32_t *index)
{
    if (tensor->layout)
        return layout_offset(t, tensor->layout, index);
    if (tensor->map)
        return digits_number(t, tensor->map, TM_REPEAT, index);
    return strides_offset(t, tensor, index);
}

// ---- bounds ----------------------------------------------------------------------------------------------------------

static void check_bounds(tr *t, const ir_var *v, ir_expr *const *index)
{
    const ir_tensor *tensor = v->tensor;
    for (int d = 0; d < tensor->rank; d++) {
        bool wide = tr_width(index[d]->type->scalar) == 2 || tr_width(tensor->shape[d]->type->scalar) == 2;
        sim_bound bound = {v, d, tensor->rank, wide, t->site};
        VEC_PUSH(t->arena, &t->program->bounds, bound);
        uint32_t at = (uint32_t)t->program->bounds.len - 1;
        int64_t known, extent;
        // Constants inside a constant extent need no check.
        if (ir_const_int(index[d], &known) && ir_const_int(tensor->shape[d], &extent) && known >= 0 && known < extent)
            continue;
        uint32_t i = tr_index(t, index[d], wide), end = tr_index(t, tensor->shape[d], wide);
        tr_op(t, SIM_OP_WITHIN, 0, i, end, at);
    }
}

// Whether all indices are inside, as a bool for each lane.
static uint32_t inside(tr *t, const ir_tensor *tensor, ir_expr *const *index)
{
    uint32_t all = tr_constant_of(t, 1, 1);
    for (int d = 0; d < tensor->rank; d++) {
        uint32_t i = tr_index(t, index[d], true), end = tr_index(t, tensor->shape[d], true);
        uint32_t low = tr_cells(t, 1), high = tr_cells(t, 1), both = tr_cells(t, 1);
        tr_op(t, SIM_OP_LE_I64, low, zero64(t), i, 0);
        tr_op(t, SIM_OP_LT_I64, high, i, end, 0);
        tr_op(t, SIM_OP_AND_I32, both, low, high, 0);
        uint32_t next = tr_cells(t, 1);
        tr_op(t, SIM_OP_AND_I32, next, all, both, 0);
        all = next;
    }
    return all;
}

// ---- addresses -----------------------------------------------------------------------------------------------------

// A flat index into a private array in memory, where other arrays of the thread follow.
static void check_flat(tr *t, const ir_var *v, uint32_t offset)
{
    sim_bound bound = {v, 0, 1, true, t->site};
    VEC_PUSH(t->arena, &t->program->bounds, bound);
    uint32_t end = tr_constant_of(t, (uint64_t)tr_private_elements(v->tensor), 2);
    tr_op(t, SIM_OP_WITHIN, 0, offset, end, (uint32_t)t->program->bounds.len - 1);
}

// Offset in elements.
static uint32_t element_of(tr *t, const ir_var *v, ir_expr *const *index, int count, int flags)
{
    if (flags & IR_FLAT)
        return tr_index(t, index[0], true);
    uint32_t wide[TM_MAX_RANK];
    for (int d = 0; d < count; d++)
        wide[d] = tr_index(t, index[d], true);
    return offset_of(t, v->tensor, wide);
}

uint32_t tr_address_of(tr *t, const ir_var *v, ir_expr *const *index, int count, int flags, bool checked)
{
    uint32_t offset = element_of(t, v, index, count, flags);
    if (checked && !(flags & IR_FLAT))
        check_bounds(t, v, index);
    else if (checked && tr_is_private(v))
        check_flat(t, v, offset);
    uint32_t base = tr_base(t, v);
    const ir_type *elem = v->tensor->elem;
    if (elem->kind == IR_SCALAR && dt_is_subbyte(elem->scalar)) {
        // Byte address, with the index of the first bit above the offset (memory.h).
        int per_byte = 8 / dt_bits(elem->scalar);
        uint32_t byte = with64(t, SIM_OP_DIV_U64, offset, per_byte), bit = with64(t, SIM_OP_MOD_U64, offset, per_byte);
        uint32_t at = tr_cells(t, 2);
        tr_op(t, SIM_OP_OFFSET, at, base, byte, 1);
        return binary64(t, SIM_OP_OR_I64, at, with64(t, SIM_OP_MUL_I64, bit, (int64_t)dt_bits(elem->scalar) << 57));
    }
    if (is_zero(t, offset))
        return base;
    uint32_t at = tr_cells(t, 2);
    tr_op(t, SIM_OP_OFFSET, at, base, offset, (uint32_t)tr_element_bytes(elem));
    return at;
}

uint32_t tr_address(tr *t, const ir_expr *at, bool checked)
{
    return tr_address_of(t, at->u.var, at->args, at->arg_count, at->flags, checked);
}

// ---- registers -------------------------------------------------------------------------------------------------------

int64_t tr_private_elements(const ir_tensor *tensor)
{
    if (tensor->map)
        return tensor->map->tasks_per_worker;
    if (tensor->storage_elems >= 0)
        return tensor->storage_elems;
    if (tensor->layout)
        return tensor->layout->size;
    int64_t count = 1;
    for (int d = 0; d < tensor->rank; d++) {
        int64_t extent = 1;
        ir_const_int(tensor->shape[d], &extent);
        count *= extent;
    }
    return count;
}

bool tr_is_private(const ir_var *v)
{
    return v && v->tensor && (v->tensor->space == IR_REGISTER || v->tensor->space == IR_LOCAL);
}

static bool is_array(tr *t, const ir_var *v)
{
    const tr_location *p = map_get_ptr(&t->locations, v);
    return p && p->is_array;
}

// The slot of an element, if it is known while translating.
static bool known_slot(const ir_tensor *tensor, ir_expr *const *index, int count, int flags, int64_t *slot)
{
    int64_t at[TM_MAX_RANK];
    for (int d = 0; d < count; d++)
        if (!ir_const_int(index[d], &at[d]))
            return false;
    if (flags & IR_FLAT) {
        *slot = at[0];
    } else if (tensor->map) {
        int64_t worker;
        if (!tm_owner(tensor->map, at, &worker, slot) || tensor->map->workers > 1)
            return false;  // the owner is checked at run time
    } else if (tensor->layout) {
        if (!tm_layout_in_bounds(tensor->layout, at))
            return false;
        *slot = tm_layout_offset(tensor->layout, at);
    } else {
        return false;
    }
    return true;
}

static void check_owner(tr *t, const ir_var *v, ir_expr *const *index)
{
    const ir_tensor *tensor = v->tensor;
    if (!tensor->map || tensor->map->workers == 1)
        return;
    uint32_t wide[TM_MAX_RANK];
    for (int d = 0; d < tensor->rank; d++)
        wide[d] = tr_index(t, index[d], true);
    uint32_t owner = digits_number(t, tensor->map, TM_SPATIAL, wide), mine = zero64(t);
    // The worker's own digits, without those along which copies are held.
    uint32_t me = tr_index(t, tensor->worker, true);
    int64_t below = tensor->map->workers;
    for (int i = 0; i < tensor->map->digit_count; i++) {
        const tm_digit *g = &tensor->map->digits[i];
        if (g->kind != TM_SPATIAL)
            continue;
        below /= g->extent;
        if (g->dim < 0 || g->extent == 1)
            continue;
        uint32_t digit = with64(t, SIM_OP_MOD_U64, with64(t, SIM_OP_DIV_U64, me, below), g->extent);
        mine = sum64(t, mine, scaled(t, digit, below));
    }
    sim_bound bound = {v, 0, tensor->rank, true, t->site};
    VEC_PUSH(t->arena, &t->program->bounds, bound);
    tr_op(t, SIM_OP_OWNER, 0, owner, mine, (uint32_t)t->program->bounds.len - 1);
}

// How LOAD_SLOT and STORE_SLOT are told what an element is.
static uint32_t slot_shape(int cells, int part)
{
    return (uint32_t)cells | (uint32_t)part << 16;
}

// The slot at run time, i64.
static uint32_t slot_cell(tr *t, const ir_var *v, ir_expr *const *index, int count, int flags)
{
    uint32_t slot = element_of(t, v, index, count, flags);
    if (!(flags & IR_FLAT))
        check_bounds(t, v, index);
    return slot;
}

static void load_register(tr *t, const ir_expr *e, int count, uint32_t dst)
{
    const ir_var *v = e->u.var;
    const tr_location *p = tr_location_of(t, v);
    int cells = tr_value_cells(v->tensor->elem);
    int64_t slot;
    check_owner(t, v, e->args);
    if (known_slot(v->tensor, e->args, count, e->flags, &slot) && slot >= 0 && slot < p->elements) {
        tr_move(t, dst, p->cell + (uint32_t)(slot * cells), cells);
        return;
    }
    uint32_t at = slot_cell(t, v, e->args, count, e->flags);
    sim_op *op = tr_op(t, SIM_OP_LOAD_SLOT, dst, p->cell, at, slot_shape(cells, tr_element_cells(v->tensor->elem)));
    op->count = (uint16_t)(p->elements > UINT16_MAX ? UINT16_MAX : p->elements);
}

static void store_register(tr *t, const ir_stmt *s, uint32_t value)
{
    const tr_location *p = tr_location_of(t, s->var);
    int cells = tr_value_cells(s->var->tensor->elem);
    int64_t slot;
    check_owner(t, s->var, s->args);
    if (known_slot(s->var->tensor, s->args, s->arg_count, s->flags, &slot) && slot >= 0 && slot < p->elements) {
        tr_assign(t, p->cell + (uint32_t)(slot * cells), value, cells, tr_element_cells(s->var->tensor->elem));
        return;
    }
    uint32_t at = slot_cell(t, s->var, s->args, s->arg_count, s->flags);
    sim_op *op = tr_op(t, SIM_OP_STORE_SLOT, p->cell, value, at, slot_shape(cells, tr_element_cells(s->var->tensor->elem)));
    op->count = (uint16_t)(p->elements > UINT16_MAX ? UINT16_MAX : p->elements);
}

// One element at a time, so that no alignment is required.
static void move_tile(tr *t, const tr_tile *tile, bool back)
{
    const ir_type *elem = tile->in_memory->tensor->elem;
    uint32_t access = tr_access(t, elem, 1, tile->in_memory->tensor->space, tile->in_memory, false);
    for (int i = 0; i < tile->count; i++) {
        uint32_t at = tr_cells(t, 2), slot = i ? with64(t, SIM_OP_ADD_I64, tile->slot, i) : tile->slot;
        uint32_t cell = tile->cell + (uint32_t)(i * tile->cells_each);
        tr_op(t, SIM_OP_OFFSET, at, tile->array, slot, (uint32_t)tr_element_bytes(elem));
        tr_op(t, back ? SIM_OP_STORE : SIM_OP_LOAD, back ? 0 : cell, at, back ? cell : 0, access);
    }
}

tr_tile tr_tile_of(tr *t, const ir_expr *e)
{
    const ir_var *v = e->u.var;
    const tr_location *p = tr_location_of(t, v);
    tr_tile tile = {.cells_each = tr_value_cells(v->tensor->elem), .count = e->count, .elements = p->elements};
    tile.part = tr_element_cells(v->tensor->elem);
    if (!p->is_array) {
        tile.is_copy = true;
        tile.in_memory = v;
        tile.array = p->cell;
        tile.slot = tr_cells(t, 2);
        tr_move(t, tile.slot, element_of(t, v, e->args, e->arg_count, e->flags), 2);
        tile.cell = tr_cells(t, tile.count * tile.cells_each);
        move_tile(t, &tile, false);
        return tile;
    }
    int64_t slot;
    // The first element of a tile may be another worker's: the slot is what counts.
    bool known = known_slot(v->tensor, e->args, e->arg_count, e->flags, &slot);
    if (!known && v->tensor->map && !(e->flags & IR_FLAT)) {
        int64_t at[TM_MAX_RANK], worker;
        known = true;
        for (int d = 0; d < e->arg_count; d++)
            known &= ir_const_int(e->args[d], &at[d]);
        known = known && tm_owner(v->tensor->map, at, &worker, &slot);
    }
    if (known && slot >= 0 && slot + tile.count <= p->elements) {
        tile.cell = p->cell + (uint32_t)(slot * tile.cells_each);
        return tile;
    }
    tile.is_copy = true;
    tile.array = p->cell;
    tile.slot = tr_cells(t, 2);
    tr_move(t, tile.slot, element_of(t, v, e->args, e->arg_count, e->flags), 2);
    tile.cell = tr_cells(t, tile.count * tile.cells_each);
    for (int i = 0; i < tile.count; i++) {
        uint32_t at = i ? with64(t, SIM_OP_ADD_I64, tile.slot, i) : tile.slot;
        sim_op *op = tr_op(t, SIM_OP_LOAD_SLOT, tile.cell + (uint32_t)(i * tile.cells_each), tile.array, at,
                           slot_shape(tile.cells_each, tile.part));
        op->count = (uint16_t)p->elements;
    }
    return tile;
}

void tr_tile_back(tr *t, const tr_tile *tile)
{
    if (tile->in_memory) {
        move_tile(t, tile, true);
        return;
    }
    for (int i = 0; tile->is_copy && i < tile->count; i++) {
        uint32_t at = i ? with64(t, SIM_OP_ADD_I64, tile->slot, i) : tile->slot;
        sim_op *op = tr_op(t, SIM_OP_STORE_SLOT, tile->array, tile->cell + (uint32_t)(i * tile->cells_each), at,
                           slot_shape(tile->cells_each, tile->part));
        op->count = (uint16_t)tile->elements;
    }
}

// ---- loads and stores ------------------------------------------------------------------------------------------------

static void load_plain(tr *t, const ir_expr *e, int count, uint32_t dst)
{
    const ir_var *v = e->u.var;
    if (is_array(t, v)) {
        load_register(t, e, count, dst);
        return;
    }
    uint32_t at = tr_address_of(t, v, e->args, count, e->flags, true);
    uint32_t access = tr_access(t, v->tensor->elem, 1, v->tensor->space, v, e->flags & IR_VOLATILE);
    tr_op(t, SIM_OP_LOAD, dst, at, 0, access);
}

void tr_load(tr *t, const ir_expr *e, uint32_t dst)
{
    if (!(e->flags & IR_GUARDED)) {
        load_plain(t, e, e->arg_count, dst);
        return;
    }
    int rank = e->arg_count - 1, cells = tr_value_cells(e->type);
    uint32_t cond = inside(t, e->u.var->tensor, e->args), result = tr_fresh(t, e->args[rank]);
    uint32_t at = tr_mask_begin(t, cond), loaded = tr_cells(t, cells);
    load_plain(t, e, rank, loaded);
    tr_assign(t, result, loaded, cells, tr_element_cells(e->type));
    tr_mask_end(t, at);
    tr_move(t, dst, result, cells);
}

static void store_plain(tr *t, const ir_stmt *s)
{
    const ir_var *v = s->var;
    uint32_t value = tr_expr(t, s->value);
    if (is_array(t, v)) {
        store_register(t, s, value);
        return;
    }
    uint32_t at = tr_address_of(t, v, s->args, s->arg_count, s->flags, true);
    tr_op(t, SIM_OP_STORE, 0, at, value, tr_access(t, v->tensor->elem, 1, v->tensor->space, v, s->flags & IR_VOLATILE));
}

void tr_store(tr *t, const ir_stmt *s)
{
    if (!(s->flags & IR_GUARDED)) {
        store_plain(t, s);
        return;
    }
    uint32_t at = tr_mask_begin(t, inside(t, s->var->tensor, s->args));
    store_plain(t, s);
    tr_mask_end(t, at);
}

// An end of a copy that is registers: a tile, or the address of a private array that has cells.
static bool is_register_end(tr *t, const ir_expr *e)
{
    return e->op == IR_OP_TILE && is_array(t, e->u.var);
}

// Address of the first element of an end in memory.
static uint32_t memory_end(tr *t, const ir_expr *e)
{
    return tr_address_of(t, e->u.var, e->args, e->arg_count, e->flags, true);
}

void tr_copy(tr *t, const ir_stmt *s)
{
    const ir_expr *to = s->args[0], *from = s->args[1];
    const ir_var *to_var = to->u.var, *from_var = from->u.var;
    const ir_type *elem = to_var->tensor->elem;
    bool to_registers = is_register_end(t, to), from_registers = is_register_end(t, from);
    int cells = tr_value_cells(elem) * s->count;
    if (to_registers && from_registers) {
        tr_tile source = tr_tile_of(t, from), target = tr_tile_of(t, to);
        tr_assign(t, target.cell, source.cell, cells, target.part);
        tr_tile_back(t, &target);
    } else if (to_registers) {
        tr_tile target = tr_tile_of(t, to);
        uint32_t at = memory_end(t, from);  // last: its bounds are those of the next access
        uint32_t access = tr_access(t, elem, s->count, from_var->tensor->space, from_var, false);
        tr_op(t, SIM_OP_LOAD, target.cell, at, 0, access);
        tr_tile_back(t, &target);
    } else if (from_registers) {
        tr_tile source = tr_tile_of(t, from);
        uint32_t at = memory_end(t, to);
        tr_op(t, SIM_OP_STORE, 0, at, source.cell, tr_access(t, elem, s->count, to_var->tensor->space, to_var, false));
    } else {
        uint32_t there = memory_end(t, to), here = memory_end(t, from);
        tr_op(t, SIM_OP_COPY, 0, there, here, tr_access(t, elem, s->count, to_var->tensor->space, to_var, false));
    }
}

// ---- allocation ------------------------------------------------------------------------------------------------------

enum { RED_ZONE = 64 };

static int64_t bytes_of(const ir_tensor *tensor, int64_t elements)
{
    const ir_type *elem = tensor->elem;
    int64_t bits = elem->kind == IR_SCALAR && dt_is_subbyte(elem->scalar) ? dt_bits(elem->scalar)
                                                                         : tr_element_bytes(elem) * 8;
    return (elements * bits + 7) / 8;
}

static uint32_t aligned(uint32_t at, uint32_t to)
{
    return (at + to - 1) / to * to;
}

// The offset in shared memory: the allocator's, or behind all tensors so far with a red zone between.
static uint32_t shared_offset(tr *t, const ir_var *v)
{
    sim_code *c = t->code;
    const ir_tensor *tensor = v->tensor;
    // Of more than a block can have, enough that the launch is rejected.
    enum { ENOUGH = 1 << 24 };
    int64_t wish = bytes_of(tensor, tr_private_elements(tensor));
    uint32_t bytes = wish < ENOUGH ? (uint32_t)wish : ENOUGH;
    if (tensor->smem_offset >= 0) {
        uint32_t end = (uint32_t)tensor->smem_offset + bytes;
        c->shared_bytes = end > c->shared_bytes ? end : c->shared_bytes;
        return (uint32_t)tensor->smem_offset;
    }
    uint32_t align = tensor->align_bytes > 128 ? (uint32_t)tensor->align_bytes : 128;
    sim_shared_tensor placed = {v, aligned(c->shared_bytes + RED_ZONE, align), bytes, t->shared_branch,
                                (uint8_t)tr_element_bytes(tensor->elem)};
    VEC_PUSH(t->arena, &c->shared, placed);
    c->shared_bytes = placed.offset + bytes + RED_ZONE;
    return placed.offset;
}

static void fill_array(tr *t, const ir_stmt *s, const tr_location *p)
{
    int cells = tr_value_cells(s->var->tensor->elem);
    if (!s->value) {
        for (int64_t done = 0, all = p->elements * cells; done < all; done += UINT16_MAX) {
            int64_t part = all - done < UINT16_MAX ? all - done : UINT16_MAX;
            tr_op(t, SIM_OP_UNDEFINE, p->cell + (uint32_t)done, 0, 0, 0)->count = (uint16_t)part;
        }
        return;
    }
    uint32_t value = tr_expr(t, s->value);
    for (int64_t i = 0; i < p->elements; i++)
        tr_assign(t, p->cell + (uint32_t)(i * cells), value, cells, tr_element_cells(s->var->tensor->elem));
}

static void note_array(tr *t, const ir_var *v, const tr_location *p)
{
    sim_local local = {v, p->cell, (int)p->elements};
    VEC_PUSH(t->arena, &t->code->locals, local);
}

static void fill_memory(tr *t, const ir_stmt *s, uint32_t base, int64_t elements)
{
    const ir_type *elem = s->var->tensor->elem;
    uint32_t value = tr_expr(t, s->value);
    uint32_t access = tr_access(t, elem, 1, s->var->tensor->space, s->var, false);
    for (int64_t i = 0; i < elements; i++) {
        uint32_t at = tr_cells(t, 2);
        tr_op(t, SIM_OP_OFFSET, at, base, tr_constant_of(t, (uint64_t)i, 2), (uint32_t)tr_element_bytes(elem));
        tr_op(t, SIM_OP_STORE, 0, at, value, access);
        t->next = at;
    }
}

static void alloc_private(tr *t, const ir_stmt *s)
{
    const ir_tensor *tensor = s->var->tensor;
    int64_t elements = tr_private_elements(tensor);
    if (!map_get_ptr(&t->in_memory, s->var)) {
        uint32_t cell = tr_cells(t, (int)(elements * tr_value_cells(tensor->elem)));
        tr_location *p = tr_new_location(t, s->var, true, cell, elements);
        fill_array(t, s, p);
        note_array(t, s->var, p);
        return;
    }
    // Whole multiples, so that the frame of a function called from here is aligned as well. Of an array that no thread can
    // have it is said where it is executed (sim_local_base).
    enum { ENOUGH = 1 << 20 };
    int64_t wish = bytes_of(tensor, elements);
    uint32_t cell = tr_cells(t, 2), offset = t->code->local_bytes, bytes = wish < ENOUGH ? (uint32_t)wish : ENOUGH;
    t->code->local_bytes = offset < ENOUGH ? aligned(offset + bytes, 16) : offset;
    tr_new_location(t, s->var, false, cell, 0);
    VEC_PUSH(t->arena, &t->program->statements, s);
    tr_op(t, SIM_OP_LOCAL_BASE, cell, offset, bytes, (uint32_t)t->program->statements.len - 1);
    if (s->value && bytes < ENOUGH)
        fill_memory(t, s, cell, elements);
}

// The product of the extents; negative if one of them is, or if there are more elements than can be counted: the product
// of floats beside it does not wrap.
static uint32_t elements_of(tr *t, const ir_tensor *tensor)
{
    if (tensor->storage_elems >= 0)
        return tr_constant_of(t, (uint64_t)tensor->storage_elems, 2);
    uint32_t count = tr_constant_of(t, 1, 2), size = tr_cells(t, 2), bad = tr_cells(t, 1);
    tr_op(t, SIM_OP_CAST, size, count, DT_I64, DT_F64);
    tr_move(t, bad, tr_constant_of(t, 0, 1), 1);
    for (int d = 0; d < tensor->rank; d++) {
        uint32_t extent = tr_index(t, tensor->shape[d], true), wide = tr_cells(t, 2), negative = tr_cells(t, 1);
        count = binary64(t, SIM_OP_MUL_I64, count, extent);
        tr_op(t, SIM_OP_CAST, wide, extent, DT_I64, DT_F64);
        tr_op(t, SIM_OP_MUL_F64, size, size, wide, 0);
        tr_op(t, SIM_OP_LT_I64, negative, extent, zero64(t), 0);
        tr_op(t, SIM_OP_OR_I32, bad, bad, negative, 0);
    }
    uint32_t most = tr_cells(t, 2), wraps = tr_cells(t, 1), result = tr_cells(t, 2);
    tr_op(t, SIM_OP_CAST, most, tr_constant_of(t, (uint64_t)1 << 62, 2), DT_I64, DT_F64);
    tr_op(t, SIM_OP_LT_F64, wraps, most, size, 0);
    tr_op(t, SIM_OP_OR_I32, bad, bad, wraps, 0);
    tr_select(t, result, bad, tr_constant_of(t, UINT64_MAX, 2), count, 2, 2);
    return result;
}

static void alloc_global(tr *t, const ir_stmt *s)
{
    const ir_tensor *tensor = s->var->tensor;
    uint32_t cell = tr_cells(t, 2);
    tr_new_location(t, s->var, false, cell, 0);
    uint32_t count = elements_of(t, tensor);
    VEC_PUSH(t->arena, &t->program->statements, s);
    tr_op(t, SIM_OP_ALLOCATE, cell, count, (uint32_t)t->program->statements.len - 1, 0);
    if (s->value)
        tr_op(t, SIM_OP_FILL, 0, cell, count, tr_expr(t, s->value))->count = (uint16_t)tr_element_bytes(tensor->elem);
    sim_local local = {s->var, cell, 1};
    VEC_PUSH(t->arena, &t->code->locals, local);
}

void tr_alloc(tr *t, const ir_stmt *s)
{
    switch (s->var->tensor->space) {
    case IR_SHARED: {
        uint32_t cell = tr_cells(t, 2), offset = shared_offset(t, s->var);
        tr_new_location(t, s->var, false, cell, 0);
        tr_op(t, SIM_OP_SHARED_BASE, cell, offset, 0, 0);
        sim_local local = {s->var, cell, 1};
        VEC_PUSH(t->arena, &t->code->locals, local);
        if (s->value)
            fill_memory(t, s, cell, tr_private_elements(s->var->tensor));
        break;
    }
    case IR_REGISTER:
    case IR_LOCAL: alloc_private(t, s); break;
    default: alloc_global(t, s); break;
    }
}
