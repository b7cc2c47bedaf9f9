#include "plan/build.h"

#include <string.h>

const char *plan_type_name(plan_type t)
{
    return t == DT_NONE ? "address" : dt_name(t);
}

void plan_build_begin(plan_builder *b, arena *a, plan *p, const char *name)
{
    *b = (plan_builder){.arena = a, .plan = p};
    *p = (plan){.name = name, .workspace = -1, .planned = -1, .bound = -1};
}

int plan_build_fail(plan_builder *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!b->why)
        b->why = arena_vprintf(b->arena, format, args);
    va_end(args);
    return -1;
}

bool plan_build_end(plan_builder *b)
{
    if (b->open.len)
        plan_build_fail(b, "%zu blocks are not closed", b->open.len);
    return !b->why;
}

// ---- values -----------------------------------------------------------------------------------------------------

int plan_build_find(const plan_builder *b, const char *name, size_t len)
{
    for (size_t i = b->visible.len; i-- > 0;) {
        const char *known = b->plan->values.at[b->visible.at[i]].name;
        if (known[0] == name[0] && strncmp(known, name, len) == 0 && !known[len])
            return b->visible.at[i];
    }
    return -1;
}

bool plan_build_sees(const plan_builder *b, int value)
{
    for (size_t i = b->visible.len; i-- > 0;) {
        if (b->visible.at[i] == value)
            return true;
    }
    return false;
}

int plan_build_value(plan_builder *b, const char *name, plan_type type, bool is_parameter)
{
    plan *p = b->plan;
    if (plan_build_find(b, name, strlen(name)) >= 0)
        return plan_build_fail(b, "'%s' is declared twice", name);
    if (type == DT_C64 || type == DT_TF32)
        return plan_build_fail(b, "'%s' is %s, and a plan has no such values", name, plan_type_name(type));
    if (is_parameter && ++p->parameter_count > PLAN_MOST_PARAMETERS)
        return plan_build_fail(b, "it has more than %d parameters", PLAN_MOST_PARAMETERS);
    plan_value v = {name, type, false};
    VEC_PUSH(b->arena, &p->values, v);
    int number = (int)p->values.len - 1;
    if (is_parameter)
        VEC_PUSH(b->arena, &b->visible, number);
    return number;
}

void plan_build_result(plan_builder *b, plan_type type)
{
    if (type == DT_NONE || type == DT_C64 || type == DT_TF32)
        plan_build_fail(b, "a plan gives no %s", plan_type_name(type));
    b->plan->has_result = true;
    b->plan->result = type;
}

// ---- nodes ------------------------------------------------------------------------------------------------------

static int add_node(plan_builder *b, const plan_node *n)
{
    if (b->plan->nodes.len >= PLAN_MOST_NODES)
        return plan_build_fail(b, "it has more than %d operations", PLAN_MOST_NODES);
    if (n->depth > PLAN_MOST_DEPTH)
        return plan_build_fail(b, "an expression is nested more than %d deep", PLAN_MOST_DEPTH);
    VEC_PUSH(b->arena, &b->plan->nodes, *n);
    return (int)b->plan->nodes.len - 1;
}

int plan_build_constant(plan_builder *b, plan_type type, uint64_t bits)
{
    const plan_node n = {.op = IR_OP_INT, .type = type, .depth = 1, .args = {-1, -1, -1}, .u.bits = plan_canonical(type, bits)};
    return add_node(b, &n);
}

int plan_build_read(plan_builder *b, int value)
{
    if (value < 0 || !plan_build_sees(b, value))
        return plan_build_fail(b, "a value is read where it is not in scope");
    plan_type type = b->plan->values.at[value].type;
    const plan_node n = {.op = IR_OP_VAR, .type = type, .depth = 1, .args = {-1, -1, -1}, .u.value = value};
    return add_node(b, &n);
}

static bool is_number(plan_type t)
{
    return t != DT_NONE && t != DT_BOOL;
}

