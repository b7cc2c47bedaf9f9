// .npy files: what NumPy writes is read, what we write is what NumPy would, and whatever is broken is said.
#include "fixture.h"

#include <string.h>

#include "tensor/npy.h"

// A file with this header text and data.
static str file_of(fixture *f, int major, const char *header, const void *data, size_t len)
{
    str_buf out;
    str_buf_init(&out, &f->memory);
    size_t length = strlen(header);
    str_add(&out, (str){"\x93NUMPY", 6});
    str_addc(&out, (char)major);
    str_addc(&out, 0);
    for (int i = 0; i < (major == 1 ? 2 : 4); i++)
        str_addc(&out, (char)(length >> 8 * i));
    str_adds(&out, header);
    str_add(&out, (str){data, len});
    return (str){out.at, out.len};
}

static bool parse(fixture *f, str file, dtype wanted, ten_tensor *out)
{
    return ten_npy_parse(&f->memory, &f->diags, "a.npy", file, wanted, DT_BF16, "parameter 'a' of 'k'", out);
}

static void check_floats(const ten_tensor *t, const float *expected, int64_t count)
{
    assert_int_equal(t->count, count);
    for (int64_t i = 0; i < count; i++)
        assert_true(ten_number(t, i) == expected[i]);
}

static void reads_what_numpy_writes(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    const float values[6] = {0, 1, 2, 3, 4, 5};
    ten_tensor t;
    for (int major = 1; major <= 3; major++) {
        str file = file_of(&f, major, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }      \n", values, 24);
        assert_true(parse(&f, file, DT_F32, &t));
        assert_int_equal(t.rank, 2);
        assert_int_equal(t.shape[1], 3);
        check_floats(&t, values, 6);
    }
    assert_true(parse(&f, file_of(&f, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': ()}\n", values + 3, 4), DT_F32, &t));
    assert_int_equal(t.rank, 0);
    check_floats(&t, values + 3, 1);
    assert_true(parse(&f, file_of(&f, 1, "{'shape': (0,), 'fortran_order': True, 'descr': \"<f4\"}", NULL, 0), DT_F32, &t));
    assert_int_equal(t.count, 0);
    fixture_close(&f);
}

static void brings_columns_and_big_ends_into_order(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    const uint8_t big[8] = {0x3f, 0x80, 0, 0, 0x40, 0, 0, 0};
    const int16_t columns[6] = {0, 3, 1, 4, 2, 5};
    ten_tensor t;
    assert_true(parse(&f, file_of(&f, 1, "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", big, 8), DT_F32, &t));
    check_floats(&t, (const float[]){1, 2}, 2);
    assert_true(parse(&f, file_of(&f, 1, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }", columns, 12), DT_I16, &t));
    check_floats(&t, (const float[]){0, 1, 2, 3, 4, 5}, 6);
    assert_true(parse(&f, file_of(&f, 1, "{'descr': '>c8', 'fortran_order': False, 'shape': (1,), }", big, 8), DT_C64, &t));
    assert_true(ten_number(&t, 0) == 1 && ten_imaginary(&t, 0) == 2);
    fixture_close(&f);
}

static void takes_types_that_numpy_lacks(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    const uint16_t bits[2] = {0x3f80, 0xc000};
    const int8_t nibbles[3] = {-8, 7, 1};
    ten_tensor t;
    static const char *const names[] = {"<V2", "|V2", "<u2"};
    for (size_t i = 0; i < 3; i++) {
        const char *header =
            arena_printf(&f.memory, "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }", names[i]);
        assert_true(parse(&f, file_of(&f, 1, header, bits, 4), DT_BF16, &t));
        check_floats(&t, (const float[]){1, -2}, 2);
    }
    assert_true(parse(&f, file_of(&f, 1, "{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }", bits, 4), DT_NONE, &t));
    assert_int_equal(t.type, DT_BF16);
    const uint8_t small[2] = {0x3c, 0xc0};
    static const dtype wanted[] = {DT_NONE, DT_F8E5M2};
    for (size_t i = 0; i < 2; i++) {
        str file = file_of(&f, 1, "{'descr': '<f1', 'fortran_order': False, 'shape': (2,), }", small, 2);
        assert_true(parse(&f, file, wanted[i], &t));
        assert_int_equal(t.type, DT_F8E5M2);
        check_floats(&t, (const float[]){1, -2}, 2);
    }
    assert_true(parse(&f, file_of(&f, 1, "{'descr': '|i1', 'fortran_order': False, 'shape': (3,), }", nibbles, 3), DT_I4, &t));
    assert_int_equal(t.bytes, 2);
    check_floats(&t, (const float[]){-8, 7, 1}, 3);
    fixture_close(&f);
}

typedef struct broken {
    diag_code code;
    const char *header;
    size_t data;
} broken;

static void says_what_is_broken(void **state)
{
    (void)state;
    static const broken rows[] = {
        {HDS0636, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 20},
        {HDS0636, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 25},
        {HDS0638, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", 16},
        {HDS0638, "{'descr': '<V4', 'fortran_order': False, 'shape': (2,), }", 8},
        {HDS0637, "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", 16},
        {HDS0637, "{'descr': '<U7', 'fortran_order': False, 'shape': (2,), }", 56},
        {HDS0637, "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (2,), }", 16},
        {HDS0635, "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,), }", 8},
        {HDS0635, "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }", 8},
        {HDS0635, "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", 8},
        {HDS0635, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 8},
        {HDS0635, "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 8},
        {HDS0635, "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }", 8},
        {HDS0635, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2), }", 8},
        {HDS0635, "{'descr': '<f4', 'fortran_order': False, }", 8},
        {HDS0635, "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 8},
        {HDS0635, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}", 8},
        {HDS0635, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } and", 8},
        {HDS0635, "{'descr': '<f4, 'fortran_order': False, 'shape': (2,), }", 8},
        {HDS0635, "{'descr': '<f4", 8},
        {HDS0635, "", 8},
    };
    static const char zeros[64];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        fixture_open(&f);
        ten_tensor t;
        assert_false(parse(&f, file_of(&f, 1, rows[i].header, zeros, rows[i].data), DT_F32, &t));
        assert_int_equal(f.diags.all.len, 1);
        assert_int_equal(f.diags.all.at[0]->code, rows[i].code);
        fixture_close(&f);
    }
}

// Every prefix of a file, and every file with one byte changed, is read or refused; the sanitizers see to the rest.
static void survives_damage(void **state)
{
    (void)state;
    const float values[6] = {0, 1, 2, 3, 4, 5};
    fixture f;
    fixture_open(&f);
    str whole = file_of(&f, 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", values, 24);
    for (size_t len = 0; len < whole.len; len++) {
        ten_tensor t;
        char *copy = arena_dup(&f.memory, whole.at, len ? len : 1);
        assert_false(parse(&f, (str){copy, len}, DT_F32, &t));
    }
    for (size_t i = 0; i < whole.len; i++) {
        for (int byte = 0; byte < 256; byte += 5) {
            ten_tensor t;
            char *copy = arena_dup(&f.memory, whole.at, whole.len);
            copy[i] = (char)byte;
            (void)parse(&f, (str){copy, whole.len}, DT_F32, &t);
        }
    }
    fixture_close(&f);
}

static void writes_what_it_reads(void **state)
{
    (void)state;
    fixture f;
    fixture_open(&f);
    for (dtype type = (dtype)(DT_NONE + 1); type < DT__COUNT; type++) {
        ten_tensor t = {.type = type, .rank = 2, .shape = {3, 5}}, back;
        assert_true(ten_allocate(&f.memory, &t, 0));
        for (int64_t i = 0; i < t.count; i++)
            ten_set_number(&t, i, (double)(i % 2));
        str file = ten_npy_format(&f.memory, &t);
        assert_int_equal((file.len - (size_t)(dt_bits(type) < 8 ? t.count : t.bytes)) % 64, 0);
        assert_true(parse(&f, file, type, &back));
        assert_int_equal(back.bytes, t.bytes);
        assert_memory_equal(back.data, t.data, (size_t)t.bytes);
    }
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_numpy_writes), cmocka_unit_test(brings_columns_and_big_ends_into_order),
        cmocka_unit_test(takes_types_that_numpy_lacks), cmocka_unit_test(says_what_is_broken),
        cmocka_unit_test(survives_damage), cmocka_unit_test(writes_what_it_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
