// Kernels side by side: one grid has the blocks of all of them.
//
// The grid is a line, on which the blocks of the first kernel come first. A block finds out whose it is and its index there; the
// kernel's text follows, in a branch that all threads of the block take. A cluster's blocks stay neighbours: the axis along which
// clusters lie is the one that changes fastest.
#include <inttypes.h>
#include <string.h>

#include "ir/fold.h"
#include "ir/ir.h"

enum { WARP = 32 };

typedef struct joiner {
    ir_module *module;
    ir_func *to;
    src_span span;
} joiner;

// ---- whether they can ---------------------------------------------------------------------------------------------

static bool is_one(const ir_expr *e)
{
    int64_t value;
    return !e || (ir_const_int(e, &value) && value == 1);
}

static bool same_number(const ir_expr *a, const ir_expr *b)
{
    int64_t x, y;
    return a && b ? ir_const_int(a, &x) && ir_const_int(b, &y) && x == y : !a && !b;
}

// The axis along which clusters lie, 0 without clusters; -1: along several.
static int axis_of_clusters(const ir_func *k)
{
    int axis = 0, count = 0;
    for (int d = 0; d < 3; d++)
        if (!is_one(k->cluster[d])) {
            axis = d;
            count++;
        }
    return count < 2 ? axis : -1;
}

// What knows its place by other means than the block's index. Device functions are not copied.
static bool knows_its_place(const ir_expr *e)
{
    if (e->op == IR_OP_CALL)
        return true;
    const char *text = e->op == IR_OP_INTRIN ? e->u.intrin->text : "";
    return strstr(text, "ctaid") || strstr(text, "clusterid") || strstr(text, "blockIdx") || strstr(text, "gridDim");
}

static void look_for_place(void *user, ir_expr *e)
{
    bool *found = user;
    *found |= knows_its_place(e);
}

// Registers that warps pass to each other are counted for all warps of a block.
static void look_for_registers(void *user, ir_expr *e)
{
    bool *found = user;
    *found |= e->op == IR_OP_INTRIN && strstr(e->u.intrin->text, "setmaxnreg");
}

// These count threads that have ended as ones that said no; the models of the simulator take that for a mistake.
static void look_for_votes(void *user, ir_expr *e)
{
    bool *found = user;
    *found |= e->op == IR_OP_INTRIN && strstr(e->u.intrin->text, "__syncthreads_");
}

typedef struct search {
    ir_module *module;
    ir_expr_each *look;
    bool found;
} search;

static void look_in_stmt(void *user, ir_stmt *s)
{
    search *x = user;
    ir_walk_stmt_exprs(x->module, s, x->look, &x->found);
}

static bool has(ir_module *m, const ir_func *k, ir_expr_each *look)
{
    search x = {.module = m, .look = look};
    ir_walk((ir_block *)&k->body, look_in_stmt, &x);
    return x.found;
}

// Threads of a block that is a line of warps; 0: it is none.
static int64_t threads_of_line(const ir_func *k)
{
    int64_t threads;
    bool is_line = ir_const_int(k->block[0], &threads) && is_one(k->block[1]) && is_one(k->block[2]) && threads % WARP == 0;
    return is_line ? threads : 0;
}

static bool same_block(const ir_func *a, const ir_func *b)
{
    bool same = true;
    for (int d = 0; d < 3; d++)
        same = same && same_number(a->block[d], b->block[d]);
    return same;
}

static bool takes_more_threads(ir_module *m, const ir_func *k)
{
    return threads_of_line(k) && !has(m, k, look_for_registers) && !has(m, k, look_for_votes);
}

// Whether the blocks of both fit: warps that a kernel has no work for end at once, and no barrier waits for them.
static bool are_blocks_alike(ir_module *m, const ir_func *a, const ir_func *b)
{
    return same_block(a, b) || (takes_more_threads(m, a) && takes_more_threads(m, b));
}

bool ir_can_join(ir_module *m, const ir_func *a, const ir_func *b)
{
    int of_a = axis_of_clusters(a), of_b = axis_of_clusters(b);
    if (of_a < 0 || of_b < 0 || a->dynamic_smem_bytes || b->dynamic_smem_bytes)
        return false;
    bool same = !a->cluster[of_a] == !b->cluster[of_b];
    same = same && (is_one(a->cluster[of_a]) ? is_one(b->cluster[of_b]) : same_number(a->cluster[of_a], b->cluster[of_b]));
    return same && are_blocks_alike(m, a, b) && !has(m, a, look_for_place) && (a == b || !has(m, b, look_for_place));
}

// ---- parts --------------------------------------------------------------------------------------------------------

