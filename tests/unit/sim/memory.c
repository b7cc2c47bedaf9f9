// Simulated memory: bounds, alignment, initialisation, allocations, copies, limits, and what findings say.
#include "world.h"

static const uint64_t shared = SIM_TAG_SHARED, local = SIM_TAG_LOCAL;

static void values_go_around(void **state)
{
    (void)state;
    world s;
    world_open(&s, 1, 1, 4096);
    uint64_t x = sim_allocate(s.device, 4096, 4, "x"), addresses[] = {x, shared, local};
    for (int p = 0; p < 3; p++) {
        for (int bytes = 1; bytes <= 8; bytes *= 2) {
            int step = addresses[p] == local ? 0 : bytes;
            act a = {.lanes = UINT32_MAX,
                     .address = addresses[p],
                     .step = step,
                     .bytes = bytes,
                     .site = 1,
                     .value = 3,
                     .value_step = 7};
            world_store(&s, a);
            a.site = 2;
            assert_int_equal(world_load(&s, a), 0);
            for (int lane = 0; lane < SIM_LANES; lane++) {
                uint64_t mask = bytes == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * bytes) - 1;
                uint64_t got =
                    bytes == 8 ? sim_u64(&s.blocks[0].warps[0], 8)[lane] : sim_u32(&s.blocks[0].warps[0], 8)[lane];
                assert_int_equal(got, (3 + 7 * (uint64_t)lane) & mask);
            }
            // Other widths of the same memory are other granules.
            sim_order_block_barrier(&s.blocks[0]);
        }
    }
    WORLD_EXPECT(&s, "");
    world_close(&s);
}

static void narrow_values_are_extended(void **state)
{
    (void)state;
    world s;
    world_open(&s, 1, 1, 64);
    sim_warp *w = &s.blocks[0].warps[0];
    world_store(&s, (act){.lanes = 1, .address = shared, .bytes = 4, .site = 1, .value = 0xfffe80ff});
    uint64_t address[SIM_LANES] = {shared};
    sim_access a = {.bytes = 1, .count = 4, .type = DT_I8, .is_signed = true, .site = 2};
    sim_load(w, &a, 1, address, 8);
    assert_int_equal(sim_i32(w, 8)[0], -1);
    assert_int_equal(sim_i32(w, 9)[0], -128);
    a = (sim_access){.bytes = 2, .count = 2, .type = DT_U16, .site = 2};
    sim_load(w, &a, 1, address, 8);
    assert_int_equal(sim_i32(w, 8)[0], 0x80ff);
    a.is_signed = true;
    sim_load(w, &a, 1, address, 8);
    assert_int_equal(sim_i32(w, 8)[0], (int16_t)0x80ff);
    WORLD_EXPECT(&s, "");
    world_close(&s);
}

static void elements_of_less_than_a_byte(void **state)
{
    (void)state;
    world s;
    world_open(&s, 1, 1, 64);
    sim_warp *w = &s.blocks[0].warps[0];
    sim_access a = {.bytes = 1, .bits = 4, .count = 1, .type = DT_I4, .is_signed = true, .site = 1};
    for (uint64_t i = 0; i < 8; i++) {
        uint64_t address[SIM_LANES] = {(shared + i / 2) | i % 2 * 4 << SIM_BIT_SHIFT};
        sim_u32(w, 16)[0] = (uint32_t)i + 4;
        w->poison[16] = 0;
        sim_store(w, &a, 1, address, 16);
    }
    uint64_t address[SIM_LANES] = {shared};
    a.count = 8;
    sim_load(w, &a, 1, address, 8);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(sim_i32(w, 8 + i)[0], (int32_t)((i + 4) ^ 8) - 8);
    // From the middle of a byte on.
    uint64_t odd[SIM_LANES] = {shared | (uint64_t)4 << SIM_BIT_SHIFT}, to[SIM_LANES] = {shared + 16};
    a.count = 3;
    sim_load(w, &a, 1, odd, 8);
    assert_int_equal(sim_i32(w, 9)[0], 6);
    a.count = 2;
    sim_copy(w, &a, 1, to, odd);
    sim_load(w, &a, 1, to, 8);
    assert_int_equal(sim_i32(w, 8)[0], 5);
    assert_int_equal(sim_i32(w, 9)[0], 6);
    WORLD_EXPECT(&s, "");
    world_close(&s);
}

