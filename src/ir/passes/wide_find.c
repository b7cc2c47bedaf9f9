// Finds accesses of a loop's body to consecutive elements that may be moved out of the loop.
#include "ir/passes/wide.h"

#include "base/checked.h"

enum { MOST_TRIPS = 64, MOST_BYTES = 256, WIDEST_BITS = 128 };

bool ir_wide_is_candidate(const ir_stmt *loop, int64_t *first, int64_t *trips)
{
    int64_t end, step;
    if (loop->kind != IR_FOR || !ir_is_integer(loop->var->type) || loop->var->is_mutable ||
        loop->unroll == TM_LOOP_PLAIN)
        return false;
    if (!ir_const_int(loop->args[0], first) || !ir_const_int(loop->args[1], &end) ||
        !ir_const_int(loop->args[2], &step))
        return false;
    // An odd number of iterations has no runs of two.
    return step == 1 && sub_checked(end, *first, trips) && *trips >= 2 && *trips % 2 == 0 && *trips <= MOST_TRIPS;
}

// ---- collecting ----------------------------------------------------------------------------------------------------

static bool is_memory(const ir_var *v)
{
    return v->tensor && v->tensor->space != IR_REGISTER && v->tensor->space != IR_LOCAL;
}

static bool reads_memory(const ir_expr *e)
{
    if (ir_op_properties(e->op) & (IR_READS | IR_EFFECTS))
        return true;
    for (int i = 0; i < e->arg_count; i++)
        if (reads_memory(e->args[i]))
            return true;
    return false;
}

static bool indices_are_plain(ir_expr *const *index, int rank)
{
    for (int d = 0; d < rank; d++)
        if (!ir_is_integer(index[d]->type) || reads_memory(index[d]))
            return false;
    return rank > 0;
}

static void add_access(wide_loop *w, wide_access a)
{
    a.group = -1;
    a.stmt = w->stmt;
    a.is_plain = a.is_plain && indices_are_plain(a.index, a.rank);
    VEC_PUSH(w->px->scratch, &w->accesses, a);
}

static void add_load(wide_loop *w, ir_expr *e, bool always)
{
    if (!is_memory(e->u.var))
        return;
    bool guarded = e->flags & IR_GUARDED;
    int rank = e->arg_count - guarded;
    wide_access a = {.tensor = e->u.var, .index = e->args, .rank = rank, .is_guarded = guarded, .load = e};
    a.is_plain = always && !(e->flags & (IR_FLAT | IR_VOLATILE));
    a.outside = guarded ? e->args[rank] : NULL;
    w->hopeless |= (e->flags & IR_VOLATILE) != 0;
    add_access(w, a);
}

static void collect_expr(wide_loop *w, ir_expr *e, bool always)
{
    switch (e->op) {
    case IR_OP_LOAD:
        add_load(w, e, always);
        break;
    case IR_OP_PLOAD:
        w->reads_pointers = true;
        break;
    case IR_OP_ADDR:
    case IR_OP_CALL:
        w->hopeless = true;
        break;
    case IR_OP_INTRIN:
        w->hopeless |= e->u.intrin->effects != IR_EFFECT_NONE;
        break;
    default:
        break;
    }
    bool lazy = e->op == IR_OP_SELECT || e->op == IR_OP_LAND || e->op == IR_OP_LOR;
    for (int i = 0; i < e->arg_count; i++)
        collect_expr(w, e->args[i], always && !(lazy && i > 0));
}

static void collect_block(wide_loop *w, ir_block *b, bool always);

// Formed for an inner loop before: not touched again, but known.
static void collect_copy(wide_loop *w, ir_stmt *s)
{
    for (int i = 0; i < s->arg_count; i++) {
        ir_expr *end = s->args[i];
        if (end->op != IR_OP_ADDR && end->op != IR_OP_TILE)
            w->hopeless = true;
        else if (is_memory(end->u.var))
            add_access(
                w, (wide_access){.tensor = end->u.var, .index = end->args, .rank = end->arg_count, .is_store = i == 0});
    }
}

static void collect_store(wide_loop *w, ir_stmt *s, bool always)
{
    for (int i = 0; i < s->arg_count; i++)
        collect_expr(w, s->args[i], always);
    collect_expr(w, s->value, always);
    if (!is_memory(s->var))
        return;
    wide_access a = {.tensor = s->var, .index = s->args, .rank = s->arg_count, .is_store = true, .store = s};
    a.is_guarded = s->flags & IR_GUARDED;
    a.is_plain = always && !(s->flags & (IR_FLAT | IR_VOLATILE));
    w->hopeless |= (s->flags & IR_VOLATILE) != 0;
    add_access(w, a);
}

