// f-strings: text and replacement fields, alternating.
#include "frontend/literal.h"

#include <string.h>

#include "grammar/hds.h"

parse_fparts *parse_ffield(parse_state *ps, parse_fparts *parts, ast_fstring_part part)
{
    if (!parts)
        parts = ARENA_NEW(ps->arena, parse_fparts);
    PARSE_PUSH(ps, parts, part);
    return parts;
}

parse_fparts *parse_ftext(parse_state *ps, parse_fparts *parts, lex_token text, bool is_raw)
{
    unsigned flags = PARSE_COOK_BRACES | (is_raw ? PARSE_COOK_RAW : 0);
    str literal = parse_cook(ps, lex_text(&ps->lex, text), flags);
    return parse_ffield(ps, parts, (ast_fstring_part){.literal = literal});
}

char parse_conversion(parse_state *ps, lex_token bang, lex_token name)
{
    str text = lex_text(&ps->lex, name);
    if (text.len == 1 && strchr("rsa", text.at[0]))
        return text.at[0];
    diag *d = parse_report(ps, HDS0025, src_join(bang.span, name.span), "an unknown conversion");
    diag_help(d, "'!r', '!s' and '!a' exist");
    return 0;
}

ast_fstring_part parse_field(parse_state *ps, lex_token open, parse_expr value, const lex_token *equals,
                             char conversion, ast_expr *spec, lex_token close)
{
    ast_fstring_part part = {.value = value.node, .conversion = conversion, .spec = spec};
    if (spec)
        spec->span.end = close.span.begin;
    if (equals) { // the text as written, blanks included, up to what follows the '='
        const char *text = ps->lex.text, *begin = text + (open.span.end - ps->lex.base);
        const char *end = text + (equals->span.end - ps->lex.base);
        const char *limit = text + (close.span.begin - ps->lex.base);
        while (end < limit && (*end == ' ' || *end == '\t'))
            end++;
        part.debug = arena_strndup(ps->arena, begin, (size_t)(end - begin));
    }
    return part;
}

ast_expr *parse_fstring(parse_state *ps, lex_token start, parse_fparts *parts, uint32_t end)
{
    ast_fstring *node = PARSE_NODE(ps, FSTRING, fstring, start.span);
    uint32_t height = 0;
    for (size_t i = 0; parts && i < parts->len; i++) {
        ast_fstring_part part = parts->at[i];
        PARSE_PUSH(ps, &node->parts, part);
        height = parse_higher(parse_higher(height, part.value), part.spec);
    }
    node->node.span.end = end;
    parse_grow(ps, &node->node, height);
    return &node->node;
}
