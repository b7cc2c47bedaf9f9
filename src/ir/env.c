// The environment: facts from scopes, declarations, loops and conditions. See analysis_range.h.
#include "ir/linear_priv.h"

#include "base/checked.h"

// ---- creation ------------------------------------------------------------------------------------------------------

// Largest launch sizes: CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability".
static const int64_t most_threads[3] = {1024, 1024, 64};
static const int64_t most_blocks[3] = {INT32_MAX, 65535, 65535};

static void set_sregs(ir_env *env)
{
    for (int axis = 0; axis < 3; axis++) {
        int64_t threads = most_threads[axis], blocks = most_blocks[axis];
        int64_t least_threads = 1, least_blocks = 1;
        bool is_kernel = env->func && env->func->kind == IR_KERNEL;
        if (is_kernel && env->func->block[axis] && ir_const_int(env->func->block[axis], &threads))
            least_threads = threads;
        if (is_kernel && env->func->grid[axis] && ir_const_int(env->func->grid[axis], &blocks))
            least_blocks = blocks;
        env->sregs[IR_TID_X + axis] = (ir_range){0, threads - 1};
        env->sregs[IR_BID_X + axis] = (ir_range){0, blocks - 1};
        env->sregs[IR_BDIM_X + axis] = (ir_range){least_threads, threads};
        env->sregs[IR_GDIM_X + axis] = (ir_range){least_blocks, blocks};
    }
}

static void assume_compare(ir_env *env, ir_op op, ir_expr *a, ir_expr *b)
{
    ir_env_assume(env, ir_binary(env->module, op, a, b, (src_span){0}), true);
}

// bid.x < grid.x, where the grid is an expression over sizes: what proves that tiles of divisible sizes stay inside.
static void assume_launch(ir_env *env)
{
    int64_t known;
    if (!env->func || env->func->kind != IR_KERNEL)
        return;
    for (int axis = 0; axis < 3; axis++) {
        ir_expr *blocks = env->func->grid[axis], *threads = env->func->block[axis];
        if (blocks && ir_is_integer(blocks->type) && !ir_const_int(blocks, &known))
            assume_compare(env, IR_OP_LT, ir_sreg_read(env->module, IR_BID_X + axis, (src_span){0}), blocks);
        if (threads && ir_is_integer(threads->type) && !ir_const_int(threads, &known))
            assume_compare(env, IR_OP_LT, ir_sreg_read(env->module, IR_TID_X + axis, (src_span){0}), threads);
    }
}

ir_env *ir_env_new(ir_module *m, const ir_func *f, arena *scratch)
{
    ir_env *env = ARENA_NEW(scratch, ir_env);
    env->module = m;
    env->func = f;
    env->arena = scratch;
    env->state = env->range_state = env->next_state = 1;
    set_sregs(env);
    assume_launch(env);
    return env;
}

ir_env_mark ir_env_enter(const ir_env *env)
{
    return (ir_env_mark){env->facts.len, env->refinements.len, env->refined, env->state, env->range_state};
}

void ir_env_leave(ir_env *env, ir_env_mark mark)
{
    env->facts.len = mark.facts;
    env->refinements.len = mark.refinements;
    env->refined = mark.refined;
    env->state = mark.state;
    env->range_state = mark.range_state;
}

// ---- variables -----------------------------------------------------------------------------------------------------

const ir_var_info *ir_env_info(const ir_env *env, const ir_var *v)
{
    bool known = v->note < env->vars.len && env->vars.at[v->note].of == v;
    return known ? &env->vars.at[v->note] : NULL;
}

static void set_info(ir_env *env, ir_var *v, ir_var_info info)
{
    if (!ir_env_info(env, v)) {
        v->note = (uint32_t)env->vars.len;
        VEC_PUSH(env->arena, &env->vars, info);
    }
    env->vars.at[v->note] = info;
}

void ir_env_bound(ir_env *env, ir_var *v, ir_range range, int64_t divisor)
{
    set_info(env, v, (ir_var_info){.of = v, .range = range, .divisor = divisor});
}

// Definitions are looked through only while they stay small when written out. A chain in which each value uses earlier
// ones twice doubles with every link; beyond this a variable stands for itself, with its range and divisor.
enum { HEAVIEST_DEFINITION = 256 };

