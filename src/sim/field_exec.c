// The operations of the bytecode on field values.

#include <math.h>
#include <string.h>

#include "base/floored.h"
#include "sim/field_priv.h"
#include "sim/machine.h"

enum { CELL_FIELDS = SIM_LANES * SIM_FIELD_PARTS };

// ---- cells ---------------------------------------------------------------------------------------------------------

static sim_field *part_of(const sim_warp *w, uint32_t cell, uint32_t lane, int part)
{
    return sim_field_of(w, cell, (int)lane) + part;
}

void sim_field_copy(sim_warp *w, uint32_t dst, uint32_t from, uint32_t count, uint32_t mask)
{
    if (mask == UINT32_MAX) {
        memmove(sim_field_of(w, dst, 0), sim_field_of(w, from, 0), sizeof(sim_field) * CELL_FIELDS * count);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        SIM_EACH(lane, mask)
            memcpy(part_of(w, dst + i, lane, 0), part_of(w, from + i, lane, 0), sizeof(sim_field) * SIM_FIELD_PARTS);
    }
}

void sim_field_drop(sim_warp *w, uint32_t cell, uint32_t count, uint32_t mask)
{
    if (mask == UINT32_MAX) {
        memset(sim_field_of(w, cell, 0), 0xff, sizeof(sim_field) * CELL_FIELDS * count);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        SIM_EACH(lane, mask)
            memset(part_of(w, cell + i, lane, 0), 0xff, sizeof(sim_field) * SIM_FIELD_PARTS);
    }
}

// Whether some lane has a value in one of its parts.
static bool is_any_followed(const sim_warp *w, uint32_t cell, uint32_t mask)
{
    SIM_EACH(lane, mask) {
        for (int part = 0; part < SIM_FIELD_PARTS; part++) {
            if (sim_field_is_followed(*part_of(w, cell, lane, part)))
                return true;
        }
    }
    return false;
}

static void set(sim_warp *w, uint32_t cell, uint32_t lane, sim_field value)
{
    sim_field *parts = part_of(w, cell, lane, 0);
    memset(parts, 0xff, sizeof *parts * SIM_FIELD_PARTS);
    parts[0] = value;
}

// ---- operands ------------------------------------------------------------------------------------------------------

static double float_at(const sim_warp *w, dtype type, uint32_t cell, uint32_t lane)
{
    switch (type) {
    case DT_F32: return (double)sim_f32(w, cell)[lane];
    case DT_F64: return sim_f64(w, cell)[lane];
    default: return dt_to_double(type, dt_bits(type) > 32 ? sim_u64(w, cell)[lane] : sim_u32(w, cell)[lane]);
    }
}

// Floats and field values of an operand; the values of constants, which are the same in all lanes, are found once.
typedef struct operand {
    double x[SIM_LANES];
    sim_field f[SIM_LANES];
} operand;

static void read_operand(const sim_warp *w, dtype type, uint32_t cell, operand *out)
{
    double last = NAN;
    sim_field of_last = SIM_FIELD_NOTHING;
    SIM_EACH(lane, w->active) {
        double x = out->x[lane] = float_at(w, type, cell, lane);
        sim_field f = *part_of(w, cell, lane, 0);
        if (type == DT_F32 && !sim_field_is_followed(f) && !(sim_u32(w, cell)[lane] & 0xffff))
            f = *part_of(w, cell, lane, 2);  // a bf16 that was shifted to where it is the f32
        if (!sim_field_is_followed(f)) {
            if (x != last || !sim_field_is_followed(of_last))
                of_last = sim_field_of_float(x);
            last = x;
            f = of_last;
        }
        out->f[lane] = f;
    }
}

// ---- arithmetic ----------------------------------------------------------------------------------------------------

typedef enum kind { ADD, SUB, MUL, DIV, NEG, MIN, MAX, FLOORDIV, FLOORMOD } kind;

// The quotient is that of the floats; narrow floats are computed in f32.
static double floored(dtype type, double x, double y)
{
    return type == DT_F64 ? floored_quotient_f64(x, y) : (double)floored_quotient_f32((float)x, (float)y);
}

