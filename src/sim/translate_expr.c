// Expressions to bytecode. Values are cells; vectors are their elements one after the other.
#include "sim/translate_priv.h"

#include <string.h>

// ---- types -----------------------------------------------------------------------------------------------------------

int tr_element_count(const ir_type *t)
{
    return t->kind == IR_VECTOR ? t->lanes : 1;
}

dtype tr_element_type(const ir_type *t)
{
    return t->kind == IR_SCALAR || t->kind == IR_VECTOR ? t->scalar : DT_NONE;
}

int tr_element_cells(const ir_type *t)
{
    return tr_element_type(t) == DT_NONE ? 2 : tr_width(t->scalar);
}

int tr_value_cells(const ir_type *t)
{
    return t->kind == IR_VOID ? 0 : tr_element_count(t) * tr_element_cells(t);
}

int tr_element_bytes(const ir_type *elem)
{
    if (elem->kind == IR_SCALAR && dt_is_subbyte(elem->scalar))
        return 1;
    int64_t bytes = ir_type_bytes(elem);
    return bytes > 0 ? (int)bytes : 1;
}

// ---- constants -------------------------------------------------------------------------------------------------------

// The bits of a constant as a cell holds them; tf32 is an f32 there.
static uint64_t constant_bits(const ir_expr *e)
{
    if (e->op != IR_OP_FLOAT)
        return (uint64_t)e->u.i;
    return e->type->scalar == DT_TF32 ? dt_from_double(DT_F32, e->u.f) : dt_from_double(e->type->scalar, e->u.f);
}

static uint32_t constant(tr *t, const ir_expr *e)
{
    return tr_constant_of(t, constant_bits(e), tr_width(e->type->scalar));
}

// ---- operators -------------------------------------------------------------------------------------------------------

typedef enum family { FAMILY_INT, FAMILY_F32, FAMILY_F64, FAMILY_F16, FAMILY_BF16, FAMILY_C64, FAMILY_VIA_F32 } family;

static family family_of(dtype type)
{
    switch (type) {
    case DT_F32: return FAMILY_F32;
    case DT_F64: return FAMILY_F64;
    case DT_F16: return FAMILY_F16;
    case DT_BF16: return FAMILY_BF16;
    case DT_TF32:
    case DT_F8E4M3:
    case DT_F8E5M2: return FAMILY_VIA_F32;
    default: return dt_kind_of(type) == DT_KIND_COMPLEX ? FAMILY_C64 : FAMILY_INT;
    }
}

#define FLOAT_ROW(name) {SIM_OP_##name##_F32, SIM_OP_##name##_F64, SIM_OP_##name##_F16, SIM_OP_##name##_BF16}

static sim_opcode float_op(ir_op op, family f)
{
    static const sim_opcode table[][4] = {
        [IR_OP_ADD] = FLOAT_ROW(ADD), [IR_OP_SUB] = FLOAT_ROW(SUB), [IR_OP_MUL] = FLOAT_ROW(MUL),
        [IR_OP_DIV] = FLOAT_ROW(DIV), [IR_OP_MIN] = FLOAT_ROW(MIN), [IR_OP_MAX] = FLOAT_ROW(MAX),
        [IR_OP_NEG] = FLOAT_ROW(NEG), [IR_OP_FLOORDIV] = FLOAT_ROW(FLOORDIV),
        [IR_OP_FLOORMOD] = FLOAT_ROW(FLOORMOD), [IR_OP_EQ] = FLOAT_ROW(EQ), [IR_OP_NE] = FLOAT_ROW(NE),
        [IR_OP_LT] = FLOAT_ROW(LT), [IR_OP_LE] = FLOAT_ROW(LE),
    };
    return table[op][f - FAMILY_F32];
}

static sim_opcode complex_op(ir_op op)
{
    switch (op) {
    case IR_OP_ADD: return SIM_OP_ADD_C64;
    case IR_OP_SUB: return SIM_OP_SUB_C64;
    case IR_OP_MUL: return SIM_OP_MUL_C64;
    case IR_OP_DIV: return SIM_OP_DIV_C64;
    case IR_OP_NEG: return SIM_OP_NEG_C64;
    case IR_OP_EQ: return SIM_OP_EQ_C64;
    default: return SIM_OP_NE_C64;
    }
}

