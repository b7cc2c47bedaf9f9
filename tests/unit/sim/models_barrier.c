// Barriers of the block and mbarriers: waiting, waking, results, findings.
#include "hand.h"

#include "sim/barrier.h"

static const char module[] = "hidet.lang.cuda";

static sim_use *plain(hand *h, const char *name)
{
    sim_use *use = hand_use(h, module, name, arena_printf(&h->mem, "__%s()", name), (hand_operand){0}, NULL, NULL);
    use->site = 5;
    return use;
}

static sim_use *voting(hand *h, const char *name, dtype result)
{
    sim_use *use = hand_use(h, module, name, arena_printf(&h->mem, "__%s({predicate})", name),
                            (hand_operand){"result", result, 1}, HAND_OPERANDS({"predicate", DT_BOOL, 1}), NULL);
    use->site = 5;
    return use;
}

static sim_step step(hand *h, int warp, const sim_use *use)
{
    sim_warp *w = &h->block.warps[warp];
    sim_step s = hand_run(w, use);
    if (s == SIM_WAIT) {
        w->state = SIM_WAIT;
        w->waiting_for = use;
        w->waiting_lanes = w->active;
    }
    return s;
}

static bool is_waiting(const hand *h, int warp)
{
    return h->block.warps[warp].state == SIM_WAIT;
}

static void all_meet(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 3, false);
    sim_use *use = plain(&h, "syncthreads");
    for (int trial = 0; trial < 3; trial++) {
        assert_int_equal(step(&h, 1, use), SIM_WAIT);
        assert_int_equal(step(&h, 0, use), SIM_WAIT);
        str_buf text;
        str_buf_init(&text, &h.mem);
        sim_barrier_describe(&h.block.warps[0], &text);
        assert_string_equal(str_text(&text), "syncthreads(), which 2 of 3 warps have reached");
        assert_int_equal(step(&h, 2, use), SIM_NEXT);
        assert_false(is_waiting(&h, 0) || is_waiting(&h, 1));
    }
    assert_int_equal(sim_finding_count(h.device), 0);
    // A warp ends while others wait for it.
    step(&h, 0, use);
    step(&h, 2, use);
    h.block.warps[1].state = SIM_END;
    sim_barrier_warp_ended(&h.block.warps[1]);
    assert_true(h.launch.halted);
    assert_int_equal(sim_finding_count(h.device), 1);
    hand_close(&h);
}

static void votes(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 2, false);
    sim_warp *w = h.block.warps;
    w[1].full = w[1].active = 0xff; // 40 threads
    static const struct {
        const char *name;
        dtype t;
        uint32_t held[2];
        uint64_t want;
    } rows[] = {
        {"syncthreads_and", DT_BOOL, {UINT32_MAX, 0xff}, 1}, {"syncthreads_and", DT_BOOL, {UINT32_MAX, 0xfe}, 0},
        {"syncthreads_or", DT_BOOL, {0, 0x80}, 1},           {"syncthreads_or", DT_BOOL, {0, 0}, 0},
        {"syncthreads_count", DT_I32, {0xf, 0x81}, 6},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sim_use *use = voting(&h, rows[i].name, rows[i].t);
        for (int k = 0; k < 2; k++)
            for (int lane = 0; lane < 32; lane++)
                hand_set(&w[k], &use->operands[0], 0, lane, rows[i].held[k] >> lane & 1);
        step(&h, (int)i % 2, use);
        step(&h, 1 - (int)i % 2, use);
        assert_true(hand_get(&w[0], &use->result, 0, 31) == rows[i].want);
        assert_true(hand_get(&w[1], &use->result, 0, 7) == rows[i].want);
    }
    sim_use *use = voting(&h, "syncthreads_or", DT_BOOL);
    w[1].poison[use->operands[0].cell] = 1;
    step(&h, 0, use);
    step(&h, 1, use);
    assert_int_equal(w[0].poison[use->result.cell], UINT32_MAX);
    hand_close(&h);
}

