// Unary and binary operators and the conditional one, with as few parentheses and casts as the meaning allows.
#include "cuda_emit/printer.h"

typedef struct row {
    const char *sign;
    cu_prec prec;
} row;

static const row rows[IR_OP__COUNT] = {
#define IR_OP(op, mnemonic, n, properties, c, c_prec, python, python_prec, doc) {c, CU_##c_prec},
#include "ir/ir_ops.def"
#undef IR_OP
};

// Of neighbours in the table of precedences, few people know which binds tighter: shifts and bitwise operators, and &&
// within ||, get parentheses that the grammar does not ask for.
static bool is_obscure(cu_prec outer, cu_prec inner)
{
    bool inner_is_binary = inner >= CU_LOR && inner <= CU_MUL && inner != outer;
    if (outer == CU_LOR)
        return inner == CU_LAND;
    return inner_is_binary && (outer == CU_SHIFT || (outer >= CU_OR && outer <= CU_AND));
}

static const char *left_of(cu *cx, cu_text t, cu_prec prec)
{
    bool chains = prec != CU_RELATION && prec != CU_EQUAL;
    bool needs = t.prec < prec || (t.prec == prec && !chains) || is_obscure(prec, t.prec);
    return needs ? cu_format(cx, "(%s)", t.s) : t.s;
}

static const char *right_of(cu *cx, cu_text t, cu_prec prec)
{
    bool needs = t.prec <= prec || is_obscure(prec, t.prec);
    return needs ? cu_format(cx, "(%s)", t.s) : t.s;
}

static cu_text infix(cu *cx, ir_op op, cu_text a, cu_text b, dtype ctype)
{
    cu_prec prec = rows[op].prec;
    bool same = (op == IR_OP_LAND || op == IR_OP_LOR) && b.prec == prec;
    const char *right = same ? b.s : right_of(cx, b, prec);
    return cu_text_of(cx, ctype, prec, "%s %s %s", left_of(cx, a, prec), rows[op].sign, right);
}

// ---- operands ---------------------------------------------------------------------------------------------------

// Whether C++'s usual conversions turn [from] into [t] beside an operand of [t].
static bool converts_beside(dtype from, dtype t)
{
    from = cu_value_dtype(from);
    bool integral = dt_is_int(from) || from == DT_BOOL;
    switch (t) {
    case DT_F32: return integral;
    case DT_F64: return integral || from == DT_F32;
    case DT_I32: return integral && dt_bits(from) < 32;
    case DT_U32: return integral && dt_bits(from) <= 32;
    case DT_I64: return integral && from != DT_U64;
    case DT_U64: return integral;
    default: return false;
    }
}

// A cast that can stay away if the other operand has the type it leads to.
static bool is_droppable(const ir_expr *e, dtype t)
{
    return e->op == IR_OP_CAST && e->type->kind == IR_SCALAR && e->type->scalar == t &&
           e->args[0]->type->kind == IR_SCALAR && converts_beside(e->args[0]->type->scalar, t);
}

static cu_text beside(cu *cx, const ir_expr *e, dtype t, cu_text other)
{
    bool other_decides = other.ctype == t && !other.literal;
    if (other_decides && is_droppable(e, t))
        return cu_exact(cx, e->args[0], true);
    bool small = dt_bits(t) <= 32 && dt_is_int(other.ctype);
    if (e->op == IR_OP_INT && !other.literal && (other_decides || small))
        return cu_int_text(cx, t, e->u.i, true);
    return cu_expr(cx, e);
}

// The texts of both operands. Each is made once: who may lose something is made second.
static void operands(cu *cx, const ir_expr *left, const ir_expr *right, dtype t, cu_text *a, cu_text *b)
{
    cu_text nothing = {.literal = true};
    bool right_first = left->op == IR_OP_INT || (is_droppable(left, t) && right->op != IR_OP_INT);
    if (right_first) {
        *b = beside(cx, right, t, nothing);
        *a = beside(cx, left, t, *b);
    } else {
        *a = beside(cx, left, t, nothing);
        *b = beside(cx, right, t, *a);
    }
}

// ---- integers ---------------------------------------------------------------------------------------------------

