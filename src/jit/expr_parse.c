// From Python's syntax to postfix programs, in one pass: operands are emitted in source order. In 'a if c else b' the
// condition comes second in the source, so its code is swapped with that of 'a'.

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/vec.h"
#include "jit/expr_priv.h"

enum { DEEPEST = 64 };  // nesting of brackets

typedef struct parser {
    arena *arena;
    const char *at;
    const char *const *names;
    int name_count;
    VEC(jit_op) ops;
    int depth;       // of the stack after the code so far
    int brackets;
    const char *why; // the first error
} parser;

static bool fail(parser *p, const char *why)
{
    if (!p->why)
        p->why = why;
    return false;
}

// ---- code ------------------------------------------------------------------------------------------------------

// For two branches that join, the depths of both are added: an upper bound.
static bool put(parser *p, jit_op op, int growth)
{
    VEC_PUSH(p->arena, &p->ops, op);
    p->depth += growth;
    return p->depth <= JIT_STACK || fail(p, "it is nested too deeply");
}

static bool put_code(parser *p, jit_op_code code, int growth)
{
    return put(p, (jit_op){.code = code}, growth);
}

static void aim(parser *p, size_t jump)
{
    p->ops.at[jump].u.integer = (int64_t)(p->ops.len - jump - 1);
}

// [first][second] -> [second][first]; jumps are relative and stay within their part.
static void exchange(parser *p, size_t first, size_t second)
{
    size_t first_len = second - first, second_len = p->ops.len - second;
    jit_op *copy = arena_dup(p->arena, p->ops.at + first, first_len * sizeof *copy);
    memmove(p->ops.at + first, p->ops.at + second, second_len * sizeof *copy);
    memcpy(p->ops.at + first + second_len, copy, first_len * sizeof *copy);
}

// ---- tokens ----------------------------------------------------------------------------------------------------

