// Questions about expressions: purity, effects, equality.
//
// Nothing here allocates. A small direct-mapped cache on the stack avoids repeated visits of shared operands; only
// walks of more than SMALL_WALK nodes use it.
#include "ir/ir.h"

#include <string.h>

enum { SMALL_WALK = 48, CACHE_SLOTS = 512 };

typedef struct cache {
    const ir_expr *first[CACHE_SLOTS];
    const ir_expr *second[CACHE_SLOTS];
} cache;

static size_t cache_slot(const ir_expr *a, const ir_expr *b)
{
    uintptr_t mixed = ((uintptr_t)a >> 4) * 0x9E3779B97F4A7C15u ^ ((uintptr_t)b >> 4) * 0xC2B2AE3D27D4EB4Fu;
    return (size_t)(mixed >> 24) % CACHE_SLOTS;
}

static bool cache_has(const cache *c, const ir_expr *a, const ir_expr *b)
{
    size_t i = cache_slot(a, b);
    return c->first[i] == a && c->second[i] == b;
}

static void cache_put(cache *c, const ir_expr *a, const ir_expr *b)
{
    size_t i = cache_slot(a, b);
    c->first[i] = a;
    c->second[i] = b;
}

// ---- purity and effects ------------------------------------------------------------------------------------------

typedef bool node_test(const ir_expr *e);

enum {
    WRITING_EFFECTS = IR_EFFECT_WRITES_GLOBAL | IR_EFFECT_WRITES_SHARED | IR_EFFECT_BARRIER | IR_EFFECT_FENCE |
                      IR_EFFECT_VOLATILE
};

// An instruction without a result has an effect: a prefetch, a hint.
static bool gives_value(const ir_intrin *in)
{
    return in->result->kind != IR_VOID;
}

static bool updates_operand(const ir_intrin *in)
{
    for (int i = 0; i < in->operand_count; i++)
        if (in->operands[i].is_updated)
            return true;
    return false;
}

static bool reads_registers(const ir_intrin *in)
{
    for (int i = 0; i < in->operand_count; i++)
        if (in->operands[i].type->kind == IR_TENSOR)
            return true;
    return false;
}

static bool node_is_pure(const ir_expr *e)
{
    if (e->op == IR_OP_VAR)
        return !e->u.var->is_mutable;
    if (e->op == IR_OP_INTRIN)
        return e->u.intrin->effects == IR_EFFECT_NONE && gives_value(e->u.intrin) && !reads_registers(e->u.intrin);
    return (ir_op_properties(e->op) & IR_PURE) != 0;
}

static bool node_is_quiet(const ir_expr *e)
{
    if (e->op == IR_OP_INTRIN)
        return !(e->u.intrin->effects & WRITING_EFFECTS) && gives_value(e->u.intrin) && !updates_operand(e->u.intrin);
    return e->op != IR_OP_CALL && !(e->flags & IR_VOLATILE);
}

// Whether every node passes; [*budget] bounds the nodes visited without a cache, and going beyond it makes the answer
// meaningless (the caller asks again with one).
static bool all_small(const ir_expr *e, node_test *test, int *budget)
{
    if (--*budget < 0)
        return false;
    if (!test(e))
        return false;
    for (int i = 0; i < e->arg_count; i++)
        if (!all_small(e->args[i], test, budget))
            return false;
    return true;
}

static bool all_cached(const ir_expr *e, node_test *test, cache *done)
{
    if (!test(e))
        return false;
    if (!e->arg_count || cache_has(done, e, NULL))
        return true;
    for (int i = 0; i < e->arg_count; i++)
        if (!all_cached(e->args[i], test, done))
            return false;
    cache_put(done, e, NULL);
    return true;
}

static bool __attribute__((noinline)) all_large(const ir_expr *e, node_test *test)
{
    cache done;
    memset(&done, 0, sizeof done);
    return all_cached(e, test, &done);
}

static bool all_nodes(const ir_expr *e, node_test *test)
{
    if (!e->arg_count)
        return test(e);
    int budget = SMALL_WALK;
    bool all = all_small(e, test, &budget);
    return budget >= 0 ? all : all_large(e, test);
}

bool ir_is_pure(const ir_expr *e)
{
    return all_nodes(e, node_is_pure);
}

bool ir_has_effects(const ir_expr *e)
{
    return !all_nodes(e, node_is_quiet);
}

// ---- equality ----------------------------------------------------------------------------------------------------

static bool same_payload(const ir_expr *a, const ir_expr *b)
{
    switch (a->op) {
    case IR_OP_INT:
    case IR_OP_SREG:
    case IR_OP_LANE: return a->u.i == b->u.i;
    case IR_OP_FLOAT: return memcmp(&a->u.f, &b->u.f, sizeof a->u.f) == 0;
    case IR_OP_TEXT: return strcmp(a->u.text, b->u.text) == 0;
    case IR_OP_VAR:
    case IR_OP_LOAD:
    case IR_OP_ADDR:
    case IR_OP_TILE: return a->u.var == b->u.var;
    case IR_OP_CALL: return a->u.func == b->u.func;
    case IR_OP_INTRIN: return a->u.intrin == b->u.intrin;
    default: return true;
    }
}

bool ir_same_node(const ir_expr *a, const ir_expr *b)
{
    return a->op == b->op && a->type == b->type && a->arg_count == b->arg_count && a->flags == b->flags &&
           a->count == b->count && same_payload(a, b) && node_is_pure(a);
}

