// Arithmetic and conversions of the executor against plain C and the dt_ functions: exhaustive where it is cheap.
#include "rig.h"

#include <math.h>
#include <stdlib.h>

// A kernel over [count] elements: y[i] = expression of a = x[i] and b = z[i].
static void run_pairs(const char *from, const char *to, const char *expression, const void *x, const void *z, void *y,
                      int64_t count, int in_bytes, int out_bytes)
{
    rig r;
    arena mem;
    arena_init(&mem, NULL);
    long long n = (count + 255) / 256 * 256;
    const char *text = arena_printf(
        &mem,
        "public kernel @k(x: %s[%lld] global layout row_major(%lld) storage %lld, z: %s[%lld] global layout "
        "row_major(%lld) storage %lld, "
        "y: %s[%lld] global layout row_major(%lld) storage %lld) grid %lld, 1, 1 block 256, 1, 1 {\n"
        "let i: i32 = bid.x * 256 + tid.x\nif i < %lld {\nlet a: %s = x[i]\nlet b: %s = z[i]\ny[i] = %s\n}\n}\n",
        from, n, n, n, from, n, n, n, to, n, n, n, n / 256, (long long)count, from, from, expression);
    rig_open(&r, text);
    uint64_t at_x = rig_tensor(&r, NULL, n * in_bytes, in_bytes), at_z = rig_tensor(&r, NULL, n * in_bytes, in_bytes);
    uint64_t at_y = rig_tensor(&r, NULL, n * out_bytes, out_bytes);
    memcpy(rig_bytes(&r, at_x), x, (size_t)(count * in_bytes));
    memcpy(rig_bytes(&r, at_z), z, (size_t)(count * in_bytes));
    sim_mark_written(r.device, at_x, n * in_bytes);
    sim_mark_written(r.device, at_z, n * in_bytes);
    RIG_CALL(&r, "k", at_x, at_z, at_y);
    rig_expect_clean(&r);
    memcpy(y, rig_bytes(&r, at_y), (size_t)(count * out_bytes));
    rig_close(&r);
    arena_free(&mem);
}

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

// ---- integers ------------------------------------------------------------------------------------------------------

typedef __int128 wide;

