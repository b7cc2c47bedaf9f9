// Minimum cuts against all cuts of small graphs, and the time that large ones take.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <time.h>

#include "graph/passes/cut.h"

enum { THINGS = 8, COSTS = 24, TRIES = 400 };

typedef struct cost {
    int first, second;
    int64_t cost;
} cost;

static uint64_t seed = 1;

static int any(int count)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)count);
}

static int any_thing(void)
{
    int thing = any(THINGS + 2);
    return thing == THINGS ? FG_CUT_FIRST : thing == THINGS + 1 ? FG_CUT_SECOND : thing;
}

static bool is_second(int thing, unsigned sides)
{
    return thing == FG_CUT_SECOND || (thing != FG_CUT_FIRST && (sides >> thing & 1));
}

static int64_t cost_of(const cost *costs, unsigned sides)
{
    int64_t sum = 0;
    for (int i = 0; i < COSTS; i++)
        if (!is_second(costs[i].first, sides) && is_second(costs[i].second, sides))
            sum += costs[i].cost;
    return sum;
}

static void no_cut_is_cheaper(void **state)
{
    (void)state;
    for (int n = 0; n < TRIES; n++) {
        arena a = {0};
        fg_cut c;
        cost costs[COSTS];
        fg_cut_init(&c, &a, THINGS);
        for (int i = 0; i < COSTS; i++) {
            costs[i] = (cost){any_thing(), any_thing(), any(20)};
            fg_cut_cost(&c, costs[i].first, costs[i].second, costs[i].cost);
        }
        const bool *second = fg_cut_solve(&c);
        unsigned sides = 0;
        int64_t least = INT64_MAX;
        for (int i = 0; i < THINGS; i++)
            sides |= (unsigned)second[i] << i;
        for (unsigned other = 0; other < 1u << THINGS; other++)
            least = cost_of(costs, other) < least ? cost_of(costs, other) : least;
        assert_int_equal(cost_of(costs, sides), least);
        for (unsigned other = 0; other < 1u << THINGS; other++) // the fewest things are on the second side
            assert_true(cost_of(costs, other) > least || (other & sides) == sides);
        arena_free(&a);
    }
}

// A chain in which every third thing wants the second side.
static void long_chains_are_fast(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    arena a = {0};
    fg_cut c;
    fg_cut_init(&c, &a, COUNT);
    for (int i = 0; i < COUNT; i++) {
        fg_cut_cost(&c, i, i + 1 < COUNT ? i + 1 : FG_CUT_FIRST, 5);
        fg_cut_cost(&c, i ? i - 1 : FG_CUT_FIRST, i, 5);
        fg_cut_cost(&c, i, FG_CUT_SECOND, i % 3 ? 0 : 4);
    }
    clock_t begin = clock();
    const bool *second = fg_cut_solve(&c);
    double ms = (double)(clock() - begin) * 1e3 / CLOCKS_PER_SEC;
    print_message("%.1f ms\n", ms);
    assert_true(second[0] && second[COUNT / 2] && second[COUNT - 3]);
    assert_true(ms < 5000);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_cut_is_cheaper),
        cmocka_unit_test(long_chains_are_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
