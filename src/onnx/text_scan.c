// Characters, words and literals of models as text.
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/text.h"

// ---- errors -----------------------------------------------------------------------------------------------------------------

// Columns count characters, not bytes.
bool onnx_text_failed(onnx_text *t, size_t at, const char *why)
{
    int line = 1, column = 1;
    for (size_t i = 0; i < at && i < t->all.len; i++) {
        char c = t->all.at[i];
        line += c == '\n';
        column = c == '\n' ? 1 : column + ((c & 0xc0) != 0x80);
    }
    if (!t->error)
        t->error = arena_printf(t->memory, "line %d, column %d: %s", line, column, why);
    return false;
}

bool onnx_text_expected(onnx_text *t, const char *what)
{
    char next = onnx_text_next(t);
    str word = onnx_text_identifier(t, true);
    const char *found = "the end";
    if (word.len)
        found = arena_printf(t->memory, "'%s'", arena_strndup(t->memory, word.at, word.len));
    else if (t->at < t->all.len)
        found = next > ' ' && next < 127 ? arena_printf(t->memory, "'%c'", next)
                                         : arena_printf(t->memory, "a byte of %d", (unsigned char)next);
    return onnx_text_failed(t, t->at, arena_printf(t->memory, "expected %s, found %s", what, found));
}

// ---- characters and words -----------------------------------------------------------------------------------------------------

static bool is_word(char c, bool is_first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!is_first && c >= '0' && c <= '9');
}

static char at(const onnx_text *t, size_t i)
{
    return i < t->all.len ? t->all.at[i] : '\0';
}

char onnx_text_next(onnx_text *t)
{
    while (t->at < t->all.len) {
        char c = t->all.at[t->at];
        if (c == '#')
            while (t->at < t->all.len && t->all.at[t->at] != '\n')
                t->at++;
        else if (c == ' ' || (c >= '\t' && c <= '\r'))
            t->at++;
        else
            return c;
    }
    return '\0';
}

bool onnx_text_take(onnx_text *t, char c)
{
    bool is_there = onnx_text_next(t) == c && t->at < t->all.len;
    t->at += is_there;
    return is_there;
}

bool onnx_text_want(onnx_text *t, char c)
{
    return onnx_text_take(t, c) || onnx_text_expected(t, arena_printf(t->memory, "'%c'", c));
}

bool onnx_text_want_arrow(onnx_text *t)
{
    bool is_there = onnx_text_next(t) == '=' && at(t, t->at + 1) == '>';
    t->at += is_there ? 2 : 0;
    return is_there || onnx_text_expected(t, "'=>'");
}

str onnx_text_identifier(onnx_text *t, bool peek)
{
    onnx_text_next(t);
    size_t end = t->at;
    while (end < t->all.len && is_word(t->all.at[end], end == t->at))
        end++;
    str word = {t->all.at + t->at, end - t->at};
    t->at = peek ? t->at : end;
    return word;
}

bool onnx_text_name(onnx_text *t, str *out)
{
    if (onnx_text_next(t) == '"')
        return onnx_text_string(t, out);
    *out = onnx_text_identifier(t, false);
    return out->len || onnx_text_expected(t, "a name");
}

// ---- literals -----------------------------------------------------------------------------------------------------------------

// Behind a backslash any character stands for itself.
static bool quoted(onnx_text *t, str *out)
{
    size_t begin = t->at++;
    str_buf text;
    str_buf_init(&text, t->memory);
    for (; t->at < t->all.len && t->all.at[t->at] != '"'; t->at++) {
        if (t->all.at[t->at] == '\\' && t->at + 1 < t->all.len)
            t->at++;
        str_addc(&text, t->all.at[t->at]);
    }
    *out = (str){text.len ? text.at : "", text.len};
    if (t->at++ < t->all.len)
        return true;
    t->at = t->all.len;
    return onnx_text_failed(t, begin, "the quotes are not closed");
}

