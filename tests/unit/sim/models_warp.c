// hidet.lang.warp and active_mask against definitions lane by lane; masks that are wrong.
#include "hand.h"

static const char module[] = "hidet.lang.warp";

static sim_use *shuffle(hand *h, const char *mode, dtype t)
{
    const char *text = arena_printf(&h->mem, "__shfl%s_sync({mask}, {x}, {source}, {width})", mode);
    return hand_use(h, module, "_shfl", text, (hand_operand){"result", t, 1},
                    HAND_OPERANDS({"mask", DT_U32, 1}, {"x", t, 1}, {"source", DT_I32, 1}, {"width", DT_I32, 1}), NULL);
}

// CUDA C++ Programming Guide, "Warp Shuffle Functions", in words of segments.
static int from_lane(int mode, int lane, int source, int width)
{
    int first = lane / width * width, last = first + width - 1;
    switch (mode) {
    case 0:
        return first + source % width;
    case 1:
        return lane - source < first ? lane : lane - source;
    case 2:
        return lane + source > last ? lane : lane + source;
    default:
        return (lane ^ source) > last ? lane : lane ^ source;
    }
}

static void shuffles(void **state)
{
    (void)state;
    static const char *const modes[] = {"", "_up", "_down", "_xor"};
    hand h;
    hand_open(&h, 1, true);
    sim_warp *w = &h.block.warps[0];
    for (int mode = 0; mode < 4; mode++)
        for (int wide = 0; wide < 2; wide++) {
            sim_use *use = shuffle(&h, modes[mode], wide ? DT_F64 : DT_U32);
            for (int width = 1; width <= 32; width *= 2)
                for (int source = 0; source < 32; source++) {
                    uint64_t x[SIM_LANES];
                    uint32_t poison = (uint32_t)hand_random(&h);
                    for (int lane = 0; lane < SIM_LANES; lane++) {
                        x[lane] = wide ? hand_random(&h) : hand_random(&h) & UINT32_MAX;
                        hand_set(w, &use->operands[1], 0, lane, x[lane]);
                        sim_field_of(w, use->operands[1].cell, lane)[2] = (sim_field){(uint64_t)lane, 5};
                    }
                    hand_set_all(w, &use->operands[0], 0, UINT32_MAX);
                    hand_set_all(w, &use->operands[2], 0, (uint64_t)source);
                    hand_set_all(w, &use->operands[3], 0, (uint64_t)width);
                    w->poison[use->operands[1].cell] = poison;
                    hand_run(w, use);
                    for (int lane = 0; lane < SIM_LANES; lane++) {
                        int from = from_lane(mode, lane, source, width);
                        assert_true(hand_get(w, &use->result, 0, lane) == x[from]);
                        assert_int_equal(w->poison[use->result.cell] >> lane & 1, poison >> from & 1);
                        assert_int_equal(sim_field_of(w, use->result.cell, lane)[2].p, from);
                    }
                    w->poison[use->operands[1].cell] = 0;
                }
        }
    assert_int_equal(sim_finding_count(h.device), 0);
    hand_close(&h);
}

static void wrong_lanes(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    sim_use *use = shuffle(&h, "_down", DT_F32);
    hand_set_all(w, &use->operands[0], 0, UINT32_MAX);
    hand_set_all(w, &use->operands[2], 0, 4);
    hand_set_all(w, &use->operands[3], 0, 32);
    w->active = 0xffff; // the others are in another branch
    hand_run(w, use);
    assert_int_equal(sim_finding_count(h.device), 1);

    use = shuffle(&h, "_down", DT_F32);
    use->site = 40;
    hand_set_all(w, &use->operands[0], 0, 0xffff); // named rightly, but lanes 12 … 15 read from lanes that are not here
    hand_set_all(w, &use->operands[2], 0, 4);
    hand_set_all(w, &use->operands[3], 0, 32);
    hand_run(w, use);
    assert_int_equal(sim_finding_count(h.device), 2);
    use->site = 41;
    hand_set_all(w, &use->operands[3], 0, 16); // segments of 16: nothing is wrong
    hand_run(w, use);
    assert_int_equal(sim_finding_count(h.device), 2);

    w->frames.at[0].returned = 0xffff0000; // the others have ended: they need not come
    use->site = 42;
    hand_set_all(w, &use->operands[0], 0, UINT32_MAX);
    hand_run(w, use);
    assert_int_equal(sim_finding_count(h.device), 2);

    use->site = 43;
    hand_set_all(w, &use->operands[0], 0, 0xfffe); // lane 0 is not in its own mask
    hand_run(w, use);
    assert_int_equal(sim_finding_count(h.device), 3);
    hand_close(&h);
}

typedef uint64_t group_oracle(const uint64_t *x, uint32_t mask, int lane);

static uint64_t all_oracle(const uint64_t *x, uint32_t mask, int lane)
{
    (void)lane;
    for (int i = 0; i < 32; i++)
        if (mask >> i & 1 && !x[i])
            return 0;
    return 1;
}

static uint64_t ballot_oracle(const uint64_t *x, uint32_t mask, int lane)
{
    (void)lane;
    uint64_t out = 0;
    for (int i = 0; i < 32; i++)
        out |= (uint64_t)(mask >> i & 1 && x[i]) << i;
    return out;
}

