// Launches as a whole: seeds, workers, blocks, budgets, output, host functions.
#include "rig.h"

#include <stdlib.h>

// ---- schedules -----------------------------------------------------------------------------------------------------

#define ATOMIC                                                                                                         \
    "intrin add {\nname \"add\"\nmodule \"hidet.lang.atomic\"\nptx \"atom.relaxed.gpu.global.add.u32 {result}, "       \
    "[{p}], {value};\"\n"                                                                                              \
    "scope thread\neffects reads_global, writes_global\noperand p: ~global u32\noperand value: u32\nresult "           \
    "u32\ndtype \"T=u32\"\n}\n"

// Which thread comes when: every thread takes a number.
static const char tickets[] = ATOMIC "public kernel @k(c: u32[1] global layout row_major(1) storage 1, y: u32[512] "
                                     "global layout row_major(512) storage 512) grid 4, 1, 1 block 128, 1, 1 {\n"
                                     "for i: i32 in 0 to (bid.x * 7 + tid.x) % 50 {\nif i > 60 {\nreturn\n}\n}\n"
                                     "let t: u32 = !add(&c[0], 1u32)\ny[bid.x * 128 + tid.x] = t\n}\n";

static void take_tickets(uint64_t seed, uint32_t *y)
{
    rig r;
    uint32_t zero[512] = {0};
    rig_open_with(&r, tickets, (sim_options){.seed = seed, .workers = 3});
    uint64_t c = rig_tensor(&r, zero, 4, 4), at = rig_tensor(&r, zero, sizeof zero, 4);
    RIG_CALL(&r, "k", c, at);
    rig_expect_clean(&r);
    memcpy(y, rig_bytes(&r, at), sizeof zero);
    assert_int_equal(*(uint32_t *)rig_bytes(&r, c), 512);
    rig_close(&r);
}

static void seeds_decide(void **state)
{
    (void)state;
    uint32_t first[512], again[512];
    int different = 0;
    for (uint64_t seed = 0; seed < 6; seed++) {
        uint32_t y[512];
        take_tickets(seed, y);
        take_tickets(seed, again);
        assert_memory_equal(y, again, sizeof y);
        if (seed == 0)
            memcpy(first, y, sizeof y);
        different += memcmp(first, y, sizeof y) != 0;
    }
    assert_true(different >= 3);
}

// Blocks on several threads at once.
static void many_blocks(void **state)
{
    (void)state;
    enum { BLOCKS = 3000, COUNT = BLOCKS * 40 };
    int32_t *y = calloc(COUNT, 4);
    for (int workers = 1; workers <= 8; workers += 7) {
        rig r;
        rig_open_with(
            &r,
            "public kernel @k(y: i32[120000] global layout row_major(120000) storage 120000) grid 100, 6, 5 block 10, "
            "2, 2 {\n"
            "alloc s: i32[40] shared layout row_major(40) storage 40\nlet t: i32 = tid.x + 10 * tid.y + 20 * tid.z\n"
            "s[t] = t\nlet b: i32 = bid.x + 100 * bid.y + 600 * bid.z\nlet mut n: i32 = s[t]\n"
            "for i: i32 in 0 to b % 9 {\nn = n + i\n}\ny[b * 40 + t] = n * 10000 + b\n}\n",
            (sim_options){.workers = workers, .seed = (uint64_t)workers});
        uint64_t at = rig_tensor(&r, y, COUNT * 4, 4);
        RIG_CALL(&r, "k", at);
        rig_expect_clean(&r);
        const int32_t *found = rig_bytes(&r, at);
        for (int i = 0; i < COUNT; i++) {
            int b = i / 40, m = b % 9;
            assert_int_equal(found[i], (i % 40 + m * (m - 1) / 2) * 10000 + b);
        }
        rig_close(&r);
    }
    free(y);
}

// The number of instructions that threads execute does not depend on the host threads that run them.
static void counted_the_same(void **state)
{
    (void)state;
    int64_t counts[2];
    for (int k = 0; k < 2; k++) {
        rig r;
        int32_t y[2048] = {0};
        rig_open_with(
            &r,
            "public kernel @k(y: i32[2048] global layout row_major(2048) storage 2048) grid 32, 1, 1 block 64, 1, 1 {\n"
            "let mut n: i32 = 0\nfor i: i32 in 0 to tid.x % 5 {\nn = n + i\n}\ny[bid.x * 64 + tid.x] = n\n}\n",
            (sim_options){.workers = k ? 6 : 1, .seed = (uint64_t)k});
        RIG_CALL(&r, "k", rig_tensor(&r, y, sizeof y, 4));
        counts[k] = sim_instructions(r.device);
        rig_close(&r);
    }
    assert_true(counts[0] > 2048);
    assert_int_equal(counts[0], counts[1]);
}