// The largest value that a text known not to be negative can have.
static uint64_t most_of(cu_text t)
{
    return t.most || t.literal ? t.most : INT64_MAX;
}

// Bounds of the result of two operands that are not negative; more than the type holds if it may overflow.
static uint64_t most_of_two(ir_op op, cu_text a, cu_text b)
{
    uint64_t x = most_of(a), y = most_of(b), result;
    switch (op) {
    case IR_OP_ADD: return __builtin_add_overflow(x, y, &result) ? UINT64_MAX : result;
    case IR_OP_MUL: return __builtin_mul_overflow(x, y, &result) ? UINT64_MAX : result;
    case IR_OP_SHL: return b.literal && y < 32 && x < (uint64_t)1 << 32 ? x << y : UINT64_MAX;
    case IR_OP_MAX:
    case IR_OP_OR:
    case IR_OP_XOR: return op == IR_OP_MAX ? (x > y ? x : y) : INT32_MAX;
    default: return x;
    }
}

// Whether the result is known not to be negative; then sets its bound.
static void bound(cu_text *r, ir_op op, dtype t, cu_text a, cu_text b)
{
    bool a_fits = a.nonneg && !a.dirty, b_fits = b.nonneg && !b.dirty;
    r->nonneg = a_fits && b_fits && op != IR_OP_SUB && most_of_two(op, a, b) <= dt_max_bits(t);
    if (op == IR_OP_AND)
        r->nonneg = a_fits || b_fits;
    if (op == IR_OP_TRUNCMOD || op == IR_OP_SHR)
        r->nonneg = a_fits;
    r->most = op == IR_OP_AND && !a_fits ? most_of(b) : most_of_two(op, a, b);
}

static bool can_outgrow(ir_op op)
{
    return op != IR_OP_AND && op != IR_OP_OR && op != IR_OP_XOR && op != IR_OP_SHR && op != IR_OP_TRUNCMOD;
}

static dtype ctype_of(ir_op op, dtype t, cu_text a, cu_text b)
{
    if (dt_bits(t) < 32 || t == DT_BOOL)
        return DT_I32;
    if (t != DT_I32)
        return t;
    bool shifts = op == IR_OP_SHL || op == IR_OP_SHR;
    bool any = (a.ctype == DT_U32 && !a.literal) || (!shifts && b.ctype == DT_U32 && !b.literal);
    return any ? DT_U32 : DT_I32;
}

static void make_exact(cu *cx, dtype t, cu_text *a, cu_text *b)
{
    bool fine = a->nonneg && b->nonneg && !a->dirty && !b->dirty;
    *a = cu_exact_text(cx, *a, t, fine);
    *b = cu_exact_text(cx, *b, t, fine);
}

// u >= 0 and 0 > u of an unsigned u: compilers warn about what is always so.
static bool is_unsigned_zero(const ir_expr *zero, cu_text other)
{
    return zero->op == IR_OP_INT && zero->u.i == 0 && dt_kind_of(other.ctype) == DT_KIND_UINT && !other.literal;
}

static cu_text compare(cu *cx, const ir_expr *e, dtype t, cu_text a, cu_text b)
{
    bool is_equality = e->op == IR_OP_EQ || e->op == IR_OP_NE;
    if (!is_equality || dt_bits(t) < 32)
        make_exact(cx, t, &a, &b);
    bool right = is_unsigned_zero(e->args[1], a) && (e->op == IR_OP_GE || e->op == IR_OP_LT);
    bool left = is_unsigned_zero(e->args[0], b) && (e->op == IR_OP_LE || e->op == IR_OP_GT);
    if (left || right) {
        bool always = e->op == IR_OP_GE || e->op == IR_OP_LE;
        if (e->args[right ? 0 : 1]->op == IR_OP_SREG)
            return cu_primary(cx, DT_BOOL, "%s", always ? "true" : "false");
        // The operand stays, since it may be all that uses a variable; compilers do not warn about the largest value.
        cu_text x = right ? a : b, most = cu_int_text(cx, x.ctype, (int64_t)dt_max_bits(x.ctype), false);
        return infix(cx, always ? IR_OP_LE : IR_OP_GT, x, most, DT_BOOL);
    }
    return infix(cx, e->op, a, b, DT_BOOL);
}