// What an operator gives for operands of these types; false: it does not take them.
static bool type_of_binary(ir_op op, plan_type a, plan_type b, plan_type *out)
{
    int properties = ir_op_properties(op);
    bool of_integers = op == IR_OP_SHL || op == IR_OP_SHR || op == IR_OP_TRUNCDIV || op == IR_OP_TRUNCMOD;
    bool of_bits = op == IR_OP_AND || op == IR_OP_OR || op == IR_OP_XOR;
    *out = a;
    if (op == IR_OP_ADD && a == DT_NONE)
        return b == DT_I64;
    if (properties & IR_LOGIC)
        return a == DT_BOOL && b == DT_BOOL;
    if (properties & IR_COMPARE) {
        *out = DT_BOOL;
        return a == b;
    }
    if (op == IR_OP_SHL || op == IR_OP_SHR)
        return dt_is_int(a) && dt_is_int(b);
    if (of_bits)
        return a == b && (dt_is_int(a) || a == DT_BOOL);
    return a == b && is_number(a) && (!of_integers || dt_is_int(a)) && (op != IR_OP_DIV || dt_is_float(a));
}

static bool is_cast(plan_type from, plan_type to)
{
    return from != DT_NONE && to != DT_NONE && from != DT_C64 && to != DT_C64;
}

static int bits_of(plan_type t)
{
    return t == DT_NONE ? 64 : dt_bits(t);
}

static bool type_of(ir_op op, const plan_type *types, int count, plan_type *out)
{
    if (count < 1 || count > 3)
        return false;
    if (count == 2 && (ir_op_properties(op) & (IR_BINARY | IR_COMPARE | IR_LOGIC)))
        return type_of_binary(op, types[0], types[1], out);
    switch (op) {
    case IR_OP_NEG: *out = types[0]; return count == 1 && is_number(types[0]);
    case IR_OP_BITNOT: *out = types[0]; return count == 1 && dt_is_int(types[0]);
    case IR_OP_NOT: *out = DT_BOOL; return count == 1 && types[0] == DT_BOOL;
    case IR_OP_SELECT: *out = types[1]; return count == 3 && types[0] == DT_BOOL && types[1] == types[2];
    case IR_OP_CAST: return count == 1 && is_cast(types[0], *out);
    case IR_OP_BITCAST: return count == 1 && bits_of(types[0]) == bits_of(*out);
    default: return false;
    }
}

int plan_build_node(plan_builder *b, ir_op op, plan_type type, const int *args, int count)
{
    plan_node n = {.op = op, .type = type, .args = {-1, -1, -1}};
    plan_type types[3] = {DT_NONE};
    for (int i = 0; i < count && i < 3; i++) {
        if (args[i] < 0)
            return -1;
        const plan_node *a = &b->plan->nodes.at[args[i]];
        n.args[i] = args[i];
        types[i] = a->type;
        n.depth = a->depth > n.depth ? a->depth : n.depth;
    }
    n.depth++;
    if (count > 3 || !type_of(op, types, count, &n.type))
        return plan_build_fail(b, "'%s' does not take %s%s%s", ir_op_name(op), plan_type_name(types[0]),
                               count > 1 ? " and " : "", count > 1 ? plan_type_name(types[1]) : "");
    return add_node(b, &n);
}

int plan_build_call(plan_builder *b, int function, const int *args, int count)
{
    plan_node n = {.op = IR_OP_INTRIN, .args = {-1, -1, -1}, .u.function = function};
    if (count != plan_function_operands(function))
        return plan_build_fail(b, "'%s' takes %d operands", plan_function_name(function), plan_function_operands(function));
    for (int i = 0; i < count; i++) {
        if (args[i] < 0)
            return -1;
        const plan_node *a = &b->plan->nodes.at[args[i]];
        bool fits = (a->type == DT_F32 || a->type == DT_F64) && (!i || a->type == n.type);
        if (!fits)
            return plan_build_fail(b, "'%s' does not take %s", plan_function_name(function), plan_type_name(a->type));
        n.args[i] = args[i];
        n.type = a->type;
        n.depth = a->depth > n.depth ? a->depth : n.depth;
    }
    n.depth++;
    n.type = plan_function_tests(function) ? DT_BOOL : n.type;
    return add_node(b, &n);
}

// ---- statements -------------------------------------------------------------------------------------------------

