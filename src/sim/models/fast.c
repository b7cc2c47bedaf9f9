// hidet.lang.fast: the functions of the special-function unit, computed exactly and rounded; subnormal f32 operands and
// results are 0 where the instruction flushes. The errors that the hardware makes are not reproduced: the model is
// within the stated bounds, and its last bits differ from a GPU's.
#include "sim/models/models_priv.h"

#include "sim/models/exact.h"

static float flush(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x;
}

typedef struct approximation {
    const char *name;
    const char *field; // the function's name as fields know it
    float (*f)(float);
    bool flushes; // f32: subnormal operands and results count as 0
} approximation;

static float rcp_f32(float x)
{
    return 1.0f / x;
}

static float rsqrt_f32(float x)
{
    return (float)(1.0 / sqrt((double)x));
}

static const approximation approximations[] = {
    {"exp", "exp", expf, true},          {"log", "log", logf, true},     {"sin", "sin", sinf, true},
    {"cos", "cos", cosf, true},          {"rcp", "rcp", rcp_f32, true},  {"sqrt", "sqrt", sqrtf, true},
    {"rsqrt", "rsqrt", rsqrt_f32, true}, {"log2", "log2", log2f, true},  {"exp2", "exp2", exp2f, true},
    {"exp2_bf16", "exp2", exp2f, true},  {"tanh", "tanh", tanhf, false}, {"tanh_bf16", "tanh", tanhf, false},
    {NULL, NULL, NULL, false},
};

// bound[0]: row of the table.
static bool bind_approximation(sim_use *use)
{
    for (int i = 0; approximations[i].name; i++)
        if (strcmp(approximations[i].name, use->intrin->name) == 0)
            use->bound[0] = i;
    dtype t = use->operands[0].type;
    return t == DT_F32 || t == DT_F16 || t == DT_BF16;
}

static float load_float(const sim_warp *w, const sim_operand *o, int element, uint32_t lane)
{
    uint32_t bits = sim_u32(w, sim_element_cell(o, element))[lane];
    return o->type == DT_F16 ? sim_from_f16(bits) : o->type == DT_BF16 ? sim_from_bf16(bits) : sim_float_of(bits);
}

// NaNs come out as the one that the hardware gives.
static void store_float(sim_warp *w, const sim_operand *o, int element, uint32_t lane, float y)
{
    uint32_t bits = sim_bits_of(sim_quiet(y));
    if (o->type == DT_F16)
        bits = y == y ? sim_to_f16(y) : 0x7fffu;
    else if (o->type == DT_BF16)
        bits = sim_to_bf16(y);
    sim_u32(w, sim_element_cell(o, element))[lane] = bits;
}

static sim_step run_approximation(sim_warp *w, const sim_use *use)
{
    const approximation *f = &approximations[use->bound[0]];
    const sim_operand *x = &use->operands[0], *r = &use->result;
    bool flushes = f->flushes && x->type != DT_F16;
    for (int i = 0; i < r->count; i++) {
        sim_field_last last = {0};
        SIM_EACH(lane, w->active) {
            sim_field before = w->field ? sim_field_element(w, x, i, lane) : SIM_FIELD_NOTHING;
            float in = load_float(w, x, i, lane), y = f->f(flushes ? flush(in) : in);
            store_float(w, r, i, lane, flushes ? flush(y) : y);
            if (w->field)
                sim_field_element_set(
                    w, r, i, lane, sim_field_apply_next(&last, f->field, before, (double)in, (double)y));
        }
        uint32_t cell = sim_element_cell(x, i);
        sim_poison_set(w, sim_element_cell(r, i), w->active, w->poison[cell], w->why[cell]);
    }
    return SIM_NEXT;
}

// ---- two and three operands --------------------------------------------------------------------------------------

// As CUDA makes it: exp2(y · log2(x)).
static float power(float x, float y)
{
    return flush((float)exp2((double)y * log2((double)flush(x))));
}

// Quotients by |b| above 2^126 are 0 (CUDA C++ Programming Guide, "Intrinsic Functions", __fdividef).
static float quotient(float a, float b)
{
    if (fabsf(b) > 0x1p126f && fabsf(b) < INFINITY)
        return isfinite(a) ? copysignf(0.0f, copysignf(1.0f, a) * copysignf(1.0f, b)) : NAN;
    return a / b;
}

