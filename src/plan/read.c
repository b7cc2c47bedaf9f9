// Reads the text of plans. It may come from a file that someone touched: what it admits, the builder has checked.

#include "plan/build.h"

#include <ctype.h>
#include <string.h>

#include "plan/text.h"

enum { LONGEST_NUMBER = 400, TIGHTEST = 8 };

typedef struct reader {
    plan_builder builder;
    const char *at;   // ends with a 0
    int brackets;
} reader;

// ---- operators --------------------------------------------------------------------------------------------------

// From loose to tight. Operators of one row are read from left to right.
static const struct {
    const char *sign;
    ir_op op;
    int binding;
} signs[] = {
    {"or", IR_OP_LOR, 0},    {"and", IR_OP_LAND, 1},     {"==", IR_OP_EQ, 2},       {"!=", IR_OP_NE, 2},
    {"<=", IR_OP_LE, 2},     {">=", IR_OP_GE, 2},        {"<<", IR_OP_SHL, 6},      {">>", IR_OP_SHR, 6},
    {"<", IR_OP_LT, 2},      {">", IR_OP_GT, 2},         {"|", IR_OP_OR, 3},        {"^", IR_OP_XOR, 4},
    {"&", IR_OP_AND, 5},     {"+", IR_OP_ADD, 7},        {"-", IR_OP_SUB, 7},       {"*", IR_OP_MUL, 8},
    {"//", IR_OP_FLOORDIV, 8}, {"/", IR_OP_DIV, 8},      {"%", IR_OP_FLOORMOD, 8},
};
enum { SIGN_COUNT = sizeof signs / sizeof *signs };

const char *plan_sign_of(ir_op op)
{
    for (int i = 0; i < SIGN_COUNT; i++) {
        if (signs[i].op == op)
            return signs[i].sign;
    }
    return NULL;
}

bool plan_is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || (unsigned char)c >= 0x80;
}

// ---- tokens -----------------------------------------------------------------------------------------------------

static void skip_blanks(reader *r)
{
    while (*r->at == ' ')
        r->at++;
}

static bool take(reader *r, const char *sign)
{
    size_t len = strlen(sign);
    skip_blanks(r);
    bool is_word = plan_is_name_char(sign[len - 1]);
    if (strncmp(r->at, sign, len) != 0 || (is_word && plan_is_name_char(r->at[len])))
        return false;
    r->at += len;
    return true;
}

static bool need(reader *r, const char *sign)
{
    return take(r, sign) || plan_build_fail(&r->builder, "'%s' is missing", sign) >= 0;
}

static str word(reader *r)
{
    skip_blanks(r);
    const char *begin = r->at;
    while (plan_is_name_char(*r->at))
        r->at++;
    return (str){begin, (size_t)(r->at - begin)};
}

static const char *name_of(reader *r)
{
    str w = word(r);
    if (!w.len || isdigit((unsigned char)*w.at))
        plan_build_fail(&r->builder, "a name is missing");
    return arena_strndup(r->builder.arena, w.at, w.len);
}

static bool is_type(str w, plan_type *out)
{
    *out = DT_NONE;
    return str_equal(w, STR("address")) || (dt_find(w, out) && str_equal(w, str_of(dt_name(*out))));
}

static plan_type type(reader *r)
{
    plan_type t;
    if (!is_type(word(r), &t))
        plan_build_fail(&r->builder, "a type is missing");
    return t;
}

static const char *text(reader *r)
{
    str_buf out;
    str_buf_init(&out, r->builder.arena);
    if (!need(r, "\""))
        return "";
    for (; *r->at && *r->at != '"' && *r->at != '\n'; r->at++) {
        bool is_escape = *r->at == '\\' && r->at[1] && r->at[1] != '\n';
        r->at += is_escape;
        str_addc(&out, is_escape && *r->at == 'n' ? '\n' : *r->at);
    }
    if (*r->at != '"')
        plan_build_fail(&r->builder, "a text does not end");
    else
        r->at++;
    return str_text(&out);
}

