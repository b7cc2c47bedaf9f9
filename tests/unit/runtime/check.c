// What is demanded of tensors, by address and extents or over DLPack.
#include "rig.h"

static const hdsrt_tensor_rule rules[] = {
    {"a", {2, 32}, 2, false, 16},
    {"b", {2, 32}, 1, false, 16},
    {"c", {2, 32}, 1, true, 16},
};
static const int64_t usual_shape[] = {4, 8}, usual_length[] = {32}, none[] = {0};

static hdsrt_status check(uintptr_t a, const int64_t *a_shape, uintptr_t b, const int64_t *b_shape, uintptr_t c,
                          const int64_t *c_shape)
{
    hdsrt_tensor_value values[] = {{(void *)a, a_shape}, {(void *)b, b_shape}, {(void *)c, c_shape}};
    return hdsrt_check_tensors("sum", rules, values, 3);
}

#define REFUSED(call, text)                                                                                            \
    do {                                                                                                               \
        assert_int_equal(call, HDSRT_INVALID_ARGUMENT);                                                                \
        assert_string_equal(hdsrt_last_error(), text);                                                                 \
        assert_int_equal(hdsrt_last_driver_error(), 0);                                                                \
    } while (0)

static void tensors(void **state)
{
    (void)state;
    const int64_t *s = usual_shape, *n = usual_length;
    assert_int_equal(check(0x1000, s, 0x2000, n, 0x3000, n), HDSRT_OK);
    assert_int_equal(check(0x1000, s, 0x1000, n, 0x3000, n), HDSRT_OK); // both are read
    assert_int_equal(check(0x1000, s, 0x1080, n, 0x1100, n), HDSRT_OK); // next to each other
    assert_int_equal(hdsrt_check_tensors("sum", NULL, NULL, 0), HDSRT_OK);
    REFUSED(check(0, s, 0x2000, n, 0x3000, n), "'sum': 'a' is null");
    REFUSED(check(0x1008, s, 0x2000, n, 0x3000, n), "'sum': 'a' begins at 0x1008, which is not a multiple of 16");
    REFUSED(check(0x1000, s, 0x2000, n, 0x1070, n), "'sum': 'a' and 'c' overlap, and 'c' is written");
    REFUSED(check(0x1000, s, 0x2000, n, 0x1f90, n), "'sum': 'b' and 'c' overlap, and 'c' is written");
    REFUSED(check(0x1000, s, 0x2000, n, 0x2000, n), "'sum': 'b' and 'c' overlap, and 'c' is written");
    REFUSED(check(0x1000, (int64_t[]){4, -8}, 0x2000, n, 0x3000, n),
            "'sum': 'a' has a negative extent, -8 along axis 1");
    REFUSED(check(0x1000, (int64_t[]){0, -8}, 0x2000, n, 0x3000, n),
            "'sum': 'a' has a negative extent, -8 along axis 1");
    REFUSED(check(0x1000, (int64_t[]){INT64_MAX, 2}, 0x2000, n, 0x3000, n),
            "'sum': 'a' has more bytes than 63 bits can count");
    REFUSED(check(0x1000, (int64_t[]){INT64_MAX / 16, 1}, 0x2000, n, 0x3000, n),
            "'sum': 'a' has more bytes than 63 bits can count");
}

static void empty_tensors(void **state)
{
    (void)state;
    const int64_t *n = usual_length;
    assert_int_equal(check(0, (int64_t[]){0, 8}, 0x2000, n, 0x3000, n), HDSRT_OK);
    assert_int_equal(check(0x1003, (int64_t[]){8, 0}, 0x2000, n, 0x3000, n), HDSRT_OK);
    assert_int_equal(check(0x3010, (int64_t[]){INT64_MAX, 0}, 0x2000, n, 0x3000, n), HDSRT_OK);
    assert_int_equal(check(0x1000, (int64_t[]){1, 1}, 0, none, 0, none), HDSRT_OK);
}

