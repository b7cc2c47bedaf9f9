// Calls what launches.hds became, on the double of the CUDA driver, and looks at what it launched and what it refused.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"
#include "launches.h"

static int failures;

#define CHECK(condition) check((condition), #condition, __LINE__)

static void check(bool holds, const char *what, int line)
{
    if (holds)
        return;
    failures++;
    printf("line %d: %s does not hold; the last error is \"%s\"\n", line, what, hdsrt_last_error());
}

// The status, and the very text.
#define REFUSED(call, text) refused((call), HDSRT_INVALID_ARGUMENT, (text), __LINE__)

static void refused(hdsrt_status status, hdsrt_status expected, const char *text, int line)
{
    int launches = fake_cuda_launches();
    if (status != expected || strcmp(hdsrt_last_error(), text) != 0 || launches) {
        failures++;
        printf("line %d: status %d, %d launches, error \"%s\"\n          expected \"%s\"\n", line, status, launches,
               hdsrt_last_error(), text);
    }
    fake_cuda_forget();
}

static fake_cuda_launch launched(int index, const char *kernel, int line)
{
    fake_cuda_launch l;
    memset(&l, 0, sizeof l);
    if (!fake_cuda_launch_at(index, &l) || strcmp(l.kernel, kernel) != 0) {
        failures++;
        printf("line %d: launch %d is '%s', not '%s'; the last error is \"%s\"\n", line, index, l.kernel, kernel,
               hdsrt_last_error());
    }
    return l;
}

#define LAUNCHED(index, kernel) launched(index, kernel, __LINE__)

static bool is_grid(const fake_cuda_launch *l, unsigned x, unsigned y, unsigned z)
{
    return l->grid[0] == x && l->grid[1] == y && l->grid[2] == z;
}

static bool is_block(const fake_cuda_launch *l, unsigned x, unsigned y, unsigned z)
{
    return l->block[0] == x && l->block[1] == y && l->block[2] == z;
}

// Parameter [index] is these bytes.
static bool passes(const fake_cuda_launch *l, int index, const void *value, size_t bytes)
{
    return index < l->parameter_count && l->sizes[index] == bytes &&
           memcmp(l->parameters + l->offsets[index], value, bytes) == 0;
}

static const char *misaligned(const char *entry, const char *tensor, const void *address)
{
    static char text[200];
    snprintf(text, sizeof text, "'%s': '%s' begins at %p, which is not a multiple of 16", entry, tensor, address);
    return text;
}

static void *memory(int64_t bytes)
{
    void *address = NULL;
    CHECK(hdsrt_allocate(&address, bytes, NULL) == HDSRT_OK);
    return address;
}

// ---- parameters -----------------------------------------------------------------------------------------------------

static void test_scalars(void)
{
    float *y = memory(4);
    const float q[2] = {1.5f, -2.5f};
    fake_cuda_forget();
    REFUSED(scalars(y, true, -1, 200, -300, 60000, -70000, 4000000000u, -5000000000, UINT64_MAX, 0x3c00, 0x3f80, 0x38, 0x3c,
                  0.25f, 0.125, NULL, NULL), "'scalars': 'q' is null");
    CHECK(scalars(y, true, -1, 200, -300, 60000, -70000, 4000000000u, -5000000000, UINT64_MAX, 0x3c00, 0x3f80, 0x38, 0x3c,
                  0.25f, 0.125, q, NULL) == HDSRT_OK);
    fake_cuda_launch l = LAUNCHED(0, "scalars");
    int8_t b = -1;
    uint8_t c = 200, m = 0x3c;
    int16_t d = -300;
    uint16_t e = 60000, j = 0x3c00;
    int32_t f = -70000;
    uint32_t g = 4000000000u;
    int64_t h = -5000000000;
    uint64_t i = UINT64_MAX;
    float o = 0.25f;
    double p = 0.125;
    CHECK(l.parameter_count == 17);
    CHECK(passes(&l, 0, &y, 8) && passes(&l, 1, &(bool){true}, 1) && passes(&l, 2, &b, 1) && passes(&l, 3, &c, 1));
    CHECK(passes(&l, 4, &d, 2) && passes(&l, 5, &e, 2) && passes(&l, 6, &f, 4) && passes(&l, 7, &g, 4));
    CHECK(passes(&l, 8, &h, 8) && passes(&l, 9, &i, 8) && passes(&l, 10, &j, 2) && passes(&l, 13, &m, 1));
    CHECK(passes(&l, 14, &o, 4) && passes(&l, 15, &p, 8) && passes(&l, 16, q, 8));
    scalars_args args = {.y = y, .h = h, .q = {1.5f, -2.5f}};
    CHECK(scalars_call(&args, NULL) == HDSRT_OK);
    l = LAUNCHED(1, "scalars");
    CHECK(passes(&l, 8, &h, 8) && passes(&l, 16, q, 8));
    fake_cuda_forget();
    REFUSED(scalars_call(NULL, NULL), "'scalars': its arguments are null");
    hdsrt_release(y, NULL);
}

