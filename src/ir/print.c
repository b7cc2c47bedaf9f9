// The text form of the IR; docs/ir.md describes it, read.c reads it.
//
// A variable is printed by its name, with '.2', '.3', … for the second, third, … of that name in a function. Where the
// type of an expression does not follow from its operands, the operator is written as a call with the type in brackets.
#include "ir/text_priv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct printer {
    str_buf *out;
    const ir_module *module; // whose locations are printed, too; NULL: no locations
    map names;               // ir_var* -> its text
    map counts;              // name -> how often it came
    int indent;
    bool in_message;         // names as the source spells them
} printer;

static void printer_init(printer *p, str_buf *out)
{
    *p = (printer){.out = out};
    map_init(&p->names, out->arena);
    map_init(&p->counts, out->arena);
}

// ---- words -------------------------------------------------------------------------------------------------------

static void print_string(printer *p, const char *text)
{
    str_addc(p->out, '"');
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\')
            str_addf(p->out, "\\%c", *at);
        else if (*at == '\n')
            str_adds(p->out, "\\n");
        else if (*at < 0x20 || *at == 0x7f)
            str_addf(p->out, "\\x%02x", *at);
        else
            str_addc(p->out, (char)*at);
    }
    str_addc(p->out, '"');
}

// Text that is no name of its own stands in backquotes; those inside it are written twice.
static const char *quoted_name(arena *a, const char *name)
{
    if (ir_text_is_name(name) && !ir_text_is_reserved(name))
        return name;
    str_buf b;
    str_buf_init(&b, a);
    str_addc(&b, '`');
    for (; *name; name++) {
        if (*name == '`')
            str_addc(&b, '`');
        str_addc(&b, *name);
    }
    str_addc(&b, '`');
    return str_text(&b);
}

static const char *var_name(printer *p, const ir_var *v)
{
    const char *known = map_get_ptr(&p->names, v);
    if (known)
        return known;
    const char *base = v->name && *v->name ? v->name : "v";
    uintptr_t count = (uintptr_t)map_get(&p->counts, base, strlen(base)) + 1;
    map_put(&p->counts, base, strlen(base), (void *)count);
    const char *text = quoted_name(p->out->arena, base);
    if (count > 1)
        text = arena_printf(p->out->arena, "%s.%zu", text, (size_t)count);
    map_put_ptr(&p->names, v, (void *)(uintptr_t)text);
    return text;
}

static void print_type(printer *p, const ir_type *t)
{
    if (t)
        ir_type_print(t, p->out);
    else
        str_adds(p->out, "?");
}

// ---- expressions -------------------------------------------------------------------------------------------------

static void print_expr(printer *p, const ir_expr *e, int at_least);

static void print_args(printer *p, ir_expr *const *args, int count)
{
    for (int i = 0; i < count; i++) {
        if (i)
            str_adds(p->out, ", ");
        print_expr(p, args[i], TEXT_LOR);
    }
}

static void print_int(printer *p, const ir_expr *e)
{
    if (e->type->kind != IR_SCALAR) {
        str_addf(p->out, "?%lld", (long long)e->u.i);
        return;
    }
    dtype t = e->type->scalar;
    if (t == DT_BOOL)
        str_adds(p->out, e->u.i ? "true" : "false");
    else if (t == DT_U64)
        str_addf(p->out, "%lluu64", (unsigned long long)e->u.i);
    else
        str_addf(p->out, "%lld%s", (long long)e->u.i, t == DT_I32 ? "" : dt_name(t));
}

static double rounded_to(dtype t, double value)
{
    return t == DT_F32 ? (double)(float)value : dt_is_float(t) ? dt_to_double(t, dt_from_double(t, value)) : value;
}