static wide floor_quotient(wide a, wide b)
{
    wide q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static const struct {
    const char *text;
    int kind;
    bool divides;
} int_rows[] = {
    {"a + b", 0, false}, {"a - b", 1, false}, {"a * b", 2, false},          {"a & b", 3, false},
    {"a | b", 4, false}, {"a ^ b", 5, false}, {"min(a, b)", 6, false},      {"max(a, b)", 7, false},
    {"a // b", 8, true}, {"a % b", 9, true},  {"truncdiv(a, b)", 10, true}, {"truncmod(a, b)", 11, true},
    {"-a", 12, false},   {"~a", 13, false},
};

static wide int_result(int kind, wide a, wide b)
{
    switch (kind) {
    case 0:
        return a + b;
    case 1:
        return a - b;
    case 2:
        return (wide)((unsigned __int128)a * (unsigned __int128)b);
    case 3:
        return a & b;
    case 4:
        return a | b;
    case 5:
        return a ^ b;
    case 6:
        return a < b ? a : b;
    case 7:
        return a > b ? a : b;
    case 8:
        return floor_quotient(a, b);
    case 9:
        return a - floor_quotient(a, b) * b;
    case 10:
        return a / b;
    case 11:
        return a % b;
    case 12:
        return -a;
    default:
        return ~a;
    }
}

static wide int_value(dtype t, uint64_t bits)
{
    return dt_is_signed(t) ? (wide)dt_wrap_int(t, (int64_t)bits) : (wide)(bits & dt_max_bits(t));
}

enum { PAIRS = 4096 };

// Edges against edges, then anything.
static void int_operands(dtype t, uint8_t *x, uint8_t *z, bool nonzero)
{
    int bytes = dt_bits(t) / 8;
    const int64_t edges[] = {
        0,   1,   -1, 2, -2, 3, 7, dt_min(t), dt_min(t) + 1, (int64_t)dt_max_bits(t), (int64_t)dt_max_bits(t) - 1,
        100, -100};
    for (int i = 0; i < PAIRS; i++) {
        uint64_t a = i < 13 * 13 ? (uint64_t)edges[i / 13] : next_random() >> next_random() % 64;
        uint64_t b = i < 13 * 13 ? (uint64_t)edges[i % 13] : next_random() >> next_random() % 64;
        if (nonzero && int_value(t, b) == 0)
            b = 1;
        memcpy(x + i * bytes, &a, (size_t)bytes);
        memcpy(z + i * bytes, &b, (size_t)bytes);
    }
}

static void check_ints(dtype t, int row)
{
    static uint8_t x[PAIRS * 8], z[PAIRS * 8], y[PAIRS * 8];
    int bytes = dt_bits(t) / 8;
    int_operands(t, x, z, int_rows[row].divides);
    run_pairs(dt_name(t), dt_name(t), int_rows[row].text, x, z, y, PAIRS, bytes, bytes);
    for (int i = 0; i < PAIRS; i++) {
        uint64_t a = 0, b = 0, found = 0;
        memcpy(&a, x + i * bytes, (size_t)bytes);
        memcpy(&b, z + i * bytes, (size_t)bytes);
        memcpy(&found, y + i * bytes, (size_t)bytes);
        uint64_t expected = (uint64_t)int_result(int_rows[row].kind, int_value(t, a), int_value(t, b));
        if (int_value(t, expected) != int_value(t, found))
            fail_msg("%s: %s of 0x%llx and 0x%llx: 0x%llx", dt_name(t), int_rows[row].text, (unsigned long long)a,
                     (unsigned long long)b, (unsigned long long)found);
    }
}

static const dtype int_types[] = {DT_I8, DT_U8, DT_I16, DT_U16, DT_I32, DT_U32, DT_I64, DT_U64};

static void integers(void **state)
{
    (void)state;
    for (int k = 0; k < 8; k++)
        for (size_t row = 0; row < sizeof int_rows / sizeof *int_rows; row++)
            check_ints(int_types[k], (int)row);
}

static void comparisons(void **state)
{
    (void)state;
    static const char *const texts[] = {"u8(a < b)",  "u8(a <= b)", "u8(a > b)",
                                        "u8(a >= b)", "u8(a == b)", "u8(a != b)"};
    static uint8_t x[PAIRS * 8], z[PAIRS * 8], y[PAIRS];
    for (int k = 0; k < 8; k++) {
        dtype t = int_types[k];
        int bytes = dt_bits(t) / 8;
        int_operands(t, x, z, false);
        for (int op = 0; op < 6; op++) {
            run_pairs(dt_name(t), "u8", texts[op], x, z, y, PAIRS, bytes, 1);
            for (int i = 0; i < PAIRS; i++) {
                uint64_t bits_a = 0, bits_b = 0;
                memcpy(&bits_a, x + i * bytes, (size_t)bytes);
                memcpy(&bits_b, z + i * bytes, (size_t)bytes);
                wide a = int_value(t, bits_a), b = int_value(t, bits_b);
                bool expected[] = {a<b, a <= b, a> b, a >= b, a == b, a != b};
                assert_int_equal(y[i], expected[op]);
            }
        }
    }
}

// Amounts of the width and above: all bits are shifted out.
static void shifts(void **state)
{
    (void)state;
    static const char *const texts[] = {"a << i32(b)", "a >> i32(b)", "a << i64(b)", "a >> i64(b)"};
    static uint8_t x[PAIRS * 8], z[PAIRS * 8], y[PAIRS * 8];
    for (int k = 0; k < 8; k++) {
        dtype t = int_types[k];
        int bytes = dt_bits(t) / 8, width = dt_bits(t);
        for (int op = 0; op < 4; op++) {
            for (int i = 0; i < PAIRS; i++) {
                uint64_t a = next_random(), b = next_random() % (uint64_t)(width < 32 ? width : width + 20);
                memcpy(x + i * bytes, &a, (size_t)bytes);
                memcpy(z + i * bytes, &b, (size_t)bytes);
            }
            run_pairs(dt_name(t), dt_name(t), texts[op], x, z, y, PAIRS, bytes, bytes);
            for (int i = 0; i < PAIRS; i++) {
                uint64_t a = 0, b = 0, found = 0;
                memcpy(&a, x + i * bytes, (size_t)bytes);
                memcpy(&b, z + i * bytes, (size_t)bytes);
                memcpy(&found, y + i * bytes, (size_t)bytes);
                wide v = int_value(t, a);
                uint64_t expected = op % 2 ? (uint64_t)(v >> (b > 63 ? 100 : (int)b)) : b > 63 ? 0 : a << b;
                if (op % 2 && (int)b >= width)
                    expected = v < 0 ? UINT64_MAX : 0;
                if (int_value(t, expected) != int_value(t, found))
                    fail_msg("%s: %s, 0x%llx by %llu: 0x%llx", dt_name(t), texts[op], (unsigned long long)a,
                             (unsigned long long)b, (unsigned long long)found);
            }
        }
    }
}

static void division_by_zero(void **state)
{
    (void)state;
    static const char *const texts[] = {"a // b", "a % b", "truncdiv(a, b)", "truncmod(a, b)"};
    for (int op = 0; op < 4; op++) {
        rig r;
        arena mem;
        arena_init(&mem, NULL);
        rig_open(
            &r,
            arena_printf(
                &mem,
                "public kernel @k(a: i32, b: i32, y: i32[32] global layout row_major(32) storage 32) block 32, 1, 1 {\n"
                "if tid.x != 3 {\ny[tid.x] = %s\n}\n}\n",
                texts[op]));
        RIG_CALL(&r, "k", 5, 0, rig_tensor(&r, NULL, 128, 4));
        rig_expect(&r, HDS0611);
        rig_close(&r);
        arena_free(&mem);
    }
}

// ---- narrow floats -------------------------------------------------------------------------------------------------

// Python's a // b and a % b, as float_divmod of CPython has them, in the precision of [t]; by 0 as IEEE 754 says.
static double floored(dtype t, double a, double b, bool is_rest)
{
    bool is_double = t == DT_F64;
    double rest = is_double ? fmod(a, b) : (double)fmodf((float)a, (float)b);
    double quotient = is_double ? (a - rest) / b : (double)(((float)a - (float)rest) / (float)b);
    if (b == 0)
        return is_rest ? NAN : a / b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
        rest = is_double ? rest + b : (double)((float)rest + (float)b);
        quotient = is_double ? quotient - 1 : (double)((float)quotient - 1.0f);
    } else if (rest == 0) {
        rest = copysign(0, b);
    }
    if (is_rest)
        return rest;
    double whole = floor(quotient);
    return quotient == 0 ? copysign(0, a / b) : quotient - whole > 0.5 ? whole + 1 : whole;
}