static void bounds(void **state)
{
    (void)state;
    world s;
    world_open(&s, 1, 1, 128);
    uint64_t x = sim_allocate(s.device, 100, 4, "x"), y = sim_allocate(s.device, 64, 4, "y");
    sim_mark_written(s.device, x, 100);
    assert_int_equal(world_load(&s, one(0, 0, x + 96, 4, 1)), 0);
    WORLD_EXPECT(&s, "");
    world_load(&s, one(0, 0, x + 100, 4, 1));
    assert_string_equal(world_text(&s),
                        "a read of 4 bytes is outside of every allocation: directly behind the end of 'x', "
                        "which has 100 bytes; in block 0, thread 0; check the index arithmetic, or guard "
                        "the access with a condition");
    world_load(&s, one(0, 0, x + 96, 8, 1));
    WORLD_EXPECT(&s, "HDS0602");
    world_store(&s, one(0, 3, y - 8, 4, 1));
    assert_true(strstr(world_text(&s),
                       "a write of 4 bytes is outside of every allocation: 8 bytes before the beginning of 'y'"));
    world_load(&s, one(0, 0, 0, 4, 1));
    assert_true(strstr(world_text(&s), "the pointer is null"));
    world_load(&s, one(0, 0, shared + 128, 4, 1));
    world_load(&s, one(0, 0, shared - 4, 4, 2));
    world_load(&s, one(0, 0, local + WORLD_LOCAL, 4, 3));
    world_load(&s, one(0, 0, shared + ((uint64_t)1 << 32), 4, 4));
    WORLD_EXPECT(&s, "HDS0602 HDS0602 HDS0602 HDS0602");
    sim_order_block_barrier(&s.blocks[0]);
    // The lanes that are outside read zeros, the others read what is there.
    sim_warp *w = &s.blocks[0].warps[0];
    world_store(&s, (act){.lanes = UINT32_MAX >> 7, .address = x, .step = 4, .bytes = 4, .site = 1, .value = 5});
    world_load(&s, (act){.lanes = UINT32_MAX, .address = x, .step = 4, .bytes = 4, .site = 2});
    assert_int_equal(w->poison[8], 0);
    assert_int_equal(sim_u32(w, 8)[24], 5);
    assert_int_equal(sim_u32(w, 8)[25], 0);
    WORLD_EXPECT(&s, "HDS0602");
    world_close(&s);
}

static void lanes_in_several_spaces(void **state)
{
    (void)state;
    world s;
    world_open(&s, 1, 1, 256);
    sim_warp *w = &s.blocks[0].warps[0];
    uint64_t x = sim_allocate(s.device, 64, 4, "x"), address[SIM_LANES];
    sim_access a = {.bytes = 4, .count = 1, .type = DT_U32, .site = 1};
    for (int lane = 0; lane < SIM_LANES; lane++) {
        uint64_t addresses[] = {x + 4 * (uint64_t)(lane / 4), shared + 4 * (uint64_t)lane, local, 0};
        address[lane] = addresses[lane % 4];
        sim_u32(w, 16)[lane] = (uint32_t)lane;
    }
    sim_store(w, &a, UINT32_MAX, address, 16);
    WORLD_EXPECT(&s, "HDS0602");
    sim_load(w, &a, UINT32_MAX, address, 8);
    WORLD_EXPECT(&s, "HDS0602");
    for (int lane = 0; lane < SIM_LANES; lane++)
        assert_int_equal(sim_u32(w, 8)[lane], lane % 4 == 3 ? 0 : lane);
    world_close(&s);
}

static void alignment(void **state)
{
    (void)state;
    world s;
    world_open(&s, 1, 1, 128);
    uint64_t x = sim_allocate(s.device, 128, 4, "x");
    sim_mark_written(s.device, x, 128);
    world_load(&s, (act){.lanes = 1, .address = x + 8, .bytes = 4, .count = 4, .site = 1});
    assert_true(
        strstr(world_text(&s), "a read of 16 bytes needs an address that is a multiple of 16: found byte 8 of 'x'"));
    world_load(&s, (act){.lanes = 1, .address = x + 16, .bytes = 4, .count = 4, .site = 1});
    world_load(&s, (act){.lanes = 1, .address = x + 8, .bytes = 4, .count = 2, .site = 1});
    WORLD_EXPECT(&s, "");
    world_store(&s, one(0, 0, shared + 2, 4, 1));
    WORLD_EXPECT(&s, "HDS0603");
    world_close(&s);
}

