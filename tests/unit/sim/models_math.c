// hidet.lang.math and hidet.lang.fast: within the bounds of the library's documentation from long double, special
// values, poison and field values.
#include "hand.h"

#include <float.h>
#include <math.h>

#include "sim/half.h"

typedef long double oracle(long double);

static long double rsqrt_oracle(long double x)
{
    return 1.0L / sqrtl(x);
}
static long double exp10_oracle(long double x)
{
    return powl(10.0L, x);
}
static long double rcp_oracle(long double x)
{
    return 1.0L / x;
}

typedef struct row {
    const char *name;
    oracle *f;
    double low, high;
    double ulp_f32, ulp_f64;
} row;

static const row rows[] = {
    {"exp", expl, -80, 80, 2, 1},           {"exp2", exp2l, -120, 120, 2, 1},
    {"exp10", exp10_oracle, -35, 35, 2, 1}, {"expm1", expm1l, -5, 80, 1, 1},
    {"log", logl, 1e-30, 1e30, 1, 1},       {"log2", log2l, 1e-30, 1e30, 1, 1},
    {"log10", log10l, 1e-30, 1e30, 2, 1},   {"log1p", log1pl, -0.9, 1e5, 1, 1},
    {"sqrt", sqrtl, 0, 1e30, 0.5, 0.5},     {"rsqrt", rsqrt_oracle, 1e-30, 1e30, 2, 1},
    {"cbrt", cbrtl, -1e20, 1e20, 1, 1},     {"sin", sinl, -100, 100, 2, 2},
    {"cos", cosl, -100, 100, 2, 2},         {"tan", tanl, -1.5, 1.5, 4, 2},
    {"asin", asinl, -1, 1, 2, 2},           {"acos", acosl, -1, 1, 2, 2},
    {"atan", atanl, -1e5, 1e5, 2, 2},       {"sinh", sinhl, -80, 80, 3, 2},
    {"cosh", coshl, -80, 80, 2, 2},         {"tanh", tanhl, -10, 10, 2, 1},
    {"asinh", asinhl, -1e10, 1e10, 3, 3},   {"acosh", acoshl, 1, 1e10, 4, 3},
    {"atanh", atanhl, -0.999, 0.999, 3, 3}, {"erf", erfl, -4, 4, 2, 2},
    {"erfc", erfcl, -4, 9, 4, 5},           {"tgamma", tgammal, 0.1, 30, 5, 10},
    {"lgamma", lgammal, 2.5, 1e10, 6, 4},   {"floor", floorl, -1e6, 1e6, 0, 0},
    {"ceil", ceill, -1e6, 1e6, 0, 0},       {"trunc", truncl, -1e6, 1e6, 0, 0},
    {"round", rintl, -1000, 1000, 0, 0},
};

static long double distance_f32(float got, long double want)
{
    float near = fabsf((float)want);
    long double ulp = (long double)nextafterf(near, INFINITY) - (long double)near;
    return fabsl((long double)got - want) / ulp;
}

static long double distance_f64(double got, long double want)
{
    double near = fabs((double)want);
    long double ulp = (long double)nextafter(near, INFINITY) - (long double)near;
    return fabsl((long double)got - want) / ulp;
}

static double pick(hand *h, double low, double high)
{
    double part = (double)(hand_random(h) >> 11) * 0x1p-53;
    if (low > 0 && high / low > 1e6)
        return low * pow(high / low, part);
    return low + (high - low) * part;
}

