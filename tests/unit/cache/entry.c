// The bytes of an entry: written and read back, and every way of damaging them.
#include "fixture.h"

static cache_record sample(arena *a)
{
    cache_record r = {.kind = "code"};
    VEC_PUSH(a, &r.inputs, part_of("option", "-a"));
    VEC_PUSH(a, &r.inputs, part_of("option", "0123456789abcdef"));
    VEC_PUSH(a, &r.inputs, part_of("cuda", ""));
    VEC_PUSH(a, &r.outputs, ((cache_part){"cubin", STR("\0\1\2\0")}));
    VEC_PUSH(a, &r.outputs, part_of("ptx", "text"));
    r.key = cache_hash_parts(r.kind, r.inputs.at, r.inputs.len);
    return r;
}

static void round_trip(void **state)
{
    fixture *f = *state;
    cache_record r = sample(&f->a), back;
    str bytes = cache_record_make(&f->a, &r);
    assert_int_equal(bytes.len % 16, 0);
    assert_null(cache_record_parse(&f->a, bytes, &back));
    assert_true(cache_record_is(&back, "code", r.inputs.at, r.inputs.len));
    assert_false(cache_record_is(&back, "program", r.inputs.at, r.inputs.len));
    assert_false(cache_record_is(&back, "code", r.inputs.at, r.inputs.len - 1));
    assert_memory_equal(&back.key, &r.key, sizeof r.key);
    assert_true(str_equal(cache_part_of(&back.outputs, "cubin"), r.outputs.at[0].bytes));
    assert_null(cache_part_of(&back.outputs, "log").at);
    assert_true(str_equal(cache_record_make(&f->a, &back), bytes));
}

// What is found is used as C text and as machine code.
static void parts_are_aligned_and_end_in_zero(void **state)
{
    fixture *f = *state;
    cache_record r = sample(&f->a), back;
    str bytes = cache_record_make(&f->a, &r);
    assert_null(cache_record_parse(&f->a, bytes, &back));
    for (size_t i = 0; i < back.outputs.len; i++) {
        str part = back.outputs.at[i].bytes;
        assert_int_equal((part.at - bytes.at) % 16, 0);
        assert_int_equal(part.at[part.len], 0);
    }
}

static void every_bit_counts(void **state)
{
    fixture *f = *state;
    cache_record r = sample(&f->a), back;
    str bytes = cache_record_make(&f->a, &r);
    char *copy = arena_dup(&f->a, bytes.at, bytes.len);
    for (size_t i = 0; i < bytes.len * 8; i++) {
        arena_mark mark = arena_mark_get(&f->a);
        copy[i / 8] ^= (char)(1 << i % 8);
        assert_non_null(cache_record_parse(&f->a, (str){copy, bytes.len}, &back));
        copy[i / 8] ^= (char)(1 << i % 8);
        arena_reset(&f->a, mark);
    }
    for (size_t len = 0; len < bytes.len; len++)
        assert_non_null(cache_record_parse(&f->a, (str){arena_dup(&f->a, bytes.at, len), len}, &back));
}

static void damage_has_a_name(void **state)
{
    fixture *f = *state;
    cache_record r = sample(&f->a), back;
    str bytes = cache_record_make(&f->a, &r);
    char *copy = arena_dup(&f->a, bytes.at, bytes.len);
    assert_string_equal(cache_record_parse(&f->a, STR(""), &back), "it is empty");
    assert_string_equal(cache_record_parse(&f->a, STR("PK and so on, whatever it is that is here instead, some text of someone"),
                                           &back),
                        "it is not a cache entry");
    assert_string_equal(cache_record_parse(&f->a, (str){bytes.at, bytes.len - 16}, &back),
                        arena_printf(&f->a, "it has %zu bytes of %zu", bytes.len - 16, bytes.len));
    copy[8] = 2;
    assert_string_equal(cache_record_parse(&f->a, (str){copy, bytes.len}, &back), "its format is 2, and 1 is expected");
    copy[8] = 1;
    copy[100] ^= 1;
    assert_string_equal(cache_record_parse(&f->a, (str){copy, bytes.len}, &back), "its checksum is wrong");
}

// Lengths and names are hashed, not only what they add up to.
static void keys_differ(void **state)
{
    (void)state;
    cache_part a[] = {part_of("x", "ab"), part_of("y", "c")}, b[] = {part_of("x", "a"), part_of("y", "bc")};
    cache_part c[] = {part_of("x", "ab"), part_of("z", "c")}, d[] = {part_of("y", "c"), part_of("x", "ab")};
    cache_key keys[] = {cache_hash_parts("k", a, 2), cache_hash_parts("k", b, 2), cache_hash_parts("k", c, 2),
                        cache_hash_parts("k", d, 2), cache_hash_parts("l", a, 2), cache_hash_parts("k", a, 1)};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(&keys[i], &keys[j], sizeof *keys);
    }
}

static void names_are_keys(void **state)
{
    fixture *f = *state;
    cache_key key = {{0xab0123456789cdef, 0xfedcba9876543210}}, back;
    const char *path = cache_path_of(f->cache, &f->a, key), *name = strrchr(path, '/') + 1;
    assert_non_null(strstr(path, "/v1/ab/0123456789cdeffedcba9876543210.entry"));
    assert_true(cache_key_of_name(0xab, name, &back));
    assert_memory_equal(&back, &key, sizeof key);
    assert_string_equal(cache_key_text(&f->a, key), "ab0123456789cdeffedcba9876543210");
    assert_false(cache_key_of_name(0xab, "0123456789cdeffedcba987654321.entry", &back));
    assert_false(cache_key_of_name(0xab, "0123456789cdeffedcba987654321G.entry", &back));
    assert_false(cache_key_of_name(0xab, "0123456789cdeffedcba9876543210.entry.tmp-abcdef", &back));
    assert_string_equal(cache_hash(&f->a, STR("")), "99aa06d3014798d86001c324468d497f");  // XXH3-128 of nothing
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parts_are_aligned_and_end_in_zero, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_bit_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_has_a_name, set_up, tear_down),
        cmocka_unit_test(keys_differ),
        cmocka_unit_test_setup_teardown(names_are_keys, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("cache/entry", tests, NULL, NULL);
}