static void divergence(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 2, false);
    h.block.warps[0].active = 0xffff;
    assert_int_equal(step(&h, 0, plain(&h, "syncthreads")), SIM_HALT);
    assert_int_equal(sim_finding_count(h.device), 1);
    hand_close(&h);

    hand_open(&h, 2, false);
    sim_use *a = plain(&h, "syncthreads"), *b = plain(&h, "syncthreads");
    assert_int_equal(step(&h, 0, a), SIM_WAIT);
    b->site = 6; // another statement
    assert_int_equal(step(&h, 1, b), SIM_HALT);
    assert_int_equal(sim_finding_count(h.device), 1);
    hand_close(&h);

    hand_open(&h, 2, false);
    h.block.warps[0].active = 0xffff;
    h.block.warps[0].frames.at[0].returned = 0xffff0000; // the others have ended
    assert_int_equal(step(&h, 0, plain(&h, "syncthreads")), SIM_HALT);
    assert_int_equal(sim_finding_count(h.device), 1);
    hand_close(&h);
}

// ---- named barriers ------------------------------------------------------------------------------------------------

static sim_use *named(hand *h, const char *name, int id, int threads)
{
    const char *text =
        strcmp(name, "barrier_arrive") == 0 ? "bar.arrive {id}, {threads};" : "bar.sync {id}, {threads};";
    sim_use *use = hand_use(h, module, name, text, (hand_operand){0},
                            HAND_OPERANDS({"id", DT_I32, 1}, {"threads", DT_I32, 1}), NULL);
    for (int i = 0; i < h->block.warp_count; i++) {
        hand_set_all(&h->block.warps[i], &use->operands[0], 0, (uint64_t)id);
        hand_set_all(&h->block.warps[i], &use->operands[1], 0, (uint64_t)threads);
    }
    return use;
}

static void named_barriers(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 4, false);
    sim_use *sync = named(&h, "barrier_sync", 3, 96);
    assert_int_equal(step(&h, 0, sync), SIM_WAIT);
    assert_int_equal(step(&h, 3, sync), SIM_WAIT);
    str_buf text;
    str_buf_init(&text, &h.mem);
    sim_barrier_describe(&h.block.warps[3], &text);
    assert_string_equal(str_text(&text), "barrier 3, where 64 of 96 threads have arrived");
    assert_int_equal(step(&h, 1, named(&h, "barrier_arrive", 3, 96)),
                     SIM_NEXT); // does not wait, and lets the others go
    assert_false(is_waiting(&h, 0) || is_waiting(&h, 3));
    assert_int_equal(step(&h, 2, named(&h, "barrier_arrive", 3, 64)),
                     SIM_NEXT); // the next phase may have another count
    assert_int_equal(step(&h, 0, named(&h, "barrier_sync_unaligned", 3, 64)), SIM_NEXT);
    assert_int_equal(sim_finding_count(h.device), 0);
    hand_close(&h);
}

// Both branches of a warp come to the barrier: the first may continue when no other warp can.
static void in_parts(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 2, false);
    sim_use *sync = named(&h, "barrier_sync_unaligned", 3, 64);
    sim_warp *w = h.block.warps;
    assert_int_equal(step(&h, 1, sync), SIM_WAIT);
    assert_false(sim_barrier_relax(&h.block));
    w[0].active = 0x55555555;
    assert_int_equal(step(&h, 0, sync), SIM_WAIT);
    assert_true(sim_barrier_relax(&h.block));
    assert_false(is_waiting(&h, 0));
    assert_true(is_waiting(&h, 1));
    w[0].active = 0xaaaaaaaa;
    assert_int_equal(step(&h, 0, sync), SIM_NEXT);
    assert_false(is_waiting(&h, 1));
    hand_close(&h);
}

