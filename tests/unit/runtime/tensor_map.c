// Descriptors of tensors: each rule has a text, and what obeys them reaches the driver in its order.
#include "rig.h"

static const int64_t shape2[] = {64, 128}, shape3[] = {4, 64, 128};

static hdsrt_tiling tiling2(void)
{
    return (hdsrt_tiling){.dtype = {2, 16}, .ndim = 2, .swizzle_bytes = 128, .shape = shape2, .box = {32, 64}};
}

static hdsrt_tiling tiling3(void)
{
    return (hdsrt_tiling){.dtype = {2, 16}, .ndim = 3, .interleave_bytes = 16, .shape = shape3, .box = {1, 32, 8}};
}

static hdsrt_status make(hdsrt_tensor_map *map, uintptr_t data, hdsrt_tiling t)
{
    return hdsrt_tensor_map_tiled(map, "gemm", "a", (void *)data, &t);
}

RIG_TEST(maps)
{
    hdsrt_tensor_map map;
    hdsrt_tiling t = tiling2();
    t.steps[0] = 2;
    EXPECT((uintptr_t)&map % 64 == 0 && sizeof map == 128);
    EXPECT(make(&map, 0x10000, t) == HDSRT_OK);
    // The double's map is its arguments: address, type and rank, extents, strides, box and steps, innermost first.
    EXPECT(map.words[0] == 0x10000 && map.words[1] == (6 | (uint64_t)2 << 32) && map.words[2] == 128 &&
           map.words[3] == 64);
    EXPECT(map.words[7] == 256 && map.words[11] == (64 | (uint64_t)1 << 32) &&
           map.words[12] == (32 | (uint64_t)2 << 32));
    t.strides = (int64_t[]){136, 1};
    EXPECT(make(&map, 0x10000, t) == HDSRT_OK && map.words[7] == 272);
    EXPECT(make(&map, 0x10010, tiling3()) == HDSRT_OK && map.words[7] == 256 && map.words[8] == 64 * 256);
    t = tiling2();
    t.is_nan_filled = true;
    t.l2_bytes = 256;
    EXPECT(make(&map, 0x10000, t) == HDSRT_OK);
    static const struct {
        hdsrt_dtype dtype;
        uint64_t number;
    } types[] = {{{1, 8}, 0},  {{0, 8}, 0},  {{6, 8}, 0},  {{10, 8}, 0}, {{1, 16}, 1}, {{0, 16}, 1}, {{2, 16}, 6},
                 {{4, 16}, 9}, {{1, 32}, 2}, {{0, 32}, 3}, {{2, 32}, 7}, {{1, 64}, 4}, {{0, 64}, 5}, {{2, 64}, 8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        t = tiling2();
        t.dtype = types[i].dtype;
        t.box[1] = 128 * 8 / t.dtype.bits;
        EXPECT(make(&map, 0x10000, t) == HDSRT_OK && (uint32_t)map.words[1] == types[i].number);
    }
}

static void refuse(uintptr_t data, hdsrt_tiling t, const char *text)
{
    hdsrt_tensor_map map = {{77}};
    EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, make(&map, data, t), text);
    EXPECT(strstr(hdsrt_last_error(), "'gemm': no tensor map for 'a': ") == hdsrt_last_error() && map.words[0] == 77);
}

#define REFUSE(tiling, change, text)                                                                                   \
    do {                                                                                                               \
        hdsrt_tiling t = tiling;                                                                                       \
        change;                                                                                                        \
        refuse(0x10000, t, text);                                                                                      \
    } while (0)