static double half_result(dtype t, int op, double a, double b)
{
    switch (op) {
    case 0:
        return a + b;
    case 1:
        return a - b;
    case 2:
        return a * b;
    case 3:
        return a / b;
    case 4:
        return isnan(a) ? b : isnan(b) || a < b || (a == b && signbit(a)) ? a : b;
    case 5:
        return isnan(a) ? b : isnan(b) || a > b || (a == b && !signbit(a)) ? a : b;
    case 6:
    case 7:
        return floored(t, a, b, op == 7);
    default:
        return -a;
    }
}

static bool same_float(dtype t, uint64_t a, uint64_t b)
{
    return a == b || (isnan(dt_to_double(t, a)) && isnan(dt_to_double(t, b)));
}

// Every number of 16 bits with these.
static const uint16_t partners[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00,
                                    0x3c01, 0x3555, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x3f80,
                                    0xbf80, 0x7f7f, 0x0080, 0x4248, 0x5640, 0x7f80, 0xff80, 0x7fc0};

static void check_halves(dtype t)
{
    static const char *const texts[] = {"a + b",     "a - b",  "a * b", "a / b", "min(a, b)",
                                        "max(a, b)", "a // b", "a % b", "-a"};
    enum { ALL = 65536 };
    static uint16_t x[ALL], z[ALL], y[ALL];
    for (int op = 0; op < 9; op++) {
        for (size_t p = 0; p < sizeof partners / sizeof *partners; p++) {
            for (int i = 0; i < ALL; i++)
                x[i] = (uint16_t)i, z[i] = partners[p];
            run_pairs(dt_name(t), dt_name(t), texts[op], x, z, y, ALL, 2, 2);
            for (int i = 0; i < ALL; i++) {
                uint64_t expected = dt_from_double(t, half_result(t, op, dt_to_double(t, x[i]), dt_to_double(t, z[i])));
                if (!same_float(t, expected, y[i]))
                    fail_msg("%s: %s of 0x%04x and 0x%04x: 0x%04x, not 0x%04x", dt_name(t), texts[op], x[i], z[i], y[i],
                             (unsigned)expected);
            }
        }
    }
}

