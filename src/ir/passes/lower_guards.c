// Does      turns guarded accesses into predicates: a guarded STORE into an IF, a guarded LOAD into a SELECT with the
//           value for outside. Comparisons that are proved are omitted. Accesses that are always outside are errors.
// Needs     no task loops; form-wide has taken the guards that hold for whole runs.
// Gives     no IR_GUARDED.
// Why here  after lower-registers and form-wide, which look at the indices of guarded accesses; before flatten, after
//           which the shape is not known any more.
#include "ir/element.h"
#include "ir/passes/passes.h"

// A condition made for this statement, and how often it was used.
typedef struct predicate {
    ir_expr *cond;
    int uses;
    ir_var *var; // once it has one
} predicate;

typedef struct guarding {
    ir_pass_context *px;
    ir_env *env;
    VEC(predicate) made;    // in the statement under way
    const ir_stmt *stmt;    // under way
    const ir_stmt *guarded; // a STORE whose guard was made: it may well never be inside
    bool failed;
} guarding;

// ---- what is always outside ----------------------------------------------------------------------------------------

static void report_outside(guarding *g, const ir_var *v, ir_expr **index, int dim, src_span span)
{
    str_buf text, extent;
    str_buf_init(&text, g->px->scratch);
    str_buf_init(&extent, g->px->scratch);
    ir_range r = ir_range_of(g->env, index[dim]);
    if (r.min == r.max)
        str_addf(&text, "%lld", (long long)r.min);
    else
        ir_print_expr(index[dim], &text);
    ir_print_expr(v->tensor->shape[dim], &extent);
    diag *d = diag_report(g->px->diags, HDS0431, span, str_text(&text), dim, v->name, str_text(&extent));
    if (r.min != r.max && r.max < 0)
        diag_under(d, "at most %lld", (long long)r.max);
    else if (r.min != r.max)
        diag_under(d, "at least %lld", (long long)r.min);
    if (v->span.begin)
        diag_label(d, v->span, "'%s' is declared here", v->name);
    ir_note_sites(g->px->module, d, g->stmt->origin);
    int64_t known;
    if (ir_const_int(v->tensor->shape[dim], &known))
        diag_help(d, "indices of dimension %d go from 0 to %lld", dim, (long long)known - 1);
    else
        diag_help(d, "indices of dimension %d go from 0 to %s - 1", dim, str_text(&extent));
    g->failed = true;
}

static void check_indices(guarding *g, const ir_var *v, ir_expr **index, int flags, src_span span)
{
    if ((flags & (IR_GUARDED | IR_FLAT)) || !v->tensor || v->tensor->map)
        return;
    int dim = ir_outside_dim(g->env, v->tensor, index);
    if (dim >= 0)
        report_outside(g, v, index, dim, span);
}

// ---- predicates ----------------------------------------------------------------------------------------------------

static ir_expr *shared_condition(guarding *g, ir_expr *cond)
{
    for (size_t i = 0; i < g->made.len; i++) {
        predicate *p = &g->made.at[i];
        if (ir_expr_equal(p->cond, cond)) {
            p->uses++;
            return p->cond;
        }
    }
    predicate p = {cond, 1, NULL};
    VEC_PUSH(g->px->scratch, &g->made, p);
    return cond;
}

static ir_expr *guard_expr(void *user, ir_expr *e)
{
    guarding *g = user;
    if (e->op != IR_OP_LOAD)
        return e;
    check_indices(g, e->u.var, e->args, e->flags, e->span);
    if (!(e->flags & IR_GUARDED))
        return e;
    ir_module *m = g->px->module;
    g->px->changed = true;
    int rank = e->arg_count - 1;
    ir_expr *plain = ir_load(m, e->u.var, e->args, rank, NULL, e->span);
    plain->flags = e->flags & ~IR_GUARDED;
    plain->type = e->type;
    if (e->flags & IR_FLAT)
        return plain;
    ir_expr *cond = ir_inside(g->env, e->u.var->tensor, e->args, e->span);
    return cond ? ir_select(m, shared_condition(g, cond), plain, e->args[rank], e->span) : plain;
}

