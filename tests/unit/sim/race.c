// Races, and all the ways to avoid them: each pair of accesses with and without an order between.
#include "world.h"

static const uint64_t shared = SIM_TAG_SHARED;

// Thread [a] writes, thread [b] reads or writes, with nothing in between.
static void unordered_pairs(void **state)
{
    (void)state;
    world s;
    world_open(&s, 2, 2, 256);
    uint64_t x = sim_allocate(s.device, 256, 4, "x"), y = sim_allocate(s.device, 256, 1, "y");
    sim_mark_written(s.device, x, 256);
    sim_mark_written(s.device, y, 256);
    struct {
        uint64_t base;
        const char *code;
    } addresses[] = {{shared, "HDS0605"}, {x, "HDS0606"}, {y, "HDS0606"}};
    int threads[] = {1, 32, 63};
    uint64_t at = 0;
    for (int p = 0; p < 3; p++) {
        for (int t = 0; t < 3; t++, at += 4) {
            uint64_t address = addresses[p].base + at % 256;
            world_store(&s, one(0, 0, address, 4, 1));
            world_load(&s, one(0, threads[t], address, 4, 2));
            WORLD_EXPECT(&s, addresses[p].code);
            world_store(&s, one(0, threads[t], address + 64, 4, 3));
            world_store(&s, one(0, 0, address + 64, 4, 4));
            WORLD_EXPECT(&s, addresses[p].code);
            world_load(&s, one(0, 0, address + 128, 4, 5));
            world_store(&s, one(0, threads[t], address + 128, 4, 6));
            WORLD_EXPECT(&s, addresses[p].code);
            // The same thread again, and reads only.
            world_store(&s, one(0, 0, address + 192, 4, 7));
            world_load(&s, one(0, 0, address + 192, 4, 8));
            world_store(&s, one(0, 0, address + 192, 4, 9));
            WORLD_EXPECT(&s, "");
            sim_order_block_barrier(&s.blocks[0]);
            world_load(&s, one(0, 0, address + 192, 4, 8));
            world_load(&s, one(0, threads[t], address + 192, 4, 8));
            WORLD_EXPECT(&s, "");
        }
    }
    world_close(&s);
}

static void between_blocks(void **state)
{
    (void)state;
    world s;
    world_open(&s, 2, 1, 64);
    uint64_t x = sim_allocate(s.device, 256, 4, "x");
    world_store(&s, one(0, 0, x, 4, 1));
    sim_order_block_barrier(&s.blocks[0]);
    sim_order_block_barrier(&s.blocks[1]);
    world_load(&s, one(1, 0, x, 4, 2));
    WORLD_EXPECT(&s, "HDS0606");
    // Shared memory is another memory in each block.
    world_store(&s, one(0, 0, shared, 4, 3));
    world_store(&s, one(1, 0, shared, 4, 4));
    WORLD_EXPECT(&s, "");
    // A new launch is ordered behind all blocks of the old.
    world_end_launch(&s);
    world_launch(&s, 2, 1, 64);
    world_store(&s, one(1, 0, x, 4, 5));
    WORLD_EXPECT(&s, "");
    world_store(&s, one(0, 0, x, 4, 6));
    WORLD_EXPECT(&s, "HDS0606");
    world_close(&s);
}

static void several_readers(void **state)
{
    (void)state;
    world s;
    world_open(&s, 1, 3, 256);
    act all = {.lanes = UINT32_MAX, .address = shared, .bytes = 4, .site = 1};
    world_store(&s, one(0, 0, shared, 4, 9));
    sim_order_block_barrier(&s.blocks[0]);
    // All lanes read, one of them writes: the others are in the way, until they meet.
    for (int writer = 0; writer < 32; writer += 31) {
        world_load(&s, all);
        world_store(&s, one(0, writer, shared, 4, 2));
        WORLD_EXPECT(&s, "HDS0605");
        sim_order_block_barrier(&s.blocks[0]);
        world_load(&s, all);
        sim_order_warp_barrier(&s.blocks[0].warps[0], UINT32_MAX);
        world_store(&s, one(0, writer, shared, 4, 2));
        WORLD_EXPECT(&s, "");
        sim_order_block_barrier(&s.blocks[0]);
    }
    // Several warps read: a barrier of one warp does not help.
    for (int order = 0; order < 2; order++) {
        all.warp = order;
        world_load(&s, all);
        all.warp = 1 - order;
        world_load(&s, all);
        sim_order_warp_barrier(&s.blocks[0].warps[0], UINT32_MAX);
        world_store(&s, one(0, 0, shared, 4, 2));
        WORLD_EXPECT(&s, "HDS0605");
        sim_order_block_barrier(&s.blocks[0]);
    }
    world_close(&s);
}

