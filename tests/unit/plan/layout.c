// Offsets of temporaries: random lifetimes against a check of all pairs and times, the peaks that several orders reach,
// plans that get a layout, and layouts that are refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "plan/build.h"

enum { MOST = 600 };

static uint32_t seed;

static int64_t below(int64_t end)
{
    seed = seed * 1664525u + 1013904223u;
    return (int64_t)((uint64_t)(seed >> 8) % (uint64_t)end);
}

// By brute force: at each time, the bytes that are live, and that no two share one.
static int64_t check_all(const plan_block *b, int count, int64_t peak)
{
    int64_t last = 0, bound = 0;
    for (int i = 0; i < count; i++) {
        last = b[i].end > last ? b[i].end : last;
        assert_true(b[i].offset >= 0 && b[i].offset % PLAN_PLACE_ALIGNMENT == 0 && b[i].offset + b[i].bytes <= peak);
    }
    for (int64_t t = 0; t < last; t++) {
        int64_t live = 0;
        for (int i = 0; i < count; i++) {
            if (t < b[i].begin || t >= b[i].end)
                continue;
            live += b[i].bytes;
            for (int j = 0; j < i; j++) {
                bool is_live = t >= b[j].begin && t < b[j].end && b[i].bytes && b[j].bytes;
                if (is_live && b[i].offset < b[j].offset + b[j].bytes && b[j].offset < b[i].offset + b[i].bytes)
                    fail_msg("blocks %d and %d share memory", j, i);
            }
        }
        bound = live > bound ? live : bound;
    }
    return bound;
}

// The peak over the lower bound, both in bytes.
static double place(plan_block *b, int count)
{
    arena a;
    arena_init(&a, NULL);
    int64_t peak = plan_place(&a, b, count), bound = check_all(b, count, peak);
    assert_int_equal(plan_live_bytes(&a, b, count), bound);
    assert_true(peak >= bound);
    arena_free(&a);
    return bound ? (double)peak / (double)bound : 1;
}

static void random_lifetimes(void **state)
{
    (void)state;
    plan_block b[MOST];
    for (seed = 1; seed < 200;) {
        uint32_t own = seed;
        int count = (int)below(40);
        for (int i = 0; i < count; i++) {
            int64_t begin = below(60);
            b[i] = (plan_block){.begin = begin, .end = begin + 1 + below(20), .bytes = below(4) ? below(5000) : 0};
        }
        place(b, count);
        seed = own + 1;
    }
    assert_true(place(b, 0) == 1);
}

// One after the other, some with a skip over a block of two; channels grow where the picture shrinks.
static int convolutional(plan_block *b)
{
    int count = 0;
    int64_t pixels = 112 * 112, channels = 64;
    for (int64_t t = 0; t < 64; t += 2) {
        int64_t skip = below(3) ? 1 : 3;
        b[count++] = (plan_block){.begin = t, .end = t + 3, .bytes = pixels * channels * 2};
        b[count++] = (plan_block){.begin = t + 1, .end = t + 2 + skip, .bytes = pixels * channels * (1 + below(2))};
        if (below(4) == 0 && pixels > 49) {
            pixels /= 4;
            channels *= 2;
        }
    }
    return count;
}

static int transformer(plan_block *b)
{
    int count = 0;
    int64_t t = 0, x = (512 + below(512)) * 1024 * 2;
    for (int layer = 0; layer < 24; layer++, t += 10) {
        b[count++] = (plan_block){.begin = t, .end = t + 5, .bytes = x};           // the norm, and what is read of it
        for (int k = 1; k <= 3; k++)
            b[count++] = (plan_block){.begin = t + k, .end = t + 6, .bytes = x};   // q, k, v
        b[count++] = (plan_block){.begin = t + 4, .end = t + 7, .bytes = x * 2};   // scores
        b[count++] = (plan_block){.begin = t + 6, .end = t + 12, .bytes = x};      // the residual
        b[count++] = (plan_block){.begin = t + 7, .end = t + 9, .bytes = x};       // the second norm
        b[count++] = (plan_block){.begin = t + 8, .end = t + 10, .bytes = x * 4};
    }
    return count;
}

static void peaks(void **state)
{
    static int (*const shapes[])(plan_block *) = {convolutional, transformer};
    (void)state;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        plan_block b[MOST];
        double sum = 0;
        for (uint32_t i = 0; i < 10; i++) {
            seed = 1000 + i * 77;
            sum += place(b, shapes[k](b));
        }
        if (sum / 10 > 1.05)
            fail_msg("shape %zu: %g of the lower bound", k, sum / 10);
    }
}

// ---- plans ------------------------------------------------------------------------------------------------------

static const char *read_text(arena *a, const char *head, const char *statements, plan *p)
{
    const char *text = arena_printf(a, "plan @f(x: address, n: i64)%s\n%s", head, statements), *why = NULL;
    plan_read(a, str_of(text), p, &why);
    return why;
}