// ---- ends ----------------------------------------------------------------------------------------------------------

static void budget(void **state)
{
    (void)state;
    rig r;
    int32_t y[32] = {0};
    rig_open_with(&r,
                  "public kernel @k(y: i32[32] global layout row_major(32) storage 32) grid 64, 1, 1 block 32, 1, 1 "
                  "{\nwhile true {\nif tid.x > 40 {\nbreak\n}\n}\n}\n",
                  (sim_options){.workers = 4, .budget = 100000});
    assert_int_equal(RIG_CALL(&r, "k", rig_tensor(&r, y, sizeof y, 4)), SIM_STOPPED);
    rig_expect(&r, HDS0612);
    rig_close(&r);
}

static void budget_of_host_functions(void **state)
{
    (void)state;
    rig r;
    rig_open_with(&r, "public host @h() {\nwhile true {\n}\n}\n", (sim_options){.budget = 100000});
    assert_int_equal(rig_call(&r, "h", NULL, 0), SIM_STOPPED);
    rig_expect(&r, HDS0612);
    rig_close(&r);
}

static void assertions_stop(void **state)
{
    (void)state;
    rig r;
    int32_t y[64] = {0};
    rig_open(&r, "public kernel @k(y: i32[64] global layout row_major(64) storage 64) block 64, 1, 1 {\nassert tid.x "
                 "!= 40, \"not forty\"\ny[tid.x] = 1\n}\n");
    assert_int_equal(RIG_CALL(&r, "k", rig_tensor(&r, y, sizeof y, 4)), SIM_STOPPED);
    rig_expect(&r, HDS0614);
    assert_non_null(strstr(rig_messages(&r), "not forty"));
    rig_close(&r);
}

// What was assumed in vain is said; the kernel goes on.
static void assumptions(void **state)
{
    (void)state;
    rig r;
    int32_t y[32] = {0};
    rig_open(&r, "public kernel @k(y: i32[32] global layout row_major(32) storage 32) block 32, 1, 1 {\nassume tid.x < "
                 "31\ny[tid.x] = 1\n}\n");
    uint64_t at = rig_tensor(&r, y, sizeof y, 4);
    assert_int_equal(RIG_CALL(&r, "k", at), SIM_FOUND);
    assert_int_equal(((int32_t *)rig_bytes(&r, at))[31], 1);
    rig_expect(&r, HDS0619);
    rig_close(&r);
}

static void empty_grid(void **state)
{
    (void)state;
    rig r;
    rig_open(&r,
             "public kernel @k(y: i32[n] global strides(1), n: i32) grid n, 1, 1 block 32, 1, 1 {\ny[tid.x] = 1\n}\n");
    assert_int_equal(RIG_CALL(&r, "k", rig_tensor(&r, NULL, 128, 4), 0), SIM_OK);
    rig_close(&r);
}

// ---- arguments -----------------------------------------------------------------------------------------------------

// Narrow arguments may come with anything above their bits.
static void narrow_arguments(void **state)
{
    (void)state;
    rig r;
    int32_t y[8] = {0};
    rig_open(&r, "public kernel @k(y: i32[8] global layout row_major(8) storage 8, a: i8, b: u8, c: i16, d: bool, e: "
                 "f16, f: i64) block 1, 1, 1 {\n"
                 "y[0] = i32(a)\ny[1] = i32(b)\ny[2] = i32(c)\ny[3] = i32(d)\ny[4] = i32(e)\ny[5] = i32(f >> 33)\n}\n");
    uint64_t at = rig_tensor(&r, y, sizeof y, 4);
    RIG_CALL(&r, "k", at, 0x1280, 0xabff, 0x78000, 1, 0xffff4500, (uint64_t)5 << 33);
    rig_expect_clean(&r);
    const int32_t expected[] = {-128, 255, -32768, 1, 5, 5};
    assert_memory_equal(rig_bytes(&r, at), expected, sizeof expected);
    rig_close(&r);
}

// ---- output --------------------------------------------------------------------------------------------------------

