// Does      drops what has no effect: statements after a jump, branches that are never taken, empty ones, scopes that
//           nothing leaves, unused variables and tensors with the writes to them, then functions, instructions and globals that
//           nothing public needs.
// Needs     nothing. A private function that no kept function calls goes, and a kernel made for a launch that none makes:
//           tests mark theirs 'public'.
// Gives     a smaller module, the same behaviour. ASSUME stays (unless it is trivial); WHILE stays: it may be a spin
//           wait.
// Why here  last: lowering and simplifying leave unused variables behind.
//
// Time is linear: branches first; then one count of reads; then one backward walk, which reaches a declaration after
// all its possible reads, so that its own operands count only if it stays.
#include "ir/pass.h"

typedef struct use_info {
    bool is_read;       // by anything but a write to it; of variables that are assigned more than once, and of tensors
    bool is_used;       // by what the walk backwards has kept so far
    bool is_allocated;  // a tensor with memory of its own: writes to it are seen by its readers only
} use_info;

typedef struct cleaner {
    ir_pass_context *px;
    ir_module *module;
    use_info *vars;    // by variable id
    bool *called;      // functions, by id
    map intrins;       // those in use
    bool changed;
} cleaner;

// ---- branches ----------------------------------------------------------------------------------------------------

typedef struct open_scope {
    struct open_scope *outer;
    int label, leaves;
} open_scope;

static bool clean_block(cleaner *c, ir_block *b, open_scope *open);

static void note_leave(open_scope *open, int label, int change)
{
    for (; open; open = open->outer) {
        if (open->label == label) {
            open->leaves += change;
            return;
        }
    }
}

static bool clean_scope(cleaner *c, ir_stmt *s, open_scope *open, ir_block *splice, bool *goes)
{
    open_scope mine = {open, s->count, 0};
    bool falls = clean_block(c, &s->body, &mine);
    ir_block *b = &s->body;
    if (b->stmts.len && VEC_LAST(&b->stmts)->kind == IR_LEAVE && VEC_LAST(&b->stmts)->count == s->count) {
        b->stmts.len--;
        mine.leaves--;
        falls = c->changed = true;
    }
    *goes = mine.leaves == 0;
    if (*goes)
        *splice = *b;
    return falls || mine.leaves > 0;
}

static bool clean_if(cleaner *c, ir_stmt *s, open_scope *open, ir_block *splice, bool *goes)
{
    int64_t condition;
    *goes = ir_const_int(s->value, &condition);
    if (*goes) {
        *splice = condition ? s->body : s->or_else;
        return clean_block(c, splice, open);
    }
    bool falls = clean_block(c, &s->body, open);
    return clean_block(c, &s->or_else, open) || falls;
}

// Cleans one statement. If it [*goes], [splice] replaces it. Returns whether control can come out at its
// end.
static bool clean_stmt(cleaner *c, ir_stmt *s, open_scope *open, ir_block *splice, bool *goes)
{
    int64_t value;
    switch (s->kind) {
    case IR_IF: return clean_if(c, s, open, splice, goes);
    case IR_SCOPE_OF: return clean_scope(c, s, open, splice, goes);
    case IR_WHILE:
        *goes = ir_const_int(s->value, &value) && !value;
        if (!*goes)
            clean_block(c, &s->body, open);
        return true;
    case IR_FOR:
    case IR_TASKS: clean_block(c, &s->body, open); return true;
    case IR_ASSUME:
    case IR_ASSERT: *goes = ir_const_int(s->value, &value) && value; return true;
    case IR_LEAVE: note_leave(open, s->count, 1); return false;
    case IR_BREAK:
    case IR_CONTINUE:
    case IR_RETURN: return false;
    default: return true;
    }
}

static bool clean_block(cleaner *c, ir_block *b, open_scope *open)
{
    ir_block result = {0};
    bool falls = true, edited = false;
    size_t i = 0;
    for (; i < b->stmts.len && falls; i++) {
        ir_stmt *s = b->stmts.at[i];
        ir_block splice = {0};
        bool goes = false;
        falls = clean_stmt(c, s, open, &splice, &goes);
        if (goes && !edited) {
            VEC_RESERVE(c->module->arena, &result.stmts, b->stmts.len);
            for (size_t k = 0; k < i; k++)
                ir_append(c->module, &result, b->stmts.at[k]);
        }
        edited |= goes;
        for (size_t k = 0; goes && k < splice.stmts.len; k++)
            ir_append(c->module, &result, splice.stmts.at[k]);
        if (edited && !goes)
            ir_append(c->module, &result, s);
    }
    c->changed |= edited || i < b->stmts.len;
    if (edited)
        *b = result;
    else
        b->stmts.len = i;
    return falls;
}

