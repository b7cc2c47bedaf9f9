// An entry as bytes. Numbers are little-endian.
//
//      0  magic, 8 bytes
//      8  u32 version of the format
//     12  u32 length of the kind
//     16  u32 number of inputs
//     20  u32 number of outputs
//     24  u64 length of the file
//     32  the key, 16 bytes
//     48  the kind, a text
//         the inputs, then the outputs: u32 length of the name, u32 0, u64 length of the bytes, the name, the bytes; texts
//         and bytes are followed by zeros, at least one, up to a multiple of 16
//         XXH3-128 of all that
//
// What is there has one way to be written: other zeros, or bytes behind the last part, are damage.

#include <string.h>

#include "cache/cache_priv.h"

enum { VERSION = 1, HEAD = CACHE_HEAD, PART_HEAD = 16, CHECKSUM = 16 };

// Binary, and changed by programs that translate line ends, as PNG's signature is.
static const char magic[8] = {'\x89', 'h', 'd', 's', 'c', '\r', '\n', '\x1a'};

// ---- writing ------------------------------------------------------------------------------------------------------------

static uint64_t padded(uint64_t len)
{
    return (len / 16 + 1) * 16;
}

static void put_number(char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (char)(uint8_t)(value >> (8 * i));
}

static void put_key(char *at, cache_key key)
{
    for (int i = 0; i < 16; i++)
        at[i] = (char)(uint8_t)(key.at[i / 8] >> (56 - 8 * (i % 8)));
}

// The memory is zeroed.
static char *put_padded(char *at, str bytes)
{
    if (bytes.len)
        memcpy(at, bytes.at, bytes.len);
    return at + padded(bytes.len);
}

static char *put_parts(char *at, const cache_parts *parts)
{
    for (size_t i = 0; i < parts->len; i++) {
        str name = str_of(parts->at[i].name);
        put_number(at, name.len, 4);
        put_number(at + 8, parts->at[i].bytes.len, 8);
        at = put_padded(put_padded(at + PART_HEAD, name), parts->at[i].bytes);
    }
    return at;
}

static uint64_t size_of_parts(const cache_parts *parts)
{
    uint64_t size = 0;
    for (size_t i = 0; i < parts->len; i++)
        size += PART_HEAD + padded(strlen(parts->at[i].name)) + padded(parts->at[i].bytes.len);
    return size;
}

str cache_record_make(arena *a, const cache_record *r)
{
    size_t kind_len = strlen(r->kind);
    uint64_t size = HEAD + padded(kind_len) + size_of_parts(&r->inputs) + size_of_parts(&r->outputs) + CHECKSUM;
    char *bytes = arena_alloc(a, size);
    memcpy(bytes, magic, sizeof magic);
    put_number(bytes + 8, VERSION, 4);
    put_number(bytes + 12, kind_len, 4);
    put_number(bytes + 16, r->inputs.len, 4);
    put_number(bytes + 20, r->outputs.len, 4);
    put_number(bytes + 24, size, 8);
    put_key(bytes + 32, r->key);
    char *at = put_padded(bytes + HEAD, str_of(r->kind));
    at = put_parts(put_parts(at, &r->inputs), &r->outputs);
    put_key(at, cache_hash_bytes((str){bytes, size - CHECKSUM}));
    return (str){bytes, size};
}

// ---- reading ------------------------------------------------------------------------------------------------------------

static uint64_t number_at(const char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)(uint8_t)at[i] << (8 * i);
    return value;
}

static cache_key key_at(const char *at)
{
    cache_key key = {{0, 0}};
    for (int i = 0; i < 16; i++)
        key.at[i / 8] = key.at[i / 8] << 8 | (uint8_t)at[i];
    return key;
}

// Takes [len] bytes and the zeros behind them off the front of [rest].
static bool take_padded(str *rest, uint64_t len, str *out)
{
    if (len >= rest->len || padded(len) > rest->len)
        return false;
    *out = (str){rest->at, len};
    for (uint64_t i = len; i < padded(len); i++) {
        if (rest->at[i])
            return false;
    }
    rest->at += padded(len);
    rest->len -= padded(len);
    return true;
}

// Names and kinds are used as C texts.
static bool take_text(str *rest, uint64_t len, const char **out)
{
    str text;
    if (!take_padded(rest, len, &text) || memchr(text.at, '\0', text.len))
        return false;
    *out = text.at;
    return true;
}

static bool take_parts(arena *a, str *rest, uint64_t count, cache_parts *out)
{
    for (uint64_t i = 0; i < count; i++) {
        cache_part part;
        if (rest->len < PART_HEAD)
            return false;
        uint64_t name_len = number_at(rest->at, 4), zero = number_at(rest->at + 4, 4), len = number_at(rest->at + 8, 8);
        *rest = (str){rest->at + PART_HEAD, rest->len - PART_HEAD};
        if (zero || !take_text(rest, name_len, &part.name) || !take_padded(rest, len, &part.bytes))
            return false;
        VEC_PUSH(a, out, part);
    }
    return true;
}

const char *cache_record_parse(arena *a, str bytes, cache_record *out)
{
    *out = (cache_record){0};
    if (!bytes.len)
        return "it is empty";
    if (bytes.len < HEAD + CHECKSUM || memcmp(bytes.at, magic, sizeof magic) != 0)
        return "it is not a cache entry";
    uint64_t version = number_at(bytes.at + 8, 4), size = number_at(bytes.at + 24, 8);
    if (version != VERSION)
        return arena_printf(a, "its format is %u, and %d is expected", (unsigned)version, VERSION);
    if (size != bytes.len)
        return arena_printf(a, "it has %zu bytes of %llu", bytes.len, (unsigned long long)size);
    str rest = {bytes.at, bytes.len - CHECKSUM};
    cache_key sum = key_at(bytes.at + rest.len), expected = cache_hash_bytes(rest);
    if (memcmp(&sum, &expected, sizeof sum) != 0)
        return "its checksum is wrong";
    out->key = key_at(bytes.at + 32);
    rest = (str){bytes.at + HEAD, rest.len - HEAD};
    bool ok = take_text(&rest, number_at(bytes.at + 12, 4), &out->kind) &&
              take_parts(a, &rest, number_at(bytes.at + 16, 4), &out->inputs) &&
              take_parts(a, &rest, number_at(bytes.at + 20, 4), &out->outputs) && !rest.len;
    return ok ? NULL : "its parts do not fit together";
}

bool cache_record_may_be(const char *head, uint64_t size_bytes)
{
    return memcmp(head, magic, sizeof magic) == 0 && number_at(head + 24, 8) == size_bytes;
}

bool cache_record_is(const cache_record *r, const char *kind, const cache_part *inputs, size_t count)
{
    if (strcmp(r->kind, kind) != 0 || r->inputs.len != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const cache_part *part = &r->inputs.at[i];
        if (strcmp(part->name, inputs[i].name) != 0 || !str_equal(part->bytes, inputs[i].bytes))
            return false;
    }
    return true;
}

str cache_part_of(const cache_parts *parts, const char *name)
{
    for (size_t i = 0; i < parts->len; i++) {
        if (strcmp(parts->at[i].name, name) == 0)
            return parts->at[i].bytes;
    }
    return (str){NULL, 0};
}
