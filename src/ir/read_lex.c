// Tokens of the text form.
#include "ir/read_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// ---- errors ------------------------------------------------------------------------------------------------------

void ir_read_fail(reader *r, src_span span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    diag_report(r->diags, HDS0403, span, arena_vprintf(r->arena, format, args));
    va_end(args);
    longjmp(r->failed, 1);
}

static const char *token_text(reader *r)
{
    const token *t = &r->now;
    if (t->kind == T_END)
        return "the end of the file";
    size_t begin = t->span.begin - r->file->base, len = t->span.end - t->span.begin;
    return arena_printf(r->arena, "'%.*s'", (int)(len < 40 ? len : 40), r->file->text.at + begin);
}

void ir_read_expected(reader *r, const char *what)
{
    ir_read_fail(r, r->now.span, "expected %s, found %s", what, token_text(r));
}

void ir_read_enter(reader *r)
{
    if (++r->depth > READ_MAX_DEPTH)
        ir_read_fail(r, r->now.span, "nested too deeply: expected at most %d levels", READ_MAX_DEPTH);
}

void ir_read_leave(reader *r)
{
    r->depth--;
}

void ir_read_grow(reader *r, int below)
{
    r->height = below + 1;
    if (r->height > READ_MAX_DEPTH)
        ir_read_fail(r, r->now.span, "nested too deeply: expected at most %d levels", READ_MAX_DEPTH);
}

// ---- characters --------------------------------------------------------------------------------------------------

static int peek(const reader *r, size_t ahead)
{
    size_t i = r->at + ahead;
    return i < r->file->text.len ? (unsigned char)r->file->text.at[i] : -1;
}

static bool is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static src_span span_from(const reader *r, size_t begin)
{
    return (src_span){r->file->base + (uint32_t)begin, r->file->base + (uint32_t)r->at};
}

static str text_from(const reader *r, size_t begin)
{
    return (str){r->file->text.at + begin, r->at - begin};
}

// Spaces, line ends and comments; says whether a line began.
static bool skip_space(reader *r)
{
    bool new_line = r->at == 0;
    for (;; r->at++) {
        int c = peek(r, 0);
        if (c == '#' || c == ';') {
            while (peek(r, 0) >= 0 && peek(r, 0) != '\n')
                r->at++;
            c = peek(r, 0);
        }
        if (c == '\n')
            new_line = true;
        else if (c != ' ' && c != '\t' && c != '\r')
            return new_line;
    }
}

// ---- tokens ------------------------------------------------------------------------------------------------------

static bool has_axis(str word)
{
    return str_equal(word, STR("tid")) || str_equal(word, STR("bid")) || str_equal(word, STR("bdim")) ||
           str_equal(word, STR("gdim"));
}

// tid.x is one word; x.2 is the second variable of the name x.
static void lex_suffix(reader *r)
{
    token *t = &r->now;
    if (peek(r, 0) != '.')
        return;
    int c = peek(r, 1);
    if (is_digit(c)) {
        t->is_numbered = true;
        r->at++;
        while (is_digit(peek(r, 0)))
            r->at++;
    } else if (!t->is_quoted && has_axis(t->text) && c >= 'x' && c <= 'z' && !is_letter(peek(r, 2)) &&
               !is_digit(peek(r, 2))) {
        r->at += 2;
        t->text.len += 2;
    }
}

static void lex_name(reader *r, size_t begin)
{
    while (is_letter(peek(r, 0)) || is_digit(peek(r, 0)))
        r->at++;
    r->now.kind = T_NAME;
    r->now.text = text_from(r, begin);
    lex_suffix(r);
    r->now.full = text_from(r, begin);
}