static void test_tensors(void)
{
    char *m = memory(4096);
    CHECK(tensors(m, m + 16, m + 64, m + 80, (const bool *)(m + 96), m + 112, (const uint64_t *)(void *)(m + 128),
                  (float *)(void *)(m + 144), NULL) == HDSRT_OK);
    fake_cuda_forget();
    REFUSED(tensors(NULL, m, m, m, (const bool *)m, m, (const uint64_t *)(void *)m, (float *)(void *)(m + 144), NULL),
            "'tensors': 'a' is null");
    // 8 elements of 4 bits end before byte 4, and those of bf16 before byte 24.
    REFUSED(tensors(m + 256, m + 16, m + 256, m + 80, (const bool *)(m + 96), m + 112, (const uint64_t *)(void *)(m + 128),
                    (float *)(void *)(m + 80), NULL), "'tensors': 'd' and 'y' overlap, and 'y' is written");
    hdsrt_release(m, NULL);
}

// ---- extents --------------------------------------------------------------------------------------------------------

static void test_extents(void)
{
    float *m = memory(1 << 20), *o = memory(1 << 20);
    int32_t one = 33, other = 65;
    fake_cuda_forget();
    CHECK(tiles(m, o, 33, 65, NULL) == HDSRT_OK);
    fake_cuda_launch l = LAUNCHED(0, "tiles");
    CHECK(is_grid(&l, 3, 2, 1) && is_block(&l, 32, 8, 1) && l.dynamic_smem_bytes == 0);
    CHECK(passes(&l, 0, &m, 8) && passes(&l, 1, &o, 8) && passes(&l, 2, &one, 4) && passes(&l, 3, &other, 4));
    fake_cuda_forget();
    // No elements: nothing to launch, and no addresses needed.
    CHECK(tiles(NULL, NULL, 0, 65, NULL) == HDSRT_OK && fake_cuda_launches() == 0);
    CHECK(pairs(NULL, NULL, 0, NULL) == HDSRT_OK && fake_cuda_launches() == 0);
    CHECK(nothing(NULL) == HDSRT_OK);
    l = LAUNCHED(0, "nothing");
    CHECK(is_grid(&l, 3, 1, 1) && l.parameter_count == 0);
    CHECK(nothing_call(&(nothing_args){0}, NULL) == HDSRT_OK);
    fake_cuda_forget();
    REFUSED(tiles(m, o, -1, 65, NULL), "'tiles': 'x' has a negative extent, -1 along axis 0");
    REFUSED(tiles(m, m, 2, 2, NULL), "'tiles': 'x' and 'y' overlap, and 'y' is written");
    REFUSED(tiles(NULL, o, 2, 2, NULL), "'tiles': 'x' is null");
    REFUSED(tiles(m, (float *)((uintptr_t)o + 4), 0, 2, NULL) == HDSRT_OK ? tiles(m, (float *)((uintptr_t)m + 4), 2, 2, NULL)
                                                                       : HDSRT_OK,
            misaligned("tiles", "y", (char *)m + 4));
    // Wrapped around at 32 bits the grid would be fine.
    refused(tiles(m, (float *)((uintptr_t)m + ((uintptr_t)1 << 40)), INT32_MAX, 3, NULL), HDSRT_INVALID_ARGUMENT,
            "'tiles' cannot be launched: its grid has 67108864 blocks along y, and a grid has at most 65535 there", __LINE__);
    CHECK(far((uint8_t *)m, 1000, NULL) == HDSRT_OK);
    l = LAUNCHED(0, "far");
    CHECK(is_grid(&l, 4, 1, 1) && l.sizes[1] == 8);
    fake_cuda_forget();
    REFUSED(far((uint8_t *)m, INT64_MAX - 7, NULL), "'far': 'x' has more bytes than 63 bits can count");
    CHECK(product(m, 6, 7, NULL) == HDSRT_OK);
    l = LAUNCHED(0, "product");
    CHECK(is_grid(&l, 42, 1, 1));
    fake_cuda_forget();
    REFUSED(product(m, (int64_t)1 << 32, (int64_t)1 << 32, NULL),
            "'product': its extents are too large for 64 bits, or divided by 0");
    CHECK(product(m, INT64_MIN, -1, NULL) == HDSRT_INVALID_ARGUMENT && product(m, -1, INT64_MIN, NULL) == HDSRT_INVALID_ARGUMENT);
    CHECK(product(m, -3, INT64_MAX, NULL) == HDSRT_INVALID_ARGUMENT && product(m, 0, INT64_MIN, NULL) == HDSRT_OK);
    CHECK(fake_cuda_launches() == 0);
    CHECK(shifted(m, 2, 3, NULL) == HDSRT_OK);
    l = LAUNCHED(0, "shifted");
    CHECK(is_grid(&l, 12, 1, 1));
    fake_cuda_forget();
    REFUSED(shifted(m, 64, 3, NULL), "'shifted': its extents are too large for 64 bits, or divided by 0");
    REFUSED(shifted(m, -3, 3, NULL), "'shifted': its extents are too large for 64 bits, or divided by 0");
    CHECK(shifted(m, 64, 0, NULL) == HDSRT_OK && fake_cuda_launches() == 0);
    CHECK(shifted(m, 5, 2, NULL) == HDSRT_INVALID_ARGUMENT && strstr(hdsrt_last_error(), "'shifted': it assumes '"));
    // What cannot be computed is not broken.
    CHECK(shifted(m, 0, 3, NULL) == HDSRT_OK && fake_cuda_launches() == 1);
    fake_cuda_forget();
    REFUSED(head(NULL, m, 0, 1, NULL), "'head': 'n' is 0, and where a kernel runs its extents are at least 1");
    CHECK(head(NULL, m, 0, 0, NULL) == HDSRT_OK && head(NULL, m, 5, 0, NULL) == HDSRT_OK && fake_cuda_launches() == 0);
    CHECK(shares(m, 100, 7, NULL) == HDSRT_OK);
    l = LAUNCHED(0, "shares");
    CHECK(is_grid(&l, 14, 1, 1));
    fake_cuda_forget();
    REFUSED(shares(m, 100, 0, NULL), "'shares': its extents are too large for 64 bits, or divided by 0");
    CHECK(shares(m, INT32_MIN, -1, NULL) == HDSRT_INVALID_ARGUMENT && fake_cuda_launches() == 0);
    hdsrt_release(m, NULL);
    hdsrt_release(o, NULL);
}