static void inconsistent(void **state)
{
    (void)state;
    static const int wrong[][2] = {{16, 64}, {-1, 64}, {1, 0}, {1, 48}, {1, 160}};
    hand h;
    for (int i = 0; i < 5; i++) {
        hand_open(&h, 4, false);
        assert_int_equal(step(&h, 0, named(&h, "barrier_sync", wrong[i][0], wrong[i][1])), SIM_HALT);
        assert_int_equal(sim_finding_count(h.device), 1);
        hand_close(&h);
    }
    hand_open(&h, 4, false);
    step(&h, 0, named(&h, "barrier_sync", 2, 64));
    assert_int_equal(step(&h, 1, named(&h, "barrier_sync", 2, 96)), SIM_HALT);
    assert_int_equal(sim_finding_count(h.device), 1);
    hand_close(&h);

    hand_open(&h, 4, false);
    step(&h, 0, plain(&h, "syncthreads"));
    assert_int_equal(step(&h, 1, named(&h, "barrier_sync", 0, 64)), SIM_HALT);
    hand_close(&h);
}

// ---- syncwarp ------------------------------------------------------------------------------------------------------

static void syncwarp(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    sim_use *use = hand_use(&h, module, "syncwarp", "__syncwarp({mask})", (hand_operand){0},
                            HAND_OPERANDS({"mask", DT_U32, 1}), NULL);
    use->site = 3;
    hand_set_all(w, &use->operands[0], 0, UINT32_MAX);
    assert_int_equal(hand_run(w, use), SIM_NEXT);
    w->active = 0xff;
    hand_set_all(w, &use->operands[0], 0, 0xff);
    assert_int_equal(hand_run(w, use), SIM_NEXT);
    assert_int_equal(sim_finding_count(h.device), 0);
    hand_set_all(w, &use->operands[0], 0, UINT32_MAX);
    hand_run(w, use);
    assert_int_equal(sim_finding_count(h.device), 1);
    hand_close(&h);
}

// ---- mbarriers -----------------------------------------------------------------------------------------------------

static const uint64_t bar = SIM_TAG_SHARED | 64;

static sim_use *mbarrier(hand *h, const char *name, const char *other, uint64_t value, dtype result)
{
    dtype t = strcmp(other, "state") == 0 ? DT_U64 : DT_I32;
    const hand_operand two[] = {{"bar", DT_NONE, 1}, {other, t, 1}, {0}}, one[] = {{"bar", DT_NONE, 1}, {0}};
    sim_use *use = hand_use(h, "hidet.lang.mbarrier", name, arena_printf(&h->mem, "mbarrier.%s [{bar}];", name),
                            (hand_operand){"result", result, result ? 1 : 0}, *other ? two : one, NULL);
    for (int i = 0; i < h->block.warp_count; i++) {
        hand_set_all(&h->block.warps[i], &use->operands[0], 0, bar);
        if (*other)
            hand_set_all(&h->block.warps[i], &use->operands[1], 0, value);
    }
    return use;
}

static void make(hand *h, uint64_t count)
{
    sim_warp *w = &h->block.warps[0];
    w->active = 1;
    hand_run(w, mbarrier(h, "init", "count", count, DT_NONE));
    w->active = UINT32_MAX;
    sim_order_block_barrier(&h->block);
}

static void phases(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 2, false);
    make(&h, 64);
    sim_use *arrive = mbarrier(&h, "arrive", "", 0, DT_U64);
    sim_use *wait[2] = {mbarrier(&h, "wait", "parity", 0, DT_NONE), mbarrier(&h, "try_wait", "parity", 1, DT_BOOL)};
    assert_int_equal(step(&h, 1, wait[1]), SIM_NEXT); // the phase before the first counts as complete
    for (uint64_t phase = 0; phase < 4; phase++) {
        // Operands of different uses share cells.
        for (int i = 0; i < 2; i++)
            hand_set_all(&h.block.warps[i], &arrive->operands[0], 0, bar);
        assert_int_equal(step(&h, 0, arrive), SIM_NEXT);
        assert_true(hand_get(&h.block.warps[0], &arrive->result, 0, 31) == phase);
        hand_set_all(&h.block.warps[0], &wait[phase & 1]->operands[1], 0, phase & 1);
        assert_int_equal(step(&h, 0, wait[phase & 1]), SIM_WAIT);
        assert_int_equal(step(&h, 1, arrive), SIM_NEXT);
        assert_false(is_waiting(&h, 0));
    }
    assert_int_equal(sim_finding_count(h.device), 0);
    hand_close(&h);
}

