// Does      folds constants; simplifies boolean and index arithmetic by what is known at each point; takes known
//           branches; unrolls nothing, but removes loops of no or one iteration.
// Needs     nothing: any level of the IR.
// Gives     no operator on constants alone, save those whose result is decided at run time; FLOORDIV and FLOORMOD only
//           where an operand may be negative; index expressions in their cheapest known form. An ASSUME that the CUDA
//           compiler could not prove stays.
// Why here  first, so that the lowering passes see constants; and last, over the index arithmetic that they made.
// See       Note [what is left alone]
#include "ir/analysis_linear.h"
#include "ir/fold.h"
#include "ir/pass.h"
#include "ir/passes/passes.h"

#include "base/checked.h"

typedef struct simplifier {
    ir_module *module;
    ir_env *env;
    bool changed;
} simplifier;

static ir_expr *boolean(simplifier *s, bool value, const ir_expr *at)
{
    ir_expr *e = ir_int(s->module, DT_BOOL, value);
    e->span = at->span;
    return e;
}

static bool is_int(const ir_expr *e, int64_t value)
{
    int64_t known;
    return ir_const_int(e, &known) && known == value;
}

static bool droppable(const ir_expr *e)
{
    return !ir_has_effects(e);
}

// ---- booleans ------------------------------------------------------------------------------------------------------

static ir_op opposite(ir_op op)
{
    switch (op) {
    case IR_OP_EQ:
        return IR_OP_NE;
    case IR_OP_NE:
        return IR_OP_EQ;
    case IR_OP_LT:
        return IR_OP_GE;
    case IR_OP_GE:
        return IR_OP_LT;
    case IR_OP_GT:
        return IR_OP_LE;
    case IR_OP_LE:
        return IR_OP_GT;
    default:
        return IR_OP__COUNT;
    }
}

// Of floats, not (a < b) is not a >= b: NaN.
static ir_expr *negation(simplifier *s, ir_expr *e)
{
    ir_expr *a = e->args[0];
    if (a->op == IR_OP_NOT)
        return a->args[0];
    ir_op op = opposite(a->op);
    bool ordered = op != IR_OP__COUNT && ir_is_integer(a->args[0]->type);
    if (!ordered && op != IR_OP_EQ && op != IR_OP_NE)
        return e;
    ir_expr *flipped = ir_with_args(s->module, a, a->args);
    flipped->op = op;
    return flipped;
}

// [neutral]: true for LAND, false for LOR.
static ir_expr *connective(ir_expr *e, bool neutral)
{
    int64_t known;
    ir_expr *a = e->args[0], *b = e->args[1];
    if (ir_const_int(a, &known))
        return (known != 0) == neutral ? b : a;
    if (ir_const_int(b, &known) && (known != 0) == neutral)
        return a;
    if (ir_const_int(b, &known) && droppable(a))
        return b;
    return ir_expr_equal(a, b) ? a : e;
}

static ir_expr *choice(simplifier *s, ir_expr *e)
{
    int64_t known, other;
    ir_expr *c = e->args[0], *a = e->args[1], *b = e->args[2];
    if (ir_const_int(c, &known))
        return known ? a : b;
    if (ir_expr_equal(a, b) && droppable(c))
        return a;
    if (ir_is_scalar(e->type, DT_BOOL) && ir_const_int(a, &known) && ir_const_int(b, &other) && known != other)
        return known ? c : ir_unary(s->module, IR_OP_NOT, c, e->span);
    return e;
}

static ir_expr *comparison(simplifier *s, ir_expr *e)
{
    if (!ir_is_integer(e->args[0]->type) || ir_has_effects(e))
        return e;
    if (ir_prove(s->env, e))
        return boolean(s, true, e);
    return ir_disprove(s->env, e) ? boolean(s, false, e) : e;
}

// ---- integers ------------------------------------------------------------------------------------------------------

static ir_expr *with_op(simplifier *s, ir_expr *e, ir_op op, ir_expr *right)
{
    ir_expr *args[2] = {e->args[0], right};
    ir_expr *now = ir_with_args(s->module, e, args);
    now->op = op;
    return now;
}

