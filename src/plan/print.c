// The text of plans. Expressions are those of the IR's text form (docs/ir.md); addresses count bytes.

#include "plan/build.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "plan/text.h"

static void print_node(const plan *p, int node, str_buf *out);

// ---- expressions ------------------------------------------------------------------------------------------------

// i32 and f32 go without saying, as in the IR.
static void print_float(plan_type t, uint64_t bits, str_buf *out)
{
    double value = dt_to_double(t, bits);
    if (isnan(value) || isinf(value)) {
        str_addf(out, "%s(%s)", isnan(value) ? "nan" : value < 0 ? "ninf" : "inf", dt_name(t));
        return;
    }
    str_add_double(out, value);
    if (t != DT_F32)
        str_adds(out, dt_name(t));
}

static void print_constant(const plan_node *n, str_buf *out)
{
    if (n->type == DT_NONE)
        str_addf(out, "bitcast[address](%" PRIu64 "u64)", n->u.bits);
    else if (n->type == DT_BOOL)
        str_adds(out, n->u.bits ? "true" : "false");
    else if (dt_is_float(n->type))
        print_float(n->type, n->u.bits, out);
    else if (dt_is_signed(n->type))
        str_addf(out, "%" PRId64 "%s", (int64_t)n->u.bits, n->type == DT_I32 ? "" : dt_name(n->type));
    else
        str_addf(out, "%" PRIu64 "%s", n->u.bits, dt_name(n->type));
}

static void print_call(const plan *p, const plan_node *n, str_buf *out)
{
    const char *function = n->op == IR_OP_INTRIN ? plan_function_name(n->u.function) : NULL;
    str_adds(out, function ? function : n->op == IR_OP_CAST ? dt_name(n->type) : ir_op_name(n->op));
    if (n->op == IR_OP_BITCAST)
        str_addf(out, "[%s]", plan_type_name(n->type));
    str_addc(out, '(');
    for (int i = 0; i < 3 && n->args[i] >= 0; i++) {
        str_adds(out, i ? ", " : "");
        print_node(p, n->args[i], out);
    }
    str_addc(out, ')');
}

// Brackets around each operand that is an operation itself, but for chains of 'and', 'or', '+' and '*'.
static void print_operand(const plan *p, const plan_node *user, int index, str_buf *out)
{
    const plan_node *n = &p->nodes.at[user->args[index]];
    bool chains = n->op == user->op && !index &&
                  (n->op == IR_OP_ADD || n->op == IR_OP_MUL || n->op == IR_OP_LAND || n->op == IR_OP_LOR);
    bool has_brackets = plan_sign_of(n->op) && !chains;
    str_adds(out, has_brackets ? "(" : "");
    print_node(p, user->args[index], out);
    str_adds(out, has_brackets ? ")" : "");
}

static void print_node(const plan *p, int node, str_buf *out)
{
    const plan_node *n = &p->nodes.at[node];
    const char *sign = plan_sign_of(n->op);
    if (n->op == IR_OP_INT) {
        print_constant(n, out);
    } else if (n->op == IR_OP_VAR) {
        str_adds(out, p->values.at[n->u.value].name);
    } else if (sign) {
        print_operand(p, n, 0, out);
        str_addf(out, " %s ", sign);
        print_operand(p, n, 1, out);
    } else {
        print_call(p, n, out);
    }
}

// ---- statements -------------------------------------------------------------------------------------------------

static void print_args(const plan *p, const plan_stmt *s, str_buf *out)
{
    for (int i = 0; i < s->arg_count; i++) {
        str_adds(out, i ? ", " : "");
        print_node(p, s->args[i], out);
    }
}

static void print_text(const char *text, str_buf *out)
{
    str_addc(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            str_addf(out, "\\%c", *text);
        else if (*text == '\n')
            str_adds(out, "\\n");
        else
            str_addc(out, *text);
    }
    str_addc(out, '"');
}

static void print_check(const plan *p, const plan_stmt *s, str_buf *out)
{
    str_adds(out, "check ");
    print_args(p, s, out);
    str_adds(out, ", ");
    print_text(s->text, out);
}

static void print_for(const plan *p, const plan_stmt *s, const char *name, const char *type, str_buf *out)
{
    str_addf(out, "for %s: %s in ", name, type);
    print_node(p, s->args[0], out);
    str_adds(out, " to ");
    print_node(p, s->args[1], out);
    str_adds(out, " step ");
    print_node(p, s->args[2], out);
    str_adds(out, " {");
}

// How many blocks of its kind lie between a statement and the one that it leaves.
static int skipped_blocks(const plan *p, const plan_stmt *s)
{
    int skipped = 0, number = (int)(s - p->stmts.at);
    for (int i = number - 1; i > s->target; i--) {
        const plan_stmt *o = &p->stmts.at[i];
        bool is_around = o->target > number;
        bool is_kind = s->kind == PLAN_LEAVE ? o->kind == PLAN_SCOPE : o->kind == PLAN_FOR || o->kind == PLAN_WHILE;
        skipped += is_around && is_kind;
    }
    return skipped;
}

