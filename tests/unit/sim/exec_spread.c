// Parallel loops of host functions on all lanes: the same numbers as one turn after the other, and which loops stay as they are.
#include "rig.h"

enum { ROWS = 5, COLUMNS = 23, COUNT = ROWS * COLUMNS };

// Rows of products; [kind] of the outer loops is "parallel" or nothing. %s: more statements of a turn.
static const char sums[] =
    "public host @h(n: i64, m: i32, x: f64[115] global layout row_major(115) storage 115, "
    "y: f64[115] global layout row_major(115) storage 115) {\n"
    "let scale: f64 = x[3i64] * 2.0f64\n"
    "let mut seen: i32 = 0\n"
    "for i: i64 in 0i64 to n %s{\n"
    "for j: i32 in 0 to m %s{\n"
    "let mut sum: f64 = 0.0f64\n"
    "for k: i64 in 0i64 to i64(j) + 1i64 {\n"
    "if k == 7i64 {\ncontinue\n}\n"
    "if k > 11i64 + i {\nbreak\n}\n"
    "sum = sum + x[i * 23i64 + k] * scale\n"
    "}\n"
    "%s"
    "y[i * 23i64 + i64(j)] = sum\n"
    "}\n}\n}\n";

static const char *text_of(arena *a, const char *kind, const char *more)
{
    return arena_printf(a, sums, kind, kind, more);
}

static bool is_spread(const rig *r)
{
    str_buf out;
    str_buf_init(&out, (arena *)&r->mem);
    sim_print(r->program, &out);
    return strstr(str_text(&out), "SPREAD_BEGIN") || strstr(str_text(&out), "spread_begin");
}

static void run(const char *text, int64_t n, int32_t m, bool wanted, double *y)
{
    rig r;
    double x[COUNT];
    for (int i = 0; i < COUNT; i++)
        x[i] = 1.0 / (i + 1) - 0.3;
    memset(y, 0, COUNT * sizeof *y);
    rig_open(&r, text);
    assert_true(is_spread(&r) == wanted);
    uint64_t from = rig_tensor(&r, x, sizeof x, 8), to = rig_tensor(&r, y, COUNT * sizeof *y, 8);
    RIG_CALL(&r, "h", (uint64_t)n, (uint64_t)m, from, to);
    rig_expect_clean(&r);
    memcpy(y, rig_bytes(&r, to), COUNT * sizeof *y);
    rig_close(&r);
}

static void numbers_are_the_same(void **state)
{
    (void)state;
    arena a;
    double one[COUNT], all[COUNT];
    arena_init(&a, NULL);
    for (int n = 0; n <= ROWS; n++)
        for (int m = 0; m <= COLUMNS; m += m < 2 ? 1 : 7) {
            run(text_of(&a, "", ""), n, m, false, one);
            run(text_of(&a, "parallel ", ""), n, m, true, all);
            assert_memory_equal(one, all, sizeof one);
        }
    arena_free(&a);
}

// Only loops right inside of each other are one; the others run in each lane.
static void loops_inside_of_a_turn_are_those_of_its_lane(void **state)
{
    (void)state;
    static const char text[] = "public host @h(n: i64, m: i32, x: f64[115] global layout row_major(115) storage 115, "
                               "y: f64[115] global layout row_major(115) storage 115) {\n"
                               "for i: i64 in 0i64 to n parallel {\n"
                               "let first: f64 = x[i]\n"
                               "for j: i32 in 0 to m parallel {\n"
                               "y[i * 23i64 + i64(j)] = first + x[i64(j)]\n"
                               "}\n}\n}\n";
    double y[COUNT];
    run(text, ROWS, COLUMNS, true, y);
    for (int i = 0; i < COUNT; i++)
        assert_true(y[i] >= (1.0 / (i / COLUMNS + 1) - 0.3) + (1.0 / (i % COLUMNS + 1) - 0.3) - 1e-15 &&
                    y[i] <= (1.0 / (i / COLUMNS + 1) - 0.3) + (1.0 / (i % COLUMNS + 1) - 0.3) + 1e-15);
}

// What a turn leaves for the next one, or reads of what others store, keeps turns in order.
static void turns_that_meet_stay_in_order(void **state)
{
    (void)state;
    static const char *const more[] = {"seen = seen + 1\nsum = sum + f64(seen)\n", "sum = sum + y[i * 23i64]\n",
                                       "x[0i64] = sum * 0.5f64\n", "print \"\"\n"};
    arena a;
    double one[COUNT], all[COUNT];
    arena_init(&a, NULL);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        run(text_of(&a, "", more[i]), ROWS, COLUMNS, false, one);
        run(text_of(&a, "parallel ", more[i]), ROWS, COLUMNS, false, all);
        assert_memory_equal(one, all, sizeof one);
    }
    arena_free(&a);
}

// What is not initialised is found, whatever lane reads it.
static void faults_are_found(void **state)
{
    (void)state;
    arena a;
    rig r;
    arena_init(&a, NULL);
    rig_open(&r, text_of(&a, "parallel ", ""));
    uint64_t from = sim_allocate(r.device, COUNT * 8, 8, "x"), to = sim_allocate(r.device, COUNT * 8, 8, "y");
    for (int i = 0; i < COUNT; i += i == 27 ? 2 : 1) {
        double one = 1;
        memcpy(rig_bytes(&r, from + (uint64_t)i * 8), &one, 8);
        sim_mark_written(r.device, from + (uint64_t)i * 8, 8);
    }
    RIG_CALL(&r, "h", ROWS, COLUMNS, from, to);
    assert_non_null(strstr(rig_messages(&r), "HDS0604"));
    assert_true(sim_is_initialised(r.device, to, 23 * 8, NULL));
    rig_close(&r);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_the_same),
        cmocka_unit_test(loops_inside_of_a_turn_are_those_of_its_lane),
        cmocka_unit_test(turns_that_meet_stay_in_order),
        cmocka_unit_test(faults_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
