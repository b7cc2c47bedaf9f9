// Does      gives every access to a tensor one index, the element offset: layouts and strides become arithmetic.
// Needs     no tensors with mappings, no guards.
// Gives     LOAD, STORE, ADDR and TILE are IR_FLAT: LOW level. Offsets are i32 where the tensor's size shows that this
//           is enough, and i64 else.
// Why here  after all passes that ask which element an access means (form-wide, lower-guards); before the last
//           simplify, which cleans up what offsets have in common with loops and other offsets.
// See       Note [widths of offsets]
#include "ir/element.h"
#include "ir/passes/passes.h"

typedef struct flattening {
    ir_pass_context *px;
    ir_env *env;
} flattening;

static bool has_index(const ir_expr *e)
{
    return e->op == IR_OP_LOAD || e->op == IR_OP_ADDR || e->op == IR_OP_TILE;
}

static ir_expr *flatten_expr(void *user, ir_expr *e)
{
    flattening *f = user;
    if (!has_index(e) || (e->flags & IR_FLAT) || !e->u.var->tensor || e->u.var->tensor->map)
        return e;
    // An address may be formed without being used: nothing may be concluded from it.
    bool accessed = e->op == IR_OP_LOAD;
    ir_module *m = f->px->module;
    ir_expr *flat = ir_new_expr(m, e->op, e->type, e->span, 1);
    flat->flags = e->flags | IR_FLAT;
    flat->count = e->count;
    flat->u = e->u;
    flat->args[0] = ir_element_offset(f->env, e->u.var->tensor, e->args, accessed, e->span);
    f->px->changed = true;
    return flat;
}

static void flatten_store(flattening *f, ir_stmt *s)
{
    if ((s->flags & IR_FLAT) || !s->var->tensor || s->var->tensor->map)
        return;
    ir_expr **args = ARENA_ARRAY(f->px->module->arena, ir_expr *, 1);
    args[0] = ir_element_offset(f->env, s->var->tensor, s->args, true, s->span);
    s->args = args;
    s->arg_count = 1;
    s->flags |= IR_FLAT;
    f->px->changed = true;
}

// Both ends of a copy are accessed.
static void flatten_copy(flattening *f, ir_stmt *s)
{
    ir_env_mark mark = ir_env_enter(f->env);
    for (int i = 0; i < s->arg_count; i++) {
        ir_expr *end = s->args[i];
        if (has_index(end) && !(end->flags & IR_FLAT) && end->u.var->tensor && !end->u.var->tensor->map)
            ir_assume_inside(f->env, end->u.var->tensor, end->args);
    }
    ir_env_rewrite_stmt(f->env, s, flatten_expr, f);
    ir_env_leave(f->env, mark);
}

static void flatten_stmt(ir_rewriter *r, ir_stmt *s, ir_block *out)
{
    flattening *f = r->user;
    if (s->kind == IR_COPY)
        flatten_copy(f, s);
    else
        ir_env_rewrite_stmt(f->env, s, flatten_expr, f);
    if (s->kind == IR_STORE)
        flatten_store(f, s);
    ir_rewrite_nested(r, s);
    ir_emit(r, out, s);
}

bool ir_pass_flatten(ir_pass_context *px)
{
    for (size_t i = 0; i < px->module->funcs.len; i++) {
        arena_mark mark = arena_mark_get(px->scratch); // what one function needs is gone with it
        ir_func *func = px->module->funcs.at[i];
        flattening f = {.px = px, .env = ir_env_new(px->module, func, px->scratch)};
        ir_rewriter r = {f.env, flatten_stmt, &f};
        ir_rewrite_block(&r, &func->body);
        arena_reset(px->scratch, mark);
    }
    return true;
}

// Note [widths of offsets]
//
// A static layout of at most 2^31 elements is computed in i32: offsets inside the shape fit. Dynamic strides need
// bounds on the sizes; without them the offset is i64, and its terms are widened before they are multiplied, so that
// tensors of more than 2^31 elements work. The indices themselves keep their types: signed overflow is undefined.