static void printing(void **state)
{
    (void)state;
    rig r;
    rig_open_with(
        &r,
        "public kernel @k(i: i32, u: u32, l: i64, f: f32, d: f64, h: f16, b: i8) grid 2, 1, 1 block 2, 1, 1 {\n"
        "print \"%d %5d|%-5d|%05d %+d\\n\", i, i, i, i, i\nif tid.x == 1 {\nprint \"%u %x %X %lld %llu%%\\n\", u, u, "
        "u, l, l\n}\n"
        "print \"%g %.3f %e %s %c\\n\", f, d, h, \"text\", 65\nprint \"%d\\n\", b\nprint \"end\\n\"\n}\n",
        (sim_options){.print = rig_print});
    float f = 0.1f;
    double d = 2.0 / 3;
    uint64_t f_bits = 0, d_bits = 0;
    memcpy(&f_bits, &f, 4);
    memcpy(&d_bits, &d, 8);
    RIG_CALL(&r, "k", (uint64_t)-7, 0xfffffff0u, (uint64_t)-5000000000, f_bits, d_bits, 0x3e00, 0xff);
    rig_expect_clean(&r);
    const char *numbers = "-7    -7|-7   |-0007 -7\n",
               *mine = "4294967280 fffffff0 FFFFFFF0 -5000000000 18446744068709551616%\n";
    const char *floats = "0.1 0.667 1.500000e+00 text A\n";
    str_buf expected;
    str_buf_init(&expected, &r.mem);
    for (int block = 0; block < 2; block++)
        str_addf(&expected, "%s%s%s%s%s-1\n-1\nend\nend\n", numbers, numbers, mine, floats, floats);
    assert_string_equal(str_text(&r.printed), str_text(&expected));
    rig_close(&r);
}

// ---- host functions ------------------------------------------------------------------------------------------------

static void launching(void **state)
{
    (void)state;
    rig r;
    float y[8] = {0};
    rig_open(
        &r,
        "public kernel @k(y: f32[8] global layout row_major(8) storage 8, v: f32x2, w: f16x4, n: i8) block 1, 1, 1 {\n"
        "y[0] = lane[0](v)\ny[1] = lane[1](v)\ny[2] = f32(lane[0](w))\ny[3] = f32(lane[3](w))\ny[4] = f32(n)\n}\n"
        "public host @h(y: f32[8] global layout row_major(8) storage 8, x: f32) {\n"
        "launch @k(y, vec[f32x2](x, x + 1.0), vec[f16x4](1.0f16, 2.0f16, 3.0f16, f16(x)), -3i8)\n}\n");
    float x = 2.5f;
    uint64_t bits = 0, at = rig_tensor(&r, y, sizeof y, 4);
    memcpy(&bits, &x, 4);
    RIG_CALL(&r, "h", at, bits);
    rig_expect_clean(&r);
    const float expected[] = {2.5f, 3.5f, 1, 2.5f, -3};
    assert_memory_equal(rig_bytes(&r, at), expected, sizeof expected);
    rig_close(&r);
}

// Through functions that call each other recursively, one of which synchronizes blocks: blocks are then interleaved, so
// that one may wait for another.
static void talk_through_functions(void **state)
{
    (void)state;
    rig r;
    uint32_t zero[4] = {0};
    rig_open_with(
        &r,
        ATOMIC
        "device @tell(p: ~global u32) -> u32 {\nreturn !add(p, 1u32)\n}\n"
        "device @again(p: ~global u32, n: i32) -> u32 {\nif n > 0 {\nreturn @again(p, n - 1)\n}\nreturn @tell(p)\n}\n"
        "public kernel @k(c: u32[1] global layout row_major(1) storage 1) grid 2, 1, 1 block 32, 1, 1 {\n"
        "if tid.x == 0 {\nlet mine: u32 = @again(&c[0], 3)\nwhile !add(&c[0], 0u32) < 2u32 {\n}\n}\n}\n",
        (sim_options){.workers = 1, .budget = 1000000});
    uint64_t at = rig_tensor(&r, zero, 4, 4);
    RIG_CALL(&r, "k", at);
    rig_expect_clean(&r);
    rig_close(&r);
}

static void results(void **state)
{
    (void)state;
    rig r;
    uint64_t result = 0;
    rig_open(&r, "public host @h(n: i64) -> i64 {\nlet mut s: i64 = 0i64\nfor i: i64 in 0i64 to n step 1i64 {\ns = s + "
                 "i\n}\nreturn s\n}\n");
    const uint64_t args[] = {100000};
    assert_int_equal(sim_call(r.device, r.program, rig_func(&r, "h"), args, 1, &result), SIM_OK);
    assert_int_equal(result, 4999950000);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_decide),
        cmocka_unit_test(many_blocks),
        cmocka_unit_test(counted_the_same),
        cmocka_unit_test(budget),
        cmocka_unit_test(budget_of_host_functions),
        cmocka_unit_test(assertions_stop),
        cmocka_unit_test(assumptions),
        cmocka_unit_test(empty_grid),
        cmocka_unit_test(narrow_arguments),
        cmocka_unit_test(printing),
        cmocka_unit_test(launching),
        cmocka_unit_test(talk_through_functions),
        cmocka_unit_test(results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
