// From the IR of a host function to its plan: calls are inlined, addresses count bytes, temporaries are freed behind the
// last statement that uses them.
//
// A call that gives a value becomes statements before the one that reads it. Where it stands in an operand that may not be
// evaluated, or in the condition of a loop, that operand or condition becomes statements as well.

#include "plan/build.h"

#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "plan/text.h"

typedef struct lowerer {
    arena *arena;
    ir_module *module;
    const ir_func *func;
    const plan_kernels *kernels;
    plan_builder builder;
    map values;          // ir_var* -> 1 + number of the plan's value
    VEC(int) labels;     // of the scopes that are open; INLINED: one that a call made
    struct inlined *inlined;  // the call under way; NULL: none
    VEC(bool *) roots;   // by value: the parameters that an address may lead to
    bool *writes;
    int call_depth;
    bool overlaps;       // a kernel may run beside those before the one that it follows
    src_span span;       // of the statement under way
    src_span root;       // of that of [func] itself
    plan_refusal *refusal;
} lowerer;

enum { INLINED = -1, MOST_CALLS = 32 };

// A call whose body is being lowered.
typedef struct inlined {
    const ir_func *callee;
    int result;     // the value that its returns set; -1: none
    int node;       // what its only return gives
    bool is_single; // that return is its last statement
} inlined;

static int refuse(lowerer *l, const char *what)
{
    if (!l->refusal->what)
        *l->refusal = (plan_refusal){what, l->span, false};
    return plan_build_fail(&l->builder, "%s", what);
}

// Appends a statement, with the author's line. A function with a result does nothing that can fail.
static bool add(lowerer *l, const plan_stmt *s)
{
    const src_map *sources = l->module->diags ? l->module->diags->sources : NULL;
    src_location location = sources && l->span.begin ? src_location_of(sources, l->span.begin) : (src_location){0};
    bool has_line = location.file && s->kind != PLAN_ELSE && s->kind != PLAN_END && s->kind != PLAN_FREE;
    plan_stmt own = *s;
    own.file = has_line ? location.file->name : NULL;
    own.line = has_line ? location.line : 0;
    own.span = has_line ? l->span : (src_span){0};
    own.root = l->root;
    bool was_fine = !l->builder.why, ok = plan_build_stmt(&l->builder, &own);
    if (was_fine && !ok && !l->refusal->what && l->builder.plan->has_result)
        *l->refusal = (plan_refusal){l->builder.why, l->span, true};
    return ok;
}

// ---- values -----------------------------------------------------------------------------------------------------

// "x", "x.2", …; letters that the text does not have become '_'.
static const char *unique_name(lowerer *l, const char *own)
{
    static const char *const reserved[] = {"true", "false", "inf", "ninf", "nan", "and", "or"};
    char *name = arena_strdup(l->arena, own && *own ? own : "v");
    for (char *c = name; *c; c++)
        *c = plan_is_name_char(*c) && *c != '.' ? *c : '_';
    if (*name >= '0' && *name <= '9')
        *name = '_';
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        if (strcmp(name, reserved[i]) == 0)
            name = arena_printf(l->arena, "%s_", name);
    }
    const char *tried = name;
    for (int n = 2;; n++) {
        bool is_taken = false;
        for (size_t i = 0; i < l->builder.plan->values.len && !is_taken; i++)
            is_taken = strcmp(l->builder.plan->values.at[i].name, tried) == 0;
        if (!is_taken)
            return tried;
        tried = arena_printf(l->arena, "%s.%d", name, n);
    }
}

// Values that are passed on as the addresses of their bytes.
static bool is_by_address(const ir_type *t)
{
    return t->kind == IR_VECTOR || ir_is_scalar(t, DT_C64);
}

static bool type_of(lowerer *l, const ir_type *t, plan_type *out)
{
    *out = DT_NONE;
    if (t->kind == IR_POINTER || t->kind == IR_TENSOR || is_by_address(t))
        return true;
    *out = t->kind == IR_SCALAR ? t->scalar : DT_NONE;
    return (t->kind == IR_SCALAR && t->scalar != DT_TF32) || refuse(l, "a launch plan has no values of this type") >= 0;
}

static int declare(lowerer *l, const ir_var *v, bool is_parameter)
{
    plan_type t;
    if (!type_of(l, v->type, &t))
        return -1;
    int value = plan_build_value(&l->builder, unique_name(l, v->name), t, is_parameter);
    bool *roots = ARENA_ARRAY(l->arena, bool, l->func->params.len + 1);
    if (is_parameter)
        roots[value] = t == DT_NONE;
    VEC_PUSH(l->arena, &l->roots, roots);
    if (value >= 0)
        map_put_ptr(&l->values, v, (void *)(intptr_t)(value + 1));
    return value;
}

static int value_of(lowerer *l, const ir_var *v)
{
    int value = (int)(intptr_t)map_get_ptr(&l->values, v) - 1;
    return value < 0 ? refuse(l, "a launch plan has no constant tensors") : value;
}

