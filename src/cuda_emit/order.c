// Which functions let a thread see what others wrote meanwhile.
#include "cuda_emit/emit_priv.h"

typedef struct search {
    cu *cx;
    bool found;
} search;

enum { ORDERS_UNKNOWN, ORDERS_NOTHING, ORDERS_MEMORY };

static void see_expr(void *user, ir_expr *e)
{
    search *s = user;
    const int harmless = IR_EFFECT_READS_GLOBAL | IR_EFFECT_READS_SHARED | IR_EFFECT_CONVERGENT;
    s->found |= e->op == IR_OP_INTRIN && (e->u.intrin->effects & ~harmless);
    s->found |= e->op == IR_OP_CALL && cu_orders_memory(s->cx, e->u.func);
}

static void see_stmt(void *user, ir_stmt *stmt)
{
    search *s = user;
    if (!s->found)
        ir_walk_stmt_exprs(s->cx->m, stmt, see_expr, s);
}

bool cu_orders_memory(cu *cx, const ir_func *f)
{
    intptr_t known = (intptr_t)map_get_ptr(&cx->orders, f);
    if (known != ORDERS_UNKNOWN)
        return known == ORDERS_MEMORY;
    map_put_ptr(&cx->orders, f, (void *)(intptr_t)ORDERS_NOTHING); // what a recursive call adds
    search s = {cx, false};
    ir_walk((ir_block *)&f->body, see_stmt, &s);
    map_put_ptr(&cx->orders, f, (void *)(intptr_t)(s.found ? ORDERS_MEMORY : ORDERS_NOTHING));
    return s.found;
}