static ir_expr *division(simplifier *s, ir_expr *e)
{
    int64_t d;
    bool quotient = e->op == IR_OP_FLOORDIV || e->op == IR_OP_TRUNCDIV;
    bool floors = e->op == IR_OP_FLOORDIV || e->op == IR_OP_FLOORMOD;
    bool constant = ir_const_int(e->args[1], &d);
    dtype t = e->type->scalar;
    if (constant && d == 1)
        return quotient ? e->args[0] : droppable(e->args[0]) ? ir_int(s->module, t, 0) : e;
    if (!floors)
        return e;
    bool positive = ir_range_of(s->env, e->args[0]).min >= 0 && ir_range_of(s->env, e->args[1]).min >= 0;
    if (positive || dt_kind_of(t) == DT_KIND_UINT)
        return with_op(s, e, quotient ? IR_OP_TRUNCDIV : IR_OP_TRUNCMOD, e->args[1]);
    if (!constant || !is_power_of_two(d))
        return e;
    int64_t right = quotient ? __builtin_ctzll((uint64_t)d) : d - 1;
    return with_op(s, e, quotient ? IR_OP_SHR : IR_OP_AND, ir_int(s->module, t, right));
}

static ir_expr *extremum(simplifier *s, ir_expr *e)
{
    ir_expr *a = e->args[0], *b = e->args[1];
    if (ir_expr_equal(a, b))
        return a;
    if (!ir_is_integer(e->type) || ir_has_effects(e))
        return e;
    ir_expr *first_less = ir_binary(s->module, IR_OP_LE, a, b, e->span);
    if (ir_prove(s->env, first_less))
        return e->op == IR_OP_MIN ? a : b;
    ir_expr *second_less = ir_binary(s->module, IR_OP_LE, b, a, e->span);
    return ir_prove(s->env, second_less) ? (e->op == IR_OP_MIN ? b : a) : e;
}

// x op c = x for the neutral element; x·0 and x & 0 are 0 whatever x is.
static ir_expr *neutral(simplifier *s, ir_expr *e)
{
    ir_expr *a = e->args[0], *b = e->args[1];
    int64_t ones = dt_wrap_int(e->type->scalar, -1);
    switch (e->op) {
    case IR_OP_ADD:
    case IR_OP_OR:
    case IR_OP_XOR:
        if (is_int(b, 0))
            return a;
        return is_int(a, 0) ? b : e;
    case IR_OP_SUB:
    case IR_OP_SHL:
    case IR_OP_SHR:
        return is_int(b, 0) ? a : e;
    case IR_OP_MUL:
        if (is_int(b, 1) || (is_int(a, 0) && droppable(b)))
            return a;
        return is_int(a, 1) || (is_int(b, 0) && droppable(a)) ? b : e;
    case IR_OP_AND:
        if (is_int(b, ones) || (is_int(a, 0) && droppable(b)))
            return a;
        return is_int(a, ones) || (is_int(b, 0) && droppable(a)) ? b : e;
    case IR_OP_FLOORDIV:
    case IR_OP_FLOORMOD:
    case IR_OP_TRUNCDIV:
    case IR_OP_TRUNCMOD:
        return division(s, e);
    default:
        return e;
    }
}

// A widening on the way changes nothing: (i32)(i64)x = x.
static ir_expr *conversion(simplifier *s, ir_expr *e)
{
    ir_expr *a = e->args[0];
    if (a->type == e->type)
        return a;
    if (a->op != IR_OP_CAST || a->type->kind != IR_SCALAR || e->type->kind != IR_SCALAR)
        return e;
    ir_expr *x = a->args[0];
    if (x->type->kind != IR_SCALAR || !dt_converts_exactly(x->type->scalar, a->type->scalar))
        return e;
    return ir_cast(s->module, x, e->type, e->span);
}

// ---- expressions ---------------------------------------------------------------------------------------------------

// Integer operators below other integer operators are parts of one index expression, which is simplified as a whole.
static bool joins_parent(const ir_expr *e, const ir_expr *parent)
{
    return ir_is_integer(e->type) && ir_is_integer(parent->type) && (ir_op_properties(parent->op) & IR_INDEX);
}

static ir_expr *whole_index(simplifier *s, ir_expr *e)
{
    return ir_is_integer(e->type) && e->arg_count ? ir_simplify_index(s->env, e) : e;
}

static ir_expr *finish_operands(simplifier *s, ir_expr *e)
{
    ir_expr *now = e;
    for (int i = 0; i < e->arg_count; i++) {
        if (joins_parent(e->args[i], e))
            continue;
        ir_expr *arg = whole_index(s, e->args[i]);
        if (arg != e->args[i] && now == e)
            now = ir_with_args(s->module, e, e->args);
        now->args[i] = arg;
    }
    return now;
}