static void one_instruction(void **state)
{
    (void)state;
    world s;
    world_open(&s, 1, 2, 256);
    // All lanes write the same value: harmless. Different ones: not.
    world_store(&s, (act){.lanes = UINT32_MAX, .address = shared, .bytes = 4, .site = 1, .value = 7});
    world_store(&s, (act){.warp = 1, .lanes = UINT32_MAX, .address = shared, .bytes = 4, .site = 1, .value = 7});
    WORLD_EXPECT(&s, "");
    sim_order_block_barrier(&s.blocks[0]);
    world_store(&s, (act){.lanes = 6, .address = shared, .bytes = 4, .site = 1, .value = 7, .value_step = 1});
    assert_string_equal(
        world_text(&s),
        "data race in shared memory: thread 2 of block 0 writes byte 0 of shared memory while thread 1 writes it "
        "with nothing in between that orders them; under: writes 9; in block 0, thread 2; the other writes 8; "
        "several threads write different values there: let one of them do it, or give each its own element");
    sim_order_block_barrier(&s.blocks[0]);
    // In a loop without a barrier the next iteration is not ordered either.
    for (uint64_t i = 0; i < 2; i++)
        world_store(&s, (act){.lanes = 3, .address = shared + 64, .bytes = 4, .site = 2, .value = i});
    WORLD_EXPECT(&s, "HDS0605");
    world_close(&s);
}

static void words_of_a_race(void **state)
{
    (void)state;
    world s;
    world_open(&s, 4, 2, 256);
    uint64_t x = sim_allocate(s.device, 256, 4, "x");
    // The message is about the read, in whatever order the accesses ran.
    world_store(&s, (act){.warp = 1, .lanes = 1, .address = x + 24, .bytes = 4, .site = 1, .value = 5});
    world_load(&s, one(0, 6, x + 24, 4, 2));
    assert_string_equal(
        world_text(&s),
        "data race in global memory: thread 6 of block 0 reads x[6] while thread 32 writes it with nothing in "
        "between that orders them; thread 32 wrote 5 here; in block 0, thread 6; insert syncthreads() between the two");
    world_load(&s, one(0, 6, x + 32, 4, 4));
    world_store(&s, (act){.block = 3, .lanes = 2, .address = x + 32, .bytes = 4, .site = 3, .value = 5});
    assert_string_equal(
        world_text(&s),
        "data race in global memory: thread 6 of block 0 reads x[8] while thread 1 of block 3 writes it with nothing "
        "in between that orders them; under: reads 0; thread 1 wrote 5 here; in block 0, thread 6; blocks run in any "
        "order: use atomics, or a launch for each of the two");
    world_close(&s);
}

// ---- orders in a warp ----------------------------------------------------------------------------------------------

static void parts_of_a_warp(void **state)
{
    (void)state;
    world s;
    world_open(&s, 1, 1, 1024);
    sim_warp *w = &s.blocks[0].warps[0];
    world_store(&s, one(0, 0, shared, 4, 1));
    sim_order_warp_barrier(w, 0x3);
    world_load(&s, one(0, 1, shared, 4, 2));
    WORLD_EXPECT(&s, "");
    world_load(&s, one(0, 2, shared, 4, 3));
    WORLD_EXPECT(&s, "HDS0605");
    // What lane 1 learned, lane 2 learns from it.
    world_store(&s, one(0, 0, shared + 4, 4, 1));
    sim_order_warp_barrier(w, 0x3);
    sim_order_warp_barrier(w, 0x6);
    world_load(&s, one(0, 2, shared + 4, 4, 3));
    WORLD_EXPECT(&s, "");
    // What happens behind the barrier is not ordered by it.
    world_store(&s, one(0, 0, shared + 8, 4, 1));
    sim_order_warp_barrier(w, 0x3);
    world_store(&s, one(0, 0, shared + 8, 4, 1));
    world_load(&s, one(0, 1, shared + 8, 4, 2));
    WORLD_EXPECT(&s, "HDS0605");
    // Two lanes read by one access; the writer met only the other.
    world_load(&s, (act){.lanes = 7, .address = shared, .bytes = 4, .site = 4});
    sim_order_warp_barrier(w, 0x3);
    world_store(&s, one(0, 0, shared, 4, 5));
    WORLD_EXPECT(&s, "HDS0605");
    world_close(&s);
}