// Around what is computed the short way: each pair is next to each other, and one byte less is not.
static void bytes_of_tensors(void **state)
{
    static const int64_t shapes[][2] = {{1, 1},
                                        {1, (1 << 30) - 1},
                                        {1, 1 << 30},
                                        {1, (1 << 30) + 1},
                                        {1 << 22, 3},
                                        {(1 << 22) + 1, 3},
                                        {3, 1ll << 40},
                                        {1ll << 40, 5},
                                        {1 << 22, 1 << 30},
                                        {(1 << 22) + 1, (1 << 30) + 1}};
    (void)state;
    for (int bits = 1; bits <= 64; bits *= 2) {
        hdsrt_tensor_rule r[] = {{"x", {1, (uint8_t)bits}, 2, false, 1}, {"y", {1, 8}, 0, true, 1}};
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            uintptr_t bytes =
                (uintptr_t)(((unsigned __int128)shapes[i][0] * (uint64_t)shapes[i][1] * (unsigned)bits + 7) / 8);
            hdsrt_tensor_value v[] = {{(void *)0x1000, shapes[i]}, {(void *)(0x1000 + bytes), NULL}};
            assert_int_equal(hdsrt_check_tensors("f", r, v, 2), HDSRT_OK);
            v[1].data = (void *)(0x1000 + bytes - 1);
            assert_int_equal(hdsrt_check_tensors("f", r, v, 2), HDSRT_INVALID_ARGUMENT);
        }
    }
}

static void narrow_elements(void **state)
{
    (void)state;
    hdsrt_tensor_rule r[] = {{"q", {1, 4}, 1, false, 1}, {"y", {2, 16}, 1, true, 0}};
    hdsrt_tensor_value v[] = {{(void *)0x1001, (int64_t[]){31}}, {(void *)0x1011, (int64_t[]){1}}};
    assert_int_equal(hdsrt_check_tensors("pack", r, v, 2), HDSRT_OK);
    v[0].shape = (int64_t[]){33};
    REFUSED(hdsrt_check_tensors("pack", r, v, 2), "'pack': 'q' and 'y' overlap, and 'y' is written");
}

static void many_tensors(void **state)
{
    (void)state;
    enum { MANY = 70 };
    hdsrt_tensor_rule r[MANY];
    hdsrt_tensor_value v[MANY];
    char names[MANY][16];
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        r[i] = (hdsrt_tensor_rule){names[i], {2, 32}, 1, true, 16};
        v[i] = (hdsrt_tensor_value){(void *)(uintptr_t)(0x1000 + 0x80 * i), usual_length};
    }
    assert_int_equal(hdsrt_check_tensors("many", r, v, MANY), HDSRT_OK);
    v[69].data = v[1].data;
    REFUSED(hdsrt_check_tensors("many", r, v, MANY), "'many': 't1' and 't69' overlap, and 't69' is written");
}

static void extents(void **state)
{
    (void)state;
    assert_int_equal(hdsrt_check_extent("gemm", "b", 0, 64, 64, "k"), HDSRT_OK);
    REFUSED(hdsrt_check_extent("gemm", "b", 0, 64, 128, "2 * k"),
            "'gemm': 'b' has extent 64 along axis 0, and it has to be 2 * k, which is 128");
    REFUSED(hdsrt_check_extent("gemm", "b", 1, -64, 128, "128"),
            "'gemm': 'b' has extent -64 along axis 1, and it has to be 128");
}

static void integers(void **state)
{
    (void)state;
    int64_t values[] = {0, 7, 9};
    assert_int_equal(hdsrt_check_not_negative("gemm", "SA LDA SB", values, 3), HDSRT_OK);
    values[1] = -3;
    values[2] = -4;
    REFUSED(hdsrt_check_not_negative("gemm", "SA LDA SB", values, 3), "'gemm': 'LDA' is -3, and it has to be at least 0");
    values[1] = 0;
    REFUSED(hdsrt_check_not_negative("gemm", "SA LDA SB", values, 3), "'gemm': 'SB' is -4, and it has to be at least 0");
}

// ---- what the GPU can reach ---------------------------------------------------------------------------------------