// ---- who is read -------------------------------------------------------------------------------------------------

static ir_var *named_var(const ir_expr *e)
{
    bool names = e->op == IR_OP_VAR || e->op == IR_OP_LOAD || e->op == IR_OP_ADDR || e->op == IR_OP_TILE;
    return names ? e->u.var : NULL;
}

// The operand that a statement writes through without reading it, or NULL.
static const ir_expr *destination(const ir_stmt *s)
{
    return (s->kind == IR_COPY || s->kind == IR_INTRIN_TO) && s->arg_count ? s->args[0] : NULL;
}

static void mark_read(void *user, ir_expr *e)
{
    cleaner *c = user;
    ir_var *v = named_var(e);
    if (v)
        c->vars[v->id].is_read = true;
}

static void count_reads(void *user, ir_stmt *s)
{
    cleaner *c = user;
    if (s->kind == IR_ALLOC)
        c->vars[s->var->id].is_allocated = true;
    const ir_expr *to = destination(s);
    if (!to) {
        ir_walk_stmt_exprs(c->module, s, mark_read, c);
        return;
    }
    ir_walk_expr(c->module, s->value, mark_read, c);
    for (int i = 1; i < s->arg_count; i++)
        ir_walk_expr(c->module, s->args[i], mark_read, c);
    for (int i = 0; i < to->arg_count; i++)
        ir_walk_expr(c->module, to->args[i], mark_read, c);
}

// ---- the walk backwards ------------------------------------------------------------------------------------------

static void mark_used(void *user, ir_expr *e)
{
    cleaner *c = user;
    ir_var *v = named_var(e);
    if (v)
        c->vars[v->id].is_used = true;
    if (e->op == IR_OP_CALL)
        c->called[e->u.func->id] = true;
    if (e->op == IR_OP_INTRIN)
        map_put_ptr(&c->intrins, e->u.intrin, c);
}

static void keep(cleaner *c, ir_stmt *s)
{
    ir_walk_stmt_exprs(c->module, s, mark_used, c);
    if (s->var)
        c->vars[s->var->id].is_used = true;
    if (s->func)
        c->called[s->func->id] = true;
}

static bool args_have_effects(const ir_stmt *s)
{
    for (int i = 0; i < s->arg_count; i++)
        if (s->args[i] && ir_has_effects(s->args[i]))
            return true;
    return false;
}

// A dead write: into memory of a tensor that is never read.
static bool writes_unread(const cleaner *c, const ir_stmt *s)
{
    const ir_expr *to = destination(s);
    const ir_var *v = to ? to->u.var : s->var;
    return v && c->vars[v->id].is_allocated && !c->vars[v->id].is_read && !(s->flags & IR_VOLATILE);
}

static bool is_unused(const cleaner *c, const ir_var *v)
{
    const use_info *info = &c->vars[v->id];
    return !info->is_used && !(v->is_mutable && info->is_read);
}

typedef enum verdict { KEEP, DROP, KEEP_VALUE } verdict;

static verdict drop_with_value(const ir_stmt *s, bool unseen)
{
    if (!unseen)
        return KEEP;
    return s->value && ir_has_effects(s->value) ? KEEP_VALUE : DROP;
}

static verdict judge(const cleaner *c, const ir_stmt *s)
{
    bool empty = !s->body.stmts.len && !s->or_else.stmts.len;
    switch (s->kind) {
    case IR_DECL: return drop_with_value(s, is_unused(c, s->var));
    case IR_ASSIGN: return drop_with_value(s, !c->vars[s->var->id].is_read && !s->var->tensor);
    case IR_ALLOC: return drop_with_value(s, !c->vars[s->var->id].is_used);
    case IR_STORE: return args_have_effects(s) ? KEEP : drop_with_value(s, writes_unread(c, s));
    case IR_COPY:
    case IR_INTRIN_TO:
        return writes_unread(c, s) && !args_have_effects(s) && !(s->value && ir_has_effects(s->value)) ? DROP : KEEP;
    case IR_EVAL: return ir_has_effects(s->value) ? KEEP : DROP;
    case IR_IF: return drop_with_value(s, empty);
    case IR_FOR:
    case IR_TASKS: return empty && !args_have_effects(s) ? DROP : KEEP;
    case IR_SCOPE_OF: return empty ? DROP : KEEP;
    default: return KEEP;
    }
}

static ir_stmt *eval_of(cleaner *c, const ir_stmt *s)
{
    ir_stmt *e = ir_new_stmt(c->module, IR_EVAL, s->span, s->origin);
    e->value = s->value;
    return e;
}