// One letter for each operand: b bool, i i64, u u64, a address, v the type of the value.
static const char *const operands_of[PLAN__COUNT] = {
    [PLAN_LET] = "v",  [PLAN_SET] = "v", [PLAN_CHECK] = "b",  [PLAN_IF] = "b",   [PLAN_ELSE] = "",     [PLAN_FOR] = "vvv",
    [PLAN_WHILE] = "b", [PLAN_SCOPE] = "", [PLAN_END] = "",   [PLAN_BREAK] = "", [PLAN_CONTINUE] = "", [PLAN_LEAVE] = "",
    [PLAN_FREE] = "", [PLAN_FILL] = "aui", [PLAN_COPY] = "aai",
};

static plan_type type_of_letter(const plan_builder *b, const plan_stmt *s, char letter)
{
    if (letter == 'v')
        return b->plan->values.at[s->value].type;
    return letter == 'b' ? DT_BOOL : letter == 'i' ? DT_I64 : letter == 'u' ? DT_U64 : DT_NONE;
}

static bool check_format(const plan_builder *b, const plan_stmt *s)
{
    plan_type *types = ARENA_ARRAY(b->arena, plan_type, s->arg_count + 1);
    for (int i = 0; i < s->arg_count; i++)
        types[i] = b->plan->nodes.at[s->args[i]].type;
    return plan_format_takes(s->text, types, s->arg_count);
}

static bool check_operands(plan_builder *b, const plan_stmt *s)
{
    const char *letters = operands_of[s->kind];
    for (int i = 0; i < s->arg_count; i++) {
        if (s->args[i] < 0)
            return false;
    }
    bool ok = !letters || (int)strlen(letters) == s->arg_count;
    for (int i = 0; ok && i < s->arg_count; i++) {
        plan_type is = b->plan->nodes.at[s->args[i]].type;
        ok = letters ? is == type_of_letter(b, s, letters[i]) : s->kind != PLAN_ALLOCATE || is == DT_I64;
    }
    if (s->kind == PLAN_PRINT)
        ok = ok && check_format(b, s);
    if (s->kind == PLAN_RETURN)
        ok = s->arg_count == b->plan->has_result && (!s->arg_count || b->plan->nodes.at[s->args[0]].type == b->plan->result);
    if (s->kind == PLAN_FOR)
        ok = ok && dt_is_int(b->plan->values.at[s->value].type);
    if (s->kind == PLAN_ALLOCATE)
        ok = ok && s->arg_count <= PLAN_MOST_RANK && b->plan->values.at[s->value].type == DT_NONE;
    if (s->kind == PLAN_FILL)
        ok = ok && (s->bytes == 1 || s->bytes == 2 || s->bytes == 4 || s->bytes == 8);
    return ok || plan_build_fail(b, "the operands of a statement have other types than it takes") >= 0;
}

static bool is_loop(const plan_stmt *s)
{
    return s->kind == PLAN_FOR || s->kind == PLAN_WHILE;
}

// The block that a BREAK, CONTINUE or LEAVE goes out of: the innermost of its kind, but for [s->target] of them.
static bool find_block(plan_builder *b, plan_stmt *s)
{
    for (size_t i = b->open.len; i-- > 0;) {
        const plan_stmt *o = &b->plan->stmts.at[b->open.at[i].stmt];
        if ((s->kind == PLAN_LEAVE ? o->kind == PLAN_SCOPE : is_loop(o)) && s->target-- == 0) {
            s->target = b->open.at[i].stmt;
            return true;
        }
    }
    return plan_build_fail(b, "there is no block to leave") >= 0;
}

// ELSE and END close what is open.
static bool close_block(plan_builder *b, plan_stmt *s, int number)
{
    plan_stmt *opener = b->open.len ? &b->plan->stmts.at[VEC_LAST(&b->open).stmt] : NULL;
    if (!opener || (s->kind == PLAN_ELSE && opener->kind != PLAN_IF))
        return plan_build_fail(b, s->kind == PLAN_ELSE ? "there is no 'if' for this 'else'" : "there is no block to close") >= 0;
    opener->target = number;
    s->target = VEC_LAST(&b->open).stmt;
    b->visible.len = VEC_LAST(&b->open).visible;
    (void)VEC_POP(&b->open);
    return true;
}