// ---- expressions ------------------------------------------------------------------------------------------------

static int lower_expr(lowerer *l, const ir_expr *e);
static int lower_extent(lowerer *l, const ir_expr *e);
static int lower_call(lowerer *l, const ir_expr *e);
static int lower_choice(lowerer *l, const ir_expr *e);

static int node(lowerer *l, ir_op op, plan_type t, int a, int b)
{
    const int args[] = {a, b};
    return plan_build_node(&l->builder, op, t, args, b < 0 ? 1 : 2);
}

static int constant(lowerer *l, int64_t value)
{
    return plan_build_constant(&l->builder, DT_I64, (uint64_t)value);
}

static int cast(lowerer *l, int operand, plan_type t)
{
    if (operand < 0 || l->builder.plan->nodes.at[operand].type == t)
        return operand;
    return plan_build_node(&l->builder, IR_OP_CAST, t, &operand, 1);
}

static int64_t elem_bits(const ir_type *elem)
{
    bool packs = elem->kind == IR_SCALAR && dt_is_int(elem->scalar) && dt_is_subbyte(elem->scalar);
    return packs ? dt_bits(elem->scalar) : ir_type_bytes(elem) * 8;
}

// [base] and [count] elements behind it.
static int moved(lowerer *l, int base, const ir_expr *count, const ir_type *elem)
{
    int64_t bits = elem_bits(elem), known;
    if (ir_const_int(count, &known) && known % 8 == 0 && bits < 8)
        return known ? node(l, IR_OP_ADD, DT_NONE, base, constant(l, known / 8 * bits)) : base;
    if (ir_const_int(count, &known) && bits >= 8)
        return known ? node(l, IR_OP_ADD, DT_NONE, base, constant(l, known * (bits / 8))) : base;
    int index = lower_extent(l, count);
    if (index < 0)
        return -1;
    int bytes = node(l, IR_OP_MUL, DT_NONE, index, constant(l, bits >= 8 ? bits / 8 : bits));
    if (bits < 8)
        bytes = node(l, IR_OP_FLOORDIV, DT_NONE, bytes, constant(l, 8));
    return node(l, IR_OP_ADD, DT_NONE, base, bytes);
}

static int lower_address(lowerer *l, const ir_expr *e)
{
    int value = value_of(l, e->u.var), base = value < 0 ? -1 : plan_build_read(&l->builder, value);
    if (base < 0)
        return -1;
    if (!(e->flags & IR_FLAT) || e->arg_count != 1)
        return refuse(l, "a launch plan has no address of this form");
    return moved(l, base, e->args[0], e->u.var->type->elem);
}

static int lower_constant(lowerer *l, const ir_expr *e)
{
    plan_type t;
    if (!type_of(l, e->type, &t) || is_by_address(e->type))
        return refuse(l, "a launch plan does not compute with vectors and complex numbers");
    uint64_t bits = e->op == IR_OP_INT ? (uint64_t)e->u.i : dt_from_double(t, e->u.f);
    return plan_build_constant(&l->builder, t, bits);
}

static int lower_operator(lowerer *l, const ir_expr *e)
{
    int args[3];
    plan_type t;
    for (int i = 0; i < e->arg_count; i++) {
        if (is_by_address(e->args[i]->type) || is_by_address(e->type))
            return refuse(l, "a launch plan does not compute with vectors and complex numbers");
    }
    if (e->arg_count > 3 || !type_of(l, e->type, &t))
        return refuse(l, "a launch plan has no operation of this form");
    if (e->op == IR_OP_ADD && e->args[0]->type->kind == IR_POINTER)
        return moved(l, lower_expr(l, e->args[0]), e->args[1], e->type->elem);
    if (e->op == IR_OP_SUB && e->args[0]->type->kind == IR_POINTER)
        return refuse(l, "a launch plan does not subtract from addresses");
    for (int i = 0; i < e->arg_count; i++) {
        args[i] = lower_expr(l, e->args[i]);
        if (args[i] < 0)
            return -1;
    }
    plan_type from = l->builder.plan->nodes.at[args[0]].type;
    if ((e->op == IR_OP_BITCAST || e->op == IR_OP_CAST) && from == t)
        return args[0];
    if (e->op == IR_OP_CAST && (from == DT_NONE || t == DT_NONE))
        return plan_build_node(&l->builder, IR_OP_BITCAST, t, args, 1);
    return plan_build_node(&l->builder, e->op, t, args, e->arg_count);
}

