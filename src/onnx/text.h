// The text form of models, from its characters up: what text_scan.c gives to text.c.
#pragma once

#include "onnx/model.h"

typedef struct onnx_text {
    arena *memory;
    str all;
    size_t at;         // of the next character
    const char *error; // the first one; NULL: none so far
    int depth;         // of types and graphs in one another
} onnx_text;

typedef enum onnx_literal_kind { ONNX_INT, ONNX_FLOAT, ONNX_STRING } onnx_literal_kind;

typedef struct onnx_literal {
    onnx_literal_kind kind;
    const char *text;  // of a number, as it is written
    str string;        // without quotes and escapes
} onnx_literal;

// Keeps the first error, with line and column of [at]. False.
bool onnx_text_failed(onnx_text *t, size_t at, const char *why);
// "expected WHAT, found …", at the next character that is no space. False.
bool onnx_text_expected(onnx_text *t, const char *what);

// The next character behind spaces and comments; 0: the text ends.
char onnx_text_next(onnx_text *t);
// Takes that character if it is [c].
bool onnx_text_take(onnx_text *t, char c);
// The same, or an error.
bool onnx_text_want(onnx_text *t, char c);
// "=>", or an error.
bool onnx_text_want_arrow(onnx_text *t);
// An identifier; "": there is none. It stays if [peek].
str onnx_text_identifier(onnx_text *t, bool peek);
// An identifier or a text in quotes, which may be empty.
bool onnx_text_name(onnx_text *t, str *out);
bool onnx_text_literal(onnx_text *t, onnx_literal *out);
// Whether the next word is inf, infinity or nan, which are numbers.
bool onnx_text_is_number_word(onnx_text *t);
bool onnx_text_string(onnx_text *t, str *out);
// A whole number between the two.
bool onnx_text_int(onnx_text *t, int64_t least, int64_t most, int64_t *out);
bool onnx_text_natural(onnx_text *t, uint64_t *out);
bool onnx_text_float(onnx_text *t, double *out);
// The same of a literal that has been read, which was at [at].
bool onnx_literal_int(onnx_text *t, const onnx_literal *l, size_t at, int64_t *out);
