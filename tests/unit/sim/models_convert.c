// hidet.lang.convert: exhaustive over 8 and 16 bits, at ties and edges elsewhere, against searches among all values of
// the narrow type.
#include "hand.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "sim/half.h"
#include "sim/models/round.h"

static const char module[] = "hidet.lang.convert";

static double bits_to_double(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static float bits_to_float(uint32_t bits)
{
    return sim_float_of(bits);
}

// ---- one number ----------------------------------------------------------------------------------------------------

static uint64_t convert(hand *h, sim_use *use, uint64_t bits)
{
    sim_warp *w = &h->block.warps[0];
    hand_set(w, &use->operands[0], 0, 5, bits);
    w->active = 1 << 5;
    assert_int_equal(hand_run(w, use), SIM_NEXT);
    w->active = UINT32_MAX;
    return hand_get(w, &use->result, 0, 5);
}

static sim_use *conversion(hand *h, const char *name, const char *text, dtype from, dtype to)
{
    return hand_use(h, module, name, text, (hand_operand){"result", to, 1}, HAND_OPERANDS({"x", from, 1}), NULL);
}

static const char *mode_names[] = {"rn", "rz", "rm", "rp"};

// Bits of the neighbours of [x] among the finite values of [t] (16 bits), by bisection over magnitudes.
static uint64_t expected_16(dtype t, double x, int mode)
{
    uint64_t sign = signbit(x) ? 0x8000 : 0, infinity = t == DT_F16 ? 0x7c00 : 0x7f80;
    double size = fabs(x);
    if (isinf(x))
        return sign | infinity;
    uint64_t low = 0, high = infinity;
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;
        if (dt_to_double(t, middle) <= size)
            low = middle;
        else
            high = middle;
    }
    double below = dt_to_double(t, low);
    if (below == size)
        return sign | low;
    // The number behind the largest one decides where nearest becomes infinite.
    double above = high == infinity ? below + (below - dt_to_double(t, low - 1)) : dt_to_double(t, high);
    bool up;
    switch (mode) {
    case 0:
        up = size - below > above - size || (size - below == above - size && (low & 1));
        break;
    case 1:
        up = false;
        break;
    case 2:
        up = sign != 0;
        break;
    default:
        up = sign == 0;
        break;
    }
    return sign | (up ? high : low);
}

static void check_halves(hand *h, dtype t, const char *name, const char *type, int modes)
{
    for (int mode = 0; mode < modes; mode++) {
        const char *text = arena_printf(&h->mem, "cvt.%s.%s.f32 {result}, {x};", mode_names[mode], type);
        sim_use *use = conversion(h, name, text, DT_F32, t);
        int step = mode ? 7 : 1;
        // Every value, the middle to the next, and what lies beside both.
        for (uint32_t bits = 0; bits < 0x10000; bits += (uint32_t)step) {
            double value = dt_to_double(t, bits), next = dt_to_double(t, bits + 1);
            if (isnan(value))
                continue;
            float middle = isfinite(next) ? (float)((value + next) / 2) : (float)value * 1.0005f;
            float tries[] = {(float)value, middle, nextafterf(middle, INFINITY), nextafterf(middle, -INFINITY),
                             nextafterf((float)value, INFINITY)};
            for (int i = 0; i < 5; i++)
                assert_int_equal(convert(h, use, sim_bits_of(tries[i])), expected_16(t, (double)tries[i], mode));
        }
        assert_int_equal(convert(h, use, 0x7fc00000), 0x7fff);
        assert_int_equal(convert(h, use, 0xff800001), 0x7fff);
    }
}

static void halves(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    check_halves(&h, DT_F16, "to_f16", "f16", 4);
    check_halves(&h, DT_BF16, "to_bf16", "bf16", 2);
    hand_close(&h);
}

