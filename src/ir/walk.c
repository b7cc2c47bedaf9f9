// Walking and rewriting of expressions and statements, deep copies.
//
// Expressions are DAGs: a node that is used twice would be visited twice, its operands four times, and so on. The
// commonest expression is a tree of a few nodes, for which a table of visited nodes costs more than it saves. So a walk
// begins without one and takes one after SMALL_WALK nodes. Tables are the module's and used again by later walks.
#include "ir/ir.h"

#include <string.h>

enum { SMALL_WALK = 48, FIRST_SLOTS = 256 };

// ---- the table of visited nodes ----------------------------------------------------------------------------------

typedef struct memo_slot {
    const ir_expr *key;
    ir_expr *value;
    uint32_t stamp;  // the slot is in use if this is the table's stamp
} memo_slot;

typedef struct ir_memo {
    struct ir_memo *next;
    memo_slot *slots;
    size_t slot_count;  // a power of two
    size_t used;
    uint32_t stamp;
} ir_memo;

static ir_memo *memo_take(ir_module *m)
{
    ir_memo *memo = m->memos;
    if (memo) {
        m->memos = memo->next;
    } else {
        memo = ARENA_NEW(m->lasting, ir_memo);
        memo->slot_count = FIRST_SLOTS;
        memo->slots = ARENA_ARRAY(m->lasting, memo_slot, FIRST_SLOTS);
    }
    memo->used = 0;
    if (++memo->stamp == 0) {
        memset(memo->slots, 0, memo->slot_count * sizeof *memo->slots);
        memo->stamp = 1;
    }
    return memo;
}

static void memo_give(ir_module *m, ir_memo *memo)
{
    if (!memo)
        return;
    memo->next = m->memos;
    m->memos = memo;
}

static memo_slot *memo_slot_of(const ir_memo *memo, const ir_expr *key)
{
    size_t mask = memo->slot_count - 1;
    size_t i = (size_t)(((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u >> 20) & mask;
    while (memo->slots[i].stamp == memo->stamp && memo->slots[i].key != key)
        i = (i + 1) & mask;
    return &memo->slots[i];
}

static void memo_grow(ir_module *m, ir_memo *memo)
{
    ir_memo old = *memo;
    memo->slot_count *= 2;
    memo->slots = ARENA_ARRAY(m->lasting, memo_slot, memo->slot_count);
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].stamp == old.stamp)
            *memo_slot_of(memo, old.slots[i].key) = old.slots[i];
}

static void memo_put(ir_module *m, ir_memo *memo, const ir_expr *key, ir_expr *value)
{
    if (memo->used * 2 >= memo->slot_count)
        memo_grow(m, memo);
    memo_slot *slot = memo_slot_of(memo, key);
    if (slot->stamp != memo->stamp)
        memo->used++;
    *slot = (memo_slot){key, value, memo->stamp};
}

// ---- expressions -------------------------------------------------------------------------------------------------

typedef struct walker {
    ir_module *module;
    ir_expr_visit *visit;
    ir_expr_each *each;
    void *user;
    ir_memo *memo;
    int nodes_left;  // until a memo is taken
} walker;

// Whether [e] was visited before; counts the visit.
static memo_slot *visited(walker *w, const ir_expr *e)
{
    if (!w->memo) {
        if (--w->nodes_left > 0)
            return NULL;
        w->memo = memo_take(w->module);
    }
    memo_slot *slot = memo_slot_of(w->memo, e);
    return slot->stamp == w->memo->stamp ? slot : NULL;
}

static ir_expr *rewrite(walker *w, ir_expr *e)
{
    if (!e->arg_count)
        return w->visit(w->user, e);
    memo_slot *seen = visited(w, e);
    if (seen)
        return seen->value;
    ir_expr *now = e;
    for (int i = 0; i < e->arg_count; i++) {
        ir_expr *arg = rewrite(w, e->args[i]);
        if (arg == e->args[i])
            continue;
        if (now == e)
            now = ir_with_args(w->module, e, e->args);
        now->args[i] = arg;
    }
    now = w->visit(w->user, now);
    if (w->memo)
        memo_put(w->module, w->memo, e, now);
    return now;
}

