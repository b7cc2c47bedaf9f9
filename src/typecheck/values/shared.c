// Values of pure functions that are shared by the code after them: Note [shared values].
//
// Note [shared values]. share(f, i, j) is f(i, j), or the value that an earlier share of f with the same indices computed, where that
// value still stands and still is what f would compute:
//
//   * it was computed on the way to here: in this control-flow region or one around it, with no loop in between;
//   * nothing that f may have read has changed. Code that f ran before may read variables and memory that were there when it ran.
//     So an assignment to a variable that is older than a value drops the value, and a write to memory drops all of them.
//     Variables made later cannot be what f read.
//
// Values are a stack, oldest first. Each remembers how many variables there were when it was computed, and these numbers grow, so
// that what an assignment drops is the top of the stack.
#include "typecheck/values/values.h"

static void drop_to(tc *tx, size_t count)
{
    while (tx->shared.len > count) {
        tc_shared *s = tx->shared.at[--tx->shared.len];
        map_put_ptr(&tx->shared_by_function, s->function, s->before);
    }
}

size_t tc_shared_mark(const tc *tx)
{
    return tx->shared.len;
}

void tc_shared_drop(tc *tx, size_t mark)
{
    drop_to(tx, mark);
}

static void write_variable(tc *tx, const ir_var *v)
{
    size_t count = tx->shared.len;
    while (count && tx->shared.at[count - 1]->variables > v->id)
        count--;
    drop_to(tx, count);
}

void tc_shared_after(tc *tx, const ir_stmt *s)
{
    if (!tx->shared.len)
        return;
    switch (s->kind) {
    case IR_ASSIGN:
        write_variable(tx, s->var);
        break;
    case IR_STORE: {
        ir_space space = s->var->tensor ? s->var->tensor->space : IR_GLOBAL;
        if (space == IR_REGISTER || space == IR_LOCAL)
            write_variable(tx, s->var);
        else
            drop_to(tx, 0);
        break;
    }
    case IR_DECL:
        if (s->value && ir_has_effects(s->value))
            drop_to(tx, 0);
        break;
    case IR_PSTORE:
    case IR_COPY:
    case IR_EVAL:
    case IR_INTRIN_TO:
    case IR_LAUNCH:
        drop_to(tx, 0);
        break;
    default: // statements inside of others were seen before
        break;
    }
}

// What a variable that is not assigned was made of: arguments and values of functions are copied.
static const ir_expr *original(const ir_expr *e)
{
    while (e->op == IR_OP_VAR && !e->u.var->is_mutable) {
        const ir_expr *value = e->u.var->definition;
        if (!value || !ir_is_pure(value))
            break;
        e = value;
    }
    return e;
}

enum { MOST_NODES = 256 }; // that a comparison looks at: what copies were made of may be a graph with many paths

// Whether numbers are computed in the same way from the same variables. Reads of a variable that is assigned are the same as long
// as the value stands, since an assignment drops it.
static bool same_within(const ir_expr *a, const ir_expr *b, int *budget)
{
    a = original(a);
    b = original(b);
    if (a->op == IR_OP_VAR && b->op == IR_OP_VAR && a->u.var == b->u.var)
        return true;
    if (--*budget < 0 || !ir_same_node(a, b))
        return false;
    for (int i = 0; i < a->arg_count; i++)
        if (!same_within(a->args[i], b->args[i], budget))
            return false;
    return true;
}

static bool same_number(const ir_expr *a, const ir_expr *b)
{
    int budget = MOST_NODES;
    return a == b || same_within(a, b, &budget);
}

static bool same_value(tc_value a, tc_value b)
{
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case TC_RT:
        return same_number(a.rt, b.rt);
    case TC_RECORD:
        return a.record == b.record;
    case TC_INT:
    case TC_BOOL:
        return tc_equal(a, b);
    default:
        return false;
    }
}

static bool stands(const tc *tx, const tc_shared *s, const tc_list *index)
{
    if (s->func != tx->func || s->index.len != index->len || s->region < tx->loop_region || !tc_in_region(tx, s->region))
        return false;
    for (size_t i = 0; i < index->len; i++)
        if (!same_value(s->index.at[i], index->at[i]))
            return false;
    return true;
}

const tc_value *tc_shared_find(const tc *tx, const tc_function *f, const tc_list *index)
{
    for (const tc_shared *s = map_get_ptr(&tx->shared_by_function, f); s; s = s->before)
        if (stands(tx, s, index))
            return &s->value;
    return NULL;
}

void tc_shared_add(tc *tx, const tc_function *f, const tc_list *index, tc_value value)
{
    tc_shared *s = ARENA_NEW(tx->arena, tc_shared);
    *s = (tc_shared){.function = f, .func = tx->func, .region = tx->region, .value = value, .variables = tx->ir->next_var};
    s->before = map_get_ptr(&tx->shared_by_function, f);
    for (size_t i = 0; i < index->len; i++)
        VEC_PUSH(tx->arena, &s->index, index->at[i]);
    map_put_ptr(&tx->shared_by_function, f, s);
    VEC_PUSH(tx->lasting, &tx->shared, s);
}