static ir_expr *use_shared(void *user, ir_expr *e)
{
    guarding *g = user;
    for (size_t i = 0; i < g->made.len; i++)
        if (g->made.at[i].cond == e && g->made.at[i].var)
            return ir_read(g->px->module, g->made.at[i].var, e->span);
    return e;
}

// A condition with several uses is evaluated once, before the statement; this is safe, since conditions are pure. In
// the condition of a WHILE it must be evaluated in each iteration.
static void declare_shared(ir_rewriter *r, ir_stmt *s, ir_block *out)
{
    guarding *g = r->user;
    bool any = false;
    for (size_t i = 0; i < g->made.len && s->kind != IR_WHILE; i++) {
        predicate *p = &g->made.at[i];
        if (p->uses < 2 || !ir_is_pure(p->cond))
            continue;
        p->var = ir_var_new(g->px->module, IR_VAR_LOCAL, "inside", ir_scalar(g->px->module, DT_BOOL), s->span);
        ir_stmt *decl = ir_new_stmt(g->px->module, IR_DECL, s->span, s->origin);
        decl->var = p->var;
        decl->value = p->cond;
        ir_emit(r, out, decl);
        any = true;
    }
    if (any)
        ir_rewrite_stmt_exprs(g->px->module, s, use_shared, g);
}

// ---- statements ----------------------------------------------------------------------------------------------------

static ir_stmt *guard_store(guarding *g, ir_stmt *s)
{
    if (s == g->guarded)
        return s;
    check_indices(g, s->var, s->args, s->flags, s->span);
    if (!(s->flags & IR_GUARDED))
        return s;
    s->flags &= ~IR_GUARDED;
    g->px->changed = true;
    ir_expr *cond = (s->flags & IR_FLAT) ? NULL : ir_inside(g->env, s->var->tensor, s->args, s->span);
    if (!cond)
        return s;
    ir_stmt *guard = ir_new_stmt(g->px->module, IR_IF, s->span, s->origin);
    guard->value = cond;
    // Under the condition of the store, guards of reads at the same indices are proved.
    g->guarded = s;
    ir_append(g->px->module, &guard->body, s);
    return guard;
}

static void check_copy(guarding *g, const ir_stmt *s)
{
    for (int i = 0; i < s->arg_count; i++)
        if (s->args[i]->op == IR_OP_ADDR)
            check_indices(g, s->args[i]->u.var, s->args[i]->args, s->args[i]->flags, s->span);
}

static void guard_stmt(ir_rewriter *r, ir_stmt *s, ir_block *out)
{
    guarding *g = r->user;
    g->stmt = s;
    if (s->kind == IR_STORE) {
        ir_stmt *now = guard_store(g, s);
        if (now != s) {
            guard_stmt(r, now, out);
            return;
        }
    }
    if (s->kind == IR_COPY)
        check_copy(g, s);
    g->made.len = 0;
    ir_env_rewrite_stmt(g->env, s, guard_expr, g);
    declare_shared(r, s, out);
    ir_rewrite_nested(r, s);
    ir_emit(r, out, s);
}

bool ir_pass_lower_guards(ir_pass_context *px)
{
    bool ok = true;
    for (size_t i = 0; i < px->module->funcs.len; i++) {
        arena_mark mark = arena_mark_get(px->scratch); // what one function needs is gone with it
        ir_func *f = px->module->funcs.at[i];
        guarding g = {.px = px, .env = ir_env_new(px->module, f, px->scratch)};
        ir_rewriter r = {g.env, guard_stmt, &g};
        ir_rewrite_block(&r, &f->body);
        ok &= !g.failed;
        arena_reset(px->scratch, mark);
    }
    return ok;
}
