#include "toolchain/lz4.h"

#include <stdint.h>
#include <string.h>

// LEAST: of a match. The block ends with LAST literals at least, and no match begins in the final MARGIN bytes.
enum { LEAST = 4, LAST = 5, MARGIN = 12, WINDOW = 65535 };
enum { HASH_BITS = 16, MOST_TRIES = 64, LENGTH_MASK = 15 };

// Positions with the same hash of their next four bytes, newest first: [heads] by hash, [before] by position.
typedef struct chains {
    const unsigned char *text;
    size_t len;
    int32_t *heads, *before;
} chains;

typedef struct match {
    size_t at, len;
} match;

static uint32_t four_bytes(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint32_t hash_of(const chains *c, size_t at)
{
    return four_bytes(c->text + at) * 2654435761u >> (32 - HASH_BITS);
}

static void enter(chains *c, size_t at)
{
    uint32_t hash = hash_of(c, at);
    c->before[at] = c->heads[hash];
    c->heads[hash] = (int32_t)at;
}

static size_t common_length(const chains *c, size_t early, size_t late)
{
    size_t len = 0, most = c->len - LAST - late;
    while (len < most && c->text[early + len] == c->text[late + len])
        len++;
    return len;
}

static match longest(const chains *c, size_t at)
{
    match best = {0};
    int tries = 0;
    for (int32_t early = c->heads[hash_of(c, at)]; early >= 0 && tries < MOST_TRIES; early = c->before[early], tries++) {
        if (at - (size_t)early > WINDOW)
            break;
        size_t len = common_length(c, (size_t)early, at);
        if (len >= LEAST && len > best.len)
            best = (match){(size_t)early, len};
    }
    return best;
}

// What does not fit into the token's four bits.
static void add_length(str_buf *out, size_t len)
{
    if (len < LENGTH_MASK)
        return;
    for (len -= LENGTH_MASK; len >= 255; len -= 255)
        str_addc(out, (char)255);
    str_addc(out, (char)len);
}

static size_t nibble(size_t len)
{
    return len < LENGTH_MASK ? len : LENGTH_MASK;
}

// Literals, and the match behind them, if there is one ([len] not 0).
static void add_sequence(str_buf *out, const char *literals, size_t count, size_t offset, size_t len)
{
    size_t rest = len ? len - LEAST : 0;
    str_addc(out, (char)(nibble(count) << 4 | nibble(rest)));
    add_length(out, count);
    str_add(out, (str){literals, count});
    if (!len)
        return;
    str_addc(out, (char)(offset & 0xff));
    str_addc(out, (char)(offset >> 8));
    add_length(out, rest);
}

str tool_lz4_compress(arena *a, str text)
{
    chains c = {(const unsigned char *)text.at, text.len, ARENA_ARRAY(a, int32_t, 1 << HASH_BITS),
                ARENA_ARRAY(a, int32_t, text.len + 1)};
    memset(c.heads, 0xff, sizeof *c.heads << HASH_BITS);
    str_buf out;
    str_buf_init(&out, a);
    size_t done = 0;
    for (size_t at = 0; at + MARGIN <= text.len;) {
        match m = longest(&c, at);
        if (!m.len) {
            enter(&c, at++);
            continue;
        }
        add_sequence(&out, text.at + done, at - done, at - m.at, m.len);
        done = at + m.len;
        for (; at < done; at++) {
            if (at + MARGIN <= text.len)
                enter(&c, at);
        }
    }
    add_sequence(&out, text.at + done, text.len - done, 0, 0);
    return (str){str_text(&out), out.len};
}