#define PICK(name) (wide ? SIM_OP_##name##64 : SIM_OP_##name##32)

static sim_opcode int_op(const tr *t, ir_op op, dtype type)
{
    bool wide = dt_bits(type) > 32, is_signed = dt_is_signed(type);
    bool watched = t->is_index && t->options->index_overflow && type == DT_I32;
    switch (op) {
    case IR_OP_ADD: return watched ? SIM_OP_ADDX_I32 : PICK(ADD_I);
    case IR_OP_SUB: return watched ? SIM_OP_SUBX_I32 : PICK(SUB_I);
    case IR_OP_MUL: return watched ? SIM_OP_MULX_I32 : PICK(MUL_I);
    case IR_OP_NEG: return PICK(NEG_I);
    case IR_OP_BITNOT: return PICK(NOT_I);
    case IR_OP_AND: return PICK(AND_I);
    case IR_OP_OR: return PICK(OR_I);
    case IR_OP_XOR: return PICK(XOR_I);
    case IR_OP_SHL: return PICK(SHL_I);
    case IR_OP_SHR: return is_signed ? PICK(SHR_I) : PICK(SHR_U);
    case IR_OP_FLOORDIV: return is_signed ? PICK(FLOORDIV_I) : PICK(DIV_U);
    case IR_OP_FLOORMOD: return is_signed ? PICK(FLOORMOD_I) : PICK(MOD_U);
    case IR_OP_TRUNCDIV: return is_signed ? PICK(TRUNCDIV_I) : PICK(DIV_U);
    case IR_OP_TRUNCMOD: return is_signed ? PICK(TRUNCMOD_I) : PICK(MOD_U);
    case IR_OP_MIN: return is_signed ? PICK(MIN_I) : PICK(MIN_U);
    case IR_OP_MAX: return is_signed ? PICK(MAX_I) : PICK(MAX_U);
    case IR_OP_EQ: return PICK(EQ_I);
    case IR_OP_NE: return PICK(NE_I);
    case IR_OP_LT: return is_signed ? PICK(LT_I) : PICK(LT_U);
    case IR_OP_LE: return is_signed ? PICK(LE_I) : PICK(LE_U);
    default: return SIM_OP_NOP;
    }
}

// Integers narrower than a cell are truncated after operations that may overflow.
static void wrap(tr *t, ir_op op, dtype type, uint32_t cell)
{
    bool may_leave = op == IR_OP_ADD || op == IR_OP_SUB || op == IR_OP_MUL || op == IR_OP_NEG || op == IR_OP_BITNOT ||
                     op == IR_OP_SHL || op == IR_OP_FLOORDIV || op == IR_OP_TRUNCDIV;
    if (may_leave && dt_bits(type) < 32 && dt_is_int(type))
        tr_op(t, SIM_OP_WRAP, cell, cell, dt_is_signed(type), 0)->count = (uint16_t)dt_bits(type);
}

void tr_binary(tr *t, ir_op op, dtype type, uint32_t dst, uint32_t a, uint32_t b)
{
    if (op == IR_OP_GT || op == IR_OP_GE) {
        tr_binary(t, op == IR_OP_GT ? IR_OP_LT : IR_OP_LE, type, dst, b, a);
        return;
    }
    family f = type == DT_NONE ? FAMILY_INT : family_of(type);
    bool compares = ir_op_properties(op) & IR_COMPARE;
    if (f == FAMILY_VIA_F32) {
        uint32_t x = tr_cells(t, 1), y = tr_cells(t, 1);
        tr_op(t, SIM_OP_CAST, x, a, type, DT_F32);
        tr_op(t, SIM_OP_CAST, y, b, type, DT_F32);
        tr_op(t, float_op(op, FAMILY_F32), dst, x, y, 0);
        if (!compares)
            tr_op(t, SIM_OP_CAST, dst, dst, DT_F32, type);
    } else if (f == FAMILY_C64) {
        tr_op(t, complex_op(op), dst, a, b, 0);
    } else if (f != FAMILY_INT) {
        tr_op(t, float_op(op, f), dst, a, b, 0);
    } else {
        // Pointers compare as unsigned 64-bit numbers.
        tr_op(t, int_op(t, op, type == DT_NONE ? DT_U64 : type), dst, a, b, 0);
        if (type != DT_NONE)
            wrap(t, op, type, dst);
    }
}

