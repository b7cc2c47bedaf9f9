// Maps: small ones, which are searched, and large ones, which have a table; keys of any bytes, in the order of insertion.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/map.h"

enum { MANY = 20000 };

static size_t write_key(char *key, size_t room, int i)
{
    return (size_t)snprintf(key, room, "%.*s%d", i % 17, "a long common part", i);
}

// After each insertion all sizes between small and large have been there.
static void texts_are_found(void **state)
{
    (void)state;
    arena a;
    map m;
    char key[64];
    static int values[MANY];
    arena_init(&a, NULL);
    map_init(&m, &a);
    for (int i = 0; i < MANY; i++) {
        size_t len = write_key(key, sizeof key, i);
        assert_null(map_get(&m, key, len));
        map_put(&m, key, len, &values[i]);
        memset(key, 0, sizeof key); // the map has a copy
        len = write_key(key, sizeof key, i / 2);
        assert_ptr_equal(map_get(&m, key, len), &values[i / 2]);
    }
    assert_int_equal(m.len, MANY);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(map_get(&m, key, write_key(key, sizeof key, i)), &values[i]);
    arena_free(&a);
}

static void values_are_replaced(void **state)
{
    (void)state;
    arena a;
    map m;
    int things[40];
    arena_init(&a, NULL);
    map_init(&m, &a);
    assert_null(map_get_ptr(&m, things));
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 40; i++)
            map_put_ptr(&m, &things[i], round < 2 ? &things[(i + round) % 40] : NULL);
    assert_int_equal(m.len, 40);
    for (int i = 0; i < 40; i++)
        assert_null(map_get_ptr(&m, &things[i]));
    arena_free(&a);
}

static void keys_are_bytes(void **state)
{
    (void)state;
    arena a;
    map m;
    arena_init(&a, NULL);
    map_init(&m, &a);
    map_put(&m, "a\0b", 3, (char *)"first");
    map_put(&m, "a\0c", 3, (char *)"second");
    map_put(&m, "a", 1, (char *)"third");
    map_put(&m, "", 0, (char *)"empty");
    assert_string_equal(map_get(&m, "a\0b", 3), "first");
    assert_string_equal(map_get(&m, "a\0c", 3), "second");
    assert_string_equal(map_get(&m, "a", 1), "third");
    assert_string_equal(map_get(&m, "", 0), "empty");
    assert_null(map_get(&m, "a\0", 2));
    arena_free(&a);
}

static void order_is_that_of_insertion(void **state)
{
    (void)state;
    arena a;
    map m;
    char key[64];
    int count = 0;
    static int values[500];
    arena_init(&a, NULL);
    map_init(&m, &a);
    assert_null(map_first(&m));
    for (int i = 0; i < 500; i++)
        map_put(&m, key, write_key(key, sizeof key, (i * 7) % 500), &values[i]);
    for (map_entry *e = map_first(&m); e; e = map_next(e), count++) {
        size_t len;
        const char *found = map_key(e, &len);
        assert_int_equal(len, write_key(key, sizeof key, (count * 7) % 500));
        assert_memory_equal(found, key, len);
        assert_ptr_equal(map_value(e), &values[count]);
    }
    assert_int_equal(count, 500);
    arena_free(&a);
}

// Tables grow with what they hold: those of one entry are small, and large ones have no more buckets than entries.
static void memory_follows_entries(void **state)
{
    (void)state;
    enum { SMALL_BYTES = 512, EACH_BYTES = 240 };
    arena a, few;
    map m;
    char key[64];
    arena_init(&few, NULL);
    arena_alloc(&few, 1);
    const char *begin = few.next;
    map_init(&m, &few);
    map_put_ptr(&m, &few, &few);
    assert_true(few.next - begin < SMALL_BYTES);
    arena_free(&few);
    arena_init(&a, NULL);
    map_init(&m, &a);
    for (int i = 0; i < MANY; i++)
        map_put(&m, key, write_key(key, sizeof key, i), key);
    assert_true(a.total_bytes < (size_t)MANY * EACH_BYTES);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_found),
        cmocka_unit_test(values_are_replaced),
        cmocka_unit_test(keys_are_bytes),
        cmocka_unit_test(order_is_that_of_insertion),
        cmocka_unit_test(memory_follows_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
