// Models as text, in the syntax of PyPI's onnx (docs/Syntax.md there: onnx.parser, onnx.printer): the text becomes the bytes of
// the same messages, which read.c reads as it reads those of a file. What these messages say that src/onnx/onnx.proto does not
// have (metadata, types of values inside) is checked and left out.
#include "onnx/text.h"

#include <inttypes.h>

#include "onnx/wire.h"

enum { MOST_INNER = 64 }; // types and graphs in one another

static bool enter(onnx_text *t)
{
    return ++t->depth <= MOST_INNER || onnx_text_failed(t, t->at, "types and graphs are nested more than 64 times");
}

// ---- types --------------------------------------------------------------------------------------------------------------------

// By TensorProto.DataType.
static const char *const element_types[] = {
    NULL, "float", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16", "double", "uint32",
    "uint64", "complex64", "complex128", "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",
    "int4", "float4e2m1", "float8e8m0", "uint2", "int2", "float6e2m3", "float6e3m2",
};
enum { FLOAT = 1, INT64 = 7, STRING, BOOL, DOUBLE = 11, UINT32, UINT64, COMPLEX64, COMPLEX128 };

typedef struct value_type {
    int code;            // of a tensor; 0: it is none
    bool has_shape;
    bool is_known;       // the shape has numbers alone
    VEC(int64_t) extents;
    str_buf message;     // the TypeProto
} value_type;

static int element_code(str word)
{
    for (size_t i = 1; i < sizeof element_types / sizeof *element_types; i++)
        if (str_equal(word, str_of(element_types[i])))
            return (int)i;
    return 0;
}

static bool next_is_type(onnx_text *t)
{
    static const char *const kinds[] = {"seq", "map", "optional", "sparse_tensor", "opaque"};
    str word = onnx_text_identifier(t, true);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_equal(word, str_of(kinds[i])))
            return true;
    return element_code(word) != 0;
}

static bool extent(onnx_text *t, value_type *type, str_buf *shape)
{
    str_buf dimension;
    str_buf_init(&dimension, t->memory);
    char next = onnx_text_next(t);
    str name;
    int64_t n = -1;
    bool is_number = (next >= '0' && next <= '9') || next == '-';
    type->is_known &= is_number;
    if (is_number) {
        if (!onnx_text_int(t, INT64_MIN, INT64_MAX, &n))
            return false;
        wire_add_int(&dimension, 1, n);
    } else if (!onnx_text_take(t, '?')) {
        if (!onnx_text_name(t, &name))
            return false;
        wire_add_bytes(&dimension, 2, name);
    }
    VEC_PUSH(t->memory, &type->extents, n);
    wire_add_message(shape, 1, &dimension);
    return true;
}

// Behind the type of the elements: nothing, "[]" for any number of axes, or extents.
static bool tensor_type(onnx_text *t, value_type *type)
{
    str_buf shape, tensor;
    str_buf_init(&shape, t->memory);
    str_buf_init(&tensor, t->memory);
    type->has_shape = type->is_known = true;
    if (onnx_text_take(t, '[')) {
        type->has_shape = !onnx_text_take(t, ']');
        for (bool more = type->has_shape; more; more = onnx_text_take(t, ','))
            if (!extent(t, type, &shape))
                return false;
        if (type->has_shape && !onnx_text_want(t, ']'))
            return false;
    }
    wire_add_int(&tensor, 1, type->code);
    if (type->has_shape)
        wire_add_message(&tensor, 2, &shape);
    wire_add_message(&type->message, 1, &tensor);
    return true;
}

static bool type_of_elements(onnx_text *t, int *out)
{
    *out = element_code(onnx_text_identifier(t, true));
    if (!*out)
        return onnx_text_expected(t, "a type of elements");
    onnx_text_identifier(t, false);
    return true;
}

static bool read_type(onnx_text *t, value_type *type);

static bool opaque_names(onnx_text *t)
{
    str name;
    for (bool more = onnx_text_next(t) != ')'; more; more = onnx_text_take(t, ',') || onnx_text_take(t, '.'))
        if (!onnx_text_name(t, &name))
            return false;
    return true;
}

