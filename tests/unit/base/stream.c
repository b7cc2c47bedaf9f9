// Files that are read in pieces: no more than what is asked for, and what is left of those that say how long they are.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static char path[] = "/tmp/hds-stream-XXXXXX";

static int set_up(void **state)
{
    static arena memory;
    const char *error;
    arena_init(&memory, NULL);
    *state = &memory;
    int fd = mkstemp(path);
    if (fd < 0 || close(fd) != 0)
        return -1;
    return file_write(&memory, path, STR("0123456789"), &error) ? 0 : -1;
}

static int tear_down(void **state)
{
    arena_free(*state);
    return unlink(path);
}

static void assert_next(arena *a, file_stream *f, size_t most, const char *expected)
{
    str piece;
    const char *error = NULL;
    assert_true(file_stream_read(a, f, most, &piece, &error));
    assert_string_equal(piece.at, expected);
    assert_int_equal(piece.len, strlen(expected));
}

static void reads_in_pieces(void **state)
{
    file_stream f;
    const char *error = NULL;
    assert_true(file_stream_open(*state, path, &f, &error));
    assert_int_equal(f.size, 10);
    assert_next(*state, &f, 0, "");
    assert_next(*state, &f, 4, "0123");
    assert_next(*state, &f, 100, "456789");
    assert_next(*state, &f, 100, "");
    file_stream_close(&f);
}

static void takes_no_more_than_is_asked_for(void **state)
{
    file_stream f;
    str piece;
    const char *error = NULL;
    assert_true(file_stream_open(*state, "/dev/zero", &f, &error));
    assert_int_equal(f.size, -1);
    assert_true(file_stream_read(*state, &f, 100000, &piece, &error));
    assert_int_equal(piece.len, 100000);
    file_stream_close(&f);
}

// Standard input may have been read before.
static void counts_what_is_left(void **state)
{
    file_stream f;
    char first[3];
    const char *error = NULL;
    int saved = dup(STDIN_FILENO), fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO);
    assert_int_equal(read(STDIN_FILENO, first, sizeof first), 3);
    assert_true(file_stream_open(*state, "-", &f, &error));
    assert_int_equal(f.size, 7);
    assert_next(*state, &f, 100, "3456789");
    file_stream_close(&f);
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
    if (saved >= 0)
        dup2(saved, STDIN_FILENO);
}

static void says_why_it_cannot(void **state)
{
    file_stream f;
    const char *error = NULL;
    assert_false(file_stream_open(*state, "/nowhere/at/all", &f, &error));
    assert_string_equal(error, "No such file or directory");
    assert_false(file_stream_open(*state, "/tmp", &f, &error));
    assert_string_equal(error, "Is a directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_in_pieces), cmocka_unit_test(takes_no_more_than_is_asked_for),
        cmocka_unit_test(counts_what_is_left), cmocka_unit_test(says_why_it_cannot),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