ir_expr *ir_rewrite_expr(ir_module *m, ir_expr *e, ir_expr_visit *visit, void *user)
{
    if (!e)
        return NULL;
    walker w = {.module = m, .visit = visit, .user = user, .nodes_left = SMALL_WALK};
    ir_expr *result = rewrite(&w, e);
    memo_give(m, w.memo);
    return result;
}

static void walk_expr(walker *w, ir_expr *e)
{
    if (e->arg_count) {
        if (visited(w, e))
            return;
        for (int i = 0; i < e->arg_count; i++)
            if (e->args[i])  // the verifier walks broken trees
                walk_expr(w, e->args[i]);
        if (w->memo)
            memo_put(w->module, w->memo, e, e);
    }
    w->each(w->user, e);
}

void ir_walk_expr(ir_module *m, ir_expr *e, ir_expr_each *each, void *user)
{
    if (!e)
        return;
    walker w = {.module = m, .each = each, .user = user, .nodes_left = SMALL_WALK};
    walk_expr(&w, e);
    memo_give(m, w.memo);
}

// ---- expressions of statements -----------------------------------------------------------------------------------

// The tensor whose extents belong to the statement: that of a variable that begins to live here.
static ir_tensor *declared_tensor(const ir_stmt *s)
{
    return (s->kind == IR_ALLOC || s->kind == IR_DECL) && s->var ? s->var->tensor : NULL;
}

void ir_rewrite_stmt_exprs(ir_module *m, ir_stmt *s, ir_expr_visit *visit, void *user)
{
    s->value = ir_rewrite_expr(m, s->value, visit, user);
    for (int i = 0; i < s->arg_count; i++)
        s->args[i] = ir_rewrite_expr(m, s->args[i], visit, user);
    ir_tensor *t = declared_tensor(s);
    if (!t)
        return;
    for (int i = 0; i < t->rank; i++) {
        t->shape[i] = ir_rewrite_expr(m, t->shape[i], visit, user);
        if (t->strides)
            t->strides[i] = ir_rewrite_expr(m, t->strides[i], visit, user);
    }
    t->worker = ir_rewrite_expr(m, t->worker, visit, user);
}

void ir_walk_stmt_exprs(ir_module *m, ir_stmt *s, ir_expr_each *each, void *user)
{
    ir_walk_expr(m, s->value, each, user);
    for (int i = 0; i < s->arg_count; i++)
        ir_walk_expr(m, s->args[i], each, user);
    ir_tensor *t = declared_tensor(s);
    if (!t)
        return;
    for (int i = 0; i < t->rank; i++) {
        ir_walk_expr(m, t->shape[i], each, user);
        if (t->strides)
            ir_walk_expr(m, t->strides[i], each, user);
    }
    ir_walk_expr(m, t->worker, each, user);
}

void ir_walk(ir_block *b, ir_stmt_each *each, void *user)
{
    for (size_t i = 0; i < b->stmts.len; i++) {
        ir_stmt *s = b->stmts.at[i];
        each(user, s);
        ir_walk(&s->body, each, user);
        ir_walk(&s->or_else, each, user);
    }
}

ir_stmt *ir_find(const ir_block *b, ir_stmt_test *test)
{
    for (size_t i = 0; i < b->stmts.len; i++) {
        ir_stmt *s = b->stmts.at[i], *found = test(s) ? s : NULL;
        if (!found && s->body.stmts.len)
            found = ir_find(&s->body, test);
        if (!found && s->or_else.stmts.len)
            found = ir_find(&s->or_else, test);
        if (found)
            return found;
    }
    return NULL;
}

typedef struct block_rewrite {
    ir_module *module;
    ir_expr_visit *visit;
    void *user;
} block_rewrite;

static void rewrite_each(void *user, ir_stmt *s)
{
    block_rewrite *r = user;
    ir_rewrite_stmt_exprs(r->module, s, r->visit, r->user);
}