static int weight_of(const ir_env *env, const ir_expr *e)
{
    if (e->op == IR_OP_VAR) {
        const ir_var_info *info = ir_env_info(env, e->u.var);
        return info && info->value ? info->weight : 1;
    }
    int weight = 1;
    for (int i = 0; i < e->arg_count && weight <= HEAVIEST_DEFINITION; i++)
        weight += weight_of(env, e->args[i]);
    return weight;
}

// Facts about the initialiser are computed lazily: a query of the variable returns what is known at that time.
void ir_env_bind(ir_env *env, ir_var *v, ir_expr *value)
{
    int64_t known;
    if (!v->is_mutable && value && ir_is_scalar(v->type, DT_BOOL) && ir_const_int(value, &known))
        set_info(env, v, (ir_var_info){v, {known, known}, 1, value, 1});
    if (v->is_mutable || !value || !ir_is_integer(v->type))
        return;
    int weight = value->type == v->type && ir_is_pure(value) ? weight_of(env, value) : 0;
    if (weight && weight <= HEAVIEST_DEFINITION)
        set_info(env, v, (ir_var_info){v, ir_range_of_type(v->type), 1, value, weight});
    else
        ir_env_bound(env, v, ir_range_of(env, value), ir_divisor_of(env, value));
}

ir_expr *ir_env_value(const ir_env *env, const ir_var *v)
{
    const ir_var_info *info = v->is_mutable ? NULL : ir_env_info(env, v);
    return info ? info->value : NULL;
}

// ---- notes ---------------------------------------------------------------------------------------------------------

ir_note *ir_note_new(ir_env *env, const ir_expr *e)
{
    // Expressions are immutable but for this.
    uint32_t at = env->note_count++;
    ((ir_expr *)e)->note = at;
    if (at % IR_NOTES == 0)
        VEC_PUSH(env->arena, &env->notes, arena_raw(env->arena, IR_NOTES * sizeof(ir_note)));
    ir_note *note = &env->notes.at[at / IR_NOTES][at % IR_NOTES];
    *note = (ir_note){.of = e, .state = env->state};
    return note;
}

// ---- loops ---------------------------------------------------------------------------------------------------------

static ir_range loop_range(ir_range lo, ir_range hi, ir_range step)
{
    if (step.min > 0) {
        ir_range r = {lo.min, hi.max == INT64_MAX ? INT64_MAX : hi.max - 1};
        bool exact = lo.min == lo.max && step.min == step.max && r.max != INT64_MAX && lo.min != INT64_MIN;
        // The last value of a loop with constant start and step lies on its lattice.
        if (exact && r.max >= lo.min)
            r.max = lo.min + (r.max - lo.min) / step.min * step.min;
        return r;
    }
    if (step.max < 0)
        return (ir_range){hi.min == INT64_MIN ? INT64_MIN : hi.min + 1, lo.max};
    return (ir_range){INT64_MIN, INT64_MAX};
}

void ir_env_loop(ir_env *env, const ir_stmt *loop)
{
    ir_expr *lo = loop->args[0], *hi = loop->args[1], *step = loop->args[2];
    if (!ir_is_integer(loop->var->type))
        return;
    ir_range r = loop_range(ir_range_of(env, lo), ir_range_of(env, hi), ir_range_of(env, step));
    ir_env_bound(env, loop->var, r, gcd_of(ir_divisor_of(env, lo), ir_divisor_of(env, step)));
    int64_t by, known;
    if (!ir_const_int(step, &by) || by <= 0 || loop->var->is_mutable)
        return;
    ir_expr *v = ir_read(env->module, loop->var, (src_span){0});
    if (!ir_const_int(lo, &known) && ir_is_pure(lo))
        assume_compare(env, IR_OP_GE, v, lo);
    if (ir_const_int(hi, &known) || !ir_is_pure(hi))
        return;
    // If the step divides the distance, the whole last step stays below the bound.
    ir_expr *way = ir_binary(env->module, IR_OP_SUB, hi, lo, (src_span){0});
    bool whole = by > 1 && ir_is_pure(lo) && ir_index_divisor(env, way) % by == 0;
    if (whole)
        assume_compare(env, IR_OP_LE, ir_binary(env->module, IR_OP_ADD, v, step, (src_span){0}), hi);
    else
        assume_compare(env, IR_OP_LT, v, hi);
}

// ---- conditions ----------------------------------------------------------------------------------------------------

// A new state begins: cached results of it must not be used for the previous one.
static void enter_state(ir_env *env)
{
    env->state = ++env->next_state;
}