// ---- expressions ------------------------------------------------------------------------------------------------

static int expression(reader *r, int binding);

static int bracketed(reader *r)
{
    if (++r->brackets > PLAN_MOST_DEPTH)
        return plan_build_fail(&r->builder, "an expression is nested more than %d deep", PLAN_MOST_DEPTH);
    int node = expression(r, 0);
    r->brackets--;
    return node;
}

static bool read_integer(str digits, bool is_negative, plan_type t, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < digits.len; i++) {
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, (uint64_t)(digits.at[i] - '0'), &value))
            return false;
    }
    *out = is_negative ? 0 - value : value;
    if (is_negative)
        return dt_is_signed(t) && value <= (uint64_t)1 << 63 && dt_holds_int(t, (int64_t)*out);
    return value <= dt_max_bits(t);
}

// "12", "-3i64", "1.5f16", "1e-05"
static int number(reader *r, bool is_negative)
{
    const char *begin = r->at;
    bool is_real = false;
    while (isdigit((unsigned char)*r->at) || *r->at == '.' || (*r->at == 'e' && r->at > begin) ||
           ((*r->at == '-' || *r->at == '+') && r->at > begin && r->at[-1] == 'e')) {
        is_real = is_real || !isdigit((unsigned char)*r->at);
        r->at++;
    }
    str digits = {begin, (size_t)(r->at - begin)};
    plan_type t = is_real ? DT_F32 : DT_I32;
    uint64_t bits = 0;
    str suffix = plan_is_name_char(*r->at) ? word(r) : (str){0};
    if ((suffix.len && !is_type(suffix, &t)) || digits.len > LONGEST_NUMBER || !digits.len)
        return plan_build_fail(&r->builder, "a number is malformed");
    if (t != DT_NONE && dt_is_float(t)) {
        double value = str_to_double(arena_strndup(r->builder.arena, digits.at, digits.len));
        return plan_build_constant(&r->builder, t, dt_from_double(t, is_negative ? -value : value));
    }
    if (is_real || t == DT_NONE || !dt_is_int(t) || !read_integer(digits, is_negative, t, &bits))
        return plan_build_fail(&r->builder, "a number does not fit its type");
    return plan_build_constant(&r->builder, t, bits);
}

// inf(f16), ninf(f16), nan(f16)
static int special(reader *r, str name)
{
    double value = name.at[0] == 'i' ? __builtin_inf() : name.len == 4 ? -__builtin_inf() : __builtin_nan("");
    need(r, "(");
    plan_type t = type(r);
    need(r, ")");
    if (r->builder.why || t == DT_NONE || !dt_is_float(t))
        return plan_build_fail(&r->builder, "'%.*s' is not of a float type", (int)name.len, name.at);
    return plan_build_constant(&r->builder, t, dt_from_double(t, value));
}

static bool find_call(str name, ir_op *op, plan_type *t)
{
    static const ir_op calls[] = {IR_OP_NEG, IR_OP_BITNOT, IR_OP_NOT,    IR_OP_TRUNCDIV, IR_OP_TRUNCMOD,
                                  IR_OP_MIN, IR_OP_MAX,    IR_OP_SELECT, IR_OP_BITCAST};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (!str_equal(name, str_of(ir_op_name(calls[i]))))
            continue;
        *op = calls[i];
        return true;
    }
    *op = IR_OP_CAST;
    return is_type(name, t) && *t != DT_NONE;
}

static int call(reader *r, str name)
{
    ir_op op = IR_OP_INTRIN;
    plan_type t = DT_NONE;
    int args[3], count = 0, function = plan_function_named(name);
    if (function < 0 && !find_call(name, &op, &t))
        return plan_build_fail(&r->builder, "there is no operation '%.*s'", (int)name.len, name.at);
    if (op == IR_OP_BITCAST) {
        need(r, "[");
        t = type(r);
        need(r, "]");
    }
    need(r, "(");
    do {
        if (count == 3)
            return plan_build_fail(&r->builder, "'%.*s' has more than three operands", (int)name.len, name.at);
        args[count++] = bracketed(r);
    } while (!r->builder.why && take(r, ","));
    need(r, ")");
    if (r->builder.why)
        return -1;
    return function < 0 ? plan_build_node(&r->builder, op, t, args, count) : plan_build_call(&r->builder, function, args, count);
}