RIG_TEST(reach)
{
    void *p = NULL, *q = NULL;
    int64_t n[] = {25};
    char text[200];
    hdsrt_tensor_rule r = {"x", {2, 32}, 1, false, 16};
    hdsrt_tensor_value v = {.shape = n};
    setenv("HDSRT_CHECK", "1", 1);
    fake_cuda_devices(2);
    EXPECT(hdsrt_use_device(1) == HDSRT_OK && hdsrt_allocate(&q, 100, NULL) == HDSRT_OK);
    EXPECT(hdsrt_use_device(0) == HDSRT_OK && hdsrt_allocate(&p, 100, NULL) == HDSRT_OK);
    v.data = p;
    EXPECT(hdsrt_check_tensors("f", &r, &v, 1) == HDSRT_OK);
    n[0] = 26;
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_check_tensors("f", &r, &v, 1),
                   "'f': 'x' has 104 bytes, and the memory there ends after 100");
    v.data = (char *)p + 96;
    n[0] = 1;
    EXPECT(hdsrt_check_tensors("f", &r, &v, 1) == HDSRT_OK);
    v.data = q;
    snprintf(text, sizeof text, "'f': 'x' is at %p, which the current GPU cannot access", q);
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_check_tensors("f", &r, &v, 1), text);
    void *host = aligned_alloc(16, 64);
    v.data = host;
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_check_tensors("f", &r, &v, 1),
                   "which the current GPU cannot access");
    fake_cuda_attribute(0, 88, 1); // where it reaches all that the process has
    EXPECT(hdsrt_check_tensors("f", &r, &v, 1) == HDSRT_OK);
    fake_cuda_attribute(0, 88, 0);
    v.data = NULL;
    n[0] = 0;
    EXPECT(hdsrt_check_tensors("f", &r, &v, 1) == HDSRT_OK);
    v.data = p;
    n[0] = 1;
    fake_cuda_fail("cuPointerGetAttributes", 1, 1);
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_check_tensors("f", &r, &v, 1), "which the current GPU cannot access");
    free(host);
    EXPECT(hdsrt_release(p, NULL) == HDSRT_OK);
}

// ---- DLPack -------------------------------------------------------------------------------------------------------

static const hdsrt_tensor_rule matrix = {"x", {2, 16}, 2, false, 16};

static hdsrt_tensor usual(int64_t *shape)
{
    hdsrt_tensor t = {.data = (void *)0x1000, .device = {2, 0}, .ndim = 2, .shape = shape};
    t.dtype.code = 2;
    t.dtype.bits = 16;
    t.dtype.lanes = 1;
    return t;
}

RIG_TEST(dlpack)
{
    const void *data = NULL;
    int64_t shape[] = {4, 8}, strides[] = {8, 1};
    hdsrt_tensor t = usual(shape);
    EXPECT(hdsrt_check_dlpack("f", &matrix, &t, &data) == HDSRT_OK && data == (void *)0x1000);
    t.strides = strides;
    t.byte_offset = 32;
    EXPECT(hdsrt_check_dlpack("f", &matrix, &t, &data) == HDSRT_OK && data == (void *)0x1020);
    t.device.device_type = 13;
    t.device.device_id = 7;
    EXPECT(hdsrt_check_dlpack("f", &matrix, &t, &data) == HDSRT_OK);
    // Strides of axes with one element, and of tensors without any, say nothing.
    shape[0] = 1, strides[0] = -77;
    EXPECT(hdsrt_check_dlpack("f", &matrix, &t, &data) == HDSRT_OK);
    shape[0] = 0, strides[1] = 5, t.data = NULL;
    EXPECT(hdsrt_check_dlpack("f", &matrix, &t, &data) == HDSRT_OK && !data);
}

static void refuse(hdsrt_tensor t, const char *text)
{
    const void *data = (void *)7;
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_check_dlpack("f", &matrix, &t, &data), text);
    EXPECT(data == (void *)7);
}

