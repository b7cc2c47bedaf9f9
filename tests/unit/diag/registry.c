// The registry, and what reporting counts and keeps.
#include "golden.h"

static void finds(void **state)
{
    (void)state;
    static const char *const names[] = {"HDS0070", "hds0070", "0070", "70", "nvrtc-not-found"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        diag_code code = DIAG_NONE;
        assert_true(diag_find(names[i], &code));
        assert_int_equal(code, HDS0070);
    }
    static const char *const unknown[] = {"", "HDS", "HDS9999", "99999999999", "70x", "-70", "nvrtc"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        diag_code code;
        assert_false(diag_find(unknown[i], &code));
    }
}

static bool is_lower_kebab(const char *slug)
{
    size_t len = strlen(slug);
    return len && strspn(slug, "abcdefghijklmnopqrstuvwxyz0123456789-") == len && slug[0] != '-' &&
           slug[len - 1] != '-';
}

static void rows_are_sound(void **state)
{
    (void)state;
    for (int code = DIAG_NONE + 1; code < DIAG__COUNT; code++) {
        diag_code found = DIAG_NONE;
        assert_true(diag_find(diag_name((diag_code)code), &found));
        assert_int_equal(found, code);
        assert_true(diag_find(diag_slug((diag_code)code), &found));
        assert_int_equal(found, code);
        assert_true(is_lower_kebab(diag_slug((diag_code)code)));
        assert_int_equal(strlen(diag_name((diag_code)code)), strlen("HDS0000"));
        // A -W flag switches warnings and notes, never errors.
        assert_int_equal(*diag_group((diag_code)code) == '\0', diag_default_severity((diag_code)code) == DIAG_ERROR);
    }
}

static void groups(void **state)
{
    fixture *f = *state;
    assert_true(diag_switch_group(&f->dx, "no-cuda"));
    diag_under(diag_report(&f->dx, HDS0075, (src_span){0, 0}, "off"), "unseen");
    assert_int_equal(f->dx.warning_count, 0);
    assert_int_equal(f->dx.all.len, 0);
    assert_true(diag_switch_group(&f->dx, "cuda"));
    diag_report(&f->dx, HDS0075, (src_span){0, 0}, "on");
    assert_int_equal(f->dx.warning_count, 1);
    assert_false(diag_switch_group(&f->dx, "no-such"));
    assert_false(diag_switch_group(&f->dx, ""));
    assert_false(diag_switch_group(&f->dx, "no-"));
}

static void warnings_as_errors(void **state)
{
    fixture *f = *state;
    f->dx.warnings_are_errors = true;
    diag *d = diag_report(&f->dx, HDS0075, (src_span){0, 0}, "w");
    assert_int_equal(d->severity, DIAG_ERROR);
    assert_int_equal(f->dx.error_count, 1);
    assert_int_equal(f->dx.warning_count, 0);
}

static void muted(void **state)
{
    fixture *f = *state;
    diag_report(&f->dx, HDS0074, (src_span){0, 0}, "same");
    f->dx.muted = true;
    diag_report(&f->dx, HDS0074, (src_span){0, 0}, "same");
    diag_report(&f->dx, HDS0074, (src_span){0, 0}, "other");
    f->dx.muted = false;
    assert_int_equal(f->dx.error_count, 3);
    assert_int_equal(f->dx.all.len, 1);
    // What was only said with the sound off is still news.
    diag_report(&f->dx, HDS0074, (src_span){0, 0}, "other");
    assert_int_equal(f->dx.all.len, 2);
    assert_string_equal(diag_summary(&f->dx), "2 errors");
}

static void limit(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 19; i++)
        diag_report(&f->dx, HDS0074, (src_span){0, 0}, arena_printf(&f->arena, "%d", i));
    assert_false(diag_too_many(&f->dx));
    diag_report(&f->dx, HDS0074, (src_span){0, 0}, "19");
    assert_true(diag_too_many(&f->dx));
    diag_report(&f->dx, HDS0074, (src_span){0, 0}, "20");
    diag_report(&f->dx, HDS0075, (src_span){0, 0}, "a warning");
    assert_int_equal(f->dx.error_count, 21);
    assert_int_equal(f->dx.all.len, 21);
    assert_string_equal(diag_summary(&f->dx), "20 errors, 1 warning");
    f->dx.error_limit = 0;
    assert_false(diag_too_many(&f->dx));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds),
        cmocka_unit_test(rows_are_sound),
        TEST(groups),
        TEST(warnings_as_errors),
        TEST(muted),
        TEST(limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
