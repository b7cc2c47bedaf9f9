// Syntax errors in words: what was expected, what was found, and what the author may have meant.
#include "frontend/parse_priv.h"

#include <string.h>

#include "grammar/hds.h"

// What a terminal is within a list of what was expected.
typedef enum token_role {
    ROLE_OTHER,    // never listed
    ROLE_WORD,     // listed: a keyword that must come here
    ROLE_CLOSER,   // listed: it ends something
    ROLE_OPERAND,  // begins an expression; all of them together are "an expression"
    ROLE_OPERATOR, // goes on with one; listed only where nothing else is
} token_role;

static const struct {
    const char *text;
    token_role role;
} tokens[] = {
#define LEX_TOKEN(kind, name, text, role) [LEX_##kind] = {text, ROLE_##role},
#include "frontend/lex_tokens.def"
};

// ---- found ---------------------------------------------------------------------------------------------------------

static const char *describe_found(parse_state *ps, lex_token found)
{
    if (found.kind == LEX_INDENT)
        return "an indented line";
    if (tokens[found.kind].text[0] && found.kind != LEX_STAR && found.kind != LEX_POWER)
        return tokens[found.kind].text;
    str text = lex_text(&ps->lex, found);
    if (text.len > 40)
        return arena_printf(ps->arena, "'%.37s...'", arena_strndup(ps->arena, text.at, 37));
    return arena_printf(ps->arena, "'%.*s'", (int)text.len, text.at);
}

// ---- expected ------------------------------------------------------------------------------------------------------

enum { MOST_LISTED = 4 };

typedef struct choices {
    const char *at[MOST_LISTED + 1];
    int len;
} choices;

static void choose(choices *c, const char *text)
{
    if (c->len <= MOST_LISTED)
        c->at[c->len++] = text;
}

static void choose_role(choices *c, const bool *expected, uint32_t count, token_role role)
{
    for (uint32_t kind = 0; kind < count; kind++)
        if (expected[kind] && tokens[kind].role == role && tokens[kind].text[0])
            choose(c, tokens[kind].text);
}

static const char *join(parse_state *ps, const choices *c)
{
    str_buf out;
    str_buf_init(&out, ps->arena);
    for (int i = 0; i < c->len; i++) {
        if (i > 0)
            str_adds(&out, i + 1 == c->len ? " or " : ", ");
        str_adds(&out, c->at[i]);
    }
    return str_text(&out);
}

// The parser reduces before it sees that a token does not fit, and forgets the comma that could have come instead:
// where a bracket may close, another item may come.
static bool may_have_comma(const parse_state *ps, const bool *expected)
{
    const lex_frame *top = lex_innermost(&ps->lex);
    return top && top->kind == LEX_FRAME_BRACKET &&
           (expected[LEX_RPAREN] || expected[LEX_RBRACKET] || expected[LEX_RBRACE]);
}

static const char *describe_expected(parse_state *ps, const bool *expected, uint32_t count)
{
    choices c = {.len = 0};
    if (expected[LEX_PASS])
        return "a statement";
    bool operand = expected[LEX_INT] && expected[LEX_NAME];
    if (operand)
        choose(&c, "an expression");
    else if (expected[LEX_NAME])
        choose(&c, "a name");
    choose_role(&c, expected, count, ROLE_WORD);
    if (!operand && may_have_comma(ps, expected))
        choose(&c, "','");
    choose_role(&c, expected, count, ROLE_CLOSER);
    if (!c.len)
        choose_role(&c, expected, count, ROLE_OPERAND);
    if (!c.len)
        choose_role(&c, expected, count, ROLE_OPERATOR);
    if (!c.len)
        return "something else";
    if (c.len > MOST_LISTED)
        return operand ? "an expression" : "the end of the expression";
    return join(ps, &c);
}

// ---- what the author may have meant --------------------------------------------------------------------------------

static bool text_is(const parse_state *ps, lex_token token, const char *text)
{
    return token.kind && str_equal(lex_text(&ps->lex, token), str_of(text));
}

static bool touches(lex_token before, lex_token after)
{
    return before.span.end == after.span.begin;
}

static bool is_keyword(uint32_t kind)
{
    return (kind >= LEX_DEF && kind <= LEX_YIELD) || (kind >= LEX_TRUE && kind <= LEX_NONE) || kind == LEX_IN ||
           kind == LEX_IS || kind == LEX_NOT || kind == LEX_AND || kind == LEX_OR;
}

