// Does      makes variables that are never assigned single-assignment; copy propagation.
// Needs     nothing: any level of the IR.
// Gives     no read of a copy of a single-assignment variable or of a constant. At the low level, copies of other variables
//           are read only where the original may have been assigned since. The copies stay, for dce.
// Why here  first: the elaborator makes the fields of records assignable and copies arguments of functions that it inlines,
//           since it cannot know what is assigned later. And before dce, when no analysis needs values that do not change:
//           by then copies of variables that are assigned later can go as well.
#include "ir/pass.h"

typedef struct copy_info {
    ir_expr *original; // of a copy: a constant, or a read of another variable
    uint32_t version;  // of that variable, when the copy was made
    uint32_t assigned; // how often the walk has come past assignments of this variable: its version
    bool is_assigned;  // anywhere in the function
} copy_info;

typedef struct copier {
    ir_module *module;
    copy_info *vars; // by variable id
    bool is_extent;  // what is rewritten belongs to a tensor, which lives longer than a value that may be assigned
    bool changed;
} copier;

// ---- who is assigned -----------------------------------------------------------------------------------------------

static void note_assigned(void *user, ir_stmt *s)
{
    copier *c = user;
    if (s->kind == IR_ASSIGN)
        c->vars[s->var->id].is_assigned = true;
}

static void settle(void *user, ir_stmt *s)
{
    copier *c = user;
    if (s->kind != IR_DECL || !s->value || !s->var->is_mutable || c->vars[s->var->id].is_assigned)
        return;
    s->var->is_mutable = false;
    c->changed = true;
}

static void note_new_version(void *user, ir_stmt *s)
{
    copier *c = user;
    if (s->kind == IR_ASSIGN)
        c->vars[s->var->id].assigned++;
}

// ---- reads of copies -----------------------------------------------------------------------------------------------

static void note_copy(copier *c, const ir_stmt *decl)
{
    const ir_expr *of = decl->value;
    if (!of || decl->var->is_mutable || of->type != decl->var->type)
        return;
    copy_info *copy = &c->vars[decl->var->id];
    if (of->op == IR_OP_INT || of->op == IR_OP_FLOAT)
        copy->original = decl->value;
    // A tensor has another type than the pointers to it.
    if (of->op != IR_OP_VAR || of->u.var->type != of->type || (of->u.var->is_mutable && !c->module->is_low))
        return;
    copy->original = decl->value;
    copy->version = c->vars[of->u.var->id].assigned;
}

static ir_expr *original(void *user, ir_expr *e)
{
    copier *c = user;
    const copy_info *copy = e->op == IR_OP_VAR ? &c->vars[e->u.var->id] : NULL;
    const ir_expr *of = copy ? copy->original : NULL;
    if (!of)
        return e;
    const ir_var *v = of->op == IR_OP_VAR ? of->u.var : NULL;
    if (v && v->is_mutable && (c->is_extent || c->vars[v->id].assigned != copy->version))
        return e;
    c->changed = true;
    ir_expr *now = ir_with_args(c->module, of, NULL);
    now->span = e->span;
    return now;
}

static void copy_block(copier *c, ir_block *b)
{
    for (size_t i = 0; i < b->stmts.len; i++) {
        ir_stmt *s = b->stmts.at[i];
        // Variables assigned in a loop may have changed anywhere in its body, and in the condition of a WHILE.
        if (s->kind == IR_FOR || s->kind == IR_WHILE || s->kind == IR_TASKS)
            ir_walk(&s->body, note_new_version, c);
        c->is_extent = s->var && s->var->tensor && (s->kind == IR_ALLOC || s->kind == IR_DECL);
        ir_rewrite_stmt_exprs(c->module, s, original, c);
        if (s->kind == IR_DECL)
            note_copy(c, s);
        note_new_version(c, s);
        copy_block(c, &s->body);
        copy_block(c, &s->or_else);
    }
}

bool ir_pass_copies(ir_pass_context *px)
{
    copier c = {.module = px->module, .vars = ARENA_ARRAY(px->scratch, copy_info, px->module->next_var)};
    for (size_t i = 0; i < px->module->funcs.len; i++) {
        ir_block *body = &px->module->funcs.at[i]->body;
        ir_walk(body, note_assigned, &c);
        ir_walk(body, settle, &c);
        copy_block(&c, body);
    }
    px->changed = c.changed;
    return true;
}