static uint64_t any_oracle(const uint64_t *x, uint32_t mask, int lane)
{
    return ballot_oracle(x, mask, lane) != 0;
}

static uint64_t match_oracle(const uint64_t *x, uint32_t mask, int lane)
{
    uint64_t out = 0;
    for (int i = 0; i < 32; i++)
        out |= (uint64_t)(mask >> i & 1 && x[i] == x[lane]) << i;
    return out;
}

static uint64_t add_oracle(const uint64_t *x, uint32_t mask, int lane)
{
    (void)lane;
    uint32_t sum = 0;
    for (int i = 0; i < 32; i++)
        sum += mask >> i & 1 ? (uint32_t)x[i] : 0;
    return sum;
}

static uint64_t min_oracle(const uint64_t *x, uint32_t mask, int lane)
{
    (void)lane;
    int32_t best = INT32_MAX;
    for (int i = 0; i < 32; i++)
        if (mask >> i & 1 && (int32_t)x[i] < best)
            best = (int32_t)x[i];
    return (uint32_t)best;
}

static uint64_t max_oracle(const uint64_t *x, uint32_t mask, int lane)
{
    (void)lane;
    uint32_t best = 0;
    for (int i = 0; i < 32; i++)
        if (mask >> i & 1 && (uint32_t)x[i] > best)
            best = (uint32_t)x[i];
    return best;
}

static uint64_t xor_oracle(const uint64_t *x, uint32_t mask, int lane)
{
    (void)lane;
    uint64_t total = 0;
    for (int i = 0; i < 32; i++)
        total ^= mask >> i & 1 ? x[i] : 0;
    return total;
}

static void groups(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *value;
        dtype t, result;
        group_oracle *f;
    } rows[] = {
        {"vote_all", "(__all_sync({mask}, {predicate}) != 0)", "predicate", DT_BOOL, DT_BOOL, all_oracle},
        {"vote_any", "(__any_sync({mask}, {predicate}) != 0)", "predicate", DT_BOOL, DT_BOOL, any_oracle},
        {"ballot", "__ballot_sync({mask}, {predicate})", "predicate", DT_BOOL, DT_U32, ballot_oracle},
        {"match_any", "__match_any_sync({mask}, {x})", "x", DT_I64, DT_U32, match_oracle},
        {"redux_add", "redux.sync.add.s32 {result}, {x}, {mask};", "x", DT_I32, DT_I32, add_oracle},
        {"redux_min", "redux.sync.min.s32 {result}, {x}, {mask};", "x", DT_I32, DT_I32, min_oracle},
        {"redux_max", "redux.sync.max.u32 {result}, {x}, {mask};", "x", DT_U32, DT_U32, max_oracle},
        {"redux_bits", "redux.sync.xor.b32 {result}, {x}, {mask};", "x", DT_U32, DT_U32, xor_oracle},
    };
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        sim_use *use = hand_use(&h, module, rows[k].name, rows[k].text, (hand_operand){"result", rows[k].result, 1},
                                HAND_OPERANDS({"mask", DT_U32, 1}, {rows[k].value, rows[k].t, 1}), NULL);
        for (int trial = 0; trial < 200; trial++) {
            // Each lane is in the group of its mask; groups are disjoint.
            uint32_t part = trial % 3 == 0 ? UINT32_MAX : (uint32_t)hand_random(&h);
            uint64_t x[SIM_LANES];
            for (int lane = 0; lane < SIM_LANES; lane++) {
                x[lane] = rows[k].t == DT_BOOL       ? hand_random(&h) % 8 != 0
                          : hand_random(&h) % 3 == 0 ? 7
                                                     : hand_random(&h) & UINT32_MAX;
                hand_set(w, &use->operands[0], 0, lane, part >> lane & 1 ? part : ~part);
                hand_set(w, &use->operands[1], 0, lane, x[lane]);
            }
            uint32_t poison = trial % 2 ? 1u << trial % 32 : 0;
            w->poison[use->operands[1].cell] = poison;
            hand_run(w, use);
            for (int lane = 0; lane < SIM_LANES; lane++) {
                uint32_t mask = part >> lane & 1 ? part : ~part;
                assert_true(hand_get(w, &use->result, 0, lane) == rows[k].f(x, mask, lane));
                assert_int_equal(w->poison[use->result.cell] >> lane & 1, (poison & mask) != 0);
            }
            w->poison[use->operands[1].cell] = 0;
        }
    }
    assert_int_equal(sim_finding_count(h.device), 0);
    hand_close(&h);
}

static void active_mask(void **state)
{
    (void)state;
    hand h;
    hand_open(&h, 1, false);
    sim_warp *w = &h.block.warps[0];
    sim_use *use = hand_use(&h, "hidet.lang.cuda", "active_mask", "__activemask()", (hand_operand){"result", DT_U32, 1},
                            NULL, NULL);
    w->active = 0x0f0f;
    hand_set_all(w, &use->result, 0, 1);
    hand_run(w, use);
    assert_int_equal(hand_get(w, &use->result, 0, 3), 0x0f0f);
    assert_int_equal(hand_get(w, &use->result, 0, 4), 1);
    hand_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shuffles), cmocka_unit_test(wrong_lanes),
                                       cmocka_unit_test(groups), cmocka_unit_test(active_mask)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
