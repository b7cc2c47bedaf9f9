// Which kernel libhdsops takes for generated sizes, orders, pitches and addresses, small ones and those beyond 2^31
// elements: one that these tensors allow. The library itself, on the double of the driver.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "fake_cuda.h"
#include "hds/ops.h"

enum { CASES = 4000 };
static const int64_t MOST_ELEMENTS = (int64_t)1 << 36; // of a matrix

typedef struct kind {
    hdsrt_dtype a, c;
    hds_math math;
    int across; // of Hopper's kernels: in how many operands k need not lie together
} kind;

static const kind kinds[] = {
    {{2, 16}, {2, 16}, HDS_MATH_EXACT, 2}, {{2, 16}, {2, 32}, HDS_MATH_EXACT, 2},
    {{4, 16}, {4, 16}, HDS_MATH_EXACT, 2}, {{2, 32}, {2, 32}, HDS_MATH_TF32, 1},
    {{0, 8}, {0, 32}, HDS_MATH_EXACT, 0},  {{10, 8}, {4, 16}, HDS_MATH_EXACT, 0},
    {{2, 32}, {2, 32}, HDS_MATH_EXACT, 2}, {{2, 64}, {2, 64}, HDS_MATH_EXACT, 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds, FIRST_WITHOUT_HOPPER = 7 };

static uint64_t state;

static int64_t below(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 31) % (uint64_t)n);
}

static int64_t pick(const int64_t *from, int count)
{
    return from[below(count)];
}
#define PICK(...) pick((const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

// ---- generated tensors --------------------------------------------------------------------------------------------

typedef struct batch {
    hdsrt_tensor tensor;
    int64_t shape[3], strides[3];
} batch;

static int64_t bytes_of(const batch *x, int64_t elements)
{
    return elements * x->tensor.dtype.bits / 8;
}

// Of [batches] matrices; gaps behind rows and matrices, and where they begin, are of any size, or of whole 16 bytes.
static void make(batch *x, uintptr_t base, hdsrt_dtype type, int64_t batches, int64_t rows, int64_t columns,
                 bool turned)
{
    int bytes = type.bits / 8;
    bool is_aligned = below(3) != 0;
    int64_t whole = is_aligned ? 16 / bytes : 1;
    int64_t length = turned ? rows : columns, count = turned ? columns : rows;
    int64_t pitch = (length + whole - 1) / whole * whole + whole * PICK(0, 0, 1, 3);
    *x = (batch){.shape = {batches, rows, columns}};
    x->strides[0] = pitch * (count ? count : 1) + whole * PICK(0, 0, 5);
    x->strides[1] = turned ? 1 : pitch;
    x->strides[2] = turned ? pitch : 1;
    x->tensor =
        (hdsrt_tensor){.data = (void *)(base + (uintptr_t)(is_aligned ? 16 : bytes) * (uintptr_t)PICK(0, 0, 1, 3)),
                       .ndim = 3,
                       .shape = x->shape,
                       .strides = x->strides};
    x->tensor.device.device_type = 2;
    x->tensor.dtype.code = type.code;
    x->tensor.dtype.bits = type.bits;
    x->tensor.dtype.lanes = 1;
}

static bool starts_at(const batch *x, bool turned, int bytes)
{
    bool alone = x->shape[0] == 1;
    return (uintptr_t)x->tensor.data % (unsigned)bytes == 0 && bytes_of(x, x->strides[turned ? 2 : 1]) % bytes == 0 &&
           (alone || bytes_of(x, x->strides[0]) % bytes == 0);
}

// ---- what a launch may be -----------------------------------------------------------------------------------------

// Parameters of Hopper's kernels that are tensor maps: a and b, and c where copies store it.
static int tensor_maps(const fake_cuda_launch *l)
{
    int count = 0;
    for (int i = 0; i < l->parameter_count; i++)
        count += l->sizes[i] == 128;
    return count;
}

static void has_blocks(const fake_cuda_launch *l)
{
    int64_t threads = (int64_t)l->block[0] * l->block[1] * l->block[2];
    for (int d = 0; d < 3; d++)
        assert_true(l->grid[d] >= 1 && l->grid[d] <= (d ? 65535 : INT32_MAX));
    assert_true(threads >= 32 && threads <= 1024 && l->dynamic_smem_bytes <= 232448);
    assert_true(!l->cluster[0] || l->grid[0] % l->cluster[0] == 0);
}