// The number with the fewest digits that [t] rounds to [value]: 0.1, not 0.10000000149011612. Digits are made as an
// integer, because printf's decimal point is the host program's.
static double shortest_of(dtype t, double value)
{
    int exponent = value == 0.0 || t == DT_F64 ? 0 : (int)floor(log10(fabs(value)));
    for (int digits = 1; digits <= 9 && value != 0.0 && t != DT_F64; digits++) {
        long double scaled = (long double)value * powl(10.0L, (long double)(digits - 1 - exponent));
        char text[48];
        snprintf(text, sizeof text, "%llde%d", llroundl(scaled), exponent - digits + 1);
        double candidate = str_to_double(text);
        if (rounded_to(t, candidate) == value)
            return candidate;
    }
    return value;
}

static void print_float(printer *p, const ir_expr *e)
{
    dtype t = e->type->kind == IR_SCALAR ? e->type->scalar : DT_F64;
    const char *type = e->type->kind == IR_SCALAR ? dt_name(t) : "?";
    if (isnan(e->u.f)) {
        str_addf(p->out, "nan(%s)", type);
    } else if (isinf(e->u.f)) {
        str_addf(p->out, "%s(%s)", e->u.f < 0 ? "ninf" : "inf", type);
    } else {
        str_add_double(p->out, shortest_of(t, e->u.f));
        str_adds(p->out, t == DT_F32 ? "" : type);
    }
}

static void print_access_flags(printer *p, int flags)
{
    if (flags & IR_VOLATILE)
        str_adds(p->out, "volatile ");
    if (flags & IR_FLAT)
        str_addc(p->out, '+');
}

// A[i, j], A[+offset], A[i, j else value]
static void print_access(printer *p, const ir_expr *e)
{
    bool guarded = (e->flags & IR_GUARDED) && e->op == IR_OP_LOAD && e->arg_count > 0;
    str_addf(p->out, "%s[", var_name(p, e->u.var));
    print_access_flags(p, e->flags);
    print_args(p, e->args, e->arg_count - guarded);
    if (guarded) {
        str_adds(p->out, e->arg_count > 1 ? " else " : "else ");
        print_expr(p, e->args[e->arg_count - 1], TEXT_LOR);
    }
    str_addc(p->out, ']');
}

static bool is_tensor_read(const ir_expr *e)
{
    return e->op == IR_OP_VAR && e->u.var->type->kind == IR_TENSOR;
}

static void print_indexed_pointer(printer *p, const ir_expr *pointer, const ir_expr *index, int flags)
{
    bool parens = is_tensor_read(pointer);
    if (parens)
        str_addc(p->out, '(');
    print_expr(p, pointer, TEXT_POSTFIX);
    str_adds(p->out, parens ? ")[" : "[");
    print_access_flags(p, flags & IR_VOLATILE);
    print_expr(p, index, TEXT_LOR);
    str_addc(p->out, ']');
}

// Whether the reader finds the type of an operator by itself.
static bool type_follows(const ir_expr *e)
{
    for (int i = 0; i < e->arg_count; i++)
        if (!e->args[i] || !e->args[i]->type)
            return false;  // broken trees are printed, too
    switch (e->op) {
    case IR_OP_NOT:
    case IR_OP_LAND:
    case IR_OP_LOR: return ir_is_scalar(e->type, DT_BOOL);
    case IR_OP_SELECT: return e->type == e->args[1]->type;
    case IR_OP_PLOAD: return e->args[0]->type->kind == IR_POINTER && e->type == e->args[0]->type->elem;
    case IR_OP_LANE: return true;
    case IR_OP_CAST:
    case IR_OP_BITCAST:
    case IR_OP_VEC: return false;
    default: break;
    }
    if (ir_op_properties(e->op) & IR_COMPARE)
        return ir_is_scalar(e->type, DT_BOOL);
    return e->arg_count && e->type == e->args[0]->type;
}

static void print_call_form(printer *p, const ir_expr *e)
{
    str_adds(p->out, ir_op_name(e->op));
    if (e->op == IR_OP_LANE) {
        str_addf(p->out, "[%lld]", (long long)e->u.i);
    } else if (!type_follows(e)) {
        str_addc(p->out, '[');
        print_type(p, e->type);
        str_addc(p->out, ']');
    }
    str_addc(p->out, '(');
    print_args(p, e->args, e->arg_count);
    str_addc(p->out, ')');
}

