// hidet.lang.convert: cvt and cvt.pack with roundings, saturation, pairs (PTX ISA 9.7.9.21, 9.7.9.22). Bit-exact.
#include "sim/models/models_priv.h"

#include "sim/models/round.h"

// bound[0]: sim_rounding, from the second part of the opcode: cvt.rn, cvt.rzi, …
static bool bind_rounding(sim_use *use)
{
    static const struct {
        const char *name;
        sim_rounding rounding;
    } modes[] = {{"rn", SIM_RN},  {"rz", SIM_RZ},  {"rm", SIM_RM},  {"rp", SIM_RP}, {"rna", SIM_RNA},
                 {"rni", SIM_RN}, {"rzi", SIM_RZ}, {"rmi", SIM_RM}, {"rpi", SIM_RP}};
    str part = sim_opcode_part(use->intrin, 1);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (str_equal(part, str_of(modes[i].name))) {
            use->bound[0] = modes[i].rounding;
            return true;
        }
    return false;
}

// A conversion keeps what is followed: its value is that of the operand, but for the rounding.
static void keep_field(sim_warp *w, const sim_operand *from, int element, const sim_operand *to, int at, uint32_t lane)
{
    if (w->field)
        sim_field_element_set(w, to, at, lane, sim_field_element(w, from, element, lane));
}

// ---- single numbers ----------------------------------------------------------------------------------------------

// f64 to f32: the sign and the upper part of the payload stay, and the NaN becomes quiet, as seen on sm_90.
static uint32_t narrow_nan(uint64_t bits)
{
    return (uint32_t)(bits >> 63) << 31 | 0x7fc00000u | (uint32_t)(bits >> 29 & 0x3fffff);
}

static sim_step run_to_float(sim_warp *w, const sim_use *use)
{
    const sim_operand *x = &use->operands[0], *r = &use->result;
    sim_rounding mode = (sim_rounding)use->bound[0];
    sim_poison_by_element(w, use, w->active);
    SIM_EACH(lane, w->active) {
        uint64_t bits = sim_element(w, x, 0, lane);
        uint64_t result;
        if (dt_is_int(x->type)) {
            int64_t n = x->type == DT_I32 ? (int32_t)bits : (int64_t)bits;
            bool negative = dt_is_signed(x->type) && n < 0;
            result = sim_round_number(r->type, negative, negative ? -(uint64_t)n : (uint64_t)n, 0, mode);
        } else {
            bool is_wide_nan = x->type == DT_F64 && isnan(sim_double_of(bits));
            result = is_wide_nan ? narrow_nan(bits) : sim_round_double(r->type, sim_value_of(x->type, bits), mode);
            keep_field(w, x, 0, r, 0, lane);
        }
        sim_element_set(w, r, 0, lane, result);
    }
    return SIM_NEXT;
}

// See Note [NaN to tf32]
static sim_step run_to_tf32(sim_warp *w, const sim_use *use)
{
    const sim_operand *x = &use->operands[0], *r = &use->result;
    sim_poison_by_element(w, use, w->active);
    SIM_EACH(lane, w->active) {
        uint32_t bits = sim_u32(w, x->cell)[lane], size = bits & 0x7fffffffu;
        keep_field(w, x, 0, r, 0, lane);
        sim_u32(w, r->cell)[lane] = size > 0x7f800000u ? bits & 0xffffe000u : (bits + 0x1000u) & 0xffffe000u;
    }
    return SIM_NEXT;
}

static sim_step run_to_int(sim_warp *w, const sim_use *use)
{
    const sim_operand *x = &use->operands[0], *r = &use->result;
    // Of 64 bits on either side, NaN is the number of which only the highest bit is set.
    bool is_zero = x->type == DT_F32 && dt_bits(r->type) == 32;
    uint64_t nan = is_zero ? 0 : (uint64_t)1 << (dt_bits(r->type) - 1);
    sim_poison_by_element(w, use, w->active);
    SIM_EACH(lane, w->active) {
        double value = sim_value_of(x->type, sim_element(w, x, 0, lane));
        sim_element_set(w, r, 0, lane, sim_round_to_int(r->type, value, (sim_rounding)use->bound[0], nan));
    }
    return SIM_NEXT;
}

static sim_step run_saturate(sim_warp *w, const sim_use *use)
{
    const sim_operand *o = &use->operands[0], *r = &use->result;
    sim_poison_by_element(w, use, w->active);
    SIM_EACH(lane, w->active) {
        float x = sim_f32(w, o->cell)[lane];
        if (x > 0 && x < 1)
            keep_field(w, o, 0, r, 0, lane);
        sim_f32(w, r->cell)[lane] = x > 0 ? (x < 1 ? x : 1) : 0;
    }
    return SIM_NEXT;
}

// ---- pairs -------------------------------------------------------------------------------------------------------