static void bytes_and_states(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 2, false);
    make(&h, 1);
    sim_warp *w = h.block.warps;
    sim_use *expect = mbarrier(&h, "arrive_expect_tx", "bytes", 64, DT_U64);
    w[0].active = 1;
    assert_int_equal(hand_run(&w[0], expect), SIM_NEXT);
    w[0].active = UINT32_MAX;
    sim_use *wait = mbarrier(&h, "wait", "parity", 0, DT_NONE);
    assert_int_equal(step(&h, 0, wait), SIM_WAIT);
    str_buf text;
    str_buf_init(&text, &h.mem);
    sim_barrier_describe(&w[0], &text);
    assert_string_equal(str_text(&text),
                        "a phase of parity 0 of the mbarrier at byte 64 of shared memory, whose phase 0 "
                        "lacks 0 of 1 arrivals and 64 bytes");
    sim_use *test = mbarrier(&h, "test_wait_state", "state", 0, DT_BOOL);
    hand_set_all(&w[0], &wait->operands[1], 0, 0);
    assert_int_equal(hand_run(&w[1], test), SIM_YIELD);
    assert_true(hand_get(&w[1], &test->result, 0, 4) == 0);
    sim_use *complete = mbarrier(&h, "complete_tx", "bytes", 32, DT_NONE);
    hand_set_all(&w[0], &wait->operands[1], 0, 0);
    w[1].active = 3;
    hand_run(&w[1], complete);
    w[1].active = UINT32_MAX;
    assert_false(is_waiting(&h, 0));
    hand_set_all(&w[1], &test->operands[1], 0, 0);
    hand_run(&w[1], test);
    assert_true(hand_get(&w[1], &test->result, 0, 4) == 1);
    assert_int_equal(sim_finding_count(h.device), 0);
    hand_close(&h);
}

static void wrong_mbarriers(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 2, false);
    memset(h.block.shared, 0, HAND_SHARED);
    hand_run(&h.block.warps[0], mbarrier(&h, "arrive", "", 0, DT_U64)); // never made
    assert_int_equal(sim_finding_count(h.device), 1);
    make(&h, 16);
    sim_use *arrive = mbarrier(&h, "arrive_expect_tx", "bytes", 8, DT_U64);
    arrive->site = 61;
    hand_run(&h.block.warps[0], arrive); // 32 arrive, 16 are expected, and the bytes hold the phase
    assert_int_equal(sim_finding_count(h.device), 2);
    sim_order_block_barrier(&h.block);
    sim_use *again = mbarrier(&h, "init", "count", 4, DT_NONE);
    again->site = 62;
    h.block.warps[0].active = 1;
    hand_run(&h.block.warps[0], again);
    assert_int_equal(sim_finding_count(h.device), 3);
    sim_order_block_barrier(&h.block);
    hand_run(&h.block.warps[0], mbarrier(&h, "inval", "", 0, DT_NONE));
    sim_use *late = mbarrier(&h, "test_wait", "parity", 0, DT_BOOL);
    late->site = 63;
    hand_run(&h.block.warps[0], late);
    assert_int_equal(sim_finding_count(h.device), 4);
    hand_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_meet),        cmocka_unit_test(votes),    cmocka_unit_test(divergence),
        cmocka_unit_test(named_barriers),  cmocka_unit_test(in_parts), cmocka_unit_test(inconsistent),
        cmocka_unit_test(syncwarp),        cmocka_unit_test(phases),   cmocka_unit_test(bytes_and_states),
        cmocka_unit_test(wrong_mbarriers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
