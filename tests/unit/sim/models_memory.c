// hidet.lang.atomic, .memory and .async_copy on real simulated memory.
#include "hand.h"

#include <math.h>

#include "sim/half.h"

static uint64_t global(hand *h, int64_t bytes)
{
    uint64_t address = sim_allocate(h->device, bytes, 4, "x");
    int64_t room;
    memset(sim_bytes(h->device, address, &room), 0, (size_t)bytes);
    sim_mark_written(h->device, address, bytes);
    return address;
}

static uint8_t *bytes_at(hand *h, uint64_t address)
{
    int64_t room;
    return sim_bytes(h->device, address, &room);
}

// ---- atomics -------------------------------------------------------------------------------------------------------

typedef struct row {
    const char *name, *text;
    dtype t;
    uint64_t (*f)(uint64_t old, uint64_t value);
} row;

static uint64_t add_u32(uint64_t a, uint64_t b)
{
    return (uint32_t)(a + b);
}
static uint64_t add_u64(uint64_t a, uint64_t b)
{
    return a + b;
}
static uint64_t add_f32(uint64_t a, uint64_t b)
{
    return sim_bits_of(sim_float_of((uint32_t)a) + sim_float_of((uint32_t)b));
}
static uint64_t add_f16(uint64_t a, uint64_t b)
{
    return dt_from_double(DT_F16, dt_to_double(DT_F16, a) + dt_to_double(DT_F16, b));
}
static uint64_t min_i32(uint64_t a, uint64_t b)
{
    return (int32_t)a < (int32_t)b ? a : b;
}
static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}
static uint64_t and_b32(uint64_t a, uint64_t b)
{
    return a & b;
}
static uint64_t or_b64(uint64_t a, uint64_t b)
{
    return a | b;
}
static uint64_t xor_b32(uint64_t a, uint64_t b)
{
    return a ^ b;
}
static uint64_t exch(uint64_t a, uint64_t b)
{
    return (void)a, b;
}
static uint64_t inc(uint64_t a, uint64_t b)
{
    return a >= b ? 0 : a + 1;
}
static uint64_t dec(uint64_t a, uint64_t b)
{
    return a == 0 || a > b ? b : a - 1;
}

static const row rows[] = {
    {"add", "atom.relaxed.gpu.global.add.s32 {result}", DT_I32, add_u32},
    {"add", "atom.relaxed.gpu.global.add.u64 {result}", DT_I64, add_u64},
    {"add", "atom.relaxed.gpu.global.add.f32 {result}", DT_F32, add_f32},
    {"add", "atom.relaxed.gpu.global.add.noftz.f16 {result}", DT_F16, add_f16},
    {"min", "atom.relaxed.gpu.global.min.s32 {result}", DT_I32, min_i32},
    {"max", "atom.relaxed.gpu.global.max.u64 {result}", DT_U64, max_u64},
    {"bit_and", "atom.relaxed.gpu.global.and.b32 {result}", DT_U32, and_b32},
    {"bit_or", "atom.relaxed.gpu.global.or.b64 {result}", DT_U64, or_b64},
    {"bit_xor", "atom.relaxed.gpu.global.xor.b32 {result}", DT_U32, xor_b32},
    {"exch", "atom.relaxed.gpu.global.exch.b32 {result}", DT_F32, exch},
    {"inc", "atom.relaxed.gpu.global.inc.u32 {result}", DT_U32, inc},
    {"dec", "atom.relaxed.gpu.global.dec.u32 {result}", DT_U32, dec},
};

static uint64_t value(hand *h, dtype t)
{
    switch (t) {
    case DT_F32:
        return sim_bits_of((float)(hand_random(h) % 1000) * 0.37f);
    case DT_F16:
        return dt_from_double(DT_F16, (double)(hand_random(h) % 100) * 0.37);
    case DT_U32:
        return hand_random(h) % 50;
    case DT_I32:
        return (uint32_t)hand_random(h);
    default:
        return hand_random(h);
    }
}

