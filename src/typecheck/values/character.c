// Characters of texts: their bytes in UTF-8, their numbers, and the classes that Python's string methods ask for.
#include "typecheck/values/character.h"

#include "typecheck/values/text.h"

// Bytes of the first character of [s], which is not empty; 1 for a byte that begins none.
size_t tc_char_len(str s)
{
    unsigned char c = (unsigned char)s.at[0];
    size_t len = c < 0x80 ? 1 : c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
    if (len > s.len)
        return 1;
    for (size_t i = 1; i < len; i++)
        if (((unsigned char)s.at[i] & 0xC0) != 0x80)
            return 1;
    return len;
}

size_t tc_last_char_len(str s)
{
    size_t at = s.len - 1;
    while (at > 0 && s.len - at < 4 && ((unsigned char)s.at[at] & 0xC0) == 0x80)
        at--;
    return s.len - at;
}

size_t tc_text_len(str s)
{
    size_t count = 0;
    for (size_t at = 0; at < s.len; count++)
        at += tc_char_len((str){s.at + at, s.len - at});
    return count;
}

// Byte offset of character [index]; the length if there is none.
static size_t offset_of(str s, size_t index)
{
    size_t at = 0;
    for (; index > 0 && at < s.len; index--)
        at += tc_char_len((str){s.at + at, s.len - at});
    return at;
}

str tc_text_slice(str s, size_t start, size_t stop)
{
    size_t first = offset_of(s, start);
    str rest = {s.at + first, s.len - first};
    return (str){rest.at, stop > start ? offset_of(rest, stop - start) : 0};
}

// The character with a number; poison if there is none (no error is reported).
tc_value tc_of_char(tc *tx, tc_int code)
{
    if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        return tc_poison();
    unsigned c = (unsigned)code;
    char *at = arena_alloc(tx->arena, 5);
    size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--, c >>= 6)
        at[i] = (char)(0x80 | (c & 0x3F));
    static const unsigned char heads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    at[0] = (char)(heads[len] | c);
    return tc_str((str){at, len});
}

int tc_char_code(str s)
{
    size_t len = tc_char_len(s);
    int c = (unsigned char)s.at[0];
    if (len > 1)
        c &= 0x7F >> len;
    for (size_t i = 1; i < len; i++)
        c = c << 6 | ((unsigned char)s.at[i] & 0x3F);
    return c;
}

// ---- classes -----------------------------------------------------------------------------------------------------

// Where a run of characters of the same classes begins, above 11 bits for these classes.
static const uint32_t runs[] = {
#include "typecheck/values/character_classes.inc"
};

enum { CLASS_BITS = 11 };

static size_t run_of(int code)
{
    size_t low = 0, high = sizeof runs / sizeof *runs;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if ((int)(runs[middle] >> CLASS_BITS) <= code)
            low = middle;
        else
            high = middle;
    }
    return low;
}

bool tc_char_is(int code, character_class class)
{
    return runs[run_of(code)] >> class & 1;
}

// Decimal digits stand in rows that begin with a zero.
static int decimal_digit(int code)
{
    size_t run = run_of(code);
    bool is_digit = runs[run] >> CHARACTER_DECIMAL & 1;
    return is_digit ? (code - (int)(runs[run] >> CLASS_BITS)) % 10 : -1;
}

// The separators 0x1c to 0x1f are white space, but not around a number.
static size_t numeral_space(str s, bool at_end)
{
    size_t len = tc_space_at(s, at_end);
    char c = len ? s.at[at_end ? s.len - 1 : 0] : ' ';
    return c >= 0x1c && c <= 0x1f ? 0 : len;
}

str tc_numeral(arena *a, str s)
{
    str_buf plain;
    str_buf_init(&plain, a);
    for (size_t len; (len = numeral_space(s, false)) > 0;)
        s = (str){s.at + len, s.len - len};
    for (size_t len; (len = numeral_space(s, true)) > 0;)
        s.len -= len;
    for (size_t i = 0, len; i < s.len; i += len) {
        str one = {s.at + i, s.len - i};
        int digit = decimal_digit(tc_char_code(one));
        len = tc_char_len(one);
        if (digit >= 0)
            str_addc(&plain, (char)('0' + digit));
        else
            str_add(&plain, (str){one.at, len});
    }
    return (str){str_text(&plain), plain.len};
}

size_t tc_space_at(str s, bool at_end)
{
    size_t at = at_end && s.len ? s.len - tc_last_char_len(s) : 0;
    if (!s.len)
        return 0;
    str one = {s.at + at, s.len - at};
    return tc_char_is(tc_char_code(one), CHARACTER_SPACE) ? tc_char_len(one) : 0;
}

size_t tc_line_end_at(str s)
{
    static const int ends[] = {'\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029};
    if (str_starts(s, STR("\r\n")))
        return 2;
    int code = s.len ? tc_char_code(s) : 0;
    for (size_t i = 0; s.len && i < sizeof ends / sizeof *ends; i++)
        if (code == ends[i])
            return tc_char_len(s);
    return 0;
}