static void poison(void **state)
{
    (void)state;
    world s;
    world_open(&s, 1, 2, 256);
    sim_warp *w = &s.blocks[0].warps[0];
    uint64_t x = sim_allocate(s.device, 256, 4, "x"), address[SIM_LANES];
    world_store(&s, (act){.lanes = 0xffff, .address = shared, .step = 4, .bytes = 4, .site = 1});
    sim_order_block_barrier(&s.blocks[0]);
    assert_int_equal(world_load(&s, (act){.lanes = UINT32_MAX, .address = shared, .step = 4, .bytes = 4, .site = 2}),
                     0xffff0000);
    assert_int_equal(w->why[8], 2);
    WORLD_EXPECT(&s, "");
    // Poison may be stored to shared memory, and comes back; to global memory it must not go.
    sim_access a = {.bytes = 4, .count = 1, .type = DT_U32, .site = 3};
    for (int lane = 0; lane < SIM_LANES; lane++)
        address[lane] = shared + 128 + 4 * (uint64_t)lane;
    sim_store(w, &a, UINT32_MAX, address, 8);
    assert_int_equal(
        world_load(&s, (act){.lanes = UINT32_MAX, .address = shared + 128, .step = 4, .bytes = 4, .site = 4}),
        0xffff0000);
    for (int lane = 0; lane < SIM_LANES; lane++)
        address[lane] = x + 4 * (uint64_t)lane;
    a.site = 5;
    sim_store(w, &a, UINT32_MAX, address, 8);
    assert_string_equal(world_text(&s),
                        "a value stored to global memory depends on uninitialised memory; under: x[16]; "
                        "this read an element that was never written; in block 0, thread 16; 16 times in all");
    // One fault is one finding: the bytes count as written now.
    assert_true(sim_is_initialised(s.device, x, 128, NULL));
    int64_t first = 0;
    assert_false(sim_is_initialised(s.device, x, 200, &first));
    assert_int_equal(first, 128);
    // Private memory, byte by byte.
    world_store(&s, one(0, 0, local + 4, 2, 6));
    assert_int_equal(world_load(&s, one(0, 0, local + 4, 4, 7)), 1);
    assert_int_equal(world_load(&s, one(0, 0, local + 4, 2, 7)), 0);
    assert_int_equal(world_load(&s, one(0, 1, local + 4, 2, 7)), 2);
    world_atomic(&s, one(0, 0, x + 200, 4, 8), true, SIM_RELAXED, SIM_GPU);
    WORLD_EXPECT(&s, "HDS0604");
    world_atomic(&s, one(0, 0, x + 200, 4, 9), true, SIM_RELAXED, SIM_GPU);
    WORLD_EXPECT(&s, "");
    world_close(&s);
}

static void bytes_of_models(void **state)
{
    (void)state;
    world s;
    world_open(&s, 1, 1, 1024);
    sim_warp *w = &s.blocks[0].warps[0];
    uint8_t in[SIM_LANES][16], out[SIM_LANES][16];
    uint16_t bad[SIM_LANES] = {[3] = 0x00ff}, got[SIM_LANES];
    uint64_t address[SIM_LANES];
    for (int lane = 0; lane < SIM_LANES; lane++) {
        address[lane] = shared + 16 * (uint64_t)(31 - lane);
        memset(in[lane], lane + 1, 16);
    }
    sim_store_bytes(w, 1, UINT32_MAX, address, 16, in, bad);
    sim_load_bytes(w, 2, UINT32_MAX, address, 16, out, got);
    assert_memory_equal(in, out, sizeof in);
    assert_int_equal(got[3], 0x00ff);
    assert_int_equal(got[4], 0);
    address[5] += 8;
    sim_load_bytes(w, 2, 1 << 5 | 1 << 6, address, 16, out, got);
    assert_int_equal(out[5][0], 0);
    assert_int_equal(out[6][0], 7);
    WORLD_EXPECT(&s, "HDS0603");
    world_close(&s);
}