// All lanes work on the same element, one after the other.
static void one_element(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const char *operand = rows[k].f == inc || rows[k].f == dec ? "limit" : "value";
        sim_use *use =
            hand_use(&h, "hidet.lang.atomic", rows[k].name, rows[k].text, (hand_operand){"result", rows[k].t, 1},
                     HAND_OPERANDS({"p", DT_NONE, 1}, {operand, rows[k].t, 1}), NULL);
        size_t bytes = (size_t)dt_bits(rows[k].t) / 8;
        uint64_t x = global(&h, 16), now = value(&h, rows[k].t), found = 0;
        memcpy(bytes_at(&h, x), &now, bytes);
        for (int trial = 0; trial < 20; trial++) {
            for (int lane = 0; lane < SIM_LANES; lane++) {
                hand_set(w, &use->operands[0], 0, lane, x);
                hand_set(w, &use->operands[1], 0, lane, value(&h, rows[k].t));
            }
            hand_run(w, use);
            for (int lane = 0; lane < SIM_LANES; lane++) {
                assert_true(hand_get(w, &use->result, 0, lane) == now);
                now = rows[k].f(now, hand_get(w, &use->operands[1], 0, lane));
            }
            memcpy(&found, bytes_at(&h, x), bytes);
            assert_true(found == now);
        }
    }
    assert_int_equal(sim_finding_count(h.device), 0);
    hand_close(&h);
}

static void swaps_and_pairs(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    uint64_t x = global(&h, 64);
    sim_use *cas = hand_use(&h, "hidet.lang.atomic", "cas", "atom.acquire.gpu.global.cas.b16 {result}",
                            (hand_operand){"result", DT_I16, 1},
                            HAND_OPERANDS({"p", DT_NONE, 1}, {"expected", DT_I16, 1}, {"value", DT_I16, 1}), NULL);
    for (int lane = 0; lane < SIM_LANES; lane++) {
        hand_set(w, &cas->operands[0], 0, lane, x);
        hand_set(w, &cas->operands[1], 0, lane, (uint64_t)(int64_t)-lane);
        hand_set(w, &cas->operands[2], 0, lane, (uint64_t)(int64_t)(-lane - 1));
    }
    assert_int_equal(hand_run(w, cas), SIM_YIELD);
    for (int lane = 0; lane < SIM_LANES; lane++)
        assert_int_equal(sim_i32(w, cas->result.cell)[lane], -lane); // each lane finds what the one before has left
    int16_t last;
    memcpy(&last, bytes_at(&h, x), 2);
    assert_int_equal(last, -32);

    sim_use *vector =
        hand_use(&h, "hidet.lang.atomic", "red_add_vector", "red.relaxed.gpu.global.add.v4.f32 [{p}], {value};",
                 (hand_operand){0}, HAND_OPERANDS({"p", DT_NONE, 1}, {"value", DT_F32, 4}), NULL);
    for (int lane = 0; lane < SIM_LANES; lane++) {
        hand_set(w, &vector->operands[0], 0, lane, x + 16 + (uint64_t)(lane % 2) * 16);
        for (int i = 0; i < 4; i++)
            hand_set(w, &vector->operands[1], i, lane, sim_bits_of((float)i));
    }
    assert_int_equal(hand_run(w, vector), SIM_NEXT);
    float sums[4];
    memcpy(sums, bytes_at(&h, x) + 32, 16);
    assert_true(sums[0] == 0 && sums[3] == 48);
    assert_int_equal(sim_finding_count(h.device), 0);
    hand_set(w, &vector->operands[0], 0, 3, x + 20); // a multiple of 4, not of 16
    hand_run(w, vector);
    assert_int_equal(sim_finding_count(h.device), 1);
    hand_close(&h);
}

static void flushing(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    uint64_t addresses[2] = {global(&h, 4), SIM_TAG_SHARED | 8};
    memset(h.block.shared, 0, 64);
    for (int i = 0; i < 2; i++) {
        sim_use *use = hand_use(&h, "hidet.lang.atomic", "red_add", "red.relaxed.gpu.add.f32 [{p}], {value};",
                                (hand_operand){0}, HAND_OPERANDS({"p", DT_NONE, 1}, {"value", DT_F32, 1}), NULL);
        w->active = 1;
        hand_set(w, &use->operands[0], 0, 0, addresses[i]);
        hand_set(w, &use->operands[1], 0, 0, 0x00000001);
        if (i) {
            sim_use *store =
                hand_use(&h, "hidet.lang.memory", "store_sync", "st.relaxed.cta.shared.b32 [{p}], {value};",
                         (hand_operand){0}, HAND_OPERANDS({"p", DT_NONE, 1}, {"value", DT_F32, 1}), NULL);
            hand_set(w, &store->operands[1], 0, 0, 0);
            hand_run(w, store); // not written before: that is no finding
            hand_set(w, &use->operands[1], 0, 0, 0x00000001);
        }
        hand_run(w, use);
    }
    uint32_t found[2];
    memcpy(&found[0], bytes_at(&h, addresses[0]), 4);
    memcpy(&found[1], h.block.shared + 8, 4);
    assert_int_equal(found[0], 0); // global memory flushes subnormal numbers, shared memory keeps them
    assert_int_equal(found[1], 1);
    assert_int_equal(sim_finding_count(h.device), 0);
    hand_close(&h);
}

