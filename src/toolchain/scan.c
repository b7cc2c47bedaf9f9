#include "toolchain/scan.h"

#include <string.h>

str tool_skip_spaces(str s)
{
    while (s.len && (*s.at == ' ' || *s.at == '\t'))
        s = (str){s.at + 1, s.len - 1};
    return s;
}

str tool_after(str s, size_t len)
{
    return (str){s.at + len, s.len - len};
}

bool tool_take(str *s, const char *word)
{
    size_t len = strlen(word);
    if (s->len < len || memcmp(s->at, word, len) != 0)
        return false;
    *s = tool_after(*s, len);
    return true;
}

bool tool_take_number(str *s, uint32_t *out)
{
    size_t len = 0;
    uint64_t value = 0;
    while (len < s->len && s->at[len] >= '0' && s->at[len] <= '9' && value < UINT32_MAX)
        value = value * 10 + (uint64_t)(s->at[len++] - '0');
    if (!len || value >= UINT32_MAX)
        return false;
    *out = (uint32_t)value;
    *s = tool_after(*s, len);
    return true;
}

bool tool_take_line(str *text, str *line)
{
    if (!text->len)
        return false;
    const char *end = memchr(text->at, '\n', text->len);
    size_t len = end ? (size_t)(end - text->at) : text->len;
    *line = (str){text->at, len};
    *text = tool_after(*text, end ? len + 1 : len);
    return true;
}
