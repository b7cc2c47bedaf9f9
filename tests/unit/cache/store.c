// Finding and storing: hits, misses, tickets, threads, sizes, folders.
#include "fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static void found_again(void **state)
{
    fixture *f = *state;
    cache_ticket ticket;
    keep(f, "a", "result");
    assert_string_equal(look_up(f, "a", &ticket), "result");
    assert_null(ticket.cache);
    cache_put(&ticket, NULL, 0);  // nothing to do
    assert_null(look_up(f, "b", &ticket));
    cache_abandon(&ticket);
    assert_null(look_up(f, "b", &ticket));
    cache_abandon(&ticket);
    cache_abandon(&ticket);
}

static void none_is_a_cache_too(void **state)
{
    fixture *f = *state;
    cache_ticket ticket;
    cache_parts out = {0};
    cache_part in = part_of("in", "a");
    cache_gc_result result;
    cache_entry entry;
    assert_false(cache_get(NULL, &f->a, "test", &in, 1, &out, &ticket));
    cache_put(&ticket, &in, 1);
    cache_claim(NULL, "test", &in, 1, &ticket);
    cache_abandon(&ticket);
    assert_false(cache_find(NULL, &f->a, "test", &in, 1, &entry));
    assert_false(cache_expects(NULL, STR("work")));
    cache_expect(NULL, STR("work"));
    cache_gc(NULL, 1, &result);
    cache_clear(NULL, &result);
    cache_each(NULL, NULL, NULL);
    cache_close(NULL);
}

// Another text under the key of this one, as a collision would have it.
static void a_collision_is_a_miss(void **state)
{
    fixture *f = *state;
    cache_ticket ticket;
    keep(f, "a", "of a");
    assert_null(look_up(f, "b", &ticket));
    cache_abandon(&ticket);
    mkdir(arena_printf(&f->a, "%s/v1/%.2s", f->folder, strstr(path_of(f, "b"), "/v1/") + 4), 0700);
    assert_int_equal(rename(path_of(f, "a"), path_of(f, "b")), 0);
    assert_null(look_up(f, "b", &ticket));
    cache_abandon(&ticket);
    keep(f, "b", "of b");
    assert_string_equal(look_up(f, "b", &ticket), "of b");
}

static void a_claim_replaces(void **state)
{
    fixture *f = *state;
    cache_ticket ticket;
    cache_part in = part_of("in", "a"), out = part_of("out", "new");
    keep(f, "a", "old");
    cache_claim(f->cache, "test", &in, 1, &ticket);
    cache_put(&ticket, &out, 1);
    assert_string_equal(look_up(f, "a", &ticket), "new");
}

// Memory of the asker that runs out leaves a ticket that can be given back.
static void want_of_memory(void **state)
{
    fixture *f = *state;
    arena small;
    arena_oom oom;
    cache_ticket ticket = {0};
    cache_parts out = {0};
    static char large[100000];
    memset(large, 'x', sizeof large - 1);
    cache_part in = part_of("in", "a");
    keep(f, "a", large);
    arena_init(&small, &oom);
    small.limit_bytes = 20000;
    if (setjmp(oom.jump) == 0) {
        cache_get(f->cache, &small, "test", &in, 1, &out, &ticket);
        fail_msg("there was memory");
    }
    cache_abandon(&ticket);
    arena_free(&small);
    assert_string_equal(look_up(f, "a", &ticket), large);
}

// ---- makers -------------------------------------------------------------------------------------------------------------

enum { THREADS = 8, TEXTS = 4 };

typedef struct maker {
    pthread_t thread;
    fixture fixture;
    atomic_int *made;
    bool is_right;
} maker;

static void *make_all(void *argument)
{
    maker *m = argument;
    fixture *f = &m->fixture;
    arena_init(&f->a, NULL);
    m->is_right = true;
    for (int i = 0; i < TEXTS; i++) {
        cache_ticket ticket;
        const char *text = arena_printf(&f->a, "text %d", i), *found = look_up(f, text, &ticket);
        cache_part out = part_of("out", text);
        m->is_right = m->is_right && (!found || strcmp(found, text) == 0);
        if (found)
            continue;
        atomic_fetch_add(m->made, 1);
        nanosleep(&(struct timespec){0, 20000000}, NULL);
        cache_put(&ticket, &out, 1);
    }
    arena_free(&f->a);
    return NULL;
}