// ---- orders between warps ------------------------------------------------------------------------------------------

static void named_barriers(void **state)
{
    (void)state;
    world s;
    world_open(&s, 1, 4, 1024);
    sim_warp *w = s.blocks[0].warps;
    for (int i = 0; i < 4; i++)
        world_store(&s, (act){.warp = i,
                              .lanes = UINT32_MAX,
                              .address = shared + 128 * (uint64_t)i,
                              .step = 4,
                              .bytes = 4,
                              .site = 1});
    sim_sync sync = {0};
    sim_order_release(&w[0], UINT32_MAX, &sync);
    sim_order_release(&w[1], UINT32_MAX, &sync);
    sim_order_acquire(&w[0], UINT32_MAX, &sync);
    sim_order_acquire(&w[1], UINT32_MAX, &sync);
    world_load(&s, (act){.warp = 1, .lanes = UINT32_MAX, .address = shared, .step = 4, .bytes = 4, .site = 2});
    world_load(&s, (act){.warp = 0, .lanes = UINT32_MAX, .address = shared + 128, .step = 4, .bytes = 4, .site = 2});
    WORLD_EXPECT(&s, "");
    world_load(&s, (act){.warp = 2, .lanes = UINT32_MAX, .address = shared, .step = 4, .bytes = 4, .site = 3});
    WORLD_EXPECT(&s, "HDS0605");
    world_load(&s, (act){.warp = 0, .lanes = UINT32_MAX, .address = shared + 384, .step = 4, .bytes = 4, .site = 4});
    WORLD_EXPECT(&s, "HDS0605");
    // One lane waits, and tells its warp.
    sim_sync other = {0};
    world_store(&s, one(0, 96, shared + 512, 4, 5));
    sim_order_release(&w[3], 1, &other);
    sim_order_acquire(&w[2], 1, &other);
    world_load(&s, one(0, 64, shared + 512, 4, 6));
    WORLD_EXPECT(&s, "");
    world_load(&s, one(0, 65, shared + 512, 4, 7));
    WORLD_EXPECT(&s, "HDS0605");
    sim_order_warp_barrier(&w[2], 0xf);
    world_load(&s, one(0, 66, shared + 512, 4, 8));
    WORLD_EXPECT(&s, "");
    sim_order_warp_barrier(&w[2], UINT32_MAX);
    world_load(&s, one(0, 95, shared + 512, 4, 9));
    WORLD_EXPECT(&s, "");
    world_close(&s);
}

// A ring of buffers that a producer fills and a consumer empties, with a barrier of each kind for each buffer.
static void rings(void **state)
{
    (void)state;
    for (int fault = 0; fault < 3; fault++) {
        world s;
        world_open(&s, 1, 2, 1024);
        sim_warp *w = s.blocks[0].warps;
        sim_sync full[2] = {{0}}, empty[2] = {{0}};
        for (uint32_t i = 0; i < 8; i++) {
            act a = {
                .lanes = UINT32_MAX, .address = shared + 128 * (i % 2), .step = 4, .bytes = 4, .site = 1, .value = i};
            if (fault != 1 || i != 5)
                sim_order_acquire(&w[0], UINT32_MAX, &empty[i % 2]);
            world_store(&s, a);
            sim_order_release(&w[0], UINT32_MAX, &full[i % 2]);
            if (fault != 2 || i != 4)
                sim_order_acquire(&w[1], UINT32_MAX, &full[i % 2]);
            a.warp = 1;
            a.site = 2;
            a.address += 124;
            a.step = -4;
            world_load(&s, a);
            sim_order_release(&w[1], UINT32_MAX, &empty[i % 2]);
        }
        WORLD_EXPECT(&s, fault ? "HDS0605" : "");
        world_close(&s);
    }
}