static void print_cast(printer *p, const ir_expr *e)
{
    if (e->type->kind != IR_SCALAR && e->type->kind != IR_VECTOR) {
        print_call_form(p, e);
        return;
    }
    print_type(p, e->type);
    str_addc(p->out, '(');
    print_expr(p, e->args[0], TEXT_LOR);
    str_addc(p->out, ')');
}

static const text_infix *infix_of(const ir_expr *e)
{
    return e->arg_count == 2 && type_follows(e) ? ir_text_infix(e->op) : NULL;
}

static void print_infix(printer *p, const ir_expr *e, const text_infix *t, int at_least)
{
    bool parens = t->precedence < at_least;
    if (parens)
        str_addc(p->out, '(');
    print_expr(p, e->args[0], t->precedence + (t->precedence == TEXT_COMPARE));
    str_addf(p->out, " %s ", t->sign);
    print_expr(p, e->args[1], t->precedence + 1);
    if (parens)
        str_addc(p->out, ')');
}

static bool is_number(const ir_expr *e)
{
    return e->op == IR_OP_INT || e->op == IR_OP_FLOAT;
}

// -(3) is an operator, -3 a constant.
static void print_prefix(printer *p, char sign, const ir_expr *operand, int at_least)
{
    bool parens = TEXT_UNARY < at_least, inner = sign == '-' && is_number(operand);
    if (parens)
        str_addc(p->out, '(');
    str_addc(p->out, sign);
    if (inner)
        str_addc(p->out, '(');
    print_expr(p, operand, TEXT_UNARY);
    if (inner)
        str_addc(p->out, ')');
    if (parens)
        str_addc(p->out, ')');
}

static bool is_negative_number(const ir_expr *e)
{
    if (e->op == IR_OP_INT)
        return e->u.i < 0 && e->type->kind == IR_SCALAR && dt_is_signed(e->type->scalar);
    return e->op == IR_OP_FLOAT && signbit(e->u.f) && isfinite(e->u.f);
}

static void print_number(printer *p, const ir_expr *e, int at_least)
{
    bool parens = at_least > TEXT_UNARY && is_negative_number(e);
    if (parens)
        str_addc(p->out, '(');
    if (e->op == IR_OP_INT)
        print_int(p, e);
    else
        print_float(p, e);
    if (parens)
        str_addc(p->out, ')');
}

static void print_address(printer *p, const ir_expr *e, int at_least)
{
    bool parens = TEXT_UNARY < at_least;
    str_adds(p->out, parens ? "(&" : "&");
    print_access(p, e);
    if (parens)
        str_addc(p->out, ')');
}

static void print_operator(printer *p, const ir_expr *e, int at_least)
{
    const text_infix *infix = infix_of(e);
    if (infix)
        print_infix(p, e, infix, at_least);
    else if ((e->op == IR_OP_NEG || e->op == IR_OP_BITNOT) && type_follows(e))
        print_prefix(p, e->op == IR_OP_NEG ? '-' : '~', e->args[0], at_least);
    else
        print_call_form(p, e);
}

