// Arenas: what a reset gives back is used again, and the meter counts what is held.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"

enum { MANY = 100, EACH = 100000 };

static void fill(arena *a)
{
    for (int i = 0; i < MANY; i++)
        memset(arena_alloc(a, EACH), 1, EACH);
}

static void resets_need_no_new_memory(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, NULL);
    char *kept = arena_strdup(&a, "kept");
    arena_mark mark = arena_mark_get(&a);
    fill(&a);
    size_t held = a.total_bytes;
    for (int round = 0; round < 3; round++) {
        arena_reset(&a, mark);
        fill(&a);
        assert_int_equal(a.total_bytes, held);
    }
    assert_string_equal(kept, "kept");
    arena_free(&a);
}

static void memory_is_zero_after_a_reset(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, NULL);
    arena_mark mark = arena_mark_get(&a);
    fill(&a);
    arena_reset(&a, mark);
    const char *again = arena_alloc(&a, EACH);
    for (int i = 0; i < EACH; i++)
        assert_int_equal(again[i], 0);
    arena_free(&a);
}

static void large_blocks_come_back(void **state)
{
    (void)state;
    enum { LARGE = 5000000 };
    arena a;
    arena_init(&a, NULL);
    arena_mark mark = arena_mark_get(&a);
    arena_alloc(&a, LARGE);
    size_t held = a.total_bytes;
    arena_reset(&a, mark);
    arena_alloc(&a, LARGE);
    assert_int_equal(a.total_bytes, held);
    arena_free(&a);
}

// A chunk of the largest size is one huge page: nothing in it crosses a border of these.
static void large_arenas_have_huge_pages(void **state)
{
    (void)state;
    enum { HUGE_PAGE = 2 * 1024 * 1024 };
    arena a;
    arena_init(&a, NULL);
    fill(&a);
    for (int i = 0; i < MANY; i++) {
        uintptr_t at = (uintptr_t)arena_alloc(&a, EACH);
        assert_int_equal(at / HUGE_PAGE, (at + EACH - 1) / HUGE_PAGE);
    }
    arena_free(&a);
}

static void the_meter_knows_the_most(void **state)
{
    (void)state;
    arena_meter meter = {0};
    arena a, b;
    arena_init(&a, NULL);
    arena_init(&b, NULL);
    a.meter = b.meter = &meter;
    fill(&a);
    fill(&b);
    assert_int_equal(meter.held_bytes, a.total_bytes + b.total_bytes);
    size_t most = meter.held_bytes;
    arena_free(&a);
    assert_int_equal(meter.held_bytes, b.total_bytes);
    arena_free(&b);
    assert_int_equal(meter.held_bytes, 0);
    assert_int_equal(meter.most_bytes, most);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resets_need_no_new_memory),
        cmocka_unit_test(memory_is_zero_after_a_reset),
        cmocka_unit_test(large_blocks_come_back),
        cmocka_unit_test(large_arenas_have_huge_pages),
        cmocka_unit_test(the_meter_knows_the_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
