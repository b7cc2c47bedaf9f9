// Lifetimes of shared tensors over the structured tree; shared_lifetime.h says what counts as one.
//
// One walk numbers the program points and records blocks, barriers, jumps, uses, and which variables an address flows
// into. Then each tensor's uses are put together. The barrier before a use is looked for directly in the blocks around
// the use: every path to the use passes those. The barrier after a use likewise, if no jump on the way leads past it.
#include "ir/passes/shared_lifetime.h"

#include <stdlib.h>
#include <string.h>

typedef struct block_info {
    int parent;   // -1: the function's body
    int begin, end;
    bool is_loop, is_scope;
    int label;    // of a scope
    int choice;   // of a branch that the whole block or cluster takes: the number of its IF, negative for the other branch; else 0
    VEC(int) barriers;  // directly in this block, ascending
} block_info;

// [tensor] is used from point [from] to [to], both seen from [block].
typedef struct use {
    int tensor;
    int block, from, to;
} use;

// Facts about a variable that the function uses. The variable stores its index in [note]; the index is valid if the
// entry points back to the variable. So the table only needs entries for the variables of one function.
typedef struct var_info {
    const ir_var *of;
    int tensor;      // index + 1 in [tensors]
    int block;       // where it is declared + 1
    int first_flow;  // out of it: number + 1
    bool seen;       // reached by the address of the current tensor
} var_info;

// The address in variable [from] (or of the tensor) gets into [to], at a point. Numbers of variables, or:
enum { OUT_OF_SIGHT = -1, TO_ENGINE = -2 };

typedef struct flow {
    int from, to;
    int point, block;
} flow;

// A jump from program point [point] to the end of block [past].
typedef struct jump {
    int point, past;
} jump;

struct shared_lifetimes {
    ir_module *module;
    arena *scratch;
    const ir_func *func;
    const bool *leaks;
    int choices;         // the last number of an IF
    VEC(shared_tensor) tensors;
    VEC(block_info) blocks;
    VEC(use) uses;
    VEC(flow) flows;
    VEC(jump) jumps;     // by point
    VEC(var_info) vars;
    int point;           // the last one given
    int block;           // the current block
    int budget;          // nodes that one search for addresses may still visit
};

static int number_of(shared_lifetimes *l, ir_var *v)
{
    if (v->note >= l->vars.len || l->vars.at[v->note].of != v) {
        v->note = (uint32_t)l->vars.len;
        VEC_PUSH(l->scratch, &l->vars, ((var_info){.of = v}));
    }
    return (int)v->note;
}

static var_info *info_of(shared_lifetimes *l, ir_var *v)
{
    int number = number_of(l, v);
    return &l->vars.at[number];
}

// ---- addresses in values -----------------------------------------------------------------------------------------

static bool may_hold_address(const ir_type *t)
{
    return t->kind == IR_POINTER || t->kind == IR_VECTOR ||
           (t->kind == IR_SCALAR && dt_is_int(t->scalar) && dt_bits(t->scalar) >= 32);
}

static bool has_memory_effects(const ir_intrin *in)
{
    return in->effects & (IR_EFFECT_READS_SHARED | IR_EFFECT_WRITES_SHARED | IR_EFFECT_READS_GLOBAL |
                          IR_EFFECT_WRITES_GLOBAL);
}

static bool passes_addresses_on(const ir_expr *e)
{
    switch (e->op) {
    case IR_OP_LOAD:
    case IR_OP_PLOAD:
    case IR_OP_NOT:
    case IR_OP_LAND:
    case IR_OP_LOR: return false;
    case IR_OP_INTRIN:
        // An instruction that accesses memory returns its contents; any other may turn the address into an integer.
        return !has_memory_effects(e->u.intrin) && may_hold_address(e->type);
    default: return !(ir_op_properties(e->op) & IR_COMPARE) && may_hold_address(e->type);
    }
}

static void add_flow(shared_lifetimes *l, ir_var *from, int to)
{
    flow f = {number_of(l, from), to, l->point, l->block};
    VEC_PUSH(l->scratch, &l->flows, f);
}

// Notes a flow from every address that may be in the value of [e].
static void find_flows(shared_lifetimes *l, const ir_expr *e, int to)
{
    if (--l->budget < 0)
        return;
    if (e->op == IR_OP_VAR || e->op == IR_OP_ADDR) {
        add_flow(l, e->u.var, to);
        return;
    }
    if (passes_addresses_on(e))
        for (int i = 0; i < e->arg_count; i++)
            find_flows(l, e->args[i], to);
}

