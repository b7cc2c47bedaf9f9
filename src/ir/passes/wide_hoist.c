// Hoists copies into registers that load the same elements in each iteration of a loop.
//
// It moves a group directly in the body: the ALLOC of registers and the copies that fill them. The loop runs at least
// once and has no early exit, so nothing is read that was not read before. It writes only registers, has no barrier and
// no call, so that memory does not change.
#include "ir/passes/wide.h"

typedef struct hoist {
    ir_module *module;
    map changed;      // what the loop declares or assigns, and the registers that it writes beside filling them
    bool failed;      // it does what nothing may be moved before
    bool is_changing; // the expression looked at mentions something changed
} hoist;

static bool runs(const ir_stmt *s)
{
    int64_t lo, hi, step;
    return s->kind == IR_FOR && ir_const_int(s->args[0], &lo) && ir_const_int(s->args[1], &hi) &&
           ir_const_int(s->args[2], &step) && step > 0 && lo < hi;
}

static bool is_private(const ir_var *v)
{
    return v->tensor && (v->tensor->space == IR_REGISTER || v->tensor->space == IR_LOCAL);
}

// ---- groups --------------------------------------------------------------------------------------------------------

static bool fills(const ir_stmt *s, const ir_var *registers);

static bool all_fill(const ir_block *b, const ir_var *registers)
{
    for (size_t i = 0; i < b->stmts.len; i++)
        if (!fills(b->stmts.at[i], registers))
            return false;
    return b->stmts.len > 0;
}

// Copies from memory, guarded or in a loop over vectors.
static bool fills(const ir_stmt *s, const ir_var *registers)
{
    if (s->kind == IR_COPY)
        return s->args[0]->op == IR_OP_TILE && s->args[0]->u.var == registers && s->args[1]->op == IR_OP_ADDR;
    return ((s->kind == IR_IF && !s->or_else.stmts.len) || runs(s)) && all_fill(&s->body, registers);
}

// How many statements from [at] on make a group; 0: there is none.
static size_t group_at(const ir_block *b, size_t at)
{
    size_t end = at + 1;
    if (b->stmts.at[at]->kind != IR_ALLOC || !is_private(b->stmts.at[at]->var))
        return 0;
    while (end < b->stmts.len && fills(b->stmts.at[end], b->stmts.at[at]->var))
        end++;
    return end > at + 1 ? end - at : 0;
}

static bool has_groups(const ir_block *b)
{
    for (size_t i = 0; i < b->stmts.len; i++)
        if (group_at(b, i))
            return true;
    return false;
}

// ---- what the loop does --------------------------------------------------------------------------------------------

static void note_block(hoist *h, const ir_block *b);

static void note_var(hoist *h, const ir_var *v)
{
    map_put_ptr(&h->changed, v, h);
}

static void note_write(hoist *h, const ir_var *v)
{
    note_var(h, v);
    h->failed |= !is_private(v);
}

static void note_expr(void *user, ir_expr *e)
{
    hoist *h = user;
    h->failed |= e->op == IR_OP_CALL || (e->op == IR_OP_INTRIN && e->u.intrin->effects != IR_EFFECT_NONE) ||
                 (e->flags & IR_VOLATILE);
    // Through a tile or an address registers may be written.
    bool exposes = e->op == IR_OP_TILE || e->op == IR_OP_ADDR || (e->op == IR_OP_VAR && e->u.var->tensor);
    if (exposes && is_private(e->u.var))
        note_var(h, e->u.var);
}

static void note_stmt(hoist *h, ir_stmt *s)
{
    switch (s->kind) {
    case IR_FOR:
    case IR_DECL:
    case IR_ALLOC:
    case IR_ASSIGN:
        note_var(h, s->var);
        break;
    case IR_STORE:
        note_write(h, s->var);
        break;
    case IR_COPY:
    case IR_INTRIN_TO:
        note_write(h, s->args[0]->u.var);
        break;
    case IR_IF:
    case IR_EVAL:
    case IR_ASSUME:
    case IR_COMMENT:
        break;
    default:
        h->failed = true;
        return;
    }
    ir_walk_stmt_exprs(h->module, s, note_expr, h);
    note_block(h, &s->body);
    note_block(h, &s->or_else);
}

static void note_block(hoist *h, const ir_block *b)
{
    for (size_t i = 0; i < b->stmts.len; i++) {
        size_t group = group_at(b, i);
        if (group)
            i += group - 1;
        else
            note_stmt(h, b->stmts.at[i]);
    }
}

// ---- moving --------------------------------------------------------------------------------------------------------

static void look_at_expr(void *user, ir_expr *e)
{
    hoist *h = user;
    bool names = e->op == IR_OP_VAR || e->op == IR_OP_ADDR || e->op == IR_OP_TILE;
    bool is_steady = names ? !map_get_ptr(&h->changed, e->u.var) && !(e->op == IR_OP_VAR && e->u.var->is_mutable)
                           : !(ir_op_properties(e->op) & (IR_READS | IR_EFFECTS));
    h->is_changing |= !is_steady;
}

static void look_at_stmt(hoist *h, ir_stmt *s)
{
    h->is_changing |= s->kind == IR_ALLOC && map_get_ptr(&h->changed, s->var);
    ir_walk_stmt_exprs(h->module, s, look_at_expr, h);
    for (size_t i = 0; i < s->body.stmts.len; i++)
        look_at_stmt(h, s->body.stmts.at[i]);
}

static bool is_steady(hoist *h, const ir_block *b, size_t at, size_t group)
{
    h->is_changing = false;
    for (size_t i = at; i < at + group; i++)
        look_at_stmt(h, b->stmts.at[i]);
    return !h->is_changing;
}

void ir_wide_hoist(ir_rewriter *r, ir_stmt *loop, ir_block *out)
{
    hoist h = {.module = r->env->module};
    ir_block *b = &loop->body, rest = {0};
    if (!runs(loop) || !has_groups(b))
        return;
    map_init(&h.changed, r->env->arena);
    note_var(&h, loop->var);
    note_block(&h, b);
    if (h.failed)
        return;
    for (size_t i = 0; i < b->stmts.len; i++) {
        size_t group = group_at(b, i);
        bool moves = group && is_steady(&h, b, i, group);
        for (size_t end = i + (group ? group : 1); i < end; i++) {
            if (moves)
                ir_emit(r, out, b->stmts.at[i]);
            else
                ir_append(h.module, &rest, b->stmts.at[i]);
        }
        i--;
    }
    *b = rest;
}
