// Names of tokens, and a file's tokens as text.
#include "frontend/lex.h"

#include "grammar/hds.h"

const char *lex_kind_name(uint32_t kind)
{
    static const char *const names[] = {
#define LEX_TOKEN(kind, name, text, role) [LEX_##kind] = name,
#include "frontend/lex_tokens.def"
    };
    return kind < sizeof names / sizeof *names && names[kind] ? names[kind] : "?";
}

static void print_text(str text, str_buf *out)
{
    str_addc(out, '`');
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '\n')
            str_adds(out, "\\n");
        else if (c == '\r')
            str_adds(out, "\\r");
        else if ((unsigned char)c < 0x20)
            str_addf(out, "\\x%02x", c);
        else
            str_addc(out, c);
    }
    str_addc(out, '`');
}

// Kinds whose name does not say what was written.
static bool shows_text(uint32_t kind)
{
    return (kind >= LEX_NAME && kind <= LEX_STRING) || kind == LEX_FSTRING_START || kind == LEX_FSTRING_TEXT ||
           kind == LEX_FSTRING_RAW_TEXT || kind == LEX_AUG_ASSIGN || kind == LEX_COMPARE || kind == LEX_ERROR;
}

void lex_print(parse_context *px, src_file *file, str_buf *out)
{
    lex_state *s = arena_alloc(px->arena, sizeof *s);
    lex_begin(s, px, file);
    lex_token token;
    do {
        token = lex_next(s);
        src_location begin = src_location_of(px->diags->sources, token.span.begin);
        src_location end = src_location_of(px->diags->sources, token.span.end);
        str_addf(out, "%u:%u-%u:%u %s", begin.line, begin.column, end.line, end.column, lex_kind_name(token.kind));
        if (shows_text(token.kind)) {
            str_addc(out, ' ');
            print_text(lex_text(s, token), out);
        }
        str_addc(out, '\n');
    } while (token.kind);
}
