#include "tensor/npy_header.h"

#include <string.h>

#include "base/checked.h"

// [error] set: everything after it does nothing.
typedef struct reader {
    arena *arena;
    const char *at, *end;
    const char *error;
} reader;

static void fail(reader *r, const char *error)
{
    if (!r->error)
        r->error = error;
}

static void skip_blanks(reader *r)
{
    while (r->at < r->end && strchr(" \t\n\r", *r->at) && *r->at)
        r->at++;
}

static bool take(reader *r, char c)
{
    skip_blanks(r);
    if (r->error || r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static void expect(reader *r, char c)
{
    if (!take(r, c))
        fail(r, arena_printf(r->arena, "the header lacks a '%c'", c));
}

// Printable characters between two quotes of a kind; no escapes, which no header of an array of numbers has.
static const char *string(reader *r)
{
    skip_blanks(r);
    char quote = r->at < r->end ? *r->at : 0;
    if (quote != '\'' && quote != '"') {
        fail(r, "the header lacks a string");
        return "";
    }
    const char *start = ++r->at;
    while (r->at < r->end && *r->at != quote && (unsigned char)*r->at >= ' ')
        r->at++;
    if (r->at == r->end || *r->at != quote) {
        fail(r, "a string of the header is never closed");
        return "";
    }
    return arena_strndup(r->arena, start, (size_t)(r->at++ - start));
}

static bool take_word(reader *r, str word)
{
    skip_blanks(r);
    if ((size_t)(r->end - r->at) < word.len || memcmp(r->at, word.at, word.len) != 0)
        return false;
    r->at += word.len;
    return true;
}

static bool truth(reader *r)
{
    if (take_word(r, STR("True")))
        return true;
    if (!take_word(r, STR("False")))
        fail(r, "'fortran_order' is neither True nor False");
    return false;
}

static int64_t integer(reader *r)
{
    int64_t value = 0;
    skip_blanks(r);
    if (r->at == r->end || *r->at < '0' || *r->at > '9')
        fail(r, "the shape has an entry that is not a size");
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        if (!mul_checked(value, 10, &value) || !add_checked(value, *r->at - '0', &value)) {
            fail(r, "the shape has a size beyond 64 bits");
            return 0;
        }
    }
    take(r, 'L');  // Python 2 wrote it
    return value;
}

static void shape(reader *r, ten_npy_header *out)
{
    out->rank = 0;
    expect(r, '(');
    while (!r->error && !take(r, ')')) {
        if (out->rank == TEN_MAX_RANK) {
            fail(r, "the shape has more than 16 dimensions");
            return;
        }
        out->shape[out->rank++] = integer(r);
        if (!take(r, ',')) {
            expect(r, ')');
            return;
        }
    }
}

// "<f4": byte order, kind, bytes of an item.
static void descr(reader *r, ten_npy_header *out)
{
    skip_blanks(r);
    if (r->at < r->end && (*r->at == '[' || *r->at == '(')) {
        fail(r, "its elements are records of several fields, and not numbers");
        return;
    }
    out->descr = string(r);
    const char *at = out->descr;
    out->order = strchr("<>|=", *at) && *at ? *at++ : '|';
    out->kind = *at ? *at++ : 0;
    for (; *at >= '0' && *at <= '9' && out->item_bytes < 1000000; at++)
        out->item_bytes = out->item_bytes * 10 + *at - '0';
    if (!r->error && (!out->kind || (*at && *at != '[')))
        fail(r, arena_printf(r->arena, "'%s' describes no type", out->descr));
}

const char *ten_npy_header_parse(arena *a, str text, ten_npy_header *out)
{
    enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
    reader r = {a, text.at, text.at + text.len, NULL};
    int seen = 0;
    *out = (ten_npy_header){.descr = ""};
    expect(&r, '{');
    while (!r.error && !take(&r, '}')) {
        const char *key = string(&r);
        expect(&r, ':');
        int bit = strcmp(key, "descr") == 0 ? DESCR : strcmp(key, "fortran_order") == 0 ? ORDER
                : strcmp(key, "shape") == 0 ? SHAPE : 0;
        if (!bit || seen & bit)
            fail(&r, arena_printf(a, "the header has a key '%s'%s", key, bit ? " twice" : " that no .npy file has"));
        else if (bit == DESCR)
            descr(&r, out);
        else if (bit == ORDER)
            out->is_fortran = truth(&r);
        else
            shape(&r, out);
        seen |= bit;
        if (!take(&r, ',')) {
            expect(&r, '}');
            break;
        }
    }
    skip_blanks(&r);
    if (r.at != r.end)
        fail(&r, "something follows the header's '}'");
    if (seen != (DESCR | ORDER | SHAPE))
        fail(&r, "the header lacks 'descr', 'fortran_order' or 'shape'");
    return r.error;
}