// A number that the host function passes is part of the kernel.
static bool is_fixed(const ir_stmt *launch, size_t parameter)
{
    int64_t value;
    return !launch->func->params.at[parameter]->tensor && ir_const_int(launch->args[parameter], &value);
}

static ir_expr *folded(void *user, ir_expr *e)
{
    return ir_fold(user, e);
}

int64_t ir_blocks_of(ir_module *m, const ir_stmt *launch)
{
    map numbers;
    map_init(&numbers, m->arena);
    for (size_t i = 0; i < launch->func->params.len; i++)
        if (is_fixed(launch, i))
            map_put_ptr(&numbers, launch->func->params.at[i], launch->args[i]);
    int64_t count = 1, extent;
    for (int d = 0; d < 3; d++) {
        ir_expr *known = ir_rewrite_expr(m, ir_substitute(m, launch->func->grid[d], &numbers), folded, m);
        if (!ir_const_int(known, &extent) || __builtin_mul_overflow(count, extent, &count))
            return -1;
    }
    return count;
}

// A parameter of a launch before this one; launch -1: there is none.
typedef struct parameter {
    int launch;
    size_t number;
} parameter;

static bool is_same_tensor(const ir_var *a, const ir_var *b)
{
    return a->tensor && b->tensor && a->type == b->type && a->tensor->layout && b->tensor->layout &&
           a->tensor->align_bytes == b->tensor->align_bytes && tm_layout_equal(a->tensor->layout, b->tensor->layout);
}

// Tensors that are written in parts by several kernels, which must not be taken for different memory, and those that are read.
static parameter same_parameter(ir_stmt *const *launches, int launch, size_t number)
{
    const ir_stmt *of = launches[launch];
    for (int k = 0; k < launch; k++)
        for (size_t i = 0; i < launches[k]->func->params.len; i++)
            if (is_same_tensor(launches[k]->func->params.at[i], of->func->params.at[number]) &&
                ir_expr_equal(launches[k]->args[i], of->args[number]))
                return (parameter){k, i};
    return (parameter){-1, 0};
}

// Extents of tensors read sizes, so that these are renewed first. [substitutions]: of each launch.
static void add_parameters(joiner *j, ir_stmt *const *launches, int number, map *substitutions)
{
    ir_module *m = j->module;
    const ir_stmt *launch = launches[number];
    const ir_func *k = launch->func;
    map *substitution = &substitutions[number];
    for (size_t i = 0; i < k->params.len; i++) {
        if (is_fixed(launch, i))
            map_put_ptr(substitution, k->params.at[i], launch->args[i]);
        else if (!k->params.at[i]->tensor)
            ir_renew_var(m, k->params.at[i], substitution);
    }
    for (size_t i = 0; i < k->params.len; i++) {
        ir_var *from = k->params.at[i];
        ir_expr *known = from->tensor ? NULL : map_get_ptr(substitution, from);
        parameter same = same_parameter(launches, number, i);
        if (same.launch >= 0)
            map_put_ptr(substitution, from,
                        map_get_ptr(&substitutions[same.launch], launches[same.launch]->func->params.at[same.number]));
        else if (!is_fixed(launch, i))
            VEC_PUSH(m->arena, &j->to->params, known ? known->u.var : ir_renew_var(m, from, substitution));
    }
    for (size_t i = 0; i < k->maps.len; i++) {
        const ir_var *from = k->maps.at[i];
        ir_tensor_map of = *from->map;
        of.tensor = ((ir_expr *)map_get_ptr(substitution, of.tensor))->u.var;
        ir_var *to = ir_map_var(m, from->name, &of, from->span);
        VEC_PUSH(m->arena, &j->to->maps, to);
        map_put_ptr(substitution, from, ir_read(m, to, from->span));
    }
}

static ir_expr *operation(joiner *j, ir_op op, ir_expr *a, ir_expr *b)
{
    return ir_fold(j->module, ir_binary(j->module, op, a, b, j->span));
}

static ir_expr *named(joiner *j, ir_block *to, const char *name, ir_expr *value)
{
    ir_var *v = ir_var_new(j->module, IR_VAR_LOCAL, name, value->type, j->span);
    ir_stmt *s = ir_new_stmt(j->module, IR_DECL, j->span, 0);
    s->var = v;
    s->value = value;
    ir_append(j->module, to, s);
    return ir_read(j->module, v, j->span);
}

typedef struct place {
    ir_module *module;
    ir_expr *index[3], *extent[3]; // of the block in the kernel's own grid
    ir_expr *threads;              // of its own blocks, where those of the grid have more; else NULL
} place;

