// Identifiers for the texts that ONNX has as names.
#include "onnx/model.h"

#include <string.h>

// Python's keywords, and what the printed text or its reader would miss under another meaning.
static const char *const reserved[] = {
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
    "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
    "return", "try", "while", "with", "yield", "match", "case", "type", "hidet", "W", "weights", "constant", "opset", "results",
    "operator_set", "inf", "nan", "bool", "f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64",
    "complex64", "f8e4m3", "f8e5m2", "tensor", "int", "float", "max", "min", "sum", "abs", "range", "len", "list", "tuple", "str",
};

void onnx_namer_init(onnx_namer *n, arena *a, const onnx_namer *outer)
{
    *n = (onnx_namer){.memory = a, .outer = outer};
    map_init(&n->by_text, a);
    map_init(&n->taken, a);
    map_init(&n->next, a);
    for (size_t i = 0; !outer && i < sizeof reserved / sizeof *reserved; i++)
        onnx_reserve(n, reserved[i]);
}

void onnx_reserve(onnx_namer *n, const char *name)
{
    map_put(&n->taken, name, strlen(name), n);
}

static bool is_taken(const onnx_namer *n, const char *name)
{
    for (; n; n = n->outer)
        if (map_get(&n->taken, name, strlen(name)))
            return true;
    return false;
}

const char *onnx_new_name(onnx_namer *n, const char *text)
{
    enum { LONGEST = 80 };
    const char *base = str_identifier(n->memory, text, LONGEST), *name = base;
    uintptr_t next = (uintptr_t)map_get(&n->next, base, strlen(base));
    while (is_taken(n, name))
        name = arena_printf(n->memory, "%s_%zu", base, (size_t)++next);
    map_put(&n->next, base, strlen(base), (void *)next);
    onnx_reserve(n, name);
    onnx_bind(n, text, name);
    return name;
}

void onnx_bind(onnx_namer *n, const char *text, const char *expression)
{
    map_put(&n->by_text, text, strlen(text), (void *)expression);
}

const char *onnx_name(onnx_namer *n, const char *text)
{
    for (const onnx_namer *at = n; at; at = at->outer) {
        const char *name = map_get(&at->by_text, text, strlen(text));
        if (name)
            return name;
    }
    return onnx_new_name(n, text);
}

// How many bytes the character has that begins here; 0: it is none, or is not printed.
static size_t character(const unsigned char *c)
{
    if (*c < 0x80)
        return *c >= 0x20 && *c != 0x7f;
    size_t len = *c >= 0xc2 && *c < 0xe0 ? 2 : (*c & 0xf0) == 0xe0 ? 3 : *c >= 0xf0 && *c < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < len; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    bool is_long = (*c == 0xe0 && c[1] < 0xa0) || (*c == 0xf0 && c[1] < 0x90), is_beyond = *c == 0xf4 && c[1] > 0x8f;
    bool is_surrogate = *c == 0xed && c[1] > 0x9f;
    return is_long || is_beyond || is_surrogate ? 0 : len;
}

const char *onnx_clean(arena *a, const char *text)
{
    str_buf out;
    str_buf_init(&out, a);
    for (const unsigned char *c = (const unsigned char *)(text ? text : ""); *c;) {
        size_t len = character(c);
        if (len)
            str_add(&out, (str){(const char *)c, len});
        else
            str_addc(&out, '?');
        c += len ? len : 1;
    }
    return str_text(&out);
}