static int named(reader *r)
{
    str name = word(r);
    if (str_equal(name, STR("true")) || str_equal(name, STR("false")))
        return plan_build_constant(&r->builder, DT_BOOL, name.len == 4);
    if (str_equal(name, STR("inf")) || str_equal(name, STR("ninf")) || str_equal(name, STR("nan")))
        return special(r, name);
    if (*r->at == '(' || *r->at == '[')
        return call(r, name);
    int value = plan_build_find(&r->builder, name.at, name.len);
    if (value < 0)
        return plan_build_fail(&r->builder, "there is no '%.*s' in scope", (int)name.len, name.at);
    return plan_build_read(&r->builder, value);
}

static int primary(reader *r)
{
    skip_blanks(r);
    if (take(r, "(")) {
        int node = bracketed(r);
        return need(r, ")") ? node : -1;
    }
    bool is_negative = *r->at == '-';
    if (is_negative)
        r->at++;
    if (isdigit((unsigned char)*r->at))
        return number(r, is_negative);
    return is_negative ? plan_build_fail(&r->builder, "a number is missing") : named(r);
}

static int find_sign(reader *r, int binding)
{
    for (int i = 0; i < SIGN_COUNT; i++) {
        const char *before = r->at;
        if (!take(r, signs[i].sign))
            continue;
        if (signs[i].binding >= binding)
            return i;
        r->at = before;
        return -1;
    }
    return -1;
}

static int expression(reader *r, int binding)
{
    int left = primary(r);
    while (!r->builder.why) {
        int sign = find_sign(r, binding);
        if (sign < 0)
            return left;
        int right = expression(r, signs[sign].binding + 1);
        if (r->builder.why)
            break;
        left = plan_build_node(&r->builder, signs[sign].op, DT_NONE, (const int[]){left, right}, 2);
    }
    return -1;
}

// ---- statements -------------------------------------------------------------------------------------------------

// "e, e, …" up to [end]; of at most [most].
static void list(reader *r, plan_stmt *s, int most, const char *end)
{
    VEC(int) nodes = {0};
    if (take(r, end))
        return;
    do {
        if ((int)nodes.len == most) {
            plan_build_fail(&r->builder, "a list has more than %d elements", most);
            return;
        }
        VEC_PUSH(r->builder.arena, &nodes, expression(r, 0));
    } while (!r->builder.why && take(r, ","));
    need(r, end);
    s->args = nodes.at;
    s->arg_count = (int)nodes.len;
}

static void operands(reader *r, plan_stmt *s, int count)
{
    s->args = ARENA_ARRAY(r->builder.arena, int, count);
    for (; s->arg_count < count && !r->builder.why; s->arg_count++) {
        if (s->arg_count)
            need(r, ",");
        s->args[s->arg_count] = expression(r, 0);
    }
}

static void read_let(reader *r, plan_stmt *s)
{
    const char *name = name_of(r);
    need(r, ":");
    plan_type t = type(r);
    need(r, "=");
    operands(r, s, 1);
    s->value = plan_build_value(&r->builder, name, t, false);
}

static void read_known(reader *r, plan_stmt *s)
{
    const char *name = name_of(r);
    s->value = plan_build_find(&r->builder, name, strlen(name));
    if (s->value < 0)
        plan_build_fail(&r->builder, "there is no '%s' in scope", name);
}

static void read_set(reader *r, plan_stmt *s)
{
    read_known(r, s);
    need(r, "=");
    operands(r, s, 1);
}