static void test_attributes(void)
{
    float *m = memory(1 << 20);
    fake_cuda_forget();
    CHECK(multiples(m, 5, 64, NULL) == HDSRT_OK);
    fake_cuda_launch l = LAUNCHED(0, "multiples");
    CHECK(is_grid(&l, 5, 1, 1) && is_block(&l, 64, 1, 1));
    fake_cuda_forget();
    REFUSED(multiples(m, 5, 12, NULL), "'multiples': it assumes 'k % 8 == 0', and 'k' is 12");
    CHECK(multiples(m, 5, 2048, NULL) == HDSRT_INVALID_ARGUMENT && fake_cuda_launches() == 0);
    CHECK(clusters(m, 6, NULL) == HDSRT_OK && fake_cuda_launches() == 1);
    fake_cuda_forget();
    CHECK(follows(m, 6, NULL) == HDSRT_OK);
    l = LAUNCHED(0, "follows");
    CHECK(l.is_extended && l.is_dependent);
    fake_cuda_forget();
    CHECK(wishes(m, 256, NULL) == HDSRT_OK);
    l = LAUNCHED(0, "wishes");
    CHECK(l.dynamic_smem_bytes == 1024);
    CHECK(wishes(m, 25600, NULL) == HDSRT_OK && large(m, NULL) == HDSRT_OK);
    l = LAUNCHED(1, "wishes");
    CHECK(l.dynamic_smem_bytes == 102400);
    l = LAUNCHED(2, "large");
    CHECK(l.dynamic_smem_bytes == 131072);
    fake_cuda_forget();
    CHECK(wishes(m, INT32_MAX, NULL) != HDSRT_OK && wishes(m, -1, NULL) == HDSRT_INVALID_ARGUMENT);
    CHECK(fake_cuda_launches() == 0);
    hdsrt_release(m, NULL);
}

// ---- over DLPack ----------------------------------------------------------------------------------------------------

static hdsrt_tensor view(void *data, uint8_t code, uint8_t bits, int ndim, int64_t *shape)
{
    hdsrt_tensor t;
    memset(&t, 0, sizeof t);
    t.data = data;
    t.device.device_type = 2;
    t.ndim = ndim;
    t.dtype.code = code;
    t.dtype.bits = bits;
    t.dtype.lanes = 1;
    t.shape = shape;
    return t;
}