static void flags_in_a_block(void **state)
{
    (void)state;
    world s;
    world_open(&s, 1, 2, 1024);
    uint64_t x = sim_allocate(s.device, 1024, 4, "x"), flags[] = {shared + 512, x + 512};
    sim_mark_written(s.device, x, 1024);
    world_store(&s, one(0, 0, shared + 512, 4, 1));
    sim_order_block_barrier(&s.blocks[0]);
    for (int i = 0; i < 2; i++) {
        uint64_t data = (i ? x : shared);
        // Released and acquired.
        world_store(&s, one(0, 0, data, 4, 2));
        world_atomic(&s, one(0, 0, flags[i], 4, 3), true, SIM_RELEASE, SIM_CTA);
        world_atomic(&s, one(0, 40, flags[i], 4, 4), false, SIM_ACQUIRE, SIM_CTA);
        world_load(&s, one(0, 40, data, 4, 5));
        WORLD_EXPECT(&s, "");
        // Written behind the release, or read without an acquire.
        world_store(&s, one(0, 0, data + 4, 4, 6));
        world_load(&s, one(0, 40, data + 4, 4, 7));
        WORLD_EXPECT(&s, i ? "HDS0606" : "HDS0605");
        world_store(&s, one(0, 0, data + 8, 4, 2));
        world_atomic(&s, one(0, 0, flags[i], 4, 3), true, SIM_RELEASE, SIM_CTA);
        world_atomic(&s, one(0, 40, flags[i], 4, 4), false, SIM_RELAXED, SIM_CTA);
        world_load(&s, one(0, 40, data + 8, 4, 5));
        WORLD_EXPECT(&s, i ? "HDS0606" : "HDS0605");
        // Relaxed, with fences.
        world_store(&s, one(0, 0, data + 12, 4, 2));
        world_fence(&s, 0, 0, SIM_CTA);
        world_atomic(&s, one(0, 0, flags[i], 4, 3), true, SIM_RELAXED, SIM_CTA);
        world_atomic(&s, one(0, 40, flags[i], 4, 4), false, SIM_RELAXED, SIM_CTA);
        world_fence(&s, 0, 40, SIM_CTA);
        world_load(&s, one(0, 40, data + 12, 4, 5));
        WORLD_EXPECT(&s, "");
        // The fence stands before the write.
        world_fence(&s, 0, 0, SIM_CTA);
        world_store(&s, one(0, 0, data + 16, 4, 2));
        world_atomic(&s, one(0, 0, flags[i], 4, 3), true, SIM_RELAXED, SIM_CTA);
        world_atomic(&s, one(0, 40, flags[i], 4, 4), false, SIM_RELAXED, SIM_CTA);
        world_fence(&s, 0, 40, SIM_CTA);
        world_load(&s, one(0, 40, data + 16, 4, 5));
        WORLD_EXPECT(&s, i ? "HDS0606" : "HDS0605");
        sim_order_block_barrier(&s.blocks[0]);
    }
    world_close(&s);
}