void ir_rewrite_block_exprs(ir_module *m, ir_block *b, ir_expr_visit *visit, void *user)
{
    block_rewrite r = {m, visit, user};
    ir_walk(b, rewrite_each, &r);
}

// ---- copies ------------------------------------------------------------------------------------------------------

typedef struct substituting {
    ir_module *module;
    const map *substitution;
} substituting;

static ir_expr *substitute_node(void *user, ir_expr *e)
{
    substituting *s = user;
    bool names_tensor = e->op == IR_OP_LOAD || e->op == IR_OP_ADDR || e->op == IR_OP_TILE;
    if (e->op != IR_OP_VAR && !names_tensor)
        return e;
    ir_expr *to = map_get_ptr(s->substitution, e->u.var);
    if (!to || e->op == IR_OP_VAR)
        return to ? to : e;
    if (to->op != IR_OP_VAR || to->u.var == e->u.var)
        return e;
    ir_expr *copy = ir_with_args(s->module, e, e->args);
    copy->u.var = to->u.var;
    return copy;
}

ir_expr *ir_substitute(ir_module *m, ir_expr *e, const map *substitution)
{
    substituting s = {m, substitution};
    return ir_rewrite_expr(m, e, substitute_node, &s);
}

static ir_expr **clone_exprs(ir_module *m, ir_expr **from, int count, map *substitution)
{
    if (!from)
        return NULL;
    ir_expr **to = ARENA_ARRAY(m->arena, ir_expr *, count);
    for (int i = 0; i < count; i++)
        to[i] = ir_substitute(m, from[i], substitution);
    return to;
}

static ir_tensor *clone_tensor(ir_module *m, const ir_tensor *from, map *substitution)
{
    ir_tensor *to = arena_dup(m->arena, from, sizeof *from);
    to->shape = clone_exprs(m, from->shape, from->rank, substitution);
    to->strides = clone_exprs(m, from->strides, from->rank, substitution);
    to->worker = ir_substitute(m, from->worker, substitution);
    return to;
}

ir_var *ir_renew_var(ir_module *m, ir_var *from, map *substitution)
{
    ir_var *to = arena_dup(m->arena, from, sizeof *from);
    to->id = m->next_var++;
    to->definition = NULL;
    if (from->tensor)
        to->tensor = clone_tensor(m, from->tensor, substitution);
    map_put_ptr(substitution, from, ir_read(m, to, from->span));
    return to;
}

static bool declares(ir_stmt_kind kind)
{
    return kind == IR_DECL || kind == IR_ALLOC || kind == IR_FOR;
}

// The variable that a statement assigns to or stores into, after substitution.
static ir_var *target_var(ir_var *from, const map *substitution)
{
    ir_expr *to = from ? map_get_ptr(substitution, from) : NULL;
    return to && to->op == IR_OP_VAR ? to->u.var : from;
}

ir_stmt *ir_clone_stmt(ir_module *m, const ir_stmt *s, map *substitution)
{
    ir_stmt *copy = arena_dup(m->arena, s, sizeof *s);
    copy->value = ir_substitute(m, s->value, substitution);
    copy->args = clone_exprs(m, s->args, s->arg_count, substitution);
    copy->var = declares(s->kind) && s->var ? ir_renew_var(m, s->var, substitution) : target_var(s->var, substitution);
    if (s->vars && s->map) {
        copy->vars = ARENA_ARRAY(m->arena, ir_var *, s->map->rank);
        for (int i = 0; i < s->map->rank; i++)
            copy->vars[i] = ir_renew_var(m, s->vars[i], substitution);
    }
    ir_clone_block(m, &s->body, &copy->body, substitution);
    ir_clone_block(m, &s->or_else, &copy->or_else, substitution);
    return copy;
}

void ir_clone_block(ir_module *m, const ir_block *from, ir_block *to, map *substitution)
{
    *to = (ir_block){0};
    VEC_RESERVE(m->arena, &to->stmts, from->stmts.len);
    for (size_t i = 0; i < from->stmts.len; i++)
        ir_append(m, to, ir_clone_stmt(m, from->stmts.at[i], substitution));
}