static void print_leaving(const plan *p, const plan_stmt *s, const char *word, str_buf *out)
{
    int skipped = skipped_blocks(p, s);
    str_adds(out, word);
    if (skipped)
        str_addf(out, " %d", skipped);
}

static void print_allocate(const plan *p, const plan_stmt *s, const char *name, str_buf *out)
{
    str_addf(out, "allocate %s: %s[", name, plan_type_name(s->elem));
    print_args(p, s, out);
    str_addc(out, ']');
    if (s->is_placed)
        str_addf(out, " at %" PRId64, s->offset);
}

static void print_with(const plan *p, const plan_stmt *s, const char *before, const char *behind, str_buf *out)
{
    str_adds(out, before);
    print_args(p, s, out);
    str_adds(out, behind);
}

static void print_stmt(const plan *p, const plan_stmt *s, str_buf *out)
{
    const char *name = s->value < 0 ? "" : p->values.at[s->value].name;
    const char *type = s->value < 0 ? "" : plan_type_name(p->values.at[s->value].type);
    switch (s->kind) {
    case PLAN_LET:
        str_addf(out, "let %s: %s = ", name, type);
        print_args(p, s, out);
        break;
    case PLAN_SET:
        str_addf(out, "set %s = ", name);
        print_args(p, s, out);
        break;
    case PLAN_CHECK: print_check(p, s, out); break;
    case PLAN_IF: print_with(p, s, "if ", " {", out); break;
    case PLAN_ELSE: str_adds(out, "} else {"); break;
    case PLAN_FOR: print_for(p, s, name, type, out); break;
    case PLAN_WHILE: print_with(p, s, "while ", " {", out); break;
    case PLAN_SCOPE: str_adds(out, "scope {"); break;
    case PLAN_END: str_adds(out, "}"); break;
    case PLAN_BREAK: print_leaving(p, s, "break", out); break;
    case PLAN_CONTINUE: print_leaving(p, s, "continue", out); break;
    case PLAN_LEAVE: print_leaving(p, s, "leave", out); break;
    case PLAN_RETURN: print_with(p, s, s->arg_count ? "return " : "return", "", out); break;
    case PLAN_ALLOCATE: print_allocate(p, s, name, out); break;
    case PLAN_FREE: str_addf(out, "free %s", name); break;
    case PLAN_FILL:
        str_addf(out, "fill[%d] ", s->bytes);
        print_args(p, s, out);
        break;
    case PLAN_COPY: print_with(p, s, "copy ", "", out); break;
    case PLAN_PRINT:
        str_adds(out, "print ");
        print_text(s->text, out);
        str_adds(out, s->arg_count ? ", " : "");
        print_args(p, s, out);
        break;
    case PLAN_LAUNCH:
        str_addf(out, "launch @%s(", s->text);
        print_args(p, s, out);
        str_addc(out, ')');
        break;
    case PLAN__COUNT: break;
    }
}

static void print_head(const plan *p, str_buf *out)
{
    str_addf(out, "plan @%s(", p->name);
    for (int i = 0; i < p->parameter_count; i++)
        str_addf(out, "%s%s: %s", i ? ", " : "", p->values.at[i].name, plan_type_name(p->values.at[i].type));
    str_addc(out, ')');
    if (p->has_result)
        str_addf(out, " -> %s", plan_type_name(p->result));
    if (p->workspace >= 0) {
        str_adds(out, " workspace ");
        print_node(p, p->workspace, out);
    }
    if (p->planned >= 0)
        str_addf(out, " planned %" PRId64, p->planned);
}

// The author's line, where it is not that of the statement before.
static void print_line_of(const plan *p, size_t number, str_buf *out)
{
    const plan_stmt *s = &p->stmts.at[number], *before = number ? s - 1 : NULL;
    bool is_file_known = before && before->file && s->file && strcmp(before->file, s->file) == 0;
    if (!s->file || (is_file_known && before->line == s->line))
        return;
    str_adds(out, " # ");
    if (!is_file_known) {
        print_text(s->file, out);
        str_addc(out, ':');
    }
    str_addf(out, "%" PRIu32, s->line);
}

size_t plan_line_count(const plan *p)
{
    return p->stmts.len + 1;
}

void plan_print_line(const plan *p, size_t line, str_buf *out)
{
    if (!line) {
        print_head(p, out);
        return;
    }
    print_stmt(p, &p->stmts.at[line - 1], out);
    print_line_of(p, line - 1, out);
}

void plan_print(const plan *p, str_buf *out)
{
    int depth = 0;
    for (size_t i = 0; i < plan_line_count(p); i++) {
        plan_kind kind = i ? p->stmts.at[i - 1].kind : PLAN__COUNT;
        depth -= kind == PLAN_ELSE || kind == PLAN_END;
        for (int k = 0; k < depth; k++)
            str_adds(out, "    ");
        plan_print_line(p, i, out);
        str_addc(out, '\n');
        depth += kind == PLAN_IF || kind == PLAN_ELSE || kind == PLAN_FOR || kind == PLAN_WHILE || kind == PLAN_SCOPE;
    }
}
