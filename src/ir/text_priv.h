// Shared by the printer and the reader of the text form: words that are no names, operators and their precedence.
#pragma once

#include "ir/ir.h"

// Precedence of the text form, loosest first. Comparisons do not chain; all others group to the left.
enum {
    TEXT_LOR = 1, TEXT_LAND, TEXT_COMPARE, TEXT_OR, TEXT_XOR, TEXT_AND, TEXT_SHIFT, TEXT_SUM, TEXT_PRODUCT, TEXT_UNARY,
    TEXT_POSTFIX,
};

typedef struct text_infix {
    ir_op op;
    const char *sign;
    int precedence;
} text_infix;

const text_infix *ir_text_infix(ir_op op);  // NULL: it has no sign

// Words that a variable of that name has to be quoted for: those that begin a statement or an expression, and operators
// that 'min[i32](a, b)' calls by name. Others stand where no variable can, or (types) before '('.
bool ir_text_is_reserved(const char *word);
bool ir_text_is_name(const char *text);
// "f32x4" or "f32": false if [text] is neither; [lanes] 0 for a scalar.
bool ir_text_type_name(str text, dtype *scalar, int *lanes);
bool ir_text_op(str mnemonic, ir_op *out);
bool ir_text_has_call_form(ir_op op);
int ir_op_arity(ir_op op);

// Names of flags, indexed by bit; end with NULL.
extern const char *const ir_text_effects[];
extern const char *const ir_text_unroll[];  // indexed by tm_unroll