static void collect_loop(wide_loop *w, ir_stmt *s, bool always)
{
    int64_t lo, hi, step;
    bool runs = ir_const_int(s->args[0], &lo) && ir_const_int(s->args[1], &hi) && ir_const_int(s->args[2], &step) &&
                step > 0 && lo < hi;
    for (int i = 0; i < s->arg_count; i++)
        collect_expr(w, s->args[i], always);
    VEC_PUSH(w->px->scratch, &w->inner, s->var);
    collect_block(w, &s->body, always && runs);
}

static void collect_stmt(wide_loop *w, ir_stmt *s, bool always)
{
    w->stmt = s;
    switch (s->kind) {
    case IR_DECL:
        VEC_PUSH(w->px->scratch, &w->inner, s->var);
        w->hopeless |= s->var->tensor != NULL;
        break;
    case IR_ASSIGN:
        VEC_PUSH(w->px->scratch, &w->assigned, s->var);
        break;
    case IR_STORE:
        collect_store(w, s, always);
        return;
    case IR_COPY:
        collect_copy(w, s);
        return;
    case IR_FOR:
        collect_loop(w, s, always);
        return;
    case IR_ALLOC:
        w->hopeless |= s->var->tensor->space != IR_REGISTER && s->var->tensor->space != IR_LOCAL;
        break;
    case IR_IF:
        collect_expr(w, s->value, always);
        collect_block(w, &s->body, false);
        collect_block(w, &s->or_else, false);
        return;
    case IR_EVAL:
    case IR_INTRIN_TO:
    case IR_ASSUME:
    case IR_COMMENT:
        break;
    default:
        w->hopeless = true;
        return;
    }
    if (s->value)
        collect_expr(w, s->value, always);
}

static void collect_block(wide_loop *w, ir_block *b, bool always)
{
    for (size_t i = 0; i < b->stmts.len; i++)
        collect_stmt(w, b->stmts.at[i], always);
}

// ---- outside of the loop -------------------------------------------------------------------------------------------

typedef struct hoisting {
    wide_loop *w;
    ir_expr *at;
    bool failed;
} hoisting;

static bool holds_var(ir_var *const *at, size_t len, const ir_var *v)
{
    for (size_t i = 0; i < len; i++)
        if (at[i] == v)
            return true;
    return false;
}

static ir_expr *hoist_node(void *user, ir_expr *e)
{
    hoisting *h = user;
    if (e->op != IR_OP_VAR)
        return e;
    ir_var *v = e->u.var;
    if (v == h->w->loop->var)
        return ir_cast(h->w->px->module, h->at, v->type, e->span);
    if (holds_var(h->w->assigned.at, h->w->assigned.len, v)) {
        h->failed = true;
        return e;
    }
    if (!holds_var(h->w->inner.at, h->w->inner.len, v))
        return e;
    ir_expr *value = ir_env_value(h->w->env, v);
    if (!value) {
        h->failed = true;
        return e;
    }
    return ir_rewrite_expr(h->w->px->module, value, hoist_node, h);
}

ir_expr *ir_wide_outside_loop(wide_loop *w, ir_expr *e, ir_expr *at)
{
    hoisting h = {w, at, false};
    ir_expr *now = ir_rewrite_expr(w->px->module, e, hoist_node, &h);
    return h.failed ? NULL : now;
}

const ir_linear *ir_wide_unit_form(wide_loop *w, const ir_linear *l)
{
    int64_t coef;
    if (!l || !ir_linear_coefficient(l, w->loop->var, &coef) || coef != 1)
        return NULL;
    ir_expr *iteration = ir_read(w->px->module, w->loop->var, w->loop->span);
    ir_linear first = {w->first, 0};
    const ir_linear *rest = ir_linear_combine(w->env, l, 1, ir_linear_of(w->env, iteration), -1);
    return rest ? ir_linear_combine(w->env, rest, 1, &first, 1) : NULL;
}

// ---- width ---------------------------------------------------------------------------------------------------------

bool ir_wide_owns_storage(const wide_loop *w, const ir_var *v)
{
    return v->tensor->space == IR_SHARED && v->kind != IR_VAR_PARAM && !map_get_ptr(w->pointed, v);
}