// What a sequence, a map or an optional is of.
static bool inner_types(onnx_text *t, str kind)
{
    value_type inner;
    int key;
    if (str_equal(kind, STR("opaque")))
        return opaque_names(t);
    if (str_equal(kind, STR("map")) && !(type_of_elements(t, &key) && onnx_text_want(t, ',')))
        return false;
    size_t begin = t->at;
    if (!read_type(t, &inner))
        return false;
    return inner.code || !str_equal(kind, STR("sparse_tensor")) || onnx_text_failed(t, begin, "expected the type of a tensor");
}

static bool read_type(onnx_text *t, value_type *type)
{
    static const struct {
        const char *name;
        unsigned field; // of the TypeProto; 0: it is not read
    } kinds[] = {{"seq", 4}, {"map", 5}, {"optional", 9}, {"sparse_tensor", 0}, {"opaque", 0}};
    *type = (value_type){0};
    str_buf_init(&type->message, t->memory);
    str word = onnx_text_identifier(t, true);
    type->code = element_code(word);
    if (!next_is_type(t))
        return onnx_text_expected(t, "a type");
    onnx_text_identifier(t, false);
    if (type->code)
        return tensor_type(t, type);
    bool ok = enter(t) && onnx_text_want(t, '(') && inner_types(t, word) && onnx_text_want(t, ')');
    t->depth--;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].field && str_equal(word, str_of(kinds[i].name)))
            wire_add_bytes(&type->message, kinds[i].field, STR(""));
    return ok;
}

// ---- tensors ------------------------------------------------------------------------------------------------------------------

static void add_little_endian(str_buf *out, uint64_t bits, int bytes)
{
    for (int i = 0; i < bytes; i++)
        str_addc(out, (char)(bits >> (8 * i)));
}

// Whole numbers, and the bits of the floats that have no notation of their own: to [raw], or where less than a byte to [tensor].
static bool integer(onnx_text *t, int code, str_buf *tensor, str_buf *raw)
{
    const onnx_type *type = onnx_type_of(code);
    int width = type ? type->bytes : 0;
    uint64_t natural = 0;
    int64_t n = 0;
    bool is_signed = strncmp(element_types[code], "int", 3) == 0;
    int bits = code == BOOL ? 1 : 8 * (width ? width : 1) - is_signed;
    int64_t most = bits < 63 ? ((int64_t)1 << bits) - 1 : INT64_MAX;
    if (code == UINT64 ? !onnx_text_natural(t, &natural) : !onnx_text_int(t, is_signed ? -most - 1 : 0, most, &n))
        return false;
    if (width)
        add_little_endian(raw, code == UINT64 ? natural : (uint64_t)n, width);
    else
        wire_add_int(tensor, 5, n);
    return true;
}

static bool element(onnx_text *t, int code, str_buf *tensor, str_buf *raw)
{
    double d;
    str text;
    uint64_t bits = 0;
    if (code == STRING) {
        if (!onnx_text_string(t, &text))
            return false;
        wire_add_bytes(tensor, 6, text);
        return true;
    }
    bool is_single = code == FLOAT || code == COMPLEX64, is_double = code == DOUBLE || code == COMPLEX128;
    if (!is_single && !is_double)
        return integer(t, code, tensor, raw);
    if (!onnx_text_float(t, &d))
        return false;
    float f = (float)d;
    memcpy(&bits, is_single ? (void *)&f : (void *)&d, is_single ? sizeof f : sizeof d);
    add_little_endian(raw, bits, is_single ? 4 : 8);
    return true;
}

// "key": "value", …, as field [number].
static bool pairs(onnx_text *t, str_buf *out, unsigned number)
{
    for (bool more = onnx_text_next(t) != ']'; more; more = onnx_text_take(t, ',')) {
        str key, value;
        str_buf pair;
        str_buf_init(&pair, t->memory);
        if (!onnx_text_string(t, &key) || !onnx_text_want(t, ':') || !onnx_text_string(t, &value))
            return false;
        wire_add_bytes(&pair, 1, key);
        wire_add_bytes(&pair, 2, value);
        wire_add_message(out, number, &pair);
    }
    return onnx_text_want(t, ']');
}

// { elements } or [ where another file has them ].
static bool data(onnx_text *t, int code, str_buf *tensor)
{
    str_buf raw;
    str_buf_init(&raw, t->memory);
    if (onnx_text_take(t, '[')) {
        wire_add_int(tensor, 14, 1);
        return pairs(t, tensor, 13);
    }
    if (!onnx_text_want(t, '{'))
        return false;
    for (bool more = onnx_text_next(t) != '}'; more; more = onnx_text_take(t, ','))
        if (!element(t, code, tensor, &raw))
            return false;
    if (raw.len)
        wire_add_message(tensor, 9, &raw);
    return onnx_text_want(t, '}');
}

