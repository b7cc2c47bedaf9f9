// Names of the IR's enumerations, as the text form, dumps and messages spell them.
#include "ir/ir.h"

const char *ir_space_name(ir_space s)
{
    switch (s) {
    case IR_GENERIC: return "generic";
    case IR_GLOBAL: return "global";
    case IR_SHARED: return "shared";
    case IR_LOCAL: return "local";
    case IR_REGISTER: return "register";
    case IR_CONSTANT: return "constant";
    case IR_HOST: return "host";
    }
    return "?";
}

const char *ir_sreg_name(ir_sreg r)
{
    static const char *const names[IR_SREG__COUNT] = {
        "tid.x", "tid.y", "tid.z", "bid.x", "bid.y", "bid.z", "bdim.x", "bdim.y", "bdim.z", "gdim.x", "gdim.y", "gdim.z",
    };
    return (unsigned)r < IR_SREG__COUNT ? names[r] : "?";
}

const char *ir_scope_name(ir_scope s)
{
    switch (s) {
    case IR_SCOPE_THREAD: return "thread";
    case IR_SCOPE_WARP: return "warp";
    case IR_SCOPE_WARPGROUP: return "warpgroup";
    case IR_SCOPE_BLOCK: return "block";
    case IR_SCOPE_CLUSTER: return "cluster";
    case IR_SCOPE_GPU: return "gpu";
    }
    return "?";
}

const char *ir_func_kind_name(ir_func_kind k)
{
    switch (k) {
    case IR_KERNEL: return "kernel";
    case IR_DEVICE: return "device";
    case IR_HOST_FUNC: return "host";
    }
    return "?";
}

static const struct {
    const char *mnemonic;
    int properties;
} ops[IR_OP__COUNT] = {
#define IR_OP(op, mnemonic, n, properties, c, c_prec, python, python_prec, doc) {mnemonic, properties},
#include "ir/ir_ops.def"
#undef IR_OP
};

const char *ir_op_name(ir_op op)
{
    return (unsigned)op < IR_OP__COUNT ? ops[op].mnemonic : "?";
}

int ir_op_properties(ir_op op)
{
    return (unsigned)op < IR_OP__COUNT ? ops[op].properties : IR_EFFECTS;
}

ir_op ir_op_negated(ir_op op)
{
    static const ir_op negated[IR_OP__COUNT] = {
        [IR_OP_EQ] = IR_OP_NE, [IR_OP_NE] = IR_OP_EQ, [IR_OP_LT] = IR_OP_GE,
        [IR_OP_GE] = IR_OP_LT, [IR_OP_GT] = IR_OP_LE, [IR_OP_LE] = IR_OP_GT,
    };
    return negated[op];
}

const char *ir_stmt_name(ir_stmt_kind k)
{
    static const char *const names[IR_STMT__COUNT] = {
        [IR_DECL] = "let",       [IR_ASSIGN] = "assign",        [IR_STORE] = "store",   [IR_PSTORE] = "pstore",
        [IR_COPY] = "copy",      [IR_EVAL] = "eval",            [IR_INTRIN_TO] = "intrin_to", [IR_ALLOC] = "alloc",
        [IR_IF] = "if",          [IR_FOR] = "for",              [IR_WHILE] = "while",   [IR_TASKS] = "tasks",
        [IR_BREAK] = "break",    [IR_CONTINUE] = "continue",    [IR_RETURN] = "return", [IR_SCOPE_OF] = "scope",
        [IR_LEAVE] = "leave",    [IR_ASSERT] = "assert",        [IR_ASSUME] = "assume", [IR_PRINT] = "print",
        [IR_LAUNCH] = "launch",  [IR_COMMENT] = "comment",
    };
    return (unsigned)k < IR_STMT__COUNT ? names[k] : "?";
}