RIG_TEST(dlpack_that_does_not_fit)
{
    const void *data = NULL;
    int64_t shape[] = {4, 8}, strides[] = {9, 1}, transposed[] = {1, 4}, negative[] = {-8, 1}, bad[] = {4, -8},
            huge[] = {INT64_MAX, 2};
    hdsrt_tensor t = usual(shape);
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_check_dlpack("f", &matrix, NULL, &data), "'f': 'x' is null");
    t.ndim = 3;
    refuse(t, "'f': 'x' has 3 axes, and it has to have 2");
    t.ndim = 1;
    refuse(t, "'f': 'x' has 1 axis, and it has to have 2");
    t = usual(NULL);
    refuse(t, "'f': the shape of 'x' is null");
    t = usual(bad);
    refuse(t, "'f': the extents of 'x' are negative or exceed 63 bits");
    t = usual(huge);
    refuse(t, "'f': the extents of 'x' are negative or exceed 63 bits");
    t = usual(shape);
    t.dtype.bits = 32;
    refuse(t, "'f': 'x' is of f32, and it has to be of f16");
    t.dtype.code = 4, t.dtype.bits = 16;
    refuse(t, "'f': 'x' is of bf16, and it has to be of f16");
    t.dtype.code = 99;
    refuse(t, "'f': 'x' is of DLPack type 99 of 16 bits, and it has to be of f16");
    t = usual(shape);
    t.dtype.lanes = 4;
    refuse(t, "'f': the elements of 'x' are vectors of 4 lanes, and they have to be single values");
    t = usual(shape);
    t.device.device_type = 1;
    refuse(t, "'f': 'x' is on the host, and it has to be on the current GPU");
    t.device.device_type = 3;
    refuse(t, "'f': 'x' is on the host (pinned), and it has");
    t.device.device_type = 10;
    refuse(t, "'f': 'x' is on a device that is not a CUDA GPU, and it has");
    t = usual(shape);
    t.device.device_id = 1;
    refuse(t, "'f': 'x' is on GPU 1, and the current one is GPU 0");
    t = usual(shape);
    t.strides = strides;
    refuse(t, "'f': 'x' has a stride of 9 elements along axis 0, and it has to be row-major without gaps, 8 there: "
              "make a contiguous copy");
    t.strides = transposed;
    refuse(t, "'f': 'x' has a stride of 4 elements along axis 1, and it has to be row-major without gaps, 1 there");
    t.strides = negative;
    refuse(t, "'f': 'x' has a stride of -8 elements along axis 0");
    t = usual(shape);
    t.data = NULL;
    refuse(t, "'f': the data of 'x' is null");
    t = usual(shape);
    t.byte_offset = 8;
    refuse(t, "'f': 'x' begins at 0x1008, which is not a multiple of 16: make a copy");
}

// ---- strides ------------------------------------------------------------------------------------------------------

static void strided_tensors(void **state)
{
    (void)state;
    const int64_t shape[] = {4, 8}, wide[] = {16, 1}, same[] = {0, 1}, tight[] = {7, 1}, negative[] = {-16, 1};
    hdsrt_tensor_rule r[] = {{"x", {2, 32}, 2, false, 4}, {"y", {2, 32}, 2, true, 4}, {"z", {2, 32}, 2, false, 16}};
    hdsrt_strided_value v[] = {{(void *)0x1004, shape, wide}, {(void *)0x1024, shape, wide}, {(void *)0x2000, shape, NULL}};
    assert_int_equal(hdsrt_check_strided("f", r, v, 3), HDSRT_OK); // columns of one matrix
    v[1].data = (void *)0x1020;
    REFUSED(hdsrt_check_strided("f", r, v, 3), "'f': 'x' and 'y' overlap, and 'y' is written");
    v[1].data = (void *)0x1024;
    v[0].strides = same;
    assert_int_equal(hdsrt_check_strided("f", r, v, 3), HDSRT_OK); // one row for all, which is read
    v[0].strides = negative;
    REFUSED(hdsrt_check_strided("f", r, v, 3), "'f': 'x' has a negative stride, -16 along axis 0");
    v[0].strides = wide;
    v[1].strides = same;
    REFUSED(hdsrt_check_strided("f", r, v, 3),
            "'f': 'y' is written, and its elements overlap: its stride along axis 0 is 0");
    v[1].strides = tight;
    REFUSED(hdsrt_check_strided("f", r, v, 3),
            "'f': 'y' is written, and its elements overlap: its stride along axis 0 is 7");
    v[1].strides = wide;
    v[0].data = (void *)0x1002;
    REFUSED(hdsrt_check_strided("f", r, v, 3), "'f': 'x' begins at 0x1002, which is not a multiple of 4");
    v[0].data = (void *)0x1004;
    v[0].strides = (int64_t[]){INT64_MAX / 8, 1};
    REFUSED(hdsrt_check_strided("f", r, v, 3), "'f': 'x' has more bytes than 63 bits can count");
    v[0].shape = (int64_t[]){1, 0};
    v[0].data = NULL;
    assert_int_equal(hdsrt_check_strided("f", r, v, 3), HDSRT_OK);
}