static void flags_between_blocks(void **state)
{
    (void)state;
    world s;
    world_open(&s, 3, 2, 64);
    uint64_t x = sim_allocate(s.device, 1024, 4, "x"), flag = x + 512;
    sim_mark_written(s.device, x, 1024);
    struct {
        sim_sem give, take;
        sim_reach reach;
        int fences;
        bool is_clean;
    } rows[] = {
        {SIM_RELEASE, SIM_ACQUIRE, SIM_GPU, 0, true},  {SIM_RELEASE, SIM_ACQUIRE, SIM_CTA, 0, false},
        {SIM_RELAXED, SIM_RELAXED, SIM_GPU, 3, true},  {SIM_RELAXED, SIM_RELAXED, SIM_GPU, 1, false},
        {SIM_RELAXED, SIM_RELAXED, SIM_GPU, 2, false}, {SIM_RELAXED, SIM_RELAXED, SIM_GPU, 0, false},
        {SIM_RELEASE, SIM_RELAXED, SIM_GPU, 2, true},  {SIM_RELAXED, SIM_ACQUIRE, SIM_GPU, 1, true},
        {SIM_ACQ_REL, SIM_ACQ_REL, SIM_SYS, 0, true},
    };
    for (uint64_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t data = x + 4 * i, at = flag + 4 * i;
        world_store(&s, one(0, 0, data, 4, 1));
        if (rows[i].fences & 1)
            world_fence(&s, 0, 0, SIM_GPU);
        world_atomic(&s, one(0, 0, at, 4, 2), true, rows[i].give, rows[i].reach);
        world_atomic(&s, one(1, 5, at, 4, 3), rows[i].take == SIM_ACQ_REL, rows[i].take, rows[i].reach);
        if (rows[i].fences & 2)
            world_fence(&s, 1, 5, SIM_GPU);
        world_load(&s, one(1, 5, data, 4, 4));
        const char *codes = world_codes(&s);
        // Atomics of a scope that does not reach the other block race themselves.
        if (rows[i].is_clean)
            assert_string_equal(codes, "");
        else
            assert_true(strstr(codes, "HDS0606"));
    }
    // A fence of the block does not reach another.
    world_store(&s, one(0, 1, x + 200, 4, 1));
    world_fence(&s, 0, 1, SIM_CTA);
    world_atomic(&s, one(0, 1, flag + 200, 4, 2), true, SIM_RELAXED, SIM_GPU);
    world_atomic(&s, one(1, 6, flag + 200, 4, 3), false, SIM_ACQUIRE, SIM_GPU);
    world_load(&s, one(1, 6, x + 200, 4, 4));
    WORLD_EXPECT(&s, "HDS0606");
    world_close(&s);
}

static void volatile_flags(void **state)
{
    (void)state;
    for (int fences = 0; fences < 4; fences++) {
        world s;
        world_open(&s, 2, 1, 64);
        uint64_t x = sim_allocate(s.device, 1024, 4, "x"), flag = x + 512;
        sim_mark_written(s.device, x, 1024);
        world_store(&s, one(0, 0, x, 4, 1));
        if (fences & 1)
            world_fence(&s, 0, 0, SIM_GPU);
        act write = one(0, 0, flag, 4, 2), read = one(1, 0, flag, 4, 3);
        write.is_volatile = read.is_volatile = true;
        world_store(&s, write);
        world_load(&s, read);
        if (fences & 2)
            world_fence(&s, 1, 0, SIM_GPU);
        world_load(&s, one(1, 0, x, 4, 4));
        WORLD_EXPECT(&s, fences == 3 ? "" : "HDS0606");
        // Volatile and plain accesses of the flag itself race.
        world_load(&s, one(1, 1, flag, 4, 5));
        WORLD_EXPECT(&s, "HDS0606");
        world_close(&s);
    }
}

static void atomics_do_not_race(void **state)
{
    (void)state;
    world s;
    world_open(&s, 2, 2, 64);
    uint64_t x = sim_allocate(s.device, 64, 4, "x");
    sim_mark_written(s.device, x, 64);
    for (int block = 0; block < 2; block++) {
        for (int thread = 0; thread < 64; thread++)
            world_atomic(&s, one(block, thread, x, 4, 1), true, SIM_RELAXED, SIM_GPU);
    }
    WORLD_EXPECT(&s, "");
    world_load(&s, one(0, 0, x, 4, 2));
    assert_true(
        strstr(world_text(&s), "thread 0 of block 0 reads x[0] while thread 32 of block 1 atomically writes it"));
    world_load(&s, one(0, 0, x + 4, 4, 3));
    world_atomic(&s, one(0, 1, x + 4, 4, 4), true, SIM_RELAXED, SIM_GPU);
    WORLD_EXPECT(&s, "HDS0606");
    world_atomic(&s, one(0, 1, x + 8, 4, 5), true, SIM_RELAXED, SIM_CTA);
    world_atomic(&s, one(1, 1, x + 8, 4, 6), true, SIM_RELAXED, SIM_CTA);
    WORLD_EXPECT(&s, "HDS0606");
    world_close(&s);
}