// The alignment of shared tensors that live here can still be raised.
static int64_t alignment_bits(const wide_loop *w, const ir_var *v, int element_bits)
{
    if (ir_wide_owns_storage(w, v))
        return WIDEST_BITS;
    return v->tensor->align_bytes ? (int64_t)v->tensor->align_bytes * 8 : element_bits;
}

static int widest(wide_loop *w, const ir_var *v, int64_t unit)
{
    int bits = dt_bits(v->tensor->elem->scalar), width = 1;
    int64_t align = alignment_bits(w, v, bits);
    while (w->trips % (width * 2) == 0 && unit % (width * 2) == 0 && width * 2 * bits <= WIDEST_BITS &&
           width * 2 * bits <= align)
        width *= 2;
    return width * bits >= 8 ? width : 1;
}

// The bounds hold for all or none of each [width] iterations that begin at a multiple of it: sure for a dimension whose
// index does not change with the iterations, and where both index and extent are multiples.
static bool guard_is_uniform(wide_loop *w, const wide_access *a, int width)
{
    int64_t coef;
    for (int d = 0; d < a->rank; d++) {
        const ir_linear *l = ir_linear_of(w->env, a->index[d]);
        if (ir_linear_coefficient(l, w->loop->var, &coef) && coef == 0)
            continue;
        const ir_linear *base = ir_wide_unit_form(w, l);
        if (!base || ir_linear_divisor(w->env, base) % width ||
            ir_index_divisor(w->env, a->tensor->tensor->shape[d]) % width)
            return false;
    }
    return true;
}

static bool hoistable(wide_loop *w, const wide_access *a)
{
    ir_expr *zero = ir_int(w->px->module, w->loop->var->type->scalar, 0);
    for (int d = 0; d < a->rank; d++)
        if (!ir_wide_outside_loop(w, a->index[d], zero))
            return false;
    return !a->outside || (ir_is_pure(a->outside) && !ir_expr_mentions(a->outside, w->loop->var) &&
                           ir_wide_outside_loop(w, a->outside, zero) == a->outside);
}

// Where first and last element of a run are inside, so is everything between them.
static bool guard_is_convex(wide_loop *w, const wide_access *a)
{
    int64_t coef;
    for (int d = 0; d < a->rank; d++) {
        const ir_linear *l = ir_linear_of(w->env, a->index[d]);
        bool is_still = ir_linear_coefficient(l, w->loop->var, &coef) && coef == 0;
        if (!is_still && !ir_wide_unit_form(w, l))
            return false;
    }
    return true;
}

// A copy that has to be taken apart at the edge is worth it from 8 bytes on.
static bool may_be_ragged(wide_loop *w, const wide_access *a, int64_t bits)
{
    return bits >= WIDEST_BITS / 2 && guard_is_convex(w, a);
}

static int width_of(wide_loop *w, const wide_access *a, bool *guard_needed, bool *ragged)
{
    ir_tensor *t = a->tensor->tensor;
    int bits = t->elem->kind == IR_SCALAR ? dt_bits(t->elem->scalar) : 0;
    // First a cheap test: not even two elements are aligned.
    if (!a->is_plain || t->map || a->rank != t->rank || !bits || w->trips * bits > MOST_BYTES * 8 ||
        alignment_bits(w, a->tensor, bits) < 2 * bits || !hoistable(w, a))
        return 1;
    const ir_linear *base = ir_wide_unit_form(w, ir_element_form(w->env, t, a->index, w->loop->span));
    int width = base ? widest(w, a->tensor, ir_linear_divisor(w->env, base)) : 1;
    if (width == 1)
        return 1;
    *guard_needed = a->is_guarded && ir_inside(w->env, t, a->index, w->loop->span);
    int uniform = width;
    while (uniform > 1 && *guard_needed && !guard_is_uniform(w, a, uniform))
        uniform /= 2;
    *ragged = uniform < width && may_be_ragged(w, a, width * bits);
    return *ragged ? width : uniform;
}

// ---- groups --------------------------------------------------------------------------------------------------------

static bool same_index(wide_loop *w, const wide_group *g, const wide_access *a)
{
    if (g->tensor != a->tensor || g->rank != a->rank)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (!ir_prove_equal(w->env, g->index[d], a->index[d]))
            return false;
    return true;
}

static bool same_outside(const wide_group *g, const wide_access *a)
{
    return !a->load || !g->outside || !a->outside || ir_expr_equal(g->outside, a->outside);
}