static void refine(ir_env *env, const ir_expr *atom, ir_range range, int64_t divisor)
{
    ir_refinement r = {atom, range, divisor};
    VEC_PUSH(env->arena, &env->refinements, r);
    env->refined |= ir_atom_bit(atom);
    enter_state(env);
    env->range_state = env->state;
}

// The upper bound of what is left of the form without one term.
static int64_t largest_rest(ir_env *env, const ir_linear *l, int skip)
{
    ir_range r = ir_range_constant(l->constant);
    for (int i = 0; i < l->count; i++)
        if (i != skip)
            r = ir_range_add(r, ir_range_scale(ir_term_range(env, &l->terms[i]), l->terms[i].coef));
    return r.max;
}

// coef·split >= -rest bounds the split: from below if coef > 0, else from above; and so its atom, if nothing is cut off
// above.
static void refine_term(ir_env *env, const ir_linear *l, int at)
{
    const ir_term *t = &l->terms[at];
    int64_t rest = largest_rest(env, l, at);
    if (t->extent || rest == INT64_MAX || rest <= INT64_MIN + 1 || !ir_is_pure(t->atom))
        return;
    ir_range r = {INT64_MIN, INT64_MAX};
    int64_t scaled;
    if (t->coef > 0) {
        if (mul_checked(-floor_div(rest, t->coef), t->lower, &scaled))
            r.min = scaled;
    } else {
        int64_t top = t->coef == INT64_MIN ? 0 : floor_div(rest, -t->coef);
        if (add_checked(top, 1, &top) && mul_checked(top, t->lower, &scaled) && scaled != INT64_MIN)
            r.max = scaled - 1;
    }
    ir_range now = ir_range_of(env, t->atom);
    if (r.min > now.min || r.max < now.max)
        refine(env, t->atom, r, 1);
}

// A fact that the ranges imply is not recorded. It cannot help a proof: subtracting it from a goal never raises the
// goal's lower bound.
static bool is_news(ir_range least_of_all)
{
    return least_of_all.min < 0;
}

static void assume_nonneg(ir_env *env, ir_expr *cond, bool holds, const ir_linear *l)
{
    if (l && !is_news(ir_linear_range(env, l)))
        return;
    ir_fact fact = {cond, holds, l, false};
    VEC_PUSH(env->arena, &env->facts, fact);
    enter_state(env);
    if (!l)
        return;
    for (int i = 0; i < l->count; i++)
        refine_term(env, l, i);
}

// a - b + offset >= 0
static void assume_at_least(ir_env *env, ir_expr *cond, bool holds, ir_expr *a, ir_expr *b, int64_t offset)
{
    ir_range r = ir_range_add(ir_range_of(env, a), ir_range_scale(ir_range_of(env, b), -1));
    if (is_news(ir_range_add(r, ir_range_constant(offset))))
        assume_nonneg(env, cond, holds, ir_linear_difference(env, a, b, offset));
}

// x % d == 0, or x & (d - 1) == 0, which the first one is written as where x may be negative.
static void assume_divisible(ir_env *env, ir_expr *a, ir_expr *b)
{
    int64_t zero, d;
    bool is_mask = a->op == IR_OP_AND, is_mod = a->op == IR_OP_FLOORMOD || a->op == IR_OP_TRUNCMOD;
    if (!(is_mask || is_mod) || !ir_const_int(b, &zero) || zero != 0 || !ir_const_int(a->args[1], &d))
        return;
    if (is_mask && d >= 1 && d < INT64_MAX && (d & (d + 1)) == 0)
        d++;
    else if (is_mask)
        return;
    if (d > 1)
        refine(env, a->args[0], (ir_range){INT64_MIN, INT64_MAX}, d);
}

static void assume_equal(ir_env *env, ir_expr *cond, bool holds, ir_expr *a, ir_expr *b)
{
    assume_at_least(env, cond, holds, a, b, 0);
    assume_at_least(env, cond, holds, b, a, 0);
    assume_divisible(env, a, b);
    assume_divisible(env, b, a);
}