static void poisoned_operands(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    uint64_t x = global(&h, 4);
    sim_use *use =
        hand_use(&h, "hidet.lang.atomic", "add", "atom.relaxed.gpu.global.add.s32 {result}",
                 (hand_operand){"result", DT_I32, 1}, HAND_OPERANDS({"p", DT_NONE, 1}, {"value", DT_I32, 1}), NULL);
    hand_set_all(w, &use->operands[0], 0, x);
    hand_set_all(w, &use->operands[1], 0, 1);
    w->poison[use->operands[1].cell] = 1 << 7;
    hand_run(w, use);
    assert_int_equal(sim_finding_count(h.device), 1);
    assert_int_equal(w->poison[use->result.cell], 0);
    int32_t sum;
    memcpy(&sum, bytes_at(&h, x), 4);
    assert_int_equal(sum, 31); // that lane is excluded
    hand_close(&h);
}

static void fields(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, true);
    sim_warp *w = &h.block.warps[0];
    uint64_t x = global(&h, 4);
    sim_use *use =
        hand_use(&h, "hidet.lang.atomic", "add", "atom.relaxed.gpu.global.add.f32 {result}",
                 (hand_operand){"result", DT_F32, 1}, HAND_OPERANDS({"p", DT_NONE, 1}, {"value", DT_F32, 1}), NULL);
    sim_field sum = sim_field_of_float(0);
    for (int lane = 0; lane < SIM_LANES; lane++) {
        hand_set(w, &use->operands[0], 0, lane, x);
        hand_set(w, &use->operands[1], 0, lane, sim_bits_of(1.0f));
        sim_field v = {1000u + (uint64_t)lane, SIM_FIELD_NONE};
        sim_field_of(w, use->operands[1].cell, lane)[0] = v;
        sum = sim_field_add(sum, v);
    }
    hand_run(w, use);
    assert_true(sim_memory_field(w, 0, x)->p == sum.p);
    sim_use *load = hand_use(&h, "hidet.lang.memory", "load_sync", "ld.acquire.gpu.global.b32 {result}, [{p}];",
                             (hand_operand){"result", DT_F32, 1}, HAND_OPERANDS({"p", DT_NONE, 1}), NULL);
    hand_set_all(w, &load->operands[0], 0, x);
    assert_int_equal(hand_run(w, load), SIM_YIELD);
    assert_true(sim_field_of(w, load->result.cell, 9)[0].p == sum.p);
    assert_true(sim_f32(w, load->result.cell)[9] == 32.0f);
    hand_close(&h);
}

// ---- loads and stores ----------------------------------------------------------------------------------------------

static void wide_accesses(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    uint64_t x = global(&h, 1024), y = global(&h, 1024);
    for (int i = 0; i < 512; i++)
        memcpy(bytes_at(&h, x) + 2 * i, &(uint16_t){(uint16_t)(i * 77)}, 2);
    sim_use *load = hand_use(&h, "hidet.lang.memory", "load", "ld.global.cs.v4.b32 {result}, [{p}];",
                             (hand_operand){"result", DT_F16, 8}, HAND_OPERANDS({"p", DT_NONE, 1}), "lanes=8");
    for (int lane = 0; lane < SIM_LANES; lane++)
        hand_set(w, &load->operands[0], 0, lane, x + (uint64_t)lane * 16);
    assert_int_equal(hand_run(w, load), SIM_NEXT);
    for (int i = 0; i < 256; i++)
        assert_int_equal(hand_get(w, &load->result, i % 8, i / 8), i * 77 & 0xffff);
    sim_use *store = hand_use(&h, "hidet.lang.memory", "store_volatile", "st.volatile.global.v2.b32 [{p}], {value};",
                              (hand_operand){0}, HAND_OPERANDS({"p", DT_NONE, 1}, {"value", DT_I16, 4}), "lanes=4");
    for (int lane = 0; lane < SIM_LANES; lane++) {
        hand_set(w, &store->operands[0], 0, lane, y + (uint64_t)lane * 8);
        for (int i = 0; i < 4; i++)
            hand_set(w, &store->operands[1], i, lane, (uint64_t)(int64_t)(i - lane));
    }
    assert_int_equal(hand_run(w, store), SIM_NEXT);
    for (int i = 0; i < 128; i++) {
        int16_t found;
        memcpy(&found, bytes_at(&h, y) + 2 * i, 2);
        assert_int_equal(found, i % 4 - i / 4);
    }
    assert_int_equal(sim_finding_count(h.device), 0);
    hand_set(w, &load->operands[0], 0, 0, x + 8); // not a multiple of 16
    for (int lane = 1; lane < SIM_LANES; lane++)
        hand_set(w, &load->operands[0], 0, lane, x);
    hand_run(w, load);
    assert_int_equal(sim_finding_count(h.device), 1);
    hand_close(&h);
}