static sim_step run_two(sim_warp *w, const sim_use *use)
{
    const sim_operand *a = &use->operands[0], *b = &use->operands[1], *r = &use->result;
    bool is_power = use->intrin->name[0] == 'p';
    sim_field fields[SIM_LANES];
    SIM_EACH(lane, w->active) {
        float x = sim_f32(w, a->cell)[lane], y = sim_f32(w, b->cell)[lane];
        float z = is_power ? power(x, y) : quotient(x, y);
        if (w->field) {
            sim_field fa = sim_field_element(w, a, 0, lane), fb = sim_field_element(w, b, 0, lane);
            fields[lane] = is_power ? sim_field_apply2("pow", fa, (double)x, fb, (double)y, (double)z)
                                    : sim_field_settle(sim_field_div(fa, fb), (double)z);
        }
        sim_f32(w, r->cell)[lane] = sim_quiet(z);
    }
    sim_poison_by_element(w, use, w->active);
    if (w->field)
        SIM_EACH(lane, w->active)
            sim_field_element_set(w, r, 0, lane, fields[lane]);
    return SIM_NEXT;
}

// The product of two 11- or 8-bit mantissas is exact in a double, and the sum is rounded to odd on the way.
static sim_step run_fma2(sim_warp *w, const sim_use *use)
{
    const sim_operand *o = use->operands, *r = &use->result;
    for (int i = 0; i < r->count; i++) {
        sim_field fields[SIM_LANES];
        SIM_EACH(lane, w->active) {
            double product = (double)load_float(w, &o[0], i, lane) * (double)load_float(w, &o[1], i, lane);
            float y = sim_narrow_odd(sim_add_odd(product, (double)load_float(w, &o[2], i, lane)));
            if (w->field)
                fields[lane] = sim_field_settle(sim_field_fma(sim_field_element(w, &o[0], i, lane),
                                                              sim_field_element(w, &o[1], i, lane),
                                                              sim_field_element(w, &o[2], i, lane)),
                                                (double)y);
            store_float(w, r, i, lane, y);
            if (w->field)
                sim_field_element_set(w, r, i, lane, fields[lane]);
        }
        uint32_t bits = 0, why = 0;
        for (int k = 0; k < 3; k++) {
            uint32_t cell = sim_element_cell(&o[k], i);
            why = bits ? why : w->why[cell];
            bits |= w->poison[cell];
        }
        sim_poison_set(w, sim_element_cell(r, i), w->active, bits, why);
    }
    return SIM_NEXT;
}

// -0 is below +0, and a NaN gives way to a number.
static bool is_first_larger(float a, float b)
{
    return b != b || a > b || (a == b && !signbit(a));
}

static sim_step run_choose(sim_warp *w, const sim_use *use)
{
    const sim_operand *a = &use->operands[0], *b = &use->operands[1], *r = &use->result;
    bool is_max = use->intrin->name[1] == 'a', keeps_nan = strcmp(use->intrin->name, "max_or_nan") == 0;
    for (int i = 0; i < r->count; i++) {
        uint32_t cells[2] = {sim_element_cell(a, i), sim_element_cell(b, i)};
        uint32_t bits = w->poison[cells[0]] | w->poison[cells[1]];
        uint32_t why = w->poison[cells[0]] ? w->why[cells[0]] : w->why[cells[1]];
        SIM_EACH(lane, w->active) {
            float x = load_float(w, a, i, lane), y = load_float(w, b, i, lane);
            bool first = x == x && (y != y || (is_max ? is_first_larger(x, y) : !is_first_larger(x, y)));
            if (keeps_nan && (x != x || y != y))
                first = x != x;
            sim_field f = SIM_FIELD_NOTHING;
            if (w->field)
                f = (is_max ? sim_field_max : sim_field_min)(sim_field_element(w, a, i, lane), (double)x,
                                                             sim_field_element(w, b, i, lane), (double)y);
            store_float(w, r, i, lane, first ? x : y);
            if (w->field)
                sim_field_element_set(w, r, i, lane, f);
        }
        sim_poison_set(w, sim_element_cell(r, i), w->active, bits, why);
    }
    return SIM_NEXT;
}

#define APPROXIMATION(name)                                                                                            \
    {                                                                                                                  \
        name, run_approximation, bind_approximation, false                                                             \
    }

const sim_model sim_models_fast[] = {
    APPROXIMATION("exp"),
    APPROXIMATION("log"),
    APPROXIMATION("sin"),
    APPROXIMATION("cos"),
    APPROXIMATION("rcp"),
    APPROXIMATION("sqrt"),
    APPROXIMATION("rsqrt"),
    APPROXIMATION("log2"),
    APPROXIMATION("exp2"),
    APPROXIMATION("exp2_bf16"),
    APPROXIMATION("tanh"),
    APPROXIMATION("tanh_bf16"),
    {"pow", run_two, NULL, false},
    {"divide", run_two, NULL, false},
    {"fma2", run_fma2, NULL, false},
    {"fma2_bf16", run_fma2, NULL, false},
    {"max2", run_choose, NULL, false},
    {"min2", run_choose, NULL, false},
    {"max_or_nan", run_choose, NULL, false},
    {NULL, NULL, NULL, false},
};