static bool is_float_type(const ir_type *t)
{
    return tr_element_type(t) != DT_NONE && family_of(t->scalar) != FAMILY_INT;
}

static void shift(tr *t, const ir_expr *e, uint32_t dst)
{
    dtype type = e->type->scalar, amount_type = e->args[1]->type->scalar;
    uint32_t a = tr_expr(t, e->args[0]), amount = tr_expr(t, e->args[1]);
    bool wide = tr_width(type) == 2, amount_wide = tr_width(amount_type) == 2;
    if (wide && !amount_wide) {
        amount = tr_widen(t, amount, amount_type);
    } else if (!wide && amount_wide) {
        uint32_t narrow = tr_cells(t, 1);
        tr_op(t, SIM_OP_CAST, narrow, amount, amount_type, DT_I32);
        amount = narrow;
    }
    tr_op(t, int_op(t, e->op, type), dst, a, amount, 0);
    wrap(t, e->op, type, dst);
}

static void pointer_move(tr *t, const ir_expr *e, uint32_t dst)
{
    uint32_t base = tr_expr(t, e->args[0]), index = tr_index(t, e->args[1], true);
    if (e->op == IR_OP_SUB) {
        uint32_t back = tr_cells(t, 2);
        tr_op(t, SIM_OP_NEG_I64, back, index, 0, 0);
        index = back;
    }
    tr_op(t, SIM_OP_OFFSET, dst, base, index, (uint32_t)tr_element_bytes(e->type->elem));
}

static void binary(tr *t, const ir_expr *e, uint32_t dst)
{
    if (e->type->kind == IR_POINTER) {
        pointer_move(t, e, dst);
        return;
    }
    if (e->op == IR_OP_SHL || e->op == IR_OP_SHR) {
        shift(t, e, dst);
        return;
    }
    const ir_type *operands = e->args[0]->type;
    uint32_t a = tr_expr(t, e->args[0]), b = tr_expr(t, e->args[1]);
    uint32_t step = (uint32_t)tr_element_cells(operands), out = (uint32_t)tr_element_cells(e->type);
    for (uint32_t i = 0; i < (uint32_t)tr_element_count(operands); i++)
        tr_binary(t, e->op, tr_element_type(operands), dst + i * out, a + i * step, b + i * step);
}

static void unary(tr *t, const ir_expr *e, uint32_t dst)
{
    uint32_t a = tr_expr(t, e->args[0]), step = (uint32_t)tr_element_cells(e->type);
    dtype type = tr_element_type(e->type);
    for (uint32_t i = 0; i < (uint32_t)tr_element_count(e->type); i++) {
        uint32_t to = dst + i * step, from = a + i * step;
        family f = family_of(type);
        if (e->op == IR_OP_NOT || type == DT_BOOL)
            tr_op(t, SIM_OP_LNOT, to, from, 0, 0);
        else if (f == FAMILY_VIA_F32)
            tr_op(t, SIM_OP_XOR_I32, to, from, tr_constant_of(t, type == DT_TF32 ? 0x80000000u : 0x80u, 1), 0);
        else if (f == FAMILY_C64)
            tr_op(t, SIM_OP_NEG_C64, to, from, 0, 0);
        else if (f != FAMILY_INT)
            tr_op(t, float_op(IR_OP_NEG, f), to, from, 0, 0);
        else
            tr_op(t, int_op(t, e->op, type), to, from, 0, 0);
        if (e->op != IR_OP_NOT && f == FAMILY_INT && type != DT_BOOL)
            wrap(t, e->op, type, to);
    }
}

// ---- what must not be evaluated for every lane -----------------------------------------------------------------------

static bool may_divide_by_zero(const ir_expr *e)
{
    int64_t divisor;
    bool divides = (ir_op_properties(e->op) & IR_DIVIDES) && !is_float_type(e->type);
    return divides && !(ir_const_int(e->args[1], &divisor) && divisor != 0);
}

