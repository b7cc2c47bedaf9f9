// The tokens of Hidet Script: Python's, byte by byte.
//
// One function per context: ordinary tokens, the inside of a string, the text of an f-string. None of them knows what
// came before; layout.c calls them and keeps the books. Reading stops at [limit]: YYPEEK yields 0 there, and re2c's
// end-of-input rule `$` tells that 0 from a NUL byte in the file. Bytes from 0x80 on count as letters: the file has been
// checked to be UTF-8 (bytes.c), and a Unicode letter class would make ten thousand lines of this.
#include "frontend/lex.h"

#include <string.h>

#include "grammar/hds.h"

/*!re2c
    re2c:api                 = custom;
    re2c:api:style           = free-form;
    re2c:define:YYCTYPE      = "unsigned char";
    re2c:define:YYPEEK       = "(cursor < limit ? (unsigned char)*cursor : 0)";
    re2c:define:YYSKIP       = "++cursor;";
    re2c:define:YYBACKUP     = "marker = cursor;";
    re2c:define:YYRESTORE    = "cursor = marker;";
    re2c:define:YYLESSTHAN   = "cursor >= limit";
    re2c:yyfill:enable       = 0;
    re2c:eof                 = 0;
    re2c:flags:case-ranges   = 1;

    any        = [^];
    newline    = "\r\n" | "\n" | "\r";
    blank      = [ \t\f\x00];
    letter     = [a-zA-Z_];
    digit      = [0-9];
    digits     = digit ("_"? digit)*;
    exponent   = [eE] [+-]? digits;
    float      = digits "." digits? exponent? | "." digits exponent? | digits exponent;
    radix      = "0" [xX] ("_"? [0-9a-fA-F])+ | "0" [oO] ("_"? [0-7])+ | "0" [bB] ("_"? [01])+;
    arithmetic = "+" | "-" | "*" | "/" | "//" | "%" | "@" | "**";
    prefix     = [rRuUbB] | [rR] [bB] | [bB] [rR];
    fprefix    = [fF] | [fF] [rR] | [rR] [fF];
*/