static void print_sreg(printer *p, ir_sreg r)
{
    static const char *const of_source[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
    if (p->in_message)
        str_addf(p->out, "%s.%c", of_source[r / 3], "xyz"[r % 3]);
    else
        str_adds(p->out, ir_sreg_name(r));
}

static void print_expr(printer *p, const ir_expr *e, int at_least)
{
    if (!e) {
        str_addc(p->out, '?');
        return;
    }
    switch (e->op) {
    case IR_OP_INT:
    case IR_OP_FLOAT: print_number(p, e, at_least); break;
    case IR_OP_TEXT: print_string(p, e->u.text); break;
    case IR_OP_VAR: str_adds(p->out, var_name(p, e->u.var)); break;
    case IR_OP_SREG: print_sreg(p, (ir_sreg)e->u.i); break;
    case IR_OP_CAST: print_cast(p, e); break;
    case IR_OP_LOAD: print_access(p, e); break;
    case IR_OP_ADDR: print_address(p, e, at_least); break;
    case IR_OP_TILE:
        str_adds(p->out, "tile(");
        print_access(p, e);
        str_addf(p->out, ", %d)", e->count);
        break;
    case IR_OP_PLOAD:
        if (type_follows(e))
            print_indexed_pointer(p, e->args[0], e->args[1], e->flags);
        else
            print_call_form(p, e);
        break;
    case IR_OP_CALL:
        str_addf(p->out, "@%s(", quoted_name(p->out->arena, e->u.func->name));
        print_args(p, e->args, e->arg_count);
        str_addc(p->out, ')');
        break;
    case IR_OP_INTRIN:
        str_addf(p->out, "!%s(", quoted_name(p->out->arena, e->u.intrin->instance));
        print_args(p, e->args, e->arg_count);
        str_addc(p->out, ')');
        break;
    default: print_operator(p, e, at_least); break;
    }
}

// ---- variables ---------------------------------------------------------------------------------------------------

static void print_placement(printer *p, const ir_tensor *t)
{
    if (t->layout) {
        str_adds(p->out, " layout ");
        tm_layout_print(t->layout, p->out);
    }
    if (t->strides) {
        str_adds(p->out, t->is_strided ? " strided(" : " strides(");
        print_args(p, t->strides, t->rank);
        str_addc(p->out, ')');
    }
    if (t->map) {
        str_adds(p->out, " map ");
        tm_print(t->map, p->out);
    }
    if (t->worker) {
        str_adds(p->out, " worker ");
        print_expr(p, t->worker, TEXT_LOR);
    }
}

// f16[m, 64] shared layout row_major(8, 64) align 16 storage 512 at 0 dynamic
static void print_tensor(printer *p, const ir_var *v)
{
    const ir_tensor *t = v->tensor;
    print_type(p, t->elem);
    str_addc(p->out, '[');
    print_args(p, t->shape, t->rank);
    str_addf(p->out, "] %s", ir_space_name(t->space));
    if (v->type->is_const)
        str_adds(p->out, " const");
    print_placement(p, t);
    if (t->align_bytes)
        str_addf(p->out, " align %d", t->align_bytes);
    if (t->storage_elems >= 0)
        str_addf(p->out, " storage %lld", (long long)t->storage_elems);
    if (t->smem_offset >= 0)
        str_addf(p->out, " at %lld", (long long)t->smem_offset);
    if (t->is_dynamic_smem)
        str_adds(p->out, " dynamic");
}

static void print_var(printer *p, const ir_var *v, bool shows_mutable)
{
    if (!v) {
        str_addc(p->out, '?');
        return;
    }
    str_addf(p->out, "%s: ", var_name(p, v));
    if (v->tensor)
        print_tensor(p, v);
    else
        print_type(p, v->type);
    if (shows_mutable && v->is_mutable)
        str_adds(p->out, " mut");
    if (v->is_size)
        str_adds(p->out, v->may_be_zero ? " size(0)" : " size");
    if (v->has_range)
        str_addf(p->out, " range(%lld, %lld)", (long long)v->min, (long long)v->max);
    if (v->divisor != 1)
        str_addf(p->out, " div(%lld)", (long long)v->divisor);
}

// ---- statements --------------------------------------------------------------------------------------------------

static void print_block(printer *p, const ir_block *b);

static void start_line(printer *p)
{
    for (int i = 0; i < p->indent; i++)
        str_adds(p->out, "    ");
}

static void print_location(printer *p, const char *lead, src_span span)
{
    if (!p->module || !span.begin)
        return;
    src_location location = src_location_of(p->module->diags->sources, span.begin);
    if (location.file)
        str_addf(p->out, "%s%s:%u", lead, location.file->name, location.line);
}

static void print_locations(printer *p, const ir_stmt *s)
{
    if (!p->module)
        return;
    print_location(p, "  ; ", s->span);
    const char *lead = s->span.begin ? " from " : "  ; from ";
    for (const ir_site *site = ir_site_at(p->module, s->origin); site; site = ir_site_at(p->module, site->parent)) {
        print_location(p, lead, site->span);
        lead = " from ";
    }
}

static void end_line(printer *p, const ir_stmt *s)
{
    print_locations(p, s);
    str_addc(p->out, '\n');
}

// [s]: that the line of the opening brace is of; NULL: of none.
static void print_body(printer *p, const ir_block *b, const ir_stmt *s)
{
    str_adds(p->out, " {");
    if (s)
        print_locations(p, s);
    str_addc(p->out, '\n');
    p->indent++;
    print_block(p, b);
    p->indent--;
    start_line(p);
    str_addc(p->out, '}');
}

static void print_value(printer *p, const ir_expr *value)
{
    if (!value)
        return;
    str_adds(p->out, " = ");
    print_expr(p, value, TEXT_LOR);
}

static void print_decl(printer *p, const ir_stmt *s)
{
    str_adds(p->out, s->kind == IR_ALLOC ? "alloc " : s->var && s->var->is_mutable ? "let mut " : "let ");
    print_var(p, s->var, s->kind == IR_ALLOC);
    print_value(p, s->value);
}

static void print_store(printer *p, const ir_stmt *s)
{
    str_addf(p->out, "%s[%s", var_name(p, s->var), s->flags & IR_GUARDED ? "guarded " : "");
    print_access_flags(p, s->flags);
    print_args(p, s->args, s->arg_count);
    str_addc(p->out, ']');
    print_value(p, s->value);
}

static ir_expr *arg(const ir_stmt *s, int i)
{
    return i < s->arg_count ? s->args[i] : NULL;
}

static void print_pstore(printer *p, const ir_stmt *s)
{
    if (s->arg_count < 2)
        str_addc(p->out, '?');
    else
        print_indexed_pointer(p, s->args[0], s->args[1], s->flags);
    print_value(p, s->value);
}

static void print_copy(printer *p, const ir_stmt *s)
{
    str_adds(p->out, "copy ");
    print_expr(p, arg(s, 0), TEXT_LOR);
    str_adds(p->out, " = ");
    print_expr(p, arg(s, 1), TEXT_LOR);
    str_addf(p->out, " count %d%s", s->count, s->flags & IR_VOLATILE ? " volatile" : "");
}

// An 'else' that holds nothing but an 'if' is written as one; a chain of them is a loop here and costs no depth.
static void print_if(printer *p, const ir_stmt *s)
{
    for (;;) {
        str_adds(p->out, "if ");
        print_expr(p, s->value, TEXT_LOR);
        print_body(p, &s->body, s);
        if (!s->or_else.stmts.len)
            return;
        str_adds(p->out, " else");
        if (s->or_else.stmts.len != 1 || s->or_else.stmts.at[0]->kind != IR_IF)
            break;
        str_addc(p->out, ' ');
        s = s->or_else.stmts.at[0];
    }
    print_body(p, &s->or_else, NULL);
}

static bool is_one_of(const ir_expr *e, const ir_type *type)
{
    return e && e->op == IR_OP_INT && e->u.i == 1 && e->type == type;
}

static void print_for(printer *p, const ir_stmt *s)
{
    str_adds(p->out, "for ");
    print_var(p, s->var, true);
    str_adds(p->out, " in ");
    print_expr(p, arg(s, 0), TEXT_LOR);
    str_adds(p->out, " to ");
    print_expr(p, arg(s, 1), TEXT_LOR);
    if (!s->var || !is_one_of(arg(s, 2), s->var->type)) {
        str_adds(p->out, " step ");
        print_expr(p, arg(s, 2), TEXT_LOR);
    }
    if (s->unroll != TM_LOOP_DEFAULT)
        str_addf(p->out, " %s", ir_text_unroll[s->unroll]);
    if (s->unroll != TM_LOOP_DEFAULT && s->factor)
        str_addf(p->out, "(%d)", s->factor);
    print_body(p, &s->body, s);
}

static void print_tasks(printer *p, const ir_stmt *s)
{
    str_adds(p->out, "tasks ");
    for (int i = 0; s->map && i < s->map->rank; i++) {
        if (i)
            str_adds(p->out, ", ");
        print_var(p, s->vars ? s->vars[i] : NULL, true);
    }
    str_adds(p->out, " in ");
    if (s->map)
        tm_print(s->map, p->out);
    str_adds(p->out, " on ");
    print_expr(p, arg(s, 0), TEXT_LOR);
    print_body(p, &s->body, s);
}

static void print_keyword(printer *p, const char *word, const ir_expr *value)
{
    str_adds(p->out, word);
    if (!value)
        return;
    str_addc(p->out, ' ');
    print_expr(p, value, TEXT_LOR);
}

static void print_texts(printer *p, const ir_stmt *s)
{
    str_addf(p->out, "%s ", ir_stmt_name(s->kind));
    print_string(p, s->text ? s->text : "");
    for (int i = 0; i < s->arg_count; i++) {
        str_adds(p->out, ", ");
        print_expr(p, s->args[i], TEXT_LOR);
    }
}

static void print_launch(printer *p, const ir_stmt *s)
{
    str_addf(p->out, "launch @%s(", s->func ? quoted_name(p->out->arena, s->func->name) : "?");
    print_args(p, s->args, s->arg_count);
    str_addc(p->out, ')');
}

static void print_simple(printer *p, const ir_stmt *s)
{
    switch (s->kind) {
    case IR_DECL:
    case IR_ALLOC: print_decl(p, s); break;
    case IR_ASSIGN:
        str_adds(p->out, s->var ? var_name(p, s->var) : "?");
        print_value(p, s->value);
        break;
    case IR_STORE: print_store(p, s); break;
    case IR_PSTORE: print_pstore(p, s); break;
    case IR_COPY: print_copy(p, s); break;
    case IR_EVAL: print_expr(p, s->value, TEXT_LOR); break;
    case IR_INTRIN_TO:
        print_expr(p, arg(s, 0), TEXT_LOR);
        print_value(p, s->value);
        break;
    case IR_ASSERT:
        print_keyword(p, "assert", s->value);
        if (s->text) {
            str_adds(p->out, ", ");
            print_string(p, s->text);
        }
        break;
    case IR_ASSUME: print_keyword(p, "assume", s->value); break;
    case IR_RETURN: print_keyword(p, "return", s->value); break;
    case IR_PRINT:
    case IR_COMMENT: print_texts(p, s); break;
    case IR_LEAVE: str_addf(p->out, "leave %d", s->count); break;
    case IR_LAUNCH: print_launch(p, s); break;
    default: str_adds(p->out, ir_stmt_name(s->kind)); break;
    }
}

static void print_stmt(printer *p, const ir_stmt *s)
{
    start_line(p);
    switch (s->kind) {
    case IR_IF: print_if(p, s); break;
    case IR_FOR: print_for(p, s); break;
    case IR_TASKS: print_tasks(p, s); break;
    case IR_WHILE:
        print_keyword(p, "while", s->value);
        print_body(p, &s->body, s);
        break;
    case IR_SCOPE_OF:
        str_addf(p->out, "scope %d", s->count);
        print_body(p, &s->body, s);
        break;
    default:
        print_simple(p, s);
        end_line(p, s);
        return;
    }
    str_addc(p->out, '\n');
}

static void print_block(printer *p, const ir_block *b)
{
    for (size_t i = 0; i < b->stmts.len; i++)
        print_stmt(p, b->stmts.at[i]);
}

// ---- functions and modules ---------------------------------------------------------------------------------------

static void print_three(printer *p, const char *word, ir_expr *const *three)
{
    if (!three[0] && !three[1] && !three[2])
        return;
    str_addf(p->out, "    %s ", word);
    for (int i = 0; i < 3; i++) {
        if (i)
            str_adds(p->out, ", ");
        if (three[i])
            print_expr(p, three[i], TEXT_LOR);
        else
            str_addc(p->out, '_');
    }
    str_addc(p->out, '\n');
}

static void print_number_line(printer *p, const char *word, int64_t value)
{
    if (value)
        str_addf(p->out, "    %s %lld\n", word, (long long)value);
}

static void print_string_line(printer *p, const char *word, const char *text)
{
    if (!text)
        return;
    str_addf(p->out, "    %s ", word);
    print_string(p, text);
    str_addc(p->out, '\n');
}

// tensor_map a_tiles = a box(64, 32) swizzle 128 l2 256
static void print_tensor_map(printer *p, const ir_var *v)
{
    const ir_tensor_map *of = v->map;
    str_addf(p->out, "    tensor_map %s = %s box(", var_name(p, v), var_name(p, of->tensor));
    for (int i = 0; i < of->tensor->tensor->rank; i++)
        str_addf(p->out, "%s%d", i ? ", " : "", of->box[i]);
    str_adds(p->out, ")");
    for (int i = 0; of->is_im2col && i < of->tensor->tensor->rank - 2; i++)
        str_addf(p->out, "%s%d, %d, %d%s", i ? ", " : " im2col(", of->lower[i], of->upper[i], of->step[i],
                 i == of->tensor->tensor->rank - 3 ? ")" : "");
    if (of->swizzle)
        str_addf(p->out, " swizzle %d", of->swizzle);
    if (of->l2_promotion)
        str_addf(p->out, " l2 %d", of->l2_promotion);
    str_addc(p->out, '\n');
}

static void print_head(printer *p, const ir_func *f)
{
    bool has_title = f->title && strcmp(f->title, f->name) != 0;
    print_string_line(p, "title", has_title ? f->title : NULL);
    print_string_line(p, "doc", f->doc);
    print_three(p, "grid", f->grid);
    print_three(p, "block", f->block);
    print_three(p, "cluster", f->cluster);
    if (f->dynamic_smem_bytes) {
        str_adds(p->out, "    smem ");
        print_expr(p, f->dynamic_smem_bytes, TEXT_LOR);
        str_addc(p->out, '\n');
    }
    print_number_line(p, "min_blocks", f->min_blocks);
    if (f->dependent_launch)
        str_adds(p->out, "    dependent_launch\n");
    print_number_line(p, "static_smem", f->static_smem_bytes);
    print_number_line(p, "pool", f->pool_bytes);
    for (size_t i = 0; i < f->maps.len; i++)
        print_tensor_map(p, f->maps.at[i]);
}

// Shapes may name parameters that come later: all names are given out before the first is printed.
static void print_params(printer *p, const ir_func *f)
{
    bool lines = f->params.len > 2;
    for (size_t i = 0; i < f->params.len; i++)
        var_name(p, f->params.at[i]);
    str_addc(p->out, '(');
    for (size_t i = 0; i < f->params.len; i++) {
        str_adds(p->out, lines ? (i ? ",\n        " : "\n        ") : (i ? ", " : ""));
        print_var(p, f->params.at[i], true);
    }
    str_addc(p->out, ')');
}

static void print_func(printer *p, const ir_func *f)
{
    str_addf(p->out, "%s%s @%s", f->is_public ? "public " : "", ir_func_kind_name(f->kind),
             quoted_name(p->out->arena, f->name));
    print_params(p, f);
    if (f->result->kind != IR_VOID) {
        str_adds(p->out, " -> ");
        print_type(p, f->result);
    }
    print_location(p, "  ; ", f->span);
    str_addc(p->out, '\n');
    print_head(p, f);
    str_adds(p->out, "{\n");
    p->indent = 1;
    print_block(p, &f->body);
    str_adds(p->out, "}\n");
}

static void print_operand(printer *p, const ir_operand *o)
{
    str_addf(p->out, "    operand %s: ", quoted_name(p->out->arena, o->name));
    print_type(p, o->type);
    if (o->count)
        str_addf(p->out, " count %d", o->count);
    str_adds(p->out, o->is_immediate ? " immediate" : "");
    str_adds(p->out, o->is_updated ? " updated" : "");
    str_adds(p->out, o->is_bare ? " bare\n" : "\n");
}

static void print_effects(printer *p, int effects)
{
    if (!effects)
        return;
    str_adds(p->out, "    effects");
    for (int i = 0, count = 0; ir_text_effects[i]; i++)
        if (effects & (1 << i))
            str_addf(p->out, "%s%s", count++ ? ", " : " ", ir_text_effects[i]);
    str_addc(p->out, '\n');
}

static void print_intrin(printer *p, const ir_intrin *in)
{
    str_addf(p->out, "intrin %s {\n", quoted_name(p->out->arena, in->instance));
    print_string_line(p, "name", in->name);
    print_string_line(p, "module", in->module);
    print_string_line(p, in->form == IR_INTRIN_PTX ? "ptx" : "cuda", in->text);
    if (in->needs)
        str_addf(p->out, "    needs %s\n", in->needs->name);
    print_string_line(p, "needs_text", in->needs_text);
    str_addf(p->out, "    scope %s\n", ir_scope_name(in->scope));
    print_effects(p, in->effects);
    for (int i = 0; i < in->operand_count; i++)
        print_operand(p, &in->operands[i]);
    if (in->result->kind != IR_VOID) {
        str_adds(p->out, "    result ");
        print_type(p, in->result);
        if (in->result_count)
            str_addf(p->out, " count %d", in->result_count);
        str_addc(p->out, '\n');
    }
    for (const char *const *d = in->dtypes; d && *d; d++)
        print_string_line(p, "dtype", *d);
    str_adds(p->out, "}\n\n");
}

static void print_global(printer *p, const ir_var *v, ir_expr *const *values)
{
    str_adds(p->out, "global ");
    print_var(p, v, true);
    int64_t count = v->tensor && v->tensor->storage_elems > 0 ? v->tensor->storage_elems : 0;
    if (values) {
        str_adds(p->out, " = {");
        for (int64_t i = 0; i < count; i++) {
            bool wraps = count > 8 && i % 8 == 0;
            str_adds(p->out, wraps ? (i ? ",\n    " : "\n    ") : i ? ", " : "");
            print_expr(p, values[i], TEXT_LOR);
        }
        str_addc(p->out, '}');
    }
    str_adds(p->out, "\n\n");
}

static void print_module(const ir_module *m, bool with_locations, str_buf *out)
{
    printer p;
    printer_init(&p, out);
    str_adds(out, "module ");
    print_string(&p, m->name);
    str_addf(out, " %s%s\n\n", m->arch->name, m->is_low ? " low" : "");
    for (size_t i = 0; i < m->intrins.len; i++)
        print_intrin(&p, m->intrins.at[i]);
    for (size_t i = 0; i < m->globals.len; i++)
        print_global(&p, m->globals.at[i], i < m->global_values.len ? m->global_values.at[i] : NULL);
    for (size_t i = 0; i < m->funcs.len; i++) {
        printer_init(&p, out);
        p.module = with_locations && m->diags ? m : NULL;
        for (size_t k = 0; k < m->globals.len; k++)
            var_name(&p, m->globals.at[k]);
        str_adds(out, i ? "\n" : "");
        print_func(&p, m->funcs.at[i]);
    }
}

void ir_print(const ir_module *m, str_buf *out)
{
    print_module(m, false, out);
}

void ir_print_spans(const ir_module *m, str_buf *out)
{
    print_module(m, true, out);
}

void ir_print_func(const ir_func *f, str_buf *out)
{
    printer p;
    printer_init(&p, out);
    print_func(&p, f);
}

void ir_print_stmt(const ir_stmt *s, str_buf *out)
{
    printer p;
    printer_init(&p, out);
    print_stmt(&p, s);
}

void ir_print_expr(const ir_expr *e, str_buf *out)
{
    printer p;
    printer_init(&p, out);
    p.in_message = true;
    print_expr(&p, e, TEXT_LOR);
}