// barrier_sync of hidet.lang.cuda.
static const ir_intrin *barrier_of_threads(ir_module *m, src_span span)
{
    static const char instance[] = "barrier_sync_of_part";
    for (size_t i = 0; i < m->intrins.len; i++)
        if (strcmp(m->intrins.at[i]->instance, instance) == 0)
            return m->intrins.at[i];
    arena *a = m->lasting;
    ir_intrin *in = ARENA_NEW(a, ir_intrin);
    ir_operand *operands = ARENA_ARRAY(a, ir_operand, 2);
    operands[0] = (ir_operand){.name = "id", .type = ir_scalar(m, DT_I32)};
    operands[1] = (ir_operand){.name = "threads", .type = ir_scalar(m, DT_I32)};
    *in = (ir_intrin){.name = "barrier_sync", .module = "hidet.lang.cuda", .instance = instance,
                      .form = IR_INTRIN_PTX, .text = "bar.sync {id}, {threads};", .scope = IR_SCOPE_WARP,
                      .effects = IR_EFFECT_BARRIER, .result = ir_void(m), .operand_count = 2, .operands = operands, .span = span};
    VEC_PUSH(a, &m->intrins, in);
    return in;
}

// syncthreads() of blocks that have more threads.
static ir_expr *barrier_of_part(const place *p, const ir_expr *e)
{
    ir_expr *call = ir_new_expr(p->module, IR_OP_INTRIN, e->type, e->span, 2);
    call->u.intrin = barrier_of_threads(p->module, e->u.intrin->span);
    call->args[0] = ir_int(p->module, DT_I32, 0);
    call->args[1] = p->threads;
    return call;
}

static ir_expr *own_place(void *user, ir_expr *e)
{
    const place *p = user;
    if (e->op == IR_OP_SREG && e->u.i >= IR_BID_X && e->u.i <= IR_BID_Z)
        return p->index[e->u.i - IR_BID_X];
    if (e->op == IR_OP_SREG && e->u.i >= IR_GDIM_X && e->u.i <= IR_GDIM_Z)
        return p->extent[e->u.i - IR_GDIM_X];
    if (p->threads && e->op == IR_OP_INTRIN && strcmp(e->u.intrin->text, "__syncthreads()") == 0)
        return barrier_of_part(p, e);
    return p->threads && e->op == IR_OP_SREG && e->u.i == IR_BDIM_X ? p->threads : e;
}

static ir_expr *integer(joiner *j, int64_t value)
{
    return ir_int(j->module, DT_I32, value);
}

// The coordinates of block [number]: each axis but the last takes a remainder.
static void find_place(joiner *j, ir_block *to, const ir_func *k, ir_expr *number, place *p)
{
    static const char *const names[] = {"block_x", "block_y", "block_z"};
    int first = axis_of_clusters(k), axes[3] = {first, first == 0 ? 1 : 0, first == 2 ? 1 : 2};
    int last = 2;
    while (last > 0 && is_one(p->extent[axes[last]]))
        last--;
    for (int i = 0; i < 3; i++) {
        int d = axes[i];
        bool is_single = i > last || is_one(p->extent[d]);
        ir_expr *index = i == last ? number : operation(j, IR_OP_FLOORMOD, number, p->extent[d]);
        p->index[d] = is_single ? integer(j, 0) : named(j, to, names[d], index);
        if (is_single)
            continue;
        ir_stmt *s = ir_new_stmt(j->module, IR_ASSUME, j->span, 0);
        s->value = ir_binary(j->module, IR_OP_LAND, ir_binary(j->module, IR_OP_GE, p->index[d], integer(j, 0), j->span),
                             ir_binary(j->module, IR_OP_LT, p->index[d], p->extent[d], j->span), j->span);
        ir_append(j->module, to, s);
        if (i < last)
            number = named(j, to, "rest", operation(j, IR_OP_FLOORDIV, number, p->extent[d]));
    }
}

// The threads of the kernel's blocks, where those of the joined one have more; else NULL.
static ir_expr *fewer_threads(joiner *j, const ir_func *k)
{
    return same_block(k, j->to) ? NULL : integer(j, threads_of_line(k));
}

// The block of statements that the first [count] threads execute.
static ir_block *for_threads(joiner *j, ir_block *to, ir_expr *count)
{
    ir_stmt *branch = ir_new_stmt(j->module, IR_IF, j->span, 0);
    branch->value = ir_binary(j->module, IR_OP_LT, ir_sreg_read(j->module, IR_TID_X, j->span), count, j->span);
    ir_append(j->module, to, branch);
    return &branch->body;
}