static void tf32(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_use *use = conversion(&h, "to_tf32", "cvt.rna.tf32.f32 {result}, {x};", DT_F32, DT_TF32);
    for (int i = 0; i < 200000; i++) {
        uint32_t bits = (uint32_t)hand_random(&h);
        if (i % 4 == 0)
            bits = (bits & 0xffffe000u) | 0x1000u;
        float x = bits_to_float(bits);
        if (isnan(x))
            continue;
        assert_int_equal(convert(&h, use, bits), dt_from_double(DT_TF32, (double)x));
    }
    assert_int_equal(convert(&h, use, 0x7f800001), 0x7f800000); // seen on sm_90
    assert_int_equal(convert(&h, use, 0xffffffff), 0xffffe000);
    hand_close(&h);
}

// ---- f32 of wider numbers ------------------------------------------------------------------------------------------

static float nearest(long double x, int mode)
{
    float f = (float)x; // in the host's mode: nearest
    if (mode == 0 || (long double)f == x)
        return f;
    bool towards_zero = mode == 1 || (mode == 2 && x > 0) || (mode == 3 && x < 0);
    if (towards_zero)
        return fabsl((long double)f) > fabsl(x) ? nextafterf(f, 0) : f;
    return fabsl((long double)f) < fabsl(x) ? nextafterf(f, x > 0 ? INFINITY : -INFINITY) : f;
}

static void to_f32(void **state)
{
    (void)state;
    static const dtype types[] = {DT_F64, DT_I32, DT_U32, DT_I64, DT_U64};
    hand h;
    hand_open(&h, 1, false);
    for (size_t k = 0; k < 5; k++)
        for (int mode = 0; mode < 4; mode++) {
            char text[64];
            snprintf(text, sizeof text, "cvt.%s.f32.any {result}, {x};", mode_names[mode]);
            sim_use *use = conversion(&h, "to_f32", text, types[k], DT_F32);
            for (int i = 0; i < 20000; i++) {
                uint64_t bits = hand_random(&h) >> hand_random(&h) % 64;
                if (types[k] == DT_F64)
                    bits = (bits & ((uint64_t)0x800fffff << 32 | UINT32_MAX)) | (860 + hand_random(&h) % 300) << 52;
                long double x = types[k] == DT_F64   ? (long double)bits_to_double(bits)
                                : types[k] == DT_I32 ? (long double)(int32_t)bits
                                : types[k] == DT_U32 ? (long double)(uint32_t)bits
                                : types[k] == DT_I64 ? (long double)(int64_t)bits
                                                     : (long double)bits;
                assert_int_equal(convert(&h, use, bits), sim_bits_of(nearest(x, mode)));
            }
        }
    sim_use *use = conversion(&h, "to_f32", "cvt.rz.f32.f64 {result}, {x};", DT_F64, DT_F32);
    assert_int_equal(convert(&h, use, 0x7ff8000000000001u), 0x7fc00000); // seen on sm_90
    assert_int_equal(convert(&h, use, 0xfff0000020000001u), 0xffc00001);
    assert_int_equal(convert(&h, use, 0x7fe0000000000000u), 0x7f7fffff); // too large: the largest number
    hand_close(&h);
}

// ---- integers ------------------------------------------------------------------------------------------------------

static long double rounded(long double x, int mode)
{
    switch (mode) {
    case 0: {
        long double low = floorl(x), rest = x - low;
        return rest > 0.5L || (rest == 0.5L && fmodl(low, 2) != 0) ? low + 1 : low;
    }
    case 1:
        return truncl(x);
    case 2:
        return floorl(x);
    default:
        return ceill(x);
    }
}