// A value that is known not to be at an end of its range: the range shrinks.
static void assume_unequal(ir_env *env, ir_expr *cond, bool holds, ir_expr *a, ir_expr *b)
{
    assume_nonneg(env, cond, holds, NULL);
    const ir_linear *l = ir_linear_difference(env, a, b, 0);
    if (!l || l->count != 1 || l->terms[0].lower != 1 || l->terms[0].extent ||
        (l->terms[0].coef != 1 && l->terms[0].coef != -1))
        return;
    ir_expr *atom = l->terms[0].atom;
    if (l->constant == INT64_MIN || !ir_is_pure(atom))
        return;
    int64_t hole = l->terms[0].coef == 1 ? -l->constant : l->constant;
    ir_range r = ir_range_of(env, atom);
    if (r.min == hole && r.min < r.max)
        refine(env, atom, (ir_range){hole + 1, INT64_MAX}, 1);
    else if (r.max == hole && r.min < r.max)
        refine(env, atom, (ir_range){INT64_MIN, hole - 1}, 1);
}

static void assume_comparison(ir_env *env, ir_expr *cond, bool holds)
{
    ir_expr *a = cond->args[0], *b = cond->args[1];
    switch (holds ? cond->op : ir_op_negated(cond->op)) {
    case IR_OP_LT:
        assume_at_least(env, cond, holds, b, a, -1);
        break;
    case IR_OP_LE:
        assume_at_least(env, cond, holds, b, a, 0);
        break;
    case IR_OP_GT:
        assume_at_least(env, cond, holds, a, b, -1);
        break;
    case IR_OP_GE:
        assume_at_least(env, cond, holds, a, b, 0);
        break;
    case IR_OP_EQ:
        assume_equal(env, cond, holds, a, b);
        break;
    default:
        assume_unequal(env, cond, holds, a, b);
        break;
    }
}

bool ir_env_knows(const ir_env *env, const ir_expr *cond, bool holds)
{
    for (size_t i = 0; i < env->facts.len; i++) {
        const ir_fact *f = &env->facts.at[i];
        if (f->cond && f->holds == holds && ir_expr_equal(f->cond, cond))
            return true;
    }
    return false;
}

static void assume(ir_env *env, ir_expr *cond, bool holds)
{
    if (cond->op == IR_OP_NOT) {
        assume(env, cond->args[0], !holds);
    } else if ((cond->op == IR_OP_LAND && holds) || (cond->op == IR_OP_LOR && !holds)) {
        assume(env, cond->args[0], holds);
        assume(env, cond->args[1], holds);
    } else if (!ir_is_pure(cond) || ir_env_knows(env, cond, holds)) {
        return;
    } else if ((ir_op_properties(cond->op) & IR_COMPARE) && ir_is_integer(cond->args[0]->type) &&
               ir_is_integer(cond->args[1]->type)) {
        assume_comparison(env, cond, holds);
    } else {
        assume_nonneg(env, cond, holds, NULL);
    }
}

void ir_env_assume(ir_env *env, ir_expr *cond, bool holds)
{
    // The forms made here are facts for later: they must look through variables.
    bool no_expand = env->no_expand;
    env->no_expand = false;
    assume(env, cond, holds);
    env->no_expand = no_expand;
}

// ---- statements ----------------------------------------------------------------------------------------------------

bool ir_block_ends(const ir_block *b)
{
    if (!b->stmts.len)
        return false;
    const ir_stmt *last = VEC_LAST(&b->stmts);
    switch (last->kind) {
    case IR_RETURN:
    case IR_BREAK:
    case IR_CONTINUE:
    case IR_LEAVE:
        return true;
    case IR_IF:
        return ir_block_ends(&last->body) && ir_block_ends(&last->or_else);
    default:
        return false;
    }
}

void ir_env_learn(ir_env *env, ir_stmt *s)
{
    switch (s->kind) {
    case IR_DECL:
        ir_env_bind(env, s->var, s->value);
        break;
    case IR_ASSUME:
    case IR_ASSERT:
        ir_env_assume(env, s->value, true);
        break;
    case IR_IF:
        if (ir_block_ends(&s->body))
            ir_env_assume(env, s->value, false);
        else if (ir_block_ends(&s->or_else))
            ir_env_assume(env, s->value, true);
        break;
    default:
        break;
    }
}

void ir_emit(ir_rewriter *r, ir_block *out, ir_stmt *s)
{
    ir_append(r->env->module, out, s);
    ir_env_learn(r->env, s);
}

void ir_rewrite_block(ir_rewriter *r, ir_block *b)
{
    ir_env_mark mark = ir_env_enter(r->env);
    ir_block out = {0};
    VEC_RESERVE(r->env->module->arena, &out.stmts, b->stmts.len);
    for (size_t i = 0; i < b->stmts.len; i++)
        r->stmt(r, b->stmts.at[i], &out);
    *b = out;
    ir_env_leave(r->env, mark);
}