static void allocations(void **state)
{
    (void)state;
    world s;
    sim_options options = {.memory_limit = 10000, .max_findings = 10};
    world_open_with(&s, &options, 1, 1, 64);
    uint64_t x = sim_allocate(s.device, 8000, 4, "x");
    assert_int_not_equal(x, 0);
    assert_int_equal(sim_allocate(s.device, 3000, 4, "y"), 0);
    assert_int_equal(sim_allocate(s.device, -1, 4, "y"), 0);
    assert_int_equal(sim_allocate(s.device, INT64_MAX, 4, "y"), 0);
    int64_t bytes = 0;
    assert_non_null(sim_bytes(s.device, x + 7000, &bytes));
    assert_int_equal(bytes, 1000);
    assert_null(sim_bytes(s.device, x + 9000, &bytes));
    sim_release(s.device, x);
    world_load(&s, one(0, 0, x, 4, 1));
    assert_true(strstr(world_text(&s), "a read of 4 bytes accesses 'x' after it was freed"));
    assert_null(sim_bytes(s.device, x, &bytes));
    uint64_t table = sim_allocate(s.device, 3000, 4, "table");
    assert_int_not_equal(table, x);
    sim_mark_written(s.device, table, 3000);
    sim_memory_protect(s.device, table);
    world_load(&s, one(0, 0, table, 4, 1));
    WORLD_EXPECT(&s, "");
    world_store(&s, one(0, 0, table, 4, 1));
    assert_true(strstr(world_text(&s), "thread 0 of block 0 writes to 'table', which is read-only"));
    int64_t simulated, shadow;
    sim_memory_use(s.device, &simulated, &shadow);
    assert_in_range(simulated, 8000, 9000);
    assert_true(shadow <= 12 * (simulated + 64));
    world_close(&s);
}

static void numbers_come_again(void **state)
{
    (void)state;
    world s;
    world_open(&s, 1, 1, 64);
    uint64_t kept = sim_allocate(s.device, 16, 4, "kept"), last = 0;
    for (int i = 0; i < 140000; i++) {
        last = sim_allocate(s.device, 1, 1, "x");
        assert_true(last && last != kept);
        sim_release(s.device, last);
    }
    assert_non_null(sim_bytes(s.device, kept, NULL));
    world_close(&s);
}

static void without_checks(void **state)
{
    (void)state;
    world s;
    sim_options options = {.no_checks = true};
    world_open_with(&s, &options, 1, 2, 128);
    uint64_t x = sim_allocate(s.device, 128, 4, "x");
    act a = {.lanes = UINT32_MAX, .address = x + 64, .step = 4, .bytes = 4, .site = 1, .value = 9};
    world_store(&s, a);
    assert_int_equal(world_load(&s, a), 0);
    assert_int_equal(sim_u32(&s.blocks[0].warps[0], 8)[15], 9);
    assert_int_equal(sim_u32(&s.blocks[0].warps[0], 8)[16], 0);
    a.address = 0x123456789abcdef0;
    world_store(&s, a);
    world_load(&s, a);
    world_atomic(&s, one(0, 0, shared, 4, 1), true, SIM_ACQ_REL, SIM_GPU);
    world_atomic(&s, one(0, 0, x, 4, 1), true, SIM_ACQ_REL, SIM_GPU);
    assert_null(sim_atomic(&s.blocks[0].warps[0], 1, 0, x + 128, 4, true, SIM_RELAXED, SIM_GPU));
    world_fence(&s, 0, 0, SIM_GPU);
    sim_order_block_barrier(&s.blocks[0]);
    sim_order_warp_barrier(&s.blocks[0].warps[0], 0xff);
    sim_sync sync = {0};
    sim_order_release(&s.blocks[0].warps[0], 1, &sync);
    sim_order_acquire(&s.blocks[0].warps[1], 1, &sync);
    WORLD_EXPECT(&s, "");
    world_close(&s);
}