// floor_div(a, b), where the simplifier could not show that a / b is the same. Its overloads want 64-bit constants to
// look like it.
static cu_text floor_helper(cu *cx, const ir_expr *e, dtype t, cu_text a, cu_text b)
{
    bool divides = e->op == IR_OP_FLOORDIV, is_long = t == DT_I64;
    cu_text *texts[] = {&a, &b};
    for (int i = 0; i < 2; i++) {
        bool is_bare = e->args[i]->op == IR_OP_INT;
        *texts[i] = is_bare ? cu_int_text(cx, t, e->args[i]->u.i, false) : cu_exact_text(cx, *texts[i], t, false);
        if (is_long && texts[i]->ctype != DT_I64)
            *texts[i] = cu_written(cx, DT_I64, *texts[i]);
    }
    cu_use(cx, arena_printf(cx->a, "%s.floor%s", is_long ? "long" : "int", divides ? "div" : "mod"));
    const char *overload = cx->dialect->has_overloads || cx->in_comment ? "" : is_long ? "_i64" : "_i32";
    cu_text r = cu_primary(cx, is_long ? t : DT_I32, "floor_%s%s(%s, %s)", divides ? "div" : "mod", overload,
                           cu_paren(cx, a, CU_ASSIGN), cu_paren(cx, b, CU_ASSIGN));
    r.dirty = dt_bits(t) < 32 && divides;
    r.nonneg = !divides && b.nonneg;
    return r;
}

static cu_text int_minmax(cu *cx, const ir_expr *e, dtype t)
{
    cu_text a = cu_exact(cx, e->args[0], false), b = cu_exact(cx, e->args[1], false);
    const char *overload = "";
    if (!cx->dialect->has_overloads && !cx->in_comment) {
        dtype wide = dt_bits(t) < 32 ? DT_I32 : t;
        overload = arena_printf(cx->a, "_%s", dt_name(wide));
        cu_use(cx, arena_printf(cx->a, "%s%s", rows[e->op].sign, overload));
    }
    cu_text r = cu_primary(cx, dt_bits(t) < 32 ? DT_I32 : t, "%s%s(%s, %s)", rows[e->op].sign, overload,
                           cu_paren(cx, a, CU_ASSIGN), cu_paren(cx, b, CU_ASSIGN));
    bound(&r, e->op, t, a, b);
    return r;
}

// x + -3 reads better as x - 3.
static bool subtracts_constant(ir_op op, dtype t, const ir_expr *right)
{
    return op == IR_OP_ADD && dt_is_signed(t) && right->op == IR_OP_INT && right->u.i < 0 && right->u.i > -INT32_MAX;
}

// A negative constant beside an unsigned operand would become unsigned, with a warning.
static void mind_sign(cu *cx, dtype t, cu_text *x, cu_text other)
{
    if (t == DT_I32 && other.literal && !other.nonneg)
        *x = cu_exact_text(cx, *x, t, false);
}

static cu_text integer(cu *cx, const ir_expr *e, dtype t)
{
    cu_text safe;
    if (cx->dialect->safe_integer(cx, e, t, &safe))
        return safe;
    if (e->op == IR_OP_MIN || e->op == IR_OP_MAX)
        return int_minmax(cx, e, t);
    const ir_expr *right = e->args[1];
    ir_op op = e->op;
    if (subtracts_constant(op, t, right)) {
        right = ir_int(cx->m, t, -right->u.i);
        op = IR_OP_SUB;
    }
    cu_text a, b;
    if (op == IR_OP_SHL || op == IR_OP_SHR) {
        a = cu_expr(cx, e->args[0]);
        b = right->op == IR_OP_INT ? cu_int_text(cx, t, right->u.i, true) : cu_exact(cx, right, true);
    } else {
        operands(cx, e->args[0], right, t, &a, &b);
    }
    mind_sign(cx, t, &a, b);
    mind_sign(cx, t, &b, a);
    if (ir_op_properties(op) & IR_COMPARE)
        return compare(cx, e, t, a, b);
    bool floors = op == IR_OP_FLOORDIV || op == IR_OP_FLOORMOD;
    if (floors && dt_is_signed(t) && !(a.nonneg && b.nonneg && !a.dirty && !b.dirty))
        return floor_helper(cx, e, t, a, b);
    if (op == IR_OP_SHR)
        a = cu_exact_text(cx, a, t, true);
    else if (!(ir_op_properties(op) & IR_LOW_BITS))
        make_exact(cx, t, &a, &b);
    cu_text r = infix(cx, op, a, b, ctype_of(op, t, a, b));
    bound(&r, op, t, a, b);
    bool masked = op == IR_OP_AND && r.nonneg;
    bool wrong_sign = t == DT_I32 && r.ctype == DT_U32 && !r.nonneg;
    r.dirty = !masked && (a.dirty || b.dirty || wrong_sign || (dt_bits(t) < 32 && can_outgrow(op)));
    return r;
}