static ir_expr *known_leaf(simplifier *s, ir_expr *e)
{
    int64_t known;
    ir_expr *value = e->op == IR_OP_VAR && ir_is_scalar(e->type, DT_BOOL) ? ir_env_value(s->env, e->u.var) : NULL;
    if (value && ir_const_int(value, &known))
        return boolean(s, known != 0, e);
    if (!ir_is_integer(e->type) || (e->op != IR_OP_VAR && e->op != IR_OP_SREG))
        return e;
    ir_range r = ir_range_of(s->env, e);
    if (r.min != r.max || r.min == INT64_MIN || r.max == INT64_MAX)
        return e;
    ir_expr *constant = ir_int(s->module, e->type->scalar, r.min);
    constant->span = e->span;
    return constant;
}

static ir_expr *by_operator(simplifier *s, ir_expr *e)
{
    switch (e->op) {
    case IR_OP_NOT:
        return negation(s, e);
    case IR_OP_LAND:
        return connective(e, true);
    case IR_OP_LOR:
        return connective(e, false);
    case IR_OP_SELECT:
        return choice(s, e);
    case IR_OP_CAST:
        return conversion(s, e);
    case IR_OP_MIN:
    case IR_OP_MAX:
        return extremum(s, e);
    case IR_OP_NEG:
        return e->args[0]->op == IR_OP_NEG ? e->args[0]->args[0] : e;
    case IR_OP_BITNOT:
        return e->args[0]->op == IR_OP_BITNOT ? e->args[0]->args[0] : e;
    default:
        break;
    }
    if (ir_op_properties(e->op) & IR_COMPARE)
        return comparison(s, e);
    return ir_is_integer(e->type) && e->arg_count == 2 ? neutral(s, e) : e;
}

static ir_expr *simplify_node(void *user, ir_expr *e)
{
    simplifier *s = user;
    ir_expr *now = e->arg_count ? finish_operands(s, e) : known_leaf(s, e);
    ir_expr *folded = now->arg_count ? ir_fold(s->module, now) : now;
    if (folded == now && now->arg_count) {
        ir_expr *simple = by_operator(s, now);
        folded = simple == now ? now : ir_fold(s->module, simple); // now itself does not fold
    }
    s->changed |= folded != e;
    return folded;
}

static ir_expr *simplify(simplifier *s, ir_expr *e)
{
    if (!e)
        return NULL;
    ir_expr *now = whole_index(s, ir_env_rewrite(s->env, e, simplify_node, s));
    s->changed |= now != e;
    return now;
}

// ---- statements ----------------------------------------------------------------------------------------------------

static void note_variable(void *user, ir_expr *e)
{
    bool *mentions = user;
    *mentions |= e->op == IR_OP_VAR;
}

// A condition proved by facts of this compiler only is worth an ASSUME for the CUDA compiler, unless there was one.
static ir_expr *simplify_assumption(simplifier *s, ir_expr *e)
{
    int64_t known;
    if (e->op == IR_OP_LAND) {
        ir_expr *args[2] = {simplify_assumption(s, e->args[0]), simplify_assumption(s, e->args[1])};
        bool is_same = args[0] == e->args[0] && args[1] == e->args[1];
        return is_same ? e : connective(ir_with_args(s->module, e, args), true);
    }
    ir_expr *now = simplify(s, e);
    bool is_news = ir_const_int(now, &known) && known && ir_is_pure(e) && !ir_env_knows(s->env, e, true);
    bool mentions = false;
    ir_walk_expr(s->module, is_news ? e : NULL, note_variable, &mentions);
    return mentions ? e : now;
}

static void simplify_held(simplifier *s, ir_stmt *stmt)
{
    stmt->value = stmt->kind == IR_ASSUME ? simplify_assumption(s, stmt->value) : simplify(s, stmt->value);
    for (int i = 0; i < stmt->arg_count; i++)
        stmt->args[i] = simplify(s, stmt->args[i]);
    ir_tensor *t = (stmt->kind == IR_ALLOC || stmt->kind == IR_DECL) && stmt->var ? stmt->var->tensor : NULL;
    if (!t)
        return;
    for (int i = 0; i < t->rank; i++) {
        t->shape[i] = simplify(s, t->shape[i]);
        if (t->strides)
            t->strides[i] = simplify(s, t->strides[i]);
    }
    t->worker = simplify(s, t->worker);
}

// The statements of a block that is known to be taken replace the branch.
static void splice(ir_rewriter *r, ir_block *b, ir_block *out)
{
    for (size_t i = 0; i < b->stmts.len; i++)
        r->stmt(r, b->stmts.at[i], out);
}

static bool simplify_if(ir_rewriter *r, ir_stmt *s, ir_block *out)
{
    int64_t known;
    if (!ir_const_int(s->value, &known))
        return false;
    splice(r, known ? &s->body : &s->or_else, out);
    return true;
}