static bool is_number_word(const onnx_text *t, size_t from)
{
    static const char *const words[] = {"inf", "infinity", "nan"};
    size_t end = from;
    while (is_word(at(t, end), false))
        end++;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (end - from == strlen(words[i]) && strncasecmp(t->all.at + from, words[i], end - from) == 0)
            return true;
    return false;
}

bool onnx_text_is_number_word(onnx_text *t)
{
    onnx_text_next(t);
    return is_number_word(t, t->at);
}

static void skip_digits(onnx_text *t)
{
    while (at(t, t->at) >= '0' && at(t, t->at) <= '9')
        t->at++;
}

// -?digits, with a point or an exponent those of a float.
static bool number(onnx_text *t, onnx_literal *out)
{
    size_t begin = t->at;
    t->at += at(t, t->at) == '-';
    bool is_word = is_number_word(t, t->at), is_digit = at(t, t->at) >= '0' && at(t, t->at) <= '9';
    out->kind = is_word ? ONNX_FLOAT : ONNX_INT;
    if (!is_word && !is_digit) {
        t->at = begin;
        return onnx_text_expected(t, "a number or a text in quotes");
    }
    while (is_word && isalpha((unsigned char)at(t, t->at)))
        t->at++;
    skip_digits(t);
    if (!is_word && at(t, t->at) == '.') {
        t->at++;
        out->kind = ONNX_FLOAT;
        skip_digits(t);
    }
    if (!is_word && (at(t, t->at) == 'e' || at(t, t->at) == 'E')) {
        t->at++;
        out->kind = ONNX_FLOAT;
        t->at += at(t, t->at) == '+' || at(t, t->at) == '-';
        if (at(t, t->at) < '0' || at(t, t->at) > '9')
            return onnx_text_failed(t, begin, "the number's exponent has no digits");
        skip_digits(t);
    }
    out->text = arena_strndup(t->memory, t->all.at + begin, t->at - begin);
    return true;
}

bool onnx_text_literal(onnx_text *t, onnx_literal *out)
{
    *out = (onnx_literal){.kind = ONNX_STRING};
    return onnx_text_next(t) == '"' ? quoted(t, &out->string) : number(t, out);
}

bool onnx_text_string(onnx_text *t, str *out)
{
    return onnx_text_next(t) == '"' ? quoted(t, out) : onnx_text_expected(t, "a text in quotes");
}

bool onnx_literal_int(onnx_text *t, const onnx_literal *l, size_t at, int64_t *out)
{
    if (l->kind != ONNX_INT)
        return onnx_text_failed(t, at, "expected a whole number");
    errno = 0;
    *out = strtoll(l->text, NULL, 10);
    return errno == 0 || onnx_text_failed(t, at, "the number does not fit into 64 bits");
}

bool onnx_text_int(onnx_text *t, int64_t least, int64_t most, int64_t *out)
{
    onnx_literal l;
    onnx_text_next(t);
    size_t begin = t->at;
    if (!onnx_text_literal(t, &l) || !onnx_literal_int(t, &l, begin, out))
        return false;
    return (*out >= least && *out <= most) ||
           onnx_text_failed(t, begin, arena_printf(t->memory, "%s is not between %" PRId64 " and %" PRId64, l.text, least, most));
}

bool onnx_text_natural(onnx_text *t, uint64_t *out)
{
    onnx_literal l;
    onnx_text_next(t);
    size_t begin = t->at;
    if (!onnx_text_literal(t, &l))
        return false;
    if (l.kind != ONNX_INT || *l.text == '-')
        return onnx_text_failed(t, begin, "expected a whole number that is not negative");
    errno = 0;
    *out = strtoull(l.text, NULL, 10);
    return errno == 0 || onnx_text_failed(t, begin, "the number does not fit into 64 bits");
}

bool onnx_text_float(onnx_text *t, double *out)
{
    onnx_literal l;
    onnx_text_next(t);
    size_t begin = t->at;
    if (!onnx_text_literal(t, &l))
        return false;
    if (l.kind == ONNX_STRING)
        return onnx_text_failed(t, begin, "expected a number");
    *out = str_to_double(l.text);
    return true;
}