// ---- floats, vectors, pointers ----------------------------------------------------------------------------------

// Overloaded functions want the very types.
static const char *two_args(cu *cx, const ir_expr *e)
{
    return cu_format(cx, "%s, %s", cu_at(cx, e->args[0], CU_ASSIGN), cu_at(cx, e->args[1], CU_ASSIGN));
}

static cu_text wide_float(cu *cx, const ir_expr *e, dtype t)
{
    bool is_f32 = t == DT_F32;
    if (e->op == IR_OP_MIN || e->op == IR_OP_MAX)
        return cx->dialect->float_minmax(cx, e, t);
    if (e->op == IR_OP_FLOORDIV || e->op == IR_OP_FLOORMOD) {
        bool divides = e->op == IR_OP_FLOORDIV;
        cu_use_of(cx, t, divides ? "floordiv" : "floormod", e->span);
        const char *overload = cx->dialect->has_overloads ? "" : is_f32 ? "_f32" : "_f64";
        return cu_primary(cx, t, "floor_%s%s(%s)", divides ? "div" : "mod", overload, two_args(cx, e));
    }
    cu_text a, b;
    operands(cx, e->args[0], e->args[1], t, &a, &b);
    bool compares = ir_op_properties(e->op) & IR_COMPARE;
    return infix(cx, e->op, a, b, compares ? DT_BOOL : t);
}

static cu_text narrow_float(cu *cx, const ir_expr *e, dtype t)
{
    cu_use_of(cx, t, ir_op_name(e->op), e->span);
    bool compares = ir_op_properties(e->op) & IR_COMPARE;
    if (e->op == IR_OP_MIN || e->op == IR_OP_MAX)
        return cu_primary(cx, t, "%s(%s)", rows[e->op].sign, two_args(cx, e));
    if (e->op == IR_OP_FLOORDIV || e->op == IR_OP_FLOORMOD)
        return cu_primary(cx, t, "floor_%s(%s)", e->op == IR_OP_FLOORDIV ? "div" : "mod", two_args(cx, e));
    return infix(cx, e->op, cu_expr(cx, e->args[0]), cu_expr(cx, e->args[1]), compares ? DT_BOOL : t);
}

// Lane by lane, or in one instruction for two f16.
static cu_text vectors(cu *cx, const ir_expr *e)
{
    const ir_type *t = e->type;
    const char *name = ir_op_name(e->op);
    bool packed = t->lanes == 2 && cu_use(cx, arena_printf(cx->a, "vec.%s.%s", dt_cuda_name(t->scalar), name));
    if (!packed && !cu_use(cx, arena_printf(cx->a, "vec.%s", name)))
        cu_bad_ir(cx, e->span, arena_printf(cx->a, "'%s' of vectors", name));
    if (!packed && cu_is_struct(t->scalar))
        cu_use_of(cx, t->scalar, name, e->span);
    if (e->op == IR_OP_MIN || e->op == IR_OP_MAX)
        return cu_primary(cx, DT_NONE, "%s(%s)", rows[e->op].sign, two_args(cx, e));
    return infix(cx, e->op, cu_expr(cx, e->args[0]), cu_expr(cx, e->args[1]), DT_NONE);
}