// The last block to come adds up what all have written: barrier, fence, counter, barrier.
static void last_block(void **state)
{
    (void)state;
    for (int fault = 0; fault < 3; fault++) {
        world s;
        world_open(&s, WORLD_BLOCKS, 2, 64);
        uint64_t x = sim_allocate(s.device, 4096, 4, "x"), counter = x + 4092;
        sim_mark_written(s.device, counter, 4);
        for (int b = 0; b < WORLD_BLOCKS; b++) {
            for (int warp = 0; warp < 2; warp++)
                world_store(&s, (act){.block = b,
                                      .warp = warp,
                                      .lanes = UINT32_MAX,
                                      .address = x + 256 * (uint64_t)b + 128 * (uint64_t)warp,
                                      .step = 4,
                                      .bytes = 4,
                                      .site = 1});
            if (fault != 1)
                sim_order_block_barrier(&s.blocks[b]);
            if (fault != 2)
                world_fence(&s, b, 0, SIM_GPU);
            world_atomic(&s, one(b, 0, counter, 4, 2), true, SIM_RELAXED, SIM_GPU);
            sim_order_block_barrier(&s.blocks[b]);
        }
        for (int b = 0; b < WORLD_BLOCKS; b++)
            world_load(&s, (act){.block = WORLD_BLOCKS - 1,
                                 .warp = 1,
                                 .lanes = UINT32_MAX,
                                 .address = x + 256 * (uint64_t)b + 128,
                                 .step = 4,
                                 .bytes = 4,
                                 .site = 3});
        WORLD_EXPECT(&s, fault ? "HDS0606" : "");
        // The counter is made ready for the next launch; without fences nothing orders that behind the counting.
        world_store(&s, one(WORLD_BLOCKS - 1, 0, counter, 4, 4));
        WORLD_EXPECT(&s, fault == 2 ? "HDS0606" : "");
        world_close(&s);
    }
}

// Each block hands on what it got from the one before.
static void look_back(void **state)
{
    (void)state;
    world s;
    world_open(&s, WORLD_BLOCKS, 2, 64);
    uint64_t x = sim_allocate(s.device, 4096, 4, "x"), flags = x + 2048;
    sim_mark_written(s.device, flags, 2048);
    for (int b = 0; b < WORLD_BLOCKS; b++) {
        world_store(&s, one(b, 40, x + 4 * (uint64_t)b, 4, 1));
        sim_order_block_barrier(&s.blocks[b]);
        if (b)
            world_atomic(&s, one(b, 0, flags + 4 * (uint64_t)(b - 1), 4, 2), false, SIM_ACQUIRE, SIM_GPU);
        world_atomic(&s, one(b, 0, flags + 4 * (uint64_t)b, 4, 3), true, SIM_RELEASE, SIM_GPU);
    }
    for (int b = 0; b < WORLD_BLOCKS; b++)
        world_load(&s, one(WORLD_BLOCKS - 1, 0, x + 4 * (uint64_t)b, 4, 4));
    WORLD_EXPECT(&s, "");
    // The other threads of the last block know it after a barrier only.
    world_load(&s, one(WORLD_BLOCKS - 1, 1, x, 4, 5));
    WORLD_EXPECT(&s, "HDS0606");
    sim_order_block_barrier(&s.blocks[WORLD_BLOCKS - 1]);
    world_load(&s, one(WORLD_BLOCKS - 1, 50, x, 4, 6));
    WORLD_EXPECT(&s, "");
    world_close(&s);
}

static void spin_locks(void **state)
{
    (void)state;
    world s;
    world_open(&s, 4, 1, 64);
    uint64_t x = sim_allocate(s.device, 64, 4, "x"), lock = x + 32;
    sim_mark_written(s.device, x, 64);
    for (uint32_t i = 0; i < 16; i++) {
        int b = (int)(i * 7 % 4), thread = (int)(i * 5 % 32);
        world_atomic(&s, one(b, thread, lock, 4, 1), true, SIM_ACQUIRE, SIM_GPU);
        world_load(&s, one(b, thread, x, 4, 2));
        world_store(&s, (act){.block = b, .lanes = 1u << thread, .address = x, .bytes = 4, .site = 3, .value = i});
        world_atomic(&s, one(b, thread, lock, 4, 4), true, SIM_RELEASE, SIM_GPU);
    }
    WORLD_EXPECT(&s, "");
    // Unlocked without a release.
    world_atomic(&s, one(0, 0, lock, 4, 1), true, SIM_ACQUIRE, SIM_GPU);
    world_store(&s, one(0, 0, x, 4, 3));
    world_atomic(&s, one(0, 0, lock, 4, 4), true, SIM_RELAXED, SIM_GPU);
    world_atomic(&s, one(1, 0, lock, 4, 1), true, SIM_ACQUIRE, SIM_GPU);
    world_load(&s, one(1, 0, x, 4, 2));
    WORLD_EXPECT(&s, "HDS0606");
    world_close(&s);
}