static sim_field compute(dtype type, kind k, sim_field a, double x, sim_field b, double y)
{
    double whole = k == FLOORDIV || k == FLOORMOD ? floored(type, x, y) : 0;
    switch (k) {
    case ADD: return sim_field_settle(sim_field_add(a, b), x + y);
    case SUB: return sim_field_settle(sim_field_sub(a, b), x - y);
    case MUL: return sim_field_settle(sim_field_mul(a, b), x * y);
    case DIV: return sim_field_settle(sim_field_div(a, b), x / y);
    case NEG: return sim_field_neg(a);
    case MIN: return sim_field_min(a, x, b, y);
    case MAX: return sim_field_max(a, x, b, y);
    case FLOORDIV: return sim_field_of_float(whole);
    case FLOORMOD:
        return sim_field_settle(sim_field_sub(a, sim_field_mul(b, sim_field_of_float(whole))), x - y * whole);
    }
    return SIM_FIELD_NOTHING;
}

static void arithmetic(sim_warp *w, const sim_op *op, dtype type, kind k)
{
    operand a, b;
    read_operand(w, type, op->a, &a);
    if (k != NEG)
        read_operand(w, type, op->b, &b);
    else
        b = a;
    SIM_EACH(lane, w->active)
        set(w, op->dst, lane, compute(type, k, a.f[lane], a.x[lane], b.f[lane], b.x[lane]));
}

// Complex numbers: the real part belongs to the first cell, the imaginary part to the second.
typedef struct complex_value {
    sim_field re, im;
} complex_value;

static complex_value complex_at(const sim_warp *w, uint32_t cell, uint32_t lane)
{
    const float *halves = (const float *)(const void *)(sim_u64(w, cell) + lane);
    return (complex_value){sim_field_or(*part_of(w, cell, lane, 0), (double)halves[0]),
                           sim_field_or(*part_of(w, cell + 1, lane, 0), (double)halves[1])};
}

static complex_value complex_mul(complex_value a, complex_value b)
{
    return (complex_value){sim_field_sub(sim_field_mul(a.re, b.re), sim_field_mul(a.im, b.im)),
                           sim_field_add(sim_field_mul(a.re, b.im), sim_field_mul(a.im, b.re))};
}

static complex_value complex_div(complex_value a, complex_value b)
{
    sim_field size = sim_field_add(sim_field_mul(b.re, b.re), sim_field_mul(b.im, b.im));
    complex_value product = complex_mul(a, (complex_value){b.re, sim_field_neg(b.im)});
    return (complex_value){sim_field_div(product.re, size), sim_field_div(product.im, size)};
}

static complex_value complex_compute(kind k, complex_value a, complex_value b)
{
    switch (k) {
    case ADD: return (complex_value){sim_field_add(a.re, b.re), sim_field_add(a.im, b.im)};
    case SUB: return (complex_value){sim_field_sub(a.re, b.re), sim_field_sub(a.im, b.im)};
    case MUL: return complex_mul(a, b);
    case DIV: return complex_div(a, b);
    default: return (complex_value){sim_field_neg(a.re), sim_field_neg(a.im)};
    }
}

static void complex_arithmetic(sim_warp *w, const sim_op *op, kind k)
{
    SIM_EACH(lane, w->active) {
        complex_value a = complex_at(w, op->a, lane), b = k == NEG ? a : complex_at(w, op->b, lane);
        complex_value result = complex_compute(k, a, b);
        set(w, op->dst, lane, result.re);
        set(w, op->dst + 1, lane, result.im);
    }
}

// ---- conversions and bits ------------------------------------------------------------------------------------------

static int width_of(dtype type)
{
    return dt_bits(type) > 32 ? 2 : 1;
}

