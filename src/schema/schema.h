// What an operator takes and gives, as data: one row, made from its definition, that `hdsc ops`, entries, C headers and
// the catalogue of libhdsops read.
//
//     softmax[T: FLOATS, *S](x: T[*S], axis: int = -1) -> T[*S]
//
// has the symbols T (a type: f16, bf16, f32 or f64) and S (axes), the operand x (elements T, axes *S), the attribute
// axis (an int, known while compiling, by default -1) and the result out (elements T, axes *S).
//
// Rules are expressions of the language over symbols and attributes: 'counted(T)', '*without(S, axis)'. They are for
// people and for comparisons; they are not parsed. What they are for given operands is evaluated (tc_list_operators).
// All memory belongs to the arena in which the row was made.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"
#include "target/dtype.h"

// What operands tell: a type parameter of the definition.
typedef struct op_symbol {
    const char *name;                            // "T", "N", "S"
    enum { OP_TYPE, OP_EXTENT, OP_AXES } kind;   // an element type, an extent, any number of extents
    VEC(dtype) choices;                          // OP_TYPE: what it may be
    bool is_any;                                 // OP_TYPE: any type; the choices are those that are made unless others are asked for
    int64_t least;                               // OP_EXTENT: the smallest
    const char *default_text;                    // what it is where no operand tells: "T", "S[len(S) - axes :]"; NULL: there is none
} op_symbol;

// One axis, or of an expression for several, "*S" without the star, all of those.
typedef struct op_axis {
    const char *extent; // "N", "len(S)", "S"
    bool is_many;
} op_axis;

// The type of an operand or result.
typedef struct op_tensor {
    const char *name;   // of a result: "out", or "out1" of several; of an operand NULL, since its parameter has one
    const char *text;   // as its author wrote it: "T[*S, N]"; NULL: the definition takes or gives tensors of any type
    const char *dtype;  // "T", "f32", "counted(T)"; NULL: any
    bool has_shape;     // whether [axes] say it; else only the definition does
    VEC(op_axis) axes;
} op_tensor;

// What values an attribute takes: some of these.
typedef enum op_kinds {
    OP_NONE = 1 << 0,
    OP_BOOL = 1 << 1,
    OP_INT = 1 << 2,
    OP_FLOAT = 1 << 3,
    OP_STR = 1 << 4,
    OP_DTYPE = 1 << 5,
    OP_TUPLE = 1 << 6,
    OP_FUNCTION = 1 << 7,
    OP_ANY = 1 << 8, // whatever the definition does with it
} op_kinds;

typedef enum op_role {
    OP_OPERAND,
    OP_NUMBER, // an attribute that is given at run time
    OP_CHOICE, // an attribute that is known while compiling
} op_role;

typedef struct op_param {
    const char *name;
    op_role role;
    // Operands
    op_tensor tensor;
    bool is_optional; // may be None
    bool is_variadic; // any number of operands, *xs
    // Attributes
    unsigned kinds;            // of OP_NONE, …; of an enumeration 0
    VEC(const char *) values;  // an enumeration: it is one of these, "\"tanh\"", or of [kinds]; empty: it is none
    const char *type;          // as its author wrote it: "f32", "int"; NULL: nothing
    dtype number;              // OP_NUMBER: as what kernels take it; DT_NONE while a symbol says it
    const char *default_text;  // "-1"; NULL: it has to be given
    bool is_declared;          // whether the author says what it takes; else it follows from the default
} op_param;

// What a result is for given operands.
typedef struct op_result {
    dtype type;
    int rank;
    int64_t shape[8];
} op_result;

// How the operator is computed.
typedef enum op_family {
    OP_FAMILY_UNKNOWN,  // it takes operands that only calls tell
    OP_ELEMENTWISE,     // one element of the result from one of each operand, which are broadcast
    OP_GATHER,          // one element of the result from any of the operands, without reductions
    OP_ROWS,            // reductions along axes with the last one among them
    OP_COLUMNS,         // reductions along axes before the last one
    OP_COMPOSED,        // several kernels, or loops in each element
    OP_OWN_KERNELS,     // its author has written kernels: the templates
} op_family;

// A function whose kernels compute the operator.
typedef struct op_template {
    const char *name, *module;
} op_template;

typedef struct op_schema {
    const char *name;
    const char *module; // that defines it: "softmax"
    const char *file;   // of the module
    unsigned line;      // of its name in there, from 1
    const char *doc;    // the whole docstring, whose first line is the summary; NULL: none
    VEC(op_symbol) symbols;
    VEC(op_param) params; // in order of the definition
    VEC(op_tensor) results;
    op_family family;
    VEC(op_template) templates;
    const char *precision; // "product", "wide" or "": what a graph of lower precision does with it
    VEC(op_result) inferred; // of the operands that tc_list_operators was asked for; else empty
    const char *no_entry; // why C has no function for it: "it takes any number of operands"; NULL: it may have one
} op_schema;

typedef VEC(op_schema *) op_schemas;

// schema.c
const char *op_family_name(op_family f); // "rows"; of OP_FAMILY_UNKNOWN NULL
const op_symbol *op_find_symbol(const op_schema *o, const char *name); // NULL: there is none
// "softmax(x: T[*S], axis: int = -1) -> T[*S]", in lines of [width] characters.
void op_add_signature(const op_schema *o, size_t width, str_buf *out);
// "T: f16, f32", and "…" for a symbol that may be any type.
void op_add_choices(const op_symbol *s, str_buf *out);
// Appends [part], on a new line if it goes beyond [width]. [line]: where the line began. [separator]: what ends the part
// before it, or NULL: it is the first of a line.
void op_add_part(str_buf *out, size_t *line, size_t width, const char *separator, const char *indent, const char *part);

// schema_json.c
struct json_t;
// The row as an object, which is the caller's.
struct json_t *op_schema_json(const op_schema *o);
