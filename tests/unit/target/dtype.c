// Conversions, promotion and the table of scalar types.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "target/dtype.h"

static const dtype floats[] = {DT_F8E4M3, DT_F8E5M2, DT_F16, DT_BF16, DT_TF32, DT_F32, DT_F64};
enum { FLOATS = sizeof floats / sizeof *floats };

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t to_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// A generator of its own, so that runs are the same everywhere (splitmix64's recurrence).
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void f16_is_gccs(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits <= 0xffff; bits++) {
        uint16_t pattern = (uint16_t)bits;
        _Float16 half;
        memcpy(&half, &pattern, sizeof half);
        double ours = dt_to_double(DT_F16, bits), theirs = (double)half;
        assert_int_equal(isnan(ours), isnan(theirs));
        if (!isnan(ours))
            assert_int_equal(to_bits(ours), to_bits(theirs));
        assert_int_equal(dt_from_double(DT_F16, ours), bits);
    }
}

static void assert_f16(double value)
{
    _Float16 half = (_Float16)value;
    uint16_t pattern;
    memcpy(&pattern, &half, sizeof pattern);
    assert_int_equal(dt_from_double(DT_F16, value), pattern);
}

static void f16_rounds_as_gcc(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x7c00; bits++) {
        double low = dt_to_double(DT_F16, bits), high = bits == 0x7bff ? 65536 : dt_to_double(DT_F16, bits + 1);
        double tie = (low + high) / 2;
        double near[] = {tie, nextafter(tie, low), nextafter(tie, high), low + (high - low) / 3, nextafter(low, high)};
        for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
            assert_f16(near[i]);
            assert_f16(-near[i]);
        }
    }
    uint64_t random = 1;
    for (int i = 0; i < 200000; i++) {
        double value = from_bits(next_random(&random));
        if (!isnan(value))
            assert_f16(value);
        assert_f16(ldexp((double)(int64_t)next_random(&random), -63 - (int)(next_random(&random) % 30)) * 70000);
    }
}

static void f32_is_the_hosts(void **state)
{
    (void)state;
    uint64_t random = 2;
    for (int i = 0; i < 400000; i++) {
        uint64_t r = next_random(&random);
        // Half of them over all doubles, half near and below the range of f32.
        double value = i & 1 ? from_bits(r) : ldexp((double)(int64_t)r, -63 - (int)(next_random(&random) % 160));
        if (isnan(value))
            continue;
        float single = (float)value;
        uint32_t pattern;
        memcpy(&pattern, &single, sizeof pattern);
        assert_int_equal(dt_from_double(DT_F32, value), pattern);
        assert_true(dt_to_double(DT_F32, pattern) == (double)single);
        assert_int_equal(dt_from_double(DT_F64, value), to_bits(value));
    }
}

static void patterns_round_trip(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits <= 0xffff; bits++) {
        uint32_t word = bits << 16;
        float single;
        memcpy(&single, &word, sizeof single);
        double value = dt_to_double(DT_BF16, bits);
        assert_true(isnan(value) ? isnan(single) : value == (double)single);
        assert_int_equal(dt_from_double(DT_BF16, value), bits);
    }
    for (uint32_t bits = 0; bits < 1u << 19; bits++) {
        double value = dt_to_double(DT_TF32, (uint64_t)bits << 13);
        assert_int_equal(dt_from_double(DT_TF32, value), (uint64_t)bits << 13);
    }
    for (uint32_t bits = 0; bits <= 0xff; bits++) {
        double a = dt_to_double(DT_F8E4M3, bits), b = dt_to_double(DT_F8E5M2, bits);
        assert_int_equal(isnan(a), (bits & 0x7f) == 0x7f);
        assert_int_equal(isnan(b), (bits & 0x7f) > 0x7c);
        assert_int_equal(isinf(b), (bits & 0x7f) == 0x7c ? (b < 0 ? -1 : 1) : 0);
        assert_int_equal(dt_from_double(DT_F8E4M3, a), isnan(a) ? 0x7f : bits);
        assert_int_equal(dt_from_double(DT_F8E5M2, b), isnan(b) ? 0x7f : isinf(b) ? bits - 1 : bits);
    }
}

// The value of a positive pattern, written out from the definition of the format.
static double value_of(dtype t, int field, int mantissa)
{
    int bits = dt_mantissa_bits(t), bias = (1 << (dt_exponent_bits(t) - 1)) - 1;
    double fraction = (double)mantissa / (double)(1 << bits);
    return field ? ldexp(1 + fraction, field - bias) : ldexp(fraction, 1 - bias);
}