static uint64_t plain_number(reader *r, uint64_t most)
{
    uint64_t value = 0;
    str digits = word(r);
    bool ok = digits.len > 0;
    for (size_t i = 0; i < digits.len && ok; i++)
        ok = isdigit((unsigned char)digits.at[i]);
    if (!ok || !read_integer(digits, false, DT_U64, &value) || value > most)
        plan_build_fail(&r->builder, "a number is malformed");
    return r->builder.why ? 0 : value;
}

static uint32_t small_number(reader *r, uint32_t most)
{
    return (uint32_t)plain_number(r, most);
}

static void read_check(reader *r, plan_stmt *s)
{
    operands(r, s, 1);
    need(r, ",");
    s->text = text(r);
}

// What stands behind '#'.
static void read_line_of(reader *r, plan_stmt *s)
{
    const plan *p = r->builder.plan;
    skip_blanks(r);
    s->file = p->stmts.len ? VEC_LAST(&p->stmts).file : NULL;
    if (*r->at == '"') {
        s->file = text(r);
        need(r, ":");
    }
    s->line = small_number(r, UINT32_MAX);
    if (!s->file || !s->line)
        plan_build_fail(&r->builder, "a line is of no file");
}

static void read_for(reader *r, plan_stmt *s)
{
    static const char *const before[] = {"in", "to", "step"};
    const char *name = name_of(r);
    need(r, ":");
    plan_type t = type(r);
    s->args = ARENA_ARRAY(r->builder.arena, int, 3);
    for (; s->arg_count < 3 && !r->builder.why; s->arg_count++) {
        need(r, before[s->arg_count]);
        s->args[s->arg_count] = expression(r, 0);
    }
    s->value = plan_build_value(&r->builder, name, t, false);
    need(r, "{");
}

static void read_block(reader *r, plan_stmt *s, int operand_count)
{
    operands(r, s, operand_count);
    need(r, "{");
}

static void read_leaving(reader *r, plan_stmt *s)
{
    skip_blanks(r);
    s->target = isdigit((unsigned char)*r->at) ? (int)small_number(r, PLAN_MOST_DEPTH) : 0;
}

static void read_allocate(reader *r, plan_stmt *s)
{
    const char *name = name_of(r);
    need(r, ":");
    s->elem = type(r);
    need(r, "[");
    list(r, s, PLAN_MOST_RANK, "]");
    s->is_placed = take(r, "at");
    s->offset = s->is_placed ? (int64_t)plain_number(r, INT64_MAX) : 0;
    s->value = plan_build_value(&r->builder, name, DT_NONE, false);
}

static void read_fill(reader *r, plan_stmt *s)
{
    need(r, "[");
    s->bytes = (int)small_number(r, 8);
    need(r, "]");
    operands(r, s, 3);
}

static void read_print(reader *r, plan_stmt *s)
{
    VEC(int) nodes = {0};
    s->text = text(r);
    while (!r->builder.why && take(r, ","))
        VEC_PUSH(r->builder.arena, &nodes, expression(r, 0));
    s->args = nodes.at;
    s->arg_count = (int)nodes.len;
}

static void read_launch(reader *r, plan_stmt *s)
{
    need(r, "@");
    s->text = name_of(r);
    need(r, "(");
    list(r, s, PLAN_MOST_PARAMETERS, ")");
}

static void read_stmt(reader *r, plan_kind kind, plan_stmt *s)
{
    switch (kind) {
    case PLAN_LET: read_let(r, s); break;
    case PLAN_SET: read_set(r, s); break;
    case PLAN_CHECK: read_check(r, s); break;
    case PLAN_IF:
    case PLAN_WHILE: read_block(r, s, 1); break;
    case PLAN_SCOPE: read_block(r, s, 0); break;
    case PLAN_FOR: read_for(r, s); break;
    case PLAN_BREAK:
    case PLAN_CONTINUE:
    case PLAN_LEAVE: read_leaving(r, s); break;
    case PLAN_ALLOCATE: read_allocate(r, s); break;
    case PLAN_FREE: read_known(r, s); break;
    case PLAN_FILL: read_fill(r, s); break;
    case PLAN_COPY: operands(r, s, 3); break;
    case PLAN_PRINT: read_print(r, s); break;
    case PLAN_LAUNCH: read_launch(r, s); break;
    case PLAN_RETURN: operands(r, s, r->builder.plan->has_result); break;
    case PLAN_ELSE:
    case PLAN_END:
    case PLAN__COUNT: break;
    }
}

