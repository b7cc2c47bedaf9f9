// Does      replaces each task loop by plain loops over the repeat digits of its mapping and, for each coordinate, a
//           variable computed from the digits of the worker and the loop variables.
// Needs     mappings and their workers as expressions; simplify has run, so that constants are literals.
// Gives     no IR_TASKS; loop bounds are constants; coordinates are declared at the outermost loop where all they
//           depend on is known. A worker that may be outside of the mapping's is guarded.
// Why here  before lower-registers, which reads the digits of coordinates out of these declarations, and before
//           form-wide, which wants to see the innermost loops.
#include "ir/passes/passes.h"

#include "base/str.h"

typedef struct lowering {
    ir_pass_context *px;
    ir_module *module;
    ir_env *env;
    const ir_func *func;
    int next_label;
    bool failed;
} lowering;

// A task loop on its way: the repeat digits that are loops, outermost first.
typedef struct nest {
    ir_stmt *tasks;
    ir_expr *worker;
    int loop_count;
    const tm_digit *digits[TM_MAX_DIGITS];
    ir_var *loop_vars[TM_MAX_DIGITS];
} nest;

static ir_expr *constant(lowering *l, const ir_type *type, int64_t value)
{
    return ir_int(l->module, type->scalar, value);
}

static ir_expr *with_constant(lowering *l, ir_op op, ir_expr *e, int64_t value)
{
    return ir_binary(l->module, op, e, constant(l, e->type, value), e->span);
}

// ---- does the block have the workers? ------------------------------------------------------------------------------

static bool depends_on_threads(const lowering *l, const ir_expr *e)
{
    if (e->op == IR_OP_SREG)
        return e->u.i >= IR_TID_X && e->u.i <= IR_TID_Z;
    if (e->op == IR_OP_VAR) {
        const ir_expr *value = ir_env_value(l->env, e->u.var);
        return value && depends_on_threads(l, value);
    }
    for (int i = 0; i < e->arg_count; i++)
        if (depends_on_threads(l, e->args[i]))
            return true;
    return false;
}

static int64_t threads_of(const ir_func *f)
{
    int64_t threads = 1;
    for (int axis = 0; axis < 3; axis++) {
        int64_t extent;
        if (f->kind != IR_KERNEL || !f->block[axis] || !ir_const_int(f->block[axis], &extent))
            return 0;
        threads *= extent;
    }
    return threads;
}

static void check_workers(lowering *l, const ir_stmt *s, ir_expr *worker)
{
    int64_t threads = threads_of(l->func);
    bool some_missing = ir_range_of(l->env, worker).max < s->map->workers - 1;
    if (!threads || threads >= s->map->workers || !some_missing || !depends_on_threads(l, worker))
        return;
    str_buf text;
    str_buf_init(&text, l->module->arena);
    tm_print(s->map, &text);
    diag *d = diag_report(l->px->diags, HDS0432, s->span, (long long)s->map->workers, (long long)threads);
    diag_under(d, "%s", str_text(&text));
    if (l->func->span.begin)
        diag_label(d, l->func->span, "'%s' runs with %lld threads a block", l->func->name, (long long)threads);
    ir_note_sites(l->module, d, s->origin);
    diag_help(d, "launch the kernel with %lld threads, or make the mapping one of %lld workers",
              (long long)s->map->workers, (long long)threads);
    l->failed = true;
}

// ---- coordinates ---------------------------------------------------------------------------------------------------

static ir_expr *worker_digit(lowering *l, const nest *n, int64_t below, int64_t extent)
{
    ir_expr *e = n->worker;
    bool nonneg = ir_range_of(l->env, e).min >= 0;
    if (below > 1)
        e = with_constant(l, nonneg ? IR_OP_TRUNCDIV : IR_OP_FLOORDIV, e, below);
    return with_constant(l, nonneg ? IR_OP_TRUNCMOD : IR_OP_FLOORMOD, e, extent);
}

static ir_expr *add_digit(lowering *l, ir_expr *sum, ir_expr *digit, const tm_digit *g, const ir_type *type)
{
    ir_expr *part = ir_cast(l->module, digit, type, digit->span);
    if (g->stride != 1)
        part = with_constant(l, IR_OP_MUL, part, g->stride);
    return sum ? ir_binary(l->module, IR_OP_ADD, sum, part, digit->span) : part;
}

// Sum of digit·stride over the digits of dimension [dim], in the mapping's order.
static ir_expr *coordinate(lowering *l, const nest *n, int dim, const ir_type *type)
{
    const tm_map *mapping = n->tasks->map;
    ir_expr *sum = NULL;
    int64_t below = mapping->workers;
    int loop = 0;
    for (int i = 0; i < mapping->digit_count; i++) {
        const tm_digit *g = &mapping->digits[i];
        ir_expr *digit = NULL;
        if (g->kind == TM_SPATIAL) {
            below /= g->extent;
            if (g->dim == dim && g->extent > 1)
                digit = worker_digit(l, n, below, g->extent);
        } else if (g->extent > 1) {
            digit = g->dim == dim ? ir_read(l->module, n->loop_vars[loop], n->tasks->span) : NULL;
            loop++;
        }
        if (digit)
            sum = add_digit(l, sum, digit, g, type);
    }
    return ir_simplify_index(l->env, sum ? sum : constant(l, type, 0));
}

