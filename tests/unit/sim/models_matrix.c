// hidet.lang.mma: the kernels against products by definition, for all types and shapes; conversions of operands
// exhaustively; poison, field values, ldmatrix and stmatrix there and back.
#include "hand.h"

#include <math.h>

#include "sim/half.h"
#include "sim/models/matrix_kernel.h"

static const char module[] = "hidet.lang.mma";

typedef struct row {
    const char *name, *text;
    dtype a, b, c;
    int m, k;
} row;

static const row rows[] = {
    {"mma_m16n8k16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {result};", DT_F16, DT_F16, DT_F32, 16, 16},
    {"mma_m16n8k16", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {result};", DT_F16, DT_F16, DT_F16, 16, 16},
    {"mma_m16n8k16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {result};", DT_BF16, DT_BF16, DT_F32, 16, 16},
    {"mma_m16n8k8", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {result};", DT_F16, DT_F16, DT_F32, 16, 8},
    {"mma_m16n8k8", "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {result};", DT_F16, DT_F16, DT_F16, 16, 8},
    {"mma_m16n8k8", "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {result};", DT_BF16, DT_BF16, DT_F32, 16, 8},
    {"mma_m16n8k8_tf32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {result};", DT_TF32, DT_TF32, DT_F32, 16,
     8},
    {"mma_m16n8k4_tf32", "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {result};", DT_TF32, DT_TF32, DT_F32, 16,
     4},
    {"mma_m16n8k32_i8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {result};", DT_I8, DT_I8, DT_I32, 16, 32},
    {"mma_m16n8k32_i8", "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32 {result};", DT_U8, DT_I8, DT_I32, 16,
     32},
    {"mma_m16n8k16_i8", "mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32 {result};", DT_I8, DT_U8, DT_I32, 16, 16},
    {"mma_m8n8k16_i8", "mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {result};", DT_U8, DT_U8, DT_I32, 8, 16},
    {"mma_m16n8k32_fp8", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {result};", DT_F8E4M3, DT_F8E5M2, DT_F32,
     16, 32},
    {"mma_m8n8k4_f64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {result};", DT_F64, DT_F64, DT_F64, 8, 4},
};
enum { ROWS = sizeof rows / sizeof *rows };

static sim_use *product(hand *h, const row *r)
{
    return hand_use(h, module, r->name, r->text, (hand_operand){"result", r->c, r->m / 4},
                    HAND_OPERANDS({"a", r->a, r->m * r->k / 32}, {"b", r->b, r->k / 4}, {"c", r->c, r->m / 4}), NULL);
}

// The figures of the PTX ISA in its own words: groupID = lane / 4, threadID_in_group = lane % 4; a register holds [per]
// elements. Where element i of lane l stands.
static void coordinates_a(const row *r, int l, int i, int *m, int *k)
{
    int per = 32 / dt_bits(r->a) ? 32 / dt_bits(r->a) : 1, group = l / 4, thread = l % 4, reg = i / per;
    int row_halves = r->m / 8;
    *m = group + (row_halves == 2 && reg % 2 ? 8 : 0);
    *k = thread * per + i % per + reg / row_halves * 4 * per;
}

static void coordinates_b(const row *r, int l, int i, int *k, int *n)
{
    int per = 32 / dt_bits(r->b) ? 32 / dt_bits(r->b) : 1;
    *k = l % 4 * per + i % per + i / per * 4 * per;
    *n = l / 4;
}

static void coordinates_c(int l, int i, int *m, int *n)
{
    *m = l / 4 + (i >= 2 ? 8 : 0);
    *n = l % 4 * 2 + (i & 1);
}

typedef struct matrices {
    double a[16][32], b[32][8], c[16][8], d[16][8];
} matrices;

static double random_value(hand *h, dtype t)
{
    switch (t) {
    case DT_I8:
        return (double)(int8_t)hand_random(h);
    case DT_U8:
        return (double)(uint8_t)hand_random(h);
    case DT_I32:
        return hand_random(h) % 3 ? (double)((int64_t)(hand_random(h) % 2000) - 1000)
                                  : (double)(int32_t)(hand_random(h) % 2 ? 0x7ffffff0 : 0x80000010);
    default:
        return dt_to_double(t, dt_from_double(t, ldexp((double)((int64_t)(hand_random(h) % 4096) - 2048),
                                                       (int)(hand_random(h) % 8) - 14)));
    }
}

static void set_value(sim_warp *w, const sim_operand *o, int element, int lane, double x)
{
    uint64_t bits = dt_is_int(o->type) ? (uint64_t)(int64_t)x : dt_from_double(o->type, x);
    hand_set(w, o, element, lane, bits);
}

static void fill(hand *h, sim_warp *w, const sim_use *use, const row *r, matrices *x)
{
    for (int l = 0; l < 32; l++) {
        for (int i = 0, m, k; i < use->operands[0].count; i++) {
            coordinates_a(r, l, i, &m, &k);
            set_value(w, &use->operands[0], i, l, x->a[m][k] = random_value(h, r->a));
        }
        for (int i = 0, k, n; i < use->operands[1].count; i++) {
            coordinates_b(r, l, i, &k, &n);
            set_value(w, &use->operands[1], i, l, x->b[k][n] = random_value(h, r->b));
        }
        for (int i = 0, m, n; i < use->operands[2].count; i++) {
            coordinates_c(l, i, &m, &n);
            set_value(w, &use->operands[2], i, l, x->c[m][n] = random_value(h, r->c));
        }
    }
}

// The exact sum, rounded as the accumulator's type says: the values above are such that it fits in a long double.
static uint64_t expected(const row *r, const matrices *x, int m, int n)
{
    long double sum = (long double)x->c[m][n];
    for (int k = 0; k < r->k; k++)
        sum += (long double)x->a[m][k] * (long double)x->b[k][n];
    if (r->c == DT_I32) {
        int64_t total = (int64_t)sum;
        bool saturates = strstr(r->text, "satfinite") != NULL;
        if (saturates)
            total = total > INT32_MAX ? INT32_MAX : total < INT32_MIN ? INT32_MIN : total;
        return (uint32_t)total;
    }
    if (r->c == DT_F64) {
        double t = x->c[m][n];
        for (int k = 0; k < r->k; k++)
            t = fma(x->a[m][k], x->b[k][n], t);
        return dt_from_double(DT_F64, t);
    }
    return dt_from_double(r->c, (double)sum);
}

static void products(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    for (int k = 0; k < ROWS; k++) {
        sim_use *use = product(&h, &rows[k]);
        matrices x;
        for (int trial = 0; trial < 30; trial++) {
            fill(&h, w, use, &rows[k], &x);
            assert_int_equal(hand_run(w, use), SIM_NEXT);
            for (int l = 0; l < 32; l++)
                for (int i = 0, m, n; i < use->result.count; i++) {
                    coordinates_c(l, i, &m, &n);
                    assert_true(hand_get(w, &use->result, i, l) == expected(&rows[k], &x, m, n));
                }
        }
    }
    assert_int_equal(sim_finding_count(h.device), 0);
    hand_close(&h);
}

// Both kernels give the same bits, in place too, whatever the operands' bits.
static void kernels_agree(void **state)
{
    (void)state;
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("f16c"))
        skip();
    hand h;
    hand_open(&h, 1, false);
    for (int k = 0; k < ROWS - 1; k++) {
        sim_use *use = product(&h, &rows[k]);
        sim_mma_shape s = {(sim_mma_number)use->bound[3],
                           (sim_mma_number)use->bound[4],
                           (sim_mma_sum)use->bound[5],
                           rows[k].m,
                           rows[k].k,
                           32 / dt_bits(rows[k].a),
                           use->bound[7] != 0};
        for (int trial = 0; trial < 300; trial++) {
            uint32_t a[512], b[256], c[128], d[2][128];
            uint32_t mask[3] = {dt_bits(rows[k].a) == 32 ? UINT32_MAX : (1u << dt_bits(rows[k].a)) - 1, 0,
                                dt_bits(rows[k].c) == 16 ? 0xffff : UINT32_MAX};
            for (int i = 0; i < 512; i++)
                a[i] = rows[k].a == DT_I8 ? (uint32_t)(int8_t)hand_random(&h) : (uint32_t)hand_random(&h) & mask[0];
            for (int i = 0; i < 256; i++)
                b[i] = rows[k].b == DT_I8 ? (uint32_t)(int8_t)hand_random(&h) : (uint32_t)hand_random(&h) & mask[0];
            for (int i = 0; i < 128; i++)
                c[i] = (uint32_t)hand_random(&h) & mask[2];
            memcpy(d[1], c, sizeof c);
            sim_mma_base(&s, a, b, c, d[0]);
            sim_mma_avx2(&s, a, b, d[1], d[1]);
            assert_memory_equal(d[0], d[1], sizeof(uint32_t) * 32 * (size_t)(rows[k].m / 4));
        }
    }
    hand_close(&h);
#else
    skip();
#endif
}

// a has one element, b is 1: the result is the element's value, for all bits of the narrow types.
static void operands(void **state)
{
    (void)state;
    static const int which[] = {0, 2, 12};
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    for (int t = 0; t < 3; t++) {
        const row *r = &rows[which[t]];
        sim_use *use = product(&h, r);
        for (int i = 0; i < use->operands[1].count; i++)
            hand_set_all(w, &use->operands[1], i, dt_from_double(r->b, 1.0));
        for (uint32_t bits = 0; bits < 1u << dt_bits(r->a); bits += 8) {
            for (int i = 0; i < use->operands[0].count; i++)
                hand_set_all(w, &use->operands[0], i, 0);
            for (int group = 0; group < 8; group++) // one a row
                hand_set(w, &use->operands[0], 0, group * 4, bits + (uint32_t)group);
            hand_run(w, use);
            for (int group = 0; group < 8; group++) {
                float want = (float)dt_to_double(r->a, bits + (uint32_t)group);
                uint64_t got = hand_get(w, &use->result, 0, group * 4);
                if (isnan(want))
                    assert_int_equal(got, 0x7fffffff);
                else
                    assert_true(sim_float_of((uint32_t)got) == want);
            }
        }
    }
    hand_close(&h);
}

static void poison(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    for (int k = 0; k < ROWS; k++) {
        sim_use *use = product(&h, &rows[k]);
        memset(w->all_poison, 0, HAND_CELLS * sizeof(uint32_t));
        for (int trial = 0; trial < 40; trial++) {
            bool bad[16][8] = {{false}};
            int o = trial % 3, i = (int)(hand_random(&h) % use->operands[o].count), l = (int)(hand_random(&h) % 32), y,
                z;
            uint32_t cell = hand_cell(&use->operands[o], i);
            w->poison[cell] = 1u << l;
            w->why[cell] = 9;
            if (o == 0) {
                coordinates_a(&rows[k], l, i, &y, &z);
                for (int n = 0; n < 8; n++)
                    bad[y][n] = true;
            } else if (o == 1) {
                coordinates_b(&rows[k], l, i, &y, &z);
                for (int m = 0; m < 16; m++)
                    bad[m][z] = true;
            } else {
                coordinates_c(l, i, &y, &z);
                bad[y][z] = true;
            }
            hand_run(w, use);
            for (int e = 0; e < use->result.count; e++)
                for (int lane = 0; lane < 32; lane++) {
                    coordinates_c(lane, e, &y, &z);
                    uint32_t found = w->poison[hand_cell(&use->result, e)];
                    assert_int_equal(found >> lane & 1, bad[y][z]);
                    if (found)
                        assert_int_equal(w->why[hand_cell(&use->result, e)], 9);
                }
            w->poison[cell] = 0;
        }
    }
    hand_close(&h);
}

static void fields(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, true);
    sim_warp *w = &h.block.warps[0];
    sim_use *use = product(&h, &rows[0]);
    sim_field a[16][16], b[16][8];
    for (int l = 0; l < 32; l++) {
        for (int i = 0, m, k; i < 8; i++) {
            coordinates_a(&rows[0], l, i, &m, &k);
            sim_field_of(w, use->operands[0].cell + (uint32_t)i, l)[0] = a[m][k] =
                (sim_field){hand_random(&h) >> 20, 3};
        }
        for (int i = 0, k, n; i < 4; i++) {
            coordinates_b(&rows[0], l, i, &k, &n);
            sim_field_of(w, use->operands[1].cell + (uint32_t)i, l)[0] = b[k][n] =
                (sim_field){hand_random(&h) >> 20, 3};
        }
        for (int i = 0; i < 4; i++)
            hand_set(w, &use->operands[2], i, l, sim_bits_of(0.5f)); // not followed: made from the float
    }
    hand_run(w, use);
    for (int l = 0; l < 32; l++)
        for (int i = 0, m, n; i < 4; i++) {
            coordinates_c(l, i, &m, &n);
            sim_field sum = sim_field_of_float(0.5);
            for (int k = 0; k < 16; k++)
                sum = sim_field_add(sum, sim_field_mul(a[m][k], b[k][n]));
            assert_true(sum.p == sim_field_of(w, use->result.cell + (uint32_t)i, l)[0].p);
        }
    hand_close(&h);
}