// Reads memory, may divide by zero, may overflow if that is checked, or has effects: evaluated under the mask of the
// threads that need it.
static bool is_delicate(const tr *t, const ir_expr *e)
{
    switch (e->op) {
    case IR_OP_ADD:
    case IR_OP_SUB:
    case IR_OP_MUL:
        if (t->is_index && t->options->index_overflow && ir_is_scalar(e->type, DT_I32))
            return true;
        break;
    case IR_OP_LOAD:
    case IR_OP_PLOAD:
    case IR_OP_CALL:
    case IR_OP_INTRIN: return true;
    default:
        if (may_divide_by_zero(e))
            return true;
        break;
    }
    for (int i = 0; i < e->arg_count; i++)
        if (is_delicate(t, e->args[i]))
            return true;
    return false;
}

static void logic(tr *t, const ir_expr *e, uint32_t dst)
{
    uint32_t a = tr_expr(t, e->args[0]);
    bool is_and = e->op == IR_OP_LAND;
    if (!is_delicate(t, e->args[1])) {
        // A select, not AND and OR: poison of the other operand does not matter where the first one decides.
        uint32_t b = tr_expr(t, e->args[1]);
        tr_select(t, dst, a, is_and ? b : a, is_and ? a : b, 1, 1);
        return;
    }
    uint32_t result = tr_cells(t, 1), wants = a;
    tr_move(t, result, a, 1);
    if (!is_and) {
        wants = tr_cells(t, 1);
        tr_op(t, SIM_OP_LNOT, wants, a, 0, 0);
    }
    uint32_t at = tr_mask_begin(t, wants);
    tr_assign(t, result, tr_expr(t, e->args[1]), 1, 1);
    tr_mask_end(t, at);
    tr_move(t, dst, result, 1);
}

static void choice(tr *t, const ir_expr *e, uint32_t dst)
{
    int cells = tr_value_cells(e->type), each = tr_element_cells(e->type);
    uint32_t cond = tr_expr(t, e->args[0]);
    if (!is_delicate(t, e->args[1]) && !is_delicate(t, e->args[2])) {
        uint32_t a = tr_expr(t, e->args[1]), b = tr_expr(t, e->args[2]);
        tr_select(t, dst, cond, a, b, cells, each);
        return;
    }
    uint32_t result = tr_cells(t, cells), other = tr_cells(t, 1);
    tr_op(t, SIM_OP_LNOT, other, cond, 0, 0);
    uint32_t at = tr_mask_begin(t, cond);
    tr_assign(t, result, tr_expr(t, e->args[1]), cells, each);
    tr_mask_end(t, at);
    at = tr_mask_begin(t, other);
    tr_assign(t, result, tr_expr(t, e->args[2]), cells, each);
    tr_mask_end(t, at);
    tr_move(t, dst, result, cells);
}

// ---- conversions -----------------------------------------------------------------------------------------------------

uint32_t tr_widen(tr *t, uint32_t cell, dtype from)
{
    if (tr_width(from) == 2)
        return cell;
    uint32_t wide = tr_cells(t, 2);
    tr_op(t, SIM_OP_CAST, wide, cell, dt_is_signed(from) ? DT_I32 : DT_U32, DT_I64);
    return wide;
}

static void convert(tr *t, const ir_expr *e, uint32_t dst)
{
    const ir_type *from = e->args[0]->type;
    uint32_t a = tr_expr(t, e->args[0]), in = (uint32_t)tr_element_cells(from), out = (uint32_t)tr_element_cells(e->type);
    for (uint32_t i = 0; i < (uint32_t)tr_element_count(e->type); i++)
        tr_op(t, SIM_OP_CAST, dst + i * out, a + i * in, tr_element_type(from), tr_element_type(e->type));
}

static int element_bits(const ir_type *t)
{
    return tr_element_type(t) == DT_NONE ? 64 : dt_bits(t->scalar);
}

