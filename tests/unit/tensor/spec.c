// Input specifications, the numbers in them, and how tensors are shown and compared.
#include "fixture.h"

#include <math.h>
#include <string.h>

#include "sim/random.h"
#include "tensor/compare.h"
#include "tensor/spec.h"

static void understands(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    ten_spec s;
    assert_null(ten_spec_parse(&f.memory, "randn:f16[1024, 64]", &s));
    assert_true(s.source == TEN_RANDN && s.type == DT_F16 && s.rank == 2 && s.shape[1] == 64);
    assert_null(ten_spec_parse(&f.memory, "randint:i32[10](0,100)", &s));
    assert_true(s.source == TEN_RANDINT && s.arg_count == 2 && !strcmp(s.args[1], "100"));
    assert_null(ten_spec_parse(&f.memory, "full(-3):[2]", &s));
    assert_true(s.source == TEN_FULL && s.type == DT_NONE && s.has_shape && s.rank == 1);
    assert_null(ten_spec_parse(&f.memory, "zeros", &s));
    assert_true(s.source == TEN_ZEROS && !s.has_shape);
    assert_null(ten_spec_parse(&f.memory, "@a b.npy", &s));
    assert_true(s.source == TEN_FILE && !strcmp(s.path, "a b.npy"));
    assert_null(ten_spec_parse(&f.memory, "-0.5", &s));
    assert_true(s.source == TEN_NUMBER);
    static const char *const wrong[] = {
        "", "@", "rand", "randn:", "randn:f17", "randn:f16[", "randn:f16[1", "randn:f16[1,", "randn:f16[-1]", "randn:f16[a]",
        "randn:f16[99999999999999999999]", "randn(1,2,3)", "randn(", "randn()", "randn(1", "randint", "randint(1)", "full",
        "full(1, 2)", "zeros(1)", "zeros:f32[2]x", "empty(2)", "randn:f16[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_non_null(ten_spec_parse(&f.memory, wrong[i], &s));
    fixture_close(&f);
}

static void reads_numbers(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    uint64_t bits;
    assert_null(ten_number_parse(&f.memory, "0xff", DT_U8, &bits));
    assert_int_equal(bits, 255);
    assert_null(ten_number_parse(&f.memory, "-128", DT_I8, &bits));
    assert_int_equal((int64_t)bits, -128);
    assert_null(ten_number_parse(&f.memory, "1_000", DT_I64, &bits));
    assert_int_equal(bits, 1000);
    assert_null(ten_number_parse(&f.memory, "18446744073709551615", DT_U64, &bits));
    assert_true(bits == UINT64_MAX);
    assert_null(ten_number_parse(&f.memory, "-9223372036854775808", DT_I64, &bits));
    assert_true((int64_t)bits == INT64_MIN);
    assert_null(ten_number_parse(&f.memory, "1.5e0", DT_F16, &bits));
    assert_int_equal(bits, 0x3e00);
    assert_null(ten_number_parse(&f.memory, "-inf", DT_F32, &bits));
    assert_int_equal(bits, 0xff800000);
    assert_null(ten_number_parse(&f.memory, "65504", DT_F16, &bits));
    assert_null(ten_number_parse(&f.memory, "3.4028235e38", DT_F32, &bits));
    assert_null(ten_number_parse(&f.memory, "1e-60", DT_F32, &bits));
    assert_null(ten_number_parse(&f.memory, "true", DT_BOOL, &bits));
    assert_int_equal(bits, 1);
    static const struct {
        const char *text;
        dtype type;
    } wrong[] = {
        {"256", DT_U8}, {"-129", DT_I8}, {"128", DT_I8}, {"-1", DT_U32}, {"1.5", DT_I32}, {"", DT_I32}, {"0x", DT_I32},
        {"18446744073709551616", DT_U64}, {"1e", DT_F32}, {".", DT_F32}, {"1..2", DT_F32}, {"1__0", DT_I32}, {"_1", DT_I32},
        {"two", DT_F32}, {"2", DT_BOOL}, {"8", DT_I4}, {"-9", DT_I4}, {"1 ", DT_F32},
        {"1e40", DT_F32}, {"-1e39", DT_F32}, {"1e5", DT_F16}, {"70000", DT_F16}, {"1e400", DT_F64}, {"1e39", DT_C64},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_non_null(ten_number_parse(&f.memory, wrong[i].text, wrong[i].type, &bits));
    fixture_close(&f);
}

static ten_tensor make(fixture *f, const char *text)
{
    ten_spec s;
    assert_null(ten_spec_parse(&f->memory, text, &s));
    ten_tensor t = {.type = s.type, .rank = s.rank};
    memcpy(t.shape, s.shape, sizeof t.shape);
    assert_true(ten_allocate(&f->memory, &t, 0));
    assert_null(ten_fill(&f->memory, &s, 7, &t));
    return t;
}

static void fills(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    ten_tensor t = make(&f, "arange(1, 0.5):f32[4]");
    assert_true(ten_number(&t, 3) == 2.5);
    t = make(&f, "full(-3):i4[5]");
    assert_true(ten_number(&t, 4) == -3);
    t = make(&f, "randint(-2, 3):i8[100]");
    for (int64_t i = 0; i < t.count; i++)
        assert_true(ten_number(&t, i) == (double)sim_random_integer(7, (uint64_t)i, -2, 3) && fabs(ten_number(&t, i)) <= 2);
    t = make(&f, "randn:f64[100]");
    for (int64_t i = 0; i < t.count; i++)
        assert_true(ten_number(&t, i) == sim_random_normal(7, (uint64_t)i));
    t = make(&f, "uniform(2, 4):f64[100]");
    for (int64_t i = 0; i < t.count; i++)
        assert_true(ten_number(&t, i) >= 2 && ten_number(&t, i) < 4);
    static const char *const wrong[] = {"randn:i32[2]", "randint(5, 5):i32[2]", "randint(0, 300):i8[2]", "full(300):u8[2]",
                                        "full(1e40):f32[2]", "uniform(1, -1):f32[2]", "randn(0, -1):f32[2]"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ten_spec s;
        assert_null(ten_spec_parse(&f.memory, wrong[i], &s));
        ten_tensor w = {.type = s.type, .rank = s.rank, .shape = {2}};
        assert_true(ten_allocate(&f.memory, &w, 0));
        assert_non_null(ten_fill(&f.memory, &s, 7, &w));
    }
    fixture_close(&f);
}

// The first words of the generator's published test vectors (Random123, philox4x32 with 10 rounds).
static void draws_the_published_numbers(void **state)
{
    (void)state;
    uint32_t w[4];
    sim_random_words(0, 0, 0, w);
    assert_true(w[0] == 0x6627e8d5 && w[1] == 0xe169c58d && w[2] == 0xbc57ac4c && w[3] == 0x9b00dbd8);
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        double x = sim_random_normal(3, i);
        sum += x;
        squares += x * x;
    }
    assert_true(fabs(sum / 1e5) < 0.02 && fabs(squares / 1e5 - 1) < 0.02);
}

static const char *shown(fixture *f, const ten_tensor *t, const uint8_t *written)
{
    str_buf out;
    str_buf_init(&out, &f->memory);
    ten_show(t, written, &out);
    return str_text(&out);
}

static void shows(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    ten_tensor t = make(&f, "arange:i32[2, 3]");
    assert_string_equal(shown(&f, &t, NULL), "[[0, 1, 2],\n [3, 4, 5]]");
    assert_string_equal(shown(&f, &t, (const uint8_t[]){1, 1, 0, 1, 1, 1}), "[[0, 1, ?],\n [3, 4, 5]]");
    t = make(&f, "arange(0, 0.5):f16[3]");
    assert_string_equal(shown(&f, &t, NULL), "[ 0., 0.5,  1.]");
    t = make(&f, "arange:i32[2000]");
    assert_string_equal(shown(&f, &t, NULL), "[   0,    1,    2, …, 1997, 1998, 1999]");
    t = make(&f, "zeros:f32[0]");
    assert_string_equal(shown(&f, &t, NULL), "[]");
    t = make(&f, "ones:f32[]");
    assert_string_equal(shown(&f, &t, NULL), "1.");
    fixture_close(&f);
}

static void measures_errors(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    ten_tensor a = make(&f, "arange:f32[4]"), b = make(&f, "arange:f64[4]"), k = make(&f, "arange:i32[4]");
    ten_error e = ten_error_of(&a, &b);
    assert_true(e.different == 0 && e.harmonic == 0 && e.max_absolute == 0 && e.mean_relative == 0);
    // 0, 1, 2, 3 against 1, 1, 2, 4: relative to all, where none is 0.
    ten_set_number(&b, 0, 1);
    ten_set_number(&b, 3, 4);
    e = ten_error_of(&a, &b);
    assert_int_equal(e.different, 2);
    assert_true(e.harmonic == 0.5 && e.max_absolute == 1 && e.mean_absolute == 0.5);
    assert_true(e.max_relative == 1 && e.mean_relative == 1.25 / 4);
    // An expected 0 counts in absolute errors alone.
    ten_set_number(&b, 0, 0);
    ten_set_number(&a, 0, 2);
    e = ten_error_of(&a, &b);
    assert_true(e.harmonic == 2 && e.max_absolute == 2 && e.max_relative == 0.25 && e.mean_relative == 0.25 / 3);
    ten_set_number(&a, 1, INFINITY);
    e = ten_error_of(&a, &b);
    assert_true(isinf(e.harmonic) && isinf(e.max_absolute) && isinf(e.mean_absolute) && isinf(e.max_relative));
    ten_set_number(&a, 1, NAN);
    assert_true(isinf(ten_error_of(&a, &b).harmonic));
    ten_set_number(&b, 1, NAN);
    assert_true(ten_error_of(&a, &b).harmonic == 2);
    ten_set_number(&b, 1, INFINITY);
    assert_true(isinf(ten_error_of(&a, &b).harmonic));
    assert_int_equal(ten_error_of(&k, &k).different, 0);
    fixture_close(&f);
}

static void compares(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    ten_tensor a = make(&f, "arange:f32[2, 50]"), b = make(&f, "arange:f64[2, 50]");
    ten_comparison c;
    ten_compare(&a, NULL, &b, 0, 0, &c);
    assert_int_equal(c.different, 0);
    ten_set_number(&b, 51, 51.5);
    ten_set_number(&b, 70, NAN);
    ten_set_number(&b, 90, 93);
    ten_compare(&a, NULL, &b, 0, 1, &c);
    assert_int_equal(c.different, 2);
    assert_int_equal(c.first[0].index, 70);
    assert_int_equal(c.worst.index, 70);
    ten_compare(&a, NULL, &b, 0.05, 0, &c);
    assert_int_equal(c.different, 1);
    str_buf out;
    str_buf_init(&out, &f.memory);
    ten_compare_table(&c, &a, NULL, &b, &out);
    assert_non_null(strstr(str_text(&out), "(1, 20)"));
    uint8_t written[100] = {0};
    ten_compare(&a, written, &b, 1, 100, &c);
    assert_int_equal(c.unwritten, 100);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(understands), cmocka_unit_test(reads_numbers), cmocka_unit_test(fills),
        cmocka_unit_test(draws_the_published_numbers), cmocka_unit_test(shows),
        cmocka_unit_test(measures_errors), cmocka_unit_test(compares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