static void halves(void **state)
{
    (void)state;
    check_halves(DT_F16);
    check_halves(DT_BF16);
}

static void half_comparisons(void **state)
{
    (void)state;
    static const char *const texts[] = {"u8(a < b)",  "u8(a <= b)", "u8(a > b)",
                                        "u8(a >= b)", "u8(a == b)", "u8(a != b)"};
    enum { ALL = 65536 };
    static uint16_t x[ALL], z[ALL];
    static uint8_t y[ALL];
    for (int k = 0; k < 2; k++) {
        dtype t = k ? DT_BF16 : DT_F16;
        for (int op = 0; op < 6; op++) {
            for (int i = 0; i < ALL; i++)
                x[i] = (uint16_t)i, z[i] = i % 5 ? partners[i % 24] : (uint16_t)i;
            run_pairs(dt_name(t), "u8", texts[op], x, z, y, ALL, 2, 1);
            for (int i = 0; i < ALL; i++) {
                double a = dt_to_double(t, x[i]), b = dt_to_double(t, z[i]);
                bool expected[] = {a<b, a <= b, a> b, a >= b, a == b, a != b};
                assert_int_equal(y[i], expected[op]);
            }
        }
    }
}

static void wide_floats(void **state)
{
    (void)state;
    static const char *const texts[] = {"a + b",     "a - b",  "a * b", "a / b", "min(a, b)",
                                        "max(a, b)", "a // b", "a % b", "-a"};
    static float x[PAIRS], z[PAIRS], y[PAIRS];
    static double dx[PAIRS], dz[PAIRS], dy[PAIRS];
    const double edges[] = {0.0, -0.0, 1.0, -1.0, 0.1, INFINITY, -INFINITY, NAN, 1e-45, 3.4e38, 7.0, -2.5, 100.0};
    for (int op = 0; op < 9; op++) {
        for (int i = 0; i < PAIRS; i++) {
            uint32_t bits[2] = {(uint32_t)next_random(), (uint32_t)next_random()};
            uint64_t wide_bits[2] = {next_random(), next_random()};
            memcpy(&x[i], &bits[0], 4);
            memcpy(&z[i], &bits[1], 4);
            memcpy(&dx[i], &wide_bits[0], 8);
            memcpy(&dz[i], &wide_bits[1], 8);
            if (i < 169)
                x[i] = (float)edges[i / 13], z[i] = (float)edges[i % 13], dx[i] = edges[i / 13], dz[i] = edges[i % 13];
            else if (i % 2)
                x[i] = (float)(int)bits[0] / 65536.0f, z[i] = (float)(int)bits[1] / 1e6f, dx[i] = (double)x[i] / 3.0,
                dz[i] = (double)z[i] / 7.0;
        }
        run_pairs("f32", "f32", texts[op], x, z, y, PAIRS, 4, 4);
        run_pairs("f64", "f64", texts[op], dx, dz, dy, PAIRS, 8, 8);
        for (int i = 0; i < PAIRS; i++) {
            float a = x[i], b = z[i], narrow[] = {a + b, a - b, a * b, a / b};
            float expected = op < 4 ? narrow[op] : (float)half_result(DT_F32, op, (double)a, (double)b);
            double exact = half_result(DT_F64, op, dx[i], dz[i]);
            if (memcmp(&expected, &y[i], 4) != 0 && !(isnan(expected) && isnan(y[i])))
                fail_msg("f32: %s of %a and %a: %a, not %a", texts[op], (double)a, (double)b, (double)y[i],
                         (double)expected);
            if (memcmp(&exact, &dy[i], 8) != 0 && !(isnan(exact) && isnan(dy[i])))
                fail_msg("f64: %s of %a and %a: %a, not %a", texts[op], dx[i], dz[i], dy[i], exact);
        }
    }
}

