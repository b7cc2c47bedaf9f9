// hidet.lang.math: functions of f32 and f64. (The library implements f16 and bf16 by the f32 functions.)
//
// See Note [accuracy of the models]
#include "sim/models/models_priv.h"

#include "sim/models/exact.h"

// [single]: NULL where the double function, rounded once more, serves.
typedef struct unary {
    const char *name;
    float (*single)(float);
    double (*full)(double);
} unary;

// Through long double, where the C library's own are further off than the bounds that are stated.
static double rsqrt_f64(double x)
{
    return (double)(1.0L / sqrtl((long double)x));
}

static double exp10_f64(double x)
{
    return (double)exp10l((long double)x);
}

static double log10_f64(double x)
{
    return (double)log10l((long double)x);
}

static double cbrt_f64(double x)
{
    return (double)cbrtl((long double)x);
}

static double tanh_f64(double x)
{
    return (double)tanhl((long double)x);
}

static double lgamma_f64(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

static const unary unaries[] = {
    {"exp", expf, exp},     {"exp2", exp2f, exp2},      {"exp10", NULL, exp10_f64},   {"expm1", NULL, expm1},
    {"log", logf, log},     {"log2", log2f, log2},      {"log10", NULL, log10_f64},   {"log1p", NULL, log1p},
    {"sqrt", sqrtf, sqrt},  {"rsqrt", NULL, rsqrt_f64}, {"cbrt", NULL, cbrt_f64},     {"sin", sinf, sin},
    {"cos", cosf, cos},     {"tan", NULL, tan},         {"asin", NULL, asin},         {"acos", NULL, acos},
    {"atan", NULL, atan},   {"sinh", NULL, sinh},       {"cosh", NULL, cosh},         {"tanh", NULL, tanh_f64},
    {"asinh", NULL, asinh}, {"acosh", NULL, acosh},     {"atanh", NULL, atanh},       {"erf", NULL, erf},
    {"erfc", NULL, erfc},   {"tgamma", NULL, tgamma},   {"lgamma", NULL, lgamma_f64}, {"floor", floorf, floor},
    {"ceil", ceilf, ceil},  {"trunc", truncf, trunc},   {"round", rintf, rint},       {NULL, NULL, NULL},
};

typedef struct binary {
    const char *name;
    float (*single)(float, float);
    double (*full)(double, double);
} binary;

static const binary binaries[] = {
    {"pow", powf, pow},
    {"atan2", NULL, atan2},
    {"hypot", NULL, hypot},
    {"fmod", fmodf, fmod},
    {"copysign", copysignf, copysign},
    {"fdim", fdimf, fdim},
    {NULL, NULL, NULL},
};

// bound[0]: row of the table; bound[1]: whether the type is f64.
static bool is_float_operand(sim_use *use)
{
    use->bound[1] = use->operands[0].type == DT_F64;
    return use->operands[0].type == DT_F32 || use->operands[0].type == DT_F64;
}

static bool bind_unary(sim_use *use)
{
    for (int i = 0; unaries[i].name; i++)
        if (strcmp(unaries[i].name, use->intrin->name) == 0)
            use->bound[0] = i;
    return is_float_operand(use);
}

static bool bind_binary(sim_use *use)
{
    for (int i = 0; binaries[i].name; i++)
        if (strcmp(binaries[i].name, use->intrin->name) == 0)
            use->bound[0] = i;
    return is_float_operand(use);
}

// ---- one operand -------------------------------------------------------------------------------------------------

static double unary_f64(sim_warp *w, const sim_use *use, const unary *f, uint32_t lane)
{
    double y = f->full(sim_f64(w, use->operands[0].cell)[lane]);
    sim_f64(w, use->result.cell)[lane] = y;
    return y;
}

static float unary_f32(sim_warp *w, const sim_use *use, const unary *f, uint32_t lane)
{
    float x = sim_f32(w, use->operands[0].cell)[lane];
    float y = f->single ? f->single(x) : (float)f->full((double)x);
    sim_f32(w, use->result.cell)[lane] = sim_quiet(y);
    return y;
}

static sim_step run_unary(sim_warp *w, const sim_use *use)
{
    const unary *f = &unaries[use->bound[0]];
    const sim_operand *x = &use->operands[0];
    sim_field fields[SIM_LANES];
    double before[SIM_LANES];
    if (w->field)
        SIM_EACH(lane, w->active) {
            fields[lane] = sim_field_element(w, x, 0, lane);
            before[lane] = sim_value_of(x->type, sim_element(w, x, 0, lane));
        }
    sim_poison_by_element(w, use, w->active);
    sim_field_last last = {0};
    SIM_EACH(lane, w->active) {
        double y = use->bound[1] ? unary_f64(w, use, f, lane) : (double)unary_f32(w, use, f, lane);
        if (w->field)
            sim_field_element_set(
                w, &use->result, 0, lane, sim_field_apply_next(&last, f->name, fields[lane], before[lane], y));
    }
    return SIM_NEXT;
}

// Of NaNs, |x| of f32 was seen to give the one NaN of all f32 functions.
static sim_step run_abs(sim_warp *w, const sim_use *use)
{
    const sim_operand *x = &use->operands[0], *r = &use->result;
    sim_field fields[SIM_LANES];
    if (w->field)
        SIM_EACH(lane, w->active)
            fields[lane] = sim_field_element(w, x, 0, lane);
    sim_poison_by_element(w, use, w->active);
    uint64_t sign = x->type == DT_F64 ? (uint64_t)1 << 63 : 0x80000000u;
    SIM_EACH(lane, w->active) {
        uint64_t bits = sim_element(w, x, 0, lane);
        bool is_nan = x->type == DT_F32 && (bits & 0x7fffffffu) > 0x7f800000u;
        sim_element_set(w, r, 0, lane, is_nan ? 0x7fffffffu : bits & ~sign);
        if (w->field)
            sim_field_element_set(
                w, r, 0, lane,
                sim_field_apply("abs", fields[lane], sim_value_of(x->type, bits), sim_value_of(x->type, bits & ~sign)));
    }
    return SIM_NEXT;
}

// ---- several operands --------------------------------------------------------------------------------------------

static sim_step run_binary(sim_warp *w, const sim_use *use)
{
    const binary *f = &binaries[use->bound[0]];
    const sim_operand *a = &use->operands[0], *b = &use->operands[1], *r = &use->result;
    sim_field fields[2][SIM_LANES];
    if (w->field)
        SIM_EACH(lane, w->active) {
            fields[0][lane] = sim_field_element(w, a, 0, lane);
            fields[1][lane] = sim_field_element(w, b, 0, lane);
        }
    sim_poison_by_element(w, use, w->active);
    bool keeps_nan = strcmp(f->name, "copysign") == 0;
    SIM_EACH(lane, w->active) {
        double x = sim_value_of(a->type, sim_element(w, a, 0, lane));
        double y = sim_value_of(b->type, sim_element(w, b, 0, lane)), z;
        if (use->bound[1]) {
            z = f->full(x, y);
            sim_f64(w, r->cell)[lane] = z;
        } else {
            float s =
                f->single ? f->single(sim_f32(w, a->cell)[lane], sim_f32(w, b->cell)[lane]) : (float)f->full(x, y);
            sim_f32(w, r->cell)[lane] = keeps_nan ? s : sim_quiet(s);
            z = (double)s;
        }
        if (w->field)
            sim_field_element_set(w, r, 0, lane, sim_field_apply2(f->name, fields[0][lane], x, fields[1][lane], y, z));
    }
    return SIM_NEXT;
}

static sim_step run_fma(sim_warp *w, const sim_use *use)
{
    const sim_operand *o = use->operands, *r = &use->result;
    sim_field fields[SIM_LANES];
    if (w->field)
        SIM_EACH(lane, w->active)
            fields[lane] = sim_field_fma(sim_field_element(w, &o[0], 0, lane), sim_field_element(w, &o[1], 0, lane),
                                         sim_field_element(w, &o[2], 0, lane));
    sim_poison_by_element(w, use, w->active);
    SIM_EACH(lane, w->active) {
        double y;
        if (use->bound[1]) {
            y = fma(sim_f64(w, o[0].cell)[lane], sim_f64(w, o[1].cell)[lane], sim_f64(w, o[2].cell)[lane]);
            sim_f64(w, r->cell)[lane] = y;
        } else {
            double product = (double)sim_f32(w, o[0].cell)[lane] * (double)sim_f32(w, o[1].cell)[lane];
            float s = (float)sim_add_odd(product, (double)sim_f32(w, o[2].cell)[lane]);
            sim_f32(w, r->cell)[lane] = sim_quiet(s);
            y = (double)s;
        }
        if (w->field)
            sim_field_element_set(w, r, 0, lane, sim_field_settle(fields[lane], y));
    }
    return SIM_NEXT;
}

static bool bind_float(sim_use *use)
{
    return is_float_operand(use);
}

// ---- complex numbers ---------------------------------------------------------------------------------------------
//
// A complex64 is two cells, read as 64 bits a lane: the real part in the low half.

static sim_step run_real(sim_warp *w, const sim_use *use)
{
    sim_poison_by_element(w, use, w->active);
    SIM_EACH(lane, w->active)
        sim_u32(w, use->result.cell)[lane] = (uint32_t)sim_u64(w, use->operands[0].cell)[lane];
    return SIM_NEXT;
}

static sim_step run_imag(sim_warp *w, const sim_use *use)
{
    sim_poison_by_element(w, use, w->active);
    SIM_EACH(lane, w->active)
        sim_u32(w, use->result.cell)[lane] = (uint32_t)(sim_u64(w, use->operands[0].cell)[lane] >> 32);
    return SIM_NEXT;
}

static sim_step run_make_complex(sim_warp *w, const sim_use *use)
{
    sim_poison_by_element(w, use, w->active);
    SIM_EACH(lane, w->active)
        sim_u64(w, use->result.cell)[lane] =
            (uint64_t)sim_u32(w, use->operands[1].cell)[lane] << 32 | sim_u32(w, use->operands[0].cell)[lane];
    return SIM_NEXT;
}

#define UNARY(name)                                                                                                    \
    {                                                                                                                  \
        name, run_unary, bind_unary, false                                                                             \
    }
#define BINARY(name)                                                                                                   \
    {                                                                                                                  \
        name, run_binary, bind_binary, false                                                                           \
    }

const sim_model sim_models_math[] = {
    {"abs", run_abs, bind_float, false},
    UNARY("exp"),
    UNARY("exp2"),
    UNARY("exp10"),
    UNARY("expm1"),
    UNARY("log"),
    UNARY("log2"),
    UNARY("log10"),
    UNARY("log1p"),
    UNARY("sqrt"),
    UNARY("rsqrt"),
    UNARY("cbrt"),
    UNARY("sin"),
    UNARY("cos"),
    UNARY("tan"),
    UNARY("asin"),
    UNARY("acos"),
    UNARY("atan"),
    UNARY("sinh"),
    UNARY("cosh"),
    UNARY("tanh"),
    UNARY("asinh"),
    UNARY("acosh"),
    UNARY("atanh"),
    UNARY("erf"),
    UNARY("erfc"),
    UNARY("tgamma"),
    UNARY("lgamma"),
    UNARY("floor"),
    UNARY("ceil"),
    UNARY("trunc"),
    UNARY("round"),
    BINARY("pow"),
    BINARY("atan2"),
    BINARY("hypot"),
    BINARY("fmod"),
    BINARY("copysign"),
    BINARY("fdim"),
    {"fma", run_fma, bind_float, false},
    {"real", run_real, NULL, false},
    {"imag", run_imag, NULL, false},
    {"make_complex", run_make_complex, NULL, false},
    {NULL, NULL, NULL, false},
};

// Note [accuracy of the models]
//
// The functions are the C library's: of f32 its f32 functions where those are within 1 ulp, else its f64 functions,
// rounded once. Both are within the bounds that stdlib/language/math.hds states for the hardware, and so are never further than
// the sum of the two bounds from what a GPU gives. They do not reproduce a GPU's last bit. sqrt, fma, fmod, copysign,
// fdim and the roundings to integers are exact on both sides. NaN results of f32 functions are the one that GPUs give,
// 0x7fffffff.