static void assume_tasks(ir_env *env, const ir_stmt *s)
{
    for (int d = 0; d < s->map->rank; d++)
        if (!s->vars[d]->is_mutable)
            ir_env_bound(env, s->vars[d], (ir_range){0, s->map->shape[d] - 1}, 1);
}

static void enter_branch(ir_env *env, ir_expr *cond, bool holds)
{
    size_t known = env->facts.len;
    ir_env_assume(env, cond, holds);
    for (size_t i = known; i < env->facts.len; i++)
        env->facts.at[i].is_branch = true;
}

void ir_rewrite_nested(ir_rewriter *r, ir_stmt *s)
{
    ir_env_mark mark = ir_env_enter(r->env);
    if (s->kind == IR_FOR)
        ir_env_loop(r->env, s);
    else if (s->kind == IR_TASKS)
        assume_tasks(r->env, s);
    else if (s->kind == IR_IF || s->kind == IR_WHILE)
        enter_branch(r->env, s->value, true);
    ir_rewrite_block(r, &s->body);
    ir_env_leave(r->env, mark);
    if (s->kind != IR_IF || !s->or_else.stmts.len)
        return;
    enter_branch(r->env, s->value, false);
    ir_rewrite_block(r, &s->or_else);
    ir_env_leave(r->env, mark);
}

// ---- expressions ---------------------------------------------------------------------------------------------------

typedef struct rewriting {
    ir_env *env;
    ir_expr_visit *visit;
    void *user;
} rewriting;

static ir_expr *rewrite(rewriting *w, ir_expr *e);

static ir_expr *rewrite_under(rewriting *w, ir_expr *e, ir_expr *cond, bool holds)
{
    ir_env_mark mark = ir_env_enter(w->env);
    enter_branch(w->env, cond, holds);
    ir_expr *result = rewrite(w, e);
    ir_env_leave(w->env, mark);
    return result;
}

static ir_expr *rewrite_arg(rewriting *w, ir_expr *e, int i, ir_expr *first)
{
    if (e->op == IR_OP_SELECT && i > 0)
        return rewrite_under(w, e->args[i], first, i == 1);
    if ((e->op == IR_OP_LAND || e->op == IR_OP_LOR) && i == 1)
        return rewrite_under(w, e->args[i], first, e->op == IR_OP_LAND);
    return rewrite(w, e->args[i]);
}

static ir_expr *rewrite(rewriting *w, ir_expr *e)
{
    if (!e->arg_count)
        return w->visit(w->user, e);
    const ir_note *known = ir_note_of(w->env, e);
    if (known->rewritten && known->rewritten_state == w->env->state)
        return known->rewritten;
    ir_expr *now = e;
    for (int i = 0; i < e->arg_count; i++) {
        ir_expr *arg = rewrite_arg(w, e, i, now->args[0]);
        if (arg != e->args[i] && now == e)
            now = ir_with_args(w->env->module, e, e->args);
        now->args[i] = arg;
    }
    now = w->visit(w->user, now);
    ir_note *note = ir_note_of(w->env, e);
    note->rewritten = now;
    note->rewritten_state = w->env->state;
    return now;
}

ir_expr *ir_env_rewrite(ir_env *env, ir_expr *e, ir_expr_visit *visit, void *user)
{
    rewriting w = {env, visit, user};
    return e ? rewrite(&w, e) : NULL;
}

void ir_env_rewrite_stmt(ir_env *env, ir_stmt *s, ir_expr_visit *visit, void *user)
{
    s->value = ir_env_rewrite(env, s->value, visit, user);
    for (int i = 0; i < s->arg_count; i++)
        s->args[i] = ir_env_rewrite(env, s->args[i], visit, user);
    ir_tensor *t = (s->kind == IR_ALLOC || s->kind == IR_DECL) && s->var ? s->var->tensor : NULL;
    if (!t)
        return;
    for (int i = 0; i < t->rank; i++) {
        t->shape[i] = ir_env_rewrite(env, t->shape[i], visit, user);
        if (t->strides)
            t->strides[i] = ir_env_rewrite(env, t->strides[i], visit, user);
    }
    t->worker = ir_env_rewrite(env, t->worker, visit, user);
}