// if c: else: x  becomes  if not c: x
static void turn_if(cleaner *c, ir_stmt *s)
{
    if (s->kind != IR_IF || s->body.stmts.len || !s->or_else.stmts.len)
        return;
    s->value = ir_unary(c->module, IR_OP_NOT, s->value, s->value->span);
    s->body = s->or_else;
    s->or_else = (ir_block){0};
    c->changed = true;
}

static void sweep_block(cleaner *c, ir_block *b)
{
    size_t kept = b->stmts.len;
    for (size_t i = b->stmts.len; i-- > 0;) {
        ir_stmt *s = b->stmts.at[i];
        sweep_block(c, &s->or_else);
        sweep_block(c, &s->body);
        turn_if(c, s);
        verdict v = judge(c, s);
        c->changed |= v != KEEP;
        if (v == DROP)
            continue;
        if (v == KEEP_VALUE)
            s = eval_of(c, s);
        keep(c, s);
        b->stmts.at[--kept] = s;
    }
    // What stays was pushed to the end of the vector.
    for (size_t i = kept; i < b->stmts.len; i++)
        b->stmts.at[i - kept] = b->stmts.at[i];
    b->stmts.len -= kept;
}

// ---- functions and the module ------------------------------------------------------------------------------------

static void mark_tensor(cleaner *c, const ir_var *v)
{
    const ir_tensor *t = v->tensor;
    for (int i = 0; t && i < t->rank; i++) {
        ir_walk_expr(c->module, t->shape[i], mark_used, c);
        if (t->strides)
            ir_walk_expr(c->module, t->strides[i], mark_used, c);
    }
}

static void clean_func(cleaner *c, ir_func *f)
{
    clean_block(c, &f->body, NULL);
    ir_block *b = &f->body;
    if (b->stmts.len && VEC_LAST(&b->stmts)->kind == IR_RETURN && !VEC_LAST(&b->stmts)->value) {
        b->stmts.len--;
        c->changed = true;
    }
    ir_walk(b, count_reads, c);
    sweep_block(c, b);
    for (size_t i = 0; i < f->params.len; i++)
        mark_tensor(c, f->params.at[i]);
    for (int i = 0; i < 3; i++) {
        ir_walk_expr(c->module, f->grid[i], mark_used, c);
        ir_walk_expr(c->module, f->block[i], mark_used, c);
        ir_walk_expr(c->module, f->cluster[i], mark_used, c);
    }
    ir_walk_expr(c->module, f->dynamic_smem_bytes, mark_used, c);
}

static void drop_funcs(cleaner *c)
{
    ir_module *m = c->module;
    size_t count = m->funcs.len, kept = 0;
    for (size_t i = count; i-- > 0;) {
        ir_func *f = m->funcs.at[i];
        if ((f->is_public && !f->is_launched) || c->called[f->id])
            clean_func(c, f);
        else
            m->funcs.at[i] = NULL;
    }
    for (size_t i = 0; i < count; i++)
        if (m->funcs.at[i])
            m->funcs.at[kept++] = m->funcs.at[i];
    for (size_t i = 0; i < kept; i++)
        m->funcs.at[i]->id = (uint32_t)i;
    c->changed |= kept < count;
    m->funcs.len = kept;
}

static void drop_globals(cleaner *c)
{
    ir_module *m = c->module;
    size_t kept = 0;
    for (size_t i = 0; i < m->globals.len; i++) {
        if (!c->vars[m->globals.at[i]->id].is_used)
            continue;
        m->globals.at[kept] = m->globals.at[i];
        m->global_values.at[kept++] = m->global_values.at[i];
    }
    c->changed |= kept < m->globals.len;
    m->globals.len = m->global_values.len = kept;
}

static void drop_intrins(cleaner *c)
{
    ir_module *m = c->module;
    size_t kept = 0;
    for (size_t i = 0; i < m->intrins.len; i++)
        if (map_get_ptr(&c->intrins, m->intrins.at[i]))
            m->intrins.at[kept++] = m->intrins.at[i];
    c->changed |= kept < m->intrins.len;
    m->intrins.len = kept;
}

bool ir_pass_dce(ir_pass_context *px)
{
    ir_module *m = px->module;
    cleaner c = {.px = px, .module = m};
    c.vars = ARENA_ARRAY(px->scratch, use_info, m->next_var);
    c.called = ARENA_ARRAY(px->scratch, bool, m->funcs.len);
    map_init(&c.intrins, px->scratch);
    drop_funcs(&c);
    drop_globals(&c);
    drop_intrins(&c);
    px->changed = c.changed;
    return true;
}