// ---- conversions ---------------------------------------------------------------------------------------------------

static const dtype all_types[] = {DT_I8,  DT_U8,   DT_I16, DT_U16, DT_I32,    DT_U32,    DT_I64,  DT_U64,
                                  DT_F16, DT_BF16, DT_F32, DT_F64, DT_F8E4M3, DT_F8E5M2, DT_TF32, DT_BOOL};
enum { TYPES = sizeof all_types / sizeof *all_types };

static int bytes_of(dtype t)
{
    return t == DT_BOOL ? 1 : dt_bits(t) / 8;
}

static double float_of_bits(dtype t, uint64_t bits)
{
    return t == DT_TF32 ? dt_to_double(DT_F32, bits) : dt_to_double(t, bits);
}

// Integers of 64 bits do not fit into a double: rounded to odd first, they round once.
static double odd_double(wide v)
{
    wide size = v < 0 ? -v : v;
    if (size >> 53)
        size = (size >> 11 | ((size & 0x7ff) != 0)) << 11;
    return v < 0 ? -(double)size : (double)size;
}

// False: the language says nothing about this one.
static bool cast_result(dtype from, dtype to, uint64_t bits, uint64_t *out)
{
    bool from_float = dt_is_float(from), to_float = dt_is_float(to);
    if (from == to) {
        *out = bits;
    } else if (to == DT_BOOL) {
        *out = from_float ? float_of_bits(from, bits) != 0 : bits != 0;
    } else if (from_float && to_float) {
        *out = dt_from_double(to, float_of_bits(from, bits));
    } else if (to_float) {
        wide v = from == DT_BOOL ? (wide)bits : int_value(from, bits);
        *out = dt_from_double(to, to == DT_F64 ? (double)v : odd_double(v));
    } else if (from_float) {
        double v = float_of_bits(from, bits), whole = trunc(v);
        wide low = (wide)dt_min(to), high = (wide)dt_max_bits(to);
        if (isnan(v) || whole < (double)low || whole > (double)high || (wide)whole > high)
            return false;
        *out = (uint64_t)(wide)whole;
    } else {
        *out = (uint64_t)(from == DT_BOOL ? (wide)bits : int_value(from, bits));
    }
    return true;
}

static bool same_value(dtype t, uint64_t expected, uint64_t found)
{
    if (t == DT_TF32)
        return same_float(DT_F32, expected, found);
    if (dt_is_float(t))
        return same_float(t, expected, found);
    return t == DT_BOOL ? expected == found : int_value(t, expected) == int_value(t, found);
}

