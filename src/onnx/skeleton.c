// A message without the bytes of its tensors: what protobuf-c then reads, and copies, is small. Instead of them stands where they
// are. What the messages of onnx.proto do not have is left out as well.
#include "onnx/model.h"
#include "onnx/wire.h"

// Three messages inside of one another are a graph in a node of a graph; 32 of these are allowed.
enum { MOST_DEPTH = 128, LENGTH_BYTES = 5 };

typedef struct field {
    uint64_t number;
    int kind;
    const uint8_t *begin, *payload, *end; // its tag; what it holds, behind the length if there is one
} field;

typedef struct skeleton {
    const uint8_t *file;
    str_buf out;
    int depth;
} skeleton;

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 64 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

static bool advance(const uint8_t **at, const uint8_t *end, uint64_t bytes)
{
    if (bytes > (uint64_t)(end - *at))
        return false;
    *at += bytes;
    return true;
}

// Moves [*at] behind the field. False: there is none.
static bool read_field(const uint8_t **at, const uint8_t *end, field *out)
{
    uint64_t tag, length;
    *out = (field){.begin = *at};
    if (!read_varint(at, end, &tag))
        return false;
    out->number = tag >> 3;
    out->kind = (int)(tag & 7);
    out->payload = *at;
    bool ok = false;
    if (out->kind == WIRE_VARINT)
        ok = read_varint(at, end, &length);
    else if (out->kind == WIRE_FIXED64 || out->kind == WIRE_FIXED32)
        ok = advance(at, end, out->kind == WIRE_FIXED64 ? 8 : 4);
    else if (out->kind == WIRE_BYTES && read_varint(at, end, &length)) {
        out->payload = *at;
        ok = advance(at, end, length);
    }
    out->end = *at;
    return ok;
}

// ---- views ----------------------------------------------------------------------------------------------------------

// The fields of a tensor that are bytes of its elements, and the fields of this reader that say where they are.
static const struct {
    unsigned number, view;
} viewed[] = {{9, 1009}, {4, 1004}, {10, 1010}};
enum { RAW_DATA, VIEWED = sizeof viewed / sizeof *viewed, FIRST_VIEW = 1000 };

// How many of each there are in a tensor.
typedef struct counts {
    size_t at[VIEWED];
} counts;

static counts count_viewed(const uint8_t *at, const uint8_t *end)
{
    counts n = {0};
    field f;
    while (at < end && read_field(&at, end, &f))
        for (size_t i = 0; i < VIEWED; i++)
            n.at[i] += f.number == viewed[i].number;
    return n;
}

// The number of the view that takes the field's place; 0: it is copied. Typed elements in several fields are one list.
static unsigned view_of(const field *f, const counts *n)
{
    for (size_t i = 0; f->kind == WIRE_BYTES && i < VIEWED; i++)
        if (f->number == viewed[i].number && (i == RAW_DATA || n->at[i] == 1))
            return viewed[i].view;
    return 0;
}

static void add_fixed(str_buf *out, unsigned number, uint64_t n)
{
    wire_add_varint(out, number << 3 | WIRE_FIXED64);
    for (int i = 0; i < 8; i++)
        str_addc(out, (char)(n >> (8 * i)));
}

static void add_view(skeleton *s, unsigned view, const field *f)
{
    wire_add_varint(&s->out, view << 3 | WIRE_BYTES);
    str_addc(&s->out, 18);
    add_fixed(&s->out, 1, (uint64_t)(f->payload - s->file));
    add_fixed(&s->out, 2, (uint64_t)(f->end - f->payload));
}

// ---- messages -------------------------------------------------------------------------------------------------------

static bool add_message(skeleton *s, const uint8_t *at, const uint8_t *end, const ProtobufCMessageDescriptor *d);

// With a length that is as long as any: it is known when all is written.
static bool add_inner(skeleton *s, const field *f, const ProtobufCMessageDescriptor *d)
{
    wire_add_varint(&s->out, f->number << 3 | WIRE_BYTES);
    size_t begin = s->out.len + LENGTH_BYTES;
    for (int i = 0; i < LENGTH_BYTES; i++)
        str_addc(&s->out, 0);
    if (!add_message(s, f->payload, f->end, d))
        return false;
    size_t length = s->out.len - begin;
    for (int i = 0; i < LENGTH_BYTES; i++)
        s->out.at[begin - LENGTH_BYTES + (size_t)i] = (char)((length >> (7 * i) & 127) | (i < LENGTH_BYTES - 1 ? 128 : 0));
    return true;
}

static bool add_message(skeleton *s, const uint8_t *at, const uint8_t *end, const ProtobufCMessageDescriptor *d)
{
    bool ok = ++s->depth <= MOST_DEPTH, is_tensor = d == &onnx__tensor__descriptor;
    counts n = is_tensor ? count_viewed(at, end) : (counts){0};
    field f;
    while (ok && at < end && (ok = read_field(&at, end, &f))) {
        const ProtobufCFieldDescriptor *known =
            f.number < FIRST_VIEW ? protobuf_c_message_descriptor_get_field(d, (unsigned)f.number) : NULL;
        unsigned view = is_tensor ? view_of(&f, &n) : 0;
        if (view)
            add_view(s, view, &f);
        else if (known && known->type == PROTOBUF_C_TYPE_MESSAGE && f.kind == WIRE_BYTES)
            ok = add_inner(s, &f, known->descriptor);
        else if (known)
            str_add(&s->out, (str){(const char *)f.begin, (size_t)(f.end - f.begin)});
    }
    s->depth--;
    return ok;
}

bool onnx_skeleton(arena *a, const ProtobufCMessageDescriptor *d, str bytes, str *out)
{
    skeleton s = {.file = (const uint8_t *)bytes.at};
    str_buf_init(&s.out, a);
    bool ok = add_message(&s, s.file, s.file + bytes.len, d);
    *out = (str){s.out.at, s.out.len};
    return ok;
}
