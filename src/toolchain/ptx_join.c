#include "toolchain/ptx_join.h"

#include <string.h>

#include "base/map.h"
#include "toolchain/scan.h"

// A module is a head (.version, .target, .address_size, and comments), then directives: declarations, which end with a
// semicolon, and functions, which end with a brace in the first column (PTX ISA, "Directives"; ptxas reads any form, this
// is the one that NVRTC writes). Inline assembly stands between two comments, with braces of its own in any column. Comments stay
// with what follows them.

typedef struct joining {
    arena *arena;
    map known;  // texts of directives, by name
    str_buf *out;
} joining;

static bool is_of_head(str line)
{
    return str_starts(line, STR("//")) || str_starts(line, STR(".version")) || str_starts(line, STR(".target")) ||
           str_starts(line, STR(".address_size"));
}

// The first line of the directives is the one behind the empty line that follows .address_size.
static str head_of(str ptx)
{
    str rest = ptx, line;
    const char *end = ptx.at;
    while (tool_take_line(&rest, &line) && (!line.len || is_of_head(line))) {
        if (str_starts(line, STR(".address_size")))
            return (str){ptx.at, (size_t)(rest.at - ptx.at)};
        end = rest.at;
    }
    return (str){ptx.at, (size_t)(end - ptx.at)};
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

// The last word before a bracket, a parenthesis, an equals sign or a semicolon: '.global .align 4 .b8 table[24] = …'. A
// function that returns something has its result in parentheses first, which no kernel has.
static str name_of(str directive)
{
    size_t end = 0;
    while (end < directive.len && !memchr("[(=;", directive.at[end], 4))
        end++;
    while (end && !is_word(directive.at[end - 1]))
        end--;
    size_t begin = end;
    while (begin && is_word(directive.at[begin - 1]))
        begin--;
    return (str){directive.at + begin, end - begin};
}

// The next directive with the comments before it; false at the end.
static bool take_directive(str *rest, str *comments, str *directive)
{
    str line;
    const char *begin = rest->at, *code = NULL;
    bool has_body = false, is_inline = false;
    while (tool_take_line(rest, &line)) {
        str bare = tool_skip_spaces(line);
        is_inline = is_inline ? !str_starts(bare, STR("// end inline asm")) : str_starts(bare, STR("// begin inline asm"));
        if (is_inline)
            continue;
        if (!code && (!bare.len || str_starts(bare, STR("//"))))
            continue;
        if (!code)
            code = line.at;
        has_body |= str_starts(line, STR("{"));
        if (has_body ? str_starts(line, STR("}")) : str_ends(bare, STR(";")))
            break;
    }
    if (!code)
        return false;
    *comments = (str){begin, (size_t)(code - begin)};
    *directive = (str){code, (size_t)(rest->at - code)};
    return true;
}

static bool add(joining *j, str comments, str directive)
{
    str name = name_of(directive);
    const str *known = map_get(&j->known, name.at, name.len);
    if (known)
        return str_equal(*known, directive) && !memmem(directive.at, directive.len, ".entry", 6);
    str *copy = ARENA_NEW(j->arena, str);
    *copy = directive;
    map_put(&j->known, name.at, name.len, copy);
    str_add(j->out, comments);
    str_add(j->out, directive);
    return true;
}

bool tool_ptx_join(arena *a, const str *texts, size_t count, str *out)
{
    str_buf joined;
    str_buf_init(&joined, a);
    joining j = {.arena = a, .out = &joined};
    map_init(&j.known, a);
    str head = count ? head_of(texts[0]) : (str){0};
    str_add(&joined, head);
    for (size_t i = 0; i < count; i++) {
        str own = head_of(texts[i]), comments, directive;
        str rest = {texts[i].at + own.len, texts[i].len - own.len};
        if (!str_equal(own, head))
            return false;
        while (take_directive(&rest, &comments, &directive)) {
            if (!add(&j, comments, directive))
                return false;
        }
    }
    *out = (str){str_text(&joined), joined.len};
    return true;
}
