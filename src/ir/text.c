// The vocabulary of the text form.
#include "ir/text_priv.h"

#include <string.h>

const char *const ir_text_effects[] = {
    "reads_global", "writes_global", "reads_shared", "writes_shared", "barrier", "fence", "volatile", "convergent", NULL,
};

const char *const ir_text_unroll[] = {"", "plain", "unroll", "unroll_full", "parallel"};

static const char *const reserved[] = {
    "let",      "alloc",  "copy",  "if",     "else",   "for",    "while",   "tasks", "break", "continue", "return",
    "scope",    "leave",  "assert", "assume", "print", "launch", "comment", "true",  "false", "and",     "or",
    "mut",      "guarded", "volatile", "_",
};

static const struct {
    const char *mnemonic;
    int arity;
    text_infix infix;
} ops[] = {
#define IR_OP(op, mnemonic, n, properties, c, c_prec, python, python_prec, doc) \
    {mnemonic, n, {IR_OP_##op, python, TEXT_##python_prec}},
#include "ir/ir_ops.def"
#undef IR_OP
};

const text_infix *ir_text_infix(ir_op op)
{
    return ops[op].infix.sign ? &ops[op].infix : NULL;
}

int ir_op_arity(ir_op op)
{
    return ops[op].arity;
}

bool ir_text_has_call_form(ir_op op)
{
    return ops[op].arity > 0 || op == IR_OP_VEC;
}

bool ir_text_op(str mnemonic, ir_op *out)
{
    for (int op = 0; op < IR_OP__COUNT; op++) {
        if (str_equal(mnemonic, str_of(ops[op].mnemonic))) {
            *out = (ir_op)op;
            return true;
        }
    }
    return false;
}

bool ir_text_type_name(str text, dtype *scalar, int *lanes)
{
    *lanes = 0;
    if (dt_find(text, scalar) && strlen(dt_name(*scalar)) == text.len)
        return true;
    size_t digits = 0;
    while (digits < text.len && text.at[text.len - 1 - digits] >= '0' && text.at[text.len - 1 - digits] <= '9')
        digits++;
    if (!digits || digits > 4 || digits + 2 > text.len || text.at[text.len - digits - 1] != 'x')
        return false;
    for (size_t i = text.len - digits; i < text.len; i++)
        *lanes = *lanes * 10 + (text.at[i] - '0');
    str head = {text.at, text.len - digits - 1};
    return *lanes > 0 && text.at[text.len - digits] != '0' && dt_find(head, scalar) &&
           strlen(dt_name(*scalar)) == head.len;
}

bool ir_text_is_reserved(const char *word)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcmp(word, reserved[i]) == 0)
            return true;
    ir_op op;
    return ir_text_op(str_of(word), &op) && ir_text_has_call_form(op);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool ir_text_is_name(const char *text)
{
    if (!is_letter(*text))
        return false;
    for (; *text; text++)
        if (!is_letter(*text) && !(*text >= '0' && *text <= '9'))
            return false;
    return true;
}
