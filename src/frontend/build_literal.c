// Numbers and strings: from their text to their value.
#include "frontend/literal.h"

#include <string.h>

#include "grammar/hds.h"

// ---- numbers -------------------------------------------------------------------------------------------------------

// Also reads what the scanner has reported as malformed, as far as it goes.
static unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? (unsigned)(lower - 'a') + 10 : 99;
}

parse_expr parse_int(parse_state *ps, lex_token token)
{
    ast_int *node = PARSE_NODE(ps, INT, int, token.span);
    str text = lex_text(&ps->lex, token);
    unsigned base = 10;
    size_t i = 0;
    if (text.len > 2 && text.at[0] == '0' && digit_value(text.at[1]) != 0) {
        char prefix = (char)(text.at[1] | 0x20);
        base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 10;
        i = base == 10 ? 0 : 2;
    }
    for (; i < text.len; i++) {
        unsigned digit = digit_value(text.at[i]);
        if (digit >= base)
            continue;
        unsigned __int128 scaled;
        node->too_large |= __builtin_mul_overflow(node->value, (unsigned __int128)base, &scaled);
        node->too_large |= __builtin_add_overflow(scaled, (unsigned __int128)digit, &node->value);
    }
    node->too_large |= node->value >> 127 != 0;
    return parse_bare(&node->node);
}

parse_expr parse_float(parse_state *ps, lex_token token)
{
    ast_float *node = PARSE_NODE(ps, FLOAT, float, token.span);
    str text = lex_text(&ps->lex, token);
    char small[64];
    char *digits = text.len < sizeof small ? small : arena_alloc(ps->arena, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == 'j' || text.at[i] == 'J')
            node->imaginary = true;
        else if (text.at[i] != '_')
            digits[len++] = text.at[i];
    }
    digits[len] = 0;
    node->value = str_to_double(digits);
    return parse_bare(&node->node);
}

// ---- escapes -------------------------------------------------------------------------------------------------------

// Where a string's text is being read: [at] moves through the source up to [end].
typedef struct reader {
    parse_state *ps;
    const char *at;
    const char *end;
    char *out; // as long as the source at least: no escape is shorter than what it stands for
    bool is_bytes;
} reader;

static src_span escape_span(const reader *r, const char *begin, const char *end)
{
    return lex_span(&r->ps->lex, begin, end);
}

static void put_utf8(reader *r, uint32_t c)
{
    if (c < 0x80) {
        *r->out++ = (char)c;
    } else if (c < 0x800) {
        *r->out++ = (char)(0xc0 | (c >> 6));
        *r->out++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *r->out++ = (char)(0xe0 | (c >> 12));
        *r->out++ = (char)(0x80 | ((c >> 6) & 0x3f));
        *r->out++ = (char)(0x80 | (c & 0x3f));
    } else {
        *r->out++ = (char)(0xf0 | (c >> 18));
        *r->out++ = (char)(0x80 | ((c >> 12) & 0x3f));
        *r->out++ = (char)(0x80 | ((c >> 6) & 0x3f));
        *r->out++ = (char)(0x80 | (c & 0x3f));
    }
}

// In bytes, an escape stands for a byte; in text, for a character.
static void put_code(reader *r, uint32_t c)
{
    if (r->is_bytes)
        *r->out++ = (char)c;
    else
        put_utf8(r, c);
}