RIG_TEST(rules)
{
    refuse(0, tiling2(), "it is null");
    refuse(0x10008, tiling2(), "it begins at 0x10008, which is not a multiple of 16");
    REFUSE(tiling2(), t.ndim = 0, "it has 0 axes, and a map has 1 to 5");
    REFUSE(tiling2(), t.ndim = 6, "it has 6 axes, and a map has 1 to 5");
    REFUSE(tiling2(), t.shape = NULL, "its shape is null");
    REFUSE(tiling2(), (t.dtype = (hdsrt_dtype){0, 4}),
           "its elements are of i4, and they have to have 8, 16, 32 or 64 bits");
    REFUSE(tiling2(), t.swizzle_bytes = 16, "a swizzle of 16 bytes, and there are 0 (none), 32, 64 and 128");
    REFUSE(tiling2(), t.interleave_bytes = 8, "an interleave of 8 bytes, and there are 0 (none), 16 and 32");
    REFUSE(tiling2(), t.l2_bytes = 32, "an L2 promotion of 32 bytes, and there are 0 (none), 64, 128 and 256");
    REFUSE(tiling2(), t.interleave_bytes = 16, "it has 2 axes, and interleaved ones have 3 or more");
    REFUSE(tiling3(), t.interleave_bytes = 32, "an interleave of 32 bytes goes with a swizzle of 32 bytes only");
    REFUSE(tiling2(), (t.dtype = (hdsrt_dtype){0, 16}, t.is_nan_filled = true),
           "out-of-bounds elements can be NaN only for element types f16, bf16, f32 or f64");
    REFUSE(tiling2(), t.shape = ((int64_t[]){-1, 128}), "its extent along axis 0 is -1, and has to be 1 to 2^32");
    REFUSE(tiling2(), t.shape = ((int64_t[]){64, (1ll << 32) + 8}),
           "its extent along axis 1 is 4294967304, and has to be 1 to 2^32");
    REFUSE(tiling2(), t.shape = ((int64_t[]){64, 100}),
           "its stride along axis 0 is 200 bytes, and has to be a multiple of 16 below 2^40");
    REFUSE(tiling2(), t.strides = ((int64_t[]){132, 1}),
           "its stride along axis 0 is 264 bytes, and has to be a multiple of 16");
    REFUSE(tiling2(), t.strides = ((int64_t[]){1ll << 39, 1}),
           "its stride along axis 0 is 1099511627776 bytes, and has to be a multiple of 16 below 2^40");
    REFUSE(tiling2(), t.strides = ((int64_t[]){-128, 1}),
           "its stride along axis 0 is -128 elements, and has to be 0 to 2^40");
    REFUSE(tiling2(), t.strides = ((int64_t[]){128, 2}),
           "its elements have to be next to each other along the last axis, and their stride is 2");
    REFUSE(tiling2(), t.box[0] = 0, "its box has 0 elements along axis 0, and has to have 1 to 256");
    REFUSE(tiling2(), t.box[0] = 257, "its box has 257 elements along axis 0");
    REFUSE(tiling2(), t.steps[0] = 9, "its box takes every 9-th element along axis 0, and can take every 8th at most");
    REFUSE(tiling2(), t.box[1] = 4, "its box is 8 bytes wide, and has to be a multiple of 16");
    REFUSE(tiling2(), t.box[1] = 72,
           "its box is 144 bytes wide, and with a swizzle of 128 bytes it has to be at most as wide");
    hdsrt_tiling t = tiling3();
    t.interleave_bytes = t.swizzle_bytes = 32;
    refuse(0x10010, t, "it begins at 0x10010, which is not a multiple of 32");
    t.strides = (int64_t[]){64 * 136, 136, 1};
    refuse(0x10000, t, "its stride along axis 1 is 272 bytes, and has to be a multiple of 32");
    EXPECT(fake_cuda_calls("cuTensorMapEncodeTiled") == 0);
}

// The driver would refuse it; there is nothing to copy.
RIG_TEST(without_elements)
{
    hdsrt_tensor_map map;
    hdsrt_tiling t = tiling2();
    t.shape = (int64_t[]){64, 0};
    t.strides = (int64_t[]){3, 1};
    EXPECT(make(&map, 0, t) == HDSRT_OK && map.words[2] == 1 && map.words[3] == 1 && map.words[7] % 16 == 0);
    t.shape = (int64_t[]){0, 128};
    EXPECT(make(&map, 0x10008, t) == HDSRT_OK && map.words[0] && map.words[0] % 16 == 0);
    t.box[0] = 0;
    refuse(0x10000, t, "its box has 0 elements along axis 0, and has to have 1 to 256");
}