static void whole_warps(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    sim_use *use = product(&h, &rows[0]);
    use->site = 1;
    w->active = 0x7fffffff;
    hand_run(w, use);
    assert_int_equal(sim_finding_count(h.device), 1);
    use->site = 2;
    w->full = w->active = 0xffff; // a block of 16 threads
    hand_run(w, use);
    assert_int_equal(sim_finding_count(h.device), 2);
    hand_close(&h);
}

// ---- ldmatrix, stmatrix --------------------------------------------------------------------------------------------

static void rows_of_memory(void **state)
{
    (void)state;
    static const dtype types[] = {DT_F16, DT_BF16, DT_I8, DT_TF32};
    hand h;
    hand_open(&h, 1, true);
    sim_warp *w = &h.block.warps[0];
    uint8_t all[16] = {0};
    // An access of one byte: from here on each byte has its own state.
    const uint64_t first[SIM_LANES] = {SIM_TAG_SHARED};
    sim_store_bytes(w, 1, 1, first, 1, (const uint8_t(*)[16])all, NULL);
    for (int t = 0; t < 4; t++)
        for (int num = 1; num <= 4; num *= 2)
            for (int transposed = 0; transposed < (dt_bits(types[t]) == 16 ? 2 : 1); transposed++) {
                int count = num * 32 / dt_bits(types[t]);
                const char *trans = transposed ? ".trans" : "";
                const char *argument = arena_printf(&h.mem, "num=%d", num);
                sim_use *store = hand_use(
                    &h, module, "stmatrix_rows",
                    arena_printf(&h.mem, "stmatrix.sync.aligned.m8n8.x%d%s.shared.b16 [{row}], {x};", num, trans),
                    (hand_operand){0}, HAND_OPERANDS({"row", DT_NONE, 1}, {"x", types[t], count}), argument);
                sim_use *load = hand_use(
                    &h, module, "ldmatrix_rows",
                    arena_printf(&h.mem, "ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 {result}, [{row}];", num, trans),
                    (hand_operand){"result", types[t], count}, HAND_OPERANDS({"row", DT_NONE, 1}), argument);
                for (int l = 0; l < 32; l++)
                    hand_set(w, &store->operands[0], 0, l, SIM_TAG_SHARED | (uint64_t)(l * 7 % 32 * 16 + num * 512));
                uint64_t kept[16][32];
                memset(w->all_poison, 0, HAND_CELLS * sizeof(uint32_t));
                for (int i = 0; i < count; i++)
                    for (int l = 0; l < 32; l++) {
                        kept[i][l] = hand_random(&h) & ((1ull << dt_bits(types[t])) - 1);
                        kept[i][l] = types[t] == DT_I8 ? (uint32_t)(int8_t)kept[i][l] : kept[i][l];
                        hand_set(w, &store->operands[1], i, l, kept[i][l]);
                        sim_field_of(w, hand_cell(&store->operands[1], i), l)[0] =
                            (sim_field){(uint64_t)(i * 32 + l), 1};
                    }
                w->poison[hand_cell(&store->operands[1], count - 1)] = 0x00010000;
                hand_run(w, store);
                w->poison[hand_cell(&store->operands[1], count - 1)] = 0;
                memcpy(all, h.block.shared + num * 512, 16);
                // Row 0 of the first matrix is that of lane 0, whose register 0 comes first; transposed, its column.
                if (dt_bits(types[t]) == 16) {
                    uint16_t second;
                    memcpy(&second, all + 2, 2);
                    assert_int_equal(second, kept[transposed ? 0 : 1][transposed ? 4 : 0]);
                }
                for (int l = 0; l < 32; l++)
                    hand_set(w, &load->operands[0], 0, l, SIM_TAG_SHARED | (uint64_t)(l * 7 % 32 * 16 + num * 512));
                hand_run(w, load);
                for (int i = 0; i < count; i++)
                    for (int l = 0; l < 32; l++) {
                        assert_true(hand_get(w, &load->result, i, l) == kept[i][l]);
                        assert_int_equal(sim_field_of(w, hand_cell(&load->result, i), l)[0].p, i * 32 + l);
                        assert_int_equal(w->poison[hand_cell(&load->result, i)] >> l & 1, i == count - 1 && l == 16);
                    }
                sim_order_block_barrier(&h.block);
            }
    assert_int_equal(sim_finding_count(h.device), 0);
    hand_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),       cmocka_unit_test(kernels_agree), cmocka_unit_test(operands),
        cmocka_unit_test(poison),         cmocka_unit_test(fields),        cmocka_unit_test(whole_warps),
        cmocka_unit_test(rows_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