// The function of <math.h> that an instruction's text calls with its operands in their order: "expf({x})"; -1: none.
static int function_of(const ir_expr *e)
{
    const ir_intrin *in = e->u.intrin;
    const char *bracket = in->form == IR_INTRIN_CUDA ? strchr(in->text, '(') : NULL;
    if (!bracket || !e->arg_count || e->args[0]->type->kind != IR_SCALAR || in->operand_count > PLAN_MOST_OPERANDS)
        return -1;
    str name = {in->text, (size_t)(bracket - in->text)};
    int function = plan_function_named(name);
    if (function < 0 && name.len && name.at[name.len - 1] == 'f' && e->args[0]->type->scalar == DT_F32)
        function = plan_function_named((str){name.at, name.len - 1});
    const char *at = bracket + 1;
    for (int i = 0; i < in->operand_count; i++) {
        at += i ? strspn(at, ", ") : 0;
        size_t len = strlen(in->operands[i].name);
        if (*at != '{' || strncmp(at + 1, in->operands[i].name, len) != 0 || at[len + 1] != '}')
            return -1;
        at += len + 2;
    }
    return strcmp(at, ")") == 0 ? function : -1;
}

static int lower_instruction(lowerer *l, const ir_expr *e)
{
    int function = function_of(e), args[PLAN_MOST_OPERANDS];
    if (function < 0)
        return refuse(l, arena_printf(l->arena, "a launch plan has no instruction '%s'", e->u.intrin->name));
    for (int i = 0; i < e->arg_count; i++) {
        args[i] = lower_expr(l, e->args[i]);
        if (args[i] < 0)
            return -1;
    }
    int made = plan_build_call(&l->builder, function, args, e->arg_count);
    return made < 0 ? refuse(l, "a launch plan has no instruction like this") : made;
}

static bool contains_call(const ir_expr *e)
{
    bool does = e->op == IR_OP_CALL;
    for (int i = 0; i < e->arg_count && !does; i++)
        does = contains_call(e->args[i]);
    return does;
}

static int lower_expr(lowerer *l, const ir_expr *e)
{
    bool is_lazy = e->op == IR_OP_LAND || e->op == IR_OP_LOR || e->op == IR_OP_SELECT;
    if (is_lazy && (contains_call(e->args[1]) || (e->op == IR_OP_SELECT && contains_call(e->args[2]))))
        return lower_choice(l, e);
    switch (e->op) {
    case IR_OP_INT:
    case IR_OP_FLOAT: return lower_constant(l, e);
    case IR_OP_VAR: {
        int value = value_of(l, e->u.var);
        return value < 0 ? -1 : plan_build_read(&l->builder, value);
    }
    case IR_OP_ADDR: return lower_address(l, e);
    case IR_OP_LOAD:
    case IR_OP_PLOAD: return refuse(l, "a launch plan does not read elements of tensors");
    case IR_OP_CALL: return lower_call(l, e);
    case IR_OP_INTRIN: return lower_instruction(l, e);
    case IR_OP_TEXT:
    case IR_OP_SREG:
    case IR_OP_TILE:
    case IR_OP_VEC:
    case IR_OP_LANE: return refuse(l, "a launch plan has only scalars and addresses");
    default: break;
    }
    int lowered = lower_operator(l, e);
    if (lowered >= 0 && !l->builder.plan->nodes.at[lowered].span.begin)
        l->builder.plan->nodes.at[lowered].span = e->span;
    return lowered < 0 ? refuse(l, "a launch plan has no expression like this") : lowered;
}

static bool is_exact_wide(ir_op op)
{
    switch (op) {
    case IR_OP_ADD:
    case IR_OP_SUB:
    case IR_OP_MUL:
    case IR_OP_MIN:
    case IR_OP_MAX:
    case IR_OP_FLOORDIV:
    case IR_OP_FLOORMOD:
    case IR_OP_TRUNCDIV:
    case IR_OP_TRUNCMOD: return true;
    default: return false;
    }
}

// An extent or an offset, as its author wrote it: in 64 bits, so that it does not wrap around where the type of its parts would.
static int lower_extent(lowerer *l, const ir_expr *e)
{
    bool is_small = ir_is_integer(e->type) && e->type->scalar != DT_U64;
    int64_t known;
    if (ir_const_int(e, &known))
        return constant(l, known);
    if (!is_small || !is_exact_wide(e->op))
        return cast(l, lower_expr(l, e), DT_I64);
    int a = lower_extent(l, e->args[0]);
    return a < 0 ? -1 : node(l, e->op, DT_NONE, a, lower_extent(l, e->args[1]));
}

// ---- what is written --------------------------------------------------------------------------------------------

// Sets the parameters that addresses below [at] may lead to.
static void add_roots(const lowerer *l, int at, bool *to)
{
    const plan_node *n = &l->builder.plan->nodes.at[at];
    for (size_t i = 0; n->op == IR_OP_VAR && i < l->func->params.len; i++)
        to[i] |= l->roots.at[n->u.value][i];
    for (int i = 0; i < 3 && n->args[i] >= 0; i++)
        add_roots(l, n->args[i], to);
}

static void mark_written(lowerer *l, int at)
{
    if (at >= 0)
        add_roots(l, at, l->writes);
}

