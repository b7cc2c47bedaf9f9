// Files of weights: what is read, what is refused, and that no damage to a file is more than an error.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "weights/weights.h"

typedef struct fixture {
    arena a;
    const char *folder, *path;
    int fd;
} fixture;

static int set_up(void **state)
{
    fixture *x = calloc(1, sizeof *x);
    const char *error = NULL;
    arena_init(&x->a, NULL);
    x->folder = file_folder_new(&x->a, &x->fd, &error);
    x->path = file_join(&x->a, x->folder, "m.safetensors");
    *state = x;
    return x->folder ? 0 : -1;
}

static int tear_down(void **state)
{
    fixture *x = *state;
    file_folder_remove(x->folder, x->fd);
    arena_free(&x->a);
    free(x);
    return 0;
}

static const uint8_t numbers[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

// Four tensors, one of them empty and one a scalar.
static str good_file(fixture *x)
{
    static const int64_t matrix[] = {3, 4}, row[] = {4}, empty[] = {0, 7};
    const wt_entry entries[] = {
        {.name = "fc.weight", .dtype = "f16", .rank = 2, .shape = matrix},
        {.name = "none", .dtype = "f32", .rank = 2, .shape = empty},
        {.name = "fc.bias", .dtype = "f32", .rank = 1, .shape = row},
        {.name = "count", .dtype = "i64"},
    };
    const uint8_t *const bytes[] = {numbers, numbers, numbers + 24, numbers + 40};
    const char *error = NULL;
    str text;
    assert_true(wt_write(&x->a, x->path, entries, bytes, 4, &error));
    assert_true(file_read(&x->a, x->path, &text, &error));
    return text;
}

static void put(fixture *x, const char *path, str text)
{
    const char *error = NULL;
    assert_true(file_write(&x->a, path, text, &error));
}

static void what_is_written_is_read(void **state)
{
    fixture *x = *state;
    const char *error = NULL;
    good_file(x);
    wt_file *f = wt_open(&x->a, x->path, &error);
    assert_null(error);
    assert_int_equal(f->entries.len, 4);
    const wt_entry *e = wt_find(f, "fc.bias");
    assert_string_equal(e->dtype, "f32");
    assert_string_equal(e->stored_dtype, "F32");
    assert_int_equal(e->rank, 1);
    assert_int_equal(e->shape[0], 4);
    assert_null(f->parts.at[0].mapped);
    assert_memory_equal(wt_bytes(f, e, &error), numbers + 24, 16);
    assert_int_equal(wt_find(f, "none")->bytes, 0);
    assert_int_equal(wt_find(f, "count")->bytes, 8);
    assert_null(wt_find(f, "fc"));
    wt_close(f);
}

static void a_file_that_shrinks_is_not_mapped(void **state)
{
    fixture *x = *state;
    const char *error = NULL;
    good_file(x);
    wt_file *f = wt_open(&x->a, x->path, &error);
    assert_int_equal(truncate(x->path, 20), 0);
    assert_null(wt_bytes(f, wt_find(f, "fc.bias"), &error));
    assert_non_null(strstr(error, "size has changed"));
    wt_close(f);
}

// A file with this header, and [data_bytes] behind it.
static str with_header(fixture *x, const char *header, size_t data_bytes)
{
    str_buf out;
    str_buf_init(&out, &x->a);
    for (int i = 0; i < 8; i++)
        str_addc(&out, (char)(strlen(header) >> (8 * i)));
    str_adds(&out, header);
    for (size_t i = 0; i < data_bytes; i++)
        str_addc(&out, '\1');
    return (str){out.at, out.len};
}

#define ENTRY(name, dtype, shape, offsets)                                                                             \
    "\"" name "\": {\"dtype\": \"" dtype "\", \"shape\": [" shape "], \"data_offsets\": [" offsets "]}"

static void faults_are_named(void **state)
{
    static const struct {
        const char *header;
        size_t data_bytes;
        const char *says; // NULL: it is good
    } cases[] = {
        {"{" ENTRY("a", "F16", "2, 3", "0, 12") "}   ", 12, NULL},
        {"{\"__metadata__\": {\"format\": \"pt\"}, " ENTRY("a", "F16", "2, 3", "0, 12") "}", 12, NULL},
        {"{" ENTRY("b", "I8", "2", "2, 4") ", " ENTRY("a", "I8", "2", "0, 2") "}", 4, NULL},
        {"{" ENTRY("b", "F4", "3", "0, 2") "}", 2, "do not fill whole bytes"},
        {"{" ENTRY("b", "F4", "4", "0, 2") "}", 2, NULL},
        {"{}", 0, NULL},
        {" {}", 0, "does not begin with '{'"},
        {"[]", 0, "does not begin with '{'"},
        {"{", 0, "no JSON"},
        {"{} x", 0, "no JSON"},
        {"{\"a\\u0000\": 1}", 0, "no JSON"},
        {"{\"\\ud800\": 1}", 0, "no JSON"},
        {"{\"\\x\": 1}", 0, "no JSON"},
        {"{\"a\": {}, }", 0, "expected 'dtype'"},
        {"{" ENTRY("\\u00e9\\ud83d\\ude00\\n", "F16", "2", "0, 4") "}", 4, NULL},
        {"{" ENTRY("a", "F16", "02", "0, 4") "}", 4, "no integer from 0 on"},
        {"{" ENTRY("a", "F16", "2", "0, 4") ",}", 4, "no JSON"},
        {"{\"__metadata__\": {}, \"__metadata__\": {}}", 0, "there twice"},
        {"{\"\xff\": 1}", 0, "no JSON"},
        {"{\"a\": 1}", 0, "tensor 'a': expected 'dtype'"},
        {"{\"__metadata__\": {\"format\": 1}}", 0, "no map of texts"},
        {"{\"__metadata__\": []}", 0, "no map of texts"},
        {"{" ENTRY("a", "F17", "2", "0, 4") "}", 4, "no type 'F17'"},
        {"{" ENTRY("a", "F16", "-2", "0, 4") "}", 4, "no integer from 0 on"},
        {"{" ENTRY("a", "F16", "2.0", "0, 4") "}", 4, "no integer from 0 on"},
        {"{" ENTRY("a", "F16", "99999999999999999999", "0, 4") "}", 4, "no integer from 0 on"},
        {"{" ENTRY("a", "F16", "4611686018427387904, 4", "0, 4") "}", 4, "2^63"},
        {"{" ENTRY("a", "F16", "4611686018427387904, 4, 0", "0, 0") "}", 0, NULL},
        {"{" ENTRY("a", "F16", "2", "0, 6") "}", 6, "has 6 bytes, and its type and shape need 4"},
        {"{" ENTRY("a", "F16", "2", "4, 0") "}", 4, "not in the file"},
        {"{" ENTRY("a", "F16", "2", "0, 4") "}", 3, "not in the file"},
        {"{" ENTRY("a", "F16", "2", "-1, 3") "}", 4, "no pair of integers"},
        {"{" ENTRY("a", "F16", "2", "0") "}", 4, "no pair of integers"},
        {"{" ENTRY("a", "F16", "2", "0, 4") "}", 5, "end of the file"},
        {"{" ENTRY("a", "F16", "2", "1, 5") "}", 5, "before it"},
        {"{" ENTRY("a", "F16", "2", "0, 4") ", " ENTRY("b", "F16", "2", "2, 6") "}", 6, "'b': its bytes are those of another"},
        {"{" ENTRY("a", "F16", "2", "0, 4") ", " ENTRY("a", "F16", "2", "4, 8") "}", 8, "tensor 'a': its name is there twice"},
        {"{\"a\": {\"dtype\": \"F16\", \"shape\": [1], \"data_offsets\": [0, 2], \"more\": 1}}", 2, "expected 'dtype'"},
        {"{\"a\": {\"dtype\": 1, \"shape\": [1], \"data_offsets\": [0, 2]}}", 2, "expected 'dtype'"},
        {"{\"a\": {\"dtype\": \"F16\", \"shape\": 1, \"data_offsets\": [0, 2]}}", 2, "'shape' is no list"},
    };
    fixture *x = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *error = NULL;
        put(x, x->path, with_header(x, cases[i].header, cases[i].data_bytes));
        wt_file *f = wt_open(&x->a, x->path, &error);
        if ((f != NULL) != (cases[i].says == NULL) || (error && !strstr(error, cases[i].says)))
            fail_msg("%s: '%s' does not say '%s'", cases[i].header, error ? error : "no error", cases[i].says ? cases[i].says : "nothing");
        wt_close(f);
    }
}