// ---- widths --------------------------------------------------------------------------------------------------------

static void widths(void **state)
{
    (void)state;
    world s;
    world_open(&s, 2, 2, 1024);
    uint64_t words = sim_allocate(s.device, 1024, 4, "words"), halves = sim_allocate(s.device, 1024, 2, "halves");
    uint64_t addresses[] = {shared, words, halves};
    for (int p = 0; p < 3; p++) {
        const char *code = p ? "HDS0606" : "HDS0605";
        // Threads that write parts of one word do not race; an access to the whole word races with both.
        world_store(&s, one(0, 0, addresses[p], 2, 1));
        world_store(&s, one(0, 40, addresses[p] + 2, 2, 2));
        world_store(&s, one(0, 1, addresses[p] + 8, 4, 3));
        world_store(&s, one(0, 41, addresses[p] + 12, 4, 4));
        for (int i = 0; i < 4; i++)
            world_store(&s, one(0, 20 * i, addresses[p] + 16 + (uint64_t)i, 1, 5));
        WORLD_EXPECT(&s, "");
        world_load(&s, one(0, 7, addresses[p], 4, 6));
        assert_true(strstr(world_codes(&s), code));
        world_load(&s, (act){.lanes = 1 << 8, .address = addresses[p], .bytes = 4, .count = 4, .site = 7});
        assert_true(strstr(world_codes(&s), code));
        world_load(&s, one(0, 9, addresses[p] + 8, 8, 8));
        assert_true(strstr(world_codes(&s), code));
        sim_order_block_barrier(&s.blocks[0]);
        world_load(&s, (act){.lanes = 1 << 8, .address = addresses[p], .bytes = 4, .count = 4, .site = 7});
        WORLD_EXPECT(&s, "");
        world_store(&s, one(0, 50, addresses[p] + 3, 1, 9));
        assert_true(strstr(world_codes(&s), code));
        sim_order_block_barrier(&s.blocks[0]);
    }
    world_close(&s);
}

// ---- asynchronous copies -------------------------------------------------------------------------------------------

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

static void copies_on_their_way(void **state)
{
    (void)state;
    for (int granule = 4; granule >= 1; granule /= 2) {
        world s;
        world_open(&s, 1, 2, 1024);
        sim_warp *w = s.blocks[0].warps;
        uint64_t x = sim_allocate(s.device, 1024, 4, "x");
        sim_mark_written(s.device, x, 512);
        world_store(&s, one(0, 0, shared + 512, granule, 1));
        copy_start(w, chunk(2, 3, shared, x, 16, 16));
        WORLD_EXPECT(&s, "");
        world_load(&s, one(0, 3, shared + 8, 4, 4));
        copy_start(w, chunk(3, 3, shared + 256, x, 16, 16));
        world_store(&s, one(0, 40, shared + 268, 4, 5));
        WORLD_EXPECT(&s, "HDS0609 HDS0609");
        copy_start(w, chunk(6, 3, shared, x, 16, 16));
        WORLD_EXPECT(&s, "HDS0609");
        // It lands for the thread that waits; for others after a barrier.
        copy_land(w, chunk(2, 3, shared, x, 16, 16));
        world_load(&s, one(0, 3, shared, 4, 7));
        WORLD_EXPECT(&s, "");
        world_load(&s, one(0, 4, shared, 4, 8));
        WORLD_EXPECT(&s, "HDS0605");
        sim_order_block_barrier(&s.blocks[0]);
        assert_int_equal(world_load(&s, one(0, 40, shared, 4, 9)), 0);
        WORLD_EXPECT(&s, "");
        // Readers that no barrier held back are overwritten.
        sim_order_block_barrier(&s.blocks[0]);
        world_load(&s, one(0, 33, shared + 4, 4, 10));
        copy_start(w, chunk(11, 3, shared, x, 16, 16));
        WORLD_EXPECT(&s, "HDS0605");
        copy_land(w, chunk(11, 3, shared, x, 16, 16));
        // Zeros for what is not present; what was not written in global memory stays unwritten.
        sim_order_block_barrier(&s.blocks[0]);
        copy_start(w, chunk(12, 3, shared, x + 508, 16, 4));
        WORLD_EXPECT(&s, "HDS0603");
        copy_start(w, chunk(12, 3, shared + 64, x + 496, 16, 4));
        copy_land(w, chunk(12, 3, shared + 64, x + 496, 16, 4));
        copy_start(w, chunk(13, 3, shared + 128, x + 512, 16, 16));
        copy_land(w, chunk(13, 3, shared + 128, x + 512, 16, 16));
        copy_start(w, chunk(14, 3, shared + 192, 0, 16, 0));
        copy_land(w, chunk(14, 3, shared + 192, 0, 16, 0));
        sim_order_block_barrier(&s.blocks[0]);
        assert_int_equal(world_load(&s, one(0, 40, shared + 76, 4, 15)), 0);
        assert_int_equal(world_load(&s, one(0, 40, shared + 128, 4, 15)), 1 << 8);
        assert_int_equal(world_load(&s, one(0, 40, shared + 204, 4, 15)), 0);
        WORLD_EXPECT(&s, "");
        world_close(&s);
    }
}

