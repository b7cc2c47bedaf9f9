// Amounts of the interface document (docs/interface.md): numbers, or texts in Python's syntax over the names of a
// kernel's parameters. A text is compiled once into a small postfix program; evaluating it takes no memory.
//
// Integers are those of Python as long as they fit in 64 bits; what does not fit is a failure, never a wrong number.
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
    JIT_NOT_INTEGER,    // bits of a float, or a float as the result
    JIT_UNKNOWN,        // no text: it depends on more than the parameters
} jit_trouble;

// As the end of a sentence: "it is beyond 64 bits".
const char *jit_trouble_text(jit_trouble trouble);

typedef enum jit_value_kind {
    JIT_INTEGER,
    JIT_REAL,
    JIT_HUGE,   // an integer from 2^63 on, which cannot be computed with
    JIT_OTHER,  // an address, or a vector: no number
} jit_value_kind;

// The value of a parameter.
typedef struct jit_value {
    jit_value_kind kind;
    union {
        int64_t integer;
        double real;
    } u;
} jit_value;

typedef enum jit_amount_kind {
    JIT_AMOUNT_UNKNOWN,
    JIT_AMOUNT_NUMBER,
    JIT_AMOUNT_NAME,
    JIT_AMOUNT_TEXT
} jit_amount_kind;

typedef struct jit_amount {
    jit_amount_kind kind;
    int64_t number;  // NUMBER: the value; NAME: the index of the parameter
    const char *text;
    const struct jit_op *ops;
    uint32_t op_count;
} jit_amount;

// Compiles [text]; the result, which keeps [text], is in [a]. False for what is no such expression, *[why] then says
// what is wrong with it, in [a]: texts may come from anywhere.
bool jit_amount_compile(arena *a, const char *text, const char *const *names, int name_count, jit_amount *out,
                        const char **why);
// The names in it, each once, as their indices; at most [most] of them.
int jit_amount_names(const jit_amount *amount, int *out, int most);
// [values]: one for each name. *[out] is only set where the result is JIT_FINE.
jit_trouble jit_amount_evaluate(const jit_amount *amount, const jit_value *values, int64_t *out);