static void flow_any(void *user, ir_expr *e)
{
    shared_lifetimes *l = user;
    if (e->op == IR_OP_VAR || e->op == IR_OP_ADDR)
        add_flow(l, e->u.var, OUT_OF_SIGHT);
}

static void note_flows(shared_lifetimes *l, ir_expr *e, int to)
{
    enum { SEARCH_LIMIT = 4096 };
    if (!e || !may_hold_address(e->type))
        return;
    l->budget = SEARCH_LIMIT;
    find_flows(l, e, to);
    if (l->budget < 0)
        ir_walk_expr(l->module, e, flow_any, l);
}

// ---- uses --------------------------------------------------------------------------------------------------------

static void note_use(shared_lifetimes *l, ir_var *v, int block, int from, int to)
{
    int tensor = info_of(l, v)->tensor - 1;
    if (tensor < 0)
        return;
    use u = {tensor, block, from, to};
    VEC_PUSH(l->scratch, &l->uses, u);
}

// An address passed as an integer (in a descriptor) may be used by asynchronous hardware until some thread waits for
// it: a use to the end of the block.
static void note_async_use(void *user, ir_expr *e)
{
    shared_lifetimes *l = user;
    if ((e->op == IR_OP_ADDR || e->op == IR_OP_VAR) && info_of(l, e->u.var)->tensor)
        note_use(l, e->u.var, l->block, l->point, -1);
}

static bool has_map(const ir_expr *e)
{
    for (int i = 0; i < e->arg_count; i++)
        if (e->args[i]->type->kind == IR_TENSOR_MAP)
            return true;
    return false;
}

// Whether asynchronous hardware uses the addresses: TMA, and the mbarriers that it completes.
// It reads a tile until some thread waits, which may be anywhere. Its writes are not ordered after writes of threads,
// not even across a barrier, without a fence of the async proxy (PTX ISA, "Async proxy"); and the memory of an mbarrier
// must not be used otherwise (PTX ISA, "mbarrier.init"). So such tensors are live from the first point to the last.
static bool is_for_engine(const ir_expr *e)
{
    const ir_intrin *in = e->u.intrin;
    return has_map(e) ||
           (in->form == IR_INTRIN_PTX && (strstr(in->text, "cp.async.bulk") || strstr(in->text, "mbarrier.init")));
}

static void note_intrin(shared_lifetimes *l, const ir_expr *e)
{
    for (int i = 0; is_for_engine(e) && i < e->arg_count; i++)
        note_flows(l, e->args[i], TO_ENGINE);
    for (int i = 0; i < e->arg_count; i++)
        if (has_memory_effects(e->u.intrin) && e->args[i]->type->kind == IR_SCALAR)
            ir_walk_expr(l->module, e->args[i], note_async_use, l);
}

static void note_call(shared_lifetimes *l, const ir_expr *e)
{
    for (int i = 0; i < e->arg_count; i++)
        if (l->leaks[e->u.func->id])
            note_flows(l, e->args[i], TO_ENGINE);
}

static void note_node(void *user, ir_expr *e)
{
    shared_lifetimes *l = user;
    if (e->op == IR_OP_VAR || e->op == IR_OP_ADDR || e->op == IR_OP_LOAD)
        note_use(l, e->u.var, l->block, l->point, l->point);
    else if (e->op == IR_OP_INTRIN)
        note_intrin(l, e);
    else if (e->op == IR_OP_CALL)
        note_call(l, e);
}

// ---- the walk ----------------------------------------------------------------------------------------------------

static void walk_block(shared_lifetimes *l, ir_block *b, block_info info);

// Out of the innermost loop, or of the scope with the label of a LEAVE.
static void note_jump(shared_lifetimes *l, const ir_stmt *s)
{
    int past = l->block;
    for (; past > 0; past = l->blocks.at[past].parent) {
        const block_info *b = &l->blocks.at[past];
        if (s->kind == IR_LEAVE ? b->is_scope && b->label == s->count : b->is_loop)
            break;
    }
    jump j = {l->point, past};
    VEC_PUSH(l->scratch, &l->jumps, j);
}

static bool is_block_barrier(const ir_stmt *s)
{
    const ir_expr *e = s->value;
    return s->kind == IR_EVAL && e->op == IR_OP_INTRIN && (e->u.intrin->effects & IR_EFFECT_BARRIER) &&
           e->u.intrin->scope >= IR_SCOPE_BLOCK;
}

