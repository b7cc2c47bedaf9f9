// Files that are staged: nothing is seen of them before the commit, and nothing is left of them after a failure.
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
#include <utime.h>

#include "base/file.h"

typedef struct fixture {
    arena memory;
    char folder[64];
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    arena_init(&f->memory, NULL);
    strcpy(f->folder, "/tmp/hds-stage-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    setenv("TMPDIR", f->folder, 1);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    assert_int_equal(rmdir(f->folder), 0);
    unsetenv("TMPDIR");
    arena_free(&f->memory);
    free(f);
    return 0;
}

static const char *path_of(fixture *f, const char *name)
{
    return arena_printf(&f->memory, "%s/%s", f->folder, name);
}

static void expect(fixture *f, const char *path, const char *text)
{
    str found;
    const char *error;
    assert_true(file_read(&f->memory, path, &found, &error));
    assert_string_equal(found.at, text);
}

static void appears_at_the_commit(void **state)
{
    fixture *f = *state;
    const char *error = NULL, *one = path_of(f, "one"), *two = path_of(f, "two");
    file_staged staged[2];
    assert_true(file_write(&f->memory, one, STR("old"), &error));
    assert_true(file_stage(&f->memory, one, &STR("new"), 1, &staged[0], &error));
    assert_true(file_stage(&f->memory, two, &STR("new"), 1, &staged[1], &error));
    expect(f, one, "old");
    assert_false(file_exists(two));
    assert_true(file_commit(&f->memory, &staged[0], &error));
    file_discard(&staged[1]);
    expect(f, one, "new");
    assert_false(file_exists(two));
    unlink(one);
}

// The second stage gets another name, and the last commit wins.
static void two_at_once(void **state)
{
    fixture *f = *state;
    const char *error = NULL, *path = path_of(f, "file");
    file_staged first, second;
    assert_true(file_stage(&f->memory, path, &STR("first"), 1, &first, &error));
    assert_true(file_stage(&f->memory, path, &STR("second"), 1, &second, &error));
    assert_string_not_equal(first.temporary, second.temporary);
    assert_true(file_commit(&f->memory, &first, &error));
    expect(f, path, "first");
    assert_true(file_commit(&f->memory, &second, &error));
    expect(f, path, "second");
    unlink(path);
}

static void rests_are_taken_over(void **state)
{
    fixture *f = *state;
    const char *error = NULL, *path = path_of(f, "file"), *rest = path_of(f, "file.tmp-hdsc");
    file_staged staged;
    assert_true(file_write(&f->memory, rest, STR("what a killed process left, longer than the new text"), &error));
    assert_true(file_stage(&f->memory, path, &STR("new"), 1, &staged, &error));
    assert_string_equal(staged.temporary, rest);
    assert_true(file_commit(&f->memory, &staged, &error));
    expect(f, path, "new");
    assert_false(file_exists(rest));
    unlink(path);
}

// What somebody made the temporary name lead to stays as it is.
static void check_made_elsewhere(fixture *f, int (*make)(const char *from, const char *to))
{
    const char *error = NULL, *path = path_of(f, "file"), *rest = path_of(f, "file.tmp-hdsc"), *other = path_of(f, "other");
    file_staged staged;
    assert_true(file_write(&f->memory, other, STR("untouched"), &error));
    assert_int_equal(make(other, rest), 0);
    assert_true(file_stage(&f->memory, path, &STR("new"), 1, &staged, &error));
    assert_true(file_commit(&f->memory, &staged, &error));
    expect(f, path, "new");
    expect(f, other, "untouched");
    unlink(path);
    unlink(rest);
    unlink(other);
}

static void links_are_not_followed(void **state)
{
    check_made_elsewhere(*state, symlink);
}

static void other_names_keep_their_file(void **state)
{
    check_made_elsewhere(*state, link);
}

static void folders_are_refused(void **state)
{
    fixture *f = *state;
    const char *error = NULL;
    file_staged staged;
    assert_false(file_stage(&f->memory, f->folder, &STR("text"), 1, &staged, &error));
    assert_string_equal(error, "Is a directory");
    assert_false(file_stage(&f->memory, path_of(f, "no/file"), &STR("text"), 1, &staged, &error));
    assert_string_equal(error, "No such file or directory");
    assert_true(file_stage(&f->memory, "/dev/null", &STR("text"), 1, &staged, &error));
    assert_true(file_commit(&f->memory, &staged, &error));
}

static void all_go_on_a_signal(void **state)
{
    fixture *f = *state;
    const char *error = NULL;
    file_staged staged;
    int fd;
    assert_true(file_stage(&f->memory, path_of(f, "file"), &STR("text"), 1, &staged, &error));
    const char *folder = file_folder_new(&f->memory, &fd, &error);
    assert_non_null(folder);
    assert_int_equal(mkdir(arena_printf(&f->memory, "%sinner", folder), 0700), 0);
    assert_true(file_write(&f->memory, arena_printf(&f->memory, "%sinner/file", folder), STR("text"), &error));
    assert_true(file_write(&f->memory, arena_printf(&f->memory, "%sfile", folder), STR("text"), &error));
    file_remove_temporaries();
    assert_false(file_exists(folder));
    assert_false(file_exists(staged.temporary));
    file_folder_remove(folder, fd);
    file_discard(&staged);
}

static void old_folders_are_found(void **state)
{
    fixture *f = *state;
    const char *error = NULL, *lost = path_of(f, "hdsc-build-lost"), *young = path_of(f, "hdsc-build-young");
    int held_fd, fd;
    const char *held = file_folder_new(&f->memory, &held_fd, &error);
    assert_int_equal(mkdir(lost, 0700), 0);
    assert_int_equal(mkdir(young, 0700), 0);
    assert_true(file_write(&f->memory, arena_printf(&f->memory, "%s/file", lost), STR("text"), &error));
    assert_int_equal(utime(lost, &(struct utimbuf){1, 1}), 0);
    assert_int_equal(utime(held, &(struct utimbuf){1, 1}), 0);
    const char *next = file_folder_new(&f->memory, &fd, &error);
    assert_false(file_exists(lost));
    assert_true(file_exists(young) && file_exists(held) && file_exists(next));
    file_folder_remove(next, fd);
    file_folder_remove(held, held_fd);
    rmdir(young);
    setenv("TMPDIR", "/nowhere", 1);
    assert_null(file_folder_new(&f->memory, &fd, &error));
    assert_string_equal(error, "cannot make a folder in '/nowhere': No such file or directory");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(appears_at_the_commit),       TEST(two_at_once),         TEST(rests_are_taken_over),
        TEST(links_are_not_followed),      TEST(folders_are_refused), TEST(all_go_on_a_signal),
        TEST(other_names_keep_their_file), TEST(old_folders_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