static bool is_word_byte(char c)
{
    unsigned char u = (unsigned char)c;
    return (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || (u >= '0' && u <= '9') || u == '_' || u >= 0x80;
}

// Characters that look like something else, from word processors and web pages.
static const struct {
    const char *bytes;
    const char *name;
    const char *instead;
} lookalikes[] = {
    {"\xc2\xa0", "U+00A0, a no-break space", "a space"},
    {"\xe2\x80\x8b", "U+200B, a zero-width space", "nothing"},
    {"\xef\xbb\xbf", "U+FEFF, a byte order mark", "nothing"},
    {"\xe3\x80\x80", "U+3000, an ideographic space", "a space"},
    {"\xe2\x80\x98", "U+2018, a typographic quote", "'"},
    {"\xe2\x80\x99", "U+2019, a typographic quote", "'"},
    {"\xe2\x80\x9c", "U+201C, a typographic quote", "\""},
    {"\xe2\x80\x9d", "U+201D, a typographic quote", "\""},
    {"\xe2\x80\x93", "U+2013, an en dash", "-"},
    {"\xe2\x80\x94", "U+2014, an em dash", "-"},
    {"\xe2\x88\x92", "U+2212, a minus sign", "-"},
    {"\xc3\x97", "U+00D7, a multiplication sign", "*"},
    {"\xc2\xb7", "U+00B7, a middle dot", "*"},
    {"\xe2\x89\xa4", "U+2264, less-than or equal", "<="},
    {"\xe2\x89\xa5", "U+2265, greater-than or equal", ">="},
    {"\xe2\x89\xa0", "U+2260, not equal", "!="},
    {"\xe2\x86\x92", "U+2192, an arrow", "->"},
    {"\xe2\x80\xa6", "U+2026, an ellipsis", "..."},
};

// A word with bytes beyond ASCII is no name.
static uint32_t check_name(lex_state *s)
{
    for (const char *at = s->start; at < s->cursor; at++) {
        if ((unsigned char)*at < 0x80)
            continue;
        for (size_t i = 0; i < sizeof lookalikes / sizeof *lookalikes; i++) {
            size_t len = strlen(lookalikes[i].bytes);
            if ((size_t)(s->cursor - at) < len || memcmp(at, lookalikes[i].bytes, len) != 0)
                continue;
            diag *d = lex_report(s, HDS0002, lex_span(s, at, at + len), lookalikes[i].name);
            if (d)
                diag_help(d, strlen(lookalikes[i].instead) > 3 ? "write %s" : "write '%s'", lookalikes[i].instead);
            return LEX_ERROR;
        }
    }
    diag *d = lex_report(s, HDS0031, lex_span(s, s->start, s->cursor), (int)(s->cursor - s->start), s->start);
    if (d)
        diag_help(d, "they are made of the letters a to z and A to Z, digits and '_'; texts and comments may hold anything");
    return LEX_ERROR;
}

static bool is_operator_word(const char *at, size_t len)
{
    static const char words[][5] = {"and", "else", "for", "if", "in", "is", "not", "or"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == len && memcmp(at, words[i], len) == 0)
            return true;
    return false;
}

// What follows a number must not be part of a word, except that Python lets `1if x else y` pass.
static uint32_t check_number(lex_state *s, uint32_t kind)
{
    const char *end = s->cursor;
    while (end < s->limit && is_word_byte(*end))
        end++;
    if (end == s->cursor || is_operator_word(s->cursor, (size_t)(end - s->cursor)))
        return kind;
    const char *why = "digits and a letter or misplaced '_' run together";
    if (*s->start == '0' && s->cursor - s->start == 1 && strchr("xXoObB", *s->cursor))
        why = "a digit of its base must follow the prefix";
    s->cursor = end;
    lex_report(s, HDS0006, lex_span(s, s->start, end), why);
    return kind;
}

// `007` was octal once: Python refuses it, and so do we.
static uint32_t check_decimal(lex_state *s)
{
    const char *end = s->cursor;
    if (*s->start == '0') {
        for (const char *at = s->start; at < end; at++) {
            if (*at == '0' || *at == '_')
                continue;
            diag *d = lex_report(s, HDS0006, lex_span(s, s->start, end), "a decimal number starts with '0'");
            if (d)
                diag_help(d, "drop the zeros, or write '0o' before an octal number");
            break;
        }
    }
    return check_number(s, LEX_INT);
}

// Moves past the closing quotes of a string whose opening quote was read. False if it is never closed; the cursor
// then stands at the end of the line, or of the file for a triple-quoted one.
static bool skip_string(lex_state *s, char quote, bool triple)
{
    const char *cursor = s->cursor, *const limit = s->limit, *marker = cursor;
    for (;;) {
        const char *piece = cursor;
    /*!re2c
        [^"'\\\r\n]+            { continue; }
        "\\" (newline | any)    { continue; }
        newline                 { if (triple) continue; s->cursor = piece; return false; }
        ["']                    {
                                    if (*piece != quote)
                                        continue;
                                    if (!triple) {
                                        s->cursor = cursor;
                                        return true;
                                    }
                                    if (limit - piece >= 3 && piece[1] == quote && piece[2] == quote) {
                                        s->cursor = piece + 3;
                                        return true;
                                    }
                                    continue;
                                }
        "\\"                    { continue; }
        $                       { s->cursor = cursor; return false; }
    */
    }
}

// After the opening quote of a string or f-string: moves past the other two of a triple quote.
static bool open_quotes(lex_state *s, char quote)
{
    if (s->limit - s->cursor < 2 || s->cursor[0] != quote || s->cursor[1] != quote)
        return false;
    s->cursor += 2;
    return true;
}

static uint32_t scan_string(lex_state *s)
{
    char quote = s->cursor[-1];
    bool triple = open_quotes(s, quote);
    const char *body = s->cursor;
    if (skip_string(s, quote, triple))
        return LEX_STRING;
    const lex_frame *field = lex_innermost(s);
    if (field && field->kind == LEX_FRAME_FIELD && field->quote == quote && !field->triple) {
        lex_report(s, HDS0007, field->span, field->open);  // the quote was to close the f-string
        return LEX_ERROR;
    }
    diag *d = lex_report(s, HDS0005, lex_span(s, s->start, body), triple ? "triple-quoted string" : "string");
    if (d && !triple)
        diag_help(d, "close the string on this line, or use triple quotes for several lines");
    return LEX_ERROR;
}

static uint32_t bad_character(lex_state *s)
{
    unsigned char c = (unsigned char)*s->start;
    const char *shown = c < 0x20 || c == 0x7f ? arena_printf(s->px->arena, "with code 0x%02x", c)
                                              : arena_printf(s->px->arena, "'%c'", c);
    diag *d = lex_report(s, HDS0002, lex_span(s, s->start, s->cursor), shown);
    if (d && c == '?')
        diag_help(d, "a choice is written 'a if condition else b'");
    return LEX_ERROR;
}

uint32_t lex_scan(lex_state *s)
{
    const char *cursor = s->cursor, *const limit = s->limit, *marker = cursor;
    const char *start;
#define TOKEN(kind)                                                                                                    \
    do {                                                                                                               \
        s->start = start;                                                                                              \
        s->cursor = cursor;                                                                                            \
        return (kind);                                                                                                 \
    } while (0)
    for (;;) {
        start = cursor;
    /*!re2c
        blank+                  { continue; }
        "#" [^\r\n]*            { continue; }
        "\\" newline            { continue; }
        newline                 { TOKEN(LEX_NEWLINE); }
        $                       { TOKEN(LEX_END); }

        "and"                   { TOKEN(LEX_AND); }
        "as"                    { TOKEN(LEX_AS); }
        "assert"                { TOKEN(LEX_ASSERT); }
        "async"                 { TOKEN(LEX_ASYNC); }
        "await"                 { TOKEN(LEX_AWAIT); }
        "break"                 { TOKEN(LEX_BREAK); }
        "class"                 { TOKEN(LEX_CLASS); }
        "continue"              { TOKEN(LEX_CONTINUE); }
        "def"                   { TOKEN(LEX_DEF); }
        "del"                   { TOKEN(LEX_DEL); }
        "elif"                  { TOKEN(LEX_ELIF); }
        "else"                  { TOKEN(LEX_ELSE); }
        "except"                { TOKEN(LEX_EXCEPT); }
        "False"                 { TOKEN(LEX_FALSE); }
        "finally"               { TOKEN(LEX_FINALLY); }
        "for"                   { TOKEN(LEX_FOR); }
        "from"                  { TOKEN(LEX_FROM); }
        "global"                { TOKEN(LEX_GLOBAL); }
        "if"                    { TOKEN(LEX_IF); }
        "import"                { TOKEN(LEX_IMPORT); }
        "in"                    { TOKEN(LEX_IN); }
        "is"                    { TOKEN(LEX_IS); }
        "lambda"                { TOKEN(LEX_LAMBDA); }
        "match"                 { TOKEN(LEX_MATCH); }
        "None"                  { TOKEN(LEX_NONE); }
        "nonlocal"              { TOKEN(LEX_NONLOCAL); }
        "not"                   { TOKEN(LEX_NOT); }
        "or"                    { TOKEN(LEX_OR); }
        "pass"                  { TOKEN(LEX_PASS); }
        "raise"                 { TOKEN(LEX_RAISE); }
        "return"                { TOKEN(LEX_RETURN); }
        "True"                  { TOKEN(LEX_TRUE); }
        "try"                   { TOKEN(LEX_TRY); }
        "type"                  { TOKEN(LEX_TYPE); }
        "while"                 { TOKEN(LEX_WHILE); }
        "with"                  { TOKEN(LEX_WITH); }
        "yield"                 { TOKEN(LEX_YIELD); }
        letter (letter | digit)* { TOKEN(LEX_NAME); }
        (letter | [\x80-\xff]) (letter | digit | [\x80-\xff])* {
                                    s->start = start;
                                    s->cursor = cursor;
                                    return check_name(s);
                                }

        digits                  { s->start = start; s->cursor = cursor; return check_decimal(s); }
        radix                   { s->start = start; s->cursor = cursor; return check_number(s, LEX_INT); }
        float                   { s->start = start; s->cursor = cursor; return check_number(s, LEX_FLOAT); }
        (float | digits) [jJ]   { s->start = start; s->cursor = cursor; return check_number(s, LEX_FLOAT); }

        prefix? ["']            { s->start = start; s->cursor = cursor; return scan_string(s); }
        fprefix ["']            {
                                    s->start = start;
                                    s->cursor = cursor;
                                    open_quotes(s, cursor[-1]);
                                    return LEX_FSTRING_START;
                                }

        "("                     { TOKEN(LEX_LPAREN); }
        ")"                     { TOKEN(LEX_RPAREN); }
        "["                     { TOKEN(LEX_LBRACKET); }
        "]"                     { TOKEN(LEX_RBRACKET); }
        "{"                     { TOKEN(LEX_LBRACE); }
        "}"                     { TOKEN(LEX_RBRACE); }
        ","                     { TOKEN(LEX_COMMA); }
        ":"                     { TOKEN(LEX_COLON); }
        ":="                    { TOKEN(LEX_WALRUS); }
        ";"                     { TOKEN(LEX_SEMICOLON); }
        "."                     { TOKEN(LEX_DOT); }
        "..."                   { TOKEN(LEX_ELLIPSIS); }
        "->"                    { TOKEN(LEX_ARROW); }
        "="                     { TOKEN(LEX_ASSIGN); }
        (arithmetic | "&" | "|" | "^" | "<<" | ">>") "=" { TOKEN(LEX_AUG_ASSIGN); }
        "==" | "!=" | "<" | "<=" | ">" | ">=" { TOKEN(LEX_COMPARE); }
        "+"                     { TOKEN(LEX_PLUS); }
        "-"                     { TOKEN(LEX_MINUS); }
        "*"                     { TOKEN(LEX_STAR); }
        "/"                     { TOKEN(LEX_SLASH); }
        "//"                    { TOKEN(LEX_FLOOR); }
        "%"                     { TOKEN(LEX_PERCENT); }
        "@"                     { TOKEN(LEX_AT); }
        "**"                    { TOKEN(LEX_POWER); }
        "<<"                    { TOKEN(LEX_SHL); }
        ">>"                    { TOKEN(LEX_SHR); }
        "&"                     { TOKEN(LEX_AMPERSAND); }
        "|"                     { TOKEN(LEX_BAR); }
        "^"                     { TOKEN(LEX_CARET); }
        "~"                     { TOKEN(LEX_TILDE); }
        "!"                     { TOKEN(LEX_BANG); }

        "\\"                    {
                                    s->start = start;
                                    s->cursor = cursor;
                                    lex_report(s, HDS0027, lex_span(s, start, cursor));
                                    return LEX_ERROR;
                                }
        *                       { s->start = start; s->cursor = cursor; return bad_character(s); }
    */
    }
#undef TOKEN
}

// Where the text of an f-string stops being text: at a brace that is not doubled, the closing quotes, or (false) a line
// or file that ends too early.
static bool skip_text(lex_state *s, const lex_frame *frame)
{
    const char *cursor = s->cursor, *const limit = s->limit, *marker = cursor;
    for (;;) {
        const char *piece = cursor;
    /*!re2c
        [^{}"'\\\r\n]+          { continue; }
        "{{" | "}}"             { if (!frame->in_spec) continue; s->cursor = piece; return true; }
        "{"                     { s->cursor = piece; return true; }
        "}"                     {
                                    if (frame->in_spec) {
                                        s->cursor = piece;
                                        return true;
                                    }
                                    diag *d = lex_report(s, HDS0025, lex_span(s, piece, cursor), "a single '}'");
                                    if (d)
                                        diag_help(d, "write '}}' for a brace in the text");
                                    continue;
                                }
        "\\N{" [^{}"'\\\r\n]* "}" { if (frame->raw) cursor = piece + 2; continue; }
        "\\" [{}]               { cursor = piece + 1; continue; }
        "\\" (newline | any)    {
                                    if (frame->raw && piece[1] != '\\' && piece[1] != frame->quote)
                                        cursor = piece + 1;
                                    continue;
                                }
        "\\"                    { continue; }
        newline                 { if (frame->triple) continue; s->cursor = piece; return false; }
        ["']                    {
                                    if (*piece != frame->quote)
                                        continue;
                                    bool closes = limit - piece >= 3 && piece[1] == *piece && piece[2] == *piece;
                                    if (frame->triple && !closes)
                                        continue;
                                    s->cursor = piece;
                                    return true;
                                }
        $                       { s->cursor = cursor; return false; }
    */
    }
}

uint32_t lex_scan_fstring(lex_state *s, const lex_frame *frame)
{
    s->start = s->cursor;
    if (!skip_text(s, frame)) {
        lex_report(s, HDS0005, frame->span, frame->triple ? "triple-quoted f-string" : "f-string");
        return LEX_ERROR;
    }
    if (s->cursor > s->start)
        return frame->raw ? LEX_FSTRING_RAW_TEXT : LEX_FSTRING_TEXT;
    char c = *s->cursor++;
    if (c == '{')
        return LEX_FSTRING_OPEN;
    if (c == '}')
        return LEX_FSTRING_CLOSE;
    if (frame->triple)
        s->cursor += 2;
    return LEX_FSTRING_END;
}