// Two words in a row: the first is taken from another language.
static const char *foreign_word(parse_state *ps, lex_token first)
{
    static const char *const words[][2] = {
        {"print", "call it: 'print(...)'"},
        {"printf", "call it: 'printf(...)'"},
        {"function", "functions begin with 'def'"},
        {"func", "functions begin with 'def'"},
        {"fn", "functions begin with 'def'"},
        {"void", "functions begin with 'def'; a local needs no type"},
        {"var", "variables are created by assignment: 'x = value'"},
        {"let", "variables are created by assignment: 'x = value'"},
        {"const", "variables are created by assignment: 'x = value'"},
        {"auto", "variables are created by assignment: 'x = value'"},
        {"int", "a type follows the name: 'x: i32 = value'"},
        {"float", "a type follows the name: 'x: f32 = value'"},
        {"double", "a type follows the name: 'x: f64 = value'"},
        {"bool", "a type follows the name: 'x: bool = value'"},
        {"elseif", "write 'elif'"},
        {"elsif", "write 'elif'"},
        {"switch", "use 'if' and 'elif'"},
        {"struct", "records begin with 'class'"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_is(ps, first, words[i][0]))
            return words[i][1];
    return NULL;
}

static const char *operator_hint(const parse_state *ps, lex_token found)
{
    lex_token before = ps->previous[0], before2 = ps->previous[1];
    if (found.kind == LEX_AMPERSAND && before.kind == LEX_AMPERSAND && touches(before, found))
        return "write 'and'";
    if (found.kind == LEX_BAR && before.kind == LEX_BAR && touches(before, found))
        return "write 'or'";
    if (found.kind == LEX_BANG)
        return "write 'not'";
    if (before.kind == LEX_PLUS && before2.kind == LEX_PLUS && touches(before2, before))
        return "there is no '++'; write 'x += 1'";
    if (before.kind == LEX_MINUS && before2.kind == LEX_MINUS && touches(before2, before))
        return "there is no '--'; write 'x -= 1'";
    if (text_is(ps, before, "<") && text_is(ps, found, ">") && touches(before, found))
        return "write '!='";
    if (before.kind == LEX_ASSIGN && found.kind == LEX_COMPARE && touches(before, found))
        return "write '>=' or '<='";
    if (before.kind == LEX_COMPARE && found.kind == LEX_ASSIGN && touches(before, found))
        return "write '=='";
    return NULL;
}

static const char *hint(parse_state *ps, lex_token found, const bool *expected)
{
    lex_token before = ps->previous[0], head = ps->lex.head;
    const char *text = operator_hint(ps, found);
    if (text)
        return text;
    bool tests = head.kind == LEX_IF || head.kind == LEX_ELIF || head.kind == LEX_WHILE || head.kind == LEX_ASSERT;
    if (found.kind == LEX_ASSIGN && (tests || ps->lex.depth))
        return "a comparison is written '=='";
    if (found.kind == LEX_WALRUS)
        return "write '=' here, or put the assignment in parentheses";
    if (before.kind == LEX_ELSE && found.kind == LEX_IF)
        return "write 'elif'";
    if (before.kind == LEX_NAME && before.span.begin == head.span.begin && tokens[found.kind].role == ROLE_OPERAND)
        text = foreign_word(ps, before);
    if (text)
        return text;
    if (found.kind == LEX_LBRACE && (expected[LEX_COLON] || expected[LEX_NEWLINE]))
        return "a block begins with ':' and is indented";
    if (found.kind == LEX_NEWLINE && before.kind == LEX_COMMA && head.kind == LEX_FROM)
        return "put the names in parentheses to continue after ','";
    if (found.kind == LEX_FSTRING_SPEC && expected[LEX_COLON])
        return "put the lambda in parentheses";
    if ((found.kind == LEX_ELSE || found.kind == LEX_ELIF) && expected[LEX_PASS])
        return "it must be indented like its 'if' and follow the block";
    if (is_keyword(found.kind) && expected[LEX_NAME] && !expected[LEX_PASS])
        return "this word is a keyword and cannot be a name";
    return NULL;
}

// ---- reporting -----------------------------------------------------------------------------------------------------

// Follows from an error that was reported already.
static bool is_consequence(const parse_state *ps, lex_token found)
{
    if (found.kind == LEX_ERROR)
        return true;
    bool goes_on =
        found.kind == LEX_ELSE || found.kind == LEX_ELIF || found.kind == LEX_EXCEPT || found.kind == LEX_FINALLY;
    return goes_on && ps->broken_before;
}

// The next statement began before the brackets were closed: the bracket is what is wrong, not this token.
static bool is_unclosed(const parse_state *ps, lex_token found)
{
    token_role role = tokens[found.kind].role;
    const lex_frame *top = lex_innermost(&ps->lex);
    return top && ps->lex.first_on_line && (role == ROLE_OPERAND || role == ROLE_WORD) &&
           top->span.begin != found.span.begin && lex_at_margin(&ps->lex);
}

void parse_explain(parse_state *ps, lex_token found, const bool *expected, uint32_t count)
{
    if (is_consequence(ps, found)) {
        ps->lex.failed = true;
        return;
    }
    if (is_unclosed(ps, found)) {
        const lex_frame *top = lex_innermost(&ps->lex);
        parse_report(ps, HDS0007, top->span, top->open);
        return;
    }
    const char *wanted = describe_expected(ps, expected, count);
    diag *d = parse_report(ps, HDS0001, found.span, wanted, describe_found(ps, found));
    const char *text = hint(ps, found, expected);
    if (text)
        diag_help(d, "%s", text);
}