// The tensor of a type that has been read, which was at [at].
static bool tensor_of(onnx_text *t, const value_type *type, size_t at, str name, str_buf *tensor)
{
    str_buf_init(tensor, t->memory);
    if (!type->code || !type->has_shape || !type->is_known)
        return onnx_text_failed(t, at, "a tensor with elements needs a type of elements and known extents");
    for (size_t i = 0; i < type->extents.len; i++)
        wire_add_int(tensor, 1, type->extents.at[i]);
    wire_add_int(tensor, 2, type->code);
    wire_add_bytes(tensor, 8, name);
    return data(t, type->code, tensor);
}

// ---- values -------------------------------------------------------------------------------------------------------------------

// TYPE NAME, or NAME alone.
static bool read_value(onnx_text *t, value_type *type, size_t *at, str *name)
{
    *type = (value_type){0};
    onnx_text_next(t);
    *at = t->at;
    str_buf_init(&type->message, t->memory);
    return (!next_is_type(t) || read_type(t, type)) && onnx_text_name(t, name);
}

static void add_value(onnx_text *t, str_buf *out, unsigned field, const value_type *type, str name)
{
    str_buf value;
    str_buf_init(&value, t->memory);
    wire_add_bytes(&value, 1, name);
    if (type->message.len)
        wire_add_message(&value, 2, &type->message);
    wire_add_message(out, field, &value);
}

// Values between [open] and [close], as field [field] of the graph, 0: nowhere. Those with "=" are initialisers of it.
static bool values(onnx_text *t, str_buf *graph, unsigned field, char open, char close, bool may_be_initialisers)
{
    if (!onnx_text_want(t, open))
        return false;
    for (bool more = onnx_text_next(t) != close; more; more = onnx_text_take(t, ',')) {
        value_type type;
        size_t at;
        str name;
        str_buf tensor;
        if (!read_value(t, &type, &at, &name))
            return false;
        if (field)
            add_value(t, graph, field, &type, name);
        if (!may_be_initialisers || !onnx_text_take(t, '='))
            continue;
        if (!tensor_of(t, &type, at, name, &tensor))
            return false;
        wire_add_message(graph, 5, &tensor);
    }
    return onnx_text_want(t, close);
}

// Names of operands, any of which may be empty: as "" or as nothing in front of a comma.
static bool names(onnx_text *t, str_buf *out, unsigned field)
{
    for (bool more = true; more; more = onnx_text_take(t, ',')) {
        str name = STR("");
        bool is_quoted = onnx_text_next(t) == '"';
        if (is_quoted && !onnx_text_string(t, &name))
            return false;
        if (!is_quoted)
            name = onnx_text_identifier(t, false);
        if (!is_quoted && !name.len && onnx_text_next(t) != ',')
            return true;
        wire_add_bytes(out, field, name);
    }
    return true;
}

// ---- attributes ---------------------------------------------------------------------------------------------------------------

// By AttributeProto.AttributeType; those of lists are five further.
static const char *const attribute_types[] = {
    NULL, "float", "int", "string", "tensor", "graph", "floats", "ints", "strings", "tensors", "graphs", "sparse_tensor",
    "sparse_tensors", "type_proto", "type_protos",
};
enum { A_FLOAT = 1, A_INT, A_STRING, A_TENSOR, A_GRAPH, A_LISTS = 5, A_SPARSE = 11, A_TYPE = 13 };

// Its field as a single attribute and in a list, by type.
static const unsigned single_field[] = {0, 2, 3, 4, 5, 6}, list_field[] = {0, 7, 8, 9, 10, 11};

static bool read_graph(onnx_text *t, str_buf *graph);

static int attribute_type(str word)
{
    for (size_t i = 1; i < sizeof attribute_types / sizeof *attribute_types; i++)
        if (str_equal(word, str_of(attribute_types[i])))
            return (int)i;
    return 0;
}