// ---- statements -------------------------------------------------------------------------------------------------

static bool lower_block(lowerer *l, const ir_block *b);

static bool put(lowerer *l, plan_kind kind, int value, const int *args, int count)
{
    for (int i = 0; i < count; i++) {
        if (args[i] < 0)
            return false;
    }
    const plan_stmt s = {.kind = kind, .value = value, .args = (int *)args, .arg_count = count};
    bool ok = add(l, &s);
    bool keeps = (kind == PLAN_LET || kind == PLAN_SET) && ok && l->builder.plan->values.at[value].type == DT_NONE;
    if (keeps)
        add_roots(l, args[0], l->roots.at[value]);
    // Where it is used before, in a loop, is not looked for.
    if (keeps && kind == PLAN_SET)
        mark_written(l, args[0]);
    return ok;
}

// Variables without a value get one: a plan has no undefined ones.
static bool lower_declaration(lowerer *l, const ir_stmt *s)
{
    plan_type t;
    if (!type_of(l, s->var->type, &t))
        return false;
    int from = s->value ? lower_expr(l, s->value) : plan_build_constant(&l->builder, t, 0);
    int value = from < 0 ? -1 : declare(l, s->var, false);
    return value >= 0 && put(l, PLAN_LET, value, &from, 1);
}

static bool lower_assignment(lowerer *l, const ir_stmt *s)
{
    int value = value_of(l, s->var), from = value < 0 ? -1 : lower_expr(l, s->value);
    return value >= 0 && put(l, PLAN_SET, value, &from, 1);
}

static bool lower_assert(lowerer *l, const ir_stmt *s)
{
    int condition = lower_expr(l, s->value);
    const plan_stmt check = {.kind = PLAN_CHECK, .value = -1, .args = &condition, .arg_count = 1,
                             .text = s->text ? s->text : ""};
    return condition >= 0 && add(l, &check);
}

static bool lower_if(lowerer *l, const ir_stmt *s)
{
    int condition = lower_expr(l, s->value);
    if (!put(l, PLAN_IF, -1, &condition, 1) || !lower_block(l, &s->body))
        return false;
    if (s->or_else.stmts.len && (!put(l, PLAN_ELSE, -1, NULL, 0) || !lower_block(l, &s->or_else)))
        return false;
    return put(l, PLAN_END, -1, NULL, 0);
}

static bool lower_for(lowerer *l, const ir_stmt *s)
{
    const int bounds[] = {lower_expr(l, s->args[0]), lower_expr(l, s->args[1]), lower_expr(l, s->args[2])};
    int value = bounds[2] < 0 ? -1 : declare(l, s->var, false);
    return value >= 0 && put(l, PLAN_FOR, value, bounds, 3) && lower_block(l, &s->body) && put(l, PLAN_END, -1, NULL, 0);
}

// What a call in the condition computes is computed in each turn.
static bool lower_while_calling(lowerer *l, const ir_stmt *s)
{
    int always = plan_build_constant(&l->builder, DT_BOOL, 1);
    if (!put(l, PLAN_WHILE, -1, &always, 1))
        return false;
    int condition = lower_expr(l, s->value), ends = condition < 0 ? -1 : node(l, IR_OP_NOT, DT_NONE, condition, -1);
    return put(l, PLAN_IF, -1, &ends, 1) && put(l, PLAN_BREAK, -1, NULL, 0) && put(l, PLAN_END, -1, NULL, 0) &&
           lower_block(l, &s->body) && put(l, PLAN_END, -1, NULL, 0);
}

static bool lower_while(lowerer *l, const ir_stmt *s)
{
    if (contains_call(s->value))
        return lower_while_calling(l, s);
    int condition = lower_expr(l, s->value);
    return put(l, PLAN_WHILE, -1, &condition, 1) && lower_block(l, &s->body) && put(l, PLAN_END, -1, NULL, 0);
}

static bool lower_scope(lowerer *l, int label, const ir_block *body)
{
    VEC_PUSH(l->arena, &l->labels, label);
    bool ok = put(l, PLAN_SCOPE, -1, NULL, 0) && lower_block(l, body) && put(l, PLAN_END, -1, NULL, 0);
    (void)VEC_POP(&l->labels);
    return ok;
}

static bool leave(lowerer *l, int label)
{
    size_t i = l->labels.len;
    while (i > 0 && l->labels.at[i - 1] != label)
        i--;
    if (!i)
        return refuse(l, "a launch plan does not leave a block like this") >= 0;
    const plan_stmt s = {.kind = PLAN_LEAVE, .value = -1, .target = (int)(l->labels.len - i)};
    return add(l, &s);
}