static const hdsrt_tensor_rule part = {"x", {2, 16}, 2, false, 2};

RIG_TEST(dlpack_with_strides)
{
    const void *data = NULL;
    int64_t shape[] = {4, 8}, strides[] = {24, 1}, found[2];
    hdsrt_tensor t = usual(shape);
    EXPECT(hdsrt_check_dlpack_strided("f", &part, &t, &data, found) == HDSRT_OK && found[0] == 8 && found[1] == 1);
    t.strides = strides;
    t.byte_offset = 2;
    EXPECT(hdsrt_check_dlpack_strided("f", &part, &t, &data, found) == HDSRT_OK && data == (void *)0x1002);
    EXPECT(found[0] == 24 && found[1] == 1);
    EXPECT(hdsrt_check_stride("f", "x", &t, 0, 24, "ld") == HDSRT_OK);
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_check_stride("f", "x", &t, 0, 16, "2 * n"),
                   "'f': 'x' has a stride of 24 elements along axis 0, and it has to be 2 * n, which is 16");
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_check_stride("f", "x", &t, 1, 2, "2"),
                   "'f': 'x' has a stride of 1 elements along axis 1, and it has to be 2");
    strides[1] = -1;
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_check_dlpack_strided("f", &part, &t, &data, found),
                   "'f': 'x' has a stride of -1 elements along axis 1, and it has to be at least 0");
    t.byte_offset = 1, strides[1] = 1;
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, hdsrt_check_dlpack_strided("f", &part, &t, &data, found),
                   "'f': 'x' begins at 0x1001, which is not a multiple of 2: make a copy");
    // What one element says, and what no element says.
    t.byte_offset = 0, shape[0] = 1, strides[0] = -77;
    EXPECT(hdsrt_check_dlpack_strided("f", &part, &t, &data, found) == HDSRT_OK && found[0] == 8);
    EXPECT(hdsrt_check_stride("f", "x", &t, 0, 5, "5") == HDSRT_OK);
    shape[0] = 3, shape[1] = 0, strides[0] = 1, t.data = NULL;
    EXPECT(hdsrt_check_dlpack_strided("f", &part, &t, &data, found) == HDSRT_OK && found[0] == 1 && found[1] == 1);
    EXPECT(hdsrt_check_stride("f", "x", &t, 0, 5, "5") == HDSRT_OK);
}

int main(void)
{
    // HDSRT_CHECK is read once: first what sets it, in a child.
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reach),
        cmocka_unit_test(tensors),
        cmocka_unit_test(empty_tensors),
        cmocka_unit_test(narrow_elements),
        cmocka_unit_test(bytes_of_tensors),
        cmocka_unit_test(many_tensors),
        cmocka_unit_test(extents),
        cmocka_unit_test(integers),
        cmocka_unit_test(strided_tensors),
        cmocka_unit_test(dlpack),
        cmocka_unit_test(dlpack_that_does_not_fit),
        cmocka_unit_test(dlpack_with_strides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