static void add_tensor(shared_lifetimes *l, ir_var *v)
{
    shared_tensor t = {.var = v, .alloc_block = l->block, .first = SHARED_NOWHERE, .last = -1,
                       .first_barrier = SHARED_NOWHERE, .last_barrier = -1};
    VEC_PUSH(l->scratch, &l->tensors, t);
    info_of(l, v)->tensor = (int)l->tensors.len;
}

static void note_stmt(shared_lifetimes *l, ir_stmt *s)
{
    ir_walk_stmt_exprs(l->module, s, note_node, l);
    switch (s->kind) {
    case IR_ALLOC:
        if (s->var->tensor->space == IR_SHARED)
            add_tensor(l, s->var);
        if (s->value)
            note_use(l, s->var, l->block, l->point, l->point);
        break;
    case IR_DECL:
        info_of(l, s->var)->block = l->block + 1;
        note_flows(l, s->value, number_of(l, s->var));
        break;
    case IR_ASSIGN: note_flows(l, s->value, number_of(l, s->var)); break;
    case IR_STORE:
        note_use(l, s->var, l->block, l->point, l->point);
        note_flows(l, s->value, OUT_OF_SIGHT);
        break;
    case IR_PSTORE:
    case IR_RETURN: note_flows(l, s->value, OUT_OF_SIGHT); break;
    case IR_BREAK:
    case IR_CONTINUE:
    case IR_LEAVE: note_jump(l, s); break;
    case IR_EVAL:
        if (is_block_barrier(s))
            VEC_PUSH(l->scratch, &l->blocks.at[l->block].barriers, l->point);
        break;
    default: break;
    }
}

static void walk_stmt(shared_lifetimes *l, ir_stmt *s)
{
    block_info info = {.is_loop = s->kind == IR_FOR || s->kind == IR_WHILE || s->kind == IR_TASKS,
                       .is_scope = s->kind == IR_SCOPE_OF, .label = s->count};
    if (s->kind == IR_IF && ir_is_common(l->func, s->value))
        info.choice = ++l->choices;
    l->point++;
    note_stmt(l, s);
    walk_block(l, &s->body, info);
    walk_block(l, &s->or_else, (block_info){.choice = -info.choice});
    if (s->kind != IR_WHILE)
        return;
    // The condition is evaluated once more at the end.
    l->point++;
    ir_walk_stmt_exprs(l->module, s, note_node, l);
}

static void walk_block(shared_lifetimes *l, ir_block *b, block_info info)
{
    if (!b->stmts.len)
        return;
    int outer = l->block, mine = (int)l->blocks.len;
    info.parent = outer;
    info.begin = l->point;
    VEC_PUSH(l->scratch, &l->blocks, info);
    l->block = mine;
    for (size_t i = 0; i < b->stmts.len; i++)
        walk_stmt(l, b->stmts.at[i]);
    l->blocks.at[mine].end = ++l->point;
    l->block = outer;
}

// ---- what the uses make ------------------------------------------------------------------------------------------

static int last_before(const block_info *b, int point)
{
    for (size_t i = b->barriers.len; i-- > 0;)
        if (b->barriers.at[i] < point)
            return b->barriers.at[i];
    return -1;
}

static int first_after(const block_info *b, int point)
{
    for (size_t i = 0; i < b->barriers.len; i++)
        if (b->barriers.at[i] > point)
            return b->barriers.at[i];
    return SHARED_NOWHERE;
}

static int barrier_before(const shared_lifetimes *l, int block, int point)
{
    int best = -1;
    for (; block >= 0; block = l->blocks.at[block].parent) {
        int p = last_before(&l->blocks.at[block], point);
        best = p > best ? p : best;
    }
    return best;
}