// The kernel's text for the blocks from [*end] on; [*end] is then behind them.
static void add_part(joiner *j, const ir_func *k, ir_block *to, ir_expr **end, map *substitution)
{
    ir_module *m = j->module;
    place p = {.module = m, .threads = fewer_threads(j, k)};
    ir_expr *count = NULL;
    for (int d = 0; d < 3; d++) {
        p.extent[d] = ir_cast(m, ir_substitute(m, k->grid[d], substitution), ir_scalar(m, DT_I32), j->span);
        count = count ? operation(j, IR_OP_MUL, count, p.extent[d]) : p.extent[d];
    }
    ir_expr *number = ir_sreg_read(m, IR_BID_X, j->span);
    find_place(j, to, k, named(j, to, "number", operation(j, IR_OP_SUB, number, *end)), &p);
    ir_block body;
    ir_clone_block(m, &k->body, &body, substitution);
    ir_rewrite_block_exprs(m, &body, own_place, &p);
    if (p.threads)
        to = for_threads(j, to, p.threads);
    for (size_t i = 0; i < body.stmts.len; i++)
        ir_append(m, to, body.stmts.at[i]);
    *end = operation(j, IR_OP_ADD, *end, count);
}

static void add_launch_shape(joiner *j, const ir_func *first, ir_expr *count)
{
    ir_func *f = j->to;
    f->grid[0] = count;
    f->grid[1] = f->grid[2] = integer(j, 1);
    ir_expr *cluster = first->cluster[axis_of_clusters(first)];
    for (int d = 0; cluster && d < 3; d++)
        f->cluster[d] = d ? integer(j, 1) : cluster;
}

// Blocks that have room for those of each kernel.
static void add_block_shape(joiner *j, ir_stmt *const *launches, int count)
{
    const ir_func *largest = launches[0]->func;
    for (int i = 1; i < count; i++)
        if (threads_of_line(launches[i]->func) > threads_of_line(largest))
            largest = launches[i]->func;
    memcpy(j->to->block, largest->block, sizeof j->to->block);
}

// Of the blocks before [end]; it is the same for all blocks of a cluster, which shows in its form.
static ir_expr *condition(joiner *j, const ir_func *first, ir_expr *end)
{
    ir_expr *number = ir_sreg_read(j->module, IR_BID_X, j->span), *size = first->cluster[axis_of_clusters(first)];
    if (!is_one(size)) {
        number = operation(j, IR_OP_FLOORDIV, number, size);
        end = operation(j, IR_OP_FLOORDIV, end, size);
    }
    return ir_binary(j->module, IR_OP_LT, number, end, j->span);
}

ir_expr_list ir_joined_arguments(ir_module *m, ir_stmt *const *launches, int count, str_buf *key)
{
    ir_expr_list list = {0};
    for (int k = 0; k < count; k++) {
        const ir_stmt *launch = launches[k];
        str_addf(key, "%s(", launch->func->name);
        for (int i = 0; i < launch->arg_count; i++) {
            parameter same = same_parameter(launches, k, (size_t)i);
            if (is_fixed(launch, (size_t)i))
                str_addf(key, "%d=%" PRId64 ",", i, launch->args[i]->u.i);
            else if (same.launch >= 0)
                str_addf(key, "%d=%d.%zu,", i, same.launch, same.number);
            else
                VEC_PUSH(m->arena, &list, launch->args[i]);
        }
        str_addc(key, ')');
    }
    return list;
}

ir_func *ir_join_kernels(ir_module *m, ir_stmt *const *launches, int count, const char *name, src_span span)
{
    const ir_func *first = launches[0]->func;
    joiner j = {.module = m, .to = ir_func_new(m, IR_KERNEL, name, span), .span = span};
    ir_expr *end = integer(&j, 0);
    ir_block *to = &j.to->body;
    j.to->result = first->result;
    j.to->is_public = j.to->is_launched = true;
    j.to->min_blocks = first->min_blocks;
    j.to->dependent_launch = true;
    add_block_shape(&j, launches, count);
    map *substitutions = ARENA_ARRAY(m->arena, map, count);
    for (int i = 0; i < count; i++) {
        map_init(&substitutions[i], m->arena);
        add_parameters(&j, launches, i, substitutions);
        ir_stmt *branch = i + 1 < count ? ir_new_stmt(m, IR_IF, span, 0) : NULL;
        add_part(&j, launches[i]->func, branch ? &branch->body : to, &end, &substitutions[i]);
        if (branch) {
            branch->value = condition(&j, first, end);
            ir_append(m, to, branch);
            to = &branch->or_else;
        }
        if (launches[i]->func->min_blocks != first->min_blocks)
            j.to->min_blocks = 0;
        // One that does not wait for the launch before it must not begin before that has ended.
        j.to->dependent_launch &= launches[i]->func->dependent_launch;
    }
    add_launch_shape(&j, first, end);
    ir_func_add(m, j.to);
    return j.to;
}