static void check_f32(hand *h, const char *module, const row *r)
{
    sim_warp *w = &h->block.warps[0];
    sim_use *use = hand_use(h, module, r->name, "f({x})", (hand_operand){"result", DT_F32, 1},
                            HAND_OPERANDS({"x", DT_F32, 1}), NULL);
    for (int trial = 0; trial < 200; trial++) {
        for (int lane = 0; lane < SIM_LANES; lane++)
            hand_set(w, &use->operands[0], 0, lane, sim_bits_of((float)pick(h, r->low, r->high)));
        hand_run(w, use);
        for (int lane = 0; lane < SIM_LANES; lane++) {
            float x = sim_f32(w, use->operands[0].cell)[lane], y = sim_f32(w, use->result.cell)[lane];
            if (distance_f32(y, r->f((long double)x)) > (long double)r->ulp_f32)
                fail_msg("%s(%a) is %a", r->name, (double)x, (double)y);
        }
    }
    // One NaN for all.
    hand_set_all(w, &use->operands[0], 0, 0xffc12345);
    hand_run(w, use);
    assert_int_equal(hand_get(w, &use->result, 0, 31), 0x7fffffff);
}

static void check_f64(hand *h, const row *r)
{
    sim_warp *w = &h->block.warps[0];
    sim_use *use = hand_use(h, "hidet.lang.math", r->name, "f({x})", (hand_operand){"result", DT_F64, 1},
                            HAND_OPERANDS({"x", DT_F64, 1}), NULL);
    for (int trial = 0; trial < 100; trial++) {
        for (int lane = 0; lane < SIM_LANES; lane++)
            sim_f64(w, use->operands[0].cell)[lane] = pick(h, r->low, r->high);
        hand_run(w, use);
        for (int lane = 0; lane < SIM_LANES; lane++) {
            double x = sim_f64(w, use->operands[0].cell)[lane], y = sim_f64(w, use->result.cell)[lane];
            if (distance_f64(y, r->f((long double)x)) > (long double)r->ulp_f64)
                fail_msg("%s(%a) is %a", r->name, x, y);
        }
    }
}

static void one_operand(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_f32(&h, "hidet.lang.math", &rows[i]);
        check_f64(&h, &rows[i]);
    }
    hand_close(&h);
}

static void approximations(void **state)
{
    (void)state;
    static const row quick[] = {
        {"exp", expl, -80, 80, 2, 0},
        {"exp2", exp2l, -120, 120, 2, 0},
        {"log", logl, 2, 1e30, 3, 0},
        {"log2", log2l, 2, 1e30, 2, 0},
        {"rcp", rcp_oracle, 1e-30, 1e30, 1, 0},
        {"sqrt", sqrtl, 1e-30, 1e30, 1, 0},
        {"rsqrt", rsqrt_oracle, 1e-30, 1e30, 2, 0},
        {"tanh", tanhl, -10, 10, 3, 0},
    };
    hand h;
    hand_open(&h, 1, false);
    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++)
        check_f32(&h, "hidet.lang.fast", &quick[i]);
    hand_close(&h);
}

static float run_two(hand *h, const char *module, const char *name, float a, float b)
{
    sim_warp *w = &h->block.warps[0];
    sim_use *use = hand_use(h, module, name, "f({x}, {y})", (hand_operand){"result", DT_F32, 1},
                            HAND_OPERANDS({"x", DT_F32, 1}, {"y", DT_F32, 1}), NULL);
    hand_set_all(w, &use->operands[0], 0, sim_bits_of(a));
    hand_set_all(w, &use->operands[1], 0, sim_bits_of(b));
    hand_run(w, use);
    return sim_f32(w, use->result.cell)[17];
}

static float run_one(hand *h, const char *name, float x)
{
    sim_warp *w = &h->block.warps[0];
    sim_use *use = hand_use(h, "hidet.lang.fast", name, "f({x})", (hand_operand){"result", DT_F32, 1},
                            HAND_OPERANDS({"x", DT_F32, 1}), NULL);
    hand_set_all(w, &use->operands[0], 0, sim_bits_of(x));
    hand_run(w, use);
    return sim_f32(w, use->result.cell)[17];
}

