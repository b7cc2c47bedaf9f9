// Fields of protobuf messages, appended to the bytes of a message.
#pragma once

#include <string.h>

#include "base/str.h"

enum { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_FIXED32 = 5 }; // kinds of fields, by the lowest three bits of their tags

static inline void wire_add_varint(str_buf *out, uint64_t n)
{
    for (; n > 127; n >>= 7)
        str_addc(out, (char)(n | 128));
    str_addc(out, (char)n);
}

static inline void wire_add_int(str_buf *out, unsigned field, int64_t n)
{
    wire_add_varint(out, field << 3 | WIRE_VARINT);
    wire_add_varint(out, (uint64_t)n);
}

static inline void wire_add_float(str_buf *out, unsigned field, float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    wire_add_varint(out, field << 3 | WIRE_FIXED32);
    for (int i = 0; i < 4; i++)
        str_addc(out, (char)(bits >> (8 * i)));
}

static inline void wire_add_bytes(str_buf *out, unsigned field, str bytes)
{
    wire_add_varint(out, field << 3 | WIRE_BYTES);
    wire_add_varint(out, bytes.len);
    str_add(out, bytes);
}

// A message that has been built; none of its bytes are needed any more.
static inline void wire_add_message(str_buf *out, unsigned field, const str_buf *message)
{
    wire_add_bytes(out, field, (str){message->len ? message->at : "", message->len});
}