static void test_dlpack(void)
{
    float *m = memory(1 << 20), *o = memory(1 << 20);
    int64_t s[] = {33, 65}, r[] = {65, 33}, wrong[] = {65, 34}, huge[] = {(int64_t)1 << 31, 0}, flat[] = {5}, odd[] = {9, 3};
    hdsrt_tensor x = view(m, 2, 32, 2, s), y = view(o, 2, 32, 2, r), z = view(o, 2, 32, 2, wrong);
    int32_t rows = 33, columns = 65;
    fake_cuda_forget();
    CHECK(tiles_dlpack(&x, &y, NULL) == HDSRT_OK);
    fake_cuda_launch l = LAUNCHED(0, "tiles");
    CHECK(is_grid(&l, 3, 2, 1) && passes(&l, 2, &rows, 4) && passes(&l, 3, &columns, 4));
    fake_cuda_forget();
    REFUSED(tiles_dlpack(&x, &z, NULL), "'tiles': 'y' has extent 34 along axis 1, and it has to be m, which is 33");
    REFUSED(tiles_dlpack(NULL, &y, NULL), "'tiles': 'x' is null");
    hdsrt_tensor large_one = view(m, 2, 32, 2, huge);
    REFUSED(tiles_dlpack(&large_one, &y, NULL),
            "'tiles': 'x' has extent 2147483648 along axis 0, and it has to be at most 2147483647");
    hdsrt_tensor p = view(m, 2, 32, 2, odd), q = view(o, 2, 32, 1, flat), h = view(m, 2, 16, 2, s);
    REFUSED(pairs_dlpack(&p, &q, NULL), "'pairs': 'x' has extent 9 along axis 0, and it has to be 2 * n, which is 10");
    odd[0] = 10;
    CHECK(pairs_dlpack(&p, &q, NULL) == HDSRT_OK);
    l = LAUNCHED(0, "pairs");
    CHECK(is_grid(&l, 1, 1, 1) && l.parameter_count == 3);
    odd[1] = 4;
    fake_cuda_forget();
    REFUSED(pairs_dlpack(&p, &q, NULL), "'pairs': 'x' has extent 4 along axis 1, and it has to be 3");
    REFUSED(tiles_dlpack(&h, &y, NULL), "'tiles': 'x' is of f16, and it has to be of f32");
    hdsrt_release(m, NULL);
    hdsrt_release(o, NULL);
}

// ---- host functions -------------------------------------------------------------------------------------------------

static void test_chain(void)
{
    float *x = memory(4096), *y = memory(4096);
    int live = fake_cuda_live("memory");
    int32_t n = 100, rows = 13;
    uint16_t scale = 0x4000;
    fake_cuda_forget();
    CHECK(chain(x, y, 2, scale, n, NULL) == HDSRT_OK && fake_cuda_launches() == 4);
    fake_cuda_launch l = LAUNCHED(0, "paint_1");
    CHECK(passes(&l, 1, &(float){0.5f}, 4) && passes(&l, 2, &n, 4));
    l = LAUNCHED(2, "add_1");
    CHECK(passes(&l, 1, &y, 8));
    l = LAUNCHED(3, "cast_to_1");
    CHECK(is_grid(&l, 13, 1, 1) && passes(&l, 0, &x, 8) && passes(&l, 2, &scale, 2) && passes(&l, 4, &rows, 4));
    CHECK(fake_cuda_live("memory") == live);
    fake_cuda_forget();
    CHECK(chain(x, y, 10, scale, n, NULL) == HDSRT_OK && fake_cuda_launches() == 4);  // it leaves at the third turn
    CHECK(fake_cuda_live("memory") == live);
    fake_cuda_forget();
    CHECK(chain(NULL, NULL, 2, scale, 0, NULL) == HDSRT_OK && fake_cuda_launches() == 0);
    REFUSED(chain(x, x, 2, scale, n, NULL), "'chain': 'x' and 'y' overlap, and 'y' is written");
    hdsrt_status status = chain(x, y, -1, scale, n, NULL);
    CHECK(status == HDSRT_ASSERTION && strstr(hdsrt_last_error(), "assertion failed: turns are counted"));
    CHECK(strstr(hdsrt_last_error(), "launches.hds:"));
    fake_cuda_fail("cuLaunchKernel", 2, 700);
    CHECK(chain(x, y, 2, scale, n, NULL) == HDSRT_DRIVER_ERROR && hdsrt_last_driver_error() == 700);
    fake_cuda_fail("cuLaunchKernel", 2, 0);
    CHECK(fake_cuda_live("memory") == live);
    fake_cuda_fail("cuMemAllocAsync", 2, 2);
    fake_cuda_forget();
    CHECK(chain(x, y, 2, scale, n, NULL) == HDSRT_OUT_OF_MEMORY && fake_cuda_launches() == 0);
    fake_cuda_fail("cuMemAllocAsync", 2, 0);
    CHECK(fake_cuda_live("memory") == live);
    CHECK(chain_call(&(chain_args){.x = x, .y = y, .scale = scale, .n = n}, NULL) == HDSRT_OK);
    hdsrt_release(x, NULL);
    hdsrt_release(y, NULL);
}

