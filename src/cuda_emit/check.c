// Assertions, assumptions and printf.
#include "cuda_emit/printer.h"

#include <string.h>

ir_expr *cu_negated(cu *cx, ir_expr *e)
{
    bool is_compare = ir_op_properties(e->op) & IR_COMPARE;
    const ir_type *t = is_compare ? e->args[0]->type : NULL;
    // A comparison with NaN fails, and so does its opposite.
    bool is_total =
        is_compare && (t->kind != IR_SCALAR || !dt_is_float(t->scalar) || e->op == IR_OP_EQ || e->op == IR_OP_NE);
    if (is_total && t->kind == IR_SCALAR && (!cu_is_struct(t->scalar)))
        return ir_binary(cx->m, ir_op_negated(e->op), e->args[0], e->args[1], e->span);
    if (e->op == IR_OP_NOT)
        return e->args[0];
    return ir_unary(cx->m, IR_OP_NOT, e, e->span);
}

void cu_check(cu *cx, const ir_stmt *s)
{
    str_buf message;
    str_buf_init(&message, cx->a);
    cu_location_text(cx, s->span, &message);
    str_adds(&message, "assertion failed");
    if (s->text && *s->text)
        str_addf(&message, ": %s", s->text);
    str_buf literal;
    str_buf_init(&literal, cx->a);
    cu_add_literal(&literal, str_text(&message));
    const char *failed = cu_at(cx, cu_negated(cx, s->value), CU_ASSIGN);
    if (cx->in_host) {
        cx->dialect->host->check(cx, s, failed, str_text(&literal));
        return;
    }
    cx->prints = true;
    cu_use(cx, "fail");
    cu_put(cx, "if (%s)", failed);
    cx->indent++;
    cu_put(cx, "fail(\"%s\");", str_text(&literal));
    cx->indent--;
}

void cu_assume(cu *cx, const ir_stmt *s)
{
    if (!ir_is_pure(s->value) || !cx->dialect->has_gpu_pragmas)
        return;
    if (cx->in_host)
        cu_put(cx, "if (%s) __builtin_unreachable();", cu_at(cx, cu_negated(cx, s->value), CU_ASSIGN));
    else
        cu_put(cx, "__builtin_assume(%s);", cu_at(cx, s->value, CU_ASSIGN));
}

// The next conversion of a printf format: its letter, and how many l it has. False at the end.
static bool next_conversion(const char **format, char *letter, int *longs)
{
    const char *at = *format;
    while (*at && (*at != '%' || at[1] == '%'))
        at += *at == '%' ? 2 : 1;
    if (!*at)
        return false;
    at += 1 + strspn(at + 1, "-+ #0123456789.*");
    for (*longs = 0; *at == 'l' || *at == 'h' || *at == 'z' || *at == 'j' || *at == 't'; at++)
        *longs += *at == 'l' ? 1 : *at == 'h' ? 0 : 2;
    *letter = *at;
    *format = *at ? at + 1 : at;
    return *letter != '\0';
}

static const char *print_integer(cu *cx, cu_text t, dtype from, bool is_signed, bool is_long)
{
    // C's int64_t may be a long, which %lld does not take.
    bool has_size = is_long == (dt_bits(from) == 64) && dt_is_int(from) && (!is_long || cx->dialect->i64_is_long_long);
    if (has_size && dt_is_signed(from) == is_signed && !t.literal)
        return cu_paren(cx, t, CU_ASSIGN);
    if (t.literal && !is_long)
        return cu_paren(cx, t, CU_ASSIGN);
    const char *type =
        is_long ? (is_signed ? "long long" : "unsigned long long") : (is_signed ? "int" : "unsigned int");
    bool promotes = !is_long && is_signed && (dt_bits(from) < 32 || from == DT_BOOL);
    return promotes ? cu_paren(cx, t, CU_ASSIGN) : arena_printf(cx->a, "(%s)%s", type, cu_paren(cx, t, CU_UNARY));
}

// An argument in the type that the conversion expects.
static const char *print_argument(cu *cx, const ir_expr *e, char letter, int longs)
{
    if (e->type->kind != IR_SCALAR)
        return cu_at(cx, e, CU_ASSIGN);
    dtype from = cu_value_dtype(e->type->scalar);
    bool is_float = strchr("aAeEfFgG", letter) != NULL;
    cu_text t = cu_exact(cx, e, true);
    if (cu_is_struct(from)) {
        cu_use_of(cx, from, "to_float", e->span);
        t = cu_primary(cx, DT_F32, "to_float(%s)", cu_paren(cx, t, CU_ASSIGN));
        from = DT_F32;
    }
    if (is_float)
        return dt_is_float(from) ? cu_paren(cx, t, CU_ASSIGN)
                                 : arena_printf(cx->a, "(double)%s", cu_paren(cx, t, CU_UNARY));
    if (letter == 's' || letter == 'p')
        return cu_paren(cx, t, CU_ASSIGN);
    return print_integer(cx, t, from, letter == 'd' || letter == 'i' || letter == 'c', longs > 0);
}

void cu_print(cu *cx, const ir_stmt *s)
{
    str_buf out;
    str_buf_init(&out, cx->a);
    cu_add_literal(&out, s->text);
    str_addc(&out, '"');
    const char *format = s->text;
    for (int i = 0; i < s->arg_count; i++) {
        char letter = 'd';
        int longs = 0;
        if (!next_conversion(&format, &letter, &longs))
            letter = 'p';
        str_addf(&out, ", %s", print_argument(cx, s->args[i], letter, longs));
    }
    cx->prints = true;
    cu_put(cx, "printf(\"%s);", str_text(&out));
    cx->dialect->use_header(cx, "stdio.h");
}