// `\x` and two digits, `\u` and four, `\U` and eight. [r]->at is behind the letter.
static void read_hex(reader *r, char letter, int digits)
{
    const char *begin = r->at - 2;
    uint32_t value = 0;
    int count = 0;
    for (; count < digits && r->at < r->end && digit_value(*r->at) < 16; count++)
        value = value * 16 + digit_value(*r->at++);
    src_span span = escape_span(r, begin, r->at);
    if (count < digits)
        parse_report(r->ps, HDS0017, span,
                     arena_printf(r->ps->arena, "'\\%c' needs %d hexadecimal digits", letter, digits));
    else if (value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        parse_report(r->ps, HDS0017, span, arena_printf(r->ps->arena, "U+%04X is not a character", value));
    else
        put_code(r, value);
}

static void read_octal(reader *r, char first)
{
    const char *begin = r->at - 2;
    uint32_t value = digit_value(first);
    for (int i = 1; i < 3 && r->at < r->end && *r->at >= '0' && *r->at <= '7'; i++)
        value = value * 8 + digit_value(*r->at++);
    if (value > 0xff)
        parse_report(r->ps, HDS0017, escape_span(r, begin, r->at), "an octal escape ends at '\\377'");
    else
        put_code(r, value);
}

// `\N{DASH}` would need the table of all Unicode names.
static void read_named(reader *r)
{
    const char *begin = r->at - 2;
    const char *close = r->at < r->end && *r->at == '{' ? memchr(r->at, '}', (size_t)(r->end - r->at)) : NULL;
    if (close)
        r->at = close + 1;
    diag *d = parse_report(r->ps, HDS0017, escape_span(r, begin, r->at), "characters have no names here");
    diag_help(d, "write the character itself, or '\\u' and its four hexadecimal digits");
}

static void unknown_escape(reader *r, char c)
{
    const char *begin = r->at - 2;
    if ((unsigned char)c >= 0x80)
        while (r->at < r->end && ((unsigned char)*r->at & 0xc0) == 0x80)
            r->at++;
    int len = (int)(r->at - begin);
    diag *d = parse_report(r->ps, HDS0018, escape_span(r, begin, r->at), len, begin);
    diag_help(d, "write '\\%.*s' for a backslash, or put 'r' before the string", len, begin);
    memcpy(r->out, begin, (size_t)len);
    r->out += len;
}

// [r]->at is behind the backslash. Every escape takes at least as many bytes as it yields.
static void read_escape(reader *r)
{
    char c = *r->at++;
    switch (c) {
    case '\r':
        if (r->at < r->end && *r->at == '\n')
            r->at++;
        return;
    case '\n':
        return;
    case '\\':
    case '\'':
    case '"':
        *r->out++ = c;
        return;
    case 'a':
        *r->out++ = '\a';
        return;
    case 'b':
        *r->out++ = '\b';
        return;
    case 'f':
        *r->out++ = '\f';
        return;
    case 'n':
        *r->out++ = '\n';
        return;
    case 'r':
        *r->out++ = '\r';
        return;
    case 't':
        *r->out++ = '\t';
        return;
    case 'v':
        *r->out++ = '\v';
        return;
    case 'x':
        read_hex(r, c, 2);
        return;
    default:
        break;
    }
    if (c >= '0' && c <= '7')
        read_octal(r, c);
    else if (!r->is_bytes && (c == 'u' || c == 'U'))
        read_hex(r, c, c == 'u' ? 4 : 8);
    else if (!r->is_bytes && c == 'N')
        read_named(r);
    else
        unknown_escape(r, c);
}

str parse_cook(parse_state *ps, str source, unsigned flags)
{
    bool is_bytes = flags & PARSE_COOK_BYTES;
    reader r = {.ps = ps, .at = source.at, .end = source.at + source.len, .is_bytes = is_bytes};
    char *text = r.out = arena_alloc(ps->arena, source.len + 1);
    bool bytes_reported = false;
    while (r.at < r.end) {
        char c = *r.at++;
        bool before_brace = (flags & PARSE_COOK_BRACES) && r.at < r.end && (*r.at == '{' || *r.at == '}');
        if (c == '\\' && !(flags & PARSE_COOK_RAW) && r.at < r.end && !before_brace) {
            read_escape(&r);
        } else if (c == '\r') { // line ends are '\n', whatever the file's are
            if (r.at < r.end && *r.at == '\n')
                r.at++;
            *r.out++ = '\n';
        } else {
            if (is_bytes && (unsigned char)c >= 0x80 && !bytes_reported) {
                parse_report(ps, HDS0020, escape_span(&r, r.at - 1, r.at));
                bytes_reported = true;
            }
            if (before_brace && *r.at == c)
                r.at++;
            *r.out++ = c;
        }
    }
    return (str){text, (size_t)(r.out - text)};
}

ast_expr *parse_string(parse_state *ps, lex_token token)
{
    ast_string *node = PARSE_NODE(ps, STRING, string, token.span);
    str text = lex_text(&ps->lex, token);
    unsigned flags = 0;
    while (*text.at != '"' && *text.at != '\'') {
        flags |= (*text.at | 0x20) == 'r' ? PARSE_COOK_RAW : (*text.at | 0x20) == 'b' ? PARSE_COOK_BYTES : 0;
        text.at++;
        text.len--;
    }
    size_t quotes = text.len >= 6 && text.at[1] == text.at[0] && text.at[2] == text.at[0] ? 3 : 1;
    str body = {text.at + quotes, text.len - 2 * quotes};
    node->is_bytes = flags & PARSE_COOK_BYTES;
    node->value = parse_cook(ps, body, flags);
    return &node->node;
}

// ---- neighbours ----------------------------------------------------------------------------------------------------

static ast_expr *join_plain(parse_state *ps, ast_list literals, src_span span)
{
    size_t len = 0;
    for (size_t i = 0; i < literals.len; i++)
        len += AST_AS(STRING, string, literals.at[i])->value.len;
    char *text = arena_alloc(ps->arena, len + 1), *end = text;
    for (size_t i = 0; i < literals.len; i++) {
        str literal = AST_AS(STRING, string, literals.at[i])->value;
        memcpy(end, literal.at, literal.len);
        end += literal.len;
    }
    ast_string *node = PARSE_NODE(ps, STRING, string, span);
    node->value = (str){text, len};
    node->is_bytes = AST_AS(STRING, string, literals.at[0])->is_bytes;
    return &node->node;
}

static ast_expr *join_formatted(parse_state *ps, ast_list literals, src_span span)
{
    ast_fstring *node = PARSE_NODE(ps, FSTRING, fstring, span);
    uint32_t height = 0;
    for (size_t i = 0; i < literals.len; i++) {
        if (literals.at[i]->kind == AST_STRING) {
            str literal = AST_AS(STRING, string, literals.at[i])->value;
            PARSE_PUSH(ps, &node->parts, ((ast_fstring_part){.literal = literal}));
            continue;
        }
        ast_fstring *formatted = AST_AS(FSTRING, fstring, literals.at[i]);
        for (size_t k = 0; k < formatted->parts.len; k++)
            PARSE_PUSH(ps, &node->parts, formatted->parts.at[k]);
        height = parse_higher(height, &formatted->node);
    }
    node->node.height = height;
    return &node->node;
}

parse_expr parse_strings(parse_state *ps, ast_list literals)
{
    if (literals.len == 1)
        return parse_bare(literals.at[0]);
    bool any_bytes = false, any_text = false, any_formatted = false;
    for (size_t i = 0; i < literals.len; i++) {
        bool formatted = literals.at[i]->kind == AST_FSTRING;
        bool bytes = !formatted && AST_AS(STRING, string, literals.at[i])->is_bytes;
        any_formatted |= formatted;
        any_bytes |= bytes;
        any_text |= !bytes;
    }
    src_span span = src_join(literals.at[0]->span, literals.at[literals.len - 1]->span);
    if (any_bytes && any_text) {
        parse_report(ps, HDS0019, span);
        return parse_bad(ps, span);
    }
    return parse_bare(any_formatted ? join_formatted(ps, literals, span) : join_plain(ps, literals, span));
}