// The loop inside of which all that the coordinate depends on is known: 0 is outside of all.
static int level_of(const nest *n, int dim)
{
    if (n->tasks->vars[dim]->is_mutable)
        return n->loop_count;
    int level = 0;
    for (int i = 0; i < n->loop_count; i++)
        if (n->digits[i]->dim == dim)
            level = i + 1;
    return level;
}

static void declare_coordinates(ir_rewriter *r, const nest *n, int level, ir_block *out)
{
    lowering *l = r->user;
    for (int d = 0; d < n->tasks->map->rank; d++) {
        if (level_of(n, d) != level)
            continue;
        ir_stmt *decl = ir_new_stmt(l->module, IR_DECL, n->tasks->span, n->tasks->origin);
        decl->var = n->tasks->vars[d];
        decl->var->kind = IR_VAR_LOCAL;
        decl->value = coordinate(l, n, d, decl->var->type);
        ir_emit(r, out, decl);
    }
}

// ---- loops ---------------------------------------------------------------------------------------------------------

// "i_r" for the only loop of i; "i_r" and "i_v" for two; "i_r", "i_r2", … "i_v" for more.
static const char *loop_name(lowering *l, const nest *n, int at)
{
    int dim = n->digits[at]->dim, before = 0, after = 0;
    if (dim < 0)
        return "again";
    for (int i = 0; i < n->loop_count; i++) {
        before += i < at && n->digits[i]->dim == dim;
        after += i > at && n->digits[i]->dim == dim;
    }
    const char *name = n->tasks->vars[dim]->name;
    if (before == 0)
        return arena_printf(l->module->arena, "%s_r", name);
    return after == 0 ? arena_printf(l->module->arena, "%s_v", name)
                      : arena_printf(l->module->arena, "%s_r%d", name, before + 1);
}

static void collect_loops(lowering *l, nest *n)
{
    const tm_map *mapping = n->tasks->map;
    for (int i = 0; i < mapping->digit_count; i++)
        if (mapping->digits[i].kind == TM_REPEAT && mapping->digits[i].extent > 1)
            n->digits[n->loop_count++] = &mapping->digits[i];
    const ir_type *type = ir_scalar(l->module, DT_I32);
    for (int i = 0; i < n->loop_count; i++)
        n->loop_vars[i] = ir_var_new(l->module, IR_VAR_LOOP, loop_name(l, n, i), type, n->tasks->span);
}

enum { UNROLLED_BY_DEFAULT = 4 };

static ir_stmt *new_loop(lowering *l, const nest *n, int at)
{
    const tm_digit *g = n->digits[at];
    ir_stmt *loop = ir_new_stmt(l->module, IR_FOR, n->tasks->span, n->tasks->origin);
    loop->var = n->loop_vars[at];
    loop->arg_count = 3;
    loop->args = ARENA_ARRAY(l->module->arena, ir_expr *, 3);
    loop->args[0] = constant(l, loop->var->type, 0);
    loop->args[1] = constant(l, loop->var->type, g->extent);
    loop->args[2] = constant(l, loop->var->type, 1);
    loop->unroll = g->unroll;
    loop->factor = g->factor;
    if (g->unroll == TM_LOOP_DEFAULT && g->extent <= UNROLLED_BY_DEFAULT)
        loop->unroll = TM_LOOP_UNROLL;
    return loop;
}

// ---- break and continue --------------------------------------------------------------------------------------------

static bool is_loop(const ir_stmt *s)
{
    return s->kind == IR_FOR || s->kind == IR_WHILE || s->kind == IR_TASKS;
}

// Jumps of [kind] that belong to the loop around [b] become LEAVEs of [label]; how many there were.
static int redirect_jumps(ir_block *b, ir_stmt_kind kind, int label)
{
    int count = 0;
    for (size_t i = 0; i < b->stmts.len; i++) {
        ir_stmt *s = b->stmts.at[i];
        if (s->kind == kind) {
            count++;
            s->kind = label ? IR_LEAVE : kind;
            s->count = label ? label : s->count;
        } else if (!is_loop(s)) {
            count += redirect_jumps(&s->body, kind, label) + redirect_jumps(&s->or_else, kind, label);
        }
    }
    return count;
}

static ir_stmt *new_scope(lowering *l, const ir_stmt *at, int label)
{
    ir_stmt *scope = ir_new_stmt(l->module, IR_SCOPE_OF, at->span, at->origin);
    scope->count = label;
    return scope;
}