static void special_values(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    assert_true(run_one(&h, "exp", -88.0f) == 0.0f); // would be subnormal
    assert_true(run_one(&h, "exp2", -127.0f) == 0.0f);
    assert_true(run_one(&h, "rcp", 0x1p-130f) == INFINITY); // a subnormal operand is 0
    assert_true(run_one(&h, "rcp", -0x1p-130f) == -INFINITY);
    assert_true(run_one(&h, "rcp", 0x1p127f) == 0.0f);
    assert_true(run_one(&h, "log2", 0x1p-130f) == -INFINITY);
    assert_true(run_one(&h, "tanh", 0x1p-130f) == 0x1p-130f);
    assert_true(run_two(&h, "hidet.lang.fast", "divide", 6.0f, 0x1.8p126f) == 0.0f);
    assert_true(run_two(&h, "hidet.lang.fast", "divide", 6.0f, 3.0f) == 2.0f);
    assert_true(isnan(run_two(&h, "hidet.lang.fast", "divide", INFINITY, 0x1.8p126f)));
    assert_true(run_two(&h, "hidet.lang.fast", "pow", 2.0f, 10.0f) == 1024.0f);
    assert_true(isnan(run_two(&h, "hidet.lang.fast", "pow", -2.0f, 2.0f)));
    assert_true(run_two(&h, "hidet.lang.math", "pow", -2.0f, 3.0f) == -8.0f);
    assert_true(run_two(&h, "hidet.lang.math", "fmod", -7.5f, 2.0f) == -1.5f);
    assert_true(run_two(&h, "hidet.lang.math", "hypot", 3e30f, 4e30f) == 5e30f);
    assert_true(run_two(&h, "hidet.lang.math", "fdim", 1.0f, 3.0f) == 0.0f);
    assert_int_equal(sim_bits_of(run_two(&h, "hidet.lang.math", "copysign", sim_float_of(0x7fc00001), -1.0f)),
                     0xffc00001);
    hand_close(&h);
}

// fma of f32 is the C library's, which is exact, of operands that are hard: large cancellations, ties, subnormals.
static void fused(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    sim_use *use = hand_use(&h, "hidet.lang.math", "fma", "fmaf({a}, {b}, {c})", (hand_operand){"result", DT_F32, 1},
                            HAND_OPERANDS({"a", DT_F32, 1}, {"b", DT_F32, 1}, {"c", DT_F32, 1}), NULL);
    for (int trial = 0; trial < 20000; trial++) {
        for (int lane = 0; lane < SIM_LANES; lane++) {
            float a = sim_float_of((uint32_t)hand_random(&h)), b = sim_float_of((uint32_t)hand_random(&h));
            float c = trial % 2 ? -a * b : sim_float_of((uint32_t)hand_random(&h));
            c = trial % 4 == 1 ? nextafterf(c, 0) * 0x1p-20f : c;
            hand_set(w, &use->operands[0], 0, lane, sim_bits_of(a));
            hand_set(w, &use->operands[1], 0, lane, sim_bits_of(b));
            hand_set(w, &use->operands[2], 0, lane, sim_bits_of(c));
        }
        hand_run(w, use);
        for (int lane = 0; lane < SIM_LANES; lane++) {
            float want = fmaf(sim_f32(w, use->operands[0].cell)[lane], sim_f32(w, use->operands[1].cell)[lane],
                              sim_f32(w, use->operands[2].cell)[lane]);
            float got = sim_f32(w, use->result.cell)[lane];
            assert_true(isnan(want) ? isnan(got) : sim_bits_of(got) == sim_bits_of(want));
        }
    }
    hand_close(&h);
}

// Sums of products of halves as exact fractions of 2^-48 (f16) in 128 bits.
static double exact_f16(uint32_t a, uint32_t b, uint32_t c)
{
    __int128 x = (__int128)(dt_to_double(DT_F16, a) * 0x1p24), y = (__int128)(dt_to_double(DT_F16, b) * 0x1p24);
    __int128 z = (__int128)(dt_to_double(DT_F16, c) * 0x1p24) * (1 << 24), sum = x * y + z;
    // A double with the same rounding: keep 50 bits and a sticky one.
    bool negative = sum < 0;
    unsigned __int128 size = (unsigned __int128)(negative ? -sum : sum);
    int shift = 0;
    bool sticky = false;
    while (size >> 50) {
        sticky |= size & 1;
        size >>= 1;
        shift++;
    }
    double d = ldexp((double)(uint64_t)size + (sticky ? 0.5 : 0.0), shift - 48);
    return negative ? -d : d;
}

