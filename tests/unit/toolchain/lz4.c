// Blocks that are made here are read back, as the format's description says.
#include "fixture.h"

#include "toolchain/lz4.h"

typedef struct reader {
    str block;
    size_t at;
    bool is_bad;
} reader;

static size_t next_byte(reader *r)
{
    if (r->at < r->block.len)
        return (unsigned char)r->block.at[r->at++];
    r->is_bad = true;
    return 0;
}

static size_t read_length(reader *r, size_t first)
{
    size_t len = first, more = first == 15 ? 255 : 0;
    while (more == 255) {
        more = next_byte(r);
        len += more;
    }
    return len;
}

// The text, of [size] bytes; NULL where the block is no sound one.
static str expand(arena *a, str block, size_t size)
{
    reader r = {block, 0, false};
    char *out = arena_alloc(a, size + 1);
    size_t len = 0;
    while (r.at < block.len) {
        size_t token = next_byte(&r), count = read_length(&r, token >> 4);
        if (r.is_bad || count > block.len - r.at || count > size - len)
            return (str){0};
        memcpy(out + len, block.at + r.at, count);
        r.at += count;
        len += count;
        if (r.at == block.len)
            break;
        size_t offset = next_byte(&r);
        offset |= next_byte(&r) << 8;
        size_t matched = read_length(&r, token & 15) + 4;
        if (r.is_bad || !offset || offset > len || matched > size - len)
            return (str){0};
        for (size_t i = 0; i < matched; i++, len++)
            out[len] = out[len - offset];
    }
    return len == size ? (str){out, len} : (str){0};
}

static void round_trip(fixture *f, str text)
{
    str block = tool_lz4_compress(&f->arena, text), back = expand(&f->arena, block, text.len);
    assert_non_null(back.at);
    assert_int_equal(back.len, text.len);
    assert_memory_equal(back.at, text.at, text.len);
}

static void short_texts(void **state)
{
    fixture *f = *state;
    for (size_t len = 0; len < 64; len++) {
        char *text = arena_alloc(&f->arena, len + 1);
        round_trip(f, (str){text, len});
        for (size_t i = 0; i < len; i++)
            text[i] = (char)(i % 7);
        round_trip(f, (str){text, len});
    }
}

// Runs and repetitions at all distances, within the window and beyond it.
static void long_texts(void **state)
{
    fixture *f = *state;
    uint32_t seed = 1;
    for (int round = 0; round < 40; round++) {
        size_t len = 200000;
        char *text = arena_alloc(&f->arena, len + 1);
        for (size_t i = 0; i < len;) {
            seed = seed * 1664525u + 1013904223u;
            size_t back = 1 + (seed >> 8) % 90000, count = 1 + (seed >> 4) % (round * 40 + 3);
            for (size_t k = 0; k < count && i < len; k++, i++)
                text[i] = i >= back && (seed >> 30) ? text[i - back] : (char)(seed >> (k % 24));
        }
        round_trip(f, (str){text, len});
    }
}

static void text_shrinks(void **state)
{
    fixture *f = *state;
    str_buf text;
    str_buf_init(&text, &f->arena);
    for (int i = 0; i < 2000; i++)
        str_addf(&text, "\tfma.rn.f32 \t%%f%d, %%f%d, %%f%d, %%f%d;\n", i, i * 7 % 512, i * 3 % 512, i);
    str block = tool_lz4_compress(&f->arena, (str){text.at, text.len});
    assert_true(block.len * 3 < text.len);
    round_trip(f, (str){text.at, text.len});
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(short_texts), TEST(long_texts), TEST(text_shrinks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
