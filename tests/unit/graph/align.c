// Pairs of equal elements, against the longest common subsequence by a table.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/diff.h"

enum { LONGEST = 24, TRIES = 3000, MANY = 4000 };

static uint64_t seed = 1;

static int any(int count)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)count);
}

static int longest(const int *a, int n, const int *b, int m)
{
    int table[LONGEST + 1][LONGEST + 1] = {0};
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int left = table[i - 1][j], above = table[i][j - 1];
            table[i][j] = a[i - 1] == b[j - 1] ? table[i - 1][j - 1] + 1 : left > above ? left : above;
        }
    return table[n][m];
}

// How many pairs there are, which are of equal elements and in order.
static int check_pairs(const int *a, int n, const int *b, const int *match)
{
    int count = 0, last = -1;
    for (int i = 0; i < n; i++) {
        if (match[i] < 0)
            continue;
        assert_true(match[i] > last);
        assert_int_equal(a[i], b[match[i]]);
        last = match[i];
        count++;
    }
    return count;
}

static void none_is_longer(void **state)
{
    (void)state;
    for (int t = 0; t < TRIES; t++) {
        arena memory;
        arena_init(&memory, NULL);
        int a[LONGEST], b[LONGEST], match[LONGEST], kinds = 1 + any(6), n = any(LONGEST + 1), m = any(LONGEST + 1);
        for (int i = 0; i < LONGEST; i++) {
            a[i] = any(kinds);
            b[i] = any(kinds);
            match[i] = -1;
        }
        fg_align(&memory, a, n, b, m, match);
        assert_int_equal(check_pairs(a, n, b, match), longest(a, n, b, m));
        arena_free(&memory);
    }
}

// Between them, more are found; they stay.
static void pairs_stay(void **state)
{
    (void)state;
    arena memory;
    arena_init(&memory, NULL);
    const int a[] = {1, 2, 3, 4, 5}, b[] = {2, 1, 9, 5, 4};
    int match[] = {-1, -1, 2, -1, -1};
    fg_align(&memory, a, 5, b, 5, match);
    assert_int_equal(match[2], 2);
    assert_true((match[0] == 1) != (match[1] == 0));
    assert_true((match[3] == 4) != (match[4] == 3));
    arena_free(&memory);
}

static void memory_is_linear(void **state)
{
    (void)state;
    static int a[MANY], b[MANY], match[MANY];
    arena memory;
    arena_init(&memory, NULL);
    for (int i = 0; i < MANY; i++) {
        a[i] = any(50);
        b[i] = any(50);
        match[i] = -1;
    }
    fg_align(&memory, a, MANY, b, MANY, match);
    assert_true(check_pairs(a, MANY, b, match) > MANY / 8);
    assert_true(memory.total_bytes < 64 * MANY);
    arena_free(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_is_longer),
        cmocka_unit_test(pairs_stay),
        cmocka_unit_test(memory_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