// The nearest of all finite positive patterns, by search. Overflow is decided as if one more binade existed.
static uint64_t nearest(dtype t, double value, uint64_t largest)
{
    int bits = dt_mantissa_bits(t);
    uint64_t best = 0;
    double distance = INFINITY;
    for (uint64_t p = 0; p <= largest + 1; p++) {
        double d = fabs(value_of(t, (int)(p >> bits), (int)(p & ((1u << bits) - 1))) - value);
        bool wins_tie = t == DT_TF32 || !(p & 1);
        if (d < distance || (d == distance && wins_tie)) {
            distance = d;
            best = p;
        }
    }
    return best;
}

static void check_fp8(dtype t, double value, uint64_t largest)
{
    uint64_t expected = nearest(t, value, largest);
    if (expected > largest)
        expected = largest;
    assert_int_equal(dt_from_double(t, value), expected);
    assert_int_equal(dt_from_double(t, -value), expected | 0x80);
}

static void fp8_is_the_nearest(void **state)
{
    (void)state;
    static const struct {
        dtype t;
        uint64_t largest;
    } formats[] = {{DT_F8E4M3, 0x7e}, {DT_F8E5M2, 0x7b}};
    uint64_t random = 3;
    for (int f = 0; f < 2; f++) {
        dtype t = formats[f].t;
        for (uint64_t p = 0; p < formats[f].largest; p++) {
            double low = dt_to_double(t, p), high = dt_to_double(t, p + 1), tie = (low + high) / 2;
            check_fp8(t, tie, formats[f].largest);
            check_fp8(t, nextafter(tie, 0), formats[f].largest);
            check_fp8(t, nextafter(tie, INFINITY), formats[f].largest);
        }
        for (int i = 0; i < 20000; i++) {
            double unit = ldexp((double)(next_random(&random) >> 11), -53);
            check_fp8(t, ldexp(unit, (int)(next_random(&random) % 40) - 22), formats[f].largest);
        }
        assert_int_equal(dt_from_double(t, INFINITY), formats[f].largest);
        assert_int_equal(dt_from_double(t, -INFINITY), formats[f].largest | 0x80);
        assert_int_equal(dt_from_double(t, 1e300), formats[f].largest);
        assert_int_equal(dt_from_double(t, NAN), 0x7f);
        assert_int_equal(dt_from_double(t, 5e-324), 0);
        assert_int_equal(dt_from_double(t, -0.0), 0x80);
    }
    assert_true(dt_to_double(DT_F8E4M3, 0x7e) == 448);
    assert_true(dt_to_double(DT_F8E5M2, 0x7b) == 57344);
}

// bf16 and tf32 are prefixes of f32: round an exactly given f32 by its bits.
static uint32_t prefix_rounded(uint32_t word, int dropped, bool ties_away)
{
    uint32_t half = 1u << (dropped - 1), rest = word & ((1u << dropped) - 1), kept = word >> dropped;
    bool up = rest > half || (rest == half && (ties_away || (kept & 1)));
    return kept + up;
}

static void prefixes_of_f32_round(void **state)
{
    (void)state;
    uint64_t random = 4;
    for (int i = 0; i < 400000; i++) {
        uint32_t word = (uint32_t)next_random(&random);
        if (i % 4 == 0)
            word = (word & 0xffff0000u) | 0x8000u;
        if (i % 4 == 1)
            word = (word & 0xffffe000u) | 0x1000u;
        float single;
        memcpy(&single, &word, sizeof single);
        if (isnan(single))
            continue;
        assert_int_equal(dt_from_double(DT_BF16, (double)single), prefix_rounded(word, 16, false));
        assert_int_equal(dt_from_double(DT_TF32, (double)single), (uint64_t)prefix_rounded(word, 13, true) << 13);
    }
    assert_int_equal(dt_from_double(DT_BF16, INFINITY), 0x7f80);
    assert_int_equal(dt_from_double(DT_BF16, 1e39), 0x7f80);
    assert_int_equal(dt_from_double(DT_TF32, -INFINITY), 0xff800000u);
    // One rounding only: just above a tie of bf16, by less than f32 can see.
    assert_int_equal(dt_from_double(DT_BF16, 1 + 0x1p-8 + 0x1p-40), 0x3f81);
    assert_int_equal(dt_from_double(DT_BF16, 1 + 0x1p-8), 0x3f80);
}

static void nan_stays_nan(void **state)
{
    (void)state;
    for (int i = 0; i < FLOATS; i++) {
        assert_true(isnan(dt_to_double(floats[i], dt_from_double(floats[i], NAN))));
        assert_true(isnan(dt_to_double(floats[i], dt_from_double(floats[i], from_bits(0xfff0000000000001u)))));
    }
    assert_int_equal(dt_from_double(DT_F16, NAN), 0x7e00);
    assert_int_equal(dt_from_double(DT_BF16, NAN), 0x7fc0);
    assert_int_equal(dt_from_double(DT_F32, NAN), 0x7fc00000);
}

