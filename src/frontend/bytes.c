// Is a file UTF-8 text? Checked once for the whole file, so that the scanner can take every byte from 0x80 on for a
// part of a letter.
#include "frontend/lex.h"

#include <string.h>

// Length of the well-formed UTF-8 sequence at [at] (RFC 3629: no overlong forms, no surrogates), 0 if there is none.
static size_t sequence_length(const unsigned char *at, const unsigned char *limit)
{
    size_t left = (size_t)(limit - at);
    unsigned char low = 0x80, high = 0xbf;
    size_t len;
    if (at[0] < 0x80)
        return 1;
    if (at[0] >= 0xc2 && at[0] <= 0xdf)
        len = 2;
    else if (at[0] >= 0xe0 && at[0] <= 0xef)
        len = 3;
    else if (at[0] >= 0xf0 && at[0] <= 0xf4)
        len = 4;
    else
        return 0;
    if (left < len)
        return 0;
    if (at[0] == 0xe0)
        low = 0xa0;
    else if (at[0] == 0xed)
        high = 0x9f;
    else if (at[0] == 0xf0)
        low = 0x90;
    else if (at[0] == 0xf4)
        high = 0x8f;
    if (at[1] < low || at[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++)
        if (at[i] < 0x80 || at[i] > 0xbf)
            return 0;
    return len;
}

// True where eight bytes at once are plain ASCII without a NUL: the usual case.
static bool eight_plain_bytes(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    uint64_t zero = (word - 0x0101010101010101u) & ~word;
    return ((word | zero) & 0x8080808080808080u) == 0;
}

void lex_check_bytes(lex_state *s)
{
    const unsigned char *at = (const unsigned char *)s->cursor, *limit = (const unsigned char *)s->limit;
    bool nul_reported = false, utf8_reported = false;
    while (at < limit) {
        if (limit - at >= 8 && eight_plain_bytes(at)) {
            at += 8;
            continue;
        }
        size_t len = *at ? sequence_length(at, limit) : 0;
        src_span span = lex_span(s, (const char *)at, (const char *)at + 1);
        if (!*at && !nul_reported) {
            lex_report(s, HDS0004, span);
            nul_reported = true;
        } else if (*at && !len && !utf8_reported) {
            diag *d = lex_report(s, HDS0003, span, *at);
            diag_help(d, "save the file as UTF-8");
            utf8_reported = true;
        }
        at += len ? len : 1;
    }
}