// A conversion between floats keeps the field value. A float made from an integer has the value of the float; an
// integer has none.
static void cast(sim_warp *w, const sim_op *op)
{
    dtype from = (dtype)op->b, to = (dtype)op->c;
    if (dt_is_float(from) && dt_is_float(to)) {
        operand a;  // read before dst is written: a value may be rounded where it is
        read_operand(w, from, op->a, &a);
        sim_field_drop(w, op->dst, (uint32_t)width_of(to), w->active);
        SIM_EACH(lane, w->active)
            *part_of(w, op->dst, lane, 0) = a.f[lane];
        return;
    }
    sim_field_drop(w, op->dst, (uint32_t)width_of(to), w->active);
    if (dt_is_int(from) && dt_is_int(to) && dt_bits(to) >= dt_bits(from))
        sim_field_copy(w, op->dst, op->a, 1, w->active);  // the bits of a float on their way
}

static void pack(sim_warp *w, const sim_op *op)
{
    uint32_t bits = op->b, cells_each = bits > 32 ? 2 : 1;
    sim_field_drop(w, op->dst, op->c, w->active);
    for (uint32_t i = 0; bits >= 8 && i < op->count; i++) {
        uint32_t at = i * bits, from = op->a + i * cells_each;
        SIM_EACH(lane, w->active)
            *part_of(w, op->dst + at / 32, lane, (int)(at % 32 / 8)) = *part_of(w, from, lane, 0);
    }
}

static void unpack(sim_warp *w, const sim_op *op)
{
    uint32_t bits = op->b, cells_each = bits > 32 ? 2 : 1;
    sim_field_drop(w, op->dst, op->count * cells_each, w->active);
    for (uint32_t i = 0; bits >= 8 && i < op->count; i++) {
        uint32_t at = i * bits, dst = op->dst + i * cells_each;
        SIM_EACH(lane, w->active)
            *part_of(w, dst, lane, 0) = *part_of(w, op->a + at / 32, lane, (int)(at % 32 / 8));
    }
}

// Parts move with their bytes where 32-bit integers are shifted by whole bytes and put together.
static void shift_parts(sim_warp *w, const sim_op *op, int sign)
{
    sim_field_drop(w, op->dst, 1, w->active);
    SIM_EACH(lane, w->active) {
        uint32_t by = sim_u32(w, op->b)[lane];
        for (int part = 0; by < 32 && by % 8 == 0 && part < SIM_FIELD_PARTS; part++) {
            int from = part + sign * (int)(by / 8);
            if (from >= 0 && from < SIM_FIELD_PARTS)
                *part_of(w, op->dst, lane, part) = *part_of(w, op->a, lane, from);
        }
    }
}

static void join_parts(sim_warp *w, const sim_op *op)
{
    SIM_EACH(lane, w->active) {
        sim_field parts[SIM_FIELD_PARTS];
        for (int part = 0; part < SIM_FIELD_PARTS; part++) {
            sim_field a = *part_of(w, op->a, lane, part), b = *part_of(w, op->b, lane, part);
            parts[part] = !sim_field_is_followed(b) ? a : !sim_field_is_followed(a) ? b : SIM_FIELD_NOTHING;
        }
        memcpy(part_of(w, op->dst, lane, 0), parts, sizeof parts);
    }
}

// Which bits of the value that begins at a byte a mask leaves alone, as its width is not known: the sign bit is the
// highest of the mask's run of ones, or stands alone.
static sim_field masked_part(sim_field f, uint32_t bits, uint32_t mask)
{
    switch (mask) {
    case 0x7fff: return bits & 0x8000 ? sim_field_neg(f) : f;
    case 0xffff: return f;
    default: return SIM_FIELD_NOTHING;
    }
}

// a & mask: halves taken out of their pair, and |x| of f16, bf16 and f32 written with bits.
static void and_parts(sim_warp *w, const sim_op *op)
{
    SIM_EACH(lane, w->active) {
        uint32_t bits = sim_u32(w, op->a)[lane], mask = sim_u32(w, op->b)[lane];
        const sim_field *a = part_of(w, op->a, lane, 0);
        sim_field low = masked_part(a[0], bits & 0xffff, mask & 0xffff);
        sim_field high = masked_part(a[2], bits >> 16, mask >> 16);
        if (mask == 0x7fffffff && !sim_field_is_followed(a[2]))
            low = bits >> 31 ? sim_field_neg(a[0]) : a[0];
        set(w, op->dst, lane, low);
        *part_of(w, op->dst, lane, 2) = high;
    }
}