static bool type_or_tensor(onnx_text *t, int *kind, str_buf *message)
{
    value_type type;
    str name = STR("");
    size_t at = t->at;
    if (!read_type(t, &type))
        return false;
    char next = onnx_text_next(t);
    *kind = next == '{' || next == '=' || next == '"' || onnx_text_identifier(t, true).len ? A_TENSOR : A_TYPE;
    if (*kind == A_TYPE)
        return true;
    if (next != '"')
        name = onnx_text_identifier(t, false);
    else if (!onnx_text_string(t, &name))
        return false;
    onnx_text_take(t, '=');
    return tensor_of(t, &type, at, name, message);
}

static bool literal_value(onnx_text *t, int wanted, int *kind, str_buf *out, const unsigned *field)
{
    onnx_literal l;
    int64_t n;
    size_t at = t->at;
    if (!onnx_text_literal(t, &l))
        return false;
    *kind = l.kind == ONNX_STRING ? A_STRING : l.kind == ONNX_FLOAT || wanted == A_FLOAT ? A_FLOAT : A_INT;
    if (*kind == A_STRING)
        wire_add_bytes(out, field[A_STRING], l.string);
    else if (*kind == A_FLOAT)
        wire_add_float(out, field[A_FLOAT], (float)str_to_double(l.text));
    else if (onnx_literal_int(t, &l, at, &n))
        wire_add_int(out, field[A_INT], n);
    else
        return false;
    return true;
}

// One value, of the type [wanted] if that is not 0; [*kind]: which it is of.
static bool attribute_value(onnx_text *t, int wanted, int *kind, str_buf *out, const unsigned *field)
{
    str_buf message;
    str_buf_init(&message, t->memory);
    char next = onnx_text_next(t);
    size_t at = t->at;
    bool is_literal = next == '"' || next == '-' || (next >= '0' && next <= '9') || onnx_text_is_number_word(t);
    if (!is_literal && !onnx_text_identifier(t, true).len)
        return onnx_text_expected(t, "the value of an attribute");
    if (is_literal) {
        if (!literal_value(t, wanted, kind, out, field))
            return false;
    } else {
        bool is_type = next_is_type(t);
        *kind = A_GRAPH;
        if (is_type ? !type_or_tensor(t, kind, &message) : !read_graph(t, &message))
            return false;
        if (*kind != A_TYPE)
            wire_add_message(out, field[*kind], &message);
    }
    if (!wanted || wanted == *kind)
        return true;
    return onnx_text_failed(t, at, arena_printf(t->memory, "expected the type '%s', found '%s'", attribute_types[wanted],
                                                attribute_types[*kind]));
}

static int single_of(int type)
{
    bool is_pair = type == A_SPARSE + 1 || type == A_TYPE + 1; // the lists behind their singles
    return type > A_LISTS && type < A_SPARSE ? type - A_LISTS : is_pair ? type - 1 : 0;
}

static int list_of(int single)
{
    return single < A_SPARSE ? single + A_LISTS : single + 1;
}

// Behind "[" that stands at [at]; *type: what the text says it is, 0: nothing, and then what it is.
static bool attribute_list(onnx_text *t, size_t at, int *type, str_buf *out)
{
    int wanted = single_of(*type), kind = 0;
    if (*type && !wanted)
        return onnx_text_failed(t, at, arena_printf(t->memory, "the type '%s' is none of a list", attribute_types[*type]));
    if (!*type && onnx_text_next(t) == ']')
        return onnx_text_failed(t, at, "an empty list needs a type, as in 'axes: ints = []'");
    for (bool more = onnx_text_next(t) != ']'; more; more = onnx_text_take(t, ',')) {
        if (!attribute_value(t, wanted, &kind, out, list_field))
            return false;
        wanted = kind;
        *type = list_of(kind);
    }
    return onnx_text_want(t, ']');
}

// Behind its name.
static bool attribute(onnx_text *t, str name, str_buf *out)
{
    int type = 0, kind = 0;
    str word, reference;
    str_buf_init(out, t->memory);
    wire_add_bytes(out, 1, name);
    if (onnx_text_take(t, ':')) {
        type = attribute_type(word = onnx_text_identifier(t, true));
        if (!type)
            return onnx_text_expected(t, "a type of attributes, such as 'int' or 'floats'");
        onnx_text_identifier(t, false);
    }
    if (!onnx_text_want(t, '='))
        return false;
    onnx_text_next(t);
    size_t at = t->at;
    if (onnx_text_take(t, '@')) {
        if (!onnx_text_name(t, &reference))
            return false;
        wire_add_bytes(out, 21, reference);
    } else if (onnx_text_take(t, '[')) {
        if (!attribute_list(t, at, &type, out))
            return false;
    } else {
        if (!attribute_value(t, type, &kind, out, single_field))
            return false;
        type = kind;
    }
    wire_add_int(out, 20, type);
    return true;
}