static size_t first_jump_from(const shared_lifetimes *l, int point)
{
    size_t low = 0, high = l->jumps.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->jumps.at[middle].point < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Whether a jump from between [from] and [barrier] goes to behind the barrier.
static bool is_jumped_over(const shared_lifetimes *l, int from, int barrier)
{
    for (size_t i = first_jump_from(l, from); i < l->jumps.len && l->jumps.at[i].point < barrier; i++)
        if (l->blocks.at[l->jumps.at[i].past].end > barrier)
            return true;
    return false;
}

// The innermost blocks have the nearest barriers. A loop may be left in a later iteration, from anywhere in its body.
static int barrier_after(const shared_lifetimes *l, const use *u)
{
    int from = u->from;
    for (int block = u->block; block >= 0; block = l->blocks.at[block].parent) {
        const block_info *b = &l->blocks.at[block];
        int p = first_after(b, u->to);
        if (p < SHARED_NOWHERE && !is_jumped_over(l, from, p))
            return p;
        if (b->is_loop)
            from = b->begin;
    }
    return SHARED_NOWHERE;
}

// The outermost loop around [block] that is inside the tensor's own block; -1: none.
static int loop_through(const shared_lifetimes *l, int block, int alloc_block)
{
    int loop = -1;
    for (; block >= 0 && block != alloc_block; block = l->blocks.at[block].parent)
        if (l->blocks.at[block].is_loop)
            loop = block;
    return loop;
}

static void stretch(shared_tensor *t, int from, int to)
{
    t->is_used = true;
    t->first = from < t->first ? from : t->first;
    t->last = to > t->last ? to : t->last;
}

static void apply_use(shared_lifetimes *l, use u)
{
    shared_tensor *t = &l->tensors.at[u.tensor];
    if (u.to < 0)
        u.to = l->blocks.at[u.block].end;
    stretch(t, u.from, u.to);
    int loop = loop_through(l, u.block, t->alloc_block);
    if (loop >= 0)
        stretch(t, l->blocks.at[loop].begin, l->blocks.at[loop].end);
    int before = barrier_before(l, u.block, u.from), after = barrier_after(l, &u);
    t->first_barrier = before < t->first_barrier ? before : t->first_barrier;
    t->last_barrier = after > t->last_barrier ? after : t->last_barrier;
}

// ---- addresses in variables --------------------------------------------------------------------------------------

typedef struct flow_index {
    int *next;      // by flow number: the next one out of the same variable
    VEC(int) work;  // variables whose flows are still to be followed
} flow_index;

static void follow_flow(shared_lifetimes *l, int tensor, const flow *f, flow_index *index)
{
    if (f->to == TO_ENGINE) {
        apply_use(l, (use){tensor, 0, 0, -1});
        return;
    }
    bool escapes = f->to < 0 || !l->vars.at[f->to].block;
    int block = escapes ? 0 : l->vars.at[f->to].block - 1;
    apply_use(l, (use){tensor, f->block, f->point, f->point});
    // Seen from the variable's block, the use lasts to that block's end, and comes round every loop in between.
    int loop = loop_through(l, f->block, block);
    use kept = {tensor, block, loop < 0 ? f->point : l->blocks.at[loop].begin, l->blocks.at[block].end};
    apply_use(l, kept);
    if (escapes || l->vars.at[f->to].seen)
        return;
    l->vars.at[f->to].seen = true;
    VEC_PUSH(l->scratch, &index->work, f->to);
}

static void follow_tensor(shared_lifetimes *l, int tensor, flow_index *index)
{
    for (size_t i = 0; i < l->vars.len; i++)
        l->vars.at[i].seen = false;
    VEC_PUSH(l->scratch, &index->work, number_of(l, l->tensors.at[tensor].var));
    while (index->work.len) {
        int v = VEC_POP(&index->work);
        for (int f = l->vars.at[v].first_flow; f; f = index->next[f - 1])
            follow_flow(l, tensor, &l->flows.at[f - 1], index);
    }
}

static void follow_flows(shared_lifetimes *l)
{
    flow_index index = {0};
    index.next = ARENA_ARRAY(l->scratch, int, l->flows.len);
    for (size_t i = l->flows.len; i-- > 0;) {
        var_info *from = &l->vars.at[l->flows.at[i].from];
        index.next[i] = from->first_flow;
        from->first_flow = (int)i + 1;
    }
    for (size_t i = 0; i < l->tensors.len; i++)
        follow_tensor(l, (int)i, &index);
}

// ---- answers -----------------------------------------------------------------------------------------------------

static bool allocates_shared(const ir_stmt *s)
{
    return s->kind == IR_ALLOC && s->var->tensor->space == IR_SHARED;
}

static bool is_large(const ir_expr *extent)
{
    int64_t blocks;
    return extent && (!ir_const_int(extent, &blocks) || blocks > 1);
}

static bool is_cluster(const ir_func *f)
{
    return is_large(f->cluster[0]) || is_large(f->cluster[1]) || is_large(f->cluster[2]);
}

// Other blocks of a cluster may use shared memory at any time, also before and after the block's own uses. A device
// function may be called by a kernel with clusters.
static bool has_clusters(const ir_module *m, const ir_func *f)
{
    if (f->kind == IR_KERNEL)
        return is_cluster(f);
    for (size_t i = 0; i < m->funcs.len; i++)
        if (is_cluster(m->funcs.at[i]))
            return true;
    return false;
}

shared_lifetimes *ir_shared_lifetimes_of(ir_module *m, arena *scratch, ir_func *f, const bool *leaks)
{
    shared_lifetimes *l = ARENA_NEW(scratch, shared_lifetimes);
    l->module = m;
    l->scratch = scratch;
    l->leaks = leaks;
    l->func = f;
    l->block = -1;
    if (!ir_find(&f->body, allocates_shared))
        return l;
    walk_block(l, &f->body, (block_info){0});
    for (size_t i = 0; i < l->tensors.len && has_clusters(m, f); i++)
        note_use(l, l->tensors.at[i].var, 0, 0, -1);
    for (size_t i = 0; i < l->uses.len; i++)
        apply_use(l, l->uses.at[i]);
    if (l->tensors.len)
        follow_flows(l);
    return l;
}

int ir_shared_count(const shared_lifetimes *l)
{
    return (int)l->tensors.len;
}

const shared_tensor *ir_shared_at(const shared_lifetimes *l, int index)
{
    return &l->tensors.at[index];
}

static bool encloses(const shared_lifetimes *l, int outer, int inner)
{
    for (; inner >= 0; inner = l->blocks.at[inner].parent)
        if (inner == outer)
            return true;
    return false;
}

// The innermost loop that both tensors are made in; -1: none.
static int common_loop(const shared_lifetimes *l, const shared_tensor *a, const shared_tensor *b)
{
    for (int block = a->alloc_block; block >= 0; block = l->blocks.at[block].parent)
        if (l->blocks.at[block].is_loop && encloses(l, block, b->alloc_block))
            return block;
    return -1;
}

// Whether no block has both: they are made in the two branches of an IF that whole clusters choose.
static bool are_apart(const shared_lifetimes *l, const shared_tensor *a, const shared_tensor *b)
{
    for (int x = a->alloc_block; x >= 0; x = l->blocks.at[x].parent)
        for (int y = b->alloc_block; y >= 0 && l->blocks.at[x].choice; y = l->blocks.at[y].parent)
            if (l->blocks.at[y].choice == -l->blocks.at[x].choice)
                return true;
    return false;
}

bool ir_shared_may_overlay(const shared_lifetimes *l, const shared_tensor *a, const shared_tensor *b)
{
    if (!a->is_used || !b->is_used || are_apart(l, a, b))
        return true;
    if (a->first > b->first) {
        const shared_tensor *swap = a;
        a = b;
        b = swap;
    }
    if (a->last >= b->first)
        return false;
    if (b->first_barrier <= a->last && a->last_barrier >= b->first)
        return false;
    // The next iteration of a loop comes to the first tensor again.
    int loop = common_loop(l, a, b);
    return loop < 0 || b->last_barrier < l->blocks.at[loop].end || a->first_barrier > l->blocks.at[loop].begin;
}

// ---- functions that keep addresses -------------------------------------------------------------------------------

typedef struct leak_search {
    const bool *leaks;
    bool found;
} leak_search;

static void look_at_node(void *user, ir_expr *e)
{
    leak_search *s = user;
    bool from_pointer = e->op == IR_OP_BITCAST && e->args[0]->type->kind == IR_POINTER && e->type->kind != IR_POINTER;
    bool in_number = e->op == IR_OP_INTRIN && !has_memory_effects(e->u.intrin) && e->arg_count &&
                     e->args[0]->type->kind == IR_POINTER;
    bool calls = e->op == IR_OP_CALL && s->leaks[e->u.func->id];
    s->found |= from_pointer || in_number || calls || (e->op == IR_OP_INTRIN && is_for_engine(e));
}

typedef struct leak_walk {
    ir_module *module;
    leak_search search;
} leak_walk;

static void look_at_stmt(void *user, ir_stmt *s)
{
    leak_walk *w = user;
    bool stores = (s->kind == IR_STORE || s->kind == IR_PSTORE) && s->value->type->kind == IR_POINTER;
    w->search.found |= stores;
    ir_walk_stmt_exprs(w->module, s, look_at_node, &w->search);
}

bool ir_shared_leaks_addresses(ir_module *m, ir_func *f, const bool *leaks)
{
    leak_walk w = {m, {leaks, false}};
    ir_walk(&f->body, look_at_stmt, &w);
    return w.search.found;
}