static void skip_blanks(parser *p)
{
    while (*p->at == ' ')
        p->at++;
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

// An operator token, unless it is a prefix of a longer one.
static bool take_sign(parser *p, const char *sign)
{
    static const char *const longer[] = {"//", "<<", ">>", "<=", ">=", "==", "!=", "**"};
    size_t len = strlen(sign);
    skip_blanks(p);
    if (strncmp(p->at, sign, len) != 0)
        return false;
    for (size_t i = 0; len == 1 && i < sizeof longer / sizeof *longer; i++) {
        if (strncmp(p->at, longer[i], 2) == 0)
            return false;
    }
    p->at += len;
    return true;
}

static bool take_word(parser *p, const char *word)
{
    size_t len = strlen(word);
    skip_blanks(p);
    if (strncmp(p->at, word, len) != 0 || is_name_char(p->at[len]))
        return false;
    p->at += len;
    return true;
}

// ---- operands --------------------------------------------------------------------------------------------------

static bool parse_whole(parser *p);

static bool parse_bracketed(parser *p)
{
    if (++p->brackets > DEEPEST)
        return fail(p, "it is nested too deeply");
    bool ok = parse_whole(p);
    p->brackets--;
    return ok;
}

static bool parse_integer(parser *p, const char *end)
{
    int64_t value = 0;
    bool fits = true;
    for (; p->at < end; p->at++)
        fits =
            fits && !__builtin_mul_overflow(value, 10, &value) && !__builtin_add_overflow(value, *p->at - '0', &value);
    return put(p, (jit_op){.code = fits ? JIT_OP_INTEGER : JIT_OP_HUGE, .u.integer = value}, 1);
}

// "12", "1.5", "1e-05"
static bool parse_number(parser *p)
{
    enum { LONGEST = 64 };
    const char *end = p->at;
    bool is_real = false;
    while (isdigit((unsigned char)*end) || *end == '.' || *end == 'e' || *end == 'E' ||
           ((*end == '-' || *end == '+') && (end[-1] == 'e' || end[-1] == 'E'))) {
        is_real = is_real || !isdigit((unsigned char)*end);
        end++;
    }
    if (is_name_char(*end) || end - p->at > LONGEST)
        return fail(p, "it has an invalid number");
    if (!is_real)
        return parse_integer(p, end);
    double value = str_to_double(arena_strndup(p->arena, p->at, (size_t)(end - p->at)));
    p->at = end;
    return put(p, (jit_op){.code = JIT_OP_REAL, .u.real = value}, 1);
}

// min(a, b, …)
static bool parse_extreme(parser *p, jit_op_code code)
{
    if (!parse_bracketed(p))
        return false;
    while (take_sign(p, ",")) {
        if (!parse_bracketed(p) || !put_code(p, code, -1))
            return false;
    }
    return take_sign(p, ")") || fail(p, "a ')' is missing");
}

static bool parse_conversion(parser *p, jit_op_code code)
{
    return parse_bracketed(p) && (take_sign(p, ")") || fail(p, "a ')' is missing")) && put_code(p, code, 0);
}

static bool parse_call(parser *p, str name)
{
    static const struct {
        const char *name;
        jit_op_code code;
    } functions[] = {
        {"min", JIT_OP_MIN},        {"max", JIT_OP_MAX},      {"int", JIT_OP_TO_INT},
        {"float", JIT_OP_TO_FLOAT}, {"bool", JIT_OP_TO_BOOL},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        jit_op_code code = functions[i].code;
        if (!str_equal(name, str_of(functions[i].name)))
            continue;
        return code == JIT_OP_MIN || code == JIT_OP_MAX ? parse_extreme(p, code) : parse_conversion(p, code);
    }
    return fail(p, "it calls an unknown function");
}

static bool parse_name(parser *p)
{
    const char *begin = p->at;
    while (is_name_char(*p->at))
        p->at++;
    str name = {begin, (size_t)(p->at - begin)};
    for (int i = 0; i < p->name_count; i++) {
        if (str_equal(name, str_of(p->names[i])))
            return put(p, (jit_op){.code = JIT_OP_NAME, .u.integer = i}, 1);
    }
    if (str_equal(name, STR("True")) || str_equal(name, STR("False")))
        return put(p, (jit_op){.code = JIT_OP_INTEGER, .u.integer = *begin == 'T'}, 1);
    if (take_sign(p, "("))
        return parse_call(p, name);
    return fail(p, "it has a name that is not a parameter");
}

static bool parse_primary(parser *p)
{
    skip_blanks(p);
    if (isdigit((unsigned char)*p->at))
        return parse_number(p);
    if (is_name_char(*p->at))
        return parse_name(p);
    if (!take_sign(p, "("))
        return fail(p, *p->at ? "it has a misplaced sign" : "it ends too early");
    return parse_bracketed(p) && (take_sign(p, ")") || fail(p, "a ')' is missing"));
}

// Unary operators; the innermost applies first.
static bool parse_unary(parser *p)
{
    static const char signs[] = "-~+";
    static const jit_op_code codes[] = {JIT_OP_NEG, JIT_OP_BITNOT};
    skip_blanks(p);
    const char *sign = *p->at ? strchr(signs, *p->at) : NULL;
    if (!sign)
        return parse_primary(p);
    p->at++;
    if (++p->brackets > DEEPEST)
        return fail(p, "it is nested too deeply");
    bool ok = parse_unary(p) && (*sign == '+' || put_code(p, codes[sign - signs], 0));
    p->brackets--;
    return ok;
}

// ---- operators -------------------------------------------------------------------------------------------------

typedef struct binary {
    const char *sign;
    jit_op_code code;
} binary;

// In order of decreasing precedence ("The Python Language Reference", 6.17).
enum { LEVELS = 6, COMPARISONS = 6 };
static const binary levels[LEVELS][5] = {
    {{"*", JIT_OP_MUL}, {"//", JIT_OP_FLOORDIV}, {"/", JIT_OP_DIV}, {"%", JIT_OP_MOD}},
    {{"+", JIT_OP_ADD}, {"-", JIT_OP_SUB}},
    {{"<<", JIT_OP_SHL}, {">>", JIT_OP_SHR}},
    {{"&", JIT_OP_AND}},
    {{"^", JIT_OP_XOR}},
    {{"|", JIT_OP_OR}},
};
static const binary comparisons[COMPARISONS] = {
    {"==", JIT_OP_EQ}, {"!=", JIT_OP_NE}, {"<=", JIT_OP_LE}, {">=", JIT_OP_GE}, {"<", JIT_OP_LT}, {">", JIT_OP_GT},
};

static const binary *take_binary(parser *p, const binary *rows, int count)
{
    for (int i = 0; i < count && rows[i].sign; i++) {
        if (take_sign(p, rows[i].sign))
            return &rows[i];
    }
    return NULL;
}

// Operators of one level are left-associative.
static bool parse_level(parser *p, int level)
{
    if (level < 0)
        return parse_unary(p);
    if (!parse_level(p, level - 1))
        return false;
    for (const binary *b; (b = take_binary(p, levels[level], 5));) {
        if (!parse_level(p, level - 1) || !put_code(p, b->code, -1))
            return false;
    }
    return true;
}

// a < b < c would mean two comparisons, and is not supported.
static bool parse_comparison(parser *p)
{
    if (!parse_level(p, LEVELS - 1))
        return false;
    const binary *b = take_binary(p, comparisons, COMPARISONS);
    if (!b)
        return true;
    if (!parse_level(p, LEVELS - 1) || !put_code(p, b->code, -1))
        return false;
    return !take_binary(p, comparisons, COMPARISONS) || fail(p, "it chains comparisons");
}

static bool parse_not(parser *p)
{
    if (!take_word(p, "not"))
        return parse_comparison(p);
    if (++p->brackets > DEEPEST)
        return fail(p, "it is nested too deeply");
    bool ok = parse_not(p) && put_code(p, JIT_OP_NOT, 0);
    p->brackets--;
    return ok;
}

// a and b: b, unless a is false.
static bool parse_and(parser *p)
{
    if (!parse_not(p))
        return false;
    while (take_word(p, "and")) {
        size_t jump = p->ops.len;
        if (!put_code(p, JIT_OP_AND_THEN, -1) || !parse_not(p))
            return false;
        aim(p, jump);
    }
    return true;
}

static bool parse_or(parser *p)
{
    if (!parse_and(p))
        return false;
    while (take_word(p, "or")) {
        size_t jump = p->ops.len;
        if (!put_code(p, JIT_OP_OR_ELSE, -1) || !parse_and(p))
            return false;
        aim(p, jump);
    }
    return true;
}

// a if c else b:  c, unless → b; a, jump → end; b
static bool parse_whole(parser *p)
{
    size_t first = p->ops.len;
    if (!parse_or(p))
        return false;
    if (!take_word(p, "if"))
        return true;
    size_t second = p->ops.len, first_len = second - first;
    if (!parse_or(p) || !take_word(p, "else"))
        return fail(p, "it has an 'if' without 'else'");
    // The condition comes first, then the jump past 'a' and the jump that ends it.
    if (!put(p, (jit_op){.code = JIT_OP_JUMP_UNLESS, .u.integer = (int64_t)first_len + 1}, -1))
        return false;
    exchange(p, first, second);
    size_t jump = p->ops.len;
    if (!put_code(p, JIT_OP_JUMP, -1))
        return false;
    if (++p->brackets > DEEPEST)
        return fail(p, "it is nested too deeply");
    bool ok = parse_whole(p);
    p->brackets--;
    aim(p, jump);
    return ok;
}

bool jit_expr_compile(arena *a, const char *text, const char *const *names, int name_count, jit_expr *out,
                        const char **why)
{
    parser p = {.arena = a, .at = text, .names = names, .name_count = name_count};
    bool ok = parse_whole(&p);
    skip_blanks(&p);
    if (ok && *p.at)
        ok = fail(&p, "it continues after its end");
    *out = (jit_expr){.kind = JIT_EXPR_TEXT, .text = text, .ops = p.ops.at, .op_count = (uint32_t)p.ops.len};
    *why = p.why;
    const jit_op *only = p.ops.len == 1 ? p.ops.at : NULL;
    if (ok && only && (only->code == JIT_OP_INTEGER || only->code == JIT_OP_NAME)) {
        out->kind = only->code == JIT_OP_NAME ? JIT_EXPR_NAME : JIT_EXPR_NUMBER;
        out->number = only->u.integer;
    }
    return ok;
}