typedef struct problem {
    const kind *kind;
    int64_t batches, m, n, k;
    bool a_turned, b_turned; // a is stored by columns, b by rows
    batch a, b, c;
} problem;

static void make_problem(problem *x, bool is_large)
{
    const kind *t = x->kind = &kinds[below(KINDS)];
    x->batches = is_large ? 1 : PICK(1, 1, 2, 3);
    x->m = is_large ? PICK(1, 8, 100000, 1 << 20) : PICK(0, 1, 3, 4, 5, 16, 17, 64, 128, 129, 1000, 1000, 1024);
    x->n = is_large ? PICK(8, 1 << 16, 1 << 20, 100001) : PICK(0, 1, 7, 8, 24, 64, 100, 128, 512, 4096);
    x->k = is_large ? PICK(8, 1 << 20, (1 << 30) + 16) : PICK(0, 1, 8, 16, 31, 64, 100, 4096);
    while (x->m * x->n > MOST_ELEMENTS)
        x->n /= 2;
    while (x->m * x->k > MOST_ELEMENTS || x->n * x->k > MOST_ELEMENTS)
        x->k /= 2;
    x->a_turned = below(3) == 0;
    x->b_turned = below(3) == 0;
    make(&x->a, 0x10000000000000, t->a, x->batches, x->m, x->k, x->a_turned);
    make(&x->b, 0x20000000000000, t->a, x->batches, x->k, x->n, !x->b_turned);
    make(&x->c, 0x30000000000000, t->c, x->batches, x->m, x->n, false);
}

static void check_launch(const problem *x, const fake_cuda_launch *l)
{
    int maps = tensor_maps(l);
    bool whole_rows = (uintptr_t)x->c.tensor.data % 16 == 0 && bytes_of(&x->c, x->n) % 16 == 0;
    has_blocks(l);
    if (maps == 0)
        return;
    assert_true(maps == 2 || maps == 3);
    assert_true(x->kind < kinds + FIRST_WITHOUT_HOPPER && x->k > 0);
    assert_true(maps == 2 || whole_rows);
    if (x->m == 1 || x->n == 1 || x->k == 1)
        return; // the stride of a single row says nothing, so that it may lie in either order
    assert_true(maps == 2 || starts_at(&x->c, false, 16));
    assert_true(x->a_turned + x->b_turned <= x->kind->across);
    assert_true(starts_at(&x->a, x->a_turned, 16) && starts_at(&x->b, !x->b_turned, 16));
}

static void run_cases(bool is_large)
{
    static problem x;
    int by_copies = 0, by_threads = 0, elsewhere = 0;
    for (int n = 0; n < CASES; n++) {
        hds_matmul_options options = HDS_MATMUL_OPTIONS;
        fake_cuda_launch l;
        state = (uint64_t)n;
        below(2);
        make_problem(&x, is_large);
        options.math = x.kind->math;
        fake_cuda_forget();
        if (hds_matmul(&x.a.tensor, &x.b.tensor, &x.c.tensor, &options, NULL) != HDSRT_OK)
            fail_msg("case %d: %s", n, hdsrt_last_error());
        int launches = fake_cuda_launches();
        assert_int_equal(launches > 0, x.m > 0 && x.n > 0);
        for (int i = 0; i < launches && i < 64; i++) {
            assert_true(fake_cuda_launch_at(i, &l));
            check_launch(&x, &l);
            by_copies += tensor_maps(&l) == 3;
            by_threads += tensor_maps(&l) == 2;
            elsewhere += tensor_maps(&l) == 0;
        }
    }
    print_message("%d launches store by copies, %d by threads, %d are not Hopper's\n", by_copies, by_threads,
                  elsewhere);
    assert_true(by_copies > CASES / 50 && by_threads > CASES / 50 && elsewhere > CASES / 50);
}

static void small_sizes(void **unused)
{
    (void)unused;
    run_cases(false);
}

// Elements, distances and bytes beyond 32 bits.
static void large_sizes(void **unused)
{
    (void)unused;
    run_cases(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(small_sizes), cmocka_unit_test(large_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