static bool lower_return(lowerer *l, const ir_stmt *s)
{
    int value = s->value ? lower_expr(l, s->value) : -1;
    if (s->value && value < 0)
        return false;
    if (!l->inlined)
        return put(l, PLAN_RETURN, -1, &value, s->value != NULL);
    if (l->inlined->is_single) {
        l->inlined->node = value;
        return true;
    }
    return (!s->value || put(l, PLAN_SET, l->inlined->result, &value, 1)) && leave(l, INLINED);
}

// ---- temporaries ------------------------------------------------------------------------------------------------

// The bits of a fill value, repeated to whole bytes, as a u64.
static int lower_pattern(lowerer *l, const ir_expr *value, const ir_type *elem)
{
    static const dtype raw_of[] = {[1] = DT_U8, [2] = DT_U16, [4] = DT_U32, [8] = DT_U64};
    int at = elem->kind == IR_SCALAR && elem->scalar != DT_C64 ? lower_expr(l, value)
                                                              : refuse(l, "a launch plan has no such fill");
    if (at < 0 || elem->scalar == DT_BOOL)
        return cast(l, at, DT_U64);
    int64_t bits = elem_bits(elem);
    if (bits >= 8)
        return cast(l, plan_build_node(&l->builder, IR_OP_BITCAST, raw_of[bits / 8], &at, 1), DT_U64);
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    int low = node(l, IR_OP_AND, DT_NONE, cast(l, at, DT_U64), plan_build_constant(&l->builder, DT_U64, mask));
    return node(l, IR_OP_MUL, DT_NONE, low, plan_build_constant(&l->builder, DT_U64, 255 / mask));
}

static bool lower_fill(lowerer *l, const ir_stmt *s, int value, const int *extents, int rank)
{
    int64_t bits = elem_bits(s->var->tensor->elem);
    int count = rank ? extents[0] : constant(l, 1);
    for (int i = 1; i < rank; i++)
        count = node(l, IR_OP_MUL, DT_NONE, count, extents[i]);
    if (bits < 8) {
        int all = node(l, IR_OP_ADD, DT_NONE, node(l, IR_OP_MUL, DT_NONE, count, constant(l, bits)), constant(l, 7));
        count = node(l, IR_OP_FLOORDIV, DT_NONE, all, constant(l, 8));
    }
    int args[] = {plan_build_read(&l->builder, value), lower_pattern(l, s->value, s->var->tensor->elem), count};
    int bytes = bits < 8 ? 1 : (int)(bits / 8);
    const plan_stmt fill = {.kind = PLAN_FILL, .value = -1, .args = args, .arg_count = 3, .bytes = bytes};
    return args[0] >= 0 && args[1] >= 0 && count >= 0 && add(l, &fill);
}

// Extents of a tensor that has no more elements than they say; else all of what is reserved.
static int lower_extents(lowerer *l, const ir_tensor *t, int *out)
{
    int64_t product = 1, known = 0;
    for (int i = 0; i < t->rank && t->storage_elems >= 0; i++)
        product *= ir_const_int(t->shape[i], &known) ? known : -1;
    if (t->storage_elems >= 0 && product != t->storage_elems) {
        out[0] = constant(l, t->storage_elems);
        return 1;
    }
    for (int i = 0; i < t->rank; i++) {
        out[i] = lower_extent(l, t->shape[i]);
        if (out[i] < 0)
            return -1;
    }
    return t->rank;
}

static bool lower_alloc(lowerer *l, const ir_stmt *s)
{
    const ir_tensor *t = s->var->tensor;
    int extents[PLAN_MOST_RANK + 1];
    if (t->space != IR_GLOBAL)
        return refuse(l, "a launch plan has no tensors in host memory") >= 0;
    if (t->elem->kind == IR_VECTOR || t->rank > PLAN_MOST_RANK)
        return refuse(l, "a launch plan has no temporaries of vectors") >= 0;
    int rank = lower_extents(l, t, extents), value = rank < 0 ? -1 : declare(l, s->var, false);
    const plan_stmt take = {.kind = PLAN_ALLOCATE, .value = value, .args = extents, .arg_count = rank,
                            .elem = t->elem->kind == IR_SCALAR ? t->elem->scalar : DT_NONE};
    return value >= 0 && add(l, &take) && (!s->value || lower_fill(l, s, value, extents, rank));
}

// Variables that may lead to a temporary.
typedef struct life {
    ir_module *module;
    map names;      // ir_var* that do
    bool is_used;   // by the statement under way
    bool is_kept;   // assigned to a variable, whose life is another
} life;

static void see_expr(void *user, ir_expr *e)
{
    life *f = user;
    bool is_name = e->op == IR_OP_VAR || e->op == IR_OP_ADDR || e->op == IR_OP_LOAD || e->op == IR_OP_TILE;
    f->is_used = f->is_used || (is_name && map_get_ptr(&f->names, e->u.var));
}

static bool is_address(const ir_var *v)
{
    return v && (v->type->kind == IR_TENSOR || v->type->kind == IR_POINTER);
}