static bool equal_small(const ir_expr *a, const ir_expr *b, int *budget)
{
    if (--*budget < 0 || !ir_same_node(a, b))
        return false;
    for (int i = 0; i < a->arg_count; i++)
        if (!equal_small(a->args[i], b->args[i], budget))
            return false;
    return true;
}

static bool equal_cached(const ir_expr *a, const ir_expr *b, cache *done)
{
    if (!ir_same_node(a, b))
        return false;
    if (!a->arg_count || cache_has(done, a, b))
        return true;
    for (int i = 0; i < a->arg_count; i++)
        if (!equal_cached(a->args[i], b->args[i], done))
            return false;
    cache_put(done, a, b);
    return true;
}

static bool __attribute__((noinline)) equal_large(const ir_expr *a, const ir_expr *b)
{
    cache done;
    memset(&done, 0, sizeof done);
    return equal_cached(a, b, &done);
}

bool ir_expr_equal(const ir_expr *a, const ir_expr *b)
{
    int budget = SMALL_WALK;
    bool equal = equal_small(a, b, &budget);
    return budget >= 0 ? equal : equal_large(a, b);
}

bool ir_is_extent(const ir_func *f, const ir_var *v)
{
    for (size_t i = 0; i < f->params.len; i++) {
        const ir_tensor *t = f->params.at[i]->tensor;
        for (int d = 0; t && d < t->rank; d++) {
            const ir_expr *e = t->shape[d];
            while (e->op == IR_OP_CAST && ir_is_scalar(e->type, e->type->scalar) && dt_is_int(e->type->scalar))
                e = e->args[0];
            if (e->op == IR_OP_VAR && e->u.var == v)
                return true;
        }
    }
    return false;
}

const int64_t *ir_layout_strides(const ir_tensor *t)
{
    int64_t count = 1;
    if (!t->layout || t->layout->kind != TM_LAYOUT_STRIDED || t->elem->kind != IR_SCALAR || dt_is_subbyte(t->elem->scalar))
        return NULL;
    for (int d = 0; d < t->rank; d++)
        count *= t->layout->shape[d];
    return t->layout->size == count ? NULL : t->layout->strides;
}

// ---- values that blocks have in common ---------------------------------------------------------------------------

static int64_t cluster_of(const ir_func *f, int axis)
{
    int64_t size = 1;
    return !f->cluster[axis] || ir_const_int(f->cluster[axis], &size) ? size : 0;
}

// Of a multiple of the cluster's extent: blocks of one cluster are on one side of it.
static bool ends_cluster(const ir_func *f, int axis, const ir_expr *e)
{
    int64_t number, size = cluster_of(f, axis);
    return size > 0 && ir_const_int(e, &number) && number > 0 && number % size == 0;
}

static bool is_block_index(const ir_expr *e)
{
    return e->op == IR_OP_SREG && e->u.i >= IR_BID_X && e->u.i <= IR_BID_Z;
}

bool ir_is_common(const ir_func *f, const ir_expr *e)
{
    if (e->op == IR_OP_VAR)
        return e->u.var->kind == IR_VAR_PARAM && !e->u.var->is_mutable;
    if (is_block_index(e))
        return cluster_of(f, (int)e->u.i - IR_BID_X) == 1;
    if (e->op == IR_OP_SREG)
        return e->u.i >= IR_BDIM_X;
    bool is_part = e->op == IR_OP_LT || e->op == IR_OP_FLOORDIV || e->op == IR_OP_TRUNCDIV;
    if (is_part && is_block_index(e->args[0]) && ends_cluster(f, (int)e->args[0]->u.i - IR_BID_X, e->args[1]))
        return true;
    bool is_pure = (ir_op_properties(e->op) & IR_PURE) && !(ir_op_properties(e->op) & IR_READS) && e->op != IR_OP_INTRIN;
    for (int i = 0; is_pure && i < e->arg_count; i++)
        is_pure = ir_is_common(f, e->args[i]);
    return is_pure;
}

// ---- kernels that start early -----------------------------------------------------------------------------------

typedef struct wait_search {
    ir_module *module;
    map seen;  // device functions
    bool found;
} wait_search;

static void wait_in_stmt(void *user, ir_stmt *s);

// PTX ISA 9.7.13 "griddepcontrol"; it may stand in an instruction of the author's own.
static void wait_in_expr(void *user, ir_expr *e)
{
    wait_search *s = user;
    if (e->op == IR_OP_INTRIN)
        s->found |= strstr(e->u.intrin->text, "griddepcontrol.wait") != NULL ||
                    strstr(e->u.intrin->text, "cudaGridDependencySynchronize") != NULL;
    if (e->op != IR_OP_CALL || map_get_ptr(&s->seen, e->u.func))
        return;
    map_put_ptr(&s->seen, e->u.func, e->u.func);
    ir_walk(&e->u.func->body, wait_in_stmt, s);
}

static void wait_in_stmt(void *user, ir_stmt *stmt)
{
    wait_search *s = user;
    ir_walk_stmt_exprs(s->module, stmt, wait_in_expr, s);
}

bool ir_waits_for_kernels(ir_module *m, const ir_func *kernel)
{
    wait_search s = {.module = m};
    map_init(&s.seen, m->arena);
    ir_walk((ir_block *)&kernel->body, wait_in_stmt, &s);
    return s.found;
}