// ---- cp.async ------------------------------------------------------------------------------------------------------

static sim_use *copy_use(hand *h)
{
    return hand_use(h, "hidet.lang.async_copy", "cp_async",
                    "cp.async.cg.shared.global [{dst}], [{src}], 16, {present};", (hand_operand){0},
                    HAND_OPERANDS({"dst", DT_NONE, 1}, {"src", DT_NONE, 1}, {"present", DT_I32, 1}), "T=f16");
}

static sim_use *group_use(hand *h, const char *name, const char *text)
{
    return hand_use(h, "hidet.lang.async_copy", name, text, (hand_operand){0}, NULL, NULL);
}

static void start(hand *h, const sim_use *use, uint64_t to, uint64_t from, int present)
{
    sim_warp *w = &h->block.warps[0];
    for (int lane = 0; lane < SIM_LANES; lane++) {
        hand_set(w, &use->operands[0], 0, lane, SIM_TAG_SHARED | (to + 16 * (uint64_t)lane));
        hand_set(w, &use->operands[1], 0, lane, from + 16 * (uint64_t)lane);
        hand_set(w, &use->operands[2], 0, lane, (uint64_t)present);
    }
    assert_int_equal(hand_run(w, use), SIM_NEXT);
}

static int arrived(const hand *h, uint64_t offset)
{
    return h->block.shared[offset] == 0xab;
}

static void groups(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    uint64_t x = global(&h, 512);
    memset(bytes_at(&h, x), 0xab, 512);
    sim_use *copy = copy_use(&h), *commit = group_use(&h, "commit_group", "cp.async.commit_group;");
    sim_use *wait1 = group_use(&h, "wait_group", "cp.async.wait_group 1;"),
            *wait0 = group_use(&h, "wait_group", "cp.async.wait_group 0;");
    sim_use *all = group_use(&h, "wait_all", "cp.async.wait_all;");
    assert_int_equal(wait1->bound[0], 1);

    start(&h, copy, 0, x, 16);
    hand_run(w, commit);
    start(&h, copy, 512, x, 16);
    hand_run(w, commit);
    start(&h, copy, 1024, x, 8); // not committed yet: the first half only, zeros behind
    assert_false(arrived(&h, 0));
    hand_run(w, wait1);
    assert_true(arrived(&h, 0) && !arrived(&h, 512));
    hand_run(w, wait0);
    assert_true(arrived(&h, 512) && !arrived(&h, 1024));
    hand_run(w, all);
    assert_true(arrived(&h, 1024));
    assert_int_equal(h.block.shared[1024 + 7], 0xab);
    assert_int_equal(h.block.shared[1024 + 8], 0);

    // Groups are counted by thread: lanes that commit more often wait for more.
    memset(h.block.shared, 0, 4096);
    start(&h, copy, 2048, x, 16);
    hand_run(w, commit);
    w->active = 1;
    hand_run(w, commit);
    w->active = UINT32_MAX;
    hand_run(w, wait1);
    assert_true(arrived(&h, 2048) && !arrived(&h, 2048 + 16));
    hand_run(w, wait0);
    assert_true(arrived(&h, 2048 + 16));
    assert_int_equal(sim_finding_count(h.device), 0);

    // Nothing is read with 0 bytes present, wherever the source is.
    start(&h, copy, 3072, 0x1234, 0);
    hand_run(w, all);
    assert_int_equal(h.block.shared[3072], 0);
    assert_int_equal(sim_finding_count(h.device), 0);
    hand_close(&h);
}

static void in_flight(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    uint64_t x = global(&h, 512);
    start(&h, copy_use(&h), 0, x, 16);
    uint8_t out[SIM_LANES][16];
    uint64_t address[SIM_LANES] = {SIM_TAG_SHARED};
    sim_load_bytes(w, 33, 1, address, 16, out, NULL);
    assert_int_equal(sim_finding_count(h.device), 1);
    hand_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_element), cmocka_unit_test(swaps_and_pairs),
        cmocka_unit_test(flushing),    cmocka_unit_test(poisoned_operands),
        cmocka_unit_test(fields),      cmocka_unit_test(wide_accesses),
        cmocka_unit_test(groups),      cmocka_unit_test(in_flight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