RIG_TEST(before_sm_90)
{
    hdsrt_tensor_map map;
    fake_cuda_arch(0, 89);
    EXPECT_FAILURE(HDSRT_UNSUPPORTED, make(&map, 0x10000, tiling2()),
                   "'gemm': no tensor map for 'a': GPUs have them from sm_90 on, and this one is of sm_89");
}

// ---- im2col ------------------------------------------------------------------------------------------------------

static const int64_t images[] = {2, 20, 30, 64}, volumes[] = {2, 9, 20, 30, 64}, series[] = {2, 30, 64};

static hdsrt_tiling walked(int ndim)
{
    const int64_t *shape = ndim == 3 ? series : ndim == 4 ? images : volumes;
    return (hdsrt_tiling){.dtype = {2, 16}, .ndim = (uint8_t)ndim, .swizzle_bytes = 128, .shape = shape};
}

static hdsrt_im2col walk(void)
{
    return (hdsrt_im2col){.lower = {-1, -2, -3}, .upper = {-4, -5, -6}, .channels = 64, .pixels = 1024};
}

static hdsrt_status make_walk(hdsrt_tensor_map *map, uintptr_t data, hdsrt_tiling t, hdsrt_im2col w)
{
    return hdsrt_tensor_map_im2col(map, "conv", "x", (void *)data, &t, &w);
}

static uint64_t corners(int lower, int upper)
{
    return (uint32_t)lower | (uint64_t)(uint32_t)upper << 32;
}

// Corners reach the driver from W on, as extents and steps do from C on.
RIG_TEST(im2col)
{
    hdsrt_tensor_map map;
    hdsrt_tiling t = walked(4);
    t.steps[1] = 3;
    t.steps[2] = 2;
    EXPECT(make_walk(&map, 0x10000, t, walk()) == HDSRT_OK);
    EXPECT(map.words[0] == 0x10000 && map.words[1] == (6 | (uint64_t)4 << 32));
    EXPECT(map.words[2] == 64 && map.words[3] == 30 && map.words[4] == 20 && map.words[5] == 2);
    EXPECT(map.words[7] == 128 && map.words[8] == 30 * 128 && map.words[9] == 20 * 30 * 128);
    EXPECT(map.words[11] == corners(-2, -5) && map.words[12] == corners(-1, -4) && map.words[13] == 0);
    EXPECT(map.words[14] == (64 | (uint64_t)1024 << 32) && map.words[15] == 0x01030201);
    EXPECT(make_walk(&map, 0x10000, walked(5), walk()) == HDSRT_OK && map.words[11] == corners(-3, -6) &&
           map.words[12] == corners(-2, -5) && map.words[13] == corners(-1, -4));
    EXPECT(make_walk(&map, 0x10000, walked(3), walk()) == HDSRT_OK && map.words[11] == corners(-1, -4));
    t.strides = (int64_t[]){20 * 30 * 128, 30 * 128, 128, 1};
    EXPECT(make_walk(&map, 0x10000, t, walk()) == HDSRT_OK && map.words[7] == 256);
    EXPECT(fake_cuda_calls("cuTensorMapEncodeIm2col") == 4 && fake_cuda_calls("cuTensorMapEncodeTiled") == 0);
}

#define REFUSE_WALK(ndim, change, message)                                                                             \
    do {                                                                                                               \
        hdsrt_tiling t = walked(ndim);                                                                                 \
        hdsrt_im2col w = walk();                                                                                       \
        hdsrt_tensor_map map;                                                                                          \
        change;                                                                                                        \
        EXPECT_FAILURE(HDSRT_INVALID_ARGUMENT, make_walk(&map, 0x10000, t, w), message);                               \
    } while (0)