static void to_int(void **state)
{
    (void)state;
    static const dtype types[] = {DT_I32, DT_U32, DT_I64, DT_U64};
    hand h;
    hand_open(&h, 1, false);
    for (int k = 0; k < 4; k++)
        for (int from = 0; from < 2; from++)
            for (int mode = 0; mode < 4; mode++) {
                char text[64];
                snprintf(text, sizeof text, "cvt.%si.any.any {result}, {x};", mode_names[mode]);
                dtype t = types[k], f = from ? DT_F64 : DT_F32;
                sim_use *use = conversion(&h, "to_int", text, f, t);
                for (int i = 0; i < 20000; i++) {
                    int scale = (int)(hand_random(&h) % 80) - 10;
                    double x = ldexp((double)(int64_t)hand_random(&h), scale - 63);
                    if (i % 3 == 0)
                        x = (double)((int64_t)hand_random(&h) % 100) / 2;
                    if (!from)
                        x = (double)(float)x;
                    long double n = rounded((long double)x, mode), low = (long double)dt_min(t),
                                high = (long double)dt_max_bits(t);
                    n = n < low ? low : n > high ? high : n;
                    uint64_t expected = n < 0 ? (uint64_t)(int64_t)n : (uint64_t)n;
                    uint64_t bits;
                    memcpy(&bits, &x, sizeof bits);
                    uint64_t got = convert(&h, use, from ? bits : sim_bits_of((float)x));
                    assert_true(got == (dt_bits(t) == 64 ? expected : expected & UINT32_MAX));
                }
                bool is_zero = !from && dt_bits(t) == 32;
                uint64_t nan = convert(&h, use, from ? 0x7ff8000000000000u : 0x7fc00000u);
                assert_true(nan == (is_zero ? 0 : (uint64_t)1 << (dt_bits(t) - 1)));
            }
    hand_close(&h);
}

static void saturate(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_use *use = conversion(&h, "saturate", "cvt.sat.f32.f32 {result}, {x};", DT_F32, DT_F32);
    static const float in[] = {-INFINITY, -1, -0.0f, 0, 0x1p-140f, 0.5f, 1, 1.5f, INFINITY, NAN};
    static const float out[] = {0, 0, 0, 0, 0x1p-140f, 0.5f, 1, 1, 1, 0};
    for (int i = 0; i < 10; i++)
        assert_int_equal(convert(&h, use, sim_bits_of(in[i])), sim_bits_of(out[i]));
    hand_close(&h);
}

// ---- pairs ---------------------------------------------------------------------------------------------------------

static void pairs(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, true);
    sim_warp *w = &h.block.warps[0];
    static const struct {
        const char *name, *text;
        dtype t;
        bool relu;
    } rows[] = {{"pack", "cvt.rn.f16x2.f32 {result}, {second}, {first};", DT_F16, false},
                {"pack", "cvt.rn.bf16x2.f32 {result}, {second}, {first};", DT_BF16, false},
                {"pack_relu", "cvt.rn.relu.f16x2.f32 {result}, {second}, {first};", DT_F16, true},
                {"pack_fp8", "cvt.rn.satfinite.e4m3x2.f32 {result}, {second}, {first};", DT_F8E4M3, false},
                {"pack_fp8", "cvt.rn.satfinite.e5m2x2.f32 {result}, {second}, {first};", DT_F8E5M2, false}};
    for (int k = 0; k < 5; k++) {
        sim_use *use = hand_use(&h, module, rows[k].name, rows[k].text, (hand_operand){"result", rows[k].t, 2},
                                HAND_OPERANDS({"second", DT_F32, 1}, {"first", DT_F32, 1}), NULL);
        for (int trial = 0; trial < 500; trial++) {
            for (int lane = 0; lane < SIM_LANES; lane++)
                for (int i = 0; i < 2; i++)
                    hand_set(w, &use->operands[i], 0, lane, hand_random(&h) & 0xc3ffffff);
            hand_run(w, use);
            for (int lane = 0; lane < SIM_LANES; lane++)
                for (int i = 0; i < 2; i++) {
                    double x = (double)bits_to_float((uint32_t)hand_get(w, &use->operands[1 - i], 0, lane));
                    x = rows[k].relu && !(x > 0) ? 0 : x;
                    assert_int_equal(hand_get(w, &use->result, i, lane), dt_from_double(rows[k].t, x));
                }
        }
        // The first comes first, with its poison and its field value.
        w->poison[use->operands[0].cell] = 4;
        sim_field_of(w, use->operands[1].cell, 3)[0] = (sim_field){12345, SIM_FIELD_NONE};
        hand_set(w, &use->operands[1], 0, 3, sim_bits_of(1.0f));
        hand_run(w, use);
        assert_int_equal(w->poison[hand_cell(&use->result, 0)], 0);
        assert_int_equal(w->poison[hand_cell(&use->result, 1)], 4);
        assert_int_equal(sim_field_of(w, hand_cell(&use->result, 0), 3)[0].p, 12345);
        w->poison[use->operands[0].cell] = 0;
        memset(sim_field_of(w, use->operands[1].cell, 3), 0xff, sizeof(sim_field));
    }
    hand_close(&h);
}