static void wide_accesses(void **state)
{
    (void)state;
    world s;
    world_open(&s, 1, 1, 64);
    sim_warp *w = &s.blocks[0].warps[0];
    uint64_t x = sim_allocate(s.device, 8192, 8, "x"), y = sim_allocate(s.device, 8192, 2, "y"), to[SIM_LANES],
             from[SIM_LANES];
    for (int lane = 0; lane < SIM_LANES; lane++) {
        from[lane] = x + 128 * (uint64_t)lane;
        to[lane] = y + 128 * (uint64_t)lane;
    }
    world_store(&s, (act){.lanes = UINT32_MAX,
                          .address = x,
                          .step = 128,
                          .bytes = 8,
                          .count = 16,
                          .site = 1,
                          .value = 1,
                          .value_step = 1});
    sim_access a = {.bytes = 8, .count = 16, .type = DT_U64, .site = 2};
    sim_copy(w, &a, UINT32_MAX, to, from);
    a.count = 1;
    for (int lane = 0; lane < SIM_LANES; lane++)
        to[lane] += 120;
    sim_load(w, &a, UINT32_MAX, to, 8);
    assert_int_equal(w->poison[8], 0);
    assert_int_equal(sim_u64(w, 8)[31], 32);
    WORLD_EXPECT(&s, "");
    world_close(&s);
}

static sim_field field_of(uint64_t p)
{
    return (sim_field){p, p + 1};
}
// A copy of a lane, whose addresses are multiples of its size.
static sim_async_chunk chunk(uint32_t site, uint32_t lane, uint64_t to, uint64_t from, int bytes, int present)
{
    return (sim_async_chunk){
        .site = site, .lane = lane, .to = to, .from = from, .bytes = bytes, .present = present, .align = bytes};
}

static void copy_start(sim_warp *w, sim_async_chunk p)
{
    sim_async_start(w, &p);
}

static void copy_land(sim_warp *w, sim_async_chunk p)
{
    sim_async_land(w, &p);
}

static void field_values_go_along(void **state)
{
    (void)state;
    world s;
    sim_options options = {.field = true};
    world_open_with(&s, &options, 1, 1, 256);
    sim_warp *w = &s.blocks[0].warps[0];
    uint64_t x = sim_allocate(s.device, 256, 2, "x"), at[SIM_LANES] = {shared}, to[SIM_LANES] = {x + 8};
    assert_int_equal(sim_memory_field(w, 0, shared + 8)->p, SIM_FIELD_NONE);
    assert_null(sim_memory_field(w, 0, shared + 256));
    assert_null(sim_memory_field(w, 0, 0));
    // Two halves stored as one word are read as halves.
    sim_field_of(w, 16, 0)[0] = field_of(100);
    sim_field_of(w, 16, 0)[2] = field_of(200);
    sim_access a = {.bytes = 4, .count = 1, .type = DT_U32, .site = 1};
    sim_store(w, &a, 1, at, 16);
    a = (sim_access){.bytes = 2, .count = 2, .type = DT_F16, .site = 1};
    sim_load(w, &a, 1, at, 20);
    assert_int_equal(sim_field_of(w, 20, 0)[0].p, 100);
    assert_int_equal(sim_field_of(w, 21, 0)[0].p, 200);
    sim_copy(w, &a, 1, to, at);
    assert_int_equal(sim_memory_field(w, 0, x + 10)->q, 201);
    assert_int_equal(sim_memory_field(w, 0, x + 9)->q, SIM_FIELD_NONE);
    copy_start(w, chunk(2, 0, shared + 64, x + 8, 8, 4));
    copy_land(w, chunk(2, 0, shared + 64, x + 8, 8, 4));
    assert_int_equal(sim_memory_field(w, 0, shared + 66)->p, 200);
    assert_int_equal(sim_memory_field(w, 0, shared + 68)->p, SIM_FIELD_NONE);
    WORLD_EXPECT(&s, "");
    world_close(&s);
}