static void integers_saturate_and_wrap(void **state)
{
    (void)state;
    assert_int_equal(dt_from_double(DT_I8, 200), 127);
    assert_int_equal(dt_from_double(DT_I8, -200), 0x80);
    assert_int_equal(dt_from_double(DT_U8, -1), 0);
    assert_int_equal(dt_from_double(DT_I32, -1.9), 0xffffffff);
    assert_int_equal(dt_from_double(DT_I64, 0x1p63), INT64_MAX);
    assert_int_equal(dt_from_double(DT_U64, 1e30), UINT64_MAX);
    assert_int_equal(dt_from_double(DT_I32, NAN), 0);
    assert_int_equal(dt_from_double(DT_I1, -1), 1);
    assert_int_equal(dt_from_double(DT_BOOL, 0.5), 1);
    assert_int_equal(dt_wrap_int(DT_I4, 9), -7);
    assert_int_equal(dt_wrap_int(DT_U4, -1), 15);
    assert_int_equal(dt_wrap_int(DT_I64, INT64_MIN), INT64_MIN);
    assert_int_equal(dt_wrap_int(DT_U32, -1), 0xffffffff);
    assert_int_equal(dt_wrap_int(DT_BOOL, 2), 1);
    assert_true(dt_to_double(DT_I4, 0xf) == -1);
    assert_true(dt_to_double(DT_U64, UINT64_MAX) == 0x1p64);
}

static void ranges(void **state)
{
    (void)state;
    assert_int_equal(dt_min(DT_I64), INT64_MIN);
    assert_int_equal(dt_max_bits(DT_I64), INT64_MAX);
    assert_int_equal(dt_max_bits(DT_U64), UINT64_MAX);
    assert_int_equal(dt_min(DT_I1), -1);
    assert_int_equal(dt_max_bits(DT_I1), 0);
    assert_true(dt_holds_int(DT_I8, -128));
    assert_false(dt_holds_int(DT_I8, 128));
    assert_false(dt_holds_int(DT_U64, -1));
    assert_false(dt_holds_int(DT_F32, 1));
    assert_true(dt_holds_double(DT_F16, 65504));
    assert_false(dt_holds_double(DT_F16, 65505));
    assert_false(dt_holds_double(DT_F8E4M3, INFINITY));
    assert_true(dt_holds_double(DT_F8E4M3, NAN));
    assert_true(dt_holds_double(DT_I64, -0x1p63));
    assert_false(dt_holds_double(DT_I64, 0x1p63));
    assert_true(dt_holds_double(DT_U64, 0x1p63));
    assert_false(dt_holds_double(DT_I32, 0.5));
    assert_false(dt_holds_double(DT_I32, NAN));
}

// [to] holds every value of [from]: tried on all of them. [from] has at most 16 bits.
static bool holds_all(dtype from, dtype to)
{
    for (uint32_t bits = 0; bits < 1u << (from == DT_BOOL ? 1 : dt_bits(from)); bits++) {
        double value = dt_to_double(from, bits);
        if (!dt_holds_double(to, value))
            return false;
    }
    return true;
}

static void exact_conversions(void **state)
{
    (void)state;
    for (int from = DT_NONE + 1; from < DT__COUNT; from++) {
        for (int to = DT_NONE + 1; to < DT__COUNT; to++) {
            if (dt_bits((dtype)from) <= 16 && from != to)
                assert_int_equal(dt_converts_exactly((dtype)from, (dtype)to), holds_all((dtype)from, (dtype)to));
        }
        assert_true(dt_converts_exactly((dtype)from, (dtype)from));
        assert_false(dt_converts_exactly(DT_NONE, (dtype)from));
    }
    assert_true(dt_converts_exactly(DT_I32, DT_F64));
    assert_false(dt_converts_exactly(DT_I32, DT_F32));
    assert_false(dt_converts_exactly(DT_I64, DT_F64));
    assert_true(dt_converts_exactly(DT_TF32, DT_F32));
    assert_false(dt_converts_exactly(DT_F32, DT_TF32));
    assert_true(dt_converts_exactly(DT_F32, DT_C64));
    assert_false(dt_converts_exactly(DT_F64, DT_C64));
    assert_false(dt_converts_exactly(DT_C64, DT_F64));
}