// The plan with a layout reads as it was printed; its offsets, in the order of the text.
static void expect(const char *statements, int64_t planned, int64_t bound, const char *offsets)
{
    arena a;
    arena_init(&a, NULL);
    plan p, again;
    const char *why = read_text(&a, "", statements, &p);
    if (why)
        fail_msg("%s", why);
    plan_builder b = {.arena = &a, .plan = &p};
    for (int i = 0; i < p.parameter_count; i++)
        VEC_PUSH(&a, &b.visible, i);
    plan_build_layout(&b);
    assert_int_equal(p.planned, planned);
    assert_int_equal(p.bound, bound);
    str_buf text, second, found;
    str_buf_init(&text, &a);
    str_buf_init(&second, &a);
    str_buf_init(&found, &a);
    plan_print(&p, &text);
    if (!plan_read(&a, (str){str_text(&text), text.len}, &again, &why))
        fail_msg("%s:\n%s", why, str_text(&text));
    plan_print(&again, &second);
    assert_string_equal(str_text(&second), str_text(&text));
    assert_int_equal(again.bound, bound);
    for (size_t i = 0; i < again.stmts.len; i++) {
        if (again.stmts.at[i].is_placed)
            str_addf(&found, "%d ", (int)again.stmts.at[i].offset);
    }
    assert_string_equal(str_text(&found), offsets);
    arena_free(&a);
}

static void layouts(void **state)
{
    (void)state;
    expect("", -1, -1, "");
    expect("allocate a: f32[n]\n", -1, -1, "");
    expect("allocate a: f32[8i64]\nallocate b: f32[n]\n", -1, -1, "");
    expect("allocate a: f32[8i64]\nallocate b: i4[3i64]\nfree a\nallocate c: f32[0i64]\n", 512, 34, "0 256 0 ");
    expect("allocate a: f32[64i64]\nfree a\nallocate b: f32[64i64]\nfree b\n", 256, 256, "0 0 ");
    // Known by what is computed before.
    expect("let k: i64 = 32i64 * 2i64\nallocate a: f32[k]\n", 256, 256, "0 ");
    expect("if n == 0i64 {\nallocate a: f32[64i64]\nfree a\n} else {\nallocate b: f32[64i64]\nfree b\n}\n", 256, 256, "0 0 ");
    // Not freed: until the end.
    expect("if n == 0i64 {\nallocate a: f32[64i64]\n}\nallocate b: f32[64i64]\nfree b\n", 512, 512, "0 256 ");
    // In a loop, what is kept lives in all turns.
    expect("for i: i64 in 0i64 to n step 1i64 {\nallocate a: f32[64i64]\nfree a\nallocate b: f32[64i64]\n}\n", 512, 512,
           "256 0 ");
    expect("for i: i64 in 0i64 to n step 1i64 {\nallocate a: f32[64i64]\nfree a\nallocate b: f32[64i64]\nfree b\n}\n", 256, 256,
           "0 0 ");
    // Too large for any memory: an error when it runs.
    expect("allocate a: f32[4611686018427387904i64]\n", -1, -1, "");
    expect("allocate a: f32[-1i64]\n", -1, -1, "");
}

static void refused(void **state)
{
    static const struct {
        const char *head, *statements, *why;
    } rows[] = {
        {"", "allocate a: f32[1i64] at 0\n", "line 2: 'a' has an offset, and no workspace is planned"},
        {" planned 256", "allocate a: f32[1i64]\n", "line 2: 'a' has no offset in the workspace"},
        {" planned 512", "allocate a: f32[1i64] at 128\n", "line 2: the offset of 'a' is no multiple of 256"},
        {" planned 256", "allocate a: f32[65i64] at 0\n", "line 2: 'a' is not within the workspace"},
        {" planned 256", "allocate a: f32[1i64] at 9223372036854775552\n", "line 2: 'a' is not within the workspace"},
        {" planned 256", "allocate a: f32[1i64] at -256\n", "line 2: a number is malformed"},
        {" planned 256", "allocate a: f32[1i64] at 0\nallocate b: f32[1i64] at 0\nfree a\n",
         "line 4: 'a' and 'b' live at one time, and share memory"},
        {" planned 256",
         "for i: i64 in 0i64 to n step 1i64 {\nallocate a: f32[1i64] at 0\nfree a\nallocate b: f32[1i64] at 0\n}\n",
         "line 6: 'a' and 'b' live at one time, and share memory"},
        {" planned 256", "allocate a: f32[n] at 0\n", "line 2: a workspace is planned for temporaries whose sizes are not known"},
        {" planned 256", "", "line 1: a workspace is planned, and there are no temporaries"},
        {" planned 9223372036854775808", "", "line 1: a number is malformed"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        arena a;
        arena_init(&a, NULL);
        plan p;
        const char *why = read_text(&a, rows[i].head, rows[i].statements, &p);
        assert_string_equal(why ? why : "it was read", rows[i].why);
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_lifetimes), cmocka_unit_test(peaks), cmocka_unit_test(layouts), cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