static plan_kind kind_of(reader *r)
{
    static const char *const words[PLAN__COUNT] = {
        [PLAN_LET] = "let",         [PLAN_SET] = "set",     [PLAN_CHECK] = "check", [PLAN_IF] = "if",
        [PLAN_FOR] = "for",         [PLAN_WHILE] = "while", [PLAN_SCOPE] = "scope", [PLAN_BREAK] = "break",
        [PLAN_CONTINUE] = "continue", [PLAN_LEAVE] = "leave", [PLAN_RETURN] = "return", [PLAN_ALLOCATE] = "allocate",
        [PLAN_FREE] = "free",       [PLAN_FILL] = "fill",   [PLAN_COPY] = "copy",   [PLAN_PRINT] = "print",
        [PLAN_LAUNCH] = "launch"};
    if (take(r, "}"))
        return take(r, "else") && need(r, "{") ? PLAN_ELSE : PLAN_END;
    for (int k = 0; k < PLAN__COUNT; k++) {
        if (words[k] && take(r, words[k]))
            return (plan_kind)k;
    }
    plan_build_fail(&r->builder, "there is no such statement");
    return PLAN__COUNT;
}

static void read_head(reader *r)
{
    need(r, "plan");
    need(r, "@");
    r->builder.plan->name = name_of(r);
    need(r, "(");
    if (!take(r, ")")) {
        do {
            const char *name = name_of(r);
            need(r, ":");
            plan_build_value(&r->builder, name, type(r), true);
        } while (!r->builder.why && take(r, ","));
        need(r, ")");
    }
    if (!r->builder.why && take(r, "->"))
        plan_build_result(&r->builder, type(r));
    if (!r->builder.why && take(r, "workspace")) {
        int bytes = expression(r, 0);
        if (bytes >= 0 && r->builder.plan->nodes.at[bytes].type != DT_I64)
            plan_build_fail(&r->builder, "the workspace is no i64");
        r->builder.plan->workspace = bytes;
    }
    if (!r->builder.why && take(r, "planned"))
        r->builder.plan->planned = (int64_t)plain_number(r, INT64_MAX);
}

static void read_line(reader *r, bool is_head)
{
    plan_stmt s = {.value = -1, .target = -1};
    if (is_head) {
        read_head(r);
        return;
    }
    plan_kind kind = kind_of(r);
    if (kind == PLAN__COUNT)
        return;
    s.kind = kind;
    read_stmt(r, kind, &s);
    if (!r->builder.why && take(r, "#"))
        read_line_of(r, &s);
    if (!r->builder.why)
        plan_build_stmt(&r->builder, &s);
}

bool plan_read(arena *a, str text_of_plan, plan *out, const char **why)
{
    reader r = {.at = arena_strndup(a, text_of_plan.at ? text_of_plan.at : "", text_of_plan.len)};
    int line = 0;
    plan_build_begin(&r.builder, a, out, "");
    while (!r.builder.why && (*r.at || !line)) {
        line++;
        read_line(&r, line == 1);
        skip_blanks(&r);
        if (!r.builder.why && *r.at && *r.at != '\n')
            plan_build_fail(&r.builder, "the line goes on where it should end");
        r.at += *r.at == '\n';
    }
    if (!r.builder.why && plan_build_end(&r.builder))
        plan_build_check_layout(&r.builder);
    *why = r.builder.why ? arena_printf(a, "line %d: %s", line, r.builder.why) : NULL;
    return !r.builder.why;
}