// All values of up to 16 bits; of the others edges and random ones.
static void check_cast(dtype from, dtype to)
{
    enum { ALL = 65536 };
    static uint8_t x[ALL * 8], y[ALL * 8];
    int in = bytes_of(from), out = bytes_of(to);
    int64_t count = from == DT_BOOL ? 2 : in == 1 ? 256 : ALL;
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = in <= 2 ? (uint64_t)i : next_random();
        if (in > 2 && i % 2)
            bits >>= next_random() % 64;
        if (in > 2 && i % 4 == 3 && dt_is_float(from)) {
            double v = ((double)(int64_t)next_random()) / pow(2.0, (double)(next_random() % 80));
            bits = dt_from_double(from == DT_TF32 ? DT_F32 : from, v);
        }
        if (from == DT_TF32)
            bits &= 0xffffe000u;
        memcpy(x + i * in, &bits, (size_t)in);
    }
    arena mem;
    arena_init(&mem, NULL);
    run_pairs(dt_name(from), dt_name(to), from == to ? "a" : arena_printf(&mem, "%s(a)", dt_name(to)), x, x, y, count,
              in, out);
    arena_free(&mem);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = 0, found = 0, expected;
        memcpy(&bits, x + i * in, (size_t)in);
        memcpy(&found, y + i * out, (size_t)out);
        bool known = cast_result(from, to, bits, &expected);
        // tf32 rounds ties away from zero, by an instruction of its own.
        if (to == DT_TF32 && known && (expected & 0x1fff) != 0)
            expected = ((uint32_t)expected + 0x1000u) & 0xffffe000u;
        if (known && !same_value(to, expected, found))
            fail_msg("%s(%s 0x%llx): 0x%llx, not 0x%llx", dt_name(to), dt_name(from), (unsigned long long)bits,
                     (unsigned long long)found, (unsigned long long)expected);
    }
}

static void conversions(void **state)
{
    (void)state;
    for (int a = 0; a < TYPES; a++)
        for (int b = 0; b < TYPES; b++)
            check_cast(all_types[a], all_types[b]);
}

// Values that the type does not hold: the largest, the smallest, 0 for NaN.
static void clamped_conversions(void **state)
{
    (void)state;
    const float x[] = {1e20f, -1e20f, NAN, 3e9f, -3e9f, INFINITY, -INFINITY, -1.0f};
    int32_t i[8];
    uint32_t u[8];
    int64_t l[8];
    run_pairs("f32", "i32", "i32(a)", x, x, i, 8, 4, 4);
    run_pairs("f32", "u32", "u32(a)", x, x, u, 8, 4, 4);
    run_pairs("f32", "i64", "i64(a)", x, x, l, 8, 4, 8);
    const int32_t expected_i[] = {INT32_MAX, INT32_MIN, 0, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, -1};
    const uint32_t expected_u[] = {UINT32_MAX, 0, 0, 3000000000u, 0, UINT32_MAX, 0, 0};
    const int64_t expected_l[] = {INT64_MAX, INT64_MIN, INT64_MIN, 3000000000, -3000000000, INT64_MAX, INT64_MIN, -1};
    assert_memory_equal(i, expected_i, sizeof i);
    assert_memory_equal(u, expected_u, sizeof u);
    assert_memory_equal(l, expected_l, sizeof l);
}

// ---- complex numbers -----------------------------------------------------------------------------------------------

static void complex_numbers(void **state)
{
    (void)state;
    const float x[] = {1, 2, -3, 0.5f, 0, 0}, z[] = {3, -1, 0.25f, 4, 1, 1};
    float y[6];
    run_pairs("complex64", "complex64", "a * b - -a / b", x, z, y, 3, 8, 8);
    for (int i = 0; i < 6; i += 2) {
        double a = (double)x[i], b = (double)x[i + 1], c = (double)z[i], d = (double)z[i + 1], size = c * c + d * d;
        assert_true(fabs((double)y[i] - (a * c - b * d + (a * c + b * d) / size)) < 1e-5);
        assert_true(fabs((double)y[i + 1] - (a * d + b * c + (b * c - a * d) / size)) < 1e-5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),         cmocka_unit_test(comparisons), cmocka_unit_test(shifts),
        cmocka_unit_test(division_by_zero), cmocka_unit_test(halves),      cmocka_unit_test(half_comparisons),
        cmocka_unit_test(wide_floats),      cmocka_unit_test(conversions), cmocka_unit_test(clamped_conversions),
        cmocka_unit_test(complex_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