static void lex_quoted_name(reader *r, size_t begin)
{
    str_buf b;
    str_buf_init(&b, r->arena);
    for (r->at++;; r->at++) {
        int c = peek(r, 0);
        if (c <= 0)
            ir_read_fail(r, span_from(r, begin), "expected '`' at the end of a quoted name");
        if (c == '`' && peek(r, 1) != '`')
            break;
        if (c == '`')
            r->at++;
        str_addc(&b, (char)c);
    }
    r->at++;
    if (!b.len)
        ir_read_fail(r, span_from(r, begin), "expected a name between the quotes");
    r->now.kind = T_NAME;
    r->now.is_quoted = true;
    r->now.text = (str){b.at, b.len};
    lex_suffix(r);
    r->now.full = text_from(r, begin);
}

static void lex_number_suffix(reader *r)
{
    size_t begin = r->at;
    while (is_letter(peek(r, 0)) || is_digit(peek(r, 0)))
        r->at++;
    int lanes;
    if (r->at > begin && (!ir_text_type_name(text_from(r, begin), &r->now.suffix, &lanes) || lanes))
        ir_read_fail(r, span_from(r, begin), "expected a scalar type after the number");
}

static bool lex_fraction(reader *r)
{
    bool is_float = false;
    if (peek(r, 0) == '.' && is_digit(peek(r, 1))) {
        is_float = true;
        for (r->at++; is_digit(peek(r, 0)); r->at++)
            continue;
    }
    int sign = peek(r, 1) == '+' || peek(r, 1) == '-';
    if (peek(r, 0) == 'e' && is_digit(peek(r, 1 + (size_t)sign))) {
        is_float = true;
        for (r->at += 1 + (size_t)sign; is_digit(peek(r, 0)); r->at++)
            continue;
    }
    return is_float;
}

static void lex_number(reader *r, size_t begin)
{
    while (is_digit(peek(r, 0)))
        r->at++;
    bool is_float = lex_fraction(r);
    const char *text = arena_strndup(r->arena, r->file->text.at + begin, r->at - begin);
    lex_number_suffix(r);
    if (is_float || dt_is_float(r->now.suffix)) {
        r->now.kind = T_FLOAT;
        r->now.number = str_to_double(text);
        return;
    }
    r->now.kind = T_INT;
    errno = 0;
    r->now.magnitude = strtoull(text, NULL, 10);
    if (errno)
        ir_read_fail(r, span_from(r, begin), "the number does not fit in 64 bits");
}

