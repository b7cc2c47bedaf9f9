#pragma once

#include "jit/expr.h"

// The maximum stack depth of a program; deeper expressions are rejected by the parser.
enum { JIT_STACK = 64 };

typedef enum jit_op_code {
    JIT_OP_INTEGER, JIT_OP_REAL, JIT_OP_NAME, JIT_OP_HUGE,
    JIT_OP_ADD, JIT_OP_SUB, JIT_OP_MUL, JIT_OP_DIV, JIT_OP_FLOORDIV, JIT_OP_MOD,
    JIT_OP_SHL, JIT_OP_SHR, JIT_OP_AND, JIT_OP_OR, JIT_OP_XOR,
    JIT_OP_EQ, JIT_OP_NE, JIT_OP_LT, JIT_OP_LE, JIT_OP_GT, JIT_OP_GE,
    JIT_OP_MIN, JIT_OP_MAX,
    JIT_OP_NEG, JIT_OP_NOT, JIT_OP_BITNOT, JIT_OP_TO_INT, JIT_OP_TO_FLOAT, JIT_OP_TO_BOOL,
    JIT_OP_JUMP,         // by u.integer operations, relative to the next one
    JIT_OP_JUMP_UNLESS,  // pops the top; jumps if it is false
    JIT_OP_AND_THEN,     // jumps if the top is false, else pops it
    JIT_OP_OR_ELSE,      // jumps if the top is true, else pops it
} jit_op_code;

typedef struct jit_op {
    jit_op_code code;
    union {
        int64_t integer;
        double real;
    } u;
} jit_op;