// < a = 1, b: ints = [1] >, as field [field]; there may be none.
static bool attributes(onnx_text *t, str_buf *out, unsigned field)
{
    if (!onnx_text_take(t, '<'))
        return true;
    for (bool more = true; more; more = onnx_text_take(t, ',')) {
        str name;
        str_buf one;
        if (!onnx_text_name(t, &name) || !attribute(t, name, &one))
            return false;
        wire_add_message(out, field, &one);
    }
    return onnx_text_want(t, '>');
}

// ---- nodes and graphs ---------------------------------------------------------------------------------------------------------

// domain.of.it.Operator, and an overload.
static bool operator_name(onnx_text *t, str_buf *node)
{
    str_buf domain;
    str name, overload;
    str_buf_init(&domain, t->memory);
    name = onnx_text_identifier(t, false);
    if (!name.len)
        return onnx_text_expected(t, "an operator");
    while (onnx_text_take(t, '.')) {
        str_adds(&domain, domain.len ? "." : "");
        str_add(&domain, name);
        name = onnx_text_identifier(t, false);
        if (!name.len)
            return onnx_text_expected(t, "an operator");
    }
    wire_add_bytes(node, 4, name);
    wire_add_message(node, 7, &domain);
    return !onnx_text_take(t, ':') || onnx_text_name(t, &overload);
}

// [name] y, z = domain.Operator <attributes> (a, b), or with the attributes at the end.
static bool read_node(onnx_text *t, str_buf *node)
{
    str name;
    str_buf_init(node, t->memory);
    if (onnx_text_take(t, '[')) {
        if (!onnx_text_name(t, &name) || !onnx_text_want(t, ']'))
            return false;
        wire_add_bytes(node, 3, name);
    }
    bool has_begun = names(t, node, 2) && onnx_text_want(t, '=') && operator_name(t, node);
    if (!has_begun)
        return false;
    bool is_in_front = onnx_text_next(t) == '<';
    return attributes(t, node, 5) && onnx_text_want(t, '(') && names(t, node, 1) && onnx_text_want(t, ')') &&
           (is_in_front || attributes(t, node, 5));
}

static bool nodes(onnx_text *t, str_buf *out, unsigned field)
{
    if (!onnx_text_want(t, '{'))
        return false;
    while (!onnx_text_take(t, '}')) {
        str_buf node;
        if (!read_node(t, &node))
            return false;
        wire_add_message(out, field, &node);
    }
    return true;
}

// name (inputs) => (outputs) <values and initialisers> { nodes }
static bool read_graph(onnx_text *t, str_buf *graph)
{
    str name;
    str_buf_init(graph, t->memory);
    if (!onnx_text_name(t, &name))
        return false;
    wire_add_bytes(graph, 2, name);
    bool ok = enter(t) && values(t, graph, 11, '(', ')', true) && onnx_text_want_arrow(t) &&
              values(t, graph, 12, '(', ')', false) &&
              (onnx_text_next(t) != '<' || values(t, graph, 0, '<', '>', true)) && nodes(t, graph, 1);
    t->depth--;
    return ok;
}

// ---- functions and models -----------------------------------------------------------------------------------------------------

// ["" : 18, "com.example" : 1], as field [field].
static bool operator_sets(onnx_text *t, str_buf *out, unsigned field)
{
    if (!onnx_text_want(t, '['))
        return false;
    for (bool more = onnx_text_next(t) != ']'; more; more = onnx_text_take(t, ',')) {
        str domain;
        int64_t version;
        str_buf set;
        str_buf_init(&set, t->memory);
        if (!onnx_text_string(t, &domain) || !onnx_text_want(t, ':') || !onnx_text_int(t, INT64_MIN, INT64_MAX, &version))
            return false;
        wire_add_bytes(&set, 1, domain);
        wire_add_int(&set, 2, version);
        wire_add_message(out, field, &set);
    }
    return onnx_text_want(t, ']');
}

typedef enum property_kind { P_INT, P_STRING, P_SETS, P_PAIRS } property_kind;

// What a model or a function says of itself in front. Field 0: it is not read.
typedef struct property {
    const char *name;
    property_kind kind;
    unsigned field;
} property;