static int group_of(wide_loop *w, const wide_access *a)
{
    for (size_t i = 0; i < w->groups.len; i++) {
        wide_group *g = &w->groups.at[i];
        if (same_index(w, g, a) && same_outside(g, a)) {
            g->is_read |= !a->is_store;
            g->is_written |= a->is_store;
            g->outside = g->outside ? g->outside : a->outside;
            return (int)i;
        }
    }
    bool guard_needed = false, ragged = false;
    int width = width_of(w, a, &guard_needed, &ragged);
    if (width == 1)
        return -1;
    wide_group g = {.tensor = a->tensor,
                    .index = a->index,
                    .rank = a->rank,
                    .width = width,
                    .is_read = !a->is_store,
                    .is_written = a->is_store,
                    .is_guarded = guard_needed,
                    .is_ragged = ragged,
                    .outside = a->outside,
                    .stmt = a->stmt,
                    .span = a->load ? a->load->span : a->store->span};
    VEC_PUSH(w->px->scratch, &w->groups, g);
    return (int)w->groups.len - 1;
}

static bool is_written_in(const wide_loop *w, const ir_var *tensor)
{
    for (size_t i = 0; i < w->accesses.len; i++)
        if (w->accesses.at[i].tensor == tensor && w->accesses.at[i].is_store)
            return true;
    return false;
}

// What is written in the loop may be moved only if all accesses are to one element per iteration, and so all in one
// group.
static void dissolve_if_mixed(wide_loop *w, const ir_var *tensor)
{
    int group = -2;
    bool mixed = w->reads_pointers, guarded = false, free = false;
    for (size_t i = 0; i < w->accesses.len; i++) {
        const wide_access *a = &w->accesses.at[i];
        if (a->tensor != tensor)
            continue;
        mixed |= a->group < 0 || (group != -2 && group != a->group);
        group = a->group;
        guarded |= a->is_guarded;
        free |= !a->is_guarded;
    }
    // A guarded write beside a free read, or the other way round: the guard of the copies would be wrong for one.
    mixed |= guarded && free && group >= 0 && w->groups.at[group].is_guarded;
    for (size_t i = 0; mixed && i < w->accesses.len; i++)
        if (w->accesses.at[i].tensor == tensor)
            w->accesses.at[i].group = -1;
}

// The tensor whose memory [v] is, itself or by its address; NULL if it stands behind a pointer from elsewhere.
static const ir_var *owner_of(const wide_loop *w, const ir_var *v)
{
    const ir_stmt *decl;
    while (v && (decl = map_get_ptr(w->pointed, v)))
        v = decl->value && decl->value->op == IR_OP_ADDR ? decl->value->u.var : NULL;
    return v;
}

static bool may_overlap(const wide_loop *w, const ir_var *a, const ir_var *b)
{
    if (a == b || (!map_get_ptr(w->pointed, a) && !map_get_ptr(w->pointed, b)))
        return false;
    ir_space sa = a->tensor->space, sb = b->tensor->space;
    if (sa != sb && sa != IR_GENERIC && sb != IR_GENERIC)
        return false;
    const ir_var *oa = owner_of(w, a), *ob = owner_of(w, b);
    return !oa || !ob || oa == ob;
}

// A tensor made of a pointer may be the memory of another one: neither is moved if one of them is written.
static void dissolve_if_overlapped(wide_loop *w)
{
    for (size_t i = 0; i < w->accesses.len; i++)
        for (size_t k = 0; k < w->accesses.len; k++) {
            wide_access *a = &w->accesses.at[i], *b = &w->accesses.at[k];
            if (a->is_store && may_overlap(w, a->tensor, b->tensor))
                a->group = b->group = -1;
        }
}

static void drop_unused_groups(wide_loop *w)
{
    for (size_t g = 0; g < w->groups.len; g++) {
        bool used = false;
        for (size_t i = 0; i < w->accesses.len; i++)
            used |= w->accesses.at[i].group == (int)g;
        if (!used)
            w->groups.at[g].width = 0;
    }
}

void ir_wide_find(wide_loop *w)
{
    collect_block(w, &w->loop->body, true);
    if (w->hopeless)
        return;
    for (size_t i = 0; i < w->accesses.len; i++)
        if (w->accesses.at[i].is_plain)
            w->accesses.at[i].group = group_of(w, &w->accesses.at[i]);
    dissolve_if_overlapped(w);
    for (size_t i = 0; i < w->accesses.len; i++)
        if (is_written_in(w, w->accesses.at[i].tensor))
            dissolve_if_mixed(w, w->accesses.at[i].tensor);
    drop_unused_groups(w);
}