static void fp8(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    static const dtype types[] = {DT_F8E4M3, DT_F8E5M2};
    for (int k = 0; k < 2; k++) {
        sim_use *unpack = hand_use(&h, module, "unpack_fp8", "cvt.rn.f16x2.e4m3x2 {result}, {pair};",
                                   (hand_operand){"result", DT_F16, 2}, HAND_OPERANDS({"pair", types[k], 2}), NULL);
        sim_use *pack = hand_use(&h, module, "pack_fp8_halves", "cvt.rn.satfinite.e4m3x2.f16x2 {result}, {pair};",
                                 (hand_operand){"result", types[k], 2}, HAND_OPERANDS({"pair", DT_F16, 2}), NULL);
        for (uint32_t bits = 0; bits < 256; bits++) {
            hand_set_all(w, &unpack->operands[0], 0, bits);
            hand_set_all(w, &unpack->operands[0], 1, 255 - bits);
            hand_run(w, unpack);
            double x = dt_to_double(types[k], bits);
            uint64_t got = hand_get(w, &unpack->result, 0, 9);
            assert_int_equal(got, isnan(x) ? 0x7fff : dt_from_double(DT_F16, x));
        }
        for (uint32_t bits = 0; bits < 0x10000; bits++) {
            hand_set_all(w, &pack->operands[0], 0, bits);
            hand_set_all(w, &pack->operands[0], 1, bits ^ 0x8000);
            w->active = 2;
            hand_run(w, pack);
            w->active = UINT32_MAX;
            assert_int_equal(hand_get(w, &pack->result, 0, 1), dt_from_double(types[k], dt_to_double(DT_F16, bits)));
            assert_int_equal(hand_get(w, &pack->result, 1, 1),
                             dt_from_double(types[k], dt_to_double(DT_F16, bits ^ 0x8000)));
        }
    }
    hand_close(&h);
}

static void bytes(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        sim_use *use = hand_use(&h, module, "_pack_two",
                                is_signed ? "cvt.pack.sat.s8.s32.b32 {result};" : "cvt.pack.sat.u8.s32.b32 {result};",
                                (hand_operand){"result", DT_U32, 1},
                                HAND_OPERANDS({"high", DT_I32, 1}, {"low", DT_I32, 1}, {"above", DT_U32, 1}), NULL);
        for (int i = -400; i < 400; i++) {
            hand_set_all(w, &use->operands[0], 0, (uint32_t)i);
            hand_set_all(w, &use->operands[1], 0, (uint32_t)(-i * 3));
            hand_set_all(w, &use->operands[2], 0, 0x1234abcd);
            hand_run(w, use);
            int low = is_signed ? -128 : 0, high = is_signed ? 127 : 255, a = i, b = -i * 3;
            a = a < low ? low : a > high ? high : a;
            b = b < low ? low : b > high ? high : b;
            assert_int_equal(hand_get(w, &use->result, 0, 0),
                             0xabcd0000u | (uint32_t)(a & 255) << 8 | (uint32_t)(b & 255));
        }
    }
    hand_close(&h);
}

// ---- the rounding itself, against dt_from_double -------------------------------------------------------------------

static void rounding(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    static const dtype types[] = {DT_F16, DT_BF16, DT_F32, DT_F64};
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 200000; i++) {
            double x = bits_to_double(hand_random(&h));
            if (i & 1)
                x = ldexp((double)(int64_t)(hand_random(&h) >> 40), (int)(hand_random(&h) % 300) - 170);
            if (!isnan(x))
                assert_true(sim_round_double(types[k], x, SIM_RN) == dt_from_double(types[k], x));
        }
    hand_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves), cmocka_unit_test(tf32),     cmocka_unit_test(to_f32),
        cmocka_unit_test(to_int), cmocka_unit_test(saturate), cmocka_unit_test(pairs),
        cmocka_unit_test(fp8),    cmocka_unit_test(bytes),    cmocka_unit_test(rounding)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