static void see_stmt(void *user, ir_stmt *s)
{
    life *f = user;
    bool before = f->is_used;
    f->is_used = s->kind == IR_STORE && map_get_ptr(&f->names, s->var);
    ir_walk_stmt_exprs(f->module, s, see_expr, f);
    bool is_derived = f->is_used && is_address(s->var) && (s->kind == IR_DECL || s->kind == IR_ASSIGN);
    if (is_derived)
        map_put_ptr(&f->names, s->var, s->var);
    f->is_kept = f->is_kept || (is_derived && s->kind == IR_ASSIGN);
    f->is_used = f->is_used || before;
}

// The index in [b] of the last statement that uses what the statement at [from] takes; -1: none.
static int last_use(lowerer *l, const ir_block *b, size_t from, bool *is_kept)
{
    life f = {.module = l->module};
    int last = -1;
    map_init(&f.names, l->arena);
    map_put_ptr(&f.names, b->stmts.at[from]->var, b->stmts.at[from]->var);
    for (size_t i = from + 1; i < b->stmts.len; i++) {
        ir_stmt *s = b->stmts.at[i];
        f.is_used = false;
        see_stmt(&f, s);
        ir_walk(&s->body, see_stmt, &f);
        ir_walk(&s->or_else, see_stmt, &f);
        last = f.is_used ? (int)i : last;
    }
    *is_kept = f.is_kept;
    return last;
}

// ---- effects ----------------------------------------------------------------------------------------------------

static bool lower_launch(lowerer *l, const ir_stmt *s)
{
    const char *symbol = l->kernels->symbol(l->kernels->user, s->func);
    const bool *writes = l->kernels->writes(l->kernels->user, s->func);
    int *args = ARENA_ARRAY(l->arena, int, s->arg_count + 1);
    if (!symbol)
        return refuse(l, "the kernel is not part of the output") >= 0;
    l->overlaps = l->overlaps || !l->kernels->waits(l->module, s->func);
    for (int i = 0; i < s->arg_count; i++) {
        args[i] = lower_expr(l, s->args[i]);
        if (args[i] < 0)
            return false;
        plan_type t;
        const ir_type *wanted = s->func->params.at[i]->type;
        const plan_node *n = &l->builder.plan->nodes.at[args[i]];
        if (is_by_address(wanted) && (n->op != IR_OP_VAR || n->u.value >= l->builder.plan->parameter_count))
            return refuse(l, "a launch plan passes vectors and complex numbers on as they came") >= 0;
        if (type_of(l, wanted, &t) && t != DT_NONE)
            args[i] = cast(l, args[i], t);
        if (t == DT_NONE && (!writes || writes[i]))
            mark_written(l, args[i]);
    }
    const plan_stmt launch = {.kind = PLAN_LAUNCH, .value = -1, .args = args, .arg_count = s->arg_count, .text = symbol};
    return add(l, &launch);
}

static bool lower_copy(lowerer *l, const ir_stmt *s)
{
    const ir_tensor *to = s->args[0]->u.var->tensor;
    const ir_tensor *from = s->args[1]->u.var->tensor;
    if (!to || !from || to->space == IR_HOST || from->space == IR_HOST)
        return refuse(l, "a launch plan has no tensors in host memory") >= 0;
    const int args[] = {lower_expr(l, s->args[0]), lower_expr(l, s->args[1]), constant(l, s->count * elem_bits(to->elem) / 8)};
    mark_written(l, args[0]);
    return put(l, PLAN_COPY, -1, args, 3);
}

// A text as a part of a format.
static void add_escaped(str_buf *out, const char *text)
{
    for (; *text; text++)
        str_addf(out, *text == '%' ? "%%%c" : "%c", *text);
}

// Constant texts become a part of the format: plans print numbers and addresses only.
static bool lower_print(lowerer *l, const ir_stmt *s)
{
    int *args = ARENA_ARRAY(l->arena, int, s->arg_count + 1), count = 0;
    str_buf format;
    str_buf_init(&format, l->arena);
    const char *at = s->text;
    for (int i = 0; i < s->arg_count; i++) {
        str conversion = plan_next_conversion(&at, &format);
        bool is_text = s->args[i]->op == IR_OP_TEXT;
        const char *text = is_text && conversion.at ? plan_format_text(l->arena, conversion, s->args[i]->u.text) : NULL;
        if (!conversion.at || (is_text && !text))
            return refuse(l, "a launch plan has no such format") >= 0;
        if (is_text) {
            add_escaped(&format, text);
            continue;
        }
        str_add(&format, conversion);
        args[count] = lower_expr(l, s->args[i]);
        if (args[count++] < 0)
            return false;
    }
    str_adds(&format, at);
    const plan_stmt print = {.kind = PLAN_PRINT, .value = -1, .args = args, .arg_count = count, .text = str_text(&format)};
    return add(l, &print);
}

// ---- calls ------------------------------------------------------------------------------------------------------