static void promotion_rows(void **state)
{
    (void)state;
    static const struct {
        dtype a, b, result;
    } table[] = {
        {DT_I8, DT_I32, DT_I32},      {DT_U8, DT_U16, DT_U16},      {DT_I32, DT_U16, DT_I32},
        {DT_I32, DT_U32, DT_I64},     {DT_I8, DT_U8, DT_I16},       {DT_I64, DT_U32, DT_I64},
        {DT_I64, DT_U64, DT_NONE},    {DT_I8, DT_U64, DT_NONE},     {DT_BOOL, DT_I8, DT_I8},
        {DT_BOOL, DT_U64, DT_U64},    {DT_BOOL, DT_BOOL, DT_BOOL},  {DT_I4, DT_I4, DT_I8},
        {DT_U4, DT_I4, DT_I16},       {DT_U4, DT_I16, DT_I16},      {DT_BOOL, DT_I1, DT_I8},
        {DT_F16, DT_I64, DT_F16},     {DT_BOOL, DT_F32, DT_F32},    {DT_F16, DT_BF16, DT_F32},
        {DT_TF32, DT_F32, DT_F32},    {DT_F16, DT_TF32, DT_TF32},   {DT_BF16, DT_TF32, DT_TF32},
        {DT_F64, DT_BF16, DT_F64},    {DT_F8E4M3, DT_F32, DT_NONE}, {DT_F8E4M3, DT_F8E5M2, DT_NONE},
        {DT_F8E5M2, DT_I32, DT_NONE}, {DT_C64, DT_F8E4M3, DT_NONE}, {DT_F8E4M3, DT_F8E4M3, DT_F8E4M3},
        {DT_C64, DT_F32, DT_C64},     {DT_C64, DT_I64, DT_C64},     {DT_C64, DT_F64, DT_NONE},
        {DT_C64, DT_BF16, DT_C64},    {DT_NONE, DT_I32, DT_NONE},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_int_equal(dt_promote(table[i].a, table[i].b), table[i].result);
}

// Claimed for all: symmetry, and that promoting once more changes nothing. Associativity is claimed among integers of
// one signedness and bool, and among floats of 16 bits and more; mixed signedness and f16 + bf16 + tf32 break it.
static void promotion_laws(void **state)
{
    (void)state;
    for (int a = 0; a < DT__COUNT; a++) {
        for (int b = 0; b < DT__COUNT; b++) {
            dtype p = dt_promote((dtype)a, (dtype)b);
            assert_int_equal(p, dt_promote((dtype)b, (dtype)a));
            if (p != DT_NONE)
                assert_int_equal(dt_promote(p, p), p);
            for (int c = 0; c < DT__COUNT; c++) {
                dtype x = (dtype)a, y = (dtype)b, z = (dtype)c;
                bool ints = dt_is_int(x) && dt_is_int(y) && dt_is_int(z);
                bool one_sign = dt_is_signed(x) == dt_is_signed(y) && dt_is_signed(y) == dt_is_signed(z);
                if (ints && one_sign)
                    assert_int_equal(dt_promote(dt_promote(x, y), z), dt_promote(x, dt_promote(y, z)));
            }
        }
    }
    static const dtype chain[] = {DT_BF16, DT_F32, DT_F64, DT_F16};
    for (int i = 0; i < 64; i++) {
        dtype x = chain[i & 3], y = chain[i >> 2 & 3], z = chain[i >> 4];
        assert_int_equal(dt_promote(dt_promote(x, y), z), dt_promote(x, dt_promote(y, z)));
    }
}

static void names(void **state)
{
    (void)state;
    for (int t = DT_NONE + 1; t < DT__COUNT; t++) {
        dtype found = DT_NONE;
        assert_true(dt_find(str_of(dt_name((dtype)t)), &found));
        assert_int_equal(found, t);
        assert_true(dt_find(str_of(dt_long_name((dtype)t)), &found));
        assert_int_equal(found, t);
        assert_int_equal(*dt_cuda_name((dtype)t) == '\0', dt_is_subbyte((dtype)t));
    }
    dtype found = DT_F32;
    assert_false(dt_find(STR("none"), &found));
    assert_false(dt_find(STR("float"), &found));
    assert_int_equal(found, DT_F32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f16_is_gccs),
        cmocka_unit_test(f16_rounds_as_gcc),
        cmocka_unit_test(f32_is_the_hosts),
        cmocka_unit_test(patterns_round_trip),
        cmocka_unit_test(fp8_is_the_nearest),
        cmocka_unit_test(prefixes_of_f32_round),
        cmocka_unit_test(nan_stays_nan),
        cmocka_unit_test(integers_saturate_and_wrap),
        cmocka_unit_test(ranges),
        cmocka_unit_test(exact_conversions),
        cmocka_unit_test(promotion_rows),
        cmocka_unit_test(promotion_laws),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