static const property of_models[] = {
    {"ir_version", P_INT, 1}, {"opset_import", P_SETS, 8}, {"producer_name", P_STRING, 2}, {"producer_version", P_STRING, 3},
    {"domain", P_STRING, 0}, {"model_version", P_INT, 0}, {"doc_string", P_STRING, 0}, {"metadata_props", P_PAIRS, 0}, {0},
};
static const property of_functions[] = {
    {"opset_import", P_SETS, 9}, {"domain", P_STRING, 10}, {"doc_string", P_STRING, 0}, {"overload", P_STRING, 0}, {0},
};

static bool property_value(onnx_text *t, const property *p, str_buf *out)
{
    int64_t n;
    str text;
    str_buf unread;
    str_buf_init(&unread, t->memory);
    switch (p->kind) {
    case P_INT:
        if (!onnx_text_int(t, INT64_MIN, INT64_MAX, &n))
            return false;
        if (p->field)
            wire_add_int(out, p->field, n);
        return true;
    case P_STRING:
        if (!onnx_text_string(t, &text))
            return false;
        if (p->field)
            wire_add_bytes(out, p->field, text);
        return true;
    case P_SETS: return operator_sets(t, out, p->field);
    case P_PAIRS: return onnx_text_want(t, '[') && pairs(t, &unread, 1);
    }
    return false;
}

// < ir_version: 8, … >; there may be none.
static bool properties(onnx_text *t, const property *known, str_buf *out)
{
    if (!onnx_text_take(t, '<'))
        return true;
    for (bool more = true; more; more = onnx_text_take(t, ',')) {
        const property *p = known;
        str word = onnx_text_identifier(t, true);
        while (p->name && !str_equal(word, str_of(p->name)))
            p++;
        if (!p->name)
            return onnx_text_expected(t, known == of_models ? "a property of models, such as 'opset_import'"
                                                            : "a property of functions, such as 'domain'");
        onnx_text_identifier(t, false);
        if (!onnx_text_want(t, ':') || !property_value(t, p, out))
            return false;
    }
    return onnx_text_want(t, '>');
}

// <alpha, beta = 0.5>: attributes without and with a default.
static bool function_attributes(onnx_text *t, str_buf *out)
{
    if (!onnx_text_take(t, '<'))
        return true;
    for (bool more = true; more; more = onnx_text_take(t, ',')) {
        str name;
        str_buf one;
        if (!onnx_text_name(t, &name))
            return false;
        char next = onnx_text_next(t);
        if (next != ':' && next != '=') {
            wire_add_bytes(out, 6, name);
            continue;
        }
        if (!attribute(t, name, &one))
            return false;
        wire_add_message(out, 11, &one);
    }
    return onnx_text_want(t, '>');
}

// (a, float[N] b), as names in field [field].
static bool parameters(onnx_text *t, str_buf *out, unsigned field)
{
    if (!onnx_text_want(t, '('))
        return false;
    for (bool more = onnx_text_next(t) != ')'; more; more = onnx_text_take(t, ',')) {
        value_type type;
        size_t at;
        str name;
        if (!read_value(t, &type, &at, &name))
            return false;
        wire_add_bytes(out, field, name);
    }
    return onnx_text_want(t, ')');
}

static bool read_function(onnx_text *t, str_buf *function)
{
    str name;
    str_buf_init(function, t->memory);
    if (!properties(t, of_functions, function) || !onnx_text_name(t, &name))
        return false;
    wire_add_bytes(function, 1, name);
    return function_attributes(t, function) && parameters(t, function, 4) && onnx_text_want_arrow(t) &&
           parameters(t, function, 5) &&
           (onnx_text_next(t) != '<' || values(t, function, 0, '<', '>', false)) && nodes(t, function, 7);
}

bool onnx_text_read(arena *a, str text, str *out, const char **error)
{
    onnx_text t = {.memory = a, .all = text};
    str_buf model, graph;
    str_buf_init(&model, a);
    bool ok = properties(&t, of_models, &model) && read_graph(&t, &graph);
    if (ok)
        wire_add_message(&model, 7, &graph);
    while (ok && (onnx_text_next(&t), t.at < text.len)) {
        str_buf function;
        ok = read_function(&t, &function);
        if (ok)
            wire_add_message(&model, 25, &function);
    }
    *out = (str){model.len ? model.at : "", model.len};
    *error = t.error;
    return ok;
}