static void test_rounds(void)
{
    float *x = memory(4096);
    int live = fake_cuda_live("memory");
    fake_cuda_forget();
    CHECK(rounds(x, 8, NULL) == HDSRT_OK && fake_cuda_launches() == 5 && fake_cuda_live("memory") == live);
    CHECK(fake_cuda_calls("cuMemAllocAsync") == 5 && fake_cuda_calls("cuMemFreeAsync") == 5);
    fake_cuda_forget();
    // Its tensors are larger than any memory, though they would be small ones at 32 bits.
    CHECK(rounds(x, INT32_MAX, NULL) == HDSRT_OUT_OF_MEMORY && fake_cuda_live("memory") == live);
    hdsrt_release(x, NULL);
}

// Temporaries of known sizes have offsets in one workspace. A division by zero is an error, as in libhds.
static void test_planned(void)
{
    float *y = memory(64);
    int live = fake_cuda_live("memory");
    fake_cuda_launch first, second;
    fake_cuda_forget();
    CHECK(planned(y, 1, NULL) == HDSRT_OK && fake_cuda_launches() == 2);
    CHECK(fake_cuda_calls("cuMemAllocAsync") == 1 && fake_cuda_calls("cuMemFreeAsync") == 1);
    CHECK(fake_cuda_launch_at(0, &first) && fake_cuda_launch_at(1, &second));
    uint64_t a, b;
    memcpy(&a, first.parameters, sizeof a);
    memcpy(&b, second.parameters, sizeof b);
    CHECK(a != b && (a > b ? a - b : b - a) == 256);
    fake_cuda_forget();
    CHECK(planned(y, INT32_MAX, NULL) == HDSRT_OK && fake_cuda_launches() == 5);
    CHECK(fake_cuda_calls("cuMemAllocAsync") == 1 && fake_cuda_calls("cuMemFreeAsync") == 1);
    fake_cuda_forget();
    CHECK(planned(y, 4, NULL) == HDSRT_OK && fake_cuda_launches() == 5);
    fake_cuda_forget();
    CHECK(planned(y, -1, NULL) == HDSRT_OK && fake_cuda_calls("cuMemAllocAsync") == 0);
    REFUSED(planned(y, 0, NULL), "'planned': it divides by zero");
    fake_cuda_forget();
    fake_cuda_fail("cuLaunchKernel", 2, 700);
    CHECK(planned(y, 1, NULL) == HDSRT_DRIVER_ERROR && fake_cuda_live("memory") == live);
    fake_cuda_fail("cuLaunchKernel", 0, 0);
    hdsrt_release(y, NULL);
}

// Each condition and bound that divides has a variable of its own.
static void test_divided(void)
{
    float *y = memory(64);
    fake_cuda_forget();
    CHECK(divided(y, 6, 3, NULL) == HDSRT_OK && fake_cuda_launches() == 8);
    fake_cuda_forget();
    CHECK(divided(y, 7, 3, NULL) == HDSRT_OK && fake_cuda_launches() == 5);
    fake_cuda_forget();
    REFUSED(divided(y, 1, 0, NULL), "'divided': it divides by zero");
    hdsrt_release(y, NULL);
}

static void test_values(void)
{
    CHECK(blocks_of(1000, 256) == 4 && blocks_of(0, 256) == 0 && blocks_of(INT32_MAX, 1) == 1000);
    CHECK(blocks_of(INT32_MAX, INT32_MAX) == 1 && blocks_of(5, 0) == 0);
    CHECK(mean_of(1.0, 2.0) == 2.5);
}

int main(void)
{
    test_scalars();
    test_tensors();
    test_extents();
    test_attributes();
    test_dlpack();
    test_chain();
    test_rounds();
    test_planned();
    test_divided();
    test_values();
    printf("%d failures\n", failures);
    return failures != 0;
}
