// Expressions of the interface document (docs/interface.md): integers, or text in Python's syntax over the names of a
// kernel's parameters. Text is compiled once into a small postfix program; evaluation does not allocate.
//
// Integers behave as in Python while they fit in 64 bits; a value that does not fit is an error, never a wrong number.
// Division and remainder round down, as in Python.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

typedef enum jit_trouble {
    JIT_FINE,
    JIT_OVERFLOW,       // a number beyond 64 bits
    JIT_ZERO_DIVISION,
    JIT_BAD_SHIFT,      // by less than 0
    JIT_NOT_INTEGER,    // bitwise operators on a float, or a float as the result
    JIT_UNKNOWN,        // no expression: the value depends on more than the parameters
} jit_trouble;

// A clause for messages: "it is beyond 64 bits".
const char *jit_trouble_text(jit_trouble trouble);

typedef enum jit_value_kind {
    JIT_INTEGER,
    JIT_REAL,
    JIT_HUGE,   // an integer of at least 2^63, not usable in arithmetic
    JIT_OTHER,  // an address or a vector: not a number
} jit_value_kind;

// The value of a parameter.
typedef struct jit_value {
    jit_value_kind kind;
    union {
        int64_t integer;
        double real;
    } u;
} jit_value;

typedef enum jit_expr_kind {
    JIT_EXPR_UNKNOWN,
    JIT_EXPR_NUMBER,
    JIT_EXPR_NAME,
    JIT_EXPR_TEXT
} jit_expr_kind;

typedef struct jit_expr {
    jit_expr_kind kind;
    int64_t number;  // NUMBER: the value; NAME: the index of the parameter
    const char *text;
    const struct jit_op *ops;
    uint32_t op_count;
} jit_expr;

// Compiles [text]; the result is in [a] and refers to [text]. Returns false if it is not a valid expression, with the
// reason in *[why], in [a]: the text is untrusted.
bool jit_expr_compile(arena *a, const char *text, const char *const *names, int name_count, jit_expr *out,
                        const char **why);
// The indices of the names that occur, each once; at most [most] of them.
int jit_expr_names(const jit_expr *expr, int *out, int most);
// [values]: one per name. *[out] is set only if the result is JIT_FINE.
jit_trouble jit_expr_evaluate(const jit_expr *expr, const jit_value *values, int64_t *out);