// a ^ sign bits: negation.
static void xor_parts(sim_warp *w, const sim_op *op)
{
    SIM_EACH(lane, w->active) {
        uint32_t mask = sim_u32(w, op->b)[lane];
        sim_field parts[SIM_FIELD_PARTS] = {SIM_FIELD_NOTHING, SIM_FIELD_NOTHING, SIM_FIELD_NOTHING, SIM_FIELD_NOTHING};
        const sim_field *a = part_of(w, op->a, lane, 0);
        bool is_pair = sim_field_is_followed(a[2]);
        bool flips_low = is_pair ? mask & 0x8000 : mask != 0, flips_high = mask >> 31;
        if (!(mask & 0x7fff7fff)) {
            parts[0] = flips_low ? sim_field_neg(a[0]) : a[0];
            parts[2] = flips_high ? sim_field_neg(a[2]) : a[2];
        }
        memcpy(part_of(w, op->dst, lane, 0), parts, sizeof parts);
    }
}

// The low bits: what begins and ends in them.
static void wrap_parts(sim_warp *w, const sim_op *op)
{
    SIM_EACH(lane, w->active) {
        sim_field low = *part_of(w, op->a, lane, 0);
        set(w, op->dst, lane, op->count >= 16 ? low : SIM_FIELD_NOTHING);
    }
}

// Most integers are unrelated to floats: [keep] is only called for those that hold bits of one.
static void bits(sim_warp *w, const sim_op *op, void (*keep)(sim_warp *, const sim_op *))
{
    if (is_any_followed(w, op->a, w->active) || (keep != wrap_parts && is_any_followed(w, op->b, w->active)))
        keep(w, op);
    else
        sim_field_drop(w, op->dst, 1, w->active);
}

static void shift_left(sim_warp *w, const sim_op *op)
{
    shift_parts(w, op, -1);
}

static void shift_right(sim_warp *w, const sim_op *op)
{
    shift_parts(w, op, 1);
}

// ---- moves ---------------------------------------------------------------------------------------------------------

static void select_parts(sim_warp *w, const sim_op *op)
{
    uint32_t chosen = 0;
    SIM_EACH(lane, w->active) {
        if (sim_u32(w, op->a)[lane])
            chosen |= 1u << lane;
    }
    sim_field_copy(w, op->dst, op->b, op->count, chosen);
    sim_field_copy(w, op->dst, op->c, op->count, w->active & ~chosen);
}

// ---- parameters ----------------------------------------------------------------------------------------------------

void sim_field_start(sim_warp *w, const uint32_t *param_cells, int count)
{
    const sim_field *given = w->block->launch->arg_fields;
    for (int i = 0; i < count; i++) {
        sim_field_drop(w, param_cells[i], param_cells[i + 1] - param_cells[i], UINT32_MAX);
        for (uint32_t lane = 0; given && lane < SIM_LANES; lane++)
            *part_of(w, param_cells[i], lane, 0) = given[i];
    }
}

sim_field *sim_field_arguments(sim_warp *w, uint32_t cell, int count, uint32_t lane)
{
    sim_field *fields = ARENA_ARRAY(w->block->arena, sim_field, count);
    for (int i = 0; i < count; i++)
        fields[i] = *part_of(w, cell + 2 * (uint32_t)i, lane, 0);
    return fields;
}

// ---- by operation --------------------------------------------------------------------------------------------------