// Elements of one width regrouped into elements of another; narrow signed integers are extended as their cells want it.
static void same_bits(tr *t, const ir_expr *e, uint32_t dst)
{
    const ir_type *from = e->args[0]->type, *to = e->type;
    uint32_t a = tr_expr(t, e->args[0]), in = (uint32_t)tr_element_cells(from), out = (uint32_t)tr_element_cells(to);
    int in_bits = element_bits(from), out_bits = element_bits(to);
    bool is_signed = tr_element_type(to) != DT_NONE && dt_is_signed(to->scalar);
    if (in_bits == out_bits) {
        for (uint32_t i = 0; i < (uint32_t)tr_element_count(to); i++) {
            if (in_bits < 32)
                tr_op(t, SIM_OP_WRAP, dst + i * out, a + i * in, is_signed, 0)->count = (uint16_t)in_bits;
            else
                tr_move(t, dst + i * out, a + i * in, (int)out);
        }
    } else if (in_bits < out_bits) {
        uint32_t group = (uint32_t)(out_bits / in_bits);
        for (uint32_t i = 0; i < (uint32_t)tr_element_count(to); i++) {
            sim_op *op = tr_op(t, SIM_OP_PACK, dst + i * out, a + i * group * in, (uint32_t)in_bits, out);
            op->count = (uint16_t)group;
            if (out_bits < 32)
                tr_op(t, SIM_OP_WRAP, dst + i * out, dst + i * out, is_signed, 0)->count = (uint16_t)out_bits;
        }
    } else {
        uint32_t group = (uint32_t)(in_bits / out_bits);
        for (uint32_t i = 0; i < (uint32_t)tr_element_count(from); i++) {
            sim_op *op = tr_op(t, SIM_OP_UNPACK, dst + i * group * out, a + i * in, (uint32_t)out_bits, is_signed);
            op->count = (uint16_t)group;
        }
    }
}

// ---- calls -----------------------------------------------------------------------------------------------------------

static void call(tr *t, const ir_expr *e, uint32_t dst)
{
    const ir_func *f = e->u.func;
    int total = 0;
    for (int i = 0; i < e->arg_count; i++)
        total += f->params.at[i]->type->kind == IR_TENSOR ? 2 : tr_value_cells(f->params.at[i]->type);
    uint32_t values[64], *held = e->arg_count <= 64 ? values : ARENA_ARRAY(t->arena, uint32_t, e->arg_count);
    for (int i = 0; i < e->arg_count; i++)
        held[i] = tr_expr(t, e->args[i]);
    uint32_t first = tr_cells(t, total), at = first;
    for (int i = 0; i < e->arg_count; i++) {
        int cells = f->params.at[i]->type->kind == IR_TENSOR ? 2 : tr_value_cells(f->params.at[i]->type);
        tr_move(t, at, held[i], cells);
        at += (uint32_t)cells;
    }
    sim_op *op = tr_op(t, SIM_OP_CALL, dst, f->id, first, (uint32_t)total);
    op->count = (uint16_t)tr_value_cells(e->type);
}

// A map is known by its number among those of the kernel.
static void bind_map(tr *t, sim_operand *o, const ir_var *v)
{
    for (size_t i = 0; i < t->func->maps.len; i++)
        if (t->func->maps.at[i] == v)
            o->immediate = (int64_t)i;
    o->is_immediate = true;
    o->cell = tr_constant_of(t, (uint64_t)o->immediate, 2);
    o->count = 1;
    o->cells = 2;
    t->code->uses_async_proxy = true;
}

static void bind_operand(tr *t, sim_operand *o, const ir_operand *declared, const ir_expr *arg, tr_tile *tile)
{
    o->name = declared->name;
    if (declared->type->kind == IR_TENSOR) {
        *tile = tr_tile_of(t, arg);
        o->cell = tile->cell;
        o->count = (uint16_t)tile->count;
        o->cells = (uint8_t)tile->cells_each;
        o->type = tr_element_type(declared->type->elem);
        o->in_memory = tile->in_memory != NULL;
        if (tile->is_copy && !o->in_memory) {
            o->home = tile->array;
            o->slot = tile->slot;
            o->home_count = (uint32_t)tile->elements;
        }
        return;
    }
    if (arg->type->kind == IR_STRING)
        return;
    if (arg->type->kind == IR_TENSOR_MAP) {
        bind_map(t, o, arg->u.var);
        return;
    }
    o->cell = tr_expr(t, arg);
    o->count = (uint16_t)tr_element_count(arg->type);
    o->cells = (uint8_t)tr_element_cells(arg->type);
    o->type = tr_element_type(arg->type);
    o->is_immediate = arg->op == IR_OP_INT;
    o->immediate = o->is_immediate ? arg->u.i : 0;
}