static void red_zones(void **state)
{
    (void)state;
    world s;
    world_open(&s, 1, 1, 64);
    world_end_launch(&s);
    ir_var a = {.name = "a"}, b = {.name = "b"};
    sim_shared_tensor tensors[] = {{&a, 0, 40, 0, 4}, {&b, 64, 64, 0, 4}};
    for (int i = 0; i < 2; i++)
        VEC_PUSH(&s.mem, &s.code.shared, tensors[i]);
    s.code.shared_bytes = 144;
    world_launch(&s, 1, 1, 256);
    world_store(&s, (act){.lanes = 0x3ff, .address = shared, .step = 4, .bytes = 4, .site = 1});
    world_store(&s, (act){.lanes = 0xffff, .address = shared + 64, .step = 4, .bytes = 4, .site = 1});
    world_store(&s, (act){.lanes = 0xffff, .address = shared + 144, .step = 4, .bytes = 4, .site = 1});
    WORLD_EXPECT(&s, "");
    world_load(&s, one(0, 10, shared + 40, 4, 1));
    assert_true(
        strstr(world_text(&s),
               "a read of 4 bytes is outside of every allocation: directly behind the end of 'a', which has 40 bytes"));
    world_store(&s, one(0, 10, shared + 132, 4, 1));
    assert_true(strstr(world_text(&s), "4 bytes behind the end of 'b'"));
    // The zones stay when granules become smaller, and at both ends of a wide access.
    world_load(&s, one(0, 10, shared + 41, 1, 1));
    WORLD_EXPECT(&s, "HDS0602");
    world_load(&s, (act){.lanes = 1, .address = shared + 32, .bytes = 4, .count = 4, .site = 1});
    assert_true(strstr(world_text(&s), "it begins in 'a', 8 bytes before its end"));
    world_close(&s);
}

static void findings_are_kept_once(void **state)
{
    (void)state;
    world s;
    sim_options options = {.max_findings = 3};
    world_open_with(&s, &options, 2, 1, 64);
    for (uint32_t site = 100; site > 0; site--)
        world_load(&s, one(1, 0, 0, 4, site));
    assert_int_equal(sim_finding_count(s.device), 3);
    WORLD_EXPECT(&s, "HDS0602 HDS0602 HDS0602");
    assert_int_equal(sim_finding_count(s.device), 0);
    world_load(&s, one(1, 7, 0, 4, 1));
    world_load(&s, one(0, 5, 0, 4, 1));
    world_load(&s, one(0, 6, 0, 4, 1));
    assert_int_equal(sim_finding_count(s.device), 1);
    assert_true(strstr(world_text(&s), "in block 0, thread 5; 3 times in all"));
    world_close(&s);
}

static void words(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, NULL);
    struct {
        dtype type;
        uint64_t bits;
        const char *text;
    } rows[] = {
        {DT_F32, 0x3fc00000, "1.5"},
        {DT_F16, 0x3c00, "1.0"},
        {DT_I8, 0xff, "-1"},
        {DT_U64, UINT64_MAX, "18446744073709551615"},
        {DT_BOOL, 1, "True"},
        {DT_F64, 0x7ff0000000000000, "inf"},
        {DT_C64, 0x3f800000bf800000, "(-1.0 + 1.0j)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        str_buf out;
        str_buf_init(&out, &a);
        sim_value_print(rows[i].type, rows[i].bits, &out);
        assert_string_equal(str_text(&out), rows[i].text);
    }
    sim_launch l = {.shape = {.grid = {4, 4, 1}, .block = {8, 4, 2}}};
    sim_actor actor = {.block = 6, .thread = 43, .warp = 1};
    str_buf out;
    str_buf_init(&out, &a);
    sim_actor_print(&l, &actor, &out);
    assert_string_equal(str_text(&out), "block (2, 1, 0), thread (3, 1, 1)");
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_go_around),
        cmocka_unit_test(narrow_values_are_extended),
        cmocka_unit_test(elements_of_less_than_a_byte),
        cmocka_unit_test(bounds),
        cmocka_unit_test(lanes_in_several_spaces),
        cmocka_unit_test(alignment),
        cmocka_unit_test(poison),
        cmocka_unit_test(bytes_of_models),
        cmocka_unit_test(allocations),
        cmocka_unit_test(numbers_come_again),
        cmocka_unit_test(without_checks),
        cmocka_unit_test(wide_accesses),
        cmocka_unit_test(field_values_go_along),
        cmocka_unit_test(red_zones),
        cmocka_unit_test(findings_are_kept_once),
        cmocka_unit_test(words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