static int hex_digit(int c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char lex_escape(reader *r)
{
    int c = peek(r, 0);
    if (c == 'n')
        return '\n';
    if (c == '"' || c == '\\')
        return (char)c;
    int high = hex_digit(peek(r, 1)), low = high < 0 ? -1 : hex_digit(peek(r, 2));
    if (c != 'x' || low < 0 || high + low == 0)
        ir_read_fail(r, span_from(r, r->at), "expected one of \\n, \\\", \\\\ and \\x01 to \\xff");
    r->at += 2;
    return (char)(high * 16 + low);
}

static void lex_string(reader *r, size_t begin)
{
    str_buf b;
    str_buf_init(&b, r->arena);
    for (r->at++; peek(r, 0) != '"'; r->at++) {
        int c = peek(r, 0);
        if (c <= 0 || c == '\n')
            ir_read_fail(r, span_from(r, begin), "expected '\"' at the end of the string");
        if (c == '\\') {
            r->at++;
            c = lex_escape(r);
        }
        str_addc(&b, (char)c);
    }
    r->at++;
    r->now.kind = T_STRING;
    r->now.text = (str){str_text(&b), b.len};
}

// Longest first.
static const char *const signs[] = {
    "//", "<<", ">>", "==", "!=", "<=", ">=", "->", "(", ")", "[", "]", "{", "}", ",", ":", "=",
    "+",  "-",  "*",  "/",  "%",  "&",  "|",  "^",  "~", "!", "@", "<", ">", ".", NULL,
};

static void lex_sign(reader *r, size_t begin)
{
    str rest = {r->file->text.at + begin, r->file->text.len - begin};
    for (const char *const *s = signs; *s; s++) {
        if (*rest.at != **s || !str_starts(rest, str_of(*s)))
            continue;
        r->at += strlen(*s);
        r->now.kind = T_SIGN;
        r->now.sign = *s;
        return;
    }
    r->at++;
    ir_read_fail(r, span_from(r, begin), "unexpected byte 0x%02x", (unsigned)(unsigned char)*rest.at);
}

void ir_read_next(reader *r)
{
    bool starts_line = skip_space(r);
    size_t begin = r->at;
    int c = peek(r, 0);
    r->now = (token){.starts_line = starts_line};
    if (c < 0)
        r->now.kind = T_END;
    else if (is_letter(c))
        lex_name(r, begin);
    else if (c == '`')
        lex_quoted_name(r, begin);
    else if (is_digit(c))
        lex_number(r, begin);
    else if (c == '"')
        lex_string(r, begin);
    else
        lex_sign(r, begin);
    r->now.span = span_from(r, begin);
}

// ---- what a production asks for ----------------------------------------------------------------------------------

bool ir_read_at_sign(const reader *r, const char *sign)
{
    return r->now.kind == T_SIGN && *r->now.sign == *sign && strcmp(r->now.sign, sign) == 0;
}

bool ir_read_at_word(const reader *r, const char *word)
{
    const token *t = &r->now;
    return t->kind == T_NAME && !t->is_quoted && *t->full.at == *word && str_equal(t->full, str_of(word));
}

bool ir_read_continues(const reader *r)
{
    return r->brackets > 0 || !r->now.starts_line;
}

bool ir_read_before(const reader *r, char c)
{
    return peek(r, 0) == c;
}

bool ir_read_take_sign(reader *r, const char *sign)
{
    bool there = ir_read_at_sign(r, sign);
    if (there)
        ir_read_next(r);
    return there;
}

bool ir_read_take_word(reader *r, const char *word)
{
    bool there = ir_read_at_word(r, word);
    if (there)
        ir_read_next(r);
    return there;
}

void ir_read_sign(reader *r, const char *sign)
{
    if (!ir_read_take_sign(r, sign))
        ir_read_expected(r, arena_printf(r->arena, "'%s'", sign));
}

void ir_read_word(reader *r, const char *word)
{
    if (!ir_read_take_word(r, word))
        ir_read_expected(r, arena_printf(r->arena, "'%s'", word));
}

void ir_read_open(reader *r, const char *sign)
{
    r->brackets++;
    ir_read_sign(r, sign);
}

void ir_read_close(reader *r, const char *sign)
{
    if (!ir_read_at_sign(r, sign))
        ir_read_expected(r, arena_printf(r->arena, "'%s'", sign));
    r->brackets--;
    ir_read_next(r);
}

str ir_read_name(reader *r, const char *what)
{
    if (r->now.kind != T_NAME || r->now.is_numbered)
        ir_read_expected(r, what);
    str name = r->now.text;
    ir_read_next(r);
    return name;
}

const char *ir_read_string(reader *r)
{
    if (r->now.kind != T_STRING)
        ir_read_expected(r, "a string");
    const char *text = r->now.text.at;
    ir_read_next(r);
    return text;
}

int64_t ir_read_integer(reader *r)
{
    bool negative = ir_read_take_sign(r, "-");
    uint64_t limit = (uint64_t)INT64_MAX + negative;
    if (r->now.kind != T_INT || r->now.suffix != DT_NONE || r->now.magnitude > limit)
        ir_read_expected(r, "a 64-bit integer");
    uint64_t value = negative ? 0 - r->now.magnitude : r->now.magnitude;
    ir_read_next(r);
    return (int64_t)value;
}

int ir_read_int_in(reader *r, int64_t low, int64_t high)
{
    src_span span = r->now.span;
    int64_t value = ir_read_integer(r);
    if (value < low || value > high)
        ir_read_fail(r, span, "expected a number from %lld to %lld, found %lld", (long long)low, (long long)high,
                     (long long)value);
    return (int)value;
}