static void set_pair(sim_warp *w, const sim_use *use, const sim_operand *from, int element, int at, uint32_t lane,
                     double value)
{
    const sim_operand *r = &use->result;
    uint64_t bits = r->type == DT_F16 || r->type == DT_BF16 ? sim_round_double(r->type, value, SIM_RN)
                                                            : dt_from_double(r->type, value);
    keep_field(w, from, element, r, at, lane);
    sim_element_set(w, r, at, lane, bits);
}

// The poison of element [at] of the result is that of element [element] of [from].
static void move_poison(sim_warp *w, const sim_use *use, const sim_operand *from, int element, int at)
{
    uint32_t cell = sim_element_cell(from, element);
    sim_poison_set(w, sim_element_cell(&use->result, at), w->active, w->poison[cell], w->why[cell]);
}

static sim_step run_pack(sim_warp *w, const sim_use *use)
{
    bool has_relu = sim_opcode_has(use->intrin, "relu");
    for (int i = 0; i < 2; i++) {
        const sim_operand *from = &use->operands[use->bound[i]];
        SIM_EACH(lane, w->active) {
            float x = sim_f32(w, from->cell)[lane];
            bool is_cut = has_relu && !(x > 0) && x == x;
            set_pair(w, use, from, 0, i, lane, is_cut ? 0.0 : (double)x);
            if (is_cut && w->field)
                sim_field_element_set(w, &use->result, i, lane, sim_field_of_float(0));
        }
        move_poison(w, use, from, 0, i);
    }
    return SIM_NEXT;
}

// bound[0], bound[1]: which operand is the first, which the second of the pair.
static bool bind_pack(sim_use *use)
{
    const sim_operand *first = sim_operand_named(use, "first"), *second = sim_operand_named(use, "second");
    if (!first || !second)
        return false;
    use->bound[0] = first - use->operands;
    use->bound[1] = second - use->operands;
    return true;
}

static sim_step run_pack_halves(sim_warp *w, const sim_use *use)
{
    const sim_operand *pair = &use->operands[0];
    for (int i = 0; i < 2; i++) {
        SIM_EACH(lane, w->active)
            set_pair(w, use, pair, i, i, lane, sim_value_of(DT_F16, sim_element(w, pair, i, lane)));
        move_poison(w, use, pair, i, i);
    }
    return SIM_NEXT;
}

static sim_step run_unpack(sim_warp *w, const sim_use *use)
{
    const sim_operand *pair = &use->operands[0];
    for (int i = 0; i < 2; i++) {
        SIM_EACH(lane, w->active)
            set_pair(w, use, pair, i, i, lane, dt_to_double(pair->type, sim_element(w, pair, i, lane)));
        move_poison(w, use, pair, i, i);
    }
    return SIM_NEXT;
}

// ---- bytes -------------------------------------------------------------------------------------------------------

static uint32_t saturated(int32_t x, bool is_signed)
{
    int32_t low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
    return (uint32_t)(x < low ? low : x > high ? high : x) & 255;
}

static sim_step run_pack_two(sim_warp *w, const sim_use *use)
{
    const sim_operand *low = &use->operands[use->bound[0]], *high = &use->operands[use->bound[1]];
    const sim_operand *above = &use->operands[use->bound[2]];
    sim_poison_by_element(w, use, w->active);
    SIM_EACH(lane, w->active)
        sim_u32(w, use->result.cell)[lane] = sim_u32(w, above->cell)[lane] << 16 |
                                             saturated(sim_i32(w, high->cell)[lane], use->bound[3]) << 8 |
                                             saturated(sim_i32(w, low->cell)[lane], use->bound[3]);
    return SIM_NEXT;
}

static bool bind_pack_two(sim_use *use)
{
    static const char *const names[] = {"low", "high", "above"};
    for (int i = 0; i < 3; i++) {
        const sim_operand *o = sim_operand_named(use, names[i]);
        if (!o)
            return false;
        use->bound[i] = o - use->operands;
    }
    use->bound[3] = sim_opcode_has(use->intrin, "s8");
    return true;
}

const sim_model sim_models_convert[] = {
    {"pack", run_pack, bind_pack, false},
    {"pack_relu", run_pack, bind_pack, false},
    {"pack_fp8", run_pack, bind_pack, false},
    {"pack_fp8_halves", run_pack_halves, NULL, false},
    {"unpack_fp8", run_unpack, NULL, false},
    {"to_f16", run_to_float, bind_rounding, false},
    {"to_bf16", run_to_float, bind_rounding, false},
    {"to_tf32", run_to_tf32, NULL, false},
    {"to_f32", run_to_float, bind_rounding, false},
    {"to_int", run_to_int, bind_rounding, false},
    {"saturate", run_saturate, NULL, false},
    {"_pack_two", run_pack_two, bind_pack_two, false},
    {NULL, NULL, NULL, false},
};

// Note [NaN to tf32]
//
// cvt.rna.tf32.f32 adds half a unit to the bits and drops the lower 13, of a NaN too: sm_90 was seen to make infinity
// of a NaN whose payload lies below bit 13, and to leave others as they are.
