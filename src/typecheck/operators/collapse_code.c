// The code of a definition with known indices, reduced to what depends on elements: variables that hold constants are
// replaced by them, and expressions of constants computed. Two ways to the same element then have the same text.
#include "typecheck/operators/operators_priv.h"

#include "ir/fold.h"

typedef struct constants {
    ir_module *module;
    arena *arena; // of what is noted
    map known; // ir_var* -> ir_expr*: what the variable holds here
    map local; // ir_var*: declared in the current block, so that no statement after it reads the variable
} constants;

static bool is_constant(const ir_expr *e)
{
    int64_t i;
    double f;
    return ir_const_int(e, &i) || ir_const_float(e, &f);
}

static ir_expr *put_in(void *user, ir_expr *e)
{
    constants *c = user;
    ir_expr *known = e->op == IR_OP_VAR ? map_get_ptr(&c->known, e->u.var) : NULL;
    return known ? known : ir_fold(c->module, e);
}

static void compute_expressions(constants *c, ir_stmt *s)
{
    ir_rewrite_stmt_exprs(c->module, s, put_in, c);
}

// Notes what the variable holds from here on. True: the statement is of no more use.
static bool is_noted(constants *c, const ir_stmt *s)
{
    bool is_known = s->value && is_constant(s->value);
    if (s->kind == IR_DECL)
        map_put_ptr(&c->local, s->var, s->var);
    map_put_ptr(&c->known, s->var, is_known ? s->value : NULL);
    return is_known && map_get_ptr(&c->local, s->var);
}

typedef struct assigned {
    constants *constants;
    ir_block *before; // NULL, or where what the variables hold is said
} assigned;

// Around statements with blocks of their own, which may run or not.
static void forget(void *user, ir_stmt *s)
{
    const assigned *a = user;
    ir_expr *value = s->kind == IR_ASSIGN ? map_get_ptr(&a->constants->known, s->var) : NULL;
    if (!value)
        return;
    if (a->before) {
        ir_stmt *told = ir_new_stmt(a->constants->module, IR_ASSIGN, s->span, s->origin);
        told->var = s->var;
        told->value = value;
        ir_append(a->constants->module, a->before, told);
    }
    map_put_ptr(&a->constants->known, s->var, NULL);
}

static void simplify(constants *c, ir_block *block);

static void simplify_inside(constants *c, ir_stmt *s, ir_block *before)
{
    constants inside = {.module = c->module, .arena = c->arena, .known = c->known};
    assigned in_body = {c, before};
    ir_walk(&s->body, forget, &in_body);
    ir_walk(&s->or_else, forget, &in_body);
    compute_expressions(c, s);
    ir_block *blocks[] = {&s->body, &s->or_else};
    for (int i = 0; i < 2; i++) {
        map_init(&inside.local, c->arena);
        inside.known = c->known;
        simplify(&inside, blocks[i]);
        c->known = inside.known;
        ir_walk(blocks[i], forget, &(assigned){c, NULL});
    }
}

static void simplify(constants *c, ir_block *block)
{
    ir_block kept = {0};
    for (size_t i = 0; i < block->stmts.len; i++) {
        ir_stmt *s = block->stmts.at[i];
        if (s->body.stmts.len || s->or_else.stmts.len) {
            simplify_inside(c, s, &kept);
        } else {
            compute_expressions(c, s);
            if ((s->kind == IR_DECL || s->kind == IR_ASSIGN) && is_noted(c, s))
                continue;
        }
        ir_append(c->module, &kept, s);
    }
    *block = kept;
}

void tc_compute_constants(ir_module *m, ir_block *block, arena *scratch)
{
    constants c = {.module = m, .arena = scratch};
    map_init(&c.known, scratch);
    map_init(&c.local, scratch);
    simplify(&c, block);
}
