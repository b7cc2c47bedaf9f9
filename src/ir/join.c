// Kernels side by side: one grid has the blocks of all of them.
//
// The grid is a line, on which the blocks of the first kernel come first. A block finds out whose it is and its index there; the
// kernel's text follows, in a branch that all threads of the block take. A cluster's blocks stay neighbours: the axis along which
// clusters lie is the one that changes fastest.
#include <inttypes.h>
#include <string.h>

#include "ir/fold.h"
#include "ir/ir.h"

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

typedef struct search {
    ir_module *module;
    bool found;
} search;

static void look_in_stmt(void *user, ir_stmt *s)
{
    search *x = user;
    ir_walk_stmt_exprs(x->module, s, look_for_place, &x->found);
}

bool ir_can_join(ir_module *m, const ir_func *a, const ir_func *b)
{
    int of_a = axis_of_clusters(a), of_b = axis_of_clusters(b);
    if (of_a < 0 || of_b < 0 || a->dependent_launch != b->dependent_launch || a->dynamic_smem_bytes || b->dynamic_smem_bytes)
        return false;
    bool same = !a->cluster[of_a] == !b->cluster[of_b];
    same = same && (is_one(a->cluster[of_a]) ? is_one(b->cluster[of_b]) : same_number(a->cluster[of_a], b->cluster[of_b]));
    for (int d = 0; d < 3; d++)
        same = same && same_number(a->block[d], b->block[d]);
    search x = {.module = m};
    if (same)
        ir_walk((ir_block *)&a->body, look_in_stmt, &x);
    if (same && b != a)
        ir_walk((ir_block *)&b->body, look_in_stmt, &x);
    return same && !x.found;
}

// ---- parts --------------------------------------------------------------------------------------------------------

// A number that the host function passes is part of the kernel.
static bool is_fixed(const ir_stmt *launch, size_t parameter)
{
    int64_t value;
    return !launch->func->params.at[parameter]->tensor && ir_const_int(launch->args[parameter], &value);
}

// Extents of tensors read sizes, so that these are renewed first.
static void add_parameters(joiner *j, const ir_stmt *launch, map *substitution)
{
    ir_module *m = j->module;
    const ir_func *k = launch->func;
    for (size_t i = 0; i < k->params.len; i++) {
        if (is_fixed(launch, i))
            map_put_ptr(substitution, k->params.at[i], launch->args[i]);
        else if (!k->params.at[i]->tensor)
            ir_renew_var(m, k->params.at[i], substitution);
    }
    for (size_t i = 0; i < k->params.len; i++) {
        ir_var *from = k->params.at[i];
        ir_expr *known = from->tensor ? NULL : map_get_ptr(substitution, from);
        if (!is_fixed(launch, i))
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
    ir_expr *index[3], *extent[3]; // of the block in the kernel's own grid
} place;

static ir_expr *own_place(void *user, ir_expr *e)
{
    const place *p = user;
    if (e->op == IR_OP_SREG && e->u.i >= IR_BID_X && e->u.i <= IR_BID_Z)
        return p->index[e->u.i - IR_BID_X];
    if (e->op == IR_OP_SREG && e->u.i >= IR_GDIM_X && e->u.i <= IR_GDIM_Z)
        return p->extent[e->u.i - IR_GDIM_X];
    return e;
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

// The kernel's text for the blocks from [*end] on; [*end] is then behind them.
static void add_part(joiner *j, const ir_func *k, ir_block *to, ir_expr **end, map *substitution)
{
    ir_module *m = j->module;
    place p;
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
    for (size_t i = 0; i < body.stmts.len; i++)
        ir_append(m, to, body.stmts.at[i]);
    *end = operation(j, IR_OP_ADD, *end, count);
}

static void add_launch_shape(joiner *j, const ir_func *first, ir_expr *count)
{
    ir_func *f = j->to;
    f->grid[0] = count;
    f->grid[1] = f->grid[2] = integer(j, 1);
    memcpy(f->block, first->block, sizeof f->block);
    ir_expr *cluster = first->cluster[axis_of_clusters(first)];
    for (int d = 0; cluster && d < 3; d++)
        f->cluster[d] = d ? integer(j, 1) : cluster;
    f->dependent_launch = first->dependent_launch;
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
            if (is_fixed(launch, (size_t)i))
                str_addf(key, "%d=%" PRId64 ",", i, launch->args[i]->u.i);
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
    for (int i = 0; i < count; i++) {
        map substitution;
        map_init(&substitution, m->arena);
        add_parameters(&j, launches[i], &substitution);
        ir_stmt *branch = i + 1 < count ? ir_new_stmt(m, IR_IF, span, 0) : NULL;
        add_part(&j, launches[i]->func, branch ? &branch->body : to, &end, &substitution);
        if (branch) {
            branch->value = condition(&j, first, end);
            ir_append(m, to, branch);
            to = &branch->or_else;
        }
        if (launches[i]->func->min_blocks != first->min_blocks)
            j.to->min_blocks = 0;
    }
    add_launch_shape(&j, first, end);
    ir_func_add(m, j.to);
    return j.to;
}