#define FLOATS(T)                                                                                                      \
    case SIM_OP_ADD_##T: arithmetic(w, op, DT_##T, ADD); return true;                                                     \
    case SIM_OP_SUB_##T: arithmetic(w, op, DT_##T, SUB); return true;                                                     \
    case SIM_OP_MUL_##T: arithmetic(w, op, DT_##T, MUL); return true;                                                     \
    case SIM_OP_DIV_##T: arithmetic(w, op, DT_##T, DIV); return true;                                                     \
    case SIM_OP_NEG_##T: arithmetic(w, op, DT_##T, NEG); return true;                                                     \
    case SIM_OP_MIN_##T: arithmetic(w, op, DT_##T, MIN); return true;                                                     \
    case SIM_OP_MAX_##T: arithmetic(w, op, DT_##T, MAX); return true;                                                     \
    case SIM_OP_FLOORDIV_##T: arithmetic(w, op, DT_##T, FLOORDIV); return true;                                           \
    case SIM_OP_FLOORMOD_##T: arithmetic(w, op, DT_##T, FLOORMOD); return true;

static bool is_arithmetic(sim_warp *w, const sim_op *op)
{
    switch (op->code) {
    FLOATS(F32)
    FLOATS(F64)
    FLOATS(F16)
    FLOATS(BF16)
    case SIM_OP_ADD_C64: complex_arithmetic(w, op, ADD); return true;
    case SIM_OP_SUB_C64: complex_arithmetic(w, op, SUB); return true;
    case SIM_OP_MUL_C64: complex_arithmetic(w, op, MUL); return true;
    case SIM_OP_DIV_C64: complex_arithmetic(w, op, DIV); return true;
    case SIM_OP_NEG_C64: complex_arithmetic(w, op, NEG); return true;
    default: return false;
    }
}

static bool is_move(sim_warp *w, const sim_op *op)
{
    switch (op->code) {
    case SIM_OP_MOVE: sim_field_copy(w, op->dst, op->a, op->count, w->full); return true;
    case SIM_OP_ASSIGN:
    case SIM_OP_ASSIGN_WIDE: sim_field_copy(w, op->dst, op->a, op->count, w->active); return true;
    case SIM_OP_UNDEFINE: sim_field_drop(w, op->dst, op->count, w->active); return true;
    case SIM_OP_SELECT:
    case SIM_OP_SELECT_WIDE: select_parts(w, op); return true;
    case SIM_OP_CAST: cast(w, op); return true;
    case SIM_OP_PACK: pack(w, op); return true;
    case SIM_OP_UNPACK: unpack(w, op); return true;
    case SIM_OP_SHL_I32: bits(w, op, shift_left); return true;
    case SIM_OP_SHR_U32: bits(w, op, shift_right); return true;
    case SIM_OP_OR_I32: bits(w, op, join_parts); return true;
    case SIM_OP_AND_I32: bits(w, op, and_parts); return true;
    case SIM_OP_XOR_I32: bits(w, op, xor_parts); return true;
    case SIM_OP_WRAP: bits(w, op, wrap_parts); return true;
    default: return false;
    }
}

// Other operations that write dst: integers, conditions, constants, addresses. One cell, or two.
static uint32_t written_cells(const sim_op *op)
{
    if (op->code >= SIM_OP_ADD_I32 && op->code <= SIM_OP_NE_C64)
        return op->code >= SIM_OP_ADD_I64 && op->code <= SIM_OP_MAX_U64 ? 2 : 1;
    switch (op->code) {
    case SIM_OP_CONST32:
    case SIM_OP_TID:
    case SIM_OP_BID:
    case SIM_OP_BDIM:
    case SIM_OP_GDIM: return 1;
    case SIM_OP_CONST64:
    case SIM_OP_SHARED_BASE:
    case SIM_OP_LOCAL_BASE:
    case SIM_OP_GLOBAL_BASE:
    case SIM_OP_OFFSET:
    case SIM_OP_ALLOCATE: return 2;
    default: return 0;
    }
}

void sim_field_execute(sim_warp *w, const sim_op *op)
{
    if (is_move(w, op) || is_arithmetic(w, op))
        return;
    uint32_t count = written_cells(op);
    if (count)
        sim_field_drop(w, op->dst, count, w->active);
}