static bool may_be_global(const ir_expr *e)
{
    for (int i = 0; i < e->arg_count; i++) {
        const ir_type *type = e->args[i]->type;
        bool is_global = type->kind == IR_POINTER && type->space != IR_SHARED && type->space != IR_LOCAL;
        if (is_global || type->kind == IR_TENSOR_MAP)
            return true;
    }
    return false;
}

void tr_intrin(tr *t, const ir_expr *e, uint32_t result)
{
    const ir_intrin *in = e->u.intrin;
    sim_use use = {.intrin = in};
    use.operands = ARENA_ARRAY(t->arena, sim_operand, in->operand_count + 1);
    tr_tile *tiles = ARENA_ARRAY(t->arena, tr_tile, in->operand_count + 1);
    for (int i = 0; i < in->operand_count; i++)
        bind_operand(t, &use.operands[i], &in->operands[i], e->args[i], &tiles[i]);
    const ir_type *type = in->result;
    bool is_array = type->kind == IR_TENSOR;
    const ir_type *elem = is_array ? type->elem : type;
    if (type->kind != IR_VOID) {
        use.result.cell = result;
        use.result.count = (uint16_t)(is_array ? in->result_count : tr_element_count(type));
        use.result.cells = (uint8_t)tr_element_cells(elem);
        use.result.type = tr_element_type(elem);
    }
    use.site = t->site;
    use.model = sim_model_find(in->module, in->name);
    t->code->uses_async_proxy |= strcmp(in->module, "hidet.lang.tma") == 0;
    if (use.model && use.model->bind && !use.model->bind(&use))
        use.model = NULL;
    if (use.model && sim_is_wgmma(&use))
        t->code->uses_async_proxy = true;
    if (use.model && use.model->talks_between_blocks && may_be_global(e))
        t->code->talks_between_blocks = true;
    VEC_PUSH(t->arena, &t->program->uses, use);
    tr_op(t, SIM_OP_MODEL, 0, (uint32_t)t->program->uses.len - 1, 0, 0);
    for (int i = 0; i < in->operand_count; i++) {
        if (!in->operands[i].is_updated)
            continue;
        tr_tile_back(t, &tiles[i]);
        // The cells of a copy are freed: facts about their values end here.
        if (tiles[i].is_copy)
            tr_op(t, SIM_OP_UNDEFINE, tiles[i].cell, 0, 0, 0)->count = (uint16_t)(tiles[i].count * tiles[i].cells_each);
    }
}

// ---- all -------------------------------------------------------------------------------------------------------------

static void load_through(tr *t, const ir_expr *e, uint32_t dst)
{
    const ir_type *pointer = e->args[0]->type;
    uint32_t at = tr_cells(t, 2), base = tr_expr(t, e->args[0]), index = tr_index(t, e->args[1], true);
    tr_op(t, SIM_OP_OFFSET, at, base, index, (uint32_t)tr_element_bytes(pointer->elem));
    tr_op(t, SIM_OP_LOAD, dst, at, 0, tr_access(t, pointer->elem, 1, pointer->space, NULL, e->flags & IR_VOLATILE));
}

static void special_register(tr *t, const ir_expr *e, uint32_t dst)
{
    static const sim_opcode groups[] = {SIM_OP_TID, SIM_OP_BID, SIM_OP_BDIM, SIM_OP_GDIM};
    tr_op(t, groups[e->u.i / 3], dst, (uint32_t)(e->u.i % 3), 0, 0);
}