// ---- limits --------------------------------------------------------------------------------------------------------

// More accesses than there are serials: cells are cleared, and races found again after that.
static void serials_run_out(void **state)
{
    (void)state;
    world s;
    world_open(&s, 1, 2, 1024);
    uint64_t x = sim_allocate(s.device, 1024, 4, "x");
    for (int i = 0; i < 9000000; i++) {
        act a = {.lanes = 1,
                 .address = i & 1 ? x : shared,
                 .bytes = 4,
                 .site = (uint32_t)i % 3000 + 1,
                 .value = (uint64_t)i};
        world_store(&s, a);
    }
    WORLD_EXPECT(&s, "");
    for (int i = 0; i < 2; i++) {
        world_store(&s, one(0, 5, (i ? x : shared) + 64, 4, 1));
        world_load(&s, one(0, 50, (i ? x : shared) + 64, 4, 2));
        WORLD_EXPECT(&s, i ? "HDS0606" : "HDS0605");
    }
    sim_order_block_barrier(&s.blocks[0]);
    world_load(&s, one(0, 50, shared, 4, 2));
    world_load(&s, one(0, 50, x, 4, 2));
    WORLD_EXPECT(&s, "");
    world_close(&s);
}

static void without_races(void **state)
{
    (void)state;
    world s;
    sim_options options = {.no_races = true};
    world_open_with(&s, &options, 1, 2, 1024);
    world_store(&s, one(0, 0, shared, 4, 1));
    world_store(&s, one(0, 40, shared, 4, 2));
    assert_int_equal(world_load(&s, one(0, 40, shared + 4, 4, 2)), 1 << 8);
    sim_sync sync = {0};
    sim_order_release(&s.blocks[0].warps[0], 1, &sync);
    sim_order_acquire(&s.blocks[0].warps[1], 1, &sync);
    world_atomic(&s, one(0, 0, shared, 4, 3), true, SIM_ACQ_REL, SIM_GPU);
    WORLD_EXPECT(&s, "");
    world_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unordered_pairs),     cmocka_unit_test(between_blocks),
        cmocka_unit_test(several_readers),     cmocka_unit_test(one_instruction),
        cmocka_unit_test(words_of_a_race),     cmocka_unit_test(parts_of_a_warp),
        cmocka_unit_test(named_barriers),      cmocka_unit_test(rings),
        cmocka_unit_test(flags_in_a_block),    cmocka_unit_test(flags_between_blocks),
        cmocka_unit_test(volatile_flags),      cmocka_unit_test(atomics_do_not_race),
        cmocka_unit_test(last_block),          cmocka_unit_test(look_back),
        cmocka_unit_test(spin_locks),          cmocka_unit_test(widths),
        cmocka_unit_test(copies_on_their_way), cmocka_unit_test(serials_run_out),
        cmocka_unit_test(without_races),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
