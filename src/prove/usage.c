// Which of its tensors a function reads and writes. A tensor whose address escapes the analysis counts as both.

#include "prove/prove_priv.h"

enum { DEEPEST_CALL = 16 };

typedef struct finder {
    ir_module *module;
    const ir_func *func;
    bool *reads, *writes;   // by parameter
    int depth;
} finder;

static int number_of(const ir_func *f, const ir_var *v)
{
    for (size_t i = 0; v && i < f->params.len; i++) {
        if (f->params.at[i] == v)
            return (int)i;
    }
    return -1;
}

static void note(finder *x, const ir_var *v, bool reads, bool writes)
{
    int i = number_of(x->func, v);
    if (i < 0)
        return;
    x->reads[i] |= reads;
    x->writes[i] |= writes;
}

// The tensors whose address [e] is made from, maybe with an offset, as another type of pointer, or by a select.
static void note_address(finder *x, const ir_expr *e, bool reads, bool writes)
{
    if (!e || (e->type->kind != IR_POINTER && e->type->kind != IR_TENSOR))
        return;
    if (e->op == IR_OP_ADDR || e->op == IR_OP_VAR)
        note(x, e->u.var, reads, writes);
    for (int i = 0; i < e->arg_count; i++)
        note_address(x, e->args[i], reads, writes);
}

static void find_in(ir_module *m, const ir_func *f, int depth, bool *reads, bool *writes);

static void find_in_callee(finder *x, const ir_func *callee, ir_expr *const *args, int count)
{
    bool *reads = ARENA_ARRAY(x->module->arena, bool, callee->params.len);
    bool *writes = ARENA_ARRAY(x->module->arena, bool, callee->params.len);
    find_in(x->module, callee, x->depth + 1, reads, writes);
    for (int i = 0; i < count && i < (int)callee->params.len; i++)
        note_address(x, args[i], reads[i], writes[i]);
}

// Addresses passed to an instruction: its effects say how they are used.
static void find_in_instruction(finder *x, const ir_expr *e)
{
    int effects = e->u.intrin->effects;
    for (int i = 0; i < e->arg_count; i++) {
        const ir_expr *a = e->args[i];
        if (a->op == IR_OP_VAR && a->u.var->map)
            note(x, a->u.var->map->tensor, effects & IR_EFFECT_READS_GLOBAL, effects & IR_EFFECT_WRITES_GLOBAL);
        else
            note_address(x, a, true, effects & (IR_EFFECT_WRITES_GLOBAL | IR_EFFECT_VOLATILE));
    }
}

static void each_expr(void *user, ir_expr *e)
{
    finder *x = user;
    switch (e->op) {
    case IR_OP_LOAD: note(x, e->u.var, true, false); break;
    case IR_OP_PLOAD: note_address(x, e->args[0], true, false); break;
    case IR_OP_INTRIN: find_in_instruction(x, e); break;
    case IR_OP_CALL: find_in_callee(x, e->u.func, e->args, e->arg_count); break;
    default: break;
    }
}

static void each_stmt(void *user, ir_stmt *s)
{
    finder *x = user;
    ir_walk_stmt_exprs(x->module, s, each_expr, x);
    switch (s->kind) {
    case IR_STORE: note(x, s->var, false, true); break;
    case IR_COPY:
        note(x, s->args[0]->op == IR_OP_ADDR ? s->args[0]->u.var : NULL, false, true);
        note(x, s->args[1]->op == IR_OP_ADDR ? s->args[1]->u.var : NULL, true, false);
        break;
    case IR_LAUNCH: find_in_callee(x, s->func, s->args, s->arg_count); break;
    case IR_PSTORE: note_address(x, s->args[0], false, true); break;
    case IR_DECL:
    case IR_ASSIGN: note_address(x, s->value, true, true); break;  // kept: in a variable, a vector, a select
    default: break;
    }
}

static void find_in(ir_module *m, const ir_func *f, int depth, bool *reads, bool *writes)
{
    finder x = {m, f, reads, writes, depth};
    if (depth > DEEPEST_CALL) {
        for (size_t i = 0; i < f->params.len; i++)
            reads[i] = writes[i] = true;
        return;
    }
    ir_walk((ir_block *)&f->body, each_stmt, &x);
}

void prove_usage(prove_side *side)
{
    const ir_func *f = side->func;
    size_t count = f->params.len;
    bool *reads = ARENA_ARRAY(&side->unit.memory, bool, count), *writes = ARENA_ARRAY(&side->unit.memory, bool, count);
    find_in(side->unit.module, f, 0, reads, writes);
    side->params = ARENA_ARRAY(&side->unit.memory, prove_param, count);
    for (size_t i = 0; i < count; i++) {
        const ir_var *v = f->params.at[i];
        side->params[i] = (prove_param){
            .var = v, .reads = reads[i], .writes = writes[i] && !v->type->is_const, .tensor = -1, .scalar = -1};
    }
}