static int count_returns(const ir_block *b)
{
    int count = 0;
    for (size_t i = 0; i < b->stmts.len; i++) {
        const ir_stmt *s = b->stmts.at[i];
        count += (s->kind == IR_RETURN) + count_returns(&s->body) + count_returns(&s->or_else);
    }
    return count;
}

// Parameters of the callee are values of their own, unless neither they nor what they are can change.
static bool bind_parameter(lowerer *l, ir_var *v, const ir_expr *e)
{
    int from = lower_expr(l, e);
    if (from < 0)
        return false;
    const plan_node *n = &l->builder.plan->nodes.at[from];
    if (e->op == IR_OP_VAR && !e->u.var->is_mutable && !v->is_mutable && n->op == IR_OP_VAR) {
        map_put_ptr(&l->values, v, (void *)(intptr_t)(n->u.value + 1));
        return true;
    }
    int value = declare(l, v, false);
    return value >= 0 && put(l, PLAN_LET, value, &from, 1);
}

static bool has_single_return(const ir_func *f)
{
    int returns = count_returns(&f->body);
    return !returns || (returns == 1 && VEC_LAST(&f->body.stmts)->kind == IR_RETURN);
}

static bool begin_result(lowerer *l, inlined *call)
{
    plan_type t;
    if (call->is_single || call->callee->result->kind == IR_VOID)
        return true;
    if (!type_of(l, call->callee->result, &t))
        return false;
    int zero = plan_build_constant(&l->builder, t, 0);
    call->result = plan_build_value(&l->builder, unique_name(l, call->callee->name), t, false);
    bool *roots = ARENA_ARRAY(l->arena, bool, l->func->params.len + 1);
    VEC_PUSH(l->arena, &l->roots, roots);
    return put(l, PLAN_LET, call->result, &zero, 1);
}

// The body of a call in place. With returns in its middle it is a block of its own, which they leave.
static bool inline_call(lowerer *l, const ir_expr *e, inlined *call)
{
    *call = (inlined){.callee = e->u.func, .result = -1, .node = -1, .is_single = has_single_return(e->u.func)};
    src_span span = l->span, root = l->root;
    if (l->call_depth == MOST_CALLS)
        return refuse(l, "calls are nested too deeply for a launch plan") >= 0;
    if (e->u.func->kind == IR_KERNEL || is_by_address(e->u.func->result) || !begin_result(l, call))
        return refuse(l, "a launch plan has no call like this") >= 0;
    if (!call->is_single && !put(l, PLAN_SCOPE, -1, NULL, 0))
        return false;
    for (int i = 0; i < e->arg_count; i++) {
        if (!bind_parameter(l, call->callee->params.at[i], e->args[i]))
            return false;
    }
    inlined *outer = l->inlined;
    l->inlined = call;
    l->call_depth++;
    if (!call->is_single)
        VEC_PUSH(l->arena, &l->labels, INLINED);
    bool ok = lower_block(l, &call->callee->body);
    if (!call->is_single)
        (void)VEC_POP(&l->labels);
    l->call_depth--;
    l->inlined = outer;
    l->span = span;
    l->root = root;
    return ok && (call->is_single || put(l, PLAN_END, -1, NULL, 0));
}

static int lower_call(lowerer *l, const ir_expr *e)
{
    inlined call;
    if (!inline_call(l, e, &call))
        return -1;
    return call.is_single ? call.node : plan_build_read(&l->builder, call.result);
}

// An operand that is evaluated where it matters, as a branch: let t = first; if t { set t = second }.
static int lower_choice(lowerer *l, const ir_expr *e)
{
    plan_type t;
    bool selects = e->op == IR_OP_SELECT;
    int first = type_of(l, e->type, &t) ? lower_expr(l, e->args[0]) : -1;
    int initial = first < 0 || !selects ? first : plan_build_constant(&l->builder, t, 0);
    int value = initial < 0 ? -1 : plan_build_value(&l->builder, unique_name(l, "chosen"), t, false);
    bool *roots = ARENA_ARRAY(l->arena, bool, l->func->params.len + 1);
    VEC_PUSH(l->arena, &l->roots, roots);
    if (value < 0 || !put(l, PLAN_LET, value, &initial, 1))
        return -1;
    int condition = selects ? first : plan_build_read(&l->builder, value);
    condition = e->op == IR_OP_LOR ? node(l, IR_OP_NOT, DT_NONE, condition, -1) : condition;
    bool ok = put(l, PLAN_IF, -1, &condition, 1);
    for (int arm = 1; arm < (selects ? 3 : 2) && ok; arm++) {
        ok = arm == 1 || put(l, PLAN_ELSE, -1, NULL, 0);
        int given = ok ? lower_expr(l, e->args[arm]) : -1;
        ok = given >= 0 && put(l, PLAN_SET, value, &given, 1);
    }
    return ok && put(l, PLAN_END, -1, NULL, 0) ? plan_build_read(&l->builder, value) : -1;
}