// Expressions that are neither unary nor binary operators.
static void other_operation(tr *t, const ir_expr *e, uint32_t dst)
{
    switch (e->op) {
    case IR_OP_INT:
    case IR_OP_FLOAT: tr_move(t, dst, constant(t, e), tr_value_cells(e->type)); break;
    case IR_OP_TEXT: break;
    case IR_OP_VAR:
        tr_move(t, dst, e->u.var->tensor ? tr_base(t, e->u.var) : tr_location_of(t, e->u.var)->cell,
                tr_value_cells(e->type));
        break;
    case IR_OP_SREG: special_register(t, e, dst); break;
    case IR_OP_SELECT: choice(t, e, dst); break;
    case IR_OP_CAST: convert(t, e, dst); break;
    case IR_OP_BITCAST: same_bits(t, e, dst); break;
    case IR_OP_LOAD: tr_load(t, e, dst); break;
    case IR_OP_ADDR: tr_move(t, dst, tr_address(t, e, false), 2); break;
    case IR_OP_PLOAD: load_through(t, e, dst); break;
    case IR_OP_TILE: break;  // an operand of instructions and copies, which look at it themselves
    case IR_OP_CALL: call(t, e, dst); break;
    case IR_OP_INTRIN: tr_intrin(t, e, dst); break;
    case IR_OP_VEC:
        for (int i = 0; i < e->arg_count; i++)
            tr_expr_to(t, e->args[i], dst + (uint32_t)(i * tr_element_cells(e->type)));
        break;
    case IR_OP_LANE: {
        uint32_t v = tr_expr(t, e->args[0]), cells = (uint32_t)tr_element_cells(e->type);
        tr_move(t, dst, v + (uint32_t)e->u.i * cells, (int)cells);
        break;
    }
    default: break;
    }
}

static void operation(tr *t, const ir_expr *e, uint32_t dst)
{
    int properties = ir_op_properties(e->op);
    if (properties & IR_UNARY)
        unary(t, e, dst);
    else if (properties & (IR_BINARY | IR_COMPARE))
        binary(t, e, dst);
    else if (properties & IR_LOGIC)
        logic(t, e, dst);
    else
        other_operation(t, e, dst);
}

void tr_expr_to(tr *t, const ir_expr *e, uint32_t dst)
{
    uint32_t outer = t->site;
    bool index = t->is_index;
    if (e->span.begin)
        t->site = tr_site_of(t, e->span);
    operation(t, e, dst);
    t->is_index = index;
    t->site = outer;
}

uint32_t tr_fresh(tr *t, const ir_expr *e)
{
    bool is_array = e->op == IR_OP_INTRIN && e->type->kind == IR_TENSOR;
    int cells = is_array ? e->u.intrin->result_count * tr_value_cells(e->type->elem) : tr_value_cells(e->type);
    uint32_t cell = tr_cells(t, cells);
    tr_expr_to(t, e, cell);
    return cell;
}

uint32_t tr_expr(tr *t, const ir_expr *e)
{
    if (e->op == IR_OP_VAR)
        return e->u.var->tensor ? tr_base(t, e->u.var) : tr_location_of(t, e->u.var)->cell;
    if (e->op == IR_OP_INT || e->op == IR_OP_FLOAT)
        return constant(t, e);
    // Common subexpressions: a value computed for every lane of the statement is reused. An index is needed several
    // times (bounds, address), so it is always reused.
    map *done = t->is_index ? &t->done_index : &t->done;
    bool is_shareable = e->arg_count && (t->is_index || (e->op != IR_OP_CALL && e->op != IR_OP_INTRIN));
    uintptr_t known = is_shareable ? (uintptr_t)map_get_ptr(done, e) : 0;
    if (known)
        return (uint32_t)(known - 1);
    uint32_t cell = tr_fresh(t, e);
    if (is_shareable && !t->masked)
        map_put_ptr(done, e, (void *)(uintptr_t)(cell + 1));
    return cell;
}

uint32_t tr_index(tr *t, const ir_expr *e, bool wide)
{
    bool outer = t->is_index;
    t->is_index = true;
    uint32_t cell = tr_expr(t, e);
    t->is_index = outer;
    dtype type = e->type->scalar;
    if (wide)
        return tr_widen(t, cell, type);
    if (tr_width(type) == 1)
        return cell;
    uint32_t narrow = tr_cells(t, 1);
    tr_op(t, SIM_OP_CAST, narrow, cell, type, DT_I32);
    return narrow;
}