RIG_TEST(im2col_rules)
{
    REFUSE_WALK(4, (t.ndim = 2, t.shape = shape2), "it has 2 axes, and copies in im2col mode are of 3 to 5");
    REFUSE_WALK(4, w.lower[0] = -129, "its corners along axis 1 are -129 and -4, and with 4 axes they have to be -128 to 127");
    REFUSE_WALK(4, w.upper[1] = 128, "its corners along axis 2 are -2 and 128, and with 4 axes they have to be -128 to 127");
    REFUSE_WALK(5, w.lower[2] = -17, "its corners along axis 3 are -17 and -6, and with 5 axes they have to be -16 to 15");
    REFUSE_WALK(5, w.upper[0] = 16, "its corners along axis 1 are -1 and 16, and with 5 axes they have to be -16 to 15");
    REFUSE_WALK(3, w.lower[0] = 32768, "with 3 axes they have to be -32768 to 32767");
    REFUSE_WALK(4, w.upper[0] = -21, "its corners along axis 1 are -1 and -21, and leave no pixel of 20");
    REFUSE_WALK(4, w.channels = 0, "a copy brings 0 channels, and has to bring 1 to 256");
    REFUSE_WALK(4, w.channels = 257, "a copy brings 257 channels, and has to bring 1 to 256");
    REFUSE_WALK(4, w.pixels = 0, "a copy brings 0 pixels, and has to bring 1 to 1024");
    REFUSE_WALK(4, w.pixels = 1025, "a copy brings 1025 pixels, and has to bring 1 to 1024");
    REFUSE_WALK(4, w.channels = 72, "its box is 144 bytes wide, and with a swizzle of 128 bytes it has to be at most as wide");
    REFUSE_WALK(4, w.channels = 4, "its box is 8 bytes wide, and has to be a multiple of 16");
    REFUSE_WALK(4, t.steps[2] = 9, "its box takes every 9-th element along axis 2, and can take every 8th at most");
    REFUSE_WALK(4, t.shape = ((int64_t[]){2, 20, 30, 3}), "its stride along axis 2 is 6 bytes");
    EXPECT(fake_cuda_calls("cuTensorMapEncodeIm2col") == 0);
    // The least and the largest corners that there are, and the last pixel that they can leave.
    hdsrt_tensor_map map;
    hdsrt_im2col w = walk();
    w.lower[0] = -128, w.upper[0] = 127, w.lower[1] = 0, w.upper[1] = -29;
    EXPECT(make_walk(&map, 0x10000, walked(4), w) == HDSRT_OK);
    w = walk();
    w.lower[0] = -16, w.upper[0] = 15;
    EXPECT(make_walk(&map, 0x10000, walked(5), w) == HDSRT_OK);
    w.lower[0] = -32768, w.upper[0] = 32767;
    EXPECT(make_walk(&map, 0x10000, walked(3), w) == HDSRT_OK);
}

RIG_TEST(im2col_without_elements)
{
    hdsrt_tensor_map map;
    hdsrt_tiling t = walked(4);
    t.shape = (int64_t[]){0, 20, 30, 64};
    EXPECT(make_walk(&map, 0, t, walk()) == HDSRT_OK && map.words[2] == 1 && map.words[11] == 0);
}

RIG_TEST(im2col_before_sm_90)
{
    hdsrt_tensor_map map;
    fake_cuda_arch(0, 89);
    EXPECT_FAILURE(HDSRT_UNSUPPORTED, make_walk(&map, 0x10000, walked(4), walk()),
                   "'conv': no tensor map for 'x': GPUs have them from sm_90 on, and this one is of sm_89");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps),
        cmocka_unit_test(rules),
        cmocka_unit_test(without_elements),
        cmocka_unit_test(before_sm_90),
        cmocka_unit_test(im2col),
        cmocka_unit_test(im2col_rules),
        cmocka_unit_test(im2col_without_elements),
        cmocka_unit_test(im2col_before_sm_90),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