// Whether a BREAK or CONTINUE in [b] would belong to the loop around [b].
static bool has_jumps(const ir_block *b)
{
    for (size_t i = 0; i < b->stmts.len; i++) {
        const ir_stmt *s = b->stmts.at[i];
        if (s->kind == IR_BREAK || s->kind == IR_CONTINUE)
            return true;
        bool loop = s->kind == IR_FOR || s->kind == IR_WHILE || s->kind == IR_TASKS;
        if (!loop && (has_jumps(&s->body) || has_jumps(&s->or_else)))
            return true;
    }
    return false;
}

// The variable of a loop that runs once.
static ir_stmt *declare(simplifier *s, const ir_stmt *loop, ir_expr *value)
{
    ir_var *v = loop->var;
    ir_stmt *decl = ir_new_stmt(s->module, IR_DECL, v->span, loop->origin);
    v->kind = IR_VAR_LOCAL;
    decl->var = v;
    decl->value = ir_cast(s->module, value, v->type, v->span);
    return decl;
}

static bool simplify_for(ir_rewriter *r, ir_stmt *loop, ir_block *out)
{
    simplifier *s = r->user;
    int64_t lo, hi, step;
    ir_expr *low = loop->args[0], *high = loop->args[1];
    if (!ir_const_int(loop->args[2], &step) || step <= 0 || !ir_is_integer(loop->var->type) || ir_has_effects(low) ||
        ir_has_effects(high))
        return false;
    if (ir_prove(s->env, ir_binary(s->module, IR_OP_GE, low, high, loop->span)))
        return true;
    bool once =
        ir_const_int(low, &lo) && ir_const_int(high, &hi) && lo < hi && (uint64_t)hi - (uint64_t)lo <= (uint64_t)step;
    if (!once || has_jumps(&loop->body))
        return false;
    ir_emit(r, out, declare(s, loop, low));
    splice(r, &loop->body, out);
    return true;
}

static bool dissolve(ir_rewriter *r, ir_stmt *s, ir_block *out)
{
    int64_t known;
    switch (s->kind) {
    case IR_IF:
        return simplify_if(r, s, out);
    case IR_FOR:
        return simplify_for(r, s, out);
    case IR_WHILE:
        return ir_const_int(s->value, &known) && !known;
    case IR_ASSERT:
    case IR_ASSUME:
        return ir_const_int(s->value, &known) && known;
    default:
        return false;
    }
}

static void simplify_stmt(ir_rewriter *r, ir_stmt *s, ir_block *out)
{
    simplifier *state = r->user;
    simplify_held(state, s);
    if (dissolve(r, s, out)) {
        state->changed = true;
        return;
    }
    ir_rewrite_nested(r, s);
    ir_emit(r, out, s);
}

static void simplify_shape(simplifier *s, const ir_var *v)
{
    for (int i = 0; v->tensor && i < v->tensor->rank; i++)
        v->tensor->shape[i] = simplify(s, v->tensor->shape[i]);
}

static void simplify_launch(simplifier *s, ir_func *f)
{
    for (size_t i = 0; i < f->params.len; i++)
        simplify_shape(s, f->params.at[i]);
    for (int i = 0; i < 3; i++) {
        f->grid[i] = simplify(s, f->grid[i]);
        f->block[i] = simplify(s, f->block[i]);
        f->cluster[i] = simplify(s, f->cluster[i]);
    }
    f->dynamic_smem_bytes = simplify(s, f->dynamic_smem_bytes);
}

bool ir_pass_simplify(ir_pass_context *px)
{
    for (size_t i = 0; i < px->module->funcs.len; i++) {
        arena_mark mark = arena_mark_get(px->scratch); // what one function needs is gone with it
        ir_func *f = px->module->funcs.at[i];
        // The launch is computed by the host, where no launch is known yet.
        simplifier host = {.module = px->module, .env = ir_env_new(px->module, NULL, px->scratch)};
        simplify_launch(&host, f);
        simplifier s = {.module = px->module, .env = ir_env_new(px->module, f, px->scratch)};
        ir_rewriter r = {s.env, simplify_stmt, &s};
        ir_rewrite_block(&r, &f->body);
        px->changed |= s.changed | host.changed;
        arena_reset(px->scratch, mark);
    }
    return true;
}

// Note [what is left alone]
//
// Floats: x·0, x + 0 and x - x are not 0, x and 0: NaN, infinities and the sign of zero. So no rule here knows a float
// operator, except for folding of constants. Reads: expressions with effects keep their operands, each once and in
// order; reads of memory may be dropped (x·0) but are never moved or doubled: a LOAD is an atom that equals only
// itself.
