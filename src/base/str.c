#include "base/str.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"

str str_of(const char *text)
{
    return (str){text, strlen(text)};
}

bool str_equal(str a, str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

bool str_starts(str text, str prefix)
{
    return text.len >= prefix.len && str_equal((str){text.at, prefix.len}, prefix);
}

bool str_ends(str text, str suffix)
{
    return text.len >= suffix.len && str_equal((str){text.at + text.len - suffix.len, suffix.len}, suffix);
}

static int min3(int a, int b, int c)
{
    int least = a < b ? a : b;
    return least < c ? least : c;
}

int str_distance(str a, str b, int limit)
{
    enum { LONGEST = 63 };
    if (a.len > LONGEST || b.len > LONGEST)
        return limit + 1;
    int rows[3][LONGEST + 1];
    int *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b.len; j++)
        above[j] = (int)j;
    for (size_t i = 1; i <= a.len; i++) {
        row[0] = (int)i;
        for (size_t j = 1; j <= b.len; j++) {
            int change = a.at[i - 1] != b.at[j - 1];
            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + change);
            bool swapped = i > 1 && j > 1 && a.at[i - 1] == b.at[j - 2] && a.at[i - 2] == b.at[j - 1];
            if (swapped && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        int *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[b.len] > limit ? limit + 1 : above[b.len];
}

void str_buf_init(str_buf *b, arena *a)
{
    *b = (str_buf){.arena = a};
}

static void reserve(str_buf *b, size_t more)
{
    size_t need = b->len + more + 1;
    if (need <= b->cap)
        return;
    size_t cap = b->cap ? b->cap * 2 : 64;
    if (cap < need)
        cap = need;
    b->at = arena_grow(b->arena, b->at, b->len, cap);
    b->cap = cap;
}

void str_add(str_buf *b, str text)
{
    reserve(b, text.len);
    if (text.len)
        memcpy(b->at + b->len, text.at, text.len);
    b->len += text.len;
    b->at[b->len] = '\0';
}

void str_addc(str_buf *b, char c)
{
    reserve(b, 1);
    b->at[b->len++] = c;
    b->at[b->len] = '\0';
}

void str_adds(str_buf *b, const char *text)
{
    str_add(b, str_of(text));
}

void str_addf(str_buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t room = b->cap - b->len;
    int len = str_vformat(room ? b->at + b->len : NULL, room, format, args);
    if (len > 0) {
        if ((size_t)len >= room) {
            reserve(b, (size_t)len);
            str_vformat(b->at + b->len, (size_t)len + 1, format, args);
        }
        b->len += (size_t)len;
    }
    va_end(args);
}

const char *str_text(str_buf *b)
{
    reserve(b, 0);
    b->at[b->len] = '\0';
    return b->at;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool str_is_identifier(const char *text)
{
    bool ok = *text && !is_digit(*text);
    for (const char *c = text; *c && ok; c++)
        ok = is_letter(*c) || is_digit(*c) || *c == '_';
    return ok;
}

const char *str_identifier(arena *a, const char *text, size_t most)
{
    str_buf out;
    str_buf_init(&out, a);
    for (const char *c = text; *c && out.len < most; c++) {
        if (is_digit(*c) && !out.len)
            str_addc(&out, 'v');
        if (is_letter(*c) || is_digit(*c))
            str_addc(&out, *c);
        else if (out.len && out.at[out.len - 1] != '_')
            str_addc(&out, '_');
    }
    return out.len ? str_text(&out) : "v";
}

static locale_t c_locale(void)
{
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

double str_to_double(const char *text)
{
    locale_t c = c_locale();
    double value = strtod_l(text, NULL, c);
    freelocale(c);
    return value;
}

void str_add_double(str_buf *b, double value)
{
    if (isnan(value) || isinf(value)) {
        str_adds(b, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    locale_t c = c_locale(), before = uselocale(c);
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    uselocale(before);
    freelocale(c);
    str_adds(b, text);
    if (!strpbrk(text, ".e"))
        str_adds(b, ".0");
}

void str_add_xml(str_buf *b, const char *text)
{
    for (const char *c = text; *c; c++) {
        switch (*c) {
        case '&':
            str_adds(b, "&amp;");
            break;
        case '<':
            str_adds(b, "&lt;");
            break;
        case '>':
            str_adds(b, "&gt;");
            break;
        case '"':
            str_adds(b, "&quot;");
            break;
        case '\'':
            str_adds(b, "&#39;");
            break;
        default:
            if ((unsigned char)*c < 0x20 && *c != '\n' && *c != '\t')
                str_adds(b, "\xef\xbf\xbd");
            else
                str_addc(b, *c);
        }
    }
}