static cu_text pointers(cu *cx, const ir_expr *e)
{
    cu_text a = cu_expr(cx, e->args[0]);
    if (e->args[1]->type->kind != IR_SCALAR)
        return infix(cx, e->op, a, cu_expr(cx, e->args[1]), e->type->kind == IR_SCALAR ? e->type->scalar : DT_NONE);
    cu_text b = cu_index(cx, e->args[1]);
    if (cu_is_subbyte(e->args[0]->type->elem)) {
        int per_byte = 8 / dt_bits(e->args[0]->type->elem->scalar);
        b = cu_text_of(cx, DT_NONE, CU_MUL, "%s / %d", cu_paren(cx, b, CU_MUL), per_byte);
    }
    return infix(cx, e->op, a, b, DT_NONE);
}

// ---- entry points -----------------------------------------------------------------------------------------------

cu_text cu_binary(cu *cx, const ir_expr *e)
{
    const ir_type *type = e->args[0]->type;
    if (type->kind == IR_POINTER || type->kind == IR_TENSOR)
        return pointers(cx, e);
    if (type->kind == IR_VECTOR)
        return vectors(cx, e);
    dtype t = cu_value_dtype(type->scalar);
    if (e->op == IR_OP_LAND || e->op == IR_OP_LOR)
        return infix(cx, e->op, cu_expr(cx, e->args[0]), cu_expr(cx, e->args[1]), DT_BOOL);
    if (cu_is_struct(t))
        return narrow_float(cx, e, t);
    if (dt_is_float(t))
        return wide_float(cx, e, t);
    return integer(cx, e, t);
}

cu_text cu_unary(cu *cx, const ir_expr *e)
{
    const ir_type *type = e->args[0]->type;
    cu_text a = cu_expr(cx, e->args[0]);
    const char *sign = e->op == IR_OP_NEG ? "-" : e->op == IR_OP_NOT || type->scalar == DT_BOOL ? "!" : "~";
    if (type->kind == IR_VECTOR) {
        cu_use(cx, "vec.neg");
        if (cu_is_struct(type->scalar))
            cu_use_of(cx, type->scalar, "neg", e->span);
        return cu_text_of(cx, DT_NONE, CU_UNARY, "%s%s", sign, cu_paren(cx, a, CU_UNARY));
    }
    dtype t = cu_value_dtype(type->scalar);
    if (cu_is_struct(t))
        cu_use_of(cx, t, "neg", e->span);
    // Two minus signs in a row would be a decrement.
    const char *operand =
        a.s[0] == sign[0] && sign[0] == '-' ? arena_printf(cx->a, "(%s)", a.s) : cu_paren(cx, a, CU_UNARY);
    cu_text r = cu_text_of(cx, sign[0] == '!' ? DT_BOOL : a.ctype, CU_UNARY, "%s%s", sign, operand);
    if (dt_is_int(t) && dt_bits(t) < 32) {
        r.ctype = DT_I32;
        r.dirty = true;
    }
    r.dirty = r.dirty || a.dirty || (t == DT_I32 && r.ctype == DT_U32);
    return r;
}

cu_text cu_select(cu *cx, const ir_expr *e)
{
    const char *condition = cu_at(cx, e->args[0], CU_LOR);
    bool is_int = e->type->kind == IR_SCALAR && dt_is_int(e->type->scalar);
    dtype t = e->type->kind == IR_SCALAR ? cu_value_dtype(e->type->scalar) : DT_NONE;
    cu_text a, b;
    operands(cx, e->args[1], e->args[2], t, &a, &b);
    bool nonneg = a.nonneg && b.nonneg && !a.dirty && !b.dirty;
    if (is_int) {
        a = cu_exact_text(cx, a, t, false);
        b = cu_exact_text(cx, b, t, false);
    }
    // Arms of one narrow type keep it; others are promoted.
    bool is_narrow = is_int && dt_bits(t) < 32, is_same = a.ctype == b.ctype && !a.literal && !b.literal;
    dtype ctype = !is_narrow ? t : is_same ? a.ctype : DT_I32;
    cu_text r =
        cu_text_of(cx, ctype, CU_COND, "%s ? %s : %s", condition, cu_paren(cx, a, CU_LOR), cu_paren(cx, b, CU_COND));
    r.nonneg = nonneg;
    return r;
}