static void halves(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    sim_use *use = hand_use(&h, "hidet.lang.fast", "fma2", "fma.rn.f16x2 {result}, {a}, {b}, {c};",
                            (hand_operand){"result", DT_F16, 2},
                            HAND_OPERANDS({"a", DT_F16, 2}, {"b", DT_F16, 2}, {"c", DT_F16, 2}), NULL);
    for (int trial = 0; trial < 20000; trial++) {
        for (int lane = 0; lane < SIM_LANES; lane++)
            for (int i = 0; i < 3; i++)
                for (int e = 0; e < 2; e++) {
                    uint32_t bits = hand_random(&h) & 0xffff;
                    hand_set(w, &use->operands[i], e, lane, (bits & 0x7c00) == 0x7c00 ? bits & 0x83ff : bits);
                }
        hand_run(w, use);
        for (int lane = 0; lane < SIM_LANES; lane++)
            for (int e = 0; e < 2; e++) {
                double want = exact_f16((uint32_t)hand_get(w, &use->operands[0], e, lane),
                                        (uint32_t)hand_get(w, &use->operands[1], e, lane),
                                        (uint32_t)hand_get(w, &use->operands[2], e, lane));
                uint64_t bits = hand_get(w, &use->result, e, lane);
                if (want == 0)
                    assert_int_equal(bits & 0x7fff, 0);
                else
                    assert_int_equal(bits, dt_from_double(DT_F16, want));
            }
    }
    sim_use *larger =
        hand_use(&h, "hidet.lang.fast", "max2", "max.f16x2 {result}, {a}, {b};", (hand_operand){"result", DT_F16, 2},
                 HAND_OPERANDS({"a", DT_F16, 2}, {"b", DT_F16, 2}), NULL);
    static const uint32_t cases[][3] = {{0x3c00, 0x4000, 0x4000}, {0x7e00, 0xbc00, 0xbc00}, {0xbc00, 0xfe01, 0xbc00},
                                        {0x8000, 0x0000, 0x0000}, {0x0000, 0x8000, 0x0000}, {0x7e00, 0xfe00, 0x7fff}};
    for (int i = 0; i < 6; i++) {
        hand_set_all(w, &larger->operands[0], 0, cases[i][0]);
        hand_set_all(w, &larger->operands[1], 0, cases[i][1]);
        hand_set_all(w, &larger->operands[0], 1, 0);
        hand_set_all(w, &larger->operands[1], 1, 0);
        hand_run(w, larger);
        assert_int_equal(hand_get(w, &larger->result, 0, 30), cases[i][2]);
    }
    hand_close(&h);
}

static void field_values(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, true);
    sim_warp *w = &h.block.warps[0];
    sim_use *use = hand_use(&h, "hidet.lang.math", "exp", "expf({x})", (hand_operand){"result", DT_F32, 1},
                            HAND_OPERANDS({"x", DT_F32, 1}), NULL);
    sim_field a = {1000, 77}, b = {2000, 55};
    sim_field_of(w, use->operands[0].cell, 0)[0] = a;
    sim_field_of(w, use->operands[0].cell, 1)[0] = b;
    sim_field_of(w, use->operands[0].cell, 2)[0] = sim_field_add(a, b);
    hand_run(w, use);
    sim_field product = sim_field_mul(sim_field_of(w, use->result.cell, 0)[0], sim_field_of(w, use->result.cell, 1)[0]);
    assert_true(product.p == sim_field_of(w, use->result.cell, 2)[0].p); // exp(a + b) = exp(a) exp(b)
    hand_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_operand), cmocka_unit_test(approximations), cmocka_unit_test(special_values),
        cmocka_unit_test(fused),       cmocka_unit_test(halves),         cmocka_unit_test(field_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