static bool opens(plan_kind kind)
{
    return kind == PLAN_IF || kind == PLAN_ELSE || kind == PLAN_FOR || kind == PLAN_WHILE || kind == PLAN_SCOPE;
}

static void open_block(plan_builder *b, int number)
{
    plan_open o = {number, b->visible.len};
    VEC_PUSH(b->arena, &b->open, o);
}

// A temporary is freed in the block that takes it.
static bool forget(plan_builder *b, int value)
{
    size_t first = b->open.len ? VEC_LAST(&b->open).visible : 0;
    for (size_t i = b->visible.len; i-- > first;) {
        if (b->visible.at[i] != value)
            continue;
        for (; i + 1 < b->visible.len; i++)
            b->visible.at[i] = b->visible.at[i + 1];
        b->visible.len--;
        return true;
    }
    return plan_build_fail(b, "it frees what its block has not taken") >= 0;
}

static bool check_value(plan_builder *b, const plan_stmt *s)
{
    bool declares = s->kind == PLAN_LET || s->kind == PLAN_FOR || s->kind == PLAN_ALLOCATE;
    bool uses = s->kind == PLAN_SET || s->kind == PLAN_FREE;
    if (!declares && !uses)
        return true;
    if (s->value < 0)
        return false;
    const plan_value *v = &b->plan->values.at[s->value];
    if (uses && !plan_build_sees(b, s->value))
        return plan_build_fail(b, "'%s' is not in scope", v->name) >= 0;
    if (uses && v->is_temporary != (s->kind == PLAN_FREE))
        return plan_build_fail(b, "'%s' is %s temporary", v->name, v->is_temporary ? "a" : "no") >= 0;
    return true;
}

// A function with a result gives a value, and has no way to say that something failed.
static bool check_effects(plan_builder *b, const plan_stmt *s)
{
    bool may_fail = s->kind == PLAN_CHECK || s->kind == PLAN_ALLOCATE || s->kind == PLAN_FILL || s->kind == PLAN_COPY ||
                    s->kind == PLAN_LAUNCH;
    return !may_fail || !b->plan->has_result || plan_build_fail(b, "it gives a result, and this could fail") >= 0;
}

static bool add_stmt(plan_builder *b, plan_stmt *s)
{
    int number = (int)b->plan->stmts.len;
    bool leaves = s->kind == PLAN_BREAK || s->kind == PLAN_CONTINUE || s->kind == PLAN_LEAVE;
    if (leaves && !find_block(b, s))
        return false;
    if (!leaves)
        s->target = -1;
    if ((s->kind == PLAN_ELSE || s->kind == PLAN_END) && !close_block(b, s, number))
        return false;
    if (s->kind == PLAN_FREE && !forget(b, s->value))
        return false;
    if (b->open.len >= PLAN_MOST_DEPTH)
        return plan_build_fail(b, "blocks are nested more than %d deep", PLAN_MOST_DEPTH) >= 0;
    s->loop = s->kind == PLAN_FOR ? b->plan->loop_count++ : -1;
    VEC_PUSH(b->arena, &b->plan->stmts, *s);
    if (s->kind == PLAN_LET || s->kind == PLAN_ALLOCATE)
        VEC_PUSH(b->arena, &b->visible, s->value);
    if (opens(s->kind))
        open_block(b, number);
    if (s->kind == PLAN_FOR)
        VEC_PUSH(b->arena, &b->visible, s->value);
    if (s->kind == PLAN_ALLOCATE)
        b->plan->values.at[s->value].is_temporary = true;
    return true;
}

bool plan_build_stmt(plan_builder *b, const plan_stmt *s)
{
    plan_stmt own = *s;
    own.args = ARENA_ARRAY(b->arena, int, s->arg_count);
    for (int i = 0; i < s->arg_count; i++)
        own.args[i] = s->args[i];
    if (b->why)
        return false;
    if (!own.line && b->plan->stmts.len) {
        own.file = VEC_LAST(&b->plan->stmts).file;
        own.line = VEC_LAST(&b->plan->stmts).line;
    }
    return check_value(b, &own) && check_operands(b, &own) && check_effects(b, &own) && add_stmt(b, &own);
}