static void threads_make_each_once(void **state)
{
    fixture *f = *state;
    static maker makers[THREADS];
    atomic_int made = 0;
    for (int i = 0; i < THREADS; i++) {
        makers[i] = (maker){.fixture = {.cache = f->cache}, .made = &made};
        assert_int_equal(pthread_create(&makers[i].thread, NULL, make_all, &makers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(makers[i].thread, NULL);
        assert_true(makers[i].is_right);
    }
    assert_int_equal(made, TEXTS);
}

// A maker that sleeps does not block others forever: there are two tickets then.
static void a_wait_has_an_end(void **state)
{
    fixture *f = *state;
    cache_ticket first, second;
    cache_part out = part_of("out", "result");
    f->cache->wait_ms = 50;
    assert_null(look_up(f, "a", &first));
    assert_null(look_up(f, "a", &second));
    assert_int_equal(second.lock, -1);
    cache_put(&second, &out, 1);
    cache_put(&first, &out, 1);
    assert_string_equal(look_up(f, "a", &first), "result");
}

static void no_locks(void **state)
{
    fixture *f = *state;
    cache_ticket ticket;
    assert_int_equal(mkdir(arena_printf(&f->a, "%s/v1", f->folder), 0700), 0);
    assert_int_equal(mkdir(arena_printf(&f->a, "%s/v1/lock", f->folder), 0700), 0);
    keep(f, "a", "result");
    assert_string_equal(look_up(f, "a", &ticket), "result");
}

// ---- sizes --------------------------------------------------------------------------------------------------------------

static void count_one(void *user, const cache_entry *e)
{
    uint64_t *total = user;
    assert_null(e->damage);
    *total += e->size_bytes;
}

static uint64_t total_of(fixture *f)
{
    uint64_t total = 0;
    cache_each(f->cache, count_one, &total);
    return total;
}

static void set_age(const char *path, int seconds)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void the_oldest_goes(void **state)
{
    fixture *f = *state;
    static char large[10000];
    memset(large, 'x', sizeof large - 1);
    f->cache->limit_bytes = 64 << 10;
    for (int i = 0; i < 40; i++) {
        const char *text = arena_printf(&f->a, "text %d", i);
        keep(f, text, large);
        set_age(path_of(f, text), 1000 - i);
        assert_true(total_of(f) <= f->cache->limit_bytes);
    }
    assert_true(exists(path_of(f, "text 39")));
    assert_false(exists(path_of(f, "text 0")));
    assert_true(total_of(f) > f->cache->limit_bytes / 2);
    f->cache->limit_bytes = 5000;
    keep(f, "too large", large);
    assert_false(exists(path_of(f, "too large")));
}

static void ranges_of_a_large_cache(void **state)
{
    fixture *f = *state;
    f->cache->limit_bytes = (uint64_t)1 << 30;
    assert_int_equal(cache_range_limit(f->cache), 64 << 20);
    f->cache->limit_bytes = 1 << 20;
    assert_int_equal(cache_range_limit(f->cache), 1 << 20);
}

// A hit counts as use, but is written down once an hour only.
static void hits_are_remembered(void **state)
{
    fixture *f = *state;
    cache_ticket ticket;
    struct stat info;
    keep(f, "a", "result");
    for (int i = 0; i < 2; i++) {
        int age = i ? 7200 : 600;
        set_age(path_of(f, "a"), age);
        assert_non_null(look_up(f, "a", &ticket));
        assert_int_equal(stat(path_of(f, "a"), &info), 0);
        assert_int_equal(time(NULL) - info.st_mtime > 500, i == 0);
    }
}

static void cleared(void **state)
{
    fixture *f = *state;
    cache_gc_result result;
    for (int i = 0; i < 10; i++)
        keep(f, arena_printf(&f->a, "text %d", i), "result");
    cache_expect(f->cache, STR("work"));
    cache_gc(f->cache, total_of(f) / 2, &result);
    assert_int_equal(result.removed, 5);
    assert_int_equal(result.kept, 5);
    assert_int_equal(result.kept_bytes, total_of(f));
    cache_clear(f->cache, &result);
    assert_int_equal(result.removed, 5);
    assert_int_equal(total_of(f), 0);
    assert_false(cache_expects(f->cache, STR("work")));
}

static void expectations(void **state)
{
    fixture *f = *state;
    assert_false(cache_expects(f->cache, STR("work")));
    cache_expect(f->cache, STR("work"));
    cache_expect(f->cache, STR("other work"));
    assert_true(cache_expects(f->cache, STR("work")));
    assert_true(cache_expects(f->cache, STR("other work")));
    assert_false(cache_expects(f->cache, STR("work that is new")));
}

// ---- where --------------------------------------------------------------------------------------------------------------

static const char *folder_with(const char *dir, const char *xdg, const char *home)
{
    static char folder[256];
    const char *why = NULL;
    setenv("HDS_CACHE_DIR", dir, 1);
    setenv("XDG_CACHE_HOME", xdg, 1);
    setenv("HOME", home, 1);
    cache *c = cache_open(NULL, 0, &why);
    snprintf(folder, sizeof folder, "%s", c ? cache_folder(c) : why);
    assert_int_equal(c == NULL, why != NULL);
    cache_close(c);
    return folder;
}

static void folders(void **state)
{
    (void)state;
    const char *why = NULL;
    unsetenv("HDS_CACHE");
    unsetenv("HDS_CACHE_SIZE");
    assert_string_equal(folder_with("given", "/xdg", "/home/u"), "given");
    assert_string_equal(folder_with("", "/xdg", "/home/u"), "/xdg/hdsc");
    assert_string_equal(folder_with("", "relative", "/home/u"), "/home/u/.cache/hdsc");
    assert_string_equal(folder_with("", "", ""), "neither HDS_CACHE_DIR nor XDG_CACHE_HOME nor HOME says where it could be");
    setenv("HDS_CACHE", "off", 1);
    assert_string_equal(folder_with("given", "", ""), "HDS_CACHE=off");
    cache *c = cache_open("asked for", 0, &why);
    assert_non_null(c);
    cache_close(c);
    setenv("HDS_CACHE", "perhaps", 1);
    assert_string_equal(folder_with("given", "", ""), "HDS_CACHE is neither on nor off");
    setenv("HDS_CACHE", "on", 1);
    assert_string_equal(folder_with("given", "", ""), "given");
    setenv("HDS_CACHE_SIZE", "much", 1);
    assert_string_equal(folder_with("given", "", ""), "HDS_CACHE_SIZE is not a size such as 500M or 2G");
    unsetenv("HDS_CACHE_SIZE");
}

static void sizes(void **state)
{
    (void)state;
    uint64_t size = 0;
    static const struct {
        const char *text;
        uint64_t size;
    } good[] = {{"1", 1}, {"500M", 500 << 20}, {"2G", (uint64_t)2 << 30}, {"64k", 64 << 10}, {"1GB", 1 << 30}, {"3t", (uint64_t)3 << 40}};
    static const char *const bad[] = {"", "0", "M", "-1", "1X", "1MM", "1.5G", " 1", "99999999999999999999", "9999999999T", "1B"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(cache_size_parse(good[i].text, &size));
        assert_int_equal(size, good[i].size);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(cache_size_parse(bad[i], &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(found_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(none_is_a_cache_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_collision_is_a_miss, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_claim_replaces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(want_of_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_make_each_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wait_has_an_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_locks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ranges_of_a_large_cache, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hits_are_remembered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cleared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(expectations, set_up, tear_down),
        cmocka_unit_test(folders),
        cmocka_unit_test(sizes),
    };
    return cmocka_run_group_tests_name("cache/store", tests, NULL, NULL);
}
