// Expressions of the IR in Python's syntax.

#include "pipeline/interface.h"

// Python's precedence, from loose to tight ("The Python Language Reference", 6.17). All comparisons chain, so that none
// may stand unbracketed beside another.
typedef enum prec {
    PREC_ALL,
    PREC_IF,
    PREC_LOR,
    PREC_LAND,
    PREC_NOT,
    PREC_COMPARE,
    PREC_OR,
    PREC_XOR,
    PREC_AND,
    PREC_SHIFT,
    PREC_SUM,
    PREC_PRODUCT,
    PREC_SIGN,
    PREC_POSTFIX
} prec;

typedef struct spelling {
    const char *sign;
    prec prec;
    bool chains; // a sign b sign c is (a sign b) sign c
} spelling;

typedef struct writer {
    str_buf *out;
    pl_name_of *name_of;
    const void *user;
    bool failed;
} writer;

static void write_at(writer *w, const ir_expr *e, prec least);

static const spelling spellings[IR_OP__COUNT] = {
#define IR_OP(op, mnemonic, n, properties, c, c_prec, python, python_prec, doc)                                        \
    {python, PREC_##python_prec, !((properties)&IR_COMPARE)},
#include "ir/ir_ops.def"
#undef IR_OP
};

// The passes write TRUNCDIV where neither operand is negative, and only there: rounding down is the same.
static spelling binary_spelling(ir_op op)
{
    return spellings[op == IR_OP_TRUNCDIV ? IR_OP_FLOORDIV : op == IR_OP_TRUNCMOD ? IR_OP_FLOORMOD : op];
}

static void write_binary(writer *w, const ir_expr *e, spelling s)
{
    write_at(w, e->args[0], s.chains ? s.prec : s.prec + 1);
    str_addf(w->out, " %s ", s.sign);
    write_at(w, e->args[1], s.prec + 1);
}

static void write_call(writer *w, const char *function, const ir_expr *e)
{
    str_addf(w->out, "%s(", function);
    for (int i = 0; i < e->arg_count; i++) {
        str_adds(w->out, i ? ", " : "");
        write_at(w, e->args[i], PREC_ALL);
    }
    str_addc(w->out, ')');
}

static void write_unary(writer *w, const char *sign, const ir_expr *e, prec least)
{
    str_adds(w->out, sign);
    write_at(w, e->args[0], least);
}

static void write_select(writer *w, const ir_expr *e)
{
    write_at(w, e->args[1], PREC_LOR);
    str_adds(w->out, " if ");
    write_at(w, e->args[0], PREC_LOR);
    str_adds(w->out, " else ");
    write_at(w, e->args[2], PREC_IF);
}

static bool is_integer(const ir_expr *e)
{
    return e->type->kind == IR_SCALAR && (dt_is_int(e->type->scalar) || e->type->scalar == DT_BOOL);
}

// Between integers a conversion changes nothing that fits.
static bool is_silent(const ir_expr *e)
{
    return e->op == IR_OP_CAST && is_integer(e) == is_integer(e->args[0]) && e->type->scalar != DT_BOOL;
}

static prec prec_of(const ir_expr *e)
{
    spelling s = binary_spelling(e->op);
    if (s.sign)
        return s.prec;
    switch (e->op) {
    case IR_OP_SELECT:
        return PREC_IF;
    case IR_OP_NOT:
        return PREC_NOT;
    case IR_OP_NEG:
    case IR_OP_BITNOT:
        return PREC_SIGN;
    case IR_OP_INT:
        return e->u.i < 0 ? PREC_SIGN : PREC_POSTFIX;
    case IR_OP_FLOAT:
        return e->u.f < 0 ? PREC_SIGN : PREC_POSTFIX;
    default:
        return PREC_POSTFIX;
    }
}

static void write_cast(writer *w, const ir_expr *e)
{
    if (e->type->kind != IR_SCALAR || e->args[0]->type->kind != IR_SCALAR)
        w->failed = true;
    else
        write_call(w, e->type->scalar == DT_BOOL ? "bool" : is_integer(e) ? "int" : "float", e);
}

static void write_bare(writer *w, const ir_expr *e)
{
    spelling s = binary_spelling(e->op);
    if (s.sign) {
        write_binary(w, e, s);
        return;
    }
    switch (e->op) {
    case IR_OP_INT:
        str_addf(w->out, e->type->scalar == DT_U64 ? "%llu" : "%lld", (long long)e->u.i);
        return;
    case IR_OP_FLOAT:
        str_add_double(w->out, e->u.f);
        return;
    case IR_OP_VAR:
        str_adds(w->out, w->name_of(w->user, e->u.var));
        return;
    case IR_OP_NEG:
        write_unary(w, "-", e, PREC_SIGN);
        return;
    case IR_OP_BITNOT:
        write_unary(w, "~", e, PREC_SIGN);
        return;
    case IR_OP_NOT:
        write_unary(w, "not ", e, PREC_NOT);
        return;
    case IR_OP_MIN:
        write_call(w, "min", e);
        return;
    case IR_OP_MAX:
        write_call(w, "max", e);
        return;
    case IR_OP_SELECT:
        write_select(w, e);
        return;
    case IR_OP_CAST:
        write_cast(w, e);
        return;
    default:
        w->failed = true;
    }
}

static void write_at(writer *w, const ir_expr *e, prec least)
{
    while (is_silent(e))
        e = e->args[0];
    bool brackets = prec_of(e) < least;
    str_adds(w->out, brackets ? "(" : "");
    write_bare(w, e);
    str_adds(w->out, brackets ? ")" : "");
}

bool pl_python_text(const ir_expr *e, pl_name_of *name_of, const void *user, str_buf *out)
{
    writer w = {.out = out, .name_of = name_of, .user = user};
    write_at(&w, e, PREC_ALL);
    return !w.failed;
}