static bool lower_effect(lowerer *l, const ir_stmt *s)
{
    inlined call;
    if (s->value->op == IR_OP_CALL)
        return inline_call(l, s->value, &call);
    return !ir_has_effects(s->value) || refuse(l, "a launch plan has no instructions") >= 0;
}

// ---- all of them ------------------------------------------------------------------------------------------------

static bool lower_stmt(lowerer *l, const ir_stmt *s)
{
    switch (s->kind) {
    case IR_DECL: return lower_declaration(l, s);
    case IR_ASSIGN: return lower_assignment(l, s);
    case IR_ASSERT: return lower_assert(l, s);
    case IR_IF: return lower_if(l, s);
    case IR_FOR: return lower_for(l, s);
    case IR_WHILE: return lower_while(l, s);
    case IR_BREAK: return put(l, PLAN_BREAK, -1, NULL, 0);
    case IR_CONTINUE: return put(l, PLAN_CONTINUE, -1, NULL, 0);
    case IR_RETURN: return lower_return(l, s);
    case IR_SCOPE_OF: return lower_scope(l, s->count, &s->body);
    case IR_LEAVE: return leave(l, s->count);
    case IR_ALLOC: return lower_alloc(l, s);
    case IR_LAUNCH: return lower_launch(l, s);
    case IR_COPY: return lower_copy(l, s);
    case IR_EVAL: return lower_effect(l, s);
    case IR_ASSUME:
    case IR_COMMENT: return true;
    case IR_STORE:
    case IR_PSTORE: return refuse(l, "a launch plan does not write elements of tensors") >= 0;
    case IR_PRINT: return lower_print(l, s);
    default: return refuse(l, "a launch plan has no statement like this") >= 0;
    }
}

typedef struct due {
    int value;
    int after;  // index of the statement
} due;

// Where the host function's file has the statement, or the innermost call that it came through; else that of the call under way.
static src_span root_of(const lowerer *l, const ir_stmt *s)
{
    const src_map *sources = l->module->diags ? l->module->diags->sources : NULL;
    const src_file *own = sources && l->func->span.begin ? src_file_at(sources, l->func->span.begin) : NULL;
    if (!own || !s->span.begin)
        return l->root;
    if (src_file_at(sources, s->span.begin) == own)
        return s->span;
    for (const ir_site *site = ir_site_at(l->module, s->origin); site; site = ir_site_at(l->module, site->parent))
        if (site->span.begin && src_file_at(sources, site->span.begin) == own)
            return site->span;
    return l->root;
}

static bool lower_block(lowerer *l, const ir_block *b)
{
    VEC(due) dues = {0};
    for (size_t i = 0; i < b->stmts.len; i++) {
        const ir_stmt *s = b->stmts.at[i];
        bool is_kept = false;
        l->span = s->span;
        l->root = root_of(l, s);
        int last = s->kind == IR_ALLOC ? last_use(l, b, i, &is_kept) : -1;
        // What nothing uses is not taken.
        if (s->kind == IR_ALLOC && last < 0)
            continue;
        if (!lower_stmt(l, s))
            return refuse(l, "a launch plan has no statement like this") >= 0;
        l->span = s->span;
        due d = {s->kind == IR_ALLOC ? value_of(l, s->var) : -1, last};
        if (s->kind == IR_ALLOC && !is_kept)
            VEC_PUSH(l->arena, &dues, d);
        for (size_t k = dues.len; k-- > 0;) {
            if (dues.at[k].after == (int)i && !put(l, PLAN_FREE, dues.at[k].value, NULL, 0))
                return false;
        }
    }
    return true;
}

bool plan_lower(arena *a, ir_module *m, const ir_func *f, const plan_kernels *kernels, plan *out, bool *writes,
                plan_refusal *refusal)
{
    lowerer l = {.arena = a, .module = m, .func = f, .kernels = kernels, .writes = writes, .refusal = refusal, .span = f->span};
    *refusal = (plan_refusal){0};
    map_init(&l.values, a);
    plan_build_begin(&l.builder, a, out, f->name);
    for (size_t i = 0; i < f->params.len; i++) {
        if (declare(&l, f->params.at[i], true) < 0)
            return refuse(&l, "a launch plan has no parameters of this type") >= 0;
    }
    if (f->result->kind != IR_VOID)
        plan_build_result(&l.builder, f->result->kind == IR_SCALAR ? f->result->scalar : DT_NONE);
    if (!lower_block(&l, &f->body) || !plan_build_end(&l.builder))
        return refuse(&l, l.builder.why ? l.builder.why : "a launch plan cannot say it") >= 0;
    if (!out->has_result)
        out->workspace = plan_build_workspace(&l.builder);
    if (!out->has_result && !l.overlaps)
        plan_build_layout(&l.builder);
    return true;
}