static void lengths_that_the_file_does_not_back(void **state)
{
    static const uint8_t length[] = {0, 0, 0, 0, 0, 0, 0, 0x40, '{', '}'}, most[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    fixture *x = *state;
    const char *error = NULL;
    put(x, x->path, (str){(const char *)length, sizeof length});
    assert_null(wt_open(&x->a, x->path, &error));
    assert_non_null(strstr(error, "its header has 4611686018427387904 bytes, and 2 are possible"));
    put(x, x->path, (str){(const char *)most, sizeof most});
    assert_null(wt_open(&x->a, x->path, &error));
    put(x, x->path, (str){(const char *)most, 7});
    assert_null(wt_open(&x->a, x->path, &error));
    assert_non_null(strstr(error, "shorter than the 8 bytes"));
}

static void only_regular_files_are_opened(void **state)
{
    fixture *x = *state;
    const char *error = NULL, *pipe = file_join(&x->a, x->folder, "pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_null(wt_open(&x->a, pipe, &error));
    assert_string_equal(error, "it is no regular file");
    assert_null(wt_open(&x->a, x->folder, &error));
    assert_string_equal(error, "it is a folder");
    assert_null(wt_open(&x->a, file_join(&x->a, x->folder, "absent"), &error));
    assert_non_null(error);
}

// ---- shards ----------------------------------------------------------------------------------------------------------------

static void shards_are_one_file(void **state)
{
    static const struct {
        const char *map, *says;
    } cases[] = {
        {"\"a\": \"1.safetensors\", \"b\": \"2.safetensors\"", NULL},
        {"\"b\": \"./2.safetensors\", \"a\": \"1.safetensors\"", NULL},
        {"\"a\": \"1.safetensors\"", NULL}, // the second shard is not named at all
        {"\"a\": \"1.safetensors\", \"b\": \"1.safetensors\"", "'b' is not in '1.safetensors'"},
        {"\"a\": \"1.safetensors\", \"b\": \"2.safetensors\", \"c\": \"2.safetensors\"", "'c' is not in"},
        {"\"c\": \"1.safetensors\"", "'c' is not in"},
        {"\"a\": \"../1.safetensors\"", "does not stay in the folder"},
        {"\"a\": \"x/../../1.safetensors\"", "does not stay in the folder"},
        {"\"a\": \"/etc/passwd\"", "does not stay in the folder"},
        {"\"a\": \"\"", "does not stay in the folder"},
        {"\"a\": 1", "does not stay in the folder"},
        {"\"a\": \"3.safetensors\"", "shard '3.safetensors': "},
        {"\"a\": \"1.safetensors\", \"b\": \"copy.safetensors\"", "two shards have it"},
    };
    fixture *x = *state;
    const char *index = file_join(&x->a, x->folder, "m.safetensors.index.json");
    put(x, file_join(&x->a, x->folder, "1.safetensors"), with_header(x, "{" ENTRY("a", "I8", "2", "0, 2") "}", 2));
    put(x, file_join(&x->a, x->folder, "copy.safetensors"), with_header(x, "{" ENTRY("a", "I8", "2", "0, 2") "}", 2));
    put(x, file_join(&x->a, x->folder, "2.safetensors"), with_header(x, "{" ENTRY("b", "I8", "3", "0, 3") "}", 3));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *error = NULL;
        put(x, index, str_of(arena_printf(&x->a, "{\"metadata\": {\"total_size\": 5}, \"weight_map\": {%s}}", cases[i].map)));
        wt_file *f = wt_open(&x->a, index, &error);
        if ((f != NULL) != (cases[i].says == NULL) || (error && !strstr(error, cases[i].says)))
            fail_msg("%s: '%s' does not say '%s'", cases[i].map, error ? error : "no error", cases[i].says ? cases[i].says : "nothing");
        if (f && wt_find(f, "b"))
            assert_int_equal(*wt_bytes(f, wt_find(f, "b"), &error), 1);
        wt_close(f);
    }
}

// ---- damage ----------------------------------------------------------------------------------------------------------------

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

// A few bytes changed, cut off, doubled or added.
static str damaged(fixture *x, str good, uint32_t seed)
{
    static const char likely[] = "0123456789{}[]\":,-.eF8 \\";
    size_t len = good.len;
    char *text = arena_alloc(&x->a, good.len + 64);
    memcpy(text, good.at, good.len);
    for (uint32_t i = next(&seed) % 4 + 1; i > 0; i--) {
        size_t at = next(&seed) % len;
        uint32_t what = next(&seed) % 8;
        if (what < 5)
            text[at] = what < 3 ? likely[next(&seed) % (sizeof likely - 1)] : (char)next(&seed);
        else if (what == 5)
            len = at + 1;
        else if (what == 6)
            text[next(&seed) % 8] = (char)next(&seed);
        else
            len += next(&seed) % (good.len + 64 - len);
    }
    return (str){text, len};
}

// What is accepted holds what weights.h says of it.
static void check_entries(wt_file *f)
{
    int64_t end = 0;
    const char *error = NULL;
    for (size_t i = 0; i < f->entries.len; i++) {
        const wt_entry *e = &f->entries.at[i];
        assert_int_equal(e->offset, end);
        end += e->bytes;
        assert_ptr_equal(wt_find(f, e->name), e);
        const uint8_t *bytes = wt_bytes(f, e, &error);
        for (int64_t k = 0; k < e->bytes; k++)
            assert_true(bytes[k] <= 255);
    }
    assert_int_equal(f->parts.at[0].data_begin + end, f->parts.at[0].size);
}

static void damage_is_an_error(void **state)
{
    fixture *x = *state;
    str good = good_file(x);
    int refused = 0;
    for (uint32_t seed = 1; seed <= 1000; seed++) {
        arena a;
        const char *error = NULL;
        arena_init(&a, NULL);
        put(x, x->path, damaged(x, good, seed * 2654435761u));
        wt_file *f = wt_open(&a, x->path, &error);
        assert_true((f == NULL) == (error != NULL));
        if (f)
            check_entries(f);
        refused += f == NULL;
        wt_close(f);
        arena_free(&a);
    }
    assert_in_range(refused, 500, 1000); // others change bytes of tensors, names, or a shape into an equal one
}

static void what_cannot_be_written(void **state)
{
    static const int64_t shape[] = {2}, negative[] = {-1}, large[] = {INT64_MAX};
    static const wt_entry wrong[][2] = {
        {{.name = "a", .dtype = "f16", .rank = 1, .shape = shape}, {.name = "a", .dtype = "f16", .rank = 1, .shape = shape}},
        {{.name = "a", .dtype = "i4", .rank = 1, .shape = shape}, {.name = "b", .dtype = "f16", .rank = 1, .shape = shape}},
        {{.name = "a", .dtype = "f16", .rank = 1, .shape = negative}, {.name = "b", .dtype = "f16", .rank = 1, .shape = shape}},
        {{.name = "a", .dtype = "f16", .rank = 1, .shape = large}, {.name = "b", .dtype = "f16", .rank = 1, .shape = shape}},
        {{.name = "\xff", .dtype = "f16", .rank = 1, .shape = shape}, {.name = "b", .dtype = "f16", .rank = 1, .shape = shape}},
    };
    const uint8_t *const bytes[] = {numbers, numbers};
    fixture *x = *state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *error = NULL;
        assert_false(wt_write(&x->a, x->path, wrong[i], bytes, 2, &error));
        assert_non_null(error);
        assert_false(file_exists(x->path));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_written_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_shrinks_is_not_mapped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(faults_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lengths_that_the_file_does_not_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_regular_files_are_opened, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shards_are_one_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_written, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