// One FOR takes BREAK and CONTINUE as they are. No loop has nothing to continue, and several have too much to break.
static ir_block *scope_jumps(lowering *l, ir_stmt *tasks, ir_stmt_kind kind, ir_block *out)
{
    if (!redirect_jumps(&tasks->body, kind, 0))
        return out;
    ir_stmt *scope = new_scope(l, tasks, l->next_label++);
    redirect_jumps(&tasks->body, kind, scope->count);
    ir_append(l->module, out, scope);
    return &scope->body;
}

// ---- the statement -------------------------------------------------------------------------------------------------

static void lower_body(ir_rewriter *r, nest *n, ir_block *out)
{
    lowering *l = r->user;
    if (n->loop_count == 0)
        out = scope_jumps(l, n->tasks, IR_CONTINUE, out);
    ir_rewrite_block(r, &n->tasks->body);
    for (size_t i = 0; i < n->tasks->body.stmts.len; i++)
        ir_append(l->module, out, n->tasks->body.stmts.at[i]);
}

static void lower_level(ir_rewriter *r, nest *n, int level, ir_block *out)
{
    lowering *l = r->user;
    declare_coordinates(r, n, level, out);
    if (level == n->loop_count) {
        lower_body(r, n, out);
        return;
    }
    ir_stmt *loop = new_loop(l, n, level);
    ir_env_mark mark = ir_env_enter(l->env);
    ir_env_loop(l->env, loop);
    lower_level(r, n, level + 1, &loop->body);
    ir_env_leave(l->env, mark);
    ir_append(l->module, out, loop);
}

// Mutable variables and memory may change while the tasks run: their value is taken before.
static ir_expr *fixed_worker(ir_rewriter *r, ir_stmt *s, ir_block *out)
{
    lowering *l = r->user;
    ir_expr *worker = s->args[0];
    if (ir_is_pure(worker))
        return worker;
    ir_stmt *decl = ir_new_stmt(l->module, IR_DECL, s->span, s->origin);
    decl->var = ir_var_new(l->module, IR_VAR_LOCAL, "worker", worker->type, s->span);
    decl->value = worker;
    ir_emit(r, out, decl);
    return ir_read(l->module, decl->var, s->span);
}

static ir_block *guard_worker(ir_rewriter *r, const nest *n, ir_block *out)
{
    lowering *l = r->user;
    ir_expr *inside = with_constant(l, IR_OP_LT, n->worker, n->tasks->map->workers);
    if (ir_prove(l->env, inside))
        return out;
    ir_stmt *guard = ir_new_stmt(l->module, IR_IF, n->tasks->span, n->tasks->origin);
    guard->value = inside;
    ir_append(l->module, out, guard);
    ir_env_assume(l->env, inside, true);
    return &guard->body;
}

static void lower_tasks(ir_rewriter *r, ir_stmt *s, ir_block *out)
{
    lowering *l = r->user;
    nest n = {.tasks = s, .worker = fixed_worker(r, s, out)};
    check_workers(l, s, n.worker);
    collect_loops(l, &n);
    ir_env_mark mark = ir_env_enter(l->env);
    ir_block *into = guard_worker(r, &n, out);
    if (n.loop_count != 1)
        into = scope_jumps(l, s, IR_BREAK, into);
    lower_level(r, &n, 0, into);
    ir_env_leave(l->env, mark);
    l->px->changed = true;
}

static void lower_stmt(ir_rewriter *r, ir_stmt *s, ir_block *out)
{
    if (s->kind == IR_TASKS) {
        lower_tasks(r, s, out);
        return;
    }
    ir_rewrite_nested(r, s);
    ir_emit(r, out, s);
}

static void find_label(void *user, ir_stmt *s)
{
    int *next = user;
    if (s->kind == IR_SCOPE_OF && s->count >= *next)
        *next = s->count + 1;
}

static bool is_tasks(const ir_stmt *s)
{
    return s->kind == IR_TASKS;
}

bool ir_pass_lower_tasks(ir_pass_context *px)
{
    lowering l = {.px = px, .module = px->module, .next_label = 1};
    for (size_t i = 0; i < px->module->funcs.len; i++)
        ir_walk(&px->module->funcs.at[i]->body, find_label, &l.next_label);
    for (size_t i = 0; i < px->module->funcs.len; i++) {
        ir_func *f = px->module->funcs.at[i];
        if (!ir_find(&f->body, is_tasks))
            continue;
        arena_mark mark = arena_mark_get(px->scratch); // what one function needs is gone with it
        l.func = f;
        l.env = ir_env_new(px->module, f, px->scratch);
        ir_rewriter r = {l.env, lower_stmt, &l};
        ir_rewrite_block(&r, &f->body);
        arena_reset(px->scratch, mark);
    }
    return !l.failed;
}
